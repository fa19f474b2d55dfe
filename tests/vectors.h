// SPDX-License-Identifier: Apache-2.0
// What formulas come to by other implementations than weft's: tests/data/formulas.txt, which
// formulas.py prints. Lines of words between single blanks; what begins with # is a comment:
//
//   call [ARITHMETIC]         begins a call of weft_elementwise()
//   in TYPE NUMBER ...        its next input: a, b, c, ...
//   value NUMBER              its next value: v0, v1, ...
//   out TYPE ULPS FORMULA     its next output, and how far it may be off, in ulps of TYPE ...
//   = NUMBER[~MORE] ...       ... and besides; 0 of both: to the bit, and zeros with their signs
#ifndef WEFT_TESTS_VECTORS_H
#define WEFT_TESTS_VECTORS_H

#include <stdio.h>

#include <weft/elementwise.h>

enum { VECTORS_LENGTH = 300, VECTORS_TEXT = 1024 };

typedef struct vectors_numbers {
    weft_dtype dtype;
    char formula[VECTORS_TEXT]; // of an output
    double ulps;
    double real[VECTORS_LENGTH], more[VECTORS_LENGTH]; // of floats
    int64_t whole[VECTORS_LENGTH];                     // of others
} vectors_numbers;

typedef struct vectors_call {
    weft_dtype arithmetic; // WEFT_DEFAULT: the library's choice
    int n_inputs, n_outputs, n_values;
    int count; // of each operand's numbers
    vectors_numbers in[WEFT_ELEMENTWISE_INPUTS], out[WEFT_ELEMENTWISE_OUTPUTS];
    double values[WEFT_ELEMENTWISE_VALUES];
} vectors_call;

// The file in the folder of tests' data; fails the test where it is not there.
FILE *vectors_open(void);

// The next call, or false after the last. Fails the test where a line is none.
bool vectors_next(FILE *file, vectors_call *out);

// Writes the numbers to memory, as elements of their type.
void vectors_put(const vectors_numbers *numbers, int count, void *data);

// Whether the output may have that number for its element i: a real one, or a whole one.
bool vectors_hold(const vectors_numbers *out, int i, double real, int64_t whole);

#endif
