// SPDX-License-Identifier: Apache-2.0
// Why a plan does not use a variant: `return density >= 0.4 || refuse(p->why, "k-blocks of B",
// "5% of A are entries, ...")`. The caller of a plan passes the receiver of reasons; NULL is none,
// and costs nothing.
#ifndef WEFT_LIB_REFUSE_H
#define WEFT_LIB_REFUSE_H

#include <stdbool.h>

#include "base/printf.h"
#include "base/why.h"

// Always false, and so 0 as a number.
bool weft_refuse(const weft_why *why, const char *variant, const char *format, ...)
    WEFT_PRINTF(3, 4);

#define refuse weft_refuse

#endif
