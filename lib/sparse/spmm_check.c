// SPDX-License-Identifier: Apache-2.0
// What weft_spmm() and weft_spmm_dcsr() refuse at their doors, and the call as it goes on from
// there.
#include "sparse/spmm_product.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "operand/view.h"
#include "runtime/context.h"
#include "sparse/spmm_reduction.h"

static weft_status params_check(const weft_spmm_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT, "spmm: params.size is %zu, not %zu: fill it by WEFT_SPMM()",
                    params->size, sizeof(*params));
    if (!weft_spmm_reduction_name(params->reduction))
        return fail(WEFT_BAD_ARGUMENT, "spmm: params.reduction is %d: no weft_spmm_reduction",
                    (int)params->reduction);
    if (params->arguments && !weft_spmm_is_peaks(params->reduction))
        return fail(WEFT_BAD_ARGUMENT,
                    "spmm: params.arguments with a %s: only max and min come from one entry",
                    weft_spmm_reduction_name(params->reduction));
    if (!weft_activation_name(params->activation))
        return fail(WEFT_BAD_ARGUMENT, "spmm: params.activation is %d: no weft_activation",
                    (int)params->activation);
    return WEFT_OK;
}

static weft_status ranks_check(const weft_tensor *B, const weft_tensor *C)
{
    if (B->ndim < 1 || B->ndim > 3 || C->ndim != B->ndim)
        return fail(WEFT_BAD_SHAPE,
                    "spmm: B has %d dimensions and C %d; both want 2, or 3 with a batch, or 1: "
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
                    "spmm: A is %s, B %s, C %s; all three want the same, or C f32 where A and B "
                    "are f16 or bf16",
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    if (a == WEFT_F64 && !ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "spmm: A, B and C are f64; %s has no f64", ctx->limits.name);
    return WEFT_OK;
}

// Sizes that the plan was made for: all rows, and of a DCSR those that are stored.
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
                                  "%s: %s^T wants a plan, made with "
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

static weft_status arguments_form_check(const weft_csr *A, const weft_tensor *C,
                                        const weft_tensor *arguments)
{
    if (!arguments)
        return WEFT_OK;
    TRY(weft_output_form_check(arguments, "spmm: arguments"));
    TRY(weft_same_shape_check(arguments, "arguments", C, "C", "spmm"));
    const weft_dtype dtype = weft_dtype_or(arguments->dtype, WEFT_F32);
    if (dtype != WEFT_I32 && dtype != WEFT_I64)
        return fail(WEFT_BAD_DTYPE, "spmm: arguments are %s, i32 and i64 are possible",
                    weft_dtype_name(dtype));
    if (dtype == WEFT_I32 && A->nnz - 1 > INT32_MAX)
        return fail(WEFT_BAD_DTYPE,
                    "spmm: arguments are i32, but A has %" PRId64 " entries: i64 is wanted",
                    A->nnz);
    return WEFT_OK;
}

static weft_status arguments_overlap_check(const weft_tensor *B, const weft_tensor *C,
                                           const weft_tensor *bias, const weft_tensor *arguments)
{
    if (bias)
        TRY(weft_tensor_overlap_check(arguments, "arguments", bias, "bias", "spmm"));
    TRY(weft_tensor_overlap_check(arguments, "arguments", B, "B", "spmm"));
    return weft_tensor_overlap_check(arguments, "arguments", C, "C", "spmm");
}

// What is written shares no byte with A.
static weft_status matrix_overlap_check(const weft_tensor *out, const char *name, const weft_csr *A,
                                        const weft_dcsr *stored, int64_t n_batches)
{
    TRY(weft_csr_overlap_check(out, name, A, "A", n_batches, "spmm"));
    return stored ? weft_dcsr_rows_overlap_check(out, name, stored, "A", "spmm") : WEFT_OK;
}

// Where n is 1 no stride along n is ever taken, and the field may hold anything.
static void settle_columns(weft_spmm_product *p)
{
    if (p->problem.n == 1)
        p->B.column = p->C.column = p->arguments.column = 1;
    p->problem.columns_adjacent = p->B.column == 1 && p->C.column == 1 && p->arguments.column == 1;
}

// Where each row starts, as far as powers of two matter.
static int64_t row_starts(const weft_dense *d)
{
    return d->start | d->row | d->batch;
}

// Where memory begins, of the dense operands and of A's entries.
typedef struct {
    int64_t dense, entries;
} shifts;

static weft_status find_shifts(shifts *out, const weft_csr *A, const weft_tensor *B,
                               const weft_tensor *C, const weft_tensor *arguments)
{
    *out = (shifts){0};
    TRY(weft_tensor_shift(&out->dense, B, "spmm: B"));
    TRY(weft_tensor_shift(&out->dense, C, "spmm: C"));
    TRY(weft_tensor_shift(&out->dense, arguments, "spmm: arguments"));
    if (A->nnz == 0)
        return WEFT_OK;
    TRY(weft_buffer_shift(&out->entries, A->indices, weft_dtype_or(A->index_dtype, WEFT_I32),
                          "spmm: A", "'s indices"));
    return weft_buffer_shift(&out->entries, A->values, weft_dtype_or(A->dtype, WEFT_F32), "spmm: A",
                             "'s values");
}

static weft_spmm_problem problem_of(const weft_csr *A, const weft_tensor *B,
                                    const weft_spmm_params *params, const weft_spmm_product *p,
                                    const shifts *shift)
{
    const int axis = B->ndim - 2;
    return (weft_spmm_problem){
        .m = p->has_rows ? A->n_rows : p->n_rows,
        .k = B->shape[axis],
        .n = B->shape[axis + 1],
        .nnz = A->nnz,
        .n_batches = axis == 1 ? B->shape[0] : 1,
        .dtype = weft_dtype_or(A->dtype, WEFT_F32),
        .alignment = pow2_divisor(row_starts(&p->B) | row_starts(&p->C) |
                                  row_starts(&p->arguments) | shift->dense),
        .entry_alignment = pow2_divisor((A->indices_start - A->values_start) |
                                        A->values_batch_stride | shift->entries),
        .rows = params->plan ? &params->plan->rows : NULL,
        .reduction = params->reduction,
        .order = params->plan ? params->plan->order_kind : WEFT_SPMM_ORDER_DEFAULT,
    };
}

static weft_status forms_check(const weft_csr *A, const weft_dcsr *stored, const weft_tensor *B,
                               const weft_tensor *C)
{
    if (stored)
        TRY(weft_dcsr_rows_form_check(stored, "spmm", "A"));
    TRY(weft_csr_form_check(A, "spmm: A"));
    TRY(weft_tensor_form_check(B, "spmm: B"));
    TRY(weft_output_form_check(C, "spmm: C"));
    return ranks_check(B, C);
}

// Of B and C as matrices.
static weft_status agreement_check(const weft_context *ctx, const weft_csr *A,
                                   const weft_dcsr *stored, const weft_tensor *B,
                                   const weft_tensor *C, const weft_spmm_params *params)
{
    TRY(shapes_check(stored ? stored->n_rows : A->n_rows, A->n_cols, B, C, params->transpose_a));
    TRY(dtypes_check(ctx, A, B, C));
    if (params->bias) {
        TRY(weft_row_numbers_form_check(params->bias, "bias", C, "C", "spmm"));
        TRY(weft_same_dtype_check(params->bias->dtype, "bias", A->dtype, "A", "spmm"));
    }
    return weft_spmm_plan_fits(ctx, params->plan, params->transpose_a, A, stored, "spmm", "A");
}

static weft_status buffers_check(const weft_context *ctx, const weft_csr *A,
                                 const weft_dcsr *stored, const weft_tensor *B,
                                 const weft_tensor *C, const weft_spmm_params *params)
{
    if (stored)
        TRY(weft_dcsr_rows_view_check(ctx, stored, "spmm", "A"));
    TRY(weft_tensor_check(ctx, B, "spmm: B"));
    TRY(weft_output_check(ctx, C, "spmm: C"));
    if (params->bias)
        TRY(weft_tensor_check(ctx, params->bias, "spmm: bias"));
    if (params->arguments)
        TRY(weft_output_check(ctx, params->arguments, "spmm: arguments"));
    return weft_csr_view_check(ctx, A, B->ndim == 3 ? B->shape[0] : 1, "spmm: A");
}

static weft_status apart_check(const weft_csr *A, const weft_dcsr *stored, const weft_tensor *B,
                               const weft_tensor *C, const weft_spmm_params *params)
{
    const int64_t n_batches = B->ndim == 3 ? B->shape[0] : 1;
    TRY(weft_tensor_overlap_check(C, "C", B, "B", "spmm"));
    if (params->bias)
        TRY(weft_tensor_overlap_check(C, "C", params->bias, "bias", "spmm"));
    TRY(matrix_overlap_check(C, "C", A, stored, n_batches));
    if (!params->arguments)
        return WEFT_OK;
    TRY(arguments_overlap_check(B, C, params->bias, params->arguments));
    return matrix_overlap_check(params->arguments, "arguments", A, stored, n_batches);
}

weft_status weft_spmm_product_of(weft_spmm_product *out, weft_context *ctx, const weft_csr *A,
                                 const weft_dcsr *stored, const weft_tensor *B,
                                 const weft_tensor *C, const weft_spmm_params *params)
{
    shifts shift;
    TRY(find_shifts(&shift, A, B, C, params->arguments));
    *out = (weft_spmm_product){
        .ctx = ctx,
        .A = A,
        .stored = stored,
        .has_rows = stored && !params->transpose_a,
        .n_rows = C->shape[C->ndim - 2],
        .B_view = *B,
        .C_view = *C,
        .bias_view = params->bias,
        .has_arguments = params->arguments != NULL,
        .activation = params->activation,
        .plan = params->plan,
        .offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32),
        .index_dtype = params->transpose_a ? WEFT_I32 : weft_dtype_or(A->index_dtype, WEFT_I32),
        .B = weft_dense_of(B),
        .C = weft_dense_of(C),
        .arguments = {.column = 1},
    };
    TRY(weft_tiling_read(&out->is_forced, &out->forced, &weft_spmm_tiling_table, "spmm: tiling",
                         params->tiling));
    if (params->arguments) {
        out->arguments_view = weft_tensor_as_matrix(params->arguments);
        out->arguments = weft_dense_of(&out->arguments_view);
    }
    out->problem = problem_of(A, B, params, out, &shift);
    settle_columns(out);
    return WEFT_OK;
}

