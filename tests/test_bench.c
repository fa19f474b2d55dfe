// SPDX-License-Identifier: Apache-2.0
// weft bench: its JSON is complete and its figures agree with each other.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include <weft/dtype.h>

#include "implementation.h"
#include "json.h"
#include "npy.h"

// The exit status of the bench, and what it printed.
static int read_bench(char *text, size_t size, const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof(command), "'%s' bench %s", WEFT_PROGRAM, arguments);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    text[fread(text, 1, size - 1, output)] = '\0';
    return WEXITSTATUS(pclose(output));
}

static void expect_line(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static json_t *run_bench(const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof(command), "'%s' bench %s --json", WEFT_PROGRAM, arguments);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    json_error_t error;
    json_t *object = json_loadf(output, JSON_REJECT_DUPLICATES, &error);
    assert_int_equal(pclose(output), 0);
    if (!json_is_object(object))
        fail_msg("%s: %s", command, error.text);
    return object;
}

// No device that can run the tests is slower or faster than that.
static void check_limits(const json_t *object)
{
    const json_t *limits = json_object_get(object, "limits");
    static const char *const keys[] = {"copy_gbps", "read_gbps", "fma_gflops"};
    for (size_t i = 0; i < 3; i++)
        if (!(number(limits, keys[i]) > 0.01 && number(limits, keys[i]) < 1e6))
            fail_msg("%s is %g", keys[i], number(limits, keys[i]));
    assert_true(number(limits, "array_bytes") >= 1 << 20);
    assert_true(strlen(string(object, "device")) > 0);
    const json_t *caches = json_object_get(limits, "caches");
    for (size_t i = 0; i < json_array_size(caches); i++) {
        const json_t *level = json_array_get(caches, i);
        assert_true(strlen(string(level, "level")) > 0);
        assert_true(number(level, "bytes") >= 1 << 10);
        assert_true(number(level, "read_gbps") > 0.01 && number(level, "read_gbps") < 1e6);
        assert_true(number(level, "copy_gbps") > 0.01 && number(level, "copy_gbps") < 1e6);
    }
}

// Figures that are kept must say what they are of.
static void check_header(const json_t *object)
{
    static const char *const texts[] = {"weft", "platform", "driver", "system"};
    const json_t *header = json_object_get(object, "header");
    int year = 0, month = 0, day = 0, length = 0;
    assert_string_equal(string(header, "from"), "weft bench");
    sscanf(string(header, "date"), "%4d-%2d-%2d%n", &year, &month, &day, &length);
    assert_true(length == 10 && year > 2000 && month >= 1 && month <= 12 && day >= 1 && day <= 31);
    assert_true(number(header, "cores") >= 1);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_true(strlen(string(header, texts[i])) > 0);
}

// A limit measured in turns with the case is the one measured first, but for what else runs; and
// the median of shares is the share of medians, but for the same. On a busy machine either may be
// off by much more than it looks; a wrong unit is off by a thousand.
static void check_share(const json_t *it, const char *figure, const char *bound,
                        const json_t *limits)
{
    static const char *const keys[][2] = {
        {"copy", "copy_gbps"}, {"read", "read_gbps"}, {"FMA", "fma_gflops"}};
    double limit = NAN;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(bound, keys[i][0]) == 0)
            limit = number(limits, keys[i][1]);
    assert_string_equal(string(it, "bound"), bound);
    const double share = number(it, figure) / number(it, "limit");
    assert_true(number(it, "limit") > 0.01 * limit && number(it, "limit") < 100 * limit);
    assert_true(number(it, "share") > 0.01 * share && number(it, "share") < 100 * share);
}

