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
    static const int64_t shape[] = {3, 2}, upright[] = {3, 1};
    static const double wide[] = {1, 0, 0, 0};
    static const float narrow[] = {1, 0, 0};
    static const int32_t whole[] = {1, 0, 0};
    complaint why;
    (void)state;
    put_text("A.mtx", A_text);
    put_text("third.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n"
                          "1 1 0.33333333333333333\n");
    put_text("column.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 1 1\n1 1\n");
    put_text("large.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 1 1e300\n");
    return !npy_write(path_of("X.npy"), WEFT_F32, 2, shape, X, &why) ||
           !npy_write(path_of("wide_X.npy"), WEFT_F64, 2, upright, wide, &why) ||
           !npy_write(path_of("wide_C0.npy"), WEFT_F64, 2, upright, wide + 1, &why) ||
           !npy_write(path_of("narrow_X.npy"), WEFT_F32, 2, upright, narrow, &why) ||
           !npy_write(path_of("whole.npy"), WEFT_I32, 2, upright, whole, &why);
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
    static outcome out;
    run_to(&out, NULL, "reduce X.npy --op sum --device nix -o -");
    expect_status(&out, "reduce with nothing open", 1);
    expect_part(out.errors, "-: standard output cannot be written");
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
    expect_part(out.errors, "weft matmul: -: only one operand can be standard input");
    run_between(&out, "X.npy", path_of("output"), "reduce - --op sum --format mtx");
    expect_status(&out, "reduce - --format mtx", 1);
    expect_part(out.errors, "-:1: not a Matrix Market file");
    expect_refusal("reduce X.npy --op sum --format tar", 2,
                   "'tar' is none of npy, mtx, smtx and csr");
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

// What NumPy writes of a transpose, a comparison and short integers.
static void arrays_of_every_kind_are_taken(void **state)
{
    static const float transposed[] = {1, 3, 5, 2, 4, 6};
    static const struct {
        const char *line;
        weft_dtype dtype;
        int ndim;
        int64_t shape[2];
        double want[6];
    } cases[] = {
        {"reduce transposed.npy --op sum --axis 1", WEFT_F32, 1, {3}, {3, 7, 11}},
        {"elementwise where(m,x,0) m=mask.npy x=X.npy", WEFT_F32, 2, {3, 2}, {1, 0, 3, 0, 5, 0}},
        {"elementwise s+t s=short.npy t=bytes.npy", WEFT_I32, 1, {3}, {-1, 1, 259}},
        {"reduce short.npy --op sum", WEFT_I64, 0, {0}, {256}},
        {"reduce bytes.npy --op min", WEFT_I32, 0, {0}, {-1}},
        {"softmax large.npy --dtype f32", WEFT_F32, 1, {1}, {1}},
        {"elementwise x+1 x=large.npy", WEFT_I64, 1, {1}, {4294967296.0}},
        {"matmul bits.npy bits.npy --dtype f32", WEFT_F32, 2, {1, 1}, {16256.0 * 16256}},
        {"elementwise x x=bits.npy --dtype f32", WEFT_F32, 2, {1, 1}, {1}},
    };
    (void)state;
    put_npy_of("transposed.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2)}",
               transposed, 24);
    put_npy_of("mask.npy", "{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", "\1", 2);
    put_npy_of("short.npy", "{'descr': '>i2', 'fortran_order': False, 'shape': (3,)}",
               "\0\0\0\0\1\0", 6);
    put_npy_of("bytes.npy", "{'descr': '|i1', 'fortran_order': False, 'shape': (3,)}", "\xff\1\3",
               3);
    put_npy_of("large.npy", "{'descr': '<u4', 'fortran_order': False, 'shape': (1,)}",
               "\xff\xff\xff\xff", 4);
    put_npy_of("bits.npy", "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 1)}", "\x80\x3f",
               2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static outcome out;
        char line[128];
        snprintf(line, sizeof(line), "%s --runs 1 --check -o Y.npy", cases[i].line);
        run(&out, line);
        expect_status(&out, line, 0);
        expect_array("Y.npy", cases[i].dtype, cases[i].ndim, cases[i].shape, cases[i].want);
    }
    expect_refusal("reduce bits.npy --op sum", 1, "which are bf16 or integers");
}

