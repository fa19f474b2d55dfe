// SPDX-License-Identifier: Apache-2.0
// Reductions of SpMM as calls: what is refused, what stands in arguments where no entry counts,
// what NaN and equal products come to, scratch memory, and order among other work.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "sparse/spmm_tiling.h"
#include "spmm_arguments.h"
#include "tiling_text.h"

#include <math.h>

static weft_context *ctx;
static cl_command_queue queue;

static const weft_spmm_tiling cutting = {.vector_width = 2,
                                         .vectors = 2,
                                         .lanes = 1,
                                         .rows_per_group = 2,
                                         .load = 1,
                                         .unroll = 2,
                                         .row_chunk = 2};

// A 5 x 6, full, n 4, a batch of 2.
static spmm_case small_case(weft_spmm_reduction reduction)
{
    return (spmm_case){.seed = 3, // brings its own workspace
                       .m = 5,
                       .k = 6,
                       .n = 4,
                       .n_batches = 2,
                       .rows = ROWS_FULL,
                       .alpha = 1,
                       .beta = 1,
                       .reduction = reduction,
                       .tiling = &cutting};
}

// ---- what is refused

typedef struct call {
    weft_csr A;
    weft_tensor B, C, arguments;
    weft_spmm_params params;
} call;

static spmm_operands o;  // of the running test
static spmm_arguments a; // beside them

static int make_operands(void **state)
{
    (void)state;
    const spmm_case of = small_case(WEFT_SPMM_MAX);
    spmm_create(&o, ctx, queue, &of);
    spmm_arguments_create(&a, &o, WEFT_I32, 1);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    spmm_arguments_destroy(&a);
    spmm_destroy(&o);
    return 0;
}

static call good_call(void)
{
    return (call){o.A, o.B, o.C, a.view, spmm_params(&o)};
}

