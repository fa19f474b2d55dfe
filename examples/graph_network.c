// SPDX-License-Identifier: Apache-2.0
// A graph convolution network classifies nodes (Kipf and Welling, "Semi-supervised classification
// with graph convolutional networks", 2017):
//
//     H = relu(S X W1)         S = D^-1/2 (A + I) D^-1/2, the graph
//     P = softmax(S H W2)      X features, W1 and W2 weights: random, and the same at every run
//
// The graph is a Matrix Market file, or a small world of the program's own. It prints times of the
// layers, what a recording of all calls saves, and the classes of the nodes, and computes some of
// the nodes again on the host.
#define _GNU_SOURCE // getopt_long
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "graph.h"
#include "graph_reference.h"

const char program_name[] = "graph_network";

enum { N_RUNS = 5, N_CHECKED = 8, N_NEAR = 4, MOST_CLASSES = 64 };
static const double REWIRED = 0.1;

// In f32 a probability has an error of some dozens of roundings of 6e-8.
static const double TOLERANCE = 1e-5;

typedef struct options {
    const char *path; // NULL: a small world of n_nodes
    int64_t n_nodes, n_features, n_hidden, n_classes;
} options;

// out = activation(S T) with T = in W: [n_nodes x n_out] from [n_nodes x n_in]
typedef struct layer {
    weft_tensor W, T, out;
    double weights_ms, graph_ms, activation_ms;
} layer;

typedef struct network {
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr S;
    weft_spmm_plan *plan; // for S
    weft_tensor X, answers;
    layer layers[2];
    bool is_timed;             // each call is waited for
    weft_recording *recording; // of all calls
} network;

static bool make_layer(network *net, layer *l, int64_t n_in, int64_t n_out, const float *W)
{
    const int64_t n = net->S.n_rows;
    return make_tensor(&l->W, net->ctx, WEFT_F32, n_in, n_out, W) &&
           make_tensor(&l->T, net->ctx, WEFT_F32, n, n_out, NULL) &&
           make_tensor(&l->out, net->ctx, WEFT_F32, n, n_out, NULL);
}

static bool prepare(network *net, const graph_problem *of)
{
    const int64_t n = of->S.n_rows;
    if (!is_ok(weft_context_open(&net->ctx, NULL)))
        return false;
    net->queue = weft_context_queue(net->ctx);
    return is_ok(weft_csr_create(&net->S, net->ctx, net->queue, &of->S)) &&
           is_ok(weft_spmm_plan_create(&net->plan, net->ctx, net->queue, &net->S, NULL)) &&
           make_tensor(&net->X, net->ctx, WEFT_F32, n, of->n_features, of->X) &&
           make_tensor(&net->answers, net->ctx, WEFT_I32, n, 0, NULL) &&
           make_layer(net, &net->layers[0], of->n_features, of->n_hidden, of->W1) &&
           make_layer(net, &net->layers[1], of->n_hidden, of->n_classes, of->W2);
}

static void finish(network *net)
{
    for (int i = 0; i < 2; i++) {
        layer *l = &net->layers[i];
        free_tensor(&l->W);
        free_tensor(&l->T);
        free_tensor(&l->out);
    }
    free_tensor(&net->X);
    free_tensor(&net->answers);
    weft_recording_destroy(&net->recording);
    weft_spmm_plan_destroy(&net->plan);
    weft_csr_destroy(&net->S);
    weft_context_destroy(&net->ctx);
}

// Waits for the device; records the shortest of several times.
static bool finish_timing(const network *net, double start, double *least_ms)
{
    if (!net->is_timed)
        return true;
    const bool ok = is_cl_ok(clFinish(net->queue), "clFinish");
    const double ms = now_ms() - start;
    *least_ms = *least_ms == 0 || ms < *least_ms ? ms : *least_ms;
    return ok;
}

static bool times_weights(const network *net, layer *l, const weft_tensor *in)
{
    const double start = now_ms();
    return is_ok(weft_matmul(net->ctx, net->queue, 1, in, &l->W, 0, &l->T, NULL)) &&
           finish_timing(net, start, &l->weights_ms);
}

