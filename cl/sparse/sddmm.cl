// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B) .* C + beta D at the entries of C, a sparse matrix by rows (CSR); A and B dense.
//
// A chunk is `entries` consecutive entries of C, of whatever rows. LANES items share it, and each
// dot product in it: of the current row of A, item `lane` caches VECTORS vectors of VECTOR_WIDTH
// elements in registers, LANES x VECTOR_WIDTH apart. All lanes together cache a tile of k. A launch
// computes either all tiles, entry by entry, or some of them, one after the other for all entries:
// then sums wait in scratch memory for the next one. CHUNKS_PER_GROUP chunks make a row block:
// group (x, 0, z) has row block x, or x / GROUPS_PER_ROW_BLOCK, for matrix z of the batch.
//
//   sddmm_csr_entries        adds one tile's part of the dot products; after the last tile, D
//   sddmm_csr_column_blocks  the same for equal tiles, rows side by side through column blocks of B
//   sddmm_pack               packs one tile of B to scratch memory, as [n][TILE]
//   sddmm_transpose          transposes all of B to scratch memory, as [n][k]
//   sddmm_scale              D = beta D, where there is nothing to add
//
// The last vector along k would reach past the end. It is moved back to end there, and its repeated
// lanes are 0 in A and in B. The host promises k >= VECTOR_WIDTH.
#include "base/parameters.clh"
#include "base/types.clh"

#ifndef LANES // items that share a chunk
#define LANES 4
#endif
#ifndef VECTORS // of a row of A that an item caches in registers
#define VECTORS 2
#endif
#ifndef CHUNKS_PER_GROUP
#define CHUNKS_PER_GROUP 4
#endif
#ifndef A_ADJACENT // A has stride 1 along k
#define A_ADJACENT 1
#endif
#ifndef B_ADJACENT // B has
#define B_ADJACENT 1
#endif
#ifndef PACKED // B comes from sddmm_pack
#define PACKED 0
#endif
#ifndef B_COLUMNS_NEAR // as nth_row() asks for it
#define B_COLUMNS_NEAR 0
#endif
#ifndef GROUPS_PER_ROW_BLOCK // groups of which one works
#define GROUPS_PER_ROW_BLOCK 1
#endif
#ifndef INDICATOR // C's values are not read
#define INDICATOR 0
#endif
#ifndef AHEAD // entries ahead that columns of B are prefetched; 0: they are not
#define AHEAD 0
#endif
#ifndef SHUFFLES // lanes exchange sums by: 0 local memory, 1 emulated shuffles, 2 shuffles
#define SHUFFLES 0
#endif

#define GROUP_ITEMS (LANES * CHUNKS_PER_GROUP)
#define GROUP       IN_SUB_GROUPS __attribute__((reqd_work_group_size(LANES, CHUNKS_PER_GROUP, 1)))

#include "base/dots.clh"

#include "operand/results.clh"
#include "operand/rows.clh"
#include "operand/stretches.clh"

#include "sparse/block.clh"
#include "sparse/sddmm_parameters.h"

#if LANES > 1 && SHUFFLES
#define ITEMS   LANES
#define ITEMS_Y CHUNKS_PER_GROUP
#include "base/shuffle.clh"
#endif

#if VECTOR_WIDTH > 1
#include "base/transpose.clh"
#endif

#define DENSE_A SDDMM_DENSE_PARAMETERS(DECLARE, COMMA, A, a)
#define DENSE_B SDDMM_DENSE_PARAMETERS(DECLARE, COMMA, B, b)
#define PRODUCT DENSE_A, DENSE_B, SDDMM_ENTRIES_PARAMETERS(DECLARE, COMMA)

#define A_STRIDE (A_ADJACENT ? 1 : a_column)
#define B_STRIDE (B_ADJACENT ? 1 : b_row)

// Where results go: D of one matrix, and before the last tile of k the sums so far.
typedef struct {
    global const BITS *c;
    global RESULT_T *d;
    global ACC *sums;
    ACC alpha, beta;
    int is_first, is_last;
} output;

INLINE void write_entry(ACC x, const output o, long e)
{
    if (!o.is_first)
        x += o.sums[e];
    if (!o.is_last) {
        o.sums[e] = x;
        return;
    }
    x *= o.alpha;
#if !INDICATOR
    x *= load_one((global const T *)o.c + e);
#endif
    if (o.beta != 0)
        x += o.beta * load_result(o.d + e);
    store_result(x, o.d + e);
}

