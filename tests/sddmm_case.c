// SPDX-License-Identifier: Apache-2.0
// Operands for tests of SDDMM, the call and the comparison.
#include "sddmm_case.h"

#include <inttypes.h>
#include <math.h>

#include "reference_sddmm.h"
#include "scalar.h"
#include "tiling_text.h"

enum { GUARD = 16 };

// ---- operands

static int64_t matrices_of(const sddmm_case *of)
{
    return of->n_batches > 0 ? of->n_batches : 1;
}

static sparse_numbers plain_numbers(const sddmm_case *of)
{
    return of->numbers == FRACTIONS    ? NUMBERS_FRACTIONS
           : of->numbers == WILD_INPUT ? NUMBERS_NAN
                                       : NUMBERS_WHOLE;
}

// Values that are D, or that must not be read, follow their own rules.
static sparse_form form_of(const sddmm_case *of)
{
    const bool is_poison = of->output != C_VALUES && (of->indicator || of->alpha == 0);
    return (sparse_form){
        .seed = of->seed,
        .n_rows = of->m,
        .n_cols = of->n,
        .n_matrices = of->own_values || of->output == C_VALUES ? matrices_of(of) : 0,
        .rows = of->rows,
        .numbers = is_poison                   ? NUMBERS_NAN
                   : of->numbers == WILD_C     ? NUMBERS_WILD
                   : of->numbers == WILD_INPUT ? NUMBERS_WHOLE
                                               : plain_numbers(of),
        .dtype = of->dtype,
        .offset_dtype = of->offset_dtype,
        .index_dtype = of->index_dtype,
        .offsets_start = of->offsets_start,
        .indices_start = of->indices_start,
        .values_start = of->values_start,
    };
}

// A, or B^T: rows that no entry names are poison, unless others share their memory.
static void *make_dense(const sddmm_operands *o, weft_tensor *t, int64_t rows, dense_layout layout,
                        int64_t start, bool *is_named, bool is_wild, random_state *random)
{
    const sddmm_case *of = &o->of;
    const weft_dtype dtype = o->sparse.host.dtype;
    const size_t size = weft_dtype_size(dtype);
    const int64_t n = dense_lay_out(t, of->dtype, of->n_batches, rows, of->k, layout, start);
    void *flat = memory_filled((size_t)n * size, SPARSE_POISON);
    int64_t wild_at = -1;
    EACH_ELEMENT(t, batch, row, l)
    {
        if (l == 0)
            wild_at = is_wild && row % 2 == 1 ? random_below(random, of->k) : -1;
        const bool is_poison = !is_named[row] && layout != SAME_ROW;
        scalar_put(dtype, flat, dense_place(t, batch, row, l),
                   is_poison || l == wild_at ? sparse_wild_number(random)
                                             : sparse_number(plain_numbers(of), random, 4));
    }
    void *packed = dense_packed(t, flat);
    t->buffer = buffer_of(o->ctx, flat, (size_t)n * size);
    free(is_named);
    free(flat);
    return packed;
}

static int64_t place_in_D(const sddmm_operands *o, int64_t batch, int64_t e)
{
    return o->D.offset + (o->D.ndim == 2 ? batch * o->D.stride[0] : 0) + e;
}

static weft_dtype d_dtype(const sddmm_operands *o)
{
    return o->of.has_wide_d ? WEFT_F32 : o->sparse.host.dtype;
}

// The stride along values is never taken where there is one at most: any will do.
static weft_tensor view_of_D(const sddmm_case *of, int64_t nnz)
{
    const int64_t stride = nnz > 1 ? 1 : (int64_t)(of->seed % 3);
    const weft_dtype dtype = of->has_wide_d ? WEFT_F32 : of->dtype;
    const int64_t offset = GUARD + of->d_start;
    if (of->n_batches == 0)
        return (weft_tensor){
            .dtype = dtype, .offset = offset, .ndim = 1, .shape = {nnz}, .stride = {stride}};
    return (weft_tensor){.dtype = dtype,
                         .offset = offset,
                         .ndim = 2,
                         .shape = {of->n_batches, nnz},
                         .stride = {nnz + of->gap, stride}};
}

// What stands in D before.
static double number_in_D(const sddmm_operands *o, int64_t batch, int64_t e, random_state *random)
{
    const sparse_operand *sparse = &o->sparse;
    if (o->of.output == C_VALUES)
        return scalar_get(sparse->host.dtype, sparse->host.values, batch * sparse->values_step + e);
    return o->of.beta == 0 ? NAN : sparse_number(NUMBERS_WHOLE, random, 8);
}

