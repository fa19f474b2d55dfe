// SPDX-License-Identifier: Apache-2.0
// Every public operation, on matrices of 32 rows and columns.
#include "operation_case.h"

#include "axis/axis_plan.h"
#include "dense/matmul_tiling.h"
#include "queues.h"
#include "sparse/sddmm_plan.h"
#include "sparse/sddmm_sparse_plan.h"
#include "sparse/sparse_attention_plan.h"
#include "sparse/sparse_softmax_plan.h"
#include "sparse/spgemm_plan.h"
#include "sparse/spmm_tiling.h"
#include "tiling_text.h"
#include "tilings.h"

enum { N = OPERATION_EXTENT, CHUNK = 4 };

// ---- what every call is given, and has to give back

// What a handle is before the call that makes it: a failure has to set it to NULL.
#define NO_HANDLE(o) ((void *)(o))

#define ORDER(o)                                                                                   \
    .n_wait = (o)->wants_event ? 1 : 0, .wait = (o)->wants_event ? &(o)->ready : NULL,             \
    .event = (o)->wants_event ? &done : NULL

bool operation_look_away(const operation_operands *o)
{
    const bool watched = o->watches && *o->watches;
    if (o->watches)
        *o->watches = false;
    return watched;
}

void operation_look_again(const operation_operands *o, bool watched)
{
    if (o->watches)
        *o->watches = watched;
}

static void release(const operation_operands *o, cl_event event)
{
    const bool watched = operation_look_away(o);
    if (event)
        clReleaseEvent(event);
    operation_look_again(o, watched);
}

// Before what kernels use is destroyed. Where there is no queue nothing can have been enqueued.
static void finish(const operation_operands *o)
{
    const bool watched = operation_look_away(o);
    if (o->queue)
        queue_finish(o->queue);
    operation_look_again(o, watched);
}

// An event comes with success alone, and with every one.
static weft_status ended(const operation_operands *o, weft_status status, cl_event done)
{
    assert_true((done != NULL) == (o->wants_event && status == WEFT_OK));
    release(o, done);
    return status;
}

// Where a call is one of several.
#define STEP(call)                                                                                 \
    do {                                                                                           \
        cl_event done = NULL;                                                                      \
        const weft_status status = (call);                                                         \
        if (ended(o, status, done) != WEFT_OK)                                                     \
            return status;                                                                         \
    } while (0)

static weft_tensor dense_output(const operation_operands *o, int i, weft_dtype dtype)
{
    return weft_matrix(o->outputs[i], dtype, N, N);
}

static weft_tensor line(cl_mem buffer, weft_dtype dtype, int64_t n)
{
    return (weft_tensor){.buffer = buffer, .dtype = dtype, .ndim = 1, .shape = {n}, .stride = {1}};
}

static weft_tensor values_output(const operation_operands *o)
{
    return line(o->outputs[0], WEFT_F32, o->A.nnz);
}

// ---- sparse times dense

static weft_spmm_tiling spmm_in_chunks(const operation_operands *o, const weft_context *ctx)
{
    const weft_spmm_problem problem = {
        .m = N, .k = N, .n = N, .nnz = o->A.nnz, .columns_adjacent = true};
    weft_spmm_tiling tiling = weft_spmm_tiling_for(weft_context_limits(ctx), &problem);
    tiling.row_chunk = CHUNK;
    return tiling;
}

static weft_status spmm(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32);
    const weft_spmm_tiling tiling = spmm_in_chunks(o, ctx);
    STEP(weft_spmm(ctx, o->queue, 1, &o->A, &o->X, 0, &D,
                   WEFT_SPMM(.tiling = TILING_TEXT(spmm, &tiling), ORDER(o))));
    return WEFT_OK;
}

