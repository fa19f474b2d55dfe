// SPDX-License-Identifier: Apache-2.0
// weft info: the OpenCL platforms and devices in weft's view, or the built-in profiles.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "facts.h"
#include "report.h"

typedef struct info_options {
    command_options common;
    bool profiles;
} info_options;

static const struct argp_option options[] = {
    {"profiles", 'p', NULL, 0, "List the built-in profiles of known devices instead", 0},
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    info_options *info = state->input;
    (void)argument;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &info->common;
        return 0;
    case 'p':
        info->profiles = true;
        return 0;
    case ARGP_KEY_END:
        if (info->profiles && info->common.device != NULL)
            argp_error(state, "--profiles excludes --device");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Output: text at once, or collected objects.
typedef struct device_listing {
    cl_device_id chosen; // weft's default, or the requested one
    bool only_chosen;
    json_t *platforms; // NULL for text
} device_listing;

static void platform_text(cl_platform_id platform, cl_platform_info what, char text[256])
{
    if (clGetPlatformInfo(platform, what, 255, text, NULL) != CL_SUCCESS)
        snprintf(text, 256, "unknown");
}

static void device_text(cl_device_id device, cl_device_info what, char text[256])
{
    if (clGetDeviceInfo(device, what, 255, text, NULL) != CL_SUCCESS)
        snprintf(text, 256, "unknown");
}

static json_t *device_json(cl_device_id device, const weft_limits *limits, bool is_chosen)
{
    char name[256] = "", version[256] = "", driver[256] = "";
    device_text(device, CL_DEVICE_NAME, name);
    device_text(device, CL_DEVICE_VERSION, version);
    device_text(device, CL_DRIVER_VERSION, driver);
    return json_pack("{s: o, s: o, s: o, s: b, s: o}", "name", report_text(name), "version",
                     report_text(version), "driver", report_text(driver), "chosen", is_chosen,
                     "limits", facts_json(limits));
}

static void print_device(cl_device_id device, const weft_limits *limits, bool is_chosen)
{
    char name[256] = "", version[256] = "", driver[256] = "";
    device_text(device, CL_DEVICE_NAME, name);
    device_text(device, CL_DEVICE_VERSION, version);
    device_text(device, CL_DRIVER_VERSION, driver);
    printf("  Device    %s%s\n            %s, driver %s\n", name,
           is_chosen ? "  (weft uses this one)" : "", version, driver);
    if (strncmp(limits->name, name, strlen(limits->name)) != 0) // WEFT_PROFILE names another one
        printf("            planned for as %s\n", limits->name);
    facts_print(limits, stdout);
    facts_print_geometry(limits, stdout);
}

// The limits of a context; for a device that allows none, the error.
static bool limits_of(cl_device_id device, weft_limits *out, complaint *why)
{
    cl_int code;
    weft_context *ctx = NULL;
    cl_context cl = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    if (code == CL_SUCCESS) {
        if (weft_context_create(&ctx, cl, device, NULL) == WEFT_OK)
            *out = *weft_context_limits(ctx);
        clReleaseContext(cl);
    }
    const bool is_known = ctx != NULL || weft_limits_query(device, out) == WEFT_OK;
    weft_context_destroy(&ctx);
    return is_known || complain_weft(why);
}

static bool list_device(const device_listing *listing, json_t *devices, cl_device_id device,
                        complaint *why)
{
    weft_limits limits;
    const bool is_chosen = device == listing->chosen;
    if (!limits_of(device, &limits, why))
        return false;
    if (devices != NULL)
        json_array_append_new(devices, device_json(device, &limits, is_chosen));
    else
        print_device(device, &limits, is_chosen);
    return true;
}

enum { MAX_DEVICES = 64 };

// Mesa shows only devices of drivers in the environment, PoCL none without a cache.
static void print_platform(const char *name, const char *vendor, const char *version,
                           bool has_devices)
{
    printf("Platform    %s (%s)\n            %s%s\n", name, vendor, version,
           has_devices ? "" : ", no devices");
    if (has_devices)
        return;
    if (strcmp(name, "rusticl") == 0)
        puts("            RUSTICL_ENABLE=llvmpipe in the environment shows the CPU");
    if (strcmp(name, "Portable Computing Language") == 0)
        puts("            HOME, or POCL_CACHE_DIR, must name a folder that you can write to");
}

static bool list_platform(const device_listing *listing, cl_platform_id platform, complaint *why)
{
    char name[256] = "", vendor[256] = "", version[256] = "";
    platform_text(platform, CL_PLATFORM_NAME, name);
    platform_text(platform, CL_PLATFORM_VENDOR, vendor);
    platform_text(platform, CL_PLATFORM_VERSION, version);

    cl_device_id devices[MAX_DEVICES];
    cl_uint n_devices = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &n_devices) !=
        CL_SUCCESS)
        n_devices = 0;
    json_t *list = listing->platforms != NULL ? json_array() : NULL;
    if (list == NULL)
        print_platform(name, vendor, version, n_devices > 0);
    bool done = true;
    for (cl_uint i = 0; done && i < n_devices && i < MAX_DEVICES; i++)
        if (!listing->only_chosen || devices[i] == listing->chosen)
            done = list_device(listing, list, devices[i], why);
    if (list != NULL)
        json_array_append_new(listing->platforms,
                              json_pack("{s: o, s: o, s: o, s: o}", "name", report_text(name),
                                        "vendor", report_text(vendor), "version",
                                        report_text(version), "devices", list));
    return done;
}

