// SPDX-License-Identifier: Apache-2.0
// Buffers that will not do, for the operands of each operation: a byte too small, of another OpenCL
// context, of a rehearsal, or none. Such a call is refused as what it is, and enqueues nothing; and
// what is wrong in another way is not refused as a buffer that is too small. Not here are
// workspaces and the values that csr_transpose writes, where none is no mistake.
#include <weft/rehearsal.h>
#include <weft/weft.h>

#include "sparse_case.h"

enum { SIDE = 4, NNZ = 6, MATRIX_BYTES = SIDE * SIDE * 4, VALUES_BYTES = NNZ * 4 };

static weft_context *ctx, *other, *rehearsal;
static cl_command_queue queue;
static weft_tensor A, B, C, Y; // [SIDE x SIDE]
static weft_tensor dy, y;      // [NNZ]
static weft_tensor best, from; // of spmm, [SIDE x SIDE], and csr_transpose, [NNZ]; both are i32
static weft_tensor row, bias, sums; // [SIDE]
static weft_tensor places;          // [SIDE], i32
static weft_csr S, T;
static weft_dcsr D;
static weft_spmm_plan *transposed; // of S
static int64_t counted;

#define CALL(name, ...)                                                                            \
    static weft_status name(void)                                                                  \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

CALL(elementwise,
     weft_elementwise(ctx, queue, WEFT_INPUTS({"x", &A}), WEFT_OUTPUTS({"x + 1", &Y}), NULL))
CALL(matmul, weft_matmul(ctx, queue, 1, &A, &B, 0, &Y, NULL))
CALL(reduce, weft_reduce(ctx, queue, WEFT_SUM, &A, 1, (const int[]){0}, &row, NULL))
CALL(softmax, weft_softmax(ctx, queue, 1, &A, 1, &Y, NULL))
CALL(log_softmax, weft_log_softmax(ctx, queue, 1, &A, 1, &Y, NULL))
CALL(softmax_backward, weft_softmax_backward(ctx, queue, 1, &A, &B, 1, &Y, NULL))
CALL(log_softmax_backward, weft_log_softmax_backward(ctx, queue, 1, &A, &B, 1, &Y, NULL))
CALL(layer_norm,
     weft_layer_norm(ctx, queue, 0, &A, 1, &Y, WEFT_NORM(.weight = &row, .bias = &bias)))
CALL(rms_norm, weft_rms_norm(ctx, queue, 0, &A, 1, &Y, WEFT_NORM(.weight = &row, .bias = &bias)))
CALL(layer_norm_backward,
     weft_layer_norm_backward(ctx, queue, 0, &A, 1, &B, &Y,
                              WEFT_NORM_BACKWARD(.weight = &bias, .dW = &row, .db = &sums)))
CALL(rms_norm_backward, weft_rms_norm_backward(ctx, queue, 0, &A, 1, &B, &Y, NULL))
CALL(spmm, weft_spmm(ctx, queue, 1, &S, &B, 0, &Y, WEFT_SPMM(.bias = &row)))
CALL(spmm_arguments, weft_spmm(ctx, queue, 1, &S, &B, 0, &Y,
                               WEFT_SPMM(.reduction = WEFT_SPMM_MAX, .arguments = &best)))
CALL(spmm_plan, weft_spmm_plan_create(&(weft_spmm_plan *){NULL}, ctx, queue, &S, NULL))
CALL(sddmm, weft_sddmm(ctx, queue, 1, &A, &B, &S, 0, &y, NULL))
CALL(sddmm_sparse,
     weft_sddmm_sparse(ctx, queue, 1, WEFT_SPARSE(&S), WEFT_SPARSE(&T), &S, 0, &y, NULL))
CALL(sddmm_sparse_dense,
     weft_sddmm_sparse(ctx, queue, 1, WEFT_DENSE(&A), WEFT_SPARSE(&S), &T, 0, &y, NULL))
