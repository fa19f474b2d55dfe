// SPDX-License-Identifier: Apache-2.0
// Pieces of long rows that nobody has seen: as long as was asked for, or longer until scratch
// memory has room, and no longer than kernels count. No device needed.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "sparse/row_chunks.h"

static const weft_row_chunks_problem usual = {
    .nnz = 100000, .longest = 50000, .n_sums = 16, .n_batches = 2, .sum_bytes = 4};

static weft_row_chunks row_chunks_of(const weft_row_chunks_problem *problem, int64_t length,
                                     uint64_t room)
{
    weft_row_chunks row_chunks;
    assert_true(weft_row_chunks_for(&row_chunks, problem, length, false, room));
    return row_chunks;
}

static void test_as_many_as_there_could_be(void **state)
{
    (void)state;
    const weft_row_chunks some = row_chunks_of(&usual, 1000, 1 << 20);
    assert_int_equal(some.n, 100);
    assert_int_equal(some.length, 1000);
    assert_int_equal(some.row_chunk, 1000);
    assert_int_equal(some.sums_bytes, 100 * 16 * 2 * 4);
    assert_int_equal(some.places_bytes, 0);
    assert_int_equal(row_chunks_of(&usual, 24999, 1 << 20).n, 5);
    const weft_row_chunks none = row_chunks_of(&usual, 25000, 1 << 20); // two are no long row
    assert_int_equal(none.n, 0);
    assert_true(none.row_chunk > usual.nnz);
}

static void test_longer_until_there_is_room(void **state)
{
    (void)state;
    assert_int_equal(row_chunks_of(&usual, 1000, 12800).length, 1000);
    assert_int_equal(row_chunks_of(&usual, 1000, 12799).length, 2000);
    assert_int_equal(row_chunks_of(&usual, 1000, 2000).length, 8000);
    assert_int_equal(row_chunks_of(&usual, 1000, 1000).n, 0); // not even 7
    weft_row_chunks_problem with_places = usual;
    with_places.place_bytes = 8;
    const weft_row_chunks fewer = row_chunks_of(&with_places, 1000, 12800 + 25600 - 1);
    assert_int_equal(fewer.length, 2000);
    assert_int_equal(fewer.places_bytes, 2 * fewer.sums_bytes);
}

static void test_what_was_asked_for_stays(void **state)
{
    (void)state;
    weft_row_chunks row_chunks;
    assert_true(weft_row_chunks_for(&row_chunks, &usual, 1000, true, 1));
    assert_int_equal(row_chunks.n, 100);
    assert_int_equal(row_chunks.length, 1000);
    assert_true(weft_row_chunks_of(&row_chunks, &usual, 7, 1000));
    assert_int_equal(row_chunks.n, 7);
    assert_true(weft_row_chunks_of(&row_chunks, &usual, 0, 1000));
    assert_true(row_chunks.row_chunk > usual.nnz);
}

static void test_more_than_sizes_reach(void **state)
{
    (void)state;
    weft_row_chunks row_chunks;
    weft_row_chunks_problem huge = usual;
    huge.n_batches = INT64_MAX / 1000;
    assert_false(weft_row_chunks_for(&row_chunks, &huge, 1000, true, UINT64_MAX));
    assert_int_equal(weft_row_chunks_too_many(&row_chunks, &huge, "spmm"), WEFT_NO_MEMORY);
    assert_non_null(
        strstr(weft_last_error(), "spmm: 100 row chunks of 1000 entries, with 16 sums"));
    assert_true(weft_row_chunks_for(&row_chunks, &huge, 1000, false, 1)); // none
    huge = (weft_row_chunks_problem){
        .nnz = INT64_C(1) << 40, .longest = 1000, .n_sums = 1, .n_batches = 1, .sum_bytes = 4};
    assert_false(
        weft_row_chunks_for(&row_chunks, &huge, 100, true, UINT64_MAX)); // more than 32 bits
    assert_true(weft_row_chunks_for(&row_chunks, &huge, 100, false, UINT64_MAX));
    assert_int_equal(row_chunks.n, 0);
}

// Rows of duplicates, longer than any that kernels take whole: row chunks stay, however little room
// there is, and it ends.
static void test_no_longer_than_kernels_count(void **state)
{
    (void)state;
    const int64_t nnz = (INT64_C(1) << 31) + 5;
    const weft_row_chunks_problem rows = {
        .nnz = nnz, .longest = nnz, .n_sums = 66, .n_batches = 4000, .sum_bytes = 4};
    const int64_t lengths[] = {1, 1000, 1024, WEFT_LONGEST_ROW_CHUNK - 1, WEFT_LONGEST_ROW_CHUNK};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const weft_row_chunks row_chunks = row_chunks_of(&rows, lengths[i], 1 << 20);
        assert_int_equal(row_chunks.length, WEFT_LONGEST_ROW_CHUNK);
        assert_int_equal(row_chunks.n, 3);
        assert_true(row_chunks.sums_bytes > 1 << 20);
    }
    assert_int_equal(row_chunks_of(&rows, INT64_MAX / 4, 1).n, 0);
}

// Whatever the numbers are, it ends: with room, with no row chunks, or as few as there can be.
static void test_random_problems(void **state)
{
    (void)state;
    random_state random = {23};
    for (int i = 0; i < random_cases(200000); i++) {
        weft_row_chunks_problem p = {
            .nnz = random_extent(&random),
            .longest = random_extent(&random),
            .n_sums = random_extent(&random),
            .n_batches = random_extent(&random),
            .sum_bytes = 4 << random_below(&random, 2),
            .place_bytes = random_below(&random, 3) * 4,
        };
        p.longest = p.longest < p.nnz ? p.longest : p.nnz;
        const int64_t most = random_extent(&random);
        const int64_t length = most < INT64_MAX / 4 ? most : INT64_MAX / 4;
        const uint64_t room = (uint64_t)random_extent(&random);
        weft_row_chunks out;
        const bool counts = weft_row_chunks_for(&out, &p, length, false, room);
        const bool has_room = counts && out.sums_bytes + out.places_bytes <= room;
        assert_true(out.length >= length);
        assert_true(has_room || out.length >= WEFT_LONGEST_ROW_CHUNK);
        assert_true(out.length == length || out.length <= WEFT_LONGEST_ROW_CHUNK);
        assert_int_equal(out.n > 0, p.longest > 2 * out.length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_many_as_there_could_be),
        cmocka_unit_test(test_longer_until_there_is_room),
        cmocka_unit_test(test_what_was_asked_for_stays),
        cmocka_unit_test(test_more_than_sizes_reach),
        cmocka_unit_test(test_no_longer_than_kernels_count),
        cmocka_unit_test(test_random_problems),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
