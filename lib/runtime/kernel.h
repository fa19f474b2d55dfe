// SPDX-License-Identifier: Apache-2.0
// A kernel, for the code that creates and enqueues it.
#ifndef WEFT_LIB_KERNEL_H
#define WEFT_LIB_KERNEL_H

#include "base/os.h"
#include "runtime/ocl.h"

typedef struct weft_kernel weft_kernel;

enum { WEFT_SET_BYTES = 3072 };

struct weft_kernel {
    weft_kernel *next; // of the same program
    char *name;
    const char *source_name, *source_text, *options; // the program's
    cl_kernel cl;                                    // NULL in a rehearsal on no device
    weft_lock lock;                                  // around setting arguments and enqueuing
    size_t max_items;

    // The arguments that were last set: size and value of each, one after the other.
    size_t n_set; // 0: not known
    unsigned char set[WEFT_SET_BYTES];
};

#endif
