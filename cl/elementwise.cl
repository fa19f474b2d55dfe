// SPDX-License-Identifier: Apache-2.0
// Y = f(X, ...), element by element: several operands, each of a type and with strides of its own.
//
// The elements are a nest of loops, the fastest first: columns, rows, and outers. Each group takes
// blocks of `columns` x `rows` at some outers. Lanes lie along columns, items of a group along
// both.
//
//   elementwise   all of it
//
// Where an operand has its neighbours along rows (a transpose), tiles of it are turned round: in
// the vectors of one item, or in local memory.
//
// The host promises: strides and offsets within buffers and, unless WIDE, within an int; groups
// along the third dimension are one item; with TILED a group is as wide as a tile.
#ifndef INPUTS // 0 to 8
#define INPUTS 2
#endif
#ifndef OUTPUTS // 1 to 4
#define OUTPUTS 1
#endif
#ifndef VALUES // 0 to 16: numbers that are arguments
#define VALUES 1
#endif
#ifndef RANK // loops that there is room for: 2, 4 or 8
#define RANK 4
#endif
#ifndef WIDE // 1: indices are long
#define WIDE 0
#endif
#ifndef VECTORS // that an item fetches before it writes one
#define VECTORS 1
#endif
#ifndef ITEMS
#define ITEMS 1
#endif
#ifndef TEAM
#define TEAM 1
#endif
#ifndef TILED
#define TILED 0
#endif

// How neighbours along columns stand in memory.
#define SAME     0 // all in one place
#define ADJACENT 1
#define STRIDED  2
#define ACROSS   3 // STRIDED, and neighbours along rows are adjacent: read in tiles

#include "types.clh"

#include "elements.clh"
#include "formula.clh"

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
#define GROUP    __attribute__((reqd_work_group_size(ITEMS, TEAM, 1)))

#define UP_TO_0(F)
#define UP_TO_1(F)  F(0)
#define UP_TO_2(F)  UP_TO_1(F) F(1)
#define UP_TO_3(F)  UP_TO_2(F) F(2)
#define UP_TO_4(F)  UP_TO_3(F) F(3)
#define UP_TO_5(F)  UP_TO_4(F) F(4)
#define UP_TO_6(F)  UP_TO_5(F) F(5)
#define UP_TO_7(F)  UP_TO_6(F) F(6)
#define UP_TO_8(F)  UP_TO_7(F) F(7)
#define UP_TO_9(F)  UP_TO_8(F) F(8)
#define UP_TO_10(F) UP_TO_9(F) F(9)
#define UP_TO_11(F) UP_TO_10(F) F(10)
#define UP_TO_12(F) UP_TO_11(F) F(11)
#define UP_TO_13(F) UP_TO_12(F) F(12)
#define UP_TO_14(F) UP_TO_13(F) F(13)
#define UP_TO_15(F) UP_TO_14(F) F(14)
#define UP_TO_16(F) UP_TO_15(F) F(15)

#define EACH_INPUT(F)  JOIN(UP_TO_, INPUTS)(F)
#define EACH_OUTPUT(F) JOIN(UP_TO_, OUTPUTS)(F)
#define EACH_VALUE(F)  JOIN(UP_TO_, VALUES)(F)

// ---- where operands stand

