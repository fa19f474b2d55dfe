// SPDX-License-Identifier: Apache-2.0
// How a sampled dense product is cut into chunks, groups and tiles: limits and a problem to a
// tiling.
#include "sparse/sddmm_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/lanes.h"
#include "base/refuse.h"
#include "base/tiling_given.h"
#include "operand/view.h"
#include "sparse/sparse_limits.h"
#include "sparse/sparse_plan.h"

enum {
    MAX_VECTOR_WIDTH = 16,
    MAX_VECTORS = 16,
    CHUNK_STEP = 16,  // entries: chunks of D start on vector boundaries
    PASSES_USES = 8,  // least uses of each column of B: caching it pays for sums in memory
    PACKED_USES = 8,  // the same for packing, which writes and reads it once more
    APART_USES = 1,   // the same where its elements are strided; also for transposing
    ACROSS_USES = 32, // the same where they are adjacent, but vectors cross cache lines
};

// Where an item computes whole vectors: CPUs.
enum {
    VECTORIZED_TASKS = 32,     // chunks for each core, so that the last ones end together
    VECTORIZED_ENTRIES = 2048, // that cost a core tens of microseconds
    VECTORIZED_LEAST = 64,
    VECTORIZED_AHEAD = 16, // entries: about the latency of memory
    VECTORIZED_VECTORS = 8,
};

// Where its rows advance side by side through column blocks of B.
enum {
    COLUMN_BLOCK_ROW = 64,         // least average entries of a row: few blocks of it are partial.
                                   // With one tile; several would else be packed and launched
    COLUMN_BLOCK_TASKS = 8,        // least chunks of a core: longer ones reuse columns later
    COLUMN_BLOCK_MOST_USES = 16,   // of a column by a chunk: more gain nothing
    COLUMN_BLOCK_LEAST_USES = 4,   // with one tile: fewer do not pay
    COLUMN_BLOCK_PART = 8,         // part of L2 for a column block: rows of A and sums use L2, too
    COLUMN_BLOCK_NEAR_PART = 2,    // B that fits this part of L2 needs no column blocks
    COLUMN_BLOCK_WIDE_VECTOR = 64, // bytes: processors with such vectors have 32 registers
};

// Where lanes are items: GPUs.
enum {
    SPREAD_ITEMS = 128,      // of a group
    SPREAD_VECTOR_WIDTH = 4, // widest vector that is loaded at once, in elements
    SPREAD_VECTORS = 4,      // loads in flight for each item
    SPREAD_LANES = 8,        // read a cache line together, and fit the narrowest sub-group
    SPREAD_ENTRIES = 128,    // of a chunk: finding its first row is then a small part
    SPREAD_LEAST = 16,
};

// Features that plans report as not used.
static const char PACKED[] = "packed B", TRANSPOSED[] = "transposed B";
static const char PASSES[] = "a pass for each tile of k";
static const char AHEAD[] = "columns asked for ahead", ALIGNED[] = "aligned vectors";
static const char COLUMN_BLOCKS[] = "rows side by side through column blocks";

// The problem with defaults filled in, extents at least 1. a_alignment is of A's rows, alignment of
// A's rows and B's columns.
typedef struct {
    int64_t k, n, a_alignment, alignment, bytes, sum_bytes, all_entries;
    const weft_why *why;
} facts;

static facts facts_of(const weft_sddmm_problem *problem)
{
    const weft_dtype dtype = weft_dtype_or(problem->dtype, WEFT_F32);
    const int64_t n_batches = min_i64(max_i64(problem->n_batches, 1), WEFT_SPARSE_MARGIN);
    const int64_t a_alignment = problem->a_adjacent ? max_i64(problem->alignment, 1) : 1;
    return (facts){
        .k = max_i64(problem->k, 1),
        .n = min_i64(max_i64(problem->n, 1), WEFT_SPARSE_MAX_EXTENT),
        .a_alignment = a_alignment,
        .alignment = problem->b_adjacent ? a_alignment : 1,
        .bytes = (int64_t)weft_dtype_size(dtype),
        .sum_bytes = weft_sum_bytes(dtype),
        .all_entries = min_i64(problem->nnz, INT64_MAX / WEFT_SPARSE_MARGIN) * n_batches,
        .why = problem->why,
    };
}