static bool times_graph(const network *net, layer *l)
{
    const double start = now_ms();
    return is_ok(weft_spmm(net->ctx, net->queue, 1, &net->S, &l->T, 0, &l->out,
                           WEFT_SPMM(.plan = net->plan))) &&
           finish_timing(net, start, &l->graph_ms);
}

static bool relu(const network *net, layer *l)
{
    const double start = now_ms();
    return is_ok(weft_elementwise(net->ctx, net->queue, WEFT_INPUTS({"x", &l->out}),
                                  WEFT_OUTPUTS({"relu(x)", &l->out}), NULL)) &&
           finish_timing(net, start, &l->activation_ms);
}

static bool softmax(const network *net, layer *l)
{
    const double start = now_ms();
    return is_ok(weft_softmax(net->ctx, net->queue, 1, &l->out, 1, &l->out, NULL)) &&
           finish_timing(net, start, &l->activation_ms);
}

static bool run(network *net)
{
    layer *first = &net->layers[0], *second = &net->layers[1];
    return times_weights(net, first, &net->X) && times_graph(net, first) && relu(net, first) &&
           times_weights(net, second, &first->out) && times_graph(net, second) &&
           softmax(net, second);
}

// The first run compiles.
static bool run_often(network *net)
{
    net->is_timed = true;
    bool ok = run(net);
    for (int i = 0; i < 2; i++)
        net->layers[i].weights_ms = net->layers[i].graph_ms = net->layers[i].activation_ms = 0;
    for (int i = 0; ok && i < N_RUNS; i++)
        ok = run(net);
    net->is_timed = false;
    return ok;
}

// ---- by calls, and recorded

static bool enqueue_calls(void *data)
{
    return run(data);
}

static bool enqueue_recording(void *data)
{
    const network *net = data;
    return is_ok(weft_recording_run(net->recording, net->queue, NULL));
}

// The layers have fixed shapes: their calls are checked and planned once.
static bool record(network *net)
{
    return is_ok(weft_recording_begin(&net->recording, net->ctx)) && run(net) &&
           is_ok(weft_recording_end(net->recording));
}

static bool compare_recording(network *net)
{
    run_cost by_calls, recorded;
    const bool ok = measure_runs(&by_calls, net->queue, enqueue_calls, net) && record(net) &&
                    measure_runs(&recorded, net->queue, enqueue_recording, net);
    if (ok)
        print_run_costs(&by_calls, &recorded);
    return ok;
}

// ---- results

static double gflops(int64_t n_products, double ms)
{
    return 2e-6 * (double)n_products / ms;
}

static bool print_layer(const network *net, const layer *l, const char *name)
{
    char text[512];
    const int64_t n_in = l->W.shape[0], n_out = l->W.shape[1];
    if (weft_spmm_describe(net->ctx, &net->S, &l->T, &l->out, WEFT_SPMM(.plan = net->plan), text,
                           sizeof(text)) < 0) {
        fprintf(stderr, "%s: %s\n", program_name, weft_last_error());
        return false;
    }
    printf("Layer %s, %lld to %lld: weights %.3f ms (%.1f GFLOP/s), graph %.3f ms (%.1f GFLOP/s), "
           "activation %.3f ms\n  %s\n",
           name, (long long)n_in, (long long)n_out, l->weights_ms,
           gflops(net->S.n_rows * n_in * n_out, l->weights_ms), l->graph_ms,
           gflops(net->S.nnz * n_out, l->graph_ms), l->activation_ms, text);
    return true;
}

static bool print_classes(const network *net)
{
    const int64_t n = net->S.n_rows, n_classes = net->layers[1].out.shape[1];
    int64_t counts[MOST_CLASSES] = {0};
    int32_t *answers = malloc((size_t)n * sizeof(*answers));
    const bool ok = is_there(answers) &&
                    is_ok(weft_reduce(net->ctx, net->queue, WEFT_ARGMAX, &net->layers[1].out, 1,
                                      (const int[]){1}, &net->answers, NULL)) &&
                    read_tensor(net->queue, &net->answers, answers);
    for (int64_t node = 0; ok && node < n; node++)
        counts[answers[node]]++;
    if (ok)
        printf("Nodes of each class:");
    for (int64_t c = 0; ok && c < n_classes; c++)
        printf(" %lld", (long long)counts[c]);
    if (ok)
        printf("\n");
    free(answers);
    return ok;
}

