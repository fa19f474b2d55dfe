// SPDX-License-Identifier: Apache-2.0
// A table of sets of a few places each: a key may be in any place of the set that its hash names.
#define XXH_INLINE_ALL
#include "runtime/memo.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

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
    pthread_mutex_t lock;
    entry *entries[SETS][PLACES];
    unsigned char next[SETS]; // the place that is replaced next if a set is full
};

weft_status weft_memo_create(weft_memo **out)
{
    *out = calloc(1, sizeof(**out));
    if (!*out)
        return fail(WEFT_NO_MEMORY, "context: no memory to remember calls in");
    pthread_mutex_init(&(*out)->lock, NULL);
    return WEFT_OK;
}

void weft_memo_destroy(weft_memo *memo)
{
    if (!memo)
        return;
    for (int set = 0; set < SETS; ++set)
        for (int place = 0; place < PLACES; ++place)
            free(memo->entries[set][place]);
    pthread_mutex_destroy(&memo->lock);
    free(memo);
}

static bool is_of(const entry *e, uint64_t hash, const void *key, size_t key_bytes)
{
    return e && e->hash == hash && e->key_bytes == key_bytes &&
           memcmp(e->bytes, key, key_bytes) == 0;
}

// Where the key is in its set, or PLACES.
static int find_place(entry *const set[PLACES], uint64_t hash, const void *key, size_t key_bytes)
{
    int place = 0;
    while (place < PLACES && !is_of(set[place], hash, key, key_bytes))
        ++place;
    return place;
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
    assert(facts->n <= WEFT_MEMO_FACTS);
    if (facts->n == 0 || knows(e, facts))
        return;
    const int i = e->next_facts;
    memcpy(e->facts[i], facts->bytes, facts->n);
    e->n_facts[i] = facts->n;
    e->next_facts = (i + 1) % SETS_OF_FACTS;
}

bool weft_memo_find(weft_memo *memo, const void *key, size_t key_bytes, void *state,
                    size_t state_bytes)
{
    const uint64_t hash = XXH3_64bits(key, key_bytes);
    pthread_mutex_lock(&memo->lock);
    entry **set = memo->entries[hash % SETS];
    const int place = find_place(set, hash, key, key_bytes);
    const bool found = place < PLACES && set[place]->state_bytes == state_bytes;
    if (found)
        memcpy(state, set[place]->bytes + key_bytes, state_bytes);
    pthread_mutex_unlock(&memo->lock);
    return found;
}

void weft_memo_keep(weft_memo *memo, const void *key, size_t key_bytes, const void *state,
                    size_t state_bytes)
{
    entry *e = malloc(sizeof(*e) + key_bytes + state_bytes);
    if (!e)
        return;
    e->hash = XXH3_64bits(key, key_bytes);
    e->key_bytes = key_bytes;
    e->state_bytes = state_bytes;
    memset(e->n_facts, 0, sizeof(e->n_facts));
    e->next_facts = 0;
    memcpy(e->bytes, key, key_bytes);
    memcpy(e->bytes + key_bytes, state, state_bytes);

    const size_t index = e->hash % SETS;
    pthread_mutex_lock(&memo->lock);
    entry **set = memo->entries[index];
    int place = find_place(set, e->hash, key, key_bytes); // another thread may have been first
    for (int i = 0; place == PLACES && i < PLACES; ++i)
        place = set[i] ? place : i;
    if (place == PLACES)
        place = memo->next[index]++ % PLACES;
    free(set[place]);
    set[place] = e;
    pthread_mutex_unlock(&memo->lock);
}

bool weft_memo_knows(weft_memo *memo, const void *key, size_t key_bytes,
                     const weft_memo_facts *facts)
{
    const uint64_t hash = XXH3_64bits(key, key_bytes);
    pthread_mutex_lock(&memo->lock);
    entry **set = memo->entries[hash % SETS];
    const int place = find_place(set, hash, key, key_bytes);
    const bool is_known = place < PLACES && knows(set[place], facts);
    pthread_mutex_unlock(&memo->lock);
    return is_known;
}

void weft_memo_add_facts(weft_memo *memo, const void *key, size_t key_bytes,
                         const weft_memo_facts *facts)
{
    const uint64_t hash = XXH3_64bits(key, key_bytes);
    pthread_mutex_lock(&memo->lock);
    entry **set = memo->entries[hash % SETS];
    const int place = find_place(set, hash, key, key_bytes);
    if (place < PLACES)
        put_facts(set[place], facts);
    pthread_mutex_unlock(&memo->lock);
}
