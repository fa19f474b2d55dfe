// SPDX-License-Identifier: Apache-2.0
// Pieces of long rows that nobody has seen: as long as was asked for, or longer until scratch
// memory has room, and no longer than kernels count. No device needed.
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "random.h"
#include "sparse/pieces.h"

static const weft_pieces_problem usual = {
    .nnz = 100000, .longest = 50000, .n_sums = 16, .n_batches = 2, .sum_bytes = 4};

static weft_pieces pieces_of(const weft_pieces_problem *problem, int64_t length, uint64_t room)
{
    weft_pieces pieces;
    assert_true(weft_pieces_for(&pieces, problem, length, false, room));
    return pieces;
}

static void test_as_many_as_there_could_be(void **state)
{
    (void)state;
    const weft_pieces some = pieces_of(&usual, 1000, 1 << 20);
    assert_int_equal(some.n, 100);
    assert_int_equal(some.length, 1000);
    assert_int_equal(some.piece, 1000);
    assert_int_equal(some.sums_bytes, 100 * 16 * 2 * 4);
    assert_int_equal(some.places_bytes, 0);
    assert_int_equal(pieces_of(&usual, 24999, 1 << 20).n, 5);
    const weft_pieces none = pieces_of(&usual, 25000, 1 << 20); // two are no long row
    assert_int_equal(none.n, 0);
    assert_true(none.piece > usual.nnz);
}

static void test_longer_until_there_is_room(void **state)
{
    (void)state;
    assert_int_equal(pieces_of(&usual, 1000, 12800).length, 1000);
    assert_int_equal(pieces_of(&usual, 1000, 12799).length, 2000);
    assert_int_equal(pieces_of(&usual, 1000, 2000).length, 8000);
    assert_int_equal(pieces_of(&usual, 1000, 1000).n, 0); // not even 7
    weft_pieces_problem with_places = usual;
    with_places.place_bytes = 8;
    const weft_pieces fewer = pieces_of(&with_places, 1000, 12800 + 25600 - 1);
    assert_int_equal(fewer.length, 2000);
    assert_int_equal(fewer.places_bytes, 2 * fewer.sums_bytes);
}

static void test_what_was_asked_for_stays(void **state)
{
    (void)state;
    weft_pieces pieces;
    assert_true(weft_pieces_for(&pieces, &usual, 1000, true, 1));
    assert_int_equal(pieces.n, 100);
    assert_int_equal(pieces.length, 1000);
    assert_true(weft_pieces_of(&pieces, &usual, 7, 1000));
    assert_int_equal(pieces.n, 7);
    assert_true(weft_pieces_of(&pieces, &usual, 0, 1000));
    assert_true(pieces.piece > usual.nnz);
}

static void test_more_than_sizes_reach(void **state)
{
    (void)state;
    weft_pieces pieces;
    weft_pieces_problem huge = usual;
    huge.n_batches = INT64_MAX / 1000;
    assert_false(weft_pieces_for(&pieces, &huge, 1000, true, UINT64_MAX));
    assert_int_equal(weft_pieces_too_many(&pieces, &huge, "spmm"), WEFT_NO_MEMORY);
    assert_non_null(strstr(weft_last_error(), "spmm: 100 pieces of 1000 entries, with 16 sums"));
    assert_true(weft_pieces_for(&pieces, &huge, 1000, false, 1)); // none
    huge = (weft_pieces_problem){
        .nnz = INT64_C(1) << 40, .longest = 1000, .n_sums = 1, .n_batches = 1, .sum_bytes = 4};
    assert_false(weft_pieces_for(&pieces, &huge, 100, true, UINT64_MAX)); // more than 32 bits
    assert_true(weft_pieces_for(&pieces, &huge, 100, false, UINT64_MAX));
    assert_int_equal(pieces.n, 0);
}

// Rows of duplicates, longer than any that kernels take whole: pieces stay, however little room
// there is, and it ends.
static void test_no_longer_than_kernels_count(void **state)
{
    (void)state;
    const int64_t nnz = (INT64_C(1) << 31) + 5;
    const weft_pieces_problem rows = {
        .nnz = nnz, .longest = nnz, .n_sums = 66, .n_batches = 4000, .sum_bytes = 4};
    const int64_t lengths[] = {1, 1000, 1024, WEFT_LONGEST_PIECE - 1, WEFT_LONGEST_PIECE};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        const weft_pieces pieces = pieces_of(&rows, lengths[i], 1 << 20);
        assert_int_equal(pieces.length, WEFT_LONGEST_PIECE);
        assert_int_equal(pieces.n, 3);
        assert_true(pieces.sums_bytes > 1 << 20);
    }
    assert_int_equal(pieces_of(&rows, INT64_MAX / 4, 1).n, 0);
}

// Whatever the numbers are, it ends: with room, with no pieces, or as few as there can be.
static void test_random_problems(void **state)
{
    (void)state;
    random_state random = {23};
    for (int i = 0; i < random_cases(200000); i++) {
        weft_pieces_problem p = {
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
        weft_pieces out;
        const bool counts = weft_pieces_for(&out, &p, length, false, room);
        const bool has_room = counts && out.sums_bytes + out.places_bytes <= room;
        assert_true(out.length >= length);
        assert_true(has_room || out.length >= WEFT_LONGEST_PIECE);
        assert_true(out.length == length || out.length <= WEFT_LONGEST_PIECE);
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
