// SPDX-License-Identifier: Apache-2.0
// A CSR on the host cut into parts of whole rows: where they begin, against every other row that
// could have been taken; what they hold, put together again; and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/csr.h>

#include "base/element.h"
#include "expect.h"
#include "random.h"
#include "random_csr.h"

enum { MOST_PARTS = 9 };

static double cost_before(const weft_csr_host *host, int64_t row)
{
    return (double)(integer_at(host->offsets, host->offset_dtype, row) + row);
}

// Nowhere else a part could begin nearer to its share.
static void check_start(const weft_csr_host *host, int64_t start, double wanted)
{
    const double distance = fabs(cost_before(host, start) - wanted);
    for (int64_t row = 0; row <= host->n_rows; row++)
        if (fabs(cost_before(host, row) - wanted) < distance - 1e-6)
            fail_msg("row %d begins %g from %g, row %d is nearer", (int)start, distance, wanted,
                     (int)row);
}

static void check_split(const weft_csr_host *host, int n_parts, const double *shares)
{
    int64_t starts[MOST_PARTS + 1];
    double sum = 0, before = 0;
    for (int i = 0; i < n_parts; i++)
        sum += shares ? shares[i] : 1;
    expect(weft_csr_host_split(host, n_parts, shares, starts), WEFT_OK, "");
    assert_int_equal(starts[0], 0);
    assert_int_equal(starts[n_parts], host->n_rows);
    for (int i = 0; i < n_parts; i++) {
        const double share = shares ? shares[i] : 1;
        assert_true(starts[i] <= starts[i + 1]);
        check_start(host, starts[i], cost_before(host, host->n_rows) * before / sum);
        if (share == 0)
            assert_int_equal(starts[i], starts[i + 1]);
        before += share;
    }
}

static void test_parts_begin_where_they_should(void **state)
{
    (void)state;
    static const double uneven[] = {3, 0, 1, 0.5, 0, 10, 2, 2, 0};
    static const double last_alone[] = {0, 0, 1};
    random_state random = {5};
    for (int round = 0; round < 300; round++) {
        const weft_dtype offsets = round % 2 ? WEFT_I64 : WEFT_I32;
        weft_csr_host host =
            random_csr(&random, random_below(&random, 60), offsets, WEFT_I32, WEFT_F32);
        for (int n_parts = 1; n_parts <= MOST_PARTS; n_parts++) {
            check_split(&host, n_parts, NULL);
            check_split(&host, n_parts, uneven);
        }
        check_split(&host, 3, last_alone);
        weft_csr_host_destroy(&host);
    }
}

// The parts, one below the other.
static void check_parts(const weft_csr_host *host, int n_parts)
{
    int64_t starts[MOST_PARTS + 1], e = 0;
    expect(weft_csr_host_split(host, n_parts, NULL, starts), WEFT_OK, "");
    for (int i = 0; i < n_parts; i++) {
        weft_csr_host part;
        const int64_t n_rows = starts[i + 1] - starts[i];
        expect(weft_csr_host_rows(&part, host, starts[i], n_rows), WEFT_OK, "");
        assert_int_equal(part.n_rows, n_rows);
        assert_int_equal(part.n_cols, host->n_cols);
        assert_true(part.offset_dtype == host->offset_dtype && part.dtype == host->dtype &&
                    part.index_dtype == host->index_dtype);
        for (int64_t row = 0; row <= n_rows; row++)
            assert_int_equal(integer_at(part.offsets, part.offset_dtype, row) + e,
                             integer_at(host->offsets, host->offset_dtype, starts[i] + row));
        assert_int_equal(part.nnz, integer_at(part.offsets, part.offset_dtype, n_rows));
        if (part.nnz > 0) {
            const size_t from = bytes_of(e, host->index_dtype), at = bytes_of(e, host->dtype);
            assert_memory_equal(part.indices, (char *)host->indices + from,
                                bytes_of(part.nnz, host->index_dtype));
            assert_memory_equal(part.values, (char *)host->values + at,
                                bytes_of(part.nnz, host->dtype));
        }
        e += part.nnz;
        weft_csr_host_destroy(&part);
    }
    assert_int_equal(e, host->nnz);
}

static void test_parts_are_the_whole(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    random_state random = {6};
    for (int i = 0; i < 16; i++)
        for (int64_t n_rows = 0; n_rows < 40; n_rows += 13) {
            weft_csr_host host = random_csr(&random, n_rows, i & 1 ? WEFT_I64 : WEFT_I32,
                                            i & 2 ? WEFT_I16 : WEFT_I32, dtypes[i / 4]);
            check_parts(&host, 1);
            check_parts(&host, 4);
            check_parts(&host, MOST_PARTS);
            weft_csr_host_destroy(&host);
        }
}

