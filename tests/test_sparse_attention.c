// SPDX-License-Identifier: Apache-2.0
// Sparse attention over every small shape, in every data type, through batches of every kind, and
// with numbers that are none.
#include "sparse_attention_case.h"

#include <math.h>

#include "matrix_files.h"
#include "scalar.h"
#include "sparse/sparse_attention_plan.h"
#include "tiling_text.h"

static weft_context *ctx;
static int step; // of the small set: every step-th case

// Tiles of k and n-tiles of d of two and of four columns; rows of five entries are cut into row
// chunks.
static const weft_sparse_attention_tiling vectorized = {.vector_width = 2,
                                                        .vectors = 2,
                                                        .outputs = 1,
                                                        .lanes = 1,
                                                        .rows_per_group = 1,
                                                        .rows_per_item = 2,
                                                        .row_chunk = 2};
static const weft_sparse_attention_tiling vectorized_narrow = {.vector_width = 1,
                                                               .vectors = 2,
                                                               .outputs = 2,
                                                               .lanes = 1,
                                                               .rows_per_group = 2,
                                                               .rows_per_item = 1,
                                                               .row_chunk = 1};
static const weft_sparse_attention_tiling spread = {.vector_width = 1,
                                                    .vectors = 2,
                                                    .outputs = 1,
                                                    .lanes = 2,
                                                    .rows_per_group = 2,
                                                    .rows_per_item = 1,
                                                    .row_chunk = 2};
static const weft_sparse_attention_tiling in_steps = {.in_steps = true};

// ---- small shapes

// A vector of two is longer than k or d of 1: there `narrow` is taken, or the shape left out.
static void run_shapes(attention_case of, attention_strides strides,
                       const weft_sparse_attention_tiling *wide,
                       const weft_sparse_attention_tiling *narrow)
{
    static const int64_t rows[] = {0, 1, 2, 5}, depths[] = {0, 1, 2, 3, 4, 5};
    static uint64_t seed;
    for (int i = 0; i < 4 * 4 * 6 * 6; i++) {
        random_state random = {++seed};
        of.seed = seed;
        of.m = rows[i % 4];
        of.n = i / 4 % 4 ? rows[i / 4 % 4] + 1 : 0;
        of.k = depths[i / 16 % 6];
        of.d = depths[i / 96];
        const int64_t shorter = of.k < of.d ? of.k : of.d;
        of.tiling = wide && shorter < wide->vector_width ? narrow : wide;
        if (seed % (uint64_t)step != 0 || (wide && shorter < wide->vector_width && !narrow))
            continue;
        attention_vary(&of, strides, &random);
        attention_run(ctx, &of);
    }
}

static void test_small_shapes_as_planned(void **state)
{
    (void)state;
    run_shapes((attention_case){.dtype = WEFT_F32}, BOTH_ADJACENT, NULL, NULL);
    run_shapes((attention_case){.n_heads = 2}, BOTH_ADJACENT, NULL, NULL);
}

static void test_small_shapes_with_any_stride(void **state)
{
    (void)state;
    for (int strides = BOTH_ADJACENT; strides < N_STRIDES; strides++)
        run_shapes((attention_case){.n_heads = strides}, (attention_strides)strides, &vectorized,
                   strides == NONE_ADJACENT ? NULL : &vectorized_narrow);
    run_shapes((attention_case){.n_heads = 2}, NONE_ADJACENT, &spread, NULL);
}

static void test_small_shapes_in_steps(void **state)
{
    (void)state;
    run_shapes((attention_case){.n_heads = 2, .n_batches = 2}, BOTH_ADJACENT, &in_steps, NULL);
}

static void test_small_shapes_in_every_type(void **state)
{
    static const weft_dtype narrow_dtypes[] = {WEFT_F16, WEFT_BF16};
    (void)state;
    run_shapes((attention_case){.dtype = WEFT_F32}, BOTH_ADJACENT, &spread, NULL);
    for (int i = 0; i < 2; i++) {
        const attention_case of = {.dtype = narrow_dtypes[i], .n_heads = 1, .n_batches = i};
        run_shapes(of, BOTH_ADJACENT, &vectorized, NULL);
        run_shapes(of, BOTH_ADJACENT, &spread, NULL);
    }
}

static void test_small_shapes_in_f64(void **state)
{
    (void)state;
    if (!weft_context_limits(ctx)->has_f64)
        skip();
    run_shapes((attention_case){.dtype = WEFT_F64}, BOTH_ADJACENT, &vectorized, NULL);
    run_shapes((attention_case){.dtype = WEFT_F64}, BOTH_ADJACENT, &spread, NULL);
    run_shapes((attention_case){.dtype = WEFT_F64}, BOTH_ADJACENT, &in_steps, NULL);
}

