// SPDX-License-Identifier: Apache-2.0
// Trials of a device: each is seen to fail where its numbers are spoilt or it does not compile;
// what failed is left out of the limits; and what came out is remembered.
#define _POSIX_C_SOURCE 200809L // setenv
#include <pthread.h>
#include <string.h>

#include <weft/rehearsal.h>

#include "base/clamp.h"
#include "base/host_cache.h"
#include "base/os.h"
#include "base/record.h"
#include "runtime.h"
#include "runtime/cache.h"
#include "runtime/context.h"
#include "runtime/probe.h"
#include "runtime/program.h"
#include "runtime/trial.h"
#include "runtime/verdict.h"

// As cl/runtime/trial.cl has them.
enum { N_TRIALS = 11, N_IN = 1024, OUT_BYTES = N_TRIALS * N_IN * (int)sizeof(cl_int) };

// What OpenCL is made to do. The linker sends the library's calls here.
static struct {
    unsigned spoilt;     // trials whose numbers are wrong
    int times;           // and how often, if not 0
    unsigned unknown;    // trials that do not compile
    cl_int build_answer; // of programs of trials
    double seconds;      // that each such program takes longer
} made;

static unsigned built; // trials of the program that was built last
static double hands;   // how far the clock was put forward

double __real_weft_clock(void);
double __wrap_weft_clock(void);

double __wrap_weft_clock(void)
{
    return __real_weft_clock() + hands;
}

cl_int __real_clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *,
                             void(CL_CALLBACK *)(cl_program, void *), void *);
cl_int __wrap_clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *,
                             void(CL_CALLBACK *)(cl_program, void *), void *);
cl_int __real_clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *,
                                  cl_uint, const cl_event *, cl_event *);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue, cl_mem, cl_bool, size_t, size_t, void *,
                                  cl_uint, const cl_event *, cl_event *);

cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                             const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                             void *user)
{
    const char *trials = strstr(options, "-D TRIALS=");
    built = trials ? (unsigned)strtoul(trials + strlen("-D TRIALS="), NULL, 10) : 0;
    hands += trials ? made.seconds : 0;
    if (trials && made.build_answer != CL_SUCCESS)
        return made.build_answer;
    if (built & made.unknown)
        return CL_BUILD_PROGRAM_FAILURE;
    return __real_clBuildProgram(program, n, devices, options, notify, user);
}

cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks,
                                  size_t start, size_t bytes, void *out, cl_uint n_wait,
                                  const cl_event *wait, cl_event *event)
{
    const cl_int code =
        __real_clEnqueueReadBuffer(queue, buffer, CL_TRUE, start, bytes, out, n_wait, wait, event);
    (void)blocks;
    if (bytes != OUT_BYTES || !(built & made.spoilt) || made.times < 0)
        return code;
    if (made.times > 0 && --made.times == 0)
        made.times = -1;
    if (event)
        clWaitForEvents(1, event);
    for (int i = 0; i < N_TRIALS; i++)
        if (made.spoilt >> i & 1)
            ((cl_int *)out)[i * N_IN + 1] ^= 1 << 20;
    return code;
}

static journal heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
static weft_context *ctx; // nothing on disk
static weft_limits claimed;

// As many trials as there are, whatever the device has: where it has no shuffles, kernels exchange
// numbers through local memory in their place, and sizes of sub-groups are not heeded.
static int set_up(void **state)
{
    (void)state;
    memset(&made, 0, sizeof(made));
    weft_limits_forget();
    if (!ctx) {
        assert_ok(weft_context_open(
            &ctx, WEFT_CONTEXT(.cache_dir = "", .log = journal_write, .log_user = &heard)));
        assert_ok(weft_limits_query(weft_context_device(ctx), &claimed));
        weft_limits_probe(ctx, &claimed);
        claimed.has_subgroups = true;
        claimed.least_subgroup = is_on("intel") ? 8 : 4;
    }
    weft_limits_forget();
    journal_clear(&heard);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    memset(&made, 0, sizeof(made));
    weft_limits_forget();
    return 0;
}

