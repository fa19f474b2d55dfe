// SPDX-License-Identifier: Apache-2.0
// C = f(alpha A B + beta C + bias) with A sparse, by rows (CSR). For means each row of A B is
// divided by the number of its entries. N-tiles, groups and the epilogue: n_tiles.clh.
//
//   spmm_csr_rows        rows_per_item rows, one after the other; skips long rows
//   spmm_csr_k_blocks    the same, but rows of k_block_from entries or more together, one k-block
//                        of B at a time
//   spmm_csr_segments    the same, with the segments of a plan
//   spmm_csr_row_chunks  sums of one n-tile over one row chunk of a long row, to scratch memory
//   spmm_csr_combine     adds the row chunks of a long row, in order
//   spmm_csr_tasks       in spmm_tasks.clh: equal numbers of entries, in place of rows
//   spmm_csr_join        adds the parts of rows that are in several of these
//   spmm_scale           in scale.clh: C = f(beta C + bias), in rows that no entry of A changes
//   spmm_start_queues    in queue.clh; runs before spmm_csr_rows
//   spmm_pack            copies B to scratch memory as [n-tile][k][N_TILE], for the other kernels
//
// Only the first two may stage their n-tile of B in local memory.
#include "base/types.clh"

#ifndef STAGE // entries of a row staged in local memory at a time; 0: none
#define STAGE 32
#endif
#ifndef LOAD // entries in one aligned load while staging: 1, 2 or 4
#define LOAD 4
#endif
#ifndef UNROLL // entries in one iteration of the main loop
#define UNROLL 2
#endif
#ifndef MEAN // sums are divided by the number of the row's entries
#define MEAN 0
#endif
#ifndef TASKS // the kernels of spmm_tasks.clh are wanted
#define TASKS 0
#endif
#ifndef FETCHES_ROWS // rows come in an order for reuse of B: no prefetcher finds them
#define FETCHES_ROWS 0
#endif

#include "sparse/n_tiles.clh"

#include "sparse/staged.clh"

#include "operand/csr.clh"

#include "base/pairs.clh"
#include "sparse/entry_lanes.clh"
#include "sparse/queue.clh"

#include "base/iterations.clh"
#include "sparse/scale.clh"

#ifndef MOST_ROWS // upper bound of rows_per_item, which the host checks
#define MOST_ROWS 64
#endif

// With one lane each entry of an iteration has its own sums, to hide the latency of additions. On a
// GPU many items hide it, and registers are few.
#define SUMS (LANES == 1 ? UNROLL : 1)

// Whole n-tiles are read by pairs. Then vectors of sums alternately have the even and the odd
// columns, until end_pairs().
#define N_TILES_GO_IN_PAIRS (!STAGED_B && GO_IN_PAIRS(COLUMNS_ADJACENT))

#if N_TILES_GO_IN_PAIRS
INLINE void add_pairs(ACCS sums[VECTORS], ACC a, global const T *row)
{
#pragma unroll
    for (int v = 0; v < VECTORS; v += 2) {
        const WORDS pair = pair_at(row + v * VECTOR_WIDTH);
        sums[v] = multiply_add((ACCS)a, even_of_pair(pair), sums[v]);
        sums[v + 1] = multiply_add((ACCS)a, odd_of_pair(pair), sums[v + 1]);
    }
}
#endif

INLINE void end_pairs(ACCS sums[VECTORS], const columns c)
{
    if (N_TILES_GO_IN_PAIRS && c.whole)
        from_pairs(sums);
}

// sums += a * row k of B, in the item's columns. B points to the first of them.
INLINE void add_row(ACCS sums[VECTORS], ACC a, long k, const rows_of_B B, const columns c,
                    bool whole)
{
#if STAGED_B
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        sums[v] = multiply_add((ACCS)a, B[(k * VECTORS + v) * LANES], sums[v]);
#else
    global const T *row = B.first + k * B.row;
#if N_TILES_GO_IN_PAIRS
    if (whole) {
        add_pairs(sums, a, row);
        return;
    }
#endif
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        sums[v] = multiply_add((ACCS)a, load_of_row(row, v, B, c, whole), sums[v]);
#endif
}

