// SPDX-License-Identifier: Apache-2.0
// Trials of a device: build, run, compare; and the speed of fma().
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue: the one that OpenCL 1.2 has
#include "runtime/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/host_cache.h"
#include "base/os.h"
#include "runtime/build.h"
#include "runtime/context.h"
#include "runtime/log.h"
#include "runtime/program.h"

// As in cl/runtime/trial.cl.
enum { N_TRIALS = 11, N_IN = 1024, N_CHECKED = 64, ITERATIONS = 4, TIME_FMA = 1 << 16 };

static const double most_seconds = 5;
static const char what_we_are[] = "trials"; // in messages

typedef struct group {
    int items, items_y;
} group;

typedef struct trials {
    weft_context *ctx;
    const weft_limits *limits;
    group group;
    double end; // no trial begins after it
    cl_command_queue queue;
    cl_mem in_buffer, out_buffer;
    cl_int in[N_IN], out[N_TRIALS][N_IN];
} trials;

// A trial's name in messages and the check of its part of the output; and a kernel with the bits of
// its trials.
typedef struct trial {
    const char *words;
    bool (*is_right)(const trials *t, const cl_int *out);
} trial;

typedef struct trial_kernel {
    const char *name;
    unsigned bits;
    const char *words;
} trial_kernel;

static const trial_kernel alone = {"try_alone",
                                   WEFT_TRIAL_F64 | WEFT_TRIAL_F16 | WEFT_TRIAL_FMA |
                                       WEFT_TRIAL_STREAMS | WEFT_TRIAL_FETCHES |
                                       WEFT_TRIAL_STRUCTS | WEFT_TRIAL_SELECTS,
                                   "work of single items"};
static const trial_kernel groups = {"try_groups", WEFT_TRIAL_TREES | WEFT_TRIAL_BARRIERS,
                                    "work of groups"};
static const trial_kernel sub_groups = {"try_sub_groups", WEFT_TRIAL_SHUFFLES | WEFT_TRIAL_SIZES,
                                        "sub-groups"};

// ---- expected output

static bool is_each(const trials *t, const cl_int *out, int (*value)(int x, int next))
{
    for (int i = 0; i < N_CHECKED; i++)
        if (out[i] != value(t->in[i], t->in[i + 1]))
            return false;
    return true;
}

static int itself(int x, int next)
{
    (void)next;
    return x;
}

static int doubled_and_1(int x, int next)
{
    (void)next;
    return 2 * x + 1;
}

static int squared(int x, int next)
{
    (void)next;
    return x * x;
}

static int larger_or_less(int x, int next)
{
    return x > next ? x : -next;
}

static bool is_copy(const trials *t, const cl_int *out)
{
    return is_each(t, out, itself);
}

static bool is_doubled(const trials *t, const cl_int *out)
{
    return is_each(t, out, doubled_and_1);
}

static bool is_squared(const trials *t, const cl_int *out)
{
    return is_each(t, out, squared);
}

static bool is_selected(const trials *t, const cl_int *out)
{
    return is_each(t, out, larger_or_less);
}

static int group_size(const trials *t)
{
    return t->group.items * t->group.items_y;
}

static bool is_group_copy(const trials *t, const cl_int *out)
{
    return memcmp(out, t->in, (size_t)group_size(t) * sizeof(t->in[0])) == 0;
}

static bool are_sums(const trials *t, const cl_int *out)
{
    for (int g = 0; g < 2; g++) {
        int sum = 0;
        for (int i = 0; i < group_size(t); i++)
            sum += t->in[g * group_size(t) + i];
        if (out[g] != sum)
            return false;
    }
    return true;
}

static bool are_passed_around(const trials *t, const cl_int *out)
{
    const int n = group_size(t);
    static const int binomial[ITERATIONS + 1] = {1, 4, 6, 4, 1};
    for (int i = 0; i < 2 * n; i++) {
        int sum = 0;
        for (int k = 0; k <= ITERATIONS; k++)
            sum += binomial[k] * t->in[i / n * n + (i + k) % n];
        if (out[i] != sum)
            return false;
    }
    return true;
}

