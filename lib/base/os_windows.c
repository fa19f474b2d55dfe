// SPDX-License-Identifier: Apache-2.0
// Windows, from 7 on. Paths are in the process's code page, as those of fopen() and getenv().
#include "base/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <aclapi.h>
#include <windows.h>

_Static_assert(sizeof(weft_lock) == sizeof(SRWLOCK), "a lock is an SRWLOCK");
_Static_assert(sizeof(weft_signal) == sizeof(CONDITION_VARIABLE),
               "a signal is a CONDITION_VARIABLE");

void weft_lock_create(weft_lock *lock)
{
    InitializeSRWLock((SRWLOCK *)lock);
}

void weft_lock_destroy(weft_lock *lock)
{
    (void)lock;
}

void weft_lock_take(weft_lock *lock)
{
    AcquireSRWLockExclusive((SRWLOCK *)lock);
}

void weft_lock_release(weft_lock *lock)
{
    ReleaseSRWLockExclusive((SRWLOCK *)lock);
}

void weft_signal_create(weft_signal *signal)
{
    InitializeConditionVariable((CONDITION_VARIABLE *)signal);
}

void weft_signal_destroy(weft_signal *signal)
{
    (void)signal;
}

void weft_signal_send(weft_signal *signal)
{
    WakeAllConditionVariable((CONDITION_VARIABLE *)signal);
}

// The system counts milliseconds.
void weft_signal_wait(weft_signal *signal, weft_lock *lock, int64_t ns)
{
    const int64_t ms = ns / 1000000 + 1;
    const DWORD wait = ns < 0 || ms >= INFINITE ? INFINITE : (DWORD)ms;
    SleepConditionVariableSRW((CONDITION_VARIABLE *)signal, (SRWLOCK *)lock, wait, 0);
}

double weft_clock(void)
{
    LARGE_INTEGER now, each_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&each_second);
    return (double)now.QuadPart / (double)each_second.QuadPart;
}

void weft_os_forks_watch(void (*in_child)(void))
{
    (void)in_child;
}

uint64_t weft_os_cache_bytes(int level)
{
    uint64_t most = 0;
    DWORD size = 0;
    GetLogicalProcessorInformation(NULL, &size);
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION *parts = size > 0 ? malloc(size) : NULL;
    const size_t n =
        parts && GetLogicalProcessorInformation(parts, &size) ? size / sizeof(*parts) : 0;
    for (size_t i = 0; i < n; i++)
        if (parts[i].Relationship == RelationCache && parts[i].Cache.Level == level &&
            parts[i].Cache.Type != CacheInstruction && parts[i].Cache.Size > most)
            most = parts[i].Cache.Size;
    free(parts);
    return most;
}

void weft_os_error_text(int code, char *text, size_t size)
{
    DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                                  (DWORD)code, MAKELANGID(LANG_NEUTRAL, SUBLANG_DEFAULT), text,
                                  (DWORD)size, NULL);
    if (length == 0)
        snprintf(text, size, "error %d", code);
    while (length > 0 && strchr("\r\n. ", text[length - 1]))
        text[--length] = '\0';
}

