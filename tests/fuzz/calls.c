// SPDX-License-Identifier: Apache-2.0
// Operands and parameters out of bytes.
#include "calls.h"

#include <math.h>
#include <string.h>

#include "base/params.h"

uint8_t take_byte(call_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

bool take_chance(call_input *in, int n)
{
    return 255 - take_byte(in) < n;
}

int64_t take_number(call_input *in)
{
    static const int64_t ends[] = {
        -1,
        INT64_MAX,
        INT64_MIN,
        INT64_MAX - 1,
        INT32_MAX,
        INT32_MIN,
        INT64_C(1) << 31,
        INT64_C(1) << 32,
        INT64_C(1) << 62,
        INT64_C(1) << 61,
        INT32_MAX - 4096,
        INT32_MAX - 4097,
        32768,
        32769,
        65536,
        -65536,
    };
    const uint8_t byte = take_byte(in);
    if (byte < 128)
        return byte;
    if (byte < 160)
        return -(byte - 127);
    if (byte < 192)
        return INT64_C(1) << (byte - 160);
    if (byte < 224)
        return ends[byte % (sizeof(ends) / sizeof(ends[0]))];
    uint64_t number = 0;
    for (int i = 0; i < byte % 8 + 1; i++)
        number = number << 8 | take_byte(in);
    int64_t out;
    memcpy(&out, &number, sizeof(out));
    return out;
}

int take_int(call_input *in)
{
    const int64_t number = take_number(in);
    return number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int)number;
}

double take_real(call_input *in)
{
    static const double some[] = {1,     0,        -1,        0.5, 1e-5, 1e39,
                                  1e308, INFINITY, -INFINITY, NAN, 1e-46};
    const uint8_t byte = take_byte(in);
    return byte < 64 ? some[byte % (sizeof(some) / sizeof(some[0]))] : (double)take_number(in);
}

int64_t take_size(call_input *in)
{
    const uint8_t byte = take_byte(in);
    return byte < 240 ? in->sizes[byte % 4] : take_number(in);
}

weft_dtype take_dtype(call_input *in)
{
    const uint8_t byte = take_byte(in);
    return byte < 192 ? in->dtype : (weft_dtype)(byte % 12);
}

// Any number but those by which the library would read on behind the struct.
size_t take_struct_size(call_input *in, size_t size)
{
    if (!take_chance(in, 4))
        return size;
    const size_t other = (size_t)take_number(in);
    const bool is_read = other % sizeof(size) == 0 && other <= WEFT_PARAMS_MOST_BYTES;
    return is_read && other > size ? size : other;
}

cl_mem take_buffer(call_input *in)
{
    const uint8_t byte = take_byte(in);
    if (byte < 224)
        return in->buffers[in->n_given++ % CALL_BUFFERS];
    return byte < 248 ? in->buffers[byte % CALL_BUFFERS] : NULL;
}

cl_mem take_workspace(call_input *in)
{
    return take_chance(in, 32) ? take_buffer(in) : NULL;
}

// Strides as of an array without gaps.
static void fill_strides(weft_tensor *tensor)
{
    uint64_t stride = 1;
    for (int d = tensor->ndim - 1; d >= 0; d--) {
        memcpy(&tensor->stride[d], &stride, sizeof(stride));
        stride *= (uint64_t)tensor->shape[d];
    }
}

const weft_tensor *take_tensor(call_input *in)
{
    const uint8_t kind = take_byte(in);
    if (kind >= 252 || in->n_tensors == CALL_TENSORS)
        return NULL;
    weft_tensor *tensor = &in->tensors[in->n_tensors++];
    *tensor = (weft_tensor){.buffer = take_buffer(in), .dtype = take_dtype(in), .ndim = kind % 4};
    if (kind >= 224)
        tensor->ndim = take_int(in);
    const int n = tensor->ndim < 0 || tensor->ndim > WEFT_MAX_NDIM ? WEFT_MAX_NDIM : tensor->ndim;
    for (int d = 0; d < n; d++)
        tensor->shape[d] = take_size(in);
    if (tensor->ndim == n)
        fill_strides(tensor);
    if (kind & 8)
        for (int d = 0; d < n; d++)
            tensor->stride[d] = take_number(in);
    if (kind & 16)
        tensor->offset = take_number(in);
    if (kind & 32)
        *tensor = weft_tensor_transposed(tensor);
    return tensor;
}

