// SPDX-License-Identifier: Apache-2.0
// What the commands of the program weft read and write: files, pipes and standard streams, and what
// becomes of a file that cannot be written whole.
#include <dirent.h>
#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "npy.h"
#include "scalar.h"

#include "program_run.h"

// ---- operands
//
//   A  1 0 2      X  1 2
//      0 0 0         3 4
//      0 3 0         5 6

static const float X[] = {1, 2, 3, 4, 5, 6};
static const char A_text[] = "%%MatrixMarket matrix coordinate real general\n3 3 3\n"
                             "1 1 1\n1 3 2\n3 2 3\n";

static int write_operands(void **state)
{
    static const int64_t shape[] = {3, 2};
    complaint why;
    (void)state;
    put_text("A.mtx", A_text);
    return !npy_write(path_of("X.npy"), WEFT_F32, 2, shape, X, &why);
}

static void expect_array(const char *name, weft_dtype dtype, int ndim, const int64_t *shape,
                         const double *want)
{
    npy_array array;
    complaint why;
    if (!npy_read(&array, path_of(name), WEFT_DEFAULT, &why))
        fail_msg("%s", why.text);
    assert_int_equal(array.dtype, dtype);
    assert_int_equal(array.ndim, ndim);
    assert_memory_equal(array.shape, shape, (size_t)ndim * sizeof(*shape));
    for (int64_t i = 0; i < array.count; i++)
        if (scalar_get(dtype, array.data, i) != want[i])
            fail_msg("%s: element %d is %g, not %g", name, (int)i, scalar_get(dtype, array.data, i),
                     want[i]);
    npy_free(&array);
}

static const int64_t sums_shape[] = {2};
static const double sums[] = {9, 12};

#define SUM "reduce X.npy --op sum --axis 0 --runs 1"

// ---- out

static void expect_nothing_beside(void)
{
    DIR *folder = opendir(path_of("."));
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        if (strncmp(entry->d_name, ".weft", 5) == 0)
            fail_msg("%s is left behind", entry->d_name);
    closedir(folder);
}

// The result is its own operand, and too large for the limit on files, which the device's compiler
// stays below.
static void a_failed_write_leaves_what_was_there(void **state)
{
    static outcome out;
    enum { N = 1 << 21 };
    static const int64_t shape[] = {1, N};
    const struct rlimit few = {4 * N, RLIM_INFINITY};
    struct rlimit before;
    struct stat status;
    complaint why;
    (void)state;
    float *ones = calloc(N, sizeof(*ones));
    assert_non_null(ones);
    assert_true(npy_write(path_of("large.npy"), WEFT_F32, 2, shape, ones, &why));
    free(ones);
    const char *line = "softmax large.npy -o large.npy --runs 1";
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
    run(&out, line);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_status(&out, line, 1);
    expect_part(out.errors, "weft softmax: large.npy: File too large\n");
    assert_int_equal(stat(path_of("large.npy"), &status), 0);
    assert_int_equal(status.st_size, 128 + 4 * N);
    expect_nothing_beside();
    assert_int_equal(unlink(path_of("large.npy")), 0);
}

// Before the device is looked for.
static void what_cannot_be_written_is_told_first(void **state)
{
    static const char *const lines[] = {
        "spmm A.mtx X.npy", "sddmm A.mtx",      "matmul --shape 4,4",     "reduce X.npy --op sum",
        "softmax X.npy",    "norm --shape 4,4", "elementwise x+1 x=X.npy"};
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "%s --device nix -o absent/Y.npy", lines[i]);
        expect_refusal(line, 1, "absent/Y.npy: No such file or directory");
        snprintf(line, sizeof(line), "%s --device nix -o .", lines[i]);
        expect_refusal(line, 1, " .: Is a directory");
    }
    expect_nothing_beside();
}

