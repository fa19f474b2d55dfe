// SPDX-License-Identifier: Apache-2.0
// Outputs that no operation takes: with two elements at one place, and with bytes of an input. On
// rehearsals, so that no device is needed and nothing could be enqueued unseen.
#include <weft/rehearsal.h>
#include <weft/weft.h>

#include "runtime.h"

enum { SIDE = 4, NNZ = 6 };

static weft_context *ctx;
static weft_tensor A, B, C;     // inputs, [SIDE x SIDE]
static weft_tensor values, row; // inputs, [NNZ] and [SIDE]
static weft_tensor scaling, dW; // [SIDE]
static weft_csr S;              // SIDE x SIDE
static weft_csr T;              // a result, but for the array that a test replaces
static weft_dcsr D;
static weft_spmm_plan *transposed;
static cl_mem own; // for outputs

static weft_tensor vector(int64_t n, weft_dtype dtype)
{
    return (weft_tensor){.buffer = weft_rehearsal_buffer(ctx, NULL),
                         .dtype = dtype,
                         .ndim = 1,
                         .shape = {n},
                         .stride = {1}};
}

static weft_tensor matrix(void)
{
    return weft_matrix(weft_rehearsal_buffer(ctx, NULL), WEFT_F32, SIDE, SIDE);
}

static weft_csr sparse(void)
{
    return (weft_csr){.n_rows = SIDE,
                      .n_cols = SIDE,
                      .nnz = NNZ,
                      .offsets = weft_rehearsal_buffer(ctx, NULL),
                      .indices = weft_rehearsal_buffer(ctx, NULL),
                      .values = weft_rehearsal_buffer(ctx, NULL)};
}

// ---- calls with a dense output

#define CALL(name, ...)                                                                            \
    static weft_status name(const weft_tensor *out)                                                \
    {                                                                                              \
        return __VA_ARGS__;                                                                        \
    }

CALL(elementwise,
     weft_elementwise(ctx, NULL, WEFT_INPUTS({"a", &A}), WEFT_OUTPUTS({"a + 1", out}), NULL))
CALL(elementwise_second, weft_elementwise(ctx, NULL, WEFT_INPUTS({"a", &A}),
                                          WEFT_OUTPUTS({"a", &C}, {"a + 1", out}), NULL))
CALL(matmul, weft_matmul(ctx, NULL, 1, &A, &B, 0, out, NULL))
CALL(reduce, weft_reduce(ctx, NULL, WEFT_SUM, &A, 1, (const int[]){1}, out, NULL))
CALL(softmax, weft_softmax(ctx, NULL, 1, &A, 1, out, NULL))
CALL(log_softmax, weft_log_softmax(ctx, NULL, 1, &A, 1, out, NULL))
CALL(softmax_backward, weft_softmax_backward(ctx, NULL, 1, &A, &B, 1, out, NULL))
CALL(log_softmax_backward, weft_log_softmax_backward(ctx, NULL, 1, &A, &B, 1, out, NULL))
CALL(layer_norm, weft_layer_norm(ctx, NULL, 0, &A, 1, out, NULL))
CALL(rms_norm, weft_rms_norm(ctx, NULL, 0, &A, 1, out, NULL))
CALL(layer_norm_backward, weft_layer_norm_backward(ctx, NULL, 0, &A, 1, &B, out, NULL))
CALL(rms_norm_backward, weft_rms_norm_backward(ctx, NULL, 0, &A, 1, &B, out, NULL))
CALL(norm_backward_dx, weft_layer_norm_backward(ctx, NULL, 0, &A, 1, &B, out,
                                                WEFT_NORM_BACKWARD(.weight = &scaling, .dW = &dW)))
CALL(norm_backward_dw, weft_layer_norm_backward(ctx, NULL, 0, &A, 1, &B, &C,
                                                WEFT_NORM_BACKWARD(.weight = &scaling, .dW = out)))
CALL(norm_backward_db,
     weft_rms_norm_backward(ctx, NULL, 0, &A, 1, &B, &C, WEFT_NORM_BACKWARD(.dW = &dW, .db = out)))