CALL(sparse_softmax, weft_sparse_softmax(ctx, queue, 1, &S, &y, NULL))
CALL(sparse_softmax_backward, weft_sparse_softmax_backward(ctx, queue, 1, &S, &dy, &y, NULL))
CALL(sparse_attention, weft_sparse_attention(ctx, queue, 1, &A, &B, &C, &S, &Y, NULL))
CALL(sparse_linear, weft_sparse_linear(ctx, queue, &S, &A, &Y, WEFT_SPARSE_LINEAR(.bias = &bias)))
CALL(sparse_linear_dx,
     weft_sparse_linear_dx(ctx, queue, &S, &A, &Y, WEFT_SPARSE_LINEAR(.plan = transposed)))
CALL(sparse_linear_dw, weft_sparse_linear_dw(ctx, queue, &A, &B, &S, &y, NULL))
CALL(sparse_gather, weft_sparse_gather(ctx, queue, &dy, &places, &row, NULL))
CALL(csr_to_dense, weft_csr_to_dense(ctx, queue, &S, &Y, NULL))
CALL(dense_to_csr_count, weft_dense_to_csr_count(ctx, queue, &A, &T, &counted, NULL))
CALL(dense_to_csr, weft_dense_to_csr(ctx, queue, &A, &T, NULL))
CALL(csr_transpose, weft_csr_transpose(ctx, queue, &S, &T, WEFT_CSR_TRANSPOSE(.source = &from)))
CALL(spgemm_count, weft_spgemm_count(ctx, queue, &S, &S, &T, &counted, NULL))
CALL(spgemm, weft_spgemm(ctx, queue, &S, &S, &T, NULL))
CALL(spgemm_dense, weft_spgemm_dense(ctx, queue, 1, &S, &S, 0, &Y, NULL))
CALL(dcsr_count, weft_dcsr_count(ctx, queue, &S, &counted, NULL))
CALL(dcsr_from_csr, weft_dcsr_from_csr(ctx, queue, &S, &D, NULL))
CALL(dcsr_to_csr, weft_dcsr_to_csr(ctx, queue, &D, &T, NULL))
CALL(csr_check, weft_csr_check(ctx, queue, &S, WEFT_CSR_SOUND, NULL))

enum { MOST_BUFFERS = 7 };