// Entries of each of so many chunks, in whole steps.
static int64_t chunk_entries(const facts *f, int64_t chunks, int64_t least, int64_t most)
{
    const int64_t each = f->all_entries / max_i64(chunks, 1);
    return min_i64(max_i64(each / CHUNK_STEP * CHUNK_STEP, least), most);
}

// How often each column of B is used.
static int64_t uses_of(const weft_sddmm_problem *problem, const facts *f)
{
    return problem->nnz / f->n;
}

// Packing B pays where columns are used often, and their elements are strided; or a tile is a part
// of columns so long that it would occupy few sets of a cache; or vectors that are read from cache
// cross its lines.
static bool pays_packing(const weft_sddmm_tiling *tiling, const weft_sddmm_problem *problem,
                         const facts *f, int64_t tile_bytes, int64_t l2_bytes)
{
    const bool sweeps = tiling->column_block > 0;
    const int64_t tile = (int64_t)tiling->lanes * tiling->vectors * tiling->vector_width;
    const bool is_long = f->k > tile && tile_bytes >= l2_bytes / 8 && !sweeps;
    const bool is_across = sweeps && f->alignment < tiling->vector_width;
    if (problem->b_adjacent && !is_long && !is_across)
        return sweeps
                   ? refuse(problem->why, PACKED,
                            "columns of B are contiguous, and column blocks keep them near")
                   : refuse(problem->why, PACKED,
                            "columns of B are contiguous, and a tile of them has %" PRId64 " bytes",
                            tile_bytes);
    const int64_t wanted = !problem->b_adjacent ? APART_USES : is_long ? PACKED_USES : ACROSS_USES;
    return uses_of(problem, f) >= wanted ||
           refuse(problem->why, PACKED,
                  "each column of B is used %" PRId64 " times: %" PRId64 " are wanted",
                  uses_of(problem, f), wanted);
}

// Passes pay where columns are used often, so that one tile of all of them stays in cache.
static bool pays_passes(const weft_sddmm_tiling *tiling, const weft_sddmm_problem *problem,
                        const facts *f)
{
    const int64_t tile = (int64_t)tiling->lanes * tiling->vectors * tiling->vector_width;
    const int64_t uses = uses_of(problem, f);
    return (f->k > tile || refuse(problem->why, PASSES, "one tile has all of k, %" PRId64, f->k)) &&
           (tiling->column_block > 0 || uses >= PASSES_USES ||
            refuse(problem->why, PASSES,
                   "each column of B is used %" PRId64 " times: %d are wanted", uses, PASSES_USES));
}

// Columns of B are read in any order: those that are not in cache are prefetched.
static void choose_passes(weft_sddmm_tiling *tiling, const weft_limits *limits,
                          const weft_sddmm_problem *problem, const facts *f)
{
    const int64_t tile = (int64_t)tiling->lanes * tiling->vectors * tiling->vector_width;
    const weft_caches near = weft_caches_of(limits);
    const int64_t tile_bytes = f->n * min_i64(tile, f->k) * f->bytes;
    tiling->packed = pays_packing(tiling, problem, f, tile_bytes, near.l2_bytes);
    tiling->passes = tiling->packed || pays_passes(tiling, problem, f);
    const bool is_far = tile_bytes > near.l2_bytes && (problem->b_adjacent || tiling->packed);
    if (tiling->column_block > 0)
        refuse(problem->why, AHEAD, "column blocks of %" PRId64 " columns stay near",
               tiling->column_block);
    else if (is_far)
        tiling->ahead = VECTORIZED_AHEAD;
    else
        refuse(problem->why, AHEAD,
               "a tile of B's columns has %" PRId64 " bytes, of which %" PRId64 " are near",
               tile_bytes, near.l2_bytes);
}

