// SPDX-License-Identifier: Apache-2.0
// Chooses the tiling of a sparse x dense product for limits and a problem.
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
#include "sparse/spmm_packing.h"
#include "sparse/spmm_plan_spread.h"
#include "sparse/spmm_reduction.h"

// For CPUs, where an item computes whole vectors.
enum {
    VECTORIZED_SUMS = 8,         // independent sums that hide the latency of a multiply-add
    VECTORIZED_TASKS = 32,       // items for each core, so that the last ones end together
    VECTORIZED_ROW_CHUNK = 4096, // entries: tens of microseconds of a core
    K_BLOCK_BYTES = 1 << 15,     // least bytes of B: else rows have too few entries in a k-block
    K_BLOCK_ROW_BYTES = 256,     // of a row of B in an n-tile
    FAR_L1S = 10,   // size of an n-tile of B, in L1 caches, from which it is mostly out of L1
    OUT_OF_L1S = 4, // the same, for rows that read most of the n-tile
};
static const double K_BLOCK_DENSITY = 0.15; // of A or of a row of it, from which k-blocks pay
static const double FAR_DENSITY = 0.08;     // where the n-tile is mostly out of L1
static const double DENSE_ROWS = 0.03;      // of A, where single rows may be dense
static const double UNEVEN_COV = 0.75;      // from which rows are of different lengths

// N-tiles narrower than usual, so that a core rereads rows of B from a nearer cache.
enum {
    NARROW_BYTES = 128, // of a row of B
    NARROW_SUMS = 16,   // independent sums if registers suffice, because rows end so often
};
static const double NARROW_USES = 40; // least entries per row of A and of B together

// Entries of a row on average.
enum {
    SHORT_ROW = 16,          // below it groups have more narrow rows
    MERGED_ROW_ENTRIES = 16, // from it on merging lanes is less than what they save
};

// Narrow n-tiles that groups copy to local memory.
enum {
    STAGED_B_TRIES = 64,
    STAGED_B_TASKS = 2,    // least copies for each core
    STAGED_B_ROWS = 16,    // rows of a row block; rows of several wait for k-blocks
    STAGED_B_ENTRIES = 16, // least entries of a row, which ends in each of many n-tiles
    STAGED_B_L1S = 2,      // size of a copy, in L1 caches, up to which rows may be denser
    STAGED_B_LEAST_BYTES = 2 * NARROW_BYTES, // a row of B must have more
    STAGED_B_MOST_BYTES = 4 * NARROW_BYTES,  // of a row of B in a usual n-tile
};
// Uses of each row in a copy: planned; least, if more copies balance the cores; and least, for a
// copy to pay.
static const double STAGED_B_USES = 256, EVEN_STAGED_B_USES = 48, LEAST_STAGED_B_USES = 12;
static const double STAGED_B_IDLE = 0.1; // fraction of the cores that may wait for the last copies
static const double NEAR_DENSITY = 0.25; // of A, from which k-blocks are faster than a near copy;
                                         // of a row, from which it uses k-blocks of a copy

// Features, named in the reasons for not using them.
static const char K_BLOCKS[] = "k-blocks of B", NARROW[] = "narrow n-tiles";
static const char STAGED_B[] = "B in local memory", ENTRY_LANES[] = "entries side by side";

// Two loops process an entry, which is staged and added; a row has loops with remainders.
double weft_spmm_most_iterations(const weft_spmm_problem *problem)
{
    enum { ITERATIONS_OF_AN_ENTRY = 2, ITERATIONS_OF_A_ROW = 16 };
    return ITERATIONS_OF_AN_ENTRY * (double)problem->nnz + ITERATIONS_OF_A_ROW * (double)problem->m;
}

// Rows of an item: enough to reuse a k-block of B, but so few that the last items end together.
// With k-blocks, and with narrow n-tiles, which give many items, more (are_more).
static int vectorized_rows(const weft_limits *limits, const weft_spmm_problem *problem,
                           bool are_more)
{
    const int64_t most = are_more ? WEFT_SPMM_MOST_ROWS : WEFT_SPMM_MOST_ROWS / 2;
    const int64_t tasks = are_more ? VECTORIZED_TASKS / 2 : VECTORIZED_TASKS;
    const int64_t all = problem->m * min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    const int64_t rows = pow2_down(max_i64(all / (tasks * limits->compute_units), 1));
    return (int)min_i64(max_i64(rows, 4), most);
}

