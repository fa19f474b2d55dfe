// SPDX-License-Identifier: Apache-2.0
// What the library needs of its host and C does not have: locks, a steady clock, the folder of a
// cache, names of folders, fork(), sizes of caches. Meson takes os_posix.c (Linux, macOS and other
// systems of POSIX) or os_windows.c, and no other file in lib/ asks for the host.
#ifndef WEFT_LIB_OS_H
#define WEFT_LIB_OS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"

// A lock that a thread takes once, and a signal that threads wait for under it.
#ifdef _WIN32
typedef struct weft_lock {
    void *state; // SRWLOCK
} weft_lock;
typedef struct weft_signal {
    void *state; // CONDITION_VARIABLE
} weft_signal;
#define WEFT_LOCK_INITIAL                                                                          \
    {                                                                                              \
        0                                                                                          \
    }
#else
#include <pthread.h>
typedef pthread_mutex_t weft_lock;
typedef pthread_cond_t weft_signal;
#define WEFT_LOCK_INITIAL PTHREAD_MUTEX_INITIALIZER
#endif

void weft_lock_create(weft_lock *lock);
void weft_lock_destroy(weft_lock *lock);
void weft_lock_take(weft_lock *lock);
void weft_lock_release(weft_lock *lock);

void weft_signal_create(weft_signal *signal);
void weft_signal_destroy(weft_signal *signal);
void weft_signal_send(weft_signal *signal); // to all that wait

// Waits with the lock open, for this many nanoseconds of the steady clock, or without an end if
// they are negative. May return earlier.
void weft_signal_wait(weft_signal *signal, weft_lock *lock, int64_t ns);

// Seconds since some moment, by a clock that never goes back.
double weft_clock(void);

// Calls in_child in each child that fork() makes from now on: the same one in all calls. Without
// memory, and on a host without fork(), it does nothing.
void weft_os_forks_watch(void (*in_child)(void));

// Bytes of a core's data cache of level 1 or 2, or of the last level (3), as the system says; 0 if
// it does not.
uint64_t weft_os_cache_bytes(int level);

// A problem in words, and the system's number for it, or 0.
typedef struct weft_trouble {
    const char *words;
    int code;
} weft_trouble;

// The system's words for that number.
void weft_os_error_text(int code, char *text, size_t size);

// "/", "C:\" and the like at the beginning of an absolute path; 0 of any other.
size_t weft_os_root_length(const char *path);
bool weft_os_is_separator(char c);

// Where caches are by the custom of the host: below the folder that a variable names by an absolute
// path, if it does. The last has NULL.
typedef struct weft_os_place {
    const char *variable, *below;
} weft_os_place;
extern const weft_os_place weft_os_cache_places[];

// Creates one folder, for its owner alone. Returns 0, also if it exists, or the system's number.
int weft_os_folder_make(const char *path);

// An open folder: the same one until it is closed, whatever its path then names.
typedef struct weft_folder weft_folder;

// NULL sets *trouble, with NULL words if the folder does not exist. Refuses a link, and a folder
// that belongs to another user or that others may write to.
weft_folder *weft_folder_open(const char *path, weft_trouble *trouble);
void weft_folder_close(weft_folder *folder);

// Files of the folder, by their names there. No link is followed.

// Reads a whole file; false if it does not exist, is not a regular file of the user, is empty, or
// has more than max_bytes. Marks the file as used now.
bool weft_folder_read(weft_folder *folder, const char *name, uint64_t max_bytes, weft_blob *out);

// Creates a file with these bytes; false sets *trouble. A file of this name is an error that
// sets *exists; a file that could not be written is removed.
bool weft_folder_create(weft_folder *folder, const char *name, const weft_blob *bytes, bool *exists,
                        weft_trouble *trouble);

// Replaces a file that has the new name.
bool weft_folder_rename(weft_folder *folder, const char *from, const char *to,
                        weft_trouble *trouble);
void weft_folder_remove(weft_folder *folder, const char *name);

// A regular file.
typedef struct weft_folder_file {
    const char *name;
    uint64_t bytes;
    int64_t used_s;  // when it was last read or written: seconds since 1970
    int32_t used_ns; // and nanoseconds
} weft_folder_file;

void weft_folder_each(weft_folder *folder,
                      void (*visit)(void *user, weft_folder *folder, const weft_folder_file *file),
                      void *user);

long weft_os_process(void);

#endif
