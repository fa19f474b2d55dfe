// SPDX-License-Identifier: Apache-2.0
// How a sparse x dense product is cut into slices and groups: limits and a problem to a tiling.
#include <inttypes.h>
#include <stdio.h>

#include <weft/spmm.h>

#include "arithmetic.h"
#include "caches.h"
#include "clamp.h"
#include "fail.h"
#include "refuse.h"
#include "sparse_limits.h"
#include "sparse_plan.h"
#include "spmm_product.h"
#include "view.h"

enum { MAX_FOLD = 16, MAX_VECTORS = 8, MAX_UNROLL = 8, MAX_LOAD = 4 };

// Where an item carries whole vectors: CPUs.
enum {
    FOLDED_SUMS = 8,        // independent sums that hide the latency of a multiply-add
    FOLDED_ERRANDS = 32,    // items for each core, so that the last ones end together
    FOLDED_PIECE = 4096,    // entries that cost a core tens of microseconds
    WINDOW_BYTES = 1 << 15, // of B at least, or rows have too few entries in a window
    WINDOW_ROW_BYTES = 256, // of a row of B in a slice
    FAR_L1S = 10,           // L1 caches that a slice of B is as large as: mostly out of it
    OUT_OF_L1S = 4,         // the same, for rows that go through most of it
};
static const double WINDOW_DENSITY = 0.15; // of A or of a row of it, from which windows of B pay
static const double FAR_DENSITY = 0.08;    // where the slice is far away
static const double DENSE_ROWS = 0.03;     // of A, where some rows may be dense by themselves
static const double UNEVEN_COV = 0.75;     // from which rows are of different lengths
static const double PACKED_USES = 24;      // of each row of B, which is written and read once more

// Slices narrower than usual, so that the rows of B that a core goes back to come nearer.
enum {
    NARROW_BYTES = 128, // of a row of B
    NARROW_SUMS = 16,   // where there are registers for them: rows end so often
};
static const double NARROW_USES = 40; // entries for each row of A and of B together

// Where lanes are items: GPUs.
enum {
    SPREAD_ITEMS = 128,  // of a group: they fill a compute unit's schedulers, and still balance
    SPREAD_FOLD = 4,     // widest vector that is loaded at once, in elements
    SPREAD_UNROLL = 4,   // loads of B in flight for each item
    SPREAD_STAGE = 32,   // entries of a row in local memory
    SPREAD_PIECE = 1024, // entries that cost a group about as much as a bundle of usual rows
};

// What plans say that they do without.
static const char WINDOWS[] = "windows of B", PACKED[] = "packed B", NARROW[] = "narrow slices";
static const char STAGED[] = "entries in local memory", ALIGNED[] = "aligned vectors";

// A forgiving view of the problem: defaults filled in, extents at least 1.
typedef struct {
    weft_dtype dtype;
    int64_t n, alignment, entry_alignment;
} facts;

static facts facts_of(const weft_spmm_problem *problem)
{
    return (facts){
        .dtype = weft_dtype_or(problem->dtype, WEFT_F32),
        .n = max_i64(problem->n, 1),
        .alignment = problem->columns_adjacent ? max_i64(problem->alignment, 1) : 1,
        .entry_alignment = max_i64(problem->entry_alignment, 1),
    };
}

// Rows of an item: many enough to use a window of B well, few enough that the last items end
// together. More of them in windows, and where many narrow slices make many items anyway.
static int folded_rows(const weft_limits *limits, const weft_spmm_problem *problem, bool are_more)
{
    const int64_t most = are_more ? WEFT_SPMM_MOST_ROWS : WEFT_SPMM_MOST_ROWS / 2;
    const int64_t errands = are_more ? FOLDED_ERRANDS / 2 : FOLDED_ERRANDS;
    const int64_t all = problem->m * min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    const int64_t rows = pow2_down(max_i64(all / (errands * limits->compute_units), 1));
    return (int)min_i64(max_i64(rows, 4), most);
}

// Whether rows are known to be of about the same length. Long ones go through a slice of B from end
// to end, and leave nothing near.
static bool is_even(const weft_spmm_problem *problem)
{
    return problem->rows != NULL && problem->rows->cov < UNEVEN_COV;
}

static bool is_half(const weft_spmm_problem *problem)
{
    return problem->dtype == WEFT_F16 || problem->dtype == WEFT_BF16;
}

