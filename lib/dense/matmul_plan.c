// SPDX-License-Identifier: Apache-2.0
// How a dense product is cut into blocks and groups: limits and a problem to a tiling.
#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/lanes.h"
#include "base/refuse.h"
#include "dense/matmul_tiling.h"
#include "operand/view.h"

enum { FEW_TERMS = 8 }; // k up to which sums of rows are better than blocks

// CPUs: an item has whole vectors.
enum {
    MAX_VECTOR_WIDTH = 16,
    VECTORIZED_TASKS = 2, // groups for each core
    // Blocks:
    VECTORIZED_VECTORS = 2,  // of a tile
    VECTORIZED_DEPTH = 1024, // bytes of a row of A in one step
    VECTORIZED_PANELS = 4,   // of a block, per copy of a strip of A
    VECTORIZED_STRIPS = 48,  // of a block, per copy of a panel of B
    LEAST_STRIPS = 4,        // with fewer, copying B takes longer than multiplying
    CELL_STRIPS = 8,         // of a block, before k is divided instead of C
    VECTORIZED_CHUNK = 1024, // shortest chunk of k
    // Direct. A step adds a vector of products, in a cycle or so.
    DIRECT_TASKS = 16,      // groups for each core at most,
    DIRECT_FINE_TASKS = 64, // more if L2 has B for all of them: they end at about the same time
    DIRECT_STEPS = 1 << 12, // least steps of a group: about a microsecond
    DIRECT_L2S = 4,         // size of all factors and C, in L2 caches, up to which they are near
    // A second core takes tens of microseconds to wake up. Fewer steps are one group:
    ALONE_STEPS = 1 << 15,
    ALONE_READS = 1 << 12, // the same for vectors of the larger factor, each of which is read once
    // Rows: sums of SPAN_ROWS rows and SPAN_VECTORS vectors stay in the nearest cache.
    SPAN_ROWS = 8,
    SPAN_VECTORS = 32,
    SPAN_CHUNK = 256,
    // Dots:
    DOT_ROWS = 2,     // of A at a time
    DOT_BLOCK = 1024, // columns of a group at most
    DOT_CHUNK = 4096,
    // Thin: few columns as one vector, in place of dots. Most terms, for 8, 4 to 7, and 2 or 3:
    THIN_TERMS_OF_8 = 2048,
    THIN_TERMS_OF_4 = 256,
    THIN_TERMS_OF_2 = 64,
};

// GPUs: an item is a lane.
enum {
    SPREAD_VECTOR_WIDTH = 4, // widest vector in one load, in elements
    // Blocks:
    SPREAD_ITEMS = 256,  // of a group
    SPREAD_SIDE = 16,    // of them along rows and along columns
    SPREAD_ROWS = 4,     // of an item; twice as many if there are enough blocks
    SPREAD_FEW_ROWS = 4, // of an item that takes whole rows: more need too many sums
    SPREAD_DEPTH = 16,   // half as much in large blocks: an item reads as much in a step
    SPREAD_RESIDENT = 2, // groups of large blocks that run on a compute unit at once
    SPREAD_EIGHTHS = 3,  // large blocks per small block, at most: two eighths would be no loss
    SPREAD_CHUNK = 128,
    SPREAD_CUT = 1024,   // least k that is divided: a few chunks cost more than they save
    SPREAD_TERMS = 8192, // longest sum in registers, if scratch memory of
    SPREAD_MIB = 256,    // is enough for its chunks
    // Rows and dots:
    SPREAD_ROW_ITEMS = 128,
    SPREAD_ROW_CHUNK = 64,
    SPREAD_ROW_ITERATIONS = 4, // of a group's items, if there are enough groups
    SPREAD_DOT_VECTORS = 2,    // columns of an item
    SPREAD_DOT_ITERATIONS = 4, // of the items, in one step
    SPREAD_DOT_COLUMNS = 16,   // of a usual block
    SPREAD_DOT_CHUNK = 4096,
};