// Entries that the main loop reads: in local memory, where positions count from the tile's first
// entry, or in global memory.
#if STAGE
typedef struct {
    local const INDEX *indices;
    local const BITS *values;
} tile;
#define POSITION int
#else
typedef entries tile;
#define POSITION long
#endif

INLINE ACC value_at(const tile A, POSITION e)
{
#if STAGE
    return load_local(A.values + e);
#else
    return value_of(A, e);
#endif
}

#if LANES > 1
INLINE ACCS of_row(int k, int v, const rows_of_B B, const columns c, bool whole)
{
#if STAGED_B
    return B[((long)k * VECTORS + v) * LANES];
#else
    return load_of_row(row_of_B(B, k), v, B, c, whole);
#endif
}

// Adds the n entries from e on; n is a constant for the compiler, at most UNROLL. All loads of rows
// are in flight together: items wait there.
INLINE void add_unrolled(ACCS sums[VECTORS], const tile A, POSITION e, int n, const rows_of_B B,
                         const columns c, bool whole)
{
    INDEX k[UNROLL];
    ACC a[UNROLL];
    ACCS x[UNROLL][VECTORS];
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
        if (u < n) {
            k[u] = A.indices[e + u];
            a[u] = value_at(A, e + u);
        }
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            if (u < n)
                x[u][v] = of_row(k[u], v, B, c, whole);
    a[0] = after_loads(a[0], bits_of_rows(x, n));
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            if (u < n)
                sums[v] = multiply_add((ACCS)a[u], x[u][v], sums[v]);
}

#define ADD_LESS(n)                                                                                \
    if (e + n <= to) {                                                                             \
        add_unrolled(sums[0], A, e, n, B, c, whole);                                               \
        e += n;                                                                                    \
    }

INLINE void add_entries(ACCS sums[SUMS][VECTORS], const tile A, POSITION from, POSITION to,
                        const rows_of_B B, const columns c, bool whole)
{
    POSITION e = from;
#pragma unroll 1 // an iteration is unrolled already
    for (; e + UNROLL <= to; e += UNROLL)
        add_unrolled(sums[0], A, e, UNROLL, B, c, whole);
#if UNROLL > 4
    ADD_LESS(4)
#endif
#if UNROLL > 2
    ADD_LESS(2)
#endif
#if UNROLL > 1
    ADD_LESS(1)
#endif
}
#else
INLINE void add_entries(ACCS sums[SUMS][VECTORS], const tile A, POSITION from, POSITION to,
                        const rows_of_B B, const columns c, bool whole)
{
    POSITION e = from;
    for (; e + UNROLL <= to; e += UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            add_row(sums[u], value_at(A, e + u), A.indices[e + u], B, c, whole);
    }
    for (; e < to; ++e)
        add_row(sums[0], value_at(A, e), A.indices[e], B, c, whole);
}
#endif

// Local memory of a group: staged entries, iterations of staging, and sums of parts.
typedef struct {
#if STAGE
    local INDEX *indices; // [ROWS_PER_GROUP][STAGE]
    local BITS *values;
    local int *iterations; // [ROWS_PER_GROUP]
#endif
    local ACCS *sums; // [ROWS_PER_GROUP][ROW_SPLIT - 1][VECTORS][LANES]
} shared;

#if ROW_SPLIT > 1
#define DECLARE_SUMS local ACCS parts_sums[ROWS_PER_GROUP * (ROW_SPLIT - 1) * VECTORS * LANES];
#else
#define DECLARE_SUMS local ACCS *const parts_sums = 0;
#endif
#if STAGE
#define DECLARE_SHARED                                                                             \
    local INDEX staged_indices[ROWS_PER_GROUP * STAGE] __attribute__((aligned(32)));               \
    local BITS staged_values[ROWS_PER_GROUP * STAGE] __attribute__((aligned(32)));                 \
    local int staged_iterations[ROWS_PER_GROUP];                                                   \
    DECLARE_SUMS                                                                                   \
    const shared S = {staged_indices, staged_values, staged_iterations, parts_sums};
