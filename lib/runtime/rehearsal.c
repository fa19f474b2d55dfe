// SPDX-License-Identifier: Apache-2.0
// Rehearsals: contexts that record calls, and handles in place of buffers.
#include <weft/rehearsal.h>

#include <stdlib.h>

#include "runtime/cache.h"
#include "runtime/context.h"
#include "runtime/memo.h"
#include "runtime/notes.h"
#include "runtime/program.h"
#include "runtime/workspace.h"

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

// With the real context's log, cache folder and bound on scratch memory, and its limits if none are
// given: unchanged, whatever $WEFT_PROFILE is now.
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
    weft_memo_destroy((*out)->memo); // a rehearsal replans, to record reasons each time
    (*out)->memo = NULL;
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
    if (status == WEFT_OK)
        status = weft_notes_create(&(*out)->notes);
    if (status == WEFT_OK)
        (*out)->why = weft_notes_why((*out)->notes);
    if (status != WEFT_OK)
        weft_context_destroy(out);
    return status;
}

cl_mem weft_rehearsal_buffer(weft_context *ctx, const void *data)
{
    return ctx && ctx->notes ? weft_notes_buffer(ctx->notes, data) : NULL;
}

weft_status weft_rehearsal_begin(weft_context *ctx)
{
    if (!ctx || !ctx->notes)
        return fail(WEFT_BAD_ARGUMENT, "rehearsal: %s",
                    ctx ? "the context does not rehearse" : "ctx is NULL");
    weft_notes_begin(ctx->notes);
    return WEFT_OK;
}

const weft_rehearsal *weft_rehearsal_end(weft_context *ctx)
{
    return ctx && ctx->notes ? weft_notes_end(ctx->notes) : NULL;
}
