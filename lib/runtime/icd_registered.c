// SPDX-License-Identifier: Apache-2.0
// On Windows drivers are registered with the system, and on macOS they belong to it.
#include "runtime/icd.h"

#include <stdio.h>

void weft_icd_explain(char *text, size_t size)
{
    snprintf(text, size,
             "no driver is registered with the system, or its devices are missing; install the "
             "driver of the device's vendor");
}
