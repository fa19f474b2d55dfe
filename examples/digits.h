// SPDX-License-Identifier: Apache-2.0
// Pictures of digits as on clocks, each in another place, with noise and defects.
#ifndef WEFT_EXAMPLES_DIGITS_H
#define WEFT_EXAMPLES_DIGITS_H

#include <stdbool.h>
#include <stdint.h>

#include "chance.h"

enum { DIGITS_SIDE = 16, DIGITS_PIXELS = DIGITS_SIDE * DIGITS_SIDE, DIGITS_CLASSES = 10 };

typedef struct digits {
    int64_t n;
    double *pixels;  // [DIGITS_PIXELS x n]: a column for each picture
    double *is;      // [DIGITS_CLASSES x n]: 1 where the picture shows the class, else 0
    int32_t *labels; // [n]: the class
} digits;

// Makes n of them. False after a message on standard error.
bool digits_make(digits *out, int64_t n, chance *c);

void digits_free(digits *d);

#endif