#if LANES == 1
// Writes x, the sums of the entries e .. e + BLOCK - 1, as far as they come before `stop`. D and
// C's values need not be aligned where A and B are.
INLINE void write_sums(ACCS x, const output o, long e, long stop)
{
    if (ALIGNED || e + VECTOR_WIDTH > stop) {
        ACC lanes[VECTOR_WIDTH];
        VSTORE(x, lanes);
        for (int i = 0; i < VECTOR_WIDTH && e + i < stop; ++i)
            write_entry(lanes[i], o, e + i);
        return;
    }
    if (!o.is_first)
        x += VLOAD(o.sums + e);
    if (!o.is_last) {
        VSTORE(x, o.sums + e);
        return;
    }
    x *= (ACCS)o.alpha;
#if !INDICATOR
    x *= load_vector((global const T *)o.c + e);
#endif
    if (o.beta != 0)
        x = multiply_add((ACCS)o.beta, load_results(o.d + e), x);
    store_results(x, o.d + e);
}

// The same, from the item's parts of the sums, shares[]. Every item of the group must call it.
INLINE void write_block(state shares[BLOCK], local state *exchange, const output o, long e,
                        long stop)
{
    write_sums(block_sums(shares, exchange), o, e, stop);
}
#else
#if SHUFFLES
// Entry by entry: the lower half of the lanes adds the sums of the upper half, and so on.
INLINE void write_entries(const state shares[BLOCK], local state *exchange, const output o, long e,
                          long stop)
{
    const int lane = get_local_id(0);
#ifdef HAND_DOWN
#pragma unroll // GPUs cannot index registers
#endif
    for (int b = 0; b < BLOCK; ++b) {
        state mine, other;
        mine.sum = shares[b].sum;
        for (int below = LANES / 2; below > 0; below /= 2) {
            hand_down(&other, &mine, below, exchange);
            mine.sum += other.sum;
        }
        if (lane == 0 && e + b < stop)
            write_entry(mine.sum, o, e + b);
    }
}
#endif

INLINE void write_block(state shares[BLOCK], local state *exchange, const output o, long e,
                        long stop)
{
#if SHUFFLES
    if (SUB_GROUP_WIDTH >= LANES) {
        write_entries(shares, exchange, o, e, stop);
        return;
    }
#endif
    const int lane = get_local_id(0);
    const ACC x = block_sums(shares, exchange);
    if (e + lane < stop)
        write_entry(x, o, e + lane);
}
#endif

// The matrices of this item, and the entries of C that are its chunk.
#define CHUNK_OF_PRODUCT                                                                           \
    const long batch = GROUP_ALONG_Z, row_block = get_group_id(0) / GROUPS_PER_ROW_BLOCK;          \
    global const OFFSET *rows = offsets + offsets_start;                                           \
    global const INDEX *columns = indices + indices_start;                                         \
    global const T *matrix_a = A + a_start + batch * a_batch;                                      \
    global const T *matrix_b = B + b_start + batch * b_batch;                                      \
    output o = {values + values_start + batch * values_batch,                                      \
                D + d_start + batch * d_batch,                                                     \
                sums + sums_start + batch * nnz,                                                   \
                alpha,                                                                             \
                beta,                                                                              \
                from == 0,                                                                         \
                upto >= k};                                                                        \
    const long chunk = row_block * CHUNKS_PER_GROUP + get_local_id(1);                             \
    const long first = chunk * entries, stop = min(first + entries, nnz)

#if GO_TOGETHER
// The shares of the entries begin .. end - 1 of a block, which are of one row, over whole tiles.
// One tile of the row is in `a`; of several each is read for HELD entries. Without a branch between
// them columns are loaded together; the first or last one repeatedly in place of those of other
// rows.
INLINE void put_shares_of_row(state shares[BLOCK], int begin, int end, ACCS a[VECTORS],
                              bool is_one_tile, global const T *row, long a_stride,
                              global const T *matrix_b, long b_column, long b_stride,
                              global const INDEX *columns, int from, int upto, int k)
{
#pragma unroll
    for (int first = 0; first < BLOCK; first += HELD) {
        ACCS sums[HELD];
        global const T *others[HELD];
#pragma unroll
        for (int b = 0; b < HELD; ++b) {
            sums[b] = 0;
            others[b] = nth_row(matrix_b, columns[clamp(first + b, begin, end - 1)], b_column,
                                B_COLUMNS_NEAR);
        }
#pragma unroll 1
        for (int tile = from; tile < upto; tile += TILE) {
            if (!is_one_tile)
                load_whole_row(a, row + tile * a_stride, a_stride, A_ADJACENT);
#pragma unroll
            for (int b = 0; b < HELD; b += AT_ONCE) {
                global const T *tiles[AT_ONCE];
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i)
                    tiles[i] = others[b + i] + tile * b_stride;
                add_together(sums + b, a, tiles, b_stride, B_ADJACENT);
            }
        }
#pragma unroll
        for (int b = 0; b < HELD; ++b)
            if (first + b >= begin && first + b < end)
                shares[first + b].sum = share_of(sums[b]);
    }
}
#endif

