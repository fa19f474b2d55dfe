// SPDX-License-Identifier: Apache-2.0
// C = alpha op(A) B + beta C with A sparse: check, plan, defines, arguments, enqueue.
#include <weft/spmm.h>

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "arithmetic.h"
#include "context.h"
#include "launch.h"
#include "spmm_pattern.h"
#include "view.h"
#include "workspace.h"

// Extents beyond this would overflow 32-bit columns and rows in the last group of a kernel.
static const int64_t MAX_EXTENT = INT32_MAX - 4096;

// One dense operand with its batch made plain: strides in elements, [batch x rows x columns].
typedef struct {
    cl_mem buffer;
    int64_t start, row, column, batch;
} dense;

// A checked call.
typedef struct {
    weft_context *ctx;
    const weft_csr *A;
    const weft_spmm_plan *plan;
    const weft_spmm_tiling *forced;
    weft_spmm_problem problem;
    weft_dtype offset_dtype, index_dtype;
    dense B, C;
} product;

// ---- check

static weft_status params_check(const weft_spmm_params *params)
{
    if (params->size != sizeof(*params))
        return fail(WEFT_BAD_ARGUMENT, "spmm: params.size is %zu, not %zu: fill it by WEFT_SPMM()",
                    params->size, sizeof(*params));
    return WEFT_OK;
}

static weft_status shapes_check(const weft_csr *A, const weft_tensor *B, const weft_tensor *C,
                                bool transpose_a)
{
    if ((B->ndim != 2 && B->ndim != 3) || C->ndim != B->ndim)
        return fail(WEFT_BAD_SHAPE,
                    "spmm: B has %d dimensions and C %d; both want 2, or 3 with a batch", B->ndim,
                    C->ndim);
    const int axis = B->ndim - 2;
    const int64_t m = transpose_a ? A->n_cols : A->n_rows;
    const int64_t k = transpose_a ? A->n_rows : A->n_cols;
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
    if (m > MAX_EXTENT || k > MAX_EXTENT || B->shape[axis + 1] > MAX_EXTENT)
        return fail(WEFT_BAD_SHAPE,
                    "spmm: m %" PRId64 ", k %" PRId64 ", n %" PRId64 "; at most %" PRId64 " each",
                    m, k, B->shape[axis + 1], MAX_EXTENT);
    return WEFT_OK;
}

static weft_status dtypes_check(const weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C)
{
    const weft_dtype a = weft_dtype_or(A->dtype, WEFT_F32);
    const weft_dtype b = weft_dtype_or(B->dtype, WEFT_F32);
    const weft_dtype c = weft_dtype_or(C->dtype, WEFT_F32);
    if (a != b || a != c)
        return fail(WEFT_BAD_DTYPE, "spmm: A is %s, B %s, C %s; all three want the same",
                    weft_dtype_name(a), weft_dtype_name(b), weft_dtype_name(c));
    if (a == WEFT_F64 && !ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "spmm: %s has no f64", ctx->limits.name);
    return WEFT_OK;
}

static weft_status overlaps_check(const weft_csr *A, const weft_tensor *B, const weft_tensor *C)
{
    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(A->dtype, WEFT_F32));
    const int64_t offset_size = (int64_t)weft_dtype_size(weft_dtype_or(A->offset_dtype, WEFT_I32));
    const int64_t index_size = (int64_t)weft_dtype_size(weft_dtype_or(A->index_dtype, WEFT_I32));
    TRY(weft_tensor_overlap_check(C, "C", B, "B", "spmm"));

    const weft_span offsets = {A->offsets_start * offset_size,
                               (A->offsets_start + A->n_rows + 1) * offset_size};
    TRY(weft_overlap_check(C, "C", A->offsets, offsets, "A's offsets", "spmm"));
    if (A->nnz == 0)
        return WEFT_OK;

    const weft_span indices = {A->indices_start * index_size,
                               (A->indices_start + A->nnz) * index_size};
    TRY(weft_overlap_check(C, "C", A->indices, indices, "A's indices", "spmm"));

    const int64_t n_batches = C->ndim == 3 ? max_i64(C->shape[0], 1) : 1;
    const int64_t values_last = A->values_start + A->nnz + (n_batches - 1) * A->values_batch_stride;
    const weft_span values = {A->values_start * size, values_last * size};
    return weft_overlap_check(C, "C", A->values, values, "A's values", "spmm");
}

