// SPDX-License-Identifier: Apache-2.0
// Contexts, the programs they remember, and launches.
#define _POSIX_C_SOURCE                   200809L // setenv
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS         // clCreateCommandQueue
#include <ctype.h>
#include <time.h>

#include "base/clamp.h"
#include "runtime.h"
#include "runtime/context.h"
#include "runtime/probe.h"

// What OpenCL is made to say. The linker sends the library's calls here.
static struct {
    size_t items; // CL_KERNEL_WORK_GROUP_SIZE, where not 0
    cl_int answer, build;
    const char *unknown; // an option that ends a build; NULL: none does
    int n_refused;       // builds, for that
} pretended;

cl_int __real_clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t,
                                       void *, size_t *);
cl_int __wrap_clGetKernelWorkGroupInfo(cl_kernel, cl_device_id, cl_kernel_work_group_info, size_t,
                                       void *, size_t *);
cl_int __real_clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *,
                             void(CL_CALLBACK *)(cl_program, void *), void *);
cl_int __wrap_clBuildProgram(cl_program, cl_uint, const cl_device_id *, const char *,
                             void(CL_CALLBACK *)(cl_program, void *), void *);

cl_int __wrap_clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id device,
                                       cl_kernel_work_group_info what, size_t size, void *value,
                                       size_t *answered)
{
    if (pretended.answer != CL_SUCCESS)
        return pretended.answer;
    const cl_int code =
        __real_clGetKernelWorkGroupInfo(kernel, device, what, size, value, answered);
    if (pretended.items > 0 && what == CL_KERNEL_WORK_GROUP_SIZE)
        memcpy(value, &pretended.items, sizeof(pretended.items));
    return code;
}

cl_int __wrap_clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                             const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                             void *user)
{
    if (pretended.build != CL_SUCCESS)
        return pretended.build;
    if (pretended.unknown && strstr(options, pretended.unknown)) {
        pretended.n_refused++;
        return CL_INVALID_BUILD_OPTIONS;
    }
    return __real_clBuildProgram(program, n, devices, options, notify, user);
}

static journal heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
static weft_context *ctx; // of most tests here: no cache on disk

static int set_up(void **state)
{
    (void)state;
    const weft_status status = weft_context_open(
        &ctx, WEFT_CONTEXT(.log = journal_write, .log_user = &heard, .cache_dir = ""));
    journal_clear(&heard);
    return status;
}

static int tear_down(void **state)
{
    (void)state;
    memset(&pretended, 0, sizeof(pretended));
    weft_context_destroy(&ctx);
    return ctx != NULL;
}

static void test_open_makes_a_queue_of_its_own(void **state)
{
    (void)state;
    cl_device_id device;
    assert_non_null(weft_context_queue(ctx));
    assert_int_equal(clGetCommandQueueInfo(weft_context_queue(ctx), CL_QUEUE_DEVICE, sizeof(device),
                                           &device, NULL),
                     CL_SUCCESS);
    assert_ptr_equal(device, weft_context_device(ctx));
    assert_ok(weft_limits_check(weft_context_limits(ctx)));
    const weft_context_stats stats = weft_context_get_stats(ctx);
    assert_true(stats.programs_built == 0 && stats.programs_loaded == 0 && stats.launches == 0);
}

static void test_create_is_over_the_callers_device(void **state)
{
    (void)state;
    weft_context *second;
    cl_context cl = weft_context_cl(ctx);
    cl_device_id device = weft_context_device(ctx);
    cl_uint before, during, after;
    clGetContextInfo(cl, CL_CONTEXT_REFERENCE_COUNT, sizeof(before), &before, NULL);
    assert_ok(weft_context_create(&second, cl, device, NULL));
    clGetContextInfo(cl, CL_CONTEXT_REFERENCE_COUNT, sizeof(during), &during, NULL);
    assert_ptr_equal(weft_context_cl(second), cl);
    assert_ptr_equal(weft_context_device(second), device);
    assert_null(weft_context_queue(second));
    weft_context_destroy(&second);
    assert_null(second);
    weft_context_destroy(&second);
    weft_context_destroy(NULL);
    clGetContextInfo(cl, CL_CONTEXT_REFERENCE_COUNT, sizeof(after), &after, NULL);
    assert_true(during == before + 1 && after == before);
}

