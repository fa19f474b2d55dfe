// SPDX-License-Identifier: Apache-2.0
// The command weft sddmm from end to end: exit status, what goes to which stream, and right
// results.
#include <math.h>

#include "npy.h"
#include "scalar.h"

#include "program_run.h"

//   C  1 . 2     A  1 2     B  1 2 3     A B   9 12 15     sparse A  1 2     B  1 7 .
//      . . .        3 4        4 5 6          19 26 33               3 .        4 . 6
//      . 3 .        5 6                       29 40 51               . 6
static int write_operands(void **state)
{
    static const float A[] = {1, 2, 3, 4, 5, 6}, B[] = {1, 2, 3, 4, 5, 6};
    static const float transposed_B[] = {1, 4, 2, 5, 3, 6};
    static const float infinite_A[] = {INFINITY, 2, 3, 4, 5, 6};
    static const float infinite_B[] = {1, INFINITY, 3, 4, 5, 6};
    static const int64_t tall[] = {3, 2}, wide[] = {2, 3}, cube[] = {3, 2, 1}, none[] = {3, 0};
    complaint why;
    (void)state;
    put_text("C.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n"
                      "3 2 3\n1 3 2\n1 1 1\n");
    put_text("bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1\n");
    put_text("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n"
                         "2 2000000000 1\n1 1\n");
    put_text("none.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 0\n");
    put_text("A.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 4\n"
                      "1 1 1\n1 2 2\n2 1 3\n3 2 6\n");
    put_text("B.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 4\n"
                      "1 1 1\n2 1 4\n1 2 7\n2 3 6\n");
    put_text("transposed_B.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 4\n"
                                 "1 1 1\n1 2 4\n2 1 7\n3 2 6\n");
    put_text("nothing.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 0\n");
    put_text("A.smtx", "4, 5, 6\n0 2 2 3 6\n0 4 1 0 2 4\n");
    put_text("B.smtx", "5, 3, 7\n0 2 3 3 6 7\n0 2 1 0 1 2 1\n");
    put_text("P.smtx", "4, 3, 6\n0 2 2 3 6\n0 2 1 0 1 2\n");
    put_text("damaged.npy", "this is no array");
    return !npy_write(path_of("A.npy"), WEFT_F32, 2, tall, A, &why) ||
           !npy_write(path_of("infinite_A.npy"), WEFT_F32, 2, tall, infinite_A, &why) ||
           !npy_write(path_of("infinite_B.npy"), WEFT_F32, 2, wide, infinite_B, &why) ||
           !npy_write(path_of("B.npy"), WEFT_F32, 2, wide, B, &why) ||
           !npy_write(path_of("transposed_B.npy"), WEFT_F32, 2, tall, transposed_B, &why) ||
           !npy_write(path_of("cube.npy"), WEFT_F32, 3, cube, A, &why) ||
           !npy_write(path_of("no_columns.npy"), WEFT_F32, 2, none, A, &why);
}

static void expect_D(weft_dtype dtype, int64_t nnz, const double *want)
{
    npy_array D;
    complaint why;
    if (!npy_read(&D, path_of("D.npy"), dtype, &why))
        fail_msg("%s", why.text);
    assert_int_equal(D.ndim, 1);
    assert_int_equal(D.shape[0], nnz);
    for (int64_t e = 0; e < nnz; e++)
        if (scalar_get(D.dtype, D.data, e) != want[e])
            fail_msg("D[%d] is %g, not %g", (int)e, scalar_get(D.dtype, D.data, e), want[e]);
    npy_free(&D);
}

static void expect_product(const char *line, const double *want)
{
    json_decref(run_json(line));
    expect_D(WEFT_DEFAULT, 3, want);
}

// ---- usage

static void help_names_the_options(void **state)
{
    static outcome out;
    static const char *const parts[] = {"Usage: weft sddmm [OPTION...] C [A B]",
                                        "sparse one (.mtx, .smtx, .csr):",
                                        "--transpose-b",
                                        "--indicator",
                                        "--k=K",
                                        "--alpha=X",
                                        "--check",
                                        "--device=TEXT",
                                        "--json"};
    (void)state;
    run(&out, "sddmm --help");
    expect_status(&out, "sddmm --help", 0);
    assert_string_equal(out.errors, "");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        expect_part(out.output, parts[i]);
    run(&out, "--help");
    expect_part(out.output, "  sddmm ");
}

