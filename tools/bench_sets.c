// SPDX-License-Identifier: Apache-2.0
// The list of SpMM cases.
#include "bench_sets.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"
#include "operand.h"

enum { SEED = 1, GRAPH_NODES = 32768, GRAPH_DEGREE = 8 };

static const double EVEN = 0.1;

// The new set, zeroed; NULL where memory ran out. Valid until the next one is added.
static bench_set *add_set(bench_sets *sets, int64_t n, weft_dtype dtype, complaint *why)
{
    if (sets->count == sets->room) {
        const size_t room = 2 * sets->room + 16;
        bench_set *items = realloc(sets->items, room * sizeof(*items));
        if (items == NULL) {
            complaint_keep(why, "no memory for %zu sets of cases", room);
            return NULL;
        }
        sets->items = items;
        sets->room = room;
    }
    bench_set *set = &sets->items[sets->count++];
    *set = (bench_set){.n = n, .dtype = dtype};
    return set;
}

// "-n128", and whatever differs from the defaults.
static void add_suffix(const bench_set *set, const char *end, char *name, size_t size)
{
    const size_t length = strlen(name);
    snprintf(name + length, size - length, "-n%" PRId64 "%s%s%s%s", set->n, end,
             set->dtype == WEFT_F32 ? "" : "-",
             set->dtype == WEFT_F32 ? "" : weft_dtype_name(set->dtype),
             set->transpose_a ? "-transposed" : "");
}

static void add_layer(bench_set *set, const char *name, const char *end,
                      const generate_layer *layer)
{
    bench_matrix *matrix = &set->matrices[set->n_matrices++];
    *matrix = (bench_matrix){.source = BENCH_LAYER, .layer = *layer};
    snprintf(matrix->name, sizeof(matrix->name), "%s", name);
    add_suffix(set, end, matrix->name, sizeof(matrix->name));
}

static bool add_pruned(bench_sets *sets, const generate_layer *size, int percent, int64_t n,
                       const double *covs, size_t n_covs, complaint *why)
{
    bench_set *set = add_set(sets, n, size->dtype, why);
    if (set == NULL)
        return false;
    generate_layer layer = *size;
    layer.nnz = layer.m * layer.k * (100 - percent) / 100;
    char name[64];
    snprintf(name, sizeof(name), "pruned-%" PRId64 "x%" PRId64 "-s%d", layer.m, layer.k, percent);
    for (size_t i = 0; i < n_covs; i++) {
        if (covs[i] > 0.99 * generate_layer_max_cov(&layer))
            continue;
        char end[16];
        snprintf(end, sizeof(end), "-v%g", covs[i]);
        layer.cov = covs[i];
        add_layer(set, name, end, &layer);
    }
    return true;
}

// One row with every column among short ones: a quarter of all entries.
static bool add_full_row(bench_sets *sets, complaint *why)
{
    generate_layer layer = {
        .m = 8192, .k = 65536, .nnz = INT64_C(4) * 65536, .cov = EVEN, .seed = SEED};
    bench_set *set = add_set(sets, 128, WEFT_F32, why);
    if (set == NULL)
        return false;
    add_layer(set, "full-row-8192x65536", "-even", &layer);
    layer.has_full = true;
    add_layer(set, "full-row-8192x65536", "", &layer);
    return true;
}

static bool add_graph(bench_sets *sets, complaint *why)
{
    const generate_graph graph = {.n_nodes = GRAPH_NODES, .degree = GRAPH_DEGREE, .seed = SEED};
    const generate_layer even = {.m = GRAPH_NODES,
                                 .k = GRAPH_NODES,
                                 .nnz = generate_graph_nnz(&graph),
                                 .cov = EVEN,
                                 .seed = SEED};
    bench_set *set = add_set(sets, 128, WEFT_F32, why);
    if (set == NULL)
        return false;
    char name[32];
    snprintf(name, sizeof(name), "graph-%d", GRAPH_NODES);
    add_layer(set, name, "-even", &even);
    bench_matrix *matrix = &set->matrices[set->n_matrices++];
    *matrix = (bench_matrix){.source = BENCH_GRAPH, .graph = graph};
    snprintf(matrix->name, sizeof(matrix->name), "%s", name);
    add_suffix(set, "", matrix->name, sizeof(matrix->name));
    return true;
}

