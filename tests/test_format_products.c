// SPDX-License-Identifier: Apache-2.0
// Products of matrices by columns, of those that store only rows or columns with entries, of dense
// ones by such, and of two sparse ones, against plain loops over the dense matrix. All numbers are
// small and whole, so that f32 has them exactly, in whichever order they are added.
#include <weft/csc.h>
#include <weft/csr_dense.h>
#include <weft/csr_transpose.h>
#include <weft/dcsc.h>
#include <weft/sparse_linear.h>
#include <weft/spgemm.h>
#include <weft/spmm.h>

#include "format_case.h"

static weft_context *ctx;
static cl_command_queue queue;

enum { M = 19, K = 23, N = 10, NNZ = 40, OLD = 3 }; // A is M x K; OLD: what C holds before
static const double ALPHA = 2, BETA = -1;

// A on the host: dense, and its pattern by rows, with values.
static float dense[M][K];
static pattern rows;
static float values[NNZ * 2]; // of each of the pattern's entries

static float small_number(random_state *random)
{
    return (float)random_between(random, -4, 4);
}

static int create_matrix(void **state)
{
    (void)state;
    random_state random = {11};
    rows = pattern_create(&random, PATTERN_SORTED, M, K, NNZ);
    assert_in_range(rows.nnz, 1, NNZ * 2);
    memset(dense, 0, sizeof(dense));
    for (int64_t row = 0; row < M; row++)
        for (int64_t e = rows.offsets[row]; e < rows.offsets[row + 1]; e++)
            dense[row][rows.columns[e]] = values[e] = small_number(&random);
    return 0;
}

static int destroy_matrix(void **state)
{
    (void)state;
    pattern_destroy(&rows);
    return 0;
}

// ---- the matrix on the device

// A by rows or, where it is transposed, A^T by rows, which is A by columns.
typedef struct compressed {
    device_pattern pattern;
    guarded values;
    weft_csr csr;
} compressed;

static compressed compressed_create(bool is_transposed)
{
    int64_t *source = NULL;
    pattern p = is_transposed ? pattern_transposed(&rows, &source) : rows;
    float *in_order = new_array(p.nnz, sizeof(float));
    for (int64_t e = 0; e < p.nnz; e++)
        in_order[e] = values[source ? source[e] : e];
    compressed c = {.pattern = device_pattern_create(ctx, &p, true, WEFT_I32, WEFT_I32, 2),
                    .values = guarded_create(ctx, in_order, p.nnz, sizeof(float), 3)};
    c.csr = c.pattern.csr;
    c.csr.values = c.values.buffer;
    c.csr.values_start = c.values.start;
    free(in_order);
    free(source);
    if (is_transposed)
        pattern_destroy(&p);
    return c;
}

static void compressed_destroy(compressed *c)
{
    device_pattern_destroy(&c->pattern);
    guarded_destroy(&c->values);
}

// The same with only those rows that have entries.
typedef struct doubly_compressed {
    cl_mem rows, offsets;
    weft_dcsr dcsr;
} doubly_compressed;

static cl_mem new_numbers(int64_t n)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE,
                                   (size_t)n * sizeof(cl_int), NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static doubly_compressed doubly_compressed_create(const compressed *c)
{
    int64_t n_stored;
    assert_ok(weft_dcsr_count(ctx, queue, &c->csr, &n_stored, NULL));
    assert_true(n_stored > 0 && n_stored < c->csr.n_rows);
    const weft_csr *A = &c->csr;
    doubly_compressed d = {.rows = new_numbers(n_stored), .offsets = new_numbers(n_stored + 1)};
    d.dcsr = (weft_dcsr){.n_rows = A->n_rows,
                         .n_cols = A->n_cols,
                         .n_stored = n_stored,
                         .nnz = A->nnz,
                         .rows = d.rows,
                         .offsets = d.offsets,
                         .indices = A->indices,
                         .values = A->values,
                         .indices_start = A->indices_start,
                         .values_start = A->values_start};
    assert_ok(weft_dcsr_from_csr(ctx, queue, A, &d.dcsr, NULL));
    return d;
}

