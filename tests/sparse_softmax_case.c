// SPDX-License-Identifier: Apache-2.0
// Operands for tests of softmax over sparse rows, the call and the comparison.
#include "sparse_softmax_case.h"

#include <inttypes.h>
#include <math.h>

#include "random.h"
#include "reference.h"
#include "reference_axis.h"
#include "scalar.h"
#include "tiling_text.h"

enum { GUARD = 7, POISON = 0xff, UNTOUCHED = 0xa5, WILD_INDEX = 0x7f };

static char *memory_filled(size_t bytes, int with)
{
    char *memory = malloc(bytes + 1);
    assert_non_null(memory);
    memset(memory, with, bytes + 1);
    return memory;
}

static cl_mem buffer_of(weft_context *ctx, const void *data, size_t bytes)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, (void *)(uintptr_t)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

// ---- the pattern

static int64_t row_length(const sparse_case *of, random_state *random, int64_t row)
{
    const int64_t few = of->longest < 9 ? of->longest : 9;
    if (of->given)
        return scalar_whole(of->given->offset_dtype, of->given->offsets, row + 1) -
               scalar_whole(of->given->offset_dtype, of->given->offsets, row);
    switch (of->rows) {
    case ROWS_RANDOM:
        return random_below(random, of->longest + 1);
    case ROWS_SHORT:
        return random_below(random, few + 1);
    case ROWS_FULL:
        return of->longest;
    case ROWS_ONE_LONG:
        return row == of->n_rows / 2 ? of->longest : random_below(random, 2) && of->longest > 0;
    case ROWS_IN_RUNS:
        return row % 37 == 36 ? random_below(random, of->longest + 1) : 0;
    default:
        return 0;
    }
}

static void make_offsets(sparse_operands *o, random_state *random)
{
    o->offsets = malloc((size_t)(o->of.n_rows + 1) * sizeof(*o->offsets));
    assert_non_null(o->offsets);
    o->offsets[0] = 0;
    for (int64_t row = 0; row < o->of.n_rows; row++)
        o->offsets[row + 1] = o->offsets[row] + row_length(&o->of, random, row);
    o->nnz = o->offsets[o->of.n_rows];
}

static cl_mem upload_offsets(const sparse_operands *o)
{
    const int64_t start = o->of.offsets_start;
    const bool is_wide = o->of.offset_dtype == WEFT_I64;
    const size_t size = is_wide ? 8 : 4, bytes = (size_t)(start + o->of.n_rows + 1) * size;
    char *copy = memory_filled(bytes, WILD_INDEX);
    for (int64_t row = 0; row <= o->of.n_rows; row++)
        if (is_wide)
            ((int64_t *)(void *)copy)[start + row] = o->offsets[row];
        else
            ((int32_t *)(void *)copy)[start + row] = (int32_t)o->offsets[row];
    cl_mem buffer = buffer_of(o->ctx, copy, bytes);
    free(copy);
    return buffer;
}

static cl_mem upload_indices(const sparse_operands *o)
{
    if (o->nnz == 0)
        return NULL;
    const size_t bytes = (size_t)o->nnz * (o->of.index_dtype == WEFT_I16 ? 2 : 4);
    char *wild = memory_filled(bytes, WILD_INDEX);
    cl_mem buffer = buffer_of(o->ctx, wild, bytes);
    free(wild);
    return buffer;
}

// ---- values

static double wild_number(random_state *random)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN};
    return wild[random_below(random, 3)];
}

static double number(const sparse_case *of, random_state *random, int64_t row)
{
    const double fraction = random_float(random), mask = of->is_backward ? 0 : -INFINITY;
    switch (of->numbers) {
    case STEEP:
        return 30 * fraction;
    case FAR_AWAY:
        return fraction + 1000;
    case REMOTE:
        return 6 * fraction + 4e7;
    case STEPPED:
        return fraction + 22 * (double)(row / 3 * 7 % 8);
    case MASKED:
        return row % 4 == 0 || random_below(random, 3) == 0 ? mask : 30 * fraction;
    case WILD:
        return row % 3 == 1 && random_below(random, 4) == 0 ? wild_number(random) : 30 * fraction;
    default:
        return fraction;
    }
}

