// SPDX-License-Identifier: Apache-2.0
// Making one program: loaded from the folder on disk, else compiled and stored there.
#ifndef WEFT_LIB_BUILD_H
#define WEFT_LIB_BUILD_H

#include "runtime/defines.h"

// The program and its kernel `name`, both the caller's to release. WEFT_BUILD_FAILED names the
// program, the options and the compiler's first error; the log has all of it, and the numbered
// source.
weft_status weft_program_build(weft_context *ctx, const weft_source *source,
                               const weft_defines *defines, const char *name, cl_program *program,
                               cl_kernel *kernel);

// A program that may not compile: neither loaded nor stored, and without an error in the log.
// WEFT_BUILD_FAILED has no details.
weft_status weft_program_try(weft_context *ctx, const weft_source *source,
                             const weft_defines *defines, cl_program *out);

// Another kernel of a built program; the caller's to release.
weft_status weft_program_kernel(cl_program program, const weft_source *source, const char *name,
                                cl_kernel *out);

#endif
