// SPDX-License-Identifier: Apache-2.0
// SpMM with plan objects: long rows cut, A^T, values that change, and what a plan is refused for.
#include "scalar.h"
#include "sparse/spmm_tiling.h"
#include "spmm_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

static const weft_spmm_tiling whole_rows = {.vector_width = 2,
                                            .vectors = 2,
                                            .lanes = 1,
                                            .rows_per_group = 2,
                                            .rows_per_item = 3,
                                            .load = 1,
                                            .unroll = 2,
                                            .row_chunk = 100000};
static const weft_spmm_tiling staged_rows = {.vector_width = 2,
                                             .vectors = 1,
                                             .lanes = 2,
                                             .rows_per_group = 2,
                                             .stage = 2,
                                             .load = 2,
                                             .unroll = 1,
                                             .row_chunk = 100000};

static void run_row_chunks(spmm_case of, weft_spmm_tiling tiling)
{
    static const int64_t row_chunks[] = {1, 2, 3, 7, 1000};
    for (size_t i = 0; i < sizeof(row_chunks) / sizeof(row_chunks[0]); i++) {
        of.seed++;
        of.tiling = &tiling;
        tiling.row_chunk = row_chunks[i];
        if (!of.transpose_a) {
            of.with_plan = false;
            spmm_run(ctx, &of);
        }
        tiling.row_chunk = 100000; // a plan brings its own
        of.with_plan = true;
        of.plan_row_chunk = row_chunks[i];
        spmm_run(ctx, &of);
    }
}

static void test_rows_cut_into_row_chunks(void **state)
{
    (void)state;
    for (int rows = 0; rows < N_ROWS; rows++)
        for (int numbers = WHOLE; numbers <= WILD_B; numbers++) {
            const spmm_case of = {.seed = (uint64_t)(100 * rows + 10 * numbers),
                                  .m = 9,
                                  .k = is_reduced ? 17 : 40,
                                  .n = 7,
                                  .rows = (sparse_rows)rows,
                                  .numbers = (spmm_numbers)numbers,
                                  .alpha = -1,
                                  .beta = numbers % 2};
            run_row_chunks(of, whole_rows);
            run_row_chunks(of, staged_rows);
        }
}

static void test_transposed_rows_cut_into_row_chunks(void **state)
{
    (void)state;
    for (int rows = 0; rows < N_ROWS; rows++) {
        spmm_case of = {.seed = (uint64_t)(3000 + 100 * rows),
                        .m = 9,
                        .k = is_reduced ? 17 : 40,
                        .n = 7,
                        .n_batches = rows % 3,
                        .own_values = true,
                        .rows = (sparse_rows)rows,
                        .numbers = rows % 2 ? WHOLE : WILD_A,
                        .values_start = 2,
                        .transpose_a = true,
                        .alpha = 2};
        run_row_chunks(of, whole_rows);
        of.own_values = false; // they would not stand on a multiple of staged_rows.load
        run_row_chunks(of, staged_rows);
    }
}

// Rows so long that the library cuts them of itself, with i64 offsets too.
static void test_huge_rows(void **state)
{
    (void)state;
    static const sparse_rows rows[] = {ROWS_ONE_FULL, ROWS_FULL, ROWS_REPEATED};
    for (int i = 0; i < 6 && !is_reduced; i++) {
        const spmm_case of = {.seed = (uint64_t)(5000 + i),
                              .m = 4,
                              .k = 20000,
                              .n = 5,
                              .rows = rows[i % 3],
                              .numbers = i < 3 ? WHOLE : FRACTIONS,
                              .offset_dtype = i % 2 ? WEFT_I64 : WEFT_I32,
                              .with_plan = i % 2,
                              .alpha = 1};
        spmm_run(ctx, &of);
    }
}

static double value_at(const spmm_operands *o, int64_t e)
{
    return scalar_get(o->sparse.host.dtype, o->sparse.host.values, e);
}

