// SPDX-License-Identifier: Apache-2.0
// Whole files in and out.
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Room for the rest of a file whose size can be asked, and for a first piece of any other.
static size_t first_room(FILE *stream)
{
    struct stat status;
    if (fstat(fileno(stream), &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0)
        return (size_t)status.st_size + 2;
    return 65536;
}

static bool grow(loaded_file *out, size_t room)
{
    char *bytes = realloc(out->bytes, room);
    if (bytes != NULL)
        out->bytes = bytes;
    return bytes != NULL;
}

static bool read_all(loaded_file *out, FILE *stream, const char *path, complaint *why)
{
    size_t room = first_room(stream);
    for (;;) {
        if (!grow(out, room))
            return complain(why, "%s: no memory for a file of %zu bytes or more", path, out->size);
        out->size += fread(out->bytes + out->size, 1, room - 1 - out->size, stream);
        if (ferror(stream))
            return complain(why, "%s: %s", path, strerror(errno));
        if (out->size < room - 1)
            break;
        room *= 2;
    }
    out->bytes[out->size] = '\0';
    return true;
}

bool file_load(loaded_file *out, const char *path, complaint *why)
{
    *out = (loaded_file){0};
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        return complain(why, "%s: %s", path, strerror(errno));
    const bool done = read_all(out, stream, path, why);
    fclose(stream);
    if (!done)
        file_free(out);
    return done;
}

void file_free(loaded_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
    file->size = 0;
}

bool file_save(const char *path, const void *head, size_t head_size, const void *body,
               size_t body_size, complaint *why)
{
    FILE *stream = fopen(path, "wb");
    if (stream == NULL)
        return complain(why, "%s: %s", path, strerror(errno));
    const bool written = fwrite(head, 1, head_size, stream) == head_size &&
                         fwrite(body, 1, body_size, stream) == body_size;
    const int write_errno = errno;
    if (fclose(stream) != 0 || !written)
        return complain(why, "%s: %s", path, strerror(written ? errno : write_errno));
    return true;
}
