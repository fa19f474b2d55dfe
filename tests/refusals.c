// SPDX-License-Identifier: Apache-2.0
// What a call has to be refused for, as its operation's table says.
#include "refusals.h"

#include <inttypes.h>

#include "operand/view.h"
#include "runtime/buffer.h"

// Of the operation and its driver themselves, where tests stand between.
weft_status __real_weft_op_run(const weft_call *call, cl_command_queue queue);

// ---- calls

void own_call_make(own_call *own, const weft_call *call, cl_command_queue queue)
{
    memset(own, 0, sizeof(*own));
    memcpy(&own->call, call, sizeof(*call));
    own->call.event = NULL;
    own->queue = queue;
    for (int i = 0; i < own_call_count(own); i++) {
        static const size_t sizes[] = {[WEFT_OPERAND_TENSOR] = sizeof(weft_tensor),
                                       [WEFT_OPERAND_CSR] = sizeof(weft_csr),
                                       [WEFT_OPERAND_ROWS] = sizeof(weft_dcsr)};
        if (call->operands[i])
            memcpy(&own->operands[i], call->operands[i], sizes[own_call_rule(own, i)->kind]);
    }
}

int own_call_count(const own_call *own)
{
    return own->call.n_operands > 0 ? own->call.n_operands : own->call.op->n_operands;
}

// There may be more than the table has: like the first of it, or like the last.
const weft_operand_rule *own_call_rule(const own_call *own, int i)
{
    const weft_call *c = &own->call;
    const int n_first = c->n_first > 0 ? c->n_first : 1;
    const int place = i < n_first ? 0 : i - n_first + 1;
    return &c->op->operands[place < c->op->n_operands ? place : c->op->n_operands - 1];
}

// What of a DCSR lies where the matrix of its stored rows does, which is the operand behind it.
static void follow(weft_dcsr *rows, const weft_csr *stored)
{
    rows->n_cols = stored->n_cols;
    rows->offsets = stored->offsets;
    rows->indices = stored->indices;
    rows->values = stored->values;
    rows->offsets_start = stored->offsets_start;
    rows->indices_start = stored->indices_start;
    rows->values_start = stored->values_start;
}

weft_status own_call_run(const own_call *own, cl_event *event)
{
    own_call made = *own;
    made.call.event = event;
    for (int i = 0; i < own_call_count(own); i++) {
        if (made.call.operands[i])
            made.call.operands[i] = &made.operands[i];
        if (own_call_rule(own, i)->kind == WEFT_OPERAND_ROWS)
            follow(&made.operands[i].rows, &made.operands[i + 1].csr);
    }
    return __real_weft_op_run(&made.call, own->queue);
}

void own_call_change(own_call *to, const own_call *good, const own_call *wrong)
{
    uint64_t words[3][sizeof(*to) / sizeof(uint64_t)];
    _Static_assert(sizeof(words[0]) == sizeof(*to), "calls are made of words");
    memcpy(words[0], to, sizeof(*to));
    memcpy(words[1], good, sizeof(*to));
    memcpy(words[2], wrong, sizeof(*to));
    for (size_t i = 0; i < sizeof(words[0]) / sizeof(words[0][0]); i++)
        words[0][i] = words[2][i] != words[1][i] ? words[2][i] : words[0][i];
    memcpy(to, words[0], sizeof(*to));
}

static const char *call_name(const own_call *own)
{
    return own->call.what ? own->call.what : own->call.op->name;
}

static const char *operand_name(char text[64], const own_call *own, int i)
{
    const char *further = own->call.names[i];
    snprintf(text, 64, "%s%s", own_call_rule(own, i)->name, further ? further : "");
    return text;
}

static int64_t span_of(const weft_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->ndim; d++)
        n += (t->shape[d] - 1) * t->stride[d];
    return n;
}

static bool is_touched(const own_call *own, int i, part p, unsigned first)
{
    unsigned access = own_call_rule(own, i)->access;
    const bool is_csr = own_call_rule(own, i)->kind == WEFT_OPERAND_CSR;
    if (is_csr && own->call.unread & 1u << i)
        access &= ~(unsigned)(WEFT_READS_VALUES | WEFT_WRITES_VALUES);
    if (is_csr && access & WEFT_SPARES_VALUES && own->operands[i].csr.values)
        access |= WEFT_READS_VALUES;
    return access & first << p;
}

