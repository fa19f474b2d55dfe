// SPDX-License-Identifier: Apache-2.0
// What is refused of a tiling of SpMM that somebody filled in. No device needed.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <weft/spmm.h>

#include "sparse/spmm_tiling.h"

static const weft_spmm_problem usual = {.m = 100,
                                        .k = 100,
                                        .n = 24,
                                        .nnz = 1000,
                                        .columns_adjacent = true,
                                        .alignment = 8,
                                        .entry_alignment = 2};
static const weft_spmm_tiling sound = {.vector_width = 8,
                                       .vectors = 2,
                                       .lanes = 4,
                                       .rows_per_group = 8,
                                       .rows_per_item = 2,
                                       .k_block = 10,
                                       .stage = 16,
                                       .load = 2,
                                       .unroll = 4,
                                       .row_chunk = 100,
                                       .aligned = true};

static void refuse(weft_spmm_tiling tiling, const weft_spmm_problem *problem, const char *part)
{
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    if (weft_spmm_tiling_check(&tiling, limits, problem) != WEFT_BAD_ARGUMENT)
        fail_msg("not refused: %s", part);
    if (!strstr(weft_last_error(), part))
        fail_msg("not in the sentence: \"%s\": \"%s\"", part, weft_last_error());
}

// One field changed in the tiling that is sound.
#define REFUSE(part, field, value)                                                                 \
    do {                                                                                           \
        weft_spmm_tiling changed = sound;                                                          \
        changed.field = (value);                                                                   \
        refuse(changed, &usual, part);                                                             \
    } while (0)

static void test_wrong_columns_are_refused(void **state)
{
    (void)state;
    weft_spmm_problem problem = usual;
    assert_int_equal(weft_spmm_tiling_check(&sound, weft_profile_find("nvidia-a100"), &usual),
                     WEFT_OK);
    REFUSE("tiling.vector_width is 0:", vector_width, 0);
    REFUSE("tiling.vector_width is -8:", vector_width, -8);
    REFUSE("tiling.vector_width is 3:", vector_width, 3);
    REFUSE("tiling.vector_width is 32:", vector_width, 32);
    REFUSE("tiling.vectors is 0:", vectors, 0);
    REFUSE("tiling.vectors is 9:", vectors, 9);
    problem.n = 7;
    refuse(sound, &problem, "at most n = 7");
    problem.n = 20;
    refuse(sound, &problem,
           "tiling.aligned with vector_width 8: rows of B and C start on multiples of 8, "
           "n is 20");
    problem = usual;
    problem.alignment = 4;
    refuse(sound, &problem, "start on multiples of 4");
    problem = usual;
    problem.columns_adjacent = false;
    refuse(sound, &problem, "tiling.aligned");
}

// Whatever a device may take.
static void test_the_margin_bounds_groups_too(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("nvidia-a100");
    limits.max_items = limits.max_items_along[1] = 8192;
    weft_spmm_tiling tiling = sound;
    tiling.rows_per_group = 5000;
    assert_int_equal(weft_spmm_tiling_check(&tiling, &limits, &usual), WEFT_BAD_ARGUMENT);
    assert_string_equal(weft_last_error(),
                        "spmm: tiling.rows_per_group is 5000: 1 to 4096 is wanted");
}

static void test_wrong_groups_are_refused(void **state)
{
    (void)state;
    weft_spmm_tiling tiling = sound;
    REFUSE("tiling.lanes is 0:", lanes, 0);
    REFUSE("tiling.lanes is 1025: 1 to 1024", lanes, 1025);
    REFUSE("tiling.rows_per_group is 0:", rows_per_group, 0);
    REFUSE("tiling.rows_per_group is 1025: 1 to 1024", rows_per_group, 1025);
    REFUSE("tiling.rows_per_item is -1:", rows_per_item, -1);
    REFUSE("tiling.rows_per_item is 65:", rows_per_item, 65);
    REFUSE("tiling.k_block is -1:", k_block, -1);
    REFUSE("tiling.k_block is 4097: 0 to 4096", k_block, 4097);
    REFUSE("tiling.k_block_from is -1: 0 or more", k_block_from, -1);
    tiling.lanes = tiling.rows_per_group = 64;
    tiling.stage = 0;
    tiling.load = 1;
    refuse(tiling, &usual,
           "tiling.lanes 64 x row_split 1 x rows_per_group 64 are more than the 1024 items");
    tiling = sound;
    tiling.lanes = 128;
    tiling.vectors = 8;
    refuse(tiling, &usual, "tiling.vector_width 8 x vectors 8 x lanes 128 are 8192 columns");
}

