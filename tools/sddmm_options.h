// SPDX-License-Identifier: Apache-2.0
// The command line of weft sddmm.
#ifndef WEFT_TOOLS_SDDMM_OPTIONS_H
#define WEFT_TOOLS_SDDMM_OPTIONS_H

#include "product_options.h"

typedef struct sddmm_options {
    product_options product;
    const char *a_path, *b_path; // both or none
    int64_t k;
    bool has_k, transpose_b, indicator;
} sddmm_options;

// Parses, with defaults of missing options; ends the program after --help and on wrong usage.
void sddmm_options_parse(sddmm_options *out, int argc, char **argv);

#endif