static void test_destroy_gives_all_back(void **state)
{
    (void)state;
    weft_context *second;
    weft_kernel *kernel;
    const weft_defines two = step_defines(2);
    cl_uint references = 0;
    assert_ok(weft_context_open(&second, WEFT_CONTEXT(.cache_dir = "")));
    assert_ok(weft_kernel_get(second, &step_source, &two, "step_up", &kernel));
    run_step(second, kernel, 2, 1);
    cl_context cl = weft_context_cl(second);
    clRetainContext(cl);
    weft_context_destroy(&second);
    // rusticl's own thread lets go of finished work a moment later.
    for (int tries = 0; tries < 6000 && references != 1; ++tries) {
        nanosleep(&(const struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
        clGetContextInfo(cl, CL_CONTEXT_REFERENCE_COUNT, sizeof(references), &references, NULL);
    }
    assert_int_equal(references, 1);
    clReleaseContext(cl);
}

static void test_what_create_refuses(void **state)
{
    (void)state;
    weft_context *out = ctx;
    cl_context cl = weft_context_cl(ctx);
    cl_device_id device = weft_context_device(ctx);
    assert_int_equal(weft_context_create(NULL, cl, device, NULL), WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_context_create(&out, NULL, device, NULL), WEFT_BAD_ARGUMENT);
    assert_null(out);
    assert_int_equal(weft_context_create(&out, cl, NULL, NULL), WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_context_create(&out, cl, device, &(weft_context_params){.size = 0}),
                     WEFT_BAD_ARGUMENT);
    assert_says("WEFT_CONTEXT()");
    assert_int_equal(weft_context_create(&out, cl, (cl_device_id)&out, NULL), WEFT_BAD_ARGUMENT);
    assert_says("not one of");
    weft_limits wrong = *weft_profile_find("v100");
    wrong.warp = 24;
    assert_int_equal(weft_context_create(&out, cl, device, WEFT_CONTEXT(.limits = &wrong)),
                     WEFT_BAD_ARGUMENT);
    assert_says("warp");
    assert_null(out);
    assert_int_equal(weft_context_open(NULL, NULL), WEFT_BAD_ARGUMENT);
}

static void test_limits_of_another_device_are_clamped(void **state)
{
    (void)state;
    weft_context *other;
    weft_limits h100 = *weft_profile_find("h100");
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.limits = &h100, .cache_dir = "")));
    const weft_limits *real = weft_context_limits(ctx), *limits = weft_context_limits(other);
    memset(&h100, 0, sizeof(h100)); // it was copied
    assert_ok(weft_limits_check(limits));
    assert_int_equal(limits->warp, 32);
    assert_int_equal(limits->vector_width, 1);
    assert_true(limits->max_items <= real->max_items && limits->local_bytes <= real->local_bytes);
    assert_true(limits->max_alloc_bytes <= real->max_alloc_bytes);
    assert_int_equal(limits->has_f64, real->has_f64);
    assert_non_null(strstr(limits->name, "nvidia-h100 on "));
    weft_context_destroy(&other);
}

// ---- groups as large as kernels get

static void assert_same_groups(const weft_limits *a, const weft_limits *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->warp, b->warp);
    assert_int_equal(a->max_block, b->max_block);
    assert_int_equal(a->max_items_y, b->max_items_y);
    assert_int_equal(a->max_blocks, b->max_blocks);
    assert_int_equal(a->max_items, b->max_items);
    for (int i = 0; i < 3; i++)
        assert_int_equal(a->max_items_along[i], b->max_items_along[i]);
}

static bool has_groups_of_one(const weft_limits *limits)
{
    return limits->max_block == limits->vector_width * limits->vectors;
}

