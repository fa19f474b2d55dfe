// SPDX-License-Identifier: Apache-2.0
// Operands for tests of SDDMM with sparse factors, the call and the comparison.
#include "sddmm_sparse_case.h"

#include <inttypes.h>
#include <math.h>

#include "scalar.h"
#include "tiling_text.h"

enum { GUARD = 16, ONE_IN = 6 }; // numbers, of which one is wild

// ---- operands

static sparse_numbers plain_numbers(const masked_case *of)
{
    return of->numbers == FRACTIONS ? NUMBERS_FRACTIONS
           : of->numbers == ALL_NAN ? NUMBERS_NAN
                                    : NUMBERS_WHOLE;
}

static bool reads_values(const masked_case *of)
{
    return of->alpha != 0 && of->k > 0 && !of->indicator;
}

// What becomes of a number that was drawn. Repeated ones are above zero where there are infinite
// ones: then it does not matter whether they are added up before they meet these.
static double changed(double number, const masked_case *of, bool is_poison, bool is_wild,
                      sparse_rows rows, random_state *random)
{
    if (is_poison || (is_wild && random_below(random, ONE_IN) == 0))
        number = sparse_wild_number(random);
    return of->numbers >= WILD_A && rows == ROWS_REPEATED ? fabs(number) + 1 : number;
}

static void make_sparse(const masked_operands *o, masked_side *side, const masked_factor *factor,
                        int64_t n_rows, const bool *is_named, bool is_wild, random_state *random)
{
    const masked_case *of = &o->of;
    const sparse_form form = {
        .seed = of->seed,
        .n_rows = n_rows,
        .n_cols = of->k,
        .rows = factor->rows,
        .numbers = plain_numbers(of),
        .dtype = of->dtype,
        .offset_dtype = factor->offset_dtype,
        .index_dtype = factor->index_dtype,
        .offsets_start = factor->start,
        .indices_start = factor->start,
        .values_start = factor->start,
        .given = factor->given,
    };
    sparse_make(&side->sparse, &form, random);
    const weft_csr_host *host = &side->sparse.host;
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t e = sparse_row(host, row).first; e < sparse_row(host, row).stop; e++)
            scalar_put(o->dtype, host->values, e,
                       changed(scalar_get(o->dtype, host->values, e), of, !is_named[row], is_wild,
                               factor->rows, random));
    sparse_upload(&side->sparse, &form, o->ctx);
}

static void make_dense(const masked_operands *o, masked_side *side, const masked_factor *factor,
                       int64_t n_rows, const bool *is_named, bool is_wild, random_state *random)
{
    const masked_case *of = &o->of;
    weft_tensor *t = &side->dense;
    const size_t size = weft_dtype_size(o->dtype);
    const int64_t n = dense_lay_out(t, of->dtype, 0, n_rows, of->k, factor->layout, factor->start);
    void *flat = memory_filled((size_t)n * size, SPARSE_POISON);
    EACH_ELEMENT(t, batch, row, l)
    {
        const bool is_poison = !is_named[row] && factor->layout != SAME_ROW;
        scalar_put(o->dtype, flat, dense_place(t, batch, row, l),
                   changed(sparse_number(plain_numbers(of), random, 4), of, is_poison, is_wild,
                           ROWS_FULL, random));
    }
    side->packed = dense_packed(t, flat);
    t->buffer = buffer_of(o->ctx, flat, (size_t)n * size);
    free(flat);
}

// Takes `is_named` over.
static void make_side(const masked_operands *o, masked_side *side, const masked_factor *factor,
                      int64_t n_rows, bool *is_named, bool is_wild, random_state *random)
{
    if (factor->is_dense)
        make_dense(o, side, factor, n_rows, is_named, is_wild, random);
    else
        make_sparse(o, side, factor, n_rows, is_named, is_wild, random);
    free(is_named);
}

