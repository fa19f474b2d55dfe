// SPDX-License-Identifier: Apache-2.0
// Reading and writing whole files.
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- in

// Room for the rest, if its size is known, or for a first part of it.
static size_t first_room(const input_stream *in)
{
    enum { FIRST = 1 << 16, MOST = 1 << 30 };
    const uint64_t left = input_left(in);
    return left < MOST ? (size_t)left + 2 : FIRST;
}

static bool grow(loaded_file *out, size_t room)
{
    char *bytes = realloc(out->bytes, room);
    if (bytes != NULL)
        out->bytes = bytes;
    return bytes != NULL;
}

static bool read_all(loaded_file *out, input_stream *in, complaint *why)
{
    size_t n = 0;
    for (size_t room = first_room(in);; room *= 2) {
        if (!grow(out, room))
            return complain(why, "%s: no memory for a file of %zu bytes or more", in->path,
                            out->size);
        if (!input_read(in, out->bytes + out->size, room - 1 - out->size, &n, why))
            return false;
        out->size += n;
        if (out->size < room - 1)
            break;
        if (input_is_bloated(in))
            return complain(why, "%s: decompresses to %zu bytes or more, which is not text",
                            in->path, out->size);
    }
    out->bytes[out->size] = '\0';
    return true;
}

bool file_load_rest(loaded_file *out, input_stream *in, complaint *why)
{
    *out = (loaded_file){0};
    const bool done = read_all(out, in, why);
    if (!done)
        file_free(out);
    return done;
}

bool file_load(loaded_file *out, const char *path, complaint *why)
{
    *out = (loaded_file){0};
    input_stream in;
    const bool done = input_open(&in, path, why) && file_load_rest(out, &in, why);
    input_close(&in);
    return done;
}

void file_free(loaded_file *file)
{
    free(file->bytes);
    file->bytes = NULL;
    file->size = 0;
}

// ---- out

// Destination of a file.
typedef struct target {
    const char *path;
    char *place;        // after symbolic links: malloc'd
    bool is_there;      // a file exists, and
    struct stat status; // this is its status
    bool in_place;      // it is written to, and cannot be replaced
} target;

bool file_is_standard_output(const char *path)
{
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return false;
}

// Bytes of the path up to the last slash.
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (int)(slash + 1 - path) : 0;
}

// The target of symbolic links, which need not exist: malloc'd, or NULL with errno.
static char *follow(const char *path)
{
    enum { MOST_LINKS = 40 };
    char link[PATH_MAX];
    char *place = strdup(path);
    for (int n = 0; place != NULL && n < MOST_LINKS; n++) {
        const ssize_t length = readlink(place, link, sizeof(link) - 1);
        if (length < 0)
            return place;
        link[length] = '\0';
        char *next = NULL;
        const int folder = link[0] == '/' ? 0 : folder_length(place);
        if (asprintf(&next, "%.*s%s", folder, place, link) < 0)
            next = NULL;
        free(place);
        place = next;
    }
    errno = place != NULL ? ELOOP : ENOMEM;
    free(place);
    return NULL;
}

// /proc has links for descriptors that lead nowhere.
static bool leads_back(const target *to)
{
    struct stat there;
    return stat(to->place, &there) == 0 && there.st_dev == to->status.st_dev &&
           there.st_ino == to->status.st_ino;
}

static bool find_target(target *out, const char *path, complaint *why)
{
    *out = (target){.path = path, .place = follow(path)};
    if (out->place == NULL)
        return complain(why, "%s: %s", path, strerror(errno));
    out->is_there = stat(path, &out->status) == 0;
    if (!out->is_there)
        return (errno == ENOENT && *path != '\0') ||
               complain(why, "%s: %s", *path != '\0' ? path : "''", strerror(errno));
    if (S_ISDIR(out->status.st_mode))
        return complain(why, "%s: %s", path, strerror(EISDIR));
    if (access(path, W_OK) != 0)
        return complain(why, "%s: %s", path, strerror(errno));
    out->in_place = !S_ISREG(out->status.st_mode) || !leads_back(out);
    return true;
}

