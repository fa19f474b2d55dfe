// SPDX-License-Identifier: Apache-2.0
// Matrix products over every small shape: up to one more than a block in each direction, by every
// method, cut as on a CPU and as on a GPU, in every data type.
#include "dense/matmul_tiling.h"
#include "matmul_case.h"

static weft_context *ctx;
static int step; // of the small set: every step-th case

// ---- tilings

// vector width, vectors, rows, items, group of items, depth, block_rows, block_columns, chunk
#define TILING(m, t, f, v, r, i, y, d, b, c, p)                                                    \
    {                                                                                              \
        .method = WEFT_MATMUL_##m, .transposed = t, .vector_width = f, .vectors = v, .rows = r,    \
        .items = i, .items_y = y, .depth = d, .block_rows = b, .block_columns = c, .chunk = p      \
    }

enum { WHOLE_K = 1 << 20 };

// Blocks of several strips and panels, as on a CPU.
static const weft_matmul_tiling strips = TILING(BLOCKS, false, 2, 1, 2, 1, 1, 4, 4, 4, WHOLE_K);
static const weft_matmul_tiling strips_in_chunks = TILING(BLOCKS, true, 2, 2, 1, 1, 1, 4, 3, 4, 5);

// One strip and one panel of several items, as on a GPU.
static const weft_matmul_tiling tile = TILING(BLOCKS, false, 1, 1, 2, 4, 2, 2, 4, 4, WHOLE_K);
static const weft_matmul_tiling tile_in_chunks = TILING(BLOCKS, true, 2, 1, 1, 2, 4, 2, 4, 4, 4);

static const weft_matmul_tiling dots = TILING(DOTS, false, 2, 2, 2, 1, 1, 4, 5, 4, WHOLE_K);
static const weft_matmul_tiling dots_of_items =
    TILING(DOTS, false, 1, 1, 1, 4, 2, 4, 5, 4, WHOLE_K);
static const weft_matmul_tiling dots_in_chunks = TILING(DOTS, true, 2, 1, 4, 2, 2, 4, 5, 4, 5);

static const weft_matmul_tiling rows = TILING(ROWS, false, 2, 2, 2, 1, 1, 2, 3, 4, WHOLE_K);
static const weft_matmul_tiling rows_of_items =
    TILING(ROWS, false, 1, 1, 1, 4, 2, 1, 2, 4, WHOLE_K);
static const weft_matmul_tiling rows_in_chunks = TILING(ROWS, true, 2, 1, 4, 2, 1, 2, 4, 4, 5);

static const weft_matmul_tiling *const all_tilings[] = {
    &strips,        &strips_in_chunks, &tile, &tile_in_chunks, &dots,
    &dots_of_items, &dots_in_chunks,   &rows, &rows_of_items,  &rows_in_chunks,
};
// Two of each method: by vector width, and by items.
static const weft_matmul_tiling *const some_tilings[] = {
    &strips_in_chunks, &tile, &dots, &dots_of_items, &rows, &rows_of_items,
};
enum {
    N_ALL = sizeof(all_tilings) / sizeof(all_tilings[0]),
    N_SOME = sizeof(some_tilings) / sizeof(some_tilings[0]),
};

// ---- shapes

// What changes from case to case without a program of its own.
static matmul_case varied(matmul_case of, uint64_t seed)
{
    static const double scalars[] = {1, 0, -2, 1, 3, 0, 1};
    random_state random = {seed};
    of.seed = seed;
    of.a.layout = (strided_layout)random_below(&random, N_LAYOUTS);
    of.b.layout = (strided_layout)random_below(&random, N_LAYOUTS);
    of.c.layout = (strided_layout)random_below(&random, LAYOUT_REPEATING);
    of.a.gap = random_below(&random, 3);
    of.b.gap = random_below(&random, 3);
    of.c.gap = random_below(&random, 3);
    of.numbers = of.dtype == WEFT_I8 ? WHOLE : (matmul_numbers)random_below(&random, N_NUMBERS);
    of.alpha = scalars[random_below(&random, 7)];
    of.beta = scalars[random_below(&random, 7)];
    if (of.alpha == 0 && of.dtype != WEFT_I8)
        of.numbers = POISON;
    matmul_suit(&of);
    return of;
}

// Every shape up to one more than a block of 4 x 4, and two more than two chunks of k.
static void run_shapes(matmul_case of)
{
    static uint64_t seed;
    for (of.m = 0; of.m <= 5; of.m++)
        for (of.n = 0; of.n <= 5; of.n++)
            for (of.k = 0; of.k <= 10; of.k++) {
                if (++seed % (uint64_t)step != 0)
                    continue;
                const matmul_case one = varied(of, seed);
                matmul_run(ctx, &one);
            }
}

static void test_small_shapes_as_planned(void **state)
{
    (void)state;
    run_shapes((matmul_case){.dtype = WEFT_F32});
}

static void test_small_shapes_by_every_method(void **state)
{
    (void)state;
    for (int i = 0; i < N_ALL; i++)
        if (has_turn(i))
            run_shapes((matmul_case){.tiling = all_tilings[i]});
}

static void test_small_shapes_of_narrow_types(void **state)
{
    (void)state;
    for (int i = 0; i < N_SOME; i++)
        run_shapes((matmul_case){.dtype = i % 2 ? WEFT_F16 : WEFT_BF16, .tiling = some_tilings[i]});
}

static void test_small_shapes_of_whole_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < N_SOME; i += 2)
        run_shapes((matmul_case){.dtype = WEFT_I8, .tiling = some_tilings[i]});
}

static void test_small_shapes_in_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    for (int i = 1; i < N_SOME; i += 2)
        run_shapes((matmul_case){.dtype = WEFT_F64, .tiling = some_tilings[i]});
}

// C in another type than A and B: each of them, by each method.
static void test_small_shapes_into_other_types(void **state)
{
    (void)state;
    static const weft_dtype pairs[][2] = {{WEFT_F32, WEFT_F16},  {WEFT_F32, WEFT_BF16},
                                          {WEFT_F16, WEFT_F32},  {WEFT_F16, WEFT_BF16},
                                          {WEFT_BF16, WEFT_F32}, {WEFT_BF16, WEFT_F16}};
    for (int i = 0; i < 6; i++)
        run_shapes((matmul_case){
            .dtype = pairs[i][0], .c_dtype = pairs[i][1], .tiling = some_tilings[i % N_SOME]});
}

int main(void)
{
    need_device();
    step = getenv("WEFT_TEST_REDUCED") ? 17 : 1; // prime to the number of shapes
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shapes_as_planned),
        cmocka_unit_test(test_small_shapes_by_every_method),
        cmocka_unit_test(test_small_shapes_of_narrow_types),
        cmocka_unit_test(test_small_shapes_of_whole_numbers),
        cmocka_unit_test(test_small_shapes_in_f64),
        cmocka_unit_test(test_small_shapes_into_other_types),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
