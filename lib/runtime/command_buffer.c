// SPDX-License-Identifier: Apache-2.0
// Command buffers of cl_khr_command_buffer, a provisional extension: its functions are looked up.
#define CL_ENABLE_BETA_EXTENSIONS
#include "runtime/command_buffer.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/log.h"

struct weft_command_buffer {
    cl_command_buffer_khr cl;
    clEnqueueCommandBufferKHR_fn enqueue;
    clReleaseCommandBufferKHR_fn release;
};

typedef struct functions {
    clCreateCommandBufferKHR_fn create;
    clCommandNDRangeKernelKHR_fn add_kernel;
    clFinalizeCommandBufferKHR_fn finalize;
    clEnqueueCommandBufferKHR_fn enqueue;
    clReleaseCommandBufferKHR_fn release;
} functions;

static bool has_extension(cl_device_id device)
{
    char *text = weft_device_text(device, CL_DEVICE_EXTENSIONS);
    const bool is_there = text && weft_is_extension_in(text, "cl_khr_command_buffer");
    free(text);
    return is_there;
}

// Whether a command buffer may be enqueued while it runs, on such a queue.
static bool is_capable(cl_device_id device, cl_command_queue queue)
{
    cl_device_command_buffer_capabilities_khr has = 0;
    cl_command_queue_properties needed = 0, given = 0;
    return clGetDeviceInfo(device, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR, sizeof(has), &has,
                           NULL) == CL_SUCCESS &&
           has & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR &&
           clGetDeviceInfo(device, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR,
                           sizeof(needed), &needed, NULL) == CL_SUCCESS &&
           clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(given), &given, NULL) ==
               CL_SUCCESS &&
           !(needed & ~given);
}

static bool find_functions(functions *f, cl_device_id device)
{
    cl_platform_id platform = NULL;
    if (clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) !=
        CL_SUCCESS)
        return false;
    const struct {
        const char *name;
        void *address; // of a pointer to a function
    } wanted[] = {
        {"clCreateCommandBufferKHR", &f->create},     {"clCommandNDRangeKernelKHR", &f->add_kernel},
        {"clFinalizeCommandBufferKHR", &f->finalize}, {"clEnqueueCommandBufferKHR", &f->enqueue},
        {"clReleaseCommandBufferKHR", &f->release},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        void *found = clGetExtensionFunctionAddressForPlatform(platform, wanted[i].name);
        if (!found)
            return false;
        memcpy(wanted[i].address, &found, sizeof(found));
    }
    return true;
}

// Each launch waits for the one before it.
static cl_int add_launches(const functions *f, cl_command_buffer_khr cl,
                           const weft_recorder *recorder)
{
    cl_sync_point_khr before = 0;
    for (size_t i = 0; i < recorder->n_launches; i++) {
        const weft_recorded_launch *l = &recorder->launches[i];
        cl_sync_point_khr after = 0;
        const cl_int code =
            f->add_kernel(cl, NULL, NULL, l->kernel, 3, l->has_offset ? l->offset : NULL, l->global,
                          l->local, i > 0 ? 1 : 0, i > 0 ? &before : NULL, &after, NULL);
        if (code != CL_SUCCESS)
            return code;
        before = after;
    }
    return f->finalize(cl);
}

static cl_command_buffer_khr make(const functions *f, const weft_recorder *recorder,
                                  cl_command_queue queue, cl_int *code)
{
    const cl_command_buffer_properties_khr properties[] = {
        CL_COMMAND_BUFFER_FLAGS_KHR, CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR, 0};
    cl_command_buffer_khr cl = f->create(1, &queue, properties, code);
    if (*code == CL_SUCCESS)
        *code = add_launches(f, cl, recorder);
    if (*code == CL_SUCCESS || !cl)
        return cl;
    f->release(cl);
    return NULL;
}

weft_command_buffer *weft_command_buffer_create(const weft_recorder *recorder,
                                                cl_command_queue queue)
{
    const weft_context *ctx = recorder->ctx;
    functions f = {0};
    if (!has_extension(ctx->device) || !is_capable(ctx->device, queue) ||
        !find_functions(&f, ctx->device))
        return NULL;
    weft_command_buffer *commands = calloc(1, sizeof(*commands));
    if (!commands)
        return NULL;
    cl_int code = CL_SUCCESS;
    commands->enqueue = f.enqueue;
    commands->release = f.release;
    commands->cl = make(&f, recorder, queue, &code);
    if (commands->cl)
        return commands;
    weft_log(ctx, WEFT_LOG_WARNING,
             "recording: no command buffer of %zu kernels (%d): they are enqueued one by one",
             recorder->n_launches, (int)code);
    free(commands);
    return NULL;
}

weft_status weft_command_buffer_enqueue(weft_command_buffer *commands, const char *what,
                                        cl_uint n_wait, const cl_event *wait, cl_event *event)
{
    return weft_cl_check(commands->enqueue(0, NULL, commands->cl, n_wait, wait, event), what,
                         "clEnqueueCommandBufferKHR");
}

void weft_command_buffer_destroy(weft_command_buffer *commands)
{
    if (!commands)
        return;
    commands->release(commands->cl);
    free(commands);
}
