// SPDX-License-Identifier: Apache-2.0
// The list of cases along axes.
#include "bench_axis_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_operand.h"

static const char *const kind_names[] = {
    [BENCH_REDUCE] = "reduce",
    [BENCH_SOFTMAX] = "softmax",
    [BENCH_LOG_SOFTMAX] = "log_softmax",
    [BENCH_SOFTMAX_BACKWARD] = "softmax_backward",
    [BENCH_LAYER_NORM] = "layer_norm",
    [BENCH_RMS_NORM] = "rms_norm",
    [BENCH_LAYER_NORM_BACKWARD] = "layer_norm_backward",
    [BENCH_RMS_NORM_BACKWARD] = "rms_norm_backward",
};

static void name_spec(bench_axis_spec *spec)
{
    char *const name = spec->name;
    const size_t size = sizeof(spec->name);
    size_t n = (size_t)snprintf(name, size, "%s",
                                spec->kind == BENCH_REDUCE ? weft_reduction_name(spec->op)
                                                           : kind_names[spec->kind]);
    for (int d = 0; d < spec->ndim; d++)
        n += (size_t)snprintf(name + n, size - n, "%s%" PRId64, d == 0 ? "-" : "x", spec->shape[d]);
    n += (size_t)snprintf(name + n, size - n, spec->n_axes == 0 ? "-all" : "-axis");
    for (int i = 0; i < spec->n_axes; i++)
        n += (size_t)snprintf(name + n, size - n, "%s%d", i == 0 ? "" : ",", spec->axes[i]);
    snprintf(name + n, size - n, "%s%s%s%s%s", spec->in_place ? "-in_place" : "",
             spec->in_cache ? "-in_cache" : "", spec->dx_alone ? "-dx" : "",
             spec->dtype == WEFT_F32 ? "" : "-",
             spec->dtype == WEFT_F32 ? "" : weft_dtype_name(spec->dtype));
}

// Adds a named copy; the data type is f32 by default.
static bool add(bench_axis_specs *specs, bench_axis_spec spec, complaint *why)
{
    if (specs->count == specs->room) {
        const size_t room = 2 * specs->room + 64;
        bench_axis_spec *items = realloc(specs->items, room * sizeof(*items));
        if (items == NULL)
            return complain(why, "no memory for %zu cases", room);
        specs->items = items;
        specs->room = room;
    }
    if (spec.dtype == WEFT_DEFAULT)
        spec.dtype = WEFT_F32;
    name_spec(&spec);
    specs->items[specs->count++] = spec;
    return true;
}

// ---- reductions

// An array and its reduced axes. An extent of 0 is chosen to fill the array.
typedef struct reduced_shape {
    int ndim;
    int64_t shape[3];
    int n_axes, axes[2];
    bool is_quick, has_more; // more: ops besides sum, max and mean
} reduced_shape;

// In words: wide, 48 and 1 beside the axis; the same at 1024; a few beside it; innermost of long
// rows and of short ones; everything; the outer two; a long axis with few results; two axes apart.
static const reduced_shape reduced_shapes[] = {
    {3, {512, 0, 48}, 1, {0}, false, false},     {3, {512, 0, 48}, 1, {1}, true, true},
    {3, {512, 0, 48}, 1, {2}, false, false},     {3, {64, 0, 1024}, 1, {0}, false, false},
    {3, {64, 0, 1024}, 1, {1}, false, true},     {3, {64, 0, 1024}, 1, {2}, true, true},
    {3, {1024, 0, 3}, 1, {1}, false, false},     {2, {64, 0}, 1, {1}, false, false},
    {2, {0, 16}, 1, {1}, false, false},          {3, {64, 0, 1024}, 0, {0}, true, true},
    {3, {64, 0, 1024}, 2, {0, 1}, false, false}, {2, {0, 48}, 1, {0}, false, false},
    {2, {0, 4}, 1, {0}, false, false},           {3, {64, 0, 1024}, 2, {0, 2}, false, false},
};