static void doubly_compressed_destroy(doubly_compressed *d)
{
    clReleaseMemObject(d->rows);
    clReleaseMemObject(d->offsets);
}

// All offsets again, the entries where they are.
static weft_csr expanded(const weft_dcsr *D)
{
    weft_csr A = weft_dcsr_stored(D);
    A.n_rows = D->n_rows;
    A.offsets = new_numbers(D->n_rows + 1);
    A.offsets_start = 0;
    assert_ok(weft_dcsr_to_csr(ctx, queue, D, &A, NULL));
    return A;
}

// ---- products

// C = ALPHA X Y + BETA C: X or Y is A or A^T.
typedef struct product {
    int64_t n_rows, n_cols;
    float in[K * N]; // the dense operand
    float want[K * N];
    guarded dense, out;
    weft_tensor dense_view, out_view;
} product;

typedef enum side { FROM_RIGHT, FROM_LEFT } side; // where the dense operand stands

static float at(bool is_transposed, int64_t row, int64_t column)
{
    return is_transposed ? dense[column][row] : dense[row][column];
}

// op(A) B with B [columns of op(A) x N], or B op(A) with B [N x rows of op(A)].
static void product_create(product *p, bool is_transposed, side from)
{
    const int64_t m = is_transposed ? K : M, k = is_transposed ? M : K;
    const bool is_right = from == FROM_RIGHT;
    const int64_t n_rows = is_right ? k : N, n_cols = is_right ? N : m, inner = is_right ? k : m;
    random_state random = {12};
    *p = (product){.n_rows = is_right ? m : N, .n_cols = is_right ? N : k};
    for (int64_t i = 0; i < n_rows * n_cols; i++)
        p->in[i] = small_number(&random);
    for (int64_t row = 0; row < p->n_rows; row++)
        for (int64_t column = 0; column < p->n_cols; column++) {
            double sum = 0;
            for (int64_t i = 0; i < inner; i++)
                sum += is_right
                           ? (double)at(is_transposed, row, i) * (double)p->in[i * n_cols + column]
                           : (double)p->in[row * n_cols + i] * (double)at(is_transposed, i, column);
            p->want[row * p->n_cols + column] = (float)(ALPHA * sum + BETA * OLD);
        }
    float old[K * N];
    for (int i = 0; i < K * N; i++)
        old[i] = OLD;
    p->dense = guarded_create(ctx, p->in, n_rows * n_cols, sizeof(float), 0);
    p->out = guarded_create(ctx, old, p->n_rows * p->n_cols, sizeof(float), 0);
    p->dense_view = weft_matrix(p->dense.buffer, WEFT_F32, n_rows, n_cols);
    p->out_view = weft_matrix(p->out.buffer, WEFT_F32, p->n_rows, p->n_cols);
}

static void product_check(product *p)
{
    guarded_check(&p->out, queue, p->want, "product");
    guarded_destroy(&p->dense);
    guarded_destroy(&p->out);
}

static void multiply(const weft_csr *A, const weft_tensor *B, const weft_tensor *C,
                     const weft_spmm_params *params)
{
    assert_ok(weft_spmm(ctx, queue, ALPHA, A, B, BETA, C, params));
}

// B A with A^T by rows.
static void multiply_from_left(const weft_csr *T, const product *p)
{
    const weft_tensor B = weft_tensor_transposed(&p->dense_view);
    const weft_tensor C = weft_tensor_transposed(&p->out_view);
    multiply(T, &B, &C, NULL);
}

static void test_by_columns_transposed(void **state)
{
    (void)state;
    compressed c = compressed_create(true);
    product p;
    const weft_csc A = weft_csc_of_csr(&c.csr);
    const weft_csr T = weft_csr_of_csc(&A);
    product_create(&p, true, FROM_RIGHT);
    multiply(&T, &p.dense_view, &p.out_view, NULL);
    product_check(&p);
    compressed_destroy(&c);
}

