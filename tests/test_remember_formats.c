// SPDX-License-Identifier: Apache-2.0
// Conversions that the context remembers. Variants of a call differ in one thing each. Whatever was
// called before, each gives what it gives on a context of its own; and once all have been called,
// none looks for a kernel again.
#include <weft/csr_dense.h>
#include <weft/csr_transpose.h>
#include <weft/dcsr.h>
#include <weft/elementwise.h>
#include <weft/sddmm.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_gather.h>
#include <weft/sparse_linear.h>
#include <weft/sparse_softmax.h>

#include "runtime/program.h"

#include "runtime.h"

// ---- kernels that are looked for

static int n_looked_for;

weft_status __real_weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                                      const weft_source *source, const weft_defines *defines,
                                      const char *name);
weft_status __wrap_weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                                      const weft_source *source, const weft_defines *defines,
                                      const char *name);

weft_status __wrap_weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                                      const weft_source *source, const weft_defines *defines,
                                      const char *name)
{
    ++n_looked_for;
    return __real_weft_kernel_narrow(out, most, ctx, source, defines, name);
}

// ---- operands: a 4 x 4 matrix and vectors, by words of one buffer; results in another

enum { OFFSETS = 0, INDICES = 8, VALUES = 16, SOURCE = 24, DENSE = 32, X = 48, Y = 56, WORDS = 64 };
enum { SIDE = 4, NNZ = 5, LENGTH = 8 };

typedef union word {
    int32_t i32;
    float f32;
} word;

typedef struct place {
    weft_context *ctx;
    cl_command_queue queue;
    cl_mem in, out, rows;
} place;

