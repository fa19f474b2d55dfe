// SPDX-License-Identifier: Apache-2.0
// The command elementwise from end to end: results, their types and shapes, reports, exit status,
// and what it says to formulas, files and options that do not fit.
#include "npy.h"
#include "scalar.h"

#include "program_run.h"

// ---- operands
//
//   A     1 -2  3     row  10 20 30     column  100     whole  A as i32
//         4  0 -5                               200

static const float A[] = {1, -2, 3, 4, 0, -5};
static const float ROW[] = {10, 20, 30};
static const float COLUMN[] = {100, 200};
static const int64_t PLANE[] = {2, 3};

static int write_operands(void **state)
{
    static const int32_t whole[] = {1, -2, 3, 4, 0, -5};
    static const int64_t large[] = {INT64_C(1) << 40, 5, -7};
    static const uint8_t bytes[] = {200, 100, 0};
    static const uint16_t half[] = {0x3c00, 0x4000, 0x4200}, brain[] = {0x3f80, 0x4000, 0x4040};
    static const double exact[] = {0x1.0000001p0, -2, 3};
    static const int64_t three[] = {3}, four[] = {4}, upright[] = {2, 1}, nothing[] = {2, 0};
    static const int64_t wide[] = {0, INT64_C(1) << 61}, tall[] = {INT64_C(1) << 61, 0};
    complaint why;
    (void)state;
    // What the program leaks the tests of its other commands tell; looking for it takes long.
    char options[512];
    const char *given = getenv("ASAN_OPTIONS");
    snprintf(options, sizeof(options), "%s:detect_leaks=0", given ? given : "");
    setenv("ASAN_OPTIONS", options, 1);
    put_text("damaged.npy", "this is no array");
    return !npy_write(path_of("A.npy"), WEFT_F32, 2, PLANE, A, &why) ||
           !npy_write(path_of("row.npy"), WEFT_F32, 1, three, ROW, &why) ||
           !npy_write(path_of("column.npy"), WEFT_F32, 2, upright, COLUMN, &why) ||
           !npy_write(path_of("scalar.npy"), WEFT_F32, 0, NULL, ROW, &why) ||
           !npy_write(path_of("four.npy"), WEFT_F32, 1, four, A, &why) ||
           !npy_write(path_of("wide.npy"), WEFT_F32, 2, wide, A, &why) ||
           !npy_write(path_of("tall.npy"), WEFT_F32, 2, tall, A, &why) ||
           !npy_write(path_of("nothing.npy"), WEFT_F32, 2, nothing, A, &why) ||
           !npy_write(path_of("whole.npy"), WEFT_I32, 2, PLANE, whole, &why) ||
           !npy_write(path_of("large.npy"), WEFT_I64, 1, three, large, &why) ||
           !npy_write(path_of("bytes.npy"), WEFT_U8, 1, three, bytes, &why) ||
           !npy_write(path_of("half.npy"), WEFT_F16, 1, three, half, &why) ||
           !npy_write(path_of("brain.npy"), WEFT_BF16, 1, three, brain, &why) ||
           !npy_write(path_of("exact.npy"), WEFT_F64, 1, three, exact, &why);
}

static void expect_array(const char *line, weft_dtype dtype, int ndim, const int64_t *shape,
                         const double *want, double tolerance)
{
    npy_array Y;
    complaint why;
    if (!npy_read(&Y, path_of("Y.npy"), dtype == WEFT_BF16 ? WEFT_BF16 : WEFT_DEFAULT, &why))
        fail_msg("weft %s: %s", line, why.text);
    if (Y.dtype != dtype || Y.ndim != ndim)
        fail_msg("weft %s: %s of %d dimensions", line, weft_dtype_name(Y.dtype), Y.ndim);
    for (int d = 0; d < ndim; d++)
        assert_int_equal(Y.shape[d], shape[d]);
    for (int64_t i = 0; i < Y.count; i++) {
        const double got = scalar_get(dtype, Y.data, i);
        if (!(got == want[i] || fabs(got - want[i]) <= tolerance || (isnan(got) && isnan(want[i]))))
            fail_msg("weft %s: element %d is %.9g, not %.9g", line, (int)i, got, want[i]);
    }
    npy_free(&Y);
}

// Runs `elementwise <line> -o Y.npy` and looks at the report's type and the array.
static void expect_result(const char *line, weft_dtype dtype, int ndim, const int64_t *shape,
                          const double *want, double tolerance)
{
    char full[256];
    if (is_passed_over())
        return;
    snprintf(full, sizeof(full), "elementwise %s -o Y.npy --runs 1 --check --json", line);
    json_t *report = run_json(full);
    assert_true(number(report, "error") <= 1);
    assert_string_equal(string(report, "dtype"), weft_dtype_name(dtype));
    json_decref(report);
    expect_array(line, dtype, ndim, shape, want, tolerance);
}

