// SPDX-License-Identifier: Apache-2.0
// Operands checked by their operation's table. Names are composed only after a failure.
#include "op/operands.h"

#include <stdio.h>

#include "operand/csr_content.h"
#include "operand/view.h"

static int count_of(const weft_call *call)
{
    return call->n_operands > 0 ? call->n_operands : call->op->n_operands;
}

// Operands beyond the table are like its first or its last one.
static const weft_operand_rule *rule_of(const weft_call *call, int i)
{
    const int last = call->op->n_operands - 1;
    const int further = call->n_first > 0 ? call->n_first - 1 : 0;
    const int place = i > further ? i - further : 0;
    return &call->op->operands[place < last ? place : last];
}

// "X", or "input bias" if the call names it.
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
    weft_access access = rule_of(call, i)->access;
    if (!is_there(call, i, WEFT_OPERAND_CSR))
        return access;
    if (call->unread & 1u << i)
        access &= ~(unsigned)(WEFT_READS_VALUES | WEFT_WRITES_VALUES);
    if (access & WEFT_SPARES_VALUES && weft_call_csr(call, i)->values)
        access |= WEFT_READS_VALUES;
    return access;
}

// Every check supports u8 and f16, which have the sizes of i8 and i16.
static weft_tensor tensor_of(const weft_call *call, int i)
{
    weft_tensor view = *weft_call_tensor(call, i);
    if (view.dtype == WEFT_I8 && rule_of(call, i)->may_be_i8)
        view.dtype = WEFT_U8;
    if (view.dtype == WEFT_I16 && rule_of(call, i)->may_be_i16)
        view.dtype = WEFT_F16;
    return view;
}

// If only offsets are written, the number of entries is not known yet.
static int64_t entries_of(const weft_call *call, int i)
{
    return access_of(call, i) == WEFT_WRITES_OFFSETS ? 0 : weft_call_csr(call, i)->nnz;
}

static weft_csr csr_of(const weft_call *call, int i)
{
    weft_csr csr = weft_csr_with_defaults(call->operands[i]);
    csr.nnz = entries_of(call, i);
    return csr;
}

// ---- arrays of operands

// A tensor has only values; row numbers count as offsets.
typedef enum part { OFFSETS, INDICES, VALUES, PARTS } part;

static unsigned reads(part p)
{
    return (unsigned)WEFT_READS_OFFSETS << p;
}

static unsigned writes(part p)
{
    return (unsigned)WEFT_WRITES_OFFSETS << p;
}

// Without entries a CSR has only offsets.
static bool has(const weft_call *call, int i, part p, unsigned access)
{
    if (!call->operands[i] || !(access_of(call, i) & access))
        return false;
    return !is_there(call, i, WEFT_OPERAND_CSR) || p == OFFSETS || entries_of(call, i) > 0;
}

static bool is_written(const weft_call *call, int i, part p)
{
    return has(call, i, p, writes(p));
}

static bool is_touched(const weft_call *call, int i, part p)
{
    return has(call, i, p, reads(p) | writes(p));
}

// "A", or "A's offsets" if A consists of arrays.
static const char *part_name(char text[WEFT_OPERAND_TEXT], const weft_call *call, int i, part p)
{
    static const char *const names[] = {"offsets", "indices", "values"};
    char own[WEFT_OPERAND_TEXT];
    const weft_operand_kind kind = rule_of(call, i)->kind;
    if (kind == WEFT_OPERAND_TENSOR)
        return name_of(text, call, i);
    snprintf(text, WEFT_OPERAND_TEXT, "%s's %s", name_of(own, call, i),
             kind == WEFT_OPERAND_ROWS ? "rows" : names[p]);
    return text;
}

typedef struct {
    cl_mem buffer;
    int64_t start, n;
    weft_dtype dtype;
} array;

static array array_of(const weft_call *call, int i, part p)
{
    if (rule_of(call, i)->kind == WEFT_OPERAND_ROWS) {
        const weft_dcsr *dcsr = call->operands[i];
        return (array){dcsr->rows, dcsr->rows_start, dcsr->n_stored, WEFT_I32};
    }
    const weft_csr csr = csr_of(call, i);
    return p == OFFSETS ? (array){csr.offsets, csr.offsets_start, csr.n_rows + 1, csr.offset_dtype}
           : p == INDICES ? (array){csr.indices, csr.indices_start, csr.nnz, csr.index_dtype}
                          : (array){csr.values, csr.values_start, csr.nnz, csr.dtype};
}

// The array as bytes, since tensors have no i16.
static weft_tensor part_view(const weft_call *call, int i, part p)
{
    if (rule_of(call, i)->kind == WEFT_OPERAND_TENSOR)
        return tensor_of(call, i);
    const array a = array_of(call, i, p);
    const int64_t size = (int64_t)weft_dtype_size(a.dtype);
    return (weft_tensor){.buffer = a.buffer,
                         .dtype = WEFT_U8,
                         .offset = a.start * size,
                         .ndim = 1,
                         .shape = {a.n * size},
                         .stride = {1}};
}

