// SPDX-License-Identifier: Apache-2.0
// A device's properties as weft_limits. Vendors are known in this file only.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/os.h"
#include "base/process.h"
#include "runtime/known_faults.h"
#include "runtime/ocl.h"

// A property, and its value if a device gives no answer.
typedef struct fact {
    cl_device_info query;
    uint64_t fallback;
} fact;

static const fact device_type = {CL_DEVICE_TYPE, 0};
static const fact compute_units = {CL_DEVICE_MAX_COMPUTE_UNITS, 1};
static const fact group_items = {CL_DEVICE_MAX_WORK_GROUP_SIZE, 64};
static const fact native_floats = {CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, 1};
static const fact multiple = {CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, 1}; // OpenCL 3.0
static const fact nv_warp = {CL_DEVICE_WARP_SIZE_NV, 1};
static const fact intel_threads = {CL_DEVICE_NUM_THREADS_PER_EU_INTEL, 0}; // of a compute unit
static const fact subgroups = {CL_DEVICE_MAX_NUM_SUB_GROUPS, 0};           // of a group
static const fact amd_wavefront = {CL_DEVICE_WAVEFRONT_WIDTH_AMD, 1};
static const fact local_kind = {CL_DEVICE_LOCAL_MEM_TYPE, CL_GLOBAL};
static const fact local_size = {CL_DEVICE_LOCAL_MEM_SIZE, 16 << 10}; // half the least allowed
static const fact global_size = {CL_DEVICE_GLOBAL_MEM_SIZE, 512 << 20};
static const fact alloc_size = {CL_DEVICE_MAX_MEM_ALLOC_SIZE, 128 << 20}; // the least of 1.2
static const fact address_bits = {CL_DEVICE_ADDRESS_BITS, 64};
static const fact cache_size = {CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, 0};
static const fact cache_line = {CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, 64};
static const fact single_config = {CL_DEVICE_SINGLE_FP_CONFIG, 0};
static const fact double_config = {CL_DEVICE_DOUBLE_FP_CONFIG, 0};
// Items along a dimension: 1. Names and extension lists: empty. Sub-group sizes: none.

typedef struct device_query {
    cl_device_id device;
    char *extensions;
    int n_answers;
} device_query;

// Answers come as cl_uint, cl_ulong or size_t.
static uint64_t query(device_query *a, fact f)
{
    union {
        cl_uint u32;
        cl_ulong u64;
    } answer;
    size_t size = 0;
    if (clGetDeviceInfo(a->device, f.query, sizeof(answer), &answer, &size) != CL_SUCCESS)
        return f.fallback;
    a->n_answers++;
    return size == sizeof(cl_uint)    ? answer.u32
           : size == sizeof(cl_ulong) ? answer.u64
                                      : f.fallback;
}

static uint64_t query_positive(device_query *a, fact f)
{
    const uint64_t answer = query(a, f);
    return answer ? answer : f.fallback;
}

// The same as an int, at least 1.
static int query_count(device_query *a, fact f)
{
    return (int)min_i64((int64_t)(query_positive(a, f) & INT64_MAX), INT32_MAX);
}

static bool has_extension(const device_query *a, const char *name)
{
    return weft_is_extension_in(a->extensions, name);
}

// A width of 1 is no information, nor is one that is not a power of two.
static bool is_warp(size_t width)
{
    return width > 1 && width <= 128 && (width & (width - 1)) == 0;
}

// Sizes of sub-groups: the least, and the largest up to 16, with which most kernels are compiled,
// else the least again; 0 if there are none. Sizes that are not warps are ignored.
typedef struct subgroups_offered {
    int least, usual;
} subgroups_offered;

static subgroups_offered intel_subgroups(const device_query *a)
{
    subgroups_offered out = {0};
    size_t size = 0;
    if (!has_extension(a, "cl_intel_required_subgroup_size") ||
        clGetDeviceInfo(a->device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, 0, NULL, &size) != CL_SUCCESS)
        return out;
    size_t *sizes = calloc(size + 1, 1);
    if (!sizes || clGetDeviceInfo(a->device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, size, sizes, NULL) !=
                      CL_SUCCESS)
        size = 0;
    for (size_t i = 0; i < size / sizeof(*sizes); i++) {
        const int items = is_warp(sizes[i]) ? (int)sizes[i] : 0;
        if (items > 0 && (out.least == 0 || items < out.least))
            out.least = items;
        if (items <= 16 && items > out.usual)
            out.usual = items;
    }
    free(sizes);
    out.usual = out.usual > 0 ? out.usual : out.least;
    return out;
}

