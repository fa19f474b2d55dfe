// SPDX-License-Identifier: Apache-2.0
// Sparse attention as three operations, one after the other: products at the entries of M, softmax
// of them in place, and sums of V. For each of a batch of heads; all heads at a time.
//
// It stands above the operations and calls them as anybody could, with one piece of scratch memory
// for the products and for what each of them wants.
#include "sparse_attention_call.h"

#include <weft/sddmm.h>
#include <weft/sparse_softmax.h>
#include <weft/spmm.h>

#include "arithmetic.h"
#include "context.h"
#include "notes.h"
#include "scratch.h"

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

static weft_status bytes_of_batch(size_t *most, const weft_sparse_attention_call *call,
                                  const operands *o)
{
    size_t sddmm, softmax, spmm;
    TRY(weft_sddmm_workspace(call->ctx, &o->Q, &o->K_turned, &o->weights, &o->products,
                             WEFT_SDDMM(.indicator = true), &sddmm));
    TRY(weft_sparse_softmax_workspace(call->ctx, &o->weights, &o->products, NULL, &softmax));
    TRY(weft_spmm_workspace(call->ctx, &o->weights, &o->V, &o->O, NULL, &spmm));
    const size_t more = softmax > spmm ? softmax : spmm;
    *most = *most > sddmm ? *most : sddmm;
    *most = *most > more ? *most : more;
    return WEFT_OK;
}

// Operations look at where batches begin, modulo a vector.
static weft_status own_bytes(size_t *most, const weft_sparse_attention_call *call, cl_mem products)
{
    const int64_t n_batches = min_i64(call->problem.n_batches / call->n_heads, MOST_ALIGNMENTS);
    *most = 0;
    for (int64_t batch = 0; batch < n_batches; ++batch) {
        const operands o = operands_of(call, batch, products, 0);
        TRY(bytes_of_batch(most, call, &o));
    }
    return WEFT_OK;
}

weft_status weft_attention_steps_for(weft_attention_steps *out, bool *fits,
                                     const weft_sparse_attention_call *call)
{
    const int64_t size = (int64_t)weft_dtype_size(call->problem.dtype);
    int64_t bytes;
    *out = (weft_attention_steps){0};
    *fits = weft_mul(call->M->nnz, call->n_heads, &bytes) && weft_mul(bytes, size, &bytes) &&
            (uint64_t)bytes <= SIZE_MAX / 4 && (uint64_t)bytes <= call->ctx->limits.max_alloc_bytes;
    if (!*fits || bytes == 0)
        return WEFT_OK;

    // A buffer to ask with: operations look at the sizes of what they are given.
    cl_mem products;
    TRY(weft_buffer_create(&products, call->ctx, CL_MEM_READ_WRITE, (size_t)bytes, NULL,
                           "sparse_attention"));
    const weft_status status = own_bytes(&out->own_bytes, call, products);
    weft_buffer_release(products);
    *fits = weft_scratch_for(&out->own_bytes, (int64_t)out->own_bytes, 1, 1, 1);
    out->bytes = out->own_bytes + (size_t)bytes;
    return status;
}

// Each step waits for the one before it, whatever order the queue keeps.
static void wait_on(cl_event *last, cl_event next)
{
    if (*last)
        clReleaseEvent(*last);
    *last = next;
}

static weft_status run_batch(const weft_sparse_attention_call *call, cl_command_queue queue,
                             const operands *o, cl_mem workspace, cl_uint n_wait,
                             const cl_event *wait, cl_event *last)
{
    weft_context *ctx = call->ctx;
    cl_event done = NULL;
    TRY(weft_sddmm(ctx, queue, call->scale, &o->Q, &o->K_turned, &o->weights, 0, &o->products,
                   WEFT_SDDMM(.indicator = true, .workspace = workspace, .n_wait = n_wait,
                              .wait = wait, .event = &done)));
    wait_on(last, done);
    TRY(weft_sparse_softmax(
        ctx, queue, 1, &o->weights, &o->products,
        WEFT_SPARSE_SOFTMAX(.workspace = workspace, .n_wait = 1, .wait = last, .event = &done)));
    wait_on(last, done);
    TRY(weft_spmm(ctx, queue, 1, &o->weights, &o->V, 0, &o->O,
                  WEFT_SPMM(.workspace = workspace, .n_wait = 1, .wait = last, .event = &done)));
    wait_on(last, done);
    return WEFT_OK;
}

weft_status weft_attention_steps_run(const weft_sparse_attention_call *call, cl_command_queue queue,
                                     const weft_attention_steps *steps, cl_mem scratch,
                                     cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    const int64_t start = (int64_t)(steps->own_bytes / weft_dtype_size(call->problem.dtype));
    const int64_t n_batches = call->problem.n_batches / call->n_heads;
    cl_mem workspace = steps->own_bytes > 0 ? scratch : NULL;
    weft_status status = WEFT_OK;
    cl_event last = NULL;
    for (int64_t batch = 0; batch < n_batches && status == WEFT_OK; ++batch) {
        const operands o = operands_of(call, batch, scratch, start);
        const bool is_first = batch == 0;
        status = run_batch(call, queue, &o, workspace, is_first ? n_wait : 1,
                           is_first ? wait : &last, &last);
    }
    if (status != WEFT_OK && !call->ctx->notes)
        clFinish(queue); // what a step has enqueued before it failed may use scratch memory
    *event = last;
    return status;
}
