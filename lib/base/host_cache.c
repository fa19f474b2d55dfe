// SPDX-License-Identifier: Apache-2.0
// The last-level cache as the system reports it, or else by a walk through memory, from line to
// line in an order that no prefetcher follows.
#include "base/host_cache.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"

enum { LINE_BYTES = 64, STEPS = 1 << 16 };

typedef union line {
    size_t next;
    char bytes[LINE_BYTES];
} line;

// One cycle through all lines. A linear congruential generator visits each number below a power of
// two once if its increment is odd and its factor is one more than a multiple of 4.
static void link_lines(line *lines, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t next = (at * 1664525 + 1013904223) & (n - 1);
        lines[at].next = next;
        at = next;
    }
}

// *at is where the walk continues, so that no compiler removes it.
static double walk_seconds(const line *lines, size_t *at)
{
    const double start = weft_clock();
    for (int i = 0; i < STEPS; i++)
        *at = lines[*at].next;
    return weft_clock() - start;
}

// The second of two walks: the first one fills the caches.
static double seconds_in(line *lines, size_t n)
{
    size_t at = 0;
    link_lines(lines, n);
    const double first = walk_seconds(lines, &at), second = walk_seconds(lines, &at);
    return at < n && second < first ? second : first;
}

uint64_t weft_host_cache_size(const double seconds[WEFT_HOST_CACHE_SIZES])
{
    const double first = seconds[0], last = seconds[WEFT_HOST_CACHE_SIZES - 1];
    uint64_t bytes = 0;
    if (!(first > 0) || !(last >= 3 * first))
        return 0;
    for (int i = 0; i < WEFT_HOST_CACHE_SIZES && seconds[i] * seconds[i] < first * last; i++)
        bytes = (uint64_t)WEFT_HOST_CACHE_LEAST << i;
    return bytes;
}

uint64_t weft_host_cache_measure(void)
{
    const size_t most = (size_t)WEFT_HOST_CACHE_LEAST << (WEFT_HOST_CACHE_SIZES - 1);
    double seconds[WEFT_HOST_CACHE_SIZES];
    line *lines = malloc(most);
    if (!lines)
        return 0;
    for (int i = 0; i < WEFT_HOST_CACHE_SIZES; i++)
        seconds[i] = seconds_in(lines, ((size_t)WEFT_HOST_CACHE_LEAST << i) / sizeof(*lines));
    free(lines);
    return weft_host_cache_size(seconds);
}

uint64_t weft_host_cache_read(const char *text)
{
    char *end;
    const unsigned long long n = strtoull(text, &end, 10);
    const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : -1;
    return shift < 0 || text[0] < '0' || text[0] > '9' || n > UINT64_MAX >> shift ? 0 : n << shift;
}

uint64_t weft_host_cache_bytes(void)
{
    char text[32] = "";
    FILE *file = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
    if (file) {
        if (!fgets(text, sizeof(text), file))
            text[0] = '\0';
        fclose(file);
    }
    const uint64_t read = weft_host_cache_read(text);
    const uint64_t bytes = read ? read : weft_os_cache_bytes(3);
    return bytes ? bytes : weft_host_cache_measure();
}
