// SPDX-License-Identifier: Apache-2.0
// Error reports of the program's parts: false, and one sentence with names and numbers.
#ifndef WEFT_TOOLS_COMPLAINT_H
#define WEFT_TOOLS_COMPLAINT_H

#include <stdbool.h>

#include <weft/status.h>

typedef struct complaint {
    char text[1536];
    bool is_usage; // of words of the command line: the program ends as after wrong options
} complaint;

// Stores the sentence, and is false: `return complain(why, "%s: ...", path)`. A macro, so that
// static analysers, which read a call alone, see that it is.
#define complain(...) (complaint_keep(__VA_ARGS__), false)
void complaint_keep(complaint *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The same for errors in the command line, whatever the device and the files are.
#define complain_usage(...) (complaint_keep_usage(__VA_ARGS__), false)
void complaint_keep_usage(complaint *why, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The same with the sentence of the library's last failure on this thread.
#define complain_weft(why) complain(why, "%s", weft_last_error())

// The same for a failed OpenCL call: "clFinish failed with OpenCL error -36".
#define complain_cl(why, call, code) complain(why, "%s failed with OpenCL error %d", call, code)

#endif
