// SPDX-License-Identifier: Apache-2.0
// Matrix products through every kind of view: layouts, starts, batches that broadcast, formulas of
// inputs that do, alpha and beta, and what must not be read.
#include "dense/matmul_tiling.h"
#include "matmul_case.h"

#include <math.h>

static weft_context *ctx;
static int step; // of the small set: every step-th case

// Programs that compile in no time, for what has one of its own for each data type or formula.
static const weft_matmul_tiling tilings[] = {
    {.method = WEFT_MATMUL_BLOCKS,
     .vector_width = 4,
     .vectors = 1,
     .rows = 2,
     .items = 1,
     .items_y = 1,
     .depth = 8,
     .block_rows = 6,
     .block_columns = 16,
     .chunk = 1 << 20},
    {.method = WEFT_MATMUL_ROWS,
     .transposed = true,
     .vector_width = 2,
     .vectors = 1,
     .rows = 2,
     .items = 2,
     .items_y = 2,
     .depth = 2,
     .block_rows = 8,
     .block_columns = 4,
     .chunk = 7},
};

static void run_taken(const matmul_case *one)
{
    matmul_case suited = *one;
    matmul_suit(&suited);
    if (one->seed % (uint64_t)step == 0)
        matmul_run(ctx, &suited);
}

// ---- layouts

static void test_layouts_of_a_b_and_c(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int a = 0; a < N_LAYOUTS; a++)
        for (int b = 0; b < N_LAYOUTS; b++)
            for (int c = 0; c < LAYOUT_REPEATING; c++)
                for (int gap = 0; gap < 2; gap++) {
                    ++seed;
                    const matmul_case one = {.seed = seed,
                                             .m = 9 + (int64_t)seed % 3,
                                             .n = 20 - (int64_t)seed % 5,
                                             .k = 17 + (int64_t)seed % 4,
                                             .n_batch = (int)(seed / 5 % 2),
                                             .batch = {2},
                                             .numbers = (matmul_numbers)(seed % N_NUMBERS),
                                             .a = {.layout = (strided_layout)a, .gap = gap},
                                             .b = {.layout = (strided_layout)b, .gap = gap},
                                             .c = {.layout = (strided_layout)c, .gap = gap},
                                             .alpha = 2,
                                             .beta = seed % 3 ? -1 : 0};
                    run_taken(&one);
                }
}

// Vectors and matrices: all that is short in one direction, or in two, in every order of strides.
static void test_short_directions(void **state)
{
    (void)state;
    static const int64_t extents[] = {1, 2, 7, 90};
    static const strided_layout layouts[] = {LAYOUT_DENSE, LAYOUT_TRANSPOSED, LAYOUT_SPACED};
    uint64_t seed = 3000;
    for (int shape = 0; shape < 64; shape++)
        for (int layout = 0; layout < 9; layout++) {
            ++seed;
            const matmul_case one = {.seed = seed,
                                     .m = extents[shape % 4],
                                     .n = extents[shape / 4 % 4],
                                     .k = extents[shape / 16],
                                     .numbers = (matmul_numbers)(seed % N_NUMBERS),
                                     .a = {.layout = layouts[layout % 3]},
                                     .b = {.layout = layouts[layout / 3]},
                                     .c = {.layout = layouts[seed % 3]},
                                     .alpha = 1,
                                     .beta = seed % 2 ? 0.5 : 0};
            run_taken(&one);
        }
}

// Narrow types: rows begin on any element.
static void test_starts_of_narrow_types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16, WEFT_I8};
    for (uint64_t seed = 5000; seed < 5090; seed++) {
        const matmul_case one = {.seed = seed,
                                 .dtype = dtypes[seed % 3],
                                 .m = 8 + (int64_t)seed / 3 % 3,
                                 .n = 15 + (int64_t)seed / 9 % 3,
                                 .k = 15 + (int64_t)seed / 27 % 3,
                                 .numbers = seed % 3 < 2 && seed % 2 ? FRACTIONS : WHOLE,
                                 .a = {.layout = LAYOUT_SLICED, .gap = (int64_t)seed % 2},
                                 .b = {.layout = LAYOUT_ANY, .gap = (int64_t)seed / 2 % 2},
                                 .c = {.layout = seed / 6 % 2 ? LAYOUT_DENSE : LAYOUT_ANY},
                                 .alpha = 1,
                                 .beta = seed % 5 ? 2 : 0,
                                 .tiling = &tilings[seed % 2]};
        run_taken(&one);
    }
}