static void test_limits_are_what_kernels_get(void **state)
{
    (void)state;
    weft_kernel *kernel;
    weft_limits asked;
    const weft_limits *limits = weft_context_limits(ctx);
    const weft_defines two = step_defines(2);
    assert_ok(weft_limits_query(weft_context_device(ctx), &asked));
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_up", &kernel));
    assert_true(weft_kernel_max_items(kernel) >= limits->max_items);
    if (weft_kernel_max_items(kernel) >= (size_t)asked.max_block)
        assert_same_groups(limits, &asked);
    else
        assert_int_equal(weft_kernel_max_items(kernel), limits->max_items);
}

// Opens a context whose programs are kept in the folder, and tells its limits.
static weft_limits limits_in(const char *folder)
{
    weft_context *second;
    journal_clear(&heard);
    assert_ok(weft_context_open(
        &second, WEFT_CONTEXT(.cache_dir = folder, .log = journal_write, .log_user = &heard)));
    const weft_limits limits = *weft_context_limits(second);
    const weft_context_stats stats = weft_context_get_stats(second);
    assert_true(stats.programs_built == 0 && stats.programs_loaded == 0);
    weft_context_destroy(&second);
    return limits;
}

static void test_every_context_has_the_same_limits(void **state)
{
    (void)state;
    char folder[600];
    const weft_limits *limits = weft_context_limits(ctx);
    snprintf(folder, sizeof(folder), "%s/probe", test_dir());
    const weft_limits compiled = limits_in(folder);
    assert_int_equal(heard.n[WEFT_LOG_INFO], !has_groups_of_one(limits)); // else nothing to ask
    assert_int_equal(strstr(heard.text, "probe.cl compiled") != NULL, heard.n[WEFT_LOG_INFO]);
    const weft_limits loaded = limits_in(folder);
    assert_int_equal(strstr(heard.text, "probe.cl loaded") != NULL, heard.n[WEFT_LOG_INFO]);
    assert_same_groups(&compiled, limits);
    assert_same_groups(&loaded, limits);
}

static void test_a_kernels_answer_lowers_the_limits(void **state)
{
    (void)state;
    const weft_limits promised = *weft_profile_find("v100");
    weft_limits limits = promised;
    pretended.items = 48;
    weft_limits_probe(ctx, &limits);
    assert_ok(weft_limits_check(&limits));
    assert_string_equal(limits.name, promised.name);
    assert_int_equal(limits.max_items, 48);
    assert_true(limits.max_items_along[0] == 48 && limits.max_items_along[1] == 48);
    assert_true(limits.warp == 32 && limits.max_block == 32 && limits.max_items_y == 32);
    assert_int_equal(limits.max_blocks, promised.max_blocks * (promised.max_block / 32));
    assert_non_null(strstr(heard.text, "probe.cl compiled: -cl-std=CL1.2 -D ITEMS=1024"));

    pretended.items = (size_t)promised.max_block; // all that is planned for, if not all promised
    limits = promised;
    limits.max_items = 4096;
    weft_limits_probe(ctx, &limits);
    assert_int_equal(limits.max_items, 4096);

    pretended.items = 4; // not asked where a group is one item
    limits = *weft_profile_find("ryzen-5950x");
    assert_true(has_groups_of_one(&limits));
    weft_limits_probe(ctx, &limits);
    assert_true(limits.max_items > 4);
}

static void test_lowered_limits_hold_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (size_t items = 1; items < 1200; items++) {
            const weft_limits *limits = weft_profile_at(i);
            const weft_limits out = weft_limits_lowered(limits, items);
            assert_ok(weft_limits_check(&out));
            assert_true(out.max_items <= items && out.max_items <= limits->max_items);
            assert_int_equal((int64_t)out.max_blocks * out.max_block,
                             (int64_t)limits->max_blocks * limits->max_block);
        }
}

