// SPDX-License-Identifier: Apache-2.0
// Limits that a caller filled in: consistency checks, and reduction to a real device.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/fail.h"
#include "base/refuse.h"

static weft_status range_check(const char *field, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
        return fail(WEFT_BAD_ARGUMENT, "limits: %s is %lld, not within %lld to %lld", field,
                    (long long)value, (long long)least, (long long)most);
    return WEFT_OK;
}

static weft_status pow2_check(const char *field, int64_t value, int64_t least, int64_t most)
{
    TRY(range_check(field, value, least, most));
    if (value & (value - 1))
        return fail(WEFT_BAD_ARGUMENT, "limits: %s is %lld, not a power of two", field,
                    (long long)value);
    return WEFT_OK;
}

static weft_status peak_check(const char *field, double value)
{
    if (!(value >= 0) || isinf(value))
        return fail(WEFT_BAD_ARGUMENT, "limits: %s is %g, not a rate", field, value);
    return WEFT_OK;
}

static weft_status subgroup_check(const weft_limits *l)
{
    return l->least_subgroup == 0 ? WEFT_OK
                                  : pow2_check("least_subgroup", l->least_subgroup, 1, 128);
}

static weft_status geometry_check(const weft_limits *l)
{
    TRY(pow2_check("max_block", l->max_block, 1, 1 << 20));
    TRY(pow2_check("warp", l->warp, 1, l->max_block));
    TRY(pow2_check("vector_width", l->vector_width, 1, min_i64(l->max_block, 16)));
    TRY(pow2_check("vectors", l->vectors, 1, 64));
    TRY(pow2_check("max_items_y", l->max_items_y, 1, l->max_block));
    return range_check("max_blocks", l->max_blocks, 1, INT32_MAX);
}

// The most lanes of one item along x.
static int64_t lanes_per_item(const weft_limits *l)
{
    return (int64_t)l->vector_width * l->vectors;
}

// Items that a block of weft_geometry_for() may need along x; along y max_items_y, and never more
// of both together than the larger of these.
static int64_t items_along_x(const weft_limits *l)
{
    return max_i64(l->max_block / lanes_per_item(l), 1);
}

static weft_status items_check(const weft_limits *l)
{
    static const char *const along[] = {"max_items_along[0]", "max_items_along[1]",
                                        "max_items_along[2]"};
    const int64_t least[] = {items_along_x(l), l->max_items_y, 1};
    for (int i = 0; i < 3; i++)
        if (l->max_items_along[i] < (size_t)least[i])
            return fail(WEFT_BAD_ARGUMENT,
                        "limits: %s is %zu, but blocks may need %lld items there", along[i],
                        l->max_items_along[i], (long long)least[i]);
    const int64_t items =
        max_i64(least[0], min_i64(l->max_items_y, l->max_block / l->vector_width));
    if (l->max_items < (size_t)items)
        return fail(WEFT_BAD_ARGUMENT, "limits: max_items is %zu, but blocks may need %lld items",
                    l->max_items, (long long)items);
    return WEFT_OK;
}

static weft_status cache_check(const char *field, uint64_t bytes)
{
    return range_check(field, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes, 0, INT64_C(1) << 40);
}

static weft_status memory_check(const weft_limits *l)
{
    if (l->max_alloc_bytes == 0)
        return fail(WEFT_BAD_ARGUMENT, "limits: max_alloc_bytes is 0");
    if (l->global_bytes == 0)
        return fail(WEFT_BAD_ARGUMENT, "limits: global_bytes is 0");
    TRY(pow2_check("load_bytes", l->load_bytes, 1, 1024));
    TRY(cache_check("l1_bytes", l->l1_bytes));
    TRY(cache_check("l2_bytes", l->l2_bytes));
    TRY(range_check("cache_line_bytes", l->cache_line_bytes, 1, 1 << 20));
    TRY(range_check("compute_units", l->compute_units, 1, INT32_MAX));
    TRY(peak_check("peak_gbps", l->peak_gbps));
    return peak_check("peak_gflops", l->peak_gflops);
}