// Vectors of an item, so that tiles are as few and as even as possible.
static int vectors_for(int64_t k, int64_t vector_width, int64_t most)
{
    const int64_t needed = ceil_div(k, vector_width);
    return (int)ceil_div(needed, ceil_div(needed, most));
}

// Lanes are elements of one item's vectors, and nothing is shared.
static weft_sddmm_tiling vectorized_tiling(const weft_limits *limits, const facts *f)
{
    const int64_t widest = weft_limits_vector_width(limits, f->sum_bytes, MAX_VECTOR_WIDTH);
    const int64_t vector_width = min_i64(widest, pow2_down(f->k));
    const int64_t chunks = (int64_t)limits->compute_units * VECTORIZED_TASKS;
    return (weft_sddmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = vectors_for(f->k, vector_width, min_i64(limits->vectors, VECTORIZED_VECTORS)),
        .lanes = 1,
        .chunks_per_group = 1,
        .entries = chunk_entries(f, chunks, VECTORIZED_LEAST, VECTORIZED_ENTRIES),
    };
}

// Entries of a chunk with column blocks: all cores have several chunks.
static int64_t column_block_entries(const weft_limits *limits, const facts *f)
{
    const int64_t chunks = (int64_t)limits->compute_units * COLUMN_BLOCK_TASKS;
    const int64_t most = min_i64(COLUMN_BLOCK_MOST_USES * f->n, WEFT_SDDMM_MOST_ENTRIES);
    return chunk_entries(f, chunks, VECTORIZED_LEAST, most / CHUNK_STEP * CHUNK_STEP);
}

// Column blocks pay where k has several tiles, which need no packing then, and chunks are long
// enough to use the columns of B; or where rows are long, B does not fit the cache, and chunks use
// its columns several times.
static bool pays_column_blocks(const weft_limits *limits, const weft_sddmm_problem *problem,
                               const facts *f, int64_t tile)
{
    const bool has_tiles = f->k > tile;
    const int64_t row = problem->nnz / max_i64(problem->m, 1);
    const int64_t bytes = f->n * min_i64(f->k, tile) * f->bytes;
    const int64_t near = weft_caches_of(limits).l2_bytes / COLUMN_BLOCK_NEAR_PART;
    const int64_t uses = min_i64(column_block_entries(limits, f), problem->nnz) / f->n;
    const int64_t wanted = has_tiles ? 1 : COLUMN_BLOCK_LEAST_USES;
    return (limits->max_iterations == 0 ||
            refuse(problem->why, COLUMN_BLOCKS, "this device's loops end after %d iterations",
                   limits->max_iterations)) &&
           (has_tiles || row >= COLUMN_BLOCK_ROW ||
            refuse(problem->why, COLUMN_BLOCKS,
                   "rows have %" PRId64 " entries on average: %d are wanted", row,
                   COLUMN_BLOCK_ROW)) &&
           (has_tiles || bytes > near ||
            refuse(problem->why, COLUMN_BLOCKS,
                   "B has %" PRId64 " bytes, of which %" PRId64 " are near", bytes, near)) &&
           (uses >= wanted || refuse(problem->why, COLUMN_BLOCKS,
                                     "a chunk, one of %d for each core, uses a column %" PRId64
                                     " times: %" PRId64 " are wanted",
                                     COLUMN_BLOCK_TASKS, uses, wanted));
}

