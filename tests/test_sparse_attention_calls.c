// SPDX-License-Identifier: Apache-2.0
// What weft_sparse_attention() refuses, each in a sentence and without enqueuing anything; how much
// scratch memory it wants; what it says that it would do; and calls with nothing to do.
#include "sparse_attention_case.h"

#include <math.h>

#include "runtime/context.h"
#include "runtime/workspace.h"
#include "sparse/sparse_attention_plan.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static attention_operands o; // of the running test: 2 heads; M 5 x 4, full; k 6, d 3

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    double scale;
    weft_tensor Q, K, V, O;
    weft_csr M;
    weft_sparse_attention_params params;
} call;

static int make_operands(void **state)
{
    (void)state;
    const attention_case of = {
        .seed = 4, .m = 5, .n = 4, .k = 6, .d = 3, .n_heads = 2, .rows = ROWS_FULL, .scale = 0.5};
    attention_create(&o, ctx, queue, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    attention_destroy(&o);
    return 0;
}

static call good_call(void)
{
    return (call){.ctx = ctx,
                  .queue = queue,
                  .scale = 0.5,
                  .Q = o.dense[Q_OPERAND].view,
                  .K = o.dense[K_OPERAND].view,
                  .V = o.dense[V_OPERAND].view,
                  .O = o.dense[O_OPERAND].view,
                  .M = o.M,
                  .params = attention_params(&o)};
}

static weft_status attend(const call *c, const weft_sparse_attention_params *params)
{
    return weft_sparse_attention(c->ctx, c->queue, c->scale, &c->Q, &c->K, &c->V, &c->M, &c->O,
                                 params);
}

// The call fails, says so, enqueues nothing, hands out no event and leaves O alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_sparse_attention_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = attend(c, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = attention_read(&o);
    assert_memory_equal(after, o.dense[O_OPERAND].before, o.dense[O_OPERAND].bytes);
    free(after);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = good_call();                                                                      \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_a_good_call_is_good(void **state)
{
    (void)state;
    attention_call(&o);
    attention_check(&o);
}

static void test_nulls(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    const call g = good_call();
    assert_int_equal(weft_sparse_attention(ctx, queue, 1, NULL, &g.K, &g.V, &g.M, &g.O, NULL),
                     status);
    assert_says("sparse_attention: Q is NULL");
    assert_int_equal(weft_sparse_attention(ctx, queue, 1, &g.Q, NULL, &g.V, &g.M, &g.O, NULL),
                     status);
    assert_says("sparse_attention: K is NULL");
    assert_int_equal(weft_sparse_attention(ctx, queue, 1, &g.Q, &g.K, NULL, &g.M, &g.O, NULL),
                     status);
    assert_says("sparse_attention: V is NULL");
    assert_int_equal(weft_sparse_attention(ctx, queue, 1, &g.Q, &g.K, &g.V, NULL, &g.O, NULL),
                     status);
    assert_says("sparse_attention: M is NULL");
    assert_int_equal(weft_sparse_attention(ctx, queue, 1, &g.Q, &g.K, &g.V, &g.M, NULL, NULL),
                     status);
    assert_says("sparse_attention: O is NULL");
}

static void test_scales_that_are_not_finite(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_ARGUMENT, "scale is inf: a finite one", c.scale = INFINITY);
    REFUSE(WEFT_BAD_ARGUMENT, "scale is nan: a finite one", c.scale = NAN);
    REFUSE(WEFT_BAD_ARGUMENT, "scale is 1e+60: a finite one", c.scale = 1e60);
}

// M's values are nobody's business.
static void test_unsound_matrices(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "M has 20 entries, but no columns",
           c.M.n_cols = c.K.shape[1] = c.V.shape[1] = 0);
    call c = good_call();
    c.M.values = o.dense[O_OPERAND].view.buffer;
    c.M.values_start = INT64_MAX / 2;
    assert_ok(attend(&c, &c.params));
    attention_check(&o);
}

