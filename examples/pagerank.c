// SPDX-License-Identifier: Apache-2.0
// Ranks Debian packages by the dependencies of others: many personalised PageRanks at once.
//
// A walker follows dependencies, each of a package's with the same probability. With probability
// 1 - d, and at a package without dependencies, it starts again at the ranking's seed. The share of
// its time that it spends at each package, x, is the ranking:
//
//     x = d M x + c v      M[to][from] = 1 / dependencies of `from`
//                          v the seed, and c such that x sums to 1
//
// Solved with c = 1 - d, by iteration, and scaled to sum 1 at the end, since x only grows with c.
// One ranking is one column of a dense matrix, so a step of all is one SpMM: X' = d M X + V.
#define _POSIX_C_SOURCE 200809L // getopt, lstat
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "debian_packages.h"
#include "rankings.h"

const char program_name[] = "pagerank";

enum { MAX_RANKINGS = 512, N_SHOWN = 8, STEPS_A_LOOK = 8, MAX_STEPS = 800 };
static const double damping = 0.85, tolerance = 1e-6;

typedef struct options {
    const char *file, *matrix_file;
    const char *seeds[MAX_RANKINGS];
    int n_seeds, n_rankings;
} options;

// Arrays on the device.
typedef struct walk {
    weft_context *ctx;
    weft_csr moves; // M
    weft_spmm_plan *plan;
    cl_mem restart, now, next; // V, X, X'
} walk;

// The matrix.

static bool make_moves(weft_csr_host *out, const package_graph *graph)
{
    const size_t n_edges = (size_t)graph->n_edges;
    int64_t *rows = malloc((n_edges + 1) * sizeof(*rows));
    int64_t *cols = malloc((n_edges + 1) * sizeof(*cols));
    double *values = malloc((n_edges + 1) * sizeof(*values));
    int64_t *degree = calloc((size_t)graph->n_packages, sizeof(*degree));
    bool ok = is_there(rows) && is_there(cols) && is_there(values) && is_there(degree);
    if (ok) {
        for (size_t e = 0; e < n_edges; e++)
            degree[graph->edges[e].from]++;
        for (size_t e = 0; e < n_edges; e++) {
            rows[e] = graph->edges[e].to;
            cols[e] = graph->edges[e].from;
            values[e] = 1.0 / (double)degree[cols[e]];
        }
        ok = is_ok(weft_csr_host_from_coo(out, graph->n_packages, graph->n_packages, graph->n_edges,
                                          rows, cols, values, NULL));
    }
    free(rows);
    free(cols);
    free(values);
    free(degree);
    return ok;
}

// Closes the file, too.
static bool print_matrix(FILE *file, const weft_csr_host *m)
{
    const int32_t *offsets = m->offsets, *indices = m->indices;
    const float *values = m->values;
    if (file == NULL)
        return false;
    fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
            (long long)m->n_rows, (long long)m->n_cols, (long long)m->nnz);
    for (int64_t row = 0; row < m->n_rows; row++)
        for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
            fprintf(file, "%lld %d %.9g\n", (long long)row + 1, indices[e] + 1, values[e]);
    const bool ok = !ferror(file);
    return fclose(file) == 0 && ok;
}

// A new file beside the old one, with its permissions, or with those of new files.
static FILE *create_beside(char beside[PATH_MAX], const char *file_name)
{
    struct stat old;
    const mode_t mask = umask(0);
    umask(mask);
    if (snprintf(beside, PATH_MAX, "%s.XXXXXX", file_name) >= PATH_MAX)
        return NULL;
    const bool is_there = stat(file_name, &old) == 0;
    const int file = mkstemp(beside);
    if (file < 0)
        return NULL;
    if (fchmod(file, is_there ? old.st_mode & 07777 : 0666 & ~mask) == 0)
        return fdopen(file, "w");
    close(file);
    unlink(beside);
    return NULL;
}

// The new file replaces the old one when it is complete.
static bool replace_matrix(const weft_csr_host *m, const char *file_name)
{
    char beside[PATH_MAX];
    FILE *file = create_beside(beside, file_name);
    const bool ok = print_matrix(file, m) && rename(beside, file_name) == 0;
    if (file != NULL && !ok)
        unlink(beside);
    return ok;
}

