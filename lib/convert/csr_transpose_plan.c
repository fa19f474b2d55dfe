// SPDX-License-Identifier: Apache-2.0
// How the transpose of a sparse matrix is cut into passes and groups: limits and a problem to a
// tiling.
#include "convert/csr_transpose_plan.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/tiling_given.h"
#include "op/items.h"
#include "operand/view.h"

enum { MAX_BITS = 16, MAX_RUN = 1 << 15 };

// Where an item is a group: CPUs. Its counters fit the cache, and most layers need one pass.
enum { VECTORIZED_BITS = 13, VECTORIZED_RUN = 1024 };

// Where lanes are items: GPUs. Counters of a group leave room for others.
enum { SPREAD_ITEMS = 64, SPREAD_BITS = 6, SPREAD_RUN = 32 };

int64_t weft_csr_transpose_counters(const weft_csr_transpose_tiling *tiling)
{
    return (int64_t)(tiling->items > 1 ? tiling->items + 1 : 1) << tiling->bits;
}

static int64_t counter_bytes(const weft_csr_transpose_problem *problem)
{
    return (int64_t)weft_dtype_size(weft_dtype_or(problem->offset_dtype, WEFT_I32));
}

int weft_csr_transpose_passes(const weft_csr_transpose_tiling *tiling, int64_t n_cols)
{
    int passes = 1;
    while (passes * tiling->bits < 31 && (n_cols - 1) >> passes * tiling->bits > 0)
        passes++;
    return passes;
}

// As few passes as `most` bits allow, and then as few bits as these passes need.
static int even_bits(int most, int64_t n_cols)
{
    weft_csr_transpose_tiling tiling = {.bits = most};
    const int passes = weft_csr_transpose_passes(&tiling, n_cols);
    while (tiling.bits > 1) {
        tiling.bits--;
        if (weft_csr_transpose_passes(&tiling, n_cols) > passes)
            return tiling.bits + 1;
    }
    return 1;
}

weft_csr_transpose_tiling weft_csr_transpose_tiling_for(const weft_limits *limits,
                                                        const weft_csr_transpose_problem *problem)
{
    const bool is_vectorized = limits->vector_width > 1;
    const int64_t along = weft_limits_items_along(limits, 0);
    const int64_t run = ceil_div(problem->nnz, limits->max_blocks);
    weft_csr_transpose_tiling tiling = {
        .items = is_vectorized
                     ? 1
                     : (int)pow2_down(min_i64(min_i64(limits->max_block, SPREAD_ITEMS), along)),
        .bits = is_vectorized ? VECTORIZED_BITS : SPREAD_BITS,
        .run = is_vectorized ? (int)min_i64(max_i64(run, VECTORIZED_RUN), MAX_RUN) : SPREAD_RUN,
    };
    while (tiling.bits > 1 && weft_csr_transpose_counters(&tiling) * counter_bytes(problem) >
                                  (int64_t)(limits->local_bytes / 2))
        tiling.bits--;
    tiling.bits = even_bits(tiling.bits, problem->n_cols);
    return tiling;
}

weft_status weft_csr_transpose_tiling_check(const weft_csr_transpose_tiling *tiling,
                                            const weft_limits *limits,
                                            const weft_csr_transpose_problem *problem)
{
    TRY(weft_tiling_given_check(tiling, limits, problem, "csr_transpose"));
    TRY(weft_items_check(tiling->items, "tiling.items", limits, "csr_transpose"));
    if (tiling->bits < 1 || tiling->bits > MAX_BITS)
        return fail(WEFT_BAD_ARGUMENT, "csr_transpose: tiling.bits is %d: 1 to %d is wanted",
                    tiling->bits, MAX_BITS);
    if (tiling->run < 1 || tiling->run > MAX_RUN)
        return fail(WEFT_BAD_ARGUMENT, "csr_transpose: tiling.run is %d: 1 to %d is wanted",
                    tiling->run, MAX_RUN);
    const int64_t bytes = weft_csr_transpose_counters(tiling) * counter_bytes(problem);
    if ((uint64_t)bytes > limits->local_bytes)
        return fail(WEFT_BAD_ARGUMENT,
                    "csr_transpose: tiling.bits %d with %d items are counters of %" PRId64
                    " bytes; local memory has %zu",
                    tiling->bits, tiling->items, bytes, limits->local_bytes);
    return WEFT_OK;
}

// ---- a tiling as text

static const weft_tiling_field fields[] = {
    TILING_FIELD(weft_csr_transpose_tiling, items),
    TILING_FIELD(weft_csr_transpose_tiling, bits),
    TILING_FIELD(weft_csr_transpose_tiling, run),
};

const weft_tiling_table weft_csr_transpose_tiling_table = TILING_TABLE(fields);

int weft_csr_transpose_tiling_print(const weft_csr_transpose_tiling *tiling, char *text,
                                    size_t size)
{
    return weft_tiling_print(&weft_csr_transpose_tiling_table, tiling, text, size);
}
