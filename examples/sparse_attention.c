// SPDX-License-Identifier: Apache-2.0
// A block of sparse attention against the dense one.
//
// In a language model each token attends to those before it: o = softmax(q K^T / sqrt(depth)) V,
// once for each of several heads. The cost grows with the square of the tokens. For long texts each
// attends only to the neighbours in a sliding window and to a few global tokens at the beginning
// (Beltagy, Peters and Cohan, "Longformer", 2020; Zaheer and others, "Big Bird", 2020):
//
//     i attends to j  where  j <= i  and  (i - j < window  or  j < global)
//
// The queries and keys of each head have the root mean square 1, so that no weight depends on their
// length (after Henry, Dachapally, Pawar and Chen, "Query-key normalization for transformers",
// 2020).
//
// Here the mask is a sparse matrix without values. The same call with every j <= i is the dense
// attention, whose time is compared. Some rows of both are computed again in double.
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "common.h"

const char program_name[] = "sparse_attention";

enum { MOST = 32768, N_RUNS = 5, N_CHECKED = 16 };
static const double tolerance = 2e-5; // of results within [-1, 1]
static const double epsilon = 1e-6;   // of the mean squares of queries and keys

typedef struct block {
    int64_t n_rows, window, n_global, n_heads, depth;
    float *q, *k, *v, *o; // [rows x heads x depth]
    weft_context *ctx;
    weft_tensor Q, K, V, O; // the same
} block;

// Results with one mask.
typedef struct outcome {
    int64_t n_entries;
    double ms, error;
    run_cost by_calls, recorded;
} outcome;

static size_t count_of(const block *b)
{
    return (size_t)b->n_rows * (size_t)b->n_heads * (size_t)b->depth;
}

// ---- the mask

static bool attends(const block *b, int64_t window, int64_t i, int64_t j)
{
    return j <= i && (i - j < window || j < b->n_global);
}

// On the host, by rows.
static bool make_mask(weft_csr_host *out, const block *b, int64_t window)
{
    int64_t widest = window + b->n_global;
    widest = widest < b->n_rows ? widest : b->n_rows;
    int32_t *offsets = calloc((size_t)b->n_rows + 1, sizeof(*offsets));
    int32_t *indices = malloc((size_t)(b->n_rows * widest) * sizeof(*indices));
    *out = (weft_csr_host){
        .n_rows = b->n_rows, .n_cols = b->n_rows, .offsets = offsets, .indices = indices};
    if (!is_there(offsets) || !is_there(indices))
        return false;
    for (int64_t i = 0; i < b->n_rows; i++) {
        for (int64_t j = 0; j <= i; j++)
            if (attends(b, window, i, j))
                indices[out->nnz++] = (int32_t)j;
        offsets[i + 1] = (int32_t)out->nnz;
    }
    return true;
}

// Without values.
static bool upload_mask(weft_csr *out, const block *b, const weft_csr_host *host)
{
    weft_tensor offsets, indices = {0};
    const bool ok = make_tensor(&offsets, b->ctx, WEFT_I32, host->n_rows + 1, 0, host->offsets) &&
                    make_tensor(&indices, b->ctx, WEFT_I32, host->nnz, 0, host->indices);
    *out = (weft_csr){.n_rows = host->n_rows,
                      .n_cols = host->n_cols,
                      .nnz = host->nnz,
                      .offsets = offsets.buffer,
                      .indices = indices.buffer};
    return ok;
}

// ---- the block

// In [-1, 1).
static bool make_array(float **host, weft_tensor *t, const block *b, chance seed)
{
    const size_t count = count_of(b);
    *host = malloc(count * sizeof(**host));
    for (size_t i = 0; *host != NULL && i < count; i++)
        (*host)[i] = (float)(2 * chance_uniform(&seed) - 1);
    return is_there(*host) &&
           make_tensor(t, b->ctx, WEFT_F32, b->n_rows, b->n_heads * b->depth, *host);
}

// A view as [heads x rows x depth], without a copy.
static weft_tensor heads_of(const block *b, const weft_tensor *array)
{
    weft_tensor t = {.buffer = array->buffer,
                     .ndim = 3,
                     .shape = {b->n_heads, b->n_rows, b->depth},
                     .stride = {b->depth, b->n_heads * b->depth, 1}};
    return t;
}

