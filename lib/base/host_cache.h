// SPDX-License-Identifier: Apache-2.0
// The size of the host's last-level cache, for drivers that do not report it.
#ifndef WEFT_LIB_HOST_CACHE_H
#define WEFT_LIB_HOST_CACHE_H

#include <stdint.h>

// Bytes, as the system reports (Linux), else as measured; 0 if neither succeeds.
uint64_t weft_host_cache_bytes(void);

// Measures it: a power of two up to 32 MiB, by the latency of dependent loads in ever larger
// arrays. Takes some tenths of a second and 64 MiB of memory. 0 if the times are inconclusive, or
// there is no memory for it.
uint64_t weft_host_cache_measure(void);

// From such times: seconds[i] is that of an array of 2^(18 + i) bytes. The largest array whose time
// is nearer to the first one's than to the last one's, by their ratio; 0 where the last is less
// than three times the first.
enum { WEFT_HOST_CACHE_SIZES = 9, WEFT_HOST_CACHE_LEAST = 1 << 18 };
uint64_t weft_host_cache_size(const double seconds[WEFT_HOST_CACHE_SIZES]);

// "32768K" or "32M" as bytes; 0 for anything else.
uint64_t weft_host_cache_read(const char *text);

#endif
