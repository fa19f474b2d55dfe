// SPDX-License-Identifier: Apache-2.0
// C = f(alpha A B + beta C), row by row: each row of C is a sum of rows of B. For products that
// have few rows, or few such terms.
//
//   matmul_rows  rows of a block of C, over all of k or over a chunk of it to scratch memory
//
// An item has up to ROWS rows of C, and up to ROWS x VECTORS vectors in all. It goes through k in
// steps of STEP, and in each through its columns: it reads B in long runs, and uses each for all of
// its rows. On a GPU VECTORS is 1, and the sums are in registers; on a CPU they are in its nearest
// cache.
#ifndef VECTORS
#define VECTORS 1
#endif
#ifndef ROWS // of C that an item has at a time: 1, 2, 4 or 8
#define ROWS 4
#endif

#include "base/types.clh"

#include "dense/matmul.clh"

#define STEP  4    // rows of B in one iteration
#define CHUNK 2048 // of k, with sums of its own

// What an item multiplies: its rows of A and its columns of B, whose neighbours are adjacent.
typedef struct {
    global const T *a, *b;
    long a_row, a_column, b_row;
    int n_vectors; // of the block, for each item: sums of row r begin at r * n_vectors
    int n_columns; // from the item's first one on
    int last_row;  // of those that it has
} terms;

// With one vector per row, sums are registers, which must be indexed by constants: a step sums all
// rows. Rows past the last repeat it, and their sums are not used.
#if VECTORS == 1
#define ROW_OF_A(r) min(r, t.last_row)
#else
#define ROW_OF_A(r) (r)
#endif

// Prefetches what the next iteration reads of B.
#if VECTORS > 1
#define FETCH_NEXT(i) FETCH_AHEAD((size_t)(from + (STEP + i) * t.b_row), 1);
#else
#define FETCH_NEXT(i)
#endif

// The item's vector v of each row += `rows` rows of A, `steps` elements each, times as many rows of
// B; LOAD is how these are read.
#define ADD_VECTOR(rows, steps, LOAD)                                                              \
    {                                                                                              \
        global const T *from = b + v * ITEMS * VECTOR_WIDTH;                                       \
        ACCS right[steps];                                                                         \
        _Pragma("unroll") for (int i = 0; i < steps; ++i)                                          \
        {                                                                                          \
            right[i] = LOAD(from + i * t.b_row);                                                   \
            FETCH_NEXT(i)                                                                          \
        }                                                                                          \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
        {                                                                                          \
            ACCS s = sums[r * t.n_vectors + v];                                                    \
            _Pragma("unroll") for (int i = 0; i < steps; ++i) s =                                  \
                multiply_add((ACCS)left[r][i], right[i], s);                                       \
            sums[r * t.n_vectors + v] = s;                                                         \
        }                                                                                          \
    }

#define WHOLE(p) load_vector(p)
#define REST(p)  load_some(p, 1, t.n_columns - v * ITEMS * VECTOR_WIDTH)

#if VECTORS == 1
#define ADD_VECTORS(rows, steps)                                                                   \
    {                                                                                              \
        const int v = 0;                                                                           \
        if (n_whole > 0)                                                                           \
            ADD_VECTOR(rows, steps, WHOLE)                                                         \
        else if (t.n_columns > 0)                                                                  \
            ADD_VECTOR(rows, steps, REST)                                                          \
    }
#else
#define ADD_VECTORS(rows, steps)                                                                   \
    {                                                                                              \
        int v = 0;                                                                                 \
        for (; v < n_whole; ++v)                                                                   \
            ADD_VECTOR(rows, steps, WHOLE)                                                         \
        if (v < t.n_vectors && v * ITEMS * VECTOR_WIDTH < t.n_columns)                             \
            ADD_VECTOR(rows, steps, REST)                                                          \
    }
#endif

#define ADD_TERMS(rows, steps)                                                                     \
    {                                                                                              \
        ACC left[rows][steps];                                                                     \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
            _Pragma("unroll") for (int i = 0; i < steps; ++i) left[r][i] =                         \
                load_one(a + ROW_OF_A(r) * t.a_row + i * t.a_column);                              \
        ADD_VECTORS(rows, steps)                                                                   \
        a += steps * t.a_column;                                                                   \
        b += steps * t.b_row;                                                                      \
    }

#define SUM_ROWS(rows)                                                                             \
    INLINE void sum_rows_##rows(ACCS *sums, terms t, int first_row, int from_k, int upto_k)        \
    {                                                                                              \
        global const T *a = t.a + first_row * t.a_row + from_k * t.a_column;                       \
        global const T *b = t.b + from_k * t.b_row;                                                \
        const int columns = t.n_columns - VECTOR_WIDTH, step = ITEMS * VECTOR_WIDTH;               \
        const int n_whole = columns < 0 ? 0 : min(t.n_vectors, columns / step + 1);                \
        int l = from_k;                                                                            \
        for (; l + STEP <= upto_k; l += STEP)                                                      \
            ADD_TERMS(rows, STEP)                                                                  \
        for (; l < upto_k; ++l)                                                                    \
            ADD_TERMS(rows, 1)                                                                     \
    }

