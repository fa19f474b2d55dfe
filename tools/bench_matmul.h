// SPDX-License-Identifier: Apache-2.0
// Times dense products, and prints the results.
#ifndef WEFT_TOOLS_BENCH_MATMUL_H
#define WEFT_TOOLS_BENCH_MATMUL_H

#include "bench.h"
#include "bench_rows.h"

// Measures the chosen cases of bench_matmul_cases.h: against multiply-adds; against reading the
// larger factor, if that is most of the work; or against copying all operands. Notes on standard
// error name omitted cases: a data type that the device lacks, operands too large for it.
bool bench_matmul_run(bench_rows *out, weft_context *ctx, const bench_limits *limits,
                      const bench_choice *choice, complaint *why);

// The table, and the lines about the worst of it. Prints nothing if there is no row.
void bench_matmul_print(const bench_rows *rows, FILE *out);

#endif
