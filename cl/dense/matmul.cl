// SPDX-License-Identifier: Apache-2.0
// C = f(alpha A B + beta C), block by block: for products with large m, n and k.
//
//   matmul_blocks  sums a block of C over all of k, or over a chunk of k to scratch memory
//
// A group goes through k in steps of DEPTH. In each step it stages the part of B that its block
// needs in local memory, in panels whose width the items' registers limit; then A, strip by strip.
// It multiplies each strip by each panel; an item computes ROWS x VECTORS x VECTOR_WIDTH elements
// of C. If a block is one strip and one panel (GPUs), the sums stay in registers from step to step
// (matmul_tile.clh), else (CPUs) they are in local memory. Each element of C is summed in the order
// of k, wherever its block begins.
//
// Extents, blocks and strides are arguments: one program multiplies all shapes.
#ifndef ROWS // rows of C that an item has in registers
#define ROWS 4
#endif
#ifndef VECTORS // vectors in each of these rows
#define VECTORS 2
#endif
#ifndef DEPTH // length of a step along k: a multiple of VECTOR_WIDTH
#define DEPTH 16
#endif
#ifndef ONE_TILE // 1: a block is one strip and one panel
#define ONE_TILE 0
#endif

#include "base/types.clh"

#include "dense/matmul.clh"
#if VECTOR_WIDTH > 1
#include "base/transpose.clh"
#endif

#define STRIP (ITEMS_Y * ROWS)
#define PANEL (ITEMS * VECTORS * VECTOR_WIDTH)

#if !ONE_TILE
// Row stride of a strip in local memory: with a power of two rows would share one set of a cache,
// or one bank.
#define PITCH (DEPTH + VECTOR_WIDTH)

#define LINE_BYTES 64
#define LINE       (LINE_BYTES / (int)sizeof(T)) // elements

// ---- staging in local memory

// A part of a factor: n_lines lines of n elements, and strides along a line and from line to line.
// From `first` on, `readable` lines may be read.
typedef struct {
    global const T *first;
    int n_lines, readable, n;
    long along, across;
} part;

// Address of element j of a line: `width` elements are consecutive, and the next `width` are
// `panel` elements further on.
INLINE local ACC *place(local ACC *to, int width, long panel, int line, int j)
{
    const int q = j / width;
    return to + q * panel + line * (long)width + (j - q * width);
}

#if ITEMS * ITEMS_Y > 1
// All items copy; neighbouring items copy adjacent elements. Elements that are missing of lines x
// wide become 0.
INLINE void stage(local ACC *to, int width, long panel, part from, int lines, int wide)
{
    const bool is_transposed = from.along != 1 && from.across == 1;
    const int item = get_local_id(1) * ITEMS + get_local_id(0);
    for (int i = item; i < lines * wide; i += ITEMS * ITEMS_Y) {
        const int q = i / (is_transposed ? lines : wide);
        const int line = is_transposed ? i - q * lines : q, j = is_transposed ? q : i - q * wide;
        const bool is_there = line < from.n_lines && j < from.n;
        *place(to, width, panel, line, j) =
            is_there ? load_one(from.first + line * from.across + j * from.along) : (ACC)0;
    }
}
#else
#define LINES_AHEAD 8

// Prefetches a line that is copied some lines later: it may be in another page, which hardware
// prefetchers do not reach.
INLINE void fetch_line(part from, int line)
{
    if (from.along == 1 && line < from.n_lines)
        for (int j = 0; j < from.n; j += LINE)
            FETCH_AHEAD((size_t)(from.first + line * from.across + j), 1);
}

INLINE void copy_line(local ACC *to, int width, long panel, part from, int line)
{
    global const T *first = from.first + line * from.across;
    local ACC *at = to + line * (long)width;
    int j = 0;
    if (from.along == 1) {
        for (; j + width <= from.n; j += width, at += panel)
            for (int i = 0; i < width; i += VECTOR_WIDTH)
                LOCAL(at + i) = load_vector(first + j + i);
        for (; j + VECTOR_WIDTH <= from.n; j += VECTOR_WIDTH, at += VECTOR_WIDTH)
            LOCAL(at) = load_vector(first + j);
    }
    for (; j < from.n; j += VECTOR_WIDTH)
        LOCAL(place(to, width, panel, line, j)) =
            load_some(first + j * from.along, from.along, from.n - j);
}

