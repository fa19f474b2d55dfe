// SPDX-License-Identifier: Apache-2.0
// .mtx and .smtx files: what is read, what is refused, and that damage is neither believed nor
// fatal.
#include <math.h>

#include "mtx.h"
#include "operand.h"
#include "scalar.h"
#include "scratch_file.h"
#include "smtx.h"
#include "sparse.h"

// ---- .mtx

#define GENERAL "%%MatrixMarket matrix coordinate real general\n"
#define PATTERN "%%MatrixMarket matrix coordinate pattern general\n"

static weft_csr_host read_mtx(const char *text)
{
    weft_csr_host csr;
    complaint why;
    if (!mtx_read(&csr, put_text("read.mtx", text), WEFT_CSR(.dtype = WEFT_F64), &why))
        fail_msg("%s", why.text);
    assert_int_equal(weft_csr_host_check(&csr, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE), WEFT_OK);
    return csr;
}

// Row by row, with -1 for the end of each: "column value column value -1 ...".
static void expect_rows(weft_csr_host *csr, const double *want)
{
    const int32_t *offsets = csr->offsets, *indices = csr->indices;
    const double *values = csr->values;
    for (int64_t r = 0; r < csr->n_rows; r++) {
        for (int32_t e = offsets[r]; e < offsets[r + 1]; e++, want += 2) {
            assert_true(indices[e] == want[0]);
            assert_true(values[e] == want[1]);
        }
        assert_true(*want++ == -1);
    }
    weft_csr_host_destroy(csr);
}

static void mtx_reads_general(void **state)
{
    const double want[] = {0, 2.5, 2, -1e-30, -1, -1, 1, 7, -1};
    (void)state;
    weft_csr_host csr = read_mtx("%%MatrixMarket matrix coordinate real general\n"
                                 "% a comment\n\n3 3 3\n3 2 7\n1 3 -1e-30\n1 1 2.5\n");
    assert_int_equal(csr.n_rows, 3);
    assert_int_equal(csr.n_cols, 3);
    assert_int_equal(csr.nnz, 3);
    expect_rows(&csr, want);
}

static void mtx_reads_what_people_write(void **state)
{
    const double want[] = {1, 3, -1, 0, 4, -1};
    (void)state;
    weft_csr_host csr = read_mtx("%%matrixmarket MATRIX Coordinate REAL General\r\n%\r\n\r\n"
                                 "  2\t2  2 \r\n\r\n% between\r\n +1 2 3\r\n2 1 4.0E0");
    expect_rows(&csr, want);
}

// A byte order mark, empty lines first, lines that end with \\r, comments behind entries.
static void mtx_reads_what_programs_write(void **state)
{
    static const char *const texts[] = {
        "\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n2 1 4\n",
        "\n \r\n%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 3\n2 1 4\n",
        "%%MatrixMarket matrix coordinate real general\r%\r2 2 2\r1 2 3\r2 1 4\r",
        "%%MatrixMarket matrix coordinate unsigned-integer general\n%\n2 2 2\n1 2 3\n2 1 4\n",
        GENERAL "2 2 2 % sizes\n1 2 3 % first\n2 1 4 %second\n% the end\n\n%",
    };
    const double want[] = {1, 3, -1, 0, 4, -1};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        weft_csr_host csr = read_mtx(texts[i]);
        expect_rows(&csr, want);
    }
}

static void mtx_counts_every_kind_of_line(void **state)
{
    weft_csr_host csr;
    complaint why;
    (void)state;
    const char *path = put_text(
        "lines.mtx", "\r\n\r\r\n%%MatrixMarket matrix coordinate real general\r2 2 1\n\r9 1 1\n");
    assert_false(mtx_read(&csr, path, NULL, &why));
    expect_complaint(&why, "lines.mtx:7: entry (9, 1) is outside");
}

static void mtx_mirrors_symmetric(void **state)
{
    const double want[] = {0, 1, 2, 5, -1, 1, 2, -1, 0, 5, -1};
    (void)state;
    weft_csr_host csr = read_mtx("%%MatrixMarket matrix coordinate real symmetric\n"
                                 "3 3 3\n1 1 1\n2 2 2\n3 1 5\n");
    assert_int_equal(csr.nnz, 4);
    expect_rows(&csr, want);
}