// Names of refused variants.
static const char BLOCKS[] = "blocks", ROWS[] = "rows", DOTS[] = "dots", CHUNKS[] = "chunks of k";
static const char DIRECT[] = "direct", GROUPS[] = "more groups";

// ---- the problem, transposed or not

// Extents at least 1, transposed if the tiling is.
typedef struct {
    int64_t m, n, k, n_batches, sum_bytes;
    const weft_why *why;
} facts;

static facts facts_of(const weft_matmul_problem *problem, bool transposed)
{
    const int64_t m = max_i64(problem->m, 1), n = max_i64(problem->n, 1);
    return (facts){
        .m = transposed ? n : m,
        .n = transposed ? m : n,
        .k = max_i64(problem->k, 1),
        .n_batches = max_i64(problem->n_batches, 1),
        .sum_bytes = weft_sum_bytes(weft_dtype_or(problem->dtype, WEFT_F32)),
        .why = problem->why,
    };
}

static int64_t round_up(int64_t x, int64_t step)
{
    return ceil_div(x, step) * step;
}

// Few rows: sums of rows of B where these are long runs, else dot products.
static bool choose_few(weft_matmul_method *method, int64_t n, bool along_n, bool along_k,
                       const weft_why *why)
{
    const bool has_runs = along_n && (n > WEFT_MATMUL_FEW || !along_k);
    *method = has_runs ? WEFT_MATMUL_ROWS : WEFT_MATMUL_DOTS;
    if (!along_n)
        refuse(why, ROWS, "the larger operand has no neighbours along the columns");
    else if (!has_runs)
        refuse(why, ROWS, "its %" PRId64 " columns are short runs", n);
    if (!along_k)
        refuse(why, DOTS, "the larger operand has no neighbours along k");
    else if (has_runs)
        refuse(why, DOTS, "its %" PRId64 " columns are long runs", n);
    return has_runs || along_k;
}

// Not transposed, B must be adjacent along n. Transposed, A takes its place.
static void choose_method(weft_matmul_tiling *tiling, const weft_matmul_problem *p)
{
    const bool column_major = p->c_along_m && !p->c_along_n;
    tiling->transposed = column_major;
    tiling->method = WEFT_MATMUL_ROWS;
    if (p->k <= FEW_TERMS && (column_major ? p->a_along_m : p->b_along_n)) {
        refuse(p->why, BLOCKS, "k is %" PRId64 ": up to %d is little", p->k, FEW_TERMS);
        return;
    }
    tiling->transposed = false;
    if (p->m <= WEFT_MATMUL_FEW &&
        choose_few(&tiling->method, p->n, p->b_along_n, p->b_along_k, p->why)) {
        refuse(p->why, BLOCKS, "m is %" PRId64 ": up to %d is little", p->m, WEFT_MATMUL_FEW);
        return;
    }
    tiling->transposed = true;
    if (p->n <= WEFT_MATMUL_FEW &&
        choose_few(&tiling->method, p->m, p->a_along_m, p->a_along_k, p->why)) {
        refuse(p->why, BLOCKS, "n is %" PRId64 ": up to %d is little", p->n, WEFT_MATMUL_FEW);
        return;
    }
    if (p->m > WEFT_MATMUL_FEW && p->n > WEFT_MATMUL_FEW) {
        refuse(p->why, ROWS,
               "k is %" PRId64 ", m %" PRId64 " and n %" PRId64 ": one of up to %d is wanted", p->k,
               p->m, p->n, FEW_TERMS);
        refuse(p->why, DOTS, "m is %" PRId64 " and n %" PRId64 ": one of up to %d is wanted", p->m,
               p->n, WEFT_MATMUL_FEW);
    }
    tiling->method = WEFT_MATMUL_BLOCKS;
    tiling->transposed = column_major;
}

// ---- blocks

enum { MORE_SHARES = 3, EIGHTHS_OF_STRIP = 6, EIGHTHS_OF_PANEL = 1, NO_EIGHTHS = 0 };

