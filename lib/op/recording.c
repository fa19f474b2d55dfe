// SPDX-License-Identifier: Apache-2.0
// Recordings: recorded launches, enqueued again, with the same or other buffers.
#include <weft/recording.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/params.h"
#include "base/process.h"
#include "operand/view.h"
#include "runtime/command_buffer.h"
#include "runtime/context.h"
#include "runtime/launch.h"

struct weft_recording {
    weft_lock lock; // of all below
    weft_recorder recorder;
    bool has_ended;

    // The last run: its queue and its event, retained; NULL: none, or one without kernels.
    cl_command_queue queue;
    cl_event last;

    // Made by the second run with the same buffers, on its queue, which is retained; NULL: none, or
    // not possible.
    weft_command_buffer *commands;
    cl_command_queue commands_queue;
    bool has_run, has_tried_commands; // with these buffers
};

static const char what[] = "recording";

// ---- begin and end

weft_status weft_recording_begin(weft_recording **out, weft_context *ctx)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "%s: out is NULL", what);
    *out = NULL;
    TRY(weft_context_check(ctx, what));
    if (ctx->notes)
        return fail(WEFT_UNSUPPORTED, "%s: the context rehearses, and enqueues nothing", what);
    weft_recording *recording = calloc(1, sizeof(*recording));
    if (!recording)
        return fail(WEFT_NO_MEMORY, "%s: no memory for %zu bytes", what, sizeof(*recording));
    weft_lock_create(&recording->lock);
    const weft_status status = weft_recorder_begin(&recording->recorder, ctx);
    if (status == WEFT_OK) {
        *out = recording;
        return WEFT_OK;
    }
    weft_lock_destroy(&recording->lock);
    free(recording);
    return status;
}

static weft_status there_check(const weft_recording *recording)
{
    return recording ? WEFT_OK : fail(WEFT_BAD_ARGUMENT, "%s: it is NULL", what);
}

weft_status weft_recording_end(weft_recording *recording)
{
    TRY(there_check(recording));
    weft_lock_take(&recording->lock);
    const bool had_ended = recording->has_ended;
    recording->has_ended = true;
    weft_recorder_end(&recording->recorder);
    weft_lock_release(&recording->lock);
    return had_ended ? fail(WEFT_BAD_ARGUMENT, "%s: it has ended before", what) : WEFT_OK;
}

static weft_status ended_check(const weft_recording *recording)
{
    return recording->has_ended ? WEFT_OK : fail(WEFT_BAD_ARGUMENT, "%s: it has not ended", what);
}

static void last_forget(weft_recording *r)
{
    if (r->last)
        clReleaseEvent(r->last);
    if (r->queue)
        clReleaseCommandQueue(r->queue);
    r->last = NULL;
    r->queue = NULL;
}

static void commands_forget(weft_recording *r)
{
    weft_command_buffer_destroy(r->commands);
    if (r->commands_queue)
        clReleaseCommandQueue(r->commands_queue);
    r->commands = NULL;
    r->commands_queue = NULL;
    r->has_run = r->has_tried_commands = false;
}

void weft_recording_destroy(weft_recording **address)
{
    if (!address || !*address)
        return;
    weft_recording *recording = *address;
    *address = NULL;
    if (weft_process_is_forked())
        return;
    weft_recorder_end(&recording->recorder);
    commands_forget(recording);
    last_forget(recording);
    weft_recorder_clear(&recording->recorder);
    weft_lock_destroy(&recording->lock);
    free(recording);
}

// ---- names and positions

enum { BUFFER_TEXT = 64 };

// "buffer 2 (input)"
static const char *buffer_text(char text[BUFFER_TEXT], const weft_recorder *r, size_t i)
{
    const char *name = r->buffers[i].name;
    snprintf(text, BUFFER_TEXT, name ? "%s: buffer %zu (%.24s)" : "%s: buffer %zu", what, i, name);
    return text;
}

static size_t find_name(const weft_recorder *r, const char *name)
{
    size_t i = 0;
    while (i < r->n_buffers && !(r->buffers[i].name && strcmp(r->buffers[i].name, name) == 0))
        i++;
    return i;
}

