// SPDX-License-Identifier: Apache-2.0
// The results of one timed operation, as JSON and as text: the same for every command.
#ifndef WEFT_TOOLS_REPORT_H
#define WEFT_TOOLS_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include <weft/tensor.h>

#include "timing.h"

// Start from report_new(): fields that are not set afterwards are omitted. Strings are borrowed
// until the report is printed.
typedef struct timed_report {
    const char *name;   // "case" in JSON: the name of a bench's case
    const char *op;     // "spmm"
    const char *device; // weft_limits.name
    weft_dtype dtype;
    bool is_product; // the sizes are m, k, n and nnz
    bool is_sampled; // and the product is taken at nnz places
    bool is_dense;   // or in full, `batch` times, and there is no nnz
    int64_t m, k, n, nnz, batch;
    int ndim; // above 0: the sizes are a shape
    int64_t shape[WEFT_MAX_NDIM];
    const char *plan;
    double setup_ms; // this and the rest: NaN where unknown
    timing time;
    double gflops, gbps;
    double limit; // the device's best gflops or gbps, in alternating runs: the median
    double share; // of the limit: the median of each run's share of the limit's next to it
    double error; // largest error as a multiple of its bound
} timed_report;

timed_report report_new(const char *op, const char *device, weft_dtype dtype);

// A new object; NULL where memory ran out. Numbers are finite: an infinite error is the largest
// double.
json_t *report_json(const timed_report *report);

void report_print(const timed_report *report, FILE *out);

// A string for JSON: bytes that are not UTF-8, as in some drivers' names, are replaced.
json_t *report_text(const char *text);

// A number for JSON: finite, and rounded to `digits` significant digits for the reader.
json_t *report_number(double value, int digits);

#endif
