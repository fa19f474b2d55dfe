// SPDX-License-Identifier: Apache-2.0
// The row schedule of a plan.
#ifndef WEFT_LIB_SPMM_ORDER_H
#define WEFT_LIB_SPMM_ORDER_H

#include "sparse/pattern.h"
#include "sparse/spmm_pattern.h"

// Chooses plan->row_schedule if it is DEFAULT, and lists the rows that are not long in that order.
// *out stays NULL for GIVEN.
weft_status weft_spmm_schedule_rows(void **out, weft_spmm_plan *plan, const weft_pattern *p);

// Prints the row schedule and its reason, like snprintf(). unqueued: why QUEUE cannot be used, or
// NULL.
int weft_spmm_row_schedule_print(const weft_spmm_plan *plan, const char *unqueued, char *text,
                                 size_t size);

#endif
