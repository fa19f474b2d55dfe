// SPDX-License-Identifier: Apache-2.0
// Matrix products as they are planned, for the device at hand and for others that are known.
#include "matmul_case.h"

static weft_context *ctx;
static bool is_reduced;

// m, n and k of each method: long in all of them, long sums, few rows or columns, and few terms.
static const int64_t shapes[][3] = {
    {70, 90, 50},  {13, 17, 2500}, {1, 700, 300}, {700, 1, 300},  {3, 900, 40},
    {600, 5, 130}, {150, 170, 3},  {1, 1, 5000},  {33, 129, 257}, {2, 3000, 20},
};
static const int64_t small_shapes[][3] = {{20, 18, 10}, {1, 40, 9}, {40, 2, 12}, {9, 10, 3}};
enum {
    N_SHAPES = sizeof(shapes) / sizeof(shapes[0]),
    N_SMALL = sizeof(small_shapes) / sizeof(small_shapes[0]),
};

static matmul_case planned_case(uint64_t seed, int shape)
{
    static const strided_layout layouts[] = {LAYOUT_DENSE, LAYOUT_TRANSPOSED, LAYOUT_SLICED};
    const int64_t *const extents = is_reduced ? small_shapes[shape] : shapes[shape];
    return (matmul_case){.seed = seed,
                         .m = extents[0],
                         .n = extents[1],
                         .k = extents[2],
                         .a = {.layout = layouts[seed % 3]},
                         .b = {.layout = layouts[seed / 3 % 3]},
                         .c = {.layout = layouts[seed / 9 % 3]},
                         .numbers = seed % 2 ? FRACTIONS : WHOLE,
                         .formula = seed % 5 ? NULL : &matmul_bias,
                         .alpha = 1,
                         .beta = seed % 4 ? 0 : 2};
}

static void test_as_planned_here(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16, WEFT_I8};
    for (uint64_t seed = 0; seed < (is_reduced ? 10 : 270); seed++) {
        matmul_case one = planned_case(seed, (int)(seed % (is_reduced ? N_SMALL : N_SHAPES)));
        one.dtype = dtypes[seed / 2 % 5];
        one.numbers = one.dtype == WEFT_I8 ? WHOLE : one.numbers;
        matmul_run(ctx, &one);
    }
}

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    weft_context *there = open_context(limits);
    for (int i = 0; i < (is_reduced ? N_SMALL : 2 * N_SHAPES); i += is_reduced ? 2 : 1) {
        const matmul_case one = planned_case(seed + (uint64_t)i, i % N_SHAPES);
        matmul_run(there, &one);
    }
    weft_context_destroy(&there);
}

static void test_as_planned_for_known_devices(void **state)
{
    (void)state;
    const size_t every = is_reduced ? 4 : 2; // each has programs of its own
    for (size_t i = 0; i < weft_profile_count(); i += every)
        if (weft_profile_at(i)->vector_width <= 4 || takes_wide_vectors())
            run_profile(weft_profile_at(i), 11 * i);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED") || is_on("rusticl"); // which compiles for long
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_planned_here),
        cmocka_unit_test(test_as_planned_for_known_devices),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
