// SPDX-License-Identifier: Apache-2.0
// Plans: which rows of X a rank's entries name, who has them, and who needs those of this rank.
#include "plan.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <weft/csr_file.h>

#include "agree.h"

static void *array_of(int64_t n, size_t size)
{
    return calloc(n > 0 ? (size_t)n : 1, size);
}

static weft_status no_memory(void)
{
    return fail(WEFT_NO_MEMORY, "no memory for the plan");
}

// ---- who has which rows

static weft_status x_starts_check(const weft_mpi_plan *plan, int64_t n_cols)
{
    const int64_t *starts = plan->x_starts;
    if (starts[0] != 0 || starts[plan->n_ranks] != n_cols)
        return fail(WEFT_BAD_SHAPE,
                    "x_starts go from %" PRId64 " to %" PRId64 ", not from 0 to %" PRId64,
                    starts[0], starts[plan->n_ranks], n_cols);
    for (int r = 0; r < plan->n_ranks; r++)
        if (starts[r + 1] < starts[r])
            return fail(WEFT_BAD_SHAPE, "x_starts[%d] is %" PRId64 " after %" PRId64, r + 1,
                        starts[r + 1], starts[r]);
    return WEFT_OK;
}

static void deal_x(weft_mpi_plan *plan, int64_t n_cols, const int64_t *given)
{
    const int n = plan->n_ranks;
    const int64_t share = n_cols / n, more = n_cols % n;
    for (int r = 0; r <= n; r++)
        plan->x_starts[r] = given                           ? given[r]
                            : plan->row_starts[n] == n_cols ? plan->row_starts[r]
                                                            : share * r + (r < more ? r : more);
}

// Collective.
static void deal_rows(weft_mpi_plan *plan, int64_t n_rows)
{
    MPI_Allgather(&n_rows, 1, MPI_INT64_T, plan->row_starts + 1, 1, MPI_INT64_T, plan->comm);
    for (int r = 0; r < plan->n_ranks; r++)
        plan->row_starts[r + 1] += plan->row_starts[r];
}

// Collective.
static weft_status agree_on_starts(const weft_mpi_plan *plan, weft_status status)
{
    for (int r = 0; r <= plan->n_ranks; r++) {
        status = agree_on(plan->comm, status, plan->x_starts[r], "a number of x_starts");
        if (status != WEFT_OK)
            return status;
    }
    return WEFT_OK;
}

// ---- the entries, by who has their rows of X

// This rank's rows on the host: `rows` as given, and what becomes of them.
typedef struct halves {
    const weft_csr_host *rows;
    int64_t x_begin, x_end; // rows of X that this rank has
    int64_t *halo;          // the others that are named, ascending
    int64_t n_halo;
    weft_csr_host own, far; // far: only rows that have such entries,
    int32_t *far_rows;      // and these are their numbers
} halves;

static int64_t column_of(const halves *h, int64_t e)
{
    return integer_at(h->rows->indices, h->rows->index_dtype, e);
}

static bool is_own(const halves *h, int64_t column)
{
    return column >= h->x_begin && column < h->x_end;
}

static int compare_numbers(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return a < b ? -1 : a > b;
}

static weft_status find_halo(halves *h)
{
    int64_t n = 0;
    h->halo = array_of(h->rows->nnz, sizeof(*h->halo));
    if (!h->halo)
        return no_memory();
    for (int64_t e = 0; e < h->rows->nnz; e++)
        if (!is_own(h, column_of(h, e)))
            h->halo[n++] = column_of(h, e);
    qsort(h->halo, (size_t)n, sizeof(*h->halo), compare_numbers);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || h->halo[i] != h->halo[i - 1])
            h->halo[h->n_halo++] = h->halo[i];
    return WEFT_OK;
}

static int64_t place_in_halo(const halves *h, int64_t column)
{
    const int64_t *found =
        bsearch(&column, h->halo, (size_t)h->n_halo, sizeof(column), compare_numbers);
    return found - h->halo;
}

static int64_t offset_at(const halves *h, int64_t row)
{
    return integer_at(h->rows->offsets, h->rows->offset_dtype, row);
}

