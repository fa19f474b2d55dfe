// SPDX-License-Identifier: Apache-2.0
// Softmax over sparse rows and its backward: small shapes in every data type, every kind of tiling
// whether or not it would be chosen, long rows, and every known device as far as the one at hand
// can stand in for it.
#include "sparse_softmax_case.h"

#include "matrix_files.h"
#include "random.h"
#include "sparse/sparse_softmax_plan.h"

static weft_context *ctx;
static bool is_reduced;

typedef struct variant {
    weft_dtype dtype, offset_dtype;
    weft_sparse_softmax_tiling tiling;
} variant;

// vector width, lanes, rows_per_group, cache, chunk, row chunk
#define TILING(f, l, r, k, c, p)                                                                   \
    {                                                                                              \
        .vector_width = f, .lanes = l, .rows_per_group = r, .cache = k, .chunk = c, .row_chunk = p \
    }

static const variant variants[] = {
    // as on CPUs
    {WEFT_F32, WEFT_I32, TILING(4, 1, 1, 16, 20, 7)},
    {WEFT_F16, WEFT_I64, TILING(2, 1, 1, 8, 50, 1000)},
    {WEFT_BF16, WEFT_I32, TILING(4, 1, 1, 64, 7, 9)},
    {WEFT_F64, WEFT_I32, TILING(4, 1, 1, 12, 33, 16)},
    // as on GPUs
    {WEFT_F32, WEFT_I64, TILING(1, 4, 4, 16, 30, 5)},
    {WEFT_BF16, WEFT_I32, TILING(1, 8, 1, 24, 9, 1000)},
    {WEFT_F16, WEFT_I32, TILING(1, 1, 2, 5, 40, 3)},
    {WEFT_F64, WEFT_I32, TILING(1, 2, 1, 32, 64, 2)},
    // neither
    {WEFT_F32, WEFT_I32, TILING(1, 1, 1, 1, 1, 1)},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

// Wide vectors are for PoCL: rusticl takes minutes to compile them.
static const variant wide_variants[] = {
    {WEFT_F32, WEFT_I32, TILING(16, 1, 1, 256, 600, 70)},
    {WEFT_F16, WEFT_I32, TILING(16, 1, 1, 8192, 100, 1000)},
    {WEFT_BF16, WEFT_I32, TILING(8, 1, 1, 40, 300, 25)},
    {WEFT_F64, WEFT_I64, TILING(8, 1, 1, 256, 600, 33)},
};
enum { N_WIDE_VARIANTS = sizeof(wide_variants) / sizeof(wide_variants[0]) };

// Of one item, in vectors as wide as the implementation can take.
static const weft_sparse_softmax_tiling *vectors_of_one_item(void)
{
    static const weft_sparse_softmax_tiling narrow = TILING(4, 1, 1, 64, 1000, 1000);
    static const weft_sparse_softmax_tiling wide = TILING(16, 1, 1, 256, 1000, 1000);
    return is_on("pocl") ? &wide : &narrow;
}

// What changes from case to case without a program of its own.
static sparse_case varied(sparse_case of, uint64_t seed)
{
    static const double scales[] = {1, 0.125, -0.5, 1, 0, 3};
    random_state random = {seed};
    of.seed = seed;
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (sparse_numbers)random_below(&random, N_NUMBERS);
    of.scale = scales[random_below(&random, 6)];
    of.n_cols = random_below(&random, 3) ? 0 : 5;
    of.n_batches = random_below(&random, 4);
    of.offsets_start = random_below(&random, 3);
    of.values_start = random_below(&random, 20);
    of.out_start = random_below(&random, 20);
    of.shares_values = random_below(&random, 4) == 0;
    of.goes_back = random_below(&random, 4) == 0;
    of.place = (sparse_place)random_below(&random, of.is_backward ? 3 : 2);
    if (of.place == ON_CSR)
        of.shares_values = false;
    return of;
}

static bool fits_device(const variant *v)
{
    return (size_t)v->tiling.lanes * (size_t)v->tiling.rows_per_group <=
           weft_context_limits(ctx)->max_items;
}

static void run_variant(const variant *v, uint64_t seed, int n_cases)
{
    for (int i = 0; fits_device(v) && i < n_cases; i++) {
        random_state random = {seed + (uint64_t)i};
        const int64_t long_row = 4 * v->tiling.row_chunk < 90 ? 4 * v->tiling.row_chunk + 20 : 110;
        const sparse_case of = {
            .n_rows = random_below(&random, i % 3 ? 90 : 8),
            .longest = random_below(&random, i % 2 ? long_row : 20),
            .dtype = v->dtype,
            .offset_dtype = v->offset_dtype,
            .index_dtype = i % 2 ? WEFT_I16 : WEFT_I32,
            .is_backward = i % 2,
            .tiling = &v->tiling,
        };
        const sparse_case one = varied(of, seed + (uint64_t)i);
        sparse_run(ctx, &one);
    }
}

static void test_every_variant(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++)
        if (has_turn(i))
            run_variant(&variants[i], (uint64_t)(1000 * i), is_reduced ? 6 : 120);
}

