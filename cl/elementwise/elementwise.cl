// SPDX-License-Identifier: Apache-2.0
// Y = f(X, ...), element by element: several operands, each of a type and with strides of its own.
//
// The elements are a nest of loops, the fastest first: columns, rows, and outers. Each group takes
// blocks of `columns` x `rows` at some outers. Lanes are along columns, items of a group along both
// directions.
//
//   elementwise   all of it
//
// If neighbours of an input along rows are adjacent (a transpose), it is read along rows and
// transposed: on GPUs a block at a time, in local memory, by all items of a group; on CPUs
// VECTOR_WIDTH x VECTOR_WIDTH elements at a time, in the vectors of an item.
//
// The host ensures: strides and offsets within buffers and, unless WIDE, within an int; with TILED
// and VECTOR_WIDTH 1 blocks of at most TILE x TILE; with pairs as many columns as rows, in blocks
// too.
#ifndef INPUTS // 0 to 8
#define INPUTS 2
#endif
#ifndef OUTPUTS // 1 to 4
#define OUTPUTS 1
#endif
#ifndef VALUES // 0 to 16: numbers that are arguments
#define VALUES 1
#endif
#ifndef RANK // of the loops, at most: 4 or 8
#define RANK 4
#endif
#ifndef WIDE // 1: indices are long
#define WIDE 0
#endif
#ifndef VECTORS // that an item fetches before it writes one
#define VECTORS 1
#endif
#ifndef TILED // 1: ACROSS inputs are transposed
#define TILED 0
#endif
#ifndef TILE // columns and rows of a block that is transposed in local memory, at most
#define TILE 32
#endif

#include "base/group_shape.clh"

#define TRANSPOSES_IN_LOCAL   (TILED && VECTOR_WIDTH == 1)
#define TRANSPOSES_IN_VECTORS (TILED && VECTOR_WIDTH > 1)
#define PREFETCHES            (VECTOR_WIDTH > 1 && ITEMS == 1 && !TILED) // CPUs
// CPUs: rows of one output are written past the caches from wherever its vectors are aligned.
#define SHIFTS (VECTOR_WIDTH > 1 && ITEMS == 1 && OUTPUTS == 1 && OUT_WAY0 == ADJACENT)

#define SHIFTED_VECTORS 8 // of a row: with fewer, partial vectors cost more than they save

// Neighbours along columns in memory.
#define SAME     0 // all in one place
#define ADJACENT 1
#define STRIDED  2
#define ACROSS   3 // STRIDED, and neighbours along rows are adjacent: only where TILED

#include "base/types.clh"

#include "base/each.clh"
#include "base/elements.clh"
#include "base/parameters.clh"
#include "elementwise/elementwise_parameters.h"
#include "formula/formula.clh"

// Data type (IN<k>, OUT<k>) and way (IN_WAY<k>, OUT_WAY<k>) of each operand, and the formula of
// each output (F<k>), of x0, x1, ... and v0, v1, ...
#ifndef F0
#define IN0      DTYPE_F32
#define IN1      DTYPE_F16
#define IN_WAY0  ADJACENT
#define IN_WAY1  SAME
#define OUT0     DTYPE_F32
#define OUT_WAY0 ADJACENT
#define F0       ADD(MUL(v0, x0), x1)
#endif

#if WIDE
#define INDEX  long
#define UINDEX ulong
#else
#define INDEX  int
#define UINDEX uint
#endif
#define INDICES  JOIN(INDEX, RANK)
#define UINDICES JOIN(UINDEX, RANK)

#define EACH_INPUT(F)  JOIN(UP_TO_, INPUTS)(F)
#define EACH_OUTPUT(F) JOIN(UP_TO_, OUTPUTS)(F)

// ---- addresses of operands

