// SPDX-License-Identifier: Apache-2.0
// The row schedule of a plan: the order in which A's rows are distributed.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/fail.h"
#include "base/refuse.h"
#include "base/text.h"
#include "runtime/context.h"
#include "sparse/spmm_order.h"

static const double EVEN_COV = 0.25;  // below: reordering rows gains nothing
static const double EVEN_SHARE = 1.1; // most entries of one unit, relative to the mean
static const double SNAKE_COV = 1.0;  // from here on a snake does not balance the load

static const char *const names[] = {
    [WEFT_SPMM_ROW_SCHEDULE_DEFAULT] = "default",         [WEFT_SPMM_ROW_SCHEDULE_GIVEN] = "given",
    [WEFT_SPMM_ROW_SCHEDULE_SORTED] = "sorted",           [WEFT_SPMM_ROW_SCHEDULE_SNAKE] = "snake",
    [WEFT_SPMM_ROW_SCHEDULE_ALTERNATING] = "alternating", [WEFT_SPMM_ROW_SCHEDULE_QUEUE] = "queue",
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

// The reason for a row schedule, from the lengths of rows and the device.
static weft_spmm_row_schedule_reason reason_for(const weft_spmm_plan *plan, const weft_pattern *p)
{
    const weft_limits *limits = &plan->ctx->limits;
    const bool is_even = plan->rows.cov < EVEN_COV;
    if (plan->n_row_chunks > 0)
        return is_even ? WEFT_SPMM_ROW_SCHEDULE_CUT : WEFT_SPMM_ROW_SCHEDULE_UNEVEN;
    if (is_even)
        return WEFT_SPMM_ROW_SCHEDULE_EVEN;
    return limits->vector_width > 1 && is_balanced(p, limits->compute_units)
               ? WEFT_SPMM_ROW_SCHEDULE_BALANCED
               : WEFT_SPMM_ROW_SCHEDULE_UNEVEN;
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

weft_status weft_spmm_schedule_rows(void **out, weft_spmm_plan *plan, const weft_pattern *p)
{
    if (plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_DEFAULT) {
        plan->row_schedule_reason = reason_for(plan, p);
        plan->row_schedule = schedule_for(plan);
    }
    plan->n_ordered = p->n_rows;
    if (plan->row_schedule == WEFT_SPMM_ROW_SCHEDULE_GIVEN)
        return WEFT_OK;
    const int64_t step = max_i64(plan->run_rows, plan->row_block_rows);
    TRY(weft_plan_allocate(out, p->n_rows + step, sizeof(int32_t)));
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
    default:
        snprintf(text, size, "lengths vary by %.2g of their mean", plan->rows.cov);
        return text;
    }
}

// On GPUs also prints the number of resident row blocks, which decides the row schedule.
int weft_spmm_row_schedule_print(const weft_spmm_plan *plan, const char *unqueued, char *text,
                                 size_t size)
{
    if (unqueued)
        return snprintf(text, size, "%s, as %s", words_of(WEFT_SPMM_ROW_SCHEDULE_SORTED), unqueued);
    const bool counts_row_blocks = plan->row_schedule_reason != WEFT_SPMM_ROW_SCHEDULE_ASKED &&
                                   plan->row_schedule != WEFT_SPMM_ROW_SCHEDULE_GIVEN &&
                                   plan->row_schedule != WEFT_SPMM_ROW_SCHEDULE_ALTERNATING;
    char reason[96], row_blocks[64] = "";
    if (counts_row_blocks)
        snprintf(row_blocks, sizeof(row_blocks), " in %" PRId64 " row blocks, %" PRId64 " at once",
                 row_blocks_of(plan), plan->resident_row_blocks);
    return snprintf(text, size, "%s%s, as %s", words_of(plan->row_schedule), row_blocks,
                    reason_words(plan, reason, sizeof(reason)));
}
