// SPDX-License-Identifier: Apache-2.0
// What a matrix product needs beside its operands: how much scratch memory it wants; what it says
// that it would do; products that are empty; and memory that runs out.
#include "matmul_good.h"

#include <math.h>

#include "dense/matmul_tiling.h"
#include "short_memory.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static matmul_operands o; // of the running test

static int make_operands(void **state)
{
    (void)state;
    matmul_create(&o, ctx, queue, &matmul_good_case);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    matmul_destroy(&o);
    return 0;
}

// ---- scratch memory

static size_t workspace_of(const matmul_good *c)
{
    size_t bytes = 0;
    assert_ok(weft_matmul_workspace(ctx, &c->A, &c->B, &c->C, &c->params, &bytes));
    return bytes;
}

// Not a byte less than the sums of the chunks, and little more; chunks of each matrix of the batch.
static void test_workspace_of_the_size_asked_for(void **state)
{
    (void)state;
    char part[96];
    matmul_good c;
    matmul_good_make(&c, &o);
    c.params.tiling = TILING_TEXT(matmul, &matmul_in_chunks);
    const size_t bytes = workspace_of(&c), least = 2 * 3 * 5 * 4 * sizeof(float);
    assert_in_range(bytes, least, least + 256);
    cl_mem enough = strided_zeros(ctx, bytes, CL_MEM_READ_WRITE);
    cl_mem less = strided_zeros(ctx, bytes - 1, CL_MEM_READ_WRITE);
    snprintf(part, sizeof(part), "matmul: workspace [%zu] needs %zu bytes, its buffer has %zu",
             bytes, bytes, bytes - 1);
    c.params.workspace = less;
    matmul_refuse(&c, &o, WEFT_BAD_BUFFER, part);
    c.params.workspace = enough;
    assert_ok(matmul_good_call(&c, &c.params));
    matmul_check(&o);
    clReleaseMemObject(enough);
    clReleaseMemObject(less);
}

