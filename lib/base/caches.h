// SPDX-License-Identifier: Apache-2.0
// The cache sizes that plans use.
#ifndef WEFT_LIB_CACHES_H
#define WEFT_LIB_CACHES_H

#include <weft/limits.h>

// Caches of one core; usual sizes if the limits have none.
typedef struct weft_caches {
    int64_t l1_bytes, l2_bytes;
} weft_caches;

weft_caches weft_caches_of(const weft_limits *limits);

#endif
