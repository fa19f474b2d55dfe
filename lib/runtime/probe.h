// SPDX-License-Identifier: Apache-2.0
// What a device says of its groups, and what kernels on it really get.
#ifndef WEFT_LIB_PROBE_H
#define WEFT_LIB_PROBE_H

#include "runtime/ocl.h"

// Lowers the device's own limits to groups that its kernels take. Where a group may have several
// items the least kernel there is, cl/runtime/probe.cl, is compiled or found on disk, and asked;
// limits whose groups are one item are left alone, and nothing is compiled. The same device gives
// the same limits, whatever was done with it before. A kernel that does not compile or gives no
// answer changes nothing, and is a warning in the log: what a kernel takes is asked after each
// build too. `ctx` needs its device and its cache by now; its statistics do not count the probe.
void weft_limits_probe(weft_context *ctx, weft_limits *limits);

#endif
