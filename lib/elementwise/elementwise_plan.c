// SPDX-License-Identifier: Apache-2.0
// How an elementwise operation is divided into blocks and groups: limits and a problem to a tiling.
#include "elementwise/elementwise_plan.h"

#include <inttypes.h>

#include <weft/elementwise.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/fail.h"
#include "base/groups.h"
#include "base/lanes.h"
#include "base/refuse.h"
#include "base/tiling_given.h"

enum { MAX_VECTOR_WIDTH = 16, MAX_VECTORS = 8 };

// CPUs: an item has whole vectors.
enum {
    VECTORIZED_VECTORS = 1,      // fetched before one is written
    BLOCK_BYTES = 1 << 18,       // of all operands: enough to hide a group's overhead
    FAIR_GROUPS = 16,            // for each core: they balance the load on a shared machine
    LEAST_BLOCK_BYTES = 1 << 13, // but no smaller for that
    TILED_LINES = 256,           // of a transposed block, in each direction
    MORE_TILED_LINES = 512,      // of one if L2 is large
    LARGE_L2_BYTES = 1 << 21,    // as measured: 1 MiB is not
    LEAST_TILED_LINES = 32,      // fewer, if cores would be idle
    NARROW_ROWS = 4,             // fewer are not worth tiles
};

// GPUs: an item is a lane.
enum {
    SPREAD_ITEMS = 256, // of a group
    SPREAD_LEAST = 2,   // one alone has a program of its own, as on CPUs
    SPREAD_VECTORS = 4, // loads in flight for each item
    SPREAD_BYTES = 4,   // that an item writes at a time, if possible
    SPREAD_TILE = 32,   // lines of a tile in local memory
    SPREAD_ITEMS_Y = 8, // items that share one of its columns
};

// Names of refused variants.
static const char TILES[] = "tiles", ALIGNED[] = "aligned vectors";

// A lenient view of the problem: extents and sizes at least 1.
typedef struct {
    int64_t columns, rows, outers, element_bytes, out_bytes, number_bytes, n_across;
    bool aligned;
    const weft_why *why;
} facts;

static facts facts_of(const weft_elementwise_problem *problem)
{
    return (facts){
        .columns = max_i64(problem->columns, 1),
        .rows = max_i64(problem->rows, 1),
        .outers = max_i64(problem->outers, 1),
        .element_bytes = max_i64(problem->element_bytes, 1),
        .out_bytes = max_i64(problem->out_bytes, 1),
        .number_bytes = problem->number_bytes > 4 ? 8 : 4,
        .n_across = min_i64(max_i64(problem->n_across, 0), WEFT_ELEMENTWISE_INPUTS),
        .aligned = problem->aligned,
        .why = problem->why,
    };
}

static void set_grid(weft_elementwise_tiling *t, const facts *f)
{
    const int64_t first = INT32_MAX / 2; // devices allow more groups in their first dimension
    t->grid_x = min_i64(ceil_div(f->columns, t->columns), t->tiled ? WEFT_MOST_GROUPS : first);
    t->grid_y = min_i64(ceil_div(f->rows, t->rows), t->tiled ? first : WEFT_MOST_GROUPS);
    t->grid_z = min_i64(f->outers, WEFT_MOST_GROUPS);
}

// ---- CPUs: groups are one item

// The widest vector, vectors of 4, or single elements: each vector width is a program.
static int vectorized_vector_width(const weft_limits *limits, const facts *f, int64_t most)
{
    int64_t vector_width = min_i64(limits->vector_width, MAX_VECTOR_WIDTH);
    while (vector_width > 1 && vector_width * f->number_bytes > max_i64(limits->load_bytes, 16))
        vector_width /= 2;
    return (int)(vector_width <= most ? vector_width : most >= 4 && vector_width > 4 ? 4 : 1);
}

// Of a block: fewer than `most` if cores would be idle.
static int64_t block_elements(const weft_limits *limits, const facts *f, int64_t most)
{
    const double all = (double)f->columns * (double)f->rows * (double)f->outers;
    const double each = all / ((double)limits->compute_units * FAIR_GROUPS);
    const int64_t least = ceil_div(LEAST_BLOCK_BYTES, f->element_bytes);
    return each > (double)most ? most : max_i64((int64_t)each, least);
}

static weft_elementwise_tiling vectorized_tiling(const weft_limits *limits, const facts *f)
{
    const int vector_width = vectorized_vector_width(limits, f, f->columns);
    const int64_t elements = block_elements(limits, f, ceil_div(BLOCK_BYTES, f->element_bytes));
    weft_elementwise_tiling t = {
        .vector_width = vector_width, .vectors = VECTORIZED_VECTORS, .items = 1, .items_y = 1};
    const int64_t step = (int64_t)vector_width * t.vectors;
    t.columns = f->columns <= elements + step ? f->columns : elements / step * step;
    t.columns = max_i64(t.columns, min_i64(step, f->columns));
    t.rows = min_i64(max_i64(elements / t.columns, 1), f->rows);
    set_grid(&t, f);
    return t;
}

