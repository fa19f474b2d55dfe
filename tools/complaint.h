// SPDX-License-Identifier: Apache-2.0
// How the parts of the program say what went wrong: false, and one sentence with names and numbers.
#ifndef WEFT_TOOLS_COMPLAINT_H
#define WEFT_TOOLS_COMPLAINT_H

#include <stdbool.h>

typedef struct complaint {
    char text[1536];
} complaint;

// Keeps the sentence and returns false: `return complain(why, "%s: ...", path)`.
bool complain(complaint *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The same with the sentence of the library's last failure on this thread.
bool complain_weft(complaint *why);

// The same for a failed OpenCL call: "clFinish failed with OpenCL error -36".
bool complain_cl(complaint *why, const char *call, int code);

#endif
