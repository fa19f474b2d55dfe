// SPDX-License-Identifier: Apache-2.0
// A call of weft_elementwise(), its state, and plan objects, which contain that.
#ifndef WEFT_LIB_ELEMENTWISE_CALL_H
#define WEFT_LIB_ELEMENTWISE_CALL_H

#include <weft/elementwise.h>

#include "elementwise/elementwise_parameters.h"
#include "elementwise/elementwise_plan.h"
#include "formula/expression.h"
#include "op/op.h"
#include "operand/nest.h"
#include "operand/view.h"
#include "runtime/parameters.h"

_Static_assert((int)WEFT_ELEMENTWISE_INPUTS == (int)WEFT_EXPRESSION_INPUTS &&
                   (int)WEFT_ELEMENTWISE_VALUES == (int)WEFT_EXPRESSION_VALUES &&
                   WEFT_ELEMENTWISE_INPUTS + WEFT_ELEMENTWISE_OUTPUTS == (int)WEFT_NEST_OPERANDS,
               "formulas and calls have the same limits");

// Arguments of a call besides its operands, which are the outputs, then the inputs. The call has
// the names of both: "the output" or "output 1", and inputs by their names in formulas.
typedef struct weft_elementwise_own {
    int n_inputs, n_outputs;
    const char *formulas[WEFT_ELEMENTWISE_OUTPUTS];
    weft_elementwise_params params;
} weft_elementwise_own;

// Neighbours along columns in memory, as in cl/elementwise/elementwise.cl.
typedef enum weft_way {
    WEFT_SAME,
    WEFT_ADJACENT,
    WEFT_STRIDED,
    WEFT_ACROSS,
} weft_way;

// Arguments of the kernel: of an operand, and of all.
typedef struct {
    VIEW_PARAMETERS(FIELD, , IN(T), view)
} weft_elementwise_view;

typedef struct {
    SHAPE_PARAMETERS(FIELD, )
} weft_elementwise_shape;

typedef struct weft_elementwise_state {
    weft_state head;
    int n_outputs, n_operands;
    weft_dtype dtypes[WEFT_NEST_OPERANDS], arithmetic;
    weft_nest nest;
    weft_way ways[WEFT_NEST_OPERANDS];
    weft_elementwise_problem problem;
    weft_elementwise_tiling tiling;                  // from the check where the caller forces it
    int rank;                                        // loops of the kernel, at most
    bool is_wide;                                    // its indices are 64 bits
    weft_elementwise_view views[WEFT_NEST_OPERANDS]; // but for the buffers
    weft_elementwise_shape shape;                    // but for the pairs, which buffers decide
    size_t global[3], local[3];
    weft_kernel *kernel;
} weft_elementwise_state;

// Copies of the arguments that the plan was made from: operands have no buffers.
struct weft_elementwise_plan {
    weft_context *ctx;
    int n_inputs, n_outputs, n_values;
    char *input_names[WEFT_ELEMENTWISE_INPUTS], *value_names[WEFT_ELEMENTWISE_VALUES];
    char *formulas[WEFT_ELEMENTWISE_OUTPUTS];
    weft_tensor operands[WEFT_NEST_OPERANDS];
    weft_elementwise_state state;
};

// "elementwise: input a"
const char *weft_elementwise_name(char text[WEFT_OPERAND_TEXT], const weft_call *call, int i);

// Before there is a call: counts, and that names and formulas exist.
weft_status weft_elementwise_given_check(const weft_elementwise_own *own,
                                         const weft_elementwise_input *inputs,
                                         const weft_elementwise_output *outputs);

// Hooks of the operation.
weft_status weft_elementwise_check(void *state, const weft_call *call);
weft_status weft_elementwise_numbers_check(const void *state, const weft_call *call);

// The formula of each output; the caller frees them.
weft_status weft_elementwise_formulas(weft_expression **out, const weft_call *call);

// Where the memory of each operand begins; 0 if it has no buffer.
weft_status weft_elementwise_shifts(int64_t shifts[WEFT_NEST_OPERANDS], const weft_call *call);

// Copies texts and views of a call into a plan that is all 0. weft_elementwise_forget() frees them,
// also after a failure.
weft_status weft_elementwise_remember(weft_elementwise_plan *plan, const weft_call *call);
void weft_elementwise_forget(weft_elementwise_plan *plan);

// Whether a call has the plan's arguments, and its memory the alignment of the plan's vectors.
weft_status weft_elementwise_match(const weft_elementwise_plan *plan, const weft_call *call);

#endif