// Tiles of k from `from` on, up to `upto`.
kernel GROUP void sddmm_csr_entries(PRODUCT)
{
    local state exchange[EXCHANGED(CHUNKS_PER_GROUP)];
    CHUNK_OF_PRODUCT;
    const bool is_one_tile = from + TILE >= upto;

#if LANES == 1 // where lanes are items Intel's compiler would put sums in memory
    const bool is_whole = is_one_tile && (PACKED || from + TILE <= k);
    global const T *first_column = PACKED ? matrix_b : matrix_b + from * B_STRIDE;
#endif
#if GO_TOGETHER
    const bool are_whole = !PACKED && upto <= k && (upto - from) % TILE == 0;
#endif
    ACCS a[VECTORS];
    int row = -1;
    long row_stop = first;
    for (long e = first; e < first + entries; e += BLOCK) {
#if LANES == 1
        // Whole blocks of the current row, as long as columns ahead can be prefetched.
        if (is_whole && e + BLOCK <= row_stop && e + BLOCK + AHEAD <= stop) {
            if (AHEAD > 0)
                for (int b = 0; b < BLOCK; ++b)
                    fetch_row(first_column + columns[e + b + AHEAD] * b_column, 0);
            write_sums(sums_of_block(a, first_column, b_column, PACKED ? 1 : B_STRIDE,
                                     PACKED || B_ADJACENT, 0, columns + e),
                       o, e, stop);
            continue;
        }
#endif
        state shares[BLOCK];
#if GO_TOGETHER
        if (are_whole) {
#pragma unroll
            for (int b = 0; b < BLOCK; ++b)
                shares[b].sum = 0;
            const int count = (int)clamp(stop - e, 0L, (long)BLOCK);
#pragma unroll 1
            for (int b = 0; b < count;) {
                if (e + b >= row_stop) {
                    row = next_row(rows, n_rows, row, e + b);
                    row_stop = rows[row + 1];
                    if (is_one_tile)
                        load_whole_row(a, matrix_a + row * a_row + from * A_STRIDE, A_STRIDE,
                                       A_ADJACENT);
                }
                const int next = (int)min(row_stop - e, (long)count);
                put_shares_of_row(shares, b, next, a, is_one_tile, matrix_a + row * a_row, A_STRIDE,
                                  matrix_b, b_column, B_STRIDE, columns + e, from, upto, k);
                b = next;
            }
        } else
#endif
            for (int b = 0; b < BLOCK; ++b) {
                ACCS sum = 0;
                if (e + b < stop) {
                    const bool is_new = e + b >= row_stop;
                    if (is_new) {
                        row = next_row(rows, n_rows, row, e + b);
                        row_stop = rows[row + 1];
                    }
                    global const T *column =
                        nth_row(matrix_b, columns[e + b], b_column, B_COLUMNS_NEAR);
                    if (AHEAD > 0 && e + b + AHEAD < stop)
                        fetch_row(matrix_b + columns[e + b + AHEAD] * b_column, PACKED ? 0 : from);
                    for (int tile = from; tile < upto; tile += TILE) {
                        if (is_new || !is_one_tile)
                            load_row(a, matrix_a + row * a_row, A_STRIDE, A_ADJACENT, tile, k,
                                     B_ADJACENT, PACKED);
                        sum = add_product(sum, a, column, B_STRIDE, B_ADJACENT, PACKED, tile, k);
                    }
                }
                put_share(shares, b, sum);
            }
        write_block(shares, exchange, o, e, stop);
    }
}

#if LANES == 1
#define SIDE_BY_SIDE 256 // rows that advance through column blocks together, at most

// Columns of a column block: `column_block`, or more, so that rows have a block of entries in each.
INLINE long column_block_for(long column_block, int n, long entries, int n_rows)
{
    const long most = max(entries / (n_rows * (long)BLOCK), 1L);
    return max(column_block, (n + most - 1) / most);
}

// How many of the entries e .. stop - 1 of a row are next, before column `edge`: a block, the rest
// of the row, or none where the last of these is in a later column block.
INLINE int due_before(global const INDEX *columns, long e, long stop, long edge)
{
    const int count = (int)min(stop - e, (long)BLOCK);
    return count > 0 && columns[e + count - 1] < edge ? count : 0;
}

