// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B^T) .* C + beta D at the entries of C, A or B sparse: checks, plan, defines,
// arguments, enqueue.
#include <weft/sddmm_sparse.h>

#include <inttypes.h>
#include <stdio.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "base/dtype.h"
#include "base/params.h"
#include "op/items.h"
#include "op/op.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "runtime/parameters.h"
#include "sparse/sddmm_sparse_parameters.h"
#include "sparse/sddmm_sparse_plan.h"
#include "sparse/sparse_limits.h"

static const char op[] = "sddmm_sparse";

// Operands. Each factor is either dense or the sparse one after it. C's values are unread where it
// is an indicator.
enum { DENSE_A, SPARSE_A, DENSE_B, SPARSE_B, PATTERN_C, RESULT_D };

enum { LEAST_VECTOR_WIDTH = 4, MOST_VECTOR_WIDTH = 8 };

// What a call says besides its operands.
typedef struct {
    double alpha, beta;
} numbers;

typedef struct {
    weft_state head;
    weft_sddmm_sparse_problem problem;
    weft_sddmm_sparse_tiling tiling; // from the check if forced, else from the plan
    int most;                        // elements of a row of A in one part
    size_t value_bytes, known_bytes; // of a row of A in local memory, and of its columns or flags
    weft_kernel *kernel;
} state;

// ---- checks

// Sizes and data type of a factor, dense or sparse.
typedef struct {
    int64_t n_rows, n_cols, nnz;
    weft_dtype dtype;
} factor_form;

static factor_form form_of(const weft_call *call, int dense)
{
    const weft_tensor *X = weft_call_tensor(call, dense);
    const weft_csr *S = weft_call_csr(call, dense + 1);
    return X ? (factor_form){X->shape[0], X->shape[1], 0, weft_dtype_or(X->dtype, WEFT_F32)}
             : (factor_form){S->n_rows, S->n_cols, S->nnz, weft_dtype_or(S->dtype, WEFT_F32)};
}

static weft_status rank_check(const weft_tensor *t, const char *name, int ndim)
{
    if (t && t->ndim != ndim)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions; %d %s wanted", op, name, t->ndim,
                    ndim, ndim == 1 ? "is" : "are");
    return WEFT_OK;
}

static weft_status shapes_check(const factor_form *A, const factor_form *B, const weft_csr *C)
{
    if (A->n_cols != B->n_cols)
        return fail(WEFT_BAD_SHAPE, "%s: A is %" PRId64 " x %" PRId64 ", B has %" PRId64 " columns",
                    op, A->n_rows, A->n_cols, B->n_cols);
    if (C->n_rows != A->n_rows || C->n_cols != B->n_rows)
        return fail(WEFT_BAD_SHAPE,
                    "%s: A B^T is %" PRId64 " x %" PRId64 ", C is %" PRId64 " x %" PRId64, op,
                    A->n_rows, B->n_rows, C->n_rows, C->n_cols);
    if (C->n_rows > WEFT_SPARSE_MAX_EXTENT || C->n_cols > WEFT_SPARSE_MAX_EXTENT ||
        A->n_cols > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE,
                    "%s: m %" PRId64 ", n %" PRId64 ", k %" PRId64 "; at most %d each", op,
                    C->n_rows, C->n_cols, A->n_cols, WEFT_SPARSE_MAX_EXTENT);
    if (C->nnz > 0 && (C->n_rows == 0 || C->n_cols == 0))
        return fail(WEFT_BAD_SHAPE, "%s: C has %" PRId64 " entries, but no %s", op, C->nnz,
                    C->n_rows == 0 ? "rows" : "columns");
    return WEFT_OK;
}

static weft_status dtypes_check(const factor_form *A, const factor_form *B, const weft_csr *C)
{
    const weft_dtype c = weft_dtype_or(C->dtype, WEFT_F32);
    if (A->dtype != B->dtype || A->dtype != c)
        return fail(WEFT_BAD_DTYPE, "%s: A is %s, B %s, C %s; all three must be the same", op,
                    weft_dtype_name(A->dtype), weft_dtype_name(B->dtype), weft_dtype_name(c));
    return WEFT_OK;
}

