// SPDX-License-Identifier: Apache-2.0
// Sparse layers, products of sparse matrices, sampled products, sparse softmax and sparse
// attention, timed: one case after another.
#include "bench_sparse.h"

#include <string.h>

#include <weft/sddmm_sparse.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_linear.h>
#include <weft/sparse_softmax.h>
#include <weft/spgemm.h>

#include "bench.h"
#include "bench_operand.h"
#include "buffer.h"
#include "progress.h"
#include "sparse.h"

// The dense operands: X, Y and the bias; dY and dX; dY, X and dW; a dense square; A, B and D, or if
// A or B is sparse, the others; Y and dY; Q, K, V and O.
enum { MOST_OPERANDS = 4 };

// A case on the device.
typedef struct bench_stage {
    const bench_sparse_spec *spec;
    const char *patterns; // a folder, or NULL
    weft_context *ctx;
    cl_command_queue queue;
    const bench_limits *limits;
    weft_csr C;           // or W, or the matrix that is squared
    weft_csr square;      // sparse
    weft_csr factors[2];  // A and B, where they are sparse
    double n_terms;       // of the sparse factors that are read
    weft_spmm_plan *plan; // of W
    cl_mem buffers[MOST_OPERANDS];
    weft_tensor views[MOST_OPERANDS];
} bench_stage;

// ---- operands

static bool create(bench_stage *stage, int i, int ndim, const int64_t *shape, complaint *why)
{
    weft_tensor *view = &stage->views[i];
    *view = bench_view(NULL, stage->spec->dtype, ndim, shape);
    if (!bench_operand_create(&stage->buffers[i], stage->ctx, view, "an operand", why))
        return false;
    view->buffer = stage->buffers[i];
    return true;
}

static bool is_layer(const bench_stage *stage)
{
    return stage->spec->kind <= BENCH_LINEAR_DW;
}

static bool create_layer(bench_stage *stage, complaint *why)
{
    const bench_sparse_kind kind = stage->spec->kind;
    const bool is_forward = kind == BENCH_LINEAR;
    const int64_t in[] = {stage->C.n_cols, stage->spec->k};
    const int64_t out[] = {stage->C.n_rows, stage->spec->k};
    const int64_t line[] = {is_forward ? stage->C.n_rows : stage->C.nnz};
    if (kind != BENCH_LINEAR_DW &&
        weft_spmm_plan_create(&stage->plan, stage->ctx, stage->queue, &stage->C,
                              WEFT_SPMM_PLAN(.transpose_a = !is_forward)) != WEFT_OK)
        return complain_weft(why);
    return create(stage, 0, 2, is_forward ? in : out, why) &&
           create(stage, 1, 2, is_forward ? out : in, why) &&
           (kind == BENCH_LINEAR_DX || create(stage, 2, 1, line, why));
}

// B is n x k, seen as k x n, or k x n itself.
static bool create_products(bench_stage *stage, complaint *why)
{
    const bench_sparse_spec *spec = stage->spec;
    const int64_t m = stage->C.n_rows, n = stage->C.n_cols, k = spec->k;
    const int64_t a[] = {m, k}, b[] = {k, n}, d[] = {stage->C.nnz};
    if (!create(stage, 0, 2, a, why) || !create(stage, 1, 2, b, why) ||
        !create(stage, 2, 1, d, why))
        return false;
    if (!spec->row_major) {
        stage->views[1].stride[0] = 1;
        stage->views[1].stride[1] = k;
    }
    return true;
}

// The dense ones of A, m x k, and B, n x k; and D.
static bool create_sampled(bench_stage *stage, complaint *why)
{
    const bench_sparse_spec *spec = stage->spec;
    const int64_t shapes[2][2] = {{stage->C.n_rows, spec->k}, {stage->C.n_cols, spec->k}};
    for (int i = 0; i < 2; i++)
        if (!spec->is_sparse[i] && !create(stage, i, 2, shapes[i], why))
            return false;
    return create(stage, 2, 1, &stage->C.nnz, why);
}

