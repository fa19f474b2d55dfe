// SPDX-License-Identifier: Apache-2.0
// .npy files: a magic number, a header that is a Python dictionary, the elements.
#include "npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "scalar.h"

// State of parsing the header. A field is known once `has_` is true.
typedef struct npy_header {
    const char *path;
    char *text; // malloc'd
    const char *at, *end;
    char descr[16];
    bool has_descr, has_order, has_shape, is_fortran;
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
} npy_header;

static void skip_spaces(npy_header *header)
{
    while (header->at < header->end && isspace((unsigned char)*header->at))
        header->at++;
}

// Consumes `text` if it is next.
static bool take(npy_header *header, const char *text)
{
    skip_spaces(header);
    const size_t length = strlen(text);
    if ((size_t)(header->end - header->at) < length || memcmp(header->at, text, length) != 0)
        return false;
    header->at += length;
    return true;
}

static bool complain_header(const npy_header *header, const char *what, complaint *why)
{
    return complain(why, "%s: damaged .npy header: %s", header->path, what);
}

// A quoted string, in either kind of quotes and without escapes.
static bool take_string(npy_header *header, char *out, size_t size)
{
    if (!take(header, "'") && !take(header, "\""))
        return false;
    const char quote = header->at[-1];
    size_t n = 0;
    while (header->at < header->end && *header->at != quote && n < size - 1)
        out[n++] = *header->at++;
    out[n] = '\0';
    if (header->at >= header->end || *header->at != quote)
        return false;
    header->at++;
    return true;
}

// An integer that fits; Python 2 wrote some with an L at the end.
static bool take_extent(npy_header *header, int64_t *out)
{
    skip_spaces(header);
    const char *const digits = header->at;
    *out = 0;
    for (; header->at < header->end && isdigit((unsigned char)*header->at); header->at++) {
        if (*out > (INT64_MAX - 9) / 10)
            return false;
        *out = 10 * *out + (*header->at - '0');
    }
    const bool found = header->at > digits;
    take(header, "L");
    return found;
}

static bool read_shape(npy_header *header, complaint *why)
{
    if (!take(header, "("))
        return complain_header(header, "'shape' is no tuple", why);
    while (!take(header, ")")) {
        if (header->ndim == WEFT_MAX_NDIM)
            return complain(why, "%s: more than %d dimensions", header->path, WEFT_MAX_NDIM);
        if (!take_extent(header, &header->shape[header->ndim++]))
            return complain_header(header, "an extent in 'shape' is not an integer of 63 bits",
                                   why);
        if (!take(header, ",")) {
            if (!take(header, ")"))
                return complain_header(header, "'shape' does not end", why);
            break;
        }
    }
    header->has_shape = true;
    return true;
}

static bool read_field(npy_header *header, const char *key, complaint *why)
{
    if (strcmp(key, "descr") == 0 && !header->has_descr) {
        header->has_descr = take_string(header, header->descr, sizeof(header->descr));
        return header->has_descr ||
               complain_header(header, "'descr' is not a simple data type", why);
    }
    if (strcmp(key, "fortran_order") == 0 && !header->has_order) {
        header->is_fortran = take(header, "True");
        header->has_order = header->is_fortran || take(header, "False");
        return header->has_order ||
               complain_header(header, "'fortran_order' is neither True nor False", why);
    }
    if (strcmp(key, "shape") == 0 && !header->has_shape)
        return read_shape(header, why);
    return complain_header(header, "an unknown or repeated key", why);
}

static bool read_dictionary(npy_header *header, complaint *why)
{
    if (!take(header, "{"))
        return complain_header(header, "it is no dictionary", why);
    while (!take(header, "}")) {
        char key[32];
        if (!take_string(header, key, sizeof(key)) || !take(header, ":"))
            return complain_header(header, "a key and a colon are expected", why);
        if (!read_field(header, key, why))
            return false;
        if (!take(header, ",")) {
            if (!take(header, "}"))
                return complain_header(header, "it does not end", why);
            break;
        }
    }
    skip_spaces(header);
    if (header->at != header->end)
        return complain_header(header, "something follows the dictionary", why);
    if (!header->has_descr || !header->has_order || !header->has_shape)
        return complain_header(header, "'descr', 'fortran_order' or 'shape' is missing", why);
    return true;
}

