// SPDX-License-Identifier: Apache-2.0
// A minimal kernel, compiled to query the largest group size: some devices claim more than any
// kernel gets. It never runs.
//
//   ITEMS  items of its groups, fixed as the operations' kernels fix theirs
#ifndef ITEMS
#define ITEMS 64
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void probe(global int *out)
{
    out[get_global_id(0)] = 0;
}