static void set_up(place *p)
{
    static const int32_t offsets[] = {0, 2, 2, 3, 5}, indices[] = {1, 3, 0, 2, 3};
    word words[WORDS] = {{0}};
    for (int i = 0; i <= SIDE; i++)
        words[OFFSETS + i].i32 = offsets[i];
    for (int i = 0; i < NNZ; i++) {
        words[INDICES + i].i32 = indices[i];
        words[VALUES + i].f32 = (float)(1 + i);
        words[SOURCE + i].i32 = NNZ - 1 - i;
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        words[DENSE + i].f32 = (float)(i % 5);
    for (int i = 0; i < LENGTH; i++) {
        words[X + i].i32 = 1000 * i - 7;
        words[Y + i].i32 = INT32_C(1) << 30 | i;
    }
    p->ctx = open_context(NULL);
    p->queue = weft_context_queue(p->ctx);
    p->in =
        clCreateBuffer(weft_context_cl(p->ctx), CL_MEM_COPY_HOST_PTR, sizeof(words), words, NULL);
    p->out = clCreateBuffer(weft_context_cl(p->ctx), 0, sizeof(words), NULL, NULL);
    p->rows = clCreateBuffer(weft_context_cl(p->ctx), 0, sizeof(words), NULL, NULL);
    assert_true(p->in && p->out && p->rows);
}

static void tear_down(place *p)
{
    // Kernels that rusticl still compiles when main() returns find LLVM taken apart.
    assert_int_equal(clFinish(p->queue), CL_SUCCESS);
    clReleaseMemObject(p->in);
    clReleaseMemObject(p->out);
    clReleaseMemObject(p->rows);
    weft_context_destroy(&p->ctx);
}

static weft_tensor vector_of(cl_mem buffer, int start, int n, weft_dtype dtype)
{
    return (weft_tensor){buffer, dtype, start, 1, {n}, {1}};
}

static weft_csr matrix_of(cl_mem buffer)
{
    return (weft_csr){.n_rows = SIDE,
                      .n_cols = SIDE,
                      .nnz = NNZ,
                      .offsets = buffer,
                      .indices = buffer,
                      .values = buffer,
                      .offsets_start = OFFSETS,
                      .indices_start = INDICES,
                      .values_start = VALUES};
}

// ---- calls

static weft_status compute(const place *p, int variant)
{
    static const char *const names[2][2] = {{"x", "y"}, {"y", "x"}};
    static const char *const values[2][2] = {{"v", "w"}, {"w", "v"}};
    static const char *const formulas[] = {"x - y * v - w", "y - x * v - w"};
    const weft_tensor first = vector_of(p->in, X, LENGTH, WEFT_I32);
    const weft_tensor second = vector_of(p->in, Y, LENGTH, WEFT_I32);
    const weft_tensor out = vector_of(p->out, 0, LENGTH, WEFT_I64);
    const char *const *called = names[variant == 2], *const *numbers = values[variant == 3];
    return weft_elementwise(p->ctx, p->queue,
                            WEFT_INPUTS({called[0], &first}, {called[1], &second}),
                            WEFT_OUTPUTS({formulas[variant == 1], &out}),
                            WEFT_ELEMENTWISE(WEFT_VALUES({numbers[0], variant == 5   ? 7
                                                                      : variant == 6 ? 0.5
                                                                                     : 2},
                                                         {numbers[1], 5}),
                                             .arithmetic = variant == 4 ? WEFT_I64 : WEFT_DEFAULT));
}

static weft_status make_dense(const place *p, int variant)
{
    const weft_csr A = matrix_of(p->in);
    const weft_tensor D = weft_matrix(p->out, WEFT_F32, SIDE, SIDE);
    return weft_csr_to_dense(p->ctx, p->queue, &A, &D, WEFT_CSR_DENSE(.threshold = variant));
}

static weft_status make_sparse(const place *p, int variant)
{
    static const double thresholds[] = {0, 2, -1};
    weft_tensor D = weft_matrix(p->in, WEFT_F32, SIDE, SIDE);
    weft_csr A = matrix_of(p->out);
    D.offset = DENSE;
    A.values_start = DENSE;
    const weft_csr_dense_params *params = WEFT_CSR_DENSE(.threshold = thresholds[variant]);
    const weft_status status = weft_dense_to_csr_count(p->ctx, p->queue, &D, &A, &A.nnz, params);
    return status == WEFT_OK ? weft_dense_to_csr(p->ctx, p->queue, &D, &A, params) : status;
}

static weft_status transpose(const place *p, int variant)
{
    const weft_csr A = matrix_of(p->in);
    weft_csr T = matrix_of(p->out);
    const weft_tensor source = vector_of(p->out, SOURCE, NNZ, WEFT_I32);
    if (variant == 1)
        T.values = NULL;
    return weft_csr_transpose(p->ctx, p->queue, &A, &T,
                              WEFT_CSR_TRANSPOSE(.source = variant == 2 ? &source : NULL));
}

static weft_status store_rows(const place *p, int variant)
{
    static const int items[] = {0, 1, 3};
    const weft_csr A = matrix_of(p->in);
    weft_dcsr D = {.n_rows = SIDE,
                   .n_cols = SIDE,
                   .nnz = NNZ,
                   .rows = p->out,
                   .offsets = p->out,
                   .rows_start = SOURCE,
                   .offsets_start = OFFSETS};
    const weft_dcsr_params *params = WEFT_DCSR(.items = items[variant]);
    const weft_status status = weft_dcsr_count(p->ctx, p->queue, &A, &D.n_stored, params);
    return status == WEFT_OK ? weft_dcsr_from_csr(p->ctx, p->queue, &A, &D, params) : status;
}

// Rows 0, 2 and 3 are stored.
static weft_status all_rows(const place *p, int variant)
{
    static const int32_t stored[] = {0, 2, 3}, ends[] = {0, 2, 3, 5};
    cl_int code =
        clEnqueueWriteBuffer(p->queue, p->rows, CL_TRUE, 0, sizeof(stored), stored, 0, NULL, NULL);
    code |= clEnqueueWriteBuffer(p->queue, p->rows, CL_TRUE, sizeof(stored), sizeof(ends), ends, 0,
                                 NULL, NULL);
    assert_int_equal(code, CL_SUCCESS);
    const weft_dcsr D = {.n_rows = SIDE,
                         .n_cols = SIDE,
                         .nnz = NNZ,
                         .n_stored = 3,
                         .rows = p->rows,
                         .offsets = p->rows,
                         .offsets_start = 3};
    weft_csr A = matrix_of(p->out);
    A.nnz = variant == 1 ? NNZ + 1 : variant == 2 ? -1 : NNZ;
    return weft_dcsr_to_csr(p->ctx, p->queue, &D, &A, NULL);
}

static weft_status gather(const place *p, int variant)
{
    const weft_tensor values = vector_of(p->in, VALUES + variant, NNZ, WEFT_F32);
    const weft_tensor source = vector_of(p->in, SOURCE, NNZ, WEFT_I32);
    const weft_tensor out = vector_of(p->out, 0, NNZ, WEFT_F32);
    return weft_sparse_gather(p->ctx, p->queue, &values, &source, &out, NULL);
}

static const struct operation {
    const char *name;
    weft_status (*call)(const place *p, int variant);
    int n_variants;
} operations[] = {
    {"elementwise", compute, 7},      {"csr_to_dense", make_dense, 1},
    {"dense_to_csr", make_sparse, 3}, {"csr_transpose", transpose, 3},
    {"dcsr_from_csr", store_rows, 3}, {"dcsr_to_csr", all_rows, 3},
    {"sparse_gather", gather, 2},
};
enum { N_OPERATIONS = sizeof(operations) / sizeof(operations[0]), MOST_VARIANTS = 8 };

// ---- tests

typedef struct result {
    weft_status status;
    word words[WORDS];
} result;

static result result_of(const place *p, const struct operation *op, int variant)
{
    result r;
    const word nothing = {-1};
    cl_int code = clEnqueueFillBuffer(p->queue, p->out, &nothing, sizeof(nothing), 0,
                                      sizeof(r.words), 0, NULL, NULL);
    r.status = op->call(p, variant);
    code |=
        clEnqueueReadBuffer(p->queue, p->out, CL_TRUE, 0, sizeof(r.words), r.words, 0, NULL, NULL);
    assert_int_equal(code, CL_SUCCESS);
    return r;
}

static result alone(const struct operation *op, int variant)
{
    place p;
    set_up(&p);
    const result r = result_of(&p, op, variant);
    tear_down(&p);
    return r;
}

static void expect_same(const result *a, const result *b, const struct operation *op, int variant)
{
    if (a->status != b->status || memcmp(a->words, b->words, sizeof(a->words)) != 0)
        fail_msg("%s, variant %d: %s, and alone %s", op->name, variant, weft_status_name(a->status),
                 weft_status_name(b->status));
}

static void expect_remembered(const place *p, const struct operation *op)
{
    result wanted[MOST_VARIANTS];
    for (int i = 0; i < op->n_variants; i++)
        wanted[i] = alone(op, i);
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < op->n_variants; i++) {
            n_looked_for = 0;
            const result r = result_of(p, op, i);
            expect_same(&r, &wanted[i], op, i);
            if (turn > 0 && n_looked_for > 0)
                fail_msg("%s, variant %d: looked for %d kernels again", op->name, i, n_looked_for);
        }
}