// With a plan, which sorts what a window holds, it is enough that a slice of B is mostly out of L1;
// without one it must also fill L2, where A and C want to pass. Types of 16 bits wait for their
// conversion, not for B.
static bool is_far(const weft_caches *near, const weft_spmm_problem *problem, int64_t row_bytes)
{
    const bool is_planned = problem->rows != NULL;
    const int64_t slice_bytes = problem->k * row_bytes;
    return !is_half(problem) && slice_bytes >= FAR_L1S * near->l1_bytes &&
           (is_planned || slice_bytes > near->l2_bytes / 2);
}

static double density_of(const weft_spmm_problem *problem)
{
    return (double)problem->nnz / ((double)problem->m * (double)problem->k);
}

// Where A as a whole is too sparse: windows for rows of that density alone, of *from entries, if B
// is out of L1, there may be several that share what they read, and they are not so long that they
// are cut into pieces.
static bool has_dense_rows(int *from, double density, const weft_caches *near,
                           const weft_spmm_problem *problem, int64_t row_bytes)
{
    const double wanted = density * (double)problem->k + 1;
    if (is_half(problem) || problem->k * row_bytes < OUT_OF_L1S * near->l1_bytes ||
        density_of(problem) < DENSE_ROWS || wanted > 2 * FOLDED_PIECE)
        return refuse(WINDOWS, "%.3g of A's elements are entries: %.3g are wanted",
                      density_of(problem), density);
    if (is_even(problem))
        return refuse(
            WINDOWS,
            "%.3g of A's elements are entries, and rows vary by %.2g: %.3g are wanted, or "
            "rows that vary by %g",
            density_of(problem), problem->rows->cov, density, UNEVEN_COV);
    if (problem->rows && problem->rows->max < (int64_t)wanted)
        return refuse(WINDOWS, "A's longest row has %" PRId64 " entries: %d are wanted",
                      problem->rows->max, (int)wanted);
    *from = (int)wanted;
    return true;
}

// A window pays where its rows of B are read several times while they are near, and each row of A
// has several entries in it: where the matrix is dense enough, and earlier where B is far away, or
// for those rows alone that are. The sparser, the larger: what is near must make up for fetching a
// row's sums and putting them back. 0: none pays.
static int64_t window_bytes(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                            int64_t row_bytes)
{
    const bool is_planned = problem->rows != NULL;
    const int64_t l1_bytes = near->l1_bytes;
    const double density = density_of(problem);
    if (density >= 0.4)
        return 2 * l1_bytes / 3;
    if (density >= WINDOW_DENSITY)
        return is_planned ? 2 * l1_bytes / 3 : l1_bytes;
    const bool pays_far = density >= FAR_DENSITY && is_far(near, problem, row_bytes);
    if (pays_far && is_even(problem))
        return 2 * l1_bytes;
    if (!has_dense_rows(from, pays_far ? FAR_DENSITY : WINDOW_DENSITY, near, problem, row_bytes))
        return 0;
    return pays_far && !is_planned ? 7 * l1_bytes / 6 : l1_bytes;
}

// Rows of B in a window; with *from above 0 for rows of so many entries alone.
static int folded_window(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                         int64_t row_bytes)
{
    if (weft_spmm_is_peaks(problem->reduction) || problem->order == WEFT_SPMM_ORDER_QUEUE)
        return refuse(WINDOWS, "rows are taken one after the other");
    const int64_t bytes = window_bytes(from, near, problem, row_bytes);
    if (bytes == 0)
        return 0;
    if (row_bytes < WINDOW_ROW_BYTES)
        return refuse(WINDOWS, "a slice has %" PRId64 " bytes of a row of B: %d are wanted",
                      row_bytes, WINDOW_ROW_BYTES);
    const int64_t window = min_i64(max_i64(bytes, WINDOW_BYTES) / row_bytes, WEFT_SPARSE_MARGIN);
    if (problem->k <= 2 * window)
        return refuse(WINDOWS,
                      "B has %" PRId64 " rows, and a window %" PRId64 ": more than two are wanted",
                      problem->k, window);
    return (int)window;
}

// Copying B pays where each of its rows is used often, and columns stand apart or a slice of least
// bytes is a part of rows so long that it would occupy few sets of a cache.
static bool packing_pays(const weft_spmm_problem *problem, int64_t slice_columns, int64_t bytes,
                         int64_t least)
{
    if (weft_spmm_is_peaks(problem->reduction))
        return refuse(PACKED, "a %s goes without", weft_spmm_reduction_name(problem->reduction));
    const double uses = (double)problem->nnz / (double)max_i64(problem->k, 1);
    if ((double)problem->nnz < PACKED_USES * (double)problem->k)
        return refuse(PACKED, "each row of B is used %.3g times: %g are wanted", uses, PACKED_USES);
    if (!problem->columns_adjacent)
        return true;
    if (problem->n <= slice_columns)
        return refuse(PACKED, "a slice has all %" PRId64 " columns, which lie together",
                      problem->n);
    const int64_t slice_bytes = problem->k * slice_columns * bytes;
    return slice_bytes >= least ||
           refuse(PACKED, "a slice of B has %" PRId64 " bytes: %" PRId64 " are wanted", slice_bytes,
                  least);
}

