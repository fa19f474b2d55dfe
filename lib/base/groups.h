// SPDX-License-Identifier: Apache-2.0
// The number of groups of a launch.
#ifndef WEFT_LIB_GROUPS_H
#define WEFT_LIB_GROUPS_H

// The most along y and along z: NVIDIA's limit. Along x it is 2^31 - 1.
enum { WEFT_MOST_GROUPS = 65535 };

#endif
