// SPDX-License-Identifier: Apache-2.0
// A table of sets of a few places each: a key may be in any place of the set that its hash names.
#define XXH_INLINE_ALL
#include "runtime/memo.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/os.h"

enum { SETS = 256, PLACES = 4 }; // of each set; SETS is a power of two

enum { SETS_OF_FACTS = 2 };

// The key's bytes, then the state's.
typedef struct entry {
    uint64_t hash;
    size_t key_bytes, state_bytes;
    size_t n_facts[SETS_OF_FACTS]; // bytes; 0: none
    int next_facts;                // the set that is replaced next
    unsigned char facts[SETS_OF_FACTS][WEFT_MEMO_FACTS];
    unsigned char bytes[];
} entry;

struct weft_memo {
    weft_lock lock;
    entry *entries[SETS][PLACES];
    unsigned char next[SETS]; // the place that is replaced next if a set is full
};

weft_status weft_memo_create(weft_memo **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fail(WEFT_NO_MEMORY, "context: no memory to remember calls in");
    weft_lock_create(&(*out)->lock);
    return WEFT_OK;
}

void weft_memo_destroy(weft_memo *memo)
{
    if (!memo)
        return;
    for (int set = 0; set < SETS; ++set)
        for (int place = 0; place < PLACES; ++place)
            free(memo->entries[set][place]);
    weft_lock_destroy(&memo->lock);
    free(memo);
}

weft_memo_key weft_memo_key_of(const void *bytes, size_t n)
{
    return (weft_memo_key){bytes, n, XXH3_64bits(bytes, n)};
}

static bool is_of(const entry *e, const weft_memo_key *key)
{
    return e && e->hash == key->hash && e->key_bytes == key->n &&
           memcmp(e->bytes, key->bytes, key->n) == 0;
}

static entry **set_of(weft_memo *memo, const weft_memo_key *key)
{
    return memo->entries[key->hash % SETS];
}

// Where the key is in its set, or PLACES.
static int find_place(entry *const set[PLACES], const weft_memo_key *key)
{
    int place = 0;
    while (place < PLACES && !is_of(set[place], key))
        ++place;
    return place;
}

// NULL if there is none. Under the lock.
static entry *find_entry(weft_memo *memo, const weft_memo_key *key)
{
    entry **set = set_of(memo, key);
    const int place = find_place(set, key);
    return place < PLACES ? set[place] : NULL;
}

static bool knows(const entry *e, const weft_memo_facts *facts)
{
    for (int i = 0; facts->n > 0 && i < SETS_OF_FACTS; ++i)
        if (e->n_facts[i] == facts->n && memcmp(e->facts[i], facts->bytes, facts->n) == 0)
            return true;
    return false;
}

static void put_facts(entry *e, const weft_memo_facts *facts)
{
    assert(facts->n > 0 && facts->n <= WEFT_MEMO_FACTS);
    if (knows(e, facts))
        return;
    const int i = e->next_facts;
    memcpy(e->facts[i], facts->bytes, facts->n);
    e->n_facts[i] = facts->n;
    e->next_facts = (i + 1) % SETS_OF_FACTS;
}

bool weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state, size_t state_bytes)
{
    weft_lock_take(&memo->lock);
    const entry *e = find_entry(memo, key);
    const bool found = e && e->state_bytes == state_bytes;
    if (found)
        memcpy(state, e->bytes + key->n, state_bytes);
    weft_lock_release(&memo->lock);
    return found;
}

void weft_memo_keep(weft_memo *memo, const weft_memo_key *key, const void *state,
                    size_t state_bytes)
{
    entry *e = malloc(sizeof(*e) + key->n + state_bytes);
    if (!e)
        return;
    e->hash = key->hash;
    e->key_bytes = key->n;
    e->state_bytes = state_bytes;
    memset(e->n_facts, 0, sizeof(e->n_facts));
    e->next_facts = 0;
    memcpy(e->bytes, key->bytes, key->n);
    memcpy(e->bytes + key->n, state, state_bytes);

    weft_lock_take(&memo->lock);
    entry **set = set_of(memo, key);
    int place = find_place(set, key); // another thread may have been first
    for (int i = 0; place == PLACES && i < PLACES; ++i)
        place = set[i] ? place : i;
    if (place == PLACES)
        place = memo->next[key->hash % SETS]++ % PLACES;
    free(set[place]);
    set[place] = e;
    weft_lock_release(&memo->lock);
}

bool weft_memo_knows(weft_memo *memo, const weft_memo_key *key, const weft_memo_facts *facts)
{
    weft_lock_take(&memo->lock);
    const entry *e = find_entry(memo, key);
    const bool is_known = e && knows(e, facts);
    weft_lock_release(&memo->lock);
    return is_known;
}

void weft_memo_add_facts(weft_memo *memo, const weft_memo_key *key, const weft_memo_facts *facts)
{
    weft_lock_take(&memo->lock);
    entry *e = find_entry(memo, key);
    if (e)
        put_facts(e, facts);
    weft_lock_release(&memo->lock);
}
