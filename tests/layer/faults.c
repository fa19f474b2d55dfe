// SPDX-License-Identifier: Apache-2.0
// An OpenCL layer, for OPENCL_LAYERS: one call fails, as a test says in faults.h, by one of the
// errors that OpenCL's specification lists for it; the device has little memory; and objects that
// are alive are counted.
//
// A call that fails does nothing, but for releases: they are done, whatever they answer. The calls
// are those that the library makes, and those by which tests make what it is given.
#include "layer.h"

#include "faults.h"

layer_faults weft_layer_faults;

static layer_faults *const told = &weft_layer_faults;

// The error of this call; CL_SUCCESS where it is not to fail.
static cl_int fault(const char *call, bool is_maker, const cl_int *errors, size_t n)
{
    if (!told->watches || (told->only_makers && !is_maker))
        return CL_SUCCESS;
    const long n_behind = ++told->n_calls - told->fails_at;
    if (told->fails_at == 0 || n_behind < 0 || (n_behind > 0 && !told->goes_on))
        return CL_SUCCESS;
    if (n_behind > 0)
        return CL_OUT_OF_RESOURCES;
    told->call = call;
    told->n_errors = (int)n;
    told->code = told->goes_on ? CL_OUT_OF_RESOURCES : errors[(size_t)told->error % n];
    return told->code;
}

#define ERRORS(...)                                                                                \
    static const cl_int errors[] = {__VA_ARGS__, CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY}

#define FAULT(name, is_maker) fault(#name, is_maker, errors, sizeof(errors) / sizeof(errors[0]))

// A call that answers a status, and the errors that it may give besides the usual two.
#define STATUS_CALL(name, is_maker, parameters, arguments, ...)                                    \
    static cl_int CL_API_CALL layer_##name parameters                                              \
    {                                                                                              \
        ERRORS(__VA_ARGS__);                                                                       \
        const cl_int code = FAULT(name, is_maker);                                                 \
        return code != CL_SUCCESS ? code : target->name arguments;                                 \
    }

// One that retains a handle.
#define RETAIN_CALL(name, object, handle, ...)                                                     \
    static cl_int CL_API_CALL layer_##name(handle it)                                              \
    {                                                                                              \
        ERRORS(__VA_ARGS__);                                                                       \
        cl_int code = FAULT(name, false);                                                          \
        if (code == CL_SUCCESS)                                                                    \
            code = target->name(it);                                                               \
        told->live[object] += code == CL_SUCCESS;                                                  \
        return code;                                                                               \
    }

// One that releases it.
#define RELEASE_CALL(name, object, handle, ...)                                                    \
    static cl_int CL_API_CALL layer_##name(handle it)                                              \
    {                                                                                              \
        ERRORS(__VA_ARGS__);                                                                       \
        const cl_int code = FAULT(name, false), released = target->name(it);                       \
        told->live[object] -= released == CL_SUCCESS;                                              \
        return code != CL_SUCCESS ? code : released;                                               \
    }

// One that answers a handle, and a status through `out`.
#define HANDLE_CALL(name, is_maker, object, handle, parameters, arguments, ...)                    \
    static handle CL_API_CALL layer_##name parameters                                              \
    {                                                                                              \
        ERRORS(__VA_ARGS__);                                                                       \
        const cl_int code = FAULT(name, is_maker);                                                 \
        handle it = code == CL_SUCCESS ? target->name arguments : NULL;                            \
        if (code != CL_SUCCESS && out)                                                             \
            *out = code;                                                                           \
        told->live[object] += it != NULL;                                                          \
        return it;                                                                                 \
    }

// One that enqueues a command, and may answer its event.
#define ENQUEUE_CALL(name, parameters, arguments, ...)                                             \
    static cl_int CL_API_CALL layer_##name parameters                                              \
    {                                                                                              \
        ERRORS(__VA_ARGS__);                                                                       \
        cl_int code = FAULT(name, false);                                                          \
        if (code == CL_SUCCESS)                                                                    \
            code = target->name arguments;                                                         \
        told->live[LAYER_EVENTS] += code == CL_SUCCESS && event;                                   \
        return code;                                                                               \
    }

// ---- platforms and devices

#define QUERY(handle, info) (handle of, info what, size_t room, void *out, size_t *size)

static cl_int CL_API_CALL layer_clGetPlatformIDs(cl_uint room, cl_platform_id *out, cl_uint *n)
{
    static const cl_int errors[] = {CL_INVALID_VALUE, CL_OUT_OF_HOST_MEMORY};
    const cl_int code = FAULT(clGetPlatformIDs, false);
    return code != CL_SUCCESS ? code : target->clGetPlatformIDs(room, out, n);
}

