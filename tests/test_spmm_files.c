// SPDX-License-Identifier: Apache-2.0
// SpMM by matrices out of files, with their values, as it is planned for the device.
#include "matrix_files.h"
#include "spmm_arguments.h"

static weft_context *ctx;
static bool is_slow; // Oclgrind: less of each

static spmm_case case_of(const weft_csr_host *host, bool transpose_a)
{
    return (spmm_case){.seed = (uint64_t)host->nnz,
                       .m = transpose_a ? host->n_cols : host->n_rows,
                       .k = transpose_a ? host->n_rows : host->n_cols,
                       .n = is_slow ? 3 : 11, // no multiple of anything
                       .given = host,
                       .numbers = FRACTIONS,
                       .transpose_a = transpose_a,
                       .with_plan = transpose_a,
                       .alpha = -0.75,
                       .beta = 0.5};
}

static void run_sums(const weft_csr_host *host)
{
    spmm_case one = case_of(host, false);
    spmm_run(ctx, &one);
    one.beta = 0;
    one.with_plan = true;
    spmm_run(ctx, &one);
    one.n = 32;
    one.n_batches = 2;
    if (!is_slow)
        spmm_run(ctx, &one);
}

static void run_transposed(const weft_csr_host *host)
{
    const spmm_case one = case_of(host, true);
    spmm_run(ctx, &one);
}

static void run_layer(const weft_csr_host *host)
{
    spmm_case one = case_of(host, false);
    one.with_plan = true;
    one.beta = 0;
    one.has_bias = true;
    one.bias_step = 1;
    one.activation = WEFT_ACTIVATION_GELU;
    spmm_run(ctx, &one);
}

static void run_others(const weft_csr_host *host)
{
    for (int i = 0; i < 4; i += is_slow ? 3 : 1) {
        spmm_case one = case_of(host, i == 3);
        one.with_plan = i % 2;
        one.reduction = i < 3 ? (weft_spmm_reduction)(WEFT_SPMM_MEAN + i) : WEFT_SPMM_MAX;
        if (one.reduction == WEFT_SPMM_MEAN)
            spmm_run(ctx, &one);
        else
            spmm_arguments_run(ctx, &one, WEFT_I32, 1);
    }
}

static void test_sums(void **state)
{
    (void)state;
    each_matrix_file(run_sums);
}

static void test_sums_by_the_transpose(void **state)
{
    (void)state;
    each_matrix_file(run_transposed);
}

static void test_with_bias_and_activation(void **state)
{
    (void)state;
    each_matrix_file(run_layer);
}

static void test_means_and_max_min(void **state)
{
    (void)state;
    each_matrix_file(run_others);
}

int main(void)
{
    need_device();
    is_slow = is_on("oclgrind");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_sums_by_the_transpose),
        cmocka_unit_test(test_with_bias_and_activation),
        cmocka_unit_test(test_means_and_max_min),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
