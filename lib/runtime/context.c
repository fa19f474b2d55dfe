// SPDX-License-Identifier: Apache-2.0
// Queries of a context.
#include "runtime/context.h"

#include "base/process.h"

weft_status weft_context_check(const weft_context *ctx, const char *what)
{
    if (!ctx)
        return fail(WEFT_BAD_ARGUMENT, "%s: ctx is NULL", what);
    return ctx->cl ? weft_process_check(what) : WEFT_OK;
}

cl_context weft_context_cl(const weft_context *ctx)
{
    return ctx->cl;
}

cl_device_id weft_context_device(const weft_context *ctx)
{
    return ctx->device;
}

cl_command_queue weft_context_queue(const weft_context *ctx)
{
    return ctx->queue;
}

const weft_limits *weft_context_limits(const weft_context *ctx)
{
    return &ctx->limits;
}
