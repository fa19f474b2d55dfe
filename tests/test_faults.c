// SPDX-License-Identifier: Apache-2.0
// OpenCL calls fail: the n-th one that a case makes, for every n up to the first that fails none.
//
// With kernels in memory each call gives each of its errors; then every call from the n-th on
// fails, as on a device that is gone. Where kernels come from disk or from the compiler a run costs
// milliseconds: there only those calls fail that were not made before, about programs, kernels and
// buffers; and a call gives all its errors where it is met for the first time, then one after the
// other in turn. So it does everywhere with WEFT_TEST_REDUCED.
#define _POSIX_C_SOURCE 200809L // setenv
#include "operation_case.h"
#include "runtime/workspace.h"

#include "fault_layer.h"
#include "sparse/sparse_attention_plan.h"
#include "tiling_text.h"

enum { SCRATCH = 16 << 10 };

static layer_faults *layer;
static operation_operands o;
static char kernels[600]; // a folder of compiled programs
static bool is_reduced;

// Where the kernels of a case are when it begins.
typedef enum fault_kernels {
    IN_MEMORY,
    ON_DISK,
    NOWHERE,
} fault_kernels;

typedef struct walk {
    const operation_case *of;
    fault_kernels from;
    weft_context *ctx;
    operation_results wanted, got;
    long n_faults, n_survived; // where the call did without what had failed
    long live[LAYER_OBJECTS];
} walk;

// ---- what is right

typedef struct excuse {
    cl_int code;
    weft_status status;
    const char *words;
} excuse;

// What the application has brought, and what it may see of a compiler: in words of the library's.
static const excuse excuses[] = {
    {CL_INVALID_CONTEXT, WEFT_BAD_ARGUMENT, "the OpenCL context is not valid"},
    {CL_INVALID_COMMAND_QUEUE, WEFT_BAD_ARGUMENT, "the queue is not valid"},
    {CL_INVALID_EVENT, WEFT_BAD_ARGUMENT, "of the wait list is not valid"},
    {CL_INVALID_MEM_OBJECT, WEFT_BAD_BUFFER, ": the buffer is not valid"},
    {CL_DEVICE_NOT_FOUND, WEFT_NO_DEVICE, "no OpenCL platform here has a device"},
    {CL_OUT_OF_RESOURCES, WEFT_DEVICE_LOST, "the device answers none of the questions"},
    {CL_BUILD_PROGRAM_FAILURE, WEFT_BUILD_FAILED, "does not compile"},
};

static weft_status kind_of(const char *call, cl_int code)
{
    switch (code) {
    case CL_INVALID_MEM_OBJECT: // of an operand; only then it is asked about
        return strcmp(call, "clGetMemObjectInfo") == 0 ? WEFT_BAD_BUFFER : WEFT_OPENCL_ERROR;
    case CL_INVALID_BUFFER_SIZE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
        return WEFT_NO_MEMORY;
    case CL_DEVICE_NOT_AVAILABLE:
        return WEFT_DEVICE_LOST;
    default:
        return WEFT_OPENCL_ERROR;
    }
}

static bool is_excused(weft_status status)
{
    for (size_t i = 0; i < sizeof(excuses) / sizeof(excuses[0]); i++)
        if (excuses[i].code == layer->code && excuses[i].status == status &&
            strstr(weft_last_error(), excuses[i].words))
            return true;
    return false;
}

// Of the right kind, with a sentence that names the error and the call: one of those, where many
// failed.
static void status_check(weft_status status)
{
    char number[16];
    snprintf(number, sizeof(number), "(%d)", (int)layer->code);
    const bool is_named = (layer->goes_on || strstr(weft_last_error(), layer->call)) &&
                          strstr(weft_last_error(), number);
    if (!(status == kind_of(layer->call, layer->code) && is_named) && !is_excused(status))
        fail_msg("%s, call %ld, failed by %d, and this is \"%s\", \"%s\"", layer->call,
                 layer->fails_at, (int)layer->code, weft_status_name(status), weft_last_error());
}

typedef struct spare_call {
    const char *call;
    bool loads; // makes a kernel of what was on disk: what does not serve is compiled
} spare_call;

// What the library goes on without, by intent, besides releases.
static const spare_call spare_calls[] = {
    {"clCreateProgramWithBinary", true},
    {"clBuildProgram", true},
    {"clCreateKernel", true},
    {"clGetKernelWorkGroupInfo", false}, // groups are as the device promises
    {"clGetDeviceInfo", false},          // limits are cautious, and so are names
    {"clGetPlatformInfo", false},        // a name is empty
    {"clGetCommandQueueInfo", false},    // scratch memory goes to a queue as if it kept no order
    {"clGetEventInfo", false},           // scratch memory counts as in use
    {"clCreateBuffer", false},           // scratch memory is tried for again, a smaller row chunk
    {"clRetainEvent", false},            // scratch memory is waited for
    {"clRetainCommandQueue", false},     // so it is
};

