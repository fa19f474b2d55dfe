// SPDX-License-Identifier: Apache-2.0
// Rehearsals against what they rehearse: as many launches and programs as the call itself has, with
// no buffer made and nothing enqueued; and operands of the one that are refused by the other.
#define _POSIX_C_SOURCE 200809L // setenv
#include <weft/csr_dense.h>
#include <weft/csr_transpose.h>
#include <weft/matmul.h>
#include <weft/rehearsal.h>
#include <weft/softmax.h>
#include <weft/sparse_attention.h>
#include <weft/spmm.h>

#include "runtime.h"
#include "short_memory.h"

static weft_context *real, *rehearsal;
static cl_mem zeroes; // of the device, for any operand
enum { BYTES = 1 << 18 };

// One operand, where `ctx` has its buffers.
static cl_mem buffer_of(weft_context *ctx)
{
    return ctx == rehearsal ? weft_rehearsal_buffer(ctx, NULL) : zeroes;
}

// ---- calls, on either context

static weft_status soften(weft_context *ctx, cl_mem out)
{
    const weft_tensor X = weft_matrix(buffer_of(ctx), WEFT_F32, 3, 500);
    const weft_tensor Y = weft_matrix(out, WEFT_F32, 3, 500);
    return weft_softmax(ctx, weft_context_queue(ctx), 1, &X, 1, &Y, NULL);
}

// One row of 9000 entries among short ones: row chunks, and rows in another order.
static weft_status multiply_sparse(weft_context *ctx, cl_mem out)
{
    enum { M = 40, K = 9000, N = 4, NNZ = K + M - 1 };
    static int32_t offsets[M + 1], indices[NNZ];
    for (int i = 0; i < NNZ; i++)
        indices[i] = i < K ? i : i - K;
    for (int i = 1; i <= M; i++)
        offsets[i] = K + i - 1;
    cl_int code[2] = {CL_SUCCESS, CL_SUCCESS};
    const cl_mem_flags flags = CL_MEM_COPY_HOST_PTR;
    weft_csr A = {.n_rows = M, .n_cols = K, .nnz = NNZ, .values = buffer_of(ctx)};
    if (ctx == rehearsal) {
        A.offsets = weft_rehearsal_buffer(ctx, offsets);
        A.indices = weft_rehearsal_buffer(ctx, indices);
    } else {
        A.offsets = clCreateBuffer(weft_context_cl(ctx), flags, sizeof(offsets), offsets, &code[0]);
        A.indices = clCreateBuffer(weft_context_cl(ctx), flags, sizeof(indices), indices, &code[1]);
    }
    assert_true(code[0] == CL_SUCCESS && code[1] == CL_SUCCESS);
    const weft_tensor B = weft_matrix(buffer_of(ctx), WEFT_F32, K, N);
    const weft_tensor C = weft_matrix(out, WEFT_F32, M, N);
    weft_spmm_plan *plan;
    assert_ok(weft_spmm_plan_create(&plan, ctx, weft_context_queue(ctx), &A, NULL));
    const weft_status status =
        weft_spmm(ctx, weft_context_queue(ctx), 1, &A, &B, 0, &C, WEFT_SPMM(.plan = plan));
    if (ctx == real) {
        assert_int_equal(clFinish(weft_context_queue(ctx)), CL_SUCCESS);
        clReleaseMemObject(A.offsets);
        clReleaseMemObject(A.indices);
    }
    weft_spmm_plan_destroy(&plan);
    return status;
}

// V is wide: three operations, of which each plans and wants scratch memory of its own.
static weft_status attend(weft_context *ctx, cl_mem out)
{
    const weft_tensor Q = weft_matrix(buffer_of(ctx), WEFT_F32, 8, 16), K = Q;
    const weft_tensor V = weft_matrix(buffer_of(ctx), WEFT_F32, 8, 4000);
    const weft_tensor O = weft_matrix(out, WEFT_F32, 8, 4000);
    const weft_csr M = {
        .n_rows = 8, .n_cols = 8, .nnz = 10, .offsets = buffer_of(ctx), .indices = buffer_of(ctx)};
    return weft_sparse_attention(ctx, weft_context_queue(ctx), 1, &Q, &K, &V, &M, &O, NULL);
}

static weft_status multiply_dense(weft_context *ctx, cl_mem out)
{
    const weft_tensor A = weft_matrix(buffer_of(ctx), WEFT_F32, 60, 900);
    const weft_tensor B = weft_matrix(buffer_of(ctx), WEFT_F32, 900, 50);
    const weft_tensor C = weft_matrix(out, WEFT_F32, 60, 50);
    return weft_matmul(ctx, weft_context_queue(ctx), 1, &A, &B, 0, &C, NULL);
}

