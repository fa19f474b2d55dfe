// SPDX-License-Identifier: Apache-2.0
// In which order a plan's rows are handed out.
#ifndef WEFT_LIB_SPMM_ORDER_H
#define WEFT_LIB_SPMM_ORDER_H

#include "sparse/pattern.h"
#include "sparse/spmm_pattern.h"

// Chooses plan->order_kind where that is left open, and lists the rows that are not long in that
// order; *out stays NULL where they stay as they come.
weft_status weft_spmm_order_rows(void **out, weft_spmm_plan *plan, const weft_pattern *p);

// Which order it is, and why, as snprintf() does it. unqueued: why QUEUE cannot be kept, or
// NULL.
int weft_spmm_order_print(const weft_spmm_plan *plan, const char *unqueued, char *text,
                          size_t size);

#endif
