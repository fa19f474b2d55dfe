// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan_case.h"

enum { N_LOWER = 300, N_LIMITS = 100000, N_PROBLEMS = 10, MOST_ITEMS = 5000 };

int64_t plan_extent(random_state *random)
{
    const int64_t any = random_extent(random);
    return random_below(random, 50) == 0  ? 0
           : random_below(random, 3) == 0 ? any % 12
           : any > PLAN_MOST_EXTENT       ? any % PLAN_MOST_EXTENT
                                          : any;
}

int64_t plan_power(random_state *random, int most)
{
    return INT64_C(1) << random_below(random, most + 1);
}

void plan_check_profiles(int n_problems, plan_check *check)
{
    assert_true(weft_profile_count() > 0);
    for (size_t i = 0; i < weft_profile_count(); i++) {
        random_state random = {i};
        for (int j = 0; j < random_cases(n_problems); j++)
            check(weft_profile_at(i), &random);
    }
}

void plan_check_lower_limits(plan_check *check)
{
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (size_t most = 1; most <= N_LOWER; most++) {
            random_state random = {most};
            weft_limits limits = *weft_profile_at(i);
            limits.max_items = most < limits.max_items ? most : limits.max_items;
            while (limits.max_block > 1 && (size_t)limits.max_block > most)
                limits.max_block /= 2;
            for (int j = 0; j < 1 + random_cases(1000) / 50; j++)
                check(&limits, &random);
        }
}

static weft_limits random_limits(random_state *random, size_t profile, int64_t least_local_bytes)
{
    weft_limits limits = *weft_profile_at(profile);
    limits.warp = (int)plan_power(random, 8);
    limits.vector_width = (int)plan_power(random, 4);
    limits.vectors = (int)plan_power(random, 6);
    limits.max_block = (int)plan_power(random, 12);
    limits.max_items_y = (int)plan_power(random, 10);
    limits.max_blocks = (int)random_between(random, 1, INT32_MAX);
    limits.max_items = (size_t)random_between(random, 1, MOST_ITEMS);
    limits.max_items_along[0] = (size_t)random_between(random, 1, MOST_ITEMS);
    limits.max_items_along[1] = (size_t)random_between(random, 1, MOST_ITEMS);
    limits.local_bytes =
        (size_t)(least_local_bytes + (random_below(random, 3) ? plan_power(random, 20) : 0));
    limits.load_bytes = (int)plan_power(random, 7);
    limits.compute_units = (int)random_between(random, 1, INT32_MAX);
    limits.l1_bytes = random_below(random, 3) ? (uint64_t)plan_power(random, 40) : 0;
    limits.l2_bytes = random_below(random, 3) ? (uint64_t)plan_power(random, 40) : 0;
    limits.has_subgroups = random_below(random, 2);
    limits.max_iterations = (int)(random_below(random, 2) * random_between(random, 1, INT32_MAX));
    return limits;
}

void plan_check_random_limits(int64_t least_local_bytes, plan_check *check)
{
    random_state random = {13};
    int n_sound = 0;
    for (int i = 0; i < random_cases(N_LIMITS); i++) {
        const size_t profile = (size_t)i % weft_profile_count();
        const weft_limits limits = random_limits(&random, profile, least_local_bytes);
        if (weft_limits_check(&limits) != WEFT_OK)
            continue;
        n_sound++;
        for (int j = 0; j < N_PROBLEMS; j++)
            check(&limits, &random);
    }
    assert_true(n_sound > random_cases(N_LIMITS) / 20);
}