// Counts the square's entries, to know how large its arrays are.
static bool create_sparse_square(bench_stage *stage, complaint *why)
{
    const weft_csr *A = &stage->C;
    weft_csr *square = &stage->square;
    *square = (weft_csr){.n_rows = A->n_rows, .n_cols = A->n_cols};
    const size_t offsets_bytes = (size_t)(A->n_rows + 1) * sizeof(cl_int);
    if (!buffer_create(&square->offsets, stage->ctx, NULL, offsets_bytes, "the square's offsets",
                       why))
        return false;
    if (weft_spgemm_count(stage->ctx, stage->queue, A, A, square, &square->nnz, NULL) != WEFT_OK)
        return complain_weft(why);
    const size_t entries = (size_t)square->nnz;
    return buffer_create(&square->indices, stage->ctx, NULL, entries * sizeof(cl_int),
                         "the square's indices", why) &&
           buffer_create(&square->values, stage->ctx, NULL, entries * sizeof(cl_float),
                         "the square's values", why);
}

static bool create_square(bench_stage *stage, complaint *why)
{
    const int64_t shape[] = {stage->C.n_rows, stage->C.n_cols};
    return stage->spec->kind == BENCH_SPGEMM ? create_sparse_square(stage, why)
                                             : create(stage, 0, 2, shape, why);
}

static bool is_square(const bench_stage *stage)
{
    return stage->spec->kind == BENCH_SPGEMM || stage->spec->kind == BENCH_SPGEMM_DENSE;
}

static bool create_values(bench_stage *stage, complaint *why)
{
    const int64_t shape[] = {stage->C.nnz};
    return create(stage, 0, 1, shape, why) &&
           (stage->spec->kind == BENCH_SPARSE_SOFTMAX || create(stage, 1, 1, shape, why));
}

static bool create_heads(bench_stage *stage, complaint *why)
{
    const bench_sparse_spec *spec = stage->spec;
    const int64_t rows[] = {stage->C.n_rows, stage->C.n_cols, stage->C.n_cols, stage->C.n_rows};
    for (int i = 0; i < MOST_OPERANDS; i++) {
        const int64_t shape[] = {spec->n_heads, rows[i], spec->k};
        if (!create(stage, i, 3, shape, why))
            return false;
    }
    return true;
}

static bool upload(weft_csr *out, const bench_stage *stage, const weft_csr_host *host,
                   complaint *why)
{
    return weft_csr_create(out, stage->ctx, stage->queue, host) == WEFT_OK || complain_weft(why);
}

// The sparse ones of A and B. Their elements that C's entries read count as operations: rows of B,
// where A may have no match, or of A if B is dense.
static bool create_factors(bench_stage *stage, const weft_csr_host *C, complaint *why)
{
    const bench_sparse_spec *spec = stage->spec;
    weft_csr_host hosts[2] = {{0}, {0}};
    bool ok = true;
    for (int i = 0; i < 2 && ok; i++)
        ok = !spec->is_sparse[i] ||
             (bench_matrix_make(&hosts[i], &spec->factors[i], spec->dtype, why) &&
              upload(&stage->factors[i], stage, &hosts[i], why));
    if (ok)
        stage->n_terms = sparse_sampled_terms(&hosts[0], spec->is_sparse[1] ? &hosts[1] : NULL, C);
    weft_csr_host_destroy(&hosts[0]);
    weft_csr_host_destroy(&hosts[1]);
    return ok;
}

static bool create_sparse(bench_stage *stage, complaint *why)
{
    const bench_sparse_spec *spec = stage->spec;
    weft_csr_host host;
    if (!bench_matrix_make(&host, &spec->matrix, spec->dtype, why))
        return false;
    const bool ok = bench_pattern_save(&host, stage->patterns, spec->name, why) &&
                    upload(&stage->C, stage, &host, why) &&
                    (spec->kind != BENCH_SDDMM_SPARSE || create_factors(stage, &host, why));
    weft_csr_host_destroy(&host);
    return ok;
}

