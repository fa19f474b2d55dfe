// SPDX-License-Identifier: Apache-2.0
// Operations as weft explain rehearses them: operands from shapes, the call, and what it moves and
// computes at least.
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/matmul.h>
#include <weft/norm.h>
#include <weft/sddmm.h>
#include <weft/softmax.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_softmax.h>

#include "bench_operand.h"
#include "dense_job.h"
#include "explain.h"
#include "formula.h"
#include "generate.h"
#include "sparse.h"

enum { SEED = 1 };

// One rehearsal under way.
typedef struct stage {
    const explain_problem *problem;
    const explain_options *options;
    weft_context *ctx;
    explanation *answer;
    complaint *why;
} stage;

// ---- operands

static void say(stage *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Adds to the operands in words.
static void say(stage *s, const char *format, ...)
{
    char *text = s->answer->operands;
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, sizeof(s->answer->operands) - length, format, arguments);
    va_end(arguments);
}

// "8x2048x64t" as a shape; *turned where it ends with a t.
static bool take_shape(int *ndim, int64_t shape[WEFT_MAX_NDIM], bool *turned, const char *text,
                       complaint *why)
{
    const char *next = text;
    double count = 1;
    *turned = false;
    for (*ndim = 0; *ndim < WEFT_MAX_NDIM; next++) {
        char *end;
        errno = 0;
        const long long extent = isdigit((unsigned char)*next) ? strtoll(next, &end, 10) : -1;
        if (extent < 0 || errno == ERANGE)
            break;
        shape[(*ndim)++] = extent;
        count *= (double)extent;
        *turned = *end == 't' && *ndim >= 2;
        next = end + *turned;
        if (*next == '\0')
            return count < 0x1p60 || complain(why, "'%s' has 2^60 elements or more", text);
        if (*next != 'x' || *turned)
            break;
    }
    return complain(why, "'%s' is no shape of up to %d extents, such as 8x2048x64", text,
                    WEFT_MAX_NDIM);
}

// A view of a buffer of the rehearsal, row-major but for its last two axes where `turned`.
static weft_tensor view_of(stage *s, weft_dtype dtype, int ndim, const int64_t *shape, bool turned)
{
    weft_tensor view = bench_view(weft_rehearsal_buffer(s->ctx, NULL), dtype, ndim, shape);
    if (turned) {
        weft_tensor stored = view;
        stored.shape[ndim - 2] = shape[ndim - 1];
        stored.shape[ndim - 1] = shape[ndim - 2];
        stored = bench_view(view.buffer, dtype, ndim, stored.shape);
        view = weft_tensor_transposed(&stored);
    }
    s->answer->bytes += (double)bench_view_bytes(&view);
    return view;
}

// Word `i` of the command line as an operand; of fewer words a complaint.
static bool operand(weft_tensor *out, stage *s, int i, const char *name)
{
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool turned;
    char text[256];
    if (i >= s->options->n_words)
        return complain(s->why, "%s: the shape of %s is missing", s->options->words[0], name);
    if (!take_shape(&ndim, shape, &turned, s->options->words[i], s->why))
        return false;
    *out = view_of(s, s->options->dtype, ndim, shape, turned);
    say(s, "%s%s %s%s", s->answer->operands[0] ? ", " : "", name,
        dense_shape_text(ndim, shape, text, sizeof(text)), turned ? " turned" : "");
    return true;
}

static bool needs_axes(const stage *s, const weft_tensor *t, const char *name, int least, int most)
{
    return (t->ndim >= least && t->ndim <= most) ||
           complain(s->why, "%s: %s has %d axes; %d to %d are wanted", s->options->words[0], name,
                    t->ndim, least, most);
}

