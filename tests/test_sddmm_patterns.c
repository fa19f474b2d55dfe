// SPDX-License-Identifier: Apache-2.0
// SDDMM at patterns of every kind, made up and out of files, as it is planned for the device.
#include "sddmm_case.h"

#include "matrix_files.h"
#include "reference_sddmm.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

static void test_every_kind_of_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4 * N_ROWS; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = is_reduced ? 40 : 200,
                                .n = is_reduced ? 25 : 90,
                                .k = 37,
                                .rows = (sparse_rows)(seed / 4),
                                .numbers = seed % 2 ? FRACTIONS : WHOLE,
                                .offsets_start = (int64_t)seed % 3,
                                .indices_start = (int64_t)seed % 5,
                                .values_start = (int64_t)seed % 7,
                                .alpha = 1,
                                .beta = seed % 4 == 3};
        sddmm_run(ctx, &one);
    }
}

// Slices begin behind thousands of empty rows, before the first entry and behind the last one.
static void test_long_stretches_of_empty_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = is_reduced ? 500 : 20000,
                                .n = 50,
                                .k = 3,
                                .rows = ROWS_FAR,
                                .offset_dtype = seed % 2 ? WEFT_I64 : WEFT_I32,
                                .alpha = 1};
        sddmm_run(ctx, &one);
    }
}

// One row in many chunks, at the start, in the middle or at the end.
static void test_a_huge_row(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = seed < 3 ? 3 : 1,
                                .n = is_reduced ? 900 : 30000,
                                .k = 5,
                                .rows = seed < 3 ? ROWS_ONE_FULL : ROWS_REPEATED,
                                .index_dtype = seed % 2 ? WEFT_I16 : WEFT_I32,
                                .alpha = 1};
        sddmm_run(ctx, &one);
    }
}

static void test_millions_of_columns(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = 9,
                                .n = is_reduced ? 300000 : 3000000,
                                .k = 2,
                                .rows = ROWS_SPARSE,
                                .b_layout = seed ? COLUMN_MAJOR : ROW_MAJOR,
                                .alpha = 1};
        sddmm_run(ctx, &one);
    }
}

// The last column that i16 indices reach.
static void test_the_most_columns_of_short_indices(void **state)
{
    (void)state;
    const sddmm_case one = {.seed = 2,
                            .m = 4,
                            .n = 32768,
                            .k = 2,
                            .rows = ROWS_ONE_FULL,
                            .index_dtype = WEFT_I16,
                            .alpha = 1};
    if (!is_reduced)
        sddmm_run(ctx, &one);
}

// ---- out of files

static weft_tensor upload(int64_t rows, int64_t columns, const float *data)
{
    const size_t bytes = (size_t)(rows * columns) * sizeof(float);
    return weft_matrix(buffer_of(ctx, data, bytes), WEFT_F32, rows, columns);
}

static float *random_floats(random_state *random, int64_t n)
{
    float *data = memory_filled((size_t)n * sizeof(float), 0);
    for (int64_t i = 0; i < n; i++)
        data[i] = random_float(random);
    return data;
}

static void check_D(const reference_sddmm *problem, cl_mem D)
{
    const size_t bytes = (size_t)problem->C->nnz * sizeof(float);
    reference_result result;
    complaint why;
    float *got = buffer_now(queue, D, bytes);
    if (!reference_sddmm_compare(problem, got, &result, &why))
        fail_msg("%s", why.text);
    if (!(result.error <= 1))
        fail_msg("%d x %d: D(%d, %d) is %.9g, not %.9g", (int)problem->C->n_rows,
                 (int)problem->C->n_cols, (int)result.row, (int)result.col, result.got,
                 result.want);
    free(got);
}

static void run_file(const weft_csr_host *host)
{
    const int64_t k = host->nnz % 2 ? 24 : 40;
    random_state random = {(uint64_t)host->nnz};
    float *a = random_floats(&random, host->n_rows * k);
    float *b = random_floats(&random, host->n_cols * k);
    const reference_sddmm problem = {
        .C = host, .k = k, .alpha = 1, .A = a, .B = b, .b_row = 1, .b_column = k};
    weft_csr C;
    assert_ok(weft_csr_create(&C, ctx, queue, host));
    weft_tensor A = upload(host->n_rows, k, a), transposed_B = upload(host->n_cols, k, b);
    const weft_tensor B = weft_tensor_transposed(&transposed_B);
    const size_t bytes = (size_t)(host->nnz + 1) * sizeof(float); // of some buffer at least
    float *nothing = memory_filled(bytes, SPARSE_POISON);
    const weft_tensor D = {
        .buffer = buffer_of(ctx, nothing, bytes), .ndim = 1, .shape = {host->nnz}, .stride = {1}};
    assert_ok(weft_sddmm(ctx, queue, 1, &A, &B, &C, 0, &D, NULL));
    check_D(&problem, D.buffer);
    clReleaseMemObject(A.buffer);
    clReleaseMemObject(B.buffer);
    clReleaseMemObject(D.buffer);
    weft_csr_destroy(&C);
    free(a);
    free(b);
    free(nothing);
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(run_file);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_of_rows),
        cmocka_unit_test(test_long_stretches_of_empty_rows),
        cmocka_unit_test(test_a_huge_row),
        cmocka_unit_test(test_millions_of_columns),
        cmocka_unit_test(test_the_most_columns_of_short_indices),
        cmocka_unit_test(test_matrices_out_of_files),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
