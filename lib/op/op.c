// SPDX-License-Identifier: Apache-2.0
// Running, measuring and describing a call: the same for every operation.
#include "op/op.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clamp.h"
#include "op/operands.h"
#include "runtime/context.h"
#include "runtime/memo.h"
#include "runtime/scratch.h"

// The state of any operation, which begins with the driver's part.
typedef union any_state {
    weft_state head;
    max_align_t aligned;
    unsigned char bytes[WEFT_OP_STATE_BYTES];
} any_state;

// ---- plans

static weft_status plan_and_build(void *state, const weft_call *call)
{
    weft_state *head = state;
    weft_limits limits = call->ctx->limits;
    if (!call->op->build)
        return call->op->plan(state, call, &limits);
    for (bool fits = false; !fits;) {
        TRY(call->op->plan(state, call, &limits));
        size_t most = head->group_items;
        TRY(call->op->build(state, call, &most));
        TRY(weft_limits_fit(&fits, &limits, head->group_items, most, head->is_forced,
                            weft_call_name(call), weft_call_why(call)));
    }
    return WEFT_OK;
}

static weft_status numbers_check(const void *state, const weft_call *call)
{
    return call->op->numbers_check ? call->op->numbers_check(state, call) : WEFT_OK;
}

// All checks of a new call except buffers; fills in the state up to the plan.
static weft_status check(void *state, const weft_call *call)
{
    memset(state, 0, call->op->state_bytes);
    TRY(weft_operands_check_forms(call));
    TRY(call->op->check(state, call));
    return numbers_check(state, call);
}

weft_status weft_op_prepare(void *state, const weft_call *call)
{
    TRY(check(state, call));
    return ((weft_state *)state)->is_empty ? WEFT_OK : plan_and_build(state, call);
}

// ---- states that the context caches

static void key_of(weft_key *key, const weft_call *call)
{
    const char *what = weft_call_name(call);
    key->n = 0;
    key->is_full = !call->ctx->memo;
    weft_key_add(key, &call->op, sizeof(call->op));
    weft_key_add(key, &what, sizeof(what));
    weft_operands_key(key, call);
    weft_key_add_text(key, call->tiling);
    if (call->op->key)
        call->op->key(key, call);
}

// The state of a call, its key, and the facts about its buffers.
typedef struct lookup {
    bool is_planned;
    bool is_checked; // a call with this key passed the checks of buffers with these facts
    any_state state;
    weft_key key;
    weft_memo_key memo_key; // of the key, unless it is full
    weft_buffers buffers;
} lookup;

static weft_memo_facts facts_of(const lookup *f)
{
    return (weft_memo_facts){f->buffers.n * sizeof(f->buffers.of[0]), f->buffers.of};
}

static bool is_cached(lookup *f, const weft_call *call)
{
    weft_memo *memo = call->ctx->memo;
    key_of(&f->key, call);
    if (f->key.is_full)
        return false;
    f->memo_key = weft_memo_key_of(f->key.bytes, f->key.n);
    if (!weft_memo_find(memo, &f->memo_key, &f->state, call->op->state_bytes))
        return false;
    weft_operands_buffers(&f->buffers, call);
    const weft_memo_facts facts = facts_of(f);
    f->is_checked = weft_memo_knows(memo, &f->memo_key, &facts);
    return true;
}

// A failed query fails the call, even if the checks repeat it with success.
static weft_status check_buffers(lookup *f, const weft_call *call)
{
    if (f->is_checked)
        return WEFT_OK;
    TRY(weft_operands_check_buffers(call, &f->state.head));
    if (!f->state.head.is_empty)
        TRY(weft_operands_check_apart(call, &f->state.head));
    TRY(f->key.failed);
    TRY(f->buffers.failed);
    const weft_memo_facts facts = facts_of(f);
    if (facts.n > 0)
        weft_memo_add_facts(call->ctx->memo, &f->memo_key, &facts);
    return WEFT_OK;
}