static weft_status plan_fits(const weft_context *ctx, const weft_csr *A,
                             const weft_spmm_params *params)
{
    const weft_spmm_plan *plan = params->plan;
    if (!plan)
        return params->transpose_a ? fail(WEFT_BAD_ARGUMENT, "spmm: A^T B wants a plan, made with "
                                                             "WEFT_SPMM_PLAN(.transpose_a = true)")
                                   : WEFT_OK;
    if (plan->ctx != ctx)
        return fail(WEFT_BAD_ARGUMENT, "spmm: the plan was made for another context");
    if (plan->transpose_a != params->transpose_a)
        return fail(WEFT_BAD_ARGUMENT, "spmm: the plan was made for %s, the call is for %s",
                    plan->transpose_a ? "A^T" : "A", params->transpose_a ? "A^T" : "A");
    if (plan->n_rows != A->n_rows || plan->n_cols != A->n_cols || plan->nnz != A->nnz)
        return fail(WEFT_BAD_SHAPE,
                    "spmm: the plan was made for %" PRId64 " x %" PRId64 " with %" PRId64
                    " entries, A is %" PRId64 " x %" PRId64 " with %" PRId64,
                    plan->n_rows, plan->n_cols, plan->nnz, A->n_rows, A->n_cols, A->nnz);
    if (plan->offset_dtype != weft_dtype_or(A->offset_dtype, WEFT_I32) ||
        plan->index_dtype != weft_dtype_or(A->index_dtype, WEFT_I32))
        return fail(WEFT_BAD_DTYPE,
                    "spmm: the plan was made for %s offsets and %s indices, A has %s and %s",
                    weft_dtype_name(plan->offset_dtype), weft_dtype_name(plan->index_dtype),
                    weft_dtype_name(weft_dtype_or(A->offset_dtype, WEFT_I32)),
                    weft_dtype_name(weft_dtype_or(A->index_dtype, WEFT_I32)));
    return WEFT_OK;
}

static dense dense_of(const weft_tensor *tensor)
{
    const int axis = tensor->ndim - 2;
    return (dense){
        .buffer = tensor->buffer,
        .start = tensor->offset,
        .row = tensor->stride[axis],
        .column = tensor->stride[axis + 1],
        .batch = axis == 1 ? tensor->stride[0] : 0,
    };
}

// Where n is 1 no stride along n is ever taken, and the field may hold anything.
static void settle_columns(product *p)
{
    if (p->problem.n == 1)
        p->B.column = p->C.column = 1;
    p->problem.columns_adjacent = p->B.column == 1 && p->C.column == 1;
}

static weft_spmm_problem problem_of(const weft_csr *A, const weft_tensor *B, const weft_tensor *C,
                                    const weft_spmm_params *params, const dense *b, const dense *c)
{
    const int axis = B->ndim - 2;
    return (weft_spmm_problem){
        .m = C->shape[axis],
        .k = B->shape[axis],
        .n = B->shape[axis + 1],
        .nnz = A->nnz,
        .n_batches = axis == 1 ? B->shape[0] : 1,
        .dtype = weft_dtype_or(A->dtype, WEFT_F32),
        .alignment = pow2_divisor(b->start | b->row | b->batch | c->start | c->row | c->batch),
        .entry_alignment =
            pow2_divisor((A->indices_start - A->values_start) | A->values_batch_stride),
        .rows = params->plan ? &params->plan->rows : NULL,
    };
}

