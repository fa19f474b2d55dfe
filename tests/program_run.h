// SPDX-License-Identifier: Apache-2.0
// Running the program weft in the folder of the test, and what it left behind. WEFT_PROGRAM is its
// path. Include after the tools' headers.
#ifndef WEFT_TESTS_PROGRAM_RUN_H
#define WEFT_TESTS_PROGRAM_RUN_H

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "implementation.h"
#include "scratch_file.h"

#include "json.h"

// What one run left behind.
typedef struct outcome {
    int status;
    char output[65536], errors[8192]; // standard output and standard error
} outcome;

static inline void slurp(const char *name, char *text, size_t size)
{
    FILE *stream = fopen(path_of(name), "rb");
    assert_non_null(stream);
    const size_t length = fread(text, 1, size - 1, stream);
    text[length] = '\0';
    fclose(stream);
}

static inline void redirect(int stream, const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, stream) < 0)
        _exit(125);
}

// Lines with those words: what rusticl writes to standard error while it compiles is not the
// program's; and on a busy machine trials of the device may be left to the next process.
static inline void drop_lines(char *text, const char *words)
{
    char *kept = text;
    for (char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n") + (strchr(line, '\n') != NULL);
        const char *found = strstr(line, words);
        if (found == NULL || found >= line + length) {
            memmove(kept, line, length);
            kept += length;
        }
        line += length;
    }
    *kept = '\0';
}

// Standard input comes from a file of the test's folder.
static inline void redirect_input(const char *name)
{
    const int file = open(path_of(name), O_RDONLY);
    if (file < 0 || dup2(file, STDIN_FILENO) < 0)
        _exit(125);
}

// As waitpid() says how it ended. With input NULL standard input is the test's own, and with
// output_path NULL standard input and output are closed.
static inline int run_words(char *const *words, const char *input, const char *output_path)
{
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (output_path != NULL)
            redirect(STDOUT_FILENO, output_path); // before path_of() writes over it
        if (input != NULL)
            redirect_input(input);
        redirect(STDERR_FILENO, path_of("errors"));
        for (int stream = STDIN_FILENO; output_path == NULL && stream <= STDOUT_FILENO; stream++)
            close(stream);
        if (chdir(path_of(".")) != 0)
            _exit(125);
        execv(WEFT_PROGRAM, words);
        _exit(125);
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    return status;
}

// Runs `weft` with the words of `line` in the folder of the test. On rusticl a run that ends by a
// signal is tried once more: of some thousands one has been seen to (Mesa 22.3), and the
// same one then ends well.
static inline void run_between(outcome *out, const char *input, const char *output_path,
                               const char *line)
{
    char text[1024];
    char *words[24] = {"weft"};
    assert_true(strlen(line) < sizeof(text));
    strcpy(text, line);
    int n_words = 1;
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(n_words < 23);
        words[n_words++] = word;
    }
    int status = run_words(words, input, output_path);
    if (WIFSIGNALED(status) && is_on("rusticl")) {
        slurp("errors", out->errors, sizeof(out->errors));
        print_message("# weft %s: ended by signal %d, and is run once more: %s\n", line,
                      WTERMSIG(status), out->errors);
        status = run_words(words, input, output_path);
    }
    slurp("errors", out->errors, sizeof(out->errors));
    drop_lines(out->errors, "MESA: ");
    drop_lines(out->errors, ": not tried, trials take too long; ");
    if (!WIFEXITED(status))
        fail_msg("weft %s: ended by signal %d: %s", line, WTERMSIG(status), out->errors);
    out->status = WEXITSTATUS(status);
}

static inline void run_to(outcome *out, const char *output_path, const char *line)
{
    run_between(out, NULL, output_path, line);
}

static inline void run(outcome *out, const char *line)
{
    run_to(out, path_of("output"), line);
    slurp("output", out->output, sizeof(out->output));
}

// What weft writes to a terminal that is its standard error, after which it is waited for.
static inline void run_at_terminal(char *text, size_t size, char *const *words)
{
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    const int side = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(side >= 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        redirect(STDOUT_FILENO, path_of("output"));
        dup2(side, STDERR_FILENO);
        execv(WEFT_PROGRAM, words);
        _exit(125);
    }
    close(side);
    size_t length = 0;
    for (ssize_t n;
         length < size - 1 && (n = read(terminal, text + length, size - 1 - length)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    close(terminal);
    assert_true(waitpid(child, NULL, 0) == child);
}

// Each formula in each type is a program of kernels, which has to be compiled: where there are
// fewer cases, PoCL alone looks at all results, and others at one in three.
static inline bool is_passed_over(void)
{
    static int n;
    const int turn = is_on("rusticl") ? 1 : 2;
    return getenv("WEFT_TEST_REDUCED") && !is_on("pocl") && n++ % 3 != turn;
}

static inline void expect_status(const outcome *out, const char *line, int status)
{
    if (out->status != status)
        fail_msg("weft %s: exit status %d, not %d: %s", line, out->status, status, out->errors);
}

static inline void expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", text, part);
}

// Wrong usage or a failure: nothing on standard output, and a sentence that holds `errors`.
static inline void expect_refusal(const char *line, int status, const char *errors)
{
    static outcome out;
    run(&out, line);
    expect_status(&out, line, status);
    assert_string_equal(out.output, "");
    expect_part(out.errors, errors);
    assert_memory_equal(out.errors, "weft ", 5);
    if (status == 1)
        assert_ptr_equal(strchr(out.errors, '\n'), out.errors + strlen(out.errors) - 1);
}

// Runs, and takes standard output for one JSON object and nothing else.
static inline json_t *run_json(const char *line)
{
    static outcome out;
    json_error_t error;
    run(&out, line);
    expect_status(&out, line, 0);
    json_t *object = json_loads(out.output, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(object))
        fail_msg("weft %s: %s: %s", line, error.text, out.output);
    return object;
}

static inline bool device_has_f64(void)
{
    json_t *info = run_json("info --json");
    const json_t *platform = json_array_get(json_object_get(info, "platforms"), 0);
    const json_t *device = json_array_get(json_object_get(platform, "devices"), 0);
    const json_t *limits = json_object_get(device, "limits");
    const bool has_f64 = json_is_true(json_object_get(limits, "has_f64"));
    json_decref(info);
    return has_f64;
}

#endif
