// SPDX-License-Identifier: Apache-2.0
// Who wants to know why a plan does without variants.
#ifndef WEFT_LIB_WHY_H
#define WEFT_LIB_WHY_H

// The texts are good for the call.
typedef struct weft_why {
    void (*told)(void *user, const char *variant, const char *reason);
    void *user;
} weft_why;

#endif
