// SPDX-License-Identifier: Apache-2.0
// Devices with little memory: what does not fit is refused, with numbers, before anything is
// enqueued; what fits keeps to its bound; and many calls take no more memory than a few.
#include <inttypes.h>
#include <malloc.h>

#include "operation_case.h"
#include "runtime/workspace.h"

#include "fault_layer.h"
#include "sparse/sparse_attention_plan.h"
#include "tiling_text.h"

static layer_faults *layer;
static operation_operands o;
static operation_results wanted, got;
static char kernels[600]; // a folder of compiled programs

// With so much scratch memory; 0: what the device's memory gives.
static weft_context *open_with(uint64_t scratch_bytes)
{
    weft_context *ctx;
    assert_ok(weft_context_create(
        &ctx, o.cl, o.device, WEFT_CONTEXT(.cache_dir = kernels, .scratch_bytes = scratch_bytes)));
    return ctx;
}

static weft_status run_case(const operation_case *of, weft_context *ctx, operation_results *out)
{
    operation_clear(&o);
    const weft_status status = of->run(&o, ctx);
    operation_read(&o, out);
    return status;
}

static void learn(const operation_case *of)
{
    weft_context *ctx = open_with(0);
    assert_ok(run_case(of, ctx, &wanted));
    weft_context_destroy(&ctx);
}

// ---- scratch memory that is bounded

// Refused with both numbers and nothing enqueued, or as learnt and within the bound.
static bool fits_in(weft_context *ctx, const operation_case *of, uint64_t bound)
{
    char allowed[48];
    const long n_kernels = layer->n_kernels;
    const weft_status status = run_case(of, ctx, &got);
    assert_in_range(weft_context_get_stats(ctx).scratch_bytes, 0, bound);
    if (status == WEFT_OK) {
        if (!of->writes_nothing)
            assert_memory_equal(&got, &wanted, sizeof(got));
        return true;
    }
    snprintf(allowed, sizeof(allowed), "are needed, %" PRIu64 " are allowed", bound);
    assert_int_equal(status, WEFT_NO_MEMORY);
    assert_says("bytes of scratch memory");
    assert_says(allowed);
    assert_int_equal(layer->n_kernels, n_kernels);
    assert_true(operation_is_clear(&got));
    return false;
}

static bool fits(const operation_case *of, uint64_t bound)
{
    weft_context *ctx = open_with(bound);
    const bool is_enough = fits_in(ctx, of, bound);
    weft_context_destroy(&ctx);
    return is_enough;
}

static void test_scratch_memory_keeps_to_its_bound(void **state)
{
    (void)state;
    int n_refused = 0, n_fit = 0;
    for (int i = 0; i < OPERATION_CASES; i++) {
        learn(&operation_cases[i]);
        for (uint64_t bound = 16; bound <= 16 << 10; bound *= 8) {
            const bool is_enough = fits(&operation_cases[i], bound);
            n_fit += is_enough;
            n_refused += !is_enough;
        }
        assert_true(fits(&operation_cases[i], 16 << 10));
    }
    print_message("# %d calls with too little scratch memory, %d with enough\n", n_refused, n_fit);
    assert_in_range(n_refused, 10, 1000);
}

// A quarter of what the device has for one buffer.
static void test_devices_with_small_buffers(void **state)
{
    (void)state;
    layer->most_of_one = OPERATION_BYTES;
    weft_context *ctx = open_with(0);
    assert_int_equal(weft_context_limits(ctx)->max_alloc_bytes, OPERATION_BYTES);
    int n_refused = 0;
    for (int i = 0; i < OPERATION_CASES; i++) {
        layer->most_of_one = 0;
        learn(&operation_cases[i]);
        layer->most_of_one = OPERATION_BYTES;
        n_refused += !fits_in(ctx, &operation_cases[i], OPERATION_BYTES / 4);
    }
    assert_in_range(n_refused, 1, OPERATION_CASES - 1);
    layer->most_of_one = 16;
    weft_context *tiny = open_with(0);
    weft_csr csr;
    weft_spmm_plan *plan;
    assert_int_equal(weft_csr_create(&csr, tiny, o.queue, &o.host), WEFT_NO_MEMORY);
    assert_says("csr_create: 33 offsets of 4 bytes pass the device's 16 bytes for one buffer");
    assert_int_equal(
        weft_spmm_plan_create(&plan, tiny, o.queue, &o.A, WEFT_SPMM_PLAN(.transpose_a = true)),
        WEFT_NO_MEMORY);
    assert_says("spmm_plan: a buffer of 132 bytes is wanted, the device allows 16");
    layer->most_of_one = 0;
    weft_context_destroy(&tiny);
    weft_context_destroy(&ctx);
}

// ---- memory that is used up