static void mtx_negates_skew(void **state)
{
    const double want[] = {1, -5, -1, 0, 5, -1};
    (void)state;
    weft_csr_host csr = read_mtx("%%MatrixMarket matrix coordinate integer skew-symmetric\n"
                                 "2 2 1\n2 1 5\n");
    expect_rows(&csr, want);
}

static void mtx_reads_pattern_and_sums_duplicates(void **state)
{
    const double want[] = {0, 2, 1, 1, -1, -1};
    (void)state;
    weft_csr_host csr = read_mtx("%%MatrixMarket matrix coordinate pattern general\n"
                                 "2 4 3\n1 1\n1 2\n1 1\n");
    assert_int_equal(csr.n_cols, 4);
    expect_rows(&csr, want);
}

static void mtx_reads_large_integers(void **state)
{
    const double want[] = {0, 2147483647.0, 1, -2147483648.0, 2, 0, -1};
    (void)state;
    weft_csr_host csr = read_mtx("%%MatrixMarket matrix coordinate integer general\n"
                                 "1 3 3\n1 1 2147483647\n1 2 -2147483648\n1 3 0\n");
    expect_rows(&csr, want);
}

static void mtx_reads_empty_matrices(void **state)
{
    const double want[] = {-1, -1};
    (void)state;
    weft_csr_host csr = read_mtx("%%MatrixMarket matrix coordinate real general\n2 2 0\n");
    expect_rows(&csr, want);
    csr = read_mtx("%%MatrixMarket matrix coordinate real general\n0 0 0\n");
    assert_int_equal(csr.n_rows, 0);
    weft_csr_host_destroy(&csr);
}

static void mtx_names_the_line_that_is_wrong(void **state)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", ":1: not a Matrix Market file"},
        {"1 1 1\n1 1 1\n", ":1: not a Matrix Market file"},
        {"%%MatrixMarket matrix array real general\n1 1\n1\n", ":1: holds a 'matrix array'"},
        {"%%MatrixMarket vector coordinate real general\n", ":1: holds a 'vector coordinate'"},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "'complex'"},
        {"%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n", "'hermitian'"},
        {"%%MatrixMarket matrix coordinate real\n1 1 1\n1 1 1\n", ":1: the matrix is ''"},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", "no signs"},
        {"%%MatrixMarket matrix coordinate real general x\n", ":1: expected the end of the line"},
        {"%%MatrixMarket matrix \033[31mred\177 real general\n", "'matrix ?[31mred?'"},
        {GENERAL "1 1 1\n1 1 \f\n7.5\n", ":3: expected a value, found '?'"},
        {GENERAL "1 1 1\n1 1 0x1p3\n", ":3: expected a value, found '0x1p3'"},
        {GENERAL "1 1 1\n1 1 nan(1)\n", ":3: expected a value, found 'nan(1)'"},
        {GENERAL "1 1 1\n1 1 -1e300\n", ":3: -1e+300 is too large for f32"},
        {GENERAL, ":2: the file ends where the number of rows is expected"},
        {GENERAL "3 3\n", ":2: the line ends where the number of entries is expected"},
        {GENERAL "3 x 1\n", ":2: expected the number of columns, found 'x'"},
        {GENERAL "3 3 1.5\n", ":2: expected the number of entries, found '1.5'"},
        {GENERAL "3 3 -1\n", ":2: sizes are negative"},
        {GENERAL "3 3 99999999999999999999\n", ":2: the number of entries is out of range"},
        {GENERAL "3 3 1000000000000\n1 1 1\n", ":2: 1000000000000 entries declared"},
        {GENERAL "1000000000000 3 1\n1 1 1\n", ":2: 1000000000000 rows, but only 6 bytes"},
        {GENERAL "3 4294967296 1\n1 1 1\n", ":2: 4294967296 columns"},
        {GENERAL "3 3 9223372036854775807\n1 1 1\n", "entries declared"},
        {GENERAL "3 3 2\n1 1 1\n%     \n", ":2: 2 entries declared, but 1 found"},
        {GENERAL "3 3 1\n1 1 1\n2 2 2\n", ":4: more than the 1 entries declared in line 2"},
        {GENERAL "3 3 1\n0 1 1\n", ":3: entry (0, 1) is outside the 3 x 3 matrix"},
        {GENERAL "3 3 1\n4 1 1\n", ":3: entry (4, 1) is outside the 3 x 3 matrix"},
        {GENERAL "3 3 1\n1 4 1\n", ":3: entry (1, 4) is outside the 3 x 3 matrix"},
        {GENERAL "3 3 1\n-1 1 1\n", ":3: entry (-1, 1) is outside"},
        {GENERAL "3 3 1\n1 1 \n      \n", ":3: the line ends where a value is expected"},
        {GENERAL "3 3 1\n1 1 1d5\n", ":3: expected a value, found '1d5'"},
        {GENERAL "3 3 1\n1 1 1e999\n", ":3: a value is out of range"},
        {GENERAL "3 3 1\n1 1 1 1\n", ":3: expected the end of the line, found '1'"},
        {GENERAL "3 3 1\n1,1,1\n", ":3: expected a column number, found ',1,1'"},
        {GENERAL "3 3 1\n1 1 \x1b[31m\n", ":3: expected a value, found '?[31m'"},
        {PATTERN "3 3 1\n1 1 1\n", ":3: expected the end of the line"},
        {"%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 1 1.0\n",
         ":3: expected a value, found '1.0'"},
        {"%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n", ":2: symmetric, but 3 x 4"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 2 1\n", ":3: (2, 2) is 1"},
        {"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 1\n1 2 1\n",
         ":4: (1, 2) is above the diagonal of a symmetric matrix"},
        {"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 1\n2 3 1\n",
         ":3: (2, 3) is above the diagonal of a skew-symmetric matrix"},
    };
    complaint why;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_csr_host csr;
        if (mtx_read(&csr, put_text("bad.mtx", cases[i].text), NULL, &why))
            fail_msg("read: %s", cases[i].text);
        assert_null(csr.offsets);
        expect_complaint(&why, "bad.mtx:");
        expect_complaint(&why, cases[i].complaint);
    }
}