static void test_small_shapes_with_every_index_type(void **state)
{
    (void)state;
    run_shapes((attention_case){.offset_dtype = WEFT_I64}, BOTH_ADJACENT, &spread, NULL);
    run_shapes((attention_case){.index_dtype = WEFT_I16}, BOTH_ADJACENT, &vectorized, NULL);
    run_shapes((attention_case){.offset_dtype = WEFT_I64, .index_dtype = WEFT_I16}, BOTH_ADJACENT,
               &vectorized, NULL);
}

// ---- batches

// Any layout of each operand beside any of the next one, in two to four dimensions: heads between
// rows ([batch, rows, heads, k] as [batch, heads, rows, k]), backwards, or the same for all.
static void test_layouts_of_heads(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < (uint64_t)N_LAYOUTS * N_LAYOUTS; seed++) {
        const int a = (int)seed / N_LAYOUTS, b = (int)seed % N_LAYOUTS;
        random_state random = {seed};
        attention_case one = {.seed = seed, .m = 4, .n = 5, .k = 3, .d = 6, .tiling = &vectorized};
        attention_vary(&one, BOTH_ADJACENT, &random);
        one.layout[Q_OPERAND] = (dense_layout)a;
        one.layout[K_OPERAND] = (dense_layout)((a + 3 * b) % N_LAYOUTS);
        one.layout[V_OPERAND] = (dense_layout)b;
        one.layout[O_OPERAND] = (dense_layout)((a + b) % N_OUTPUT_LAYOUTS);
        one.n_heads = random_below(&random, 4);
        one.n_batches = one.n_heads > 0 ? random_below(&random, 3) : 0;
        if (seed % (uint64_t)step == 0)
            attention_run(ctx, &one);
    }
}

// Many heads of which all look at the same K and V, and a row of Q for each.
static void test_heads_that_share_keys_and_values(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 8; seed++) {
        const attention_case one = {
            .seed = seed,
            .m = 3,
            .n = 9,
            .k = 5,
            .d = 4,
            .n_heads = 6,
            .n_batches = 2,
            .rows = ROWS_REPEATED,
            .layout = {BATCH_BETWEEN, SAME_MATRIX, SAME_MATRIX, BATCH_BETWEEN},
            .scale = 0.5,
            .tiling = seed % 2 ? &in_steps : &spread};
        attention_run(ctx, &one);
    }
}

// ---- rows of every kind

static void test_every_kind_of_rows(void **state)
{
    static const weft_sparse_attention_tiling *const tilings[] = {NULL, &vectorized, &spread,
                                                                  &in_steps};
    (void)state;
    for (uint64_t seed = 0; seed < 4 * N_ROWS * N_NUMBERS; seed++) {
        const attention_case one = {.seed = seed,
                                    .m = 40,
                                    .n = 37,
                                    .k = 7,
                                    .d = 9,
                                    .rows = (sparse_rows)(seed / 4 % N_ROWS),
                                    .numbers = (attention_numbers)(seed / 4 / N_ROWS),
                                    .scale = 0.4,
                                    .tiling = tilings[seed % 4]};
        if (seed % (uint64_t)step == 0)
            attention_run(ctx, &one);
    }
}

// One row of thousands of entries, by row chunks as planned; others have one or none.
static void test_a_huge_row(void **state)
{
    (void)state;
    for (uint64_t seed = is_on("oclgrind"); seed < 2; seed++) {
        const attention_case one = {.seed = seed,
                                    .m = 5,
                                    .n = is_on("oclgrind") ? 2500 : 20000,
                                    .k = 3,
                                    .d = 2,
                                    .rows = ROWS_ONE_FULL,
                                    .numbers = seed ? STEEP : FRACTIONS,
                                    .scale = 1};
        attention_run(ctx, &one);
    }
}

// ---- numbers that are none

