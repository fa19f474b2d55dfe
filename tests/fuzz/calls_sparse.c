// SPDX-License-Identifier: Apache-2.0
// Calls of sparse operations out of bytes.
#include "../tiling_text.h"
#include "calls.h"
#include "convert/csr_dense_plan.h"
#include "convert/csr_transpose_plan.h"
#include "sparse/sddmm_plan.h"
#include "sparse/sddmm_sparse_plan.h"
#include "sparse/sparse_attention_plan.h"
#include "sparse/sparse_softmax_plan.h"
#include "sparse/spgemm_plan.h"
#include "sparse/spmm_tiling.h"

static weft_spmm_tiling take_spmm_tiling(call_input *in)
{
    weft_spmm_tiling t = {.vector_width = take_int(in)};
    t.vectors = take_int(in);
    t.lanes = take_int(in);
    t.rows_per_group = take_int(in);
    t.rows_per_item = take_int(in);
    t.k_block = take_int(in);
    t.stage = take_int(in);
    t.load = take_int(in);
    t.unroll = take_int(in);
    t.row_chunk = take_number(in);
    t.packed = take_chance(in, 128);
    t.aligned = take_chance(in, 128);
    t.k_block_from = take_int(in);
    t.row_blocks_per_copy = take_chance(in, 64) ? take_int(in) : 0;
    t.row_split = take_chance(in, 64) ? take_int(in) : 0;
    t.tasks = take_chance(in, 64) ? take_int(in) : 0;
    return t;
}

static weft_spmm_plan *take_plan(call_input *in, const weft_csr *A)
{
    weft_spmm_plan *plan = NULL;
    weft_spmm_plan_params p = {.size = take_struct_size(in, sizeof(p))};
    p.transpose_a = take_chance(in, 128);
    p.row_chunk = take_chance(in, 64) ? take_number(in) : 0;
    p.row_schedule = (weft_spmm_row_schedule)(take_byte(in) % 8);
    if (weft_spmm_plan_create(&plan, in->ctx, NULL, A, take_chance(in, 32) ? NULL : &p) == WEFT_OK)
        HOLDS(weft_spmm_plan_rows(plan)->nnz == A->nnz, "%lld entries\n", (long long)A->nnz);
    return plan;
}

// The rows of A as those that a larger matrix stores.
static call_result multiply_stored(call_input *in, double alpha, const weft_csr *A,
                                   const weft_tensor *B, double beta, const weft_tensor *C,
                                   const weft_spmm_params *params)
{
    weft_dcsr D = take_dcsr(in);
    if (!take_chance(in, 64)) {
        D.n_stored = A->n_rows;
        D.n_cols = A->n_cols;
        D.nnz = A->nnz;
        D.offset_dtype = A->offset_dtype;
        D.index_dtype = A->index_dtype;
        D.dtype = A->dtype;
        D.offsets = A->offsets;
        D.indices = A->indices;
        D.values = A->values;
        D.offsets_start = A->offsets_start;
        D.indices_start = A->indices_start;
        D.values_start = A->values_start;
        D.values_batch_stride = A->values_batch_stride;
    }
    weft_spmm_plan *plan = NULL;
    weft_spmm_params p;
    if (params && take_chance(in, 128)) {
        const bool transpose_a = params->transpose_a != take_chance(in, 16);
        weft_spmm_dcsr_plan_create(&plan, in->ctx, NULL, &D,
                                   WEFT_SPMM_PLAN(.transpose_a = transpose_a));
        p = *params;
        p.plan = plan;
        params = &p;
    }
    size_t bytes;
    call_result r = {.status = weft_spmm_dcsr(in->ctx, NULL, alpha, &D, B, beta, C, params)};
    r.asked = weft_spmm_dcsr_workspace(in->ctx, &D, B, C, params, &bytes);
    r.described = weft_spmm_dcsr_describe(in->ctx, &D, B, C, params, NULL, 0);
    weft_spmm_plan_destroy(&plan);
    return r;
}

