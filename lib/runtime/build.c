// SPDX-License-Identifier: Apache-2.0
// Building a program, and describing its errors: options, compiler log, numbered source.
#include "runtime/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/binary.h"
#include "runtime/cache.h"
#include "runtime/context.h"
#include "runtime/log.h"

// Understood by every implementation; newer features are queried, never assumed from a version.
#define LANGUAGE "-cl-std=CL1.2"
// Without it, PoCL 6.0 prints warnings about vectors wider than registers to standard error.
#define WITHOUT_WARNINGS " -w"
// For shuffles, if sub-groups are the language's, not an extension's.
#define LANGUAGE_OF_SUBGROUPS "-cl-std=CL3.0"

typedef struct options {
    char text[sizeof(LANGUAGE) + 1 + sizeof(((weft_defines *)NULL)->text)];
} options;

static options options_of(const weft_context *ctx, const weft_defines *defines)
{
    const bool has_shuffles = strstr(defines->text, "-D SHUFFLES=2") != NULL;
    const char *language = has_shuffles && weft_device_has_own_subgroups(ctx->device)
                               ? LANGUAGE_OF_SUBGROUPS
                               : LANGUAGE;
    options out;
    snprintf(out.text, sizeof(out.text), "%s %s", language, defines->text);
    return out;
}

// The compiler's log; NULL if there is none.
static char *build_log(const weft_context *ctx, cl_program program)
{
    size_t size = 0;
    if (clGetProgramBuildInfo(program, ctx->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) !=
        CL_SUCCESS)
        return NULL;
    char *text = calloc(size + 1, 1);
    if (text)
        clGetProgramBuildInfo(program, ctx->device, CL_PROGRAM_BUILD_LOG, size, text, NULL);
    return text;
}

// The next line's number by "#line 12 ..."; 0 for another line.
static size_t line_said(const char *line)
{
    static const char directive[] = "#line ";
    const size_t length = sizeof(directive) - 1;
    return strncmp(line, directive, length) == 0 ? strtoul(line + length, NULL, 10) : 0;
}

// The source with "  12  " before each line, as the compiler counts them; NULL without memory.
static char *numbered(const weft_source *source)
{
    enum { number_width = 7 };
    size_t n_lines = 1;
    for (const char *at = source->text; *at; at++)
        n_lines += *at == '\n';
    char *text = malloc(source->length + n_lines * (number_width + 1) + 1);
    if (!text)
        return NULL;

    char *to = text;
    const char *from = source->text;
    for (size_t line = 1; *from; line++) {
        const int length = (int)strcspn(from, "\n");
        const size_t said = line_said(from);
        if (said)
            to += sprintf(to, "%*s%.*s\n", number_width, "", length, from);
        else
            to += sprintf(to, "%5zu  %.*s\n", line % 100000, length, from);
        line = said ? said - 1 : line;
        from += length + (from[length] == '\n');
    }
    *to = '\0';
    return text;
}

// The first line of the log that has an error, else its first line. NVIDIA's log is a compiler's
// and then an assembler's: warnings, and "ptxas fatal   : Unresolved extern ..".
static const char *first_error(const char *log, int *length)
{
    static const char *const words[] = {"error:", "fatal", "error"};
    const char *begin = log + strspn(log, " \t\r\n");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *found = strstr(log, words[i]);
        if (found) {
            begin = found;
            break;
        }
    }
    while (begin > log && begin[-1] != '\n')
        begin--;
    *length = (int)strcspn(begin, "\r\n");
    return begin;
}

static weft_status build_failed(const weft_context *ctx, const weft_source *source,
                                const char *options_text, cl_program program)
{
    char *log = build_log(ctx, program);
    char *lines = numbered(source);
    const char *words = log ? log : "(the implementation gives no build log)";
    weft_log(ctx, WEFT_LOG_ERROR,
             "%s.cl does not compile\noptions: %s\nbuild log:\n%s\nsource:\n%s", source->name,
             options_text, words, lines ? lines : source->text);

    int length;
    const char *line = first_error(words, &length);
    const weft_status status =
        fail(WEFT_BUILD_FAILED, "%s.cl does not compile: %.*s (options: %.400s)", source->name,
             length < 400 ? length : 400, line, options_text);
    free(log);
    free(lines);
    return status;
}

static cl_int build_with(const weft_context *ctx, cl_program program, const char *options_text)
{
    char text[sizeof(options) + sizeof(WITHOUT_WARNINGS)];
    snprintf(text, sizeof(text), "%s" WITHOUT_WARNINGS, options_text);
    return clBuildProgram(program, 1, &ctx->device, text, NULL, NULL);
}

// After a failure with the option for many registers, tries again without it.
static cl_int build(const weft_context *ctx, cl_program program, const char *options_text)
{
    const cl_int code = build_with(ctx, program, options_text);
    const char *many = strstr(options_text, WEFT_MANY_REGISTERS);
    if (code == CL_SUCCESS || !many)
        return code;
    options fewer;
    const int before = (int)(many - options_text);
    snprintf(fewer.text, sizeof(fewer.text), "%.*s%s", before, options_text,
             many + sizeof(WEFT_MANY_REGISTERS) - 1);
    return build_with(ctx, program, fewer.text);
}

