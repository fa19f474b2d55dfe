// SPDX-License-Identifier: Apache-2.0
// Compiled programs and verdicts on disk: folder, keys, load and save.
#include "runtime/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/folder.h"
#include "runtime/log.h"

struct weft_cache {
    const weft_context *ctx;
    char *folder;
    const char *origin; // what named it: an environment variable, or cache_dir
    uint64_t max_bytes;
    bool has_programs;
    atomic_bool warned; // that the folder cannot be used
};

static char *joined(const char *folder, const char *rest)
{
    const size_t size = strlen(folder) + strlen(rest) + 1;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s", folder, rest);
    return path;
}

// Where the host has caches: the first place whose variable names a folder by an absolute path.
static const weft_os_place *usual_place(void)
{
    const weft_os_place *place = weft_os_cache_places;
    for (; place->variable; place++) {
        const char *value = getenv(place->variable);
        if (value && weft_os_root_length(value) > 0)
            return place;
    }
    return NULL;
}

// With a slash at the end, or a dot after one, a link to a folder would be followed.
static void strip_slashes(char *path)
{
    const size_t root = weft_os_root_length(path), least = root > 0 ? root : 1;
    size_t length = strlen(path);
    while (length > least && (weft_os_is_separator(path[length - 1]) ||
                              (length > least + 1 && path[length - 1] == '.' &&
                               weft_os_is_separator(path[length - 2]))))
        path[--length] = '\0';
}

// $WEFT_CACHE_DIR: an absolute path, "" for no folder, or NULL.
static const char *own_folder(const weft_context *ctx)
{
    const char *value = getenv("WEFT_CACHE_DIR");
    if (!value || weft_os_root_length(value) > 0 || value[0] == '\0')
        return value;
    weft_log(ctx, WEFT_LOG_WARNING, "WEFT_CACHE_DIR=\"%s\" is ignored: it is no absolute path",
             value);
    return NULL;
}

// The folder to use, from malloc(), and what named it; NULL if there is none.
static weft_status folder_choose(weft_cache *cache, const char *dir)
{
    const char *own = dir ? NULL : own_folder(cache->ctx);
    const char *given = dir ? dir : own;
    const weft_os_place *usual = given ? NULL : usual_place();
    if (given ? !*given : !usual)
        return WEFT_OK;
    cache->origin = dir ? "cache_dir" : own ? "WEFT_CACHE_DIR" : usual->variable;
    cache->has_programs = given;
    cache->folder = given ? joined(given, "") : joined(getenv(usual->variable), usual->below);
    if (!cache->folder)
        return fail(WEFT_NO_MEMORY, "context: no memory for the cache folder's name");
    strip_slashes(cache->folder);
    return WEFT_OK;
}

weft_status weft_cache_create(weft_cache **out, const weft_context *ctx, const char *dir,
                              uint64_t max_bytes, bool others_keep_programs)
{
    *out = NULL;
    weft_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return fail(WEFT_NO_MEMORY, "context: no memory for a cache");
    cache->ctx = ctx;
    cache->max_bytes = max_bytes;
    const weft_status status = folder_choose(cache, dir);
    if (status != WEFT_OK || !cache->folder) {
        free(cache);
        return status;
    }
    cache->has_programs = cache->has_programs || !others_keep_programs;
    *out = cache;
    return WEFT_OK;
}

void weft_cache_destroy(weft_cache *cache)
{
    if (!cache)
        return;
    free(cache->folder);
    free(cache);
}

const char *weft_cache_folder(const weft_cache *cache)
{
    return cache ? cache->folder : "";
}

bool weft_cache_has_programs(const weft_cache *cache)
{
    return cache && cache->has_programs;
}

uint64_t weft_cache_max_bytes(const weft_cache *cache)
{
    return cache ? cache->max_bytes : 0;
}

// With the NUL, which texts do not contain, to separate fields.
static bool add(weft_blob *key, const char *text)
{
    const size_t size = strlen(text) + 1;
    unsigned char *data = realloc(key->data, key->size + size);
    if (!data)
        return false;
    memcpy(data + key->size, text, size);
    key->data = data;
    key->size += size;
    return true;
}

static bool add_and_free(weft_blob *key, char *text)
{
    const bool added = text && add(key, text);
    free(text);
    return added;
}

