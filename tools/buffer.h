// SPDX-License-Identifier: Apache-2.0
// Device memory for the program's operands.
#ifndef WEFT_TOOLS_BUFFER_H
#define WEFT_TOOLS_BUFFER_H

#include <weft/context.h>

#include "complaint.h"

// A buffer of `bytes` (at least one byte, as OpenCL has no empty ones), filled from `data` if that
// is not NULL. `what` is "B", for the complaint. The caller releases it.
bool buffer_create(cl_mem *out, weft_context *ctx, const void *data, size_t bytes, const char *what,
                   complaint *why);

// Copies the first `bytes` out, and waits until that is done.
bool buffer_read(cl_mem buffer, cl_command_queue queue, void *data, size_t bytes, complaint *why);

// Releases and sets to NULL; NULL inside is fine.
void buffer_release(cl_mem *buffer);

#endif
