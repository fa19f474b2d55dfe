// SPDX-License-Identifier: Apache-2.0
// Parsing: the formula, NAME=FILE.npy and NAME=NUMBER, options.
#include "elementwise_options.h"

#include "dense_options.h"

enum { OPTION_ARITHMETIC = 256, OPTION_SHAPE, OPTION_RUNS, OPTION_CHECK, OPTION_FORMAT };

// The first word is the formula, which may have '=' too.
static void take_word(elementwise_options *out, char *word, struct argp_state *state)
{
    if (out->formula == NULL)
        out->formula = word;
    else
        formula_words_take(&out->words, word, WEFT_ELEMENTWISE_INPUTS, state);
}

static weft_dtype take_dtype(struct argp_state *state, const char *text)
{
    const weft_dtype dtype = weft_dtype_find(text);
    if (dtype == WEFT_DEFAULT || dtype == WEFT_I16 || dtype == WEFT_I8)
        argp_error(state, "--dtype: '%s' is none of f32, f64, f16, bf16, i32, i64 and u8", text);
    return dtype;
}

static weft_dtype take_arithmetic(struct argp_state *state, const char *text)
{
    const weft_dtype dtype = weft_dtype_find(text);
    if (dtype != WEFT_F32 && dtype != WEFT_F64 && dtype != WEFT_I32 && dtype != WEFT_I64)
        argp_error(state, "--arithmetic: '%s' is none of f32, f64, i32 and i64", text);
    return dtype;
}

static void check_options(const elementwise_options *out, struct argp_state *state)
{
    if (out->formula == NULL)
        argp_error(state, "give a formula, such as \"a + b\"");
    if (out->words.n_inputs == 0 && !out->has_shape)
        argp_error(state,
                   "without arrays --shape is needed: \"%s\" is given none, such as NAME=FILE.npy "
                   "for a NAME in it",
                   out->formula);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    elementwise_options *out = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &out->common;
        return 0;
    case ARGP_KEY_ARG:
        take_word(out, argument, state);
        return 0;
    case ARGP_KEY_END:
        check_options(out, state);
        return 0;
    case 'o':
        out->output_path = argument;
        return 0;
    case OPTION_FORMAT:
        out->format = command_format(state, argument);
        return 0;
    case 'T':
        out->dtype = take_dtype(state, argument);
        return 0;
    case OPTION_ARITHMETIC:
        out->arithmetic = take_arithmetic(state, argument);
        return 0;
    case OPTION_SHAPE:
        out->ndim = dense_take_shape(state, argument, NULL, out->shape);
        out->has_shape = true;
        return 0;
    case OPTION_RUNS:
        out->runs = command_integer(state, "--runs", argument, 1, 1000000);
        return 0;
    case OPTION_CHECK:
        out->check = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void elementwise_options_parse(elementwise_options *out, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"output", 'o', "OUT.npy", 0, "Write the result to this file; - is standard output", 0},
        COMMAND_FORMAT_OPTION(OPTION_FORMAT),
        {"dtype", 'T', "T", 0, "Type of the result: f32, f64, f16, bf16, i32, i64, u8", 0},
        {"arithmetic", OPTION_ARITHMETIC, "T", 0,
         "Type of the arithmetic: f32, f64, i32 or i64 (default: f64 if an array is f64, f32 for "
         "other floating-point arrays and for functions of real numbers, i64 if an array is i64, "
         "else i32)",
         0},
        {"shape", OPTION_SHAPE, "LIST", 0,
         "Shape of the result, such as 64,1000 (default: the shape that the arrays broadcast to by "
         "NumPy's rule)",
         0},
        {"runs", OPTION_RUNS, "R", 0, "Number of timed runs (default: 20)", 0},
        {"check", OPTION_CHECK, NULL, 0,
         "Compare the result with the formula on the host; fail if an error exceeds its bound", 0},
        {0},
    };
    static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "FORMULA [NAME=FILE.npy ...] [NAME=NUMBER ...]",
        .doc = "Evaluate a formula of arrays and numbers, element by element:\n"
               "\n"
               "  weft elementwise \"alpha * x + max(y, 0)\" x=X.npy y=Y.npy alpha=0.5 -o Z.npy\n"
               "\vFormulas have the operators of C, where(c, a, b), min, max, clamp(x, low, high), "
               "floor_divide, remainder, abs, sqrt, exp, log, sin, tanh, erf, pow and their like, "
               "sigmoid, relu, silu and gelu; the name of a function alone applies it to all "
               "arrays in their order. Write '--' before a formula that begins with '-'.\n"
               "\n"
               "Without --dtype the result has the type of the arrays. If their types differ, it "
               "is f64 if one array is f64, else f32 if one is floating-point, else i64 if one is "
               "i64, else i32. It is f32 if integers enter a formula of real numbers, as in \"a / "
               "2.0\" or \"sqrt(a)\". Arrays of i8 and i16 are converted to i32, of u32 and u64 to "
               "i64, of bool to u8 with 0 and 1. Arrays of '<u2' are bf16, and --dtype bf16 is "
               "written as '<u2'.\n"
               "\n"
               "Reports the plan, the set-up time (compilation), the median and range of the run "
               "time, and the traffic: each array read once and the result written once. With "
               "--check it also reports the largest error as a multiple of its bound, which "
               "follows from OpenCL's error bound of each function.",
        .children = children,
    };
    *out = (elementwise_options){.runs = 20};
    argp_parse(&parser, argc, argv, 0, NULL, out);
}
