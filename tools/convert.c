// SPDX-License-Identifier: Apache-2.0
// weft convert: a sparse matrix of any file as a binary CSR file, <weft/csr_file.h>.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/csr_file.h>

#include "command.h"
#include "operand.h"

typedef struct convert_options {
    command_options common;
    const char *input, *output;
    operand_params read;
} convert_options;

static bool print_result(const convert_options *options, const weft_csr_host *matrix,
                         complaint *why)
{
    const char *dtype = weft_dtype_name(matrix->dtype);
    if (options->common.json)
        return command_print_json(json_pack("{s: I, s: I, s: I, s: s}", "rows",
                                            (json_int_t)matrix->n_rows, "columns",
                                            (json_int_t)matrix->n_cols, "entries",
                                            (json_int_t)matrix->nnz, "dtype", dtype),
                                  why);
    printf("%" PRId64 " x %" PRId64 ", %" PRId64 " entries, %s\n", matrix->n_rows, matrix->n_cols,
           matrix->nnz, dtype);
    return true;
}

static bool convert(const convert_options *options, complaint *why)
{
    weft_csr_host matrix;
    const bool done =
        operand_read_sparse(&matrix, options->input, &options->read, why) &&
        (weft_csr_file_write(options->output, &matrix) == WEFT_OK || complain_weft(why)) &&
        print_result(options, &matrix, why);
    weft_csr_host_destroy(&matrix);
    return done;
}

enum { OPTION_FORMAT = 256, OPTION_DTYPE, OPTION_SEED };

static error_t parse_word(convert_options *convert, char *word, struct argp_state *state)
{
    if (convert->output != NULL)
        argp_error(state, "there are two files; '%s' is one more", word);
    *(convert->input == NULL ? &convert->input : &convert->output) = word;
    return 0;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    convert_options *convert = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &convert->common;
        return 0;
    case ARGP_KEY_ARG:
        return parse_word(convert, argument, state);
    case ARGP_KEY_END:
        if (convert->output == NULL)
            argp_error(state, "name a sparse matrix and the file to write: A.mtx A.csr");
        return 0;
    case OPTION_FORMAT:
        convert->read.format = command_format(state, argument);
        return 0;
    case OPTION_DTYPE:
        convert->read.dtype = command_dtype(state, "--dtype", argument);
        return 0;
    case OPTION_SEED:
        convert->read.seed = (uint64_t)command_integer(state, "--seed", argument, 0, INT64_MAX);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int weft_convert_main(int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"dtype", OPTION_DTYPE, "T", 0, "f32, f64, f16 or bf16 (default: f64)", 0},
        {"seed", OPTION_SEED, "S", 0, "Seed of the values that an .smtx file lacks (default: 1)",
         0},
        COMMAND_FORMAT_OPTION(OPTION_FORMAT),
        {0},
    };
    static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "IN OUT.csr",
        .doc = "Write a sparse matrix (.mtx, .smtx, .csr) as a binary CSR file, which other "
               "commands read without parsing, and programs map: <weft/csr_file.h> describes it. "
               "No device is used. OUT.csr is replaced when the new file is complete.",
        .children = children,
    };
    convert_options own = {.read = {.seed = 1}};
    complaint why;
    argp_parse(&parser, argc, argv, 0, NULL, &own);
    return convert(&own, &why) ? EXIT_SUCCESS : command_failed(argv[0], &why);
}
