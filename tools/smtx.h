// SPDX-License-Identifier: Apache-2.0
// Sparse patterns in files: the .smtx of the Deep Learning Matrix Collection.
//
//   rows, cols, nnz
//   rows + 1 offsets
//   nnz column indices, from 0
#ifndef WEFT_TOOLS_SMTX_H
#define WEFT_TOOLS_SMTX_H

#include <weft/csr.h>

#include "complaint.h"
#include "file.h"

// The file has no values: they come from the seed, random_fill(seed, RANDOM_VALUES, ...).
// `dtype` is theirs, WEFT_DEFAULT for f32; offsets and indices are i32. Complaints name the line.
// The caller destroys `out`.
bool smtx_read(weft_csr_host *out, const char *path, weft_dtype dtype, uint64_t seed,
               complaint *why);

// The same for the loaded text of `path`.
bool smtx_parse(weft_csr_host *out, const char *path, const loaded_file *file, weft_dtype dtype,
                uint64_t seed, complaint *why);

#endif
