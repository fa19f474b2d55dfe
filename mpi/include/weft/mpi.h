// SPDX-License-Identifier: Apache-2.0
// Sparse products over the ranks of an MPI communicator: libweft-mpi, beside libweft.
//
// Rank r has some neighbouring rows of A, those behind the rows of rank r - 1, and the same rows of
// Y = alpha A X + beta Y; rows of X are distributed in the same manner. A plan finds once which
// rows of X the entries of each rank name, and a product exchanges these and no others, while the
// device multiplies entries whose rows of X the rank has.
//
// Each rank has a context and a queue of its own, on any implementation. X and Y stay in the
// device's memory; rows that are exchanged pass through the host's.
//
// Calls that are marked as collective are made by all ranks of the communicator, in the same order.
// If one rank fails, the call fails on all, with the status of the first rank that failed and its
// sentence, "rank 2: ...": no rank waits for another that has given up. Errors of MPI itself end
// all ranks (MPI_ERRORS_ARE_FATAL). MPI is initialised by the caller; calls on one communicator are
// made by one thread at a time (MPI_THREAD_FUNNELED is enough if that is the main thread).
#ifndef WEFT_MPI_H
#define WEFT_MPI_H

#include <mpi.h>

#include <weft/csr.h>
#include <weft/tensor.h>

WEFT_BEGIN

typedef struct weft_mpi_plan weft_mpi_plan;

// The sentence of the last call below that failed on this thread; "" before the first.
// weft_last_error() need not have it.
WEFT_API const char *weft_mpi_last_error(void);

// Collective. Maps the binary CSR file, <weft/csr_file.h>, distributes its rows by work as
// weft_csr_host_split() does, and copies this rank's, whose columns are checked, with columns of
// the whole matrix. The rest of the file is not read. *first is the number of the rank's first row
// in the file; NULL: not needed. The caller destroys `out`. Fails: as weft_csr_file_open(),
// weft_csr_host_rows() and weft_csr_host_check().
WEFT_API weft_status weft_mpi_read_rows(weft_csr_host *out, int64_t *first, MPI_Comm comm,
                                        const char *path);

typedef struct weft_mpi_plan_params {
    size_t size; // sizeof(weft_mpi_plan_params): WEFT_MPI_PLAN() fills it in
    // Rank r has the rows x_starts[r] .. x_starts[r + 1] - 1 of X: as many numbers as ranks and one
    // more, the same on all ranks. NULL: the rows that it has of A, if A is square; else equal
    // numbers, as far as they go.
    const int64_t *x_starts;
} weft_mpi_plan_params;

#define WEFT_MPI_PLAN(...) WEFT_PARAMS(weft_mpi_plan_params, __VA_ARGS__)

// Collective. `rows` are this rank's rows of A, none or more, with columns of the whole matrix; all
// ranks have the same n_cols and data type of values. The arrays are copied. The context and the
// queue must outlive the plan.
//
// Fails: WEFT_BAD_SHAPE for ranks with different n_cols, or x_starts that do not ascend from 0 to
// n_cols; WEFT_BAD_DTYPE for different data types; WEFT_UNSUPPORTED for more than 2^31 - 1 rows of
// X to or from one rank; and as weft_csr_host_check(), weft_csr_create() and
// weft_spmm_plan_create().
WEFT_API weft_status weft_mpi_plan_create(weft_mpi_plan **out, MPI_Comm comm, weft_context *ctx,
                                          cl_command_queue queue, const weft_csr_host *rows,
                                          const weft_mpi_plan_params *params);

// Collective. Sets *plan to NULL; accepts NULL and a NULL handle, on all ranks.
WEFT_API void weft_mpi_plan_destroy(weft_mpi_plan **plan);

// The first row that rank r has of A and Y, and of X; r may be the number of ranks, which gives all
// rows. The plan must not be NULL, and r must be in range.
WEFT_API int64_t weft_mpi_plan_row_start(const weft_mpi_plan *plan, int r);
WEFT_API int64_t weft_mpi_plan_x_start(const weft_mpi_plan *plan, int r);

// What this rank exchanges. The model is known from the plan: a product of n columns sends
// rows_sent n elements in messages_sent messages, and receives likewise. The rest is counted: bytes
// as MPI sent and received them.
typedef struct weft_mpi_exchange {
    int64_t rows_sent, rows_received;         // of X, in one product
    int64_t messages_sent, messages_received; // in one product: other ranks that take part
    int64_t nnz_own, nnz_far; // entries whose rows of X the rank has, and those whose it receives
    int64_t n_products;       // so far that succeeded, and in these:
    int64_t bytes_sent, bytes_received;
    double exchange_s; // from the start of a product until all rows had arrived
    double rest_s;     // from then until Y was complete
} weft_mpi_exchange;

// Of the plan so far, on this rank; not collective. The plan must not be NULL.
WEFT_API weft_mpi_exchange weft_mpi_plan_exchange(const weft_mpi_plan *plan);

typedef struct weft_mpi_spmm_params {
    size_t size;    // sizeof(weft_mpi_spmm_params): WEFT_MPI_SPMM() fills it in
    cl_uint n_wait; // events to wait for before X and Y are read
    const cl_event *wait;
} weft_mpi_spmm_params;

#define WEFT_MPI_SPMM(...) WEFT_PARAMS(weft_mpi_spmm_params, __VA_ARGS__)

// Collective. Y = alpha A X + beta Y
//
//   A  the plan's
//   X  dense [rows of X that the rank has x n], or without a second axis for a vector, SpMV;
//      A's data type; any strides
//   Y  dense [rows of A that the rank has x n], or a vector; as weft_spmm() takes C
//
// alpha, beta and n are the same on all ranks (n is checked). Sums are those of weft_spmm():
// entries whose rows of X the rank has first, rounded to Y's data type, then the others. The same
// number of ranks and the same distribution give the same bits; another one may change the last
// ones. beta == 0 does not read Y.
//
// Blocks until this rank's Y is complete. A rank without rows of X, or of Y, passes a tensor with 0
// rows. After a failure Y is undefined. Fails: WEFT_BAD_SHAPE and WEFT_BAD_DTYPE for X or Y, and as
// weft_spmm().
WEFT_API weft_status weft_mpi_spmm(weft_mpi_plan *plan, double alpha, const weft_tensor *X,
                                   double beta, const weft_tensor *Y,
                                   const weft_mpi_spmm_params *params);

WEFT_END

#endif
