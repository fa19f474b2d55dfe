// SPDX-License-Identifier: Apache-2.0
// Shared by the commands: options, the context, and the output of answers and failures.
#include "command.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "progress.h"

static const struct argp_option options[] = {
    {"device", 'd', "TEXT", 0,
     "Use the device with TEXT in its own, its platform's or its vendor's name (default: "
     "$WEFT_DEVICE)",
     0},
    {"json", 'j', NULL, 0, "Print one JSON object on standard output", 0},
    {"verbose", 'v', NULL, 0, "Report compilations on standard error", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    command_options *common = state->input;
    switch (key) {
    case 'd':
        common->device = argument;
        return 0;
    case 'j':
        common->json = true;
        return 0;
    case 'v':
        common->verbose = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const struct argp command_argp = {.options = options, .parser = parse_option};

int64_t command_integer(struct argp_state *state, const char *option, const char *text, int64_t low,
                        int64_t high)
{
    char *end = NULL;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
        argp_error(state, "%s: '%s' is not an integer", option, text);
    if (errno == ERANGE || value < low || value > high)
        argp_error(state, "%s: %s is outside %lld to %lld", option, text, (long long)low,
                   (long long)high);
    return value;
}

double command_number(struct argp_state *state, const char *option, const char *text)
{
    char *end = NULL;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0')
        argp_error(state, "%s: '%s' is no number", option, text);
    if (!isfinite(value))
        argp_error(state, "%s: %s is not finite", option, text);
    return value;
}

weft_dtype command_dtype(struct argp_state *state, const char *option, const char *text)
{
    const weft_dtype dtype = weft_dtype_find(text);
    if (dtype != WEFT_F32 && dtype != WEFT_F64 && dtype != WEFT_F16 && dtype != WEFT_BF16)
        argp_error(state, "%s: '%s' is none of f32, f64, f16 and bf16", option, text);
    return dtype;
}

file_format command_format(struct argp_state *state, const char *text)
{
    file_format format = FORMAT_UNKNOWN;
    if (!format_find(text, &format))
        argp_error(state, "--format: '%s' is none of npy, mtx, smtx and csr", text);
    return format;
}

static void print_log(void *user, weft_log_level level, const char *message)
{
    const command_options *common = user;
    if (level == WEFT_LOG_INFO && !common->verbose)
        return;
    progress_clear();
    fprintf(stderr, "weft: %s\n", message);
}

static void tell_compiling(int signal_number)
{
    static const char text[] =
        "weft: compiling, which takes seconds where device or kernels are new\n";
    static volatile sig_atomic_t is_printed;
    const int last_errno = errno;
    (void)signal_number;
    if (!is_printed && write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
        is_printed = 1;
    errno = last_errno;
}

void command_compiles(void)
{
    enum { PATIENCE_S = 1 };
    if (!isatty(STDERR_FILENO))
        return;
    signal(SIGALRM, tell_compiling);
    alarm(PATIENCE_S);
}

void command_has_compiled(void)
{
    alarm(0);
}

bool command_open(weft_context **out, const command_options *common, complaint *why)
{
    command_compiles();
    const weft_status status =
        weft_context_open(out, WEFT_CONTEXT(.device = common->device, .log = print_log,
                                            .log_user = (void *)(uintptr_t)common));
    command_has_compiled();
    return status == WEFT_OK || complain_weft(why);
}

// The library's sentences begin with the call, which often has the command's name.
static const char *without_name(const char *command, const char *text)
{
    const char *space = strrchr(command, ' ');
    const char *name = space ? space + 1 : command;
    const size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && strncmp(text + length, ": ", 2) == 0
               ? text + length + 2
               : text;
}

int command_failed(const char *command, const complaint *why)
{
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", command, without_name(command, why->text));
    return why->is_usage ? EXIT_USAGE : EXIT_FAILURE;
}

static bool print_json(json_t *object, FILE *out, complaint *why)
{
    if (object == NULL)
        return complain(why, "no memory for the JSON output");
    const int code = json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(object);
    putc('\n', out);
    return code == 0 || complain(why, "the JSON output cannot be written");
}

bool command_print_json(json_t *object, complaint *why)
{
    return print_json(object, stdout, why);
}

bool command_print_report(const timed_report *report, const command_options *common,
                          const char *output_path, complaint *why)
{
    const bool is_taken = output_path != NULL && file_is_standard_output(output_path);
    FILE *out = is_taken ? stderr : stdout;
    if (common->json)
        return print_json(report_json(report), out, why);
    report_print(report, out);
    return true;
}

bool command_finish_output(complaint *why)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    return complain(why, "standard output: %s", strerror(errno));
}
