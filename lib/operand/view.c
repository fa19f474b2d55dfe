// SPDX-License-Identifier: Apache-2.0
// Checks of operands. All arithmetic on sizes that come from outside is checked for overflow.
#include "operand/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "runtime/buffer.h"
#include "runtime/context.h"

const char *weft_shape_text(const weft_tensor *tensor, char text[WEFT_SHAPE_TEXT])
{
    int length = snprintf(text, WEFT_SHAPE_TEXT, "[");
    for (int d = 0; d < tensor->ndim; d++)
        length += snprintf(text + length, (size_t)(WEFT_SHAPE_TEXT - length), "%s%" PRId64,
                           d ? " x " : "", tensor->shape[d]);
    snprintf(text + length, (size_t)(WEFT_SHAPE_TEXT - length), "]");
    return text;
}

bool weft_tensor_is_empty(const weft_tensor *tensor)
{
    for (int d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] == 0)
            return true;
    return false;
}

weft_tensor weft_tensor_as_matrix(const weft_tensor *tensor)
{
    weft_tensor matrix = *tensor;
    if (tensor->ndim == 1) {
        matrix.ndim = 2;
        matrix.shape[1] = matrix.stride[1] = 1;
    }
    return matrix;
}

bool weft_tensor_is_large(const weft_context *ctx, const weft_tensor *tensor)
{
    int64_t bytes = (int64_t)weft_dtype_size(weft_dtype_or(tensor->dtype, WEFT_F32));
    for (int d = 0; d < tensor->ndim; ++d)
        if (!mul_i64(bytes, tensor->shape[d], &bytes))
            return true;
    return (uint64_t)bytes > ctx->limits.cache_bytes / 2;
}

static bool is_tensor_dtype(weft_dtype dtype)
{
    return weft_is_floating(dtype) || dtype == WEFT_I32 || dtype == WEFT_I64 || dtype == WEFT_U8;
}

// False where the product of all extents but 0, which bounds every product of extents, does not fit
// in 64 bits.
static bool elements_fit(const weft_tensor *tensor)
{
    int64_t n = 1;
    for (int d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] > 0 && !mul_i64(n, tensor->shape[d], &n))
            return false;
    return true;
}

// False where the range or the number of elements does not fit in 64 bits.
static bool find_span(const weft_tensor *tensor, weft_span *span)
{
    *span = (weft_span){0, 0};
    if (!elements_fit(tensor))
        return false;
    if (weft_tensor_is_empty(tensor))
        return true;

    weft_span reach = {tensor->offset, tensor->offset};
    for (int d = 0; d < tensor->ndim; d++) {
        int64_t *end = tensor->stride[d] < 0 ? &reach.first : &reach.last;
        int64_t step;
        if (!mul_i64(tensor->shape[d] - 1, tensor->stride[d], &step) || !add_i64(*end, step, end))
            return false;
    }
    *span = reach;
    return add_i64(reach.last, 1, &span->last);
}

weft_span weft_tensor_span(const weft_tensor *tensor)
{
    weft_span span;
    find_span(tensor, &span);
    return span;
}

enum {
    WIDEST = 16,               // elements of a vector
    WORKSPACE_ALIGNMENT = 128, // bytes of the widest one: scratch memory is read by all types
};

// A buffer of a rehearsal has no flags, and is no part of another.
static weft_status buffer_info(cl_mem buffer, cl_mem_info name, size_t size, void *value,
                               const char *what, const char *part)
{
    if (weft_is_stand_in(buffer)) {
        memset(value, 0, size);
        return WEFT_OK;
    }
    const cl_int code = clGetMemObjectInfo(buffer, name, size, value, NULL);
    if (code == CL_INVALID_MEM_OBJECT)
        return fail(WEFT_BAD_BUFFER, "%s%s: the buffer is not valid", what, part);
    return weft_cl_check(code, what, "clGetMemObjectInfo");
}

