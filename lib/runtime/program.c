// SPDX-License-Identifier: Apache-2.0
// Programs of a context: found in memory, else on disk, else compiled.
#include "runtime/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "runtime/build.h"
#include "runtime/context.h"
#include "runtime/kernel.h"

// The table's lock guards the list alone. A program's own lock is locked while it is built, so that
// different programs build in parallel and the same one is built once.
typedef struct weft_program {
    struct weft_program *next;
    const char *source_name, *source_text;
    weft_defines defines; // the requested ones, and those of the device's verdict
    size_t given;         // characters of the former
    weft_lock lock;
    cl_program cl; // NULL until it is built, and after a failed build
    weft_kernel *kernels;
} weft_program;

struct weft_program_table {
    weft_lock lock;
    weft_program *first;
};

// Features that kernels must avoid on this device, or that it has beyond what its compiler says: in
// the defines of all programs; none if there are no such features.
static void add_verdict(weft_defines *defines, const weft_context *ctx)
{
    const unsigned failed = ctx->limits.failed_trials;
    if (failed & WEFT_TRIAL_FMA || ctx->has_more_fma)
        weft_defines_add(defines, "FMA_IS_FAST", ctx->has_more_fma);
    if (failed & WEFT_TRIAL_STREAMS)
        weft_defines_add(defines, "MAY_STREAM", 0);
    if (failed & WEFT_TRIAL_FETCHES)
        weft_defines_add(defines, "MAY_FETCH", 0);
}

weft_status weft_program_table_create(weft_program_table **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fail(WEFT_NO_MEMORY, "context: no memory for a table of programs");
    weft_lock_create(&(*out)->lock);
    return WEFT_OK;
}

static void kernels_destroy(weft_kernel *kernel)
{
    while (kernel) {
        weft_kernel *next = kernel->next;
        if (kernel->cl)
            clReleaseKernel(kernel->cl);
        weft_lock_destroy(&kernel->lock);
        free(kernel->name);
        free(kernel);
        kernel = next;
    }
}

void weft_program_table_destroy(weft_program_table *table)
{
    if (!table)
        return;
    weft_program *program = table->first;
    while (program) {
        weft_program *next = program->next;
        kernels_destroy(program->kernels);
        if (program->cl)
            clReleaseProgram(program->cl);
        weft_lock_destroy(&program->lock);
        free(program);
        program = next;
    }
    weft_lock_destroy(&table->lock);
    free(table);
}

static bool is_same(const weft_program *program, const weft_source *source,
                    const weft_defines *defines)
{
    return program->given == defines->length &&
           memcmp(program->defines.text, defines->text, defines->length) == 0 &&
           strcmp(program->source_name, source->name) == 0;
}

// The program's entry, which is created, not yet built, if there is none; NULL without memory.
static weft_program *entry_of(const weft_context *ctx, const weft_source *source,
                              const weft_defines *defines)
{
    weft_program_table *table = ctx->programs;
    weft_lock_take(&table->lock);
    weft_program *program = table->first;
    while (program && !is_same(program, source, defines))
        program = program->next;
    if (!program && (program = calloc(1, sizeof(*program)))) {
        program->source_name = source->name;
        program->source_text = source->text;
        program->given = defines->length;
        program->defines = *defines;
        add_verdict(&program->defines, ctx);
        weft_lock_create(&program->lock);
        program->next = table->first;
        table->first = program;
    }
    weft_lock_release(&table->lock);
    return program;
}

static weft_kernel *kernel_find(weft_program *program, const char *name)
{
    weft_kernel *kernel = program->kernels;
    while (kernel && strcmp(kernel->name, name) != 0)
        kernel = kernel->next;
    return kernel;
}

static size_t query_max_items(const weft_context *ctx, cl_kernel kernel)
{
    size_t items = 0;
    if (!kernel)
        return ctx->limits.max_items;
    const cl_int code = clGetKernelWorkGroupInfo(kernel, ctx->device, CL_KERNEL_WORK_GROUP_SIZE,
                                                 sizeof(items), &items, NULL);
    return code == CL_SUCCESS && items > 0 ? items : ctx->limits.max_items;
}

// Adds `cl` to the program's kernels under its name; releases it on failure.
static weft_status kernel_add(const weft_context *ctx, weft_program *program, const char *name,
                              cl_kernel cl, weft_kernel **out)
{
    weft_kernel *kernel = calloc(1, sizeof(*kernel));
    const size_t size = strlen(name) + 1;
    char *copy = malloc(size);
    if (!kernel || !copy) {
        free(kernel);
        free(copy);
        if (cl)
            clReleaseKernel(cl);
        return fail(WEFT_NO_MEMORY, "%s: no memory for kernel %s", program->source_name, name);
    }
    memcpy(copy, name, size);
    kernel->name = copy;
    kernel->source_name = program->source_name;
    kernel->source_text = program->source_text;
    kernel->options = program->defines.text;
    kernel->cl = cl;
    kernel->max_items = query_max_items(ctx, cl);
    weft_lock_create(&kernel->lock);
    kernel->next = program->kernels;
    program->kernels = kernel;
    *out = kernel;
    return WEFT_OK;
}

// Under the program's lock: the program's kernel. Builds the program first if needed, and if there
// is a device to build it for.
static weft_status kernel_make(weft_context *ctx, weft_program *program, const weft_source *source,
                               const char *name, weft_kernel **out)
{
    cl_kernel cl = NULL;
    if (program->cl)
        TRY(weft_program_kernel(program->cl, source, name, &cl));
    else if (ctx->cl)
        TRY(weft_program_build(ctx, source, &program->defines, name, &program->cl, &cl));
    return kernel_add(ctx, program, name, cl, out);
}

weft_status weft_kernel_get(weft_context *ctx, const weft_source *source,
                            const weft_defines *defines, const char *name, weft_kernel **out)
{
    *out = NULL;
    weft_program *program = entry_of(ctx, source, defines);
    if (!program)
        return fail(WEFT_NO_MEMORY, "%s: no memory for a program", source->name);

    weft_status status = WEFT_OK;
    weft_lock_take(&program->lock);
    *out = kernel_find(program, name);
    if (!*out)
        status = kernel_make(ctx, program, source, name, out);
    weft_lock_release(&program->lock);
    return status;
}

size_t weft_kernel_max_items(const weft_kernel *kernel)
{
    return kernel->max_items;
}

weft_status weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                               const weft_source *source, const weft_defines *defines,
                               const char *name)
{
    TRY(weft_kernel_get(ctx, source, defines, name, out));
    if (weft_kernel_max_items(*out) < *most)
        *most = weft_kernel_max_items(*out);
    return WEFT_OK;
}