static weft_status product_with(operation_operands *o, weft_context *ctx,
                                const weft_spmm_plan *plan, bool transpose_a)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32);
    STEP(weft_spmm(ctx, o->queue, 1, &o->A, &o->X, 0, &D,
                   WEFT_SPMM(.plan = plan, .transpose_a = transpose_a, .bias = &o->row,
                             .activation = WEFT_ACTIVATION_RELU, ORDER(o))));
    return WEFT_OK;
}

static weft_status spmm_planned(operation_operands *o, weft_context *ctx, bool transpose_a,
                                weft_spmm_row_schedule schedule)
{
    weft_spmm_plan *plan = NO_HANDLE(o);
    weft_status status = weft_spmm_plan_create(
        &plan, ctx, o->queue, &o->A,
        WEFT_SPMM_PLAN(.transpose_a = transpose_a, .row_chunk = CHUNK, .row_schedule = schedule));
    assert_true((plan != NULL) == (status == WEFT_OK));
    if (status == WEFT_OK)
        status = product_with(o, ctx, plan, transpose_a);
    finish(o);
    weft_spmm_plan_destroy(&plan);
    return status;
}

static weft_status spmm_with_plan(operation_operands *o, weft_context *ctx)
{
    return spmm_planned(o, ctx, false, WEFT_SPMM_ROW_SCHEDULE_DEFAULT);
}

static weft_status spmm_from_queue(operation_operands *o, weft_context *ctx)
{
    return spmm_planned(o, ctx, false, WEFT_SPMM_ROW_SCHEDULE_QUEUE);
}

static weft_status spmm_transposed(operation_operands *o, weft_context *ctx)
{
    return spmm_planned(o, ctx, true, WEFT_SPMM_ROW_SCHEDULE_SORTED);
}

static weft_status spmm_largest(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32), places = dense_output(o, 1, WEFT_I32);
    weft_spmm_tiling tiling = spmm_in_chunks(o, ctx);
    tiling.k_block = tiling.stage = 0;
    tiling.packed = false;
    STEP(weft_spmm(ctx, o->queue, 1, &o->A, &o->X, 0, &D,
                   WEFT_SPMM(.tiling = TILING_TEXT(spmm, &tiling), .reduction = WEFT_SPMM_MAX,
                             .arguments = &places, ORDER(o))));
    return WEFT_OK;
}

static weft_status spmm_stored(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32);
    const weft_spmm_tiling tiling = spmm_in_chunks(o, ctx);
    STEP(weft_spmm_dcsr(ctx, o->queue, 1, &o->stored, &o->X, 0, &D,
                        WEFT_SPMM(.tiling = TILING_TEXT(spmm, &tiling), ORDER(o))));
    return WEFT_OK;
}

static weft_status sparse_linear(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32);
    STEP(weft_sparse_linear(ctx, o->queue, &o->A, &o->X, &D,
                            WEFT_SPARSE_LINEAR(.bias = &o->row, ORDER(o))));
    return WEFT_OK;
}

static weft_status sparse_linear_dw(operation_operands *o, weft_context *ctx)
{
    const weft_tensor dW = values_output(o);
    STEP(weft_sparse_linear_dw(ctx, o->queue, &o->X, &o->Y, &o->A, &dW,
                               WEFT_SPARSE_LINEAR(ORDER(o))));
    return WEFT_OK;
}

static weft_status sparse_linear_dx(operation_operands *o, weft_context *ctx)
{
    const weft_tensor dX = dense_output(o, 0, WEFT_F32);
    weft_spmm_plan *plan = NO_HANDLE(o);
    weft_status status =
        weft_spmm_plan_create(&plan, ctx, o->queue, &o->A, WEFT_SPMM_PLAN(.transpose_a = true));
    assert_true((plan != NULL) == (status == WEFT_OK));
    if (status == WEFT_OK) {
        cl_event done = NULL;
        status = weft_sparse_linear_dx(ctx, o->queue, &o->A, &o->X, &dX,
                                       WEFT_SPARSE_LINEAR(.plan = plan, ORDER(o)));
        status = ended(o, status, done);
    }
    finish(o);
    weft_spmm_plan_destroy(&plan);
    return status;
}