static void test_shapes_that_disagree(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_SHAPE;
    REFUSE(status, "Q has 3 dimensions, K 2", c.K.ndim = 2);
    REFUSE(status, "Q has 3 dimensions, V 4", (c.V.ndim = 4, c.V.shape[3] = c.V.stride[3] = 1));
    REFUSE(status, "Q has 3 dimensions, O 2", c.O.ndim = 2);
    REFUSE(status, "Q has 1 dimensions; 2 are wanted, or up to 4", c.Q.ndim = 1);
    REFUSE(status, "extent 0 of Q is 2, of K 1", c.K.shape[0] = 1);
    REFUSE(status, "extent 0 of Q is 1, of K 2", c.Q.shape[0] = 1);
    REFUSE(status, "extent 0 of Q is 2, of V 1", c.V.shape[0] = 1);
    REFUSE(status, "extent 0 of Q is 2, of O 1", c.O.shape[0] = 1);
    REFUSE(status, "Q has 6 columns, K 5", c.K.shape[2] = 5);
    REFUSE(status, "K has 4 rows, V 3", c.V.shape[1] = 3);
    REFUSE(status, "Q has 4 rows and K 4, M is 5 x 4", c.Q.shape[1] = 4);
    REFUSE(status, "Q has 5 rows and K 3, M is 5 x 4", c.K.shape[1] = c.V.shape[1] = 3);
    REFUSE(status, "the result is 5 x 3, O is 4 x 3", c.O.shape[1] = 4);
    REFUSE(status, "the result is 5 x 3, O is 5 x 2", c.O.shape[2] = 2);
}

// Nothing is read of matrices without an entry, but k is too large all the same.
static void test_extents_beyond_the_kernels(void **state)
{
    (void)state;
    const int64_t k = INT32_MAX - 4095;
    call c = good_call();
    c.M = (weft_csr){.n_cols = 1, .offsets = o.M.offsets};
    c.Q = (weft_tensor){.ndim = 2, .shape = {0, k}, .stride = {k, 1}};
    c.K = (weft_tensor){.ndim = 2, .shape = {1, k}, .buffer = o.dense[K_OPERAND].view.buffer};
    c.V = (weft_tensor){.ndim = 2, .shape = {1, 0}, .stride = {1, 1}};
    c.O = (weft_tensor){.ndim = 2, .shape = {0, 0}, .stride = {1, 1}};
    assert_int_equal(attend(&c, NULL), WEFT_BAD_SHAPE);
    assert_says("Q is 0 x 2147479552; at most 2147479551 each");
}

static void test_types_that_disagree(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_DTYPE, "Q is f32, K bf16; both", c.K.dtype = WEFT_BF16);
    REFUSE(WEFT_BAD_DTYPE, "Q is f32, V f16; both", c.V.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "Q is f32, O f16; both", c.O.dtype = WEFT_F16);
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *other = open_context(&limits);
    attention_operands p;
    const attention_case of = {.m = 1, .n = 1, .k = 1, .d = 1, .rows = ROWS_FULL, .scale = 1};
    attention_create(&p, other, weft_context_queue(other), &of);
    for (int i = 0; i < N_OPERANDS; i++) {
        p.dense[i].view.dtype = WEFT_F64;
        p.dense[i].view.offset = 0; // the buffers are long enough for that
    }
    assert_int_equal(attention_call_with(&p, NULL), WEFT_UNSUPPORTED);
    assert_says("sparse_attention: Q is f64; ");
    assert_says(" has no f64");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    attention_destroy(&p);
    weft_context_destroy(&other);
}

// Q, K, V and O as parts of one buffer, and V that is K.
static void test_side_by_side_in_one_buffer(void **state)
{
    (void)state;
    call c = good_call();
    cl_mem shared = buffer_zeroed(ctx, 4096, CL_MEM_READ_WRITE);
    c.Q.buffer = c.K.buffer = c.V.buffer = c.O.buffer = shared;
    c.Q.offset = 0;
    c.K.offset = c.V.offset = 2 * 5 * 6;
    c.O.offset = c.K.offset + 2 * 4 * 6;
    assert_ok(attend(&c, &c.params));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    clReleaseMemObject(shared);
}

// ---- tilings and scratch memory

static const weft_sparse_attention_tiling in_steps = {.in_steps = true};