// All but nothing is taken: what makes a buffer says how large it would have been, and there is no
// trace of it when memory has come back.
static void test_a_device_whose_memory_is_used_up(void **state)
{
    (void)state;
    int n_refused = 0;
    for (int i = 0; i < OPERATION_CASES; i++) {
        learn(&operation_cases[i]);
        weft_context *ctx = open_with(0);
        const long n_kernels = layer->n_kernels;
        const long long before = layer->buffer_bytes;
        layer->most_of_all = before + 64;
        const weft_status status = run_case(&operation_cases[i], ctx, &got);
        layer->most_of_all = 0;
        if (status != WEFT_OK) {
            assert_int_equal(status, WEFT_NO_MEMORY);
            assert_says("clCreateBuffer (");
            assert_says("bytes) failed: CL_MEM_OBJECT_ALLOCATION_FAILURE");
            assert_int_equal(layer->buffer_bytes, before);
            assert_int_equal(layer->n_kernels, n_kernels);
            n_refused++;
        }
        assert_ok(run_case(&operation_cases[i], ctx, &got));
        assert_memory_equal(&got, &wanted, sizeof(got));
        weft_context_destroy(&ctx);
    }
    assert_in_range(n_refused, 10, OPERATION_CASES);
}

// Which array it was, and how large.
static void test_arrays_of_a_matrix_are_told_apart(void **state)
{
    (void)state;
    static const char *const parts[] = {"offsets", "indices", "values"};
    const size_t bytes[] = {((size_t)o.host.n_rows + 1) * sizeof(int32_t),
                            (size_t)o.host.nnz * sizeof(int32_t),
                            (size_t)o.host.nnz * sizeof(float)};
    weft_context *ctx = open_with(0);
    weft_csr csr;
    int n_named = 0;
    layer->error = 4; // of both calls one that is no excuse
    for (layer->fails_at = 1;; layer->fails_at++) {
        layer->n_calls = 0;
        layer->call = NULL;
        layer->watches = true;
        const weft_status status = weft_csr_create(&csr, ctx, o.queue, &o.host);
        layer->watches = false;
        if (!layer->call) {
            assert_ok(status);
            break;
        }
        if (status == WEFT_OK) { // where an event could not be released, which harms nothing
            weft_csr_destroy(&csr);
            continue;
        }
        if (strcmp(layer->call, "clCreateBuffer") != 0 &&
            strcmp(layer->call, "clEnqueueWriteBuffer") != 0)
            continue;
        char words[100];
        snprintf(words, sizeof(words),
                 "csr_create: %s: %s (%zu bytes) failed: ", parts[n_named / 2], layer->call,
                 bytes[n_named / 2]);
        assert_says(words);
        n_named++;
    }
    assert_int_equal(n_named, 6);
    weft_csr_destroy(&csr);
    weft_context_destroy(&ctx);
}

// Scratch memory that nothing uses makes room on a device that has no more, and a row chunk is then
// no larger than it has to be. What is in use stays.
static void test_scratch_memory_of_a_device_that_is_full(void **state)
{
    (void)state;
    weft_context *ctx = open_with(1 << 20);
    cl_mem used, idle[2], some;
    assert_ok(weft_workspace_take(ctx, o.queue, "op", 4096, &used));
    for (int i = 0; i < 2; i++)
        assert_ok(weft_workspace_take(ctx, o.queue, "op", 64 << 10, &idle[i]));
    for (int i = 0; i < 2; i++)
        weft_workspace_give(ctx, o.queue, idle[i], NULL);
    assert_int_equal(weft_workspace_take(ctx, o.queue, "before", 2 << 20, &some), WEFT_NO_MEMORY);
    layer->most_of_all = layer->buffer_bytes + 16;
    assert_ok(weft_workspace_take(ctx, o.queue, "op", 128 << 10, &some)); // rounded, as usual
    assert_int_equal(weft_context_get_stats(ctx).scratch_bytes, 4096 + (128 << 10));
    weft_workspace_give(ctx, o.queue, some, NULL);

    layer->most_of_all = layer->buffer_bytes + 20000;
    assert_ok(weft_workspace_take(ctx, o.queue, "op", 150000, &some)); // not rounded
    assert_int_equal(weft_context_get_stats(ctx).scratch_bytes, 4096 + 150000);
    weft_workspace_give(ctx, o.queue, some, NULL);
    assert_says("before: "); // nothing has failed since
    assert_int_equal(weft_workspace_take(ctx, o.queue, "op", 160000, &some), WEFT_NO_MEMORY);
    assert_says("op: clCreateBuffer (160000 bytes) failed: CL_MEM_OBJECT_ALLOCATION_FAILURE");
    assert_int_equal(weft_context_get_stats(ctx).scratch_bytes, 4096);
    weft_workspace_give(ctx, o.queue, used, NULL);
    weft_context_destroy(&ctx);
}

