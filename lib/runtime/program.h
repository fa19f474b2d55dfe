// SPDX-License-Identifier: Apache-2.0
// Programs of a context, and their kernels.
#ifndef WEFT_LIB_PROGRAM_H
#define WEFT_LIB_PROGRAM_H

#include "runtime/defines.h"

// A kernel of a cached program. Both live as long as the context. Setting arguments and enqueuing
// happen under the kernel's lock, inside weft_launch_kernel().
typedef struct weft_kernel weft_kernel;

// Gets the kernel `name` of `source` built with `defines`: from memory, else from disk, else
// compiled. Threads may call it in parallel; each program is built once, and other threads wait
// only for a program that they need.
weft_status weft_kernel_get(weft_context *ctx, const weft_source *source,
                            const weft_defines *defines, const char *name, weft_kernel **out);

// CL_KERNEL_WORK_GROUP_SIZE. If it is below the plan's group, plan again.
size_t weft_kernel_max_items(const weft_kernel *kernel);

// Gets one of several kernels with the same group, and lowers *most to its largest group.
weft_status weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                               const weft_source *source, const weft_defines *defines,
                               const char *name);

// All programs of a context, empty at first. Destroying accepts NULL.
typedef struct weft_program_table weft_program_table;
weft_status weft_program_table_create(weft_program_table **out);
void weft_program_table_destroy(weft_program_table *table);

#endif