// ---- at the entries of a sparse matrix

static weft_status sddmm(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = values_output(o);
    STEP(weft_sddmm(ctx, o->queue, 1, &o->X, &o->Y, &o->A, 0, &D, WEFT_SDDMM(ORDER(o))));
    return WEFT_OK;
}

// Tile by tile, from a copy of B.
static weft_status sddmm_in_passes(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = values_output(o);
    const weft_sddmm_problem problem = {
        .m = N, .n = N, .k = N, .nnz = o->A.nnz, .a_adjacent = true};
    weft_sddmm_tiling tiling = weft_sddmm_tiling_for(weft_context_limits(ctx), &problem);
    tiling.vectors = 1;
    tiling.passes = tiling.packed = true;
    tiling.transposed = false;
    tiling.aligned = false;
    STEP(weft_sddmm(ctx, o->queue, 1, &o->X, &o->Y, &o->A, 0, &D,
                    WEFT_SDDMM(.tiling = TILING_TEXT(sddmm, &tiling), ORDER(o))));
    return WEFT_OK;
}

static weft_status masked_by(operation_operands *o, weft_context *ctx, const weft_factor *A,
                             const weft_sddmm_sparse_tiling *t)
{
    const weft_tensor D = values_output(o);
    STEP(weft_sddmm_sparse(ctx, o->queue, 1, A, WEFT_SPARSE(&o->A), &o->A, 0, &D,
                           WEFT_SDDMM_SPARSE(.tiling = TILING_TEXT(sddmm_sparse, t), ORDER(o))));
    return WEFT_OK;
}

static weft_status sddmm_sparse(operation_operands *o, weft_context *ctx)
{
    return masked_by(o, ctx, WEFT_DENSE(&o->X), NULL);
}

static weft_status sddmm_sparse_hashed(operation_operands *o, weft_context *ctx)
{
    static const weft_sddmm_sparse_tiling in_k_blocks = {
        .items = 1, .lanes = 1, .columns = 12, .entries = 5};
    return masked_by(o, ctx, WEFT_SPARSE(&o->A), &in_k_blocks);
}

static weft_sparse_softmax_tiling softmax_in_chunks(const operation_operands *o,
                                                    const weft_context *ctx, bool is_backward)
{
    const weft_sparse_softmax_problem problem = {
        .n_rows = N, .nnz = o->A.nnz, .is_backward = is_backward};
    weft_sparse_softmax_tiling tiling =
        weft_sparse_softmax_tiling_for(weft_context_limits(ctx), &problem);
    tiling.row_chunk = CHUNK;
    return tiling;
}

static weft_status sparse_softmax(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Y = values_output(o);
    const weft_sparse_softmax_tiling tiling = softmax_in_chunks(o, ctx, false);
    STEP(weft_sparse_softmax(
        ctx, o->queue, 1, &o->A, &Y,
        WEFT_SPARSE_SOFTMAX(.tiling = TILING_TEXT(sparse_softmax, &tiling), ORDER(o))));
    return WEFT_OK;
}

static weft_status sparse_softmax_backward(operation_operands *o, weft_context *ctx)
{
    const weft_tensor dX = values_output(o);
    const weft_sparse_softmax_tiling tiling = softmax_in_chunks(o, ctx, true);
    STEP(weft_sparse_softmax_backward(
        ctx, o->queue, 1, &o->A, &o->values, &dX,
        WEFT_SPARSE_SOFTMAX(.tiling = TILING_TEXT(sparse_softmax, &tiling), ORDER(o))));
    return WEFT_OK;
}

