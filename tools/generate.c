// SPDX-License-Identifier: Apache-2.0
// Patterns of pruned layers and of graphs.
#include "generate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

static const double PI = 3.14159265358979323846;

static bool allocate(weft_csr_host *out, int64_t m, int64_t k, int64_t nnz, weft_dtype dtype,
                     complaint *why)
{
    *out = (weft_csr_host){
        .n_rows = m,
        .n_cols = k,
        .nnz = nnz,
        .offset_dtype = WEFT_I32,
        .index_dtype = WEFT_I32,
        .dtype = dtype == WEFT_DEFAULT ? WEFT_F32 : dtype,
    };
    out->offsets = calloc((size_t)m + 1, sizeof(int32_t));
    out->indices = calloc((size_t)nnz + 1, sizeof(int32_t));
    out->values = calloc((size_t)nnz + 1, weft_dtype_size(out->dtype));
    if (out->offsets != NULL && out->indices != NULL && out->values != NULL)
        return true;
    weft_csr_host_destroy(out);
    return complain(why, "no memory for a matrix with %" PRId64 " non-zeros", nnz);
}

// Uniform in (0, 1).
static double random_open(random_stream *stream)
{
    return ((double)(random_bits(stream) >> 11) + 0.5) / 9007199254740992.0;
}

static double random_normal(random_stream *stream)
{
    const double radius = sqrt(-2 * log(random_open(stream)));
    return radius * cos(2 * PI * random_open(stream));
}

// Marsaglia and Tsang, "A Simple Method for Generating Gamma Variables" (TOMS 2000).
static double random_gamma(random_stream *stream, double shape)
{
    if (shape < 1) {
        const double boost = pow(random_open(stream), 1 / shape);
        return boost * random_gamma(stream, shape + 1);
    }
    const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        const double x = random_normal(stream);
        const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
        if (v > 0 && log(random_open(stream)) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v;
    }
}

// A random share in 0 .. 1 with that mean and coefficient of variation.
static double random_beta(random_stream *stream, double mean, double cov)
{
    const double total = (1 - mean) / (mean * cov * cov) - 1;
    const double a = random_gamma(stream, mean * total);
    const double b = random_gamma(stream, (1 - mean) * total);
    return a + b > 0 ? a / (a + b) : mean;
}

// Rows of random length, and their entries.
static int64_t free_rows(const generate_layer *layer)
{
    return layer->m - (layer->has_full ? 1 : 0);
}

static int64_t free_entries(const generate_layer *layer)
{
    return layer->nnz - (layer->has_full ? layer->k : 0);
}

static double density(const generate_layer *layer)
{
    const double room = (double)free_rows(layer) * (double)layer->k;
    return room > 0 ? (double)free_entries(layer) / room : 0;
}

double generate_layer_max_cov(const generate_layer *layer)
{
    const double d = density(layer);
    return d > 0 ? sqrt((1 - d) / d) : INFINITY;
}

static bool check_layer(const generate_layer *layer, complaint *why)
{
    if (layer->m < 1 || layer->k < 1 || layer->k > INT32_MAX || layer->nnz > INT32_MAX ||
        layer->m > INT32_MAX)
        return complain(why, "a layer of %" PRId64 " x %" PRId64 " with %" PRId64 " non-zeros",
                        layer->m, layer->k, layer->nnz);
    if (free_entries(layer) < 0 || free_entries(layer) > free_rows(layer) * layer->k)
        return complain(why, "%" PRId64 " non-zeros do not fit %" PRId64 " rows of %" PRId64,
                        free_entries(layer), free_rows(layer), layer->k);
    if (!(layer->cov >= 0) || (layer->cov > 0 && layer->cov >= generate_layer_max_cov(layer)))
        return complain(why,
                        "rows of a matrix with density %.3g vary by less than %.3g, not by %.3g",
                        density(layer), generate_layer_max_cov(layer), layer->cov);
    return true;
}

static bool is_full_row(const generate_layer *layer, int64_t row)
{
    return layer->has_full && row == layer->m / 2;
}

// Random lengths; their sum is only approximate. Without variation they differ by one at most.
static int64_t draw_lengths(const generate_layer *layer, random_stream *stream, int64_t *lengths)
{
    const int64_t n = free_rows(layer);
    int64_t sum = 0;
    for (int64_t row = 0, i = 0; row < layer->m; row++) {
        if (is_full_row(layer, row)) {
            lengths[row] = layer->k;
        } else if (layer->cov == 0 || free_entries(layer) == 0) {
            lengths[row] = (i + 1) * free_entries(layer) / n - i * free_entries(layer) / n;
            i++;
        } else {
            const double share = random_beta(stream, density(layer), layer->cov);
            lengths[row] = (int64_t)(share * (double)layer->k + 0.5);
        }
        sum += lengths[row];
    }
    return sum;
}

// Entries are added and removed one by one, so that no row is exceptional afterwards.
static void correct_lengths(const generate_layer *layer, random_stream *stream, int64_t sum,
                            int64_t *lengths)
{
    while (sum != layer->nnz) {
        const int64_t row = random_below(stream, layer->m);
        const int64_t step = sum < layer->nnz ? 1 : -1;
        const int64_t length = lengths[row] + step;
        if (is_full_row(layer, row) || length < 0 || length > layer->k)
            continue;
        lengths[row] = length;
        sum += step;
    }
}

