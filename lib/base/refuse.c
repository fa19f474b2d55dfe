// SPDX-License-Identifier: Apache-2.0
// What plans do without, told to whoever listens on the thread.
#include "base/refuse.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local weft_refuse_fn listener;
static _Thread_local void *listener_user;
static _Thread_local int n_unheard; // who wants it so

void weft_refuse_listen(weft_refuse_fn told, void *user)
{
    listener = told;
    listener_user = user;
}

void *weft_refuse_listener(void)
{
    return listener_user;
}

void weft_refuse_unheard(bool unheard)
{
    n_unheard += unheard ? 1 : -1;
}

bool weft_refuse(const char *variant, const char *format, ...)
{
    if (!listener || n_unheard > 0)
        return false;
    char reason[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    listener(listener_user, variant, reason);
    return false;
}

bool weft_lanes_are_folded(const weft_limits *limits)
{
    if (limits->fold == 1)
        return refuse("lanes as elements of vectors", "the device's lanes are items");
    refuse("lanes as items", "an item of the device has vectors of %d lanes", limits->fold);
    return true;
}
