// SPDX-License-Identifier: Apache-2.0
// Parsing the command line of weft explain.
#include <string.h>

#include "dense_options.h"
#include "explain.h"

enum {
    OPTION_NNZ = 256,
    OPTION_DENSITY,
    OPTION_COV,
    OPTION_REDUCE,
    OPTION_NO_PLAN,
    OPTION_DENSE,
    OPTION_OP,
    OPTION_LOG,
    OPTION_RMS,
    OPTION_AXES,
    OPTION_BRIEF,
    OPTION_COMPILE,
};

static const struct argp_option options[] = {
    {"profile", 'p', "NAME", 0,
     "Plan for a known device, which need not exist, or for `all'; `weft info --profiles' lists "
     "them. With --device plans stay within that device's limits",
     0},
    {"brief", OPTION_BRIEF, NULL, 0,
     "Print a few lines, to be compared with those of another version", 0},
    {"compile", OPTION_COMPILE, NULL, 0,
     "Compile the kernels for the GPU of --profile with compilers of its vendor, and print their "
     "loops and an estimated time: see below",
     0},
    {"dtype", 'T', "TYPE", 0,
     "Type of every operand that does not name its own: f32 (default), f64, f16, bf16, i32, i64, "
     "u8 or another that the operation takes. It is also the type of elementwise's result",
     0},
    {"nnz", OPTION_NNZ, "N", 0, "Entries of each sparse shape; a file has its own", 0},
    {"density", OPTION_DENSITY, "D", 0,
     "Entries of each sparse shape as a share of all elements (default: 0.1); a file has its own",
     0},
    {"cov", OPTION_COV, "V", 0,
     "With a plan: the coefficient of variation of the row lengths (default: 0.1, or what the "
     "density allows; uneven rows: 0.5; mostly short rows: 2)",
     0},
    {"transpose-a", 't', NULL, 0, "spmm: multiply by A transposed", 0},
    {"reduce", OPTION_REDUCE, "WHAT", 0, "spmm: sum, mean, max or min (default: sum)", 0},
    {"no-plan", OPTION_NO_PLAN, NULL, 0, "spmm, sparse_linear: multiply without a plan", 0},
    {"dense", OPTION_DENSE, "A|B", 0, "sddmm_sparse: A or B is dense (default: both are sparse)",
     0},
    {"op", OPTION_OP, "OP", 0, "reduce: as in `weft reduce' (default: sum)", 0},
    {"axis", 'a', "LIST", 0,
     "reduce: axes between commas, or all (default); softmax and its backward: one (default: the "
     "last)",
     0},
    {"log", OPTION_LOG, NULL, 0, "softmax and its backward: log-softmax", 0},
    {"rms", OPTION_RMS, NULL, 0, "norm and its backward: RMS normalisation", 0},
    {"axes", OPTION_AXES, "N", 0, "norm and its backward: along the last N axes (default: 1)", 0},
    {0},
};

// Options of some operations only.
enum { MOST_OPERATIONS = 20 };
#define SPARSE_OPERATIONS                                                                          \
    "spmm", "spmm_dcsr", "sddmm", "sddmm_sparse", "sparse_softmax", "sparse_softmax_backward",     \
        "attention", "sparse_linear", "sparse_linear_dx", "sparse_linear_dw", "csr_transpose",     \
        "csr_to_dense", "dense_to_csr", "dcsr_from_csr", "dcsr_to_csr", "spgemm", "spgemm_dense"
static const struct {
    int key;
    const char *name, *operations[MOST_OPERATIONS];
} narrow_options[] = {
    {OPTION_NNZ, "--nnz", {SPARSE_OPERATIONS}},
    {OPTION_DENSITY, "--density", {SPARSE_OPERATIONS}},
    {OPTION_COV, "--cov", {"spmm", "spmm_dcsr", "sparse_linear", "sparse_linear_dx"}},
    {'t', "--transpose-a", {"spmm", "spmm_dcsr"}},
    {OPTION_REDUCE, "--reduce", {"spmm", "spmm_dcsr"}},
    {OPTION_NO_PLAN, "--no-plan", {"spmm", "spmm_dcsr", "sparse_linear"}},
    {OPTION_DENSE, "--dense", {"sddmm_sparse"}},
    {OPTION_OP, "--op", {"reduce"}},
    {'a', "--axis", {"reduce", "softmax", "softmax_backward"}},
    {OPTION_LOG, "--log", {"softmax", "softmax_backward"}},
    {OPTION_RMS, "--rms", {"norm", "norm_backward"}},
    {OPTION_AXES, "--axes", {"norm", "norm_backward"}},
};
enum { N_NARROW = sizeof(narrow_options) / sizeof(narrow_options[0]) };