static bool set_up(bench_stage *stage, complaint *why)
{
    const bench_sparse_spec *spec = stage->spec;
    if (!create_sparse(stage, why))
        return false;
    return is_layer(stage)                        ? create_layer(stage, why)
           : is_square(stage)                     ? create_square(stage, why)
           : spec->kind == BENCH_SDDMM            ? create_products(stage, why)
           : spec->kind == BENCH_SDDMM_SPARSE     ? create_sampled(stage, why)
           : spec->kind == BENCH_SPARSE_ATTENTION ? create_heads(stage, why)
                                                  : create_values(stage, why);
}

static void tear_down(bench_stage *stage)
{
    clFinish(stage->queue);
    weft_spmm_plan_destroy(&stage->plan);
    weft_csr_destroy(&stage->C);
    weft_csr_destroy(&stage->square);
    weft_csr_destroy(&stage->factors[0]);
    weft_csr_destroy(&stage->factors[1]);
    for (int i = 0; i < MOST_OPERANDS; i++)
        buffer_release(&stage->buffers[i]);
}

static bool fits(const bench_stage *stage)
{
    if (stage->spec->dtype != WEFT_F64 || weft_context_limits(stage->ctx)->has_f64)
        return true;
    bench_note("%s: skipped: the device has no f64", stage->spec->name);
    return false;
}

// ---- calls

static weft_status call_square(const bench_stage *stage)
{
    const weft_csr *A = &stage->C;
    if (stage->spec->kind == BENCH_SPGEMM_DENSE)
        return weft_spgemm_dense(stage->ctx, stage->queue, 1, A, A, 0, &stage->views[0], NULL);
    const weft_status status =
        weft_spgemm_count(stage->ctx, stage->queue, A, A, &stage->square, NULL, NULL);
    return status == WEFT_OK ? weft_spgemm(stage->ctx, stage->queue, A, A, &stage->square, NULL)
                             : status;
}

static weft_factor factor_of(const bench_stage *stage, int i)
{
    if (stage->spec->is_sparse[i])
        return (weft_factor){.sparse = &stage->factors[i]};
    return (weft_factor){.dense = &stage->views[i]};
}

static weft_status call_sampled(const bench_stage *stage)
{
    const weft_factor A = factor_of(stage, 0), B = factor_of(stage, 1);
    return weft_sddmm_sparse(stage->ctx, stage->queue, 1, &A, &B, &stage->C, 0, &stage->views[2],
                             NULL);
}

static weft_status call(const void *of)
{
    const bench_stage *stage = of;
    const weft_tensor *x = stage->views;
    switch (stage->spec->kind) {
    case BENCH_LINEAR:
        return weft_sparse_linear(stage->ctx, stage->queue, &stage->C, &x[0], &x[1],
                                  WEFT_SPARSE_LINEAR(.plan = stage->plan, .bias = &x[2],
                                                     .activation = WEFT_ACTIVATION_RELU));
    case BENCH_LINEAR_DX:
        return weft_sparse_linear_dx(stage->ctx, stage->queue, &stage->C, &x[0], &x[1],
                                     WEFT_SPARSE_LINEAR(.plan = stage->plan));
    case BENCH_LINEAR_DW:
        return weft_sparse_linear_dw(stage->ctx, stage->queue, &x[0], &x[1], &stage->C, &x[2],
                                     NULL);
    case BENCH_SPGEMM:
    case BENCH_SPGEMM_DENSE:
        return call_square(stage);
    case BENCH_SDDMM:
        return weft_sddmm(stage->ctx, stage->queue, 1, &x[0], &x[1], &stage->C, 0, &x[2], NULL);
    case BENCH_SDDMM_SPARSE:
        return call_sampled(stage);
    case BENCH_SPARSE_SOFTMAX:
        return weft_sparse_softmax(stage->ctx, stage->queue, 1, &stage->C, &x[0], NULL);
    case BENCH_SPARSE_SOFTMAX_BACKWARD:
        return weft_sparse_softmax_backward(stage->ctx, stage->queue, 1, &stage->C, &x[0], &x[1],
                                            NULL);
    case BENCH_SPARSE_ATTENTION:
        break;
    }
    return weft_sparse_attention(stage->ctx, stage->queue, 0.125, &x[0], &x[1], &x[2], &stage->C,
                                 &x[3], NULL);
}

