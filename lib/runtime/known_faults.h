// SPDX-License-Identifier: Apache-2.0
// Faults of implementations that must not be tried, because they end the process or never come
// back.
#ifndef WEFT_LIB_KNOWN_FAULTS_H
#define WEFT_LIB_KNOWN_FAULTS_H

#include "runtime/ocl.h"

// weft_trial bits: what does not work on this device, by its name and version. `width` is what it
// says of its native vectors of floats.
unsigned weft_known_faults(cl_device_id device, int width);

#endif