// Rows with entries of others, and how many entries these are.
static void count_far(const halves *h, int64_t *n_rows, int64_t *nnz)
{
    *n_rows = *nnz = 0;
    for (int64_t row = 0; row < h->rows->n_rows; row++) {
        const int64_t before = *nnz;
        for (int64_t e = offset_at(h, row); e < offset_at(h, row + 1); e++)
            *nnz += !is_own(h, column_of(h, e));
        *n_rows += *nnz > before;
    }
}

static bool make_arrays(weft_csr_host *out, int64_t n_rows, int64_t n_cols, int64_t nnz,
                        weft_dtype dtype)
{
    *out = (weft_csr_host){.n_rows = n_rows,
                           .n_cols = n_cols,
                           .nnz = nnz,
                           .offset_dtype = WEFT_I64,
                           .index_dtype = WEFT_I32,
                           .dtype = dtype,
                           .offsets = array_of(n_rows + 1, sizeof(int64_t)),
                           .indices = array_of(nnz, sizeof(int32_t)),
                           .values = array_of(nnz, weft_dtype_size(dtype))};
    return out->offsets && out->indices && out->values;
}

static void append(const halves *h, weft_csr_host *to, int64_t at, int64_t column, int64_t e)
{
    const size_t size = weft_dtype_size(to->dtype);
    ((int32_t *)to->indices)[at] = (int32_t)column;
    memcpy((char *)to->values + (size_t)at * size, (const char *)h->rows->values + (size_t)e * size,
           size);
}

static void write_halves(halves *h)
{
    int64_t n_own = 0, n_far = 0, n_far_rows = 0;
    for (int64_t row = 0; row < h->rows->n_rows; row++) {
        const int64_t before = n_far;
        for (int64_t e = offset_at(h, row); e < offset_at(h, row + 1); e++) {
            const int64_t column = column_of(h, e);
            if (is_own(h, column))
                append(h, &h->own, n_own++, column - h->x_begin, e);
            else
                append(h, &h->far, n_far++, place_in_halo(h, column), e);
        }
        ((int64_t *)h->own.offsets)[row + 1] = n_own;
        if (n_far == before)
            continue;
        h->far_rows[n_far_rows++] = (int32_t)row;
        ((int64_t *)h->far.offsets)[n_far_rows] = n_far;
    }
}

static weft_status make_halves(halves *h, weft_dtype dtype)
{
    int64_t n_far_rows, n_far;
    const weft_status status = find_halo(h);
    if (status != WEFT_OK)
        return status;
    count_far(h, &n_far_rows, &n_far);
    h->far_rows = array_of(n_far_rows, sizeof(*h->far_rows));
    if (!h->far_rows ||
        !make_arrays(&h->own, h->rows->n_rows, h->x_end - h->x_begin, h->rows->nnz - n_far,
                     dtype) ||
        !make_arrays(&h->far, n_far_rows, h->n_halo, n_far, dtype))
        return no_memory();
    write_halves(h);
    return WEFT_OK;
}

static void free_halves(halves *h)
{
    free(h->halo);
    free(h->far_rows);
    weft_csr_host_destroy(&h->own);
    weft_csr_host_destroy(&h->far);
}

// ---- what is sent

// Starts of the ranks' parts of the halo: it ascends, and so do the ranks' rows of X.
static void find_owners(weft_mpi_plan *plan, const halves *h)
{
    int64_t at = 0;
    for (int r = 0; r < plan->n_ranks; r++) {
        while (at < h->n_halo && h->halo[at] < plan->x_starts[r + 1])
            at++;
        plan->halo_starts[r + 1] = at;
    }
    plan->n_halo = at;
}

static weft_status counts_check(const int64_t *starts, int n_ranks)
{
    if (starts[n_ranks] > INT_MAX)
        return fail(WEFT_UNSUPPORTED,
                    "%" PRId64 " rows of X are exchanged, %d are possible for one rank",
                    starts[n_ranks], INT_MAX);
    return WEFT_OK;
}

// Collective. How many rows each rank wants of this one.
static weft_status exchange_counts(weft_mpi_plan *plan)
{
    const int n = plan->n_ranks;
    int64_t *wanted = array_of(n, sizeof(*wanted));
    weft_status status = agree(plan->comm, wanted ? WEFT_OK : no_memory());
    if (status == WEFT_OK) {
        for (int r = 0; r < n; r++)
            wanted[r] = plan->halo_starts[r + 1] - plan->halo_starts[r];
        MPI_Alltoall(wanted, 1, MPI_INT64_T, plan->send_starts + 1, 1, MPI_INT64_T, plan->comm);
        for (int r = 0; r < n; r++)
            plan->send_starts[r + 1] += plan->send_starts[r];
        plan->n_send = plan->send_starts[n];
        status = counts_check(plan->halo_starts, n);
        if (status == WEFT_OK)
            status = counts_check(plan->send_starts, n);
        status = agree(plan->comm, status);
    }
    free(wanted);
    return status;
}

