// SPDX-License-Identifier: Apache-2.0
// The dependency graph of Debian packages, read from dpkg's database or a Packages file.
//
// An edge goes from a package to each of its dependencies (Depends and Pre-Depends). Of
// alternatives `a | b` the first that exists counts; a virtual package is replaced by every package
// that provides it. Versions and architectures are ignored: a package is its name, and of several
// with one name the first counts. In dpkg's database only installed packages count.
#ifndef DEBIAN_PACKAGES_H
#define DEBIAN_PACKAGES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct package_edge {
    int64_t from, to;
} package_edge;

typedef struct package_graph {
    int64_t n_packages, n_edges;
    const char **names;  // sorted; they point into `text`
    package_edge *edges; // by `from`; no duplicates, and no loops to the package itself
    char *text;          // the file that was read
} package_graph;

// Reads to the end of the file. On failure prints why on standard error and leaves *out empty.
bool package_graph_read(package_graph *out, FILE *file, const char *file_name);

// The package of that name, or -1.
int64_t package_graph_find(const package_graph *graph, const char *name);

// NULL and an empty graph are fine.
void package_graph_free(package_graph *graph);

#endif
