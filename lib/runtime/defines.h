// SPDX-License-Identifier: Apache-2.0
// What makes a program: its source and a list of defines, which is its build options and part of
// its cache key, so that key and kernel cannot disagree.
#ifndef WEFT_LIB_DEFINES_H
#define WEFT_LIB_DEFINES_H

#include <weft/dtype.h>

#include "runtime/ocl.h"

// "-D VECTOR_WIDTH=16 -D VECTORS=8 ..." in the order added. Too long a list is an assertion: the
// lists are ours.
typedef struct weft_defines {
    char text[8192];
    size_t length;
} weft_defines;

void weft_defines_add(weft_defines *defines, const char *name, int64_t value);
void weft_defines_add_word(weft_defines *defines, const char *name, const char *word);
void weft_defines_add_dtype(weft_defines *defines, const char *name, weft_dtype dtype);

// Items of a sub-group that read neighbours together, and need few registers for it.
enum { WEFT_WIDE_SUB_GROUP = 16 };

// SUB_GROUP, where a kernel may ask for sub-groups, of which the device's smallest have `least`
// items, or else 0: of `items`, or the smallest where these have more.
void weft_defines_add_sub_group(weft_defines *defines, int least, int items);

// SHUFFLES, how items hand numbers to each other: 0 through local memory; where shuffles are wanted
// and the limits have sub-groups 2, by shuffles, or 1, by what does as they do, if the device has
// none itself.
void weft_defines_add_shuffles(weft_defines *defines, const weft_context *ctx, bool are_wanted);

// For kernels that keep much: the smallest sub-groups and, where the device may have them, twice
// the registers for half as many items at once. (Plans count as many groups as before.)
void weft_defines_add_registers(weft_defines *defines, int least);

// What Intel's compiler calls the latter. Others need not know it: build.c.
#define WEFT_MANY_REGISTERS "-cl-intel-256-GRF-per-thread"

// Device code, embedded by the build: cl/<name>.cl with its includes spliced in (cl/embed.py).
typedef struct weft_source {
    const char *name; // "spmm"
    const char *text;
    size_t length;
} weft_source;

// One for each .cl file.
extern const weft_source weft_source_csr_dense, weft_source_csr_transpose, weft_source_dcsr,
    weft_source_elementwise, weft_source_matmul, weft_source_matmul_dots, weft_source_matmul_rows,
    weft_source_norm, weft_source_norm_backward, weft_source_norm_scaling, weft_source_probe,
    weft_source_reduce, weft_source_scan, weft_source_sddmm, weft_source_sddmm_sparse,
    weft_source_softmax, weft_source_softmax_backward, weft_source_sparse_attention,
    weft_source_sparse_gather, weft_source_sparse_softmax, weft_source_spgemm_count,
    weft_source_spgemm_dense, weft_source_spgemm_fill, weft_source_spmm, weft_source_spmm_max_min,
    weft_source_trial;

#endif