// Rows of four entries are three row chunks of one or two.
static const weft_sparse_attention_tiling in_row_chunks = {.vector_width = 1,
                                                           .vectors = 2,
                                                           .outputs = 1,
                                                           .lanes = 1,
                                                           .rows_per_group = 2,
                                                           .rows_per_item = 1,
                                                           .row_chunk = 1};

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_sparse_attention_tiling tiling = in_row_chunks;
    tiling.row_chunk = 0;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.row_chunk is 0",
           c.params.tiling = TILING_TEXT(sparse_attention, &tiling));
    tiling = in_row_chunks;
    tiling.vector_width = 4;
    REFUSE(WEFT_BAD_ARGUMENT,
           "tiling.vector_width is 4: 1, 2, 4, 8 or 16 and at most 3 (of k 6 and d 3)",
           c.params.tiling = TILING_TEXT(sparse_attention, &tiling));
    tiling = in_row_chunks;
    tiling.lanes = 1 << 20;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.lanes is 1048576",
           c.params.tiling = TILING_TEXT(sparse_attention, &tiling));
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.in_steps would round products to f16",
           (c.params.tiling = TILING_TEXT(sparse_attention, &in_steps),
            c.Q.dtype = c.K.dtype = c.V.dtype = c.O.dtype = WEFT_F16));
}

static size_t workspace_of(const call *c)
{
    size_t bytes = 0;
    assert_ok(weft_sparse_attention_workspace(ctx, &c->Q, &c->K, &c->V, &c->M, &c->O, &c->params,
                                              &bytes));
    return bytes;
}

static void check_workspace(const weft_sparse_attention_tiling *tiling, size_t least)
{
    call c = good_call();
    c.params.tiling = TILING_TEXT(sparse_attention, tiling);
    const size_t bytes = workspace_of(&c);
    assert_true(bytes >= least);
    cl_mem enough = buffer_zeroed(ctx, bytes, CL_MEM_READ_WRITE);
    c.params.workspace = enough;
    assert_ok(attend(&c, &c.params));
    attention_check(&o);
    attention_restore(&o);
    clReleaseMemObject(enough);
}

// Sums and more for each row chunk, or products, of two heads.
static void test_workspace_of_the_size_asked_for(void **state)
{
    (void)state;
    check_workspace(&in_row_chunks, 2 * 20 * (3 + 2) * sizeof(float));
    check_workspace(&in_steps, 2 * 20 * sizeof(float));
}

// As on a GPU, where vectors are as wide as the places allow at which matrices begin: a batch that
// begins on an even element goes through k in two tiles, and sums wait; the first one in one.
static void test_workspace_of_batches_that_begin_anywhere(void **state)
{
    (void)state;
    enum { N = 16, K = 128, D = 8 };
    weft_context *gpu = open_context(weft_profile_find("a100"));
    int32_t offsets[N + 1], indices[N * N];
    for (int i = 0; i <= N; i++)
        offsets[i] = i * N;
    for (int e = 0; e < N * N; e++)
        indices[e] = e % N;
    const weft_csr M = {.n_rows = N,
                        .n_cols = N,
                        .nnz = (int64_t)N * N,
                        .offsets = buffer_of(gpu, offsets, sizeof(offsets)),
                        .indices = buffer_of(gpu, indices, sizeof(indices))};
    const size_t bytes = (2 * N * K + 2) * sizeof(float);
    weft_tensor Q = {.buffer = buffer_zeroed(gpu, bytes, CL_MEM_READ_WRITE),
                     .ndim = 4,
                     .shape = {2, 1, N, K},
                     .stride = {N * K + 2, N * K, K, 1}};
    weft_tensor V = {.buffer = buffer_zeroed(gpu, bytes, CL_MEM_READ_WRITE),
                     .ndim = 4,
                     .shape = {2, 1, N, D},
                     .stride = {N * D, N * D, D, 1}};
    weft_tensor O = V;
    O.buffer = buffer_zeroed(gpu, bytes, CL_MEM_READ_WRITE);
    const weft_sparse_attention_params *asked =
        WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, &in_steps));
    size_t wanted;
    assert_ok(weft_sparse_attention_workspace(gpu, &Q, &Q, &V, &M, &O, asked, &wanted));
    weft_sparse_attention_params params = *asked;
    params.workspace = buffer_zeroed(gpu, wanted, CL_MEM_READ_WRITE);
    assert_ok(weft_sparse_attention(gpu, weft_context_queue(gpu), 1, &Q, &Q, &V, &M, &O, &params));
    assert_int_equal(clFinish(weft_context_queue(gpu)), CL_SUCCESS);
    assert_int_equal(weft_pool_bytes(gpu->pool), 0); // the caller's was enough
    const cl_mem all[] = {M.offsets, M.indices, Q.buffer, V.buffer, O.buffer, params.workspace};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        clReleaseMemObject(all[i]);
    weft_context_destroy(&gpu);
}