// ---- forms

static weft_status form_check(const weft_call *call, int i)
{
    const char *op = weft_call_name(call);
    char text[WEFT_OPERAND_TEXT], what[WEFT_OPERAND_TEXT];
    const char *name = name_of(text, call, i);
    weft_operand_text(what, op, name);
    if (rule_of(call, i)->kind == WEFT_OPERAND_CSR) {
        const weft_csr csr = csr_of(call, i);
        return weft_csr_form_check(&csr, what);
    }
    if (rule_of(call, i)->kind == WEFT_OPERAND_ROWS)
        return weft_dcsr_rows_form_check(call->operands[i], op, name);
    const weft_tensor view = tensor_of(call, i);
    return is_written(call, i, VALUES) ? weft_output_form_check(&view, what)
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

// Checks the arrays that are read.
static weft_status csr_read_check(const weft_call *call, const weft_state *state, int i,
                                  const char *what)
{
    const weft_csr csr = csr_of(call, i);
    const weft_access access = access_of(call, i);
    if (access & WEFT_READS_VALUES)
        return weft_csr_view_check(call->ctx, &csr, state->n_batches > 0 ? state->n_batches : 1,
                                   what);
    return access & WEFT_READS_INDICES   ? weft_pattern_view_check(call->ctx, &csr, what)
           : access & WEFT_READS_OFFSETS ? weft_offsets_view_check(call->ctx, &csr, what)
                                         : WEFT_OK;
}

// Offsets of a CSR are first written as lengths, so that kernels also read them.
static weft_status written_check(const weft_call *call, int i, part p, const char *name)
{
    char text[WEFT_OPERAND_TEXT], what[WEFT_OPERAND_TEXT] = "";
    const array a = array_of(call, i, p);
    if (a.n == 0)
        return WEFT_OK;
    if (*name)
        weft_operand_text(what, weft_call_name(call), part_name(text, call, i, p));
    TRY(rule_of(call, i)->kind == WEFT_OPERAND_CSR && p == OFFSETS
            ? weft_array_check(call->ctx, a.buffer, a.start, a.n, a.dtype, what, "")
            : weft_array_place_check(call->ctx, a.buffer, a.start, a.n, a.dtype, what, ""));
    const weft_tensor view = part_view(call, i, p); // its bytes do not overflow: checked above
    return weft_output_check(call->ctx, &view, what);
}

static weft_status arrays_check(const weft_call *call, const weft_state *state, int i,
                                const char *name, const char *what)
{
    if (rule_of(call, i)->kind == WEFT_OPERAND_CSR)
        TRY(csr_read_check(call, state, i, what));
    else if (access_of(call, i) & WEFT_READS_OFFSETS)
        TRY(weft_dcsr_rows_view_check(call->ctx, call->operands[i], weft_call_name(call), name));
    for (part p = OFFSETS; p < PARTS; ++p)
        if (is_written(call, i, p))
            TRY(written_check(call, i, p, name));
    return WEFT_OK;
}

static weft_status buffers_check(const weft_call *call, const weft_state *state, int i,
                                 const char *name, const char *what)
{
    if (rule_of(call, i)->kind != WEFT_OPERAND_TENSOR)
        return arrays_check(call, state, i, name, what);
    const weft_tensor view = tensor_of(call, i);
    return is_written(call, i, VALUES) ? weft_output_check(call->ctx, &view, what)
                                       : weft_tensor_check(call->ctx, &view, what);
}

// After a failure the check is repeated with names.
weft_status weft_operands_check_buffers(const weft_call *call, const weft_state *state)
{
    char text[WEFT_OPERAND_TEXT], what[WEFT_OPERAND_TEXT];
    for (int i = 0; i < count_of(call); ++i) {
        const weft_status first =
            call->operands[i] ? buffers_check(call, state, i, "", "") : WEFT_OK;
        if (first == WEFT_OK)
            continue;
        const char *name = name_of(text, call, i);
        weft_operand_text(what, weft_call_name(call), name);
        const weft_status named = buffers_check(call, state, i, name, what);
        return named == WEFT_OK ? first : named;
    }
    return WEFT_OK;
}

// ---- overlap of outputs

// An output and the operand that it is checked against, with names for a message.
typedef struct {
    const weft_call *call;
    const weft_state *state;
    const weft_tensor *output;
    const char *output_name, *name;
    bool may_be; // the output may be the other operand itself
} pair;

static weft_status apart_from_tensor(const pair *p, int i)
{
    const char *op = weft_call_name(p->call);
    const weft_tensor view = tensor_of(p->call, i);
    return p->may_be ? weft_alias_check(p->output, p->output_name, &view, p->name, op)
                     : weft_tensor_overlap_check(p->output, p->output_name, &view, p->name, op);
}

// The output may be the values of a batch, or of a single matrix.
static weft_status apart_from_values(const pair *p, int i)
{
    const weft_csr csr = csr_of(p->call, i);
    const int64_t n_batches = p->state->n_batches;
    const weft_tensor same = weft_csr_values(&csr, p->output->ndim > 1 ? n_batches : 0);
    const weft_tensor all = weft_csr_values(&csr, n_batches > 1 ? n_batches : 0);
    if (p->may_be && weft_tensor_is_same(p->output, &same))
        return WEFT_OK;
    return weft_tensor_overlap_check(p->output, p->output_name, &all, p->name,
                                     weft_call_name(p->call));
}

static weft_status apart_from(const pair *p, int i, part q)
{
    const weft_operand_kind kind = rule_of(p->call, i)->kind;
    if (kind == WEFT_OPERAND_CSR && q == VALUES)
        return apart_from_values(p, i);
    if (kind == WEFT_OPERAND_TENSOR)
        return apart_from_tensor(p, i);
    const array a = array_of(p->call, i, q);
    const int64_t size = (int64_t)weft_dtype_size(a.dtype);
    const weft_span bytes = {a.start * size, (a.start + a.n) * size};
    return weft_overlap_check(p->output, p->output_name, a.buffer, bytes, p->name,
                              weft_call_name(p->call));
}

// If they overlap the check is repeated with names.
static weft_status pair_check(pair *p, int output, part of_output, int i, part q)
{
    char text[2][WEFT_OPERAND_TEXT];
    p->output_name = p->name = "";
    const weft_status first = apart_from(p, i, q);
    if (first == WEFT_OK)
        return WEFT_OK;
    p->output_name = output < 0 ? "workspace" : part_name(text[0], p->call, output, of_output);
    p->name = part_name(text[1], p->call, i, q);
    const weft_status named = apart_from(p, i, q);
    return named == WEFT_OK ? first : named;
}

// A later output is checked against earlier ones.
static weft_status output_apart(const weft_call *call, const weft_state *state, int output, part p)
{
    const weft_tensor view = part_view(call, output, p);
    pair both = {.call = call, .state = state, .output = &view};
    for (int i = 0; i < count_of(call); ++i) {
        both.may_be = rule_of(call, output)->may_be & 1u << i && !is_written(call, i, VALUES);
        for (part q = OFFSETS; q < PARTS; ++q) {
            const bool is_later = i * PARTS + (int)q >= output * PARTS + (int)p;
            if (is_touched(call, i, q) && !(is_later && is_written(call, i, q)))
                TRY(pair_check(&both, output, p, i, q));
        }
    }
    return WEFT_OK;
}

weft_status weft_operands_check_apart(const weft_call *call, const weft_state *state)
{
    for (int i = 0; i < count_of(call); ++i)
        for (part p = OFFSETS; p < PARTS; ++p)
            if (is_written(call, i, p))
                TRY(output_apart(call, state, i, p));
    return WEFT_OK;
}

weft_status weft_operands_check_workspace(const weft_call *call, const weft_state *state)
{
    weft_tensor scratch;
    TRY(weft_workspace_view(&scratch, call->ctx, call->workspace, state->scratch_bytes,
                            weft_call_name(call)));
    pair both = {.call = call, .state = state, .output = &scratch};
    for (int i = 0; i < count_of(call); ++i)
        for (part q = OFFSETS; q < PARTS; ++q)
            if (is_touched(call, i, q))
                TRY(pair_check(&both, -1, VALUES, i, q));
    return WEFT_OK;
}

// ---- content

weft_status weft_operands_check_content(const weft_launch *launch, const weft_call *call)
{
    char text[WEFT_OPERAND_TEXT];
    for (int i = 0; i < count_of(call); ++i) {
        const char *name = name_of(text, call, i);
        const weft_access access = access_of(call, i);
        if (is_there(call, i, WEFT_OPERAND_CSR) && access & WEFT_READS_OFFSETS)
            TRY(access & WEFT_READS_INDICES
                    ? weft_csr_content_check(launch, call->operands[i], name)
                    : weft_offsets_content_check(launch, call->operands[i], name));
        if (is_there(call, i, WEFT_OPERAND_ROWS) && access & WEFT_READS_OFFSETS)
            TRY(weft_rows_content_check(launch, call->operands[i], name));
    }
    return WEFT_OK;
}

// ---- facts about buffers

static cl_mem buffer_of(const weft_call *call, int i, part p)
{
    return rule_of(call, i)->kind == WEFT_OPERAND_TENSOR ? weft_call_tensor(call, i)->buffer
                                                         : array_of(call, i, p).buffer;
}

// Buffers of empty arrays may be invalid.
static bool has_elements(const weft_call *call, int i, part p)
{
    return rule_of(call, i)->kind == WEFT_OPERAND_TENSOR
               ? !weft_tensor_is_empty(weft_call_tensor(call, i))
               : array_of(call, i, p).n > 0;
}

// False if there is no room, or no answer.
static bool add_facts(weft_buffers *buffers, cl_mem handle)
{
    if (buffers->n == sizeof(buffers->of) / sizeof(buffers->of[0]))
        return false;
    buffers->failed = weft_buffer_facts_of(&buffers->of[buffers->n++], handle);
    return buffers->failed == WEFT_OK;
}

void weft_operands_buffers(weft_buffers *out, const weft_call *call)
{
    out->n = 0;
    out->failed = WEFT_OK;
    for (int i = 0; i < count_of(call); ++i)
        for (part p = OFFSETS; p < PARTS; ++p)
            if (is_touched(call, i, p) && has_elements(call, i, p) &&
                !add_facts(out, buffer_of(call, i, p))) {
                out->n = 0;
                return;
            }
}

// ---- uses of buffers

// Of a batch all values. Offsets that are written are read too: they are lengths at first.
static weft_recorded_buffer use_of(const weft_call *call, const weft_state *state, int i, part p)
{
    const bool is_csr = rule_of(call, i)->kind == WEFT_OPERAND_CSR;
    weft_tensor view = part_view(call, i, p);
    if (is_csr && p == VALUES && state->n_batches > 1) {
        const weft_csr csr = csr_of(call, i);
        view = weft_csr_values(&csr, state->n_batches);
    }
    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(view.dtype, WEFT_F32));
    const weft_span elements = weft_tensor_span(&view);
    const bool is_written_here = is_written(call, i, p);
    return (weft_recorded_buffer){
        .buffer = view.buffer,
        .first = elements.first * size,
        .last = elements.last * size,
        .is_read = has(call, i, p, reads(p)) || (is_csr && p == OFFSETS && is_written_here),
        .is_written = is_written_here,
    };
}