// Equal shares of n, in multiples of `step`: as few as `most` each allows, or up to `wanted` of
// them if they have `least`; and a few more to avoid a last share much smaller than the others.
// Each costs so many eighths of a step besides.
static int64_t share_of(int64_t n, int64_t most, int64_t least, int64_t wanted, int64_t step,
                        int64_t eighths)
{
    const int64_t steps = ceil_div(n, step);
    const int64_t fewest =
        max_i64(ceil_div(steps, max_i64(most / step, 1)), min_i64(wanted, ceil_div(n, least)));
    int64_t best = ceil_div(steps, fewest), least_cost = INT64_MAX;
    for (int64_t count = fewest; count <= min_i64(fewest + MORE_SHARES, steps); ++count) {
        const int64_t share = ceil_div(steps, count);
        const int64_t cost = count * (8 * share + eighths);
        if (cost < least_cost) {
            best = share;
            least_cost = cost;
        }
    }
    return best * step;
}

// If C alone gives `cells` groups, and `wanted` is more, k is divided into chunks of at least
// `least`. That must not depend on the batch or on the limits of a compiled kernel: another order
// of sums gives other bits.
static int64_t chunk_of(const facts *f, int64_t cells, int64_t wanted, int64_t least, int64_t step)
{
    if (2 * cells >= wanted || f->k < 2 * least) {
        refuse(f->why, CHUNKS,
               "C gives %" PRId64 " groups, of %" PRId64 " wanted, and k is %" PRId64
               ": two chunks have %" PRId64,
               cells, wanted, f->k, 2 * least);
        return WEFT_MATMUL_MAX_EXTENT;
    }
    const int64_t count = min_i64(ceil_div(wanted, cells), f->k / least);
    return round_up(ceil_div(f->k, count), step);
}

// A sum in registers adds product after product: f32 loses digits after a few thousand. (If items
// have vectors, sums of steps are added.)
static int64_t short_chunk(int64_t chunk, const facts *f, weft_dtype dtype, int64_t step)
{
    if (dtype == WEFT_F64 || dtype == WEFT_I8)
        return chunk;
    const int64_t room = ((int64_t)SPREAD_MIB << 20) / f->sum_bytes / f->n / f->m;
    const int64_t most = min_i64(room, WEFT_MATMUL_MOST_GROUPS);
    const int64_t count = min_i64(ceil_div(f->k, SPREAD_TERMS), most);
    return count > 1 ? min_i64(chunk, round_up(ceil_div(f->k, count), step)) : chunk;
}

// Groups wanted along one direction, beside `others` along another, products and their chunks.
static int64_t wanted_of_each(int64_t wanted, int64_t others, const weft_matmul_tiling *t,
                              const facts *f)
{
    return ceil_div(ceil_div(ceil_div(wanted, others), f->n_batches), ceil_div(f->k, t->chunk));
}

static int64_t wanted_groups(const weft_limits *limits)
{
    return (int64_t)VECTORIZED_TASKS * limits->compute_units;
}

// Vectors of products of all products.
static double steps_of(const facts *f, const weft_matmul_tiling *t)
{
    return (double)f->m * (double)f->n * (double)f->k * (double)f->n_batches / t->vector_width;
}

// The groups that C is divided into: one if another core would come too late to help.
static int64_t useful_groups(const weft_limits *limits, const facts *f, const weft_matmul_tiling *t,
                             int least_steps)
{
    const double steps = steps_of(f, t);
    if (steps >= least_steps)
        return wanted_groups(limits);
    refuse(f->why, GROUPS, "%.3g vectors of products are few: one core is done before others wake",
           steps);
    return 1;
}

static int64_t spread_vector_width(const weft_limits *limits, const facts *f)
{
    const int64_t widest = min_i64(limits->load_bytes / f->sum_bytes, SPREAD_VECTOR_WIDTH);
    return pow2_down(max_i64(widest, 1));
}