// ---- and compared

static bool is_new_program(const weft_rehearsal *told, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(told->launches[j].source, told->launches[i].source) == 0 &&
            strcmp(told->launches[j].options, told->launches[i].options) == 0)
            return false;
    return true;
}

// With its kernels compiled, which takes long, or on the device's limits alone.
static void expect_as_rehearsed(weft_status (*call)(weft_context *ctx, cl_mem out), bool compiles)
{
    cl_int code;
    cl_mem out = clCreateBuffer(weft_context_cl(real), CL_MEM_READ_WRITE, BYTES, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_ok(compiles ? weft_rehearsal_create(&rehearsal, NULL, real)
                       : weft_rehearsal_create(&rehearsal, weft_context_limits(real), NULL));
    assert_ok(weft_rehearsal_begin(rehearsal));
    assert_ok(call(rehearsal, weft_rehearsal_buffer(rehearsal, NULL)));
    const weft_rehearsal *told = weft_rehearsal_end(rehearsal);
    assert_non_null(told);
    assert_true(told->n_launches > 0 && told->n_refusals > 0);

    const weft_context_stats before = weft_context_get_stats(real);
    assert_ok(call(real, out));
    assert_int_equal(clFinish(weft_context_queue(real)), CL_SUCCESS);
    const weft_context_stats after = weft_context_get_stats(real);
    uint64_t n_launches = 0, n_programs = 0;
    for (size_t i = 0; i < told->n_launches; i++) {
        const weft_rehearsed_launch *launch = &told->launches[i];
        const size_t items = launch->local[0] * launch->local[1] * launch->local[2];
        assert_true(compiles ? launch->max_items >= items : launch->max_items == 0);
        n_launches += (uint64_t)launch->times;
        assert_non_null(strstr(launch->source_text, launch->kernel));
        n_programs += is_new_program(told, i);
    }
    assert_int_equal(after.launches - before.launches, n_launches);
    assert_int_equal(after.programs_built - before.programs_built, n_programs);
    assert_true((after.scratch_bytes > 0) >= (told->scratch_bytes > 0));
    assert_int_equal(weft_context_get_stats(rehearsal).launches, 0);
    weft_context_destroy(&rehearsal);
    clReleaseMemObject(out);
}

static void test_softmax(void **state)
{
    (void)state;
    expect_as_rehearsed(soften, true);
}

// That keeps none: what the first time compiles is not found the second time.
static void test_folder_is_that_of_the_real_one(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_ok(weft_rehearsal_create(&rehearsal, NULL, real));
        assert_ok(soften(rehearsal, weft_rehearsal_buffer(rehearsal, NULL)));
        const weft_context_stats stats = weft_context_get_stats(rehearsal);
        assert_true(stats.programs_built > 0 && stats.programs_loaded == 0);
        weft_context_destroy(&rehearsal);
    }
}

// What the environment has come to say does not matter.
static void test_limits_are_those_of_the_real_one(void **state)
{
    (void)state;
    const char *const profiles[] = {"nvidia-a100", "a profile that is none"};
    const char *given = getenv("WEFT_PROFILE");
    char before[80];
    snprintf(before, sizeof(before), "%s", given ? given : "");
    for (int i = 0; i < 2; i++) {
        setenv("WEFT_PROFILE", profiles[i], 1);
        const weft_status status = weft_rehearsal_create(&rehearsal, NULL, real);
        setenv("WEFT_PROFILE", before, 1);
        assert_ok(status);
        assert_memory_equal(weft_context_limits(rehearsal), weft_context_limits(real),
                            sizeof(weft_limits));
        weft_context_destroy(&rehearsal);
    }
}

static void test_sparse_product(void **state)
{
    (void)state;
    expect_as_rehearsed(multiply_sparse, false);
}

static void test_attention_in_steps(void **state)
{
    (void)state;
    expect_as_rehearsed(attend, false);
}

static void test_dense_product(void **state)
{
    (void)state;
    expect_as_rehearsed(multiply_dense, true);
}