// The size of a buffer of the context. `part` follows `what` in messages: "" or "'s offsets".
static weft_status buffer_size(const weft_context *ctx, cl_mem buffer, const char *what,
                               const char *part, size_t *bytes)
{
    if (!buffer)
        return fail(WEFT_BAD_BUFFER, "%s%s: the buffer is NULL", what, part);
    if (weft_is_stand_in(buffer) != (ctx->notes != NULL))
        return fail(WEFT_BAD_BUFFER, "%s%s: the buffer is %s", what, part,
                    ctx->notes ? "not one of a rehearsal" : "one of a rehearsal");
    *bytes = SIZE_MAX;
    if (ctx->notes)
        return WEFT_OK;

    cl_mem_object_type type;
    TRY(buffer_info(buffer, CL_MEM_TYPE, sizeof(type), &type, what, part));
    if (type != CL_MEM_OBJECT_BUFFER)
        return fail(WEFT_BAD_BUFFER,
                    type >= CL_MEM_OBJECT_IMAGE2D && type <= CL_MEM_OBJECT_PIPE
                        ? "%s%s: the memory object is an image or pipe, not a buffer"
                        : "%s%s: the buffer is no memory object",
                    what, part);

    cl_context context;
    TRY(buffer_info(buffer, CL_MEM_CONTEXT, sizeof(context), &context, what, part));
    if (context != weft_context_cl(ctx))
        return fail(WEFT_BAD_BUFFER, "%s%s: the buffer belongs to another OpenCL context", what,
                    part);

    return buffer_info(buffer, CL_MEM_SIZE, sizeof(*bytes), bytes, what, part);
}

static weft_status tensor_form_check(const weft_tensor *tensor, const char *what)
{
    if (!tensor)
        return fail(WEFT_BAD_ARGUMENT, "%s is NULL", what);
    if (tensor->ndim < 0 || tensor->ndim > WEFT_MAX_NDIM)
        return fail(WEFT_BAD_SHAPE, "%s has %d dimensions, 0 to %d are possible", what,
                    tensor->ndim, WEFT_MAX_NDIM);
    for (int d = 0; d < tensor->ndim; d++)
        if (tensor->shape[d] < 0)
            return fail(WEFT_BAD_SHAPE, "%s has extent %" PRId64 " in dimension %d", what,
                        tensor->shape[d], d);

    const weft_dtype dtype = weft_dtype_or(tensor->dtype, WEFT_F32);
    if (!is_tensor_dtype(dtype))
        return fail(WEFT_BAD_DTYPE, "%s has data type %s (%d), which it cannot have", what,
                    weft_dtype_name(dtype), (int)dtype);
    return WEFT_OK;
}

// Also computes the bytes that the buffer must have.
static weft_status reach_check(const weft_tensor *tensor, const char *what, int64_t *needed)
{
    TRY(tensor_form_check(tensor, what));
    *needed = 0;
    char shape[WEFT_SHAPE_TEXT];
    weft_span span;
    const size_t size = weft_dtype_size(weft_dtype_or(tensor->dtype, WEFT_F32));
    if (!find_span(tensor, &span) || !mul_i64(span.last, (int64_t)size, needed))
        return fail(WEFT_BAD_SHAPE, "%s %s: extents, strides and offset pass 2^63", what,
                    weft_shape_text(tensor, shape));
    if (span.first < 0)
        return fail(WEFT_BAD_BUFFER,
                    "%s %s reaches element %" PRId64 " of its buffer: offset %" PRId64
                    " is too small for its strides",
                    what, weft_shape_text(tensor, shape), span.first, tensor->offset);
    return WEFT_OK;
}

weft_status weft_tensor_form_check(const weft_tensor *tensor, const char *what)
{
    int64_t needed;
    return reach_check(tensor, what, &needed);
}

// Whether kernels may access the buffer: it must not have the flag `barred`.
static weft_status access_check(cl_mem buffer, cl_mem_flags barred, const char *what,
                                const char *part)
{
    cl_mem_flags flags;
    TRY(buffer_info(buffer, CL_MEM_FLAGS, sizeof(flags), &flags, what, part));
    if (!(flags & barred))
        return WEFT_OK;
    return fail(WEFT_BAD_BUFFER,
                barred == CL_MEM_READ_ONLY
                    ? "%s%s is an output, its buffer is CL_MEM_READ_ONLY"
                    : "%s%s: kernels read it, its buffer is CL_MEM_WRITE_ONLY",
                what, part);
}

