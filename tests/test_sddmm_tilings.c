// SPDX-License-Identifier: Apache-2.0
// SDDMM by every kind of tiling, whether or not it would be chosen for the device at hand, and as
// it is planned for every known device.
#include "sddmm_case.h"
#include "sparse/sddmm_plan.h"

static weft_context *ctx;
static weft_context *joined; // where plans want sub-groups, which hand sums from lane to lane
static bool is_reduced;

// Strides along k, which are parts of a program as a tiling is: neighbours or not.
typedef enum along {
    BOTH,    // A's and B's elements are neighbours
    A_ALONE, // A's are, and B's columns
    NEITHER,
} along;

typedef struct variant {
    weft_dtype dtype;
    along along;
    weft_sddmm_tiling tiling;
} variant;

// vector width, vectors, lanes, chunks_per_group, entries, passes, packed, aligned
#define TILING(f, v, l, s, e, p, b, a)                                                             \
    {                                                                                              \
        .vector_width = f, .vectors = v, .lanes = l, .chunks_per_group = s, .entries = e,          \
        .passes = p, .packed = b, .aligned = a                                                     \
    }

// The same for rows side by side through column blocks of so many columns.
#define COLUMN_BLOCKS(w, f, v, s, e, b)                                                            \
    {                                                                                              \
        .vector_width = f, .vectors = v, .lanes = 1, .chunks_per_group = s, .entries = e,          \
        .passes = true, .packed = b, .column_block = w                                             \
    }

// Lanes that read all of B transposed, by passes and by aligned vectors or not.
#define TRANSPOSED(f, v, l, s, e, p, a)                                                            \
    {                                                                                              \
        .vector_width = f, .vectors = v, .lanes = l, .chunks_per_group = s, .entries = e,          \
        .passes = p, .transposed = true, .aligned = a                                              \
    }

