// SPDX-License-Identifier: Apache-2.0
// Matrices in files: Matrix Market's coordinate format, and its dense arrays.
#ifndef WEFT_TOOLS_MTX_H
#define WEFT_TOOLS_MTX_H

#include <weft/csr.h>

#include "complaint.h"
#include "file.h"
#include "npy.h"

// Reads general, symmetric and skew-symmetric matrices with real, integer, unsigned-integer or
// pattern (all ones) entries, and stores them in full: entries below the diagonal are mirrored,
// negated if the matrix is skew, and none may be above. Duplicate entries are summed; columns are
// sorted. Complaints name the line. `params` chooses the types, as in
// weft_csr_host_from_coo(); the caller destroys `out`.
// Empty lines may be anywhere, comments on lines of their own or at the end of others.
bool mtx_read(weft_csr_host *out, const char *path, const weft_csr_params *params, complaint *why);

// The same for the loaded text of `path`.
bool mtx_parse(weft_csr_host *out, const char *path, const loaded_file *file,
               const weft_csr_params *params, complaint *why);

// Whether the loaded text is an array, if it is of Matrix Market at all.
bool mtx_holds_array(const loaded_file *file);

// Reads one, with real, integer or unsigned-integer elements, of the symmetries above: column by
// column, of symmetric ones the elements on and below the diagonal. Real ones have no type.
// The caller frees `out` by npy_free().
bool mtx_parse_array(npy_array *out, const char *path, const loaded_file *file,
                     const npy_params *params, complaint *why);

#endif
