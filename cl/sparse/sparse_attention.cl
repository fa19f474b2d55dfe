// SPDX-License-Identifier: Apache-2.0
// O = softmax(scale Q K^T at the entries of M) V, with M a sparse matrix by rows (CSR): each row of
// O is a mean of rows of V, those that the row of M names, weighted by exp(scale q k).
//
// LANES items share a row. They process its entries a block at a time: dot products, the running
// maximum, weights, and weighted rows of V added to sums in registers, which are rescaled when the
// maximum grows. Item `lane` sums OUTPUTS vectors of VECTOR_WIDTH columns, LANES x VECTOR_WIDTH
// apart; ROWS_PER_GROUP rows make a group. Group (x, y, z) has the rows of row block x, the columns
// of n-tile y, and matrix z of the batch.
//
//   attention_csr_rows        rows_per_item rows, one after the other, but not long rows
//   attention_csr_row_chunks  maximum and sums of one row chunk of a long row, to scratch memory
//   attention_csr_combine     combines a long row's row chunks, in order
//
// The last vector along k is moved back to end there, and its repeated lanes are 0. So is the last
// one along the columns of V: it computes some columns twice, and each is written once. The host
// promises at least VECTOR_WIDTH of both.
#include "base/parameters.clh"
#include "base/types.clh"

#ifndef LANES // items that share a row
#define LANES 4
#endif
#ifndef VECTORS // of a row of Q that an item caches in registers
#define VECTORS 2
#endif
#ifndef OUTPUTS // vectors of a row of O that an item sums
#define OUTPUTS 2
#endif
#ifndef ROWS_PER_GROUP
#define ROWS_PER_GROUP 4
#endif
#ifndef QK_ADJACENT // Q and K have stride 1 along k
#define QK_ADJACENT 1
#endif
#ifndef VO_ADJACENT // V and O have stride 1 along their columns
#define VO_ADJACENT 1
#endif

#ifndef KV_ROWS_NEAR // as nth_row() asks for it
#define KV_ROWS_NEAR 0
#endif

#define WIDTH       (LANES * OUTPUTS * VECTOR_WIDTH)
#define GROUP_ITEMS (LANES * ROWS_PER_GROUP)
#define GROUP       IN_SUB_GROUPS __attribute__((reqd_work_group_size(LANES, ROWS_PER_GROUP, 1)))

#include "base/dots.clh"
#include "base/exp.clh"
#include "base/iterations.clh"
#include "operand/rows.clh"
#include "operand/stretches.clh"

#include "sparse/block.clh"
#include "sparse/sparse_attention_parameters.h"

#define DENSE_Q      ATTENTION_DENSE_PARAMETERS(DECLARE, COMMA, SOLE_IN, Q, q)
#define DENSE_K      ATTENTION_DENSE_PARAMETERS(DECLARE, COMMA, SOLE_IN, K, k)
#define DENSE_V      ATTENTION_DENSE_PARAMETERS(DECLARE, COMMA, SOLE_IN, V, v)
#define DENSE_O      ATTENTION_DENSE_PARAMETERS(DECLARE, COMMA, SOLE_OUT, O, o)
#define ENTRIES_OF_M ATTENTION_ENTRIES_PARAMETERS(DECLARE, COMMA)

#define QK_STRIDE(stride) (QK_ADJACENT ? 1 : (stride))
#define VO_STRIDE(stride) (VO_ADJACENT ? 1 : (stride))

// One matrix of each operand.
typedef struct {
    global const INDEX *columns;
    global const T *q, *k, *v;
    long q_row, q_column, k_row, k_column, v_row, v_column;
    int depth; // along k
    ACC scale;
} operands;

// The start of a group's matrix, by its head and its batch. No %, which beside a division of the
// same numbers makes an instruction that Oclgrind 21.10 does not know.
INLINE long matrix_at(long n_heads, long outer, long inner)
{
    const long matrix = GROUP_ALONG_Z, batch = matrix / n_heads;
    return batch * outer + (matrix - batch * n_heads) * inner;
}

#define MATRIX_OF(x) x##_start + matrix_at(n_heads, x##_outer, x##_inner)

#define OPERANDS                                                                                   \
    {                                                                                              \
        indices + indices_start, Q + MATRIX_OF(q), K + MATRIX_OF(k), V + MATRIX_OF(v), q_row,      \
            QK_STRIDE(q_column), k_row, QK_STRIDE(k_column), v_row, VO_STRIDE(v_column), depth,    \
            scale                                                                                  \
    }

