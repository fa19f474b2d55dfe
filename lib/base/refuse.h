// SPDX-License-Identifier: Apache-2.0
// Why a plan does without a variant: `return density >= 0.4 || refuse(p->why, "windows of B",
// "5% of A are entries, ...")`. Whoever asks for a plan says where reasons go; NULL is nowhere, and
// costs nothing.
#ifndef WEFT_LIB_REFUSE_H
#define WEFT_LIB_REFUSE_H

#include <stdbool.h>

#include "base/why.h"

// Always false, which is also 0 of whatever is asked for.
bool weft_refuse(const weft_why *why, const char *variant, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define refuse weft_refuse

#endif