static weft_status operands_check(const weft_call *call)
{
    const weft_csr *C = weft_call_csr(call, PATTERN_C);
    const weft_tensor *D = weft_call_tensor(call, RESULT_D);
    TRY(rank_check(weft_call_tensor(call, DENSE_A), "A", 2));
    TRY(rank_check(weft_call_tensor(call, DENSE_B), "B", 2));
    const factor_form A = form_of(call, DENSE_A), B = form_of(call, DENSE_B);
    TRY(shapes_check(&A, &B, C));
    TRY(dtypes_check(&A, &B, C));
    TRY(rank_check(D, "D", 1));
    return weft_csr_results_check(call->ctx, D, "D", C, "C", op);
}

static weft_sddmm_sparse_problem problem_of(const weft_call *call)
{
    const weft_csr *C = weft_call_csr(call, PATTERN_C);
    const factor_form A = form_of(call, DENSE_A), B = form_of(call, DENSE_B);
    return (weft_sddmm_sparse_problem){
        .m = C->n_rows,
        .n = C->n_cols,
        .k = A.n_cols,
        .nnz = C->nnz,
        .a_nnz = A.nnz,
        .b_nnz = B.nnz,
        .a_sparse = call->operands[SPARSE_A] != NULL,
        .b_sparse = call->operands[SPARSE_B] != NULL,
        .dtype = A.dtype,
    };
}

static weft_status check(void *memory, const weft_call *call)
{
    state *s = memory;
    TRY(operands_check(call));
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_sddmm_sparse_tiling_table,
                         "sddmm_sparse: tiling", call->tiling));
    s->problem = problem_of(call);
    s->head.is_empty = s->problem.nnz == 0;
    return WEFT_OK;
}

// ---- plan and defines

// A row of A in local memory: its elements, and a column or a flag for each place.
static void plan_row(state *s)
{
    const bool is_hashed = weft_sddmm_sparse_is_hashed(&s->tiling, &s->problem);
    const int64_t places =
        is_hashed ? weft_sddmm_sparse_places(&s->tiling, &s->problem) : s->tiling.columns;
    const size_t n = (size_t)max_i64(places, 1);
    s->most = weft_sddmm_sparse_most(&s->tiling, &s->problem);
    s->value_bytes = n * (size_t)weft_sum_bytes(s->problem.dtype);
    s->known_bytes = s->problem.a_sparse ? n * (is_hashed ? sizeof(cl_int) : 1) : 1;
}

static weft_status plan(void *memory, const weft_call *call, const weft_limits *limits)
{
    state *s = memory;
    if (s->head.is_forced)
        TRY(weft_sddmm_sparse_tiling_check(&s->tiling, &call->ctx->limits, &s->problem));
    else
        s->tiling = weft_sddmm_sparse_tiling_for(limits, &s->problem);
    s->head.group_items = (size_t)s->tiling.items;
    plan_row(s);
    return WEFT_OK;
}

// An item that is a group computes terms by vectors, whose lanes are filled one by one: more than
// eight gain nothing, and fewer than four do not fill a word of columns.
static int64_t vector_width_of(const state *s, const weft_call *call)
{
    const int64_t sum_bytes = weft_sum_bytes(s->problem.dtype);
    const int64_t vector_width =
        weft_limits_vector_width(&call->ctx->limits, sum_bytes, MOST_VECTOR_WIDTH);
    return s->tiling.items == 1 && vector_width >= LEAST_VECTOR_WIDTH ? vector_width : 1;
}

static bool is_indicator(const weft_call *call)
{
    return call->unread & 1u << PATTERN_C;
}

// Types of offsets and indices, also of a factor that has none.
static void add_words(weft_defines *defines, const weft_csr *csr, const char *offset,
                      const char *index)
{
    weft_defines_add_word(defines, offset, weft_word(csr ? csr->offset_dtype : WEFT_DEFAULT));
    weft_defines_add_word(defines, index, weft_word(csr ? csr->index_dtype : WEFT_DEFAULT));
}

