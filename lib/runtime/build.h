// SPDX-License-Identifier: Apache-2.0
// Creates one program: loads it from the folder on disk, else compiles and stores it there.
#ifndef WEFT_LIB_BUILD_H
#define WEFT_LIB_BUILD_H

#include "runtime/defines.h"

// Gets the program and its kernel `name`; the caller releases both. WEFT_BUILD_FAILED names the
// program, the options and the compiler's first error; the log has all errors and the numbered
// source.
weft_status weft_program_build(weft_context *ctx, const weft_source *source,
                               const weft_defines *defines, const char *name, cl_program *program,
                               cl_kernel *kernel);

// Compiles a program that may fail to compile, without loading or storing it, and without an error
// in the log. WEFT_BUILD_FAILED has no details.
weft_status weft_program_try(weft_context *ctx, const weft_source *source,
                             const weft_defines *defines, cl_program *out);

// Gets another kernel of a built program; the caller releases it.
weft_status weft_program_kernel(cl_program program, const weft_source *source, const char *name,
                                cl_kernel *out);

#endif
