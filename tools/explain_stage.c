// SPDX-License-Identifier: Apache-2.0
// Operands of operations in weft explain.
#include "explain_stage.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench_operand.h"
#include "dense_job.h"

void stage_say(explain_stage *s, const char *format, ...)
{
    char *text = s->answer->operands;
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof(s->answer->operands) - length, format, arguments);
    va_end(arguments);
}

bool stage_shape(int *ndim, int64_t shape[WEFT_MAX_NDIM], bool *transposed, const char *text,
                 complaint *why)
{
    const char *next = text;
    double count = 1;
    *transposed = false;
    for (*ndim = 0; *ndim < WEFT_MAX_NDIM; next++) {
        char *end;
        errno = 0;
        const long long extent = isdigit((unsigned char)*next) ? strtoll(next, &end, 10) : -1;
        if (extent < 0 || errno == ERANGE)
            break;
        shape[(*ndim)++] = extent;
        count *= (double)extent;
        *transposed = *end == 't' && *ndim >= 2;
        next = end + *transposed;
        if (*next == '\0')
            return count < 0x1p60 || complain_usage(why, "'%s' has 2^60 elements or more", text);
        if (*next != 'x' || *transposed)
            break;
    }
    return complain_usage(why, "'%s' is no shape of up to %d extents, such as 8x2048x64", text,
                          WEFT_MAX_NDIM);
}

weft_tensor stage_view(explain_stage *s, weft_dtype dtype, int ndim, const int64_t *shape,
                       bool transposed)
{
    weft_tensor view = bench_view(weft_rehearsal_buffer(s->ctx, NULL), dtype, ndim, shape);
    if (transposed) {
        weft_tensor stored = view;
        stored.shape[ndim - 2] = shape[ndim - 1];
        stored.shape[ndim - 1] = shape[ndim - 2];
        stored = bench_view(view.buffer, dtype, ndim, stored.shape);
        view = weft_tensor_transposed(&stored);
    }
    s->answer->bytes += (double)bench_view_bytes(&view);
    return view;
}

double stage_elements(const weft_tensor *view)
{
    return (double)(bench_view_bytes(view) / weft_dtype_size(view->dtype));
}

// Separates operands.
static const char *separator(const explain_stage *s)
{
    return s->answer->operands[0] != '\0' ? ", " : "";
}

bool stage_operand(weft_tensor *out, explain_stage *s, int i, const char *name)
{
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool transposed;
    char text[256];
    if (i >= s->options->n_words)
        return complain_usage(s->why, "%s: the shape of %s is missing", s->options->words[0], name);
    if (!stage_shape(&ndim, shape, &transposed, s->options->words[i], s->why))
        return false;
    *out = stage_view(s, s->options->dtype, ndim, shape, transposed);
    if (s->answer->elements == 0)
        s->answer->elements = stage_elements(out);
    stage_say(s, "%s%s %s%s", separator(s), name, dense_shape_text(ndim, shape, text, sizeof(text)),
              transposed ? " transposed" : "");
    return true;
}

weft_csr stage_csr(explain_stage *s, const weft_csr_host *host, unsigned arrays)
{
    const weft_dtype dtypes[] = {host->offset_dtype ? host->offset_dtype : WEFT_I32,
                                 host->index_dtype ? host->index_dtype : WEFT_I32,
                                 s->options->dtype};
    for (int i = 0; i < 3; i++)
        if (arrays & 1u << i)
            s->answer->bytes += (double)(i == 0 ? host->n_rows + 1 : host->nnz) *
                                (double)weft_dtype_size(dtypes[i]);
    if (s->answer->entries == 0)
        s->answer->entries = (double)host->nnz;
    return (weft_csr){
        .n_rows = host->n_rows,
        .n_cols = host->n_cols,
        .nnz = host->nnz,
        .offset_dtype = dtypes[0],
        .index_dtype = dtypes[1],
        .dtype = dtypes[2],
        .offsets = weft_rehearsal_buffer(s->ctx, host->offsets),
        .indices = weft_rehearsal_buffer(s->ctx, host->indices),
        .values = weft_rehearsal_buffer(s->ctx, NULL),
    };
}

weft_csr stage_sparse(explain_stage *s, int i, const char *name, unsigned arrays)
{
    const weft_csr_host *host = &s->problem->sparse[i];
    stage_say(s, "%s%s %" PRId64 " x %" PRId64 " with %" PRId64 " entries", separator(s), name,
              host->n_rows, host->n_cols, host->nnz);
    return stage_csr(s, host, arrays);
}

// Of C, A and B.
bool stage_is_dense(const explain_options *options, int i)
{
    return (i == 1 && options->dense_a) || (i == 2 && options->dense_b);
}

int64_t stage_stored_rows(const explain_stage *s)
{
    const weft_csr_host *host = &s->problem->sparse[0];
    if (host->offsets == NULL)
        return host->n_rows < host->nnz ? host->n_rows : host->nnz;
    return host->n_rows -
           weft_row_stats_of(host->offsets, host->offset_dtype, host->n_rows).n_empty;
}

bool stage_has_axes(const explain_stage *s, const weft_tensor *t, const char *name, int least,
                    int most)
{
    return (t->ndim >= least && t->ndim <= most) ||
           complain(s->why, "%s: %s has %d axes; it must have %d to %d", s->options->words[0], name,
                    t->ndim, least, most);
}

bool stage_ends_at(const explain_stage *s, int n)
{
    return s->options->n_words <= n || complain_usage(s->why, "%s: one argument too many: %s",
                                                      s->options->words[0], s->options->words[n]);
}

bool stage_called(explain_stage *s, weft_status status)
{
    return status == WEFT_OK || complain_weft(s->why);
}

bool stage_described(explain_stage *s, int length)
{
    return length >= 0 || complain_weft(s->why);
}