// ---- .mtx with arrays

#define DENSE "%%MatrixMarket matrix array real general\n"

static void expect_array(const char *path, weft_dtype asked, weft_dtype dtype, int64_t n_rows,
                         int64_t n_cols, const double *want)
{
    npy_array array;
    complaint why;
    if (!operand_read_dense(&array, path, OPERAND(.dtype = asked), &why))
        fail_msg("%s", why.text);
    assert_int_equal(array.dtype, dtype);
    assert_int_equal(array.ndim, 2);
    assert_int_equal(array.shape[0], n_rows);
    assert_int_equal(array.shape[1], n_cols);
    assert_int_equal(array.count, n_rows * n_cols);
    for (int64_t i = 0; i < array.count; i++)
        assert_true(scalar_get(dtype, array.data, i) == want[i]);
    npy_free(&array);
}

static void mtx_arrays_are_dense(void **state)
{
    static const struct {
        const char *text;
        weft_dtype asked, dtype;
        int64_t n_rows, n_cols;
        double want[9];
    } cases[] = {
        {DENSE "2 3\n1\n2\n\n% between\n3.5\n-4\n5 6\n",
         WEFT_DEFAULT,
         WEFT_F32,
         2,
         3,
         {1, 3.5, 5, 2, -4, 6}},
        {DENSE "1 2\n0.1 1e300\n", WEFT_F64, WEFT_F64, 1, 2, {0.1, 1e300}},
        {DENSE "0 2\n", WEFT_DEFAULT, WEFT_F32, 0, 2, {0}},
        {"%%MatrixMarket matrix array integer general\n2 1\n-9007199254740993\n2\n",
         WEFT_DEFAULT,
         WEFT_I64,
         2,
         1,
         {-9007199254740993.0, 2}},
        {"%%MatrixMarket matrix array unsigned-integer general\n1 1\n7\n",
         WEFT_F16,
         WEFT_F16,
         1,
         1,
         {7}},
        {"%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
         WEFT_DEFAULT,
         WEFT_F32,
         3,
         3,
         {1, 2, 3, 2, 4, 5, 3, 5, 6}},
        {"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
         WEFT_DEFAULT,
         WEFT_I64,
         3,
         3,
         {0, -1, -2, 1, 0, -3, 2, 3, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_array(put_text("array.mtx", cases[i].text), cases[i].asked, cases[i].dtype,
                     cases[i].n_rows, cases[i].n_cols, cases[i].want);
}

static void mtx_arrays_that_are_wrong_are_refused(void **state)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"%%MatrixMarket matrix array complex general\n1 1\n1 1\n", ":1: entries are 'complex'"},
        {"%%MatrixMarket matrix array real hermitian\n1 1\n1\n", ":1: the matrix is 'hermitian'"},
        {"%%MatrixMarket matrix array pattern general\n1 1\n", ":1: a pattern has entries"},
        {"%%MatrixMarket matrix array real symmetric\n1 2\n1 2\n", ":2: symmetric, but 1 x 2"},
        {"%%MatrixMarket matrix array unsigned-integer general\n1 1\n-7\n", ":3: -7 is below 0"},
        {DENSE "2 2\n1.0\n2\n3\n", ":6: the file ends where an element is expected"},
        {DENSE "2 2\n1\n2\n3\n4\n5\n", ":7: more than the 4 elements of 2 x 2"},
        {DENSE "2000000 2000000\n1\n", ":2: 2000000 x 2000000 elements declared, but the 2 bytes"},
        {DENSE "4294967296 1\n1\n", ":2: sizes out of range"},
        {DENSE "-1 1\n1\n", ":2: sizes out of range"},
        {DENSE "1 1\nx\n", ":3: expected an element, found 'x'"},
        {GENERAL "1 1 1\n1 1 1\n", "holds a sparse matrix, but a dense array is needed"},
    };
    complaint why;
    npy_array array;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (operand_read_dense(&array, put_text("bad.mtx", cases[i].text), OPERAND(0), &why))
            fail_msg("read: %s", cases[i].text);
        assert_null(array.data);
        expect_complaint(&why, "bad.mtx:");
        expect_complaint(&why, cases[i].complaint);
    }
    const char *path = put_text("most.mtx", DENSE "2 2\n1\n2\n3\n4\n");
    assert_false(operand_read_dense(&array, path, OPERAND(.max_bytes = 15), &why));
    expect_complaint(&why, "most.mtx: is larger than the device's largest buffer: 16 bytes as f32");
}

