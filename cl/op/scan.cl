// SPDX-License-Identifier: Apache-2.0
// Running sums of whole numbers: out[i] = in[0] + ... + in[i - 1].
//
// A group has `span` adjacent numbers, a multiple of ITEMS x RUN.
//
//   scan_sums   each group's sum, where there are several groups
//   scan_apply  each group adds up what the sums before its own say, and goes through its numbers
//               ITEMS x RUN at a time, RUN adjacent ones for each item
//
// out may be in: an item reads its numbers before it writes them, and no others.
#include "base/parameters.clh"
#include "base/types.clh"

#include "op/scan.clh"
#include "op/scan_parameters.h"

#ifndef RUN // adjacent numbers of an item
#define RUN 8
#endif

kernel GROUP void scan_sums(SCAN_SUMS_PARAMETERS(DECLARE, COMMA))
{
    const int item = get_local_id(0);
    const long group = get_group_id(0);
    local NUMBER nodes[2 * ITEMS];
    const long stop = min((group + 1) * span, n);
    NUMBER sum = 0, total;
    for (long i = group * span + item; i < stop; i += ITEMS)
        sum += in[in_start + i];
    sum_before(sum, item, nodes, &total);
    if (item == 0)
        sums[sums_start + group] = total;
}

// What the groups before this one have. All items pass.
INLINE NUMBER sum_of_groups(global const NUMBER *sums, long group, int item, local NUMBER *nodes)
{
    NUMBER sum = 0, total;
    for (long i = item; i < group; i += ITEMS)
        sum += sums[i];
    sum_before(sum, item, nodes, &total);
    return total;
}

// The RUN numbers from i on, out of n. All items pass.
INLINE NUMBER scan_run(NUMBER base, long i, long n, int item, global const NUMBER *in,
                       global NUMBER *out, local NUMBER *nodes)
{
    NUMBER x[RUN], sum = 0, total;
    for (int j = 0; j < RUN; ++j) {
        x[j] = i + j < n ? in[i + j] : 0;
        sum += x[j];
    }
    NUMBER before = base + sum_before(sum, item, nodes, &total);
    for (int j = 0; j < RUN; ++j) {
        if (i + j < n)
            out[i + j] = before;
        before += x[j];
    }
    return base + total;
}

kernel GROUP void scan_apply(SCAN_APPLY_PARAMETERS(DECLARE, COMMA))
{
    const int item = get_local_id(0);
    const long group = get_group_id(0), n_groups = get_num_groups(0);
    local NUMBER nodes[2 * ITEMS];
    const long stop = min((group + 1) * span, n);
    NUMBER base = group > 0 ? sum_of_groups(sums + sums_start, group, item, nodes) : 0;
    for (long i = group * span; i < stop; i += ITEMS * RUN)
        base = scan_run(base, i + item * RUN, n, item, in + in_start, out + out_start, nodes);
    if (has_total && item == 0 && group == n_groups - 1)
        out[out_start + n] = base;
}
