// SPDX-License-Identifier: Apache-2.0
// Files in the folder of compiled programs: whatever one holds, it is a miss or the binary of that
// very key, and what is saved over it is found again.
//
// The first byte says how much of the file is made right, so that checks behind others are reached:
// the head with its sizes, the key, the checksum.
#define XXH_INLINE_ALL
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include <weft/rehearsal.h>

#include "runtime/cache.h"
#include "runtime/context.h"
#include "target.h"

enum { HEAD_RIGHT = 1, KEY_RIGHT = 2, SUM_RIGHT = 4, KEY_BYTES = 24, HEAD_BYTES = 32 };

static unsigned char key_bytes[KEY_BYTES] = "a driver, a source, ...";
static const weft_blob key = {key_bytes, KEY_BYTES};
static weft_cache *cache;
static char path[1024]; // of the key's file

static void start(void)
{
    char name[WEFT_RECORD_NAME_SIZE];
    weft_context *ctx;
    const char *dir = getenv("WEFT_TEST_DIR");
    static char folder[900];
    snprintf(folder, sizeof(folder), "%s/programs-%ld", dir ? dir : "/tmp", (long)getpid());
    HOLDS(weft_rehearsal_create(&ctx, weft_profile_at(0), NULL) == WEFT_OK, "%s\n",
          weft_last_error());
    HOLDS(weft_cache_create(&ctx->cache, ctx, folder, 1 << 20, false) == WEFT_OK, "%s\n",
          weft_last_error());
    cache = ctx->cache;
    weft_record_name(&key, name);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
}

// A file as the first byte wants it; from malloc().
static weft_blob file_of(uint8_t flags, const uint8_t *bytes, size_t size)
{
    XXH128_canonical_t sum;
    const weft_blob none = {key_bytes, 0};
    weft_blob sound, file = {malloc(size + 1), size};
    HOLDS(file.data && weft_record_encode(&key, &none, &sound), "no memory\n");
    for (size_t i = 0; i < size; i++)
        file.data[i] = bytes[i];
    if ((flags & HEAD_RIGHT) && size >= sound.size) {
        const uint64_t binary_bytes = size - sound.size;
        memcpy(file.data, sound.data, HEAD_BYTES - sizeof(binary_bytes));
        memcpy(file.data + HEAD_BYTES - sizeof(binary_bytes), &binary_bytes, sizeof(binary_bytes));
    }
    if ((flags & KEY_RIGHT) && size >= HEAD_BYTES + KEY_BYTES)
        memcpy(file.data + HEAD_BYTES, key_bytes, KEY_BYTES);
    if ((flags & SUM_RIGHT) && size >= sizeof(sum)) {
        const size_t checked = size - sizeof(sum);
        XXH128_canonicalFromHash(&sum, XXH3_128bits(file.data, checked));
        memcpy(file.data + checked, &sum, sizeof(sum));
    }
    weft_blob_clear(&sound);
    return file;
}

static void put(const weft_blob *file)
{
    unlink(path);
    FILE *stream = fopen(path, "wb");
    HOLDS(stream && fwrite(file->data, 1, file->size, stream) == file->size, "%s\n", path);
    fclose(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static unsigned char saved_bytes[] = "a program";
    const weft_blob saved = {saved_bytes, sizeof(saved_bytes)};
    if (size == 0)
        return -1;
    if (!cache) {
        umask(077);
        start();
        weft_cache_save(cache, &key, &saved);
    }
    weft_blob file = file_of(bytes[0], bytes + 1, size - 1), binary = {0}, sound = {0};
    put(&file);
    if (weft_cache_load(cache, &key, &binary)) {
        HOLDS(weft_record_encode(&key, &binary, &sound), "no memory\n");
        HOLDS(sound.size == file.size && memcmp(sound.data, file.data, file.size) == 0,
              "%zu bytes were taken for a program of %zu\n", file.size, binary.size);
    }
    weft_blob_clear(&binary);
    weft_blob_clear(&sound);
    weft_blob_clear(&file);

    weft_cache_save(cache, &key, &saved);
    HOLDS(weft_cache_load(cache, &key, &binary), "what was saved is not found\n");
    HOLDS(binary.size == saved.size && memcmp(binary.data, saved.data, saved.size) == 0,
          "something else is found\n");
    weft_blob_clear(&binary);
    return 0;
}
