// SPDX-License-Identifier: Apache-2.0
// A whole file in memory.
#ifndef WEFT_TOOLS_FILE_H
#define WEFT_TOOLS_FILE_H

#include <stddef.h>

#include "complaint.h"

typedef struct loaded_file {
    char *bytes; // malloc'd; one NUL more stands behind them, so that number scanners stop
    size_t size;
} loaded_file;

// Anything that can be read to its end: a pipe too, not a directory.
bool file_load(loaded_file *out, const char *path, complaint *why);

// Frees the bytes and zeroes the struct.
void file_free(loaded_file *file);

// Writes `head` and then `body`, replacing what stood there.
bool file_save(const char *path, const void *head, size_t head_size, const void *body,
               size_t body_size, complaint *why);

#endif