static void check_case(const json_t *it, const json_t *limits)
{
    const double median = number(it, "median_ms");
    assert_string_equal(string(it, "op"), "spmm");
    assert_true(strlen(string(it, "case")) > 0 && strlen(string(it, "plan")) > 0);
    assert_true(weft_dtype_find(string(it, "dtype")) != WEFT_DEFAULT);
    assert_true(number(it, "m") >= 1 && number(it, "k") >= 1);
    assert_true(number(it, "setup_ms") >= 0);
    assert_true(0 < number(it, "min_ms") && number(it, "min_ms") <= median);
    assert_true(median <= number(it, "max_ms"));
    const double gflops = 2e-6 * number(it, "nnz") * number(it, "n") / median;
    assert_true(fabs(number(it, "gflops") - gflops) <= 1e-4 * gflops);
    check_share(it, "gflops", "FMA", limits);
}

// Minutes on the others, and nothing that differs.
static void skip_but_on_pocl(void)
{
    if (!is_on_pocl_or_by_hand())
        skip();
}

// Each run of the bench measures the limits first, for seconds: several sets share one, and where
// there are fewer cases some runs are left out that others resemble.
static bool is_reduced(void)
{
    return getenv("WEFT_TEST_REDUCED") != NULL;
}

static json_t *shared_run;

static int run_shared_sets(void **state)
{
    (void)state;
    if (is_on_pocl_or_by_hand())
        shared_run = run_bench("spgemm sddmm matmul reduce softmax norm elementwise --quick");
    return 0;
}

static int forget_shared_sets(void **state)
{
    (void)state;
    json_decref(shared_run);
    return 0;
}

// The cases of an operation, in the order in which they were measured.
static json_t *cases_of(const char *op)
{
    json_t *cases = json_array(), *it;
    size_t i;
    json_array_foreach(json_object_get(shared_run, "cases"), i, it)
    {
        if (strcmp(string(it, "op"), op) == 0)
            json_array_append(cases, it);
    }
    return cases;
}

// Each case is of one of them, and those of one stand together.
static void cases_go_by_operation(void **state)
{
    static const char *const ops[] = {"spgemm", "spgemm_dense", "sddmm", "sddmm_sparse", "matmul",
                                      "reduce", "softmax",      "norm",  "elementwise"};
    const int n_ops = sizeof(ops) / sizeof(ops[0]);
    (void)state;
    skip_but_on_pocl();
    const json_t *cases = json_object_get(shared_run, "cases");
    size_t n = 0;
    for (int k = 0; k < n_ops; k++)
        for (; strcmp(string(json_array_get(cases, n), "op"), ops[k]) == 0; n++)
            if (n + 1 == json_array_size(cases)) {
                assert_int_equal(k, n_ops - 1);
                return;
            }
    fail_msg("case %zu is of '%s'", n, string(json_array_get(cases, n), "op"));
}

// A matrix squared: both operands and the square are counted as bytes.
static void spgemm_cases_are_complete(void **state)
{
    (void)state;
    skip_but_on_pocl();
    json_t *both_steps = cases_of("spgemm"), *dense = cases_of("spgemm_dense");
    const json_t *limits = json_object_get(shared_run, "limits");
    const json_t *cases[] = {json_array_get(both_steps, 0), json_array_get(dense, 0)};
    const double operands = 2 * (167936 * 8 + 4096 * 4);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(string(cases[i], "case"),
                            i ? "spgemm_dense-rows-4096x41" : "spgemm-rows-4096x41");
        assert_int_equal(number(cases[i], "nnz"), 167936);
        assert_int_equal(number(cases[i], "m") * number(cases[i], "n"), 4096 * 4096);
        check_share(cases[i], "gbps", "copy", limits);
        const double bytes = 1e6 * number(cases[i], "gbps") * number(cases[i], "median_ms");
        const double square = (bytes - operands) / (4096 * 4096);
        assert_true(i ? fabs(square - 4) < 0.01 : square > 8 * 0.2 && square < 8 * 0.5);
    }
    json_decref(both_steps);
    json_decref(dense);
}

