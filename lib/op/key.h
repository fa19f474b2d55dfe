// SPDX-License-Identifier: Apache-2.0
// A key: the inputs of a plan as bytes. Calls with equal keys have equal plans.
#ifndef WEFT_LIB_KEY_H
#define WEFT_LIB_KEY_H

#include <weft/dcsr.h>
#include <weft/tensor.h>

// A call whose key does not fit is not cached.
typedef struct weft_key {
    size_t n;
    bool is_full;
    weft_status failed; // the error of an OpenCL query; then the key is full
    unsigned char bytes[4096];
} weft_key;

void weft_key_add(weft_key *key, const void *bytes, size_t n);
void weft_key_add_number(weft_key *key, int64_t number);

// NULL differs from an empty text.
void weft_key_add_text(weft_key *key, const char *text);

// Adds shape, strides, offset and data type; not the buffer.
void weft_key_add_tensor(weft_key *key, const weft_tensor *tensor);

// Add sizes, data types and starts of the arrays.
void weft_key_add_csr(weft_key *key, const weft_csr *csr);
void weft_key_add_dcsr(weft_key *key, const weft_dcsr *dcsr);

#endif
