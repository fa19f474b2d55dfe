// SPDX-License-Identifier: Apache-2.0
// Includes OpenCL's headers, and checks the results of OpenCL calls.
#ifndef WEFT_LIB_OCL_H
#define WEFT_LIB_OCL_H

#include <weft/context.h>

#include <CL/cl_ext.h>

#include "runtime/ocl_names.h"

#include "base/fail.h"

// WEFT_OK for CL_SUCCESS; else records "<what>: <call> failed: CL_OUT_OF_RESOURCES (-5)" and
// returns the status: no memory, lost device, or WEFT_OPENCL_ERROR.
weft_status weft_cl_check(cl_int code, const char *what, const char *call);

// The same for clCreateBuffer(), with the requested bytes. Too many for the device are
// WEFT_NO_MEMORY.
weft_status weft_cl_buffer_check(cl_int code, const char *what, size_t bytes);

// Read or write a part of a buffer, and return when that is done. OpenCL's blocking calls do not
// suffice: a blocking write may return when it has copied the data, as in Intel's runtime for CPUs,
// and in Mesa's rusticl (22.3) blocking calls return early if another thread flushes the queue.
weft_status weft_cl_read(cl_command_queue queue, cl_mem buffer, size_t start, size_t bytes,
                         void *out, cl_uint n_wait, const cl_event *wait, const char *what);
weft_status weft_cl_write(cl_command_queue queue, cl_mem buffer, size_t bytes, const void *in,
                          const char *what);

// Whether clCreateBuffer() failed for lack of memory: a smaller buffer, or the release of others,
// may help.
bool weft_cl_is_full(cl_int code);

// The device's or platform's answer as text from malloc(): "" if there is none, NULL without
// memory.
char *weft_device_text(cl_device_id device, cl_device_info what);
char *weft_platform_text(cl_platform_id platform, cl_platform_info what);

// Whether a list of names, with a blank between two, has this one.
bool weft_is_extension_in(const char *extensions, const char *name);

// Whether the implementation caches compiled programs on disk, and compiles again to return a
// binary: PoCL. False if unknown.
bool weft_device_keeps_programs(cl_device_id device);

// Whether sub-groups are those of OpenCL C 3.0, not of an extension: unknown to OpenCL C 1.2.
bool weft_device_has_own_subgroups(cl_device_id device);

#endif