static weft_status attend(operation_operands *o, weft_context *ctx, bool in_steps)
{
    const weft_tensor O = dense_output(o, 0, WEFT_F32);
    const weft_sparse_attention_problem problem = {
        .m = N, .n = N, .k = N, .d = N, .nnz = o->A.nnz, .qk_adjacent = true, .vo_adjacent = true};
    weft_sparse_attention_tiling tiling =
        weft_sparse_attention_tiling_for(weft_context_limits(ctx), &problem);
    tiling.row_chunk = CHUNK;
    tiling.in_steps = in_steps;
    STEP(weft_sparse_attention(
        ctx, o->queue, 1, &o->X, &o->Y, &o->Z, &o->A, &O,
        WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, &tiling), ORDER(o))));
    return WEFT_OK;
}

static weft_status sparse_attention(operation_operands *o, weft_context *ctx)
{
    return attend(o, ctx, false);
}

static weft_status sparse_attention_in_steps(operation_operands *o, weft_context *ctx)
{
    return attend(o, ctx, true);
}

static weft_status sparse_gather(operation_operands *o, weft_context *ctx)
{
    const weft_tensor out = values_output(o);
    STEP(weft_sparse_gather(ctx, o->queue, &o->values, &o->source, &out,
                            WEFT_SPARSE_GATHER(ORDER(o))));
    return WEFT_OK;
}

// ---- formats

// A sparse result: offsets, indices and values in three outputs.
static weft_csr sparse_output(const operation_operands *o, int64_t nnz)
{
    return (weft_csr){.n_rows = N,
                      .n_cols = N,
                      .nnz = nnz,
                      .offsets = o->outputs[0],
                      .indices = o->outputs[1],
                      .values = o->outputs[2]};
}

static weft_status csr_transpose(operation_operands *o, weft_context *ctx)
{
    const weft_csr T = sparse_output(o, o->A.nnz);
    const weft_tensor source = line(o->outputs[3], WEFT_I32, o->A.nnz);
    STEP(weft_csr_transpose(ctx, o->queue, &o->A, &T,
                            WEFT_CSR_TRANSPOSE(.source = &source, ORDER(o))));
    return WEFT_OK;
}

// Up to the device, checked there, and spread out.
static weft_status csr(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32);
    weft_csr up = {
        .offsets = NO_HANDLE(o), .indices = NO_HANDLE(o), .values = NO_HANDLE(o), .nnz = -1};
    weft_csr_host row = {0};
    weft_status status = weft_csr_create(&up, ctx, o->queue, &o->host);
    assert_true((up.offsets || up.indices || up.values || up.nnz) == (status == WEFT_OK));
    if (status == WEFT_OK)
        status = weft_csr_check(ctx, o->queue, &up, WEFT_CSR_UNIQUE, NULL);
    if (status == WEFT_OK)
        status = weft_csr_host_rows(&row, &o->host, OPERATION_LONG_ROW, 1);
    if (status == WEFT_OK) {
        cl_event done = NULL;
        status = weft_csr_to_dense(ctx, o->queue, &up, &D, WEFT_CSR_DENSE(ORDER(o)));
        status = ended(o, status, done);
    }
    weft_csr_host_destroy(&row);
    finish(o);
    weft_csr_destroy(&up);
    return status;
}

static weft_status dense_to_csr(operation_operands *o, weft_context *ctx)
{
    int64_t nnz = -1;
    weft_csr A = sparse_output(o, 0);
    STEP(weft_dense_to_csr_count(ctx, o->queue, &o->X, &A, &nnz,
                                 WEFT_CSR_DENSE(.threshold = 0.25, ORDER(o))));
    A.nnz = nnz;
    STEP(weft_dense_to_csr(ctx, o->queue, &o->X, &A, WEFT_CSR_DENSE(.threshold = 0.25, ORDER(o))));
    return WEFT_OK;
}