static void test_by_columns(void **state)
{
    (void)state;
    compressed c = compressed_create(true);
    product p;
    const weft_csc A = weft_csc_of_csr(&c.csr);
    const weft_csr T = weft_csr_of_csc(&A);
    weft_spmm_plan *plan = NULL;
    product_create(&p, false, FROM_RIGHT);
    assert_ok(weft_spmm_plan_create(&plan, ctx, queue, &T, WEFT_SPMM_PLAN(.transpose_a = true)));
    multiply(&T, &p.dense_view, &p.out_view, WEFT_SPMM(.plan = plan, .transpose_a = true));
    product_check(&p);
    weft_spmm_plan_destroy(&plan);
    compressed_destroy(&c);
}

static void test_dense_by_columns(void **state)
{
    (void)state;
    compressed c = compressed_create(true);
    product p;
    product_create(&p, false, FROM_LEFT);
    multiply_from_left(&c.csr, &p);
    product_check(&p);
    compressed_destroy(&c);
}

static void test_stored_rows(void **state)
{
    (void)state;
    compressed c = compressed_create(false);
    doubly_compressed d = doubly_compressed_create(&c);
    product p;
    product_create(&p, false, FROM_RIGHT);
    weft_csr A = expanded(&d.dcsr);
    multiply(&A, &p.dense_view, &p.out_view, NULL);
    product_check(&p);
    clReleaseMemObject(A.offsets);
    doubly_compressed_destroy(&d);
    compressed_destroy(&c);
}

// Of the product only the rows that have entries, one below the other.
static void test_stored_rows_alone(void **state)
{
    (void)state;
    compressed c = compressed_create(false);
    doubly_compressed d = doubly_compressed_create(&c);
    const weft_csr alone = weft_dcsr_stored(&d.dcsr);
    product p;
    product_create(&p, false, FROM_RIGHT);
    int64_t n_stored = 0;
    for (int64_t row = 0; row < M; row++)
        if (rows.offsets[row] < rows.offsets[row + 1])
            memmove(&p.want[n_stored++ * N], &p.want[row * N], N * sizeof(float));
    assert_int_equal(n_stored, alone.n_rows);
    for (int64_t i = n_stored * N; i < (int64_t)M * N; i++)
        p.want[i] = OLD;
    p.out_view.shape[0] = n_stored;
    multiply(&alone, &p.dense_view, &p.out_view, NULL);
    product_check(&p);
    doubly_compressed_destroy(&d);
    compressed_destroy(&c);
}

static void test_dense_by_stored_columns(void **state)
{
    (void)state;
    compressed c = compressed_create(true);
    doubly_compressed d = doubly_compressed_create(&c);
    const weft_dcsc A = weft_dcsc_of_dcsr(&d.dcsr);
    const weft_dcsr T = weft_dcsr_of_dcsc(&A);
    product p;
    product_create(&p, false, FROM_LEFT);
    weft_csr by_rows = expanded(&T);
    multiply_from_left(&by_rows, &p);
    product_check(&p);
    clReleaseMemObject(by_rows.offsets);
    doubly_compressed_destroy(&d);
    compressed_destroy(&c);
}

// ---- products of two sparse matrices

// The arrays of a matrix that a call writes.
typedef struct written {
    guarded offsets, indices, values;
} written;

static cl_mem new_array_of(guarded *array, int64_t n, size_t size)
{
    *array = guarded_create(ctx, NULL, n, size, 0);
    return array->buffer;
}

static void written_destroy(written *w)
{
    guarded_destroy(&w->offsets);
    guarded_destroy(&w->indices);
    guarded_destroy(&w->values);
}

// A B, both sparse, as a dense matrix.
static void check_product(const weft_csr *A, const weft_csr *B, const float *want, const char *what)
{
    written c;
    weft_csr C = {.n_rows = A->n_rows,
                  .n_cols = B->n_cols,
                  .offsets = new_array_of(&c.offsets, A->n_rows + 1, sizeof(cl_int))};
    assert_ok(weft_spgemm_count(ctx, queue, A, B, &C, &C.nnz, NULL));
    C.indices = new_array_of(&c.indices, C.nnz, sizeof(cl_int));
    C.values = new_array_of(&c.values, C.nnz, sizeof(float));
    assert_ok(weft_spgemm(ctx, queue, A, B, &C, NULL));
    guarded out = guarded_create(ctx, NULL, C.n_rows * C.n_cols, sizeof(float), 0);
    const weft_tensor D = weft_matrix(out.buffer, WEFT_F32, C.n_rows, C.n_cols);
    assert_ok(weft_csr_to_dense(ctx, queue, &C, &D, NULL));
    guarded_check(&out, queue, want, what);
    guarded_destroy(&out);
    written_destroy(&c);
}