// Everything that can be wrong with a call, before anything is done about it.
static weft_status product_check(product *p, weft_context *ctx, const weft_csr *A,
                                 const weft_tensor *B, const weft_tensor *C,
                                 const weft_spmm_params *params)
{
    if (!ctx || !A || !B || !C)
        return fail(WEFT_BAD_ARGUMENT, "spmm: %s is NULL",
                    !ctx ? "ctx"
                    : !A ? "A"
                    : !B ? "B"
                         : "C");
    TRY(params_check(params));
    TRY(weft_csr_form_check(A, "spmm: A"));
    TRY(weft_tensor_check(ctx, B, "spmm: B"));
    TRY(weft_output_check(ctx, C, "spmm: C"));
    TRY(shapes_check(A, B, C, params->transpose_a));
    TRY(dtypes_check(ctx, A, B, C));
    TRY(weft_csr_view_check(ctx, A, B->ndim == 3 ? B->shape[0] : 1, "spmm: A"));
    TRY(overlaps_check(A, B, C));
    TRY(plan_fits(ctx, A, params));

    *p = (product){
        .ctx = ctx,
        .A = A,
        .plan = params->plan,
        .forced = params->tiling,
        .offset_dtype = weft_dtype_or(A->offset_dtype, WEFT_I32),
        .index_dtype = params->transpose_a ? WEFT_I32 : weft_dtype_or(A->index_dtype, WEFT_I32),
        .B = dense_of(B),
        .C = dense_of(C),
    };
    p->problem = problem_of(A, B, C, params, &p->B, &p->C);
    settle_columns(p);
    if (p->forced)
        TRY(weft_spmm_tiling_check(p->forced, &ctx->limits, &p->problem));
    return WEFT_OK;
}

// ---- plan

// How a call runs: its tiling, and what it wants in scratch memory: B packed, then sums of pieces.
typedef struct {
    weft_spmm_tiling tiling;
    int64_t piece;    // more than any row has where there are no pieces
    int64_t n_pieces; // of long rows: those the plan found, or all that there could be
    int64_t n_slices;
    size_t packed_bytes, scratch_bytes;
} schedule;

static const int64_t NO_PIECE = INT64_MAX / 4;
static const int64_t SCRATCH_ALIGNMENT = 256;

// Without a plan nobody has seen the rows. Only a row longer than op(A) is wide has a column twice.
static int64_t pieces_of(const product *p, int64_t piece)
{
    if (p->plan)
        return p->plan->n_pieces;
    const bool may_be_long = min_i64(p->problem.k, p->problem.nnz) > 2 * piece;
    return may_be_long ? ceil_div(p->problem.nnz, piece) : 0;
}

static int64_t slice_columns(const weft_spmm_tiling *tiling)
{
    return (int64_t)tiling->lanes * tiling->vectors * tiling->fold;
}

