// SPDX-License-Identifier: Apache-2.0
// CSR: made from coordinates and from dense, copied to the device and back, and damaged in every
// way that a check must find.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/csr.h>
#include <weft/rehearsal.h>
#include <weft/spmm.h>

#include "base/element.h"
#include "expect.h"
#include "random.h"

static weft_context *context; // NULL where there is no device

static double real_at(const void *array, weft_dtype dtype, int64_t i)
{
    switch (dtype) {
    case WEFT_F16:
        return (double)weft_f32_from_f16(((const uint16_t *)array)[i]);
    case WEFT_BF16:
        return (double)weft_f32_from_bf16(((const uint16_t *)array)[i]);
    case WEFT_F32:
        return (double)((const float *)array)[i];
    default:
        return ((const double *)array)[i];
    }
}

static void assert_integers(const void *array, weft_dtype dtype, const int64_t *expected, int n)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(integer_at(array, dtype, i), expected[i]);
}

static void assert_zero(const weft_csr_host *host)
{
    static const weft_csr_host zero;
    assert_memory_equal(host, &zero, sizeof(zero));
}

// The example of <weft/csr.h>, in every combination of data types.
static void test_from_coo(void **state)
{
    (void)state;
    static const int64_t rows[] = {2, 0, 2}, cols[] = {2, 1, 0};
    static const double values[] = {7, 5, 6};
    static const weft_dtype offset_dtypes[] = {WEFT_I32, WEFT_I64};
    static const weft_dtype index_dtypes[] = {WEFT_I32, WEFT_I16};
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    for (int i = 0; i < 16; i++) {
        weft_csr_host host;
        expect(weft_csr_host_from_coo(&host, 3, 3, 3, rows, cols, values,
                                      WEFT_CSR(.offset_dtype = offset_dtypes[i % 2],
                                               .index_dtype = index_dtypes[i / 2 % 2],
                                               .dtype = dtypes[i / 4])),
               WEFT_OK, "");
        assert_int_equal(host.nnz, 3);
        assert_int_equal(host.offset_dtype, offset_dtypes[i % 2]);
        assert_int_equal(host.index_dtype, index_dtypes[i / 2 % 2]);
        assert_int_equal(host.dtype, dtypes[i / 4]);
        assert_integers(host.offsets, host.offset_dtype, (const int64_t[]){0, 1, 1, 3}, 4);
        assert_integers(host.indices, host.index_dtype, (const int64_t[]){1, 0, 2}, 3);
        for (int e = 0; e < 3; e++)
            assert_true(real_at(host.values, host.dtype, e) == 5 + e);
        weft_csr_host_destroy(&host);
        assert_zero(&host);
    }
}

static void test_defaults(void **state)
{
    (void)state;
    static const int64_t rows[] = {0}, cols[] = {1};
    weft_csr_host host;
    expect(weft_csr_host_from_coo(&host, 1, 2, 1, rows, cols, NULL, NULL), WEFT_OK, "");
    assert_int_equal(host.offset_dtype, WEFT_I32);
    assert_int_equal(host.index_dtype, WEFT_I32);
    assert_int_equal(host.dtype, WEFT_F32);
    assert_true(((const float *)host.values)[0] == 1); // no values: ones
    weft_csr_host_destroy(&host);
    weft_csr_host_destroy(NULL);
}

// 1e16 swallows a 1 that is added to it: the order of the sum shows in the result.
static void test_duplicates_in_the_order_given(void **state)
{
    (void)state;
    static const int64_t rows[] = {0, 0, 0, 0, 0, 0, 0}, cols[] = {5, 2, 2, 2, 1, 1, 1};
    static const double values[] = {9, 1e16, 1, -1e16, 1e16, -1e16, 1};
    weft_csr_host host;
    expect(weft_csr_host_from_coo(&host, 1, 6, 7, rows, cols, values, NULL), WEFT_OK, "");
    assert_int_equal(host.nnz, 3);
    assert_integers(host.indices, host.index_dtype, (const int64_t[]){1, 2, 5}, 3);
    assert_true(real_at(host.values, host.dtype, 0) == 1);
    assert_true(real_at(host.values, host.dtype, 1) == 0);
    assert_true(real_at(host.values, host.dtype, 2) == 9);
    weft_csr_host_destroy(&host);
}

