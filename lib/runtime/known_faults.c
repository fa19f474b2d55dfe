// SPDX-License-Identifier: Apache-2.0
// Implementations, by name and version, whose faults cannot be tested by a trial.
#include "runtime/known_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Processors with AVX-512 that LLVM 14, the last one of PoCL before 3.1, knows by name.
static bool has_avx512(const char *processor)
{
    static const char *const names[] = {
        "avx512",    "cascadelake", "cooperlake",     "cannonlake", "icelake",
        "tigerlake", "rocketlake",  "sapphirerapids", "knl",        "knm",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strstr(processor, names[i]))
            return true;
    return false;
}

// LLVM's name for an unknown processor.
static bool is_any_processor(const char *processor)
{
    const char *end = strrchr(processor, '-');
    return strstr(processor, "x86-64") || strcmp(end ? end + 1 : processor, "generic") == 0;
}

static bool is_before(const char *version, int major, int minor)
{
    int a, b;
    return sscanf(version, "%d.%d", &a, &b) == 2 && (a < major || (a == major && b < minor));
}

// Up to 3.0 PoCL compiles for the processor that its compiler knows, and uses built-in functions
// that were compiled for the best instructions of the real one. If only the latter has registers of
// 64 bytes (Zen 4 is Zen 3 to LLVM 14), the compiler hangs on vectors, or ends the process.
static bool mixes_vectors(const char *device_version, const char *driver_version, int width)
{
    static const char mark[] = "PoCL HSTR: ";
    const char *processor = strstr(device_version, mark);
    if (!processor || !is_before(driver_version, 3, 1))
        return false;
    processor += sizeof(mark) - 1;
    return width >= 16 ? !has_avx512(processor) : width > 4 && is_any_processor(processor);
}

unsigned weft_known_faults(cl_device_id device, int width)
{
    char *version = weft_device_text(device, CL_DEVICE_VERSION);
    char *driver = weft_device_text(device, CL_DRIVER_VERSION);
    const bool mixes = version && driver && mixes_vectors(version, driver, width);
    free(version);
    free(driver);
    return mixes ? WEFT_TRIAL_VECTORS : 0U;
}
