// SPDX-License-Identifier: Apache-2.0
// The calls, and what changes between them.
#include "remember_case.h"

#include <math.h>

// Operands are N rows and columns within larger matrices.
enum { N = OPERATION_EXTENT / 2 };

// One of two kernels, where there is one otherwise; and one that no operation takes.
#define IN_PARTS                                                                                   \
    "vector_width 1, vectors 3, items 1, items_y 1, unroll 2, widen 1, run 2, grid_x 4, grid_y "   \
    "4, parts 3"
#define NO_TILING "vector_width 3"
// Of products at the entries of a matrix, and of attention over one.
#define BY_TILES                                                                                   \
    "vector_width 1, vectors 3, lanes 1, chunks_per_group 1, entries 16, passes, packed"
#define NO_ITEMS "items 3"
#define IN_SHORT_ROWS                                                                              \
    "vector_width 1, vectors 2, outputs 3, lanes 1, rows_per_group 1, rows_per_item 2, row_chunk " \
    "3"
#define IN_THREE_STEPS "in_steps"
#define BY_ROWS                                                                                    \
    "vector_width 1, vectors 1, lanes 1, row_split 1, rows_per_group 2, rows_per_item 1, load 1, " \
    "unroll 1, "                                                                                   \
    "row_chunk 4"

// Kernels for long rows as well.
#define IN_ROW_CHUNKS "vector_width 4, lanes 1, rows_per_group 1, cache 16, chunk 40, row_chunk 4"
#define LONG_ROWS     "items 1, rows 4, columns 16, long_from 3, long_columns 64, long_groups 2"

// ---- operands

static weft_tensor block(cl_mem buffer, const given *by)
{
    return (weft_tensor){.buffer = buffer,
                         .dtype = by->dtype,
                         .ndim = 2,
                         .shape = {N - by->fewer_rows, N},
                         .stride = {OPERATION_EXTENT, 1}};
}

// The first operand.
static weft_tensor first_block(const operation_operands *o, const given *by)
{
    weft_tensor X = block(by->lacks_buffer ? NULL : o->X.buffer, by);
    X.offset = by->offset;
    if (by->is_transposed) {
        X.stride[0] = 1;
        X.stride[1] = OPERATION_EXTENT;
    }
    return X;
}

static weft_tensor output_block(const operation_operands *o, int i, const given *by)
{
    return block(o->outputs[i], by);
}

// One number for each that is normalised together.
static weft_tensor scaling_of(cl_mem buffer, const given *by)
{
    weft_tensor w = block(buffer, by);
    if (!by->more_axes) {
        w.ndim = 1;
        w.shape[0] = N;
        w.stride[0] = 1;
    }
    return w;
}

// ---- calls