// ---- usage

static void help_describes_it(void **state)
{
    static outcome out;
    (void)state;
    run(&out, "--help");
    expect_part(out.output, "  elementwise ");
    run(&out, "elementwise --help");
    expect_status(&out, "elementwise --help", 0);
    expect_part(out.output, "FORMULA [NAME=FILE.npy ...] [NAME=NUMBER ...]");
    expect_part(out.output, "--arithmetic=T");
    expect_part(out.output, "--check");
    expect_part(out.output, "--device=TEXT");
    expect_part(out.output, "--json");
    assert_string_equal(out.errors, "");
}

static void wrong_usage_exits_with_2(void **state)
{
    static const struct {
        const char *line, *errors;
    } cases[] = {
        {"elementwise", "give a formula"},
        {"elementwise 1", "without arrays --shape is needed"},
        {"elementwise x x=2", "without arrays --shape is needed: \"x\" is given none, such as "
                              "NAME=FILE.npy for a NAME in it\n"},
        {"elementwise a A.npy", "'A.npy' is neither NAME=FILE.npy nor NAME=NUMBER"},
        {"elementwise a =A.npy", "'=A.npy' is neither"},
        {"elementwise a a=", "'a=' is neither"},
        {"elementwise a a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1 j=1 k=1 l=1 m=1 n=1 o=1 p=1 q=1",
         "q=1: more than 16 numbers"},
        {"elementwise a a=1. b=1. c=1. d=1. e=1. f=A f2=A f3=A f4=A f5=A f6=A f7=A f8=A f9=A",
         "f9=A: more than 8 arrays"},
        {"elementwise a a=A.npy a=column.npy", "'a' is named twice"},
        {"elementwise a a=A.npy a=2", "'a' is named twice"},
        {"elementwise a a=2 a=A.npy", "'a' is named twice"},
        {"elementwise a a=A.npy --dtype i16", "--dtype: 'i16' is none of f32, f64, f16, bf16, i32"},
        {"elementwise a a=A.npy --dtype i8", "--dtype: 'i8' is none of f32, f64, f16, bf16, i32"},
        {"elementwise a a=A.npy --dtype f8", "--dtype: 'f8' is none of"},
        {"elementwise a a=A.npy --arithmetic f16", "--arithmetic: 'f16' is none of f32, f64, i32"},
        {"elementwise a a=A.npy --shape 2,x", "--shape: 'x' is not an integer"},
        {"elementwise a a=A.npy --shape 2,-3", "--shape: -3 is outside"},
        {"elementwise a a=A.npy --runs 0", "--runs: 0 is outside"},
        {"elementwise -a a=A.npy", "invalid option"},
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
        {"elementwise a a=absent.npy", "absent.npy: No such file or directory"},
        {"elementwise a a=damaged.npy", "damaged.npy: not a .npy file"},
        {"elementwise a+b a=A.npy b=damaged.npy", "damaged.npy: not a .npy file"},
        {"elementwise a+b+c a=scalar.npy b=A.npy c=four.npy",
         "A.npy and four.npy: the shapes (2, 3) and (4,) do not broadcast"},
        {"elementwise a a=A.npy --shape 3", "A.npy: the shape (2, 3) does not broadcast to (3,)"},
        {"elementwise a a=four.npy --shape 2,3",
         "four.npy: the shape (4,) does not broadcast to (2, 3) of --shape"},
        {"elementwise a a=nothing.npy --shape 2,3", "nothing.npy: the shape (2, 0) does not"},
        {"elementwise a a=scalar.npy --shape 2000000000,2000000000,2000000000",
         "the result of shape (2000000000, 2000000000, 2000000000) is larger than the device's "
         "largest buffer: 8e+27 elements, but at most "},
        {"elementwise if if=A.npy", "'if'"},
        {"elementwise a&x a=whole.npy x=300000000000 --dtype i32", "300000000000"},
        {"elementwise a a=A.npy -o absent/Y.npy", "absent/Y.npy: No such file or directory"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_refusal(cases[i].line, 1, cases[i].errors);
}

static void refused_formulas_are_shown(void **state)
{
    static const struct {
        const char *formula, *place, *shown;
    } cases[] = {
        {"a+(1", "column 5: ", "\n    a+(1\n        ^"},
        {"a+nothing", "column 3: there is nothing named 'nothing'", "\n    a+nothing\n      ^"},
        {"a;b", "column 2: ", "\n    a;b\n     ^"},
        {"sin(a,a)", "column 1: ", "\n    sin(a,a)\n    ^"},
    };
    static outcome out;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "elementwise %s a=A.npy", cases[i].formula);
        run(&out, line);
        expect_status(&out, line, 1);
        assert_string_equal(out.output, "");
        assert_memory_equal(out.errors, "weft elementwise: ", 18);
        expect_part(out.errors, cases[i].place);
        expect_part(out.errors, cases[i].shown);
    }
}