// The sparse operand; `values` where they are read.
static weft_csr sparse_operand(stage *s, const char *name, bool values)
{
    const weft_csr_host *host = &s->problem->sparse;
    const weft_dtype offset = host->offset_dtype ? host->offset_dtype : WEFT_I32;
    const weft_dtype index = host->index_dtype ? host->index_dtype : WEFT_I32;
    const double value_bytes = values ? (double)weft_dtype_size(s->options->dtype) : 0;
    s->answer->bytes += (double)(host->n_rows + 1) * (double)weft_dtype_size(offset) +
                        (double)host->nnz * ((double)weft_dtype_size(index) + value_bytes);
    say(s, "%s %" PRId64 " x %" PRId64 " with %" PRId64 " entries", name, host->n_rows,
        host->n_cols, host->nnz);
    return (weft_csr){
        .n_rows = host->n_rows,
        .n_cols = host->n_cols,
        .nnz = host->nnz,
        .offset_dtype = offset,
        .index_dtype = index,
        .dtype = s->options->dtype,
        .offsets = weft_rehearsal_buffer(s->ctx, host->offsets),
        .indices = weft_rehearsal_buffer(s->ctx, host->indices),
        .values = weft_rehearsal_buffer(s->ctx, NULL),
    };
}

// ---- the calls

static bool called(stage *s, weft_status status)
{
    return status == WEFT_OK || complain_weft(s->why);
}

// Once it has been called: its plan in words.
static bool described(stage *s, int length)
{
    return length >= 0 || complain_weft(s->why);
}

static bool no_words_after(const stage *s, int n)
{
    return s->options->n_words <= n || complain(s->why, "%s: one word too many: %s",
                                                s->options->words[0], s->options->words[n]);
}

#define PLAN_TEXT s->answer->plan, sizeof(s->answer->plan)

static bool run_spmm(stage *s, const weft_csr *A, const weft_tensor *B, const weft_tensor *C)
{
    const explain_options *o = s->options;
    weft_spmm_plan *plan = NULL;
    if (!o->no_plan &&
        !called(s, weft_spmm_plan_create(&plan, s->ctx, NULL, A,
                                         WEFT_SPMM_PLAN(.transpose_a = o->transpose_a))))
        return false;
    const weft_spmm_params *params =
        WEFT_SPMM(.plan = plan, .transpose_a = o->transpose_a, .reduction = o->product_reduction);
    const bool done = called(s, weft_spmm(s->ctx, NULL, 1, A, B, 0, C, params)) &&
                      described(s, weft_spmm_describe(s->ctx, A, B, C, params, PLAN_TEXT));
    weft_spmm_plan_destroy(&plan);
    return done;
}

static bool explain_spmm(stage *s)
{
    weft_tensor B;
    const weft_csr A = sparse_operand(s, "A", true);
    if (!operand(&B, s, 2, "B") || !needs_axes(s, &B, "B", 2, 3) || !no_words_after(s, 3))
        return false;
    int64_t shape[3] = {B.shape[0], 0, B.shape[B.ndim - 1]};
    shape[B.ndim - 2] = s->options->transpose_a ? A.n_cols : A.n_rows;
    shape[B.ndim - 1] = B.shape[B.ndim - 1];
    const weft_tensor C = view_of(s, s->options->dtype, B.ndim, shape, false);
    const double n_batches = B.ndim == 3 ? (double)B.shape[0] : 1;
    s->answer->operations = 2 * (double)A.nnz * (double)B.shape[B.ndim - 1] * n_batches;
    return run_spmm(s, &A, &B, &C);
}

static bool explain_sddmm(stage *s)
{
    weft_tensor A, B;
    const weft_csr C = sparse_operand(s, "C", true);
    if (!operand(&A, s, 2, "A") || !operand(&B, s, 3, "B") || !needs_axes(s, &A, "A", 2, 3) ||
        !no_words_after(s, 4))
        return false;
    const int64_t shape[2] = {A.ndim == 3 ? A.shape[0] : C.nnz, C.nnz};
    const weft_tensor D = view_of(s, s->options->dtype, A.ndim - 1, shape, false);
    const double n_batches = A.ndim == 3 ? (double)A.shape[0] : 1;
    s->answer->operations = (2 * (double)A.shape[A.ndim - 1] + 1) * (double)C.nnz * n_batches;
    return called(s, weft_sddmm(s->ctx, NULL, 1, &A, &B, &C, 0, &D, NULL)) &&
           described(s, weft_sddmm_describe(s->ctx, &A, &B, &C, &D, NULL, PLAN_TEXT));
}