#if VECTOR_WIDTH > 1
// Copies VECTOR_WIDTH elements of each of VECTOR_WIDTH lines, or fewer up to from.n_lines. Lines
// are adjacent in memory.
INLINE void copy_transposed(local ACC *to, int width, long panel, part from, int line, int j)
{
    ACCS rows[VECTOR_WIDTH];
    global const T *first = from.first + line + j * from.along;
    for (int i = 0; i < VECTOR_WIDTH; ++i)
        rows[i] =
            j + i < from.n ? load_some(first + i * from.along, 1, from.readable - line) : (ACCS)0;
    transpose(rows);
    for (int i = 0; i < VECTOR_WIDTH && line + i < from.n_lines; ++i)
        LOCAL(place(to, width, panel, line + i, j)) = rows[i];
}
#endif

// Copies lines that are adjacent in memory side by side: element i of all lines, then i + 1. Lanes
// past the last line are overwritten by the next elements, or are not read.
INLINE void stage_side_by_side(local ACC *to, part from)
{
    for (int i = 0; i < from.n; ++i)
        for (int line = 0; line < from.n_lines; line += VECTOR_WIDTH)
            VSTORE(load_some(from.first + i * from.along + line, 1, from.readable - line),
                   to + i * STRIP + line);
}

// Copies the part; each line's last vector is padded with zeros.
INLINE void stage(local ACC *to, int width, long panel, part from, int lines, int wide)
{
#if VECTOR_WIDTH > 1
    if (from.along != 1 && from.across == 1) {
        for (int line = 0; line < from.n_lines; line += VECTOR_WIDTH)
            for (int j = 0; j < from.n; j += VECTOR_WIDTH)
                copy_transposed(to, width, panel, from, line, j);
        return;
    }
#endif
    for (int line = 0; line < from.n_lines; ++line) {
        fetch_line(from, line + LINES_AHEAD);
        copy_line(to, width, panel, from, line);
    }
}
#endif

// ---- prefetching

#define FETCH_PERIOD 8 // steps along k between prefetches

// Lines that an item prefetches a few at a time while it multiplies: if all requests were made at
// once, they and the multiplication would wait. In bytes.
typedef struct {
    size_t line;
    long across, next; // to the next line, and to the next panel's share
    int n, at, due;    // size of a line; position in it; requests per period
} ahead;

// n_lines lines of n bytes each from address `first`, spread over `depth` steps along k.
INLINE ahead ahead_of(size_t first, long across, int n_lines, int n, int depth)
{
    const int requests = n_lines * ((n + LINE_BYTES - 1) / LINE_BYTES);
    const int due = (requests * FETCH_PERIOD + depth - 1) / depth;
    const ahead a = {first, across, n_lines * across, n, 0, due};
    return a;
}

#define FETCH_DUE(a, FETCH)                                                                        \
    for (int i = 0; i < (a).due; ++i) {                                                            \
        FETCH((a).line + (a).at);                                                                  \
        const int at = (a).at + LINE_BYTES;                                                        \
        (a).line += at < (a).n ? 0 : (a).across;                                                   \
        (a).at = at < (a).n ? at : 0;                                                              \
    }

#define FETCH_TO_READ(p) FETCH_AHEAD(p, 2)

// Prefetches while a strip is multiplied by a panel: the panel's share of the next strip of A and
// of the next step's B, and the part of C that is written.
typedef struct {
    ahead a, b, c;
} coming;

INLINE void fetch_next(coming *next)
{
    FETCH_DUE(next->a, FETCH_TO_READ);
    FETCH_DUE(next->b, FETCH_TO_READ);
    FETCH_DUE(next->c, FETCH_TO_WRITE);
}

// ---- strip by panel

// The item's elements of a strip, and their distances.
typedef struct {
    local const ACC *at;
    int to_row, to_k;
} left_factor;