// Local memory of a group: partial products, then a block's products and weights, row by row.
typedef struct {
    local state *shares;
    local ACC *products, *weights;
    local int *iterations;
} exchange;

#if LANES > 1
#define DECLARE_EXCHANGE                                                                           \
    local state shared_shares[EXCHANGED(ROWS_PER_GROUP)];                                          \
    local ACC shared_products[ROWS_PER_GROUP * LANES], shared_weights[ROWS_PER_GROUP * LANES];     \
    local int shared_iterations[ROWS_PER_GROUP];                                                   \
    const exchange X = {shared_shares, shared_products + get_local_id(1) * LANES,                  \
                        shared_weights + get_local_id(1) * LANES, shared_iterations};
#else
#define DECLARE_EXCHANGE const exchange X = {0, 0, 0, 0};
#endif

// State of a row: the largest product, and the sum of exp(product - base), where base is the
// largest product or, where that is -infinity, 0.
typedef struct {
    ACC top, sum;
} weighing;

// The item's columns: vector v covers column v .. + VECTOR_WIDTH - 1 and owns those from `owned`
// on.
INLINE long owned_column(int v)
{
    return GROUP_ALONG_Y(ROWS_PER_GROUP) * (long)WIDTH +
           (v * LANES + (int)get_local_id(0)) * VECTOR_WIDTH;
}

INLINE long column_of(int v, int n)
{
    return min(owned_column(v), (long)n - VECTOR_WIDTH);
}

INLINE ACC base_of(ACC top)
{
    return top == -INFINITY ? (ACC)0 : top;
}

// The products of `count` entries from e on.
INLINE SUMS block_sums_of(ACCS q[VECTORS], const operands A, int row, long e, int count,
                          bool is_new, const exchange X)
{
#if LANES == 1
    if (A.depth == TILE && count == BLOCK) {
        if (is_new)
            load_row(q, A.q + row * A.q_row, A.q_column, QK_ADJACENT, 0, TILE, QK_ADJACENT, 0);
        return sums_of_block(q, A.k, A.k_row, A.k_column, QK_ADJACENT, 0, A.columns + e);
    }
#endif
    state shares[BLOCK];
#if LANES > 1
    // Without a branch between them all rows of K are loaded together; the last one repeatedly
    // where there are fewer.
    if (A.depth == TILE && count > 0) {
        if (is_new)
            load_row(q, A.q + row * A.q_row, A.q_column, QK_ADJACENT, 0, TILE, QK_ADJACENT, 0);
#pragma unroll
        for (int b = 0; b < BLOCK; ++b) {
            global const T *k =
                nth_row(A.k, A.columns[e + min(b, count - 1)], A.k_row, KV_ROWS_NEAR);
            shares[b].sum = share_of(add_whole(0, q, k, A.k_column, QK_ADJACENT));
        }
    } else
#endif
        for (int b = 0; b < BLOCK; ++b) {
            ACCS sum = 0;
            if (b < count) {
                global const T *k = nth_row(A.k, A.columns[e + b], A.k_row, KV_ROWS_NEAR);
                for (int tile = 0; tile < A.depth; tile += TILE) {
                    if (A.depth > TILE || (is_new && b == 0))
                        load_row(q, A.q + row * A.q_row, A.q_column, QK_ADJACENT, tile, A.depth,
                                 QK_ADJACENT, 0);
                    sum = add_product(sum, q, k, A.k_column, QK_ADJACENT, 0, tile, A.depth);
                }
            }
            put_share(shares, b, sum);
        }
    return block_sums(shares, X.shares);
}

// The same, scaled; -infinity after them.
INLINE SUMS products_of(ACCS q[VECTORS], const operands A, int row, long e, int count, bool is_new,
                        const exchange X)
{
    const SUMS products = block_sums_of(q, A, row, e, count, is_new, X) * (SUMS)A.scale;
#if LANES == 1
    return JOIN(first_, ACC)(count, (ACCS)-INFINITY, products);
#else
    return (int)get_local_id(0) < count ? products : -INFINITY;
#endif
}

// Entries of a block, by numbers that the compiler knows where lanes are items.
#if LANES == 1
#define EACH_ENTRY(b, count) for (int b = 0; b < (count); ++b)
#else
#define EACH_ENTRY(b, count) _Pragma("unroll") for (int b = 0; b < BLOCK; ++b) if (b < (count))
#endif

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define ADD(a, b)    ((a) + (b))

