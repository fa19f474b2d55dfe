// SPDX-License-Identifier: Apache-2.0
// Reads packages in two passes over one text in memory: names first, then their dependencies.
#include <stdlib.h>
#include <string.h>

#include "debian_packages.h"

enum { FIELD_NAME, FIELD_STATUS, FIELD_PROVIDES, FIELD_PRE_DEPENDS, FIELD_DEPENDS, N_FIELDS };

static const char *const field_names[N_FIELDS] = {
    "Package:", "Status:", "Provides:", "Pre-Depends:", "Depends:",
};

// Fields of a package: the text after each colon, or NULL.
typedef struct stanza {
    char *field[N_FIELDS];
} stanza;

// `name` is the package itself, or a virtual one that it provides.
typedef struct offer {
    const char *name;
    int64_t package;
} offer;

typedef struct reader {
    package_graph graph;
    stanza *stanzas; // after sort_stanzas(): one a package, in the order of the graph
    int64_t n_stanzas, stanza_room;
    offer *offers; // after find_offers(): by name, then package
    int64_t n_offers, offer_room;
    int64_t edge_room;
} reader;

// Room for one more of `count` elements of `size` bytes; NULL if there is no memory.
static void *grown(void *array, int64_t count, int64_t *room, size_t size)
{
    if (count < *room)
        return array;
    const int64_t wanted = *room > 0 ? 2 * *room : 64;
    void *larger = realloc(array, (size_t)wanted * size);
    if (larger != NULL)
        *room = wanted;
    return larger;
}

static char *read_all(FILE *file)
{
    size_t length = 0, room = 1 << 20;
    char *text = malloc(room);
    while (text != NULL) {
        length += fread(text + length, 1, room - length - 1, file);
        if (length < room - 1)
            break;
        char *larger = realloc(text, room *= 2);
        if (larger == NULL)
            free(text);
        text = larger;
    }
    if (text != NULL)
        text[length] = '\0';
    return text;
}

// Text.

static char *skip_blanks(char *text)
{
    return text + strspn(text, " \t");
}

// Ends the line at *cursor and moves to the next; NULL after the last.
static char *next_line(char **cursor)
{
    char *line = *cursor;
    if (*line == '\0')
        return NULL;
    char *end = line + strcspn(line, "\n");
    *cursor = *end == '\n' ? end + 1 : end;
    *end = '\0';
    return line;
}

// The next item of a list, without the blanks around it; moves *cursor after the separator.
static char *next_item(char **cursor, char separator)
{
    if (*cursor == NULL)
        return NULL;
    char *item = skip_blanks(*cursor);
    char *end = strchr(item, separator);
    if (end != NULL)
        *end = '\0';
    *cursor = end != NULL ? end + 1 : NULL;
    return item;
}

// "libc6:any (>= 2.34)" becomes "libc6".
static char *bare_name(char *item)
{
    item[strcspn(item, " \t:(")] = '\0';
    return item;
}

// First pass: stanzas.

static bool is_kept(const stanza *s)
{
    const char *status = s->field[FIELD_STATUS];
    return s->field[FIELD_NAME] != NULL && (status == NULL || strstr(status, " installed") != NULL);
}

static void note_field(stanza *s, char *line)
{
    for (int f = 0; f < N_FIELDS; f++) {
        const size_t length = strlen(field_names[f]);
        if (strncmp(line, field_names[f], length) == 0)
            s->field[f] = skip_blanks(line + length);
    }
}

static bool end_stanza(reader *r, stanza *s)
{
    if (is_kept(s)) {
        stanza *room = grown(r->stanzas, r->n_stanzas, &r->stanza_room, sizeof(*room));
        if (room == NULL)
            return false;
        r->stanzas = room;
        bare_name(s->field[FIELD_NAME]);
        r->stanzas[r->n_stanzas++] = *s;
    }
    *s = (stanza){0};
    return true;
}

static bool find_stanzas(reader *r)
{
    stanza s = {0};
    char *cursor = r->graph.text, *line;
    while ((line = next_line(&cursor)) != NULL) {
        if (*line != '\0')
            note_field(&s, line);
        else if (!end_stanza(r, &s))
            return false;
    }
    return end_stanza(r, &s);
}

// By name; of the same name the earlier in the file.
static int compare_stanzas(const void *a, const void *b)
{
    const char *x = ((const stanza *)a)->field[FIELD_NAME];
    const char *y = ((const stanza *)b)->field[FIELD_NAME];
    const int by_name = strcmp(x, y);
    return by_name != 0 ? by_name : (x > y) - (x < y);
}