// Halves a part of a block until the block fits: in the end one item has a single sum.
static void halve_until_fits(weft_matmul_tiling *t, int64_t room, weft_dtype dtype)
{
    while (weft_matmul_local_bytes(t, dtype, 0) > room) {
        const int64_t strip = (int64_t)t->items_y * t->rows;
        const int64_t panel = (int64_t)t->items * t->vectors * t->vector_width;
        if (t->block_rows > strip) {
            t->block_rows = round_up(t->block_rows / 2, strip);
            continue;
        }
        if (t->block_columns > panel) {
            t->block_columns = round_up(t->block_columns / 2, panel);
            continue;
        }
        int *const parts[] = {&t->vectors, &t->depth,   &t->rows,
                              &t->items,   &t->items_y, &t->vector_width};
        const int least[] = {1, t->vector_width, 1, 1, 1, 1};
        int i = 0;
        while (i < 6 && *parts[i] <= least[i])
            ++i;
        if (i == 6)
            return;
        *parts[i] /= 2;
        t->block_rows = (int64_t)t->items_y * t->rows;
        t->block_columns = (int64_t)t->items * t->vectors * t->vector_width;
    }
}

// There are 32 registers for vectors of 16, and 16 for narrower ones.
static int64_t registers_of(const weft_limits *limits)
{
    return limits->vector_width >= 16 ? 32 : 16;
}

static int64_t tiles_of(const facts *f, int64_t rows, int64_t columns)
{
    return ceil_div(f->m, rows) * ceil_div(f->n, columns);
}

// Whether factors should be read where they lie, not copied: C's elements have the same sums. Only
// copies can be converted, prefetched, and transposed.
static bool direct_pays(const weft_limits *limits, const weft_matmul_problem *p, const facts *f,
                        const weft_matmul_tiling *t)
{
    const weft_dtype dtype = weft_dtype_or(p->dtype, WEFT_F32);
    const double bytes =
        (double)f->sum_bytes * (double)f->n_batches *
        ((double)f->m * (double)f->k + (double)f->k * (double)f->n + (double)f->m * (double)f->n);
    const int64_t room = DIRECT_L2S * weft_caches_of(limits).l2_bytes;
    if (dtype != WEFT_F32 && dtype != WEFT_F64)
        return refuse(f->why, DIRECT, "each %s would be converted several times",
                      weft_dtype_name(dtype));
    if (!(t->transposed ? p->a_along_m : p->b_along_n))
        return refuse(f->why, DIRECT, "%s has no neighbours along the columns",
                      t->transposed ? "A" : "B");
    if (f->n < t->vector_width)
        return refuse(f->why, DIRECT, "%" PRId64 " columns are no vector", f->n);
    if (t->chunk < f->k)
        return refuse(f->why, DIRECT, "k is cut in chunks");
    return bytes <= (double)room ||
           refuse(f->why, DIRECT, "factors and C have %.3g bytes: %" PRId64 " are near enough",
                  bytes, room);
}

// Blocks as small as their groups allow: panels first, so that one stays in L1.
static void direct_blocks(weft_matmul_tiling *t, const weft_limits *limits, const facts *f)
{
    const int64_t strip = t->rows, panel = (int64_t)t->vectors * t->vector_width;
    const double steps = steps_of(f, t);
    const bool is_near = 2 * f->k * f->n * f->sum_bytes <= weft_caches_of(limits).l2_bytes;
    const int64_t most =
        (int64_t)(is_near ? DIRECT_FINE_TASKS : DIRECT_TASKS) * limits->compute_units;
    const int64_t wanted = steps < ALONE_STEPS ? useful_groups(limits, f, t, ALONE_STEPS)
                           : steps < (double)most * DIRECT_STEPS ? (int64_t)(steps / DIRECT_STEPS)
                                                                 : most;
    const int64_t each = ceil_div(wanted, f->n_batches);
    t->method = WEFT_MATMUL_DIRECT;
    t->block_columns = share_of(f->n, round_up(f->n, panel), panel, each, panel, NO_EIGHTHS);
    const int64_t down = ceil_div(each, ceil_div(f->n, t->block_columns));
    const int64_t most_rows =
        min_i64(round_up(f->m, strip), WEFT_MATMUL_MAX_EXTENT / strip * strip);
    t->block_rows = share_of(f->m, most_rows, strip, down, strip, EIGHTHS_OF_STRIP);
}

