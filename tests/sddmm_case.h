// SPDX-License-Identifier: Apache-2.0
// What tests of SDDMM share: operands made from a few words, the call, and the comparison.
//
// Poison stands too in rows of A and columns of B that no entry names, in C's values where C is an
// indicator, and in D where beta is 0. Whatever a product must not write is compared with what was
// there before.
#ifndef WEFT_TESTS_SDDMM_CASE_H
#define WEFT_TESTS_SDDMM_CASE_H

#include <weft/sddmm.h>

#include "sparse/sddmm_plan.h"
#include "sparse_case.h"

typedef enum sddmm_numbers {
    WHOLE,      // small whole numbers: sums are exact, and results must be
    FRACTIONS,  // in [-1, 1): the error must keep to its bound
    WILD_A,     // WHOLE; one element of every other row of A is infinite or NaN
    WILD_B,     // WHOLE; one element of every other column of B is
    WILD_C,     // WHOLE; in every other row of C some values are
    WILD_INPUT, // all NaN, for alpha 0
} sddmm_numbers;

// What D is.
typedef enum sddmm_output {
    OWN_ARRAY, // an array of its own
    C_VALUES,  // C's values
    N_OUTPUTS,
} sddmm_output;

typedef struct sddmm_case {
    uint64_t seed;
    int64_t m, n, k;
    int64_t n_batches; // 0: matrices; else A and B have three dimensions and D two
    sparse_rows rows;
    sddmm_numbers numbers;
    weft_dtype dtype, offset_dtype, index_dtype;
    bool has_wide_d;       // D is f32, where A, B and C are f16 or bf16
    dense_layout a_layout; // of [m x k]
    dense_layout b_layout; // of B^T, [n x k]: rows there are columns of B
    int64_t a_start, b_start, d_start;
    int64_t offsets_start, indices_start, values_start;
    int64_t gap;     // elements between the values of D of two matrices
    bool own_values; // each matrix of the batch has its own values of C
    bool indicator;
    sddmm_output output;
    double alpha, beta;
    const weft_sddmm_tiling *tiling; // NULL: the library chooses
} sddmm_case;

typedef struct sddmm_operands {
    sddmm_case of;
    weft_context *ctx;
    cl_command_queue queue;
    sparse_operand sparse;
    weft_csr C; // as in there, but for values that are D
    weft_tensor A, B, D;
    cl_mem workspace; // of exactly the size needed; NULL: the pool's
    void *rows_A;     // A, matrix by matrix and row by row
    void *columns_B;  // B, matrix by matrix and column by column
    void *d_before;   // D's whole buffer
    size_t d_bytes;
} sddmm_operands;

void sddmm_create(sddmm_operands *o, weft_context *ctx, cl_command_queue queue,
                  const sddmm_case *of);
void sddmm_destroy(sddmm_operands *o);

// The params of the case, to change before the call.
weft_sddmm_params sddmm_params(const sddmm_operands *o);

// Puts back into D what stood there at first.
void sddmm_restore(const sddmm_operands *o);

// Calls, with the params of the case, and fails the test unless it returns WEFT_OK.
void sddmm_call(const sddmm_operands *o);

// D's whole buffer, to be freed; waits for the queue.
void *sddmm_read(const sddmm_operands *o);

// Fails the test where D is not what it should be, or anything around it changed.
void sddmm_check(const sddmm_operands *o);

// All of it: create, call, check, destroy.
void sddmm_run(weft_context *ctx, const sddmm_case *of);

#endif
