// SPDX-License-Identifier: Apache-2.0
// Tasks of a sparse x dense product: their number, and scratch memory for their parts of rows.
#ifndef WEFT_LIB_SPMM_TASKS_H
#define WEFT_LIB_SPMM_TASKS_H

#include <stddef.h>

#include "sparse/spmm_tiling.h"

// Tasks of `size` rows and entries, at least 1; 0 if there are more than a launch has.
int64_t weft_spmm_n_tasks(const weft_spmm_problem *problem, int size);

// Of the loop that adds the parts of a row in all of them.
int64_t weft_spmm_join_iterations(const weft_spmm_tiling *tiling, int64_t n_tasks);

// Scratch memory for two parts of rows of each task; false if the bytes pass the largest size.
bool weft_spmm_parts_bytes(size_t *out, const weft_spmm_problem *problem, int64_t n_tasks);

#endif