static void test_calls_are_remembered(void **state)
{
    (void)state;
    place p;
    set_up(&p);
    for (int i = 0; i < N_OPERATIONS; i++)
        expect_remembered(&p, &operations[i]);
    tear_down(&p);
}

// Values that are not read may be no buffer at all: nobody asks OpenCL about them.
static void test_values_that_are_not_read(void **state)
{
    static const max_align_t no_buffer[64];
    (void)state;
    place p;
    set_up(&p);
    weft_csr M = matrix_of(p.in);
    M.values = (cl_mem)(uintptr_t)no_buffer;
    weft_tensor in = weft_matrix(p.in, WEFT_F32, SIDE, SIDE), out = in;
    const weft_tensor D = vector_of(p.out, 0, NNZ, WEFT_F32);
    in.offset = DENSE;
    out.buffer = p.out;
    assert_int_equal(weft_sparse_softmax(p.ctx, p.queue, 1, NULL, NULL, NULL), WEFT_BAD_ARGUMENT);
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(
            weft_sddmm(p.ctx, p.queue, 1, &in, &in, &M, 0, &D, WEFT_SDDMM(.indicator = true)));
        assert_ok(weft_sparse_attention(p.ctx, p.queue, 1, &in, &in, &in, &M, &out, NULL));
        assert_ok(weft_sparse_linear_dw(p.ctx, p.queue, &in, &in, &M, &D, NULL));
    }
    assert_string_equal(weft_last_error(), "sparse_softmax: X is NULL");
    tear_down(&p);
}

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_calls_are_remembered),
                                       cmocka_unit_test(test_values_that_are_not_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
