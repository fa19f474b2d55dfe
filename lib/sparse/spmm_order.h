// SPDX-License-Identifier: Apache-2.0
// The row schedule of a plan.
#ifndef WEFT_LIB_SPMM_ORDER_H
#define WEFT_LIB_SPMM_ORDER_H

#include "sparse/pattern.h"
#include "sparse/spmm_pattern.h"

// Chooses plan->row_schedule if it is DEFAULT, and lists the rows that are not long in that order.
// *out stays NULL for GIVEN.
weft_status weft_spmm_schedule_rows(void **out, weft_spmm_plan *plan, const weft_pattern *p);

// Whether an order for reuse pays in products with a B of k rows, of row_bytes bytes in an n-tile,
// if so many fewer reads of them miss. B must be far: what comes from a shared cache costs no more
// than rows of A and C that no prefetcher follows. And the lines that are saved must be several
// times those of A and C.
bool weft_spmm_reuse_pays(const weft_limits *limits, const weft_spmm_plan *plan, double saved,
                          int64_t k, int64_t row_bytes);

// Prints the row schedule and its reason, like snprintf(). unqueued: why QUEUE cannot be used, or
// NULL.
int weft_spmm_row_schedule_print(const weft_spmm_plan *plan, const char *unqueued, char *text,
                                 size_t size);

#endif