weft_status weft_limits_check(const weft_limits *limits)
{
    if (!limits)
        return fail(WEFT_BAD_ARGUMENT, "limits: NULL");
    if (!memchr(limits->name, '\0', sizeof(limits->name)))
        return fail(WEFT_BAD_ARGUMENT, "limits: name has no end");
    TRY(range_check("kind", (int64_t)limits->kind, WEFT_DEVICE_OTHER, WEFT_DEVICE_GPU));
    TRY(geometry_check(limits));
    TRY(items_check(limits));
    TRY(subgroup_check(limits));
    TRY(range_check("max_iterations", limits->max_iterations, 0, INT32_MAX));
    return memory_check(limits);
}

// Groups smaller than kernels use if lanes are items and no limit applies.
enum { SMALL_GROUP = 128 };

const char *weft_limits_quirk_at(const weft_limits *limits, size_t i)
{
    const bool is_spread = limits->vector_width == 1;
    const unsigned failed = limits->failed_trials;
    const struct {
        bool is_so;
        const char *words;
    } quirks[] = {
        {failed & WEFT_TRIAL_F64, "double arithmetic went wrong when tried: f64 is refused"},
        {failed & WEFT_TRIAL_F16, "half arithmetic went wrong when tried"},
        {failed & WEFT_TRIAL_FMA, "fma() went wrong when tried: products are rounded, then added"},
        {failed & WEFT_TRIAL_SHUFFLES, "shuffles of sub-groups went wrong when tried: not used"},
        {failed & WEFT_TRIAL_SIZES, "sizes of sub-groups went wrong when tried: none asked for"},
        {failed & WEFT_TRIAL_STREAMS, "stores past the caches went wrong when tried: not used"},
        {failed & WEFT_TRIAL_FETCHES, "asking for memory ahead went wrong when tried: not used"},
        {failed & WEFT_TRIAL_STRUCTS, "copies of structs went wrong when tried: kernels make none"},
        {failed & WEFT_TRIAL_SELECTS,
         "selects between vectors went wrong when tried: items work element by element"},
        {failed & WEFT_TRIAL_VECTORS,
         "vectors end its compiler or keep it for ever: items work element by element"},
        {failed & WEFT_TRIAL_TREES,
         "sums in local memory went wrong when tried: groups have one item"},
        {failed & WEFT_TRIAL_BARRIERS,
         "barriers in loops went wrong when tried: groups have one item"},
        {!limits->has_f64 && !(failed & WEFT_TRIAL_F64), "no double arithmetic: f64 is refused"},
        {!limits->has_f16, "no half arithmetic: f16 is storage, computed in f32"},
        {!limits->has_fma && !(failed & WEFT_TRIAL_FMA), "no fused multiply-add in hardware"},
        {is_spread && !limits->has_subgroups && !(failed & WEFT_TRIAL_SHUFFLES),
         "no sub-groups with shuffles: items exchange values through local memory"},
        {is_spread && !limits->local_is_fast, "local memory is a part of global memory"},
        {is_spread && limits->max_items < SMALL_GROUP,
         "small work-groups: fewer than 128 items share local memory"},
        {is_spread && limits->max_items_along[1] == 1,
         "work-groups along one dimension: one item for each output of a reduction"},
        {limits->max_iterations > 0, "loops that end too early: long sums of one item are wrong"},
    };
    for (size_t at = 0; at < sizeof(quirks) / sizeof(quirks[0]); at++)
        if (quirks[at].is_so && i-- == 0)
            return quirks[at].words;
    return NULL;
}

// The largest power of two that is neither above `most` nor above `size`.
static int pow2_within(int most, size_t size)
{
    return (int)pow2_down((int64_t)min_u64((uint64_t)most, size));
}

// Reduces blocks to groups of max_items; vector_width and vectors are set already.
static void fit_blocks(weft_limits *l)
{
    const size_t items = min_u64(l->max_items, l->max_items_along[0]);
    const int64_t lanes = pow2_within((int)items_along_x(l), items) * lanes_per_item(l);
    l->max_block = (int)min_i64(l->max_block, lanes);
    l->warp = pow2_within(l->warp, (size_t)l->max_block);
    l->max_items_y = pow2_within(l->max_items_y, min_u64(l->max_items, l->max_items_along[1]));
    l->max_items_y = (int)min_i64(l->max_items_y, l->max_block);
}

