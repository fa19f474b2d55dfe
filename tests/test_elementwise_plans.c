// SPDX-License-Identifier: Apache-2.0
// Elementwise operations by every kind of tiling, whether or not it would be chosen for the device
// at hand, and as planned for known devices of every make.
#include "elementwise/elementwise_plan.h"
#include "elementwise_case.h"
#include "tilings.h"

#include <inttypes.h>
#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

static const elementwise_formula sum = {.text = "a + b + c + d"};
static const elementwise_formula copy_c = {.text = "c"};
static const elementwise_formula copy = {.text = "a"};

// ---- tilings that are forced

// Of blocks, as they are; grid_x is found.
#define CUT(f, v, i, t, c, r, y, z)                                                                \
    {                                                                                              \
        .vector_width = f, .vectors = v, .items = i, .items_y = t, .columns = c, .rows = r,        \
        .grid_y = y, .grid_z = z                                                                   \
    }
#define TILES(f, i, t, c, y, z)                                                                    \
    {                                                                                              \
        .vector_width = f, .vectors = 1, .items = i, .items_y = t, .tiled = true, .columns = c,    \
        .rows = c, .grid_y = y, .grid_z = z                                                        \
    }
#define HIGH_TILES(f, c, r, y, z)                                                                  \
    {                                                                                              \
        .vector_width = f, .vectors = 1, .items = 1, .items_y = 1, .tiled = true, .columns = c,    \
        .rows = r, .grid_y = y, .grid_z = z                                                        \
    }
#define ALIGNED(f, v, i, t, c, r, y, z)                                                            \
    {                                                                                              \
        .vector_width = f, .vectors = v, .items = i, .items_y = t, .aligned = true, .columns = c,  \
        .rows = r, .grid_y = y, .grid_z = z                                                        \
    }

typedef struct variant {
    const char *what;
    weft_elementwise_tiling tiling;
} variant;