static uint64_t little_endian(const unsigned char *bytes, int n)
{
    uint64_t value = 0;
    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

// Reads the header between magic number and elements.
static bool read_header(npy_header *header, input_stream *in, complaint *why)
{
    enum { MOST = 1 << 20 };
    unsigned char start[12];
    size_t n = 0;
    if (!input_read(in, start, 8, &n, why))
        return false;
    if (n < 8 || memcmp(start, "\x93NUMPY", 6) != 0)
        return complain(why, "%s: not a .npy file, or truncated", header->path);
    if (start[6] < 1 || start[6] > 3)
        return complain(why, "%s: .npy version %d.%d; versions 1 to 3 are read", header->path,
                        start[6], start[7]);
    const size_t n_length = start[6] == 1 ? 2 : 4;
    if (!input_read(in, start + 8, n_length, &n, why))
        return false;
    const uint64_t length = little_endian(start + 8, (int)n_length);
    if (n < n_length || length > MOST)
        return complain(why, "%s: truncated, or its header has more than %d bytes", header->path,
                        MOST);
    header->text = malloc((size_t)length + 1);
    if (header->text == NULL)
        return complain(why, "%s: no memory for its header", header->path);
    header->at = header->text;
    if (!input_read(in, header->text, (size_t)length, &n, why))
        return false;
    header->end = header->at + n;
    return n == length || complain(why,
                                   "%s: the header has %" PRIu64 " bytes, the file ends after "
                                   "%zu",
                                   header->path, length, n);
}

// ---- elements

// The type in 'descr' after the byte order, and a host type that is wide enough.
typedef struct npy_type {
    const char *name;
    size_t size;
    weft_dtype dtype;
} npy_type;

static const npy_type bf16_type = {"u2", 2, WEFT_BF16};

static const npy_type *find_name(const char *name)
{
    static const npy_type types[] = {{"f2", 2, WEFT_F16}, {"f4", 4, WEFT_F32}, {"f8", 8, WEFT_F64},
                                     {"i1", 1, WEFT_I8},  {"i2", 2, WEFT_I16}, {"i4", 4, WEFT_I32},
                                     {"i8", 8, WEFT_I64}, {"b1", 1, WEFT_U8},  {"u1", 1, WEFT_U8},
                                     {"u2", 2, WEFT_I32}, {"u4", 4, WEFT_I64}, {"u8", 8, WEFT_I64}};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(name, types[i].name) == 0)
            return &types[i];
    return NULL;
}

static bool find_type(const npy_header *header, const npy_params *params, const npy_type **out,
                      complaint *why)
{
    const bool has_order = header->descr[0] != '\0' && strchr("<>|", header->descr[0]) != NULL;
    const weft_dtype wanted = params->dtype;
    *out = has_order ? find_name(header->descr + 1) : NULL;
    if (*out == NULL)
        return complain(why,
                        "%s: elements of type '%s'; f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 and "
                        "b1 are read",
                        header->path, header->descr);
    if (strcmp((*out)->name, "u2") != 0)
        return true;
    if (wanted == WEFT_BF16 || (wanted == WEFT_DEFAULT && params->u2_is_bf16))
        *out = &bf16_type;
    return wanted != WEFT_DEFAULT || params->u2_is_bf16 ||
           complain(why,
                    "%s: elements of type '%s', which are bf16 or integers: give --dtype bf16 or "
                    "an integer type",
                    header->path, header->descr);
}

// Elements of the shape; false if they exceed 63 bits of bytes, stored or converted.
static bool count_elements(const npy_header *header, int64_t *count)
{
    const int64_t limit = INT64_MAX / 8;
    int64_t product = 1;
    bool fits = true;
    for (int d = 0; d < header->ndim; d++) {
        if (header->shape[d] == 0) {
            *count = 0;
            return true;
        }
        fits = fits && product <= limit / header->shape[d];
        product = fits ? product * header->shape[d] : product;
    }
    *count = product;
    return fits;
}

bool npy_check_limit(const npy_array *array, const char *path, const npy_params *params,
                     complaint *why)
{
    const weft_dtype own = array->is_untyped ? WEFT_F32 : array->dtype;
    const weft_dtype dtype = params->dtype != WEFT_DEFAULT ? params->dtype : own;
    const uint64_t bytes = (uint64_t)array->count * weft_dtype_size(dtype);
    return params->max_bytes == 0 || bytes <= params->max_bytes ||
           complain(why,
                    "%s: is larger than the device's largest buffer: %" PRIu64
                    " bytes as %s, there are %" PRIu64,
                    path, bytes, weft_dtype_name(dtype), params->max_bytes);
}

static bool complain_size(const npy_array *array, const char *path, size_t size, const char *more,
                          uint64_t n_present, complaint *why)
{
    return complain(why,
                    "%s: the shape needs %" PRIu64 " bytes of elements (%" PRId64
                    " of %zu), the file holds %s%" PRIu64,
                    path, (uint64_t)array->count * size, array->count, size, more, n_present);
}

