// SPDX-License-Identifier: Apache-2.0
// The command line of commands on one dense array.
#ifndef WEFT_TOOLS_DENSE_OPTIONS_H
#define WEFT_TOOLS_DENSE_OPTIONS_H

#include <weft/tensor.h>

#include "command.h"

typedef struct dense_options {
    command_options common;
    const char *x_path, *output_path; // x_path NULL: random numbers of the shape
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    const char *shape_note; // ends the complaint about a wrong --shape; NULL for nothing
    bool has_shape, check;
    file_format format; // of files whose names do not say it; FORMAT_UNKNOWN: as they begin
    weft_dtype dtype;   // WEFT_DEFAULT: the file's own, f32 for random numbers
    uint64_t seed;
    int64_t runs;
} dense_options;

// Defaults of missing options.
dense_options dense_options_new(void);

// The parser, a child of each command's own: passes `common` on, reads the file's name, and ends
// the program with a usage error if there is neither a file nor a shape, or both.
extern const struct argp dense_argp;

// The extents of --shape, at least one; ends the program with a usage error, which `note` ends if
// that is not NULL. Returns how many.
int dense_take_shape(struct argp_state *state, const char *text, const char *note,
                     int64_t shape[WEFT_MAX_NDIM]);

// The axes of --axis, none of them twice; "all" is none. Ends the program with a usage error.
// Returns how many.
int dense_take_axes(struct argp_state *state, const char *text, int axes[WEFT_MAX_NDIM]);

#endif
