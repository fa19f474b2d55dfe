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
static const double K_BLOCK_DENSITY = 0.15; // of A or a row, from which k-blocks pay
static const double FAR_DENSITY = 0.08;     // the same, if the n-tile is mostly out of L1
static const double DENSE_ROWS = 0.03;      // density of A, from which some rows may be dense
static const double UNEVEN_COV = 0.75;      // from which rows count as uneven
static const double PACKED_USES = 24;       // least uses of each row of B that pay for its copy

// N-tiles narrower than usual, so that a core rereads rows of B from a nearer cache.
enum {
    NARROW_BYTES = 128, // of a row of B
    NARROW_SUMS = 16,   // independent sums if registers suffice, because rows end so often
};
static const double NARROW_USES = 40; // least entries per row of A and of B together

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

// For GPUs, where lanes are items.
enum {
    SPREAD_ITEMS = 256,       // most items of a group
    SPREAD_LEAST_ITEMS = 64,  // and least: a compute unit has room for enough such groups
    SPREAD_VECTOR_WIDTH = 4,  // widest vector that is loaded at once, in elements
    SPREAD_UNROLL = 8,        // loads of B in flight for each item, half as many of 64 bits
    SPREAD_STAGE = 128,       // entries of a row in local memory
    SPREAD_LARGE_STAGE = 256, // the same for a row_split of SPREAD_LARGE_ROW_SPLIT or more
    SPREAD_LARGE_ROW_SPLIT = 8,
    SPREAD_PART = 16, // least entries of a part of a row split that pay for combining its sum
    // row_split grows if items would wait for the longest row for more than SPREAD_WAIT entries,
    // about the time of a launch, and SPREAD_LONG times as long as for all other rows.
    SPREAD_WAIT = 128,
    SPREAD_LONG = 2,
    SPREAD_ROW_CHUNK = 1024,      // entries that take a group about as long as a usual row block
    SPREAD_SHORT_ROW_CHUNK = 256, // the same if rows are or may be cut; without a plan only if
    SPREAD_SUMS_BYTES = 1 << 24,  // sums of all row chunks have at most so many bytes
};

// Features, named in the reasons for not using them.
static const char K_BLOCKS[] = "k-blocks of B", PACKED[] = "packed B", NARROW[] = "narrow n-tiles";
static const char STAGED_B[] = "B in local memory", STAGED[] = "entries in local memory";
static const char ALIGNED[] = "aligned vectors", ROW_SPLITS[] = "larger row splits";

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

// A k-block pays if its rows of B are read several times while they are in a near cache, and each
// row of A has several entries in it. So A must be dense enough, with a lower limit if B is far
// away, or k-blocks are only for rows that are. A sparser A requires a larger k-block, to amortise
// loading and storing the sums of rows. 0: none pays.
static int64_t k_block_bytes(int *from, const weft_caches *near, const weft_spmm_problem *problem,
                             int64_t row_bytes)
{
    const bool is_planned = problem->rows != NULL;
    const int64_t l1_bytes = near->l1_bytes;
    const double density = density_of(problem);
    if (density >= 0.4)
        return 2 * l1_bytes / 3;
    if (density >= K_BLOCK_DENSITY)
        return is_planned ? 2 * l1_bytes / 3 : l1_bytes;
    const bool pays_far = density >= FAR_DENSITY && is_far(near, problem, row_bytes);
    if (pays_far && is_even(problem))
        return 2 * l1_bytes;
    if (!has_dense_rows(from, pays_far ? FAR_DENSITY : K_BLOCK_DENSITY, near, problem, row_bytes))
        return 0;
    return pays_far && !is_planned ? 7 * l1_bytes / 6 : l1_bytes;
}

// Rows of B in a k-block of a narrow n-tile, or of its copy, where sums cost less and rows of B are
// nearer: only for rows of *from entries or more.
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
    if (density_of(problem) < NEAR_DENSITY && is_even(problem))
        return refuse(problem->why, K_BLOCKS,
                      "%.3g of A's elements are entries, and rows vary by %.2g",
                      density_of(problem), problem->rows->cov);
    if (problem->rows && problem->rows->max < (int64_t)wanted)
        return refuse(problem->why, K_BLOCKS,
                      "A's longest row has %" PRId64 " entries: %d are wanted", problem->rows->max,
                      (int)wanted);
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
    const int64_t k_block = min_i64(max_i64(bytes, K_BLOCK_BYTES) / row_bytes, WEFT_SPARSE_MARGIN);
    if (problem->k <= 2 * k_block)
        return refuse(problem->why, K_BLOCKS,
                      "B has %" PRId64 " rows, and a k-block %" PRId64 ": more than two are wanted",
                      problem->k, k_block);
    return (int)k_block;
}

