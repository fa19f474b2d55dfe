// SPDX-License-Identifier: Apache-2.0
// Compiled programs, and verdicts on devices, in a folder on disk, shared by every process of the
// user. Files are created by rename, so that no lock is needed. An invalid file is a miss, and the
// next save replaces it.
#ifndef WEFT_LIB_CACHE_H
#define WEFT_LIB_CACHE_H

#include "base/record.h"
#include "runtime/ocl.h"

typedef struct weft_cache weft_cache;

// The folder is `dir`; NULL takes $WEFT_CACHE_DIR, $XDG_CACHE_HOME/weft or ~/.cache/weft: the first
// of them that is an absolute path. A relative WEFT_CACHE_DIR is a warning in the log. If none of
// them is set, or `dir` or $WEFT_CACHE_DIR is "", *out is NULL: no cache, and every function below
// accepts that. Nothing is created before the first save. max_bytes bounds the folder. If the
// implementation caches programs itself, they are stored only in a folder that `dir` or
// $WEFT_CACHE_DIR names.
weft_status weft_cache_create(weft_cache **out, const weft_context *ctx, const char *dir,
                              uint64_t max_bytes, bool others_keep_programs);
void weft_cache_destroy(weft_cache *cache);

// Whether it stores programs, and not verdicts alone.
bool weft_cache_has_programs(const weft_cache *cache);

// Its folder and bound, for another cache; "" and 0 if there is none.
const char *weft_cache_folder(const weft_cache *cache);
uint64_t weft_cache_max_bytes(const weft_cache *cache);

// The inputs of a binary: weft, platform, device, driver, options, source.
weft_status weft_cache_key(const weft_context *ctx, const char *options, const char *source,
                           weft_blob *out);

// Loads the binary stored under `key`. False after a miss, for any reason.
bool weft_cache_load(weft_cache *cache, const weft_blob *key, weft_blob *out);

// Stores a binary. An error is a warning in the log, and the old file remains.
void weft_cache_save(weft_cache *cache, const weft_blob *key, const weft_blob *binary);

#endif