static weft_status tensor_place_check(const weft_context *ctx, const weft_tensor *tensor,
                                      const char *what)
{
    int64_t needed;
    TRY(reach_check(tensor, what, &needed));
    if (weft_tensor_is_empty(tensor))
        return WEFT_OK;

    char shape[WEFT_SHAPE_TEXT];
    size_t bytes;
    TRY(buffer_size(ctx, tensor->buffer, what, "", &bytes));
    if ((uint64_t)needed > bytes)
        return fail(WEFT_BAD_BUFFER, "%s %s needs %" PRId64 " bytes, its buffer has %zu", what,
                    weft_shape_text(tensor, shape), needed, bytes);
    return WEFT_OK;
}

weft_status weft_tensor_check(const weft_context *ctx, const weft_tensor *tensor, const char *what)
{
    TRY(tensor_place_check(ctx, tensor, what));
    return weft_tensor_is_empty(tensor) ? WEFT_OK
                                        : access_check(tensor->buffer, CL_MEM_WRITE_ONLY, what, "");
}

typedef struct axis {
    int64_t extent, step; // step: |stride|
} axis;

// The axes along which elements differ, by rising step.
static int sorted_axes(const weft_tensor *tensor, axis axes[WEFT_MAX_NDIM])
{
    int n = 0;
    for (int d = 0; d < tensor->ndim; d++) {
        if (tensor->shape[d] == 1)
            continue;
        const int64_t stride = tensor->stride[d];
        const axis next = {tensor->shape[d], abs_i64(stride)};
        int place = n++;
        for (; place > 0 && axes[place - 1].step > next.step; place--)
            axes[place] = axes[place - 1];
        axes[place] = next;
    }
    return n;
}

static weft_status distinct_check(const weft_tensor *tensor, const char *what)
{
    axis axes[WEFT_MAX_NDIM];
    const int n = sorted_axes(tensor, axes);
    int64_t reach = 0;
    for (int i = 0; i < n; i++) {
        if (axes[i].step <= reach) {
            char shape[WEFT_SHAPE_TEXT];
            return fail(WEFT_BAD_SHAPE,
                        "%s %s: an output's elements must not share a place; the stride %" PRId64
                        " of extent %" PRId64 " does not pass the %" PRId64
                        " elements that smaller strides span",
                        what, weft_shape_text(tensor, shape), axes[i].step, axes[i].extent,
                        reach + 1);
        }
        reach += (axes[i].extent - 1) * axes[i].step;
    }
    return WEFT_OK;
}

weft_status weft_output_check(const weft_context *ctx, const weft_tensor *tensor, const char *what)
{
    TRY(tensor_place_check(ctx, tensor, what));
    if (weft_tensor_is_empty(tensor))
        return WEFT_OK;
    TRY(access_check(tensor->buffer, CL_MEM_READ_ONLY, what, ""));
    return distinct_check(tensor, what);
}

weft_status weft_output_form_check(const weft_tensor *tensor, const char *what)
{
    TRY(weft_tensor_form_check(tensor, what));
    return weft_tensor_is_empty(tensor) ? WEFT_OK : distinct_check(tensor, what);
}

weft_status weft_array_place_check(const weft_context *ctx, cl_mem buffer, int64_t start, int64_t n,
                                   weft_dtype dtype, const char *what, const char *part)
{
    int64_t needed;
    if (start < 0)
        return fail(WEFT_BAD_ARGUMENT, "%s%s start at element %" PRId64, what, part, start);
    if (!add_i64(start, n, &needed) || !mul_i64(needed, (int64_t)weft_dtype_size(dtype), &needed))
        return fail(WEFT_BAD_SHAPE, "%s%s: %" PRId64 " elements from %" PRId64 " pass 2^63 bytes",
                    what, part, n, start);

    size_t bytes;
    TRY(buffer_size(ctx, buffer, what, part, &bytes));
    if ((uint64_t)needed > bytes)
        return fail(WEFT_BAD_BUFFER,
                    "%s%s, %" PRId64 " from element %" PRId64 ", need %" PRId64
                    " bytes, their buffer has %zu",
                    what, part, n, start, needed, bytes);
    return WEFT_OK;
}

