// SPDX-License-Identifier: Apache-2.0
// The row schedule of a plan: the order in which A's rows are distributed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/caches.h"
#include "base/fail.h"
#include "base/os.h"
#include "base/refuse.h"
#include "base/text.h"
#include "runtime/context.h"
#include "sparse/spmm_misses.h"
#include "sparse/spmm_order.h"
#include "sparse/spmm_reuse.h"

static const double EVEN_COV = 0.25;  // below: reordering rows gains nothing
static const double EVEN_SHARE = 1.1; // most entries of one unit, relative to the mean
static const double SNAKE_COV = 1.0;  // from here on a snake does not balance the load

// From so many row blocks of each unit on a CPU's units take them in pieces of at most so many, as
// they finish.
enum { MANY_ROW_BLOCKS = 128, MOST_PIECE = 64 };

static const char REUSE[] = "rows ordered for reuse";
static const double REUSE_LINES = 2.5;      // of B that are saved, for each that comes instead
static const double PROMISED_MISSES = 0.94; // of those in A's order: at most, after the first step

static const char *const names[] = {
    [WEFT_SPMM_ROW_SCHEDULE_DEFAULT] = "default",
    [WEFT_SPMM_ROW_SCHEDULE_GIVEN] = "given",
    [WEFT_SPMM_ROW_SCHEDULE_SORTED] = "sorted",
    [WEFT_SPMM_ROW_SCHEDULE_SNAKE] = "snake",
    [WEFT_SPMM_ROW_SCHEDULE_ALTERNATING] = "alternating",
    [WEFT_SPMM_ROW_SCHEDULE_QUEUE] = "queue",
    [WEFT_SPMM_ROW_SCHEDULE_REUSE] = "reuse",
};

enum { N_ROW_SCHEDULES = sizeof(names) / sizeof(names[0]) };

const char *weft_spmm_row_schedule_name(weft_spmm_row_schedule schedule)
{
    return (int)schedule >= 0 && (int)schedule < N_ROW_SCHEDULES ? names[schedule] : NULL;
}

bool weft_spmm_row_schedule_find(const char *name, weft_spmm_row_schedule *schedule)
{
    const int found = text_among(names, N_ROW_SCHEDULES, name);
    if (found >= 0)
        *schedule = (weft_spmm_row_schedule)found;
    return found >= 0;
}

// The rows that are not long, longest first; rows of equal length in A's order.
static weft_status sort_rows(int32_t *sorted, int64_t *n_sorted, const weft_pattern *p,
                             int64_t row_chunk)
{
    int64_t most = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (!weft_pattern_is_long(p, row, row_chunk))
            most = max_i64(most, weft_pattern_length(p, row));
    void *memory = NULL;
    TRY(weft_plan_allocate(&memory, most + 2, sizeof(int64_t)));
    int64_t *place = memory; // place[most - length]: position of the next row of that length
    *n_sorted = 0;
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (!weft_pattern_is_long(p, row, row_chunk)) {
            place[most - weft_pattern_length(p, row) + 1]++;
            ++*n_sorted;
        }
    for (int64_t i = 0; i < most; ++i)
        place[i + 1] += place[i];
    for (int64_t row = 0; row < p->n_rows; ++row)
        if (!weft_pattern_is_long(p, row, row_chunk))
            sorted[place[most - weft_pattern_length(p, row)]++] = (int32_t)row;
    free(memory);
    return WEFT_OK;
}

// A run of neighbouring rows, which one item of a CPU computes.
typedef struct {
    int64_t first_row, nnz;
} run;

static int heavier_first(const void *a, const void *b)
{
    const run *x = a, *y = b;
    if (x->nnz != y->nnz)
        return x->nnz > y->nnz ? -1 : 1;
    return x->first_row < y->first_row ? -1 : 1;
}

static void weigh_runs(run *runs, int64_t n_runs, int64_t run_rows, const weft_pattern *p,
                       int64_t row_chunk)
{
    for (int64_t i = 0; i < n_runs; ++i) {
        runs[i] = (run){.first_row = i * run_rows};
        for (int64_t row = i * run_rows; row < min_i64((i + 1) * run_rows, p->n_rows); ++row)
            runs[i].nnz +=
                weft_pattern_is_long(p, row, row_chunk) ? 0 : weft_pattern_length(p, row);
    }
}

