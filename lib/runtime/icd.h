// SPDX-License-Identifier: Apache-2.0
// Why OpenCL's loader finds no platform, in words.
#ifndef WEFT_LIB_ICD_H
#define WEFT_LIB_ICD_H

#include <stddef.h>

// Describes where the loader searches for drivers, what is wrong there, and the remedy. Loads the
// libraries that are named there, as the loader does: use it after the loader has failed.
void weft_icd_explain(char *text, size_t size);

#endif
