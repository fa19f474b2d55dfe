// SPDX-License-Identifier: Apache-2.0
// SpMM by every kind of tiling, whether or not it would be chosen for the device at hand.
#define _GNU_SOURCE // MAP_ANONYMOUS
#include <sys/mman.h>

#include "sparse/spmm_tiling.h"
#include "spmm_case.h"

static weft_context *ctx;
static int n_cases; // for each tiling

typedef struct variant {
    weft_dtype dtype;
    weft_spmm_tiling tiling;
} variant;

// vector width, vectors, lanes, rows_per_group, rows_per_item, k-block, stage, load, unroll, row
// chunk, aligned, packed
#define TILING(f, v, l, g, i, w, s, a, u, p, x, b)                                                 \
    {                                                                                              \
        .vector_width = f, .vectors = v, .lanes = l, .rows_per_group = g, .rows_per_item = i,      \
        .k_block = w, .stage = s, .load = a, .unroll = u, .row_chunk = p, .aligned = x,            \
        .packed = b                                                                                \
    }

// The same of B in local memory, for so many row blocks.
#define STAGED_B(h, f, v, l, g, i, w, s, a, u, p, x)                                               \
    {                                                                                              \
        .vector_width = f, .vectors = v, .lanes = l, .rows_per_group = g, .rows_per_item = i,      \
        .k_block = w, .stage = s, .load = a, .unroll = u, .row_chunk = p, .aligned = x,            \
        .row_blocks_per_copy = h                                                                   \
    }

// The same in row splits of so many.
#define ROW_SPLIT(n, f, v, l, g, i, s, a, u, p, x, b)                                              \
    {                                                                                              \
        .row_split = n, .vector_width = f, .vectors = v, .lanes = l, .rows_per_group = g,          \
        .rows_per_item = i, .stage = s, .load = a, .unroll = u, .row_chunk = p, .aligned = x,      \
        .packed = b                                                                                \
    }

// The same of vectors with so many entries, packed or not.
#define SIDE_BY_SIDE(n, f, v, g, i, u, p, b)                                                       \
    {                                                                                              \
        .entry_lanes = n, .vector_width = f, .vectors = v, .lanes = 1, .rows_per_group = g,        \
        .rows_per_item = i, .load = 1, .unroll = u, .row_chunk = p, .packed = b                    \
    }

// The same of row splits whose items take entries in turn.
#define INTERLEAVED(n, f, v, l, g, i, u, p, x, b)                                                  \
    {                                                                                              \
        .entry_lanes = n, .row_split = n, .vector_width = f, .vectors = v, .lanes = l,             \
        .rows_per_group = g, .rows_per_item = i, .load = 1, .unroll = u, .row_chunk = p,           \
        .aligned = x, .packed = b                                                                  \
    }