// Data types that are left open mean what they mean everywhere.
static void test_default_types(void **state)
{
    (void)state;
    const weft_csr_host host = {.n_rows = 3,
                                .n_cols = 3,
                                .nnz = 3,
                                .offsets = (int32_t[]){0, 1, 1, 3},
                                .indices = (int32_t[]){1, 0, 2},
                                .values = (float[]){5, 6, 7}};
    weft_csr_host part;
    expect(weft_csr_host_rows(&part, &host, 1, 2), WEFT_OK, "");
    assert_true(part.offset_dtype == WEFT_I32 && part.index_dtype == WEFT_I32);
    assert_int_equal(part.dtype, WEFT_F32);
    assert_memory_equal(part.offsets, ((int32_t[]){0, 0, 2}), 3 * sizeof(int32_t));
    assert_memory_equal(part.indices, ((int32_t[]){0, 2}), 2 * sizeof(int32_t));
    assert_memory_equal(part.values, ((float[]){6, 7}), 2 * sizeof(float));
    weft_csr_host_destroy(&part);
}

static void test_splits_that_are_refused(void **state)
{
    (void)state;
    random_state random = {7};
    weft_csr_host host = random_csr(&random, 9, WEFT_I32, WEFT_I32, WEFT_F32);
    int64_t starts[3] = {-1, -1, -1};
    const double negative[] = {1, -0.5}, none[] = {0, 0}, nan[] = {NAN, 1}, far[] = {1, INFINITY};
    const double huge[] = {1e308, 1e308};
    const weft_status status = WEFT_BAD_ARGUMENT;
    expect(weft_csr_host_split(NULL, 2, NULL, starts), status, "csr_host_split: the host CSR is");
    expect(weft_csr_host_split(&host, 2, NULL, NULL), status, "starts is NULL");
    expect(weft_csr_host_split(&host, 0, NULL, starts), status, "n_parts is 0");
    expect(weft_csr_host_split(&host, 2, negative, starts), status, "shares[1] is -0.5");
    expect(weft_csr_host_split(&host, 2, none, starts), status, "the shares sum to 0");
    expect(weft_csr_host_split(&host, 2, nan, starts), status, "shares[0] is nan");
    expect(weft_csr_host_split(&host, 2, far, starts), status, "shares[1] is inf");
    expect(weft_csr_host_split(&host, 2, huge, starts), status, "the shares sum to inf");
    for (int i = 0; i < 3; i++)
        assert_int_equal(starts[i], -1);
    weft_csr_host_destroy(&host);
}

static void refuse_rows(const weft_csr_host *host, int64_t first, int64_t n_rows,
                        weft_status status, const char *sentence)
{
    static const weft_csr_host zero;
    weft_csr_host part = {.n_rows = 77};
    expect(weft_csr_host_rows(&part, host, first, n_rows), status, sentence);
    assert_memory_equal(&part, &zero, sizeof(part));
}

static void test_rows_that_are_refused(void **state)
{
    (void)state;
    random_state random = {8};
    weft_csr_host host = random_csr(&random, 9, WEFT_I32, WEFT_I32, WEFT_F32);
    expect(weft_csr_host_rows(NULL, &host, 0, 1), WEFT_BAD_ARGUMENT, "out is NULL");
    refuse_rows(NULL, 0, 1, WEFT_BAD_ARGUMENT, "csr_host_rows: the host CSR is NULL");
    refuse_rows(&host, -1, 1, WEFT_BAD_ARGUMENT, "1 rows from row -1 of a matrix of 9");
    refuse_rows(&host, 0, -1, WEFT_BAD_ARGUMENT, "-1 rows from row 0 of a matrix of 9");
    refuse_rows(&host, 10, 0, WEFT_BAD_ARGUMENT, "0 rows from row 10 of a matrix of 9");
    refuse_rows(&host, 4, 6, WEFT_BAD_ARGUMENT, "6 rows from row 4 of a matrix of 9");
    refuse_rows(&host, 4, INT64_MAX, WEFT_BAD_ARGUMENT, "from row 4 of a matrix of 9");
    int32_t *offsets = host.offsets;
    offsets[3] = (int32_t)host.nnz + 5;
    refuse_rows(&host, 2, 1, WEFT_BAD_DATA, "csr_host_rows: row 2 has the entries");
    refuse_rows(&host, 3, 1, WEFT_BAD_DATA, "csr_host_rows: row 3 has the entries");
    refuse_rows(&host, 0, 9, WEFT_BAD_DATA, "csr_host_rows: row 2 has the entries");
    offsets[3] = -2;
    refuse_rows(&host, 3, 1, WEFT_BAD_DATA, "has the entries -2 to");
    weft_csr_host_destroy(&host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_begin_where_they_should),
        cmocka_unit_test(test_parts_are_the_whole),
        cmocka_unit_test(test_default_types),
        cmocka_unit_test(test_splits_that_are_refused),
        cmocka_unit_test(test_rows_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
