// SPDX-License-Identifier: Apache-2.0
// Contexts: created on the caller's device or on one that is found, and destroyed.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue: the one that OpenCL 1.2 has
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/params.h"
#include "base/process.h"
#include "runtime/cache.h"
#include "runtime/context.h"
#include "runtime/device_find.h"
#include "runtime/memo.h"
#include "runtime/notes.h"
#include "runtime/probe.h"
#include "runtime/program.h"
#include "runtime/verdict.h"
#include "runtime/workspace.h"

static const uint64_t default_cache_bytes = UINT64_C(256) << 20;

// The built-in profile of $WEFT_PROFILE; NULL if that is not set.
static weft_status profile_wanted(const weft_limits **out)
{
    const char *wanted = getenv("WEFT_PROFILE");
    *out = NULL;
    if (!wanted || wanted[0] == '\0')
        return WEFT_OK;
    *out = weft_profile_find(wanted);
    if (*out)
        return WEFT_OK;
    char names[800] = ""; // as far as they fit
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const size_t length = strlen(names);
        snprintf(names + length, sizeof(names) - length, "%s%s", i ? ", " : "",
                 weft_profile_at(i)->name);
    }
    return fail(WEFT_BAD_ARGUMENT,
                "context: no profile is named like WEFT_PROFILE=\"%.80s\"; there "
                "are: %s",
                wanted, names);
}

static weft_status params_read(const weft_context_params *params, weft_context_params *out)
{
    TRY(PARAMS_READ(out, params, "context", "WEFT_CONTEXT"));
    return out->limits ? weft_limits_check(out->limits) : profile_wanted(&out->limits);
}

static weft_status device_check(cl_context cl, cl_device_id device)
{
    size_t size = 0;
    cl_int code = clGetContextInfo(cl, CL_CONTEXT_DEVICES, 0, NULL, &size);
    if (code == CL_INVALID_CONTEXT)
        return fail(WEFT_BAD_ARGUMENT, "context: the OpenCL context is not valid");
    TRY(weft_cl_check(code, "context", "clGetContextInfo"));
    cl_device_id *devices = malloc(size + 1);
    if (!devices)
        return fail(WEFT_NO_MEMORY, "context: no memory for a list of devices");

    code = clGetContextInfo(cl, CL_CONTEXT_DEVICES, size, devices, NULL);
    bool found = false;
    for (size_t i = 0; code == CL_SUCCESS && i < size / sizeof(*devices); i++)
        found = found || devices[i] == device;
    free(devices);
    TRY(weft_cl_check(code, "context", "clGetContextInfo"));
    if (!found)
        return fail(WEFT_BAD_ARGUMENT, "context: the device is not one of the OpenCL context's");
    return WEFT_OK;
}

static weft_status limits_choose(weft_context *ctx, const weft_limits *wanted)
{
    weft_limits real;
    TRY(weft_limits_query(ctx->device, &real));
    const bool claims_fma = real.has_fma;
    weft_limits_probe(ctx, &real);
    if (!ctx->trusts_device)
        weft_limits_try(ctx, &real);
    ctx->has_shuffles = real.has_subgroups;
    ctx->least_subgroup = real.least_subgroup;
    ctx->limits = wanted ? weft_limits_clamp(wanted, &real) : real;
    ctx->has_more_fma =
        real.has_fma && !claims_fma && !(ctx->limits.failed_trials & WEFT_TRIAL_FMA);
    return WEFT_OK;
}

static weft_status parts_create(weft_context *ctx, const weft_context_params *params)
{
    const uint64_t cache_bytes = params->cache_bytes ? params->cache_bytes : default_cache_bytes;
    TRY(weft_cache_create(&ctx->cache, ctx, params->cache_dir, cache_bytes,
                          weft_device_keeps_programs(ctx->device)));
    TRY(limits_choose(ctx, params->limits));
    TRY(weft_program_table_create(&ctx->programs));
    TRY(weft_memo_create(&ctx->memo));
    const uint64_t scratch =
        params->scratch_bytes ? params->scratch_bytes : weft_usual_scratch(&ctx->limits);
    return weft_pool_create(&ctx->pool, scratch);
}

