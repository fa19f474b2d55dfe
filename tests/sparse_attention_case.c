// SPDX-License-Identifier: Apache-2.0
// Operands for tests of sparse attention, the call and the comparison.
#include "sparse_attention_case.h"

#include <inttypes.h>
#include <math.h>

#include "reference_attention.h"
#include "scalar.h"
#include "tiling_text.h"

static const char names[N_OPERANDS] = {'Q', 'K', 'V', 'O'};

// ---- views

static int64_t at_least_one(int64_t n)
{
    return n > 0 ? n : 1;
}

static int64_t matrices_of(const attention_case *of)
{
    return at_least_one(of->n_heads) * at_least_one(of->n_batches);
}

// Elements of the buffer; batches of heads lie one behind the other.
static int64_t lay_out(weft_tensor *t, const attention_case *of, int i)
{
    const int64_t rows = i == Q_OPERAND || i == O_OPERAND ? of->m : of->n;
    const int64_t columns = i == Q_OPERAND || i == K_OPERAND ? of->k : of->d;
    const int64_t n =
        dense_lay_out(t, of->dtype, of->n_heads, rows, columns, of->layout[i], of->start[i]);
    if (of->n_batches == 0)
        return n;
    const int64_t step = of->layout[i] == SAME_MATRIX ? 0 : (n + 15) / 16 * 16;
    memmove(&t->shape[1], &t->shape[0], 3 * sizeof(t->shape[0]));
    memmove(&t->stride[1], &t->stride[0], 3 * sizeof(t->stride[0]));
    t->ndim = 4;
    t->shape[0] = of->n_batches;
    t->stride[0] = step;
    return (of->n_batches - 1) * step + n;
}

// One matrix of a view of any number of dimensions.
static weft_tensor matrix_of(const weft_tensor *t, int64_t i)
{
    const int axis = t->ndim - 2;
    weft_tensor matrix = *t;
    if (axis > 0)
        matrix.offset += i % t->shape[axis - 1] * t->stride[axis - 1];
    if (axis > 1)
        matrix.offset += i / t->shape[1] * t->stride[0];
    matrix.ndim = 2;
    memcpy(matrix.shape, &t->shape[axis], 2 * sizeof(t->shape[0]));
    memcpy(matrix.stride, &t->stride[axis], 2 * sizeof(t->stride[0]));
    return matrix;
}

// ---- operands

static sparse_form form_of(const attention_case *of)
{
    static const weft_dtype any[] = {WEFT_F32, WEFT_F16, WEFT_BF16};
    return (sparse_form){
        .seed = of->seed,
        .n_rows = of->m,
        .n_cols = of->n,
        .rows = of->rows,
        .numbers = NUMBERS_NAN,
        .dtype = any[of->seed % 3],
        .offset_dtype = of->offset_dtype,
        .index_dtype = of->index_dtype,
        .offsets_start = of->offsets_start,
        .indices_start = of->indices_start,
        .given = of->given,
    };
}

static bool is_wild(const attention_case *of, int i, int64_t row)
{
    return (of->numbers == WILD_Q && i == Q_OPERAND && row % 2 == 1) ||
           (of->numbers == WILD_K && i == K_OPERAND && row % 4 == 1) ||
           (of->numbers == WILD_V && i == V_OPERAND && row % 4 == 1);
}

static double number(const attention_case *of, int i, int64_t row, int64_t column,
                     random_state *random)
{
    const double fraction = random_float(random);
    if (of->numbers == STEEP)
        return i == Q_OPERAND ? 16 * fraction : fraction;
    if (of->numbers == FAR_AWAY && column == 0 && i != V_OPERAND)
        return 32;
    if (of->numbers == MASKED && column == 0 && i == K_OPERAND && row % 3 < 2)
        return -INFINITY;
    return of->numbers == MASKED && column == 0 && i == Q_OPERAND ? fabs(fraction) : fraction;
}

// Rows that are not named stay poison, unless others share their memory; with scale 0 Q and K do.
static void fill(const attention_operands *o, const weft_tensor *matrix, int i, void *image,
                 const bool *is_named, random_state *random)
{
    const attention_case *of = &o->of;
    int64_t wild_at = -1;
    EACH_ELEMENT(matrix, batch, row, column)
    {
        if (column == 0)
            wild_at = is_wild(of, i, row) ? random_below(random, matrix->shape[1]) : -1;
        if ((is_named[row] || of->layout[i] == SAME_ROW) && (of->scale != 0 || i == V_OPERAND))
            scalar_put(o->dtype, image, dense_place(matrix, batch, row, column),
                       column == wild_at ? sparse_wild_number(random)
                                         : number(of, i, row, column, random));
    }
}

