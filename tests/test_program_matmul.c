// SPDX-License-Identifier: Apache-2.0
// The command weft matmul from end to end: results, their types and shapes, reports, exit status,
// and what it says to files, formulas and options that do not fit.
#include <math.h>

#include "npy.h"
#include "scalar.h"

#include "program_run.h"

//   A  1 2     B  1 2 3     A B   9 12 15     C0  10 20 30     row  1 -20 3
//      3 4        4 5 6          19 26 33         40 50 60
//      5 6                       29 40 51         70 80 90     column  100 200 300
static const float A[] = {1, 2, 3, 4, 5, 6}, B[] = {1, 2, 3, 4, 5, 6};
static const float C0[] = {10, 20, 30, 40, 50, 60, 70, 80, 90};
static const float ROW[] = {1, -20, 3}, COLUMN[] = {100, 200, 300};
static const int64_t TALL[] = {3, 2}, WIDE[] = {2, 3}, SQUARE[] = {3, 3};
static const double PRODUCT[] = {9, 12, 15, 19, 26, 33, 29, 40, 51};

static bool write_others(complaint *why)
{
    static const float transposed_A[] = {1, 3, 5, 2, 4, 6}, transposed_B[] = {1, 4, 2, 5, 3, 6};
    static const float pair[] = {1, 2, 10, 20}, three[] = {1, 1, 2, 3, 5, 7};
    static const int8_t signs[] = {-128, 127, 3, 1, 2, 3}, factors[] = {-128, 2, 127, -1, -7, 0};
    static const int32_t whole[] = {5, 6, 7, 8}, some[] = {1, 2, 3, 4, 5, 6};
    return npy_write(path_of("transposed_A.npy"), WEFT_F32, 2, WIDE, transposed_A, why) &&
           npy_write(path_of("transposed_B.npy"), WEFT_F32, 2, TALL, transposed_B, why) &&
           npy_write(path_of("pair.npy"), WEFT_F32, 4, (int64_t[]){2, 1, 1, 2}, pair, why) &&
           npy_write(path_of("three.npy"), WEFT_F32, 3, (int64_t[]){3, 2, 1}, three, why) &&
           npy_write(path_of("two.npy"), WEFT_F32, 3, (int64_t[]){2, 1, 2}, pair, why) &&
           npy_write(path_of("signs.npy"), WEFT_I8, 2, WIDE, signs, why) &&
           npy_write(path_of("factors.npy"), WEFT_I8, 2, TALL, factors, why) &&
           npy_write(path_of("whole.npy"), WEFT_I32, 2, (int64_t[]){2, 2}, whole, why) &&
           npy_write(path_of("some.npy"), WEFT_I32, 2, TALL, some, why);
}

static int write_operands(void **state)
{
    static const uint16_t half_A[] = {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600};
    static const double wide_B[] = {1, 2, 3, 4, 5, 6};
    complaint why;
    (void)state;
    put_text("damaged.npy", "this is no array");
    return !npy_write(path_of("A.npy"), WEFT_F32, 2, TALL, A, &why) ||
           !npy_write(path_of("B.npy"), WEFT_F32, 2, WIDE, B, &why) ||
           !npy_write(path_of("C0.npy"), WEFT_F32, 2, SQUARE, C0, &why) ||
           !npy_write(path_of("row.npy"), WEFT_F32, 1, SQUARE, ROW, &why) ||
           !npy_write(path_of("column.npy"), WEFT_F32, 2, (int64_t[]){3, 1}, COLUMN, &why) ||
           !npy_write(path_of("half_A.npy"), WEFT_F16, 2, TALL, half_A, &why) ||
           !npy_write(path_of("wide_B.npy"), WEFT_F64, 2, WIDE, wide_B, &why) ||
           !npy_write(path_of("none.npy"), WEFT_F32, 2, (int64_t[]){3, 0}, A, &why) ||
           !npy_write(path_of("no_rows.npy"), WEFT_F32, 2, (int64_t[]){0, 2}, A, &why) ||
           !write_others(&why);
}

static void expect_array(const char *line, weft_dtype dtype, int ndim, const int64_t *shape,
                         const double *want)
{
    npy_array C;
    complaint why;
    if (!npy_read(&C, path_of("C.npy"), dtype == WEFT_BF16 ? WEFT_BF16 : WEFT_DEFAULT, &why))
        fail_msg("weft %s: %s", line, why.text);
    if (C.dtype != dtype || C.ndim != ndim)
        fail_msg("weft %s: %s of %d dimensions", line, weft_dtype_name(C.dtype), C.ndim);
    for (int d = 0; d < ndim; d++)
        assert_int_equal(C.shape[d], shape[d]);
    for (int64_t i = 0; i < C.count; i++)
        if (scalar_get(dtype, C.data, i) != want[i])
            fail_msg("weft %s: element %d is %.9g, not %.9g", line, (int)i,
                     scalar_get(dtype, C.data, i), want[i]);
    npy_free(&C);
}