// The only row: products are q + x of each x in K's first column, V's rows 1, 2, 3 and so on. With
// entry `at` made into x, what the row comes to.
static float row_with(weft_context *own, int64_t at, float x,
                      const weft_sparse_attention_tiling *tiling)
{
    enum { N = 7 };
    float q[3] = {1, 0.5F, 2}, k[N * 3], v[N * 2], *o;
    int32_t offsets[2] = {0, N}, indices[N];
    for (int i = 0; i < N; i++) {
        indices[i] = N - 1 - i;
        k[3 * i] = at < 0 || at == i ? x : (float)(i % 3);
        k[3 * i + 1] = k[3 * i + 2] = 0.25F;
        v[2 * i] = v[2 * i + 1] = (float)i + 1;
    }
    const cl_command_queue queue = weft_context_queue(own);
    const weft_csr M = {.n_rows = 1,
                        .n_cols = N,
                        .nnz = N,
                        .offsets = buffer_of(own, offsets, sizeof(offsets)),
                        .indices = buffer_of(own, indices, sizeof(indices))};
    const weft_tensor Q = weft_matrix(buffer_of(own, q, sizeof(q)), WEFT_F32, 1, 3);
    const weft_tensor K = weft_matrix(buffer_of(own, k, sizeof(k)), WEFT_F32, N, 3);
    const weft_tensor V = weft_matrix(buffer_of(own, v, sizeof(v)), WEFT_F32, N, 2);
    const weft_tensor O = weft_matrix(buffer_of(own, v, 2 * sizeof(*v)), WEFT_F32, 1, 2);
    assert_ok(weft_sparse_attention(
        own, queue, 1, &Q, &K, &V, &M, &O,
        WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, tiling))));
    o = buffer_now(queue, O.buffer, 2 * sizeof(*o));
    const float first = o[0];
    assert_memory_equal(&o[0], &o[1], sizeof(*o));
    const cl_mem buffers[] = {M.offsets, M.indices, Q.buffer, K.buffer, V.buffer, O.buffer};
    for (int i = 0; i < 6; i++)
        clReleaseMemObject(buffers[i]);
    free(o);
    return first;
}

// In a context of its own: Oclgrind takes scratch memory that others had before for uninitialised.
static void test_products_that_are_no_numbers(void **state)
{
    static const weft_sparse_attention_tiling *const tilings[] = {NULL, &vectorized, &spread,
                                                                  &in_steps};
    weft_context *own = open_context(NULL);
    (void)state;
    for (int t = 0; t < 4; t++) {
        const float all_masked = row_with(own, -1, -(float)INFINITY, tilings[t]);
        if (all_masked != 0)
            fail_msg("tiling %d: all masked gives %g", t, (double)all_masked);
        for (int64_t at = 0; at < 7; at++) {
            assert_true(isnan(row_with(own, at, (float)NAN, tilings[t])));
            assert_true(isnan(row_with(own, at, (float)INFINITY, tilings[t])));
            const float masked = row_with(own, at, -(float)INFINITY, tilings[t]);
            if (!(masked >= 1 && masked <= 7))
                fail_msg("tiling %d, entry %d masked: %g", t, (int)at, (double)masked);
            const float alone = row_with(own, at, 5000, tilings[t]);
            if (alone != (float)at + 1)
                fail_msg("tiling %d, entry %d alone: %g", t, (int)at, (double)alone);
        }
    }
    weft_context_destroy(&own);
}

// All weights of a row are the same: a mean of rows of V.
static void test_products_of_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const attention_case one = {.seed = seed,
                                    .m = 6,
                                    .n = 11,
                                    .k = seed % 2 ? 0 : 3,
                                    .d = 5,
                                    .n_heads = 2,
                                    .rows = seed % 3 ? ROWS_RANDOM : ROWS_REPEATED,
                                    .scale = seed % 2 ? 1 : 0};
        attention_run(ctx, &one);
    }
}

static void attend_file(const weft_csr_host *host)
{
    const attention_case one = {.seed = (uint64_t)host->nnz,
                                .m = host->n_rows,
                                .n = host->n_cols,
                                .k = 8,
                                .d = 12,
                                .given = host,
                                .scale = 0.35};
    attention_run(ctx, &one);
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(attend_file);
}

int main(void)
{
    need_device();
    step = is_on("oclgrind") ? 19 : getenv("WEFT_TEST_REDUCED") ? 7 : 1; // prime to the shapes' 400
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_shapes_as_planned),
        cmocka_unit_test(test_small_shapes_with_any_stride),
        cmocka_unit_test(test_small_shapes_in_steps),
        cmocka_unit_test(test_small_shapes_in_every_type),
        cmocka_unit_test(test_small_shapes_in_f64),
        cmocka_unit_test(test_small_shapes_with_every_index_type),
        cmocka_unit_test(test_layouts_of_heads),
        cmocka_unit_test(test_heads_that_share_keys_and_values),
        cmocka_unit_test(test_every_kind_of_rows),
        cmocka_unit_test(test_a_huge_row),
        cmocka_unit_test(test_products_that_are_no_numbers),
        cmocka_unit_test(test_products_of_nothing),
        cmocka_unit_test(test_matrices_out_of_files),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