weft_limits weft_limits_clamp(const weft_limits *wanted, const weft_limits *real)
{
    weft_limits out = *wanted;
    snprintf(out.name, sizeof(out.name), "%.44s on %.44s", wanted->name, real->name);

    out.max_items = min_u64(wanted->max_items, real->max_items);
    for (int i = 0; i < 3; i++)
        out.max_items_along[i] = min_u64(wanted->max_items_along[i], real->max_items_along[i]);
    out.local_bytes = min_u64(wanted->local_bytes, real->local_bytes);
    out.max_alloc_bytes = min_u64(wanted->max_alloc_bytes, real->max_alloc_bytes);
    out.global_bytes = min_u64(wanted->global_bytes, real->global_bytes);

    fit_blocks(&out);

    if (real->max_iterations > 0 &&
        (wanted->max_iterations == 0 || real->max_iterations < wanted->max_iterations))
        out.max_iterations = real->max_iterations;
    out.has_f64 = wanted->has_f64 && real->has_f64;
    out.has_f16 = wanted->has_f16 && real->has_f16;
    out.has_fma = wanted->has_fma && real->has_fma;
    out.peak_gbps = real->peak_gbps;
    out.peak_gflops = real->peak_gflops;
    out = weft_limits_distrust(&out, wanted->failed_trials | real->failed_trials);
    out.has_subgroups = wanted->has_subgroups; // kernels have a fallback
    out.least_subgroup = wanted->least_subgroup;
    return out;
}

weft_limits weft_limits_lowered(const weft_limits *limits, size_t items)
{
    weft_limits lowered = *limits;
    lowered.max_items = items;
    for (int i = 0; i < 3; i++)
        lowered.max_items_along[i] = items;
    weft_limits out = weft_limits_clamp(limits, &lowered);
    memcpy(out.name, limits->name, sizeof(out.name)); // it is still the same device
    // Smaller groups, more of them: as many lanes are resident as before.
    const int64_t blocks = (int64_t)limits->max_blocks * (limits->max_block / out.max_block);
    out.max_blocks = (int)min_i64(blocks, INT32_MAX);
    return out;
}

weft_limits weft_limits_distrust(const weft_limits *limits, unsigned failed)
{
    weft_limits out = *limits;
    out.failed_trials |= failed;
    out.has_f64 = out.has_f64 && !(failed & WEFT_TRIAL_F64);
    out.has_f16 = out.has_f16 && !(failed & WEFT_TRIAL_F16);
    out.has_fma = out.has_fma && !(failed & WEFT_TRIAL_FMA);
    out.has_subgroups = out.has_subgroups && !(failed & WEFT_TRIAL_SHUFFLES);
    if (failed & WEFT_TRIAL_SIZES)
        out.least_subgroup = 0;
    if (failed & (WEFT_TRIAL_SELECTS | WEFT_TRIAL_VECTORS)) { // lanes become items, up to max_items
        out.load_bytes = (int)min_i64(out.load_bytes, (int64_t)sizeof(float));
        out.vector_width = 1;
        fit_blocks(&out);
    }
    if (failed & (WEFT_TRIAL_TREES | WEFT_TRIAL_BARRIERS) && out.max_items > 1)
        out = weft_limits_lowered(&out, 1);
    return out;
}

weft_status weft_limits_fit(bool *fits, weft_limits *limits, size_t wanted, size_t most,
                            bool is_forced, const char *what, const weft_why *why)
{
    *fits = most >= wanted ||
            refuse(why, "larger groups", "%zu items are wanted; the kernel as built takes %zu",
                   wanted, most);
    if (*fits)
        return WEFT_OK;
    if (is_forced || most == 0 || limits->max_items <= most)
        return fail(WEFT_UNSUPPORTED,
                    "%s: groups of %zu items are wanted; the kernel as built takes %zu", what,
                    wanted, most);
    *limits = weft_limits_lowered(limits, most);
    return WEFT_OK;
}

int64_t weft_limits_vector_width(const weft_limits *limits, int64_t bytes, int64_t most)
{
    return min_i64(max_i64((int64_t)limits->vector_width * 4 / bytes, 1), most);
}

int64_t weft_limits_items_along(const weft_limits *limits, int dimension)
{
    const size_t most = limits->max_items < limits->max_items_along[dimension]
                            ? limits->max_items
                            : limits->max_items_along[dimension];
    return pow2_down(most < INT32_MAX ? (int64_t)most : INT32_MAX);
}
