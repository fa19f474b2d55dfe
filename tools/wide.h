// SPDX-License-Identifier: Apache-2.0
// The arithmetic type of the references.
#ifndef WEFT_TOOLS_WIDE_H
#define WEFT_TOOLS_WIDE_H

// The widest of C: more exact than the device's f64 if the compiler has such a type.
typedef long double wide;

#endif
