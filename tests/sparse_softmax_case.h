// SPDX-License-Identifier: Apache-2.0
// What tests of softmax over sparse rows share: operands made from a few words, the call, and the
// comparison.
//
// Whatever a call must not read is poison: what stands around the arrays and between the matrices
// of a batch, and all column indices. Whatever it must not write is compared with what was there
// before.
#ifndef WEFT_TESTS_SPARSE_SOFTMAX_CASE_H
#define WEFT_TESTS_SPARSE_SOFTMAX_CASE_H

#include <weft/sparse_softmax.h>

#include "runtime.h"
#include "sparse/sparse_softmax_plan.h"

// How many entries rows have, of `longest` at most.
typedef enum sparse_rows {
    ROWS_RANDOM,   // none to all
    ROWS_SHORT,    // none to a few
    ROWS_FULL,     // all
    ROWS_EMPTY,    // none: the arrays are NULL
    ROWS_ONE_LONG, // one has all, the others none or one
    ROWS_IN_RUNS,  // runs of many empty rows, and one that is not
    N_ROWS,
} sparse_rows;

typedef enum sparse_numbers {
    FRACTIONS, // in [-1, 1)
    STEEP,     // in [-30, 30): exponentials of all sizes
    FAR_AWAY,  // FRACTIONS + 1000
    REMOTE,    // 6 FRACTIONS + 4e7, where f32 has every fourth whole number
    STEPPED,   // FRACTIONS, three rows at a time 22 or more from the rows before
    MASKED,    // STEEP; some are -infinity, in some rows all; backward: 0
    WILD,      // STEEP; in some rows there are infinities and NaN
    N_NUMBERS,
} sparse_numbers;

typedef enum sparse_place {
    APART,  // a buffer of its own
    ON_CSR, // the values of the CSR
    ON_DY,  // backward
} sparse_place;

typedef struct sparse_case {
    uint64_t seed;
    int64_t n_rows, longest;
    int64_t n_cols;    // 0: as many as there are entries, so that any row may be long
    int64_t n_batches; // 0: one matrix; else the tensors have two dimensions
    sparse_rows rows;
    const weft_csr_host *given; // whose rows these are; NULL: made up
    sparse_numbers numbers;
    weft_dtype dtype, offset_dtype, index_dtype;
    int64_t offsets_start, values_start, out_start;
    bool shares_values; // all matrices of the batch are made from the same values
    bool is_backward;
    bool goes_back; // the output's matrices stand in falling order
    sparse_place place;
    double scale;
    const weft_sparse_softmax_tiling *tiling; // NULL: the library chooses
} sparse_case;

typedef struct sparse_array {
    cl_mem buffer;
    char *before; // all bytes of the buffer
    size_t bytes;
} sparse_array;

typedef struct sparse_operands {
    sparse_case of;
    weft_context *ctx;
    cl_command_queue queue;
    weft_dtype dtype;
    int64_t *offsets; // on the host
    int64_t nnz, n_matrices;
    weft_csr csr;
    weft_tensor dY, out;
    sparse_array values, gradient, own; // of the CSR, dY, and the output where it is APART
    cl_mem workspace;                   // of exactly the size needed; NULL: the pool's
} sparse_operands;

// Whether the device has the data type.
bool sparse_is_possible(weft_context *ctx, const sparse_case *of);

void sparse_operands_create(sparse_operands *o, weft_context *ctx, cl_command_queue queue,
                            const sparse_case *of);
void sparse_operands_destroy(sparse_operands *o);

// The params of the case, to change before the call.
weft_sparse_softmax_params sparse_params(const sparse_operands *o);

weft_status sparse_call_with(const sparse_operands *o, const weft_sparse_softmax_params *params);

// Calls, and fails the test unless it returns WEFT_OK.
void sparse_call(const sparse_operands *o);

// The array that is written, and what stands in it now, to be freed; waits for the queue.
const sparse_array *sparse_target(const sparse_operands *o);
void *sparse_target_now(const sparse_operands *o);

// Puts back what stood there at first.
void sparse_restore(const sparse_operands *o);

// Fails the test where a result is not what it should be, or anything around them changed.
void sparse_check(const sparse_operands *o);

// All of it: create, call, check, destroy.
void sparse_run(weft_context *ctx, const sparse_case *of);

#endif
