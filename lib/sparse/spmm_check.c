// SPDX-License-Identifier: Apache-2.0
// Checks of weft_spmm() and weft_spmm_dcsr(); fills in the problem.
#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "runtime/context.h"
#include "sparse/sparse_limits.h"
#include "sparse/spmm_call.h"
#include "sparse/spmm_reduction.h"

static weft_status numbers_check(const weft_call *call)
{
    const weft_spmm_numbers *given = call->own;
    if (!weft_spmm_reduction_name(given->reduction))
        return fail(WEFT_BAD_ARGUMENT, "spmm: params.reduction is %d: no weft_spmm_reduction",
                    (int)given->reduction);
    if (call->operands[WEFT_SPMM_ARGUMENTS] && !weft_spmm_is_max_min(given->reduction))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: params.arguments with a %s: only max and min come from one entry",
                    weft_spmm_reduction_name(given->reduction));
    if (!weft_activation_name(given->activation))
        return fail(WEFT_BAD_ARGUMENT, "spmm: params.activation is %d: no weft_activation",
                    (int)given->activation);
    return WEFT_OK;
}

static weft_status ranks_check(const weft_tensor *B, const weft_tensor *C)
{
    if (B->ndim < 1 || B->ndim > 3 || C->ndim != B->ndim)
        return fail(WEFT_BAD_SHAPE,
                    "spmm: B has %d dimensions and C %d; both require 2, or 3 with a batch, or 1: "
                    "vectors",
                    B->ndim, C->ndim);
    return WEFT_OK;
}