static cl_int CL_API_CALL layer_clGetPlatformInfo QUERY(cl_platform_id, cl_platform_info)
{
    static const cl_int errors[] = {CL_INVALID_PLATFORM, CL_INVALID_VALUE, CL_OUT_OF_HOST_MEMORY};
    const cl_int code = FAULT(clGetPlatformInfo, false);
    return code != CL_SUCCESS ? code : target->clGetPlatformInfo(of, what, room, out, size);
}

STATUS_CALL(clGetDeviceIDs, false,
            (cl_platform_id of, cl_device_type type, cl_uint room, cl_device_id *out, cl_uint *n),
            (of, type, room, out, n), CL_INVALID_PLATFORM, CL_INVALID_DEVICE_TYPE, CL_INVALID_VALUE,
            CL_DEVICE_NOT_FOUND)
static cl_int CL_API_CALL layer_clGetDeviceInfo QUERY(cl_device_id, cl_device_info)
{
    ERRORS(CL_INVALID_DEVICE, CL_INVALID_VALUE);
    cl_int code = FAULT(clGetDeviceInfo, false);
    if (code == CL_SUCCESS)
        code = target->clGetDeviceInfo(of, what, room, out, size);
    const long long most = what == CL_DEVICE_MAX_MEM_ALLOC_SIZE ? told->most_of_one
                           : what == CL_DEVICE_GLOBAL_MEM_SIZE  ? told->most_of_all
                                                                : 0;
    if (code == CL_SUCCESS && out && most > 0)
        *(cl_ulong *)out = (cl_ulong)most;
    return code;
}

RETAIN_CALL(clRetainDevice, LAYER_DEVICES, cl_device_id, CL_INVALID_DEVICE)
RELEASE_CALL(clReleaseDevice, LAYER_DEVICES, cl_device_id, CL_INVALID_DEVICE)

// ---- contexts and queues

HANDLE_CALL(clCreateContext, false, LAYER_CONTEXTS, cl_context,
            (const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
             void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
             cl_int *out),
            (properties, n, devices, notify, user, out), CL_INVALID_PLATFORM, CL_INVALID_PROPERTY,
            CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_DEVICE_NOT_AVAILABLE)
RETAIN_CALL(clRetainContext, LAYER_CONTEXTS, cl_context, CL_INVALID_CONTEXT)
RELEASE_CALL(clReleaseContext, LAYER_CONTEXTS, cl_context, CL_INVALID_CONTEXT)
STATUS_CALL(clGetContextInfo, false, QUERY(cl_context, cl_context_info),
            (of, what, room, out, size), CL_INVALID_CONTEXT, CL_INVALID_VALUE)

HANDLE_CALL(clCreateCommandQueue, false, LAYER_QUEUES, cl_command_queue,
            (cl_context context, cl_device_id device, cl_command_queue_properties properties,
             cl_int *out),
            (context, device, properties, out), CL_INVALID_CONTEXT, CL_INVALID_DEVICE,
            CL_INVALID_VALUE, CL_INVALID_QUEUE_PROPERTIES)
RETAIN_CALL(clRetainCommandQueue, LAYER_QUEUES, cl_command_queue, CL_INVALID_COMMAND_QUEUE)
RELEASE_CALL(clReleaseCommandQueue, LAYER_QUEUES, cl_command_queue, CL_INVALID_COMMAND_QUEUE)
STATUS_CALL(clGetCommandQueueInfo, false, QUERY(cl_command_queue, cl_command_queue_info),
            (of, what, room, out, size), CL_INVALID_COMMAND_QUEUE, CL_INVALID_VALUE)

static void open_gate(void)
{
    if (told->gate)
        target->clSetUserEventStatus(told->gate, CL_COMPLETE);
    told->gate = NULL;
}

static cl_int CL_API_CALL layer_clFinish(cl_command_queue queue)
{
    ERRORS(CL_INVALID_COMMAND_QUEUE);
    const cl_int code = FAULT(clFinish, false);
    if (code == CL_SUCCESS)
        open_gate();
    return code != CL_SUCCESS ? code : target->clFinish(queue);
}

static cl_int CL_API_CALL layer_clFlush(cl_command_queue queue)
{
    ERRORS(CL_INVALID_COMMAND_QUEUE);
    const cl_int code = FAULT(clFlush, false);
    if (code == CL_SUCCESS)
        open_gate();
    return code != CL_SUCCESS ? code : target->clFlush(queue);
}