// Of each element: the largest, what it differs from it, the exponential, its sum, the quotient.
enum { SOFTMAX_OPERATIONS = 5 };

static bool explain_sparse_softmax(stage *s)
{
    const weft_csr X = sparse_operand(s, "X", true);
    const weft_tensor Y = view_of(s, s->options->dtype, 1, &X.nnz, false);
    s->answer->bytes -= (double)X.nnz * (double)weft_dtype_size(X.index_dtype); // never read
    s->answer->operations = SOFTMAX_OPERATIONS * (double)X.nnz;
    return no_words_after(s, 2) && called(s, weft_sparse_softmax(s->ctx, NULL, 1, &X, &Y, NULL)) &&
           described(s, weft_sparse_softmax_describe(s->ctx, &X, &Y, NULL, PLAN_TEXT));
}

static bool explain_attention(stage *s)
{
    weft_tensor Q, V;
    const weft_csr M = sparse_operand(s, "M", false);
    if (!operand(&Q, s, 2, "Q") || !needs_axes(s, &Q, "Q", 2, 4) || !no_words_after(s, 4))
        return false;
    int64_t shape[WEFT_MAX_NDIM];
    memcpy(shape, Q.shape, sizeof(shape));
    const int last = Q.ndim - 1;
    shape[last - 1] = M.n_cols;
    const weft_tensor K = view_of(s, s->options->dtype, Q.ndim, shape, false);
    if (s->options->n_words < 4)
        V = view_of(s, s->options->dtype, Q.ndim, shape, false);
    else if (!operand(&V, s, 3, "V") || !needs_axes(s, &V, "V", Q.ndim, Q.ndim))
        return false;
    shape[last - 1] = M.n_rows;
    shape[last] = V.shape[last];
    const weft_tensor O = view_of(s, s->options->dtype, Q.ndim, shape, false);
    double heads = 1;
    for (int d = 0; d < last - 1; d++)
        heads *= (double)Q.shape[d];
    s->answer->operations =
        (2 * (double)Q.shape[last] + 2 * (double)V.shape[last] + SOFTMAX_OPERATIONS) *
        (double)M.nnz * heads;
    return called(s, weft_sparse_attention(s->ctx, NULL, 1, &Q, &K, &V, &M, &O, NULL)) &&
           described(s,
                     weft_sparse_attention_describe(s->ctx, &Q, &K, &V, &M, &O, NULL, PLAN_TEXT));
}

static double elements_of(const weft_tensor *view)
{
    return (double)(bench_view_bytes(view) / weft_dtype_size(view->dtype));
}

static weft_dtype reduced_dtype(weft_reduction op, weft_dtype dtype)
{
    const bool is_place = op == WEFT_ARGMIN || op == WEFT_ARGMAX;
    return is_place ? WEFT_I64 : op == WEFT_ANY || op == WEFT_ALL ? WEFT_U8 : dtype;
}

static bool explain_reduce(stage *s)
{
    const explain_options *o = s->options;
    weft_tensor X;
    int64_t shape[WEFT_MAX_NDIM];
    if (!operand(&X, s, 1, "X") || !no_words_after(s, 2))
        return false;
    for (int i = 0; i < o->n_axes; i++)
        if (o->axes[i] < -X.ndim || o->axes[i] >= X.ndim)
            return complain(s->why, "reduce: there is no axis %d, X has %d", o->axes[i], X.ndim);
    const int ndim = reference_reduced_shape(X.ndim, X.shape, o->n_axes, o->axes, false, shape);
    const weft_tensor Y = view_of(s, reduced_dtype(o->reduction, o->dtype), ndim, shape, false);
    s->answer->operations = elements_of(&X);
    return called(s, weft_reduce(s->ctx, NULL, o->reduction, &X, o->n_axes, o->axes, &Y, NULL)) &&
           described(s, weft_reduce_describe(s->ctx, o->reduction, &X, o->n_axes, o->axes, &Y, NULL,
                                             PLAN_TEXT));
}

