// SPDX-License-Identifier: Apache-2.0
// Gradients of a network from the device, against finite differences of the loss on the host.
#ifndef WEFT_EXAMPLES_GRADIENT_CHECK_H
#define WEFT_EXAMPLES_GRADIENT_CHECK_H

#include "sparse_network.h"

// Compares with (loss(w + h) - loss(w - h)) / 2h for n_probes weights of each layer and as many
// biases, evenly spread. The loss is computed by plain loops in double: with so small an h, their
// rounding and the loss's curvature are far below the rounding of f32. *error is the largest
// difference, relative to its layer's largest gradient; infinite if one is NaN. `samples` fill
// their buffers. Waits; false after a message on standard error.
bool gradient_check(const sparse_network *net, const sparse_samples *samples, int n_probes,
                    double *error);

#endif
