// SPDX-License-Identifier: Apache-2.0
// The command line of weft elementwise.
#ifndef WEFT_TOOLS_ELEMENTWISE_OPTIONS_H
#define WEFT_TOOLS_ELEMENTWISE_OPTIONS_H

#include <weft/elementwise.h>

#include "command.h"

typedef struct elementwise_options {
    command_options common;
    const char *formula;
    int n_inputs, n_values;
    const char *names[WEFT_ELEMENTWISE_INPUTS], *paths[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
    bool has_real_value; // one is written with a point or exponent, or is inf or nan
    const char *output_path;
    weft_dtype dtype, arithmetic; // WEFT_DEFAULT: as inputs and formula have it
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool has_shape; // or else that of the inputs
    int64_t runs;
} elementwise_options;

// Parses, with what was not said at its default; ends the program after --help and on wrong usage.
// Names are cut out of argv.
void elementwise_options_parse(elementwise_options *out, int argc, char **argv);

#endif