// Whether rows are known to have about the same length. Long rows read a whole n-tile of B, and
// evict it from near caches.
static bool is_even(const weft_spmm_problem *problem)
{
    return problem->rows != NULL && problem->rows->cov < UNEVEN_COV;
}

static bool is_half(const weft_spmm_problem *problem)
{
    return problem->dtype == WEFT_F16 || problem->dtype == WEFT_BF16;
}

// Whether an n-tile of B is far from the core: mostly out of L1; and without a plan, which sorts
// the segments of a k-block, also larger than half of L2, through which A and C pass. 16-bit types
// are bound by conversion, not by reading B.
static bool is_far(const weft_caches *near, const weft_spmm_problem *problem, int64_t row_bytes)
{
    const bool is_planned = problem->rows != NULL;
    const int64_t n_tile_bytes = problem->k * row_bytes;
    return !is_half(problem) && n_tile_bytes >= FAR_L1S * near->l1_bytes &&
           (is_planned || n_tile_bytes > near->l2_bytes / 2);
}

static double density_of(const weft_spmm_problem *problem)
{
    return (double)problem->nnz / ((double)problem->m * (double)problem->k);
}

// If all of A is too sparse: whether k-blocks pay for rows of that density, of *from entries or
// more. B must be out of L1, several such rows must share reads, and they must not be so long that
// they are cut into row chunks.
static bool has_dense_rows(int *from, double density, const weft_caches *near,
                           const weft_spmm_problem *problem, int64_t row_bytes)
{
    const double wanted = density * (double)problem->k + 1;
    if (is_half(problem) || problem->k * row_bytes < OUT_OF_L1S * near->l1_bytes ||
        density_of(problem) < DENSE_ROWS || wanted > 2 * VECTORIZED_ROW_CHUNK)
        return refuse(problem->why, K_BLOCKS, "%.3g of A's elements are entries: %.3g are wanted",
                      density_of(problem), density);
    if (is_even(problem))
        return refuse(
            problem->why, K_BLOCKS,
            "%.3g of A's elements are entries, and rows vary by %.2g: %.3g are wanted, or "
            "rows that vary by %g",
            density_of(problem), problem->rows->cov, density, UNEVEN_COV);
    if (problem->rows && problem->rows->max < (int64_t)wanted)
        return refuse(problem->why, K_BLOCKS,
                      "A's longest row has %" PRId64 " entries: %d are wanted", problem->rows->max,
                      (int)wanted);
    *from = (int)wanted;
    return true;
}

static int k_block_rows(int64_t bytes, int64_t row_bytes)
{
    return (int)min_i64(max_i64(bytes, K_BLOCK_BYTES) / row_bytes, WEFT_SPARSE_MARGIN);
}

// A k-block pays if its rows of B are read several times while they are in a near cache, and each
// row of A has several entries in it. So A must be dense enough, with a lower limit if B is far
// away, or k-blocks are only for rows that are. A sparser A requires a larger k-block, to amortise
// loading and storing the sums of rows. 0: none pays.
static int64_t k_block_bytes(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                             int64_t row_bytes)
{
    const bool is_planned = problem->rows != NULL;
    const int64_t l1_bytes = near->l1_bytes, planned_bytes = 2 * l1_bytes / 3;
    const double density = density_of(problem);
    if (density >= 0.4)
        return planned_bytes;
    if (density >= K_BLOCK_DENSITY)
        return is_planned &&
                       weft_spmm_segments_pay(problem->k, k_block_rows(planned_bytes, row_bytes))
                   ? planned_bytes
                   : l1_bytes;
    const bool pays_far = density >= FAR_DENSITY && is_far(near, problem, row_bytes);
    if (pays_far && is_even(problem))
        return 2 * l1_bytes;
    if (!has_dense_rows(from, pays_far ? FAR_DENSITY : K_BLOCK_DENSITY, near, problem, row_bytes))
        return 0;
    return pays_far && !is_planned ? 7 * l1_bytes / 6 : l1_bytes;
}

