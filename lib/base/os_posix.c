// SPDX-License-Identifier: Apache-2.0
// Linux, macOS, and other systems of POSIX.
#define _POSIX_C_SOURCE  200809L
#define _DARWIN_C_SOURCE // st_mtimespec, sysctlbyname(), waiting for a while
#include "base/os.h"

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
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

void weft_lock_create(weft_lock *lock)
{
    pthread_mutex_init(lock, NULL);
}

void weft_lock_destroy(weft_lock *lock)
{
    pthread_mutex_destroy(lock);
}

void weft_lock_take(weft_lock *lock)
{
    pthread_mutex_lock(lock);
}

void weft_lock_release(weft_lock *lock)
{
    pthread_mutex_unlock(lock);
}

void weft_signal_destroy(weft_signal *signal)
{
    pthread_cond_destroy(signal);
}

void weft_signal_send(weft_signal *signal)
{
    pthread_cond_broadcast(signal);
}

enum { NS = 1000000000 };

#ifdef __APPLE__
void weft_signal_create(weft_signal *signal)
{
    pthread_cond_init(signal, NULL);
}

static void wait_for(weft_signal *signal, weft_lock *lock, int64_t ns)
{
    const struct timespec length = {.tv_sec = (time_t)(ns / NS), .tv_nsec = (long)(ns % NS)};
    pthread_cond_timedwait_relative_np(signal, lock, &length);
}
#else
void weft_signal_create(weft_signal *signal)
{
    pthread_condattr_t by_steady_clock;
    pthread_condattr_init(&by_steady_clock);
    pthread_condattr_setclock(&by_steady_clock, CLOCK_MONOTONIC);
    pthread_cond_init(signal, &by_steady_clock);
    pthread_condattr_destroy(&by_steady_clock);
}

static void wait_for(weft_signal *signal, weft_lock *lock, int64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += until.tv_nsec;
    until.tv_sec += (time_t)(ns / NS);
    until.tv_nsec = (long)(ns % NS);
    pthread_cond_timedwait(signal, lock, &until);
}
#endif

void weft_signal_wait(weft_signal *signal, weft_lock *lock, int64_t ns)
{
    if (ns < 0)
        pthread_cond_wait(signal, lock);
    else
        wait_for(signal, lock, ns);
}

double weft_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static pthread_once_t watched = PTHREAD_ONCE_INIT;
static void (*_Atomic of_children)(void);

static void watch(void)
{
    pthread_atfork(NULL, NULL, of_children);
}

void weft_os_forks_watch(void (*in_child)(void))
{
    of_children = in_child;
    pthread_once(&watched, watch);
}

#ifdef __APPLE__
uint64_t weft_os_cache_bytes(int level)
{
    static const char *const names[] = {"hw.l1dcachesize", "hw.l2cachesize", "hw.l3cachesize"};
    int64_t bytes = 0;
    size_t size = sizeof(bytes);
    if (sysctlbyname(names[level - 1], &bytes, &size, NULL, 0) != 0 || bytes < 0)
        return 0;
    return (uint64_t)bytes;
}
#else
// Some C libraries know the caches of a core. What they say of the last level is of all cores on
// some machines, of one on others.
uint64_t weft_os_cache_bytes(int level)
{
    long bytes = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE
    if (level == 1)
        bytes = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
#ifdef _SC_LEVEL2_CACHE_SIZE
    if (level == 2)
        bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    (void)level;
    return bytes > 0 ? (uint64_t)bytes : 0;
}
#endif

void weft_os_error_text(int code, char *text, size_t size)
{
    if (strerror_r(code, text, size) != 0)
        snprintf(text, size, "error %d", code);
}

size_t weft_os_root_length(const char *path)
{
    return path[0] == '/';
}

bool weft_os_is_separator(char c)
{
    return c == '/';
}

// By the XDG specification a path that is not absolute is ignored.
#ifdef __APPLE__
const weft_os_place weft_os_cache_places[] = {
    {"XDG_CACHE_HOME", "/weft"}, {"HOME", "/Library/Caches/weft"}, {NULL, NULL}};
#else
const weft_os_place weft_os_cache_places[] = {
    {"XDG_CACHE_HOME", "/weft"}, {"HOME", "/.cache/weft"}, {NULL, NULL}};
