// SPDX-License-Identifier: Apache-2.0
// What a launch may have of groups.
#ifndef WEFT_LIB_GROUPS_H
#define WEFT_LIB_GROUPS_H

// Along y and along z: there NVIDIA's grids end. Along x they go on to 2^31 - 1.
enum { WEFT_MOST_GROUPS = 65535 };

#endif
