// SPDX-License-Identifier: Apache-2.0
// Operands for tests of SpMM, the call and the comparison.
#include "spmm_case.h"

#include <inttypes.h>
#include <math.h>

#include "base/element.h"
#include "reference.h"
#include "scalar.h"
#include "sparse/spmm_tiling.h"
#include "tiling_text.h"

const weft_spmm_tiling spmm_vectorized = {.vector_width = 2,
                                          .vectors = 2,
                                          .lanes = 1,
                                          .rows_per_group = 2,
                                          .load = 1,
                                          .unroll = 2,
                                          .row_chunk = 2};
const weft_spmm_tiling spmm_spread = {.vector_width = 1,
                                      .vectors = 2,
                                      .lanes = 2,
                                      .rows_per_group = 2,
                                      .load = 1,
                                      .unroll = 1,
                                      .row_chunk = 3};
const weft_spmm_tiling spmm_staged = {.vector_width = 2,
                                      .vectors = 1,
                                      .lanes = 2,
                                      .rows_per_group = 2,
                                      .stage = 2,
                                      .load = 2,
                                      .unroll = 1,
                                      .row_chunk = 4};
const weft_spmm_tiling spmm_packed = {.vector_width = 2,
                                      .vectors = 2,
                                      .lanes = 2,
                                      .rows_per_group = 1,
                                      .load = 1,
                                      .unroll = 1,
                                      .row_chunk = 1000,
                                      .packed = true};

const weft_spmm_tiling spmm_staged_b = {.vector_width = 2,
                                        .vectors = 2,
                                        .lanes = 1,
                                        .rows_per_group = 1,
                                        .rows_per_item = 2,
                                        .k_block = 3,
                                        .k_block_from = 3,
                                        .load = 1,
                                        .unroll = 2,
                                        .row_chunk = 4,
                                        .row_blocks_per_copy = 3};

// ---- operands

static weft_dtype c_dtype(const spmm_operands *o)
{
    return o->of.has_wide_c ? WEFT_F32 : o->sparse.host.dtype;
}

static sparse_form form_of(const spmm_case *of)
{
    return (sparse_form){
        .seed = of->seed,
        .n_rows = of->transpose_a ? of->k : of->m,
        .n_cols = of->transpose_a ? of->m : of->k,
        .n_matrices = !of->own_values     ? 0
                      : of->n_batches > 0 ? of->n_batches
                                          : 1,
        .rows = of->rows,
        .numbers = of->numbers == FRACTIONS    ? NUMBERS_FRACTIONS
                   : of->numbers == WILD_A     ? NUMBERS_WILD
                   : of->numbers == WILD_INPUT ? NUMBERS_NAN
                                               : NUMBERS_WHOLE,
        .dtype = of->dtype,
        .offset_dtype = of->offset_dtype,
        .index_dtype = of->index_dtype,
        .offsets_start = of->offsets_start,
        .indices_start = of->indices_start,
        .values_start = of->values_start,
        .given = of->given,
    };
}

static void make_dense(spmm_operands *o, random_state *random)
{
    const spmm_case *of = &o->of;
    const weft_csr_host *host = &o->sparse.host;
    const size_t size = weft_dtype_size(host->dtype);
    const int64_t n =
        dense_lay_out(&o->B, of->dtype, of->n_batches, of->k, of->n, of->b_layout, of->b_start);
    void *flat = memory_filled((size_t)n * size, SPARSE_POISON);
    bool *is_named = of->transpose_a ? sparse_named_rows(host) : sparse_named_columns(host);
    const bool shares_rows = of->b_layout == SAME_ROW;
    EACH_ELEMENT(&o->B, batch, row, column)
    {
        const bool is_wild =
            (!is_named[row] && !shares_rows) ||
            (of->numbers == WILD_B && row % 2 == 1 && random_below(random, 4) == 0);
        scalar_put(host->dtype, flat, dense_place(&o->B, batch, row, column),
                   is_wild ? sparse_wild_number(random)
                           : sparse_number(form_of(of).numbers, random, 4));
    }
    o->dense = dense_packed(&o->B, flat);
    o->B.buffer = buffer_of(o->ctx, flat, (size_t)n * size);
    free(is_named);
    free(flat);
}