static void make_output(sddmm_operands *o, random_state *random)
{
    const sddmm_case *of = &o->of;
    const weft_dtype dtype = d_dtype(o);
    const int64_t nnz = o->sparse.host.nnz, n_matrices = matrices_of(of);
    o->D = view_of_D(of, nnz);
    const int64_t n = place_in_D(o, n_matrices - 1, nnz) + GUARD;
    o->d_bytes = (size_t)n * weft_dtype_size(dtype);
    o->d_before = memory_filled(o->d_bytes, SPARSE_UNTOUCHED);
    for (int64_t batch = 0; batch < n_matrices; batch++)
        for (int64_t e = 0; e < nnz; e++)
            scalar_put(dtype, o->d_before, place_in_D(o, batch, e),
                       number_in_D(o, batch, e, random));
    o->D.buffer = buffer_of(o->ctx, o->d_before, o->d_bytes);
}

// Values that an indicator has stand in no buffer in half of the cases.
static void choose_values(sddmm_operands *o)
{
    const sddmm_case *of = &o->of;
    o->C = o->sparse.csr;
    if (of->output == C_VALUES) {
        o->C.values = o->D.buffer;
        o->C.values_start = o->D.offset;
        o->C.values_batch_stride = o->D.ndim == 2 ? o->D.stride[0] : 0;
    } else if (of->indicator && of->seed % 4 < 2) {
        o->C.values = NULL;
    }
}

// ---- the call

// Half of the cases bring a workspace, full of NaN. On Oclgrind all do: its check for uninitialised
// memory takes a buffer that the host never wrote for one that was released before.
static void make_workspace(sddmm_operands *o)
{
    const weft_sddmm_params params = sddmm_params(o);
    size_t bytes;
    assert_ok(weft_sddmm_workspace(o->ctx, &o->A, &o->B, &o->C, &o->D, &params, &bytes));
    if (bytes == 0 || (o->of.seed % 4 < 2 && !is_on("oclgrind")))
        return;
    void *poison = memory_filled(bytes, SPARSE_POISON);
    o->workspace = buffer_of(o->ctx, poison, bytes);
    free(poison);
}

void sddmm_create(sddmm_operands *o, weft_context *ctx, cl_command_queue queue,
                  const sddmm_case *of)
{
    random_state random = {of->seed};
    const sparse_form form = form_of(of);
    weft_tensor transposed_B;
    *o = (sddmm_operands){.of = *of, .ctx = ctx, .queue = queue};
    sparse_make(&o->sparse, &form, &random);
    o->rows_A = make_dense(o, &o->A, of->m, of->a_layout, of->a_start,
                           sparse_named_rows(&o->sparse.host), of->numbers == WILD_A, &random);
    o->columns_B =
        make_dense(o, &transposed_B, of->n, of->b_layout, of->b_start,
                   sparse_named_columns(&o->sparse.host), of->numbers == WILD_B, &random);
    o->B = weft_tensor_transposed(&transposed_B);
    make_output(o, &random);
    sparse_upload(&o->sparse, &form, ctx);
    choose_values(o);
    make_workspace(o);
}

void sddmm_destroy(sddmm_operands *o)
{
    sparse_destroy(&o->sparse);
    clReleaseMemObject(o->A.buffer);
    clReleaseMemObject(o->B.buffer);
    clReleaseMemObject(o->D.buffer);
    if (o->workspace)
        clReleaseMemObject(o->workspace);
    free(o->rows_A);
    free(o->columns_B);
    free(o->d_before);
}

weft_sddmm_params sddmm_params(const sddmm_operands *o)
{
    return (weft_sddmm_params){
        .size = sizeof(weft_sddmm_params),
        .indicator = o->of.indicator,
        .tiling = TILING_TEXT(sddmm, o->of.tiling),
        .workspace = o->workspace,
    };
}

static void fail_case(const sddmm_operands *o, const char *what)
{
    const sddmm_case *of = &o->of;
    const weft_csr_host *host = &o->sparse.host;
    const weft_sddmm_params params = sddmm_params(o);
    char plan[512];
    if (weft_sddmm_describe(o->ctx, &o->A, &o->B, &o->C, &o->D, &params, plan, sizeof(plan)) < 0)
        snprintf(plan, sizeof(plan), "(%.500s)", weft_last_error());
    fail_msg("%s; seed %" PRIu64 ", m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", nnz %" PRId64
             ", batch %" PRId64 "%s, %s%s, %s offsets, %s indices, rows %d, numbers %d%s, A laid "
             "out as %d from %" PRId64 ", B^T as %d from %" PRId64 ", D %s from %" PRId64
             ", starts %" PRId64 " %" PRId64 " %" PRId64 ", alpha %g, beta %g, on %s: %s",
             what, of->seed, of->m, of->n, of->k, host->nnz, of->n_batches,
             of->own_values ? " with values each" : "", of->has_wide_d ? "to f32 of " : "",
             weft_dtype_name(host->dtype), weft_dtype_name(host->offset_dtype),
             weft_dtype_name(host->index_dtype), (int)of->rows, (int)of->numbers,
             of->indicator ? ", indicator" : "", (int)of->a_layout, of->a_start, (int)of->b_layout,
             of->b_start, of->output == C_VALUES ? "C's values" : "apart", of->d_start,
             of->offsets_start, of->indices_start, of->values_start, of->alpha, of->beta,
             weft_context_limits(o->ctx)->name, plan);
}

