// SPDX-License-Identifier: Apache-2.0
// The command weft explain without any device: answers that are kept (tests/data/explain), what
// they say to programs, and what it refuses.
#include <dirent.h>

#include <weft/limits.h>

#include "program_run.h"

// ---- files of the tree

// A whole file, in static storage.
static const char *text_of(const char *folder, const char *name)
{
    static char text[1 << 18];
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s/%s", getenv("WEFT_TEST_DATA"), folder, name);
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        fail_msg("%s cannot be read", path);
    const size_t length = fread(text, 1, sizeof(text) - 1, stream);
    assert_true(length < sizeof(text) - 1);
    text[length] = '\0';
    fclose(stream);
    return text;
}

// Calls `visit` with the text of each file of that ending; returns how many there were.
static int visit_files(const char *folder, const char *ending, void (*visit)(const char *text))
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", getenv("WEFT_TEST_DATA"), folder);
    DIR *dir = opendir(path);
    if (dir == NULL)
        fail_msg("%s cannot be read", path);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        const size_t length = strlen(entry->d_name), end = strlen(ending);
        if (length <= end || strcmp(entry->d_name + length - end, ending) != 0)
            continue;
        visit(text_of(folder, entry->d_name));
        n++;
    }
    closedir(dir);
    return n;
}

// ---- kept answers

static const char prompt[] = "$ weft ";

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

// From one "$ weft ..." to the next.
static void compare_answers(const char *kept)
{
    static outcome out;
    do {
        char line[256];
        assert_memory_equal(kept, prompt, strlen(prompt));
        const char *words = kept + strlen(prompt);
        const size_t length = strcspn(words, "\n");
        assert_true(length < sizeof(line) && words[length] == '\n');
        snprintf(line, sizeof(line), "%.*s", (int)length, words);
        const char *answer = words + length + 1, *next = strstr(answer, "\n$ weft ");
        const size_t answer_length = next != NULL ? (size_t)(next + 1 - answer) : strlen(answer);
        run(&out, line);
        expect_status(&out, line, 0);
        expect_all_profiles(line, out.output);
        expect_same(line, out.output, answer, answer_length);
        kept = answer + answer_length;
    } while (*kept != '\0');
}

static void answers_are_those_that_are_kept(void **state)
{
    (void)state;
    assert_true(visit_files("explain", ".txt", compare_answers) > 0);
}

// ---- every operation

// What takes a queue, and how weft explain is asked about it: the operation, and an option that
// makes it another one. NULL for what launches nothing: it copies between host and device.
typedef struct public_call {
    const char *function, *operation, *option;
} public_call;

static const public_call calls[] = {
    {"weft_csr_check", NULL, NULL},
    {"weft_csr_create", NULL, NULL},
    {"weft_csr_to_dense", "csr_to_dense", NULL},
    {"weft_csr_transpose", "csr_transpose", NULL},
    {"weft_dcsr_check", NULL, NULL},
    {"weft_dcsr_count", "dcsr_from_csr", NULL},
    {"weft_dcsr_from_csr", "dcsr_from_csr", NULL},
    {"weft_dcsr_to_csr", "dcsr_to_csr", NULL},
    {"weft_dense_to_csr", "dense_to_csr", NULL},
    {"weft_dense_to_csr_count", "dense_to_csr", NULL},
    {"weft_elementwise", "elementwise", NULL},
    {"weft_layer_norm", "norm", NULL},
    {"weft_layer_norm_backward", "norm_backward", NULL},
    {"weft_log_softmax", "softmax", "--log"},
    {"weft_log_softmax_backward", "softmax_backward", "--log"},
    {"weft_matmul", "matmul", NULL},
    {"weft_recording_run", NULL, NULL}, // of calls that are asked about
    {"weft_reduce", "reduce", NULL},
    {"weft_rms_norm", "norm", "--rms"},
    {"weft_rms_norm_backward", "norm_backward", "--rms"},
    {"weft_sddmm", "sddmm", NULL},
    {"weft_sddmm_sparse", "sddmm_sparse", NULL},
    {"weft_softmax", "softmax", NULL},
    {"weft_softmax_backward", "softmax_backward", NULL},
    {"weft_sparse_attention", "attention", NULL},
    {"weft_sparse_gather", "sparse_gather", NULL},
    {"weft_sparse_linear", "sparse_linear", NULL},
    {"weft_sparse_linear_dw", "sparse_linear_dw", NULL},
    {"weft_sparse_linear_dx", "sparse_linear_dx", NULL},
    {"weft_sparse_softmax", "sparse_softmax", NULL},
    {"weft_sparse_softmax_backward", "sparse_softmax_backward", NULL},
    {"weft_spgemm", "spgemm", NULL},
    {"weft_spgemm_count", "spgemm", NULL},
    {"weft_spgemm_dense", "spgemm_dense", NULL},
    {"weft_spmm", "spmm", NULL},
    {"weft_spmm_dcsr", "spmm_dcsr", NULL},
    {"weft_spmm_dcsr_plan_create", "spmm_dcsr", NULL},
    {"weft_spmm_plan_create", "spmm", NULL},
};
enum { N_CALLS = sizeof(calls) / sizeof(calls[0]) };
static bool is_declared[N_CALLS], has_answer[N_CALLS];