#else
#define DECLARE_SHARED                                                                             \
    DECLARE_SUMS                                                                                   \
    const shared S = {parts_sums};
#endif

#if STAGE
// Copies the entries first .. first + STAGE - 1 that are before `stop` to local memory. `first` is
// on a LOAD boundary, so the copy may begin with entries of the row before, which are not added.
INLINE void stage_entries(local INDEX *indices, local BITS *values, const entries A, long first,
                          long stop)
{
    const int lane = get_local_id(0);
    for (int i = lane * LOAD; i < STAGE && first + i < stop; i += LANES * ROW_SPLIT * LOAD) {
        const long e = first + i;
#if LOAD > 1 && !PERMUTED
        if (e + LOAD <= A.nnz) {
            *(local JOIN(INDEX, LOAD) *)(indices + i) =
                *(global const JOIN(INDEX, LOAD) *)(A.indices + e);
            *(local JOIN(BITS, LOAD) *)(values + i) =
                *(global const JOIN(BITS, LOAD) *)(A.values + e);
            continue;
        }
#endif
        for (int j = 0; j < LOAD && e + j < stop; ++j) {
            indices[i + j] = A.indices[e + j];
            values[i + j] = A.values[PERMUTED ? A.source[e + j] : e + j];
        }
    }
}
#endif

// The first of the entries of a part, if n entries are split; only the last parts may be shorter.
INLINE POSITION part_from(POSITION n, int part)
{
    return ROW_SPLIT == 1 ? part * n : min(n, (n + ROW_SPLIT - 1) / ROW_SPLIT * part);
}

// The first part adds the sums of all parts.
INLINE void combine_parts(ACCS total[VECTORS], local ACCS *sums)
{
#if ROW_SPLIT > 1
    local ACCS *first = sums + get_local_id(1) * (ROW_SPLIT - 1) * VECTORS * LANES + LANE;
    if (PART > 0) {
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            first[((PART - 1) * VECTORS + v) * LANES] = total[v];
    }
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    if (PART == 0) {
        for (int part = 1; part < ROW_SPLIT; ++part)
#pragma unroll
            for (int v = 0; v < VECTORS; ++v)
                total[v] += first[((part - 1) * VECTORS + v) * LANES];
    }
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE); // before sums of the next row are written
#endif
}

INLINE void clear_sums(ACCS sums[SUMS][VECTORS])
{
#pragma unroll
    for (int u = 0; u < SUMS; ++u)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            sums[u][v] = 0;
}

// Converts sums to one set for each entry of an iteration, and back.
INLINE void spread_sums(ACCS near[SUMS][VECTORS], ACCS sums[VECTORS])
{
    clear_sums(near);
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        near[0][v] = sums[v];
}

INLINE void combine_sums(ACCS sums[VECTORS], ACCS near[SUMS][VECTORS])
{
#pragma unroll
    for (int v = 0; v < VECTORS; ++v) {
        sums[v] = near[0][v];
#pragma unroll
        for (int u = 1; u < SUMS; ++u)
            sums[v] += near[u][v];
    }
}