// ---- batches

static int random_batch(matmul_case *of, random_state *random, int most_ndim, int64_t most)
{
    int64_t n = 1;
    of->n_batch = (int)random_below(random, most_ndim + 1);
    for (int d = 0; d < of->n_batch; d++) {
        of->batch[d] = random_between(random, random_below(random, 15) != 0, 4);
        if (n * of->batch[d] > most)
            of->batch[d] = 1;
        n *= of->batch[d] > 0 ? of->batch[d] : 1;
    }
    return of->n_batch;
}

// What broadcasts does so in some of its dimensions, and has no others.
static matmul_operand random_operand(random_state *random, int n_batch, bool is_output)
{
    matmul_operand as = {
        .layout = (strided_layout)random_below(random, is_output ? LAYOUT_REPEATING : N_LAYOUTS),
        .gap = random_below(random, 4) == 0 ? 1 : 0,
    };
    if (is_output)
        return as;
    if (random_below(random, 3) == 0)
        as.missing = (int)random_below(random, n_batch + 1);
    if (random_below(random, 2) == 0)
        as.ones = (unsigned)random_below(random, 256);
    return as;
}

static matmul_case random_case(uint64_t seed, int64_t most)
{
    static const double scalars[] = {1, -2, 0, 1, 3};
    random_state random = {seed};
    matmul_case of = {.seed = seed};
    const int n_batch = random_batch(&of, &random, MATMUL_BATCH_NDIM, 40);
    of.m = random_between(&random, random_below(&random, 20) != 0, most);
    of.n = random_between(&random, random_below(&random, 20) != 0, most);
    of.k = random_between(&random, random_below(&random, 20) != 0, most);
    of.a = random_operand(&random, n_batch, false);
    of.b = random_operand(&random, n_batch, false);
    of.c = random_operand(&random, n_batch, true);
    of.numbers = (matmul_numbers)random_below(&random, N_NUMBERS);
    of.alpha = scalars[random_below(&random, 5)];
    of.beta = scalars[random_below(&random, 5)];
    if (of.alpha == 0)
        of.numbers = POISON;
    return of;
}

static void test_random_views(void **state)
{
    (void)state;
    for (uint64_t seed = 10000; seed < 10600; seed++) {
        const matmul_case one = random_case(seed, seed % 3 ? 9 : 40);
        run_taken(&one);
    }
}

// More loops than a kernel has: no two of the six before the matrices are one.
static void test_batches_of_six_dimensions(void **state)
{
    (void)state;
    static const unsigned ones[] = {0, 0x15, 0x2a, 0x33, 0x3f, 0x0c};
    for (uint64_t seed = 12000; seed < 12036; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 1 + (int64_t)seed % 4,
                                 .n = 3,
                                 .k = 5,
                                 .n_batch = 6,
                                 .batch = {2, 3, 2, 3, 2, 2},
                                 .numbers = seed % 2 ? WHOLE : FRACTIONS,
                                 .a = {.layout = LAYOUT_ANY, .gap = 1, .ones = ones[seed % 6]},
                                 .b = {.layout = LAYOUT_PERMUTED, .ones = ones[seed / 6 % 6]},
                                 .c = {.layout = LAYOUT_ANY, .gap = 1},
                                 .alpha = 1,
                                 .beta = seed % 3 ? 0 : 1};
        run_taken(&one);
    }
}

// One matrix for all of a batch, and a batch of many.
static void test_shared_matrices(void **state)
{
    (void)state;
    for (uint64_t seed = 13000; seed < 13016; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 6,
                                 .n = 7,
                                 .k = 8,
                                 .n_batch = 2,
                                 .batch = {5, 30},
                                 .numbers = (matmul_numbers)(seed % N_NUMBERS),
                                 .a = {.missing = seed / 2 % 2 ? 2 : 0},
                                 .b = {.missing = seed % 2 ? 2 : 1},
                                 .c = {.layout = seed % 3 ? LAYOUT_DENSE : LAYOUT_PERMUTED},
                                 .alpha = 1};
        run_taken(&one);
    }
}

