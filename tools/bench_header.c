// SPDX-License-Identifier: Apache-2.0
// The header of a bench's JSON.
#include "bench_header.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <weft/weft.h>

#include "report.h"

typedef struct header_texts {
    char date[32], system[160], platform[256], driver[256];
} header_texts;

static void describe_host(header_texts *out)
{
    const time_t now = time(NULL);
    struct tm utc;
    struct utsname host;
    if (gmtime_r(&now, &utc) == NULL || strftime(out->date, sizeof(out->date), "%F", &utc) == 0)
        snprintf(out->date, sizeof(out->date), "unknown");
    if (uname(&host) == 0)
        snprintf(out->system, sizeof(out->system), "%.32s %.80s %.32s", host.sysname, host.release,
                 host.machine);
}

static void describe_device(header_texts *out, cl_device_id device)
{
    cl_platform_id platform = NULL;
    char name[128] = "", version[120] = "";
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name) - 1, name, NULL);
    clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
    snprintf(out->platform, sizeof(out->platform), "%s, %s", name, version);
    clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof(out->driver) - 1, out->driver, NULL);
}

json_t *bench_header_json(const weft_context *ctx)
{
    header_texts texts = {.system = "unknown"};
    describe_host(&texts);
    describe_device(&texts, weft_context_device(ctx));
    return json_pack("{s: s, s: s, s: s, s: o, s: o, s: o, s: I}", "from", "weft bench", "date",
                     texts.date, "weft", weft_version(), "platform", report_text(texts.platform),
                     "driver", report_text(texts.driver), "system", report_text(texts.system),
                     "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN));
}