// What has no data type of its own has four bytes: f32 or i32.
static void set_array(array *a, cl_mem *buffer, int64_t *start, int64_t n, weft_dtype dtype)
{
    a->buffer = buffer;
    a->start = start;
    a->n = n;
    a->size = dtype == WEFT_DEFAULT ? 4 : (int64_t)weft_dtype_size(dtype);
}

static void place_array(array *a, own_call *own, int i, part p)
{
    weft_tensor *t = &own->operands[i].tensor;
    weft_csr *csr = &own->operands[i].csr;
    weft_dcsr *rows = &own->operands[i].rows;
    const weft_operand_kind kind = own_call_rule(own, i)->kind;
    if (kind == WEFT_OPERAND_TENSOR && p == VALUES)
        set_array(a, &t->buffer, &t->offset, span_of(t), t->dtype);
    if (kind == WEFT_OPERAND_ROWS && p == OFFSETS)
        set_array(a, &rows->rows, &rows->rows_start, rows->n_stored, WEFT_I32);
    if (kind == WEFT_OPERAND_CSR && p == OFFSETS)
        set_array(a, &csr->offsets, &csr->offsets_start, csr->n_rows + 1, csr->offset_dtype);
    if (kind == WEFT_OPERAND_CSR && p == INDICES)
        set_array(a, &csr->indices, &csr->indices_start, csr->nnz, csr->index_dtype);
    if (kind == WEFT_OPERAND_CSR && p == VALUES)
        set_array(a, &csr->values, &csr->values_start, csr->nnz, csr->dtype);
}

array own_call_array(own_call *own, int i, part p)
{
    static const char *const parts[] = {"'s offsets", "'s indices", "'s values"};
    array a = {0};
    char text[64];
    const weft_operand_kind kind = own_call_rule(own, i)->kind;
    if (own->call.operands[i])
        place_array(&a, own, i, p);
    if (!a.buffer || a.n == 0)
        return (array){0};
    a.is_read = is_touched(own, i, p, WEFT_READS_OFFSETS);
    a.is_written = is_touched(own, i, p, WEFT_WRITES_OFFSETS);
    snprintf(a.name, sizeof(a.name), "%s%s", operand_name(text, own, i),
             kind == WEFT_OPERAND_TENSOR ? ""
             : kind == WEFT_OPERAND_ROWS ? "'s rows"
                                         : parts[p]);
    return a;
}

// ---- places

static cl_mem buffer_of(cl_context cl, cl_mem_flags flags, size_t bytes)
{
    cl_int code;
    void *zeros = calloc(1, bytes);
    cl_mem buffer = clCreateBuffer(cl, flags | CL_MEM_COPY_HOST_PTR, bytes, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(zeros);
    return buffer;
}

static cl_mem part_of(cl_mem buffer)
{
    const cl_buffer_region behind = {PART_ORIGIN, PLACE_BYTES - PART_ORIGIN};
    cl_int code;
    cl_mem rest =
        clCreateSubBuffer(buffer, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &behind, &code);
    assert_int_equal(code, CL_SUCCESS);
    return rest;
}

void places_create(places *p, const operation_operands *o)
{
    static char memory[PLACE_BYTES + 128] __attribute__((aligned(128)));
    static const cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
    const cl_image_desc square = {
        .image_type = CL_MEM_OBJECT_IMAGE2D, .image_width = 64, .image_height = 64};
    cl_int code;
    *p = (places){.other = open_context(NULL)};
    p->foreign = buffer_of(weft_context_cl(p->other), CL_MEM_READ_WRITE, PLACE_BYTES);
    p->foreign_event = clCreateUserEvent(weft_context_cl(p->other), &code);
    p->constant = buffer_of(o->cl, CL_MEM_READ_ONLY, PLACE_BYTES);
    p->write_only = buffer_of(o->cl, CL_MEM_WRITE_ONLY, PLACE_BYTES);
    p->shared = buffer_of(o->cl, CL_MEM_READ_WRITE, PLACE_BYTES);
    p->part = part_of(p->shared);
    p->work = buffer_of(o->cl, CL_MEM_READ_WRITE, PLACE_BYTES);
    p->work_part = part_of(p->work);
    p->crooked = clCreateBuffer(o->cl, CL_MEM_USE_HOST_PTR, PLACE_BYTES, memory + 4, &code);
    assert_int_equal(code, CL_SUCCESS);
    p->image = clCreateImage(o->cl, CL_MEM_READ_WRITE, &format, &square, NULL, &code);
    p->image = code == CL_SUCCESS ? p->image : NULL;
}

void places_destroy(places *p)
{
    cl_mem all[] = {p->part,     p->work_part,  p->shared,  p->work, p->foreign,
                    p->constant, p->write_only, p->crooked, p->image};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i])
            clReleaseMemObject(all[i]);
    for (int i = 0; i < p->n_small; i++)
        clReleaseMemObject(p->small[i]);
    clSetUserEventStatus(p->foreign_event, CL_COMPLETE);
    clReleaseEvent(p->foreign_event);
    weft_context_destroy(&p->other);
}

