// SPDX-License-Identifier: Apache-2.0
// Checks the pattern of a CSR of unknown origin in one sweep, on the host or on a device.
#ifndef WEFT_LIB_CSR_PATTERN_H
#define WEFT_LIB_CSR_PATTERN_H

#include <weft/dcsr.h>

// An array of integers seen through a window: elements first to last - 1 are at data. On the host
// the window is the whole array and never moves.
typedef struct weft_window weft_window;
struct weft_window {
    const void *data;
    int64_t first, last;
    weft_dtype dtype;
    weft_status (*move)(weft_window *window, int64_t i); // so that it includes element i
};

// Sizes and data types are taken from `form`, which has passed weft_csr_form_check(). `demand` is
// of weft_csr_demand. An index is read only after its row's offsets have passed; none if `indices`
// is NULL.
weft_status weft_csr_pattern_check(const weft_csr *form, weft_window *offsets, weft_window *indices,
                                   int demand, const char *what);

// The numbers of the rows that a DCSR stores: they rise, within the matrix.
weft_status weft_stored_rows_check(const weft_dcsr *form, weft_window *rows, const char *what);

// A weft_csr of the same sizes and data types, defaults filled in, with no buffers.
weft_csr weft_csr_form(const weft_csr_host *host);

// Sizes and data types agree, and no array that has elements is NULL.
weft_status weft_csr_host_form_check(const weft_csr_host *host, const char *what);

// The contents of a CSR whose form has passed: offsets, and the columns, too, if they are wanted.
weft_status weft_csr_host_sound_check(const weft_csr_host *host, bool with_indices,
                                      const char *what);

#endif