static void make_output(spmm_operands *o, random_state *random)
{
    const spmm_case *of = &o->of;
    const size_t size = weft_dtype_size(c_dtype(o));
    const int64_t n = dense_lay_out(&o->C, of->has_wide_c ? WEFT_F32 : of->dtype, of->n_batches,
                                    of->m, of->n, of->c_layout, of->c_start);
    o->c_bytes = (size_t)n * size;
    o->c_before = memory_filled(o->c_bytes, SPARSE_UNTOUCHED);
    EACH_ELEMENT(&o->C, batch, row, column)
    scalar_put(c_dtype(o), o->c_before, dense_place(&o->C, batch, row, column),
               of->beta == 0              ? NAN
               : of->numbers == FRACTIONS ? random_float(random)
                                          : (double)random_between(random, -8, 8));
    o->C.buffer = buffer_of(o->ctx, o->c_before, o->c_bytes);
}

// In a state of its own: other operands are the same with a bias as without. The first number in
// memory is the last one where the stride is negative.
static void make_bias(spmm_operands *o)
{
    enum { GUARD = 3 };
    const spmm_case *of = &o->of;
    const weft_dtype dtype = o->sparse.host.dtype;
    const int64_t reach = (of->m > 0 ? of->m - 1 : 0) * of->bias_step;
    const int64_t n = 2 * GUARD + 1 + (reach < 0 ? -reach : reach);
    const size_t bytes = (size_t)n * weft_dtype_size(dtype);
    random_state random = {of->seed + 77};
    void *flat = memory_filled(bytes, SPARSE_POISON);
    o->bias = (weft_tensor){.dtype = of->dtype,
                            .offset = GUARD + (reach < 0 ? -reach : 0),
                            .ndim = 1,
                            .shape = {of->m},
                            .stride = {of->bias_step}};
    o->numbers = memory_filled((size_t)(of->m + 1) * weft_dtype_size(dtype), SPARSE_POISON);
    for (int64_t i = 0; i < of->m; i++) {
        const bool is_wild =
            (of->numbers == WILD_A || of->numbers == WILD_B) && random_below(&random, 6) == 0;
        scalar_put(dtype, flat, o->bias.offset + i * of->bias_step,
                   is_wild                    ? sparse_wild_number(&random)
                   : of->numbers == FRACTIONS ? random_float(&random)
                                              : (double)random_between(&random, -8, 8));
    }
    for (int64_t i = 0; i < of->m; i++) // with stride 0 the last one that was put there
        scalar_put(dtype, o->numbers, i,
                   scalar_get(dtype, flat, o->bias.offset + i * of->bias_step));
    o->bias.buffer = buffer_of(o->ctx, flat, bytes);
    free(flat);
}

// ---- rows that are stored

enum { FAR_AWAY = 0x3fffffff };

// An array of integers among numbers that lead far away.
static cl_mem numbers_of(weft_context *ctx, const int64_t *numbers, int64_t n, weft_dtype dtype,
                         int64_t start)
{
    const int64_t all = start + n + 3;
    const size_t size = weft_dtype_size(dtype);
    char *data = memory_filled((size_t)all * size, 0);
    for (int64_t i = 0; i < all; i++) {
        const bool is_number = i >= start && i < start + n;
        integer_put(data, dtype, i, is_number ? numbers[i - start] : FAR_AWAY);
    }
    cl_mem buffer = buffer_of(ctx, data, (size_t)all * size);
    free(data);
    return buffer;
}

static void make_stored(spmm_operands *o)
{
    const weft_csr_host *host = &o->sparse.host;
    const size_t bytes = (size_t)(host->n_rows + 1) * sizeof(int64_t);
    int64_t *rows = memory_filled(bytes, 0), *offsets = memory_filled(bytes, 0), n = 0;
    int64_t n_full = 0;
    for (int64_t row = 0; row < host->n_rows; row++)
        n_full += sparse_row(host, row).first < sparse_row(host, row).stop;
    bool takes_empty = o->of.seed % 3 == 0 && n_full < host->nnz;
    for (int64_t row = 0; row < host->n_rows; row++) {
        const sparse_span span = sparse_row(host, row);
        if (span.first == span.stop && !takes_empty)
            continue;
        takes_empty = takes_empty && span.first < span.stop;
        rows[n] = row;
        offsets[n++] = span.first;
    }
    offsets[n] = host->nnz;
    o->D = (weft_dcsr){.n_rows = o->A.n_rows,
                       .n_cols = o->A.n_cols,
                       .n_stored = n,
                       .nnz = o->A.nnz,
                       .offset_dtype = o->A.offset_dtype,
                       .index_dtype = o->A.index_dtype,
                       .dtype = o->A.dtype,
                       .indices = o->A.indices,
                       .values = o->A.values,
                       .rows_start = o->of.offsets_start + 1,
                       .offsets_start = o->of.offsets_start,
                       .indices_start = o->A.indices_start,
                       .values_start = o->A.values_start,
                       .values_batch_stride = o->A.values_batch_stride};
    o->D.offsets = numbers_of(o->ctx, offsets, n + 1, host->offset_dtype, o->D.offsets_start);
    if (n > 0)
        o->D.rows = numbers_of(o->ctx, rows, n, WEFT_I32, o->D.rows_start);
    free(rows);
    free(offsets);
}

