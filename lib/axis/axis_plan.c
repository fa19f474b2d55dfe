// SPDX-License-Identifier: Apache-2.0
// Chooses tilings of work along an axis from limits and a problem, and checks given ones.
#include "axis/axis_plan.h"

#include <inttypes.h>

#include "axis/held_plan.h"
#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/groups.h"
#include "base/lanes.h"
#include "base/refuse.h"
#include "base/tiling_given.h"
#include "operand/view.h"

enum { MAX_VECTOR_WIDTH = 16, MAX_UNROLL = 8, MAX_PARTS = 1024 };

// Numbers in the state of a column: those that local memory has room for at least if items_y > 1,
// and those of a sum.
enum { STATE_NUMBERS = 5, SUM_NUMBERS = 2 };

// If an item processes whole vectors: CPUs.
enum {
    VECTORIZED_UNROLL = 8, // vectors in flight hide the latency of an addition
    LONG_UNROLL = 4,       // most lines at a time, of strips of LONG_STRIP_BYTES
    LONG_STRIP_BYTES = 1 << 16,
    USUAL_VECTORS = 512,  // most of a strip, unless there are enough wider ones
    GATHERED_VECTORS = 8, // of a strip that is fetched element by element: caches hold its lines
    REREAD_VECTORS = 8,   // least of a strip: 512 bytes of each line, or pages are wasted
    NARROW_VECTORS = 4,   // of a strip that gives work to idle cores
    GROUPS_A_CORE = 4,    // so that the last ones end together
    LONG_TASKS = 4,       // least number of strips wider than usual for each of those groups
    PART_TASKS = 8,       // parts for each of those, if each part is not combined with all others
    MANY_TASKS = 8,       // for each of those groups: enough for LONG_TASK_BYTES each
    FEW_TASKS = 2,        // for each core: with fewer, mid is divided into parts
    FAIR_GROUPS = 64,     // for each of max_blocks: they balance the load on a shared machine
    TASK_BYTES = 1 << 15, // least read by a task; below, a group's overhead is noticeable
    LONG_TASK_BYTES = 1 << 20, // faster still, if there is enough work for all groups
    PART_BYTES = 1 << 18,      // read by each part: tens of microseconds
    NEAR_PART_BYTES = 1 << 19, // the same from a cache
    NEAR_PARTS = 4,            // least of those in all: fewer do not pay for a second kernel
};

// If lanes are items: GPUs.
enum {
    SPREAD_ITEMS = 256,      // of a group, if states are large, all is written or mid is divided
                             // into parts: 1024 have 64 registers each, which is too few, or just
                             // enough
    SPREAD_STATE_BYTES = 12, // of the largest state that is not large
    SPREAD_UNROLL = 4,       // loads in flight for each item,
    ROW_UNROLL = 8,          // and of rows of one operand
    ROW_TASKS = 4,           // groups of them for each resident one: they end together
    SPREAD_WARPS = 4,        // of a group with items_z above 1
    SPREAD_CACHED = 32,      // lines that an item can cache, or find in the device's cache again
    SPREAD_LEAST = 8,        // items_y, however short rows are: neighbours in memory
    SPREAD_ITERATIONS = 8,   // least of a part: below, a second kernel costs more than it saves
    SPREAD_IDLE = 2,         // mid is divided if fewer than 1 / SPREAD_IDLE of the groups have work
};

// Variants that plans refuse.
static const char CACHED[] = "elements cached", WIDENED[] = "lines of several steps of mid";
static const char WIDEST[] = "widest vectors", PARTS[] = "mid in parts";
static const char LARGER[] = "larger groups";

typedef weft_axis_facts facts;