static weft_status build(void *memory, const weft_call *call, size_t *most)
{
    state *s = memory;
    weft_defines defines = {.length = 0};
    weft_defines_add_dtype(&defines, "DTYPE", s->problem.dtype);
    weft_defines_add(&defines, "VECTOR_WIDTH", vector_width_of(s, call));
    weft_defines_add(&defines, "ITEMS", s->tiling.items);
    weft_defines_add(&defines, "LANES", s->tiling.lanes);
    weft_defines_add(&defines, "A_SPARSE", s->problem.a_sparse);
    weft_defines_add(&defines, "B_SPARSE", s->problem.b_sparse);
    weft_defines_add(&defines, "PARTS", weft_sddmm_sparse_has_parts(&s->tiling, &s->problem));
    weft_defines_add(&defines, "WAITING", WEFT_SDDMM_SPARSE_WAITING);
    weft_defines_add(&defines, "INDICATOR", is_indicator(call));
    if (weft_widens(s->problem.dtype, weft_call_tensor(call, RESULT_D)->dtype))
        weft_defines_add(&defines, "WIDE", 1);
    weft_defines_add_shuffles(&defines, call->ctx, s->tiling.lanes > 1);
    add_words(&defines, weft_call_csr(call, PATTERN_C), "OFFSET", "INDEX");
    add_words(&defines, weft_call_csr(call, SPARSE_A), "A_OFFSET", "A_INDEX");
    add_words(&defines, weft_call_csr(call, SPARSE_B), "B_OFFSET", "B_INDEX");
    return weft_kernel_narrow(&s->kernel, most, call->ctx, &weft_source_sddmm_sparse, &defines, op);
}

// ---- arguments and enqueue

typedef struct {
    SDDMM_SPARSE_ENTRIES_PARAMETERS(FIELD, )
} entries;

typedef struct {
    SDDMM_SPARSE_FACTOR_PARAMETERS(FIELD, , , , of)
} factor;

typedef struct {
    SDDMM_SPARSE_ENDING_PARAMETERS(FIELD, )
} ending;

static entries entries_of(const state *s, const weft_call *call)
{
    const weft_csr *C = weft_call_csr(call, PATTERN_C);
    const weft_tensor *D = weft_call_tensor(call, RESULT_D);
    return (entries){
        .n_rows = (cl_int)C->n_rows,
        .nnz = C->nnz,
        .offsets = C->offsets,
        .offsets_start = C->offsets_start,
        .indices = C->indices,
        .indices_start = C->indices_start,
        // In place of values that are not there another array is passed, which is not read.
        .values = is_indicator(call) ? C->indices : C->values,
        .values_start = C->values_start,
        .D = D->buffer,
        .d_start = D->offset,
        .entries = s->tiling.entries,
        .k = (cl_int)s->problem.k,
        .most = s->most,
    };
}

// The array, or where it is not there or not needed another one.
static cl_mem array_or(cl_mem array, cl_mem other)
{
    return array ? array : other;
}

static factor factor_of(const weft_call *call, int dense)
{
    const cl_mem other = weft_call_csr(call, PATTERN_C)->indices;
    const weft_tensor *X = weft_call_tensor(call, dense);
    const weft_csr *S = weft_call_csr(call, dense + 1);
    if (X)
        return (factor){
            .of_offsets = other,
            .of_indices = other,
            .of_values = array_or(X->buffer, other),
            .of_values_start = X->offset,
            .of_row = X->stride[0],
            .of_column = X->stride[1],
        };
    return (factor){
        .of_offsets = array_or(S->offsets, other),
        .of_offsets_start = S->offsets_start,
        .of_indices = array_or(S->indices, other),
        .of_indices_start = S->indices_start,
        .of_values = array_or(S->values, other),
        .of_values_start = S->values_start,
    };
}

static void add_factor(weft_arguments *arguments, const factor *a)
{
    ADD_LISTED(arguments, SDDMM_SPARSE_FACTOR_PARAMETERS(LISTED, COMMA, , , of));
}

static void add_ending(weft_arguments *arguments, const ending *a)
{
    ADD_LISTED(arguments, SDDMM_SPARSE_ENDING_PARAMETERS(LISTED, COMMA));
}

static weft_status run(weft_launch *launch, const void *memory, const weft_call *call,
                       cl_mem scratch)
{
    const state *s = memory;
    const numbers *given = call->own;
    const weft_dtype dtype = s->problem.dtype;
    const factor A = factor_of(call, DENSE_A), B = factor_of(call, DENSE_B);
    const ending end = {
        .alpha = weft_number_of(dtype, s->problem.k > 0 ? given->alpha : 0),
        .beta = weft_number_of(dtype, given->beta),
        .row_values = s->value_bytes,
        .row_known = s->known_bytes,
    };
    const entries own = entries_of(s, call), *a = &own;
    weft_arguments arguments = {.n = 0};
    (void)scratch;
    ADD_LISTED(&arguments, SDDMM_SPARSE_ENTRIES_PARAMETERS(LISTED, COMMA));
    add_factor(&arguments, &A);
    add_factor(&arguments, &B);
    add_ending(&arguments, &end);
    return weft_items_enqueue(launch, s->kernel, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){ceil_div(s->problem.nnz, s->tiling.entries)});
}