cl_mem places_small(places *p, const weft_context *ctx, int64_t bytes)
{
    assert_in_range(p->n_small, 0, 2 * MOST_REFUSALS - 1);
    p->small[p->n_small] = buffer_of(weft_context_cl(ctx), CL_MEM_READ_WRITE, (size_t)bytes);
    return p->small[p->n_small++];
}

// ---- lists

typedef struct list {
    refusal *all;
    int n;
    const own_call *good;
    places *places;
} list;

// A good call, to be changed into one that is refused and of which that is said.
__attribute__((format(printf, 4, 5))) static own_call *add(list *l, step at, weft_status status,
                                                           const char *format, ...)
{
    assert_in_range(l->n, 0, MOST_REFUSALS - 1);
    refusal *r = &l->all[l->n++];
    va_list arguments;
    r->step = at;
    r->status = r->otherwise = status;
    memcpy(&r->call, l->good, sizeof(r->call));
    const int length = snprintf(r->says, sizeof(r->says), "%s: ", call_name(l->good));
    va_start(arguments, format);
    vsnprintf(r->says + length, sizeof(r->says) - (size_t)length, format, arguments);
    va_end(arguments);
    return &r->call;
}

// Of an operand: its name is the first word.
#define WRONG(l, at, status, i, says, ...)                                                         \
    (&add(l, at, status, "%s " says, name_of(l, i).text, __VA_ARGS__)->operands[i])

typedef struct name {
    char text[64];
} name;

static name name_of(const list *l, int i)
{
    name n = {""};
    operand_name(n.text, l->good, i);
    return n;
}

// ---- forms

static void add_tensor_dtypes(list *l, int i)
{
    static const weft_dtype dtypes[] = {(weft_dtype)99, (weft_dtype)-1, WEFT_I8, WEFT_I16};
    const weft_operand_rule *rule = own_call_rule(l->good, i);
    for (int t = 0; t < 4; t++) {
        const bool may_be = (dtypes[t] == WEFT_I8 && rule->may_be_i8) ||
                            (dtypes[t] == WEFT_I16 && rule->may_be_i16);
        if (!may_be)
            WRONG(l, AT_FORMS, WEFT_BAD_DTYPE, i, "has data type %s (%d), which it cannot have",
                  weft_dtype_name(dtypes[t]), (int)dtypes[t])
                ->tensor.dtype = dtypes[t];
    }
}

static void add_tensor_reaches(list *l, int i)
{
    char shape[WEFT_SHAPE_TEXT];
    const weft_tensor *good = &l->good->operands[i].tensor;
    const int64_t far = 1 << 20; // wherever the operand begins
    weft_shape_text(good, shape);
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "%s: extents, strides and offset pass 2^63", shape)
        ->tensor.offset = INT64_MAX;
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "%s: extents, strides and offset pass 2^63", shape)
        ->tensor.stride[0] = INT64_MAX / 2;
    WRONG(l, AT_FORMS, WEFT_BAD_BUFFER, i,
          "%s reaches element -1 of its buffer: offset -1 is too small for its strides", shape)
        ->tensor.offset = -1;
    WRONG(l, AT_FORMS, WEFT_BAD_BUFFER, i,
          "%s reaches element %" PRId64 " of its buffer: offset 0 is too small for its strides",
          shape, -far * (good->shape[0] - 1))
        ->tensor.stride[0] = -far;
    if (own_call_rule(l->good, i)->access & WEFT_WRITES_VALUES)
        WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i,
              "%s: an output's elements must not share a place; the stride 0 of extent %" PRId64,
              shape, good->shape[0])
            ->tensor.stride[0] = 0;
}