static facts facts_of(const weft_axis_problem *problem)
{
    const weft_dtype dtype = weft_dtype_or(problem->dtype, WEFT_F32);
    const bool is_wide = dtype == WEFT_F64 || dtype == WEFT_I64;
    const int given = problem->accumulator_bytes;
    const int64_t accumulator_bytes = given > 0 ? given : is_wide ? 8 : 4;
    const int numbers = problem->numbers > 0 ? problem->numbers : SUM_NUMBERS;
    return (facts){
        .high = max_i64(problem->high, 1),
        .mid = max_i64(problem->mid, 1),
        .low = max_i64(problem->low, 1),
        .outer = max_i64(problem->outer, 1),
        .bytes = max_i64((int64_t)weft_dtype_size(dtype), 1),
        .accumulator_bytes = accumulator_bytes,
        .state_bytes = accumulator_bytes * numbers,
        .shared_bytes = accumulator_bytes * max_i64(numbers, STATE_NUMBERS),
        .low_adjacent = problem->low_adjacent,
        .mid_adjacent = problem->mid_adjacent || problem->low <= 1,
        .writes_all = problem->writes_all,
        .caches = problem->caches,
        .holds = problem->holds,
        .alignment = max_i64(problem->alignment, 1),
        .reads = max_i64(problem->reads, 1),
        .why = problem->why,
    };
}

// a * b for a and b from 1, or 2^62 where that is larger.
static int64_t product(int64_t a, int64_t b)
{
    const int64_t most = INT64_C(1) << 62;
    return a > most / b ? most : a * b;
}

// Lines of `widen` steps of mid.
static int64_t lines_of(const facts *f, int64_t widen)
{
    return product(f->outer, ceil_div(f->mid, widen));
}

// About `parts` parts of equal length, none of them empty.
static int64_t even_parts(int64_t lines, int64_t parts)
{
    return ceil_div(lines, ceil_div(lines, max_i64(min_i64(parts, MAX_PARTS), 1)));
}

// Whether the last strip of a line would be only a vector that is moved to end with the line: its
// neighbour would belong to another item.
static bool is_moved_alone(int64_t width, int64_t vector_width, int64_t vectors)
{
    return width % vector_width != 0 &&
           ceil_div(width, vector_width) % vectors == (vectors == 1 ? 0 : 1);
}

// Local memory in which items_y items combine their states.
static int64_t items_y_bytes(const facts *f, int64_t items, int64_t items_y, int64_t vector_width)
{
    return items_y > 1 ? items * items_y * vector_width * f->shared_bytes : 0;
}

static int64_t items_z_of(const weft_axis_tiling *t)
{
    return t->items_z > 1 ? t->items_z : 1;
}

// The same for a whole work-group.
static int64_t shared_bytes(const facts *f, const weft_axis_tiling *t)
{
    return items_z_of(t) * items_y_bytes(f, t->items, t->items_y, t->vector_width);
}

// Cached lines for `lines` lines of an item: `unroll` at a time and one more, the rest singly.
static int64_t cached_lines(int64_t lines, int64_t unroll)
{
    const int64_t n = max_i64(lines, 0);
    return product(n / unroll, unroll + 1) + 2 * (n % unroll);
}

// Items differ by one line, and the last, narrower one is processed separately.
static int64_t cached_bytes(const facts *f, const weft_axis_tiling *t)
{
    const int64_t most = ceil_div(ceil_div(f->mid, t->widen), t->items_y);
    const int64_t lines =
        max_i64(cached_lines(most, t->unroll),
                max_i64(cached_lines(most - 1, t->unroll), cached_lines(most - 2, t->unroll)) + 2);
    const int64_t numbers =
        product(product(lines, f->outer), (int64_t)t->vectors * t->vector_width);
    return product(numbers, t->items * t->items_y * items_z_of(t) * f->accumulator_bytes);
}

int64_t weft_axis_tiling_cached_bytes(const weft_axis_tiling *tiling,
                                      const weft_axis_problem *problem)
{
    const facts f = facts_of(problem);
    return tiling->cache ? cached_bytes(&f, tiling) : 0;
}

// Whether there is room. On CPUs local memory is ordinary memory, and the room is a core's L1
// cache: from further away cached values are read no faster than they are computed again.
static bool caching_pays(const weft_limits *limits, const facts *f, const weft_axis_tiling *t)
{
    const uint64_t l1_bytes = (uint64_t)weft_caches_of(limits).l1_bytes;
    const uint64_t room =
        limits->vector_width > 1 && l1_bytes < limits->local_bytes ? l1_bytes : limits->local_bytes;
    const int64_t cached = cached_bytes(f, t), shared = shared_bytes(f, t);
    if (!f->caches) // no variant of this operation
        return false;
    if (t->parts > 1)
        return refuse(f->why, CACHED, "mid is in %" PRId64 " parts", t->parts);
    if (t->held > 0)
        return refuse(f->why, CACHED, "they are in registers");
    return ((uint64_t)cached <= room / 2 &&
            (uint64_t)shared + (uint64_t)cached <= limits->local_bytes) ||
           refuse(f->why, CACHED,
                  "they are %" PRId64 " bytes, beside %" PRId64 " of states: there is room "
                  "for half of %" PRIu64,
                  cached, shared, room);
}

