// SPDX-License-Identifier: Apache-2.0
// Reading files: plain bytes, gzip, members of archives.
#include "input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"

// ---- bytes of the file

static bool complain_errno(const input_stream *in, complaint *why)
{
    return complain(why, "%s: %s", in->path, strerror(errno));
}

// *n is 0 at the end of the file, or of the member.
static bool read_file(input_stream *in, void *bytes, size_t size, size_t *n, complaint *why)
{
    const bool is_bounded = in->is_member && size > in->left;
    *n = fread(bytes, 1, is_bounded ? (size_t)in->left : size, in->stream);
    if (ferror(in->stream))
        return complain_errno(in, why);
    in->n_packed += *n;
    if (in->left != UINT64_MAX)
        in->left -= *n < in->left ? *n : in->left;
    return true;
}

static bool read_chunk(input_stream *in, complaint *why)
{
    in->chunk_at = 0;
    return read_file(in, in->chunk, sizeof(in->chunk), &in->n_chunk, why);
}

// The rest of the chunk, and then of the file.
static bool read_plain(input_stream *in, void *bytes, size_t size, size_t *n, complaint *why)
{
    const size_t kept = in->n_chunk - in->chunk_at;
    const size_t taken = kept < size ? kept : size;
    memcpy(bytes, in->chunk + in->chunk_at, taken);
    in->chunk_at += taken;
    *n = 0;
    const bool done = taken == size || read_file(in, (char *)bytes + taken, size - taken, n, why);
    *n += taken;
    return done;
}

// ---- unpacked

static bool begin_to_inflate(input_stream *in, complaint *why)
{
    enum { RAW = -MAX_WBITS, GZIP = MAX_WBITS + 16 };
    in->is_packed = inflateInit2(&in->inflate, in->is_member ? RAW : GZIP) == Z_OK;
    return in->is_packed || complain(why, "%s: no memory to decompress it", in->path);
}

// Gzip files may be concatenated. Other data after them are ignored.
static bool end_stream(input_stream *in, complaint *why)
{
    if (!in->is_member && in->chunk_at == in->n_chunk && !read_chunk(in, why))
        return false;
    in->is_ended = in->is_member || in->chunk_at == in->n_chunk || in->chunk[in->chunk_at] != 0x1f;
    return in->is_ended || inflateReset(&in->inflate) == Z_OK ||
           complain(why, "%s: no memory to decompress it", in->path);
}

static bool inflate_chunk(input_stream *in, complaint *why)
{
    z_stream *z = &in->inflate;
    if (in->chunk_at == in->n_chunk && !read_chunk(in, why))
        return false;
    if (in->n_chunk == 0)
        return complain(why, "%s: its compressed data is truncated", in->path);
    z->next_in = in->chunk + in->chunk_at;
    z->avail_in = (uInt)(in->n_chunk - in->chunk_at);
    const int code = inflate(z, Z_NO_FLUSH);
    in->chunk_at = in->n_chunk - z->avail_in;
    if (code == Z_STREAM_END)
        return end_stream(in, why);
    return code == Z_OK || code == Z_BUF_ERROR ||
           complain(why, "%s: its compressed data is damaged: %s", in->path,
                    z->msg != NULL ? z->msg : "it makes no sense");
}

static bool read_packed(input_stream *in, void *bytes, size_t size, size_t *n, complaint *why)
{
    enum { MOST = 1 << 30 };
    bool done = true;
    for (*n = 0; done && *n < size && !in->is_ended;) {
        const size_t room = size - *n < MOST ? size - *n : MOST;
        in->inflate.next_out = (unsigned char *)bytes + *n;
        in->inflate.avail_out = (uInt)room;
        done = inflate_chunk(in, why);
        *n += room - in->inflate.avail_out;
    }
    return done;
}

// ---- either

static bool check_member(const input_stream *in, complaint *why)
{
    return (in->n_read == in->member_bytes && in->crc == in->member_crc) ||
           complain(why, "%s: is damaged: its checksum or its size is not the archive's", in->path);
}

static bool read_next(input_stream *in, void *bytes, size_t size, size_t *n, complaint *why)
{
    if (!(in->is_packed ? read_packed : read_plain)(in, bytes, size, n, why))
        return false;
    in->n_read += *n;
    if (!in->is_member)
        return true;
    in->crc = (uint32_t)crc32_z(in->crc, bytes, *n);
    return *n == size || check_member(in, why);
}

