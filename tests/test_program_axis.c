// SPDX-License-Identifier: Apache-2.0
// The commands reduce, softmax and norm from end to end: results, reports, exit status, and what
// they say to files and options that do not fit.
#include "npy.h"
#include "scalar.h"

#include "program_run.h"

// ---- operands
//
//   X    1 -2  3     cube  the same with shape (1, 2, 3)      whole   1 -2  3  as i32
//        4  0 -5                                                      4  0 -5

static const float X[] = {1, -2, 3, 4, 0, -5};

static int write_operands(void **state)
{
    static const int32_t whole[] = {1, -2, 3, 4, 0, -5};
    static const int64_t large[] = {INT64_C(1) << 60, 5, -7};
    static const uint8_t bytes[] = {200, 100, 0};
    static const float masked[] = {-INFINITY, -INFINITY, -INFINITY, 0, -INFINITY, 0};
    static const float weight[] = {1, 2, 3}, bias[] = {0, 1, -1};
    static const int64_t shape[] = {2, 3}, cube[] = {1, 2, 3}, nothing[] = {2, 0};
    static const int64_t wide[] = {0, INT64_C(1) << 61}, tall[] = {INT64_C(1) << 61, 0};
    complaint why;
    (void)state;
    // What the program leaks the tests of its other commands tell: looking for it at each of a
    // hundred ends takes long, and now and then ends the process itself.
    char options[512];
    const char *given = getenv("ASAN_OPTIONS");
    snprintf(options, sizeof(options), "%s:detect_leaks=0", given ? given : "");
    setenv("ASAN_OPTIONS", options, 1);
    put_text("damaged.npy", "this is no array");
    return !npy_write(path_of("X.npy"), WEFT_F32, 2, shape, X, &why) ||
           !npy_write(path_of("cube.npy"), WEFT_F32, 3, cube, X, &why) ||
           !npy_write(path_of("scalar.npy"), WEFT_F32, 0, shape, X, &why) ||
           !npy_write(path_of("nothing.npy"), WEFT_F32, 2, nothing, X, &why) ||
           !npy_write(path_of("wide.npy"), WEFT_F32, 2, wide, X, &why) ||
           !npy_write(path_of("tall.npy"), WEFT_F32, 2, tall, X, &why) ||
           !npy_write(path_of("whole.npy"), WEFT_I32, 2, shape, whole, &why) ||
           !npy_write(path_of("large.npy"), WEFT_I64, 1, shape + 1, large, &why) ||
           !npy_write(path_of("bytes.npy"), WEFT_U8, 1, shape + 1, bytes, &why) ||
           !npy_write(path_of("masked.npy"), WEFT_F32, 2, shape, masked, &why) ||
           !npy_write(path_of("weight.npy"), WEFT_F32, 1, shape + 1, weight, &why) ||
           !npy_write(path_of("bias.npy"), WEFT_F32, 1, shape + 1, bias, &why);
}

static void expect_array(const char *line, weft_dtype dtype, int ndim, const int64_t *shape,
                         const double *want, double tolerance)
{
    npy_array Y;
    complaint why;
    if (!npy_read(&Y, path_of("Y.npy"), dtype == WEFT_BF16 ? WEFT_BF16 : WEFT_DEFAULT, &why))
        fail_msg("%s", why.text);
    if (Y.dtype != dtype || Y.ndim != ndim)
        fail_msg("weft %s: %s of %d dimensions", line, weft_dtype_name(Y.dtype), Y.ndim);
    for (int d = 0; d < ndim; d++)
        assert_int_equal(Y.shape[d], shape[d]);
    for (int64_t i = 0; i < Y.count; i++) {
        const double got = scalar_get(dtype, Y.data, i);
        if (!(got == want[i] || fabs(got - want[i]) <= tolerance || (isnan(got) && isnan(want[i]))))
            fail_msg("weft %s: element %d is %g, not %g", line, (int)i, got, want[i]);
    }
    npy_free(&Y);
}

