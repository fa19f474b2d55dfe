// SPDX-License-Identifier: Apache-2.0
// The operands of a graph convolution network, and its result for one node, computed on the
// host:
//
//     P = softmax(S relu(S X W1) W2)
#ifndef WEFT_EXAMPLES_GRAPH_REFERENCE_H
#define WEFT_EXAMPLES_GRAPH_REFERENCE_H

#include <weft/csr.h>

#include "chance.h"

typedef struct graph_problem {
    weft_csr_host S; // f32 with i32 offsets and indices
    int64_t n_features, n_hidden, n_classes;
    float *X;  // [n_nodes x n_features]
    float *W1; // [n_features x n_hidden]
    float *W2; // [n_hidden x n_classes]
} graph_problem;

// Fills X, W1 and W2 with random numbers. False after a message on standard error.
bool graph_problem_draw(graph_problem *p, chance *c);

void graph_problem_free(graph_problem *p);

// The node with the longest row.
int64_t graph_problem_hub(const graph_problem *p);

// The largest difference between a row of P and the same from plain loops in double, infinite if a
// number is NaN. False after a message.
bool graph_problem_error(const graph_problem *p, int64_t node, const float *row, double *error);

#endif