bool input_read(input_stream *in, void *bytes, size_t size, size_t *n, complaint *why)
{
    const size_t kept = in->n_head - in->head_at;
    const size_t taken = kept < size ? kept : size;
    memcpy(bytes, in->head + in->head_at, taken);
    in->head_at += taken;
    *n = 0;
    const bool done = taken == size || read_next(in, (char *)bytes + taken, size - taken, n, why);
    *n += taken;
    return done;
}

size_t input_peek(const input_stream *in, const char **bytes)
{
    *bytes = in->head + in->head_at;
    return in->n_head - in->head_at;
}

uint64_t input_left(const input_stream *in)
{
    const uint64_t kept = in->n_head - in->head_at;
    if (in->is_member)
        return kept + (in->member_bytes > in->n_read ? in->member_bytes - in->n_read : 0);
    if (in->is_packed || in->left == UINT64_MAX)
        return UINT64_MAX;
    return kept + (in->n_chunk - in->chunk_at) + in->left;
}

bool input_is_bloated(const input_stream *in)
{
    const uint64_t small = UINT64_C(64) << 20, most_times = 256;
    return in->is_packed && in->n_read > small && in->n_read / most_times > in->n_packed;
}

// ---- opening

// Of "FILE.npz:NAME" the name, "" of "FILE.npz", or NULL of anything else.
static const char *member_name(const char *path)
{
    const char *name = NULL;
    for (const char *at = path; *at != '\0'; at++)
        if (strncasecmp(at, ".npz", 4) == 0 && (at[4] == ':' || at[4] == '\0'))
            name = at + 4 + (at[4] == ':');
    return name;
}

static FILE *open_stream(const char *path, const char *name)
{
    const size_t length = name == NULL    ? strlen(path)
                          : *name == '\0' ? strlen(path) - (name[-1] == ':')
                                          : (size_t)(name - 1 - path);
    char *file = strndup(path, length);
    FILE *stream = file != NULL ? fopen(file, "rb") : NULL;
    free(file);
    return stream;
}

static bool begin_member(input_stream *in, const char *name, complaint *why)
{
    archive_member member;
    if (!archive_find(&member, in->stream, in->path, *name != '\0' ? name : NULL, why))
        return false;
    in->is_member = true;
    in->left = member.packed_bytes;
    in->member_bytes = member.bytes;
    in->member_crc = member.crc;
    if (fseeko(in->stream, (off_t)member.at, SEEK_SET) != 0)
        return complain_errno(in, why);
    return !member.is_deflated || begin_to_inflate(in, why);
}

// Remaining bytes of a file whose size is known.
static uint64_t bytes_left(FILE *stream)
{
    struct stat status;
    const off_t at = lseek(fileno(stream), 0, SEEK_CUR);
    if (at < 0 || fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size <= at)
        return UINT64_MAX;
    return (uint64_t)(status.st_size - at);
}

static bool begin_file(input_stream *in, complaint *why)
{
    in->left = bytes_left(in->stream);
    if (!read_chunk(in, why))
        return false;
    const bool is_gzip = in->n_chunk >= 2 && in->chunk[0] == 0x1f && in->chunk[1] == 0x8b;
    return !is_gzip || begin_to_inflate(in, why);
}

bool input_open(input_stream *out, const char *path, complaint *why)
{
    const char *name = member_name(path);
    *out = (input_stream){.path = path};
    if (strcmp(path, "-") == 0 && feof(stdin))
        return complain(why, "-: only one operand can be standard input");
    out->stream = strcmp(path, "-") == 0 ? stdin : open_stream(path, name);
    if (out->stream == NULL)
        return complain_errno(out, why);
    return (name != NULL ? begin_member(out, name, why) : begin_file(out, why)) &&
           read_next(out, out->head, sizeof(out->head), &out->n_head, why);
}

void input_close(input_stream *in)
{
    if (in->is_packed)
        inflateEnd(&in->inflate);
    if (in->stream != NULL && in->stream != stdin)
        fclose(in->stream);
    *in = (input_stream){0};
}