// ---- formulas

static void test_formulas_of_inputs_that_broadcast(void **state)
{
    (void)state;
    static const matmul_formula *const formulas[] = {&matmul_bias, &matmul_blend, &matmul_tanh};
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_U8};
    for (uint64_t seed = 20000; seed < 20300; seed++) {
        const uint64_t kind = seed % 5;
        matmul_case one = random_case(seed, 20);
        random_state random = {seed + 1};
        one.formula = formulas[kind % 3];
        one.values[0] = -2;
        one.values[1] = 3;
        for (int i = 0; i < 2; i++) {
            one.inputs[i] = random_operand(&random, one.n_batch + 2, false);
            one.inputs[i].dtype = dtypes[(kind + (uint64_t)(2 * i)) % 5];
        }
        one.tiling = &tilings[kind % 2];
        run_taken(&one);
    }
}

// Per column, per row and of full size, by each layout of C.
static void test_biases_and_residuals(void **state)
{
    (void)state;
    uint64_t seed = 22000;
    for (int kind = 0; kind < 4; kind++)
        for (int c = 0; c < LAYOUT_REPEATING; c++) {
            ++seed;
            const matmul_case one = {.seed = seed,
                                     .m = 33,
                                     .n = 18,
                                     .k = 30,
                                     .n_batch = 1,
                                     .batch = {2},
                                     .numbers = kind % 2 ? WHOLE : FRACTIONS,
                                     .c = {.layout = (strided_layout)c},
                                     .formula = &matmul_bias,
                                     .inputs = {{.missing = kind == 0   ? 2
                                                            : kind == 1 ? 1
                                                                        : 0,
                                                 .ones = kind == 1 ? 4 : 0,
                                                 .layout = kind == 3 ? LAYOUT_TRANSPOSED : 0}},
                                     .alpha = 1};
            run_taken(&one);
        }
}

// C among the inputs: what stood there before, beta or not.
static void test_outputs_that_are_inputs(void **state)
{
    (void)state;
    for (uint64_t seed = 23000; seed < 23060; seed++) {
        matmul_case one = random_case(seed, 25);
        one.formula = &matmul_residual;
        one.over = true;
        one.tiling = &tilings[seed % 2];
        run_taken(&one);
    }
}

static void test_formulas_of_whole_numbers(void **state)
{
    (void)state;
    static const matmul_formula *const formulas[] = {&matmul_bias, &matmul_blend, &matmul_residual};
    static const weft_dtype dtypes[] = {WEFT_I32, WEFT_U8, WEFT_I64};
    for (uint64_t seed = 24000; seed < 24060; seed++) {
        matmul_case one = random_case(seed, 20);
        one.dtype = WEFT_I8;
        one.numbers = WHOLE;
        one.formula = formulas[seed % 3];
        one.inputs[0] = (matmul_operand){.dtype = dtypes[seed % 3], .missing = one.n_batch};
        one.inputs[1] = (matmul_operand){.dtype = dtypes[(seed + 1) % 3], .missing = one.n_batch};
        one.values[0] = -7;
        one.values[1] = 1 << 30;
        one.tiling = &tilings[seed % 3 % 2];
        run_taken(&one);
    }
}

static void test_formulas_in_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    for (uint64_t seed = 25000; seed < 25040; seed++) {
        matmul_case one = random_case(seed, 20);
        one.dtype = WEFT_F64;
        one.formula = seed % 2 ? &matmul_blend : &matmul_tanh;
        one.inputs[0] = (matmul_operand){.dtype = seed % 2 ? WEFT_F64 : WEFT_F32};
        one.inputs[1] = (matmul_operand){.dtype = WEFT_I64, .missing = one.n_batch + 1};
        one.values[0] = 0.5;
        one.tiling = &tilings[seed % 2];
        run_taken(&one);
    }
}

