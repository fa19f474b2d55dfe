// SPDX-License-Identifier: Apache-2.0
// Rows of a plan cut at the ends of k-blocks of B: the entries of one row in one k-block are a
// segment. An item's segments are sorted by k-block, then by length, so that successive loops have
// about the same number of iterations.
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/element.h"
#include "base/fail.h"
#include "sparse/spmm_segments.h"
#include "sparse/spmm_tiling.h"

typedef struct {
    int64_t entry, count;
    int row; // within the item
} segment;

// One item: the next entry of each of its rows, and the segments of the current k-block.
typedef struct {
    const weft_pattern *p;
    int64_t next[WEFT_SPMM_MOST_ROWS], stop[WEFT_SPMM_MOST_ROWS];
    segment k_block[WEFT_SPMM_MOST_ROWS];
    int n_rows, n_cut, n_segments; // n_cut: rows with segments
} item;

static int shorter_first(const void *a, const void *b)
{
    const segment *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->row - y->row;
}

static void begin_item(item *it, const weft_spmm_plan *plan, const weft_pattern *p,
                       const int32_t *order, int64_t i)
{
    it->p = p;
    it->n_rows = (int)plan->run_rows;
    it->n_cut = 0;
    for (int r = 0; r < it->n_rows; ++r) {
        const int64_t place = i * plan->run_rows + r;
        const int64_t row = place >= plan->n_ordered ? -1 : order ? order[place] : place;
        const int64_t start = row < 0 ? 0 : weft_pattern_start(p, row);
        const int64_t stop = row < 0 ? 0 : weft_pattern_start(p, row + 1);
        const bool is_cut = row >= 0 && stop - start >= plan->k_block_from &&
                            !weft_pattern_is_long(p, row, plan->row_chunk);
        it->n_cut += is_cut;
        it->next[r] = is_cut ? start : 0;
        it->stop[r] = is_cut ? stop : 0;
    }
}

// A segment of sorted columns ends at the k-block's end; of unsorted ones, before the first column
// beyond it.
static void take_k_block(item *it, int64_t limit)
{
    it->n_segments = 0;
    for (int r = 0; r < it->n_rows; ++r) {
        const int64_t first = it->next[r];
        int64_t e = first;
        while (e < it->stop[r] && integer_at(it->p->indices, it->p->index_dtype, e) < limit)
            ++e;
        it->next[r] = e;
        if (e > first)
            it->k_block[it->n_segments++] = (segment){.entry = first, .count = e - first, .row = r};
    }
    qsort(it->k_block, (size_t)it->n_segments, sizeof(segment), shorter_first);
}

// Writes the segments of every item; only counts them if the arrays are NULL. Returns their number.
static int64_t cut_items(const weft_spmm_plan *plan, const weft_pattern *p, const int32_t *order,
                         void *starts, void *entries, int32_t *segments)
{
    int64_t n = 0;
    for (int64_t i = 0; i * plan->run_rows < plan->n_ordered; ++i) {
        item it;
        begin_item(&it, plan, p, order, i);
        for (int64_t from = 0; from < p->n_cols && it.n_cut > 0; from += plan->k_block) {
            take_k_block(&it, from + plan->k_block);
            for (int j = 0; segments && j < it.n_segments; ++j) {
                const segment *s = &it.k_block[j];
                integer_put(entries, p->offset_dtype, n + j, s->entry);
                segments[n + j] = (int32_t)(s->count * WEFT_SPMM_MOST_ROWS + s->row);
            }
            n += it.n_segments;
        }
        if (starts)
            integer_put(starts, p->offset_dtype, i + 1, n);
    }
    return n;
}

// Whether segments fit 32 bits. A row that is not long, and so a segment, has at most two row
// chunks of entries.
static bool segments_fit(const weft_spmm_plan *plan)
{
    return plan->row_chunk <= INT32_MAX / (2 * WEFT_SPMM_MOST_ROWS);
}

weft_status weft_spmm_segment(weft_spmm_plan *plan, const weft_pattern *p, const int32_t *order)
{
    if (!segments_fit(plan) || plan->run_rows > WEFT_SPMM_MOST_ROWS)
        return WEFT_OK;
    const size_t offset_size = weft_dtype_size(p->offset_dtype);
    const int64_t n_items = ceil_div(plan->n_ordered, plan->run_rows);
    const int64_t n = cut_items(plan, p, order, NULL, NULL, NULL);
    void *starts = NULL, *entries = NULL, *segments = NULL;
    weft_status status = weft_plan_allocate(&starts, n_items + 1, offset_size);
    if (status == WEFT_OK)
        status = weft_plan_allocate(&entries, n, offset_size);
    if (status == WEFT_OK)
        status = weft_plan_allocate(&segments, n, sizeof(int32_t));
    if (status != WEFT_OK || n == 0)
        goto done;

    cut_items(plan, p, order, starts, entries, segments);
    status = weft_plan_upload(&plan->segment_starts, plan->ctx, starts, n_items + 1, offset_size);
    if (status == WEFT_OK)
        status = weft_plan_upload(&plan->segment_entries, plan->ctx, entries, n, offset_size);
    if (status == WEFT_OK)
        status = weft_plan_upload(&plan->segments, plan->ctx, segments, n, sizeof(int32_t));
done:
    free(starts);
    free(entries);
    free(segments);
    return status;
}