// What a device of these claims is tried for: what all are, and what it claims itself.
static unsigned tried_of(const weft_limits *limits)
{
    return WEFT_TRIAL_FMA | WEFT_TRIAL_FETCHES | WEFT_TRIAL_STRUCTS |
           (limits->has_f64 ? WEFT_TRIAL_F64 : 0U) | (limits->has_f16 ? WEFT_TRIAL_F16 : 0U) |
           (limits->vector_width > 1 ? WEFT_TRIAL_STREAMS | WEFT_TRIAL_SELECTS : 0U) |
           WEFT_TRIAL_TREES | WEFT_TRIAL_BARRIERS | WEFT_TRIAL_SHUFFLES | WEFT_TRIAL_SIZES;
}

static bool was_tried(void)
{
    return strstr(heard.text, "trial.cl compiled") != NULL;
}

// What is known to fail: copies of structs on Mesa's (22.3, 25.0), and on PoCL 6.0 and Oclgrind
// shuffles, which their compilers name and they do not have.
static unsigned known_to_fail(void)
{
    if (is_on("rusticl"))
        return WEFT_TRIAL_STRUCTS;
    return is_on("pocl") || is_on("oclgrind") ? WEFT_TRIAL_SHUFFLES : 0U;
}

// What fails on this device without our doing; most often nothing.
static unsigned failed_anyway(void)
{
    weft_limits limits = claimed;
    weft_limits_try(ctx, &limits);
    weft_limits_forget();
    assert_int_equal(limits.failed_trials & ~known_to_fail(), 0);
    return limits.failed_trials;
}

static void test_each_wrong_number_is_seen(void **state)
{
    (void)state;
    const unsigned anyway = failed_anyway();
    for (int i = 0; i < N_TRIALS; i++) {
        const unsigned bit = 1U << i;
        weft_limits limits = claimed;
        made.spoilt = bit;
        weft_limits_try(ctx, &limits);
        weft_limits_forget();
        assert_int_equal(limits.failed_trials, anyway | (bit & tried_of(&claimed)));
        assert_ok(weft_limits_check(&limits));
    }
}

static void test_what_does_not_compile_fails_alone(void **state)
{
    (void)state;
    const unsigned anyway = failed_anyway();
    for (int i = 0; i < N_TRIALS; i++) {
        weft_limits limits = claimed;
        made.unknown = 1U << i;
        weft_limits_try(ctx, &limits);
        weft_limits_forget();
        assert_int_equal(limits.failed_trials, anyway | (made.unknown & tried_of(&claimed)));
        assert_int_equal(heard.n[WEFT_LOG_ERROR], 0);
    }
}

static void test_what_goes_wrong_once_does_not_count(void **state)
{
    (void)state;
    const unsigned anyway = failed_anyway();
    weft_limits limits = claimed;
    made.spoilt = WEFT_TRIAL_STRUCTS | WEFT_TRIAL_TREES;
    made.times = 1;
    weft_limits_try(ctx, &limits);
    assert_int_equal(limits.failed_trials, anyway);
}

static void test_a_lack_of_memory_is_no_verdict(void **state)
{
    (void)state;
    const unsigned anyway = failed_anyway();
    weft_limits limits = claimed;
    weft_keep_error("as it was");
    made.build_answer = CL_OUT_OF_HOST_MEMORY;
    weft_limits_try(ctx, &limits);
    assert_int_equal(limits.failed_trials, 0);
    assert_true(heard.n[WEFT_LOG_WARNING] > 0);
    assert_non_null(strstr(heard.text, "not tried"));
    assert_string_equal(weft_last_error(), "as it was");

    made.build_answer = CL_SUCCESS; // this process keeps to that, and no other knows of it
    journal_clear(&heard);
    limits = claimed;
    weft_limits_try(ctx, &limits);
    assert_false(was_tried());
    weft_limits_forget();
    limits = claimed;
    weft_limits_try(ctx, &limits);
    assert_true(was_tried());
    assert_int_equal(limits.failed_trials, anyway);
}

// As where the compiler's own folder has no room: it says of everything that it does not compile.
static void test_where_nothing_compiles_nothing_fails(void **state)
{
    (void)state;
    const unsigned anyway = failed_anyway();
    weft_limits limits = claimed;
    made.build_answer = CL_BUILD_PROGRAM_FAILURE;
    weft_limits_try(ctx, &limits);
    assert_int_equal(limits.failed_trials, 0);
    assert_non_null(strstr(heard.text, "not tried"));
    made.build_answer = CL_SUCCESS;
    weft_limits_forget();
    limits = claimed;
    weft_limits_try(ctx, &limits);
    assert_int_equal(limits.failed_trials, anyway);
}

