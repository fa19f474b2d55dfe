// SPDX-License-Identifier: Apache-2.0
// Shared by the operations of weft explain: operands from words of the command line, which are
// described and counted as they are made, and the result of a call.
#ifndef WEFT_TOOLS_EXPLAIN_STAGE_H
#define WEFT_TOOLS_EXPLAIN_STAGE_H

#include "explain.h"

// One rehearsal in progress.
typedef struct explain_stage {
    const explain_problem *problem;
    const explain_options *options;
    weft_context *ctx;
    explanation *answer;
    complaint *why;
    weft_spmm_plan *plan; // NULL, or the operation's; destroyed after it
} explain_stage;

// An operation of the command line. Its sparse operands are the first words after it, except those
// in --dense.
typedef struct explain_operation {
    const char *name;
    int n_sparse;
    bool wants_pattern; // reads positions of entries, unless --no-plan
    bool (*explain)(explain_stage *s);
} explain_operation;

// By file; the last of each has no name.
extern const explain_operation explain_sparse_operations[], explain_format_operations[],
    explain_dense_operations[], explain_elementwise_operations[];

// ---- operands

// Adds to the operands in words.
void stage_say(explain_stage *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "8x2048x64t" as a shape; *transposed where it ends with a t.
bool stage_shape(int *ndim, int64_t shape[WEFT_MAX_NDIM], bool *transposed, const char *text,
                 complaint *why);

// A view of a buffer of the rehearsal, row-major but for its last two axes where `transposed`. Its
// bytes are counted.
weft_tensor stage_view(explain_stage *s, weft_dtype dtype, int ndim, const int64_t *shape,
                       bool transposed);
double stage_elements(const weft_tensor *view);

// Word `i` of the command line as such a view, of --dtype; of fewer words a complaint.
bool stage_operand(weft_tensor *out, explain_stage *s, int i, const char *name);

// A sparse matrix of these sizes; bytes of the named arrays are counted.
enum { STAGE_OFFSETS = 1, STAGE_INDICES = 2, STAGE_VALUES = 4, STAGE_ALL = 7 };
weft_csr stage_csr(explain_stage *s, const weft_csr_host *host, unsigned arrays);

// That of word 1 + i of the command line.
weft_csr stage_sparse(explain_stage *s, int i, const char *name, unsigned arrays);

// Whether --dense names that word, which then is a dense operand.
bool stage_is_dense(const explain_options *options, int i);

// Rows of the first sparse operand that have entries; from sizes as many as there could be.
int64_t stage_stored_rows(const explain_stage *s);

bool stage_has_axes(const explain_stage *s, const weft_tensor *t, const char *name, int least,
                    int most);
bool stage_ends_at(const explain_stage *s, int n); // no words after that many

// ---- operations

// Of each element: the maximum, the difference from it, the exponential, its sum, the quotient. Of
// a gradient: the product of both operands, its sum, the difference from that, the product; or the
// sum, the exponential, the product, the difference.
enum { SOFTMAX_OPERATIONS = 5, SOFTMAX_BACKWARD_OPERATIONS = 4 };

// ---- the call

bool stage_called(explain_stage *s, weft_status status);
bool stage_described(explain_stage *s, int length); // its plan in words

#define STAGE_PLAN(s) (s)->answer->plan, sizeof((s)->answer->plan)

#endif
