// SPDX-License-Identifier: Apache-2.0
// Binary CSR files: what is written is read back, whole and by parts; every number of a header that
// is wrong is refused by its name; and a failed write leaves what was there.
#define _XOPEN_SOURCE 700 // symlink(), truncate()
#include <dirent.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include <weft/csr_file.h>

#include "base/element.h"
#include "operand.h"
#include "scratch_file.h"

#include "expect.h"
#include "random.h"
#include "random_csr.h"

enum { HEADER = 128, PAGE = 4096 };

static void expect_same(const weft_csr_host *got, const weft_csr_host *want)
{
    assert_int_equal(got->n_rows, want->n_rows);
    assert_int_equal(got->n_cols, want->n_cols);
    assert_int_equal(got->nnz, want->nnz);
    assert_true(got->offset_dtype == want->offset_dtype && got->index_dtype == want->index_dtype &&
                got->dtype == want->dtype);
    assert_memory_equal(got->offsets, want->offsets,
                        bytes_of(want->n_rows + 1, want->offset_dtype));
    if (want->nnz == 0)
        return;
    assert_memory_equal(got->indices, want->indices, bytes_of(want->nnz, want->index_dtype));
    assert_memory_equal(got->values, want->values, bytes_of(want->nnz, want->dtype));
}

static void expect_parts(const weft_csr_host *mapped, const weft_csr_host *want)
{
    int64_t starts[4];
    expect(weft_csr_host_split(mapped, 3, NULL, starts), WEFT_OK, "");
    for (int i = 0; i < 3; i++) {
        weft_csr_host part, wanted;
        const int64_t n_rows = starts[i + 1] - starts[i];
        expect(weft_csr_host_rows(&part, mapped, starts[i], n_rows), WEFT_OK, "");
        expect(weft_csr_host_rows(&wanted, want, starts[i], n_rows), WEFT_OK, "");
        expect_same(&part, &wanted);
        weft_csr_host_destroy(&part);
        weft_csr_host_destroy(&wanted);
    }
}