// The sum is a little above the middle of two f16; in f32 it would be the middle.
static void test_sums_are_rounded_once(void **state)
{
    (void)state;
    static const int64_t at[] = {0, 0, 0};
    static const double values[] = {1, 0x1p-11, 0x1p-40};
    weft_csr_host host;
    expect(weft_csr_host_from_coo(&host, 1, 1, 3, at, at, values, WEFT_CSR(.dtype = WEFT_F16)),
           WEFT_OK, "");
    assert_int_equal(((const uint16_t *)host.values)[0], 0x3c01);
    weft_csr_host_destroy(&host);

    static const double minus_zero[] = {-0.0};
    expect(weft_csr_host_from_coo(&host, 1, 1, 1, at, at, minus_zero, NULL), WEFT_OK, "");
    assert_true(signbit(((const float *)host.values)[0]));
    weft_csr_host_destroy(&host);
}

enum { MOST_ROWS = 9, MOST_COLS = 11, MOST_ENTRIES = 60 };

// Every element of a CSR, added up in a dense array; columns must be sorted and unique.
static void spread(const weft_csr_host *host, double dense[MOST_ROWS][MOST_COLS])
{
    memset(dense, 0, sizeof(double[MOST_ROWS][MOST_COLS]));
    assert_int_equal(weft_csr_host_check(host, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE), WEFT_OK);
    for (int64_t r = 0; r < host->n_rows; r++)
        for (int64_t e = integer_at(host->offsets, host->offset_dtype, r);
             e < integer_at(host->offsets, host->offset_dtype, r + 1); e++)
            dense[r][integer_at(host->indices, host->index_dtype, e)] =
                real_at(host->values, host->dtype, e);
}

static void test_random_coordinates(void **state)
{
    (void)state;
    random_state random = {5};
    for (int i = 0; i < 3000; i++) {
        const int64_t n_rows = random_between(&random, 1, MOST_ROWS);
        const int64_t n_cols = random_between(&random, 1, MOST_COLS);
        const int64_t n = random_between(&random, 0, MOST_ENTRIES);
        int64_t rows[MOST_ENTRIES], cols[MOST_ENTRIES];
        double values[MOST_ENTRIES], expected[MOST_ROWS][MOST_COLS] = {{0}};
        bool is_stored[MOST_ROWS][MOST_COLS] = {{false}};
        int64_t n_stored = 0;
        for (int64_t e = 0; e < n; e++) {
            rows[e] = random_below(&random, n_rows);
            cols[e] = random_below(&random, n_cols);
            values[e] = (double)random_between(&random, -99, 99);
            expected[rows[e]][cols[e]] += values[e];
            n_stored += !is_stored[rows[e]][cols[e]];
            is_stored[rows[e]][cols[e]] = true;
        }

        weft_csr_host host;
        double found[MOST_ROWS][MOST_COLS];
        expect(weft_csr_host_from_coo(&host, n_rows, n_cols, n, rows, cols, values, NULL), WEFT_OK,
               "");
        assert_int_equal(host.nnz, n_stored);
        spread(&host, found);
        assert_memory_equal(found, expected, sizeof(found));
        weft_csr_host_destroy(&host);
    }
}

