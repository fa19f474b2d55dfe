// SPDX-License-Identifier: Apache-2.0
// A call of weft_softmax() or one of its kin once it has been checked.
#ifndef WEFT_LIB_SOFTMAX_CALL_H
#define WEFT_LIB_SOFTMAX_CALL_H

#include <weft/softmax.h>

#include "axis/axis_job.h"

// The operation: its operands are X and Y, or Y, dY and dX.
typedef struct weft_softmax_kind {
    const char *name; // "softmax_backward"
    bool is_log, is_backward;
    const char *in_names[3], *out_name;
} weft_softmax_kind;

typedef struct weft_softmax_call {
    const weft_softmax_kind *kind;
    double scale;
    bool masked;
    bool is_empty; // nothing to do, and `job` is not there
    weft_axis_job job;
} weft_softmax_call;

// Everything that can be wrong with a call, before anything is done about it. `second` is dY, or
// NULL.
weft_status weft_softmax_check(weft_softmax_call *out, const weft_softmax_kind *kind,
                               weft_context *ctx, double scale, const weft_tensor *first,
                               const weft_tensor *second, int axis, const weft_tensor *last,
                               const weft_softmax_params *params);

#endif
