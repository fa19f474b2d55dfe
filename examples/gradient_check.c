// SPDX-License-Identifier: Apache-2.0
// Gradients from the device, against finite differences on the host: plain loops in double.
#include "gradient_check.h"

#include <math.h>
#include <stdlib.h>

static const double STEP = 1e-6;

typedef struct host_layer {
    const weft_csr_host *pattern;
    bool relu;
    double *w, *b, *y; // y [n_out x n]
    double *dw, *db;   // from the device
} host_layer;

typedef struct host_network {
    int n_layers;
    host_layer layers[SPARSE_NETWORK_LAYERS];
    int64_t n;       // samples
    double *inputs;  // [n_inputs x n]
    int32_t *labels; // [n]
} host_network;

static bool copy(cl_command_queue queue, const weft_tensor *from, double **to)
{
    *to = malloc(((size_t)count_elements(from) + 1) * sizeof(**to));
    return is_there(*to) && read_numbers(queue, from, *to);
}

static bool copy_layer(host_layer *out, cl_command_queue queue, const sparse_layer *layer,
                       int64_t n)
{
    out->pattern = &layer->pattern;
    out->relu = layer->relu;
    out->y = malloc((size_t)(layer->W.n_rows * n) * sizeof(*out->y));
    return is_there(out->y) && copy(queue, &layer->w, &out->w) && copy(queue, &layer->b, &out->b) &&
           copy(queue, &layer->dw, &out->dw) && copy(queue, &layer->db, &out->db);
}

static bool copy_all(host_network *out, const sparse_network *net, const sparse_samples *samples)
{
    const cl_command_queue queue = weft_context_queue(net->ctx);
    *out = (host_network){.n_layers = net->n_layers, .n = count_elements(&samples->labels)};
    out->labels = malloc((size_t)out->n * sizeof(*out->labels));
    bool ok = is_there(out->labels) && read_tensor(queue, &samples->labels, out->labels) &&
              copy(queue, &samples->inputs, &out->inputs);
    for (int l = 0; ok && l < net->n_layers; l++)
        ok = copy_layer(&out->layers[l], queue, &net->layers[l], out->n);
    return ok;
}

static void free_all(host_network *net)
{
    for (int l = 0; l < net->n_layers; l++) {
        const host_layer *layer = &net->layers[l];
        free(layer->w);
        free(layer->b);
        free(layer->y);
        free(layer->dw);
        free(layer->db);
    }
    free(net->inputs);
    free(net->labels);
}

// y = f(W x + b)
static void forward(const host_layer *layer, const double *x, int64_t n)
{
    const int32_t *offsets = layer->pattern->offsets, *indices = layer->pattern->indices;
    for (int64_t row = 0; row < layer->pattern->n_rows; row++) {
        double *y = layer->y + row * n;
        for (int64_t s = 0; s < n; s++)
            y[s] = layer->b[row];
        for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
            for (int64_t s = 0; s < n; s++)
                y[s] += layer->w[e] * x[indices[e] * n + s];
        for (int64_t s = 0; layer->relu && s < n; s++)
            y[s] = y[s] > 0 ? y[s] : 0;
    }
}

// The mean of -log(softmax(scores)[label]); scores are small enough for exp().
static double loss_of(const host_network *net)
{
    const double *x = net->inputs;
    for (int l = 0; l < net->n_layers; l++) {
        forward(&net->layers[l], x, net->n);
        x = net->layers[l].y;
    }
    const int64_t n_classes = net->layers[net->n_layers - 1].pattern->n_rows;
    double loss = 0;
    for (int64_t s = 0; s < net->n; s++) {
        double sum = 0;
        for (int64_t c = 0; c < n_classes; c++)
            sum += exp(x[c * net->n + s]);
        loss += log(sum) - x[net->labels[s] * net->n + s];
    }
    return loss / (double)net->n;
}

static double largest(const double *numbers, int64_t n)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs(numbers[i]));
    return most;
}

// The largest difference among some of n parameters.
static double probe(const host_network *net, double *parameters, const double *gradients, int64_t n,
                    int n_probes)
{
    double worst = 0;
    for (int i = 0; i < n_probes; i++) {
        const int64_t at = (2 * i + 1) * n / 2 / n_probes;
        const double was = parameters[at];
        parameters[at] = was + STEP;
        const double above = loss_of(net);
        parameters[at] = was - STEP;
        const double below = loss_of(net);
        parameters[at] = was;
        const double difference = fabs((above - below) / (2 * STEP) - gradients[at]);
        worst = difference <= worst ? worst : difference == difference ? difference : INFINITY;
    }
    return worst;
}

bool gradient_check(const sparse_network *net, const sparse_samples *samples, int n_probes,
                    double *error)
{
    host_network host = {0};
    const bool ok = sparse_network_gradients(net, samples) && copy_all(&host, net, samples);
    *error = 0;
    for (int l = 0; ok && l < host.n_layers; l++) {
        const host_layer *layer = &host.layers[l];
        const int64_t nnz = layer->pattern->nnz, n_out = layer->pattern->n_rows;
        const double scale = fmax(largest(layer->dw, nnz), largest(layer->db, n_out));
        const double worst = fmax(probe(&host, layer->w, layer->dw, nnz, n_probes),
                                  probe(&host, layer->b, layer->db, n_out, n_probes));
        const double here = worst > 0 ? worst / scale : 0;
        *error = here <= *error ? *error : here == here ? here : INFINITY;
    }
    free_all(&host);
    return ok;
}
