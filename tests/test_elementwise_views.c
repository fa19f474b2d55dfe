// SPDX-License-Identifier: Apache-2.0
// Elementwise operations over views of every kind: any shapes of up to eight dimensions, broadcast
// and strided in every way, past 2^31 elements; and how few programs a thousand shapes take.
#include "elementwise/elementwise_plan.h"
#include "elementwise_case.h"
#include "tilings.h"

#include <inttypes.h>
#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

static const elementwise_formula copy = {.text = "a"};
static const elementwise_formula add = {.text = "a + b"};
static const elementwise_formula blend = {.text = "v0 * a + b * c"};

// One that serves every shape, so that ways and numbers of dimensions alone make programs.
static const weft_elementwise_tiling *one_tiling(weft_elementwise_tiling *t, int64_t columns)
{
    *t = (weft_elementwise_tiling){.vector_width = 1,
                                   .vectors = 1,
                                   .items = 1,
                                   .items_y = 1,
                                   .columns = columns,
                                   .rows = 16,
                                   .grid_x = 1,
                                   .grid_y = 5,
                                   .grid_z = 7};
    return t;
}

static elementwise_operand random_input(random_state *random, const elementwise_case *of)
{
    elementwise_operand in = {.layout = (strided_layout)random_below(random, N_LAYOUTS),
                              .gap = random_below(random, 4) == 0 ? 2 : 0,
                              .sliding = random_below(random, 8) == 0};
    if (random_below(random, 3) == 0)
        in.missing = (int)random_below(random, of->ndim + 1);
    if (random_below(random, 2) == 0)
        in.ones = (unsigned)random_below(random, 256);
    return in;
}

static elementwise_case random_case(const elementwise_formula *f, int n_inputs, uint64_t seed,
                                    int64_t most)
{
    random_state random = {seed};
    elementwise_case of = {.seed = seed,
                           .n_inputs = n_inputs,
                           .n_outputs = 1,
                           .n_values = f == &blend,
                           .values = {3},
                           .formulas = {f},
                           .ndim = (int)(seed % 9),
                           .numbers = (elementwise_numbers)random_below(&random, N_NUMBERS)};
    strided_random_shape(of.shape, of.ndim, most, &random);
    for (int k = 0; k < n_inputs; k++)
        of.in[k] = random_input(&random, &of);
    of.out[0].layout = (strided_layout)random_below(&random, LAYOUT_REPEATING);
    of.out[0].gap = random_below(&random, 4) == 0 ? 1 : 0;
    if (random_below(&random, 5) == 0 && n_inputs > 0) {
        of.over = 1;
        of.in[0].missing = 0;
        of.in[0].ones = 0;
        of.in[0].sliding = false;
    }
    return of;
}

static void set_types(elementwise_case *of, const weft_dtype *dtypes)
{
    for (int k = 0; k < of->n_inputs; k++)
        of->in[k].dtype = dtypes[1 + k];
    of->out[0].dtype = of->over ? dtypes[1] : dtypes[0];
}

// As the library plans, where that takes few programs.
static void run_shapes(const elementwise_formula *f, int n_inputs, const weft_dtype *dtypes,
                       uint64_t first, int n_shapes, bool is_planned)
{
    weft_elementwise_tiling t;
    for (uint64_t seed = first; seed < first + (uint64_t)n_shapes; seed++) {
        elementwise_case of = random_case(f, n_inputs, seed, is_reduced ? 100 : 4000);
        set_types(&of, dtypes);
        if (!is_planned)
            of.tiling = one_tiling(&t, 1 << 20);
        elementwise_run(ctx, &of);
    }
}

static bool plans_well(void)
{
    return weft_context_limits(ctx)->vector_width > 1;
}

static void test_one_input(void **state)
{
    (void)state;
    static const weft_dtype floats[] = {WEFT_F32, WEFT_F32};
    run_shapes(&copy, 1, floats, 1000, is_reduced ? 12 : 150, true);
}

static void test_two_inputs(void **state)
{
    (void)state;
    static const weft_dtype floats[] = {WEFT_F32, WEFT_F32, WEFT_F32};
    run_shapes(&add, 2, floats, 3000, is_reduced ? 18 : 120, plans_well());
}

