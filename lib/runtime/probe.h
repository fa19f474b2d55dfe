// SPDX-License-Identifier: Apache-2.0
// Corrects the group size that a device claims to the one that kernels get.
#ifndef WEFT_LIB_PROBE_H
#define WEFT_LIB_PROBE_H

#include "runtime/ocl.h"

// Lowers the device's own limits to groups that its kernels take. If a group may have several
// items, a minimal kernel, cl/runtime/probe.cl, is compiled or loaded from disk, and queried;
// limits whose groups are one item are unchanged, and nothing is compiled. The same device always
// gets the same limits. If the kernel does not compile or gives no answer, nothing changes, and a
// warning is logged: each kernel is also queried after its build. `ctx` must have its device and
// its cache; its statistics do not count the probe.
void weft_limits_probe(weft_context *ctx, weft_limits *limits);

#endif
