// SPDX-License-Identifier: Apache-2.0
// A sparse operand in compressed sparse rows (CSR), on the device and on the host.
//
// Row r holds the entries offsets[r] .. offsets[r + 1] - 1: column indices[e], value values[e].
//
//   0 5 0      offsets  0 1 1 3
//   0 0 0      indices  1 0 2
//   6 0 7      values   5 6 7
#ifndef WEFT_CSR_H
#define WEFT_CSR_H

#include <weft/context.h>
#include <weft/dtype.h>

WEFT_BEGIN

// On the device. Memory is the caller's; each *_start is the element of the buffer at which the
// array begins. Columns need not be sorted; a column that occurs twice in a row counts twice. If
// nnz is 0, indices and values may be NULL.
typedef struct weft_csr {
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype; // i32 (default) or i64
    weft_dtype index_dtype;  // i32 (default), or i16 for up to 32768 columns
    weft_dtype dtype;        // of the values: f32 (default), f64, f16 or bf16
    cl_mem offsets, indices, values;
    int64_t offsets_start, indices_start, values_start;
    int64_t values_batch_stride; // elements from the values of one matrix of a batch to those of
                                 // the next, not negative; 0: all the same
} weft_csr;

// On the host. The functions below allocate the three arrays, and weft_csr_host_destroy() frees
// them; a caller may also fill the struct with other arrays and not destroy it. The functions
// overwrite the struct without freeing its arrays, and zero it after a failure.
typedef struct weft_csr_host {
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype, index_dtype, dtype; // as in weft_csr
    void *offsets, *indices, *values;
} weft_csr_host;

// Thread-safety of all that follows: any thread, as long as no other thread changes the same struct
// or its arrays; calls on one in-order queue keep their order.

// Data types of a conversion's result. WEFT_DEFAULT: i32 offsets (i64 where nnz needs it), i32
// indices, and f32.
typedef struct weft_csr_params {
    size_t size; // sizeof(weft_csr_params): WEFT_CSR() fills it in
    weft_dtype offset_dtype, index_dtype, dtype;
} weft_csr_params;

#define WEFT_CSR(...) WEFT_PARAMS(weft_csr_params, __VA_ARGS__)

// From coordinates in any order: entry e is values[e] at (rows[e], cols[e]), counted from 0.
// Duplicates are summed, in double and in the order given; columns are sorted; an entry of value 0
// remains an entry. values == NULL: all ones. Fails: WEFT_BAD_ARGUMENT for a NULL or a negative
// count; WEFT_BAD_DATA names the first entry outside the matrix; WEFT_BAD_DTYPE if the columns or
// nnz do not fit the requested types; WEFT_NO_MEMORY.
WEFT_API weft_status weft_csr_host_from_coo(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                            int64_t n_entries, const int64_t *rows,
                                            const int64_t *cols, const double *values,
                                            const weft_csr_params *params);

// From a dense matrix: element (r, c) is at dense[r stride_r + c stride_c]. It becomes an entry if
// it is NaN or |element| > threshold, which is rounded to f32. threshold 0 keeps every non-zero.
// Fails as above; WEFT_BAD_ARGUMENT for a negative or NaN threshold.
WEFT_API weft_status weft_csr_host_from_dense(weft_csr_host *out, int64_t n_rows, int64_t n_cols,
                                              const float *dense, int64_t stride_r,
                                              int64_t stride_c, double threshold,
                                              const weft_csr_params *params);

// Cuts the rows into n_parts parts: part i has the rows starts[i] .. starts[i + 1] - 1, and
// `starts` has room for n_parts + 1 numbers. The work is the number of entries and rows together,
// and part i gets about shares[i] / (the sum of all shares) of it, as near as whole rows allow;
// NULL: equal shares. A part may have no rows. This distributes a product over several devices:
// each gets all of B and a part of A, and computes the same rows of C. The offsets are trusted.
// Fails, with `starts` untouched: WEFT_BAD_ARGUMENT for a NULL, no parts, shares that are negative,
// not finite, or sum to 0 or to infinity; WEFT_BAD_ARGUMENT, WEFT_BAD_SHAPE or WEFT_BAD_DTYPE for
// an invalid struct.
WEFT_API weft_status weft_csr_host_split(const weft_csr_host *host, int n_parts,
                                         const double *shares, int64_t *starts);

