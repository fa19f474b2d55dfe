// SPDX-License-Identifier: Apache-2.0
// How a test finds the layer layer/faults.c, which the runner has put before the implementation: it
// is the last one where there are several. (The loader cuts $OPENCL_LAYERS to pieces.)
// Include after runtime.h.
#ifndef WEFT_TESTS_FAULT_LAYER_H
#define WEFT_TESTS_FAULT_LAYER_H

#include <dlfcn.h>

#include "layer/faults.h"

// After the first OpenCL call, which loads it.
static inline layer_faults *find_layer(void)
{
    const char *layers = getenv("WEFT_TEST_LAYER");
    const char *colon = layers ? strrchr(layers, ':') : NULL;
    void *handle = layers ? dlopen(colon ? colon + 1 : layers, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    layer_faults *found = handle ? dlsym(handle, "weft_layer_faults") : NULL;
    if (!found)
        fail_msg("the loader has not loaded the layer \"%s\"", layers ? layers : "");
    dlclose(handle);
    return found;
}

#endif
