// SPDX-License-Identifier: Apache-2.0
// Pictures of digits as on clocks, each in another place, with noise and defects.
#include "digits.h"

#include <stdlib.h>

#include "common.h"

//     0
//   5   1
//     6
//   4   2
//     3
enum { N_SEGMENTS = 7, WIDTH = 7, HEIGHT = 11 }; // of a digit, in pixels
static const char *const segments_of[DIGITS_CLASSES] = {
    "012345", "12", "01346", "01236", "1256", "02356", "023456", "012", "0123456", "012356"};
static const struct segment {
    int row, column, height, width;
} segments[N_SEGMENTS] = {{0, 1, 1, 5}, {1, 6, 4, 1}, {6, 6, 4, 1}, {10, 1, 1, 5},
                          {6, 0, 4, 1}, {1, 0, 4, 1}, {5, 1, 1, 5}};
static const double NOISE = 0.2, FAINTEST = 0.5;

// Adds to a pixel of a picture.
static void add(digits *d, int64_t picture, int64_t row, int64_t column, double light)
{
    d->pixels[(row * DIGITS_SIDE + column) * d->n + picture] += light;
}

static void draw(digits *d, int64_t picture, chance *c)
{
    const int64_t top = (DIGITS_SIDE - HEIGHT) / 2 - 1 + chance_below(c, 3);
    const int64_t left = (DIGITS_SIDE - WIDTH) / 2 - 1 + chance_below(c, 3);
    for (const char *s = segments_of[d->labels[picture]]; *s != '\0'; s++) {
        const struct segment *at = &segments[*s - '0'];
        const double light = FAINTEST + (1 - FAINTEST) * chance_uniform(c);
        for (int row = 0; row < at->height; row++)
            for (int column = 0; column < at->width; column++)
                add(d, picture, top + at->row + row, left + at->column + column, light);
    }
    for (int64_t row = 0; row < DIGITS_SIDE; row++)
        for (int64_t column = 0; column < DIGITS_SIDE; column++)
            add(d, picture, row, column, NOISE * chance_normal(c));
}

bool digits_make(digits *out, int64_t n, chance *c)
{
    *out = (digits){.n = n};
    out->pixels = calloc((size_t)(DIGITS_PIXELS * n) + 1, sizeof(*out->pixels));
    out->is = calloc((size_t)(DIGITS_CLASSES * n) + 1, sizeof(*out->is));
    out->labels = calloc((size_t)n + 1, sizeof(*out->labels));
    if (!is_there(out->pixels) || !is_there(out->is) || !is_there(out->labels))
        return false;
    for (int64_t i = 0; i < n; i++) {
        out->labels[i] = (int32_t)chance_below(c, DIGITS_CLASSES);
        out->is[out->labels[i] * n + i] = 1;
        draw(out, i, c);
    }
    return true;
}

void digits_free(digits *d)
{
    free(d->pixels);
    free(d->is);
    free(d->labels);
    *d = (digits){0};
}