weft_status weft_cache_key(const weft_context *ctx, const char *options, const char *source,
                           weft_blob *out)
{
    cl_platform_id platform = NULL;
    *out = (weft_blob){0};
    TRY(weft_cl_check(
        clGetDeviceInfo(ctx->device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL),
        "context", "clGetDeviceInfo"));
    if (add(out, weft_version()) &&
        add_and_free(out, weft_platform_text(platform, CL_PLATFORM_NAME)) &&
        add_and_free(out, weft_platform_text(platform, CL_PLATFORM_VERSION)) &&
        add_and_free(out, weft_device_text(ctx->device, CL_DEVICE_NAME)) &&
        add_and_free(out, weft_device_text(ctx->device, CL_DEVICE_VERSION)) &&
        add_and_free(out, weft_device_text(ctx->device, CL_DRIVER_VERSION)) && add(out, options) &&
        add(out, source))
        return WEFT_OK;
    weft_blob_clear(out);
    return fail(WEFT_NO_MEMORY, "context: no memory for the key of a program");
}

// ": No space left on device"; "" if the system gives no reason.
static const char *reason_of(const weft_trouble *trouble, char *text, size_t size)
{
    char reason[80] = "";
    if (trouble->code != 0)
        weft_os_error_text(trouble->code, reason, sizeof(reason));
    snprintf(text, size, "%s%s", reason[0] != '\0' ? ": " : "", reason);
    return text;
}

// The open folder, or NULL. Trouble with it is logged once; a missing folder only when saving.
static weft_folder *folder_open(weft_cache *cache, const weft_trouble *if_missing)
{
    weft_trouble trouble;
    char reason[96];
    weft_folder *folder = weft_folder_open(cache->folder, &trouble);
    if (!trouble.words)
        trouble = *if_missing;
    if (!folder && trouble.words && !atomic_exchange(&cache->warned, true))
        weft_log(cache->ctx, WEFT_LOG_WARNING,
                 "programs are not kept on disk: %s, named by %s, %s%s", cache->folder,
                 cache->origin, trouble.words, reason_of(&trouble, reason, sizeof(reason)));
    return folder;
}

static bool binary_copy(const weft_blob *record, const weft_blob *key, weft_blob *out)
{
    size_t size;
    const unsigned char *binary = weft_record_find(record, key, &size);
    unsigned char *data = binary && size > 0 ? malloc(size) : NULL;
    if (!data)
        return false;
    memcpy(data, binary, size);
    *out = (weft_blob){data, size};
    return true;
}

bool weft_cache_load(weft_cache *cache, const weft_blob *key, weft_blob *out)
{
    static const weft_trouble none = {0};
    weft_folder *folder = cache ? folder_open(cache, &none) : NULL;
    if (!folder)
        return false;
    char name[WEFT_RECORD_NAME_SIZE];
    weft_blob record = {0};
    weft_record_name(key, name);
    const bool found =
        weft_folder_read(folder, name, cache->max_bytes, &record) && binary_copy(&record, key, out);
    weft_blob_clear(&record);
    weft_folder_close(folder);
    return found;
}

static bool store(weft_cache *cache, weft_folder *folder, const weft_blob *key,
                  const weft_blob *binary, weft_trouble *trouble)
{
    char name[WEFT_RECORD_NAME_SIZE];
    weft_blob record = {0};
    weft_record_name(key, name);
    *trouble = (weft_trouble){"there is no memory for the file", 0};
    if (!weft_record_encode(key, binary, &record))
        return false;
    trouble->words = "the program is larger than the bound";
    const bool is_stored =
        record.size <= cache->max_bytes && weft_folder_write(folder, name, &record, trouble);
    weft_blob_clear(&record);
    return is_stored;
}

void weft_cache_save(weft_cache *cache, const weft_blob *key, const weft_blob *binary)
{
    if (!cache)
        return;
    const weft_trouble if_missing = weft_folder_make(cache->folder);
    weft_folder *folder = folder_open(cache, &if_missing);
    if (!folder)
        return;
    weft_trouble trouble;
    char reason[96];
    if (store(cache, folder, key, binary, &trouble))
        weft_folder_trim(folder, cache->max_bytes);
    else
        weft_log(cache->ctx, WEFT_LOG_WARNING, "a program is not kept in %s, named by %s: %s%s",
                 cache->folder, cache->origin, trouble.words,
                 reason_of(&trouble, reason, sizeof(reason)));
    weft_folder_close(folder);
}
