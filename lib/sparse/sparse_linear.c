// SPDX-License-Identifier: Apache-2.0
// A linear layer with sparse weights: SpMM and SDDMM with tables of its own, which have its names,
// and its own checks before theirs.
#include <weft/sparse_linear.h>

#include <inttypes.h>

#include "base/fail.h"
#include "base/params.h"
#include "operand/view.h"
#include "sparse/sddmm_call.h"
#include "sparse/spmm_call.h"

// ---- checks

// The three are about W, X or its gradient, and Y or its gradient.
typedef struct {
    const weft_call *call;
    const weft_csr *W;
    const weft_tensor *in, *out; // [n_in x n] and [n_out x n]
    const char *in_name, *out_name;
    bool writes_in, writes_out;
} layer;

// The operand that is [n_rows x n], or a batch of such, or a vector: n is 1.
static weft_status rows_check(const layer *l, const weft_tensor *t, const char *name,
                              int64_t n_rows)
{
    const char *op = l->call->op->name;
    if (t->ndim < 1 || t->ndim > 3)
        return fail(WEFT_BAD_SHAPE,
                    "%s: %s has %d dimensions; 2 are wanted, or 3 with a batch, or 1: a vector", op,
                    name, t->ndim);
    const weft_tensor matrix = weft_tensor_as_matrix(t);
    if (matrix.shape[matrix.ndim - 2] != n_rows)
        return fail(WEFT_BAD_SHAPE,
                    "%s: W is %" PRId64 " x %" PRId64 ", %s has %" PRId64 " rows, not %" PRId64, op,
                    l->W->n_rows, l->W->n_cols, name, matrix.shape[matrix.ndim - 2], n_rows);
    return WEFT_OK;
}

// Results may have the type of the sums.
static weft_status dtype_check(const layer *l, const weft_tensor *t, const char *name,
                               bool is_written)
{
    const char *op = l->call->op->name;
    TRY(is_written ? weft_result_dtype_check(t->dtype, name, l->W->dtype, "W", op)
                   : weft_same_dtype_check(t->dtype, name, l->W->dtype, "W", op));
    return weft_floating_check(l->call->ctx, t, name, op);
}

// The batch and n.
static weft_status samples_check(const layer *l)
{
    const weft_tensor *in = l->in, *out = l->out;
    const char *op = l->call->op->name;
    if (in->ndim != out->ndim)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions, %s %d", op, l->in_name, in->ndim,
                    l->out_name, out->ndim);
    if (in->ndim > 1 && in->shape[in->ndim - 1] != out->shape[in->ndim - 1])
        return fail(WEFT_BAD_SHAPE, "%s: %s has %" PRId64 " columns, %s %" PRId64, op, l->in_name,
                    in->shape[in->ndim - 1], l->out_name, out->shape[in->ndim - 1]);
    if (in->ndim == 3 && in->shape[0] != out->shape[0])
        return fail(WEFT_BAD_SHAPE, "%s: %s is a batch of %" PRId64 ", %s of %" PRId64, op,
                    l->in_name, in->shape[0], l->out_name, out->shape[0]);
    return WEFT_OK;
}

static weft_status layer_check(const layer *l)
{
    TRY(rows_check(l, l->in, l->in_name, l->W->n_cols));
    TRY(dtype_check(l, l->in, l->in_name, l->writes_in));
    TRY(rows_check(l, l->out, l->out_name, l->W->n_rows));
    TRY(dtype_check(l, l->out, l->out_name, l->writes_out));
    return samples_check(l);
}

static weft_status plan_check(const weft_call *call)
{
    const weft_spmm_numbers *given = call->own;
    return weft_spmm_plan_fits(call->ctx, given->plan, given->transpose_a,
                               weft_call_csr(call, WEFT_SPMM_A), NULL, call->op->name, "W");
}

static weft_status forward_check(void *state, const weft_call *call)
{
    const char *op = call->op->name;
    const weft_tensor *bias = weft_call_tensor(call, WEFT_SPMM_BIAS);
    const layer l = {
        .call = call,
        .W = weft_call_csr(call, WEFT_SPMM_A),
        .in = weft_call_tensor(call, WEFT_SPMM_B),
        .out = weft_call_tensor(call, WEFT_SPMM_C),
        .in_name = "X",
        .out_name = "Y",
        .writes_out = true,
    };
    TRY(plan_check(call));
    TRY(layer_check(&l));
    if (bias) {
        const weft_tensor Y = weft_tensor_as_matrix(l.out);
        TRY(weft_row_numbers_form_check(bias, "bias", &Y, "Y", op));
        TRY(weft_same_dtype_check(bias->dtype, "bias", l.W->dtype, "W", op));
    }
    return weft_spmm_check(state, call);
}