// Packing B pays if each of its rows is used often, and either columns are not adjacent, or an
// n-tile has `least` bytes or more and rows are so long that it would occupy few sets of a cache.
static bool packing_pays(const weft_spmm_problem *problem, int64_t n_tile_columns, int64_t bytes,
                         int64_t least)
{
    if (weft_spmm_is_max_min(problem->reduction))
        return refuse(problem->why, PACKED, "not used for %s",
                      weft_spmm_reduction_name(problem->reduction));
    const double uses = (double)problem->nnz / (double)max_i64(problem->k, 1);
    if ((double)problem->nnz < PACKED_USES * (double)problem->k)
        return refuse(problem->why, PACKED, "each row of B is used %.3g times: %g are wanted", uses,
                      PACKED_USES);
    if (!problem->columns_adjacent)
        return true;
    if (problem->n <= n_tile_columns)
        return refuse(problem->why, PACKED,
                      "an n-tile has all %" PRId64 " columns, which are adjacent", problem->n);
    const int64_t n_tile_bytes = problem->k * n_tile_columns * bytes;
    return n_tile_bytes >= least ||
           refuse(problem->why, PACKED,
                  "an n-tile of B has %" PRId64 " bytes: %" PRId64 " are wanted", n_tile_bytes,
                  least);
}

// Narrow n-tiles pay if usual ones do not fit L2 or, for even rows, half of it: then they have more
// pages than the core has TLB entries. The cost is that rows of A end more often, and B is packed.
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

// Lanes are elements of one item's vectors: each item has its own n-tile.
static weft_spmm_tiling vectorized_tiling(const weft_limits *limits,
                                          const weft_spmm_problem *problem,
                                          const weft_spmm_facts *f)
{
    const int64_t sum_bytes = weft_sum_bytes(f->dtype);
    const int64_t widest = weft_limits_vector_width(limits, sum_bytes, WEFT_SPMM_MAX_VECTOR_WIDTH);
    const int64_t vector_width = min_i64(widest, pow2_down(f->n));
    const int64_t most = min_i64(limits->vectors, WEFT_SPMM_MAX_VECTORS);
    const int usual = vector_width == widest ? weft_vectors_for(f->n, vector_width, most)
                      : vector_width > 1     ? 2
                                             : 1;
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
        .packed = packing_pays(problem, vector_width * vectors, bytes, near.l2_bytes / 8),
    };
}

// Entries of one row, index and value, in the group's local memory. They use half of it, so that
// two groups can be resident.
static int stage_for(const weft_limits *limits, const weft_spmm_problem *problem, int64_t lanes,
                     int64_t row_split, int64_t rows)
{
    const int64_t entry_bytes =
        4 + (int64_t)weft_dtype_size(weft_dtype_or(problem->dtype, WEFT_F32));
    if (lanes == 1)
        return refuse(problem->why, STAGED, "one lane shares them with no other");
    int64_t stage = row_split < SPREAD_LARGE_ROW_SPLIT ? SPREAD_STAGE : SPREAD_LARGE_STAGE;
    while (stage > 0 && rows * (stage * entry_bytes + 4) > (int64_t)(limits->local_bytes / 2)) {
        refuse(problem->why, stage > 1 ? "more entries in local memory" : STAGED,
               "%" PRId64 " of each of %" PRId64 " rows pass half of %zu bytes", stage, rows,
               limits->local_bytes);
        stage /= 2;
    }
    return (int)stage;
}

// Cutting rows costs two more kernels: if they are needed anyway, shorter row chunks cost nothing.
// Without a plan scratch memory has room for all possible row chunks, and must stay small.
static int64_t spread_row_chunk(const weft_spmm_problem *problem)
{
    const int64_t longest = problem->rows ? problem->rows->max : min_i64(problem->k, problem->nnz);
    const double bytes = (double)problem->nnz / SPREAD_SHORT_ROW_CHUNK * (double)problem->n *
                         (double)weft_sum_bytes(weft_dtype_or(problem->dtype, WEFT_F32));
    if (longest <= 2 * SPREAD_ROW_CHUNK || (!problem->rows && bytes > SPREAD_SUMS_BYTES))
        return SPREAD_ROW_CHUNK;
    return SPREAD_SHORT_ROW_CHUNK;
}

// Rows of a group: as few as fill it, because they wait for each other.
static int64_t spread_rows(const weft_limits *limits, int64_t items, int64_t lanes,
                           int64_t row_split)
{
    const int64_t rows = min_i64(items, SPREAD_LEAST_ITEMS) / (lanes * row_split);
    return min_i64(max_i64(rows, 1), weft_limits_items_along(limits, 1));
}

// Possible row splits: each is a program.
static const int64_t spread_row_splits[] = {4, 8, 32};

