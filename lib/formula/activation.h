// SPDX-License-Identifier: Apache-2.0
// Names of activations in kernels.
#ifndef WEFT_LIB_ACTIVATION_H
#define WEFT_LIB_ACTIVATION_H

#include <weft/activation.h>

// Its function in cl/formula/formula.clh: "RELU"; NULL for none.
const char *weft_activation_function(weft_activation activation);

#endif