// ---- the call

// What the call is given.
typedef struct {
    weft_tensor B, C, arguments;
    weft_spmm_params params;
} given;

static void give(given *g, const spmm_operands *o, const weft_spmm_params *params)
{
    *g = (given){.B = o->B, .C = o->C, .params = *params};
    if (params->arguments) {
        g->arguments = *params->arguments;
        g->params.arguments = &g->arguments;
    }
    if (o->of.are_vectors)
        g->B.ndim = g->C.ndim = g->arguments.ndim = 1;
}

weft_status spmm_start(const spmm_operands *o, const weft_spmm_params *params)
{
    given g;
    give(&g, o, params);
    return o->of.is_dcsr
               ? weft_spmm_dcsr(o->ctx, o->queue, o->of.alpha, &o->D, &g.B, o->of.beta, &g.C,
                                &g.params)
               : weft_spmm(o->ctx, o->queue, o->of.alpha, &o->A, &g.B, o->of.beta, &g.C, &g.params);
}

int spmm_describe(const spmm_operands *o, const weft_spmm_params *params, char *text, size_t size)
{
    given g;
    give(&g, o, params);
    return o->of.is_dcsr ? weft_spmm_dcsr_describe(o->ctx, &o->D, &g.B, &g.C, &g.params, text, size)
                         : weft_spmm_describe(o->ctx, &o->A, &g.B, &g.C, &g.params, text, size);
}

weft_status spmm_workspace(const spmm_operands *o, const weft_spmm_params *params, size_t *bytes)
{
    given g;
    give(&g, o, params);
    return o->of.is_dcsr ? weft_spmm_dcsr_workspace(o->ctx, &o->D, &g.B, &g.C, &g.params, bytes)
                         : weft_spmm_workspace(o->ctx, &o->A, &g.B, &g.C, &g.params, bytes);
}

static void make_plan(spmm_operands *o)
{
    const spmm_case *of = &o->of;
    const weft_spmm_plan_params *params =
        WEFT_SPMM_PLAN(.transpose_a = of->transpose_a, .row_chunk = of->plan_row_chunk,
                       .row_schedule = of->row_schedule);
    if (of->is_dcsr)
        assert_ok(weft_spmm_dcsr_plan_create(&o->plan, o->ctx, o->queue, &o->D, params));
    else
        assert_ok(weft_spmm_plan_create(&o->plan, o->ctx, o->queue, &o->A, params));
}

// Half of the cases bring a workspace, full of NaN. On Oclgrind all do: its check for uninitialised
// memory takes a buffer that the host never wrote for one that was released before.
static void make_workspace(spmm_operands *o)
{
    const weft_spmm_params params = spmm_params(o);
    size_t bytes;
    assert_ok(spmm_workspace(o, &params, &bytes));
    if (bytes == 0 || (o->of.seed % 4 < 2 && !is_on("oclgrind")))
        return;
    void *poison = memory_filled(bytes, SPARSE_POISON);
    o->workspace = buffer_of(o->ctx, poison, bytes);
    free(poison);
}

void spmm_create(spmm_operands *o, weft_context *ctx, cl_command_queue queue, const spmm_case *of)
{
    random_state random = {of->seed};
    *o = (spmm_operands){.of = *of, .ctx = ctx, .queue = queue};
    const sparse_form form = form_of(of);
    sparse_make(&o->sparse, &form, &random);
    make_dense(o, &random);
    make_output(o, &random);
    if (of->has_bias)
        make_bias(o);
    sparse_upload(&o->sparse, &form, ctx);
    o->A = o->sparse.csr;
    if (of->is_dcsr)
        make_stored(o);
    if (of->with_plan)
        make_plan(o);
    make_workspace(o);
}