// Scratch memory of more bytes than a size_t counts is refused as any that nobody has.
static void test_transpose_beyond_all_memory(void **state)
{
    (void)state;
    assert_ok(weft_rehearsal_create(&rehearsal, weft_profile_at(0), NULL));
    cl_mem arrays[6];
    for (int i = 0; i < 6; i++)
        arrays[i] = weft_rehearsal_buffer(rehearsal, NULL);
    const weft_csr A = {.n_rows = 1000,
                        .n_cols = INT32_MAX,
                        .nnz = INT64_C(1) << 58,
                        .offset_dtype = WEFT_I64,
                        .offsets = arrays[0],
                        .indices = arrays[1],
                        .values = arrays[2]};
    weft_csr T = A;
    T.n_rows = A.n_cols;
    T.n_cols = A.n_rows;
    T.offsets = arrays[3];
    T.indices = arrays[4];
    T.values = arrays[5];
    size_t bytes;
    assert_ok(weft_csr_transpose_workspace(rehearsal, &A, &T, NULL, &bytes));
    assert_true(bytes == SIZE_MAX);
    assert_int_equal(weft_csr_transpose(rehearsal, NULL, &A, &T, NULL), WEFT_NO_MEMORY);
    assert_says("bytes of scratch memory are needed");
    weft_context_destroy(&rehearsal);
}

// ---- misuse

static void test_rehearsals_know_nothing_of_each_other(void **state)
{
    weft_context *other;
    (void)state;
    assert_ok(weft_rehearsal_create(&rehearsal, weft_profile_at(0), NULL));
    assert_ok(weft_rehearsal_create(&other, weft_profile_at(1), NULL));
    assert_ok(weft_rehearsal_begin(rehearsal));
    assert_ok(weft_rehearsal_begin(other));
    const weft_tensor X = weft_matrix(weft_rehearsal_buffer(other, NULL), WEFT_F32, 3, 500);
    assert_ok(weft_softmax(other, NULL, 1, &X, 1, &X, NULL));
    assert_true(weft_rehearsal_end(other)->n_refusals > 0);
    weft_context_destroy(&other);
    assert_int_equal(weft_rehearsal_end(rehearsal)->n_refusals, 0);
    assert_ok(weft_rehearsal_begin(rehearsal));
    assert_ok(soften(rehearsal, weft_rehearsal_buffer(rehearsal, NULL)));
    assert_true(weft_rehearsal_end(rehearsal)->n_refusals > 0);
    assert_ok(weft_rehearsal_begin(rehearsal));
    weft_context_destroy(&rehearsal); // which ends it
}

static void test_buffers_are_not_mixed(void **state)
{
    (void)state;
    assert_ok(weft_rehearsal_create(&rehearsal, weft_profile_at(0), NULL));
    const weft_tensor real_X = weft_matrix(zeroes, WEFT_F32, 2, 3);
    const weft_tensor X = weft_matrix(weft_rehearsal_buffer(rehearsal, NULL), WEFT_F32, 2, 3);
    const weft_tensor Y = weft_matrix(weft_rehearsal_buffer(rehearsal, NULL), WEFT_F32, 2, 3);
    assert_int_equal(weft_softmax(rehearsal, NULL, 1, &real_X, 0, &Y, NULL), WEFT_BAD_BUFFER);
    assert_says("X: the buffer is not one of a rehearsal");
    assert_int_equal(weft_softmax(real, weft_context_queue(real), 1, &X, 0, &real_X, NULL),
                     WEFT_BAD_BUFFER);
    assert_says("X: the buffer is one of a rehearsal");
    assert_null(weft_rehearsal_buffer(real, NULL));
    for (int i = 2; i < WEFT_REHEARSAL_BUFFERS; i++)
        assert_non_null(weft_rehearsal_buffer(rehearsal, NULL));
    assert_null(weft_rehearsal_buffer(rehearsal, NULL));
    assert_ok(weft_softmax(rehearsal, NULL, 1, &X, 0, &X, NULL)); // in place: one buffer
    weft_context_destroy(&rehearsal);
}

