// SPDX-License-Identifier: Apache-2.0
// The list of dense products.
#include "bench_matmul_cases.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const bench_product products[] = {
    {"square", BENCH_MATMUL_SQUARE, BENCH_FMA, 1, 512, 512, 512, WEFT_F32, BENCH_MATMUL_QUICK},
    {"square", BENCH_MATMUL_SQUARE, BENCH_FMA, 1, 768, 768, 768, WEFT_F32, 0},
    {"square", BENCH_MATMUL_SQUARE, BENCH_FMA, 1, 1024, 1024, 1024, WEFT_F32, 0},
    {"square", BENCH_MATMUL_SQUARE, BENCH_FMA, 1, 1536, 1536, 1536, WEFT_F32, 0},
    {"square", BENCH_MATMUL_SQUARE, BENCH_FMA, 1, 2048, 2048, 2048, WEFT_F32, 0},
    {"transposed_a", BENCH_MATMUL_TRANSPOSED, BENCH_FMA, 1, 1024, 1024, 1024, WEFT_F32,
     BENCH_TRANSPOSED_A},
    {"transposed_b", BENCH_MATMUL_TRANSPOSED, BENCH_FMA, 1, 1024, 1024, 1024, WEFT_F32,
     BENCH_TRANSPOSED_B},
    {"square", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 1024, 1024, 1024, WEFT_F64, 0},
    {"square", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 1024, 1024, 1024, WEFT_F16, 0},
    {"square", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 1024, 1024, 1024, WEFT_BF16, 0},
    {"layer", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 2048, 128, 2048, WEFT_F32, 0},
    {"batch", BENCH_MATMUL_BATCH, BENCH_FMA, 512, 64, 64, 64, WEFT_F32, BENCH_MATMUL_QUICK},
    {"matvec", BENCH_MATMUL_VECTOR, BENCH_READ, 1, 8192, 1, 8192, WEFT_F32, BENCH_MATMUL_QUICK},
    {"transposed_matvec", BENCH_MATMUL_VECTOR, BENCH_READ, 1, 8192, 1, 8192, WEFT_F32,
     BENCH_TRANSPOSED_A},
    {"vecmat", BENCH_MATMUL_VECTOR, BENCH_READ, 1, 1, 8192, 8192, WEFT_F32, 0},
    {"few_rows", BENCH_NO_MATMUL_GOAL, BENCH_READ, 1, 8, 4096, 4096, WEFT_F32, 0},
    {"long_k", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 64, 64, 262144, WEFT_F32, 0},
    {"short_k", BENCH_NO_MATMUL_GOAL, BENCH_COPY, 1, 4096, 4096, 4, WEFT_F32, BENCH_MATMUL_QUICK},
    {"in_cache", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 16, 16, 16, WEFT_F32, 0},
    {"in_cache", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 32, 32, 32, WEFT_F32, 0},
    {"in_cache", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 64, 64, 64, WEFT_F32, 0},
    {"in_cache", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 128, 128, 128, WEFT_F32, 0},
    {"in_cache", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 256, 256, 256, WEFT_F32, 0},
    {"in_cache", BENCH_NO_MATMUL_GOAL, BENCH_FMA, 1, 37, 1000, 333, WEFT_F32, 0},
};

enum { N_PRODUCTS = sizeof(products) / sizeof(products[0]) };

static void name_spec(bench_matmul_spec *spec)
{
    const bench_product *of = &spec->of;
    char batch[24] = "";
    if (of->batch > 1)
        snprintf(batch, sizeof(batch), "%" PRId64 "-", of->batch);
    snprintf(spec->name, sizeof(spec->name), "%s-%s%" PRId64 "x%" PRId64 "x%" PRId64 "%s%s",
             of->title, batch, of->m, of->n, of->k, of->dtype == WEFT_F32 ? "" : "-",
             of->dtype == WEFT_F32 ? "" : weft_dtype_name(of->dtype));
}

size_t bench_matmul_list(bench_matmul_spec *out, bool quick)
{
    size_t count = 0;
    static_assert((int)N_PRODUCTS <= (int)BENCH_MATMUL_CASES, "room for all");
    for (int i = 0; i < N_PRODUCTS; i++) {
        if (quick && !(products[i].flags & BENCH_MATMUL_QUICK))
            continue;
        out[count] = (bench_matmul_spec){.of = products[i]};
        name_spec(&out[count++]);
    }
    return count;
}