// Narrow slices pay where usual ones do not fit L2, and, for even rows, where they take more than
// half of it: then their pages are more than the core has translations for. In return rows of A end
// more often, and B is packed.
static bool narrow_pays(const weft_caches *near, const weft_spmm_problem *problem,
                        int64_t row_bytes)
{
    const int64_t slice_bytes = problem->k * row_bytes;
    const int64_t room = is_even(problem) ? near->l2_bytes / 2 : near->l2_bytes;
    if (!problem->columns_adjacent || is_half(problem) || weft_spmm_is_peaks(problem->reduction))
        return refuse(NARROW, "for sums of 32 or 64 bits whose columns lie side by side");
    if (row_bytes <= NARROW_BYTES)
        return refuse(NARROW,
                      "a slice has %" PRId64 " bytes of a row of B: more than %d are wanted",
                      row_bytes, NARROW_BYTES);
    if (slice_bytes <= room)
        return refuse(NARROW, "a slice of B has %" PRId64 " bytes: there is room for %" PRId64,
                      slice_bytes, room);
    const double rows = (double)problem->m + (double)problem->k;
    return (double)problem->nnz >= NARROW_USES * rows ||
           refuse(NARROW, "there are %.3g entries for each row of A and of B: %g are wanted",
                  (double)problem->nnz / rows, NARROW_USES);
}

// Entries of a turn, so that there are enough sums to hide the latency.
static int folded_unroll(int64_t fold, int vectors, bool is_narrow)
{
    const int sums = is_narrow && fold == MAX_FOLD ? NARROW_SUMS : FOLDED_SUMS;
    return (int)pow2_down(max_i64(sums / vectors, 1));
}

// Lanes are elements of one item's vectors: a slice is one item's, and nothing is shared.
static weft_spmm_tiling folded_tiling(const weft_limits *limits, const weft_spmm_problem *problem,
                                      const facts *f)
{
    const int64_t sum_bytes = weft_sum_bytes(f->dtype);
    const int64_t widest = weft_limits_fold(limits, sum_bytes, MAX_FOLD);
    const int64_t fold = min_i64(widest, pow2_down(f->n));
    const int64_t most = min_i64(limits->vectors, MAX_VECTORS);
    const int usual = fold == widest ? weft_vectors_for(f->n, fold, most) : fold > 1 ? 2 : 1;
    const weft_caches near = weft_caches_of(limits);
    int from = 0;
    int window = folded_window(&from, &near, problem, fold * usual * sum_bytes);
    const bool is_narrow = window > 0 && from == 0
                               ? refuse(NARROW, "rows of A go through windows of B")
                               : narrow_pays(&near, problem, fold * usual * sum_bytes);
    if (is_narrow && window > 0)
        window = refuse(WINDOWS, "narrow slices bring B nearer");
    const int vectors = is_narrow ? (int)max_i64(NARROW_BYTES / (fold * sum_bytes), 1) : usual;
    const int64_t bytes = (int64_t)weft_dtype_size(f->dtype);
    return (weft_spmm_tiling){
        .fold = (int)fold,
        .vectors = vectors,
        .lanes = 1,
        .rows_per_group = 1,
        .rows_per_item = folded_rows(limits, problem, window > 0 || is_narrow),
        .window = window,
        .window_from = window > 0 ? from : 0,
        .load = 1,
        .unroll = folded_unroll(fold, vectors, is_narrow),
        .piece = FOLDED_PIECE,
        .packed = packing_pays(problem, fold * vectors, bytes, near.l2_bytes / 8),
    };
}

// Entries of one row that fit in the group's local memory, index and value; half of it is left, so
// that two groups can be resident.
static int stage_for(const weft_limits *limits, const facts *f, int64_t lanes, int64_t rows)
{
    const int64_t entry_bytes = 4 + (int64_t)weft_dtype_size(f->dtype);
    if (lanes == 1)
        return refuse(STAGED, "one lane has nobody to share them with");
    int64_t stage = SPREAD_STAGE;
    while (stage > 0 && rows * (stage * entry_bytes + 4) > (int64_t)(limits->local_bytes / 2)) {
        refuse(stage > 1 ? "more entries in local memory" : STAGED,
               "%" PRId64 " of each of %" PRId64 " rows pass half of %zu bytes", stage, rows,
               limits->local_bytes);
        stage /= 2;
    }
    return (int)stage;
}

