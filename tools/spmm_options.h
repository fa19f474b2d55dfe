// SPDX-License-Identifier: Apache-2.0
// The command line of weft spmm.
#ifndef WEFT_TOOLS_SPMM_OPTIONS_H
#define WEFT_TOOLS_SPMM_OPTIONS_H

#include <weft/spmm.h>

#include "product_options.h"

typedef struct spmm_options {
    product_options product;
    const char *b_path, *c0_path;
    int64_t n;
    bool has_n, has_beta, transpose_a, no_plan;
    double beta;
    weft_spmm_reduction reduction;
    weft_spmm_row_schedule row_schedule;
} spmm_options;

// Parses, with what was not said at its default; ends the program after --help and on wrong usage.
void spmm_options_parse(spmm_options *out, int argc, char **argv);

#endif
