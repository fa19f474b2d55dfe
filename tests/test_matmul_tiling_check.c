// SPDX-License-Identifier: Apache-2.0
// What is refused of a tiling of dense products that somebody filled in. No device needed.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weft/matmul.h>

#include "dense/matmul_tiling.h"
#include "plan_case.h"

// Row-major throughout, but for what is said.
static weft_matmul_problem row_major(int64_t m, int64_t n, int64_t k)
{
    return (weft_matmul_problem){
        .m = m, .n = n, .k = k, .a_along_k = true, .b_along_n = true, .c_along_n = true};
}

static const weft_matmul_tiling blocks = {.method = WEFT_MATMUL_BLOCKS,
                                          .vector_width = 4,
                                          .vectors = 2,
                                          .rows = 8,
                                          .items = 16,
                                          .items_y = 8,
                                          .depth = 16,
                                          .block_rows = 64,
                                          .block_columns = 128,
                                          .chunk = 1000};
static const weft_matmul_tiling dots = {.method = WEFT_MATMUL_DOTS,
                                        .vector_width = 4,
                                        .vectors = 2,
                                        .rows = 2,
                                        .items = 32,
                                        .items_y = 4,
                                        .depth = 128,
                                        .block_rows = 8,
                                        .block_columns = 8,
                                        .chunk = 1000};
static const weft_matmul_tiling rows = {.method = WEFT_MATMUL_ROWS,
                                        .vector_width = 4,
                                        .vectors = 1,
                                        .rows = 8,
                                        .items = 32,
                                        .items_y = 4,
                                        .depth = 4,
                                        .block_rows = 32,
                                        .block_columns = 128,
                                        .chunk = 1000};

static const weft_matmul_tiling direct = {.method = WEFT_MATMUL_DIRECT,
                                          .vector_width = 4,
                                          .vectors = 2,
                                          .rows = 6,
                                          .items = 1,
                                          .items_y = 1,
                                          .depth = 100,
                                          .block_rows = 12,
                                          .block_columns = 24,
                                          .chunk = 500};

static void refuse(weft_matmul_tiling tiling, const weft_matmul_problem *problem, const char *part)
{
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    if (weft_matmul_tiling_check(&tiling, limits, problem) != WEFT_BAD_ARGUMENT)
        fail_msg("not refused: %s", part);
    if (!strstr(weft_last_error(), part))
        fail_msg("not in the sentence: \"%s\": \"%s\"", part, weft_last_error());
}

// One field changed in a tiling that is sound.
#define REFUSE(part, tiling, field, value)                                                         \
    do {                                                                                           \
        weft_matmul_problem few = row_major(8, 500, 500);                                          \
        few.b_along_k = true;                                                                      \
        weft_matmul_tiling changed = tiling;                                                       \
        changed.field = (value);                                                                   \
        refuse(changed, &few, part);                                                               \
    } while (0)

static void test_sound_tilings_are_taken(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    weft_matmul_problem few = row_major(8, 500, 500), many = row_major(500, 8, 500);
    weft_matmul_tiling transposed = dots;
    few.b_along_k = many.b_along_k = true;
    transposed.transposed = true;
    assert_int_equal(weft_matmul_tiling_check(&blocks, limits, &few), WEFT_OK);
    assert_int_equal(weft_matmul_tiling_check(&dots, limits, &few), WEFT_OK);
    assert_int_equal(weft_matmul_tiling_check(&transposed, limits, &many), WEFT_OK);
    assert_int_equal(weft_matmul_tiling_check(&rows, limits, &few), WEFT_OK);
    assert_int_equal(weft_matmul_tiling_check(&direct, limits, &few), WEFT_OK);
    refuse(dots, &many, "tiling.block_rows is 8: all 500 rows");
    refuse(transposed, &few, "tiling.block_rows is 8: all 500 rows");
}

static void test_neighbours_that_are_not_adjacent(void **state)
{
    (void)state;
    weft_matmul_problem p = row_major(8, 500, 500);
    weft_matmul_tiling transposed = rows;
    transposed.transposed = true;
    refuse(dots, &p, "tiling.method is dots: neighbours along k are adjacent then in B");
    refuse(transposed, &p,
           "tiling.method is rows, transposed: neighbours along m are adjacent then in A");
    p.b_along_n = false;
    refuse(rows, &p, "tiling.method is rows: neighbours along n are adjacent then in B");
    refuse(direct, &p, "tiling.method is direct: neighbours along n are adjacent then in B");
    p = row_major(500, 8, 500);
    p.a_along_k = false;
    transposed = dots;
    transposed.transposed = true;
    refuse(transposed, &p,
           "tiling.method is dots, transposed: neighbours along k are adjacent then in A");
}

