// SPDX-License-Identifier: Apache-2.0
// Sparse attention as three operations, one after the other: products at the entries of M, softmax
// of them in place, and sums of V. One batch at a time, all its heads together.
//
// It calls the operations, with one block of scratch memory for the products and for the workspace
// of each.
#include "base/arithmetic.h"
#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/scratch.h"
#include "sparse/sparse_attention_call.h"

// An operand as [heads x rows x columns], for one of the batches.
static weft_tensor heads_view(const weft_attention_state *s, const weft_tensor *t, int64_t batch)
{
    const weft_heads dense = weft_heads_of(t);
    return (weft_tensor){
        .buffer = dense.buffer,
        .dtype = s->problem.dtype,
        .offset = dense.start + batch * dense.outer,
        .ndim = 3,
        .shape = {s->n_heads, t->shape[t->ndim - 2], t->shape[t->ndim - 1]},
        .stride = {dense.inner, dense.row, dense.column},
    };
}

// The steps are planned once for all batches, and plans depend on alignment: of two adjacent
// batches, one has the worst alignment of all.
static int64_t worst_batch(const weft_attention_state *s, const weft_tensor *t)
{
    const weft_heads dense = weft_heads_of(t);
    return s->n_outer > 1 && pow2_divisor(dense.start + dense.outer) < pow2_divisor(dense.start);
}

// `batches` are the batches of the dense operands.
static void find_operands(weft_attention_steps *o, const weft_attention_state *s,
                          const weft_call *call, const int64_t batches[WEFT_ATTENTION_N],
                          cl_mem products)
{
    weft_tensor views[WEFT_ATTENTION_N];
    for (int i = 0; i < WEFT_ATTENTION_N; ++i)
        views[i] = heads_view(s, weft_call_tensor(call, i), batches[i]);
    o->Q = views[WEFT_ATTENTION_Q];
    o->K_transposed = weft_tensor_transposed(&views[WEFT_ATTENTION_K]);
    o->V = views[WEFT_ATTENTION_V];
    o->O = views[WEFT_ATTENTION_O];
    o->weights = *weft_call_csr(call, WEFT_ATTENTION_M);
    o->weights.dtype = s->problem.dtype;
    o->weights.values = products;
    o->weights.values_start = (int64_t)(s->own_bytes / weft_dtype_size(s->problem.dtype));
    o->weights.values_batch_stride = s->problem.nnz;
    o->products = weft_csr_values(&o->weights, s->n_heads);
}

static const weft_sparse_softmax_numbers unscaled = {.scale = 1};
static const weft_spmm_numbers plain = {.alpha = 1};

static void find_steps(weft_attention_steps *o, const weft_call *call)
{
    const weft_attention_numbers *given = call->own;
    o->numbers = (weft_sddmm_numbers){.alpha = given->scale};
    o->products_call = (weft_call){
        .op = &weft_sddmm_op,
        .ctx = call->ctx,
        .operands = {&o->Q, &o->K_transposed, &o->weights, &o->products},
        .unread = 1u << WEFT_SDDMM_C,
        .own = &o->numbers,
    };
    o->softmax_call = (weft_call){
        .op = &weft_sparse_softmax_op,
        .ctx = call->ctx,
        .what = weft_call_name(call),
        .operands = {&o->weights, &o->products},
        .own = &unscaled,
    };
    o->sums_call = (weft_call){
        .op = &weft_spmm_op,
        .ctx = call->ctx,
        .operands = {[WEFT_SPMM_A] = &o->weights, [WEFT_SPMM_B] = &o->V, [WEFT_SPMM_C] = &o->O},
        .own = &plain,
    };
}

// The products have no address yet: they start on a vector boundary.
static weft_status prepare(weft_attention_state *s, const weft_call *call, bool is_unheard)
{
    weft_attention_steps steps;
    int64_t batches[WEFT_ATTENTION_N];
    for (int i = 0; i < WEFT_ATTENTION_N; ++i)
        batches[i] = worst_batch(s, weft_call_tensor(call, i));
    s->own_bytes = 0;
    find_operands(&steps, s, call, batches, NULL);
    find_steps(&steps, call);
    steps.products_call.is_unheard = is_unheard;
    steps.softmax_call.is_unheard = is_unheard;
    steps.sums_call.is_unheard = is_unheard;
    TRY(weft_op_prepare(&s->products, &steps.products_call));
    TRY(weft_op_prepare(&s->softmax, &steps.softmax_call));
    TRY(weft_op_prepare(&s->sums, &steps.sums_call));
    const size_t products = s->products.head.scratch_bytes, sums = s->sums.head.scratch_bytes;
    const size_t softmax = s->softmax.head.scratch_bytes, more = softmax > sums ? softmax : sums;
    s->own_bytes = products > more ? products : more;
    return WEFT_OK;
}

weft_status weft_attention_steps_prepare(weft_attention_state *s, const weft_call *call,
                                         bool is_unheard, bool *fits)
{
    const int64_t size = (int64_t)weft_dtype_size(s->problem.dtype);
    int64_t bytes;
    *fits = mul_i64(s->problem.nnz, s->n_heads, &bytes) && mul_i64(bytes, size, &bytes) &&
            (uint64_t)bytes <= SIZE_MAX / 4 && (uint64_t)bytes <= call->ctx->limits.max_alloc_bytes;
    if (!*fits)
        return WEFT_OK;
    TRY(prepare(s, call, is_unheard));
    *fits = weft_scratch_for(&s->own_bytes, (int64_t)s->own_bytes, 1, 1, 1);
    s->head.scratch_bytes = s->own_bytes + (size_t)bytes;
    return WEFT_OK;
}

weft_status weft_attention_steps_run(weft_launch *launch, const weft_attention_state *s,
                                     const weft_call *call, cl_mem scratch)
{
    weft_attention_steps steps;
    cl_mem workspace = s->own_bytes > 0 ? scratch : NULL;
    for (int64_t batch = 0; batch < s->n_outer; ++batch) {
        const int64_t batches[WEFT_ATTENTION_N] = {batch, batch, batch, batch};
        find_operands(&steps, s, call, batches, scratch);
        find_steps(&steps, call);
        TRY(weft_sddmm_op.run(launch, &s->products, &steps.products_call, workspace));
        TRY(weft_sparse_softmax_op.run(launch, &s->softmax, &steps.softmax_call, workspace));
        TRY(weft_spmm_op.run(launch, &s->sums, &steps.sums_call, workspace));
    }
    return WEFT_OK;
}