weft_status weft_array_check(const weft_context *ctx, cl_mem buffer, int64_t start, int64_t n,
                             weft_dtype dtype, const char *what, const char *part)
{
    TRY(weft_array_place_check(ctx, buffer, start, n, dtype, what, part));
    return access_check(buffer, CL_MEM_WRITE_ONLY, what, part);
}

// The buffer that owns the memory; for a sub-buffer, `bytes` becomes a range of its parent.
static weft_status find_owner(cl_mem *buffer, weft_span *bytes, const char *what)
{
    cl_mem parent;
    size_t origin;
    TRY(buffer_info(*buffer, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent, what, ""));
    if (!parent)
        return WEFT_OK;
    TRY(buffer_info(*buffer, CL_MEM_OFFSET, sizeof(origin), &origin, what, ""));
    *buffer = parent;
    bytes->first += (int64_t)origin;
    bytes->last += (int64_t)origin;
    return WEFT_OK;
}

weft_status weft_overlap_check(const weft_tensor *output, const char *output_name, cl_mem buffer,
                               weft_span bytes, const char *input_name, const char *op)
{
    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(output->dtype, WEFT_F32));
    const weft_span elements = weft_tensor_span(output);
    weft_span written = {elements.first * size, elements.last * size};
    if (written.first >= written.last || bytes.first >= bytes.last)
        return WEFT_OK;

    cl_mem output_buffer = output->buffer;
    TRY(find_owner(&output_buffer, &written, op));
    TRY(find_owner(&buffer, &bytes, op));
    if (output_buffer != buffer || written.last <= bytes.first || bytes.last <= written.first)
        return WEFT_OK;
    return fail(WEFT_BAD_BUFFER,
                "%s: %s (bytes %" PRId64 " to %" PRId64 ") overlaps %s (bytes %" PRId64
                " to %" PRId64 ") in one buffer",
                op, output_name, written.first, written.last - 1, input_name, bytes.first,
                bytes.last - 1);
}

// The bytes of a view modulo a pitch: axes that step by whole pitches do not change them.
static weft_span residues(const weft_tensor *tensor, int64_t origin, int64_t pitch)
{
    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(tensor->dtype, WEFT_F32));
    const int64_t first = origin + tensor->offset * size;
    weft_span range = {first, first + size};
    for (int d = 0; d < tensor->ndim; d++) {
        const int64_t reach = (tensor->shape[d] - 1) * tensor->stride[d] * size;
        if (reach == 0 || tensor->stride[d] * size % pitch == 0)
            continue;
        if (reach < 0)
            range.first += reach;
        else
            range.last += reach;
    }
    return range;
}

static bool pitch_separates(int64_t pitch, weft_span a, weft_span b)
{
    const int64_t distance = ((b.first - a.first) % pitch + pitch) % pitch;
    return distance >= a.last - a.first && distance + (b.last - b.first) <= pitch;
}

// Whether some stride of the output separates two views of one buffer, as the length of a row
// separates adjacent columns.
static bool are_interleaved(const weft_tensor *output, int64_t output_origin,
                            const weft_tensor *input, int64_t input_origin)
{
    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(output->dtype, WEFT_F32));
    axis axes[WEFT_MAX_NDIM];
    const int n = sorted_axes(output, axes);
    for (int i = 0; i < n; i++) {
        const int64_t pitch = axes[i].step * size;
        if (pitch_separates(pitch, residues(output, output_origin, pitch),
                            residues(input, input_origin, pitch)))
            return true;
    }
    return false;
}