// ---- .smtx

static const char smtx_text[] = "3, 4, 5\n0 2 2 5 \n0 3 1 2 3 \n";

static void smtx_reads_a_pattern(void **state)
{
    static const int32_t offsets[] = {0, 2, 2, 5}, indices[] = {0, 3, 1, 2, 3};
    weft_csr_host csr, again;
    complaint why;
    (void)state;
    const char *path = put_text("read.smtx", smtx_text);
    assert_true(smtx_read(&csr, path, WEFT_DEFAULT, 1, &why));
    assert_int_equal(csr.n_rows, 3);
    assert_int_equal(csr.n_cols, 4);
    assert_int_equal(csr.nnz, 5);
    assert_int_equal(csr.dtype, WEFT_F32);
    assert_memory_equal(csr.offsets, offsets, sizeof(offsets));
    assert_memory_equal(csr.indices, indices, sizeof(indices));
    assert_true(smtx_read(&again, path, WEFT_F32, 1, &why));
    assert_memory_equal(csr.values, again.values, 5 * sizeof(float));
    weft_csr_host_destroy(&again);
    assert_true(smtx_read(&again, path, WEFT_F32, 2, &why));
    assert_memory_not_equal(csr.values, again.values, 5 * sizeof(float));
    weft_csr_host_destroy(&again);
    weft_csr_host_destroy(&csr);
}

static void smtx_reads_empty_patterns(void **state)
{
    static const char *const texts[] = {"2, 3, 0\n0 0 0\n\n", "2,3,0\r\n0 0 0", "0, 3, 0\n0\n\n"};
    complaint why;
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        weft_csr_host csr;
        if (!smtx_read(&csr, put_text("empty.smtx", texts[i]), WEFT_F16, 1, &why))
            fail_msg("%s", why.text);
        assert_int_equal(csr.nnz, 0);
        weft_csr_host_destroy(&csr);
    }
}