static bool is_spare(const walk *w)
{
    for (size_t i = 0; i < sizeof(spare_calls) / sizeof(spare_calls[0]); i++)
        if (strcmp(layer->call, spare_calls[i].call) == 0)
            return !spare_calls[i].loads || w->from != NOWHERE;
    return strncmp(layer->call, "clRelease", strlen("clRelease")) == 0;
}

static bool is_wanted(const walk *w)
{
    return memcmp(&w->got, &w->wanted, sizeof(w->got)) == 0;
}

static void count_live(long live[LAYER_OBJECTS])
{
    memcpy(live, layer->live, sizeof(layer->live));
}

static void nothing_left_check(const long before[LAYER_OBJECTS])
{
    static const char *const names[] = {"contexts", "queues", "buffers", "programs",
                                        "kernels",  "events", "devices"};
    for (int i = 0; i < LAYER_OBJECTS; i++)
        if (layer->live[i] != before[i])
            fail_msg("%ld %s before, %ld after call %ld, %s, failed by %d", before[i], names[i],
                     layer->live[i], layer->fails_at, layer->call ? layer->call : "none",
                     (int)layer->code);
}

// ---- a walk

// Runs with the layer in place; which call fails, if any, has been set.
static weft_status watched(weft_status (*run)(void *), void *user)
{
    layer->n_calls = 0;
    layer->call = NULL;
    layer->watches = true;
    const weft_status status = run(user);
    layer->watches = false;
    return status;
}

static weft_status run_case(void *user)
{
    walk *w = user;
    return w->of->run(&o, w->ctx);
}

// Matrices are checked where there are events.
static void open_for(walk *w)
{
    assert_ok(weft_context_create(&w->ctx, o.cl, o.device,
                                  WEFT_CONTEXT(.cache_dir = w->from == NOWHERE ? "" : kernels,
                                               .scratch_bytes = SCRATCH,
                                               .check_matrices = o.wants_event)));
}

static void run_soundly(walk *w)
{
    layer->fails_at = 0;
    operation_clear(&o);
    assert_ok(watched(run_case, w));
    operation_read(&o, &w->got);
}

// Call number n fails by that error: false where there are fewer calls.
static bool fail_at(walk *w, long n, int error)
{
    if (w->from != IN_MEMORY)
        open_for(w);
    operation_clear(&o);
    layer->fails_at = n;
    layer->error = error;
    const long n_kernels = layer->n_kernels;
    const weft_status status = watched(run_case, w);
    operation_read(&o, &w->got);
    const bool did_fail = layer->call != NULL;
    if (status != WEFT_OK && !did_fail)
        fail_msg("nothing failed: %s", weft_last_error());
    if (status != WEFT_OK)
        status_check(status);
    else if (!is_wanted(w))
        fail_msg("call %ld, %s, failed by %d: the results are wrong", n, layer->call,
                 (int)layer->code);
    else if (did_fail && !layer->goes_on && !is_spare(w))
        fail_msg("call %ld, %s, failed by %d, and nobody says so", n, layer->call,
                 (int)layer->code);
    if (status != WEFT_OK && layer->n_kernels == n_kernels && !operation_is_clear(&w->got))
        fail_msg("call %ld, %s: no kernel was enqueued, but there are results", n, layer->call);
    w->n_faults += did_fail;
    w->n_survived += did_fail && status == WEFT_OK;
    return did_fail;
}

// The same context serves on.
static void recover(walk *w)
{
    const char *call = layer->call;
    run_soundly(w);
    if (!is_wanted(w))
        fail_msg("after call %s failed by %d: the results are wrong", call, (int)layer->code);
    if (w->from == IN_MEMORY)
        return;
    weft_context_destroy(&w->ctx);
    nothing_left_check(w->live);
}

static bool is_new(const char *call)
{
    static const char *seen[64];
    size_t i = 0;
    while (i < sizeof(seen) / sizeof(seen[0]) && seen[i] && strcmp(seen[i], call) != 0)
        i++;
    assert_true(i < sizeof(seen) / sizeof(seen[0]));
    const bool is_met = seen[i] != NULL;
    seen[i] = call;
    return !is_met;
}

