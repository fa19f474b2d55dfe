// SPDX-License-Identifier: Apache-2.0
// The tiling of softmax over sparse rows: sound for every known device and any problem; and what is
// refused of a tiling that somebody filled in. No device needed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weft/sparse_softmax.h>

#include "random.h"
#include "sparse/sparse_softmax_plan.h"

enum { N_RANDOM = 20000 }; // for each profile

static const weft_sparse_softmax_problem attention = {.n_rows = 100000, .nnz = 10000000};

static weft_sparse_softmax_problem random_problem(random_state *random)
{
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    return (weft_sparse_softmax_problem){
        .n_rows = random_extent(random) % INT32_MAX,
        .nnz = random_below(random, 9) ? random_extent(random) : 0,
        .n_batches = random_below(random, 3) ? random_below(random, 3) : random_extent(random),
        .dtype = dtypes[random_below(random, 5)],
        .is_backward = random_below(random, 2),
    };
}

static void fail_problem(const char *what, const weft_limits *limits,
                         const weft_sparse_softmax_problem *problem,
                         const weft_sparse_softmax_tiling *tiling)
{
    char text[256];
    weft_sparse_softmax_tiling_print(tiling, text, sizeof(text));
    fail_msg("%s: %s: %" PRId64 " rows, nnz %" PRId64 ", batch %" PRId64 ", %s: %s", limits->name,
             what, problem->n_rows, problem->nnz, problem->n_batches,
             weft_dtype_name(problem->dtype), text);
}

static void check_problem(const weft_limits *limits, const weft_sparse_softmax_problem *problem)
{
    const weft_sparse_softmax_tiling tiling = weft_sparse_softmax_tiling_for(limits, problem);
    const weft_sparse_softmax_tiling again = weft_sparse_softmax_tiling_for(limits, problem);
    char text[256], other[256];
    weft_sparse_softmax_tiling_print(&tiling, text, sizeof(text));
    weft_sparse_softmax_tiling_print(&again, other, sizeof(other));
    if (weft_sparse_softmax_tiling_check(&tiling, limits, problem) != WEFT_OK)
        fail_problem(weft_last_error(), limits, problem, &tiling);
    if (strcmp(text, other) != 0)
        fail_problem("another tiling the second time", limits, problem, &tiling);
    if (limits->vector_width == 1 && tiling.vector_width != 1)
        fail_problem("vectors where lanes are items", limits, problem, &tiling);
    if (tiling.lanes > limits->warp && tiling.lanes > 4)
        fail_problem("a row for more than a warp", limits, problem, &tiling);
    if (tiling.cache > 2 * tiling.row_chunk)
        fail_problem("kept rows would be long ones", limits, problem, &tiling);
}

static void test_sound_for_every_profile(void **state)
{
    (void)state;
    random_state random = {5};
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int j = 0; j < N_RANDOM; j++) {
            const weft_sparse_softmax_problem problem = random_problem(&random);
            check_problem(weft_profile_at(i), &problem);
        }
}

// Groups are as many as entries and rows want: enough for the device, and none for nothing.
static void test_groups_follow_the_entries(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const weft_limits *limits = weft_profile_at(i);
        const weft_sparse_softmax_tiling t = weft_sparse_softmax_tiling_for(limits, &attention);
        const int64_t groups = (attention.nnz + attention.n_rows) / t.chunk;
        if (groups < limits->max_blocks || groups > attention.nnz / 256)
            fail_problem("too few groups or too many", limits, &attention, &t);
    }
}

static void test_lanes_follow_the_rows(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    const weft_sparse_softmax_problem graph = {.n_rows = 1000000, .nnz = 8000000};
    assert_non_null(limits);
    assert_int_equal(weft_sparse_softmax_tiling_for(limits, &graph).lanes, 4);
    assert_int_equal(weft_sparse_softmax_tiling_for(limits, &graph).rows_per_group, 32);
    assert_int_equal(weft_sparse_softmax_tiling_for(limits, &graph).cache, 64);
    assert_int_equal(weft_sparse_softmax_tiling_for(limits, &attention).lanes, 32);
    assert_int_equal(weft_sparse_softmax_tiling_for(limits, &attention).rows_per_group, 4);
    assert_int_equal(weft_sparse_softmax_tiling_for(limits, &attention).cache, 512);
}

