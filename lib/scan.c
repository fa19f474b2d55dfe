// SPDX-License-Identifier: Apache-2.0
// Running sums: defines, arguments, enqueue.
#include "scan.h"

#include "items.h"

weft_status weft_scan_kernels(weft_scan *scan, weft_context *ctx, size_t *most)
{
    weft_defines defines = {0};
    weft_defines_add(&defines, "ITEMS", scan->items);
    weft_defines_add_word(&defines, "NUMBER", weft_word(scan->dtype));
    if (scan->n_groups > 1)
        TRY(weft_items_kernel(&scan->sums, most, ctx, &weft_source_scan, &defines, "scan_sums"));
    return weft_items_kernel(&scan->apply, most, ctx, &weft_source_scan, &defines, "scan_apply");
}

weft_status weft_scan_enqueue(weft_launch *launch, const weft_scan *scan, weft_numbers in,
                              weft_numbers out, bool has_total, weft_numbers sums)
{
    const cl_int total = has_total;
    if (scan->n_groups > 1) {
        const weft_argument arguments[] = {
            ARGUMENT(scan->n),  ARGUMENT(scan->span),  ARGUMENT(in.buffer),
            ARGUMENT(in.start), ARGUMENT(sums.buffer), ARGUMENT(sums.start),
        };
        TRY(ENQUEUE_ITEMS(launch, scan->sums, arguments, scan->items, scan->n_groups, 1));
    }
    const weft_argument arguments[] = {
        ARGUMENT(scan->n),  ARGUMENT(scan->span),  ARGUMENT(in.buffer),
        ARGUMENT(in.start), ARGUMENT(out.buffer),  ARGUMENT(out.start),
        ARGUMENT(total),    ARGUMENT(sums.buffer), ARGUMENT(sums.start),
    };
    return ENQUEUE_ITEMS(launch, scan->apply, arguments, scan->items, scan->n_groups, 1);
}