static void walk_calls(walk *w)
{
    for (long n = 1; fail_at(w, n, (int)n); n++) {
        const bool gives_all = is_new(layer->call) || (w->from == IN_MEMORY && !is_reduced);
        const int n_errors = gives_all && !layer->goes_on ? layer->n_errors : 1;
        recover(w);
        for (int i = 1; i < n_errors; i++) {
            assert_true(fail_at(w, n, (int)n + i));
            recover(w);
        }
    }
    if (w->from != IN_MEMORY)
        weft_context_destroy(&w->ctx);
}

static void walk_case(const operation_case *of, fault_kernels from, bool wants_event, bool goes_on)
{
    walk *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    *w = (walk){.of = of, .from = from};
    o.wants_event = wants_event;
    o.queue = wants_event && o.out_of_order ? o.out_of_order : o.in_order;
    count_live(w->live);
    layer->only_makers = layer->goes_on = false;
    open_for(w);
    run_soundly(w); // kernels are there now
    w->wanted = w->got;
    run_soundly(w);
    assert_true(is_wanted(w));
    assert_true(operation_is_clear(&w->got) == of->writes_nothing);
    if (from != IN_MEMORY)
        weft_context_destroy(&w->ctx);
    layer->only_makers = from != IN_MEMORY;
    layer->goes_on = goes_on;
    walk_calls(w);
    weft_context_destroy(&w->ctx);
    nothing_left_check(w->live);
    assert_in_range(w->n_faults, 1, 100000);
    print_message("# %s%s%s: %ld faults injected, %ld of them done without, nothing left\n",
                  of->name, wants_event ? ", with events and matrices checked" : "",
                  goes_on ? ", each for good" : "", w->n_faults, w->n_survived);
    free(w);
}

// ---- what is not an operation

// Opens and closes a context of its own, as on a GPU where a layer pretends to be one: there a
// kernel is tried.
static weft_status open_as(const char *device)
{
    weft_context *other = (void *)&o; // which a failure has to set to NULL
    setenv("WEFT_LAYER_DEVICE", device, 1);
    const weft_status status = weft_context_open(&other, WEFT_CONTEXT(.cache_dir = kernels));
    unsetenv("WEFT_LAYER_DEVICE");
    assert_true((other != NULL) == (status == WEFT_OK));
    if (status == WEFT_OK)
        assert_ok(weft_limits_check(weft_context_limits(other)));
    weft_context_destroy(&other);
    return status;
}

static weft_status open_any(operation_operands *operands, weft_context *ctx)
{
    (void)operands;
    (void)ctx;
    return open_as("");
}

static weft_status open_gpu(operation_operands *operands, weft_context *ctx)
{
    (void)operands;
    (void)ctx;
    return open_as("nvidia");
}

// From the first call to the last: kernels come from disk.
static weft_status whole_life(operation_operands *operands, weft_context *ctx)
{
    weft_context *other;
    (void)ctx;
    weft_status status =
        weft_context_create(&other, operands->cl, operands->device,
                            WEFT_CONTEXT(.cache_dir = kernels, .scratch_bytes = SCRATCH));
    if (status == WEFT_OK)
        status = operation_cases[0].run(operands, other);
    weft_context_destroy(&other);
    return status;
}

// All scratch memory is in use, until somebody waits for it, and some is wanted on another queue.
static weft_status wait_for_scratch(operation_operands *operands, weft_context *ctx)
{
    cl_int code;
    cl_mem all = NULL, some = NULL;
    const bool is_watched = operation_look_away(operands);
    cl_event gate = clCreateUserEvent(operands->cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    assert_ok(weft_workspace_take(ctx, operands->in_order, "op", SCRATCH, &all));
    weft_workspace_give(ctx, operands->in_order, all, gate);
    layer->gate = gate;
    operation_look_again(operands, is_watched);
    const weft_status status =
        weft_workspace_take(ctx, operands->out_of_order, "op", SCRATCH / 2, &some);
    operation_look_away(operands);
    if (layer->gate)
        clSetUserEventStatus(gate, CL_COMPLETE); // nobody has waited
    layer->gate = NULL;
    clReleaseEvent(gate);
    weft_workspace_give(ctx, operands->out_of_order, some, NULL);
    return status;
}

// Three kernels that wait for what the same thread does later: whatever fails, and wherever, the
// call does not wait for them. It does for scratch memory whose event cannot be kept.
static weft_status attend_behind_a_gate(operation_operands *operands, weft_context *ctx)
{
    cl_int code;
    const weft_sparse_attention_tiling in_steps = {.in_steps = true};
    const weft_tensor O =
        weft_matrix(operands->outputs[0], WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    const bool is_watched = operation_look_away(operands);
    cl_event gate = clCreateUserEvent(operands->cl, &code);
    assert_int_equal(code, CL_SUCCESS);
    layer->gate = gate;
    operation_look_again(operands, is_watched);
    const weft_status status = weft_sparse_attention(
        ctx, operands->queue, 1, &operands->X, &operands->Y, &operands->Z, &operands->A, &O,
        WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, &in_steps), .n_wait = 1,
                              .wait = &gate));
    operation_look_away(operands);
    const char *call = layer->call ? layer->call : "";
    const bool cannot_keep =
        strcmp(call, "clRetainEvent") == 0 || strcmp(call, "clRetainCommandQueue") == 0;
    if (!layer->gate && !cannot_keep)
        fail_msg("call %ld, %s: the queue was waited for", layer->fails_at, layer->call);
    if (layer->gate)
        clSetUserEventStatus(gate, CL_COMPLETE);
    layer->gate = NULL;
    clReleaseEvent(gate);
    return status;
}

