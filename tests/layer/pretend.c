// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer, for OPENCL_LAYERS: the device at hand answers as another one would, and keeps
// kernels to what it says. What nothing is pretended of, the device answers itself. Looked at anew
// with every call, so that a test may set in its own environment:
//
//     WEFT_LAYER_DEVICE        nvidia, amd, intel or apple: whose answers
//     WEFT_LAYER_SILENT        the number of a query that is an error, as 0x1004; "all" queries
//     WEFT_LAYER_KERNEL_ITEMS  items of a group that any kernel takes, but for the one called probe
//     WEFT_LAYER_FAILED        weft_trial bits, as 0x700: programs that try these do not compile
//
// No bytes are neither read nor written, as PoCL 6.0 has it.
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "layer.h"

#include <CL/cl_ext.h>

typedef struct pretended {
    const char *name, *extensions;
    cl_device_type type;
    cl_uint units, float_width, nv_warp, amd_wavefront;
    size_t group, along[3], multiple, local;
    size_t subgroup_sizes[5], n_subgroup_sizes;
    bool has_no_f64;
} pretended;

// Group sizes and local memory are no larger than the real device's.
static const pretended devices[] = {
    {.name = "nvidia",
     .extensions = "cl_khr_icd cl_nv_device_attribute_query cl_nv_pragma_unroll",
     .type = CL_DEVICE_TYPE_GPU,
     .units = 80,
     .nv_warp = 32,
     .multiple = 64,
     .group = 1024,
     .along = {1024, 1024, 64},
     .local = 48 << 10},
    // An APU that miscounts its compute units, and lets its driver take fewer items than the sizes.
    {.name = "amd",
     .extensions = "cl_khr_fp16 cl_amd_device_attribute_query",
     .type = CL_DEVICE_TYPE_GPU,
     .units = 0,
     .amd_wavefront = 64,
     .multiple = 1,
     .group = 256,
     .along = {1024, 1024, 1024},
     .local = 64 << 10},
    // A list of sizes with a zero, out of order, and one that is no power of two.
    {.name = "intel",
     .extensions = "cl_intel_required_subgroup_size",
     .type = CL_DEVICE_TYPE_GPU,
     .units = 96,
     .multiple = 24,
     .group = 512,
     .along = {512, 512, 512},
     .local = 64 << 10,
     .subgroup_sizes = {32, 0, 8, 12},
     .n_subgroup_sizes = 4,
     .has_no_f64 = true},
    // Groups along one dimension, as CPUs have them there.
    {.name = "apple",
     .extensions = "",
     .type = CL_DEVICE_TYPE_GPU,
     .units = 8,
     .multiple = 32,
     .group = 256,
     .along = {256, 1, 1},
     .local = 32 << 10,
     .has_no_f64 = true},
};

static const pretended *pretended_device(void)
{
    const char *name = getenv("WEFT_LAYER_DEVICE");
    for (size_t i = 0; name && i < sizeof(devices) / sizeof(devices[0]); i++)
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
    return NULL;
}

static bool is_silent(cl_device_info what)
{
    const char *silent = getenv("WEFT_LAYER_SILENT");
    return silent && (strcmp(silent, "all") == 0 || strtoul(silent, NULL, 0) == what);
}

// The lesser of what is pretended and what the device says of a size.
static cl_ulong within(cl_device_id device, cl_device_info what, cl_ulong size)
{
    cl_ulong real = 0;
    if (target->clGetDeviceInfo(device, what, sizeof(real), &real, NULL) != CL_SUCCESS)
        return size;
    return real < size ? real : size;
}

static cl_int give_along(cl_device_id device, const pretended *p, size_t room, void *out,
                         size_t *needed)
{
    size_t along[3] = {0};
    const cl_int code =
        target->clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof(along), along, NULL);
    for (int i = 0; i < 3; i++)
        if (code != CL_SUCCESS || along[i] > p->along[i])
            along[i] = p->along[i];
    return GIVE(along);
}

