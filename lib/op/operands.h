// SPDX-License-Identifier: Apache-2.0
// The operands of a call, checked by its operation's table.
#ifndef WEFT_LIB_OPERANDS_H
#define WEFT_LIB_OPERANDS_H

#include "op/call.h"
#include "operand/view.h"
#include "runtime/memo.h"

// Checks that required operands are not NULL, and the form of each; no buffers.
weft_status weft_operands_check_forms(const weft_call *call);

// Checks the buffers of operands with valid forms: context, size, and access by kernels.
weft_status weft_operands_check_buffers(const weft_call *call, const weft_state *state);

// Checks that outputs share no byte with another operand, unless the table allows it.
weft_status weft_operands_check_apart(const weft_call *call, const weft_state *state);

// Checks the caller's workspace: size, access, and overlap with operands.
weft_status weft_operands_check_workspace(const weft_call *call, const weft_state *state);

// Checks the contents of matrices.
weft_status weft_operands_check_content(const weft_launch *launch, const weft_call *call);

// Facts about the buffers that kernels access, array by array in the order of the table. With the
// same key and facts the checks of buffers and of overlap pass again. None if there are too many.
typedef struct weft_buffers {
    size_t n;
    weft_status failed; // the error of an OpenCL query; then there are no facts
    weft_buffer_facts of[16];
} weft_buffers;

_Static_assert(sizeof(((weft_buffers *)0)->of) <= WEFT_MEMO_FACTS, "a context remembers facts");

void weft_operands_buffers(weft_buffers *out, const weft_call *call);

// The buffers of arrays that kernels access, with the bytes, in the order of the table. Returns how
// many there are.
enum { WEFT_USES = 3 * WEFT_OP_OPERANDS };
int weft_operands_uses(weft_recorded_buffer out[WEFT_USES], const weft_call *call,
                       const weft_state *state);

// Adds the operands to a key, without the buffers, but with the tensors that share a buffer and, if
// the operation has sees_alignment, the alignment of buffers in host memory.
void weft_operands_key(weft_key *key, const weft_call *call);

#endif