// a * b * c * d bytes, rounded up; false where that does not fit.
static bool scratch_for(size_t *out, int64_t a, int64_t b, int64_t c, int64_t d)
{
    int64_t bytes;
    if (!weft_mul(a, b, &bytes) || !weft_mul(bytes, c, &bytes) || !weft_mul(bytes, d, &bytes) ||
        bytes > INT64_MAX - SCRATCH_ALIGNMENT || (uint64_t)bytes > SIZE_MAX / 4)
        return false;
    *out = (size_t)(ceil_div(bytes, SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT);
    return true;
}

// Packing is left out where scratch memory is short, unless it was asked for.
static weft_status schedule_packing(schedule *s, const product *p)
{
    s->packed_bytes = 0;
    if (!s->tiling.packed)
        return WEFT_OK;
    const int64_t size = (int64_t)weft_dtype_size(p->problem.dtype);
    const int64_t columns = s->n_slices * slice_columns(&s->tiling);
    const bool counts =
        scratch_for(&s->packed_bytes, columns, p->problem.k, p->problem.n_batches, size);
    if (counts && (p->forced || s->packed_bytes <= weft_workspace_most(p->ctx)))
        return WEFT_OK;
    if (p->forced)
        return fail(WEFT_NO_MEMORY,
                    "spmm: B packed, %" PRId64 " x %" PRId64 " for each of %" PRId64
                    " matrices, is too large",
                    p->problem.k, columns, p->problem.n_batches);
    s->tiling.packed = false;
    s->packed_bytes = 0;
    return WEFT_OK;
}

static weft_status schedule_for(schedule *s, const product *p, const weft_limits *limits)
{
    s->tiling = p->forced ? *p->forced : weft_spmm_tiling_for(limits, &p->problem);
    s->tiling.rows_per_item = (int)max_i64(s->tiling.rows_per_item, 1);
    s->n_slices = ceil_div(p->problem.n, slice_columns(&s->tiling));
    s->piece = p->plan ? p->plan->piece : s->tiling.piece;
    s->n_pieces = pieces_of(p, s->piece);
    if (s->n_pieces == 0)
        s->piece = NO_PIECE;
    TRY(schedule_packing(s, p));

    const int64_t sum_bytes = p->problem.dtype == WEFT_F64 ? 8 : 4;
    if (s->n_pieces > MAX_EXTENT ||
        !scratch_for(&s->scratch_bytes, s->n_pieces, p->problem.n, p->problem.n_batches, sum_bytes))
        return fail(WEFT_NO_MEMORY,
                    "spmm: %" PRId64 " pieces of %" PRId64 " entries, sums for each of %" PRId64
                    " columns and %" PRId64 " matrices, are too many",
                    s->n_pieces, s->piece, p->problem.n, p->problem.n_batches);
    s->scratch_bytes += s->packed_bytes;
    return WEFT_OK;
}

// Whether the plan has cut the rows as the tiling wants them.
static bool has_segments(const product *p, const schedule *s)
{
    return p->plan && p->plan->segments && s->tiling.window > 0 &&
           s->tiling.rows_per_item == p->plan->run_rows;
}

static bool is_empty(const product *p)
{
    return p->problem.m == 0 || p->problem.n == 0 || p->problem.n_batches == 0;
}

// ---- defines

static int dtype_define(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_F32:
        return 1;
    case WEFT_F64:
        return 2;
    case WEFT_F16:
        return 3;
    default:
        return 4;
    }
}

static void defines_of(weft_defines *defines, const product *p, const weft_spmm_tiling *tiling)
{
    weft_defines_add(defines, "DTYPE", dtype_define(p->problem.dtype));
    weft_defines_add(defines, "FOLD", tiling->fold);
    weft_defines_add(defines, "ALIGNED", tiling->aligned);
    weft_defines_add(defines, "LANES", tiling->lanes);
    weft_defines_add(defines, "VECTORS", tiling->vectors);
    weft_defines_add(defines, "ROWS_PER_GROUP", tiling->rows_per_group);
    weft_defines_add(defines, "STAGE", tiling->stage);
    weft_defines_add(defines, "LOAD", tiling->load);
    weft_defines_add(defines, "UNROLL", tiling->unroll);
    weft_defines_add(defines, "COLUMNS_ADJACENT", p->problem.columns_adjacent);
    weft_defines_add_word(defines, "OFFSET", p->offset_dtype == WEFT_I64 ? "long" : "int");
    weft_defines_add_word(defines, "INDEX", p->index_dtype == WEFT_I16 ? "short" : "int");
    weft_defines_add(defines, "PACKED", tiling->packed);
    weft_defines_add(defines, "PERMUTED", p->plan && p->plan->transpose_a);
}

// The kernels of one call; NULL where it needs none.
typedef struct {
    weft_kernel *pack, *rows, *pieces, *combine, *scale;
} kernels;

static weft_status kernel_for(weft_kernel **out, size_t *max_items, const product *p,
                              const weft_defines *defines, const char *name)
{
    TRY(weft_kernel_get(p->ctx, &weft_source_spmm, defines, name, out));
    if (weft_kernel_max_items(*out) < *max_items)
        *max_items = weft_kernel_max_items(*out);
    return WEFT_OK;
}

