// SPDX-License-Identifier: Apache-2.0
// The tiling of SDDMM: sound for every known device, for limits that nobody sells and for any
// problem; and what is refused of a tiling that somebody filled in. No device needed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weft/sddmm.h>

#include "plan_case.h"
#include "sparse/sddmm_plan.h"

enum { N_RANDOM = 50000 }; // for each profile

static weft_sddmm_problem random_problem(random_state *random)
{
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    weft_sddmm_problem problem = {
        .m = plan_extent(random),
        .n = plan_extent(random),
        .k = plan_extent(random),
        .n_batches = random_below(random, 4),
        .dtype = dtypes[random_below(random, 5)],
        .a_adjacent = random_below(random, 4) > 0,
        .b_adjacent = random_below(random, 2) > 0,
        .alignment = random_below(random, 5) ? plan_power(random, 20) : 0,
    };
    const double places = (double)problem.m * (double)problem.n;
    problem.nnz = (int64_t)(places * (double)random_below(random, 1000) / 999);
    return problem;
}

static void fail_problem(const char *what, const weft_limits *limits,
                         const weft_sddmm_problem *problem, const weft_sddmm_tiling *tiling)
{
    char text[512];
    weft_sddmm_tiling_print(tiling, text, sizeof(text));
    fail_msg("%s: %s: m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", nnz %" PRId64 ", batch %" PRId64
             ", %s, adjacent %d and %d, alignment %" PRId64 ": %s",
             limits->name, what, problem->m, problem->n, problem->k, problem->nnz,
             problem->n_batches, weft_dtype_name(problem->dtype), problem->a_adjacent,
             problem->b_adjacent, problem->alignment, text);
}

static bool are_equal(const weft_sddmm_tiling *a, const weft_sddmm_tiling *b)
{
    return a->vector_width == b->vector_width && a->vectors == b->vectors && a->lanes == b->lanes &&
           a->chunks_per_group == b->chunks_per_group && a->entries == b->entries &&
           a->passes == b->passes && a->packed == b->packed && a->transposed == b->transposed &&
           a->aligned == b->aligned && a->ahead == b->ahead && a->column_block == b->column_block;
}

static void check_problem(const weft_limits *limits, const weft_sddmm_problem *problem)
{
    const weft_sddmm_tiling tiling = weft_sddmm_tiling_for(limits, problem);
    const weft_sddmm_tiling again = weft_sddmm_tiling_for(limits, problem);
    const uint64_t lanes = (uint64_t)tiling.lanes, chunks = (uint64_t)tiling.chunks_per_group;
    const uint64_t sum_bytes = problem->dtype == WEFT_F64 ? 8 : 4;
    if (weft_sddmm_tiling_check(&tiling, limits, problem) != WEFT_OK)
        fail_problem(weft_last_error(), limits, problem, &tiling);
    if (!are_equal(&tiling, &again))
        fail_problem("another tiling the second time", limits, problem, &tiling);
    if (tiling.vector_width > (problem->k > 0 ? problem->k : 1))
        fail_problem("a vector longer than k", limits, problem, &tiling);
    if (lanes * chunks > limits->max_items || lanes > limits->max_items_along[0] ||
        chunks > limits->max_items_along[1])
        fail_problem("a group too large", limits, problem, &tiling);
    if (lanes > 1 && lanes * (lanes + 1) * chunks * sum_bytes > limits->local_bytes)
        fail_problem("too much local memory", limits, problem, &tiling);
}

static void check_random(const weft_limits *limits, random_state *random)
{
    const weft_sddmm_problem problem = random_problem(random);
    check_problem(limits, &problem);
}

static void test_random_problems_on_every_profile(void **state)
{
    (void)state;
    plan_check_profiles(N_RANDOM, check_random);
}

static void test_lower_limits_of_a_kernel(void **state)
{
    (void)state;
    plan_check_lower_limits(check_random);
}