static void text_is_taken_by_its_content(void **state)
{
    static const struct {
        const char *line;
        int64_t shape[2];
        double want[4];
    } cases[] = {
        {"matmul dense.txt X.npy", {1, 2}, {9, 12}},
        {"spmm graph.txt dense --beta 1 --c dense", {3, 1}, {4, 1, 4}},
        {"elementwise x*2 x=dense", {3, 1}, {2, 2, 2}},
    };
    static const char *const explained[] = {"explain spmm graph.txt 3x2 --profile h100",
                                            "explain spmm - 3x2 --profile h100"};
    static outcome out;
    (void)state;
    put_text("graph.txt", A_text);
    put_text("dense.txt", "%%MatrixMarket matrix array integer general\n1 3\n1\n1\n1\n");
    put_text("dense", "%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "%s --runs 1 --check -o Y.npy%s", cases[i].line,
                 i == 0 ? " --dtype f32" : "");
        run(&out, line);
        expect_status(&out, line, 0);
        expect_array("Y.npy", WEFT_F32, 2, cases[i].shape, cases[i].want);
    }
    for (int i = 0; i < 2; i++) {
        run_between(&out, "A.mtx", path_of("output"), explained[i]);
        expect_status(&out, explained[i], 0);
    }
    expect_refusal("softmax A.mtx", 1, "A.mtx: holds a sparse matrix, but a dense array is needed");
}

// ---- terminals

// On a device that nothing is known of, compilers take seconds.
static void compiling_is_told_at_a_terminal(void **state)
{
    static const char told[] = "weft: compiling, which takes seconds";
    char *words[] = {"weft", "matmul", "--shape", "40,40", "--runs", "1", NULL};
    static char text[4096];
    static outcome out;
    (void)state;
    setenv("XDG_CACHE_HOME", path_of("cold"), 1);
    setenv("WEFT_CACHE_DIR", path_of("cold"), 1);
    setenv("POCL_CACHE_DIR", path_of("cold"), 1);
    assert_int_equal(mkdir(path_of("cold"), 0700), 0);
    run_at_terminal(text, sizeof(text), words);
    expect_part(text, told);
    assert_null(strstr(strstr(text, told) + 1, told));
    setenv("WEFT_CACHE_DIR", path_of("colder"), 1);
    setenv("POCL_CACHE_DIR", path_of("colder"), 1);
    assert_int_equal(mkdir(path_of("colder"), 0700), 0);
    run(&out, "matmul --shape 40,40 --runs 1");
    expect_status(&out, "matmul", 0);
    assert_null(strstr(out.errors, "compiling"));
}

// ---- conversion

// The same product of a matrix as text, in binary, and in binary by way of a pipe.
static void a_binary_matrix_is_as_its_text(void **state)
{
    static const double product[] = {11, 14, 0, 0, 9, 12};
    static const int64_t shape[] = {3, 2};
    static outcome out;
    (void)state;
    run(&out, "convert A.mtx A.csr");
    expect_status(&out, "convert", 0);
    assert_string_equal(out.output, "3 x 3, 3 entries, f64\n");
    run(&out, "spmm A.csr X.npy -o Y.npy --runs 1");
    expect_status(&out, "spmm A.csr", 0);
    expect_array("Y.npy", WEFT_F32, 2, shape, product);
    run_between(&out, "A.csr", path_of("output"), "spmm - X.npy -o Y.npy --runs 1");
    expect_status(&out, "spmm -", 0);
    expect_array("Y.npy", WEFT_F32, 2, shape, product);

    json_t *report = run_json("convert A.csr A32.csr --dtype f32 --json");
    assert_string_equal(string(report, "dtype"), "f32");
    json_decref(report);
    expect_refusal("convert large.mtx A32.csr --dtype f32", 1, "too large for f32");
    expect_refusal("convert X.npy A32.csr", 1, "holds a dense array");
    expect_refusal("convert A.mtx", 2, "the file to write");
    expect_refusal("convert A.mtx B.csr C.csr", 2, "'C.csr' is one more");
    expect_refusal("convert A.mtx none/A.csr", 1, "No such file");
    run(&out, "convert A32.csr A.csr");
    expect_status(&out, "convert", 0);
}

// ---- data types