// Runs `line -o Y.npy`, checked, and looks at the array.
static void expect_result(const char *line, weft_dtype dtype, int ndim, const int64_t *shape,
                          const double *want, double tolerance)
{
    char full[256];
    if (is_passed_over())
        return;
    snprintf(full, sizeof(full), "%s -o Y.npy --runs 1 --check --json", line);
    json_decref(run_json(full));
    expect_array(line, dtype, ndim, shape, want, tolerance);
}

// ---- usage

static void help_describes_each(void **state)
{
    static const char *const commands[] = {"reduce", "softmax", "norm"};
    static outcome out, all;
    (void)state;
    run(&all, "--help");
    for (size_t i = 0; i < 3; i++) {
        char line[64];
        expect_part(all.output, commands[i]);
        snprintf(line, sizeof(line), "%s --help", commands[i]);
        run(&out, line);
        expect_status(&out, line, 0);
        expect_part(out.output, "IN.npy");
        expect_part(out.output, "--device=TEXT");
        expect_part(out.output, "--json");
        assert_string_equal(out.errors, "");
    }
}

static void wrong_usage_exits_with_2(void **state)
{
    static const struct {
        const char *line, *errors;
    } cases[] = {
        {"reduce --op sum", "name an array"},
        {"reduce X.npy", "--op is needed"},
        {"reduce X.npy --op sine", "--op: 'sine' is not a reduction"},
        {"reduce X.npy cube.npy --op sum", "one file too many: cube.npy"},
        {"reduce X.npy --op sum --axis 0,x",
         "--axis: 'x' is not an integer; give axes separated by commas, such as 0,2, or all\n"},
        {"softmax --shape 2x3",
         "--shape: '2x3' is not an integer; give extents separated by commas, such as 64,1000\n"},
        {"softmax --shape 2,00000000000000000000000000000000003",
         "--shape: '00000000000000000000000000000000003' is not an integer"},
        {"reduce X.npy --op sum --axis 0,", "--axis: '' is not an integer"},
        {"reduce --shape 4,5 --op sum --axis 1,1", "--axis: 1 is named twice"},
        {"reduce X.npy --op sum --axis 8", "--axis: 8 is outside -8 to 7"},
        {"reduce X.npy --op sum --axis 0,1,2,3,4,5,6,7,0", "has more than 8 numbers"},
        {"reduce X.npy --op var --correction -1", "--correction: -1 is outside"},
        {"reduce X.npy --op sum --shape 2,3", "--shape is for random numbers"},
        {"reduce --op sum --shape 2,-3", "--shape: -3 is outside"},
        {"reduce X.npy --op sum --dtype i32", "--dtype: 'i32' is none of"},
        {"reduce X.npy --op sum --runs 0", "--runs: 0 is outside"},
        {"softmax", "name an array"},
        {"softmax X.npy --axis 0,1", "--axis: '0,1' is not an integer"},
        {"softmax X.npy --scale inf", "--scale: inf is not finite"},
        {"norm X.npy --axes 0", "--axes: 0 is outside 1 to 8"},
        {"norm X.npy --epsilon -1", "--epsilon: -1 is below 0"},
        {"bench reduce dance", "'dance' is none of limits, spmm, spgemm, sddmm, attention, matmul, "
                               "reduce, softmax, norm, elementwise and all"},
        {"bench reduce --data .", "--data needs the set spmm"},
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
        {"reduce absent.npy --op sum", "absent.npy: No such file or directory"},
        {"reduce damaged.npy --op sum", "damaged.npy: not a .npy file"},
        {"reduce X.npy --op sum --axis 2", "X.npy: has the shape (2, 3), which has no axis 2"},
        {"reduce X.npy --op sum --axis -3", "X.npy: has the shape (2, 3), which has no axis -3"},
        {"reduce X.npy --op sum --axis 1,-1", "X.npy: axis -1 is named twice"},
        {"reduce scalar.npy --op sum --axis 0",
         "scalar.npy: has the shape (), which has no axis 0"},
        {"reduce nothing.npy --op max --axis 1", "nothing.npy: "},
        {"reduce X.npy --op sum -o absent/Y.npy", "absent/Y.npy: No such file or directory"},
        {"reduce --shape 2000000000,2000000000,2000000000 --op sum",
         "the random array, f32 of shape (2000000000, 2000000000, 2000000000), is larger than"},
        {"softmax X.npy --axis 2", "X.npy: has the shape (2, 3), which has no axis 2"},
        {"softmax scalar.npy", "scalar.npy: has the shape (), which has no axis -1"},
        {"softmax whole.npy", "whole.npy: holds i32, but softmax needs floating-point numbers"},
        {"norm whole.npy", "whole.npy: holds i32, but norm needs floating-point numbers"},
        {"norm X.npy --axes 3", "X.npy: has the shape (2, 3), not 3 axes to normalise along"},
        {"norm X.npy --axes 2 --weight weight.npy",
         "weight.npy: has the shape (3,), but the normalised axes of X.npy have the shape (2, 3)"},
        {"norm X.npy --bias X.npy",
         "X.npy: has the shape (2, 3), but the normalised axes of X.npy have the shape (3,)"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_refusal(cases[i].line, 1, cases[i].errors);
}

// ---- reduce
//
// Each op in each type is a program that has to be compiled: a few stand for all.

static void reduce_takes_axes(void **state)
{
    static const int64_t rows[] = {2}, columns[] = {3}, kept[] = {2, 1}, ones[] = {1, 1, 1};
    static const double of_rows[] = {2, -1}, of_columns[] = {5, -2, -2}, all[] = {1};
    (void)state;
    expect_result("reduce X.npy --op sum --axis 1", WEFT_F32, 1, rows, of_rows, 0);
    expect_result("reduce X.npy --op sum --axis -1 --keepdims", WEFT_F32, 2, kept, of_rows, 0);
    expect_result("reduce X.npy --op sum --axis=0", WEFT_F32, 1, columns, of_columns, 0);
    expect_result("reduce cube.npy --op sum --axis 0,2", WEFT_F32, 1, rows, of_rows, 0);
    expect_result("reduce X.npy --op sum", WEFT_F32, 0, NULL, all, 0);
    expect_result("reduce cube.npy --op sum --axis all --keepdims", WEFT_F32, 3, ones, all, 0);
    expect_result("reduce scalar.npy --op sum", WEFT_F32, 0, NULL, all, 0);
}

static void reduce_knows_its_ops(void **state)
{
    static const struct {
        const char *op;
        weft_dtype dtype;
        double of_rows[2];
    } cases[] = {
        {"prod", WEFT_F32, {-6, 0}},
        {"mean", WEFT_F32, {2 / 3.0, -1 / 3.0}},
        {"min", WEFT_F32, {-2, -5}},
        {"argmax", WEFT_I64, {2, 0}},
        {"all", WEFT_U8, {1, 0}},
        {"norm2", WEFT_F32, {3.7416574, 6.4031242}},
        {"var --correction 1", WEFT_F32, {19 / 3.0, 61 / 3.0}},
        {"std", WEFT_F32, {2.0548047, 3.6817870}},
        {"logsumexp", WEFT_F32, {3.1328453, 4.0182715}},
    };
    static const int64_t rows[] = {2};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[64];
        if (!has_turn((int)i))
            continue;
        snprintf(line, sizeof(line), "reduce X.npy --axis 1 --op %s", cases[i].op);
        expect_result(line, cases[i].dtype, 1, rows, cases[i].of_rows, 2e-6);
    }
}

static void reduce_takes_every_type(void **state)
{
    static const int64_t rows[] = {2};
    static const double of_rows[] = {2, -1}, sum_of_large[] = {0x1p60 - 2};
    static const struct {
        const char *name;
        weft_dtype dtype;
    } types[] = {{"f32", WEFT_F32}, {"f16", WEFT_F16}, {"bf16", WEFT_BF16}, {"f64", WEFT_F64}};
    const bool has_f64 = device_has_f64();
    (void)state;
    for (int t = 1; t < (has_f64 ? 4 : 3); t++) {
        char line[64];
        snprintf(line, sizeof(line), "reduce X.npy --op sum --axis 1 --dtype %s", types[t].name);
        expect_result(line, types[t].dtype, 1, rows, of_rows, 0);
    }
    expect_result("reduce whole.npy --op sum --axis 1", WEFT_I64, 1, rows, of_rows, 0);
    expect_result("reduce whole.npy --op norm2", has_f64 ? WEFT_F64 : WEFT_F32, 0, NULL,
                  (double[]){7.4161985}, 2e-6);
    expect_result("reduce large.npy --op sum", WEFT_I64, 0, NULL, sum_of_large, 0);
    expect_result("reduce large.npy --op argmin", WEFT_I64, 0, NULL, (double[]){2}, 0);
    expect_result("reduce bytes.npy --op max", WEFT_U8, 0, NULL, (double[]){200}, 0);
}

static void reduce_of_nothing_has_its_identity(void **state)
{
    static const int64_t rows[] = {2}, none[] = {0};
    (void)state;
    expect_result("reduce nothing.npy --op sum --axis 1", WEFT_F32, 1, rows, (double[]){0, 0}, 0);
    expect_result("reduce nothing.npy --op mean --axis 1", WEFT_F32, 1, rows, (double[]){NAN, NAN},
                  0);
    expect_result("reduce nothing.npy --op max --axis 0", WEFT_F32, 1, none, NULL, 0);
}

static void results_without_elements_are_right(void **state)
{
    static const char *const lines[] = {
        "softmax wide.npy",
        "softmax tall.npy",
        "norm wide.npy",
        "norm tall.npy --axes 2",
        "reduce wide.npy --op sum --axis 1",
        "reduce tall.npy --op max --axis 0",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "%s --runs 1 --check --json", lines[i]);
        json_t *report = run_json(line);
        assert_true(number(report, "error") == 0);
        json_decref(report);
    }
    expect_refusal("reduce wide.npy --op sum --axis 0 --check", 1,
                   "the result, f32 of shape (2305843009213693952,), is larger than the device's");
}