static weft_status by_input_check(void *state, const weft_call *call)
{
    const layer l = {
        .call = call,
        .W = weft_call_csr(call, WEFT_SPMM_A),
        .in = weft_call_tensor(call, WEFT_SPMM_C),
        .out = weft_call_tensor(call, WEFT_SPMM_B),
        .in_name = "dX",
        .out_name = "dY",
        .writes_in = true,
    };
    TRY(plan_check(call));
    TRY(layer_check(&l));
    return weft_spmm_check(state, call);
}

// The numbers of SDDMM, and the operands as given: SDDMM gets them as matrices, X transposed.
typedef struct {
    weft_sddmm_numbers numbers;
    const weft_tensor *X, *dY;
} by_weights_numbers;

static weft_status values_check(const weft_call *call, const weft_csr *W, const weft_tensor *X)
{
    const weft_tensor *dW = weft_call_tensor(call, WEFT_SDDMM_D);
    const char *op = call->op->name;
    TRY(weft_csr_results_check(call->ctx, dW, "dW", W, "W", op));
    const int wanted = X->ndim == 3 ? 2 : 1;
    if (dW->ndim != wanted)
        return fail(WEFT_BAD_SHAPE, "%s: X has %d dimensions, dW %d: %d are wanted", op, X->ndim,
                    dW->ndim, wanted);
    if (dW->ndim == 2 && dW->shape[0] != X->shape[0])
        return fail(WEFT_BAD_SHAPE, "%s: X is a batch of %" PRId64 ", dW of %" PRId64, op,
                    X->shape[0], dW->shape[0]);
    return WEFT_OK;
}

static weft_status by_weights_check(void *state, const weft_call *call)
{
    const by_weights_numbers *given = call->own;
    const layer l = {
        .call = call,
        .W = weft_call_csr(call, WEFT_SDDMM_C),
        .in = given->X,
        .out = given->dY,
        .in_name = "X",
        .out_name = "dY",
    };
    TRY(layer_check(&l));
    TRY(values_check(call, l.W, given->X));
    return weft_sddmm_check(state, call);
}

// A vector and a matrix of one column are the same to SDDMM, but may not be mixed here.
static void by_weights_key(weft_key *key, const weft_call *call)
{
    const by_weights_numbers *given = call->own;
    weft_sddmm_key(key, call);
    weft_key_add_number(key, given->X ? given->X->ndim : 0);
    weft_key_add_number(key, given->dY ? given->dY->ndim : 0);
}

// ---- the operations

#define LAYER_OPERAND(title)                                                                       \
    {                                                                                              \
        .name = (title), .access = WEFT_READS_VALUES                                               \
    }
#define LAYER_RESULT(title)                                                                        \
    {                                                                                              \
        .name = (title), .access = WEFT_WRITES_VALUES                                              \
    }
#define LAYER_ROWS                                                                                 \
    {                                                                                              \
        .name = "W", .kind = WEFT_OPERAND_ROWS, .is_optional = true                                \
    } // never
#define LAYER_W                                                                                    \
    {                                                                                              \
        .name = "W", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR                            \
    }

static const weft_op forward = {
    .name = "sparse_linear",
    .n_operands = WEFT_SPMM_BIAS + 1,
    .operands = {[WEFT_SPMM_ROWS] = LAYER_ROWS,
                 [WEFT_SPMM_A] = LAYER_W,
                 [WEFT_SPMM_B] = LAYER_OPERAND("X"),
                 [WEFT_SPMM_C] = LAYER_RESULT("Y"),
                 [WEFT_SPMM_BIAS] = {.name = "bias",
                                     .access = WEFT_READS_VALUES,
                                     .is_optional = true}},
    .key = weft_spmm_key,
    .check = forward_check,
    WEFT_SPMM_HOOKS,
};

static const weft_op by_input = {
    .name = "sparse_linear_dx",
    .n_operands = WEFT_SPMM_C + 1,
    .operands = {[WEFT_SPMM_ROWS] = LAYER_ROWS,
                 [WEFT_SPMM_A] = LAYER_W,
                 [WEFT_SPMM_B] = LAYER_OPERAND("dY"),
                 [WEFT_SPMM_C] = LAYER_RESULT("dX")},
    .key = weft_spmm_key,
    .check = by_input_check,
    WEFT_SPMM_HOOKS,
};

