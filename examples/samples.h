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
    double temperature; // that made-up samples are made with; 0 where they are read
} samples;

// Reads rows of a label and a score for each class, blanks or commas between, # before remarks.
// False after a complaint that names file and line. "-" is standard input.
bool samples_read(samples *out, const char *path);

// Makes n samples of n_classes up: scores that are right when divided by the temperature, labels
// drawn with the probabilities that they then mean.
bool samples_make(samples *s);

void samples_free(samples *s);

#endif
