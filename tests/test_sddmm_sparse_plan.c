// SPDX-License-Identifier: Apache-2.0
// The tiling of SDDMM with sparse factors: sound for every known device, for limits that nobody
// sells and for any problem; and what is refused of a tiling that somebody filled in. No device
// needed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weft/sddmm_sparse.h>

#include "expect.h"
#include "plan_case.h"
#include "sparse/sddmm_sparse_plan.h"

enum { N_RANDOM = 30000 }; // for each profile

static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};

static weft_sddmm_sparse_problem random_problem(random_state *random)
{
    const int64_t which = random_below(random, 3);
    return (weft_sddmm_sparse_problem){
        .m = plan_extent(random),
        .n = plan_extent(random),
        .k = plan_extent(random),
        .nnz = random_extent(random),
        .a_nnz = random_extent(random),
        .b_nnz = random_extent(random),
        .a_sparse = which != 1,
        .b_sparse = which != 2,
        .dtype = dtypes[random_below(random, 5)],
    };
}

static void fail_problem(const char *what, const weft_limits *limits,
                         const weft_sddmm_sparse_problem *problem,
                         const weft_sddmm_sparse_tiling *tiling)
{
    char text[256];
    weft_sddmm_sparse_tiling_print(tiling, text, sizeof(text));
    fail_msg("%s: %s: m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", nnz %" PRId64 ", A %" PRId64
             "%s, B %" PRId64 "%s, %s: %s",
             limits->name, what, problem->m, problem->n, problem->k, problem->nnz, problem->a_nnz,
             problem->a_sparse ? "" : " dense", problem->b_nnz, problem->b_sparse ? "" : " dense",
             weft_dtype_name(problem->dtype), text);
}

static bool are_equal(const weft_sddmm_sparse_tiling *a, const weft_sddmm_sparse_tiling *b)
{
    return a->items == b->items && a->lanes == b->lanes && a->columns == b->columns &&
           a->entries == b->entries;
}

// Where items are groups, CPUs, there is one; and a row in local memory is no longer than it is.
static void check_problem(const weft_limits *limits, const weft_sddmm_sparse_problem *problem)
{
    const weft_sddmm_sparse_tiling tiling = weft_sddmm_sparse_tiling_for(limits, problem);
    const weft_sddmm_sparse_tiling again = weft_sddmm_sparse_tiling_for(limits, problem);
    const int64_t sum_bytes = problem->dtype == WEFT_F64 ? 8 : 4;
    if (weft_sddmm_sparse_tiling_check(&tiling, limits, problem) != WEFT_OK)
        fail_problem(weft_last_error(), limits, problem, &tiling);
    if (!are_equal(&tiling, &again))
        fail_problem("another tiling the second time", limits, problem, &tiling);
    if ((size_t)tiling.items > limits->max_items || (limits->vector_width > 1 && tiling.items > 1))
        fail_problem("a group too large", limits, problem, &tiling);
    if ((tiling.columns > 0) != problem->b_sparse || tiling.columns > problem->k + 1)
        fail_problem("columns that are not there", limits, problem, &tiling);
    if ((uint64_t)(tiling.columns * sum_bytes) > limits->local_bytes)
        fail_problem("too much local memory", limits, problem, &tiling);
    if (tiling.lanes > limits->warp)
        fail_problem("lanes that do not go together", limits, problem, &tiling);
}

static void check_random(const weft_limits *limits, random_state *random)
{
    const weft_sddmm_sparse_problem problem = random_problem(random);
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
    plan_check_random_limits(32768, check_random);
}

static void test_small_problems_on_every_profile(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int64_t k = 0; k <= 300; k++)
            for (int j = 0; j < 3 * 5; j++) {
                const weft_sddmm_sparse_problem problem = {.m = k / 3,
                                                           .n = 300 - k,
                                                           .k = k,
                                                           .nnz = 10 * k,
                                                           .a_nnz = 7 * k,
                                                           .b_nnz = 30 * k,
                                                           .a_sparse = j % 3 != 1,
                                                           .b_sparse = j % 3 != 2,
                                                           .dtype = dtypes[j / 3]};
                check_problem(weft_profile_at(i), &problem);
            }
}

// Sizes that no matrix has.
static void test_extents_beyond_all_bounds(void **state)
{
    (void)state;
    static const int64_t extents[] = {0, 1, INT32_MAX, INT64_MAX / 2, INT64_MAX};
    for (size_t i = 0; i < 2 * weft_profile_count(); i++)
        for (int j = 0; j < 3 * 125; j++) {
            weft_limits limits = *weft_profile_at(i / 2);
            limits.max_iterations = i % 2 ? 65535 : 0;
            const weft_sddmm_sparse_problem problem = {.m = extents[j / 3 % 5],
                                                       .n = extents[j / 15 % 5],
                                                       .k = 4096,
                                                       .nnz = extents[j / 75],
                                                       .a_nnz = extents[j / 75],
                                                       .b_nnz = extents[4 - j / 75],
                                                       .a_sparse = j % 3 != 1,
                                                       .b_sparse = j % 3 != 2};
            check_problem(&limits, &problem);
        }
}

