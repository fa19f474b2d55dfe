// SPDX-License-Identifier: Apache-2.0
// A perceptron that answers requests of any size.
//
// A server passes as many rows to its network as have gathered: now 1, now 37, now 400. Each layer
// is one product with its bias and activation at the end,
//
//     h = gelu(x W1 + b1)     y = softmax(h W2 + b2)
//
// in kernels that accept every number of rows: after the first few requests nothing is compiled,
// and no row is padded. Some answers are computed again in double.
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "chance.h"
#include "common.h"

const char program_name[] = "requests";

enum { MOST_WIDTH = 1 << 14, MOST_ROWS = 1 << 12, N_CHECKED = 4 };
static const double tolerance = 1e-4; // of probabilities

typedef struct network {
    int64_t n_in, n_hidden, n_out, most_rows;
    float *x, *w1, *b1, *w2, *b2, *y;
    weft_context *ctx;
    weft_tensor X, W1, B1, W2, B2, H, Y; // X, H and Y have room for the largest request
} network;

// Totals over requests.
typedef struct tally {
    int64_t n_requests, n_rows;
    double ms, error;
    uint64_t programs_at_half;
} tally;

// ---- set-up

static float *some_numbers(chance *c, int64_t n, double scale)
{
    float *numbers = malloc((size_t)n * sizeof(*numbers));
    for (int64_t i = 0; numbers && i < n; i++)
        numbers[i] = (float)(scale * chance_normal(c));
    return numbers;
}

static bool make_numbers_up(network *net)
{
    chance c = 1;
    net->x = some_numbers(&c, net->most_rows * net->n_in, 1);
    net->w1 = some_numbers(&c, net->n_in * net->n_hidden, 1 / sqrt((double)net->n_in));
    net->b1 = some_numbers(&c, net->n_hidden, 0.1);
    net->w2 = some_numbers(&c, net->n_hidden * net->n_out, 1 / sqrt((double)net->n_hidden));
    net->b2 = some_numbers(&c, net->n_out, 0.1);
    net->y = malloc((size_t)(net->most_rows * net->n_out) * sizeof(*net->y));
    return is_there(net->x) && is_there(net->w1) && is_there(net->b1) && is_there(net->w2) &&
           is_there(net->b2) && is_there(net->y);
}

static bool prepare(network *net)
{
    weft_context *ctx;
    if (!make_numbers_up(net) || !is_ok(weft_context_open(&net->ctx, NULL)))
        return false;
    ctx = net->ctx;
    return make_tensor(&net->X, ctx, WEFT_F32, net->most_rows, net->n_in, net->x) &&
           make_tensor(&net->W1, ctx, WEFT_F32, net->n_in, net->n_hidden, net->w1) &&
           make_tensor(&net->B1, ctx, WEFT_F32, net->n_hidden, 0, net->b1) &&
           make_tensor(&net->W2, ctx, WEFT_F32, net->n_hidden, net->n_out, net->w2) &&
           make_tensor(&net->B2, ctx, WEFT_F32, net->n_out, 0, net->b2) &&
           make_tensor(&net->H, ctx, WEFT_F32, net->most_rows, net->n_hidden, NULL) &&
           make_tensor(&net->Y, ctx, WEFT_F32, net->most_rows, net->n_out, NULL);
}

static void finish(network *net)
{
    weft_tensor *const tensors[] = {&net->X,  &net->W1, &net->B1, &net->W2,
                                    &net->B2, &net->H,  &net->Y};
    float *const arrays[] = {net->x, net->w1, net->b1, net->w2, net->b2, net->y};
    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
        free_tensor(tensors[i]);
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        free(arrays[i]);
    weft_context_destroy(&net->ctx);
}

// ---- one request

// The first n rows.
static weft_tensor rows_of(const weft_tensor *all, int64_t n)
{
    weft_tensor rows = *all;
    rows.shape[0] = n;
    return rows;
}

static bool answer(const network *net, int64_t n)
{
    const weft_tensor x = rows_of(&net->X, n), h = rows_of(&net->H, n), y = rows_of(&net->Y, n);
    cl_command_queue queue = weft_context_queue(net->ctx);
    return is_ok(weft_matmul(
               net->ctx, queue, 1, &x, &net->W1, 0, &h,
               WEFT_MATMUL(.epilogue = "gelu(c + b)", WEFT_MATMUL_WITH({"b", &net->B1})))) &&
           is_ok(
               weft_matmul(net->ctx, queue, 1, &h, &net->W2, 0, &y,
                           WEFT_MATMUL(.epilogue = "c + b", WEFT_MATMUL_WITH({"b", &net->B2})))) &&
           is_ok(weft_softmax(net->ctx, queue, 1, &y, 1, &y, NULL)) &&
           read_tensor(queue, &y, net->y);
}

// ---- the same on the host

