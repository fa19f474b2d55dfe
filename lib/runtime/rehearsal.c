// SPDX-License-Identifier: Apache-2.0
// Rehearsals: contexts whose calls are written down, and buffers that stand in for real ones.
#include <weft/rehearsal.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/refuse.h"
#include "runtime/context.h"
#include "runtime/kernel.h"
#include "runtime/notes.h"
#include "runtime/workspace.h"

struct weft_notes {
    weft_rehearsal told;
    weft_refusal *refusals;
    weft_rehearsed_launch *launches;
    size_t refusal_room, launch_room;
    bool is_begun;
    bool is_short; // of memory: something is missing
    int n_buffers;
    const void *data[1 + WEFT_REHEARSAL_BUFFERS];
};

// Handles are addresses in here, and nothing else. The first one is all memory of the library's.
static char stand_ins[1 + WEFT_REHEARSAL_BUFFERS];

// ---- what is written down

// Room for one more in an array of n; false, and noted, without memory.
static bool make_room(weft_notes *notes, void **array, size_t *room, size_t n, size_t size)
{
    if (n < *room)
        return true;
    const size_t more = 2 * *room + 16;
    void *moved = realloc(*array, more * size);
    notes->is_short = notes->is_short || !moved;
    if (!moved)
        return false;
    *array = moved;
    *room = more;
    return true;
}

static bool is_known(const weft_notes *notes, const weft_refusal *refusal)
{
    for (size_t i = 0; i < notes->told.n_refusals; ++i)
        if (strcmp(notes->refusals[i].variant, refusal->variant) == 0 &&
            strcmp(notes->refusals[i].reason, refusal->reason) == 0)
            return true;
    return false;
}

// A plan that is asked twice says the same twice.
static void note_refusal(void *user, const char *variant, const char *reason)
{
    weft_notes *notes = user;
    weft_refusal refusal;
    snprintf(refusal.variant, sizeof(refusal.variant), "%s", variant);
    snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
    const size_t n = notes->told.n_refusals;
    void *array = notes->refusals;
    if (is_known(notes, &refusal) ||
        !make_room(notes, &array, &notes->refusal_room, n, sizeof(refusal)))
        return;
    notes->refusals = array;
    notes->refusals[notes->told.n_refusals++] = refusal;
}

static size_t local_bytes_of(size_t n_arguments, const weft_argument *arguments)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n_arguments; ++i)
        bytes += arguments[i].value ? 0 : arguments[i].size;
    return bytes;
}

// 0 where the driver does not say.
static size_t ask_bytes(const weft_context *ctx, cl_kernel kernel, cl_kernel_work_group_info what)
{
    cl_ulong bytes = 0;
    const cl_int code =
        clGetKernelWorkGroupInfo(kernel, ctx->device, what, sizeof(bytes), &bytes, NULL);
    return code == CL_SUCCESS ? (size_t)bytes : 0;
}

static bool is_again(const weft_rehearsed_launch *a, const weft_rehearsed_launch *b)
{
    return a->options == b->options && strcmp(a->kernel, b->kernel) == 0 &&
           memcmp(a->global, b->global, sizeof(a->global)) == 0 &&
           memcmp(a->local, b->local, sizeof(a->local)) == 0 && a->local_bytes == b->local_bytes;
}

weft_status weft_notes_launch(weft_notes *notes, const weft_context *ctx, const weft_kernel *kernel,
                              size_t n_arguments, const weft_argument *arguments,
                              const size_t global[3], const size_t local[3], int64_t times)
{
    if (!notes->is_begun)
        return WEFT_OK;
    weft_rehearsed_launch launch = {
        .source = kernel->source_name,
        .kernel = kernel->name,
        .options = kernel->options,
        .local_bytes = local_bytes_of(n_arguments, arguments),
        .times = times,
    };
    memcpy(launch.global, global, sizeof(launch.global));
    memcpy(launch.local, local, sizeof(launch.local));
    if (kernel->cl) {
        launch.max_items = kernel->max_items;
        launch.kernel_local_bytes = ask_bytes(ctx, kernel->cl, CL_KERNEL_LOCAL_MEM_SIZE);
        launch.kernel_private_bytes = ask_bytes(ctx, kernel->cl, CL_KERNEL_PRIVATE_MEM_SIZE);
    }
    const size_t n = notes->told.n_launches;
    if (n > 0 && is_again(&notes->launches[n - 1], &launch)) {
        notes->launches[n - 1].times += times;
        return WEFT_OK;
    }
    void *array = notes->launches;
    if (!make_room(notes, &array, &notes->launch_room, n, sizeof(launch)))
        return fail(WEFT_NO_MEMORY, "rehearsal: no memory to write down a launch");
    notes->launches = array;
    notes->launches[notes->told.n_launches++] = launch;
    return WEFT_OK;
}

cl_mem weft_notes_scratch(weft_notes *notes, size_t bytes)
{
    if (notes->is_begun && bytes > notes->told.scratch_bytes)
        notes->told.scratch_bytes = bytes;
    return (cl_mem)(void *)&stand_ins[0];
}

// ---- buffers