// Of B, 90% of whose 512 columns are zeros, each entry goes through about 51 elements.
static void sparse_factors_count_what_they_store(void **state)
{
    (void)state;
    skip_but_on_pocl();
    json_t *cases = cases_of("sddmm_sparse");
    const json_t *it = json_array_get(cases, 0);
    const double nnz = 2048 * 2048 / 10;
    assert_int_equal(json_array_size(cases), 1);
    assert_string_equal(string(it, "case"), "sddmm_sparse-pruned-2048x2048-s90-k512-b90");
    assert_true(strlen(string(it, "plan")) > 0 && number(it, "nnz") == nnz);
    assert_true(number(it, "m") == 2048 && number(it, "n") == 2048 && number(it, "k") == 512);
    const double n_terms = 1e6 * number(it, "gflops") * number(it, "median_ms") / 2;
    assert_true(fabs(n_terms / nnz - 51.2) < 0.5);
    check_share(it, "gflops", "FMA", json_object_get(shared_run, "limits"));
    json_decref(cases);
}

static void limits_alone(void **state)
{
    (void)state;
    skip_but_on_pocl();
    if (is_reduced())
        skip();
    json_t *object = run_bench("limits --quick");
    check_header(object);
    check_limits(object);
    const json_t *caches = json_object_get(json_object_get(object, "limits"), "caches");
    assert_in_range(json_array_size(caches), 1, 3);
    assert_int_equal(json_array_size(json_object_get(object, "cases")), 0);
    assert_null(json_object_get(object, "sweep"));
    json_decref(object);
}

// The pattern that --patterns kept of the matrix below: rows of 1, 0 and 1 entries.
static void check_pattern(const char *folder)
{
    static const int32_t wanted[2][4] = {{0, 1, 1, 2}, {0, 3}};
    static const char *const what[] = {"offsets", "indices"};
    for (int i = 0; i < 2; i++) {
        char path[1024];
        npy_array array;
        complaint why;
        snprintf(path, sizeof(path), "%s/0.9_tiny-n128.%s.npy", folder, what[i]);
        if (!npy_read(&array, path, WEFT_DEFAULT, &why))
            fail_msg("%s", why.text);
        assert_int_equal(array.dtype, WEFT_I32);
        assert_int_equal(array.count, i == 0 ? 4 : 2);
        assert_memory_equal(array.data, wanted[i], (size_t)array.count * sizeof(int32_t));
        npy_free(&array);
    }
}

static void write_matrix(const char *folder, const char *name, const char *lines)
{
    char path[2048];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n%s", lines);
    fclose(file);
}

// The last three: forward, by the input, by the weights; 2048 outputs and inputs, 128 samples.
static void check_layers(const json_t *cases, size_t first, const json_t *limits)
{
    static const struct {
        const char *op, *end;
        int n, k;
    } known[] = {{"sparse_linear", "-n128", 128, 2048},
                 {"sparse_linear_dx", "-dx", 128, 2048},
                 {"sparse_linear_dw", "-dw", 2048, 128}};
    for (size_t i = 0; i < 3; i++) {
        const json_t *it = json_array_get(cases, first + i);
        const char *name = string(it, "case"), *end = strstr(name, known[i].end);
        assert_string_equal(string(it, "op"), known[i].op);
        assert_true(strncmp(name, "layer-2048x2048-s90-n128", 24) == 0 && end != NULL);
        assert_true(strlen(string(it, "plan")) > 0 && end[strlen(known[i].end)] == '\0');
        assert_true(number(it, "m") == 2048 && number(it, "n") == known[i].n);
        assert_true(number(it, "k") == known[i].k && number(it, "nnz") == 2048 * 2048 / 10);
        const double gflops = 2e-6 * number(it, "nnz") * 128 / number(it, "median_ms");
        assert_true(fabs(number(it, "gflops") - gflops) <= 1e-4 * gflops);
        check_share(it, "gflops", "FMA", limits);
    }
}