// Rows of B in a k-block of a narrow n-tile, or of its copy, where sums cost less and rows of B are
// nearer: only for rows of *from entries or more. A plan that finds none of these keeps the kernel
// of a product without one, which is no slower.
static int narrow_k_block(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                          int64_t row_bytes)
{
    const int64_t k_block = min_i64(near->l1_bytes / row_bytes, WEFT_SPARSE_MARGIN);
    const double wanted = NEAR_DENSITY * (double)problem->k + 1;
    if (problem->k <= k_block)
        return refuse(problem->why, K_BLOCKS, "the %" PRId64 " rows of B in an n-tile fit L1",
                      problem->k);
    if (wanted > 2 * VECTORIZED_ROW_CHUNK)
        return refuse(problem->why, K_BLOCKS, "rows of %.3g entries are cut into row chunks",
                      wanted);
    *from = (int)wanted;
    return (int)k_block;
}

// Rows of B in a k-block; if *from is above 0, only for rows of *from entries or more.
static int vectorized_k_block(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                              int64_t row_bytes)
{
    if (weft_spmm_is_max_min(problem->reduction) ||
        problem->row_schedule == WEFT_SPMM_ROW_SCHEDULE_QUEUE)
        return refuse(problem->why, K_BLOCKS, "rows are taken one after the other");
    if (row_bytes < NARROW_BYTES)
        return refuse(problem->why, K_BLOCKS,
                      "an n-tile has %" PRId64 " bytes of a row of B: %d are wanted", row_bytes,
                      NARROW_BYTES);
    if (row_bytes < K_BLOCK_ROW_BYTES && is_half(problem))
        return refuse(problem->why, K_BLOCKS,
                      "an n-tile has %" PRId64 " bytes of a row of B: %d are wanted", row_bytes,
                      K_BLOCK_ROW_BYTES);
    if (row_bytes < K_BLOCK_ROW_BYTES)
        return narrow_k_block(from, near, problem, row_bytes);
    const int64_t bytes = k_block_bytes(from, near, problem, row_bytes);
    if (bytes == 0)
        return 0;
    const int k_block = k_block_rows(bytes, row_bytes);
    if (problem->k <= 2 * (int64_t)k_block)
        return refuse(problem->why, K_BLOCKS,
                      "B has %" PRId64 " rows, and a k-block %d: more than two are wanted",
                      problem->k, k_block);
    return k_block;
}

// Narrow n-tiles pay where usual ones do not fit L2, and, for even rows, where they take more than
// half of it: then their pages are more than the core has translations for. The cost is that rows
// of A end more often, and B is packed.
static bool narrow_pays(const weft_caches *near, const weft_spmm_problem *problem,
                        int64_t row_bytes)
{
    const int64_t n_tile_bytes = problem->k * row_bytes;
    const int64_t room = is_even(problem) ? near->l2_bytes / 2 : near->l2_bytes;
    if (!problem->columns_adjacent || is_half(problem) || weft_spmm_is_max_min(problem->reduction))
        return refuse(problem->why, NARROW, "for sums of 32 or 64 bits whose columns are adjacent");
    if (row_bytes <= NARROW_BYTES)
        return refuse(problem->why, NARROW,
                      "an n-tile has %" PRId64 " bytes of a row of B: more than %d are wanted",
                      row_bytes, NARROW_BYTES);
    if (n_tile_bytes <= room)
        return refuse(problem->why, NARROW,
                      "an n-tile of B has %" PRId64 " bytes: there is room for %" PRId64,
                      n_tile_bytes, room);
    const double rows = (double)problem->m + (double)problem->k;
    return (double)problem->nnz >= NARROW_USES * rows ||
           refuse(problem->why, NARROW,
                  "there are %.3g entries for each row of A and of B: %g are wanted",
                  (double)problem->nnz / rows, NARROW_USES);
}

// A product whose groups copy narrow n-tiles of B to local memory.
typedef struct {
    int64_t row_bytes; // bytes of a row of B in a copy
    int64_t n_tiles;   // n-tiles of all matrices
    double density;
} copies;

// Vectors of a narrow n-tile.
static int narrow_vectors(int64_t vector_width, const weft_spmm_facts *f)
{
    const int64_t vectors = NARROW_BYTES / (vector_width * weft_sum_bytes(f->dtype));
    return (int)min_i64(max_i64(vectors, 1), WEFT_SPMM_MAX_VECTORS);
}