// A new file in the target's folder, of a unique name: malloc'd. -1 with errno.
static int create_beside(const target *to, char **name)
{
    enum { MOST_NAMES = 100 };
    for (int n = 0; n < MOST_NAMES; n++) {
        if (asprintf(name, "%.*s.weft-%ld-%d", folder_length(to->place), to->place, (long)getpid(),
                     n) < 0) {
            *name = NULL;
            errno = ENOMEM;
            return -1;
        }
        const int file = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
        free(*name);
        *name = NULL;
    }
    return -1;
}

static bool complain_beside(const target *to, complaint *why)
{
    return complain(why, "%s: %s%s", to->path,
                    to->is_there ? "no temporary file can be made beside it: " : "",
                    strerror(errno));
}

// A standard descriptor that was closed becomes one that can only be read.
static bool can_print(const char *path, complaint *why)
{
    const int how = fcntl(STDOUT_FILENO, F_GETFL);
    return (how >= 0 && (how & O_ACCMODE) != O_RDONLY) ||
           complain(why, "%s: standard output cannot be written", path);
}

bool file_can_save(const char *path, complaint *why)
{
    target to = {.place = NULL};
    if (path == NULL)
        return true;
    if (file_is_standard_output(path))
        return can_print(path, why);
    bool done = find_target(&to, path, why);
    if (done && !to.in_place) {
        char *name = NULL;
        const int file = create_beside(&to, &name);
        done = file >= 0 || complain_beside(&to, why);
        if (file >= 0) {
            close(file);
            unlink(name);
        }
        free(name);
    }
    free(to.place);
    return done;
}

// The owner too, if that is allowed; permissions that only an owner may grant are dropped.
static void take_access(int file, const target *to)
{
    const bool is_owned = fchown(file, to->status.st_uid, to->status.st_gid) == 0;
    fchmod(file, to->status.st_mode & (is_owned ? 07777 : 0777));
}

// The parts, in the order of writing.
typedef struct content {
    const void *head, *body;
    size_t head_size, body_size;
} content;

// Closes all but standard output; 0, or errno.
static int write_content(FILE *stream, const content *all)
{
    const bool written = fwrite(all->head, 1, all->head_size, stream) == all->head_size &&
                         fwrite(all->body, 1, all->body_size, stream) == all->body_size;
    const int write_errno = errno;
    const bool ended = (stream == stdout ? fflush(stream) : fclose(stream)) == 0;
    return !written ? write_errno : !ended ? errno : 0;
}

static bool write_to(const char *path, FILE *stream, const content *all, complaint *why)
{
    const int code = stream != NULL ? write_content(stream, all) : errno;
    return code == 0 || complain(why, "%s: %s", path, strerror(code));
}

static bool replace(const target *to, const content *all, complaint *why)
{
    char *name = NULL;
    const int file = create_beside(to, &name);
    bool done = file >= 0 || complain_beside(to, why);
    if (file >= 0) {
        if (to->is_there)
            take_access(file, to);
        done = write_to(to->path, fdopen(file, "wb"), all, why) &&
               (rename(name, to->place) == 0 || complain(why, "%s: %s", to->path, strerror(errno)));
        if (!done)
            unlink(name);
    }
    free(name);
    return done;
}

bool file_save(const char *path, const void *head, size_t head_size, const void *body,
               size_t body_size, complaint *why)
{
    const content all = {head, body, head_size, body_size};
    target to = {.place = NULL};
    if (file_is_standard_output(path))
        return write_to(path, stdout, &all, why);
    const bool done =
        find_target(&to, path, why) &&
        (to.in_place ? write_to(path, fopen(path, "wb"), &all, why) : replace(&to, &all, why));
    free(to.place);
    return done;
}