// Copies rows first .. first + n_rows - 1 to a matrix of their own. `out` must not be `host`.
// Fails: WEFT_BAD_ARGUMENT for a NULL or rows out of range; WEFT_BAD_DATA if offsets of these rows
// descend or exceed nnz; WEFT_NO_MEMORY; and as above for an invalid struct.
WEFT_API weft_status weft_csr_host_rows(weft_csr_host *out, const weft_csr_host *host,
                                        int64_t first, int64_t n_rows);

// Frees the arrays and zeroes the struct. Accepts NULL.
WEFT_API void weft_csr_host_destroy(weft_csr_host *host);

// Allocates the three buffers on the context's device and copies the arrays in, through `queue`;
// blocks until that is done. The caller owns the buffers and releases them with weft_csr_destroy(),
// or clReleaseMemObject() for each. Fails, with *out zeroed: WEFT_BAD_ARGUMENT or WEFT_BAD_DTYPE
// for an invalid struct or queue; WEFT_NO_MEMORY, also if an array exceeds the device's largest
// buffer. The pattern is not checked.
WEFT_API weft_status weft_csr_create(weft_csr *out, weft_context *ctx, cl_command_queue queue,
                                     const weft_csr_host *host);

// Releases the three buffers and zeroes the struct. Accepts NULL.
WEFT_API void weft_csr_destroy(weft_csr *csr);

typedef enum weft_csr_demand {
    WEFT_CSR_SOUND = 0,  // offsets ascend from 0 to nnz, every column is within the matrix
    WEFT_CSR_SORTED = 1, // and columns do not descend within a row
    WEFT_CSR_UNIQUE = 2, // and no column occurs twice in a row (sorted or not)
} weft_csr_demand;       // flags, combined by |

typedef struct weft_csr_check_params {
    size_t size;    // sizeof(weft_csr_check_params): WEFT_CSR_CHECK() fills it in
    cl_uint n_wait; // events to wait for
    const cl_event *wait;
} weft_csr_check_params;

#define WEFT_CSR_CHECK(...) WEFT_PARAMS(weft_csr_check_params, __VA_ARGS__)

// For data of unknown origin: reads the pattern back and checks it; values are not read.
// Blocks, through `queue`: if that is out of order, or another queue fills the arrays, the commands
// that fill them must be complete or in the wait list. WEFT_BAD_DATA names the row, the entry and
// the numbers; WEFT_BAD_BUFFER an array that does not fit its buffer. An invalid struct or queue is
// refused as above; WEFT_NO_MEMORY of the
// host; WEFT_DEVICE_LOST and WEFT_OPENCL_ERROR if reading fails. Creating a plan object makes the
// same check. Other calls do not, unless their context has check_matrices: with an invalid CSR
// their kernels read out of bounds.
WEFT_API weft_status weft_csr_check(weft_context *ctx, cl_command_queue queue, const weft_csr *csr,
                                    int demand, const weft_csr_check_params *params);
WEFT_API weft_status weft_csr_host_check(const weft_csr_host *host, int demand);

// Statistics of row lengths, which plans use.
typedef struct weft_row_stats {
    int64_t n_rows, nnz;
    int64_t n_empty; // rows without an entry
    int64_t max;     // entries of the longest row
    double mean;     // nnz / n_rows; 0 without rows
    double cov;      // coefficient of variation: standard deviation / mean; 0 if the mean is 0
} weft_row_stats;

// `offsets` has n_rows + 1 elements of offset_dtype (i32 or i64), on the host. They are trusted:
// weft_csr_host_check() checks those of unknown origin.
WEFT_API weft_row_stats weft_row_stats_of(const void *offsets, weft_dtype offset_dtype,
                                          int64_t n_rows);

WEFT_END

#endif