CALL(spmm, weft_spmm(ctx, NULL, 1, &S, &A, 0, out, NULL))
CALL(spmm_arguments, weft_spmm(ctx, NULL, 1, &S, &A, 0, &C,
                               WEFT_SPMM(.reduction = WEFT_SPMM_MAX, .arguments = out)))
CALL(sddmm, weft_sddmm(ctx, NULL, 1, &A, &B, &S, 0, out, NULL))
CALL(sddmm_sparse,
     weft_sddmm_sparse(ctx, NULL, 1, WEFT_DENSE(&A), WEFT_SPARSE(&S), &S, 0, out, NULL))
CALL(sddmm_sparse_second,
     weft_sddmm_sparse(ctx, NULL, 1, WEFT_SPARSE(&S), WEFT_DENSE(&B), &S, 0, out, NULL))
CALL(sparse_softmax, weft_sparse_softmax(ctx, NULL, 1, &S, out, NULL))
CALL(sparse_softmax_backward, weft_sparse_softmax_backward(ctx, NULL, 1, &S, &values, out, NULL))
CALL(sparse_attention, weft_sparse_attention(ctx, NULL, 1, &A, &B, &C, &S, out, NULL))
CALL(sparse_linear, weft_sparse_linear(ctx, NULL, &S, &A, out, NULL))
CALL(sparse_linear_dx,
     weft_sparse_linear_dx(ctx, NULL, &S, &A, out, WEFT_SPARSE_LINEAR(.plan = transposed)))
CALL(sparse_linear_dw, weft_sparse_linear_dw(ctx, NULL, &A, &B, &S, out, NULL))
CALL(sparse_gather, weft_sparse_gather(ctx, NULL, &values, &row, out, NULL))
CALL(csr_to_dense, weft_csr_to_dense(ctx, NULL, &S, out, NULL))
CALL(spgemm_dense, weft_spgemm_dense(ctx, NULL, 1, &S, &S, 0, out, NULL))
CALL(csr_transpose_source, weft_csr_transpose(ctx, NULL, &S, &T, WEFT_CSR_TRANSPOSE(.source = out)))