bool weft_os_is_separator(char c)
{
    return c == '/' || c == '\\';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

// "C:\", or "\\" before the name of a server.
size_t weft_os_root_length(const char *path)
{
    if (is_letter(path[0]) && path[1] == ':' && weft_os_is_separator(path[2]))
        return 3;
    return weft_os_is_separator(path[0]) && weft_os_is_separator(path[1]) ? 2 : 0;
}

const weft_os_place weft_os_cache_places[] = {
    {"XDG_CACHE_HOME", "\\weft"}, {"LOCALAPPDATA", "\\weft\\cache"}, {NULL, NULL}};

int weft_os_folder_make(const char *path)
{
    if (CreateDirectoryA(path, NULL))
        return 0;
    const DWORD code = GetLastError();
    return code == ERROR_ALREADY_EXISTS ? 0 : (int)code;
}

// While the handle is open, nobody can rename or remove the folder: others may read and write in
// it alone. So its path, which operations use, names the same folder.
struct weft_folder {
    HANDLE handle;
    char path[];
};

// This process's user; from malloc().
static TOKEN_USER *user_of_process(void)
{
    HANDLE token;
    DWORD size = 0;
    if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
        return NULL;
    GetTokenInformation(token, TokenUser, NULL, 0, &size);
    TOKEN_USER *user = size > 0 ? malloc(size) : NULL;
    if (user && !GetTokenInformation(token, TokenUser, user, size, &size)) {
        free(user);
        user = NULL;
    }
    CloseHandle(token);
    return user;
}

// The user, and those who may change everything in any case.
static bool is_trusted(PSID who, PSID user)
{
    return EqualSid(who, user) || IsWellKnownSid(who, WinLocalSystemSid) ||
           IsWellKnownSid(who, WinBuiltinAdministratorsSid) ||
           IsWellKnownSid(who, WinCreatorOwnerSid);
}

static bool may_write(ACCESS_MASK mask)
{
    return mask & (FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC |
                   WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL);
}

// Entries of other kinds than these two are refused: there are none in ordinary folders.
static bool only_trusted_write(ACL *list, PSID user)
{
    for (DWORD i = 0; list && i < list->AceCount; i++) {
        void *entry;
        if (!GetAce(list, i, &entry))
            return false;
        const ACE_HEADER *head = entry;
        if (head->AceType == ACCESS_DENIED_ACE_TYPE)
            continue;
        if (head->AceType != ACCESS_ALLOWED_ACE_TYPE)
            return false;
        ACCESS_ALLOWED_ACE *allowed = entry;
        if (may_write(allowed->Mask) && !is_trusted(&allowed->SidStart, user))
            return false;
    }
    return list != NULL; // without a list anybody may do anything
}

// What an administrator creates may belong to the administrators.
static bool is_only_ours(HANDLE file)
{
    PSID owner;
    ACL *list;
    PSECURITY_DESCRIPTOR whole = NULL;
    TOKEN_USER *user = user_of_process();
    const bool is_ours =
        user &&
        GetSecurityInfo(file, SE_FILE_OBJECT,
                        OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, NULL, &list,
                        NULL, &whole) == ERROR_SUCCESS &&
        (EqualSid(owner, user->User.Sid) || IsWellKnownSid(owner, WinBuiltinAdministratorsSid)) &&
        only_trusted_write(list, user->User.Sid);
    LocalFree(whole);
    free(user);
    return is_ours;
}

static HANDLE directory_open(const char *path, weft_trouble *trouble)
{
    const HANDLE handle =
        CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_EXISTING,
                    FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    BY_HANDLE_FILE_INFORMATION info;
    if (handle == INVALID_HANDLE_VALUE) {
        const DWORD code = GetLastError();
        if (code != ERROR_FILE_NOT_FOUND && code != ERROR_PATH_NOT_FOUND)
            *trouble = (weft_trouble){"is not a folder that can be opened", (int)code};
        return handle;
    }
    if (!GetFileInformationByHandle(handle, &info) ||
        !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
        *trouble = (weft_trouble){"is not a folder that can be opened", ERROR_DIRECTORY};
    else if (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)
        trouble->words = "is a symbolic link, which is not followed";
    else if (!is_only_ours(handle))
        trouble->words = "belongs to somebody else or may be written by others";
    else
        return handle;
    CloseHandle(handle);
    return INVALID_HANDLE_VALUE;
}

weft_folder *weft_folder_open(const char *path, weft_trouble *trouble)
{
    const size_t size = strlen(path) + 1;
    *trouble = (weft_trouble){0};
    weft_folder *folder = malloc(sizeof(*folder) + size);
    if (!folder) {
        trouble->words = "cannot be opened without memory";
        return NULL;
    }
    memcpy(folder->path, path, size);
    folder->handle = directory_open(path, trouble);
    if (folder->handle != INVALID_HANDLE_VALUE)
        return folder;
    free(folder);
    return NULL;
}

void weft_folder_close(weft_folder *folder)
{
    CloseHandle(folder->handle);
    free(folder);
}

typedef struct full_path {
    char text[1024];
} full_path;

// False if it is too long.
static bool path_in(const weft_folder *folder, const char *name, full_path *out)
{
    const int length = snprintf(out->text, sizeof(out->text), "%s\\%s", folder->path, name);
    return length > 0 && (size_t)length < sizeof(out->text);
}

static bool read_all(HANDLE file, unsigned char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const size_t part = size - done < 1 << 30 ? size - done : 1 << 30;
        DWORD n;
        if (!ReadFile(file, data + done, (DWORD)part, &n, NULL) || n == 0)
            return false;
        done += n;
    }
    return true;
}

static bool write_all(HANDLE file, const unsigned char *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const size_t part = size - done < 1 << 30 ? size - done : 1 << 30;
        DWORD n;
        if (!WriteFile(file, data + done, (DWORD)part, &n, NULL))
            return false;
        done += n;
    }
    return true;
}

