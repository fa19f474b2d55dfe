// SPDX-License-Identifier: Apache-2.0
// A sparse matrix from whatever kind of file holds it.
#ifndef WEFT_TOOLS_SPARSE_H
#define WEFT_TOOLS_SPARSE_H

#include <weft/csr.h>

#include "complaint.h"

// Whether the name ends like a sparse matrix: .mtx or .smtx, in any case.
bool sparse_is_known(const char *path);

// mtx_read() or smtx_read(), by the end of the name. The seed is for files without values. The
// caller destroys `out` with weft_csr_host_destroy().
bool sparse_read(weft_csr_host *out, const char *path, weft_dtype dtype, uint64_t seed,
                 complaint *why);

#endif
