// SPDX-License-Identifier: Apache-2.0
// Parsing the command line of weft matmul.
#include "matmul_options.h"

#include <weft/matmul.h>

enum {
    OPTION_TRANSPOSE_A = 256,
    OPTION_TRANSPOSE_B,
    OPTION_ALPHA,
    OPTION_BETA,
    OPTION_C,
    OPTION_C_DTYPE
};

static const struct argp_option options[] = {
    {"transpose-a", OPTION_TRANSPOSE_A, NULL, 0, "A.npy holds each matrix of A transposed", 0},
    {"transpose-b", OPTION_TRANSPOSE_B, NULL, 0, "B.npy holds each matrix of B transposed", 0},
    {"n", 'n', "N", 0, "Columns of the random B (default: 128)", 0},
    {"alpha", OPTION_ALPHA, "X", 0, "Scale the product (default: 1)", 0},
    {"beta", OPTION_BETA, "Y", 0, "Add Y times the matrix that --c names (default: 0)", 0},
    {"c", OPTION_C, "C0.npy", 0, "The matrix that --beta scales", 0},
    {"c-dtype", OPTION_C_DTYPE, "T", 0,
     "Data type of C: f32, f64, f16, bf16 or i32 (default: A's; i32 for i8)", 0},
    {"epilogue", 'e', "FORMULA", 0,
     "Replace each element c of the product by this formula, such as \"gelu(c + bias)\"; the "
     "arrays and numbers that it names follow the files",
     0},
    {0},
};

// Files first, if any; then the names of the formula.
static error_t take_word(matmul_options *matmul, char *word, struct argp_state *state)
{
    const unsigned n_files = matmul->dense.has_shape ? 0 : 2;
    if (state->arg_num < n_files)
        *(state->arg_num == 0 ? &matmul->dense.x_path : &matmul->b_path) = word;
    else if (matmul->epilogue != NULL)
        formula_words_take(&matmul->words, word, WEFT_MATMUL_INPUTS, state);
    else
        argp_error(state, "one argument too many: %s; arrays and numbers are for --epilogue", word);
    return 0;
}

// Checks combinations of options.
static error_t check_options(const matmul_options *matmul, struct argp_state *state)
{
    const dense_options *dense = &matmul->dense;
    if (dense->has_shape && dense->ndim < 2)
        argp_error(state, "--shape: A has 1 dimension, a matrix has 2 or more, such as 64,1000%s",
                   dense->shape_note);
    if (dense->x_path != NULL && matmul->b_path == NULL)
        argp_error(state, "%s needs a second file, B.npy", dense->x_path);
    if (matmul->has_n && matmul->b_path != NULL)
        argp_error(state, "--n is for a random B, but B is %s", matmul->b_path);
    if (matmul->has_beta && matmul->c0_path == NULL)
        argp_error(state, "--beta needs --c");
    if (matmul->c0_path != NULL && !matmul->has_beta)
        argp_error(state, "--c needs --beta");
    return 0;
}

static weft_dtype take_c_dtype(struct argp_state *state, const char *text)
{
    return weft_dtype_find(text) == WEFT_I32 ? WEFT_I32 : command_dtype(state, "--c-dtype", text);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    matmul_options *matmul = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &matmul->dense;
        return 0;
    case ARGP_KEY_ARG:
        return take_word(matmul, argument, state);
    case ARGP_KEY_END:
        return check_options(matmul, state);
    case OPTION_TRANSPOSE_A:
        matmul->transpose_a = true;
        return 0;
    case OPTION_TRANSPOSE_B:
        matmul->transpose_b = true;
        return 0;
    case 'n':
        matmul->n = command_integer(state, "--n", argument, 1, INT32_MAX);
        matmul->has_n = true;
        return 0;
    case OPTION_ALPHA:
        matmul->alpha = command_number(state, "--alpha", argument);
        return 0;
    case OPTION_BETA:
        matmul->beta = command_number(state, "--beta", argument);
        matmul->has_beta = true;
        return 0;
    case OPTION_C:
        matmul->c0_path = argument;
        return 0;
    case OPTION_C_DTYPE:
        matmul->c_dtype = take_c_dtype(state, argument);
        return 0;
    case 'e':
        matmul->epilogue = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void matmul_options_parse(matmul_options *out, int argc, char **argv)
{
    static const struct argp_child children[] = {{&dense_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "A.npy B.npy [NAME=FILE.npy ...] [NAME=NUMBER ...]",
        .doc = "Multiply dense matrices, or batches of them that broadcast by NumPy's rule: C = "
               "alpha A B + beta C0, with an optional formula as the epilogue:\n"
               "\n"
               "  weft matmul X.npy W.npy bias=b.npy --epilogue \"gelu(c + bias)\" -o Y.npy\n"
               "\vA and B have the same data type: f32, f64, f16, bf16, or i8 with i32 products. "
               "With --shape both are random: A of that shape, and B a matrix of N columns. `weft "
               "elementwise --help' describes formulas. The arrays that a formula names broadcast "
               "to C.\n"
               "\n"
               "Reports the plan, the set-up time (compilation), the median and range of the run "
               "time, the speed, counted as 2 m n k operations for each product, and the traffic: "
               "each array read once and the result written once.",
        .children = children,
    };
    *out = (matmul_options){.dense = dense_options_new(), .n = 128, .alpha = 1};
    out->dense.shape_note = " (of A; --n says how many columns B has)";
    argp_parse(&parser, argc, argv, 0, NULL, out);
}