static void test_coordinates_outside(void **state)
{
    (void)state;
    weft_csr_host host;
    static const struct {
        int64_t row, col;
        const char *sentence;
    } cases[] = {
        {-1, 0, "entry 1 is at row -1, column 0 of a 3 x 4 matrix"},
        {3, 0, "entry 1 is at row 3"},
        {0, -1, "column -1"},
        {0, 4, "column 4"},
        {INT64_MAX, 0, "9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int64_t rows[] = {2, cases[i].row, -7}, cols[] = {3, cases[i].col, 0};
        expect(weft_csr_host_from_coo(&host, 3, 4, 3, rows, cols, NULL, NULL), WEFT_BAD_DATA,
               cases[i].sentence);
        assert_zero(&host);
    }
}

static void test_conversions_refused(void **state)
{
    (void)state;
    static const int64_t at[] = {0};
    const int64_t none = 0;
    weft_csr_host host;
    const struct {
        int64_t n_rows, n_cols, n_entries;
        const int64_t *rows;
        const weft_csr_params *params;
        weft_status expected;
        const char *sentence;
    } cases[] = {
        {-1, 4, none, at, NULL, WEFT_BAD_ARGUMENT, "-1 x 4"},
        {3, -4, none, at, NULL, WEFT_BAD_ARGUMENT, "3 x -4"},
        {3, 4, -1, at, NULL, WEFT_BAD_ARGUMENT, "-1 entries"},
        {3, 4, 1, NULL, NULL, WEFT_BAD_ARGUMENT, "rows are NULL"},
        {3, 32768, 1, at, WEFT_CSR(.index_dtype = WEFT_I16), WEFT_OK, ""},
        {3, 32769, 1, at, WEFT_CSR(.index_dtype = WEFT_I16), WEFT_BAD_DTYPE, "32769 columns"},
        {3, INT64_C(1) << 31, 1, at, NULL, WEFT_OK, ""},
        {3, (INT64_C(1) << 31) + 1, 1, at, NULL, WEFT_BAD_DTYPE, "i32 indices"},
        {3, 4, 1, at, WEFT_CSR(.dtype = WEFT_I32), WEFT_BAD_DTYPE, "i32 values"},
        {3, 4, 1, at, WEFT_CSR(.index_dtype = WEFT_F32), WEFT_BAD_DTYPE, "f32 indices"},
        {3, 4, 1, at, WEFT_CSR(.offset_dtype = WEFT_I16), WEFT_BAD_DTYPE, "i16 offsets"},
        {3, 4, 1, at, &(const weft_csr_params){0}, WEFT_BAD_ARGUMENT, "WEFT_CSR()"},
        {INT64_MAX, 4, 1, at, NULL, WEFT_BAD_SHAPE, "rows"},
        {INT64_MAX - 1, 4, 1, at, NULL, WEFT_NO_MEMORY, "9223372036854775807 elements"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(weft_csr_host_from_coo(&host, cases[i].n_rows, cases[i].n_cols, cases[i].n_entries,
                                      cases[i].rows, at, NULL, cases[i].params),
               cases[i].expected, cases[i].sentence);
        if (cases[i].expected != WEFT_OK)
            assert_zero(&host);
        weft_csr_host_destroy(&host);
    }
    expect(weft_csr_host_from_coo(NULL, 1, 1, 0, NULL, NULL, NULL, NULL), WEFT_BAD_ARGUMENT,
           "out is NULL");
}

static void test_from_dense(void **state)
{
    (void)state;
    static const float dense[] = {0, 5, -0.5f, NAN, -0.0f, 6, 0.1f, INFINITY, 0, 0, 0, -8};
    static const struct {
        double threshold;
        int64_t offsets[4], indices[8];
    } cases[] = {
        {0, {0, 3, 6, 7}, {1, 2, 3, 1, 2, 3, 3}},
        {0.1, {0, 3, 5, 6}, {1, 2, 3, 1, 3, 3}},
        {7, {0, 1, 2, 3}, {3, 3, 3}},
        {INFINITY, {0, 1, 1, 1}, {3}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_csr_host host;
        expect(weft_csr_host_from_dense(&host, 3, 4, dense, 4, 1, cases[i].threshold, NULL),
               WEFT_OK, "");
        assert_integers(host.offsets, host.offset_dtype, cases[i].offsets, 4);
        assert_int_equal(host.nnz, cases[i].offsets[3]);
        assert_integers(host.indices, host.index_dtype, cases[i].indices, (int)host.nnz);
        weft_csr_host_destroy(&host);
    }
}

// Columns last to first of the transposed matrix.
static void test_from_dense_with_strides(void **state)
{
    (void)state;
    static const float dense[] = {0, 5, 0, 6, 0, 7};
    weft_csr_host host;
    expect(weft_csr_host_from_dense(&host, 2, 3, dense + 4, 1, -2, 0, NULL), WEFT_OK, "");
    assert_integers(host.offsets, host.offset_dtype, (const int64_t[]){0, 0, 3}, 3);
    assert_integers(host.indices, host.index_dtype, (const int64_t[]){0, 1, 2}, 3);
    for (int e = 0; e < 3; e++)
        assert_true(real_at(host.values, host.dtype, e) == 7 - e);
    weft_csr_host_destroy(&host);
}

static void test_from_dense_refused(void **state)
{
    (void)state;
    static const float dense[] = {1};
    weft_csr_host host;
    expect(weft_csr_host_from_dense(&host, 1, 1, dense, 1, 1, -1, NULL), WEFT_BAD_ARGUMENT,
           "threshold is -1");
    expect(weft_csr_host_from_dense(&host, 1, 1, dense, 1, 1, NAN, NULL), WEFT_BAD_ARGUMENT,
           "threshold");
    expect(weft_csr_host_from_dense(&host, 1, 1, NULL, 1, 1, 0, NULL), WEFT_BAD_ARGUMENT,
           "matrix is NULL");
    expect(weft_csr_host_from_dense(&host, -1, 1, dense, 1, 1, 0, NULL), WEFT_BAD_ARGUMENT,
           "-1 x 1");
    assert_zero(&host);
    expect(weft_csr_host_from_dense(&host, 0, 5, NULL, 1, 1, 0, NULL), WEFT_OK, "");
    assert_int_equal(host.nnz, 0);
    weft_csr_host_destroy(&host);
}

enum { N_ROWS = 4, N_COLS = 10, NNZ = 7 };

// A sound pattern, with one thing changed.
typedef struct damage {
    int64_t offsets[N_ROWS + 1], indices[NNZ];
    int demand;
    const char *sentence; // NULL: it is sound, or nobody asked
} damage;

#define SORTED WEFT_CSR_SORTED
#define UNIQUE WEFT_CSR_UNIQUE
#define BOTH   (WEFT_CSR_SORTED | WEFT_CSR_UNIQUE)

static const damage damages[] = {
    {{0, 3, 3, 5, 7}, {0, 4, 9, 1, 2, 0, 9}, BOTH, NULL},
    {{0, 3, 3, 5, 7}, {0, 4, 9, 1, 2, 0, 9}, UNIQUE, NULL},
    {{1, 3, 3, 5, 7}, {0, 4, 9, 1, 2, 0, 9}, 0, "row 0 begins at offset 1, not at 0"},
    {{-1, 3, 3, 5, 7}, {0, 4, 9, 1, 2, 0, 9}, 0, "row 0 begins at offset -1"},
    {{0, 3, 2, 5, 7}, {0, 4, 9, 1, 2, 0, 9}, 0, "row 1: its offsets fall from 3 to 2"},
    {{0, -3, 3, 5, 7}, {0, 4, 9, 1, 2, 0, 9}, 0, "row 0: its offsets fall from 0 to -3"},
    {{0, 3, 3, 8, 7}, {0, 4, 9, 1, 2, 0, 9}, 0, "row 2 ends at offset 8, there are 7 entries"},
    {{0, 3, 3, 5, 8}, {0, 4, 9, 1, 2, 0, 9}, 0, "row 3 ends at offset 8, there are 7"},
    {{0, 3, 3, 5, 6}, {0, 4, 9, 1, 2, 0, 9}, 0, "row 3, the last, ends at offset 6"},
    {{0, 3, 3, 5, 7},
     {0, 4, 9, 1, -1, 0, 9},
     0,
     "row 2: entry 4 has column -1, the matrix has 10 columns"},
    {{0, 3, 3, 5, 7}, {0, 4, 10, 1, 2, 0, 9}, 0, "row 0: entry 2 has column 10"},
    {{0, 3, 3, 5, 7}, {0, 4, 9, 1, 2, 0, 32767}, 0, "row 3: entry 6 has column 32767"},
    {{0, 3, 3, 5, 7},
     {0, 4, 3, 1, 2, 0, 9},
     SORTED,
     "row 0 is not sorted: entry 2 has column 3 after column 4"},
    {{0, 3, 3, 5, 7}, {0, 4, 3, 1, 2, 0, 9}, UNIQUE, NULL},
    {{0, 3, 3, 5, 7}, {0, 4, 3, 1, 2, 0, 9}, 0, NULL},
    {{0, 3, 3, 5, 7}, {0, 4, 9, 1, 2, 9, 9}, SORTED, NULL},
    {{0, 3, 3, 5, 7},
     {0, 4, 9, 1, 2, 9, 9},
     BOTH,
     "row 3: column 9 occurs twice, at entries 5 and 6"},
    {{0, 3, 3, 5, 7},
     {7, 4, 7, 1, 2, 0, 9},
     UNIQUE,
     "row 0: column 7 occurs twice, at entries 0 and 2"},
    {{0, 3, 3, 5, 7}, {7, 4, 7, 1, 2, 0, 9}, BOTH, "row 0 is not sorted"},
    {{0, 3, 3, 5, 7}, {7, 4, 7, 1, 2, 0, 9}, 0, NULL},
    {{0, 0, 0, 0, 7},
     {6, 5, 4, 3, 2, 1, 6},
     UNIQUE,
     "row 3: column 6 occurs twice, at entries 0 and 6"},
};

enum { N_DAMAGES = sizeof(damages) / sizeof(damages[0]) };

// The arrays of a damaged matrix; values are left zero.
typedef struct damaged {
    int64_t offsets[N_ROWS + 1], indices[NNZ];
    float values[NNZ];
} damaged;

static weft_csr_host inflict(const damage *d, damaged *arrays, weft_dtype offset_dtype,
                             weft_dtype index_dtype)
{
    *arrays = (damaged){0};
    for (int r = 0; r <= N_ROWS; r++)
        integer_put(arrays->offsets, offset_dtype, r, d->offsets[r]);
    for (int e = 0; e < NNZ; e++)
        integer_put(arrays->indices, index_dtype, e, d->indices[e]);
    return (weft_csr_host){N_ROWS,          N_COLS,          NNZ,
                           offset_dtype,    index_dtype,     WEFT_F32,
                           arrays->offsets, arrays->indices, arrays->values};
}

static void test_damage_on_the_host(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * N_DAMAGES; i++) {
        const damage *d = &damages[i / 4];
        damaged arrays;
        const weft_csr_host host =
            inflict(d, &arrays, i & 1 ? WEFT_I64 : WEFT_I32, i & 2 ? WEFT_I16 : WEFT_I32);
        expect(weft_csr_host_check(&host, d->demand), d->sentence ? WEFT_BAD_DATA : WEFT_OK,
               d->sentence);
    }
}

static void test_host_check_refuses(void **state)
{
    (void)state;
    damaged arrays;
    const weft_csr_host sound = inflict(&damages[0], &arrays, WEFT_I32, WEFT_I32);
    weft_csr_host host = sound;
    expect(weft_csr_host_check(NULL, 0), WEFT_BAD_ARGUMENT, "NULL");
    expect(weft_csr_host_check(&host, 4), WEFT_BAD_ARGUMENT, "demand 4");
    host.offsets = NULL;
    expect(weft_csr_host_check(&host, 0), WEFT_BAD_ARGUMENT, "offsets are NULL");
    host = sound;
    host.indices = NULL;
    expect(weft_csr_host_check(&host, 0), WEFT_BAD_ARGUMENT, "indices are NULL, with 7 entries");
    host = sound;
    host.nnz = -1;
    expect(weft_csr_host_check(&host, 0), WEFT_BAD_ARGUMENT, "-1 entries");
    host = sound;
    host.n_rows = 0;
    expect(weft_csr_host_check(&host, 0), WEFT_BAD_DATA, "there are 7 entries, but no rows");
    host = sound;
    host.offset_dtype = host.index_dtype = host.dtype = WEFT_DEFAULT;
    expect(weft_csr_host_check(&host, 0), WEFT_OK, "");
}

// No rows, no columns, no entries.
static void test_empty_matrices(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const int64_t n_rows = i & 1 ? 3 : 0, n_cols = i & 2 ? 5 : 0;
        weft_csr_host host;
        expect(weft_csr_host_from_coo(&host, n_rows, n_cols, 0, NULL, NULL, NULL, NULL), WEFT_OK,
               "");
        assert_int_equal(host.nnz, 0);
        for (int64_t r = 0; r <= n_rows; r++)
            assert_int_equal(integer_at(host.offsets, host.offset_dtype, r), 0);
        expect(weft_csr_host_check(&host, BOTH), WEFT_OK, "");
        expect(weft_csr_host_check(&host, UNIQUE), WEFT_OK, "");
        weft_csr_host_destroy(&host);
    }
}

static void assert_stats(weft_row_stats stats, int64_t nnz, int64_t n_empty, int64_t max,
                         double mean, double cov)
{
    assert_int_equal(stats.nnz, nnz);
    assert_int_equal(stats.n_empty, n_empty);
    assert_int_equal(stats.max, max);
    assert_true(stats.mean == mean);
    assert_true(fabs(stats.cov - cov) <= 1e-12 * cov);
}

static void test_row_stats(void **state)
{
    (void)state;
    static const int32_t uneven[] = {0, 1, 1, 8, 12}, alike[] = {0, 3, 6, 9}, empty[] = {0, 0, 0};
    static const int64_t alone[] = {0, 5};
    assert_stats(weft_row_stats_of(uneven, WEFT_DEFAULT, 4), 12, 1, 7, 3, sqrt(7.5) / 3);
    assert_stats(weft_row_stats_of(alike, WEFT_I32, 3), 9, 0, 3, 3, 0);
    assert_stats(weft_row_stats_of(empty, WEFT_I32, 2), 0, 2, 0, 0, 0);
    assert_stats(weft_row_stats_of(alone, WEFT_I64, 1), 5, 0, 5, 5, 0);
    assert_stats(weft_row_stats_of(NULL, WEFT_I32, 0), 0, 0, 0, 0, 0);
    assert_int_equal(weft_row_stats_of(uneven, WEFT_I32, 4).n_rows, 4);
    assert_int_equal(weft_row_stats_of(NULL, WEFT_I32, 0).n_rows, 0);
}

// Lengths of 2^40 - 1 and 2^40 + 1 in turn: the mean of the squares less the square of the mean
// would have lost all of the 1.
static void test_row_stats_of_long_rows(void **state)
{
    (void)state;
    enum { N = 1000 };
    static int64_t offsets[N + 1];
    for (int r = 0; r < N; r++)
        offsets[r + 1] = offsets[r] + (INT64_C(1) << 40) + (r % 2 ? 1 : -1);
    const weft_row_stats stats = weft_row_stats_of(offsets, WEFT_I64, N);
    assert_true(stats.mean == 0x1p40);
    assert_true(fabs(stats.cov * 0x1p40 - 1) < 1e-3);
}

static void skip_without_device(void)
{
    if (!context)
        skip();
}

static void assert_buffer(cl_mem buffer, const void *expected, size_t bytes)
{
    void *found = malloc(bytes);
    assert_non_null(found);
    assert_int_equal(clEnqueueReadBuffer(weft_context_queue(context), buffer, CL_TRUE, 0, bytes,
                                         found, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_memory_equal(found, expected, bytes);
    free(found);
}

static void test_to_the_device(void **state)
{
    (void)state;
    skip_without_device();
    static const int64_t rows[] = {2, 0, 2}, cols[] = {2, 1, 0};
    static const double values[] = {7, 5, 6};
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    for (int i = 0; i < 4; i++) {
        weft_csr_host host;
        weft_csr csr;
        expect(weft_csr_host_from_coo(&host, 3, 3, 3, rows, cols, values,
                                      WEFT_CSR(.dtype = dtypes[i])),
               WEFT_OK, "");
        expect(weft_csr_create(&csr, context, weft_context_queue(context), &host), WEFT_OK, "");
        assert_int_equal(csr.n_rows, 3);
        assert_int_equal(csr.n_cols, 3);
        assert_int_equal(csr.nnz, 3);
        assert_int_equal(csr.dtype, dtypes[i]);
        assert_buffer(csr.offsets, host.offsets, 4 * sizeof(int32_t));
        assert_buffer(csr.indices, host.indices, 3 * sizeof(int32_t));
        assert_buffer(csr.values, host.values, 3 * weft_dtype_size(dtypes[i]));
        expect(weft_csr_check(context, weft_context_queue(context), &csr, BOTH, NULL), WEFT_OK, "");
        weft_csr_destroy(&csr);
        assert_null(csr.offsets);
        weft_csr_host_destroy(&host);
    }
    weft_csr_destroy(NULL);
}

static void test_empty_on_the_device(void **state)
{
    (void)state;
    skip_without_device();
    for (int64_t n_rows = 0; n_rows < 3; n_rows++) {
        weft_csr_host host;
        weft_csr csr;
        expect(weft_csr_host_from_coo(&host, n_rows, 3, 0, NULL, NULL, NULL, NULL), WEFT_OK, "");
        expect(weft_csr_create(&csr, context, weft_context_queue(context), &host), WEFT_OK, "");
        assert_null(csr.indices);
        assert_null(csr.values);
        assert_buffer(csr.offsets, host.offsets, (size_t)(n_rows + 1) * sizeof(int32_t));
        expect(weft_csr_check(context, weft_context_queue(context), &csr, UNIQUE, NULL), WEFT_OK,
               "");
        weft_csr_destroy(&csr);
        weft_csr_host_destroy(&host);
    }
}

static void test_damage_on_the_device(void **state)
{
    (void)state;
    skip_without_device();
    for (int i = 0; i < 4 * N_DAMAGES; i++) {
        const damage *d = &damages[i / 4];
        damaged arrays;
        const weft_csr_host host =
            inflict(d, &arrays, i & 1 ? WEFT_I64 : WEFT_I32, i & 2 ? WEFT_I16 : WEFT_I32);
        weft_csr csr;
        expect(weft_csr_create(&csr, context, weft_context_queue(context), &host), WEFT_OK, "");
        expect(weft_csr_check(context, weft_context_queue(context), &csr, d->demand, NULL),
               d->sentence ? WEFT_BAD_DATA : WEFT_OK, d->sentence);
        weft_csr_destroy(&csr);
    }
}

// Offsets and indices each in one buffer with something else before them.
static void test_arrays_that_start_later(void **state)
{
    (void)state;
    skip_without_device();
    static const int32_t offsets[] = {-9, -9, 0, 1, 3}, indices[] = {-9, 4, 0, 4};
    static const float values[] = {1, 2, 3, 4};
    const weft_csr_host host = {.n_rows = 4,
                                .n_cols = 5,
                                .nnz = 4,
                                .offsets = (void *)offsets,
                                .indices = (void *)indices,
                                .values = (void *)values};
    weft_csr csr;
    expect(weft_csr_create(&csr, context, weft_context_queue(context), &host), WEFT_OK, "");
    csr.n_rows = 2;
    csr.nnz = 3;
    csr.offsets_start = 2;
    csr.indices_start = 1;
    expect(weft_csr_check(context, weft_context_queue(context), &csr, BOTH, NULL), WEFT_OK, "");
    csr.indices_start = 0;
    expect(weft_csr_check(context, weft_context_queue(context), &csr, BOTH, NULL), WEFT_BAD_DATA,
           "row 0: entry 0 has column -9");
    csr.indices_start = 2;
    expect(weft_csr_check(context, weft_context_queue(context), &csr, BOTH, NULL), WEFT_BAD_BUFFER,
           "indices");
    weft_csr_destroy(&csr);
}

// Arrays of more than one k-block of 4 MiB, with damage in the last.
static void test_more_than_one_k_block(void **state)
{
    (void)state;
    skip_without_device();
    enum { N = (5 << 20) / sizeof(int32_t) };
    int32_t *offsets = malloc((N + 1) * sizeof(*offsets)), *indices = calloc(N, sizeof(*indices));
    float *values = calloc(N, sizeof(*values));
    assert_true(offsets && indices && values);
    for (int r = 0; r <= N; r++)
        offsets[r] = r;
    const weft_csr_host host = {.n_rows = N,
                                .n_cols = 3,
                                .nnz = N,
                                .offsets = offsets,
                                .indices = indices,
                                .values = values};

    weft_csr csr;
    indices[N - 2] = 2;
    expect(weft_csr_create(&csr, context, weft_context_queue(context), &host), WEFT_OK, "");
    expect(weft_csr_check(context, weft_context_queue(context), &csr, BOTH, NULL), WEFT_OK, "");
    expect(weft_csr_check(context, weft_context_queue(context), &csr, UNIQUE, NULL), WEFT_OK, "");
    weft_csr_destroy(&csr);

    indices[N - 2] = 3;
    expect(weft_csr_create(&csr, context, weft_context_queue(context), &host), WEFT_OK, "");
    expect(weft_csr_check(context, weft_context_queue(context), &csr, BOTH, NULL), WEFT_BAD_DATA,
           "row 1310718: entry 1310718 has column 3");
    weft_csr_destroy(&csr);
    free(offsets);
    free(indices);
    free(values);
}

static void test_device_calls_refused(void **state)
{
    (void)state;
    skip_without_device();
    damaged arrays;
    weft_csr_host host = inflict(&damages[0], &arrays, WEFT_I32, WEFT_I32);
    weft_csr csr = {.nnz = 5};
    weft_context *other = NULL;
    cl_command_queue queue = weft_context_queue(context);
    expect(weft_context_open(&other, WEFT_CONTEXT(.cache_dir = "")), WEFT_OK, "");

    expect(weft_csr_create(NULL, context, queue, &host), WEFT_BAD_ARGUMENT, "out is NULL");
    expect(weft_csr_create(&csr, NULL, queue, &host), WEFT_BAD_ARGUMENT, "ctx is NULL");
    assert_int_equal(csr.nnz, 0);
    expect(weft_csr_create(&csr, context, NULL, &host), WEFT_BAD_ARGUMENT, "queue is NULL");
    expect(weft_csr_create(&csr, context, queue, NULL), WEFT_BAD_ARGUMENT, "NULL");
    expect(weft_csr_create(&csr, other, queue, &host), WEFT_BAD_ARGUMENT, "queue");
    host.n_rows = (int64_t)(weft_context_limits(context)->max_alloc_bytes / 8);
    host.offset_dtype = WEFT_I64;
    expect(weft_csr_create(&csr, context, queue, &host), WEFT_NO_MEMORY, "offsets of 8 bytes");
    assert_null(csr.offsets);

    host = inflict(&damages[0], &arrays, WEFT_I32, WEFT_I32);
    expect(weft_csr_create(&csr, context, queue, &host), WEFT_OK, "");
    expect(weft_csr_check(NULL, queue, &csr, 0, NULL), WEFT_BAD_ARGUMENT, "ctx is NULL");
    expect(weft_csr_check(context, queue, NULL, 0, NULL), WEFT_BAD_ARGUMENT, "NULL");
    expect(weft_csr_check(other, weft_context_queue(other), &csr, 0, NULL), WEFT_BAD_BUFFER,
           "another OpenCL context");
    expect(weft_csr_check(context, queue, &csr, 8, NULL), WEFT_BAD_ARGUMENT, "demand 8");
    weft_csr_destroy(&csr);
    weft_context_destroy(&other);
}

// By calls that look at a matrix and are no operations. What weft_csr_destroy() leaves is none.
static void test_arrays_refused(void **state)
{
    (void)state;
    skip_without_device();
    damaged arrays;
    const weft_csr_host host = inflict(&damages[0], &arrays, WEFT_I32, WEFT_I32);
    weft_csr csr;
    weft_spmm_plan *plan;
    weft_context *rehearsal;
    cl_int code;
    cl_command_queue queue = weft_context_queue(context);
    expect(weft_csr_create(&csr, context, queue, &host), WEFT_OK, "");
    expect(weft_rehearsal_create(&rehearsal, weft_context_limits(context), NULL), WEFT_OK, "");
    const cl_mem small =
        clCreateBuffer(weft_context_cl(context), CL_MEM_READ_WRITE, 1, NULL, &code);
    const cl_mem wrong[] = {NULL, weft_rehearsal_buffer(rehearsal, NULL), small};
    static const char *const says[] = {": the buffer is NULL", "one of a rehearsal", "bytes"};
    for (int i = 0; i < 6; i++) {
        weft_csr bad = csr;
        *(i % 2 ? &bad.indices : &bad.offsets) = wrong[i / 2];
        expect(weft_csr_check(context, queue, &bad, 0, NULL), WEFT_BAD_BUFFER, says[i / 2]);
        expect(weft_spmm_plan_create(&plan, context, queue, &bad, NULL), WEFT_BAD_BUFFER,
               says[i / 2]);
    }
    clReleaseMemObject(small);
    weft_context_destroy(&rehearsal);
    weft_csr_destroy(&csr);
    expect(weft_csr_check(context, queue, &csr, 0, NULL), WEFT_BAD_BUFFER, "NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_coo),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_duplicates_in_the_order_given),
        cmocka_unit_test(test_sums_are_rounded_once),
        cmocka_unit_test(test_random_coordinates),
        cmocka_unit_test(test_coordinates_outside),
        cmocka_unit_test(test_conversions_refused),
        cmocka_unit_test(test_from_dense),
        cmocka_unit_test(test_from_dense_with_strides),
        cmocka_unit_test(test_from_dense_refused),
        cmocka_unit_test(test_damage_on_the_host),
        cmocka_unit_test(test_host_check_refuses),
        cmocka_unit_test(test_empty_matrices),
        cmocka_unit_test(test_row_stats),
        cmocka_unit_test(test_row_stats_of_long_rows),
        cmocka_unit_test(test_to_the_device),
        cmocka_unit_test(test_empty_on_the_device),
        cmocka_unit_test(test_damage_on_the_device),
        cmocka_unit_test(test_arrays_that_start_later),
        cmocka_unit_test(test_more_than_one_k_block),
        cmocka_unit_test(test_device_calls_refused),
        cmocka_unit_test(test_arrays_refused),
    };
    weft_context_open(&context, WEFT_CONTEXT(.cache_dir = ""));
    const int n_failed = cmocka_run_group_tests_name("csr", tests, NULL, NULL);
    weft_context_destroy(&context);
    return n_failed;
}
