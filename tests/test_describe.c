// SPDX-License-Identifier: Apache-2.0
// What describe functions print as a tiling is taken back: every operation, given the tiling that
// it tells of, tells the same again. Rehearsed, so that no device is needed.
#include <weft/weft.h>

#include <stdio.h>
#include <string.h>

#include "runtime.h"

enum { TEXT = 1024 };

enum { M = 3000, N = 2000, LONG = 300, SHORT = 20, NNZ = M / 10 * LONG + M / 10 * 9 * SHORT };

static weft_context *ctx;
static cl_mem memory[4], offsets_buffer, indices_buffer;
static int32_t offsets[M + 1], indices[NNZ];
static weft_csr A; // [M x N], one row in ten long

// Such a buffer, and others for other operands.
static weft_tensor matrix(int i, int64_t n_rows, int64_t n_cols)
{
    return weft_matrix(memory[i], WEFT_F32, n_rows, n_cols);
}

static weft_tensor vector(int i, int64_t n)
{
    return (weft_tensor){.buffer = memory[i], .ndim = 1, .shape = {n}, .stride = {1}};
}

static void fill_pattern(void)
{
    int32_t n = 0;
    for (int row = 0; row < M; row++) {
        const int length = row % 10 == 0 ? LONG : SHORT;
        offsets[row] = n;
        for (int i = 0; i < length; i++)
            indices[n++] = i * N / length;
    }
    offsets[M] = n;
    assert_int_equal(n, NNZ);
}

static void open_for(const char *profile)
{
    const weft_limits *limits = weft_profile_find(profile);
    assert_non_null(limits);
    assert_ok(weft_rehearsal_create(&ctx, limits, NULL));
    for (int i = 0; i < 4; i++)
        memory[i] = weft_rehearsal_buffer(ctx, NULL);
    offsets_buffer = weft_rehearsal_buffer(ctx, offsets);
    indices_buffer = weft_rehearsal_buffer(ctx, indices);
    A = (weft_csr){.n_rows = M,
                   .n_cols = N,
                   .nnz = NNZ,
                   .offsets = offsets_buffer,
                   .indices = indices_buffer,
                   .values = memory[3]};
}

// ---- operations: what each prints, with such a tiling; `second` is the one of dW and db

#define SOFTMAX(name)                                                                              \
    static int name(const char *tiling, const char *second, char *text)                            \
    {                                                                                              \
        const weft_tensor X = matrix(0, 512, 4000), Y = matrix(1, 512, 4000);                      \
        (void)second;                                                                              \
        return weft_##name##_describe(ctx, &X, 1, &Y, WEFT_SOFTMAX(.tiling = tiling), text, TEXT); \
    }
#define SOFTMAX_BACKWARD(name)                                                                     \
    static int name(const char *tiling, const char *second, char *text)                            \
    {                                                                                              \
        const weft_tensor Y = matrix(0, 700, 90), dY = matrix(1, 700, 90);                         \
        const weft_tensor dX = matrix(2, 700, 90);                                                 \
        (void)second;                                                                              \
        return weft_##name##_describe(ctx, &Y, &dY, 0, &dX, WEFT_SOFTMAX(.tiling = tiling), text,  \
                                      TEXT);                                                       \
    }
SOFTMAX(softmax)
SOFTMAX(log_softmax)
SOFTMAX_BACKWARD(softmax_backward)
SOFTMAX_BACKWARD(log_softmax_backward)

static int reduce(const char *tiling, const char *second, char *text)
{
    const weft_tensor X = matrix(0, 200000, 30), Y = vector(1, 30);
    (void)second;
    return weft_reduce_describe(ctx, WEFT_SUM, &X, 1, (const int[]){0}, &Y,
                                WEFT_REDUCE(.tiling = tiling), text, TEXT);
}

#define NORM(name)                                                                                 \
    static int name(const char *tiling, const char *second, char *text)                            \
    {                                                                                              \
        const weft_tensor X = matrix(0, 600, 1000), Y = matrix(1, 600, 1000);                      \
        (void)second;                                                                              \
        return weft_##name##_describe(ctx, &X, 1, &Y, WEFT_NORM(.tiling = tiling), text, TEXT);    \
    }