// Runs `matmul <line> -o C.npy`, twice timed, and looks at the array.
static void expect_result(const char *line, weft_dtype dtype, int ndim, const int64_t *shape,
                          const double *want)
{
    char full[256];
    if (is_passed_over())
        return;
    snprintf(full, sizeof(full), "matmul %s -o C.npy --runs 2 --json", line);
    json_decref(run_json(full));
    expect_array(line, dtype, ndim, shape, want);
}

static void expect_square(const char *line, const double *want)
{
    expect_result(line, WEFT_F32, 2, SQUARE, want);
}

// ---- usage

static void help_names_the_options(void **state)
{
    static outcome out;
    static const char *const parts[] = {"A.npy B.npy [NAME=FILE.npy ...] [NAME=NUMBER ...]",
                                        "--transpose-a",
                                        "--transpose-b",
                                        "--alpha=X",
                                        "--beta=Y",
                                        "--c=C0.npy",
                                        "--c-dtype=T",
                                        "--epilogue=FORMULA",
                                        "--n=N",
                                        "--dtype=T",
                                        "--shape=LIST",
                                        "--check",
                                        "--device=TEXT",
                                        "--json"};
    (void)state;
    run(&out, "matmul --help");
    expect_status(&out, "matmul --help", 0);
    assert_string_equal(out.errors, "");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        expect_part(out.output, parts[i]);
    run(&out, "--help");
    expect_part(out.output, "  matmul ");
}

