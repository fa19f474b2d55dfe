// SPDX-License-Identifier: Apache-2.0
// The command weft self-test on devices that are wrong, which the layer wrong.c makes of the one at
// hand: each result of each check is one that may be found wrong, and what fails is told.
#include "program_run.h"

// All of them, or where there are fewer cases those that take little time to compile.
static const char *ops(void)
{
    return getenv("WEFT_TEST_REDUCED") || getenv("WEFT_TEST_SHORT")
               ? " sparse_gather csr_transpose csr_to_dense dense_to_csr dcsr_from_csr dcsr_to_csr "
                 "spgemm_dense sddmm_sparse"
               : "";
}

// With the layer told so; kernel NULL for all of them.
static void run_wrong(outcome *out, const char *way, const char *kernel, const char *line)
{
    setenv("WEFT_LAYER_WRONG", way, 1);
    if (kernel != NULL)
        setenv("WEFT_LAYER_KERNEL", kernel, 1);
    run_to(out, path_of("output"), line);
    unsetenv("WEFT_LAYER_WRONG");
    unsetenv("WEFT_LAYER_KERNEL");
    expect_status(out, line, 1);
}

// Counts of entries and rows: the library reads them for itself, in part of a buffer.
static int counts_of(const char *op)
{
    return strcmp(op, "spgemm") == 0                                             ? 1
           : strcmp(op, "dense_to_csr") == 0 || strcmp(op, "dcsr_from_csr") == 0 ? 3
                                                                                 : 0;
}

// Every result of every check is found wrong, but for counts where `knows_counts` is false.
static void expect_all_wrong(const char *way, bool knows_counts)
{
    static outcome out;
    char line[256];
    json_error_t error;
    size_t i;
    const json_t *check;
    snprintf(line, sizeof(line), "self-test --json%s", ops());
    run_wrong(&out, way, NULL, line);
    json_t *report = json_load_file(path_of("output"), JSON_REJECT_DUPLICATES, &error);
    if (report == NULL)
        fail_msg("%s: %s", way, error.text);
    assert_true(json_is_false(json_object_get(report, "ok")));
    assert_true(number(report, "right") == 0 && number(report, "wrong") > 0);
    json_array_foreach(json_object_get(report, "checks"), i, check)
    {
        if (strcmp(string(check, "verdict"), "skipped") == 0)
            continue;
        const char *op = string(check, "op");
        const int n = (int)number(check, "results") - (knows_counts ? 0 : counts_of(op));
        if (n < 1 || (int)number(check, "wrong") != n)
            fail_msg("%s: %s, %s: %g of %d results are wrong", way, op, string(check, "variant"),
                     number(check, "wrong"), n);
        assert_true(strlen(string(check, "case")) > 0 && strlen(string(check, "difference")) > 0);
    }
    assert_true(i > 0);
    json_decref(report);
}

static void one_wrong_bit_is_found(void **state)
{
    (void)state;
    expect_all_wrong("result", false);
}

static void what_is_written_outside_is_found(void **state)
{
    (void)state;
    expect_all_wrong("guard", false);
}

static void what_is_never_written_is_found(void **state)
{
    (void)state;
    expect_all_wrong("none", true);
}

static void what_is_wrong_is_told(void **state)
{
    static outcome out;
    (void)state;
    run_wrong(&out, "none", "csr_to_dense", "self-test csr_to_dense dcsr_to_csr");
    slurp("output", out.output, sizeof(out.output));
    expect_part(out.output, "\nok ");
    expect_part(out.output, " s  dcsr_to_csr\n");
    expect_part(out.output, "\nWRONG ");
    expect_part(out.output, "case       csr_to_dense: 7 x 64, 100 entries, f32, seed ");
    expect_part(out.output, "plan       ");
    expect_part(out.output, "difference D (7, 64): element (0, 0) is NaN, not ");
    expect_part(out.output, "; 448 of 448 are wrong\n");
    expect_part(out.output, "1 of 4 right, 3 wrong, 0 failed, 0 skipped");
    expect_part(out.output, "\n"
                            "A check is WRONG if a result exceeds its error bound, ");
    assert_null(strstr(out.output, "All checked results are right"));
    expect_part(out.output, "weft info --json");
    expect_part(out.output, "weft self-test --json");
    assert_string_equal(out.errors, "");
}

static void what_does_not_build_is_told(void **state)
{
    static outcome out;
    (void)state;
    run_wrong(&out, "build", NULL, "self-test dcsr_to_csr sparse_gather");
    slurp("output", out.output, sizeof(out.output));
    expect_part(out.output, "\nFAILED ");
    expect_part(out.output, "why        sparse_gather.cl does not compile: ");
    expect_part(out.output, "0 of 3 right, 0 wrong, 3 failed, 0 skipped");
}

static void what_ends_the_process_is_told(void **state)
{
    static outcome out;
    (void)state;
    run_wrong(&out, "end", "gather", "self-test dcsr_to_csr sparse_gather csr_transpose");
    slurp("output", out.output, sizeof(out.output));
    expect_part(out.output, "why        the process ended with status 3\n");
    expect_part(out.output, "3 of 5 right, 0 wrong, 2 failed, 0 skipped");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_wrong_bit_is_found),
        cmocka_unit_test(what_is_written_outside_is_found),
        cmocka_unit_test(what_is_never_written_is_found),
        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(what_does_not_build_is_told),
        cmocka_unit_test(what_ends_the_process_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
