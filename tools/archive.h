// SPDX-License-Identifier: Apache-2.0
// Positions of members in zip archives, as NumPy's .npz are. Stored or deflated ones, of any size.
#ifndef WEFT_TOOLS_ARCHIVE_H
#define WEFT_TOOLS_ARCHIVE_H

#include <stdint.h>
#include <stdio.h>

#include "complaint.h"

typedef struct archive_member {
    uint64_t at;           // of its first byte in the file
    uint64_t packed_bytes; // in the file
    uint64_t bytes;        // unpacked, as the archive says
    uint32_t crc;          // of those
    bool is_deflated;
} archive_member;

// The member of that name, with or without .npy; NULL for the only one. `path` is for the
// complaint. The stream must be seekable.
bool archive_find(archive_member *out, FILE *stream, const char *path, const char *name,
                  complaint *why);

#endif
