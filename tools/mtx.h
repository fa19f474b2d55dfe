// SPDX-License-Identifier: Apache-2.0
// Sparse matrices in files: Matrix Market coordinate format.
#ifndef WEFT_TOOLS_MTX_H
#define WEFT_TOOLS_MTX_H

#include <weft/csr.h>

#include "complaint.h"
#include "file.h"

// Reads general, symmetric and skew-symmetric matrices with real, integer or pattern (all ones)
// entries, and stores them in full: what stands below the diagonal is mirrored, negated where the
// matrix is skew, and nothing may stand above. Entries named twice are summed; columns come out
// sorted. Complaints name the line. `params` chooses the types, as in weft_csr_host_from_coo(); the
// caller destroys `out`.
bool mtx_read(weft_csr_host *out, const char *path, const weft_csr_params *params, complaint *why);

// The same of what was loaded from `path`.
bool mtx_parse(weft_csr_host *out, const char *path, const loaded_file *file,
               const weft_csr_params *params, complaint *why);

#endif