static void test_every_wide_variant(void **state)
{
    (void)state;
    if (!is_on("pocl"))
        skip();
    for (int i = 0; i < N_WIDE_VARIANTS; i++)
        run_variant(&wide_variants[i], (uint64_t)(50000 + 1000 * i), is_reduced ? 8 : 160);
}

// Every number of entries up to 3 vectors, row by row, from every place of a vector on.
static void test_every_length(void **state)
{
    (void)state;
    const bool is_wide = is_on("pocl");
    for (int64_t n = 1; n <= (is_wide ? 50 : 14); n += is_reduced ? 3 : 1)
        for (int is_backward = 0; is_backward < 2; is_backward++) {
            const sparse_case of = {.seed = (uint64_t)n,
                                    .n_rows = is_reduced ? 9 : 40,
                                    .longest = n,
                                    .rows = ROWS_FULL,
                                    .numbers = STEEP,
                                    .values_start = n % 16,
                                    .out_start = n / 3 % 16,
                                    .is_backward = is_backward,
                                    .place = n % 3 == 0 ? ON_CSR : APART,
                                    .scale = 1,
                                    .tiling = vectors_of_one_item()};
            sparse_run(ctx, &of);
        }
}

// As planned: one row much longer than two row chunks, runs of empty rows, and more rows and
// entries than a chunk has.
static void test_as_planned(void **state)
{
    (void)state;
    static const sparse_rows rows[] = {ROWS_ONE_LONG, ROWS_IN_RUNS, ROWS_RANDOM, ROWS_SHORT};
    const int less = is_on("pocl") || is_on("device") ? 1 : 10;
    if (less > 1 && !getenv("WEFT_PROFILE"))
        skip();
    for (int i = 0; i < 8; i++) {
        const sparse_case of = {.seed = (uint64_t)i,
                                .n_rows = rows[i / 2] == ROWS_ONE_LONG ? 100 : 3000 / less,
                                .longest = rows[i / 2] == ROWS_ONE_LONG ? 200000 / less : 150,
                                .rows = rows[i / 2],
                                .numbers = i % 3 ? STEEP : FRACTIONS,
                                .is_backward = i % 2,
                                .scale = 1};
        sparse_run(ctx, &of);
    }
}

// Results that go past the caches, which wants whole vectors, aligned.
static void test_past_the_caches(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    if (!is_on("pocl"))
        skip();
    limits.cache_bytes = 64;
    weft_context *there = open_context(&limits);
    for (int i = 0; i < 24; i++) {
        const sparse_case of = {.seed = (uint64_t)i,
                                .n_rows = 60,
                                .longest = i % 4 ? 70 : 3000,
                                .rows = ROWS_RANDOM,
                                .numbers = i % 3 ? STEEP : FRACTIONS,
                                .n_batches = i % 3,
                                .dtype = i % 8 < 6 ? WEFT_F32 : WEFT_BF16,
                                .out_start = i,
                                .is_backward = i % 2,
                                .scale = 1};
        sparse_run(there, &of);
    }
    weft_context_destroy(&there);
}

