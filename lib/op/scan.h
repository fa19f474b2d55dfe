// SPDX-License-Identifier: Apache-2.0
// Exclusive prefix sums of integers on the device: out[i] = in[0] + ... + in[i - 1]. Operations use
// them to compute positions.
#ifndef WEFT_LIB_SCAN_H
#define WEFT_LIB_SCAN_H

#include <weft/csr.h>

#include "runtime/launch.h"

enum { WEFT_SCAN_RUN = 8 }; // adjacent numbers that an item reads at a time

// How n numbers are divided into groups.
typedef struct weft_scan {
    weft_dtype dtype; // of the numbers and their sums: i32 or i64
    int64_t n;
    int items;    // of a group: a power of two
    int64_t span; // numbers of a group
    int64_t n_groups;
    weft_kernel *sums, *apply; // sums is NULL if there is one group
} weft_scan;

// A pure function; weft_scan_kernels() fills in the kernels. n from 0.
weft_scan weft_scan_for(const weft_limits *limits, int items, weft_dtype dtype, int64_t n);

// Builds the kernels, and lowers *most to their largest group.
weft_status weft_scan_kernels(weft_scan *scan, weft_context *ctx, size_t *most);

// An array of such numbers.
typedef struct weft_numbers {
    cl_mem buffer;
    int64_t start;
} weft_numbers;

// Reads one of them back; blocks. Waits for `after` first, if not NULL.
weft_status weft_numbers_read(int64_t *out, cl_command_queue queue, weft_numbers at,
                              weft_dtype dtype, cl_event after, const char *what);

// `sums` has room for n_groups numbers. `out` may be `in`. With has_total `out` has n + 1 elements,
// the last of which is the sum of all. If n is 0 only that sum is written.
weft_status weft_scan_enqueue(weft_launch *launch, const weft_scan *scan, weft_numbers in,
                              weft_numbers out, bool has_total, weft_numbers sums);

// weft_scan_offsets() converts row lengths to offsets, in place, with the end of the last row. It
// needs scratch memory of weft_scan_scratch_bytes(), which may be 0.
size_t weft_scan_scratch_bytes(const weft_scan *scan);
weft_status weft_scan_offsets(weft_launch *launch, const weft_scan *scan, weft_numbers offsets,
                              cl_mem scratch);

// Reads the number of entries from such offsets, after `done` completes; blocks. Passes `done` to
// *event, or releases it after a failure and if `event` is NULL.
weft_status weft_scan_total(int64_t *nnz, cl_command_queue queue, const weft_csr *csr,
                            cl_event done, cl_event *event, const char *what);

#endif