// Each case is there with a plan and without; those of files come last.
static void cases_come_in_pairs(void **state)
{
    (void)state;
    skip_but_on_pocl();
    char arguments[2048];
    const char *folder = getenv("WEFT_TEST_DIR");
    char below[1024];
    assert_non_null(folder);
    snprintf(below, sizeof(below), "%s/0.9", folder);
    assert_int_equal(mkdir(below, 0700), 0);
    write_matrix(below, "tiny.mtx", "3 4 2\n1 1 5\n3 4 6\n");
    snprintf(arguments, sizeof(arguments), "spmm --quick --data '%s' --patterns '%s'", folder,
             folder);
    json_t *object = run_bench(arguments);
    check_limits(object);
    const json_t *cases = json_object_get(object, "cases");
    const json_t *limits = json_object_get(object, "limits");
    size_t n_cases = json_array_size(cases);
    assert_true(n_cases >= 3);
    check_layers(cases, n_cases -= 3, limits);
    assert_true(n_cases >= 6 && n_cases % 2 == 0);
    for (size_t i = 0; i < n_cases; i++) {
        const json_t *it = json_array_get(cases, i);
        check_case(it, limits);
        assert_int_equal(json_is_true(json_object_get(it, "planned")), i % 2 == 0);
        assert_int_equal(json_is_true(json_object_get(it, "is_file")), i >= n_cases - 2);
        if (i % 2 == 1)
            assert_string_equal(string(it, "case"), string(json_array_get(cases, i - 1), "case"));
    }
    const json_t *last = json_array_get(cases, n_cases - 1);
    assert_string_equal(string(last, "case"), "0.9_tiny-n128");
    assert_true(number(last, "m") == 3 && number(last, "k") == 4 && number(last, "nnz") == 2);
    check_pattern(folder);
    json_decref(object);
}

// Shares of reading for reductions, of copying for what writes as much; small cases have neither,
// but a multiple of an empty launch.
// The share of a cache's rate, which was measured beforehand, or of the memory's.
static void check_share_in_cache(const json_t *it, const char *rate, const json_t *limits)
{
    const json_t *caches = json_object_get(limits, "caches");
    const char *bound = string(it, "bound");
    for (size_t i = 0; i < json_array_size(caches); i++) {
        const json_t *level = json_array_get(caches, i);
        const size_t length = strlen(string(level, "level"));
        char figure[16];
        if (strncmp(bound, string(level, "level"), length) != 0)
            continue;
        assert_string_equal(bound + length + 1, rate);
        snprintf(figure, sizeof(figure), "%s_gbps", rate);
        const double limit = number(level, figure); // of fewer digits
        assert_true(fabs(number(it, "limit") - limit) < 0.001 * limit);
        const double share = number(it, "gbps") / number(it, "limit");
        assert_true(fabs(number(it, "share") - share) < 0.01 * share);
        return;
    }
    assert_int_equal(json_array_size(caches), 0);
    check_share(it, "gbps", rate, limits);
}

static bool is_in_cache(const json_t *it)
{
    const char *ending = strrchr(string(it, "case"), '-');
    return ending && strcmp(ending, "-in_cache") == 0;
}

static void check_axis_case(const json_t *it, const json_t *limits)
{
    const double median = number(it, "median_ms");
    const char *op = string(it, "op");
    assert_true(strlen(string(it, "case")) > 0 && strlen(string(it, "plan")) > 0);
    assert_true(weft_dtype_find(string(it, "dtype")) == WEFT_F32);
    assert_true(json_array_size(json_object_get(it, "shape")) >= 2);
    assert_true(number(it, "setup_ms") > 0);
    assert_true(0 < number(it, "min_ms") && number(it, "min_ms") <= median);
    assert_true(median <= number(it, "max_ms"));
    if (json_object_get(it, "launches") != NULL) {
        assert_null(json_object_get(it, "share"));
        assert_true(number(it, "launches") > 0.1 && number(it, "launches") < 1e4);
        return;
    }
    const char *rate = strcmp(op, "reduce") == 0 ? "read" : "copy";
    if (is_in_cache(it))
        check_share_in_cache(it, rate, limits);
    else
        check_share(it, "gbps", rate, limits);
    double bytes = strcmp(op, "reduce") == 0 ? 4 : 8;
    for (size_t d = 0; d < json_array_size(json_object_get(it, "shape")); d++)
        bytes *= json_number_value(json_array_get(json_object_get(it, "shape"), d));
    const double gbps = 1e-6 * bytes / median; // and what a reduction writes
    assert_true(number(it, "gbps") >= 0.999 * gbps && number(it, "gbps") < 1.6 * gbps);
}

