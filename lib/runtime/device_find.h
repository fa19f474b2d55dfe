// SPDX-License-Identifier: Apache-2.0
// Finds the device to open.
#ifndef WEFT_LIB_DEVICE_FIND_H
#define WEFT_LIB_DEVICE_FIND_H

#include "runtime/ocl.h"

typedef struct weft_found_device {
    cl_platform_id platform;
    cl_device_id device;
} weft_found_device;

// The best device whose own name, platform's name or platform's vendor contains `text`, ignoring
// case: GPUs before accelerators before CPUs, then in the order found. NULL takes $WEFT_DEVICE;
// if that is unset or empty too, any device will do. WEFT_NO_DEVICE lists the existing ones.
weft_status weft_device_find(const char *text, weft_found_device *out);

#endif
