// SPDX-License-Identifier: Apache-2.0
// The operands of a call, checked by its operation's table.
#ifndef WEFT_LIB_OPERANDS_H
#define WEFT_LIB_OPERANDS_H

#include "op/call.h"

// None is NULL that may not be, and each has a sound form. No buffer is looked at.
weft_status weft_operands_check_forms(const weft_call *call);

// Buffers, of operands with sound forms: of the context, large enough, and ones that kernels may
// use like that.
weft_status weft_operands_check_buffers(const weft_call *call, const weft_state *state);

// What is written shares no byte with another operand, but where the table lets it be that.
weft_status weft_operands_check_apart(const weft_call *call, const weft_state *state);

// The caller's workspace: large enough, writable, and apart from all operands.
weft_status weft_operands_check_workspace(const weft_call *call, const weft_state *state);

// What is in the arrays of matrices, where the context was told to look.
weft_status weft_operands_check_content(const weft_launch *launch, const weft_call *call);

// What plans depend on: all but the buffers. Of these it counts which tensors share one and, where
// the operation sees it, how memory of the host is aligned.
void weft_operands_key(weft_key *key, const weft_call *call);

#endif