// An item goes through a block tile by tile. Its rows leave registers for a row of the panel and an
// element of A.
static void vectorized_blocks(weft_matmul_tiling *t, const weft_limits *limits,
                              const weft_matmul_problem *problem, const facts *f)
{
    t->vectors = VECTORIZED_VECTORS;
    t->rows = (int)(registers_of(limits) * 3 / 8);
    t->depth = (int)max_i64(VECTORIZED_DEPTH / f->sum_bytes, t->vector_width);
    t->block_rows = (int64_t)VECTORIZED_STRIPS * t->rows;
    t->block_columns = (int64_t)VECTORIZED_PANELS * t->vectors * t->vector_width;
    const weft_caches near = weft_caches_of(limits);
    halve_until_fits(t, min_i64(clamped_i64(limits->local_bytes), near.l2_bytes / 2),
                     problem->dtype);

    const int64_t strip = t->rows, panel = (int64_t)t->vectors * t->vector_width;
    const int64_t cells =
        tiles_of(f, min_i64(CELL_STRIPS * strip, t->block_rows), t->block_columns);
    const int64_t least_rows = min_i64(LEAST_STRIPS * strip, t->block_rows);
    t->chunk = chunk_of(f, cells, wanted_groups(limits), VECTORIZED_CHUNK, t->depth);
    if (direct_pays(limits, problem, f, t)) {
        refuse(f->why, BLOCKS, "factors and C are near: copying them costs more than it gives");
        direct_blocks(t, limits, f);
        return;
    }
    const int64_t wanted = useful_groups(limits, f, t, ALONE_STEPS);
    const int64_t down = wanted_of_each(wanted, ceil_div(f->n, t->block_columns), t, f);
    t->block_rows = share_of(f->m, t->block_rows, least_rows, down, strip, EIGHTHS_OF_STRIP);
    const int64_t across = wanted_of_each(wanted, ceil_div(f->m, t->block_rows), t, f);
    t->block_columns = share_of(f->n, t->block_columns, panel, across, panel, EIGHTHS_OF_PANEL);
}

// Items of a group, as square as powers of two allow.
static void square_group(weft_matmul_tiling *t, const weft_limits *limits, int64_t most)
{
    const int64_t most_x = weft_limits_items_along(limits, 0);
    const int64_t most_y = weft_limits_items_along(limits, 1);
    while (2 * (int64_t)t->items * t->items_y <= most &&
           (t->items < most_x || t->items_y < most_y)) {
        const bool grows_x = t->items < most_x && (t->items <= t->items_y || t->items_y >= most_y);
        *(grows_x ? &t->items : &t->items_y) *= 2;
    }
}

// A group's block is what its items have in registers: larger if blocks and chunks are enough for
// all compute units.
static void spread_blocks(weft_matmul_tiling *t, const weft_limits *limits, weft_dtype dtype,
                          const facts *f)
{
    const int64_t rows = (int64_t)SPREAD_SIDE * SPREAD_ROWS,
                  columns = (int64_t)SPREAD_SIDE * t->vector_width;
    const int64_t small = tiles_of(f, rows, columns), large = tiles_of(f, 2 * rows, 2 * columns);
    // Independent of a compiled kernel's limit: smaller groups are more groups.
    const int64_t resident = (int64_t)limits->max_blocks * limits->max_block / SPREAD_ITEMS;
    const int64_t at_once =
        max_i64(min_i64((int64_t)SPREAD_RESIDENT * limits->compute_units, resident), 1);
    // No more than run at once: the last ones would run alone.
    const int64_t chunks = min_i64(at_once, WEFT_MATMUL_MOST_GROUPS) / large;
    const int64_t wanted = max_i64(chunks, 1) * large;
    const int64_t least_chunk = f->k < SPREAD_CUT ? SPREAD_CUT : SPREAD_CHUNK;
    t->chunk =
        short_chunk(chunk_of(f, large, wanted, least_chunk, SPREAD_DEPTH), f, dtype, SPREAD_DEPTH);
    const int64_t groups = large * ceil_div(f->k, t->chunk);
    const int64_t least = ceil_div(ceil_div(at_once, SPREAD_RESIDENT), f->n_batches);
    const bool is_large =
        (groups >= least ||
         refuse(f->why, "larger blocks",
                "there are %" PRId64 " for each product: %" PRId64 " are wanted", groups, least)) &&
        (large <= small * SPREAD_EIGHTHS / 8 ||
         refuse(f->why, "larger blocks",
                "C has %" PRId64 ", or %" PRId64 " of a quarter: too little of them", large,
                small));
    square_group(t, limits, min_i64(clamped_i64(limits->max_items), SPREAD_ITEMS));
    t->rows = is_large ? 2 * SPREAD_ROWS : SPREAD_ROWS;
    t->vectors = is_large ? 2 : 1;
    t->depth = is_large ? SPREAD_DEPTH / 2 : SPREAD_DEPTH;
    t->block_rows = (int64_t)t->items_y * t->rows;
    t->block_columns = (int64_t)t->items * t->vectors * t->vector_width;
    halve_until_fits(t, clamped_i64(limits->local_bytes), dtype);
}