static const variant variants[] = {
    {"single elements", CUT(1, 1, 1, 1, 100, 3, 2, 2)},
    {"single elements, several at a time", CUT(1, 4, 1, 1, 17, 1, 5, 1)},
    {"vectors of 2", CUT(2, 2, 1, 1, 30, 4, 1, 1)},
    {"vectors of 4", CUT(4, 4, 1, 1, 33, 2, 3, 2)},
    {"vectors of 8", CUT(8, 2, 1, 1, 64, 5, 2, 9)},
    {"vectors of 16", CUT(16, 4, 1, 1, 1 << 20, 1 << 20, 1, 1)},
    {"vectors of 16 in blocks", CUT(16, 1, 1, 1, 31, 3, 2, 1)},
    {"8 vectors at a time", CUT(4, 8, 1, 1, 70, 1, 70, 3)},
    {"blocks transposed in vectors of 2", TILES(2, 1, 1, 8, 2, 1)},
    {"blocks transposed in vectors of 4", TILES(4, 1, 1, 16, 1, 2)},
    {"blocks transposed in vectors of 8", TILES(8, 1, 1, 32, 3, 1)},
    {"blocks transposed in vectors of 16", TILES(16, 1, 1, 64, 1, 1)},
    {"blocks of one tile", TILES(16, 1, 1, 16, 2, 2)},
    {"blocks of parts of tiles", TILES(16, 1, 1, 24, 3, 1)},
    {"blocks less than a tile", TILES(8, 1, 1, 5, 7, 2)},
    {"high blocks in vectors", HIGH_TILES(4, 8, 40, 1, 2)},
    {"items", CUT(1, 1, 16, 1, 16, 3, 4, 1)},
    {"items, several at a time", CUT(1, 4, 8, 1, 40, 1, 2, 2)},
    {"items and items_y", CUT(1, 2, 8, 4, 16, 6, 1, 3)},
    {"large groups", CUT(1, 4, 32, 8, 128, 8, 3, 2)},
    {"items_y alone", CUT(1, 1, 1, 8, 5, 16, 1, 1)},
    {"items with vectors", CUT(4, 2, 4, 2, 33, 4, 2, 1)},
    {"blocks transposed by a group", TILES(1, 8, 4, 8, 2, 1)},
    {"blocks larger than a group", TILES(1, 8, 2, 16, 1, 2)},
    {"blocks transposed by one item's items_y", TILES(1, 4, 1, 8, 3, 3)},
    {"groups as large as a block", TILES(1, 4, 4, 4, 2, 2)},
    {"groups larger than a block", TILES(1, 8, 8, 4, 2, 2)},
    {"large blocks", TILES(1, 32, 8, 32, 2, 3)},
    {"blocks of one item", TILES(1, 1, 1, 4, 2, 2)},
    {"aligned pairs", ALIGNED(2, 1, 8, 2, 16, 2, 3, 1)},
    {"aligned vectors of 4", ALIGNED(4, 1, 8, 4, 32, 4, 2, 2)},
    {"aligned, several at a time", ALIGNED(4, 4, 4, 1, 64, 2, 2, 2)},
    {"aligned, one item", ALIGNED(4, 2, 1, 1, 40, 1 << 20, 1, 1)},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static bool device_holds(const variant *v)
{
    return (v->tiling.vector_width == 1 || takes_vectors()) &&
           (size_t)v->tiling.items * (size_t)v->tiling.items_y <=
               weft_context_limits(ctx)->max_items;
}

// Adjacent, the same all along, and unless all is to be aligned strided and across. Gaps keep loops
// from being merged.
static elementwise_case case_of(bool aligned, int64_t rows, int64_t columns, uint64_t seed)
{
    elementwise_case of = {.seed = seed,
                           .n_inputs = 4,
                           .n_outputs = 1,
                           .formulas = {&sum, &copy_c},
                           .ndim = 3,
                           .shape = {3, rows, columns},
                           .aligned = aligned};
    const int64_t gap = 4 - columns % 4;
    for (int k = 0; k < 4; k++)
        of.in[k].gap = gap;
    of.out[0].gap = of.out[1].gap = gap;
    of.in[1].ones = seed % 2 ? 4 : 6; // columns, and rows
    if (aligned)
        return of;
    of.in[2].layout = LAYOUT_TRANSPOSED;
    of.in[3].layout = LAYOUT_SPACED;
    return of;
}

static void expect_words(const variant *v, const elementwise_case *of,
                         const elementwise_operands *o)
{
    char sizes[96], tiling[256];
    const char *words = elementwise_words(o);
    snprintf(sizes, sizeof(sizes), "3 x %" PRId64 " x %" PRId64 " (", of->shape[1], of->shape[2]);
    weft_elementwise_tiling_print(of->tiling, tiling, sizeof(tiling));
    // Where an input is the one before it transposed round, in vectors.
    const bool pairs = of->in[1].twin && v->tiling.tiled && v->tiling.vector_width > 1 &&
                       v->tiling.columns == v->tiling.rows;
    if (strncmp(words, sizes, strlen(sizes)) != 0 || !strstr(words, tiling) ||
        pairs != (strstr(words, "; in pairs") != NULL))
        fail_msg("%s: %s", v->what, words);
}

static void run_variant(weft_context *there, const variant *v, elementwise_case of)
{
    elementwise_operands o;
    weft_elementwise_tiling tiling = v->tiling;
    tiling.grid_x = (of.shape[2] + tiling.columns - 1) / tiling.columns;
    of.tiling = &tiling;
    if (!elementwise_is_possible(there, &of))
        return;
    elementwise_create(&o, there, &of);
    expect_words(v, &of, &o);
    elementwise_call(&o);
    elementwise_check(&o);
    elementwise_destroy(&o);
}

// Blocks and tiles that are whole, one off, and several; fewer elements than a vector has.
static void test_every_tiling(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{64, 128}, {33, 65}, {31, 63}, {5, 3},
                                        {2, 200},  {70, 2},  {17, 16}, {9, 130}};
    for (int i = 0; i < N_VARIANTS; i++)
        for (int j = 0; j < 8 && device_holds(&variants[i]); j++) {
            const bool aligned = variants[i].tiling.aligned;
            if (!is_reduced || (j + i) % 8 == 1)
                run_variant(ctx, &variants[i],
                            case_of(aligned, shapes[j][0], shapes[j][1], (uint64_t)(100 * i + j)));
        }
}