static void test_three_inputs(void **state)
{
    (void)state;
    static const weft_dtype floats[] = {WEFT_F32, WEFT_F32, WEFT_F32, WEFT_F32};
    run_shapes(&blend, 3, floats, 5000, is_reduced ? 8 : 60, false);
}

static void test_other_types(void **state)
{
    (void)state;
    static const weft_dtype some[][4] = {
        {WEFT_F16, WEFT_BF16, WEFT_F32},
        {WEFT_I64, WEFT_U8, WEFT_I32},
        {WEFT_U8, WEFT_U8, WEFT_U8},
        {WEFT_F32, WEFT_F64, WEFT_F16},
    };
    for (int i = 0; i < 4; i++)
        run_shapes(&add, 2, some[i], 7000 + 100 * (uint64_t)i, is_reduced ? 6 : 25, false);
}

// ---- strides and extents past 2^31

enum { FAR = 1 << 30 }; // bytes

// Nothing is behind it until it is written, on a device that has ordinary memory.
static cl_mem large_buffer(size_t bytes)
{
    cl_int code;
    if (!is_on("pocl") || weft_context_limits(ctx)->max_alloc_bytes < bytes)
        return NULL;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE, bytes, NULL, &code);
    return code == CL_SUCCESS ? buffer : NULL;
}

static void write_byte(cl_mem buffer, size_t at, uint8_t byte)
{
    assert_int_equal(
        clEnqueueWriteBuffer(weft_context_queue(ctx), buffer, CL_TRUE, at, 1, &byte, 0, NULL, NULL),
        CL_SUCCESS);
}

static uint8_t read_byte(cl_mem buffer, size_t at)
{
    uint8_t byte;
    assert_int_equal(
        clEnqueueReadBuffer(weft_context_queue(ctx), buffer, CL_TRUE, at, 1, &byte, 0, NULL, NULL),
        CL_SUCCESS);
    return byte;
}

// Rows 2^30 elements apart, forwards or backwards: the last one begins past 2^31.
static void write_far_rows(cl_mem far, bool is_backward)
{
    uint8_t numbers[3 * 100];
    for (int i = 0; i < 300; i++)
        numbers[i] = (uint8_t)(i % 251 + 1);
    const int64_t last = 2 * (int64_t)FAR;
    cl_int code;
    cl_mem near =
        clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, sizeof(numbers), numbers, &code);
    assert_int_equal(code, CL_SUCCESS);
    const weft_tensor X = {near, WEFT_U8, 0, 2, {3, 100}, {100, 1}};
    const weft_tensor Y = {far, WEFT_U8,  is_backward ? last + 7 : 7,
                           2,   {3, 100}, {is_backward ? -(int64_t)FAR : FAR, 1}};
    cl_mem back = strided_zeros(ctx, sizeof(numbers), CL_MEM_READ_WRITE);
    const weft_tensor Z = {back, WEFT_U8, 0, 2, {3, 100}, {1, 3}};
    cl_command_queue queue = weft_context_queue(ctx);
    assert_ok(weft_elementwise(ctx, queue, WEFT_INPUTS({NULL, &X}), WEFT_OUTPUTS({"a", &Y}), NULL));
    for (int i = 0; i < 300; i += 37) {
        const int64_t row = is_backward ? 2 - i / 100 : i / 100;
        assert_int_equal(read_byte(far, (size_t)(row * FAR + 7 + i % 100)), numbers[i]);
    }
    assert_ok(weft_elementwise(ctx, queue, WEFT_INPUTS({NULL, &Y}), WEFT_OUTPUTS({"a", &Z}), NULL));
    for (int i = 0; i < 300; i += 7)
        assert_int_equal(read_byte(back, (size_t)(i / 100 + 3 * (i % 100))), numbers[i]);
    clReleaseMemObject(back);
    clReleaseMemObject(near);
}

static void test_strides_past_2_31(void **state)
{
    (void)state;
    cl_mem far = large_buffer(2 * (size_t)FAR + (1 << 20));
    if (!far)
        skip();
    write_far_rows(far, false);
    write_far_rows(far, true);
    clReleaseMemObject(far);
}