// With scratch memory of its own: Oclgrind takes what others had before for uninitialised.
static void transpose(const weft_csr *A, const weft_csr *out)
{
    weft_csr_transpose_params params = *WEFT_CSR_TRANSPOSE(.workspace = NULL);
    size_t bytes;
    assert_ok(weft_csr_transpose_workspace(ctx, A, out, &params, &bytes));
    params.workspace = new_workspace(ctx, bytes);
    assert_ok(weft_csr_transpose(ctx, queue, A, out, &params));
    clReleaseMemObject(params.workspace);
}

// A B, both sparse, where B is A^T: `transposed` is B^T by rows, as B by columns has it.
static void check_sparse_by_columns(const weft_csr *A, const weft_csr *transposed)
{
    written b;
    float want[M * M] = {0};
    const weft_csr B = {.n_rows = K,
                        .n_cols = M,
                        .nnz = transposed->nnz,
                        .offsets = new_array_of(&b.offsets, K + 1, sizeof(cl_int)),
                        .indices = new_array_of(&b.indices, transposed->nnz, sizeof(cl_int)),
                        .values = new_array_of(&b.values, transposed->nnz, sizeof(float))};
    transpose(transposed, &B);
    for (int i = 0; i < M * M; i++)
        for (int k = 0; k < K; k++)
            want[i] += dense[i / M][k] * dense[i % M][k];
    check_product(A, &B, want, "A A^T");
    written_destroy(&b);
}

static void test_sparse_by_columns(void **state)
{
    (void)state;
    compressed A = compressed_create(false);
    const weft_csc by_columns = weft_csc_of_csr(&A.csr); // A^T
    const weft_csr transposed = weft_csr_of_csc(&by_columns);
    check_sparse_by_columns(&A.csr, &transposed);
    compressed_destroy(&A);
}

static void test_sparse_by_stored_columns(void **state)
{
    (void)state;
    compressed A = compressed_create(false);
    doubly_compressed stored = doubly_compressed_create(&A);
    const weft_dcsc by_columns = weft_dcsc_of_dcsr(&stored.dcsr); // A^T
    const weft_dcsr transposed = weft_dcsr_of_dcsc(&by_columns);
    const weft_csr with_all_offsets = expanded(&transposed);
    check_sparse_by_columns(&A.csr, &with_all_offsets);
    clReleaseMemObject(with_all_offsets.offsets);
    doubly_compressed_destroy(&stored);
    compressed_destroy(&A);
}

// ---- a layer whose activations and gradients are sparse: W is A, X [K x N], dY [M x N]

typedef struct sparse_batch {
    pattern rows;
    device_pattern device;
    guarded values;
    weft_csr csr;
    float dense[K][N]; // of dY the first M rows; from 1 to 4, so that no product is -0
} sparse_batch;

static void batch_create(sparse_batch *b, uint64_t seed, int64_t n_rows)
{
    random_state random = {seed};
    *b = (sparse_batch){.rows = pattern_create(&random, PATTERN_SORTED, n_rows, N, NNZ)};
    float *numbers = new_array(b->rows.nnz, sizeof(float));
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t e = b->rows.offsets[row]; e < b->rows.offsets[row + 1]; e++)
            b->dense[row][b->rows.columns[e]] = numbers[e] = (float)random_between(&random, 1, 4);
    b->device = device_pattern_create(ctx, &b->rows, true, WEFT_I32, WEFT_I32, 0);
    b->values = guarded_create(ctx, numbers, b->rows.nnz, sizeof(float), 0);
    b->csr = b->device.csr;
    b->csr.values = b->values.buffer;
    free(numbers);
}

