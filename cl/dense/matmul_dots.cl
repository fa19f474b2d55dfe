// SPDX-License-Identifier: Apache-2.0
// C = f(alpha A B + beta C), dot product by dot product: for products of few rows, where B is
// adjacent along k.
//
//   matmul_dots  a block of C over all of k, or over a chunk of it to scratch memory
//
// A group has all rows of A and goes through k step by step. It stages the step's part of A in
// local memory. ITEMS items share a column of B along k, VECTOR_WIDTH lanes each, and take VECTORS
// columns at a time; ITEMS_Y such groups of items have different columns. Sums of a step are
// combined in a tree and added to those of the steps before.
#ifndef VECTORS // columns of B at a time
#define VECTORS 2
#endif
#ifndef ROWS // of A at a time; the rest one by one
#define ROWS 2
#endif

#include "base/types.clh"

#include "dense/matmul.clh"

#define PRODUCTS (ROWS * VECTORS)

// A step's part of A, in local memory, and of B, in global memory.
typedef struct {
    local const ACC *a;
    global const T *b; // neighbours along k are adjacent
    long b_column;
    int depth; // of this step
    int pitch; // from row to row of A
} stretch;

INLINE ACC sum_of_lanes(ACCS x)
{
    ACC lanes[VECTOR_WIDTH];
    VSTORE(x, lanes);
    for (int below = VECTOR_WIDTH / 2; below > 0; below /= 2)
        for (int i = 0; i < below; ++i)
            lanes[i] = SUM_OF(lanes[i], lanes[i + below]);
    return lanes[0];
}

#define ELEMENTS_AHEAD (2048 / (int)sizeof(T)) // prefetch distance in B

// Offset from b of the element ELEMENTS_AHEAD after element l: past the step's end, as far into the
// columns that come next, at most at their last element.
INLINE long place_ahead(stretch here, int l, int columns)
{
    const int at = l + ELEMENTS_AHEAD, past = at - here.depth;
    return past < 0 ? at : min(past, here.depth - 1) + columns * here.b_column;
}

// sums += `rows` rows of A times `columns` columns of B, at l; LOAD is how the latter are read.
#define ADD_VECTORS(rows, columns, LOAD)                                                           \
    {                                                                                              \
        ACCS right[columns];                                                                       \
        const long ahead = place_ahead(here, l, columns);                                          \
        _Pragma("unroll") for (int c = 0; c < columns; ++c)                                        \
        {                                                                                          \
            global const T *from = b + c * here.b_column + l;                                      \
            right[c] = LOAD(from);                                                                 \
            if (ITEMS == 1)                                                                        \
                FETCH_AHEAD((size_t)b + (c * here.b_column + ahead) * sizeof(T), 2);               \
        }                                                                                          \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
        {                                                                                          \
            const ACCS left = *(local const ACCS *)(a + r * here.pitch + l);                       \
            _Pragma("unroll") for (int c = 0; c < columns; ++c) sums[r][c] =                       \
                multiply_add(left, right[c], sums[r][c]);                                          \
        }                                                                                          \
    }

#define WHOLE(p) load_vector(p)
#define REST(p)  load_some(p, 1, here.depth - l)

// s = the item's partial sums of `rows` rows of A, from `row` on, times `columns` columns of B.
#define PARTIALS(name, rows, columns)                                                              \
    INLINE void partials_##name(ACC s[PRODUCTS], stretch here, int row, int column)                \
    {                                                                                              \
        local const ACC *a = here.a + row * here.pitch;                                            \
        global const T *b = here.b + column * here.b_column;                                       \
        ACCS sums[rows][columns];                                                                  \
        int l = get_local_id(0) * VECTOR_WIDTH;                                                    \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
            _Pragma("unroll") for (int c = 0; c < columns; ++c) sums[r][c] = (ACCS)0;              \
        for (; l + VECTOR_WIDTH <= here.depth; l += ITEMS * VECTOR_WIDTH)                          \
            ADD_VECTORS(rows, columns, WHOLE)                                                      \
        if (l < here.depth)                                                                        \
            ADD_VECTORS(rows, columns, REST)                                                       \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
            _Pragma("unroll") for (int c = 0; c < columns; ++c) s[r * VECTORS + c] =               \
                sum_of_lanes(sums[r][c]);                                                          \
    }

// The first n of an item's registers, which GPUs cannot index: as EACH_LANE().
#if ITEMS * ITEMS_Y > 1
#define EACH_OF(i, n, most) _Pragma("unroll") for (int i = 0; i < most; ++i) if (i < (n))
#else
#define EACH_OF(i, n, most) for (int i = 0; i < most && i < (n); ++i)
#endif

