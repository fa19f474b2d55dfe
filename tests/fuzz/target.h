// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: a target is one function, which libFuzzer calls with bytes, or replay.c
// with the files of a kept corpus.
#ifndef WEFT_TESTS_FUZZ_TARGET_H
#define WEFT_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// 0: the bytes are worth keeping. -1: they are none of this target's.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// What has to hold whatever the bytes are; `...` says more, as printf() does it.
#define HOLDS(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);         \
            fprintf(stderr, __VA_ARGS__);                                                          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
