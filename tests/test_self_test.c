// SPDX-License-Identifier: Apache-2.0
// The command weft self-test where all is right: what it checks, what it says, what it refuses.
// What it says of a device that is wrong is in test_self_test_wrong.c.
#include "program_run.h"

// On PoCL all of them; elsewhere, where compiling takes longer, a few.
static const char *ops(void)
{
    const bool is_whole = (is_on("pocl") || is_on("device")) && !getenv("WEFT_TEST_REDUCED");
    return is_whole ? "" : " sparse_gather dcsr_to_csr csr_to_dense";
}

static json_t *checks_of(const json_t *report)
{
    json_t *checks = json_object_get(report, "checks");
    assert_true(json_is_array(checks) && json_array_size(checks) > 0);
    return checks;
}

// The names that the refusal of another one lists, each followed by `visit`.
static int visit_ops(void (*visit)(const char *op))
{
    static outcome out;
    int n = 0;
    run(&out, "self-test dance");
    expect_status(&out, "self-test dance", 2);
    expect_part(out.errors, "'dance' is none of ");
    char *names = strstr(out.errors, "none of ") + strlen("none of ");
    names[strcspn(names, "\n")] = '\0';
    for (char *name = strtok(names, ", "); name != NULL; name = strtok(NULL, ", "))
        if (strcmp(name, "and") != 0) {
            visit(name);
            n++;
        }
    return n;
}

static outcome own_help, explain_help;

static void expect_in_help(const char *op)
{
    char name[64];
    expect_part(own_help.output, op);
    snprintf(name, sizeof(name), " %s ", op);
    expect_part(explain_help.output, name);
}

// Those that weft explain has.
static void help_names_all_operations(void **state)
{
    (void)state;
    run(&own_help, "self-test --help");
    run(&explain_help, "explain --help");
    expect_status(&own_help, "self-test --help", 0);
    expect_part(own_help.output, "--device=TEXT");
    expect_part(own_help.output, "--json");
    assert_int_equal(visit_ops(expect_in_help), 25);
}

static void wrong_usage_is_refused(void **state)
{
    (void)state;
    expect_refusal("self-test spmm dance", 2, "'dance' is none of spmm, ");
    expect_refusal("self-test --quick", 2, "--quick");
    expect_refusal("self-test --device nowhere", 1, "no device is named like \"nowhere\"");
}

static void expect_right(const json_t *check)
{
    const char *verdict = string(check, "verdict");
    if (strcmp(verdict, "skipped") == 0) {
        assert_string_equal(string(check, "dtype"), "f64");
        expect_part(string(check, "why"), "no double arithmetic");
        return;
    }
    if (strcmp(verdict, "ok") != 0)
        fail_msg("%s, %s: %s: %s", string(check, "op"), string(check, "variant"), verdict,
                 json_dumps(check, 0));
    assert_true(number(check, "results") > 0 && number(check, "wrong") == 0);
    assert_true(number(check, "seconds") >= 0);
}

static void all_is_right(void **state)
{
    char line[128];
    size_t i;
    const json_t *check;
    int n = 0;
    (void)state;
    snprintf(line, sizeof(line), "self-test --json%s", ops());
    json_t *report = run_json(line);
    assert_string_equal(string(report, "op"), "self-test");
    assert_true(strlen(string(report, "device")) > 0 && strlen(string(report, "driver")) > 0);
    assert_true(strlen(string(report, "platform")) > 0);
    assert_true(json_is_array(json_object_get(report, "quirks")));
    json_array_foreach(checks_of(report), i, check)
    {
        expect_right(check);
        n += strcmp(string(check, "verdict"), "ok") == 0;
    }
    assert_true(json_is_true(json_object_get(report, "ok")));
    assert_int_equal((int)number(report, "right"), n);
    assert_int_equal((int)number(report, "skipped"), (int)i - n);
    assert_true(number(report, "wrong") == 0 && number(report, "failed") == 0);
    json_decref(report);
}

static void only_what_is_named_runs(void **state)
{
    size_t i;
    const json_t *check;
    (void)state;
    json_t *report = run_json("self-test --json sparse_gather dcsr_to_csr");
    json_array_foreach(checks_of(report), i, check)
    {
        const char *op = string(check, "op");
        assert_true(strcmp(op, "sparse_gather") == 0 || strcmp(op, "dcsr_to_csr") == 0);
    }
    assert_true(i >= 2);
    json_decref(report);
}

static void text_has_a_line_for_each(void **state)
{
    static outcome out;
    (void)state;
    run(&out, "self-test dcsr_to_csr");
    expect_status(&out, "self-test dcsr_to_csr", 0);
    expect_part(out.output, "device    ");
    expect_part(out.output, "driver ");
    expect_part(out.output, "\nok  ");
    expect_part(out.output, " s  dcsr_to_csr\n");
    expect_part(out.output, "1 of 1 right, 0 wrong, 0 failed, 0 skipped, in ");
    expect_part(out.output, "\n"
                            "All checked results are right on this device.\n");
    assert_null(strstr(out.output, "report"));
    assert_string_equal(out.errors, "");
}

// A program whose results differ says so, though it is right.
static void the_same_bits_come_again(void **state)
{
    size_t i;
    const json_t *check;
    (void)state;
    json_t *report = run_json("self-test --json sparse_gather dcsr_to_csr");
    json_t *again = run_json("self-test --json sparse_gather dcsr_to_csr");
    json_array_foreach(checks_of(report), i, check)
    {
        const char *bits = string(check, "bits");
        assert_int_equal(strlen(bits), 16);
        assert_string_not_equal(bits, "0000000000000000");
        assert_string_equal(bits, string(json_array_get(checks_of(again), i), "bits"));
        if (i > 0)
            assert_string_not_equal(bits, string(json_array_get(checks_of(report), i - 1), "bits"));
    }
    json_decref(report);
    json_decref(again);
}

// A line that comes and goes, of what is waited for.
static void who_waits_at_a_terminal_is_told(void **state)
{
    static const char cleared[] = "\r\033[K";
    char *words[] = {"weft", "self-test", "dcsr_to_csr", "sparse_gather", NULL};
    static char text[8192], output[8192];
    (void)state;
    run_at_terminal(text, sizeof(text), words);
    slurp("output", output, sizeof(output));
    expect_part(text, "\r\033[K0 of 3 done in ");
    expect_part(text, " s; compiling or running ");
    const size_t length = strlen(text);
    assert_true(length > strlen(cleared));
    assert_string_equal(text + length - strlen(cleared), cleared);
    assert_null(strstr(output, "compiling or running"));
    expect_part(output, "3 of 3 right");
}

// Sockets do not take the places of what is closed.
static void closed_output_is_told(void **state)
{
    static outcome out;
    (void)state;
    run_to(&out, NULL, "self-test dcsr_to_csr");
    expect_status(&out, "self-test dcsr_to_csr", 1);
    expect_part(out.errors, "weft: standard output: Bad file descriptor\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_names_all_operations),
        cmocka_unit_test(wrong_usage_is_refused),
        cmocka_unit_test(all_is_right),
        cmocka_unit_test(only_what_is_named_runs),
        cmocka_unit_test(the_same_bits_come_again),
        cmocka_unit_test(text_has_a_line_for_each),
        cmocka_unit_test(who_waits_at_a_terminal_is_told),
        cmocka_unit_test(closed_output_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