// Three quarters of the last cache leave room for what else is in use.
static bool is_near(const weft_limits *limits, const facts *f)
{
    const int64_t elements = product(product(f->high, f->outer), product(f->mid, f->low));
    const int64_t bytes = product(elements, f->bytes * (f->writes_all ? 2 : 1));
    return (uint64_t)bytes / 3 <= limits->cache_bytes / 4;
}

bool weft_axis_is_near(const weft_limits *limits, const weft_axis_problem *problem)
{
    const facts f = facts_of(problem);
    return is_near(limits, &f);
}

// ---- CPUs: groups are one item

// The tiling of a line; vector_width and widen select the code.
typedef struct {
    int64_t vector_width, widen;
    int64_t width;   // columns of a line
    int64_t vectors; // and their vectors, the last one perhaps moved
} line;

static line line_of(const facts *f, int64_t vector_width, int64_t widen)
{
    const int64_t width = product(widen, f->low);
    return (line){vector_width, widen, width, ceil_div(width, vector_width)};
}

// Steps of mid that fill whole vectors.
static int64_t steps_for(int64_t low, int64_t vector_width)
{
    return vector_width / min_i64(pow2_divisor(low), vector_width);
}

// Half or a quarter of the widest vector, or single elements: each vector width is a program.
static line narrow_line(const facts *f, int64_t widest)
{
    refuse(f->why, WIDEST, "of %" PRId64 ": low has %" PRId64 " columns, %s", widest, f->low,
           f->low_adjacent ? "side by side" : "apart");
    if (f->low_adjacent && widest >= 4 && f->low >= widest / 2)
        return line_of(f, widest / 2, 1);
    if (f->low_adjacent && widest >= 8 && f->low >= widest / 4)
        return line_of(f, widest / 4, 1);
    return line_of(f, 1, 1);
}

// Whether `widen` steps of mid make a line of whole vectors. A line of neighbours may be wider than
// mid: elements past it are masked.
static bool widening_fills(const facts *f, int64_t widest, int64_t widen)
{
    if (!f->mid_adjacent)
        return refuse(f->why, WIDENED, "mid does not step on where low ends");
    if (widen > f->mid && (f->low > 1 || !f->low_adjacent))
        return refuse(f->why, WIDENED, "%" PRId64 " steps fill a vector, and mid has %" PRId64,
                      widen, f->mid);
    const int64_t most = USUAL_VECTORS * widest / widen;
    return f->low <= most ||
           refuse(f->why, WIDENED, "low has %" PRId64 " columns: %" PRId64 " at most are widened",
                  f->low, most);
}

// Groups that keep all cores busy.
static int64_t few_groups(const weft_limits *limits)
{
    return (int64_t)limits->compute_units * FEW_TASKS;
}

// Whether each group reduces a strip of low, all of mid: from a cache that is faster than lines in
// order and a second kernel.
static bool reads_columns(const weft_limits *limits, const facts *f, int64_t widest)
{
    const int64_t strips = ceil_div(few_groups(limits), f->high);
    return strips > 1 && !f->writes_all && f->low_adjacent && is_near(limits, f) &&
           f->low >= product(strips, NARROW_VECTORS * widest);
}

static line vectorized_line(const weft_limits *limits, const facts *f, int64_t widest)
{
    if (reads_columns(limits, f, widest))
        return line_of(f, widest, 1);
    const int64_t widen = steps_for(f->low, widest);
    const bool fills = widening_fills(f, widest, widen);
    if (f->low >= widest)
        return line_of(f, widest, fills && f->low_adjacent ? widen : 1);
    if (!fills)
        return narrow_line(f, widest);
    return line_of(f, widest, widen);
}