static weft_status name_give(weft_recorder *r, cl_mem buffer, const char *name)
{
    const size_t i = weft_recorder_position(r, buffer), other = find_name(r, name);
    if (i == r->n_buffers)
        return fail(WEFT_BAD_ARGUMENT, "%s: no recorded call uses the buffer to be named \"%s\"",
                    what, name);
    if (other != r->n_buffers && other != i)
        return fail(WEFT_BAD_ARGUMENT, "%s: buffer %zu has the name \"%s\", buffer %zu cannot",
                    what, other, name, i);
    const size_t size = strlen(name) + 1;
    char *copy = malloc(size);
    if (!copy)
        return fail(WEFT_NO_MEMORY, "%s: no memory for a name of %zu bytes", what, size);
    memcpy(copy, name, size);
    free(r->buffers[i].name);
    r->buffers[i].name = copy;
    return WEFT_OK;
}

weft_status weft_recording_name(weft_recording *recording, cl_mem buffer, const char *name)
{
    TRY(there_check(recording));
    if (!name || name[0] == '\0')
        return fail(WEFT_BAD_ARGUMENT, "%s: the name is %s", what, name ? "empty" : "NULL");
    weft_lock_take(&recording->lock);
    const weft_status status = name_give(&recording->recorder, buffer, name);
    weft_lock_release(&recording->lock);
    return status;
}

static size_t position_of(const weft_recorder *r, int position)
{
    return position < 0 || (size_t)position >= r->n_buffers ? r->n_buffers : (size_t)position;
}

cl_mem weft_recording_buffer(weft_recording *recording, int position)
{
    if (!recording)
        return NULL;
    weft_lock_take(&recording->lock);
    const weft_recorder *r = &recording->recorder;
    const size_t i = position_of(r, position);
    const cl_mem buffer = i < r->n_buffers ? r->buffers[i].buffer : NULL;
    weft_lock_release(&recording->lock);
    return buffer;
}

const char *weft_recording_buffer_name(weft_recording *recording, int position)
{
    if (!recording)
        return NULL;
    weft_lock_take(&recording->lock);
    const weft_recorder *r = &recording->recorder;
    const size_t i = position_of(r, position);
    const char *name = i == r->n_buffers ? NULL : r->buffers[i].name ? r->buffers[i].name : "";
    weft_lock_release(&recording->lock);
    return name;
}

weft_recording_info weft_recording_get_info(weft_recording *recording)
{
    if (!recording)
        return (weft_recording_info){0};
    weft_lock_take(&recording->lock);
    const weft_recording_info info = {
        .n_launches = (int)recording->recorder.n_launches,
        .n_buffers = (int)recording->recorder.n_buffers,
        .scratch_bytes = recording->recorder.scratch_bytes_of_all,
        .has_command_buffer = recording->commands != NULL,
    };
    weft_lock_release(&recording->lock);
    return info;
}

// ---- exchange

// A buffer before and after.
typedef struct change {
    size_t position;
    cl_mem from, to;
} change;

// Bytes in the memory that owns a buffer.
typedef struct place {
    cl_mem owner;
    int64_t first, last;
} place;

// Of one buffer, before and after the exchange.
typedef struct places {
    place before, after;
} places;

static weft_status place_of(place *out, const weft_recorded_buffer *b, cl_mem buffer)
{
    weft_buffer_facts facts;
    TRY(weft_buffer_facts_of(&facts, buffer));
    *out = (place){facts.parent ? facts.parent : buffer, (int64_t)facts.origin + b->first,
                   (int64_t)facts.origin + b->last};
    return WEFT_OK;
}

static bool overlap(const place *a, const place *b)
{
    return a->owner == b->owner && a->first < b->last && b->first < a->last;
}

static weft_status shift_check(cl_mem buffer, const char *name, const char *which)
{
    int64_t shift = 0;
    TRY(weft_buffer_shift(&shift, buffer, WEFT_I64, name, ""));
    if (shift)
        return fail(WEFT_BAD_BUFFER,
                    "%s: the %s one is in the host's memory, and begins at no multiple of 128 "
                    "bytes",
                    name, which);
    return WEFT_OK;
}

