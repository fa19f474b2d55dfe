// SPDX-License-Identifier: Apache-2.0
// An undirected graph, from a file or made up, and the matrix that graph networks need.
#ifndef WEFT_EXAMPLES_GRAPH_H
#define WEFT_EXAMPLES_GRAPH_H

#include <weft/csr.h>

#include "chance.h"

enum { GRAPH_MOST_NODES = 100000000 };

// Pairs in any order. The direction of a pair, duplicates and pairs of a node with itself are
// ignored.
typedef struct graph {
    int64_t n_nodes, n_pairs;
    int64_t *from, *to;
} graph;

// Reads a Matrix Market file: `matrix coordinate`, pattern, real or integer, symmetric or general.
// Each entry is an edge, whatever its value. "-" is standard input. False after a message that
// names file and line.
bool graph_read(graph *out, const char *path);

// A small world: a ring in which each node has edges to the n_near next ones, and each such edge
// leads to any node instead with probability `rewired` (Watts and Strogatz, "Collective dynamics of
// 'small-world' networks", 1998). False after a message.
bool graph_make(graph *out, int64_t n_nodes, int64_t n_near, double rewired, chance *c);

void graph_free(graph *g);

// D^-1/2 (A + I) D^-1/2: A has a 1 for each edge, in both directions, and D the sums of A + I's
// rows. f32, columns sorted. False after a message.
bool graph_normalise(weft_csr_host *out, const graph *g);

#endif