static void smtx_names_the_line_that_is_wrong(void **state)
{
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", ":1: the file ends where the number of rows is expected"},
        {"3 4 5\n", ":1: expected 'rows, columns, non-zeros'"},
        {"3, 4, 5, 6\n", ":1: expected the end of the line, found ','"},
        {"-3, 4, 5\n", ":1: sizes out of range: -3 x 4, 5 non-zeros"},
        {"3, 4294967296, 5\n", ":1: sizes out of range"},
        {"1000000000000, 4, 5\n0\n", ":1: 1000000000000 rows and 5 non-zeros declared"},
        {"3, 4, 1000000000\n0 2 2 5\n", ":1: 3 rows and 1000000000 non-zeros declared"},
        {"3, 4, 5\n0 2 2\n0 3 1 2 3\n", ":2: the line ends where a row offset is expected"},
        {"3, 4, 5\n0 2 2 5 5\n0 3 1 2 3\n", ":2: expected the end of the line, found '5'"},
        {"3, 4, 5\n1 2 2 5\n0 3 1 2 3\n", ":2: offset 1 of row 0 must lie between 0 and 0"},
        {"3, 4, 5\n0 2 1 5\n0 3 1 2 3\n", ":2: offset 1 of row 2 must lie between 2 and 5"},
        {"3, 4, 5\n0 2 6 5\n0 3 1 2 3\n", ":2: offset 6 of row 2 must lie between 2 and 5"},
        {"3, 4, 5\n0 2 2 4\n0 3 1 2 3\n", ":2: offsets end at 4, but 5 non-zeros are declared"},
        {"3, 4, 5\n0 2 2 5\n0 3 1 2\n   ", ":3: the line ends where a column index is expected"},
        {"3, 4, 5\n0 2 2 5\n0 3 1 2 4\n", ":3: column 4 of entry 4 is outside 0 to 3"},
        {"3, 4, 5\n0 2 2 5\n0 3 1 -2 3\n", ":3: column -2 of entry 3 is outside 0 to 3"},
        {"3, 4, 5\n0 2 2 5\n0 3 1 2 3\n1\n", ":4: expected the end of the line, found '1'"},
    };
    complaint why;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_csr_host csr;
        if (smtx_read(&csr, put_text("bad.smtx", cases[i].text), WEFT_F32, 1, &why))
            fail_msg("read: %s", cases[i].text);
        assert_null(csr.offsets);
        expect_complaint(&why, "bad.smtx:");
        expect_complaint(&why, cases[i].complaint);
    }
}

// ---- what is made of them

static void matrices_are_transposed(void **state)
{
    const double want[] = {0, 1, 2, 5, -1, -1, 0, 2, 1, 3, 2, 6, -1, 2, 7, -1};
    complaint why;
    (void)state;
    weft_csr_host csr = read_mtx("%%MatrixMarket matrix coordinate real general\n3 4 6\n"
                                 "1 1 1\n1 3 2\n2 3 3\n3 1 5\n3 3 6\n3 4 7\n");
    assert_true(sparse_transpose(&csr, &why));
    assert_int_equal(csr.n_rows, 4);
    assert_int_equal(csr.n_cols, 3);
    assert_int_equal(csr.nnz, 6);
    expect_rows(&csr, want);
    csr = read_mtx("%%MatrixMarket matrix coordinate real general\n0 2 0\n");
    assert_true(sparse_transpose(&csr, &why));
    assert_int_equal(csr.n_rows, 2);
    assert_int_equal(csr.n_cols, 0);
    weft_csr_host_destroy(&csr);
}

// C has entries in rows 0, 0 and 2, columns 1, 2 and 2.
static void sampled_terms_are_counted(void **state)
{
    (void)state;
    weft_csr_host C = read_mtx("%%MatrixMarket matrix coordinate pattern general\n3 4 3\n"
                               "1 2\n1 3\n3 3\n");
    weft_csr_host A = read_mtx("%%MatrixMarket matrix coordinate pattern general\n3 5 5\n"
                               "1 1\n1 2\n1 5\n2 1\n3 4\n");
    weft_csr_host B = read_mtx("%%MatrixMarket matrix coordinate pattern general\n4 5 7\n"
                               "1 1\n2 3\n2 5\n3 1\n3 2\n3 3\n3 4\n");
    assert_true(sparse_sampled_terms(&A, NULL, &C) == 3 + 3 + 1);
    assert_true(sparse_sampled_terms(NULL, &B, &C) == 2 + 4 + 4);
    assert_true(sparse_sampled_terms(&A, &B, &C) == 2 + 4 + 4);
    weft_csr_host_destroy(&A);
    weft_csr_host_destroy(&B);
    weft_csr_host_destroy(&C);
}

// ---- both

// Reads a damaged file; whatever is taken must be sound, whatever is refused is named.
static void expect_no_lie(const char *name, const void *bytes, size_t size)
{
    weft_csr_host csr;
    complaint why = {.text = ""};
    if (operand_read_sparse(&csr, put(name, bytes, size), OPERAND(.dtype = WEFT_F32, .seed = 1),
                            &why)) {
        assert_int_equal(weft_csr_host_check(&csr, WEFT_CSR_SOUND), WEFT_OK);
        weft_csr_host_destroy(&csr);
    } else {
        expect_complaint(&why, name);
    }
}