// s += strip times panel, in the item's rows x vectors; a and b point to its first elements.
#define ADD_PRODUCTS(rows, vectors, from, upto)                                                    \
    for (int l = from; l < upto; ++l) {                                                            \
        ACCS right[vectors];                                                                       \
        _Pragma("unroll") for (int v = 0; v < vectors; ++v) right[v] =                             \
            LOCAL(b + l * PANEL + v * ITEMS * VECTOR_WIDTH);                                       \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
        {                                                                                          \
            const ACCS left = (ACCS)a.at[r * a.to_row + l * a.to_k];                               \
            _Pragma("unroll") for (int v = 0; v < vectors; ++v) s[r][v] =                          \
                multiply_add(left, right[v], s[r][v]);                                             \
        }                                                                                          \
    }

// The same with sums in local memory, `pitch` from row to row. The sum of each step is added to
// those before: no sum has more terms than a step has products, or k has steps.
#define TILE(name, rows, vectors)                                                                  \
    INLINE void add_##name(local ACC *sums, int pitch, left_factor a, local const ACC *b,          \
                           int depth, bool is_first, coming next)                                  \
    {                                                                                              \
        ACCS s[rows][vectors];                                                                     \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
            _Pragma("unroll") for (int v = 0; v < vectors; ++v) s[r][v] = (ACCS)0;                 \
        for (int begin = 0; begin < depth; begin += FETCH_PERIOD) {                                \
            fetch_next(&next);                                                                     \
            const int upto = min(begin + FETCH_PERIOD, depth);                                     \
            ADD_PRODUCTS(rows, vectors, begin, upto)                                               \
        }                                                                                          \
        _Pragma("unroll") for (int r = 0; r < rows; ++r)                                           \
            _Pragma("unroll") for (int v = 0; v < vectors; ++v)                                    \
        {                                                                                          \
            local ACC *to = sums + r * pitch + v * ITEMS * VECTOR_WIDTH;                           \
            LOCAL(to) = is_first ? s[r][v] : IN_UNSIGNED(LOCAL(to), +, s[r][v]);                   \
        }                                                                                          \
    }

// An item may have fewer rows and vectors. Only a few sizes of partial tiles are compiled, to save
// compile time.
#define TILES(name, rows)                                                                          \
    TILE(name##_all, rows, VECTORS)                                                                \
    TILE(name##_one, rows, 1)                                                                      \
    INLINE void add_##name(local ACC *sums, int pitch, left_factor a, local const ACC *b,          \
                           int depth, int vectors, bool is_first, coming next)                     \
    {                                                                                              \
        if (vectors >= VECTORS) {                                                                  \
            add_##name##_all(sums, pitch, a, b, depth, is_first, next);                            \
            return;                                                                                \
        }                                                                                          \
        for (int v = 0; v < vectors; ++v)                                                          \
            add_##name##_one(sums + v * ITEMS * VECTOR_WIDTH, pitch, a,                            \
                             b + v * ITEMS * VECTOR_WIDTH, depth, is_first, next);                 \
    }

TILES(whole, ROWS)
#if ROWS > 4
TILES(four, 4)
#endif
#if ROWS > 1
TILES(single, 1)
#endif

#define ADD_PART(name, count)                                                                      \
    while (rows >= count) {                                                                        \
        add_##name(sums, pitch, a, b, depth, vectors, is_first, next);                             \
        sums += count * pitch;                                                                     \
        a.at += count * a.to_row;                                                                  \
        rows -= count;                                                                             \
    }

INLINE void add_tile(local ACC *sums, int pitch, left_factor a, local const ACC *b, int depth,
                     int rows, int vectors, bool is_first, coming next)
{
    if (rows >= ROWS) {
        add_whole(sums, pitch, a, b, depth, vectors, is_first, next);
        return;
    }
#if ROWS > 4
    ADD_PART(four, 4)
#endif
#if ROWS > 1
    ADD_PART(single, 1)
#endif
}
#endif

// ---- blocks

// The factors of one product, and the chunk of k that is summed.
typedef struct {
    global const T *A, *B;
    long a_row, a_column, b_row, b_column;
    int begin, end;
} product;

