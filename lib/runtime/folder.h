// SPDX-License-Identifier: Apache-2.0
// The folder of compiled programs: its owner and permissions are checked, its size is limited.
#ifndef WEFT_LIB_FOLDER_H
#define WEFT_LIB_FOLDER_H

#include <stdint.h>

#include "base/record.h"

// A problem in words, and the system's errno for it, or 0.
typedef struct weft_trouble {
    const char *words;
    int code;
} weft_trouble;

// Opens the folder, or returns -1 and sets *trouble, with NULL words if the folder does not exist.
// Refuses a link, and a folder that belongs to another user or that others may write to.
int weft_folder_open(const char *path, weft_trouble *trouble);

// Creates the folder and its missing parents, for their owner alone. Returns 0, or the errno of the
// first that could not be created.
int weft_folder_make(const char *path);

// Reads a whole file; false if it does not exist, is not a regular file of the user, or has more
// than max_bytes. Marks the file as used now.
bool weft_folder_read(int folder, const char *name, uint64_t max_bytes, weft_blob *out);

// Writes the file under a temporary name and renames it. False sets *trouble.
bool weft_folder_write(int folder, const char *name, const weft_blob *bytes, weft_trouble *trouble);

// Removes the least recently used files until the rest have max_bytes at most, and temporary files
// of dead writers. Touches only weft's files.
void weft_folder_trim(int folder, uint64_t max_bytes);

#endif