// Vectors of a strip: at most `most`, all strips of about the same width.
static int64_t strip_vectors(const line *l, int64_t most)
{
    const int64_t even = ceil_div(l->vectors, ceil_div(l->vectors, most));
    int64_t vectors = even;
    while (vectors > 1 && is_moved_alone(l->width, l->vector_width, vectors))
        vectors--;
    if (vectors == 1)
        vectors = even;
    while (is_moved_alone(l->width, l->vector_width, vectors))
        vectors++;
    return vectors;
}

static int64_t strips_of(const line *l, int64_t vectors)
{
    return ceil_div(l->vectors, vectors);
}

// Strips may be wider if elements are read once and there are strips for all cores.
static int64_t most_vectors(const facts *f, const line *l, int64_t wanted)
{
    if (!f->low_adjacent && l->widen == 1)
        return GATHERED_VECTORS;
    if (f->writes_all || l->widen > 1)
        return USUAL_VECTORS;
    const int64_t share = product(l->vectors, f->high) / (wanted * LONG_TASKS);
    return max_i64(min_i64(share, WEFT_AXIS_MOST_VECTORS), USUAL_VECTORS);
}

// If elements are written they are read twice: strips whose lines fit into a core's share of the
// caches, unless these are too narrow for memory.
static int64_t reread_vectors(const weft_limits *limits, const facts *f, const line *l,
                              int64_t most)
{
    const uint64_t share = limits->cache_bytes / 2 / (uint64_t)limits->compute_units;
    const int64_t bytes = max_i64((int64_t)share, weft_caches_of(limits).l2_bytes);
    const int64_t each = product(product(lines_of(f, l->widen), l->vector_width), f->bytes);
    if (l->widen > 1)
        return most;
    return max_i64(min_i64(bytes / each, most), min_i64(REREAD_VECTORS, most));
}

// Narrower strips, if cores are idle, but not of widened lines: one item combines their steps.
static int64_t narrowed_vectors(const facts *f, const line *l, int64_t vectors, int64_t wanted)
{
    const int64_t strips = ceil_div(wanted, f->high);
    if (l->widen > 1 || strips_of(l, vectors) >= strips)
        return vectors;
    const int64_t narrow = max_i64(ceil_div(l->vectors, strips), NARROW_VECTORS);
    return strip_vectors(l, min_i64(narrow, vectors));
}

// A strip for each of the few groups that keep all cores busy.
static int64_t even_strips(const weft_limits *limits, const facts *f, const line *l, int64_t most)
{
    const int64_t strips = ceil_div(few_groups(limits), f->high);
    return strip_vectors(l, min_i64(ceil_div(l->vectors, strips), most));
}

// Highs that a group processes at a time: enough to pay, few enough that all cores have some.
// If lanes run along mid, the lanes of vector_width highs are combined at a time.
static int64_t highs_in_a_row(const facts *f, const line *l, int64_t task_bytes, int64_t strips,
                              int64_t wanted)
{
    const int64_t many = product(f->high, strips) / (wanted * MANY_TASKS);
    const int64_t pays = max_i64(ceil_div(TASK_BYTES, task_bytes),
                                 min_i64(ceil_div(LONG_TASK_BYTES, task_bytes), many));
    const int64_t most = min_i64(max_i64(product(f->high, strips) / wanted, 1), f->high);
    const int64_t run = ceil_div(f->high, ceil_div(f->high, min_i64(pays, most)));
    const int64_t whole = ceil_div(run, l->vector_width) * l->vector_width;
    return f->low == 1 && l->widen > 1 && pays > 1 && whole <= most ? whole : run;
}

// With too few groups mid is divided into parts, if these are long.
static int64_t parts_of(const weft_limits *limits, const facts *f, int64_t lines, int64_t tasks,
                        int64_t strip_bytes)
{
    const bool near = is_near(limits, f);
    const int64_t bytes = near ? NEAR_PART_BYTES : PART_BYTES;
    const int64_t wanted = (int64_t)limits->compute_units * GROUPS_A_CORE;
    const int64_t fair = f->writes_all || near ? wanted : wanted * PART_TASKS;
    int64_t parts = 1;
    if (tasks < few_groups(limits))
        parts = even_parts(lines, min_i64(ceil_div(fair, tasks), strip_bytes / bytes));
    const bool is_little = near && product(strip_bytes, tasks) < NEAR_PARTS * bytes;
    if (parts == 1 || is_little) {
        refuse(f->why, PARTS,
               "there are %" PRId64 " tasks for %d units, of %" PRId64
               " bytes each: a part has %" PRId64,
               tasks, limits->compute_units, strip_bytes, bytes);
        return 1;
    }
    return parts;
}

