// SPDX-License-Identifier: Apache-2.0
// Lanes as elements of vectors, or as items.
#include "base/lanes.h"
#include "base/refuse.h"

bool weft_lanes_are_vectors(const weft_limits *limits, const weft_why *why)
{
    if (limits->vector_width == 1)
        return refuse(why, "lanes as elements of vectors", "the device's lanes are items");
    refuse(why, "lanes as items", "an item of the device has vectors of %d lanes",
           limits->vector_width);
    return true;
}
