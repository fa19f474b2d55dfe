// SPDX-License-Identifier: Apache-2.0
// What operations are given: matrices of 32 rows and columns, outputs, queues.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "operation_case.h"

#include "random.h"

enum { N = OPERATION_EXTENT };

static cl_mem buffer_of(cl_context cl, const void *data, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(cl, CL_MEM_COPY_HOST_PTR, bytes, (void *)(uintptr_t)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

// Eighths: sums of products are exact, and do not depend on what a plan makes of them.
static float eighths(random_state *random)
{
    return (float)random_between(random, -4, 4) / 8;
}

static weft_tensor dense_input(cl_context cl, random_state *random)
{
    float numbers[N * N];
    for (int i = 0; i < N * N; i++)
        numbers[i] = eighths(random);
    return weft_matrix(buffer_of(cl, numbers, sizeof(numbers)), WEFT_F32, N, N);
}

// Three entries in most rows, none in every third, and all columns in one.
static bool is_entry(int row, int column)
{
    return row == OPERATION_LONG_ROW || (row % 3 && (column * 7 + row) % 11 == 0);
}

static void make_sparse(operation_operands *o, random_state *random)
{
    float dense[N * N] = {0};
    for (int row = 0; row < N; row++)
        for (int column = 0; column < N; column++)
            dense[row * N + column] = is_entry(row, column) ? 1 + eighths(random) : 0;
    assert_ok(weft_csr_host_from_dense(&o->host, N, N, dense, N, 1, 0, NULL));
    const size_t nnz = (size_t)o->host.nnz;
    o->A = (weft_csr){.n_rows = N,
                      .n_cols = N,
                      .nnz = o->host.nnz,
                      .offsets = buffer_of(o->cl, o->host.offsets, (N + 1) * sizeof(int32_t)),
                      .indices = buffer_of(o->cl, o->host.indices, nnz * sizeof(int32_t)),
                      .values = buffer_of(o->cl, o->host.values, nnz * sizeof(float))};
    int32_t even[N / 2];
    for (int i = 0; i < N / 2; i++)
        even[i] = 2 * i;
    o->stored = (weft_dcsr){.n_rows = N, .n_cols = N, .n_stored = N / 2};
    o->stored.nnz = ((const int32_t *)o->host.offsets)[N / 2];
    o->stored.rows = buffer_of(o->cl, even, sizeof(even));
    o->stored.offsets = o->A.offsets;
    o->stored.indices = o->A.indices;
    o->stored.values = o->A.values;
    o->values = (weft_tensor){o->A.values, WEFT_F32, 0, 1, {o->A.nnz}, {1}};
    o->source = o->values; // columns are places among the entries
    o->source.buffer = o->A.indices;
    o->source.dtype = WEFT_I32;
}

static cl_command_queue queue_create(const operation_operands *o,
                                     cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(o->cl, o->device, properties, &code);
    return code == CL_SUCCESS ? queue : NULL;
}

void operation_operands_create(operation_operands *o)
{
    cl_int code;
    weft_context *ctx = open_context(NULL);
    cl_device_id device = weft_context_device(ctx);
    cl_context cl = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    operation_operands_create_in(o, cl, device);
    clReleaseContext(cl);
    weft_context_destroy(&ctx);
}

void operation_operands_create_in(operation_operands *o, cl_context cl, cl_device_id device)
{
    cl_int code;
    random_state random = {1};
    *o = (operation_operands){.cl = cl, .device = device};
    clRetainContext(cl);
    o->queue = o->in_order = queue_create(o, 0);
    o->out_of_order = queue_create(o, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    assert_non_null(o->in_order);
    o->ready = clCreateUserEvent(o->cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    clSetUserEventStatus(o->ready, CL_COMPLETE);
    make_sparse(o, &random);
    o->X = dense_input(o->cl, &random);
    o->Y = dense_input(o->cl, &random);
    o->Z = dense_input(o->cl, &random);
    o->row = o->Z;
    o->row.ndim = 1;
    o->row.stride[0] = 1;
    for (int i = 0; i < OPERATION_OUTPUTS; i++) {
        const unsigned char zeros[OPERATION_BYTES] = {0};
        o->outputs[i] = buffer_of(o->cl, zeros, sizeof(zeros));
    }
}

void operation_operands_destroy(operation_operands *o)
{
    cl_mem inputs[] = {o->A.offsets, o->A.indices, o->A.values,   o->X.buffer,
                       o->Y.buffer,  o->Z.buffer,  o->stored.rows};
    for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++)
        clReleaseMemObject(inputs[i]);
    for (int i = 0; i < OPERATION_OUTPUTS; i++)
        clReleaseMemObject(o->outputs[i]);
    weft_csr_host_destroy(&o->host);
    clReleaseEvent(o->ready);
    clReleaseCommandQueue(o->in_order);
    if (o->out_of_order)
        clReleaseCommandQueue(o->out_of_order);
    clReleaseContext(o->cl);
}
