// SPDX-License-Identifier: Apache-2.0
// Parses the options of commands on a sparse matrix and others.
#include "product_options.h"

enum { OPTION_ALPHA = 512, OPTION_SEED, OPTION_RUNS, OPTION_CHECK, OPTION_FORMAT };

static const struct argp_option options[] = {
    {"output", 'o', "OUT.npy", 0, "Write the result to this file; - is standard output", 0},
    COMMAND_FORMAT_OPTION(OPTION_FORMAT),
    {"alpha", OPTION_ALPHA, "X", 0, "Scale the product (default: 1)", 0},
    {"dtype", 'T', "T", 0,
     "Convert operands to f32, f64, f16 or bf16 (default: the type of the dense files, else f32)",
     0},
    {"seed", OPTION_SEED, "S", 0,
     "Seed of random matrices and of the values of an .smtx file (default: 1)", 0},
    {"runs", OPTION_RUNS, "R", 0, "Number of timed runs (default: 20)", 0},
    {"check", OPTION_CHECK, NULL, 0,
     "Compare the result with a product in double; fail if an error exceeds its bound", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    product_options *product = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &product->common;
        return 0;
    case 'o':
        product->output_path = argument;
        return 0;
    case OPTION_FORMAT:
        product->format = command_format(state, argument);
        return 0;
    case OPTION_ALPHA:
        product->alpha = command_number(state, "--alpha", argument);
        return 0;
    case 'T':
        product->dtype = command_dtype(state, "--dtype", argument);
        return 0;
    case OPTION_SEED:
        product->seed = (uint64_t)command_integer(state, "--seed", argument, 0, INT64_MAX);
        return 0;
    case OPTION_RUNS:
        product->runs = command_integer(state, "--runs", argument, 1, 1000000);
        return 0;
    case OPTION_CHECK:
        product->check = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
const struct argp product_argp = {.options = options, .parser = parse_option, .children = children};

product_options product_options_new(void)
{
    return (product_options){.alpha = 1, .seed = 1, .runs = 20};
}