#define NORM_BACKWARD(name)                                                                        \
    static int name(const char *tiling, const char *second, char *text)                            \
    {                                                                                              \
        const weft_tensor X = matrix(0, 600, 1000), dY = matrix(1, 600, 1000);                     \
        const weft_tensor dX = matrix(2, 600, 1000), dW = vector(3, 1000);                         \
        return weft_##name##_describe(                                                             \
            ctx, &X, 1, &dY, &dX,                                                                  \
            WEFT_NORM_BACKWARD(.dW = &dW, .tiling = tiling, .scaling_tiling = second), text,       \
            TEXT);                                                                                 \
    }
NORM(norm)
NORM(rms_norm)
NORM_BACKWARD(norm_backward)
NORM_BACKWARD(rms_norm_backward)

static int product(int64_t m, int64_t n, int64_t k, const char *tiling, char *text)
{
    const weft_tensor F = matrix(0, m, k), G = matrix(1, k, n), H = matrix(2, m, n);
    return weft_matmul_describe(ctx, &F, &G, &H, WEFT_MATMUL(.tiling = tiling), text, TEXT);
}

static int matmul(const char *tiling, const char *second, char *text)
{
    (void)second;
    return product(500, 300, 20000, tiling, text);
}

static int matmul_of_a_vector(const char *tiling, const char *second, char *text)
{
    (void)second;
    return product(4096, 1, 4096, tiling, text);
}

static int matmul_of_few_rows(const char *tiling, const char *second, char *text)
{
    (void)second;
    return product(3, 10000, 1000, tiling, text);
}

static int elementwise(const char *tiling, const char *second, char *text)
{
    const weft_tensor X = matrix(0, 900, 800), Y = matrix(1, 800, 900), Z = matrix(2, 900, 800);
    const weft_tensor transposed = weft_tensor_transposed(&Y);
    (void)second;
    return weft_elementwise_describe(ctx, WEFT_INPUTS({"x", &X}, {"y", &transposed}),
                                     WEFT_OUTPUTS({"x + y", &Z}),
                                     WEFT_ELEMENTWISE(.tiling = tiling), text, TEXT);
}

static int multiply(const weft_spmm_params *params, char *text)
{
    const weft_tensor B = matrix(0, N, 128), C = matrix(1, M, 128);
    return weft_spmm_describe(ctx, &A, &B, &C, params, text, TEXT);
}

static int spmm(const char *tiling, const char *second, char *text)
{
    (void)second;
    return multiply(WEFT_SPMM(.tiling = tiling), text);
}

static int spmm_with_a_plan(const char *tiling, const char *second, char *text)
{
    weft_spmm_plan *plan;
    (void)second;
    assert_ok(weft_spmm_plan_create(&plan, ctx, NULL, &A, NULL));
    const int length = multiply(WEFT_SPMM(.plan = plan, .tiling = tiling), text);
    weft_spmm_plan_destroy(&plan);
    return length;
}

static int spmm_dcsr(const char *tiling, const char *second, char *text)
{
    const weft_dcsr stored = {.n_rows = 2 * M,
                              .n_cols = N,
                              .n_stored = M,
                              .nnz = NNZ,
                              .rows = memory[2],
                              .offsets = offsets_buffer,
                              .indices = indices_buffer,
                              .values = memory[3]};
    const weft_tensor B = matrix(0, N, 40), C = matrix(1, 2 * M, 40);
    (void)second;
    return weft_spmm_dcsr_describe(ctx, &stored, &B, &C, WEFT_SPMM(.tiling = tiling), text, TEXT);
}

static int sddmm(const char *tiling, const char *second, char *text)
{
    const weft_tensor F = matrix(0, M, 256), G = matrix(1, 256, N), D = vector(2, NNZ);
    (void)second;
    return weft_sddmm_describe(ctx, &F, &G, &A, &D, WEFT_SDDMM(.tiling = tiling), text, TEXT);
}