static void a_new_file_stands_as_the_old_one_did(void **state)
{
    static outcome out;
    struct stat status;
    (void)state;
    put_text("old.npy", "nothing");
    assert_int_equal(chmod(path_of("old.npy"), 0640), 0);
    assert_int_equal(symlink("old.npy", path_of("link.npy")), 0);
    assert_int_equal(symlink("new.npy", path_of("ahead.npy")), 0);
    run(&out, SUM " -o link.npy");
    expect_status(&out, SUM " -o link.npy", 0);
    expect_array("old.npy", WEFT_F32, 1, sums_shape, sums);
    assert_int_equal(stat(path_of("old.npy"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    assert_int_equal(lstat(path_of("link.npy"), &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    const mode_t mask = umask(027);
    run(&out, SUM " -o ahead.npy");
    umask(mask);
    expect_status(&out, SUM " -o ahead.npy", 0);
    assert_int_equal(lstat(path_of("new.npy"), &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640);
    expect_nothing_beside();
}

static void the_report_makes_room_for_the_result(void **state)
{
    static const char *const names[] = {"-", "/dev/stdout"};
    static outcome out;
    json_error_t error;
    (void)state;
    for (int i = 0; i < 2; i++) {
        char line[128];
        snprintf(line, sizeof(line), SUM " -o %s", names[i]);
        run(&out, line);
        expect_status(&out, line, 0);
        expect_array("output", WEFT_F32, 1, sums_shape, sums);
        expect_part(out.errors, "median");
    }
    assert_int_not_equal(access(path_of("-"), F_OK), 0);
    run(&out, SUM " -o - --json");
    expect_array("output", WEFT_F32, 1, sums_shape, sums);
    json_t *report = json_loads(out.errors, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(report))
        fail_msg("%s: %s", error.text, out.errors);
    assert_string_equal(string(report, "op"), "reduce");
    json_decref(report);
}

// ---- in

static void standard_input_is_any_operand(void **state)
{
    static const struct {
        const char *input, *line;
    } cases[] = {
        {"X.npy", "reduce - --op sum --axis 0"},
        {"X.npy", "reduce /dev/stdin --op sum --axis 0 --format npy"},
        {"A.mtx", "spmm - X.npy"},
        {"A.mtx", "spmm - X.npy --format mtx"},
        {"X.npy", "spmm A.mtx -"},
        {"A.mtx", "sddmm A.mtx - A.mtx -t"},
        {"X.npy", "sddmm A.mtx - X.npy -t"},
        {"X.npy", "matmul X.npy --transpose-b -"},
        {"X.npy", "elementwise x+x x=-"},
        {"P.smtx", "spmm - X.npy"},
    };
    (void)state;
    put_text("P.smtx", "4, 3, 2\n0 1 1 2 2\n0 2\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static outcome out;
        char line[128];
        snprintf(line, sizeof(line), "%s --runs 1 --check -o Y.npy", cases[i].line);
        run_between(&out, cases[i].input, path_of("output"), line);
        expect_status(&out, line, 0);
    }
}

static void standard_input_is_one_operand(void **state)
{
    static outcome out;
    (void)state;
    run_between(&out, "X.npy", path_of("output"), "matmul - -");
    expect_status(&out, "matmul - -", 1);
    expect_part(out.errors, "weft matmul: -: standard input was read already");
    run_between(&out, "X.npy", path_of("output"), "reduce - --op sum --format mtx");
    expect_status(&out, "reduce - --format mtx", 1);
    expect_part(out.errors, "-:1: no Matrix Market file");
    expect_refusal("reduce X.npy --op sum --format tar", 2, "'tar' is none of npy, mtx and smtx");
}

static void pipes_are_read(void **state)
{
    static outcome out;
    char bytes[256];
    (void)state;
    slurp("X.npy", bytes, sizeof(bytes));
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        put("pipe", bytes, 128 + sizeof(X));
        _exit(0);
    }
    run(&out, "reduce pipe --op sum --axis 0 --runs 1 -o Y.npy");
    assert_true(waitpid(child, NULL, 0) == child);
    expect_status(&out, "reduce pipe", 0);
    expect_array("Y.npy", WEFT_F32, 1, sums_shape, sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_write_leaves_what_was_there),
        cmocka_unit_test(what_cannot_be_written_is_told_first),
        cmocka_unit_test(a_new_file_stands_as_the_old_one_did),
        cmocka_unit_test(the_report_makes_room_for_the_result),
        cmocka_unit_test(standard_input_is_any_operand),
        cmocka_unit_test(standard_input_is_one_operand),
        cmocka_unit_test(pipes_are_read),
    };
    return cmocka_run_group_tests(tests, write_operands, NULL);
}