static void test_wrong_row_splits_are_refused(void **state)
{
    (void)state;
    weft_spmm_tiling tiling = sound;
    REFUSE("tiling.row_split is -1: 0 to 32 is wanted", row_split, -1);
    REFUSE("tiling.row_split is 33: 0 to 32 is wanted", row_split, 33);
    REFUSE("tiling.row_split is 2, k_block 10, row_blocks_per_copy 0: k-blocks and staged B",
           row_split, 2);
    tiling.k_block = 0;
    tiling.row_blocks_per_copy = 1;
    tiling.row_split = 2;
    refuse(tiling, &usual,
           "tiling.row_split is 2, k_block 0, row_blocks_per_copy 1: k-blocks and staged B");
    tiling.row_blocks_per_copy = 0;
    assert_int_equal(weft_spmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &usual),
                     WEFT_OK);
    tiling.lanes = 6;
    refuse(tiling, &usual,
           "tiling.row_split is 2, lanes 6: with row splits a power of two is wanted");
    tiling.lanes = 64;
    tiling.row_split = 32;
    refuse(tiling, &usual,
           "tiling.lanes 64 x row_split 32 are 2048 items: at most 1024 are wanted");
    tiling.row_split = 16;
    tiling.rows_per_group = 2;
    refuse(tiling, &usual,
           "lanes 64 x row_split 16 x rows_per_group 2 are more than the 1024 items");
    tiling.row_split = 8; // 7 x 64 lanes x 16 columns of f32 for each row, and entries
    tiling.vector_width = 8;
    tiling.vectors = 2;
    refuse(tiling, &usual, "for each of 2 rows, row_split 8; local memory has 49152 bytes");
}

static void test_wrong_entries_are_refused(void **state)
{
    (void)state;
    weft_spmm_problem problem = usual;
    REFUSE("tiling.stage is -2", stage, -2);
    REFUSE("tiling.stage is 1000 entries for each of 8 rows, row_split 0; local memory has 49152",
           stage, 1000);
    REFUSE("tiling.stage is 2147483646 entries", stage, INT32_MAX - 1);
    REFUSE("tiling.stage is 16, but one lane", lanes, 1);
    REFUSE("tiling.load is 0:", load, 0);
    REFUSE("tiling.load is 3:", load, 3);
    REFUSE("tiling.load is 8:", load, 8);
    REFUSE("tiling.load is 4:", load, 4);
    REFUSE("tiling.load is 2: 1, 2 or 4 that divides stage 0", stage, 0);
    REFUSE("that divides stage 15", stage, 15);
    REFUSE("tiling.unroll is 0:", unroll, 0);
    REFUSE("tiling.unroll is 3:", unroll, 3);
    REFUSE("tiling.unroll is 16:", unroll, 16);
    REFUSE("tiling.row_chunk is 0:", row_chunk, 0);
    REFUSE("tiling.row_chunk is 9223372036854775807:", row_chunk, INT64_MAX);
    problem.entry_alignment = 0;
    refuse(sound, &problem, "distance of indices and values, 1,");
    problem = usual;
    problem.dtype = WEFT_F64;
    refuse((weft_spmm_tiling){.vector_width = 1,
                              .vectors = 1,
                              .lanes = 2,
                              .rows_per_group = 1,
                              .stage = 4096,
                              .load = 1,
                              .unroll = 1,
                              .row_chunk = 1},
           &problem, "tiling.stage is 4096");
}

