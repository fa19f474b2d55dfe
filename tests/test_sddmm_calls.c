// SPDX-License-Identifier: Apache-2.0
// What weft_sddmm() refuses, each in a sentence and without enqueuing anything; how much scratch
// memory it wants; what it says that it would do; and products that are empty.
#include "sddmm_case.h"
#include "sparse/sddmm_plan.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static sddmm_operands o; // of the running test: A 5 x 6, B 6 x 4, all 20 places, a batch of 2

// One call with everything that it is given.
typedef struct call {
    weft_context *ctx;
    cl_command_queue queue;
    weft_tensor A, B, D;
    weft_csr C;
    weft_sddmm_params params;
} call;

static int make_operands(void **state)
{
    (void)state;
    const sddmm_case of = {.seed = 3,
                           .m = 5,
                           .n = 4,
                           .k = 6,
                           .n_batches = 2,
                           .rows = ROWS_FULL,
                           .own_values = true,
                           .alpha = 1,
                           .beta = 1};
    sddmm_create(&o, ctx, queue, &of);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    sddmm_destroy(&o);
    return 0;
}

static call good_call(void)
{
    return (call){ctx, queue, o.A, o.B, o.D, o.C, sddmm_params(&o)};
}

static weft_status sddmm(const call *c, const weft_sddmm_params *params)
{
    return weft_sddmm(c->ctx, c->queue, 1, &c->A, &c->B, &c->C, 1, &c->D, params);
}

// The call fails, says so, enqueues nothing, hands out no event and leaves D alone.
static void refuse(const call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    weft_sddmm_params params = c->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = sddmm(c, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *after = sddmm_read(&o);
    assert_memory_equal(after, o.d_before, o.d_bytes);
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
    sddmm_call(&o);
    sddmm_check(&o);
}

static void test_nulls(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    assert_int_equal(weft_sddmm(ctx, queue, 1, NULL, &o.B, &o.C, 0, &o.D, NULL), status);
    assert_says("sddmm: A is NULL");
    assert_int_equal(weft_sddmm(ctx, queue, 1, &o.A, NULL, &o.C, 0, &o.D, NULL), status);
    assert_says("sddmm: B is NULL");
    assert_int_equal(weft_sddmm(ctx, queue, 1, &o.A, &o.B, NULL, 0, &o.D, NULL), status);
    assert_says("sddmm: C is NULL");
    assert_int_equal(weft_sddmm(ctx, queue, 1, &o.A, &o.B, &o.C, 0, NULL, NULL), status);
    assert_says("sddmm: D is NULL");
}

static void test_unsound_matrices(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "C has 20 entries, but no rows", c.C.n_rows = 0);
    REFUSE(WEFT_BAD_SHAPE, "C has 20 entries, but no columns", c.C.n_cols = 0);
    REFUSE(WEFT_BAD_BUFFER, "sddmm: C's values", c.C.values_batch_stride = 1000);
}

static void test_shapes_that_disagree(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_SHAPE;
    REFUSE(status, "A has 3 dimensions, B 2 and D 2", c.B.ndim = 2);
    REFUSE(status, "A has 3 dimensions, B 3 and D 1", c.D.ndim = 1);
    REFUSE(status, "A has 1 dimensions", c.A.ndim = 1);
    REFUSE(status, "A is a batch of 2, B of 1, D of 2", c.B.shape[0] = 1);
    REFUSE(status, "A is a batch of 2, B of 2, D of 1", c.D.shape[0] = 1);
    REFUSE(status, "A is 5 x 6, B has 5 rows", c.B.shape[1] = 5);
    REFUSE(status, "A B is 4 x 4, C is 5 x 4", c.A.shape[1] = 4);
    REFUSE(status, "A B is 5 x 3, C is 5 x 4", c.B.shape[2] = 3);
    REFUSE(status, "D has 19 values, C 20 entries", c.D.shape[1] = 19);
    REFUSE(status, "D has stride -1 from value to value; 1 is wanted",
           (c.D.stride[1] = -1, c.D.offset += 19));
    REFUSE(status, "D has stride 2 from value to value; 1 is wanted",
           (c.D.stride[0] = 1, c.D.stride[1] = 2));
}