// A layer is SpMM forward and by the input, SDDMM by the weights.
static int describe_layer(const bench_stage *stage, char *text, size_t size)
{
    const weft_tensor *x = stage->views;
    if (stage->spec->kind == BENCH_LINEAR)
        return weft_spmm_describe(
            stage->ctx, &stage->C, &x[0], &x[1],
            WEFT_SPMM(.plan = stage->plan, .bias = &x[2], .activation = WEFT_ACTIVATION_RELU), text,
            size);
    if (stage->spec->kind == BENCH_LINEAR_DX)
        return weft_spmm_describe(stage->ctx, &stage->C, &x[0], &x[1],
                                  WEFT_SPMM(.plan = stage->plan, .transpose_a = true), text, size);
    const weft_tensor transposed = weft_tensor_transposed(&x[1]);
    return weft_sddmm_describe(stage->ctx, &x[0], &transposed, &stage->C, &x[2],
                               WEFT_SDDMM(.indicator = true), text, size);
}

static int describe_square(const bench_stage *stage, char *text, size_t size)
{
    const weft_csr *A = &stage->C;
    return stage->spec->kind == BENCH_SPGEMM
               ? weft_spgemm_describe(stage->ctx, A, A, &stage->square, NULL, text, size)
               : weft_spgemm_dense_describe(stage->ctx, A, A, &stage->views[0], NULL, text, size);
}

static int describe_sampled(const bench_stage *stage, char *text, size_t size)
{
    const weft_factor A = factor_of(stage, 0), B = factor_of(stage, 1);
    return weft_sddmm_sparse_describe(stage->ctx, &A, &B, &stage->C, &stage->views[2], NULL, text,
                                      size);
}

static bool describe(const bench_stage *stage, char *text, size_t size, complaint *why)
{
    const weft_tensor *x = stage->views;
    const bench_sparse_kind kind = stage->spec->kind;
    const int length =
        is_layer(stage)    ? describe_layer(stage, text, size)
        : is_square(stage) ? describe_square(stage, text, size)
        : kind == BENCH_SDDMM
            ? weft_sddmm_describe(stage->ctx, &x[0], &x[1], &stage->C, &x[2], NULL, text, size)
        : kind == BENCH_SDDMM_SPARSE ? describe_sampled(stage, text, size)
        : kind == BENCH_SPARSE_ATTENTION
            ? weft_sparse_attention_describe(stage->ctx, &x[0], &x[1], &x[2], &stage->C, &x[3],
                                             NULL, text, size)
        : kind == BENCH_SPARSE_SOFTMAX_BACKWARD
            ? weft_sparse_softmax_backward_describe(stage->ctx, &stage->C, &x[0], &x[1], NULL, text,
                                                    size)
            : weft_sparse_softmax_describe(stage->ctx, &stage->C, &x[0], NULL, text, size);
    return length >= 0 || complain(why, "%s: %s", stage->spec->name, weft_last_error());
}

// Both operands once, and the square.
static double bytes_of_square(const bench_stage *stage)
{
    const weft_csr *A = &stage->C, *square = &stage->square;
    const double rows = (double)A->n_rows, entry = sizeof(cl_int) + sizeof(cl_float);
    const double operands = 2 * ((double)A->nnz * entry + rows * sizeof(cl_int));
    return operands + (stage->spec->kind == BENCH_SPGEMM
                           ? (double)square->nnz * entry + rows * sizeof(cl_int)
                           : rows * (double)A->n_cols * sizeof(cl_float));
}

// Operations, or for softmax bytes of values; offsets count, too.
static double work_of(const bench_stage *stage)
{
    const bench_sparse_spec *spec = stage->spec;
    const double nnz = (double)stage->C.nnz;
    if (spec->kind == BENCH_SDDMM || is_layer(stage))
        return 2 * nnz * (double)spec->k;
    if (spec->kind == BENCH_SDDMM_SPARSE)
        return 2 * stage->n_terms;
    if (spec->kind == BENCH_SPARSE_ATTENTION)
        return 4 * nnz * (double)spec->k * (double)spec->n_heads;
    if (is_square(stage))
        return bytes_of_square(stage);
    const double arrays = spec->kind == BENCH_SPARSE_SOFTMAX ? 2 : 3;
    return arrays * nnz * (double)weft_dtype_size(spec->dtype) +
           (double)stage->C.n_rows * (double)weft_dtype_size(WEFT_I32);
}

