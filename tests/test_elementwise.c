// SPDX-License-Identifier: Apache-2.0
// Elementwise operations: numbers of operands, shapes from nothing on, transposes, outputs that are
// inputs, and the same bits every time. Types and formulas are those of test_elementwise_vectors.c.
#include "elementwise_case.h"

#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

// ---- formulas

static const elementwise_formula copy = {.text = "a"}, value = {.text = "v0"},
                                 sum = {.text = "a + b"}, quotient = {.text = "a / b"};
static const elementwise_formula all_inputs = {.text =
                                                   "a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h"};
static const elementwise_formula all_values = {
    .text = "((((((((((((((v0*a+v1)*a+v2)*a+v3)*a+v4)*a+v5)*a+v6)*a+v7)*a+v8)*a+v9)*a+v10)*a+v11)*"
            "a+v12)*a+v13)*a+v14)*a+v15"};

static void test_reals_that_are_no_numbers(void **state)
{
    (void)state;
    elementwise_case of = {.seed = 8,
                           .n_inputs = 2,
                           .n_outputs = 3,
                           .out = {{.dtype = WEFT_F32}, {.dtype = WEFT_F32}, {.dtype = WEFT_I32}},
                           .formulas = {&sum, &quotient, &copy},
                           .ndim = 1,
                           .shape = {is_reduced ? 99 : 999},
                           .numbers = WILD};
    elementwise_run(ctx, &of);
}

// ---- numbers of operands

static void test_values_alone(void **state)
{
    (void)state;
    elementwise_case of = {.n_outputs = 4,
                           .n_values = 1,
                           .values = {-3.75},
                           .out = {{.dtype = WEFT_F32, .layout = LAYOUT_SLICED},
                                   {.dtype = WEFT_BF16},
                                   {.dtype = WEFT_I32, .layout = LAYOUT_TRANSPOSED},
                                   {.dtype = WEFT_U8}},
                           .formulas = {&value, &value, &value, &value},
                           .ndim = 3,
                           .shape = {2, 5, 41},
                           .arithmetic = WEFT_F32};
    elementwise_run(ctx, &of);
    of.arithmetic = WEFT_DEFAULT; // i32
    of.values[0] = INT32_MIN;
    elementwise_run(ctx, &of);
    of.arithmetic = WEFT_I64;
    of.values[0] = -0x1p62;
    elementwise_run(ctx, &of);
}

static void test_many_operands(void **state)
{
    (void)state;
    elementwise_case of = {.seed = 12,
                           .n_inputs = 8,
                           .n_outputs = 4,
                           .n_values = WEFT_ELEMENTWISE_VALUES,
                           .formulas = {&all_inputs, &copy, &sum, &copy},
                           .first = {0, 7, 3, 0},
                           .ndim = 2,
                           .shape = {7, 33},
                           .out = {{.dtype = WEFT_F32},
                                   {.dtype = WEFT_F16},
                                   {.dtype = WEFT_F32, .layout = LAYOUT_TRANSPOSED},
                                   {.dtype = WEFT_U8}}};
    elementwise_formula last = copy, pair = sum;
    last.text = "h";
    pair.text = "d + e";
    of.formulas[1] = &last;
    of.formulas[2] = &pair;
    for (int k = 0; k < 8; k++)
        of.in[k] = (elementwise_operand){.dtype = k % 2 ? WEFT_BF16 : WEFT_F32,
                                         .ones = (unsigned)k % 4,
                                         .layout = (strided_layout)(k % N_LAYOUTS)};
    elementwise_run(ctx, &of);
    for (int k = 0; k < 8; k++)
        of.in[k].dtype = k % 2 ? WEFT_I32 : WEFT_U8;
    if (!is_on("rusticl")) // which compiles it for 20 s
        elementwise_run(ctx, &of);
}

static void test_many_values(void **state)
{
    (void)state;
    elementwise_case of = {.seed = 13,
                           .n_inputs = 1,
                           .n_outputs = 1,
                           .n_values = WEFT_ELEMENTWISE_VALUES,
                           .formulas = {&all_values},
                           .ndim = 1,
                           .shape = {61}};
    elementwise_formula near_one = all_values;
    near_one.least = -1.25, near_one.most = 1.25;
    of.formulas[0] = &near_one;
    for (int i = 0; i < WEFT_ELEMENTWISE_VALUES; i++)
        of.values[i] = i % 3 ? 1.5 * i : -7 + i;
    elementwise_run(ctx, &of);
    of.in[0].dtype = of.out[0].dtype = WEFT_I64;
    for (int i = 0; i < WEFT_ELEMENTWISE_VALUES; i++)
        of.values[i] = i % 3 ? 1000003 * i : -7 + i;
    elementwise_run(ctx, &of);
}

// ---- shapes

static elementwise_case sum_of(int ndim, int64_t high, int64_t rows, int64_t columns)
{
    return (elementwise_case){
        .seed = (uint64_t)(high + 10 * rows + 1000 * columns),
        .n_inputs = 2,
        .n_outputs = 1,
        .formulas = {&sum},
        .ndim = ndim,
        .shape = {ndim == 3 ? high : rows, ndim == 3 ? rows : columns, columns}};
}

