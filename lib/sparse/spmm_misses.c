// SPDX-License-Identifier: Apache-2.0
// A simulated cache of rows of B.
#include "sparse/spmm_misses.h"

#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/element.h"
#include "base/fail.h"

// A sample is taken at so many places of an order. At each, entries are read to fill the cache, and
// then counted: so many for each row that the cache has room for.
enum { PLACES = 4, FILLING_ENTRIES = 3, COUNTED_ENTRIES = 12 };

// A list of rows of B from the most to the least recently used one; -1 ends it.
typedef struct {
    int32_t *newer, *older; // of each row in the cache
    char *is_in;
    int32_t newest, oldest;
    int64_t count, room;
} cache;

static void take_out(cache *c, int32_t row)
{
    const int32_t newer = c->newer[row], older = c->older[row];
    *(newer < 0 ? &c->newest : &c->older[newer]) = older;
    *(older < 0 ? &c->oldest : &c->newer[older]) = newer;
    c->is_in[row] = false;
    --c->count;
}

static void put_in(cache *c, int32_t row)
{
    c->newer[row] = -1;
    c->older[row] = c->newest;
    *(c->newest < 0 ? &c->oldest : &c->newer[c->newest]) = row;
    c->newest = row;
    c->is_in[row] = true;
    ++c->count;
}

// Whether the row was not there; it is afterwards.
static bool misses(cache *c, int32_t row)
{
    const bool was_in = c->is_in[row];
    if (was_in && c->newest == row)
        return false;
    if (was_in)
        take_out(c, row);
    else if (c->count == c->room)
        take_out(c, c->oldest);
    put_in(c, row);
    return !was_in;
}

static void clear(cache *c)
{
    while (c->count > 0)
        take_out(c, c->newest);
}

typedef struct {
    int64_t entries, missed;
} counts;

// Reads the rows from a place on, until so many entries are counted after those that fill the
// cache.
static void read_from(counts *out, cache *c, const weft_pattern *p, const int32_t *order, int64_t n,
                      int64_t place, int64_t filling, int64_t counted)
{
    int64_t seen = 0;
    for (; place < n && seen < filling + counted; ++place) {
        const int64_t row = order ? order[place] : place;
        if (row < 0)
            continue;
        for (int64_t e = weft_pattern_start(p, row); e < weft_pattern_start(p, row + 1); ++e) {
            const bool is_missed = misses(c, (int32_t)integer_at(p->indices, p->index_dtype, e));
            out->entries += seen >= filling;
            out->missed += seen >= filling && is_missed;
            ++seen;
        }
    }
    clear(c);
}

// All entries if they are few.
static counts read_sample(cache *c, const weft_pattern *p, const int32_t *order, int64_t n)
{
    counts out = {0};
    const int64_t filling = FILLING_ENTRIES * c->room, counted = COUNTED_ENTRIES * c->room;
    if (p->nnz <= PLACES * (filling + counted)) {
        read_from(&out, c, p, order, n, 0, 0, p->nnz);
        return out;
    }
    for (int i = 0; i < PLACES; ++i)
        read_from(&out, c, p, order, n, n / PLACES * i, filling, counted);
    return out;
}

weft_status weft_spmm_misses(double *out, const weft_pattern *p, const int32_t *order, int64_t n,
                             int64_t room)
{
    cache c = {.newest = -1, .oldest = -1, .room = max_i64(room, 1)};
    void *newer = NULL, *older = NULL, *is_in = NULL;
    weft_status status = weft_plan_allocate(&newer, p->n_cols, sizeof(int32_t));
    if (status == WEFT_OK)
        status = weft_plan_allocate(&older, p->n_cols, sizeof(int32_t));
    if (status == WEFT_OK)
        status = weft_plan_allocate(&is_in, p->n_cols, 1);
    if (status == WEFT_OK) {
        c.newer = newer;
        c.older = older;
        c.is_in = is_in;
        const counts sample = read_sample(&c, p, order, n);
        *out = sample.entries > 0 ? (double)sample.missed / (double)sample.entries : 0;
    }
    free(newer);
    free(older);
    free(is_in);
    return status;
}
