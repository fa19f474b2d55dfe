// SPDX-License-Identifier: Apache-2.0
// What tests of weft_spmm_host() share: operands on the host, and the whole product on the device.
#ifndef WEFT_TESTS_SPMM_HOST_CASE_H
#define WEFT_TESTS_SPMM_HOST_CASE_H

#include <weft/spmm_host.h>

#include "random.h"
#include "runtime.h"

typedef enum host_layout {
    HOST_ROWS,     // row-major
    HOST_PADDED,   // with a gap behind each row
    HOST_COLUMNS,  // column-major, with gaps
    HOST_REVERSED, // rows and columns backwards
    HOST_STEPS,    // every other column
    HOST_VECTOR,   // one dimension, every other element; n is 1
} host_layout;

typedef struct spmm_host_case {
    int64_t m, k, n;
    int64_t mean;    // entries of a row, on average; every fifth row has none
    int64_t longest; // entries of a row in the middle, and of one further on
    weft_dtype dtype, offset_dtype, index_dtype;
    bool has_wide_c;
    host_layout b_layout, c_layout;
    double alpha, beta;
    weft_spmm_reduction reduction;
    bool has_bias;
    weft_activation activation;
    const char *tiling; // NULL: the library chooses
} spmm_host_case;

typedef struct spmm_host_operands {
    spmm_host_case of;
    weft_context *ctx;
    weft_csr_host A;
    weft_host_tensor B, C, bias;
    char *b_memory, *c_memory, *c_before, *c_want, *bias_memory;
    size_t c_bytes;
    int64_t done;
} spmm_host_operands;

void spmm_host_create(spmm_host_operands *o, weft_context *ctx, const spmm_host_case *of);
void spmm_host_destroy(spmm_host_operands *o);

// The call's params with so many bytes of the device's memory.
weft_spmm_host_params spmm_host_params(spmm_host_operands *o, uint64_t device_bytes);

// Puts back into C what stood there at first, and calls.
weft_status spmm_host_call(spmm_host_operands *o, uint64_t device_bytes);

// The blocks that the description names; false if the call is refused for lack of memory.
typedef struct spmm_host_blocks {
    long long n_rows, n_columns, widest;
    unsigned long long bytes;
} spmm_host_blocks;
bool spmm_host_blocks_of(spmm_host_blocks *out, spmm_host_operands *o, uint64_t device_bytes);

// The least power of two of device bytes with which the call is not refused.
uint64_t spmm_host_least(spmm_host_operands *o);

// Computes the whole product on the device, for c_want, with the tiling that is described.
void spmm_host_want(spmm_host_operands *o);

// Whether the whole product has the same bits with the tiling that weft_spmm() chooses by itself,
// or that has tasks.
bool spmm_host_is_usual(spmm_host_operands *o);

// Fails the test where a byte of C's memory is not as wanted, for rows before `n_rows`.
void spmm_host_check(const spmm_host_operands *o);
void spmm_host_check_rows(const spmm_host_operands *o, int64_t n_rows);

#endif