static weft_status spgemm_by(operation_operands *o, weft_context *ctx, const weft_spgemm_tiling *t)
{
    int64_t nnz = -1;
    weft_csr C = sparse_output(o, 0);
    STEP(weft_spgemm_count(ctx, o->queue, &o->A, &o->A, &C, &nnz,
                           WEFT_SPGEMM(ORDER(o), .tiling = TILING_TEXT(spgemm, t))));
    C.nnz = nnz;
    STEP(weft_spgemm(ctx, o->queue, &o->A, &o->A, &C,
                     WEFT_SPGEMM(ORDER(o), .tiling = TILING_TEXT(spgemm, t))));
    return WEFT_OK;
}

static weft_status spgemm(operation_operands *o, weft_context *ctx)
{
    return spgemm_by(o, ctx, NULL);
}

static const weft_spgemm_tiling in_groups = {
    .items = 1, .rows = 4, .columns = 16, .long_from = 3, .long_columns = 64, .long_groups = 2};

static weft_status spgemm_in_groups(operation_operands *o, weft_context *ctx)
{
    return spgemm_by(o, ctx, &in_groups);
}

static weft_status dense_by(operation_operands *o, weft_context *ctx, const weft_spgemm_tiling *t)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32);
    const weft_csr *A = &o->A;
    STEP(weft_spgemm_dense(ctx, o->queue, 1, A, A, 0, &D,
                           WEFT_SPGEMM(ORDER(o), .tiling = TILING_TEXT(spgemm, t))));
    return WEFT_OK;
}

static weft_status spgemm_dense(operation_operands *o, weft_context *ctx)
{
    return dense_by(o, ctx, NULL);
}

static weft_status dense_in_groups(operation_operands *o, weft_context *ctx)
{
    return dense_by(o, ctx, &in_groups);
}

// To stored rows, and back when that is done.
static weft_status dcsr_there_and_back(operation_operands *o, weft_context *ctx, const weft_dcsr *D)
{
    cl_event stored = NULL;
    const weft_csr back = {.n_rows = N,
                           .n_cols = N,
                           .nnz = o->A.nnz,
                           .offsets = o->outputs[2],
                           .indices = o->A.indices,
                           .values = o->A.values};
    weft_status status = weft_dcsr_from_csr(ctx, o->queue, &o->A, D, WEFT_DCSR(.event = &stored));
    assert_true((stored != NULL) == (status == WEFT_OK));
    if (status == WEFT_OK) {
        cl_event done = NULL;
        status = weft_dcsr_to_csr(
            ctx, o->queue, D, &back,
            WEFT_DCSR(.n_wait = 1, .wait = &stored, .event = o->wants_event ? &done : NULL));
        status = ended(o, status, done);
        release(o, stored);
    }
    return status;
}

static weft_status dcsr(operation_operands *o, weft_context *ctx)
{
    int64_t n_stored = -1;
    STEP(weft_dcsr_count(ctx, o->queue, &o->A, &n_stored, WEFT_DCSR(ORDER(o))));
    const weft_dcsr D = {.n_rows = N,
                         .n_cols = N,
                         .n_stored = n_stored,
                         .nnz = o->A.nnz,
                         .rows = o->outputs[0],
                         .offsets = o->outputs[1],
                         .indices = o->A.indices,
                         .values = o->A.values};
    return dcsr_there_and_back(o, ctx, &D);
}

// ---- dense

static const weft_axis_tiling in_parts = TILING(1, 3, 1, 1, 2, 1, 2, 4, 4, 3);

static weft_status reduce(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Y = line(o->outputs[0], WEFT_F32, N);
    STEP(weft_reduce(ctx, o->queue, WEFT_SUM, &o->X, 1, (const int[]){1}, &Y,
                     WEFT_REDUCE(.tiling = TILING_TEXT(axis, &in_parts), ORDER(o))));
    return WEFT_OK;
}

static weft_status softmax(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Y = dense_output(o, 0, WEFT_F32);
    STEP(weft_softmax(ctx, o->queue, 1, &o->X, 1, &Y,
                      WEFT_SOFTMAX(.tiling = TILING_TEXT(axis, &in_parts), ORDER(o))));
    return WEFT_OK;
}

