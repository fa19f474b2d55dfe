// SPDX-License-Identifier: Apache-2.0
// A context's cache of call states: a table from keys to states, both plain bytes. Any thread may
// use it.
#ifndef WEFT_LIB_MEMO_H
#define WEFT_LIB_MEMO_H

#include "runtime/ocl.h"

typedef struct weft_memo weft_memo;

// Destroying accepts NULL.
weft_status weft_memo_create(weft_memo **out);
void weft_memo_destroy(weft_memo *memo);

// Facts about a call's buffers, as bytes, with which its checks passed. An entry has two different
// facts, of the latest calls: a caller may alternate between two sets of buffers.
enum { WEFT_MEMO_FACTS = 1024 };
typedef struct weft_memo_facts {
    size_t n; // at most WEFT_MEMO_FACTS; 0: unknown
    const void *bytes;
} weft_memo_facts;

// A key with its hash, which is computed once for all that a call asks.
typedef struct weft_memo_key {
    const void *bytes;
    size_t n;
    uint64_t hash;
} weft_memo_key;

weft_memo_key weft_memo_key_of(const void *bytes, size_t n);

// Copies the key's state to `state`; false if there is none. Allocates nothing.
bool weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state, size_t state_bytes);

// Stores copies of key and state, if there is memory; may replace an older state.
void weft_memo_keep(weft_memo *memo, const weft_memo_key *key, const void *state,
                    size_t state_bytes);

// Whether the key's entry has these facts, and adds them to it, if there is one. Both allocate
// nothing.
bool weft_memo_knows(weft_memo *memo, const weft_memo_key *key, const weft_memo_facts *facts);
void weft_memo_add_facts(weft_memo *memo, const weft_memo_key *key, const weft_memo_facts *facts);

#endif