bool weft_spmm_is_empty(const weft_spmm_product *p)
{
    return p->n_rows == 0 || p->problem.n == 0 || p->problem.n_batches == 0;
}

weft_status weft_spmm_check(weft_spmm_product *out, weft_context *ctx, const weft_csr *A,
                            const weft_dcsr *stored, const weft_tensor *B, const weft_tensor *C,
                            const weft_spmm_params *params)
{
    TRY(weft_context_check(ctx, "spmm"));
    if (!A || !B || !C)
        return fail(WEFT_BAD_ARGUMENT, "spmm: %s is NULL", !A ? "A" : !B ? "B" : "C");
    TRY(params_check(params));
    TRY(forms_check(A, stored, B, C));
    const weft_tensor b = weft_tensor_as_matrix(B), c = weft_tensor_as_matrix(C);
    TRY(agreement_check(ctx, A, stored, &b, &c, params));
    TRY(arguments_form_check(A, C, params->arguments));
    TRY(buffers_check(ctx, A, stored, B, C, params));
    TRY(apart_check(A, stored, &b, &c, params));
    TRY(weft_spmm_product_of(out, ctx, A, stored, &b, &c, params));
    if (out->is_forced && !weft_spmm_is_empty(out))
        TRY(weft_spmm_tiling_check(&out->forced, &ctx->limits, &out->problem));
    return WEFT_OK;
}

weft_status weft_spmm_workspace_check(const weft_spmm_product *p, cl_mem workspace, size_t bytes)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, p->ctx, workspace, bytes, "spmm"));
    TRY(weft_tensor_overlap_check(&scratch, "workspace", &p->B_view, "B", "spmm"));
    TRY(weft_tensor_overlap_check(&scratch, "workspace", &p->C_view, "C", "spmm"));
    if (p->bias_view)
        TRY(weft_tensor_overlap_check(&scratch, "workspace", p->bias_view, "bias", "spmm"));
    if (p->has_arguments)
        TRY(weft_tensor_overlap_check(&scratch, "workspace", &p->arguments_view, "arguments",
                                      "spmm"));
    return matrix_overlap_check(&scratch, "workspace", p->A, p->stored, p->problem.n_batches);
}
