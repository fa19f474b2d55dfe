// SPDX-License-Identifier: Apache-2.0
// One file in memory, for readers that want a path: written over again by each call.
#ifndef WEFT_TESTS_FUZZ_MEMORY_FILE_H
#define WEFT_TESTS_FUZZ_MEMORY_FILE_H

#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

static inline const char *memory_file(const uint8_t *bytes, size_t size)
{
    static char path[64];
    static int file = -1;
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        HOLDS(file >= 0, "memfd_create\n");
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    HOLDS(ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size,
          "%zu bytes do not fit\n", size);
    return path;
}

#endif
