// SPDX-License-Identifier: Apache-2.0
// Trains a multilayer perceptron to read digits, prunes nine of ten weights, and trains the rest.
//
// The pictures are made up, and the same at every run. Weights are sparse matrices from the
// beginning, with an entry for every weight; pruning keeps the largest of each layer (Han, Pool,
// Tran and Dally, "Learning both weights and connections for efficient neural networks", 2015).
// From then on each step reads and computes only the remaining weights: forward and backward by
// SpMM, gradients by SDDMM. sparse_layer.h has the formulas.
#define _GNU_SOURCE // getopt_long
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"
#include "gradient_check.h"
#include "sparse_network.h"

const char program_name[] = "sparse_mlp";

enum { N_LAYERS = 3, N_BATCHES = 64, N_JUDGED = 8, N_LOOKS = 4, N_PROBES = 8, N_PROBED = 32 };
static const double RATE = 0.05, MOMENTUM = 0.9, SPARSITY = 0.9, GRADIENT_ERROR = 1e-5;

typedef struct options {
    int64_t width, batch, n_steps;
    bool check_gradients;
} options;

typedef struct course {
    const options *asked;
    weft_context *ctx;
    sparse_samples lessons, exam; // N_BATCHES and N_JUDGED batches
    sparse_network net;
} course;

static bool make_samples(const course *c, sparse_samples *out, int64_t n, chance *state)
{
    digits d = {0};
    const bool ok = digits_make(&d, n, state) &&
                    make_numbers(&out->inputs, c->ctx, WEFT_F32, DIGITS_PIXELS, n, d.pixels) &&
                    make_numbers(&out->is, c->ctx, WEFT_F32, DIGITS_CLASSES, n, d.is) &&
                    make_tensor(&out->labels, c->ctx, WEFT_I32, n, 0, d.labels);
    digits_free(&d);
    return ok;
}

// Makes n_lessons pictures for training, and n_exam others for the test.
static bool prepare(course *c, int64_t n_lessons, int64_t n_exam)
{
    const int64_t width = c->asked->width;
    const int64_t sizes[N_LAYERS + 1] = {DIGITS_PIXELS, width, width, DIGITS_CLASSES};
    chance state = 88172645463325252;
    if (!is_ok(weft_context_open(&c->ctx, NULL)))
        return false;
    printf("Digits of %d x %d pixels, through layers of %lld, %lld and %d, on %s\n",
           (int)DIGITS_SIDE, (int)DIGITS_SIDE, (long long)width, (long long)width,
           (int)DIGITS_CLASSES, weft_context_limits(c->ctx)->name);
    return make_samples(c, &c->lessons, n_lessons, &state) &&
           make_samples(c, &c->exam, n_exam, &state) &&
           sparse_network_create(&c->net, c->ctx, N_LAYERS, sizes,
                                 n_lessons > n_exam ? n_lessons : n_exam, &state);
}

static void finish(course *c)
{
    sparse_network_free(&c->net);
    sparse_samples_free(&c->lessons);
    sparse_samples_free(&c->exam);
    weft_context_destroy(&c->ctx);
}

// A line of the table, from pictures that the network was not trained with.
static bool look(const course *c, const char *phase, int64_t step, double *loss)
{
    double right;
    const bool ok = sparse_network_judge(&c->net, &c->exam, loss, &right);
    if (ok)
        printf("  %-6s  step %4lld  loss %.4f  right %5.1f%%\n", phase, (long long)step, *loss,
               100 * right);
    return ok;
}

// Some steps; waits for the device.
static bool steps(const course *c, int64_t first, int64_t end)
{
    bool ok = true;
    for (int64_t s = first; ok && s < end; s++) {
        const int64_t batch = s % N_BATCHES;
        const sparse_samples samples =
            sparse_samples_of(&c->lessons, batch * c->asked->batch, c->asked->batch);
        ok = sparse_network_step(&c->net, &samples, RATE, MOMENTUM);
    }
    return ok && is_cl_ok(clFinish(weft_context_queue(c->ctx)), "clFinish");
}