// Groups that process the same number of tasks each, or one less.
static int64_t even_groups(int64_t tasks, int64_t most)
{
    return ceil_div(tasks, ceil_div(tasks, most));
}

// Lines that an item reads at a time.
static int64_t vectorized_unroll(const facts *f, int64_t strip_bytes)
{
    const int64_t unroll =
        min_i64(INT64_C(4) * VECTORIZED_UNROLL / f->accumulator_bytes, MAX_UNROLL);
    return strip_bytes >= LONG_STRIP_BYTES ? min_i64(unroll, LONG_UNROLL) : unroll;
}

static weft_axis_tiling vectorized_tiling(const weft_limits *limits, const facts *f)
{
    const int64_t widest = weft_limits_vector_width(limits, f->accumulator_bytes, MAX_VECTOR_WIDTH);
    const line l = vectorized_line(limits, f, widest);
    const int64_t lines = lines_of(f, l.widen);
    const int64_t wanted = (int64_t)limits->compute_units * GROUPS_A_CORE;
    const int64_t most = most_vectors(f, &l, wanted);

    // Rows of memory are read in order, whole if possible.
    int64_t vectors = strip_vectors(&l, f->writes_all ? reread_vectors(limits, f, &l, most) : most);

    // Parts of written elements take another sweep: strips are narrowed first.
    const int64_t all_bytes = product(product(lines, l.width), f->bytes);
    const int64_t at_once = product(strips_of(&l, vectors), f->high);
    const bool parts_pay = all_bytes / ceil_div(wanted, f->high) >= PART_BYTES;
    if (reads_columns(limits, f, widest))
        vectors = even_strips(limits, f, &l, most);
    else if (at_once < wanted && (f->writes_all || !parts_pay))
        vectors = narrowed_vectors(f, &l, vectors, wanted);
    const int64_t strips = strips_of(&l, vectors);
    const int64_t strip_bytes = product(product(lines, vectors * l.vector_width), f->bytes);
    const int64_t run = highs_in_a_row(f, &l, strip_bytes, strips, wanted);
    const int64_t tasks = product(strips, ceil_div(f->high, run));
    const int64_t parts = parts_of(limits, f, lines, tasks, strip_bytes);

    const int64_t groups = (int64_t)limits->max_blocks * FAIR_GROUPS;
    const int64_t grid_x = even_groups(strips, groups);
    const int64_t most_y = min_i64(ceil_div(groups, grid_x), WEFT_MOST_GROUPS);
    return (weft_axis_tiling){
        .vector_width = (int)l.vector_width,
        .vectors = (int)vectors,
        .items = 1,
        .items_y = 1,
        .unroll = (int)vectorized_unroll(f, product(vectors * l.vector_width, f->bytes)),
        .widen = l.widen,
        .run = run,
        .grid_x = grid_x,
        .grid_y = even_groups(ceil_div(f->high, run), most_y),
        .parts = parts,
        .items_z = 1,
    };
}

// ---- GPUs: lanes are items

