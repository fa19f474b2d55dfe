// SPDX-License-Identifier: Apache-2.0
// Y = softmax(scale X) over the entries of each row of a sparse matrix (CSR); or, backward,
// dX = scale Y (dY - sum of Y dY).
//
// Rows are distributed by entries, each row counted as one more: group x has the rows that begin in
// chunk x of `chunk` of these. LANES items share a row of up to CACHED entries, and ROWS_PER_GROUP
// rows are computed side by side; the whole group shares longer ones. With vectors a group is one
// item, which computes rows of up to CACHED entries at a time. Group y has matrix y of the batch.
//
//   sparse_softmax_rows        all rows but the long ones
//   sparse_softmax_row_chunks  maximum and sum of each row chunk of a long row, to scratch memory
//   sparse_softmax_combine     combines these for each long row, in order
//   sparse_softmax_apply       writes each row chunk with the result
//
// The host promises that Y is X's or dY's memory, or shares none with them; that LANES and
// ROWS_PER_GROUP are powers of two, and 1 where VECTOR_WIDTH is above 1.
#include "base/parameters.clh"
#include "base/types.clh"

#ifndef LANES // items that share a row
#define LANES 1
#endif
#ifndef ROWS_PER_GROUP // rows side by side in a group
#define ROWS_PER_GROUP 1
#endif
#ifndef CACHED // entries that an item with vectors, or a row's lanes, cache at a time
#define CACHED 256
#endif
#ifndef SHUFFLES // lanes exchange values by: 0 local memory, 1 emulated shuffles, 2 shuffles
#define SHUFFLES 0
#endif
#ifndef BACKWARD // 1: of Y, given as X, and dY
#define BACKWARD 0
#endif

#define UNROLL      1
#define RUN         64 // terms of a lane that are added without compensation
#define GROUP_ITEMS (LANES * ROWS_PER_GROUP)
#define GROUP       IN_SUB_GROUPS __attribute__((reqd_work_group_size(LANES, ROWS_PER_GROUP, 1)))

#include "base/exp.clh"
#include "base/lanes.clh"
#include "base/sums.clh"
#include "operand/rows.clh"
#include "operand/stretches.clh"

#include "sparse/sparse_row.clh"
#include "sparse/sparse_softmax_parameters.h"
#if VECTOR_WIDTH > 1
#include "sparse/sparse_cached.clh"
#else
#include "sparse/sparse_lanes.clh"
#endif

#define MATRIX(name) (name + name##_start + GROUP_ALONG_Y(ROWS_PER_GROUP) * name##_batch)

#define VALUES       VALUES_PARAMETERS(DECLARE, COMMA)
#define GET_OPERANDS const operands o = {MATRIX(x), MATRIX(dy), MATRIX(y), scale, stream != 0}

#define ROWS     ROWS_PARAMETERS(DECLARE, COMMA)
#define GET_ROWS offsets += offsets_start

#if GROUP_ITEMS > 1
#define GET_SHARED local ACCS shared[GROUP_ITEMS]
#else
#define GET_SHARED local ACCS *const shared = 0
#endif
#define ITEMS_OF_GROUP                                                                             \
    {                                                                                              \
        get_local_id(1) * LANES + get_local_id(0), GROUP_ITEMS, shared                             \
    }

kernel GROUP void sparse_softmax_rows(VALUES, ROWS, CHUNK_PARAMETERS(DECLARE, COMMA))
{
    GET_OPERANDS;
    GET_ROWS;
#if VECTOR_WIDTH > 1
    const int first = row_from(offsets, n_rows, get_group_id(0) * chunk);
    const int last = row_from(offsets, n_rows, (get_group_id(0) + 1) * chunk);
    if (first == last)
        return;
    rewrite_rows(&o, offsets, first, last, n_rows, 2 * row_chunk);
#else
    DECLARE_EXCHANGE;
    rewrite_rows(&o, offsets, n_rows, chunk, 2 * row_chunk, X);
#endif
}

#define ROW_CHUNKS   ROW_CHUNKS_PARAMETERS(DECLARE, COMMA)
#define ROW_CHUNK(p) (scratch + 2 * (GROUP_ALONG_Y(ROWS_PER_GROUP) * n_row_chunks + (p)))

INLINE void put_found(global ACC *p, finals f)
{
    p[0] = any_of(f.top);
    p[1] = any_of(f.factor);
}

kernel GROUP void sparse_softmax_row_chunks(VALUES, ROWS, ROW_CHUNKS)
{
    GET_SHARED;
    GET_OPERANDS;
    GET_ROWS;
    const item_group group = ITEMS_OF_GROUP;
    const long p = get_group_id(0);
    const chunk_of_row mine = row_chunk_at(offsets, n_rows, row_chunk, p);
    if (mine.count == 0)
        return;
    const finals f = swept(&o, mine.start, mine.stop - mine.start, group);
    if (group.lane == 0)
        put_found(ROW_CHUNK(p), f);
}

// The state of a row's first row chunk becomes the maximum and the factor of the row.
kernel GROUP void sparse_softmax_combine(ROWS, ROW_CHUNKS)
{
    GET_SHARED;
    GET_ROWS;
    const item_group group = ITEMS_OF_GROUP;
    const long p = get_group_id(0);
    const chunk_of_row mine = row_chunk_at(offsets, n_rows, row_chunk, p);
    if (mine.count == 0 || mine.first != p)
        return;
    global ACC *found = ROW_CHUNK(p);
    finals f = {-LARGEST, 0};
    for (int i = group.lane; i < mine.count; i += group.width)
        f.top = larger(f.top, (ACCS)found[2 * i]);
    f.top = largest_of_items(f.top, group);
    ACCS sum = 0, compensation = 0;
    for (int i = group.lane; i < mine.count; i += group.width)
        add_compensated(&sum, &compensation,
                        found[2 * i + 1] * exp_below((ACCS)found[2 * i] - f.top));
    f.factor = factor_of(sum_of_items(sum_with_compensation(sum, compensation), group));
    if (group.lane == 0)
        put_found(found, f);
}

kernel GROUP void sparse_softmax_apply(VALUES, ROWS, ROW_CHUNKS)
{
    GET_SHARED;
    GET_OPERANDS;
    GET_ROWS;
    const item_group group = ITEMS_OF_GROUP;
    const long p = get_group_id(0);
    const chunk_of_row mine = row_chunk_at(offsets, n_rows, row_chunk, p);
    if (mine.count == 0)
        return;
    global const ACC *found = ROW_CHUNK(mine.first);
    const finals f = {found[0], found[1]};
    rewrite(&o, mine.start, mine.stop - mine.start, f, group);
}
