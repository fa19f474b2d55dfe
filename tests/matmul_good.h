// SPDX-License-Identifier: Apache-2.0
// One good call of weft_matmul(), to change before it is made, for tests of what is refused and of
// what a call needs.
#ifndef WEFT_TESTS_MATMUL_GOOD_H
#define WEFT_TESTS_MATMUL_GOOD_H

#include "dense/matmul_tiling.h"
#include "matmul_case.h"

// A 2 x 5 x 6, B 6 x 4, C 2 x 5 x 4, and two inputs.
extern const matmul_case matmul_good_case;

// Three chunks of its k, which wait in scratch memory.
extern const weft_matmul_tiling matmul_in_chunks;

// A call with everything that it is given.
typedef struct matmul_good {
    weft_context *ctx;
    cl_command_queue queue;
    double alpha, beta;
    weft_tensor A, B, C, x[2];
    weft_elementwise_input inputs[5];
    weft_elementwise_value values[2];
    weft_matmul_params params;
} matmul_good;

// With the operands of matmul_good_case.
void matmul_good_make(matmul_good *call, const matmul_operands *o);

// Without its formula.
void matmul_good_make_bare(matmul_good *call, const matmul_operands *o);

weft_status matmul_good_call(const matmul_good *call, const weft_matmul_params *params);

// The call fails, says so, enqueues nothing, hands out no event and leaves C alone.
void matmul_refuse(const matmul_good *call, const matmul_operands *o, weft_status want,
                   const char *part);

// Fails the test where anything in C's buffer is not what it was at first.
void matmul_expect_untouched(const matmul_operands *o);

#endif
