// SPDX-License-Identifier: Apache-2.0
// Products: entries whose rows of X the rank has are multiplied while the others' rows are on their
// way. A step that fails on the device is followed by the messages that other ranks wait for.
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "agree.h"
#include "plan.h"

enum { TAG = 1 };

// ---- checks

static int64_t columns_of(const weft_tensor *t)
{
    return t->ndim == 2 ? t->shape[1] : 1;
}

static weft_status operand_check(const weft_tensor *t, const char *name, int64_t n_rows)
{
    if (!t)
        return fail(WEFT_BAD_ARGUMENT, "mpi_spmm: %s is NULL", name);
    if (t->ndim != 1 && t->ndim != 2)
        return fail(WEFT_BAD_SHAPE, "mpi_spmm: %s has %d dimensions, 1 or 2 are wanted", name,
                    t->ndim);
    if (t->shape[0] != n_rows)
        return fail(WEFT_BAD_SHAPE, "mpi_spmm: %s has %" PRId64 " rows, this rank has %" PRId64,
                    name, t->shape[0], n_rows);
    return WEFT_OK;
}

static weft_dtype dtype_of(const weft_tensor *t)
{
    return t->dtype == WEFT_DEFAULT ? WEFT_F32 : t->dtype;
}

static weft_status operands_check(const weft_mpi_plan *plan, const weft_tensor *X,
                                  const weft_tensor *Y)
{
    weft_status status = operand_check(X, "X", plan->n_x);
    if (status == WEFT_OK)
        status = operand_check(Y, "Y", plan->n_rows);
    if (status != WEFT_OK)
        return status;
    const size_t size = weft_dtype_size(plan->dtype);
    if (X->ndim != Y->ndim || columns_of(X) != columns_of(Y))
        return fail(WEFT_BAD_SHAPE,
                    "mpi_spmm: X has %" PRId64 " columns in %d dimensions, Y %" PRId64 " in %d",
                    columns_of(X), X->ndim, columns_of(Y), Y->ndim);
    if (dtype_of(X) != plan->dtype)
        return fail(WEFT_BAD_DTYPE, "mpi_spmm: X is %s, A is %s", weft_dtype_name(dtype_of(X)),
                    weft_dtype_name(plan->dtype));
    if (columns_of(X) < 0 || columns_of(X) > (int64_t)(INT_MAX / size))
        return fail(WEFT_BAD_SHAPE, "mpi_spmm: X has %" PRId64 " columns", columns_of(X));
    return WEFT_OK;
}

// ---- room for what is exchanged

static bool make_host(char **out, int64_t n_rows, size_t row_bytes)
{
    free(*out);
    *out = (uint64_t)n_rows <= SIZE_MAX / row_bytes ? malloc((size_t)n_rows * row_bytes) : NULL;
    return *out != NULL;
}

static weft_status make_side(const weft_mpi_plan *plan, cl_mem *device, char **host, int64_t n_rows,
                             size_t row_bytes)
{
    cl_int code;
    if (n_rows == 0)
        return WEFT_OK;
    if (!make_host(host, n_rows, row_bytes))
        return fail(WEFT_NO_MEMORY, "mpi_spmm: no memory for %" PRId64 " rows of %zu bytes", n_rows,
                    row_bytes);
    if (*device)
        clReleaseMemObject(*device);
    *device = clCreateBuffer(weft_context_cl(plan->ctx), CL_MEM_READ_WRITE,
                             (size_t)n_rows * row_bytes, NULL, &code);
    return of_cl(code, "clCreateBuffer");
}

static weft_status make_room(weft_mpi_plan *plan, size_t row_bytes)
{
    if (row_bytes <= plan->row_bytes)
        return WEFT_OK;
    plan->row_bytes = 0;
    weft_status status = make_side(plan, &plan->halo, &plan->halo_host, plan->n_halo, row_bytes);
    if (status == WEFT_OK)
        status = make_side(plan, &plan->send, &plan->send_host, plan->n_send, row_bytes);
    if (status == WEFT_OK)
        plan->row_bytes = row_bytes;
    return status;
}