static void test_random_limits(void **state)
{
    (void)state;
    plan_check_random_limits(0, check_random);
}

static void test_short_products_on_every_profile(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int64_t k = 0; k <= 600; k++)
            for (int adjacent = 0; adjacent < 4; adjacent++)
                for (int64_t alignment = 1; alignment <= 16; alignment *= 2) {
                    const weft_sddmm_problem problem = {.m = 100,
                                                        .n = 100,
                                                        .k = k,
                                                        .nnz = 3000,
                                                        .a_adjacent = adjacent % 2,
                                                        .b_adjacent = adjacent / 2,
                                                        .alignment = alignment};
                    check_problem(weft_profile_at(i), &problem);
                }
}

// What is chosen changes on purpose only.
static void test_known_tilings(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        int64_t m, n, k, nnz, alignment;
        weft_dtype dtype;
        bool b_adjacent;
        const char *tiling;
    } known[] = {
        {"nvidia-a100", 2048, 2048, 128, 400000, 128, WEFT_F32, true,
         "vector_width 4, vectors 4, lanes 8, chunks_per_group 16, entries 112, aligned"},
        {"nvidia-a100", 2048, 2048, 31, 400000, 1, WEFT_F16, true,
         "vector_width 1, vectors 4, lanes 8, chunks_per_group 16, entries 112"},
        {"amd-mi300x", 8192, 8192, 256, 600000, 256, WEFT_F32, false,
         "vector_width 4, vectors 4, lanes 8, chunks_per_group 16, entries 16, transposed, "
         "aligned"},
        {"amd-mi300x", 8192, 8192, 256, 8191, 256, WEFT_F32, false,
         "vector_width 1, vectors 4, lanes 8, chunks_per_group 16, entries 16"},
        {"intel-arc-a770", 100, 100, 4, 1000, 4, WEFT_F32, true,
         "vector_width 4, vectors 1, lanes 1, chunks_per_group 128, entries 16, aligned"},
        {"intel-xeon-8380", 2048, 2048, 512, 400000, 16, WEFT_F32, true,
         "vector_width 16, vectors 8, lanes 1, chunks_per_group 1, entries 144, passes, packed"},
        {"intel-xeon-8380", 2048, 2048, 512, 400000, 16, WEFT_F64, false,
         "vector_width 8, vectors 8, lanes 1, chunks_per_group 1, entries 144, passes, packed"},
        {"intel-xeon-8380", 40000, 2048, 528, 8000000, 16, WEFT_F32, true,
         "vector_width 16, vectors 11, lanes 1, chunks_per_group 1, entries 12496, passes, "
         "column_block 232"},
        {"arm-graviton2", 40000, 2048, 128, 8000000, 8, WEFT_F16, false,
         "vector_width 4, vectors 8, lanes 1, chunks_per_group 1, entries 15616, passes, packed, "
         "column_block "
         "2048"},
        {"arm-graviton2", 100, 100, 5, 300, 1, WEFT_F32, true,
         "vector_width 4, vectors 2, lanes 1, chunks_per_group 1, entries 64"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_sddmm_problem problem = {.m = known[i].m,
                                            .n = known[i].n,
                                            .k = known[i].k,
                                            .nnz = known[i].nnz,
                                            .dtype = known[i].dtype,
                                            .a_adjacent = true,
                                            .b_adjacent = known[i].b_adjacent,
                                            .alignment = known[i].alignment};
        const weft_sddmm_tiling tiling =
            weft_sddmm_tiling_for(weft_profile_find(known[i].device), &problem);
        char text[512], little[8];
        const int length = weft_sddmm_tiling_print(&tiling, text, sizeof(text));
        assert_int_equal(length, strlen(text));
        assert_int_equal(weft_sddmm_tiling_print(&tiling, little, sizeof(little)), length);
        if (strcmp(text, known[i].tiling) != 0)
            fail_msg("%s, k %" PRId64 ": %s", known[i].device, known[i].k, text);
    }
}

