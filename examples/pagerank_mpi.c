// SPDX-License-Identifier: Apache-2.0
// PageRank over the ranks of MPI: each has some rows of the matrix and of the ranking.
//
//     mpirun -n 4 pagerank_mpi [NODES | GRAPH.csr]
//
// An entry (i, j) of the graph is an edge from j to i; its value does not matter. A step is
//
//     x' = d M x + (1 - d) / n      M[i][j] = 1 / edges of j
//
// It prints how much is exchanged, and the share of the time until all had arrived, in which the
// device multiplies too, and the share that remained for the device. Rank 0 then computes the same
// ranking alone and compares. The first step compiles.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/csr_file.h>
#include <weft/mpi.h>

#include "chance.h"
#include "common.h"

const char program_name[] = "pagerank_mpi";

enum { N_STEPS = 50, EDGES = 8, NEAR = 32 };
static const double damping = 0.85, tolerance = 1e-5;

typedef struct ranking {
    MPI_Comm comm;
    weft_context *ctx;
    weft_csr_host rows;
    weft_mpi_plan *plan;
    weft_tensor now, next; // x, x'
} ranking;

// All of a run ends with the first rank that fails.
static void need(bool ok)
{
    if (!ok)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void need_weft(weft_status status)
{
    if (status != WEFT_OK)
        fprintf(stderr, "%s: %s: %s\n", program_name, weft_status_name(status),
                weft_mpi_last_error());
    need(status == WEFT_OK);
}

// Most edges lead to neighbours, one in eight anywhere; all ranks make the same graph.
static void make_graph(weft_csr_host *out, int64_t n_nodes)
{
    const int64_t n = n_nodes * EDGES;
    int64_t *to = malloc((size_t)n * sizeof(*to)), *from = malloc((size_t)n * sizeof(*from));
    chance seed = 1;
    need(is_there(to) && is_there(from));
    for (int64_t e = 0; e < n; e++) {
        from[e] = e / EDGES;
        const int64_t range = e % EDGES == 0 || n_nodes < NEAR ? n_nodes : NEAR;
        to[e] = (from[e] + chance_below(&seed, range)) % n_nodes;
    }
    need(is_ok(weft_csr_host_from_coo(out, n_nodes, n_nodes, n, to, from, NULL, NULL)));
    free(to);
    free(from);
}

static void read_rows(ranking *r, const char *graph)
{
    int64_t n_nodes;
    if (!read_count(graph, 1, INT32_MAX / EDGES, &n_nodes)) {
        need_weft(weft_mpi_read_rows(&r->rows, NULL, r->comm, graph));
        return;
    }
    int rank, n_ranks;
    weft_csr_host all;
    MPI_Comm_rank(r->comm, &rank);
    MPI_Comm_size(r->comm, &n_ranks);
    int64_t *starts = malloc(((size_t)n_ranks + 1) * sizeof(*starts));
    need(is_there(starts));
    make_graph(&all, n_nodes);
    need(is_ok(weft_csr_host_split(&all, n_ranks, NULL, starts)) &&
         is_ok(weft_csr_host_rows(&r->rows, &all, starts[rank], starts[rank + 1] - starts[rank])));
    weft_csr_host_destroy(&all);
    free(starts);
}

static int64_t column_at(const weft_csr_host *rows, int64_t e)
{
    return rows->index_dtype == WEFT_I16 ? ((const int16_t *)rows->indices)[e]
                                         : ((const int32_t *)rows->indices)[e];
}

// The graph's edges become M: each column sums to 1.
static void weigh_edges(ranking *r)
{
    weft_csr_host *rows = &r->rows;
    const size_t n = (size_t)rows->n_cols;
    float *values = malloc(((size_t)rows->nnz + 1) * sizeof(*values));
    int32_t *degrees = calloc(n + 1, sizeof(*degrees));
    need(is_there(values) && is_there(degrees));
    for (int64_t e = 0; e < rows->nnz; e++)
        degrees[column_at(rows, e)]++;
    MPI_Allreduce(MPI_IN_PLACE, degrees, (int)n, MPI_INT32_T, MPI_SUM, r->comm);
    for (int64_t e = 0; e < rows->nnz; e++)
        values[e] = 1 / (float)degrees[column_at(rows, e)];
    free(degrees);
    free(rows->values);
    rows->values = values;
    rows->dtype = WEFT_F32;
}

static void fill(const ranking *r, const weft_tensor *x, float value)
{
    const size_t bytes = (size_t)r->rows.n_rows * sizeof(value);
    if (bytes > 0)
        need(is_cl_ok(clEnqueueFillBuffer(weft_context_queue(r->ctx), x->buffer, &value,
                                          sizeof(value), 0, bytes, 0, NULL, NULL),
                      "clEnqueueFillBuffer"));
}

// A vector of this rank's rows; without any its buffer still is one.
static void make_vector(const ranking *r, weft_tensor *out)
{
    const int64_t n = r->rows.n_rows;
    need(make_tensor(out, r->ctx, WEFT_F32, n > 0 ? n : 1, 0, NULL));
    out->shape[0] = n;
}

static void start(ranking *r, MPI_Comm comm, const char *graph)
{
    r->comm = comm;
    need(is_ok(weft_context_open(&r->ctx, NULL)));
    read_rows(r, graph);
    weigh_edges(r);
    need_weft(
        weft_mpi_plan_create(&r->plan, comm, r->ctx, weft_context_queue(r->ctx), &r->rows, NULL));
    make_vector(r, &r->now);
    make_vector(r, &r->next);
}

static void iterate(ranking *r)
{
    const double n = (double)r->rows.n_cols;
    fill(r, &r->now, (float)(1 / n));
    for (int step = 0; step < N_STEPS; step++) {
        fill(r, &r->next, (float)((1 - damping) / n));
        need_weft(weft_mpi_spmm(r->plan, damping, &r->now, 1, &r->next, NULL));
        const weft_tensor was_now = r->now;
        r->now = r->next;
        r->next = was_now;
    }
}

// All of x on rank 0, which frees it.
static float *gather(const ranking *r)
{
    int rank, n_ranks;
    MPI_Comm_rank(r->comm, &rank);
    MPI_Comm_size(r->comm, &n_ranks);
    const int n = (int)r->rows.n_rows;
    float *own = malloc(((size_t)n + 1) * sizeof(*own));
    float *all = malloc(((size_t)r->rows.n_cols + 1) * sizeof(*all));
    int *counts = calloc((size_t)n_ranks * 2, sizeof(*counts));
    need(is_there(own) && is_there(all) && is_there(counts));
    for (int i = 0; i < n_ranks; i++) {
        counts[n_ranks + i] = (int)weft_mpi_plan_row_start(r->plan, i);
        counts[i] = (int)weft_mpi_plan_row_start(r->plan, i + 1) - counts[n_ranks + i];
    }
    need(n == 0 || read_tensor(weft_context_queue(r->ctx), &r->now, own));
    MPI_Gatherv(own, n, MPI_FLOAT, all, counts, counts + n_ranks, MPI_FLOAT, 0, r->comm);
    free(counts);
    free(own);
    return all;
}

static void finish(ranking *r)
{
    free_tensor(&r->now);
    free_tensor(&r->next);
    weft_mpi_plan_destroy(&r->plan);
    weft_csr_host_destroy(&r->rows);
    weft_context_destroy(&r->ctx);
}

static void print_costs(const ranking *r)
{
    int rank, n_ranks;
    const weft_mpi_exchange own = weft_mpi_plan_exchange(r->plan);
    const double mine[] = {own.exchange_s, own.rest_s};
    double most[2];
    const int64_t counts[] = {own.bytes_sent, own.rows_sent, own.messages_sent, r->rows.nnz};
    int64_t sums[4], largest = 0;
    MPI_Comm_rank(r->comm, &rank);
    MPI_Comm_size(r->comm, &n_ranks);
    MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, r->comm);
    MPI_Reduce(counts, sums, 4, MPI_INT64_T, MPI_SUM, 0, r->comm);
    MPI_Reduce(&r->rows.nnz, &largest, 1, MPI_INT64_T, MPI_MAX, 0, r->comm);
    if (rank != 0)
        return;
    const double all = most[0] + most[1];
    printf("%" PRId64 " nodes, %" PRId64 " edges on %d ranks, at most %" PRId64 " edges on one\n",
           r->rows.n_cols, sums[3], n_ranks, largest);
    printf("A step sends %" PRId64 " rows of x in %" PRId64 " messages: %" PRId64
           " bytes foretold, %" PRId64 " counted\n",
           sums[1], sums[2], sums[1] * (int64_t)sizeof(float), sums[0] / N_STEPS);
    printf("%.1f ms a step; exchange and what is computed meanwhile %.0f%%, computing after it "
           "%.0f%%\n",
           1e3 * all / N_STEPS, 100 * most[0] / all, 100 * most[1] / all);
}

static bool is_alike(const float *x, const float *alone, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        worst = fmax(worst, fabs((double)x[i] - (double)alone[i]) / (double)alone[i]);
    const bool is_right = worst < tolerance;
    printf("Within %.1e of what one rank computes: %s\n", worst, is_right ? "right" : "WRONG");
    return is_right;
}

int main(int argc, char **argv)
{
    int rank;
    bool ok = true;
    ranking r = {.plan = NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char *graph = argc > 1 ? argv[1] : "20000";
    start(&r, MPI_COMM_WORLD, graph);
    need(r.rows.n_cols > 0 &&
         weft_mpi_plan_x_start(r.plan, 1) == weft_mpi_plan_row_start(r.plan, 1)); // square
    iterate(&r);
    print_costs(&r);
    float *x = gather(&r);
    if (rank == 0) {
        ranking alone = {.plan = NULL};
        start(&alone, MPI_COMM_SELF, graph);
        iterate(&alone);
        float *wanted = gather(&alone);
        ok = is_alike(x, wanted, r.rows.n_cols);
        free(wanted);
        finish(&alone);
    }
    free(x);
    finish(&r);
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