// Context, size and access.
static weft_status buffer_check(const weft_recorder *r, const change *c)
{
    char text[BUFFER_TEXT];
    const char *name = buffer_text(text, r, c->position);
    const weft_recorded_buffer *b = &r->buffers[c->position];
    const weft_tensor view = {.buffer = c->to,
                              .dtype = WEFT_U8,
                              .offset = b->first,
                              .ndim = 1,
                              .shape = {b->last - b->first},
                              .stride = {1}};
    if (b->is_read)
        TRY(weft_tensor_check(r->ctx, &view, name));
    if (b->is_written)
        TRY(weft_output_check(r->ctx, &view, name));
    TRY(shift_check(c->to, name, "new"));
    return c->from == c->to ? WEFT_OK : shift_check(c->from, name, "old");
}

// Buffers i and j share no byte that is written, or only as they do before.
static weft_status pair_check(const weft_recorder *r, size_t i, size_t j, const places *all)
{
    const bool writes_i = r->buffers[i].is_written, writes_j = r->buffers[j].is_written;
    const places *a = &all[i], *b = &all[j];
    if (i == j || !(writes_i || writes_j) || !overlap(&a->after, &b->after))
        return WEFT_OK;
    if (overlap(&a->before, &b->before) &&
        a->after.first - b->after.first == a->before.first - b->before.first)
        return WEFT_OK;
    char text[BUFFER_TEXT], other[BUFFER_TEXT];
    return fail(WEFT_BAD_BUFFER,
                "%s (bytes %" PRId64 " to %" PRId64 ") would overlap %s (bytes %" PRId64
                " to %" PRId64 ") in one buffer, and calls write %s",
                buffer_text(text, r, i), a->after.first, a->after.last - 1,
                buffer_text(other, r, j) + sizeof(what) + 1, b->after.first, b->after.last - 1,
                writes_i && writes_j ? "both"
                : writes_i           ? "the first"
                                     : "the other");
}

static weft_status change_of(change *out, const weft_recorder *r, const weft_exchange *exchange)
{
    const size_t i =
        exchange->name ? find_name(r, exchange->name) : position_of(r, exchange->position);
    if (i == r->n_buffers && exchange->name)
        return fail(WEFT_BAD_ARGUMENT, "%s: no buffer has the name \"%s\"", what, exchange->name);
    if (i == r->n_buffers)
        return fail(WEFT_BAD_ARGUMENT, "%s: no buffer has position %d: there are %zu", what,
                    exchange->position, r->n_buffers);
    *out = (change){i, r->buffers[i].buffer, exchange->buffer};
    return WEFT_OK;
}

static weft_status buffers_check(const weft_recorder *r, const change *changes, size_t n)
{
    char text[BUFFER_TEXT];
    for (size_t k = 0; k < n; k++) {
        for (size_t earlier = 0; earlier < k; earlier++)
            if (changes[earlier].position == changes[k].position)
                return fail(WEFT_BAD_ARGUMENT, "%s is exchanged twice",
                            buffer_text(text, r, changes[k].position));
        TRY(buffer_check(r, &changes[k]));
    }
    return WEFT_OK;
}

static weft_status overlaps_check(const weft_recorder *r, const change *changes, size_t n,
                                  places *all)
{
    for (size_t i = 0; i < r->n_buffers; i++) {
        TRY(place_of(&all[i].before, &r->buffers[i], r->buffers[i].buffer));
        all[i].after = all[i].before;
    }
    for (size_t k = 0; k < n; k++)
        TRY(place_of(&all[changes[k].position].after, &r->buffers[changes[k].position],
                     changes[k].to));
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < r->n_buffers; j++)
            TRY(pair_check(r, changes[k].position, j, all));
    return WEFT_OK;
}

static weft_status changes_check(const weft_recorder *r, const change *changes, size_t n)
{
    TRY(buffers_check(r, changes, n));
    places *all = malloc(r->n_buffers * sizeof(*all));
    if (!all)
        return fail(WEFT_NO_MEMORY, "%s: no memory for the places of %zu buffers", what,
                    r->n_buffers);
    const weft_status status = overlaps_check(r, changes, n, all);
    free(all);
    return status;
}

