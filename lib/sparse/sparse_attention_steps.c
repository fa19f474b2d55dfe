// SPDX-License-Identifier: Apache-2.0
// Sparse attention as three operations, one after the other: products at the entries of M, softmax
// of them in place, and sums of V. For each of a batch of heads; all heads at a time.
//
// It stands above the operations, with one piece of scratch memory for the products and for what
// each of them wants.
#include "base/arithmetic.h"
#include "runtime/context.h"
#include "runtime/scratch.h"
#include "sparse/sddmm_product.h"
#include "sparse/sparse_attention_call.h"
#include "sparse/sparse_softmax_call.h"
#include "sparse/spmm_call.h"

enum { MOST_ALIGNMENTS = 16 }; // elements of the widest vector

// The operands of the three for one batch of heads.
typedef struct {
    weft_tensor Q, K_turned, V, O;
    weft_csr weights; // M with the products as its values
    weft_tensor products;
} operands;

// [heads x rows x columns]
static weft_tensor heads_view(const weft_sparse_attention_call *call, int i, int64_t batch)
{
    const weft_heads *dense = &call->dense[i];
    const weft_tensor *t = call->views[i];
    return (weft_tensor){
        .buffer = dense->buffer,
        .dtype = call->problem.dtype,
        .offset = dense->start + batch * dense->outer,
        .ndim = 3,
        .shape = {call->n_heads, t->shape[t->ndim - 2], t->shape[t->ndim - 1]},
        .stride = {dense->inner, dense->row, dense->column},
    };
}

static operands operands_of(const weft_sparse_attention_call *call, int64_t batch, cl_mem products,
                            int64_t products_start)
{
    const weft_tensor K = heads_view(call, WEFT_ATTENTION_K, batch);
    operands o = {
        .Q = heads_view(call, WEFT_ATTENTION_Q, batch),
        .K_turned = weft_tensor_transposed(&K),
        .V = heads_view(call, WEFT_ATTENTION_V, batch),
        .O = heads_view(call, WEFT_ATTENTION_O, batch),
        .weights = *call->M,
    };
    o.weights.dtype = call->problem.dtype;
    o.weights.values = products;
    o.weights.values_start = products_start;
    o.weights.values_batch_stride = call->M->nnz;
    o.products = weft_csr_values(&o.weights, call->n_heads);
    return o;
}

// And they themselves, which point into the operands: what has passed the door of attention is good
// for them.
typedef struct {
    weft_sddmm_product products;
    weft_sparse_softmax_call softmax;
    weft_call sums_call;
    weft_spmm_numbers sums_numbers;
    weft_spmm_state sums;
} three_steps;

static const weft_sparse_softmax_kind softmax_kind = {
    .name = "sparse_attention", .csr_name = "M", .out_name = "the products"};

static weft_status find_steps(three_steps *out, weft_context *ctx, const operands *o)
{
    TRY(weft_sddmm_product_of(&out->products, ctx, &o->Q, &o->K_turned, &o->weights, &o->products,
                              WEFT_SDDMM(.indicator = true)));
    out->softmax =
        weft_sparse_softmax_call_of(&softmax_kind, ctx, 1, &o->weights, NULL, &o->products);
    out->sums_numbers = (weft_spmm_numbers){.alpha = 1};
    out->sums_call = (weft_call){
        .op = &weft_spmm_op,
        .ctx = ctx,
        .operands = {[WEFT_SPMM_A] = &o->weights, [WEFT_SPMM_B] = &o->V, [WEFT_SPMM_C] = &o->O},
        .own = &out->sums_numbers,
    };
    return weft_op_prepare(&out->sums, &out->sums_call);
}

static weft_status bytes_of_batch(size_t *most, weft_context *ctx, const operands *o)
{
    three_steps three;
    size_t products, softmax;
    TRY(find_steps(&three, ctx, o));
    TRY(weft_sddmm_wants(&products, &three.products));
    TRY(weft_sparse_softmax_wants(&softmax, &three.softmax));
    const size_t sums = three.sums.head.scratch_bytes;
    const size_t more = softmax > sums ? softmax : sums;
    *most = *most > products ? *most : products;
    *most = *most > more ? *most : more;
    return WEFT_OK;
}

// Operations look at where batches begin, modulo a vector. The products have no place yet: they
// begin where any vector may.
static weft_status own_bytes(size_t *most, const weft_sparse_attention_call *call)
{
    const int64_t n_batches = min_i64(call->problem.n_batches / call->n_heads, MOST_ALIGNMENTS);
    *most = 0;
    for (int64_t batch = 0; batch < n_batches; ++batch) {
        const operands o = operands_of(call, batch, NULL, 0);
        TRY(bytes_of_batch(most, call->ctx, &o));
    }
    return WEFT_OK;
}

weft_status weft_attention_steps_for(weft_attention_steps *out, bool *fits,
                                     const weft_sparse_attention_call *call)
{
    const int64_t size = (int64_t)weft_dtype_size(call->problem.dtype);
    int64_t bytes;
    *out = (weft_attention_steps){0};
    *fits = mul_i64(call->M->nnz, call->n_heads, &bytes) && mul_i64(bytes, size, &bytes) &&
            (uint64_t)bytes <= SIZE_MAX / 4 && (uint64_t)bytes <= call->ctx->limits.max_alloc_bytes;
    if (!*fits || bytes == 0)
        return WEFT_OK;
    TRY(own_bytes(&out->own_bytes, call));
    *fits = weft_scratch_for(&out->own_bytes, (int64_t)out->own_bytes, 1, 1, 1);
    out->bytes = out->own_bytes + (size_t)bytes;
    return WEFT_OK;
}

static weft_status run_batch(weft_launch *launch, const weft_sparse_attention_call *call,
                             const operands *o, cl_mem workspace)
{
    three_steps three;
    TRY(find_steps(&three, call->ctx, o));
    TRY(weft_sddmm_run(launch, &three.products, call->scale, 0, workspace));
    TRY(weft_sparse_softmax_run(launch, &three.softmax, workspace));
    return weft_spmm_op.run(launch, &three.sums, &three.sums_call, workspace);
}

weft_status weft_attention_steps_run(weft_launch *launch, const weft_sparse_attention_call *call,
                                     const weft_attention_steps *steps, cl_mem scratch)
{
    const int64_t start = (int64_t)(steps->own_bytes / weft_dtype_size(call->problem.dtype));
    const int64_t n_batches = call->problem.n_batches / call->n_heads;
    cl_mem workspace = steps->own_bytes > 0 ? scratch : NULL;
    for (int64_t batch = 0; batch < n_batches; ++batch) {
        const operands o = operands_of(call, batch, scratch, start);
        TRY(run_batch(launch, call, &o, workspace));
    }
    return WEFT_OK;
}