static copies copies_of(const weft_spmm_problem *problem, const weft_spmm_facts *f,
                        int64_t vector_width)
{
    const int64_t columns = vector_width * narrow_vectors(vector_width, f);
    const int64_t n_batches = min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    return (copies){
        .row_bytes = columns * weft_sum_bytes(f->dtype),
        .n_tiles = ceil_div(min_i64(f->n, WEFT_SPARSE_MAX_EXTENT), columns) * n_batches,
        .density = density_of(problem),
    };
}

// The fraction of time that cores wait for the last of n equal tasks.
static double idle_part(int64_t n, int64_t cores)
{
    return 1 - (double)n / ((double)ceil_div(n, cores) * (double)cores);
}

// Row blocks that share a copy: enough to amortise its cost, if each core still has copies, about
// equally many. 0: a copy does not pay.
static int64_t staged_b_row_blocks(const weft_limits *limits, const weft_spmm_problem *problem,
                                   const copies *of)
{
    const int64_t m = max_i64(problem->m, 1), cores = limits->compute_units;
    const int64_t wanted = ceil_div(STAGED_B_TASKS * cores, of->n_tiles);
    const double all_uses = (double)m * of->density; // of a row of B in an n-tile
    int64_t parts = max_i64(max_i64((int64_t)(all_uses / STAGED_B_USES + 0.5), wanted), 1);
    for (int i = 0; i < STAGED_B_TRIES && idle_part(parts * of->n_tiles, cores) > STAGED_B_IDLE &&
                    all_uses / (double)(parts + 1) >= EVEN_STAGED_B_USES;
         ++i)
        ++parts;
    const int64_t row_blocks = ceil_div(ceil_div(m, parts), STAGED_B_ROWS);
    const double uses = of->density * (double)min_i64(row_blocks * STAGED_B_ROWS, m);
    return uses >= LEAST_STAGED_B_USES
               ? min_i64(row_blocks, INT32_MAX)
               : refuse(problem->why, STAGED_B,
                        "each row of a copy is used %.3g times: %g are wanted", uses,
                        LEAST_STAGED_B_USES);
}

// Most loop iterations of one group: for all rows of A and of B.
static double iterations_of_copy(const weft_spmm_problem *problem)
{
    return (double)problem->k + weft_spmm_most_iterations(problem);
}

// Whether k-blocks of B in global memory are faster, because an n-tile has all columns of B.
static bool k_blocks_are_better(const weft_caches *near, const weft_spmm_problem *problem,
                                const weft_spmm_facts *f, int64_t row_bytes)
{
    const bool is_beyond = problem->k * row_bytes > near->l2_bytes / 2;
    const bool are_uneven = problem->rows && !is_even(problem);
    if (!problem->columns_adjacent || is_half(problem) ||
        f->n * weft_sum_bytes(f->dtype) > row_bytes)
        return false;
    int from = 0;
    weft_spmm_problem silent = *problem;
    silent.why = NULL;
    const int k_block = vectorized_k_block(&from, near, &silent, row_bytes);
    return k_block > 0 && ((is_beyond && density_of(problem) >= FAR_DENSITY) || are_uneven);
}

