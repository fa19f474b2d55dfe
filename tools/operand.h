// SPDX-License-Identifier: Apache-2.0
// Operands from files of any kind: dense arrays, and sparse matrices.
#ifndef WEFT_TOOLS_OPERAND_H
#define WEFT_TOOLS_OPERAND_H

#include <weft/csr.h>

#include "format.h"
#include "npy.h"

// Options of reading.
typedef struct operand_params {
    file_format format; // of standard input, and of names without one; FORMAT_UNKNOWN: by content
    weft_dtype dtype;   // WEFT_DEFAULT: as the file has it; a sparse matrix is f64, and an array of
                        // text f32, or where that is kept, untyped f64
    bool keeps_untyped;
    bool u2_is_bf16;    // as in npy_params
    uint64_t seed;      // of the values that an .smtx file lacks
    uint64_t max_bytes; // as in npy_params
} operand_params;
#define OPERAND(...) (&(const operand_params){__VA_ARGS__})

typedef struct operand {
    bool is_sparse;
    npy_array dense;
    weft_csr_host sparse;
} operand;

// The one of the two in the file. The caller frees it, even after a failure.
bool operand_read(operand *out, const char *path, const operand_params *params, complaint *why);
void operand_free(operand *any);

// One of the two; complains about the other. The caller frees it: npy_free().
bool operand_read_dense(npy_array *out, const char *path, const operand_params *params,
                        complaint *why);

// The same: weft_csr_host_destroy().
bool operand_read_sparse(weft_csr_host *out, const char *path, const operand_params *params,
                         complaint *why);

#endif