// The output's extents, its data type, and an input that it must not touch: a tensor, or where that
// is NULL the matrix.
static const struct {
    const char *name;
    weft_status (*run)(const weft_tensor *out);
    int ndim;
    int64_t columns;
    weft_dtype dtype;
    const weft_tensor *input;
} calls[] = {
    {"elementwise", elementwise, 2, SIDE, WEFT_F32, &A},
    {"elementwise", elementwise_second, 2, SIDE, WEFT_F32, &A},
    {"elementwise", elementwise_second, 2, SIDE, WEFT_F32, &C}, // its first output
    {"matmul", matmul, 2, SIDE, WEFT_F32, &A},
    {"matmul", matmul, 2, SIDE, WEFT_F32, &B},
    {"reduce", reduce, 1, SIDE, WEFT_F32, &A},
    {"softmax", softmax, 2, SIDE, WEFT_F32, &A},
    {"log_softmax", log_softmax, 2, SIDE, WEFT_F32, &A},
    {"softmax_backward", softmax_backward, 2, SIDE, WEFT_F32, &A},
    {"softmax_backward", softmax_backward, 2, SIDE, WEFT_F32, &B},
    {"log_softmax_backward", log_softmax_backward, 2, SIDE, WEFT_F32, &A},
    {"log_softmax_backward", log_softmax_backward, 2, SIDE, WEFT_F32, &B},
    {"layer_norm", layer_norm, 2, SIDE, WEFT_F32, &A},
    {"rms_norm", rms_norm, 2, SIDE, WEFT_F32, &A},
    {"layer_norm_backward", layer_norm_backward, 2, SIDE, WEFT_F32, &A},
    {"layer_norm_backward", layer_norm_backward, 2, SIDE, WEFT_F32, &B},
    {"rms_norm_backward", rms_norm_backward, 2, SIDE, WEFT_F32, &A},
    {"layer_norm_backward", norm_backward_dx, 2, SIDE, WEFT_F32, &dW},
    {"layer_norm_backward", norm_backward_dx, 2, SIDE, WEFT_F32, &scaling},
    {"layer_norm_backward", norm_backward_dw, 1, SIDE, WEFT_F32, &A},
    {"layer_norm_backward", norm_backward_dw, 1, SIDE, WEFT_F32, &B},
    {"layer_norm_backward", norm_backward_dw, 1, SIDE, WEFT_F32, &C},
    {"layer_norm_backward", norm_backward_dw, 1, SIDE, WEFT_F32, &scaling},
    {"rms_norm_backward", norm_backward_db, 1, SIDE, WEFT_F32, &dW},
    {"spmm", spmm, 2, SIDE, WEFT_F32, &A},
    {"spmm", spmm, 2, SIDE, WEFT_F32, NULL},
    {"spmm", spmm_arguments, 2, SIDE, WEFT_I32, &A},
    {"spmm", spmm_arguments, 2, SIDE, WEFT_I32, &C},
    {"spmm", spmm_arguments, 2, SIDE, WEFT_I32, NULL},
    {"sddmm", sddmm, 1, NNZ, WEFT_F32, &A},
    {"sddmm", sddmm, 1, NNZ, WEFT_F32, &B},
    {"sddmm", sddmm, 1, NNZ, WEFT_F32, NULL},
    {"sddmm_sparse", sddmm_sparse, 1, NNZ, WEFT_F32, &A},
    {"sddmm_sparse", sddmm_sparse, 1, NNZ, WEFT_F32, NULL},
    {"sddmm_sparse", sddmm_sparse_second, 1, NNZ, WEFT_F32, &B},
    {"sddmm_sparse", sddmm_sparse_second, 1, NNZ, WEFT_F32, NULL},
    {"sparse_softmax", sparse_softmax, 1, NNZ, WEFT_F32, NULL},
    {"sparse_softmax_backward", sparse_softmax_backward, 1, NNZ, WEFT_F32, &values},
    {"sparse_softmax_backward", sparse_softmax_backward, 1, NNZ, WEFT_F32, NULL},
    {"sparse_attention", sparse_attention, 2, SIDE, WEFT_F32, &A},
    {"sparse_attention", sparse_attention, 2, SIDE, WEFT_F32, &B},
    {"sparse_attention", sparse_attention, 2, SIDE, WEFT_F32, &C},
    {"sparse_attention", sparse_attention, 2, SIDE, WEFT_F32, NULL},
    {"sparse_linear", sparse_linear, 2, SIDE, WEFT_F32, &A},
    {"sparse_linear", sparse_linear, 2, SIDE, WEFT_F32, NULL},
    {"sparse_linear_dx", sparse_linear_dx, 2, SIDE, WEFT_F32, &A},
    {"sparse_linear_dx", sparse_linear_dx, 2, SIDE, WEFT_F32, NULL},
    {"sparse_linear_dw", sparse_linear_dw, 1, NNZ, WEFT_F32, &A},
    {"sparse_linear_dw", sparse_linear_dw, 1, NNZ, WEFT_F32, &B},
    {"sparse_linear_dw", sparse_linear_dw, 1, NNZ, WEFT_F32, NULL},
    {"sparse_gather", sparse_gather, 1, SIDE, WEFT_F32, &values},
    {"sparse_gather", sparse_gather, 1, SIDE, WEFT_F32, &row},
    {"csr_to_dense", csr_to_dense, 2, SIDE, WEFT_F32, NULL},
    {"spgemm_dense", spgemm_dense, 2, SIDE, WEFT_F32, NULL},
    {"csr_transpose", csr_transpose_source, 1, NNZ, WEFT_I32, NULL},
};
enum { N_CALLS = sizeof(calls) / sizeof(calls[0]) };

static weft_tensor output_of(int i)
{
    weft_tensor out = weft_matrix(own, calls[i].dtype, SIDE, SIDE);
    if (calls[i].ndim == 2)
        return out;
    out.ndim = 1;
    out.shape[0] = calls[i].columns;
    out.stride[0] = 1;
    return out;
}

static void expect(int i, const weft_tensor *out, weft_status wanted, const char *part)
{
    assert_ok(weft_rehearsal_begin(ctx));
    const weft_status status = calls[i].run(out);
    const weft_rehearsal *told = weft_rehearsal_end(ctx);
    assert_non_null(told);
    if (status != wanted || (told->n_launches > 0) != (wanted == WEFT_OK))
        fail_msg("call %d: %s, %zu launches: \"%s\"", i, weft_status_name(status), told->n_launches,
                 weft_last_error());
    if (wanted != WEFT_OK && (!says_by(calls[i].name) || !strstr(weft_last_error(), part)))
        fail_msg("call %d: \"%s\" does not say \"%s\"", i, weft_last_error(), part);
}