#if TRANSPOSES_IN_LOCAL
#define TRANSPOSED_SPOT(k) local const ACC *x##k##_transposed;
#else
#define TRANSPOSED_SPOT(k)
#endif
#define INPUT_SPOT(k)                                                                              \
    global const TYPE_OF(IN##k) * x##k;                                                            \
    INDEX x##k##_column, x##k##_row;                                                               \
    AHEAD_SPOT(k)                                                                                  \
    ACC x##k##_same;                                                                               \
    TRANSPOSED_SPOT(k)
#if PREFETCHES
#define AHEAD_SPOT(k) INDEX x##k##_ahead;
#else
#define AHEAD_SPOT(k)
#endif
#define OUTPUT_SPOT(k)                                                                             \
    global TYPE_OF(OUT##k) * y##k;                                                                 \
    INDEX y##k##_column, y##k##_row;

// Addresses of a block's, or row's, first element, and strides; of a row also its value if that is
// the SAME all along it, and its transposed copy.
typedef struct {
    EACH_INPUT(INPUT_SPOT)
    EACH_OUTPUT(OUTPUT_SPOT)
} spot;

// x / extent, by Granlund's and Montgomery's multiplication, for every x.
INLINE INDEX quotient(INDEX x, UINDEX multiplier, UINDEX shift)
{
    const UINDEX high = mul_hi((UINDEX)x, multiplier);
    const UINDEX first = shift < 1 ? shift : 1;
    return (INDEX)(((((UINDEX)x - high) >> first) + high) >> (shift - first));
}

// Indices of outer number `outer` along each loop but the first two.
INLINE void find_indices(INDEX at[RANK], INDEX outer, INDICES extents, UINDICES multipliers,
                         UINDICES shifts)
{
    INDEX extent[RANK];
    UINDEX multiplier[RANK], shift[RANK];
    JOIN(vstore, RANK)(extents, 0, extent);
    JOIN(vstore, RANK)(multipliers, 0, multiplier);
    JOIN(vstore, RANK)(shifts, 0, shift);
    for (int d = 2; d < RANK; d++) {
        const INDEX next = quotient(outer, multiplier[d], shift[d]);
        at[d] = outer - next * extent[d];
        outer = next;
    }
}

INLINE INDEX offset_of(const INDEX at[RANK], INDICES strides)
{
    INDEX stride[RANK], offset = 0;
    JOIN(vstore, RANK)(strides, 0, stride);
    for (int d = 2; d < RANK; d++)
        offset += at[d] * stride[d];
    return offset;
}

#define MOVE_INPUT(k)  s->x##k += row * s->x##k##_row + column * s->x##k##_column;
#define MOVE_OUTPUT(k) s->y##k += row * s->y##k##_row + column * s->y##k##_column;

// Changes *s: see types.clh.
INLINE void move(spot *s, INDEX row, INDEX column)
{
    EACH_INPUT(MOVE_INPUT)
    EACH_OUTPUT(MOVE_OUTPUT)
}

// Elements of a transposed row in local memory; the additional one avoids bank conflicts.
#define PITCH (TILE + 1)

#define TAKE_ROW_0(k) s->x##k##_same = READ_ONE(IN##k, s->x##k);
#define TAKE_ROW_1(k)
#define TAKE_ROW_2(k)
#if TRANSPOSES_IN_LOCAL
#define TAKE_ROW_3(k) s->x##k##_transposed += row * PITCH;
#else
#define TAKE_ROW_3(k)
#endif
#define TAKE_ROW(k) JOIN(TAKE_ROW_, IN_WAY##k)(k)

// From a block's first row to another.
INLINE void move_to_row(spot *s, INDEX row)
{
    move(s, row, 0);
    EACH_INPUT(TAKE_ROW)
}

// ---- a vector of each operand

#define INPUT_NUMBERS(k) ACCS x##k;
typedef struct {
    EACH_INPUT(INPUT_NUMBERS)
    char unused;
} numbers;

#define VALUE_NUMBERS(k) ACC v##k;
typedef struct {
    EACH_VALUE(VALUE_NUMBERS)
    char unused;
} values;

#if !TRANSPOSES_IN_VECTORS
#define FETCH_0(k) x->x##k = (ACCS)s->x##k##_same;
#define FETCH_1(k)                                                                                 \
    x->x##k = n == VECTOR_WIDTH ? READ(IN##k, s->x##k + i) : READ_SOME(IN##k, s->x##k + i, 1, n);
#define FETCH_2(k) x->x##k = READ_SOME(IN##k, s->x##k + i * s->x##k##_column, s->x##k##_column, n);
#define FETCH_3(k) x->x##k = s->x##k##_transposed[i];
#define FETCH(k)   JOIN(FETCH_, IN_WAY##k)(k)

// n lanes from column i of a row on.
INLINE void fetch(numbers *x, const spot *s, INDEX i, int n)
{
    x->unused = 0;
    EACH_INPUT(FETCH)
}
#endif

#define TAKE_INPUT(k)                                                                              \
    const ACCS x##k = x->x##k;                                                                     \
    (void)x##k;
#define TAKE_VALUE(k)                                                                              \
    const ACCS v##k = (ACCS)v->v##k;                                                               \
    (void)v##k;
#define PUT_1(k)                                                                                   \
    {                                                                                              \
        const ACCS y = F##k;                                                                       \
        if (n < VECTOR_WIDTH)                                                                      \
            WRITE_SOME(OUT##k, y, s->y##k + i, 1, n);                                              \
        else if (streams)                                                                          \
            WRITE_PAST(OUT##k, y, s->y##k + i);                                                    \
        else                                                                                       \
            WRITE(OUT##k, y, s->y##k + i);                                                         \
    }
#define PUT_2(k) WRITE_SOME(OUT##k, F##k, s->y##k + i * s->y##k##_column, s->y##k##_column, n);
#define PUT(k)   JOIN(PUT_, OUT_WAY##k)(k)

INLINE void put(const spot *s, const numbers *x, const values *v, INDEX i, int n, bool streams)
{
    EACH_INPUT(TAKE_INPUT)
    EACH_VALUE(TAKE_VALUE)
    EACH_OUTPUT(PUT)
}

// ---- prefetching

#if PREFETCHES
#define BYTES_AHEAD 4096
#define LONG_ROWS   16 // times as long as that: useless requests past their end do not matter

// Distance from an element to the one to prefetch, BYTES_AHEAD, or n elements, later: in the row
// or, if rows are short and apart, in the same place of another row.
INLINE INDEX elements_ahead(INDEX n, INDEX rows, INDEX columns, INDEX row)
{
    if (rows == 1 || row == columns || columns >= LONG_ROWS * n)
        return n;
    return min((n + columns - 1) / columns, rows - 1) * row;
}

#define FIND_AHEAD(k)                                                                              \
    s->x##k##_ahead =                                                                              \
        elements_ahead(BYTES_AHEAD / (int)sizeof(*s->x##k), rows, columns, s->x##k##_row);

INLINE void look_ahead(spot *s, INDEX rows, INDEX columns)
{
    EACH_INPUT(FIND_AHEAD)
}

#define READ_BYTES_0(k)
#define READ_BYTES_1(k) +(int)sizeof(TYPE_OF(IN##k))
#define READ_BYTES_2(k)
#define READ_BYTES(k)    JOIN(READ_BYTES_, IN_WAY##k)(k)
#define WRITTEN_BYTES(k) +(int)sizeof(TYPE_OF(OUT##k))

#define PREFETCH_0(k)
#define PREFETCH_1(k)                                                                              \
    FETCH_AHEAD((size_t)(s->x##k + i) + (size_t)s->x##k##_ahead * sizeof(*s->x##k), 2);
#define PREFETCH_2(k)
#define PREFETCH(k) JOIN(PREFETCH_, IN_WAY##k)(k)

// Beside writes past the caches, CPUs prefetch too little themselves. If more is written than read,
// prefetching costs more than it saves.
INLINE void prefetch_inputs(const spot *s, INDEX i)
{
    if (0 EACH_INPUT(READ_BYTES) >= 0 EACH_OUTPUT(WRITTEN_BYTES)) {
        EACH_INPUT(PREFETCH)
    }
}
#else
#define prefetch_inputs(s, i) (void)0
#endif

// ---- rows

#define IS_ALIGNED_1(k) (size_t)(s->y##k + i) % sizeof(VECTOR(BITS_OF(OUT##k))) == 0 &&
#define IS_ALIGNED_2(k)
#define IS_ALIGNED(k) JOIN(IS_ALIGNED_, OUT_WAY##k)(k)

// Whether whole vectors may be written past the caches from column i on.
INLINE bool all_aligned(const spot *s, INDEX i)
{
    return EACH_OUTPUT(IS_ALIGNED) true;
}

#if SHIFTS
// Lanes before the output's vectors are aligned.
INLINE int lanes_before(const spot *s)
{
    return (int)(-((size_t)s->y0 / sizeof(BITS_OF(OUT0))) % VECTOR_WIDTH);
}
#endif

#define ROWS_ALIGNED_1(k) s->y##k##_row % VECTOR_WIDTH == 0 &&
#define ROWS_ALIGNED_2(k)
#define ROWS_ALIGNED(k) JOIN(ROWS_ALIGNED_, OUT_WAY##k)(k)

// The same for every row.
INLINE bool rows_aligned(const spot *s)
{
    return EACH_OUTPUT(ROWS_ALIGNED) all_aligned(s, 0);
}

#if !TRANSPOSES_IN_VECTORS
INLINE void do_vector(const spot *s, const values *v, INDEX i, int n, bool streams)
{
    numbers x;
    fetch(&x, s, i, n);
    put(s, &x, v, i, n, streams);
}

// Columns of a row from the i-th on: several vectors at a time, then one, then a partial one.
INLINE void do_columns(const spot *s, const values *v, INDEX i, INDEX columns, bool streams)
{
    const INDEX step = ALONG_COLUMNS * VECTOR_WIDTH;
#if VECTORS > 1
    for (; i + (VECTORS - 1) * step + VECTOR_WIDTH <= columns; i += VECTORS * step) {
        numbers x[VECTORS];
#pragma unroll
        for (int u = 0; u < VECTORS; u++) {
            if (streams)
                prefetch_inputs(s, i + u * step);
            fetch(&x[u], s, i + u * step, VECTOR_WIDTH);
        }
#pragma unroll
        for (int u = 0; u < VECTORS; u++)
            put(s, &x[u], v, i + u * step, VECTOR_WIDTH, streams);
    }
#endif
    for (; i + VECTOR_WIDTH <= columns; i += step) {
        if (streams)
            prefetch_inputs(s, i);
        do_vector(s, v, i, VECTOR_WIDTH, streams);
    }
    if (VECTOR_WIDTH > 1 && i < columns)
        do_vector(s, v, i, (int)(columns - i), false);
}

// Rows of a block, each from an aligned column on.
INLINE void do_rows(const spot *s, const values *v, INDEX rows, INDEX columns, bool streams)
{
    for (INDEX j = get_local_id(1); j < rows; j += ALONG_ROWS) {
        spot row = *s;
        move_to_row(&row, j);
        do_columns(&row, v, (INDEX)get_local_id(0) * VECTOR_WIDTH, columns, streams);
    }
}

#if PREFETCHES && SHIFTS
// Rows of any alignment: a partial vector comes before aligned ones.
INLINE void do_shifted_rows(const spot *s, const values *v, INDEX rows, INDEX columns)
{
    for (INDEX j = get_local_id(1); j < rows; j += ALONG_ROWS) {
        spot row = *s;
        move_to_row(&row, j);
        const int n = (int)min((INDEX)lanes_before(&row), columns);
        if (n > 0)
            do_vector(&row, v, 0, n, false);
        do_columns(&row, v, n, columns, true);
    }
}
#endif

// Past the caches if all outputs' vectors are aligned, from the start of each row or, in long rows
// of one output, after a partial vector.
INLINE void do_block(const spot *s, const values *v, INDEX rows, INDEX columns, bool streams)
{
#if PREFETCHES
    spot ahead = *s;
    look_ahead(&ahead, rows, columns);
    if (streams && rows_aligned(s)) {
        do_rows(&ahead, v, rows, columns, true);
        return;
    }
#if SHIFTS
    if (streams && columns >= SHIFTED_VECTORS * VECTOR_WIDTH) {
        do_shifted_rows(&ahead, v, rows, columns);
        return;
    }
#endif
#endif
    do_rows(s, v, rows, columns, false);
}
#endif

#if TRANSPOSES_IN_VECTORS
#include "base/tiles.clh"
#endif

// ---- blocks in local memory

#if TRANSPOSES_IN_LOCAL
#define MEMORY_0(k)
#define MEMORY_1(k)
#define MEMORY_2(k)
#define MEMORY_3(k) local ACC transposed##k[TILE * PITCH];
#define MEMORY(k)   JOIN(MEMORY_, IN_WAY##k)(k)

#define PLACE_0(k) s.x##k##_transposed = 0;
#define PLACE_1(k) s.x##k##_transposed = 0;
#define PLACE_2(k) s.x##k##_transposed = 0;
#define PLACE_3(k) s.x##k##_transposed = transposed##k;
#define PLACE(k)   JOIN(PLACE_, IN_WAY##k)(k)

#define STAGE_0(k)
#define STAGE_1(k)
#define STAGE_2(k)
#define STAGE_3(k)                                                                                 \
    for (INDEX i = get_local_id(1); i < columns; i += ITEMS_Y)                                     \
        for (INDEX j = get_local_id(0); j < rows; j += ITEMS)                                      \
            transposed##k[j * PITCH + i] = READ_ONE(IN##k, s->x##k + i * s->x##k##_column + j);
#define STAGE(k) JOIN(STAGE_, IN_WAY##k)(k)

#define MEMORY_ARGUMENT_0(k)
#define MEMORY_ARGUMENT_1(k)
#define MEMORY_ARGUMENT_2(k)
#define MEMORY_ARGUMENT_3(k) , local ACC *transposed##k
#define MEMORY_ARGUMENT(k)   JOIN(MEMORY_ARGUMENT_, IN_WAY##k)(k)
#define MEMORY_NAME_0(k)
#define MEMORY_NAME_1(k)
#define MEMORY_NAME_2(k)
#define MEMORY_NAME_3(k) , transposed##k
#define MEMORY_NAME(k)   JOIN(MEMORY_NAME_, IN_WAY##k)(k)

INLINE void stage_block(const spot *s, INDEX rows, INDEX columns EACH_INPUT(MEMORY_ARGUMENT))
{
    EACH_INPUT(STAGE)
}
#else
#define MEMORY(k)
#define PLACE(k)
#endif

// ---- the kernel

// Neighbouring groups have neighbouring blocks in memory: of the output, or of inputs that are read
// along rows.
#define COLUMNS_GRID (TILED ? 1 : 0)
#define ROWS_GRID    (TILED ? 0 : 1)

#define INPUT_ARGUMENTS(k)  VIEW_PARAMETERS(DECLARE, COMMA, IN(TYPE_OF(IN##k)), in##k) COMMA
#define OUTPUT_ARGUMENTS(k) VIEW_PARAMETERS(DECLARE, COMMA, OUT(TYPE_OF(OUT##k)), out##k) COMMA
#define VALUE_ARGUMENTS(k)  VALUE_PARAMETERS(DECLARE, COMMA, k) COMMA

#define INPUT_STARTS(k)                                                                            \
    s.x##k = in##k + in##k##_start;                                                                \
    s.x##k##_column = in##k##_strides.s0;                                                          \
    s.x##k##_row = in##k##_strides.s1;                                                             \
    s.x##k##_same = 0;                                                                             \
    PLACE(k)
#define OUTPUT_STARTS(k)                                                                           \
    s.y##k = out##k + out##k##_start;                                                              \
    s.y##k##_column = out##k##_strides.s0;                                                         \
    s.y##k##_row = out##k##_strides.s1;
#define VALUE_STARTS(k)  v.v##k = value##k;
#define INPUT_OUTERS(k)  here.x##k += offset_of(at, in##k##_strides);
#define OUTPUT_OUTERS(k) here.y##k += offset_of(at, out##k##_strides);

kernel GROUP void elementwise(EACH_INPUT(INPUT_ARGUMENTS) EACH_OUTPUT(OUTPUT_ARGUMENTS)
                                  EACH_VALUE(VALUE_ARGUMENTS) SHAPE_PARAMETERS(DECLARE, COMMA))
{
    EACH_INPUT(MEMORY)
    spot s;
    values v;
    v.unused = 0;
    EACH_INPUT(INPUT_STARTS)
    EACH_OUTPUT(OUTPUT_STARTS)
    EACH_VALUE(VALUE_STARTS)
    for (INDEX outer = get_group_id(2); outer < outers; outer += (INDEX)get_num_groups(2)) {
        INDEX at[RANK];
        spot here = s;
        find_indices(at, outer, extents, multipliers, shifts);
        EACH_INPUT(INPUT_OUTERS)
        EACH_OUTPUT(OUTPUT_OUTERS)
#if TRANSPOSES_IN_VECTORS && SHIFTS
        const bool is_shifted = streams && !pairs && !rows_aligned(&here) &&
                                min(columns, extents.s0) >= SHIFTED_VECTORS * VECTOR_WIDTH;
#endif
        for (INDEX x = get_group_id(COLUMNS_GRID); x < n_x;
             x += (INDEX)get_num_groups(COLUMNS_GRID))
            for (INDEX y = get_group_id(ROWS_GRID); y < n_y;
                 y += (INDEX)get_num_groups(ROWS_GRID)) {
                spot block = here;
                move(&block, y * rows, x * columns);
                const INDEX n_rows = min(rows, extents.s1 - y * rows);
                const INDEX n_columns = min(columns, extents.s0 - x * columns);
#if TRANSPOSES_IN_VECTORS
                if (pairs && x != y) {
                    spot image = here;
                    move(&image, x * rows, y * columns);
                    if (x > y)
                        do_tiles(&block, &image, &v, n_rows, n_columns, streams, true);
                    continue;
                }
#if SHIFTS
                if (is_shifted)
                    do_shifted_tiles(&block, &v, n_rows, n_columns, x * columns,
                                     extents.s0 - x * columns - n_columns);
                else
#endif
                    do_tiles(&block, &block, &v, n_rows, n_columns, streams, false);
#else
#if TRANSPOSES_IN_LOCAL
                stage_block(&block, n_rows, n_columns EACH_INPUT(MEMORY_NAME));
                WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
#endif
                do_block(&block, &v, n_rows, n_columns, streams);
#if TRANSPOSES_IN_LOCAL
                WAIT_FOR_ALL(CLK_LOCAL_MEM_FENCE);
#endif
#endif
            }
    }
}
