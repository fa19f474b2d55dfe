// SPDX-License-Identifier: Apache-2.0
// Enqueuing the kernels of one call, each after the one before it.
#include "runtime/launch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/groups.h"
#include "runtime/context.h"
#include "runtime/kernel.h"
#include "runtime/notes.h"

static weft_status queue_check(const weft_launch *launch)
{
    cl_context cl = NULL;
    cl_device_id device = NULL;
    cl_int code = clGetCommandQueueInfo(launch->queue, CL_QUEUE_CONTEXT, sizeof(cl), &cl, NULL);
    if (code == CL_SUCCESS)
        code = clGetCommandQueueInfo(launch->queue, CL_QUEUE_DEVICE, sizeof(device), &device, NULL);
    if (code == CL_INVALID_COMMAND_QUEUE)
        return fail(WEFT_BAD_ARGUMENT, "%s: the queue is not valid", launch->what);
    TRY(weft_cl_check(code, launch->what, "clGetCommandQueueInfo"));
    if (cl != launch->ctx->cl)
        return fail(WEFT_BAD_ARGUMENT, "%s: the queue is of another OpenCL context", launch->what);
    if (device != launch->ctx->device)
        return fail(WEFT_BAD_ARGUMENT, "%s: the queue is of another device", launch->what);
    return WEFT_OK;
}

static weft_status wait_check(const weft_launch *launch)
{
    if ((launch->n_wait > 0) != (launch->wait != NULL))
        return fail(WEFT_BAD_ARGUMENT, "%s: %u events to wait for, but the list is %s",
                    launch->what, launch->n_wait, launch->wait ? "there" : "NULL");
    for (cl_uint i = 0; i < launch->n_wait; i++) {
        cl_context cl = NULL;
        cl_int code = CL_INVALID_EVENT;
        if (launch->wait[i])
            code = clGetEventInfo(launch->wait[i], CL_EVENT_CONTEXT, sizeof(cl), &cl, NULL);
        if (code == CL_INVALID_EVENT)
            return fail(WEFT_BAD_ARGUMENT, "%s: event %u of the wait list is not valid",
                        launch->what, i);
        TRY(weft_cl_check(code, launch->what, "clGetEventInfo"));
        if (cl != launch->ctx->cl)
            return fail(WEFT_BAD_ARGUMENT, "%s: event %u of the wait list is of another context",
                        launch->what, i);
    }
    return WEFT_OK;
}

static weft_status recorded_check(const weft_launch *launch)
{
    if (launch->n_wait == 0 && !launch->wants_event)
        return WEFT_OK;
    return fail(WEFT_BAD_ARGUMENT,
                "%s: a recorded call has no events: weft_recording_run() waits for them, and gives "
                "one",
                launch->what);
}

weft_status weft_launch_begin(weft_launch *launch, weft_context *ctx, cl_command_queue queue,
                              const char *what, cl_uint n_wait, const cl_event *wait,
                              bool wants_event)
{
    *launch = (weft_launch){
        .ctx = ctx,
        .queue = queue,
        .what = what,
        .n_wait = n_wait,
        .wait = wait,
        .wants_event = wants_event,
    };
    TRY(weft_context_check(ctx, what));
    if (ctx->notes)
        return WEFT_OK;
    launch->recorder = weft_recorder_of(ctx);
    if (launch->recorder) {
        launch->n_recorded = launch->recorder->n_launches;
        return recorded_check(launch);
    }
    if (!queue)
        return fail(WEFT_BAD_ARGUMENT, "%s: the queue is NULL", what);
    TRY(queue_check(launch));
    TRY(wait_check(launch));

    cl_command_queue_properties properties = 0;
    TRY(weft_cl_check(
        clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL),
        what, "clGetCommandQueueInfo"));
    launch->out_of_order = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    return WEFT_OK;
}

static weft_status argument_refused(cl_int code, const weft_launch *launch, cl_uint i, size_t size)
{
    char call[80];
    snprintf(call, sizeof(call), "clSetKernelArg (argument %u, %zu bytes)", i, size);
    return weft_cl_check(code, launch->what, call);
}

// Compares an argument with the one at `at` of the kernel's record of what is set, and puts it
// there. Buffers are not recorded: a handle may be another buffer than it was.
static bool is_set(weft_kernel *kernel, bool *is_recorded, size_t at, const weft_argument *argument,
                   size_t value_bytes)
{
    unsigned char *size = kernel->set + at, *value = size + sizeof(argument->size);
    *is_recorded = *is_recorded && memcmp(size, &argument->size, sizeof(argument->size)) == 0;
    if (*is_recorded && !argument->is_buffer &&
        (value_bytes == 0 || memcmp(value, argument->value, value_bytes) == 0))
        return true;
    memcpy(size, &argument->size, sizeof(argument->size));
    if (value_bytes > 0)
        memcpy(value, argument->value, value_bytes);
    return false;
}

// Sets the arguments that are not set so already.
static weft_status arguments_set(const weft_launch *launch, weft_kernel *kernel, size_t n,
                                 const weft_argument *arguments)
{
    bool is_recorded = kernel->n_set == n; // as far as sizes are the same
    size_t at = 0;
    kernel->n_set = 0;
    for (cl_uint i = 0; i < n; i++) {
        const weft_argument *a = &arguments[i];
        const size_t value_bytes = a->value && !a->is_buffer ? a->size : 0;
        const size_t next = at + sizeof(a->size) + value_bytes;
        const bool fits = next <= sizeof(kernel->set);
        if (!fits || !is_set(kernel, &is_recorded, at, a, value_bytes)) {
            const cl_int code = clSetKernelArg(kernel->cl, i, a->size, a->value);
            if (code != CL_SUCCESS)
                return argument_refused(code, launch, i, a->size);
        }
        at = next;
    }
    kernel->n_set = at <= sizeof(kernel->set) ? n : 0;
    return WEFT_OK;
}

