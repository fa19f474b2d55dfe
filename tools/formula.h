// SPDX-License-Identifier: Apache-2.0
// The names of a formula: arrays and numbers of the command line, NAME=FILE.npy and NAME=NUMBER,
// and the arrays on the device.
#ifndef WEFT_TOOLS_FORMULA_H
#define WEFT_TOOLS_FORMULA_H

#include <weft/elementwise.h>

#include "command.h"
#include "operand.h"
#include "reference_elementwise.h"

typedef struct formula_words {
    int n_inputs, n_values;
    const char *names[WEFT_ELEMENTWISE_INPUTS], *paths[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
    bool has_real_value; // one is written with a point or exponent, or is inf or nan
} formula_words;

// Parses one of them, whose name is cut out of `word`; ends the program with a usage error if it is
// neither, its name occurred before, or there are more than `room` arrays or too many numbers.
void formula_words_take(formula_words *out, char *word, int room, struct argp_state *state);

// The arrays, in the order of the words. `host` is read first.
typedef struct formula_arrays {
    npy_array host[WEFT_ELEMENTWISE_INPUTS];
    weft_tensor tensors[WEFT_ELEMENTWISE_INPUTS]; // without gaps
    weft_elementwise_input inputs[WEFT_ELEMENTWISE_INPUTS];
} formula_arrays;

// Reads the files, none larger than the device's largest buffer; `format` is for names without one.
// `out` is all zeroes before, and must be freed even after a failure.
bool formula_arrays_read(formula_arrays *out, const formula_words *words, file_format format,
                         weft_context *ctx, complaint *why);

// Puts them on the device, and adds their bytes to *bytes.
bool formula_arrays_upload(formula_arrays *out, const formula_words *words, weft_context *ctx,
                           size_t *bytes, complaint *why);

// Completes `problem`, of the reference, with arrays and numbers. The operand before them, if any,
// is called `first`.
bool formula_reference(reference_values *out, reference_elementwise problem, const char *first,
                       const formula_words *words, const formula_arrays *arrays, complaint *why);

// Releases buffers and frees arrays; zeroes are fine.
void formula_arrays_free(formula_arrays *arrays);

#endif