// Runs stay whole, so that A and C stream. The heaviest run is first, then the lightest, the second
// heaviest and so on: any share of the groups has about the same share of the entries. -1 stands
// for long rows and rows beyond the last one.
static weft_status alternate_runs(int32_t *order, int64_t n_runs, int64_t run_rows,
                                  const weft_pattern *p, int64_t row_chunk)
{
    void *memory = NULL;
    TRY(weft_plan_allocate(&memory, n_runs, sizeof(run)));
    run *runs = memory;
    weigh_runs(runs, n_runs, run_rows, p, row_chunk);
    qsort(runs, (size_t)n_runs, sizeof(run), heavier_first);
    for (int64_t i = 0; i < n_runs; ++i) {
        const run *next = i % 2 == 0 ? &runs[i / 2] : &runs[n_runs - 1 - i / 2];
        for (int64_t j = 0; j < run_rows; ++j) {
            const int64_t row = next->first_row + j;
            const bool is_there = row < p->n_rows && !weft_pattern_is_long(p, row, row_chunk);
            order[i * run_rows + j] = is_there ? (int32_t)row : -1;
        }
    }
    free(memory);
    return WEFT_OK;
}

// Distributes row blocks in rounds of one for each unit, forwards and backwards in turn: a unit
// with the longest of one round has the shortest of the next. -1 stands for missing rows of the
// last row block.
static weft_status distribute_snake(int32_t *order, int64_t *n_ordered, int64_t row_block,
                                    int64_t units)
{
    const int64_t n = *n_ordered, n_row_blocks = ceil_div(n, row_block);
    void *memory = NULL;
    TRY(weft_plan_allocate(&memory, n, sizeof(int32_t)));
    int32_t *sorted = memory;
    for (int64_t i = 0; i < n; ++i)
        sorted[i] = order[i];
    for (int64_t b = 0; b < n_row_blocks; ++b) {
        const int64_t round = b / units, first = round * units;
        const int64_t count = min_i64(units, n_row_blocks - first);
        const int64_t place = round % 2 == 0 ? b : first + count - 1 - (b - first);
        for (int64_t j = 0; j < row_block; ++j)
            order[place * row_block + j] = b * row_block + j < n ? sorted[b * row_block + j] : -1;
    }
    *n_ordered = n_row_blocks * row_block;
    free(memory);
    return WEFT_OK;
}

static int64_t row_blocks_of(const weft_spmm_plan *plan)
{
    return ceil_div(plan->rows.n_rows, plan->row_block_rows);
}

// Whether runs of equally many neighbouring rows, one for each unit, have about equally many
// entries.
static bool is_balanced(const weft_pattern *p, int64_t units)
{
    const int64_t each = ceil_div(p->n_rows, units);
    for (int64_t first = 0; first < p->n_rows; first += each) {
        const int64_t last = min_i64(first + each, p->n_rows);
        const int64_t entries = weft_pattern_start(p, last) - weft_pattern_start(p, first);
        if ((double)entries * (double)p->n_rows >
            EVEN_SHARE * (double)p->nnz * (double)(last - first))
            return false;
    }
    return true;
}

static int64_t entries_of(const weft_spmm_plan *plan, const weft_pattern *p, const int32_t *order,
                          int64_t from, int64_t to)
{
    int64_t entries = 0;
    for (int64_t place = from; place < to; ++place) {
        const int64_t row = order ? order[place] : place;
        if (!weft_pattern_is_long(p, row, plan->row_chunk))
            entries += weft_pattern_length(p, row);
    }
    return entries;
}

// Whether a CPU's units get about equally many entries if they take pieces of an order's row
// blocks as they finish: equal parts of those that remain.
static weft_status is_shared_out(bool *out, const weft_spmm_plan *plan, const weft_pattern *p,
                                 const int32_t *order, int64_t n)
{
    const int64_t units = max_i64(plan->ctx->limits.compute_units, 1);
    void *memory = NULL;
    TRY(weft_plan_allocate(&memory, units, sizeof(int64_t)));
    int64_t *loads = memory, all = 0, most = 0;
    for (int64_t place = 0; place < n;) {
        const int64_t left = ceil_div(n - place, plan->row_block_rows);
        const int64_t piece = min_i64(ceil_div(left, units), MOST_PIECE) * plan->row_block_rows;
        const int64_t stop = min_i64(place + piece, n);
        int64_t *least = loads;
        for (int64_t i = 1; i < units; ++i)
            least = loads[i] < *least ? &loads[i] : least;
        const int64_t entries = entries_of(plan, p, order, place, stop);
        *least += entries;
        all += entries;
        most = max_i64(most, *least);
        place = stop;
    }
    *out = (double)most * (double)units <= EVEN_SHARE * (double)all;
    free(memory);
    return WEFT_OK;
}

