// SPDX-License-Identifier: Apache-2.0
// Records of a rehearsal, in place of calls of OpenCL.
#include "runtime/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/room.h"
#include "runtime/buffer.h"
#include "runtime/context.h"

struct weft_notes {
    weft_rehearsal record;
    weft_refusal *refusals;
    weft_rehearsed_launch *launches;
    size_t refusal_room, launch_room;
    weft_why why;
    bool is_begun;
    bool is_short; // of memory: something is missing
    int n_buffers;
    const void *data[1 + WEFT_REHEARSAL_BUFFERS];
};

static bool is_known(const weft_notes *notes, const weft_refusal *refusal)
{
    for (size_t i = 0; i < notes->record.n_refusals; ++i)
        if (strcmp(notes->refusals[i].variant, refusal->variant) == 0 &&
            strcmp(notes->refusals[i].reason, refusal->reason) == 0)
            return true;
    return false;
}

// A plan that is made twice has the same refusals twice.
static void note_refusal(void *user, const char *variant, const char *reason)
{
    weft_notes *notes = user;
    weft_refusal refusal;
    snprintf(refusal.variant, sizeof(refusal.variant), "%s", variant);
    snprintf(refusal.reason, sizeof(refusal.reason), "%s", reason);
    if (!notes->is_begun || is_known(notes, &refusal))
        return;
    if (ROOM_FOR_ONE(&notes->refusals, &notes->refusal_room, notes->record.n_refusals))
        notes->refusals[notes->record.n_refusals++] = refusal;
    else
        notes->is_short = true;
}

static size_t local_bytes_of(size_t n_arguments, const weft_argument *arguments)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n_arguments; ++i)
        bytes += arguments[i].value ? 0 : arguments[i].size;
    return bytes;
}

// 0 if the driver has no answer.
static size_t query_bytes(const weft_context *ctx, cl_kernel kernel, cl_kernel_work_group_info what)
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
        .source_text = kernel->source_text,
        .kernel = kernel->name,
        .options = kernel->options,
        .n_arguments = n_arguments,
        .local_bytes = local_bytes_of(n_arguments, arguments),
        .times = times,
    };
    memcpy(launch.global, global, sizeof(launch.global));
    memcpy(launch.local, local, sizeof(launch.local));
    if (kernel->cl) {
        launch.max_items = kernel->max_items;
        launch.kernel_local_bytes = query_bytes(ctx, kernel->cl, CL_KERNEL_LOCAL_MEM_SIZE);
        launch.kernel_private_bytes = query_bytes(ctx, kernel->cl, CL_KERNEL_PRIVATE_MEM_SIZE);
    }
    const size_t n = notes->record.n_launches;
    if (n > 0 && is_again(&notes->launches[n - 1], &launch)) {
        notes->launches[n - 1].times += times;
        return WEFT_OK;
    }
    if (!ROOM_FOR_ONE(&notes->launches, &notes->launch_room, n)) {
        notes->is_short = true;
        return fail(WEFT_NO_MEMORY, "rehearsal: no memory to write down a launch");
    }
    notes->launches[notes->record.n_launches++] = launch;
    return WEFT_OK;
}

cl_mem weft_notes_scratch(weft_notes *notes, size_t bytes)
{
    if (notes->is_begun && bytes > notes->record.scratch_bytes)
        notes->record.scratch_bytes = bytes;
    return weft_stand_in(0);
}

cl_mem weft_notes_buffer(weft_notes *notes, const void *data)
{
    if (notes->n_buffers == WEFT_REHEARSAL_BUFFERS)
        return NULL;
    const int number = ++notes->n_buffers;
    notes->data[number] = data;
    return weft_stand_in(number);
}

const void *weft_notes_data(const weft_notes *notes, cl_mem buffer)
{
    return notes && weft_is_stand_in(buffer) ? notes->data[weft_stand_in_number(buffer)] : NULL;
}

weft_status weft_notes_create(weft_notes **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fail(WEFT_NO_MEMORY, "rehearsal: no memory for notes");
    (*out)->why = (weft_why){.refused = note_refusal, .user = *out};
    return WEFT_OK;
}

void weft_notes_destroy(weft_notes *notes)
{
    if (!notes)
        return;
    free(notes->refusals);
    free(notes->launches);
    free(notes);
}

const weft_why *weft_notes_why(const weft_notes *notes)
{
    return &notes->why;
}

void weft_notes_begin(weft_notes *notes)
{
    notes->record = (weft_rehearsal){0};
    notes->is_short = false;
    notes->is_begun = true;
}

const weft_rehearsal *weft_notes_end(weft_notes *notes)
{
    if (!notes->is_begun)
        return NULL;
    notes->is_begun = false;
    notes->record.refusals = notes->refusals;
    notes->record.launches = notes->launches;
    return notes->is_short ? NULL : &notes->record;
}