// Values for all matrices, `step` elements apart, from element `start` on.
static void make_array(sparse_operands *o, sparse_array *array, random_state *random, int64_t start,
                       int64_t step, int64_t n_matrices)
{
    const int64_t n = start + (n_matrices - 1) * step + o->nnz + (o->of.seed % 2 ? GUARD : 0);
    array->bytes = (size_t)n * weft_dtype_size(o->dtype);
    array->before = memory_filled(array->bytes, POISON);
    for (int64_t matrix = 0; matrix < n_matrices; matrix++)
        for (int64_t row = 0; row < o->of.n_rows; row++)
            for (int64_t e = o->offsets[row]; e < o->offsets[row + 1]; e++)
                scalar_put(o->dtype, array->before, start + matrix * step + e,
                           number(&o->of, random, row));
    array->buffer = buffer_of(o->ctx, array->before, array->bytes);
}

static weft_tensor tensor_of(const sparse_operands *o, const sparse_array *array, int64_t start,
                             int64_t step)
{
    const int last = o->of.n_batches > 0;
    weft_tensor t = {
        .buffer = array->buffer, .dtype = o->of.dtype, .offset = start, .ndim = 1 + last};
    if (last) {
        t.shape[0] = o->of.n_batches;
        t.stride[0] = step;
    }
    t.shape[last] = o->nnz;
    t.stride[last] = o->nnz > 1 ? 1 : 77;
    return t;
}

static void make_csr(sparse_operands *o, random_state *random)
{
    const sparse_case *of = &o->of;
    const int64_t step = of->shares_values ? 0 : o->nnz + 3;
    if (o->nnz > 0)
        make_array(o, &o->values, random, of->values_start, step,
                   of->shares_values ? 1 : o->n_matrices);
    o->csr = (weft_csr){
        .n_rows = of->n_rows,
        .n_cols = of->n_cols > 0 ? of->n_cols : o->nnz,
        .nnz = o->nnz,
        .offset_dtype = of->offset_dtype,
        .index_dtype = of->index_dtype,
        .dtype = of->dtype,
        .offsets = upload_offsets(o),
        .indices = upload_indices(o),
        .values = o->values.buffer,
        .offsets_start = of->offsets_start,
        .values_start = of->values_start,
        .values_batch_stride = step,
    };
}

static void make_output(sparse_operands *o)
{
    const sparse_case *of = &o->of;
    if (of->place == ON_CSR) {
        o->out = tensor_of(o, &o->values, of->values_start, o->csr.values_batch_stride);
        return;
    }
    if (of->place == ON_DY) {
        o->out = o->dY;
        return;
    }
    const int64_t step = o->nnz + 5, reach = (o->n_matrices - 1) * step;
    const int64_t n = GUARD + of->out_start + reach + o->nnz + GUARD;
    o->own.bytes = (size_t)n * weft_dtype_size(o->dtype);
    o->own.before = memory_filled(o->own.bytes, UNTOUCHED);
    o->own.buffer = buffer_of(o->ctx, o->own.before, o->own.bytes);
    o->out = tensor_of(o, &o->own, GUARD + of->out_start + (of->goes_back ? reach : 0),
                       of->goes_back ? -step : step);
}

// ---- the call

// Half of the cases bring a workspace, full of NaN. On Oclgrind all do: its check for uninitialised
// memory takes a buffer that the host never wrote for one that was released before.
static void make_workspace(sparse_operands *o)
{
    const weft_sparse_softmax_params params = sparse_params(o);
    weft_tensor out = o->out;
    size_t bytes;
    assert_ok(weft_sparse_softmax_workspace(o->ctx, &o->csr, &out, &params, &bytes));
    if (bytes == 0 || (o->of.seed % 4 < 2 && !is_on("oclgrind")))
        return;
    char *poison = memory_filled(bytes, POISON);
    o->workspace = buffer_of(o->ctx, poison, bytes);
    free(poison);
}

