// SPDX-License-Identifier: Apache-2.0
// The limits and features of a device, as plain numbers. Every plan is computed from these and the
// problem alone.
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

// Features that a context tries on its device, with kernels whose results are known, before plans
// use them: some that devices claim, and some of every OpenCL C compiler.
typedef enum weft_trial {
    WEFT_TRIAL_F64 = 1 << 0,       // double arithmetic; failed: f64 is refused
    WEFT_TRIAL_F16 = 1 << 1,       // half arithmetic; failed: has_f16 is false
    WEFT_TRIAL_FMA = 1 << 2,       // fma() rounds once; failed: kernels multiply, then add
    WEFT_TRIAL_SHUFFLES = 1 << 3,  // sub-groups; failed: items exchange values in local memory
    WEFT_TRIAL_SIZES = 1 << 4,     // required sizes of sub-groups; failed: not used
    WEFT_TRIAL_STREAMS = 1 << 5,   // non-temporal stores; failed: usual stores
    WEFT_TRIAL_FETCHES = 1 << 6,   // prefetches; failed: not used
    WEFT_TRIAL_STRUCTS = 1 << 7,   // copies of whole structs; in any case kernels fill structs
                                   // in place
    WEFT_TRIAL_SELECTS = 1 << 8,   // selects between vectors; failed: vector_width is 1
    WEFT_TRIAL_TREES = 1 << 9,     // sums of a group in local memory; failed: groups of one item
    WEFT_TRIAL_BARRIERS = 1 << 10, // barriers in loops; failed: groups of one item
    WEFT_TRIAL_VECTORS = 1 << 11,  // any vectors; not tried, but known to fail on PoCL before 3.1
                                   // with CPUs unknown to its compiler; failed: vector_width is 1
} weft_trial;

// A "lane" processes one element at a time; an "item" is an OpenCL work-item and has at most
// vector_width x vectors lanes; a "group" is an OpenCL work-group.
//
//   a GPU  warp 32  vector_width  1  vectors 1  max_block 1024  max_items_y 1024  lanes: items
//   a CPU  warp 16  vector_width 16  vectors 8  max_block  128  max_items_y    1  lanes: elements
//
// "Unanswered" is the value that weft_limits_query() uses if the device gives no answer; fields
// without such a value are computed from the others.
typedef struct weft_limits {
    char name[96];         // device name, for people
    weft_device_kind kind; // for people too: plans use the numbers below; unanswered: OTHER

    // Geometry. Powers of two, at least 1.
    int warp;         // lanes that execute together: sub-group, wavefront, or native vector of f32;
                      // unanswered: 32 on a GPU, else 8
    int vector_width; // lanes of one OpenCL vector: warp on a CPU, 1 on a GPU; unanswered: 1
    int vectors;      // such vectors that one item may process at a time
    int max_block;    // lanes a group may have
    int max_items_y;  // items that may compute one output together; 1 if barriers are too slow
    int max_blocks;   // groups that can be resident at once, which plans aim for (any number, >= 1)

    // Hard limits of the device.
    size_t max_items;          // items a group may have; unanswered: 64
    size_t max_items_along[3]; // and along each dimension; unanswered: max_items, 1, 1
    size_t local_bytes;        // local memory of a group; unanswered: 16 KiB
    uint64_t max_alloc_bytes;  // largest buffer; unanswered: 128 MiB
    uint64_t global_bytes;     // memory of the device; unanswered: 512 MiB

    // Performance.
    int compute_units;    // unanswered: 1
    int load_bytes;       // widest load or store of one item in one hardware access
    bool local_is_fast;   // local memory is separate, not a part of global memory; unanswered:
                          // false
    uint64_t l1_bytes;    // a CPU core's L1 data cache and L2 cache; 0 if unknown, and on a GPU:
    uint64_t l2_bytes;    // plans then use 32 KiB and 1 MiB
    uint64_t cache_bytes; // last-level cache; 0 if unknown
    int cache_line_bytes; // unanswered: 64
    // Features; unanswered: false.
    bool has_f64;       // double arithmetic
    bool has_f16;       // half arithmetic (half storage works everywhere)
    bool has_fma;       // fma() in hardware: as CL_FP_FMA says, or as timed
    bool has_subgroups; // sub-groups with relative shuffles, in OpenCL C or, on NVIDIA's, in PTX;
                        // plans that use them also run without, through local memory and with
                        // the same bits
    int least_subgroup; // items of the smallest sub-group that a kernel may require (by Intel's
                        // extension), with the most registers for each; 0 if kernels cannot
                        // require a size
    int max_iterations; // iterations of all loops of an item after which the device silently ends
                        // them, so that longer sums are wrong; 0: no such limit. 65535 on Mesa's
                        // llvmpipe, which is for tests

    unsigned failed_trials; // weft_trial bits: features that gave wrong results or did not compile.
                            // The fields above are adapted. weft_limits_query() runs no trials,
                            // and sets only known faults: at most WEFT_TRIAL_VECTORS

    // From data sheets, for rooflines; 0 if unknown, as on a queried device, even if plans are made
    // for a profile.
    double peak_gbps;   // memory, 1e9 bytes a second
    double peak_gflops; // f32, an FMA counted as two
} weft_limits;

// The built-in profiles: limits of known devices from public data sheets, for plans without the
// device. The sources of the figures are in lib/base/profiles.c.
WEFT_API size_t weft_profile_count(void);

// The i-th profile; NULL if i is out of range. Static storage.
WEFT_API const weft_limits *weft_profile_at(size_t i);

// The first profile whose name contains `text`, ignoring case; NULL if there is none or `text` is
// NULL.
WEFT_API const weft_limits *weft_profile_find(const char *text);

// Checks the caller's limits: ranges, powers of two. WEFT_BAD_ARGUMENT names the field.
WEFT_API weft_status weft_limits_check(const weft_limits *limits);

// The i-th feature that is missing or faulty on such a device, and its consequence, in a few words:
// "no double arithmetic: f64 is refused". NULL past the last one. Static storage.
WEFT_API const char *weft_limits_quirk_at(const weft_limits *limits, size_t i);

WEFT_END

#endif