// A tile of k: the start of its part of B's columns, the stride of their elements, and how many of
// its lanes are repeated.
typedef struct {
    global const T *first_column;
    long b_column, stride;
    int twice;
} b_tile;

// Prefetches what is two blocks after entry e, for this column block or the next: no hardware
// prefetcher follows so many rows.
INLINE void fetch_entries(global const INDEX *columns, const output o, long e)
{
    FETCH_AHEAD((size_t)(columns + e + 3 * BLOCK), 1); // due_before() looks at the last of a block
    if (!o.is_first || !o.is_last)
        FETCH_TO_WRITE((size_t)(o.sums + e + 2 * BLOCK));
    if (!o.is_last)
        return;
    FETCH_TO_WRITE((size_t)(o.d + e + 2 * BLOCK));
#if !INDICATOR
    FETCH_AHEAD((size_t)(o.c + e + 2 * BLOCK), 1);
#endif
}

// Computes the next `count` entries of a row, from entry e on, up to BLOCK. Whether the last vector
// is whole is tested once for a block.
INLINE void take_due(const ACCS a[VECTORS], const b_tile b, global const INDEX *columns,
                     const output o, long e, int count)
{
    const int is_adjacent = PACKED || B_ADJACENT;
    if (count == BLOCK) {
        const ACCS x = b.twice > 0 ? sums_of_block(a, b.first_column, b.b_column, b.stride,
                                                   is_adjacent, b.twice, columns + e)
                                   : sums_of_block(a, b.first_column, b.b_column, b.stride,
                                                   is_adjacent, 0, columns + e);
        write_sums(x, o, e, e + BLOCK);
        return;
    }
    state shares[BLOCK];
    for (int i = 0; i < BLOCK; ++i) {
        ACCS sum = 0;
        if (i < count)
            sum = product_with(a, b.first_column + columns[e + i] * b.b_column, b.stride,
                               is_adjacent, b.twice);
        put_share(shares, i, sum);
    }
    write_sums(block_sums(shares, 0), o, e, e + count);
}

// Rows that go side by side: of C, from its first entry in the chunk on, and of A.
typedef struct {
    int count; // SIDE_BY_SIDE at most
    global const OFFSET *rows;
    long first, stop; // the chunk
    global const T *a;
    long a_row, a_stride;
} side_by_side;

// One tile of k. The rows advance one after the other in each column block of B, which stays in
// cache.
INLINE void sweep_tile(const side_by_side r, global const INDEX *columns, const b_tile b,
                       const output o, int tile, int k, int n, long width)
{
    int reached[SIDE_BY_SIDE]; // of the chunk: the next entry of each row
    for (int i = 0; i < r.count; ++i)
        reached[i] = (int)(max((long)r.rows[i], r.first) - r.first);
    for (long begin = 0; begin < n; begin += width) {
        // After the last block the rows are finished, even where columns are not below n.
        const long edge = begin + width < n ? begin + width : LONG_MAX;
        for (int i = 0; i < r.count; ++i) {
            const long stop = min((long)r.rows[i + 1], r.stop);
            long e = r.first + reached[i];
            int due = due_before(columns, e, stop, edge);
            if (due == 0)
                continue;
            ACCS a[VECTORS];
            load_row(a, r.a + i * r.a_row, r.a_stride, A_ADJACENT, tile, k, B_ADJACENT, PACKED);
            for (; due > 0; due = due_before(columns, e, stop, edge)) {
                fetch_entries(columns, o, e);
                take_due(a, b, columns, o, e, due);
                e += due;
            }
            reached[i] = (int)(e - r.first);
        }
    }
}

// The same as sddmm_csr_entries, for any number of equal tiles, or for one where B is packed. Only
// the last vector of the last tile may reach past k. Of GROUPS_PER_ROW_BLOCK groups the first one
// works.
kernel GROUP void sddmm_csr_column_blocks(PRODUCT, SDDMM_COLUMN_BLOCKS_PARAMETERS(DECLARE, COMMA))
{
    if (get_group_id(0) % GROUPS_PER_ROW_BLOCK > 0)
        return;
    CHUNK_OF_PRODUCT;
    int row = first < stop ? row_of_entry(rows, n_rows, first) : n_rows;
    while (row < n_rows && rows[row] < stop) {
        side_by_side r = {1, rows + row, first, stop, matrix_a + row * a_row, a_row, A_STRIDE};
        while (r.count < SIDE_BY_SIDE && row + r.count < n_rows && r.rows[r.count] < stop)
            ++r.count;
        const long found = min((long)r.rows[r.count], stop) - max((long)r.rows[0], first);
        const long width = column_block_for(column_block, n, found, r.count);
        for (int tile = from; tile < upto; tile += TILE) {
            const b_tile b = {PACKED ? matrix_b : matrix_b + tile * B_STRIDE, b_column,
                              PACKED ? 1 : B_STRIDE, PACKED ? 0 : max(tile + TILE - k, 0)};
            o.is_first = tile == 0;
            o.is_last = tile + TILE >= k;
            sweep_tile(r, columns, b, o, tile, k, n, width);
        }
        row += r.count;
    }
}
#endif

