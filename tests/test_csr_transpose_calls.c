// SPDX-License-Identifier: Apache-2.0
// What weft_csr_transpose() refuses, each in a sentence and without enqueuing anything; scratch
// memory, events, queues of either kind, and few programs.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include <weft/csr_transpose.h>

#include "convert/csr_transpose_plan.h"
#include "format_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;

// Of the running test: A 4 x 6 with every entry, and all that a call is given.
static pattern cells, transposed;
static int64_t *source;
static device_pattern A, T;
static guarded values, t_values, sources;

typedef struct transposition {
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr A, T;
    weft_tensor source;
    weft_csr_transpose_params params;
} transposition;

enum { NNZ = 24 };

static int create_operands(void **state)
{
    (void)state;
    float numbers[NNZ];
    for (int e = 0; e < NNZ; e++)
        numbers[e] = (float)e;
    cells = pattern_of_cells(4, 6, 0xffffff);
    transposed = pattern_transposed(&cells, &source);
    A = device_pattern_create(ctx, &cells, true, WEFT_I32, WEFT_I32, 2);
    T = device_pattern_create(ctx, &transposed, false, WEFT_I32, WEFT_I32, 3);
    values = guarded_create(ctx, numbers, NNZ, sizeof(float), 1);
    t_values = guarded_create(ctx, NULL, NNZ, sizeof(float), 5);
    sources = guarded_create(ctx, NULL, NNZ, sizeof(cl_int), 0);
    A.csr.values = values.buffer;
    A.csr.values_start = values.start;
    T.csr.values = t_values.buffer;
    T.csr.values_start = t_values.start;
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    guarded *const arrays[] = {&values, &t_values, &sources};
    for (int i = 0; i < 3; i++)
        guarded_destroy(arrays[i]);
    device_pattern_destroy(&A);
    device_pattern_destroy(&T);
    pattern_destroy(&cells);
    pattern_destroy(&transposed);
    free(source);
    return 0;
}

// The source that `call` points to is its own.
static weft_status start(transposition *call)
{
    if (call->params.source)
        call->params.source = &call->source;
    return weft_csr_transpose(call->ctx, call->queue, &call->A, &call->T, &call->params);
}

static transposition good_call(void)
{
    return (transposition){
        .ctx = ctx,
        .queue = queue,
        .A = A.csr,
        .T = T.csr,
        .source = {sources.buffer, WEFT_I32, 0, 1, {NNZ}, {1}},
        .params = *WEFT_CSR_TRANSPOSE(.source = (const weft_tensor *)(uintptr_t)&sources),
    };
}

static void check_result(void)
{
    float moved[NNZ];
    cl_int from[NNZ];
    for (int e = 0; e < NNZ; e++) {
        from[e] = (cl_int)source[e];
        moved[e] = (float)source[e];
    }
    device_pattern_check(&T, queue, &transposed);
    guarded_check(&t_values, queue, moved, "values");
    guarded_check(&sources, queue, from, "source");
}

static void check_untouched(void)
{
    const guarded *const arrays[] = {&T.offsets, &T.indices, &t_values, &sources};
    for (int i = 0; i < 4; i++)
        guarded_check(arrays[i], queue,
                      arrays[i]->before + (size_t)arrays[i]->start * arrays[i]->size, "an output");
}

static void restore(void)
{
    const guarded *const arrays[] = {&T.offsets, &T.indices, &t_values, &sources};
    for (int i = 0; i < 4; i++)
        guarded_restore(arrays[i], queue);
}

