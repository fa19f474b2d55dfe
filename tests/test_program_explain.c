// SPDX-License-Identifier: Apache-2.0
// The command weft explain without any device: answers that are kept (tests/data/explain), what
// they say to programs, and what it refuses.
#include <weft/limits.h>

#include "program_run.h"

static const char *const operations[] = {
    "spmm",    "sddmm", "sparse_softmax", "attention", "reduce",
    "softmax", "norm",  "elementwise",    "matmul",
};
enum { N_OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

// ---- kept answers

static const char *kept_answers(const char *operation)
{
    static char text[1 << 18];
    char path[1024];
    snprintf(path, sizeof(path), "%s/explain/%s.txt", getenv("WEFT_TEST_DATA"), operation);
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        fail_msg("%s cannot be read", path);
    const size_t length = fread(text, 1, sizeof(text) - 1, stream);
    assert_true(length < sizeof(text) - 1);
    text[length] = '\0';
    fclose(stream);
    return text;
}

// The first line in which they differ.
static void expect_same(const char *line, const char *answer, const char *kept, size_t kept_length)
{
    while (*answer != '\0' || kept_length > 0) {
        const size_t a = strcspn(answer, "\n"), b = strcspn(kept, "\n");
        if (kept_length == 0 || a != b || memcmp(answer, kept, a) != 0)
            fail_msg("weft %s: says \"%.*s\", and said \"%.*s\": where that is meant, "
                     "tests/explain_answers.sh keeps it",
                     line, (int)a, answer, kept_length > 0 ? (int)b : 0, kept);
        answer += a + (answer[a] == '\n');
        kept += b + 1;
        kept_length -= b + 1;
    }
}

static void expect_all_profiles(const char *line, const char *answer)
{
    for (size_t i = 0; i < weft_profile_count(); i++) {
        char head[128];
        snprintf(head, sizeof(head), "%s%s: ", i > 0 ? "\n" : "", weft_profile_at(i)->name);
        if (strstr(answer, head) == NULL)
            fail_msg("weft %s: says nothing of %s", line, weft_profile_at(i)->name);
    }
}

// From one "$ weft ..." to the next; returns how many there were.
static int compare_answers(const char *operation)
{
    static const char prompt[] = "$ weft ";
    static outcome out;
    const char *kept = kept_answers(operation);
    int n = 0;
    for (; strncmp(kept, prompt, strlen(prompt)) == 0; n++) {
        char line[256];
        const char *words = kept + strlen(prompt);
        const size_t length = strcspn(words, "\n");
        assert_true(length < sizeof(line) && words[length] == '\n');
        snprintf(line, sizeof(line), "%.*s", (int)length, words);
        const char *answer = words + length + 1, *next = strstr(answer, "\n$ weft ");
        const size_t answer_length = next != NULL ? (size_t)(next + 1 - answer) : strlen(answer);
        run(&out, line);
        expect_status(&out, line, 0);
        expect_part(line, operation);
        expect_all_profiles(line, out.output);
        expect_same(line, out.output, answer, answer_length);
        kept = answer + answer_length;
    }
    assert_string_equal(kept, "");
    return n;
}

static void answers_are_those_that_are_kept(void **state)
{
    (void)state;
    for (int i = 0; i < N_OPERATIONS; i++)
        assert_true(compare_answers(operations[i]) > 0);
}

// ---- JSON

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static size_t size_at(const json_t *list, size_t i)
{
    return (size_t)json_integer_value(json_array_get(list, i));
}

static void expect_sound_launches(const json_t *answer, const weft_limits *limits)
{
    const json_t *launches = json_object_get(answer, "launches"), *launch;
    size_t i;
    assert_true(json_array_size(launches) > 0);
    json_array_foreach(launches, i, launch)
    {
        const json_t *global = json_object_get(launch, "global");
        const json_t *local = json_object_get(launch, "local");
        size_t items = 1;
        for (size_t d = 0; d < 3; d++) {
            assert_true(size_at(local, d) > 0 && size_at(global, d) >= size_at(local, d));
            assert_int_equal(size_at(global, d) % size_at(local, d), 0);
            items *= size_at(local, d);
        }
        assert_true(items <= limits->max_items);
        assert_true((size_t)number(launch, "local_bytes") <= limits->local_bytes);
        expect_part(string(launch, "options"), "-D DTYPE=DTYPE_F32");
        assert_true(strlen(string(launch, "kernel")) > 0 && number(launch, "times") >= 1);
        assert_null(json_object_get(launch, "compiled"));
    }
}

static void expect_sound_roofline(const json_t *answer, const weft_limits *limits)
{
    const json_t *roofline = json_object_get(answer, "roofline");
    const bool is_known = limits->peak_gflops > 0;
    const double memory_ms = 1e-6 * number(answer, "bytes") / limits->peak_gbps;
    const double arithmetic_ms =
        is_known ? 1e-6 * number(answer, "operations") / limits->peak_gflops : 0;
    const double longer = memory_ms > arithmetic_ms ? memory_ms : arithmetic_ms;
    assert_true(fabs(real(roofline, "memory_ms") / memory_ms - 1) < 1e-3);
    assert_int_equal(json_is_null(json_object_get(roofline, "arithmetic_ms")), !is_known);
    assert_true(!is_known || fabs(real(roofline, "arithmetic_ms") / arithmetic_ms - 1) < 1e-3);
    assert_true(fabs(real(roofline, "ms") / longer - 1) < 1e-3);
    assert_string_equal(string(roofline, "bound"),
                        longer > arithmetic_ms ? "memory" : "arithmetic");
}

static void programs_are_told_the_same(void **state)
{
    static const char *const lines[N_OPERATIONS] = {
        "spmm 300x200 200x64 --nnz 6000 --cov 0.5",
        "sddmm 300x200 300x64 64x200t",
        "sparse_softmax 300x200",
        "attention 300x200 2x300x64 2x200x700",
        "reduce 8x3000x40 --op mean --axis 0,1",
        "softmax 8x3000x40 --axis 1",
        "norm 300x768",
        "elementwise a*x x=300x40t a=2",
        "matmul 300x200 200x100",
    };
    (void)state;
    for (int i = 0; i < N_OPERATIONS; i++)
        for (size_t p = 0; p < weft_profile_count(); p += 6) {
            const weft_limits *limits = weft_profile_at(p);
            char line[256];
            snprintf(line, sizeof(line), "explain %s --json --profile %s", lines[i], limits->name);
            json_t *answer = run_json(line);
            assert_string_equal(string(answer, "op"), operations[i]);
            assert_string_equal(string(answer, "device"), limits->name);
            assert_true(real(json_object_get(answer, "limits"), "warp") == limits->warp);
            assert_true(json_array_size(json_object_get(answer, "refused")) > 0);
            assert_true(json_is_true(json_object_get(answer, "fits")));
            expect_sound_launches(answer, limits);
            expect_sound_roofline(answer, limits);
            json_decref(answer);
        }
}

static json_t *answer_to(const char *line)
{
    json_t *answer = run_json(line);
    assert_true(json_is_object(answer));
    return answer;
}

// By hand: offsets 4 (3 + 1), entries 8 each, B 4 x 5 and C 3 x 5 numbers of 4 bytes.
static void work_is_counted(void **state)
{
    (void)state;
    json_t *answer = answer_to("explain spmm 3x4 4x5 --nnz 6 --json --profile v100");
    assert_true(number(answer, "bytes") == 4 * 4 + 6 * 8 + 4 * 5 * 4 + 3 * 5 * 4);
    assert_true(number(answer, "operations") == 2 * 6 * 5);
    json_decref(answer);
    answer = answer_to("explain matmul 7x3x4 4x5 --dtype f16 --json --profile v100");
    assert_true(number(answer, "bytes") == 2 * (7 * 3 * 4 + 4 * 5 + 7 * 3 * 5));
    assert_true(number(answer, "operations") == 2 * 7 * 3 * 4 * 5);
    json_decref(answer);
    answer = answer_to("explain elementwise max(x,y*1e-3)+a x=8x1x4 y=6x4 a=2 --json --profile v1");
    assert_true(number(answer, "bytes") == 4 * (8 * 4 + 6 * 4 + 8 * 6 * 4));
    assert_true(number(answer, "operations") == 3 * 8 * 6 * 4);
    json_decref(answer);
}

// What no data sheet says is not made up.
static void the_unknown_is_null(void **state)
{
    (void)state;
    json_t *answer = answer_to("explain norm 64x64 --dtype f64 --json --profile a100");
    assert_true(
        json_is_null(json_object_get(json_object_get(answer, "roofline"), "arithmetic_ms")));
    assert_string_equal(string(json_object_get(answer, "roofline"), "bound"), "memory");
    json_decref(answer);
    answer = answer_to("explain norm 64x64 --dtype f64 --json --profile all");
    const json_t *list = json_object_get(answer, "explanations"), *one;
    size_t i, n_failures = 0;
    assert_int_equal(json_array_size(list), weft_profile_count());
    json_array_foreach(list, i, one)
    {
        const bool has_f64 = weft_profile_at(i)->has_f64;
        assert_int_equal(json_object_get(one, "failure") == NULL, has_f64);
        n_failures += !has_f64;
    }
    assert_true(n_failures > 0);
    json_decref(answer);
}

// ---- words

static void people_are_told_in_words(void **state)
{
    static outcome out;
    static const char *const parts[] = {
        "spmm: A 6 x 4 with 5 entries, B (4, 64), f32\n",
        "  device      amd-mi300x\n",
        "    warp                           64  lanes that execute together\n",
        "  without     packed B: columns of B lie side by side\n",
        "  kernel      spmm_csr_rows of spmm.cl\n",
        "  roofline    ",
    };
    (void)state;
    put_text("A.mtx", "%%MatrixMarket matrix coordinate real general\n6 4 5\n1 1 1\n2 1 2\n"
                      "3 4 3\n6 1 4\n6 4 5\n");
    run(&out, "explain spmm A.mtx 4x64 --profile mi300x");
    expect_status(&out, "explain spmm A.mtx", 0);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        expect_part(out.output, parts[i]);
    run(&out, "explain norm 65536x65536 --profile g78");
    expect_part(out.output,
                "  bytes       3.43597e+10, each operand read or written once: more than");
    run(&out, "explain attention 64x64 4x64x32 4x64x2048 --profile h100");
    expect_part(out.output, "  without     one sweep: V has 2048 columns");
    expect_part(out.output, "  kernel      sddmm_csr_entries of sddmm.cl\n");
    run(&out, "explain attention 20000x20000 16x20000x64 16x20000x512 --profile v100");
    expect_part(out.output, "  without     three steps: scratch memory has room for");
    assert_null(strstr(out.output, "one sweep")); // which it is, for want of room
    assert_null(strstr(out.output, "packed B"));  // of steps that are not taken
}

// Where there is nothing at all, there is still an answer.
static void nothing_is_explained(void **state)
{
    static const char *const lines[] = {
        "spmm 0x5 5x4",      "spmm 5x0 0x4", "spmm 5x5 5x0",   "spmm 5x5 5x4 --nnz 0",
        "sddmm 0x5 0x3 3x5", "softmax 0x5",  "norm 0x5",       "sparse_softmax 0x5",
        "attention 0x5 0x3", "reduce 5x0",   "matmul 0x5 5x4", "elementwise x+1 x=0x5",
    };
    static outcome out;
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "explain %s --profile all", lines[i]);
        run(&out, line);
        expect_status(&out, line, 0);
        expect_part(out.output, "  operations  0\n");
    }
    run(&out, "explain elementwise x+y*a x=0x3 y=1x3 a=2 --profile v100");
    expect_part(out.output, "elementwise: x+y*a, x (0, 3), y (1, 3), a = 2, f32\n");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    expect_refusal("explain", 2, "an operation is needed");
    expect_refusal("explain spmm 4x4 4x4 --density 2", 2, "--density: 2 is outside 0 to 1");
    expect_refusal("explain reduce 4x4 --op nix", 2, "'nix' is no reduction");
    expect_refusal("explain matmul 4x4 4x4 -t", 2, "--transpose-a is no option of matmul");
    expect_refusal("explain sparse_softmax 4x4 --axis 0", 2, "--axis is no option of");
    expect_refusal("explain fft 8 --profile v100", 1, "there is no operation 'fft'");
    expect_refusal("explain spmm 4x4 4x4 --profile nix", 1, "--profile: there is no 'nix'");
    expect_refusal("explain spmm 4x4 --profile v100", 1, "the shape of B is missing");
    expect_refusal("explain spmm 4x4y 4x4 --profile v100", 1, "'4x4y' is no shape");
    expect_refusal("explain norm 4t --profile v100", 1, "'4t' is no shape");
    expect_refusal("explain spmm 4x4 4x4 --nnz 17 --profile v100", 1, "no room for 17 entries");
    expect_refusal("explain matmul 3x4 5x6 --profile v100", 1, "A is 3 x 4, B is 5 x 6");
    expect_refusal("explain norm 3x4 5x6 --profile v100", 1, "one word too many: 5x6");
    expect_refusal("explain reduce 3x4 --axis 2 --profile v100", 1, "there is no axis 2, X has 2");
    expect_refusal("explain norm 1x1152921504606846976 --profile v100", 1, "2^60 elements or more");
    expect_refusal("explain norm 3x4tx5 --profile v100", 1, "'3x4tx5' is no shape");
    expect_refusal("explain softmax 3x4 --axis 0,1 --profile v100", 1, "2 axes; one is wanted");
    expect_refusal("explain spmm 3000000000x4 4x4 --nnz 3 --profile v100", 1, "--no-plan goes");
    expect_refusal("explain elementwise x+y+z --profile v100 x=1073741824x1x1x1 "
                   "y=1x1073741824x1x1 z=1x1x1073741824x1073741823",
                   1, "extents, strides and offset pass 2^63");
    expect_refusal("explain elementwise x x=3y4 --profile v100", 1, "'3y4' is no shape");
    expect_refusal("explain norm 64x64 --dtype f64 --profile g78", 1, "arm-mali-g78 has no f64");
    expect_refusal("explain norm 64x64", 1, "no OpenCL platform");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_that_are_kept),
        cmocka_unit_test(programs_are_told_the_same),
        cmocka_unit_test(work_is_counted),
        cmocka_unit_test(the_unknown_is_null),
        cmocka_unit_test(people_are_told_in_words),
        cmocka_unit_test(nothing_is_explained),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
