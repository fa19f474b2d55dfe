// SPDX-License-Identifier: Apache-2.0
// A whole file in memory, and back. "-" is standard input, or standard output.
#ifndef WEFT_TOOLS_FILE_H
#define WEFT_TOOLS_FILE_H

#include <stddef.h>

#include "complaint.h"
#include "input.h"

typedef struct loaded_file {
    char *bytes; // malloc'd; one NUL more stands behind them, so that number scanners stop
    size_t size;
} loaded_file;

// All that input_open() opens, to its end. What unpacks to more than 64 MiB, and to more than 256
// times what it is in the file, is refused.
bool file_load(loaded_file *out, const char *path, complaint *why);

// What is left of it.
bool file_load_rest(loaded_file *out, input_stream *in, complaint *why);

// Frees the bytes and zeroes the struct.
void file_free(loaded_file *file);

// Whether the name is one of standard output's: "-", "/dev/stdout" and the like.
bool file_is_standard_output(const char *path);

// Whether file_save() may be expected to write there: folder and permissions are tried, and what
// stands there is left alone. NULL is no file, and fine.
bool file_can_save(const char *path, complaint *why);

// Writes `head` and then `body`, replacing what stood there once all is written: a failure leaves
// the old file as it was, or none. Permissions stay those of the old file, and symbolic links are
// followed. What is no regular file, such as a pipe or a device, is written to.
bool file_save(const char *path, const void *head, size_t head_size, const void *body,
               size_t body_size, complaint *why);

#endif