static void wrong_usage_exits_with_2(void **state)
{
    (void)state;
    expect_refusal("sddmm", 2, "name a sparse matrix: C.mtx, C.smtx or C.csr");
    expect_refusal("sddmm C.mtx A.npy", 2, "A.npy needs a second file, B");
    expect_refusal("sddmm C.mtx A.mtx", 2, "A.mtx needs a second file, B");
    expect_refusal("sddmm C.mtx A.npy B.npy D.npy", 2, "one file too many: D.npy");
    expect_refusal("sddmm C.mtx A.npy B.npy --k 4", 2, "--k is for random A and B");
    expect_refusal("sddmm C.mtx --k 0", 2, "--k: 0 is outside 1 to 2147483647");
    expect_refusal("sddmm C.mtx --k many", 2, "--k: 'many' is not an integer");
    expect_refusal("sddmm C.mtx --alpha inf", 2, "--alpha: inf is not finite");
    expect_refusal("sddmm C.mtx --dtype i32", 2, "--dtype: 'i32' is none of");
    expect_refusal("sddmm C.mtx --runs 0", 2, "--runs: 0 is outside");
    expect_refusal("sddmm C.mtx --seed -1", 2, "--seed: -1 is outside");
    expect_refusal("sddmm C.mtx --beta 1", 2, "unrecognized option '--beta'");
}

static void failures_are_one_sentence(void **state)
{
    (void)state;
    expect_refusal("sddmm C.mtx --device no-such-device", 1, "no-such-device");
    expect_refusal("sddmm absent.mtx", 1, "absent.mtx: No such file or directory");
    expect_refusal("sddmm bad.mtx", 1, "bad.mtx:3: entry (4, 1) is outside the 3 x 3 matrix");
    expect_refusal("sddmm A.npy", 1, "A.npy: holds a dense array, but a sparse matrix is needed");
    expect_refusal("sddmm C.mtx damaged.npy B.npy", 1, "damaged.npy: not a .npy file");
    expect_refusal("sddmm C.mtx A.npy absent.npy", 1, "absent.npy: No such file or directory");
    expect_refusal("sddmm C.mtx cube.npy B.npy", 1, "cube.npy: has 3 dimensions, a matrix has 2");
    expect_refusal("sddmm C.mtx A.npy cube.npy", 1, "cube.npy: has 3 dimensions, a matrix has 2");
    expect_refusal("sddmm C.mtx B.npy A.npy", 1, "B.npy: has 2 rows, but C.mtx is 3 x 3");
    expect_refusal("sddmm P.smtx A.npy B.npy", 1, "A.npy: has 3 rows, but P.smtx is 4 x 3");
    expect_refusal("sddmm C.mtx A.npy transposed_B.npy", 1,
                   "transposed_B.npy: is 3 x 2, but between A.npy and C.mtx it is 2 x 3");
    expect_refusal("sddmm C.mtx A.npy B.npy --transpose-b", 1,
                   "B.npy: transposed is 3 x 2, but between A.npy and C.mtx it is 2 x 3");
    expect_refusal("sddmm C.mtx absent.mtx B.npy", 1, "absent.mtx: No such file or directory");
    expect_refusal("sddmm C.mtx A.npy bad.mtx", 1, "bad.mtx:3: entry (4, 1) is outside the 3 x 3");
    expect_refusal("sddmm P.smtx A.mtx B.mtx", 1, "A.mtx: has 3 rows, but P.smtx is 4 x 3");
    expect_refusal("sddmm C.mtx A.mtx transposed_B.mtx", 1,
                   "transposed_B.mtx: is 3 x 2, but between A.mtx and C.mtx it is 2 x 3");
    expect_refusal("sddmm C.mtx A.npy B.mtx --transpose-b", 1,
                   "B.mtx: transposed is 3 x 2, but between A.npy and C.mtx it is 2 x 3");
    expect_refusal(
        "sddmm wide.mtx", 1,
        "B, 128 x 2000000000 f32, is larger than the device's largest buffer: 1024000000000 "
        "bytes");
    expect_refusal("sddmm C.mtx -o absent/D.npy", 1, "absent/D.npy: No such file or directory");
}

// ---- results

