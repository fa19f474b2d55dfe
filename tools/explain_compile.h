// SPDX-License-Identifier: Apache-2.0
// weft explain --compile: what the compiler of a profile's vendor makes of the kernels.
#ifndef WEFT_TOOLS_EXPLAIN_COMPILE_H
#define WEFT_TOOLS_EXPLAIN_COMPILE_H

#include "explain.h"

// The answer of tools/assembly, a Python program, to launches of `answer`; a new object:
//
//   {"kernels": [...], "time": {...}, "text": "the same for people"}   as docs/performance.md says
//   {"failure": "there is no ocloc: ...", "is_missing": true}          what is to be installed
//   {"failure": "...", "is_missing": false}                            nothing to be done about it
//
// NULL without Python, without that program, or where it ended with an error.
json_t *explain_compile(const explanation *answer, const char *op, complaint *why);

#endif
