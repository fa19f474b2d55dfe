// SPDX-License-Identifier: Apache-2.0
// Files of the program cache: write, trim.
#include "runtime/folder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/room.h"

static const char temporary_suffix[] = ".tmp";
static const int64_t abandoned_seconds = 3600;

weft_trouble weft_folder_make(const char *path)
{
    const size_t length = strlen(path), root = weft_os_root_length(path);
    weft_trouble trouble = {"cannot be made", 0};
    char *part = malloc(length + 1);
    if (!part)
        return (weft_trouble){"cannot be made without memory", 0};
    for (size_t i = root > 0 ? root : 1; i <= length; i++) {
        if (!weft_os_is_separator(path[i]) && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        const int code = weft_os_folder_make(part);
        if (code == 0 || trouble.code == 0) // ignores errors of the folders above one that is there
            trouble.code = code;
    }
    free(part);
    return trouble;
}

// Creates "<name>.<process>.<number>.tmp".
static bool temporary_write(weft_folder *folder, const char *name, const weft_blob *bytes,
                            char *temporary, size_t size, weft_trouble *trouble)
{
    static atomic_uint counter;
    bool exists = true, is_written = false;
    for (int tries = 0; tries < 100 && exists; tries++) {
        snprintf(temporary, size, "%s.%ld.%u%s", name, weft_os_process(), counter++,
                 temporary_suffix);
        is_written = weft_folder_create(folder, temporary, bytes, &exists, trouble);
    }
    return is_written;
}

bool weft_folder_write(weft_folder *folder, const char *name, const weft_blob *bytes,
                       weft_trouble *trouble)
{
    char temporary[128];
    if (!temporary_write(folder, name, bytes, temporary, sizeof(temporary), trouble))
        return false;
    if (weft_folder_rename(folder, temporary, name, trouble))
        return true;
    weft_folder_remove(folder, temporary);
    return false;
}

typedef struct entry {
    char name[WEFT_RECORD_NAME_SIZE];
    int64_t used_s;
    int32_t used_ns;
    uint64_t bytes;
} entry;

typedef struct listing {
    entry *entries;
    size_t n, room;
    uint64_t bytes;
} listing;

static bool is_temporary(const char *name)
{
    char record[WEFT_RECORD_NAME_SIZE];
    const size_t length = strlen(name), suffix = strlen(temporary_suffix);
    snprintf(record, sizeof(record), "%.*s", (int)sizeof(record) - 1, name);
    return length > sizeof(record) + suffix && weft_record_is_name(record) &&
           strcmp(name + length - suffix, temporary_suffix) == 0;
}

static void look_at(void *user, weft_folder *folder, const weft_folder_file *file)
{
    listing *l = user;
    if (!weft_record_is_name(file->name)) {
        if (is_temporary(file->name) && (int64_t)time(NULL) - file->used_s > abandoned_seconds)
            weft_folder_remove(folder, file->name);
        return;
    }
    if (!ROOM_FOR_ONE(&l->entries, &l->room, l->n))
        return;
    entry *e = &l->entries[l->n++];
    memcpy(e->name, file->name, sizeof(e->name));
    e->used_s = file->used_s;
    e->used_ns = file->used_ns;
    e->bytes = file->bytes;
    l->bytes += e->bytes;
}

static int by_use(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->used_s != y->used_s)
        return x->used_s < y->used_s ? -1 : 1;
    return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

void weft_folder_trim(weft_folder *folder, uint64_t max_bytes)
{
    listing l = {0};
    weft_folder_each(folder, look_at, &l);
    if (l.bytes > max_bytes)
        qsort(l.entries, l.n, sizeof(*l.entries), by_use);
    for (size_t i = 0; i < l.n && l.bytes > max_bytes; i++) {
        weft_folder_remove(folder, l.entries[i].name);
        l.bytes -= l.entries[i].bytes;
    }
    free(l.entries);
}
