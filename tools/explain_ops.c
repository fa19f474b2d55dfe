// SPDX-License-Identifier: Apache-2.0
// The operations of weft explain, and their sparse operands, which are made once.
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "explain_stage.h"
#include "generate.h"
#include "operand.h"

enum { SEED = 1 };

static const double USUAL_COV = 0.1;

static const explain_operation *find_operation(const char *name)
{
    static const explain_operation *const lists[] = {
        explain_sparse_operations,
        explain_format_operations,
        explain_dense_operations,
        explain_elementwise_operations,
    };
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        for (const explain_operation *at = lists[i]; at->name != NULL; at++)
            if (strcmp(at->name, name) == 0)
                return at;
    return NULL;
}

// With its entries. A layer has a row and a column at least.
static bool make_pattern(weft_csr_host *out, const explain_options *options, const char *text,
                         const int64_t *shape, int64_t nnz, complaint *why)
{
    if (shape[0] > INT32_MAX || shape[1] > INT32_MAX || nnz > INT32_MAX)
        return complain(
            why,
            "%s: with a plan at most %" PRId32
            " rows, columns and entries can be generated; use --no-plan if the operation has it",
            text, INT32_MAX);
    generate_layer layer = {.m = shape[0] > 0 ? shape[0] : 1,
                            .k = shape[1] > 0 ? shape[1] : 1,
                            .nnz = nnz,
                            .seed = SEED};
    const double most = generate_layer_max_cov(&layer);
    if (options->cov > 0 && options->cov >= most)
        return complain(why, "--cov: %s of density %.3g has rows that vary by less than %.3g", text,
                        (double)nnz / ((double)layer.m * (double)layer.k), most);
    layer.cov = options->cov >= 0 ? options->cov : fmin(USUAL_COV, 0.9 * most);
    if (!generate_layer_csr(out, &layer, why))
        return false;
    out->n_rows = shape[0];
    out->n_cols = shape[1];
    return true;
}

// A word that is not a shape, if there is a file of that name.
static bool is_file(const char *text)
{
    return format_is_sparse(text) || strcmp(text, "-") == 0 ||
           (!isdigit((unsigned char)*text) && access(text, F_OK) == 0);
}

// From a file, or from sizes. Values are not read, and stay f32.
static bool make_sparse(weft_csr_host *out, const explain_options *options, const char *text,
                        bool wants_pattern, complaint *why)
{
    int ndim;
    int64_t shape[WEFT_MAX_NDIM] = {0};
    bool transposed;
    if (is_file(text))
        return operand_read_sparse(out, text, OPERAND(.dtype = WEFT_F32, .seed = SEED), why);
    if (!stage_shape(&ndim, shape, &transposed, text, why))
        return false;
    if (ndim != 2 || transposed)
        return complain_usage(why, "%s: a sparse shape has two extents, rows and columns", text);
    const double all = (double)shape[0] * (double)shape[1];
    const int64_t nnz = options->nnz >= 0 ? options->nnz : (int64_t)llround(options->density * all);
    if ((double)nnz > all)
        return complain(why, "%s: has no room for %" PRId64 " entries", text, nnz);
    if (wants_pattern && !options->no_plan)
        return make_pattern(out, options, text, shape, nnz, why);
    *out = (weft_csr_host){.n_rows = shape[0], .n_cols = shape[1], .nnz = nnz};
    out->offset_dtype = nnz > INT32_MAX ? WEFT_I64 : WEFT_I32;
    return true;
}

static bool has_shape(const explain_operation *operation, const explain_options *options, int i,
                      complaint *why)
{
    static const char *const which[EXPLAIN_SPARSE] = {"the", "the second", "the third"};
    return options->n_words > 1 + i ||
           complain_usage(why, "%s: %s sparse shape is missing", operation->name, which[i]);
}

bool explain_problem_make(explain_problem *out, const explain_options *options, complaint *why)
{
    const explain_operation *operation = find_operation(options->words[0]);
    *out = (explain_problem){.options = options};
    if (operation == NULL)
        return complain_usage(why, "there is no operation '%s'; `weft explain --help' lists them",
                              options->words[0]);
    bool done = true;
    for (int i = 0; i < operation->n_sparse && done; i++)
        done = stage_is_dense(options, i) ||
               (has_shape(operation, options, i, why) &&
                make_sparse(&out->sparse[i], options, options->words[1 + i],
                            operation->wants_pattern, why));
    if (!done)
        explain_problem_free(out);
    return done;
}

void explain_problem_free(explain_problem *problem)
{
    for (int i = 0; i < EXPLAIN_SPARSE; i++)
        if (problem->sparse[i].offsets != NULL)
            weft_csr_host_destroy(&problem->sparse[i]);
}

bool explain_rehearse(explanation *out, const explain_problem *problem, weft_context *ctx,
                      const weft_context *real, complaint *why)
{
    const explain_options *options = problem->options;
    *out = (explanation){.limits = weft_context_limits(ctx),
                         .device = weft_context_limits(real != NULL ? real : ctx),
                         .dtype = options->dtype,
                         .arithmetic = options->dtype};
    explain_stage s = {
        .problem = problem, .options = options, .ctx = ctx, .answer = out, .why = why};
    if (weft_rehearsal_begin(ctx) != WEFT_OK)
        return complain_weft(why);
    const bool done = find_operation(options->words[0])->explain(&s);
    weft_spmm_plan_destroy(&s.plan);
    out->record = weft_rehearsal_end(ctx);
    return done && (out->record != NULL || complain(why, "no memory to record a rehearsal"));
}
