// SPDX-License-Identifier: Apache-2.0
// What tests of SpMM share: operands made from a few words, the call, and the comparison.
//
// Poison stands in rows of B too that no entry names, and in C where beta is 0. Whatever a product
// must not write is compared with what was there before.
#ifndef WEFT_TESTS_SPMM_CASE_H
#define WEFT_TESTS_SPMM_CASE_H

#include <weft/spmm_dcsr.h>

#include "reference.h"
#include "sparse/spmm_tiling.h"
#include "sparse_case.h"

typedef enum spmm_numbers {
    WHOLE,      // small whole numbers: sums are exact, and results must be
    FRACTIONS,  // in [-1, 1): the error must keep to its bound
    WILD_A,     // WHOLE; in every other row of A some values are infinite or NaN
    WILD_B,     // WHOLE; in some rows of B some elements are
    WILD_INPUT, // all NaN, for alpha 0
} spmm_numbers;

typedef struct spmm_case {
    uint64_t seed;
    int64_t m, k, n;
    int64_t n_batches; // 0: matrices; else B and C have three dimensions
    bool are_vectors;  // B and C, and arguments, are given with one dimension; n is 1
    sparse_rows rows;
    const weft_csr_host *given; // A, as in sparse_form; NULL: made up
    spmm_numbers numbers;
    weft_dtype dtype, offset_dtype, index_dtype;
    bool has_wide_c; // C is f32, where A and B are f16 or bf16
    dense_layout b_layout, c_layout;
    int64_t b_start, c_start;
    int64_t offsets_start, indices_start, values_start;
    bool is_dcsr;    // the call is given A's rows that have entries, and sometimes one without
    bool own_values; // each matrix of the batch has its own
    bool transpose_a;
    double alpha, beta;
    weft_spmm_reduction reduction;
    bool has_bias;
    int64_t bias_step; // from number to number
    weft_activation activation;
    bool with_plan;
    int64_t plan_row_chunk; // for the plan
    weft_spmm_row_schedule row_schedule;
    const weft_spmm_tiling *tiling; // NULL: the library chooses
} spmm_case;

typedef struct spmm_operands {
    spmm_case of;
    weft_context *ctx;
    cl_command_queue queue;
    sparse_operand sparse;
    weft_csr A;  // as in there
    weft_dcsr D; // of a case that is_dcsr: with rows and offsets of its own
    weft_tensor B, C, bias;
    weft_spmm_plan *plan;
    cl_mem workspace; // of exactly the size needed; NULL: the pool's
    void *dense;      // B, matrix by matrix and row by row
    void *numbers;    // the bias, without gaps; NULL: none
    void *c_before;   // C's whole buffer
    size_t c_bytes;
} spmm_operands;

void spmm_create(spmm_operands *o, weft_context *ctx, cl_command_queue queue, const spmm_case *of);
void spmm_destroy(spmm_operands *o);

// The params of the case, to change before the call.
weft_spmm_params spmm_params(const spmm_operands *o);

// The call, whatever becomes of it, and what it would do.
weft_status spmm_start(const spmm_operands *o, const weft_spmm_params *params);
int spmm_describe(const spmm_operands *o, const weft_spmm_params *params, char *text, size_t size);
weft_status spmm_workspace(const spmm_operands *o, const weft_spmm_params *params, size_t *bytes);

// Puts back into C what stood there at first.
void spmm_restore(const spmm_operands *o);

// Calls, with the params of the case, and fails the test unless it returns WEFT_OK.
void spmm_call(const spmm_operands *o);

// C's whole buffer, to be freed; waits for the queue.
void *spmm_read(const spmm_operands *o);

// Fails the test where C is not what it should be, or anything around it changed.
void spmm_check(const spmm_operands *o);

// Fails the test with what happened and all of the case.
void spmm_fail(const spmm_operands *o, const char *what);

// One matrix of the batch for the reference; its A is put in *A. `c_before` is C as it was at
// first, without gaps.
reference_spmm spmm_reference(const spmm_operands *o, weft_csr_host *A, const void *c_before,
                              int64_t batch);

// All of it: create, call, check, destroy.
void spmm_run(weft_context *ctx, const spmm_case *of);

// As spmm_run() does it, and the same bits run after run.
void spmm_check_same_bits(weft_context *ctx, const spmm_case *of);

// Tilings whose n-tiles, rows, entries and row chunks all end within a few.
extern const weft_spmm_tiling spmm_vectorized, spmm_spread, spmm_staged, spmm_packed, spmm_staged_b;

// What the case is for the choice of a tiling.
weft_spmm_problem spmm_problem(const spmm_operands *o);

#endif