static void test_no_workspace_where_none_is_needed(void **state)
{
    (void)state;
    weft_sparse_attention_tiling whole = in_row_chunks;
    whole.row_chunk = 2; // no row has more than two row chunks
    call c = good_call();
    size_t bytes = 1;
    assert_int_equal(workspace_of(&c), 0);
    c.params.tiling = TILING_TEXT(sparse_attention, &whole);
    assert_int_equal(workspace_of(&c), 0);
    c.params.tiling = TILING_TEXT(sparse_attention, &in_steps);
    c.M.nnz = 0;
    assert_int_equal(workspace_of(&c), 0);
    assert_int_equal(weft_sparse_attention_workspace(ctx, &c.Q, &c.K, &c.V, &c.M, &c.O, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("sparse_attention_workspace: bytes is NULL");
    c.O.shape[2] = 2;
    assert_int_equal(
        weft_sparse_attention_workspace(ctx, &c.Q, &c.K, &c.V, &c.M, &c.O, NULL, &bytes),
        WEFT_BAD_SHAPE);
    assert_int_equal(bytes, 0);
}

// The pool is bounded: what was asked for by name fails, and says by what; what was chosen is
// chosen again without scratch memory, or with longer row chunks.
static void test_scratch_memory_is_bounded(void **state)
{
    (void)state;
    static const weft_sparse_attention_tiling *const tilings[] = {&in_row_chunks, &in_steps};
    weft_context *other;
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.scratch_bytes = 64, .cache_dir = "")));
    attention_operands p;
    attention_create(&p, other, weft_context_queue(other), &o.of);
    for (int t = 0; t < 2; t++) {
        assert_int_equal(
            attention_call_with(
                &p, WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, tilings[t]))),
            WEFT_NO_MEMORY);
        assert_says("64 are allowed (scratch_bytes");
    }
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    attention_destroy(&p);
    const attention_case wide = {
        .m = 4, .n = 3, .k = 5, .d = 300, .rows = ROWS_FULL, .n_heads = 2, .scale = 1};
    attention_run(other, &wide);
    const attention_case tall = {
        .m = 2, .n = 9000, .k = 1, .d = 1, .rows = ROWS_ONE_FULL, .scale = 1};
    attention_run(other, &tall);
    weft_context_destroy(&other);
}

// Nor are more products kept than one buffer holds.
static void test_products_that_no_buffer_holds(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.max_alloc_bytes = 12000;
    weft_context *other = open_context(&limits);
    attention_operands p;
    const attention_case of = {
        .m = 40, .n = 40, .k = 2, .d = 1, .n_heads = 2, .rows = ROWS_FULL, .scale = 1};
    attention_create(&p, other, weft_context_queue(other), &of);
    assert_int_equal(
        attention_call_with(
            &p, WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, &in_steps))),
        WEFT_NO_MEMORY);
    assert_says("sparse_attention: 1600 products for each of 2 heads are too many");
    attention_call(&p);
    attention_check(&p);
    attention_destroy(&p);
    weft_context_destroy(&other);
}

// ---- words

static int describe(const call *c, char *text, size_t size)
{
    return weft_sparse_attention_describe(ctx, &c->Q, &c->K, &c->V, &c->M, &c->O, &c->params, text,
                                          size);
}