static void refuse(transposition *call, weft_status want, const char *part)
{
    cl_event event = NULL;
    call->params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = start(call);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    check_untouched();
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        transposition c = good_call();                                                             \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_a_good_call_is_good(void **state)
{
    (void)state;
    transposition c = good_call();
    assert_ok(start(&c));
    check_result();
}

static void test_nulls(void **state)
{
    (void)state;
    assert_int_equal(weft_csr_transpose(ctx, queue, NULL, &T.csr, NULL), WEFT_BAD_ARGUMENT);
    assert_says("csr_transpose: A is NULL");
    assert_int_equal(weft_csr_transpose(ctx, queue, &A.csr, NULL, NULL), WEFT_BAD_ARGUMENT);
    assert_says("csr_transpose: T is NULL");
    assert_int_equal(weft_csr_transpose_workspace(ctx, &A.csr, &T.csr, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("csr_transpose_workspace: bytes is NULL");
}

static void test_shapes_that_disagree(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "A is 4 x 6 with 24 entries, T 6 x 5 with 24", c.T.n_cols = 5);
    REFUSE(WEFT_BAD_SHAPE, "T 4 x 4 with 24", c.T.n_rows = 4);
    REFUSE(WEFT_BAD_SHAPE, "T 6 x 4 with 23", c.T.nnz = 23);
    REFUSE(WEFT_BAD_SHAPE, "A is 4 x 2147483648; at most 2147483647 each",
           c.A.n_cols = c.T.n_rows = INT64_C(1) << 31);
    REFUSE(WEFT_BAD_SHAPE, "24 entries, but no rows", c.A.n_rows = c.T.n_cols = 0);
    REFUSE(WEFT_BAD_SHAPE, "source has 1 dimensions, the first of 23", c.source.shape[0] = 23);
    REFUSE(WEFT_BAD_SHAPE, "source has 2 dimensions", (c.source.ndim = 2, c.source.shape[1] = 1));
}

static void test_types_that_disagree(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_DTYPE, "A is f32, T f16; both must be the same", c.T.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "source is f32, A's offsets are i32", c.source.dtype = WEFT_F32);
}

static void test_operands_that_overlap(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_BUFFER;
    REFUSE(status, "overlaps A's values",
           (c.T.values = NULL, c.T.indices = c.A.values, c.T.indices_start = 0));
    REFUSE(status, "overlaps A's values", (c.T.values = NULL, c.source.buffer = c.A.values));
}

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_csr_transpose_tiling t = {.items = 3, .bits = 4, .run = 2};
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.items is 3: a power of two",
           c.params.tiling = TILING_TEXT(csr_transpose, &t));
    t.items = 1 << 20;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.items is 1048576",
           c.params.tiling = TILING_TEXT(csr_transpose, &t));
    t.items = 1;
    t.bits = 17;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.bits is 17: 1 to 16",
           c.params.tiling = TILING_TEXT(csr_transpose, &t));
    t.bits = 0;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.bits is 0", c.params.tiling = TILING_TEXT(csr_transpose, &t));
    t.bits = 2;
    t.run = 0;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.run is 0: 1 to 32768",
           c.params.tiling = TILING_TEXT(csr_transpose, &t));
    t.run = 32769;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.run is 32769",
           c.params.tiling = TILING_TEXT(csr_transpose, &t));
}

// ---- scratch memory

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue made =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx), properties, &code);
    return code == CL_SUCCESS ? made : NULL;
}

static const weft_csr_transpose_tiling three_passes = {.items = 2, .bits = 1, .run = 3};

static void test_workspace_of_the_size_asked_for(void **state)
{
    (void)state;
    transposition c = good_call();
    size_t bytes;
    c.params.tiling = TILING_TEXT(csr_transpose, &three_passes);
    c.params.source = &c.source;
    assert_ok(weft_csr_transpose_workspace(ctx, &c.A, &c.T, &c.params, &bytes));
    assert_true(bytes >= NNZ * 6 * sizeof(cl_int));
    c.params.event = NULL;
    if (!is_on("oclgrind")) { // the host has not written the pool's memory
        assert_ok(start(&c));
        check_result();
    }
}

// A call on another queue takes memory of its own while the first one is still to begin.
static void test_scratch_memory_is_kept_until_the_call_ends(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // the host has not written the pool's memory
        skip();
    cl_int code;
    cl_command_queue other = new_queue(0);
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code);
    transposition c = good_call();
    c.params.tiling = TILING_TEXT(csr_transpose, &three_passes);
    c.params.n_wait = 1;
    c.params.wait = &gate;
    assert_ok(start(&c));
    const uint64_t before = weft_context_get_stats(ctx).scratch_bytes;
    c.queue = other;
    assert_ok(start(&c));
    assert_true(weft_context_get_stats(ctx).scratch_bytes > before);
    clSetUserEventStatus(gate, CL_COMPLETE);
    clFinish(queue);
    clFinish(other);
    clReleaseEvent(gate);
    clReleaseCommandQueue(other);
    check_result();
}