static const weft_op by_weights = {
    .name = "sparse_linear_dw",
    .n_operands = WEFT_SDDMM_D + 1,
    .operands = {[WEFT_SDDMM_A] = LAYER_OPERAND("dY"),
                 [WEFT_SDDMM_B] = LAYER_OPERAND("X"),
                 [WEFT_SDDMM_C] = LAYER_W,
                 [WEFT_SDDMM_D] = LAYER_RESULT("dW")},
    .key = by_weights_key,
    .check = by_weights_check,
    WEFT_SDDMM_HOOKS,
};

// ---- calls

static weft_status read_params(weft_sparse_linear_params *own,
                               const weft_sparse_linear_params *given, const weft_op *op)
{
    TRY(PARAMS_READ(own, given, op->name, "WEFT_SPARSE_LINEAR"));
    if (!weft_activation_name(own->activation))
        return fail(WEFT_BAD_ARGUMENT, "%s: params.activation is %d: no weft_activation", op->name,
                    (int)own->activation);
    if (op == &forward)
        return own->beta == 0
                   ? WEFT_OK
                   : fail(WEFT_BAD_ARGUMENT, "%s: params.beta is %g, but Y is only written",
                          op->name, own->beta);
    if (own->bias)
        return fail(WEFT_BAD_ARGUMENT, "%s: params.bias: gradients have none", op->name);
    if (own->activation != WEFT_ACTIVATION_NONE)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: params.activation is %s: its backward comes first, by weft_elementwise()",
                    op->name, weft_activation_name(own->activation));
    return WEFT_OK;
}

typedef struct {
    weft_call call;
    weft_spmm_numbers own;
} product;

static weft_status product_of(product *p, const weft_op *op, weft_context *ctx, const weft_csr *W,
                              const weft_tensor *from, const weft_tensor *to,
                              const weft_sparse_linear_params *params)
{
    weft_sparse_linear_params own;
    TRY(read_params(&own, params, op));
    p->own = (weft_spmm_numbers){
        .alpha = 1,
        .beta = own.beta,
        .plan = own.plan,
        .transpose_a = op == &by_input,
        .activation = own.activation,
    };
    p->call = (weft_call){
        .op = op,
        .ctx = ctx,
        .operands = {[WEFT_SPMM_A] = W,
                     [WEFT_SPMM_B] = from,
                     [WEFT_SPMM_C] = to,
                     [WEFT_SPMM_BIAS] = own.bias},
        .own = &p->own,
        CALL_PARAMS(&own),
    };
    return WEFT_OK;
}

weft_status weft_sparse_linear(weft_context *ctx, cl_command_queue queue, const weft_csr *W,
                               const weft_tensor *X, const weft_tensor *Y,
                               const weft_sparse_linear_params *params)
{
    product p;
    TRY(product_of(&p, &forward, ctx, W, X, Y, params));
    return weft_op_run(&p.call, queue);
}

weft_status weft_sparse_linear_dx(weft_context *ctx, cl_command_queue queue, const weft_csr *W,
                                  const weft_tensor *dY, const weft_tensor *dX,
                                  const weft_sparse_linear_params *params)
{
    product p;
    TRY(product_of(&p, &by_input, ctx, W, dY, dX, params));
    return weft_op_run(&p.call, queue);
}

weft_status weft_sparse_linear_dw(weft_context *ctx, cl_command_queue queue, const weft_tensor *dY,
                                  const weft_tensor *X, const weft_csr *W, const weft_tensor *dW,
                                  const weft_sparse_linear_params *params)
{
    weft_sparse_linear_params own;
    weft_tensor rows, Xt;
    TRY(read_params(&own, params, &by_weights));
    const by_weights_numbers given = {{.alpha = 1, .beta = own.beta}, X, dY};
    if (dY)
        rows = weft_tensor_as_matrix(dY);
    if (X) {
        const weft_tensor columns = weft_tensor_as_matrix(X);
        Xt = weft_tensor_transposed(&columns);
    }
    const weft_call call = {
        .op = &by_weights,
        .ctx = ctx,
        .operands = {dY ? &rows : NULL, X ? &Xt : NULL, W, dW},
        .unread = 1u << WEFT_SDDMM_C,
        .own = &given,
        CALL_PARAMS(&own),
    };
    return weft_op_run(&call, queue);
}