static void note_narrow(explain_options *explain, int key)
{
    for (int i = 0; i < N_NARROW; i++)
        if (narrow_options[i].key == key)
            explain->narrow_given |= 1u << i;
}

static void check_narrow(const explain_options *explain, struct argp_state *state)
{
    for (int i = 0; i < N_NARROW; i++) {
        bool is_of_it = !(explain->narrow_given & 1u << i);
        for (int j = 0; j < MOST_OPERATIONS && narrow_options[i].operations[j] != NULL; j++)
            is_of_it = is_of_it || strcmp(explain->words[0], narrow_options[i].operations[j]) == 0;
        if (!is_of_it)
            argp_error(state, "%s is no option of %s", narrow_options[i].name, explain->words[0]);
    }
}

static void check_all(const explain_options *explain, struct argp_state *state)
{
    if (explain->n_words == 0)
        argp_error(state, "an operation is needed");
    if (explain->transpose_a && explain->no_plan)
        argp_error(state, "--transpose-a needs a plan: it excludes --no-plan");
    if (explain->compile && explain->profile == NULL)
        argp_error(state, "--compile needs --profile: a GPU that is known, or all");
    if (explain->compile && explain->brief)
        argp_error(state, "--compile excludes --brief");
    if (explain->compile && explain->common.device != NULL)
        argp_error(state, "--compile excludes --device: it is about a GPU that is not there");
    check_narrow(explain, state);
}

static void take_word(explain_options *explain, char *word, struct argp_state *state)
{
    if (explain->n_words == EXPLAIN_WORDS)
        argp_error(state, "one argument too many: %s", word);
    explain->words[explain->n_words++] = word;
}

static double take_share(struct argp_state *state, const char *option, const char *text,
                         double most)
{
    const double value = command_number(state, option, text);
    if (value < 0 || value > most)
        argp_error(state, "%s: %s is outside 0 to %g", option, text, most);
    return value;
}

static void take_dense(explain_options *explain, const char *name, struct argp_state *state)
{
    explain->dense_a = strcmp(name, "A") == 0;
    explain->dense_b = strcmp(name, "B") == 0;
    if (!explain->dense_a && !explain->dense_b)
        argp_error(state, "--dense: '%s' is neither A nor B", name);
}