static bool explain_softmax(stage *s)
{
    const explain_options *o = s->options;
    weft_tensor X;
    const int axis = o->n_axes > 0 ? o->axes[0] : -1;
    if (!operand(&X, s, 1, "X") || !no_words_after(s, 2))
        return false;
    if (o->n_axes > 1)
        return complain(s->why, "softmax: %d axes; one is wanted", o->n_axes);
    const weft_tensor Y = view_of(s, o->dtype, X.ndim, X.shape, false);
    s->answer->operations = SOFTMAX_OPERATIONS * elements_of(&X);
    return called(s, (o->is_log ? weft_log_softmax : weft_softmax)(s->ctx, NULL, 1, &X, axis, &Y,
                                                                   NULL)) &&
           described(s, (o->is_log ? weft_log_softmax_describe
                                   : weft_softmax_describe)(s->ctx, &X, axis, &Y, NULL, PLAN_TEXT));
}

// Of each element: its share of the mean, the difference from it, the square of that and its share
// of the variance, the product; without a mean two less.
enum { NORM_OPERATIONS = 5, RMS_OPERATIONS = 3 };

static bool explain_norm(stage *s)
{
    const explain_options *o = s->options;
    weft_tensor X;
    if (!operand(&X, s, 1, "X") || !no_words_after(s, 2))
        return false;
    const weft_tensor Y = view_of(s, o->dtype, X.ndim, X.shape, false);
    s->answer->operations = (o->is_rms ? RMS_OPERATIONS : NORM_OPERATIONS) * elements_of(&X);
    return called(s, (o->is_rms ? weft_rms_norm : weft_layer_norm)(s->ctx, NULL, 1e-5, &X,
                                                                   o->norm_axes, &Y, NULL)) &&
           described(s, weft_norm_describe(s->ctx, &X, o->norm_axes, &Y, NULL, PLAN_TEXT));
}

// The shape of A's and B's product; batches broadcast.
static int product_shape(int64_t shape[WEFT_MAX_NDIM], const weft_tensor *A, const weft_tensor *B)
{
    const weft_tensor *longer = A->ndim >= B->ndim ? A : B, *shorter = longer == A ? B : A;
    const int more = longer->ndim - shorter->ndim;
    memcpy(shape, longer->shape, sizeof(longer->shape));
    for (int d = 0; d < shorter->ndim; d++)
        if (shape[more + d] == 1)
            shape[more + d] = shorter->shape[d];
    shape[longer->ndim - 2] = A->shape[A->ndim - 2];
    shape[longer->ndim - 1] = B->shape[B->ndim - 1];
    return longer->ndim;
}

static bool explain_matmul(stage *s)
{
    weft_tensor A, B;
    int64_t shape[WEFT_MAX_NDIM];
    if (!operand(&A, s, 1, "A") || !operand(&B, s, 2, "B") || !no_words_after(s, 3) ||
        !needs_axes(s, &A, "A", 2, WEFT_MAX_NDIM) || !needs_axes(s, &B, "B", 2, WEFT_MAX_NDIM))
        return false;
    const int ndim = product_shape(shape, &A, &B);
    const weft_tensor C = view_of(s, s->options->dtype, ndim, shape, false);
    s->answer->operations = 2 * elements_of(&C) * (double)A.shape[A.ndim - 1];
    return called(s, weft_matmul(s->ctx, NULL, 1, &A, &B, 0, &C, NULL)) &&
           described(s, weft_matmul_describe(s->ctx, &A, &B, &C, NULL, PLAN_TEXT));
}

// Operators and functions of a formula, as they are written.
static int formula_operations(const char *formula)
{
    int n = 0;
    for (const char *c = formula; *c != '\0'; c++) {
        if (isalnum((unsigned char)*c) || *c == '_' || *c == '.') {
            const char *end = c + strspn(c, "0123456789.");
            const bool is_number = end > c && (*end == 'e' || *end == 'E');
            end += is_number ? 1 + (end[1] == '-' || end[1] == '+') : 0; // not an operator
            while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
                end++;
            n += end[strspn(end, " ")] == '(';
            c = end - 1;
        } else if (strchr("+-*/%<>=!&|^?~", *c) != NULL) {
            n++;
            while (c[1] != '\0' && strchr("=<>&|*", c[1]) != NULL)
                c++;
        }
    }
    return n;
}

