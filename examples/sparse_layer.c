// SPDX-License-Identifier: Apache-2.0
// A fully connected layer with sparse weights, and its training.
#include "sparse_layer.h"

#include <math.h>
#include <stdlib.h>

static bool make_weights(sparse_layer *layer, weft_csr_host *weights)
{
    const cl_command_queue queue = weft_context_queue(layer->ctx);
    layer->pattern = *weights;
    *weights = (weft_csr_host){0};
    if (!is_ok(weft_csr_create(&layer->W, layer->ctx, queue, &layer->pattern)))
        return false;
    const weft_csr *W = &layer->W;
    layer->w = (weft_tensor){W->values, W->dtype, W->values_start, 1, {W->nnz}, {1}};
    return is_ok(weft_spmm_plan_create(&layer->plan, layer->ctx, queue, W, NULL)) &&
           is_ok(weft_spmm_plan_create(&layer->transposed, layer->ctx, queue, W,
                                       WEFT_SPMM_PLAN(.transpose_a = true))) &&
           make_tensor(&layer->dw, layer->ctx, W->dtype, W->nnz, 0, NULL) &&
           make_tensor(&layer->vw, layer->ctx, W->dtype, W->nnz, 0, NULL);
}

static void free_weights(sparse_layer *layer)
{
    free_tensor(&layer->dw);
    free_tensor(&layer->vw);
    weft_spmm_plan_destroy(&layer->plan);
    weft_spmm_plan_destroy(&layer->transposed);
    weft_csr_destroy(&layer->W);
    weft_csr_host_destroy(&layer->pattern);
}

static bool make_bias(sparse_layer *layer, double bias)
{
    const size_t n = (size_t)layer->W.n_rows;
    double *b = malloc((n + 1) * sizeof(*b));
    for (size_t row = 0; b != NULL && row < n; row++)
        b[row] = bias;
    const bool ok =
        is_there(b) && make_numbers(&layer->b, layer->ctx, layer->W.dtype, layer->W.n_rows, 0, b);
    free(b);
    return ok;
}

bool sparse_layer_create(sparse_layer *out, weft_context *ctx, weft_csr_host *weights, double bias,
                         bool relu)
{
    *out = (sparse_layer){.ctx = ctx, .relu = relu};
    return make_weights(out, weights) && make_bias(out, bias) &&
           make_tensor(&out->db, ctx, out->W.dtype, out->W.n_rows, 0, NULL) &&
           make_tensor(&out->vb, ctx, out->W.dtype, out->W.n_rows, 0, NULL);
}

void sparse_layer_free(sparse_layer *layer)
{
    free_weights(layer);
    free_tensor(&layer->b);
    free_tensor(&layer->db);
    free_tensor(&layer->vb);
    *layer = (sparse_layer){0};
}

bool sparse_layer_forward(const sparse_layer *layer, const weft_tensor *X, const weft_tensor *Y)
{
    const weft_activation f = layer->relu ? WEFT_ACTIVATION_RELU : WEFT_ACTIVATION_NONE;
    return is_ok(weft_sparse_linear(
        layer->ctx, weft_context_queue(layer->ctx), &layer->W, X, Y,
        WEFT_SPARSE_LINEAR(.plan = layer->plan, .bias = &layer->b, .activation = f)));
}

bool sparse_layer_backward(const sparse_layer *layer, const weft_tensor *X, const weft_tensor *Y,
                           const weft_tensor *dY, const weft_tensor *dX)
{
    weft_context *ctx = layer->ctx;
    const cl_command_queue queue = weft_context_queue(ctx);
    const weft_tensor *dZ = dY;
    return (!layer->relu ||
            is_ok(weft_elementwise(ctx, queue, WEFT_INPUTS({"dy", dY}, {"y", Y}),
                                   WEFT_OUTPUTS({"relu_backward(dy, y)", dZ}), NULL))) &&
           is_ok(weft_sparse_linear_dw(ctx, queue, dZ, X, &layer->W, &layer->dw, NULL)) &&
           is_ok(weft_reduce(ctx, queue, WEFT_SUM, dZ, 1, (const int[]){1}, &layer->db, NULL)) &&
           (dX == NULL ||
            is_ok(weft_sparse_linear_dx(ctx, queue, &layer->W, dZ, dX,
                                        WEFT_SPARSE_LINEAR(.plan = layer->transposed))));
}

