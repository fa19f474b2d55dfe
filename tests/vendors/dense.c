// SPDX-License-Identifier: Apache-2.0
// Problems of what goes along axes, of formulas and of dense products.
#include <inttypes.h>
#include <stdio.h>

#include "problem.h"

static const weft_dtype reals[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};
enum { N_REALS = sizeof(reals) / sizeof(reals[0]) };

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

// ---- along axes

typedef struct shape {
    int64_t extent[4];
    int axis;
} shape;

// Rows in registers, rows that a group sweeps, short ones, columns, a middle axis, and rows in
// parts.
static const shape shapes[] = {
    {{24576, 896}, 1}, {{2048, 32768}, 1},  {{1 << 20, 16}, 1},
    {{4096, 768}, 0},  {{512, 896, 48}, 1}, {{4, 1 << 20}, 1},
};

static const shape rows = {{4096, 1000}, 1};

static void begin_along(const char *name, const shape *s, weft_dtype dtype)
{
    problem_begin("%s of %" PRId64 " x %" PRId64 " x %" PRId64 " along axis %d, %s", name,
                  s->extent[0], s->extent[1], s->extent[2], s->axis, weft_dtype_name(dtype));
}

static weft_dtype result_of(weft_reduction op, weft_dtype dtype)
{
    const bool is_whole = dtype == WEFT_I32 || dtype == WEFT_I64 || dtype == WEFT_U8;
    switch (op) {
    case WEFT_ARGMIN:
    case WEFT_ARGMAX:
        return WEFT_I64;
    case WEFT_ANY:
    case WEFT_ALL:
        return WEFT_U8;
    case WEFT_SUM:
    case WEFT_PROD:
        return is_whole ? WEFT_I64 : dtype;
    case WEFT_MIN:
    case WEFT_MAX:
        return dtype;
    default:
        return is_whole ? WEFT_F32 : dtype;
    }
}

static void reduce(weft_context *ctx, cl_command_queue queue, weft_reduction op, const shape *s,
                   weft_dtype dtype)
{
    begin_along(weft_reduction_name(op), s, dtype);
    const weft_tensor X = problem_array(ctx, dtype, s->extent);
    int64_t kept[4] = {0};
    for (int d = 0, n = 0; d < X.ndim; d++)
        if (d != s->axis)
            kept[n++] = s->extent[d];
    const weft_tensor Y = problem_array(ctx, result_of(op, dtype), kept);
    CALL(weft_reduce(ctx, queue, op, &X, 1, &s->axis, &Y, NULL));
    problem_end();
}

static void reductions(weft_context *ctx, cl_command_queue queue)
{
    static const weft_dtype others[] = {WEFT_I32, WEFT_I64, WEFT_U8};
    weft_reduction op;
    for (int i = 0; i < COUNT(shapes); i++) {
        reduce(ctx, queue, WEFT_SUM, &shapes[i], WEFT_F32);
        reduce(ctx, queue, WEFT_VAR, &shapes[i], WEFT_F32);
    }
    for (int i = 0; weft_reduction_name((weft_reduction)i); i++) {
        op = (weft_reduction)i;
        reduce(ctx, queue, op, &rows, WEFT_F32);
    }
    for (int i = 1; i < N_REALS; i++)
        if (problem_has(ctx, reals[i]))
            reduce(ctx, queue, WEFT_VAR, &rows, reals[i]);
    for (int i = 0; i < COUNT(others); i++)
        reduce(ctx, queue, WEFT_SUM, &rows, others[i]);
}

typedef weft_status softmax_fn(weft_context *, cl_command_queue, double, const weft_tensor *, int,
                               const weft_tensor *, const weft_softmax_params *);
typedef weft_status backward_fn(weft_context *, cl_command_queue, double, const weft_tensor *,
                                const weft_tensor *, int, const weft_tensor *,
                                const weft_softmax_params *);

static void softmax(weft_context *ctx, cl_command_queue queue, bool is_log, const shape *s,
                    weft_dtype dtype)
{
    softmax_fn *const forward = is_log ? weft_log_softmax : weft_softmax;
    backward_fn *const backward = is_log ? weft_log_softmax_backward : weft_softmax_backward;
    const weft_tensor X = problem_array(ctx, dtype, s->extent);
    const weft_tensor dY = problem_array(ctx, dtype, s->extent);
    const weft_tensor Y = problem_array(ctx, dtype, s->extent);
    begin_along(is_log ? "log_softmax" : "softmax", s, dtype);
    CALL(forward(ctx, queue, 0.125, &X, s->axis, &Y, NULL));
    begin_along(is_log ? "log_softmax_backward" : "softmax_backward", s, dtype);
    CALL(backward(ctx, queue, 1, &X, &dY, s->axis, &Y, NULL));
    problem_end();
}

static void softmaxes(weft_context *ctx, cl_command_queue queue)
{
    for (int i = 0; i < COUNT(shapes); i++)
        for (int is_log = 0; is_log < 2; is_log++)
            softmax(ctx, queue, is_log, &shapes[i], WEFT_F32);
    for (int i = 1; i < N_REALS; i++)
        if (problem_has(ctx, reals[i]))
            softmax(ctx, queue, false, &rows, reals[i]);
}