// Nothing is read of matrices without an entry, but k is too large all the same.
static void test_extents_beyond_the_kernels(void **state)
{
    (void)state;
    const int64_t k = INT32_MAX - 4095;
    const weft_csr C = {.n_cols = 1, .offsets = o.C.offsets};
    const weft_tensor A = {.ndim = 2, .shape = {0, k}, .stride = {k, 1}};
    const weft_tensor B = {.ndim = 2, .shape = {k, 1}, .stride = {0, 0}, .buffer = o.B.buffer};
    const weft_tensor D = {.ndim = 1, .shape = {0}, .stride = {1}};
    assert_int_equal(weft_sddmm(ctx, queue, 1, &A, &B, &C, 0, &D, NULL), WEFT_BAD_SHAPE);
    assert_says("m 0, n 1, k 2147479552; at most 2147479551 each");
}

static void test_types_that_disagree(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_DTYPE, "A is f32, B bf16, C f32; all three", c.B.dtype = WEFT_BF16);
    REFUSE(WEFT_BAD_DTYPE, "A is f16, B f32, C f32; all three", c.A.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "A is f32, B f32, C f16; all three", c.C.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "D is f16, C f32; both", c.D.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "D is bf16, C f16; both",
           (c.A.dtype = c.B.dtype = c.C.dtype = WEFT_F16, c.D.dtype = WEFT_BF16));
}

static void test_f64_where_there_is_none(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_f64 = false;
    weft_context *other = open_context(&limits);
    sddmm_operands p;
    const sddmm_case of = {.m = 2, .n = 2, .k = 2, .rows = ROWS_FULL};
    sddmm_create(&p, other, weft_context_queue(other), &of);
    p.A.dtype = p.B.dtype = p.C.dtype = p.D.dtype = WEFT_F64;
    p.A.offset = p.B.offset = p.D.offset = 0; // the buffers are long enough for that
    assert_int_equal(weft_sddmm(other, p.queue, 1, &p.A, &p.B, &p.C, 0, &p.D, NULL),
                     WEFT_UNSUPPORTED);
    assert_says("sddmm: D is f64; ");
    assert_says(" has no f64");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    sddmm_destroy(&p);
    weft_context_destroy(&other);
}

static void test_outputs_that_overlap_inputs(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_BUFFER;
    // The first matrix's values are D's, but not the second one's.
    REFUSE(status, "C's values",
           (c.C.values = c.D.buffer, c.C.values_start = c.D.offset, c.C.values_batch_stride = 0));
}

// A single matrix's values are D whatever the strides along a batch of one are.
static void test_values_of_a_batch_of_one(void **state)
{
    (void)state;
    call c = good_call();
    c.A.shape[0] = c.B.shape[0] = c.D.shape[0] = 1;
    c.C.values = c.D.buffer;
    c.C.values_start = c.D.offset;
    c.C.values_batch_stride = 0;
    assert_ok(sddmm(&c, &c.params));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
}

// ---- tilings and scratch memory

// Sums that wait, and a tile of two columns of B's at a time.
static weft_sddmm_tiling cutting_tiling(bool is_packed)
{
    return (weft_sddmm_tiling){.vector_width = 2,
                               .vectors = 1,
                               .lanes = 1,
                               .chunks_per_group = 1,
                               .entries = 16,
                               .passes = true,
                               .packed = is_packed};
}

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    weft_sddmm_tiling tiling = cutting_tiling(false);
    tiling.entries = 17;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.entries is 17",
           c.params.tiling = TILING_TEXT(sddmm, &tiling));
    tiling = cutting_tiling(false);
    tiling.vector_width = 8;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.vector_width is 8: 1, 2, 4, 8 or 16 and at most k = 6",
           c.params.tiling = TILING_TEXT(sddmm, &tiling));
    tiling = cutting_tiling(true);
    tiling.lanes = 1 << 20;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.lanes is 1048576",
           c.params.tiling = TILING_TEXT(sddmm, &tiling));
    tiling = cutting_tiling(true);
    tiling.vector_width = 4;
    tiling.aligned = true;
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.aligned with vector_width 4",
           c.params.tiling = TILING_TEXT(sddmm, &tiling));
}

