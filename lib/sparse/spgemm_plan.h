// SPDX-License-Identifier: Apache-2.0
// How products of sparse matrices are cut into rows, and these into sums at a time.
#ifndef WEFT_LIB_SPGEMM_PLAN_H
#define WEFT_LIB_SPGEMM_PLAN_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"

// All that a tiling is chosen from, besides the limits.
typedef struct weft_spgemm_problem {
    int64_t m, k, n;      // A is m x k, B k x n
    int64_t a_nnz, b_nnz; // entries of A, of B
    weft_dtype dtype;     // WEFT_DEFAULT is f32
} weft_spgemm_problem;

// How the work is cut. A group computes `rows` rows of C. Where a row has `long_from` products or
// more, `long_groups` groups share C's columns: 1024 such rows, and any beyond these as usual rows.
typedef struct weft_spgemm_tiling {
    int items;        // of a group, which share a row's products: a power of two
    int rows;         // 1 to 32768
    int columns;      // sums that a group has local memory for, 1 to 32768, beside marks for at
                      // least 8 times as many columns, or for one item 32 times; to count entries
                      // it has marks alone, for 32 times as many columns, or 64 times
    int sorted;       // products of a row up to which they are sorted: 0, or a power of two, 16 to
                      // 4096. One item does so to fill rows with fewer than one for each 8 columns
    int sort_items;   // if there are several items, those of a group that sorts: a power of two
    int sort_rows;    // that such a group sorts at once, if they have up to `sorted` products
                      // together: a power of two up to sort_items
    bool sort_counts; // such groups sort to count entries, too, not only to fill rows
    int long_from;    // products, up to 262144; 0: no row is long, and the next two are not used
    int long_columns; // a power of two, 64 to 65536: as `columns`
    int long_groups;  // 1 to 256, at most: each has a multiple of `long_columns`
} weft_spgemm_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_spgemm_tiling weft_spgemm_tiling_for(const weft_limits *limits,
                                          const weft_spgemm_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_spgemm_tiling_check(const weft_spgemm_tiling *tiling, const weft_limits *limits,
                                     const weft_spgemm_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_spgemm_tiling_print(const weft_spgemm_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_spgemm_tiling_table;

// Marks of a word, with so many items to a group.
int weft_spgemm_word(int items);

// Words of marks that have ranks, where there are so many sums.
int64_t weft_spgemm_words(int64_t sums, int items);

// Local memory for so many words of marks.
int64_t weft_spgemm_marks_bytes(int64_t words, int items);

// Bits of a number of so many columns.
int weft_spgemm_column_bits(int64_t n);

enum {
    WEFT_SPGEMM_LEAST_LONG = 64,         // columns: groups that share a row have whole words
    WEFT_SPGEMM_NOTED = 1024,            // long rows that are shared by groups
    WEFT_SPGEMM_AT_ONCE = 32,            // of these, that are computed at the same time
    WEFT_SPGEMM_ROOM = 4,                // columns, or for several items words of marks, a product
    WEFT_SPGEMM_LEAST = 256,             // of them at least, where there are so many
    WEFT_SPGEMM_MOST_PRODUCTS = 1 << 18, // of a row or an item, that make a difference
};

#endif
