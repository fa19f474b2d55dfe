// SPDX-License-Identifier: Apache-2.0
// The state of a plan: this rank's part of A, cut by whose rows of X it needs.
#ifndef WEFT_MPI_PLAN_H
#define WEFT_MPI_PLAN_H

#include <weft/dcsr.h>
#include <weft/mpi.h>
#include <weft/spmm_dcsr.h>

struct weft_mpi_plan {
    MPI_Comm comm; // its own: messages of others do not meet the plan's
    bool has_comm;
    int rank, n_ranks;
    weft_context *ctx;
    cl_command_queue queue;
    weft_dtype dtype;
    int64_t *row_starts, *x_starts; // of each rank, and the end

    // Rows of X that other ranks have, in their order: those of rank r are at halo_starts[r] ..
    // halo_starts[r + 1] - 1. Rows that rank r gets are at send_starts[r] on.
    int64_t *halo_starts, *send_starts;
    int64_t n_rows, n_x, n_halo, n_send;

    weft_csr own; // columns are rows of this rank's X
    weft_spmm_plan *own_plan;
    weft_dcsr far; // rows with such entries; columns are rows of the halo
    weft_spmm_plan *far_plan;
    weft_csr picked; // a 1 for each row to send: picked X are these rows

    // For products of up to so many bytes in a row of X.
    size_t row_bytes;
    cl_mem halo, send;
    char *halo_host, *send_host;
    MPI_Request *requests; // receives, then sends: two for each rank
    MPI_Status *statuses;

    weft_mpi_exchange exchange;
};

// The element of an array of i16, i32 or i64.
static inline int64_t integer_at(const void *array, weft_dtype dtype, int64_t i)
{
    return dtype == WEFT_I16   ? ((const int16_t *)array)[i]
           : dtype == WEFT_I64 ? ((const int64_t *)array)[i]
                               : ((const int32_t *)array)[i];
}

#endif