static void test_no_workspace_where_none_is_needed(void **state)
{
    (void)state;
    matmul_good c;
    size_t bytes = 1;
    matmul_good_make(&c, &o);
    c.params.tiling = TILING_TEXT(matmul, &matmul_in_chunks);
    c.A.shape[2] = c.B.shape[0] = 2; // one chunk
    assert_int_equal(workspace_of(&c), 0);
    c.A.shape[2] = c.B.shape[0] = 0;
    assert_int_equal(workspace_of(&c), 0);
    assert_int_equal(weft_matmul_workspace(ctx, &o.a.t, &o.b.t, &o.c.t, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("matmul_workspace: bytes is NULL");
    c.B.shape[0] = 5;
    assert_int_equal(weft_matmul_workspace(ctx, &c.A, &c.B, &c.C, NULL, &bytes), WEFT_BAD_SHAPE);
    assert_int_equal(bytes, 0);
}

// The pool is bounded: a batch goes product by product, or by as many as there is room for. Where
// there is none for one, the call fails and says by what.
static void test_scratch_memory_is_bounded(void **state)
{
    (void)state;
    if (is_on("oclgrind")) // which takes the pool's memory for uninitialised
        skip();
    weft_context *other;
    // 240 bytes of sums each, at multiples of 64
    static const uint64_t bounds[] = {64, 256, 600, 2000};
    for (uint64_t i = 0; i < 4; i++) {
        matmul_operands p;
        matmul_case of = matmul_good_case;
        of.seed = 4 * i; // without a workspace
        of.batch[0] = 5;
        of.tiling = &matmul_in_chunks;
        assert_ok(
            weft_context_open(&other, WEFT_CONTEXT(.scratch_bytes = bounds[i], .cache_dir = "")));
        matmul_create(&p, other, weft_context_queue(other), &of);
        const weft_matmul_params params = matmul_params(&p);
        if (i > 0) {
            matmul_call(&p);
            matmul_check(&p);
        } else {
            assert_int_equal(weft_matmul(other, p.queue, 1, &p.a.t, &p.b.t, 1, &p.c.t, &params),
                             WEFT_NO_MEMORY);
            assert_says("64 are allowed (scratch_bytes");
            assert_int_equal(weft_context_get_stats(other).launches, 0);
        }
        matmul_destroy(&p);
        weft_context_destroy(&other);
    }
}

// More than any number of bytes: a chunk each of two thousand million terms.
static void test_scratch_memory_beyond_all_bounds(void **state)
{
    (void)state;
    const int64_t most = INT32_MAX - 4096;
    cl_mem line = o.a.t.buffer;
    const weft_tensor A = {.buffer = line, .ndim = 2, .shape = {1000, most}};
    const weft_tensor B = {.buffer = line, .ndim = 2, .shape = {most, 1000}};
    cl_mem many = strided_zeros(ctx, 1000 * 1000 * sizeof(float), CL_MEM_READ_WRITE);
    const weft_tensor C = weft_matrix(many, WEFT_F32, 1000, 1000);
    assert_int_equal(weft_matmul(ctx, queue, 1, &A, &B, 0, &C,
                                 WEFT_MATMUL(.tiling = TILING_TEXT(matmul, &matmul_in_chunks))),
                     WEFT_NO_MEMORY);
    assert_says("matmul");
    clReleaseMemObject(many);
}

// ---- without params

// A long sum of ones, cut in chunks as on a device of many cores: NULL is as good as params of
// which none is set.
static void test_calls_without_params(void **state)
{
    (void)state;
    enum { K = 5000 };
    const float one = 1;
    float sum = 0;
    char text[512], same_text[512];
    size_t bytes = 0, same_bytes = 0;
    const weft_matmul_params *params = WEFT_MATMUL(.n_inputs = 0);
    weft_limits limits = *weft_context_limits(ctx);
    limits.compute_units = limits.max_blocks = 1000;
    weft_context *there = open_context(&limits);
    cl_command_queue on = weft_context_queue(there);
    cl_mem ones = strided_zeros(there, sizeof(one), CL_MEM_READ_WRITE);
    cl_mem sums = strided_zeros(there, sizeof(sum), CL_MEM_READ_WRITE);
    assert_int_equal(clEnqueueWriteBuffer(on, ones, CL_TRUE, 0, sizeof(one), &one, 0, NULL, NULL),
                     CL_SUCCESS);
    const weft_tensor A = {.buffer = ones, .ndim = 2, .shape = {1, K}};
    const weft_tensor B = {.buffer = ones, .ndim = 2, .shape = {K, 1}};
    const weft_tensor C = weft_matrix(sums, WEFT_F32, 1, 1);
    assert_ok(weft_matmul_workspace(there, &A, &B, &C, params, &same_bytes));
    assert_true(same_bytes > 0);
    assert_ok(weft_matmul_workspace(there, &A, &B, &C, NULL, &bytes));
    assert_int_equal(bytes, same_bytes);
    assert_true(weft_matmul_describe(there, &A, &B, &C, params, same_text, sizeof(text)) > 0);
    assert_true(weft_matmul_describe(there, &A, &B, &C, NULL, text, sizeof(text)) > 0);
    assert_string_equal(text, same_text);
    if (!is_on("oclgrind")) { // which takes the pool's memory for uninitialised
        assert_ok(weft_matmul(there, on, 1, &A, &B, 0, &C, NULL));
        assert_int_equal(
            clEnqueueReadBuffer(on, sums, CL_TRUE, 0, sizeof(sum), &sum, 0, NULL, NULL),
            CL_SUCCESS);
        assert_true(sum == K);
    }
    clReleaseMemObject(ones);
    clReleaseMemObject(sums);
    weft_context_destroy(&there);
}

// ---- words

static int describe(const matmul_good *c, char *text, size_t size)
{
    return weft_matmul_describe(ctx, &c->A, &c->B, &c->C, &c->params, text, size);
}

static void test_describe(void **state)
{
    (void)state;
    char text[512], tiling_text[256], little[8];
    matmul_good c;
    matmul_good_make(&c, &o);
    c.params.tiling = TILING_TEXT(matmul, &matmul_in_chunks);
    const int length = describe(&c, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    weft_matmul_tiling_print(&matmul_in_chunks, tiling_text, sizeof(tiling_text));
    if (!strstr(text, tiling_text))
        fail_msg("\"%s\" is not in \"%s\"", tiling_text, text);
    assert_int_equal(describe(&c, little, sizeof(little)), length);
    assert_int_equal(strlen(little), sizeof(little) - 1);
    assert_int_equal(describe(&c, NULL, 0), length);
    assert_int_equal(weft_matmul_describe(ctx, &o.a.t, NULL, &o.c.t, NULL, text, sizeof(text)), -1);
    assert_says("B is NULL");
    matmul_good_make_bare(&c, &o);
    c.A.shape[0] = c.C.shape[0] = 0;
    assert_true(describe(&c, text, sizeof(text)) > 0);
    assert_string_equal(text, "nothing to do");
}

// ---- nothing to do, and little

// Whatever the empty extent is, the call succeeds and its event completes.
static void check_empty(const matmul_good *c)
{
    char text[512];
    cl_event done = NULL;
    weft_matmul_params params = c->params;
    params.event = &done;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(matmul_good_call(c, &params));
    assert_non_null(done);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    assert_int_equal(workspace_of(c), 0);
    assert_true(describe(c, text, sizeof(text)) > 0);
    matmul_expect_untouched(&o);
}

static void test_empty_products(void **state)
{
    (void)state;
    const weft_matmul_tiling nonsense = {.chunk = -1};
    matmul_good c;
    matmul_good_make_bare(&c, &o);
    c.A.shape[0] = c.C.shape[0] = 0;
    c.params.tiling = TILING_TEXT(matmul, &nonsense); // there is nothing to cut
    check_empty(&c);
    matmul_good_make_bare(&c, &o);
    c.A.shape[1] = c.C.shape[1] = 0;
    c.A.buffer = c.C.buffer = NULL;
    check_empty(&c);
    c.B.shape[1] = c.C.shape[2] = 0;
    c.B.buffer = NULL;
    check_empty(&c);
    c.A.shape[2] = c.B.shape[0] = 0;
    check_empty(&c);
}

// Products of nothing: C = f(beta C), by tilings that would suit no k too.
static void test_products_without_terms(void **state)
{
    (void)state;
    const weft_matmul_tiling nonsense = {.chunk = 0};
    for (uint64_t seed = 0; seed < 32; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 7,
                                 .n = seed % 8 < 4 ? 5 : 1,
                                 .k = seed % 2 ? 0 : 6,
                                 .n_batch = 1,
                                 .batch = {3},
                                 .c = {.layout = (strided_layout)(seed % LAYOUT_REPEATING)},
                                 .numbers = seed % 2 ? WHOLE : POISON,
                                 .formula = seed % 3 ? &matmul_bias : NULL,
                                 .alpha = (double)(seed % 2),
                                 .beta = (double)(seed / 4 % 3),
                                 .tiling = seed % 2 ? &nonsense : NULL};
        matmul_run(ctx, &one);
    }
    matmul_good c;
    matmul_good_make_bare(&c, &o);
    c.A.shape[2] = c.B.shape[0] = 0;
    c.A.buffer = c.B.buffer = NULL;
    assert_ok(matmul_good_call(&c, &c.params)); // C = C
    matmul_expect_untouched(&o);
}

// alpha 0 reads nothing, but A and B must be sound all the same.

// No terms: nothing that alpha could make NaN.
static void test_wild_factors_of_no_terms(void **state)
{
    (void)state;
    static const double wild[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
    for (uint64_t seed = 0; seed < 12; seed++) {
        const matmul_case one = {.seed = seed,
                                 .m = 5,
                                 .n = 6,
                                 .k = 0,
                                 .dtype = seed % 2 ? WEFT_F16 : WEFT_F32,
                                 .numbers = seed % 4 < 2 ? WHOLE : WILD_C,
                                 .alpha = wild[seed % 3],
                                 .beta = seed < 6 ? 2 : 0};
        matmul_run(ctx, &one);
    }
}

// ---- memory that runs out

// How many allocations could fail before everything worked with none failing.
static int fail_one_after_the_other(const matmul_good *c)
{
    for (int n = 1; n < 1000; n++) {
        strided_restore(&o.c, queue);
        countdown = n;
        const weft_status status = matmul_good_call(c, &c->params);
        const bool did_fail = countdown == 0;
        countdown = 0;
        if (!did_fail) {
            assert_ok(status);
            matmul_check(&o);
            return n - 1;
        }
        if (status == WEFT_OK)
            matmul_check(&o);
        else if (status != WEFT_NO_MEMORY)
            fail_msg("allocation %d: %s: %s", n, weft_status_name(status), weft_last_error());
        else
            matmul_expect_untouched(&o);
    }
    fail_msg("allocations without end");
    return 0;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    cl_mem own = strided_zeros(ctx, 4096, CL_MEM_READ_WRITE);
    matmul_good c;
    matmul_good_make(&c, &o);
    // What a context remembers allocates nothing; with a space more it is a call that it does not.
    char tiling[256];
    snprintf(tiling, sizeof(tiling), " %s", TILING_TEXT(matmul, &matmul_in_chunks));
    c.params.tiling = tiling;
    c.params.workspace = is_on("oclgrind") ? own : NULL; // which knows nothing of the pool
    assert_in_range(fail_one_after_the_other(&c), 1, 200);
    clReleaseMemObject(own);
}

#define with_operands(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        with_operands(test_workspace_of_the_size_asked_for),
        with_operands(test_no_workspace_where_none_is_needed),
        with_operands(test_scratch_memory_is_bounded),
        with_operands(test_scratch_memory_beyond_all_bounds),
        with_operands(test_calls_without_params),
        with_operands(test_describe),
        with_operands(test_empty_products),
        with_operands(test_products_without_terms),
        with_operands(test_wild_factors_of_no_terms),
        with_operands(test_every_allocation_may_fail),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