static void test_a_probe_that_fails_changes_nothing(void **state)
{
    (void)state;
    static const struct {
        cl_int answer, build;
        const char *words;
    } failures[] = {
        {CL_INVALID_VALUE, CL_SUCCESS, "clGetKernelWorkGroupInfo failed"},
        {CL_SUCCESS, CL_COMPILER_NOT_AVAILABLE, "CL_COMPILER_NOT_AVAILABLE"},
        {CL_SUCCESS, CL_BUILD_PROGRAM_FAILURE, "probe.cl does not compile"},
        {CL_SUCCESS, CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
    };
    const weft_limits promised = *weft_profile_find("v100");
    weft_keep_error("as it was");
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        weft_limits limits = promised;
        journal_clear(&heard);
        pretended.answer = failures[i].answer;
        pretended.build = failures[i].build;
        weft_limits_probe(ctx, &limits);
        assert_same_groups(&limits, &promised);
        assert_int_equal(heard.n[WEFT_LOG_WARNING], 1);
        assert_non_null(strstr(heard.text, failures[i].words));
        assert_string_equal(weft_last_error(), "as it was");
    }
}

// ----

static void test_devices_are_chosen_by_name(void **state)
{
    (void)state;
    weft_context *out;
    char *named = getenv("WEFT_DEVICE") ? strdup(getenv("WEFT_DEVICE")) : NULL;
    char name[8] = {0};
    for (int i = 0; i < 7; i++)
        name[i] = (char)(i % 2 ? toupper(weft_context_limits(ctx)->name[i])
                               : tolower(weft_context_limits(ctx)->name[i]));
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.device = name, .cache_dir = "")));
    weft_context_destroy(&out);

    setenv("WEFT_DEVICE", name, 1);
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.cache_dir = "")));
    weft_context_destroy(&out);
    setenv("WEFT_DEVICE", "no such device", 1);
    assert_int_equal(weft_context_open(&out, NULL), WEFT_NO_DEVICE);
    assert_null(out);
    assert_says("no such device");
    assert_says(weft_context_limits(ctx)->name);
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.device = name, .cache_dir = ""))); // goes first
    weft_context_destroy(&out);
    setenv("WEFT_DEVICE", "", 1);
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.cache_dir = "")));
    weft_context_destroy(&out);
    unsetenv("WEFT_DEVICE");
    if (named)
        setenv("WEFT_DEVICE", named, 1);
    free(named);
}

// PoCL calls itself so nowhere but in its vendor's name.
static void test_devices_are_chosen_by_their_vendor(void **state)
{
    (void)state;
    weft_context *out;
    cl_platform_id platform;
    assert_int_equal(clGetDeviceInfo(weft_context_device(ctx), CL_DEVICE_PLATFORM, sizeof(platform),
                                     &platform, NULL),
                     CL_SUCCESS);
    char *vendor = weft_platform_text(platform, CL_PLATFORM_VENDOR);
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.device = vendor, .cache_dir = "")));
    weft_context_destroy(&out);
    free(vendor);
}

static void test_a_profile_is_named_by_the_environment(void **state)
{
    (void)state;
    weft_context *out;
    const weft_limits own = *weft_profile_find("intel-arc-a770");

    setenv("WEFT_PROFILE", "MI300", 1);
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.cache_dir = "")));
    assert_non_null(strstr(weft_context_limits(out)->name, "amd-mi300x on "));
    assert_int_equal(weft_context_limits(out)->vector_width, 1);
    weft_context_destroy(&out);
    assert_ok(weft_context_create(&out, weft_context_cl(ctx), weft_context_device(ctx), NULL));
    assert_non_null(strstr(weft_context_limits(out)->name, "amd-mi300x on "));
    weft_context_destroy(&out);
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.limits = &own, .cache_dir = ""))); // goes first
    assert_non_null(strstr(weft_context_limits(out)->name, "intel-arc-a770 on "));
    weft_context_destroy(&out);

    setenv("WEFT_PROFILE", "no such device", 1);
    assert_int_equal(weft_context_open(&out, NULL), WEFT_BAD_ARGUMENT);
    assert_null(out);
    assert_says("\"no such device\"");
    for (size_t i = 0; i < weft_profile_count(); i++)
        assert_says(weft_profile_at(i)->name);
    setenv("WEFT_PROFILE", "", 1);
    assert_ok(weft_context_open(&out, WEFT_CONTEXT(.cache_dir = "")));
    assert_null(strstr(weft_context_limits(out)->name, "-mi300x on "));
    weft_context_destroy(&out);
    unsetenv("WEFT_PROFILE");
}

