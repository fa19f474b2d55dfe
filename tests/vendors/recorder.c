// SPDX-License-Identifier: Apache-2.0
// OpenCL as far as the library calls it. Buffers are memory of the host, everything is done at
// once, and kernels do nothing.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include "recorder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CL/cl_ext.h>

struct _cl_mem {
    cl_mem_flags flags;
    size_t bytes;
    unsigned char *data;
};

// Both live in `programs`: there is no releasing them.
struct _cl_program {
    json_t *json;
};

struct _cl_kernel {
    json_t *json;
    size_t local_bytes[64]; // of arguments in local memory
    size_t bytes[64];       // of arguments
};

// One of each is enough.
struct _cl_platform_id {
    char unused;
} platform;
struct _cl_device_id {
    const weft_limits *limits;
} device;
struct _cl_context {
    char unused;
} context;
struct _cl_command_queue {
    char unused;
} queue;
struct _cl_event {
    char unused;
} event;

// Of a kernel's arguments: no device promises less.
enum { MOST_ARGUMENT_BYTES = 1024 };

static json_t *sources, *programs;
static char problem[256];

void recorder_begin(const weft_limits *limits)
{
    device.limits = limits;
    json_decref(programs);
    programs = json_array();
    if (!sources)
        sources = json_array();
    recorder_problem("");
}

void recorder_problem(const char *words)
{
    snprintf(problem, sizeof(problem), "%s", words);
}

cl_context recorder_context(void)
{
    return &context;
}

cl_device_id recorder_device(void)
{
    return &device;
}

cl_command_queue recorder_queue(void)
{
    return &queue;
}

json_t *recorder_sources(void)
{
    return json_incref(sources);
}

json_t *recorder_programs(void)
{
    return json_incref(programs);
}

static cl_int answer(const void *from, size_t bytes, size_t room, void *to, size_t *size)
{
    if (size)
        *size = bytes;
    if (to && room < bytes)
        return CL_INVALID_VALUE;
    if (to)
        memcpy(to, from, bytes);
    return CL_SUCCESS;
}

static cl_int text_answer(const char *text, size_t room, void *to, size_t *size)
{
    return answer(text, strlen(text) + 1, room, to, size);
}

#define ANSWER(type, ...)                                                                          \
    answer((const type[]){__VA_ARGS__}, sizeof((const type[]){__VA_ARGS__}), room, to, size)

// ---- platform, device, context, queue

cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *platforms, cl_uint *n_platforms)
{
    if (n > 0 && platforms)
        *platforms = &platform;
    if (n_platforms)
        *n_platforms = 1;
    return CL_SUCCESS;
}

cl_int clGetPlatformInfo(cl_platform_id of, cl_platform_info what, size_t room, void *to,
                         size_t *size)
{
    (void)of, (void)what;
    return text_answer("recorder", room, to, size);
}

cl_int clGetDeviceIDs(cl_platform_id of, cl_device_type type, cl_uint n, cl_device_id *devices,
                      cl_uint *n_devices)
{
    (void)of, (void)type;
    if (n > 0 && devices)
        *devices = &device;
    if (n_devices)
        *n_devices = 1;
    return CL_SUCCESS;
}