static weft_status log_softmax(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Y = dense_output(o, 0, WEFT_F32);
    STEP(weft_log_softmax(ctx, o->queue, 1, &o->X, 0, &Y, WEFT_SOFTMAX(ORDER(o))));
    return WEFT_OK;
}

static weft_status softmax_backward(operation_operands *o, weft_context *ctx)
{
    const weft_tensor dX = dense_output(o, 0, WEFT_F32);
    STEP(weft_softmax_backward(ctx, o->queue, 1, &o->X, &o->Y, 1, &dX, WEFT_SOFTMAX(ORDER(o))));
    return WEFT_OK;
}

static weft_status log_softmax_backward(operation_operands *o, weft_context *ctx)
{
    const weft_tensor dX = dense_output(o, 0, WEFT_F32);
    STEP(weft_log_softmax_backward(ctx, o->queue, 1, &o->X, &o->Y, 1, &dX,
                                   WEFT_SOFTMAX(.tiling = TILING_TEXT(axis, &in_parts), ORDER(o))));
    return WEFT_OK;
}

static weft_status layer_norm(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Y = dense_output(o, 0, WEFT_F32);
    STEP(weft_layer_norm(ctx, o->queue, 1e-5, &o->X, 1, &Y,
                         WEFT_NORM(.weight = &o->row, .bias = &o->row, ORDER(o))));
    return WEFT_OK;
}

static weft_status rms_norm(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Y = dense_output(o, 0, WEFT_F32);
    STEP(weft_rms_norm(ctx, o->queue, 1e-5, &o->X, 1, &Y,
                       WEFT_NORM(.tiling = TILING_TEXT(axis, &in_parts), ORDER(o))));
    return WEFT_OK;
}

static weft_status layer_norm_backward(operation_operands *o, weft_context *ctx)
{
    const weft_tensor dX = dense_output(o, 0, WEFT_F32);
    const weft_tensor dW = line(o->outputs[1], WEFT_F32, N), db = line(o->outputs[2], WEFT_F32, N);
    STEP(weft_layer_norm_backward(ctx, o->queue, 1e-5, &o->X, 1, &o->Y, &dX,
                                  WEFT_NORM_BACKWARD(.weight = &o->row, .dW = &dW, .db = &db,
                                                     .tiling = TILING_TEXT(axis, &in_parts),
                                                     ORDER(o))));
    return WEFT_OK;
}

static weft_status rms_norm_backward(operation_operands *o, weft_context *ctx)
{
    const weft_tensor dX = dense_output(o, 0, WEFT_F32);
    STEP(weft_rms_norm_backward(ctx, o->queue, 1e-5, &o->X, 1, &o->Y, &dX,
                                WEFT_NORM_BACKWARD(.weight = &o->row, ORDER(o))));
    return WEFT_OK;
}

static weft_status elementwise(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Z = dense_output(o, 0, WEFT_F32);
    STEP(weft_elementwise(ctx, o->queue, WEFT_INPUTS({"x", &o->X}, {"y", &o->Y}),
                          WEFT_OUTPUTS({"s * x + max(y, 0)", &Z}),
                          WEFT_ELEMENTWISE(WEFT_VALUES({"s", 0.5}), ORDER(o))));
    return WEFT_OK;
}

static weft_status elementwise_with_plan(operation_operands *o, weft_context *ctx)
{
    const weft_tensor Z = dense_output(o, 0, WEFT_F32), W = dense_output(o, 1, WEFT_F32);
    const weft_elementwise_input inputs[] = {{"x", &o->X}, {"y", &o->Y}};
    const weft_elementwise_output outputs[] = {{"x * y - 1", &Z}, {"x + y", &W}};
    weft_elementwise_plan *plan = NO_HANDLE(o);
    weft_status status = weft_elementwise_plan_create(&plan, ctx, 2, inputs, 2, outputs, NULL);
    assert_true((plan != NULL) == (status == WEFT_OK));
    if (status == WEFT_OK) {
        cl_event done = NULL;
        status = weft_elementwise(ctx, o->queue, 2, inputs, 2, outputs,
                                  WEFT_ELEMENTWISE(.plan = plan, ORDER(o)));
        status = ended(o, status, done);
    }
    weft_elementwise_plan_destroy(&plan);
    return status;
}