static void norm(weft_context *ctx, cl_command_queue queue, int64_t m, int64_t n, weft_dtype dtype)
{
    const weft_tensor X = ARRAY(ctx, dtype, m, n), Y = ARRAY(ctx, dtype, m, n);
    const weft_tensor weight = ARRAY(ctx, dtype, n), bias = ARRAY(ctx, dtype, n);
    problem_begin("layer_norm of %" PRId64 " x %" PRId64 ", %s", m, n, weft_dtype_name(dtype));
    CALL(weft_layer_norm(ctx, queue, 1e-5, &X, 1, &Y, WEFT_NORM(.weight = &weight, .bias = &bias)));
    problem_begin("rms_norm of %" PRId64 " x %" PRId64 ", %s", m, n, weft_dtype_name(dtype));
    CALL(weft_rms_norm(ctx, queue, 1e-5, &X, 1, &Y, WEFT_NORM(.weight = &weight)));
    problem_end();
}

static void norm_backward(weft_context *ctx, cl_command_queue queue, int64_t m, int64_t n,
                          weft_dtype dtype)
{
    const weft_tensor X = ARRAY(ctx, dtype, m, n), dY = ARRAY(ctx, dtype, m, n);
    const weft_tensor dX = ARRAY(ctx, dtype, m, n), weight = ARRAY(ctx, dtype, n);
    const weft_tensor dW = ARRAY(ctx, dtype, n), db = ARRAY(ctx, dtype, n);
    problem_begin("layer_norm_backward of %" PRId64 " x %" PRId64 ", %s", m, n,
                  weft_dtype_name(dtype));
    CALL(weft_layer_norm_backward(ctx, queue, 1e-5, &X, 1, &dY, &dX,
                                  WEFT_NORM_BACKWARD(.weight = &weight, .dW = &dW, .db = &db)));
    problem_begin("rms_norm_backward of %" PRId64 " x %" PRId64 ", %s", m, n,
                  weft_dtype_name(dtype));
    CALL(weft_rms_norm_backward(ctx, queue, 1e-5, &X, 1, &dY, &dX,
                                WEFT_NORM_BACKWARD(.weight = &weight, .dW = &dW)));
    problem_end();
}

static void norms(weft_context *ctx, cl_command_queue queue)
{
    norm(ctx, queue, 8192, 4096, WEFT_F32);
    norm(ctx, queue, 24576, 896, WEFT_F32);
    norm(ctx, queue, 2048, 32768, WEFT_F32);
    norm(ctx, queue, 1 << 18, 64, WEFT_F32);
    norm(ctx, queue, 1 << 20, 16, WEFT_F32);
    norm(ctx, queue, 2, 1 << 20, WEFT_F32);
    for (int i = 1; i < N_REALS; i++)
        if (problem_has(ctx, reals[i]))
            norm(ctx, queue, 4096, 1000, reals[i]);
}

static void norms_backward(weft_context *ctx, cl_command_queue queue)
{
    norm_backward(ctx, queue, 8192, 4096, WEFT_F32);
    norm_backward(ctx, queue, 24576, 896, WEFT_F32);
    norm_backward(ctx, queue, 2048, 32768, WEFT_F32);
    norm_backward(ctx, queue, 1 << 18, 64, WEFT_F32);
    norm_backward(ctx, queue, 1 << 20, 16, WEFT_F32);
    norm_backward(ctx, queue, 2, 1 << 20, WEFT_F32);
    for (int i = 1; i < N_REALS; i++)
        if (problem_has(ctx, reals[i]))
            norm_backward(ctx, queue, 4096, 1000, reals[i]);
}

// ---- formulas

static void formula(weft_context *ctx, cl_command_queue queue, const char *text,
                    const weft_tensor *a, const weft_tensor *b, const weft_tensor *out)
{
    problem_begin("elementwise %s of %s into %s", text, weft_dtype_name(a->dtype),
                  weft_dtype_name(out->dtype));
    const weft_elementwise_input inputs[] = {{"a", a}, {"b", b}};
    CALL(weft_elementwise(ctx, queue, b ? 2 : 1, inputs, WEFT_OUTPUTS({text, out}), NULL));
}

static void casts(weft_context *ctx, cl_command_queue queue)
{
    static const weft_dtype types[] = {WEFT_F16, WEFT_BF16, WEFT_I32, WEFT_I64, WEFT_U8, WEFT_F64};
    for (int i = 0; i < COUNT(types); i++) {
        if (!problem_has(ctx, types[i]))
            continue;
        const weft_tensor a = ARRAY(ctx, WEFT_F32, 4096, 4096);
        const weft_tensor b = ARRAY(ctx, types[i], 4096, 4096);
        formula(ctx, queue, "a", &a, NULL, &b);
        formula(ctx, queue, "a", &b, NULL, &a);
        problem_end();
    }
}