static error_t parse_sparse(int key, char *argument, struct argp_state *state)
{
    explain_options *explain = state->input;
    switch (key) {
    case OPTION_NNZ:
        explain->nnz = command_integer(state, "--nnz", argument, 0, INT64_MAX);
        return 0;
    case OPTION_DENSITY:
        explain->density = take_share(state, "--density", argument, 1);
        return 0;
    case OPTION_COV:
        explain->cov = take_share(state, "--cov", argument, 1e6);
        return 0;
    case 't':
        explain->transpose_a = true;
        return 0;
    case OPTION_REDUCE:
        if (!weft_spmm_reduction_find(argument, &explain->product_reduction))
            argp_error(state, "--reduce: '%s' is none of sum, mean, max and min", argument);
        return 0;
    case OPTION_NO_PLAN:
        explain->no_plan = true;
        return 0;
    case OPTION_DENSE:
        take_dense(explain, argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    explain_options *explain = state->input;
    note_narrow(explain, key);
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &explain->common;
        return 0;
    case ARGP_KEY_ARG:
        take_word(explain, argument, state);
        return 0;
    case ARGP_KEY_END:
        check_all(explain, state);
        return 0;
    case 'p':
        explain->profile = argument;
        return 0;
    case OPTION_BRIEF:
        explain->brief = true;
        return 0;
    case OPTION_COMPILE:
        explain->compile = true;
        return 0;
    case 'T':
        explain->dtype = weft_dtype_find(argument);
        if (explain->dtype == WEFT_DEFAULT)
            argp_error(state, "--dtype: there is no data type '%s'", argument);
        return 0;
    case OPTION_OP:
        if (!weft_reduction_find(argument, &explain->reduction))
            argp_error(state, "--op: '%s' is not a reduction; `weft reduce --help' lists them",
                       argument);
        return 0;
    case 'a':
        explain->n_axes = dense_take_axes(state, argument, explain->axes);
        return 0;
    case OPTION_LOG:
        explain->is_log = true;
        return 0;
    case OPTION_RMS:
        explain->is_rms = true;
        return 0;
    case OPTION_AXES:
        explain->norm_axes = (int)command_integer(state, "--axes", argument, 1, WEFT_MAX_NDIM);
        return 0;
    default:
        return parse_sparse(key, argument, state);
    }
}

void explain_options_parse(explain_options *out, int argc, char **argv)
{
    static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "OP SHAPE...",
        .doc =
            "Print what weft would do on a device, and why: the limits that plans use, the "
            "chosen variant, the rejected variants and the reasons, each kernel's sizes and "
            "build options, scratch memory, bytes and operations, and the time that the data "
            "sheet allows.\n"
            "\n"
            "  spmm A B                  A sparse\n"
            "  spmm_dcsr A B             A sparse, only its non-empty rows stored\n"
            "  sddmm C A B               C sparse\n"
            "  sddmm_sparse C A B        all sparse, or --dense A, or B; B has C's columns as "
            "rows\n"
            "  sparse_softmax X          X sparse\n"
            "  attention M Q [V]         M sparse; Q and V with heads or without\n"
            "  sparse_linear W X         W sparse, with a bias\n"
            "  sparse_linear_dx W dY, sparse_linear_dw W X, sparse_softmax_backward Y\n"
            "  csr_transpose A, csr_to_dense A, dcsr_from_csr A, dcsr_to_csr A\n"
            "  dense_to_csr D            D as a sparse shape: its entries are the non-zeros\n"
            "  spgemm A B                both sparse; entries are assumed anywhere\n"
            "  spgemm_dense A B          both sparse, C dense\n"
            "  sparse_gather VALUES      all of them, in another order\n"
            "  reduce X, softmax X, softmax_backward Y, norm X,\n"
            "  norm_backward X           with w, dW, and of layer normalisation db\n"
            "  elementwise FORMULA NAME[:TYPE]=SHAPE... NAME=NUMBER...    (a row: x=1x8)\n"
            "  matmul A B                any batches; i8 gives i32\n"
            "\vA shape is written 8x2048x64, row-major; a t at its end exchanges its last two "
            "axes in memory. A sparse operand may also be a file, .mtx, .smtx or .csr, or -. With "
            "--profile alone nothing is compiled and no device is needed. On a device the "
            "kernels are compiled and queried. Nothing is enqueued.\n"
            "\n"
            "--compile prints of each kernel the registers of an item, what is spilled to memory, "
            "and how many warps (wavefronts, threads) fit a compute unit at once. Below stands "
            "each loop that loads from global memory: the most loads under way at once, the "
            "loads, instructions and entries of a turn, to one item, the instructions of an "
            "entry, and what the loop is. * marks the hot one, and says what an entry is. From "
            "it a time is estimated, in microseconds: the launch, and the longest of memory (of "
            "caches "
            "if they hold all operands), bytes that items load (cache), multiply-adds by the data "
            "sheet (arithmetic, of dense products), instructions (issue) and waiting for loads "
            "(latency). It takes Python 3 and, "
            "for NVIDIA, clang with libclc, ptxas and nvdisasm ($WEFT_NVDISASM), for AMD clang "
            "with libclc, for Intel ocloc. What is missing is named; the rest is printed, and the "
            "exit status is 1, but for --profile all, which leaves out GPUs whose assembly is not "
            "read. $WEFT_ASSEMBLY_DIR names another folder of the programs that read "
            "the assembly.",
        .children = children,
    };
    *out =
        (explain_options){.dtype = WEFT_F32, .nnz = -1, .density = 0.1, .cov = -1, .norm_axes = 1};
    argp_parse(&parser, argc, argv, 0, NULL, out);
}