// In place, on the device alone.
static bool normalise(const block *b, const weft_tensor *array)
{
    const weft_tensor t = heads_of(b, array);
    return is_ok(weft_rms_norm(b->ctx, weft_context_queue(b->ctx), epsilon, &t, 1, &t, NULL));
}

static bool prepare(block *b)
{
    return is_ok(weft_context_open(&b->ctx, NULL)) && make_array(&b->q, &b->Q, b, 1) &&
           make_array(&b->k, &b->K, b, 2) && make_array(&b->v, &b->V, b, 3) &&
           make_array(&b->o, &b->O, b, 4) && normalise(b, &b->Q) && normalise(b, &b->K);
}

static void finish(block *b)
{
    free_tensor(&b->Q);
    free_tensor(&b->K);
    free_tensor(&b->V);
    free_tensor(&b->O);
    weft_context_destroy(&b->ctx);
    free(b->q);
    free(b->k);
    free(b->v);
    free(b->o);
}

// ---- on the host

// NaN is larger than any number.
static double worse(double a, double b)
{
    return isnan(a) || a > b ? a : b;
}

// q k^T / sqrt(depth) of two vectors that are normalised first.
static double similarity(const block *b, const float *q, const float *k)
{
    const double depth = (double)b->depth;
    double product = 0, q_squares = 0, k_squares = 0;
    for (int64_t l = 0; l < b->depth; l++) {
        product += (double)q[l] * k[l];
        q_squares += (double)q[l] * q[l];
        k_squares += (double)k[l] * k[l];
    }
    return product / sqrt(depth * (q_squares / depth + epsilon) * (k_squares / depth + epsilon));
}

// The error of row i of one head, which is computed in double by the formula.
static double row_error(const block *b, int64_t window, int64_t head, int64_t i, double *weights)
{
    const int64_t step = b->n_heads * b->depth, at = head * b->depth;
    double top = -INFINITY, sum = 0, error = 0;
    for (int64_t j = 0; j <= i; j++) {
        weights[j] = -INFINITY;
        if (!attends(b, window, i, j))
            continue;
        weights[j] = similarity(b, b->q + i * step + at, b->k + j * step + at);
        top = fmax(top, weights[j]);
    }
    for (int64_t j = 0; j <= i; j++)
        sum += weights[j] = exp(weights[j] - top);
    for (int64_t l = 0; l < b->depth; l++) {
        double o = 0;
        for (int64_t j = 0; j <= i; j++)
            o += weights[j] / sum * b->v[j * step + at + l];
        error = worse(error, fabs(b->o[i * step + at + l] - o));
    }
    return error;
}

// The largest error of some rows, the last one among them.
static bool find_error(double *out, const block *b, int64_t window)
{
    double *weights = malloc((size_t)b->n_rows * sizeof(*weights));
    *out = 0;
    for (int64_t c = 1; weights != NULL && c <= N_CHECKED; c++) {
        const int64_t row = c * b->n_rows / N_CHECKED - 1;
        *out = worse(*out, row_error(b, window, c % b->n_heads, row > 0 ? row : 0, weights));
    }
    const bool ok = is_there(weights);
    free(weights);
    return ok;
}

// ---- on the device

// One call, and the same as a recording.
typedef struct call {
    weft_context *ctx;
    weft_tensor Q, K, V, O;
    const weft_csr *mask;
    double scale;
    weft_recording *recording;
} call;

static bool enqueue_call(void *data)
{
    const call *c = data;
    return is_ok(weft_sparse_attention(c->ctx, weft_context_queue(c->ctx), c->scale, &c->Q, &c->K,
                                       &c->V, c->mask, &c->O, NULL));
}

static bool enqueue_recording(void *data)
{
    const call *c = data;
    return is_ok(weft_recording_run(c->recording, weft_context_queue(c->ctx), NULL));
}

static bool record(call *c)
{
    return is_ok(weft_recording_begin(&c->recording, c->ctx)) && enqueue_call(c) &&
           is_ok(weft_recording_end(c->recording));
}

