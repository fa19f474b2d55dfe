// SPDX-License-Identifier: Apache-2.0
// The driver of all operations: checks, plans, builds and enqueues a call.
//
// An operation is a table, weft_op. A public function fills in a weft_call, which has the table,
// the operands and the caller's other arguments, and passes it to one of three functions:
//
//     weft_op_run         enqueues it
//     weft_op_workspace   returns the scratch memory that it needs
//     weft_op_describe    describes its plan
//
// The public function first reads and checks its params. The three then check in this order, so
// that a message names the first mistake: the context; NULL operands; the form of each; data types,
// shapes and numbers, by the operation; the buffers; overlap of an output with another operand; and
// before a run, in a context with check_matrices, the contents of matrices. Then they plan and
// build, and plan again if a kernel takes fewer items than the device promised.
//
// The result is the call's state: plain bytes, a struct of the operation which begins with a
// weft_state and points only to objects that live as long as the context. The context caches it. A
// later call with the same shapes, strides, types and numbers finds it by one look-up, and checks
// only its buffers: no plan, no text, no allocation.
#ifndef WEFT_LIB_OP_H
#define WEFT_LIB_OP_H

#include "op/call.h"

weft_status weft_op_run(const weft_call *call, cl_command_queue queue);
weft_status weft_op_workspace(const weft_call *call, size_t *bytes);
int weft_op_describe(const weft_call *call, char *text, size_t size);

// For operations that consist of others: checks, plans and builds, without checks of the operands'
// buffers.
weft_status weft_op_prepare(void *state, const weft_call *call);

#endif
