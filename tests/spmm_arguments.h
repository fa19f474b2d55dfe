// SPDX-License-Identifier: Apache-2.0
// Where the largest and smallest products of SpMM come from: a tensor of entry numbers beside the
// operands of spmm_case.h, and what should stand in it.
#ifndef WEFT_TESTS_SPMM_ARGUMENTS_H
#define WEFT_TESTS_SPMM_ARGUMENTS_H

#include "spmm_case.h"

// Laid out as C is, with every stride `step` times as long.
typedef struct spmm_arguments {
    weft_tensor view;
    int64_t step;
    char *before; // its whole buffer
    size_t bytes;
} spmm_arguments;

// The workspace of `o`, where it has one, grows to what such a call needs.
void spmm_arguments_create(spmm_arguments *a, spmm_operands *o, weft_dtype dtype, int64_t step);
void spmm_arguments_destroy(spmm_arguments *a);

// The call of the case with arguments; fails the test unless it returns WEFT_OK.
void spmm_arguments_call(const spmm_arguments *a, const spmm_operands *o);

// Fails the test where the arguments are not those of the reference (or, of fractions, where their
// products are others), or anything around them changed.
void spmm_arguments_check(const spmm_arguments *a, const spmm_operands *o);

// The whole buffer, to be freed; waits for the queue.
void *spmm_arguments_read(const spmm_arguments *a, const spmm_operands *o);

// All of it, C too.
void spmm_arguments_run(weft_context *ctx, const spmm_case *of, weft_dtype dtype, int64_t step);

#endif