bool sparse_is_possible(weft_context *ctx, const sparse_case *of)
{
    return of->dtype != WEFT_F64 || weft_context_limits(ctx)->has_f64;
}

void sparse_operands_create(sparse_operands *o, weft_context *ctx, cl_command_queue queue,
                            const sparse_case *of)
{
    random_state random = {of->seed};
    *o = (sparse_operands){.of = *of, .ctx = ctx, .queue = queue};
    o->dtype = of->dtype ? of->dtype : WEFT_F32;
    o->n_matrices = of->n_batches > 1 ? of->n_batches : 1;
    make_offsets(o, &random);
    make_csr(o, &random);
    if (of->is_backward && o->nnz > 0) {
        make_array(o, &o->gradient, &random, of->out_start, o->nnz + 1, o->n_matrices);
        o->dY = tensor_of(o, &o->gradient, of->out_start, o->nnz + 1);
    } else if (of->is_backward) {
        o->dY = tensor_of(o, &o->gradient, 0, 0);
    }
    make_output(o);
    make_workspace(o);
}

static void array_destroy(sparse_array *array)
{
    if (array->buffer)
        clReleaseMemObject(array->buffer);
    free(array->before);
}

void sparse_operands_destroy(sparse_operands *o)
{
    o->csr.values = NULL; // one of the arrays below
    weft_csr_destroy(&o->csr);
    array_destroy(&o->values);
    array_destroy(&o->gradient);
    array_destroy(&o->own);
    if (o->workspace)
        clReleaseMemObject(o->workspace);
    free(o->offsets);
}

weft_sparse_softmax_params sparse_params(const sparse_operands *o)
{
    return (weft_sparse_softmax_params){
        .size = sizeof(weft_sparse_softmax_params),
        .tiling = TILING_TEXT(sparse_softmax, o->of.tiling),
        .workspace = o->workspace,
    };
}

static void fail_case(const sparse_operands *o, const char *what)
{
    const sparse_case *of = &o->of;
    const weft_sparse_softmax_params params = sparse_params(o);
    char plan[512];
    if (weft_sparse_softmax_describe(o->ctx, &o->csr, &o->out, &params, plan, sizeof(plan)) < 0)
        snprintf(plan, sizeof(plan), "(%.500s)", weft_last_error());
    fail_msg("%s; %s, seed %" PRIu64 ", %" PRId64 " rows up to %" PRId64 ", %" PRId64
             " columns, nnz %" PRId64 ", batch %" PRId64 "%s, %s, %s offsets, rows %d, numbers %d, "
             "place %d, starts %" PRId64 " %" PRId64 " %" PRId64 ", scale %g, on %s: %s",
             what, of->is_backward ? "backward" : "forward", of->seed, of->n_rows, of->longest,
             o->csr.n_cols, o->nnz, of->n_batches, of->shares_values ? " of the same values" : "",
             weft_dtype_name(o->dtype), of->offset_dtype == WEFT_I64 ? "i64" : "i32", (int)of->rows,
             (int)of->numbers, (int)of->place, of->offsets_start, of->values_start, of->out_start,
             of->scale, weft_context_limits(o->ctx)->name, plan);
}

weft_status sparse_call_with(const sparse_operands *o, const weft_sparse_softmax_params *params)
{
    return o->of.is_backward
               ? weft_sparse_softmax_backward(o->ctx, o->queue, o->of.scale, &o->csr, &o->dY,
                                              &o->out, params)
               : weft_sparse_softmax(o->ctx, o->queue, o->of.scale, &o->csr, &o->out, params);
}

void sparse_call(const sparse_operands *o)
{
    const weft_sparse_softmax_params params = sparse_params(o);
    if (sparse_call_with(o, &params) != WEFT_OK)
        fail_case(o, weft_last_error());
}

