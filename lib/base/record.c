// SPDX-License-Identifier: Apache-2.0
// Compiled programs as bytes, checked when they are read.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/record.h"

static const char suffix[] = ".weft";
enum { hash_digits = WEFT_RECORD_NAME_SIZE - sizeof(suffix) };

// In the byte order of the machine: a file of the other byte order has another format.
typedef struct head {
    char magic[8];
    uint64_t format, key_bytes, binary_bytes;
} head;

static const head current = {.magic = {'w', 'e', 'f', 't', 'p', 'r', 'o', 'g'}, .format = 1};

void weft_blob_clear(weft_blob *blob)
{
    free(blob->data);
    *blob = (weft_blob){0};
}

static XXH128_canonical_t checksum(const unsigned char *data, size_t size)
{
    XXH128_canonical_t out;
    XXH128_canonicalFromHash(&out, XXH3_128bits(data, size));
    return out;
}

bool weft_record_encode(const weft_blob *key, const weft_blob *binary, weft_blob *out)
{
    head h = current;
    h.key_bytes = key->size;
    h.binary_bytes = binary->size;
    const size_t checked = sizeof(h) + key->size + binary->size;
    *out = (weft_blob){malloc(checked + sizeof(XXH128_canonical_t)), 0};
    if (!out->data)
        return false;

    memcpy(out->data, &h, sizeof(h));
    memcpy(out->data + sizeof(h), key->data, key->size);
    memcpy(out->data + sizeof(h) + key->size, binary->data, binary->size);
    const XXH128_canonical_t sum = checksum(out->data, checked);
    memcpy(out->data + checked, &sum, sizeof(sum));
    out->size = checked + sizeof(sum);
    return true;
}

const unsigned char *weft_record_find(const weft_blob *record, const weft_blob *key, size_t *size)
{
    head h;
    XXH128_canonical_t sum;
    const size_t frame = sizeof(h) + key->size + sizeof(sum);
    if (record->size < frame)
        return NULL;
    memcpy(&h, record->data, sizeof(h));
    if (memcmp(h.magic, current.magic, sizeof(h.magic)) != 0 || h.format != current.format ||
        h.key_bytes != key->size || h.binary_bytes != record->size - frame)
        return NULL;
    if (memcmp(record->data + sizeof(h), key->data, key->size) != 0)
        return NULL;

    const size_t checked = record->size - sizeof(sum);
    sum = checksum(record->data, checked);
    if (memcmp(record->data + checked, &sum, sizeof(sum)) != 0)
        return NULL;
    *size = (size_t)h.binary_bytes;
    return record->data + sizeof(h) + key->size;
}

void weft_record_name(const weft_blob *key, char name[WEFT_RECORD_NAME_SIZE])
{
    const XXH128_hash_t hash = XXH3_128bits(key->data, key->size);
    snprintf(name, WEFT_RECORD_NAME_SIZE, "%016" PRIx64 "%016" PRIx64 "%s", (uint64_t)hash.high64,
             (uint64_t)hash.low64, suffix);
}

bool weft_record_is_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == hash_digits &&
           strcmp(name + hash_digits, suffix) == 0;
}
