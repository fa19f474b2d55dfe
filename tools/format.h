// SPDX-License-Identifier: Apache-2.0
// Formats of operands' files: detected by the end of the name, or the beginning of the content.
#ifndef WEFT_TOOLS_FORMAT_H
#define WEFT_TOOLS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum file_format {
    FORMAT_UNKNOWN,
    FORMAT_NPY,
    FORMAT_MTX,
    FORMAT_SMTX,
    FORMAT_CSR
} file_format;

// By its name, "mtx"; false for unknown names.
bool format_find(const char *name, file_format *out);

// By the end of a name: .npy, .mtx, .smtx or .csr, in any case, with .gz or without; the arrays of
// .npz are .npy.
file_format format_of_name(const char *path);

// By the beginning of the content.
file_format format_of_content(const char *bytes, size_t size);

// Whether the name ends as a sparse matrix's: .mtx, .smtx or .csr.
bool format_is_sparse(const char *path);

#endif
