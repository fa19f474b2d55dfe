// SPDX-License-Identifier: Apache-2.0
// Known devices, written down from public documents.
#include <weft/limits.h>

#include "text.h"

#define KIB(n) ((n)*UINT64_C(1024))
#define MIB(n) ((n)*UINT64_C(1048576))
#define GIB(n) ((n)*UINT64_C(1073741824))

static const weft_limits profiles[] = {
    // Table 1 of "NVIDIA H100 Tensor Core GPU Architecture": SXM5
    {.name = "nvidia-h100",
     .kind = WEFT_DEVICE_GPU,
     .warp = 32,
     .fold = 1,
     .vectors = 1,
     .max_block = 1024,
     .max_team = 1024,
     .max_blocks = 264,
     .max_items = 1024,
     .max_items_along = {1024, 1024, 64},
     .local_bytes = 49152,
     .max_alloc_bytes = GIB(20),
     .global_bytes = GIB(80),
     .compute_units = 132,
     .load_bytes = 16,
     .local_is_fast = true,
     .cache_bytes = MIB(50),
     .cache_line_bytes = 128,
     .has_f64 = true,
     .has_fma = true,
     .peak_gbps = 3350,
     .peak_gflops = 66900},
};

size_t weft_profile_count(void)
{
    return sizeof(profiles) / sizeof(profiles[0]);
}

const weft_limits *weft_profile_at(size_t i)
{
    return i < weft_profile_count() ? &profiles[i] : NULL;
}

const weft_limits *weft_profile_find(const char *text)
{
    for (size_t i = 0; text && i < weft_profile_count(); i++)
        if (text_contains(profiles[i].name, text))
            return &profiles[i];
    return NULL;
}