static void test_wrong_vectors_and_groups_are_refused(void **state)
{
    (void)state;
    const weft_matmul_tiling *const sound[] = {&blocks, &dots, &rows};
    REFUSE("tiling.method is 4", blocks, method, (weft_matmul_method)4);
    REFUSE("tiling.method is -1", blocks, method, (weft_matmul_method)-1);
    for (int i = 0; i < 3; i++) {
        REFUSE("tiling.vector_width is 0:", *sound[i], vector_width, 0);
        REFUSE("tiling.vector_width is -4:", *sound[i], vector_width, -4);
        REFUSE("tiling.vector_width is 3:", *sound[i], vector_width, 3);
        REFUSE("tiling.vector_width is 32:", *sound[i], vector_width, 32);
        REFUSE("tiling.vectors is 0:", *sound[i], vectors, 0);
        REFUSE("tiling.vectors is 65:", *sound[i], vectors, 65);
        REFUSE("tiling.rows is 0:", *sound[i], rows, 0);
        REFUSE("tiling.rows is 17:", *sound[i], rows, 17);
        REFUSE("tiling.items is 0:", *sound[i], items, 0);
        REFUSE("tiling.items is 3:", *sound[i], items, 3);
        REFUSE("tiling.items is -32:", *sound[i], items, -32);
        REFUSE("tiling.items is 2048:", *sound[i], items, 2048);
        REFUSE("tiling.items_y is 0:", *sound[i], items_y, 0);
        REFUSE("tiling.items_y is 6:", *sound[i], items_y, 6);
        REFUSE("tiling.items_y is 2048:", *sound[i], items_y, 2048);
        REFUSE("x items_y 512 are more than the 1024 items", *sound[i], items_y, 512);
        REFUSE("tiling.chunk is 0:", *sound[i], chunk, 0);
        REFUSE("tiling.chunk is -5:", *sound[i], chunk, -5);
        REFUSE("tiling.chunk is 2147483647:", *sound[i], chunk, INT32_MAX);
        REFUSE("tiling.block_rows is 0:", *sound[i], block_rows, 0);
        REFUSE("tiling.block_columns is 0:", *sound[i], block_columns, 0);
        REFUSE("tiling.block_columns is 6:", *sound[i], block_columns, 6);
    }
    REFUSE("tiling.vectors is 9:", blocks, vectors, 9);
    REFUSE("tiling.vectors is 9:", dots, vectors, 9);
    REFUSE("tiling.rows is 3:", rows, rows, 3);
    REFUSE("tiling.rows is 16:", rows, rows, 16);
}

static void test_wrong_direct_blocks_are_refused(void **state)
{
    (void)state;
    REFUSE("tiling.items is 2: 1 to 1", direct, items, 2);
    REFUSE("tiling.items_y is 4: 1 to 1", direct, items_y, 4);
    REFUSE("tiling.vectors is 9:", direct, vectors, 9);
    REFUSE("tiling.rows is 17:", direct, rows, 17);
    REFUSE("tiling.depth is 0:", direct, depth, 0);
    REFUSE("tiling.chunk is 499: 500 to", direct, chunk, 499);
    REFUSE("tiling.block_rows is 10: a multiple of rows, 6", direct, block_rows, 10);
    REFUSE("tiling.block_columns is 12: a multiple of vectors x vector_width, 8", direct,
           block_columns, 12);
}

static void test_wrong_blocks_are_refused(void **state)
{
    (void)state;
    const weft_matmul_problem several = row_major(2, 500, 500);
    weft_matmul_problem f64 = row_major(500, 500, 500);
    weft_matmul_tiling tiling = blocks;
    REFUSE("tiling.depth is 0:", blocks, depth, 0);
    REFUSE("tiling.depth is -4:", blocks, depth, -4);
    REFUSE("tiling.depth is 18:", blocks, depth, 18);
    REFUSE("tiling.depth is 64: a multiple of items x vector_width, 128", dots, depth, 64);
    REFUSE("tiling.block_rows is 32: a multiple of items_y x rows, 64", blocks, block_rows, 32);
    REFUSE("tiling.block_columns is 64: a multiple of items x vectors x vector_width, 128", blocks,
           block_columns, 64);
    REFUSE("tiling.block_columns is 64: a multiple of items x vector_width, 128", rows,
           block_columns, 64);
    REFUSE("tiling.block_columns is 12: a multiple of items_y x vectors, 8", dots, block_columns,
           12);
    REFUSE("tiling.block_rows is 7: all 8 rows", dots, block_rows, 7);
    REFUSE("2147483648", blocks, block_rows, INT64_C(1) << 31);
    REFUSE("2147483648", rows, block_columns, INT64_C(1) << 31);
    REFUSE("local memory has 49152", blocks, depth, 128);
    REFUSE("local memory has 49152", blocks, block_rows, 6400);
    REFUSE("local memory has 49152", dots, depth, 2048);
    REFUSE("tiling.depth is 8192: a multiple of vector_width, 4, up to 4096", blocks, depth, 8192);
    tiling.block_rows = tiling.block_columns = PLAN_MOST_EXTENT / 128 * 128;
    refuse(tiling, &f64, "local memory has 49152");
    tiling = blocks;
    assert_int_equal(weft_matmul_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &f64),
                     WEFT_OK);
    f64.dtype = WEFT_F64;
    refuse(tiling, &f64, "local memory has 49152");

    // Pieces that one launch has no groups for, where a block is one tile.
    const weft_matmul_problem long_k = row_major(500, 500, 40000);
    tiling.chunk = 1;
    refuse(tiling, &long_k, "tiling.chunk is 1: 40000 chunks of k are more than the 32768");
    tiling.chunk = 2;
    assert_int_equal(weft_matmul_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &long_k),
                     WEFT_OK);

    // Vectors that few rows leave to each other.
    tiling = rows;
    tiling.vectors = 2;
    tiling.block_columns = 8 * 128;
    assert_int_equal(weft_matmul_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &several),
                     WEFT_OK);
    REFUSE("tiling.block_columns is 384: 8 rows", rows, block_columns, 384);
    tiling.block_columns = 9 * 128;
    refuse(tiling, &several, "tiling.block_columns is 1152: 2 rows");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sound_tilings_are_taken),
        cmocka_unit_test(test_neighbours_that_are_not_adjacent),
        cmocka_unit_test(test_wrong_vectors_and_groups_are_refused),
        cmocka_unit_test(test_wrong_direct_blocks_are_refused),
        cmocka_unit_test(test_wrong_blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
