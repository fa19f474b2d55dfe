// SPDX-License-Identifier: Apache-2.0
// Times sparse layers, products of sparse matrices, sampled products, sparse softmax and sparse
// attention, and prints the results.
#ifndef WEFT_TOOLS_BENCH_SPARSE_H
#define WEFT_TOOLS_BENCH_SPARSE_H

#include "bench.h"
#include "bench_rows.h"
#include "bench_sparse_cases.h"

// Measures the chosen cases of the sets (bits of bench_sparse_cases.h): layers, sampled products
// and attention against multiply-adds, softmax and products of sparse matrices against copying.
// Notes on standard error name omitted cases: a data type that the device lacks, operands too large
// for it.
bool bench_sparse_run(bench_rows *out, weft_context *ctx, const bench_limits *limits, unsigned sets,
                      const bench_choice *choice, complaint *why);

// The table, and the lines about the worst of it. Prints nothing if there is no row.
void bench_sparse_print(const bench_rows *rows, FILE *out);

#endif