const sparse_array *sparse_target(const sparse_operands *o)
{
    return o->of.place == ON_CSR ? &o->values : o->of.place == ON_DY ? &o->gradient : &o->own;
}

void *sparse_target_now(const sparse_operands *o)
{
    const sparse_array *target = sparse_target(o);
    char *after = memory_filled(target->bytes, 0);
    assert_int_equal(clEnqueueReadBuffer(o->queue, target->buffer, CL_TRUE, 0, target->bytes, after,
                                         0, NULL, NULL),
                     CL_SUCCESS);
    return after;
}

void sparse_restore(const sparse_operands *o)
{
    const sparse_array *target = sparse_target(o);
    assert_ok(weft_cl_write(o->queue, target->buffer, target->bytes, target->before, "restore"));
}

// ---- the comparison

static host_tensor row_of(const sparse_operands *o, const sparse_array *array, int64_t start,
                          int64_t n)
{
    host_tensor t = host_tensor_dense(o->dtype, array->before, 1, &n);
    t.offset = start;
    return t;
}

// One row of one matrix. Its results in `after` become what was there before, so that in the end
// all that differs was not to be written.
static void check_row(const sparse_operands *o, char *after, int64_t matrix, int64_t row)
{
    const sparse_case *of = &o->of;
    const int64_t e = o->offsets[row], n = o->offsets[row + 1] - e;
    const int64_t from = o->out.offset + (of->n_batches > 0 ? matrix * o->out.stride[0] : 0) + e;
    const size_t size = weft_dtype_size(o->dtype);
    reference_softmax problem = {
        .X = row_of(o, &o->values, of->values_start + matrix * o->csr.values_batch_stride + e, n),
        .scale = of->scale,
        .is_backward = of->is_backward,
        .masked = true,
    };
    if (of->is_backward)
        problem.dY = row_of(o, &o->gradient, of->out_start + matrix * (o->nnz + 1) + e, n);
    reference_values values;
    complaint why;
    assert_true(reference_softmax_run(&values, &problem, &why));
    for (int64_t i = 0; i < n; i++) {
        const double got = scalar_get(o->dtype, after, from + i);
        const double error = reference_error(o->dtype, got, values.want[i], values.bound[i]);
        if (!(error <= 1)) {
            char text[256];
            snprintf(text, sizeof(text),
                     "matrix %" PRId64 ", row %" PRId64 " of %" PRId64 " entries, entry %" PRId64
                     " is %.9g, not %.9g: %g bounds",
                     matrix, row, n, i, got, values.want[i], error);
            fail_case(o, text);
        }
    }
    memcpy(after + (size_t)from * size, sparse_target(o)->before + (size_t)from * size,
           (size_t)n * size);
    reference_values_free(&values);
}

void sparse_check(const sparse_operands *o)
{
    const sparse_array *target = sparse_target(o);
    if (target->bytes == 0)
        return;
    char *after = sparse_target_now(o);
    const int64_t n_matrices = o->of.n_batches > 0 ? o->of.n_batches : 1;
    for (int64_t matrix = 0; matrix < n_matrices; matrix++)
        for (int64_t row = 0; row < o->of.n_rows; row++)
            if (o->offsets[row + 1] > o->offsets[row])
                check_row(o, after, matrix, row);
    for (size_t i = 0; i < target->bytes; i++)
        if (after[i] != target->before[i]) {
            char text[80];
            snprintf(text, sizeof(text), "byte %zu of %zu was written", i, target->bytes);
            fail_case(o, text);
        }
    free(after);
}

void sparse_run(weft_context *ctx, const sparse_case *of)
{
    sparse_operands o;
    if (!sparse_is_possible(ctx, of))
        return;
    sparse_operands_create(&o, ctx, weft_context_queue(ctx), of);
    sparse_call(&o);
    sparse_check(&o);
    sparse_operands_destroy(&o);
}