// Where loops end early a group goes through no more, rows being alike, also in parts.
static void test_turns_are_bounded(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("amd-ryzen-5950x");
    for (int64_t row = 1; row <= 1000; row *= 10)
        for (int hashed = 0; hashed < 2; hashed++) {
            const int64_t m = 10000;
            const weft_sddmm_sparse_problem problem = {.m = m,
                                                       .n = m,
                                                       .k = hashed ? INT32_MAX / 2 : 1000,
                                                       .nnz = 1000 * m,
                                                       .a_nnz = 1000 * m,
                                                       .b_nnz = row * m,
                                                       .a_sparse = true,
                                                       .b_sparse = true};
            limits.max_iterations = 0;
            const int64_t entries = weft_sddmm_sparse_tiling_for(&limits, &problem).entries;
            limits.max_iterations = 65535;
            const int64_t fewer = weft_sddmm_sparse_tiling_for(&limits, &problem).entries;
            if (fewer * row > limits.max_iterations || fewer >= entries)
                fail_msg("rows of %" PRId64 ": %" PRId64 " entries", row, fewer);
        }
}

// ---- what is refused

static const weft_sddmm_sparse_problem usual = {.m = 100,
                                                .n = 100,
                                                .k = 5000,
                                                .nnz = 1000,
                                                .a_nnz = 900,
                                                .b_nnz = 800,
                                                .a_sparse = true,
                                                .b_sparse = true};
static const weft_sddmm_sparse_tiling sound = {
    .items = 128, .lanes = 4, .columns = 4096, .entries = 64};

static void refuse(weft_sddmm_sparse_tiling tiling, const weft_sddmm_sparse_problem *problem,
                   const char *part)
{
    expect(weft_sddmm_sparse_tiling_check(&tiling, weft_profile_find("nvidia-a100"), problem),
           WEFT_BAD_ARGUMENT, part);
}

// One field changed in the tiling that is sound.
#define REFUSE(part, field, value)                                                                 \
    do {                                                                                           \
        weft_sddmm_sparse_tiling changed = sound;                                                  \
        changed.field = (value);                                                                   \
        refuse(changed, &usual, part);                                                             \
    } while (0)

static void test_wrong_tilings_are_refused(void **state)
{
    (void)state;
    expect(weft_sddmm_sparse_tiling_check(&sound, weft_profile_find("nvidia-a100"), &usual),
           WEFT_OK, NULL);
    REFUSE("sddmm_sparse: tiling.items is 0: a power of two up to 1024", items, 0);
    REFUSE("tiling.items is -8:", items, -8);
    REFUSE("tiling.items is 96:", items, 96);
    REFUSE("tiling.items is 2048:", items, 2048);
    REFUSE("tiling.lanes is 0: a power of two up to items 128", lanes, 0);
    REFUSE("tiling.lanes is 3:", lanes, 3);
    REFUSE("tiling.lanes is 256:", lanes, 256);
    REFUSE("tiling.lanes is -1:", lanes, -1);
    REFUSE("tiling.columns is 0: 1 to 262144", columns, 0);
    REFUSE("tiling.columns is -4:", columns, -4);
    REFUSE("tiling.columns is 262145:", columns, 262145);
    REFUSE("tiling.entries is 0: 1 to 1152921504606846976 is", entries, 0);
    REFUSE("tiling.entries is -9:", entries, -9);
    REFUSE("tiling.entries is 9223372036854775807:", entries, INT64_MAX);
}

// What stands for each column, what items tell each other, and sums that wait.
static void test_local_memory_is_bounded(void **state)
{
    (void)state;
    weft_sddmm_sparse_problem problem = usual;
    weft_sddmm_sparse_tiling tiling = sound;
    tiling.columns = 16384;
    refuse(tiling, &problem, "tiling.columns 16384 and items 128 require ");
    refuse(tiling, &problem, " bytes; local memory has 49152");
    problem.a_sparse = false;
    refuse(tiling, &problem, " bytes; local memory has 49152");
    tiling.columns = 8192;
    expect(weft_sddmm_sparse_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
           WEFT_OK, NULL);
    problem.dtype = WEFT_F64;
    refuse(tiling, &problem, "tiling.columns 8192 and items 128 require ");
}

static void test_columns_are_for_a_sparse_b(void **state)
{
    (void)state;
    weft_sddmm_sparse_problem problem = usual;
    weft_sddmm_sparse_tiling tiling = sound;
    problem.b_sparse = false;
    refuse(sound, &problem, "tiling.columns is 4096: with a dense B 0 is wanted");
    tiling.columns = 0;
    expect(weft_sddmm_sparse_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
           WEFT_OK, NULL);
}

static void test_tilings_are_told_in_a_line(void **state)
{
    (void)state;
    char text[128], little[8];
    weft_sddmm_sparse_tiling tiling = sound;
    const int length = weft_sddmm_sparse_tiling_print(&tiling, text, sizeof(text));
    assert_string_equal(text, "items 128, lanes 4, columns 4096, entries 64");
    assert_int_equal(length, strlen(text));
    assert_int_equal(weft_sddmm_sparse_tiling_print(&tiling, little, sizeof(little)), length);
    tiling.columns = 0;
    weft_sddmm_sparse_tiling_print(&tiling, text, sizeof(text));
    assert_string_equal(text, "items 128, lanes 4, entries 64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_small_problems_on_every_profile),
        cmocka_unit_test(test_lower_limits_of_a_kernel),
        cmocka_unit_test(test_random_limits),
        cmocka_unit_test(test_extents_beyond_all_bounds),
        cmocka_unit_test(test_turns_are_bounded),
        cmocka_unit_test(test_wrong_tilings_are_refused),
        cmocka_unit_test(test_local_memory_is_bounded),
        cmocka_unit_test(test_columns_are_for_a_sparse_b),
        cmocka_unit_test(test_tilings_are_told_in_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
