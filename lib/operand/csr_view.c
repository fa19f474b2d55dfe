// SPDX-License-Identifier: Apache-2.0
// Checks of sparse operands, and of values that belong to their entries.
#include "operand/view.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "runtime/context.h"

static int64_t most_columns(weft_dtype index_dtype)
{
    return index_dtype == WEFT_I16 ? INT64_C(1) << 15 : INT64_C(1) << 31;
}

static int64_t most_entries(weft_dtype offset_dtype)
{
    return offset_dtype == WEFT_I32 ? INT32_MAX : INT64_MAX;
}

weft_status weft_csr_form_check(const weft_csr *csr, const char *what)
{
    if (!csr)
        return fail(WEFT_BAD_ARGUMENT, "%s is NULL", what);
    if (csr->n_rows < 0 || csr->n_cols < 0 || csr->nnz < 0)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s is %" PRId64 " x %" PRId64 " with %" PRId64 " entries: negative", what,
                    csr->n_rows, csr->n_cols, csr->nnz);
    if (csr->n_rows == INT64_MAX)
        return fail(WEFT_BAD_SHAPE, "%s has %" PRId64 " rows: one more offset does not fit", what,
                    csr->n_rows);

    const weft_dtype offset_dtype = weft_dtype_or(csr->offset_dtype, WEFT_I32);
    const weft_dtype index_dtype = weft_dtype_or(csr->index_dtype, WEFT_I32);
    const weft_dtype dtype = weft_dtype_or(csr->dtype, WEFT_F32);
    if (offset_dtype != WEFT_I32 && offset_dtype != WEFT_I64)
        return fail(WEFT_BAD_DTYPE, "%s has %s offsets, i32 and i64 are possible", what,
                    weft_dtype_name(offset_dtype));
    if (index_dtype != WEFT_I32 && index_dtype != WEFT_I16)
        return fail(WEFT_BAD_DTYPE, "%s has %s indices, i32 and i16 are possible", what,
                    weft_dtype_name(index_dtype));
    if (!weft_is_floating(dtype))
        return fail(WEFT_BAD_DTYPE, "%s has %s values, f32, f64, f16 and bf16 are possible", what,
                    weft_dtype_name(dtype));

    if (csr->n_cols > most_columns(index_dtype))
        return fail(WEFT_BAD_DTYPE, "%s has %" PRId64 " columns, %s indices reach %" PRId64, what,
                    csr->n_cols, weft_dtype_name(index_dtype), most_columns(index_dtype));
    if (csr->nnz > most_entries(offset_dtype))
        return fail(WEFT_BAD_DTYPE, "%s has %" PRId64 " entries, %s offsets reach %" PRId64, what,
                    csr->nnz, weft_dtype_name(offset_dtype), most_entries(offset_dtype));
    return WEFT_OK;
}

// Elements from the first value of the first matrix to the last value of the last.
static weft_status count_values(const weft_csr *csr, int64_t n_batches, const char *what,
                                int64_t *n)
{
    if (csr->values_batch_stride < 0)
        return fail(WEFT_BAD_ARGUMENT, "%s has a batch stride of %" PRId64, what,
                    csr->values_batch_stride);
    if (!mul_i64(n_batches > 1 ? n_batches - 1 : 0, csr->values_batch_stride, n) ||
        !add_i64(*n, csr->nnz, n))
        return fail(WEFT_BAD_SHAPE,
                    "%s's values: %" PRId64 " matrices, %" PRId64 " elements apart, pass 2^63",
                    what, n_batches, csr->values_batch_stride);
    return WEFT_OK;
}

weft_status weft_offsets_view_check(const weft_context *ctx, const weft_csr *csr, const char *what)
{
    TRY(weft_csr_form_check(csr, what));
    return weft_array_check(ctx, csr->offsets, csr->offsets_start, csr->n_rows + 1,
                            weft_dtype_or(csr->offset_dtype, WEFT_I32), what, "'s offsets");
}

weft_status weft_pattern_view_check(const weft_context *ctx, const weft_csr *csr, const char *what)
{
    TRY(weft_offsets_view_check(ctx, csr, what));
    return csr->nnz == 0
               ? WEFT_OK
               : weft_array_check(ctx, csr->indices, csr->indices_start, csr->nnz,
                                  weft_dtype_or(csr->index_dtype, WEFT_I32), what, "'s indices");
}

weft_status weft_csr_view_check(const weft_context *ctx, const weft_csr *csr, int64_t n_batches,
                                const char *what)
{
    int64_t n_values = 0;
    TRY(weft_csr_form_check(csr, what));
    TRY(count_values(csr, n_batches, what, &n_values));
    TRY(weft_pattern_view_check(ctx, csr, what));
    return csr->nnz == 0 ? WEFT_OK
                         : weft_array_check(ctx, csr->values, csr->values_start, n_values,
                                            weft_dtype_or(csr->dtype, WEFT_F32), what, "'s values");
}

weft_status weft_dcsr_rows_form_check(const weft_dcsr *dcsr, const char *op, const char *name)
{
    if (dcsr->n_stored < 0 || dcsr->n_rows < 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s stores %" PRId64 " rows of %" PRId64 ": negative",
                    op, name, dcsr->n_stored, dcsr->n_rows);
    if (dcsr->n_stored > dcsr->n_rows || dcsr->n_stored > dcsr->nnz ||
        (dcsr->n_stored == 0 && dcsr->nnz > 0))
        return fail(WEFT_BAD_SHAPE,
                    "%s: %s stores %" PRId64 " rows of %" PRId64 ", with %" PRId64 " entries", op,
                    name, dcsr->n_stored, dcsr->n_rows, dcsr->nnz);
    return WEFT_OK;
}

