// SPDX-License-Identifier: Apache-2.0
// The limits and abilities of a device, as plain numbers. Every plan is arithmetic on these and on
// the problem.
#ifndef WEFT_LIMITS_H
#define WEFT_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

WEFT_BEGIN

typedef enum weft_device_kind {
    WEFT_DEVICE_OTHER = 0,
    WEFT_DEVICE_CPU,
    WEFT_DEVICE_GPU,
} weft_device_kind;

// What a context tries on its device, with kernels whose results are known, before plans rely on
// it: abilities that devices claim, and features of every OpenCL C compiler.
typedef enum weft_trial {
    WEFT_TRIAL_F64 = 1 << 0,       // double arithmetic; failed: f64 is refused
    WEFT_TRIAL_F16 = 1 << 1,       // half arithmetic; failed: has_f16 is false
    WEFT_TRIAL_FMA = 1 << 2,       // fma() rounds once; failed: kernels multiply, then add
    WEFT_TRIAL_SHUFFLES = 1 << 3,  // sub-groups; failed: items exchange values in local memory
    WEFT_TRIAL_SIZES = 1 << 4,     // required sizes of sub-groups; failed: not used
    WEFT_TRIAL_STREAMS = 1 << 5,   // stores past the caches; failed: usual stores
    WEFT_TRIAL_FETCHES = 1 << 6,   // prefetches; failed: not used
    WEFT_TRIAL_STRUCTS = 1 << 7,   // structs copied whole; failed or not, kernels fill
                                   // them in place
    WEFT_TRIAL_SELECTS = 1 << 8,   // selects between vectors; failed: vector_width is 1
    WEFT_TRIAL_TREES = 1 << 9,     // sums of a group in local memory; failed: groups of one item
    WEFT_TRIAL_BARRIERS = 1 << 10, // barriers in loops; failed: groups of one item
    WEFT_TRIAL_VECTORS = 1 << 11,  // vectors at all; not tried, but known of PoCL before 3.1 on
                                   // CPUs unknown to its compiler; failed: vector_width is 1
} weft_trial;

// A "lane" handles one element at a time; an "item" is an OpenCL work-item and has at most
// vector_width x vectors lanes; a "group" is an OpenCL work-group.
//
//   a GPU  warp 32  vector_width  1  vectors 1  max_block 1024  max_items_y 1024  lanes: items
//   a CPU  warp 16  vector_width 16  vectors 8  max_block  128  max_items_y    1  lanes: elements
//
// "Unanswered" is the value that weft_limits_query() takes if the device gives no answer; fields
// without one are computed from the others.
typedef struct weft_limits {
    char name[96];         // device name, for people
    weft_device_kind kind; // for people too: plans look at the numbers below; unanswered: OTHER

    // Geometry. Powers of two, at least 1.
    int warp;         // lanes that execute together: sub-group, wavefront, or native vector of f32;
                      // unanswered: 32 on a GPU, else 8
    int vector_width; // lanes of one OpenCL vector: warp on a CPU, 1 on a GPU; unanswered: 1
    int vectors;      // such vectors that one item may process at a time
    int max_block;    // lanes a group may have
    int max_items_y;  // items that may work on one output together; 1 if barriers do not pay
    int max_blocks;   // groups to aim for: those that can be resident at once (any number, >= 1)

    // Hard limits of the device.
    size_t max_items;          // items a group may have; unanswered: 64
    size_t max_items_along[3]; // and along each dimension; unanswered: max_items, 1, 1
    size_t local_bytes;        // local memory of a group; unanswered: 16 KiB
    uint64_t max_alloc_bytes;  // largest buffer; unanswered: 128 MiB
    uint64_t global_bytes;     // memory of the device; unanswered: 512 MiB

    // What pays.
    int compute_units;    // unanswered: 1
    int load_bytes;       // widest load or store of one item that the hardware does at once
    bool local_is_fast;   // local memory is separate, not a part of global memory; unanswered:
                          // false
    uint64_t l1_bytes;    // a CPU core's nearest data cache, and the one behind it; 0 where unknown
    uint64_t l2_bytes;    // and on a GPU: plans then take 32 KiB and 1 MiB
    uint64_t cache_bytes; // last-level cache; 0 where unknown
    int cache_line_bytes; // unanswered: 64
    // Abilities; unanswered: false.
    bool has_f64;       // double arithmetic
    bool has_f16;       // half arithmetic (half storage needs nothing)
    bool has_fma;       // fma() in hardware: as CL_FP_FMA says, or as timed
    bool has_subgroups; // sub-groups with relative shuffles, in OpenCL C or, on NVIDIA's, in PTX;
                        // plans that use them also run without, through local memory and with
                        // the same bits
    int least_subgroup; // items of the smallest sub-group that a kernel may ask for (by Intel's
                        // extension), which has the most registers for each; 0 where none may be
                        // asked for
    int max_iterations; // iterations of all loops of an item, after which the device silently ends
                        // them; 0: no such limit. Longer sums are then wrong: 65535 on Mesa's
                        // llvmpipe, which is for trials

    unsigned failed_trials; // weft_trial bits: tried on the device and found wrong, or not to
                            // compile. The fields above are adapted. weft_limits_query() tries
                            // nothing, and sets what is known: at most WEFT_TRIAL_VECTORS

    // From data sheets, for rooflines; 0 if unknown, as on a queried device, even if plans are made
    // for a profile.
    double peak_gbps;   // memory, 1e9 bytes a second
    double peak_gflops; // f32, an FMA counted as two
} weft_limits;

// The built-in profiles: limits of known devices, written down from public data sheets, so that
// plans can be made without the device. The sources of the figures are in lib/base/profiles.c.
WEFT_API size_t weft_profile_count(void);

// The i-th profile; NULL where i is out of range. Static storage.
WEFT_API const weft_limits *weft_profile_at(size_t i);

// The profile whose name contains `text`, ignoring case; the first of several; NULL where there is
// none, as for NULL.
WEFT_API const weft_limits *weft_profile_find(const char *text);

// Checks the caller's limits: ranges, powers of two. WEFT_BAD_ARGUMENT names the field.
WEFT_API weft_status weft_limits_check(const weft_limits *limits);

// The i-th feature that such a device lacks or gets wrong, and its consequence, in a few words:
// "no double arithmetic: f64 is refused". NULL past the last one. Static storage.
WEFT_API const char *weft_limits_quirk_at(const weft_limits *limits, size_t i);

WEFT_END

#endif