// Fewer than VECTORS columns are computed one after the other.
#define PARTIALS_OF(name, rows)                                                                    \
    PARTIALS(name##_all, rows, VECTORS)                                                            \
    PARTIALS(name##_one, rows, 1)                                                                  \
    INLINE void partials_##name(ACC s[PRODUCTS], stretch here, int row, int column, int n)         \
    {                                                                                              \
        if (n >= VECTORS) {                                                                        \
            partials_##name##_all(s, here, row, column);                                           \
            return;                                                                                \
        }                                                                                          \
        EACH_OF(c, n, VECTORS)                                                                     \
        {                                                                                          \
            partials_##name##_one(s + c, here, row, column + c);                                   \
        }                                                                                          \
    }

PARTIALS_OF(single, 1)
#if ROWS > 1
PARTIALS_OF(several, ROWS)
#endif

// Adds up the partial sums of the ITEMS items; each gets the sums. Every item of the group must
// call it.
INLINE void combine_partials(ACC s[PRODUCTS], local ACC *exchange)
{
#if ITEMS > 1
    const int x = get_local_id(0);
    local ACC *mine = exchange + get_local_id(1) * PRODUCTS * ITEMS;
    for (int p = 0; p < PRODUCTS; ++p)
        mine[p * ITEMS + x] = s[p];
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    for (int below = ITEMS / 2; below > 0; below /= 2) {
        for (int p = 0; p < PRODUCTS; ++p)
            if (x < below)
                mine[p * ITEMS + x] = SUM_OF(mine[p * ITEMS + x], mine[p * ITEMS + x + below]);
        WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    }
    for (int p = 0; p < PRODUCTS; ++p)
        s[p] = mine[p * ITEMS];
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
#endif
}

// sums += dot products of n_rows rows, ROWS or one, with the item's columns, `n` of them or none;
// `pitch` is the row stride of sums.
INLINE void add_dots(local ACC *sums, int pitch, stretch here, int row, int n_rows, int column,
                     int n, local ACC *exchange)
{
    ACC s[PRODUCTS];
    for (int p = 0; p < PRODUCTS; ++p)
        s[p] = 0;
#if ROWS > 1
    if (n_rows > 1)
        partials_several(s, here, row, column, n);
    else
#endif
        partials_single(s, here, row, column, n);
    combine_partials(s, exchange);
    if (get_local_id(0) > 0)
        return;
    EACH_OF(r, n_rows, ROWS)
    {
        EACH_OF(c, n, VECTORS)
        {
            sums[r * pitch + c] = SUM_OF(sums[r * pitch + c], s[r * VECTORS + c]);
        }
    }
}

// Stages a step's part of A: m rows, padded with zeros to whole vectors.
INLINE void stage_rows(local ACC *to, int pitch, global const T *A, long row, long column, int m,
                       int depth)
{
    const int item = get_local_id(1) * ITEMS + get_local_id(0);
    for (int r = 0; r < m; ++r)
        for (int l = item * VECTOR_WIDTH; l < depth; l += ITEMS * ITEMS_Y * VECTOR_WIDTH)
            LOCAL(to + r * pitch + l) = load_some(A + r * row + l * column, column, depth - l);
}

// Groups are counted along columns and products; chunks of one product are consecutive.
kernel GROUP void matmul_dots(FACTOR(A), FACTOR(B), BATCH, ENDING, DOTS_PARAMETERS(DECLARE, COMMA))
{
    local ACC *rows = (local ACC *)rows_of_A, *block_sums = (local ACC *)sums;
    local ACC *exchange = (local ACC *)partials;
    const int item = get_local_id(1) * ITEMS + get_local_id(0);
    const int first = get_group_id(0) * block_columns;
    const int n_columns = min(block_columns, n - first);
    stretch here;
    here.a = rows;
    here.pitch = depth;
    here.b_column = B_column;
    for (long z = get_group_id(2); z < n_batches * n_chunks; z += get_num_groups(2)) {
        FIND_ENDING(z, m, n)
        const int end = chunk_end(e.begin, chunk, k);
        global const T *left = A + A_start + batch_offset(batch, loops, A_batch);
        global const T *right =
            B + B_start + batch_offset(batch, loops, B_batch) + first * B_column;
        for (int i = item; i < m * block_columns; i += ITEMS * ITEMS_Y)
            block_sums[i] = 0;
        for (int from = e.begin; from < end; from += depth) {
            here.depth = min(depth, end - from);
            here.b = right + from * B_row;
            stage_rows(rows, depth, left + from * A_column, A_row, A_column, m, here.depth);
            TOGETHER;
            for (int strip = 0; strip < n_columns; strip += ITEMS_Y * VECTORS) {
                const int column = strip + get_local_id(1) * VECTORS;
                for (int row = 0; row < m;) {
                    const int n_rows = m - row >= ROWS ? ROWS : 1;
                    add_dots(block_sums + row * block_columns + column, block_columns, here, row,
                             n_rows, column, n_columns - column, exchange);
                    row += n_rows;
                }
            }
            TOGETHER;
        }
        for (int row = 0; row < m; ++row)
            for (int c = item * VECTOR_WIDTH; c < n_columns; c += ITEMS * ITEMS_Y * VECTOR_WIDTH)
                finish(LOCAL(block_sums + row * block_columns + c), &e, row, first + c);
        TOGETHER;
    }
}