// The part of each rank, as MPI_Alltoallv() takes it.
static void as_ints(const int64_t *starts, int n_ranks, int *counts, int *places)
{
    for (int r = 0; r < n_ranks; r++) {
        counts[r] = (int)(starts[r + 1] - starts[r]);
        places[r] = (int)starts[r];
    }
}

// Collective. Which rows each rank wants.
static weft_status exchange_wishes(const weft_mpi_plan *plan, const halves *h, int64_t *wished)
{
    const int n = plan->n_ranks;
    int *ints = array_of((int64_t)4 * n, sizeof(*ints));
    const weft_status status = agree(plan->comm, ints ? WEFT_OK : no_memory());
    if (status == WEFT_OK) {
        as_ints(plan->halo_starts, n, ints, ints + n);
        as_ints(plan->send_starts, n, ints + 2 * n, ints + 3 * n);
        MPI_Alltoallv(h->halo, ints, ints + n, MPI_INT64_T, wished, ints + 2 * n, ints + 3 * n,
                      MPI_INT64_T, plan->comm);
    }
    free(ints);
    return status;
}

static weft_status make_picked(weft_mpi_plan *plan, const int64_t *wished)
{
    weft_csr_host host;
    int64_t *places = array_of(2 * plan->n_send, sizeof(*places));
    if (!places)
        return no_memory();
    for (int64_t i = 0; i < plan->n_send; i++) {
        places[i] = i;
        places[plan->n_send + i] = wished[i] - plan->x_starts[plan->rank];
    }
    weft_status status = of_weft(weft_csr_host_from_coo(&host, plan->n_send, plan->n_x,
                                                        plan->n_send, places, places + plan->n_send,
                                                        NULL, WEFT_CSR(.dtype = plan->dtype)));
    if (status == WEFT_OK)
        status = of_weft(weft_csr_create(&plan->picked, plan->ctx, plan->queue, &host));
    weft_csr_host_destroy(&host);
    free(places);
    return status;
}

// Collective.
static weft_status plan_sends(weft_mpi_plan *plan, const halves *h)
{
    find_owners(plan, h);
    weft_status status = exchange_counts(plan);
    if (status != WEFT_OK)
        return status;
    int64_t *wished = array_of(plan->n_send, sizeof(*wished));
    status = agree(plan->comm, wished ? WEFT_OK : no_memory());
    if (status == WEFT_OK)
        status = exchange_wishes(plan, h, wished);
    if (status == WEFT_OK)
        status = agree(plan->comm, plan->n_send > 0 ? make_picked(plan, wished) : WEFT_OK);
    free(wished);
    return status;
}

// ---- on the device

static weft_status create_own(weft_mpi_plan *plan, const halves *h)
{
    if (plan->n_rows == 0)
        return WEFT_OK;
    weft_status status = of_weft(weft_csr_create(&plan->own, plan->ctx, plan->queue, &h->own));
    if (status == WEFT_OK)
        status = of_weft(
            weft_spmm_plan_create(&plan->own_plan, plan->ctx, plan->queue, &plan->own, NULL));
    return status;
}

static weft_status create_far(weft_mpi_plan *plan, const halves *h)
{
    weft_csr stored;
    if (h->far.n_rows == 0)
        return WEFT_OK;
    weft_status status = of_weft(weft_csr_create(&stored, plan->ctx, plan->queue, &h->far));
    if (status != WEFT_OK)
        return status;
    plan->far = (weft_dcsr){.n_rows = plan->n_rows,
                            .n_cols = plan->n_halo,
                            .n_stored = h->far.n_rows,
                            .nnz = h->far.nnz,
                            .offset_dtype = stored.offset_dtype,
                            .index_dtype = stored.index_dtype,
                            .dtype = stored.dtype,
                            .offsets = stored.offsets,
                            .indices = stored.indices,
                            .values = stored.values};
    cl_int code;
    plan->far.rows =
        clCreateBuffer(weft_context_cl(plan->ctx), CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                       (size_t)h->far.n_rows * sizeof(int32_t), h->far_rows, &code);
    status = of_cl(code, "clCreateBuffer");
    if (status == WEFT_OK)
        status = of_weft(
            weft_spmm_dcsr_plan_create(&plan->far_plan, plan->ctx, plan->queue, &plan->far, NULL));
    return status;
}