static void choose_column_blocks(weft_sddmm_tiling *tiling, const weft_limits *limits,
                                 const weft_sddmm_problem *problem, const facts *f)
{
    if (!pays_column_blocks(limits, problem, f, (int64_t)tiling->vectors * tiling->vector_width))
        return;
    const bool is_wide = weft_limits_vector_width(limits, 1, INT64_MAX) >= COLUMN_BLOCK_WIDE_VECTOR;
    const int64_t most = is_wide ? 2 * VECTORIZED_VECTORS : VECTORIZED_VECTORS;
    tiling->vectors =
        vectors_for(f->k, tiling->vector_width, min_i64(most, 2 * (int64_t)limits->vectors));
    const int64_t bytes = (int64_t)tiling->vectors * tiling->vector_width * f->bytes;
    const int64_t near = weft_caches_of(limits).l2_bytes / COLUMN_BLOCK_PART;
    tiling->column_block = min_i64(max_i64(near / bytes, CHUNK_STEP), f->n);
    tiling->entries = max_i64(tiling->entries, column_block_entries(limits, f));
}

// Local memory in which the lanes of a chunk exchange sums.
static int64_t shared_bytes_of(int64_t lanes, const facts *f)
{
    return lanes * (lanes + 1) * f->sum_bytes;
}

static int64_t transposed_block_bytes(const facts *f)
{
    return WEFT_SDDMM_TRANSPOSED_BLOCK * (WEFT_SDDMM_TRANSPOSED_BLOCK + 1) * f->bytes;
}

// Items read neighbouring elements of a column together: transposed, these are adjacent in memory.
static bool pays_transposing(const weft_limits *limits, const weft_sddmm_problem *problem,
                             const facts *f)
{
    return (!problem->b_adjacent ||
            refuse(problem->why, TRANSPOSED, "columns of B are contiguous")) &&
           ((uint64_t)transposed_block_bytes(f) <= limits->local_bytes ||
            refuse(problem->why, TRANSPOSED,
                   "a block of it has %" PRId64 " bytes, local memory %zu",
                   transposed_block_bytes(f), limits->local_bytes)) &&
           (uses_of(problem, f) >= APART_USES ||
            refuse(problem->why, TRANSPOSED,
                   "each column of B is used %" PRId64 " times: %d are wanted", uses_of(problem, f),
                   APART_USES));
}

// Lanes are items: they read neighbouring elements of A and B, and reduce their sums.
static weft_sddmm_tiling spread_tiling(const weft_limits *limits, const facts *f,
                                       bool is_transposed)
{
    const int64_t widest = max_i64(min_i64(limits->load_bytes / f->bytes, SPREAD_VECTOR_WIDTH), 1);
    const int64_t alignment = is_transposed ? f->a_alignment : f->alignment;
    const int64_t vector_width = min_i64(pow2_down(widest), min_i64(alignment, pow2_divisor(f->k)));
    const int64_t items =
        min_i64(min_i64(limits->max_block, SPREAD_ITEMS), weft_limits_items_along(limits, 0));
    const int64_t most = min_i64(min_i64(limits->warp, items), SPREAD_LANES);
    int64_t lanes = min_i64(most, pow2_up(ceil_div(f->k, vector_width)));
    while (lanes > 1 && (uint64_t)shared_bytes_of(lanes, f) > limits->local_bytes)
        lanes /= 2;
    const int64_t chunks_there = clamped_i64(limits->local_bytes) / 2 / shared_bytes_of(lanes, f);
    const int64_t room = pow2_down(max_i64(chunks_there, 1));
    const int64_t chunks =
        min_i64(min_i64(items / lanes, weft_limits_items_along(limits, 1)), room);
    refuse(f->why, PASSES, "between them sums of items would go through memory");
    if (vector_width < pow2_down(widest))
        refuse(f->why, ALIGNED,
               "of %" PRId64 ": k is %" PRId64 ", and rows begin at multiples of %" PRId64,
               pow2_down(widest), f->k, alignment);
    return (weft_sddmm_tiling){
        .vector_width = (int)vector_width,
        .vectors = vectors_for(f->k, vector_width * lanes, SPREAD_VECTORS),
        .lanes = (int)lanes,
        .chunks_per_group = (int)chunks,
        .entries = chunk_entries(f, limits->max_blocks * chunks, SPREAD_LEAST, SPREAD_ENTRIES),
        .transposed = is_transposed,
        .aligned = vector_width > 1,
    };
}