static void add_tensor_forms(list *l, int i)
{
    const int64_t beyond = INT64_C(1) << 62;
    weft_tensor *t;
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "has %d dimensions, 0 to 8 are possible", -1)
        ->tensor.ndim = -1;
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "has %d dimensions, 0 to 8 are possible", 9)
        ->tensor.ndim = 9;
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "has extent %d in dimension 0", -3)->tensor.shape[0] = -3;
    t = &WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "[%" PRId64, beyond)->tensor;
    t->shape[0] = beyond;
    t->stride[0] = 4;
    add_tensor_dtypes(l, i);
    add_tensor_reaches(l, i);
}

static void add_csr_sizes(list *l, int i)
{
    const weft_csr *good = &l->good->operands[i].csr;
    // How many entries there are is asked nobody who has not counted them yet.
    const bool has_entries = own_call_rule(l->good, i)->access != WEFT_WRITES_OFFSETS;
    const int64_t nnz = has_entries ? good->nnz : 0;
    WRONG(l, AT_FORMS, WEFT_BAD_ARGUMENT, i,
          "is -1 x %" PRId64 " with %" PRId64 " entries: negative", good->n_cols, nnz)
        ->csr.n_rows = -1;
    WRONG(l, AT_FORMS, WEFT_BAD_ARGUMENT, i,
          "is %" PRId64 " x -1 with %" PRId64 " entries: negative", good->n_rows, nnz)
        ->csr.n_cols = -1;
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "has %" PRId64 " rows: one more offset does not fit",
          INT64_MAX)
        ->csr.n_rows = INT64_MAX;
    if (has_entries)
        WRONG(l, AT_FORMS, WEFT_BAD_ARGUMENT, i,
              "is %" PRId64 " x %" PRId64 " with -1 entries: negative", good->n_rows, good->n_cols)
            ->csr.nnz = -1;
    if (has_entries)
        WRONG(l, AT_FORMS, WEFT_BAD_DTYPE, i,
              "has %" PRId64 " entries, i32 offsets reach 2147483647", INT64_C(1) << 31)
            ->csr.nnz = INT64_C(1) << 31;
}

static void add_csr_forms(list *l, int i)
{
    weft_csr *wide;
    add_csr_sizes(l, i);
    WRONG(l, AT_FORMS, WEFT_BAD_DTYPE, i, "has %s offsets, i32 and i64 are possible", "f32")
        ->csr.offset_dtype = WEFT_F32;
    WRONG(l, AT_FORMS, WEFT_BAD_DTYPE, i, "has %s indices, i32 and i16 are possible", "i64")
        ->csr.index_dtype = WEFT_I64;
    WRONG(l, AT_FORMS, WEFT_BAD_DTYPE, i, "has %s values, f32, f64, f16 and bf16 are possible",
          "i32")
        ->csr.dtype = WEFT_I32;
    WRONG(l, AT_FORMS, WEFT_BAD_DTYPE, i, "has %" PRId64 " columns, i32 indices reach 2147483648",
          (INT64_C(1) << 31) + 1)
        ->csr.n_cols = (INT64_C(1) << 31) + 1;
    wide = &WRONG(l, AT_FORMS, WEFT_BAD_DTYPE, i, "has %d columns, i16 indices reach 32768", 32769)
                ->csr;
    wide->n_cols = 32769;
    wide->index_dtype = WEFT_I16;
}

static void add_rows_forms(list *l, int i)
{
    const weft_dcsr *good = &l->good->operands[i].rows;
    WRONG(l, AT_FORMS, WEFT_BAD_ARGUMENT, i, "stores -1 rows of %" PRId64 ": negative",
          good->n_rows)
        ->rows.n_stored = -1;
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i,
          "stores %" PRId64 " rows of %" PRId64 ", with %" PRId64 " entries", good->n_rows + 1,
          good->n_rows, good->nnz)
        ->rows.n_stored = good->n_rows + 1;
    WRONG(l, AT_FORMS, WEFT_BAD_SHAPE, i, "stores 0 rows of %" PRId64 ", with %" PRId64 " entries",
          good->n_rows, good->nnz)
        ->rows.n_stored = 0;
}

// Whether the operation asks nothing of the operand's extents and type as the driver has them:
// places may lie among any number of values; of gradients it asks as they were given, not
// transposed.
static bool is_asked_otherwise(const own_call *good, int i)
{
    const char *op = good->call.op->name;
    return (!strcmp(op, "sparse_gather") && i == 0) || (!strcmp(op, "sparse_linear_dw") && i < 2);
}

