// SPDX-License-Identifier: Apache-2.0
// The one implementation behind weft_csr_check() and weft_csr_host_check().
#include "operand/csr_pattern.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/dtype.h"
#include "base/element.h"
#include "base/fail.h"
#include "operand/view.h"

typedef struct sweep {
    const weft_csr *form;
    weft_window *offsets, *indices; // indices NULL: not checked
    bool sorted, unique;
    int64_t *seen; // of each column, 1 + the last entry with it; NULL: not needed
    const char *what;
} sweep;

// The sweep only goes forward.
static weft_status read_at(weft_window *window, int64_t i, int64_t *value)
{
    if (i >= window->last)
        TRY(window->move(window, i));
    *value = integer_at(window->data, window->dtype, i - window->first);
    return WEFT_OK;
}

static weft_status duplicate(const sweep *s, int64_t row, int64_t column, int64_t entry,
                             int64_t earlier)
{
    return fail(WEFT_BAD_DATA,
                "%s: row %" PRId64 ": column %" PRId64 " occurs twice, at entries %" PRId64
                " and %" PRId64,
                s->what, row, column, earlier, entry);
}

static weft_status row_check(const sweep *s, int64_t row, int64_t begin, int64_t end)
{
    int64_t previous = -1;
    for (int64_t e = begin; e < end; e++) {
        int64_t column = 0;
        TRY(read_at(s->indices, e, &column));
        if (column < 0 || column >= s->form->n_cols)
            return fail(WEFT_BAD_DATA,
                        "%s: row %" PRId64 ": entry %" PRId64 " has column %" PRId64
                        ", the matrix has %" PRId64 " columns",
                        s->what, row, e, column, s->form->n_cols);
        if (s->sorted && column < previous)
            return fail(WEFT_BAD_DATA,
                        "%s: row %" PRId64 " is not sorted: entry %" PRId64 " has column %" PRId64
                        " after column %" PRId64,
                        s->what, row, e, column, previous);
        if (s->unique && s->sorted && column == previous)
            return duplicate(s, row, column, e, e - 1);
        if (s->seen) {
            if (s->seen[column] > begin)
                return duplicate(s, row, column, e, s->seen[column] - 1);
            s->seen[column] = e + 1;
        }
        previous = column;
    }
    return WEFT_OK;
}

static weft_status offsets_check(const sweep *s, int64_t row, int64_t begin, int64_t end)
{
    if (end < begin)
        return fail(WEFT_BAD_DATA,
                    "%s: row %" PRId64 ": its offsets fall from %" PRId64 " to %" PRId64, s->what,
                    row, begin, end);
    if (end > s->form->nnz)
        return fail(WEFT_BAD_DATA,
                    "%s: row %" PRId64 " ends at offset %" PRId64 ", there are %" PRId64 " entries",
                    s->what, row, end, s->form->nnz);
    return WEFT_OK;
}

static weft_status rows_check(const sweep *s)
{
    if (s->form->n_rows == 0 && s->form->nnz > 0)
        return fail(WEFT_BAD_DATA, "%s: there are %" PRId64 " entries, but no rows", s->what,
                    s->form->nnz);
    int64_t begin = 0, end = 0;
    TRY(read_at(s->offsets, 0, &begin));
    if (begin != 0)
        return fail(WEFT_BAD_DATA, "%s: row 0 begins at offset %" PRId64 ", not at 0", s->what,
                    begin);

    for (int64_t row = 0; row < s->form->n_rows; row++, begin = end) {
        TRY(read_at(s->offsets, row + 1, &end));
        TRY(offsets_check(s, row, begin, end));
        if (s->indices)
            TRY(row_check(s, row, begin, end));
    }
    if (begin != s->form->nnz)
        return fail(WEFT_BAD_DATA,
                    "%s: row %" PRId64 ", the last, ends at offset %" PRId64 ", there are %" PRId64
                    " entries",
                    s->what, s->form->n_rows - 1, begin, s->form->nnz);
    return WEFT_OK;
}

weft_status weft_csr_pattern_check(const weft_csr *form, weft_window *offsets, weft_window *indices,
                                   int demand, const char *what)
{
    if (demand & ~(WEFT_CSR_SORTED | WEFT_CSR_UNIQUE))
        return fail(WEFT_BAD_ARGUMENT, "%s: demand %d is not of weft_csr_demand", what, demand);

    sweep s = {.form = form, .offsets = offsets, .indices = indices, .what = what};
    s.sorted = demand & WEFT_CSR_SORTED;
    s.unique = demand & WEFT_CSR_UNIQUE;
    if (s.unique && !s.sorted && form->nnz > 0 && form->n_cols > 0) {
        s.seen = calloc((size_t)form->n_cols, sizeof(*s.seen));
        if (!s.seen)
            return fail(WEFT_NO_MEMORY,
                        "%s: no memory to look for duplicates in %" PRId64 " columns", what,
                        form->n_cols);
    }

    const weft_status status = rows_check(&s);
    free(s.seen);
    return status;
}

weft_status weft_stored_rows_check(const weft_dcsr *form, weft_window *rows, const char *what)
{
    int64_t previous = -1;
    for (int64_t i = 0; i < form->n_stored; i++) {
        int64_t row = 0;
        TRY(read_at(rows, i, &row));
        if (row <= previous || row >= form->n_rows)
            return fail(WEFT_BAD_DATA,
                        "%s: stored row %" PRId64 " is row %" PRId64 ", after row %" PRId64
                        " of %" PRId64 ": they must rise",
                        what, i, row, previous, form->n_rows);
        previous = row;
    }
    return WEFT_OK;
}

weft_csr weft_csr_form(const weft_csr_host *host)
{
    return (weft_csr){
        .n_rows = host->n_rows,
        .n_cols = host->n_cols,
        .nnz = host->nnz,
        .offset_dtype = weft_dtype_or(host->offset_dtype, WEFT_I32),
        .index_dtype = weft_dtype_or(host->index_dtype, WEFT_I32),
        .dtype = weft_dtype_or(host->dtype, WEFT_F32),
    };
}

weft_status weft_csr_host_form_check(const weft_csr_host *host, const char *what)
{
    if (!host)
        return fail(WEFT_BAD_ARGUMENT, "%s: the host CSR is NULL", what);
    char matrix[WEFT_OPERAND_TEXT];
    const weft_csr form = weft_csr_form(host);
    TRY(weft_csr_form_check(&form, weft_operand_text(matrix, what, "the host CSR")));
    if (!host->offsets)
        return fail(WEFT_BAD_ARGUMENT, "%s: the offsets are NULL", what);
    if (host->nnz > 0 && (!host->indices || !host->values))
        return fail(WEFT_BAD_ARGUMENT, "%s: the %s are NULL, with %" PRId64 " entries", what,
                    host->indices ? "values" : "indices", host->nnz);
    return WEFT_OK;
}