// What served some rows does not serve the next ones, which are taken three at a time or so.
static void test_numbers_that_rise_and_fall(void **state)
{
    (void)state;
    static const weft_sparse_softmax_tiling narrow = TILING(4, 1, 1, 16, 1000, 1000);
    static const weft_sparse_softmax_tiling wide = TILING(16, 1, 1, 64, 1000, 1000);
    const bool is_wide = is_on("pocl");
    for (uint64_t seed = 0; seed < (is_reduced ? 4 : 12); seed++) {
        const sparse_case of = {.seed = seed,
                                .n_rows = seed % 2 ? 60 : 13,
                                .longest = is_wide ? 20 + (int64_t)seed / 4 : 5,
                                .rows = seed % 4 == 3 ? ROWS_RANDOM : ROWS_FULL,
                                .numbers = STEPPED,
                                .place = seed % 3 ? APART : ON_CSR,
                                .out_start = (int64_t)seed,
                                .scale = seed % 3 == 2 ? -1 : 1,
                                .tiling = is_wide ? &wide : &narrow};
        sparse_run(ctx, &of);
    }
}

// Numbers that lie near each other, and so far from 0 that they have few digits behind the point.
static void test_numbers_far_from_0(void **state)
{
    (void)state;
    static const double scales[] = {1, -1, 0.25};
    const bool is_wide = is_on("pocl");
    for (int i = 0; i < 6; i++) {
        const sparse_case of = {.seed = (uint64_t)i,
                                .n_rows = 30,
                                .longest = is_wide ? 20 : 6,
                                .rows = ROWS_FULL,
                                .numbers = i < 3 ? FAR_AWAY : REMOTE,
                                .out_start = i,
                                .scale = scales[i % 3],
                                .tiling = vectors_of_one_item()};
        sparse_run(ctx, &of);
    }
}

// Rows that pass what one item keeps, but are not cut.
static void test_rows_too_long_to_be_kept(void **state)
{
    (void)state;
    static const weft_sparse_softmax_tiling tiling = TILING(4, 1, 1, 64, 1000, 100000);
    for (uint64_t seed = 0; seed < 6; seed++) {
        const sparse_case of = {.seed = seed,
                                .n_rows = 7,
                                .longest = is_reduced ? 300 : 2000,
                                .rows = seed < 2 ? ROWS_FULL : ROWS_RANDOM,
                                .numbers = seed % 3 ? STEEP : MASKED,
                                .is_backward = seed % 2,
                                .place = seed < 4 ? APART : ON_CSR,
                                .out_start = (int64_t)seed,
                                .scale = 1,
                                .tiling = &tiling};
        sparse_run(ctx, &of);
    }
}

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    weft_context *there = open_context(limits);
    for (int i = 0; i < (is_reduced ? 2 : 6); i++) {
        const sparse_case of = {.n_rows = 60, .longest = 70, .is_backward = i % 2};
        sparse_case one = varied(of, seed + (uint64_t)i);
        one.n_batches = i % 3;
        sparse_run(there, &one);
    }
    weft_context_destroy(&there);
}

static void test_as_planned_for_every_known_device(void **state)
{
    (void)state;
    const size_t every = is_reduced ? 7 : 1;
    for (size_t i = 0; i < weft_profile_count(); i += every)
        if (weft_profile_at(i)->vector_width == 1 || is_on("pocl"))
            run_profile(weft_profile_at(i), 100 * i);
}

static void rewrite_file(const weft_csr_host *host)
{
    for (int i = 0; i < 4; i++) {
        const sparse_case of = {.seed = (uint64_t)host->nnz,
                                .n_rows = host->n_rows,
                                .n_cols = host->n_cols,
                                .given = host,
                                .numbers = i < 2 ? STEEP : FRACTIONS,
                                .is_backward = i % 2,
                                .scale = 0.5};
        sparse_run(ctx, &of);
    }
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(rewrite_file);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_variant),
        cmocka_unit_test(test_every_wide_variant),
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_as_planned),
        cmocka_unit_test(test_past_the_caches),
        cmocka_unit_test(test_numbers_that_rise_and_fall),
        cmocka_unit_test(test_numbers_far_from_0),
        cmocka_unit_test(test_rows_too_long_to_be_kept),
        cmocka_unit_test(test_as_planned_for_every_known_device),
        cmocka_unit_test(test_matrices_out_of_files),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
