// SPDX-License-Identifier: Apache-2.0
// The list of elementwise cases.
#include "bench_elementwise_cases.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_operand.h"

// In shapes, an extent of 0 is chosen to fill the array.
static const bench_formula formulas[] = {
    {"add", "add", BENCH_CONTIGUOUS, WEFT_F32, WEFT_F32, {0, 4096}, {"01", "01"}, BENCH_QUICK},
    {"copy", "copy", BENCH_CONTIGUOUS, WEFT_F32, WEFT_F32, {0, 4096}, {"01"}, 0},
    {"fill", "x", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {0, 4096}, {NULL}, 0},
    {"add_row", "add", BENCH_ROW, WEFT_F32, WEFT_F32, {0, 4096}, {"01", "1"}, BENCH_QUICK},
    {"add_row", "add", BENCH_ROW, WEFT_F32, WEFT_F32, {0, 1000}, {"01", "1"}, 0},
    {"add_row", "add", BENCH_ROW, WEFT_F32, WEFT_F32, {0, 1001}, {"01", "1"}, 0},
    {"add_column", "add", BENCH_COLUMN, WEFT_F32, WEFT_F32, {0, 4096}, {"01", "0"}, 0},
    {"add_middle", "add", BENCH_MIDDLE, WEFT_F32, WEFT_F32, {512, 0, 48}, {"012", "02"}, 0},
    {"cast_f32_f16", "copy", BENCH_CAST, WEFT_F32, WEFT_F16, {0, 4096}, {"01"}, BENCH_QUICK},
    {"cast_f32_bf16", "copy", BENCH_CAST, WEFT_F32, WEFT_BF16, {0, 4096}, {"01"}, 0},
    {"cast_f32_f64", "copy", BENCH_CAST, WEFT_F32, WEFT_F64, {0, 4096}, {"01"}, 0},
    {"cast_f16_f32", "copy", BENCH_CAST, WEFT_F16, WEFT_F32, {0, 4096}, {"01"}, 0},
    {"cast_i32_f32", "copy", BENCH_CAST, WEFT_I32, WEFT_F32, {0, 4096}, {"01"}, 0},
    {"cast_u8_f32", "copy", BENCH_CAST, WEFT_U8, WEFT_F32, {0, 4096}, {"01"}, 0},
    {"chain",
     "max(x * a + b, 0) * 0.5 - b",
     BENCH_CHAIN,
     WEFT_F32,
     WEFT_F32,
     {0, 4096},
     {"01", "01"},
     0},
    {"chain_of_4",
     "x * a + max(b, 0) * c - d",
     BENCH_CHAIN,
     WEFT_F32,
     WEFT_F32,
     {0, 4096},
     {"01", "01", "01", "01"},
     0},
    {"gelu", "gelu(a)", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {0, 4096}, {"01"}, 0},
    {"tanh", "tanh(x * a) * b", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {0, 4096}, {"01", "01"}, 0},
    {"transpose",
     "copy",
     BENCH_TRANSPOSE,
     WEFT_F32,
     WEFT_F32,
     {1, 1},
     {"10"},
     BENCH_SQUARE | BENCH_QUICK},
    {"transpose", "copy", BENCH_TRANSPOSE, WEFT_F32, WEFT_F32, {0, 6000}, {"10"}, 0},
    {"transpose", "copy", BENCH_TRANSPOSE, WEFT_F32, WEFT_F32, {0, 6001}, {"10"}, 0},
    {"add_transposed",
     "a + b",
     BENCH_TRANSPOSE,
     WEFT_F32,
     WEFT_F32,
     {1, 1},
     {"01", "10"},
     BENCH_SQUARE | BENCH_ONE},
    {"add_transposed",
     "a + b",
     BENCH_TRANSPOSE,
     WEFT_F32,
     WEFT_F32,
     {6000, 6000},
     {"01", "10"},
     BENCH_ONE},
    {"permute_0213", "copy", BENCH_PERMUTE, WEFT_F32, WEFT_F32, {0, 16, 512, 64}, {"0213"}, 0},
    {"permute_0312", "copy", BENCH_PERMUTE, WEFT_F32, WEFT_F32, {0, 64, 56, 56}, {"0231"}, 0},
    {"add", "add", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {128, 128}, {"01", "01"}, BENCH_CACHED},
    {"add", "add", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {512, 512}, {"01", "01"}, BENCH_CACHED},
    {"add", "add", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {1024, 1024}, {"01", "01"}, BENCH_CACHED},
    {"add_row", "add", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {512, 768}, {"01", "1"}, BENCH_CACHED},
    {"gelu", "gelu(a)", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {256, 768}, {"01"}, BENCH_CACHED},
    {"transpose", "copy", BENCH_NO_GOAL, WEFT_F32, WEFT_F32, {512, 512}, {"10"}, BENCH_CACHED},
    {"add",
     "add",
     BENCH_NO_GOAL,
     WEFT_F32,
     WEFT_F32,
     {64, 64},
     {"01", "01"},
     BENCH_SMALL | BENCH_QUICK},
    {"add",
     "add",
     BENCH_NO_GOAL,
     WEFT_F32,
     WEFT_F32,
     {64, 64},
     {"01", "01"},
     BENCH_SMALL | BENCH_PLANNED | BENCH_QUICK},
};