// Lanes are items: they share a slice, and the entries of its row through local memory.
static weft_spmm_tiling spread_tiling(const weft_limits *limits, const weft_spmm_problem *problem,
                                      const facts *f)
{
    const int64_t bytes = (int64_t)weft_dtype_size(f->dtype);
    const int64_t widest = pow2_down(max_i64(min_i64(limits->load_bytes / bytes, SPREAD_FOLD), 1));
    const int64_t fits = min_i64(f->alignment, pow2_divisor(f->n));
    const int64_t fold = fits >= widest ? widest : 1; // each is a program
    const int64_t units = ceil_div(f->n, fold);
    const int64_t items =
        min_i64(min_i64(limits->max_block, SPREAD_ITEMS), weft_limits_items_along(limits, 0));
    const int64_t warp = min_i64(limits->warp, items);
    const int64_t lanes = units <= warp / 4 ? warp / 4 : warp;
    const int64_t rows = min_i64(items / lanes, weft_limits_items_along(limits, 1));
    const int vectors = units > lanes ? 2 : 1;
    const bool stages =
        !weft_spmm_is_peaks(problem->reduction) ||
        refuse(STAGED, "a %s goes without", weft_spmm_reduction_name(problem->reduction));
    const int stage = stages ? stage_for(limits, f, lanes, rows) : 0;
    if (fold < widest)
        refuse(ALIGNED, "of %" PRId64 ": n is %" PRId64 ", and rows begin at multiples of %" PRId64,
               widest, f->n, f->alignment);
    const int64_t load =
        min_i64(min_i64(limits->load_bytes / max_i64(bytes, 4), MAX_LOAD), f->entry_alignment);
    return (weft_spmm_tiling){
        .fold = (int)fold,
        .vectors = vectors,
        .lanes = (int)lanes,
        .rows_per_group = (int)rows,
        .rows_per_item = 1,
        .stage = stage,
        .load = (int)pow2_down(max_i64(min_i64(load, stage), 1)),
        .unroll = SPREAD_UNROLL / vectors,
        .piece = SPREAD_PIECE,
        .packed = (!problem->columns_adjacent || refuse(PACKED, "columns of B lie side by side")) &&
                  packing_pays(problem, f->n, bytes, 0),
        .aligned = fold > 1,
    };
}

weft_spmm_tiling weft_spmm_tiling_for(const weft_limits *limits, const weft_spmm_problem *problem)
{
    const facts f = facts_of(problem);
    return weft_lanes_are_folded(limits) ? folded_tiling(limits, problem, &f)
                                         : spread_tiling(limits, problem, &f);
}

static weft_status columns_check(const weft_spmm_tiling *tiling, const facts *f)
{
    if (!is_pow2_upto(tiling->fold, MAX_FOLD) || tiling->fold > f->n)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.fold is %d: 1, 2, 4, 8 or 16 and at most n = %" PRId64
                    " is wanted",
                    tiling->fold, f->n);
    if (tiling->vectors < 1 || tiling->vectors > MAX_VECTORS)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.vectors is %d: 1 to %d is wanted",
                    tiling->vectors, MAX_VECTORS);
    const int64_t columns = (int64_t)tiling->fold * tiling->vectors * tiling->lanes;
    if (columns > WEFT_SPARSE_MARGIN)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.fold %d x vectors %d x lanes %d are %" PRId64
                    " columns: at most %d are wanted",
                    tiling->fold, tiling->vectors, tiling->lanes, columns, WEFT_SPARSE_MARGIN);
    if (tiling->aligned && (f->alignment % tiling->fold != 0 || f->n % tiling->fold != 0))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.aligned with fold %d: rows of B and C start on multiples of "
                    "%" PRId64 ", n is %" PRId64,
                    tiling->fold, f->alignment, f->n);
    return WEFT_OK;
}

