// SPDX-License-Identifier: Apache-2.0
// out[..., i] = values[..., source[i]], bit by bit, for each matrix of a batch.
// Group (x, y) has ITEMS x run adjacent ones of matrix y, ITEMS at a time.
#include "base/types.clh"

#include "base/parameters.clh"
#include "convert/sparse_gather_parameters.h"
#include "op/scan.clh"
#include "operand/rows.clh"
#include "operand/stretches.clh"

#ifndef MOVED // as large as an element
#define MOVED uint
#endif

kernel GROUP void sparse_gather(GATHER_PARAMETERS(DECLARE, COMMA))
{
    const int item = get_local_id(0);
    const long group = get_group_id(0), batch = GROUP_ALONG_Y(1);
    const long first = group * ITEMS * run + item, stop = min((group + 1) * ITEMS * run, n);
    global const MOVED *const in = values + values_start + batch * values_batch;
    global MOVED *const to = out + out_start + batch * out_batch;
    for (long i = first; i < stop; i += ITEMS)
        to[i * out_stride] = in[source[source_start + i * source_stride] * (long)values_stride];
}
