// SPDX-License-Identifier: Apache-2.0
// A CSR on the host cut into parts of whole rows, for several devices.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/element.h"
#include "base/fail.h"
#include "operand/csr_host.h"
#include "operand/csr_pattern.h"
#include "operand/view.h"

// ---- where parts begin

static double share_of(const double *shares, int part)
{
    return shares ? shares[part] : 1;
}

static weft_status shares_check(double *sum, const double *shares, int n_parts, const char *what)
{
    if (n_parts < 1)
        return fail(WEFT_BAD_ARGUMENT, "%s: n_parts is %d: at least 1 is wanted", what, n_parts);
    *sum = 0;
    for (int part = 0; part < n_parts; part++) {
        const double share = share_of(shares, part);
        if (!(share >= 0 && isfinite(share)))
            return fail(WEFT_BAD_ARGUMENT, "%s: shares[%d] is %g: finite and 0 or more is wanted",
                        what, part, share);
        *sum += share;
    }
    if (!(*sum > 0 && isfinite(*sum)))
        return fail(WEFT_BAD_ARGUMENT, "%s: the shares sum to %g", what, *sum);
    return WEFT_OK;
}

// Entries and rows before this one: the cost of the rows up to here.
static double cost_before(const weft_csr *form, const void *offsets, int64_t row)
{
    return (double)integer_at(offsets, form->offset_dtype, row) + (double)row;
}

// The row whose cost_before() is nearest to `cost`.
static int64_t row_near(const weft_csr *form, const void *offsets, double cost)
{
    int64_t low = 0, high = form->n_rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (cost_before(form, offsets, middle) < cost)
            low = middle + 1;
        else
            high = middle;
    }
    const bool is_nearer = low > 0 && cost - cost_before(form, offsets, low - 1) <
                                          cost_before(form, offsets, low) - cost;
    return is_nearer ? low - 1 : low;
}

weft_status weft_csr_host_split(const weft_csr_host *host, int n_parts, const double *shares,
                                int64_t *starts)
{
    static const char what[] = "csr_host_split";
    double sum = 0;
    TRY(weft_csr_host_form_check(host, what));
    if (!starts)
        return fail(WEFT_BAD_ARGUMENT, "%s: starts is NULL", what);
    TRY(shares_check(&sum, shares, n_parts, what));
    const weft_csr form = weft_csr_form(host);
    const double all = cost_before(&form, host->offsets, form.n_rows);
    double before = 0;
    for (int part = 0; part < n_parts; part++) {
        starts[part] = row_near(&form, host->offsets, all * (before / sum));
        before += share_of(shares, part);
    }
    starts[n_parts] = form.n_rows;
    return WEFT_OK;
}

// ---- one part

static weft_status offsets_check(const weft_csr *form, const void *offsets, int64_t first,
                                 int64_t n_rows, const char *what)
{
    int64_t begin = integer_at(offsets, form->offset_dtype, first);
    for (int64_t row = first; row < first + n_rows; row++) {
        const int64_t end = integer_at(offsets, form->offset_dtype, row + 1);
        if (begin < 0 || end < begin || end > form->nnz)
            return fail(WEFT_BAD_DATA,
                        "%s: row %" PRId64 " has the entries %" PRId64 " to %" PRId64
                        " of %" PRId64,
                        what, row, begin, end, form->nnz);
        begin = end;
    }
    return WEFT_OK;
}

static void copy_rows(weft_csr_host *out, const weft_csr_host *host, int64_t first, int64_t begin)
{
    const size_t index_size = weft_dtype_size(out->index_dtype);
    const size_t size = weft_dtype_size(out->dtype), n = (size_t)out->nnz;
    for (int64_t row = 0; row <= out->n_rows; row++)
        integer_put(out->offsets, out->offset_dtype, row,
                    integer_at(host->offsets, out->offset_dtype, first + row) - begin);
    if (n == 0)
        return;
    memcpy(out->indices, (const char *)host->indices + (size_t)begin * index_size, n * index_size);
    memcpy(out->values, (const char *)host->values + (size_t)begin * size, n * size);
}

weft_status weft_csr_host_rows(weft_csr_host *out, const weft_csr_host *host, int64_t first,
                               int64_t n_rows)
{
    static const char what[] = "csr_host_rows";
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "%s: out is NULL", what);
    *out = (weft_csr_host){0};
    TRY(weft_csr_host_form_check(host, what));
    if (first < 0 || n_rows < 0 || first > host->n_rows || n_rows > host->n_rows - first)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: %" PRId64 " rows from row %" PRId64 " of a matrix of %" PRId64, what,
                    n_rows, first, host->n_rows);

    const weft_csr form = weft_csr_form(host);
    TRY(offsets_check(&form, host->offsets, first, n_rows, what));
    const int64_t begin = integer_at(host->offsets, form.offset_dtype, first);
    const int64_t end = integer_at(host->offsets, form.offset_dtype, first + n_rows);
    *out = (weft_csr_host){.n_rows = n_rows,
                           .n_cols = form.n_cols,
                           .offset_dtype = form.offset_dtype,
                           .index_dtype = form.index_dtype,
                           .dtype = form.dtype};
    const weft_status status = weft_csr_host_allocate(out, end - begin, what);
    if (status == WEFT_OK)
        copy_rows(out, host, first, begin);
    else
        weft_csr_host_destroy(out);
    return status;
}