// Whether A's order suits a CPU's units.
static weft_status is_given_balanced(bool *out, const weft_spmm_plan *plan, const weft_pattern *p)
{
    const int64_t units = plan->ctx->limits.compute_units;
    *out = plan->n_row_chunks == 0 && is_balanced(p, units);
    return *out || row_blocks_of(plan) < MANY_ROW_BLOCKS * units
               ? WEFT_OK
               : is_shared_out(out, plan, p, NULL, p->n_rows);
}

// The reason for a row schedule, from the lengths of rows and the device.
static weft_status find_reason(weft_spmm_plan *plan, const weft_pattern *p)
{
    const bool is_even = plan->rows.cov < EVEN_COV;
    bool is_balanced = false;
    if (!is_even && plan->ctx->limits.vector_width > 1)
        TRY(is_given_balanced(&is_balanced, plan, p));
    plan->row_schedule_reason = is_balanced               ? WEFT_SPMM_ROW_SCHEDULE_BALANCED
                                : !is_even                ? WEFT_SPMM_ROW_SCHEDULE_UNEVEN
                                : plan->n_row_chunks == 0 ? WEFT_SPMM_ROW_SCHEDULE_EVEN
                                                          : WEFT_SPMM_ROW_SCHEDULE_CUT;
    return WEFT_OK;
}

// On GPUs lanes wait for each other: a group gets rows of similar length. On CPUs, where a group is
// one core's task, it gets runs of neighbouring rows, so that A and C stream; in A's order if that
// is balanced.
static weft_spmm_row_schedule schedule_for(const weft_spmm_plan *plan)
{
    const weft_limits *limits = &plan->ctx->limits;
    const weft_why *why = plan->ctx->why;
    const double cov = plan->rows.cov;
    if (plan->row_schedule_reason == WEFT_SPMM_ROW_SCHEDULE_EVEN) {
        refuse(why, "rows in another order", "lengths vary by %.2g of their mean: %g is even", cov,
               EVEN_COV);
        return WEFT_SPMM_ROW_SCHEDULE_GIVEN;
    }
    if (plan->row_schedule_reason == WEFT_SPMM_ROW_SCHEDULE_BALANCED) {
        refuse(why, "rows in another order", "neighbouring rows give each of %d units its share",
               limits->compute_units);
        return WEFT_SPMM_ROW_SCHEDULE_GIVEN;
    }
    refuse(why, "rows as given", "lengths vary by %.2g of their mean, with %" PRId64 " row chunks",
           cov, plan->n_row_chunks);
    if (limits->vector_width > 1)
        return WEFT_SPMM_ROW_SCHEDULE_ALTERNATING;
    if (row_blocks_of(plan) <= plan->resident_row_blocks) {
        refuse(why, "rows distributed or from a queue",
               "all %" PRId64 " row blocks are resident at once", row_blocks_of(plan));
        return WEFT_SPMM_ROW_SCHEDULE_SORTED;
    }
    // Groups, longest first, start as others end: the device itself acts as a queue.
    refuse(why, "rows from a queue", "only where it is asked for");
    if (cov < SNAKE_COV)
        return WEFT_SPMM_ROW_SCHEDULE_SNAKE;
    refuse(why, "rows distributed in a snake",
           "lengths vary by %.2g of their mean: less than %g is wanted", cov, SNAKE_COV);
    return WEFT_SPMM_ROW_SCHEDULE_SORTED;
}

static weft_status allocate_order(void **out, const weft_spmm_plan *plan, const weft_pattern *p)
{
    const int64_t step = max_i64(plan->run_rows, plan->row_block_rows);
    return weft_plan_allocate(out, p->n_rows + step, sizeof(int32_t));
}

