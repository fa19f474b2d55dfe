// SPDX-License-Identifier: Apache-2.0
// How a test finds the layer layer/faults.c, which the runner has put before the implementation: it
// is the last one where there are several. (The loader cuts $OPENCL_LAYERS to row chunks.)
// Include after runtime.h.
#ifndef WEFT_TESTS_FAULT_LAYER_H
#define WEFT_TESTS_FAULT_LAYER_H

#include <dlfcn.h>

#include "layer/faults.h"

// After the first OpenCL call, which loads it, and before any test. Skips them all where the loader
// knows no layers.
static inline layer_faults *need_layer(void)
{
    const char *layers = getenv("WEFT_TEST_LAYER");
    const char *colon = layers ? strrchr(layers, ':') : NULL;
    const char *path = colon ? colon + 1 : layers;
    const bool is_loaded = path && dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    void *handle = path ? dlopen(path, RTLD_LAZY) : NULL;
    layer_faults *found = handle ? dlsym(handle, "weft_layer_faults") : NULL;
    if (!found) {
        printf("Bail out! there is no layer \"%s\"\n", path ? path : "");
        exit(2);
    }
    if (!is_loaded) {
        printf("1..0 # SKIP the loader knows no layers\n");
        exit(0);
    }
    return found;
}

// Lets every call through again, whatever a test before has left.
static inline void restore_layer(layer_faults *layer)
{
    layer->watches = layer->only_makers = layer->goes_on = false;
    layer->fails_at = 0;
    layer->most_of_one = layer->most_of_all = 0;
    layer->gate = NULL;
}

#endif