// Narrow elements beside wide ones, a second output, and both inputs across.
static void test_tilings_of_other_types(void **state)
{
    (void)state;
    static const weft_dtype some[][4] = {{WEFT_U8, WEFT_F16, WEFT_BF16, WEFT_I32},
                                         {WEFT_U8, WEFT_I64, WEFT_U8, WEFT_I32},
                                         {WEFT_F64, WEFT_F32, WEFT_U8, WEFT_F16}};
    for (int i = is_reduced ? 4 : 0; i < N_VARIANTS; i += is_reduced ? 8 : 2) {
        const bool aligned = variants[i].tiling.aligned;
        elementwise_case of = case_of(aligned, 37, 75, 5000 + (uint64_t)i);
        for (int k = 0; k < 4; k++)
            of.in[k].dtype = some[i % 3][k];
        of.in[3].layout = aligned ? LAYOUT_DENSE : LAYOUT_TRANSPOSED;
        of.n_outputs = 2;
        of.first[1] = 2;
        of.out[0].dtype = some[i % 3][2];
        of.out[1].dtype = some[i % 3][0];
        of.out[1].layout = aligned ? LAYOUT_DENSE : LAYOUT_SPACED;
        if (device_holds(&variants[i]))
            run_variant(ctx, &variants[i], of);
    }
}

// z + z^T: blocks and their mirror images.
static elementwise_case twins_of(int64_t side, uint64_t seed)
{
    elementwise_case of = case_of(false, side, side, seed);
    of.in[1].ones = 0;
    of.in[1].layout = LAYOUT_DENSE;
    of.in[1].twin = true;
    of.in[3].ones = 4;
    return of;
}

static void test_tilings_of_twins(void **state)
{
    (void)state;
    static const int64_t sides[] = {64, 75, 9};
    for (int i = 0; i < N_VARIANTS; i++)
        for (int j = 0; j < 3 && variants[i].tiling.tiled && device_holds(&variants[i]); j++) {
            if (!is_reduced || (i + j) % 8 == 1)
                run_variant(ctx, &variants[i], twins_of(sides[j], 5500 + (uint64_t)(3 * i + j)));
        }
}

// Where caches hold nothing, what is written goes past them, if it is aligned; and every other
// output is not.
static void test_tilings_past_the_caches(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.cache_bytes = 1;
    weft_context *there = open_context(&limits);
    for (int i = is_reduced ? 4 : 0; i < N_VARIANTS; i += is_reduced ? 8 : 1)
        for (int j = 0; j < 4 && device_holds(&variants[i]); j++) {
            const bool aligned = variants[i].tiling.aligned;
            elementwise_case of = j < 2 || aligned ? case_of(aligned, 40, 144, 5700 + (uint64_t)i)
                                                   : twins_of(80, 5700);
            of.out[0].gap = aligned || j % 2 == 0 ? 16 : 3;
            run_variant(there, &variants[i], of);
        }
    weft_context_destroy(&there);
}

