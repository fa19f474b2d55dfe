// SPDX-License-Identifier: Apache-2.0
// The operands of a call, checked by its operation's table.
#ifndef WEFT_LIB_OPERANDS_H
#define WEFT_LIB_OPERANDS_H

#include "op/call.h"

// Checks that required operands are not NULL, and the form of each; no buffers.
weft_status weft_operands_check_forms(const weft_call *call);

// Checks buffers, of operands with valid forms: context, size, and access by kernels.
weft_status weft_operands_check_buffers(const weft_call *call, const weft_state *state);

// Checks that outputs share no byte with another operand, unless the table allows it.
weft_status weft_operands_check_apart(const weft_call *call, const weft_state *state);

// Checks the caller's workspace: size, access, and overlap with operands.
weft_status weft_operands_check_workspace(const weft_call *call, const weft_state *state);

// Checks the contents of matrices.
weft_status weft_operands_check_content(const weft_launch *launch, const weft_call *call);

// Adds the operands to a key, without the buffers; but which tensors share one, and for operations
// with sees_alignment the alignment of host memory.
void weft_operands_key(weft_key *key, const weft_call *call);

#endif