static weft_status matmul(operation_operands *o, weft_context *ctx)
{
    static const weft_matmul_tiling in_chunks = {.method = WEFT_MATMUL_BLOCKS,
                                                 .vector_width = 4,
                                                 .vectors = 1,
                                                 .rows = 4,
                                                 .items = 1,
                                                 .items_y = 1,
                                                 .depth = 8,
                                                 .block_rows = 16,
                                                 .block_columns = 16,
                                                 .chunk = 16};
    const weft_tensor C = dense_output(o, 0, WEFT_F32);
    STEP(weft_matmul(ctx, o->queue, 1, &o->X, &o->Y, 0, &C,
                     WEFT_MATMUL(.tiling = TILING_TEXT(matmul, &in_chunks),
                                 .epilogue = "relu(c) + z", WEFT_MATMUL_WITH({"z", &o->Z}),
                                 ORDER(o))));
    return WEFT_OK;
}

// ---- scratch memory

// What all operations that may want some say of these operands.
static weft_status workspaces(operation_operands *o, weft_context *ctx)
{
    const weft_tensor D = dense_output(o, 0, WEFT_F32), V = values_output(o);
    const weft_tensor sums = line(o->outputs[1], WEFT_F32, N);
    const weft_csr C = sparse_output(o, o->A.nnz);
    const weft_spmm_tiling spmm_tiling = spmm_in_chunks(o, ctx);
    size_t *bytes = o->sizes;
    TRY(weft_spmm_workspace(ctx, &o->A, &o->X, &D,
                            WEFT_SPMM(.tiling = TILING_TEXT(spmm, &spmm_tiling)), bytes++));
    TRY(weft_sddmm_workspace(ctx, &o->X, &o->Y, &o->A, &V, NULL, bytes++));
    TRY(weft_sparse_softmax_workspace(ctx, &o->A, &V, NULL, bytes++));
    TRY(weft_sparse_attention_workspace(ctx, &o->X, &o->Y, &o->Z, &o->A, &D, NULL, bytes++));
    TRY(weft_csr_transpose_workspace(ctx, &o->A, &C, NULL, bytes++));
    TRY(weft_dense_to_csr_workspace(ctx, &o->X, &C, NULL, bytes++));
    TRY(weft_dcsr_workspace(ctx, &o->A, NULL, bytes++));
    TRY(weft_spgemm_workspace(ctx, &o->A, &o->A, &C, NULL, bytes++));
    TRY(weft_spgemm_dense_workspace(ctx, &o->A, &o->A, &D, NULL, bytes++));
    TRY(weft_reduce_workspace(ctx, WEFT_SUM, &o->X, 1, (const int[]){1}, &sums,
                              WEFT_REDUCE(.tiling = TILING_TEXT(axis, &in_parts)), bytes++));
    TRY(weft_softmax_workspace(ctx, &o->X, 1, &D,
                               WEFT_SOFTMAX(.tiling = TILING_TEXT(axis, &in_parts)), bytes++));
    TRY(weft_norm_workspace(ctx, &o->X, 1, &D, WEFT_NORM(.tiling = TILING_TEXT(axis, &in_parts)),
                            bytes++));
    TRY(weft_norm_backward_workspace(ctx, &o->X, 1, &o->Y, &D, WEFT_NORM_BACKWARD(.dW = &sums),
                                     bytes++));
    return weft_matmul_workspace(ctx, &o->X, &o->Y, &D, NULL, bytes);
}