// Memory grows as bytes arrive, whatever size the header claims.
static bool read_bytes(npy_array *out, input_stream *in, size_t needed, size_t *n_present,
                       complaint *why)
{
    enum { FIRST = 1 << 20 };
    size_t n = 1;
    *n_present = 0;
    for (size_t room = 0; n > 0 && *n_present < needed; *n_present += n) {
        if (*n_present == room) {
            room = room == 0 ? FIRST : 2 * room;
            room = room < needed ? room : needed;
            void *data = realloc(out->data, room);
            if (data == NULL)
                return complain(why, "%s: no memory for %zu bytes of elements", in->path, room);
            out->data = data;
        }
        if (!input_read(in, (char *)out->data + *n_present, room - *n_present, &n, why))
            return false;
    }
    return true;
}

static bool read_elements(npy_array *out, input_stream *in, size_t size, complaint *why)
{
    const uint64_t needed = (uint64_t)out->count * size, left = input_left(in);
    size_t n_present = 0, more = 0;
    char next;
    if (left != UINT64_MAX && left != needed)
        return complain_size(out, in->path, size, "", left, why);
    out->data = malloc(1);
    if (out->data == NULL)
        return complain(why, "%s: no memory", in->path);
    if (!read_bytes(out, in, (size_t)needed, &n_present, why))
        return false;
    if (n_present < needed)
        return complain_size(out, in->path, size, "", n_present, why);
    return input_read(in, &next, 1, &more, why) &&
           (more == 0 || complain_size(out, in->path, size, "more than ", needed, why));
}

static void swap_bytes(npy_array *array, size_t size)
{
    unsigned char *at = array->data;
    for (int64_t i = 0; i < array->count; i++, at += size)
        for (size_t b = 0; b < size / 2; b++) {
            const unsigned char byte = at[b];
            at[b] = at[size - 1 - b];
            at[size - 1 - b] = byte;
        }
}

// Unsigned numbers in a signed type twice as wide.
static bool widen(npy_array *array, size_t size, const char *path, complaint *why)
{
    void *data = malloc((size_t)array->count * 2 * size + 1);
    if (data == NULL)
        return complain(why, "%s: no memory for %" PRId64 " elements", path, array->count);
    for (int64_t i = 0; i < array->count; i++)
        if (size == 2)
            ((int32_t *)data)[i] = ((const uint16_t *)array->data)[i];
        else
            ((int64_t *)data)[i] = ((const uint32_t *)array->data)[i];
    free(array->data);
    array->data = data;
    return true;
}

static bool check_signs(const npy_array *array, const char *path, complaint *why)
{
    const uint64_t *elements = array->data;
    for (int64_t i = 0; i < array->count; i++)
        if (elements[i] > INT64_MAX)
            return complain(why, "%s: element %" PRId64 " is %" PRIu64 ", which is beyond i64",
                            path, i, elements[i]);
    return true;
}

static void take_truth(npy_array *array)
{
    unsigned char *elements = array->data;
    for (int64_t i = 0; i < array->count; i++)
        elements[i] = elements[i] != 0;
}

static bool host_is_big_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

// Elements of the file, in the host's byte order and type.
static bool decode(npy_array *array, const npy_header *header, const npy_type *type, complaint *why)
{
    if ((header->descr[0] == '>') != host_is_big_endian())
        swap_bytes(array, type->size);
    if (strcmp(type->name, "b1") == 0)
        take_truth(array);
    if (strcmp(type->name, "u8") == 0)
        return check_signs(array, header->path, why);
    return weft_dtype_size(type->dtype) == type->size ||
           widen(array, type->size, header->path, why);
}

// From column-major to row-major.
static bool to_row_major(npy_array *array, const char *path, complaint *why)
{
    const size_t size = weft_dtype_size(array->dtype);
    int64_t stride[WEFT_MAX_NDIM], index[WEFT_MAX_NDIM] = {0}, from = 0;
    char *data = malloc((size_t)array->count * size + 1);
    if (data == NULL)
        return complain(why, "%s: no memory for %" PRId64 " elements", path, array->count);
    for (int d = 0; d < array->ndim; d++)
        stride[d] = d == 0 ? 1 : stride[d - 1] * array->shape[d - 1];
    for (int64_t to = 0; to < array->count; to++) {
        memcpy(data + (size_t)to * size, (char *)array->data + (size_t)from * size, size);
        for (int d = array->ndim - 1; d >= 0; d--) {
            from += stride[d];
            if (++index[d] < array->shape[d])
                break;
            from -= stride[d] * array->shape[d];
            index[d] = 0;
        }
    }
    free(array->data);
    array->data = data;
    return true;
}

// To any floating-point type, and integers to wider ones.
static bool can_convert(weft_dtype from, weft_dtype to)
{
    const bool is_wider = weft_dtype_size(to) > weft_dtype_size(from);
    return scalar_is_float(to) ||
           ((to == WEFT_I32 || to == WEFT_I64) && !scalar_is_float(from) && is_wider);
}