// Declares product p, for chunk z of n_batches x n_chunks; empty if z is beyond the last.
#define FIND_PRODUCT(p, z)                                                                         \
    product p;                                                                                     \
    {                                                                                              \
        const long before = (z) / n_chunks, number = first_batch + before;                         \
        const bool is_there = (z) < n_batches * n_chunks;                                          \
        p.A = A + A_start + (is_there ? batch_offset(number, loops, A_batch) : 0);                 \
        p.B = B + B_start + (is_there ? batch_offset(number, loops, B_batch) : 0);                 \
        p.begin = (int)((z)-before * n_chunks) * chunk;                                            \
        p.end = is_there ? chunk_end(p.begin, chunk, k) : p.begin;                                 \
        p.a_row = A_row;                                                                           \
        p.a_column = A_column;                                                                     \
        p.b_row = B_row;                                                                           \
        p.b_column = B_column;                                                                     \
    }

// Position and size of a block.
typedef struct {
    int row, column, n_rows, n_columns;
} block;

INLINE int depth_at(const product *p, int from)
{
    return clamp(p->end - from, 0, DEPTH);
}

#if ONE_TILE
#include "dense/matmul_tile.clh"
#else
INLINE part part_of_A(const product *p, block at, int strip, int from)
{
    const int first = at.row + strip, n_rows = at.n_rows - strip;
    const part a = {p->A + first * p->a_row + from * p->a_column,
                    min(STRIP, n_rows),
                    n_rows,
                    depth_at(p, from),
                    p->a_column,
                    p->a_row};
    return a;
}

INLINE part part_of_B(const product *p, block at, int from)
{
    const int depth = depth_at(p, from);
    const part b = {p->B + from * p->b_row + at.column * p->b_column,
                    depth,
                    depth,
                    at.n_columns,
                    p->b_column,
                    p->b_row};
    return b;
}

// Stages a strip, and finds the item's elements in it. Rows that are adjacent in memory stay side
// by side.
INLINE left_factor stage_strip(local ACC *to, part from)
{
    left_factor a = {to + get_local_id(1) * ROWS * PITCH, PITCH, 1};
#if ITEMS * ITEMS_Y == 1
    if (from.along != 1 && from.across == 1) {
        stage_side_by_side(to, from);
        a.to_row = 1;
        a.to_k = STRIP;
        return a;
    }
#endif
    stage(to, PITCH, 0, from, STRIP, DEPTH);
    return a;
}

// The prefetches for the first panel of a strip: the next strip, or the first strip of the next
// step or product; the strip's share of the next step's B; in the last step the strip's rows of C.
INLINE coming coming_at(const product *now, const product *then, const ending *e, block at,
                        int strip, int from)
{
    const bool is_last = from + DEPTH >= now->end, is_bottom = strip + STRIP >= at.n_rows;
    const product *next = is_last ? then : now;
    const int next_from = is_last ? then->begin : from + DEPTH, depth = depth_at(now, from);
    const part a =
        is_bottom ? part_of_A(next, at, 0, next_from) : part_of_A(now, at, strip + STRIP, from);
    const part b = part_of_B(next, at, next_from);
    const int n_panels = (at.n_columns + PANEL - 1) / PANEL;
    const int n_strips = (at.n_rows + STRIP - 1) / STRIP;
    // Divide outside the branch that uses the quotients: inside, LLVM 18 would need a second pass,
    // in which PoCL 6.0 ends the process.
    const int a_share = (a.n_lines + n_panels - 1) / n_panels;
    const int share = (b.n_lines + n_strips - 1) / n_strips, first = strip / STRIP * share;
    const int size = sizeof(T), c_size = sizeof(TYPE_OF(OUT));
    const bool writes = is_last && e->c_column == 1 && !e->is_chunk && !e->streams;
    coming c;
    c.a = ahead_of((size_t)a.first, a.across * size, a.along == 1 ? a_share : 0, a.n * size, depth);
    c.b = ahead_of((size_t)(b.first + first * b.across), b.across * size, b.along == 1 ? share : 0,
                   PANEL * size, depth);
    c.b.next = PANEL * size;
    c.c = ahead_of((size_t)(e->c + (at.row + strip) * e->c_row + at.column), e->c_row * c_size,
                   writes ? min(STRIP, at.n_rows - strip) : 0, PANEL * c_size, depth);
    c.c.next = PANEL * c_size;
    return c;
}