#define INPUT_SPOT(k)                                                                              \
    global const TYPE_OF(IN##k) * x##k;                                                            \
    INDEX x##k##_column, x##k##_row;                                                               \
    ACC x##k##_same;
#define OUTPUT_SPOT(k)                                                                             \
    global TYPE_OF(OUT##k) * y##k;                                                                 \
    INDEX y##k##_column, y##k##_row;

// The first element of a block or of a row in it, steps from there, and what is the same all along
// a row.
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

// Indices along each loop but the first two, of outer number `outer`.
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

#define INPUT_MOVED(k)  s.x##k += row * s.x##k##_row + column * s.x##k##_column;
#define OUTPUT_MOVED(k) s.y##k += row * s.y##k##_row + column * s.y##k##_column;

INLINE spot moved(spot s, INDEX row, INDEX column)
{
    EACH_INPUT(INPUT_MOVED)
    EACH_OUTPUT(OUTPUT_MOVED)
    return s;
}

#define READ_SAME_0(k) s.x##k##_same = READ_ONE(IN##k, s.x##k);
#define READ_SAME_1(k)
#define READ_SAME_2(k)
#define READ_SAME_3(k)
#define READ_SAME(k) JOIN(READ_SAME_, IN_WAY##k)(k)

// A row of a block.
INLINE spot row_at(spot s, INDEX row)
{
    s = moved(s, row, 0);
    EACH_INPUT(READ_SAME)
    return s;
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

#define FETCH_0(k) x.x##k = (ACCS)s->x##k##_same;
#define FETCH_1(k)                                                                                 \
    x.x##k = n == FOLD ? READ(IN##k, s->x##k + i) : READ_SOME(IN##k, s->x##k + i, 1, n);
#define FETCH_2(k) x.x##k = READ_SOME(IN##k, s->x##k + i * s->x##k##_column, s->x##k##_column, n);
#define FETCH_3(k) FETCH_2(k)
#define FETCH(k)   JOIN(FETCH_, IN_WAY##k)(k)

// n lanes from column i of a row on.
INLINE numbers fetched(const spot *s, INDEX i, int n)
{
    numbers x;
    x.unused = 0;
    EACH_INPUT(FETCH)
    return x;
}

#define TAKE_INPUT(k) const ACCS x##k = x.x##k;
#define TAKE_VALUE(k) const ACCS v##k = (ACCS)v->v##k;
#define PUT_1(k)                                                                                   \
    {                                                                                              \
        const ACCS y = F##k;                                                                       \
        if (n < FOLD)                                                                              \
            WRITE_SOME(OUT##k, y, s->y##k + i, 1, n);                                              \
        else if (streams)                                                                          \
            WRITE_PAST(OUT##k, y, s->y##k + i);                                                    \
        else                                                                                       \
            WRITE(OUT##k, y, s->y##k + i);                                                         \
    }
#define PUT_2(k) WRITE_SOME(OUT##k, F##k, s->y##k + i * s->y##k##_column, s->y##k##_column, n);
#define PUT(k)   JOIN(PUT_, OUT_WAY##k)(k)

INLINE void put(const spot *s, numbers x, const values *v, INDEX i, int n, bool streams)
{
    EACH_INPUT(TAKE_INPUT)
    EACH_VALUE(TAKE_VALUE)
    EACH_OUTPUT(PUT)
}

// ---- rows

#define IS_ALIGNED_1(k) (size_t)(s->y##k + i) % sizeof(VECTOR(TYPE_OF_BITS(OUT##k))) == 0 &&
#define IS_ALIGNED_2(k)
#define IS_ALIGNED(k)       JOIN(IS_ALIGNED_, OUT_WAY##k)(k)
#define TYPE_OF_BITS(dtype) JOIN(BITS_, dtype)
#define BITS_1              float
#define BITS_2              double
#define BITS_3              ushort
#define BITS_4              ushort
#define BITS_5              int
#define BITS_6              long
#define BITS_7              uchar

// Whether whole vectors may be written past the caches from column i on.
INLINE bool all_aligned(const spot *s, INDEX i)
{
    return EACH_OUTPUT(IS_ALIGNED) true;
}

// Lanes up to where the first output's vectors are aligned.
INLINE int lanes_before(const spot *s)
{
    return (int)(-((size_t)s->y0 / sizeof(TYPE_OF_BITS(OUT0))) % FOLD);
}

#if !TILED
// Whole vectors of a row, from column i on. Gives the first column that is left.
INLINE INDEX do_whole(const spot *s, const values *v, INDEX i, INDEX columns, bool streams)
{
    const INDEX step = ITEMS * FOLD;
    for (; i + (VECTORS - 1) * step + FOLD <= columns; i += VECTORS * step) {
        numbers x[VECTORS];
#pragma unroll
        for (int u = 0; u < VECTORS; u++)
            x[u] = fetched(s, i + u * step, FOLD);
#pragma unroll
        for (int u = 0; u < VECTORS; u++)
            put(s, x[u], v, i + u * step, FOLD, streams);
    }
    return i;
}

INLINE void do_row(const spot *s, const values *v, INDEX columns, bool streams)
{
    INDEX i = (INDEX)get_local_id(0) * FOLD;
#if FOLD > 1 && ITEMS == 1
    if (streams) {
        const int n = (int)min((INDEX)lanes_before(s), columns);
        if (n > 0)
            put(s, fetched(s, 0, n), v, 0, n, false);
        i = n;
        if (all_aligned(s, i))
            i = do_whole(s, v, i, columns, true);
    }
#endif
    i = do_whole(s, v, i, columns, false);
    for (; i < columns; i += ITEMS * FOLD) {
        const int n = (int)min(columns - i, (INDEX)FOLD);
        put(s, fetched(s, i, n), v, i, n, false);
    }
}

INLINE void do_block(const spot *s, const values *v, INDEX rows, INDEX columns, bool streams)
{
    for (INDEX j = get_local_id(1); j < rows; j += TEAM) {
        const spot row = row_at(*s, j);
        do_row(&row, v, columns, streams);
    }
}

#define TILES
#define TILE_NAMES
#endif

// ---- tiles, turned round in vectors

#if TILED && FOLD > 1
#include "transpose.clh"

#define TURN_0(k)
#define TURN_1(k)
#define TURN_2(k)
#define TURN_3(k)                                                                                  \
    ACCS turned##k[FOLD];                                                                          \
    for (int c = 0; c < FOLD; c++)                                                                 \
        turned##k[c] = READ(IN##k, s->x##k + c * s->x##k##_column);                                \
    transpose(turned##k);
#define TURN(k) JOIN(TURN_, IN_WAY##k)(k)

#define FETCH_TURNED_0(k) x.x##k = (ACCS)row.x##k##_same;
#define FETCH_TURNED_1(k) x.x##k = READ(IN##k, row.x##k);
#define FETCH_TURNED_2(k) x.x##k = READ_SOME(IN##k, row.x##k, row.x##k##_column, FOLD);
#define FETCH_TURNED_3(k) x.x##k = turned##k[r];
#define FETCH_TURNED(k)   JOIN(FETCH_TURNED_, IN_WAY##k)(k)

INLINE void do_tile(const spot *s, const values *v, bool streams)
{
    EACH_INPUT(TURN)
    for (int r = 0; r < FOLD; r++) {
        const spot row = row_at(*s, r);
        numbers x;
        x.unused = 0;
        EACH_INPUT(FETCH_TURNED)
        put(&row, x, v, 0, FOLD, streams);
    }
}

// What no whole tile covers: rows j to rows, from column i on.
INLINE void do_rest(const spot *s, const values *v, INDEX j, INDEX rows, INDEX i, INDEX columns)
{
    for (; j < rows; j++) {
        const spot row = row_at(*s, j);
        for (INDEX at = i; at < columns; at += FOLD) {
            const int n = (int)min(columns - at, (INDEX)FOLD);
            put(&row, fetched(&row, at, n), v, at, n, false);
        }
    }
}

#define ROW_ALIGNED_1(k) s->y##k##_row % FOLD == 0 &&
#define ROW_ALIGNED_2(k)
#define ROW_ALIGNED(k) JOIN(ROW_ALIGNED_, OUT_WAY##k)(k)

INLINE void do_block(const spot *s, const values *v, INDEX rows, INDEX columns, bool streams)
{
    const bool past = streams && EACH_OUTPUT(ROW_ALIGNED) all_aligned(s, 0);
    INDEX j = 0;
    for (; j + FOLD <= rows; j += FOLD) {
        INDEX i = 0;
        for (; i + FOLD <= columns; i += FOLD) {
            const spot tile = moved(*s, j, i);
            if (past)
                do_tile(&tile, v, true);
            else
                do_tile(&tile, v, false);
        }
        do_rest(s, v, j, j + FOLD, i, columns);
    }
    do_rest(s, v, j, rows, 0, columns);
}

#define TILES
#define TILE_NAMES
#endif

// ---- tiles, turned round in local memory

#if TILED && FOLD == 1
#define TILE_SLOT_0(k)
#define TILE_SLOT_1(k)
#define TILE_SLOT_2(k)
#define TILE_SLOT_3(k) , local ACC turned##k[ITEMS][ITEMS + 1]
#define TILE_SLOT(k)   JOIN(TILE_SLOT_, IN_WAY##k)(k)
#define TILE_MEMORY_0(k)
#define TILE_MEMORY_1(k)
#define TILE_MEMORY_2(k)
#define TILE_MEMORY_3(k) local ACC turned##k[ITEMS][ITEMS + 1];
#define TILE_MEMORY(k)   JOIN(TILE_MEMORY_, IN_WAY##k)(k)
#define TILE_NAME_0(k)
#define TILE_NAME_1(k)
#define TILE_NAME_2(k)
#define TILE_NAME_3(k) , turned##k
#define TILE_NAME(k)   JOIN(TILE_NAME_, IN_WAY##k)(k)
#define TILES          EACH_INPUT(TILE_MEMORY)
#define TILE_NAMES     EACH_INPUT(TILE_NAME)

#define LOAD_TILE_0(k)
#define LOAD_TILE_1(k)
#define LOAD_TILE_2(k)
#define LOAD_TILE_3(k)                                                                             \
    turned##k[c][x_item] =                                                                         \
        READ_ONE(IN##k, s->x##k + (i + c) * s->x##k##_column + (j + x_item) * s->x##k##_row);
#define LOAD_TILE(k) JOIN(LOAD_TILE_, IN_WAY##k)(k)

#define FETCH_TILE_0(k) x.x##k = row.x##k##_same;
#define FETCH_TILE_1(k) x.x##k = READ_ONE(IN##k, row.x##k + i + x_item);
#define FETCH_TILE_2(k) x.x##k = READ_ONE(IN##k, row.x##k + (i + x_item) * row.x##k##_column);
#define FETCH_TILE_3(k) x.x##k = turned##k[x_item][r];
#define FETCH_TILE(k)   JOIN(FETCH_TILE_, IN_WAY##k)(k)

// A tile is ITEMS x ITEMS. Lanes lie along rows while it is read, then along columns.
INLINE void do_block(const spot *s, const values *v, INDEX rows, INDEX columns,
                     bool streams EACH_INPUT(TILE_SLOT))
{
    const int x_item = get_local_id(0);
    for (INDEX j = 0; j < rows; j += ITEMS)
        for (INDEX i = 0; i < columns; i += ITEMS) {
            for (int c = get_local_id(1); c < ITEMS; c += TEAM)
                if (i + c < columns && j + x_item < rows) {
                    EACH_INPUT(LOAD_TILE)
                }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int r = get_local_id(1); r < ITEMS; r += TEAM)
                if (i + x_item < columns && j + r < rows) {
                    const spot row = row_at(*s, j + r);
                    numbers x;
                    x.unused = 0;
                    EACH_INPUT(FETCH_TILE)
                    put(&row, x, v, i + x_item, FOLD, false);
                }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
}
#endif

// ---- the kernel

#define INPUT_ARGUMENTS(k)                                                                         \
    global const TYPE_OF(IN##k) * in##k, long in##k##_start, INDICES in##k##_strides,
#define OUTPUT_ARGUMENTS(k)                                                                        \
    global TYPE_OF(OUT##k) * out##k, long out##k##_start, INDICES out##k##_strides,
#define VALUE_ARGUMENTS(k) ACC value##k,

#define INPUT_STARTS(k)                                                                            \
    s.x##k = in##k + in##k##_start;                                                                \
    s.x##k##_column = in##k##_strides.s0;                                                          \
    s.x##k##_row = in##k##_strides.s1;                                                             \
    s.x##k##_same = 0;
#define OUTPUT_STARTS(k)                                                                           \
    s.y##k = out##k + out##k##_start;                                                              \
    s.y##k##_column = out##k##_strides.s0;                                                         \
    s.y##k##_row = out##k##_strides.s1;
#define VALUE_STARTS(k)  v.v##k = value##k;
#define INPUT_OUTERS(k)  here.x##k += offset_of(at, in##k##_strides);
#define OUTPUT_OUTERS(k) here.y##k += offset_of(at, out##k##_strides);

kernel GROUP void elementwise(EACH_INPUT(INPUT_ARGUMENTS) EACH_OUTPUT(OUTPUT_ARGUMENTS)
                                  EACH_VALUE(VALUE_ARGUMENTS) INDICES extents,
                              UINDICES multipliers, UINDICES shifts, INDEX outers, INDEX rows,
                              INDEX columns, int streams)
{
    TILES
    spot s;
    values v;
    v.unused = 0;
    EACH_INPUT(INPUT_STARTS)
    EACH_OUTPUT(OUTPUT_STARTS)
    EACH_VALUE(VALUE_STARTS)
    const INDEX column = (INDEX)get_group_id(0) * columns;
    const INDEX n_columns = min(columns, extents.s0 - column);
    for (INDEX outer = get_group_id(2); outer < outers; outer += (INDEX)get_num_groups(2)) {
        INDEX at[RANK];
        spot here = s;
        find_indices(at, outer, extents, multipliers, shifts);
        EACH_INPUT(INPUT_OUTERS)
        EACH_OUTPUT(OUTPUT_OUTERS)
        for (INDEX turn = get_group_id(1); turn * rows < extents.s1;
             turn += (INDEX)get_num_groups(1)) {
            const spot block = moved(here, turn * rows, column);
            do_block(&block, &v, min(rows, extents.s1 - turn * rows), n_columns,
                     streams TILE_NAMES);
        }
    }
}
