// SPDX-License-Identifier: Apache-2.0
// Functions that are applied to the elements of a result before they are written.
#ifndef WEFT_ACTIVATION_H
#define WEFT_ACTIVATION_H

#include <weft/api.h>

WEFT_BEGIN

// NaN stays NaN. weft_elementwise() has them under the same names, and their gradients as
// NAME_backward(dy, x).
typedef enum weft_activation {
    WEFT_ACTIVATION_NONE = 0,
    WEFT_ACTIVATION_RELU,      // the larger of x and 0
    WEFT_ACTIVATION_GELU,      // x times the normal distribution up to x, by erf()
    WEFT_ACTIVATION_GELU_TANH, // its approximation: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    WEFT_ACTIVATION_SILU,      // x / (1 + exp(-x))
    WEFT_ACTIVATION_SIGMOID,   // 1 / (1 + exp(-x))
    WEFT_ACTIVATION_TANH,
} weft_activation;

// "none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid" or "tanh"; NULL for other values.
WEFT_API const char *weft_activation_name(weft_activation activation);

WEFT_END

#endif