// The item's vectors in a panel that has n_columns columns.
INLINE int vectors_in(int n_columns)
{
    const int behind = n_columns - (int)get_local_id(0) * VECTOR_WIDTH;
    return behind <= 0 ? 0
                       : min(VECTORS, (behind + ITEMS * VECTOR_WIDTH - 1) / (ITEMS * VECTOR_WIDTH));
}

// Makes beta and C's stride constants if C's rows are contiguous and nothing is added.
INLINE void finish_block(local const ACC *sums, int pitch, const ending *e, block at)
{
    const bool is_plain = !e->is_chunk && e->beta == 0 && e->c_column == 1;
    ending plain = *e;
    plain.beta = 0;
    plain.c_column = 1;
    for (int r = get_local_id(1); r < at.n_rows; r += ITEMS_Y) {
        int c = get_local_id(0) * VECTOR_WIDTH;
        if (is_plain)
            for (; c + VECTOR_WIDTH <= at.n_columns; c += ITEMS * VECTOR_WIDTH)
                write_result(*(local const ACCS *)(sums + r * pitch + c), &plain, at.row + r,
                             at.column + c, VECTOR_WIDTH);
        for (; c < at.n_columns; c += ITEMS * VECTOR_WIDTH)
            finish(*(local const ACCS *)(sums + r * pitch + c), e, at.row + r, at.column + c);
    }
}
#endif

// Groups are numbered along columns, rows and products; chunks of one product are consecutive.
kernel GROUP void matmul_blocks(FACTOR(A), FACTOR(B), BATCH, ENDING,
                                BLOCKS_PARAMETERS(DECLARE, COMMA))
{
    local ACC *strip = (local ACC *)strips, *panels = (local ACC *)steps;
    const int x = get_local_id(0) * VECTOR_WIDTH, y = get_local_id(1) * ROWS;
    block at;
    at.column = get_group_id(0) * block_columns;
    at.n_columns = min(block_columns, n - at.column);
#if ONE_TILE
    const long z = get_group_id(2);
    FIND_ENDING(z, m, n)
    FIND_PRODUCT(now, z)
    at.row = get_group_id(1) * block_rows;
    at.n_rows = min(block_rows, m - at.row);
    ACCS sums[ROWS][VECTORS];
    sum_tile(sums, &now, at, strip, panels);
    finish_tile(sums, &e, at, x, y);
#else
    local ACC *block_sums = (local ACC *)sums_of_block;
    for (long z = get_group_id(2); z < n_batches * n_chunks; z += get_num_groups(2)) {
        FIND_ENDING(z, m, n)
        FIND_PRODUCT(now, z)
        FIND_PRODUCT(then, z + (long)get_num_groups(2))
        for (long top = get_group_id(1) * (long)block_rows; top < m;
             top += get_num_groups(1) * (long)block_rows) {
            at.row = (int)top;
            at.n_rows = min(block_rows, m - at.row);
            for (int from = now.begin; from < now.end; from += DEPTH) {
                const int depth = depth_at(&now, from);
                stage(panels, PANEL, DEPTH * PANEL, part_of_B(&now, at, from), DEPTH,
                      block_columns);
                for (int s = 0; s < at.n_rows; s += STRIP) {
                    const left_factor left = stage_strip(strip, part_of_A(&now, at, s, from));
                    TOGETHER;
                    coming next = coming_at(&now, &then, &e, at, s, from);
                    for (int c = 0; c < at.n_columns; c += PANEL) {
                        add_tile(block_sums + (s + y) * block_columns + c + x, block_columns, left,
                                 panels + c * DEPTH + x, depth, at.n_rows - s - y,
                                 vectors_in(at.n_columns - c), from == now.begin, next);
                        next.a.line += next.a.next;
                        next.b.line += next.b.next;
                        next.c.line += next.c.next;
                    }
                    TOGETHER;
                }
            }
            finish_block(block_sums, block_columns, &e, at);
            TOGETHER;
        }
    }
#endif
}