static void test_it_says_what_it_would_do(void **state)
{
    (void)state;
    char text[200];
    transposition c = good_call();
    c.params.source = NULL;
    c.params.tiling = TILING_TEXT(csr_transpose, &three_passes);
    assert_true(weft_csr_transpose_describe(ctx, &c.A, &c.T, &c.params, text, sizeof(text)) > 0);
    assert_string_equal(text, "3 passes; items 2, bits 1, run 3");
    c.T.nnz = 3;
    assert_int_equal(weft_csr_transpose_describe(ctx, &c.A, &c.T, NULL, text, sizeof(text)), -1);
}

// ---- events and order

// The columns come in behind an event that is still to complete: the call waits for it.
static void wait_on(cl_command_queue on)
{
    cl_int code;
    char *nonsense = new_array((int64_t)A.indices.bytes, 1);
    clEnqueueWriteBuffer(queue, A.indices.buffer, CL_TRUE, 0, A.indices.bytes, nonsense, 0, NULL,
                         NULL);
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    transposition c = good_call();
    c.queue = on;
    c.params.tiling = TILING_TEXT(csr_transpose, &three_passes);
    c.params.n_wait = 1;
    c.params.wait = &gate;
    c.params.event = &done;
    c.params.workspace = new_workspace(ctx, 1 << 16);
    assert_ok(start(&c));
    assert_non_null(done);
    guarded_restore(&A.indices, queue);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    clReleaseMemObject(c.params.workspace);
    free(nonsense);
    check_result();
}

static void test_events_in_order(void **state)
{
    (void)state;
    cl_command_queue other = new_queue(0);
    wait_on(other);
    clReleaseCommandQueue(other);
}

static void test_events_out_of_order(void **state)
{
    (void)state;
    cl_command_queue loose = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    if (!loose)
        skip();
    for (int i = 0; i < 20; i++) { // kernels of a call wait for each other
        restore();
        wait_on(loose);
    }
    clReleaseCommandQueue(loose);
}

// ---- few programs

static void transpose_any(weft_context *on, random_state *random, int64_t most)
{
    int64_t *from;
    pattern p = pattern_create(random, (pattern_kind)random_below(random, N_PATTERNS),
                               random_between(random, 1, most), random_between(random, 1, most),
                               random_between(random, 0, most));
    pattern t = pattern_transposed(&p, &from);
    device_pattern in = device_pattern_create(on, &p, true, WEFT_I32, WEFT_I32, 0);
    device_pattern out = device_pattern_create(on, &t, false, WEFT_I32, WEFT_I32, 0);
    size_t bytes;
    assert_ok(weft_csr_transpose_workspace(on, &in.csr, &out.csr, NULL, &bytes));
    cl_mem workspace = bytes > 0 ? new_workspace(on, bytes) : NULL;
    assert_ok(weft_csr_transpose(on, weft_context_queue(on), &in.csr, &out.csr,
                                 WEFT_CSR_TRANSPOSE(.workspace = workspace)));
    device_pattern_check(&out, weft_context_queue(on), &t);
    if (workspace)
        clReleaseMemObject(workspace);
    device_pattern_destroy(&in);
    device_pattern_destroy(&out);
    pattern_destroy(&p);
    pattern_destroy(&t);
    free(from);
}

// The sort, and the running sums; as on a GPU too.
static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    const weft_limits *const devices[] = {NULL, weft_profile_find("nvidia-a100")};
    const bool is_reduced = getenv("WEFT_TEST_REDUCED");
    for (int i = 0; i < 2; i++) {
        weft_context *fresh = open_context(devices[i]);
        random_state random = {3};
        for (int j = 0; j < (is_reduced ? 5 : 100); j++)
            transpose_any(fresh, &random, is_reduced ? 50 : 3000);
        assert_in_range(weft_context_get_stats(fresh).programs_built, 1, 2);
        weft_context_destroy(&fresh);
    }
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, create_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        WITH_OPERANDS(test_a_good_call_is_good),
        WITH_OPERANDS(test_nulls),
        WITH_OPERANDS(test_shapes_that_disagree),
        WITH_OPERANDS(test_types_that_disagree),
        WITH_OPERANDS(test_operands_that_overlap),
        WITH_OPERANDS(test_tilings_that_do_not_serve),
        WITH_OPERANDS(test_workspace_of_the_size_asked_for),
        WITH_OPERANDS(test_scratch_memory_is_kept_until_the_call_ends),
        WITH_OPERANDS(test_it_says_what_it_would_do),
        WITH_OPERANDS(test_events_in_order),
        WITH_OPERANDS(test_events_out_of_order),
        cmocka_unit_test(test_few_programs_for_many_shapes),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
