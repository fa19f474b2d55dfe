// SPDX-License-Identifier: Apache-2.0
// What every operation does in the same way: a call is checked, planned, built and enqueued here.
//
// An operation is a table, weft_op. A public function fills in a weft_call, which names the table,
// the operands and what else the caller said, and hands it to one of three:
//
//     weft_op_run         enqueues it
//     weft_op_workspace   says how much scratch memory it wants
//     weft_op_describe    says what it would do
//
// A public function first reads its params, and what these hold by themselves. Then the three check
// in this order, so that a message names what the caller got wrong first: the context;
// operands that are NULL; the form of each; what the operation asks of data types, shapes and
// numbers; the buffers; that nothing that is written shares a byte with anything else; and of a
// call that runs, in a context that checks matrices, what is in them. Then the operation is planned
// and built, and planned again where a kernel takes fewer items than the device promised.
//
// What comes of all that is the call's state: plain bytes, a struct of the operation's which begins
// with a weft_state, and points at nothing but what lives as long as the context. The context keeps
// it. A later call with the same shapes, strides, types and numbers finds it by one look-up, and
// has only its buffers checked: no plan, no text, no allocation.
#ifndef WEFT_LIB_OP_H
#define WEFT_LIB_OP_H

#include "op/call.h"

weft_status weft_op_run(const weft_call *call, cl_command_queue queue);
weft_status weft_op_workspace(const weft_call *call, size_t *bytes);
int weft_op_describe(const weft_call *call, char *text, size_t size);

// The steps alone, for an operation that is made of others: everything up to the kernels, the
// operands' buffers not looked at; and the kernels, behind what the launch has enqueued.
weft_status weft_op_prepare(void *state, const weft_call *call);

#endif