// ---- one product

typedef struct product {
    weft_mpi_plan *plan;
    double alpha, beta;
    const weft_tensor *X, *Y;
    cl_uint n_wait;
    const cl_event *wait;
    int64_t n;
    size_t row_bytes;
    MPI_Datatype row; // of X
    int n_requests, n_receives;
    cl_event fetched, own_done, far_done; // rows to send are in the host's memory, ...
    weft_status status;                   // of this rank so far
    int64_t bytes_sent, bytes_received;
} product;

// Rows that lie one behind the other in a buffer, with X's dimensions.
static weft_tensor packed(const product *p, cl_mem buffer, int64_t n_rows)
{
    weft_tensor t = weft_matrix(buffer, p->plan->dtype, n_rows, p->n);
    if (p->X->ndim == 1) {
        t.ndim = 1;
        t.stride[0] = 1;
    }
    return t;
}

static void post_receives(product *p)
{
    const weft_mpi_plan *plan = p->plan;
    for (int r = 0; r < plan->n_ranks; r++) {
        const int64_t first = plan->halo_starts[r], n = plan->halo_starts[r + 1] - first;
        if (n > 0)
            MPI_Irecv(plan->halo_host + (size_t)first * p->row_bytes, (int)n, p->row, r, TAG,
                      plan->comm, &plan->requests[p->n_requests++]);
    }
    p->n_receives = p->n_requests;
}

static void post_sends(product *p)
{
    const weft_mpi_plan *plan = p->plan;
    for (int r = 0; r < plan->n_ranks; r++) {
        const int64_t first = plan->send_starts[r], n = plan->send_starts[r + 1] - first;
        if (n == 0)
            continue;
        MPI_Isend(plan->send_host + (size_t)first * p->row_bytes, (int)n, p->row, r, TAG,
                  plan->comm, &plan->requests[p->n_requests++]);
        p->bytes_sent += n * (int64_t)p->row_bytes;
    }
}

static void finish_messages(product *p)
{
    const weft_mpi_plan *plan = p->plan;
    MPI_Waitall(p->n_requests, plan->requests, plan->statuses);
    for (int i = 0; i < p->n_receives; i++) {
        int n = 0;
        MPI_Get_count(&plan->statuses[i], p->row, &n);
        p->bytes_received += n * (int64_t)p->row_bytes;
    }
}

// Picks the rows that others need, and fetches them.
static weft_status fetch(product *p)
{
    weft_mpi_plan *plan = p->plan;
    const weft_tensor rows = packed(p, plan->send, plan->n_send);
    cl_event picked;
    if (plan->n_send == 0 || p->n == 0)
        return WEFT_OK;
    const weft_status status =
        of_weft(weft_spmm(plan->ctx, plan->queue, 1, &plan->picked, p->X, 0, &rows,
                          WEFT_SPMM(.n_wait = p->n_wait, .wait = p->wait, .event = &picked)));
    if (status != WEFT_OK)
        return status;
    const cl_int code = clEnqueueReadBuffer(plan->queue, plan->send, CL_FALSE, 0,
                                            (size_t)plan->n_send * p->row_bytes, plan->send_host, 1,
                                            &picked, &p->fetched);
    clReleaseEvent(picked);
    return of_cl(code, "clEnqueueReadBuffer");
}

static weft_status multiply_own(product *p)
{
    weft_mpi_plan *plan = p->plan;
    if (plan->n_rows == 0)
        return WEFT_OK;
    return of_weft(weft_spmm(plan->ctx, plan->queue, p->alpha, &plan->own, p->X, p->beta, p->Y,
                             WEFT_SPMM(.plan = plan->own_plan, .n_wait = p->n_wait, .wait = p->wait,
                                       .event = &p->own_done)));
}

