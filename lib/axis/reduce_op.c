// SPDX-License-Identifier: Apache-2.0
// The table of reductions.
#include "axis/reduce_op.h"

#include <string.h>

#define FACTS(name, word, result, n_numbers, needs_elements, of_none)                              \
    {                                                                                              \
        name, "OP_" word, WEFT_RESULT_##result, n_numbers, needs_elements, of_none                 \
    }

static const weft_reduction_facts facts[] = {
    [WEFT_SUM] = FACTS("sum", "SUM", WIDE, 2, false, WEFT_SUM),
    [WEFT_PROD] = FACTS("prod", "PROD", WIDE, 1, false, WEFT_PROD),
    [WEFT_MEAN] = FACTS("mean", "MEAN", FLOAT, 2, false, WEFT_MEAN),
    [WEFT_MIN] = FACTS("min", "MIN", SAME, 1, true, WEFT_MIN),
    [WEFT_MAX] = FACTS("max", "MAX", SAME, 1, true, WEFT_MAX),
    [WEFT_ARGMIN] = FACTS("argmin", "ARGMIN", PLACE, 2, true, WEFT_ARGMIN),
    [WEFT_ARGMAX] = FACTS("argmax", "ARGMAX", PLACE, 2, true, WEFT_ARGMAX),
    [WEFT_ANY] = FACTS("any", "ANY", TRUTH, 1, false, WEFT_SUM),
    [WEFT_ALL] = FACTS("all", "ALL", TRUTH, 1, false, WEFT_PROD),
    [WEFT_NORM1] = FACTS("norm1", "NORM1", FLOAT, 2, false, WEFT_NORM1),
    [WEFT_NORM2] = FACTS("norm2", "NORM2", FLOAT, 3, false, WEFT_NORM2),
    [WEFT_NORM_INF] = FACTS("norm_inf", "NORM_INF", FLOAT, 1, false, WEFT_SUM),
    [WEFT_VAR] = FACTS("var", "VAR", FLOAT, 6, false, WEFT_VAR),
    [WEFT_STD] = FACTS("std", "STD", FLOAT, 6, false, WEFT_STD),
    [WEFT_LOGSUMEXP] = FACTS("logsumexp", "LOGSUMEXP", FLOAT, 3, false, WEFT_LOGSUMEXP),
};

enum { N_REDUCTIONS = sizeof(facts) / sizeof(facts[0]) };

const weft_reduction_facts *weft_reduction_facts_of(weft_reduction op)
{
    return (int)op >= 0 && (int)op < N_REDUCTIONS ? &facts[op] : NULL;
}

const char *weft_reduction_name(weft_reduction op)
{
    const weft_reduction_facts *found = weft_reduction_facts_of(op);
    return found ? found->name : NULL;
}

bool weft_reduction_find(const char *name, weft_reduction *op)
{
    for (int i = 0; name && i < N_REDUCTIONS; i++)
        if (strcmp(facts[i].name, name) == 0) {
            *op = (weft_reduction)i;
            return true;
        }
    return false;
}