static bench_axis_spec reduction_of(const reduced_shape *of, weft_reduction op, weft_dtype dtype,
                                    uint64_t array_bytes)
{
    bench_axis_spec spec = {
        .op = op, .dtype = dtype, .ndim = of->ndim, .n_axes = of->n_axes, .is_goal = true};
    memcpy(spec.shape, of->shape, sizeof(of->shape));
    memcpy(spec.axes, of->axes, sizeof(spec.axes));
    bench_fill_extent(of->ndim, spec.shape, weft_dtype_size(dtype), array_bytes);
    return spec;
}

static bool add_reductions(bench_axis_specs *specs, bool quick, uint64_t array_bytes,
                           complaint *why)
{
    static const weft_reduction plain[] = {WEFT_SUM, WEFT_MAX, WEFT_MEAN};
    static const weft_reduction more[] = {WEFT_ARGMAX, WEFT_VAR, WEFT_LOGSUMEXP};
    static const weft_dtype dtypes[] = {WEFT_F64, WEFT_F16, WEFT_BF16};
    for (size_t i = 0; i < sizeof(reduced_shapes) / sizeof(reduced_shapes[0]); i++) {
        const reduced_shape *of = &reduced_shapes[i];
        if (quick && !of->is_quick)
            continue;
        for (size_t k = 0; k < (quick ? 1 : 3); k++)
            if (!add(specs, reduction_of(of, plain[k], WEFT_F32, array_bytes), why))
                return false;
        for (size_t k = 0; k < 3 && of->has_more && !quick; k++) {
            bench_axis_spec spec = reduction_of(of, more[k], WEFT_F32, array_bytes);
            spec.is_goal = false;
            if (!add(specs, spec, why))
                return false;
        }
    }
    for (size_t t = 0; t < 3 && !quick; t++) {
        bench_axis_spec spec = reduction_of(&reduced_shapes[5], WEFT_SUM, dtypes[t], array_bytes);
        spec.is_goal = false;
        if (!add(specs, spec, why))
            return false;
    }
    static const bench_axis_spec small[] = {
        {.ndim = 2, .shape = {64, 64}, .n_axes = 1, .axes = {1}, .is_small = true},
        {.ndim = 2, .shape = {256, 256}, .in_cache = true}, // quick up to here
        {.ndim = 2, .shape = {64, 64}, .n_axes = 1, .axes = {0}, .is_small = true},
        {.ndim = 2, .shape = {64, 64}, .is_small = true},
        {.op = WEFT_MAX,
         .ndim = 3,
         .shape = {8, 40, 12},
         .n_axes = 1,
         .axes = {1},
         .is_small = true},
        {.ndim = 2, .shape = {1000, 1000}, .n_axes = 1, .axes = {0}, .in_cache = true},
        {.ndim = 2, .shape = {1000, 1000}, .n_axes = 1, .axes = {1}, .in_cache = true},
        {.ndim = 2, .shape = {2000, 2000}, .n_axes = 1, .axes = {1}, .in_cache = true},
        {.ndim = 3, .shape = {32, 197, 768}, .n_axes = 1, .axes = {2}, .in_cache = true},
    };
    for (size_t i = 0; i < (quick ? 2 : sizeof(small) / sizeof(small[0])); i++)
        if (!add(specs, small[i], why))
            return false;
    return true;
}

// ---- softmax and normalisation

