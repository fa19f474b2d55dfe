// SPDX-License-Identifier: Apache-2.0
// Windows, from 7 on. Paths are in the process's code page, as those of fopen() and getenv().
#include "base/os_file.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static int size_of(HANDLE file, size_t *size)
{
    LARGE_INTEGER bytes;
    if (GetFileType(file) != FILE_TYPE_DISK)
        return ERROR_NOT_SUPPORTED;
    if (!GetFileSizeEx(file, &bytes))
        return (int)GetLastError();
    if ((uint64_t)bytes.QuadPart > SIZE_MAX)
        return ERROR_FILE_TOO_LARGE;
    *size = (size_t)bytes.QuadPart;
    return 0;
}

// The mapping holds the file open.
static int map_all(weft_mapping *out, HANDLE file)
{
    const HANDLE whole = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
    if (!whole)
        return (int)GetLastError();
    out->bytes = MapViewOfFile(whole, FILE_MAP_READ, 0, 0, 0);
    const int code = out->bytes ? 0 : (int)GetLastError();
    CloseHandle(whole);
    return code;
}

int weft_os_map(weft_mapping *out, const char *path)
{
    *out = (weft_mapping){0};
    const HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL,
                                    OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return (int)GetLastError();
    int code = size_of(file, &out->size);
    if (code == 0 && out->size > 0) // an empty file cannot be mapped
        code = map_all(out, file);
    CloseHandle(file);
    return code;
}

void weft_os_unmap(weft_mapping *mapping)
{
    if (mapping->bytes)
        UnmapViewOfFile(mapping->bytes);
    *mapping = (weft_mapping){0};
}

// A new file "PATH.weft-PID-N", whose name goes to `name`.
static int create_beside(const char *path, char *name, size_t room)
{
    enum { MOST_NAMES = 100 };
    for (int n = 0; n < MOST_NAMES; n++) {
        snprintf(name, room, "%s.weft-%lu-%d", path, (unsigned long)GetCurrentProcessId(), n);
        const HANDLE file =
            CreateFileA(name, GENERIC_WRITE, 0, NULL, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, NULL);
        if (file != INVALID_HANDLE_VALUE) {
            CloseHandle(file);
            return 0;
        }
        if (GetLastError() != ERROR_FILE_EXISTS)
            return (int)GetLastError();
    }
    return ERROR_FILE_EXISTS;
}

static int errno_here(void)
{
    return errno == ENOSPC ? ERROR_DISK_FULL : ERROR_WRITE_FAULT;
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
    const DWORD attributes = GetFileAttributesA(path);
    *out = (weft_replacement){0};
    if (attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY))
        return ERROR_DIRECTORY;
    const size_t room = strlen(path) + MORE;
    out->place = malloc(room);
    out->name = malloc(room);
    int code = out->place && out->name ? 0 : ERROR_NOT_ENOUGH_MEMORY;
    if (code == 0) {
        memcpy(out->place, path, strlen(path) + 1);
        code = create_beside(path, out->name, room);
    }
    if (code == 0) {
        out->stream = fopen(out->name, "wb");
        if (!out->stream) {
            code = errno_here();
            DeleteFileA(out->name);
        }
    }
    if (code != 0)
        forget(out);
    return code;
}

int weft_os_replace_end(weft_replacement *r, bool is_written)
{
    int code = is_written ? 0 : errno_here();
    if (fclose(r->stream) != 0 && code == 0)
        code = errno_here();
    if (code == 0 && !MoveFileExA(r->name, r->place, MOVEFILE_REPLACE_EXISTING))
        code = (int)GetLastError();
    if (code != 0)
        DeleteFileA(r->name);
    forget(r);
    return code;
}

bool weft_os_is_no_memory(int code)
{
    return code == ERROR_NOT_ENOUGH_MEMORY || code == ERROR_OUTOFMEMORY ||
           code == ERROR_COMMITMENT_LIMIT;
}
