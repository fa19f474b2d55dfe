// SPDX-License-Identifier: Apache-2.0
// Copies of matrices: as a whole where the host's memory has no gaps, by rectangles where rows have
// none, and else in parts that the host gathers or scatters.
#include "stream/transfer.h"

#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"

enum { LEAST_ROW_BYTES = 256 }; // of a rectangle: shorter rows are gathered

static bool is_contiguous(const weft_host_view *view)
{
    return (view->column == 1 || view->n_columns == 1) &&
           (view->row == view->n_columns || view->n_rows == 1);
}

static bool is_rectangle(const weft_host_view *view)
{
    return view->column == 1 && view->row >= view->n_columns &&
           (uint64_t)view->n_columns * view->size >= LEAST_ROW_BYTES;
}

bool weft_host_view_is_staged(const weft_host_view *view)
{
    return !is_contiguous(view) && !is_rectangle(view);
}

static weft_status copy_check(cl_int code, const char *call, size_t bytes, const char *what)
{
    char text[64];
    snprintf(text, sizeof(text), "%s (%zu bytes)", call, bytes);
    return weft_cl_check(code, what, text);
}

// ---- parts

// Elements first .. first + n - 1 of the view, row by row, to or from adjacent memory.
static void move_elements(const weft_host_view *view, int64_t first, int64_t n, char *adjacent,
                          bool gathers)
{
    const size_t size = view->size;
    for (int64_t i = first / view->n_columns, j = first % view->n_columns; n > 0; i++, j = 0) {
        const int64_t count = min_i64(view->n_columns - j, n);
        for (int64_t c = j; c < j + count; c++, adjacent += size) {
            char *element = view->data + (i * view->row + c * view->column) * (int64_t)size;
            // Of a known size a copy is one instruction.
            if (size == 4)
                memcpy(gathers ? adjacent : element, gathers ? element : adjacent, 4);
            else if (size == 8)
                memcpy(gathers ? adjacent : element, gathers ? element : adjacent, 8);
            else
                memcpy(gathers ? adjacent : element, gathers ? element : adjacent, 2);
        }
        n -= count;
    }
}

static weft_status write_part(cl_command_queue queue, cl_mem buffer, size_t start, size_t bytes,
                              const void *staging, const char *what)
{
    cl_event done = NULL;
    const cl_int code =
        clEnqueueWriteBuffer(queue, buffer, CL_TRUE, start, bytes, staging, 0, NULL, &done);
    TRY(copy_check(code, "clEnqueueWriteBuffer", bytes, what));
    const cl_int waited = clWaitForEvents(1, &done);
    clReleaseEvent(done);
    return weft_cl_check(waited, what, "clWaitForEvents");
}

static weft_status move_parts(cl_command_queue queue, cl_mem buffer, size_t start,
                              const weft_host_view *view, void *staging, bool writes,
                              const char *what)
{
    const int64_t all = view->n_rows * view->n_columns;
    const int64_t most = WEFT_STAGING_BYTES / (int64_t)view->size;
    for (int64_t first = 0; first < all; first += most) {
        const int64_t n = min_i64(all - first, most);
        const size_t at = start + (size_t)first * view->size, bytes = (size_t)n * view->size;
        if (writes) {
            move_elements(view, first, n, staging, true);
            TRY(write_part(queue, buffer, at, bytes, staging, what));
        } else {
            TRY(weft_cl_read(queue, buffer, at, bytes, staging, 0, NULL, what));
            move_elements(view, first, n, staging, false);
        }
    }
    return WEFT_OK;
}

// ---- copies that are enqueued

// Of a rectangle: the bytes of a row, and the rows.
typedef struct {
    size_t origin[3], host_origin[3], region[3], pitch, bytes;
} rectangle;

static rectangle rectangle_of(const weft_host_view *view, size_t start)
{
    const size_t row_bytes = (size_t)view->n_columns * view->size;
    return (rectangle){
        .origin = {start, 0, 0},
        .region = {row_bytes, (size_t)view->n_rows, 1},
        .pitch = (size_t)view->row * view->size,
        .bytes = row_bytes * (size_t)view->n_rows,
    };
}

weft_status weft_host_view_write(cl_command_queue queue, cl_mem buffer, size_t start,
                                 const weft_host_view *view, void *staging, const char *what)
{
    const rectangle r = rectangle_of(view, start);
    if (r.bytes == 0)
        return WEFT_OK;
    if (is_contiguous(view))
        return copy_check(clEnqueueWriteBuffer(queue, buffer, CL_FALSE, start, r.bytes, view->data,
                                               0, NULL, NULL),
                          "clEnqueueWriteBuffer", r.bytes, what);
    if (is_rectangle(view))
        return copy_check(clEnqueueWriteBufferRect(queue, buffer, CL_FALSE, r.origin, r.host_origin,
                                                   r.region, r.region[0], 0, r.pitch, 0, view->data,
                                                   0, NULL, NULL),
                          "clEnqueueWriteBufferRect", r.bytes, what);
    return move_parts(queue, buffer, start, view, staging, true, what);
}

weft_status weft_host_view_read(cl_command_queue queue, cl_mem buffer, size_t start,
                                const weft_host_view *view, void *staging, cl_event *done,
                                const char *what)
{
    const rectangle r = rectangle_of(view, start);
    if (r.bytes == 0)
        return WEFT_OK;
    if (is_contiguous(view))
        return copy_check(
            clEnqueueReadBuffer(queue, buffer, CL_FALSE, start, r.bytes, view->data, 0, NULL, done),
            "clEnqueueReadBuffer", r.bytes, what);
    if (is_rectangle(view))
        return copy_check(clEnqueueReadBufferRect(queue, buffer, CL_FALSE, r.origin, r.host_origin,
                                                  r.region, r.region[0], 0, r.pitch, 0, view->data,
                                                  0, NULL, done),
                          "clEnqueueReadBufferRect", r.bytes, what);
    return move_parts(queue, buffer, start, view, staging, false, what);
}
