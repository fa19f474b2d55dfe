// SPDX-License-Identifier: Apache-2.0
// One sparse product over all OpenCL devices of a machine.
//
// Each device gets all of B, some rows of A, and computes the same rows of C = A B. First all get
// the same amount of work; then each gets work by its speed alone, while the others are idle:
// devices that share a processor do not gain. A is a small world's graph, B is random. It prints
// each device's part and time, and compares C with the host's.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common.h"
#include "graph.h"

const char program_name[] = "devices";

enum { MOST_DEVICES = 16, MOST_PLATFORMS = 16, N_COLUMNS = 32, N_RUNS = 5, N_NEAR = 4 };
static const double REWIRED = 0.1;
static const double TOLERANCE = 1e-5; // f32, ten entries a row, numbers of about 1

// One device and its part of the product.
typedef struct worker {
    cl_context cl;
    cl_command_queue queue;
    weft_context *ctx;
    int64_t first; // row of the whole C
    weft_csr A;
    weft_tensor B, C;
    double least_ms; // of its part, while the other devices are idle
} worker;

typedef struct product {
    weft_csr_host A;
    float *B, *C; // [n_cols of A x N_COLUMNS], [n_rows of A x N_COLUMNS]
    int n_workers;
    worker workers[MOST_DEVICES];
} product;

// ---- devices

static void drop_part(worker *w)
{
    weft_csr_destroy(&w->A);
    free_tensor(&w->C);
}

static void close_worker(worker *w)
{
    drop_part(w);
    free_tensor(&w->B);
    weft_context_destroy(&w->ctx);
    if (w->queue)
        clReleaseCommandQueue(w->queue);
    if (w->cl)
        clReleaseContext(w->cl);
    *w = (worker){0};
}

static bool open_worker(worker *w, cl_device_id device, const product *p)
{
    cl_int code;
    w->cl = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (!is_cl_ok(code, "clCreateContext"))
        return false;
    w->queue = clCreateCommandQueue(w->cl, device, 0, &code);
    return is_cl_ok(code, "clCreateCommandQueue") &&
           is_ok(weft_context_create(&w->ctx, w->cl, device, NULL)) &&
           make_tensor(&w->B, w->ctx, WEFT_F32, p->A.n_cols, N_COLUMNS, p->B);
}

static bool open_workers(product *p)
{
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint n_platforms = 0;
    if (!is_cl_ok(clGetPlatformIDs(MOST_PLATFORMS, platforms, &n_platforms), "clGetPlatformIDs"))
        return false;
    for (cl_uint i = 0; i < n_platforms && i < MOST_PLATFORMS; i++) {
        cl_device_id devices[MOST_DEVICES];
        cl_uint n = 0;
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &n) !=
            CL_SUCCESS) // none
            continue;
        for (cl_uint j = 0; j < n && j < MOST_DEVICES && p->n_workers < MOST_DEVICES; j++) {
            worker *next = &p->workers[p->n_workers];
            if (open_worker(next, devices[j], p))
                p->n_workers++;
            else
                close_worker(next); // it has printed why
        }
    }
    if (p->n_workers == 0)
        fprintf(stderr, "%s: there is no OpenCL device that will do\n", program_name);
    return p->n_workers > 0;
}

static void close_workers(product *p)
{
    for (int i = 0; i < p->n_workers; i++)
        close_worker(&p->workers[i]);
}

// ---- the product

// A device whose part has no rows is idle.
static bool has_part(const worker *w)
{
    return w->A.n_rows > 0;
}

static bool give_part(worker *w, const weft_csr_host *A, int64_t first, int64_t n_rows)
{
    weft_csr_host part;
    drop_part(w);
    w->first = first;
    if (n_rows == 0)
        return true;
    const bool ok = is_ok(weft_csr_host_rows(&part, A, first, n_rows)) &&
                    is_ok(weft_csr_create(&w->A, w->ctx, w->queue, &part)) &&
                    make_tensor(&w->C, w->ctx, WEFT_F32, n_rows, N_COLUMNS, NULL);
    weft_csr_host_destroy(&part);
    return ok;
}

// shares == NULL: equal parts.
static bool deal(product *p, const double *shares)
{
    int64_t starts[MOST_DEVICES + 1];
    if (!is_ok(weft_csr_host_split(&p->A, p->n_workers, shares, starts)))
        return false;
    for (int i = 0; i < p->n_workers; i++)
        if (!give_part(&p->workers[i], &p->A, starts[i], starts[i + 1] - starts[i]))
            return false;
    return true;
}

static bool start(worker *w)
{
    return !has_part(w) || (is_ok(weft_spmm(w->ctx, w->queue, 1, &w->A, &w->B, 0, &w->C, NULL)) &&
                            is_cl_ok(clFlush(w->queue), "clFlush"));
}