static void note_function(const char *name, size_t length)
{
    for (int i = 0; i < N_CALLS; i++)
        if (strlen(calls[i].function) == length && memcmp(calls[i].function, name, length) == 0) {
            is_declared[i] = true;
            return;
        }
    fail_msg("%.*s() takes a queue: what is weft explain asked about it?", (int)length, name);
}

// "WEFT_API weft_status weft_NAME(... cl_command_queue ...);"
static void note_functions(const char *header)
{
    for (const char *at = header; (at = strstr(at, "\nWEFT_API ")) != NULL; at++) {
        const char *open = strchr(at, '('), *end = strchr(at, ';');
        assert_true(open != NULL && end != NULL);
        const char *queue = strstr(open, "cl_command_queue"), *name = open;
        while (name[-1] != ' ' && name[-1] != '*' && name[-1] != '\n')
            name--;
        if (queue != NULL && queue < end)
            note_function(name, (size_t)(open - name));
    }
}

static bool is_asked(const public_call *call, const char *line)
{
    static const char *const options[] = {"--log", "--rms"};
    const size_t length = call->operation != NULL ? strlen(call->operation) : 0;
    if (length == 0 || strncmp(line, call->operation, length) != 0 || line[length] != ' ')
        return false;
    for (int i = 0; i < 2; i++)
        if ((strstr(line, options[i]) != NULL) !=
            (call->option != NULL && strcmp(call->option, options[i]) == 0))
            return false;
    return true;
}

static void note_answers(const char *kept)
{
    static const char asks[] = "$ weft explain ";
    for (const char *at = kept; (at = strstr(at, asks)) != NULL;) {
        char line[256];
        at += strlen(asks);
        snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, "\n"), at);
        for (int i = 0; i < N_CALLS; i++)
            has_answer[i] = has_answer[i] || is_asked(&calls[i], line);
    }
}

static void every_operation_is_answered(void **state)
{
    (void)state;
    assert_true(visit_files("../../include/weft", ".h", note_functions) > 0);
    assert_true(visit_files("explain", ".txt", note_answers) > 0);
    for (int i = 0; i < N_CALLS; i++) {
        if (!is_declared[i])
            fail_msg("no header has %s(), or it takes no queue", calls[i].function);
        if (!has_answer[i] && calls[i].operation != NULL)
            fail_msg("no kept answer is about %s()", calls[i].function);
    }
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
        expect_part(string(launch, "options"), "-D ");
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
    assert_true(!is_known ||
                fabs(real(roofline, "arithmetic_ms") - arithmetic_ms) <= 1e-3 * arithmetic_ms);
    assert_true(fabs(real(roofline, "ms") / longer - 1) < 1e-3);
    assert_string_equal(string(roofline, "bound"),
                        longer > arithmetic_ms ? "memory" : "arithmetic");
}

