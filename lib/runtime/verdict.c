// SPDX-License-Identifier: Apache-2.0
// Verdicts on a device: from the process's memory, from disk, or by trials.
#include "runtime/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clamp.h"
#include "base/os.h"
#include "base/record.h"
#include "runtime/cache.h"
#include "runtime/context.h"
#include "runtime/program.h"
#include "runtime/trial.h"

// A verdict on disk: numbers as text, which are read back unchanged or rejected.
enum { RECORD_SIZE = 128 };

static const char record_format[] = "tried %x failed %x doubted %x measured %d fma %d cache %llu";

static weft_blob record_of(const weft_verdict *v, char text[RECORD_SIZE])
{
    const int length = snprintf(text, RECORD_SIZE, record_format, v->tried, v->failed, v->doubted,
                                v->is_measured, v->has_fma, (unsigned long long)v->cache_bytes);
    return (weft_blob){(unsigned char *)text, (size_t)length};
}

static bool read_record(const weft_blob *record, weft_verdict *out)
{
    char text[RECORD_SIZE], again[RECORD_SIZE];
    unsigned tried, failed, doubted;
    int is_measured, has_fma;
    unsigned long long cache;
    if (record->size >= sizeof(text))
        return false;
    memcpy(text, record->data, record->size);
    text[record->size] = '\0';
    if (sscanf(text, record_format, &tried, &failed, &doubted, &is_measured, &has_fma, &cache) != 6)
        return false;
    *out = (weft_verdict){tried, failed, doubted, is_measured, has_fma, cache};
    return record_of(out, again).size == record->size && strcmp(text, again) == 0;
}

// Verdicts of this process, for its lifetime.
typedef struct remembered {
    struct remembered *next;
    weft_verdict verdict;
    weft_blob key;
} remembered;

static weft_lock memory_lock = WEFT_LOCK_INITIAL;
static remembered *memory;

// One thread at a time reads the disk and makes trials: others wait, and find the result in memory.
// No trial takes the cores on which another one is timed.
static weft_lock trials_lock = WEFT_LOCK_INITIAL;

static bool recall(const weft_blob *key, weft_verdict *out)
{
    weft_lock_take(&memory_lock);
    const remembered *at = memory;
    while (at && (at->key.size != key->size || memcmp(at->key.data, key->data, key->size) != 0))
        at = at->next;
    if (at)
        *out = at->verdict;
    weft_lock_release(&memory_lock);
    return at;
}

// Takes ownership of the key.
static void remember(weft_blob *key, const weft_verdict *verdict)
{
    remembered *new = malloc(sizeof(*new));
    if (!new)
        return;
    new->verdict = *verdict;
    new->key = *key;
    *key = (weft_blob){0};
    weft_lock_take(&memory_lock);
    new->next = memory;
    memory = new;
    weft_lock_release(&memory_lock);
}

void weft_limits_forget(void)
{
    weft_lock_take(&memory_lock);
    while (memory) {
        remembered *next = memory->next;
        weft_blob_clear(&memory->key);
        free(memory);
        memory = next;
    }
    weft_lock_release(&memory_lock);
}

static bool load(weft_context *ctx, const weft_blob *key, weft_verdict *out)
{
    weft_blob record = {0};
    const bool is_found = weft_cache_load(ctx->cache, key, &record) && read_record(&record, out);
    weft_blob_clear(&record);
    return is_found;
}

static void save(weft_context *ctx, const weft_blob *key, const weft_verdict *verdict)
{
    char text[RECORD_SIZE];
    const weft_blob record = record_of(verdict, text);
    weft_cache_save(ctx->cache, key, &record);
}

// From memory, else from disk; missing parts by trials. Takes ownership of the key. A process keeps
// its first verdict, so that all its contexts on the device are the same; the next process tries
// what was omitted.
static weft_verdict verdict_on(weft_context *ctx, const weft_limits *limits, weft_blob *key)
{
    weft_verdict verdict;
    if (recall(key, &verdict))
        return verdict;
    if (!load(ctx, key, &verdict))
        verdict = weft_verdict_untried(limits);
    if (!weft_verdict_is_whole(&verdict, limits)) {
        weft_trials_run(ctx, limits, &verdict);
        save(ctx, key, &verdict);
    }
    remember(key, &verdict);
    return verdict;
}

void weft_limits_try(weft_context *ctx, weft_limits *limits)
{
    const weft_sentence kept = weft_sentence_keep();
    char name[128];
    weft_blob key = {0};
    weft_trials_name(limits, name, sizeof(name));
    if (weft_cache_key(ctx, name, weft_source_trial.text, &key) == WEFT_OK) {
        weft_lock_take(&trials_lock);
        const weft_verdict verdict = verdict_on(ctx, limits, &key);
        weft_lock_release(&trials_lock);
        *limits = weft_limits_distrust(limits, verdict.failed | verdict.doubted);
        limits->has_fma = verdict.has_fma && !(limits->failed_trials & WEFT_TRIAL_FMA);
        limits->cache_bytes = verdict.cache_bytes;
    }
    weft_blob_clear(&key);
    weft_sentence_give_back(&kept);
}
