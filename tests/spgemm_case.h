// SPDX-License-Identifier: Apache-2.0
// What tests of sparse x sparse products share, whatever C is: tilings and shapes.
#ifndef WEFT_TESTS_SPGEMM_CASE_H
#define WEFT_TESTS_SPGEMM_CASE_H

#include <weft/spgemm.h>

#include "implementation.h"
#include "sparse/spgemm_plan.h"

// Stretches of columns that end anywhere, items alone and in groups.
static const weft_spgemm_tiling tilings[] = {
    {.items = 1, .rows = 3, .columns = 4},
    {.items = 4, .rows = 2, .columns = 6},
    {.items = 32, .rows = 1, .columns = 50},
    // Rows that groups share, from the first product on and later; chunks of one stretch and more.
    {.items = 1, .rows = 4, .columns = 4, .long_from = 1, .long_columns = 64, .long_groups = 7},
    {.items = 8, .rows = 2, .columns = 6, .long_from = 9, .long_columns = 64, .long_groups = 2},
    // The least of all, for small products.
    {.items = 2, .rows = 1, .columns = 1},
    {.items = 1, .rows = 1, .columns = 1},
    // Rows of a sparse C that groups sort beforehand, several at once.
    {.items = 8,
     .rows = 9,
     .columns = 6,
     .sorted = 64,
     .sort_items = 8,
     .sort_rows = 4,
     .sort_counts = true},
};

// For a C that is wider than a group has room for.
static const weft_spgemm_tiling wide_tilings[] = {
    {.items = 1, .rows = 2, .columns = 512, .long_from = 99, .long_columns = 64, .long_groups = 4},
    {.items = 8, .rows = 1, .columns = 64, .long_from = 99, .long_columns = 64, .long_groups = 99},
    {.items = 32, .rows = 3, .columns = 64, .long_from = 99, .long_columns = 512, .long_groups = 1},
};

// m, k, n, entries of A, of B.
static const int64_t small_shapes[][5] = {
    {0, 0, 0, 0, 0},      {0, 4, 5, 0, 9},      {4, 0, 5, 0, 0}, {4, 5, 0, 9, 0},
    {1, 1, 1, 3, 3},      {5, 6, 7, 0, 9},      {5, 6, 7, 9, 0}, {9, 8, 70, 30, 60},
    {20, 30, 15, 60, 90}, {1, 40, 200, 30, 300}};

enum {
    N_TILINGS = sizeof(tilings) / sizeof(tilings[0]),
    N_DENSE = N_TILINGS - 1, // where none are sorted
    N_USUAL = N_DENSE - 2,
    N_SHAPES = sizeof(small_shapes) / sizeof(small_shapes[0]),
};

// Behind the usual ones, what the library plans.
static inline const weft_spgemm_tiling *tiling_at(int i)
{
    return i < N_USUAL ? &tilings[i] : NULL;
}

// Whether they have a turn together: PoCL compiles a program whose items wait for each other for
// seconds.
static inline bool goes_with(int dtype, int tiling)
{
    const weft_spgemm_tiling *t = tiling_at(tiling);
    return has_turn_unless(t == NULL || t->items == 1, dtype + tiling);
}

#endif