static const char *rows_kernel(const product *p, const schedule *s)
{
    return has_segments(p, s)     ? "spmm_csr_segments"
           : s->tiling.window > 0 ? "spmm_csr_windows"
                                  : "spmm_csr_rows";
}

static weft_status kernels_for(kernels *k, size_t *max_items, const product *p, const schedule *s,
                               bool is_scale)
{
    weft_defines defines = {0};
    defines_of(&defines, p, &s->tiling);
    *k = (kernels){0};
    if (is_scale)
        return kernel_for(&k->scale, max_items, p, &defines, "spmm_scale");
    if (s->tiling.packed)
        TRY(kernel_for(&k->pack, max_items, p, &defines, "spmm_pack"));
    TRY(kernel_for(&k->rows, max_items, p, &defines, rows_kernel(p, s)));
    if (s->n_pieces == 0)
        return WEFT_OK;
    TRY(kernel_for(&k->pieces, max_items, p, &defines, "spmm_csr_pieces"));
    return kernel_for(&k->combine, max_items, p, &defines, "spmm_csr_combine");
}

// Plans, builds, and plans again where a built kernel takes fewer items than the device promised.
static weft_status prepare(schedule *s, kernels *k, const product *p, bool is_scale)
{
    weft_limits limits = p->ctx->limits;
    for (;;) {
        TRY(schedule_for(s, p, &limits));
        const size_t wanted = (size_t)s->tiling.lanes * (size_t)s->tiling.rows_per_group;
        size_t most = wanted;
        TRY(kernels_for(k, &most, p, s, is_scale));
        if (most >= wanted)
            return WEFT_OK;
        if (p->forced || most == 0)
            return fail(WEFT_UNSUPPORTED,
                        "spmm: groups of %zu items are wanted; the kernel as built takes %zu",
                        wanted, most);
        limits.max_items = most;
        limits.max_block = (int)min_i64(limits.max_block, pow2_down((int64_t)most));
    }
}

// ---- arguments

// Values as kernels take them; the lists below point into it.
typedef struct {
    cl_int n_rows, n, k, rows_per_item, window, n_ordered, has_order, n_pieces, has_list;
    cl_long nnz, piece, offsets_start, indices_start, values_start, values_batch;
    cl_mem offsets, indices, values, source, order, list, scratch;
    cl_mem B, C;
    cl_long b[4], c[4];    // start, row, column, batch
    cl_long scratch_start; // of the sums of pieces, in sums
    union {
        cl_float f32;
        cl_double f64;
    } alpha, beta;
    size_t scalar_bytes;
} values;

static void matrix_values(values *v, const product *p)
{
    const weft_csr *A = p->A;
    const weft_spmm_plan *plan = p->plan;
    const bool is_turned = plan && plan->transpose_a;
    v->n_rows = (cl_int)p->problem.m;
    v->nnz = A->nnz;
    v->offsets = is_turned ? plan->offsets : A->offsets;
    v->offsets_start = is_turned ? 0 : A->offsets_start;
    v->indices = is_turned ? plan->indices : A->indices;
    v->indices_start = is_turned ? 0 : A->indices_start;
    v->values = A->values;
    v->values_start = A->values_start;
    v->values_batch = A->values_batch_stride;
    // Where there is no such array some buffer must stand in: it is never read.
    v->source = is_turned ? plan->source : v->offsets;
    v->has_order = plan && plan->order;
    v->order = v->has_order ? plan->order : v->offsets;
    v->n_ordered = (cl_int)(plan ? plan->n_ordered : p->problem.m);
    v->has_list = plan && plan->pieces;
    v->list = v->has_list ? plan->pieces : v->offsets;
}

static void dense_values(cl_mem *buffer, cl_long strides[4], const dense *d)
{
    *buffer = d->buffer;
    strides[0] = d->start;
    strides[1] = d->row;
    strides[2] = d->column;
    strides[3] = d->batch;
}

