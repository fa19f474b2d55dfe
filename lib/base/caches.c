// SPDX-License-Identifier: Apache-2.0
// Cache sizes, known or usual.
#include "base/caches.h"

enum { USUAL_L1_BYTES = 1 << 15, USUAL_L2_BYTES = 1 << 20 };

weft_caches weft_caches_of(const weft_limits *limits)
{
    return (weft_caches){
        .l1_bytes = limits->l1_bytes > 0 ? (int64_t)limits->l1_bytes : USUAL_L1_BYTES,
        .l2_bytes = limits->l2_bytes > 0 ? (int64_t)limits->l2_bytes : USUAL_L2_BYTES,
    };
}
