// SPDX-License-Identifier: Apache-2.0
// Matrices out of files, for tests of whatever takes a sparse one: those in $WEFT_TEST_MATRICES.
#ifndef WEFT_TESTS_MATRIX_FILES_H
#define WEFT_TESTS_MATRIX_FILES_H

#include <weft/csr.h>

// Runs that on each, with f32 values; on those with few entries alone where tests are to do less.
// The test is skipped where there are none.
void each_matrix_file(void (*run)(const weft_csr_host *host));

#endif
