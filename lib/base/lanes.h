// SPDX-License-Identifier: Apache-2.0
// The first question of every plan.
#ifndef WEFT_LIB_LANES_H
#define WEFT_LIB_LANES_H

#include <weft/limits.h>

#include "base/why.h"

// Whether lanes are elements of an item's vectors, or items.
bool weft_lanes_are_vectors(const weft_limits *limits, const weft_why *why);

#endif