call_result call_spmm(call_input *in)
{
    const bool has_plan = take_chance(in, 128);
    const weft_csr pattern = take_pattern(in);
    weft_spmm_plan *plan = has_plan ? take_plan(in, &pattern) : NULL;
    const weft_csr *A = plan && !take_chance(in, 16) ? &pattern : take_csr(in);
    const weft_tensor *B = take_tensor(in), *C = take_tensor(in);
    const weft_spmm_tiling tiling = take_spmm_tiling(in);
    weft_spmm_params p = {.size = take_struct_size(in, sizeof(p)), .plan = plan};
    p.transpose_a = take_chance(in, 64);
    p.tiling = TILING_TEXT(spmm, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    p.reduction = (weft_spmm_reduction)(take_chance(in, 128) ? take_byte(in) % 5 : 0);
    p.arguments = take_extra(in);
    p.bias = take_extra(in);
    p.activation = (weft_activation)(take_chance(in, 64) ? take_byte(in) % 12 : 0);
    const weft_spmm_params *params = take_chance(in, 32) ? NULL : &p;
    const double alpha = take_real(in), beta = take_real(in);

    size_t bytes;
    call_result r;
    if (A && take_chance(in, 64)) {
        p.plan = take_chance(in, 16) ? plan : NULL;
        r = multiply_stored(in, alpha, A, B, beta, C, params);
    } else {
        r = (call_result){.status = weft_spmm(in->ctx, NULL, alpha, A, B, beta, C, params)};
        r.asked = weft_spmm_workspace(in->ctx, A, B, C, params, &bytes);
        r.described = weft_spmm_describe(in->ctx, A, B, C, params, NULL, 0);
    }
    weft_spmm_plan_destroy(&plan);
    return r;
}

call_result call_sddmm(call_input *in)
{
    const weft_tensor *A = take_tensor(in), *B = take_tensor(in);
    const weft_csr *C = take_csr(in);
    const weft_tensor *D = take_tensor(in);
    weft_sddmm_tiling tiling = {.vector_width = take_int(in)};
    tiling.vectors = take_int(in);
    tiling.lanes = take_int(in);
    tiling.chunks_per_group = take_int(in);
    tiling.entries = take_number(in);
    tiling.passes = take_chance(in, 128);
    tiling.packed = take_chance(in, 128);
    tiling.aligned = take_chance(in, 128);
    tiling.ahead = take_int(in);
    tiling.transposed = take_chance(in, 64);
    tiling.column_block = take_chance(in, 64) ? take_number(in) : 0;
    weft_sddmm_params p = {.size = take_struct_size(in, sizeof(p))};
    p.indicator = take_chance(in, 128);
    p.tiling = TILING_TEXT(sddmm, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_sddmm_params *params = take_chance(in, 32) ? NULL : &p;
    const double alpha = take_real(in), beta = take_real(in);

    if (B && B->ndim > 1 && B->ndim <= WEFT_MAX_NDIM && B->shape[B->ndim - 2] > 1 << 16)
        return (call_result){.is_pure = true}; // a launch for each tile of k would take long
    size_t bytes;
    call_result r = {.status = weft_sddmm(in->ctx, NULL, alpha, A, B, C, beta, D, params)};
    r.asked = weft_sddmm_workspace(in->ctx, A, B, C, D, params, &bytes);
    r.described = weft_sddmm_describe(in->ctx, A, B, C, D, params, NULL, 0);
    return r;
}

// One of both, seldom none or both.
static weft_factor take_factor(call_input *in)
{
    const bool is_odd = take_chance(in, 8), is_sparse = take_chance(in, 128);
    return (weft_factor){.dense = is_odd || !is_sparse ? take_tensor(in) : NULL,
                         .sparse = is_odd || is_sparse ? take_csr(in) : NULL};
}

call_result call_sddmm_sparse(call_input *in)
{
    const weft_factor a = take_factor(in), b = take_factor(in);
    const weft_factor *A = take_chance(in, 4) ? NULL : &a, *B = take_chance(in, 4) ? NULL : &b;
    const weft_csr *C = take_csr(in);
    const weft_tensor *D = take_tensor(in);
    weft_sddmm_sparse_tiling tiling = {.items = take_int(in)};
    tiling.lanes = take_int(in);
    tiling.columns = take_int(in);
    tiling.entries = take_number(in);
    weft_sddmm_sparse_params p = {.size = take_struct_size(in, sizeof(p))};
    p.indicator = take_chance(in, 128);
    p.tiling = TILING_TEXT(sddmm_sparse, take_chance(in, 64) ? &tiling : NULL);
    const weft_sddmm_sparse_params *params = take_chance(in, 32) ? NULL : &p;
    const double alpha = take_real(in), beta = take_real(in);

    call_result r = {.status = weft_sddmm_sparse(in->ctx, NULL, alpha, A, B, C, beta, D, params)};
    r.described = weft_sddmm_sparse_describe(in->ctx, A, B, C, D, params, NULL, 0);
    return r;
}

call_result call_sparse_softmax(call_input *in)
{
    const bool is_backward = take_chance(in, 128);
    const weft_csr *X = take_csr(in);
    const weft_tensor *Y = take_tensor(in);
    const weft_tensor *dX = is_backward ? take_tensor(in) : NULL;
    weft_sparse_softmax_tiling tiling = {.vector_width = take_int(in)};
    tiling.lanes = take_int(in);
    tiling.rows_per_group = take_int(in);
    tiling.cache = take_int(in);
    tiling.chunk = take_number(in);
    tiling.row_chunk = take_number(in);
    weft_sparse_softmax_params p = {.size = take_struct_size(in, sizeof(p))};
    p.tiling = TILING_TEXT(sparse_softmax, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_sparse_softmax_params *params = take_chance(in, 32) ? NULL : &p;
    const double scale = take_real(in);

    call_result r = {0};
    if (is_backward) {
        r.status = weft_sparse_softmax_backward(in->ctx, NULL, scale, X, Y, dX, params);
        r.described = weft_sparse_softmax_backward_describe(in->ctx, X, Y, dX, params, NULL, 0);
        return r;
    }
    size_t bytes;
    r.status = weft_sparse_softmax(in->ctx, NULL, scale, X, Y, params);
    r.asked = weft_sparse_softmax_workspace(in->ctx, X, Y, params, &bytes);
    r.described = weft_sparse_softmax_describe(in->ctx, X, Y, params, NULL, 0);
    return r;
}

call_result call_sparse_attention(call_input *in)
{
    const weft_tensor *Q = take_tensor(in), *K = take_tensor(in), *V = take_tensor(in);
    const weft_csr *M = take_csr(in);
    const weft_tensor *O = take_tensor(in);
    weft_sparse_attention_tiling tiling = {.vector_width = take_int(in)};
    tiling.vectors = take_int(in);
    tiling.outputs = take_int(in);
    tiling.lanes = take_int(in);
    tiling.rows_per_group = take_int(in);
    tiling.rows_per_item = take_int(in);
    tiling.row_chunk = take_number(in);
    tiling.aligned = take_chance(in, 128);
    tiling.in_steps = take_chance(in, 128);
    weft_sparse_attention_params p = {.size = take_struct_size(in, sizeof(p))};
    p.tiling = TILING_TEXT(sparse_attention, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_sparse_attention_params *params = take_chance(in, 32) ? NULL : &p;
    const double scale = take_real(in);

    size_t bytes;
    call_result r = {.status = weft_sparse_attention(in->ctx, NULL, scale, Q, K, V, M, O, params)};
    if (scale == 1) { // which these take it for
        r.asked = weft_sparse_attention_workspace(in->ctx, Q, K, V, M, O, params, &bytes);
        r.described = weft_sparse_attention_describe(in->ctx, Q, K, V, M, O, params, NULL, 0);
    }
    return r;
}

call_result call_sparse_linear(call_input *in)
{
    const uint8_t which = take_byte(in) % 3;
    const weft_csr pattern = take_pattern(in);
    weft_spmm_plan *plan = take_chance(in, 128) ? take_plan(in, &pattern) : NULL;
    const weft_csr *W = plan ? &pattern : take_csr(in);
    const weft_tensor *X = take_tensor(in), *Y = take_tensor(in);
    weft_sparse_linear_params p = {.size = take_struct_size(in, sizeof(p)), .plan = plan};
    p.bias = take_extra(in);
    p.activation = (weft_activation)(take_chance(in, 64) ? take_byte(in) % 12 : 0);
    p.beta = take_chance(in, 64) ? take_real(in) : 0;
    p.workspace = take_workspace(in);
    const weft_sparse_linear_params *params = take_chance(in, 32) ? NULL : &p;

    call_result r = {0};
    if (which == 0)
        r.status = weft_sparse_linear(in->ctx, NULL, W, X, Y, params);
    else if (which == 1)
        r.status = weft_sparse_linear_dx(in->ctx, NULL, W, Y, X, params);
    else
        r.status = weft_sparse_linear_dw(in->ctx, NULL, Y, X, W, take_tensor(in), params);
    weft_spmm_plan_destroy(&plan);
    return r;
}

call_result call_spgemm(call_input *in)
{
    const uint8_t which = take_byte(in) % 3;
    const weft_csr *A = take_csr(in), *B = take_csr(in), *C = which < 2 ? take_csr(in) : NULL;
    const weft_tensor *D = which == 2 ? take_tensor(in) : NULL;
    const double alpha = take_chance(in, 64) ? take_real(in) : 1;
    const double beta = take_chance(in, 64) ? take_real(in) : 0;
    weft_spgemm_tiling tiling = {.items = take_int(in)};
    tiling.rows = take_int(in);
    tiling.columns = take_int(in);
    tiling.sorted = take_int(in);
    tiling.long_from = take_int(in);
    tiling.long_columns = take_int(in);
    tiling.long_groups = take_int(in);
    weft_spgemm_params p = {.size = take_struct_size(in, sizeof(p))};
    p.tiling = TILING_TEXT(spgemm, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_spgemm_params *params = take_chance(in, 32) ? NULL : &p;
    int64_t nnz = 0;
    int64_t *const wanted = take_chance(in, 32) ? &nnz : NULL;

    size_t bytes;
    if (which == 2) {
        call_result r = {.status = weft_spgemm_dense(in->ctx, NULL, alpha, A, B, beta, D, params)};
        r.asked = weft_spgemm_dense_workspace(in->ctx, A, B, D, params, &bytes);
        r.described = weft_spgemm_dense_describe(in->ctx, A, B, D, params, NULL, 0);
        return r;
    }
    if (which == 1)
        return (call_result){.status = weft_spgemm(in->ctx, NULL, A, B, C, params)};
    call_result r = {.status = weft_spgemm_count(in->ctx, NULL, A, B, C, wanted, params)};
    r.reads_back = wanted != NULL;
    r.asked = weft_spgemm_workspace(in->ctx, A, B, C, params, &bytes);
    r.described = weft_spgemm_describe(in->ctx, A, B, C, params, NULL, 0);
    return r;
}

call_result call_csr_dense(call_input *in)
{
    const uint8_t which = take_byte(in) % 3;
    const weft_csr *A = take_csr(in);
    const weft_tensor *D = take_tensor(in);
    weft_csr_dense_tiling tiling = {.items = take_int(in)};
    tiling.rows = take_int(in);
    tiling.columns = take_int(in);
    weft_csr_dense_params p = {.size = take_struct_size(in, sizeof(p))};
    p.threshold = take_chance(in, 32) ? take_real(in) : 0;
    p.tiling = TILING_TEXT(csr_dense, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_csr_dense_params *params = take_chance(in, 32) ? NULL : &p;
    int64_t nnz = 0;
    int64_t *const wanted = take_chance(in, 32) ? &nnz : NULL;

    size_t bytes;
    call_result r = {0};
    if (which == 0) {
        r.status = weft_csr_to_dense(in->ctx, NULL, A, D, params);
        r.described = weft_csr_to_dense_describe(in->ctx, A, D, params, NULL, 0);
    } else if (which == 1) {
        r.status = weft_dense_to_csr_count(in->ctx, NULL, D, A, wanted, params);
        r.reads_back = wanted != NULL;
        r.asked = weft_dense_to_csr_workspace(in->ctx, D, A, params, &bytes);
    } else {
        r.status = weft_dense_to_csr(in->ctx, NULL, D, A, params);
        r.described = weft_dense_to_csr_describe(in->ctx, D, A, params, NULL, 0);
    }
    return r;
}

call_result call_csr_transpose(call_input *in)
{
    const weft_csr *A = take_csr(in), *T = take_csr(in);
    weft_csr_transpose_tiling tiling = {.items = take_int(in)};
    tiling.bits = take_int(in);
    tiling.run = take_int(in);
    weft_csr_transpose_params p = {.size = take_struct_size(in, sizeof(p))};
    p.source = take_extra(in);
    p.tiling = TILING_TEXT(csr_transpose, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_csr_transpose_params *params = take_chance(in, 32) ? NULL : &p;

    size_t bytes;
    call_result r = {.status = weft_csr_transpose(in->ctx, NULL, A, T, params)};
    r.asked = weft_csr_transpose_workspace(in->ctx, A, T, params, &bytes);
    r.described = weft_csr_transpose_describe(in->ctx, A, T, params, NULL, 0);
    return r;
}

call_result call_dcsr(call_input *in)
{
    const uint8_t which = take_byte(in) % 3;
    const weft_csr *A = take_csr(in);
    const weft_dcsr dcsr = take_dcsr(in), *D = take_chance(in, 4) ? NULL : &dcsr;
    weft_dcsr_params p = {.size = take_struct_size(in, sizeof(p))};
    p.items = take_chance(in, 64) ? take_int(in) : 0;
    p.workspace = take_workspace(in);
    const weft_dcsr_params *params = take_chance(in, 32) ? NULL : &p;
    int64_t n_stored;

    size_t bytes;
    call_result r = {0};
    if (which == 0) {
        r.status = weft_dcsr_count(in->ctx, NULL, A, &n_stored, params);
        r.reads_back = true;
        r.asked = weft_dcsr_workspace(in->ctx, A, params, &bytes);
    } else if (which == 1) {
        r.status = weft_dcsr_from_csr(in->ctx, NULL, A, D, params);
    } else {
        r.status = weft_dcsr_to_csr(in->ctx, NULL, D, A, params);
    }
    return r;
}

call_result call_sparse_gather(call_input *in)
{
    const weft_tensor *values = take_tensor(in), *source = take_tensor(in), *out = take_tensor(in);
    weft_sparse_gather_params p = {.size = take_struct_size(in, sizeof(p))};
    const weft_sparse_gather_params *params = take_chance(in, 32) ? NULL : &p;
    return (call_result){.status = weft_sparse_gather(in->ctx, NULL, values, source, out, params)};
}

// ---- on the host

enum { HOST_ENTRIES = 16 };

static weft_csr_params take_csr_params(call_input *in)
{
    weft_csr_params p = {.size = take_struct_size(in, sizeof(p))};
    p.offset_dtype = take_dtype(in);
    p.index_dtype = take_dtype(in);
    p.dtype = take_dtype(in);
    return p;
}

// A sparse matrix, sound or zeroed; of few rows, as offsets are made for all of them.
static weft_csr_host take_host(call_input *in, weft_status *status)
{
    int64_t rows[HOST_ENTRIES], cols[HOST_ENTRIES];
    double values[HOST_ENTRIES];
    float dense[HOST_ENTRIES];
    weft_csr_host out;
    const weft_csr_params p = take_csr_params(in), *params = take_chance(in, 128) ? NULL : &p;
    if (take_chance(in, 64)) {
        const int64_t side = take_byte(in) % 5;
        for (int i = 0; i < HOST_ENTRIES; i++)
            dense[i] = (float)take_real(in);
        *status = weft_csr_host_from_dense(&out, side, side, dense, 4, 1, take_real(in), params);
        return out;
    }
    const int64_t n_rows = take_chance(in, 16) ? -take_byte(in) : take_byte(in);
    const int64_t n_cols = take_number(in);
    const int64_t n = take_byte(in) % (HOST_ENTRIES + 1) - take_chance(in, 4);
    for (int i = 0; i < HOST_ENTRIES; i++) {
        rows[i] = i < n ? take_number(in) : 0;
        cols[i] = i < n ? take_number(in) : 0;
        values[i] = i < n ? take_real(in) : 0;
    }
    *status = weft_csr_host_from_coo(&out, n_rows, n_cols, n, rows, cols,
                                     take_chance(in, 64) ? NULL : values, params);
    return out;
}

// Makes the offsets or indices of a sound matrix lie.
static void spoil(call_input *in, weft_csr_host *csr)
{
    if (csr->offset_dtype == WEFT_I32)
        ((int32_t *)csr->offsets)[take_byte(in) % (csr->n_rows + 1)] = take_int(in);
    if (csr->index_dtype == WEFT_I32 && csr->nnz > 0)
        ((int32_t *)csr->indices)[take_byte(in) % csr->nnz] = take_int(in);
}

call_result call_csr_host(call_input *in)
{
    call_result r = {.is_pure = true};
    weft_csr_host csr = take_host(in, &r.status), part;
    if (r.status != WEFT_OK) {
        HOLDS(!csr.offsets && !csr.indices && !csr.values, "what has failed leaves an array\n");
        return r;
    }
    HOLDS(weft_csr_host_check(&csr, WEFT_CSR_SORTED) == WEFT_OK, "%s\n", weft_last_error());

    double shares[4];
    int64_t starts[5];
    const int n_parts = take_byte(in) % 5;
    for (int i = 0; i < 4; i++)
        shares[i] = take_real(in);
    if (weft_csr_host_split(&csr, n_parts, take_chance(in, 64) ? NULL : shares, starts) == WEFT_OK)
        for (int i = 0; i < n_parts; i++)
            HOLDS(starts[i] >= 0 && starts[i] <= starts[i + 1] && starts[i + 1] <= csr.n_rows,
                  "part %d\n", i);

    const bool is_spoilt = take_chance(in, 128);
    if (is_spoilt)
        spoil(in, &csr);
    // To look for duplicates takes a number for each column.
    const int demand = csr.n_cols > 1 << 16 ? WEFT_CSR_SORTED : take_int(in);
    const bool is_sound = weft_csr_host_check(&csr, demand) == WEFT_OK;
    const int64_t first = take_number(in), n_rows = take_number(in);
    if (weft_csr_host_rows(&part, &csr, first, n_rows) == WEFT_OK && (is_sound || !is_spoilt))
        HOLDS(weft_csr_host_check(&part, WEFT_CSR_SOUND) == WEFT_OK, "%s\n", weft_last_error());
    weft_csr_host_destroy(&part);
    weft_csr_host_destroy(&csr);
    return r;
}
