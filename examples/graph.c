// SPDX-License-Identifier: Apache-2.0
// An undirected graph, from a file or made up.
#define _POSIX_C_SOURCE 200809L // getline, strcasecmp
#include "graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common.h"

static bool add(graph *g, int64_t *room, int64_t from, int64_t to)
{
    if (g->n_pairs == *room) {
        const size_t more = 2 * (size_t)*room + 1024;
        int64_t *grown = realloc(g->from, more * sizeof(*grown));
        g->from = grown != NULL ? grown : g->from;
        int64_t *also = realloc(g->to, more * sizeof(*also));
        g->to = also != NULL ? also : g->to;
        if (!is_there(grown) || !is_there(also))
            return false;
        *room = (int64_t)more;
    }
    g->from[g->n_pairs] = from;
    g->to[g->n_pairs++] = to;
    return true;
}

// The file while it is read, line by line.
typedef struct reader {
    FILE *file;
    const char *path;
    char *text; // the line at hand
    size_t text_room;
    int64_t line, n_entries, room;
    bool has_values;
} reader;

// A read error looks like the end of the file; its message replaces `what`.
static bool complain(const reader *r, const char *what)
{
    return complain_at(r->path, r->line, ferror(r->file) ? "cannot be read" : what);
}

static bool next_line(reader *r)
{
    r->line++;
    return getline(&r->text, &r->text_room, r->file) >= 0;
}

// The next line that is not blank or a comment; false at the end of the file.
static bool next_content(reader *r)
{
    while (next_line(r)) {
        const char *at = r->text + strspn(r->text, " \t\r\n");
        if (*at != '\0' && *at != '%')
            return true;
    }
    return false;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcasecmp(word, a) == 0 || strcasecmp(word, b) == 0 || strcasecmp(word, c) == 0;
}

static bool read_banner(reader *r)
{
    char mark[16], object[16], format[16], field[16], symmetry[20];
    if (!next_line(r) ||
        sscanf(r->text, "%15s %15s %15s %15s %19s", mark, object, format, field, symmetry) != 5 ||
        strcasecmp(mark, "%%MatrixMarket") != 0)
        return complain(r, "this is no Matrix Market file");
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
        return complain(r, "only 'matrix coordinate' is read");
    if (!is_one_of(field, "pattern", "real", "integer"))
        return complain(r, "only pattern, real and integer entries are read");
    if (!is_one_of(symmetry, "general", "symmetric", "symmetric"))
        return complain(r, "only general and symmetric matrices are read");
    r->has_values = strcasecmp(field, "pattern") != 0;
    return true;
}

// Reads n numbers from 0 on; false if there are fewer.
static bool take_counts(char **at, int n, int64_t *counts)
{
    for (int i = 0; i < n; i++) {
        char *end;
        counts[i] = strtoll(*at, &end, 10);
        if (end == *at || counts[i] < 0)
            return false;
        *at = end;
    }
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static bool read_sizes(graph *g, reader *r)
{
    int64_t sizes[3];
    if (!next_content(r))
        return complain(r, "the sizes are missing");
    char *at = r->text;
    if (!take_counts(&at, 3, sizes) || !is_blank(at))
        return complain(r, "rows, columns and entries are wanted here, and nothing else");
    if (sizes[0] != sizes[1])
        return complain(r, "a graph has as many rows as columns");
    if (sizes[0] < 1 || sizes[0] > GRAPH_MOST_NODES)
        return complain(r, "a graph has a node, and at most a hundred million");
    g->n_nodes = sizes[0];
    r->n_entries = sizes[2];
    return true;
}

static bool read_entry(graph *g, reader *r)
{
    int64_t place[2];
    char *at = r->text, *end;
    if (!take_counts(&at, 2, place))
        return complain(r, "a row and a column are wanted");
    if (place[0] < 1 || place[0] > g->n_nodes || place[1] < 1 || place[1] > g->n_nodes)
        return complain(r, "the entry is outside the matrix");
    if (r->has_values) {
        strtod(at, &end);
        if (end == at)
            return complain(r, "the value is missing, or no number");
        at = end;
    }
    return (is_blank(at) || complain(r, "the line goes on behind the entry")) &&
           add(g, &r->room, place[0] - 1, place[1] - 1);
}

static bool read_entries(graph *g, reader *r)
{
    for (int64_t e = 0; e < r->n_entries; e++)
        if (!next_content(r))
            return complain(r, "the file ends before its last entry");
        else if (!read_entry(g, r))
            return false;
    const bool is_more = next_content(r);
    return !(is_more || ferror(r->file)) || complain(r, "more entries than the sizes say");
}

bool graph_read(graph *out, const char *path)
{
    *out = (graph){0};
    reader r = {.path = path};
    r.file = open_input(path);
    const bool ok =
        r.file != NULL && read_banner(&r) && read_sizes(out, &r) && read_entries(out, &r);
    free(r.text);
    close_input(r.file);
    return ok;
}

bool graph_make(graph *out, int64_t n_nodes, int64_t n_near, double rewired, chance *c)
{
    *out = (graph){.n_nodes = n_nodes};
    int64_t room = 0;
    bool ok = true;
    for (int64_t node = 0; ok && node < n_nodes; node++)
        for (int64_t near = 1; ok && near <= n_near; near++) {
            const bool is_far = chance_uniform(c) < rewired;
            ok = add(out, &room, node, is_far ? chance_below(c, n_nodes) : (node + near) % n_nodes);
        }
    return ok;
}

void graph_free(graph *g)
{
    free(g->from);
    free(g->to);
    *g = (graph){0};
}

// Sets the values of merged duplicates to 1: only the pattern counts.
static void set_values(weft_csr_host *m)
{
    const int32_t *offsets = m->offsets, *indices = m->indices;
    float *values = m->values;
    for (int64_t row = 0; row < m->n_rows; row++)
        for (int32_t e = offsets[row]; e < offsets[row + 1]; e++) {
            const int32_t col = indices[e];
            const double here = offsets[row + 1] - offsets[row];
            const double there = offsets[col + 1] - offsets[col];
            values[e] = (float)(1 / sqrt(here * there));
        }
}

bool graph_normalise(weft_csr_host *out, const graph *g)
{
    const int64_t n = 2 * g->n_pairs + g->n_nodes;
    int64_t *rows = malloc((size_t)n * sizeof(*rows)), *cols = malloc((size_t)n * sizeof(*cols));
    bool ok = is_there(rows) && is_there(cols);
    if (ok) {
        for (int64_t p = 0; p < g->n_pairs; p++) {
            rows[2 * p] = cols[2 * p + 1] = g->from[p];
            cols[2 * p] = rows[2 * p + 1] = g->to[p];
        }
        for (int64_t node = 0; node < g->n_nodes; node++)
            rows[2 * g->n_pairs + node] = cols[2 * g->n_pairs + node] = node;
        ok = is_ok(weft_csr_host_from_coo(out, g->n_nodes, g->n_nodes, n, rows, cols, NULL,
                                          WEFT_CSR(.offset_dtype = WEFT_I32)));
    }
    free(rows);
    free(cols);
    if (ok)
        set_values(out);
    return ok;
}