// Aligned vectors want every row of A and column of B to begin on a multiple of them.
static void test_starts_of_aligned_vectors(void **state)
{
    (void)state;
    const char *part =
        "tiling.aligned with vector_width 2: rows of A and columns of B start on multiples "
        "of 1, k is 6";
    weft_sddmm_tiling tiling = cutting_tiling(false);
    tiling.aligned = true;
    call good = good_call();
    good.params.tiling = TILING_TEXT(sddmm, &tiling);
    assert_ok(sddmm(&good, &good.params));
    sddmm_check(&o);
    sddmm_restore(&o);
    REFUSE(WEFT_BAD_ARGUMENT, part, (c.params.tiling = TILING_TEXT(sddmm, &tiling), c.A.offset++));
    REFUSE(WEFT_BAD_ARGUMENT, part,
           (c.params.tiling = TILING_TEXT(sddmm, &tiling), c.A.stride[0]++));
    REFUSE(WEFT_BAD_ARGUMENT, part,
           (c.params.tiling = TILING_TEXT(sddmm, &tiling), c.A.stride[1]++));
    REFUSE(WEFT_BAD_ARGUMENT, part,
           (c.params.tiling = TILING_TEXT(sddmm, &tiling), c.A.stride[2] = 2));
    REFUSE(WEFT_BAD_ARGUMENT, part, (c.params.tiling = TILING_TEXT(sddmm, &tiling), c.B.offset++));
    REFUSE(WEFT_BAD_ARGUMENT, part,
           (c.params.tiling = TILING_TEXT(sddmm, &tiling), c.B.stride[0]++));
    REFUSE(WEFT_BAD_ARGUMENT, part,
           (c.params.tiling = TILING_TEXT(sddmm, &tiling), c.B.stride[2]++));
}

static size_t workspace_of(const call *c)
{
    size_t bytes = 0;
    assert_ok(weft_sddmm_workspace(ctx, &c->A, &c->B, &c->C, &c->D, &c->params, &bytes));
    return bytes;
}

static void check_workspace(bool is_packed)
{
    const weft_sddmm_tiling tiling = cutting_tiling(is_packed);
    call c = good_call();
    c.params.tiling = TILING_TEXT(sddmm, &tiling);
    const size_t bytes = workspace_of(&c);
    const size_t sums = 20 * 2 * sizeof(float), tile = 4 * 2 * 2 * sizeof(float);
    assert_true(bytes >= sums + (is_packed ? tile : 0));
    cl_mem enough = buffer_zeroed(ctx, bytes, CL_MEM_READ_WRITE);
    c.params.workspace = enough;
    assert_ok(sddmm(&c, &c.params));
    sddmm_check(&o);
    clReleaseMemObject(enough);
}

static void test_workspace_of_the_size_asked_for(void **state)
{
    (void)state;
    check_workspace(false);
    sddmm_restore(&o);
    check_workspace(true);
}

// Not a byte less than the sums and a tile of every column of B, and little more.
static void test_workspace_grows_with_the_operands(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16};
    const weft_sddmm_tiling tiling = cutting_tiling(true);
    for (int i = 0; i < 2; i++) {
        sddmm_operands p;
        const sddmm_case of = {.m = 90,
                               .n = 50,
                               .k = 5,
                               .n_batches = 3,
                               .rows = ROWS_FULL,
                               .dtype = dtypes[i],
                               .tiling = &tiling};
        sddmm_create(&p, ctx, queue, &of);
        const weft_sddmm_params params = sddmm_params(&p);
        const size_t size = weft_dtype_size(dtypes[i]);
        const size_t least = (90 * 50 * sizeof(float) + 50 * 2 * size) * 3;
        size_t bytes;
        assert_ok(weft_sddmm_workspace(ctx, &p.A, &p.B, &p.C, &p.D, &params, &bytes));
        assert_in_range(bytes, least, least + 1024);
        sddmm_destroy(&p);
    }
}

