// SPDX-License-Identifier: Apache-2.0
// A call of weft_layer_norm() or weft_rms_norm() once it has been checked, and what their backward
// has in common with it.
#ifndef WEFT_LIB_NORM_CALL_H
#define WEFT_LIB_NORM_CALL_H

#include <weft/norm.h>

#include "axis/axis_job.h"

typedef struct weft_norm_call {
    const char *name; // "layer_norm"
    bool is_rms;
    double epsilon;
    const weft_tensor *weight, *bias; // NULL where there is none
    bool is_empty;                    // nothing to do, and `job` is not there
    weft_axis_job job;                // operands of its axes: X, Y, then w and b as far as there
} weft_norm_call;

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_norm_check(weft_norm_call *out, const char *name, bool is_rms, weft_context *ctx,
                            double epsilon, const weft_tensor *X, int n_axes, const weft_tensor *Y,
                            const weft_norm_params *params);

weft_status weft_norm_numbers_check(const char *what, double epsilon, const weft_tensor *X,
                                    int n_axes);

// w or b: of sound form, the shape of X's last axes, and its data type.
weft_status weft_norm_scaling_check(const char *what, const weft_tensor *X,
                                    const weft_tensor *scaling, const char *name, int n_axes);

// So is a gradient by them, which has no two elements at one place.
weft_status weft_norm_gradient_check(const char *what, const weft_tensor *X,
                                     const weft_tensor *gradient, const char *name, int n_axes);

// Adds one of these to a request of X's axes: it does not move along the others. `stride` is filled
// in, and outlives the request.
void weft_norm_add_scaling(weft_axes_request *request, int64_t stride[WEFT_MAX_NDIM],
                           const weft_tensor *scaling);

#endif