bool weft_spmm_reuse_pays(const weft_limits *limits, const weft_spmm_plan *plan, double saved,
                          int64_t k, int64_t row_bytes)
{
    enum { LINE_BYTES = 64, ENTRIES_OF_LINE = 16 };
    const int64_t cache_bytes =
        max_i64(clamped_i64(limits->cache_bytes), weft_caches_of(limits).l2_bytes);
    const double lines = (double)ceil_div(row_bytes, LINE_BYTES), length = plan->rows.mean;
    const double others = 1 + 2 * (1 + length / ENTRIES_OF_LINE) + lines; // offsets, entries, C
    if (k <= cache_bytes / 2 / row_bytes)
        return refuse(plan->ctx->why, REUSE,
                      "%" PRId64 " rows of B of %" PRId64
                      " bytes are in half of a cache of %" PRId64,
                      k, row_bytes, cache_bytes);
    return length * saved * lines >= REUSE_LINES * others ||
           refuse(plan->ctx->why, REUSE,
                  "a row of A would save %.3g lines of B for %.3g others: %g times are wanted",
                  length * saved * lines, others, REUSE_LINES);
}

// Whether the order that was found pays.
static weft_status pays(bool *out, const weft_spmm_plan *plan, const weft_pattern *p,
                        const int32_t *order, int64_t n)
{
    const weft_limits *limits = &plan->ctx->limits;
    *out = weft_spmm_reuse_pays(limits, plan, plan->given_misses - plan->misses, p->n_cols,
                                plan->b_row_bytes);
    if (!*out || limits->vector_width == 1)
        return WEFT_OK;
    TRY(is_shared_out(out, plan, p, order, n));
    *out = *out || refuse(plan->ctx->why, REUSE, "%d units would get different shares of entries",
                          limits->compute_units);
    return WEFT_OK;
}

// Whether an order could pay at all: each row of B that is read misses once.
static bool could_pay(const weft_spmm_plan *plan, const weft_pattern *p)
{
    const double least = (double)min_i64(p->n_cols, p->nnz) / (double)max_i64(p->nnz, 1);
    return weft_spmm_reuse_pays(&plan->ctx->limits, plan, plan->given_misses - least, p->n_cols,
                                plan->b_row_bytes);
}

// Lists rows for reuse; if the caller has not asked for it, only if that pays.
static weft_status find_reuse(bool *found, int32_t *order, weft_spmm_plan *plan,
                              const weft_pattern *p)
{
    const bool is_asked = plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_REUSE;
    const int64_t room = plan->cache_rows;
    int64_t n = 0;
    TRY(weft_spmm_misses(&plan->given_misses, p, NULL, p->n_rows, room));
    *found = is_asked || could_pay(plan, p);
    if (!*found)
        return WEFT_OK;
    const double most = is_asked ? 2 : PROMISED_MISSES * plan->given_misses;
    TRY(weft_spmm_order_for_reuse(order, &n, found, p, plan->row_chunk, room, most));
    if (!*found)
        refuse(plan->ctx->why, REUSE, "rows share too few columns");
    if (!*found)
        return WEFT_OK;
    TRY(weft_spmm_misses(&plan->misses, p, order, n, room));
    if (!is_asked)
        TRY(pays(found, plan, p, order, n));
    if (*found)
        plan->n_ordered = n;
    return WEFT_OK;
}

static weft_status try_reuse(void **out, weft_spmm_plan *plan, const weft_pattern *p)
{
    const double start = weft_clock();
    bool found = false;
    TRY(allocate_order(out, plan, p));
    TRY(find_reuse(&found, *out, plan, p));
    plan->reuse_ms = 1e3 * (weft_clock() - start);
    if (!found) {
        free(*out);
        *out = NULL;
    } else if (plan->row_schedule != WEFT_SPMM_ROW_SCHEDULE_REUSE) {
        plan->row_schedule = WEFT_SPMM_ROW_SCHEDULE_REUSE;
        plan->row_schedule_reason = WEFT_SPMM_ROW_SCHEDULE_NEARER;
    }
    return WEFT_OK;
}

// Whether a better order is worth looking for, where rows would come as given.
static bool may_reuse(const weft_spmm_plan *plan, const weft_pattern *p)
{
    if (plan->row_schedule_reason == WEFT_SPMM_ROW_SCHEDULE_ASKED)
        return plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_REUSE;
    if (plan->row_schedule != WEFT_SPMM_ROW_SCHEDULE_GIVEN)
        return refuse(plan->ctx->why, REUSE, "rows are ordered by length");
    if (plan->is_b_near)
        return refuse(plan->ctx->why, REUSE, "k-blocks or a copy bring B near");
    return weft_spmm_reuse_pays(&plan->ctx->limits, plan, 1, p->n_cols, plan->b_row_bytes);
}

