// SPDX-License-Identifier: Apache-2.0
// A call of weft_sparse_attention() once it has been checked.
#ifndef WEFT_LIB_SPARSE_ATTENTION_CALL_H
#define WEFT_LIB_SPARSE_ATTENTION_CALL_H

#include <weft/sparse_attention.h>

#include "operand/view.h"
#include "runtime/launch.h"
#include "sparse/sparse_attention_plan.h"

// The dense operands, the last of which is written.
enum { WEFT_ATTENTION_Q, WEFT_ATTENTION_K, WEFT_ATTENTION_V, WEFT_ATTENTION_O, WEFT_ATTENTION_N };

// One of them as kernels take it: [outer x inner x rows x columns], strides in elements.
typedef struct weft_heads {
    cl_mem buffer;
    int64_t start, row, column, outer, inner;
} weft_heads;

typedef struct weft_sparse_attention_call {
    weft_context *ctx;
    const weft_csr *M;
    const weft_tensor *views[WEFT_ATTENTION_N];
    double scale;
    bool is_forced; // to a tiling
    weft_sparse_attention_tiling forced;
    weft_sparse_attention_problem problem;
    weft_heads dense[WEFT_ATTENTION_N];
    int64_t n_heads; // the extent of `inner`
} weft_sparse_attention_call;

// Everything that can be wrong with a call, before anything is done about it.
weft_status weft_sparse_attention_check(weft_sparse_attention_call *out, weft_context *ctx,
                                        double scale, const weft_tensor *Q, const weft_tensor *K,
                                        const weft_tensor *V, const weft_csr *M,
                                        const weft_tensor *O,
                                        const weft_sparse_attention_params *params);

// How the three steps share scratch memory: what each wants for itself, then the products.
typedef struct weft_attention_steps {
    size_t own_bytes, bytes;
} weft_attention_steps;

// Of such a call; *fits is false where that is more than sizes reach.
weft_status weft_attention_steps_for(weft_attention_steps *out, bool *fits,
                                     const weft_sparse_attention_call *call);

// Enqueues them, all as one launch. `scratch` has that many bytes.
weft_status weft_attention_steps_run(weft_launch *launch, const weft_sparse_attention_call *call,
                                     const weft_attention_steps *steps, cl_mem scratch);

// No elements of O: nothing to do.
bool weft_sparse_attention_is_empty(const weft_sparse_attention_call *call);

// The caller's workspace: large enough, writable, and apart from every operand.
weft_status weft_sparse_attention_workspace_check(const weft_sparse_attention_call *call,
                                                  cl_mem workspace, size_t bytes);

#endif