// If the other item is in the same sub-group; elsewhere any value may come.
static bool are_shuffled(const trials *t, const cl_int *out)
{
    const int n = group_size(t), width = out[0];
    if (width < 1 || (width & (width - 1)) != 0)
        return false;
    for (int d = 0; d < ITERATIONS; d++) {
        const int *down = out + 1 + 2 * d * n, *up = down + n;
        for (int i = 0; i < n; i++) {
            const int further = i + (1 << d);
            const int back = i - (int)min_i64(i / t->group.items, 1 << d);
            if (further < n && further / width == i / width && down[i] != t->in[further])
                return false;
            if (back / width == i / width && up[i] != t->in[back])
                return false;
        }
    }
    return true;
}

// In the order of their bits.
static const trial all_trials[N_TRIALS] = {
    {"double arithmetic", is_copy},
    {"half arithmetic", is_doubled},
    {"fma()", is_squared},
    {"shuffles of sub-groups", are_shuffled},
    {"sizes of sub-groups", is_group_copy},
    {"stores past the caches", is_copy},
    {"prefetches", is_copy},
    {"copies of structs", is_copy},
    {"selects between vectors", is_selected},
    {"sums in local memory", are_sums},
    {"barriers in loops", are_passed_around},
};

// The device's claims; features that every device must have are always tried.
static unsigned claims_of(const weft_limits *limits)
{
    unsigned claims = WEFT_TRIAL_FMA | WEFT_TRIAL_FETCHES | WEFT_TRIAL_STRUCTS;
    claims |= limits->has_f64 ? WEFT_TRIAL_F64 : 0U;
    claims |= limits->has_f16 ? WEFT_TRIAL_F16 : 0U;
    claims |= limits->vector_width > 1 ? WEFT_TRIAL_STREAMS | WEFT_TRIAL_SELECTS : 0U;
    if (limits->max_items < 2)
        return claims;
    claims |= WEFT_TRIAL_TREES | WEFT_TRIAL_BARRIERS;
    claims |= limits->has_subgroups ? WEFT_TRIAL_SHUFFLES : 0U;
    return claims | (limits->least_subgroup > 0 ? WEFT_TRIAL_SIZES : 0U);
}

// 8 x 8 items, or as many as are allowed along each dimension and in all.
static group group_of(const weft_limits *limits)
{
    group g;
    g.items = (int)min_i64(weft_limits_items_along(limits, 0), 8);
    g.items_y = (int)min_i64(weft_limits_items_along(limits, 1), 8);
    while (g.items * g.items_y > weft_limits_items_along(limits, 0)) // also along x alone
        g.items_y /= 2;
    return g;
}

// ---- running one

static weft_status build(const trials *t, unsigned bits, cl_program *out)
{
    weft_defines defines = {0};
    weft_defines_add(&defines, "TRIALS", bits);
    weft_defines_add(&defines, "VECTOR_WIDTH", t->limits->vector_width);
    weft_defines_add(&defines, "ITEMS", t->group.items);
    weft_defines_add(&defines, "ITEMS_Y", t->group.items_y);
    if (bits & WEFT_TRIAL_SHUFFLES)
        weft_defines_add(&defines, "SHUFFLES", 2);
    if (bits & WEFT_TRIAL_SIZES)
        weft_defines_add_sub_group(&defines, t->limits->least_subgroup, 0);
    return weft_program_try(t->ctx, &weft_source_trial, &defines, out);
}

static weft_status set_arguments(const trials *t, cl_kernel kernel, cl_int iterations)
{
    TRY(weft_cl_check(clSetKernelArg(kernel, 0, sizeof(cl_mem), &t->in_buffer), what_we_are,
                      "clSetKernelArg"));
    TRY(weft_cl_check(clSetKernelArg(kernel, 1, sizeof(cl_mem), &t->out_buffer), what_we_are,
                      "clSetKernelArg"));
    return weft_cl_check(clSetKernelArg(kernel, 2, sizeof(iterations), &iterations), what_we_are,
                         "clSetKernelArg");
}

