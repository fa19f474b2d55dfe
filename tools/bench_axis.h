// SPDX-License-Identifier: Apache-2.0
// Times reductions, softmax and normalisation, and prints what they came to.
#ifndef WEFT_TOOLS_BENCH_AXIS_H
#define WEFT_TOOLS_BENCH_AXIS_H

#include "bench.h"
#include "bench_axis_cases.h"
#include "bench_rows.h"

// Measures the chosen cases of the sets (bits of bench_axis_cases.h), reductions against reading,
// what writes as much as it reads against copying. Notes on standard error name what is left out: a
// data type that the device has not, an array too large for it.
bool bench_axis_run(bench_rows *out, weft_context *ctx, const bench_limits *limits, unsigned sets,
                    const bench_choice *choice, complaint *why);

// The table, and the lines about the worst of it. Nothing where there is no row.
void bench_axis_print(const bench_rows *rows, FILE *out);

#endif
