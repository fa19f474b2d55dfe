// SPDX-License-Identifier: Apache-2.0
// Shared by the commands: options, exit status, the context, output.
//
// A command is one row of the table in weft.c and one function int weft_<name>_main(argc, argv) in
// a file of its name. argv[0] is "weft <name>". It parses with argp, has `command_argp` as its
// first child, opens its context with command_open(), prints its answer alone on standard output,
// and returns
//
//   0  done        1  failed: one sentence on standard error        2  usage (argp exits by itself)
#ifndef WEFT_TOOLS_COMMAND_H
#define WEFT_TOOLS_COMMAND_H

#include <argp.h>
#include <jansson.h>

#include <weft/context.h>
#include <weft/dtype.h>

#include "complaint.h"
#include "format.h"
#include "report.h"

// The options of every command. A parser that has command_argp as a child passes them on:
//
//   case ARGP_KEY_INIT:
//       state->child_inputs[0] = &options->common;
typedef struct command_options {
    const char *device; // --device TEXT; NULL for the default
    bool json;          // --json
    bool verbose;       // --verbose: all messages of the library, not only warnings
} command_options;

extern const struct argp command_argp;

// The number in `text`; ends the program with a usage error that names `option` if it is none, or
// is outside low .. high.
int64_t command_integer(struct argp_state *state, const char *option, const char *text, int64_t low,
                        int64_t high);
double command_number(struct argp_state *state, const char *option, const char *text);

// A floating-point data type by its name, or a usage error.
weft_dtype command_dtype(struct argp_state *state, const char *option, const char *text);

// The option --format, whose argument command_format() parses.
#define COMMAND_FORMAT_OPTION(key)                                                                 \
    {                                                                                              \
        "format", key, "F", 0,                                                                     \
            "Format of standard input and of files without a known extension: npy, mtx, smtx or "  \
            "csr (default: recognised by content)",                                                \
            0                                                                                      \
    }

// A file format by its name, or a usage error.
file_format command_format(struct argp_state *state, const char *text);

// Between the two calls compilers may run: a user at a terminal is informed on standard error,
// once, if it takes seconds.
void command_compiles(void);
void command_has_compiled(void);

// The chosen device, with the library's messages on standard error. The caller destroys it.
bool command_open(weft_context **out, const command_options *options, complaint *why);

// Prints "<command>: <sentence>" on standard error and returns the exit status: 1, or after wrong
// usage 2.
enum { EXIT_USAGE = 2 };
int command_failed(const char *command, const complaint *why);

// Prints the object on standard output and releases it. NULL complains about memory.
bool command_print_json(json_t *object, complaint *why);

// Prints the report of a command that writes its result to output_path, which may be NULL: on
// standard output, or on standard error if the result is there.
bool command_print_report(const timed_report *report, const command_options *options,
                          const char *output_path, complaint *why);

// Every command ends with it: false if standard output failed.
bool command_finish_output(complaint *why);

int weft_info_main(int argc, char **argv);
int weft_explain_main(int argc, char **argv);
int weft_matmul_main(int argc, char **argv);
int weft_convert_main(int argc, char **argv);
int weft_spmm_main(int argc, char **argv);
int weft_sddmm_main(int argc, char **argv);
int weft_reduce_main(int argc, char **argv);
int weft_softmax_main(int argc, char **argv);
int weft_norm_main(int argc, char **argv);
int weft_elementwise_main(int argc, char **argv);
int weft_self_test_main(int argc, char **argv);
int weft_bench_main(int argc, char **argv);

#endif