// Finds the state. Checks all that a call with this key has not passed yet.
static weft_status look_up(lookup *f, const weft_call *call)
{
    const size_t bytes = call->op->state_bytes;
    assert(bytes <= sizeof(f->state));
    TRY(weft_context_check(call->ctx, weft_call_name(call)));
    f->is_checked = false;
    f->key.failed = f->buffers.failed = WEFT_OK;
    f->buffers.n = 0;
    f->is_planned = call->state ? true : is_cached(f, call);
    if (call->state)
        memcpy(&f->state, call->state, bytes);
    TRY(f->is_planned ? numbers_check(&f->state, call) : check(&f->state, call));
    return check_buffers(f, call);
}

static weft_status finish(lookup *f, const weft_call *call)
{
    if (f->is_planned)
        return WEFT_OK;
    if (!f->state.head.is_empty)
        TRY(plan_and_build(&f->state, call));
    if (!f->key.is_full)
        weft_memo_keep(call->ctx->memo, &f->memo_key, &f->state, call->op->state_bytes);
    return WEFT_OK;
}

// ---- calls

// The steps before the kernels: contents of matrices, plan, scratch memory.
static weft_status begin(weft_launch *launch, lookup *f, const weft_call *call, cl_mem *scratch)
{
    if (call->ctx->check_matrices && !call->is_checked)
        TRY(weft_operands_check_content(launch, call));
    TRY(finish(f, call));
    const size_t bytes = f->state.head.scratch_bytes;
    if (call->workspace && bytes > 0)
        TRY(weft_operands_check_workspace(call, &f->state.head));
    return weft_scratch_begin(launch, call->workspace, bytes, scratch);
}

// A call that is recorded notes which bytes of buffers it accesses.
static weft_status note_uses(weft_recorder *recorder, const weft_call *call,
                             const weft_state *state)
{
    const char *what = weft_call_name(call);
    weft_recorded_buffer uses[WEFT_USES];
    const int n = weft_operands_uses(uses, call, state);
    for (int i = 0; i < n; i++)
        TRY(weft_recorder_use(recorder, what, &uses[i]));
    if (!call->workspace || state->scratch_bytes == 0)
        return WEFT_OK;
    return weft_recorder_use(recorder, what,
                             &(weft_recorded_buffer){
                                 .buffer = call->workspace,
                                 .last = (int64_t)state->scratch_bytes,
                                 .is_read = true,
                                 .is_written = true,
                             });
}

weft_status weft_op_run(const weft_call *call, cl_command_queue queue)
{
    lookup f;
    weft_launch launch;
    cl_mem scratch = NULL;
    TRY(look_up(&f, call));
    TRY(weft_launch_begin(&launch, call->ctx, queue, weft_call_name(call), call->n_wait, call->wait,
                          call->event != NULL));
    weft_status status = begin(&launch, &f, call, &scratch);
    if (status == WEFT_OK && !f.state.head.is_empty)
        status = call->op->run(&launch, &f.state, call, scratch);
    if (launch.recorder && status == WEFT_OK && !f.state.head.is_empty)
        status = note_uses(launch.recorder, call, &f.state.head);
    if (scratch)
        weft_scratch_end(&launch, call->workspace, scratch);
    return weft_launch_end(&launch, status, call->event);
}

weft_status weft_op_workspace(const weft_call *call, size_t *bytes)
{
    if (!bytes)
        return fail(WEFT_BAD_ARGUMENT, "%s_workspace: bytes is NULL", weft_call_name(call));
    *bytes = 0;
    lookup f;
    TRY(look_up(&f, call));
    TRY(finish(&f, call));
    *bytes = f.state.head.scratch_bytes;
    return WEFT_OK;
}

int weft_op_describe(const weft_call *call, char *text, size_t size)
{
    lookup f;
    if (look_up(&f, call) != WEFT_OK || finish(&f, call) != WEFT_OK)
        return -1;
    return f.state.head.is_empty ? snprintf(text, size, "nothing to do")
                                 : call->op->print(&f.state, call, text, size);
}