// total = sum over the entries start .. stop - 1, in the item's columns. With ROW_SPLIT only the
// first part has the total. Every item of the group must call it.
INLINE void sum_entries(ACCS total[VECTORS], const entries A, long start, long stop,
                        const rows_of_B B, const columns c, const shared S)
{
#if ENTRY_LANES > 1
    // Adjacent rows of B need no multiplication by their distance.
    const dense adjacent = {B.first, VECTOR_WIDTH, B.column};
    if (B.row == VECTOR_WIDTH)
        sum_across(total, A, start, stop, adjacent, c);
    else
        sum_across(total, A, start, stop, B, c);
#elif INTERLEAVED
    sum_interleaved(total, A, start + PART, stop, B, c);
#else
    ACCS sums[SUMS][VECTORS];
    clear_sums(sums);
#if STAGE
    local INDEX *indices = S.indices + get_local_id(1) * STAGE;
    local BITS *values = S.values + get_local_id(1) * STAGE;
    const tile staged = {indices, values};
    const long first = start - ((start + A.phase) & (LOAD - 1));
    const int mine = start < stop ? (int)((stop - first + STAGE - 1) / STAGE) : 0;
    const int iterations = iterations_of_group(S.iterations, mine);
    for (int i = 0; i < iterations; ++i) {
        const long at = first + (long)i * STAGE;
        stage_entries(indices, values, A, at, stop);
        WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
        const int begin = (int)max(start - at, 0L);
        const int end = (int)clamp(stop - at, 0L, (long)STAGE);
        const int from = begin + part_from(end - begin, PART);
        const int to = begin + part_from(end - begin, PART + 1);
        if (c.whole)
            add_entries(sums, staged, from, to, B, c, true);
        else
            add_entries(sums, staged, from, to, B, c, false);
        WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    }
#else
    const long from = start + part_from(stop - start, PART);
    const long to = start + part_from(stop - start, PART + 1);
    if (c.whole)
        add_entries(sums, A, from, to, B, c, true);
    else
        add_entries(sums, A, from, to, B, c, false);
#endif
    combine_sums(total, sums);
    end_pairs(total, c);
#endif
    combine_parts(total, S.sums);
}

// Divides the n sums of one row for MEAN.
INLINE void finish_sums(ACCS *sums, int n, global const OFFSET *offsets, int row)
{
#if MEAN
    const ACC n_entries = (ACC)max(offsets[row + 1] - offsets[row], (OFFSET)1);
#pragma unroll
    for (int v = 0; v < n; ++v)
        sums[v] /= (ACCS)n_entries;
#endif
}

// Writes a row of C from its sums.
#define PUT_ROW(sums, number)                                                                      \
    do {                                                                                           \
        finish_sums(sums, VECTORS, offsets + offsets_start, number);                               \
        const int row = OUT_ROW(number);                                                           \
        write_row(sums, alpha, beta, BIAS_OF(row), out + row * c_row, C_STRIDE, c);                \
    } while (0)

#if FETCHES_ROWS
#define ROWS_AHEAD   max(16 / VECTORS, 2)
#define MOST_FETCHED 64 // entries of a row: the processor finds the others by itself

// Prefetches a row's entries, and the item's columns of its row of C.
INLINE void fetch_row_ahead(const row_entries next, const entries A, global const RESULT_T *out,
                            long stride, const columns c)
{
    const int line = 64 / (int)sizeof(INDEX);
    for (long e = next.start; e < min(next.stop, next.start + MOST_FETCHED); e += line) {
        FETCH_AHEAD((size_t)(A.indices + e), 1);
        if (PERMUTED)
            FETCH_AHEAD((size_t)(A.source + e), 1);
        else
            FETCH_AHEAD((size_t)(A.values + e), 1);
    }
#pragma unroll
    for (int v = 0; v < VECTORS; ++v)
        FETCH_TO_WRITE((size_t)(out + c.column[v] * stride));
}

// The same for the row that comes ROWS_AHEAD later in the order; and of one that comes later still
// the place of its entries.
#define FETCH_ROWS_AHEAD(row_block, i)                                                             \
    do {                                                                                           \
        const long item = (row_block)*ROWS_PER_GROUP + get_local_id(1);                            \
        const long later = item * rows_per_item + (i) + 2 * ROWS_AHEAD;                            \
        if (later < n_ordered && order[later] >= 0)                                                \
            FETCH_AHEAD((size_t)(offsets + offsets_start + order[later]), 1);                      \
        const row_entries next = ROW_AT(row_block, (i) + ROWS_AHEAD);                              \
        if (next.row >= 0)                                                                         \
            fetch_row_ahead(next, A, out + OUT_ROW(next.row) * c_row, C_STRIDE, c);                \
    } while (0)