// As measured on two cores with 1 MiB of L2 each: where B has several tiles whenever chunks use its
// columns, else where rows are long and B is far.
static void test_column_blocks_where_they_pay(void **state)
{
    (void)state;
    static const struct {
        int64_t n, k, row; // entries of each of 2048 rows
        int vectors;
        int64_t column_block;
    } known[] = {
        {512, 512, 51, 16, 128},   {512, 512, 4, 16, 128},     {512, 512, 3, 8, 0},
        {2048, 256, 16, 16, 128},  {2048, 256, 15, 8, 0},      {2048, 200, 41, 13, 157},
        {2048, 128, 64, 8, 256},   {2048, 128, 63, 8, 0},      {1024, 128, 100, 8, 0},
        {1025, 128, 100, 8, 256},  {4096, 128, 64, 8, 0},      {32768, 512, 255, 8, 0},
        {2048, 512, 205, 16, 128}, {32768, 512, 256, 16, 128},
    };
    weft_limits limits = *weft_profile_find("intel-xeon-8380");
    limits.compute_units = 2;
    limits.l2_bytes = 1 << 20;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_sddmm_problem problem = {.m = 2048,
                                            .n = known[i].n,
                                            .k = known[i].k,
                                            .nnz = 2048 * known[i].row,
                                            .a_adjacent = true,
                                            .b_adjacent = true,
                                            .alignment = 16};
        const weft_sddmm_tiling t = weft_sddmm_tiling_for(&limits, &problem);
        if (t.column_block != known[i].column_block || t.vectors != known[i].vectors)
            fail_problem("other column blocks than expected", &limits, &problem, &t);
    }
    const weft_sddmm_problem problem = {
        .m = 2048, .n = 512, .k = 512, .nnz = 1 << 17, .a_adjacent = true, .b_adjacent = true};
    assert_int_equal(weft_sddmm_tiling_for(&limits, &problem).column_block, 128);
    limits.max_iterations = 1 << 16;
    assert_int_equal(weft_sddmm_tiling_for(&limits, &problem).column_block, 0);
}

// Extents that no matrix has.
static void test_extents_beyond_all_bounds(void **state)
{
    (void)state;
    static const int64_t extents[] = {0, 1, INT32_MAX, INT64_MAX / 2, INT64_MAX};
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int j = 0; j < 125; j++) {
            const weft_sddmm_problem problem = {.m = extents[j % 5],
                                                .n = extents[j / 5 % 5],
                                                .k = 4096,
                                                .nnz = j / 25 < 2 ? 64 : extents[j / 25],
                                                .a_adjacent = true,
                                                .b_adjacent = true};
            check_problem(weft_profile_at(i), &problem);
        }
}

// Slices are as many as keep the device busy, and no shorter than pays.
static void test_chunks_follow_the_entries(void **state)
{
    (void)state;
    static const char *const devices[] = {"nvidia-a100", "intel-xeon-8380"};
    for (int i = 0; i < 4; i++) {
        const weft_sddmm_problem many = {.m = 1 << 20, .n = 1 << 20, .k = 64};
        const weft_sddmm_problem few = {.m = 1 << 20, .n = 64, .k = 512};
        weft_sddmm_problem problem = i < 2 ? many : few;
        int64_t before = 0;
        for (problem.nnz = 0; problem.nnz < INT64_C(1) << 40; problem.nnz = 2 * problem.nnz + 1) {
            const weft_sddmm_tiling tiling =
                weft_sddmm_tiling_for(weft_profile_find(devices[i % 2]), &problem);
            if (tiling.entries < before)
                fail_problem("shorter chunks of more entries", weft_profile_find(devices[i % 2]),
                             &problem, &tiling);
            before = tiling.entries;
        }
        assert_in_range(before, 64, WEFT_SDDMM_MOST_ENTRIES);
    }
}

// ---- what is refused