// ---- buffers

static long long bytes_of(cl_mem buffer)
{
    size_t bytes = 0;
    target->clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
    return (long long)bytes;
}

static cl_mem CL_API_CALL layer_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                               void *data, cl_int *out)
{
    ERRORS(CL_INVALID_CONTEXT, CL_INVALID_VALUE, CL_INVALID_BUFFER_SIZE, CL_INVALID_HOST_PTR,
           CL_MEM_OBJECT_ALLOCATION_FAILURE);
    cl_int code = FAULT(clCreateBuffer, true);
    if (code == CL_SUCCESS && told->most_of_one > 0 && (long long)bytes > told->most_of_one)
        code = CL_INVALID_BUFFER_SIZE;
    if (code == CL_SUCCESS && told->most_of_all > 0 &&
        told->buffer_bytes + (long long)bytes > told->most_of_all)
        code = CL_MEM_OBJECT_ALLOCATION_FAILURE;
    cl_mem buffer = NULL;
    if (code == CL_SUCCESS)
        buffer = target->clCreateBuffer(context, flags, bytes, data, out);
    else if (out)
        *out = code;
    told->live[LAYER_BUFFERS] += buffer != NULL;
    told->buffer_bytes += buffer ? bytes_of(buffer) : 0;
    return buffer;
}

// Who retains a buffer counts as having it: an implementation, too, retains those in use, so that
// its count of references does not say who is the last.
static cl_int CL_API_CALL layer_clRetainMemObject(cl_mem buffer)
{
    ERRORS(CL_INVALID_MEM_OBJECT);
    cl_int code = FAULT(clRetainMemObject, false);
    if (code == CL_SUCCESS)
        code = target->clRetainMemObject(buffer);
    told->live[LAYER_BUFFERS] += code == CL_SUCCESS;
    told->buffer_bytes += code == CL_SUCCESS ? bytes_of(buffer) : 0;
    return code;
}

static cl_int CL_API_CALL layer_clReleaseMemObject(cl_mem buffer)
{
    ERRORS(CL_INVALID_MEM_OBJECT);
    const cl_int code = FAULT(clReleaseMemObject, false);
    const long long bytes = bytes_of(buffer);
    const cl_int released = target->clReleaseMemObject(buffer);
    told->live[LAYER_BUFFERS] -= released == CL_SUCCESS;
    told->buffer_bytes -= released == CL_SUCCESS ? bytes : 0;
    return code != CL_SUCCESS ? code : released;
}

STATUS_CALL(clGetMemObjectInfo, false, QUERY(cl_mem, cl_mem_info), (of, what, room, out, size),
            CL_INVALID_VALUE, CL_INVALID_MEM_OBJECT)

// ---- programs and kernels

HANDLE_CALL(clCreateProgramWithSource, true, LAYER_PROGRAMS, cl_program,
            (cl_context context, cl_uint n, const char **texts, const size_t *lengths, cl_int *out),
            (context, n, texts, lengths, out), CL_INVALID_CONTEXT, CL_INVALID_VALUE)
HANDLE_CALL(clCreateProgramWithBinary, true, LAYER_PROGRAMS, cl_program,
            (cl_context context, cl_uint n, const cl_device_id *devices, const size_t *sizes,
             const unsigned char **binaries, cl_int *states, cl_int *out),
            (context, n, devices, sizes, binaries, states, out), CL_INVALID_CONTEXT,
            CL_INVALID_VALUE, CL_INVALID_DEVICE, CL_INVALID_BINARY)
RELEASE_CALL(clReleaseProgram, LAYER_PROGRAMS, cl_program, CL_INVALID_PROGRAM)
STATUS_CALL(clBuildProgram, true,
            (cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
             void(CL_CALLBACK *notify)(cl_program, void *), void *user),
            (program, n, devices, options, notify, user), CL_INVALID_PROGRAM, CL_INVALID_VALUE,
            CL_INVALID_DEVICE, CL_INVALID_BINARY, CL_INVALID_BUILD_OPTIONS,
            CL_COMPILER_NOT_AVAILABLE, CL_BUILD_PROGRAM_FAILURE, CL_INVALID_OPERATION)
STATUS_CALL(clGetProgramInfo, true, QUERY(cl_program, cl_program_info), (of, what, room, out, size),
            CL_INVALID_VALUE, CL_INVALID_PROGRAM, CL_INVALID_PROGRAM_EXECUTABLE)