static void sparse_files_survive_damage(void **state)
{
    static const struct {
        const char *name, *text;
    } files[] = {
        {"flip.mtx", GENERAL "% x\n4 3 4\n1 1 1.5\n4 3 -2e3\n2 2 7\n1 3 0\n"},
        {"mirror.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n"},
        {"flip.smtx", smtx_text},
    };
    static const char replacements[] = "09- \n%,\x80"; // and the NUL at its end
    (void)state;
    for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
        char bytes[256];
        const size_t size = strlen(files[f].text);
        assert_true(size <= sizeof(bytes));
        for (size_t cut = 0; cut < size; cut++)
            expect_no_lie(files[f].name, files[f].text, cut);
        for (size_t at = 0; at < size; at++)
            for (size_t i = 0; i < sizeof(replacements); i++) {
                memcpy(bytes, files[f].text, size);
                bytes[at] = replacements[i];
                expect_no_lie(files[f].name, bytes, size);
            }
    }
}

static void missing_and_unknown_files_are_named(void **state)
{
    weft_csr_host csr;
    complaint why;
    (void)state;
    assert_false(operand_read_sparse(&csr, path_of("absent.mtx"),
                                     OPERAND(.dtype = WEFT_F32, .seed = 1), &why));
    expect_complaint(&why, "absent.mtx: No such file");
    assert_false(operand_read_sparse(&csr, put_text("graph.txt", "1 2\n"),
                                     OPERAND(.dtype = WEFT_F32, .seed = 1), &why));
    expect_complaint(&why, "graph.txt: is none of .npy, .mtx, .smtx and .csr by name or content");
}

static void pack(const char *name, const char *text)
{
    gzFile file = gzopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), strlen(text));
    assert_int_equal(gzclose(file), Z_OK);
}

// By name, by name and packing, or by how they begin.
static void files_are_known_by_their_content(void **state)
{
    static const char general[] = GENERAL "3 4 2\n1 2 3\n3 1 4\n";
    static const char dense[] = "\n" DENSE "2 1\n1\n2\n";
    static const char *const sparse_names[] = {"graph",         "graph.txt",      "packed.mtx",
                                               "packed.mtx.gz", "packed.smtx.gz", "pattern",
                                               "marked.txt"};
    static const double column[] = {1, 2};
    weft_csr_host csr;
    complaint why;
    (void)state;
    put_text("graph", general);
    put_text("graph.txt", general);
    put_text("marked.txt", "\xef\xbb\xbf\n" GENERAL "3 4 0\n");
    pack("packed.mtx", general);
    pack("packed.mtx.gz", general);
    pack("packed.smtx.gz", smtx_text);
    put_text("pattern", smtx_text);
    for (size_t i = 0; i < sizeof(sparse_names) / sizeof(sparse_names[0]); i++) {
        if (!operand_read_sparse(&csr, path_of(sparse_names[i]), OPERAND(.seed = 1), &why))
            fail_msg("%s", why.text);
        assert_int_equal(csr.n_rows, 3);
        assert_int_equal(csr.n_cols, 4);
        weft_csr_host_destroy(&csr);
    }
    expect_array(put_text("array", dense), WEFT_DEFAULT, WEFT_F32, 2, 1, column);
    assert_false(operand_read_sparse(&csr, path_of("array"), OPERAND(.seed = 1), &why));
    expect_complaint(&why, "array: holds a dense array, but a sparse matrix is needed");
    assert_false(operand_read_sparse(&csr, put_text("words", "Hello, 1, 2\n"), OPERAND(0), &why));
    expect_complaint(&why, "words: is none of .npy, .mtx, .smtx and .csr");
}

// 128 MiB of empty lines, which gzip makes an eighth of a MiB.
static void packed_text_is_no_bomb(void **state)
{
    static char lines[1 << 20];
    loaded_file file;
    complaint why;
    (void)state;
    memset(lines, '\n', sizeof(lines));
    gzFile packed = gzopen(path_of("bomb.mtx"), "wb9");
    assert_non_null(packed);
    for (int i = 0; i < 129; i++)
        assert_int_equal(gzwrite(packed, lines, sizeof(lines)), sizeof(lines));
    assert_int_equal(gzclose(packed), Z_OK);
    const bool is_loaded = file_load(&file, path_of("bomb.mtx"), &why);
    assert_false(is_loaded);
    expect_complaint(&why, "bomb.mtx: decompresses to ");
}

