// SPDX-License-Identifier: Apache-2.0
// An OpenCL with one device, which compiles nothing and runs nothing: it answers as a profile would
// and keeps what the library hands it to build and to launch. It is linked in place of the loader
// of implementations.
#ifndef WEFT_TESTS_VENDORS_RECORDER_H
#define WEFT_TESTS_VENDORS_RECORDER_H

#include <jansson.h>
#include <weft/context.h>

// From here on the device is this one, and nothing has been built. `limits` stay the caller's.
void recorder_begin(const weft_limits *limits);

// What is built from here on is for that problem; the text is copied.
void recorder_problem(const char *words);

cl_context recorder_context(void);
cl_device_id recorder_device(void);
cl_command_queue recorder_queue(void);

// All device code that was built since the program began; the caller's to release.
json_t *recorder_sources(void);

// All that was built since recorder_begin(), in the order of building; the caller's to release:
//
//   [{"source": 3, "options": "-cl-std=CL1.2 ...", "problem": "the first that wanted it",
//     "kernels": [{"name": "spmm_csr_rows", "items": [32, 8, 1], "local_bytes": 0,
//                  "problems": ["those that launched it", ...]}, ...]}, ...]
//
// `source` counts within recorder_sources(). `kernels` are those that the library asked for;
// `items`, and `local_bytes`, of local memory that arguments bring, are those of the largest
// launch, and 0 where there was none.
json_t *recorder_programs(void);

#endif