static void formulas(weft_context *ctx, cl_command_queue queue)
{
    static const char *const texts[] = {"a + b", "max(2 * a + b, 0) * 0.5 - b", "gelu(a) * b",
                                        "tanh(a) + exp(b)"};
    for (int i = 0; i < COUNT(texts); i++) {
        const weft_tensor a = ARRAY(ctx, WEFT_F32, 4096, 4096);
        const weft_tensor b = ARRAY(ctx, WEFT_F32, 4096, 4096);
        const weft_tensor c = ARRAY(ctx, WEFT_F32, 4096, 4096);
        formula(ctx, queue, texts[i], &a, &b, &c);
        problem_end();
    }
    const weft_tensor a = ARRAY(ctx, WEFT_F32, 4096, 4096), c = ARRAY(ctx, WEFT_F32, 4096, 4096);
    const weft_tensor across = weft_tensor_transposed(&a);
    formula(ctx, queue, "a", &across, NULL, &c); // a transpose
    formula(ctx, queue, "a + b", &a, &across, &c);
    const weft_tensor row = ARRAY(ctx, WEFT_F32, 4096), odd = ARRAY(ctx, WEFT_F32, 1000, 1001);
    const weft_tensor odd_out = ARRAY(ctx, WEFT_F32, 1000, 1001);
    formula(ctx, queue, "a + b", &a, &row, &c);
    formula(ctx, queue, "sqrt(a)", &odd, NULL, &odd_out);
    weft_tensor apart = ARRAY(ctx, WEFT_F32, 4096, 8192);
    apart.shape[1] = 4096;
    apart.stride[1] = 2;
    formula(ctx, queue, "a + b", &apart, &c, &a);
    problem_end();
}

// ---- dense products

typedef struct product {
    int64_t n_batches, m, n, k;
    weft_dtype dtype;
    bool a_transposed, b_transposed;
    const char *epilogue;
} product;

static const product products[] = {
    {1, 2048, 2048, 2048, WEFT_F32, false, false, NULL},
    {1, 1024, 1024, 1024, WEFT_F32, true, false, NULL},
    {1, 1024, 1024, 1024, WEFT_F32, false, true, NULL},
    {1, 1000, 999, 1001, WEFT_F32, false, false, NULL},
    {1, 1024, 1024, 1024, WEFT_F64, false, false, NULL},
    {1, 1024, 1024, 1024, WEFT_F16, false, false, NULL},
    {1, 1024, 1024, 1024, WEFT_BF16, false, false, NULL},
    {1, 1024, 1024, 1024, WEFT_I8, false, false, NULL},
    {1, 2048, 128, 2048, WEFT_F32, false, false, "gelu(c)"},
    {512, 64, 64, 64, WEFT_F32, false, false, NULL},
    {1, 8192, 1, 8192, WEFT_F32, false, false, NULL},
    {1, 8192, 1, 8192, WEFT_F32, true, false, NULL},
    {1, 1, 8192, 8192, WEFT_F32, false, false, NULL},
    {1, 8, 4096, 4096, WEFT_F32, false, false, NULL},
    {1, 8, 4096, 4096, WEFT_F16, false, true, NULL},
    {1, 64, 64, 262144, WEFT_F32, false, false, NULL},
    {1, 4096, 4096, 4, WEFT_F32, false, false, NULL},
};

static void multiply(weft_context *ctx, cl_command_queue queue, const product *p)
{
    if (!problem_has(ctx, p->dtype))
        return;
    problem_begin("matmul, %" PRId64 " of %" PRId64 " x %" PRId64 " x %" PRId64 ", %s%s%s",
                  p->n_batches, p->m, p->n, p->k, weft_dtype_name(p->dtype),
                  p->a_transposed ? ", A transposed" : "", p->b_transposed ? ", B transposed" : "");
    const int64_t a_rows = p->a_transposed ? p->k : p->m, a_columns = p->a_transposed ? p->m : p->k;
    const int64_t b_rows = p->b_transposed ? p->n : p->k, b_columns = p->b_transposed ? p->k : p->n;
    weft_tensor A = ARRAY(ctx, p->dtype, p->n_batches, a_rows, a_columns);
    weft_tensor B = ARRAY(ctx, p->dtype, p->n_batches, b_rows, b_columns);
    const weft_dtype result = p->dtype == WEFT_I8 ? WEFT_I32 : p->dtype;
    const weft_tensor C = ARRAY(ctx, result, p->n_batches, p->m, p->n);
    A = p->a_transposed ? weft_tensor_transposed(&A) : A;
    B = p->b_transposed ? weft_tensor_transposed(&B) : B;
    CALL(weft_matmul(ctx, queue, 1, &A, &B, 0, &C, WEFT_MATMUL(.epilogue = p->epilogue)));
    problem_end();
}

void problems_dense(weft_context *ctx, cl_command_queue queue)
{
    reductions(ctx, queue);
    softmaxes(ctx, queue);
    norms(ctx, queue);
    norms_backward(ctx, queue);
    formulas(ctx, queue);
    casts(ctx, queue);
    for (int i = 0; i < COUNT(products); i++)
        multiply(ctx, queue, &products[i]);
}