// The node with the most neighbours, and others evenly spread.
static bool check(const network *net, const graph_problem *of)
{
    const int64_t n = of->S.n_rows;
    float *P = malloc((size_t)(n * of->n_classes) * sizeof(*P));
    bool ok = is_there(P) && read_tensor(net->queue, &net->layers[1].out, P);
    double error = 0;
    for (int i = 0; ok && i < N_CHECKED; i++) {
        const int64_t node = i == 0 ? graph_problem_hub(of) : (n - 1) * i / (N_CHECKED - 1);
        double here;
        ok = graph_problem_error(of, node, P + node * of->n_classes, &here);
        error = fmax(error, here);
    }
    free(P);
    if (!ok)
        return false;
    printf("%d nodes are within %.1e of the same in double: %s\n", (int)N_CHECKED, error,
           error < TOLERANCE ? "right" : "WRONG");
    return error < TOLERANCE;
}

static void print_graph(const network *net, const options *asked)
{
    const weft_row_stats *rows = weft_spmm_plan_rows(net->plan);
    printf("%s: %lld nodes, %lld entries with those of each node itself, on %s\n",
           asked->path != NULL ? asked->path : "A small world", (long long)rows->n_rows,
           (long long)rows->nnz, weft_context_limits(net->ctx)->name);
    printf("A row has %.2f entries, at most %lld, coefficient of variation %.2f\n", rows->mean,
           (long long)rows->max, rows->cov);
}

static bool look_at(const graph_problem *of, const options *asked)
{
    network net = {0};
    bool ok = prepare(&net, of);
    if (ok)
        print_graph(&net, asked);
    ok = ok && run_often(&net) && print_layer(&net, &net.layers[0], "1") &&
         print_layer(&net, &net.layers[1], "2") && compare_recording(&net) && print_classes(&net) &&
         check(&net, of);
    finish(&net);
    return ok;
}

static bool read_options(options *out, int argc, char **argv)
{
    static const struct option names[] = {{"nodes", required_argument, NULL, 'n'},
                                          {"features", required_argument, NULL, 'f'},
                                          {"hidden", required_argument, NULL, 'h'},
                                          {"classes", required_argument, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
    *out = (options){.n_nodes = 16384, .n_features = 64, .n_hidden = 32, .n_classes = 8};
    int letter;
    bool ok = true;
    while (ok && (letter = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (letter == 'n')
            ok = read_count(optarg, 1, GRAPH_MOST_NODES, &out->n_nodes);
        else if (letter == 'f')
            ok = read_count(optarg, 1, 65536, &out->n_features);
        else if (letter == 'h')
            ok = read_count(optarg, 1, 65536, &out->n_hidden);
        else if (letter == 'c')
            ok = read_count(optarg, 1, MOST_CLASSES, &out->n_classes);
        else
            ok = false;
    }
    if (optind < argc)
        out->path = argv[optind++];
    return ok && optind == argc;
}

int main(int argc, char **argv)
{
    options asked;
    if (!read_options(&asked, argc, argv)) {
        fprintf(stderr, "usage: graph_network [--features N] [--hidden N] [--classes N] "
                        "[--nodes N | GRAPH.mtx]\nGRAPH.mtx is a square Matrix Market file, or - "
                        "for standard input: each entry is an edge.\nWithout it, a small world "
                        "of N nodes.\n");
        return 2;
    }
    chance c = 88172645463325252;
    graph g = {0};
    graph_problem problem = {
        .n_features = asked.n_features, .n_hidden = asked.n_hidden, .n_classes = asked.n_classes};
    const bool is_graph = asked.path != NULL ? graph_read(&g, asked.path)
                                             : graph_make(&g, asked.n_nodes, N_NEAR, REWIRED, &c);
    const bool ok = is_graph && graph_normalise(&problem.S, &g) &&
                    graph_problem_draw(&problem, &c) && look_at(&problem, &asked);
    graph_problem_free(&problem);
    graph_free(&g);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