// ---- results
//
// Each formula in each type is a program that has to be compiled: a few stand for all.

static void formulas_name_arrays_and_numbers(void **state)
{
    double mixed[6], sum[6], chosen[6], least[6];
    (void)state;
    for (int i = 0; i < 6; i++) {
        mixed[i] = 0.5 * (double)A[i] + (double)fmaxf(ROW[i % 3], 15);
        sum[i] = (double)(A[i] + ROW[i % 3] + COLUMN[i / 3]);
        chosen[i] = A[i] >= 1 ? (double)ROW[i % 3] : (double)COLUMN[i / 3];
        least[i] = A[i] == 0 ? 1 : 0;
    }
    expect_result("alpha*a+max(r,x) a=A.npy r=row.npy alpha=0.5 x=15", WEFT_F32, 2, PLANE, mixed,
                  0);
    expect_result("r+a\t+c a=A.npy c=column.npy r=row.npy", WEFT_F32, 2, PLANE, sum, 0);
    expect_result("a>=1?r:c a=A.npy r=row.npy c=column.npy", WEFT_F32, 2, PLANE, chosen, 0);
    expect_result("a==0 a=A.npy", WEFT_F32, 2, PLANE, least, 0);
    for (int i = 0; i < 6; i++)
        chosen[i] = A[i] != 0 ? (double)COLUMN[i / 3] : (double)ROW[i % 3];
    expect_result("where z=A.npy c=column.npy b=row.npy", WEFT_F32, 2, PLANE, chosen, 0);
}

static void arguments_stand_behind_two_dashes(void **state)
{
    double want[6];
    (void)state;
    for (int i = 0; i < 6; i++)
        want[i] = (double)-A[i];
    json_decref(run_json("elementwise -o Y.npy --json -- -a a=A.npy"));
    expect_array("-- -a", WEFT_F32, 2, PLANE, want, 0);
}

static void numbers_are_what_c_reads(void **state)
{
    static const int64_t one[] = {1};
    (void)state;
    expect_result("x x=0x1.8p1 --shape 1", WEFT_F32, 1, one, (double[]){3}, 0);
    expect_result("x x=-inf --shape 1", WEFT_F32, 1, one, (double[]){-INFINITY}, 0);
    expect_result("x x=nan --shape 1", WEFT_F32, 1, one, (double[]){NAN}, 0);
    expect_result("x x=-7 --shape 1", WEFT_I32, 1, one, (double[]){-7}, 0);
    expect_result("x x=0x10 --shape 1", WEFT_I32, 1, one, (double[]){16}, 0);
    expect_result("x x=1e1 --shape 1", WEFT_F32, 1, one, (double[]){10}, 0);
}

static void results_have_the_shape_of_all(void **state)
{
    static const int64_t block[] = {2, 2, 3}, empty[] = {2, 0}, four[] = {2, 2};
    static const int64_t wide[] = {0, INT64_C(1) << 61}, tall[] = {INT64_C(1) << 61, 0};
    double twice[12];
    (void)state;
    for (int i = 0; i < 12; i++)
        twice[i] = (double)A[i % 6];
    expect_result("a a=A.npy --shape 2,2,3", WEFT_F32, 3, block, twice, 0);
    expect_result("a+b a=A.npy b=scalar.npy --shape 2,3", WEFT_F32, 2, PLANE,
                  (double[]){11, 8, 13, 14, 10, 5}, 0);
    expect_result("c c=column.npy --shape 2,3", WEFT_F32, 2, PLANE,
                  (double[]){100, 100, 100, 200, 200, 200}, 0);
    expect_result("a a=scalar.npy", WEFT_F32, 0, NULL, (double[]){10}, 0);
    expect_result("a+c a=nothing.npy c=column.npy", WEFT_F32, 2, empty, NULL, 0);
    expect_result("a+1 a=wide.npy", WEFT_F32, 2, wide, NULL, 0);
    expect_result("a+1 a=tall.npy", WEFT_F32, 2, tall, NULL, 0);
    expect_result("7 --shape 2,2", WEFT_I32, 2, four, (double[]){7, 7, 7, 7}, 0);
    expect_result("M_PI --shape 2,2 --dtype f16", WEFT_F16, 2, four,
                  (double[]){3.140625, 3.140625, 3.140625, 3.140625}, 0);
}