static void programs_are_told_the_same(void **state)
{
    // Those without a plan in words: their groups are all there is to choose.
    static const struct {
        const char *operation, *operands;
        bool has_variants, has_no_words;
    } asked[] = {
        {"spmm", "300x200 200x64 --nnz 6000 --cov 0.5", true, false},
        {"sddmm", "300x200 300x64 64x200t", true, false},
        {"sddmm_sparse", "300x200 300x64 200x64", false, false},
        {"spmm_dcsr", "300x200 200x64 --nnz 90", true, false},
        {"sparse_softmax", "300x200", true, false},
        {"sparse_softmax_backward", "300x200", true, false},
        {"attention", "300x200 2x300x64 2x200x700", true, false},
        {"sparse_linear", "300x200 200x64 --no-plan", true, false},
        {"sparse_linear_dx", "300x200 2x300x64 --cov 0.5", true, false},
        {"sparse_linear_dw", "300x200 2x200x64", true, false},
        {"reduce", "8x3000x40 --op mean --axis 0,1", true, false},
        {"softmax", "8x3000x40 --axis 1", true, false},
        {"softmax_backward", "8x3000x40 --axis 1", true, false},
        {"norm", "300x768", true, false},
        {"norm_backward", "300x768", true, false},
        {"elementwise", "a*x x=300x40t a=2", true, false},
        {"matmul", "300x200 200x100", true, false},
        {"csr_transpose", "300x200", false, false},
        {"csr_to_dense", "300x200", false, false},
        {"dense_to_csr", "300x200", false, false},
        {"spgemm", "300x200 200x100", false, false},
        {"spgemm_dense", "300x200 200x100", false, false},
        {"dcsr_from_csr", "300x200", false, true},
        {"dcsr_to_csr", "300x200", false, true},
        {"sparse_gather", "2x300", false, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
        for (size_t p = 0; p < weft_profile_count(); p += 6) {
            const weft_limits *limits = weft_profile_at(p);
            char line[256];
            snprintf(line, sizeof(line), "explain %s %s --json --profile %s", asked[i].operation,
                     asked[i].operands, limits->name);
            json_t *answer = run_json(line);
            assert_string_equal(string(answer, "op"), asked[i].operation);
            assert_string_equal(string(answer, "device"), limits->name);
            assert_true(real(json_object_get(answer, "limits"), "warp") == limits->warp);
            assert_int_equal(json_array_size(json_object_get(answer, "refused")) > 0,
                             asked[i].has_variants);
            assert_int_equal(json_is_null(json_object_get(answer, "plan")), asked[i].has_no_words);
            assert_true(json_is_true(json_object_get(answer, "fits")));
            expect_sound_launches(answer, limits);
            expect_sound_roofline(answer, limits);
            json_decref(answer);
        }
}

// 6 x 4, of which four rows have entries.
static const char FOUR_ROWS[] = "%%MatrixMarket matrix coordinate real general\n6 4 5\n1 1 1\n"
                                "2 1 2\n3 4 3\n6 1 4\n6 4 5\n";

static json_t *answer_to(const char *line)
{
    json_t *answer = run_json(line);
    assert_true(json_is_object(answer));
    return answer;
}

// By hand, of 3 x 4 with 6 entries: offsets 3 + 1, columns and values 6 each.
static void work_is_counted(void **state)
{
    static const struct {
        const char *line;
        double bytes, operations;
    } asked[] = {
        {"spmm 3x4 4x5 --nnz 6", 4 * (4 + 6 + 6 + 4 * 5 + 3 * 5), 2 * 6 * 5},
        {"spmm_dcsr A.mtx 4x2", 4 * (4 + 1 + 4 + 5 + 5 + 4 * 2 + 6 * 2), 2 * 5 * 2},
        {"sddmm 3x4 3x5 5x4 --nnz 6", 4 * (4 + 6 + 6 + 3 * 5 + 5 * 4 + 6), 6 * (2 * 5 + 1)},
        {"sddmm_sparse 3x4 3x5 4x5 --density 0.5", 4 * (16 + 4 + 2 * 8 + 5 + 2 * 10 + 6), 6 * 6},
        {"sddmm_sparse 3x4 3x5 4x5 --dense A --nnz 6", 4 * (16 + 3 * 5 + 17 + 6),
         6 * (2 * 1.5 + 1)},
        {"sddmm_sparse 3x4 3x5 4x5 --dense B --nnz 6", 4 * (16 + 16 + 4 * 5 + 6), 6 * (2 * 2 + 1)},
        {"sparse_softmax 3x4 --nnz 6", 4 * (4 + 6 + 6), 5 * 6},
        {"sparse_softmax_backward 3x4 --nnz 6", 4 * (4 + 6 + 6 + 6), 4 * 6},
        {"sparse_linear 3x4 4x5 --nnz 6", 4 * (4 + 6 + 6 + 4 * 5 + 3 * 5 + 3), 2 * 6 * 5 + 3 * 5},
        {"sparse_linear_dx 3x4 3x5 --nnz 6", 4 * (4 + 6 + 6 + 4 * 5 + 3 * 5), 2 * 6 * 5},
        {"sparse_linear_dw 3x4 4x5 --nnz 6", 4 * (4 + 6 + 4 * 5 + 3 * 5 + 6), 2 * 6 * 5},
        {"csr_transpose 3x4 --nnz 6", 4 * (4 + 6 + 6 + 5 + 6 + 6), 0},
        {"csr_to_dense 3x4 --nnz 6", 4 * (4 + 6 + 6 + 3 * 4), 0},
        {"dense_to_csr 3x4 --nnz 6 --dtype f16", 4 * (4 + 6) + 2 * (6 + 3 * 4), 3 * 4},
        {"dcsr_from_csr 3x4 --nnz 2", 4 * (4 + 2 + 2 + 1), 0}, // of two rows, at most
        {"dcsr_to_csr A.mtx", 4 * (7 + 4 + 4 + 1), 0},         // which has four
        {"spgemm 3x4 4x5 --density 1", 4 * (4 + 24 + 5 + 40 + 4 + 30), 2 * 3 * 4 * 5},
        {"spgemm_dense 3x4 4x5 --density 1", 4 * (4 + 24 + 5 + 40 + 15), 2 * 3 * 4 * 5},
        {"sparse_gather 7x6", 4 * (7 * 6 + 6 + 7 * 6), 0},
        {"softmax_backward 3x4", 4 * 3 * 3 * 4, 4 * 3 * 4},
        {"norm_backward 3x4", 4 * 3 * (3 * 4 + 4), 12 * 3 * 4},
        {"norm_backward 3x4 --rms", 4 * (3 * 3 * 4 + 2 * 4), 9 * 3 * 4},
        {"reduce 3x4 --dtype i32", 4 * 3 * 4 + 8, 3 * 4},
        {"reduce 3x4 --dtype i64 --op min", 8 * 3 * 4 + 8, 3 * 4},
        {"reduce 3x4 --dtype u8 --op argmax --axis 1", 3 * 4 + 8 * 3, 3 * 4},
        {"matmul 7x3x4 4x5 --dtype f16", 2 * (7 * 3 * 4 + 4 * 5 + 7 * 3 * 5), 2 * 7 * 3 * 4 * 5},
        {"matmul 3x4 4x5 --dtype i8", 3 * 4 + 4 * 5 + 4 * 3 * 5, 2 * 3 * 4 * 5},
        {"elementwise max(x,y*1e-3)+a x=8x1x4 y=6x4 a=2", 4 * (8 * 4 + 6 * 4 + 8 * 6 * 4),
         3 * 8 * 6 * 4},
        {"elementwise x+y x:u8=3x4 y:i32=4 --dtype f16", 3 * 4 + 4 * 4 + 2 * 3 * 4, 3 * 4},
    };
    (void)state;
    put_text("A.mtx", FOUR_ROWS);
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        char line[256];
        snprintf(line, sizeof(line), "explain %s --json --profile v100", asked[i].line);
        json_t *answer = answer_to(line);
        const double bytes = number(answer, "bytes"), operations = number(answer, "operations");
        if (bytes != asked[i].bytes || operations != asked[i].operations)
            fail_msg("%s: %g bytes, %g operations", asked[i].line, bytes, operations);
        json_decref(answer);
    }
}

// What no data sheet says is not made up.
static void the_unknown_is_null(void **state)
{
    static const char *const lines[] = {
        "norm 64x64 --dtype f64",         "matmul 64x64 64x64 --dtype i8",
        "reduce 64x64 --dtype i32",       "elementwise x+y x=8 y:f64=8x8",
        "elementwise x+y x:u8=8 y:i32=8",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "explain %s --json --profile a100", lines[i]);
        json_t *answer = answer_to(line);
        const json_t *roofline = json_object_get(answer, "roofline");
        if (!json_is_null(json_object_get(roofline, "arithmetic_ms")))
            fail_msg("weft %s: takes the time of f32", line);
        assert_string_equal(string(roofline, "bound"), "memory");
        json_decref(answer);
    }
    json_t *answer = answer_to("explain elementwise x+y x:u8=8x8 y=8x8 --json --profile a100");
    assert_true(real(json_object_get(answer, "roofline"), "arithmetic_ms") > 0);
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
        "  without     packed B: columns of B are adjacent\n",
        "  kernel      spmm_csr_rows of spmm.cl\n",
        "  roofline    ",
    };
    (void)state;
    put_text("A.mtx", FOUR_ROWS);
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
        "spmm 0x5 5x4",
        "spmm 5x0 0x4",
        "spmm 5x5 5x0",
        "spmm 5x5 5x4 --nnz 0",
        "spmm_dcsr 0x5 5x4",
        "spmm_dcsr 5x5 5x4 --nnz 0",
        "sddmm 0x5 0x3 3x5",
        "sddmm_sparse 0x5 0x3 5x3",
        "sddmm_sparse 5x0 5x3 0x3 --dense B",
        "sddmm_sparse 5x5 5x3 5x3 --dense A --nnz 0",
        "softmax 0x5",
        "norm 0x5",
        "norm_backward 5x0",
        "sparse_softmax 0x5",
        "attention 0x5 0x3",
        "reduce 5x0",
        "matmul 0x5 5x4",
        "elementwise x+1 x=0x5",
        "sparse_softmax_backward 0x5",
        "softmax_backward 0x5",
        "sparse_linear 0x5 5x4",
        "sparse_linear_dx 5x0 5x4",
        "sparse_linear_dw 0x5 5x4",
        "csr_transpose 0x5",
        "csr_transpose 5x0",
        "csr_to_dense 0x5",
        "dense_to_csr 5x0",
        "dcsr_from_csr 0x5",
        "dcsr_to_csr 5x0",
        "dcsr_to_csr 5x5 --nnz 0",
        "spgemm 0x5 5x4",
        "spgemm 5x0 0x4",
        "spgemm 5x5 5x0",
        "spgemm_dense 0x5 5x4",
        "spgemm_dense 5x0 0x4",
        "spgemm_dense 5x5 5x0",
        "sparse_gather 0",
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