static void cases_along_axes_are_complete(void **state)
{
    static const char *const ops[] = {"reduce", "softmax", "norm"};
    (void)state;
    skip_but_on_pocl();
    check_header(shared_run);
    check_limits(shared_run);
    for (int k = 0; k < 3; k++) {
        json_t *cases = cases_of(ops[k]);
        size_t n[2] = {0, 0}; // of large ones and of small ones
        size_t n_in_cache = 0;
        for (size_t i = 0; i < json_array_size(cases); i++) {
            const json_t *it = json_array_get(cases, i);
            check_axis_case(it, json_object_get(shared_run, "limits"));
            n[json_object_get(it, "launches") != NULL]++;
            n_in_cache += is_in_cache(it);
        }
        assert_true(n_in_cache == (k == 0));
        assert_true(n[0] >= 1 && n[1] >= 1);
        json_decref(cases);
    }
}

// Bytes that a case must move: of the arrays of the result's shape, and the row of add_row.
static double elementwise_bytes(const json_t *it)
{
    static const struct {
        const char *title;
        double element, column;
    } titles[] = {
        {"add-", 12, 0}, {"add_row-", 8, 4}, {"cast_f32_f16-", 6, 0}, {"transpose-", 8, 0}};
    const json_t *shape = json_object_get(it, "shape");
    assert_int_equal(json_array_size(shape), 2);
    const double rows = json_number_value(json_array_get(shape, 0));
    const double columns = json_number_value(json_array_get(shape, 1));
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (strncmp(string(it, "case"), titles[i].title, strlen(titles[i].title)) == 0)
            return titles[i].element * rows * columns + titles[i].column * columns;
    fail_msg("there is a case '%s'", string(it, "case"));
    return 0;
}

static void check_elementwise_case(const json_t *it, const json_t *limits)
{
    const double median = number(it, "median_ms");
    assert_string_equal(string(it, "op"), "elementwise");
    assert_true(strlen(string(it, "plan")) > 0);
    assert_string_equal(string(it, "dtype"), strstr(string(it, "case"), "_f16") ? "f16" : "f32");
    assert_true(number(it, "setup_ms") > 0);
    assert_true(0 < number(it, "min_ms") && number(it, "min_ms") <= median);
    assert_true(median <= number(it, "max_ms"));
    const double gbps = 1e-6 * elementwise_bytes(it) / median;
    assert_true(fabs(number(it, "gbps") - gbps) <= 1e-4 * gbps);
    if (strstr(string(it, "case"), "-64x64") == NULL) {
        assert_null(json_object_get(it, "launches"));
        check_share(it, "gbps", "copy", limits);
        return;
    }
    assert_null(json_object_get(it, "share"));
    assert_true(number(it, "launches") > 0.1 && number(it, "launches") < 1e4);
}

static void elementwise_cases_are_complete(void **state)
{
    (void)state;
    skip_but_on_pocl();
    json_t *cases = cases_of("elementwise");
    const size_t n_cases = json_array_size(cases);
    assert_true(n_cases >= 6);
    for (size_t i = 0; i < n_cases; i++)
        check_elementwise_case(json_array_get(cases, i), json_object_get(shared_run, "limits"));
    // The small one without a plan, and with one, which is prepared beforehand.
    assert_string_equal(string(json_array_get(cases, n_cases - 2), "case"), "add-64x64");
    assert_string_equal(string(json_array_get(cases, n_cases - 1), "case"), "add-64x64-planned");
    json_decref(cases);
}

