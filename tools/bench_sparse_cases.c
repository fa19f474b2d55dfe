// SPDX-License-Identifier: Apache-2.0
// The lists of sparse layers, products of sparse matrices, sampled products, sparse softmaxes and
// sparse attentions.
#include "bench_sparse_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1, GRAPH_NODES = 32768, GRAPH_DEGREE = 8 };

static const double EVEN = 0.1;

// The new case, zeroed; NULL where memory ran out. Valid until the next one is added.
static bench_sparse_spec *add(bench_sparse_specs *specs, bench_sparse_kind kind, weft_dtype dtype,
                              complaint *why)
{
    if (specs->count == specs->room) {
        const size_t room = 2 * specs->room + 16;
        bench_sparse_spec *items = realloc(specs->items, room * sizeof(*items));
        if (items == NULL) {
            complaint_keep(why, "no memory for %zu cases", room);
            return NULL;
        }
        specs->items = items;
        specs->room = room;
    }
    bench_sparse_spec *spec = &specs->items[specs->count++];
    *spec = (bench_sparse_spec){.kind = kind, .dtype = dtype};
    return spec;
}

static bench_matrix rows(int64_t m, int64_t k, int64_t nnz, double cov)
{
    return (bench_matrix){
        .source = BENCH_LAYER,
        .layer = {.m = m, .k = k, .nnz = nnz, .cov = cov, .seed = SEED},
    };
}

static bench_matrix pruned(int64_t m, int64_t n, int percent)
{
    return rows(m, n, m * n * (100 - percent) / 100, EVEN);
}

static bench_matrix graph(void)
{
    return (bench_matrix){
        .source = BENCH_GRAPH,
        .graph = {.n_nodes = GRAPH_NODES, .degree = GRAPH_DEGREE, .seed = SEED},
    };
}

// ---- layers

static bool add_layer(bench_sparse_specs *specs, bench_sparse_kind kind, const char *end,
                      complaint *why)
{
    enum { WIDTH = 2048, PERCENT = 90, SAMPLES = 128 };
    bench_sparse_spec *spec = add(specs, kind, WEFT_F32, why);
    if (spec == NULL)
        return false;
    spec->matrix = pruned(WIDTH, WIDTH, PERCENT);
    spec->k = SAMPLES;
    spec->goal = kind == BENCH_LINEAR_DW ? BENCH_NO_SPARSE_GOAL : BENCH_LAYER_PASS;
    snprintf(spec->name, sizeof(spec->name), "layer-%dx%d-s%d-n%d%s", WIDTH, WIDTH, PERCENT,
             SAMPLES, end);
    return true;
}

static bool add_all_layers(bench_sparse_specs *specs, complaint *why)
{
    return add_layer(specs, BENCH_LINEAR, "", why) &&
           add_layer(specs, BENCH_LINEAR_DX, "-dx", why) &&
           add_layer(specs, BENCH_LINEAR_DW, "-dw", why);
}

// ---- products of sparse matrices

static bool add_spgemm(bench_sparse_specs *specs, bench_sparse_kind kind, int64_t n, int64_t length,
                       complaint *why)
{
    bench_sparse_spec *spec = add(specs, kind, WEFT_F32, why);
    if (spec == NULL)
        return false;
    spec->matrix = rows(n, n, n * length, EVEN);
    snprintf(spec->name, sizeof(spec->name), "spgemm%s-rows-%" PRId64 "x%" PRId64,
             kind == BENCH_SPGEMM ? "" : "_dense", n, length);
    return true;
}

static bool add_spgemm_graph(bench_sparse_specs *specs, complaint *why)
{
    bench_sparse_spec *spec = add(specs, BENCH_SPGEMM, WEFT_F32, why);
    if (spec == NULL)
        return false;
    spec->matrix = graph();
    snprintf(spec->name, sizeof(spec->name), "spgemm-graph-%d", GRAPH_NODES);
    return true;
}

static bool add_all_spgemm(bench_sparse_specs *specs, bool quick, complaint *why)
{
    static const struct {
        bench_sparse_kind kind;
        int64_t n, length;
        bool is_quick;
    } products[] = {
        {BENCH_SPGEMM, 4096, 41, true},       {BENCH_SPGEMM, 10000, 50, false},
        {BENCH_SPGEMM, 100000, 8, false},     {BENCH_SPGEMM, 500000, 3, false},
        {BENCH_SPGEMM_DENSE, 4096, 41, true}, {BENCH_SPGEMM_DENSE, 8192, 20, false},
    };
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
        if ((!quick || products[i].is_quick) &&
            !add_spgemm(specs, products[i].kind, products[i].n, products[i].length, why))
            return false;
    return quick || add_spgemm_graph(specs, why);
}