// Dense shapes have rows of one length, whatever is usual.
static void rows_vary_as_far_as_they_can(void **state)
{
    static const char *const lines[] = {
        "explain spmm 64x64 64x64 --density 1 --profile h100",
        "explain sparse_linear 64x64 64x64 --nnz 4095 --profile h100"};
    static outcome out;
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        run(&out, lines[i]);
        expect_status(&out, lines[i], 0);
    }
}

static void formulas_may_name_all_they_can(void **state)
{
    static const char line[] =
        "explain elementwise a+b+c+d+e+f+g+h+i*j*k*l*m*n a=1x4 b=1x4 c=1x4 d=1x4 e=1x4 "
        "f=1x4 g=1x4 h=1x4 i=1 j=1 k=1 l=1 m=1 n=1 --profile v100";
    static outcome out;
    (void)state;
    run(&out, line);
    expect_status(&out, line, 0);
    expect_part(out.output, ", h (1, 4), i = 1, ");
    expect_part(out.output, ", n = 1, f32\n");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    expect_refusal("explain", 2, "an operation is needed");
    expect_refusal("explain spmm 4x4 4x4 --density 2", 2, "--density: 2 is outside 0 to 1");
    expect_refusal("explain reduce 4x4 --op nix", 2, "'nix' is not a reduction");
    expect_refusal("explain matmul 4x4 4x4 -t", 2, "--transpose-a is no option of matmul");
    expect_refusal("explain sparse_softmax 4x4 --axis 0", 2, "--axis is no option of");
    expect_refusal("explain reduce 4x4 --axis 1,0,1", 2, "--axis: 1 is named twice");
    expect_refusal("explain elementwise x x=4 x=1 --profile v100", 2, "'x' is named twice");
    expect_refusal("explain spmm 4x4 4x4 --density 1 --cov 0.1 --profile v100", 1,
                   "--cov: 4x4 of density 1 has rows that vary by less than 0");
    expect_refusal("explain fft 8 --profile v100", 2, "there is no operation 'fft'");
    expect_refusal("explain spmm 4x4 4x4 --profile nix", 2, "--profile: there is no 'nix'");
    expect_refusal("explain spmm 4x4 --profile v100", 2, "the shape of B is missing");
    expect_refusal("explain spmm 4x4y 4x4 --profile v100", 2, "'4x4y' is no shape");
    expect_refusal("explain norm 4t --profile v100", 2, "'4t' is no shape");
    expect_refusal("explain spmm 4x4 4x4 --nnz 17 --profile v100", 1, "no room for 17 entries");
    expect_refusal("explain matmul 3x4 5x6 --profile v100", 1, "A is 3 x 4, B is 5 x 6");
    expect_refusal("explain norm 3x4 5x6 --profile v100", 2, "one argument too many: 5x6");
    expect_refusal("explain reduce 3x4 --axis 2 --profile v100", 1, "there is no axis 2, X has 2");
    expect_refusal("explain norm 1x1152921504606846976 --profile v100", 2, "2^60 elements or more");
    expect_refusal("explain norm 3x4tx5 --profile v100", 2, "'3x4tx5' is no shape");
    expect_refusal("explain softmax 3x4 --axis 0,1 --profile v100", 2, "2 axes; give one");
    expect_refusal("explain spmm 3000000000x4 4x4 --nnz 3 --profile v100", 1,
                   "rows, columns and entries can be generated");
    expect_refusal("explain elementwise x+y+z --profile v100 x=1073741824x1x1x1 "
                   "y=1x1073741824x1x1 z=1x1x1073741824x1073741823",
                   1, "extents, strides and offset pass 2^63");
    expect_refusal("explain elementwise x x=3y4 --profile v100", 2, "'3y4' is no shape");
    expect_refusal("explain norm 4 --dtype x", 2, "--dtype: there is no data type 'x'");
    expect_refusal("explain norm 4x4 --dtype i32 --profile v100", 1, "X is i32: f32, f64, f16");
    expect_refusal("explain matmul 4x4 4x4 --dtype u8 --profile v100", 1, "A is u8; f32, f64");
    expect_refusal("explain spgemm 4x4 4x4 --dtype i8 --profile v100", 1, "A has i8 values, f32");
    expect_refusal("explain elementwise x x:foo=4 --profile v100", 2, "no data type 'foo'");
    expect_refusal("explain elementwise x x:i16=4 --profile v100", 1, "x has data type i16");
    expect_refusal("explain spgemm 4x4 --profile v100", 2, "the second sparse shape is missing");
    expect_refusal("explain spgemm 4x4 5x4 --profile v100", 1, "A is 4 x 4, B has 5 rows");
    expect_refusal("explain sddmm_sparse 4x4 4x3 --profile v100", 2, "the third sparse shape");
    expect_refusal("explain sddmm_sparse 4x4 4x3 --dense B --profile v100", 2,
                   "shape of B is miss");
    expect_refusal("explain sddmm_sparse 4x4 4x3 5x3 --profile v100", 1,
                   "A B^T is 4 x 5, C is 4 x 4");
    expect_refusal("explain sddmm_sparse 4x4 4x3 3x4 --profile v100", 1, "A is 4 x 3, B has 4 col");
    expect_refusal("explain sddmm_sparse 4x4 2x4x3 4x3 --dense A --profile v100", 1,
                   "A has 3 dimensions; 2 are wanted");
    expect_refusal("explain sddmm_sparse 4x4 4x3 4x3 4 --profile v100", 2,
                   "one argument too many: 4");
    expect_refusal("explain sddmm_sparse 4x4 4x3 4x3 --dense C", 2, "'C' is neither A nor B");
    expect_refusal("explain sddmm 4x4 4x3 3x4 --dense A", 2, "--dense is no option of sddmm");
    expect_refusal("explain sparse_linear_dx 4x4 4x4 --no-plan", 2, "--no-plan is no option of");
    expect_refusal("explain softmax_backward 3x4 --axis 2 --profile v100", 1, "axis is 2");
    expect_refusal("explain sparse_gather 4x4x4 --profile v100", 1, "values has 3 axes");
    expect_refusal("explain norm 64x64 --dtype f64 --profile g78", 1,
                   "X is f64; arm-mali-g78 has no f64");
    expect_refusal("explain reduce 64x64 --op sum --dtype f64 --profile g78", 1,
                   "reduce: X is f64; arm-mali-g78 has no f64");
    expect_refusal("explain spgemm 4x4 4x4 --dtype f64 --profile g78", 1,
                   "A, B and C are f64; arm-mali-g78 has no f64");
    expect_refusal("explain norm 64x64", 1, "no OpenCL platform");
    expect_refusal("explain norm 64x64 --compile", 2, "--compile needs --profile");
    expect_refusal("explain norm 4x4 --compile --brief --profile v100", 2, "--compile excludes");
    expect_refusal("explain norm 4x4 --compile --device pocl --profile v100", 2,
                   "--compile excludes --device");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_that_are_kept),
        cmocka_unit_test(every_operation_is_answered),
        cmocka_unit_test(programs_are_told_the_same),
        cmocka_unit_test(work_is_counted),
        cmocka_unit_test(the_unknown_is_null),
        cmocka_unit_test(people_are_told_in_words),
        cmocka_unit_test(nothing_is_explained),
        cmocka_unit_test(rows_vary_as_far_as_they_can),
        cmocka_unit_test(formulas_may_name_all_they_can),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
