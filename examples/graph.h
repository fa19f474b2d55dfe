// SPDX-License-Identifier: Apache-2.0
// An undirected graph, from a file or made up, and the matrix that graph networks want of it.
#ifndef WEFT_EXAMPLES_GRAPH_H
#define WEFT_EXAMPLES_GRAPH_H

#include <weft/csr.h>

#include "chance.h"

enum { GRAPH_MOST_NODES = 100000000 };

// Pairs in any order. Which end comes first, one that comes twice, and a node's pair with itself
// change nothing.
typedef struct graph {
    int64_t n_nodes, n_pairs;
    int64_t *from, *to;
} graph;

// Reads a Matrix Market file: `matrix coordinate`, pattern, real or integer, symmetric or general.
// Each entry is an edge, whatever its value. "-" is standard input. False after a complaint that
// names file and line.
bool graph_read(graph *out, const char *path);

// A small world: a ring in which each node knows the n_near next ones, and each such edge leads to
// any node instead with probability `rewired` (Watts and Strogatz, "Collective dynamics of
// 'small-world' networks", 1998). False after a complaint.
bool graph_make(graph *out, int64_t n_nodes, int64_t n_near, double rewired, chance *c);

void graph_free(graph *g);

// D^-1/2 (A + I) D^-1/2: A has a 1 for each edge, in both directions, and D the sums of A + I's
// rows. f32, columns sorted. False after a complaint.
bool graph_normalise(weft_csr_host *out, const graph *g);

#endif