weft_sddmm_tiling weft_sddmm_tiling_for(const weft_limits *limits,
                                        const weft_sddmm_problem *problem)
{
    const facts f = facts_of(problem);
    weft_sddmm_tiling tiling;
    if (weft_lanes_are_vectors(limits, problem->why)) {
        tiling = vectorized_tiling(limits, &f);
        choose_column_blocks(&tiling, limits, problem, &f);
        choose_passes(&tiling, limits, problem, &f);
    } else {
        tiling = spread_tiling(limits, &f, pays_transposing(limits, problem, &f));
    }
    return tiling;
}

weft_sddmm_tiling weft_sddmm_tiling_short_of(const weft_limits *limits,
                                             const weft_sddmm_problem *problem, uint64_t most)
{
    const facts f = facts_of(problem);
    if (!weft_lanes_are_vectors(limits, problem->why)) {
        refuse(problem->why, TRANSPOSED, "scratch memory has room for %" PRIu64 " bytes", most);
        return spread_tiling(limits, &f, false);
    }
    weft_sddmm_tiling tiling = vectorized_tiling(limits, &f);
    refuse(problem->why, COLUMN_BLOCKS, "scratch memory has room for %" PRIu64 " bytes", most);
    choose_passes(&tiling, limits, problem, &f);
    return tiling;
}

static weft_status group_check(const weft_sddmm_tiling *tiling, const weft_limits *limits,
                               const facts *f)
{
    const int64_t lanes = tiling->lanes, chunks = tiling->chunks_per_group;
    const int64_t most_chunks =
        min_i64(clamped_i64(limits->max_items_along[1]), WEFT_SPARSE_MARGIN);
    if (!is_pow2_upto(lanes, WEFT_SDDMM_MOST_LANES) || (uint64_t)lanes > limits->max_items_along[0])
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.lanes is %" PRId64 ": a power of two up to %zu is wanted", lanes,
                    limits->max_items_along[0] < WEFT_SDDMM_MOST_LANES
                        ? limits->max_items_along[0]
                        : (size_t)WEFT_SDDMM_MOST_LANES);
    if (chunks < 1 || chunks > most_chunks)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.chunks_per_group is %" PRId64 ": 1 to %" PRId64 " is wanted",
                    chunks, most_chunks);
    if ((uint64_t)(lanes * chunks) > limits->max_items)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.lanes %" PRId64 " x chunks_per_group %" PRId64
                    " are more than the %zu items of a group",
                    lanes, chunks, limits->max_items);
    if (lanes > 1 && (uint64_t)(chunks * shared_bytes_of(lanes, f)) > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.lanes %" PRId64 " x chunks_per_group %" PRId64 " share %" PRId64
                    " bytes; local memory has %zu",
                    lanes, chunks, chunks * shared_bytes_of(lanes, f), limits->local_bytes);
    return WEFT_OK;
}