// Arithmetic is the real device's unless it is pretended to have less.
static cl_int give_extensions(cl_device_id device, const pretended *p, size_t room, void *out,
                              size_t *needed)
{
    static const char f64[] = " cl_khr_fp64";
    char real[8192] = "", text[512];
    target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof(real) - 1, real, NULL);
    strcpy(text, p->extensions);
    if (!p->has_no_f64 && strstr(real, f64 + 1))
        strcat(text, f64);
    return give(text, strlen(text) + 1, room, out, needed);
}

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t room,
                                      void *out, size_t *needed)
{
    const pretended *p = pretended_device();
    const size_t group = p ? (size_t)within(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, p->group) : 0;
    const cl_ulong local = p ? within(device, CL_DEVICE_LOCAL_MEM_SIZE, p->local) : 0, none = 0;
    const cl_uint width = 1, kind = CL_LOCAL;
    if (is_silent(what))
        return CL_INVALID_VALUE;
    if (!p)
        return target->clGetDeviceInfo(device, what, room, out, needed);
    switch (what) {
    case CL_DEVICE_NAME:
        return give(p->name, strlen(p->name) + 1, room, out, needed);
    case CL_DEVICE_EXTENSIONS:
        return give_extensions(device, p, room, out, needed);
    case CL_DEVICE_TYPE:
        return GIVE(p->type);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return GIVE(p->units);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return GIVE(width);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return GIVE(group);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return give_along(device, p, room, out, needed);
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return GIVE(p->multiple);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return GIVE(local);
    case CL_DEVICE_LOCAL_MEM_TYPE:
        return GIVE(kind);
    case CL_DEVICE_WARP_SIZE_NV:
        return p->nv_warp ? GIVE(p->nv_warp) : CL_INVALID_VALUE;
    case CL_DEVICE_WAVEFRONT_WIDTH_AMD:
        return p->amd_wavefront ? GIVE(p->amd_wavefront) : CL_INVALID_VALUE;
    case CL_DEVICE_SUB_GROUP_SIZES_INTEL:
        return give(p->subgroup_sizes, p->n_subgroup_sizes * sizeof(size_t), room, out, needed);
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        if (p->has_no_f64)
            return GIVE(none);
    }
    return target->clGetDeviceInfo(device, what, room, out, needed);
}

// Items of a group of that kernel.
static size_t items_of(cl_kernel kernel, size_t real)
{
    const char *items = getenv("WEFT_LAYER_KERNEL_ITEMS");
    char name[64] = "";
    target->clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
    if (!items || strcmp(name, "probe") == 0)
        return real;
    const size_t most = strtoul(items, NULL, 0);
    return most < real ? most : real;
}

static cl_int CL_API_CALL kernel_info(cl_kernel kernel, cl_device_id device,
                                      cl_kernel_work_group_info what, size_t room, void *out,
                                      size_t *needed)
{
    if (what != CL_KERNEL_WORK_GROUP_SIZE)
        return target->clGetKernelWorkGroupInfo(kernel, device, what, room, out, needed);
    size_t items = 0;
    const cl_int code =
        target->clGetKernelWorkGroupInfo(kernel, device, what, sizeof(items), &items, NULL);
    if (code != CL_SUCCESS)
        return code;
    items = items_of(kernel, items);
    return GIVE(items);
}

static cl_int CL_API_CALL enqueue(cl_command_queue queue, cl_kernel kernel, cl_uint n_dimensions,
                                  const size_t *offset, const size_t *global, const size_t *local,
                                  cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    const pretended *p = pretended_device();
    size_t items = 1;
    for (cl_uint i = 0; local && i < n_dimensions; i++) {
        items *= local[i];
        if (p && local[i] > p->along[i])
            return CL_INVALID_WORK_ITEM_SIZE;
    }
    if (items > items_of(kernel, p ? p->group : SIZE_MAX))
        return CL_INVALID_WORK_GROUP_SIZE;
    return target->clEnqueueNDRangeKernel(queue, kernel, n_dimensions, offset, global, local,
                                          n_wait, wait, event);
}

static cl_int CL_API_CALL build_program(cl_program program, cl_uint n, const cl_device_id *which,
                                        const char *options,
                                        void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    static const char mark[] = "-D TRIALS=";
    const char *failed = getenv("WEFT_LAYER_FAILED"), *trials = options ? strstr(options, mark) : 0;
    if (failed && trials && strtoul(failed, NULL, 0) & strtoul(trials + sizeof(mark) - 1, NULL, 0))
        return CL_BUILD_PROGRAM_FAILURE;
    return target->clBuildProgram(program, n, which, options, notify, user);
}

static cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem from, cl_bool blocking,
                                      size_t start, size_t bytes, void *to, cl_uint n_wait,
                                      const cl_event *wait, cl_event *event)
{
    if (bytes == 0)
        return CL_INVALID_VALUE;
    return target->clEnqueueReadBuffer(queue, from, blocking, start, bytes, to, n_wait, wait,
                                       event);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem to, cl_bool blocking,
                                       size_t start, size_t bytes, const void *from, cl_uint n_wait,
                                       const cl_event *wait, cl_event *event)
{
    if (bytes == 0)
        return CL_INVALID_VALUE;
    return target->clEnqueueWriteBuffer(queue, to, blocking, start, bytes, from, n_wait, wait,
                                        event);
}

static void install(void)
{
    layer.clGetDeviceInfo = device_info;
    layer.clGetKernelWorkGroupInfo = kernel_info;
    layer.clEnqueueNDRangeKernel = enqueue;
    layer.clBuildProgram = build_program;
    layer.clEnqueueReadBuffer = read_buffer;
    layer.clEnqueueWriteBuffer = write_buffer;
}

DEFINE_LAYER("another device", install)