static weft_status enqueue(const trials *t, cl_kernel kernel, const trial_kernel *which,
                           cl_int iterations)
{
    const size_t items = (size_t)t->group.items, items_y = (size_t)t->group.items_y;
    size_t n_groups[3] = {1, 1, 1}, local[3] = {1, 1, 1};
    if (which == &groups) {
        n_groups[0] = 2;
        local[0] = items;
        local[1] = items_y;
    } else if (which == &sub_groups) {
        local[0] = items * items_y;
    } else {
        n_groups[0] = N_CHECKED / (4 * (size_t)t->limits->vector_width);
    }
    const size_t global[3] = {n_groups[0] * local[0], n_groups[1] * local[1], n_groups[2]};
    TRY(set_arguments(t, kernel, iterations));
    return weft_cl_check(
        clEnqueueNDRangeKernel(t->queue, kernel, 3, NULL, global, local, 0, NULL, NULL),
        what_we_are, "clEnqueueNDRangeKernel");
}

// Kernels may take fewer items than the device says: then there is nothing to try.
static bool takes_group(const trials *t, cl_kernel kernel, const trial_kernel *which)
{
    size_t items = 0;
    const cl_int code = clGetKernelWorkGroupInfo(kernel, t->ctx->device, CL_KERNEL_WORK_GROUP_SIZE,
                                                 sizeof(items), &items, NULL);
    return code != CL_SUCCESS || which == &alone || items >= (size_t)group_size(t);
}

// Starts with an output in which nothing is right.
static weft_status run_kernel(trials *t, cl_kernel kernel, const trial_kernel *which)
{
    if (!takes_group(t, kernel, which))
        return WEFT_UNSUPPORTED;
    memset(t->out, 0x81, sizeof(t->out));
    TRY(weft_cl_write(t->queue, t->out_buffer, sizeof(t->out), t->out, what_we_are));
    TRY(enqueue(t, kernel, which, ITERATIONS));
    return weft_cl_read(t->queue, t->out_buffer, 0, sizeof(t->out), t->out, 0, NULL, what_we_are);
}

static weft_status run(trials *t, cl_program program, const trial_kernel *which)
{
    cl_kernel kernel;
    TRY(weft_program_kernel(program, &weft_source_trial, which->name, &kernel));
    const weft_status status = run_kernel(t, kernel, which);
    clReleaseKernel(kernel);
    return status;
}

// Bits of trials with wrong results; and of those that were not answered. A lack of memory, or a
// lost device, says nothing about a trial.
typedef struct answers {
    unsigned wrong, missing;
} answers;

static answers none_of(unsigned bits, weft_status status)
{
    answers a = {bits, 0};
    if (status == WEFT_UNSUPPORTED)
        a.wrong = 0;
    else if (status == WEFT_NO_MEMORY || status == WEFT_DEVICE_LOST)
        a.missing = bits;
    return a;
}

static answers answers_in(trials *t, cl_program program, const trial_kernel *which, unsigned bits)
{
    answers a = {0};
    const weft_status status = run(t, program, which);
    if (status != WEFT_OK)
        return none_of(bits, status);
    for (int i = 0; i < N_TRIALS; i++)
        if (bits >> i & 1 && !all_trials[i].is_right(t, t->out[i]))
            a.wrong |= 1U << i;
    return a;
}

// Of a program that is made for these trials alone.
static answers answers_of(trials *t, const trial_kernel *which, unsigned bits)
{
    cl_program program = NULL;
    const weft_status status = build(t, bits, &program);
    if (status != WEFT_OK)
        return none_of(bits, status == WEFT_BUILD_FAILED ? status : WEFT_NO_MEMORY);
    const answers a = answers_in(t, program, which, bits);
    clReleaseProgram(program);
    return a;
}

// ---- all of them

// Whether a kernel without trials is built and runs. If not, other failures say nothing: no room on
// a disk, or a damaged cache of the driver.
static bool runs_at_all(trials *t)
{
    cl_program program = NULL;
    if (build(t, 0, &program) != WEFT_OK)
        return false;
    const weft_status status = run(t, program, &alone);
    clReleaseProgram(program);
    return status == WEFT_OK;
}

static const char none_runs[] = "no kernel can be made and run now";

static void leave_out(const trials *t, const char *what, const char *why)
{
    weft_log(t->ctx, WEFT_LOG_WARNING, "%s: not tried, %s; the device is taken at its word", what,
             why);
}

