// SPDX-License-Identifier: Apache-2.0
// A device's compiler that refuses the code of a formula: its words, by the caller's text.
#include <weft/elementwise.h>
#include <weft/matmul.h>

#include "runtime.h"

static weft_context *ctx;
static cl_command_queue queue;

// ---- a compiler that knows some words less

static const char *lost; // words of the source; NULL: it knows all

cl_program __real_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *,
                                            cl_int *);
cl_program __wrap_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *,
                                            cl_int *);

cl_program __wrap_clCreateProgramWithSource(cl_context cl, cl_uint n, const char **texts,
                                            const size_t *lengths, cl_int *code)
{
    assert_int_equal(n, 1);
    char *text = calloc(lengths[0] + 1, 1);
    assert_non_null(text);
    memcpy(text, texts[0], lengths[0]);
    char *found = lost ? strstr(text, lost) : NULL;
    for (; found; found = strstr(found, lost))
        *found = '_';
    const char *given = text;
    cl_program program = __real_clCreateProgramWithSource(cl, n, &given, lengths, code);
    free(text);
    return program;
}

// ---- and says so in words of its own

static const char *told; // as the whole log; NULL: what it says

cl_int __real_clGetProgramBuildInfo(cl_program, cl_device_id, cl_program_build_info, size_t, void *,
                                    size_t *);
cl_int __wrap_clGetProgramBuildInfo(cl_program, cl_device_id, cl_program_build_info, size_t, void *,
                                    size_t *);

cl_int __wrap_clGetProgramBuildInfo(cl_program program, cl_device_id device,
                                    cl_program_build_info what, size_t room, void *value,
                                    size_t *size)
{
    if (!told || what != CL_PROGRAM_BUILD_LOG)
        return __real_clGetProgramBuildInfo(program, device, what, room, value, size);
    const size_t length = strlen(told) + 1;
    if (value && room >= length)
        memcpy(value, told, length);
    if (size)
        *size = length;
    return CL_SUCCESS;
}

// ---- what callers see

enum { SIDE = 4 };

static cl_mem buffers[3];
static weft_tensor X, Y, Z;

static weft_status elementwise(const char *first, const char *second)
{
    const weft_elementwise_output outputs[] = {{first, &Y}, {second, &Z}};
    return weft_elementwise(ctx, queue, WEFT_INPUTS({"x", &X}), second ? 2 : 1, outputs, NULL);
}

static weft_status matmul(const char *epilogue)
{
    return weft_matmul(ctx, queue, 1, &X, &Y, 0, &Z, WEFT_MATMUL(.epilogue = epilogue));
}

static void lose(const char *function)
{
    lost = function;
}

static void test_the_column_of_what_the_compiler_names(void **state)
{
    (void)state;
    lose("SILU");
    assert_int_equal(elementwise("x + 2 * silu(x)", NULL), WEFT_BUILD_FAILED);
    assert_says("elementwise: column 9: elementwise.cl does not compile: ");
    assert_says("'SILU'");
    assert_says("\n    x + 2 * silu(x)\n            ^");
    assert_int_equal(elementwise("x - 1", "-x + silu(x)"), WEFT_BUILD_FAILED);
    assert_says("elementwise: column 6: ");
    assert_says("\n    -x + silu(x)\n         ^");
    assert_int_equal(matmul("silu(c) - 3"), WEFT_BUILD_FAILED);
    assert_says("matmul: column 1: ");
    assert_says("\n    silu(c) - 3\n    ^");
}

// Operators are calls, too.
static void test_the_column_of_an_operator(void **state)
{
    (void)state;
    lose("POW");
    assert_int_equal(elementwise("7 + pow(x, 3)", NULL), WEFT_BUILD_FAILED);
    assert_says("elementwise: column 5: ");
    lose("NOT_EQUAL");
    assert_int_equal(elementwise("7 * (x != 3)", NULL), WEFT_BUILD_FAILED);
    assert_says("elementwise: column 8: ");
}

// NVIDIA's takes a function that it does not know for one that comes later.
static void test_the_column_of_what_an_assembler_names(void **state)
{
    (void)state;
    lose("SILU");
    told = "(): Warning: Function elementwise is a kernel, so overriding noinline attribute.\n"
           "ptxas fatal   : Unresolved extern function 'SILU'\n";
    assert_int_equal(elementwise("x + 4 * silu(x)", NULL), WEFT_BUILD_FAILED);
    assert_says("elementwise: column 9: elementwise.cl does not compile: ptxas fatal   : ");
    told = "(): Warning: so it is.\nptxas application ptx input, line 7; error   : Wrong call\n";
    assert_int_equal(elementwise("silu(x) + 8", NULL), WEFT_BUILD_FAILED);
    assert_says("elementwise: elementwise.cl does not compile: ptxas application ptx input, ");
    told = "\nnothing of it\nin its words\n";
    assert_int_equal(elementwise("silu(x) + 16", NULL), WEFT_BUILD_FAILED);
    assert_says("elementwise: elementwise.cl does not compile: nothing of it (options: ");
}

static void test_formulas_that_the_compiler_does_not_name(void **state)
{
    (void)state;
    lose("void elementwise");
    assert_int_equal(elementwise("x + 5", "x + 6"), WEFT_BUILD_FAILED);
    assert_says("elementwise: elementwise.cl does not compile: ");
    assert_says("\n    x + 5\n    x + 6");
}

static void test_they_compile_otherwise(void **state)
{
    (void)state;
    assert_ok(elementwise("x + 2 * silu(x)", NULL));
    assert_ok(elementwise("x - 1", "-x + silu(x)"));
    assert_ok(elementwise("x + 5", "x + 6"));
    assert_ok(matmul("silu(c) - 3"));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
}

static int know_all(void **state)
{
    (void)state;
    lose(NULL);
    told = NULL;
    return 0;
}

static int open_all(void **state)
{
    (void)state;
    float zeros[SIDE * SIDE] = {0};
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    for (int i = 0; i < 3; i++) {
        buffers[i] =
            clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, sizeof(zeros), zeros, NULL);
        assert_non_null(buffers[i]);
    }
    X = weft_matrix(buffers[0], WEFT_F32, SIDE, SIDE);
    Y = weft_matrix(buffers[1], WEFT_F32, SIDE, SIDE);
    Z = weft_matrix(buffers[2], WEFT_F32, SIDE, SIDE);
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(buffers[i]);
    weft_context_destroy(&ctx);
    return 0;
}

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_column_of_what_the_compiler_names, know_all),
        cmocka_unit_test_teardown(test_the_column_of_an_operator, know_all),
        cmocka_unit_test_teardown(test_the_column_of_what_an_assembler_names, know_all),
        cmocka_unit_test_teardown(test_formulas_that_the_compiler_does_not_name, know_all),
        cmocka_unit_test(test_they_compile_otherwise),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