#else
#define FETCH_ROWS_AHEAD(row_block, i) (void)0
#endif

kernel ROW_SPLIT_GROUP void spmm_csr_rows(PATTERN, DENSE_B, DENSE_C, SCALARS, ROW_BLOCKS)
{
    DECLARE_SHARED
    const columns c = columns_of(N_TILE_OF_GROUP, LANE, n);
    const entries A = ENTRIES;
    DECLARE_ROWS_OF_B(matrix)
    global RESULT_T *out = C + c_start + GROUP_ALONG_Z * c_batch;
    EACH_ROW_BLOCK(row_block)
    {
#if ENTRY_LANES > 1 // as below, in fewer instructions: rows may be short
        const long first = (row_block * ROWS_PER_GROUP + get_local_id(1)) * (long)rows_per_item;
        const long beyond = min(first + rows_per_item, (long)n_ordered);
        for (long position = first; position < beyond; ++position) {
            const int number = has_order ? order[position] : (int)position;
            if (number < 0)
                continue;
            const long start = offsets[offsets_start + number];
            const long stop = offsets[offsets_start + number + 1];
            if (stop - start > 2 * row_chunk)
                continue;
            ACCS sums[VECTORS];
            sum_entries(sums, A, start, stop, matrix, c, S);
            PUT_ROW(sums, number);
        }
#else
        for (int i = 0; i < rows_per_item; ++i) {
            const row_entries mine = ROW_AT(row_block, i);
            FETCH_ROWS_AHEAD(row_block, i);
            ACCS sums[VECTORS];
            sum_entries(sums, A, mine.start, mine.stop, matrix, c, S);
            if (PART == 0 && mine.row >= 0)
                PUT_ROW(sums, mine.row);
        }
#endif
    }
}

// Adds the entries from `e` on whose columns are below `limit` or, if a plan has found the segment
// (is_found), all entries up to `stop`; returns the next entry. With sorted columns this is a
// k-block. With unsorted columns it ends at the first compared column that is not below the limit,
// and may include others, as only the last column of an iteration is compared; the last k-block, up
// to k, takes the rest.
INLINE long add_k_block(ACCS sums[VECTORS], const entries A, long e, long stop, bool is_found,
                        int limit, const rows_of_B B, const columns c, bool whole)
{
    ACCS near[SUMS][VECTORS]; // stay in registers
    spread_sums(near, sums);
    const long first = e;
#if UNROLL > 1
    for (; e + UNROLL <= stop && (is_found || A.indices[e + UNROLL - 1] < limit); e += UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
            add_row(near[u % SUMS], value_of(A, e + u), A.indices[e + u], B, c, whole);
    }
#endif
    for (; e < stop && (is_found || A.indices[e] < limit); ++e)
        add_row(near[0], value_of(A, e), A.indices[e], B, c, whole);
    if (!STAGED_B) // rows have few k-blocks in a copy
        prefetch_entries(A, e, e - first);
    combine_sums(sums, near);
    return e;
}

// Whether a row is too short for k-blocks, because loading its sums would cost too much: then
// `sums` has all of its entries. Every item of a group must call this, because they stage entries
// together.
INLINE bool sum_if_short(ACCS sums[VECTORS], const row_entries mine, int k_block_from,
                         const entries A, const rows_of_B B, const columns c, const shared S)
{
    const bool is_short = mine.stop - mine.start < k_block_from;
    sum_entries(sums, A, mine.start, is_short ? mine.stop : mine.start, B, c, S);
    return is_short;
}

