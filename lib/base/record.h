// SPDX-License-Identifier: Apache-2.0
// A compiled program as the bytes of one file:
//
//   head      magic, format, size of the key, size of the binary
//   key       compared whole: a hash that collides is a miss
//   binary
//   checksum  XXH3 of all before it, 128 bits
#ifndef WEFT_LIB_RECORD_H
#define WEFT_LIB_RECORD_H

#include <stdbool.h>
#include <stddef.h>

// Bytes on the host, from malloc().
typedef struct weft_blob {
    unsigned char *data;
    size_t size;
} weft_blob;

// Frees the bytes and zeroes the struct.
void weft_blob_clear(weft_blob *blob);

// False without memory.
bool weft_record_encode(const weft_blob *key, const weft_blob *binary, weft_blob *out);

// The binary of `key` in `record`; NULL for bytes that are damaged, of another format, or of
// another key. Nothing outside the bytes is read, whatever they are.
const unsigned char *weft_record_find(const weft_blob *record, const weft_blob *key, size_t *size);

// The file's name: 32 hexadecimal digits and ".weft".
enum { WEFT_RECORD_NAME_SIZE = 32 + 5 + 1 };
void weft_record_name(const weft_blob *key, char name[WEFT_RECORD_NAME_SIZE]);
bool weft_record_is_name(const char *name);

#endif