// Trains, and returns the loss before and after, and the time of a step, without the first, which
// compiles.
static bool train(const course *c, const char *phase, double *before, double *after, double *ms)
{
    const int64_t n_steps = c->asked->n_steps;
    bool ok = look(c, phase, 0, before) && steps(c, 0, 1);
    int64_t done = 1;
    *ms = 0;
    for (int part = 1; ok && part <= N_LOOKS; part++) {
        const int64_t end = 1 + (n_steps - 1) * part / N_LOOKS;
        const double start = now_ms();
        ok = steps(c, done, end);
        *ms += now_ms() - start;
        if (end > done)
            ok = ok && look(c, phase, end, after);
        done = end;
    }
    *ms /= (double)(n_steps - 1);
    return ok;
}

static void print_pruned(const sparse_network *net)
{
    const int64_t n_left = sparse_network_entries(net), n = sparse_network_weights(net);
    printf("Pruned: %lld of %lld weights are left, the network is %.1f%% sparse\n",
           (long long)n_left, (long long)n, 100 * (1 - (double)n_left / (double)n));
}

static bool teach(course *c)
{
    const int64_t batch = c->asked->batch;
    double start, dense, pruned, sparse, dense_ms, sparse_ms;
    if (!prepare(c, N_BATCHES * batch, N_JUDGED * batch) ||
        !train(c, "dense", &start, &dense, &dense_ms) || !sparse_network_prune(&c->net, SPARSITY))
        return false;
    print_pruned(&c->net);
    if (!train(c, "sparse", &pruned, &sparse, &sparse_ms))
        return false;
    const bool is_right = dense < start && sparse < pruned;
    printf("A step of %lld pictures: %.2f ms dense, %.2f ms sparse\n", (long long)batch, dense_ms,
           sparse_ms);
    printf("The loss fell while the network was dense, and again when it was sparse: %s\n",
           is_right ? "right" : "WRONG");
    return is_right;
}

static bool check(const course *c, const char *phase)
{
    double error;
    if (!gradient_check(&c->net, &c->lessons, N_PROBES, &error))
        return false;
    const bool is_right = error < GRADIENT_ERROR;
    printf("  %-6s  gradients are within %.1e of finite differences: %s\n", phase, error,
           is_right ? "right" : "WRONG");
    return is_right;
}

static bool check_gradients(course *c)
{
    if (!prepare(c, N_PROBED, N_PROBED) || !check(c, "dense") ||
        !sparse_network_prune(&c->net, SPARSITY))
        return false;
    print_pruned(&c->net);
    return check(c, "sparse");
}

static bool read_options(options *out, int argc, char **argv)
{
    static const struct option names[] = {{"width", required_argument, NULL, 'w'},
                                          {"batch", required_argument, NULL, 'b'},
                                          {"steps", required_argument, NULL, 's'},
                                          {"check-gradients", no_argument, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
    *out = (options){.width = 256, .batch = 128, .n_steps = 240};
    int letter;
    bool ok = true;
    while (ok && (letter = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (letter == 'w')
            ok = read_count(optarg, 1, 8192, &out->width);
        else if (letter == 'b')
            ok = read_count(optarg, 1, 8192, &out->batch);
        else if (letter == 's')
            ok = read_count(optarg, 2, 1000000, &out->n_steps);
        else if (letter == 'c')
            out->check_gradients = true;
        else
            ok = false;
    }
    return ok && optind == argc;
}

int main(int argc, char **argv)
{
    options asked;
    if (!read_options(&asked, argc, argv)) {
        fprintf(stderr, "usage: sparse_mlp [--width UNITS] [--batch PICTURES] [--steps STEPS]\n"
                        "       sparse_mlp [--width UNITS] --check-gradients\n"
                        "STEPS (2 or more) while it is dense, and as many when it is sparse. "
                        "--check-gradients\ncompares with finite differences instead.\n");
        return 2;
    }
    course c = {.asked = &asked};
    const bool ok = asked.check_gradients ? check_gradients(&c) : teach(&c);
    finish(&c);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
