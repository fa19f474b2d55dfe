// SPDX-License-Identifier: Apache-2.0
// Sequential reading of operands' files: as they are, packed by gzip under any name, or members of
// an archive, "FILE.npz:NAME". "-" is standard input, which is read once.
#ifndef WEFT_TOOLS_INPUT_H
#define WEFT_TOOLS_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <zlib.h>

#include "complaint.h"

enum { INPUT_PEEK = 512, INPUT_CHUNK = 32768 };

typedef struct input_stream {
    const char *path;
    FILE *stream;
    z_stream inflate;
    bool is_packed, is_member; // inflated; of an archive
    bool is_ended;             // inflate has met the end
    uint64_t left;             // bytes in the file; UINT64_MAX if unknown
    uint64_t n_packed, n_read; // from the file, and unpacked
    uint64_t member_bytes;     // of a member, unpacked
    uint32_t crc, member_crc;  // so far, and in the archive
    size_t n_head, head_at;    // of the peeked bytes
    size_t n_chunk, chunk_at;
    char head[INPUT_PEEK];
    unsigned char chunk[INPUT_CHUNK]; // bytes of the file
} input_stream;

// The caller closes it, even after a failure.
bool input_open(input_stream *out, const char *path, complaint *why);
void input_close(input_stream *in);

// The first bytes, fewer than INPUT_PEEK only if the file is shorter; they are read again.
size_t input_peek(const input_stream *in, const char **bytes);

// The next `size` bytes, fewer only at the end: *n.
bool input_read(input_stream *in, void *bytes, size_t size, size_t *n, complaint *why);

// Bytes still to be read, UINT64_MAX if unknown.
uint64_t input_left(const input_stream *in);

// Whether the unpacked size is impossible for a text file of the packed size.
bool input_is_bloated(const input_stream *in);

#endif