static int64_t most_tiled_lines(const weft_limits *limits)
{
    return weft_caches_of(limits).l2_bytes >= LARGE_L2_BYTES ? MORE_TILED_LINES : TILED_LINES;
}

static weft_elementwise_tiling vectorized_tiles(const weft_limits *limits, const facts *f)
{
    const int64_t lines = most_tiled_lines(limits);
    weft_elementwise_tiling t = {
        .vector_width = vectorized_vector_width(limits, f, min_i64(f->columns, f->rows)),
        .vectors = VECTORIZED_VECTORS,
        .items = 1,
        .items_y = 1,
        .tiled = true,
        .columns = lines,
        .rows = lines,
    };
    const int64_t elements = block_elements(limits, f, lines * lines);
    while (t.rows > LEAST_TILED_LINES && t.rows * t.columns > elements)
        t.columns = t.rows /= 2;
    set_grid(&t, f);
    return t;
}

// ---- GPUs

static int64_t most_items(const weft_limits *limits, int dimension)
{
    const size_t most = limits->max_items < limits->max_items_along[dimension]
                            ? limits->max_items
                            : limits->max_items_along[dimension];
    return pow2_down(min_i64(clamped_i64(most), limits->max_block));
}

static int64_t group_items(const weft_limits *limits)
{
    const int64_t most = min_i64(clamped_i64(limits->max_items), limits->max_block);
    return min_i64(pow2_down(most), SPREAD_ITEMS);
}

// Of blocks that are transposed in local memory; one additional element avoids bank conflicts.
static int64_t tile_bytes(const facts *f, const weft_elementwise_tiling *t)
{
    return f->n_across * t->rows * (t->columns + 1) * f->number_bytes;
}

static weft_elementwise_tiling spread_tiles(const weft_limits *limits, const facts *f)
{
    const int64_t group = group_items(limits);
    weft_elementwise_tiling t = {.vector_width = 1, .vectors = 1, .tiled = true};
    int64_t lines = min_i64(SPREAD_TILE, most_items(limits, 0));
    t.columns = t.rows = lines;
    for (; lines > 1 && tile_bytes(f, &t) > clamped_i64(limits->local_bytes); lines /= 2)
        t.columns = t.rows = lines / 2;
    t.items = (int)lines;
    t.items_y = (int)max_i64(
        min_i64(min_i64(min_i64(SPREAD_ITEMS_Y, lines), group / lines), most_items(limits, 1)), 1);
    set_grid(&t, f);
    return t;
}

static weft_elementwise_tiling spread_tiling(const weft_limits *limits, const facts *f)
{
    const int64_t group = group_items(limits);
    weft_elementwise_tiling t = {.vector_width = 1, .vectors = SPREAD_VECTORS};
    if (f->aligned && f->columns % 4 == 0)
        t.vector_width = (int)min_i64(max_i64(SPREAD_BYTES / f->out_bytes, 1), 4);
    if (t.vector_width == 1)
        refuse(f->why, ALIGNED,
               "%" PRId64 " columns, %s, of %" PRId64 " bytes: an item writes %d at a time",
               f->columns, f->aligned ? "aligned" : "not all aligned", f->out_bytes, SPREAD_BYTES);
    t.aligned = t.vector_width > 1;
    const int64_t needed = ceil_div(f->columns, t.vector_width);
    const int64_t wanted = max_i64(pow2_up(needed), SPREAD_LEAST);
    t.items = (int)min_i64(min_i64(wanted, group), most_items(limits, 0));
    t.items_y = (int)min_i64(min_i64(pow2_up(f->rows), group / t.items), most_items(limits, 1));
    t.columns = (int64_t)t.items * t.vector_width * t.vectors;
    t.rows = max_i64(t.items_y, ceil_div(f->rows, WEFT_MOST_GROUPS));
    set_grid(&t, f);
    return t;
}

// ---- choosing

static bool tiles_pay(const facts *f)
{
    if (f->n_across == 0)
        return refuse(f->why, TILES, "no input has its neighbours along rows");
    return (f->columns >= NARROW_ROWS && f->rows >= NARROW_ROWS) ||
           refuse(f->why, TILES,
                  "there are %" PRId64 " columns and %" PRId64 " rows: %d each are wanted",
                  f->columns, f->rows, NARROW_ROWS);
}

weft_elementwise_tiling weft_elementwise_tiling_for(const weft_limits *limits,
                                                    const weft_elementwise_problem *problem)
{
    const facts f = facts_of(problem);
    const bool wants_tiles = tiles_pay(&f);
    if (weft_lanes_are_vectors(limits, problem->why) || limits->max_items_y == 1) {
        const weft_elementwise_tiling t = vectorized_tiles(limits, &f);
        const bool has_tiles =
            wants_tiles &&
            (t.vector_width > 1 ||
             refuse(problem->why, TILES, "they require vectors, of %" PRId64 " columns and rows",
                    min_i64(f.columns, f.rows)));
        return has_tiles ? t : vectorized_tiling(limits, &f);
    }
    if (wants_tiles) {
        const weft_elementwise_tiling t = spread_tiles(limits, &f);
        if (t.columns >= NARROW_ROWS)
            return t;
        refuse(problem->why, TILES, "%zu bytes of local memory hold lines of %" PRId64,
               limits->local_bytes, t.columns);
    }
    return spread_tiling(limits, &f);
}

