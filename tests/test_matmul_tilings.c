// SPDX-License-Identifier: Apache-2.0
// Matrix products by every kind of tiling, whether or not it would be chosen for the device at
// hand.
#include "dense/matmul_tiling.h"
#include "matmul_case.h"

static weft_context *ctx;
static bool is_reduced;

typedef struct variant {
    weft_dtype dtype;
    weft_matmul_tiling tiling;
} variant;

// vector width, vectors, rows, items, group of items, depth, block_rows, block_columns, chunk
#define TILING(m, t, f, v, r, i, y, d, b, c, p)                                                    \
    {                                                                                              \
        .method = WEFT_MATMUL_##m, .transposed = t, .vector_width = f, .vectors = v, .rows = r,    \
        .items = i, .items_y = y, .depth = d, .block_rows = b, .block_columns = c, .chunk = p      \
    }

enum { WHOLE_K = 1 << 20 };

static const variant variants[] = {
    // blocks as on CPUs: strips and panels of one item, of each number of rows
    {WEFT_F32, TILING(BLOCKS, false, 4, 2, 1, 1, 1, 8, 3, 24, WHOLE_K)},
    {WEFT_F32, TILING(BLOCKS, true, 2, 3, 2, 1, 1, 6, 4, 12, 9)},
    {WEFT_F32, TILING(BLOCKS, false, 1, 4, 3, 1, 1, 3, 9, 8, WHOLE_K)},
    {WEFT_F32, TILING(BLOCKS, true, 16, 2, 12, 1, 1, 32, 24, 64, WHOLE_K)},
    {WEFT_F32, TILING(BLOCKS, false, 4, 1, 16, 1, 1, 4, 16, 4, 7)},
    {WEFT_F64, TILING(BLOCKS, false, 8, 2, 12, 1, 1, 8, 24, 32, 20)},
    {WEFT_BF16, TILING(BLOCKS, false, 16, 2, 7, 1, 1, 16, 14, 32, WHOLE_K)},
    {WEFT_F16, TILING(BLOCKS, true, 4, 2, 5, 1, 1, 8, 10, 16, 12)},
    {WEFT_I8, TILING(BLOCKS, false, 8, 2, 6, 1, 1, 16, 12, 32, 24)},
    // of several items
    {WEFT_F32, TILING(BLOCKS, false, 2, 2, 3, 2, 2, 4, 12, 16, WHOLE_K)},
    {WEFT_F32, TILING(BLOCKS, true, 1, 2, 2, 4, 2, 4, 8, 16, 6)},
    // as on GPUs: a block is one strip and one panel
    {WEFT_F32, TILING(BLOCKS, false, 1, 1, 1, 4, 4, 4, 4, 4, WHOLE_K)},
    {WEFT_F32, TILING(BLOCKS, false, 4, 2, 4, 4, 2, 16, 8, 32, WHOLE_K)},
    {WEFT_F32, TILING(BLOCKS, true, 4, 1, 4, 16, 16, 16, 64, 64, 33)},
    {WEFT_F32, TILING(BLOCKS, false, 2, 1, 16, 2, 1, 2, 16, 4, 11)},
    {WEFT_F64, TILING(BLOCKS, false, 2, 2, 4, 4, 4, 8, 16, 16, 24)},
    {WEFT_F16, TILING(BLOCKS, false, 2, 1, 8, 2, 8, 4, 64, 4, 10)},
    {WEFT_I8, TILING(BLOCKS, false, 4, 1, 8, 4, 4, 16, 32, 16, 20)},
    // read where they lie
    {WEFT_F32, TILING(DIRECT, false, 16, 2, 12, 1, 1, 40, 24, 64, WHOLE_K)},
    {WEFT_F32, TILING(DIRECT, true, 4, 2, 5, 1, 1, 8, 10, 16, WHOLE_K)},
    {WEFT_F32, TILING(DIRECT, false, 2, 3, 1, 1, 1, 6, 3, 12, WHOLE_K)},
    {WEFT_F32, TILING(DIRECT, true, 1, 4, 3, 1, 1, 3, 9, 8, WHOLE_K)},
    {WEFT_F64, TILING(DIRECT, false, 8, 2, 12, 1, 1, 16, 12, 32, WHOLE_K)},
    {WEFT_F16, TILING(DIRECT, false, 4, 1, 6, 1, 1, 8, 12, 4, WHOLE_K)},
    {WEFT_I8, TILING(DIRECT, true, 4, 2, 4, 1, 1, 16, 8, 16, WHOLE_K)},
    // dot products, by one item and by several
    {WEFT_F32, TILING(DOTS, false, 4, 4, 2, 1, 1, 16, 8, 8, WHOLE_K)},
    {WEFT_F32, TILING(DOTS, true, 1, 1, 1, 1, 1, 7, 8, 5, 13)},
    {WEFT_F32, TILING(DOTS, true, 16, 4, 2, 1, 1, 32, 8, 16, WHOLE_K)},
    {WEFT_F32, TILING(DOTS, false, 1, 3, 4, 1, 4, 5, 8, 12, 25)},
    {WEFT_F32, TILING(DOTS, false, 4, 2, 2, 4, 2, 32, 8, 8, WHOLE_K)},
    {WEFT_F32, TILING(DOTS, true, 1, 2, 2, 16, 1, 32, 8, 6, 40)},
    {WEFT_F64, TILING(DOTS, false, 8, 4, 2, 1, 1, 16, 8, 8, 30)},
    {WEFT_F16, TILING(DOTS, true, 2, 2, 1, 4, 2, 16, 8, 4, 17)},
    {WEFT_BF16, TILING(DOTS, false, 8, 2, 4, 1, 1, 8, 8, 8, WHOLE_K)},
    {WEFT_I8, TILING(DOTS, false, 4, 2, 2, 4, 2, 16, 8, 4, 50)},
    // rows, in long spans and in short ones
    {WEFT_F32, TILING(ROWS, false, 4, 3, 8, 1, 1, 4, 8, 12, WHOLE_K)},
    {WEFT_F32, TILING(ROWS, true, 2, 4, 4, 1, 1, 2, 5, 8, 6)},
    {WEFT_F32, TILING(ROWS, false, 16, 2, 8, 1, 1, 16, 100, 32, WHOLE_K)},
    {WEFT_F32, TILING(ROWS, false, 1, 1, 1, 1, 1, 1, 3, 1, 5)},
    {WEFT_F32, TILING(ROWS, false, 4, 1, 8, 4, 2, 4, 16, 16, WHOLE_K)},
    {WEFT_F32, TILING(ROWS, true, 1, 1, 2, 2, 4, 1, 8, 2, 19)},
    {WEFT_F32, TILING(ROWS, false, 4, 1, 4, 4, 2, 4, 24, 16, WHOLE_K)},
    {WEFT_F32, TILING(ROWS, false, 2, 2, 2, 4, 1, 2, 2, 16, WHOLE_K)},
    {WEFT_F64, TILING(ROWS, false, 8, 2, 4, 1, 1, 8, 9, 16, 21)},
    {WEFT_F16, TILING(ROWS, false, 4, 1, 4, 2, 2, 4, 8, 8, 3)},
    {WEFT_BF16, TILING(ROWS, true, 8, 2, 8, 1, 1, 8, 8, 16, WHOLE_K)},
    {WEFT_I8, TILING(ROWS, false, 4, 1, 8, 4, 2, 4, 16, 16, 12)},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

// About the block, or two of them.
static int64_t near_block(random_state *random, int64_t block)
{
    const int64_t choices[] = {1, block - 1, block, block + 1, 2 * block + 1, block / 2 + 1};
    const int64_t chosen = choices[random_below(random, 6)];
    return chosen > 0 ? chosen : 1;
}

static matmul_case fitting_case(const variant *v, uint64_t seed)
{
    static const double scalars[] = {1, -2, 3};
    const weft_matmul_tiling *t = &v->tiling;
    const int64_t step = t->chunk < WHOLE_K ? t->chunk : t->depth;
    random_state random = {seed};
    matmul_case of = {.seed = seed, .dtype = v->dtype, .tiling = t};
    const bool is_dots = t->method == WEFT_MATMUL_DOTS;
    const int64_t rows =
        is_dots ? random_between(&random, 1, WEFT_MATMUL_FEW) : near_block(&random, t->block_rows);
    const int64_t columns = near_block(&random, t->block_columns);
    of.m = t->transposed ? columns : rows;
    of.n = t->transposed ? rows : columns;
    of.k = near_block(&random, step) + step * random_below(&random, 2);
    of.numbers = v->dtype == WEFT_I8 ? WHOLE : (matmul_numbers)random_below(&random, N_NUMBERS);
    of.alpha = scalars[random_below(&random, 3)];
    of.beta = random_below(&random, 2) ? scalars[random_below(&random, 3)] : 0;
    of.n_batch = (int)random_below(&random, 2);
    of.batch[0] = 1 + random_below(&random, 3);
    of.a.layout = (strided_layout)random_below(&random, N_LAYOUTS);
    of.b.layout = (strided_layout)random_below(&random, N_LAYOUTS);
    of.c.layout = (strided_layout)random_below(&random, LAYOUT_REPEATING);
    of.b.missing = of.n_batch && random_below(&random, 2);
    of.a.gap = random_below(&random, 3);
    of.b.gap = random_below(&random, 3);
    matmul_suit(&of);
    return of;
}

static bool is_taken(const variant *v)
{
    const weft_limits *limits = weft_context_limits(ctx);
    return (v->dtype != WEFT_F64 || limits->has_f64) &&
           (v->tiling.vector_width <= 4 || takes_wide_vectors()) &&
           (size_t)v->tiling.items * (size_t)v->tiling.items_y <= limits->max_items;
}

static void run_variants(weft_matmul_method method)
{
    for (int i = 0; i < N_VARIANTS; i++)
        for (int j = 0; j < (is_reduced ? 4 : 60); j++)
            if (variants[i].tiling.method == method && is_taken(&variants[i]) &&
                has_turn_unless(variants[i].tiling.vector_width > 4, i)) {
                const matmul_case one = fitting_case(&variants[i], (uint64_t)(1000 * i + j));
                matmul_run(ctx, &one);
            }
}

static void test_every_variant_of_blocks(void **state)
{
    (void)state;
    run_variants(WEFT_MATMUL_BLOCKS);
}

static void test_every_variant_of_direct(void **state)
{
    (void)state;
    run_variants(WEFT_MATMUL_DIRECT);
}

static void test_every_variant_of_dots(void **state)
{
    (void)state;
    run_variants(WEFT_MATMUL_DOTS);
}

static void test_every_variant_of_rows(void **state)
{
    (void)state;
    run_variants(WEFT_MATMUL_ROWS);
}

// Where there are fewer rows than an item has room for, each may have more vectors.
static void test_vectors_of_rows_that_are_not_there(void **state)
{
    (void)state;
    const weft_matmul_tiling tiling = TILING(ROWS, false, 2, 2, 4, 1, 1, 2, 4, 16, 20);
    for (uint64_t seed = 0; seed < 48; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 1,
                                 .n = 1 + (int64_t)seed % 24 * 2,
                                 .k = 1 + (int64_t)seed,
                                 .numbers = seed % 2 ? WHOLE : FRACTIONS,
                                 .alpha = 1,
                                 .tiling = &tiling};
        matmul_run(ctx, &one);
    }
}

