// SPDX-License-Identifier: Apache-2.0
// Sums of a million f32 products, all of them equal, so that rounding errors have one sign: nothing
// adds more than some thousands of them to one number. Each operation that sums products, planned
// for the device at hand and for a GPU.
#include <weft/matmul.h>
#include <weft/sddmm.h>
#include <weft/sddmm_sparse.h>
#include <weft/spgemm.h>
#include <weft/spmm.h>

#include <math.h>

#include "sparse/spgemm_plan.h"
#include "sparse_case.h"
#include "tiling_text.h"

enum { K = 1000000, MOST_SIDE = 20 };

// A sum of K products in blocks of 4096 is off by no more of them; one in order by ten times that.
static const double bound = 4096 * 0x1p-24;

static const float number = 0.7f;

static weft_context *contexts[2];
static weft_context *ctx;
static cl_command_queue queue;

// So many times x.
static cl_mem filled(int64_t n, float x)
{
    float *data = malloc((size_t)n * sizeof(*data));
    assert_non_null(data);
    for (int64_t i = 0; i < n; i++)
        data[i] = x;
    cl_mem buffer = buffer_of(ctx, data, (size_t)n * sizeof(*data));
    free(data);
    return buffer;
}

static void check(const char *what, weft_status status, cl_mem results, int64_t n)
{
    if (status != WEFT_OK)
        fail_msg("%s: %s", what, weft_last_error());
    const double want = (double)number * K;
    float *got = buffer_now(queue, results, (size_t)n * sizeof(*got));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - want) <= bound * want))
            fail_msg("%s on %s: result %d is %.9g, not %.9g", what, weft_context_limits(ctx)->name,
                     (int)i, (double)got[i], want);
    free(got);
}

// Operands repeat one element, or one line of them, without end.
static void multiply(const char *what, int64_t m, int64_t n, bool by_rows)
{
    cl_mem a = filled(1, number), b = filled(by_rows ? n : 1, 1);
    const weft_tensor A = {.buffer = a, .ndim = 2, .shape = {m, K}};
    const weft_tensor B = {.buffer = b, .ndim = 2, .shape = {K, n}, .stride = {0, by_rows}};
    const weft_tensor C = weft_matrix(filled(m * n, NAN), WEFT_F32, m, n);
    check(what, weft_matmul(ctx, queue, 1, &A, &B, 0, &C, NULL), C.buffer, m * n);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    clReleaseMemObject(C.buffer);
}

static void test_matmul(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ctx = contexts[i];
        queue = weft_context_queue(ctx);
        multiply("matmul, few rows", 3, 24, true);
        multiply("matmul, blocks", MOST_SIDE, MOST_SIDE, true);
        multiply("matmul, single products", 1, 1, false);
    }
}

// One row with an entry in each column.
static weft_csr full_row(void)
{
    const int32_t offsets[] = {0, K};
    int32_t *indices = malloc(K * sizeof(*indices));
    assert_non_null(indices);
    for (int32_t i = 0; i < K; i++)
        indices[i] = i;
    const weft_csr row = {.n_rows = 1,
                          .n_cols = K,
                          .nnz = K,
                          .offsets = buffer_of(ctx, offsets, sizeof(offsets)),
                          .indices = buffer_of(ctx, indices, K * sizeof(*indices)),
                          .values = filled(K, number)};
    free(indices);
    return row;
}

static void release(const weft_csr *csr)
{
    clReleaseMemObject(csr->offsets);
    clReleaseMemObject(csr->indices);
    clReleaseMemObject(csr->values);
}

static void test_spmm(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const int64_t n = i % 2 ? 5 : 1;
        ctx = contexts[i / 2];
        queue = weft_context_queue(ctx);
        const weft_csr A = full_row();
        const weft_tensor B = {
            .buffer = filled(n, 1), .ndim = 2, .shape = {K, n}, .stride = {0, 1}};
        const weft_tensor C = weft_matrix(filled(n, NAN), WEFT_F32, 1, n);
        check("spmm", weft_spmm(ctx, queue, 1, &A, &B, 0, &C, NULL), C.buffer, n);
        clReleaseMemObject(B.buffer);
        clReleaseMemObject(C.buffer);
        release(&A);
    }
}

