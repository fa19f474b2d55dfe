// SPDX-License-Identifier: Apache-2.0
// Zip archives: a directory at the end, which the last record points to, and members anywhere.
#include "archive.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum {
    END_BYTES = 22,
    COMMENT_BYTES = 65535,
    LOCATOR_BYTES = 20,
    END64_BYTES = 56,
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
};

static const uint32_t IN_64 = UINT32_MAX; // the number is in another field, in 64 bits

// State of the search for a member.
typedef struct archive {
    FILE *stream;
    const char *path;
    uint64_t file_bytes;
    unsigned char *directory; // malloc'd
    uint64_t directory_at, directory_bytes, n_entries;
} archive;

// One entry of the directory.
typedef struct entry {
    const unsigned char *bytes; // its fixed part
    const char *name;
    size_t name_length, extra_length, all_length;
} entry;

static uint64_t number_at(const unsigned char *bytes, int n_bytes)
{
    uint64_t value = 0;
    for (int i = n_bytes - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static bool complain_damaged(const archive *zip, const char *what, complaint *why)
{
    return complain(why, "%s: damaged archive: %s", zip->path, what);
}

static bool read_at(const archive *zip, uint64_t at, void *bytes, size_t size, complaint *why)
{
    if (at > zip->file_bytes || size > zip->file_bytes - at)
        return complain_damaged(zip, "a part is beyond its end", why);
    return (fseeko(zip->stream, (off_t)at, SEEK_SET) == 0 &&
            fread(bytes, 1, size, zip->stream) == size) ||
           complain(why, "%s: the archive cannot be read", zip->path);
}

// Position and contents of the file's last record, which a comment may follow.
static bool find_end(const archive *zip, uint64_t *at, unsigned char end[END_BYTES], complaint *why)
{
    const uint64_t most = END_BYTES + COMMENT_BYTES;
    const size_t size = (size_t)(zip->file_bytes < most ? zip->file_bytes : most);
    const uint64_t start = zip->file_bytes - size;
    unsigned char *tail = malloc(size + 1);
    if (tail == NULL)
        return complain(why, "%s: no memory for the archive's directory", zip->path);
    bool done = read_at(zip, start, tail, size, why), found = false;
    for (size_t i = size; done && !found && i >= END_BYTES; i--) {
        const unsigned char *here = tail + i - END_BYTES;
        found = memcmp(here, "PK\5\6", 4) == 0 && number_at(here + 20, 2) == size - i;
        *at = start + i - END_BYTES;
        if (found)
            memcpy(end, here, END_BYTES);
    }
    free(tail);
    return found ||
           (done && complain(why, "%s: is not an archive (.npz), or is truncated", zip->path));
}

// The same for archives with numbers beyond 32 bits.
static bool find_end_in_64(archive *zip, uint64_t end_at, complaint *why)
{
    unsigned char locator[LOCATOR_BYTES], end[END64_BYTES];
    if (end_at < LOCATOR_BYTES ||
        !read_at(zip, end_at - LOCATOR_BYTES, locator, LOCATOR_BYTES, why))
        return end_at >= LOCATOR_BYTES || complain_damaged(zip, "it has no directory", why);
    if (memcmp(locator, "PK\6\7", 4) != 0)
        return true;
    if (!read_at(zip, number_at(locator + 8, 8), end, END64_BYTES, why))
        return false;
    zip->n_entries = number_at(end + 32, 8);
    zip->directory_bytes = number_at(end + 40, 8);
    zip->directory_at = number_at(end + 48, 8);
    return memcmp(end, "PK\6\6", 4) == 0 || complain_damaged(zip, "it has no directory", why);
}

static bool read_directory(archive *zip, complaint *why)
{
    unsigned char end[END_BYTES];
    uint64_t end_at = 0;
    if (!find_end(zip, &end_at, end, why))
        return false;
    zip->n_entries = number_at(end + 10, 2);
    zip->directory_bytes = number_at(end + 12, 4);
    zip->directory_at = number_at(end + 16, 4);
    if (zip->directory_at == IN_64 && !find_end_in_64(zip, end_at, why))
        return false;
    if (zip->directory_bytes > zip->file_bytes)
        return complain_damaged(zip, "its directory is larger than the file", why);
    zip->directory = malloc((size_t)zip->directory_bytes + 1);
    return zip->directory == NULL
               ? complain(why, "%s: no memory for the archive's directory", zip->path)
               : read_at(zip, zip->directory_at, zip->directory, (size_t)zip->directory_bytes, why);
}

static bool read_entry(entry *out, const archive *zip, size_t at, complaint *why)
{
    const size_t left = (size_t)zip->directory_bytes - at;
    const unsigned char *bytes = zip->directory + at;
    if (left < ENTRY_BYTES || memcmp(bytes, "PK\1\2", 4) != 0)
        return complain_damaged(zip, "its directory ends too early", why);
    *out = (entry){.bytes = bytes,
                   .name = (const char *)bytes + ENTRY_BYTES,
                   .name_length = (size_t)number_at(bytes + 28, 2),
                   .extra_length = (size_t)number_at(bytes + 30, 2)};
    out->all_length =
        ENTRY_BYTES + out->name_length + out->extra_length + (size_t)number_at(bytes + 32, 2);
    return out->all_length <= left || complain_damaged(zip, "its directory ends too early", why);
}

static bool is_named(const entry *one, const char *name)
{
    const size_t length = strlen(name);
    return one->name_length >= length && memcmp(one->name, name, length) == 0 &&
           (one->name_length == length ||
            (one->name_length == length + 4 && memcmp(one->name + length, ".npy", 4) == 0));
}

// The next 64-bit number of the extra field, if `value` refers to it.
static bool widen(uint64_t *value, const unsigned char **field, size_t *length)
{
    if (*value != IN_64)
        return true;
    if (*length < 8)
        return false;
    *value = number_at(*field, 8);
    *field += 8;
    *length -= 8;
    return true;
}

static bool find_numbers(archive_member *out, uint64_t *local_at, const entry *one)
{
    const unsigned char *extra = (const unsigned char *)one->name + one->name_length;
    const unsigned char *const stop = extra + one->extra_length;
    size_t length = 0;
    out->packed_bytes = number_at(one->bytes + 20, 4);
    out->bytes = number_at(one->bytes + 24, 4);
    *local_at = number_at(one->bytes + 42, 4);
    for (; stop - extra >= 4; extra += 4 + length) {
        length = (size_t)number_at(extra + 2, 2);
        if (length > (size_t)(stop - extra - 4))
            return false;
        if (number_at(extra, 2) == 1) {
            const unsigned char *field = extra + 4;
            return widen(&out->bytes, &field, &length) &&
                   widen(&out->packed_bytes, &field, &length) && widen(local_at, &field, &length);
        }
    }
    return true;
}

static bool take_entry(archive_member *out, const archive *zip, const entry *one, complaint *why)
{
    enum { STORED = 0, DEFLATED = 8 };
    unsigned char local[LOCAL_BYTES];
    uint64_t local_at = 0;
    const uint64_t method = number_at(one->bytes + 10, 2);
    *out = (archive_member){.crc = (uint32_t)number_at(one->bytes + 16, 4),
                            .is_deflated = method == DEFLATED};
    if (number_at(one->bytes + 8, 2) & 1 || (method != STORED && method != DEFLATED))
        return complain(why,
                        "%s: is encrypted, or compressed by method %" PRIu64
                        "; stored and deflated members are read",
                        zip->path, method);
    if (!find_numbers(out, &local_at, one))
        return complain_damaged(zip, "its directory ends too early", why);
    if (!read_at(zip, local_at, local, LOCAL_BYTES, why))
        return false;
    out->at = local_at + LOCAL_BYTES + number_at(local + 26, 2) + number_at(local + 28, 2);
    if (memcmp(local, "PK\3\4", 4) != 0 || out->at > zip->file_bytes ||
        out->packed_bytes > zip->file_bytes - out->at)
        return complain_damaged(zip, "a member is not at the place in its directory", why);
    return true;
}

// Names of members, as many as fit.
static void list_names(char *text, size_t size, const archive *zip)
{
    complaint ignored;
    entry one;
    size_t at = 0, n = 0;
    text[0] = '\0';
    for (uint64_t i = 0; i < zip->n_entries && n < size && read_entry(&one, zip, at, &ignored);
         i++) {
        const size_t end = one.name_length;
        const bool is_npy = end > 4 && memcmp(one.name + end - 4, ".npy", 4) == 0;
        n += (size_t)snprintf(text + n, size - n, "%s%.*s", i > 0 ? ", " : "",
                              (int)(is_npy ? end - 4 : end), one.name);
        at += one.all_length;
    }
}

static bool find_entry(archive_member *out, const archive *zip, const char *name, complaint *why)
{
    char names[256];
    size_t at = 0;
    for (uint64_t i = 0; i < zip->n_entries; i++) {
        entry one;
        if (!read_entry(&one, zip, at, why))
            return false;
        if (name != NULL ? is_named(&one, name) : zip->n_entries == 1)
            return take_entry(out, zip, &one, why);
        at += one.all_length;
    }
    list_names(names, sizeof(names), zip);
    return complain(why, "%s: holds the arrays %s; name one after a colon, as FILE.npz:NAME",
                    zip->path, names);
}

bool archive_find(archive_member *out, FILE *stream, const char *path, const char *name,
                  complaint *why)
{
    archive zip = {.stream = stream, .path = path};
    const off_t size = fseeko(stream, 0, SEEK_END) == 0 ? ftello(stream) : -1;
    if (size < 0)
        return complain(why, "%s: an archive must be a file, not a pipe", path);
    zip.file_bytes = (uint64_t)size;
    const bool done = read_directory(&zip, why) && find_entry(out, &zip, name, why);
    free(zip.directory);
    return done;
}