static void test_defines_read_as_options(void **state)
{
    (void)state;
    weft_defines defines = {0};
    weft_defines_add(&defines, "VECTOR_WIDTH", 16);
    weft_defines_add_word(&defines, "T", "float");
    weft_defines_add(&defines, "LEAST", INT64_MIN);
    assert_string_equal(defines.text,
                        "-D VECTOR_WIDTH=16 -D T=float -D LEAST=-9223372036854775808");
    assert_int_equal(defines.length, strlen(defines.text));
}

// As Intel's devices have them: sub-groups of 8 to 32, or of 16 and 32 with twice the registers.
static void test_registers_are_asked_for(void **state)
{
    (void)state;
    static const struct {
        int least;
        const char *sub_group, *registers;
    } devices[] = {
        {0, "", ""},
        {8, "-D SUB_GROUP=16", "-D SUB_GROUP=8"},
        {16, "-D SUB_GROUP=16", "-D SUB_GROUP=16 -cl-intel-256-GRF-per-thread"},
        {32, "-D SUB_GROUP=32", "-D SUB_GROUP=32 -cl-intel-256-GRF-per-thread"},
    };
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        weft_defines usual = {0}, many = {0};
        weft_defines_add_sub_group(&usual, devices[i].least, 16);
        weft_defines_add_registers(&many, devices[i].least);
        assert_string_equal(usual.text, devices[i].sub_group);
        assert_string_equal(many.text, devices[i].registers);
    }
}

// Sub-groups of such sizes are no proof of Intel's compiler.
static void test_a_compiler_that_does_not_know_many_registers(void **state)
{
    (void)state;
    weft_kernel *up;
    weft_defines defines = step_defines(5);
    weft_defines_add_registers(&defines, 16);
    pretended.unknown = WEFT_MANY_REGISTERS;
    const weft_status status = weft_kernel_get(ctx, &step_source, &defines, "step_up", &up);
    pretended.unknown = NULL;
    assert_ok(status);
    assert_int_equal(pretended.n_refused, 1);
    run_step(ctx, up, 5, 3);
}

static void test_a_program_is_built_once(void **state)
{
    (void)state;
    weft_kernel *up, *down, *again, *other;
    const weft_defines two = step_defines(2), three = step_defines(3);
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_up", &up));
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_down", &down));
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_up", &again));
    assert_ptr_equal(up, again);
    assert_ptr_not_equal(up, down);
    assert_int_equal(weft_context_get_stats(ctx).programs_built, 1);
    assert_ok(weft_kernel_get(ctx, &step_source, &three, "step_up", &other));
    assert_int_equal(weft_context_get_stats(ctx).programs_built, 2);
    assert_int_equal(heard.n[WEFT_LOG_INFO], 2);
    assert_in_range(weft_kernel_max_items(up), 1, weft_context_limits(ctx)->max_items);

    run_step(ctx, up, 2, 5);
    run_step(ctx, down, 1, 0);
    run_step(ctx, other, 3, -7);
    assert_int_equal(weft_context_get_stats(ctx).launches, 3);
}

// A program whose compiler warns before it fails.
static void test_the_sentence_has_the_error(void **state)
{
    (void)state;
    static const char text[] = "#warning look here\n"
                               "kernel void f(global int *x)\n{\n    x[0] = missing;\n}\n";
    const weft_source source = {"faulty", text, sizeof(text) - 1};
    const weft_defines none = {0};
    weft_kernel *kernel;
    assert_int_equal(weft_kernel_get(ctx, &source, &none, "f", &kernel), WEFT_BUILD_FAILED);
    assert_says("'missing'");
    assert_null(strstr(weft_last_error(), "look here"));
    assert_non_null(strstr(heard.text, "look here"));
}