// Y += alpha (the far entries) (the halo), which has arrived.
static weft_status multiply_far(product *p)
{
    weft_mpi_plan *plan = p->plan;
    const weft_tensor halo = packed(p, plan->halo, plan->n_halo);
    cl_event ready[2] = {p->own_done, NULL};
    if (plan->far.n_stored == 0 || p->n == 0)
        return WEFT_OK;
    const cl_int code = clEnqueueWriteBuffer(plan->queue, plan->halo, CL_FALSE, 0,
                                             (size_t)plan->n_halo * p->row_bytes, plan->halo_host,
                                             0, NULL, &ready[1]);
    if (code != CL_SUCCESS)
        return of_cl(code, "clEnqueueWriteBuffer");
    const weft_status status = of_weft(weft_spmm_dcsr(
        plan->ctx, plan->queue, p->alpha, &plan->far, &halo, 1, p->Y,
        WEFT_SPMM(.plan = plan->far_plan, .n_wait = 2, .wait = ready, .event = &p->far_done)));
    clReleaseEvent(ready[1]);
    return status;
}

static weft_status wait_for(cl_event event, const char *what)
{
    return event ? of_cl(clWaitForEvents(1, &event), what) : WEFT_OK;
}

static void release(cl_event event)
{
    if (event)
        clReleaseEvent(event);
}

// The next step, unless one has failed.
#define STEP(p, call)                                                                              \
    do {                                                                                           \
        if ((p)->status == WEFT_OK)                                                                \
            (p)->status = (call);                                                                  \
    } while (0)

// Until all rows have arrived. Messages go whether the device does or not.
static void exchange(product *p)
{
    post_receives(p);
    STEP(p, fetch(p));
    STEP(p, multiply_own(p));
    STEP(p, of_cl(clFlush(p->plan->queue), "clFlush"));
    STEP(p, wait_for(p->fetched, "clWaitForEvents"));
    post_sends(p);
    finish_messages(p);
}

static void finish(product *p)
{
    STEP(p, multiply_far(p));
    STEP(p, of_cl(clFlush(p->plan->queue), "clFlush"));
    STEP(p, wait_for(p->own_done, "clWaitForEvents"));
    STEP(p, wait_for(p->far_done, "clWaitForEvents"));
    if (p->status != WEFT_OK)
        clFinish(p->plan->queue); // what was enqueued uses the plan's memory
    release(p->fetched);
    release(p->own_done);
    release(p->far_done);
}

static weft_status run(product *p)
{
    weft_mpi_exchange *counted = &p->plan->exchange;
    const double start = MPI_Wtime();
    MPI_Type_contiguous((int)p->row_bytes, MPI_BYTE, &p->row);
    MPI_Type_commit(&p->row);
    exchange(p);
    const double arrived = MPI_Wtime();
    finish(p);
    const double end = MPI_Wtime();
    MPI_Type_free(&p->row);
    const weft_status status = agree(p->plan->comm, p->status);
    if (status != WEFT_OK)
        return status;
    counted->n_products++;
    counted->bytes_sent += p->bytes_sent;
    counted->bytes_received += p->bytes_received;
    counted->exchange_s += arrived - start;
    counted->rest_s += end - arrived;
    return WEFT_OK;
}

weft_status weft_mpi_spmm(weft_mpi_plan *plan, double alpha, const weft_tensor *X, double beta,
                          const weft_tensor *Y, const weft_mpi_spmm_params *params)
{
    if (!plan) // has no communicator: all ranks have to fail here
        return fail(WEFT_BAD_ARGUMENT, "mpi_spmm: the plan is NULL");
    product p = {.plan = plan, .alpha = alpha, .beta = beta, .X = X, .Y = Y};
    weft_status status =
        params ? size_check(params->size, sizeof(*params), "WEFT_MPI_SPMM") : WEFT_OK;
    if (status == WEFT_OK)
        status = operands_check(plan, X, Y);
    if (status == WEFT_OK) {
        p.n = columns_of(X);
        p.row_bytes = (size_t)p.n * weft_dtype_size(plan->dtype);
        p.n_wait = params ? params->n_wait : 0;
        p.wait = params ? params->wait : NULL;
        status = make_room(plan, p.row_bytes);
    }
    status = agree_on(plan->comm, status, p.n, "mpi_spmm: the number of columns");
    return status == WEFT_OK && p.n > 0 ? run(&p) : status;
}
