// SPDX-License-Identifier: Apache-2.0
// Rows of a plan cut where windows of B end: the entries of one row in one window are a segment.
// Those of a block of rows stand window by window and by length within one, so that several rows
// of like length go side by side. segments.clh has what the lists look like.
#include <inttypes.h>
#include <stdlib.h>

#include "arithmetic.h"
#include "context.h"
#include "element.h"
#include "fail.h"
#include "refuse.h"
#include "spmm_pattern.h"

enum {
    MOST_BLOCK_ROWS = 1024, // the more, the more have the same length; sums take L2's place
    LEAST_BLOCK_ROWS = 64,
    WORD_ENTRIES = 4,
    READ_AHEAD = 12, // segments that kernels ask for, of which the last ones have no more
};

typedef struct {
    int64_t entry, count;
    int row; // within the block
} segment;

// The segments of one block: where each of its rows has got to, and those of the window at hand.
typedef struct {
    const weft_pattern *p;
    int64_t next[MOST_BLOCK_ROWS], stop[MOST_BLOCK_ROWS];
    bool is_there[MOST_BLOCK_ROWS]; // a row, and not a long one
    segment window[MOST_BLOCK_ROWS];
    int n_rows, n_window;
} block;

// What a plan lists; NULL arrays are only counted.
typedef struct {
    int64_t n_segments, n_words, n_classes;
    int64_t *blocks;  // where each begins in the others: class, segment, word
    int32_t *classes; // length and count, which is 0 at the end of each window
    uint16_t *rows;
    void *entries;
    uint64_t *words;
} lists;

static int shorter_first(const void *a, const void *b)
{
    const segment *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->row - y->row;
}

static void begin_block(block *b, const weft_spmm_plan *plan, const weft_pattern *p,
                        const int32_t *order, int64_t first)
{
    b->p = p;
    b->n_rows = (int)plan->block_rows;
    for (int r = 0; r < b->n_rows; ++r) {
        const int64_t place = first + r;
        const int64_t row = place >= plan->n_ordered ? -1 : order ? order[place] : place;
        b->is_there[r] = row >= 0 && !weft_pattern_is_long(p, row, plan->piece);
        b->next[r] = b->is_there[r] ? weft_pattern_start(p, row) : 0;
        b->stop[r] = b->is_there[r] ? weft_pattern_start(p, row + 1) : 0;
    }
}

static int64_t column_at(const weft_pattern *p, int64_t e)
{
    return integer_at(p->indices, p->index_dtype, e);
}

// In the first and the last window rows without entries have a segment too: there sums begin and
// end. False where columns go down past the window's start.
static bool take_window(block *b, int64_t from, int64_t limit)
{
    const bool takes_all = from == 0 || limit >= b->p->n_cols;
    b->n_window = 0;
    for (int r = 0; r < b->n_rows; ++r) {
        const int64_t first = b->next[r];
        int64_t e = first, column;
        while (e < b->stop[r] && (column = column_at(b->p, e)) < limit) {
            if (column < from)
                return false;
            ++e;
        }
        b->next[r] = e;
        if (e > first || (takes_all && b->is_there[r]))
            b->window[b->n_window++] = (segment){.entry = first, .count = e - first, .row = r};
    }
    qsort(b->window, (size_t)b->n_window, sizeof(segment), shorter_first);
    return true;
}

static uint64_t word_at(const block *b, const segment *s, int64_t i, int64_t from)
{
    uint64_t word = 0;
    for (int64_t j = i; j < min_i64(i + WORD_ENTRIES, s->count); ++j)
        word |= (uint64_t)((column_at(b->p, s->entry + j) - from) * WEFT_SPMM_PLACE)
                << 16 * (j - i);
    return word;
}

// n rows side by side, their words by turns.
static void put_group(lists *l, const block *b, const segment *s, int n, int64_t from)
{
    for (int g = 0; l->rows && g < n; ++g) {
        l->rows[l->n_segments + g] = (uint16_t)s[g].row;
        integer_put(l->entries, b->p->offset_dtype, l->n_segments + g, s[g].entry);
    }
    l->n_segments += n;
    for (int64_t i = 0; i < s->count; i += WORD_ENTRIES) {
        for (int g = 0; l->words && g < n; ++g)
            l->words[l->n_words + g] = word_at(b, &s[g], i, from);
        l->n_words += n;
    }
}

static void put_class(lists *l, int64_t length, int n)
{
    if (l->classes) {
        l->classes[2 * l->n_classes] = (int32_t)length;
        l->classes[2 * l->n_classes + 1] = n;
    }
    ++l->n_classes;
}

