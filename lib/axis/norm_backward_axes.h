// SPDX-License-Identifier: Apache-2.0
// The axes of the two sweeps of the backward passes of normalisation.
#ifndef WEFT_LIB_NORM_BACKWARD_AXES_H
#define WEFT_LIB_NORM_BACKWARD_AXES_H

#include "axis/axes.h"

typedef struct weft_norm_backward_operands {
    const weft_tensor *X, *dY, *dX;
    const weft_tensor *weight, *dW, *db; // NULL if not given
    int64_t rows;
    bool is_vectorized; // items process vectors
} weft_norm_backward_operands;

// For dX: X, dY, dX, then w, dW and db if given.
weft_axes weft_norm_backward_axes(const weft_norm_backward_operands *o, int n_axes);

// For dW and db: X, dY, then dW and db if given. `axes` are those for dX.
weft_axes weft_norm_scaling_axes(const weft_axes *axes, const weft_norm_backward_operands *o);

#endif