// A copy pays if rows of B are wide, too far to be read in global memory, and used often, but not
// so often that wider n-tiles with k-blocks are faster. 0: it does not pay.
static int64_t staged_b_pays(const weft_limits *limits, const weft_caches *near,
                             const weft_spmm_problem *problem, const weft_spmm_facts *f,
                             int64_t vector_width, int64_t row_bytes)
{
    const copies of = copies_of(problem, f, vector_width);
    const int64_t k = min_i64(problem->k, WEFT_SPARSE_MAX_EXTENT), bytes = k * of.row_bytes;
    const double entries = (double)problem->nnz / (double)max_i64(problem->m, 1);
    const int64_t wide =
        min_i64(min_i64(f->n, STAGED_B_MOST_BYTES) * weft_sum_bytes(f->dtype), STAGED_B_MOST_BYTES);
    const int64_t room = min_i64(near->l2_bytes / 2, clamped_i64(limits->local_bytes));
    const double most = bytes <= STAGED_B_L1S * near->l1_bytes ? NEAR_DENSITY : K_BLOCK_DENSITY;
    if (weft_spmm_is_max_min(problem->reduction) ||
        problem->row_schedule == WEFT_SPMM_ROW_SCHEDULE_QUEUE)
        return refuse(problem->why, STAGED_B, "for sums, and rows that are not taken from a queue");
    if (wide <= STAGED_B_LEAST_BYTES)
        return refuse(problem->why, STAGED_B,
                      "rows of B have %" PRId64 " bytes: more than %d are wanted", wide,
                      STAGED_B_LEAST_BYTES);
    if (k * wide < 2 * near->l1_bytes)
        return refuse(problem->why, STAGED_B,
                      "%" PRId64 " bytes of each of %" PRId64 " rows of B are near enough", wide,
                      k);
    if (bytes > room)
        return refuse(problem->why, STAGED_B,
                      "a copy has %" PRId64 " bytes: there is room for %" PRId64, bytes, room);
    if (entries < STAGED_B_ENTRIES)
        return refuse(problem->why, STAGED_B, "rows have %.3g entries: %d are wanted", entries,
                      STAGED_B_ENTRIES);
    if (of.density >= most)
        return refuse(problem->why, STAGED_B,
                      "%.3g of A's elements are entries: less than %g are wanted", of.density,
                      most);
    if (problem->dtype == WEFT_BF16 && problem->columns_adjacent)
        return refuse(problem->why, STAGED_B,
                      "bf16 is read by pairs in global memory, at half the bytes of a copy");
    if (is_half(problem) && bytes > STAGED_B_L1S * near->l1_bytes)
        return refuse(problem->why, STAGED_B,
                      "a copy has %" PRId64 " bytes, twice those of B: at most %" PRId64
                      " are wanted",
                      bytes, STAGED_B_L1S * near->l1_bytes);
    if (limits->max_iterations > 0 && iterations_of_copy(problem) > limits->max_iterations)
        return refuse(problem->why, STAGED_B,
                      "%.3g iterations of one group's loops: the device ends them after %d",
                      iterations_of_copy(problem), limits->max_iterations);
    if (k_blocks_are_better(near, problem, f, row_bytes))
        return refuse(problem->why, STAGED_B,
                      "an n-tile has all columns of B, and rows of A go through k-blocks");
    return staged_b_row_blocks(limits, problem, &of);
}

// Entries of an iteration: enough sums to hide the latency.
static int vectorized_unroll(int64_t vector_width, int vectors, bool is_narrow)
{
    const int sums =
        is_narrow && vector_width == WEFT_SPMM_MAX_VECTOR_WIDTH ? NARROW_SUMS : VECTORIZED_SUMS;
    return (int)pow2_down(max_i64(sums / vectors, 1));
}

static weft_spmm_tiling staged_b_tiling(const weft_caches *near, const weft_spmm_problem *problem,
                                        const weft_spmm_facts *f, int64_t vector_width,
                                        int64_t row_blocks)
{
    const int vectors = narrow_vectors(vector_width, f);
    int from = 0;
    const int k_block =
        narrow_k_block(&from, near, problem, vector_width * vectors * weft_sum_bytes(f->dtype));
    return (weft_spmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = vectors,
        .lanes = 1,
        .rows_per_group = 1,
        .rows_per_item = STAGED_B_ROWS,
        .k_block = k_block,
        .k_block_from = from,
        .load = 1,
        .unroll = vectorized_unroll(vector_width, vectors, false),
        .row_chunk = VECTORIZED_ROW_CHUNK,
        .row_blocks_per_copy = (int)row_blocks,
    };
}

// Entries that a vector computes at once where its columns, all that B has, leave room for more
// than one; else 1.
static int vectorized_entry_lanes(const weft_spmm_problem *problem, const weft_spmm_facts *f,
                                  int64_t vector_width, int64_t widest)
{
    if (2 * vector_width > widest)
        return 1;
    if (f->n > vector_width)
        return 1 + refuse(problem->why, ENTRY_LANES, "n is %" PRId64 ": a power of two is wanted",
                          f->n);
    if (weft_spmm_is_max_min(problem->reduction) &&
        problem->nnz < MERGED_ROW_ENTRIES * max_i64(problem->m, 1))
        return 1 + refuse(problem->why, ENTRY_LANES,
                          "rows have %.3g entries: lanes of a %s are merged from %d on",
                          (double)problem->nnz / (double)max_i64(problem->m, 1),
                          weft_spmm_reduction_name(problem->reduction), MERGED_ROW_ENTRIES);
    return (int)min_i64(widest / vector_width, WEFT_SPMM_MAX_ENTRY_LANES);
}

