// SPDX-License-Identifier: Apache-2.0
// Keys of calls.
#include "op/key.h"

#include <string.h>

#include "base/dtype.h"

void weft_key_add(weft_key *key, const void *bytes, size_t n)
{
    key->is_full = key->is_full || n > sizeof(key->bytes) - key->n;
    if (key->is_full)
        return;
    memcpy(key->bytes + key->n, bytes, n);
    key->n += n;
}

void weft_key_add_number(weft_key *key, int64_t number)
{
    weft_key_add(key, &number, sizeof(number));
}

void weft_key_add_text(weft_key *key, const char *text)
{
    const int64_t length = text ? (int64_t)strlen(text) : -1;
    weft_key_add_number(key, length);
    if (text)
        weft_key_add(key, text, (size_t)length);
}

// Whether elements have a size; others are refused before planning.
static bool has_size(weft_dtype dtype, weft_dtype usual)
{
    return weft_dtype_size(weft_dtype_or(dtype, usual)) > 0;
}

void weft_key_add_tensor(weft_key *key, const weft_tensor *tensor)
{
    // An invalid tensor will be refused.
    key->is_full = key->is_full || tensor->ndim < 0 || tensor->ndim > WEFT_MAX_NDIM ||
                   !has_size(tensor->dtype, WEFT_F32);
    if (key->is_full)
        return;
    const size_t n = (size_t)tensor->ndim * sizeof(int64_t);
    weft_key_add_number(key, (int64_t)tensor->dtype * (WEFT_MAX_NDIM + 1) + tensor->ndim);
    weft_key_add_number(key, tensor->offset);
    weft_key_add(key, tensor->shape, n);
    weft_key_add(key, tensor->stride, n);
}

void weft_key_add_csr(weft_key *key, const weft_csr *csr)
{
    const int64_t numbers[] = {
        csr->n_rows,        csr->n_cols,
        csr->nnz,           csr->offset_dtype,
        csr->index_dtype,   csr->dtype,
        csr->offsets_start, csr->indices_start,
        csr->values_start,  csr->values_batch_stride,
    };
    key->is_full = key->is_full || !has_size(csr->offset_dtype, WEFT_I32) ||
                   !has_size(csr->index_dtype, WEFT_I32) || !has_size(csr->dtype, WEFT_F32);
    weft_key_add(key, numbers, sizeof(numbers));
}

void weft_key_add_dcsr(weft_key *key, const weft_dcsr *dcsr)
{
    weft_key_add_number(key, dcsr->n_rows);
    weft_key_add_number(key, dcsr->n_stored);
    weft_key_add_number(key, dcsr->rows_start);
    weft_key_add_number(key, dcsr->nnz);
}
