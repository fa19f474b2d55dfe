// SPDX-License-Identifier: Apache-2.0
// Times elementwise operations, and prints the results.
#ifndef WEFT_TOOLS_BENCH_ELEMENTWISE_H
#define WEFT_TOOLS_BENCH_ELEMENTWISE_H

#include "bench.h"
#include "bench_rows.h"

// Measures the chosen cases of bench_elementwise_cases.h against copying: each array read once, and
// the result written once. Notes on standard error name omitted cases: a data type that the device
// lacks, arrays too large for it.
bool bench_elementwise_run(bench_rows *out, weft_context *ctx, const bench_limits *limits,
                           const bench_choice *choice, complaint *why);

// The table, and the lines about the worst of it. Prints nothing if there is no row.
void bench_elementwise_print(const bench_rows *rows, FILE *out);

#endif
