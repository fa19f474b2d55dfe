// SPDX-License-Identifier: Apache-2.0
// Kinds of files that operands come from: told by the end of a name, or by how the content begins.
#ifndef WEFT_TOOLS_FORMAT_H
#define WEFT_TOOLS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum file_format { FORMAT_UNKNOWN, FORMAT_NPY, FORMAT_MTX, FORMAT_SMTX } file_format;

// By its name, "mtx"; false where there is none such.
bool format_find(const char *name, file_format *out);

// What a name ends like: .npy, .mtx or .smtx, in any case and with .gz behind it or not; the arrays
// of .npz are .npy.
file_format format_of_name(const char *path);

// What the content begins like.
file_format format_of_content(const char *bytes, size_t size);

// Whether the name ends like a sparse matrix: .mtx or .smtx.
bool format_is_sparse(const char *path);

#endif
