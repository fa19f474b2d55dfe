// SPDX-License-Identifier: Apache-2.0
// Operands checked by their operation's table. Names are put together where something is wrong:
// most calls are right.
#include "op/operands.h"

#include <stdio.h>

#include "operand/csr_content.h"
#include "operand/view.h"

static int count_of(const weft_call *call)
{
    return call->n_operands > 0 ? call->n_operands : call->op->n_operands;
}

// Further operands are like the last one of the table.
static const weft_operand_rule *rule_of(const weft_call *call, int i)
{
    const int last = call->op->n_operands - 1;
    return &call->op->operands[i < last ? i : last];
}

// "X", or "input bias" where the call names it.
static const char *name_of(char text[WEFT_OPERAND_TEXT], const weft_call *call, int i)
{
    const char *name = rule_of(call, i)->name;
    if (!call->names[i])
        return name;
    snprintf(text, WEFT_OPERAND_TEXT, "%s%s", name, call->names[i]);
    return text;
}

static bool is_there(const weft_call *call, int i, weft_operand_kind kind)
{
    return call->operands[i] && rule_of(call, i)->kind == kind;
}

static weft_access access_of(const weft_call *call, int i)
{
    const weft_access access = rule_of(call, i)->access;
    return call->unread & 1u << i ? access & ~(unsigned)WEFT_READS_VALUES : access;
}

static bool is_written(const weft_call *call, int i)
{
    return call->operands[i] && access_of(call, i) & WEFT_WRITES_VALUES;
}

// In memory i8 is like u8, which every check knows.
static weft_tensor tensor_of(const weft_call *call, int i)
{
    weft_tensor view = *weft_call_tensor(call, i);
    if (view.dtype == WEFT_I8 && rule_of(call, i)->may_be_i8)
        view.dtype = WEFT_U8;
    return view;
}

// ---- forms

static weft_status form_check(const weft_call *call, int i)
{
    const char *op = weft_call_name(call);
    char text[WEFT_OPERAND_TEXT], what[WEFT_OPERAND_TEXT];
    const char *name = name_of(text, call, i);
    weft_operand_text(what, op, name);
    if (rule_of(call, i)->kind == WEFT_OPERAND_CSR)
        return weft_csr_form_check(weft_call_csr(call, i), what);
    if (rule_of(call, i)->kind == WEFT_OPERAND_ROWS)
        return weft_dcsr_rows_form_check(call->operands[i], op, name);
    const weft_tensor view = tensor_of(call, i);
    return is_written(call, i) ? weft_output_form_check(&view, what)
                               : weft_tensor_form_check(&view, what);
}

weft_status weft_operands_check_forms(const weft_call *call)
{
    char name[WEFT_OPERAND_TEXT];
    for (int i = 0; i < count_of(call); ++i)
        if (!call->operands[i] && !rule_of(call, i)->is_optional)
            return fail(WEFT_BAD_ARGUMENT, "%s: %s is NULL", weft_call_name(call),
                        name_of(name, call, i));
    for (int i = 0; i < count_of(call); ++i)
        if (call->operands[i])
            TRY(form_check(call, i));
    return WEFT_OK;
}

// ---- buffers

static weft_status csr_buffers_check(const weft_call *call, const weft_state *state, int i,
                                     const char *what)
{
    const weft_csr *csr = weft_call_csr(call, i);
    const weft_access access = access_of(call, i);
    if (access & WEFT_READS_VALUES)
        return weft_csr_view_check(call->ctx, csr, state->n_batches > 0 ? state->n_batches : 1,
                                   what);
    return access & WEFT_READS_INDICES ? weft_pattern_view_check(call->ctx, csr, what)
                                       : weft_offsets_view_check(call->ctx, csr, what);
}

static weft_status buffers_check(const weft_call *call, const weft_state *state, int i,
                                 const char *name, const char *what)
{
    if (rule_of(call, i)->kind == WEFT_OPERAND_CSR)
        return csr_buffers_check(call, state, i, what);
    if (rule_of(call, i)->kind == WEFT_OPERAND_ROWS)
        return weft_dcsr_rows_view_check(call->ctx, call->operands[i], weft_call_name(call), name);
    const weft_tensor view = tensor_of(call, i);
    return is_written(call, i) ? weft_output_check(call->ctx, &view, what)
                               : weft_tensor_check(call->ctx, &view, what);
}

// Asked once more, by name, where something is wrong.
weft_status weft_operands_check_buffers(const weft_call *call, const weft_state *state)
{
    char text[WEFT_OPERAND_TEXT], what[WEFT_OPERAND_TEXT];
    for (int i = 0; i < count_of(call); ++i) {
        if (!call->operands[i] || buffers_check(call, state, i, "", "") == WEFT_OK)
            continue;
        const char *name = name_of(text, call, i);
        weft_operand_text(what, weft_call_name(call), name);
        return buffers_check(call, state, i, name, what);
    }
    return WEFT_OK;
}

// ---- what is written

// What is held against what, with names where they are told.
typedef struct {
    const weft_call *call;
    const weft_state *state;
    const weft_tensor *output;
    const char *output_name, *name;
    bool may_be; // the other operand itself
} pair;

static weft_status apart_from_csr(const pair *p, int i)
{
    const char *op = weft_call_name(p->call);
    const weft_csr *csr = weft_call_csr(p->call, i);
    const int64_t n_batches = p->state->n_batches;
    if (access_of(p->call, i) & WEFT_READS_VALUES && csr->nnz > 0) {
        const weft_tensor values = weft_csr_values(csr, p->output->ndim > 1 ? n_batches : 0);
        if (!p->may_be || !weft_tensor_is_same(p->output, &values))
            return weft_csr_overlap_check(p->output, p->output_name, csr, p->name, n_batches, op);
    }
    return weft_pattern_overlap_check(p->output, p->output_name, csr, p->name, op);
}