// What an item keeps fits the nearest cache, unless a usual row is longer.
static void test_kept_entries_follow_rows_and_types(void **state)
{
    (void)state;
    static const struct {
        int64_t row;
        weft_dtype dtype;
        bool is_backward;
        int cache;
    } known[] = {
        {8, WEFT_F32, false, 1280},    {8, WEFT_F16, false, 1280},   {8, WEFT_F64, false, 640},
        {8, WEFT_F32, true, 640},      {8, WEFT_F64, true, 320},     {1000, WEFT_F64, true, 1280},
        {1025, WEFT_F32, false, 2560}, {9000, WEFT_F32, true, 2560},
    };
    const weft_limits *limits = weft_profile_find("intel-xeon-8380");
    assert_non_null(limits);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_sparse_softmax_problem problem = {.n_rows = 1000,
                                                     .nnz = 1000 * known[i].row,
                                                     .dtype = known[i].dtype,
                                                     .is_backward = known[i].is_backward};
        assert_int_equal(weft_sparse_softmax_tiling_for(limits, &problem).cache, known[i].cache);
    }
}

#define REFUSE(part, change)                                                                       \
    do {                                                                                           \
        weft_sparse_softmax_tiling t = good;                                                       \
        change;                                                                                    \
        assert_int_equal(weft_sparse_softmax_tiling_check(&t, limits, &attention),                 \
                         WEFT_BAD_ARGUMENT);                                                       \
        if (!strstr(weft_last_error(), part))                                                      \
            fail_msg("not in the sentence: \"%s\": \"%s\"", part, weft_last_error());              \
    } while (0)

static void test_tilings_that_do_not_serve(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    assert_non_null(limits);
    weft_sparse_softmax_tiling good = weft_sparse_softmax_tiling_for(limits, &attention);
    assert_int_equal(weft_sparse_softmax_tiling_check(&good, limits, &attention), WEFT_OK);
    REFUSE("tiling.vector_width is 3", t.vector_width = 3);
    REFUSE("tiling.vector_width is 32", t.vector_width = 32);
    REFUSE("tiling.lanes is 0", t.lanes = 0);
    REFUSE("tiling.lanes is 6", t.lanes = 6);
    REFUSE("tiling.rows_per_group is 3", t.rows_per_group = 3);
    REFUSE("lanes 64 x rows_per_group 64 are more", t.lanes = t.rows_per_group = 64);
    REFUSE("tiling.cache is 16: with vector_width 1 a multiple of 32 lanes up to 512",
           t.cache = 16);
    REFUSE("tiling.cache is 544: with", t.cache = 544);
    REFUSE("tiling.cache is -32: with", t.cache = -32);
    REFUSE("with vector_width 2 one item is wanted", (t.vector_width = 2, t.cache = 16));
    REFUSE("tiling.chunk is 0", t.chunk = 0);
    REFUSE("tiling.row_chunk is -1", t.row_chunk = -1);
    good.cache = 0; // counts as the least
    assert_int_equal(weft_sparse_softmax_tiling_check(&good, limits, &attention), WEFT_OK);

    good = (weft_sparse_softmax_tiling){
        .vector_width = 4, .lanes = 1, .rows_per_group = 1, .cache = 4, .chunk = 1, .row_chunk = 1};
    assert_int_equal(weft_sparse_softmax_tiling_check(&good, limits, &attention), WEFT_OK);
    REFUSE("tiling.cache is 3: vector_width 4 to 8192", t.cache = 3);
    REFUSE("tiling.cache is 8193", t.cache = 8193);
}

static void test_print(void **state)
{
    (void)state;
    char text[256], little[8];
    weft_sparse_softmax_tiling t = {.vector_width = 1,
                                    .lanes = 4,
                                    .rows_per_group = 32,
                                    .cache = 16,
                                    .chunk = 1000,
                                    .row_chunk = 50};
    const int length = weft_sparse_softmax_tiling_print(&t, text, sizeof(text));
    assert_string_equal(
        text, "vector_width 1, lanes 4, rows_per_group 32, cache 16, chunk 1000, row_chunk 50");
    assert_int_equal(weft_sparse_softmax_tiling_print(&t, little, sizeof(little)), length);
    t = (weft_sparse_softmax_tiling){.vector_width = 16,
                                     .lanes = 1,
                                     .rows_per_group = 1,
                                     .cache = 64,
                                     .chunk = 9,
                                     .row_chunk = 8};
    weft_sparse_softmax_tiling_print(&t, text, sizeof(text));
    assert_string_equal(
        text, "vector_width 16, lanes 1, rows_per_group 1, cache 64, chunk 9, row_chunk 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_for_every_profile),
        cmocka_unit_test(test_groups_follow_the_entries),
        cmocka_unit_test(test_lanes_follow_the_rows),
        cmocka_unit_test(test_kept_entries_follow_rows_and_types),
        cmocka_unit_test(test_tilings_that_do_not_serve),
        cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