static weft_status tile_check(const weft_sddmm_tiling *tiling, const weft_limits *limits,
                              const weft_sddmm_problem *problem, const facts *f)
{
    if (!is_pow2_upto(tiling->vector_width, MAX_VECTOR_WIDTH) || tiling->vector_width > f->k)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.vector_width is %d: 1, 2, 4, 8 or 16 and at most k = %" PRId64
                    " is wanted",
                    tiling->vector_width, f->k);
    if (tiling->vectors < 1 || tiling->vectors > MAX_VECTORS)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.vectors is %d: 1 to %d is wanted",
                    tiling->vectors, MAX_VECTORS);
    const int64_t tile = (int64_t)tiling->vector_width * tiling->vectors * tiling->lanes;
    if (tile > WEFT_SPARSE_MARGIN)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.vector_width %d x vectors %d x lanes %d are %" PRId64
                    " elements along k: at most %d are wanted",
                    tiling->vector_width, tiling->vectors, tiling->lanes, tile, WEFT_SPARSE_MARGIN);
    const int64_t alignment = tiling->transposed ? f->a_alignment : f->alignment;
    if (tiling->aligned &&
        (alignment % tiling->vector_width != 0 || f->k % tiling->vector_width != 0))
        return fail(
            WEFT_BAD_ARGUMENT,
            "sddmm: tiling.aligned with vector_width %d: rows of A and columns of B start on "
            "multiples of %" PRId64 ", k is %" PRId64,
            tiling->vector_width, alignment, f->k);
    if (tiling->ahead < 0 || tiling->ahead > WEFT_SDDMM_MOST_AHEAD)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.ahead is %d: 0 to %d is wanted",
                    tiling->ahead, WEFT_SDDMM_MOST_AHEAD);
    if (tiling->ahead > 0 && !tiling->packed && !tiling->transposed && !problem->b_adjacent)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.ahead is %d, but the elements of B's columns "
                    "are apart, and are not packed",
                    tiling->ahead);
    if (tiling->transposed && tiling->packed)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.transposed and tiling.packed exclude each other");
    if (tiling->transposed && (uint64_t)transposed_block_bytes(f) > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.transposed requires %" PRId64
                    " bytes of local memory, which has %zu",
                    transposed_block_bytes(f), limits->local_bytes);
    if (tiling->packed && !tiling->passes)
        return fail(WEFT_BAD_ARGUMENT, "sddmm: tiling.packed requires tiling.passes");
    if (tiling->column_block < 0 || tiling->column_block > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.column_block is %" PRId64 ": 0 to %d is wanted",
                    tiling->column_block, WEFT_SPARSE_MAX_EXTENT);
    if (tiling->column_block > 0 && tiling->lanes > 1)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.column_block is %" PRId64
                    ", but tiling.lanes is %d: 1 is wanted",
                    tiling->column_block, tiling->lanes);
    if (tiling->column_block > 0 && tile < f->k && !tiling->passes)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.column_block with tiles of %" PRId64 " and k = %" PRId64
                    " requires tiling.passes",
                    tile, f->k);
    return WEFT_OK;
}

weft_status weft_sddmm_tiling_check(const weft_sddmm_tiling *tiling, const weft_limits *limits,
                                    const weft_sddmm_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "sddmm"));
    const facts f = facts_of(problem);
    TRY(group_check(tiling, limits, &f));
    TRY(tile_check(tiling, limits, problem, &f));
    const int64_t step = max_i64(tiling->lanes, CHUNK_STEP);
    if (tiling->entries < step || tiling->entries % step != 0 ||
        tiling->entries > WEFT_SDDMM_MOST_ENTRIES)
        return fail(WEFT_BAD_ARGUMENT,
                    "sddmm: tiling.entries is %" PRId64 ": a multiple of %" PRId64
                    " up to %d is wanted",
                    tiling->entries, step, WEFT_SDDMM_MOST_ENTRIES);
    return WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_sddmm_tiling, vector_width),
    TILING_FIELD(weft_sddmm_tiling, vectors),
    TILING_FIELD(weft_sddmm_tiling, lanes),
    TILING_FIELD(weft_sddmm_tiling, chunks_per_group),
    TILING_FIELD(weft_sddmm_tiling, entries),
    TILING_FIELD(weft_sddmm_tiling, passes),
    TILING_FIELD(weft_sddmm_tiling, packed),
    TILING_FIELD(weft_sddmm_tiling, transposed),
    TILING_FIELD(weft_sddmm_tiling, aligned),
    TILING_FIELD(weft_sddmm_tiling, ahead),
    TILING_FIELD(weft_sddmm_tiling, column_block),
};

const weft_tiling_table weft_sddmm_tiling_table = TILING_TABLE(fields);

int weft_sddmm_tiling_print(const weft_sddmm_tiling *tiling, char *text, size_t size)
{
    return weft_tiling_print(&weft_sddmm_tiling_table, tiling, text, size);
}
