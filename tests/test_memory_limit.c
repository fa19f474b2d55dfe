// SPDX-License-Identifier: Apache-2.0
// A device that says itself that it has little memory: PoCL under POCL_MEMORY_LIMIT. What does not
// fit is refused before anything is enqueued, saying how much was needed and what there is.
#include <weft/weft.h>

#include "runtime.h"

#include "fault_layer.h"

enum {
    ONE = 1 << 28,   // bytes of the largest buffer: a quarter of a GiB
    USUAL = ONE / 4, // of scratch memory, where the caller does not say
    N = 1 << 20,     // rows and columns
    NNZ = 20 << 20,  // entries; no buffer of theirs is too large
    N_SMALL = 4096,  // rows of a matrix that fits
};

static layer_faults *layer;

static weft_context *open_with(uint64_t scratch_bytes)
{
    weft_context *ctx;
    assert_ok(
        weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "", .scratch_bytes = scratch_bytes)));
    return ctx;
}

static cl_mem buffer_of(weft_context *ctx, int64_t n)
{
    cl_int code;
    cl_mem buffer =
        clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE, (size_t)n * 4, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

// Whose memory is never touched.
static weft_csr matrix_of(weft_context *ctx, int64_t nnz)
{
    return (weft_csr){.n_rows = N,
                      .n_cols = N,
                      .nnz = nnz,
                      .dtype = WEFT_F32,
                      .offset_dtype = WEFT_I32,
                      .index_dtype = WEFT_I32,
                      .offsets = buffer_of(ctx, N + 1),
                      .indices = buffer_of(ctx, nnz),
                      .values = buffer_of(ctx, nnz)};
}

static void test_what_the_device_says(void **state)
{
    (void)state;
    weft_context *ctx = open_with(0);
    assert_int_equal(weft_context_limits(ctx)->global_bytes, 4 * (uint64_t)ONE);
    assert_int_equal(weft_context_limits(ctx)->max_alloc_bytes, ONE);
    weft_context_destroy(&ctx);
}

// Refused for want of scratch memory, with what it asks for itself and with `allowed`.
static void expect_refused(weft_context *ctx, const weft_csr *A, const weft_csr *T,
                           uint64_t allowed)
{
    char sentence[160];
    size_t needed;
    const long n_kernels = layer->n_kernels;
    const long long before = layer->buffer_bytes;
    assert_ok(weft_csr_transpose_workspace(ctx, A, T, NULL, &needed));
    assert_true(needed > allowed);
    assert_int_equal(weft_csr_transpose(ctx, weft_context_queue(ctx), A, T, NULL), WEFT_NO_MEMORY);
    snprintf(sentence, sizeof(sentence),
             "csr_transpose: %zu bytes of scratch memory are needed, %llu are allowed", needed,
             (unsigned long long)allowed);
    assert_says(sentence);
    assert_int_equal(layer->n_kernels, n_kernels);
    assert_int_equal(layer->buffer_bytes, before);
}

// By the share that scratch memory has, and by the largest buffer where the caller allows more.
static void test_scratch_memory(void **state)
{
    (void)state;
    const struct {
        uint64_t asked, allowed;
    } bounds[] = {{0, USUAL}, {UINT64_C(1) << 40, ONE}};
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        weft_context *ctx = open_with(bounds[i].asked);
        weft_csr A = matrix_of(ctx, NNZ), T = matrix_of(ctx, NNZ);
        expect_refused(ctx, &A, &T, bounds[i].allowed);
        weft_csr_destroy(&T);
        weft_csr_destroy(&A);
        weft_context_destroy(&ctx);
    }
}

// The offsets of a matrix are larger than a buffer can be; a smaller one is then multiplied.
static void test_a_matrix_that_does_not_fit(void **state)
{
    (void)state;
    enum { ROWS = ONE / 4 };
    weft_context *ctx = open_with(0);
    cl_command_queue queue = weft_context_queue(ctx);
    int32_t *offsets = calloc(ROWS + 1, sizeof(*offsets));
    assert_non_null(offsets);
    weft_csr_host host = {.n_rows = ROWS, .n_cols = 1, .offsets = offsets};
    const long long before = layer->buffer_bytes;
    weft_csr A;
    assert_int_equal(weft_csr_create(&A, ctx, queue, &host), WEFT_NO_MEMORY);
    assert_says("csr_create: 67108865 offsets of 4 bytes pass the device's 268435456 bytes for one "
                "buffer");
    assert_int_equal(layer->buffer_bytes, before);

    host.n_rows = N_SMALL;
    assert_ok(weft_csr_create(&A, ctx, queue, &host));
    const weft_tensor B = weft_matrix(buffer_of(ctx, 8), WEFT_F32, 1, 8);
    const weft_tensor C = weft_matrix(buffer_of(ctx, 8 * N_SMALL), WEFT_F32, N_SMALL, 8);
    static float got[8 * N_SMALL];
    memset(got, 0xff, sizeof(got)); // NaN
    assert_int_equal(
        clEnqueueWriteBuffer(queue, C.buffer, CL_TRUE, 0, sizeof(got), got, 0, NULL, NULL),
        CL_SUCCESS);
    assert_ok(weft_spmm(ctx, queue, 1, &A, &B, 0, &C, NULL));
    assert_int_equal(
        clEnqueueReadBuffer(queue, C.buffer, CL_TRUE, 0, sizeof(got), got, 0, NULL, NULL),
        CL_SUCCESS);
    for (int i = 0; i < 8 * N_SMALL; i++)
        assert_true(got[i] == 0);
    clReleaseMemObject(C.buffer);
    clReleaseMemObject(B.buffer);
    weft_csr_destroy(&A);
    free(offsets);
    weft_context_destroy(&ctx);
}

int main(void)
{
    need_device();
    layer = need_layer();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_device_says),
        cmocka_unit_test(test_scratch_memory),
        cmocka_unit_test(test_a_matrix_that_does_not_fit),
    };
    return cmocka_run_group_tests_name("memory limit", tests, NULL, NULL);
}