static cl_platform_id platform_of(cl_device_id device)
{
    cl_platform_id platform = NULL;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
    return platform;
}

static bool list_platforms(const device_listing *listing, complaint *why)
{
    cl_platform_id platforms[MAX_DEVICES];
    cl_uint n_platforms = 0;
    const cl_int code = clGetPlatformIDs(MAX_DEVICES, platforms, &n_platforms);
    if (code != CL_SUCCESS)
        return complain_cl(why, "clGetPlatformIDs", code);
    const cl_platform_id chosen = platform_of(listing->chosen);
    bool done = true;
    for (cl_uint i = 0; done && i < n_platforms && i < MAX_DEVICES; i++)
        if (!listing->only_chosen || platforms[i] == chosen)
            done = list_platform(listing, platforms[i], why);
    return done;
}

// There are platforms, but no device.
static bool lacks_devices(void)
{
    cl_platform_id platforms[MAX_DEVICES];
    cl_uint n_platforms = 0, n_devices = 0;
    if (clGetPlatformIDs(MAX_DEVICES, platforms, &n_platforms) != CL_SUCCESS)
        return false;
    for (cl_uint i = 0; i < n_platforms && i < MAX_DEVICES; i++)
        if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 0, NULL, &n_devices) == CL_SUCCESS &&
            n_devices > 0)
            return false;
    return n_platforms > 0;
}

// Without any device it lists the platforms, but still fails.
static bool show_devices(const info_options *info, complaint *why)
{
    weft_context *ctx = NULL;
    const bool is_open = command_open(&ctx, &info->common, why);
    if (!is_open && (info->common.device != NULL || !lacks_devices()))
        return false;
    const device_listing listing = {
        .chosen = is_open ? weft_context_device(ctx) : NULL,
        .only_chosen = info->common.device != NULL,
        .platforms = info->common.json ? json_array() : NULL,
    };
    bool done = list_platforms(&listing, why);
    if (!done)
        json_decref(listing.platforms);
    else if (listing.platforms != NULL)
        done = command_print_json(
            json_pack("{s: s, s: o}", "version", weft_version(), "platforms", listing.platforms),
            why);
    weft_context_destroy(&ctx);
    return done && is_open;
}

static void print_profiles(void)
{
    printf("%-34s %5s %5s %5s %6s %6s %6s %8s %9s %9s\n", "profile", "warp", "width", "block",
           "groups", "units", "local", "cache", "GB/s", "GFLOP/s");
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const weft_limits *p = weft_profile_at(i);
        printf("%-34s %5d %5d %5d %6d %6d %5zuK %7.4gM %9g %9g\n", p->name, p->warp,
               p->vector_width, p->max_block, p->max_blocks, p->compute_units,
               p->local_bytes / 1024, (double)p->cache_bytes / 1048576, p->peak_gbps,
               p->peak_gflops);
    }
}

static bool show_profiles(const info_options *info, complaint *why)
{
    if (!info->common.json) {
        print_profiles();
        return true;
    }
    json_t *profiles = json_array();
    for (size_t i = 0; i < weft_profile_count(); i++)
        json_array_append_new(profiles, facts_json(weft_profile_at(i)));
    return command_print_json(json_pack("{s: o}", "profiles", profiles), why);
}

int weft_info_main(int argc, char **argv)
{
    static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .doc = "Describe the OpenCL platforms and devices, their limits, and the launch geometry "
               "that follows. With --device, describe that device alone.",
        .children = children,
    };
    info_options info = {0};
    complaint why;
    argp_parse(&parser, argc, argv, 0, NULL, &info);
    const bool done = info.profiles ? show_profiles(&info, &why) : show_devices(&info, &why);
    return done ? EXIT_SUCCESS : command_failed(argv[0], &why);
}
