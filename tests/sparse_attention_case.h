// SPDX-License-Identifier: Apache-2.0
// What tests of sparse attention share: operands made from a few words, the call, and the
// comparison.
//
// Poison stands too in rows of K and V that no entry names, in rows of Q whose row of M is empty,
// in all of Q and K where the scale is 0, in M's values and in O. Whatever a call must not write is
// compared with what was there before.
#ifndef WEFT_TESTS_SPARSE_ATTENTION_CASE_H
#define WEFT_TESTS_SPARSE_ATTENTION_CASE_H

#include <weft/sparse_attention.h>

#include "sparse/sparse_attention_plan.h"
#include "sparse_case.h"

typedef enum attention_numbers {
    FRACTIONS, // in [-1, 1)
    STEEP,     // rows of Q 16 times as long: weights of all sizes
    FAR_AWAY,  // products about 1000 times the scale
    MASKED,    // some rows of K make products that are -infinity with most rows of Q
    WILD_Q,    // one element of every other row of Q is infinite or NaN
    WILD_K,    // one of every fourth row of K is
    WILD_V,    // one of every fourth row of V is
    N_NUMBERS,
} attention_numbers;

// The dense operands, the last of which is written.
enum { Q_OPERAND, K_OPERAND, V_OPERAND, O_OPERAND, N_OPERANDS };

typedef struct attention_case {
    uint64_t seed;
    int64_t m, n, k, d;
    int64_t n_heads;   // 0: matrices; else a third dimension
    int64_t n_batches; // of heads, a fourth dimension; 0: none
    sparse_rows rows;
    const weft_csr_host *given; // M's pattern; NULL: made up
    attention_numbers numbers;
    weft_dtype dtype, offset_dtype, index_dtype;
    dense_layout layout[N_OPERANDS]; // of heads; batches of them lie apart, but for SAME_MATRIX
    int64_t start[N_OPERANDS];
    int64_t offsets_start, indices_start;
    double scale;
    const weft_sparse_attention_tiling *tiling; // NULL: the library chooses
} attention_case;

typedef struct attention_array {
    weft_tensor view;
    void *before; // the whole buffer
    size_t bytes;
} attention_array;

typedef struct attention_operands {
    attention_case of;
    weft_context *ctx;
    cl_command_queue queue;
    weft_dtype dtype;
    sparse_operand sparse;
    weft_csr M; // as in there, in half of the cases without values
    attention_array dense[N_OPERANDS];
    cl_mem workspace; // of exactly the size needed; NULL: the pool's
} attention_operands;

void attention_create(attention_operands *o, weft_context *ctx, cl_command_queue queue,
                      const attention_case *of);
void attention_destroy(attention_operands *o);

// The params of the case, to change before the call.
weft_sparse_attention_params attention_params(const attention_operands *o);

// Puts back into O what stood there at first.
void attention_restore(const attention_operands *o);

weft_status attention_call_with(const attention_operands *o,
                                const weft_sparse_attention_params *params);

// Calls, with the params of the case, and fails the test unless it returns WEFT_OK.
void attention_call(const attention_operands *o);

// O's whole buffer, to be freed; waits for the queue.
void *attention_read(const attention_operands *o);

// Fails the test where O is not what it should be, or anything around it changed.
void attention_check(const attention_operands *o);

// All of it: create, call, check, destroy.
void attention_run(weft_context *ctx, const attention_case *of);

// Elements along the last axis of each pair, Q and K, V and O: parts of a program.
typedef enum attention_strides {
    BOTH_ADJACENT,
    QK_ADJACENT, // V's and O's may be apart
    VO_ADJACENT,
    NONE_ADJACENT,
    N_STRIDES,
} attention_strides;

// Layouts, starts, numbers and an odd scale, drawn for what the strides allow. Q, K, V and O want
// two rows and columns at least where elements are to be apart.
void attention_vary(attention_case *of, attention_strides strides, random_state *random);

#endif
