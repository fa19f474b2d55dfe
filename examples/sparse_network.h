// SPDX-License-Identifier: Apache-2.0
// A classifier of sparse layers, relu between them, trained by the softmax cross-entropy
//
//     loss = mean over samples of -log(softmax(Z)[label])
//
// by stochastic gradient descent with momentum. All calls wait except sparse_network_step(), and
// return false after a message on standard error.
#ifndef WEFT_EXAMPLES_SPARSE_NETWORK_H
#define WEFT_EXAMPLES_SPARSE_NETWORK_H

#include "chance.h"
#include "sparse_layer.h"

enum { SPARSE_NETWORK_LAYERS = 8 };

typedef struct sparse_network {
    weft_context *ctx;
    int n_layers;
    sparse_layer layers[SPARSE_NETWORK_LAYERS];
    weft_tensor Y[SPARSE_NETWORK_LAYERS], dY[SPARSE_NETWORK_LAYERS]; // [n_out x most_samples]
    weft_tensor logs;         // of softmax, [n_classes x most_samples]
    weft_tensor answers, hit; // [most_samples]: the class with the largest score; 1 where it is
                              // the label
    weft_tensor loss, n_hits; // scalars
} sparse_network;

// Samples on the device, or some neighbouring ones of them.
typedef struct sparse_samples {
    weft_tensor inputs; // [n_inputs x n]
    weft_tensor is;     // [n_classes x n]: 1 where the sample is of the class, else 0
    weft_tensor labels; // [n] i32
} sparse_samples;

// Samples first .. first + n - 1: views.
sparse_samples sparse_samples_of(const sparse_samples *all, int64_t first, int64_t n);

void sparse_samples_free(sparse_samples *samples);

// Layers from sizes[0] inputs to sizes[1], ... to sizes[n_layers], in f32, with an entry for
// every weight, drawn at random (He and others, "Delving deep into rectifiers", 2015). The network
// must be freed also after a failure.
bool sparse_network_create(sparse_network *out, weft_context *ctx, int n_layers,
                           const int64_t *sizes, int64_t most_samples, chance *c);

void sparse_network_free(sparse_network *net);

// Weights that have an entry, and all that a dense network would have.
int64_t sparse_network_entries(const sparse_network *net);
int64_t sparse_network_weights(const sparse_network *net);

// The loss, and the share of samples with the right answer.
bool sparse_network_judge(const sparse_network *net, const sparse_samples *samples, double *loss,
                          double *right);

// Gradients of the loss by weights and biases, into the layers.
bool sparse_network_gradients(const sparse_network *net, const sparse_samples *samples);

// Gradients, then one step of all weights against them.
bool sparse_network_step(const sparse_network *net, const sparse_samples *samples, double rate,
                         double momentum);

// Each layer for itself.
bool sparse_network_prune(sparse_network *net, double sparsity);

#endif