static const weft_sddmm_problem usual = {.m = 100,
                                         .n = 100,
                                         .k = 24,
                                         .nnz = 1000,
                                         .a_adjacent = true,
                                         .b_adjacent = true,
                                         .alignment = 8};
static const weft_sddmm_tiling sound = {.vector_width = 8,
                                        .vectors = 2,
                                        .lanes = 4,
                                        .chunks_per_group = 8,
                                        .entries = 32,
                                        .passes = true,
                                        .packed = true,
                                        .aligned = true};

static void refuse(weft_sddmm_tiling tiling, const weft_sddmm_problem *problem, const char *part)
{
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    if (weft_sddmm_tiling_check(&tiling, limits, problem) != WEFT_BAD_ARGUMENT)
        fail_msg("not refused: %s", part);
    if (!strstr(weft_last_error(), part))
        fail_msg("not in the sentence: \"%s\": \"%s\"", part, weft_last_error());
}

// One field changed in the tiling that is sound.
#define REFUSE(part, field, value)                                                                 \
    do {                                                                                           \
        weft_sddmm_tiling changed = sound;                                                         \
        changed.field = (value);                                                                   \
        refuse(changed, &usual, part);                                                             \
    } while (0)

static void test_wrong_tiles_are_refused(void **state)
{
    (void)state;
    weft_sddmm_problem problem = usual;
    weft_sddmm_tiling tiling = sound;
    assert_int_equal(weft_sddmm_tiling_check(&sound, weft_profile_find("nvidia-a100"), &usual),
                     WEFT_OK);
    REFUSE("tiling.vector_width is 0:", vector_width, 0);
    REFUSE("tiling.vector_width is -8:", vector_width, -8);
    REFUSE("tiling.vector_width is 3:", vector_width, 3);
    REFUSE("tiling.vector_width is 32:", vector_width, 32);
    REFUSE("tiling.vectors is 0: 1 to 16", vectors, 0);
    REFUSE("tiling.vectors is 17: 1 to 16", vectors, 17);
    REFUSE("tiling.packed requires tiling.passes", passes, false);
    REFUSE("tiling.transposed and tiling.packed exclude each other", transposed, true);
    problem.k = 7;
    refuse(sound, &problem, "at most k = 7");
    problem.k = 20;
    refuse(sound, &problem,
           "tiling.aligned with vector_width 8: rows of A and columns of B start on multiples of "
           "8, k is "
           "20");
    problem = usual;
    problem.alignment = 4;
    refuse(sound, &problem, "start on multiples of 4");
    problem = usual;
    problem.a_adjacent = false;
    refuse(sound, &problem, "tiling.aligned");
    problem = usual;
    problem.b_adjacent = false;
    refuse(sound, &problem, "tiling.aligned");
    tiling.packed = false;
    tiling.transposed = true;
    assert_int_equal(weft_sddmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
                     WEFT_OK);
    weft_limits limits = *weft_profile_find("nvidia-a100");
    limits.local_bytes = 32 * 33 * 4 - 1;
    assert_int_equal(weft_sddmm_tiling_check(&tiling, &limits, &problem), WEFT_BAD_ARGUMENT);
    assert_string_equal(
        weft_last_error(),
        "sddmm: tiling.transposed requires 4224 bytes of local memory, which has 4223");
    tiling = sound;
    problem = usual;
    problem.k = 1 << 20;
    tiling.vector_width = 16;
    tiling.vectors = 8;
    tiling.lanes = tiling.chunks_per_group = 1;
    tiling.aligned = false;
    assert_int_equal(weft_sddmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
                     WEFT_OK);
    tiling.lanes = 64;
    tiling.entries = 64;
    refuse(tiling, &problem,
           "tiling.vector_width 16 x vectors 8 x lanes 64 are 8192 elements along k: at most 4096");
}

