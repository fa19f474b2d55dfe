// SPDX-License-Identifier: Apache-2.0
// A built program's binary.
#ifndef WEFT_LIB_BINARY_H
#define WEFT_LIB_BINARY_H

#include "base/record.h"
#include "runtime/ocl.h"

// Gets the binary for one of the program's devices; false if there is none.
bool weft_program_binary(cl_program program, cl_device_id device, weft_blob *out);

#endif
