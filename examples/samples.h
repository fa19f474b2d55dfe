// SPDX-License-Identifier: Apache-2.0
// Scores that a classifier gave to samples, with the right answers.
#ifndef WEFT_EXAMPLES_SAMPLES_H
#define WEFT_EXAMPLES_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct samples {
    int64_t n, n_classes;
    float *scores;      // n x n_classes
    int32_t *labels;    // n, from 0
    double temperature; // of made-up samples; 0 if they are read
} samples;

// Reads rows of a label and a score for each class, with blanks or commas between, and comments
// after #. False after a message that names file and line. "-" is standard input.
bool samples_read(samples *out, const char *path);

// Makes n samples of n_classes: scores that are right when divided by the temperature, and labels
// drawn with those probabilities.
bool samples_make(samples *s);

void samples_free(samples *s);

#endif
