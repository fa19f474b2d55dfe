// SPDX-License-Identifier: Apache-2.0
// Faults of implementations that a trial must not provoke, because they end the process or hang.
#ifndef WEFT_LIB_KNOWN_FAULTS_H
#define WEFT_LIB_KNOWN_FAULTS_H

#include "runtime/ocl.h"

// weft_trial bits of features that fail on this device, by its name and version. `width` is its
// native vector width for floats.
unsigned weft_known_faults(cl_device_id device, int width);

#endif
