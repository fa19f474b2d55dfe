// SPDX-License-Identifier: Apache-2.0
// Tilings that a test forces, as the text that params take.
#ifndef WEFT_TESTS_TILING_TEXT_H
#define WEFT_TESTS_TILING_TEXT_H

#include <stddef.h>

#include "base/tiling.h"
#include "sparse/spmm_tiling.h"

enum { TILING_TEXT_SIZE = 512, TILING_TEXTS = 256 };

// Good until the thread has asked for TILING_TEXTS more. NULL of NULL.
static inline const char *text_of_tiling(const weft_tiling_table *table, const void *tiling)
{
    static _Thread_local char texts[TILING_TEXTS][TILING_TEXT_SIZE];
    static _Thread_local unsigned n;
    if (!tiling)
        return NULL;
    char *text = texts[n++ % TILING_TEXTS];
    weft_tiling_print(table, tiling, text, TILING_TEXT_SIZE);
    return text;
}

// TILING_TEXT(spmm, &tiling): of a weft_spmm_tiling, which may be NULL.
#define TILING_TEXT(op, tiling)                                                                    \
    text_of_tiling(&weft_##op##_tiling_table, 1 ? (tiling) : (const weft_##op##_tiling *)NULL)

#endif
