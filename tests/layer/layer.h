// SPDX-License-Identifier: Apache-2.0
// What all OpenCL layers here have in common: how they stand before an implementation, and what
// they say of themselves. Include once.
#ifndef WEFT_TESTS_LAYER_LAYER_H
#define WEFT_TESTS_LAYER_LAYER_H

#include <string.h>

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_layer.h>

#include "give.h"

static const cl_icd_dispatch *target; // the implementation's calls, or those of a layer behind
static cl_icd_dispatch layer;         // the same, but for what a layer does itself

#define GIVE(value) give(&(value), sizeof(value), room, out, needed)

static cl_int layer_info(const char *name, cl_layer_info what, size_t room, void *out,
                         size_t *needed)
{
    const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    switch (what) {
    case CL_LAYER_API_VERSION:
        return GIVE(version);
    case CL_LAYER_NAME:
        return give(name, strlen(name) + 1, room, out, needed);
    }
    return CL_INVALID_VALUE;
}

static cl_int layer_init(cl_uint n, const cl_icd_dispatch *next, cl_uint *n_out,
                         const cl_icd_dispatch **out)
{
    const cl_uint most = sizeof(layer) / sizeof(layer.clGetPlatformIDs);
    if (!next || !n_out || !out)
        return CL_INVALID_VALUE;
    *n_out = n < most ? n : most;
    memcpy(&layer, next, *n_out * sizeof(layer.clGetPlatformIDs));
    target = next;
    *out = &layer;
    return CL_SUCCESS;
}

// What the loader calls. install() puts the layer's own calls into `layer`.
#define DEFINE_LAYER(name, install)                                                                \
    CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info what, size_t room, void *out,     \
                                                   size_t *needed)                                 \
    {                                                                                              \
        return layer_info(name, what, room, out, needed);                                          \
    }                                                                                              \
                                                                                                   \
    CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint n, const cl_icd_dispatch *next,            \
                                                cl_uint *n_out, const cl_icd_dispatch **out)       \
    {                                                                                              \
        const cl_int code = layer_init(n, next, n_out, out);                                       \
        if (code == CL_SUCCESS)                                                                    \
            install();                                                                             \
        return code;                                                                               \
    }

#endif