// One full row, of A or of A^T, and scratch memory without room for the plan's row chunks: longer
// ones do, with the same bits run after run; row chunks that were asked for fail.
static void check_short_scratch(bool transpose_a)
{
    enum { SIDE = 8, LONG = 9000, N = 100, NNZ = LONG + SIDE - 1, SCRATCH = 1024 };
    weft_context *small;
    assert_ok(weft_context_open(&small, WEFT_CONTEXT(.scratch_bytes = SCRATCH, .cache_dir = "")));
    cl_command_queue own = weft_context_queue(small);
    static int32_t offsets[LONG + 1], indices[NNZ];
    static float values[NNZ], B[LONG * N], wanted[SIDE * N];
    const int64_t n_rows = transpose_a ? LONG : SIDE;
    // Row i has entry (i, i), i < SIDE, and the long row 0 (or column 0) all there are.
    int32_t nnz = 0;
    for (int32_t i = 0; i < n_rows; i++) {
        offsets[i] = nnz;
        for (int32_t j = 0; j < (transpose_a || i > 0 ? 1 : LONG); j++)
            indices[nnz++] = transpose_a ? 0 : i > 0 ? i : j;
        if (transpose_a && i > 0 && i < SIDE)
            indices[nnz++] = i;
    }
    offsets[n_rows] = nnz;
    assert_int_equal(nnz, NNZ);
    memset(wanted, 0, sizeof(wanted));
    for (int32_t e = 0; e < LONG * N; e++)
        B[e] = (float)(e % 7 - 3);
    for (int32_t i = 0; i < n_rows; i++)
        for (int32_t e = offsets[i]; e < offsets[i + 1]; e++) {
            values[e] = (float)(e % 3 - 1);
            const int32_t row = transpose_a ? indices[e] : i, k = transpose_a ? i : indices[e];
            for (int j = 0; j < N; j++)
                wanted[row * N + j] += values[e] * B[k * N + j];
        }
    const weft_csr_host host = {.n_rows = n_rows,
                                .n_cols = transpose_a ? SIDE : LONG,
                                .nnz = nnz,
                                .offsets = offsets,
                                .indices = indices,
                                .values = values};
    weft_csr A;
    assert_ok(weft_csr_create(&A, small, own, &host));
    const weft_tensor b = weft_matrix(buffer_of(small, B, sizeof(B)), WEFT_F32, LONG, N);
    const weft_tensor c =
        weft_matrix(buffer_zeroed(small, sizeof(wanted), CL_MEM_READ_WRITE), WEFT_F32, SIDE, N);
    for (int row_chunk = 0; row_chunk < 2; row_chunk++) {
        char text[512];
        weft_spmm_plan *plan;
        assert_ok(weft_spmm_plan_create(
            &plan, small, own, &A,
            WEFT_SPMM_PLAN(.transpose_a = transpose_a, .row_chunk = 1024 * row_chunk)));
        const weft_spmm_params *params = WEFT_SPMM(.plan = plan, .transpose_a = transpose_a);
        for (int run = 0; run < 2; run++) {
            const weft_status status = weft_spmm(small, own, 1, &A, &b, 0, &c, params);
            assert_int_equal(status, row_chunk ? WEFT_NO_MEMORY : WEFT_OK);
            if (row_chunk)
                assert_says("bytes of scratch memory are needed, 1024 are allowed");
            void *now = buffer_now(own, c.buffer, sizeof(wanted));
            assert_memory_equal(now, wanted, sizeof(wanted));
            free(now);
        }
        assert_true(weft_spmm_describe(small, &A, &b, &c, params, text, sizeof(text)) > 0);
        assert_true((strstr(text, "as given: scratch memory has no room") != NULL) == !row_chunk);
        weft_spmm_plan_destroy(&plan);
    }
    clReleaseMemObject(b.buffer);
    clReleaseMemObject(c.buffer);
    weft_csr_destroy(&A);
    weft_context_destroy(&small);
}

static void test_plans_where_scratch_memory_is_short(void **state)
{
    (void)state;
    check_short_scratch(false);
    check_short_scratch(true);
}

// A plan knows the pattern alone: other values at the same places are multiplied as well.
static void test_values_may_change(void **state)
{
    (void)state;
    for (int transpose_a = 0; transpose_a < 2; transpose_a++) {
        spmm_operands o;
        const spmm_case of = {.seed = 41,
                              .m = 13,
                              .k = 11,
                              .n = 5,
                              .rows = ROWS_RANDOM,
                              .alpha = 1,
                              .transpose_a = transpose_a,
                              .with_plan = true};
        spmm_create(&o, ctx, queue, &of);
        spmm_call(&o);
        spmm_check(&o);
        for (int64_t e = 0; e < o.sparse.host.nnz; e++)
            scalar_put(o.sparse.host.dtype, o.sparse.host.values, e,
                       (double)(e % 7) - value_at(&o, e));
        const size_t bytes = (size_t)o.sparse.host.nnz * sizeof(float);
        assert_int_equal(clEnqueueWriteBuffer(queue, o.A.values, CL_TRUE, 0, bytes,
                                              o.sparse.host.values, 0, NULL, NULL),
                         CL_SUCCESS);
        spmm_restore(&o);
        spmm_call(&o);
        spmm_check(&o);
        spmm_destroy(&o);
    }
}

