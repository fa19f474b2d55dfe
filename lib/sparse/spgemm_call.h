// SPDX-License-Identifier: Apache-2.0
// A sparse x sparse product between its door (spgemm_check.c) and its kernels (spgemm.c).
#ifndef WEFT_LIB_SPGEMM_CALL_H
#define WEFT_LIB_SPGEMM_CALL_H

#include <weft/spgemm.h>

#include "operand/outputs.h"

// To a sparse C in two steps, or to a dense one.
typedef enum weft_spgemm_step {
    WEFT_SPGEMM_COUNT,
    WEFT_SPGEMM_FILL,
    WEFT_SPGEMM_TO_DENSE,
} weft_spgemm_step;

// As the caller gave them; of `C` and `dense` one is there, alpha and beta with the latter.
typedef struct weft_spgemm_operands {
    const weft_csr *A, *B, *C;
    const weft_tensor *dense;
    double alpha, beta;
} weft_spgemm_operands;

typedef struct weft_spgemm_call {
    weft_context *ctx;
    weft_spgemm_step step;
    const char *name;
    weft_spgemm_problem problem;
    weft_csr A, B; // defaults filled in; while entries are counted values are not looked at
    weft_csr C;    // the same; of a dense C sizes and data types alone
    const weft_tensor *dense; // or NULL
    double alpha, beta;       // of a dense C; alpha is 0 where there are no products
    const weft_spgemm_tiling *forced;
    weft_outputs outputs; // all that is written
} weft_spgemm_call;

// All checks that need no plan. `params` is not NULL.
weft_status weft_spgemm_check(weft_spgemm_call *out, weft_spgemm_step step, weft_context *ctx,
                              const weft_spgemm_operands *given, const weft_spgemm_params *params);

// The caller's scratch memory: large enough, and apart from all operands.
weft_status weft_spgemm_workspace_check(const weft_spgemm_call *call, cl_mem workspace,
                                        size_t bytes);

// Marks of a word, with so many items to a group.
int weft_spgemm_word(int items);

// Words of marks that have ranks, where there are so many sums.
int64_t weft_spgemm_words(int64_t sums, int items);

// Local memory for so many words of marks.
int64_t weft_spgemm_marks_bytes(int64_t words, int items);

enum {
    WEFT_SPGEMM_LEAST_LONG = 64, // columns: groups that share a row have whole words
    WEFT_SPGEMM_NOTED = 1024,    // long rows that are shared by groups
    WEFT_SPGEMM_AT_ONCE = 32,    // of these, that have groups of their own
    WEFT_SPGEMM_ROOM = 4,    // columns, or for several items words of marks, for a row's product
    WEFT_SPGEMM_LEAST = 256, // of them at least, where there are so many
    WEFT_SPGEMM_MOST_PRODUCTS = 1 << 18, // of a row or an item, that make a difference
};

#endif
