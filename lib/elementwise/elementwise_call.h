// SPDX-License-Identifier: Apache-2.0
// An elementwise operation once it has been checked and planned: what a plan object holds, and what
// a call without one makes and forgets.
#ifndef WEFT_LIB_ELEMENTWISE_CALL_H
#define WEFT_LIB_ELEMENTWISE_CALL_H

#include <weft/elementwise.h>

#include "elementwise/elementwise_plan.h"
#include "formula/expression.h"
#include "operand/nest.h"
#include "runtime/program.h"

_Static_assert((int)WEFT_ELEMENTWISE_INPUTS == (int)WEFT_EXPRESSION_INPUTS &&
                   (int)WEFT_ELEMENTWISE_VALUES == (int)WEFT_EXPRESSION_VALUES &&
                   WEFT_ELEMENTWISE_INPUTS + WEFT_ELEMENTWISE_OUTPUTS == (int)WEFT_NEST_OPERANDS,
               "what a formula may name, a call has");

// How neighbours along columns stand in memory, as in cl/elementwise/elementwise.cl.
typedef enum weft_way {
    WEFT_SAME,
    WEFT_ADJACENT,
    WEFT_STRIDED,
    WEFT_ACROSS,
} weft_way;

// Operands are counted outputs first, then inputs.
struct weft_elementwise_plan {
    weft_context *ctx;
    int n_inputs, n_outputs, n_values;
    char *input_names[WEFT_ELEMENTWISE_INPUTS], *value_names[WEFT_ELEMENTWISE_VALUES];
    char *formulas[WEFT_ELEMENTWISE_OUTPUTS];
    weft_tensor inputs[WEFT_ELEMENTWISE_INPUTS], outputs[WEFT_ELEMENTWISE_OUTPUTS];
    int64_t shifts[WEFT_NEST_OPERANDS]; // where their memory begins; 0 of what had no buffer
    weft_dtype arithmetic;
    bool is_empty;

    weft_nest nest;
    weft_way ways[WEFT_NEST_OPERANDS];
    weft_elementwise_problem problem;
    bool is_forced; // to the tiling
    weft_elementwise_tiling tiling;
    int rank;     // loops that the kernel has room for
    bool is_wide; // its indices are 64 bits
    bool streams; // what is written goes past the caches
    weft_kernel *kernel;
};

// Operands as a call or a plan names them.
typedef struct weft_elementwise_operands {
    int n_inputs, n_outputs;
    const weft_elementwise_input *inputs;
    const weft_elementwise_output *outputs;
    const weft_elementwise_params *params;
} weft_elementwise_operands;

// The name of input i.
const char *weft_elementwise_input_name(const weft_elementwise_operands *operands, int i);

// Counts, params, names and views (of their buffers only where they begin), and what is reckoned
// in, for a plan that is empty but for ctx. Reads the formulas into expressions[0 .. n_outputs).
// The plan's own copies of the texts are the caller's to free with weft_elementwise_forget(), after
// a failure too.
weft_status weft_elementwise_check(weft_elementwise_plan *plan, weft_context *ctx,
                                   const weft_elementwise_operands *operands,
                                   weft_expression *expressions);
void weft_elementwise_forget(weft_elementwise_plan *plan);

// Whether a call says what the plan was made for, and its memory suits the plan's vectors.
weft_status weft_elementwise_match(const weft_elementwise_plan *plan, const weft_context *ctx,
                                   const weft_elementwise_operands *operands);

// Buffers, what is written where, and numbers that arithmetic holds.
weft_status weft_elementwise_buffers_check(const weft_elementwise_plan *plan,
                                           const weft_elementwise_operands *operands);

#endif
