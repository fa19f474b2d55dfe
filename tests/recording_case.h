// SPDX-License-Identifier: Apache-2.0
// What tests of recordings share: a context with two queues, buffers of numbers, and a recording of
// two calls.
#ifndef WEFT_TESTS_RECORDING_CASE_H
#define WEFT_TESTS_RECORDING_CASE_H

#include "operation_case.h"
#include "queues.h"

enum { N = OPERATION_EXTENT, BYTES = OPERATION_BYTES, ELEMENTS = N * N };

static weft_context *ctx;
static operation_operands o;

static inline int create(void **state)
{
    (void)state;
    operation_operands_create(&o);
    o.queue = o.in_order;
    return weft_context_create(&ctx, o.cl, o.device, NULL);
}

static inline int destroy(void **state)
{
    (void)state;
    queue_finish(o.in_order);
    if (o.out_of_order)
        queue_finish(o.out_of_order);
    weft_context_destroy(&ctx);
    operation_operands_destroy(&o);
    return 0;
}

static inline cl_mem buffer_with(cl_mem_flags flags, size_t bytes)
{
    cl_int code = CL_SUCCESS;
    const cl_mem buffer = clCreateBuffer(o.cl, flags, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

// Of numbers first, first + step and so on.
static inline cl_mem numbers(float first, float step)
{
    float all[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        all[i] = first + step * (float)(i % 37);
    const cl_mem buffer = buffer_with(CL_MEM_READ_WRITE, BYTES);
    assert_int_equal(
        clEnqueueWriteBuffer(o.in_order, buffer, CL_TRUE, 0, BYTES, all, 0, NULL, NULL),
        CL_SUCCESS);
    return buffer;
}

static inline void expect_same(cl_mem a, cl_mem b)
{
    static char of_a[BYTES], of_b[BYTES];
    queue_finish(o.in_order);
    if (o.out_of_order)
        queue_finish(o.out_of_order);
    const cl_mem buffers[] = {a, b};
    char *const out[] = {of_a, of_b};
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            clEnqueueReadBuffer(o.in_order, buffers[i], CL_TRUE, 0, BYTES, out[i], 0, NULL, NULL),
            CL_SUCCESS);
    assert_memory_equal(of_a, of_b, BYTES);
}

static inline weft_tensor square(cl_mem buffer)
{
    return weft_matrix(buffer, WEFT_F32, N, N);
}

// to = softmax(from), and of its rows
static inline weft_status soften(cl_command_queue queue, cl_mem from, cl_mem to)
{
    const weft_tensor X = square(from), Y = square(to);
    return weft_softmax(ctx, queue, 1, &X, -1, &Y, NULL);
}

// out = softmax(softmax(in)), by a buffer between
static inline weft_recording *record_two(cl_mem in, cl_mem between, cl_mem out)
{
    weft_recording *recording = NULL;
    assert_ok(weft_recording_begin(&recording, ctx));
    assert_ok(soften(NULL, in, between));
    assert_ok(soften(NULL, between, out));
    assert_ok(weft_recording_name(recording, in, "in"));
    assert_ok(weft_recording_name(recording, out, "out"));
    assert_ok(weft_recording_end(recording));
    return recording;
}

static inline void release(int n, const cl_mem *buffers)
{
    for (int i = 0; i < n; i++)
        clReleaseMemObject(buffers[i]);
}

#endif