static bool update(const sparse_layer *layer, const weft_tensor *w, const weft_tensor *dw,
                   const weft_tensor *v, double rate, double momentum)
{
    return is_ok(weft_elementwise(
        layer->ctx, weft_context_queue(layer->ctx), WEFT_INPUTS({"w", w}, {"dw", dw}, {"v", v}),
        WEFT_OUTPUTS({"momentum * v + dw", v}, {"w - rate * (momentum * v + dw)", w}),
        WEFT_ELEMENTWISE(WEFT_VALUES({"rate", rate}, {"momentum", momentum}))));
}

bool sparse_layer_update(const sparse_layer *layer, double rate, double momentum)
{
    return update(layer, &layer->w, &layer->dw, &layer->vw, rate, momentum) &&
           update(layer, &layer->b, &layer->db, &layer->vb, rate, momentum);
}

static int by_size_falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

// The n-th largest of the magnitudes, n from 1.
static bool find_largest(const double *values, int64_t n_values, int64_t n, double *out)
{
    double *sizes = malloc((size_t)n_values * sizeof(*sizes));
    if (!is_there(sizes))
        return false;
    for (int64_t e = 0; e < n_values; e++)
        sizes[e] = fabs(values[e]);
    qsort(sizes, (size_t)n_values, sizeof(*sizes), by_size_falling);
    *out = sizes[n - 1];
    free(sizes);
    return true;
}

// The pattern's entries of values of at least `least` in magnitude.
static bool copy_largest(weft_csr_host *out, const weft_csr_host *pattern, const double *values,
                         double least)
{
    const int32_t *offsets = pattern->offsets, *indices = pattern->indices;
    const size_t room = (size_t)pattern->nnz + 1;
    int64_t *rows = malloc(room * sizeof(*rows)), *cols = malloc(room * sizeof(*cols));
    double *kept = malloc(room * sizeof(*kept));
    bool ok = is_there(rows) && is_there(cols) && is_there(kept);
    int64_t n_kept = 0;
    for (int64_t row = 0; ok && row < pattern->n_rows; row++)
        for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
            if (fabs(values[e]) >= least) {
                rows[n_kept] = row;
                cols[n_kept] = indices[e];
                kept[n_kept++] = values[e];
            }
    ok = ok && is_ok(weft_csr_host_from_coo(out, pattern->n_rows, pattern->n_cols, n_kept, rows,
                                            cols, kept, WEFT_CSR(.dtype = pattern->dtype)));
    free(rows);
    free(cols);
    free(kept);
    return ok;
}

bool sparse_layer_prune(sparse_layer *layer, double sparsity)
{
    const weft_csr_host *pattern = &layer->pattern;
    const double n_weights = (double)pattern->n_rows * (double)pattern->n_cols;
    const int64_t n_kept = (int64_t)fmax(1, round((1 - sparsity) * n_weights));
    if (n_kept >= pattern->nnz)
        return true;
    double *values = malloc((size_t)pattern->nnz * sizeof(*values)), least;
    weft_csr_host pruned = {0};
    const bool ok = is_there(values) &&
                    read_numbers(weft_context_queue(layer->ctx), &layer->w, values) &&
                    find_largest(values, pattern->nnz, n_kept, &least) &&
                    copy_largest(&pruned, pattern, values, least);
    free(values);
    if (!ok)
        return false;
    free_weights(layer); // reading has waited for the calls that use them
    return make_weights(layer, &pruned);
}
