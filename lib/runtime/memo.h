// SPDX-License-Identifier: Apache-2.0
// What calls have worked out, kept for calls that are like them: a context's table from keys to
// states, plain bytes both. Any thread may use it.
#ifndef WEFT_LIB_MEMO_H
#define WEFT_LIB_MEMO_H

#include "runtime/ocl.h"

typedef struct weft_memo weft_memo;

// Destroying accepts NULL.
weft_status weft_memo_create(weft_memo **out);
void weft_memo_destroy(weft_memo *memo);

// Copies what was kept under the key to `state`; false where that is nothing. Allocates nothing.
bool weft_memo_find(weft_memo *memo, const void *key, size_t key_bytes, void *state,
                    size_t state_bytes);

// Keeps copies of both, where there is memory for them; an older state may go for it.
void weft_memo_keep(weft_memo *memo, const void *key, size_t key_bytes, const void *state,
                    size_t state_bytes);

#endif