// Sets the arguments at a position, up to a failure.
static weft_status arguments_set(const weft_recorder *r, size_t position, cl_mem to)
{
    for (size_t i = 0; i < r->n_arguments; i++) {
        const weft_recorded_argument *a = &r->arguments[i];
        if (a->position == position)
            TRY(weft_cl_check(clSetKernelArg(a->kernel, a->index, sizeof(to), &to), what,
                              "clSetKernelArg"));
    }
    return WEFT_OK;
}

// After a failure all arguments are as before.
static weft_status changes_set(const weft_recorder *r, const change *changes, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const weft_status status = arguments_set(r, changes[k].position, changes[k].to);
        if (status == WEFT_OK)
            continue;
        for (size_t done = 0; done <= k; done++)
            (void)arguments_set(r, changes[done].position, changes[done].from);
        return status;
    }
    return WEFT_OK;
}

// Retains the new buffers, and then releases the old ones.
static weft_status retain(const change *changes, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const weft_status status =
            weft_cl_check(clRetainMemObject(changes[k].to), what, "clRetainMemObject");
        if (status == WEFT_OK)
            continue;
        while (k-- > 0)
            clReleaseMemObject(changes[k].to);
        return status;
    }
    return WEFT_OK;
}

static void release(const change *changes, size_t n, bool is_old)
{
    for (size_t k = 0; k < n; k++)
        clReleaseMemObject(is_old ? changes[k].from : changes[k].to);
}

static bool is_change(const change *changes, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (changes[k].from != changes[k].to)
            return true;
    return false;
}

// A command buffer has the arguments of its making: later runs make another one.
static weft_status exchange(weft_recording *recording, const weft_exchange *exchanges, size_t n,
                            change *changes)
{
    weft_recorder *r = &recording->recorder;
    TRY(ended_check(recording));
    for (size_t k = 0; k < n; k++)
        TRY(change_of(&changes[k], r, &exchanges[k]));
    if (n > 0)
        TRY(changes_check(r, changes, n));
    if (!is_change(changes, n))
        return WEFT_OK;
    TRY(retain(changes, n));
    const weft_status status = changes_set(r, changes, n);
    for (size_t k = 0; status == WEFT_OK && k < n; k++)
        r->buffers[changes[k].position].buffer = changes[k].to;
    release(changes, n, status == WEFT_OK);
    if (status == WEFT_OK)
        commands_forget(recording);
    return status;
}

weft_status weft_recording_exchange(weft_recording *recording, int n,
                                    const weft_exchange *exchanges)
{
    TRY(there_check(recording));
    if (n < 0 || (n > 0 && !exchanges))
        return fail(WEFT_BAD_ARGUMENT, "%s: %d exchanges, and the list is %s", what, n,
                    exchanges ? "there" : "NULL");
    TRY(weft_context_check(recording->recorder.ctx, what));
    change *changes = calloc((size_t)n + 1, sizeof(*changes));
    if (!changes)
        return fail(WEFT_NO_MEMORY, "%s: no memory for %d exchanges", what, n);
    weft_lock_take(&recording->lock);
    const weft_status status = exchange(recording, exchanges, (size_t)n, changes);
    weft_lock_release(&recording->lock);
    free(changes);
    return status;
}

// ---- run

static bool is_over(cl_event event)
{
    cl_int state = CL_QUEUED;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL) ==
               CL_SUCCESS &&
           state <= CL_COMPLETE;
}

// The event of the last run, if the new one could overtake it. One that has failed is over: some
// implementations never end a wait for it.
static weft_status event_of_last(weft_recording *r, const weft_launch *launch, cl_event *out)
{
    *out = NULL;
    const bool is_in_order = r->queue == launch->queue && !launch->out_of_order;
    if (!r->last || is_in_order || is_over(r->last))
        return WEFT_OK;
    TRY(weft_cl_check(clRetainEvent(r->last), what, "clRetainEvent"));
    *out = r->last;
    return r->queue != launch->queue ? weft_cl_check(clFlush(r->queue), what, "clFlush") : WEFT_OK;
}

