// SPDX-License-Identifier: Apache-2.0
// The folder of compiled programs: opened with care, and limited in size.
#ifndef WEFT_LIB_FOLDER_H
#define WEFT_LIB_FOLDER_H

#include <stdint.h>

#include "base/record.h"

// A problem in words, and the system's reason for it: an errno, or 0 for none.
typedef struct weft_trouble {
    const char *words;
    int code;
} weft_trouble;

// Opens the folder, or returns -1 with the trouble; its words are NULL if the folder does not
// exist. One that belongs to somebody else, that others may write to, or that is a link is refused.
int weft_folder_open(const char *path, weft_trouble *trouble);

// Makes the folder and its missing parents, for its owner alone. 0, or the errno of the first that
// could not be made.
int weft_folder_make(const char *path);

// The whole of a file; false if it does not exist, is not an ordinary file of the user's own, or
// has more than max_bytes. Marks the file as used now.
bool weft_folder_read(int folder, const char *name, uint64_t max_bytes, weft_blob *out);

// Writes the file under a temporary name and renames it. False with the trouble.
bool weft_folder_write(int folder, const char *name, const weft_blob *bytes, weft_trouble *trouble);

// Removes the least recently used files until the rest have max_bytes at most, and what dead
// writers left behind. Only weft's files are touched.
void weft_folder_trim(int folder, uint64_t max_bytes);

#endif
