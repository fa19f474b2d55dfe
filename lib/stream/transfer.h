// SPDX-License-Identifier: Apache-2.0
// Copies between matrices in the host's memory, with any strides, and buffers, where they are
// row-major and without gaps.
#ifndef WEFT_LIB_TRANSFER_H
#define WEFT_LIB_TRANSFER_H

#include "runtime/ocl.h"

// Strides in elements. A vector is a matrix of one row.
typedef struct weft_host_view {
    char *data;
    int64_t n_rows, n_columns, row, column;
    size_t size; // of an element
} weft_host_view;

// Memory through which elements pass that OpenCL cannot copy by itself.
enum { WEFT_STAGING_BYTES = 1 << 20 };

// Whether copies of that view pass through it, and block; others are only enqueued, without an
// event, and the host's memory is in use until they are complete.
bool weft_host_view_is_staged(const weft_host_view *view);

// To or from the place `start`, in bytes. `done` may be NULL, else it receives the event of a copy
// that is enqueued; none if the view is staged or has no elements. Messages begin with `what`.
weft_status weft_host_view_write(cl_command_queue queue, cl_mem buffer, size_t start,
                                 const weft_host_view *view, void *staging, const char *what);
weft_status weft_host_view_read(cl_command_queue queue, cl_mem buffer, size_t start,
                                const weft_host_view *view, void *staging, cl_event *done,
                                const char *what);

#endif