// ---- rows

// Chunks of k, if C has few rows.
static int64_t row_chunk(const facts *f, int64_t across, int64_t wanted, int64_t least)
{
    if (f->m <= WEFT_MATMUL_FEW)
        return chunk_of(f, across, wanted, least, 1);
    refuse(f->why, CHUNKS, "C has %" PRId64 " rows: enough", f->m);
    return WEFT_MATMUL_MAX_EXTENT;
}

static void vectorized_rows(weft_matmul_tiling *t, const weft_limits *limits, const facts *f)
{
    const int64_t wanted = wanted_groups(limits);
    t->rows = SPAN_ROWS;
    t->vectors = SPAN_VECTORS;
    const int64_t span =
        (int64_t)t->vector_width * t->vectors * (t->rows / min_i64(pow2_up(f->m), t->rows));
    t->block_columns = share_of(f->n, span, span, 1, t->vector_width, NO_EIGHTHS);
    const int64_t across = ceil_div(f->n, t->block_columns);
    t->chunk = row_chunk(f, across, wanted, SPAN_CHUNK);
    const int64_t down = wanted_of_each(useful_groups(limits, f, t, ALONE_READS), across, t, f);
    t->block_rows = share_of(f->m, f->m, t->rows, down, t->rows, NO_EIGHTHS);
}

static void spread_rows(weft_matmul_tiling *t, const weft_limits *limits, weft_dtype dtype,
                        const facts *f)
{
    const int64_t most = min_i64(pow2_down(clamped_i64(limits->max_items)), SPREAD_ROW_ITEMS);
    const int64_t along = min_i64(most, weft_limits_items_along(limits, 0));
    t->rows = SPREAD_FEW_ROWS;
    t->items = (int)min_i64(along, pow2_up(ceil_div(f->n, t->vector_width)));
    t->items_y = (int)min_i64(min_i64(most / t->items, weft_limits_items_along(limits, 1)),
                              pow2_up(ceil_div(f->m, t->rows)));
    t->block_columns = (int64_t)t->items * t->vector_width;
    const int64_t rows = (int64_t)t->items_y * t->rows;
    const int64_t iterations = tiles_of(f, rows, t->block_columns) / limits->max_blocks;
    t->block_rows = rows * max_i64(min_i64(iterations, SPREAD_ROW_ITERATIONS), 1);
    t->chunk = row_chunk(f, ceil_div(f->n, (int64_t)SPREAD_ROW_ITEMS * t->vector_width),
                         limits->max_blocks, SPREAD_ROW_CHUNK);
    t->chunk = short_chunk(t->chunk, f, dtype, 1);
}

// ---- dots

// All rows of a step and the sums of a block.
static bool dots_fit(const weft_matmul_tiling *t, const weft_limits *limits, weft_dtype dtype,
                     const facts *f)
{
    return weft_matmul_local_bytes(t, dtype, f->m) <= clamped_i64(limits->local_bytes);
}

