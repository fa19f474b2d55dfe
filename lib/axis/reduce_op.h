// SPDX-License-Identifier: Apache-2.0
// Facts about each reduction.
#ifndef WEFT_LIB_REDUCE_OP_H
#define WEFT_LIB_REDUCE_OP_H

#include <weft/reduce.h>

// Y's data types if X has integers.
typedef enum weft_result_kind {
    WEFT_RESULT_FLOAT, // f32 or f64
    WEFT_RESULT_WIDE,  // i64
    WEFT_RESULT_SAME,  // X's own
    WEFT_RESULT_PLACE, // an index: i64 or i32, for floats too
    WEFT_RESULT_TRUTH, // a boolean: u8, for floats too
} weft_result_kind;

typedef struct weft_reduction_facts {
    const char *name, *word; // "norm_inf", and "OP_NORM_INF" in cl/axis/reduce.cl
    weft_result_kind result;
    int n_numbers;       // numbers of a lane's state, FIELDS in cl/axis/reduce.cl
    bool needs_elements; // no result for no elements
    // A reduction with the same result for no elements, whose numbers start as 0 or 1.
    weft_reduction of_none;
} weft_reduction_facts;

// NULL if there is no such op.
const weft_reduction_facts *weft_reduction_facts_of(weft_reduction op);

#endif
