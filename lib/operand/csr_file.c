// SPDX-License-Identifier: Apache-2.0
// A CSR in a binary file: its header checked number by number, mapped, and written.
#include <weft/csr_file.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/element.h"
#include "base/fail.h"
#include "base/os.h"
#include "base/os_file.h"
#include "operand/csr_pattern.h"
#include "operand/view.h"

enum { SECTIONS = 3, VERSION = 1, LEAST_ALIGNMENT = 128, WRITTEN_ALIGNMENT = 4096 };
enum { WHAT_ROOM = 512 }; // the call and its file in messages

static const unsigned char magic[8] = {0x93, 'W', 'E', 'F', 'T', 'C', 'S', 'R'};

typedef struct file_header {
    unsigned char magic[8];
    uint32_t version;
    uint32_t dtypes[SECTIONS]; // of offsets, indices and values
    int64_t n_rows, n_cols, nnz;
    int64_t starts[SECTIONS];
    int64_t file_bytes;
    unsigned char zeros[48];
} file_header;

_Static_assert(sizeof(file_header) == LEAST_ALIGNMENT, "the header has no padding");

struct weft_csr_file {
    weft_mapping mapping;
    weft_csr_host matrix;
};

static weft_status byte_order_check(const char *what)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    if (first != 1)
        return fail(WEFT_UNSUPPORTED, "%s: the file is little-endian, and this host is not", what);
    return WEFT_OK;
}

// ---- the header

static const char *const section_names[SECTIONS] = {"offsets", "indices", "values"};

static weft_status beginning_check(const file_header *header, size_t size, const char *what)
{
    static const unsigned char zeros[sizeof(header->zeros)];
    if (memcmp(header->magic, magic, sizeof(magic)) != 0)
        return fail(WEFT_BAD_DATA, "%s: does not begin as a CSR file", what);
    if (header->version != VERSION)
        return fail(WEFT_UNSUPPORTED, "%s: is of version %" PRIu32 "; this library reads %d", what,
                    header->version, VERSION);
    if (header->file_bytes < 0 || (uint64_t)header->file_bytes != size)
        return fail(WEFT_BAD_DATA, "%s: has %zu bytes, but the header says %" PRId64, what, size,
                    header->file_bytes);
    if (memcmp(header->zeros, zeros, sizeof(zeros)) != 0)
        return fail(WEFT_BAD_DATA, "%s: the end of the header is not 0", what);
    return WEFT_OK;
}

static weft_status dtypes_check(const file_header *header, const char *what)
{
    static const uint32_t least[SECTIONS] = {WEFT_I32, WEFT_I16, WEFT_F32},
                          most[SECTIONS] = {WEFT_I64, WEFT_I32, WEFT_BF16};
    for (int i = 0; i < SECTIONS; i++)
        if (header->dtypes[i] < least[i] || header->dtypes[i] > most[i])
            return fail(WEFT_BAD_DATA,
                        "%s: the data type of the %s is %" PRIu32 ", %" PRIu32 " to %" PRIu32
                        " are possible",
                        what, section_names[i], header->dtypes[i], least[i], most[i]);
    return WEFT_OK;
}

// The sections, one behind the other. Sizes have passed weft_csr_form_check().
static weft_status sections_check(const file_header *header, size_t size, const char *what)
{
    const uint64_t lengths[SECTIONS] = {(uint64_t)header->n_rows + 1, (uint64_t)header->nnz,
                                        (uint64_t)header->nnz};
    uint64_t end = sizeof(*header);
    for (int i = 0; i < SECTIONS; i++) {
        const int64_t start = header->starts[i];
        const size_t element = weft_dtype_size((weft_dtype)header->dtypes[i]);
        if (start < 0 || (uint64_t)start < end || (uint64_t)start > size ||
            start % LEAST_ALIGNMENT != 0)
            return fail(WEFT_BAD_DATA,
                        "%s: the %s begin at byte %" PRId64 ": a multiple of %d from %" PRIu64
                        " to %zu is wanted",
                        what, section_names[i], start, LEAST_ALIGNMENT, end, size);
        if (lengths[i] > (size - (uint64_t)start) / element)
            return fail(WEFT_BAD_DATA,
                        "%s: %" PRIu64 " %s of %zu bytes from byte %" PRId64
                        " on are more than the %zu bytes of the file",
                        what, lengths[i], section_names[i], element, start, size);
        end = (uint64_t)start + lengths[i] * element;
    }
    return WEFT_OK;
}

static weft_status ends_check(const weft_csr_host *matrix, const char *what)
{
    const int64_t first = integer_at(matrix->offsets, matrix->offset_dtype, 0);
    const int64_t last = integer_at(matrix->offsets, matrix->offset_dtype, matrix->n_rows);
    if (first != 0 || last != matrix->nnz)
        return fail(WEFT_BAD_DATA,
                    "%s: offsets go from %" PRId64 " to %" PRId64 ", not from 0 to %" PRId64, what,
                    first, last, matrix->nnz);
    return WEFT_OK;
}

// Into the bytes, which stay const for whoever keeps to the header's words.
static void *section_of(const void *bytes, const file_header *header, int i)
{
    return (void *)((uintptr_t)bytes + (uintptr_t)header->starts[i]);
}