static bool has_time(const trials *t)
{
    return weft_clock() <= t->end;
}

// Without an answer the trial remains in doubt.
static void retry(trials *t, const trial_kernel *which, unsigned bit, const char *words,
                  weft_verdict *verdict)
{
    const answers a = answers_of(t, which, bit);
    if (a.missing || (a.wrong && !runs_at_all(t))) {
        weft_log(t->ctx, WEFT_LOG_WARNING, "%s: wrong once, and %s; plans do not use it", words,
                 none_runs);
        return;
    }
    verdict->doubted &= ~bit;
    verdict->tried |= bit;
    verdict->failed |= a.wrong;
    weft_log(t->ctx, WEFT_LOG_INFO, "%s: %s when tried", words,
             a.wrong ? "wrong twice" : "wrong once");
}

// Repeats trials with wrong results, one by one.
static void retry_all(trials *t, const trial_kernel *which, weft_verdict *verdict)
{
    for (int i = 0; i < N_TRIALS; i++) {
        const unsigned bit = 1U << i;
        if (!(verdict->doubted & which->bits & bit))
            continue;
        if (has_time(t))
            retry(t, which, bit, all_trials[i].words, verdict);
        else
            weft_log(t->ctx, WEFT_LOG_WARNING,
                     "%s: wrong once, and trials take too long; plans do not use it",
                     all_trials[i].words);
    }
}

// Runs trials for the first time.
static void try_first(trials *t, const trial_kernel *which, unsigned bits, weft_verdict *verdict)
{
    const answers a = answers_of(t, which, bits);
    if (a.missing || (a.wrong && !runs_at_all(t))) {
        leave_out(t, which->words, none_runs);
        return;
    }
    verdict->tried |= bits & ~a.wrong;
    verdict->doubted |= a.wrong;
}

static void try_kernel(trials *t, const trial_kernel *which, unsigned claims, weft_verdict *verdict)
{
    const unsigned bits = claims & which->bits & ~verdict->tried & ~verdict->doubted;
    if (bits && !has_time(t))
        leave_out(t, which->words, "trials take too long");
    else if (bits)
        try_first(t, which, bits, verdict);
    retry_all(t, which, verdict);
}

// Lowers *least to the seconds of one run, if it runs.
static bool time_run(trials *t, cl_kernel kernel, double *least)
{
    enum { TIMED_TURNS = 4096 };
    const double start = weft_clock();
    if (enqueue(t, kernel, &alone, TIMED_TURNS) != WEFT_OK ||
        weft_cl_read(t->queue, t->out_buffer, 0, sizeof(t->out[0][0]), t->out, 0, NULL,
                     what_we_are) != WEFT_OK)
        return false;
    const double seconds = weft_clock() - start;
    *least = seconds < *least ? seconds : *least;
    return true;
}

// In hardware fma() takes no longer than a product and a sum; in software many times as long. Both
// run alternately until it is one or the other: other load makes a run longer, never shorter. All
// runs take a few milliseconds, and are completed on a busy machine, which needs them most. False
// after a failure.
static bool compare_runs(trials *t, cl_kernel fused, cl_kernel apart, bool *is_faster)
{
    enum { LEAST_RUNS = 4, MOST_RUNS = 32 };
    static const double as_fast = 1.2, slow = 3;
    double fused_least = HUGE_VAL, apart_least = HUGE_VAL, ratio = HUGE_VAL;
    for (int i = 0; i < MOST_RUNS; i++) {
        if (!time_run(t, fused, &fused_least) || !time_run(t, apart, &apart_least))
            return false;
        ratio = fused_least / apart_least;
        if (i >= LEAST_RUNS && (ratio < as_fast || ratio > slow))
            break;
    }
    *is_faster = ratio < (as_fast + slow) / 2;
    return true;
}

static bool time_kernels(trials *t, cl_program program, bool *is_fast)
{
    cl_kernel fused = NULL, apart = NULL;
    const bool is_timed =
        weft_program_kernel(program, &weft_source_trial, "time_fma", &fused) == WEFT_OK &&
        weft_program_kernel(program, &weft_source_trial, "time_products", &apart) == WEFT_OK &&
        compare_runs(t, fused, apart, is_fast);
    if (fused)
        clReleaseKernel(fused);
    if (apart)
        clReleaseKernel(apart);
    return is_timed;
}