// The real matrices, where they are: counts published with the files.
static void real_files_have_their_known_counts(void **state)
{
    static const struct {
        const char *name;
        int64_t n_rows, n_cols, nnz, max, n_empty;
        double cov;
    } files[] = {
        {"bcsstk13.mtx", 2003, 2003, 83883, 95, 0, 0.545},
        {"ca-CondMat.mtx", 23133, 23133, 186936, 280, 0, 1.316},
        {"cora.mtx", 2708, 2708, 13264, 169, 0, 1.067},
        {"cryg2500.mtx", 2500, 2500, 12349, 5, 0, 0.049},
        {"dlmc_tf_l0_095_dec0_encdec_q_512x512.smtx", 512, 512, 18364, 266, 175, 2.025},
        {"dlmc_tf_magnitude_050_enc0_attn_out_512x512.smtx", 512, 512, 131072, 386, 43, 0.587},
        {"dlmc_tf_magnitude_090_enc3_ffn1_2048x512.smtx", 2048, 512, 104857, 378, 16, 0.504},
        {"dlmc_tf_vdropout_098_dec0_encdec_k_512x512_nnz0.smtx", 512, 512, 0, 0, 512, 0},
        {"dlmc_tf_vdropout_098_enc2_ffn1_2048x512.smtx", 2048, 512, 159, 84, 2045, 28.343},
        {"lp_afiro.mtx", 27, 51, 102, 10, 0, 0.480},
        {"matrix_int32.mtx", 7, 7, 12, 3, 0, 0.408},
    };
    const char *dir = getenv("WEFT_TEST_MATRICES");
    char path[1024];
    int n_found = 0;
    (void)state;
    for (size_t i = 0; dir != NULL && i < sizeof(files) / sizeof(files[0]); i++) {
        weft_csr_host csr;
        complaint why;
        snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
        FILE *stream = fopen(path, "rb");
        if (stream == NULL)
            continue;
        fclose(stream);
        n_found++;
        if (!operand_read_sparse(&csr, path, OPERAND(.dtype = WEFT_F32, .seed = 1), &why))
            fail_msg("%s", why.text);
        assert_int_equal(weft_csr_host_check(&csr, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE), WEFT_OK);
        const weft_row_stats stats = weft_row_stats_of(csr.offsets, csr.offset_dtype, csr.n_rows);
        assert_int_equal(csr.n_rows, files[i].n_rows);
        assert_int_equal(csr.n_cols, files[i].n_cols);
        assert_int_equal(csr.nnz, files[i].nnz);
        assert_int_equal(stats.max, files[i].max);
        assert_int_equal(stats.n_empty, files[i].n_empty);
        assert_true(fabs(stats.cov - files[i].cov) < 6e-4);
        weft_csr_host_destroy(&csr);
    }
    if (n_found == 0)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mtx_reads_general),
        cmocka_unit_test(mtx_reads_what_people_write),
        cmocka_unit_test(mtx_reads_what_programs_write),
        cmocka_unit_test(mtx_counts_every_kind_of_line),
        cmocka_unit_test(mtx_mirrors_symmetric),
        cmocka_unit_test(mtx_negates_skew),
        cmocka_unit_test(mtx_reads_pattern_and_sums_duplicates),
        cmocka_unit_test(mtx_reads_large_integers),
        cmocka_unit_test(mtx_reads_empty_matrices),
        cmocka_unit_test(mtx_names_the_line_that_is_wrong),
        cmocka_unit_test(mtx_arrays_are_dense),
        cmocka_unit_test(mtx_arrays_that_are_wrong_are_refused),
        cmocka_unit_test(smtx_reads_a_pattern),
        cmocka_unit_test(smtx_reads_empty_patterns),
        cmocka_unit_test(smtx_names_the_line_that_is_wrong),
        cmocka_unit_test(matrices_are_transposed),
        cmocka_unit_test(sampled_terms_are_counted),
        cmocka_unit_test(sparse_files_survive_damage),
        cmocka_unit_test(missing_and_unknown_files_are_named),
        cmocka_unit_test(files_are_known_by_their_content),
        cmocka_unit_test(packed_text_is_no_bomb),
        cmocka_unit_test(real_files_have_their_known_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
