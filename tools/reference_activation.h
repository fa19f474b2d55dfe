// SPDX-License-Identifier: Apache-2.0
// The reference of activations, and the error of their results.
//
// With an argument z that errs by up to E, the device's y = f(z) errs by
//
//   S E + K u (|f(z)| + S E) + t (min(|z|, 1000) + E + 4)
//
// S bounds the slope of f: 1 for relu and tanh, 1/4 for sigmoid, 1.1 for silu, 1.13 for gelu and
// gelu_tanh. K counts the roundings, an ulp being up to 2 u, exp() good to 3 ulp, erfc() to 16,
// tanh() to 5 and a division to 2.5, as OpenCL C promises:
//
//   relu 0    tanh 10    sigmoid, silu 20: exp, a sum, a product, a division
//   gelu 40: erfc, and the error after correcting its argument
//   gelu_tanh 20 + 8 |w|, w = 2 sqrt(2 / pi) (z + 0.044715 z^3): exp multiplies the 8 roundings of
//   its argument by |w|; up to |w| = 1000, behind which f is 0 or z
//
// The last term is for flushed numbers: exp() or erfc(), and products with them. The reference,
// being double, errs the same way with u = 2^-53. An argument that is an infinity or NaN is exact.
#ifndef WEFT_TOOLS_REFERENCE_ACTIVATION_H
#define WEFT_TOOLS_REFERENCE_ACTIVATION_H

#include <weft/activation.h>

#include "precision.h"

// f(z), with f(-infinity) = 0 where that is the limit.
double reference_activation(weft_activation f, double z);

// The bound of f(z) for a z with an error up to `error`, before it is stored.
double reference_activation_error(weft_activation f, const precision *p, double z, double error);

#endif