static bool run_alone(worker *w)
{
    w->least_ms = HUGE_VAL;
    for (int run = 0; run <= N_RUNS; run++) { // the first compiles
        const double begin = now_ms();
        if (!start(w) || !is_cl_ok(clFinish(w->queue), "clFinish"))
            return false;
        const double ms = now_ms() - begin;
        if (run > 0 && ms < w->least_ms)
            w->least_ms = ms;
    }
    return true;
}

static bool run_each(product *p)
{
    for (int i = 0; i < p->n_workers; i++)
        if (!run_alone(&p->workers[i]))
            return false;
    return true;
}

static bool run_together(product *p, double *least_ms)
{
    bool ok = true;
    *least_ms = HUGE_VAL;
    for (int run = 0; run < N_RUNS && ok; run++) {
        const double begin = now_ms();
        for (int i = 0; i < p->n_workers; i++)
            ok = ok && start(&p->workers[i]);
        for (int i = 0; i < p->n_workers; i++)
            ok = is_cl_ok(clFinish(p->workers[i].queue), "clFinish") && ok;
        *least_ms = fmin(*least_ms, now_ms() - begin);
    }
    return ok;
}

// Work done in a millisecond, in the unit of parts: entries and rows together.
static double speed_of(const worker *w)
{
    return (double)(w->A.nnz + w->A.n_rows) / w->least_ms;
}

static bool compute(product *p, double *together_ms)
{
    double speeds[MOST_DEVICES];
    if (!deal(p, NULL) || !run_each(p))
        return false;
    for (int i = 0; i < p->n_workers; i++)
        speeds[i] = speed_of(&p->workers[i]);
    return deal(p, speeds) && run_each(p) && run_together(p, together_ms);
}

// ---- results

static bool collect(product *p)
{
    for (int i = 0; i < p->n_workers; i++) {
        const worker *w = &p->workers[i];
        if (has_part(w) && !read_tensor(w->queue, &w->C, p->C + w->first * N_COLUMNS))
            return false;
    }
    return true;
}

static double element_of(const product *p, int64_t row, int column)
{
    const int32_t *offsets = p->A.offsets, *indices = p->A.indices;
    const float *values = p->A.values;
    double sum = 0;
    for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
        sum += (double)values[e] * (double)p->B[(int64_t)indices[e] * N_COLUMNS + column];
    return sum;
}

static double largest_error(const product *p)
{
    double largest = 0;
    for (int64_t row = 0; row < p->A.n_rows; row++)
        for (int column = 0; column < N_COLUMNS; column++) {
            const double got = (double)p->C[row * N_COLUMNS + column];
            const double error = fabs(got - element_of(p, row, column));
            largest = error > largest || isnan(error) ? error : largest;
        }
    return largest;
}

static bool report(const product *p, double together_ms)
{
    printf("A: %" PRId64 " rows, %" PRId64 " entries; B: %d columns\n", p->A.n_rows, p->A.nnz,
           N_COLUMNS);
    for (int i = 0; i < p->n_workers; i++) {
        const worker *w = &p->workers[i];
        printf("Device %d, %s: %" PRId64 " rows from row %" PRId64 ", %" PRId64 " entries", i,
               weft_context_limits(w->ctx)->name, w->A.n_rows, w->first, w->A.nnz);
        if (has_part(w))
            printf(", %.3g ms alone", w->least_ms);
        printf("\n");
    }
    const double error = largest_error(p);
    const bool is_right = error <= TOLERANCE;
    printf("Together %.3g ms; largest error %.2g: %s\n", together_ms, error,
           is_right ? "right" : "wrong");
    return is_right;
}

static bool draw(product *p, int64_t n_nodes)
{
    chance c = 88172645463325252;
    graph g = {0};
    const bool ok = graph_make(&g, n_nodes, N_NEAR, REWIRED, &c) && graph_normalise(&p->A, &g);
    graph_free(&g);
    if (!ok)
        return false;
    const size_t n = (size_t)(n_nodes * N_COLUMNS);
    p->B = malloc(n * sizeof(*p->B));
    p->C = calloc(n, sizeof(*p->C));
    if (!is_there(p->B) || !is_there(p->C))
        return false;
    for (size_t i = 0; i < n; i++)
        p->B[i] = (float)chance_normal(&c);
    return true;
}

int main(int argc, char **argv)
{
    int64_t n_nodes = 100000;
    bool is_usage = argc > 2;
    if (argc == 2)
        is_usage = !read_count(argv[1], 2 * N_NEAR + 1, 10000000, &n_nodes);
    if (is_usage) {
        fprintf(stderr, "usage: devices [NODES]\n");
        return 2;
    }
    product p = {0};
    double together_ms;
    const bool ok = draw(&p, n_nodes) && open_workers(&p) && compute(&p, &together_ms) &&
                    collect(&p) && report(&p, together_ms);
    close_workers(&p);
    weft_csr_host_destroy(&p.A);
    free(p.B);
    free(p.C);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