static weft_status group_check(const weft_spmm_tiling *tiling, const weft_limits *limits)
{
    const int64_t lanes = tiling->lanes, rows = tiling->rows_per_group;
    const int64_t most_rows = min_i64(clamped_i64(limits->max_items_along[1]), WEFT_SPARSE_MARGIN);
    if (lanes < 1 || (uint64_t)lanes > limits->max_items_along[0])
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.lanes is %" PRId64 ": 1 to %zu is wanted",
                    lanes, limits->max_items_along[0]);
    if (rows < 1 || rows > most_rows)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.rows_per_group is %" PRId64 ": 1 to %" PRId64 " is wanted", rows,
                    most_rows);
    if ((uint64_t)(lanes * rows) > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.lanes %" PRId64 " x rows_per_group %" PRId64
                    " are more than the %zu items of a group",
                    lanes, rows, limits->max_items);
    if (tiling->rows_per_item < 0 || tiling->rows_per_item > WEFT_SPMM_MOST_ROWS)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.rows_per_item is %d: 0 to %d is wanted",
                    tiling->rows_per_item, WEFT_SPMM_MOST_ROWS);
    if (tiling->window < 0 || tiling->window > WEFT_SPARSE_MARGIN)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.window is %d: 0 to %d is wanted",
                    tiling->window, WEFT_SPARSE_MARGIN);
    if (tiling->window_from < 0)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.window_from is %d: 0 or more is wanted",
                    tiling->window_from);
    return WEFT_OK;
}

static weft_status entries_check(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                 const facts *f)
{
    const uint64_t entry_bytes = 4 + weft_dtype_size(f->dtype);
    const uint64_t row_bytes = (uint64_t)tiling->stage * entry_bytes + 4;
    if (tiling->stage < 0 ||
        (tiling->stage > 0 && (uint64_t)tiling->rows_per_group * row_bytes > limits->local_bytes))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.stage is %d entries for each of %d rows; local memory has %zu "
                    "bytes",
                    tiling->stage, tiling->rows_per_group, limits->local_bytes);
    if (tiling->stage > 0 && tiling->lanes == 1)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.stage is %d, but one lane has nobody to share entries with",
                    tiling->stage);
    if (!is_pow2_upto(tiling->load, MAX_LOAD) || tiling->load > f->entry_alignment ||
        tiling->load > max_i64(tiling->stage, 1) || tiling->stage % tiling->load != 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.load is %d: 1, 2 or 4 that divides stage %d and the distance of "
                    "indices and values, %" PRId64 ", is wanted",
                    tiling->load, tiling->stage, f->entry_alignment);
    if (!is_pow2_upto(tiling->unroll, MAX_UNROLL))
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.unroll is %d: 1, 2, 4 or 8 is wanted",
                    tiling->unroll);
    if (tiling->piece < 1 || tiling->piece > INT64_MAX / 4)
        return fail(WEFT_BAD_ARGUMENT, "spmm: tiling.piece is %" PRId64 ": at least 1 is wanted",
                    tiling->piece);
    return WEFT_OK;
}

static weft_status peaks_check(const weft_spmm_tiling *tiling, const weft_spmm_problem *problem)
{
    if (weft_spmm_is_peaks(problem->reduction) &&
        (tiling->window > 0 || tiling->stage > 0 || tiling->packed))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: tiling.window is %d, stage %d, %s: a %s goes without all three",
                    tiling->window, tiling->stage, tiling->packed ? "packed" : "not packed",
                    weft_spmm_reduction_name(problem->reduction));
    return WEFT_OK;
}

weft_status weft_spmm_tiling_check(const weft_spmm_tiling *tiling, const weft_limits *limits,
                                   const weft_spmm_problem *problem)
{
    const facts f = facts_of(problem);
    TRY(group_check(tiling, limits));
    TRY(columns_check(tiling, &f));
    TRY(entries_check(tiling, limits, &f));
    return peaks_check(tiling, problem);
}

int weft_spmm_tiling_print(const weft_spmm_tiling *tiling, char *text, size_t size)
{
    const int rows_per_item = tiling->rows_per_item > 0 ? tiling->rows_per_item : 1;
    char staging[96] = "entries read where they lie";
    if (tiling->window > 0 && tiling->window_from > 0)
        snprintf(staging, sizeof(staging),
                 "rows of %d entries and more side by side through windows of %d",
                 tiling->window_from, tiling->window);
    else if (tiling->window > 0)
        snprintf(staging, sizeof(staging), "side by side through windows of %d", tiling->window);
    else if (tiling->stage > 0)
        snprintf(staging, sizeof(staging), "%d entries staged by loads of %d", tiling->stage,
                 tiling->load);
    return snprintf(text, size,
                    "slices of %d lanes x %d vectors x %d %scolumns%s, %d x %d rows a group, %s, "
                    "unrolled by %d, pieces of %" PRId64,
                    tiling->lanes, tiling->vectors, tiling->fold, tiling->aligned ? "aligned " : "",
                    tiling->packed ? " of packed B" : "", tiling->rows_per_group, rows_per_item,
                    staging, tiling->unroll, tiling->piece);
}