// Blocks wide enough that rows are written from wherever vectors are aligned: a vector may end in
// the next block, of which a row may have nothing else.
static void test_transposed_rows_that_begin_anywhere(void **state)
{
    (void)state;
    static const variant broad[] = {
        {"wide blocks in vectors of 2", TILES(2, 1, 1, 16, 2, 1)},
        {"wide blocks in vectors of 4", TILES(4, 1, 1, 37, 1, 2)},
        {"wide blocks in vectors of 8", HIGH_TILES(8, 64, 10, 1, 1)},
        {"wide blocks in vectors of 16", HIGH_TILES(16, 128, 16, 2, 1)},
        {"blocks of several strips", HIGH_TILES(4, 600, 5, 2, 1)},
        {"blocks of several bands", HIGH_TILES(4, 300, 150, 2, 1)},
    };
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_U8, WEFT_I64};
    weft_limits limits = *weft_context_limits(ctx);
    limits.cache_bytes = 1;
    weft_context *there = open_context(&limits);
    for (int i = 0; i < (int)(sizeof(broad) / sizeof(broad[0])); i++)
        for (int j = is_reduced ? i : 0; j < 20 && device_holds(&broad[i]);
             j += is_reduced ? 7 : 1) {
            const int64_t block = broad[i].tiling.columns, more[] = {0, 1, 3, 17, -1};
            const uint64_t seed = 5800 + (uint64_t)(20 * i + j);
            const int64_t rows = broad[i].tiling.rows > 128 ? broad[i].tiling.rows + 7 : 19;
            elementwise_case of = case_of(false, rows, block * (1 + j % 3) + more[j % 5], seed);
            of.out[0].dtype = types[j % 4];
            of.out[0].gap = 1 + j % 3;
            of.over = of.out[0].dtype == WEFT_F32 && j >= 12 ? 1 : 0;
            run_variant(there, &broad[i], of);
        }
    weft_context_destroy(&there);
}

// Where an input is the output, and read across beside it.
static void test_tilings_in_place(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i += is_reduced ? 9 : 3) {
        elementwise_case of = case_of(variants[i].tiling.aligned, 40, 50, 6000 + (uint64_t)i);
        of.over = 1;
        if (device_holds(&variants[i]))
            run_variant(ctx, &variants[i], of);
    }
}

// ---- as planned for known devices

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    static const int64_t shapes[][2] = {{33, 65}, {1, 4000}, {200, 40}, {64, 256}, {300, 7}};
    weft_context *there = open_context(limits);
    elementwise_case of =
        case_of(false, shapes[seed % 5][0] / (is_reduced ? 4 : 1) + 1, shapes[seed % 5][1], seed);
    elementwise_run(there, &of);
    // Aligned, and of single bytes: where an item writes four of them at once.
    of = case_of(true, 20, shapes[seed % 5][1] / 4 * 4, seed);
    for (int k = 0; k < 4; k++)
        of.in[k].dtype = seed % 2 ? WEFT_U8 : WEFT_F16;
    of.out[0].dtype = of.in[0].dtype;
    elementwise_run(there, &of);
    // A transpose alone.
    of = (elementwise_case){.seed = seed,
                            .n_inputs = 1,
                            .n_outputs = 1,
                            .formulas = {&copy},
                            .in = {{.layout = LAYOUT_TRANSPOSED}},
                            .ndim = 2,
                            .shape = {is_reduced ? 40 : 130, is_reduced ? 33 : 260}};
    elementwise_run(there, &of);
    weft_context_destroy(&there);
}

static void test_as_planned_for_known_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i += is_reduced ? 6 : 3)
        if (takes_vectors() || weft_profile_at(i)->vector_width == 1)
            run_profile(weft_profile_at(i), i / 3);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tiling),
        cmocka_unit_test(test_tilings_of_other_types),
        cmocka_unit_test(test_tilings_of_twins),
        cmocka_unit_test(test_tilings_past_the_caches),
        cmocka_unit_test(test_transposed_rows_that_begin_anywhere),
        cmocka_unit_test(test_tilings_in_place),
        cmocka_unit_test(test_as_planned_for_known_devices),
    };
    const int failed = cmocka_run_group_tests_name("elementwise plans", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