// What it refuses to answer the library does without.
cl_int clGetDeviceInfo(cl_device_id of, cl_device_info what, size_t room, void *to, size_t *size)
{
    const weft_limits *l = of->limits;
    switch (what) {
    case CL_DEVICE_PLATFORM:
        return ANSWER(cl_platform_id, &platform);
    case CL_DEVICE_TYPE:
        return ANSWER(cl_device_type,
                      l->kind == WEFT_DEVICE_CPU ? CL_DEVICE_TYPE_CPU : CL_DEVICE_TYPE_GPU);
    case CL_DEVICE_NAME:
        return text_answer(l->name, room, to, size);
    case CL_DEVICE_EXTENSIONS:
        return text_answer(!l->has_subgroups                     ? "cl_khr_fp16"
                           : strncmp(l->name, "nvidia-", 7) == 0 ? "cl_nv_device_attribute_query"
                           : l->least_subgroup > 0
                               ? "cl_intel_subgroups cl_intel_required_subgroup_size cl_khr_fp16"
                               : "cl_intel_subgroups cl_khr_fp16",
                           room, to, size);
    case CL_DEVICE_SUB_GROUP_SIZES_INTEL:
        return ANSWER(size_t, (size_t)l->least_subgroup, 16, 32);
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return ANSWER(cl_uint, (cl_uint)l->vector_width);
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return ANSWER(cl_uint, (cl_uint)l->compute_units);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return ANSWER(size_t, l->max_items);
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
        return ANSWER(cl_uint, 3);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return answer(l->max_items_along, sizeof(l->max_items_along), room, to, size);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return ANSWER(cl_ulong, l->local_bytes);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return ANSWER(cl_ulong, l->global_bytes);
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return ANSWER(cl_ulong, l->max_alloc_bytes);
    case CL_DEVICE_SINGLE_FP_CONFIG:
        return ANSWER(cl_device_fp_config, l->has_fma ? CL_FP_FMA : 0);
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        return ANSWER(cl_device_fp_config, l->has_f64 ? CL_FP_FMA : 0);
    case CL_DEVICE_MAX_PARAMETER_SIZE:
        return ANSWER(size_t, MOST_ARGUMENT_BYTES);
    default:
        return CL_INVALID_VALUE;
    }
}

cl_int clGetContextInfo(cl_context of, cl_context_info what, size_t room, void *to, size_t *size)
{
    (void)of;
    return what == CL_CONTEXT_DEVICES ? ANSWER(cl_device_id, &device) : CL_INVALID_VALUE;
}

cl_context clCreateContext(const cl_context_properties *properties, cl_uint n,
                           const cl_device_id *devices,
                           void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                           void *user, cl_int *code)
{
    (void)properties, (void)n, (void)devices, (void)notify, (void)user;
    *code = CL_SUCCESS;
    return &context;
}

cl_command_queue clCreateCommandQueue(cl_context in, cl_device_id on,
                                      cl_command_queue_properties properties, cl_int *code)
{
    (void)in, (void)on, (void)properties;
    *code = CL_SUCCESS;
    return &queue;
}

cl_int clGetCommandQueueInfo(cl_command_queue of, cl_command_queue_info what, size_t room, void *to,
                             size_t *size)
{
    (void)of;
    switch (what) {
    case CL_QUEUE_CONTEXT:
        return ANSWER(cl_context, &context);
    case CL_QUEUE_DEVICE:
        return ANSWER(cl_device_id, &device);
    case CL_QUEUE_PROPERTIES:
        return ANSWER(cl_command_queue_properties, 0);
    default:
        return CL_INVALID_VALUE;
    }
}

#define LASTING(type, name)                                                                        \
    cl_int name(type it)                                                                           \
    {                                                                                              \
        (void)it;                                                                                  \
        return CL_SUCCESS;                                                                         \
    }
LASTING(cl_context, clRetainContext)
LASTING(cl_context, clReleaseContext)
LASTING(cl_device_id, clRetainDevice)
LASTING(cl_device_id, clReleaseDevice)
LASTING(cl_command_queue, clRetainCommandQueue)
LASTING(cl_command_queue, clReleaseCommandQueue)
LASTING(cl_command_queue, clFlush)
LASTING(cl_command_queue, clFinish)
LASTING(cl_program, clReleaseProgram)
LASTING(cl_event, clRetainEvent)
LASTING(cl_event, clReleaseEvent)

// ---- buffers

cl_mem clCreateBuffer(cl_context in, cl_mem_flags flags, size_t bytes, void *data, cl_int *code)
{
    (void)in;
    cl_mem mem = calloc(1, sizeof(*mem));
    unsigned char *copy = calloc(1, bytes);
    assert(mem && copy);
    *mem = (struct _cl_mem){flags, bytes, copy};
    if (data)
        memcpy(copy, data, bytes);
    if (code)
        *code = CL_SUCCESS;
    return mem;
}

cl_int clReleaseMemObject(cl_mem mem)
{
    free(mem->data);
    free(mem);
    return CL_SUCCESS;
}