// Attention in three steps asks each of them how much it wants. Nor does a call make anything that
// finds its scratch memory in the pool.
static void test_questions_take_no_memory(void **state)
{
    (void)state;
    char text[256];
    size_t bytes = 0;
    weft_context *ctx = open_with(0);
    const weft_tensor O = weft_matrix(o.outputs[0], WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    const weft_sparse_attention_tiling in_steps = {.in_steps = true};
    const weft_sparse_attention_params *params =
        WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, &in_steps));
    assert_ok(weft_sparse_attention(ctx, o.queue, 1, &o.X, &o.Y, &o.Z, &o.A, &O, params));
    layer->most_of_all = layer->buffer_bytes;
    assert_ok(weft_sparse_attention_workspace(ctx, &o.X, &o.Y, &o.Z, &o.A, &O, params, &bytes));
    assert_true(bytes >= (size_t)o.A.nnz * sizeof(float));
    assert_true(weft_sparse_attention_describe(ctx, &o.X, &o.Y, &o.Z, &o.A, &O, params, text,
                                               sizeof(text)) > 0);
    assert_ok(weft_sparse_attention(ctx, o.queue, 1, &o.X, &o.Y, &o.Z, &o.A, &O, params));
    layer->most_of_all = 0;
    assert_int_equal(clFinish(o.queue), CL_SUCCESS);
    weft_context_destroy(&ctx);
}

// ---- memory of many calls

// Bytes that malloc() has given out, to the OpenCL implementation too; 0 where nobody counts them.
static long long host_bytes(void)
{
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    return (long long)mallinfo2().uordblks;
#else
    return 0;
#endif
}

typedef struct footprint {
    long live[LAYER_OBJECTS];
    long long buffer_bytes, host_bytes;
} footprint;

static footprint footprint_now(void)
{
    footprint f = {.buffer_bytes = layer->buffer_bytes, .host_bytes = host_bytes()};
    memcpy(f.live, layer->live, sizeof(f.live));
    return f;
}

static void run_often(weft_context *ctx, int n_rounds)
{
    for (int round = 0; round < n_rounds; round++) {
        o.wants_event = round % 2;
        o.queue = o.wants_event && o.out_of_order ? o.out_of_order : o.in_order;
        for (int i = 0; i < OPERATION_CASES; i++) {
            assert_ok(operation_cases[i].run(&o, ctx));
            if (o.wants_event) // or the next case would write at the same time
                assert_int_equal(clFinish(o.queue), CL_SUCCESS);
        }
        assert_int_equal(clFinish(o.queue), CL_SUCCESS);
    }
    o.wants_event = false;
    o.queue = o.in_order;
    assert_ok(run_case(&operation_cases[0], ctx, &got)); // forgets events of scratch memory
}

// OpenCL implementations keep some of what they had, and take more by steps, ever fewer: sooner or
// later ten thousand calls take none; but they always would, were a few bytes lost in any case.
static void test_ten_thousand_calls_take_no_more_than_a_few(void **state)
{
    (void)state;
    const int n_rounds = 10000 / OPERATION_CASES + 1;
    const long long few = 16 * n_rounds;
    long long more = INT64_MAX;
    weft_context *ctx = open_with(64 << 10);
    run_often(ctx, 20);
    for (int i = 0; i < 12 && more >= few; i++) {
        const footprint before = footprint_now();
        run_often(ctx, n_rounds);
        const footprint after = footprint_now();
        assert_memory_equal(after.live, before.live, sizeof(after.live));
        assert_int_equal(after.buffer_bytes, before.buffer_bytes);
        more = after.host_bytes - before.host_bytes;
        print_message("# %d calls: %lld bytes of the host more\n", n_rounds * OPERATION_CASES,
                      more);
    }
    assert_true(more < few);
    assert_in_range(weft_context_get_stats(ctx).scratch_bytes, 0, 64 << 10);
    weft_context_destroy(&ctx);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(kernels, sizeof(kernels), "%s/kernels", test_dir());
    operation_operands_create(&o);
    return 0;
}

static int set_up_one(void **state)
{
    (void)state;
    restore_layer(layer);
    o.wants_event = false;
    o.queue = o.in_order;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    operation_operands_destroy(&o);
    return 0;
}

int main(void)
{
    need_device();
    layer = need_layer();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_scratch_memory_keeps_to_its_bound, set_up_one),
        cmocka_unit_test_setup(test_devices_with_small_buffers, set_up_one),
        cmocka_unit_test_setup(test_a_device_whose_memory_is_used_up, set_up_one),
        cmocka_unit_test_setup(test_arrays_of_a_matrix_are_told_apart, set_up_one),
        cmocka_unit_test_setup(test_scratch_memory_of_a_device_that_is_full, set_up_one),
        cmocka_unit_test_setup(test_questions_take_no_memory, set_up_one),
        cmocka_unit_test_setup(test_ten_thousand_calls_take_no_more_than_a_few, set_up_one),
    };
    return cmocka_run_group_tests_name("small memory", tests, set_up, tear_down);
}
