// SPDX-License-Identifier: Apache-2.0
// Tensors for tests, laid out in any way.
#include "strided.h"

enum { N_BEFORE = 16 };

static weft_dtype or_f32(weft_dtype dtype)
{
    return dtype == WEFT_DEFAULT ? WEFT_F32 : dtype;
}

// Axes, fastest first.
static void order_axes(int *order, int n, strided_layout layout, random_state *random)
{
    for (int k = 0; k < n; k++)
        order[k] = n - 1 - k;
    if (layout == LAYOUT_TRANSPOSED && n > 1) {
        order[0] = n - 2;
        order[1] = n - 1;
    }
    for (int k = n - 1; layout >= LAYOUT_PERMUTED && k > 0; k--) {
        const int other = (int)random_below(random, k + 1), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

// Strides and offset; returns the elements up to the last one.
static int64_t lay_out(weft_tensor *t, strided_layout layout, random_state *random)
{
    const bool is_aligned = layout == LAYOUT_ALIGNED;
    if (is_aligned)
        layout = LAYOUT_DENSE;
    const bool has_gaps = layout == LAYOUT_SLICED || layout >= LAYOUT_ANY;
    int order[WEFT_MAX_NDIM];
    order_axes(order, t->ndim, layout, random);
    int64_t step = layout == LAYOUT_SPACED ? 3 : has_gaps && random_below(random, 3) == 0 ? 2 : 1;
    int64_t reach = 0;
    t->offset = N_BEFORE + (is_aligned ? 0 : random_below(random, 4));
    const int64_t first = t->offset;
    for (int k = 0; k < t->ndim; k++) {
        const int d = order[k];
        if (layout == LAYOUT_REPEATING && random_below(random, 3) == 0)
            continue;
        const int64_t extent = t->shape[d] > 0 ? t->shape[d] : 1;
        const bool is_backward = has_gaps && random_below(random, 3) == 0;
        t->stride[d] = is_backward ? -step : step;
        t->offset += is_backward ? (extent - 1) * step : 0;
        reach += (extent - 1) * step;
        step = step * extent + (has_gaps && random_below(random, 3) == 0 ? 3 : 0);
    }
    return first + reach + 1;
}

void strided_create(strided *s, weft_dtype dtype, int ndim, const int64_t *shape,
                    strided_layout layout, random_state *random, int fill, int64_t n_behind)
{
    *s = (strided){.t = {.dtype = dtype, .ndim = ndim}};
    for (int d = 0; d < ndim; d++)
        s->t.shape[d] = shape[d];
    const int64_t n = lay_out(&s->t, layout, random) + n_behind;
    s->bytes = (size_t)n * weft_dtype_size(or_f32(dtype));
    s->memory = malloc(s->bytes);
    assert_non_null(s->memory);
    memset(s->memory, fill, s->bytes);
}

void strided_upload(strided *s, weft_context *ctx)
{
    cl_int code;
    s->t.buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 s->bytes, s->memory, &code);
    assert_int_equal(code, CL_SUCCESS);
}

void strided_restore(const strided *s, cl_command_queue queue)
{
    assert_ok(weft_cl_write(queue, s->t.buffer, s->bytes, s->memory, "restore"));
}

void *strided_read(const strided *s, cl_command_queue queue)
{
    void *now = malloc(s->bytes);
    assert_non_null(now);
    assert_int_equal(
        clEnqueueReadBuffer(queue, s->t.buffer, CL_TRUE, 0, s->bytes, now, 0, NULL, NULL),
        CL_SUCCESS);
    return now;
}

void strided_destroy(strided *s)
{
    if (s->t.buffer)
        clReleaseMemObject(s->t.buffer);
    free(s->memory);
    *s = (strided){.memory = NULL};
}

bool strided_next(const weft_tensor *t, int64_t *index)
{
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (++index[d] < t->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

int64_t strided_place(const weft_tensor *t, const int64_t *index)
{
    int64_t place = t->offset;
    for (int d = 0; d < t->ndim; d++)
        place += index[d] * t->stride[d];
    return place;
}

bool strided_is_empty(const weft_tensor *t)
{
    for (int d = 0; d < t->ndim; d++)
        if (t->shape[d] == 0)
            return true;
    return false;
}

host_tensor strided_host(const weft_tensor *t, const void *data)
{
    host_tensor h = {.data = data, .dtype = or_f32(t->dtype), .offset = t->offset, .ndim = t->ndim};
    memcpy(h.shape, t->shape, sizeof(h.shape));
    memcpy(h.stride, t->stride, sizeof(h.stride));
    return h;
}

int64_t strided_stray_byte(const strided *s, unsigned char *after)
{
    const unsigned char *before = s->memory;
    const size_t size = weft_dtype_size(or_f32(s->t.dtype));
    int64_t index[WEFT_MAX_NDIM] = {0};
    if (!strided_is_empty(&s->t))
        do {
            const size_t at = (size_t)strided_place(&s->t, index) * size;
            memcpy(after + at, before + at, size);
        } while (strided_next(&s->t, index));
    for (size_t i = 0; i < s->bytes; i++)
        if (after[i] != before[i])
            return (int64_t)i;
    return -1;
}

cl_mem strided_zeros(weft_context *ctx, size_t bytes, cl_mem_flags flags)
{
    cl_int code;
    void *zeros = calloc(bytes, 1);
    assert_non_null(zeros);
    cl_mem buffer =
        clCreateBuffer(weft_context_cl(ctx), flags | CL_MEM_COPY_HOST_PTR, bytes, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(zeros);
    return buffer;
}

void strided_random_shape(int64_t *shape, int ndim, int64_t most, random_state *random)
{
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) {
        const int64_t largest = random_below(random, 3) == 0 ? 70 : 9;
        shape[d] = random_between(random, random_below(random, 12) != 0, largest);
        if (n * shape[d] > most)
            shape[d] = 1;
        n *= shape[d] > 0 ? shape[d] : 1;
    }
}