// Softmax and a product that needs it, recorded on X, and run on Z.
static weft_status record(operation_operands *o, weft_context *ctx, weft_recording *recording)
{
    const weft_tensor soft = dense_output(o, 1, WEFT_F32), D = dense_output(o, 0, WEFT_F32);
    TRY(weft_softmax(ctx, o->queue, 1, &o->X, 1, &soft, NULL));
    TRY(weft_matmul(ctx, o->queue, 1, &soft, &o->Y, 0, &D, NULL));
    TRY(weft_recording_name(recording, o->X.buffer, "X"));
    return weft_recording_end(recording);
}

static weft_status run_on_another(operation_operands *o, weft_recording *recording)
{
    const weft_exchange another = {.name = "X", .buffer = o->Z.buffer};
    TRY(weft_recording_exchange(recording, 1, &another));
    STEP(weft_recording_run(recording, o->queue, WEFT_RECORDING(ORDER(o))));
    return WEFT_OK;
}

static weft_status recording(operation_operands *o, weft_context *ctx)
{
    weft_recording *recording = NO_HANDLE(o);
    weft_status status = weft_recording_begin(&recording, ctx);
    assert_true((recording != NULL) == (status == WEFT_OK));
    if (status == WEFT_OK)
        status = record(o, ctx, recording);
    if (status == WEFT_OK)
        status = run_on_another(o, recording);
    finish(o);
    weft_recording_destroy(&recording);
    return status;
}

const operation_case operation_cases[OPERATION_CASES] = {
    {.name = "spmm", .run = spmm},
    {.name = "spmm with a plan", .run = spmm_with_plan},
    {.name = "spmm from a queue of rows", .run = spmm_from_queue},
    {.name = "spmm with A transposed", .run = spmm_transposed},
    {.name = "spmm for the largest", .run = spmm_largest},
    {.name = "spmm by stored rows", .run = spmm_stored},
    {.name = "sparse_linear", .run = sparse_linear},
    {.name = "sparse_linear_dx", .run = sparse_linear_dx},
    {.name = "sparse_linear_dw", .run = sparse_linear_dw},
    {.name = "sddmm", .run = sddmm},
    {.name = "sddmm in passes", .run = sddmm_in_passes},
    {.name = "sddmm_sparse", .run = sddmm_sparse},
    {.name = "sddmm_sparse hashed", .run = sddmm_sparse_hashed},
    {.name = "sparse_softmax", .run = sparse_softmax},
    {.name = "sparse_softmax_backward", .run = sparse_softmax_backward},
    {.name = "sparse_attention", .run = sparse_attention},
    {.name = "sparse_attention in steps", .run = sparse_attention_in_steps},
    {.name = "sparse_gather", .run = sparse_gather},
    {.name = "csr", .run = csr},
    {.name = "csr_transpose", .run = csr_transpose},
    {.name = "dense_to_csr", .run = dense_to_csr},
    {.name = "dcsr", .run = dcsr},
    {.name = "spgemm", .run = spgemm},
    {.name = "spgemm with long rows in groups", .run = spgemm_in_groups},
    {.name = "spgemm_dense", .run = spgemm_dense},
    {.name = "spgemm_dense with long rows in groups", .run = dense_in_groups},
    {.name = "reduce", .run = reduce},
    {.name = "softmax", .run = softmax},
    {.name = "log_softmax", .run = log_softmax},
    {.name = "softmax_backward", .run = softmax_backward},
    {.name = "log_softmax_backward", .run = log_softmax_backward},
    {.name = "layer_norm", .run = layer_norm},
    {.name = "rms_norm", .run = rms_norm},
    {.name = "layer_norm_backward", .run = layer_norm_backward},
    {.name = "rms_norm_backward", .run = rms_norm_backward},
    {.name = "elementwise", .run = elementwise},
    {.name = "elementwise with a plan", .run = elementwise_with_plan},
    {.name = "matmul", .run = matmul},
    {.name = "recording", .run = recording, .records = true},
    {.name = "workspaces", .run = workspaces, .writes_nothing = true},
};
