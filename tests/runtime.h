// SPDX-License-Identifier: Apache-2.0
// What tests of the run-time share: a context that listens to its own log, and a small program.
// Include after the library's own headers.
#ifndef WEFT_TESTS_RUNTIME_H
#define WEFT_TESTS_RUNTIME_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "implementation.h"
#include "runtime/launch.h"

#undef fail // cmocka has one too
#include <cmocka.h>

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        if ((call) != WEFT_OK)                                                                     \
            fail_msg("%s: %s", #call, weft_last_error());                                          \
    } while (0)

#define assert_says(part)                                                                          \
    do {                                                                                           \
        if (!strstr(weft_last_error(), part))                                                      \
            fail_msg("not in the sentence: \"%s\": \"%s\"", part, weft_last_error());              \
    } while (0)

// Whether the sentence begins as those of that call do: "spmm: ".
static inline bool says_by(const char *call)
{
    const size_t length = strlen(call);
    return strncmp(weft_last_error(), call, length) == 0 &&
           strncmp(weft_last_error() + length, ": ", 2) == 0;
}

// x[i] = FACTOR * x[i] + y, and x[i] = x[i] - y. FACTOR has no default: the program needs it.
static const char step_text[] =
    "kernel void step_up(global int *x, int y)\n"
    "{\n"
    "    const size_t i = get_global_id(0);\n"
    "    x[i] = FACTOR * x[i] + y;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void step_down(global int *x, int y)\n"
    "{\n"
    "    const size_t i = get_global_id(0);\n"
    "    x[i] = x[i] - y;\n"
    "}\n";
static const weft_source step_source = {"step", step_text, sizeof(step_text) - 1};

// All that was logged, one message after the other.
typedef struct journal {
    pthread_mutex_t lock;
    int n[3]; // messages of each level
    char text[1 << 16];
} journal;

static inline void journal_write(void *user, weft_log_level level, const char *message)
{
    journal *j = user;
    pthread_mutex_lock(&j->lock);
    j->n[level]++;
    const size_t length = strlen(j->text);
    snprintf(j->text + length, sizeof(j->text) - length, "%s\n", message);
    pthread_mutex_unlock(&j->lock);
}

static inline void journal_clear(journal *j)
{
    memset(j->n, 0, sizeof(j->n));
    j->text[0] = '\0';
}

// The folder that the runner made for this test, or one of its own.
static inline const char *test_dir(void)
{
    const char *dir = getenv("WEFT_TEST_DIR");
    return dir ? dir : ".";
}

// From here on the program ends without the destructors of Mesa's rusticl and Intel's runtime.
// Their threads still compile and run what nobody has waited for, and crash where LLVM is taken
// down under them. For a program that has opened a context: its driver is loaded.
void end_before_drivers(void);

// With these limits, or the device's own for NULL. Nothing is kept on disk: PoCL compiles all over
// again to give a binary away.
static inline weft_context *open_context(const weft_limits *limits)
{
    weft_context *ctx;
    assert_ok(weft_context_open(&ctx, WEFT_CONTEXT(.limits = limits, .cache_dir = "")));
    end_before_drivers();
    return ctx;
}

// Leaves with 77 where there is no device at all. Of the tests only those run that $WEFT_TEST_ONLY
// names, where it is set.
static inline void need_device(void)
{
    const char *only = getenv("WEFT_TEST_ONLY");
    if (only)
        cmocka_set_test_filter(only);
    weft_context *ctx;
    const weft_status status = weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = ""));
    if (status == WEFT_NO_DEVICE)
        exit(77);
    end_before_drivers();
    weft_context_destroy(&ctx);
}

// Whether kernels take such groups: a layer may say that they take less than the device promised,
// or have barriers go wrong, and a tiling that a test forces is not planned again.
static inline bool takes_groups_of(int items)
{
    const char *most = getenv("WEFT_LAYER_KERNEL_ITEMS"), *failed = getenv("WEFT_LAYER_FAILED");
    const unsigned in_groups = WEFT_TRIAL_TREES | WEFT_TRIAL_BARRIERS;
    const bool are_alone = failed && strtoul(failed, NULL, 0) & in_groups;
    return items <= 1 || (!are_alone && (!most || items <= atoi(most)));
}

static inline weft_defines step_defines(int64_t factor)
{
    weft_defines defines = {0};
    weft_defines_add(&defines, "FACTOR", factor);
    return defines;
}

// Runs `name` once over 64 elements that start as 0, 1, 2, ... and checks every one.
static inline void run_step(weft_context *ctx, weft_kernel *kernel, int64_t scale, int64_t offset)
{
    cl_command_queue queue = weft_context_queue(ctx);
    cl_int x[64], code;
    const cl_int y = (cl_int)offset;
    for (int i = 0; i < 64; i++)
        x[i] = i;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, sizeof(x), x, &code);
    assert_int_equal(code, CL_SUCCESS);

    const size_t global[3] = {64, 1, 1}, local[3] = {4, 1, 1};
    const weft_argument arguments[] = {ARGUMENT(buffer), ARGUMENT(y)};
    weft_launch launch;
    assert_ok(weft_launch_begin(&launch, ctx, queue, "step", 0, NULL, false));
    assert_ok(weft_launch_kernel(&launch, kernel, 2, arguments, global, local));
    assert_ok(weft_launch_end(&launch, WEFT_OK, NULL));
    assert_int_equal(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int i = 0; i < 64; i++)
        assert_int_equal(x[i], scale * i + offset);
    clReleaseMemObject(buffer);
}

#endif
