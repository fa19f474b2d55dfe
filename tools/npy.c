// SPDX-License-Identifier: Apache-2.0
// .npy files: a magic number, a header that is a Python dictionary, the elements.
#include "npy.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scalar.h"

// The header while it is read. A field is known once `has_` says so.
typedef struct npy_header {
    const char *path;
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

// Takes `text` if it comes next.
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

// A whole number that fits; Python 2 wrote some with an L behind.
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
            return complain_header(header, "an extent in 'shape' is no whole number of 63 bits",
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
        return header->has_descr || complain_header(header, "'descr' is no simple data type", why);
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
    if (header->is_fortran)
        return complain(why, "%s: the array is in Fortran order; only C order is read",
                        header->path);
    return true;
}

static uint64_t little_endian(const unsigned char *bytes, int n)
{
    uint64_t value = 0;
    for (int i = n - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

// Finds the header between magic number and elements.
static bool find_header(npy_header *header, const loaded_file *file, complaint *why)
{
    const unsigned char *bytes = (const unsigned char *)file->bytes;
    if (file->size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return complain(why, "%s: no .npy file, or one cut short: %zu bytes", header->path,
                        file->size);
    if (bytes[6] < 1 || bytes[6] > 3)
        return complain(why, "%s: .npy version %d.%d; versions 1 to 3 are read", header->path,
                        bytes[6], bytes[7]);
    const size_t start = bytes[6] == 1 ? 10 : 12;
    if (file->size < start)
        return complain(why, "%s: cut short: %zu bytes", header->path, file->size);
    const uint64_t length = little_endian(bytes + 8, (int)start - 8);
    if (length > file->size - start)
        return complain(why, "%s: the header has %" PRIu64 " bytes, the file ends after %zu",
                        header->path, length, file->size - start);
    header->at = file->bytes + start;
    header->end = header->at + length;
    return true;
}

static bool find_dtype(const npy_header *header, const npy_params *params, weft_dtype *out,
                       complaint *why)
{
    static const struct {
        const char *descr;
        weft_dtype dtype;
    } known[] = {{"<f2", WEFT_F16}, {"<f4", WEFT_F32}, {"<f8", WEFT_F64}, {"<i4", WEFT_I32},
                 {"<i8", WEFT_I64}, {"<i2", WEFT_I16}, {"|u1", WEFT_U8},  {"<u1", WEFT_U8},
                 {"|i1", WEFT_I8},  {"<i1", WEFT_I8},  {"<u2", WEFT_BF16}};
    *out = WEFT_DEFAULT;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(header->descr, known[i].descr) == 0)
            *out = known[i].dtype;
    if (header->descr[0] == '>')
        return complain(why, "%s: elements are big-endian ('%s'); only little-endian ones are read",
                        header->path, header->descr);
    if (*out == WEFT_DEFAULT)
        return complain(why,
                        "%s: elements of type '%s'; f2, f4, f8, i1, i2, i4, i8 and u1 are read",
                        header->path, header->descr);
    if (*out == WEFT_BF16 && params->dtype != WEFT_BF16 &&
        !(params->u2_is_bf16 && params->dtype == WEFT_DEFAULT))
        return complain(why, "%s: elements of type '<u2', which can only be read as bf16",
                        header->path);
    return true;
}

// Elements of the shape; false where they do not fit 63 bits of bytes.
static bool count_elements(const npy_header *header, weft_dtype dtype, int64_t *count)
{
    const int64_t limit = INT64_MAX / (int64_t)weft_dtype_size(dtype);
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

static bool check_size(const npy_header *header, const loaded_file *file, weft_dtype dtype,
                       int64_t *count, complaint *why)
{
    const uint64_t held = (uint64_t)(file->bytes + file->size - header->end);
    if (!count_elements(header, dtype, count))
        return complain(why, "%s: the shape has more elements than any file", header->path);
    const uint64_t needed = (uint64_t)*count * weft_dtype_size(dtype);
    if (needed != held)
        return complain(why,
                        "%s: the shape needs %" PRIu64 " bytes of elements (%" PRId64
                        " of %zu), the file holds %" PRIu64,
                        header->path, needed, *count, weft_dtype_size(dtype), held);
    return true;
}

// Hands the file's memory on, the elements moved to its start.
static void adopt(npy_array *out, loaded_file *file, const char *elements)
{
    memmove(file->bytes, elements, (size_t)out->count * weft_dtype_size(out->dtype));
    out->data = file->bytes;
    *file = (loaded_file){0};
}

bool npy_convert(npy_array *array, weft_dtype dtype, const char *path, complaint *why)
{
    if (dtype == WEFT_DEFAULT || dtype == array->dtype)
        return true;
    if (!scalar_is_float(dtype))
        return complain(why, "%s: holds %s, but %s is needed", path, weft_dtype_name(array->dtype),
                        weft_dtype_name(dtype));
    const size_t bytes = (size_t)array->count * weft_dtype_size(dtype);
    void *data = malloc(bytes > 0 ? bytes : 1);
    if (data == NULL)
        return complain(why, "%s: no memory for %" PRId64 " elements", path, array->count);
    for (int64_t i = 0; i < array->count; i++)
        scalar_put(dtype, data, i, scalar_get(array->dtype, array->data, i));
    free(array->data);
    array->data = data;
    array->dtype = dtype;
    return true;
}

bool npy_parse(npy_array *out, const char *path, loaded_file *file, const npy_params *params,
               complaint *why)
{
    *out = (npy_array){0};
    npy_header header = {.path = path};
    bool done = find_header(&header, file, why) && read_dictionary(&header, why) &&
                find_dtype(&header, params, &out->dtype, why) &&
                check_size(&header, file, out->dtype, &out->count, why);
    if (done) {
        out->ndim = header.ndim;
        memcpy(out->shape, header.shape, sizeof(out->shape));
        adopt(out, file, header.end);
    }
    done = done && npy_convert(out, params->dtype, path, why);
    if (!done)
        npy_free(out);
    return done;
}

bool npy_read(npy_array *out, const char *path, weft_dtype dtype, complaint *why)
{
    *out = (npy_array){0};
    loaded_file file;
    if (!file_load(&file, path, why))
        return false;
    const bool done = npy_parse(out, path, &file, &(npy_params){.dtype = dtype}, why);
    file_free(&file);
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

static const char *descr_of(weft_dtype dtype)
{
    switch (dtype) {
    case WEFT_F16:
        return "<f2";
    case WEFT_BF16:
        return "<u2";
    case WEFT_F64:
        return "<f8";
    case WEFT_I16:
        return "<i2";
    case WEFT_I32:
        return "<i4";
    case WEFT_I64:
        return "<i8";
    case WEFT_U8:
        return "|u1";
    case WEFT_I8:
        return "|i1";
    case WEFT_DEFAULT:
    case WEFT_F32:
        break;
    }
    return "<f4";
}

// The whole head, padded so that elements begin at a multiple of 64 bytes. Returns its length.
static size_t print_head(char head[512], weft_dtype dtype, int ndim, const int64_t *shape)
{
    memcpy(head, "\x93NUMPY\x01\x00", 8);
    size_t n = 10;
    n += (size_t)snprintf(head + n, 64, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                          descr_of(dtype));
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