// ---- sampled products

static void name_sddmm(bench_sparse_spec *spec, const char *pattern)
{
    snprintf(spec->name, sizeof(spec->name), "sddmm-%s-k%" PRId64 "%s%s%s", pattern, spec->k,
             spec->row_major ? "-row_major" : "", spec->dtype == WEFT_F32 ? "" : "-",
             spec->dtype == WEFT_F32 ? "" : weft_dtype_name(spec->dtype));
}

static bool add_sddmm(bench_sparse_specs *specs, int64_t n, int percent, int64_t k, bool row_major,
                      weft_dtype dtype, complaint *why)
{
    bench_sparse_spec *spec = add(specs, BENCH_SDDMM, dtype, why);
    if (spec == NULL)
        return false;
    char pattern[64];
    spec->matrix = pruned(2048, n, percent);
    spec->k = k;
    spec->row_major = row_major;
    spec->goal = dtype == WEFT_F32 ? BENCH_SDDMM_PRUNED : BENCH_NO_SPARSE_GOAL;
    snprintf(pattern, sizeof(pattern), "pruned-2048x%" PRId64 "-s%d", n, percent);
    name_sddmm(spec, pattern);
    return true;
}

static bool add_sddmm_graph(bench_sparse_specs *specs, int64_t k, complaint *why)
{
    bench_sparse_spec *spec = add(specs, BENCH_SDDMM, WEFT_F32, why);
    if (spec == NULL)
        return false;
    char pattern[64];
    spec->matrix = graph();
    spec->k = k;
    spec->goal = k == 128 ? BENCH_SDDMM_GRAPH : BENCH_NO_SPARSE_GOAL;
    snprintf(pattern, sizeof(pattern), "graph-%d", GRAPH_NODES);
    name_sddmm(spec, pattern);
    return true;
}

// A (0) or B (1), if it has zeros; -a90 or -b90 in the name.
static void add_factor(bench_sparse_spec *spec, int i, int percent)
{
    if (percent == 0)
        return;
    const generate_layer *C = &spec->matrix.layer;
    spec->is_sparse[i] = true;
    spec->factors[i] = pruned(i == 0 ? C->m : C->k, spec->k, percent);
    spec->factors[i].layer.seed = SEED + 1 + i;
    const size_t length = strlen(spec->name);
    snprintf(spec->name + length, sizeof(spec->name) - length, "-%c%d", "ab"[i], percent);
}

// As the gradient of a layer by its weights, over 512 samples: of sparse activations, or sparse
// gradients.
static bool add_sddmm_sparse(bench_sparse_specs *specs, int a_percent, int b_percent,
                             complaint *why)
{
    enum { WIDTH = 2048, PERCENT = 90, SAMPLES = 512 };
    bench_sparse_spec *spec = add(specs, BENCH_SDDMM_SPARSE, WEFT_F32, why);
    if (spec == NULL)
        return false;
    spec->matrix = pruned(WIDTH, WIDTH, PERCENT);
    spec->k = SAMPLES;
    snprintf(spec->name, sizeof(spec->name), "sddmm_sparse-pruned-%dx%d-s%d-k%d", WIDTH, WIDTH,
             PERCENT, SAMPLES);
    add_factor(spec, 0, a_percent);
    add_factor(spec, 1, b_percent);
    return true;
}

static bool add_all_sddmm_sparse(bench_sparse_specs *specs, bool quick, complaint *why)
{
    return add_sddmm_sparse(specs, 0, 90, why) &&
           (quick || (add_sddmm_sparse(specs, 0, 98, why) && add_sddmm_sparse(specs, 90, 0, why) &&
                      add_sddmm_sparse(specs, 90, 90, why)));
}

