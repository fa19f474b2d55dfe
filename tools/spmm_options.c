// SPDX-License-Identifier: Apache-2.0
// Parsing the command line of weft spmm.
#include "spmm_options.h"

enum { OPTION_BETA = 256, OPTION_C, OPTION_REDUCE, OPTION_ORDER, OPTION_NO_PLAN };

static const struct argp_option options[] = {
    {"n", 'n', "N", 0, "Columns of the random B (default: 128)", 0},
    {"transpose-a", 't', NULL, 0, "Multiply by A transposed", 0},
    {"beta", OPTION_BETA, "Y", 0, "Add Y times the matrix that --c names (default: 0)", 0},
    {"c", OPTION_C, "C0.npy", 0, "The matrix that --beta scales", 0},
    {"reduce", OPTION_REDUCE, "WHAT", 0,
     "Reduction of each row's products: sum, mean, max or min (default: sum)", 0},
    {"order", OPTION_ORDER, "ORDER", 0,
     "Row schedule of the plan: given, sorted, snake, alternating, queue or reuse (default: "
     "chosen for A and the device)",
     0},
    {"no-plan", OPTION_NO_PLAN, NULL, 0, "Multiply without a plan, as for a single product", 0},
    {0},
};

static error_t take_file(spmm_options *spmm, char *argument, struct argp_state *state)
{
    if (state->arg_num > 1)
        argp_error(state, "one file too many: %s", argument);
    *(state->arg_num == 0 ? &spmm->product.sparse_path : &spmm->b_path) = argument;
    return 0;
}

// What options mean together.
static error_t check_options(const spmm_options *spmm, struct argp_state *state)
{
    if (spmm->product.sparse_path == NULL)
        argp_error(state, "name a sparse matrix: A.mtx, A.smtx or A.csr");
    if (spmm->has_n && spmm->b_path != NULL)
        argp_error(state, "--n is for a random B, but B is %s", spmm->b_path);
    if (spmm->beta != 0 && spmm->c0_path == NULL)
        argp_error(state, "--beta needs --c");
    if (spmm->c0_path != NULL && !spmm->has_beta)
        argp_error(state, "--c needs --beta");
    if (spmm->row_schedule != WEFT_SPMM_ROW_SCHEDULE_DEFAULT && spmm->no_plan)
        argp_error(state, "--order needs a plan: it excludes --no-plan");
    if (spmm->transpose_a && spmm->no_plan)
        argp_error(state, "--transpose-a needs a plan: it excludes --no-plan");
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    spmm_options *spmm = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &spmm->product;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(spmm, argument, state);
    case ARGP_KEY_END:
        return check_options(spmm, state);
    case 'n':
        spmm->n = command_integer(state, "--n", argument, 1, INT32_MAX);
        spmm->has_n = true;
        return 0;
    case 't':
        spmm->transpose_a = true;
        return 0;
    case OPTION_BETA:
        spmm->beta = command_number(state, "--beta", argument);
        spmm->has_beta = true;
        return 0;
    case OPTION_C:
        spmm->c0_path = argument;
        return 0;
    case OPTION_REDUCE:
        if (!weft_spmm_reduction_find(argument, &spmm->reduction))
            argp_error(state, "--reduce: '%s' is none of sum, mean, max and min", argument);
        return 0;
    case OPTION_ORDER:
        if (!weft_spmm_row_schedule_find(argument, &spmm->row_schedule))
            argp_error(state,
                       "--order: '%s' is none of default, given, sorted, snake, alternating and "
                       "queue",
                       argument);
        return 0;
    case OPTION_NO_PLAN:
        spmm->no_plan = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void spmm_options_parse(spmm_options *out, int argc, char **argv)
{
    static const struct argp_child children[] = {{&product_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "A [B.npy]",
        .doc =
            "Multiply a sparse matrix (.mtx, .smtx, .csr) by a dense one (.npy, .mtx): C = alpha "
            "op(A) B + beta C0, or with another reduction of a row's products in place of the "
            "sum. Without a file B is random. If B is a vector, so is C."
            "\vReports the plan, the "
            "set-up time (analysis of A and compilation), the median and range of the run time, "
            "and the speed, counted as 2 nnz N operations.",
        .children = children,
    };
    *out = (spmm_options){.product = product_options_new(), .n = 128};
    argp_parse(&parser, argc, argv, 0, NULL, out);
}