static const variant variants[] = {
    // as on CPUs: whole dot products, or sums that wait for further tiles
    {WEFT_F32, BOTH, TILING(1, 3, 1, 1, 16, false, false, false)},
    {WEFT_F32, A_ALONE, TILING(2, 2, 1, 3, 16, true, false, false)},
    {WEFT_F32, BOTH, TILING(4, 2, 1, 2, 32, false, false, false)},
    {WEFT_F32, BOTH, TILING(8, 1, 1, 1, 16, true, false, false)},
    {WEFT_F32, BOTH, TILING(16, 2, 1, 1, 64, true, false, false)},
    {WEFT_F64, BOTH, TILING(8, 1, 1, 1, 16, false, false, false)},
    {WEFT_F16, BOTH, TILING(16, 1, 1, 1, 32, true, false, false)},
    {WEFT_BF16, NEITHER, TILING(4, 1, 1, 1, 16, false, false, false)},
    {WEFT_BF16, BOTH, TILING(8, 2, 1, 1, 16, false, false, false)},
    {WEFT_BF16, BOTH, TILING(16, 2, 1, 1, 16, false, false, false)},
    // columns asked for ahead
    {WEFT_F32,
     BOTH,
     {.vector_width = 4,
      .vectors = 1,
      .lanes = 1,
      .chunks_per_group = 1,
      .entries = 32,
      .ahead = 2}},
    // rows side by side through column blocks
    {WEFT_F32, BOTH, COLUMN_BLOCKS(1, 2, 3, 1, 32, false)},
    {WEFT_F32, BOTH, COLUMN_BLOCKS(5, 4, 2, 3, 64, false)},
    {WEFT_F32, BOTH, COLUMN_BLOCKS(40, 1, 2, 1, 48, false)},
    {WEFT_F32, BOTH, COLUMN_BLOCKS(20, 16, 16, 1, 128, false)},
    {WEFT_F32, NEITHER, COLUMN_BLOCKS(2, 2, 2, 2, 48, false)},
    {WEFT_F32, A_ALONE, COLUMN_BLOCKS(4, 4, 1, 1, 32, true)},
    {WEFT_F64, BOTH, COLUMN_BLOCKS(3, 8, 2, 1, 64, false)},
    {WEFT_F16, BOTH, COLUMN_BLOCKS(6, 4, 3, 1, 32, false)},
    {WEFT_BF16, BOTH, COLUMN_BLOCKS(3, 8, 2, 1, 48, false)},
    {WEFT_BF16, A_ALONE, COLUMN_BLOCKS(7, 4, 2, 2, 32, true)},
    // by more vectors than eight, whose sums are joined by fours
    {WEFT_F32, BOTH, COLUMN_BLOCKS(3, 2, 9, 1, 32, false)},
    {WEFT_F32, BOTH, COLUMN_BLOCKS(2, 1, 16, 1, 32, false)},
    {WEFT_F32, A_ALONE, COLUMN_BLOCKS(4, 4, 12, 1, 48, true)},
    {WEFT_F64, BOTH, COLUMN_BLOCKS(9, 8, 10, 1, 64, false)},
    {WEFT_BF16, BOTH, COLUMN_BLOCKS(5, 4, 10, 1, 48, false)},
    {WEFT_F32, BOTH, TILING(4, 9, 1, 1, 16, true, false, false)},
    // and by aligned ones
    {WEFT_F32,
     BOTH,
     {.vector_width = 4,
      .vectors = 2,
      .lanes = 1,
      .chunks_per_group = 1,
      .entries = 32,
      .passes = true,
      .aligned = true,
      .column_block = 3}},
    // of B packed
    {WEFT_F32, BOTH, TILING(4, 3, 1, 2, 16, true, true, false)},
    {WEFT_F32, A_ALONE, TILING(4, 1, 1, 1, 16, true, true, false)},
    {WEFT_F32, A_ALONE, TILING(16, 1, 1, 1, 16, true, true, false)},
    {WEFT_F32, NEITHER, TILING(1, 2, 4, 2, 16, true, true, false)},
    {WEFT_F16, A_ALONE, TILING(8, 1, 1, 1, 16, true, true, false)},
    {WEFT_BF16, A_ALONE, TILING(2, 1, 2, 2, 16, true, true, false)},
    // by aligned vectors
    {WEFT_F32, BOTH, TILING(4, 1, 1, 2, 16, false, false, true)},
    {WEFT_BF16, BOTH, TILING(8, 1, 1, 1, 16, false, false, true)},
    {WEFT_BF16, BOTH, TILING(4, 2, 1, 1, 16, false, false, false)},
    {WEFT_BF16, A_ALONE, TILING(2, 4, 1, 1, 16, true, true, false)},
    {WEFT_F16, BOTH, TILING(2, 1, 2, 2, 16, false, false, true)},
    {WEFT_F32, BOTH, TILING(4, 2, 4, 2, 16, true, true, true)},
    // as on GPUs: lanes are items, and join their sums
    {WEFT_F32, BOTH, TILING(1, 1, 4, 2, 16, false, false, false)},
    {WEFT_F32, BOTH, TILING(1, 2, 16, 2, 16, false, false, false)},
    {WEFT_F32, BOTH, TILING(4, 1, 8, 4, 32, true, false, false)},
    {WEFT_F32, A_ALONE, TILING(2, 2, 2, 3, 16, false, false, false)},
    {WEFT_F32, BOTH, TILING(1, 1, 64, 1, 64, false, false, false)},
    {WEFT_F64, BOTH, TILING(1, 1, 4, 2, 16, true, false, false)},
    {WEFT_F16, BOTH, TILING(2, 1, 8, 2, 16, false, false, false)},
    {WEFT_BF16, BOTH, TILING(4, 1, 2, 2, 16, false, false, false)},
    // of B transposed
    {WEFT_F32, A_ALONE, TRANSPOSED(4, 2, 8, 4, 16, false, true)},
    {WEFT_F32, A_ALONE, TRANSPOSED(2, 1, 4, 3, 32, true, false)},
    {WEFT_F64, NEITHER, TRANSPOSED(1, 2, 2, 5, 16, true, false)},
    {WEFT_F16, A_ALONE, TRANSPOSED(4, 1, 4, 2, 16, true, true)},
    {WEFT_BF16, A_ALONE, TRANSPOSED(2, 2, 1, 1, 16, false, false)},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static int64_t random_k(random_state *random, const weft_sddmm_tiling *t)
{
    const int64_t tile = (int64_t)t->vector_width * t->vectors * t->lanes;
    const int64_t choices[] = {
        t->vector_width, tile - 1,     tile,
        tile + 1,        2 * tile,     2 * tile - t->vector_width * t->lanes,
        3 * tile - 1,    3 * tile + 1,
    };
    const int64_t k = choices[random_below(random, 8)];
    const int64_t whole = k / t->vector_width * t->vector_width;
    return k < t->vector_width ? t->vector_width : t->aligned && whole > 0 ? whole : k;
}

static dense_layout some_layout(random_state *random, const weft_sddmm_tiling *t, bool is_adjacent)
{
    return t->aligned && is_adjacent ? ROWS_ALIGNED
           : is_adjacent             ? (dense_layout)random_below(random, ROWS_BACKWARDS + 1)
                         : (dense_layout)random_between(random, COLUMN_MAJOR, COLUMNS_APART);
}

// Starts, layouts and a batch that the tiling can bear. Rows and columns are two at least: of one
// the elements along k would be neighbours.
static sddmm_case fitting_case(const variant *v, uint64_t seed)
{
    static const double scalars[] = {1, -2, 0.5};
    const weft_sddmm_tiling *t = &v->tiling;
    random_state random = {seed};
    sddmm_case of = {.seed = seed, .dtype = v->dtype, .tiling = t};
    of.m = random_between(&random, 2, 9);
    of.n = random_between(&random, 2, t->entries / 2);
    of.k = random_k(&random, t);
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (sddmm_numbers)random_below(&random, WILD_INPUT);
    of.alpha = scalars[random_below(&random, 3)];
    of.beta = random_below(&random, 2) ? scalars[random_below(&random, 3)] : 0;
    of.n_batches = random_below(&random, 3);
    of.own_values = random_below(&random, 2);
    of.has_wide_d = weft_dtype_size(v->dtype) == 2 && v->tiling.vectors > 1;
    of.output = random_below(&random, 4) == 0 && !of.has_wide_d ? C_VALUES : OWN_ARRAY;
    of.gap = random_below(&random, 3);
    of.offsets_start = random_below(&random, 3);
    of.indices_start = random_below(&random, 6);
    of.values_start = random_below(&random, 6);
    of.a_layout = some_layout(&random, t, v->along != NEITHER);
    of.b_layout = some_layout(&random, t, v->along == BOTH);
    of.a_start = (t->aligned ? t->vector_width : 1) * random_below(&random, 3);
    of.b_start = (t->aligned ? t->vector_width : 1) * random_below(&random, 3);
    of.d_start = random_below(&random, 6);
    return of;
}

static bool is_taken(const variant *v, const weft_context *there)
{
    const weft_limits *limits = weft_context_limits(there);
    return (v->dtype != WEFT_F64 || limits->has_f64) &&
           (v->tiling.vector_width <= 4 || takes_wide_vectors()) &&
           (size_t)v->tiling.lanes * (size_t)v->tiling.chunks_per_group <= limits->max_items;
}

static void run_variant(weft_context *there, int i, int n_cases)
{
    for (int j = 0; is_taken(&variants[i], there) && j < n_cases; j++) {
        const sddmm_case one = fitting_case(&variants[i], (uint64_t)(1000 * i + j));
        sddmm_run(there, &one);
    }
}

static void test_every_variant(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++)
        if (has_turn_unless(variants[i].tiling.vector_width > 4, i))
            run_variant(ctx, i, is_reduced ? 7 : 40);
}