static void reports_are_complete(void **state)
{
    static outcome out;
    (void)state;
    json_t *report = run_json("reduce cube.npy --op mean --axis 2 --runs 3 --check --json");
    assert_string_equal(string(report, "op"), "reduce");
    assert_string_equal(string(report, "dtype"), "f32");
    assert_true(strlen(string(report, "device")) > 0 && strlen(string(report, "plan")) > 0);
    const json_t *shape = json_object_get(report, "shape");
    assert_int_equal(json_array_size(shape), 3);
    assert_int_equal(json_integer_value(json_array_get(shape, 2)), 3);
    assert_true(number(report, "setup_ms") > 0 && number(report, "min_ms") > 0);
    assert_true(number(report, "min_ms") <= number(report, "median_ms"));
    assert_true(number(report, "median_ms") <= number(report, "max_ms"));
    const double gbps = 1e-6 * (6 + 2) * 4 / number(report, "median_ms");
    assert_true(fabs(number(report, "gbps") / gbps - 1) < 1e-4);
    assert_true(number(report, "error") <= 1);
    json_decref(report);
    run(&out, "softmax X.npy --runs 2 --check");
    expect_status(&out, "softmax", 0);
    expect_part(out.output, "sizes    (2, 3)\n");
    expect_part(out.output, "plan");
    expect_part(out.output, "set-up");
    expect_part(out.output, "median");
    expect_part(out.output, "GB/s");
    expect_part(out.output, "of its bound");
}

