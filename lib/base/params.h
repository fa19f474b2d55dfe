// SPDX-License-Identifier: Apache-2.0
// Params of any size: what a caller that was compiled with an older or a newer header hands in.
#ifndef WEFT_LIB_PARAMS_H
#define WEFT_LIB_PARAMS_H

#include <stddef.h>
#include <weft/status.h>

enum { WEFT_PARAMS_MOST_BYTES = 4096 }; // of a struct: what passes that is no size

// Copies `given`, which begins with its own size, to the `bytes` of `own`. What a smaller struct
// lacks is 0, and so is everything where `given` is NULL. A larger one is refused where it holds
// anything that `own` has no field for. Messages begin with `what` and name `macro`, which fills in
// the size.
//
// So a struct may only grow: by fields behind the last one and its padding, of which 0 means what
// was done before there was the field.
weft_status weft_params_read(void *own, size_t bytes, const void *given, const char *what,
                             const char *macro);

#define PARAMS_READ(own, given, what, macro)                                                       \
    weft_params_read(own, sizeof(*(own)), given, what, macro)

#endif