static int warp_of_items(device_query *a, weft_device_kind kind)
{
    int warp = has_extension(a, "cl_nv_device_attribute_query") ? query_count(a, nv_warp) : 1;
    if (!is_warp((size_t)warp) && has_extension(a, "cl_amd_device_attribute_query"))
        warp = query_count(a, amd_wavefront);
    if (!is_warp((size_t)warp))
        warp = intel_subgroups(a).usual;
    if (!is_warp((size_t)warp))
        warp = query_count(a, multiple);
    if (!is_warp((size_t)warp))
        warp = kind == WEFT_DEVICE_GPU ? 32 : 8;
    return warp;
}

static weft_device_kind kind_of(uint64_t type)
{
    if (type & CL_DEVICE_TYPE_GPU)
        return WEFT_DEVICE_GPU;
    return type & CL_DEVICE_TYPE_CPU ? WEFT_DEVICE_CPU : WEFT_DEVICE_OTHER;
}

static void query_items(device_query *a, weft_limits *out)
{
    cl_uint n = 0;
    size_t along[16] = {0};
    out->max_items = (size_t)query_positive(a, group_items);
    if (clGetDeviceInfo(a->device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS, sizeof(n), &n, NULL) !=
            CL_SUCCESS ||
        n > sizeof(along) / sizeof(along[0]) ||
        clGetDeviceInfo(a->device, CL_DEVICE_MAX_WORK_ITEM_SIZES, n * sizeof(along[0]), along,
                        NULL) != CL_SUCCESS)
        along[0] = out->max_items;
    for (int i = 0; i < 3; i++)
        out->max_items_along[i] = along[i] ? along[i] : 1;
}

// Lanes are the elements of a vector in one item.
static void shape_for_vectors(weft_limits *out, int width)
{
    out->vector_width = out->warp = (int)pow2_down(min_i64(width, 16));
    out->vectors = 8;
    out->max_block = out->vector_width * out->vectors;
    out->max_items_y = 1;
    out->max_blocks = (int)min_i64((int64_t)out->compute_units * 4, INT32_MAX);
    out->load_bytes = out->vector_width * (int)sizeof(float);
}

// Resident lanes of a compute unit: 2048 on most, but Intel's are small.
static int resident_lanes(device_query *a, int warp)
{
    int threads = 0;
    if (has_extension(a, "cl_intel_device_attribute_query"))
        threads = (int)min_i64((int64_t)query(a, intel_threads), 64);
    return threads > 0 ? threads * warp : 2048;
}

// Lanes are items.
static void shape_for_items(device_query *a, weft_limits *out)
{
    const size_t items =
        out->max_items < out->max_items_along[0] ? out->max_items : out->max_items_along[0];
    const size_t items_y = out->max_items_along[1];
    out->vector_width = out->vectors = 1;
    out->max_block = (int)pow2_down(items < 1024 ? (int64_t)items : 1024);
    out->warp = (int)min_i64(warp_of_items(a, out->kind), out->max_block);
    out->max_items_y =
        (int)pow2_down(items_y < (size_t)out->max_block ? (int64_t)items_y : out->max_block);
    const int64_t lanes = (int64_t)out->compute_units * resident_lanes(a, out->warp);
    out->max_blocks = (int)min_i64(max_i64(lanes / out->max_block, 1), INT32_MAX);
    out->load_bytes = 16;
}

static void query_shape(device_query *a, weft_limits *out)
{
    const int width = query_count(a, native_floats);
    query_items(a, out);
    out->failed_trials = weft_known_faults(a->device, width);
    const bool has_vectors = !(out->failed_trials & WEFT_TRIAL_VECTORS);
    if (has_vectors && out->kind == WEFT_DEVICE_CPU && width > 1)
        shape_for_vectors(out, width);
    else
        shape_for_items(a, out);
}

