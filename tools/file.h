// SPDX-License-Identifier: Apache-2.0
// A whole file in memory, and back. "-" is standard input, or standard output.
#ifndef WEFT_TOOLS_FILE_H
#define WEFT_TOOLS_FILE_H

#include <stddef.h>

#include "complaint.h"
#include "input.h"

typedef struct loaded_file {
    char *bytes; // malloc'd; followed by a NUL, so that number scanners stop
    size_t size;
} loaded_file;

// All of the open input, to its end. An input that unpacks to more than 64 MiB, and to more than
// 256 times its size in the file, is refused.
bool file_load(loaded_file *out, const char *path, complaint *why);

// The rest of it.
bool file_load_rest(loaded_file *out, input_stream *in, complaint *why);

// Frees the bytes and zeroes the struct.
void file_free(loaded_file *file);

// Whether the name is one for standard output: "-", "/dev/stdout" and the like.
bool file_is_standard_output(const char *path);

// Whether file_save() is likely to succeed: folder and permissions are tried, and an existing file
// is not changed. NULL is no file, and fine.
bool file_can_save(const char *path, complaint *why);

// Writes `head` and then `body`, and replaces the old file once all is written: after a failure the
// old file is as it was, or there is none. Permissions stay those of the old file, and symbolic
// links are followed. A destination that is no regular file, such as a pipe or a device, is written
// to.
bool file_save(const char *path, const void *head, size_t head_size, const void *body,
               size_t body_size, complaint *why);

#endif
