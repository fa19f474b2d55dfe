// SPDX-License-Identifier: Apache-2.0
// Sparse attention by every kind of tiling, whether or not it would be chosen for the device at
// hand, and as it is planned for every known device.
#include "sparse/sparse_attention_plan.h"
#include "sparse_attention_case.h"

static weft_context *ctx;
static int n_cases; // of each tiling

typedef struct variant {
    weft_dtype dtype;
    attention_strides strides;
    weft_sparse_attention_tiling tiling;
} variant;

// vector width, vectors, outputs, lanes, rows_per_group, rows_per_item, row chunk, aligned
#define TILING(f, v, o, l, g, i, p, a)                                                             \
    {                                                                                              \
        .vector_width = f, .vectors = v, .outputs = o, .lanes = l, .rows_per_group = g,            \
        .rows_per_item = i, .row_chunk = p, .aligned = a                                           \
    }

enum { NO_ROW_CHUNKS = 1 << 20 };

static const variant variants[] = {
    // as on CPUs: an item has whole products
    {WEFT_F32, BOTH_ADJACENT, TILING(1, 3, 2, 1, 1, 1, NO_ROW_CHUNKS, false)},
    {WEFT_F32, QK_ADJACENT, TILING(2, 2, 2, 1, 3, 2, 4, false)},
    {WEFT_F32, BOTH_ADJACENT, TILING(4, 1, 3, 1, 1, 3, 5, false)},
    {WEFT_F32, BOTH_ADJACENT, TILING(8, 2, 1, 1, 1, 8, 3, false)},
    {WEFT_F32, BOTH_ADJACENT, TILING(16, 1, 2, 1, 1, 64, 8, false)},
    {WEFT_F64, BOTH_ADJACENT, TILING(8, 1, 1, 1, 1, 1, 3, false)},
    {WEFT_F16, BOTH_ADJACENT, TILING(16, 1, 1, 1, 2, 1, NO_ROW_CHUNKS, false)},
    {WEFT_BF16, NONE_ADJACENT, TILING(4, 2, 1, 1, 1, 2, 2, false)},
    {WEFT_BF16, BOTH_ADJACENT, TILING(4, 2, 1, 1, 1, 2, NO_ROW_CHUNKS, false)},
    {WEFT_BF16, BOTH_ADJACENT, TILING(16, 2, 1, 1, 1, 2, NO_ROW_CHUNKS, false)},
    // by aligned vectors
    {WEFT_F32, BOTH_ADJACENT, TILING(4, 2, 1, 1, 2, 1, 6, true)},
    {WEFT_BF16, BOTH_ADJACENT, TILING(8, 1, 1, 1, 1, 1, 2, true)},
    {WEFT_F16, BOTH_ADJACENT, TILING(2, 1, 2, 2, 2, 1, 3, true)},
    {WEFT_F32, BOTH_ADJACENT, TILING(4, 1, 1, 8, 2, 2, 7, true)},
    // as on GPUs: lanes are items, and join their products
    {WEFT_F32, BOTH_ADJACENT, TILING(1, 1, 1, 2, 3, 1, NO_ROW_CHUNKS, false)},
    {WEFT_F32, BOTH_ADJACENT, TILING(1, 2, 2, 4, 2, 3, 5, false)},
    {WEFT_F32, VO_ADJACENT, TILING(2, 2, 1, 8, 2, 1, 3, false)},
    {WEFT_F32, BOTH_ADJACENT, TILING(1, 1, 2, 16, 2, 1, 1, false)},
    {WEFT_F32, BOTH_ADJACENT, TILING(4, 1, 4, 4, 1, 2, 4, false)},
    {WEFT_F32, NONE_ADJACENT, TILING(1, 8, 1, 64, 1, 1, 16, false)},
    {WEFT_F64, BOTH_ADJACENT, TILING(1, 2, 1, 4, 2, 1, 3, false)},
    {WEFT_F16, BOTH_ADJACENT, TILING(2, 1, 1, 8, 2, 1, 4, false)},
    {WEFT_BF16, BOTH_ADJACENT, TILING(4, 1, 1, 2, 2, 1, 2, false)},
    // products, softmax and sums apart
    {WEFT_F32, BOTH_ADJACENT, {.in_steps = true}},
    {WEFT_F32, NONE_ADJACENT, {.in_steps = true}},
    {WEFT_F64, BOTH_ADJACENT, {.in_steps = true}},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

// k or d: around what all lanes have at once, and several times that.
static int64_t some_length(random_state *random, const weft_sparse_attention_tiling *t, int vectors)
{
    const int64_t vector_width = t->in_steps ? 1 : t->vector_width,
                  tile = t->in_steps ? 5 : vector_width * vectors * t->lanes;
    const int64_t choices[] = {vector_width, tile - 1, tile, tile + 1, 2 * tile, 3 * tile + 1};
    const int64_t length = choices[random_below(random, 6)],
                  whole = length / vector_width * vector_width;
    return length < vector_width ? vector_width : t->aligned ? whole : length;
}

// Rows and columns are two at least: of one the elements would be neighbours.
static attention_case fitting_case(const variant *v, uint64_t seed)
{
    const weft_sparse_attention_tiling *t = &v->tiling;
    random_state random = {seed};
    attention_case of = {.seed = seed, .dtype = v->dtype, .tiling = t};
    attention_vary(&of, v->strides, &random);
    of.m = random_between(&random, 2, 9);
    of.n = random_between(&random, 2, 40);
    of.k = some_length(&random, t, t->vectors);
    of.d = some_length(&random, t, t->outputs);
    of.n_heads = random_below(&random, 3);
    of.n_batches = of.n_heads > 0 ? random_below(&random, 3) : 0;
    for (int i = 0; t->aligned && i < N_OPERANDS; i++) {
        of.layout[i] = ROWS_ALIGNED;
        of.start[i] *= t->vector_width;
    }
    return of;
}

static bool is_taken(const variant *v)
{
    const weft_limits *limits = weft_context_limits(ctx);
    return (v->dtype != WEFT_F64 || limits->has_f64) &&
           (v->tiling.vector_width <= 4 || takes_wide_vectors()) &&
           (size_t)v->tiling.lanes * (size_t)v->tiling.rows_per_group <= limits->max_items;
}

static void test_every_variant(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++) {
        const bool is_wide = variants[i].tiling.vector_width > 4;
        const bool is_wanted = is_taken(&variants[i]) && has_turn_unless(is_wide, i);
        for (int j = 0; is_wanted && j < n_cases; j++) {
            const attention_case one = fitting_case(&variants[i], (uint64_t)(1000 * i + j));
            attention_run(ctx, &one);
        }
    }
}

