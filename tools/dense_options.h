// SPDX-License-Identifier: Apache-2.0
// The command line that commands on one dense array share.
#ifndef WEFT_TOOLS_DENSE_OPTIONS_H
#define WEFT_TOOLS_DENSE_OPTIONS_H

#include <weft/tensor.h>

#include "command.h"

typedef struct dense_options {
    command_options common;
    const char *x_path, *output_path; // x_path NULL: random numbers of the shape
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool has_shape, check;
    file_format format; // of files whose names do not say it; FORMAT_UNKNOWN: as they begin
    weft_dtype dtype;   // WEFT_DEFAULT: the file's own, f32 for random numbers
    uint64_t seed;
    int64_t runs;
} dense_options;

// Defaults: what is not said stays at them.
dense_options dense_options_new(void);

// The parser, a child of each command's own: hands `common` on, takes the file's name, and ends the
// program with a usage error where there is neither a file nor a shape, or both.
extern const struct argp dense_argp;

// Whole numbers between commas, at least one and at most `room`; ends the program with a usage
// error naming `option`. Returns how many.
int dense_list(struct argp_state *state, const char *option, const char *text, int64_t low,
               int64_t high, int room, int64_t *out);

#endif