static void scalar_values(values *v, weft_dtype dtype, double alpha, double beta)
{
    if (dtype == WEFT_F64) {
        v->alpha.f64 = alpha;
        v->beta.f64 = beta;
        v->scalar_bytes = sizeof(cl_double);
    } else {
        v->alpha.f32 = (cl_float)alpha;
        v->beta.f32 = (cl_float)beta;
        v->scalar_bytes = sizeof(cl_float);
    }
}

static values values_of(const product *p, const schedule *s, double alpha, double beta)
{
    values v = {
        .n = (cl_int)p->problem.n,
        .k = (cl_int)p->problem.k,
        .rows_per_item = s->tiling.rows_per_item,
        .window = s->tiling.window,
        .piece = s->piece,
        .n_pieces = (cl_int)s->n_pieces,
        .scratch_start = (cl_long)(s->packed_bytes / (p->problem.dtype == WEFT_F64 ? 8 : 4)),
    };
    matrix_values(&v, p);
    dense_values(&v.B, v.b, &p->B);
    dense_values(&v.C, v.c, &p->C);
    scalar_values(&v, p->problem.dtype, alpha, beta);
    return v;
}

typedef struct {
    weft_argument list[40];
    size_t n;
} arguments;

static void add(arguments *a, size_t size, const void *value)
{
    assert(a->n < sizeof(a->list) / sizeof(a->list[0]));
    a->list[a->n++] = (weft_argument){size, value};
}

#define ADD(a, x) add(a, sizeof(x), &(x))

static void add_pattern(arguments *a, const values *v)
{
    ADD(a, v->n_rows);
    ADD(a, v->nnz);
    ADD(a, v->piece);
    ADD(a, v->offsets);
    ADD(a, v->indices);
    ADD(a, v->values);
    ADD(a, v->source);
    ADD(a, v->offsets_start);
    ADD(a, v->indices_start);
    ADD(a, v->values_start);
    ADD(a, v->values_batch);
}

static void add_dense(arguments *a, const cl_mem *buffer, const cl_long strides[4])
{
    ADD(a, *buffer);
    for (int i = 0; i < 4; ++i)
        ADD(a, strides[i]);
}

static void add_scalars(arguments *a, const values *v)
{
    add(a, v->scalar_bytes, &v->alpha);
    add(a, v->scalar_bytes, &v->beta);
}

static void add_pieces(arguments *a, const values *v)
{
    ADD(a, v->n_pieces);
    ADD(a, v->has_list);
    ADD(a, v->list);
    ADD(a, v->scratch);
    ADD(a, v->scratch_start);
}

static arguments rows_arguments(const product *p, const schedule *s, const values *v)
{
    arguments a = {0};
    add_pattern(&a, v);
    add_dense(&a, &v->B, v->b);
    add_dense(&a, &v->C, v->c);
    ADD(&a, v->n);
    add_scalars(&a, v);
    ADD(&a, v->rows_per_item);
    ADD(&a, v->n_ordered);
    ADD(&a, v->has_order);
    ADD(&a, v->order);
    if (has_segments(p, s)) {
        ADD(&a, p->plan->segment_starts);
        ADD(&a, p->plan->segment_entries);
        ADD(&a, p->plan->segments);
    } else if (v->window > 0) {
        ADD(&a, v->k);
        ADD(&a, v->window);
    }
    return a;
}

static arguments pieces_arguments(const values *v)
{
    arguments a = {0};
    add_pattern(&a, v);
    add_dense(&a, &v->B, v->b);
    ADD(&a, v->n);
    add_pieces(&a, v);
    return a;
}

static arguments combine_arguments(const values *v)
{
    arguments a = {0};
    add_pattern(&a, v);
    add_dense(&a, &v->C, v->c);
    ADD(&a, v->n);
    add_scalars(&a, v);
    add_pieces(&a, v);
    return a;
}