// ---- scalars

// alpha 0 reads neither A nor B, beta 0 does not read C: all that is not read is NaN.
static void test_alpha_and_beta(void **state)
{
    (void)state;
    static const double scalars[] = {0, 1, -1, 2, -0.5, 3};
    uint64_t seed = 30000;
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++)
            for (int shape = 0; shape < 4; shape++) {
                ++seed;
                const matmul_case one = {.seed = seed,
                                         .m = shape == 1 ? 1 : 30,
                                         .n = shape == 2 ? 1 : 20,
                                         .k = shape == 3 ? 2 : 40,
                                         .numbers = scalars[a] == 0 ? POISON : WHOLE,
                                         .alpha = scalars[a],
                                         .beta = scalars[b],
                                         .formula = seed % 3 ? NULL : &matmul_bias};
                run_taken(&one);
            }
}

// Too small for the type of the sums: alpha is 0 there, and beta.
static void test_scalars_that_vanish(void **state)
{
    (void)state;
    matmul_operands o;
    const matmul_case of = {.seed = 1, .m = 5, .n = 7, .k = 5, .numbers = POISON};
    matmul_create(&o, ctx, weft_context_queue(ctx), &of);
    const weft_matmul_params params = matmul_params(&o);
    assert_ok(weft_matmul(ctx, o.queue, 1e-60, &o.a.t, &o.b.t, -1e-60, &o.c.t, &params));
    matmul_check(&o); // all 0
    matmul_destroy(&o);
}

// Sums, alpha and beta that leave 32 bits, of the extreme bytes.
static void test_whole_numbers_wrap(void **state)
{
    (void)state;
    static const double scalars[] = {1, -1, INT32_MAX, INT32_MIN, 65536, 12345};
    for (uint64_t seed = 33000; seed < 33036; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 1 + (int64_t)seed % 7 * 5,
                                 .n = 17,
                                 .k = 100 + (int64_t)seed % 10,
                                 .dtype = WEFT_I8,
                                 .alpha = scalars[seed % 6],
                                 .beta = scalars[seed / 6 % 6],
                                 .tiling = &tilings[seed % 2]};
        run_taken(&one);
    }
}

// Whole numbers that narrow storage has no room for: many lie in the middle between two that it
// has, and some are too large.
static void test_rounding_of_narrow_results(void **state)
{
    (void)state;
    for (uint64_t seed = 34000; seed < 34020; seed++) {
        const bool is_bf16 = seed % 2;
        const matmul_case one = {.seed = seed,
                                 .dtype = seed % 4 < 2 ? WEFT_F32 : WEFT_F16,
                                 .c_dtype = is_bf16 ? WEFT_BF16 : WEFT_F16,
                                 .m = 20,
                                 .n = seed % 8 < 4 ? 15 : 1,
                                 .k = 70,
                                 .alpha = is_bf16 ? 37 : 371,
                                 .beta = (double)(seed % 3),
                                 .tiling = &tilings[(seed + seed / 2) % 2]};
        run_taken(&one);
    }
}

int main(void)
{
    need_device();
    // rusticl compiles for long
    step = getenv("WEFT_TEST_REDUCED") ? 13 : is_on("rusticl") ? 5 : 1;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_of_a_b_and_c),
        cmocka_unit_test(test_short_directions),
        cmocka_unit_test(test_starts_of_narrow_types),
        cmocka_unit_test(test_random_views),
        cmocka_unit_test(test_batches_of_six_dimensions),
        cmocka_unit_test(test_shared_matrices),
        cmocka_unit_test(test_formulas_of_inputs_that_broadcast),
        cmocka_unit_test(test_biases_and_residuals),
        cmocka_unit_test(test_outputs_that_are_inputs),
        cmocka_unit_test(test_formulas_of_whole_numbers),
        cmocka_unit_test(test_formulas_in_f64),
        cmocka_unit_test(test_alpha_and_beta),
        cmocka_unit_test(test_scalars_that_vanish),
        cmocka_unit_test(test_whole_numbers_wrap),
        cmocka_unit_test(test_rounding_of_narrow_results),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