// Operations of a product; or where bytes count, those of the larger factor or of all operands.
static void check_matmul_case(const json_t *it, const json_t *limits)
{
    static const struct {
        const char *title, *figure, *bound;
        double batch, k;
    } titles[] = {
        {"square-512x512x512", "gflops", "FMA", 1, 512},
        {"batch-512-64x64x64", "gflops", "FMA", 512, 64},
        {"matvec-8192x1x8192", "gbps", "read", 1, 8192},
        {"short_k-4096x4096x4", "gbps", "copy", 1, 4},
    };
    const double m = number(it, "m"), n = number(it, "n"), k = number(it, "k");
    const double median = number(it, "median_ms"), batch = number(it, "batch");
    const double works[] = {2 * batch * m * n * k, 2 * batch * m * n * k, 4 * m * k,
                            4 * (m * n + m * k + k * n)};
    size_t i = 0;
    while (i < 4 && strcmp(string(it, "case"), titles[i].title) != 0)
        i++;
    if (i == 4)
        fail_msg("there is a case '%s'", string(it, "case"));
    assert_string_equal(string(it, "op"), "matmul");
    assert_string_equal(string(it, "dtype"), "f32");
    assert_true(strlen(string(it, "plan")) > 0 && number(it, "setup_ms") > 0);
    assert_true(batch == titles[i].batch && k == titles[i].k);
    assert_true(0 < number(it, "min_ms") && number(it, "min_ms") <= median);
    assert_true(median <= number(it, "max_ms"));
    const double speed = 1e-6 * works[i] / median;
    assert_true(fabs(number(it, titles[i].figure) - speed) <= 1e-4 * speed);
    check_share(it, titles[i].figure, titles[i].bound, limits);
}

// Random shapes take no programs of their own: a few ways to cut serve them all.
static void check_sweep(const json_t *sweep)
{
    const json_t *slowest = json_object_get(sweep, "slowest");
    assert_string_equal(string(sweep, "op"), "matmul");
    assert_true(number(sweep, "shapes") == 40);
    assert_true(number(sweep, "programs") >= 1 && number(sweep, "programs") <= 6);
    assert_true(0 < number(sweep, "worst") && number(sweep, "worst") <= number(sweep, "median"));
    assert_true(number(sweep, "median") <= number(sweep, "best"));
    assert_int_equal(json_array_size(slowest), 5);
    assert_true(number(json_array_get(slowest, 0), "share") == number(sweep, "worst"));
    for (size_t i = 0; i < 5; i++) {
        static const char *const extents[] = {"m", "n", "k"};
        const json_t *it = json_array_get(slowest, i);
        assert_true(i == 0 ||
                    number(json_array_get(slowest, i - 1), "share") <= number(it, "share"));
        for (int d = 0; d < 3; d++)
            assert_true(number(it, extents[d]) >= 16 && number(it, extents[d]) <= 2048);
    }
}

static void matmul_cases_are_complete(void **state)
{
    (void)state;
    skip_but_on_pocl();
    json_t *cases = cases_of("matmul");
    assert_int_equal(json_array_size(cases), 4);
    for (size_t i = 0; i < 4; i++)
        check_matmul_case(json_array_get(cases, i), json_object_get(shared_run, "limits"));
    check_sweep(json_object_get(shared_run, "sweep"));
    json_decref(cases);
}