static bool add_generated(bench_sets *sets, complaint *why)
{
    static const double covs[] = {0.1, 0.5, 2};
    static const int all_percents[] = {50, 70, 80, 90, 95, 98};
    static const int few_percents[] = {70, 90};
    static const int64_t widths[] = {512, 2048};
    static const weft_dtype dtypes[] = {WEFT_F64, WEFT_F16, WEFT_BF16};
    generate_layer size = {.m = 2048, .dtype = WEFT_F32, .seed = SEED};
    for (size_t i = 0; i < 2; i++) {
        size.k = widths[i];
        for (size_t j = 0; j < 6; j++)
            if (!add_pruned(sets, &size, all_percents[j], 128, covs, 3, why))
                return false;
        for (int64_t n = 32; n <= 256; n += 224)
            for (size_t j = 0; j < 2; j++)
                if (!add_pruned(sets, &size, few_percents[j], n, covs, 3, why))
                    return false;
    }
    for (size_t i = 0; i < 3; i++) {
        size.dtype = dtypes[i];
        if (!add_pruned(sets, &size, 90, 128, &covs[1], 1, why))
            return false;
    }
    return true;
}

static bool add_transposed(bench_sets *sets, int64_t n, complaint *why)
{
    const generate_layer layer = {
        .m = 2048, .k = 2048, .nnz = 2048 * 2048 / 10, .cov = 0.5, .seed = SEED};
    bench_set *set = add_set(sets, n, WEFT_F32, why);
    if (set == NULL)
        return false;
    set->transpose_a = true;
    add_layer(set, "pruned-2048x2048-s90", "-v0.5", &layer);
    return true;
}

// Few columns, or few rows: little to share between cores.
static bool add_narrow(bench_sets *sets, complaint *why)
{
    static const struct {
        int64_t n, m, k, nnz;
        const char *zeros; // in percent
    } all[] = {
        {1, 4096, 4096, 335544, "98"},      {1, 2048, 2048, 419430, "90"},
        {1, 60000, 60000, 720000, "99.98"}, {2, 60000, 60000, 720000, "99.98"},
        {4, 60000, 60000, 720000, "99.98"}, {4, 4096, 4096, 335544, "98"},
        {8, 768, 768, 117964, "80"},        {32, 128, 128, 1638, "90"},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const generate_layer layer = {
            .m = all[i].m, .k = all[i].k, .nnz = all[i].nnz, .cov = EVEN, .seed = SEED};
        bench_set *set = add_set(sets, all[i].n, WEFT_F32, why);
        if (set == NULL)
            return false;
        char name[64];
        snprintf(name, sizeof(name), "narrow-%" PRId64 "x%" PRId64 "-s%s", layer.m, layer.k,
                 all[i].zeros);
        set->is_brief = true;
        add_layer(set, name, "", &layer);
    }
    return true;
}

static bool add_quick(bench_sets *sets, complaint *why)
{
    static const double covs[] = {0.1, 2};
    const generate_layer narrow = {.m = 2048, .k = 512, .dtype = WEFT_F32, .seed = SEED};
    const generate_layer wide = {.m = 2048, .k = 2048, .dtype = WEFT_F32, .seed = SEED};
    return add_pruned(sets, &narrow, 70, 128, covs, 1, why) &&
           add_pruned(sets, &wide, 90, 128, covs, 2, why) && add_full_row(sets, why);
}

// "bottleneck_3-n128" of "bottleneck_3.smtx"; what is in a folder of the folder is "0.9_...".
static bool name_file(bench_set *set, char *name, size_t size, const char *below)
{
    const int length = (int)(strrchr(below, '.') - below);
    if (length + 16 > (int)size)
        return false;
    snprintf(name, size, "%.*s", length, below);
    for (char *slash = strchr(name, '/'); slash; slash = strchr(slash, '/'))
        *slash = '_';
    add_suffix(set, "", name, size);
    return true;
}