static weft_status range_check(const char *name, int64_t value, int64_t most)
{
    if (value < 1 || value > most)
        return fail(WEFT_BAD_ARGUMENT,
                    "elementwise: tiling.%s is %" PRId64 ", not from 1 to %" PRId64, name, value,
                    most);
    return WEFT_OK;
}

static weft_status power_check(const char *name, int64_t value, int64_t most)
{
    TRY(range_check(name, value, most));
    if ((value & (value - 1)) != 0)
        return fail(WEFT_BAD_ARGUMENT, "elementwise: tiling.%s is %" PRId64 ", no power of two",
                    name, value);
    return WEFT_OK;
}

// In vectors a tile is one item's, otherwise blocks are transposed in local memory.
static weft_status tiles_check(const weft_elementwise_tiling *t, const weft_limits *limits,
                               const facts *f)
{
    if (t->vector_width > 1 && (t->items > 1 || t->items_y > 1))
        return fail(WEFT_BAD_ARGUMENT,
                    "elementwise: tiling is %d x %d items; tiles in vectors are one item's",
                    t->items, t->items_y);
    if (t->vector_width > 1)
        return WEFT_OK;
    TRY(power_check("columns", t->columns, WEFT_ELEMENTWISE_TILE));
    if (t->rows != t->columns)
        return fail(WEFT_BAD_ARGUMENT,
                    "elementwise: tiling.rows is %" PRId64 ", tiling.columns %" PRId64
                    ": tiles in local memory require the same",
                    t->rows, t->columns);
    if ((uint64_t)tile_bytes(f, t) > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "elementwise: %" PRId64 " blocks of %" PRId64 " x %" PRId64 " take %" PRId64
                    " bytes of local memory, there are %zu",
                    f->n_across, t->columns, t->rows, tile_bytes(f, t), limits->local_bytes);
    return WEFT_OK;
}

weft_status weft_elementwise_tiling_check(const weft_elementwise_tiling *tiling,
                                          const weft_limits *limits,
                                          const weft_elementwise_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "elementwise"));
    const facts f = facts_of(problem);
    TRY(power_check("vector_width", tiling->vector_width, MAX_VECTOR_WIDTH));
    TRY(power_check("vectors", tiling->vectors, MAX_VECTORS));
    TRY(power_check("items", tiling->items, clamped_i64(limits->max_items_along[0])));
    TRY(power_check("items_y", tiling->items_y, clamped_i64(limits->max_items_along[1])));
    TRY(range_check("items x items_y", (int64_t)tiling->items * tiling->items_y,
                    clamped_i64(limits->max_items)));
    TRY(range_check("columns", tiling->columns, INT64_MAX));
    TRY(range_check("rows", tiling->rows, INT64_MAX));
    TRY(range_check("grid_x", tiling->grid_x, INT32_MAX));
    TRY(range_check("grid_y", tiling->grid_y, INT32_MAX));
    TRY(range_check("grid_z", tiling->grid_z, WEFT_MOST_GROUPS));
    if (tiling->aligned && !f.aligned)
        return fail(WEFT_BAD_ARGUMENT, "elementwise: tiling.aligned is set, the operands are not");
    if (tiling->aligned && tiling->vector_width > 4)
        return fail(WEFT_BAD_ARGUMENT,
                    "elementwise: tiling.aligned is set, and tiling.vector_width is %d: up to 4",
                    tiling->vector_width);
    if (tiling->aligned && tiling->columns % tiling->vector_width != 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "elementwise: tiling.columns is %" PRId64
                    ", no multiple of tiling.vector_width %d",
                    tiling->columns, tiling->vector_width);
    return tiling->tiled ? tiles_check(tiling, limits, &f) : WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_elementwise_tiling, vector_width),
    TILING_FIELD(weft_elementwise_tiling, vectors),
    TILING_FIELD(weft_elementwise_tiling, items),
    TILING_FIELD(weft_elementwise_tiling, items_y),
    TILING_FIELD(weft_elementwise_tiling, tiled),
    TILING_FIELD(weft_elementwise_tiling, aligned),
    TILING_FIELD(weft_elementwise_tiling, columns),
    TILING_FIELD(weft_elementwise_tiling, rows),
    TILING_FIELD(weft_elementwise_tiling, grid_x),
    TILING_FIELD(weft_elementwise_tiling, grid_y),
    TILING_FIELD(weft_elementwise_tiling, grid_z),
};

const weft_tiling_table weft_elementwise_tiling_table = TILING_TABLE(fields);

int weft_elementwise_tiling_print(const weft_elementwise_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_elementwise_tiling_table, tiling, text, size);
}