static void sddmm_multiplies(void **state)
{
    static const double want[] = {9, 30, 120};
    (void)state;
    json_t *report = run_json("sddmm C.mtx A.npy B.npy -o D.npy --runs 3 --check --json");
    expect_D(WEFT_DEFAULT, 3, want);
    assert_string_equal(string(report, "op"), "sddmm");
    assert_string_equal(string(report, "dtype"), "f32");
    assert_true(strlen(string(report, "device")) > 0);
    assert_true(strlen(string(report, "plan")) > 0);
    assert_true(number(report, "m") == 3 && number(report, "n") == 3);
    assert_true(number(report, "k") == 2 && number(report, "nnz") == 3);
    assert_true(number(report, "setup_ms") > 0);
    assert_true(number(report, "min_ms") > 0);
    assert_true(number(report, "min_ms") <= number(report, "median_ms"));
    assert_true(number(report, "median_ms") <= number(report, "max_ms"));
    const double gflops = 1e-6 * 2 * 3 * 2 / number(report, "median_ms");
    assert_true(fabs(number(report, "gflops") / gflops - 1) < 1e-4);
    assert_true(number(report, "error") <= 1);
    json_decref(report);
}

static void sddmm_says_the_same_in_words(void **state)
{
    static outcome out;
    static const char *const parts[] = {"D [3] = A [3 x 2] B [2 x 3] at the non-zeros of C [3 x 3]",
                                        "plan",
                                        "set-up",
                                        "median",
                                        "GFLOP/s",
                                        "of its bound"};
    (void)state;
    run(&out, "sddmm C.mtx A.npy B.npy --runs 2 --check");
    expect_status(&out, "sddmm", 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        expect_part(out.output, parts[i]);
}

static void sddmm_takes_its_options(void **state)
{
    static const double plain[] = {9, 30, 120}, places[] = {9, 15, 40}, scaled[] = {-18, -30, -80};
    (void)state;
    expect_product("sddmm C.mtx A.npy transposed_B.npy -t -o D.npy --runs 2 --check --json", plain);
    expect_product("sddmm C.mtx A.npy B.npy --indicator -o D.npy --runs 1 --check --json", places);
    expect_product(
        "sddmm C.mtx A.npy transposed_B.npy --transpose-b -i --alpha -2 -o D.npy --runs 4 "
        "--check --json",
        scaled);
}

static void sddmm_takes_narrow_types(void **state)
{
    static const double want[] = {9, 30, 120};
    (void)state;
    json_decref(run_json("sddmm C.mtx A.npy B.npy --dtype f16 -o D.npy --runs 1 --check --json"));
    expect_D(WEFT_F16, 3, want);
    json_decref(run_json("sddmm C.mtx A.npy B.npy --dtype bf16 -o D.npy --runs 1 --check --json"));
    expect_D(WEFT_BF16, 3, want);
}

// A, B or both by entries. Elements of B's columns count, or where B is dense of A's rows.
static void sddmm_takes_sparse_factors(void **state)
{
    static const struct {
        const char *operands;
        double want[3];
        int n_terms;
    } asked[] = {
        {"A.mtx B.npy", {9, 30, 90}, 5},
        {"A.mtx transposed_B.npy -t", {9, 30, 90}, 5},
        {"A.npy B.mtx", {9, 24, 105}, 4},
        {"A.npy transposed_B.mtx --transpose-b", {9, 24, 105}, 4},
        {"A.mtx B.mtx", {9, 24, 0}, 4},
        {"A.mtx transposed_B.mtx -t", {9, 24, 0}, 4},
        {"A.mtx B.mtx --indicator --alpha -2", {-18, -24, 0}, 4},
        {"A.npy B.mtx --dtype f16", {9, 24, 105}, 4},
        {"infinite_A.npy B.mtx", {INFINITY, 24, 105}, 4}, // which (1, 3) does not meet
        {"A.mtx infinite_B.npy", {9, 30, 90}, 5},         // nor does (3, 2)
    };
    (void)state;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        char line[256];
        snprintf(line, sizeof(line), "sddmm C.mtx %s -o D.npy --runs 2 --check --json",
                 asked[i].operands);
        json_t *report = run_json(line);
        expect_D(WEFT_DEFAULT, 3, asked[i].want);
        assert_string_equal(string(report, "op"), "sddmm");
        expect_part(string(report, "plan"), "lanes ");
        assert_true(number(report, "m") == 3 && number(report, "n") == 3);
        assert_true(number(report, "k") == 2 && number(report, "nnz") == 3);
        const double gflops = 1e-6 * 2 * asked[i].n_terms / number(report, "median_ms");
        assert_true(fabs(number(report, "gflops") / gflops - 1) < 1e-4);
        assert_true(number(report, "setup_ms") > 0 && number(report, "error") <= 1);
        json_decref(report);
    }
}

