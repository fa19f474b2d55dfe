// SPDX-License-Identifier: Apache-2.0
// A classifier of sparse layers, and its training.
#include "sparse_network.h"

#include <math.h>
#include <stdlib.h>

// Also for units that pruning leaves without weights: at 0 relu would have no gradient, and they
// would never change.
static const double BIAS = 0.05;

// Some neighbouring columns of a matrix, or elements of a vector.
static weft_tensor columns(const weft_tensor *all, int64_t first, int64_t n)
{
    weft_tensor t = *all;
    const int last = t.ndim - 1;
    t.offset += first * t.stride[last];
    t.shape[last] = n;
    return t;
}

sparse_samples sparse_samples_of(const sparse_samples *all, int64_t first, int64_t n)
{
    return (sparse_samples){columns(&all->inputs, first, n), columns(&all->is, first, n),
                            columns(&all->labels, first, n)};
}

void sparse_samples_free(sparse_samples *samples)
{
    free_tensor(&samples->inputs);
    free_tensor(&samples->is);
    free_tensor(&samples->labels);
}

static int64_t count_samples(const sparse_samples *samples)
{
    return samples->labels.shape[0];
}

// Making and freeing.

static bool make_layer(sparse_network *net, int l, int64_t n_out, int64_t n_in, chance *c)
{
    const double spread = sqrt(2.0 / (double)n_in);
    const size_t n = (size_t)(n_out * n_in);
    float *dense = malloc(n * sizeof(*dense));
    weft_csr_host weights = {0};
    bool ok = is_there(dense);
    for (size_t i = 0; ok && i < n; i++)
        dense[i] = (float)(spread * chance_normal(c));
    ok = ok && is_ok(weft_csr_host_from_dense(&weights, n_out, n_in, dense, n_in, 1, 0, NULL));
    free(dense);
    return ok &&
           sparse_layer_create(&net->layers[l], net->ctx, &weights, BIAS, l < net->n_layers - 1);
}

bool sparse_network_create(sparse_network *out, weft_context *ctx, int n_layers,
                           const int64_t *sizes, int64_t most_samples, chance *c)
{
    bool ok = true;
    *out = (sparse_network){.ctx = ctx, .n_layers = n_layers};
    for (int l = 0; ok && l < n_layers; l++)
        ok = make_layer(out, l, sizes[l + 1], sizes[l], c) &&
             make_tensor(&out->Y[l], ctx, WEFT_F32, sizes[l + 1], most_samples, NULL) &&
             make_tensor(&out->dY[l], ctx, WEFT_F32, sizes[l + 1], most_samples, NULL);
    ok = ok && make_tensor(&out->logs, ctx, WEFT_F32, sizes[n_layers], most_samples, NULL) &&
         make_tensor(&out->answers, ctx, WEFT_I32, most_samples, 0, NULL) &&
         make_tensor(&out->hit, ctx, WEFT_F32, most_samples, 0, NULL) &&
         make_tensor(&out->loss, ctx, WEFT_F32, 1, 0, NULL) &&
         make_tensor(&out->n_hits, ctx, WEFT_F32, 1, 0, NULL);
    out->loss.ndim = out->n_hits.ndim = 0;
    return ok;
}

void sparse_network_free(sparse_network *net)
{
    for (int l = 0; l < net->n_layers; l++) {
        sparse_layer_free(&net->layers[l]);
        free_tensor(&net->Y[l]);
        free_tensor(&net->dY[l]);
    }
    free_tensor(&net->logs);
    free_tensor(&net->answers);
    free_tensor(&net->hit);
    free_tensor(&net->loss);
    free_tensor(&net->n_hits);
}

int64_t sparse_network_entries(const sparse_network *net)
{
    int64_t n = 0;
    for (int l = 0; l < net->n_layers; l++)
        n += net->layers[l].W.nnz;
    return n;
}

int64_t sparse_network_weights(const sparse_network *net)
{
    int64_t n = 0;
    for (int l = 0; l < net->n_layers; l++)
        n += net->layers[l].W.n_rows * net->layers[l].W.n_cols;
    return n;
}

// Forward and backward. Arrays have room for most_samples; a call uses the first n columns.

