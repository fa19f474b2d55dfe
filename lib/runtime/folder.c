// SPDX-License-Identifier: Apache-2.0
// Files of the program cache: open, read, write, trim.
#define _POSIX_C_SOURCE 200809L
#include "runtime/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/room.h"

static const char temporary_suffix[] = ".tmp";
static const time_t abandoned_seconds = 3600;

static bool is_only_ours(const struct stat *info)
{
    return info->st_uid == geteuid() && !(info->st_mode & (S_IWGRP | S_IWOTH));
}

int weft_folder_open(const char *path, weft_trouble *trouble)
{
    *trouble = (weft_trouble){0};
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (folder < 0) {
        const int code = errno;
        const bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
        if (is_link)
            *trouble = (weft_trouble){"is a symbolic link, which is not followed", 0};
        else if (code != ENOENT)
            *trouble = (weft_trouble){"is not a folder that can be opened", code};
        return -1;
    }
    if (fstat(folder, &info) == 0 && is_only_ours(&info))
        return folder;
    trouble->words = "belongs to somebody else or may be written by others";
    close(folder);
    return -1;
}

int weft_folder_make(const char *path)
{
    const size_t length = strlen(path);
    int code = 0;
    char *part = malloc(length + 1);
    if (!part)
        return ENOMEM;
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (mkdir(part, S_IRWXU) == 0 || errno == EEXIST)
            code = 0; // ignores errors of the folders above it
        else if (code == 0)
            code = errno;
    }
    free(part);
    return code;
}

static bool read_all(int file, unsigned char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = read(file, data + done, size - done);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool write_all(int file, const unsigned char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        const ssize_t n = write(file, data + done, size - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool weft_folder_read(int folder, const char *name, uint64_t max_bytes, weft_blob *out)
{
    struct stat info;
    unsigned char *data = NULL;
    bool is_read = false;
    // Non-blocking: a pipe of that name must not block.
    const int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || !is_only_ours(&info) ||
        info.st_size <= 0 || (uint64_t)info.st_size > max_bytes)
        goto done;
    data = malloc((size_t)info.st_size);
    is_read = data && read_all(file, data, (size_t)info.st_size);
    if (is_read)
        futimens(file, NULL);

done:
    close(file);
    if (is_read)
        *out = (weft_blob){data, (size_t)info.st_size};
    else
        free(data);
    return is_read;
}

// Creates "<name>.<process>.<number>.tmp".
static int temporary_open(int folder, const char *name, char *temporary, size_t size)
{
    static atomic_uint counter;
    int file = -1;
    for (int tries = 0; tries < 100; tries++) {
        snprintf(temporary, size, "%s.%ld.%u%s", name, (long)getpid(), counter++, temporary_suffix);
        file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      S_IRUSR | S_IWUSR);
        if (file >= 0 || errno != EEXIST)
            break;
    }
    return file;
}

bool weft_folder_write(int folder, const char *name, const weft_blob *bytes, weft_trouble *trouble)
{
    char temporary[128];
    const int file = temporary_open(folder, name, temporary, sizeof(temporary));
    *trouble = (weft_trouble){"a file cannot be created", errno};
    if (file < 0)
        return false;
    const bool is_whole = write_all(file, bytes->data, bytes->size);
    *trouble = (weft_trouble){"a file cannot be written", errno};
    const bool is_closed = close(file) == 0;
    if (is_whole && !is_closed)
        trouble->code = errno;
    if (is_whole && is_closed) {
        if (renameat(folder, temporary, folder, name) == 0)
            return true;
        *trouble = (weft_trouble){"a file cannot be renamed", errno};
    }
    unlinkat(folder, temporary, 0);
    return false;
}

typedef struct entry {
    char name[WEFT_RECORD_NAME_SIZE];
    struct timespec used;
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

static void look_at(int folder, const char *name, listing *l)
{
    struct stat info;
    const bool is_record = weft_record_is_name(name);
    if (!is_record && !is_temporary(name))
        return;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return;
    if (!is_record) {
        if (time(NULL) - info.st_mtime > abandoned_seconds)
            unlinkat(folder, name, 0);
        return;
    }
    if (!ROOM_FOR_ONE(&l->entries, &l->room, l->n))
        return;
    entry *e = &l->entries[l->n++];
    memcpy(e->name, name, sizeof(e->name));
    e->used = info.st_mtim;
    e->bytes = (uint64_t)info.st_size;
    l->bytes += e->bytes;
}

static int by_use(const void *a, const void *b)
{
    const struct timespec *x = &((const entry *)a)->used, *y = &((const entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

void weft_folder_trim(int folder, uint64_t max_bytes)
{
    // A separate description: readdir() moves the position, and closedir() closes.
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream) {
        if (copy >= 0)
            close(copy);
        return;
    }
    listing l = {0};
    for (const struct dirent *d; (d = readdir(stream));)
        look_at(folder, d->d_name, &l);
    closedir(stream);

    if (l.bytes > max_bytes)
        qsort(l.entries, l.n, sizeof(*l.entries), by_use);
    for (size_t i = 0; i < l.n && l.bytes > max_bytes; i++) {
        unlinkat(folder, l.entries[i].name, 0);
        l.bytes -= l.entries[i].bytes;
    }
    free(l.entries);
}