static const struct {
    const char *name;
    weft_status (*run)(void);
    cl_mem *buffers[MOST_BUFFERS]; // that it reads or writes
} calls[] = {
    {"elementwise", elementwise, {&A.buffer, &Y.buffer}},
    {"matmul", matmul, {&A.buffer, &B.buffer, &Y.buffer}},
    {"reduce", reduce, {&A.buffer, &row.buffer}},
    {"softmax", softmax, {&A.buffer, &Y.buffer}},
    {"log_softmax", log_softmax, {&A.buffer, &Y.buffer}},
    {"softmax_backward", softmax_backward, {&A.buffer, &B.buffer, &Y.buffer}},
    {"log_softmax_backward", log_softmax_backward, {&A.buffer, &B.buffer, &Y.buffer}},
    {"layer_norm", layer_norm, {&A.buffer, &row.buffer, &bias.buffer, &Y.buffer}},
    {"rms_norm", rms_norm, {&A.buffer, &row.buffer, &bias.buffer, &Y.buffer}},
    {"layer_norm_backward",
     layer_norm_backward,
     {&A.buffer, &B.buffer, &bias.buffer, &row.buffer, &sums.buffer, &Y.buffer}},
    {"rms_norm_backward", rms_norm_backward, {&A.buffer, &B.buffer, &Y.buffer}},
    {"spmm", spmm, {&S.offsets, &S.indices, &S.values, &B.buffer, &row.buffer, &Y.buffer}},
    {"spmm", spmm_arguments, {&best.buffer}},
    {"spmm_plan", spmm_plan, {&S.offsets, &S.indices}},
    {"sddmm", sddmm, {&S.offsets, &S.indices, &S.values, &A.buffer, &B.buffer, &y.buffer}},
    {"sddmm_sparse",
     sddmm_sparse,
     {&S.offsets, &S.indices, &S.values, &T.offsets, &T.indices, &T.values, &y.buffer}},
    {"sddmm_sparse", sddmm_sparse_dense, {&A.buffer, &S.indices, &T.values, &y.buffer}},
    {"sparse_softmax", sparse_softmax, {&S.offsets, &S.indices, &S.values, &y.buffer}},
    {"sparse_softmax_backward",
     sparse_softmax_backward,
     {&S.offsets, &S.values, &dy.buffer, &y.buffer}},
    {"sparse_attention",
     sparse_attention,
     {&S.offsets, &S.indices, &A.buffer, &B.buffer, &C.buffer, &Y.buffer}},
    {"sparse_linear",
     sparse_linear,
     {&S.offsets, &S.indices, &S.values, &A.buffer, &bias.buffer, &Y.buffer}},
    {"sparse_linear_dx",
     sparse_linear_dx,
     {&S.offsets, &S.indices, &S.values, &A.buffer, &Y.buffer}},
    {"sparse_linear_dw",
     sparse_linear_dw,
     {&S.offsets, &S.indices, &A.buffer, &B.buffer, &y.buffer}},
    {"sparse_gather", sparse_gather, {&dy.buffer, &places.buffer, &row.buffer}},
    {"csr_to_dense", csr_to_dense, {&S.offsets, &S.indices, &S.values, &Y.buffer}},
    {"dense_to_csr_count", dense_to_csr_count, {&A.buffer, &T.offsets}},
    {"dense_to_csr", dense_to_csr, {&A.buffer, &T.offsets, &T.indices, &T.values}},
    {"csr_transpose",
     csr_transpose,
     {&S.offsets, &S.indices, &S.values, &T.offsets, &T.indices, &from.buffer}},
    {"spgemm_count", spgemm_count, {&S.offsets, &S.indices, &T.offsets}},
    {"spgemm", spgemm, {&S.offsets, &S.indices, &S.values, &T.offsets, &T.indices, &T.values}},
    {"spgemm_dense", spgemm_dense, {&S.offsets, &S.indices, &S.values, &Y.buffer}},
    {"dcsr_count", dcsr_count, {&S.offsets}},
    {"dcsr_from_csr", dcsr_from_csr, {&S.offsets, &D.rows, &D.offsets}},
    {"dcsr_to_csr", dcsr_to_csr, {&D.rows, &D.offsets, &T.offsets}},
    {"csr_check", csr_check, {&S.offsets, &S.indices}},
};
enum { N_CALLS = sizeof(calls) / sizeof(calls[0]) };

static size_t bytes_of(cl_mem buffer)
{
    size_t bytes;
    assert_int_equal(clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL),
                     CL_SUCCESS);
    return bytes;
}

// In the place of one that will do.
static void expect_refused(int i, cl_mem *place, cl_mem buffer, const char *part)
{
    const cl_mem good = *place;
    const uint64_t before = weft_context_get_stats(ctx).launches;
    *place = buffer;
    const weft_status status = calls[i].run();
    *place = good;
    if (status != WEFT_BAD_BUFFER || !says_by(calls[i].name) || !strstr(weft_last_error(), part))
        fail_msg("%s: %s: \"%s\" does not say \"%s\"", calls[i].name, weft_status_name(status),
                 weft_last_error(), part);
    assert_int_equal(weft_context_get_stats(ctx).launches, before);
}

static void test_buffers_that_will_not_do(void **state)
{
    (void)state;
    const cl_mem stand_in = weft_rehearsal_buffer(rehearsal, NULL);
    for (int i = 0; i < N_CALLS; i++)
        for (int j = 0; j < MOST_BUFFERS && calls[i].buffers[j]; j++) {
            cl_mem *place = calls[i].buffers[j];
            const size_t bytes = bytes_of(*place);
            cl_mem small = buffer_zeroed(ctx, bytes - 1, CL_MEM_READ_WRITE);
            cl_mem foreign = buffer_zeroed(other, bytes, CL_MEM_READ_WRITE);
            expect_refused(i, place, small, "bytes");
            expect_refused(i, place, foreign, "belongs to another OpenCL context");
            expect_refused(i, place, stand_in, "one of a rehearsal");
            expect_refused(i, place, NULL, "the buffer is NULL");
            clReleaseMemObject(small);
            clReleaseMemObject(foreign);
        }
}

