// SPDX-License-Identifier: Apache-2.0
// Linux, macOS, and other systems of POSIX.
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE   700 // realpath()
#include "base/os_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int size_of(int file, size_t *size)
{
    struct stat info;
    if (fstat(file, &info) != 0)
        return errno;
    if (!S_ISREG(info.st_mode))
        return S_ISDIR(info.st_mode) ? EISDIR : ENODEV;
    if ((uintmax_t)info.st_size > SIZE_MAX)
        return EFBIG;
    *size = (size_t)info.st_size;
    return 0;
}

int weft_os_map(weft_mapping *out, const char *path)
{
    *out = (weft_mapping){0};
    // Non-blocking: a pipe of that name must not block.
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int code = file < 0 ? errno : size_of(file, &out->size);
    if (code == 0 && out->size > 0) { // an empty file cannot be mapped
        void *bytes = mmap(NULL, out->size, PROT_READ, MAP_SHARED, file, 0);
        if (bytes == MAP_FAILED)
            code = errno;
        else
            out->bytes = bytes;
    }
    if (file >= 0)
        close(file);
    return code;
}

void weft_os_unmap(weft_mapping *mapping)
{
    if (mapping->bytes)
        munmap(mapping->bytes, mapping->size);
    *mapping = (weft_mapping){0};
}

// Where links lead; from malloc(). NULL with errno, also if something else than a file is there.
static char *place_of(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISREG(info.st_mode))
            return realpath(path, NULL);
        errno = S_ISDIR(info.st_mode) ? EISDIR : EEXIST;
        return NULL;
    }
    return errno == ENOENT ? strdup(path) : NULL;
}

// A new file "PLACE.weft-PID-N", whose name goes to `name`; -1 with errno.
static int create_beside(const char *place, char *name, size_t room)
{
    enum { MOST_NAMES = 100 };
    int file = -1;
    for (int n = 0; n < MOST_NAMES && file < 0; n++) {
        snprintf(name, room, "%s.weft-%ld-%d", place, (long)getpid(), n);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0 && errno != EEXIST)
            break;
    }
    return file;
}

static void forget(weft_replacement *r)
{
    free(r->place);
    free(r->name);
    *r = (weft_replacement){0};
}

int weft_os_replace_begin(weft_replacement *out, const char *path)
{
    enum { MORE = 64 }; // than the path: what makes a name unique
    *out = (weft_replacement){.place = place_of(path)};
    if (!out->place)
        return errno;
    const size_t room = strlen(out->place) + MORE;
    out->name = malloc(room);
    const int file = out->name ? create_beside(out->place, out->name, room) : -1;
    out->stream = file >= 0 ? fdopen(file, "wb") : NULL;
    if (out->stream)
        return 0;
    const int code = out->name ? errno : ENOMEM;
    if (file >= 0) {
        close(file);
        unlink(out->name);
    }
    forget(out);
    return code;
}

int weft_os_replace_end(weft_replacement *r, bool is_written)
{
    int code = is_written ? 0 : errno != 0 ? errno : EIO;
    if (fclose(r->stream) != 0 && code == 0)
        code = errno;
    if (code == 0 && rename(r->name, r->place) != 0)
        code = errno;
    if (code != 0)
        unlink(r->name);
    forget(r);
    return code;
}

bool weft_os_is_no_memory(int code)
{
    return code == ENOMEM;
}
