// SPDX-License-Identifier: Apache-2.0
// Checks of the contents of a matrix's arrays, before an operation relies on them, if its context
// has check_matrices; else nothing is read.
#ifndef WEFT_LIB_CSR_CONTENT_H
#define WEFT_LIB_CSR_CONTENT_H

#include <weft/dcsr.h>

#include "runtime/launch.h"

// Between weft_launch_begin() and the first kernel, for operands whose views have been checked.
// Blocks until the wait list is complete and the pattern is read. WEFT_BAD_DATA begins "spmm: A: ".
weft_status weft_csr_content_check(const weft_launch *launch, const weft_csr *csr,
                                   const char *name);

// Only offsets, for operations that write the indices.
weft_status weft_offsets_content_check(const weft_launch *launch, const weft_csr *csr,
                                       const char *name);

// Only row numbers, after weft_csr_content_check() of the stored rows.
weft_status weft_rows_content_check(const weft_launch *launch, const weft_dcsr *dcsr,
                                    const char *name);

#endif