static void results_have_the_type_of_all(void **state)
{
    static const int64_t three[] = {3};
    static const struct {
        const char *line;
        weft_dtype dtype;
        double want[3];
    } cases[] = {
        {"a+a a=half.npy", WEFT_F16, {2, 4, 6}},
        {"a+a a=brain.npy", WEFT_BF16, {2, 4, 6}},
        {"a+b a=half.npy b=brain.npy", WEFT_F32, {2, 4, 6}},
        {"a+b a=half.npy b=large.npy", WEFT_F32, {0x1p40, 7, -4}},
        {"a+a a=bytes.npy", WEFT_U8, {144, 200, 0}},
        {"a+b a=bytes.npy b=large.npy", WEFT_I64, {0x1p40 + 200, 105, -7}},
        {"a/2 a=bytes.npy", WEFT_U8, {100, 50, 0}},
        {"a/2.0 a=large.npy", WEFT_F32, {0x1p39, 2.5, -3.5}},
        {"a*x a=bytes.npy x=0.5", WEFT_F32, {100, 50, 0}},
        {"a*x a=bytes.npy x=2", WEFT_U8, {144, 200, 0}},
        {"a a=brain.npy --dtype i32", WEFT_I32, {1, 2, 3}},
        {"a*x a=half.npy x=100000 --dtype bf16", WEFT_BF16, {99840, 199680, 299008}},
        {"a/4 a=bytes.npy --arithmetic f32", WEFT_F32, {50, 25, 0}},
        {"a/8 a=bytes.npy --arithmetic f32 --dtype i64", WEFT_I64, {25, 12, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (has_turn((int)i))
            expect_result(cases[i].line, cases[i].dtype, 1, three, cases[i].want, 0);
    if (!device_has_f64())
        return;
    expect_result("a+b a=exact.npy b=half.npy", WEFT_F64, 1, three, (double[]){2 + 0x1p-28, 0, 6},
                  0);
    expect_result("a a=exact.npy --dtype f32", WEFT_F32, 1, three, (double[]){1, -2, 3}, 0);
}

static void whole_numbers_in_real_formulas_are_f32(void **state)
{
    double roots[6];
    (void)state;
    for (int i = 0; i < 6; i++)
        roots[i] = A[i] < 0 ? 0 : sqrt((double)A[i]);
    expect_result("sqrt(max(a,0)) a=whole.npy", WEFT_F32, 2, PLANE, roots, 1e-6);
}

// ---- reports

static void reports_are_complete(void **state)
{
    static outcome out;
    (void)state;
    json_t *report = run_json("elementwise a+c a=A.npy c=column.npy --dtype f16 --runs 3 --json");
    assert_string_equal(string(report, "op"), "elementwise");
    assert_string_equal(string(report, "dtype"), "f16");
    assert_true(strlen(string(report, "device")) > 0 && strlen(string(report, "plan")) > 0);
    const json_t *shape = json_object_get(report, "shape");
    assert_int_equal(json_array_size(shape), 2);
    assert_int_equal(json_integer_value(json_array_get(shape, 1)), 3);
    assert_true(number(report, "setup_ms") > 0 && number(report, "min_ms") > 0);
    assert_true(number(report, "min_ms") <= number(report, "median_ms"));
    assert_true(number(report, "median_ms") <= number(report, "max_ms"));
    const double gbps = 1e-6 * (6 * 4 + 2 * 4 + 6 * 2) / number(report, "median_ms");
    assert_true(fabs(number(report, "gbps") / gbps - 1) < 1e-4);
    json_decref(report);
    run(&out, "elementwise a a=A.npy --runs 2");
    expect_status(&out, "elementwise", 0);
    expect_part(out.output, "elementwise f32, ");
    expect_part(out.output, "sizes    (2, 3)\n");
    expect_part(out.output, "plan");
    expect_part(out.output, "set-up");
    expect_part(out.output, "median");
    expect_part(out.output, "GB/s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_describes_it),
        cmocka_unit_test(wrong_usage_exits_with_2),
        cmocka_unit_test(failures_are_one_sentence),
        cmocka_unit_test(refused_formulas_are_shown),
        cmocka_unit_test(formulas_name_arrays_and_numbers),
        cmocka_unit_test(arguments_stand_behind_two_dashes),
        cmocka_unit_test(numbers_are_what_c_reads),
        cmocka_unit_test(results_have_the_shape_of_all),
        cmocka_unit_test(results_have_the_type_of_all),
        cmocka_unit_test(whole_numbers_in_real_formulas_are_f32),
        cmocka_unit_test(reports_are_complete),
    };
    return cmocka_run_group_tests(tests, write_operands, NULL);
}