// More blocks along each direction than a grid may have groups, or so it is hoped.
static void test_many_blocks(void **state)
{
    (void)state;
    static const weft_matmul_tiling tilings[] = {
        TILING(ROWS, false, 1, 1, 1, 1, 1, 1, 1, 1, WHOLE_K),
        TILING(BLOCKS, false, 1, 1, 1, 1, 1, 1, 1, 1, WHOLE_K),
        TILING(BLOCKS, false, 1, 1, 1, 2, 1, 2, 1, 2, WHOLE_K),
        TILING(BLOCKS, false, 1, 1, 1, 1, 2, 1, 2, 1, 1),
    };
    const int64_t many = is_reduced ? 40 : 70000;
    for (uint64_t seed = 0; seed < 12; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = seed % 3 == 0 ? many : 2,
                                 .n = seed % 3 == 1 ? many : 1,
                                 .k = 2,
                                 .n_batch = 1,
                                 .batch = {seed % 3 == 2 ? many : 1},
                                 .alpha = 1,
                                 .tiling = &tilings[seed / 3]};
        matmul_run(ctx, &one);
    }
}

// Where all of a block is whole and aligned, no item asks before it loads, and two steps or more
// have a loop of their own; the last step may be shorter. A and B lie either way. Offsets are
// anything: one product in 16 has both aligned.
static void test_whole_blocks_of_one_step_to_four(void **state)
{
    (void)state;
    static const weft_matmul_tiling tiling =
        TILING(BLOCKS, false, 4, 2, 4, 4, 2, 8, 8, 32, WHOLE_K);
    for (uint64_t seed = 0; seed < 768; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 8,
                                 .n = 32,
                                 .k = 8 * (1 + (int64_t)(seed >> 3 & 3)) + 4 * (int64_t)(seed & 1),
                                 .dtype = seed < 512 ? WEFT_F32 : WEFT_F16,
                                 .alpha = 1,
                                 .a.layout = seed & 2 ? LAYOUT_TRANSPOSED : LAYOUT_DENSE,
                                 .b.layout = seed & 4 ? LAYOUT_TRANSPOSED : LAYOUT_DENSE,
                                 .tiling = &tiling};
        matmul_run(ctx, &one);
    }
}

