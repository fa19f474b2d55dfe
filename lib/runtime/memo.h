// SPDX-License-Identifier: Apache-2.0
// States of earlier calls, for calls that are like them: a context's table from keys to states,
// plain bytes both. Any thread may use it.
#ifndef WEFT_LIB_MEMO_H
#define WEFT_LIB_MEMO_H

#include "runtime/ocl.h"

typedef struct weft_memo weft_memo;

// Destroying accepts NULL.
weft_status weft_memo_create(weft_memo **out);
void weft_memo_destroy(weft_memo *memo);

// Copies the state of the key to `state`; false if there is none. Allocates nothing.
bool weft_memo_find(weft_memo *memo, const void *key, size_t key_bytes, void *state,
                    size_t state_bytes);

// Stores copies of both, if there is memory for them; may replace an older state.
void weft_memo_keep(weft_memo *memo, const void *key, size_t key_bytes, const void *state,
                    size_t state_bytes);

#endif