static bool is_regular(DWORD attributes)
{
    return !(attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT));
}

// The bytes of a file that may be read; 0 for others.
static uint64_t readable_bytes(HANDLE file)
{
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileType(file) != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &info) ||
        !is_regular(info.dwFileAttributes) || !is_only_ours(file))
        return 0;
    return (uint64_t)info.nFileSizeHigh << 32 | info.nFileSizeLow;
}

bool weft_folder_read(weft_folder *folder, const char *name, uint64_t max_bytes, weft_blob *out)
{
    full_path path;
    FILETIME now;
    if (!path_in(folder, name, &path))
        return false;
    const HANDLE file = CreateFileA(path.text, GENERIC_READ | FILE_WRITE_ATTRIBUTES,
                                    FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                    OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    const uint64_t bytes = readable_bytes(file);
    unsigned char *data =
        bytes > 0 && bytes <= max_bytes && bytes <= SIZE_MAX ? malloc((size_t)bytes) : NULL;
    const bool is_read = data && read_all(file, data, (size_t)bytes);
    if (is_read) {
        GetSystemTimeAsFileTime(&now);
        SetFileTime(file, NULL, NULL, &now);
        *out = (weft_blob){data, (size_t)bytes};
    } else {
        free(data);
    }
    CloseHandle(file);
    return is_read;
}

bool weft_folder_create(weft_folder *folder, const char *name, const weft_blob *bytes, bool *exists,
                        weft_trouble *trouble)
{
    full_path path;
    *exists = false;
    *trouble = (weft_trouble){"a file cannot be created", ERROR_FILENAME_EXCED_RANGE};
    if (!path_in(folder, name, &path))
        return false;
    const HANDLE file = CreateFileA(path.text, GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE,
                                    NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
    const DWORD code = GetLastError();
    if (file == INVALID_HANDLE_VALUE) {
        *exists = code == ERROR_FILE_EXISTS;
        trouble->code = (int)code;
        return false;
    }
    const bool is_whole = write_all(file, bytes->data, bytes->size);
    *trouble = (weft_trouble){"a file cannot be written", (int)GetLastError()};
    CloseHandle(file);
    if (!is_whole)
        DeleteFileA(path.text);
    return is_whole;
}

bool weft_folder_rename(weft_folder *folder, const char *from, const char *to,
                        weft_trouble *trouble)
{
    full_path old, new;
    *trouble = (weft_trouble){"a file cannot be renamed", ERROR_FILENAME_EXCED_RANGE};
    if (!path_in(folder, from, &old) || !path_in(folder, to, &new))
        return false;
    if (MoveFileExA(old.text, new.text, MOVEFILE_REPLACE_EXISTING))
        return true;
    trouble->code = (int)GetLastError();
    return false;
}

void weft_folder_remove(weft_folder *folder, const char *name)
{
    full_path path;
    if (path_in(folder, name, &path))
        DeleteFileA(path.text);
}

// The system counts 100 ns from 1601 on.
static weft_folder_file file_of(const WIN32_FIND_DATAA *found)
{
    const int64_t to_1970 = 11644473600;
    const uint64_t ticks = (uint64_t)found->ftLastWriteTime.dwHighDateTime << 32 |
                           found->ftLastWriteTime.dwLowDateTime;
    return (weft_folder_file){
        found->cFileName, (uint64_t)found->nFileSizeHigh << 32 | found->nFileSizeLow,
        (int64_t)(ticks / 10000000) - to_1970, (int32_t)(ticks % 10000000) * 100};
}

void weft_folder_each(weft_folder *folder,
                      void (*visit)(void *user, weft_folder *folder, const weft_folder_file *file),
                      void *user)
{
    full_path all;
    WIN32_FIND_DATAA found;
    if (!path_in(folder, "*", &all))
        return;
    const HANDLE search = FindFirstFileA(all.text, &found);
    if (search == INVALID_HANDLE_VALUE)
        return;
    do {
        const weft_folder_file file = file_of(&found);
        if (is_regular(found.dwFileAttributes))
            visit(user, folder, &file);
    } while (FindNextFileA(search, &found));
    FindClose(search);
}

long weft_os_process(void)
{
    return (long)GetCurrentProcessId();
}