static const variant variants[] = {
    // as on CPUs: entries read where they lie
    {WEFT_F32, TILING(1, 1, 1, 1, 0, 0, 0, 1, 1, 1, false, false)},
    {WEFT_F32, TILING(1, 6, 1, 4, 5, 0, 0, 1, 4, 2, false, false)},
    {WEFT_F32, TILING(4, 2, 3, 2, 3, 0, 0, 1, 2, 7, false, false)},
    {WEFT_F32, TILING(8, 1, 1, 1, 64, 0, 0, 1, 8, 1000, false, false)},
    {WEFT_F32, TILING(16, 2, 1, 1, 4, 0, 0, 1, 1, 7, false, false)},
    {WEFT_F32, TILING(16, 1, 1, 2, 2, 0, 0, 1, 2, 3, true, false)},
    {WEFT_F64, TILING(8, 2, 1, 1, 2, 0, 0, 1, 1, 2, false, false)},
    {WEFT_F16, TILING(16, 1, 1, 1, 3, 0, 0, 1, 1, 2, false, false)},
    {WEFT_BF16, TILING(2, 1, 2, 2, 2, 0, 0, 1, 2, 7, true, false)},
    {WEFT_BF16, TILING(4, 2, 1, 1, 3, 0, 0, 1, 2, 7, false, false)},
    {WEFT_BF16, TILING(8, 4, 1, 1, 3, 0, 0, 1, 1, 7, false, false)},
    {WEFT_BF16, TILING(16, 2, 1, 1, 2, 0, 0, 1, 1, 7, false, true)},
    // through k-blocks of B
    {WEFT_F32, TILING(2, 2, 2, 2, 64, 1, 0, 1, 1, 3, false, false)},
    {WEFT_BF16, TILING(1, 1, 1, 1, 2, 100, 0, 1, 1, 7, false, false)},
    {WEFT_BF16, TILING(2, 4, 1, 2, 8, 3, 0, 1, 1, 1000, false, false)},
    {WEFT_F32, TILING(2, 1, 2, 3, 4, 2, 4, 2, 2, 1000, false, false)},
    // of B packed
    {WEFT_F32, TILING(4, 2, 1, 1, 3, 0, 0, 1, 2, 3, false, true)},
    {WEFT_F32, TILING(2, 1, 2, 2, 0, 0, 4, 2, 1, 1000, false, true)},
    {WEFT_F16, TILING(2, 2, 2, 1, 4, 3, 0, 1, 1, 2, true, true)},
    // of B in local memory
    {WEFT_F32, STAGED_B(1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, false)},
    {WEFT_F32, STAGED_B(3, 4, 2, 1, 1, 4, 0, 0, 1, 4, 7, false)},
    {WEFT_F32, STAGED_B(5, 16, 2, 1, 1, 16, 5, 0, 1, 4, 1000, false)},
    {WEFT_F32, STAGED_B(2, 2, 3, 4, 2, 5, 3, 0, 1, 2, 1000, false)},
    {WEFT_F32, STAGED_B(2, 2, 2, 1, 4, 3, 0, 0, 1, 2, 2, false)},
    {WEFT_F32, STAGED_B(4, 4, 1, 4, 3, 0, 0, 8, 4, 2, 3, true)},
    {WEFT_F32, STAGED_B(INT32_MAX, 2, 1, 3, 2, 20, 2, 4, 2, 1, 1000, false)},
    {WEFT_F64, STAGED_B(2, 8, 2, 1, 1, 7, 3, 0, 1, 2, 5, false)},
    {WEFT_F16, STAGED_B(3, 16, 1, 1, 1, 3, 0, 0, 1, 4, 7, false)},
    {WEFT_F16, STAGED_B(2, 2, 2, 2, 2, 1, 0, 4, 2, 1, 2, true)},
    {WEFT_BF16, STAGED_B(2, 4, 2, 1, 1, 32, 2, 0, 1, 2, 1000, false)},
    // as on GPUs: entries staged in local memory
    {WEFT_F32, TILING(1, 1, 4, 2, 0, 0, 1, 1, 1, 1, false, false)},
    {WEFT_F32, TILING(1, 2, 8, 4, 0, 0, 8, 4, 2, 7, false, false)},
    {WEFT_F32, TILING(4, 1, 2, 3, 0, 0, 4, 4, 1, 2, true, false)},
    {WEFT_F32, TILING(2, 1, 2, 4, 3, 0, 4, 2, 1, 3, false, false)},
    {WEFT_F64, TILING(1, 1, 4, 2, 0, 0, 4, 4, 1, 7, false, false)},
    {WEFT_F16, TILING(2, 1, 4, 2, 0, 0, 8, 4, 2, 3, false, false)},
    {WEFT_BF16, TILING(4, 1, 2, 2, 0, 0, 4, 4, 1, 1, true, false)},
    // and a row's entries distributed out to a row split
    {WEFT_F32, ROW_SPLIT(2, 4, 1, 2, 2, 0, 8, 4, 8, 3, true, false)},
    {WEFT_F32, ROW_SPLIT(3, 1, 2, 4, 2, 3, 16, 4, 4, 1000, false, false)},
    {WEFT_F32, ROW_SPLIT(32, 2, 1, 2, 1, 2, 8, 2, 2, 20, false, true)},
    {WEFT_F32, ROW_SPLIT(4, 4, 2, 1, 2, 2, 0, 1, 4, 7, false, false)},
    {WEFT_F64, ROW_SPLIT(4, 2, 1, 4, 1, 0, 32, 1, 8, 1000, true, false)},
    {WEFT_F16, ROW_SPLIT(5, 2, 1, 2, 3, 2, 4, 4, 2, 3, false, false)},
    {WEFT_BF16, ROW_SPLIT(2, 4, 1, 8, 1, 0, 16, 4, 8, 40, true, false)},
    // entries side by side: in vectors
    {WEFT_F32, SIDE_BY_SIDE(8, 1, 1, 1, 5, 1, 1000, false)},
    {WEFT_F32, SIDE_BY_SIDE(2, 1, 2, 2, 3, 4, 7, false)},
    {WEFT_F32, SIDE_BY_SIDE(8, 2, 1, 1, 64, 1, 3, false)},
    {WEFT_F32, SIDE_BY_SIDE(4, 2, 2, 1, 2, 2, 1000, true)},
    {WEFT_F32, SIDE_BY_SIDE(2, 2, 3, 1, 2, 1, 20, false)},
    {WEFT_F32, SIDE_BY_SIDE(4, 4, 2, 1, 4, 1, 1000, false)},
    {WEFT_F32, SIDE_BY_SIDE(2, 8, 1, 1, 2, 8, 7, false)},
    {WEFT_F64, SIDE_BY_SIDE(8, 1, 1, 1, 4, 1, 20, false)},
    {WEFT_F64, SIDE_BY_SIDE(2, 4, 2, 2, 1, 1, 1000, false)},
    {WEFT_F16, SIDE_BY_SIDE(8, 1, 2, 1, 3, 1, 1000, true)},
    {WEFT_BF16, SIDE_BY_SIDE(4, 2, 2, 1, 3, 1, 7, false)},
    {WEFT_BF16, SIDE_BY_SIDE(4, 1, 1, 1, 3, 2, 1000, false)},
    // and in items
    {WEFT_F32, INTERLEAVED(8, 1, 1, 1, 4, 2, 4, 1000, false, false)},
    {WEFT_F32, INTERLEAVED(3, 1, 2, 2, 2, 0, 1, 7, false, false)},
    {WEFT_F32, INTERLEAVED(32, 2, 1, 1, 1, 3, 2, 40, true, false)},
    {WEFT_F32, INTERLEAVED(4, 1, 1, 4, 2, 0, 8, 1000, false, true)},
    {WEFT_F64, INTERLEAVED(4, 2, 1, 2, 1, 2, 2, 3, true, false)},
    {WEFT_F16, INTERLEAVED(8, 1, 1, 4, 1, 0, 4, 1000, false, false)},
    {WEFT_BF16, INTERLEAVED(4, 4, 1, 2, 2, 0, 4, 20, true, false)},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static int64_t random_n(random_state *random, const weft_spmm_tiling *t)
{
    const int64_t n_tile = (int64_t)t->vector_width * t->vectors * t->lanes;
    const int64_t choices[] = {t->vector_width, n_tile - 1, n_tile,
                               n_tile + 1,      2 * n_tile, 2 * n_tile + 1};
    const int64_t n = choices[random_below(random, 6)];
    const int64_t whole = n / t->vector_width * t->vector_width;
    return n < t->vector_width ? t->vector_width : t->aligned && whole > 0 ? whole : n;
}

// Starts, layouts and a batch that the tiling can bear.
static spmm_case fitting_case(const weft_spmm_tiling *t, weft_dtype dtype, uint64_t seed)
{
    static const double scalars[] = {1, -2, 0.5};
    random_state random = {seed};
    spmm_case of = {.seed = seed, .dtype = dtype, .tiling = t};
    const int64_t row_blocks = (t->row_blocks_per_copy < 5 ? t->row_blocks_per_copy : 5) + 2;
    of.m = random_below(&random, row_blocks * t->rows_per_group * (t->rows_per_item % 63 + 1) + 2);
    of.k = random_below(
        &random, 4 * (t->stage + t->unroll + t->row_split + t->entry_lanes + t->k_block % 9) + 2);
    of.n = random_n(&random, t);
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (spmm_numbers)random_below(&random, WILD_INPUT);
    of.alpha = scalars[random_below(&random, 3)];
    of.beta = random_below(&random, 2) ? scalars[random_below(&random, 3)] : 0;
    of.with_plan = random_below(&random, 2);
    of.plan_row_chunk = random_below(&random, 4);
    of.n_batches = random_below(&random, 3);
    of.own_values = t->load == 1 && random_below(&random, 2);
    of.indices_start = random_below(&random, 6);
    of.values_start = of.indices_start + t->load * random_below(&random, 3);
    of.b_layout = t->aligned ? ROWS_ALIGNED : (dense_layout)random_below(&random, ROWS_ALIGNED + 1);
    of.c_layout = t->aligned ? ROWS_ALIGNED : (dense_layout)random_below(&random, COLUMN_MAJOR);
    if ((t->packed || t->row_blocks_per_copy > 0) && !t->aligned)
        of.b_layout = (dense_layout)random_below(&random, N_LAYOUTS);
    of.b_start = (t->aligned ? t->vector_width : 1) * random_below(&random, 3);
    of.c_start = (t->aligned ? t->vector_width : 1) * random_below(&random, 3);
    return of;
}

static bool is_taken(const variant *v)
{
    const weft_limits *limits = weft_context_limits(ctx);
    return (v->dtype != WEFT_F64 || limits->has_f64) &&
           (v->dtype != WEFT_BF16 || v->tiling.vector_width <= 4 || takes_wide_vectors()) &&
           (size_t)weft_spmm_row_items(&v->tiling) * (size_t)v->tiling.rows_per_group <=
               limits->max_items;
}

static void test_every_variant(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++) {
        const weft_spmm_tiling *t = &variants[i].tiling;
        const bool is_for_pocl = t->vector_width > 4 || t->row_blocks_per_copy > 0;
        const bool is_wanted = is_taken(&variants[i]) && has_turn_unless(is_for_pocl, i);
        for (int j = 0; is_wanted && j < n_cases; j++) {
            weft_spmm_tiling tiling = variants[i].tiling;
            tiling.k_block_from = tiling.k_block > 0 ? j % 4 : 0; // some rows have fewer
            spmm_case one = fitting_case(&tiling, variants[i].dtype, (uint64_t)(1000 * i + j));
            one.has_wide_c = weft_dtype_size(one.dtype) == 2 && i / 2 % 2 == 0;
            spmm_run(ctx, &one);
        }
    }
}

