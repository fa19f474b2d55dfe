// SPDX-License-Identifier: Apache-2.0
// What each reduction is, and a call of weft_reduce() once it has been checked.
#ifndef WEFT_LIB_REDUCE_CALL_H
#define WEFT_LIB_REDUCE_CALL_H

#include <weft/reduce.h>

#include "axis/axes.h"
#include "axis/axis_plan.h"

// Y's data types where X holds integers.
typedef enum weft_result_kind {
    WEFT_RESULT_FLOAT, // f32 or f64
    WEFT_RESULT_WIDE,  // i64
    WEFT_RESULT_SAME,  // X's own
    WEFT_RESULT_PLACE, // i64 or i32, for floats too
    WEFT_RESULT_TRUTH, // u8, for floats too
} weft_result_kind;

typedef struct weft_reduction_facts {
    const char *name, *word; // "norm_inf", and "OP_NORM_INF" in cl/axis/reduce.cl
    weft_result_kind result;
    int n_numbers;       // that a lane keeps, FIELDS in cl/axis/reduce.cl
    bool needs_elements; // of none there is no result
    weft_reduction
        of_none; // what else has its result of no elements, where numbers start as 0 or 1
} weft_reduction_facts;

// NULL where there is no such op.
const weft_reduction_facts *weft_reduction_facts_of(weft_reduction op);

typedef struct weft_reduce_call {
    weft_context *ctx;
    weft_reduction op; // with `of_none` put in where there are no elements
    const weft_reduction_facts *facts;
    const weft_tensor *X, *Y;
    bool is_forced; // to a tiling
    weft_axis_tiling forced;
    weft_dtype dtype, result, arithmetic;
    int64_t correction;
    int64_t n;         // elements of each result
    int64_t n_results; // 0: nothing to do, and what follows is empty
    weft_axes axes;    // of X, then Y; mid as if there were one element where there are none
    weft_axis_problem problem;
} weft_reduce_call;

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_reduce_check(weft_reduce_call *out, weft_context *ctx, weft_reduction op,
                              const weft_tensor *X, int n_axes, const int *axes,
                              const weft_tensor *Y, const weft_reduce_params *params);

// The caller's workspace: large enough, writable, and apart from both operands.
weft_status weft_reduce_workspace_check(const weft_reduce_call *call, cl_mem workspace,
                                        size_t bytes);

#endif