static weft_status create_on_device(weft_mpi_plan *plan, const halves *h)
{
    const weft_status status = create_own(plan, h);
    return status == WEFT_OK ? create_far(plan, h) : status;
}

// ---- the calls

static int64_t count_messages(const int64_t *starts, int n_ranks)
{
    int64_t n = 0;
    for (int r = 0; r < n_ranks; r++)
        n += starts[r + 1] > starts[r];
    return n;
}

static weft_status allocate(weft_mpi_plan *plan)
{
    const int64_t n = plan->n_ranks + 1;
    plan->row_starts = array_of(n, sizeof(int64_t));
    plan->x_starts = array_of(n, sizeof(int64_t));
    plan->halo_starts = array_of(n, sizeof(int64_t));
    plan->send_starts = array_of(n, sizeof(int64_t));
    plan->requests = array_of(2 * n, sizeof(*plan->requests));
    plan->statuses = array_of(2 * n, sizeof(*plan->statuses));
    return plan->row_starts && plan->x_starts && plan->halo_starts && plan->send_starts &&
                   plan->requests && plan->statuses
               ? WEFT_OK
               : no_memory();
}

// What can be seen without the other ranks.
static weft_status call_check(weft_context *ctx, cl_command_queue queue, const weft_csr_host *rows,
                              const weft_mpi_plan_params *params)
{
    if (!ctx || !queue)
        return fail(WEFT_BAD_ARGUMENT, "mpi_plan: the %s is NULL", ctx ? "queue" : "context");
    const weft_status status =
        params ? size_check(params->size, sizeof(*params), "WEFT_MPI_PLAN") : WEFT_OK;
    return status == WEFT_OK ? of_weft(weft_csr_host_check(rows, WEFT_CSR_SOUND)) : status;
}

// Collective. Who has which rows, if all ranks mean the same matrix.
static weft_status deal(weft_mpi_plan *plan, const weft_csr_host *rows, const int64_t *x_starts)
{
    weft_status status = agree_on(plan->comm, WEFT_OK, rows->n_cols, "n_cols");
    if (status == WEFT_OK && agree_on(plan->comm, WEFT_OK, plan->dtype, "") != WEFT_OK)
        status = fail(WEFT_BAD_DTYPE, "A has values of one data type on one rank, and of another "
                                      "on another");
    if (status != WEFT_OK)
        return status;
    deal_rows(plan, rows->n_rows);
    deal_x(plan, rows->n_cols, x_starts);
    plan->n_rows = rows->n_rows;
    plan->n_x = plan->x_starts[plan->rank + 1] - plan->x_starts[plan->rank];
    return agree_on_starts(plan, x_starts_check(plan, rows->n_cols));
}

// Collective.
static weft_status build(weft_mpi_plan *plan, const weft_csr_host *rows, const int64_t *x_starts)
{
    weft_status status = deal(plan, rows, x_starts);
    if (status != WEFT_OK)
        return status;
    halves h = {.rows = rows,
                .x_begin = plan->x_starts[plan->rank],
                .x_end = plan->x_starts[plan->rank + 1]};
    status = agree(plan->comm, make_halves(&h, plan->dtype));
    if (status == WEFT_OK)
        status = plan_sends(plan, &h);
    if (status == WEFT_OK)
        status = agree(plan->comm, create_on_device(plan, &h));
    plan->exchange = (weft_mpi_exchange){
        .rows_sent = plan->n_send,
        .rows_received = plan->n_halo,
        .messages_sent = count_messages(plan->send_starts, plan->n_ranks),
        .messages_received = count_messages(plan->halo_starts, plan->n_ranks),
        .nnz_own = h.own.nnz,
        .nnz_far = h.far.nnz,
    };
    free_halves(&h);
    return status;
}

