// SPDX-License-Identifier: Apache-2.0
// A clock that never goes back.
#ifndef WEFT_LIB_CLOCK_H
#define WEFT_LIB_CLOCK_H

// Seconds since some moment.
double weft_clock(void);

#endif