// Groups whose rows are all empty, group after group: nobody may run ahead of the others.
static void test_staging_of_empty_rows(void **state)
{
    (void)state;
    const weft_spmm_tiling t = TILING(1, 1, 4, 2, 5, 0, 4, 1, 1, 1000, false, false);
    for (uint64_t seed = 0; seed < 8; seed++) {
        const spmm_case one = {.seed = seed,
                               .m = 40,
                               .k = seed % 2 ? 3 : 20,
                               .n = 4,
                               .rows = seed % 4 < 2 ? ROWS_ONE_FULL : ROWS_RANDOM,
                               .alpha = 1,
                               .tiling = &t};
        spmm_run(ctx, &one);
    }
}

// Lanes that are items, which compute addresses of rows of B: staged entries, and interleaved ones.
static const weft_spmm_tiling item_tilings[] = {
    TILING(1, 2, 2, 2, 1, 0, 4, 1, 4, 1000, false, false),
    INTERLEAVED(4, 1, 1, 2, 2, 1, 2, 1000, false, false),
};

static void test_rows_of_B_in_any_order(void **state)
{
    (void)state;
    static const dense_layout layouts[] = {ROWS_BACKWARDS, COLUMN_MAJOR, COLUMNS_BACKWARDS,
                                           BATCH_BACKWARDS, SAME_ROW};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < (int)(sizeof(layouts) / sizeof(layouts[0])); j++) {
            const spmm_case one = {.seed = (uint64_t)(50 * i + j),
                                   .m = 5,
                                   .k = 9,
                                   .n = 7,
                                   .n_batches = 2,
                                   .b_layout = layouts[j],
                                   .alpha = 1,
                                   .tiling = &item_tilings[i]};
            spmm_run(ctx, &one);
        }
}