static void random_arrays_follow_the_seed(void **state)
{
    static outcome out;
    char first[1024], second[1024], third[1024];
    (void)state;
    run(&out, "softmax --shape 4,5 --seed 7 -o 1.npy --runs 1 --check");
    expect_status(&out, "softmax", 0);
    run(&out, "softmax --shape 4,5 --seed 7 -o 2.npy --runs 2 --json");
    run(&out, "softmax --shape 4,5 --seed 8 -o 3.npy --runs 1");
    slurp("1.npy", first, sizeof(first));
    slurp("2.npy", second, sizeof(second));
    slurp("3.npy", third, sizeof(third));
    assert_memory_equal(first, second, 128 + 20 * sizeof(float));
    assert_memory_not_equal(first, third, 128 + 20 * sizeof(float));
}

// ---- softmax and norm

static void softmax_takes_axis_scale_and_log(void **state)
{
    static const int64_t shape[] = {2, 3};
    double want[6], logs[6];
    (void)state;
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 2; r++) {
            want[3 * r + c] = 1 / (1 + exp(0.5 * (X[3 * (1 - r) + c] - X[3 * r + c])));
            logs[3 * r + c] = log(want[3 * r + c]);
        }
    expect_result("softmax X.npy --axis 0 --scale 0.5", WEFT_F32, 2, shape, want, 1e-6);
    expect_result("softmax X.npy --axis -2 --scale 0.5 --log", WEFT_F32, 2, shape, logs, 1e-5);
    expect_result("softmax X.npy --axis 0 --scale 0.5 --dtype bf16", WEFT_BF16, 2, shape, want,
                  4e-3);
}