static void batch_destroy(sparse_batch *b)
{
    pattern_destroy(&b->rows);
    device_pattern_destroy(&b->device);
    guarded_destroy(&b->values);
}

static void test_sparse_activations(void **state)
{
    (void)state;
    sparse_batch X;
    float want[M][N] = {{0}};
    batch_create(&X, 21, K);
    compressed W = compressed_create(false);
    for (int i = 0; i < M * N; i++)
        for (int k = 0; k < K; k++)
            want[i / N][i % N] += dense[i / N][k] * X.dense[k][i % N];
    check_product(&W.csr, &X.csr, want[0], "W X");
    compressed_destroy(&W);
    batch_destroy(&X);
}

static void test_sparse_gradients(void **state)
{
    (void)state;
    sparse_batch X, dY;
    float want_dX[K][N] = {{0}}, want_dW[2 * NNZ] = {0};
    batch_create(&X, 22, K);
    batch_create(&dY, 23, M);
    compressed W = compressed_create(false), transposed = compressed_create(true);
    for (int i = 0; i < K * N; i++)
        for (int m = 0; m < M; m++)
            want_dX[i / N][i % N] += dense[m][i / N] * dY.dense[m][i % N];
    for (int64_t row = 0; row < M; row++)
        for (int64_t e = rows.offsets[row]; e < rows.offsets[row + 1]; e++)
            for (int j = 0; j < N; j++)
                want_dW[e] += dY.dense[row][j] * X.dense[rows.columns[e]][j];
    check_product(&transposed.csr, &dY.csr, want_dX[0], "W^T dY");

    guarded x = guarded_create(ctx, NULL, (int64_t)K * N, sizeof(float), 0);
    guarded dy = guarded_create(ctx, NULL, (int64_t)M * N, sizeof(float), 0);
    guarded out = guarded_create(ctx, NULL, rows.nnz, sizeof(float), 0);
    const weft_tensor dense_X = weft_matrix(x.buffer, WEFT_F32, K, N);
    const weft_tensor dense_dY = weft_matrix(dy.buffer, WEFT_F32, M, N);
    const weft_tensor dW = {out.buffer, WEFT_F32, 0, 1, {rows.nnz}, {1}};
    assert_ok(weft_csr_to_dense(ctx, queue, &X.csr, &dense_X, NULL));
    assert_ok(weft_csr_to_dense(ctx, queue, &dY.csr, &dense_dY, NULL));
    assert_ok(weft_sparse_linear_dw(ctx, queue, &dense_dY, &dense_X, &W.csr, &dW, NULL));
    guarded_check(&out, queue, want_dW, "dW");
    guarded_destroy(&x);
    guarded_destroy(&dy);
    guarded_destroy(&out);
    compressed_destroy(&transposed);
    compressed_destroy(&W);
    batch_destroy(&dY);
    batch_destroy(&X);
}

// ---- views, field by field, there and back

static int of_buffers[4];

static void test_columns_are_rows_of_the_transpose(void **state)
{
    (void)state;
    const weft_csc A = {.n_rows = 2,
                        .n_cols = 3,
                        .nnz = 4,
                        .offset_dtype = WEFT_I64,
                        .index_dtype = WEFT_I16,
                        .dtype = WEFT_F16,
                        .offsets = (cl_mem)&of_buffers[0],
                        .indices = (cl_mem)&of_buffers[1],
                        .values = (cl_mem)&of_buffers[2],
                        .offsets_start = 5,
                        .indices_start = 6,
                        .values_start = 7,
                        .values_batch_stride = 8};
    const weft_csr T = weft_csr_of_csc(&A);
    assert_true(T.n_rows == 3 && T.n_cols == 2 && T.nnz == 4);
    assert_true(T.offset_dtype == WEFT_I64 && T.index_dtype == WEFT_I16 && T.dtype == WEFT_F16);
    assert_true(T.offsets == A.offsets && T.indices == A.indices && T.values == A.values);
    assert_true(T.offsets_start == 5 && T.indices_start == 6 && T.values_start == 7);
    assert_int_equal(T.values_batch_stride, 8);
    const weft_csc again = weft_csc_of_csr(&T);
    assert_true(again.n_rows == 2 && again.n_cols == 3 && again.nnz == 4);
    assert_true(again.offset_dtype == WEFT_I64 && again.index_dtype == WEFT_I16 &&
                again.dtype == WEFT_F16);
    assert_true(again.offsets == A.offsets && again.indices == A.indices &&
                again.values == A.values);
    assert_true(again.offsets_start == 5 && again.indices_start == 6 && again.values_start == 7);
    assert_int_equal(again.values_batch_stride, 8);
}