// ---- buffers of just the size that the operands want, which are wrong in another way

static weft_tensor *const tensors[] = {&A,    &B,    &C,   &Y,    &dy,   &y,
                                       &best, &from, &row, &bias, &sums, &places};
enum { N_TENSORS = sizeof(tensors) / sizeof(tensors[0]) };

// Whose buffer that is; NULL for a sparse matrix's.
static weft_tensor *tensor_of(const cl_mem *place)
{
    for (int i = 0; i < N_TENSORS; i++)
        if (&tensors[i]->buffer == place)
            return tensors[i];
    return NULL;
}

static void expect_other_than_bytes(int i, weft_status wanted, weft_status otherwise)
{
    const uint64_t before = weft_context_get_stats(ctx).launches;
    const weft_status status = calls[i].run();
    if ((status != wanted && status != otherwise) || !says_by(calls[i].name))
        fail_msg("%s: %s: \"%s\"", calls[i].name, weft_status_name(status), weft_last_error());
    assert_int_equal(weft_context_get_stats(ctx).launches, before);
}

// f64 would want twice the bytes. Elementwise operations take it, and so does what does not look at
// a matrix's values.
static void test_a_wrong_type_is_no_small_buffer(void **state)
{
    (void)state;
    for (int i = 0; i < N_CALLS; i++)
        for (int j = 0; j < MOST_BUFFERS && calls[i].buffers[j]; j++) {
            weft_tensor *tensor = tensor_of(calls[i].buffers[j]);
            const bool is_matrix = calls[i].buffers[j] == &S.values;
            if (calls[i].run == elementwise || (!tensor && !is_matrix))
                continue;
            weft_dtype *dtype = is_matrix ? &S.dtype : &tensor->dtype;
            const weft_dtype good = *dtype;
            *dtype = WEFT_F64;
            expect_other_than_bytes(i, WEFT_BAD_DTYPE, WEFT_UNSUPPORTED);
            *dtype = good;
        }
}

// One column more than there is room for. Places may lie among any number of values.
static void test_a_wrong_extent_is_no_small_buffer(void **state)
{
    (void)state;
    for (int i = 0; i < N_CALLS; i++)
        for (int j = 0; j < MOST_BUFFERS && calls[i].buffers[j]; j++) {
            weft_tensor *tensor = tensor_of(calls[i].buffers[j]);
            if (!tensor || (calls[i].run == sparse_gather && tensor == &dy))
                continue;
            const weft_tensor good = *tensor;
            tensor->shape[tensor->ndim - 1]++;
            if (tensor->ndim == 2)
                tensor->stride[0]++;
            expect_other_than_bytes(i, WEFT_BAD_SHAPE, WEFT_BAD_SHAPE);
            *tensor = good;
        }
}

// Oclgrind takes any handle for the object that is wanted.
static void test_a_queue_is_no_buffer(void **state)
{
    (void)state;
    if (is_on("oclgrind"))
        skip();
    for (int i = 0; i < N_CALLS; i++) {
        cl_mem *place = calls[i].buffers[0];
        const cl_mem good = *place;
        *place = (cl_mem)(void *)queue;
        const weft_status status = calls[i].run();
        *place = good;
        assert_int_equal(status, WEFT_BAD_BUFFER);
        if (strstr(weft_last_error(), "image"))
            fail_msg("%s: \"%s\"", calls[i].name, weft_last_error());
    }
}

// What weft_csr_destroy() leaves is no matrix.
static void test_a_destroyed_matrix(void **state)
{
    (void)state;
    weft_csr gone = {.n_rows = SIDE, .offsets = buffer_zeroed(ctx, 64, CL_MEM_READ_WRITE)};
    weft_csr_destroy(&gone);
    assert_int_equal(weft_csr_check(ctx, queue, &gone, WEFT_CSR_SOUND, NULL), WEFT_BAD_BUFFER);
    const weft_status status = weft_spmm(ctx, queue, 1, &gone, &B, 0, &Y, NULL);
    assert_true(status == WEFT_BAD_SHAPE || status == WEFT_BAD_BUFFER);
}

