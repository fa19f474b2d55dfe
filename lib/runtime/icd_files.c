// SPDX-License-Identifier: Apache-2.0
// The folder of .icd files, whose first line names the library of a driver.
#define _POSIX_C_SOURCE 200809L
#include "runtime/icd.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usual_folder[] = "/etc/OpenCL/vendors";

// The variable that changes the loader's folder; NULL if none is set.
static const char *variable_that_counts(void)
{
    static const char *const names[] = {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value && value[0] != '\0')
            return names[i];
    }
    return NULL;
}

static bool is_icd(const char *name)
{
    const size_t length = strlen(name);
    return length >= 4 && strcmp(name + length - 4, ".icd") == 0;
}

// The first line of the file, as the loader reads it; from malloc(), NULL with errno 0 if it has
// none.
static char *read_library(const char *path)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    errno = 0;
    const ssize_t length = getline(&line, &room, file);
    const int code = errno;
    fclose(file);
    errno = code;
    if (length > 0) {
        line[strcspn(line, "\n")] = '\0';
        return line;
    }
    free(line);
    return NULL;
}

static const char *reason_of(int code, char *text, size_t size)
{
    return strerror_r(code, text, size) == 0 ? text : "unknown error";
}

static bool ends_in_return(const char *line)
{
    const size_t length = strlen(line);
    return length > 0 && line[length - 1] == '\r';
}

// Describes what is wrong with the driver's library; whether it cannot be loaded. The reason of
// dlerror() has the library's name.
static bool explain_library(const char *path, const char *library, char *text, size_t size)
{
    void *driver = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    const char *reason = driver ? NULL : dlerror();
    if (driver) {
        snprintf(text, size, "%.200s names %.100s, which has no platform", path, library);
        dlclose(driver);
    } else if (ends_in_return(library)) {
        snprintf(text, size, "%.200s ends its line in CR LF, and so the library's name in CR",
                 path);
    } else {
        snprintf(text, size, "%.200s names a library that cannot be loaded (%.200s)", path,
                 reason ? reason : library);
    }
    return !driver;
}

// Describes what is wrong with the driver that the file names; whether it cannot be loaded.
static bool explain_file(const char *path, char *text, size_t size)
{
    char reason[64];
    char *library = read_library(path);
    bool is_broken = true;
    if (!library && errno != 0)
        snprintf(text, size, "%.200s cannot be read (%s)", path,
                 reason_of(errno, reason, sizeof(reason)));
    else if (!library || library[0] == '\0')
        snprintf(text, size, "%.200s names no library", path);
    else
        is_broken = explain_library(path, library, text, size);
    free(library);
    return is_broken;
}

// Of the first .icd file whose driver cannot be loaded, or of the last: drivers of GPUs load, and
// have no platform, if their GPU is missing.
static void explain_folder(DIR *folder, const char *path, char *text, size_t size)
{
    char file[PATH_MAX];
    bool is_broken = false;
    snprintf(text, size, "no .icd file is there");
    for (const struct dirent *d; !is_broken && (d = readdir(folder));)
        if (is_icd(d->d_name)) {
            snprintf(file, sizeof(file), "%s/%s", path, d->d_name);
            is_broken = explain_file(file, text, size);
        }
}

static void explain_place(const char *path, char *text, size_t size)
{
    DIR *folder = opendir(path);
    const int error = errno;
    char reason[64];
    if (folder) {
        explain_folder(folder, path, text, size);
        closedir(folder);
    } else if (error == ENOTDIR && is_icd(path)) {
        explain_file(path, text, size);
    } else {
        snprintf(text, size, "that is no folder that can be read (%s)",
                 reason_of(error, reason, sizeof(reason)));
    }
}

void weft_icd_explain(char *text, size_t size)
{
    const char *variable = variable_that_counts();
    const char *path = variable ? getenv(variable) : usual_folder;
    static const char advice[] =
        "install a driver, such as the package pocl-opencl-icd of Debian and Ubuntu for CPUs";
    char trouble[600];
    explain_place(path, trouble, sizeof(trouble));
    if (variable)
        snprintf(text, size, "the loader looks in %s=%.200s, but %s; unset %s, or %s", variable,
                 path, trouble, variable, advice);
    else
        snprintf(text, size, "the loader looks in %s, but %s; %s", path, trouble, advice);
}