// The call fails, says so, enqueues nothing and leaves C and the arguments alone.
static void refuse(call *c, weft_status want, const char *part)
{
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    c->params.arguments = &c->arguments;
    const weft_status status = weft_spmm(ctx, queue, 1, &c->A, &c->B, 1, &c->C, &c->params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    void *c_after = spmm_read(&o), *a_after = spmm_arguments_read(&a, &o);
    assert_memory_equal(c_after, o.c_before, o.c_bytes);
    assert_memory_equal(a_after, a.before, a.bytes);
    free(c_after);
    free(a_after);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        call c = good_call();                                                                      \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_reductions_that_do_not_serve(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    REFUSE(status, "spmm: params.reduction is 4", c.params.reduction = (weft_spmm_reduction)4);
    REFUSE(status, "spmm: params.arguments with a sum", c.params.reduction = WEFT_SPMM_SUM);
    REFUSE(status, "spmm: params.arguments with a mean", c.params.reduction = WEFT_SPMM_MEAN);
}

static void test_arguments_that_do_not_serve(void **state)
{
    (void)state;
    REFUSE(WEFT_BAD_SHAPE, "spmm: arguments has 2 dimensions, C 3", c.arguments.ndim = 2);
    REFUSE(WEFT_BAD_SHAPE, "spmm: extent 1 of arguments is 4, of C 5", c.arguments.shape[1] = 4);
    REFUSE(WEFT_BAD_DTYPE, "spmm: arguments are f32, i32 and i64 are possible",
           c.arguments.dtype = WEFT_F32);
    REFUSE(WEFT_BAD_DTYPE, "spmm: arguments are f32", c.arguments.dtype = WEFT_DEFAULT);
}

// Refused before anybody looks whether the buffers are that long.
static void test_more_entries_than_i32_counts(void **state)
{
    (void)state;
    const int64_t most = INT64_C(1) << 31;
    REFUSE(WEFT_BAD_DTYPE, "spmm: arguments are i32, but A has 2147483649 entries: i64 is wanted",
           (c.A.offset_dtype = WEFT_I64, c.A.nnz = most + 1));
    REFUSE(WEFT_BAD_BUFFER, "spmm: A's", (c.A.offset_dtype = WEFT_I64, c.A.nnz = most));
}

static void test_tilings_that_share_what_max_min_do_not(void **state)
{
    (void)state;
    weft_spmm_tiling tiling = cutting;
    tiling.k_block = 3;
    REFUSE(
        WEFT_BAD_ARGUMENT,
        "tiling.k_block is 3, stage 0, row_blocks_per_copy 0, tasks 0, row_split 0, entry_lanes 0, "
        "not packed",
        c.params.tiling = TILING_TEXT(spmm, &tiling));
    tiling.k_block = 0;
    tiling.packed = true;
    REFUSE(WEFT_BAD_ARGUMENT,
           "row_blocks_per_copy 0, tasks 0, row_split 0, entry_lanes 0, packed: a min has none of",
           (c.params.tiling = TILING_TEXT(spmm, &tiling), c.params.reduction = WEFT_SPMM_MIN));
    tiling.packed = false;
    tiling.row_blocks_per_copy = 1;
    REFUSE(WEFT_BAD_ARGUMENT,
           "row_blocks_per_copy 1, tasks 0, row_split 0, entry_lanes 0, not packed: a max has none",
           c.params.tiling = TILING_TEXT(spmm, &tiling));
    tiling.row_blocks_per_copy = 0;
    tiling.tasks = 6;
    REFUSE(WEFT_BAD_ARGUMENT, "tasks 6, row_split 0", c.params.tiling = TILING_TEXT(spmm, &tiling));
    tiling.tasks = 0;
    tiling.lanes = tiling.stage = 2;
    REFUSE(WEFT_BAD_ARGUMENT, "stage 2", c.params.tiling = TILING_TEXT(spmm, &tiling));
}

static void test_aligned_vectors_want_aligned_arguments(void **state)
{
    (void)state;
    weft_spmm_tiling tiling = cutting;
    tiling.vector_width = 4;
    tiling.aligned = true;
    REFUSE(WEFT_BAD_ARGUMENT,
           "tiling.aligned with vector_width 4: rows of B and C start on multiples of 1",
           (c.params.tiling = TILING_TEXT(spmm, &tiling), c.arguments.offset += 1));
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.aligned with vector_width 4",
           (c.params.tiling = TILING_TEXT(spmm, &tiling), c.arguments.stride[0] += 1));
    a.view.offset -= 4; // as good as any other multiple
    call c = good_call();
    c.params.tiling = TILING_TEXT(spmm, &tiling);
    c.params.arguments = &a.view;
    assert_ok(weft_spmm(ctx, queue, 1, &c.A, &c.B, 1, &c.C, &c.params));
    spmm_check(&o);
    spmm_arguments_check(&a, &o);
}

// ---- where no entry counts

// C = beta C, and -1 everywhere.
static void check_none(spmm_case of)
{
    const weft_dtype dtypes[] = {WEFT_I32, WEFT_I64};
    for (int i = 0; i < 4; i++) {
        of.reduction = i % 2 ? WEFT_SPMM_MIN : WEFT_SPMM_MAX;
        spmm_arguments_run(ctx, &of, dtypes[i / 2], 1 + i / 2);
        spmm_run(ctx, &of);
    }
}

static void test_alpha_0(void **state)
{
    (void)state;
    spmm_case of = small_case(WEFT_SPMM_MAX);
    of.alpha = 0;
    of.numbers = WILD_INPUT;
    check_none(of);
    of.beta = 0;
    check_none(of);
    of.reduction = WEFT_SPMM_MEAN;
    spmm_run(ctx, &of);
}

static void test_no_entries(void **state)
{
    (void)state;
    spmm_case of = small_case(WEFT_SPMM_MAX);
    of.rows = ROWS_EMPTY;
    check_none(of);
    of.beta = 0;
    of.reduction = WEFT_SPMM_MEAN;
    spmm_run(ctx, &of);
    of.rows = ROWS_RANDOM;
    of.k = 0;
    check_none(of);
}

static void test_no_entries_in_many_rows(void **state)
{
    (void)state;
    spmm_case of = small_case(WEFT_SPMM_MAX);
    of.rows = ROWS_EMPTY;
    of.m = 1301;
    spmm_arguments_run(ctx, &of, WEFT_I32, 1);
}

// Entries in a matrix without columns: what they say is not read.
static void test_no_columns(void **state)
{
    (void)state;
    call c = good_call();
    c.A.n_cols = c.B.shape[1] = 0;
    c.B.buffer = NULL;
    c.params.arguments = &c.arguments;
    assert_ok(weft_spmm(ctx, queue, 1, &c.A, &c.B, 1, &c.C, &c.params));
    void *after = spmm_read(&o);
    assert_memory_equal(after, o.c_before, o.c_bytes);
    free(after);
    int32_t *found = spmm_arguments_read(&a, &o);
    const int64_t last = a.view.offset + 2 * 5 * 4 - 1;
    for (int64_t i = a.view.offset; i <= last; i++)
        assert_int_equal(found[i], -1);
    free(found);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    spmm_case of = small_case(WEFT_SPMM_MIN);
    of.n_batches = 0;
    for (int i = 0; i < 2; i++) {
        of.m = i == 0 ? 0 : 5;
        of.n = i == 1 ? 0 : 4;
        spmm_arguments_run(ctx, &of, WEFT_I32, 1);
    }
}

// ---- NaN, infinity and equal products

// One row of A against one column of B: the largest and the smallest product, and who makes them.
typedef struct row_case {
    double a[6], b[6];
    double most, least;
    int64_t of_most, of_least;
} row_case;

static const row_case rows[] = {
    {{1, 2, 3, 2, 1, 0}, {1, 1, 1, 1, 1, 1}, 3, 0, 2, 5},
    {{2, 1, 2, 1, 2, 1}, {1, 1, 1, 1, 1, 1}, 2, 1, 0, 1},   // the first of equals
    {{-1, 2, -2, 1, 1, 1}, {0, 0, 0, 0, 0, 0}, 0, 0, 0, 0}, // 0 and -0
    {{-5, -4, -3, -3, -4, -5}, {1, 1, 1, 1, 1, 1}, -3, -5, 2, 0},
    {{1, NAN, 1, NAN, 1, 1}, {1, 1, INFINITY, 1, 1, -INFINITY}, NAN, NAN, 1, 1},
    {{1, 1, 0, 1, 1, 0}, {9, 1, INFINITY, 1, 1, -INFINITY}, NAN, NAN, 2, 2}, // 0 times infinity
    {{-1, -1, -1, -1, -1, -1},
     {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY},
     -INFINITY,
     -INFINITY,
     0,
     0},
    {{1, 1, 1, 1, 1, 1}, {3, INFINITY, 4, INFINITY, -INFINITY, 2}, INFINITY, -INFINITY, 1, 4},
};
enum { N_ROWS_CASES = sizeof(rows) / sizeof(rows[0]) };

static cl_mem buffer_with(const void *data, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, bytes,
                                   (void *)(uintptr_t)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static void check_row(const row_case *r, weft_spmm_reduction reduction, int64_t row_chunk)
{
    static const int32_t offsets[] = {0, 6}, indices[] = {0, 1, 2, 3, 4, 5};
    const weft_spmm_tiling tiling = {.vector_width = 2,
                                     .vectors = 1,
                                     .lanes = 1,
                                     .rows_per_group = 1,
                                     .load = 1,
                                     .unroll = 2,
                                     .row_chunk = row_chunk};
    float values[6], dense[12], c[2] = {0};
    int32_t found[2] = {7, 7};
    for (int i = 0; i < 6; i++) {
        values[i] = (float)r->a[i];
        dense[2 * i] = dense[2 * i + 1] = (float)r->b[i];
    }
    const weft_csr A = {.n_rows = 1,
                        .n_cols = 6,
                        .nnz = 6,
                        .offsets = buffer_with(offsets, sizeof(offsets)),
                        .indices = buffer_with(indices, sizeof(indices)),
                        .values = buffer_with(values, sizeof(values))};
    const weft_tensor B = weft_matrix(buffer_with(dense, sizeof(dense)), WEFT_F32, 6, 2);
    const weft_tensor C = weft_matrix(buffer_with(c, sizeof(c)), WEFT_F32, 1, 2);
    const weft_tensor arguments = weft_matrix(buffer_with(found, sizeof(found)), WEFT_I32, 1, 2);
    char scratch[4096] = {0}; // Oclgrind wants it written
    cl_mem workspace = buffer_with(scratch, sizeof(scratch));
    assert_ok(weft_spmm(ctx, queue, 1, &A, &B, 0, &C,
                        WEFT_SPMM(.tiling = TILING_TEXT(spmm, &tiling), .workspace = workspace,
                                  .reduction = reduction, .arguments = &arguments)));
    clEnqueueReadBuffer(queue, C.buffer, CL_TRUE, 0, sizeof(c), c, 0, NULL, NULL);
    clEnqueueReadBuffer(queue, arguments.buffer, CL_TRUE, 0, sizeof(found), found, 0, NULL, NULL);
    const bool is_max = reduction == WEFT_SPMM_MAX;
    const double want = is_max ? r->most : r->least;
    for (int j = 0; j < 2; j++) {
        assert_true(want != want ? c[j] != c[j] : (double)c[j] == want);
        assert_int_equal(found[j], is_max ? r->of_most : r->of_least);
    }
    cl_mem buffers[] = {A.offsets, A.indices,        A.values, B.buffer,
                        C.buffer,  arguments.buffer, workspace};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        clReleaseMemObject(buffers[i]);
}

static void test_what_wins(void **state)
{
    (void)state;
    for (int i = 0; i < N_ROWS_CASES; i++)
        for (int64_t row_chunk = 1; row_chunk <= 4;
             row_chunk++) { // the row whole, and in two to six row chunks
            check_row(&rows[i], WEFT_SPMM_MAX, row_chunk);
            check_row(&rows[i], WEFT_SPMM_MIN, row_chunk);
        }
}

// ---- scratch memory, words

static void test_workspace(void **state)
{
    (void)state;
    call c = good_call();
    size_t bytes[2];
    assert_ok(weft_spmm_workspace(ctx, &c.A, &c.B, &c.C, &c.params, &bytes[0]));
    c.params.arguments = &c.arguments;
    assert_ok(weft_spmm_workspace(ctx, &c.A, &c.B, &c.C, &c.params, &bytes[1]));
    assert_true(bytes[0] >= 15 * 4 * 2 * sizeof(float)); // row chunks of A, columns, matrices
    assert_true(bytes[1] >= bytes[0] + 15 * 4 * 2 * sizeof(int32_t));
    spmm_arguments_call(&a, &o);
    spmm_check(&o);
    spmm_arguments_check(&a, &o);
}

static void test_describe(void **state)
{
    (void)state;
    static const char *const words[] = {"", "; means", "; largest products", "; smallest products"};
    for (int i = WEFT_SPMM_SUM; i <= WEFT_SPMM_MIN; i++) {
        char text[512];
        call c = good_call();
        c.params.reduction = (weft_spmm_reduction)i;
        assert_true(weft_spmm_describe(ctx, &c.A, &c.B, &c.C, &c.params, text, sizeof(text)) > 0);
        const size_t length = strlen(text), ending = strlen(words[i]);
        assert_true(length > ending);
        assert_string_equal(text + length - ending, words[i]);
        if (i == WEFT_SPMM_SUM)
            assert_null(strstr(text, "; means"));
    }
}

static void test_names(void **state)
{
    (void)state;
    weft_spmm_reduction found;
    for (int i = WEFT_SPMM_SUM; i <= WEFT_SPMM_MIN; i++) {
        assert_true(
            weft_spmm_reduction_find(weft_spmm_reduction_name((weft_spmm_reduction)i), &found));
        assert_int_equal(found, i);
    }
    assert_string_equal(weft_spmm_reduction_name(WEFT_SPMM_MEAN), "mean");
    assert_null(weft_spmm_reduction_name((weft_spmm_reduction)4));
    assert_null(weft_spmm_reduction_name((weft_spmm_reduction)-1));
    assert_false(weft_spmm_reduction_find("prod", &found));
    assert_false(weft_spmm_reduction_find(NULL, &found));
}

// ---- among other work

static cl_command_queue new_queue(cl_command_queue_properties properties)
{
    cl_int code;
    cl_command_queue made =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx), properties, &code);
    return code == CL_SUCCESS ? made : NULL;
}