// An item's rows share k_block rows of B, in the n-tile's columns, while these are in the nearest
// cache. Their sums are in private memory. Short rows are summed first. If a group has several row
// blocks, rows of one wait for rows of the next while there is room.
kernel GROUP void spmm_csr_k_blocks(PATTERN, DENSE_B, DENSE_C, SCALARS, ROW_BLOCKS,
                                    K_BLOCKS_PARAMETERS(DECLARE, COMMA))
{
    DECLARE_SHARED
    const columns c = columns_of(N_TILE_OF_GROUP, get_local_id(0), n);
    const entries A = ENTRIES;
    DECLARE_ROWS_OF_B(matrix)
    global RESULT_T *out = C + c_start + GROUP_ALONG_Z * c_batch;
    ACCS sums[MOST_ROWS][VECTORS];
    row_entries rows[MOST_ROWS];
    int n_waiting = 0;
    EACH_ROW_BLOCK(row_block)
    {
        for (int i = 0; i < rows_per_item; ++i) {
            const row_entries mine = ROW_AT(row_block, i);
            ACCS own[VECTORS];
            const bool is_short = sum_if_short(own, mine, k_block_from, A, matrix, c, S);
            if (!is_short)
                rows[n_waiting++] = mine;
            else if (mine.row >= 0)
                PUT_ROW(own, mine.row);
        }
        if (IS_LAST(row_block) || n_waiting + rows_per_item > MOST_ROWS) {
            for (int i = 0; i < n_waiting; ++i)
#pragma unroll
                for (int v = 0; v < VECTORS; ++v)
                    sums[i][v] = 0;
            for (int from = 0; from < k && n_waiting > 0; from += k_block) {
                const int limit = from + k_block;
                for (int i = 0; i < n_waiting; ++i) {
                    const long e = rows[i].start, stop = rows[i].stop;
                    if (c.whole)
                        rows[i].start =
                            add_k_block(sums[i], A, e, stop, false, limit, matrix, c, true);
                    else
                        rows[i].start =
                            add_k_block(sums[i], A, e, stop, false, limit, matrix, c, false);
                }
            }
            for (int i = 0; i < n_waiting; ++i)
                if (rows[i].row >= 0) {
                    end_pairs(sums[i], c);
                    PUT_ROW(sums[i], rows[i].row);
                }
            n_waiting = 0;
        }
    }
}

#if !STAGED_B
// The same with a plan: the entries of one row in one k-block are a segment. The plan has sorted
// each item's segments by k-block, then by length, so that the processor predicts the ends of
// loops. Segment q has segments[q] / MOST_ROWS entries from segment_entries[q] on, of the item's
// row segments[q] % MOST_ROWS. Rows of fewer than k_block_from entries have none.
kernel GROUP void spmm_csr_segments(PATTERN, DENSE_B, DENSE_C, SCALARS, ORDERED,
                                    SEGMENTS_PARAMETERS(DECLARE, COMMA))
{
    DECLARE_SHARED
    const columns c = columns_of(GROUP_ALONG_N, get_local_id(0), n);
    const entries A = ENTRIES;
    DECLARE_ROWS_OF_B(matrix)
    global RESULT_T *out = C + c_start + GROUP_ALONG_Z * c_batch;
    ACCS sums[MOST_ROWS][VECTORS];
    int numbers[MOST_ROWS]; // of rows that are not written yet, else -1
    for (int i = 0; i < rows_per_item; ++i) {
        const row_entries mine = ROW_AT(get_group_id(0), i);
        ACCS own[VECTORS];
        const bool is_short = sum_if_short(own, mine, k_block_from, A, matrix, c, S);
        numbers[i] = is_short ? -1 : mine.row;
        if (is_short && mine.row >= 0)
            PUT_ROW(own, mine.row);
    }
    for (int i = 0; i < rows_per_item; ++i)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            sums[i][v] = 0;

    const long item = get_group_id(0) * ROWS_PER_GROUP + get_local_id(1);
    const bool is_item = item * rows_per_item < n_ordered;
    const long last = is_item ? segment_starts[item + 1] : 0;
    for (long q = is_item ? segment_starts[item] : 0; q < last; ++q) {
        const uint segment = segments[q];
        const long e = segment_entries[q], stop = e + segment / MOST_ROWS;
        const int i = segment % MOST_ROWS;
        if (c.whole)
            add_k_block(sums[i], A, e, stop, true, 0, matrix, c, true);
        else
            add_k_block(sums[i], A, e, stop, true, 0, matrix, c, false);
    }
    for (int i = 0; i < rows_per_item; ++i)
        if (numbers[i] >= 0) {
            end_pairs(sums[i], c);
            PUT_ROW(sums[i], numbers[i]);
        }
}