static void test_lanes_that_hand_sums_down(void **state)
{
    (void)state;
    assert_true(weft_context_limits(joined)->has_subgroups);
    for (int i = 0; i < N_VARIANTS; i += is_reduced ? 3 : 1)
        if (variants[i].tiling.lanes > 1)
            run_variant(joined, i, is_reduced ? 5 : 30);
}

// Slices that end within a row, at its end and behind empty rows, group after group.
static void test_chunks_of_any_rows(void **state)
{
    (void)state;
    static const weft_sddmm_tiling tilings[] = {
        TILING(2, 1, 1, 2, 16, true, false, false),
        TILING(1, 1, 2, 4, 16, false, false, false),
        COLUMN_BLOCKS(3, 2, 1, 2, 16, false),
    };
    for (uint64_t seed = 0; seed < 3 * N_ROWS; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = 75,
                                .n = 24,
                                .k = 5,
                                .rows = (sparse_rows)(seed / 3),
                                .alpha = 1,
                                .tiling = &tilings[seed % 3]};
        sddmm_run(ctx, &one);
    }
}

// Several times as many as go side by side, in one chunk.
static void test_more_rows_than_go_side_by_side(void **state)
{
    (void)state;
    static const weft_sddmm_tiling tiling = COLUMN_BLOCKS(4, 2, 1, 1, 16384, false);
    for (uint64_t seed = 0; seed < N_ROWS; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = is_reduced ? 300 : 1100,
                                .n = 14,
                                .k = 5,
                                .n_batches = (int64_t)seed % 3,
                                .rows = (sparse_rows)seed,
                                .alpha = 1,
                                .tiling = &tiling};
        sddmm_run(ctx, &one);
    }
}