static void test_a_copy_without_room_is_refused(void **state)
{
    (void)state;
    weft_spmm_problem problem = usual;
    weft_spmm_tiling tiling = sound;
    REFUSE("tiling.row_blocks_per_copy is -1: 0 or more is wanted", row_blocks_per_copy, -1);
    tiling.row_blocks_per_copy = 2;
    tiling.packed = true;
    refuse(tiling, &usual, "tiling.row_blocks_per_copy is 2: a packed B is not staged");
    // 64 columns of f32, and entries in local memory: 8 rows of 16 and a number
    tiling.packed = false;
    problem.k = (49152 - 8 * (16 * 8 + 4)) / 256;
    assert_int_equal(weft_spmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
                     WEFT_OK);
    ++problem.k;
    refuse(tiling, &problem,
           "tiling.row_blocks_per_copy is 2: 188 rows of 256 bytes of B; local memory has 49152 "
           "bytes, of which "
           "entries take 1056");
    problem.k = INT32_MAX;
    refuse(tiling, &problem, "tiling.row_blocks_per_copy is 2: 2147483647 rows of 256 bytes");
    // a copy is as wide as sums are
    problem.dtype = WEFT_F16;
    problem.k = 150;
    assert_int_equal(weft_spmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
                     WEFT_OK);
    problem.k = 190;
    refuse(tiling, &problem, "tiling.row_blocks_per_copy is 2: 190 rows of 256 bytes");
    problem.k = 100;
    problem.dtype = WEFT_F64;
    refuse(tiling, &problem, "tiling.row_blocks_per_copy is 2: 100 rows of 512 bytes");
}

// Side by side there are as many entries as fit one vector of one lane, or as the row is split in.
static void test_wrong_entry_lanes_are_refused(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    weft_spmm_tiling tiling = sound;
    tiling.k_block = tiling.stage = 0;
    tiling.load = 1;
    tiling.entry_lanes = 1;
    assert_int_equal(weft_spmm_tiling_check(&tiling, limits, &usual), WEFT_OK);
    tiling.entry_lanes = 2;
    refuse(tiling, &usual, "tiling.entry_lanes is 2, vector_width 8, lanes 4, row_split 0:");
    tiling.lanes = 1;
    assert_int_equal(weft_spmm_tiling_check(&tiling, limits, &usual), WEFT_OK);
    tiling.entry_lanes = 4;
    refuse(tiling, &usual, "tiling.entry_lanes is 4, vector_width 8, lanes 1, row_split 0:");
    tiling.vector_width = 1;
    tiling.entry_lanes = 16;
    refuse(tiling, &usual, "tiling.entry_lanes is 16,");
    tiling.entry_lanes = 3;
    refuse(tiling, &usual, "tiling.entry_lanes is 3,");
    tiling.entry_lanes = -2;
    refuse(tiling, &usual, "tiling.entry_lanes is -2,");
    tiling.lanes = 2;
    tiling.row_split = 3;
    tiling.entry_lanes = 3;
    assert_int_equal(weft_spmm_tiling_check(&tiling, limits, &usual), WEFT_OK);
    tiling.entry_lanes = 2;
    refuse(tiling, &usual, "tiling.entry_lanes is 2, vector_width 1, lanes 2, row_split 3:");
    tiling.entry_lanes = 3;
    tiling.stage = 4;
    refuse(tiling, &usual, "tiling.entry_lanes is 3, stage 4, k_block 0, row_blocks_per_copy 0:");
    tiling.stage = 0;
    tiling.lanes = tiling.row_split = 1;
    tiling.entry_lanes = 8;
    tiling.k_block = 5;
    refuse(tiling, &usual, "tiling.entry_lanes is 8, stage 0, k_block 5,");
}

