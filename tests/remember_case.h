// SPDX-License-Identifier: Apache-2.0
// Calls of operations that plan for themselves, for tests of what a context remembers of them: each
// may be called again with one thing changed.
//
// For another operation: a function that calls it, and a row of the cases that says what changes.
#ifndef WEFT_TESTS_REMEMBER_CASE_H
#define WEFT_TESTS_REMEMBER_CASE_H

#include "operation_case.h"

enum { REMEMBERED_CASES = 26, REMEMBERED_CHANGES = 12 };
enum { FIRST_CONVERSION = 19 }; // of the cases: all behind it are called on one context

// What a call is given besides its operands, and how these differ. The first call of each case has
// all 0. A call ignores what its operation does not have.
typedef struct given {
    int axis, more_axes;
    double number; // that is added: to the scale, to epsilon, to the correction; or alpha
    double beta;
    weft_reduction op;
    weft_spmm_reduction reduction;
    weft_activation activation;
    bool is_rms;
    const char *tiling, *scaling_tiling;

    int64_t fewer_rows;
    weft_dtype dtype; // of all operands
    int64_t offset;   // of the first one
    bool is_transposed, lacks_buffer;
    bool lacks_weight, lacks_bias, lacks_dw, lacks_db;
    bool is_indicator;  // a matrix says where, and its values are not read
    bool is_dense;      // a factor that is sparse otherwise
    bool lacks_entries; // a sparse output
    bool has_arguments;
    bool transposes_a; // A^T, which wants a plan object

    const char *formula;
    bool swaps_names, swaps_values; // of what the formula reads
    weft_dtype arithmetic;
    bool lacks_values, has_source; // a transpose
    int items;
    int64_t more_entries; // of what is written

    weft_status wanted;   // of the call
    bool changes_nothing; // it gives what the first call does
} given;

typedef struct change {
    const char *name;
    given by;
} change;

typedef struct remembered_case {
    const char *name;
    weft_status (*call)(const operation_operands *o, weft_context *ctx, const given *by);
    change changes[REMEMBERED_CHANGES]; // up to one without a name
} remembered_case;

extern const remembered_case remembered_cases[REMEMBERED_CASES];

#endif