static arguments pack_arguments(const values *v)
{
    arguments a = {0};
    add_dense(&a, &v->B, v->b);
    ADD(&a, v->k);
    ADD(&a, v->n);
    ADD(&a, v->rows_per_item);
    ADD(&a, v->scratch);
    return a;
}

static arguments scale_arguments(const values *v)
{
    arguments a = {0};
    add_dense(&a, &v->C, v->c);
    ADD(&a, v->n_rows);
    ADD(&a, v->n);
    add(&a, v->scalar_bytes, &v->beta);
    return a;
}

// ---- enqueue

// Groups of the tiling's shape: bundles x slices of them, or enough for items_x x items_y items.
static weft_status enqueue(weft_launch *launch, weft_kernel *kernel, const arguments *a,
                           const weft_spmm_tiling *tiling, int64_t groups_x, int64_t groups_y,
                           int64_t n_batches)
{
    const size_t local[3] = {(size_t)tiling->lanes, (size_t)tiling->rows_per_group, 1};
    const size_t global[3] = {(size_t)groups_x * local[0], (size_t)groups_y * local[1],
                              (size_t)n_batches};
    return weft_launch_kernel(launch, kernel, a->n, a->list, global, local);
}

// From here on B is what spmm_pack leaves in scratch memory.
static weft_status enqueue_pack(weft_launch *launch, const product *p, const schedule *s,
                                const kernels *k, values *v)
{
    const arguments a = pack_arguments(v);
    const int64_t rows_of_group = (int64_t)s->tiling.rows_per_group * s->tiling.rows_per_item;
    TRY(enqueue(launch, k->pack, &a, &s->tiling, ceil_div(p->problem.k, rows_of_group), s->n_slices,
                p->problem.n_batches));
    const int64_t slice = p->problem.k * slice_columns(&s->tiling);
    v->B = v->scratch;
    v->b[0] = 0;
    v->b[1] = slice_columns(&s->tiling);
    v->b[2] = slice;
    v->b[3] = slice * s->n_slices;
    return WEFT_OK;
}

static weft_status enqueue_rows(weft_launch *launch, const product *p, const schedule *s,
                                const kernels *k, const values *v)
{
    const arguments a = rows_arguments(p, s, v);
    if (v->n_ordered == 0) // every row is long
        return WEFT_OK;
    const int64_t rows_of_group = (int64_t)s->tiling.rows_per_group * s->tiling.rows_per_item;
    return enqueue(launch, k->rows, &a, &s->tiling, ceil_div(v->n_ordered, rows_of_group),
                   s->n_slices, p->problem.n_batches);
}

static weft_status enqueue_pieces(weft_launch *launch, const product *p, const schedule *s,
                                  const kernels *k, const values *v)
{
    const weft_spmm_tiling *tiling = &s->tiling;
    const int64_t bundles = ceil_div(s->n_pieces, tiling->rows_per_group);
    const arguments sums = pieces_arguments(v);
    TRY(enqueue(launch, k->pieces, &sums, tiling, bundles, s->n_slices, p->problem.n_batches));
    const arguments combine = combine_arguments(v);
    return enqueue(launch, k->combine, &combine, tiling,
                   ceil_div(ceil_div(p->problem.n, tiling->fold), tiling->lanes), bundles,
                   p->problem.n_batches);
}

static weft_status enqueue_scale(weft_launch *launch, const product *p, const schedule *s,
                                 const kernels *k, const values *v)
{
    const weft_spmm_tiling *tiling = &s->tiling;
    const arguments a = scale_arguments(v);
    return enqueue(launch, k->scale, &a, tiling,
                   ceil_div(ceil_div(p->problem.n, tiling->fold), tiling->lanes),
                   ceil_div(p->problem.m, tiling->rows_per_group), p->problem.n_batches);
}

static weft_status workspace_check(const product *p, const schedule *s, cl_mem workspace)
{
    const weft_tensor bytes = {.buffer = workspace,
                               .dtype = WEFT_U8,
                               .ndim = 1,
                               .shape = {(int64_t)s->scratch_bytes},
                               .stride = {1}};
    return weft_output_check(p->ctx, &bytes, "spmm: workspace");
}

