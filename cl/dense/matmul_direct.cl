// SPDX-License-Identifier: Apache-2.0
// C = f(alpha A B + beta C) with both factors read where they lie: for products that caches hold.
//
//   matmul_direct  a block of C, over all of k
//
// An item goes through its block tile by tile: ROWS x VECTORS x VECTOR_WIDTH sums in registers over
// all of k, which go to C at once. Nothing is copied, so that blocks may be small; B must be
// adjacent along n. Each element of C is summed in the order of k and has the bits of
// matmul_blocks.
//
// Extents, blocks and strides are arguments: one program multiplies all shapes.
#ifndef ROWS // rows of C that an item has in registers
#define ROWS 4
#endif
#ifndef VECTORS // vectors in each of these rows
#define VECTORS 2
#endif
#ifndef DEPTH // products of a sum in registers; sums of several are added in order
#define DEPTH 256
#endif

#include "base/types.clh"

#include "dense/matmul.clh"

// The factors of one product. All of B's rows below `whole` may be read up to a vector's end, even
// where that is beyond the columns.
typedef struct {
    global const T *a, *b;
    long a_row, a_column, b_row;
    int k, whole;
} factors;

#define EACH_SUM(rows, vectors)                                                                    \
    _Pragma("unroll") for (int r = 0; r < rows; ++r)                                               \
        _Pragma("unroll") for (int v = 0; v < vectors; ++v)

// s += one column of A times one row of B, whose vectors LOAD(v) reads.
#define ADD_PRODUCTS(rows, vectors, LOAD)                                                          \
    {                                                                                              \
        ACCS right[vectors];                                                                       \
        _Pragma("unroll") for (int v = 0; v < vectors; ++v) right[v] = LOAD(v);                    \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
        {                                                                                          \
            const ACCS left = (ACCS)load_one(a + r * f.a_row);                                     \
            _Pragma("unroll") for (int v = 0; v < vectors; ++v) s[r][v] =                          \
                multiply_add(left, right[v], s[r][v]);                                             \
        }                                                                                          \
        a += f.a_column;                                                                           \
        b += f.b_row;                                                                              \
    }

#define ALL_LANES(v)  load_vector(b + v * VECTOR_WIDTH)
#define LANES_LEFT(v) load_some(b + v * VECTOR_WIDTH, 1, lanes - v * VECTOR_WIDTH)

// s = the sums of the tile at row, column of C. Sums of steps are added in private memory.
#define SUM_TILE(rows, vectors)                                                                    \
    const int lanes = e->n - column;                                                               \
    const bool is_whole = lanes >= vectors * VECTOR_WIDTH;                                         \
    const int whole = is_whole ? f.k : f.whole;                                                    \
    global const T *a = f.a + row * f.a_row, *b = f.b + column;                                    \
    ACCS s[rows][vectors], total[rows][vectors];                                                   \
    for (int from = 0, l = 0;; from += DEPTH) {                                                    \
        const int upto = from + min(DEPTH, f.k - from), fast = min(upto, whole);                   \
        EACH_SUM(rows, vectors) s[r][v] = (ACCS)0;                                                 \
        for (; l < fast; ++l) {                                                                    \
            ADD_PRODUCTS(rows, vectors, ALL_LANES)                                                 \
        }                                                                                          \
        _Pragma("unroll 1") for (; l < upto; ++l)                                                  \
        {                                                                                          \
            ADD_PRODUCTS(rows, vectors, LANES_LEFT)                                                \
        }                                                                                          \
        if (from > 0) {                                                                            \
            EACH_SUM(rows, vectors) s[r][v] = IN_UNSIGNED(total[r][v], +, s[r][v]);                \
        }                                                                                          \
        if (upto == f.k)                                                                           \
            break;                                                                                 \
        EACH_SUM(rows, vectors) total[r][v] = s[r][v];                                             \
    }

// Finishes the tile. Beta and C's stride are constants where C's rows are contiguous and nothing is
// added.
#define TILE(name, rows, vectors)                                                                  \
    INLINE void add_##name(const factors f, const ending *e, bool is_plain, int row, int column)   \
    {                                                                                              \
        SUM_TILE(rows, vectors)                                                                    \
        if (is_plain && is_whole) {                                                                \
            ending plain = *e;                                                                     \
            plain.beta = 0;                                                                        \
            plain.c_column = 1;                                                                    \
            plain.streams = false;                                                                 \
            EACH_SUM(rows, vectors)                                                                \
            write_result(s[r][v], &plain, row + r, column + v * VECTOR_WIDTH, VECTOR_WIDTH);       \
            return;                                                                                \
        }                                                                                          \
        EACH_SUM(rows, vectors) total[r][v] = s[r][v];                                             \
        _Pragma("unroll 1") for (int r = 0; r < rows; ++r)                                         \
            _Pragma("unroll 1") for (int v = 0; v < vectors; ++v)                                  \
                finish(total[r][v], e, row + r, column + v * VECTOR_WIDTH);                        \
    }

// Only a few sizes of partial tiles are compiled, to save compile time.
#define TILES(name, rows)                                                                          \
    TILE(name##_all, rows, VECTORS)                                                                \
    TILE(name##_one, rows, 1)                                                                      \
    INLINE void add_##name(const factors f, const ending *e, bool is_plain, int row, int column,   \
                           int n_columns)                                                          \
    {                                                                                              \
        if (n_columns >= VECTORS * VECTOR_WIDTH) {                                                 \
            add_##name##_all(f, e, is_plain, row, column);                                         \
            return;                                                                                \
        }                                                                                          \
        for (int c = 0; c < n_columns; c += VECTOR_WIDTH)                                          \
            add_##name##_one(f, e, is_plain, row, column + c);                                     \
    }

TILES(whole, ROWS)
#if ROWS > 4
TILES(four, 4)
#endif
#if ROWS > 1
TILES(single, 1)
#endif

#define ADD_PART(name, count)                                                                      \
    for (; bottom - row >= count; row += count)                                                    \
        add_##name(f, e, is_plain, row, column, n_columns);

// Rows `row` to `bottom` of a panel.
INLINE void add_panel(const factors f, const ending *e, bool is_plain, int row, int bottom,
                      int column, int n_columns)
{
    ADD_PART(whole, ROWS)
#if ROWS > 4
    ADD_PART(four, 4)
#endif
#if ROWS > 1
    ADD_PART(single, 1)
#endif
}

// Groups are numbered along columns, rows and products.
kernel GROUP void matmul_direct(FACTOR(A), FACTOR(B), BATCH, ENDING,
                                ROWS_PARAMETERS(DECLARE, COMMA))
{
    const int left = get_group_id(0) * block_columns;
    const int right = min(block_columns, n - left) + left;
    factors f;
    f.a_row = A_row;
    f.a_column = A_column;
    f.b_row = B_row;
    f.k = k;
    f.whole = B_row >= VECTOR_WIDTH ? max(k - 1, 0) : 0;
    for (long z = get_group_id(2); z < n_batches; z += get_num_groups(2)) {
        FIND_ENDING(z, m, n)
        const bool is_plain = e.beta == 0 && e.c_column == 1;
        f.a = A + A_start + batch_offset(batch, loops, A_batch);
        f.b = B + B_start + batch_offset(batch, loops, B_batch);
        for (long top = get_group_id(1) * (long)block_rows; top < m;
             top += get_num_groups(1) * (long)block_rows) {
            const int bottom = (int)min((long)m, top + block_rows);
            for (int c = left; c < right; c += VECTORS * VECTOR_WIDTH)
                add_panel(f, &e, is_plain, (int)top, bottom, c, right - c);
        }
    }
}
