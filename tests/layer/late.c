// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer, for OPENCL_LAYERS: a blocking write copies what it is given and comes back; the
// buffer has it 10 ms later. OpenCL allows that, and Intel's runtime for CPUs does so. The next
// such write first waits until it has.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "layer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The last one; without a gate there was none, or it is done.
static struct {
    pthread_t thread;
    cl_event gate, done;
    void *copy;
} late;

static void *let_go(void *gate)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    target->clSetUserEventStatus(gate, CL_COMPLETE);
    return NULL;
}

static void settle(void)
{
    if (!late.gate)
        return;
    pthread_join(late.thread, NULL);
    target->clWaitForEvents(1, &late.done);
    target->clReleaseEvent(late.done);
    target->clReleaseEvent(late.gate);
    free(late.copy);
    late.gate = NULL;
}

static cl_int start(cl_command_queue queue, cl_mem buffer, size_t at, size_t size, const void *data)
{
    cl_context cl = NULL;
    cl_int code = target->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(cl), &cl, NULL);
    late.copy = malloc(size);
    if (code != CL_SUCCESS || !late.copy)
        abort();
    memcpy(late.copy, data, size);
    late.gate = target->clCreateUserEvent(cl, &code);
    if (code == CL_SUCCESS)
        code = target->clEnqueueWriteBuffer(queue, buffer, CL_FALSE, at, size, late.copy, 1,
                                            &late.gate, &late.done);
    if (code != CL_SUCCESS || pthread_create(&late.thread, NULL, let_go, late.gate) != 0)
        abort();
    return target->clFlush(queue);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                       size_t at, size_t size, const void *data, cl_uint n_wait,
                                       const cl_event *wait, cl_event *event)
{
    if (!blocks || n_wait > 0 || size == 0)
        return target->clEnqueueWriteBuffer(queue, buffer, blocks, at, size, data, n_wait, wait,
                                            event);
    pthread_mutex_lock(&lock);
    settle();
    cl_int code = start(queue, buffer, at, size, data);
    if (code == CL_SUCCESS && event) {
        *event = late.done;
        code = target->clRetainEvent(late.done);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static void install(void)
{
    layer.clEnqueueWriteBuffer = write_buffer;
}

DEFINE_LAYER("late writes", install)