static bool forward(const sparse_network *net, const sparse_samples *samples)
{
    const int64_t n = count_samples(samples);
    weft_tensor X = samples->inputs;
    bool ok = true;
    for (int l = 0; ok && l < net->n_layers; l++) {
        const weft_tensor Y = columns(&net->Y[l], 0, n);
        ok = sparse_layer_forward(&net->layers[l], &X, &Y);
        X = Y;
    }
    const weft_tensor logs = columns(&net->logs, 0, n);
    return ok &&
           is_ok(weft_log_softmax(net->ctx, weft_context_queue(net->ctx), 1, &X, 0, &logs, NULL));
}

static bool backward(const sparse_network *net, const sparse_samples *samples)
{
    const int64_t n = count_samples(samples);
    const weft_tensor logs = columns(&net->logs, 0, n);
    weft_tensor dY = columns(&net->dY[net->n_layers - 1], 0, n);
    bool ok = is_ok(weft_elementwise(net->ctx, weft_context_queue(net->ctx),
                                     WEFT_INPUTS({"logs", &logs}, {"is", &samples->is}),
                                     WEFT_OUTPUTS({"(exp(logs) - is) / n", &dY}),
                                     WEFT_ELEMENTWISE(WEFT_VALUES({"n", (double)n}))));
    for (int l = net->n_layers - 1; ok && l > 0; l--) {
        const weft_tensor X = columns(&net->Y[l - 1], 0, n), Y = columns(&net->Y[l], 0, n);
        const weft_tensor dX = columns(&net->dY[l - 1], 0, n);
        ok = sparse_layer_backward(&net->layers[l], &X, &Y, &dY, &dX);
        dY = dX;
    }
    const weft_tensor Y = columns(&net->Y[0], 0, n);
    return ok && sparse_layer_backward(&net->layers[0], &samples->inputs, &Y, &dY, NULL);
}

static bool find_loss(const sparse_network *net, const sparse_samples *samples, double *loss)
{
    const cl_command_queue queue = weft_context_queue(net->ctx);
    const int64_t n = count_samples(samples);
    const weft_tensor logs = columns(&net->logs, 0, n);
    const bool ok =
        forward(net, samples) &&
        is_ok(weft_elementwise(net->ctx, queue, WEFT_INPUTS({"logs", &logs}, {"is", &samples->is}),
                               WEFT_OUTPUTS({"logs * is", &logs}), NULL)) &&
        is_ok(weft_reduce(net->ctx, queue, WEFT_SUM, &logs, 0, NULL, &net->loss, NULL)) &&
        read_numbers(queue, &net->loss, loss);
    *loss = ok ? -*loss / (double)n : NAN;
    return ok;
}

bool sparse_network_judge(const sparse_network *net, const sparse_samples *samples, double *loss,
                          double *right)
{
    const cl_command_queue queue = weft_context_queue(net->ctx);
    const int64_t n = count_samples(samples);
    const weft_tensor scores = columns(&net->Y[net->n_layers - 1], 0, n);
    const weft_tensor answers = columns(&net->answers, 0, n), hit = columns(&net->hit, 0, n);
    const bool ok =
        find_loss(net, samples, loss) &&
        is_ok(weft_reduce(net->ctx, queue, WEFT_ARGMAX, &scores, 1, (const int[]){0}, &answers,
                          NULL)) &&
        is_ok(weft_elementwise(net->ctx, queue,
                               WEFT_INPUTS({"answer", &answers}, {"label", &samples->labels}),
                               WEFT_OUTPUTS({"answer == label", &hit}), NULL)) &&
        is_ok(weft_reduce(net->ctx, queue, WEFT_SUM, &hit, 0, NULL, &net->n_hits, NULL)) &&
        read_numbers(queue, &net->n_hits, right);
    *right = ok ? *right / (double)n : NAN;
    return ok;
}

bool sparse_network_gradients(const sparse_network *net, const sparse_samples *samples)
{
    return forward(net, samples) && backward(net, samples);
}

bool sparse_network_step(const sparse_network *net, const sparse_samples *samples, double rate,
                         double momentum)
{
    bool ok = sparse_network_gradients(net, samples);
    for (int l = 0; ok && l < net->n_layers; l++)
        ok = sparse_layer_update(&net->layers[l], rate, momentum);
    return ok;
}

bool sparse_network_prune(sparse_network *net, double sparsity)
{
    bool ok = true;
    for (int l = 0; ok && l < net->n_layers; l++)
        ok = sparse_layer_prune(&net->layers[l], sparsity);
    return ok;
}