// Where the caches are too small for C, what is aligned is written past them.
static void test_outputs_that_no_cache_holds(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.cache_bytes = 64;
    weft_context *there = open_context(&limits);
    for (uint64_t seed = 0; seed < 24; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 10 + (int64_t)seed % 3,
                                 .n = seed % 4 ? 48 : 49,
                                 .k = 5,
                                 .c = {.gap = seed % 8 < 4 ? 0 : 16},
                                 .numbers = seed % 2 ? WHOLE : FRACTIONS,
                                 .alpha = 1,
                                 .beta = seed % 3 ? 0 : 2,
                                 .tiling = seed % 5 ? &variants[0].tiling : NULL};
        matmul_run(there, &one);
    }
    weft_context_destroy(&there);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED") || is_on("rusticl"); // which compiles for long
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_variant_of_blocks),
        cmocka_unit_test(test_every_variant_of_direct),
        cmocka_unit_test(test_every_variant_of_dots),
        cmocka_unit_test(test_every_variant_of_rows),
        cmocka_unit_test(test_vectors_of_rows_that_are_not_there),
        cmocka_unit_test(test_many_blocks),
        cmocka_unit_test(test_whole_blocks_of_one_step_to_four),
        cmocka_unit_test(test_outputs_that_no_cache_holds),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
