// SPDX-License-Identifier: Apache-2.0
// The result of a call: a status and, after a failure, a sentence with the numbers that disagree.
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#include <weft/api.h>

WEFT_BEGIN

typedef enum weft_status {
    WEFT_OK = 0,
    WEFT_BAD_ARGUMENT, // a NULL, a negative count, a field out of its range
    WEFT_BAD_SHAPE,    // extents or strides that disagree
    WEFT_BAD_DTYPE,    // a data type that the operand does not take
    WEFT_BAD_BUFFER,   // no valid buffer, or one too small for its view, of another context,
                       // overlapping an output, or such that kernels cannot read an input or
                       // write an output; and a workspace in the host's memory
                       // (CL_MEM_USE_HOST_PTR) that begins off a multiple of 128 bytes
    WEFT_BAD_DATA,     // contents that contradict themselves: CSR offsets, column indices
    WEFT_UNSUPPORTED,  // sound, but the device at hand cannot do it (f64 without fp64, ...), or the
                       // process: a child of one that uses OpenCL, see <weft/context.h>
    WEFT_NO_DEVICE,    // no OpenCL device, or none that matches what was asked for
    WEFT_NO_MEMORY,    // of the host or of the device
    WEFT_BUILD_FAILED, // a kernel did not compile; the log callback has options, log and source
    WEFT_DEVICE_LOST,  // the device stopped answering; the context is of no further use
    WEFT_OPENCL_ERROR, // any other error of the OpenCL implementation
} weft_status;

// Calls that return a status report a NULL that is not allowed; all other functions take no NULL,
// unless documented.

// "bad shape" for WEFT_BAD_SHAPE, and so on; "unknown status" for anything else. Static storage.
WEFT_API const char *weft_status_name(weft_status status);

// The sentence of the last call on this thread that did not return WEFT_OK; "" before the first.
// Valid until the next failing call on the same thread. A call that succeeds leaves it as it was.
//
// After a failure a call gives no event: *event is unchanged, or NULL. Its allocations are freed.
// A call that a check refused has enqueued nothing: outputs are unchanged. If OpenCL or memory
// failed on the way (NO_MEMORY, BUILD_FAILED, DEVICE_LOST, OPENCL_ERROR) some of its kernels may be
// in the queue: outputs, and the caller's workspace, are undefined, and in use until the queue has
// finished. Inputs are never written. The context and its plans stay usable, unless the device is
// lost.
WEFT_API const char *weft_last_error(void);

WEFT_END

#endif
