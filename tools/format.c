// SPDX-License-Identifier: Apache-2.0
// Detects formats of files.
#include "format.h"

#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *end;
    file_format format;
} formats[] = {
    {"npy", ".npy", FORMAT_NPY},
    {"mtx", ".mtx", FORMAT_MTX},
    {"smtx", ".smtx", FORMAT_SMTX},
    {"csr", ".csr", FORMAT_CSR},
};

enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

bool format_find(const char *name, file_format *out)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (strcmp(name, formats[i].name) == 0) {
            *out = formats[i].format;
            return true;
        }
    return false;
}

static bool ends_with(const char *path, size_t length, const char *end)
{
    const size_t own = strlen(end);
    return length > own && strncasecmp(path + length - own, end, own) == 0;
}

file_format format_of_name(const char *path)
{
    size_t length = strlen(path);
    if (ends_with(path, length, ".gz"))
        length -= 3;
    for (int i = 0; i < N_FORMATS; i++)
        if (ends_with(path, length, formats[i].end))
            return formats[i].format;
    return ends_with(path, length, ".npz") || strcasestr(path, ".npz:") != NULL ? FORMAT_NPY
                                                                                : FORMAT_UNKNOWN;
}

bool format_is_sparse(const char *path)
{
    const file_format format = format_of_name(path);
    return format == FORMAT_MTX || format == FORMAT_SMTX || format == FORMAT_CSR;
}

// After a byte order mark, blanks and empty lines.
static size_t first_word(const char *bytes, size_t size)
{
    size_t at = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < size && bytes[at] != '\0' && strchr(" \t\r\n", bytes[at]) != NULL)
        at++;
    return at;
}

static bool begins_with(const char *bytes, size_t size, const char *text)
{
    return size >= strlen(text) && strncasecmp(bytes, text, strlen(text)) == 0;
}

// The first of three numbers between commas.
static bool begins_like_smtx(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && bytes[at] >= '0' && bytes[at] <= '9')
        at++;
    const size_t n_digits = at;
    while (at < size && bytes[at] == ' ')
        at++;
    return n_digits > 0 && at < size && bytes[at] == ',';
}

file_format format_of_content(const char *bytes, size_t size)
{
    if (size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0)
        return FORMAT_NPY;
    if (size >= 8 && memcmp(bytes, "\x93WEFTCSR", 8) == 0)
        return FORMAT_CSR;
    const size_t at = first_word(bytes, size);
    if (begins_with(bytes + at, size - at, "%%MatrixMarket"))
        return FORMAT_MTX;
    return begins_like_smtx(bytes + at, size - at) ? FORMAT_SMTX : FORMAT_UNKNOWN;
}