// Half of the registers are for sums: each column of an item is one more stream from memory.
static void vectorized_dots(weft_matmul_tiling *t, const weft_limits *limits, weft_dtype dtype,
                            const facts *f)
{
    const weft_caches near = weft_caches_of(limits);
    const int64_t columns = registers_of(limits) / 2 / DOT_ROWS,
                  step = max_i64(columns, t->vector_width);
    const int64_t near_l1 = near.l1_bytes / (2 * f->m * f->sum_bytes);
    const int64_t most = min_i64(min_i64(near_l1, f->k), WEFT_MATMUL_MARGIN);
    t->rows = DOT_ROWS;
    t->vectors = (int)columns;
    t->depth = (int)round_up(max_i64(most, 1), t->vector_width);
    t->block_rows = f->m;
    t->block_columns = round_up(min_i64(f->n, DOT_BLOCK), step);
    while (!dots_fit(t, limits, dtype, f) && t->depth > t->vector_width)
        t->depth = (int)round_up(t->depth / 2, t->vector_width);
    while (!dots_fit(t, limits, dtype, f) && t->block_columns > step)
        t->block_columns = round_up(t->block_columns / 2, step);
    while (!dots_fit(t, limits, dtype, f) && t->vector_width > 1)
        t->depth = t->vector_width /= 2;
    const int64_t wanted = wanted_groups(limits);
    t->chunk = chunk_of(f, ceil_div(f->n, step), wanted, DOT_CHUNK, 1);
    const int64_t across = wanted_of_each(useful_groups(limits, f, t, ALONE_READS), 1, t, f);
    t->block_columns = share_of(f->n, t->block_columns, step, across, step, NO_EIGHTHS);
}

static void spread_dots(weft_matmul_tiling *t, const weft_limits *limits, weft_dtype dtype,
                        const facts *f)
{
    const int64_t most = min_i64(pow2_down(clamped_i64(limits->max_items)), SPREAD_ROW_ITEMS);
    t->items = (int)min_i64(min_i64(limits->warp, most), weft_limits_items_along(limits, 0));
    t->items_y = (int)min_i64(most / t->items, weft_limits_items_along(limits, 1));
    t->rows = DOT_ROWS;
    t->vectors = SPREAD_DOT_VECTORS;
    t->depth = t->items * t->vector_width * SPREAD_DOT_ITERATIONS;
    t->block_rows = f->m;
    t->block_columns = max_i64((int64_t)t->items_y * t->vectors, t->vector_width);
    while (!dots_fit(t, limits, dtype, f) && t->depth > t->items * t->vector_width)
        t->depth /= 2;
    while (!dots_fit(t, limits, dtype, f) && t->items_y > 1) {
        t->items_y /= 2;
        t->block_columns = max_i64((int64_t)t->items_y * t->vectors, t->vector_width);
    }
    while (!dots_fit(t, limits, dtype, f) && t->items > 1) {
        t->items /= 2;
        t->depth /= 2;
    }
    t->chunk =
        chunk_of(f, ceil_div(f->n, SPREAD_DOT_COLUMNS), limits->max_blocks, SPREAD_DOT_CHUNK, 1);
}

// Whether few columns are better as elements of a vector, to which A's elements are copied, than as
// dot products, each of which ends in a sum of lanes. The batch must not matter: sums are others.
static bool thin_pays(const weft_matmul_problem *p, const facts *f, bool transposed)
{
    const weft_dtype dtype = weft_dtype_or(p->dtype, WEFT_F32);
    const int64_t most = f->n >= 8   ? THIN_TERMS_OF_8
                         : f->n >= 4 ? THIN_TERMS_OF_4
                                     : THIN_TERMS_OF_2;
    const bool is_along = transposed ? p->a_along_m && p->c_along_m : p->b_along_n && p->c_along_n;
    if (f->n < 2 || f->n > WEFT_MATMUL_FEW || !is_along)
        return refuse(f->why, DIRECT, "%" PRId64 " columns are no vectors that are adjacent", f->n);
    if (dtype != WEFT_F32 && dtype != WEFT_F64)
        return refuse(f->why, DIRECT, "each %s would be converted alone", weft_dtype_name(dtype));
    if (f->k > most)
        return refuse(f->why, DIRECT,
                      "k is %" PRId64 ": up to %" PRId64 " is short for %" PRId64 " columns", f->k,
                      most, f->n);
    refuse(f->why, DOTS, "%" PRId64 " columns are vectors, and k is %" PRId64 ": dots are short",
           f->n, f->k);
    return true;
}