// ---- as planned

static void run_column_blocks(weft_context *there, bool are_planned)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        const sddmm_case one = {.seed = seed,
                                .m = 70,
                                .n = 80,
                                .k = 95 + 3 * (int64_t)seed,
                                .rows = seed == 3 ? ROWS_REPEATED : ROWS_FULL,
                                .indicator = seed == 2,
                                .b_layout = seed == 1 ? COLUMN_MAJOR : ROW_MAJOR,
                                .alpha = 1};
        char text[512];
        sddmm_operands o;
        sddmm_create(&o, there, weft_context_queue(there), &one);
        weft_sddmm_params params = sddmm_params(&o);
        params.tiling = NULL;
        assert_true(
            weft_sddmm_describe(there, &o.A, &o.B, &o.C, &o.D, &params, text, sizeof(text)) > 0);
        if ((strstr(text, ", column_block ") != NULL) != are_planned)
            fail_msg("seed %d: %s", (int)seed, text);
        sddmm_destroy(&o);
        sddmm_run(there, &one);
    }
}

// On a core with little cache, and not where there is no room for sums that wait.
static void test_column_blocks_as_planned(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("arm-graviton2");
    limits.compute_units = 1;
    limits.l2_bytes = 4096;
    weft_context *there = open_context(&limits);
    run_column_blocks(there, weft_context_limits(there)->max_iterations == 0);
    weft_context_destroy(&there);
    assert_ok(weft_context_open(
        &there, WEFT_CONTEXT(.limits = &limits, .scratch_bytes = 64, .cache_dir = "")));
    run_column_blocks(there, false);
    weft_context_destroy(&there);
}

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    static const int64_t lengths[] = {4, 33, 128, 1, 64};
    weft_context *there = open_context(limits);
    for (uint64_t i = seed; i < seed + (is_reduced ? 2 : 5); i++) {
        const sddmm_case one = {.seed = i,
                                .m = 20 + (int64_t)i % 7,
                                .n = 30 + (int64_t)i % 5,
                                .k = lengths[i % 5],
                                .rows = (sparse_rows)(i % N_ROWS),
                                .numbers = i % 2 ? FRACTIONS : WHOLE,
                                .alpha = 1,
                                .beta = i % 2 ? 0.5 : 0,
                                .a_layout = lengths[i % 5] % 4 ? ROW_MAJOR : ROWS_ALIGNED,
                                .b_layout = i % 5 == 4 ? COLUMN_MAJOR : ROW_MAJOR,
                                .d_start = (int64_t)i % 4};
        sddmm_run(there, &one);
    }
    weft_context_destroy(&there);
}

static void test_as_planned_for_every_known_device(void **state)
{
    (void)state;
    const size_t every = is_reduced ? 4 : 1;
    for (size_t i = 0; i < weft_profile_count(); i += every)
        if (weft_profile_at(i)->vector_width <= 4 || takes_wide_vectors())
            run_profile(weft_profile_at(i), 3 * i);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    joined = open_context(weft_profile_find("intel-arc-a770"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_variant),
        cmocka_unit_test(test_lanes_that_hand_sums_down),
        cmocka_unit_test(test_chunks_of_any_rows),
        cmocka_unit_test(test_more_rows_than_go_side_by_side),
        cmocka_unit_test(test_column_blocks_as_planned),
        cmocka_unit_test(test_as_planned_for_every_known_device),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&joined);
    weft_context_destroy(&ctx);
    return failed;
}