// Rows are split if there are too few to occupy the device, and further if the longest known row
// would still run when all others have ended. The batch is ignored, because another row split
// changes the bits of C.
static int64_t row_split_for(const weft_limits *limits, const weft_spmm_problem *problem,
                             const weft_spmm_facts *f, int64_t items, int64_t lanes,
                             int64_t columns)
{
    const double resident = (double)limits->max_blocks * limits->max_block;
    const double rows = (double)max_i64(problem->m, 1), n_tiles = (double)ceil_div(f->n, columns);
    const double idle = resident / (rows * n_tiles * (double)lanes);
    const double entries = (double)problem->nnz / rows; // of a row
    const int64_t longest =
        problem->rows ? min_i64(problem->rows->max, 2 * spread_row_chunk(problem)) : 0;
    const int64_t room = clamped_i64(limits->local_bytes) / 2;
    if (weft_spmm_is_max_min(problem->reduction))
        return 1 + refuse(problem->why, ROW_SPLITS, "not used for %s",
                          weft_spmm_reduction_name(problem->reduction));
    int64_t row_split = 1;
    for (size_t i = 0; i < sizeof(spread_row_splits) / sizeof(spread_row_splits[0]); i++) {
        const int64_t next = spread_row_splits[i];
        if (next > items / lanes)
            break;
        const double at_once =
            (double)row_split < idle ? (double)row_split : idle; // items for a row
        const int64_t wait = longest / row_split;                // entries of the longest one
        const bool fills = i == 0 && (double)next <= idle && entries >= (double)next * SPREAD_PART;
        const bool evens = wait > SPREAD_WAIT && (double)wait > SPREAD_LONG * entries / at_once;
        const int64_t bytes = spread_rows(limits, items, lanes, next) * (next - 1) * columns *
                              weft_sum_bytes(f->dtype);
        if (!fills && !evens) {
            refuse(problem->why, ROW_SPLITS,
                   "rows have %.3g entries, the longest that is known %" PRId64
                   ", and the device has room for %.3g times as many",
                   entries, longest, idle);
            break;
        }
        if (bytes > room) {
            refuse(problem->why, ROW_SPLITS,
                   "their sums are %" PRId64 " bytes: there is room for %" PRId64, bytes, room);
            break;
        }
        row_split = next;
    }
    return row_split;
}

// Lanes are items: they share an n-tile, and the entries of its row in local memory.
static weft_spmm_tiling spread_tiling(const weft_limits *limits, const weft_spmm_problem *problem,
                                      const weft_spmm_facts *f)
{
    const int64_t bytes = (int64_t)weft_dtype_size(f->dtype);
    const int64_t widest =
        pow2_down(max_i64(min_i64(limits->load_bytes / bytes, SPREAD_VECTOR_WIDTH), 1));
    const int64_t fits = min_i64(f->alignment, pow2_divisor(f->n));
    const int64_t vector_width = fits >= widest ? widest : 1; // few, as each is a program
    const int64_t units = ceil_div(f->n, vector_width);
    const int64_t items =
        min_i64(min_i64(limits->max_block, SPREAD_ITEMS), weft_limits_items_along(limits, 0));
    const int64_t warp = min_i64(limits->warp, items);
    const int64_t lanes = units <= warp / 4 ? warp / 4 : warp;
    const int vectors = units > lanes ? 2 : 1;
    const int64_t row_split =
        row_split_for(limits, problem, f, items, lanes, lanes * vectors * vector_width);
    const int64_t rows = spread_rows(limits, items, lanes, row_split);
    const bool stages = !weft_spmm_is_max_min(problem->reduction) ||
                        refuse(problem->why, STAGED, "not used for %s",
                               weft_spmm_reduction_name(problem->reduction));
    const int stage = stages ? stage_for(limits, problem, lanes, row_split, rows) : 0;
    if (vector_width < widest)
        refuse(problem->why, ALIGNED,
               "of %" PRId64 ": n is %" PRId64 ", and rows begin at multiples of %" PRId64, widest,
               f->n, f->alignment);
    const int64_t load = min_i64(
        min_i64(limits->load_bytes / max_i64(bytes, 4), WEFT_SPMM_MAX_LOAD), f->entry_alignment);
    return (weft_spmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = vectors,
        .lanes = (int)lanes,
        .row_split = (int)row_split,
        .rows_per_group = (int)rows,
        .rows_per_item = 1,
        .stage = stage,
        .load = (int)pow2_down(max_i64(min_i64(load, stage), 1)),
        .unroll = SPREAD_UNROLL / vectors / (weft_sum_bytes(f->dtype) > 4 ? 2 : 1),
        .row_chunk = spread_row_chunk(problem),
        .packed = (!problem->columns_adjacent ||
                   refuse(problem->why, PACKED, "columns of B are adjacent")) &&
                  packing_pays(problem, f->n, bytes, 0),
        .aligned = vector_width > 1,
    };
}

weft_spmm_tiling weft_spmm_tiling_for(const weft_limits *limits, const weft_spmm_problem *problem)
{
    const weft_spmm_facts f = weft_spmm_facts_of(problem);
    return weft_lanes_are_vectors(limits, problem->why) ? vectorized_tiling(limits, problem, &f)
                                                        : spread_tiling(limits, problem, &f);
}