static bool add_all_sddmm(bench_sparse_specs *specs, bool quick, complaint *why)
{
    static const struct {
        int64_t n;
        int percent;
        int64_t k;
        bool row_major;
        weft_dtype dtype;
        bool is_quick;
    } products[] = {
        {512, 70, 128, false, WEFT_F32, false},   {512, 90, 128, false, WEFT_F32, true},
        {512, 90, 512, false, WEFT_F32, false},   {2048, 70, 128, false, WEFT_F32, false},
        {2048, 90, 128, false, WEFT_F32, false},  {2048, 95, 128, false, WEFT_F32, false},
        {2048, 90, 256, false, WEFT_F32, false},  {2048, 90, 512, false, WEFT_F32, false},
        {2048, 90, 200, false, WEFT_F32, false},  {512, 90, 128, true, WEFT_F32, true},
        {2048, 90, 128, true, WEFT_F32, false},   {2048, 90, 512, true, WEFT_F32, false},
        {2048, 90, 128, false, WEFT_F64, false},  {2048, 90, 128, false, WEFT_F16, false},
        {2048, 90, 128, false, WEFT_BF16, false},
    };
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
        if ((!quick || products[i].is_quick) &&
            !add_sddmm(specs, products[i].n, products[i].percent, products[i].k,
                       products[i].row_major, products[i].dtype, why))
            return false;
    return (quick || (add_sddmm_graph(specs, 128, why) && add_sddmm_graph(specs, 32, why))) &&
           add_all_sddmm_sparse(specs, quick, why);
}

// ---- softmax and attention

static bool add_softmax(bench_sparse_specs *specs, bench_sparse_kind kind, uint64_t array_bytes,
                        int64_t mean, double cov, complaint *why)
{
    bench_sparse_spec *spec = add(specs, kind, WEFT_F32, why);
    if (spec == NULL)
        return false;
    const int64_t m = (int64_t)(array_bytes / sizeof(float)) / mean;
    spec->matrix = rows(m, 16 * mean, m * mean, cov);
    spec->goal = BENCH_SOFTMAX_ROWS;
    snprintf(spec->name, sizeof(spec->name), "softmax%s-rows-%" PRId64 "x%" PRId64 "-v%g",
             kind == BENCH_SPARSE_SOFTMAX ? "" : "_backward", m, mean, cov);
    return true;
}

static bool add_attention(bench_sparse_specs *specs, int64_t n_heads, int64_t n, int percent,
                          int64_t k, complaint *why)
{
    bench_sparse_spec *spec = add(specs, BENCH_SPARSE_ATTENTION, WEFT_F32, why);
    if (spec == NULL)
        return false;
    spec->matrix = pruned(n, n, percent);
    spec->k = k;
    spec->n_heads = n_heads;
    snprintf(spec->name, sizeof(spec->name),
             "attention-%" PRId64 "x%" PRId64 "x%" PRId64 "-s%d-k%" PRId64, n_heads, n, n, percent,
             k);
    return true;
}

static bool add_all_attention(bench_sparse_specs *specs, bool quick, uint64_t array_bytes,
                              complaint *why)
{
    if (quick)
        return add_softmax(specs, BENCH_SPARSE_SOFTMAX, array_bytes / 8, 256, EVEN, why) &&
               add_attention(specs, 2, 512, 90, 64, why);
    return add_softmax(specs, BENCH_SPARSE_SOFTMAX, array_bytes, 512, EVEN, why) &&
           add_softmax(specs, BENCH_SPARSE_SOFTMAX, array_bytes, 256, EVEN, why) &&
           add_softmax(specs, BENCH_SPARSE_SOFTMAX, array_bytes, 64, 0.5, why) &&
           add_softmax(specs, BENCH_SPARSE_SOFTMAX, array_bytes, 8, 1, why) &&
           add_softmax(specs, BENCH_SPARSE_SOFTMAX_BACKWARD, array_bytes, 256, EVEN, why) &&
           add_attention(specs, 8, 2048, 90, 64, why) &&
           add_attention(specs, 8, 2048, 98, 64, why) &&
           add_attention(specs, 4, 1024, 90, 128, why);
}

bool bench_sparse_list(bench_sparse_specs *out, unsigned sets, bool quick, uint64_t array_bytes,
                       complaint *why)
{
    *out = (bench_sparse_specs){0};
    if ((sets & BENCH_SET_LAYERS) && !add_all_layers(out, why))
        return false;
    if ((sets & BENCH_SET_SPGEMM) && !add_all_spgemm(out, quick, why))
        return false;
    if ((sets & BENCH_SET_SDDMM) && !add_all_sddmm(out, quick, why))
        return false;
    return !(sets & BENCH_SET_ATTENTION) || add_all_attention(out, quick, array_bytes, why);
}

void bench_sparse_specs_free(bench_sparse_specs *specs)
{
    free(specs->items);
    *specs = (bench_sparse_specs){0};
}