// Values that are D where that is read are numbers.
static sparse_form form_of(const masked_case *of)
{
    const bool is_read = reads_values(of) || (of->in_place && of->beta != 0);
    return (sparse_form){
        .seed = of->seed,
        .n_rows = of->m,
        .n_cols = of->n,
        .rows = of->rows,
        .numbers = !is_read                   ? NUMBERS_NAN
                   : of->numbers == FRACTIONS ? NUMBERS_FRACTIONS
                                              : NUMBERS_WHOLE,
        .dtype = of->dtype,
        .offset_dtype = of->offset_dtype,
        .index_dtype = of->index_dtype,
        .offsets_start = of->start,
        .indices_start = of->start,
        .values_start = of->start,
        .given = of->given,
    };
}

static void make_mask(masked_operands *o, const sparse_form *form, random_state *random)
{
    sparse_make(&o->sparse, form, random);
    for (int64_t e = 0; o->of.numbers == WILD && e < o->sparse.host.nnz; e++)
        if (random_below(random, ONE_IN) == 0)
            scalar_put(o->dtype, o->sparse.host.values, e, sparse_wild_number(random));
}

static weft_dtype d_dtype(const masked_operands *o)
{
    return o->of.has_wide_d ? WEFT_F32 : o->dtype;
}

// The stride from value to value is never taken where there is one at most: any will do.
static void make_output(masked_operands *o, random_state *random)
{
    const masked_case *of = &o->of;
    const int64_t nnz = o->sparse.host.nnz;
    o->D = (weft_tensor){.dtype = of->has_wide_d ? WEFT_F32 : of->dtype,
                         .offset = GUARD + of->d_start,
                         .ndim = 1,
                         .shape = {nnz},
                         .stride = {nnz > 1 ? 1 : (int64_t)(of->seed % 3)}};
    o->d_bytes = (size_t)(o->D.offset + nnz + GUARD) * weft_dtype_size(d_dtype(o));
    o->d_before = memory_filled(o->d_bytes, SPARSE_UNTOUCHED);
    for (int64_t e = 0; e < nnz; e++)
        scalar_put(d_dtype(o), o->d_before, o->D.offset + e,
                   of->in_place    ? scalar_get(o->dtype, o->sparse.host.values, e)
                   : of->beta == 0 ? NAN
                                   : sparse_number(NUMBERS_WHOLE, random, 8));
    o->D.buffer = buffer_of(o->ctx, o->d_before, o->d_bytes);
}

// Values that an indicator has stand in no buffer in half of the cases.
static void choose_values(masked_operands *o)
{
    o->C = o->sparse.csr;
    if (o->of.in_place) {
        o->C.values = o->D.buffer;
        o->C.values_start = o->D.offset;
    } else if (o->of.indicator && o->of.seed % 4 < 2) {
        o->C.values = NULL;
    }
}

void masked_create(masked_operands *o, weft_context *ctx, cl_command_queue queue,
                   const masked_case *of)
{
    random_state random = {of->seed};
    *o = (masked_operands){
        .of = *of, .ctx = ctx, .queue = queue, .dtype = of->dtype ? of->dtype : WEFT_F32};
    o->of.in_place = of->in_place && !of->has_wide_d;
    const sparse_form form = form_of(&o->of);
    make_mask(o, &form, &random);
    const weft_csr_host *mask = &o->sparse.host;
    make_side(o, &o->A, &of->A, of->m, sparse_named_rows(mask),
              of->numbers == WILD_A || of->numbers == WILD, &random);
    make_side(o, &o->B, &of->B, of->n, sparse_named_columns(mask),
              of->numbers == WILD_B || of->numbers == WILD, &random);
    make_output(o, &random);
    sparse_upload(&o->sparse, &form, ctx);
    choose_values(o);
}

static void side_destroy(masked_side *side)
{
    sparse_destroy(&side->sparse);
    if (side->dense.buffer)
        clReleaseMemObject(side->dense.buffer);
    free(side->packed);
}

void masked_destroy(masked_operands *o)
{
    side_destroy(&o->A);
    side_destroy(&o->B);
    sparse_destroy(&o->sparse);
    clReleaseMemObject(o->D.buffer);
    free(o->d_before);
}

// ---- the call