static void test_elements_at_one_place(void **state)
{
    (void)state;
    for (int i = 0; i < N_CALLS; i++) {
        weft_tensor out = output_of(i);
        expect(i, &out, WEFT_OK, NULL);
        out.stride[calls[i].ndim - 1] = 0;
        expect(i, &out, WEFT_BAD_SHAPE, "stride");
        if (calls[i].ndim == 1)
            continue;
        out = output_of(i);
        out.stride[0] = 0;
        expect(i, &out, WEFT_BAD_SHAPE, "must not share a place");
        out.stride[0] = SIDE - 1; // the last of a row is the first of the next
        expect(i, &out, WEFT_BAD_SHAPE, "must not share a place");
    }
}

// The last byte of an input, from the first of the output on; and of each array of the matrix.
static void test_bytes_of_an_input(void **state)
{
    (void)state;
    for (int i = 0; i < N_CALLS; i++) {
        weft_tensor out = output_of(i);
        const weft_tensor *input = calls[i].input;
        if (input) {
            const int64_t n = input->ndim == 2 ? SIDE * SIDE : input->shape[0];
            out.buffer = input->buffer;
            out.offset = n - 1;
            expect(i, &out, WEFT_BAD_BUFFER, "overlaps");
            out.offset = n;
            expect(i, &out, WEFT_OK, NULL);
            continue;
        }
        const cl_mem arrays[] = {S.offsets, S.indices, S.values};
        const int64_t n[] = {SIDE + 1, NNZ, NNZ};
        // Which have no use for the matrix' values.
        const bool is_pattern =
            calls[i].run == sparse_linear_dw || calls[i].run == sparse_attention;
        const int n_arrays = is_pattern ? 2 : 3;
        for (int j = 0; j < n_arrays; j++) {
            out.buffer = arrays[j];
            out.offset = n[j] - 1;
            expect(i, &out, WEFT_BAD_BUFFER, "overlaps");
        }
        out.buffer = own;
        out.offset = 0;
        expect(i, &out, WEFT_OK, NULL);
    }
}

// ---- calls with a sparse output: no array of it is another one, or one of an input's

typedef enum array { OFFSETS, INDICES, VALUES } array;

static weft_status transpose(const weft_csr *out)
{
    return weft_csr_transpose(ctx, NULL, &S, out, NULL);
}

static weft_status multiply(const weft_csr *out)
{
    return weft_spgemm(ctx, NULL, &S, &S, out, NULL);
}

static weft_status count_products(const weft_csr *out)
{
    return weft_spgemm_count(ctx, NULL, &S, &S, out, NULL, NULL);
}

static weft_status from_dense(const weft_csr *out)
{
    return weft_dense_to_csr(ctx, NULL, &A, out, NULL);
}

static weft_status count_kept(const weft_csr *out)
{
    return weft_dense_to_csr_count(ctx, NULL, &A, out, NULL, NULL);
}

// Which arrays a call writes, and whether it reads the matrix or a tensor.
static const struct {
    weft_status (*run)(const weft_csr *out);
    array first, last;
    bool reads_tensor;
} makers[] = {
    {transpose, OFFSETS, VALUES, false},       {multiply, INDICES, VALUES, false},
    {count_products, OFFSETS, OFFSETS, false}, {from_dense, INDICES, VALUES, true},
    {count_kept, OFFSETS, OFFSETS, true},
};

static void put_array(weft_csr *csr, array which, cl_mem buffer)
{
    *(which == OFFSETS ? &csr->offsets : which == INDICES ? &csr->indices : &csr->values) = buffer;
}

// Of a call since weft_rehearsal_begin().
static void expect_done(weft_status status)
{
    const weft_rehearsal *told = weft_rehearsal_end(ctx);
    assert_non_null(told);
    assert_ok(status);
    assert_true(told->n_launches > 0);
}

