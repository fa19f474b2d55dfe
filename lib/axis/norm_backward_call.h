// SPDX-License-Identifier: Apache-2.0
// A call of weft_layer_norm_backward() or weft_rms_norm_backward() once it has been checked.
#ifndef WEFT_LIB_NORM_BACKWARD_CALL_H
#define WEFT_LIB_NORM_BACKWARD_CALL_H

#include <weft/norm.h>

#include "axis/axis_job.h"
#include "operand/outputs.h"

typedef struct weft_norm_backward_call {
    const char *name; // "layer_norm_backward"
    bool is_rms;
    double epsilon;
    const weft_tensor *X, *dY, *dX;
    const weft_tensor *weight, *dW, *db; // NULL where there is none
    bool is_empty;                       // nothing to do, and what follows is not there
    int64_t rows;                        // 0: dW and db become 0, and `job` is not there
    weft_axis_job job;     // dX; operands of its axes: X, dY, dX, then w, dW and db as far as there
    weft_axis_job scaling; // dW and db, if they are wanted: X, dY, then dW and db as far as there
} weft_norm_backward_call;

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_norm_backward_check(weft_norm_backward_call *out, const char *name, bool is_rms,
                                     weft_context *ctx, double epsilon, const weft_tensor *X,
                                     int n_axes, const weft_tensor *dY, const weft_tensor *dX,
                                     const weft_norm_backward_params *params);

// The caller's workspace: large enough, writable, and apart from all operands.
weft_status weft_norm_backward_workspace_check(const weft_norm_backward_call *call,
                                               cl_mem workspace, size_t bytes);

#endif
