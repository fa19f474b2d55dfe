// SPDX-License-Identifier: Apache-2.0
// Why OpenCL's loader finds no platform, in words.
#ifndef WEFT_LIB_ICD_H
#define WEFT_LIB_ICD_H

#include <stddef.h>

// Where the loader looks for drivers, what is wrong there, and what to do about it. Loads the
// libraries named there, as the loader does: for use after that has failed.
void weft_icd_explain(char *text, size_t size);

#endif
