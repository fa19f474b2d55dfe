// SPDX-License-Identifier: Apache-2.0
// How dense products are divided into blocks, and blocks into registers of items.
#ifndef WEFT_LIB_MATMUL_TILING_H
#define WEFT_LIB_MATMUL_TILING_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"
#include "base/why.h"

// How a product is computed.
typedef enum weft_matmul_method {
    WEFT_MATMUL_BLOCKS = 0, // blocks of C: m, n and k are long
    WEFT_MATMUL_DOTS,       // dot products: few rows of C, B adjacent along k
    WEFT_MATMUL_ROWS,   // rows of C as sums of rows of B, adjacent along n: few rows, or small k
    WEFT_MATMUL_DIRECT, // blocks of C, nothing staged, B adjacent along n: caches hold it
} weft_matmul_method;

// "blocks" for WEFT_MATMUL_BLOCKS, and so on; NULL for unknown values. Static storage.
const char *weft_matmul_method_name(weft_matmul_method method);

enum { WEFT_MATMUL_FEW = 8 }; // rows of C that DOTS takes at most

// Margin of 32-bit extents in the kernels: a step along k, and a group's rows or columns at a time,
// may reach past the end by it.
enum { WEFT_MATMUL_MARGIN = 4096, WEFT_MATMUL_MAX_EXTENT = INT32_MAX - WEFT_MATMUL_MARGIN };

// Groups along one direction of a launch; also limits chunks of k where a block is one tile.
enum { WEFT_MATMUL_MOST_GROUPS = 1 << 15 };

// Inputs of a tiling, besides the limits.
typedef struct weft_matmul_problem {
    int64_t m, n, k;           // C is m x n, A m x k
    int64_t n_batches;         // 0 counts as 1; changes blocks, but no bit of a product
    weft_dtype dtype;          // of A and B; WEFT_DEFAULT is f32
    bool a_along_m, a_along_k; // neighbours in that direction are adjacent in memory
    bool b_along_k, b_along_n;
    bool c_along_m, c_along_n;
    const weft_why *why; // receives reasons; NULL: none
} weft_matmul_problem;

// A group computes a block of C, and each item goes through its part of that with rows x vectors x
// vector_width sums at a time: with BLOCKS and ROWS elements of C, with DOTS lanes of rows x
// vectors elements. Local memory has a strip of A, a step of B and the sums of a block, with DOTS
// all rows of A in one step. With BLOCKS, if several items have a whole block at a time, sums are
// in registers, strip and step have two buffers each, and there are up to 32768 chunks. With ROWS
// an item's rows of the block, min(m, rows) of them, have at most rows x vectors vectors. With
// DIRECT groups have one item, and nothing is in local memory.
//
// block_rows: with BLOCKS and DIRECT a multiple of items_y x rows; with DOTS at least m.
// block_columns: with BLOCKS and DIRECT a multiple of items x vectors x vector_width; with ROWS of
// items x vector_width; with DOTS of items_y x vectors and of vector_width. depth: a multiple of
// vector_width, with DOTS of items x vector_width; ROWS and DIRECT do not use it. chunk: with
// DIRECT at least k.
typedef struct weft_matmul_tiling {
    weft_matmul_method method;
    bool transposed;    // C^T = B^T A^T is computed, and m and n below are exchanged
    int vector_width;   // elements in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;        // 1 to 8; with ROWS 1 to 64
    int rows;           // 1 to 16; with ROWS 1, 2, 4 or 8
    int items, items_y; // of a group, powers of two: along columns and rows; DOTS: k and columns
    int depth;          // elements of k that are staged in local memory at a time
    int64_t block_rows; // of C, of a group
    int64_t block_columns;
    int64_t chunk; // of k that a group sums; sums of several chunks are added in order
} weft_matmul_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_matmul_tiling weft_matmul_tiling_for(const weft_limits *limits,
                                          const weft_matmul_problem *problem);

// Checks a forced tiling against the limits and the problem: WEFT_BAD_ARGUMENT names the field.
weft_status weft_matmul_tiling_check(const weft_matmul_tiling *tiling, const weft_limits *limits,
                                     const weft_matmul_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_matmul_tiling_print(const weft_matmul_tiling *tiling, char *text, size_t size);

// For printing and parsing it.
extern const weft_tiling_table weft_matmul_tiling_table;

// Arrays in local memory of a group of the tiling, for m rows of C; sizes in bytes.
enum { WEFT_MATMUL_ARRAYS = 3 };
void weft_matmul_arrays(int64_t bytes[WEFT_MATMUL_ARRAYS], const weft_matmul_tiling *tiling,
                        weft_dtype dtype, int64_t m);

// Their sum; INT64_MAX if it overflows.
int64_t weft_matmul_local_bytes(const weft_matmul_tiling *tiling, weft_dtype dtype, int64_t m);

// Whether the registers of a group's items have a whole block.
bool weft_matmul_is_one_tile(const weft_matmul_tiling *tiling);

#endif
