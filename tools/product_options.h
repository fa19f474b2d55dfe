// SPDX-License-Identifier: Apache-2.0
// The command line that commands on a sparse matrix and others share.
#ifndef WEFT_TOOLS_PRODUCT_OPTIONS_H
#define WEFT_TOOLS_PRODUCT_OPTIONS_H

#include "command.h"

typedef struct product_options {
    command_options common;
    const char *sparse_path, *output_path;
    double alpha;
    weft_dtype dtype; // WEFT_DEFAULT: what dense files have
    uint64_t seed;
    int64_t runs;
    bool check;
    file_format format; // of files whose names do not say it; FORMAT_UNKNOWN: as they begin
} product_options;

// Defaults: what is not said stays at them.
product_options product_options_new(void);

// The parser of all that but the files, a child of each command's own: hands `common` on.
extern const struct argp product_argp;

#endif
