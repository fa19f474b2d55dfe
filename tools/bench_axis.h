// SPDX-License-Identifier: Apache-2.0
// Times reductions, softmax and normalisation, and prints the results.
#ifndef WEFT_TOOLS_BENCH_AXIS_H
#define WEFT_TOOLS_BENCH_AXIS_H

#include "bench.h"
#include "bench_axis_cases.h"
#include "bench_rows.h"

// Measures the chosen cases of the sets (bits of bench_axis_cases.h): reductions against reading,
// the others, which write as much as they read, against copying. Notes on standard error name
// omitted cases: a data type that the device lacks, an array too large for it.
bool bench_axis_run(bench_rows *out, weft_context *ctx, const bench_limits *limits, unsigned sets,
                    const bench_choice *choice, complaint *why);

// The table, and the lines about the worst of it. Prints nothing if there is no row.
void bench_axis_print(const bench_rows *rows, FILE *out);

#endif
