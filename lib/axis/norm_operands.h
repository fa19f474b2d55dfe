// SPDX-License-Identifier: Apache-2.0
// Checks of operands for layer and RMS normalisation and their backward passes.
#ifndef WEFT_LIB_NORM_OPERANDS_H
#define WEFT_LIB_NORM_OPERANDS_H

#include "axis/axes.h"

weft_status weft_norm_epsilon_check(const char *what, double epsilon);
weft_status weft_norm_axes_check(const char *what, const weft_tensor *X, int n_axes);

// Checks that w or b, or a gradient by them, has the shape of X's last axes, and X's data type.
weft_status weft_norm_scaling_check(const char *what, const weft_tensor *X,
                                    const weft_tensor *scaling, const char *name, int n_axes);

// Adds such an operand to a request of X's axes, with stride 0 along the other axes. Fills in
// `stride`, which must outlive the request.
void weft_norm_add_scaling(weft_axes_request *request, int64_t stride[WEFT_MAX_NDIM],
                           const weft_tensor *scaling);

#endif
