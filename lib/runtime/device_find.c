// SPDX-License-Identifier: Apache-2.0
// Choosing among the devices of all platforms, by name and by kind.
#include "runtime/device_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/icd.h"

typedef struct search {
    const char *text; // "" matches every device
    weft_found_device best;
    int best_rank;     // 0: none yet
    cl_int code;       // of the last platform that gave no answer
    char listing[700]; // "PLATFORM (VENDOR): DEVICE; ...", as much as fits
    size_t length;
    bool has_idle_pocl, has_idle_rusticl; // the platform exists, but has no device
} search;

static int rank_of(cl_device_id device)
{
    cl_device_type type = 0;
    if (clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL) != CL_SUCCESS)
        return 1;
    return type & CL_DEVICE_TYPE_GPU           ? 4
           : type & CL_DEVICE_TYPE_ACCELERATOR ? 3
           : type & CL_DEVICE_TYPE_CPU         ? 2
                                               : 1;
}

static void list(search *s, const char *platform, const char *vendor, const char *device)
{
    const size_t space = sizeof(s->listing) - s->length;
    const int length = snprintf(s->listing + s->length, space, "%s%s (%s): %s",
                                s->length ? "; " : "", platform, vendor, device);
    if (length > 0 && (size_t)length < space)
        s->length += (size_t)length;
    else
        s->listing[s->length] = '\0';
}

static weft_status consider(search *s, cl_platform_id platform, cl_device_id device)
{
    char *platform_name = weft_platform_text(platform, CL_PLATFORM_NAME);
    char *vendor = weft_platform_text(platform, CL_PLATFORM_VENDOR);
    char *device_name = weft_device_text(device, CL_DEVICE_NAME);
    weft_status status = WEFT_OK;
    if (!platform_name || !vendor || !device_name) {
        status = fail(WEFT_NO_MEMORY, "context: no memory for the name of a device");
        goto done;
    }
    list(s, platform_name, vendor, device_name);
    const int rank = rank_of(device);
    if (rank > s->best_rank &&
        (text_contains(platform_name, s->text) || text_contains(vendor, s->text) ||
         text_contains(device_name, s->text))) {
        s->best = (weft_found_device){platform, device};
        s->best_rank = rank;
    }

done:
    free(platform_name);
    free(vendor);
    free(device_name);
    return status;
}

// False, and recorded, if the platform gives no answer; having no devices is one.
static bool query_devices(search *s, cl_platform_id platform, cl_uint room, cl_device_id *out,
                          cl_uint *n)
{
    const cl_int code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, room, out, n);
    if (code != CL_SUCCESS && code != CL_DEVICE_NOT_FOUND)
        s->code = code;
    return code == CL_SUCCESS;
}

static void note_without_devices(search *s, cl_platform_id platform)
{
    char *name = weft_platform_text(platform, CL_PLATFORM_NAME);
    s->has_idle_rusticl = s->has_idle_rusticl || (name && text_contains(name, "rusticl"));
    s->has_idle_pocl = s->has_idle_pocl || (name && text_contains(name, "Portable Computing"));
    free(name);
}

// A platform that has no devices, or does not answer, is skipped.
static weft_status consider_platform(search *s, cl_platform_id platform)
{
    cl_uint n = 0;
    if (!query_devices(s, platform, 0, NULL, &n) || n == 0) {
        note_without_devices(s, platform);
        return WEFT_OK;
    }
    cl_device_id *devices = calloc(n, sizeof(*devices));
    if (!devices)
        return fail(WEFT_NO_MEMORY, "context: no memory for a list of %u devices", n);
    weft_status status = WEFT_OK;
    if (query_devices(s, platform, n, devices, NULL))
        for (cl_uint i = 0; i < n && status == WEFT_OK; i++)
            status = consider(s, platform, devices[i]);
    free(devices);
    return status;
}

static weft_status refuse_without_platforms(void)
{
    char why[900];
    weft_icd_explain(why, sizeof(why));
    return fail(WEFT_NO_DEVICE, "context: no OpenCL platform is found: %s", why);
}

static weft_status consider_all(search *s)
{
    cl_uint n = 0;
    const cl_int code = clGetPlatformIDs(0, NULL, &n);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (code == CL_SUCCESS && n == 0))
        return refuse_without_platforms();
    TRY(weft_cl_check(code, "context", "clGetPlatformIDs"));
    cl_platform_id *platforms = calloc(n, sizeof(cl_platform_id));
    if (!platforms)
        return fail(WEFT_NO_MEMORY, "context: no memory for a list of %u platforms", n);
    weft_status status =
        weft_cl_check(clGetPlatformIDs(n, platforms, NULL), "context", "clGetPlatformIDs");
    for (cl_uint i = 0; i < n && status == WEFT_OK; i++)
        status = consider_platform(s, platforms[i]);
    free(platforms);
    return status;
}

// An advice for the end of a refusal; "" if there is none.
static const char *hint(const search *s)
{
    if (s->has_idle_pocl)
        return "; PoCL shows none where it cannot write to its cache: set HOME, or POCL_CACHE_DIR, "
               "to a folder of yours";
    return s->has_idle_rusticl ? "; Mesa's rusticl shows a device where the environment has "
                                 "RUSTICL_ENABLE=llvmpipe (the CPU), or a GPU's driver in its place"
                               : "";
}

static weft_status refuse(const search *s, const char *variable)
{
    if (s->length == 0 && s->code != CL_SUCCESS)
        return weft_cl_check(s->code, "context", "clGetDeviceIDs");
    if (s->length == 0)
        return fail(WEFT_NO_DEVICE, "context: no OpenCL platform here has a device%s", hint(s));
    return fail(WEFT_NO_DEVICE,
                "context: no device is named like %s\"%.80s\"; there are: %s; any part of a name "
                "will do%s",
                variable, s->text, s->listing, hint(s));
}

weft_status weft_device_find(const char *text, weft_found_device *out)
{
    const char *wanted = text ? text : getenv("WEFT_DEVICE");
    search s = {.text = wanted ? wanted : ""};
    TRY(consider_all(&s));
    if (s.best_rank == 0)
        return refuse(&s, text ? "" : "WEFT_DEVICE=");
    *out = s.best;
    return WEFT_OK;
}
