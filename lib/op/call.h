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
    WEFT_OPERAND_ROWS,   // weft_dcsr: the numbers of its stored rows alone
} weft_operand_kind;

// What kernels do with the arrays of an operand. A tensor has values alone, rows are offsets. Where
// a CSR has its offsets written and nothing else done to it, its nnz is not looked at.
typedef enum weft_access {
    WEFT_READS_OFFSETS = 1 << 0,
    WEFT_READS_INDICES = 1 << 1,
    WEFT_READS_VALUES = 1 << 2,
    WEFT_WRITES_OFFSETS = 1 << 3,
    WEFT_WRITES_INDICES = 1 << 4,
    WEFT_WRITES_VALUES = 1 << 5,
    WEFT_SPARES_VALUES = 1 << 6, // may be NULL; else sound, and what is written is apart from them
    WEFT_READS_PATTERN = WEFT_READS_OFFSETS | WEFT_READS_INDICES,
    WEFT_READS_CSR = WEFT_READS_PATTERN | WEFT_READS_VALUES,
    WEFT_WRITES_ENTRIES = WEFT_WRITES_INDICES | WEFT_WRITES_VALUES,
    WEFT_WRITES_CSR = WEFT_WRITES_OFFSETS | WEFT_WRITES_ENTRIES,
} weft_access;

typedef struct weft_operand_rule {
    const char *name; // "X", or "input ", behind which stands the name that the call has for it
    weft_operand_kind kind;
    weft_access access;
    bool is_optional;           // may be NULL
    bool may_be_i8, may_be_i16; // a tensor, which elsewhere may not
    unsigned may_be; // operands, by bits, that what is written may be itself: the same view;
                     // of outputs none
} weft_operand_rule;

typedef struct weft_call weft_call;

// What the driver asks of a state; an operation's own fields follow.
typedef struct weft_state {
    bool is_empty;        // there is nothing to do: no plan, no kernels
    bool is_forced;       // the tiling is the caller's
    int64_t n_batches;    // matrices whose values a CSR has; 0 counts as 1
    size_t group_items;   // of the largest group that the plan wants
    size_t scratch_bytes; // that the kernels want
} weft_state;

// `key`, `numbers_check` and `build` may be NULL. A state is zeroed before `check`, and
// `call` is the caller's, which ends with the call: no state keeps its pointers.
typedef struct weft_op {
    const char *name; // "softmax"
    int n_operands;   // those of the table; further ones are like the last
    weft_operand_rule operands[WEFT_OP_OPERANDS];
    size_t state_bytes;
    bool sees_alignment; // plans depend on where memory of the host begins that buffers are in

    // What makes plans differ besides operands, tiling and params: numbers, flags, texts.
    void (*key)(weft_key *key, const weft_call *call);

    // What the operation asks of operands that have the right form; fills in the problem. Called
    // where the state is not known; but numbers_check is called each time.
    weft_status (*check)(void *state, const weft_call *call);
    weft_status (*numbers_check)(const void *state, const weft_call *call);

    // Chooses how to run within the limits, or checks what the caller forced; then builds, and
    // lowers *most to the items that a group of the kernels may have. Without `build`, `plan` sees
    // to all that itself.
    weft_status (*plan)(void *state, const weft_call *call, const weft_limits *limits);
    weft_status (*build)(void *state, const weft_call *call, size_t *most);

    // Enqueues. `scratch` has the state's scratch_bytes; NULL where these are 0.
    weft_status (*run)(weft_launch *launch, const void *state, const weft_call *call,
                       cl_mem scratch);

    // The plan in words, as snprintf() does it.
    int (*print)(const void *state, const weft_call *call, char *text, size_t size);
} weft_op;

// A call as the public function was given it.
struct weft_call {
    const weft_op *op;
    weft_context *ctx;
    const char *what; // for messages, where the table's name will not do; else NULL
    int n_operands;   // 0: as many as the table has
    int n_first;      // of them, that are like the table's first; 0 counts as 1
    const void *operands[WEFT_OP_OPERANDS]; // in the table's order; NULL: not given
    const char *names[WEFT_OP_OPERANDS];    // that the caller gave them; else NULL
    bool is_unheard;    // its plan is on the way to another one: nobody is told why
    unsigned unread;    // matrices, by bits, whose values are not looked at
    const void *own;    // what else the operation takes
    const void *state;  // that is known already, as weft_op_prepare() gave it; else NULL
    const char *tiling; // that the caller forces; NULL: the plan's
    cl_mem workspace;   // of the caller's; NULL: from the context's pool
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
};

// The fields that every params struct has, for a weft_call's initialiser.
#define CALL_PARAMS(params)                                                                        \
    .workspace = (params)->workspace, .n_wait = (params)->n_wait, .wait = (params)->wait,          \
    .event = (params)->event

// For messages.
static inline const char *weft_call_name(const weft_call *call)
{
    return call->what ? call->what : call->op->name;
}

// Where its plan's reasons go; NULL: nowhere.
static inline const weft_why *weft_call_why(const weft_call *call)
{
    return call->is_unheard ? NULL : call->ctx->why;
}

// Operand i, of which there is one.
static inline const weft_tensor *weft_call_tensor(const weft_call *call, int i)
{
    return call->operands[i];
}

static inline const weft_csr *weft_call_csr(const weft_call *call, int i)
{
    return call->operands[i];
}

#endif
