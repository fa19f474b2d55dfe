// SPDX-License-Identifier: Apache-2.0
// Tilings as text: refused in words, or printed again as what they are.
#include <string.h>

#include "axis/axis_plan.h"
#include "dense/matmul_tiling.h"
#include "sparse/spmm_tiling.h"
#include "target.h"

enum { MOST_BYTES = 256, MOST_TEXT = 512 };

static void check_read(const weft_tiling_table *table, size_t size, const char *text)
{
    static _Alignas(int64_t) char first[MOST_BYTES], second[MOST_BYTES];
    char printed[MOST_TEXT];
    bool is_forced;
    memset(first, 0, sizeof(first));
    memset(second, 0, sizeof(second));
    if (weft_tiling_read(&is_forced, first, table, "fuzz: tiling", text) != WEFT_OK) {
        HOLDS(strncmp(weft_last_error(), "fuzz: tiling: ", 14) == 0, "%s\n", weft_last_error());
        HOLDS(strstr(weft_last_error(), ", at character "), "%s\n", weft_last_error());
        return;
    }
    const int length = weft_tiling_print(table, first, printed, sizeof(printed));
    HOLDS(length >= 0 && length < MOST_TEXT, "%d characters\n", length);
    HOLDS(weft_tiling_read(&is_forced, second, table, "fuzz: tiling", printed) == WEFT_OK, "%s\n",
          weft_last_error());
    HOLDS(memcmp(first, second, size) == 0, "%s\n", printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    HOLDS(text, "no memory\n");
    for (size_t i = 0; i < size; i++)
        text[i] = (char)bytes[i];
    text[size] = '\0';
    check_read(&weft_axis_tiling_table, sizeof(weft_axis_tiling), text);
    check_read(&weft_matmul_tiling_table, sizeof(weft_matmul_tiling), text);
    check_read(&weft_spmm_tiling_table, sizeof(weft_spmm_tiling), text);
    free(text);
    return 0;
}
