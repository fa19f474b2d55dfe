// SPDX-License-Identifier: Apache-2.0
// Products over ranks: started by mpirun with any number of them, each on the implementation of
// run_on. Small integers make sums exact: every rank compares its rows of Y with a plain loop, bit
// for bit. Rank 0 prints one line of TAP for each case, of which all ranks approve.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/csr_file.h>
#include <weft/mpi.h>

static int rank, n_ranks, n_tests;
static weft_context *ctx;
static cl_command_queue queue;

// Collective: one test.
static void report(const char *name, int is_right)
{
    int all = 0;
    MPI_Allreduce(&is_right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%sok %d - %s\n", all ? "" : "not ", ++n_tests, name);
    fflush(stdout);
}

static int is(weft_status got, weft_status wanted, const char *words)
{
    const int is_right =
        got == wanted && (wanted == WEFT_OK || strstr(weft_mpi_last_error(), words) != NULL);
    if (!is_right)
        printf("# rank %d: %s: %s\n", rank, weft_status_name(got), weft_mpi_last_error());
    return is_right;
}

static void *memory(size_t n)
{
    void *all = calloc(n + 1, 8);
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return all;
}

// ---- a matrix that all ranks make alike

typedef enum shape { NEAR, ANYWHERE, NO_ENTRIES, ONE_COLUMN } shape;

static uint32_t chance(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static int64_t column_for(shape kind, int64_t row, int64_t n_cols, uint32_t *state)
{
    const int64_t any = chance(state) % n_cols;
    return kind == NEAR ? (row + any % 5) % n_cols : kind == ONE_COLUMN ? n_cols - 1 : any;
}

// Rows of 0 to 6 entries, and a long one; values from -3 to 3.
static weft_csr_host make_matrix(int64_t n_rows, int64_t n_cols, shape kind, weft_dtype dtype)
{
    uint32_t state = 5;
    int64_t n = 0;
    const int64_t most = 7 * n_rows + 40;
    int64_t *rows = memory((size_t)most), *cols = memory((size_t)most);
    double *values = memory((size_t)most);
    for (int64_t row = 0; row < n_rows && kind != NO_ENTRIES; row++)
        for (int64_t i = row == n_rows / 3 ? 40 : chance(&state) % 7; i > 0; i--, n++) {
            rows[n] = row;
            cols[n] = column_for(kind, row, n_cols, &state);
            values[n] = (double)(chance(&state) % 7) - 3;
        }
    weft_csr_host out;
    if (weft_csr_host_from_coo(&out, n_rows, n_cols, n, rows, cols, values,
                               WEFT_CSR(.dtype = dtype)) != WEFT_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    free(rows);
    free(cols);
    free(values);
    return out;
}

static float x_at(int64_t row, int64_t column)
{
    return (float)((row * 7 + column * 3) % 11 - 5);
}

static float y_at(int64_t row, int64_t column)
{
    return (float)((row + column) % 5);
}

// ---- a product

typedef struct problem {
    const char *name;
    int64_t n_rows, n_cols, n; // n == 0: a vector
    shape kind;
    double alpha, beta;
    int empty;     // this rank has no rows of A; -1: by work
    int x_is_last; // all of X is on the last rank
} problem;

static cl_mem make_buffer(const float *from, int64_t n)
{
    cl_int code;
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   ((size_t)n + 1) * sizeof(float), (void *)(uintptr_t)from, &code);
    if (code != CL_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return buffer;
}

static weft_tensor make_dense(int64_t first, int64_t n_rows, int64_t n,
                              float (*at)(int64_t, int64_t))
{
    const int64_t width = n > 0 ? n : 1;
    float *all = memory((size_t)(n_rows * width));
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t column = 0; column < width; column++)
            all[row * width + column] = at(first + row, column);
    weft_tensor t = weft_matrix(make_buffer(all, n_rows * width), WEFT_F32, n_rows, width);
    if (n == 0) {
        t.ndim = 1;
        t.stride[0] = 1;
    }
    free(all);
    return t;
}

static double wanted_at(const weft_csr_host *A, const problem *p, int64_t row, int64_t column)
{
    const int32_t *offsets = A->offsets, *indices = A->indices;
    const float *values = A->values;
    double sum = 0;
    for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
        sum += (double)values[e] * (double)x_at(indices[e], column);
    return p->alpha * sum + (p->beta != 0 ? p->beta * (double)y_at(row, column) : 0);
}

static int is_product(const weft_csr_host *A, const problem *p, int64_t first, const weft_tensor *Y)
{
    const int64_t width = p->n > 0 ? p->n : 1, n = Y->shape[0] * width;
    float *got = memory((size_t)n);
    clEnqueueReadBuffer(queue, Y->buffer, CL_TRUE, 0, ((size_t)n + 1) * sizeof(float), got, 0, NULL,
                        NULL);
    int is_right = 1;
    for (int64_t i = 0; i < n && is_right; i++) {
        const double wanted = wanted_at(A, p, first + i / width, i % width);
        is_right = (double)got[i] == wanted;
        if (!is_right)
            printf("# %s, rank %d of %d: row %" PRId64 ": %g, not %g\n", p->name, rank, n_ranks,
                   first + i / width, (double)got[i], wanted);
    }
    if (is_right && got[n] != 0) // behind the end, where 0 was
        is_right = 0;
    free(got);
    return is_right;
}

// What was counted over n products is what the plan foretold.
static int is_as_modelled(const weft_mpi_plan *plan, int64_t n_products, int64_t width)
{
    const weft_mpi_exchange e = weft_mpi_plan_exchange(plan);
    const int64_t bytes = n_products * width * (int64_t)sizeof(float);
    int64_t sent[2] = {e.bytes_sent, e.messages_sent}, all_sent[2];
    int64_t received[2] = {e.bytes_received, e.messages_received}, all_received[2];
    MPI_Allreduce(sent, all_sent, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(received, all_received, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return e.n_products == n_products && e.bytes_sent == e.rows_sent * bytes &&
           e.bytes_received == e.rows_received * bytes && all_sent[0] == all_received[0] &&
           all_sent[1] == all_received[1];
}

// Distinct columns of these rows that are elsewhere.
static int64_t count_halo(const weft_csr_host *part, int64_t x_begin, int64_t x_end)
{
    char *is_named = memory((size_t)part->n_cols);
    const int32_t *indices = part->indices;
    int64_t n = 0;
    for (int64_t e = 0; e < part->nnz; e++) {
        const int is_new = !is_named[indices[e]] && (indices[e] < x_begin || indices[e] >= x_end);
        n += is_new;
        is_named[indices[e]] = 1;
    }
    free(is_named);
    return n;
}

// Where the ranks' rows begin.
static void deal(const weft_csr_host *A, const problem *p, int64_t *starts)
{
    double shares[64];
    for (int r = 0; r < n_ranks; r++)
        shares[r] = n_ranks > 1 && r == p->empty % n_ranks && p->empty >= 0 ? 0 : 1;
    if (weft_csr_host_split(A, n_ranks, shares, starts) != WEFT_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static int check_product(const problem *p, const weft_csr_host *A)
{
    int64_t starts[65], x_starts[65] = {0};
    weft_csr_host part;
    weft_mpi_plan *plan = NULL;
    deal(A, p, starts);
    x_starts[n_ranks] = p->n_cols;
    weft_csr_host_rows(&part, A, starts[rank], starts[rank + 1] - starts[rank]);
    int is_right =
        is(weft_mpi_plan_create(&plan, MPI_COMM_WORLD, ctx, queue, &part,
                                WEFT_MPI_PLAN(.x_starts = p->x_is_last ? x_starts : NULL)),
           WEFT_OK, "");
    if (!plan)
        return 0;
    const int64_t first = weft_mpi_plan_row_start(plan, rank);
    const int64_t x_begin = weft_mpi_plan_x_start(plan, rank);
    const int64_t x_end = weft_mpi_plan_x_start(plan, rank + 1);
    const weft_tensor X = make_dense(x_begin, x_end - x_begin, p->n, x_at);
    for (int i = 0; i < 2; i++) {
        const weft_tensor Y = make_dense(first, part.n_rows, p->n, y_at);
        is_right &= is(weft_mpi_spmm(plan, p->alpha, &X, p->beta, &Y, NULL), WEFT_OK, "") &&
                    is_product(A, p, first, &Y);
        clReleaseMemObject(Y.buffer);
    }
    is_right &= is_as_modelled(plan, 2, p->n > 0 ? p->n : 1);
    is_right &= weft_mpi_plan_exchange(plan).rows_received == count_halo(&part, x_begin, x_end);
    is_right &= first == starts[rank] && weft_mpi_plan_x_start(plan, n_ranks) == p->n_cols;
    clReleaseMemObject(X.buffer);
    weft_mpi_plan_destroy(&plan);
    weft_csr_host_destroy(&part);
    return is_right && plan == NULL;
}

static void test_products(void)
{
    static const problem problems[] = {
        {"a band", 203, 203, 5, NEAR, 1, 0, -1, 0},
        {"columns anywhere", 101, 101, 8, ANYWHERE, 2, 1, -1, 0},
        {"a vector", 150, 150, 0, ANYWHERE, 1, -1, -1, 0},
        {"more columns than rows", 37, 91, 3, ANYWHERE, 1, 0, -1, 0},
        {"more rows than columns", 91, 4, 3, ANYWHERE, 1, 2, -1, 0},
        {"no entries", 40, 40, 3, NO_ENTRIES, 1, 2, -1, 0},
        {"a rank without rows", 60, 60, 3, ANYWHERE, 1, 0, 1, 0},
        {"the first rank without rows", 61, 61, 1, NEAR, 1, 3, 0, 0},
        {"fewer rows than ranks", 3, 3, 2, ANYWHERE, 1, 0, -1, 0},
        {"no rows", 0, 5, 2, NEAR, 1, 0, -1, 0},
        {"all of X on the last rank", 50, 50, 7, ANYWHERE, 1, 1, -1, 1},
        {"one column that all need", 64, 64, 2, ONE_COLUMN, -1, 0, -1, 0},
    };
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        const problem *p = &problems[i];
        weft_csr_host A = make_matrix(p->n_rows, p->n_cols, p->kind, WEFT_F32);
        report(p->name, check_product(p, &A));
        weft_csr_host_destroy(&A);
    }
}

// ---- files

static void test_file(void)
{
    char path[1024];
    const char *dir = getenv("WEFT_TEST_DIR");
    int64_t first = -1, n_rows = 0;
    weft_csr_host A = make_matrix(333, 20, ANYWHERE, WEFT_F32), part;
    snprintf(path, sizeof(path), "%s/A-%d.csr", dir ? dir : ".", n_ranks);
    int is_right = rank != 0 || weft_csr_file_write(path, &A) == WEFT_OK;
    MPI_Barrier(MPI_COMM_WORLD);
    is_right &= is(weft_mpi_read_rows(&part, &first, MPI_COMM_WORLD, path), WEFT_OK, "");
    MPI_Allreduce(&part.n_rows, &n_rows, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    const int32_t *offsets = A.offsets;
    is_right &= n_rows == 333 && part.n_cols == 20 &&
                part.nnz == offsets[first + part.n_rows] - offsets[first] &&
                (part.nnz == 0 || memcmp(part.values, (float *)A.values + offsets[first],
                                         (size_t)part.nnz * sizeof(float)) == 0);
    report("each rank reads its rows of a file", is_right);
    weft_csr_host_destroy(&part);
    weft_csr_host_destroy(&A);

    const char *mine = rank == n_ranks - 1 ? "/none/A.csr" : path;
    char words[64];
    snprintf(words, sizeof(words), "rank %d: csr_file_open: /none/A.csr: No such file",
             n_ranks - 1);
    is_right =
        is(weft_mpi_read_rows(&part, &first, MPI_COMM_WORLD, mine), WEFT_BAD_ARGUMENT, words);
    report("a file that one rank cannot open fails on all", is_right && part.offsets == NULL);
}

// ---- what one rank does wrong, all are told

static int last_creates(const weft_csr_host *wrong, const weft_csr_host *right,
                        const weft_mpi_plan_params *params, weft_status status, const char *words)
{
    weft_mpi_plan *plan = NULL;
    const int is_right = is(weft_mpi_plan_create(&plan, MPI_COMM_WORLD, ctx, queue,
                                                 rank == n_ranks - 1 ? wrong : right, params),
                            status, words);
    return is_right && plan == NULL;
}

static void test_wrong_plans(void)
{
    char words[128];
    weft_csr_host A = make_matrix(30, 30, ANYWHERE, WEFT_F32), wide = A, broken = A;
    weft_csr_host exact = make_matrix(30, 30, ANYWHERE, WEFT_F64);
    int32_t *indices = memory((size_t)A.nnz);
    memcpy(indices, A.indices, (size_t)A.nnz * sizeof(*indices));
    indices[3] = 77;
    broken.indices = indices;
    wide.n_cols = 31;
    snprintf(words, sizeof(words), "rank %d: csr_host_check: ", n_ranks - 1);
    report("a column out of range", last_creates(&broken, &A, NULL, WEFT_BAD_DATA, words));
    report("no matrix", last_creates(NULL, &A, NULL, WEFT_BAD_ARGUMENT, words));
    if (n_ranks > 1) {
        report("another number of columns",
               last_creates(&wide, &A, NULL, WEFT_BAD_SHAPE, "n_cols"));
        report("another data type", last_creates(&exact, &A, NULL, WEFT_BAD_DTYPE, "data type"));
        int64_t starts[65] = {0};
        starts[n_ranks] = 30;
        starts[1] = rank == 0 ? 0 : 1;
        report("other starts of X",
               last_creates(&A, &A, WEFT_MPI_PLAN(.x_starts = starts), WEFT_BAD_SHAPE, ""));
    }
    int64_t short_starts[65] = {0};
    short_starts[n_ranks] = 29;
    report("starts of X that do not end",
           last_creates(&A, &A, WEFT_MPI_PLAN(.x_starts = short_starts), WEFT_BAD_SHAPE,
                        "x_starts go from 0 to 29"));
    weft_csr_host_destroy(&A);
    weft_csr_host_destroy(&exact);
    free(indices);
}

static void test_wrong_products(void)
{
    char words[128];
    weft_csr_host A = make_matrix(30, 30 * n_ranks, ANYWHERE, WEFT_F32);
    const problem right = {"", 30, 30 * n_ranks, 4, ANYWHERE, 1, 0, -1, 0};
    weft_mpi_plan *plan = NULL;
    if (!is(weft_mpi_plan_create(&plan, MPI_COMM_WORLD, ctx, queue, &A, NULL), WEFT_OK, ""))
        MPI_Abort(MPI_COMM_WORLD, 1);
    const weft_tensor X = make_dense(30 * rank, 30, 4, x_at), Y = make_dense(0, 30, 4, y_at);
    weft_tensor wrong = X, narrow = X, narrow_Y = Y, nowhere = Y;
    const int is_last = rank == n_ranks - 1;

    wrong.shape[0] = 29;
    snprintf(words, sizeof(words), "rank %d: mpi_spmm: X has 29 rows, this rank has 30",
             n_ranks - 1);
    report("an X of another size",
           is(weft_mpi_spmm(plan, 1, is_last ? &wrong : &X, 0, &Y, NULL), WEFT_BAD_SHAPE, words));
    wrong = X;
    wrong.dtype = WEFT_F16;
    report("an X of another data type",
           is(weft_mpi_spmm(plan, 1, is_last ? &wrong : &X, 0, &Y, NULL), WEFT_BAD_DTYPE,
              "X is f16, A is f32"));
    // Found by weft itself, when other ranks' messages are on their way.
    nowhere.buffer = NULL;
    snprintf(words, sizeof(words), "rank %d: spmm: ", n_ranks - 1);
    report("no Y", is(weft_mpi_spmm(plan, 1, &X, 0, is_last ? &nowhere : &Y, NULL), WEFT_BAD_BUFFER,
                      words));
    if (n_ranks > 1) {
        narrow.shape[1] = narrow_Y.shape[1] = 3;
        report("another number of columns of X",
               is(weft_mpi_spmm(plan, 1, is_last ? &narrow : &X, 0, is_last ? &narrow_Y : &Y, NULL),
                  WEFT_BAD_SHAPE, "columns is 3 on one rank and 4 on another"));
    }
    // And the plan still works.
    report("a product after those", is(weft_mpi_spmm(plan, 1, &X, 0, &Y, NULL), WEFT_OK, "") &&
                                        is_product(&A, &right, 0, &Y));
    clReleaseMemObject(X.buffer);
    clReleaseMemObject(Y.buffer);
    weft_mpi_plan_destroy(&plan);
    weft_csr_host_destroy(&A);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (weft_context_open(&ctx, NULL) != WEFT_OK) {
        printf("Bail out! %s\n", weft_last_error());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    queue = weft_context_queue(ctx);
    test_products();
    test_file();
    test_wrong_plans();
    test_wrong_products();
    weft_context_destroy(&ctx);
    if (rank == 0)
        printf("1..%d\n", n_tests);
    MPI_Finalize();
    return 0;
}