enum { N_FORMULAS = sizeof(formulas) / sizeof(formulas[0]) };

static void count_axes(bench_elementwise_spec *spec)
{
    for (int d = 0; d < 4; d++)
        spec->ndim = spec->of.shape[d] > 0 ? d + 1 : spec->ndim;
    while (spec->n_inputs < BENCH_OPERANDS && spec->of.axes[spec->n_inputs] != NULL)
        spec->n_inputs++;
}

static void size_up(bench_elementwise_spec *spec, uint64_t array_bytes)
{
    const size_t in_bytes = weft_dtype_size(spec->of.in), out_bytes = weft_dtype_size(spec->of.out);
    const size_t element_bytes = in_bytes > out_bytes ? in_bytes : out_bytes;
    bench_fill_extent(spec->ndim, spec->of.shape, element_bytes, array_bytes);
    if (!(spec->of.flags & BENCH_SQUARE))
        return;
    int64_t side = 1;
    while (4 * (uint64_t)(side * side) * element_bytes <= array_bytes)
        side *= 2;
    spec->of.shape[0] = spec->of.shape[1] = side;
}

static void name_spec(bench_elementwise_spec *spec)
{
    const size_t size = sizeof(spec->name);
    size_t n = (size_t)snprintf(spec->name, size, "%s", spec->of.title);
    for (int d = 0; d < spec->ndim; d++)
        n += (size_t)snprintf(spec->name + n, size - n, "%s%" PRId64, d == 0 ? "-" : "x",
                              spec->of.shape[d]);
    snprintf(spec->name + n, size - n, "%s",
             spec->of.flags & BENCH_PLANNED  ? "-planned"
             : spec->of.flags & BENCH_CACHED ? "-in_cache"
                                             : "");
}

bool bench_elementwise_list(bench_elementwise_specs *out, bool quick, uint64_t array_bytes,
                            complaint *why)
{
    *out = (bench_elementwise_specs){.items = calloc(N_FORMULAS, sizeof(*out->items))};
    if (out->items == NULL)
        return complain(why, "no memory for %d cases", (int)N_FORMULAS);
    for (int i = 0; i < N_FORMULAS; i++) {
        if (quick && !(formulas[i].flags & BENCH_QUICK))
            continue;
        bench_elementwise_spec *spec = &out->items[out->count++];
        *spec = (bench_elementwise_spec){.of = formulas[i]};
        count_axes(spec);
        size_up(spec, array_bytes);
        name_spec(spec);
    }
    return true;
}

void bench_elementwise_specs_free(bench_elementwise_specs *specs)
{
    free(specs->items);
    *specs = (bench_elementwise_specs){0};
}