// One plan, other matrices B, another width, a batch.
static void test_a_plan_serves_every_width(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 5, 2, 0, 4};
    spmm_operands first;
    spmm_case of = {.seed = 51, .m = 13, .k = 11, .n = 3, .alpha = 1, .with_plan = true};
    spmm_create(&first, ctx, queue, &of);
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        spmm_operands other;
        of.n = widths[i];
        of.n_batches = (int64_t)i % 3;
        of.with_plan = false;
        spmm_create(&other, ctx, queue, &of);
        weft_spmm_params params = spmm_params(&other);
        params.plan = first.plan;
        assert_ok(weft_spmm(ctx, queue, 1, &other.A, &other.B, 0, &other.C, &params));
        spmm_check(&other);
        spmm_destroy(&other);
    }
    spmm_destroy(&first);
}

static void test_row_statistics(void **state)
{
    (void)state;
    spmm_operands o;
    spmm_case of = {.seed = 61, .m = 30, .k = 20, .n = 1, .alpha = 1, .with_plan = true};
    spmm_create(&o, ctx, queue, &of);
    const weft_row_stats want = weft_row_stats_of(o.sparse.host.offsets, WEFT_I32, 30);
    const weft_row_stats *got = weft_spmm_plan_rows(o.plan);
    assert_int_equal(got->n_rows, 30);
    assert_int_equal(got->nnz, want.nnz);
    assert_int_equal(got->n_empty, want.n_empty);
    assert_int_equal(got->max, want.max);
    assert_true(got->mean == want.mean && got->cov == want.cov);
    spmm_destroy(&o);

    of.transpose_a = true;
    of.rows = ROWS_FULL;
    spmm_create(&o, ctx, queue, &of);
    got = weft_spmm_plan_rows(o.plan);
    assert_int_equal(got->n_rows, 30);
    assert_int_equal(got->nnz, 600);
    assert_int_equal(got->max, 20);
    assert_true(got->cov == 0);
    spmm_destroy(&o);
}

// ---- what is refused

static void refuse_plan(const weft_csr *A, const weft_spmm_plan_params *params, weft_status status,
                        const char *part)
{
    weft_spmm_plan *plan = (weft_spmm_plan *)(uintptr_t)ctx; // not NULL
    assert_int_equal(weft_spmm_plan_create(&plan, ctx, queue, A, params), status);
    assert_null(plan);
    assert_says(part);
}

static void test_what_plan_create_refuses(void **state)
{
    (void)state;
    spmm_operands o;
    const spmm_case of = {.seed = 71, .m = 3, .k = 4, .n = 1, .rows = ROWS_FULL, .alpha = 1};
    spmm_create(&o, ctx, queue, &of);
    weft_csr A = o.A;
    weft_spmm_plan_params params = {.size = 7};
    assert_int_equal(weft_spmm_plan_create(NULL, ctx, queue, &A, NULL), WEFT_BAD_ARGUMENT);
    assert_says("spmm_plan: out is NULL");
    refuse_plan(&A, &params, WEFT_BAD_ARGUMENT, "spmm_plan: params.size is 7");
    refuse_plan(&A, WEFT_SPMM_PLAN(.row_chunk = -1), WEFT_BAD_ARGUMENT,
                "spmm_plan: row_chunk is -1");
    refuse_plan(&A, WEFT_SPMM_PLAN(.row_chunk = INT64_MAX), WEFT_BAD_ARGUMENT,
                "spmm_plan: row_chunk is");
    A.n_rows = -1;
    refuse_plan(&A, NULL, WEFT_BAD_ARGUMENT, "-1 x 4");
    A = o.A;
    A.n_cols = 2;
    refuse_plan(&A, NULL, WEFT_BAD_DATA, "row 0");
    A = o.A;
    A.nnz = 11;
    refuse_plan(&A, NULL, WEFT_BAD_DATA, "12");
    A = o.A;
    A.offset_dtype = WEFT_F32;
    refuse_plan(&A, NULL, WEFT_BAD_DTYPE, "f32 offsets");
    A = o.A;
    A.offsets_start = 1000;
    refuse_plan(&A, NULL, WEFT_BAD_BUFFER, "offsets");
    spmm_destroy(&o);
}