// Rows, row chunks and these combined wait for each other, and C for alpha 0 and -1 for the event.
static void run_on_queue(cl_command_queue on)
{
    for (uint64_t seed = 2; seed < 26; seed += 4) {
        spmm_operands p;
        spmm_arguments found;
        spmm_case of = small_case(seed % 8 == 2 ? WEFT_SPMM_MAX : WEFT_SPMM_MIN);
        of.seed = seed;
        of.m = 40;
        of.alpha = seed == 22 ? 0 : 2;
        spmm_create(&p, ctx, on, &of);
        spmm_arguments_create(&found, &p, WEFT_I32, 1);
        cl_event done = NULL;
        weft_spmm_params params = spmm_params(&p);
        params.arguments = &found.view;
        params.event = &done;
        assert_ok(weft_spmm(ctx, on, of.alpha, &p.A, &p.B, of.beta, &p.C, &params));
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        clReleaseEvent(done);
        spmm_check(&p);
        spmm_arguments_check(&found, &p);
        spmm_arguments_destroy(&found);
        spmm_destroy(&p);
    }
}

static void test_queues_of_either_kind(void **state)
{
    (void)state;
    cl_command_queue loose = new_queue(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    run_on_queue(queue);
    if (!loose)
        skip();
    run_on_queue(loose);
    clReleaseCommandQueue(loose);
}

static void check_same_bits(weft_spmm_reduction reduction)
{
    spmm_case of = small_case(reduction);
    of.numbers = FRACTIONS;
    spmm_check_same_bits(ctx, &of);
}

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    for (int i = WEFT_SPMM_MEAN; i <= WEFT_SPMM_MIN; i++)
        check_same_bits((weft_spmm_reduction)i);
}

#define with_operands(test) cmocka_unit_test_setup_teardown(test, make_operands, destroy_operands)

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        with_operands(test_reductions_that_do_not_serve),
        with_operands(test_arguments_that_do_not_serve),
        with_operands(test_more_entries_than_i32_counts),
        with_operands(test_tilings_that_share_what_max_min_do_not),
        with_operands(test_aligned_vectors_want_aligned_arguments),
        cmocka_unit_test(test_alpha_0),
        cmocka_unit_test(test_no_entries),
        cmocka_unit_test(test_no_entries_in_many_rows),
        with_operands(test_no_columns),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_what_wins),
        with_operands(test_workspace),
        with_operands(test_describe),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_queues_of_either_kind),
        cmocka_unit_test(test_same_bits_run_after_run),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
