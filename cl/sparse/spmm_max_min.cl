// SPDX-License-Identifier: Apache-2.0
// C = f(alpha R + beta C + bias) with A sparse, by rows (CSR): R has the largest of the products
// a_e b that the entries e of a row make, or the smallest, and `arguments` the e that made it.
// N-tiles, groups and the epilogue: n_tiles.clh. Each item reads the entries of its row, or of its
// part of a row (ROW_SPLIT), in global memory.
//
//   spmm_max_min_csr_rows        rows_per_item rows, one after the other; skips long rows
//   spmm_max_min_csr_row_chunks  max/min of one n-tile over one row chunk, to scratch memory
//   spmm_max_min_csr_combine     max/min of a long row's row chunks, in order
//   spmm_start_queues            of queue.clh, before spmm_max_min_csr_rows
//   spmm_scale                   of scale.clh: C = f(beta C + bias), in rows that no entry changes
//   spmm_max_min_none            arguments = -1, in the same rows
//
// NaN replaces every number; of equal products the first one is the result.
#include "base/types.clh"

#ifndef LEAST // 1: the smallest products, not the largest
#define LEAST 0
#endif
#ifndef ARGUMENT // of arguments: int or long
#define ARGUMENT int
#endif
#ifndef HAS_ARGUMENTS // 0: arguments are not written
#define HAS_ARGUMENTS 1
#endif
#ifndef UNROLL // entries in one iteration of the main loop
#define UNROLL 2
#endif

#include "sparse/n_tiles.clh"

#include "operand/csr.clh"

#include "sparse/queue.clh"

#include "sparse/scale.clh"

#ifndef AHEAD // entries to prefetch ahead
#define AHEAD 8
#endif

// The entries of products, in the same lanes as ACCS.
#define PLACES VECTOR(OFFSET)

#define DENSE_ARGUMENTS  ARGUMENTS_PARAMETERS(DECLARE, COMMA)
#define ARGUMENTS_STRIDE (COLUMNS_ADJACENT ? 1 : arguments_column)
#define ARGUMENTS_OF(row)                                                                          \
    (arguments + arguments_start + GROUP_ALONG_Z * arguments_batch + (row)*arguments_row)

#if LEAST
#define BEATS(a, b)     ((a) < (b))
#define IS_BEATEN(a, b) ((a) >= (b)) // or equal
#else
#define BEATS(a, b)     ((a) > (b))
#define IS_BEATEN(a, b) ((a) <= (b))
#endif

// best = the better of best and x, which is a later entry.
INLINE void take(ACCS *best, PLACES *place, ACCS x, PLACES place_of_x)
{
#if HAS_ARGUMENTS
    const MASKS stays = IS_BEATEN(x, *best) || *best != *best;
    *best = stays ? *best : x;
    // rusticl 22.3: select() of two longs with a widened mask always returns the first.
    *place = JOIN(convert_, PLACES)(stays) != (PLACES)0 ? *place : place_of_x;
#else
    const ACCS number = BEATS(x, *best) ? x : *best; // best where one of them is NaN
    *best = x != x ? x : number;
#endif
}

// Prefetches the rows of B that later entries name, in the item's columns: comparisons fill a CPU's
// queues, which delays these loads.
INLINE void fetch_row(const entries A, long e, const dense B)
{
    for (int v = 0; v < VECTORS; ++v)
        FETCH_AHEAD((size_t)(B.first + A.indices[min(e + AHEAD, A.nnz - 1)] * B.row +
                             v * LANES * VECTOR_WIDTH * B.column),
                    1);
}

// x = the products of entry e, in the item's columns. B begins at the first of them.
INLINE void multiply_row(ACCS x[VECTORS], const entries A, long e, const dense B, const columns c,
                         bool whole)
{
    fetch_row(A, e, B);
    global const T *row = row_of_B(B, A.indices[e]);
    const ACC a = value_of(A, e);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        x[v] = (ACCS)a * load_of_row(row, v, B, c, whole);
}

