// SPDX-License-Identifier: Apache-2.0
// Matrices in files: Matrix Market's coordinate format, and its dense arrays.
#ifndef WEFT_TOOLS_MTX_H
#define WEFT_TOOLS_MTX_H

#include <weft/csr.h>

#include "complaint.h"
#include "file.h"
#include "npy.h"

// Reads general, symmetric and skew-symmetric matrices with real, integer, unsigned-integer or
// pattern (all ones) entries, and stores them in full: what stands below the diagonal is mirrored,
// negated where the matrix is skew, and nothing may stand above. Entries named twice are summed;
// columns come out sorted. Complaints name the line. `params` chooses the types, as in
// weft_csr_host_from_coo(); the caller destroys `out`.
// Empty lines may stand anywhere, comments on lines of their own or behind what a line has to say.
bool mtx_read(weft_csr_host *out, const char *path, const weft_csr_params *params, complaint *why);

// The same of what was loaded from `path`.
bool mtx_parse(weft_csr_host *out, const char *path, const loaded_file *file,
               const weft_csr_params *params, complaint *why);

// Whether what was loaded is an array, if it is of Matrix Market at all.
bool mtx_holds_array(const loaded_file *file);

// Reads one, with real, integer or unsigned-integer elements, of the symmetries above: column by
// column, of symmetric ones what is not above the diagonal. Real ones have no type of their own.
// The caller frees `out` by npy_free().
bool mtx_parse_array(npy_array *out, const char *path, const loaded_file *file,
                     const npy_params *params, complaint *why);

#endif