// Item (lane, chunk) has its vectors of VECTOR_WIDTH columns of B, and transposes them where B has
// stride 1 along n.
kernel GROUP void sddmm_pack(DENSE_B, SDDMM_PACK_PARAMETERS(DECLARE, COMMA))
{
    const long batch = GROUP_ALONG_Z;
    const long first = (get_group_id(0) * (long)CHUNKS_PER_GROUP + get_local_id(1)) * VECTOR_WIDTH;
    const int count = (int)min((long)VECTOR_WIDTH, n - first);
    global const T *in = B + b_start + batch * b_batch + first * b_column;
    global T *out = packed + (batch * n + first) * TILE;
    for (int v = 0; v < VECTORS; ++v) {
        const long at = vector_at(from, v), to = vector_at(0, v);
#if VECTOR_WIDTH > 1 && !B_ADJACENT
        if (b_column == 1 && count == VECTOR_WIDTH && at + VECTOR_WIDTH <= k) {
            ACCS rows[VECTOR_WIDTH];
            for (int i = 0; i < VECTOR_WIDTH; ++i)
                rows[i] = load_vector(in + (at + i) * b_row);
            transpose(rows);
            for (int i = 0; i < VECTOR_WIDTH; ++i)
                store_vector(rows[i], out + i * TILE + to);
            continue;
        }
#endif
        for (int i = 0; i < count; ++i)
            store_vector(load_along(in + i * b_column, B_STRIDE, B_ADJACENT, at, k),
                         out + i * TILE + to);
    }
}

#ifdef TRANSPOSED_BLOCK // columns, and elements of each, that a group transposes in local memory
// Adjacent in memory are mostly elements along n in B, and along k in the result.
kernel GROUP void sddmm_transpose(DENSE_B, SDDMM_TRANSPOSE_PARAMETERS(DECLARE, COMMA))
{
    local BITS block[TRANSPOSED_BLOCK][TRANSPOSED_BLOCK + 1];
    const long batch = GROUP_ALONG_Z;
    const int blocks = (k - 1) / TRANSPOSED_BLOCK + 1, group = get_group_id(0);
    const int line = group / blocks; // not %: Oclgrind 21.10 does not know both together
    const int along_k = (group - line * blocks) * TRANSPOSED_BLOCK,
              along_n = line * TRANSPOSED_BLOCK;
    global const BITS *in = (global const BITS *)B + b_start + batch * b_batch;
    const uint item = get_local_id(1) * LANES + get_local_id(0);
    for (uint i = item; i < TRANSPOSED_BLOCK * TRANSPOSED_BLOCK; i += LANES * CHUNKS_PER_GROUP) {
        const int l = i / TRANSPOSED_BLOCK, j = i % TRANSPOSED_BLOCK;
        if (along_k + l < k && along_n + j < n)
            block[l][j] = in[(along_k + l) * b_row + (along_n + j) * b_column];
    }
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    global BITS *out = transposed + batch * n * k;
    for (uint i = item; i < TRANSPOSED_BLOCK * TRANSPOSED_BLOCK; i += LANES * CHUNKS_PER_GROUP) {
        const int l = i % TRANSPOSED_BLOCK, j = i / TRANSPOSED_BLOCK;
        if (along_k + l < k && along_n + j < n)
            out[(long)(along_n + j) * k + along_k + l] = block[l][j];
    }
}
#endif

// Each lane has every LANES-th entry of the chunk.
kernel GROUP void sddmm_scale(SDDMM_SCALE_PARAMETERS(DECLARE, COMMA))
{
    const long chunk = get_group_id(0) * (long)CHUNKS_PER_GROUP + get_local_id(1);
    const long stop = min(chunk * entries + entries, nnz);
    global RESULT_T *d = D + d_start + GROUP_ALONG_Z * d_batch;
    for (long e = chunk * entries + get_local_id(0); e < stop; e += LANES)
        store_result(beta != 0 ? beta * load_result(d + e) : (ACC)0, d + e);
}
