// SPDX-License-Identifier: Apache-2.0
// The SpMM cases that a bench measures.
#ifndef WEFT_TOOLS_BENCH_SETS_H
#define WEFT_TOOLS_BENCH_SETS_H

#include "generate.h"

enum { BENCH_SET_MATRICES = 4 };

typedef enum bench_source {
    BENCH_LAYER,
    BENCH_GRAPH,
    BENCH_FILE,
} bench_source;

// One case, with such a name:
//
//   pruned-2048x512-s90-n128-v0.5     2048 x 512, 90% zeros, B has 128 columns, rows vary by 0.5
//   pruned-2048x2048-s90-n128-v0.5-f16 -transposed          in another data type; A^T
//   narrow-4096x4096-s98-n1           the same of few columns, even rows
//   full-row-8192x65536-n128          one row has all columns, the others share three times as many
//   graph-32768-n128                  grown by preferential attachment
//   ...-even                          the same sizes and nnz, rows that vary by 0.1
//   cora-n128                         a file of --data
//   0.9_block_3-n128                  a file of its folder 0.9
typedef struct bench_matrix {
    char name[128];
    bench_source source;
    generate_layer layer;
    generate_graph graph;
    char path[1024];
} bench_matrix;

// Matrices that are measured alternately, because they are compared: the first has the most even
// rows, and all have its sizes and nnz.
typedef struct bench_set {
    int64_t n;
    weft_dtype dtype;
    bool transpose_a;
    bool is_brief; // measured for a shorter time
    int n_matrices;
    bench_matrix matrices[BENCH_SET_MATRICES];
} bench_set;

typedef struct bench_sets {
    bench_set *items;
    size_t count, room;
} bench_sets;

// All sets, or with `quick` a few small ones; then the .mtx and .smtx files in `folder` (may be
// NULL) and in its folders, by name. Uneven layers that are impossible at their density are
// omitted: rows that vary by 2 need 80% zeros and more. The caller frees with bench_sets_free().
bool bench_sets_list(bench_sets *out, bool quick, const char *folder, complaint *why);
void bench_sets_free(bench_sets *sets);

// The matrix itself. The caller destroys it.
bool bench_matrix_make(weft_csr_host *out, const bench_matrix *matrix, weft_dtype dtype,
                       complaint *why);

// Writes the positions of its entries, for other libraries: `folder`/`name`.offsets.npy and
// `name`.indices.npy. Does nothing if `folder` is NULL.
bool bench_pattern_save(const weft_csr_host *matrix, const char *folder, const char *name,
                        complaint *why);

#endif
