// SPDX-License-Identifier: Apache-2.0
// What stands in the arrays of matrices, checked before an operation takes it for granted, where
// its context was told to check_matrices; else nothing is read.
#ifndef WEFT_LIB_CSR_CONTENT_H
#define WEFT_LIB_CSR_CONTENT_H

#include <weft/dcsr.h>

#include "runtime/launch.h"

// Between weft_launch_begin() and the first kernel, for operands whose views have been checked.
// Blocks until the wait list is complete and the pattern is read. WEFT_BAD_DATA begins "spmm: A: ".
weft_status weft_csr_content_check(const weft_launch *launch, const weft_csr *csr,
                                   const char *name);

// Offsets alone, where the operation writes the indices.
weft_status weft_offsets_content_check(const weft_launch *launch, const weft_csr *csr,
                                       const char *name);

// The numbers of the rows alone, where weft_csr_content_check() has seen the stored rows.
weft_status weft_rows_content_check(const weft_launch *launch, const weft_dcsr *dcsr,
                                    const char *name);

#endif
