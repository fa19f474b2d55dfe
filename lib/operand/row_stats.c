// SPDX-License-Identifier: Apache-2.0
// Lengths of the rows of a CSR: mean, spread, longest, empty. One sweep, by Welford's recurrence,
// which does not lose a small variance beside a large mean.
#include <weft/csr.h>

#include <math.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/element.h"
#include "operand/view.h"

weft_row_stats weft_row_stats_of(const void *offsets, weft_dtype offset_dtype, int64_t n_rows)
{
    weft_row_stats stats = {0};
    if (n_rows <= 0)
        return stats;

    const weft_dtype dtype = weft_dtype_or(offset_dtype, WEFT_I32);
    double mean = 0, squares = 0; // squares: of the differences from the mean so far
    int64_t begin = integer_at(offsets, dtype, 0);
    for (int64_t row = 0; row < n_rows; row++) {
        const int64_t end = integer_at(offsets, dtype, row + 1);
        const int64_t length = end - begin;
        begin = end;

        stats.nnz += length;
        stats.n_empty += length == 0;
        stats.max = max_i64(stats.max, length);
        const double difference = (double)length - mean;
        mean += difference / (double)(row + 1);
        squares += difference * ((double)length - mean);
    }

    stats.n_rows = n_rows;
    stats.mean = (double)stats.nnz / (double)n_rows;
    if (stats.nnz > 0)
        stats.cov = sqrt(squares / (double)n_rows) / stats.mean;
    return stats;
}