// OpenCL has no query for the caches of a core. A CPU device is the host, and some systems know
// them; some machines answer 0 or nonsense.
static void query_near_caches(weft_limits *out)
{
    const uint64_t l1 = weft_os_cache_bytes(1), l2 = weft_os_cache_bytes(2);
    out->l1_bytes = l1 >= 4 << 10 && l1 <= 1 << 20 ? l1 : 0;
    out->l2_bytes = l2 >= 64 << 10 && l2 <= 64 << 20 && l2 > l1 ? l2 : 0;
}

static void query_memory(device_query *a, weft_limits *out)
{
    if (out->kind == WEFT_DEVICE_CPU)
        query_near_caches(out);
    out->local_is_fast = query(a, local_kind) == CL_LOCAL;
    out->local_bytes = (size_t)query(a, local_size);
    out->global_bytes = query_positive(a, global_size);
    out->max_alloc_bytes = query_positive(a, alloc_size);
    // A kernel has no pointers to the rest.
    if (query(a, address_bits) == 32 && out->max_alloc_bytes > UINT32_MAX)
        out->max_alloc_bytes = UINT32_MAX;
    out->cache_bytes = query(a, cache_size);
    const int line = query_count(a, cache_line);
    out->cache_line_bytes = line <= 4096 ? line : (int)cache_line.fallback;
}

// Sub-groups are an extension, cl_khr_subgroups, or OpenCL's own: without them, a group has none.
static bool has_relative_shuffles(device_query *a)
{
    return has_extension(a, "cl_khr_subgroup_shuffle_relative") && query(a, subgroups) > 0;
}

bool weft_device_has_own_subgroups(cl_device_id device)
{
    device_query a = {.device = device,
                      .extensions = weft_device_text(device, CL_DEVICE_EXTENSIONS)};
    const bool are_own = a.extensions && has_relative_shuffles(&a) &&
                         !has_extension(&a, "cl_khr_subgroups") &&
                         !has_extension(&a, "cl_intel_subgroups");
    free(a.extensions);
    return are_own;
}

// Mesa's llvmpipe takes loops for endless after this many iterations.
enum { LLVMPIPE_ITERATIONS = 65535 };

// FP_FAST_FMAF is visible to device code only; the host sees whether fma() is correctly supported.
static void query_abilities(device_query *a, weft_limits *out)
{
    out->has_f64 = query(a, double_config) != 0 || has_extension(a, "cl_khr_fp64");
    out->has_f16 = has_extension(a, "cl_khr_fp16");
    out->has_fma = query(a, single_config) & CL_FP_FMA;
    out->has_subgroups =
        has_extension(a, "cl_intel_subgroups") ||
        has_extension(a, "cl_nv_device_attribute_query") || // by PTX, see cl/base/shuffle.clh
        has_relative_shuffles(a);
    out->least_subgroup = out->kind == WEFT_DEVICE_GPU ? intel_subgroups(a).least : 0;
    out->max_iterations = strncmp(out->name, "llvmpipe", 8) == 0 ? LLVMPIPE_ITERATIONS : 0;
}

bool weft_device_keeps_programs(cl_device_id device)
{
    cl_platform_id platform = NULL;
    if (clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL) !=
        CL_SUCCESS)
        return false;
    char *name = weft_platform_text(platform, CL_PLATFORM_NAME);
    const bool is_pocl = name && strcmp(name, "Portable Computing Language") == 0;
    free(name);
    return is_pocl;
}

weft_status weft_limits_query(cl_device_id device, weft_limits *out)
{
    if (!device || !out)
        return fail(WEFT_BAD_ARGUMENT, "limits: %s is NULL", out ? "the device" : "out");
    TRY(weft_process_check("limits"));
    *out = (weft_limits){0};
    device_query a = {.device = device,
                      .extensions = weft_device_text(device, CL_DEVICE_EXTENSIONS)};
    char *name = weft_device_text(device, CL_DEVICE_NAME);
    weft_status status = WEFT_OK;
    if (!name || !a.extensions) {
        status = fail(WEFT_NO_MEMORY, "limits: no memory for a device's name and extensions");
        goto done;
    }
    snprintf(out->name, sizeof(out->name), "%s", name);
    out->kind = kind_of(query(&a, device_type));
    out->compute_units = query_count(&a, compute_units);
    query_shape(&a, out);
    query_memory(&a, out);
    query_abilities(&a, out);
    if (a.n_answers == 0)
        status = fail(WEFT_DEVICE_LOST, "limits: the device answers none of the questions");

done:
    free(name);
    free(a.extensions);
    return status;
}