// Times a column of ones, whose sum stands beside others, in groups of one item and of several.
static void test_spgemm_to_dense(void **state)
{
    (void)state;
    static const weft_spgemm_tiling of_a_gpu = {.items = 32, .rows = 1, .columns = 64};
    for (int i = 0; i < 4; i++) {
        ctx = contexts[i / 2];
        queue = weft_context_queue(ctx);
        const weft_csr A = full_row();
        int32_t *offsets = malloc((K + 1) * sizeof(*offsets));
        void *zeros = memory_filled(K * sizeof(int32_t), 0);
        assert_non_null(offsets);
        for (int32_t k = 0; k <= K; k++)
            offsets[k] = k;
        const weft_csr B = {.n_rows = K,
                            .n_cols = 1,
                            .nnz = K,
                            .offsets = buffer_of(ctx, offsets, (K + 1) * sizeof(*offsets)),
                            .indices = buffer_of(ctx, zeros, K * sizeof(int32_t)),
                            .values = filled(K, 1)};
        const weft_tensor C = weft_matrix(filled(1, NAN), WEFT_F32, 1, 1);
        const weft_spgemm_params params = {.size = sizeof(params),
                                           .tiling = TILING_TEXT(spgemm, i % 2 ? &of_a_gpu : NULL)};
        check("spgemm_dense", weft_spgemm_dense(ctx, queue, 1, &A, &B, 0, &C, &params), C.buffer,
              1);
        free(offsets);
        free(zeros);
        clReleaseMemObject(C.buffer);
        release(&A);
        release(&B);
    }
}

static weft_csr one_entry(void)
{
    const int32_t offsets[] = {0, 1}, index = 0;
    return (weft_csr){.n_rows = 1,
                      .n_cols = 1,
                      .nnz = 1,
                      .offsets = buffer_of(ctx, offsets, sizeof(offsets)),
                      .indices = buffer_of(ctx, &index, sizeof(index)),
                      .values = filled(1, 1)};
}

static void test_sddmm(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        ctx = contexts[i];
        queue = weft_context_queue(ctx);
        const weft_csr C = one_entry();
        const weft_tensor A = weft_matrix(filled(K, number), WEFT_F32, 1, K);
        const weft_tensor B = {.buffer = filled(1, 1), .ndim = 2, .shape = {K, 1}};
        const weft_tensor D = {.buffer = filled(1, NAN), .ndim = 1, .shape = {1}, .stride = {1}};
        check("sddmm", weft_sddmm(ctx, queue, 1, &A, &B, &C, 0, &D, NULL), D.buffer, 1);
        clReleaseMemObject(A.buffer);
        clReleaseMemObject(B.buffer);
        clReleaseMemObject(D.buffer);
        release(&C);
    }
}

static void test_sddmm_of_sparse_factors(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        ctx = contexts[i / 3];
        queue = weft_context_queue(ctx);
        const weft_csr C = one_entry(), row = full_row();
        weft_csr ones = row;
        ones.values = filled(K, 1);
        const weft_tensor dense = {.buffer = filled(1, 1), .ndim = 2, .shape = {1, K}};
        const weft_tensor D = {.buffer = filled(1, NAN), .ndim = 1, .shape = {1}, .stride = {1}};
        const weft_factor pairs[3][2] = {{{.sparse = &row}, {.dense = &dense}},
                                         {{.dense = &dense}, {.sparse = &row}},
                                         {{.sparse = &row}, {.sparse = &ones}}};
        const weft_factor *pair = pairs[i % 3];
        check("sddmm_sparse", weft_sddmm_sparse(ctx, queue, 1, &pair[0], &pair[1], &C, 0, &D, NULL),
              D.buffer, 1);
        clReleaseMemObject(ones.values);
        clReleaseMemObject(dense.buffer);
        clReleaseMemObject(D.buffer);
        release(&row);
        release(&C);
    }
}

int main(void)
{
    need_device();
    contexts[0] = open_context(NULL);
    contexts[1] = open_context(weft_profile_find("nvidia-a100"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_spmm),
        cmocka_unit_test(test_spgemm_to_dense),
        cmocka_unit_test(test_sddmm),
        cmocka_unit_test(test_sddmm_of_sparse_factors),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&contexts[0]);
    weft_context_destroy(&contexts[1]);
    return failed;
}