static weft_status enqueue_kernels(weft_launch *launch, const product *p, const schedule *s,
                                   const kernels *k, values *v)
{
    if (s->tiling.packed)
        TRY(enqueue_pack(launch, p, s, k, v));
    TRY(enqueue_rows(launch, p, s, k, v));
    return s->n_pieces > 0 ? enqueue_pieces(launch, p, s, k, v) : WEFT_OK;
}

static weft_status enqueue_product(weft_launch *launch, const product *p, const schedule *s,
                                   const kernels *k, values *v, cl_mem workspace)
{
    if (s->scratch_bytes == 0)
        return enqueue_kernels(launch, p, s, k, v);
    v->scratch = workspace;
    if (workspace)
        TRY(workspace_check(p, s, workspace));
    else
        TRY(weft_workspace_take(p->ctx, launch->queue, "spmm", s->scratch_bytes, &v->scratch));
    const weft_status status = enqueue_kernels(launch, p, s, k, v);
    if (!workspace)
        weft_workspace_give(p->ctx, launch->queue, v->scratch, launch->last);
    return status;
}

weft_status weft_spmm(weft_context *ctx, cl_command_queue queue, double alpha, const weft_csr *A,
                      const weft_tensor *B, double beta, const weft_tensor *C,
                      const weft_spmm_params *params)
{
    params = params ? params : WEFT_SPMM(.plan = NULL);
    product p;
    TRY(product_check(&p, ctx, A, B, C, params));
    const bool is_scale = alpha == 0 || p.problem.nnz == 0;
    schedule s = {0};
    kernels k = {0};
    if (!is_empty(&p))
        TRY(prepare(&s, &k, &p, is_scale));

    const bool wants_event = params->event || (s.scratch_bytes > 0 && !params->workspace);
    weft_launch launch;
    TRY(weft_launch_begin(&launch, ctx, queue, "spmm", params->n_wait, params->wait, wants_event));
    weft_status status = WEFT_OK;
    if (!is_empty(&p)) {
        values v = values_of(&p, &s, alpha, beta);
        status = is_scale ? enqueue_scale(&launch, &p, &s, &k, &v)
                          : enqueue_product(&launch, &p, &s, &k, &v, params->workspace);
    }
    const weft_status ended = weft_launch_end(&launch, status == WEFT_OK ? params->event : NULL);
    return status != WEFT_OK ? status : ended;
}

// ---- what a call would do

weft_status weft_spmm_workspace(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                                const weft_tensor *C, const weft_spmm_params *params, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "spmm_workspace: bytes is NULL");
    *bytes = 0;
    product p;
    TRY(product_check(&p, ctx, A, B, C, params ? params : WEFT_SPMM(.plan = NULL)));
    if (is_empty(&p))
        return WEFT_OK;
    schedule s;
    TRY(schedule_for(&s, &p, &ctx->limits));
    *bytes = s.scratch_bytes;
    return WEFT_OK;
}

int weft_spmm_describe(weft_context *ctx, const weft_csr *A, const weft_tensor *B,
                       const weft_tensor *C, const weft_spmm_params *params, char *text,
                       size_t size)
{
    product p;
    schedule s;
    if (product_check(&p, ctx, A, B, C, params ? params : WEFT_SPMM(.plan = NULL)) != WEFT_OK ||
        schedule_for(&s, &p, &ctx->limits) != WEFT_OK)
        return -1;
    char tiling[256];
    weft_spmm_tiling_print(&s.tiling, tiling, sizeof(tiling));
    const char *order = !p.plan                ? "no plan"
                        : !p.plan->order       ? "rows as they come"
                        : ctx->limits.fold > 1 ? "runs of rows alternating"
                                               : "rows sorted by length";
    return snprintf(text, size, "%s; %s, %" PRId64 " pieces of long rows", tiling, order,
                    s.n_pieces);
}