// NAME=SHAPE and NAME=NUMBER after the formula; names are cut out of a copy of the words.
typedef struct formula_operands {
    char text[EXPLAIN_WORDS][128];
    int n_inputs, n_values;
    weft_tensor tensors[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_input inputs[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
} formula_operands;

static bool take_named(formula_operands *out, stage *s, int i)
{
    char *text = out->text[i], *end;
    snprintf(text, sizeof(out->text[i]), "%s", s->options->words[i]);
    char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0')
        return complain(s->why, "'%s' is neither NAME=SHAPE nor NAME=NUMBER", text);
    *equals = '\0';
    const double value = strtod(equals + 1, &end);
    const bool is_number = *end == '\0' && strchr(equals + 1, 'x') == NULL; // 0x3 is a shape
    if (is_number && out->n_values == WEFT_ELEMENTWISE_VALUES)
        return complain(s->why, "elementwise: more than %d numbers", out->n_values);
    if (is_number) {
        out->values[out->n_values++] = (weft_elementwise_value){text, value};
        say(s, ", %s = %g", text, value);
        return true;
    }
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool turned;
    char words[256];
    if (out->n_inputs == WEFT_ELEMENTWISE_INPUTS)
        return complain(s->why, "elementwise: more than %d arrays", out->n_inputs);
    if (!take_shape(&ndim, shape, &turned, equals + 1, s->why))
        return false;
    say(s, ", %s %s%s", text, dense_shape_text(ndim, shape, words, sizeof(words)),
        turned ? " turned" : "");
    weft_tensor *tensor = &out->tensors[out->n_inputs];
    *tensor = view_of(s, s->options->dtype, ndim, shape, turned);
    out->inputs[out->n_inputs++] = (weft_elementwise_input){text, tensor};
    return true;
}

// The shape that the inputs broadcast to; where they do not, the call says so.
static weft_tensor broadcast_output(stage *s, const formula_operands *of)
{
    weft_tensor Y = {.ndim = 0};
    for (int i = 0; i < of->n_inputs; i++)
        Y.ndim = of->tensors[i].ndim > Y.ndim ? of->tensors[i].ndim : Y.ndim;
    for (int d = 0; d < Y.ndim; d++)
        Y.shape[d] = 1;
    for (int i = 0; i < of->n_inputs; i++) {
        const weft_tensor *x = &of->tensors[i];
        for (int d = 0; d < x->ndim; d++)
            if (x->shape[d] != 1)
                Y.shape[Y.ndim - x->ndim + d] = x->shape[d];
    }
    return view_of(s, s->options->dtype, Y.ndim, Y.shape, false);
}

static bool explain_elementwise(stage *s)
{
    formula_operands of = {.n_inputs = 0};
    if (s->options->n_words < 2)
        return complain(s->why, "elementwise: the formula is missing");
    const char *formula = s->options->words[1];
    say(s, "%s", formula);
    for (int i = 2; i < s->options->n_words; i++)
        if (!take_named(&of, s, i))
            return false;
    const weft_tensor Y = broadcast_output(s, &of);
    const weft_elementwise_output output = {formula, &Y};
    const weft_elementwise_params *params =
        WEFT_ELEMENTWISE(.n_values = of.n_values, .values = of.values);
    s->answer->operations = formula_operations(formula) * elements_of(&Y);
    return called(s, weft_elementwise(s->ctx, NULL, of.n_inputs, of.inputs, 1, &output, params)) &&
           described(s, weft_elementwise_describe(s->ctx, of.n_inputs, of.inputs, 1, &output,
                                                  params, PLAN_TEXT));
}

// ---- which

typedef struct operation_row {
    const char *name;
    bool is_sparse;
    bool (*explain)(stage *s);
} operation_row;

static const operation_row operations[] = {
    {"spmm", true, explain_spmm},
    {"sddmm", true, explain_sddmm},
    {"sparse_softmax", true, explain_sparse_softmax},
    {"attention", true, explain_attention},
    {"reduce", false, explain_reduce},
    {"softmax", false, explain_softmax},
    {"norm", false, explain_norm},
    {"elementwise", false, explain_elementwise},
    {"matmul", false, explain_matmul},
};

static const operation_row *find_operation(const char *name)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

// With its entries. A layer has a row and a column at least.
static bool make_pattern(weft_csr_host *out, const explain_options *options, const int64_t *shape,
                         int64_t nnz, complaint *why)
{
    if (shape[0] > INT32_MAX || shape[1] > INT32_MAX || nnz > INT32_MAX)
        return complain(why,
                        "%s: with a plan up to %" PRId32 " rows, columns and entries are made up, "
                        "not %" PRId64 "; --no-plan goes without",
                        options->words[1], INT32_MAX, nnz);
    const generate_layer layer = {.m = shape[0] > 0 ? shape[0] : 1,
                                  .k = shape[1] > 0 ? shape[1] : 1,
                                  .nnz = nnz,
                                  .cov = options->cov,
                                  .dtype = options->dtype,
                                  .seed = SEED};
    if (!generate_layer_csr(out, &layer, why))
        return false;
    out->n_rows = shape[0];
    out->n_cols = shape[1];
    return true;
}

// From sizes: only a plan of SpMM looks at where entries are.
static bool make_sparse(weft_csr_host *out, const explain_options *options, complaint *why)
{
    const char *text = options->words[1];
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    bool turned;
    if (sparse_is_known(text))
        return sparse_read(out, text, options->dtype, SEED, why);
    if (!take_shape(&ndim, shape, &turned, text, why))
        return false;
    if (ndim != 2 || turned)
        return complain(why, "%s: a sparse shape has two extents, rows and columns", text);
    const double all = (double)shape[0] * (double)shape[1];
    const int64_t nnz = options->nnz >= 0 ? options->nnz : (int64_t)llround(options->density * all);
    if ((double)nnz > all)
        return complain(why, "%s: has no room for %" PRId64 " entries", text, nnz);
    if (strcmp(options->words[0], "spmm") == 0 && !options->no_plan)
        return make_pattern(out, options, shape, nnz, why);
    *out = (weft_csr_host){.n_rows = shape[0], .n_cols = shape[1], .nnz = nnz};
    out->offset_dtype = nnz > INT32_MAX ? WEFT_I64 : WEFT_I32;
    return true;
}

bool explain_problem_make(explain_problem *out, const explain_options *options, complaint *why)
{
    const operation_row *operation = find_operation(options->words[0]);
    *out = (explain_problem){.options = options};
    if (operation == NULL)
        return complain(why, "there is no operation '%s'; `weft explain --help' lists them",
                        options->words[0]);
    if (!operation->is_sparse)
        return true;
    if (options->n_words < 2)
        return complain(why, "%s: the sparse shape is missing", operation->name);
    return make_sparse(&out->sparse, options, why);
}

void explain_problem_free(explain_problem *problem)
{
    if (problem->sparse.offsets != NULL)
        weft_csr_host_destroy(&problem->sparse);
}

bool explain_rehearse(explanation *out, const explain_problem *problem, weft_context *ctx,
                      const weft_context *real, complaint *why)
{
    const explain_options *options = problem->options;
    *out = (explanation){.limits = weft_context_limits(ctx),
                         .device = weft_context_limits(real != NULL ? real : ctx),
                         .dtype = options->dtype};
    stage s = {.problem = problem, .options = options, .ctx = ctx, .answer = out, .why = why};
    if (weft_rehearsal_begin(ctx) != WEFT_OK)
        return complain_weft(why);
    const bool done = find_operation(options->words[0])->explain(&s);
    out->told = weft_rehearsal_end(ctx);
    return done && (out->told != NULL || complain(why, "no memory to write down a rehearsal"));
}