static bool add_file(bench_sets *sets, const char *folder, const char *below, complaint *why)
{
    bench_set *set = add_set(sets, 128, WEFT_F32, why);
    if (set == NULL)
        return false;
    bench_matrix *matrix = &set->matrices[set->n_matrices++];
    *matrix = (bench_matrix){.source = BENCH_FILE};
    const size_t length =
        (size_t)snprintf(matrix->path, sizeof(matrix->path), "%s/%s", folder, below);
    return (length < sizeof(matrix->path) &&
            name_file(set, matrix->name, sizeof(matrix->name), below)) ||
           complain(why, "%s/%s: this path is too long", folder, below);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool add_files(bench_sets *sets, const char *folder, const char *below, complaint *why);

// A file or a folder, by its name in folder/below.
static bool add_entry(bench_sets *sets, const char *folder, const char *below, const char *name,
                      complaint *why)
{
    char its[1024], path[2048];
    const int length = snprintf(its, sizeof(its), "%s%s%s", below, *below ? "/" : "", name);
    snprintf(path, sizeof(path), "%s/%s", folder, its);
    if (length >= (int)sizeof(its))
        return complain(why, "%s: this path is too long", path);
    if (is_folder(path))
        return add_files(sets, folder, its, why);
    return !format_is_sparse(name) || add_file(sets, folder, its, why);
}

// All of folder/below, by name.
static bool add_files(bench_sets *sets, const char *folder, const char *below, complaint *why)
{
    char path[2048];
    struct dirent **entries;
    snprintf(path, sizeof(path), "%s%s%s", folder, *below ? "/" : "", below);
    const int n = scandir(path, &entries, is_visible, alphasort);
    if (n < 0)
        return complain(why, "%s: %s", path, strerror(errno));
    bool ok = true;
    for (int i = 0; i < n; i++) {
        ok = ok && add_entry(sets, folder, below, entries[i]->d_name, why);
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static bool add_folder(bench_sets *sets, const char *folder, complaint *why)
{
    const size_t before = sets->count;
    return add_files(sets, folder, "", why) &&
           (sets->count > before || complain(why, "%s: has no .mtx, .smtx or .csr file", folder));
}

bool bench_sets_list(bench_sets *out, bool quick, const char *folder, complaint *why)
{
    *out = (bench_sets){0};
    bool ok = quick ? add_quick(out, why)
                    : add_generated(out, why) && add_transposed(out, 128, why) &&
                          add_transposed(out, 4, why) && add_transposed(out, 1, why) &&
                          add_full_row(out, why) && add_graph(out, why) && add_narrow(out, why);
    ok = ok && (folder == NULL || add_folder(out, folder, why));
    if (!ok)
        bench_sets_free(out);
    return ok;
}

void bench_sets_free(bench_sets *sets)
{
    free(sets->items);
    *sets = (bench_sets){0};
}

bool bench_matrix_make(weft_csr_host *out, const bench_matrix *matrix, weft_dtype dtype,
                       complaint *why)
{
    generate_layer layer = matrix->layer;
    generate_graph graph = matrix->graph;
    layer.dtype = graph.dtype = dtype;
    switch (matrix->source) {
    case BENCH_LAYER:
        return generate_layer_csr(out, &layer, why);
    case BENCH_GRAPH:
        return generate_graph_csr(out, &graph, why);
    default:
        return operand_read_sparse(out, matrix->path, OPERAND(.dtype = dtype, .seed = SEED), why);
    }
}

static bool save_array(weft_dtype dtype, int64_t count, const void *data, const char *folder,
                       const char *name, const char *what, complaint *why)
{
    char path[1280];
    const int length = snprintf(path, sizeof(path), "%s/%s.%s.npy", folder, name, what);
    if ((size_t)length >= sizeof(path))
        return complain(why, "%s: this path is too long", folder);
    return npy_write(path, dtype, 1, &count, data, why);
}

bool bench_pattern_save(const weft_csr_host *matrix, const char *folder, const char *name,
                        complaint *why)
{
    return folder == NULL || (save_array(matrix->offset_dtype, matrix->n_rows + 1, matrix->offsets,
                                         folder, name, "offsets", why) &&
                              save_array(matrix->index_dtype, matrix->nnz, matrix->indices, folder,
                                         name, "indices", why));
}