static void test_stored_columns_are_stored_rows_of_the_transpose(void **state)
{
    (void)state;
    const weft_dcsc A = {.n_rows = 2,
                         .n_cols = 3,
                         .n_stored = 1,
                         .nnz = 4,
                         .offset_dtype = WEFT_I64,
                         .index_dtype = WEFT_I16,
                         .dtype = WEFT_F16,
                         .cols = (cl_mem)&of_buffers[3],
                         .offsets = (cl_mem)&of_buffers[0],
                         .indices = (cl_mem)&of_buffers[1],
                         .values = (cl_mem)&of_buffers[2],
                         .cols_start = 9,
                         .offsets_start = 5,
                         .indices_start = 6,
                         .values_start = 7,
                         .values_batch_stride = 8};
    const weft_dcsr T = weft_dcsr_of_dcsc(&A);
    assert_true(T.n_rows == 3 && T.n_cols == 2 && T.n_stored == 1 && T.nnz == 4);
    assert_true(T.offset_dtype == WEFT_I64 && T.index_dtype == WEFT_I16 && T.dtype == WEFT_F16);
    assert_true(T.rows == A.cols && T.offsets == A.offsets && T.indices == A.indices &&
                T.values == A.values);
    assert_true(T.rows_start == 9 && T.offsets_start == 5 && T.indices_start == 6 &&
                T.values_start == 7 && T.values_batch_stride == 8);
    const weft_dcsc again = weft_dcsc_of_dcsr(&T);
    assert_true(again.n_rows == 2 && again.n_cols == 3 && again.n_stored == 1 && again.nnz == 4);
    assert_true(again.offset_dtype == WEFT_I64 && again.index_dtype == WEFT_I16 &&
                again.dtype == WEFT_F16);
    assert_true(again.cols == A.cols && again.offsets == A.offsets && again.indices == A.indices &&
                again.values == A.values);
    assert_true(again.cols_start == 9 && again.offsets_start == 5 && again.indices_start == 6 &&
                again.values_start == 7 && again.values_batch_stride == 8);
}

static void test_what_has_no_two_axes_stays(void **state)
{
    (void)state;
    for (int ndim = 0; ndim < 2; ndim++) {
        const weft_tensor t = {NULL, WEFT_F32, 3, ndim, {24}, {2}};
        const weft_tensor same = weft_tensor_transposed(&t);
        assert_memory_equal(&same, &t, sizeof(t));
    }
}

int main(void)
{
    need_device();
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_columns_transposed),
        cmocka_unit_test(test_by_columns),
        cmocka_unit_test(test_dense_by_columns),
        cmocka_unit_test(test_stored_rows),
        cmocka_unit_test(test_stored_rows_alone),
        cmocka_unit_test(test_dense_by_stored_columns),
        cmocka_unit_test(test_what_has_no_two_axes_stays),
        cmocka_unit_test(test_sparse_by_columns),
        cmocka_unit_test(test_sparse_by_stored_columns),
        cmocka_unit_test(test_sparse_activations),
        cmocka_unit_test(test_sparse_gradients),
        cmocka_unit_test(test_columns_are_rows_of_the_transpose),
        cmocka_unit_test(test_stored_columns_are_stored_rows_of_the_transpose),
    };
    const int failed = cmocka_run_group_tests(tests, create_matrix, destroy_matrix);
    weft_context_destroy(&ctx);
    return failed;
}
