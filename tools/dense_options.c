// SPDX-License-Identifier: Apache-2.0
// Parses the options of commands on one dense array.
#include "dense_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_SEED = 512, OPTION_RUNS, OPTION_SHAPE, OPTION_CHECK, OPTION_FORMAT };

static const struct argp_option options[] = {
    {"output", 'o', "OUT.npy", 0, "Write the result to this file; - is standard output", 0},
    COMMAND_FORMAT_OPTION(OPTION_FORMAT),
    {"dtype", 'T', "T", 0, "Convert arrays to f32, f64, f16 or bf16 (default: keep their type)", 0},
    {"shape", OPTION_SHAPE, "LIST", 0,
     "Use random numbers of this shape, such as 64,1000, in place of a file", 0},
    {"seed", OPTION_SEED, "S", 0, "Seed of random numbers (default: 1)", 0},
    {"runs", OPTION_RUNS, "R", 0, "Number of timed runs (default: 20)", 0},
    {"check", OPTION_CHECK, NULL, 0,
     "Compare the result with the formula in double; fail if an error exceeds its bound", 0},
    {0},
};

// Name of a list's elements, and bounds on its numbers.
typedef struct list_kind {
    const char *option, *wanted, *note;
    int64_t low, high;
} list_kind;

static bool is_whole_number(const char *text)
{
    char *end = NULL;
    strtoll(text, &end, 10);
    return end != text && *end == '\0';
}

// Whole numbers between commas, at least one. Ends the program with a usage error.
static int take_list(struct argp_state *state, const list_kind *kind, const char *text,
                     int64_t out[WEFT_MAX_NDIM])
{
    char word[32];
    int n = 0;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        if (length >= sizeof(word) || !is_whole_number(word))
            argp_error(state, "%s: '%.*s' is not an integer; %s%s", kind->option, (int)length, at,
                       kind->wanted, kind->note != NULL ? kind->note : "");
        if (n == WEFT_MAX_NDIM)
            argp_error(state, "%s: %s has more than %d numbers", kind->option, text, n);
        out[n++] = command_integer(state, kind->option, word, kind->low, kind->high);
        at += length;
        if (*at == '\0')
            return n;
    }
}

int dense_take_shape(struct argp_state *state, const char *text, const char *note,
                     int64_t shape[WEFT_MAX_NDIM])
{
    const list_kind extents = {"--shape", "give extents separated by commas, such as 64,1000", note,
                               0, INT32_MAX};
    return take_list(state, &extents, text, shape);
}

int dense_take_axes(struct argp_state *state, const char *text, int axes[WEFT_MAX_NDIM])
{
    static const list_kind kind = {"--axis", "give axes separated by commas, such as 0,2, or all",
                                   NULL, -WEFT_MAX_NDIM, WEFT_MAX_NDIM - 1};
    int64_t numbers[WEFT_MAX_NDIM];
    const int n = strcmp(text, "all") == 0 ? 0 : take_list(state, &kind, text, numbers);
    for (int i = 0; i < n; i++) {
        axes[i] = (int)numbers[i];
        for (int j = 0; j < i; j++)
            if (axes[j] == axes[i])
                argp_error(state, "--axis: %d is named twice", axes[i]);
    }
    return n;
}

static error_t take_file(dense_options *dense, char *argument, struct argp_state *state)
{
    if (state->arg_num > 0)
        argp_error(state, "one file too many: %s", argument);
    dense->x_path = argument;
    return 0;
}

static error_t check_options(const dense_options *dense, struct argp_state *state)
{
    if (dense->x_path == NULL && !dense->has_shape)
        argp_error(state, "name an array, IN.npy, or use --shape for random numbers");
    if (dense->x_path != NULL && dense->has_shape)
        argp_error(state, "--shape is for random numbers; %s has its own", dense->x_path);
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    dense_options *dense = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &dense->common;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(dense, argument, state);
    case ARGP_KEY_END:
        return check_options(dense, state);
    case 'o':
        dense->output_path = argument;
        return 0;
    case OPTION_FORMAT:
        dense->format = command_format(state, argument);
        return 0;
    case 'T':
        dense->dtype = command_dtype(state, "--dtype", argument);
        return 0;
    case OPTION_SHAPE:
        dense->ndim = dense_take_shape(state, argument, dense->shape_note, dense->shape);
        dense->has_shape = true;
        return 0;
    case OPTION_SEED:
        dense->seed = (uint64_t)command_integer(state, "--seed", argument, 0, INT64_MAX);
        return 0;
    case OPTION_RUNS:
        dense->runs = command_integer(state, "--runs", argument, 1, 1000000);
        return 0;
    case OPTION_CHECK:
        dense->check = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
const struct argp dense_argp = {.options = options, .parser = parse_option, .children = children};

dense_options dense_options_new(void)
{
    return (dense_options){.seed = 1, .runs = 20};
}