// The best of some runs, after one that compiles.
static bool time_runs(outcome *out, call *c)
{
    const cl_command_queue queue = weft_context_queue(c->ctx);
    bool ok = true;
    out->ms = INFINITY;
    for (int run = 0; ok && run <= N_RUNS; run++) {
        const double start = now_ms();
        ok = enqueue_call(c) && is_cl_ok(clFinish(queue), "clFinish");
        if (run > 0)
            out->ms = fmin(out->ms, now_ms() - start);
    }
    return ok && measure_runs(&out->by_calls, queue, enqueue_call, c) && record(c) &&
           measure_runs(&out->recorded, queue, enqueue_recording, c);
}

static bool run(outcome *out, const block *b, const weft_csr *mask)
{
    call c = {
        .ctx = b->ctx,
        .Q = heads_of(b, &b->Q),
        .K = heads_of(b, &b->K),
        .V = heads_of(b, &b->V),
        .O = heads_of(b, &b->O),
        .mask = mask,
        .scale = 1 / sqrt((double)b->depth),
    };
    const bool ok = time_runs(out, &c) && read_tensor(weft_context_queue(b->ctx), &b->O, b->o);
    weft_recording_destroy(&c.recording);
    return ok;
}

static bool attend(outcome *out, const block *b, int64_t window)
{
    weft_csr_host host;
    weft_csr mask = {0};
    const bool ok = make_mask(&host, b, window) && upload_mask(&mask, b, &host) &&
                    run(out, b, &mask) && find_error(&out->error, b, window);
    out->n_entries = host.nnz;
    weft_csr_destroy(&mask);
    free(host.offsets);
    free(host.indices);
    return ok;
}

static bool report(const block *b, const outcome *sparse, const outcome *dense)
{
    const bool is_right = sparse->error < tolerance && dense->error < tolerance;
    printf("%lld tokens, %lld heads of %lld on %s\n", (long long)b->n_rows, (long long)b->n_heads,
           (long long)b->depth, weft_context_limits(b->ctx)->name);
    printf("A window of %lld and %lld global tokens keep %lld of %lld entries (%.1f%%)\n",
           (long long)b->window, (long long)b->n_global, (long long)sparse->n_entries,
           (long long)dense->n_entries, 100 * (double)sparse->n_entries / (double)dense->n_entries);
    printf("  sparse  %9.3f ms  error %.1e\n", sparse->ms, sparse->error);
    printf("  dense   %9.3f ms  error %.1e\n", dense->ms, dense->error);
    print_run_costs(&sparse->by_calls, &sparse->recorded);
    printf("Sparse attention takes 1/%.2f of the time; both against the host: %s\n",
           dense->ms / sparse->ms, is_right ? "right" : "WRONG");
    return is_right;
}

// ---- options

static bool read_options(block *out, int argc, char **argv)
{
    static const struct option names[] = {
        {"rows", required_argument, NULL, 'r'},   {"window", required_argument, NULL, 'w'},
        {"global", required_argument, NULL, 'g'}, {"heads", required_argument, NULL, 'h'},
        {"depth", required_argument, NULL, 'd'},  {0}};
    *out = (block){.n_rows = 1024, .window = 64, .n_global = 16, .n_heads = 4, .depth = 64};
    bool ok = true;
    int letter;
    while (ok && (letter = getopt_long(argc, argv, "r:w:g:h:d:", names, NULL)) != -1) {
        int64_t *fields[256] = {['r'] = &out->n_rows,
                                ['w'] = &out->window,
                                ['g'] = &out->n_global,
                                ['h'] = &out->n_heads,
                                ['d'] = &out->depth};
        ok = letter != '?' &&
             read_count(optarg, letter != 'g', letter == 'h' || letter == 'd' ? 1024 : MOST,
                        fields[letter]);
    }
    return ok && optind == argc && out->window <= out->n_rows && out->n_global <= out->n_rows;
}

int main(int argc, char **argv)
{
    block b;
    outcome sparse, dense;
    if (!read_options(&b, argc, argv)) {
        fprintf(stderr, "usage: sparse_attention [--rows N] [--window N] [--global N] [--heads N] "
                        "[--depth N]\n"
                        "up to 32768 rows (tokens); window and global tokens up to as many\n");
        return 2;
    }
    const bool ok = prepare(&b) && attend(&sparse, &b, b.window) && attend(&dense, &b, b.n_rows) &&
                    report(&b, &sparse, &dense);
    finish(&b);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