#if LANES == 1
INLINE ACC largest_of(SUMS x, const exchange X)
{
    ACROSS(LARGER, x)
    return any_of(x);
}

// Their weights, and the sum of these.
INLINE ACC weigh(ACC weights[BLOCK], SUMS products, ACC base, const exchange X)
{
    ACCS x = exp_below(products - (ACCS)base);
    VSTORE(x, weights);
    ACROSS(ADD, x)
    return any_of(x);
}
#else
INLINE ACC largest_of(SUMS x, const exchange X)
{
    X.products[get_local_id(0)] = x;
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    ACC largest = X.products[0];
    for (int i = 1; i < LANES; ++i)
        largest = LARGER(X.products[i], largest);
    return largest;
}

INLINE ACC weigh(ACC weights[BLOCK], SUMS product, ACC base, const exchange X)
{
    X.weights[get_local_id(0)] = exp(product - base);
    WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
    ACC sum = 0;
    for (int i = 0; i < LANES; ++i) {
        weights[i] = X.weights[i];
        sum += weights[i];
    }
    return sum;
}
#endif

// out += weight v of entry e, in the item's columns.
INLINE void add_weighted(ACCS out[OUTPUTS], const operands A, const long offsets[OUTPUTS], long e,
                         ACC weight)
{
    global const T *from = nth_row(A.v, A.columns[e], A.v_row, KV_ROWS_NEAR);
#pragma unroll
    for (int v = 0; v < OUTPUTS; ++v)
        out[v] = multiply_add((ACCS)weight,
                              load_neighbours(from + offsets[v], A.v_column, VO_ADJACENT), out[v]);
}

// out = sum over the entries start .. stop - 1 of exp(product - base) v, in the item's columns. A
// row that lanes share takes as many iterations as the longest of its group.
INLINE weighing attend(ACCS out[OUTPUTS], const operands A, int row, long start, long stop,
                       int n_columns, const exchange X)
{
    ACCS q[VECTORS];
    long offsets[OUTPUTS]; // of those columns
    weighing w = {-INFINITY, 0};
#pragma unroll
    for (int v = 0; v < OUTPUTS; ++v) {
        offsets[v] = column_of(v, n_columns) * A.v_column;
        out[v] = 0;
    }
    int iterations = (int)((stop - start + BLOCK - 1) / BLOCK);
#if LANES > 1
    iterations = iterations_of_group(X.iterations, iterations);
#endif
    for (int i = 0; i < iterations; ++i) {
        const long e = start + (long)i * BLOCK;
        const int count = (int)clamp(stop - e, 0L, (long)BLOCK);
        const SUMS products = products_of(q, A, row, e, count, i == 0, X);
        const ACC largest = largest_of(products, X);
        if (largest > w.top) {
            const ACC by = exp(w.top - largest);
            w.top = largest;
            w.sum *= by;
#pragma unroll
            for (int v = 0; v < OUTPUTS; ++v)
                out[v] = out[v] * (ACCS)by;
        }
        ACC weights[BLOCK];
        w.sum += weigh(weights, products, base_of(w.top), X);
        if (count == BLOCK) {
#pragma unroll
            for (int b = 0; b < BLOCK; ++b)
                add_weighted(out, A, offsets, e + b, weights[b]);
            continue;
        }
        EACH_ENTRY(b, count)
        {
            add_weighted(out, A, offsets, e + b, weights[b]);
        }
    }
    return w;
}

// Vector v of a row of O, as far as the item owns it.
INLINE void write_columns(ACCS x, global T *row, long stride, int v, int n_columns)
{
    const long owned = owned_column(v), column = column_of(v, n_columns);
    if (VO_ADJACENT && owned == column) {
        store_vector(x, row + column);
        return;
    }
    ACC lanes[VECTOR_WIDTH];
    VSTORE(x, lanes);
    EACH_LANE(i, (int)min(owned - column, (long)VECTOR_WIDTH), VECTOR_WIDTH)
    store_one(lanes[i], row + (column + i) * stride);
}

// The factor of a row's sums: 0 where all weights are 0.
INLINE ACC share_of_one(weighing w)
{
    return w.sum == 0 ? (ACC)0 : (ACC)1 / w.sum;
}

