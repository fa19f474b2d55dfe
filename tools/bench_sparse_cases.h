// SPDX-License-Identifier: Apache-2.0
// The sparse layers, products of sparse matrices, sampled products, sparse softmaxes and sparse
// attentions that a bench measures.
#ifndef WEFT_TOOLS_BENCH_SPARSE_CASES_H
#define WEFT_TOOLS_BENCH_SPARSE_CASES_H

#include "bench_sets.h"

// Sets on the command line: bits, besides those of bench_axis_cases.h. Layers go with SpMM.
enum {
    BENCH_SET_LAYERS = 8,
    BENCH_SET_SDDMM = 32,
    BENCH_SET_ATTENTION = 64,
    BENCH_SET_SPGEMM = 256,
};

typedef enum bench_sparse_kind {
    BENCH_LINEAR,
    BENCH_LINEAR_DX,
    BENCH_LINEAR_DW,
    BENCH_SPGEMM, // both steps
    BENCH_SPGEMM_DENSE,
    BENCH_SDDMM,
    BENCH_SDDMM_SPARSE,
    BENCH_SPARSE_SOFTMAX,
    BENCH_SPARSE_SOFTMAX_BACKWARD,
    BENCH_SPARSE_ATTENTION,
} bench_sparse_kind;

// Groups of the summary.
typedef enum bench_sparse_goal {
    BENCH_NO_SPARSE_GOAL,
    BENCH_LAYER_PASS, // compared with a dense product of its sizes
    BENCH_SDDMM_PRUNED,
    BENCH_SDDMM_GRAPH,
    BENCH_SOFTMAX_ROWS,
} bench_sparse_goal;

// One case, with such a name:
//
//   layer-2048x2048-s90-n128             W 2048 x 2048, 90% zeros, 128 samples; bias and relu
//   layer-2048x2048-s90-n128-dx -dw      its gradients
//   spgemm-rows-100000x8                 so many rows and columns, so many entries a row, squared
//   spgemm-graph-32768                   grown by preferential attachment, squared
//   spgemm_dense-rows-4096x41            to a dense matrix
//   sddmm-pruned-2048x512-s90-k128       C 2048 x 512, 90% zeros; B the transpose of a row-major
//   sddmm-pruned-2048x512-s90-k128-row_major -f16    matrix, or row-major itself
//   sddmm-graph-32768-k128               grown by preferential attachment
//   sddmm_sparse-pruned-2048x2048-s90-k512-b90    B sparse, too, 90% zeros; or A, or both
//   softmax-rows-131072x256              so many rows of so many entries, about
//   attention-8x2048x2048-s90-k64        heads, rows, columns; k for Q, K and V
typedef struct bench_sparse_spec {
    char name[96];
    bench_sparse_kind kind;
    bench_sparse_goal goal;
    bench_matrix matrix;
    int64_t k;       // of a layer: samples; 0: not a dense operand's
    int64_t n_heads; // 0: no batch
    weft_dtype dtype;
    bool row_major;          // B of an SDDMM
    bool is_sparse[2];       // its A and B
    bench_matrix factors[2]; // where they are: m x k and n x k
} bench_sparse_spec;

typedef struct bench_sparse_specs {
    bench_sparse_spec *items;
    size_t count, room;
} bench_sparse_specs;

// The cases of the sets; softmax has about `array_bytes` of values. Quick: a few of each. The
// caller frees with bench_sparse_specs_free().
bool bench_sparse_list(bench_sparse_specs *out, unsigned sets, bool quick, uint64_t array_bytes,
                       complaint *why);
void bench_sparse_specs_free(bench_sparse_specs *specs);

#endif