weft_factor masked_side_factor(const masked_side *side)
{
    if (side->packed)
        return (weft_factor){.dense = &side->dense};
    return (weft_factor){.sparse = &side->sparse.csr};
}

weft_sddmm_sparse_params masked_params(const masked_operands *o)
{
    return (weft_sddmm_sparse_params){
        .size = sizeof(weft_sddmm_sparse_params),
        .indicator = o->of.indicator,
        .tiling = TILING_TEXT(sddmm_sparse, o->of.tiling),
    };
}

static const char *kind_of(const masked_case *of)
{
    return of->A.is_dense   ? "dense x sparse"
           : of->B.is_dense ? "sparse x dense"
                            : "sparse x sparse";
}

static void fail_case(const masked_operands *o, const char *what)
{
    const masked_case *of = &o->of;
    const weft_sddmm_sparse_params params = masked_params(o);
    const weft_factor A = masked_side_factor(&o->A), B = masked_side_factor(&o->B);
    char plan[512];
    if (weft_sddmm_sparse_describe(o->ctx, &A, &B, &o->C, &o->D, &params, plan, sizeof(plan)) < 0)
        snprintf(plan, sizeof(plan), "(%.500s)", weft_last_error());
    fail_msg("%s; %s%s, seed %" PRIu64 ", m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", nnz %" PRId64
             ", %s, rows %d %d %d, layouts %d %d, numbers %d%s%s, alpha %g, beta %g, on %s: %s",
             what, kind_of(of), of->has_wide_d ? " to f32" : "", of->seed, of->m, of->n, of->k,
             o->sparse.host.nnz, weft_dtype_name(o->dtype), (int)of->A.rows, (int)of->B.rows,
             (int)of->rows, (int)of->A.layout, (int)of->B.layout, (int)of->numbers,
             of->indicator ? ", indicator" : "", of->in_place ? ", in place" : "", of->alpha,
             of->beta, weft_context_limits(o->ctx)->name, plan);
}

void masked_call(const masked_operands *o)
{
    const weft_sddmm_sparse_params params = masked_params(o);
    const weft_factor A = masked_side_factor(&o->A), B = masked_side_factor(&o->B);
    if (weft_sddmm_sparse(o->ctx, o->queue, o->of.alpha, &A, &B, &o->C, o->of.beta, &o->D,
                          &params) != WEFT_OK)
        fail_case(o, weft_last_error());
}

void masked_restore(const masked_operands *o)
{
    buffer_put(o->queue, o->D.buffer, o->d_before, o->d_bytes);
}

void *masked_read(const masked_operands *o)
{
    return buffer_now(o->queue, o->D.buffer, o->d_bytes);
}

// ---- the comparison

// What a row of a factor has in a column: of a sparse one anything from nothing on.
typedef struct element {
    int64_t n;
    long double sum, magnitude;
} element;

static void add_number(element *x, double number)
{
    x->n++;
    x->sum += (long double)number;
    x->magnitude += fabsl((long double)number);
}

static void spread(const masked_operands *o, const masked_side *side, int64_t row, element *columns)
{
    const weft_csr_host *host = &side->sparse.host;
    const int64_t k = o->of.k;
    memset(columns, 0, (size_t)k * sizeof(*columns));
    for (int64_t l = 0; side->packed && l < k; l++)
        add_number(&columns[l], scalar_get(o->dtype, side->packed, row * k + l));
    if (side->packed)
        return;
    for (int64_t e = sparse_row(host, row).first; e < sparse_row(host, row).stop; e++)
        add_number(&columns[sparse_column(host, e)], scalar_get(o->dtype, host->values, e));
}

// An element of A B^T: its terms, their sum and that of their magnitudes. What one of both does not
// store has no term.
static element dot(const element *a, const element *b, int64_t k)
{
    element x = {0};
    for (int64_t l = 0; l < k; l++) {
        if (a[l].n == 0 || b[l].n == 0)
            continue;
        x.n += a[l].n + b[l].n;
        x.sum += a[l].sum * b[l].sum;
        x.magnitude += a[l].magnitude * b[l].magnitude;
    }
    return x;
}