static void test_scalars(void **state)
{
    (void)state;
    elementwise_case of = sum_of(0, 1, 1, 1);
    elementwise_run(ctx, &of);
    of.over = 1;
    elementwise_run(ctx, &of);
    of = sum_of(2, 1, 5, 37); // a scalar among rows
    of.in[1].missing = 2;
    elementwise_run(ctx, &of);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    for (int d = 0; d < 3; d++) {
        elementwise_case of = sum_of(3, 3, 4, 5);
        of.shape[d] = 0;
        of.in[1].ones = d == 1 ? 1 : 0;
        elementwise_run(ctx, &of);
    }
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One off each width of a vector, and of a tile; rows that do not follow each other.
static void test_small_shapes(void **state)
{
    (void)state;
    static const int64_t extents[] = {1,  2,  3,  4,  5,  7,  8,  9,  15, 16,
                                      17, 31, 32, 33, 63, 64, 65, 66, 70};
    const int n = sizeof(extents) / sizeof(extents[0]);
    // Where groups have every shape, each shape is a program.
    const int step = is_reduced ? 29 : weft_context_limits(ctx)->vector_width == 1 ? 7 : 1;
    int number = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            elementwise_case of = sum_of(2, 1, extents[i], extents[j]);
            of.in[0].gap = 3;
            of.in[1].layout = number % 2 ? LAYOUT_TRANSPOSED : LAYOUT_DENSE;
            of.out[0].gap = 1;
            if (number++ % step == 0)
                elementwise_run(ctx, &of);
        }
}

// Where items take several vectors, one beside each, and about a block's end. (Of structs that were
// copied whole Mesa's rusticl 25.0 lost all vectors but the last.)
static void test_vectors_of_an_item(void **state)
{
    (void)state;
    static const int64_t extents[] = {257, 513, 768, 769, 1023, 1024, 1025, 5000};
    for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
        elementwise_case of = sum_of(1, 1, 1, extents[i]);
        elementwise_run(ctx, &of);
    }
}

// z + z^T
static void test_with_its_transpose(void **state)
{
    (void)state;
    static const int64_t sides[] = {1, 2, 8, 17, 64, 100, 255, 256};
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        elementwise_case of = sum_of(2, 1, sides[i], sides[i]);
        of.in[1].twin = true;
        if (!is_reduced || sides[i] < 20)
            elementwise_run(ctx, &of);
        of.in[0].layout = of.out[0].layout = LAYOUT_SLICED;
        if (!is_reduced && i % 2)
            elementwise_run(ctx, &of);
    }
}

static void test_transposes(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{37, 53}, {1, 90}, {90, 1}, {300, 5}, {5, 300}, {256, 64}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        elementwise_case of = sum_of(2, 1, shapes[i][0], shapes[i][1]);
        of.n_inputs = 1;
        of.formulas[0] = &copy;
        of.in[0].layout = LAYOUT_TRANSPOSED;
        of.in[0].dtype = of.out[0].dtype = i % 2 ? WEFT_U8 : WEFT_F32;
        if (!is_reduced || i < 2)
            elementwise_run(ctx, &of);
        of.in[0].layout = LAYOUT_DENSE;
        of.out[0].layout = LAYOUT_TRANSPOSED;
        if (!is_reduced || i < 2)
            elementwise_run(ctx, &of);
    }
}

// ---- an output that is an input

static void test_in_place(void **state)
{
    (void)state;
    static const strided_layout layouts[] = {LAYOUT_DENSE, LAYOUT_TRANSPOSED, LAYOUT_SLICED};
    for (int i = 0; i < 3; i++)
        for (int over = 1; over <= 2; over++) {
            elementwise_case of = sum_of(3, 3, 20, 41);
            of.seed += (uint64_t)(10 * i + over);
            of.over = over;
            of.in[0].layout = of.in[1].layout = layouts[i];
            of.in[2 - over].ones = (unsigned)i; // the other one
            elementwise_run(ctx, &of);
        }
}

// ---- the same bits

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    elementwise_operands o;
    elementwise_case of = sum_of(3, 4, is_reduced ? 9 : 130, 67);
    of.in[1].layout = LAYOUT_TRANSPOSED;
    of.formulas[0] = &quotient;
    elementwise_create(&o, ctx, &of);
    elementwise_call(&o);
    void *first = strided_read(&o.out[0], o.queue);
    for (int i = 0; i < 5; i++) {
        elementwise_restore(&o);
        elementwise_call(&o);
        void *again = strided_read(&o.out[0], o.queue);
        assert_memory_equal(again, first, o.out[0].bytes);
        free(again);
    }
    free(first);
    elementwise_destroy(&o);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reals_that_are_no_numbers),
        cmocka_unit_test(test_values_alone),
        cmocka_unit_test(test_many_operands),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_small_shapes),
        cmocka_unit_test(test_vectors_of_an_item),
        cmocka_unit_test(test_with_its_transpose),
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_same_bits_run_after_run),
    };
    const int failed = cmocka_run_group_tests_name("elementwise", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