static void make_dense(attention_operands *o, int i, random_state *random)
{
    attention_array *array = &o->dense[i];
    const int64_t n = lay_out(&array->view, &o->of, i);
    array->bytes = (size_t)n * weft_dtype_size(o->dtype);
    array->before = memory_filled(array->bytes, i == O_OPERAND ? SPARSE_UNTOUCHED : SPARSE_POISON);
    bool *is_named =
        i == Q_OPERAND ? sparse_named_rows(&o->sparse.host) : sparse_named_columns(&o->sparse.host);
    for (int64_t at = 0; at < matrices_of(&o->of); at++) {
        const weft_tensor matrix = matrix_of(&array->view, at);
        if (i != O_OPERAND)
            fill(o, &matrix, i, array->before, is_named, random);
        else
            EACH_ELEMENT(&matrix, batch, row, column)
        scalar_put(o->dtype, array->before, dense_place(&matrix, batch, row, column), NAN);
    }
    free(is_named);
    array->view.buffer = buffer_of(o->ctx, array->before, array->bytes);
}

// Half of the cases bring a workspace, full of NaN. On Oclgrind all do: its check for uninitialised
// memory takes a buffer that the host never wrote for one that was released before.
static void make_workspace(attention_operands *o)
{
    const weft_sparse_attention_params params = attention_params(o);
    const attention_array *dense = o->dense;
    size_t bytes;
    assert_ok(weft_sparse_attention_workspace(o->ctx, &dense[Q_OPERAND].view,
                                              &dense[K_OPERAND].view, &dense[V_OPERAND].view, &o->M,
                                              &dense[O_OPERAND].view, &params, &bytes));
    if (bytes == 0 || (o->of.seed % 4 < 2 && !is_on("oclgrind")))
        return;
    void *poison = memory_filled(bytes, SPARSE_POISON);
    o->workspace = buffer_of(o->ctx, poison, bytes);
    free(poison);
}

void attention_create(attention_operands *o, weft_context *ctx, cl_command_queue queue,
                      const attention_case *of)
{
    random_state random = {of->seed};
    const sparse_form form = form_of(of);
    *o = (attention_operands){
        .of = *of, .ctx = ctx, .queue = queue, .dtype = of->dtype ? of->dtype : WEFT_F32};
    sparse_make(&o->sparse, &form, &random);
    for (int i = 0; i < N_OPERANDS; i++)
        make_dense(o, i, &random);
    sparse_upload(&o->sparse, &form, ctx);
    o->M = o->sparse.csr;
    if (of->seed % 8 < 4)
        o->M.values = NULL;
    make_workspace(o);
}

void attention_destroy(attention_operands *o)
{
    sparse_destroy(&o->sparse);
    for (int i = 0; i < N_OPERANDS; i++) {
        clReleaseMemObject(o->dense[i].view.buffer);
        free(o->dense[i].before);
    }
    if (o->workspace)
        clReleaseMemObject(o->workspace);
}

// ---- the call

weft_sparse_attention_params attention_params(const attention_operands *o)
{
    return (weft_sparse_attention_params){
        .size = sizeof(weft_sparse_attention_params),
        .tiling = TILING_TEXT(sparse_attention, o->of.tiling),
        .workspace = o->workspace,
    };
}

static void fail_case(const attention_operands *o, const char *what)
{
    const attention_case *of = &o->of;
    const attention_array *dense = o->dense;
    const weft_sparse_attention_params params = attention_params(o);
    char plan[512], views[256] = "";
    if (weft_sparse_attention_describe(o->ctx, &dense[Q_OPERAND].view, &dense[K_OPERAND].view,
                                       &dense[V_OPERAND].view, &o->M, &dense[O_OPERAND].view,
                                       &params, plan, sizeof(plan)) < 0)
        snprintf(plan, sizeof(plan), "(%.500s)", weft_last_error());
    for (int i = 0; i < N_OPERANDS; i++) {
        const size_t length = strlen(views);
        snprintf(views + length, sizeof(views) - length, ", %c laid out as %d from %" PRId64,
                 names[i], (int)of->layout[i], of->start[i]);
    }
    fail_msg("%s; seed %" PRIu64 ", m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", d %" PRId64
             ", nnz %" PRId64 ", batch %" PRId64 " of heads %" PRId64
             ", %s, %s offsets, %s indices, rows %d, numbers %d%s, starts %" PRId64 " %" PRId64
             ", scale %g, on %s: %s",
             what, of->seed, of->m, of->n, of->k, of->d, o->M.nnz, of->n_batches, of->n_heads,
             weft_dtype_name(o->dtype), weft_dtype_name(o->sparse.host.offset_dtype),
             weft_dtype_name(o->sparse.host.index_dtype), (int)of->rows, (int)of->numbers, views,
             of->offsets_start, of->indices_start, of->scale, weft_context_limits(o->ctx)->name,
             plan);
}

weft_status attention_call_with(const attention_operands *o,
                                const weft_sparse_attention_params *params)
{
    const attention_array *dense = o->dense;
    return weft_sparse_attention(o->ctx, o->queue, o->of.scale, &dense[Q_OPERAND].view,
                                 &dense[K_OPERAND].view, &dense[V_OPERAND].view, &o->M,
                                 &dense[O_OPERAND].view, params);
}

