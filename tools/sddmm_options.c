// SPDX-License-Identifier: Apache-2.0
// Parsing the command line of weft sddmm.
#include "sddmm_options.h"

static const struct argp_option options[] = {
    {"k", 'k', "K", 0, "Columns of the random A and rows of the random B (default: 128)", 0},
    {"transpose-b", 't', NULL, 0, "B's file holds B transposed: one column of B after the other",
     0},
    {"indicator", 'i', NULL, 0, "Use the positions of C's entries, but not their values", 0},
    {0},
};

static error_t take_file(sddmm_options *sddmm, char *argument, struct argp_state *state)
{
    const char **const paths[] = {&sddmm->product.sparse_path, &sddmm->a_path, &sddmm->b_path};
    if (state->arg_num > 2)
        argp_error(state, "one file too many: %s", argument);
    *paths[state->arg_num] = argument;
    return 0;
}

// Checks combinations of options.
static error_t check_options(const sddmm_options *sddmm, struct argp_state *state)
{
    if (sddmm->product.sparse_path == NULL)
        argp_error(state, "name a sparse matrix: C.mtx, C.smtx or C.csr");
    if (sddmm->a_path != NULL && sddmm->b_path == NULL)
        argp_error(state, "%s needs a second file, B", sddmm->a_path);
    if (sddmm->has_k && sddmm->a_path != NULL)
        argp_error(state, "--k is for random A and B, but A is %s", sddmm->a_path);
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    sddmm_options *sddmm = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &sddmm->product;
        return 0;
    case ARGP_KEY_ARG:
        return take_file(sddmm, argument, state);
    case ARGP_KEY_END:
        return check_options(sddmm, state);
    case 'k':
        sddmm->k = command_integer(state, "--k", argument, 1, INT32_MAX);
        sddmm->has_k = true;
        return 0;
    case 't':
        sddmm->transpose_b = true;
        return 0;
    case 'i':
        sddmm->indicator = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void sddmm_options_parse(sddmm_options *out, int argc, char **argv)
{
    static const struct argp_child children[] = {{&product_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "C [A B]",
        .doc = "Multiply two matrices only at the entries of a sparse one (.mtx, .smtx, .csr): D = "
               "alpha (A B) .* C. A and B are dense (.npy, .mtx) or sparse (.mtx, .smtx, .csr). D "
               "holds a value for each entry of C, row by row, and by ascending columns if C is a "
               ".mtx. Without files A and B are random and dense."
               "\vReports the plan, the set-up time (compilation), the median and range of the run "
               "time, and the speed. A product of dense factors counts as 2 nnz K operations. With "
               "a sparse factor each element that is visited counts as 2 operations: at each entry "
               "of C the elements of B's column, or if B is dense those of A's row.",
        .children = children,
    };
    *out = (sddmm_options){.product = product_options_new(), .k = 128};
    argp_parse(&parser, argc, argv, 0, NULL, out);
}
