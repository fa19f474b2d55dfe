// SPDX-License-Identifier: Apache-2.0
// How dense products are cut into blocks, and these into what an item has in registers.
#ifndef WEFT_LIB_MATMUL_TILING_H
#define WEFT_LIB_MATMUL_TILING_H

#include <weft/dtype.h>
#include <weft/limits.h>

#include "base/tiling.h"
#include "base/why.h"

// How a product is cut.
typedef enum weft_matmul_method {
    WEFT_MATMUL_BLOCKS = 0, // blocks of C: m, n and k are long
    WEFT_MATMUL_DOTS,       // dot products: few rows of C, neighbours along k are adjacent in B
    WEFT_MATMUL_ROWS, // rows of C as sums of rows of B, where neighbours are adjacent: few rows, or
                      // k of a few
} weft_matmul_method;

// "blocks" for WEFT_MATMUL_BLOCKS, and so on; NULL for what is none. Static storage.
const char *weft_matmul_method_name(weft_matmul_method method);

enum { WEFT_MATMUL_FEW = 8 }; // rows of C that DOTS takes at most

// What 32-bit extents in the kernels leave room for: a step along k, and what a group's items have
// at a time, may reach past the end by that.
enum { WEFT_MATMUL_MARGIN = 4096, WEFT_MATMUL_MAX_EXTENT = INT32_MAX - WEFT_MATMUL_MARGIN };

// Groups along one direction of a launch, and so chunks of k where a block is one tile.
enum { WEFT_MATMUL_MOST_GROUPS = 1 << 15 };

// All that a tiling is chosen from, besides the limits.
typedef struct weft_matmul_problem {
    int64_t m, n, k;           // C is m x n, A m x k
    int64_t n_batches;         // 0 counts as 1; changes blocks, but no bit of a product
    weft_dtype dtype;          // of A and B; WEFT_DEFAULT is f32
    bool a_along_m, a_along_k; // neighbours in that direction are adjacent in memory
    bool b_along_k, b_along_n;
    bool c_along_m, c_along_n;
    const weft_why *why; // where reasons go; NULL: nowhere
} weft_matmul_problem;

// How the work is cut. A group has a block of C, and each item goes through its part of that with
// rows x vectors x vector width sums at a time: with BLOCKS and ROWS numbers of C, with DOTS lanes
// of rows x vectors numbers. Local memory has room for a strip of A, a step of B and the sums of a
// block, with DOTS for all rows of A in one step. With BLOCKS, where several items have a whole
// block at a time, sums need no local memory, strip and step have two buffers each, and of chunks
// there are up to 32768. With ROWS an item's rows of the block, min(m, rows) of them, have no more
// than rows x vectors vectors.
typedef struct weft_matmul_tiling {
    weft_matmul_method method;
    bool transposed;    // C^T = B^T A^T is what is multiplied, and below m and n change places
    int vector_width;   // elements in one OpenCL vector: 1, 2, 4, 8 or 16
    int vectors;        // 1 to 8; with ROWS 1 to 64
    int rows;           // 1 to 16; with ROWS 1, 2, 4 or 8
    int items, items_y; // of a group, powers of two: along columns and along rows; with DOTS
                        // along k and along columns
    int depth; // of k that stands in local memory at a time: a multiple of vector width, with
               // DOTS of items x vector width; ROWS takes no notice
    int64_t
        block_rows; // of C that a group has: with BLOCKS a multiple of group of items x rows; with
                    // DOTS all of them
    int64_t
        block_columns; // with BLOCKS a multiple of items x vectors x vector width; with ROWS of items x
                       // vector width; with DOTS of group of items x vectors and of vector width
    int64_t chunk; // of k that one group sums up: where there are several, they are added in order
} weft_matmul_tiling;

// Chooses; a pure function. `limits` must pass weft_limits_check().
weft_matmul_tiling weft_matmul_tiling_for(const weft_limits *limits,
                                          const weft_matmul_problem *problem);

// Checks a tiling that somebody filled in against the limits and the problem: WEFT_BAD_ARGUMENT
// names the field.
weft_status weft_matmul_tiling_check(const weft_matmul_tiling *tiling, const weft_limits *limits,
                                     const weft_matmul_problem *problem);

// The tiling in one line, as snprintf() does it.
int weft_matmul_tiling_print(const weft_matmul_tiling *tiling, char *text, size_t size);

// What prints it, and reads it.
extern const weft_tiling_table weft_matmul_tiling_table;

// Arrays in local memory that a group of the tiling has, for m rows of C; how large, in bytes.
enum { WEFT_MATMUL_ARRAYS = 3 };
void weft_matmul_arrays(int64_t bytes[WEFT_MATMUL_ARRAYS], const weft_matmul_tiling *tiling,
                        weft_dtype dtype, int64_t m);

// All of them together; INT64_MAX where that does not fit.
int64_t weft_matmul_local_bytes(const weft_matmul_tiling *tiling, weft_dtype dtype, int64_t m);

// A block is what its items have in registers.
bool weft_matmul_is_one_tile(const weft_matmul_tiling *tiling);

#endif