void attention_call(const attention_operands *o)
{
    const weft_sparse_attention_params params = attention_params(o);
    if (attention_call_with(o, &params) != WEFT_OK)
        fail_case(o, weft_last_error());
}

void attention_restore(const attention_operands *o)
{
    const attention_array *O = &o->dense[O_OPERAND];
    buffer_put(o->queue, O->view.buffer, O->before, O->bytes);
}

void *attention_read(const attention_operands *o)
{
    return buffer_now(o->queue, o->dense[O_OPERAND].view.buffer, o->dense[O_OPERAND].bytes);
}

// ---- the comparison

// The reference of one matrix of the batch.
static void refer(const attention_operands *o, int64_t at, double **want, double **bound)
{
    void *packed[O_OPERAND];
    complaint why;
    for (int i = 0; i < O_OPERAND; i++) {
        const weft_tensor matrix = matrix_of(&o->dense[i].view, at);
        packed[i] = dense_packed(&matrix, o->dense[i].before);
    }
    const reference_attention problem = {
        .M = &o->sparse.host,
        .dtype = o->dtype,
        .k = o->of.k,
        .d = o->of.d,
        .scale = o->of.scale,
        .Q = packed[Q_OPERAND],
        .K = packed[K_OPERAND],
        .V = packed[V_OPERAND],
    };
    if (!reference_attention_run(&problem, want, bound, &why))
        fail_msg("%s", why.text);
    for (int i = 0; i < O_OPERAND; i++)
        free(packed[i]);
}

// What is right becomes what was there before, so that in the end all that differs was not to be
// written.
static void check_matrix(const attention_operands *o, char *after, int64_t at)
{
    const attention_array *O = &o->dense[O_OPERAND];
    const weft_tensor matrix = matrix_of(&O->view, at);
    const size_t size = weft_dtype_size(o->dtype);
    double *want, *bound;
    char text[256];
    refer(o, at, &want, &bound);
    EACH_ELEMENT(&matrix, batch, row, column)
    {
        const int64_t place = dense_place(&matrix, batch, row, column), i = row * o->of.d + column;
        const double got = scalar_get(o->dtype, after, place);
        const double error = reference_error(o->dtype, got, want[i], bound[i]);
        memcpy(after + (size_t)place * size, (char *)O->before + (size_t)place * size, size);
        if (error <= 1)
            continue;
        snprintf(text, sizeof(text),
                 "O[%" PRId64 "][%" PRId64 "][%" PRId64 "] is %.17g, not %.17g (%g bounds)", at,
                 row, column, got, want[i], error);
        fail_case(o, text);
    }
    free(want);
    free(bound);
}

void attention_check(const attention_operands *o)
{
    const attention_array *O = &o->dense[O_OPERAND];
    char text[128], *after = attention_read(o);
    for (int64_t at = 0; at < matrices_of(&o->of); at++)
        check_matrix(o, after, at);
    for (size_t i = 0; i < O->bytes; i++)
        if (after[i] != ((char *)O->before)[i]) {
            snprintf(text, sizeof(text), "byte %zu of O's buffer, outside of O, was written", i);
            fail_case(o, text);
        }
    free(after);
}

void attention_run(weft_context *ctx, const attention_case *of)
{
    attention_operands o;
    attention_create(&o, ctx, weft_context_queue(ctx), of);
    attention_call(&o);
    attention_check(&o);
    attention_destroy(&o);
}

// ---- what changes from case to case

static dense_layout some_layout(bool is_adjacent, int i, random_state *random)
{
    static const dense_layout adjacent[] = {ROW_MAJOR,     ROWS_PADDED,     ROWS_ALIGNED,
                                            BATCH_BETWEEN, BATCH_BACKWARDS, ROWS_BACKWARDS,
                                            SAME_MATRIX,   SAME_ROW};
    return is_adjacent ? adjacent[random_below(random, i == O_OPERAND ? 6 : 8)]
                       : (dense_layout)random_between(random, COLUMN_MAJOR, COLUMNS_APART);
}

void attention_vary(attention_case *of, attention_strides strides, random_state *random)
{
    static const double scales[] = {1, 0.125, 0.3, -1, 1, 0, 0.5};
    const bool are_adjacent[N_OPERANDS] = {
        strides == BOTH_ADJACENT || strides == QK_ADJACENT,
        strides == BOTH_ADJACENT || strides == QK_ADJACENT || random_below(random, 2),
        strides == BOTH_ADJACENT || strides == VO_ADJACENT,
        strides == BOTH_ADJACENT || strides == VO_ADJACENT || random_below(random, 2),
    };
    of->rows = (sparse_rows)random_below(random, N_ROWS);
    of->numbers = (attention_numbers)random_below(random, N_NUMBERS);
    of->scale = scales[random_below(random, 7)];
    of->offsets_start = random_below(random, 3);
    of->indices_start = random_below(random, 4);
    for (int i = 0; i < N_OPERANDS; i++) {
        of->layout[i] = some_layout(are_adjacent[i], i, random);
        of->start[i] = random_below(random, 4);
    }
}