weft_status weft_dcsr_rows_view_check(const weft_context *ctx, const weft_dcsr *dcsr,
                                      const char *op, const char *name)
{
    char what[WEFT_OPERAND_TEXT];
    TRY(weft_dcsr_rows_form_check(dcsr, op, name));
    if (dcsr->n_stored == 0)
        return WEFT_OK;
    weft_operand_text(what, op, name);
    return weft_array_check(ctx, dcsr->rows, dcsr->rows_start, dcsr->n_stored, WEFT_I32, what,
                            "'s rows");
}

static weft_status values_shape_check(const weft_tensor *values, const char *name,
                                      const weft_csr *csr, const char *csr_name, const char *op)
{
    if (values->ndim != 1 && values->ndim != 2)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions; 1 is wanted, or 2 with a batch", op,
                    name, values->ndim);
    const int last = values->ndim - 1;
    if (values->shape[last] != csr->nnz)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %" PRId64 " values, %s %" PRId64 " entries", op,
                    name, values->shape[last], csr_name, csr->nnz);
    if (csr->nnz > 1 && values->stride[last] != 1)
        return fail(WEFT_BAD_SHAPE,
                    "%s: %s has stride %" PRId64 " from value to value; 1 is wanted", op, name,
                    values->stride[last]);
    return WEFT_OK;
}

weft_status weft_csr_results_check(const weft_context *ctx, const weft_tensor *values,
                                   const char *name, const weft_csr *csr, const char *csr_name,
                                   const char *op)
{
    TRY(values_shape_check(values, name, csr, csr_name, op));
    TRY(weft_result_dtype_check(values->dtype, name, csr->dtype, csr_name, op));
    return weft_floating_check(ctx, values, name, op);
}

weft_status weft_csr_values_check(const weft_context *ctx, const weft_tensor *values,
                                  const char *name, const weft_csr *csr, const char *csr_name,
                                  const char *op)
{
    TRY(weft_csr_results_check(ctx, values, name, csr, csr_name, op));
    return weft_same_dtype_check(values->dtype, name, csr->dtype, csr_name, op);
}

weft_csr weft_csr_with_defaults(const weft_csr *csr)
{
    weft_csr own = *csr;
    own.offset_dtype = weft_dtype_or(csr->offset_dtype, WEFT_I32);
    own.index_dtype = weft_dtype_or(csr->index_dtype, WEFT_I32);
    own.dtype = weft_dtype_or(csr->dtype, WEFT_F32);
    return own;
}

weft_tensor weft_csr_values(const weft_csr *csr, int64_t n_batches)
{
    weft_tensor values = {.buffer = csr->values,
                          .dtype = weft_dtype_or(csr->dtype, WEFT_F32),
                          .offset = csr->values_start,
                          .ndim = n_batches > 0 ? 2 : 1};
    if (n_batches > 0) {
        values.shape[0] = n_batches;
        values.stride[0] = csr->values_batch_stride;
    }
    values.shape[values.ndim - 1] = csr->nnz;
    values.stride[values.ndim - 1] = 1;
    return values;
}

// Refuses an output that shares bytes with `n` elements of one of the CSR's arrays.
static weft_status apart_check(const weft_tensor *output, const char *output_name, cl_mem buffer,
                               int64_t start, int64_t n, weft_dtype dtype, const char *csr_name,
                               const char *part, const char *op)
{
    char name[WEFT_OPERAND_TEXT];
    const int64_t size = (int64_t)weft_dtype_size(dtype);
    const weft_span bytes = {start * size, (start + n) * size};
    snprintf(name, sizeof(name), "%s's %s", csr_name, part);
    return weft_overlap_check(output, output_name, buffer, bytes, name, op);
}

weft_status weft_pattern_overlap_check(const weft_tensor *output, const char *output_name,
                                       const weft_csr *csr, const char *csr_name, const char *op)
{
    TRY(apart_check(output, output_name, csr->offsets, csr->offsets_start, csr->n_rows + 1,
                    weft_dtype_or(csr->offset_dtype, WEFT_I32), csr_name, "offsets", op));
    return csr->nnz == 0
               ? WEFT_OK
               : apart_check(output, output_name, csr->indices, csr->indices_start, csr->nnz,
                             weft_dtype_or(csr->index_dtype, WEFT_I32), csr_name, "indices", op);
}

weft_status weft_csr_overlap_check(const weft_tensor *output, const char *output_name,
                                   const weft_csr *csr, const char *csr_name, int64_t n_batches,
                                   const char *op)
{
    char name[WEFT_OPERAND_TEXT];
    TRY(weft_pattern_overlap_check(output, output_name, csr, csr_name, op));
    if (csr->nnz == 0)
        return WEFT_OK;
    const weft_tensor values = weft_csr_values(csr, n_batches > 1 ? n_batches : 0);
    snprintf(name, sizeof(name), "%s's values", csr_name);
    return weft_tensor_overlap_check(output, output_name, &values, name, op);
}