// Dots the other way round, if that pays.
static bool turned_to_thin(weft_matmul_tiling *t, const weft_limits *limits,
                           const weft_matmul_problem *problem)
{
    const facts f = facts_of(problem, !t->transposed);
    if (t->method != WEFT_MATMUL_DOTS || !thin_pays(problem, &f, !t->transposed))
        return false;
    t->transposed = !t->transposed;
    t->vector_width = (int)weft_limits_vector_width(limits, f.sum_bytes, pow2_down(f.n));
    t->vectors = (int)ceil_div(f.n, t->vector_width);
    t->rows = (int)(registers_of(limits) * 3 / 8);
    t->depth = (int)(VECTORIZED_DEPTH / f.sum_bytes);
    t->chunk = WEFT_MATMUL_MAX_EXTENT;
    direct_blocks(t, limits, &f);
    return true;
}

// Sums of rows with few terms, if factors and C are near: the same sums in the same order.
static bool rows_become_direct(weft_matmul_tiling *t, const weft_limits *limits,
                               const weft_matmul_problem *problem, const facts *f)
{
    if (t->method != WEFT_MATMUL_ROWS || f->k > FEW_TERMS || f->m <= WEFT_MATMUL_FEW)
        return false;
    weft_matmul_tiling direct = *t;
    direct.vectors = VECTORIZED_VECTORS;
    direct.rows = (int)(registers_of(limits) * 3 / 8);
    direct.depth = (int)max_i64(VECTORIZED_DEPTH / f->sum_bytes, t->vector_width);
    direct.chunk = WEFT_MATMUL_MAX_EXTENT;
    if (!direct_pays(limits, problem, f, &direct))
        return false;
    direct_blocks(&direct, limits, f);
    *t = direct;
    return refuse(f->why, ROWS, "factors and C are near, and sums of rows wait for each other") ||
           true;
}

weft_matmul_tiling weft_matmul_tiling_for(const weft_limits *limits,
                                          const weft_matmul_problem *problem)
{
    const bool uses_vectors = weft_lanes_are_vectors(limits, problem->why);
    const weft_dtype dtype = problem->dtype;
    weft_matmul_tiling t = {.vectors = 1, .items = 1, .items_y = 1};
    choose_method(&t, problem);
    if (uses_vectors && turned_to_thin(&t, limits, problem))
        return t;
    const facts f = facts_of(problem, t.transposed);
    t.vector_width =
        (int)(uses_vectors ? weft_limits_vector_width(limits, f.sum_bytes, MAX_VECTOR_WIDTH)
                           : spread_vector_width(limits, &f));
    t.depth = t.vector_width;
    if (uses_vectors && rows_become_direct(&t, limits, problem, &f))
        return t;
    if (t.method == WEFT_MATMUL_ROWS && uses_vectors)
        vectorized_rows(&t, limits, &f);
    else if (t.method == WEFT_MATMUL_ROWS)
        spread_rows(&t, limits, dtype, &f);
    else if (t.method == WEFT_MATMUL_DOTS && uses_vectors)
        vectorized_dots(&t, limits, dtype, &f);
    else if (t.method == WEFT_MATMUL_DOTS)
        spread_dots(&t, limits, dtype, &f);
    else if (uses_vectors)
        vectorized_blocks(&t, limits, problem, &f);
    else
        spread_blocks(&t, limits, dtype, &f);
    return t;
}
