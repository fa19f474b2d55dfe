// SPDX-License-Identifier: Apache-2.0
// All that a call with sparse results writes: arrays of a CSR, and tensors. Each is writable and
// large enough, and none shares bytes with another one or with an input.
#ifndef WEFT_LIB_OUTPUTS_H
#define WEFT_LIB_OUTPUTS_H

#include "operand/view.h"

enum { WEFT_MOST_OUTPUTS = 6 };

typedef struct weft_outputs {
    const char *op; // "csr_transpose", for messages
    int n;
    weft_tensor views[WEFT_MOST_OUTPUTS];
    char names[WEFT_MOST_OUTPUTS][WEFT_OPERAND_TEXT];
} weft_outputs;

// n elements of a buffer from `start` on; `name` is "T's offsets".
weft_status weft_outputs_add_array(weft_outputs *outputs, const weft_context *ctx, cl_mem buffer,
                                   int64_t start, int64_t n, weft_dtype dtype, const char *name);

// The same of offsets, which are lengths first: kernels read them too.
weft_status weft_outputs_add_offsets(weft_outputs *outputs, const weft_context *ctx, cl_mem buffer,
                                     int64_t start, int64_t n, weft_dtype dtype, const char *name);

weft_status weft_outputs_add_tensor(weft_outputs *outputs, const weft_context *ctx,
                                    const weft_tensor *tensor, const char *name);

// Scratch memory of the caller's, of so many bytes.
weft_status weft_outputs_add_workspace(weft_outputs *outputs, const weft_context *ctx,
                                       cl_mem workspace, size_t bytes);

// Each from each.
weft_status weft_outputs_apart(const weft_outputs *outputs);

// Each from an input: a tensor, an array, or a CSR's pattern and its values where it has any.
weft_status weft_outputs_apart_from_tensor(const weft_outputs *outputs, const weft_tensor *tensor,
                                           const char *name);
weft_status weft_outputs_apart_from_array(const weft_outputs *outputs, cl_mem buffer, int64_t start,
                                          int64_t n, weft_dtype dtype, const char *name);
weft_status weft_outputs_apart_from_csr(const weft_outputs *outputs, const weft_csr *csr,
                                        int64_t n_batches, const char *name);

#endif