// Patterns, with values from the seed; what is made of them has a reference of its own.
static void sddmm_takes_patterns_as_factors(void **state)
{
    static outcome out;
    (void)state;
    json_t *report = run_json("sddmm P.smtx A.smtx B.smtx --runs 1 --check --json");
    assert_true(number(report, "m") == 4 && number(report, "k") == 5 && number(report, "n") == 3);
    assert_true(number(report, "nnz") == 6 && number(report, "error") <= 1);
    json_decref(report);
    run(&out, "sddmm P.smtx A.smtx B.smtx --dtype f16 --runs 1 --check");
    expect_status(&out, "sddmm", 0);
    expect_part(out.output, "D [6] = A [4 x 5] B [5 x 3] at the non-zeros of C [4 x 3]");
}

static void sddmm_follows_the_seed(void **state)
{
    static outcome out;
    char first[4096], second[4096], third[4096];
    const size_t bytes = 128 + 6 * sizeof(float);
    (void)state;
    run(&out, "sddmm P.smtx --k 5 --seed 7 -o 1.npy --runs 1 --check");
    expect_status(&out, "sddmm", 0);
    run(&out, "sddmm P.smtx --k 5 --seed 7 -o 2.npy --runs 2 --json");
    expect_status(&out, "sddmm", 0);
    run(&out, "sddmm P.smtx --k 5 --seed 8 -o 3.npy --runs 1");
    expect_status(&out, "sddmm", 0);
    slurp("1.npy", first, sizeof(first));
    slurp("2.npy", second, sizeof(second));
    slurp("3.npy", third, sizeof(third));
    assert_memory_equal(first, second, bytes);
    assert_memory_not_equal(first, third, bytes);
}

// What is made up is checked as well, however B lies.
static void sddmm_makes_up_operands(void **state)
{
    (void)state;
    json_t *report = run_json("sddmm P.smtx --runs 1 --check --json");
    assert_true(number(report, "k") == 128 && number(report, "nnz") == 6);
    assert_true(number(report, "m") == 4 && number(report, "n") == 3);
    json_decref(report);
    json_decref(run_json("sddmm P.smtx --k 37 --transpose-b --alpha 0.3 --runs 1 --check --json"));
}

static void sddmm_takes_empty_operands(void **state)
{
    static const double zeros[3] = {0};
    (void)state;
    json_t *report = run_json("sddmm none.mtx A.npy B.npy -o D.npy --runs 1 --check --json");
    assert_true(number(report, "nnz") == 0 && number(report, "gflops") == 0);
    assert_true(number(report, "error") == 0);
    expect_D(WEFT_DEFAULT, 0, zeros);
    json_decref(report);
    report = run_json("sddmm C.mtx no_columns.npy no_columns.npy -t -o D.npy --runs 1 --check "
                      "--json");
    assert_true(number(report, "k") == 0);
    expect_D(WEFT_DEFAULT, 3, zeros);
    json_decref(report);
    report = run_json("sddmm none.mtx A.mtx B.mtx -o D.npy --runs 1 --check --json");
    assert_true(number(report, "gflops") == 0 && number(report, "error") == 0);
    expect_D(WEFT_DEFAULT, 0, zeros);
    json_decref(report);
    report = run_json("sddmm C.mtx nothing.mtx B.npy -o D.npy --runs 1 --check --json");
    assert_true(number(report, "gflops") == 0 && number(report, "k") == 2);
    expect_D(WEFT_DEFAULT, 3, zeros);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_the_options),
        cmocka_unit_test(wrong_usage_exits_with_2),
        cmocka_unit_test(failures_are_one_sentence),
        cmocka_unit_test(sddmm_multiplies),
        cmocka_unit_test(sddmm_says_the_same_in_words),
        cmocka_unit_test(sddmm_takes_its_options),
        cmocka_unit_test(sddmm_takes_narrow_types),
        cmocka_unit_test(sddmm_takes_sparse_factors),
        cmocka_unit_test(sddmm_takes_patterns_as_factors),
        cmocka_unit_test(sddmm_follows_the_seed),
        cmocka_unit_test(sddmm_makes_up_operands),
        cmocka_unit_test(sddmm_takes_empty_operands),
    };
    return cmocka_run_group_tests(tests, write_operands, NULL);
}
