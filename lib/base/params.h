// SPDX-License-Identifier: Apache-2.0
// Params of any size, from callers that were compiled with an older or a newer header.
#ifndef WEFT_LIB_PARAMS_H
#define WEFT_LIB_PARAMS_H

#include <stddef.h>
#include <weft/status.h>

enum { WEFT_PARAMS_MOST_BYTES = 4096 }; // of a struct: a larger size is refused

// Copies `given`, which begins with its own size, to the `bytes` of `own`. Fields that a smaller
// struct lacks are 0, and so are all if `given` is NULL. A larger one is refused if a byte for
// which `own` has no field is not 0. Messages begin with `what` and name `macro`, which fills in
// the size.
//
// So a struct may only grow: by fields behind the last one and its padding, where 0 means the
// behaviour without the field.
weft_status weft_params_read(void *own, size_t bytes, const void *given, const char *what,
                             const char *macro);

#define PARAMS_READ(own, given, what, macro)                                                       \
    weft_params_read(own, sizeof(*(own)), given, what, macro)

#endif
