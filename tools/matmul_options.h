// SPDX-License-Identifier: Apache-2.0
// The command line of weft matmul.
#ifndef WEFT_TOOLS_MATMUL_OPTIONS_H
#define WEFT_TOOLS_MATMUL_OPTIONS_H

#include "dense_options.h"
#include "formula.h"

typedef struct matmul_options {
    dense_options dense; // its file, or random array, is A
    const char *b_path;  // NULL: a random B of n columns
    int64_t n;
    bool has_n;
    bool transpose_a, transpose_b;
    double alpha, beta;
    bool has_beta;
    const char *c0_path; // operand of beta; NULL if beta is not given
    weft_dtype c_dtype;  // WEFT_DEFAULT: A's, i32 for i8
    const char *epilogue;
    formula_words words; // its names
} matmul_options;

// Parses, with defaults of missing options; ends the program after --help and on wrong usage. Names
// are cut out of argv.
void matmul_options_parse(matmul_options *out, int argc, char **argv);

#endif
