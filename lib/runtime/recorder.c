// SPDX-License-Identifier: Apache-2.0
// Launches that are recorded instead of enqueued.
#include "runtime/recorder.h"

#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/os.h"
#include "base/room.h"
#include "runtime/context.h"
#include "runtime/kernel.h"
#include "runtime/workspace.h"

// Of the lists of all contexts: held for moments.
static weft_lock lock = WEFT_LOCK_INITIAL;

// A system's number of a thread may be that of a thread that has ended.
static uint64_t this_thread(void)
{
    static atomic_ullong last;
    static _Thread_local uint64_t number;
    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

// This thread's, or NULL.
static weft_recorder *of_thread(const weft_context *ctx)
{
    weft_recorder *r = ctx->recorders;
    while (r && r->thread != this_thread())
        r = r->next;
    return r;
}

weft_status weft_recorder_begin(weft_recorder *recorder, weft_context *ctx)
{
    recorder->ctx = ctx;
    recorder->thread = this_thread();
    weft_lock_take(&lock);
    const bool is_first = !of_thread(ctx);
    if (is_first) {
        recorder->next = ctx->recorders;
        ctx->recorders = recorder;
        atomic_fetch_add(&ctx->n_recorders, 1);
    }
    weft_lock_release(&lock);
    return is_first ? WEFT_OK
                    : fail(WEFT_BAD_ARGUMENT, "recording: this thread's other recording of the "
                                              "context has not ended");
}

// False if it is in no list.
static bool unlink_from(weft_context *ctx, weft_recorder *recorder)
{
    weft_lock_take(&lock);
    weft_recorder **link = &ctx->recorders;
    while (*link && *link != recorder)
        link = &(*link)->next;
    const bool is_found = *link != NULL;
    if (is_found) {
        *link = recorder->next;
        atomic_fetch_sub(&ctx->n_recorders, 1);
    }
    weft_lock_release(&lock);
    return is_found;
}

size_t weft_recorder_position(const weft_recorder *recorder, cl_mem buffer)
{
    size_t i = 0;
    while (i < recorder->n_buffers && recorder->buffers[i].buffer != buffer)
        i++;
    return i;
}

void weft_recorder_end(weft_recorder *recorder)
{
    if (!unlink_from(recorder->ctx, recorder))
        return;
    for (size_t i = 0; i < recorder->n_arguments; i++)
        recorder->arguments[i].position =
            weft_recorder_position(recorder, recorder->arguments[i].buffer);
    size_t n_held = 0; // without the buffers that have a position
    for (size_t i = 0; i < recorder->n_held; i++)
        if (weft_recorder_position(recorder, recorder->held[i]) == recorder->n_buffers)
            recorder->held[n_held++] = recorder->held[i];
        else
            clReleaseMemObject(recorder->held[i]);
    recorder->n_held = n_held;
}

weft_recorder *weft_recorder_of(const weft_context *ctx)
{
    if (atomic_load_explicit(&ctx->n_recorders, memory_order_relaxed) == 0)
        return NULL;
    weft_lock_take(&lock);
    weft_recorder *recorder = of_thread(ctx);
    weft_lock_release(&lock);
    return recorder;
}

weft_status weft_recorder_copy_check(const weft_context *ctx, const char *what)
{
    if (weft_recorder_of(ctx))
        return fail(WEFT_UNSUPPORTED,
                    "%s: copies between host and device, which a recording cannot do: call it "
                    "before or after",
                    what);
    return WEFT_OK;
}

// ---- launches

static weft_status no_memory(const char *what)
{
    return fail(WEFT_NO_MEMORY, "%s: no memory to record a launch", what);
}

// Retains a buffer until all is cleared.
static weft_status hold(weft_recorder *r, const char *what, cl_mem buffer)
{
    for (size_t i = 0; i < r->n_held; i++)
        if (r->held[i] == buffer)
            return WEFT_OK;
    if (!ROOM_FOR_ONE(&r->held, &r->held_room, r->n_held))
        return no_memory(what);
    TRY(weft_cl_check(clRetainMemObject(buffer), what, "clRetainMemObject"));
    r->held[r->n_held++] = buffer;
    return WEFT_OK;
}

static weft_status note_buffer(weft_recorder *r, const char *what, cl_kernel kernel, cl_uint index,
                               cl_mem buffer)
{
    TRY(hold(r, what, buffer));
    if (!ROOM_FOR_ONE(&r->arguments, &r->argument_room, r->n_arguments))
        return no_memory(what);
    r->arguments[r->n_arguments++] =
        (weft_recorded_argument){.kernel = kernel, .index = index, .buffer = buffer};
    return WEFT_OK;
}

static weft_status set_arguments(weft_recorder *r, const char *what, cl_kernel kernel, size_t n,
                                 const weft_argument *arguments)
{
    for (cl_uint i = 0; i < n; i++) {
        const weft_argument *a = &arguments[i];
        TRY(weft_cl_check(clSetKernelArg(kernel, i, a->size, a->value), what, "clSetKernelArg"));
        cl_mem buffer = NULL;
        if (a->is_buffer)
            memcpy(&buffer, a->value, sizeof(buffer));
        if (buffer)
            TRY(note_buffer(r, what, kernel, i, buffer));
    }
    return WEFT_OK;
}

weft_status weft_recorder_kernel(weft_recorder *recorder, const char *what,
                                 const weft_kernel *kernel, size_t n_arguments,
                                 const weft_argument *arguments, cl_kernel *out)
{
    cl_program program = NULL;
    cl_int code = clGetKernelInfo(kernel->cl, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
    TRY(weft_cl_check(code, what, "clGetKernelInfo"));
    *out = clCreateKernel(program, kernel->name, &code);
    TRY(weft_cl_check(code, what, "clCreateKernel"));
    const size_t n_before = recorder->n_arguments;
    const weft_status status = set_arguments(recorder, what, *out, n_arguments, arguments);
    if (status != WEFT_OK) {
        recorder->n_arguments = n_before;
        clReleaseKernel(*out);
        *out = NULL;
    }
    return status;
}

weft_status weft_recorder_add(weft_recorder *recorder, const char *what, cl_kernel kernel,
                              const size_t *offset, const size_t global[3], const size_t local[3])
{
    weft_recorded_launch launch = {.kernel = kernel, .has_offset = offset != NULL};
    for (int i = 0; i < 3; i++) {
        launch.offset[i] = offset ? offset[i] : 0;
        launch.global[i] = global[i];
        launch.local[i] = local[i];
    }
    if (!ROOM_FOR_ONE(&recorder->launches, &recorder->launch_room, recorder->n_launches))
        return no_memory(what);
    TRY(weft_cl_check(clRetainKernel(kernel), what, "clRetainKernel"));
    recorder->launches[recorder->n_launches++] = launch;
    return WEFT_OK;
}

static bool is_launched(const weft_recorder *r, cl_kernel kernel)
{
    for (size_t i = r->n_launches; i-- > 0;)
        if (r->launches[i].kernel == kernel)
            return true;
    return false;
}

void weft_recorder_cut(weft_recorder *recorder, size_t n)
{
    const size_t before = recorder->n_launches;
    recorder->n_launches = n;
    while (recorder->n_arguments > 0 &&
           !is_launched(recorder, recorder->arguments[recorder->n_arguments - 1].kernel))
        recorder->n_arguments--;
    for (size_t i = before; i-- > n;) // PoCL finds the kernel that was made last at once
        clReleaseKernel(recorder->launches[i].kernel);
}

// ---- buffers

weft_status weft_recorder_use(weft_recorder *recorder, const char *what,
                              const weft_recorded_buffer *use)
{
    const size_t i = weft_recorder_position(recorder, use->buffer);
    if (i == recorder->n_buffers) {
        if (!ROOM_FOR_ONE(&recorder->buffers, &recorder->buffer_room, i))
            return no_memory(what);
        TRY(weft_cl_check(clRetainMemObject(use->buffer), what, "clRetainMemObject"));
        recorder->buffers[recorder->n_buffers++] = *use;
        return WEFT_OK;
    }
    weft_recorded_buffer *known = &recorder->buffers[i];
    known->first = min_i64(known->first, use->first);
    known->last = max_i64(known->last, use->last);
    known->is_read |= use->is_read;
    known->is_written |= use->is_written;
    return WEFT_OK;
}

// ---- scratch memory

// Each is at least twice as large as the one before, which earlier calls keep: all together are
// less than twice the largest.
weft_status weft_recorder_scratch(weft_recorder *recorder, const char *what, size_t bytes,
                                  cl_mem *out)
{
    weft_context *ctx = recorder->ctx;
    *out = recorder->scratch;
    if (bytes <= recorder->scratch_bytes)
        return WEFT_OK;
    const uint64_t twice = 2 * recorder->scratch_bytes, most = weft_workspace_most(ctx);
    const uint64_t size = bytes > twice || twice > most ? bytes : twice;
    cl_int code = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(ctx->cl, CL_MEM_READ_WRITE, (size_t)size, NULL, &code);
    TRY(weft_cl_buffer_check(code, what, (size_t)size));
    const weft_status status = hold(recorder, what, buffer);
    clReleaseMemObject(buffer);
    TRY(status);
    recorder->scratch = *out = buffer;
    recorder->scratch_bytes = size;
    recorder->scratch_bytes_of_all += size;
    return WEFT_OK;
}

void weft_recorder_clear(weft_recorder *recorder)
{
    weft_recorder_cut(recorder, 0);
    for (size_t i = 0; i < recorder->n_held; i++)
        clReleaseMemObject(recorder->held[i]);
    for (size_t i = 0; i < recorder->n_buffers; i++) {
        clReleaseMemObject(recorder->buffers[i].buffer);
        free(recorder->buffers[i].name);
    }
    free(recorder->buffers);
    free(recorder->launches);
    free(recorder->arguments);
    free(recorder->held);
    *recorder = (weft_recorder){0};
}
