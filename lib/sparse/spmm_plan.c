// SPDX-License-Identifier: Apache-2.0
// How a sparse x dense product is cut into slices and groups: limits and a problem to a tiling.
#include "sparse/spmm_tiling.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/lanes.h"
#include "base/refuse.h"
#include "operand/view.h"
#include "sparse/sparse_limits.h"
#include "sparse/sparse_plan.h"
#include "sparse/spmm_reduction.h"

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

// Narrow slices that groups copy to local memory.
enum {
    HELD_TRIES = 64,
    HELD_ERRANDS = 2,  // copies for each core, at least
    HELD_ROWS = 16,    // of a bundle: those that wait for windows come from several
    HELD_ENTRIES = 16, // of a row, which ends in each of many slices
    HELD_L1S = 2,      // L1 caches that a copy fills: near enough for rows of more entries
    HELD_LEAST_BYTES = 2 * NARROW_BYTES, // of a row of B, above which it is wide
    HELD_MOST_BYTES = 4 * NARROW_BYTES,  // and what a usual slice has of it
};
static const double HELD_USES = 256;      // of each row in a copy: making it is then hardly felt
static const double EVEN_HELD_USES = 48;  // kept where cores are to have the same number of copies
static const double LEAST_HELD_USES = 12; // else it is made for too little
static const double HELD_IDLE = 0.1;      // part of the cores that may wait for the last copies
static const double NEAR_DENSITY = 0.25;  // of A, from which windows are better than a near copy,
                                          // and of a row of it, from which it has windows of a copy

// Where lanes are items: GPUs.
enum {
    SPREAD_ITEMS = 256,       // of a group at most
    SPREAD_LEAST_ITEMS = 64,  // and at least: a compute unit has room for so many groups, too
    SPREAD_FOLD = 4,          // widest vector that is loaded at once, in elements
    SPREAD_UNROLL = 8,        // loads of B in flight for each item, half as many of 64 bits
    SPREAD_STAGE = 128,       // entries of a row in local memory,
    SPREAD_LARGE_STAGE = 256, // and of a row for a team of so many or more:
    SPREAD_LARGE_TEAM = 8,
    SPREAD_PART = 16,         // entries of a row for each of a team, which pay for joining its sums
    SPREAD_WAIT = 128,        // entries that take an item about as long as a launch: for so many of
    SPREAD_LONG = 2,          // the longest row, and times as long as all others take, teams grow
    SPREAD_PIECE = 1024,      // entries that cost a group about as much as a bundle of usual rows
    SPREAD_SHORT_PIECE = 256, // the same where rows are cut, or may have to be,
    SPREAD_SUMS_BYTES = 1 << 24, // if all such pieces have so many bytes of sums
};

// What plans say that they do without.
static const char WINDOWS[] = "windows of B", PACKED[] = "packed B", NARROW[] = "narrow slices";
static const char HELD[] = "B in local memory", STAGED[] = "entries in local memory";
static const char ALIGNED[] = "aligned vectors", TEAMS[] = "larger teams";