static void put(weft_dtype to, void *data, const npy_array *array, int64_t i)
{
    if (scalar_is_float(to))
        scalar_put(to, data, i, scalar_get(array->dtype, array->data, i));
    else if (to == WEFT_I32)
        ((int32_t *)data)[i] = (int32_t)scalar_whole(array->dtype, array->data, i);
    else
        ((int64_t *)data)[i] = scalar_whole(array->dtype, array->data, i);
}

bool npy_convert(npy_array *array, weft_dtype dtype, const char *path, complaint *why)
{
    if (dtype == WEFT_DEFAULT)
        return true;
    array->is_untyped = false;
    if (dtype == array->dtype)
        return true;
    if (!can_convert(array->dtype, dtype))
        return complain(why, "%s: holds %s, but %s is needed", path, weft_dtype_name(array->dtype),
                        weft_dtype_name(dtype));
    const size_t bytes = (size_t)array->count * weft_dtype_size(dtype);
    void *data = malloc(bytes > 0 ? bytes : 1);
    if (data == NULL)
        return complain(why, "%s: no memory for %" PRId64 " elements", path, array->count);
    for (int64_t i = 0; i < array->count; i++)
        put(dtype, data, array, i);
    free(array->data);
    array->data = data;
    array->dtype = dtype;
    return true;
}

// The elements after the header.
static bool read_array(npy_array *out, const npy_header *header, input_stream *in,
                       const npy_params *params, complaint *why)
{
    const npy_type *type = NULL;
    if (!find_type(header, params, &type, why))
        return false;
    if (!count_elements(header, &out->count))
        return complain(why, "%s: the shape has more elements than any file", header->path);
    out->dtype = type->dtype;
    out->ndim = header->ndim;
    memcpy(out->shape, header->shape, sizeof(out->shape));
    return npy_check_limit(out, header->path, params, why) &&
           read_elements(out, in, type->size, why) && decode(out, header, type, why) &&
           (!header->is_fortran || header->ndim < 2 || to_row_major(out, header->path, why)) &&
           npy_convert(out, params->dtype, header->path, why);
}

bool npy_take(npy_array *out, input_stream *in, const npy_params *params, complaint *why)
{
    *out = (npy_array){0};
    npy_header header = {.path = in->path};
    const bool done = read_header(&header, in, why) && read_dictionary(&header, why) &&
                      read_array(out, &header, in, params, why);
    free(header.text);
    if (!done)
        npy_free(out);
    return done;
}

bool npy_read(npy_array *out, const char *path, weft_dtype dtype, complaint *why)
{
    *out = (npy_array){0};
    input_stream in;
    const bool done =
        input_open(&in, path, why) && npy_take(out, &in, &(npy_params){.dtype = dtype}, why);
    input_close(&in);
    return done;
}

int64_t npy_extent_from_end(const npy_array *array, int d)
{
    return d < array->ndim ? array->shape[array->ndim - 1 - d] : 1;
}

void npy_free(npy_array *array)
{
    free(array->data);
    *array = (npy_array){0};
}

// Without the byte order.
static const char *type_of(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_F16:
        return "f2";
    case WEFT_BF16:
        return "u2";
    case WEFT_F64:
        return "f8";
    case WEFT_I16:
        return "i2";
    case WEFT_I32:
        return "i4";
    case WEFT_I64:
        return "i8";
    case WEFT_U8:
        return "u1";
    case WEFT_I8:
        return "i1";
    case WEFT_DEFAULT:
    case WEFT_F32:
        break;
    }
    return "f4";
}

static char order_of(weft_dtype dtype)
{
    return weft_dtype_size(dtype) == 1 ? '|' : host_is_big_endian() ? '>' : '<';
}

// The whole head, padded so that elements begin at a multiple of 64 bytes. Returns its length.
static size_t print_head(char head[512], weft_dtype dtype, int ndim, const int64_t *shape)
{
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    size_t n = 10;
    n += (size_t)snprintf(head + n, 64, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                          order_of(dtype), type_of(dtype));
    for (int d = 0; d < ndim; d++)
        n += (size_t)snprintf(head + n, 32, d == 0 ? "%" PRId64 "," : " %" PRId64 ",", shape[d]);
    n -= ndim > 1;
    n += (size_t)snprintf(head + n, 8, "), }");
    while (n % 64 != 63)
        head[n++] = ' ';
    head[n++] = '\n';
    head[8] = (char)((n - 10) & 0xff);
    head[9] = (char)((n - 10) >> 8);
    return n;
}

bool npy_write(const char *path, weft_dtype dtype, int ndim, const int64_t *shape, const void *data,
               complaint *why)
{
    size_t bytes = weft_dtype_size(dtype);
    for (int d = 0; d < ndim; d++)
        bytes *= (size_t)shape[d];
    char head[512];
    const size_t head_size = print_head(head, dtype, ndim, shape);
    return file_save(path, head, head_size, data, bytes, why);
}
