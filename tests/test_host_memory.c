// SPDX-License-Identifier: Apache-2.0
// Operands in memory of the caller's (CL_MEM_USE_HOST_PTR) that begins where no vector does, as on
// the device at hand and planned for GPUs, whose plans count on vectors where they may: the results
// are those of buffers that OpenCL made.
#include <stdlib.h>
#include <string.h>

#include <weft/elementwise.h>
#include <weft/sddmm.h>
#include <weft/sddmm_sparse.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_softmax.h>
#include <weft/spmm.h>

#include "runtime.h"

// Small whole numbers, so that sums are exact in any order.
enum { SIDE = 32, N_ELEMENTS = SIDE * SIDE, NNZ = 4 * SIDE, N_ARRAYS = 4 };
enum { PAGE = 4096, ARRAY_BYTES = 2 * PAGE };

static weft_context *ctx;
static cl_command_queue queue;
static unsigned char *memory[N_ARRAYS + 3];
static cl_mem buffers[N_ARRAYS + 3]; // A, B, C, Y, and a pattern's offsets, indices, values

static weft_tensor matrix(int i)
{
    return weft_matrix(buffers[i], WEFT_F32, SIDE, SIDE);
}

static weft_csr sparse(void)
{
    return (weft_csr){.n_rows = SIDE,
                      .n_cols = SIDE,
                      .nnz = NNZ,
                      .offsets = buffers[N_ARRAYS],
                      .indices = buffers[N_ARRAYS + 1],
                      .values = buffers[N_ARRAYS + 2]};
}

static weft_status add(void)
{
    const weft_tensor A = matrix(0), B = matrix(1), Y = matrix(3);
    return weft_elementwise(ctx, queue, WEFT_INPUTS({"a", &A}, {"b", &B}),
                            WEFT_OUTPUTS({"a + b", &Y}), NULL);
}

static weft_status multiply(void)
{
    const weft_tensor B = matrix(1), Y = matrix(3);
    const weft_csr S = sparse();
    return weft_spmm(ctx, queue, 1, &S, &B, 0, &Y, NULL);
}

static weft_status sample(void)
{
    const weft_tensor A = matrix(0), B = matrix(1);
    const weft_tensor transposed = weft_tensor_transposed(&B);
    const weft_csr S = sparse();
    const weft_tensor Y = {buffers[3], WEFT_F32, 0, 1, {NNZ}, {1}};
    return weft_sddmm(ctx, queue, 1, &A, &transposed, &S, 0, &Y, NULL);
}

static weft_status sample_sparse(void)
{
    const weft_tensor A = matrix(0);
    const weft_csr S = sparse();
    const weft_tensor Y = {buffers[3], WEFT_F32, 0, 1, {NNZ}, {1}};
    return weft_sddmm_sparse(ctx, queue, 1, WEFT_DENSE(&A), WEFT_SPARSE(&S), &S, 0, &Y, NULL);
}

static weft_status soften(void)
{
    const weft_csr S = sparse();
    const weft_tensor Y = {buffers[3], WEFT_F32, 0, 1, {NNZ}, {1}};
    return weft_sparse_softmax(ctx, queue, 1, &S, &Y, NULL);
}

// All weights are the same: 0 of everything.
static weft_status attend(void)
{
    const weft_tensor A = matrix(0), B = matrix(1), C = matrix(2), Y = matrix(3);
    const weft_csr S = sparse();
    return weft_sparse_attention(ctx, queue, 0, &A, &B, &C, &S, &Y, NULL);
}

// ---- buffers

static void fill(void)
{
    for (int i = 0; i < N_ARRAYS + 3; i++)
        memset(memory[i], 0, ARRAY_BYTES);
}

static void put(int array, int at, double number, size_t shift)
{
    const float element = (float)number;
    memcpy(memory[array] + shift + (size_t)at * sizeof(float), &element, sizeof(element));
}

static void put_int(int array, int at, int32_t number, size_t shift)
{
    memcpy(memory[array] + shift + (size_t)at * sizeof(number), &number, sizeof(number));
}