static weft_status shapes_check(int64_t n_rows, int64_t n_cols, const weft_tensor *B,
                                const weft_tensor *C, bool transpose_a)
{
    const int axis = B->ndim - 2;
    const int64_t m = transpose_a ? n_cols : n_rows;
    const int64_t k = transpose_a ? n_rows : n_cols;
    if (B->shape[axis] != k)
        return fail(WEFT_BAD_SHAPE,
                    "spmm: op(A) is %" PRId64 " x %" PRId64 ", B has %" PRId64 " rows", m, k,
                    B->shape[axis]);
    if (C->shape[axis] != m || C->shape[axis + 1] != B->shape[axis + 1])
        return fail(WEFT_BAD_SHAPE,
                    "spmm: op(A) B is %" PRId64 " x %" PRId64 ", C is %" PRId64 " x %" PRId64, m,
                    B->shape[axis + 1], C->shape[axis], C->shape[axis + 1]);
    if (axis == 1 && B->shape[0] != C->shape[0])
        return fail(WEFT_BAD_SHAPE, "spmm: B is a batch of %" PRId64 ", C of %" PRId64, B->shape[0],
                    C->shape[0]);
    if (m > WEFT_SPARSE_MAX_EXTENT || k > WEFT_SPARSE_MAX_EXTENT ||
        B->shape[axis + 1] > WEFT_SPARSE_MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE,
                    "spmm: m %" PRId64 ", k %" PRId64 ", n %" PRId64 "; at most %d each", m, k,
                    B->shape[axis + 1], WEFT_SPARSE_MAX_EXTENT);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C)
{
    const weft_dtype a = weft_dtype_or(A->dtype, WEFT_F32);
    const weft_dtype b = weft_dtype_or(B->dtype, WEFT_F32);
    const weft_dtype c = weft_dtype_or(C->dtype, WEFT_F32);
    if (a != b || (a != c && !weft_widens(a, c)))
        return fail(WEFT_BAD_DTYPE,
                    "spmm: A is %s, B %s, C %s; all three must be the same, or C f32 where A and B "
                    "are f16 or bf16",
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    if (a == WEFT_F64 && !ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "spmm: A, B and C are f64; %s has no f64", ctx->limits.name);
    return WEFT_OK;
}

// Checks the sizes that the plan was made for: n_rows, and n_stored of a DCSR.
static weft_status plan_sizes_check(const weft_spmm_plan *plan, const weft_csr *A,
                                    const weft_dcsr *stored, const char *op, const char *name)
{
    const int64_t n_rows = stored ? stored->n_rows : A->n_rows;
    if (plan->is_dcsr != (stored != NULL))
        return fail(WEFT_BAD_ARGUMENT, "%s: the plan was made for a %s, %s is a %s", op,
                    plan->is_dcsr ? "DCSR" : "CSR", name, stored ? "DCSR" : "CSR");
    if (plan->n_rows != n_rows || plan->n_cols != A->n_cols || plan->nnz != A->nnz)
        return fail(WEFT_BAD_SHAPE,
                    "%s: the plan was made for %" PRId64 " x %" PRId64 " with %" PRId64
                    " entries, %s is %" PRId64 " x %" PRId64 " with %" PRId64,
                    op, plan->n_rows, plan->n_cols, plan->nnz, name, n_rows, A->n_cols, A->nnz);
    if (plan->n_stored != A->n_rows)
        return fail(WEFT_BAD_SHAPE,
                    "%s: the plan was made for %" PRId64 " stored rows, %s has %" PRId64, op,
                    plan->n_stored, name, A->n_rows);
    return WEFT_OK;
}

weft_status weft_spmm_plan_fits(const weft_context *ctx, const weft_spmm_plan *plan,
                                bool transpose_a, const weft_csr *A, const weft_dcsr *stored,
                                const char *op, const char *name)
{
    if (!plan)
        return transpose_a ? fail(WEFT_BAD_ARGUMENT,
                                  "%s: %s^T requires a plan, made with "
                                  "WEFT_SPMM_PLAN(.transpose_a = true)",
                                  op, name)
                           : WEFT_OK;
    if (plan->ctx != ctx)
        return fail(WEFT_BAD_ARGUMENT, "%s: the plan was made for another context", op);
    if (plan->transpose_a != transpose_a)
        return fail(WEFT_BAD_ARGUMENT, "%s: the plan was made for %s%s, the call is for %s%s", op,
                    name, plan->transpose_a ? "^T" : "", name, transpose_a ? "^T" : "");
    TRY(plan_sizes_check(plan, A, stored, op, name));
    if (plan->offset_dtype != weft_dtype_or(A->offset_dtype, WEFT_I32) ||
        plan->index_dtype != weft_dtype_or(A->index_dtype, WEFT_I32))
        return fail(WEFT_BAD_DTYPE,
                    "%s: the plan was made for %s offsets and %s indices, %s has %s and %s", op,
                    weft_dtype_name(plan->offset_dtype), weft_dtype_name(plan->index_dtype), name,
                    weft_dtype_name(weft_dtype_or(A->offset_dtype, WEFT_I32)),
                    weft_dtype_name(weft_dtype_or(A->index_dtype, WEFT_I32)));
    return WEFT_OK;
}

static weft_status arguments_check(const weft_call *call)
{
    const weft_tensor *arguments = weft_call_tensor(call, WEFT_SPMM_ARGUMENTS);
    const int64_t nnz = weft_call_csr(call, WEFT_SPMM_A)->nnz;
    if (!arguments)
        return WEFT_OK;
    TRY(weft_same_shape_check(arguments, "arguments", weft_call_tensor(call, WEFT_SPMM_C), "C",
                              "spmm"));
    const weft_dtype dtype = weft_dtype_or(arguments->dtype, WEFT_F32);
    if (dtype != WEFT_I32 && dtype != WEFT_I64)
        return fail(WEFT_BAD_DTYPE, "spmm: arguments are %s, i32 and i64 are possible",
                    weft_dtype_name(dtype));
    if (dtype == WEFT_I32 && nnz - 1 > INT32_MAX)
        return fail(WEFT_BAD_DTYPE,
                    "spmm: arguments are i32, but A has %" PRId64 " entries: i64 is wanted", nnz);
    return WEFT_OK;
}

// B and C are matrices here.
static weft_status agreement_check(const weft_call *call, const weft_tensor *B,
                                   const weft_tensor *C)
{
    const weft_spmm_numbers *given = call->own;
    const weft_csr *A = weft_call_csr(call, WEFT_SPMM_A);
    const weft_dcsr *stored = call->operands[WEFT_SPMM_ROWS];
    const weft_tensor *bias = weft_call_tensor(call, WEFT_SPMM_BIAS);
    TRY(shapes_check(stored ? stored->n_rows : A->n_rows, A->n_cols, B, C, given->transpose_a));
    TRY(dtypes_check(call->ctx, A, B, C));
    if (bias) {
        TRY(weft_row_numbers_form_check(bias, "bias", C, "C", "spmm"));
        TRY(weft_same_dtype_check(bias->dtype, "bias", A->dtype, "A", "spmm"));
    }
    TRY(arguments_check(call));
    return weft_spmm_plan_fits(call->ctx, given->plan, given->transpose_a, A, stored, "spmm", "A");
}

// ---- the problem

static weft_dense steps_of(const weft_tensor *matrix)
{
    weft_dense steps = weft_dense_of(matrix);
    steps.buffer = NULL;
    steps.start = 0;
    return steps;
}

// If n is 1 the stride along n is not used, and may be any number.
static void find_steps(weft_spmm_state *s, const weft_tensor *B, const weft_tensor *C,
                       const weft_tensor *arguments)
{
    s->B = steps_of(B);
    s->C = steps_of(C);
    s->arguments = (weft_dense){.column = 1};
    if (arguments) {
        const weft_tensor matrix = weft_tensor_as_matrix(arguments);
        s->arguments = steps_of(&matrix);
        s->argument_dtype = weft_dtype_or(arguments->dtype, WEFT_F32);
    }
    if (C->shape[C->ndim - 1] == 1)
        s->B.column = s->C.column = s->arguments.column = 1;
}

static weft_spmm_problem problem_of(const weft_spmm_state *s, const weft_call *call,
                                    const weft_tensor *B)
{
    const weft_spmm_numbers *given = call->own;
    const weft_csr *A = weft_call_csr(call, WEFT_SPMM_A);
    const int axis = B->ndim - 2;
    return (weft_spmm_problem){
        .m = call->operands[WEFT_SPMM_ROWS] && !given->transpose_a ? A->n_rows : s->n_rows,
        .k = B->shape[axis],
        .n = B->shape[axis + 1],
        .nnz = A->nnz,
        .n_batches = axis == 1 ? B->shape[0] : 1,
        .dtype = weft_dtype_or(A->dtype, WEFT_F32),
        .columns_adjacent = s->B.column == 1 && s->C.column == 1 && s->arguments.column == 1,
        .reduction = given->reduction,
        .row_schedule = given->plan ? given->plan->row_schedule : WEFT_SPMM_ROW_SCHEDULE_DEFAULT,
        .why = weft_call_why(call),
    };
}

static void find_problem(weft_spmm_state *s, const weft_call *call, const weft_tensor *B,
                         const weft_tensor *C)
{
    const weft_spmm_numbers *given = call->own;
    const weft_csr A = weft_csr_with_defaults(weft_call_csr(call, WEFT_SPMM_A));
    find_steps(s, B, C, weft_call_tensor(call, WEFT_SPMM_ARGUMENTS));
    s->n_rows = C->shape[C->ndim - 2];
    s->offset_dtype = A.offset_dtype;
    s->index_dtype = given->transpose_a ? WEFT_I32 : A.index_dtype;
    s->result_dtype = weft_dtype_or(C->dtype, WEFT_F32);
    s->problem = problem_of(s, call, B);
    s->is_scale = weft_rounded(s->problem.dtype, given->alpha) == 0 || s->problem.nnz == 0 ||
                  s->problem.k == 0;
    s->has_rows = call->operands[WEFT_SPMM_ROWS] && !given->transpose_a && !s->is_scale;
    s->head.n_batches = s->problem.n_batches;
    s->head.is_empty = weft_tensor_is_empty(C);
}

weft_status weft_spmm_check(void *state, const weft_call *call)
{
    weft_spmm_state *s = state;
    const weft_tensor *B = weft_call_tensor(call, WEFT_SPMM_B);
    const weft_tensor *C = weft_call_tensor(call, WEFT_SPMM_C);
    TRY(numbers_check(call));
    TRY(ranks_check(B, C));
    const weft_tensor b = weft_tensor_as_matrix(B), c = weft_tensor_as_matrix(C);
    TRY(agreement_check(call, &b, &c));
    TRY(weft_tiling_read(&s->head.is_forced, &s->tiling, &weft_spmm_tiling_table, "spmm: tiling",
                         call->tiling));
    find_problem(s, call, &b, &c);
    return WEFT_OK;
}