enum { N_THREADS = 8 };

static void *try_on_a_thread(void *limits)
{
    weft_limits_try(ctx, limits);
    return NULL;
}

static void test_threads_wait_for_one_verdict(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // which does not take several threads
        skip();
    pthread_t threads[N_THREADS];
    weft_limits limits[N_THREADS];
    const unsigned anyway = failed_anyway();
    made.spoilt = WEFT_TRIAL_FETCHES;
    made.times = 2; // the first two times: then it is right
    for (int i = 0; i < N_THREADS; i++) {
        limits[i] = claimed;
        assert_int_equal(pthread_create(&threads[i], NULL, try_on_a_thread, &limits[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(limits[i].failed_trials, anyway | WEFT_TRIAL_FETCHES);
}

static weft_limits limits_in(const char *folder, bool trusts_device)
{
    weft_context *other;
    journal_clear(&heard);
    assert_ok(weft_context_open(&other,
                                WEFT_CONTEXT(.cache_dir = folder, .log = journal_write,
                                             .log_user = &heard, .trusts_device = trusts_device)));
    const weft_limits limits = *weft_context_limits(other);
    const weft_context_stats stats = weft_context_get_stats(other);
    assert_true(stats.programs_built == 0 && stats.launches == 0);
    weft_context_destroy(&other);
    return limits;
}

static void test_a_verdict_is_remembered(void **state)
{
    (void)state;
    char folder[600];
    snprintf(folder, sizeof(folder), "%s/verdicts", test_dir());
    made.spoilt = WEFT_TRIAL_FETCHES;
    const unsigned failed = limits_in(folder, false).failed_trials;
    assert_true(was_tried());
    assert_true(failed & WEFT_TRIAL_FETCHES);

    made.spoilt = 0; // by this process, by the folder, and by neither
    assert_int_equal(limits_in("", false).failed_trials, failed);
    assert_false(was_tried());
    weft_limits_forget();
    assert_int_equal(limits_in(folder, false).failed_trials, failed);
    assert_false(was_tried());
    weft_limits_forget();
    assert_int_equal(limits_in("", false).failed_trials, failed & ~(unsigned)WEFT_TRIAL_FETCHES);
    assert_true(was_tried());
}

// The limits as tried in a process of its own, on a machine on which each program takes so long.
static weft_limits limits_of_process(weft_context *in_folder, double seconds)
{
    weft_limits limits = claimed;
    weft_limits_forget();
    journal_clear(&heard);
    made.seconds = seconds;
    weft_limits_try(in_folder, &limits);
    made.seconds = 0;
    return limits;
}

static weft_limits limits_when_busy(weft_context *in_folder)
{
    return limits_of_process(in_folder, 6);
}

static weft_context *context_over(const char *name)
{
    weft_context *other;
    char folder[600];
    snprintf(folder, sizeof(folder), "%s/%s", test_dir(), name);
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.cache_dir = folder, .log = journal_write,
                                                     .log_user = &heard, .trusts_device = true)));
    return other;
}

// What is wrong is left out from the first time on, and each process goes on where the last ended.
static void test_a_busy_machine_is_not_believed_more(void **state)
{
    (void)state;
    enum { MOST_PROCESSES = N_TRIALS + 4 };
    const unsigned anyway = failed_anyway();
    weft_context *other = context_over("busy");
    made.unknown = WEFT_TRIAL_SHUFFLES;
    weft_limits limits = limits_when_busy(other);
    int n_processes = 1;
    for (; heard.n[WEFT_LOG_WARNING] > 0 && n_processes < MOST_PROCESSES; n_processes++) {
        assert_true(limits.failed_trials & WEFT_TRIAL_SHUFFLES);
        assert_false(limits.has_subgroups);
        limits = limits_when_busy(other);
    }
    assert_in_range(n_processes, 3, MOST_PROCESSES - 1);
    assert_int_equal(limits.failed_trials, anyway | WEFT_TRIAL_SHUFFLES);
    limits_when_busy(other);
    assert_false(was_tried());
    weft_context_destroy(&other);
}

// Where time is up, too, no answer is no failure, and takes no doubt away.
static void test_no_answer_of_a_busy_machine_is_no_verdict(void **state)
{
    (void)state;
    static const cl_int answers[] = {CL_OUT_OF_HOST_MEMORY, CL_BUILD_PROGRAM_FAILURE};
    for (int i = 0; i < 2; i++) {
        weft_context *other = context_over(i == 0 ? "no_memory" : "no_program");
        made.build_answer = answers[i];
        assert_int_equal(limits_when_busy(other).failed_trials, 0);
        assert_non_null(strstr(heard.text, "not tried"));
        made.build_answer = CL_SUCCESS;
        made.spoilt = WEFT_TRIAL_SIZES;
        assert_true(limits_when_busy(other).failed_trials & WEFT_TRIAL_SIZES);
        made.spoilt = 0;
        made.build_answer = answers[i];
        assert_true(limits_when_busy(other).failed_trials & WEFT_TRIAL_SIZES);
        made.build_answer = CL_SUCCESS;
        assert_false(limits_of_process(other, 0).failed_trials & WEFT_TRIAL_SIZES);
        weft_context_destroy(&other);
    }
}

// fma() of which it says that it has none in hardware is timed all the same, or the next time.
static void test_a_busy_machine_times_fma(void **state)
{
    (void)state;
    enum { MOST_PROCESSES = N_TRIALS + 4 };
    weft_context *other = context_over("busy_fma");
    const weft_limits before = claimed;
    claimed.has_fma = false;
    weft_limits quiet = claimed, busy = claimed;
    weft_limits_try(ctx, &quiet);
    int n_processes = 0;
    do
        busy = limits_when_busy(other);
    while (heard.n[WEFT_LOG_WARNING] > 0 && ++n_processes < MOST_PROCESSES);
    claimed = before;
    assert_true(n_processes < MOST_PROCESSES);
    assert_int_equal(busy.has_fma, quiet.has_fma);
    weft_context_destroy(&other);
}

static void test_a_damaged_record_is_a_miss(void **state)
{
    (void)state;
    static const char *const records[] = {
        "",
        "failed",
        "failed 0 fma 1 cache 5",
        "tried 7ff failed 0 doubted 0 measured 1 fma 1 cache 5 ",
        "tried 7ff failed zz doubted 0 measured 1 fma 0 cache 0",
        "tried 7ff failed 0 doubted 0 measured 1 fma 1 cache 9999999999999999999999999999999999",
    };
    weft_context *other = context_over("damaged");
    char name[128];
    weft_blob key;
    weft_trials_name(&claimed, name, sizeof(name));
    assert_ok(weft_cache_key(other, name, weft_source_trial.text, &key));
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        char text[128];
        const int length = snprintf(text, sizeof(text), "%s", records[i]);
        const weft_blob record = {(unsigned char *)text, (size_t)length};
        weft_limits limits = claimed;
        weft_cache_save(other->cache, &key, &record);
        weft_limits_forget();
        journal_clear(&heard);
        weft_limits_try(other, &limits);
        assert_true(was_tried());
    }
    weft_blob_clear(&key);
    weft_context_destroy(&other);
}

