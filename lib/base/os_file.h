// SPDX-License-Identifier: Apache-2.0
// The caller's files, by their paths: mapped for reading, and replaced as wholes. Meson takes
// os_file_posix.c or os_file_windows.c, as for os.h. Functions return 0 or the system's number for
// what failed, which weft_os_error_text() has words for.
#ifndef WEFT_LIB_OS_FILE_H
#define WEFT_LIB_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// A regular file, which later writes to it may change; bytes are NULL if it is empty.
typedef struct weft_mapping {
    void *bytes;
    size_t size;
} weft_mapping;

int weft_os_map(weft_mapping *out, const char *path);
void weft_os_unmap(weft_mapping *mapping);

// A new file beside the one that it replaces: that which links of the path lead to. There may be
// none, but nothing else than a regular file.
typedef struct weft_replacement {
    FILE *stream;
    char *place, *name; // of the old file and of the new one
} weft_replacement;

int weft_os_replace_begin(weft_replacement *out, const char *path);

// Puts the new file in place if all of it was written, else removes it; frees what the struct has.
int weft_os_replace_end(weft_replacement *replacement, bool is_written);

bool weft_os_is_no_memory(int code);

#endif
