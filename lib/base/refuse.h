// SPDX-License-Identifier: Apache-2.0
// How a plan says which variants it does without: `return density >= 0.4 || refuse("windows of B",
// "5% of A are entries, ...")`. A rehearsal on this thread listens; else nothing happens.
#ifndef WEFT_LIB_REFUSE_H
#define WEFT_LIB_REFUSE_H

#include <weft/limits.h>

// Always false, which is also 0 of whatever is asked for.
bool weft_refuse(const char *variant, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define refuse weft_refuse

// Whoever is told from here on, on this thread; NULL for nobody. The texts are good for the call.
typedef void (*weft_refuse_fn)(void *user, const char *variant, const char *reason);
void weft_refuse_listen(weft_refuse_fn told, void *user);

// The `user` that was last given on this thread.
void *weft_refuse_listener(void);

// From `true` to its `false` nobody listens on this thread: to plans on the way to others.
void weft_refuse_unheard(bool unheard);

// What every plan asks first: whether lanes are elements of an item's vectors, or items.
bool weft_lanes_are_folded(const weft_limits *limits);

#endif