INLINE void take_entries(ACCS best[VECTORS], PLACES place[VECTORS], const entries A, long e,
                         long stop, const dense B, const columns c, bool whole)
{
    ACCS x[UNROLL][VECTORS];
    for (; e + UNROLL <= stop; e += UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            multiply_row(x[u], A, e + u, B, c, whole);
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                take(&best[v], &place[v], x[u][v], (PLACES)(OFFSET)(e + u));
    }
    for (; e < stop; ++e) {
        multiply_row(x[0], A, e, B, c, whole);
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            take(&best[v], &place[v], x[0][v], (PLACES)(OFFSET)e);
    }
}

#include "sparse/max_min_lanes.clh"

// Of the entries start .. stop - 1, at least one.
INLINE void find_one_by_one(ACCS best[VECTORS], PLACES place[VECTORS], const entries A, long start,
                            long stop, const dense B, const columns c)
{
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        place[v] = (PLACES)(OFFSET)start;
    if (c.whole) {
        multiply_row(best, A, start, B, c, true);
        take_entries(best, place, A, start + 1, stop, B, c, true);
    } else {
        multiply_row(best, A, start, B, c, false);
        take_entries(best, place, A, start + 1, stop, B, c, false);
    }
}

// Of the entries start .. stop - 1; without entries 0, and place -1. With ROW_SPLIT only the first
// part has it, and every item of the group must call it.
INLINE void find_max_min(ACCS best[VECTORS], PLACES place[VECTORS], const entries A, long start,
                         long stop, const dense B, const columns c, const shared S)
{
#if INTERLEAVED
    find_interleaved(best, place, A, start + PART, stop, B, c);
    merge_parts(best, place, S);
#else
    if (start >= stop) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v) {
            best[v] = 0;
            place[v] = -1;
        }
        return;
    }
#if ENTRY_LANES > 1
    if (A.nnz >= ENTRY_LANES) {
        find_across(best, place, A, start, stop, B, c);
        return;
    }
#endif
    find_one_by_one(best, place, A, start, stop, B, c);
#endif
}

// arguments = place in the columns owned .. column + VECTOR_WIDTH - 1 of one row, as A counts its
// entries.
INLINE void write_places(PLACES place, global const OFFSET *source, global ARGUMENT *row,
                         long stride, int owned, int column)
{
#if COLUMNS_ADJACENT && !PERMUTED
    if (owned == column) {
        RAW_STORE(ARGUMENT, JOIN(convert_, VECTOR(ARGUMENT))(place), row + column);
        return;
    }
#endif
    OFFSET lanes[VECTOR_WIDTH];
    VSTORE(place, lanes);
    EACH_LANE(i, owned - column, VECTOR_WIDTH)
    {
        const bool is_entry = lanes[i] >= 0;
        row[(column + i) * stride] = PERMUTED && is_entry ? source[lanes[i]] : lanes[i];
    }
}

kernel ROW_SPLIT_GROUP void spmm_max_min_csr_rows(PATTERN, DENSE_B, DENSE_C, SCALARS, ROW_BLOCKS,
                                                  DENSE_ARGUMENTS)
{
    DECLARE_SHARED
    const columns c = columns_of(GROUP_ALONG_N, LANE, n);
    const entries A = ENTRIES;
    const dense matrix = MATRIX_B;
    global RESULT_T *out = C + c_start + GROUP_ALONG_Z * c_batch;
    EACH_ROW_BLOCK(row_block)
    {
        for (int i = 0; i < rows_per_item; ++i) {
            const row_entries mine = ROW_AT(row_block, i);
            ACCS best[VECTORS];
            PLACES place[VECTORS];
            find_max_min(best, place, A, mine.start, mine.stop, matrix, c, S);
            if (PART > 0 || mine.row < 0)
                continue;
            const int row = OUT_ROW(mine.row);
            write_row(best, alpha, beta, BIAS_OF(row), out + row * c_row, C_STRIDE, c);
#if HAS_ARGUMENTS
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                write_places(place[v], source, ARGUMENTS_OF(row), ARGUMENTS_STRIDE, c.owned[v],
                             c.column[v]);
#endif
        }
    }
}

