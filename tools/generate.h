// SPDX-License-Identifier: Apache-2.0
// Made-up sparse matrices: pruned layers of networks, and graphs.
//
// f32, f64, f16 or bf16 values from the seed, i32 offsets and indices; columns are sorted and
// unique. The same arguments give the same matrix. The caller destroys `out` with
// weft_csr_host_destroy().
#ifndef WEFT_TOOLS_GENERATE_H
#define WEFT_TOOLS_GENERATE_H

#include <weft/csr.h>

#include "complaint.h"

// A pruned layer: exactly nnz entries, columns drawn uniformly. Lengths of rows follow a beta
// distribution on 0 .. k with mean nnz / m and coefficient of variation `cov`:
//
//   cov 0.1  as after pruning by magnitude     0.5  uneven     2  most rows short, few full
//
// With density d = nnz / (m k) a distribution on 0 .. k varies by less than sqrt((1 - d) / d).
typedef struct generate_layer {
    int64_t m, k, nnz;
    double cov;       // 0: all rows equally long, up to one entry
    bool has_full;    // the middle row has all k columns, and the rest share the other entries
    weft_dtype dtype; // WEFT_DEFAULT is f32
    uint64_t seed;
} generate_layer;

// The bound on cov above: infinite for an empty matrix, 0 for a full one.
double generate_layer_max_cov(const generate_layer *layer);

// Complains if nnz or cov is impossible.
bool generate_layer_csr(weft_csr_host *out, const generate_layer *layer, complaint *why);

// A graph grown node by node, as an adjacency matrix: symmetric, no loops. Each node is connected
// to `degree` earlier ones, chosen in proportion to the neighbours these already have, so that the
// number of neighbours follows a power law: P(d) ~ d^-3. The first degree + 1 nodes are all
// connected to each other. (Barabasi and Albert, "Emergence of Scaling in Random Networks", Science
// 1999.)
typedef struct generate_graph {
    int64_t n_nodes, degree; // 1 <= degree < n_nodes
    weft_dtype dtype;
    uint64_t seed;
} generate_graph;

// Entries of that matrix.
int64_t generate_graph_nnz(const generate_graph *graph);

bool generate_graph_csr(weft_csr_host *out, const generate_graph *graph, complaint *why);

#endif