static void test_a_trusted_device_is_not_tried(void **state)
{
    (void)state;
    made.spoilt = ~0U;
    const unsigned known = claimed.failed_trials;
    assert_int_equal(limits_in("", true).failed_trials, known);
    assert_null(strstr(heard.text, "trial.cl"));
}

// ---- what follows

static void test_kernels_are_told(void **state)
{
    (void)state;
    static const struct {
        unsigned failed;
        bool has_more_fma;
        const char *option;
    } told[] = {
        {WEFT_TRIAL_FMA, false, "-D FMA_IS_FAST=0"},
        {0, true, "-D FMA_IS_FAST=1"},
        {WEFT_TRIAL_STREAMS, false, "-D MAY_STREAM=0"},
        {WEFT_TRIAL_FETCHES, false, "-D MAY_FETCH=0"},
    };
    weft_defines defines = {0};
    weft_defines_add(&defines, "FACTOR", 2);
    for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        weft_context *other;
        weft_kernel *kernel, *again;
        assert_ok(
            weft_context_open(&other, WEFT_CONTEXT(.cache_dir = "", .trusts_device = true,
                                                   .log = journal_write, .log_user = &heard)));
        journal_clear(&heard);
        other->limits.failed_trials = told[i].failed;
        other->has_more_fma = told[i].has_more_fma;
        assert_ok(weft_kernel_get(other, &step_source, &defines, "step_up", &kernel));
        assert_non_null(strstr(heard.text, told[i].option));
        assert_ok(weft_kernel_get(other, &step_source, &defines, "step_up", &again));
        assert_ptr_equal(kernel, again);
        weft_context_destroy(&other);
    }
}