// f64, which wants twice the bytes. Formulas take any number of types.
static void add_f64(list *l, int i)
{
    const char *op = l->good->call.op->name, *rule = own_call_rule(l->good, i)->name;
    if (!strcmp(op, "elementwise") || !strncmp(rule, "input", 5))
        return;
    own_call *call = add(l, AT_SHAPES, WEFT_BAD_DTYPE, "%s", "");
    l->all[l->n - 1].otherwise = WEFT_UNSUPPORTED;
    if (own_call_rule(l->good, i)->kind == WEFT_OPERAND_TENSOR)
        call->operands[i].tensor.dtype = WEFT_F64;
    else
        call->operands[i].csr.dtype = WEFT_F64;
}

// One more along the first dimension than the others have, and than there is room for. What else
// operations ask of data types and shapes is theirs.
static void add_shapes(list *l, int i)
{
    own_call good = *l->good;
    const weft_operand_rule *rule = own_call_rule(l->good, i);
    const array values = own_call_array(&good, i, VALUES);
    if (is_asked_otherwise(l->good, i))
        return;
    if (rule->kind == WEFT_OPERAND_TENSOR)
        add(l, AT_SHAPES, WEFT_BAD_SHAPE, "%s", "")->operands[i].tensor.shape[0]++;
    if (rule->kind == WEFT_OPERAND_CSR && rule->access & WEFT_WRITES_CSR)
        add(l, AT_SHAPES, WEFT_BAD_SHAPE, "%s", "")->operands[i].csr.n_cols--;
    if (values.is_written || (values.is_read && !(rule->access & WEFT_SPARES_VALUES)))
        add_f64(l, i);
}

static void add_forms(list *l, int i)
{
    void (*const of_kind[])(list *, int) = {[WEFT_OPERAND_TENSOR] = add_tensor_forms,
                                            [WEFT_OPERAND_CSR] = add_csr_forms,
                                            [WEFT_OPERAND_ROWS] = add_rows_forms};
    const weft_operand_rule *rule = own_call_rule(l->good, i);
    if (!rule->is_optional)
        add(l, AT_NULLS, WEFT_BAD_ARGUMENT, "%s is NULL", name_of(l, i).text)->call.operands[i] =
            NULL;
    of_kind[rule->kind](l, i);
    add_shapes(l, i);
}

// ---- buffers

// Puts the array there.
static void move(own_call *call, int i, part p, cl_mem buffer, int64_t start)
{
    const array a = own_call_array(call, i, p);
    *a.buffer = buffer;
    *a.start = start;
}

static void add_buffer(list *l, int i, part p, cl_mem buffer, const char *says)
{
    own_call good = *l->good;
    const array a = own_call_array(&good, i, p);
    if (buffer || !strcmp(says, ": the buffer is NULL"))
        *own_call_array(add(l, AT_BUFFERS, WEFT_BAD_BUFFER, "%s%s", a.name, says), i, p).buffer =
            buffer;
}

// One byte is missing at the end.
static void add_small(list *l, int i, part p)
{
    own_call good = *l->good;
    char shape[WEFT_SHAPE_TEXT];
    const array a = own_call_array(&good, i, p);
    const int64_t bytes = (*a.start + a.n) * a.size;
    const cl_mem small = places_small(l->places, l->good->call.ctx, bytes - 1);
    own_call *call = own_call_rule(&good, i)->kind == WEFT_OPERAND_TENSOR
                         ? add(l, AT_BUFFERS, WEFT_BAD_BUFFER,
                               "%s %s needs %" PRId64 " bytes, its buffer has %" PRId64, a.name,
                               weft_shape_text(&good.operands[i].tensor, shape), bytes, bytes - 1)
                         : add(l, AT_BUFFERS, WEFT_BAD_BUFFER,
                               "%s, %" PRId64 " from element %" PRId64 ", need %" PRId64
                               " bytes, their buffer has %" PRId64,
                               a.name, a.n, *a.start, bytes, bytes - 1);
    *own_call_array(call, i, p).buffer = small;
}

static void add_starts(list *l, int i, part p)
{
    own_call good = *l->good;
    const array a = own_call_array(&good, i, p);
    own_call *call = add(l, AT_BUFFERS, WEFT_BAD_ARGUMENT, "%s start at element -1", a.name);
    *own_call_array(call, i, p).start = -1;
    call = add(l, AT_BUFFERS, WEFT_BAD_SHAPE,
               "%s: %" PRId64 " elements from %" PRId64 " pass 2^63 bytes", a.name, a.n,
               INT64_MAX - 1);
    *own_call_array(call, i, p).start = INT64_MAX - 1;
}