// Offsets and indices, each in one row chunk, are read once for all steps of all heads.
static weft_status attend_with_checks(operation_operands *operands, weft_context *checking)
{
    const weft_sparse_attention_tiling in_steps = {.in_steps = true};
    const weft_tensor O =
        weft_matrix(operands->outputs[0], WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    const long n_reads = layer->n_reads;
    const weft_status status = weft_sparse_attention(
        checking, operands->queue, 1, &operands->X, &operands->Y, &operands->Z, &operands->A, &O,
        WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, &in_steps)));
    if (status == WEFT_OK)
        assert_int_equal(layer->n_reads - n_reads, 2);
    return status;
}

static const operation_case other_cases[] = {
    {.name = "attention in steps with its pattern checked", .run = attend_with_checks},
    {.name = "attention in steps behind a gate", .run = attend_behind_a_gate},
    {.name = "a context", .run = open_any, .writes_nothing = true},
    {.name = "a context as for a GPU", .run = open_gpu, .writes_nothing = true},
    {.name = "a context for one product", .run = whole_life},
    {.name = "a wait for scratch memory", .run = wait_for_scratch, .writes_nothing = true},
};

// ---- the tests

static void walk_in_memory(const operation_case *of, bool wants_event)
{
    walk_case(of, IN_MEMORY, wants_event, false);
    walk_case(of, IN_MEMORY, wants_event, true);
}

static void test_in_memory(void **state)
{
    walk_in_memory(*state, false);
    walk_in_memory(*state, true);
}

static void test_on_disk(void **state)
{
    walk_case(*state, ON_DISK, false, false);
}

static void test_nowhere(void **state)
{
    walk_case(*state, NOWHERE, false, false);
}

static void test_others(void **state)
{
    const operation_case *of = *state;
    walk_in_memory(of, of->run == attend_with_checks);
    if (of->run == wait_for_scratch)
        assert_false(is_new("clFlush")); // among what has failed
}

static int set_up(void **state)
{
    (void)state;
    is_reduced = getenv("WEFT_TEST_REDUCED") != NULL;
    snprintf(kernels, sizeof(kernels), "%s/kernels", test_dir());
    operation_operands_create(&o);
    o.watches = &layer->watches;
    return 0;
}

static int set_up_one(void **state)
{
    (void)state;
    restore_layer(layer);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    operation_operands_destroy(&o);
    return 0;
}

typedef struct walk_kind {
    const char *name;
    CMUnitTestFunction test;
    const operation_case *cases;
    size_t n;
} walk_kind;

// The last case, which runs nothing, makes no programs that the others do not make.

static const walk_kind kinds[] = {
    {"memory", test_in_memory, operation_cases, OPERATION_CASES},
    {"disk", test_on_disk, operation_cases, OPERATION_CASES - 1},
    {"nowhere", test_nowhere, operation_cases, OPERATION_CASES - 1},
    {"others", test_others, other_cases, sizeof(other_cases) / sizeof(other_cases[0])},
};

static int run_all(const walk_kind *kind)
{
    struct CMUnitTest tests[OPERATION_CASES] = {{0}};
    for (size_t i = 0; i < kind->n; i++)
        tests[i] = (struct CMUnitTest){.name = kind->cases[i].name,
                                       .test_func = kind->test,
                                       .setup_func = set_up_one,
                                       .initial_state = (void *)(uintptr_t)&kind->cases[i]};
    return _cmocka_run_group_tests("faults", tests, kind->n, set_up, tear_down);
}

int main(int argc, char **argv)
{
    need_device();
    layer = need_layer();
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (argc == 2 && strcmp(argv[1], kinds[i].name) == 0)
            return run_all(&kinds[i]);
    printf("Bail out! wanted: memory, disk, nowhere or others\n");
    return 2;
}