// Of a program of several files: the file at fault and its line, by which the log finds it, too.
static void test_the_sentence_has_the_file(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // which counts the lines of the whole
        skip();
    static const char file[] = "op/scan.clh:";
    weft_kernel *kernel;
    weft_defines wrong = {0};
    weft_defines_add_word(&wrong, "NUMBER", "no_such_type");
    assert_int_equal(weft_kernel_get(ctx, &weft_source_scan, &wrong, "scan_sums", &kernel),
                     WEFT_BUILD_FAILED);
    assert_says(file);
    char numbered[32];
    snprintf(numbered, sizeof(numbered), "\n%5d  ",
             atoi(strstr(weft_last_error(), file) + strlen(file)));
    const char *begin = strstr(heard.text, "#line 1 \"op/scan.clh\"\n");
    assert_non_null(begin);
    const char *line = strstr(begin, numbered);
    assert_non_null(line);
    assert_non_null(strstr(line, "NUMBER"));
    assert_true(strstr(line, "NUMBER") < strchr(line + 1, '\n'));
}

static void test_a_failed_build_tells_all_and_spoils_nothing(void **state)
{
    (void)state;
    weft_kernel *kernel;
    weft_defines wrong = {0};
    weft_defines_add_word(&wrong, "FACTOR", "no_such_name");
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(weft_kernel_get(ctx, &step_source, &wrong, "step_up", &kernel),
                         WEFT_BUILD_FAILED);
        assert_null(kernel);
        assert_says("step.cl");
        assert_says("-cl-std=CL1.2 -D FACTOR=no_such_name");
        assert_says("error");
        assert_int_equal(heard.n[WEFT_LOG_ERROR], i);
    }
    assert_non_null(strstr(heard.text, "options: -cl-std=CL1.2 -D FACTOR=no_such_name"));
    assert_non_null(strstr(heard.text, "undeclared identifier 'no_such_name'"));
    assert_non_null(strstr(heard.text, "    1  kernel void step_up("));
    assert_non_null(strstr(heard.text, "   10  }\n"));
    assert_int_equal(weft_context_get_stats(ctx).programs_built, 0);

    const weft_defines two = step_defines(2);
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_up", &kernel));
    assert_int_not_equal(weft_kernel_get(ctx, &step_source, &two, "step_aside", &kernel), WEFT_OK);
    assert_says("step_aside");
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_down", &kernel));
}

enum { n_threads = 8 };

// Each thread wants its own program, the one of its neighbour, and one that all want.
static void *build_and_run(void *argument)
{
    const int mine = *(const int *)argument;
    weft_kernel *kernel;
    for (int i = 0; i < 6; i++) {
        const int64_t factor = i % 3 == 0 ? 100 : i % 3 == 1 ? mine : (mine + 1) % n_threads;
        const weft_defines defines = step_defines(factor);
        assert_ok(weft_kernel_get(ctx, &step_source, &defines, "step_up", &kernel));
        run_step(ctx, kernel, factor, mine * 10 + i);
    }
    return NULL;
}

static void test_threads_share_programs_and_a_queue(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // its host side takes one thread at a time
        skip();
    pthread_t threads[n_threads];
    int numbers[n_threads];
    for (int i = 0; i < n_threads; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, build_and_run, &numbers[i]), 0);
    }
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    const weft_context_stats stats = weft_context_get_stats(ctx);
    assert_int_equal(stats.programs_built, n_threads + 1);
    assert_int_equal(stats.launches, n_threads * 6);
}