static weft_status softmax(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(o, by), Y = output_block(o, 0, by);
    return weft_softmax(ctx, o->queue, 1 + by->number, &X, by->axis, &Y,
                        WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status log_softmax(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(o, by), Y = output_block(o, 0, by);
    return weft_log_softmax(ctx, o->queue, 1 + by->number, &X, by->axis, &Y,
                            WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status softmax_backward(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor Y = first_block(o, by), dY = block(o->Y.buffer, by),
                      dX = output_block(o, 0, by);
    return weft_softmax_backward(ctx, o->queue, 1 + by->number, &Y, &dY, by->axis, &dX,
                                 WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status log_softmax_backward(const operation_operands *o, weft_context *ctx,
                                        const given *by)
{
    const weft_tensor Y = first_block(o, by), dY = block(o->Y.buffer, by),
                      dX = output_block(o, 0, by);
    return weft_log_softmax_backward(ctx, o->queue, 1 + by->number, &Y, &dY, by->axis, &dX,
                                     WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status norm(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(o, by), Y = output_block(o, 0, by);
    const weft_tensor w = scaling_of(o->Y.buffer, by), b = scaling_of(o->Z.buffer, by);
    return (by->is_rms ? weft_rms_norm : weft_layer_norm)(
        ctx, o->queue, 1e-5 + by->number, &X, 1 + by->more_axes, &Y,
        WEFT_NORM(.weight = by->lacks_weight ? NULL : &w, .bias = by->lacks_bias ? NULL : &b,
                  .tiling = by->tiling));
}

static weft_status norm_backward(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(o, by), dY = block(o->Y.buffer, by),
                      dX = output_block(o, 0, by);
    const weft_tensor w = scaling_of(o->Z.buffer, by);
    const weft_tensor dW = scaling_of(o->outputs[1], by), db = scaling_of(o->outputs[2], by);
    return (by->is_rms ? weft_rms_norm_backward : weft_layer_norm_backward)(
        ctx, o->queue, 1e-5 + by->number, &X, 1 + by->more_axes, &dY, &dX,
        WEFT_NORM_BACKWARD(.weight = by->lacks_weight ? NULL : &w, .dW = by->lacks_dw ? NULL : &dW,
                           .db = by->lacks_db ? NULL : &db, .tiling = by->tiling,
                           .scaling_tiling = by->scaling_tiling));
}

// Of rows and of columns there are as many.
static weft_status reduce(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(o, by);
    const weft_tensor Y = {
        .buffer = o->outputs[0], .ndim = 1 - by->more_axes, .shape = {N}, .stride = {1}};
    return weft_reduce(ctx, o->queue, by->op ? by->op : WEFT_VAR, &X, 1 + by->more_axes,
                       (const int[]){by->axis, 1 - by->axis}, &Y,
                       WEFT_REDUCE(.correction = (int64_t)by->number, .tiling = by->tiling));
}

// The sparse matrix.
static weft_csr matrix(const operation_operands *o, const given *by)
{
    weft_csr A = o->A;
    A.values = by->lacks_buffer ? NULL : A.values;
    return A;
}

// Values of its entries.
static weft_tensor entries(const operation_operands *o, cl_mem buffer)
{
    return (weft_tensor){.buffer = buffer, .ndim = 1, .shape = {o->A.nnz}, .stride = {1}};
}

// Where the offsets are those of A, the first entries of each row are written.
static weft_csr product_of(const operation_operands *o, cl_mem offsets)
{
    return (weft_csr){.n_rows = OPERATION_EXTENT,
                      .n_cols = OPERATION_EXTENT,
                      .nnz = o->A.nnz,
                      .offsets = offsets,
                      .indices = o->outputs[1],
                      .values = o->outputs[2],
                      .offsets_start = offsets == o->A.offsets ? o->A.offsets_start : 0};
}

static weft_status sparse_softmax(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_csr X = matrix(o, by);
    const weft_tensor Y = entries(o, o->outputs[0]);
    return weft_sparse_softmax(ctx, o->queue, 1 + by->number, &X, &Y,
                               WEFT_SPARSE_SOFTMAX(.tiling = by->tiling));
}

static weft_status sparse_softmax_backward(const operation_operands *o, weft_context *ctx,
                                           const given *by)
{
    const weft_csr Y = matrix(o, by);
    const weft_tensor dX = entries(o, o->outputs[0]);
    return weft_sparse_softmax_backward(ctx, o->queue, 1 + by->number, &Y, &o->values, &dX,
                                        WEFT_SPARSE_SOFTMAX(.tiling = by->tiling));
}

static weft_status spgemm_count(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(o, by), C = product_of(o, o->outputs[0]);
    return weft_spgemm_count(ctx, o->queue, &A, &o->A, &C, NULL, WEFT_SPGEMM(.tiling = by->tiling));
}

static weft_status spgemm(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(o, by);
    weft_csr C = product_of(o, o->A.offsets);
    C.nnz = by->lacks_entries ? 0 : C.nnz;
    return weft_spgemm(ctx, o->queue, &A, &o->A, &C, WEFT_SPGEMM(.tiling = by->tiling));
}

static weft_status spgemm_dense(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(o, by);
    const weft_tensor C = weft_matrix(o->outputs[0], WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    return weft_spgemm_dense(ctx, o->queue, by->number, &A, &o->A, by->beta, &C,
                             WEFT_SPGEMM(.tiling = by->tiling));
}

// All rows, and N columns.
static weft_tensor tall_block(weft_tensor narrow)
{
    narrow.shape[0] = OPERATION_EXTENT;
    return narrow;
}

static weft_status sddmm(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = tall_block(first_block(o, by)), Y = tall_block(block(o->Y.buffer, by));
    const weft_tensor B = weft_tensor_transposed(&Y), D = entries(o, o->outputs[0]);
    return weft_sddmm(ctx, o->queue, 1 + by->number, &X, &B, &o->A, 0, &D,
                      WEFT_SDDMM(.indicator = by->is_indicator, .tiling = by->tiling));
}

static weft_status sddmm_sparse(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_factor *A = WEFT_SPARSE(&o->A), *B = by->is_dense ? WEFT_DENSE(&o->X) : A;
    const weft_tensor D = entries(o, o->outputs[0]);
    return weft_sddmm_sparse(
        ctx, o->queue, 1 + by->number, A, B, &o->A, 0, &D,
        WEFT_SDDMM_SPARSE(.indicator = by->is_indicator, .tiling = by->tiling));
}

static weft_status spmm(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(o, by);
    const weft_tensor B = tall_block(first_block(o, by)), C = tall_block(output_block(o, 0, by));
    weft_tensor arguments = tall_block(output_block(o, 1, by));
    arguments.dtype = WEFT_I32;
    return weft_spmm(ctx, o->queue, by->number, &A, &B, by->beta, &C,
                     WEFT_SPMM(.reduction = by->reduction,
                               .arguments = by->has_arguments ? &arguments : NULL,
                               .bias = by->lacks_bias ? NULL : &o->row,
                               .activation = by->activation, .tiling = by->tiling));
}

static weft_status spmm_dcsr(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor B = tall_block(first_block(o, by)), C = tall_block(output_block(o, 0, by));
    return weft_spmm_dcsr(ctx, o->queue, by->number, &o->stored, &B, by->beta, &C,
                          WEFT_SPMM(.reduction = by->reduction, .activation = by->activation,
                                    .transpose_a = by->transposes_a));
}

static weft_status sparse_linear(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_csr W = matrix(o, by);
    const weft_tensor X = tall_block(first_block(o, by)), Y = tall_block(output_block(o, 0, by));
    return weft_sparse_linear(
        ctx, o->queue, &W, &X, &Y,
        WEFT_SPARSE_LINEAR(.bias = by->lacks_bias ? NULL : &o->row, .activation = by->activation));
}

static weft_status sparse_linear_dw(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = tall_block(first_block(o, by)), dY = tall_block(block(o->Y.buffer, by));
    const weft_tensor dW = entries(o, o->outputs[0]);
    return weft_sparse_linear_dw(ctx, o->queue, &dY, &X, &o->A, &dW,
                                 WEFT_SPARSE_LINEAR(.beta = by->beta));
}

static weft_status sparse_attention(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor Q = tall_block(first_block(o, by)), K = tall_block(block(o->Y.buffer, by));
    const weft_tensor V = tall_block(block(o->Z.buffer, by)),
                      O = tall_block(output_block(o, 0, by));
    return weft_sparse_attention(ctx, o->queue, 1 + by->number, &Q, &K, &V, &o->A, &O,
                                 WEFT_SPARSE_ATTENTION(.tiling = by->tiling));
}

// ---- conversions, and what else takes no plan from the caller

static weft_tensor line_of(cl_mem buffer, weft_dtype dtype, int64_t length)
{
    return (weft_tensor){
        .buffer = buffer, .dtype = dtype, .ndim = 1, .shape = {length}, .stride = {1}};
}

// Of the bits of numbers as integers.
static weft_status elementwise(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_tensor X = line_of(o->X.buffer, WEFT_I32, N), Y = line_of(o->Y.buffer, WEFT_I32, N);
    const weft_tensor out = line_of(o->outputs[0], WEFT_I64, N);
    const bool other_names = by->swaps_names, other_values = by->swaps_values;
    return weft_elementwise(
        ctx, o->queue, WEFT_INPUTS({other_names ? "y" : "x", &X}, {other_names ? "x" : "y", &Y}),
        WEFT_OUTPUTS({by->formula ? by->formula : "x - y * v - w", &out}),
        WEFT_ELEMENTWISE(
            WEFT_VALUES({other_values ? "w" : "v", 2 + by->number}, {other_values ? "v" : "w", 5}),
            .arithmetic = by->arithmetic));
}

static weft_status csr_to_dense(const operation_operands *o, weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(o, by);
    const weft_tensor D = weft_matrix(o->outputs[0], WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    return weft_csr_to_dense(ctx, o->queue, &A, &D, NULL);
}

static weft_status dense_to_csr(const operation_operands *o, weft_context *ctx, const given *by)
{
    weft_csr C = product_of(o, o->outputs[0]);
    const weft_csr_dense_params *params = WEFT_CSR_DENSE(.threshold = by->number);
    const weft_status status = weft_dense_to_csr_count(ctx, o->queue, &o->X, &C, &C.nnz, params);
    return status == WEFT_OK ? weft_dense_to_csr(ctx, o->queue, &o->X, &C, params) : status;
}

static weft_status csr_transpose(const operation_operands *o, weft_context *ctx, const given *by)
{
    weft_csr T = product_of(o, o->outputs[0]);
    const weft_tensor source = line_of(o->outputs[3], WEFT_I32, o->A.nnz);
    if (by->lacks_values)
        T.values = NULL;
    return weft_csr_transpose(ctx, o->queue, &o->A, &T,
                              WEFT_CSR_TRANSPOSE(.source = by->has_source ? &source : NULL));
}

static weft_status dcsr_from_csr(const operation_operands *o, weft_context *ctx, const given *by)
{
    weft_dcsr D = {.n_rows = OPERATION_EXTENT,
                   .n_cols = OPERATION_EXTENT,
                   .nnz = o->A.nnz,
                   .rows = o->outputs[1],
                   .offsets = o->outputs[0]};
    const weft_dcsr_params *params = WEFT_DCSR(.items = by->items);
    const weft_status status = weft_dcsr_count(ctx, o->queue, &o->A, &D.n_stored, params);
    return status == WEFT_OK ? weft_dcsr_from_csr(ctx, o->queue, &o->A, &D, params) : status;
}

static weft_status dcsr_to_csr(const operation_operands *o, weft_context *ctx, const given *by)
{
    weft_csr C = product_of(o, o->outputs[0]);
    C.nnz = o->stored.nnz + by->more_entries;
    return weft_dcsr_to_csr(ctx, o->queue, &o->stored, &C, NULL);
}

static weft_status sparse_gather(const operation_operands *o, weft_context *ctx, const given *by)
{
    weft_tensor values = line_of(o->A.values, WEFT_F32, o->A.nnz - 1);
    const weft_tensor source = line_of(o->source.buffer, WEFT_I32, o->A.nnz - 1);
    const weft_tensor out = line_of(o->outputs[0], WEFT_F32, o->A.nnz - 1);
    values.offset = by->offset;
    return weft_sparse_gather(ctx, o->queue, &values, &source, &out, NULL);
}

// ---- cases

// Where a change alone would change an operand, too, the row before it has what else it needs. A
// number that is refused comes after a call that is remembered and differs in that alone. So does a
// factor of 1 after one of 0, with which nothing is read.
const remembered_case remembered_cases[REMEMBERED_CASES] = {
    {"softmax",
     softmax,
     {{"axis", {.axis = 1}},
      {"scale", {.number = 1}},
      {"another scale", {.number = 2}},
      {"an infinite scale", {.number = INFINITY, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}},
      {"rows", {.fewer_rows = 1}},
      {"strides", {.is_transposed = true}},
      {"offset", {.offset = 1}},
      {"data type", {.dtype = WEFT_BF16}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"log_softmax",
     log_softmax,
     {{"axis", {.axis = 1}}, {"scale", {.number = 1}}, {"tiling", {.tiling = IN_PARTS}}}},
    {"softmax_backward",
     softmax_backward,
     {{"axis", {.axis = 1}}, {"scale", {.number = 1}}, {"tiling", {.tiling = IN_PARTS}}}},
    {"log_softmax_backward",
     log_softmax_backward,
     {{"axis", {.axis = 1}}, {"scale", {.number = 1}}, {"tiling", {.tiling = IN_PARTS}}}},
    {"layer_norm and rms_norm",
     norm,
     {{"which", {.is_rms = true}},
      {"weight", {.lacks_weight = true}},
      {"bias", {.lacks_bias = true}},
      {"weight and bias", {.lacks_weight = true, .lacks_bias = true}},
      {"axes", {.lacks_weight = true, .lacks_bias = true, .more_axes = 1}},
      {"epsilon", {.number = 1}},
      {"a negative epsilon", {.number = -1, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}}}},
    {"layer_norm_backward and rms_norm_backward",
     norm_backward,
     {{"which", {.is_rms = true}},
      {"weight", {.lacks_weight = true}},
      {"dW", {.lacks_dw = true}},
      {"all", {.lacks_weight = true, .lacks_dw = true, .lacks_db = true}},
      {"axes", {.lacks_weight = true, .lacks_dw = true, .lacks_db = true, .more_axes = 1}},
      {"epsilon", {.number = 1}},
      {"a negative epsilon", {.number = -1, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}},
      {"scaling_tiling", {.scaling_tiling = NO_TILING, .wanted = WEFT_BAD_ARGUMENT}}}},
    {"reduce",
     reduce,
     {{"op", {.op = WEFT_MAX}},
      {"axis", {.axis = 1}},
      {"all axes", {.more_axes = 1}},
      {"correction", {.number = 1}},
      {"too large a correction", {.number = 0x1p62 * 1.5, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_softmax",
     sparse_softmax,
     {{"scale", {.number = 1}},
      {"an infinite scale", {.number = INFINITY, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_ROW_CHUNKS}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_softmax_backward",
     sparse_softmax_backward,
     {{"scale", {.number = 1}}, {"tiling", {.tiling = IN_ROW_CHUNKS}}}},
    {"spgemm_count", spgemm_count, {{"tiling", {.tiling = LONG_ROWS}}}},
    {"spgemm",
     spgemm,
     {{"entries of C", {.lacks_entries = true}},
      {"tiling", {.tiling = LONG_ROWS}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"spgemm_dense",
     spgemm_dense,
     {{"beta", {.beta = 3}},
      {"beta that changes nothing", {.beta = 1}},
      {"another beta", {.beta = 2}},
      {"alpha", {.number = 1}},
      {"alpha and beta", {.number = 2, .beta = 1}},
      {"tiling", {.tiling = LONG_ROWS, .number = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sddmm",
     sddmm,
     {{"alpha", {.number = 1}},
      {"no alpha", {.number = -1}},
      {"no alpha, by tiles", {.number = -1, .tiling = BY_TILES}},
      {"tiling", {.tiling = BY_TILES}},
      {"an indicator", {.is_indicator = true}},
      {"strides", {.is_transposed = true}},
      {"offset", {.offset = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sddmm_sparse",
     sddmm_sparse,
     {{"alpha", {.number = 1}},
      {"no alpha", {.number = -1}},
      {"tiling", {.tiling = NO_ITEMS, .wanted = WEFT_BAD_ARGUMENT}},
      {"an indicator", {.is_indicator = true}},
      {"a dense factor", {.is_dense = true}}}},
    {"spmm",
     spmm,
     {{"beta", {.beta = 1}},
      {"a factor", {.number = 1}},
      {"means", {.number = 1, .reduction = WEFT_SPMM_MEAN}},
      {"max_min", {.number = 1, .reduction = WEFT_SPMM_MAX}},
      {"arguments", {.number = 1, .reduction = WEFT_SPMM_MAX, .has_arguments = true}},
      {"activation", {.number = 1, .activation = WEFT_ACTIVATION_RELU}},
      {"no bias", {.number = 1, .lacks_bias = true}},
      {"tiling", {.number = 1, .tiling = BY_ROWS}},
      {"strides", {.number = 1, .is_transposed = true}},
      {"offset", {.number = 1, .offset = 1}},
      {"no buffer", {.number = 1, .lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"spmm_dcsr",
     spmm_dcsr,
     {{"beta", {.beta = 1}},
      {"A^T", {.transposes_a = true, .wanted = WEFT_BAD_ARGUMENT}},
      {"a factor", {.number = 1}},
      {"means", {.number = 1, .reduction = WEFT_SPMM_MEAN}},
      {"activation", {.number = 1, .activation = WEFT_ACTIVATION_RELU}}}},
    {"sparse_linear",
     sparse_linear,
     {{"no bias", {.lacks_bias = true}},
      {"activation", {.activation = WEFT_ACTIVATION_RELU}},
      {"offset", {.offset = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_linear_dw",
     sparse_linear_dw,
     {{"beta", {.beta = 1}},
      {"offset", {.offset = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_attention",
     sparse_attention,
     {{"scale", {.number = 1}},
      {"no scale", {.number = -1}},
      {"an infinite scale", {.number = INFINITY, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_SHORT_ROWS}},
      {"no scale, in three steps", {.number = -1, .tiling = IN_THREE_STEPS}},
      {"three steps", {.tiling = IN_THREE_STEPS}},
      {"strides", {.is_transposed = true}},
      {"offset", {.offset = 1}}}},
    // From FIRST_CONVERSION on.
    {"elementwise",
     elementwise,
     {{"formula", {.formula = "y - x * v - w"}},
      {"names of inputs", {.swaps_names = true}},
      {"names of values", {.swaps_values = true}},
      {"arithmetic", {.arithmetic = WEFT_I64}},
      {"a value", {.number = 5}},
      {"a value that is no integer", {.number = -1.5, .wanted = WEFT_BAD_ARGUMENT}}}},
    {"csr_to_dense",
     csr_to_dense,
     {{"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"dense_to_csr",
     dense_to_csr,
     {{"threshold", {.number = 0.25}},
      {"a negative threshold", {.number = -1, .wanted = WEFT_BAD_ARGUMENT}}}},
    {"csr_transpose",
     csr_transpose,
     {{"no values", {.lacks_values = true}}, {"source", {.has_source = true}}}},
    {"dcsr_from_csr",
     dcsr_from_csr,
     {{"items", {.items = 1, .changes_nothing = true}},
      {"items that are refused", {.items = 3, .wanted = WEFT_BAD_ARGUMENT}}}},
    {"dcsr_to_csr",
     dcsr_to_csr,
     {{"more entries", {.more_entries = 1, .wanted = WEFT_BAD_SHAPE}},
      {"a negative number of entries",
       {.more_entries = -OPERATION_EXTENT * OPERATION_EXTENT, .wanted = WEFT_BAD_ARGUMENT}}}},
    {"sparse_gather", sparse_gather, {{"offset", {.offset = 1}}}},
};
