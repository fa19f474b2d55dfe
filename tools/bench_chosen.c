// SPDX-License-Identifier: Apache-2.0
// Searches the lists for a case that --only chooses.
#include "bench_chosen.h"

#include "bench_axis_cases.h"
#include "bench_elementwise_cases.h"
#include "bench_matmul_cases.h"
#include "bench_operand.h"
#include "bench_sparse.h"
#include "bench_sparse_cases.h"
#include "bench_spmm.h"
#include "bench_sweep.h"

static bool chooses_spmm(const bench_choice *choice, const bench_sets *sets)
{
    for (size_t i = 0; i < sets->count; i++)
        if (bench_chooses_set(choice, &sets->items[i]))
            return true;
    return false;
}

static bool chooses_matmul(const bench_choice *choice)
{
    bench_matmul_spec specs[BENCH_MATMUL_CASES];
    const size_t count = bench_matmul_list(specs, choice->quick);
    for (size_t i = 0; i < count; i++)
        if (bench_chooses(choice, specs[i].name))
            return true;
    return bench_chooses(choice, BENCH_SWEEP_NAME);
}

// In lists that must be made: *found if one is chosen; false without memory.
static bool find_sparse(bool *found, const bench_choice *choice, unsigned sets, uint64_t bytes,
                        complaint *why)
{
    bench_sparse_specs specs;
    if (!bench_sparse_list(&specs, sets, choice->quick, bytes / 2, why))
        return false;
    for (size_t i = 0; i < specs.count; i++)
        *found = *found || bench_chooses(choice, specs.items[i].name);
    bench_sparse_specs_free(&specs);
    return true;
}

static bool find_axis(bool *found, const bench_choice *choice, unsigned sets, uint64_t bytes,
                      complaint *why)
{
    bench_axis_specs specs;
    if (!bench_axis_list(&specs, sets, choice->quick, bytes, why))
        return false;
    for (size_t i = 0; i < specs.count; i++)
        *found = *found || bench_chooses(choice, specs.items[i].name);
    bench_axis_specs_free(&specs);
    return true;
}

static bool find_elementwise(bool *found, const bench_choice *choice, uint64_t bytes,
                             complaint *why)
{
    bench_elementwise_specs specs;
    if (!bench_elementwise_list(&specs, choice->quick, bytes, why))
        return false;
    for (size_t i = 0; i < specs.count; i++)
        *found = *found || bench_chooses(choice, specs.items[i].name);
    bench_elementwise_specs_free(&specs);
    return true;
}

bool bench_chooses_any(const bench_choice *choice, const bench_lists *lists,
                       const weft_limits *device, complaint *why)
{
    if (choice->only == NULL)
        return true;
    const uint64_t bytes = bench_array_bytes(device);
    bool found = chooses_spmm(choice, lists->spmm) || (lists->has_matmul && chooses_matmul(choice));
    if (!find_sparse(&found, choice, lists->sparse, bytes, why) ||
        !find_axis(&found, choice, lists->axis, bytes, why) ||
        (lists->has_elementwise && !find_elementwise(&found, choice, bytes, why)))
        return false;
    return found || complain(why, "none of the cases has '%s' in its name", choice->only);
}