int weft_operands_uses(weft_recorded_buffer out[WEFT_USES], const weft_call *call,
                       const weft_state *state)
{
    int n = 0;
    for (int i = 0; i < count_of(call); ++i)
        for (part p = OFFSETS; p < PARTS; ++p)
            if (is_touched(call, i, p) && has_elements(call, i, p))
                out[n++] = use_of(call, state, i, p);
    return n;
}

// ---- keys

// The first tensor in the same buffer, which may be tensor i.
static int first_sharing(const weft_call *call, int i)
{
    int first = 0;
    while (first < i &&
           !(is_there(call, first, WEFT_OPERAND_TENSOR) &&
             weft_call_tensor(call, first)->buffer == weft_call_tensor(call, i)->buffer))
        ++first;
    return first;
}

static void note_failure(weft_key *key, weft_status status)
{
    if (status == WEFT_OK)
        return;
    key->failed = status;
    key->is_full = true;
}

// Adds the alignment of arrays that kernels access; others are ignored. Invalid buffers will be
// refused.
static void add_shift(weft_key *key, const weft_call *call, int i)
{
    int64_t shifts[2] = {0, 0};
    if (key->is_full)
        return;
    if (is_there(call, i, WEFT_OPERAND_TENSOR)) {
        const weft_tensor view = tensor_of(call, i);
        note_failure(key, weft_tensor_shift(&shifts[0], &view, ""));
    } else if (is_there(call, i, WEFT_OPERAND_CSR)) {
        const weft_csr csr = csr_of(call, i);
        if (is_touched(call, i, INDICES))
            note_failure(key, weft_buffer_shift(&shifts[0], csr.indices, csr.index_dtype, "", ""));
        if (is_touched(call, i, VALUES))
            note_failure(key, weft_buffer_shift(&shifts[1], csr.values, csr.dtype, "", ""));
    }
    weft_key_add(key, shifts, sizeof(shifts));
}

static void add_operand(weft_key *key, const weft_call *call, int i)
{
    const weft_operand_kind kind = rule_of(call, i)->kind;
    weft_key_add_number(key, call->operands[i] ? (int64_t)kind : -1);
    if (!call->operands[i])
        return;
    weft_key_add_number(key, access_of(call, i));
    const weft_csr csr = kind == WEFT_OPERAND_CSR ? csr_of(call, i) : (weft_csr){0};
    if (kind == WEFT_OPERAND_CSR)
        weft_key_add_csr(key, &csr);
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
    weft_key_add_number(key, call->n_first);
    weft_key_add_number(key, call->unread);
    for (int i = 0; i < count_of(call); ++i)
        add_operand(key, call, i);
}