STATUS_CALL(clGetProgramBuildInfo, true,
            (cl_program of, cl_device_id device, cl_program_build_info what, size_t room, void *out,
             size_t *size),
            (of, device, what, room, out, size), CL_INVALID_DEVICE, CL_INVALID_VALUE,
            CL_INVALID_PROGRAM)

HANDLE_CALL(clCreateKernel, true, LAYER_KERNELS, cl_kernel,
            (cl_program program, const char *name, cl_int *out), (program, name, out),
            CL_INVALID_PROGRAM, CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_KERNEL_NAME,
            CL_INVALID_KERNEL_DEFINITION, CL_INVALID_VALUE)
RETAIN_CALL(clRetainKernel, LAYER_KERNELS, cl_kernel, CL_INVALID_KERNEL)
RELEASE_CALL(clReleaseKernel, LAYER_KERNELS, cl_kernel, CL_INVALID_KERNEL)
STATUS_CALL(clGetKernelInfo, false, QUERY(cl_kernel, cl_kernel_info), (of, what, room, out, size),
            CL_INVALID_VALUE, CL_INVALID_KERNEL)
STATUS_CALL(clGetKernelWorkGroupInfo, true,
            (cl_kernel of, cl_device_id device, cl_kernel_work_group_info what, size_t room,
             void *out, size_t *size),
            (of, device, what, room, out, size), CL_INVALID_DEVICE, CL_INVALID_VALUE,
            CL_INVALID_KERNEL)
STATUS_CALL(clSetKernelArg, false, (cl_kernel of, cl_uint i, size_t size, const void *value),
            (of, i, size, value), CL_INVALID_KERNEL, CL_INVALID_ARG_INDEX, CL_INVALID_ARG_VALUE,
            CL_INVALID_MEM_OBJECT, CL_INVALID_SAMPLER, CL_INVALID_ARG_SIZE)

// ---- commands and events

static cl_int CL_API_CALL layer_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel,
                                                       cl_uint n_dimensions, const size_t *offset,
                                                       const size_t *global, const size_t *local,
                                                       cl_uint n_wait, const cl_event *wait,
                                                       cl_event *event)
{
    ERRORS(CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_COMMAND_QUEUE, CL_INVALID_KERNEL,
           CL_INVALID_CONTEXT, CL_INVALID_KERNEL_ARGS, CL_INVALID_WORK_DIMENSION,
           CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_GLOBAL_OFFSET, CL_INVALID_WORK_GROUP_SIZE,
           CL_INVALID_WORK_ITEM_SIZE, CL_MISALIGNED_SUB_BUFFER_OFFSET,
           CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_INVALID_EVENT_WAIT_LIST, CL_INVALID_OPERATION);
    cl_int code = FAULT(clEnqueueNDRangeKernel, false);
    if (code == CL_SUCCESS)
        code = target->clEnqueueNDRangeKernel(queue, kernel, n_dimensions, offset, global, local,
                                              n_wait, wait, event);
    told->n_kernels += code == CL_SUCCESS;
    told->live[LAYER_EVENTS] += code == CL_SUCCESS && event;
    return code;
}

#define TRANSFER_ERRORS                                                                            \
    CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT, CL_INVALID_MEM_OBJECT, CL_INVALID_VALUE,         \
        CL_INVALID_EVENT_WAIT_LIST, CL_MISALIGNED_SUB_BUFFER_OFFSET,                               \
        CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_MEM_OBJECT_ALLOCATION_FAILURE,            \
        CL_INVALID_OPERATION

static cl_int CL_API_CALL layer_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer,
                                                    cl_bool blocks, size_t start, size_t size,
                                                    void *out, cl_uint n_wait, const cl_event *wait,
                                                    cl_event *event)
{
    ERRORS(TRANSFER_ERRORS);
    cl_int code = FAULT(clEnqueueReadBuffer, false);
    if (code == CL_SUCCESS)
        code = target->clEnqueueReadBuffer(queue, buffer, blocks, start, size, out, n_wait, wait,
                                           event);
    told->n_reads += code == CL_SUCCESS;
    told->live[LAYER_EVENTS] += code == CL_SUCCESS && event;
    return code;
}

ENQUEUE_CALL(clEnqueueWriteBuffer,
             (cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t start, size_t size,
              const void *data, cl_uint n_wait, const cl_event *wait, cl_event *event),
             (queue, buffer, blocks, start, size, data, n_wait, wait, event), TRANSFER_ERRORS)