static void softmax_masks_where_asked(void **state)
{
    static const int64_t shape[] = {2, 3};
    static const double plain[] = {NAN, NAN, NAN, 0.5, 0, 0.5};
    static const double zeros[] = {0, 0, 0, 0.5, 0, 0.5};
    (void)state;
    expect_result("softmax masked.npy", WEFT_F32, 2, shape, plain, 1e-6);
    expect_result("softmax masked.npy --masked", WEFT_F32, 2, shape, zeros, 1e-6);
}

static void norm_takes_weight_and_bias(void **state)
{
    static const double means[] = {2 / 3.0, -1 / 3.0}, squares[] = {14 / 3.0, 41 / 3.0};
    static const int64_t shape[] = {2, 3};
    double want[6], rms[6], both[6];
    (void)state;
    for (int i = 0; i < 6; i++) {
        const double scale = 1 / sqrt(squares[i / 3] - means[i / 3] * means[i / 3] + 0.5);
        want[i] = (X[i] - means[i / 3]) * scale * (1 + i % 3) + (i % 3 == 0 ? 0 : 3 - 2 * (i % 3));
        rms[i] = X[i] / sqrt(squares[i / 3] + 1e-5);
        both[i] = (X[i] - 1 / 6.0) / sqrt(55 / 6.0 - 1 / 36.0 + 1e-5);
    }
    expect_result("norm X.npy --epsilon 0.5 --weight weight.npy --bias bias.npy", WEFT_F32, 2,
                  shape, want, 1e-5);
    expect_result("norm X.npy --rms", WEFT_F32, 2, shape, rms, 1e-5);
    expect_result("norm X.npy --axes 2", WEFT_F32, 2, shape, both, 1e-5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_describes_each),
        cmocka_unit_test(wrong_usage_exits_with_2),
        cmocka_unit_test(failures_are_one_sentence),
        cmocka_unit_test(reduce_takes_axes),
        cmocka_unit_test(reduce_knows_its_ops),
        cmocka_unit_test(reduce_takes_every_type),
        cmocka_unit_test(reduce_of_nothing_has_its_identity),
        cmocka_unit_test(results_without_elements_are_right),
        cmocka_unit_test(reports_are_complete),
        cmocka_unit_test(random_arrays_follow_the_seed),
        cmocka_unit_test(softmax_takes_axis_scale_and_log),
        cmocka_unit_test(softmax_masks_where_asked),
        cmocka_unit_test(norm_takes_weight_and_bias),
    };
    return cmocka_run_group_tests(tests, write_operands, NULL);
}