// Makes the launch wait for events[0], and for its own wait list. Both are in `events` then.
static weft_status wait_for(weft_launch *launch, cl_event events[2])
{
    if (launch->n_wait > 0)
        TRY(weft_cl_check(
            clEnqueueMarkerWithWaitList(launch->queue, launch->n_wait, launch->wait, &events[1]),
            what, "clEnqueueMarkerWithWaitList"));
    launch->n_wait = events[1] ? 2 : 1;
    launch->wait = events;
    return WEFT_OK;
}

// To make a command buffer costs more than a run: it is for buffers that are used again.
static bool has_commands(weft_recording *r, const weft_launch *launch)
{
    if (r->has_run && !r->has_tried_commands && !launch->out_of_order &&
        r->recorder.n_launches > 0 && clRetainCommandQueue(launch->queue) == CL_SUCCESS) {
        r->has_tried_commands = true;
        r->commands_queue = launch->queue;
        r->commands = weft_command_buffer_create(&r->recorder, launch->queue);
    }
    return r->commands && r->commands_queue == launch->queue;
}

static weft_status enqueue_all(weft_recording *r, weft_launch *launch)
{
    const size_t n = r->recorder.n_launches;
    for (size_t i = 0; i < n; i++) {
        const weft_recorded_launch *l = &r->recorder.launches[i];
        launch->wants_event = i == n - 1;
        TRY(weft_launch_enqueue(launch, l->kernel, l->has_offset ? l->offset : NULL, l->global,
                                l->local));
    }
    return WEFT_OK;
}

static weft_status enqueue_commands(weft_recording *r, weft_launch *launch)
{
    TRY(weft_command_buffer_enqueue(r->commands, what, launch->n_wait, launch->wait,
                                    &launch->last));
    atomic_fetch_add(&launch->ctx->launches, r->recorder.n_launches);
    launch->n_wait = 0;
    launch->wait = NULL;
    return WEFT_OK;
}

// After a failure, too, some kernels may run. An event that cannot be retained is waited for.
static void note_last(weft_recording *r, const weft_launch *launch)
{
    if (launch->last && clRetainEvent(launch->last) == CL_SUCCESS)
        r->last = launch->last;
    else if (launch->last)
        clWaitForEvents(1, &launch->last);
}

static weft_status run(weft_recording *r, weft_launch *launch, cl_event events[2])
{
    TRY(event_of_last(r, launch, &events[0]));
    if (events[0])
        TRY(wait_for(launch, events));
    TRY(weft_cl_check(clRetainCommandQueue(launch->queue), what, "clRetainCommandQueue"));
    last_forget(r);
    r->queue = launch->queue;
    const weft_status status =
        has_commands(r, launch) ? enqueue_commands(r, launch) : enqueue_all(r, launch);
    note_last(r, launch);
    r->has_run = true;
    return status;
}

weft_status weft_recording_run(weft_recording *recording, cl_command_queue queue,
                               const weft_recording_params *params)
{
    weft_recording_params own;
    weft_launch launch;
    TRY(PARAMS_READ(&own, params, what, "WEFT_RECORDING"));
    TRY(there_check(recording));
    weft_context *ctx = recording->recorder.ctx;
    TRY(weft_context_check(ctx, what));
    if (weft_recorder_of(ctx))
        return fail(WEFT_UNSUPPORTED, "%s: this thread records, and a run cannot be recorded",
                    what);
    TRY(weft_launch_begin(&launch, ctx, queue, what, own.n_wait, own.wait, own.event != NULL));
    cl_event events[2] = {NULL, NULL};
    weft_lock_take(&recording->lock);
    weft_status status = ended_check(recording);
    if (status == WEFT_OK)
        status = run(recording, &launch, events);
    weft_lock_release(&recording->lock);
    status = weft_launch_end(&launch, status, own.event);
    for (int i = 0; i < 2; i++)
        if (events[i])
            clReleaseEvent(events[i]);
    return status;
}