// Takes over neither `cl` nor `device`: both are retained.
static weft_status context_create(weft_context **out, cl_context cl, cl_device_id device,
                                  const weft_context_params *params)
{
    weft_context *ctx = calloc(1, sizeof(*ctx));
    if (!ctx)
        return fail(WEFT_NO_MEMORY, "context: no memory for a context");
    ctx->log = params->log;
    ctx->log_user = params->log_user;
    ctx->check_matrices = params->check_matrices;
    ctx->trusts_device = params->trusts_device;

    weft_status status = weft_cl_check(clRetainContext(cl), "context", "clRetainContext");
    if (status != WEFT_OK)
        goto done;
    ctx->cl = cl;
    status = weft_cl_check(clRetainDevice(device), "context", "clRetainDevice");
    if (status != WEFT_OK)
        goto done;
    ctx->device = device;
    status = parts_create(ctx, params);

done:
    if (status != WEFT_OK)
        weft_context_destroy(&ctx);
    *out = ctx;
    return status;
}

weft_status weft_context_create(weft_context **out, cl_context cl, cl_device_id device,
                                const weft_context_params *params)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "context: out is NULL");
    *out = NULL;
    if (!cl || !device)
        return fail(WEFT_BAD_ARGUMENT, "context: the %s is NULL", cl ? "device" : "OpenCL context");
    TRY(weft_process_check("context"));
    weft_context_params given;
    TRY(params_read(params, &given));
    TRY(device_check(cl, device));
    return context_create(out, cl, device, &given);
}

weft_status weft_context_open(weft_context **out, const weft_context_params *params)
{
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "context: out is NULL");
    *out = NULL;
    weft_context_params given;
    TRY(params_read(params, &given));
    TRY(weft_process_check("context"));

    weft_found_device found;
    TRY(weft_device_find(given.device, &found));
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)found.platform, 0};
    cl_int code;
    cl_context cl = clCreateContext(properties, 1, &found.device, NULL, NULL, &code);
    TRY(weft_cl_check(code, "context", "clCreateContext"));

    weft_context *ctx = NULL;
    weft_status status = context_create(&ctx, cl, found.device, &given);
    if (status == WEFT_OK) {
        ctx->queue = clCreateCommandQueue(cl, found.device, 0, &code);
        status = weft_cl_check(code, "context", "clCreateCommandQueue");
    }
    clReleaseContext(cl);
    if (status != WEFT_OK)
        weft_context_destroy(&ctx);
    *out = ctx;
    return status;
}

// A rehearsal without a device has nothing that a child process cannot use.
static bool is_of_parent(const weft_context *ctx)
{
    return ctx->cl && weft_process_is_forked();
}

void weft_context_destroy(weft_context **address)
{
    if (!address || !*address)
        return;
    weft_context *ctx = *address;
    *address = NULL;
    if (is_of_parent(ctx))
        return;
    weft_notes_destroy(ctx->notes);
    weft_pool_destroy(ctx->pool);
    weft_program_table_destroy(ctx->programs);
    weft_memo_destroy(ctx->memo);
    weft_cache_destroy(ctx->cache);
    if (ctx->queue)
        clReleaseCommandQueue(ctx->queue);
    if (ctx->device)
        clReleaseDevice(ctx->device);
    if (ctx->cl)
        clReleaseContext(ctx->cl);
    free(ctx);
}

weft_context_stats weft_context_get_stats(weft_context *ctx)
{
    return (weft_context_stats){
        .programs_built = atomic_load(&ctx->programs_built),
        .programs_loaded = atomic_load(&ctx->programs_loaded),
        .launches = atomic_load(&ctx->launches),
        .scratch_bytes = is_of_parent(ctx) ? 0 : weft_pool_bytes(ctx->pool),
    };
}