static weft_status view(weft_csr_host *out, const void *bytes, size_t size, const char *what)
{
    file_header header;
    char matrix[WHAT_ROOM + 16];
    TRY(byte_order_check(what));
    if (size < sizeof(header))
        return fail(WEFT_BAD_DATA, "%s: %zu bytes are no CSR file: its header has %zu", what, size,
                    sizeof(header));
    memcpy(&header, bytes, sizeof(header));
    TRY(beginning_check(&header, size, what));
    TRY(dtypes_check(&header, what));

    weft_csr_host found = {.n_rows = header.n_rows,
                           .n_cols = header.n_cols,
                           .nnz = header.nnz,
                           .offset_dtype = (weft_dtype)header.dtypes[0],
                           .index_dtype = (weft_dtype)header.dtypes[1],
                           .dtype = (weft_dtype)header.dtypes[2]};
    const weft_csr form = weft_csr_form(&found);
    snprintf(matrix, sizeof(matrix), "%s: the matrix", what);
    TRY(weft_csr_form_check(&form, matrix));
    TRY(sections_check(&header, size, what));
    found.offsets = section_of(bytes, &header, 0);
    found.indices = section_of(bytes, &header, 1);
    found.values = section_of(bytes, &header, 2);
    TRY(ends_check(&found, what));
    *out = found;
    return WEFT_OK;
}

weft_status weft_csr_file_view(weft_csr_host *out, const void *bytes, size_t size)
{
    static const char what[] = "csr_file_view";
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "%s: out is NULL", what);
    *out = (weft_csr_host){0};
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "%s: bytes is NULL", what);
    if ((uintptr_t)bytes % 8 != 0)
        return fail(WEFT_BAD_ARGUMENT, "%s: the bytes begin at no multiple of 8", what);
    return view(out, bytes, size, what);
}

// ---- reading

static weft_status fail_by(const char *what, const char *path, int code)
{
    char reason[256];
    weft_os_error_text(code, reason, sizeof(reason));
    return fail(weft_os_is_no_memory(code) ? WEFT_NO_MEMORY : WEFT_BAD_ARGUMENT, "%s: %s: %s", what,
                path, reason);
}

weft_status weft_csr_file_open(weft_csr_file **out, const char *path)
{
    static const char what[] = "csr_file_open";
    if (!out)
        return fail(WEFT_BAD_ARGUMENT, "%s: out is NULL", what);
    *out = NULL;
    if (!path)
        return fail(WEFT_BAD_ARGUMENT, "%s: path is NULL", what);
    weft_csr_file *file = calloc(1, sizeof(*file));
    if (!file)
        return fail(WEFT_NO_MEMORY, "%s: no memory for the file's state", what);

    char named[WHAT_ROOM];
    snprintf(named, sizeof(named), "%s: %s", what, path);
    const int code = weft_os_map(&file->mapping, path);
    const weft_status status =
        code == 0 ? view(&file->matrix, file->mapping.bytes, file->mapping.size, named)
                  : fail_by(what, path, code);
    if (status == WEFT_OK)
        *out = file;
    else
        weft_csr_file_close(&file);
    return status;
}

void weft_csr_file_close(weft_csr_file **file)
{
    if (!file || !*file)
        return;
    weft_os_unmap(&(*file)->mapping);
    free(*file);
    *file = NULL;
}

const weft_csr_host *weft_csr_file_matrix(const weft_csr_file *file)
{
    return &file->matrix;
}

// ---- writing

static file_header header_of(const weft_csr_host *host)
{
    const weft_csr form = weft_csr_form(host);
    file_header header = {.version = VERSION,
                          .dtypes = {form.offset_dtype, form.index_dtype, form.dtype},
                          .n_rows = form.n_rows,
                          .n_cols = form.n_cols,
                          .nnz = form.nnz};
    const int64_t lengths[SECTIONS] = {form.n_rows + 1, form.nnz, form.nnz};
    memcpy(header.magic, magic, sizeof(magic));
    header.file_bytes = sizeof(header);
    for (int i = 0; i < SECTIONS; i++) {
        const int64_t blocks = (header.file_bytes + WRITTEN_ALIGNMENT - 1) / WRITTEN_ALIGNMENT;
        header.starts[i] = blocks * WRITTEN_ALIGNMENT;
        header.file_bytes =
            header.starts[i] + lengths[i] * (int64_t)weft_dtype_size((weft_dtype)header.dtypes[i]);
    }
    return header;
}

// Zeros up to byte `start`, and the array up to byte `end`. `at` is where the stream stands.
static bool write_section(FILE *stream, int64_t at, int64_t start, int64_t end, const void *array)
{
    static const char zeros[WRITTEN_ALIGNMENT];
    const size_t gap = (size_t)(start - at), size = (size_t)(end - start);
    return fwrite(zeros, 1, gap, stream) == gap &&
           (size == 0 || fwrite(array, 1, size, stream) == size);
}

static bool write_all(FILE *stream, const weft_csr_host *host)
{
    const file_header header = header_of(host);
    const void *const arrays[SECTIONS] = {host->offsets, host->indices, host->values};
    const int64_t lengths[SECTIONS] = {host->n_rows + 1, host->nnz, host->nnz};
    int64_t at = sizeof(header);
    bool done = fwrite(&header, sizeof(header), 1, stream) == 1;
    for (int i = 0; done && i < SECTIONS; i++) {
        const size_t element = weft_dtype_size((weft_dtype)header.dtypes[i]);
        const int64_t end = header.starts[i] + lengths[i] * (int64_t)element;
        done = write_section(stream, at, header.starts[i], end, arrays[i]);
        at = end;
    }
    return done;
}

weft_status weft_csr_file_write(const char *path, const weft_csr_host *host)
{
    static const char what[] = "csr_file_write";
    if (!path)
        return fail(WEFT_BAD_ARGUMENT, "%s: path is NULL", what);
    TRY(byte_order_check(what));
    TRY(weft_csr_host_check(host, WEFT_CSR_SOUND));

    weft_replacement file;
    int code = weft_os_replace_begin(&file, path);
    if (code == 0) {
        errno = 0;
        code = weft_os_replace_end(&file, write_all(file.stream, host));
    }
    return code == 0 ? WEFT_OK : fail_by(what, path, code);
}