weft_status weft_tensor_overlap_check(const weft_tensor *output, const char *output_name,
                                      const weft_tensor *input, const char *input_name,
                                      const char *op)
{
    if (weft_tensor_is_empty(output) || weft_tensor_is_empty(input))
        return WEFT_OK;

    const int64_t size = (int64_t)weft_dtype_size(weft_dtype_or(input->dtype, WEFT_F32));
    const weft_span elements = weft_tensor_span(input);
    const weft_span bytes = {elements.first * size, elements.last * size};
    cl_mem output_buffer = output->buffer, input_buffer = input->buffer;
    weft_span output_origin = {0, 0}, input_origin = {0, 0};
    TRY(find_owner(&output_buffer, &output_origin, op));
    TRY(find_owner(&input_buffer, &input_origin, op));
    if (are_interleaved(output, output_origin.first, input, input_origin.first))
        return WEFT_OK;
    return weft_overlap_check(output, output_name, input->buffer, bytes, input_name, op);
}

bool weft_tensor_is_same(const weft_tensor *a, const weft_tensor *b)
{
    if (a->buffer != b->buffer || a->offset != b->offset || a->ndim != b->ndim ||
        weft_dtype_or(a->dtype, WEFT_F32) != weft_dtype_or(b->dtype, WEFT_F32))
        return false;
    for (int d = 0; d < a->ndim; ++d)
        if (a->shape[d] != b->shape[d] || (a->shape[d] > 1 && a->stride[d] != b->stride[d]))
            return false;
    return true;
}

weft_status weft_alias_check(const weft_tensor *out, const char *out_name, const weft_tensor *in,
                             const char *in_name, const char *what)
{
    return weft_tensor_is_same(out, in)
               ? WEFT_OK
               : weft_tensor_overlap_check(out, out_name, in, in_name, what);
}

const char *weft_operand_text(char text[WEFT_OPERAND_TEXT], const char *what, const char *operand)
{
    snprintf(text, WEFT_OPERAND_TEXT, "%s: %s", what, operand);
    return text;
}

weft_status weft_same_shape_check(const weft_tensor *a, const char *a_name, const weft_tensor *b,
                                  const char *b_name, const char *what)
{
    if (a->ndim != b->ndim)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions, %s %d", what, a_name, a->ndim,
                    b_name, b->ndim);
    for (int d = 0; d < a->ndim; ++d)
        if (a->shape[d] != b->shape[d])
            return fail(WEFT_BAD_SHAPE, "%s: extent %d of %s is %" PRId64 ", of %s %" PRId64, what,
                        d, a_name, a->shape[d], b_name, b->shape[d]);
    return WEFT_OK;
}

weft_status weft_same_dtype_check(weft_dtype a, const char *a_name, weft_dtype b,
                                  const char *b_name, const char *what)
{
    a = weft_dtype_or(a, WEFT_F32);
    b = weft_dtype_or(b, WEFT_F32);
    if (a != b)
        return fail(WEFT_BAD_DTYPE, "%s: %s is %s, %s %s; both must be the same", what, a_name,
                    weft_dtype_name(a), b_name, weft_dtype_name(b));
    return WEFT_OK;
}

weft_status weft_result_dtype_check(weft_dtype result, const char *result_name, weft_dtype operand,
                                    const char *operand_name, const char *what)
{
    return weft_widens(operand, result)
               ? WEFT_OK
               : weft_same_dtype_check(result, result_name, operand, operand_name, what);
}

weft_status weft_same_check(const weft_tensor *a, const char *a_name, const weft_tensor *b,
                            const char *b_name, const char *what)
{
    TRY(weft_same_shape_check(a, a_name, b, b_name, what));
    return weft_same_dtype_check(a->dtype, a_name, b->dtype, b_name, what);
}

weft_status weft_row_numbers_form_check(const weft_tensor *numbers, const char *name,
                                        const weft_tensor *matrix, const char *matrix_name,
                                        const char *what)
{
    const int64_t n_rows = matrix->shape[matrix->ndim - 2];
    char operand[WEFT_OPERAND_TEXT];
    TRY(weft_tensor_form_check(numbers, weft_operand_text(operand, what, name)));
    if (numbers->ndim != 1)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %d dimensions; 1 is wanted", what, name,
                    numbers->ndim);
    if (numbers->shape[0] != n_rows)
        return fail(WEFT_BAD_SHAPE, "%s: %s has %" PRId64 " numbers, %s %" PRId64 " rows", what,
                    name, numbers->shape[0], matrix_name, n_rows);
    return WEFT_OK;
}

