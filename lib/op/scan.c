// SPDX-License-Identifier: Apache-2.0
// Prefix sums: defines, arguments, enqueueing.
#include "op/scan.h"

#include "base/dtype.h"
#include "base/element.h"
#include "op/items.h"
#include "op/scan_parameters.h"
#include "operand/view.h"
#include "runtime/buffer.h"
#include "runtime/parameters.h"
#include "runtime/scratch.h"

weft_status weft_scan_kernels(weft_scan *scan, weft_context *ctx, size_t *most)
{
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", scan->items);
    weft_defines_add(&defines, "RUN", WEFT_SCAN_RUN);
    weft_defines_add_word(&defines, "NUMBER", weft_word(scan->dtype));
    if (scan->n_groups > 1)
        TRY(weft_kernel_narrow(&scan->sums, most, ctx, &weft_source_scan, &defines, "scan_sums"));
    return weft_kernel_narrow(&scan->apply, most, ctx, &weft_source_scan, &defines, "scan_apply");
}

typedef struct {
    SCAN_SUMS_PARAMETERS(FIELD, )
} sums_arguments;

typedef struct {
    SCAN_APPLY_PARAMETERS(FIELD, )
} apply_arguments;

static weft_status enqueue_sums(weft_launch *launch, const weft_scan *scan, weft_numbers in,
                                weft_numbers sums)
{
    const sums_arguments own = {.n = scan->n,
                                .span = scan->span,
                                .in = in.buffer,
                                .in_start = in.start,
                                .sums = sums.buffer,
                                .sums_start = sums.start},
                         *a = &own;
    const weft_argument list[] = {SCAN_SUMS_PARAMETERS(LISTED, COMMA)};
    return ENQUEUE_ITEMS(launch, scan->sums, list, scan->items, scan->n_groups);
}

weft_status weft_scan_enqueue(weft_launch *launch, const weft_scan *scan, weft_numbers in,
                              weft_numbers out, bool has_total, weft_numbers sums)
{
    if (scan->n_groups > 1)
        TRY(enqueue_sums(launch, scan, in, sums));
    const apply_arguments own = {.n = scan->n,
                                 .span = scan->span,
                                 .in = in.buffer,
                                 .in_start = in.start,
                                 .out = out.buffer,
                                 .out_start = out.start,
                                 .has_total = has_total,
                                 .sums = sums.buffer,
                                 .sums_start = sums.start},
                          *a = &own;
    const weft_argument list[] = {SCAN_APPLY_PARAMETERS(LISTED, COMMA)};
    return ENQUEUE_ITEMS(launch, scan->apply, list, scan->items, scan->n_groups);
}

weft_status weft_numbers_read(int64_t *out, cl_command_queue queue, weft_numbers at,
                              weft_dtype dtype, cl_event after, const char *what)
{
    const size_t size = weft_dtype_size(dtype);
    int64_t number = 0;
    if (weft_is_stand_in(at.buffer))
        return fail(WEFT_UNSUPPORTED, "%s: a rehearsal has no results to read", what);
    TRY(weft_cl_read(queue, at.buffer, (size_t)at.start * size, size, &number, after ? 1 : 0,
                     after ? &after : NULL, what));
    *out = integer_at(&number, dtype, 0);
    return WEFT_OK;
}

size_t weft_scan_scratch_bytes(const weft_scan *scan)
{
    weft_scratch scratch = {0};
    if (scan->n_groups > 1)
        weft_scratch_add(&scratch, scan->n_groups, scan->dtype);
    return scratch.bytes;
}

weft_status weft_scan_offsets(weft_launch *launch, const weft_scan *scan, weft_numbers offsets,
                              cl_mem scratch)
{
    // With one group the argument is unused, but must be a buffer.
    const weft_numbers sums = {scan->n_groups > 1 ? scratch : offsets.buffer, 0};
    return weft_scan_enqueue(launch, scan, offsets, offsets, true, sums);
}

weft_status weft_scan_total(int64_t *nnz, cl_command_queue queue, const weft_csr *csr,
                            cl_event done, cl_event *event, const char *what)
{
    const weft_numbers last = {csr->offsets, csr->offsets_start + csr->n_rows};
    const weft_status status =
        weft_numbers_read(nnz, queue, last, weft_dtype_or(csr->offset_dtype, WEFT_I32), done, what);
    if (event && status == WEFT_OK)
        *event = done;
    else if (done)
        clReleaseEvent(done);
    return status;
}