static void put_window(lists *l, const block *b, int group_rows, int64_t from)
{
    for (int i = 0, last; i < b->n_window; i = last) {
        const int64_t length = b->window[i].count;
        for (last = i; last < b->n_window && b->window[last].count == length;)
            ++last;
        put_class(l, length, last - i);
        for (int j = i, n; j < last; j += n) {
            n = last - j >= group_rows ? group_rows : 1;
            put_group(l, b, &b->window[j], n, from);
        }
    }
    put_class(l, 0, 0);
}

// False where columns do not rise from window to window.
static bool cut_blocks(lists *l, block *b, const weft_spmm_plan *plan, const weft_pattern *p,
                       const int32_t *order)
{
    l->n_segments = l->n_words = l->n_classes = 0;
    for (int64_t first = 0; first < plan->n_ordered; first += plan->block_rows) {
        if (l->blocks) {
            int64_t *at = &l->blocks[3 * (first / plan->block_rows)];
            at[0] = l->n_classes;
            at[1] = l->n_segments;
            at[2] = l->n_words;
        }
        begin_block(b, plan, p, order, first);
        for (int64_t from = 0; from < p->n_cols; from += plan->window) {
            if (!take_window(b, from, from + plan->window))
                return false;
            put_window(l, b, plan->group_rows, from);
        }
    }
    return true;
}

static weft_status allocate_lists(lists *l, const weft_spmm_plan *plan)
{
    void *blocks = NULL, *classes = NULL, *rows = NULL, *words = NULL;
    weft_status status = weft_plan_allocate(
        &blocks, 3 * ceil_div(plan->n_ordered, plan->block_rows), sizeof(int64_t));
    if (status == WEFT_OK)
        status = weft_plan_allocate(&classes, 2 * l->n_classes, sizeof(int32_t));
    if (status == WEFT_OK)
        status = weft_plan_allocate(&rows, l->n_segments + READ_AHEAD, sizeof(uint16_t));
    if (status == WEFT_OK)
        status = weft_plan_allocate(&l->entries, l->n_segments + READ_AHEAD,
                                    weft_dtype_size(plan->offset_dtype));
    if (status == WEFT_OK)
        status = weft_plan_allocate(&words, l->n_words + 1, sizeof(uint64_t));
    l->blocks = blocks;
    l->classes = classes;
    l->rows = rows;
    l->words = words;
    return status;
}

static weft_status upload_lists(weft_spmm_plan *plan, const lists *l)
{
    const int64_t n_blocks = ceil_div(plan->n_ordered, plan->block_rows);
    const int64_t n_segments = l->n_segments + READ_AHEAD;
    TRY(weft_plan_upload(&plan->blocks, plan->ctx, l->blocks, 3 * n_blocks, sizeof(int64_t)));
    TRY(weft_plan_upload(&plan->classes, plan->ctx, l->classes, 2 * l->n_classes, sizeof(int32_t)));
    TRY(weft_plan_upload(&plan->segment_rows, plan->ctx, l->rows, n_segments, sizeof(uint16_t)));
    TRY(weft_plan_upload(&plan->segment_entries, plan->ctx, l->entries, n_segments,
                         weft_dtype_size(plan->offset_dtype)));
    return weft_plan_upload(&plan->words, plan->ctx, l->words, l->n_words + 1, sizeof(uint64_t));
}

weft_status weft_spmm_segment(weft_spmm_plan *plan, const weft_pattern *p, const int32_t *order)
{
    const int64_t share = p->n_rows / plan->ctx->limits.compute_units;
    plan->block_rows =
        min_i64(max_i64(pow2_down(max_i64(share, 1)), LEAST_BLOCK_ROWS), MOST_BLOCK_ROWS);
    if (plan->piece > INT32_MAX / 2) // a row that is not long may have two pieces of entries
        return WEFT_OK;
    if (plan->transpose_a) { // each slice would gather its values anew
        refuse("segments", "values of a row of op(A) stand apart");
        return WEFT_OK;
    }
    lists l = {0};
    void *memory = NULL;
    weft_status status = weft_plan_allocate(&memory, 1, sizeof(block));
    if (status != WEFT_OK)
        return status;
    plan->has_segments =
        cut_blocks(&l, memory, plan, p, order) ||
        refuse("segments", "columns go down past windows of %" PRId64, plan->window);
    if (plan->has_segments && plan->n_ordered > 0) {
        status = allocate_lists(&l, plan);
        if (status == WEFT_OK)
            cut_blocks(&l, memory, plan, p, order);
        if (status == WEFT_OK)
            status = upload_lists(plan, &l);
    }
    free(memory);
    free(l.blocks);
    free(l.classes);
    free(l.rows);
    free(l.entries);
    free(l.words);
    return status;
}