// Groups as large as the limits allow.
static weft_axis_tiling spread_within(const weft_limits *limits, const facts *f)
{
    const int64_t lines = product(f->mid, f->outer);
    const weft_geometry g = weft_geometry_for(limits, f->high, lines, f->low);
    const int64_t items = g.block_x / g.lanes_x;
    int64_t items_y = g.block_y / g.lanes_y;
    while (items_y_bytes(f, items, items_y, 1) > clamped_i64(limits->local_bytes)) {
        refuse(f->why, "larger items_y",
               "%" PRId64 " items each share %" PRId64 " bytes; there are %zu", items_y,
               items_y_bytes(f, items, items_y, 1), limits->local_bytes);
        items_y /= 2;
    }
    const int64_t groups = product(g.grid_x, g.grid_y);
    int64_t parts = 1;
    if (groups < limits->max_blocks / SPREAD_IDLE)
        parts = even_parts(lines, min_i64(limits->max_blocks / groups,
                                          lines / (items_y * SPREAD_ITERATIONS * SPREAD_UNROLL)));
    if (parts == 1)
        refuse(f->why, PARTS,
               "there are %" PRId64 " groups, of %d at once, and items_y %" PRId64 " for %" PRId64
               " lines",
               groups, limits->max_blocks, items_y, lines);
    const bool is_row = f->low == 1 && f->reads == 1 && lines / parts >= items_y * ROW_UNROLL;
    return (weft_axis_tiling){
        .vector_width = 1,
        .vectors = g.lanes_x,
        .items = (int)items,
        .items_y = (int)items_y,
        .unroll = is_row ? ROW_UNROLL : SPREAD_UNROLL,
        .widen = 1,
        .run = 1,
        .grid_x = g.grid_x,
        .grid_y = min_i64(g.grid_y, WEFT_MOST_GROUPS),
        .parts = parts,
        .items_z = 1,
    };
}

// Items that share a row if low is narrower than a warp: the fewest that fill the device, but
// enough that each has at most SPREAD_CACHED elements, and at least a warp if rows are long enough.
// A row costs steps of combining and, beyond a warp, barriers.
static int64_t row_items(const weft_limits *limits, const facts *f)
{
    const int64_t elements = product(product(f->mid, f->outer), pow2_up(f->low));
    const int64_t most = min_i64(SPREAD_ITEMS, limits->max_block);
    const int64_t resident = (int64_t)limits->max_blocks * limits->max_block;
    const int64_t cached = f->writes_all ? elements / SPREAD_CACHED : 1;
    const int64_t least = max_i64(pow2_up(ceil_div(elements, ROW_UNROLL)), SPREAD_LEAST);
    const int64_t wanted = max_i64(cached, ceil_div(resident, f->high));
    if (pow2_up(f->low) >= limits->warp || wanted > most / 2)
        return most;
    return min_i64(max_i64(pow2_up(wanted), min_i64(least, limits->warp)), most);
}

// Work-groups with items_z above 1, for rows of so many items.
static weft_axis_tiling spread_in_rows(const weft_limits *limits, const facts *f, int64_t items)
{
    const weft_limits lowered = weft_limits_lowered(limits, (size_t)items);
    const int64_t all = min_i64(SPREAD_WARPS * limits->warp, clamped_i64(limits->max_items));
    weft_axis_tiling t = spread_within(&lowered, f);
    const int64_t most = min_i64(min_i64(all / ((int64_t)t.items * t.items_y), f->high),
                                 clamped_i64(limits->max_items_along[2]));
    const bool is_small = f->state_bytes <= SPREAD_STATE_BYTES;
    if (is_small)
        t.unroll = ROW_UNROLL;
    if (items > limits->warp || t.parts > 1 || most < 2)
        return t;
    t.items_z = (int)pow2_down(most);
    while (shared_bytes(f, &t) > clamped_i64(limits->local_bytes))
        t.items_z /= 2;
    t.grid_y =
        min_i64((is_small ? ROW_TASKS : 1) * ceil_div(t.grid_y, t.items_z), WEFT_MOST_GROUPS);
    t.grid_y = min_i64(t.grid_y, ceil_div(f->high, t.items_z));
    return t;
}

static weft_axis_tiling spread_tiling(const weft_limits *limits, const facts *f)
{
    if (weft_held_pays(limits, f))
        return weft_held_tiling(limits, f);
    const weft_limits lowered = weft_limits_lowered(limits, SPREAD_ITEMS);
    const int64_t items = row_items(limits, f);
    if (items < min_i64(SPREAD_ITEMS, limits->max_block))
        return spread_in_rows(limits, f, items);
    if (limits->max_block <= SPREAD_ITEMS)
        return spread_within(limits, f);
    if (f->writes_all || f->state_bytes > SPREAD_STATE_BYTES)
        return spread_within(&lowered, f);
    facts unheard = *f;
    unheard.why = NULL;
    const int64_t parts = spread_within(limits, &unheard).parts;
    if (parts == 1)
        return spread_within(limits, f);
    refuse(f->why, LARGER, "of %d items: mid is cut into parts, and they have too few registers",
           limits->max_block);
    return spread_within(&lowered, f);
}