// What a result has to be, and by how much it may be off before the data type rounds it: each term
// rounds once as a product and wherever it joins others, which is no more often than there are
// terms; alpha's, beta's and C's products once, and their sum. All that by 2^-24 (f64: 2^-53) of
// the magnitudes. Whole numbers do not round.
static long double want_of(const masked_operands *o, int64_t e, const element *x,
                           long double *bound)
{
    const masked_case *of = &o->of;
    const bool is_double = o->dtype == WEFT_F64;
    const long double alpha = (long double)(is_double ? of->alpha : (double)(float)of->alpha);
    const long double beta = (long double)(is_double ? of->beta : (double)(float)of->beta);
    const long double c =
        of->indicator ? 1 : (long double)scalar_get(o->dtype, o->sparse.host.values, e);
    const long double d = (long double)scalar_get(d_dtype(o), o->d_before, o->D.offset + e);
    const long double unit = of->numbers != FRACTIONS ? 0 : is_double ? 0x1p-53L : 0x1p-24L;
    long double want = beta == 0 ? 0 : beta * d, magnitude = fabsl(want);
    if (alpha != 0 && of->k > 0) {
        want += alpha * x->sum * c;
        magnitude += fabsl(alpha * x->magnitude * c);
    }
    *bound = unit == 0 ? 0 : unit * (long double)(2 * x->n + 5) * magnitude;
    return want;
}

static void check_entry(const masked_operands *o, const void *after, int64_t e, const element *x)
{
    long double bound;
    const long double want = want_of(o, e, x, &bound);
    const double got = scalar_get(d_dtype(o), after, o->D.offset + e);
    if (isnan(want) ? isnan(got)
                    : got >= scalar_stored(d_dtype(o), (double)(want - bound)) &&
                          got <= scalar_stored(d_dtype(o), (double)(want + bound)))
        return;
    char text[128];
    snprintf(text, sizeof(text), "D[%" PRId64 "] is %.17g, not %.17g by %g", e, got, (double)want,
             (double)bound);
    fail_case(o, text);
}

static void check_row(const masked_operands *o, const void *after, int64_t row, element *a,
                      element *b)
{
    const weft_csr_host *mask = &o->sparse.host;
    if (sparse_row(mask, row).first < sparse_row(mask, row).stop)
        spread(o, &o->A, row, a);
    for (int64_t e = sparse_row(mask, row).first; e < sparse_row(mask, row).stop; e++) {
        spread(o, &o->B, sparse_column(mask, e), b);
        const element x = dot(a, b, o->of.k);
        check_entry(o, after, e, &x);
    }
}

// Every byte but those of D's elements is as before.
static void check_around(const masked_operands *o, char *after)
{
    const size_t size = weft_dtype_size(d_dtype(o)), at = (size_t)o->D.offset * size;
    const char *before = o->d_before;
    memcpy(after + at, before + at, (size_t)o->sparse.host.nnz * size);
    for (size_t i = 0; i < o->d_bytes; i++)
        if (after[i] != before[i]) {
            char text[128];
            snprintf(text, sizeof(text), "byte %zu of D's buffer, outside of D, was written", i);
            fail_case(o, text);
        }
}

void masked_check(const masked_operands *o)
{
    const size_t bytes = (size_t)o->of.k * sizeof(element);
    element *a = memory_filled(bytes, 0), *b = memory_filled(bytes, 0);
    void *after = masked_read(o);
    for (int64_t row = 0; row < o->of.m; row++)
        check_row(o, after, row, a, b);
    check_around(o, after);
    free(after);
    free(a);
    free(b);
}

void masked_run(weft_context *ctx, const masked_case *of)
{
    masked_operands o;
    const weft_limits *limits = weft_context_limits(ctx);
    if (of->dtype == WEFT_F64 && !limits->has_f64)
        return;
    if (of->tiling &&
        (!takes_groups_of(of->tiling->items) || (size_t)of->tiling->items > limits->max_items))
        return;
    masked_create(&o, ctx, weft_context_queue(ctx), of);
    masked_call(&o);
    masked_check(&o);
    masked_destroy(&o);
}