static void wrong_usage_exits_with_2(void **state)
{
    static const struct {
        const char *line, *errors;
    } cases[] = {
        {"matmul", "name an array, IN.npy, or use --shape for random numbers"},
        {"matmul A.npy", "A.npy needs a second file, B.npy"},
        {"matmul A.npy B.npy C.npy", "one argument too many: C.npy; arrays and numbers are for"},
        {"matmul A.npy B.npy b=row.npy", "one argument too many: b=row.npy"},
        {"matmul A.npy B.npy row.npy -e c", "'row.npy' is neither NAME=FILE.npy nor NAME=NUMBER"},
        {"matmul A.npy B.npy a=A b=A d=A e=A f=A -e c", "f=A: more than 4 arrays"},
        {"matmul A.npy B.npy --n 4", "--n is for a random B, but B is B.npy"},
        {"matmul --shape 4,3 --n 0", "--n: 0 is outside 1 to 2147483647"},
        {"matmul --shape 4,x", "--shape: 'x' is not an integer; give extents separated by commas, "
                               "such as 64,1000 (of A; --n says how many columns B has)\n"},
        {"matmul --shape 64,64x64,64", "--shape: '64x64' is not an integer; give extents"},
        {"matmul --shape 64", "--shape: A has 1 dimension, a matrix has 2 or more, such as 64,1"},
        {"matmul A.npy B.npy --beta 1", "--beta needs --c"},
        {"matmul A.npy B.npy --c C0.npy", "--c needs --beta"},
        {"matmul A.npy B.npy --alpha inf", "--alpha: inf is not finite"},
        {"matmul A.npy B.npy --beta x --c C0.npy", "--beta: 'x' is no number"},
        {"matmul A.npy B.npy --dtype i32", "--dtype: 'i32' is none of"},
        {"matmul A.npy B.npy --c-dtype i64", "--c-dtype: 'i64' is none of"},
        {"matmul A.npy B.npy --runs 0", "--runs: 0 is outside"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_refusal(cases[i].line, 2, cases[i].errors);
}

static void failures_are_one_sentence(void **state)
{
    static const struct {
        const char *line, *errors;
    } cases[] = {
        {"matmul absent.npy B.npy", "absent.npy: No such file or directory"},
        {"matmul A.npy damaged.npy", "damaged.npy: not a .npy file"},
        {"matmul A.npy B.npy --device no-such-device", "no-such-device"},
        {"matmul row.npy B.npy", "row.npy: has 1 dimension, matrices have 2 or more"},
        {"matmul A.npy row.npy", "row.npy: has 1 dimension, matrices have 2 or more"},
        {"matmul half_A.npy B.npy",
         "B.npy: holds f32, but half_A.npy holds f16; use --dtype to convert both"},
        {"matmul some.npy whole.npy", "some.npy: matmul: A is i32; f32,"},
        {"matmul A.npy A.npy", "A.npy: has 3 rows, but A.npy has 2 columns"},
        {"matmul A.npy B.npy --transpose-a",
         "B.npy: has 2 rows, but A.npy transposed has 3 columns"},
        {"matmul A.npy B.npy --transpose-b",
         "B.npy: transposed has 3 rows, but A.npy has 2 columns"},
        {"matmul two.npy three.npy",
         "two.npy and three.npy: the batches of (2, 1, 2) and (3, 2, 1) do not broadcast"},
        {"matmul A.npy B.npy --beta 1 --c B.npy", "B.npy: has the shape (2, 3), but C has (3, 3)"},
        {"matmul A.npy B.npy --beta 1 --c absent.npy", "absent.npy: No such file or directory"},
        {"matmul --shape 0,2000000000 --n 2000000000",
         "the random B, f32 of shape (2000000000, 2000000000), is larger than the device's"},
        {"matmul A.npy B.npy -o absent/C.npy", "absent/C.npy: No such file or directory"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_refusal(cases[i].line, 1, cases[i].errors);
}

// ---- results
//
// Each formula in each type is a program that has to be compiled: a few stand for all.

static void matmul_multiplies(void **state)
{
    (void)state;
    json_t *report = run_json("matmul A.npy B.npy -o C.npy --runs 3 --check --json");
    expect_array("matmul", WEFT_F32, 2, SQUARE, PRODUCT);
    assert_string_equal(string(report, "op"), "matmul");
    assert_string_equal(string(report, "dtype"), "f32");
    assert_true(strlen(string(report, "device")) > 0 && strlen(string(report, "plan")) > 0);
    assert_true(number(report, "m") == 3 && number(report, "n") == 3);
    assert_true(number(report, "k") == 2 && number(report, "batch") == 1);
    assert_null(json_object_get(report, "nnz"));
    assert_null(json_object_get(report, "shape"));
    assert_true(number(report, "setup_ms") > 0 && number(report, "min_ms") > 0);
    assert_true(number(report, "min_ms") <= number(report, "median_ms"));
    assert_true(number(report, "median_ms") <= number(report, "max_ms"));
    const double gflops = 1e-6 * 2 * 3 * 2 * 3 / number(report, "median_ms");
    const double gbps = 1e-6 * 4 * (6 + 6 + 9) / number(report, "median_ms");
    assert_true(fabs(number(report, "gflops") / gflops - 1) < 1e-4);
    assert_true(fabs(number(report, "gbps") / gbps - 1) < 1e-4);
    assert_true(number(report, "error") <= 1);
    json_decref(report);
}

static void matmul_says_the_same_in_words(void **state)
{
    static outcome out;
    static const char *const parts[] = {
        "matmul   f32, ", "sizes    C [3 x 3] = A [3 x 2] B [2 x 3]\n",
        "plan",           "set-up",
        "median",         "GFLOP/s",
        "GB/s",           "of its bound"};
    (void)state;
    run(&out, "matmul A.npy B.npy --runs 2 --check");
    expect_status(&out, "matmul", 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        expect_part(out.output, parts[i]);
}

static void matmul_takes_its_options(void **state)
{
    static const double scaled[] = {-13, -14, -15, -18, -27, -36, -23, -40, -57};
    (void)state;
    expect_square("transposed_A.npy B.npy --transpose-a --check", PRODUCT);
    expect_square("A.npy transposed_B.npy --transpose-b --check", PRODUCT);
    expect_square("transposed_A.npy transposed_B.npy --transpose-a --transpose-b --check", PRODUCT);
    expect_square("A.npy B.npy --alpha -2 --beta 0.5 --c C0.npy --check", scaled);
}

static void formulas_come_last(void **state)
{
    double biased[9], scaled[9];
    (void)state;
    for (int i = 0; i < 9; i++) {
        biased[i] = fmax(PRODUCT[i] + (double)ROW[i % 3], 0);
        scaled[i] = 0.5 * (PRODUCT[i] + 2 * (double)C0[i]) + (double)COLUMN[i / 3];
    }
    expect_square("A.npy B.npy b=row.npy -e max(c+b,0) --check", biased);
    expect_square("A.npy B.npy s=0.5 y=column.npy --epilogue s*c+y --beta 2 --c C0.npy --check",
                  scaled);
    expect_refusal("matmul A.npy B.npy c=row.npy -e c", 1, "'c'");
}

static void refused_formulas_are_shown(void **state)
{
    static outcome out;
    (void)state;
    run(&out, "matmul A.npy B.npy -e c+nothing");
    expect_status(&out, "matmul", 1);
    assert_string_equal(out.output, "");
    assert_memory_equal(out.errors, "weft matmul: ", 13);
    expect_part(out.errors, "column 3: there is nothing named 'nothing'");
    expect_part(out.errors, "\n    c+nothing\n      ^");
}

static void batches_broadcast(void **state)
{
    static const int64_t shape[] = {2, 3, 1, 1};
    static outcome out;
    (void)state;
    json_t *report = run_json("matmul pair.npy three.npy -o C.npy --runs 1 --check --json");
    expect_array("matmul", WEFT_F32, 4, shape, (double[]){3, 8, 19, 30, 80, 190});
    assert_true(number(report, "batch") == 6 && number(report, "k") == 2);
    assert_true(number(report, "m") == 1 && number(report, "n") == 1);
    const double gflops = 1e-6 * 6 * 2 * 2 / number(report, "median_ms");
    assert_true(fabs(number(report, "gflops") / gflops - 1) < 1e-4);
    json_decref(report);
    run(&out, "matmul pair.npy three.npy --runs 1");
    expect_part(out.output, "sizes    6 times C [1 x 1] = A [1 x 2] B [2 x 1]\n");
}

static void results_have_the_type_asked_for(void **state)
{
    (void)state;
    expect_result("A.npy B.npy --dtype f16 --check", WEFT_F16, 2, SQUARE, PRODUCT);
    expect_result("A.npy wide_B.npy --dtype bf16 --check", WEFT_BF16, 2, SQUARE, PRODUCT);
    expect_result("half_A.npy wide_B.npy --dtype f16 --c-dtype f32 --check", WEFT_F32, 2, SQUARE,
                  PRODUCT);
    if (device_has_f64())
        expect_result("A.npy wide_B.npy --dtype f64 --check", WEFT_F64, 2, SQUARE, PRODUCT);
}

static void whole_numbers_give_i32(void **state)
{
    static const int64_t two[] = {2, 2};
    (void)state;
    json_t *report = run_json("matmul signs.npy factors.npy -o C.npy --runs 1 --check --json");
    assert_string_equal(string(report, "dtype"), "i8");
    json_decref(report);
    expect_array("matmul", WEFT_I32, 2, two, (double[]){32492, -383, 105, 0});
    expect_result("signs.npy factors.npy --alpha 3 --beta -1 --c whole.npy --check", WEFT_I32, 2,
                  two, (double[]){97471, -1155, 308, -8});
}

static void matmul_follows_the_seed(void **state)
{
    static char first[4096], second[4096], third[4096];
    static outcome out;
    const size_t bytes = 128 + 5 * 7 * sizeof(float);
    (void)state;
    run(&out, "matmul --shape 5,9 --n 7 --seed 7 -o 1.npy --runs 1 --check");
    expect_status(&out, "matmul", 0);
    run(&out, "matmul --shape 5,9 --n 7 --seed 7 -o 2.npy --runs 2 --json");
    expect_status(&out, "matmul", 0);
    run(&out, "matmul --shape 5,9 --n 7 --seed 8 -o 3.npy --runs 1");
    expect_status(&out, "matmul", 0);
    slurp("1.npy", first, sizeof(first));
    slurp("2.npy", second, sizeof(second));
    slurp("3.npy", third, sizeof(third));
    assert_memory_equal(first, second, bytes);
    assert_memory_not_equal(first, third, bytes);
}

// What is made up is checked as well, however it lies.
static void matmul_makes_up_operands(void **state)
{
    (void)state;
    json_t *report = run_json("matmul --shape 3,40,33 --runs 1 --check --json");
    assert_true(number(report, "m") == 40 && number(report, "k") == 33);
    assert_true(number(report, "n") == 128 && number(report, "batch") == 3);
    assert_true(number(report, "error") <= 1);
    json_decref(report);
    json_decref(run_json("matmul --shape 37,21 --n 19 --transpose-a --transpose-b --alpha 0.3 "
                         "--dtype f16 --runs 1 --check --json"));
}

static void matmul_takes_empty_operands(void **state)
{
    static const double zeros[9] = {0};
    (void)state;
    expect_square("none.npy none.npy --transpose-b --check", zeros);
    expect_result("no_rows.npy B.npy --check", WEFT_F32, 2, (int64_t[]){0, 3}, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_the_options),
        cmocka_unit_test(wrong_usage_exits_with_2),
        cmocka_unit_test(failures_are_one_sentence),
        cmocka_unit_test(matmul_multiplies),
        cmocka_unit_test(matmul_says_the_same_in_words),
        cmocka_unit_test(matmul_takes_its_options),
        cmocka_unit_test(formulas_come_last),
        cmocka_unit_test(refused_formulas_are_shown),
        cmocka_unit_test(batches_broadcast),
        cmocka_unit_test(results_have_the_type_asked_for),
        cmocka_unit_test(whole_numbers_give_i32),
        cmocka_unit_test(matmul_follows_the_seed),
        cmocka_unit_test(matmul_makes_up_operands),
        cmocka_unit_test(matmul_takes_empty_operands),
    };
    return cmocka_run_group_tests(tests, write_operands, NULL);
}
