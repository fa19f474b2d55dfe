// SPDX-License-Identifier: Apache-2.0
// The caches that plans reckon with.
#ifndef WEFT_LIB_CACHES_H
#define WEFT_LIB_CACHES_H

#include <weft/limits.h>

// What lies in front of memory, of one core: what is usual, where the limits do not say.
typedef struct weft_caches {
    int64_t l1_bytes, l2_bytes;
} weft_caches;

weft_caches weft_caches_of(const weft_limits *limits);

#endif