static size_t place_of(cl_mem buffer)
{
    return (size_t)((uintptr_t)buffer - (uintptr_t)stand_ins);
}

bool weft_is_stand_in(cl_mem buffer)
{
    return place_of(buffer) < sizeof(stand_ins);
}

weft_status weft_buffer_create(cl_mem *out, const weft_context *ctx, cl_mem_flags flags,
                               size_t bytes, const void *array, const char *what)
{
    cl_int code = CL_SUCCESS;
    *out = ctx->notes ? (cl_mem)(void *)&stand_ins[0]
                      : clCreateBuffer(ctx->cl, flags, bytes, (void *)(uintptr_t)array, &code);
    return weft_cl_buffer_check(code, what, bytes);
}

void weft_buffer_release(cl_mem buffer)
{
    if (buffer && !weft_is_stand_in(buffer) && !weft_process_is_forked())
        clReleaseMemObject(buffer);
}

const void *weft_notes_data(const weft_notes *notes, cl_mem buffer)
{
    return notes && weft_is_stand_in(buffer) ? notes->data[place_of(buffer)] : NULL;
}

cl_mem weft_rehearsal_buffer(weft_context *ctx, const void *data)
{
    weft_notes *notes = ctx ? ctx->notes : NULL;
    if (!notes || notes->n_buffers == WEFT_REHEARSAL_BUFFERS)
        return NULL;
    const int place = ++notes->n_buffers;
    notes->data[place] = data;
    return (cl_mem)(void *)&stand_ins[place];
}

// ---- contexts

static void stop_listening(const weft_notes *notes)
{
    if (weft_refuse_listener() == notes)
        weft_refuse_listen(NULL, NULL);
}

void weft_notes_destroy(weft_notes *notes)
{
    if (!notes)
        return;
    stop_listening(notes);
    free(notes->refusals);
    free(notes->launches);
    free(notes);
}

// On limits alone.
static weft_status create_alone(weft_context **out, const weft_limits *limits)
{
    TRY(weft_limits_check(limits));
    weft_context *ctx = calloc(1, sizeof(*ctx));
    if (!ctx)
        return fail(WEFT_NO_MEMORY, "rehearsal: no memory for a context");
    *out = ctx;
    ctx->limits = *limits;
    ctx->has_shuffles = limits->has_subgroups;
    ctx->least_subgroup = limits->least_subgroup;
    TRY(weft_program_table_create(&ctx->programs));
    return weft_pool_create(&ctx->pool, weft_usual_scratch(limits));
}

// With the real one's log, folder of programs and room for scratch memory, and its limits where
// none are given: those as they are, whatever $WEFT_PROFILE says by now.
static weft_status create_on(weft_context **out, const weft_limits *limits,
                             const weft_context *real)
{
    TRY(weft_context_create(out, real->cl, real->device,
                            WEFT_CONTEXT(.limits = limits ? limits : &real->limits,
                                         .log = real->log, .log_user = real->log_user,
                                         .cache_dir = weft_cache_has_programs(real->cache)
                                                          ? weft_cache_folder(real->cache)
                                                          : "",
                                         .cache_bytes = weft_cache_max_bytes(real->cache),
                                         .scratch_bytes = weft_workspace_most(real),
                                         .trusts_device = real->trusts_device)));
    if (!limits)
        (*out)->limits = real->limits;
    return WEFT_OK;
}

weft_status weft_rehearsal_create(weft_context **out, const weft_limits *limits,
                                  const weft_context *real)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "rehearsal: out is NULL");
    *out = NULL;
    if (!limits && !real)
        return fail(WEFT_BAD_ARGUMENT, "rehearsal: limits and the real context are both NULL");
    weft_status status = real ? create_on(out, limits, real) : create_alone(out, limits);
    if (status == WEFT_OK) {
        (*out)->notes = calloc(1, sizeof(*(*out)->notes));
        if (!(*out)->notes)
            status = fail(WEFT_NO_MEMORY, "rehearsal: no memory for notes");
    }
    if (status != WEFT_OK)
        weft_context_destroy(out);
    return status;
}

weft_status weft_rehearsal_begin(weft_context *ctx)
{
    if (!ctx || !ctx->notes)
        return fail(WEFT_BAD_ARGUMENT, "rehearsal: %s",
                    ctx ? "the context does not rehearse" : "ctx is NULL");
    const void *other = weft_refuse_listener();
    if (other && other != ctx->notes)
        return fail(WEFT_BAD_ARGUMENT, "rehearsal: another one has not ended on this thread");
    ctx->notes->told = (weft_rehearsal){0};
    ctx->notes->is_short = false;
    ctx->notes->is_begun = true;
    weft_refuse_listen(note_refusal, ctx->notes);
    return WEFT_OK;
}

const weft_rehearsal *weft_rehearsal_end(weft_context *ctx)
{
    weft_notes *notes = ctx ? ctx->notes : NULL;
    if (!notes || !notes->is_begun)
        return NULL;
    notes->is_begun = false;
    stop_listening(notes);
    notes->told.refusals = notes->refusals;
    notes->told.launches = notes->launches;
    return notes->is_short ? NULL : &notes->told;
}
