// SPDX-License-Identifier: Apache-2.0
// The folder of compiled programs: files that are whole or not there, and a limit to its size.
#ifndef WEFT_LIB_FOLDER_H
#define WEFT_LIB_FOLDER_H

#include "base/os.h"

// Creates the folder and its missing parents, for their owner alone. The trouble's code is 0, or
// that of the first that could not be created.
weft_trouble weft_folder_make(const char *path);

// Writes the file under a temporary name and renames it. False sets *trouble.
bool weft_folder_write(weft_folder *folder, const char *name, const weft_blob *bytes,
                       weft_trouble *trouble);

// Removes the least recently used files until the rest have max_bytes at most, and temporary files
// of dead writers. Touches only weft's files.
void weft_folder_trim(weft_folder *folder, uint64_t max_bytes);

#endif