kernel GROUP void attention_csr_rows(DENSE_Q, DENSE_K, DENSE_V, DENSE_O, ENTRIES_OF_M,
                                     ATTENTION_ROWS_PARAMETERS(DECLARE, COMMA))
{
    DECLARE_EXCHANGE
    const operands A = OPERANDS;
    global const OFFSET *starts = offsets + offsets_start;
    global T *out = O + MATRIX_OF(o);
    const long item = get_group_id(0) * (long)ROWS_PER_GROUP + get_local_id(1);
    for (int i = 0; i < rows_per_item; ++i) {
        const long row = item * rows_per_item + i;
        const bool is_there = row < n_rows;
        const long start = is_there ? starts[row] : 0, stop = is_there ? starts[row + 1] : 0;
        const bool is_long = stop - start > 2 * row_chunk;
        ACCS sums[OUTPUTS];
        const weighing w = attend(sums, A, (int)row, start, is_long ? start : stop, n_columns, X);
        if (!is_there || is_long)
            continue;
        const ACC by = share_of_one(w);
#pragma unroll
        for (int v = 0; v < OUTPUTS; ++v)
            write_columns(sums[v] * (ACCS)by, out + row * o_row, VO_STRIDE(o_column), v, n_columns);
    }
}

// Row chunk p goes to scratch[batch][p]: the largest product, the sum, and n_columns sums.
kernel GROUP void attention_csr_row_chunks(DENSE_Q, DENSE_K, DENSE_V, ENTRIES_OF_M,
                                           ATTENTION_ROW_CHUNKS_PARAMETERS(DECLARE, COMMA))
{
    DECLARE_EXCHANGE
    const operands A = OPERANDS;
    const int p = get_group_id(0) * ROWS_PER_GROUP + get_local_id(1);
    chunk_of_row mine = {0, 0, 0, 0, 0};
    if (p < n_row_chunks)
        mine = row_chunk_at(offsets + offsets_start, n_rows, row_chunk, p);
    ACCS sums[OUTPUTS];
    const weighing w = attend(sums, A, mine.row, mine.start, mine.stop, n_columns, X);
    if (mine.count == 0)
        return;
    global ACC *out = scratch + (GROUP_ALONG_Z * (long)n_row_chunks + p) * (n_columns + 2);
    if (GROUP_ALONG_Y(ROWS_PER_GROUP) == 0 && get_local_id(0) == 0) {
        out[0] = w.top;
        out[1] = w.sum;
    }
    for (int v = 0; v < OUTPUTS; ++v) {
        const long owned = owned_column(v), column = column_of(v, n_columns);
        ACC lanes[VECTOR_WIDTH];
        VSTORE(sums[v], lanes);
        EACH_LANE(i, (int)min(owned - column, (long)VECTOR_WIDTH), VECTOR_WIDTH)
        out[2 + column + i] = lanes[i];
    }
}

// The item of row chunk p computes the whole row, if p is the first of it.
kernel GROUP void attention_csr_combine(DENSE_O, ENTRIES_OF_M,
                                        ATTENTION_COMBINE_PARAMETERS(DECLARE, COMMA))
{
    const int p = get_group_id(0) * ROWS_PER_GROUP + get_local_id(1);
    if (p >= n_row_chunks)
        return;
    const chunk_of_row first = row_chunk_at(offsets + offsets_start, n_rows, row_chunk, p);
    if (first.count == 0 || first.first != p)
        return;
    const long step = n_columns + 2;
    global const ACC *in = scratch + (GROUP_ALONG_Z * (long)n_row_chunks + p) * step;
    weighing w = {in[0], 0};
    for (int j = 1; j < first.count; ++j)
        w.top = LARGER(in[j * step], w.top);
    ACCS sums[OUTPUTS];
    for (int v = 0; v < OUTPUTS; ++v)
        sums[v] = 0;
    for (int j = 0; j < first.count; ++j, in += step) {
        const ACC by = exp(in[0] - base_of(w.top));
        w.sum += by * in[1];
        for (int v = 0; v < OUTPUTS; ++v)
            sums[v] = multiply_add((ACCS)by, VLOAD(in + 2 + column_of(v, n_columns)), sums[v]);
    }
    global T *out = O + MATRIX_OF(o) + first.row * o_row;
    for (int v = 0; v < OUTPUTS; ++v)
        write_columns(sums[v] * (ACCS)share_of_one(w), out, VO_STRIDE(o_column), v, n_columns);
}