static void test_describe(void **state)
{
    (void)state;
    char text[512], tiling_text[256], little[8];
    call c = good_call();
    c.params.tiling = TILING_TEXT(sparse_attention, &in_row_chunks);
    const int length = describe(&c, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    weft_sparse_attention_tiling_print(&in_row_chunks, tiling_text, sizeof(tiling_text));
    assert_true(strncmp(text, tiling_text, strlen(tiling_text)) == 0);
    assert_non_null(strstr(text, "; up to 20 row chunks of long rows"));
    assert_int_equal(describe(&c, little, sizeof(little)), length);
    assert_int_equal(strlen(little), sizeof(little) - 1);
    assert_int_equal(describe(&c, NULL, 0), length);
    c.params.tiling = TILING_TEXT(sparse_attention, &in_steps);
    assert_true(describe(&c, text, sizeof(text)) > 0);
    assert_string_equal(text, "in_steps");
    assert_int_equal(
        weft_sparse_attention_describe(ctx, &c.Q, &c.K, &c.V, NULL, &c.O, NULL, text, sizeof(text)),
        -1);
    assert_says("M is NULL");
    c.Q.shape[0] = c.K.shape[0] = c.V.shape[0] = c.O.shape[0] = 0;
    assert_true(describe(&c, text, sizeof(text)) > 0);
    assert_string_equal(text, "nothing to do");
}

// ---- nothing to do, and little

// Whatever the empty extent is, the call succeeds and its event completes.
static void check_empty(const call *c)
{
    char text[512];
    cl_event done = NULL;
    weft_sparse_attention_params params = c->params;
    params.event = &done;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(attend(c, &params));
    assert_non_null(done);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    assert_int_equal(workspace_of(c), 0);
    assert_true(describe(c, text, sizeof(text)) > 0);
}

static void test_empty_results(void **state)
{
    (void)state;
    const weft_sparse_attention_tiling nonsense = {.row_chunk = -1};
    call c = good_call();
    c.Q.shape[0] = c.K.shape[0] = c.V.shape[0] = c.O.shape[0] = 0;
    c.params.tiling = TILING_TEXT(sparse_attention, &nonsense); // there is nothing to cut
    check_empty(&c);
    c = good_call();
    c.V.shape[2] = c.O.shape[2] = 0;
    c.V.buffer = c.O.buffer = NULL;
    check_empty(&c);
    c = good_call();
    c.M.n_rows = c.M.nnz = c.Q.shape[1] = c.O.shape[1] = 0;
    c.Q.buffer = c.O.buffer = c.M.indices = NULL;
    check_empty(&c);
}

// Rows without entries are 0, by any tiling.
static void test_no_entries(void **state)
{
    (void)state;
    static const weft_sparse_attention_tiling *const tilings[] = {NULL, &in_row_chunks, &in_steps};
    for (uint64_t seed = 0; seed < 6; seed++) {
        const attention_case one = {.seed = seed,
                                    .m = 7,
                                    .n = seed % 2 ? 0 : 5,
                                    .k = 2,
                                    .d = 3,
                                    .n_heads = (int64_t)seed % 3,
                                    .rows = ROWS_EMPTY,
                                    .scale = 1,
                                    .tiling = tilings[seed / 2]};
        attention_run(ctx, &one);
    }
}

// There is no K and V then, and no column to name.
static void test_no_columns(void **state)
{
    (void)state;
    attention_operands p;
    const attention_case of = {.m = 5, .k = 2, .d = 3, .n_heads = 2, .scale = 1};
    attention_create(&p, ctx, queue, &of);
    cl_mem buffers[] = {p.dense[K_OPERAND].view.buffer, p.dense[V_OPERAND].view.buffer};
    p.dense[K_OPERAND].view.buffer = p.dense[V_OPERAND].view.buffer = NULL;
    assert_null(p.M.indices);
    attention_call(&p);
    attention_check(&p);
    p.dense[K_OPERAND].view.buffer = buffers[0];
    p.dense[V_OPERAND].view.buffer = buffers[1];
    attention_destroy(&p);
}

// Too small for the type of the sums: the scale is 0 there, and Q and K are not read.
static void test_a_scale_that_vanishes(void **state)
{
    (void)state;
    static const weft_sparse_attention_tiling *const tilings[] = {NULL, &in_row_chunks, &in_steps};
    for (int t = 0; t < 3; t++) {
        attention_operands p;
        attention_case of = o.of;
        of.scale = 0; // all NaN
        of.tiling = tilings[t];
        attention_create(&p, ctx, queue, &of);
        p.of.scale = 1e-60;
        attention_call(&p);
        p.of.scale = 0;
        attention_check(&p);
        attention_destroy(&p);
    }
}

#define with_operands(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        with_operands(test_a_good_call_is_good),
        with_operands(test_nulls),
        with_operands(test_scales_that_are_not_finite),
        with_operands(test_unsound_matrices),
        with_operands(test_shapes_that_disagree),
        with_operands(test_extents_beyond_the_kernels),
        with_operands(test_types_that_disagree),
        with_operands(test_f64_where_there_is_none),
        with_operands(test_side_by_side_in_one_buffer),
        with_operands(test_tilings_that_do_not_serve),
        with_operands(test_workspace_of_the_size_asked_for),
        cmocka_unit_test(test_workspace_of_batches_that_begin_anywhere),
        with_operands(test_no_workspace_where_none_is_needed),
        with_operands(test_scratch_memory_is_bounded),
        with_operands(test_products_that_no_buffer_holds),
        with_operands(test_describe),
        with_operands(test_empty_results),
        with_operands(test_no_entries),
        with_operands(test_no_columns),
        with_operands(test_a_scale_that_vanishes),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
