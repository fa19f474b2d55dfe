// SPDX-License-Identifier: Apache-2.0
// Sparse files by the end of their names.
#include "sparse.h"

#include <string.h>
#include <strings.h>

#include "mtx.h"
#include "smtx.h"

static bool ends_with(const char *path, const char *end)
{
    const size_t length = strlen(path);
    return length > strlen(end) && strcasecmp(path + length - strlen(end), end) == 0;
}

bool sparse_is_known(const char *path)
{
    return ends_with(path, ".mtx") || ends_with(path, ".smtx");
}

bool sparse_read(weft_csr_host *out, const char *path, weft_dtype dtype, uint64_t seed,
                 complaint *why)
{
    *out = (weft_csr_host){0};
    if (ends_with(path, ".mtx"))
        return mtx_read(out, path, WEFT_CSR(.dtype = dtype), why);
    if (ends_with(path, ".smtx"))
        return smtx_read(out, path, dtype, seed, why);
    return complain(why, "%s: a sparse matrix is read from .mtx or .smtx", path);
}