static int sddmm_sparse(const char *tiling, const char *second, char *text)
{
    const weft_tensor G = matrix(0, N, N), D = vector(2, NNZ);
    (void)second;
    return weft_sddmm_sparse_describe(ctx, WEFT_SPARSE(&A), WEFT_DENSE(&G), &A, &D,
                                      WEFT_SDDMM_SPARSE(.tiling = tiling), text, TEXT);
}

static int sparse_softmax(const char *tiling, const char *second, char *text)
{
    const weft_tensor Y = vector(0, NNZ);
    (void)second;
    return weft_sparse_softmax_describe(ctx, &A, &Y, WEFT_SPARSE_SOFTMAX(.tiling = tiling), text,
                                        TEXT);
}

static int sparse_softmax_backward(const char *tiling, const char *second, char *text)
{
    const weft_tensor dY = vector(0, NNZ), dX = vector(1, NNZ);
    (void)second;
    return weft_sparse_softmax_backward_describe(ctx, &A, &dY, &dX,
                                                 WEFT_SPARSE_SOFTMAX(.tiling = tiling), text, TEXT);
}

static int attend(int64_t d, const char *tiling, char *text)
{
    const weft_tensor Q = matrix(0, M, 64), K = matrix(1, N, 64);
    const weft_tensor V = matrix(2, N, d), O = matrix(3, M, d);
    const weft_csr mask = {
        .n_rows = M, .n_cols = N, .nnz = NNZ, .offsets = offsets_buffer, .indices = indices_buffer};
    return weft_sparse_attention_describe(ctx, &Q, &K, &V, &mask, &O,
                                          WEFT_SPARSE_ATTENTION(.tiling = tiling), text, TEXT);
}

static int sparse_attention(const char *tiling, const char *second, char *text)
{
    (void)second;
    return attend(64, tiling, text);
}

static int sparse_attention_in_steps(const char *tiling, const char *second, char *text)
{
    (void)second;
    return attend(4000, tiling, text);
}

// B is A^T, by its sizes.
static weft_csr second_factor(void)
{
    weft_csr B = A;
    B.n_rows = N;
    B.n_cols = M;
    return B;
}

static int spgemm(const char *tiling, const char *second, char *text)
{
    const weft_csr B = second_factor();
    const weft_csr C = {.n_rows = M, .n_cols = M, .offsets = memory[0]};
    (void)second;
    return weft_spgemm_describe(ctx, &A, &B, &C, WEFT_SPGEMM(.tiling = tiling), text, TEXT);
}

static int spgemm_dense(const char *tiling, const char *second, char *text)
{
    const weft_csr B = second_factor();
    const weft_tensor C = matrix(0, M, M);
    (void)second;
    return weft_spgemm_dense_describe(ctx, &A, &B, &C, WEFT_SPGEMM(.tiling = tiling), text, TEXT);
}

static int csr_to_dense(const char *tiling, const char *second, char *text)
{
    const weft_tensor D = matrix(0, M, N);
    (void)second;
    return weft_csr_to_dense_describe(ctx, &A, &D, WEFT_CSR_DENSE(.tiling = tiling), text, TEXT);
}

static int dense_to_csr(const char *tiling, const char *second, char *text)
{
    const weft_tensor D = matrix(0, M, N);
    (void)second;
    return weft_dense_to_csr_describe(ctx, &D, &A, WEFT_CSR_DENSE(.tiling = tiling), text, TEXT);
}

static int csr_transpose(const char *tiling, const char *second, char *text)
{
    weft_csr T = second_factor();
    T.offsets = memory[0];
    T.indices = memory[1];
    T.values = memory[2];
    (void)second;
    return weft_csr_transpose_describe(ctx, &A, &T, WEFT_CSR_TRANSPOSE(.tiling = tiling), text,
                                       TEXT);
}

// ---- and back

typedef struct operation {
    const char *name; // in messages of the call
    int (*describe)(const char *tiling, const char *second, char *text);
    int before, before_second; // ';' that come before its tilings; 0: none, or no second one
} operation;