static void test_destroy_takes_nothing(void **state)
{
    (void)state;
    weft_spmm_plan *none = NULL;
    weft_spmm_plan_destroy(NULL);
    weft_spmm_plan_destroy(&none);
    assert_null(none);
}

// Fails to multiply with the plan of `o`; nothing is enqueued.
static void refuse_use(const spmm_operands *o, const weft_csr *A, bool transpose_a,
                       weft_status status, const char *part)
{
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_spmm_params *params = WEFT_SPMM(.plan = o->plan, .transpose_a = transpose_a);
    assert_int_equal(weft_spmm(ctx, queue, 1, A, &o->B, 0, &o->C, params), status);
    assert_says(part);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

static void test_a_plan_is_for_one_pattern(void **state)
{
    (void)state;
    spmm_operands o;
    spmm_case of = {
        .seed = 81, .m = 6, .k = 6, .n = 2, .rows = ROWS_FULL, .alpha = 1, .with_plan = true};
    spmm_create(&o, ctx, queue, &of);
    refuse_use(&o, &o.A, true, WEFT_BAD_ARGUMENT, "made for A, the call is for A^T");
    weft_csr A = o.A;
    A.nnz = 35;
    refuse_use(&o, &A, false, WEFT_BAD_SHAPE, "made for 6 x 6 with 36 entries, A is 6 x 6 with 35");
    A = o.A;
    A.index_dtype = WEFT_I16;
    refuse_use(&o, &A, false, WEFT_BAD_DTYPE,
               "made for i32 offsets and i32 indices, A has i32 and i16");
    spmm_destroy(&o);

    of.transpose_a = true;
    spmm_create(&o, ctx, queue, &of);
    refuse_use(&o, &o.A, false, WEFT_BAD_ARGUMENT, "made for A^T, the call is for A");
    spmm_destroy(&o);
}

static void test_a_plan_is_for_one_shape_and_context(void **state)
{
    (void)state;
    spmm_operands o, wide, elsewhere;
    spmm_case of = {.seed = 91, .m = 6, .k = 6, .n = 2, .rows = ROWS_FULL, .alpha = 1};
    of.with_plan = true;
    spmm_create(&o, ctx, queue, &of);
    of.with_plan = false;
    of.k = 7;
    spmm_create(&wide, ctx, queue, &of);
    weft_spmm_params params = spmm_params(&wide);
    params.plan = o.plan;
    assert_int_equal(weft_spmm(ctx, queue, 1, &wide.A, &wide.B, 0, &wide.C, &params),
                     WEFT_BAD_SHAPE);
    assert_says("made for 6 x 6 with 36 entries, A is 6 x 7 with 42");

    weft_context *other = open_context(NULL);
    of.k = 6;
    spmm_create(&elsewhere, other, weft_context_queue(other), &of);
    params = spmm_params(&elsewhere);
    params.plan = o.plan;
    assert_int_equal(
        weft_spmm(other, elsewhere.queue, 1, &elsewhere.A, &elsewhere.B, 0, &elsewhere.C, &params),
        WEFT_BAD_ARGUMENT);
    assert_says("the plan was made for another context");
    spmm_destroy(&elsewhere);
    weft_context_destroy(&other);
    spmm_destroy(&wide);
    spmm_destroy(&o);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_cut_into_row_chunks),
        cmocka_unit_test(test_transposed_rows_cut_into_row_chunks),
        cmocka_unit_test(test_huge_rows),
        cmocka_unit_test(test_plans_where_scratch_memory_is_short),
        cmocka_unit_test(test_values_may_change),
        cmocka_unit_test(test_a_plan_serves_every_width),
        cmocka_unit_test(test_row_statistics),
        cmocka_unit_test(test_what_plan_create_refuses),
        cmocka_unit_test(test_destroy_takes_nothing),
        cmocka_unit_test(test_a_plan_is_for_one_pattern),
        cmocka_unit_test(test_a_plan_is_for_one_shape_and_context),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
