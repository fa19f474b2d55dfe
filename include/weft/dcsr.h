// SPDX-License-Identifier: Apache-2.0
// A sparse operand in doubly compressed sparse rows (DCSR), on the device: only rows with entries
// are stored. For matrices of which most rows are empty.
//
// Row rows[i] holds the entries offsets[i] .. offsets[i + 1] - 1: column indices[e], value
// values[e].
//
//   0 5 0      rows     0 2
//   0 0 0      offsets  0 1 3
//   6 0 7      indices  1 0 2
//              values   5 6 7
#ifndef WEFT_DCSR_H
#define WEFT_DCSR_H

#include <weft/csr.h>

WEFT_BEGIN

// As weft_csr; row numbers are i32, and rise.
typedef struct weft_dcsr {
    int64_t n_rows, n_cols, n_stored, nnz;
    weft_dtype offset_dtype; // i32 (default) or i64
    weft_dtype index_dtype;  // i32 (default), or i16 for up to 32768 columns
    weft_dtype dtype;        // of the values: f32 (default), f64, f16 or bf16
    cl_mem rows, offsets, indices, values;
    int64_t rows_start, offsets_start, indices_start, values_start;
    int64_t values_batch_stride;
} weft_dcsr;

// The stored rows only, one below the other, as a CSR [n_stored x n_cols]: the same buffers, which
// stay the caller's. An operation on this CSR skips the empty rows; row i of its result is row
// rows[i] of the whole result. For a result with all rows, weft_dcsr_to_csr() makes A's offsets and
// leaves entries where they are; weft_spmm_dcsr() does not need that.
static inline weft_csr weft_dcsr_stored(const weft_dcsr *A)
{
    const weft_csr stored = {A->n_stored,
                             A->n_cols,
                             A->nnz,
                             A->offset_dtype,
                             A->index_dtype,
                             A->dtype,
                             A->offsets,
                             A->indices,
                             A->values,
                             A->offsets_start,
                             A->indices_start,
                             A->values_start,
                             A->values_batch_stride};
    return stored;
}

// As weft_csr_check(), of the stored rows; and that their numbers rise, within the matrix. Row i of
// a message is stored row i.
WEFT_API weft_status weft_dcsr_check(weft_context *ctx, cl_command_queue queue,
                                     const weft_dcsr *dcsr, int demand,
                                     const weft_csr_check_params *params);

typedef struct weft_dcsr_params {
    size_t size;      // sizeof(weft_dcsr_params): WEFT_DCSR() fills it in
    int items;        // of a group, a power of two; 0: chosen for the device
    cl_mem workspace; // the caller's scratch memory; NULL: the context's pool
    cl_uint n_wait;   // events to wait for
    const cl_event *wait;
    cl_event *event; // completes with the call; the caller releases it
} weft_dcsr_params;

#define WEFT_DCSR(...) WEFT_PARAMS(weft_dcsr_params, __VA_ARGS__)

// A by rows to D of the same matrix, stored rows only, in two steps: the first counts these rows,
// and blocks until it has; the second writes D's rows and offsets, and D->n_stored is the count of
// the first. Entries are the same in both formats: A's indices must not be NULL, but indices and
// values are neither read nor written, and D's may be A's buffers. A's values may be NULL.
//
// Sizes and nnz of A and D agree; offsets may be of either type. n_rows up to 2^31 - 1. No byte of
// D's rows and offsets is shared with one another or with A. With a smaller n_stored
// the entries of the last rows go to the last one that is stored; a larger one leaves the last
// places as they were.
//
// Both enqueue on the caller's queue. They block, besides, only while a kernel is compiled for the
// first time, and if unfinished calls use too much scratch memory (a workspace of the caller's
// avoids that; it must not overlap an operand, and belongs to the call until `event` completes).
// Buffers stay yours; keep them until `event` completes.
// Nothing is enqueued if a check fails: WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE, WEFT_BAD_DTYPE,
// WEFT_BAD_BUFFER, WEFT_NO_MEMORY.
// Thread-safety: any thread; calls on one in-order queue keep their order.
//
// After Buluc and Gilbert, "On the Representation and Multiplication of Hypersparse Matrices"
// (IPDPS 2008), by rows.
WEFT_API weft_status weft_dcsr_count(weft_context *ctx, cl_command_queue queue, const weft_csr *A,
                                     int64_t *n_stored, const weft_dcsr_params *params);
WEFT_API weft_status weft_dcsr_from_csr(weft_context *ctx, cl_command_queue queue,
                                        const weft_csr *A, const weft_dcsr *D,
                                        const weft_dcsr_params *params);

// Bytes of scratch memory that either step needs. Compiles the call's kernels, because
// they limit the size of groups.
WEFT_API weft_status weft_dcsr_workspace(weft_context *ctx, const weft_csr *A,
                                         const weft_dcsr_params *params, size_t *bytes);

// And back: writes A's offsets, of all rows, from D's rows and offsets; indices and values of
// neither are read. In all else as above; no scratch memory is needed.
WEFT_API weft_status weft_dcsr_to_csr(weft_context *ctx, cl_command_queue queue, const weft_dcsr *D,
                                      const weft_csr *A, const weft_dcsr_params *params);

WEFT_END

#endif
