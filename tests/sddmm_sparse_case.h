// SPDX-License-Identifier: Apache-2.0
// What tests of SDDMM with sparse factors share: operands made from a few words, the call, and the
// comparison with plain loops.
//
// Poison stands in rows of A and B that no entry of C names, in C's values where they are not read,
// in all input where alpha is 0, and in D where beta is. Whatever a product must not write is
// compared with what was there before.
#ifndef WEFT_TESTS_SDDMM_SPARSE_CASE_H
#define WEFT_TESTS_SDDMM_SPARSE_CASE_H

#include <weft/sddmm_sparse.h>

#include "sparse/sddmm_sparse_plan.h"
#include "sparse_case.h"

typedef enum masked_numbers {
    WHOLE,     // small whole numbers: sums are exact, and results must be
    FRACTIONS, // in [-1, 1): the error must keep to its bound
    WILD_A,    // WHOLE; some of A are infinite or NaN
    WILD_B,    // of B
    WILD,      // of A, B and C
    N_NUMBERS,
    ALL_NAN = N_NUMBERS, // for alpha 0
} masked_numbers;

// A or B, [m x k] or [n x k].
typedef struct masked_factor {
    bool is_dense;
    int64_t start;       // elements before its arrays
    dense_layout layout; // of a dense one
    sparse_rows rows;    // of a sparse one
    weft_dtype offset_dtype, index_dtype;
    const weft_csr_host *given; // its pattern; NULL: made up
} masked_factor;

typedef struct masked_case {
    uint64_t seed;
    int64_t m, n, k;
    masked_factor A, B;
    sparse_rows rows; // of C
    const weft_csr_host *given;
    weft_dtype dtype, offset_dtype, index_dtype;
    int64_t start, d_start;
    masked_numbers numbers;
    bool indicator;
    bool in_place;   // D is C's values
    bool has_wide_d; // D is f32, where A, B and C are f16 or bf16: never in place
    double alpha, beta;
    const weft_sddmm_sparse_tiling *tiling; // NULL: the library chooses
} masked_case;

// A factor as it was made.
typedef struct masked_side {
    sparse_operand sparse;
    weft_tensor dense;
    void *packed; // of a dense one: row by row
} masked_side;

typedef struct masked_operands {
    masked_case of;
    weft_context *ctx;
    cl_command_queue queue;
    weft_dtype dtype;
    masked_side A, B;
    sparse_operand sparse; // C
    weft_csr C;            // as in there, but for values that are D
    weft_tensor D;
    void *d_before; // D's whole buffer
    size_t d_bytes;
} masked_operands;

void masked_create(masked_operands *o, weft_context *ctx, cl_command_queue queue,
                   const masked_case *of);
void masked_destroy(masked_operands *o);

// What the call takes for A or B.
weft_factor masked_side_factor(const masked_side *side);

// The params of the case, to change before the call.
weft_sddmm_sparse_params masked_params(const masked_operands *o);

// Puts back into D what stood there at first.
void masked_restore(const masked_operands *o);

// Calls, with the params of the case, and fails the test unless it returns WEFT_OK.
void masked_call(const masked_operands *o);

// D's whole buffer, to be freed; waits for the queue.
void *masked_read(const masked_operands *o);

// Fails the test where D is not what it should be, or anything around it changed.
void masked_check(const masked_operands *o);

// All of it: create, call, check, destroy. Nothing where the device lacks the data type, or does
// not take groups of so many items.
void masked_run(weft_context *ctx, const masked_case *of);

#endif