// Few columns: a vector has those of several entries. Row chunks are longer, because an entry takes
// a fraction of the time.
static weft_spmm_tiling entry_lanes_tiling(const weft_limits *limits,
                                           const weft_spmm_problem *problem,
                                           const weft_spmm_facts *f, int64_t vector_width,
                                           int entry_lanes)
{
    const bool are_short =
        (double)problem->nnz < (double)SHORT_ROW * (double)max_i64(problem->m, 1);
    return (weft_spmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = 1,
        .lanes = 1,
        .entry_lanes = entry_lanes,
        .rows_per_group = 1,
        .rows_per_item = vectorized_rows(limits, problem, are_short),
        .load = 1,
        .unroll = 1,
        .row_chunk = (int64_t)VECTORIZED_ROW_CHUNK * entry_lanes,
        .packed = weft_spmm_packing_pays(problem, f->n, (int64_t)weft_dtype_size(f->dtype), 0),
    };
}

// Lanes are elements of one item's vectors: each item has its own n-tile and shares nothing.
static weft_spmm_tiling vectorized_tiling(const weft_limits *limits,
                                          const weft_spmm_problem *problem,
                                          const weft_spmm_facts *f)
{
    const int64_t sum_bytes = weft_sum_bytes(f->dtype);
    const int64_t widest = weft_limits_vector_width(limits, sum_bytes, WEFT_SPMM_MAX_VECTOR_WIDTH);
    const int64_t vector_width = min_i64(widest, pow2_down(f->n));
    const int64_t most = min_i64(limits->vectors, WEFT_SPMM_MAX_VECTORS);
    const int usual = vector_width == widest ? weft_vectors_for(f->n, vector_width, most)
                      : f->n > vector_width  ? 2
                                             : 1;
    const int entry_lanes = vectorized_entry_lanes(problem, f, vector_width, widest);
    if (entry_lanes > 1)
        return entry_lanes_tiling(limits, problem, f, vector_width, entry_lanes);
    const weft_caches near = weft_caches_of(limits);
    const int64_t row_blocks =
        staged_b_pays(limits, &near, problem, f, vector_width, vector_width * usual * sum_bytes);
    if (row_blocks > 0)
        return staged_b_tiling(&near, problem, f, vector_width, row_blocks);
    int from = 0;
    int k_block = vectorized_k_block(&from, &near, problem, vector_width * usual * sum_bytes);
    const bool is_narrow = k_block > 0 && from == 0
                               ? refuse(problem->why, NARROW, "rows of A go through k-blocks of B")
                               : narrow_pays(&near, problem, vector_width * usual * sum_bytes);
    if (is_narrow && k_block > 0)
        k_block = refuse(problem->why, K_BLOCKS, "narrow n-tiles bring B nearer");
    const int vectors = is_narrow ? narrow_vectors(vector_width, f) : usual;
    const int64_t bytes = (int64_t)weft_dtype_size(f->dtype);
    return (weft_spmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = vectors,
        .lanes = 1,
        .rows_per_group = 1,
        .rows_per_item = vectorized_rows(limits, problem, k_block > 0 || is_narrow),
        .k_block = k_block,
        .k_block_from = k_block > 0 ? from : 0,
        .load = 1,
        .unroll = vectorized_unroll(vector_width, vectors, is_narrow),
        .row_chunk = VECTORIZED_ROW_CHUNK,
        .packed = weft_spmm_packing_pays(problem, vector_width * vectors, bytes, near.l2_bytes / 8),
    };
}

weft_spmm_tiling weft_spmm_tiling_for(const weft_limits *limits, const weft_spmm_problem *problem)
{
    const weft_spmm_facts f = weft_spmm_facts_of(problem);
    return weft_lanes_are_vectors(limits, problem->why)
               ? vectorized_tiling(limits, problem, &f)
               : weft_spmm_spread_tiling(limits, problem, &f);
}