const weft_tensor *take_extra(call_input *in)
{
    return take_chance(in, 64) ? take_tensor(in) : NULL;
}

// Of the types that offsets and indices may have, or any other one.
static weft_dtype take_index_dtype(call_input *in)
{
    static const weft_dtype some[] = {WEFT_DEFAULT, WEFT_I32, WEFT_I64, WEFT_I16};
    const uint8_t byte = take_byte(in);
    return byte < 240 ? some[byte % 4] : (weft_dtype)(byte % 12);
}

static int64_t take_start(call_input *in)
{
    return take_chance(in, 32) ? take_number(in) : 0;
}

const weft_csr *take_csr(call_input *in)
{
    if (take_chance(in, 4) || in->n_matrices == CALL_MATRICES)
        return NULL;
    weft_csr *csr = &in->matrices[in->n_matrices++];
    csr->n_rows = take_size(in);
    csr->n_cols = take_size(in);
    csr->nnz = take_size(in);
    csr->offset_dtype = take_index_dtype(in);
    csr->index_dtype = take_index_dtype(in);
    csr->dtype = take_dtype(in);
    csr->offsets = take_buffer(in);
    csr->indices = take_buffer(in);
    csr->values = take_buffer(in);
    csr->offsets_start = take_start(in);
    csr->indices_start = take_start(in);
    csr->values_start = take_start(in);
    csr->values_batch_stride = take_start(in);
    return csr;
}

weft_dcsr take_dcsr(call_input *in)
{
    weft_dcsr dcsr = {.n_rows = take_size(in)};
    dcsr.n_cols = take_size(in);
    dcsr.n_stored = take_size(in);
    dcsr.nnz = take_size(in);
    dcsr.offset_dtype = take_index_dtype(in);
    dcsr.index_dtype = take_index_dtype(in);
    dcsr.dtype = take_dtype(in);
    dcsr.rows = take_buffer(in);
    dcsr.offsets = take_buffer(in);
    dcsr.indices = take_buffer(in);
    dcsr.values = take_buffer(in);
    dcsr.rows_start = take_start(in);
    dcsr.offsets_start = take_start(in);
    dcsr.values_batch_stride = take_start(in);
    return dcsr;
}

const char *take_formula(call_input *in)
{
    static const char *const some[] = {
        "copy",           "add",        "a + b",         "gelu",      "c + 1",
        "where(a, b, 1)", "a % b << 3", "relu(c) * 0.5", "exp(a)/v0", "v0",
    };
    const uint8_t byte = take_byte(in);
    if (byte < 200)
        return some[byte % (sizeof(some) / sizeof(some[0]))];
    if (byte == 255)
        return NULL;
    const int length = byte % (CALL_TEXT + 1);
    for (int i = 0; i < length; i++)
        in->text[i] = (char)take_byte(in);
    in->text[length] = '\0';
    return in->text;
}

// Rows and entries that the arrays of both buffers have room for, whatever the types and starts.
weft_csr take_pattern(call_input *in)
{
    weft_csr csr = {.n_rows = take_byte(in) % 32};
    csr.n_cols = take_byte(in);
    csr.nnz = take_byte(in) % 96;
    csr.offset_dtype = take_index_dtype(in);
    csr.index_dtype = take_index_dtype(in);
    csr.dtype = take_dtype(in);
    csr.offsets = in->offsets;
    csr.indices = in->indices;
    csr.values = take_buffer(in);
    csr.offsets_start = take_byte(in) % 8;
    csr.indices_start = take_byte(in) % 8;
    csr.values_batch_stride = take_start(in);
    return csr;
}