// Pages of it exist once they are written; PoCL uses them where they are.
static cl_mem far_rows(void **memory, const spmm_operands *o, int64_t distance)
{
    const size_t row_bytes = (size_t)o->of.n * sizeof(float);
    const size_t bytes = (size_t)(o->of.k - 1) * (size_t)distance + row_bytes;
    cl_int code;
    *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    assert_ptr_not_equal(*memory, MAP_FAILED);
    for (int64_t row = 0; row < o->of.k; row++)
        memcpy((char *)*memory + row * distance, (const char *)o->dense + (size_t)row * row_bytes,
               row_bytes);
    cl_mem buffer =
        clCreateBuffer(weft_context_cl(ctx), CL_MEM_USE_HOST_PTR, bytes, *memory, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static void multiply_far_rows(const weft_spmm_tiling *tiling, int64_t k, int64_t distance)
{
    const spmm_case one = {
        .seed = 3, .m = 4, .k = k, .n = 5, .rows = ROWS_FULL, .alpha = 1, .tiling = tiling};
    spmm_operands o;
    void *memory;
    spmm_create(&o, ctx, weft_context_queue(ctx), &one);
    const weft_tensor near = o.B;
    o.B.buffer = far_rows(&memory, &o, distance);
    o.B.offset = 0;
    o.B.stride[0] = distance / (int64_t)sizeof(float);
    spmm_call(&o);
    spmm_check(&o);
    clReleaseMemObject(o.B.buffer);
    munmap(memory, (size_t)((k - 1) * distance) + (size_t)one.n * sizeof(float));
    o.B = near;
    spmm_destroy(&o);
}

// Beyond 4 GiB from the first one: by a distance that 32 bits hold, and by one that they do not.
static void test_rows_of_B_far_apart(void **state)
{
    (void)state;
    const int64_t gib = 1 << 30;
    if (!is_on("pocl") || weft_context_limits(ctx)->max_alloc_bytes < (uint64_t)(7 * gib))
        skip();
    for (int i = 0; i < 2; i++) {
        multiply_far_rows(&item_tilings[i], 3, 3 * gib);
        multiply_far_rows(&item_tilings[i], 2, 5 * gib);
    }
}

int main(void)
{
    need_device();
    n_cases = getenv("WEFT_TEST_REDUCED") ? 6 : 40;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_variant),
        cmocka_unit_test(test_staging_of_empty_rows),
        cmocka_unit_test(test_rows_of_B_in_any_order),
        cmocka_unit_test(test_rows_of_B_far_apart),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