static int print(const void *memory, const weft_call *call, char *text, size_t size)
{
    const state *s = memory;
    (void)call;
    return s->problem.k == 0 ? snprintf(text, size, "D = beta D")
                             : weft_sddmm_sparse_tiling_print(&s->tiling, text, size);
}

// ---- calls

static const weft_op sddmm_sparse = {
    .name = op,
    .n_operands = 6,
    .operands =
        {[DENSE_A] = {.name = "A", .access = WEFT_READS_VALUES, .is_optional = true},
         [SPARSE_A] =
             {.name = "A", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR, .is_optional = true},
         [DENSE_B] = {.name = "B", .access = WEFT_READS_VALUES, .is_optional = true},
         [SPARSE_B] =
             {.name = "B", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR, .is_optional = true},
         [PATTERN_C] = {.name = "C", .kind = WEFT_OPERAND_CSR, .access = WEFT_READS_CSR},
         [RESULT_D] = {.name = "D", .access = WEFT_WRITES_VALUES, .may_be = 1u << PATTERN_C}},
    .state_bytes = sizeof(state),
    .check = check,
    .plan = plan,
    .build = build,
    .run = run,
    .print = print,
};

typedef struct {
    weft_call call;
    numbers own;
} request;

static weft_status kind_check(const weft_factor *given, const char *name)
{
    if (!given)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", op, name);
    if (!given->dense == !given->sparse)
        return fail(WEFT_BAD_ARGUMENT, "%s: %s is %s: one of both is wanted", op, name,
                    given->dense ? "dense and sparse" : "neither dense nor sparse");
    return WEFT_OK;
}

// The factors determine which operands are there, and are checked first.
static weft_status factors_check(const weft_context *ctx, const weft_factor *A,
                                 const weft_factor *B)
{
    TRY(weft_context_check(ctx, op));
    TRY(kind_check(A, "A"));
    TRY(kind_check(B, "B"));
    if (A->dense && B->dense)
        return fail(WEFT_BAD_ARGUMENT, "%s: A and B are both dense: weft_sddmm() is for these", op);
    return WEFT_OK;
}

static weft_status request_of(request *r, weft_context *ctx, double alpha, const weft_factor *A,
                              const weft_factor *B, const weft_csr *C, double beta,
                              const weft_tensor *D, const weft_sddmm_sparse_params *params)
{
    weft_sddmm_sparse_params own;
    TRY(PARAMS_READ(&own, params, op, "WEFT_SDDMM_SPARSE"));
    TRY(factors_check(ctx, A, B));
    r->own = (numbers){alpha, beta};
    r->call = (weft_call){
        .op = &sddmm_sparse,
        .ctx = ctx,
        .operands = {A->dense, A->sparse, B->dense, B->sparse, C, D},
        .unread = own.indicator ? 1u << PATTERN_C : 0,
        .own = &r->own,
        .tiling = own.tiling,
        .n_wait = own.n_wait,
        .wait = own.wait,
        .event = own.event,
    };
    return WEFT_OK;
}

weft_status weft_sddmm_sparse(weft_context *ctx, cl_command_queue queue, double alpha,
                              const weft_factor *A, const weft_factor *B, const weft_csr *C,
                              double beta, const weft_tensor *D,
                              const weft_sddmm_sparse_params *params)
{
    request r;
    TRY(request_of(&r, ctx, alpha, A, B, C, beta, D, params));
    return weft_op_run(&r.call, queue);
}

int weft_sddmm_sparse_describe(weft_context *ctx, const weft_factor *A, const weft_factor *B,
                               const weft_csr *C, const weft_tensor *D,
                               const weft_sddmm_sparse_params *params, char *text, size_t size)
{
    request r;
    return request_of(&r, ctx, 1, A, B, C, 0, D, params) == WEFT_OK
               ? weft_op_describe(&r.call, text, size)
               : -1;
}