// Devices, pipes and symbolic links are written in place.
static bool write_matrix(const weft_csr_host *m, const char *file_name)
{
    struct stat old;
    const bool is_file = lstat(file_name, &old) != 0 || S_ISREG(old.st_mode);
    const bool ok = is_file ? replace_matrix(m, file_name) : print_matrix(fopen(file_name, "w"), m);
    if (!ok)
        fprintf(stderr, "pagerank: cannot write %s\n", file_name);
    return ok;
}

// On the device.

static size_t dense_bytes(const rankings *r)
{
    return (size_t)r->n_packages * (size_t)r->n_rankings * sizeof(float);
}

static bool make_buffer(cl_mem *out, const walk *w, const rankings *r, float *from)
{
    cl_int code;
    *out = clCreateBuffer(weft_context_cl(w->ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                          dense_bytes(r), from, &code);
    return is_cl_ok(code, "clCreateBuffer");
}

// `scores` contains V at this point.
static bool prepare(walk *w, const weft_csr_host *moves, rankings *r)
{
    for (int64_t p = 0; p < r->n_packages; p++)
        for (int i = 0; i < r->n_rankings; i++)
            r->scores[p * r->n_rankings + i] = (float)((1 - damping) * rankings_start(r, i, p));

    if (!is_ok(weft_context_open(&w->ctx, NULL)))
        return false;
    const cl_command_queue queue = weft_context_queue(w->ctx);
    return is_ok(weft_csr_create(&w->moves, w->ctx, queue, moves)) &&
           is_ok(weft_spmm_plan_create(&w->plan, w->ctx, queue, &w->moves, NULL)) &&
           make_buffer(&w->restart, w, r, r->scores) && make_buffer(&w->now, w, r, r->scores) &&
           make_buffer(&w->next, w, r, r->scores);
}

// X' = d M X + V; then X' is X.
static bool step(walk *w, const rankings *r)
{
    const cl_command_queue queue = weft_context_queue(w->ctx);
    const weft_tensor now = weft_matrix(w->now, WEFT_F32, r->n_packages, r->n_rankings);
    const weft_tensor next = weft_matrix(w->next, WEFT_F32, r->n_packages, r->n_rankings);
    const cl_int code =
        clEnqueueCopyBuffer(queue, w->restart, w->next, 0, 0, dense_bytes(r), 0, NULL, NULL);
    if (!is_cl_ok(code, "clEnqueueCopyBuffer") ||
        !is_ok(weft_spmm(w->ctx, queue, damping, &w->moves, &now, 1, &next,
                         WEFT_SPMM(.plan = w->plan))))
        return false;
    const cl_mem was_now = w->now;
    w->now = w->next;
    w->next = was_now;
    return true;
}

static bool read_back(const walk *w, cl_mem buffer, const rankings *r, float *to)
{
    const cl_int code = clEnqueueReadBuffer(weft_context_queue(w->ctx), buffer, CL_TRUE, 0,
                                            dense_bytes(r), to, 0, NULL, NULL);
    return is_cl_ok(code, "clEnqueueReadBuffer");
}

// n steps; waits for the device.
static bool steps(walk *w, rankings *r, int n)
{
    bool ok = true;
    for (int s = 0; ok && s < n; s++)
        ok = step(w, r);
    r->n_steps += n;
    return ok && is_cl_ok(clFinish(weft_context_queue(w->ctx)), "clFinish");
}

static bool iterate(walk *w, rankings *r)
{
    float *before = malloc(dense_bytes(r));
    bool ok = is_there(before) && steps(w, r, 1); // compiles, and is not timed
    double change = INFINITY;
    while (ok && change > tolerance && r->n_steps < MAX_STEPS) {
        const double start = now_ms();
        ok = steps(w, r, STEPS_A_LOOK);
        r->ms += now_ms() - start;
        ok = ok && read_back(w, w->now, r, r->scores) && read_back(w, w->next, r, before);
        if (ok)
            change = rankings_largest_change(r, before);
    }
    free(before);
    return ok;
}

static void finish(walk *w)
{
    cl_mem buffers[] = {w->restart, w->now, w->next};
    for (int i = 0; i < 3; i++)
        if (buffers[i] != NULL)
            clReleaseMemObject(buffers[i]);
    weft_spmm_plan_destroy(&w->plan);
    weft_csr_destroy(&w->moves);
    weft_context_destroy(&w->ctx);
}

// Prints the table; whether it is right.
static bool report(const rankings *r, const package_graph *graph, const weft_csr_host *moves,
                   int n_shown, const char *device)
{
    const double error = rankings_error(r, moves, damping);
    const bool is_right = error < 1e-4;
    printf("%lld packages, %lld dependencies, %d rankings: %d steps of %.3f ms on %s\n",
           (long long)graph->n_packages, (long long)graph->n_edges, r->n_rankings, r->n_steps,
           r->ms / (r->n_steps - 1), device);
    printf("Starting from a package, where does a walker along dependencies spend its time?\n");
    rankings_print(r, graph, n_shown);
    printf("Each ranking sums to 1, and is within %.1e of x = d M x + c v: %s\n", error,
           is_right ? "right" : "WRONG");
    return is_right;
}

static bool rank(const package_graph *graph, const options *asked)
{
    weft_csr_host moves = {0};
    walk w = {0};
    rankings r = {.n_packages = graph->n_packages, .n_rankings = asked->n_rankings};
    if (r.n_rankings > r.n_packages + 1)
        r.n_rankings = (int)r.n_packages + 1;
    r.seeds = malloc((size_t)r.n_rankings * sizeof(*r.seeds));
    r.scores = malloc(dense_bytes(&r));

    bool ok = is_there(r.seeds) && is_there(r.scores) &&
              rankings_choose_seeds(&r, graph, asked->seeds, asked->n_seeds) &&
              make_moves(&moves, graph);
    if (ok && asked->matrix_file != NULL)
        ok = write_matrix(&moves, asked->matrix_file);
    ok = ok && prepare(&w, &moves, &r) && iterate(&w, &r);
    if (ok) {
        rankings_scale(&r);
        const int n_shown = asked->n_seeds > 0 ? 1 + asked->n_seeds : N_SHOWN;
        ok = report(&r, graph, &moves, n_shown, weft_context_limits(w.ctx)->name);
    }
    finish(&w);
    weft_csr_host_destroy(&moves);
    free(r.seeds);
    free(r.scores);
    return ok;
}

static bool read_options(options *out, int argc, char **argv)
{
    *out = (options){.file = "/var/lib/dpkg/status", .n_rankings = 32};
    int letter;
    int64_t n_rankings = out->n_rankings;
    while ((letter = getopt(argc, argv, "n:s:w:")) != -1) {
        if (letter == 'n' && read_count(optarg, 1, MAX_RANKINGS, &n_rankings))
            out->n_rankings = (int)n_rankings;
        else if (letter == 'w')
            out->matrix_file = optarg;
        else if (letter == 's' && out->n_seeds < MAX_RANKINGS - 1)
            out->seeds[out->n_seeds++] = optarg;
        else
            return false;
    }
    if (out->n_rankings <= out->n_seeds)
        out->n_rankings = out->n_seeds + 1;
    if (optind < argc)
        out->file = argv[optind++];
    return optind == argc;
}

int main(int argc, char **argv)
{
    options asked;
    if (!read_options(&asked, argc, argv)) {
        fprintf(stderr,
                "usage: pagerank [-n RANKINGS] [-s SEED_PACKAGE]... [-w MATRIX.mtx] [FILE]\n"
                "One ranking starts anywhere and one at each seed: there are at least so many.\n"
                "FILE is dpkg's database (the default), a Packages file, or - for standard "
                "input\n");
        return 2;
    }
    FILE *file = open_input(asked.file);
    if (file == NULL)
        return EXIT_FAILURE;
    package_graph graph = {0};
    const bool ok = package_graph_read(&graph, file, asked.file) && rank(&graph, &asked);
    package_graph_free(&graph);
    close_input(file);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