// --only keeps the cases with the text in their names, and the rest of their sets of SpMM.
static void cases_are_chosen(void **state)
{
    static const char *const wanted[] = {"batch-512-64x64x64", "add-64x64", "add-64x64-planned"};
    (void)state;
    skip_but_on_pocl();
    json_t *object = run_bench("matmul elementwise --quick --only x64");
    const json_t *cases = json_object_get(object, "cases");
    assert_int_equal(json_array_size(cases), 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(string(json_array_get(cases, i), "case"), wanted[i]);
    assert_null(json_object_get(object, "sweep"));
    json_decref(object);
    if (is_reduced())
        return;

    object = run_bench("spmm matmul elementwise --quick --only v2");
    cases = json_object_get(object, "cases");
    assert_int_equal(json_array_size(cases), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(string(json_array_get(cases, i), "case"),
                            i < 2 ? "pruned-2048x2048-s90-n128-v0.1"
                                  : "pruned-2048x2048-s90-n128-v2");
    assert_null(json_object_get(object, "sweep"));
    json_decref(object);

    object = run_bench("matmul --quick --only random");
    assert_int_equal(json_array_size(json_object_get(object, "cases")), 0);
    check_sweep(json_object_get(object, "sweep"));
    json_decref(object);
}

static void no_case_is_an_error(void **state)
{
    (void)state;
    skip_but_on_pocl();
    static const char *const sets[] = {"all",    "spmm",        "attention",
                                       "matmul", "elementwise", "limits"};
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        char arguments[64], text[1024];
        snprintf(arguments, sizeof(arguments), "%s --quick --only v3 2>&1", sets[i]);
        assert_int_equal(read_bench(text, sizeof(text), arguments), 1);
        expect_line(text, "none of the cases has 'v3' in its name");
    }
}

// The rest is measured, and what cannot be read is listed.
static void a_damaged_file_is_a_failure(void **state)
{
    (void)state;
    skip_but_on_pocl();
    static char text[16384];
    char arguments[2048], path[1024];
    json_error_t error;
    snprintf(path, sizeof(path), "%s/files", getenv("WEFT_TEST_DIR"));
    assert_int_equal(mkdir(path, 0700), 0);
    write_matrix(path, "file-sound.mtx", "3 4 2\n1 1 5\n3 4 6\n");
    write_matrix(path, "file-cut.mtx", "3 4 2\n1 1 5\n");
    snprintf(arguments, sizeof(arguments), "spmm --quick --only file- --data '%s' --json", path);
    assert_int_equal(read_bench(text, sizeof(text), arguments), 1);
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object))
        fail_msg("%s: %s", text, error.text);
    const json_t *cases = json_object_get(object, "cases");
    const json_t *left_out = json_object_get(object, "left_out");
    assert_int_equal(json_array_size(cases), 2);
    assert_string_equal(string(json_array_get(cases, 0), "case"), "file-sound-n128");
    assert_int_equal(json_array_size(left_out), 1);
    expect_line(string(json_array_get(left_out, 0), "file"), "/file-cut.mtx");
    expect_line(string(json_array_get(left_out, 0), "why"), "file-cut.mtx:2: ");
    json_decref(object);
}

// For people: the device, its limits, a table, and what it comes to.
static void the_table_is_for_people(void **state)
{
    static const char *const lines[] = {
        "\n\ncopy  ",
        " GB/s     (",
        ", arrays of ",
        "\nread  ",
        "\nfma   ",
        " copied  (a cache of ",
        " GFLOP/s  (",
        "\n\n| case ",
        "| set-up ms | median ms | range            |    G/s | share             |\n|--",
        "|\n| softmax-rows-",
        " of copy      |\n",
        "\nshare of copying, f32 sparse softmax: at least ",
    };
    (void)state;
    skip_but_on_pocl();
    static char text[16384];
    assert_int_equal(read_bench(text, sizeof(text), "attention --quick --only softmax"), 0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        expect_line(text, lines[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_go_by_operation),
        cmocka_unit_test(spgemm_cases_are_complete),
        cmocka_unit_test(sparse_factors_count_what_they_store),
        cmocka_unit_test(limits_alone),
        cmocka_unit_test(cases_come_in_pairs),
        cmocka_unit_test(cases_along_axes_are_complete),
        cmocka_unit_test(elementwise_cases_are_complete),
        cmocka_unit_test(matmul_cases_are_complete),
        cmocka_unit_test(cases_are_chosen),
        cmocka_unit_test(no_case_is_an_error),
        cmocka_unit_test(a_damaged_file_is_a_failure),
        cmocka_unit_test(the_table_is_for_people),
    };
    return cmocka_run_group_tests(tests, run_shared_sets, forget_shared_sets);
}