weft_status weft_mpi_plan_create(weft_mpi_plan **out, MPI_Comm comm, weft_context *ctx,
                                 cl_command_queue queue, const weft_csr_host *rows,
                                 const weft_mpi_plan_params *params)
{
    weft_status status = call_check(ctx, queue, rows, params);
    weft_mpi_plan *plan = calloc(1, sizeof(*plan));
    if (out)
        *out = NULL;
    else if (status == WEFT_OK)
        status = fail(WEFT_BAD_ARGUMENT, "mpi_plan: out is NULL");
    if (plan) {
        MPI_Comm_size(comm, &plan->n_ranks);
        MPI_Comm_rank(comm, &plan->rank);
        plan->ctx = ctx;
        plan->queue = queue;
    }
    if (status == WEFT_OK)
        status = plan ? allocate(plan) : no_memory();
    status = agree(comm, status);
    if (status != WEFT_OK) {
        weft_mpi_plan_destroy(&plan);
        return status;
    }
    plan->dtype = rows->dtype == WEFT_DEFAULT ? WEFT_F32 : rows->dtype;
    MPI_Comm_dup(comm, &plan->comm);
    plan->has_comm = true;
    MPI_Comm_set_errhandler(plan->comm, MPI_ERRORS_ARE_FATAL);
    status = build(plan, rows, params ? params->x_starts : NULL);
    if (status == WEFT_OK)
        *out = plan;
    else
        weft_mpi_plan_destroy(&plan);
    return status;
}

static void release_far(weft_dcsr *far)
{
    const cl_mem buffers[] = {far->rows, far->offsets, far->indices, far->values};
    for (int i = 0; i < 4; i++)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
}

void weft_mpi_plan_destroy(weft_mpi_plan **plan)
{
    if (!plan || !*plan)
        return;
    weft_mpi_plan *p = *plan;
    weft_spmm_plan_destroy(&p->own_plan);
    weft_spmm_plan_destroy(&p->far_plan);
    weft_csr_destroy(&p->own);
    weft_csr_destroy(&p->picked);
    release_far(&p->far);
    if (p->halo)
        clReleaseMemObject(p->halo);
    if (p->send)
        clReleaseMemObject(p->send);
    free(p->halo_host);
    free(p->send_host);
    free(p->row_starts);
    free(p->x_starts);
    free(p->halo_starts);
    free(p->send_starts);
    free(p->requests);
    free(p->statuses);
    if (p->has_comm)
        MPI_Comm_free(&p->comm);
    free(p);
    *plan = NULL;
}

int64_t weft_mpi_plan_row_start(const weft_mpi_plan *plan, int r)
{
    return plan->row_starts[r];
}

int64_t weft_mpi_plan_x_start(const weft_mpi_plan *plan, int r)
{
    return plan->x_starts[r];
}

weft_mpi_exchange weft_mpi_plan_exchange(const weft_mpi_plan *plan)
{
    return plan->exchange;
}

// ---- rows from a file

static weft_status read_part(weft_csr_host *out, int64_t *first, const weft_csr_file *file,
                             int rank, int n_ranks)
{
    const weft_csr_host *all = weft_csr_file_matrix(file);
    int64_t *starts = array_of((int64_t)n_ranks + 1, sizeof(*starts));
    if (!starts)
        return no_memory();
    weft_status status = of_weft(weft_csr_host_split(all, n_ranks, NULL, starts));
    if (status == WEFT_OK)
        status =
            of_weft(weft_csr_host_rows(out, all, starts[rank], starts[rank + 1] - starts[rank]));
    if (status == WEFT_OK)
        status = of_weft(weft_csr_host_check(out, WEFT_CSR_SOUND));
    if (first)
        *first = starts[rank];
    free(starts);
    return status;
}

weft_status weft_mpi_read_rows(weft_csr_host *out, int64_t *first, MPI_Comm comm, const char *path)
{
    int rank, n_ranks;
    weft_csr_file *file = NULL;
    MPI_Comm_size(comm, &n_ranks);
    MPI_Comm_rank(comm, &rank);
    if (out)
        *out = (weft_csr_host){0};
    weft_status status = out ? of_weft(weft_csr_file_open(&file, path))
                             : fail(WEFT_BAD_ARGUMENT, "mpi_read_rows: out is NULL");
    if (status == WEFT_OK)
        status = read_part(out, first, file, rank, n_ranks);
    weft_csr_file_close(&file);
    status = agree(comm, status);
    if (status != WEFT_OK)
        weft_csr_host_destroy(out);
    return status;
}