// Row chunk p begins at entry p * row_chunk of A. With has_list `list` has the p of each row chunk;
// else p = 0 .. n_row_chunks - 1. The sums of the i-th go to scratch[batch][i][n].
kernel ROW_SPLIT_GROUP void spmm_csr_row_chunks(PATTERN, DENSE_B, int n,
                                                ROW_CHUNKS_PARAMETERS(DECLARE, COMMA, SOLE_OUT))
{
    DECLARE_SHARED
    const int i = get_group_id(0) * ROWS_PER_GROUP + get_local_id(1);
    const columns c = columns_of(GROUP_ALONG_N, LANE, n);
    const entries A = ENTRIES;
    DECLARE_ROWS_OF_B(matrix)

    chunk_of_row mine = {0, 0, 0, 0, 0};
    if (i < n_row_chunks)
        mine = row_chunk_at(offsets + offsets_start, n_rows, row_chunk, has_list ? list[i] : i);

    ACCS sums[VECTORS];
    sum_entries(sums, A, mine.start, mine.stop, matrix, c, S);
    if (PART > 0 || mine.count == 0)
        return;
    store_scratch_row(sums, scratch + scratch_start + (GROUP_ALONG_Z * (long)n_row_chunks + i) * n,
                      c);
}
#endif

#if TASKS
#include "sparse/spmm_tasks.clh"
#endif

// Item (i, x) computes vector x of the long row whose first row chunk is the i-th.
kernel GROUP void spmm_csr_combine(PATTERN, DENSE_C, SCALARS,
                                   ROW_CHUNKS_PARAMETERS(DECLARE, COMMA, SOLE_IN))
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
    global const ACC *in =
        scratch + scratch_start + (GROUP_ALONG_Z * (long)n_row_chunks + i) * n + column;
    ACCS sum = VLOAD(in);
    for (int j = 1; j < first.count; ++j)
        sum += VLOAD(in + (long)j * n);
    finish_sums(&sum, 1, offsets + offsets_start, first.row);
    const int row = OUT_ROW(first.row);
    global RESULT_T *out = C + c_start + GROUP_ALONG_Z * c_batch + row * c_row;
    write_vector(sum, alpha, beta, BIAS_OF(row), out, C_STRIDE, (int)owned, column);
}

// Each item copies its vectors of rows_per_item rows, also those moved back, in the order in which
// add_row() reads them.
kernel GROUP void spmm_pack(DENSE_B, PACK_PARAMETERS(DECLARE, COMMA))
{
    const columns c = columns_of(GROUP_ALONG_N, get_local_id(0), n);
    const long stride = COLUMNS_ADJACENT ? 1 : b_column;
    global const T *in = B + b_start + GROUP_ALONG_Z * b_batch;
    global T *out = packed + (GROUP_ALONG_Z * N_TILES_OF(n) + GROUP_ALONG_N) * (long)k * N_TILE +
                    get_local_id(0) * VECTOR_WIDTH;
    const long first = (get_group_id(0) * ROWS_PER_GROUP + get_local_id(1)) * (long)rows_per_item;
    for (long row = first; row < min(first + rows_per_item, (long)k); ++row)
#pragma unroll
        for (int v = 0; v < VECTORS; ++v)
            store_vector(load_columns(in + row * b_row + c.column[v] * stride, stride),
                         out + row * N_TILE + v * LANES * VECTOR_WIDTH);
}
