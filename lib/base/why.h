// SPDX-License-Identifier: Apache-2.0
// The receiver of the reasons for which a plan does not use variants.
#ifndef WEFT_LIB_WHY_H
#define WEFT_LIB_WHY_H

// The texts are valid during the call.
typedef struct weft_why {
    void (*refused)(void *user, const char *variant, const char *reason);
    void *user;
} weft_why;

#endif
