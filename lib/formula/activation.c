// SPDX-License-Identifier: Apache-2.0
// Activations of results.
#include "formula/activation.h"

#include <stddef.h>

static const struct {
    const char *name, *function;
} activations[] = {
    [WEFT_ACTIVATION_NONE] = {"none", NULL},
    [WEFT_ACTIVATION_RELU] = {"relu", "RELU"},
    [WEFT_ACTIVATION_GELU] = {"gelu", "GELU"},
    [WEFT_ACTIVATION_GELU_TANH] = {"gelu_tanh", "GELU_TANH"},
    [WEFT_ACTIVATION_SILU] = {"silu", "SILU"},
    [WEFT_ACTIVATION_SIGMOID] = {"sigmoid", "SIGMOID"},
    [WEFT_ACTIVATION_TANH] = {"tanh", "TANH"},
};

enum { N_ACTIVATIONS = sizeof(activations) / sizeof(activations[0]) };

const char *weft_activation_name(weft_activation activation)
{
    return (int)activation >= 0 && (int)activation < N_ACTIVATIONS ? activations[activation].name
                                                                   : NULL;
}

const char *weft_activation_function(weft_activation activation)
{
    return activations[activation].function;
}