// Whatever --dtype does not say, dense files do; what is read as text is as exact as they are.
static void spmm_and_sddmm_keep_the_type(void **state)
{
    static const struct {
        const char *line, *dtype;
    } cases[] = {
        {"spmm A.mtx X.npy", "f32"},
        {"spmm A.mtx", "f32"},
        {"spmm third.mtx wide_X.npy", "f64"},
        {"spmm third.mtx whole.npy", "f32"},
        {"spmm third.mtx whole.npy --beta 1 --c wide_C0.npy", "f64"},
        {"spmm third.mtx wide_X.npy --dtype f32", "f32"},
        {"sddmm third.mtx wide_X.npy wide_X.npy -t", "f64"},
        {"sddmm column.mtx third.mtx wide_X.npy", "f64"},
        {"sddmm third.mtx X.npy X.npy -t --dtype f16", "f16"},
        {"sddmm third.mtx X.npy X.npy -t", "f32"},
        {"sddmm third.mtx third.mtx third.mtx", "f32"},
    };
    static outcome out;
    const bool has_f64 = device_has_f64();
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "%s --runs 1 --check -o Y.npy --json", cases[i].line);
        if (strcmp(cases[i].dtype, "f64") == 0 && !has_f64) {
            expect_refusal(line, 1, " has no f64; use --dtype f32 to convert");
            continue;
        }
        json_t *report = run_json(line);
        assert_string_equal(string(report, "dtype"), cases[i].dtype);
        json_decref(report);
    }
    if (!has_f64)
        return;
    const double thirds[] = {1.0 / 3, 0, 0};
    run(&out, "spmm third.mtx wide_X.npy --runs 1 -o Y.npy");
    expect_array("Y.npy", WEFT_F64, 2, (int64_t[]){3, 1}, thirds);
    expect_refusal("spmm A.mtx X.npy --beta 1 --c wide_C0.npy", 1,
                   "wide_C0.npy: is 3 x 1, but the product is 3 x 2");
    expect_refusal("sddmm A.mtx X.npy wide_X.npy -t", 1, "but between");
    expect_refusal(
        "spmm third.mtx narrow_X.npy --beta 1 --c wide_C0.npy", 1,
        "wide_C0.npy: holds f64, but narrow_X.npy holds f32; use --dtype to convert both");
    expect_refusal("spmm large.mtx narrow_X.npy", 1, "large.mtx: 1e+300 is too large for f32");
}

// As it is on many a GPU.
static void arrays_of_f64_are_refused_without_it(void **state)
{
    static const char *const lines[] = {"spmm third.mtx wide_X.npy",
                                        "sddmm third.mtx wide_X.npy wide_X.npy -t"};
    (void)state;
    char *before = getenv("WEFT_PROFILE") ? strdup(getenv("WEFT_PROFILE")) : NULL;
    setenv("WEFT_PROFILE", "intel-arc-a770", 1);
    for (int i = 0; i < 2; i++)
        expect_refusal(lines[i], 1, " has no f64; use --dtype f32 to convert");
    if (before)
        setenv("WEFT_PROFILE", before, 1);
    else
        unsetenv("WEFT_PROFILE");
    free(before);
}

// ---- sizes

// Before numbers are made up for them, which takes minutes.
static void sizes_are_told_before_the_work(void **state)
{
    static const char *const lines[] = {
        "softmax --shape 65536,65536",
        "matmul --shape 1,1073741823 --n 1073741823",
        "spmm one_column.mtx --n 1073741823",
        "sddmm wide.mtx --k 536870911",
    };
    const struct rlimit few = {10, RLIM_INFINITY};
    struct rlimit before;
    (void)state;
    put_text("one_column.mtx", "%%MatrixMarket matrix coordinate real general\n9 1 1\n1 1 1\n");
    put_text("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2000000000 1\n1 1\n");
    assert_int_equal(getrlimit(RLIMIT_CPU, &before), 0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        static outcome out;
        assert_int_equal(setrlimit(RLIMIT_CPU, &few), 0);
        run(&out, lines[i]);
        assert_int_equal(setrlimit(RLIMIT_CPU, &before), 0);
        expect_status(&out, lines[i], 1);
        expect_part(out.errors, "is larger than the device's largest buffer");
    }
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
        cmocka_unit_test(arrays_of_every_kind_are_taken),
        cmocka_unit_test(text_is_taken_by_its_content),
        cmocka_unit_test(a_binary_matrix_is_as_its_text),
        cmocka_unit_test(spmm_and_sddmm_keep_the_type),
        cmocka_unit_test(arrays_of_f64_are_refused_without_it),
        cmocka_unit_test(sizes_are_told_before_the_work),
        cmocka_unit_test(compiling_is_told_at_a_terminal), // last: what it leaves is cold
    };
    return cmocka_run_group_tests(tests, write_operands, NULL);
}