static bool add_softmaxes(bench_axis_specs *specs, bool quick, complaint *why)
{
    static const bench_axis_spec cases[] = {
        {.ndim = 2, .shape = {24576, 896}, .is_goal = true},
        {.ndim = 2, .shape = {32, 128}, .is_small = true}, // quick up to here
        {.ndim = 3, .shape = {512, 896, 48}, .is_goal = true},
        {.ndim = 3, .shape = {64, 1000, 1024}, .is_goal = true},
        {.ndim = 3, .shape = {4096, 1024, 16}, .is_goal = true},
        {.kind = BENCH_LOG_SOFTMAX, .ndim = 3, .shape = {512, 896, 48}},
        {.ndim = 3, .shape = {512, 896, 48}, .in_place = true},
        {.dtype = WEFT_F16, .ndim = 3, .shape = {512, 896, 48}},
        {.dtype = WEFT_F64, .ndim = 3, .shape = {512, 896, 48}},
        {.kind = BENCH_SOFTMAX_BACKWARD, .ndim = 3, .shape = {512, 896, 48}},
        {.ndim = 3, .shape = {8, 40, 12}, .is_small = true},
        {.ndim = 2, .shape = {256, 256}, .in_cache = true},
        {.ndim = 2, .shape = {128, 1000}, .in_cache = true},
        {.ndim = 4, .shape = {32, 12, 64, 64}, .axes = {3}, .in_cache = true},
    };
    for (size_t i = 0; i < (quick ? 2 : sizeof(cases) / sizeof(cases[0])); i++) {
        bench_axis_spec spec = cases[i];
        if (spec.kind == BENCH_REDUCE)
            spec.kind = BENCH_SOFTMAX;
        spec.n_axes = 1;
        if (spec.axes[0] == 0)
            spec.axes[0] = 1;
        if (!add(specs, spec, why))
            return false;
    }
    return true;
}

static bool add_norms(bench_axis_specs *specs, bool quick, complaint *why)
{
    static const bench_axis_spec cases[] = {
        {.kind = BENCH_LAYER_NORM, .ndim = 2, .shape = {24576, 896}, .is_goal = true},
        {.kind = BENCH_LAYER_NORM, .ndim = 2, .shape = {32, 128}, .is_small = true},
        {.kind = BENCH_LAYER_NORM, .ndim = 2, .shape = {8192, 4096}, .is_goal = true},
        {.kind = BENCH_RMS_NORM, .ndim = 2, .shape = {24576, 896}},
        {.kind = BENCH_RMS_NORM, .ndim = 2, .shape = {8192, 4096}},
        {.kind = BENCH_LAYER_NORM_BACKWARD, .ndim = 2, .shape = {24576, 896}},
        {.kind = BENCH_LAYER_NORM_BACKWARD, .ndim = 2, .shape = {24576, 896}, .dx_alone = true},
        {.kind = BENCH_LAYER_NORM_BACKWARD, .ndim = 2, .shape = {8192, 4096}},
        {.kind = BENCH_LAYER_NORM_BACKWARD, .ndim = 2, .shape = {32, 128}, .is_small = true},
        {.kind = BENCH_RMS_NORM_BACKWARD, .ndim = 2, .shape = {8192, 4096}},
        {.kind = BENCH_RMS_NORM_BACKWARD, .ndim = 2, .shape = {8192, 4096}, .dx_alone = true},
        {.kind = BENCH_LAYER_NORM, .ndim = 2, .shape = {128, 768}, .in_cache = true},
        {.kind = BENCH_LAYER_NORM, .ndim = 2, .shape = {1024, 1024}, .in_cache = true},
        {.kind = BENCH_RMS_NORM, .ndim = 2, .shape = {1024, 1024}, .in_cache = true},
    };
    for (size_t i = 0; i < (quick ? 2 : sizeof(cases) / sizeof(cases[0])); i++) {
        bench_axis_spec spec = cases[i];
        spec.n_axes = spec.axes[0] = 1;
        if (!add(specs, spec, why))
            return false;
    }
    return true;
}

bool bench_axis_list(bench_axis_specs *out, unsigned sets, bool quick, uint64_t array_bytes,
                     complaint *why)
{
    *out = (bench_axis_specs){0};
    return (!(sets & BENCH_SET_REDUCE) || add_reductions(out, quick, array_bytes, why)) &&
           (!(sets & BENCH_SET_SOFTMAX) || add_softmaxes(out, quick, why)) &&
           (!(sets & BENCH_SET_NORM) || add_norms(out, quick, why));
}

void bench_axis_specs_free(bench_axis_specs *specs)
{
    free(specs->items);
    *specs = (bench_axis_specs){0};
}