static void compute_hidden(const network *net, int64_t row, double *h)
{
    for (int64_t j = 0; j < net->n_hidden; j++) {
        double sum = (double)net->b1[j];
        for (int64_t i = 0; i < net->n_in; i++)
            sum += (double)net->x[row * net->n_in + i] * (double)net->w1[i * net->n_hidden + j];
        h[j] = 0.5 * sum * (1 + erf(sum / sqrt(2)));
    }
}

// NaN counts as the largest.
static double larger(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

// The largest difference between the row's probabilities and those of the device.
static double row_error(const network *net, int64_t row, double *h, double *p)
{
    double total = 0, error = 0;
    compute_hidden(net, row, h);
    for (int64_t j = 0; j < net->n_out; j++) {
        double sum = (double)net->b2[j];
        for (int64_t i = 0; i < net->n_hidden; i++)
            sum += h[i] * (double)net->w2[i * net->n_out + j];
        p[j] = exp(sum);
        total += p[j];
    }
    for (int64_t j = 0; j < net->n_out; j++)
        error = larger(error, fabs(p[j] / total - (double)net->y[row * net->n_out + j]));
    return error;
}

static bool check_rows(const network *net, int64_t n, chance *c, double *error)
{
    double *h = malloc((size_t)net->n_hidden * sizeof(*h));
    double *p = malloc((size_t)net->n_out * sizeof(*p));
    const bool ok = is_there(h) && is_there(p);
    for (int i = 0; ok && i < N_CHECKED; i++) {
        *error = larger(*error, row_error(net, chance_below(c, n), h, p));
    }
    free(h);
    free(p);
    return ok;
}

// ---- many requests

// Small numbers are as likely as large ones.
static int64_t some_rows(const network *net, chance *c)
{
    return (int64_t)exp(chance_uniform(c) * log((double)net->most_rows + 1));
}

static bool serve(const network *net, tally *t)
{
    chance c = 2;
    for (int64_t i = 0; i < t->n_requests; i++) {
        const int64_t n = some_rows(net, &c);
        const double begin = now_ms();
        if (!answer(net, n))
            return false;
        t->ms += i < t->n_requests / 2 ? 0 : now_ms() - begin;
        t->n_rows += i < t->n_requests / 2 ? 0 : n;
        if (i == t->n_requests / 2)
            t->programs_at_half = weft_context_get_stats(net->ctx).programs_built;
        if (i % 16 == 0 && !check_rows(net, n, &c, &t->error))
            return false;
    }
    return true;
}

static bool report(const network *net, const tally *t)
{
    const uint64_t programs = weft_context_get_stats(net->ctx).programs_built;
    const double per_row =
        2 * (double)net->n_hidden * (double)(net->n_in + net->n_out); // operations
    const bool right = t->error <= tolerance;
    const bool settled = programs <= t->programs_at_half + 1;
    printf("%" PRId64 " requests of 1 to %" PRId64 " rows for %" PRId64 " x %" PRId64 " x %" PRId64
           ": %" PRIu64 " programs compiled, %" PRIu64 " of them in the second half: %s\n",
           t->n_requests, net->most_rows, net->n_in, net->n_hidden, net->n_out, programs,
           programs - t->programs_at_half, settled ? "settled" : "NOT SETTLED");
    printf("The second half: %" PRId64 " rows in %.1f ms, %.1f GFLOP/s\n", t->n_rows, t->ms,
           1e-6 * per_row * (double)t->n_rows / t->ms);
    printf("Probabilities within %.1e of the host's: %s\n", t->error, right ? "right" : "WRONG");
    return right && settled;
}

// ---- options

static int usage(void)
{
    fprintf(stderr, "usage: requests [--in N] [--hidden N] [--out N] [--rows N] [--requests N]\n");
    return 2;
}

static bool read_options(int argc, char **argv, network *net, tally *t)
{
    static const struct option options[] = {
        {"in", required_argument, NULL, 'i'},       {"hidden", required_argument, NULL, 'h'},
        {"out", required_argument, NULL, 'o'},      {"rows", required_argument, NULL, 'r'},
        {"requests", required_argument, NULL, 'n'}, {0}};
    int key;
    bool ok = true;
    while (ok && (key = getopt_long(argc, argv, "", options, NULL)) != -1) {
        int64_t *const field = key == 'i'   ? &net->n_in
                               : key == 'h' ? &net->n_hidden
                               : key == 'o' ? &net->n_out
                               : key == 'r' ? &net->most_rows
                                            : &t->n_requests;
        ok = key != '?' &&
             read_count(optarg, 1, key == 'r' || key == 'n' ? MOST_ROWS : MOST_WIDTH, field);
    }
    return ok && optind == argc;
}

int main(int argc, char **argv)
{
    network net = {.n_in = 784, .n_hidden = 1024, .n_out = 10, .most_rows = 512};
    tally t = {.n_requests = 200};
    if (!read_options(argc, argv, &net, &t))
        return usage();
    const bool ok = prepare(&net) && serve(&net, &t) && report(&net, &t);
    finish(&net);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