// What a group of several rows shares, when some have nothing, some a row chunk and some many
// entries.
static void test_groups_of_unlike_rows(void **state)
{
    static const weft_sparse_attention_tiling tilings[] = {
        TILING(1, 1, 1, 4, 4, 3, 3, false),
        TILING(2, 1, 2, 1, 2, 5, 2, false),
    };
    (void)state;
    for (uint64_t seed = 0; seed < 2 * N_ROWS; seed++) {
        const attention_case one = {.seed = seed,
                                    .m = 75,
                                    .n = 24,
                                    .k = 5,
                                    .d = 6,
                                    .rows = (sparse_rows)(seed / 2),
                                    .numbers = seed % 3 ? FRACTIONS : MASKED,
                                    .scale = 0.7,
                                    .tiling = &tilings[seed % 2]};
        attention_run(ctx, &one);
    }
}

// Two ways to the same numbers: each within its bound, and so of the other.
static void test_a_sweep_and_three_steps(void **state)
{
    static const weft_sparse_attention_tiling in_steps = {.in_steps = true};
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        attention_case one = {.seed = seed,
                              .m = n_cases,
                              .n = n_cases + 9,
                              .k = 33,
                              .d = 150,
                              .n_heads = seed / 2,
                              .rows = ROWS_RANDOM,
                              .numbers = seed % 2 ? STEEP : FRACTIONS,
                              .scale = 0.2};
        attention_run(ctx, &one);
        one.tiling = &in_steps;
        attention_run(ctx, &one);
        one.tiling = &variants[0].tiling;
        attention_run(ctx, &one);
    }
}

// ---- as planned

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    static const int64_t lengths[] = {4, 33, 128, 1, 64};
    weft_context *there = open_context(limits);
    for (uint64_t i = seed; i < seed + (uint64_t)(n_cases < 40 ? 2 : 5); i++) {
        const dense_layout layout = lengths[i % 5] % 4 ? ROW_MAJOR : ROWS_ALIGNED;
        const attention_case one = {.seed = i,
                                    .m = 20 + (int64_t)i % 7,
                                    .n = 30 + (int64_t)i % 5,
                                    .k = lengths[i % 5],
                                    .d = lengths[i / 2 % 5],
                                    .n_heads = (int64_t)i % 3,
                                    .rows = (sparse_rows)(i % N_ROWS),
                                    .numbers = (attention_numbers)(i % N_NUMBERS),
                                    .layout = {layout, layout, layout, layout},
                                    .scale = 0.3};
        attention_run(there, &one);
    }
    weft_context_destroy(&there);
}

static void test_as_planned_for_every_known_device(void **state)
{
    (void)state;
    const size_t every = n_cases < 40 ? 5 : 1;
    for (size_t i = 0; i < weft_profile_count(); i += every)
        if (weft_profile_at(i)->vector_width <= 4 || takes_wide_vectors())
            run_profile(weft_profile_at(i), 3 * i);
}

int main(void)
{
    need_device();
    n_cases = is_on("oclgrind") ? 3 : getenv("WEFT_TEST_REDUCED") ? 7 : 40;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_variant),
        cmocka_unit_test(test_groups_of_unlike_rows),
        cmocka_unit_test(test_a_sweep_and_three_steps),
        cmocka_unit_test(test_as_planned_for_every_known_device),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
