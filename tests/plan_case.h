// SPDX-License-Identifier: Apache-2.0
// What tests of plans share: limits and extents to choose tilings for. Include after <cmocka.h>.
#ifndef WEFT_TESTS_PLAN_CASE_H
#define WEFT_TESTS_PLAN_CASE_H

#include <weft/limits.h>

#include "random.h"

enum { PLAN_MOST_EXTENT = INT32_MAX - 4096 }; // that operations take

// 0 to PLAN_MOST_EXTENT, every magnitude equally likely, and a third below 12.
int64_t plan_extent(random_state *random);

// 1 to 2^most, in powers of two.
int64_t plan_power(random_state *random, int most);

// Fails the test unless what is chosen for a problem, drawn from `random`, is sound.
typedef void plan_check(const weft_limits *limits, random_state *random);

// So many problems for every known device.
void plan_check_profiles(int n_problems, plan_check *check);

// A built kernel may take fewer items than the device: then the plan is made again with its limit.
void plan_check_lower_limits(plan_check *check);

// Any limits that pass their own check, sensible or not, with so much local memory at least.
void plan_check_random_limits(int64_t least_local_bytes, plan_check *check);

#endif