// Every array begins `shift` bytes behind a page.
static void create_buffers(size_t shift)
{
    fill();
    for (int i = 0; i < N_ELEMENTS; i++)
        for (int array = 0; array < 3; array++)
            put(array, i, (i * (array + 3)) % 7 - 3, shift);
    for (int i = 0; i <= SIDE; i++)
        put_int(N_ARRAYS, i, i * NNZ / SIDE, shift);
    for (int e = 0; e < NNZ; e++) {
        put_int(N_ARRAYS + 1, e, (e % 4) * 8 + e / 4 % 8, shift);
        put(N_ARRAYS + 2, e, e % 5 - 2, shift);
    }
    for (int i = 0; i < N_ARRAYS + 3; i++) {
        cl_int code;
        buffers[i] = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                    ARRAY_BYTES - PAGE, memory[i] + shift, &code);
        assert_int_equal(code, CL_SUCCESS);
    }
}

static void release_buffers(void)
{
    for (int i = 0; i < N_ARRAYS + 3; i++)
        clReleaseMemObject(buffers[i]);
}

static void run(weft_status (*call)(void), size_t shift, float out[N_ELEMENTS])
{
    create_buffers(shift);
    assert_ok(call());
    assert_int_equal(clEnqueueReadBuffer(queue, buffers[3], CL_TRUE, 0, N_ELEMENTS * sizeof(float),
                                         out, 0, NULL, NULL),
                     CL_SUCCESS);
    release_buffers();
}

// ---- tests

static const char *const profiles[] = {NULL, "nvidia-h100"};
enum { N_PROFILES = sizeof(profiles) / sizeof(profiles[0]) };

static void open_as(const char *profile)
{
    ctx = open_context(profile ? weft_profile_find(profile) : NULL);
    queue = weft_context_queue(ctx);
}

static void test_memory_that_begins_anywhere(void **state)
{
    static weft_status (*const calls[])(void) = {add,           multiply, sample,
                                                 sample_sparse, soften,   attend};
    (void)state;
    for (int p = 0; p < N_PROFILES; p++) {
        open_as(profiles[p]);
        for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
            static float wanted[N_ELEMENTS], found[N_ELEMENTS];
            run(calls[c], 0, wanted);
            run(calls[c], sizeof(float), found);
            assert_memory_equal(found, wanted, sizeof(found));
        }
        weft_context_destroy(&ctx);
    }
}

// A plan that was made without buffers counts on their memory, and says so.
static void test_a_plan_that_counts_on_vectors(void **state)
{
    (void)state;
    open_as("nvidia-h100");
    weft_tensor A = weft_matrix(NULL, WEFT_F32, SIDE, SIDE), B = A;
    // An item writes four bytes at a time.
    A.dtype = B.dtype = WEFT_U8;
    weft_elementwise_plan *plan;
    assert_ok(weft_elementwise_plan_create(&plan, ctx, WEFT_INPUTS({"a", &A}),
                                           WEFT_OUTPUTS({"a + 1", &B}), NULL));
    create_buffers(1);
    A.buffer = buffers[0];
    cl_int code;
    cl_mem made = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE, PAGE, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    B.buffer = made;
    assert_int_equal(weft_elementwise(ctx, queue, WEFT_INPUTS({"a", &A}),
                                      WEFT_OUTPUTS({"a + 1", &B}), WEFT_ELEMENTWISE(.plan = plan)),
                     WEFT_BAD_BUFFER);
    assert_says("elementwise: input a: its buffer is memory of the caller's");
    assert_ok(
        weft_elementwise(ctx, queue, WEFT_INPUTS({"a", &A}), WEFT_OUTPUTS({"a + 1", &B}), NULL));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseMemObject(made);
    release_buffers();
    weft_elementwise_plan_destroy(&plan);
    weft_context_destroy(&ctx);
}

int main(void)
{
    need_device();
    for (int i = 0; i < N_ARRAYS + 3; i++) {
        memory[i] = aligned_alloc(PAGE, ARRAY_BYTES);
        if (!memory[i])
            return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_that_begins_anywhere),
        cmocka_unit_test(test_a_plan_that_counts_on_vectors),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < N_ARRAYS + 3; i++)
        free(memory[i]);
    return failed;
}
