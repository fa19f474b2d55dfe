// SPDX-License-Identifier: Apache-2.0
// .npy files: whatever the bytes, they are refused with a sentence or are an array, which comes
// back as it was written.
#include <string.h>

#include "memory_file.h"
#include "npy.h"

static size_t bytes_of(const npy_array *array)
{
    return (size_t)array->count * weft_dtype_size(array->dtype);
}

static void check_array(const npy_array *array)
{
    int64_t count = 1;
    HOLDS(array->ndim >= 0 && array->ndim <= WEFT_MAX_NDIM, "%d\n", array->ndim);
    for (int d = 0; d < array->ndim; d++)
        count = array->shape[d] == 0 || count == 0 ? 0 : count * array->shape[d];
    HOLDS(count == array->count, "%lld elements\n", (long long)array->count);
}

// Through a second file.
static void check_again(const npy_array *array)
{
    complaint why;
    npy_array again;
    const char *path = memory_file(NULL, 0);
    const weft_dtype asked = array->dtype == WEFT_BF16 ? WEFT_BF16 : WEFT_DEFAULT;
    HOLDS(npy_write(path, array->dtype, array->ndim, array->shape, array->data, &why), "%s\n",
          why.text);
    HOLDS(npy_read(&again, path, asked, &why), "%s\n", why.text);
    HOLDS(again.dtype == array->dtype && again.ndim == array->ndim, "another kind of array\n");
    HOLDS(memcmp(again.shape, array->shape, sizeof(again.shape)) == 0, "another shape\n");
    HOLDS(memcmp(again.data, array->data, bytes_of(array)) == 0, "other elements\n");
    npy_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const weft_dtype asked[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64,
                                       WEFT_F16,     WEFT_I64, WEFT_BF16};
    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        complaint why = {.text = ""};
        npy_array array;
        if (npy_read(&array, memory_file(bytes, size), asked[i], &why)) {
            check_array(&array);
            check_again(&array);
        } else {
            HOLDS(why.text[0] != '\0' && array.data == NULL, "refused without a word\n");
        }
        npy_free(&array);
    }
    return 0;
}