static void expect_overlap(weft_status status)
{
    const weft_rehearsal *told = weft_rehearsal_end(ctx);
    assert_non_null(told);
    assert_int_equal(status, WEFT_BAD_BUFFER);
    assert_says("overlaps");
    assert_int_equal(told->n_launches, 0);
}

static void expect_sparse_done(size_t i, const weft_csr *out)
{
    assert_ok(weft_rehearsal_begin(ctx));
    expect_done(makers[i].run(out));
}

static void expect_sparse_overlap(size_t i, const weft_csr *out)
{
    assert_ok(weft_rehearsal_begin(ctx));
    expect_overlap(makers[i].run(out));
}

static void test_arrays_of_others(void **state)
{
    (void)state;
    // Entries are counted without values.
    const cl_mem inputs[] = {S.offsets, S.indices, S.values};
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
        const int n_inputs = makers[i].reads_tensor ? 1 : makers[i].run == count_products ? 2 : 3;
        expect_sparse_done(i, &T);
        for (array which = makers[i].first; which <= makers[i].last; which++)
            for (int j = 0; j < n_inputs; j++) {
                weft_csr out = T;
                put_array(&out, which, makers[i].reads_tensor ? A.buffer : inputs[j]);
                expect_sparse_overlap(i, &out);
            }
        if (makers[i].last != VALUES)
            continue;
        weft_csr out = T;
        out.indices = out.values;
        expect_sparse_overlap(i, &out);
    }
}

static void test_stored_rows_of_others(void **state)
{
    (void)state;
    const cl_mem others[] = {S.offsets, S.indices};
    assert_ok(weft_rehearsal_begin(ctx));
    expect_done(weft_dcsr_from_csr(ctx, NULL, &S, &D, NULL));
    for (int i = 0; i < 4; i++) {
        weft_dcsr out = D;
        *(i < 2 ? &out.rows : &out.offsets) = others[i % 2];
        assert_ok(weft_rehearsal_begin(ctx));
        expect_overlap(weft_dcsr_from_csr(ctx, NULL, &S, &out, NULL));
    }

    const cl_mem inputs[] = {D.rows, D.offsets};
    assert_ok(weft_rehearsal_begin(ctx));
    expect_done(weft_dcsr_to_csr(ctx, NULL, &D, &T, NULL));
    for (int i = 0; i < 2; i++) {
        weft_csr out = T;
        out.offsets = inputs[i];
        assert_ok(weft_rehearsal_begin(ctx));
        expect_overlap(weft_dcsr_to_csr(ctx, NULL, &D, &out, NULL));
    }
}

static int create(void **state)
{
    (void)state;
    static const int32_t offsets[SIDE + 1] = {0, 2, 2, 5, 6}, indices[NNZ] = {0, 3, 1, 2, 3, 0};
    assert_ok(weft_rehearsal_create(&ctx, weft_profile_find("a100"), NULL));
    A = matrix();
    B = matrix();
    C = matrix();
    values = vector(NNZ, WEFT_F32);
    row = vector(SIDE, WEFT_I32);
    scaling = vector(SIDE, WEFT_F32);
    dW = vector(SIDE, WEFT_F32);
    S = sparse();
    S.offsets = weft_rehearsal_buffer(ctx, offsets);
    S.indices = weft_rehearsal_buffer(ctx, indices);
    T = sparse();
    own = weft_rehearsal_buffer(ctx, NULL);
    D = (weft_dcsr){.n_rows = SIDE,
                    .n_cols = SIDE,
                    .n_stored = 3,
                    .nnz = NNZ,
                    .rows = weft_rehearsal_buffer(ctx, NULL),
                    .offsets = weft_rehearsal_buffer(ctx, NULL)};
    assert_ok(
        weft_spmm_plan_create(&transposed, ctx, NULL, &S, WEFT_SPMM_PLAN(.transpose_a = true)));
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    weft_spmm_plan_destroy(&transposed);
    weft_context_destroy(&ctx);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_elements_at_one_place, create, destroy),
        cmocka_unit_test_setup_teardown(test_bytes_of_an_input, create, destroy),
        cmocka_unit_test_setup_teardown(test_arrays_of_others, create, destroy),
        cmocka_unit_test_setup_teardown(test_stored_rows_of_others, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
