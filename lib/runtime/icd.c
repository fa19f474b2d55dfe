// SPDX-License-Identifier: Apache-2.0
// The folder of .icd files, each of which names the library of a driver in its first line.
#define _POSIX_C_SOURCE 200809L
#include "runtime/icd.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usual_folder[] = "/etc/OpenCL/vendors";

// The variable that sends the loader elsewhere; NULL where none is set.
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

// The first line of the file; "" where it has none.
static void read_library(const char *path, char *library, int size)
{
    library[0] = '\0';
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    if (!fgets(library, size, file))
        library[0] = '\0';
    fclose(file);
    library[strcspn(library, "\r\n")] = '\0';
}

// What is wrong with the driver that the file names; whether it cannot be loaded. The reason that
// dlerror() gives has the library's name.
static bool explain_file(const char *path, char *text, size_t size)
{
    char library[256];
    read_library(path, library, sizeof(library));
    void *driver = library[0] != '\0' ? dlopen(library, RTLD_LAZY | RTLD_LOCAL) : NULL;
    const char *reason = driver || library[0] == '\0' ? NULL : dlerror();
    if (driver) {
        snprintf(text, size, "%.200s names %.100s, which has no platform", path, library);
        dlclose(driver);
    } else if (library[0] == '\0') {
        snprintf(text, size, "%.200s names no library", path);
    } else {
        snprintf(text, size, "%.200s names a library that cannot be loaded (%.200s)", path,
                 reason ? reason : library);
    }
    return !driver;
}

// Of the first .icd file there whose driver cannot be loaded, or of the last: drivers of GPUs load
// and have no platform where their GPU is missing.
static void explain_folder(DIR *folder, const char *path, char *text, size_t size)
{
    char file[512];
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
    char reason[64] = "unknown error";
    if (folder) {
        explain_folder(folder, path, text, size);
        closedir(folder);
    } else if (error == ENOTDIR && is_icd(path)) {
        explain_file(path, text, size);
    } else {
        strerror_r(error, reason, sizeof(reason));
        snprintf(text, size, "that folder cannot be read (%s)", reason);
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