static weft_status apart_from(const pair *p, int i)
{
    const char *op = weft_call_name(p->call);
    if (is_there(p->call, i, WEFT_OPERAND_CSR))
        return apart_from_csr(p, i);
    if (is_there(p->call, i, WEFT_OPERAND_ROWS))
        return weft_dcsr_rows_overlap_check(p->output, p->output_name, p->call->operands[i],
                                            p->name, op);
    const weft_tensor view = tensor_of(p->call, i);
    return p->may_be ? weft_alias_check(p->output, p->output_name, &view, p->name, op)
                     : weft_tensor_overlap_check(p->output, p->output_name, &view, p->name, op);
}

// Asked once more, by names, where they overlap. `name` is of what is no operand, or NULL.
static weft_status pair_check(pair *p, int output, const char *name, int i)
{
    char text[2][WEFT_OPERAND_TEXT];
    p->output_name = p->name = "";
    if (apart_from(p, i) == WEFT_OK)
        return WEFT_OK;
    p->output_name = name ? name : name_of(text[0], p->call, output);
    p->name = name_of(text[1], p->call, i);
    return apart_from(p, i);
}

static weft_status output_apart(const weft_call *call, const weft_state *state, int output)
{
    const weft_tensor view = tensor_of(call, output);
    pair p = {.call = call, .state = state, .output = &view};
    for (int i = 0; i < count_of(call); ++i) {
        // Of two outputs the later one is held against the earlier one.
        if (i == output || !call->operands[i] || (is_written(call, i) && i > output))
            continue;
        p.may_be = rule_of(call, output)->may_be & 1u << i;
        TRY(pair_check(&p, output, NULL, i));
    }
    return WEFT_OK;
}

weft_status weft_operands_check_apart(const weft_call *call, const weft_state *state)
{
    for (int i = 0; i < count_of(call); ++i)
        if (is_written(call, i))
            TRY(output_apart(call, state, i));
    return WEFT_OK;
}

weft_status weft_operands_check_workspace(const weft_call *call, const weft_state *state)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, call->ctx, call->workspace, state->scratch_bytes,
                            weft_call_name(call)));
    pair p = {.call = call, .state = state, .output = &scratch};
    for (int i = 0; i < count_of(call); ++i)
        if (call->operands[i])
            TRY(pair_check(&p, i, "workspace", i));
    return WEFT_OK;
}

// ---- content

weft_status weft_operands_check_content(const weft_launch *launch, const weft_call *call)
{
    char text[WEFT_OPERAND_TEXT];
    for (int i = 0; i < count_of(call); ++i) {
        const char *name = name_of(text, call, i);
        if (is_there(call, i, WEFT_OPERAND_CSR))
            TRY(access_of(call, i) & WEFT_READS_INDICES
                    ? weft_csr_content_check(launch, call->operands[i], name)
                    : weft_offsets_content_check(launch, call->operands[i], name));
        if (is_there(call, i, WEFT_OPERAND_ROWS))
            TRY(weft_rows_content_check(launch, call->operands[i], name));
    }
    return WEFT_OK;
}

// ---- what plans depend on

// The first tensor in the same buffer, which may be itself.
static int first_sharing(const weft_call *call, int i)
{
    int first = 0;
    while (first < i &&
           !(is_there(call, first, WEFT_OPERAND_TENSOR) &&
             weft_call_tensor(call, first)->buffer == weft_call_tensor(call, i)->buffer))
        ++first;
    return first;
}

// What has no sound buffer will be refused.
static void add_shift(weft_key *key, const weft_call *call, int i)
{
    int64_t shifts[2] = {0, 0};
    if (is_there(call, i, WEFT_OPERAND_TENSOR)) {
        const weft_tensor view = tensor_of(call, i);
        weft_tensor_shift(&shifts[0], &view, "");
    } else if (is_there(call, i, WEFT_OPERAND_CSR) && weft_call_csr(call, i)->nnz > 0) {
        const weft_csr csr = weft_csr_settled(call->operands[i]);
        weft_buffer_shift(&shifts[0], csr.indices, csr.index_dtype, "", "");
        weft_buffer_shift(&shifts[1], csr.values, csr.dtype, "", "");
    }
    weft_key_add(key, shifts, sizeof(shifts));
}

static void add_operand(weft_key *key, const weft_call *call, int i)
{
    const weft_operand_kind kind = rule_of(call, i)->kind;
    weft_key_add_number(key, call->operands[i] ? (int64_t)kind : -1);
    if (!call->operands[i])
        return;
    if (kind == WEFT_OPERAND_CSR)
        weft_key_add_csr(key, call->operands[i]);
    else if (kind == WEFT_OPERAND_ROWS)
        weft_key_add_dcsr(key, call->operands[i]);
    else
        weft_key_add_tensor(key, call->operands[i]);
    if (kind == WEFT_OPERAND_TENSOR)
        weft_key_add_number(key, first_sharing(call, i));
    if (call->op->sees_alignment)
        add_shift(key, call, i);
}

void weft_operands_key(weft_key *key, const weft_call *call)
{
    weft_key_add_number(key, count_of(call));
    weft_key_add_number(key, call->unread);
    for (int i = 0; i < count_of(call); ++i)
        add_operand(key, call, i);
}