// As many elements as 32-bit indices are used for, in blocks that do not divide them: the last step
// of a loop over blocks goes past all of them.
static void test_elements_up_to_2_30(void **state)
{
    (void)state;
    const bool has_room = weft_context_limits(ctx)->global_bytes >= 4 * (uint64_t)FAR;
    cl_mem large = has_room ? large_buffer(FAR) : NULL;
    if (!large)
        skip();
    cl_command_queue queue = weft_context_queue(ctx);
    const weft_tensor X = {large, WEFT_U8, 0, 1, {FAR}, {1}};
    const uint8_t byte = 21;
    assert_int_equal(clEnqueueFillBuffer(queue, large, &byte, 1, 0, FAR, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_ok(weft_elementwise(ctx, queue, WEFT_INPUTS({NULL, &X}, {NULL, &X}),
                               WEFT_OUTPUTS({"2 * a + b", &X}), NULL));
    for (int64_t at = 0; at < FAR; at = at < FAR - 1 && at * 3 + 1 >= FAR ? FAR - 1 : at * 3 + 1)
        assert_int_equal(read_byte(large, (size_t)at), 63);
    clReleaseMemObject(large);
}

// More than 2^31 elements; minutes and gigabytes, unless a number is asked for.
static void test_elements_past_2_31(void **state)
{
    (void)state;
    const int64_t n = 2 * (int64_t)FAR + 100;
    cl_mem far = getenv("WEFT_TEST_LONG") ? large_buffer((size_t)n) : NULL;
    if (!far)
        skip();
    cl_mem near = strided_zeros(ctx, 1, CL_MEM_READ_WRITE);
    const weft_tensor X = {near, WEFT_U8, 0, 1, {1}, {1}};
    const weft_tensor Y = {far, WEFT_U8, 0, 1, {n}, {1}};
    write_byte(near, 0, 77);
    assert_ok(weft_elementwise(ctx, weft_context_queue(ctx), WEFT_INPUTS({NULL, &X}),
                               WEFT_OUTPUTS({"a", &Y}), NULL));
    for (int64_t at = 0; at < n; at = at < n - 1 && at * 3 + 1 >= n ? n - 1 : at * 3 + 1)
        assert_int_equal(read_byte(far, (size_t)at), 77);
    clReleaseMemObject(near);
    clReleaseMemObject(far);
}

// ---- few programs

// Of 2^2 x 4 ways, three numbers of dimensions, and a few vector widths; more where groups have
// shapes.
enum { MOST_PROGRAMS = 160 };

static uint64_t programs_for(int n_shapes)
{
    weft_context *fresh = open_context(NULL);
    for (uint64_t seed = 9000; seed < 9000 + (uint64_t)n_shapes; seed++) {
        elementwise_case of = random_case(&add, 2, seed, 30000);
        elementwise_operands o;
        elementwise_create(&o, fresh, &of);
        const char *words = elementwise_words(&o);
        if (!strstr(words, "grid") && strcmp(words, "nothing to do") != 0)
            fail_msg("seed %" PRIu64 ": %s", seed, words);
        elementwise_destroy(&o);
    }
    const uint64_t built = weft_context_get_stats(fresh).programs_built;
    weft_context_destroy(&fresh);
    return built;
}

static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    const uint64_t built = programs_for(is_reduced ? 60 : 1000);
    print_message("# %" PRIu64 " programs\n", built);
    assert_in_range(built, 3, MOST_PROGRAMS);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED") || is_on("rusticl"); // which compiles for long
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_input),
        cmocka_unit_test(test_two_inputs),
        cmocka_unit_test(test_three_inputs),
        cmocka_unit_test(test_other_types),
        cmocka_unit_test(test_strides_past_2_31),
        cmocka_unit_test(test_elements_up_to_2_30),
        cmocka_unit_test(test_elements_past_2_31),
        cmocka_unit_test(test_few_programs_for_many_shapes),
    };
    const int failed = cmocka_run_group_tests_name("elementwise views", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