cl_int clGetMemObjectInfo(cl_mem of, cl_mem_info what, size_t room, void *to, size_t *size)
{
    switch (what) {
    case CL_MEM_TYPE:
        return ANSWER(cl_mem_object_type, CL_MEM_OBJECT_BUFFER);
    case CL_MEM_CONTEXT:
        return ANSWER(cl_context, &context);
    case CL_MEM_SIZE:
        return ANSWER(size_t, of->bytes);
    case CL_MEM_FLAGS:
        return ANSWER(cl_mem_flags, of->flags);
    case CL_MEM_ASSOCIATED_MEMOBJECT:
        return ANSWER(cl_mem, NULL);
    case CL_MEM_OFFSET:
        return ANSWER(size_t, 0);
    default:
        return CL_INVALID_VALUE;
    }
}

static void give_event(cl_event *to)
{
    if (to)
        *to = &event;
}

cl_int clEnqueueReadBuffer(cl_command_queue on, cl_mem mem, cl_bool blocking, size_t offset,
                           size_t bytes, void *to, cl_uint n_wait, const cl_event *wait,
                           cl_event *done)
{
    (void)on, (void)blocking, (void)n_wait, (void)wait;
    assert(offset + bytes <= mem->bytes);
    memcpy(to, mem->data + offset, bytes);
    give_event(done);
    return CL_SUCCESS;
}

cl_int clEnqueueWriteBuffer(cl_command_queue on, cl_mem mem, cl_bool blocking, size_t offset,
                            size_t bytes, const void *from, cl_uint n_wait, const cl_event *wait,
                            cl_event *done)
{
    (void)on, (void)blocking, (void)n_wait, (void)wait;
    assert(offset + bytes <= mem->bytes);
    memcpy(mem->data + offset, from, bytes);
    give_event(done);
    return CL_SUCCESS;
}

// ---- programs and kernels

// Where it stands in `sources`, new or not.
static json_int_t source_number(const char *text, size_t length)
{
    const size_t n = json_array_size(sources);
    json_t *source = json_stringn(text, length);
    size_t i = 0;
    assert(source);
    while (i < n && !json_equal(json_array_get(sources, i), source))
        i++;
    if (i == n)
        json_array_append(sources, source);
    json_decref(source);
    return (json_int_t)i;
}

cl_program clCreateProgramWithSource(cl_context in, cl_uint n, const char **texts,
                                     const size_t *lengths, cl_int *code)
{
    (void)in;
    assert(n == 1);
    cl_program program = calloc(1, sizeof(*program));
    assert(program);
    program->json =
        json_pack("{s:I, s:[]}", "source", source_number(texts[0], lengths[0]), "kernels");
    assert(program->json);
    *code = CL_SUCCESS;
    return program;
}

// Nothing is kept on disk.
cl_program clCreateProgramWithBinary(cl_context in, cl_uint n, const cl_device_id *devices,
                                     const size_t *sizes, const unsigned char **binaries,
                                     cl_int *codes, cl_int *code)
{
    (void)in, (void)n, (void)devices, (void)sizes, (void)binaries, (void)codes;
    *code = CL_INVALID_BINARY;
    return NULL;
}

cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *devices,
                      const char *options, void(CL_CALLBACK *notify)(cl_program, void *),
                      void *user)
{
    (void)n, (void)devices, (void)notify, (void)user;
    json_object_set_new(program->json, "options", json_string(options));
    json_object_set_new(program->json, "problem", json_string(problem));
    json_array_append_new(programs, program->json);
    return CL_SUCCESS;
}

cl_int clGetProgramInfo(cl_program of, cl_program_info what, size_t room, void *to, size_t *size)
{
    (void)of, (void)what, (void)room, (void)to, (void)size;
    return CL_INVALID_VALUE;
}