static void test_no_workspace_where_none_is_needed(void **state)
{
    (void)state;
    call c = good_call();
    size_t bytes = 1;
    c.A.shape[2] = c.B.shape[1] = 0;
    assert_int_equal(workspace_of(&c), 0);
    const weft_sddmm_tiling tiling = {.vector_width = 2,
                                      .vectors = 3,
                                      .lanes = 1,
                                      .chunks_per_group = 1,
                                      .entries = 16,
                                      .passes = true};
    c = good_call();
    c.params.tiling = TILING_TEXT(sddmm, &tiling); // one tile: no sums wait
    assert_int_equal(workspace_of(&c), 0);
    assert_int_equal(weft_sddmm_workspace(ctx, &o.A, &o.B, &o.C, &o.D, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("sddmm_workspace: bytes is NULL");
    c.B.shape[1] = 7;
    assert_int_equal(weft_sddmm_workspace(ctx, &c.A, &c.B, &c.C, &c.D, NULL, &bytes),
                     WEFT_BAD_SHAPE);
    assert_int_equal(bytes, 0);
}

// The pool is bounded: what was asked for by name fails, and says by what; what was chosen is
// chosen again without scratch memory.
static void test_scratch_memory_is_bounded(void **state)
{
    (void)state;
    weft_context *other;
    assert_ok(weft_context_open(&other, WEFT_CONTEXT(.scratch_bytes = 64, .cache_dir = "")));
    const weft_sddmm_tiling tiling = cutting_tiling(false);
    sddmm_operands p;
    sddmm_create(&p, other, weft_context_queue(other), &o.of);
    assert_int_equal(weft_sddmm(other, p.queue, 1, &p.A, &p.B, &p.C, 1, &p.D,
                                WEFT_SDDMM(.tiling = TILING_TEXT(sddmm, &tiling))),
                     WEFT_NO_MEMORY);
    assert_says("64 are allowed (scratch_bytes");
    assert_int_equal(weft_context_get_stats(other).launches, 0);
    sddmm_destroy(&p);
    const sddmm_case wide = {
        .m = 20, .n = 3, .k = 300, .rows = ROWS_FULL, .b_layout = COLUMN_MAJOR, .alpha = 1};
    sddmm_run(other, &wide);
    weft_context_destroy(&other);
}

// More than any number of bytes: a million times a tile of two thousand million columns.
static void test_scratch_memory_beyond_all_bounds(void **state)
{
    (void)state;
    const int64_t n = INT32_MAX - 4096, n_batches = 1 << 20;
    const weft_sddmm_tiling tiling = {.vector_width = 16,
                                      .vectors = 8,
                                      .lanes = 32,
                                      .chunks_per_group = 1,
                                      .entries = 32,
                                      .passes = true,
                                      .packed = true};
    const weft_csr C = {.n_rows = 1,
                        .n_cols = n,
                        .nnz = 1,
                        .offsets = o.C.offsets,
                        .indices = o.C.indices,
                        .offsets_start = o.C.offsets_start,
                        .indices_start = o.C.indices_start};
    const weft_tensor A = {.buffer = o.A.buffer, .ndim = 3, .shape = {n_batches, 1, 16}};
    const weft_tensor B = {.buffer = o.B.buffer, .ndim = 3, .shape = {n_batches, 16, n}};
    cl_mem many = buffer_zeroed(ctx, (size_t)n_batches * sizeof(float), CL_MEM_READ_WRITE);
    const weft_tensor D = {.buffer = many, .ndim = 2, .shape = {n_batches, 1}, .stride = {1, 1}};
    assert_int_equal(
        weft_sddmm(ctx, queue, 1, &A, &B, &C, 0, &D,
                   WEFT_SDDMM(.indicator = true, .tiling = TILING_TEXT(sddmm, &tiling))),
        WEFT_NO_MEMORY);
    assert_says("sddmm: sums of 1 entries and copies of 2147479551 columns of B, for each of "
                "1048576 matrices, are too large");
    clReleaseMemObject(many);
}

// ---- words

static int describe(const call *c, char *text, size_t size)
{
    return weft_sddmm_describe(ctx, &c->A, &c->B, &c->C, &c->D, &c->params, text, size);
}

static void test_describe(void **state)
{
    (void)state;
    char text[512], tiling_text[256], little[8];
    const weft_sddmm_tiling tiling = cutting_tiling(true);
    call c = good_call();
    c.params.tiling = TILING_TEXT(sddmm, &tiling);
    const int length = describe(&c, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    weft_sddmm_tiling_print(&tiling, tiling_text, sizeof(tiling_text));
    assert_true(strncmp(text, tiling_text, strlen(tiling_text)) == 0);
    assert_int_equal(describe(&c, little, sizeof(little)), length);
    assert_int_equal(strlen(little), sizeof(little) - 1);
    assert_int_equal(describe(&c, NULL, 0), length);
    assert_int_equal(weft_sddmm_describe(ctx, &o.A, &o.B, NULL, &o.D, NULL, text, sizeof(text)),
                     -1);
    assert_says("C is NULL");
    c.A.shape[0] = c.B.shape[0] = c.D.shape[0] = 0;
    assert_true(describe(&c, text, sizeof(text)) > 0);
    assert_string_equal(text, "nothing to do");
}

// ---- nothing to do, and little

// Whatever the empty extent is, the call succeeds and its event completes.
static void check_empty(const call *c)
{
    char text[512];
    cl_event done = NULL;
    weft_sddmm_params params = c->params;
    params.event = &done;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    assert_ok(sddmm(c, &params));
    assert_non_null(done);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    assert_int_equal(workspace_of(c), 0);
    assert_true(describe(c, text, sizeof(text)) > 0);
}

static void test_empty_products(void **state)
{
    (void)state;
    const weft_sddmm_tiling nonsense = {.entries = -1};
    call c = good_call();
    c.A.shape[0] = c.B.shape[0] = c.D.shape[0] = 0;
    c.params.tiling = TILING_TEXT(sddmm, &nonsense); // there is nothing to cut
    check_empty(&c);
    c = good_call();
    c.C.nnz = c.D.shape[1] = 0;
    c.C.indices = c.C.values = c.D.buffer = NULL;
    check_empty(&c);
    c.C.n_rows = c.A.shape[1] = 0;
    c.A.buffer = NULL;
    check_empty(&c);
    c.C.n_cols = c.B.shape[2] = 0;
    c.B.buffer = NULL;
    check_empty(&c);
}

// Products of nothing: D = beta D, by tilings that would suit no k too.
static void test_products_without_terms(void **state)
{
    (void)state;
    const weft_sddmm_tiling nonsense = {.entries = 0};
    for (uint64_t seed = 0; seed < 8; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = 7,
                                .n = 5,
                                .rows = seed % 3 ? ROWS_REPEATED : ROWS_FULL,
                                .alpha = 1,
                                .beta = (double)(seed / 2),
                                .tiling = seed % 2 ? &nonsense : NULL};
        sddmm_run(ctx, &one);
    }
    call c = good_call();
    c.A.shape[2] = c.B.shape[1] = 0;
    c.A.buffer = c.B.buffer = NULL;
    assert_ok(sddmm(&c, &c.params));
    void *after = sddmm_read(&o);
    assert_memory_equal(after, o.d_before, o.d_bytes);
    free(after);
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
        with_operands(test_unsound_matrices),
        with_operands(test_shapes_that_disagree),
        with_operands(test_extents_beyond_the_kernels),
        with_operands(test_types_that_disagree),
        with_operands(test_f64_where_there_is_none),
        with_operands(test_outputs_that_overlap_inputs),
        with_operands(test_values_of_a_batch_of_one),
        with_operands(test_tilings_that_do_not_serve),
        with_operands(test_starts_of_aligned_vectors),
        with_operands(test_workspace_of_the_size_asked_for),
        with_operands(test_workspace_grows_with_the_operands),
        with_operands(test_no_workspace_where_none_is_needed),
        with_operands(test_scratch_memory_is_bounded),
        with_operands(test_scratch_memory_beyond_all_bounds),
        with_operands(test_describe),
        with_operands(test_empty_products),
        with_operands(test_products_without_terms),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