static void test_wrong_column_blocks_are_refused(void **state)
{
    (void)state;
    weft_sddmm_tiling tiling = sound;
    REFUSE("tiling.column_block is -1: 0 to 2147479551", column_block, -1);
    REFUSE("tiling.column_block is 2147479552: 0 to 2147479551", column_block, INT32_MAX - 4095);
    REFUSE("tiling.column_block is 9, but tiling.lanes is 4: 1 is wanted", column_block, 9);
    tiling.lanes = 1;
    tiling.column_block = 9;
    assert_int_equal(weft_sddmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &usual),
                     WEFT_OK);
    tiling.passes = tiling.packed = false;
    refuse(tiling, &usual,
           "tiling.column_block with tiles of 16 and k = 24 requires tiling.passes");
}

// Whatever a device may take.
static void test_the_margin_bounds_groups_too(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("nvidia-a100");
    limits.max_items = limits.max_items_along[1] = 8192;
    weft_sddmm_tiling tiling = sound;
    tiling.chunks_per_group = 5000;
    assert_int_equal(weft_sddmm_tiling_check(&tiling, &limits, &usual), WEFT_BAD_ARGUMENT);
    assert_string_equal(weft_last_error(),
                        "sddmm: tiling.chunks_per_group is 5000: 1 to 4096 is wanted");
}

static void test_wrong_groups_are_refused(void **state)
{
    (void)state;
    weft_sddmm_problem problem = usual;
    weft_sddmm_tiling tiling = sound;
    REFUSE("tiling.lanes is 0: a power of two up to 64", lanes, 0);
    REFUSE("tiling.lanes is -4:", lanes, -4);
    REFUSE("tiling.lanes is 6:", lanes, 6);
    REFUSE("tiling.lanes is 128:", lanes, 128);
    REFUSE("tiling.chunks_per_group is 0: 1 to 1024", chunks_per_group, 0);
    REFUSE("tiling.chunks_per_group is 1025: 1 to 1024", chunks_per_group, 1025);
    REFUSE("tiling.lanes 4 x chunks_per_group 257 are more than the 1024 items", chunks_per_group,
           257);
    tiling.lanes = 64;
    tiling.entries = 64;
    tiling.chunks_per_group = 3;
    refuse(tiling, &usual,
           "tiling.lanes 64 x chunks_per_group 3 share 49920 bytes; local memory "
           "has 49152");
    tiling.lanes = 32;
    tiling.chunks_per_group = 8;
    assert_int_equal(weft_sddmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &usual),
                     WEFT_OK);
    problem.dtype = WEFT_F64;
    refuse(tiling, &problem, "share 67584 bytes");
}

static void test_wrong_chunks_are_refused(void **state)
{
    (void)state;
    weft_sddmm_tiling tiling = sound;
    REFUSE("tiling.entries is 0: a multiple of 16 up to 1048576", entries, 0);
    REFUSE("tiling.entries is -16:", entries, -16);
    REFUSE("tiling.entries is 8:", entries, 8);
    REFUSE("tiling.entries is 24:", entries, 24);
    REFUSE("tiling.entries is 1048592:", entries, (1 << 20) + 16);
    REFUSE("tiling.entries is 9223372036854775792:", entries, INT64_MAX / 16 * 16);
    tiling.lanes = 32;
    tiling.entries = 48;
    refuse(tiling, &usual, "tiling.entries is 48: a multiple of 32 up");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_short_products_on_every_profile),
        cmocka_unit_test(test_lower_limits_of_a_kernel),
        cmocka_unit_test(test_random_limits),
        cmocka_unit_test(test_known_tilings),
        cmocka_unit_test(test_column_blocks_where_they_pay),
        cmocka_unit_test(test_extents_beyond_all_bounds),
        cmocka_unit_test(test_chunks_follow_the_entries),
        cmocka_unit_test(test_wrong_tiles_are_refused),
        cmocka_unit_test(test_wrong_column_blocks_are_refused),
        cmocka_unit_test(test_the_margin_bounds_groups_too),
        cmocka_unit_test(test_wrong_groups_are_refused),
        cmocka_unit_test(test_wrong_chunks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