// The sizes of a product: m x k by k x n.
static void put_sizes(timed_report *report, const bench_stage *stage)
{
    const weft_csr *C = &stage->C;
    const bench_sparse_kind kind = stage->spec->kind;
    const bool is_spmm = kind == BENCH_LINEAR || kind == BENCH_LINEAR_DX;
    report->is_product = true;
    report->m = kind == BENCH_LINEAR_DX ? C->n_cols : C->n_rows;
    report->n = is_spmm ? stage->spec->k : C->n_cols;
    report->k = kind == BENCH_LINEAR      ? C->n_cols
                : kind == BENCH_LINEAR_DX ? C->n_rows
                : is_square(stage)        ? C->n_cols
                                          : stage->spec->k;
    report->nnz = C->nnz;
}

static bool measure(bench_row *row, bench_stage *stage, const bench_choice *choice, complaint *why)
{
    static const char *const ops[] = {
        "sparse_linear",   "sparse_linear_dx", "sparse_linear_dw",
        "spgemm",          "spgemm_dense",     "sddmm",
        "sddmm_sparse",    "sparse_softmax",   "sparse_softmax_backward",
        "sparse_attention"};
    const bench_sparse_spec *spec = stage->spec;
    progress_show("%s", spec->name);
    if (!set_up(stage, why))
        return false;
    const bool is_product = spec->k > 0;
    *row = (bench_row){.limit = is_product ? BENCH_FMA : BENCH_COPY, .goal = (int)spec->goal};
    memcpy(row->name, spec->name, sizeof(row->name));
    timed_report *report = &row->report;
    *report = report_new(ops[spec->kind], weft_context_limits(stage->ctx)->name, spec->dtype);
    report->name = row->name;
    report->plan = row->plan;
    put_sizes(report, stage);
    const bench_task task = {
        .limits = stage->limits,
        .call = call,
        .of = stage,
        .work = work_of(stage),
        .is_quick = choice->quick,
        .on_request = choice->on_request,
    };
    return bench_row_measure(row, &task, why) && describe(stage, row->plan, sizeof(row->plan), why);
}

bool bench_sparse_run(bench_rows *out, weft_context *ctx, const bench_limits *limits, unsigned sets,
                      const bench_choice *choice, complaint *why)
{
    bench_sparse_specs specs;
    // Values are read and written, and columns are adjacent to them.
    const uint64_t bytes = bench_array_bytes(weft_context_limits(ctx)) / 2;
    bool ok = bench_sparse_list(&specs, sets, choice->quick, bytes, why) &&
              bench_rows_create(out, specs.count, why);
    for (size_t i = 0; ok && i < specs.count; i++) {
        bench_stage stage = {.spec = &specs.items[i],
                             .patterns = choice->patterns,
                             .ctx = ctx,
                             .queue = bench_limits_queue(limits)->cl,
                             .limits = limits};
        if (!bench_chooses(choice, stage.spec->name) || !fits(&stage))
            continue;
        ok = measure(&out->items[out->count], &stage, choice, why);
        tear_down(&stage);
        out->count += ok;
    }
    bench_sparse_specs_free(&specs);
    progress_clear();
    return ok;
}

void bench_sparse_print(const bench_rows *rows, FILE *out)
{
    if (rows->count == 0)
        return;
    bench_rows_print(rows, out);
    bench_rows_print_least(rows, BENCH_SDDMM_PRUNED,
                           "share of multiply-adds, f32 SDDMM of pruned "
                           "layers, k 128 and more",
                           out);
    bench_rows_print_least(rows, BENCH_SDDMM_GRAPH, "the same of a graph, k 128", out);
    bench_rows_print_least(rows, BENCH_SOFTMAX_ROWS, "share of copying, f32 sparse softmax", out);
}