weft_status weft_floating_check(const weft_context *ctx, const weft_tensor *tensor,
                                const char *name, const char *what)
{
    const weft_dtype dtype = weft_dtype_or(tensor->dtype, WEFT_F32);
    if (!weft_is_floating(dtype))
        return fail(WEFT_BAD_DTYPE, "%s: %s is %s: f32, f64, f16 or bf16 is wanted", what, name,
                    weft_dtype_name(dtype));
    if (dtype == WEFT_F64 && !ctx->limits.has_f64)
        return fail(WEFT_UNSUPPORTED, "%s: %s is f64; %s has no f64", what, name, ctx->limits.name);
    return WEFT_OK;
}

// The address of a buffer in the host's own memory; 0 for all others, whose starts are aligned.
static weft_status host_address(uintptr_t *address, cl_mem buffer, const char *what,
                                const char *part)
{
    cl_mem_flags flags = 0;
    void *first = NULL;
    if (buffer)
        TRY(buffer_info(buffer, CL_MEM_FLAGS, sizeof(flags), &flags, what, part));
    if (flags & CL_MEM_USE_HOST_PTR)
        TRY(buffer_info(buffer, CL_MEM_HOST_PTR, sizeof(first), &first, what, part));
    *address = (uintptr_t)first;
    return WEFT_OK;
}

static weft_status workspace_check(const weft_context *ctx, const weft_tensor *scratch,
                                   const char *what)
{
    TRY(weft_output_check(ctx, scratch, what));
    if (scratch->shape[0] == 0)
        return WEFT_OK;
    uintptr_t address = 0;
    TRY(access_check(scratch->buffer, CL_MEM_WRITE_ONLY, what, ""));
    TRY(host_address(&address, scratch->buffer, what, ""));
    if (address % WORKSPACE_ALIGNMENT != 0)
        return fail(WEFT_BAD_BUFFER,
                    "%s is %d bytes behind a multiple of %d in the memory of the host", what,
                    (int)(address % WORKSPACE_ALIGNMENT), WORKSPACE_ALIGNMENT);
    return WEFT_OK;
}

// The check is repeated with the workspace's name after a failure.
weft_status weft_workspace_view(weft_tensor *out, const weft_context *ctx, cl_mem workspace,
                                size_t bytes, const char *op)
{
    char what[WEFT_OPERAND_TEXT];
    *out = (weft_tensor){
        .buffer = workspace, .dtype = WEFT_U8, .ndim = 1, .shape = {(int64_t)bytes}, .stride = {1}};
    const weft_status first = workspace_check(ctx, out, "");
    if (first == WEFT_OK)
        return WEFT_OK;
    const weft_status named = workspace_check(ctx, out, weft_operand_text(what, op, "workspace"));
    return named == WEFT_OK ? first : named;
}

weft_status weft_buffer_shift(int64_t *shift, cl_mem buffer, weft_dtype dtype, const char *what,
                              const char *part)
{
    uintptr_t address = 0;
    TRY(host_address(&address, buffer, what, part));
    const uintptr_t size = weft_dtype_size(dtype);
    *shift |= address % size == 0 ? (int64_t)(address / size % WIDEST) : 1;
    return WEFT_OK;
}

weft_status weft_tensor_shift(int64_t *shift, const weft_tensor *tensor, const char *what)
{
    return !tensor || weft_tensor_is_empty(tensor)
               ? WEFT_OK
               : weft_buffer_shift(shift, tensor->buffer, weft_dtype_or(tensor->dtype, WEFT_F32),
                                   what, "");
}

weft_dense weft_dense_of(const weft_tensor *tensor)
{
    const int row = tensor->ndim - 2;
    return (weft_dense){
        .buffer = tensor->buffer,
        .start = tensor->offset,
        .row = tensor->stride[row],
        .column = tensor->stride[row + 1],
        .batch = row == 1 ? tensor->stride[0] : 0,
    };
}