static void test_queues_of_others(void **state)
{
    (void)state;
    const cl_command_queue own = queue;
    for (int i = 0; i < N_CALLS; i++) {
        queue = weft_context_queue(other);
        const uint64_t before = weft_context_get_stats(ctx).launches;
        assert_int_equal(calls[i].run(), WEFT_BAD_ARGUMENT);
        assert_says("the queue is of another");
        queue = NULL;
        assert_int_equal(calls[i].run(), WEFT_BAD_ARGUMENT);
        assert_says("the queue is NULL");
        assert_int_equal(weft_context_get_stats(ctx).launches, before);
    }
    queue = own;
}

static cl_mem zeroed(size_t bytes)
{
    return buffer_zeroed(ctx, bytes, CL_MEM_READ_WRITE);
}

static weft_tensor vector(int64_t n, weft_dtype dtype)
{
    return (weft_tensor){
        .buffer = zeroed((size_t)n * 4), .dtype = dtype, .ndim = 1, .shape = {n}, .stride = {1}};
}

static weft_csr sparse(void)
{
    static const int32_t offsets[SIDE + 1] = {0, 2, 2, 5, NNZ}; // a plan reads them
    return (weft_csr){.n_rows = SIDE,
                      .n_cols = SIDE,
                      .nnz = NNZ,
                      .offsets = buffer_of(ctx, offsets, sizeof(offsets)),
                      .indices = zeroed(VALUES_BYTES),
                      .values = zeroed(VALUES_BYTES)};
}

static int create(void **state)
{
    (void)state;
    weft_tensor *const matrices[] = {&A, &B, &C, &Y};
    assert_ok(weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "")));
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.cache_dir = "")));
    assert_ok(weft_rehearsal_create(&rehearsal, weft_context_limits(ctx), NULL));
    queue = weft_context_queue(ctx);
    for (int i = 0; i < 4; i++)
        *matrices[i] = weft_matrix(zeroed(MATRIX_BYTES), WEFT_F32, SIDE, SIDE);
    dy = vector(NNZ, WEFT_F32);
    y = vector(NNZ, WEFT_F32);
    row = vector(SIDE, WEFT_F32);
    bias = vector(SIDE, WEFT_F32);
    sums = vector(SIDE, WEFT_F32);
    best = weft_matrix(zeroed(MATRIX_BYTES), WEFT_I32, SIDE, SIDE);
    from = vector(NNZ, WEFT_I32);
    places = vector(SIDE, WEFT_I32);
    S = sparse();
    T = sparse();
    D = (weft_dcsr){.n_rows = SIDE,
                    .n_cols = SIDE,
                    .n_stored = 3,
                    .nnz = NNZ,
                    .rows = zeroed(3 * 4),
                    .offsets = zeroed(4 * 4)};
    assert_ok(
        weft_spmm_plan_create(&transposed, ctx, queue, &S, WEFT_SPMM_PLAN(.transpose_a = true)));
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    weft_spmm_plan_destroy(&transposed);
    for (int i = 0; i < N_TENSORS; i++)
        clReleaseMemObject(tensors[i]->buffer);
    weft_csr_destroy(&S);
    weft_csr_destroy(&T);
    clReleaseMemObject(D.rows);
    clReleaseMemObject(D.offsets);
    weft_context_destroy(&rehearsal);
    weft_context_destroy(&other);
    weft_context_destroy(&ctx);
    return 0;
}

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffers_that_will_not_do),
        cmocka_unit_test(test_a_wrong_type_is_no_small_buffer),
        cmocka_unit_test(test_a_wrong_extent_is_no_small_buffer),
        cmocka_unit_test(test_a_queue_is_no_buffer),
        cmocka_unit_test(test_a_destroyed_matrix),
        cmocka_unit_test(test_queues_of_others),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
