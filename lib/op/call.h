// SPDX-License-Identifier: Apache-2.0
// An operation as a table, and a call of it: op.h.
#ifndef WEFT_LIB_CALL_H
#define WEFT_LIB_CALL_H

#include <weft/dcsr.h>
#include <weft/tensor.h>

#include "op/key.h"
#include "runtime/context.h"
#include "runtime/launch.h"

enum { WEFT_OP_OPERANDS = 12, WEFT_OP_STATE_BYTES = 16 << 10 };

typedef enum weft_operand_kind {
    WEFT_OPERAND_TENSOR, // weft_tensor
    WEFT_OPERAND_CSR,    // weft_csr
    WEFT_OPERAND_ROWS,   // weft_dcsr: only the numbers of its stored rows
} weft_operand_kind;

// How kernels access the arrays of an operand. A tensor has only values; row numbers count as
// offsets. If only the offsets of a CSR are written, its nnz is not read.
typedef enum weft_access {
    WEFT_READS_OFFSETS = 1 << 0,
    WEFT_READS_INDICES = 1 << 1,
    WEFT_READS_VALUES = 1 << 2,
    WEFT_WRITES_OFFSETS = 1 << 3,
    WEFT_WRITES_INDICES = 1 << 4,
    WEFT_WRITES_VALUES = 1 << 5,
    WEFT_SPARES_VALUES = 1 << 6, // values are NULL, or valid and without overlap with outputs
    WEFT_READS_PATTERN = WEFT_READS_OFFSETS | WEFT_READS_INDICES,
    WEFT_READS_CSR = WEFT_READS_PATTERN | WEFT_READS_VALUES,
    WEFT_WRITES_ENTRIES = WEFT_WRITES_INDICES | WEFT_WRITES_VALUES,
    WEFT_WRITES_CSR = WEFT_WRITES_OFFSETS | WEFT_WRITES_ENTRIES,
} weft_access;

typedef struct weft_operand_rule {
    const char *name; // "X", or a prefix of the call's name for it: "input "
    weft_operand_kind kind;
    weft_access access;
    bool is_optional;           // may be NULL
    bool may_be_i8, may_be_i16; // for a tensor
    unsigned may_be;            // bits of the inputs whose view an output may be
} weft_operand_rule;

typedef struct weft_call weft_call;

// The driver's part of a state; an operation's own fields follow.
typedef struct weft_state {
    bool is_empty;        // nothing to do: no plan, no kernels
    bool is_forced;       // the caller gave the tiling
    int64_t n_batches;    // matrices whose values a CSR has; 0 counts as 1
    size_t group_items;   // items of the plan's largest group
    size_t scratch_bytes; // scratch memory of the kernels
} weft_state;

// `key`, `numbers_check` and `build` may be NULL. A state is zeroed before `check`. `call` is valid
// only during the call: no state stores its pointers.
typedef struct weft_op {
    const char *name; // "softmax"
    int n_operands;   // in the table; further operands are like the last
    weft_operand_rule operands[WEFT_OP_OPERANDS];
    size_t state_bytes;
    bool sees_alignment; // plans depend on the alignment of buffers in host memory

    // Adds other inputs of plans than operands, tiling and params: numbers, flags, texts.
    void (*key)(weft_key *key, const weft_call *call);

    // Checks operands whose form is valid; fills in the problem. Called if the state is not cached;
    // numbers_check is called each time.
    weft_status (*check)(void *state, const weft_call *call);
    weft_status (*numbers_check)(const void *state, const weft_call *call);

    // `plan` chooses a tiling within the limits, or checks the caller's. `build` gets the kernels
    // and lowers *most to their largest group. Without `build`, `plan` does both.
    weft_status (*plan)(void *state, const weft_call *call, const weft_limits *limits);
    weft_status (*build)(void *state, const weft_call *call, size_t *most);

    // Enqueues. `scratch` has the state's scratch_bytes; NULL if they are 0.
    weft_status (*run)(weft_launch *launch, const void *state, const weft_call *call,
                       cl_mem scratch);

    // Describes the plan, like snprintf().
    int (*print)(const void *state, const weft_call *call, char *text, size_t size);
} weft_op;

// The arguments of a public function.
struct weft_call {
    const weft_op *op;
    weft_context *ctx;
    const char *what; // for messages; NULL: the table's name
    int n_operands;   // 0: as many as the table has
    int n_first;      // number of operands like the table's first; 0 counts as 1
    const void *operands[WEFT_OP_OPERANDS]; // in the table's order; NULL: not given
    const char *names[WEFT_OP_OPERANDS];    // the caller's names of them, or NULL
    bool is_unheard;                        // the plan is tentative: reasons are not reported
    bool is_checked;                        // the contents of matrices are, by the caller
    unsigned unread;                        // bits of matrices whose values are not read
    const void *own;                        // the operation's other arguments
    const void *state;                      // from weft_op_prepare(), or NULL
    const char *tiling;                     // forced by the caller; NULL: chosen by the plan
    cl_mem workspace;                       // the caller's; NULL: from the context's pool
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
};

// The fields that every params struct has, for a weft_call's initialiser.
#define CALL_PARAMS(params)                                                                        \
    .workspace = (params)->workspace, .n_wait = (params)->n_wait, .wait = (params)->wait,          \
    .event = (params)->event

// The call's name in messages.
static inline const char *weft_call_name(const weft_call *call)
{
    return call->what ? call->what : call->op->name;
}

// The receiver of the plan's reasons; NULL: none.
static inline const weft_why *weft_call_why(const weft_call *call)
{
    return call->is_unheard ? NULL : call->ctx->why;
}

// Operand i, which is not NULL.
static inline const weft_tensor *weft_call_tensor(const weft_call *call, int i)
{
    return call->operands[i];
}

static inline const weft_csr *weft_call_csr(const weft_call *call, int i)
{
    return call->operands[i];
}

#endif