void spmm_destroy(spmm_operands *o)
{
    weft_spmm_plan_destroy(&o->plan);
    sparse_destroy(&o->sparse);
    clReleaseMemObject(o->B.buffer);
    clReleaseMemObject(o->C.buffer);
    if (o->bias.buffer)
        clReleaseMemObject(o->bias.buffer);
    if (o->workspace)
        clReleaseMemObject(o->workspace);
    if (o->D.rows)
        clReleaseMemObject(o->D.rows);
    if (o->D.offsets)
        clReleaseMemObject(o->D.offsets);
    free(o->dense);
    free(o->numbers);
    free(o->c_before);
}

weft_spmm_params spmm_params(const spmm_operands *o)
{
    return (weft_spmm_params){
        .size = sizeof(weft_spmm_params),
        .plan = o->plan,
        .transpose_a = o->of.transpose_a,
        .tiling = TILING_TEXT(spmm, o->of.tiling),
        .workspace = o->workspace,
        .reduction = o->of.reduction,
        .bias = o->of.has_bias ? &o->bias : NULL,
        .activation = o->of.activation,
    };
}

void spmm_fail(const spmm_operands *o, const char *what)
{
    const spmm_case *of = &o->of;
    const weft_spmm_params params = spmm_params(o);
    char plan[512];
    if (spmm_describe(o, &params, plan, sizeof(plan)) < 0)
        snprintf(plan, sizeof(plan), "(%.500s)", weft_last_error());
    fail_msg("%s; seed %" PRIu64 ", m %" PRId64 ", k %" PRId64 ", n %" PRId64 ", nnz %" PRId64
             ", batch %" PRId64 "%s, %s%s, %s offsets, %s indices, rows %d, numbers %d, B laid out "
             "as %d from %" PRId64 ", C as %d from %" PRId64 ", starts %" PRId64 " %" PRId64
             " %" PRId64 ", alpha %g, beta %g, bias every %" PRId64 ", %s%s%s, on %s: %s",
             what, of->seed, of->m, of->k, of->n, o->sparse.host.nnz, of->n_batches,
             of->own_values ? " with values each" : "", of->has_wide_c ? "to f32 of " : "",
             weft_dtype_name(o->sparse.host.dtype), weft_dtype_name(o->sparse.host.offset_dtype),
             weft_dtype_name(o->sparse.host.index_dtype), (int)of->rows, (int)of->numbers,
             (int)of->b_layout, of->b_start, (int)of->c_layout, of->c_start, of->offsets_start,
             of->indices_start, of->values_start, of->alpha, of->beta, of->bias_step,
             of->is_dcsr ? "stored rows, " : "", of->with_plan ? "with plan" : "without plan",
             of->transpose_a ? " for A^T" : "", weft_context_limits(o->ctx)->name, plan);
}

void spmm_call(const spmm_operands *o)
{
    const weft_spmm_params params = spmm_params(o);
    if (spmm_start(o, &params) != WEFT_OK)
        spmm_fail(o, weft_last_error());
}

void spmm_restore(const spmm_operands *o)
{
    buffer_put(o->queue, o->C.buffer, o->c_before, o->c_bytes);
}

void *spmm_read(const spmm_operands *o)
{
    return buffer_now(o->queue, o->C.buffer, o->c_bytes);
}

// ---- the comparison

reference_spmm spmm_reference(const spmm_operands *o, weft_csr_host *A, const void *c_before,
                              int64_t batch)
{
    const spmm_case *of = &o->of;
    const size_t size = weft_dtype_size(o->sparse.host.dtype);
    *A = o->sparse.host;
    A->values = (char *)A->values + (size_t)(batch * o->sparse.values_step) * size;
    return (reference_spmm){
        .A = A,
        .transpose_a = of->transpose_a,
        .n = of->n,
        .reduction = of->reduction,
        .alpha = of->alpha,
        .beta = of->beta,
        .B = (char *)o->dense + (size_t)(batch * of->k * of->n) * size,
        .C0 =
            (const char *)c_before + (size_t)(batch * of->m * of->n) * weft_dtype_size(c_dtype(o)),
        .bias = o->numbers,
        .activation = of->activation,
        .c_dtype = c_dtype(o),
    };
}

static void refer(const spmm_operands *o, const void *c_before, int64_t batch, double **want,
                  double **bound)
{
    complaint why;
    weft_csr_host A;
    const reference_spmm problem = spmm_reference(o, &A, c_before, batch);
    if (!reference_spmm_run(&problem, want, bound, &why))
        fail_msg("%s", why.text);
}