weft_axis_tiling weft_axis_tiling_for(const weft_limits *limits, const weft_axis_problem *problem)
{
    const facts f = facts_of(problem);
    weft_axis_tiling t = weft_lanes_are_vectors(limits, problem->why)
                             ? vectorized_tiling(limits, &f)
                             : spread_tiling(limits, &f);
    t.cache = caching_pays(limits, &f, &t);
    return t;
}

// ---- the caller's tiling

static weft_status range_check(const char *name, const char *field, int64_t value, int64_t most)
{
    if (value < 1 || value > most)
        return fail(WEFT_BAD_ARGUMENT, "%s.%s is %" PRId64 ": 1 to %" PRId64 " is wanted", name,
                    field, value, most);
    return WEFT_OK;
}

static weft_status group_check(const char *name, const weft_axis_tiling *tiling,
                               const weft_limits *limits)
{
    const size_t *along = limits->max_items_along;
    const int64_t most_items = along[0] < INT32_MAX ? (int64_t)along[0] : INT32_MAX;
    TRY(range_check(name, "items", tiling->items, most_items));
    if (!is_pow2_upto(tiling->items_y, 1 << 20) || (size_t)tiling->items_y > along[0])
        return fail(WEFT_BAD_ARGUMENT, "%s.items_y is %d: a power of two of at most %zu is wanted",
                    name, tiling->items_y, along[0]);
    if (tiling->items_z < 0 || (size_t)tiling->items_z > along[2])
        return fail(WEFT_BAD_ARGUMENT, "%s.items_z is %d: 0 to %zu is wanted", name,
                    tiling->items_z, along[2]);
    const uint64_t items = (uint64_t)tiling->items * (uint64_t)tiling->items_y;
    const size_t most = limits->max_items < along[0] ? limits->max_items : along[0];
    if (items > most) // both are along x
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.items %d x items_y %d are more than the %zu items of a group", name,
                    tiling->items, tiling->items_y, most);
    if (items * (uint64_t)items_z_of(tiling) > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.items_z %d of %d x %d items are more than the %zu of a group", name,
                    tiling->items_z, tiling->items, tiling->items_y, limits->max_items);
    if (tiling->items_z > 1 && (tiling->vector_width > 1 || tiling->widen > 1 || tiling->parts > 1))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.items_z is %d: 1 is wanted, or vector_width, widen and parts of 1", name,
                    tiling->items_z);
    if (!is_pow2_upto(tiling->unroll, MAX_UNROLL))
        return fail(WEFT_BAD_ARGUMENT, "%s.unroll is %d: 1, 2, 4 or 8 is wanted", name,
                    tiling->unroll);
    TRY(range_check(name, "run", tiling->run, INT64_C(1) << 62));
    TRY(range_check(name, "grid_x", tiling->grid_x, INT32_MAX));
    TRY(range_check(name, "grid_y", tiling->grid_y, WEFT_MOST_GROUPS));
    return range_check(name, "parts", tiling->parts, MAX_PARTS);
}

// If a line ends within a vector, the vector is moved to end there, and repeats elements of its
// neighbour. Both must belong to one item.
static weft_status strip_check(const char *name, const weft_axis_tiling *tiling, int64_t width)
{
    if (width % tiling->vector_width == 0)
        return WEFT_OK;
    if (tiling->items > 1)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.items is %d, but lines of %" PRId64
                    " columns are not whole vectors of %d: 1 is wanted",
                    name, tiling->items, width, tiling->vector_width);
    if (is_moved_alone(width, tiling->vector_width, tiling->vectors))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.vectors is %d: of %" PRId64
                    " columns in vectors of %d the last strip would have less than one",
                    name, tiling->vectors, width, tiling->vector_width);
    return WEFT_OK;
}