static void test_other_limits_trust_no_more(void **state)
{
    (void)state;
    weft_context *other;
    made.spoilt = WEFT_TRIAL_BARRIERS | WEFT_TRIAL_F64;
    assert_ok(weft_context_open(
        &other, WEFT_CONTEXT(.cache_dir = "", .limits = weft_profile_find("a100"))));
    const weft_limits *limits = weft_context_limits(other);
    assert_true(limits->failed_trials & WEFT_TRIAL_BARRIERS);
    assert_int_equal(limits->max_items, 1);
    assert_false(limits->has_f64);
    weft_context_destroy(&other);
}

// Limits that know of a failure, from elsewhere: kernels do without, too.
static void test_other_limits_may_trust_less(void **state)
{
    (void)state;
    weft_context *other;
    weft_limits limits = claimed;
    limits.has_subgroups = false;
    limits.least_subgroup = 0;
    limits.failed_trials |= WEFT_TRIAL_STREAMS | WEFT_TRIAL_FMA;
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.cache_dir = "", .limits = &limits)));
    assert_true(other->limits.failed_trials & WEFT_TRIAL_STREAMS);
    assert_false(other->limits.has_fma);
    assert_false(other->has_more_fma); // though it may be fast there (Intel's)
    weft_context_destroy(&other);
    assert_ok(weft_rehearsal_create(&other, &limits, NULL));
    assert_true(other->limits.failed_trials & WEFT_TRIAL_STREAMS);
    weft_context_destroy(&other);
}

// ---- the last cache

static void test_sizes_are_read(void **state)
{
    (void)state;
    assert_int_equal(weft_host_cache_read("32768K\n"), 32 << 20);
    assert_int_equal(weft_host_cache_read("1G"), 1 << 30);
    assert_int_equal(weft_host_cache_read("96M"), 96 << 20);
    assert_int_equal(weft_host_cache_read(""), 0);
    assert_int_equal(weft_host_cache_read("-1K"), 0);
    assert_int_equal(weft_host_cache_read("512"), 0);
    assert_int_equal(weft_host_cache_read("99999999999999999999K"), 0);
}

static void test_a_step_in_time_is_a_cache(void **state)
{
    (void)state;
    const double step[WEFT_HOST_CACHE_SIZES] = {1, 1, 1, 1.1, 1.2, 1.5, 8, 9, 9};
    const double none[WEFT_HOST_CACHE_SIZES] = {1, 1, 1, 1, 1.5, 1.5, 1.5, 1.5, 2};
    const double broken[WEFT_HOST_CACHE_SIZES] = {0};
    assert_int_equal(weft_host_cache_size(step), WEFT_HOST_CACHE_LEAST << 5);
    assert_int_equal(weft_host_cache_size(none), 0);
    assert_int_equal(weft_host_cache_size(broken), 0);
    const uint64_t here = weft_host_cache_measure();
    assert_true((here & (here - 1)) == 0 && here <= 32 << 20);
}

#define with_device(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        with_device(test_each_wrong_number_is_seen),
        with_device(test_what_does_not_compile_fails_alone),
        with_device(test_what_goes_wrong_once_does_not_count),
        with_device(test_a_lack_of_memory_is_no_verdict),
        with_device(test_where_nothing_compiles_nothing_fails),
        with_device(test_threads_wait_for_one_verdict),
        with_device(test_a_verdict_is_remembered),
        with_device(test_a_busy_machine_is_not_believed_more),
        with_device(test_no_answer_of_a_busy_machine_is_no_verdict),
        with_device(test_a_busy_machine_times_fma),
        with_device(test_a_damaged_record_is_a_miss),
        with_device(test_a_trusted_device_is_not_tried),
        with_device(test_kernels_are_told),
        with_device(test_other_limits_trust_no_more),
        with_device(test_other_limits_may_trust_less),
        cmocka_unit_test(test_sizes_are_read),
        cmocka_unit_test(test_a_step_in_time_is_a_cache),
    };
    const int n_failed = cmocka_run_group_tests_name("trials", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return n_failed;
}
