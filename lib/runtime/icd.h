// SPDX-License-Identifier: Apache-2.0
// Why OpenCL's loader finds no platform, in words.
#ifndef WEFT_LIB_ICD_H
#define WEFT_LIB_ICD_H

#include <stddef.h>

// Where the loader looks for drivers, what is wrong there, and what to do about it. Loads what it
// finds named there, as the loader did: for use where that came to nothing.
void weft_icd_explain(char *text, size_t size);

#endif
