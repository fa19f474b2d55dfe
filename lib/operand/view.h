// SPDX-License-Identifier: Apache-2.0
// Checks of operands, which every operation makes first: the forms of all operands, then shapes and
// data types together, and buffers last, so that a wrong data type is not reported as a buffer that
// is too small.
#ifndef WEFT_LIB_VIEW_H
#define WEFT_LIB_VIEW_H

#include <weft/dcsr.h>
#include <weft/tensor.h>

#include "base/dtype.h"

// A half-open range of a buffer; empty views touch none.
typedef struct weft_span {
    int64_t first, last;
} weft_span;

// Some extent is 0.
bool weft_tensor_is_empty(const weft_tensor *tensor);

// The same memory; a vector is a matrix of one column.
weft_tensor weft_tensor_as_matrix(const weft_tensor *tensor);

// Too large for the caches beside another tensor: results are written past them.
bool weft_tensor_is_large(const weft_context *ctx, const weft_tensor *tensor);

// Of an input: ndim, extents, strides that overflow, dtype, buffer of the context, large enough and
// one that kernels may read. An empty view (an extent is 0) needs no buffer. `what` is "spmm: B".
// `ctx` is not NULL.
// Takes f32, f64, f16, bf16, i32, i64 and u8; operations refuse the types that they do not support.
weft_status weft_tensor_check(const weft_context *ctx, const weft_tensor *tensor, const char *what);

// All of that which needs no buffer.
weft_status weft_tensor_form_check(const weft_tensor *tensor, const char *what);

// The same for an output: that kernels may write the buffer, and that no two elements share a
// place. Taken by rising |stride|, each axis of extent above 1 must step over all that the axes
// before it reach. That holds for every permuted, tiled, padded or flipped tensor; a few views
// that interleave without sharing (extents 2 and 3, strides 3 and 2) are refused too.
weft_status weft_output_check(const weft_context *ctx, const weft_tensor *tensor, const char *what);
weft_status weft_output_form_check(const weft_tensor *tensor, const char *what);

// `n` elements from `start` in a buffer of the context, which kernels may read; `part` is
// "'s offsets", behind `what`.
weft_status weft_array_check(const weft_context *ctx, cl_mem buffer, int64_t start, int64_t n,
                             weft_dtype dtype, const char *what, const char *part);

// The same of any array, an output's too.
weft_status weft_array_place_check(const weft_context *ctx, cl_mem buffer, int64_t start, int64_t n,
                                   weft_dtype dtype, const char *what, const char *part);

// Sizes and data types of a CSR, not its buffers.
weft_status weft_csr_form_check(const weft_csr *csr, const char *what);

// And its buffers: of the context, and large enough for every matrix of the batch. The offsets are
// always needed, indices and values if there are entries. Contents are not checked.
weft_status weft_csr_view_check(const weft_context *ctx, const weft_csr *csr, int64_t n_batches,
                                const char *what);

// The same, only of sizes and offsets.
weft_status weft_offsets_view_check(const weft_context *ctx, const weft_csr *csr, const char *what);

// The same without values, which may be NULL.
weft_status weft_pattern_view_check(const weft_context *ctx, const weft_csr *csr, const char *what);

// Of a DCSR whose stored rows pass as a CSR: how many there are; and the array of their numbers.
weft_status weft_dcsr_rows_form_check(const weft_dcsr *dcsr, const char *op, const char *name);
weft_status weft_dcsr_rows_view_check(const weft_context *ctx, const weft_dcsr *dcsr,
                                      const char *op, const char *name);

// Adjacent values for the entries of a CSR: [nnz], or [batch x nnz], of the CSR's data type, which
// the device supports.
weft_status weft_csr_values_check(const weft_context *ctx, const weft_tensor *values,
                                  const char *name, const weft_csr *csr, const char *csr_name,
                                  const char *op);

// The same of results, which may stay as sums are (weft_widens()).
weft_status weft_csr_results_check(const weft_context *ctx, const weft_tensor *values,
                                   const char *name, const weft_csr *csr, const char *csr_name,
                                   const char *op);

// The same CSR with its defaults filled in.
weft_csr weft_csr_with_defaults(const weft_csr *csr);

// The CSR's own values as such a tensor; n_batches 0: no batch.
weft_tensor weft_csr_values(const weft_csr *csr, int64_t n_batches);