// The entries of a task are staged at once, from a LOAD boundary on.
static void test_wrong_tasks_are_refused(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    weft_spmm_tiling tiling = sound;
    tiling.k_block = 0;
    tiling.tasks = 15;
    assert_int_equal(weft_spmm_tiling_check(&tiling, limits, &usual), WEFT_OK);
    tiling.tasks = 16;
    refuse(tiling, &usual, "tiling.tasks is 16, stage 16, load 2: 0 to 15 is wanted");
    tiling.tasks = -1;
    refuse(tiling, &usual, "tiling.tasks is -1,");
    tiling.stage = 0;
    tiling.load = 1;
    tiling.tasks = 65536;
    assert_int_equal(weft_spmm_tiling_check(&tiling, limits, &usual), WEFT_OK);
    tiling.tasks = 65537;
    refuse(tiling, &usual, "tiling.tasks is 65537, stage 0, load 1: 0 to 65536 is wanted");
    tiling.tasks = 5;
    tiling.k_block = 10;
    refuse(tiling, &usual, "tiling.tasks is 5, row_split 0, entry_lanes 0, k_block 10,");
    tiling.k_block = 0;
    tiling.row_split = 2;
    refuse(tiling, &usual, "tiling.tasks is 5, row_split 2,");
    tiling.entry_lanes = 2;
    refuse(tiling, &usual, "tiling.tasks is 5, row_split 2, entry_lanes 2,");
    tiling.entry_lanes = tiling.row_split = 0;
    tiling.row_blocks_per_copy = 1;
    refuse(tiling, &usual,
           "tiling.tasks is 5, row_split 0, entry_lanes 0, k_block 0, row_blocks_per_copy 1: with "
           "tasks the first two are at most 1, the others 0");
}

static void test_what_max_min_go_without_is_refused(void **state)
{
    (void)state;
    weft_spmm_problem problem = usual;
    problem.reduction = WEFT_SPMM_MAX;
    refuse(sound, &problem,
           "tiling.k_block is 10, stage 16, row_blocks_per_copy 0, tasks 0, row_split 0, "
           "entry_lanes 0, "
           "not packed: a max has none of the first four, no packed B, and as many entry_lanes as "
           "a row_split");
    weft_spmm_tiling tiling = sound;
    tiling.k_block = tiling.stage = 0;
    tiling.load = 1;
    assert_int_equal(weft_spmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
                     WEFT_OK);
    problem.reduction = WEFT_SPMM_MIN;
    tiling.packed = true;
    refuse(tiling, &problem,
           "tiling.k_block is 0, stage 0, row_blocks_per_copy 0, tasks 0, row_split 0, entry_lanes "
           "0, packed: a min has none of the first four, no packed B");
    tiling.packed = false;
    tiling.row_blocks_per_copy = 7;
    refuse(tiling, &problem,
           "stage 0, row_blocks_per_copy 7, tasks 0, row_split 0, entry_lanes 0, not packed: a min "
           "has none of the first four");
    tiling.row_blocks_per_copy = 0;
    tiling.tasks = 9;
    refuse(tiling, &problem, "tasks 9, row_split 0,");
    tiling.tasks = 0;
    tiling.row_split = 2;
    refuse(tiling, &problem, "row_split 2, entry_lanes 0, not packed: a min has");
    tiling.entry_lanes = 2;
    assert_int_equal(weft_spmm_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &problem),
                     WEFT_OK);
    tiling.row_split = tiling.entry_lanes = 0;
    tiling.k_block = 1;
    refuse(tiling, &problem, "tiling.k_block is 1,");
    problem.reduction = WEFT_SPMM_MEAN;
    assert_int_equal(weft_spmm_tiling_check(&sound, weft_profile_find("nvidia-a100"), &problem),
                     WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_columns_are_refused),
        cmocka_unit_test(test_the_margin_bounds_groups_too),
        cmocka_unit_test(test_wrong_groups_are_refused),
        cmocka_unit_test(test_wrong_row_splits_are_refused),
        cmocka_unit_test(test_wrong_entries_are_refused),
        cmocka_unit_test(test_a_copy_without_room_is_refused),
        cmocka_unit_test(test_wrong_entry_lanes_are_refused),
        cmocka_unit_test(test_wrong_tasks_are_refused),
        cmocka_unit_test(test_what_max_min_go_without_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