// One item combines the steps of a widened line.
static weft_status widen_check(const char *name, const weft_axis_tiling *tiling, const facts *f)
{
    // One vector of neighbours may be wider than mid.
    TRY(range_check(name, "widen", tiling->widen,
                    f->low == 1 && f->low_adjacent ? max_i64(f->mid, tiling->vector_width)
                                                   : f->mid));
    if (tiling->widen == 1)
        return WEFT_OK;
    if (!f->mid_adjacent)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.widen is %" PRId64 ", but mid does not step on where low ends", name,
                    tiling->widen);
    const int64_t width = product(tiling->widen, f->low);
    const int64_t most = (int64_t)tiling->vectors * tiling->vector_width;
    if (tiling->items > 1 || width % tiling->vector_width != 0 || width > most)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.widen is %" PRId64 ": lines of %" PRId64
                    " columns are not whole vectors of %d, at most %d of them and one item's",
                    name, tiling->widen, width, tiling->vector_width, tiling->vectors);
    return WEFT_OK;
}

static weft_status line_check(const char *name, const weft_axis_tiling *tiling, const facts *f)
{
    if (!is_pow2_upto(tiling->vector_width, MAX_VECTOR_WIDTH))
        return fail(WEFT_BAD_ARGUMENT, "%s.vector_width is %d: 1, 2, 4, 8 or 16 is wanted", name,
                    tiling->vector_width);
    TRY(range_check(name, "vectors", tiling->vectors, WEFT_AXIS_MOST_VECTORS));
    TRY(widen_check(name, tiling, f));
    const int64_t width = product(tiling->widen, f->low);
    if (width < tiling->vector_width)
        return fail(WEFT_BAD_ARGUMENT, "%s.vector_width is %d, but lines have %" PRId64 " columns",
                    name, tiling->vector_width, width);
    return strip_check(name, tiling, width);
}

static weft_status local_check(const char *name, const weft_axis_tiling *tiling,
                               const weft_limits *limits, const facts *f)
{
    const int64_t shared = shared_bytes(f, tiling);
    if (tiling->cache && (!f->caches || tiling->parts > 1))
        return fail(WEFT_BAD_ARGUMENT,
                    "%s.cache is set: only softmax caches elements, and with mid whole", name);
    const int64_t cached = tiling->cache ? cached_bytes(f, tiling) : 0;
    if (tiling->cache && (uint64_t)shared + (uint64_t)cached > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT, "%s.cache takes %" PRId64 " bytes; local memory has %zu",
                    name, shared + cached, limits->local_bytes);
    if ((uint64_t)shared > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT, "%s.items_y takes %" PRId64 " bytes; local memory has %zu",
                    name, shared, limits->local_bytes);
    return WEFT_OK;
}

weft_status weft_axis_named_tiling_check(const char *name, const weft_axis_tiling *tiling,
                                         const weft_limits *limits,
                                         const weft_axis_problem *problem)
{
    const facts f = facts_of(problem);
    TRY(group_check(name, tiling, limits));
    TRY(line_check(name, tiling, &f));
    TRY(weft_held_check(name, tiling, &f));
    return local_check(name, tiling, limits, &f);
}

weft_status weft_axis_tiling_check(const weft_axis_tiling *tiling, const weft_limits *limits,
                                   const weft_axis_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "axis"));
    return weft_axis_named_tiling_check("axis: tiling", tiling, limits, problem);
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_axis_tiling, vector_width), TILING_FIELD(weft_axis_tiling, vectors),
    TILING_FIELD(weft_axis_tiling, items),        TILING_FIELD(weft_axis_tiling, items_y),
    TILING_FIELD(weft_axis_tiling, unroll),       TILING_FIELD(weft_axis_tiling, widen),
    TILING_FIELD(weft_axis_tiling, run),          TILING_FIELD(weft_axis_tiling, grid_x),
    TILING_FIELD(weft_axis_tiling, grid_y),       TILING_FIELD(weft_axis_tiling, parts),
    TILING_FIELD(weft_axis_tiling, cache),        TILING_FIELD(weft_axis_tiling, items_z),
    TILING_FIELD(weft_axis_tiling, held),
};

const weft_tiling_table weft_axis_tiling_table = TILING_TABLE(fields);

int weft_axis_tiling_print(const weft_axis_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_axis_tiling_table, tiling, text, size);
}
