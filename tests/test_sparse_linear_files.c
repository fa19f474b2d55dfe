// SPDX-License-Identifier: Apache-2.0
// The sparse linear layer with weights out of files: forward and both gradients, as they are
// planned for the device, against the references of the products that they are; and the same bits
// every time, with weights that are made up too.
#include <weft/sparse_linear.h>

#include "matrix_files.h"
#include "reference_sddmm.h"
#include "sparse_case.h"

static weft_context *ctx;
static cl_command_queue queue;

enum { N = 11 }; // samples, no multiple of anything

// A row-major matrix, or a line of numbers: on the host and on the device.
typedef struct operand {
    weft_tensor view;
    float *host;
    size_t bytes;
} operand;

typedef struct layer {
    const weft_csr_host *host;
    weft_csr W;
    operand bias, X, dY; // read
    operand Y, dX, dW;   // written, full of NaN
    weft_spmm_plan *plan, *transposed;
} layer;

// Where no element is there is a buffer all the same.
static operand make_operand(random_state *random, int64_t rows, int64_t columns)
{
    operand o = {.bytes = (size_t)(rows * columns + 1) * sizeof(float)};
    o.host = memory_filled(o.bytes, SPARSE_POISON);
    for (int64_t i = 0; random && i < rows * columns; i++)
        o.host[i] = random_float(random);
    o.view = weft_matrix(buffer_of(ctx, o.host, o.bytes), WEFT_F32, rows, columns);
    return o;
}

static operand make_line(random_state *random, int64_t n)
{
    operand o = make_operand(random, 1, n);
    o.view.ndim = 1;
    o.view.shape[0] = n;
    o.view.stride[0] = 1;
    return o;
}

static void create(layer *l, const weft_csr_host *host)
{
    random_state random = {(uint64_t)host->nnz};
    *l = (layer){.host = host};
    assert_ok(weft_csr_create(&l->W, ctx, queue, host));
    l->bias = make_line(&random, host->n_rows);
    l->X = make_operand(&random, host->n_cols, N);
    l->dY = make_operand(&random, host->n_rows, N);
    l->Y = make_operand(NULL, host->n_rows, N);
    l->dX = make_operand(NULL, host->n_cols, N);
    l->dW = make_line(NULL, host->nnz);
    assert_ok(weft_spmm_plan_create(&l->plan, ctx, queue, &l->W, NULL));
    assert_ok(weft_spmm_plan_create(&l->transposed, ctx, queue, &l->W,
                                    WEFT_SPMM_PLAN(.transpose_a = true)));
}

static void destroy(layer *l)
{
    operand *const operands[] = {&l->bias, &l->X, &l->dY, &l->Y, &l->dX, &l->dW};
    for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
        clReleaseMemObject(operands[i]->view.buffer);
        free(operands[i]->host);
    }
    weft_spmm_plan_destroy(&l->plan);
    weft_spmm_plan_destroy(&l->transposed);
    weft_csr_destroy(&l->W);
}

static weft_status forward(const layer *l)
{
    return weft_sparse_linear(ctx, queue, &l->W, &l->X.view, &l->Y.view,
                              WEFT_SPARSE_LINEAR(.plan = l->plan, .bias = &l->bias.view,
                                                 .activation = WEFT_ACTIVATION_RELU));
}

static weft_status by_input(const layer *l)
{
    return weft_sparse_linear_dx(ctx, queue, &l->W, &l->dY.view, &l->dX.view,
                                 WEFT_SPARSE_LINEAR(.plan = l->transposed));
}

static weft_status by_weights(const layer *l)
{
    return weft_sparse_linear_dw(ctx, queue, &l->dY.view, &l->X.view, &l->W, &l->dW.view, NULL);
}

static void expect(const layer *l, const char *name, const reference_result *result)
{
    if (!(result->error <= 1))
        fail_msg("weights %d x %d with %d entries: %s(%d, %d) is %.9g, not %.9g",
                 (int)l->host->n_rows, (int)l->host->n_cols, (int)l->host->nnz, name,
                 (int)result->row, (int)result->col, result->got, result->want);
}

static void check_product(const layer *l, const char *name, const reference_spmm *problem,
                          const operand *C)
{
    reference_result result;
    complaint why;
    float *got = buffer_now(queue, C->view.buffer, C->bytes);
    if (!reference_spmm_compare(problem, got, &result, &why))
        fail_msg("%s", why.text);
    expect(l, name, &result);
    free(got);
}

static void check_forward(const layer *l)
{
    const reference_spmm problem = {.A = l->host,
                                    .n = N,
                                    .alpha = 1,
                                    .B = l->X.host,
                                    .bias = l->bias.host,
                                    .activation = WEFT_ACTIVATION_RELU};
    assert_ok(forward(l));
    check_product(l, "Y", &problem, &l->Y);
}

static void check_by_input(const layer *l)
{
    const reference_spmm problem = {
        .A = l->host, .transpose_a = true, .n = N, .alpha = 1, .B = l->dY.host};
    assert_ok(by_input(l));
    check_product(l, "dX", &problem, &l->dX);
}

// dW = dY X^T where W has entries, whatever their values.
static void check_by_weights(const layer *l)
{
    const reference_sddmm problem = {.C = l->host,
                                     .indicator = true,
                                     .k = N,
                                     .alpha = 1,
                                     .A = l->dY.host,
                                     .B = l->X.host,
                                     .b_row = 1,
                                     .b_column = N};
    reference_result result;
    complaint why;
    assert_ok(by_weights(l));
    float *got = buffer_now(queue, l->dW.view.buffer, l->dW.bytes);
    if (!reference_sddmm_compare(&problem, got, &result, &why))
        fail_msg("%s", why.text);
    expect(l, "dW", &result);
    free(got);
}

// Once more, and again.
static void check_same_bits(const layer *l)
{
    typedef weft_status call(const layer *);
    static call *const calls[] = {forward, by_input, by_weights};
    const operand *const results[] = {&l->Y, &l->dX, &l->dW};
    for (int i = 0; i < 12; i++) {
        const operand *o = results[i % 3];
        void *want = buffer_now(queue, o->view.buffer, o->bytes);
        buffer_put(queue, o->view.buffer, o->host, o->bytes);
        assert_ok(calls[i % 3](l));
        void *got = buffer_now(queue, o->view.buffer, o->bytes);
        assert_memory_equal(got, want, o->bytes);
        free(want);
        free(got);
    }
}

static void run(const weft_csr_host *host)
{
    layer l;
    create(&l, host);
    check_forward(&l);
    check_by_input(&l);
    check_by_weights(&l);
    check_same_bits(&l);
    destroy(&l);
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(run);
}

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = 150 };
    float dense[ROWS * COLUMNS] = {0};
    random_state random = {7};
    weft_csr_host host;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (i / COLUMNS == 3 || random_below(&random, 4) == 0) // one row is full
            dense[i] = random_float(&random);
    assert_ok(weft_csr_host_from_dense(&host, ROWS, COLUMNS, dense, COLUMNS, 1, 0, NULL));
    run(&host);
    weft_csr_host_destroy(&host);
}

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrices_out_of_files),
        cmocka_unit_test(test_same_bits_run_after_run),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
