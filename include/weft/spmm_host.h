// SPDX-License-Identifier: Apache-2.0
// SpMM of operands in the host's memory, which may be larger than the device's.
#ifndef WEFT_SPMM_HOST_H
#define WEFT_SPMM_HOST_H

#include <weft/host_tensor.h>
#include <weft/spmm.h>

WEFT_BEGIN

typedef struct weft_spmm_host_params {
    size_t size;           // sizeof(weft_spmm_host_params): WEFT_SPMM_HOST() fills it in
    uint64_t device_bytes; // most bytes of the device's memory that the call may use; 0: half of it
    const char *tiling;    // NULL: weft chooses; else as weft_spmm_host_describe() prints it
    weft_spmm_reduction reduction;
    const weft_host_tensor *bias; // a number for each row of C; NULL: none
    weft_activation activation;   // applied to C
    int64_t
        *done; // receives the number of finished rows of C, from row 0 on, also after a failure;
               // or NULL
} weft_spmm_host_params;

#define WEFT_SPMM_HOST(...) WEFT_PARAMS(weft_spmm_host_params, __VA_ARGS__)

// C = f(alpha R + beta C + bias), as weft_spmm(): R is A B, or another reduction of each row's
// products; f the activation
//
//   A     sparse CSR [m x k]   f32, f64, f16 or bf16 values; i32 or i64 offsets; i32 or i16 indices
//   B     dense [k x n]        A's data type; any strides, also 0 and negative ones
//   C     dense [m x n]        as B, or f32 if A and B are f16 or bf16; elements must not overlap
//                              each other
//   bias  dense [m]            A's data type, any stride
//
// All are in the host's memory. B and C may be vectors, [k] and [m]; there is no batch. No byte
// from the first to the last element of C may belong to another operand.
//
// C is computed in row blocks, adjacent rows of A with about equally many bytes. While one is
// computed, the next is transferred, so two of them are on the device. If B does not fit beside
// them, B and C are also cut into column blocks, one after the other; then A is transferred once
// for each, and B and C once in all. B, A, C and what row blocks need besides take at most
// device_bytes, no buffer more than the device's largest, and nothing comes from the context's
// scratch memory. Transfers are fastest if columns of B and C have stride 1 and memory is
// contiguous; elements with other strides are gathered on the host.
//
// C has the bits of weft_spmm() with the tiling that weft_spmm_host_describe() prints, and
// row-major operands without gaps, wherever blocks end. That is the tiling that weft_spmm() chooses
// for them without a plan object, but without tasks and without a packed B.
//
// Corner cases, numbers and limits of extents are those of weft_spmm(). If beta == 0, C is not
// read. If alpha, k or nnz is 0, A and B are not read.
//
// Blocks until C is complete, on two queues of its own: commands that the caller has enqueued are
// not waited for. Between the call and its return no other thread may write A, B or bias, or access
// C. Operands stay the caller's.
//
// A's offsets are checked, its columns trusted, unless the context has check_matrices; then all of
// it is checked first, on the host. C is untouched if a check fails: WEFT_BAD_ARGUMENT,
// WEFT_BAD_SHAPE, WEFT_BAD_DTYPE, WEFT_BAD_BUFFER for a C that overlaps, WEFT_BAD_DATA for A's
// contents, WEFT_UNSUPPORTED (f64 on a device without it; a rehearsal), WEFT_NO_MEMORY if a row of
// A and C, or the narrowest column block of B, does not fit, with the bytes. A tiling with tasks or
// a packed B is WEFT_BAD_ARGUMENT, and so is a call while this thread records. If a transfer or a
// kernel fails later (WEFT_NO_MEMORY, WEFT_DEVICE_LOST, WEFT_OPENCL_ERROR), the call waits for all
// that it has enqueued and frees its memory; the message also names the finished rows, the only
// ones whose contents are defined. Thread-safety: any thread, several calls at once; each uses its
// own device memory.
WEFT_API weft_status weft_spmm_host(weft_context *ctx, double alpha, const weft_csr_host *A,
                                    const weft_host_tensor *B, double beta,
                                    const weft_host_tensor *C, const weft_spmm_host_params *params);

// Describes such a call in words, like snprintf(): before the first ';' the tiling, then the blocks
// and the bytes of the device's memory. May compile kernels; reads A's offsets. Returns the length,
// or -1 after a failure.
WEFT_API int weft_spmm_host_describe(weft_context *ctx, const weft_csr_host *A,
                                     const weft_host_tensor *B, const weft_host_tensor *C,
                                     const weft_spmm_host_params *params, char *text, size_t size);

WEFT_END

#endif