// An entry is staged and added, and a row has loops of its own, each with a part at its end.
double weft_spmm_turns_of_all(const weft_spmm_problem *problem)
{
    enum { TURNS_OF_AN_ENTRY = 2, TURNS_OF_A_ROW = 16 };
    return TURNS_OF_AN_ENTRY * (double)problem->nnz + TURNS_OF_A_ROW * (double)problem->m;
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
        return refuse(problem->why, WINDOWS, "%.3g of A's elements are entries: %.3g are wanted",
                      density_of(problem), density);
    if (is_even(problem))
        return refuse(
            problem->why, WINDOWS,
            "%.3g of A's elements are entries, and rows vary by %.2g: %.3g are wanted, or "
            "rows that vary by %g",
            density_of(problem), problem->rows->cov, density, UNEVEN_COV);
    if (problem->rows && problem->rows->max < (int64_t)wanted)
        return refuse(problem->why, WINDOWS,
                      "A's longest row has %" PRId64 " entries: %d are wanted", problem->rows->max,
                      (int)wanted);
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

// Rows of B in a window of a narrow slice, or of a copy of one, where sums weigh less and rows of B
// are nearer: for rows of *from entries and more alone.
static int narrow_window(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                         int64_t row_bytes)
{
    const int64_t window = min_i64(near->l1_bytes / row_bytes, WEFT_SPARSE_MARGIN);
    const double wanted = NEAR_DENSITY * (double)problem->k + 1;
    if (problem->k <= window)
        return refuse(problem->why, WINDOWS, "the %" PRId64 " rows of B in a slice fit L1",
                      problem->k);
    if (wanted > 2 * FOLDED_PIECE)
        return refuse(problem->why, WINDOWS, "rows of %.3g entries are cut into pieces", wanted);
    if (density_of(problem) < NEAR_DENSITY && is_even(problem))
        return refuse(problem->why, WINDOWS,
                      "%.3g of A's elements are entries, and rows vary by %.2g",
                      density_of(problem), problem->rows->cov);
    if (problem->rows && problem->rows->max < (int64_t)wanted)
        return refuse(problem->why, WINDOWS,
                      "A's longest row has %" PRId64 " entries: %d are wanted", problem->rows->max,
                      (int)wanted);
    *from = (int)wanted;
    return (int)window;
}

// Rows of B in a window; with *from above 0 for rows of so many entries alone.
static int folded_window(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                         int64_t row_bytes)
{
    if (weft_spmm_is_peaks(problem->reduction) || problem->order == WEFT_SPMM_ORDER_QUEUE)
        return refuse(problem->why, WINDOWS, "rows are taken one after the other");
    if (row_bytes < NARROW_BYTES)
        return refuse(problem->why, WINDOWS,
                      "a slice has %" PRId64 " bytes of a row of B: %d are wanted", row_bytes,
                      NARROW_BYTES);
    if (row_bytes < WINDOW_ROW_BYTES && is_half(problem))
        return refuse(problem->why, WINDOWS,
                      "a slice has %" PRId64 " bytes of a row of B: %d are wanted", row_bytes,
                      WINDOW_ROW_BYTES);
    if (row_bytes < WINDOW_ROW_BYTES)
        return narrow_window(from, near, problem, row_bytes);
    const int64_t bytes = window_bytes(from, near, problem, row_bytes);
    if (bytes == 0)
        return 0;
    const int64_t window = min_i64(max_i64(bytes, WINDOW_BYTES) / row_bytes, WEFT_SPARSE_MARGIN);
    if (problem->k <= 2 * window)
        return refuse(problem->why, WINDOWS,
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
        return refuse(problem->why, PACKED, "a %s goes without",
                      weft_spmm_reduction_name(problem->reduction));
    const double uses = (double)problem->nnz / (double)max_i64(problem->k, 1);
    if ((double)problem->nnz < PACKED_USES * (double)problem->k)
        return refuse(problem->why, PACKED, "each row of B is used %.3g times: %g are wanted", uses,
                      PACKED_USES);
    if (!problem->columns_adjacent)
        return true;
    if (problem->n <= slice_columns)
        return refuse(problem->why, PACKED,
                      "a slice has all %" PRId64 " columns, which lie together", problem->n);
    const int64_t slice_bytes = problem->k * slice_columns * bytes;
    return slice_bytes >= least ||
           refuse(problem->why, PACKED,
                  "a slice of B has %" PRId64 " bytes: %" PRId64 " are wanted", slice_bytes, least);
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
        return refuse(problem->why, NARROW,
                      "for sums of 32 or 64 bits whose columns lie side by side");
    if (row_bytes <= NARROW_BYTES)
        return refuse(problem->why, NARROW,
                      "a slice has %" PRId64 " bytes of a row of B: more than %d are wanted",
                      row_bytes, NARROW_BYTES);
    if (slice_bytes <= room)
        return refuse(problem->why, NARROW,
                      "a slice of B has %" PRId64 " bytes: there is room for %" PRId64, slice_bytes,
                      room);
    const double rows = (double)problem->m + (double)problem->k;
    return (double)problem->nnz >= NARROW_USES * rows ||
           refuse(problem->why, NARROW,
                  "there are %.3g entries for each row of A and of B: %g are wanted",
                  (double)problem->nnz / rows, NARROW_USES);
}

// What is known of a product whose narrow slices of B groups copy to local memory.
typedef struct {
    int64_t row_bytes; // of a row of B in a copy
    int64_t n_slices;  // of all matrices
    double density;
} copies;

// Vectors of a narrow slice.
static int narrow_vectors(int64_t fold, const weft_spmm_facts *f)
{
    const int64_t vectors = NARROW_BYTES / (fold * weft_sum_bytes(f->dtype));
    return (int)min_i64(max_i64(vectors, 1), WEFT_SPMM_MAX_VECTORS);
}

static copies copies_of(const weft_spmm_problem *problem, const weft_spmm_facts *f, int64_t fold)
{
    const int64_t columns = fold * narrow_vectors(fold, f);
    const int64_t n_batches = min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    return (copies){
        .row_bytes = columns * weft_sum_bytes(f->dtype),
        .n_slices = ceil_div(min_i64(f->n, WEFT_SPARSE_MAX_EXTENT), columns) * n_batches,
        .density = density_of(problem),
    };
}

// The part of the cores' time that they wait for the last of n errands alike.
static double idle_part(int64_t n, int64_t cores)
{
    return 1 - (double)n / ((double)ceil_div(n, cores) * (double)cores);
}

// Bundles of rows that share a copy: so many that they make up for it, if each core then still has
// some, and about as many as others. 0: they do not.
static int64_t held_bundles(const weft_limits *limits, const weft_spmm_problem *problem,
                            const copies *of)
{
    const int64_t m = max_i64(problem->m, 1), cores = limits->compute_units;
    const int64_t wanted = ceil_div(HELD_ERRANDS * cores, of->n_slices);
    const double all_uses = (double)m * of->density; // of a row of B in a slice
    int64_t parts = max_i64(max_i64((int64_t)(all_uses / HELD_USES + 0.5), wanted), 1);
    for (int i = 0; i < HELD_TRIES && idle_part(parts * of->n_slices, cores) > HELD_IDLE &&
                    all_uses / (double)(parts + 1) >= EVEN_HELD_USES;
         ++i)
        ++parts;
    const int64_t bundles = ceil_div(ceil_div(m, parts), HELD_ROWS);
    const double uses = of->density * (double)min_i64(bundles * HELD_ROWS, m);
    return uses >= LEAST_HELD_USES
               ? min_i64(bundles, INT32_MAX)
               : refuse(problem->why, HELD, "each row of a copy is used %.3g times: %g are wanted",
                        uses, LEAST_HELD_USES);
}

// Turns that the loops of one group may come to, all rows of A and of B at worst.
static double turns_of_copy(const weft_spmm_problem *problem)
{
    return (double)problem->k + weft_spmm_turns_of_all(problem);
}

// Whether rows of A go well through windows of B where it lies, as a slice is all of its columns.
static bool windows_are_better(const weft_caches *near, const weft_spmm_problem *problem,
                               const weft_spmm_facts *f, int64_t row_bytes)
{
    const bool is_beyond = problem->k * row_bytes > near->l2_bytes / 2;
    const bool are_uneven = problem->rows && !is_even(problem);
    if (!problem->columns_adjacent || is_half(problem) ||
        f->n * weft_sum_bytes(f->dtype) > row_bytes)
        return false;
    int from = 0;
    weft_spmm_problem unheard = *problem;
    unheard.why = NULL;
    const int window = folded_window(&from, near, &unheard, row_bytes);
    return window > 0 && ((is_beyond && density_of(problem) >= FAR_DENSITY) || are_uneven);
}

// A copy is worth its cost where rows of B are wide, too far to be read where they lie, and wanted
// often, but not so often that wider slices are better, which then go through windows.
static int64_t held_pays(const weft_limits *limits, const weft_caches *near,
                         const weft_spmm_problem *problem, const weft_spmm_facts *f, int64_t fold,
                         int64_t row_bytes)
{
    const copies of = copies_of(problem, f, fold);
    const int64_t k = min_i64(problem->k, WEFT_SPARSE_MAX_EXTENT), bytes = k * of.row_bytes;
    const double entries = (double)problem->nnz / (double)max_i64(problem->m, 1);
    const int64_t wide =
        min_i64(min_i64(f->n, HELD_MOST_BYTES) * weft_sum_bytes(f->dtype), HELD_MOST_BYTES);
    const int64_t room = min_i64(near->l2_bytes / 2, clamped_i64(limits->local_bytes));
    const double most = bytes <= HELD_L1S * near->l1_bytes ? NEAR_DENSITY : WINDOW_DENSITY;
    if (weft_spmm_is_peaks(problem->reduction) || problem->order == WEFT_SPMM_ORDER_QUEUE)
        return refuse(problem->why, HELD, "for sums, and rows that are not taken from a queue");
    if (wide <= HELD_LEAST_BYTES)
        return refuse(problem->why, HELD,
                      "rows of B have %" PRId64 " bytes: more than %d are wanted", wide,
                      HELD_LEAST_BYTES);
    if (k * wide < 2 * near->l1_bytes)
        return refuse(problem->why, HELD,
                      "%" PRId64 " bytes of each of %" PRId64 " rows of B are near enough", wide,
                      k);
    if (bytes > room)
        return refuse(problem->why, HELD,
                      "a copy has %" PRId64 " bytes: there is room for %" PRId64, bytes, room);
    if (entries < HELD_ENTRIES)
        return refuse(problem->why, HELD, "rows have %.3g entries: %d are wanted", entries,
                      HELD_ENTRIES);
    if (of.density >= most)
        return refuse(problem->why, HELD,
                      "%.3g of A's elements are entries: less than %g are wanted", of.density,
                      most);
    if (problem->dtype == WEFT_BF16 && problem->columns_adjacent)
        return refuse(problem->why, HELD,
                      "bf16 is read by pairs where it lies, at half the bytes of a copy");
    if (is_half(problem) && bytes > HELD_L1S * near->l1_bytes)
        return refuse(problem->why, HELD,
                      "a copy has %" PRId64 " bytes, twice those of B: at most %" PRId64
                      " are wanted",
                      bytes, HELD_L1S * near->l1_bytes);
    if (limits->max_turns > 0 && turns_of_copy(problem) > limits->max_turns)
        return refuse(problem->why, HELD,
                      "%.3g turns of one group's loops: the device ends them after %d",
                      turns_of_copy(problem), limits->max_turns);
    if (windows_are_better(near, problem, f, row_bytes))
        return refuse(problem->why, HELD,
                      "a slice has all columns of B, and rows of A go through windows");
    return held_bundles(limits, problem, &of);
}

// Entries of a turn, so that there are enough sums to hide the latency.
static int folded_unroll(int64_t fold, int vectors, bool is_narrow)
{
    const int sums = is_narrow && fold == WEFT_SPMM_MAX_FOLD ? NARROW_SUMS : FOLDED_SUMS;
    return (int)pow2_down(max_i64(sums / vectors, 1));
}

static weft_spmm_tiling held_tiling(const weft_caches *near, const weft_spmm_problem *problem,
                                    const weft_spmm_facts *f, int64_t fold, int64_t bundles)
{
    const int vectors = narrow_vectors(fold, f);
    int from = 0;
    const int window =
        narrow_window(&from, near, problem, fold * vectors * weft_sum_bytes(f->dtype));
    return (weft_spmm_tiling){
        .fold = (int)fold,
        .vectors = vectors,
        .lanes = 1,
        .rows_per_group = 1,
        .rows_per_item = HELD_ROWS,
        .window = window,
        .window_from = from,
        .load = 1,
        .unroll = folded_unroll(fold, vectors, false),
        .piece = FOLDED_PIECE,
        .bundles_per_copy = (int)bundles,
    };
}

// Lanes are elements of one item's vectors: a slice is one item's, and nothing is shared.
static weft_spmm_tiling folded_tiling(const weft_limits *limits, const weft_spmm_problem *problem,
                                      const weft_spmm_facts *f)
{
    const int64_t sum_bytes = weft_sum_bytes(f->dtype);
    const int64_t widest = weft_limits_fold(limits, sum_bytes, WEFT_SPMM_MAX_FOLD);
    const int64_t fold = min_i64(widest, pow2_down(f->n));
    const int64_t most = min_i64(limits->vectors, WEFT_SPMM_MAX_VECTORS);
    const int usual = fold == widest ? weft_vectors_for(f->n, fold, most) : fold > 1 ? 2 : 1;
    const weft_caches near = weft_caches_of(limits);
    const int64_t bundles = held_pays(limits, &near, problem, f, fold, fold * usual * sum_bytes);
    if (bundles > 0)
        return held_tiling(&near, problem, f, fold, bundles);
    int from = 0;
    int window = folded_window(&from, &near, problem, fold * usual * sum_bytes);
    const bool is_narrow = window > 0 && from == 0
                               ? refuse(problem->why, NARROW, "rows of A go through windows of B")
                               : narrow_pays(&near, problem, fold * usual * sum_bytes);
    if (is_narrow && window > 0)
        window = refuse(problem->why, WINDOWS, "narrow slices bring B nearer");
    const int vectors = is_narrow ? narrow_vectors(fold, f) : usual;
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
static int stage_for(const weft_limits *limits, const weft_spmm_problem *problem, int64_t lanes,
                     int64_t team, int64_t rows)
{
    const int64_t entry_bytes =
        4 + (int64_t)weft_dtype_size(weft_dtype_or(problem->dtype, WEFT_F32));
    if (lanes == 1)
        return refuse(problem->why, STAGED, "one lane has nobody to share them with");
    int64_t stage = team < SPREAD_LARGE_TEAM ? SPREAD_STAGE : SPREAD_LARGE_STAGE;
    while (stage > 0 && rows * (stage * entry_bytes + 4) > (int64_t)(limits->local_bytes / 2)) {
        refuse(problem->why, stage > 1 ? "more entries in local memory" : STAGED,
               "%" PRId64 " of each of %" PRId64 " rows pass half of %zu bytes", stage, rows,
               limits->local_bytes);
        stage /= 2;
    }
    return (int)stage;
}

// Two more kernels cut rows: where they are wanted anyway, nothing is lost by shorter pieces.
// Without a plan all that there may be have scratch memory, of which little is taken for that.
static int64_t spread_piece(const weft_spmm_problem *problem)
{
    const int64_t longest = problem->rows ? problem->rows->max : min_i64(problem->k, problem->nnz);
    const double bytes = (double)problem->nnz / SPREAD_SHORT_PIECE * (double)problem->n *
                         (double)weft_sum_bytes(weft_dtype_or(problem->dtype, WEFT_F32));
    if (longest <= 2 * SPREAD_PIECE || (!problem->rows && bytes > SPREAD_SUMS_BYTES))
        return SPREAD_PIECE;
    return SPREAD_SHORT_PIECE;
}

// Rows side by side in a group, which wait for each other: as few as make a group.
static int64_t spread_rows(const weft_limits *limits, int64_t items, int64_t lanes, int64_t team)
{
    const int64_t rows = min_i64(items, SPREAD_LEAST_ITEMS) / (lanes * team);
    return min_i64(max_i64(rows, 1), weft_limits_items_along(limits, 1));
}

// Teams that there are: each is a program.
static const int64_t spread_teams[] = {4, 8, 32};

// Rows are shared by teams where there are too few of them to occupy the device; and by these, then
// by larger ones, where the longest row known would still go on when all others have ended. The
// batch does not matter: another team has other bits.
static int64_t team_for(const weft_limits *limits, const weft_spmm_problem *problem,
                        const weft_spmm_facts *f, int64_t items, int64_t lanes, int64_t columns)
{
    const double resident = (double)limits->max_blocks * limits->max_block;
    const double rows = (double)max_i64(problem->m, 1), slices = (double)ceil_div(f->n, columns);
    const double idle = resident / (rows * slices * (double)lanes);
    const double entries = (double)problem->nnz / rows; // of a row
    const int64_t longest =
        problem->rows ? min_i64(problem->rows->max, 2 * spread_piece(problem)) : 0;
    const int64_t room = clamped_i64(limits->local_bytes) / 2;
    if (weft_spmm_is_peaks(problem->reduction))
        return 1 + refuse(problem->why, TEAMS, "a %s goes without",
                          weft_spmm_reduction_name(problem->reduction));
    int64_t team = 1;
    for (size_t i = 0; i < sizeof(spread_teams) / sizeof(spread_teams[0]); i++) {
        const int64_t next = spread_teams[i];
        if (next > items / lanes)
            break;
        const double at_once = (double)team < idle ? (double)team : idle; // items for a row
        const int64_t wait = longest / team; // entries of the longest one
        const bool fills = i == 0 && (double)next <= idle && entries >= (double)next * SPREAD_PART;
        const bool evens = wait > SPREAD_WAIT && (double)wait > SPREAD_LONG * entries / at_once;
        const int64_t bytes = spread_rows(limits, items, lanes, next) * (next - 1) * columns *
                              weft_sum_bytes(f->dtype);
        if (!fills && !evens) {
            refuse(problem->why, TEAMS,
                   "rows have %.3g entries, the longest that is known %" PRId64
                   ", and the device has room for %.3g times as many",
                   entries, longest, idle);
            break;
        }
        if (bytes > room) {
            refuse(problem->why, TEAMS,
                   "their sums are %" PRId64 " bytes: there is room for %" PRId64, bytes, room);
            break;
        }
        team = next;
    }
    return team;
}

// Lanes are items: they share a slice, and the entries of its row through local memory.
static weft_spmm_tiling spread_tiling(const weft_limits *limits, const weft_spmm_problem *problem,
                                      const weft_spmm_facts *f)
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
    const int vectors = units > lanes ? 2 : 1;
    const int64_t team = team_for(limits, problem, f, items, lanes, lanes * vectors * fold);
    const int64_t rows = spread_rows(limits, items, lanes, team);
    const bool stages = !weft_spmm_is_peaks(problem->reduction) ||
                        refuse(problem->why, STAGED, "a %s goes without",
                               weft_spmm_reduction_name(problem->reduction));
    const int stage = stages ? stage_for(limits, problem, lanes, team, rows) : 0;
    if (fold < widest)
        refuse(problem->why, ALIGNED,
               "of %" PRId64 ": n is %" PRId64 ", and rows begin at multiples of %" PRId64, widest,
               f->n, f->alignment);
    const int64_t load = min_i64(
        min_i64(limits->load_bytes / max_i64(bytes, 4), WEFT_SPMM_MAX_LOAD), f->entry_alignment);
    return (weft_spmm_tiling){
        .fold = (int)fold,
        .vectors = vectors,
        .lanes = (int)lanes,
        .team = (int)team,
        .rows_per_group = (int)rows,
        .rows_per_item = 1,
        .stage = stage,
        .load = (int)pow2_down(max_i64(min_i64(load, stage), 1)),
        .unroll = SPREAD_UNROLL / vectors / (weft_sum_bytes(f->dtype) > 4 ? 2 : 1),
        .piece = spread_piece(problem),
        .packed = (!problem->columns_adjacent ||
                   refuse(problem->why, PACKED, "columns of B lie side by side")) &&
                  packing_pays(problem, f->n, bytes, 0),
        .aligned = fold > 1,
    };
}

weft_spmm_tiling weft_spmm_tiling_for(const weft_limits *limits, const weft_spmm_problem *problem)
{
    const weft_spmm_facts f = weft_spmm_facts_of(problem);
    return weft_lanes_are_folded(limits, problem->why) ? folded_tiling(limits, problem, &f)
                                                       : spread_tiling(limits, problem, &f);
}
