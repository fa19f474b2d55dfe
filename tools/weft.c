// SPDX-License-Identifier: Apache-2.0
// The program weft: one command after another, each with --help.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

typedef struct command_row {
    const char *name, *title, *summary; // title: its name in messages
    int (*run)(int argc, char **argv);
} command_row;

static const command_row commands[] = {
    {"info", "weft info", "describe the OpenCL devices, or the built-in profiles", weft_info_main},
    {"spmm", "weft spmm", "multiply a sparse matrix by a dense one", weft_spmm_main},
    {"matmul", "weft matmul", "multiply dense matrices", weft_matmul_main},
    {"sddmm", "weft sddmm", "multiply matrices where a sparse one has entries", weft_sddmm_main},
    {"reduce", "weft reduce", "compute sums, extremes, means and more along axes",
     weft_reduce_main},
    {"softmax", "weft softmax", "compute softmax along an axis", weft_softmax_main},
    {"norm", "weft norm", "normalise arrays: layer and RMS norm", weft_norm_main},
    {"elementwise", "weft elementwise", "evaluate a formula of arrays, element by element",
     weft_elementwise_main},
    {"convert", "weft convert", "write a sparse matrix as a binary CSR file", weft_convert_main},
    {"explain", "weft explain", "print what would be done on a device, and why", weft_explain_main},
    {"self-test", "weft self-test", "check every operation on a device", weft_self_test_main},
    {"bench", "weft bench", "measure the device, and the operations on it", weft_bench_main},
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out)
{
    fputs("Usage: weft COMMAND [OPTION...] [ARGUMENT...]\n"
          "Tensor operations, sparse ones first, on OpenCL devices.\n\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "Arrays are read from .npy, from archives as FILE.npz:NAME, and from .mtx; sparse\n"
          "matrices from .mtx, .smtx and .csr. Each may be compressed by gzip. - is standard input "
          "or\n"
          "standard output.\n"
          "\n"
          "`weft COMMAND --help' describes a command. Every command takes --device TEXT and\n"
          "--json. WEFT_PROFILE=NAME in the environment plans for a known device; `weft info\n"
          "--profiles' lists them. Exit status: 0 done, 1 failed, 2 wrong usage.\n",
          out);
}

static const command_row *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

// Options before any command: 0 or more is the exit status, below 0 means that there is a command.
static int run_without_command(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_SUCCESS;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("weft %s\n", weft_version());
        return EXIT_SUCCESS;
    }
    return -1;
}

static bool is_finished;

// argp ends the program by itself after printing the text of --help.
static void finish_help(void)
{
    complaint why;
    if (!is_finished && !command_finish_output(&why))
        _exit(command_failed("weft", &why));
}

// A closed descriptor would be reused by the next file or socket: it is replaced by a useless one.
static void keep_standard_descriptors(void)
{
    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", i == 0 ? O_WRONLY : O_RDONLY) < 0)
            return;
}

int main(int argc, char **argv)
{
    complaint why;
    keep_standard_descriptors();
    signal(SIGXFSZ, SIG_IGN);        // a file beyond the limit is a write that fails
    setenv("POCL_AFFINITY", "1", 0); // else two of PoCL's threads may share a core
    atexit(finish_help);
    int status = run_without_command(argc, argv);
    if (status < 0) {
        const command_row *command = find_command(argv[1]);
        if (command == NULL) {
            fprintf(stderr, "weft: there is no command '%s'; `weft --help' lists them\n", argv[1]);
            return EXIT_USAGE;
        }
        argp_err_exit_status = EXIT_USAGE;
        argv[1] = (char *)(uintptr_t)command->title;
        status = command->run(argc - 1, argv + 1);
    }
    if (!command_finish_output(&why) && status == EXIT_SUCCESS)
        status = command_failed("weft", &why);
    is_finished = true;
    return status;
}
