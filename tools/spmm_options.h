// SPDX-License-Identifier: Apache-2.0
// The command line of weft spmm.
#ifndef WEFT_TOOLS_SPMM_OPTIONS_H
#define WEFT_TOOLS_SPMM_OPTIONS_H

#include <weft/spmm.h>

#include "command.h"

typedef struct spmm_options {
    command_options common;
    const char *a_path, *b_path, *c0_path, *output_path;
    int64_t n;
    bool has_n, has_beta, transpose_a, check, no_plan;
    double alpha, beta;
    weft_spmm_reduction reduction;
    weft_dtype dtype;
    uint64_t seed;
    int64_t runs;
} spmm_options;

// Parses, with what was not said at its default; ends the program after --help and on wrong usage.
void spmm_options_parse(spmm_options *out, int argc, char **argv);

#endif