static void add_buffers(list *l, int i, part p)
{
    const places *at = l->places;
    own_call good = *l->good;
    const array a = own_call_array(&good, i, p);
    const weft_operand_kind kind = own_call_rule(&good, i)->kind;
    const unsigned access = own_call_rule(&good, i)->access;
    const bool is_spared =
        p == VALUES && access & WEFT_SPARES_VALUES && !(access & WEFT_READS_VALUES);
    if (!a.is_read && !a.is_written)
        return;
    if (!is_spared)
        add_buffer(l, i, p, NULL, ": the buffer is NULL");
    add_buffer(l, i, p, weft_stand_in(1), ": the buffer is one of a rehearsal");
    if (!is_on("oclgrind")) // which takes any handle for the object that is wanted
        add_buffer(l, i, p, (cl_mem)(void *)good.queue, ": the buffer is n");
    add_buffer(l, i, p, at->foreign, ": the buffer belongs to another OpenCL context");
    add_buffer(l, i, p, at->image, ": the memory object is an image or pipe, not a buffer");
    if (a.is_written)
        add_buffer(l, i, p, at->constant, " is an output, its buffer is CL_MEM_READ_ONLY");
    // Offsets of a result are lengths first, which kernels read again.
    if (!a.is_written || (kind == WEFT_OPERAND_CSR && p == OFFSETS))
        add_buffer(l, i, p, at->write_only, ": kernels read it, its buffer is CL_MEM_WRITE_ONLY");
    add_small(l, i, p);
    if (kind != WEFT_OPERAND_TENSOR)
        add_starts(l, i, p);
    if (kind == WEFT_OPERAND_CSR && p == VALUES && a.is_read)
        WRONG(l, AT_BUFFERS, WEFT_BAD_ARGUMENT, i, "has a batch stride of %d", -1)
            ->csr.values_batch_stride = -1;
}

// ---- overlaps

enum { AWAY = 16 }; // elements from where operands of good calls begin

// What is written is told first; of two outputs the later one. In bytes of `shared`.
static own_call *add_overlap(list *l, step at, const array *a, int64_t first, const array *b,
                             int64_t other)
{
    return add(l, at, WEFT_BAD_BUFFER,
               "%s (bytes %" PRId64 " to %" PRId64 ") overlaps %s (bytes %" PRId64 " to %" PRId64
               ") in one buffer",
               a->name, first, first + a->n * a->size - 1, b->name, other,
               other + b->n * b->size - 1);
}

// The last byte of one is a byte of the other's first element, either way round; and once more
// through a part of the buffer.
static void add_overlaps_of(list *l, int i, part p, int j, part q)
{
    own_call good = *l->good, *call;
    const array a = own_call_array(&good, i, p), b = own_call_array(&good, j, q);
    const int64_t behind_a = ((AWAY + a.n) * a.size - 1) / b.size;
    const int64_t behind_b = ((AWAY + b.n) * b.size - 1) / a.size;
    const int64_t before = (PART_ORIGIN + AWAY * a.size) / b.size + 1 - b.n;
    const cl_mem shared = l->places->shared;
    call = add_overlap(l, AT_OVERLAPS, &a, AWAY * a.size, &b, behind_a * b.size);
    move(call, i, p, shared, AWAY);
    move(call, j, q, shared, behind_a);
    call = add_overlap(l, AT_OVERLAPS, &a, behind_b * a.size, &b, AWAY * b.size);
    move(call, i, p, shared, behind_b);
    move(call, j, q, shared, AWAY);
    call = add_overlap(l, AT_OVERLAPS, &a, PART_ORIGIN + AWAY * a.size, &b, before * b.size);
    move(call, i, p, l->places->part, AWAY);
    move(call, j, q, shared, before);
}

static void add_overlaps(list *l, int i, part p)
{
    own_call good = *l->good;
    if (!own_call_array(&good, i, p).is_written)
        return;
    for (int k = 0; k < own_call_count(&good) * PARTS; k++) {
        const array b = own_call_array(&good, k / PARTS, (part)(k % PARTS));
        const bool is_earlier = k < i * PARTS + (int)p;
        if (b.is_written ? is_earlier : b.is_read && k != i * PARTS + (int)p)
            add_overlaps_of(l, i, p, k / PARTS, (part)(k % PARTS));
    }
}