static void test_what_is_written_is_read(void **state)
{
    static const weft_dtype offsets[] = {WEFT_I32, WEFT_I64}, indices[] = {WEFT_I16, WEFT_I32},
                            values[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    random_state random = {7};
    (void)state;
    for (int i = 0; i < 48; i++) {
        static const int64_t n_rows[] = {0, 1, 700};
        weft_csr_file *file = NULL;
        weft_csr_host host = random_csr(&random, n_rows[i % 3], offsets[i / 3 % 2],
                                        indices[i / 6 % 2], values[i / 12]);
        expect(weft_csr_file_write(path_of("A.csr"), &host), WEFT_OK, "");
        expect(weft_csr_file_open(&file, path_of("A.csr")), WEFT_OK, "");
        const weft_csr_host *mapped = weft_csr_file_matrix(file);
        expect_same(mapped, &host);
        expect_parts(mapped, &host);
        assert_int_equal((uintptr_t)mapped->offsets % PAGE, 0);
        assert_int_equal((uintptr_t)mapped->indices % PAGE, 0);
        assert_int_equal((uintptr_t)mapped->values % PAGE, 0);
        weft_csr_file_close(&file);
        assert_null(file);
        weft_csr_host_destroy(&host);
    }
}

// Defaults are written as what they are.
static void test_defaults_have_names_in_a_file(void **state)
{
    int32_t offsets[] = {0, 1}, indices[] = {0};
    float values[] = {2};
    const weft_csr_host host = {1,       1,       1,     WEFT_DEFAULT, WEFT_DEFAULT, WEFT_DEFAULT,
                                offsets, indices, values};
    weft_csr_file *file;
    (void)state;
    expect(weft_csr_file_write(path_of("A.csr"), &host), WEFT_OK, "");
    expect(weft_csr_file_open(&file, path_of("A.csr")), WEFT_OK, "");
    const weft_csr_host *mapped = weft_csr_file_matrix(file);
    assert_true(mapped->offset_dtype == WEFT_I32 && mapped->index_dtype == WEFT_I32 &&
                mapped->dtype == WEFT_F32);
    weft_csr_file_close(&file);
}

// ---- headers
//
// A file of 2 x 3 with 3 entries, by hand from the words of the header, not by the writer.

typedef union small_file {
    char bytes[4 * HEADER];
    int64_t words[4 * HEADER / 8];
} small_file;

static const size_t small_bytes = 3 * HEADER + 3 * sizeof(float);

static small_file make_small(void)
{
    static const int32_t offsets[] = {0, 1, 3}, indices[] = {1, 0, 2};
    static const float values[] = {5, 6, 7};
    static const uint32_t kinds[] = {1, 6, 6, 1};
    small_file file = {.bytes = "\x93WEFTCSR"};
    const int64_t sizes[] = {2, 3, 3, HEADER, 2 * HEADER, 3 * HEADER, (int64_t)small_bytes};
    memcpy(file.bytes + 8, kinds, sizeof(kinds));
    memcpy(file.bytes + 24, sizes, sizeof(sizes));
    memcpy(file.bytes + HEADER, offsets, sizeof(offsets));
    memcpy(file.bytes + 2 * HEADER, indices, sizeof(indices));
    memcpy(file.bytes + 3 * HEADER, values, sizeof(values));
    return file;
}

static void test_the_header_is_as_documented(void **state)
{
    const small_file file = make_small();
    weft_csr_host matrix;
    (void)state;
    expect(weft_csr_file_view(&matrix, file.bytes, small_bytes), WEFT_OK, "");
    assert_true(matrix.n_rows == 2 && matrix.n_cols == 3 && matrix.nnz == 3);
    expect(weft_csr_host_check(&matrix, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE), WEFT_OK, "");
    assert_true(((const float *)matrix.values)[2] == 7);

    static const char *const names[] = {"A.csr", "A"}; // by name, and by content
    for (int i = 0; i < 2; i++) {
        weft_csr_host read;
        complaint why;
        put(names[i], file.bytes, small_bytes);
        if (!operand_read_sparse(&read, path_of(names[i]), OPERAND(.dtype = WEFT_F32), &why))
            fail_msg("%s", why.text);
        expect_same(&read, &matrix);
        weft_csr_host_destroy(&read);
    }
}

static void test_wrong_numbers_are_named(void **state)
{
    static const struct {
        int at, size; // bytes of the number
        int64_t number;
        weft_status status;
        const char *sentence;
    } cases[] = {
        {0, 1, 'x', WEFT_BAD_DATA, "does not begin as a CSR file"},
        {8, 4, 2, WEFT_UNSUPPORTED, "is of version 2; this library reads 1"},
        {12, 4, 5, WEFT_BAD_DATA, "the data type of the offsets is 5, 6 to 7"},
        {16, 4, 7, WEFT_BAD_DATA, "the data type of the indices is 7, 5 to 6"},
        {20, 4, 0, WEFT_BAD_DATA, "the data type of the values is 0, 1 to 4"},
        {20, 4, -1, WEFT_BAD_DATA, "the data type of the values is 4294967295"},
        {24, 8, -1, WEFT_BAD_ARGUMENT, "-1"},
        {24, 8, INT64_MAX, WEFT_BAD_SHAPE, "one more offset does not fit"},
        {24, 8, INT64_MAX - 1, WEFT_BAD_DATA, "offsets of 4 bytes from byte 128 on are more"},
        {24, 8, 80, WEFT_BAD_DATA, "81 offsets of 4 bytes"},
        {24, 8, 40, WEFT_BAD_DATA, "the indices begin at byte 256"},
        {24, 8, 1, WEFT_BAD_DATA, "offsets go from 0 to 1, not from 0 to 3"},
        {32, 8, -3, WEFT_BAD_ARGUMENT, "-3"},
        {32, 8, INT64_MAX, WEFT_BAD_DTYPE, "i32"},
        {40, 8, -1, WEFT_BAD_ARGUMENT, "-1"},
        {40, 8, 4, WEFT_BAD_DATA, "4 values of 4 bytes from byte 384 on are more than"},
        {40, 8, 2, WEFT_BAD_DATA, "offsets go from 0 to 3, not from 0 to 2"},
        {40, 8, INT64_MAX, WEFT_BAD_DTYPE, "i32"},
        {48, 8, 0, WEFT_BAD_DATA, "the offsets begin at byte 0"},
        {48, 8, -128, WEFT_BAD_DATA, "the offsets begin at byte -128"},
        {48, 8, 132, WEFT_BAD_DATA, "the offsets begin at byte 132"},
        {56, 8, 128, WEFT_BAD_DATA, "the indices begin at byte 128"},
        {56, 8, INT64_MAX - 127, WEFT_BAD_DATA, "the indices begin at byte 92233"},
        {64, 8, 256, WEFT_BAD_DATA, "the values begin at byte 256"},
        {72, 8, 1, WEFT_BAD_DATA, "has 396 bytes, but the header says 1"},
        {127, 1, 1, WEFT_BAD_DATA, "the end of the header is not 0"},
        {128, 4, 1, WEFT_BAD_DATA, "offsets go from 1 to 3"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        small_file file = make_small();
        weft_csr_file *opened;
        weft_csr_host matrix;
        memcpy(file.bytes + cases[i].at, &cases[i].number, (size_t)cases[i].size);
        expect(weft_csr_file_view(&matrix, file.bytes, small_bytes), cases[i].status,
               cases[i].sentence);
        assert_null(matrix.offsets);
        put("wrong.csr", file.bytes, small_bytes);
        expect(weft_csr_file_open(&opened, path_of("wrong.csr")), cases[i].status,
               cases[i].sentence);
        expect(weft_csr_file_open(&opened, path_of("wrong.csr")), cases[i].status, "wrong.csr: ");
        assert_null(opened);
    }
}

// Whatever length is left of it.
static void test_a_cut_file_is_refused(void **state)
{
    const small_file file = make_small();
    (void)state;
    for (size_t size = 0; size < small_bytes; size++) {
        weft_csr_file *opened;
        put("cut.csr", file.bytes, size);
        expect(weft_csr_file_open(&opened, path_of("cut.csr")), WEFT_BAD_DATA, "bytes");
    }
}

// ---- calls that fail

static void test_refusals(void **state)
{
    const small_file file = make_small();
    weft_csr_file *opened;
    weft_csr_host matrix;
    (void)state;
    expect(weft_csr_file_open(NULL, "A.csr"), WEFT_BAD_ARGUMENT, "out is NULL");
    expect(weft_csr_file_open(&opened, NULL), WEFT_BAD_ARGUMENT, "path is NULL");
    expect(weft_csr_file_open(&opened, path_of("none.csr")), WEFT_BAD_ARGUMENT, "No such file");
    expect(weft_csr_file_open(&opened, path_of(".")), WEFT_BAD_ARGUMENT, "Is a directory");
    expect(weft_csr_file_open(&opened, "/dev/null"), WEFT_BAD_ARGUMENT, "/dev/null: ");
    expect(weft_csr_file_view(NULL, file.bytes, small_bytes), WEFT_BAD_ARGUMENT, "out is NULL");
    expect(weft_csr_file_view(&matrix, NULL, 0), WEFT_BAD_ARGUMENT, "bytes is NULL");
    expect(weft_csr_file_view(&matrix, file.bytes + 4, 200), WEFT_BAD_ARGUMENT, "multiple of 8");
    weft_csr_file_close(NULL);
    opened = NULL;
    weft_csr_file_close(&opened);
}

static int count_files(void)
{
    DIR *folder = opendir(path_of("."));
    int n = 0;
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

static void test_a_failed_write_leaves_the_file(void **state)
{
    int32_t offsets[] = {0, 1}, indices[] = {0}, beyond[] = {7};
    float values[] = {2};
    weft_csr_host host = {1, 1, 1, WEFT_I32, WEFT_I32, WEFT_F32, offsets, indices, values};
    char text[4];
    (void)state;
    put_text("A.csr", "old");
    const int n_files = count_files();
    host.indices = beyond;
    expect(weft_csr_file_write(path_of("A.csr"), &host), WEFT_BAD_DATA, "7");
    host.indices = indices;
    expect(weft_csr_file_write(NULL, &host), WEFT_BAD_ARGUMENT, "path is NULL");
    expect(weft_csr_file_write(path_of("A.csr"), NULL), WEFT_BAD_ARGUMENT, "NULL");
    expect(weft_csr_file_write(path_of("."), &host), WEFT_BAD_ARGUMENT, "Is a directory");
    expect(weft_csr_file_write("/dev/null", &host), WEFT_BAD_ARGUMENT, "File exists");
    expect(weft_csr_file_write(path_of("none/A.csr"), &host), WEFT_BAD_ARGUMENT, "No such file");
    FILE *stream = fopen(path_of("A.csr"), "rb");
    assert_non_null(stream);
    assert_int_equal(fread(text, 1, sizeof(text), stream), 3);
    fclose(stream);
    assert_memory_equal(text, "old", 3);
    assert_int_equal(count_files(), n_files);
}

// The file that a link leads to is replaced, not the link.
static void test_links_are_followed(void **state)
{
    int32_t offsets[] = {0};
    const weft_csr_host host = {.offset_dtype = WEFT_I32, .offsets = offsets};
    weft_csr_file *file;
    struct stat about;
    (void)state;
    put_text("real.csr", "old");
    unlink(path_of("link.csr"));
    assert_int_equal(symlink("real.csr", path_of("link.csr")), 0);
    expect(weft_csr_file_write(path_of("link.csr"), &host), WEFT_OK, "");
    assert_true(lstat(path_of("link.csr"), &about) == 0 && S_ISLNK(about.st_mode));
    expect(weft_csr_file_open(&file, path_of("real.csr")), WEFT_OK, "");
    weft_csr_file_close(&file);
}

// A file of a gibibyte and more of zeros that were never written is opened and read in part.
static void test_rows_are_read_without_the_rest(void **state)
{
    small_file file = make_small();
    weft_csr_file *opened;
    weft_csr_host part;
    struct stat about;
    const int64_t bytes = (INT64_C(1) << 30) + 12;
    (void)state;
    file.words[64 / 8] = bytes - 12;
    file.words[72 / 8] = bytes;
    put("large.csr", file.bytes, 3 * HEADER);
    assert_int_equal(truncate(path_of("large.csr"), bytes), 0);
    expect(weft_csr_file_open(&opened, path_of("large.csr")), WEFT_OK, "");
    expect(weft_csr_host_rows(&part, weft_csr_file_matrix(opened), 1, 1), WEFT_OK, "");
    assert_int_equal(part.nnz, 2);
    assert_int_equal(((const int32_t *)part.indices)[1], 2);
    assert_true(stat(path_of("large.csr"), &about) == 0 && about.st_blocks < 4096);
    weft_csr_host_destroy(&part);
    weft_csr_file_close(&opened);
    unlink(path_of("large.csr"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_defaults_have_names_in_a_file),
        cmocka_unit_test(test_the_header_is_as_documented),
        cmocka_unit_test(test_wrong_numbers_are_named),
        cmocka_unit_test(test_a_cut_file_is_refused),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_a_failed_write_leaves_the_file),
        cmocka_unit_test(test_links_are_followed),
        cmocka_unit_test(test_rows_are_read_without_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