// Means of whole numbers are fractions, and what comes out of most activations.
static sparse_numbers results_of(const spmm_operands *o)
{
    const weft_activation f = o->of.activation;
    const bool keeps_whole = f == WEFT_ACTIVATION_NONE || f == WEFT_ACTIVATION_RELU;
    return o->of.reduction == WEFT_SPMM_MEAN || !keeps_whole ? NUMBERS_FRACTIONS
                                                             : form_of(&o->of).numbers;
}

static void check_matrix(const spmm_operands *o, const void *c_before, const void *after,
                         int64_t batch)
{
    double *want, *bound;
    char text[256];
    refer(o, c_before, batch, &want, &bound);
    for (int64_t i = 0; i < o->of.m * o->of.n; i++) {
        const int64_t row = i / o->of.n, column = i % o->of.n;
        const double got = scalar_get(c_dtype(o), after, dense_place(&o->C, batch, row, column));
        if (sparse_is_right(results_of(o), c_dtype(o), got, want[i], bound[i]))
            continue;
        snprintf(text, sizeof(text),
                 "C[%" PRId64 "][%" PRId64 "][%" PRId64 "] is %.17g, not %.17g (%g bounds)", batch,
                 row, column, got, want[i], reference_error(c_dtype(o), got, want[i], bound[i]));
        spmm_fail(o, text);
    }
    free(want);
    free(bound);
}

// Every byte but those of C's elements is as before.
static void check_around(const spmm_operands *o, void *after)
{
    const size_t size = weft_dtype_size(c_dtype(o));
    char text[128];
    EACH_ELEMENT(&o->C, batch, row, column)
    {
        const size_t at = (size_t)dense_place(&o->C, batch, row, column) * size;
        memcpy((char *)after + at, (char *)o->c_before + at, size);
    }
    for (size_t i = 0; i < o->c_bytes; i++)
        if (((char *)after)[i] != ((char *)o->c_before)[i]) {
            snprintf(text, sizeof(text), "byte %zu of C's buffer, outside of C, was written", i);
            spmm_fail(o, text);
        }
}

void spmm_check(const spmm_operands *o)
{
    void *after = spmm_read(o), *c_before = dense_packed(&o->C, o->c_before);
    for (int64_t batch = 0; batch < dense_batches(&o->C); batch++)
        check_matrix(o, c_before, after, batch);
    check_around(o, after);
    free(c_before);
    free(after);
}

void spmm_run(weft_context *ctx, const spmm_case *of)
{
    spmm_operands o;
    spmm_create(&o, ctx, weft_context_queue(ctx), of);
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

static int64_t largest_divisor(int64_t x)
{
    int64_t power = 1;
    while (power < 1 << 16 && x % (2 * power) == 0)
        power *= 2;
    return power;
}

static int64_t min_divisor(int64_t most, const int64_t *x, int n)
{
    for (int i = 0; i < n; i++)
        most = largest_divisor(x[i]) < most ? largest_divisor(x[i]) : most;
    return most;
}

weft_spmm_problem spmm_problem(const spmm_operands *o)
{
    const int axis = o->B.ndim - 2;
    const int64_t dense[] = {o->B.offset, o->B.stride[axis], axis ? o->B.stride[0] : 0,
                             o->C.offset, o->C.stride[axis], axis ? o->C.stride[0] : 0};
    const int64_t entries[] = {o->A.indices_start - o->A.values_start, o->A.values_batch_stride};
    return (weft_spmm_problem){
        .m = o->of.m,
        .k = o->of.k,
        .n = o->of.n,
        .nnz = o->sparse.host.nnz,
        .n_batches = o->of.n_batches,
        .dtype = o->of.dtype,
        .columns_adjacent =
            o->of.n == 1 || (o->B.stride[axis + 1] == 1 && o->C.stride[axis + 1] == 1),
        .alignment = min_divisor(1 << 16, dense, 6),
        .entry_alignment = min_divisor(1 << 16, entries, 2),
        .rows = o->plan ? weft_spmm_plan_rows(o->plan) : NULL,
        .reduction = o->of.reduction,
        .row_schedule = o->of.row_schedule,
    };
}

void spmm_check_same_bits(weft_context *ctx, const spmm_case *of)
{
    spmm_operands o;
    spmm_create(&o, ctx, weft_context_queue(ctx), of);
    spmm_call(&o);
    spmm_check(&o);
    void *want = spmm_read(&o);
    for (int run = 0; run < 4; run++) {
        spmm_restore(&o);
        spmm_call(&o);
        void *got = spmm_read(&o);
        assert_memory_equal(got, want, o.c_bytes);
        free(got);
    }
    free(want);
    spmm_destroy(&o);
}