cl_int clGetProgramBuildInfo(cl_program of, cl_device_id on, cl_program_build_info what,
                             size_t room, void *to, size_t *size)
{
    (void)of, (void)on, (void)what, (void)room, (void)to, (void)size;
    return CL_INVALID_VALUE;
}

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *code)
{
    cl_kernel kernel = calloc(1, sizeof(*kernel));
    assert(kernel);
    kernel->json = json_pack("{s:s, s:[i, i, i], s:i, s:[]}", "name", name, "items", 0, 0, 0,
                             "local_bytes", 0, "problems");
    json_array_append_new(json_object_get(program->json, "kernels"), kernel->json);
    *code = CL_SUCCESS;
    return kernel;
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    free(kernel);
    return CL_SUCCESS;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel of, cl_device_id on, cl_kernel_work_group_info what,
                                size_t room, void *to, size_t *size)
{
    (void)of;
    return what == CL_KERNEL_WORK_GROUP_SIZE ? ANSWER(size_t, on->limits->max_items)
                                             : CL_INVALID_VALUE;
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint i, size_t size, const void *value)
{
    assert(i < sizeof(kernel->local_bytes) / sizeof(kernel->local_bytes[0]));
    kernel->local_bytes[i] = value ? 0 : size;
    kernel->bytes[i] = value ? size : sizeof(cl_mem);
    return CL_SUCCESS;
}

static size_t argument_bytes(cl_kernel kernel)
{
    size_t bytes = 0;
    for (size_t i = 0; i < sizeof(kernel->bytes) / sizeof(kernel->bytes[0]); i++)
        bytes += kernel->bytes[i];
    return bytes;
}

static json_int_t count(const json_t *items)
{
    json_int_t n = 1;
    for (size_t i = 0; i < 3; i++)
        n *= json_integer_value(json_array_get(items, i));
    return n;
}

// Keeps the larger one of this and an earlier launch.
static void keep_items(cl_kernel kernel, const size_t *local)
{
    json_t *items =
        json_pack("[I, I, I]", (json_int_t)local[0], (json_int_t)local[1], (json_int_t)local[2]);
    if (count(items) > count(json_object_get(kernel->json, "items")))
        json_object_set(kernel->json, "items", items);
    json_decref(items);
}

static void keep_local_bytes(cl_kernel kernel)
{
    json_int_t all = 0;
    for (size_t i = 0; i < sizeof(kernel->local_bytes) / sizeof(kernel->local_bytes[0]); i++)
        all += (json_int_t)kernel->local_bytes[i];
    if (all > json_integer_value(json_object_get(kernel->json, "local_bytes")))
        json_object_set_new(kernel->json, "local_bytes", json_integer(all));
}

static void keep_problem(cl_kernel kernel)
{
    json_t *problems = json_object_get(kernel->json, "problems"), *now = json_string(problem);
    const size_t n = json_array_size(problems);
    if (n == 0 || !json_equal(json_array_get(problems, n - 1), now))
        json_array_append(problems, now);
    json_decref(now);
}

cl_int clEnqueueNDRangeKernel(cl_command_queue on, cl_kernel kernel, cl_uint n, const size_t *start,
                              const size_t *global, const size_t *local, cl_uint n_wait,
                              const cl_event *wait, cl_event *done)
{
    (void)on, (void)start, (void)global, (void)n_wait, (void)wait;
    assert(n == 3 && local);
    if (argument_bytes(kernel) > MOST_ARGUMENT_BYTES) {
        fprintf(stderr, "%s takes %zu bytes of arguments\n",
                json_string_value(json_object_get(kernel->json, "name")), argument_bytes(kernel));
        return CL_OUT_OF_RESOURCES;
    }
    keep_items(kernel, local);
    keep_local_bytes(kernel);
    keep_problem(kernel);
    give_event(done);
    return CL_SUCCESS;
}

// ---- events

cl_int clEnqueueMarkerWithWaitList(cl_command_queue on, cl_uint n_wait, const cl_event *wait,
                                   cl_event *done)
{
    (void)on, (void)n_wait, (void)wait;
    give_event(done);
    return CL_SUCCESS;
}

cl_int clWaitForEvents(cl_uint n, const cl_event *events)
{
    (void)n, (void)events;
    return CL_SUCCESS;
}

cl_int clGetEventInfo(cl_event of, cl_event_info what, size_t room, void *to, size_t *size)
{
    (void)of;
    switch (what) {
    case CL_EVENT_CONTEXT:
        return ANSWER(cl_context, &context);
    case CL_EVENT_COMMAND_EXECUTION_STATUS:
        return ANSWER(cl_int, CL_COMPLETE);
    default:
        return CL_INVALID_VALUE;
    }
}