// Marks `length` of k columns: the chosen ones, or if they are fewer, the others.
static void draw_columns(random_stream *stream, int64_t k, int64_t length, uint64_t *marks)
{
    const bool leave = length > k / 2;
    memset(marks, leave ? 0xff : 0, (size_t)(k / 64 + 1) * sizeof(*marks));
    for (int64_t left = leave ? k - length : length; left > 0;) {
        const int64_t column = random_below(stream, k);
        const uint64_t bit = UINT64_C(1) << (column % 64);
        if (((marks[column / 64] & bit) != 0) != leave)
            continue;
        marks[column / 64] ^= bit;
        left--;
    }
}

// The marked ones of k columns; marks beyond them are ignored.
static int32_t *append_columns(const uint64_t *marks, int64_t k, int32_t *out)
{
    for (int64_t base = 0; base < k; base += 64)
        for (uint64_t left = marks[base / 64]; left != 0; left &= left - 1) {
            const int64_t column = base + __builtin_ctzll(left);
            if (column >= k)
                break;
            *out++ = (int32_t)column;
        }
    return out;
}

static void fill_layer(const generate_layer *layer, weft_csr_host *out, int64_t *lengths,
                       uint64_t *marks)
{
    random_stream stream = random_start(layer->seed, RANDOM_PATTERN);
    int32_t *offsets = out->offsets;
    int32_t *next = out->indices;
    const int64_t sum = draw_lengths(layer, &stream, lengths);
    correct_lengths(layer, &stream, sum, lengths);
    for (int64_t row = 0; row < layer->m; row++) {
        draw_columns(&stream, layer->k, lengths[row], marks);
        next = append_columns(marks, layer->k, next);
        offsets[row + 1] = (int32_t)(next - (int32_t *)out->indices);
    }
}

bool generate_layer_csr(weft_csr_host *out, const generate_layer *layer, complaint *why)
{
    *out = (weft_csr_host){0};
    if (!check_layer(layer, why))
        return false;
    int64_t *lengths = calloc((size_t)layer->m, sizeof(*lengths));
    uint64_t *marks = calloc((size_t)(layer->k / 64 + 1), sizeof(*marks));
    bool done = lengths != NULL && marks != NULL;
    if (!done)
        complaint_keep(why, "no memory for %" PRId64 " row lengths", layer->m);
    done = done && allocate(out, layer->m, layer->k, layer->nnz, layer->dtype, why);
    if (done) {
        fill_layer(layer, out, lengths, marks);
        random_fill(layer->seed, RANDOM_VALUES, out->dtype, out->values, out->nnz);
    }
    free(lengths);
    free(marks);
    return done;
}

// Edges of the graph: all among the first degree + 1 nodes, and `degree` of every later one.
static int64_t count_edges(const generate_graph *graph)
{
    const int64_t d = graph->degree;
    return d * (d + 1) / 2 + (graph->n_nodes - d - 1) * d;
}

int64_t generate_graph_nnz(const generate_graph *graph)
{
    return 2 * count_edges(graph);
}

static bool is_among(const int64_t *ends, int64_t first, int64_t last, int64_t node)
{
    for (int64_t e = first; e < last; e++)
        if (ends[2 * e + 1] == node)
            return true;
    return false;
}

// Edge e connects ends[2 e] and ends[2 e + 1]. A node is in `ends` once for each neighbour, so
// drawing an end draws nodes in proportion to their neighbours.
static void grow(const generate_graph *graph, int64_t *ends)
{
    random_stream stream = random_start(graph->seed, RANDOM_PATTERN);
    int64_t e = 0;
    for (int64_t node = 0; node < graph->n_nodes; node++) {
        const bool is_first = node <= graph->degree;
        const int64_t start = e;
        const int64_t n_neighbours = is_first ? node : graph->degree;
        while (e < start + n_neighbours) {
            const int64_t other = is_first ? e - start : ends[random_below(&stream, 2 * start)];
            if (is_among(ends, start, e, other))
                continue;
            ends[2 * e] = node;
            ends[2 * e + 1] = other;
            e++;
        }
    }
}

bool generate_graph_csr(weft_csr_host *out, const generate_graph *graph, complaint *why)
{
    *out = (weft_csr_host){0};
    if (graph->degree < 1 || graph->degree >= graph->n_nodes ||
        graph->n_nodes > INT32_MAX / 2 / graph->degree)
        return complain(why, "a graph of %" PRId64 " nodes cannot join each to %" PRId64 " others",
                        graph->n_nodes, graph->degree);
    const int64_t nnz = generate_graph_nnz(graph);
    int64_t *rows = malloc((size_t)nnz * sizeof(*rows));
    int64_t *cols = malloc((size_t)nnz * sizeof(*cols));
    bool done = rows != NULL && cols != NULL;
    if (done) {
        grow(graph, rows);
        for (int64_t e = 0; e < nnz; e++)
            cols[e] = rows[e ^ 1];
        done = weft_csr_host_from_coo(out, graph->n_nodes, graph->n_nodes, nnz, rows, cols, NULL,
                                      WEFT_CSR(.dtype = graph->dtype)) == WEFT_OK ||
               complain_weft(why);
    } else {
        complaint_keep(why, "no memory for a graph of %" PRId64 " edges", nnz / 2);
    }
    if (done)
        random_fill(graph->seed, RANDOM_VALUES, out->dtype, out->values, out->nnz);
    free(rows);
    free(cols);
    return done;
}