static void test_what_a_launch_refuses(void **state)
{
    (void)state;
    weft_context *other;
    weft_launch launch;
    cl_int code;
    cl_command_queue queue = weft_context_queue(ctx);
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.cache_dir = "")));
    cl_event alien = clCreateUserEvent(weft_context_cl(other), &code);
    const cl_event none = NULL;

    assert_int_equal(weft_launch_begin(&launch, NULL, queue, "op", 0, NULL, false),
                     WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_launch_begin(&launch, ctx, NULL, "op", 0, NULL, false),
                     WEFT_BAD_ARGUMENT);
    assert_says("op: the queue is NULL");
    assert_int_equal(weft_launch_begin(&launch, other, queue, "op", 0, NULL, false),
                     WEFT_BAD_ARGUMENT);
    assert_says("another OpenCL context");
    assert_int_equal(weft_launch_begin(&launch, ctx, queue, "op", 1, NULL, false),
                     WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_launch_begin(&launch, ctx, queue, "op", 0, &alien, false),
                     WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_launch_begin(&launch, ctx, queue, "op", 1, &none, false),
                     WEFT_BAD_ARGUMENT);
    assert_says("event 0");
    assert_int_equal(weft_launch_begin(&launch, ctx, queue, "op", 1, &alien, false),
                     WEFT_BAD_ARGUMENT);
    assert_says("event 0 of the wait list is of another context");
    clSetUserEventStatus(alien, CL_COMPLETE);
    clReleaseEvent(alien);
    weft_context_destroy(&other);
}

// x = 2 x + i for i = 0 to 29 over one buffer, after a user event: order shows in the sum.
static void chain_on(cl_command_queue queue, bool wants_event)
{
    weft_kernel *kernel;
    const weft_defines two = step_defines(2);
    cl_int x[4] = {0}, i, sum = 0, code;
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_up", &kernel));
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, sizeof(x), x, &code);
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;

    const size_t global[3] = {4, 1, 1}, local[3] = {4, 1, 1};
    const weft_argument arguments[] = {ARGUMENT(buffer), ARGUMENT(i)};
    weft_launch launch;
    assert_ok(weft_launch_begin(&launch, ctx, queue, "step", 1, &gate, wants_event));
    for (i = 0; i < 30; i++) {
        assert_ok(weft_launch_kernel(&launch, kernel, 2, arguments, global, local));
        sum = 2 * sum + i;
    }
    assert_ok(weft_launch_end(&launch, WEFT_OK, wants_event ? &done : NULL));
    clSetUserEventStatus(gate, CL_COMPLETE);
    if (wants_event) {
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        clReleaseEvent(done);
    }
    clFinish(queue);
    clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof(x), x, 0, NULL, NULL);
    for (i = 0; i < 4; i++)
        assert_int_equal(x[i], sum);
    clReleaseEvent(gate);
    clReleaseMemObject(buffer);
}

static void test_kernels_of_a_call_keep_their_order(void **state)
{
    (void)state;
    cl_int code;
    chain_on(weft_context_queue(ctx), false);
    chain_on(weft_context_queue(ctx), true);
    cl_command_queue queue = clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx),
                                                  CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &code);
    if (code != CL_SUCCESS)
        return; // such queues are optional
    chain_on(queue, false);
    chain_on(queue, true);
    clReleaseCommandQueue(queue);
}

#define with_context(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    unsetenv("WEFT_PROFILE"); // what is checked here is the device itself
    need_device();
    const struct CMUnitTest tests[] = {
        with_context(test_open_makes_a_queue_of_its_own),
        with_context(test_create_is_over_the_callers_device),
        with_context(test_destroy_gives_all_back),
        with_context(test_what_create_refuses),
        with_context(test_limits_of_another_device_are_clamped),
        with_context(test_limits_are_what_kernels_get),
        with_context(test_every_context_has_the_same_limits),
        with_context(test_a_kernels_answer_lowers_the_limits),
        with_context(test_lowered_limits_hold_together),
        with_context(test_a_probe_that_fails_changes_nothing),
        with_context(test_devices_are_chosen_by_name),
        with_context(test_devices_are_chosen_by_their_vendor),
        with_context(test_a_profile_is_named_by_the_environment),
        with_context(test_defines_read_as_options),
        with_context(test_registers_are_asked_for),
        with_context(test_a_compiler_that_does_not_know_many_registers),
        with_context(test_a_program_is_built_once),
        with_context(test_the_sentence_has_the_error),
        with_context(test_the_sentence_has_the_file),
        with_context(test_a_failed_build_tells_all_and_spoils_nothing),
        with_context(test_threads_share_programs_and_a_queue),
        with_context(test_what_a_launch_refuses),
        with_context(test_kernels_of_a_call_keep_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