static void test_misuse(void **state)
{
    (void)state;
    assert_int_equal(weft_rehearsal_create(&rehearsal, NULL, NULL), WEFT_BAD_ARGUMENT);
    assert_null(rehearsal);
    assert_int_equal(weft_rehearsal_begin(real), WEFT_BAD_ARGUMENT);
    assert_says("the context does not rehearse");
    assert_null(weft_rehearsal_end(real));
    weft_limits limits = *weft_profile_at(0);
    limits.warp = 3;
    assert_int_equal(weft_rehearsal_create(&rehearsal, &limits, NULL), WEFT_BAD_ARGUMENT);
    assert_says("warp is 3");
    assert_ok(weft_rehearsal_create(&rehearsal, weft_profile_at(0), NULL));
    assert_null(weft_rehearsal_end(rehearsal)); // nothing was begun
    assert_ok(weft_rehearsal_begin(rehearsal));
    const weft_tensor X = weft_matrix(weft_rehearsal_buffer(rehearsal, NULL), WEFT_F32, 4, 4);
    assert_ok(weft_softmax(rehearsal, NULL, 1, &X, 0, &X, NULL));
    assert_ok(weft_softmax(rehearsal, NULL, 1, &X, 0, &X, NULL));
    const weft_rehearsal *told = weft_rehearsal_end(rehearsal);
    assert_int_equal(told->n_launches, 1); // the same one, twice
    assert_int_equal(told->launches[0].times, 2);
    assert_int_equal(told->launches[0].max_items, 0);
    assert_ok(weft_softmax(rehearsal, NULL, 1, &X, 0, &X, NULL)); // which nobody asked about
    assert_int_equal(told->n_launches, 1);
    assert_int_equal(told->launches[0].times, 2);
    assert_ok(weft_rehearsal_begin(rehearsal));
    assert_int_equal(weft_rehearsal_end(rehearsal)->n_launches, 0);
    weft_context_destroy(&rehearsal);
}

// Not even with a queue: what OpenCL got would be no buffer.
static void test_nothing_is_copied(void **state)
{
    const int32_t no_offsets[] = {0};
    const weft_csr_host none = {.n_cols = 1, .offsets = (void *)(uintptr_t)no_offsets};
    cl_command_queue queue = weft_context_queue(real);
    weft_csr csr;
    int64_t nnz;
    (void)state;
    assert_ok(weft_rehearsal_create(&rehearsal, NULL, real));
    assert_int_equal(weft_csr_create(&csr, rehearsal, queue, &none), WEFT_UNSUPPORTED);
    assert_says("csr_create: a rehearsal copies nothing");
    csr = (weft_csr){.n_rows = 2, .n_cols = 3, .offsets = weft_rehearsal_buffer(rehearsal, NULL)};
    assert_int_equal(weft_csr_check(rehearsal, queue, &csr, WEFT_CSR_SOUND, NULL),
                     WEFT_UNSUPPORTED);
    const weft_tensor D = weft_matrix(weft_rehearsal_buffer(rehearsal, NULL), WEFT_F32, 2, 3);
    assert_int_equal(weft_dense_to_csr_count(rehearsal, queue, &D, &csr, &nnz, NULL),
                     WEFT_UNSUPPORTED);
    assert_says("a rehearsal has no results to read");
    assert_ok(weft_dense_to_csr_count(rehearsal, queue, &D, &csr, NULL, NULL));
    weft_csr_destroy(&csr);
    weft_context_destroy(&rehearsal);
}

static weft_status rehearse(void)
{
    weft_status status = weft_rehearsal_create(&rehearsal, weft_profile_at(0), NULL);
    if (status == WEFT_OK)
        status = weft_rehearsal_begin(rehearsal);
    if (status == WEFT_OK) {
        status = soften(rehearsal, weft_rehearsal_buffer(rehearsal, NULL));
        const weft_rehearsal *told = weft_rehearsal_end(rehearsal);
        assert_true(told == NULL || told->n_refusals > 0); // all of it, or nothing
        status = status == WEFT_OK && told == NULL ? WEFT_NO_MEMORY : status;
    }
    weft_context_destroy(&rehearsal);
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    int n = 0;
    for (bool did_fail = true; did_fail; did_fail = countdown == 0) {
        countdown = ++n;
        const weft_status status = rehearse();
        assert_int_equal(status, countdown == 0 ? WEFT_NO_MEMORY : WEFT_OK);
    }
    countdown = 0;
    assert_in_range(n, 6, 40);
}

int main(void)
{
    static char bytes[BYTES];
    need_device();
    cl_int code;
    real = open_context(NULL);
    zeroes = clCreateBuffer(weft_context_cl(real), CL_MEM_COPY_HOST_PTR, BYTES, bytes, &code);
    if (code != CL_SUCCESS)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_folder_is_that_of_the_real_one),
        cmocka_unit_test(test_limits_are_those_of_the_real_one),
        cmocka_unit_test(test_sparse_product),
        cmocka_unit_test(test_attention_in_steps),
        cmocka_unit_test(test_dense_product),
        cmocka_unit_test(test_transpose_beyond_all_memory),
        cmocka_unit_test(test_rehearsals_know_nothing_of_each_other),
        cmocka_unit_test(test_buffers_are_not_mixed),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_nothing_is_copied),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clReleaseMemObject(zeroes);
    weft_context_destroy(&real);
    return failed;
}