ENQUEUE_CALL(clEnqueueReadBufferRect,
             (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *origin,
              const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
              size_t host_row_pitch, size_t host_slice_pitch, void *out, cl_uint n_wait,
              const cl_event *wait, cl_event *event),
             (queue, buffer, blocks, origin, host_origin, region, row_pitch, slice_pitch,
              host_row_pitch, host_slice_pitch, out, n_wait, wait, event),
             TRANSFER_ERRORS)
ENQUEUE_CALL(clEnqueueWriteBufferRect,
             (cl_command_queue queue, cl_mem buffer, cl_bool blocks, const size_t *origin,
              const size_t *host_origin, const size_t *region, size_t row_pitch, size_t slice_pitch,
              size_t host_row_pitch, size_t host_slice_pitch, const void *data, cl_uint n_wait,
              const cl_event *wait, cl_event *event),
             (queue, buffer, blocks, origin, host_origin, region, row_pitch, slice_pitch,
              host_row_pitch, host_slice_pitch, data, n_wait, wait, event),
             TRANSFER_ERRORS)
ENQUEUE_CALL(clEnqueueMarkerWithWaitList,
             (cl_command_queue queue, cl_uint n_wait, const cl_event *wait, cl_event *event),
             (queue, n_wait, wait, event), CL_INVALID_COMMAND_QUEUE, CL_INVALID_CONTEXT,
             CL_INVALID_EVENT_WAIT_LIST)

HANDLE_CALL(clCreateUserEvent, false, LAYER_EVENTS, cl_event, (cl_context context, cl_int *out),
            (context, out), CL_INVALID_CONTEXT)
RETAIN_CALL(clRetainEvent, LAYER_EVENTS, cl_event, CL_INVALID_EVENT)
RELEASE_CALL(clReleaseEvent, LAYER_EVENTS, cl_event, CL_INVALID_EVENT)

static cl_int CL_API_CALL layer_clWaitForEvents(cl_uint n, const cl_event *events)
{
    ERRORS(CL_INVALID_VALUE, CL_INVALID_CONTEXT, CL_INVALID_EVENT,
           CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    const cl_int code = FAULT(clWaitForEvents, false);
    if (code == CL_SUCCESS)
        open_gate();
    return code != CL_SUCCESS ? code : target->clWaitForEvents(n, events);
}

STATUS_CALL(clGetEventInfo, false, QUERY(cl_event, cl_event_info), (of, what, room, out, size),
            CL_INVALID_VALUE, CL_INVALID_EVENT)

// ---- the layer

#define INSTALL(name) layer.name = layer_##name

static void install(void)
{
    INSTALL(clGetPlatformIDs);
    INSTALL(clGetPlatformInfo);
    INSTALL(clGetDeviceIDs);
    INSTALL(clGetDeviceInfo);
    INSTALL(clRetainDevice);
    INSTALL(clReleaseDevice);
    INSTALL(clCreateContext);
    INSTALL(clRetainContext);
    INSTALL(clReleaseContext);
    INSTALL(clGetContextInfo);
    INSTALL(clCreateCommandQueue);
    INSTALL(clRetainCommandQueue);
    INSTALL(clReleaseCommandQueue);
    INSTALL(clGetCommandQueueInfo);
    INSTALL(clFlush);
    INSTALL(clFinish);
    INSTALL(clCreateBuffer);
    INSTALL(clRetainMemObject);
    INSTALL(clReleaseMemObject);
    INSTALL(clGetMemObjectInfo);
    INSTALL(clCreateProgramWithSource);
    INSTALL(clCreateProgramWithBinary);
    INSTALL(clReleaseProgram);
    INSTALL(clBuildProgram);
    INSTALL(clGetProgramInfo);
    INSTALL(clGetProgramBuildInfo);
    INSTALL(clCreateKernel);
    INSTALL(clRetainKernel);
    INSTALL(clReleaseKernel);
    INSTALL(clGetKernelInfo);
    INSTALL(clGetKernelWorkGroupInfo);
    INSTALL(clSetKernelArg);
    INSTALL(clEnqueueNDRangeKernel);
    INSTALL(clEnqueueReadBuffer);
    INSTALL(clEnqueueWriteBuffer);
    INSTALL(clEnqueueReadBufferRect);
    INSTALL(clEnqueueWriteBufferRect);
    INSTALL(clEnqueueMarkerWithWaitList);
    INSTALL(clCreateUserEvent);
    INSTALL(clRetainEvent);
    INSTALL(clReleaseEvent);
    INSTALL(clWaitForEvents);
    INSTALL(clGetEventInfo);
}

DEFINE_LAYER("faults", install)