// *out is NULL if no program could be created; if it does not compile, it has the log.
static cl_int create_and_build(const weft_context *ctx, const weft_source *source,
                               const char *options_text, cl_program *out)
{
    cl_int code;
    const char *text = source->text;
    *out = clCreateProgramWithSource(ctx->cl, 1, &text, &source->length, &code);
    return code == CL_SUCCESS ? build(ctx, *out, options_text) : code;
}

// The call that failed.
static const char *failed_call(cl_program program)
{
    return program ? "clBuildProgram" : "clCreateProgramWithSource";
}

static weft_status compile(const weft_context *ctx, const weft_source *source,
                           const char *options_text, cl_program *out)
{
    cl_program program;
    weft_status status = WEFT_OK;
    const cl_int code = create_and_build(ctx, source, options_text, &program);
    if (code == CL_BUILD_PROGRAM_FAILURE)
        status = build_failed(ctx, source, options_text, program);
    else
        status = weft_cl_check(code, source->name, failed_call(program));
    if (status == WEFT_OK)
        *out = program;
    else if (program)
        clReleaseProgram(program);
    return status;
}

weft_status weft_program_try(weft_context *ctx, const weft_source *source,
                             const weft_defines *defines, cl_program *out)
{
    const options given = options_of(ctx, defines);
    const cl_int code = create_and_build(ctx, source, given.text, out);
    weft_log(ctx, WEFT_LOG_INFO, "%s.cl %s: %s", source->name,
             code == CL_SUCCESS ? "compiled" : "does not compile", given.text);
    weft_status status = weft_cl_check(code, source->name, failed_call(*out));
    if (code == CL_BUILD_PROGRAM_FAILURE)
        status = fail(WEFT_BUILD_FAILED, "%s.cl does not compile", source->name);
    if (status != WEFT_OK && *out)
        clReleaseProgram(*out);
    if (status != WEFT_OK)
        *out = NULL;
    return status;
}

// From the folder on disk. NULL if it cannot be read or does not work.
static cl_program load(const weft_context *ctx, const weft_blob *key, const char *options_text,
                       const char *name, cl_kernel *kernel)
{
    weft_blob binary = {0};
    if (!weft_cache_has_programs(ctx->cache) || !weft_cache_load(ctx->cache, key, &binary))
        return NULL;
    cl_int code, binary_code = CL_SUCCESS;
    const unsigned char *data = binary.data;
    cl_program program = clCreateProgramWithBinary(ctx->cl, 1, &ctx->device, &binary.size, &data,
                                                   &binary_code, &code);
    weft_blob_clear(&binary);
    if (code == CL_SUCCESS)
        code = binary_code;
    if (code == CL_SUCCESS)
        code = build(ctx, program, options_text);
    if (code == CL_SUCCESS)
        *kernel = clCreateKernel(program, name, &code);
    if (code == CL_SUCCESS)
        return program;
    if (program)
        clReleaseProgram(program);
    return NULL;
}

// After a kernel exists: some drivers compile no earlier.
static void store(const weft_context *ctx, const weft_blob *key, const weft_source *source,
                  cl_program program)
{
    weft_blob binary = {0};
    if (!weft_cache_has_programs(ctx->cache))
        return;
    if (weft_program_binary(program, ctx->device, &binary))
        weft_cache_save(ctx->cache, key, &binary);
    else
        weft_log(ctx, WEFT_LOG_WARNING, "%s.cl: the implementation gives no binary to keep",
                 source->name);
    weft_blob_clear(&binary);
}

weft_status weft_program_kernel(cl_program program, const weft_source *source, const char *name,
                                cl_kernel *out)
{
    char what[128];
    cl_int code;
    snprintf(what, sizeof(what), "%s.cl: kernel %s", source->name, name);
    *out = clCreateKernel(program, name, &code);
    return weft_cl_check(code, what, "clCreateKernel");
}

static weft_status compile_and_store(weft_context *ctx, const weft_source *source,
                                     const char *options_text, const char *name,
                                     const weft_blob *key, cl_program *program, cl_kernel *kernel)
{
    TRY(compile(ctx, source, options_text, program));
    const weft_status status = weft_program_kernel(*program, source, name, kernel);
    if (status != WEFT_OK) {
        clReleaseProgram(*program);
        *program = NULL;
        return status;
    }
    atomic_fetch_add(&ctx->programs_built, 1);
    weft_log(ctx, WEFT_LOG_INFO, "%s.cl compiled: %s", source->name, options_text);
    store(ctx, key, source, *program);
    return WEFT_OK;
}

weft_status weft_program_build(weft_context *ctx, const weft_source *source,
                               const weft_defines *defines, const char *name, cl_program *program,
                               cl_kernel *kernel)
{
    const options given = options_of(ctx, defines);
    weft_status status = WEFT_OK;
    weft_blob key;
    TRY(weft_cache_key(ctx, given.text, source->text, &key));
    *program = load(ctx, &key, given.text, name, kernel);
    if (*program) {
        atomic_fetch_add(&ctx->programs_loaded, 1);
        weft_log(ctx, WEFT_LOG_INFO, "%s.cl loaded from disk: %s", source->name, given.text);
    } else {
        status = compile_and_store(ctx, source, given.text, name, &key, program, kernel);
    }
    weft_blob_clear(&key);
    return status;
}