static const operation operations[] = {
    {"softmax", softmax, 1, 0},
    {"log_softmax", log_softmax, 1, 0},
    {"softmax_backward", softmax_backward, 1, 0},
    {"log_softmax_backward", log_softmax_backward, 1, 0},
    {"reduce", reduce, 1, 0},
    {"norm", norm, 1, 0},
    {"rms_norm", rms_norm, 1, 0},
    {"norm_backward", norm_backward, 1, 3},
    {"rms_norm_backward", rms_norm_backward, 1, 3},
    {"matmul", matmul, 0, 0},
    {"matmul", matmul_of_a_vector, 0, 0},
    {"matmul", matmul_of_few_rows, 0, 0},
    {"elementwise", elementwise, 1, 0},
    {"spmm", spmm, 0, 0},
    {"spmm", spmm_with_a_plan, 0, 0},
    {"spmm", spmm_dcsr, 0, 0},
    {"sddmm", sddmm, 0, 0},
    {"sddmm_sparse", sddmm_sparse, 0, 0},
    {"sparse_softmax", sparse_softmax, 0, 0},
    {"sparse_softmax_backward", sparse_softmax_backward, 0, 0},
    {"sparse_attention", sparse_attention, 0, 0},
    {"sparse_attention", sparse_attention_in_steps, 0, 0},
    {"spgemm_count", spgemm, 0, 0},
    {"spgemm_dense", spgemm_dense, 0, 0},
    {"csr_to_dense", csr_to_dense, 0, 0},
    {"dense_to_csr", dense_to_csr, 0, 0},
    {"csr_transpose", csr_transpose, 1, 0},
};

enum { N_OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

// What stands between so many ';' and the next.
static const char *cut_out(char *part, const char *text, int before)
{
    for (; before > 0; before--) {
        text = strchr(text, ';');
        assert_non_null(text);
        text++;
    }
    snprintf(part, TEXT, "%.*s", (int)strcspn(text, ";"), text);
    return part;
}

static void check_taken_back(const operation *o, const char *profile)
{
    char told[TEXT], again[TEXT], tiling[TEXT], second[TEXT] = "";
    if (o->describe(NULL, NULL, told) < 0)
        fail_msg("%s: %s", o->name, weft_last_error());
    cut_out(tiling, told, o->before);
    if (o->before_second > 0)
        cut_out(second, told, o->before_second);
    if (o->describe(tiling, o->before_second > 0 ? second : NULL, again) < 0)
        fail_msg("%s on %s does not take \"%s\" of \"%s\": %s", o->name, profile, tiling, told,
                 weft_last_error());
    assert_string_equal(told, again);
}

static void test_tilings_are_taken_back(void **state)
{
    (void)state;
    static const char *const profiles[] = {"nvidia-h100", "amd-mi300x", "intel-xeon-8380"};
    for (int i = 0; i < 3; i++) {
        open_for(profiles[i]);
        for (int j = 0; j < N_OPERATIONS; j++)
            check_taken_back(&operations[j], profiles[i]);
        weft_context_destroy(&ctx);
    }
}

static void expect_refused(const char *call, const char *parameter)
{
    char sentence[128];
    snprintf(sentence, sizeof(sentence), "%s: %s: there is no field 'speed', at character 2", call,
             parameter);
    assert_string_equal(weft_last_error(), sentence);
}

static void test_what_is_no_tiling_is_refused(void **state)
{
    char text[TEXT];
    (void)state;
    open_for("nvidia-h100");
    for (int i = 0; i < N_OPERATIONS; i++) {
        const operation *o = &operations[i];
        assert_int_equal(o->describe(" speed 9", NULL, text), -1);
        expect_refused(o->name, "tiling");
        if (o->before_second > 0) {
            assert_int_equal(o->describe(NULL, " speed 9", text), -1);
            expect_refused(o->name, "scaling_tiling");
        }
        assert_int_equal(o->describe("", NULL, text), -1); // all of it 0
        if (!strstr(weft_last_error(), ": tiling."))
            fail_msg("%s", weft_last_error());
    }
    weft_context_destroy(&ctx);
}

int main(void)
{
    fill_pattern();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tilings_are_taken_back),
        cmocka_unit_test(test_what_is_no_tiling_is_refused),
    };
    return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