// Refuses an output that shares bytes with an input, also where one of the buffers is a sub-buffer
// of the other or both are of a third. `bytes` is a range of `buffer`; the output counts from its
// first byte touched to its last. Both checked before.
weft_status weft_overlap_check(const weft_tensor *output, const char *output_name, cl_mem buffer,
                               weft_span bytes, const char *input_name, const char *op);

// The same for an input that is a tensor, byte for byte where one of the output's strides keeps
// them apart: columns side by side in one matrix share nothing.
weft_status weft_tensor_overlap_check(const weft_tensor *output, const char *output_name,
                                      const weft_tensor *input, const char *input_name,
                                      const char *op);

// The same for a CSR: its pattern, and its values for each matrix of the batch.
weft_status weft_csr_overlap_check(const weft_tensor *output, const char *output_name,
                                   const weft_csr *csr, const char *csr_name, int64_t n_batches,
                                   const char *op);
weft_status weft_pattern_overlap_check(const weft_tensor *output, const char *output_name,
                                       const weft_csr *csr, const char *csr_name, const char *op);

// The same for two tensors, but an input may be the output (weft_tensor_is_same()).
weft_status weft_alias_check(const weft_tensor *out, const char *out_name, const weft_tensor *in,
                             const char *in_name, const char *what);

// Whether they are the same view of the same data type.
bool weft_tensor_is_same(const weft_tensor *a, const weft_tensor *b);

// Touched elements; the caller has checked the view.
weft_span weft_tensor_span(const weft_tensor *tensor);

// "[4 x 16]"
enum { WEFT_SHAPE_TEXT = 2 + WEFT_MAX_NDIM * 24 };
const char *weft_shape_text(const weft_tensor *tensor, char text[WEFT_SHAPE_TEXT]);

// "softmax: X"
enum { WEFT_OPERAND_TEXT = 64 };
const char *weft_operand_text(char text[WEFT_OPERAND_TEXT], const char *what, const char *operand);

// Shapes of two operands that must be the same.
weft_status weft_same_shape_check(const weft_tensor *a, const char *a_name, const weft_tensor *b,
                                  const char *b_name, const char *what);

weft_status weft_same_dtype_check(weft_dtype a, const char *a_name, weft_dtype b,
                                  const char *b_name, const char *what);

// The same of results, which may stay as sums are (weft_widens()).
weft_status weft_result_dtype_check(weft_dtype result, const char *result_name, weft_dtype operand,
                                    const char *operand_name, const char *what);

// Shapes and data types.
weft_status weft_same_check(const weft_tensor *a, const char *a_name, const weft_tensor *b,
                            const char *b_name, const char *what);

// A number for each row of a matrix, or of every matrix of a batch: [rows].
weft_status weft_row_numbers_form_check(const weft_tensor *numbers, const char *name,
                                        const weft_tensor *matrix, const char *matrix_name,
                                        const char *what);

// f32, f64 (where the device has it), f16 or bf16.
weft_status weft_floating_check(const weft_context *ctx, const weft_tensor *tensor,
                                const char *name, const char *what);

// The caller's scratch memory as bytes: large enough, and writable.
weft_status weft_workspace_view(weft_tensor *out, const weft_context *ctx, cl_mem workspace,
                                size_t bytes, const char *op);

// Or-s into *shift the distance, in elements, of the buffer's first element from an address aligned
// for every vector, modulo the widest: 0 for memory that OpenCL allocated. The caller's own
// (CL_MEM_USE_HOST_PTR) may begin anywhere. `buffer` NULL adds nothing.
weft_status weft_buffer_shift(int64_t *shift, cl_mem buffer, weft_dtype dtype, const char *what,
                              const char *part);

// The same of a tensor; one that is NULL or empty adds nothing.
weft_status weft_tensor_shift(int64_t *shift, const weft_tensor *tensor, const char *what);

// A matrix, or a batch of them, as kernels take it: [batch x rows x columns], strides in elements.
typedef struct weft_dense {
    cl_mem buffer;
    int64_t start, row, column, batch;
} weft_dense;

// Of a tensor of 2 or 3 dimensions.
weft_dense weft_dense_of(const weft_tensor *tensor);

#endif