// ---- queues, events, scratch memory

static void add_wait(list *l, cl_uint n, const cl_event *wait, const char *says)
{
    own_call *call = add(l, AT_QUEUE, WEFT_BAD_ARGUMENT, "%s", says);
    call->call.n_wait = n;
    call->call.wait = wait;
}

static void add_queues(list *l)
{
    static const cl_event nothing = NULL;
    add(l, AT_QUEUE, WEFT_BAD_ARGUMENT, "%s", "the queue is NULL")->queue = NULL;
    add(l, AT_QUEUE, WEFT_BAD_ARGUMENT, "%s", "the queue is of another OpenCL context")->queue =
        weft_context_queue(l->places->other);
    add_wait(l, 1, NULL, "1 events to wait for, but the list is NULL");
    add_wait(l, 0, &nothing, "0 events to wait for, but the list is there");
    add_wait(l, 1, &nothing, "event 0 of the wait list is not valid");
    add_wait(l, 1, &l->places->foreign_event, "event 0 of the wait list is of another context");
}

static void add_workspace(list *l, cl_mem workspace, const char *says)
{
    if (workspace)
        add(l, AT_WORKSPACE, WEFT_BAD_BUFFER, "workspace%s", says)->call.workspace = workspace;
}

// Its last byte is one of the operand's, as it is and as a part of the same buffer.
static void add_workspace_overlap(list *l, size_t bytes, int j, part q)
{
    own_call good = *l->good;
    const array scratch = {.n = (int64_t)bytes, .size = 1, .name = "workspace"};
    const array b = own_call_array(&good, j, q);
    if (!b.is_read && !b.is_written)
        return;
    const int64_t behind = ((int64_t)bytes - 1) / b.size;
    own_call *call = add_overlap(l, AT_WORKSPACE, &scratch, 0, &b, behind * b.size);
    call->call.workspace = l->places->work;
    move(call, j, q, l->places->work, behind);
    const int64_t start = PART_ORIGIN / b.size + 1 - b.n;
    call = add_overlap(l, AT_WORKSPACE, &scratch, PART_ORIGIN, &b, start * b.size);
    call->call.workspace = l->places->work_part;
    move(call, j, q, l->places->work, start);
}

static void add_workspaces(list *l, size_t bytes)
{
    const places *at = l->places;
    char says[120];
    if (bytes == 0)
        return;
    assert_in_range(bytes, 2, PLACE_BYTES / 2);
    snprintf(says, sizeof(says), " [%zu] needs %zu bytes, its buffer has %zu", bytes, bytes,
             bytes - 1);
    add_workspace(l, places_small(l->places, l->good->call.ctx, (int64_t)bytes - 1), says);
    add_workspace(l, weft_stand_in(1), ": the buffer is one of a rehearsal");
    add_workspace(l, at->foreign, ": the buffer belongs to another OpenCL context");
    add_workspace(l, at->image, ": the memory object is an image or pipe, not a buffer");
    add_workspace(l, at->constant, " is an output, its buffer is CL_MEM_READ_ONLY");
    add_workspace(l, at->write_only, ": kernels read it, its buffer is CL_MEM_WRITE_ONLY");
    add_workspace(l, at->crooked, " is 4 bytes behind a multiple of 128 in the memory of the host");
    for (int k = 0; k < own_call_count(l->good) * PARTS; k++)
        add_workspace_overlap(l, bytes, k / PARTS, (part)(k % PARTS));
}

int refusals_make(refusal out[MOST_REFUSALS], const own_call *good, places *p, size_t scratch)
{
    list l = {out, 0, good, p};
    add(&l, AT_CONTEXT, WEFT_BAD_ARGUMENT, "%s", "ctx is NULL")->call.ctx = NULL;
    for (int i = 0; i < own_call_count(good); i++) {
        if (!good->call.operands[i])
            continue;
        if (!good->call.state) // else a plan's call has been compared with the plan
            add_forms(&l, i);
        for (part q = OFFSETS; q < PARTS; q++) {
            add_buffers(&l, i, q);
            add_overlaps(&l, i, q);
        }
    }
    add_queues(&l);
    add_workspaces(&l, scratch);
    return l.n;
}