#if ROWS >= 8
SUM_ROWS(8)
#endif
#if ROWS >= 4
SUM_ROWS(4)
#endif
#if ROWS >= 2
SUM_ROWS(2)
#endif
SUM_ROWS(1)

#define SUM_PART(rows)                                                                             \
    if (n_rows - done >= rows) {                                                                   \
        sum_rows_##rows(sums + done * t.n_vectors, t, row + done, from, upto);                     \
        done += rows;                                                                              \
    }

// Of ROWS rows or fewer.
INLINE void sum_rows(ACCS *sums, terms t, int row, int n_rows, int from, int upto)
{
#if VECTORS == 1
    t.last_row = n_rows - 1;
#if ROWS >= 8
    if (n_rows > 4) {
        sum_rows_8(sums, t, row, from, upto);
        return;
    }
#endif
#if ROWS >= 4
    if (n_rows > 2) {
        sum_rows_4(sums, t, row, from, upto);
        return;
    }
#endif
#if ROWS >= 2
    if (n_rows > 1) {
        sum_rows_2(sums, t, row, from, upto);
        return;
    }
#endif
    sum_rows_1(sums, t, row, from, upto);
#else
    int done = 0;
#if ROWS >= 8
    SUM_PART(8)
#endif
#if ROWS >= 4
    SUM_PART(4)
#endif
#if ROWS >= 2
    SUM_PART(2)
#endif
    SUM_PART(1)
#endif
}

// Sums over all of k, and, if they are not in registers, those of a chunk behind them.
#define SUMS   (ROWS * VECTORS)
#define N_SUMS (VECTORS == 1 ? SUMS : 2 * SUMS)

// All of k, chunk by chunk: no sum has more terms than a chunk has products, or k has chunks. The
// first chunk is summed in place. If sums are registers, those of a chunk would spill: there plans
// divide k into chunks.
INLINE void sum_chunks(ACCS sums[N_SUMS], terms t, int row, int n_rows, int begin, int end)
{
#if VECTORS == 1
#pragma unroll
    for (int r = 0; r < ROWS; ++r)
        sums[r] = (ACCS)0;
    sum_rows(sums, t, row, n_rows, begin, end);
#else
    const int n = n_rows * t.n_vectors;
    int from = begin, upto;
    do {
        ACCS *to = sums + (from == begin ? 0 : SUMS);
        upto = from + min(CHUNK, end - from);
        for (int i = 0; i < n; ++i)
            to[i] = (ACCS)0;
        sum_rows(to, t, row, n_rows, from, upto);
        for (int i = 0; i < n && from > begin; ++i)
            sums[i] = IN_UNSIGNED(sums[i], +, to[i]);
        from = upto;
    } while (from < end);
#endif
}

// Groups are counted along columns, rows and products; chunks of one product are consecutive.
kernel GROUP void matmul_rows(FACTOR(A), FACTOR(B), BATCH, ENDING, ROWS_PARAMETERS(DECLARE, COMMA))
{
    ACCS sums[N_SUMS];
    const int column = get_group_id(0) * block_columns + get_local_id(0) * VECTOR_WIDTH;
    terms t;
    t.a_row = A_row;
    t.a_column = A_column;
    t.b_row = B_row;
    t.n_vectors = VECTORS == 1 ? 1 : block_columns / (ITEMS * VECTOR_WIDTH);
    t.n_columns = n - column;
    for (long z = get_group_id(2); z < n_batches * n_chunks; z += get_num_groups(2)) {
        FIND_ENDING(z, m, n)
        const int end = chunk_end(e.begin, chunk, k);
        t.a = A + A_start + batch_offset(batch, loops, A_batch);
        t.b = B + B_start + batch_offset(batch, loops, B_batch) + column;
        for (long top = get_group_id(1) * (long)block_rows; top < m;
             top += get_num_groups(1) * (long)block_rows) {
            const int bottom = (int)min((long)m, top + block_rows);
            for (int row = (int)top + get_local_id(1) * ROWS; row < bottom; row += ITEMS_Y * ROWS) {
                const int n_rows = min(ROWS, bottom - row);
                sum_chunks(sums, t, row, n_rows, e.begin, end);
#pragma unroll
                for (int r = 0; r < ROWS; ++r)
                    for (int v = 0; v < t.n_vectors && r < n_rows; ++v)
                        finish(sums[r * t.n_vectors + v], &e, row + r,
                               column + v * ITEMS * VECTOR_WIDTH);
            }
        }
    }
}
