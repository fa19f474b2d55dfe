// SPDX-License-Identifier: Apache-2.0
// The command line of commands on a sparse matrix and others.
#ifndef WEFT_TOOLS_PRODUCT_OPTIONS_H
#define WEFT_TOOLS_PRODUCT_OPTIONS_H

#include "command.h"

typedef struct product_options {
    command_options common;
    const char *sparse_path, *output_path;
    double alpha;
    weft_dtype dtype; // WEFT_DEFAULT: that of dense files
    uint64_t seed;
    int64_t runs;
    bool check;
    file_format format; // of files whose names do not say it; FORMAT_UNKNOWN: as they begin
} product_options;

// Defaults of missing options.
product_options product_options_new(void);

// The parser of all but the files, a child of each command's own: passes `common` on.
extern const struct argp product_argp;

#endif