weft_status weft_launch_enqueue(weft_launch *launch, cl_kernel kernel, const size_t *offset,
                                const size_t global[3], const size_t local[3])
{
    const bool is_later = launch->last != NULL && launch->out_of_order;
    const cl_uint n_wait = is_later ? 1 : launch->n_wait;
    const cl_event *wait = is_later ? &launch->last : launch->wait;
    cl_event event = NULL;
    const bool wants_event = launch->wants_event || launch->out_of_order;
    TRY(weft_cl_check(clEnqueueNDRangeKernel(launch->queue, kernel, 3, offset, global, local,
                                             n_wait, n_wait ? wait : NULL,
                                             wants_event ? &event : NULL),
                      launch->what, "clEnqueueNDRangeKernel"));
    atomic_fetch_add(&launch->ctx->launches, 1);
    if (launch->last)
        clReleaseEvent(launch->last);
    launch->last = event;
    launch->n_wait = 0;
    launch->wait = NULL;
    return WEFT_OK;
}

// Along one dimension: n stretches of the same size, except the last.
typedef struct {
    int64_t n;
    size_t items, last;
} stretches;

static stretches stretches_of(size_t global, size_t local)
{
    const int64_t groups = (int64_t)(global / local);
    const int64_t each = ceil_div(groups, ceil_div(groups, WEFT_MOST_GROUPS));
    const int64_t n = ceil_div(groups, each);
    return (stretches){n, (size_t)each * local, (size_t)(groups - (n - 1) * each) * local};
}

// Stretch i, counted along y and then along z.
static void stretch_at(const stretches *y, const stretches *z, int64_t i, size_t offset[3],
                       size_t part[3])
{
    const int64_t along_y = i % y->n, along_z = i / y->n;
    offset[1] = (size_t)along_y * y->items;
    offset[2] = (size_t)along_z * z->items;
    part[1] = along_y < y->n - 1 ? y->items : y->last;
    part[2] = along_z < z->n - 1 ? z->items : z->last;
}

// All at once: a rehearsal may have any number of matrices.
static weft_status note_stretches(const weft_launch *launch, const weft_kernel *kernel,
                                  size_t n_arguments, const weft_argument *arguments,
                                  const size_t global[3], const size_t local[3])
{
    const stretches y = stretches_of(global[1], local[1]), z = stretches_of(global[2], local[2]);
    const size_t parts[4][3] = {{global[0], y.items, z.items},
                                {global[0], y.last, z.items},
                                {global[0], y.items, z.last},
                                {global[0], y.last, z.last}};
    const int64_t times[4] = {(y.n - 1) * (z.n - 1), z.n - 1, y.n - 1, 1};
    for (int i = 0; i < 4; i++)
        if (times[i] > 0)
            TRY(weft_notes_launch(launch->ctx->notes, launch->ctx, kernel, n_arguments, arguments,
                                  parts[i], local, times[i]));
    return WEFT_OK;
}

weft_status weft_launch_kernel(weft_launch *launch, weft_kernel *kernel, size_t n_arguments,
                               const weft_argument *arguments, const size_t global[3],
                               const size_t local[3])
{
    for (int i = 0; i < 3; i++)
        assert(local[i] > 0 && global[i] > 0 && global[i] % local[i] == 0);

    if (launch->ctx->notes)
        return note_stretches(launch, kernel, n_arguments, arguments, global, local);
    const stretches y = stretches_of(global[1], local[1]), z = stretches_of(global[2], local[2]);
    size_t offset[3] = {0, 0, 0}, part[3] = {global[0], 0, 0};
    weft_recorder *recorder = launch->recorder;
    cl_kernel recorded = NULL;
    weft_lock_take(&kernel->lock);
    weft_status status = recorder ? weft_recorder_kernel(recorder, launch->what, kernel,
                                                         n_arguments, arguments, &recorded)
                                  : arguments_set(launch, kernel, n_arguments, arguments);
    // Usually there is one. Others have an offset, for which PoCL compiles a kernel again.
    for (int64_t i = 0; status == WEFT_OK && i < y.n * z.n; i++) {
        stretch_at(&y, &z, i, offset, part);
        const size_t *from = i > 0 ? offset : NULL;
        status = recorder ? weft_recorder_add(recorder, launch->what, recorded, from, part, local)
                          : weft_launch_enqueue(launch, kernel->cl, from, part, local);
    }
    weft_lock_release(&kernel->lock);
    if (recorded)
        clReleaseKernel(recorded);
    return status;
}

weft_status weft_launch_end(weft_launch *launch, weft_status status, cl_event *event)
{
    cl_event last = launch->last;
    launch->last = NULL;
    if (launch->recorder) {
        if (status != WEFT_OK)
            weft_recorder_cut(launch->recorder, launch->n_recorded);
        return status;
    }
    if (last && (status != WEFT_OK || !event))
        clReleaseEvent(last);
    if (status != WEFT_OK)
        return status;
    if (event)
        *event = last;
    const bool is_over = event ? last != NULL : launch->n_wait == 0;
    if (is_over || launch->ctx->notes)
        return WEFT_OK;
    return weft_cl_check(
        clEnqueueMarkerWithWaitList(launch->queue, launch->n_wait, launch->wait, event),
        launch->what, "clEnqueueMarkerWithWaitList");
}
