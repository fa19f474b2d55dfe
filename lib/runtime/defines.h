// SPDX-License-Identifier: Apache-2.0
// A program's source and its list of defines. The list is both the build options and a part of the
// cache key, so that key and kernel always agree.
#ifndef WEFT_LIB_DEFINES_H
#define WEFT_LIB_DEFINES_H

#include <weft/dtype.h>

#include "runtime/ocl.h"

// "-D VECTOR_WIDTH=16 -D VECTORS=8 ..." in the order added. Too long a list fails an assertion:
// weft makes the lists.
typedef struct weft_defines {
    char text[8192];
    size_t length;
} weft_defines;

void weft_defines_add(weft_defines *defines, const char *name, int64_t value);
void weft_defines_add_word(weft_defines *defines, const char *name, const char *word);
void weft_defines_add_dtype(weft_defines *defines, const char *name, weft_dtype dtype);

// Items of a sub-group that read adjacent elements together, with few registers.
enum { WEFT_WIDE_SUB_GROUP = 16 };

// Adds SUB_GROUP, if a kernel may require a sub-group size; `least` is the device's smallest, or 0.
// The size is the larger of `items` and `least`.
void weft_defines_add_sub_group(weft_defines *defines, int least, int items);

// Adds SHUFFLES, how items exchange numbers: 0: through local memory. If shuffles are requested and
// the limits have sub-groups: 2: by shuffles, or 1: by a substitute if the device has no shuffles.
void weft_defines_add_shuffles(weft_defines *defines, const weft_context *ctx, bool are_wanted);

// For kernels with many registers: adds the smallest sub-groups and, if the device allows it, twice
// the registers for half as many resident items. (Plans count as many groups as before.)
void weft_defines_add_registers(weft_defines *defines, int least);

// Intel's option for the latter. Other compilers may not know it: build.c.
#define WEFT_MANY_REGISTERS "-cl-intel-256-GRF-per-thread"

// Device code, embedded by the build: cl/<name>.cl with its includes spliced in (cl/embed.py).
typedef struct weft_source {
    const char *name; // "spmm"
    const char *text;
    size_t length;
} weft_source;

// One for each .cl file.
extern const weft_source weft_source_csr_dense, weft_source_csr_transpose, weft_source_dcsr,
    weft_source_elementwise, weft_source_matmul, weft_source_matmul_direct, weft_source_matmul_dots,
    weft_source_matmul_rows, weft_source_norm, weft_source_norm_backward, weft_source_norm_scaling,
    weft_source_probe, weft_source_reduce, weft_source_scan, weft_source_sddmm,
    weft_source_sddmm_sparse, weft_source_softmax, weft_source_softmax_backward,
    weft_source_sparse_attention, weft_source_sparse_gather, weft_source_sparse_softmax,
    weft_source_spgemm_count, weft_source_spgemm_dense, weft_source_spgemm_fill,
    weft_source_spgemm_sort, weft_source_spmm, weft_source_spmm_max_min, weft_source_trial;

#endif