weft_status weft_spmm_schedule_rows(void **out, weft_spmm_plan *plan, const weft_pattern *p)
{
    if (plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_DEFAULT) {
        TRY(find_reason(plan, p));
        plan->row_schedule = schedule_for(plan);
    }
    plan->n_ordered = p->n_rows;
    if (may_reuse(plan, p))
        return try_reuse(out, plan, p);
    if (plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_GIVEN)
        return WEFT_OK;
    TRY(allocate_order(out, plan, p));
    if (plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_ALTERNATING) {
        const int64_t n_runs = ceil_div(p->n_rows, plan->run_rows);
        plan->n_ordered = n_runs * plan->run_rows;
        return alternate_runs(*out, n_runs, plan->run_rows, p, plan->row_chunk);
    }
    TRY(sort_rows(*out, &plan->n_ordered, p, plan->row_chunk));
    return plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_SNAKE
               ? distribute_snake(*out, &plan->n_ordered, plan->row_block_rows,
                                  plan->ctx->limits.compute_units)
               : WEFT_OK;
}

static const char *words_of(weft_spmm_row_schedule schedule)
{
    static const char *const words[] = {
        [WEFT_SPMM_ROW_SCHEDULE_GIVEN] = "rows as given",
        [WEFT_SPMM_ROW_SCHEDULE_SORTED] = "rows sorted by length",
        [WEFT_SPMM_ROW_SCHEDULE_SNAKE] = "rows sorted by length and distributed in a snake",
        [WEFT_SPMM_ROW_SCHEDULE_ALTERNATING] = "runs of rows alternating",
        [WEFT_SPMM_ROW_SCHEDULE_QUEUE] = "rows sorted by length and taken from a queue",
        [WEFT_SPMM_ROW_SCHEDULE_REUSE] = "rows ordered for reuse",
    };
    return words[schedule];
}

static const char *reason_words(const weft_spmm_plan *plan, char *text, size_t size)
{
    switch (plan->row_schedule_reason) {
    case WEFT_SPMM_ROW_SCHEDULE_ASKED:
        return "asked for";
    case WEFT_SPMM_ROW_SCHEDULE_BALANCED:
        snprintf(text, size, "neighbouring ones give each of %d units its share",
                 plan->ctx->limits.compute_units);
        return text;
    case WEFT_SPMM_ROW_SCHEDULE_CUT:
        return "long ones are cut";
    case WEFT_SPMM_ROW_SCHEDULE_NEARER:
        return "neighbours share columns";
    default:
        snprintf(text, size, "lengths vary by %.2g of their mean", plan->rows.cov);
        return text;
    }
}

// What decides the row schedule: on GPUs the number of resident row blocks; of one for reuse what
// it costs and gains.
static void print_numbers(const weft_spmm_plan *plan, char *text, size_t size)
{
    const bool counts_row_blocks = plan->row_schedule_reason != WEFT_SPMM_ROW_SCHEDULE_ASKED &&
                                   plan->row_schedule != WEFT_SPMM_ROW_SCHEDULE_GIVEN &&
                                   plan->row_schedule != WEFT_SPMM_ROW_SCHEDULE_ALTERNATING;
    *text = '\0';
    if (plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_REUSE)
        snprintf(text, size,
                 " (a cache of %" PRId64 " rows of B misses %.2f of its reads in place of %.2f,"
                 " found in %.3g ms)",
                 plan->cache_rows, plan->misses, plan->given_misses, plan->reuse_ms);
    else if (counts_row_blocks)
        snprintf(text, size, " in %" PRId64 " row blocks, %" PRId64 " at once", row_blocks_of(plan),
                 plan->resident_row_blocks);
}

int weft_spmm_row_schedule_print(const weft_spmm_plan *plan, const char *unqueued, char *text,
                                 size_t size)
{
    if (unqueued)
        return snprintf(text, size, "%s, as %s", words_of(WEFT_SPMM_ROW_SCHEDULE_SORTED), unqueued);
    char reason[96], numbers[128];
    print_numbers(plan, numbers, sizeof(numbers));
    return snprintf(text, size, "%s%s, as %s", words_of(plan->row_schedule), numbers,
                    reason_words(plan, reason, sizeof(reason)));
}