// False if there is no answer. Not compiling is one.
static bool time_fma(trials *t, bool *is_fast)
{
    cl_program program = NULL;
    const weft_status status = build(t, TIME_FMA, &program);
    *is_fast = false;
    if (status != WEFT_OK)
        return status == WEFT_BUILD_FAILED && runs_at_all(t);
    const bool is_timed = time_kernels(t, program, is_fast);
    clReleaseProgram(program);
    return is_timed;
}

// Measures what the device's answer is not plausible for.
static void measure(trials *t, weft_verdict *verdict)
{
    const weft_limits *limits = t->limits;
    const bool wants_fma = !limits->has_fma && !(verdict->failed & WEFT_TRIAL_FMA);
    const bool wants_cache =
        limits->kind == WEFT_DEVICE_CPU && limits->cache_bytes <= limits->l2_bytes;
    if (verdict->is_measured)
        return;
    if ((wants_fma || wants_cache) && !has_time(t)) {
        leave_out(t, "fma() and the last-level cache", "trials take too long");
        return;
    }
    if (wants_fma && !time_fma(t, &verdict->has_fma)) {
        leave_out(t, "fma()", "its kernels cannot be timed now");
        return;
    }
    if (wants_cache)
        verdict->cache_bytes = max_u64(weft_host_cache_bytes(), limits->cache_bytes);
    verdict->is_measured = true;
}

// ---- set-up and clean-up

static bool make(trials *t)
{
    cl_int code = CL_SUCCESS;
    for (int i = 0; i < N_IN; i++)
        t->in[i] = (7 * i * i + 3 * i + 5) % 61;
    t->queue = clCreateCommandQueue(t->ctx->cl, t->ctx->device, 0, &code);
    if (code == CL_SUCCESS)
        t->in_buffer = clCreateBuffer(t->ctx->cl, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                      sizeof(t->in), t->in, &code);
    if (code == CL_SUCCESS)
        t->out_buffer = clCreateBuffer(t->ctx->cl, CL_MEM_READ_WRITE, sizeof(t->out), NULL, &code);
    return code == CL_SUCCESS;
}

static void unmake(trials *t)
{
    if (t->out_buffer)
        clReleaseMemObject(t->out_buffer);
    if (t->in_buffer)
        clReleaseMemObject(t->in_buffer);
    if (t->queue)
        clReleaseCommandQueue(t->queue);
    free(t);
}

weft_verdict weft_verdict_untried(const weft_limits *limits)
{
    return (weft_verdict){.has_fma = limits->has_fma, .cache_bytes = limits->cache_bytes};
}

bool weft_verdict_is_whole(const weft_verdict *verdict, const weft_limits *limits)
{
    return (claims_of(limits) & ~verdict->tried) == 0 && verdict->is_measured;
}

// Features that are most often claimed wrongly come first: they are tried even if time is short.
void weft_trials_run(weft_context *ctx, const weft_limits *limits, weft_verdict *verdict)
{
    static const trial_kernel *const kernels[] = {&sub_groups, &groups, &alone};
    trials *t = calloc(1, sizeof(*t));
    if (!t)
        return;
    t->ctx = ctx;
    t->limits = limits;
    t->group = group_of(limits);
    t->end = weft_clock() + most_seconds;
    if (make(t)) {
        for (int i = 0; i < 3; i++)
            try_kernel(t, kernels[i], claims_of(limits), verdict);
        measure(t, verdict);
    } else {
        leave_out(t, "the device", "it gives no queue or no memory");
    }
    unmake(t);
}

void weft_trials_name(const weft_limits *limits, char *name, size_t size)
{
    const group g = group_of(limits);
    snprintf(name, size, "trials %x, vectors of %d, groups of %d x %d, sub-groups of %d, cache %d",
             claims_of(limits) | (limits->has_fma ? TIME_FMA : 0U), limits->vector_width, g.items,
             g.items_y, limits->least_subgroup, limits->cache_bytes > limits->l2_bytes);
}
