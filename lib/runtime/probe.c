// SPDX-License-Identifier: Apache-2.0
// Queries a kernel for its largest group size, before any plan.
#include "runtime/probe.h"

#include "base/clamp.h"
#include "runtime/build.h"
#include "runtime/context.h"
#include "runtime/log.h"

// Items of the largest group of a plan.
static int group_items(const weft_limits *limits)
{
    return limits->max_block / (limits->vector_width * limits->vectors);
}

static weft_status query(weft_context *ctx, int wanted, size_t *items)
{
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", wanted);
    cl_program program = NULL;
    cl_kernel kernel = NULL;
    TRY(weft_program_build(ctx, &weft_source_probe, &defines, "probe", &program, &kernel));
    const weft_status status =
        weft_cl_check(clGetKernelWorkGroupInfo(kernel, ctx->device, CL_KERNEL_WORK_GROUP_SIZE,
                                               sizeof(*items), items, NULL),
                      "probe.cl", "clGetKernelWorkGroupInfo");
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    return status;
}

void weft_limits_probe(weft_context *ctx, weft_limits *limits)
{
    const int wanted = group_items(limits);
    if (wanted <= 1)
        return;
    const weft_sentence kept = weft_sentence_keep();
    size_t items = 0;
    if (query(ctx, wanted, &items) != WEFT_OK) {
        weft_log(ctx, WEFT_LOG_WARNING, "%s; groups of %d items are taken for possible",
                 weft_last_error(), wanted);
        weft_sentence_give_back(&kept);
    } else if (items > 0 && items < (size_t)wanted) {
        *limits = weft_limits_lowered(limits, items);
    }
    atomic_store(&ctx->programs_built, 0);
    atomic_store(&ctx->programs_loaded, 0);
}