void sddmm_call(const sddmm_operands *o)
{
    const weft_sddmm_params params = sddmm_params(o);
    if (weft_sddmm(o->ctx, o->queue, o->of.alpha, &o->A, &o->B, &o->C, o->of.beta, &o->D,
                   &params) != WEFT_OK)
        fail_case(o, weft_last_error());
}

void sddmm_restore(const sddmm_operands *o)
{
    buffer_put(o->queue, o->D.buffer, o->d_before, o->d_bytes);
}

void *sddmm_read(const sddmm_operands *o)
{
    return buffer_now(o->queue, o->D.buffer, o->d_bytes);
}

// ---- the comparison

// The reference of one matrix of the batch.
static void refer(const sddmm_operands *o, int64_t batch, double **want, double **bound)
{
    const sddmm_case *of = &o->of;
    const size_t size = weft_dtype_size(o->sparse.host.dtype);
    complaint why;
    weft_csr_host C = o->sparse.host;
    C.values = (char *)C.values + (size_t)(batch * o->sparse.values_step) * size;
    const reference_sddmm problem = {
        .C = &C,
        .indicator = of->indicator,
        .k = of->k,
        .alpha = of->alpha,
        .beta = of->beta,
        .A = (char *)o->rows_A + (size_t)(batch * of->m * of->k) * size,
        .B = (char *)o->columns_B + (size_t)(batch * of->n * of->k) * size,
        .b_row = 1,
        .b_column = of->k,
        .D0 = (char *)o->d_before + (size_t)place_in_D(o, batch, 0) * weft_dtype_size(d_dtype(o)),
        .d_dtype = d_dtype(o),
    };
    if (!reference_sddmm_run(&problem, want, bound, &why))
        fail_msg("%s", why.text);
}

static void check_matrix(const sddmm_operands *o, const void *after, int64_t batch)
{
    const weft_dtype dtype = d_dtype(o);
    double *want, *bound;
    char text[256];
    refer(o, batch, &want, &bound);
    for (int64_t e = 0; e < o->sparse.host.nnz; e++) {
        const double got = scalar_get(dtype, after, place_in_D(o, batch, e));
        if (sparse_is_right(plain_numbers(&o->of), dtype, got, want[e], bound[e]))
            continue;
        snprintf(text, sizeof(text), "D[%" PRId64 "][%" PRId64 "] is %.17g, not %.17g (%g bounds)",
                 batch, e, got, want[e], reference_error(dtype, got, want[e], bound[e]));
        fail_case(o, text);
    }
    free(want);
    free(bound);
}

// Every byte but those of D's elements is as before.
static void check_around(const sddmm_operands *o, void *after)
{
    const size_t size = weft_dtype_size(d_dtype(o));
    char text[128];
    for (int64_t batch = 0; batch < matrices_of(&o->of); batch++) {
        const size_t at = (size_t)place_in_D(o, batch, 0) * size;
        memcpy((char *)after + at, (char *)o->d_before + at, (size_t)o->sparse.host.nnz * size);
    }
    for (size_t i = 0; i < o->d_bytes; i++)
        if (((char *)after)[i] != ((char *)o->d_before)[i]) {
            snprintf(text, sizeof(text), "byte %zu of D's buffer, outside of D, was written", i);
            fail_case(o, text);
        }
}

void sddmm_check(const sddmm_operands *o)
{
    void *after = sddmm_read(o);
    for (int64_t batch = 0; batch < matrices_of(&o->of); batch++)
        check_matrix(o, after, batch);
    check_around(o, after);
    free(after);
}

void sddmm_run(weft_context *ctx, const sddmm_case *of)
{
    sddmm_operands o;
    sddmm_create(&o, ctx, weft_context_queue(ctx), of);
    sddmm_call(&o);
    sddmm_check(&o);
    sddmm_destroy(&o);
}
