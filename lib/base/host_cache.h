// SPDX-License-Identifier: Apache-2.0
// The last-level cache of the host, where nobody says how large it is.
#ifndef WEFT_LIB_HOST_CACHE_H
#define WEFT_LIB_HOST_CACHE_H

#include <stdint.h>

// Bytes, as the system tells them (Linux), else as measured; 0 where neither gives an answer.
uint64_t weft_host_cache_bytes(void);

// What is measured: a power of two up to 32 MiB, by how long loads take that wait for each other in
// ever larger arrays. Takes some tenths of a second and 64 MiB of memory. 0 where the times tell
// nothing, or there is no memory for it.
uint64_t weft_host_cache_measure(void);

// From such times: seconds[i] is that of an array of 2^(18 + i) bytes. The largest array whose time
// is nearer to the first one's than to the last one's, by their ratio; 0 where the last is less
// than three times the first.
enum { WEFT_HOST_CACHE_SIZES = 9, WEFT_HOST_CACHE_LEAST = 1 << 18 };
uint64_t weft_host_cache_size(const double seconds[WEFT_HOST_CACHE_SIZES]);

// "32768K" or "32M" as bytes; 0 for what is no size.
uint64_t weft_host_cache_read(const char *text);

#endif