#endif

int weft_os_folder_make(const char *path)
{
    return mkdir(path, S_IRWXU) == 0 || errno == EEXIST ? 0 : errno;
}

struct weft_folder {
    int file;
};

static bool is_only_ours(const struct stat *info)
{
    return info->st_uid == geteuid() && !(info->st_mode & (S_IWGRP | S_IWOTH));
}

static int directory_open(const char *path, weft_trouble *trouble)
{
    const int file = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (file < 0) {
        const int code = errno;
        const bool is_link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
        if (is_link)
            *trouble = (weft_trouble){"is a symbolic link, which is not followed", 0};
        else if (code != ENOENT)
            *trouble = (weft_trouble){"is not a folder that can be opened", code};
        return -1;
    }
    if (fstat(file, &info) == 0 && is_only_ours(&info))
        return file;
    trouble->words = "belongs to somebody else or may be written by others";
    close(file);
    return -1;
}

weft_folder *weft_folder_open(const char *path, weft_trouble *trouble)
{
    *trouble = (weft_trouble){0};
    weft_folder *folder = malloc(sizeof(*folder));
    if (!folder) {
        trouble->words = "cannot be opened without memory";
        return NULL;
    }
    folder->file = directory_open(path, trouble);
    if (folder->file >= 0)
        return folder;
    free(folder);
    return NULL;
}

void weft_folder_close(weft_folder *folder)
{
    close(folder->file);
    free(folder);
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

bool weft_folder_read(weft_folder *folder, const char *name, uint64_t max_bytes, weft_blob *out)
{
    struct stat info;
    unsigned char *data = NULL;
    bool is_read = false;
    // Non-blocking: a pipe of that name must not block.
    const int file = openat(folder->file, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || !is_only_ours(&info) ||
        info.st_size <= 0 || (uint64_t)info.st_size > max_bytes ||
        (uint64_t)info.st_size > SIZE_MAX)
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

bool weft_folder_create(weft_folder *folder, const char *name, const weft_blob *bytes, bool *exists,
                        weft_trouble *trouble)
{
    const int file =
        openat(folder->file, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
               S_IRUSR | S_IWUSR);
    *exists = file < 0 && errno == EEXIST;
    *trouble = (weft_trouble){"a file cannot be created", errno};
    if (file < 0)
        return false;
    const bool is_whole = write_all(file, bytes->data, bytes->size);
    *trouble = (weft_trouble){"a file cannot be written", errno};
    const bool is_closed = close(file) == 0;
    if (is_whole && is_closed)
        return true;
    if (is_whole)
        trouble->code = errno;
    weft_folder_remove(folder, name);
    return false;
}

bool weft_folder_rename(weft_folder *folder, const char *from, const char *to,
                        weft_trouble *trouble)
{
    if (renameat(folder->file, from, folder->file, to) == 0)
        return true;
    *trouble = (weft_trouble){"a file cannot be renamed", errno};
    return false;
}

void weft_folder_remove(weft_folder *folder, const char *name)
{
    unlinkat(folder->file, name, 0);
}

static bool look_at(int folder, const char *name, weft_folder_file *out)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return false;
#ifdef __APPLE__
    const struct timespec used = info.st_mtimespec;
#else
    const struct timespec used = info.st_mtim;
#endif
    *out = (weft_folder_file){name, (uint64_t)info.st_size, (int64_t)used.tv_sec,
                              (int32_t)used.tv_nsec};
    return true;
}

void weft_folder_each(weft_folder *folder,
                      void (*visit)(void *user, weft_folder *folder, const weft_folder_file *file),
                      void *user)
{
    // A separate description: readdir() moves the position, and closedir() closes.
    const int copy = openat(folder->file, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy < 0 ? NULL : fdopendir(copy);
    if (!stream) {
        if (copy >= 0)
            close(copy);
        return;
    }
    weft_folder_file file;
    for (const struct dirent *d; (d = readdir(stream));)
        if (look_at(folder->file, d->d_name, &file))
            visit(user, folder, &file);
    closedir(stream);
}

long weft_os_process(void)
{
    return (long)getpid();
}