static bool sort_stanzas(reader *r)
{
    package_graph *g = &r->graph;
    g->names = malloc((size_t)(r->n_stanzas + 1) * sizeof(*g->names));
    if (g->names == NULL)
        return false;
    if (r->n_stanzas > 0)
        qsort(r->stanzas, (size_t)r->n_stanzas, sizeof(*r->stanzas), compare_stanzas);
    for (int64_t i = 0; i < r->n_stanzas; i++) {
        const char *name = r->stanzas[i].field[FIELD_NAME];
        if (g->n_packages > 0 && strcmp(name, g->names[g->n_packages - 1]) == 0)
            continue;
        r->stanzas[g->n_packages] = r->stanzas[i];
        g->names[g->n_packages++] = name;
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int64_t package_graph_find(const package_graph *graph, const char *name)
{
    if (graph->n_packages == 0)
        return -1;
    const char **found = bsearch(&name, graph->names, (size_t)graph->n_packages,
                                 sizeof(*graph->names), compare_names);
    return found != NULL ? found - graph->names : -1;
}

// Second pass: offers and dependencies.

static int compare_offer_names(const void *a, const void *b)
{
    return strcmp(((const offer *)a)->name, ((const offer *)b)->name);
}

static int compare_offers(const void *a, const void *b)
{
    const int64_t x = ((const offer *)a)->package, y = ((const offer *)b)->package;
    const int by_name = compare_offer_names(a, b);
    return by_name != 0 ? by_name : (x > y) - (x < y);
}

static bool add_offer(reader *r, const char *name, int64_t package)
{
    offer *room = grown(r->offers, r->n_offers, &r->offer_room, sizeof(*room));
    if (room == NULL)
        return false;
    r->offers = room;
    r->offers[r->n_offers++] = (offer){name, package};
    return true;
}

// A real package hides the virtual ones of its name.
static bool find_offers(reader *r)
{
    for (int64_t i = 0; i < r->graph.n_packages; i++) {
        if (!add_offer(r, r->graph.names[i], i))
            return false;
        char *cursor = r->stanzas[i].field[FIELD_PROVIDES], *item;
        while ((item = next_item(&cursor, ',')) != NULL)
            if (package_graph_find(&r->graph, bare_name(item)) < 0 && !add_offer(r, item, i))
                return false;
    }
    if (r->n_offers > 0)
        qsort(r->offers, (size_t)r->n_offers, sizeof(*r->offers), compare_offers);
    return true;
}

// The first of the offers of that name, or NULL.
static const offer *first_offer(const reader *r, const char *name)
{
    const offer wanted = {.name = name};
    const offer *found =
        bsearch(&wanted, r->offers, (size_t)r->n_offers, sizeof(*r->offers), compare_offer_names);
    while (found != NULL && found > r->offers && strcmp(found[-1].name, name) == 0)
        found--;
    return found;
}

// The edges of one package are few: `first` is where they begin.
static bool has_edge(const package_graph *g, int64_t first, int64_t to)
{
    for (int64_t e = first; e < g->n_edges; e++)
        if (g->edges[e].to == to)
            return true;
    return false;
}

static bool add_edge(reader *r, int64_t first, int64_t from, int64_t to)
{
    package_graph *g = &r->graph;
    if (from == to || has_edge(g, first, to))
        return true;
    package_edge *room = grown(g->edges, g->n_edges, &r->edge_room, sizeof(*room));
    if (room == NULL)
        return false;
    g->edges = room;
    g->edges[g->n_edges++] = (package_edge){from, to};
    return true;
}

// "a | b": edges to the first alternative that exists.
static bool add_dependency(reader *r, int64_t first, int64_t from, char *alternatives)
{
    char *item;
    const offer *found = NULL, *const end = r->offers + r->n_offers;
    while (found == NULL && (item = next_item(&alternatives, '|')) != NULL)
        found = first_offer(r, bare_name(item));
    if (found == NULL)
        return true;
    for (const offer *o = found; o < end && strcmp(o->name, found->name) == 0; o++)
        if (!add_edge(r, first, from, o->package))
            return false;
    return true;
}

static bool find_edges(reader *r)
{
    for (int64_t i = 0; i < r->graph.n_packages; i++) {
        const int64_t first = r->graph.n_edges;
        for (int f = FIELD_PRE_DEPENDS; f <= FIELD_DEPENDS; f++) {
            char *cursor = r->stanzas[i].field[f], *item;
            while ((item = next_item(&cursor, ',')) != NULL)
                if (!add_dependency(r, first, i, item))
                    return false;
        }
    }
    return true;
}

bool package_graph_read(package_graph *out, FILE *file, const char *file_name)
{
    reader r = {.graph.text = read_all(file)};
    const bool done = r.graph.text != NULL && find_stanzas(&r) && sort_stanzas(&r) &&
                      find_offers(&r) && find_edges(&r);
    free(r.stanzas);
    free(r.offers);
    const bool sound = done && !ferror(file) && r.graph.n_packages > 0;
    if (sound) {
        *out = r.graph;
    } else {
        package_graph_free(&r.graph);
        *out = (package_graph){0};
        fprintf(stderr, "%s: %s\n", file_name,
                !done          ? "no memory left"
                : ferror(file) ? "cannot be read"
                               : "no installed package in it");
    }
    return sound;
}

void package_graph_free(package_graph *graph)
{
    if (graph == NULL)
        return;
    free(graph->names);
    free(graph->edges);
    free(graph->text);
    *graph = (package_graph){0};
}
