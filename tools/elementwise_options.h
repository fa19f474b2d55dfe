// SPDX-License-Identifier: Apache-2.0
// The command line of weft elementwise.
#ifndef WEFT_TOOLS_ELEMENTWISE_OPTIONS_H
#define WEFT_TOOLS_ELEMENTWISE_OPTIONS_H

#include "formula.h"

typedef struct elementwise_options {
    command_options common;
    const char *formula;
    formula_words words;
    const char *output_path;
    weft_dtype dtype, arithmetic; // WEFT_DEFAULT: as inputs and formula have it
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool has_shape; // or else that of the inputs
    bool check;
    file_format format; // of files whose names do not say it; FORMAT_UNKNOWN: as they begin
    int64_t runs;
} elementwise_options;

// Parses, with defaults of missing options; ends the program after --help and on wrong usage. Names
// are cut out of argv.
void elementwise_options_parse(elementwise_options *out, int argc, char **argv);

#endif