// Row chunks are listed, and their max/min stored in scratch memory, as in spmm_csr_row_chunks.
// Places are stored in found[batch][i][n].
kernel ROW_SPLIT_GROUP void spmm_max_min_csr_row_chunks(PATTERN, DENSE_B, int n,
                                                        ROW_CHUNKS_PARAMETERS(DECLARE, COMMA,
                                                                              SOLE_OUT),
                                                        FOUND_PARAMETERS(DECLARE, COMMA, SOLE_OUT))
{
    DECLARE_SHARED
    const int i = get_group_id(0) * ROWS_PER_GROUP + get_local_id(1);
    const columns c = columns_of(GROUP_ALONG_N, LANE, n);
    const entries A = ENTRIES;
    const dense matrix = MATRIX_B;
    chunk_of_row mine = {0, 0, 0, 0, 0};
    if (i < n_row_chunks)
        mine = row_chunk_at(offsets + offsets_start, n_rows, row_chunk, has_list ? list[i] : i);
    ACCS best[VECTORS];
    PLACES place[VECTORS];
    find_max_min(best, place, A, mine.start, mine.stop, matrix, c, S);
    if (PART > 0 || mine.count == 0)
        return;
    const long row = (GROUP_ALONG_Z * (long)n_row_chunks + i) * n;
    store_scratch_row(best, scratch + scratch_start + row, c);
#if HAS_ARGUMENTS
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        OFFSET lanes[VECTOR_WIDTH];
        VSTORE(place[v], lanes);
        EACH_LANE(j, max(c.owned[v] - c.column[v], 0), VECTOR_WIDTH)
        found[found_start + row + c.column[v] + j] = lanes[j];
    }
#endif
}

INLINE PLACES places_at(global const OFFSET *found)
{
#if HAS_ARGUMENTS
    return VLOAD(found);
#else
    return (PLACES)0;
#endif
}

// Item (i, x): vector x of the long row whose first row chunk is the i-th.
kernel GROUP void spmm_max_min_csr_combine(PATTERN, DENSE_C, SCALARS,
                                           ROW_CHUNKS_PARAMETERS(DECLARE, COMMA, SOLE_IN),
                                           FOUND_PARAMETERS(DECLARE, COMMA, SOLE_IN),
                                           DENSE_ARGUMENTS)
{
    const int i = get_group_id(0) * ROWS_PER_GROUP + get_local_id(1);
    const long owned = ((long)GROUP_ALONG_N * LANES + get_local_id(0)) * VECTOR_WIDTH;
    if (i >= n_row_chunks || owned >= n)
        return;
    const long p = has_list ? list[i] : i;
    const chunk_of_row first = row_chunk_at(offsets + offsets_start, n_rows, row_chunk, p);
    if (first.count == 0 || first.first != p)
        return;
    const int column = (int)min(owned, (long)n - VECTOR_WIDTH);
    const long at = (GROUP_ALONG_Z * (long)n_row_chunks + i) * n + column;
    global const ACC *in = scratch + scratch_start + at;
    global const OFFSET *found_in = found + found_start + at;
    ACCS best = VLOAD(in);
    PLACES place = places_at(found_in);
    for (int j = 1; j < first.count; ++j)
        take(&best, &place, VLOAD(in + (long)j * n), places_at(found_in + (long)j * n));
    const int row = OUT_ROW(first.row);
    global RESULT_T *out = C + c_start + GROUP_ALONG_Z * c_batch + row * c_row;
    write_vector(best, alpha, beta, BIAS_OF(row), out, C_STRIDE, (int)owned, column);
#if HAS_ARGUMENTS
    write_places(place, source, ARGUMENTS_OF(row), ARGUMENTS_STRIDE, (int)owned, column);
#endif
}

// In the rows that spmm_scale writes.
kernel GROUP void spmm_max_min_none(DENSE_ARGUMENTS STORED_ROWS, LEFT_PARAMETERS(DECLARE, COMMA))
{
    const columns c = columns_of(GROUP_ALONG_N, get_local_id(0), n);
    EACH_ROW_LEFT(row, n_rows, rows_per_item)
    {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            write_places((PLACES)-1, 0, ARGUMENTS_OF(row), ARGUMENTS_STRIDE, c.owned[v],
                         c.column[v]);
    }
}
