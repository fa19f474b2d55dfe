// SPDX-License-Identifier: Apache-2.0
// What is made of a device's answers. The devices are pretended: clGetDeviceInfo() is here.
#define _POSIX_C_SOURCE 200809L // sysconf

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <weft/context.h>

#include <CL/cl_ext.h>

#include "layer/give.h"
#include "random.h"

bool weft_device_has_own_subgroups(cl_device_id id); // of ocl.h, whose fail() is not cmocka's

typedef struct pretended {
    const char *name;             // NULL: "pretended"
    const char *version, *driver; // NULL: ""
    uint64_t type;
    uint32_t units, float_width;
    size_t group, along[3];
    const char *extensions;
    uint32_t nv_warp, amd_wavefront, intel_threads;
    size_t subgroup_sizes[8], n_subgroup_sizes, multiple;
    uint32_t max_subgroups, local_type;
    uint64_t single_config, double_config;
    cl_device_info silent; // this query fails
    bool all_silent;
    random_state *noise; // numbers at random
} pretended;

static pretended device;

static uint64_t number_of(cl_device_info what)
{
    switch (what) {
    case CL_DEVICE_TYPE:
        return device.type;
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        return device.units;
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
        return device.float_width;
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return device.group;
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
        return 3;
    case CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return device.multiple;
    case CL_DEVICE_WARP_SIZE_NV:
        return device.nv_warp;
    case CL_DEVICE_WAVEFRONT_WIDTH_AMD:
        return device.amd_wavefront;
    case CL_DEVICE_NUM_THREADS_PER_EU_INTEL:
        return device.intel_threads;
    case CL_DEVICE_MAX_NUM_SUB_GROUPS:
        return device.max_subgroups;
    case CL_DEVICE_LOCAL_MEM_TYPE:
        return device.local_type;
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return 32768;
    case CL_DEVICE_GLOBAL_MEM_SIZE:
        return UINT64_C(8) << 30;
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        return UINT64_C(2) << 30;
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
        return 1 << 20;
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
        return 128;
    case CL_DEVICE_SINGLE_FP_CONFIG:
        return device.single_config;
    case CL_DEVICE_DOUBLE_FP_CONFIG:
        return device.double_config;
    }
    return UINT64_MAX;
}

static bool is_u32(cl_device_info what)
{
    switch (what) {
    case CL_DEVICE_MAX_COMPUTE_UNITS:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS:
    case CL_DEVICE_WARP_SIZE_NV:
    case CL_DEVICE_WAVEFRONT_WIDTH_AMD:
    case CL_DEVICE_NUM_THREADS_PER_EU_INTEL:
    case CL_DEVICE_MAX_NUM_SUB_GROUPS:
    case CL_DEVICE_LOCAL_MEM_TYPE:
    case CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE:
        return true;
    }
    return false;
}

static uint64_t noise(uint64_t otherwise)
{
    if (!device.noise || random_below(device.noise, 3) == 0)
        return otherwise;
    static const uint64_t odd[] = {0, 1, 2, 3, 7, 1000, INT32_MAX, UINT32_MAX, UINT64_MAX};
    return odd[random_below(device.noise, sizeof(odd) / sizeof(odd[0]))];
}

static cl_int give_text(const char *text, size_t room, void *out, size_t *needed)
{
    return give(text ? text : "", text ? strlen(text) + 1 : 1, room, out, needed);
}

cl_int clGetDeviceInfo(cl_device_id id, cl_device_info what, size_t room, void *out, size_t *needed)
{
    assert_non_null(id);
    if (device.all_silent || what == device.silent)
        return CL_INVALID_VALUE;
    if (what == CL_DEVICE_NAME) {
        const char *name = device.name ? device.name : "pretended";
        return give(name, strlen(name) + 1, room, out, needed);
    }
    if (what == CL_DEVICE_VERSION || what == CL_DRIVER_VERSION)
        return give_text(what == CL_DEVICE_VERSION ? device.version : device.driver, room, out,
                         needed);
    if (what == CL_DEVICE_EXTENSIONS)
        return give(device.extensions, strlen(device.extensions) + 1, room, out, needed);
    if (what == CL_DEVICE_SUB_GROUP_SIZES_INTEL)
        return give(device.subgroup_sizes, device.n_subgroup_sizes * sizeof(size_t), room, out,
                    needed);
    if (what == CL_DEVICE_MAX_WORK_ITEM_SIZES) {
        size_t along[3];
        for (int i = 0; i < 3; i++)
            along[i] = (size_t)noise(device.along[i]);
        return give(along, sizeof(along), room, out, needed);
    }
    const uint64_t number = noise(number_of(what));
    const uint32_t narrow = (uint32_t)number;
    return is_u32(what) ? give(&narrow, sizeof(narrow), room, out, needed)
                        : give(&number, sizeof(number), room, out, needed);
}

static weft_limits queried(const pretended *what)
{
    weft_limits out;
    device = *what;
    if (weft_limits_query((cl_device_id)&device, &out) != WEFT_OK ||
        weft_limits_check(&out) != WEFT_OK)
        fail_msg("%s", weft_last_error());
    return out;
}

static const pretended nvidia = {
    .type = CL_DEVICE_TYPE_GPU,
    .units = 80,
    .float_width = 1,
    .group = 1024,
    .along = {1024, 1024, 64},
    .extensions = "cl_khr_fp64 cl_nv_device_attribute_query cl_khr_icd",
    .nv_warp = 32,
    .multiple = 64,
    .local_type = CL_LOCAL,
    .single_config = CL_FP_FMA | CL_FP_INF_NAN,
    .double_config = CL_FP_FMA,
};

static const pretended amd = {
    .type = CL_DEVICE_TYPE_GPU,
    .units = 110,
    .float_width = 1,
    .group = 256,
    .along = {1024, 1024, 1024},
    .extensions = "cl_khr_fp16 cl_amd_device_attribute_query cl_khr_subgroups",
    .nv_warp = 16, // its extension is not named: not looked at
    .amd_wavefront = 64,
    .local_type = CL_LOCAL,
    .single_config = CL_FP_FMA,
};

static const pretended intel = {
    .type = CL_DEVICE_TYPE_GPU,
    .units = 96,
    .float_width = 1,
    .group = 512,
    .along = {512, 512, 512},
    .extensions = "cl_khr_fp16 cl_intel_required_subgroup_size cl_intel_subgroups "
                  "cl_intel_device_attribute_query",
    .intel_threads = 7,
    .subgroup_sizes = {8, 32, 0, 16},
    .n_subgroup_sizes = 4,
    .multiple = 64,
    .local_type = CL_LOCAL,
    .single_config = CL_FP_FMA,
};

static const pretended pocl = {
    .type = CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_DEFAULT,
    .units = 2,
    .float_width = 16,
    .group = 4096,
    .along = {4096, 4096, 4096},
    .extensions = "cl_khr_fp64",
    .multiple = 8,
    .local_type = CL_GLOBAL,
    .single_config = CL_FP_FMA,
    .double_config = CL_FP_FMA,
};

static void test_nvidia(void **state)
{
    (void)state;
    const weft_limits limits = queried(&nvidia);
    assert_string_equal(limits.name, "pretended");
    assert_int_equal(limits.kind, WEFT_DEVICE_GPU);
    assert_int_equal(limits.warp, 32);
    assert_int_equal(limits.vector_width, 1);
    assert_int_equal(limits.vectors, 1);
    assert_int_equal(limits.max_block, 1024);
    assert_int_equal(limits.max_items_y, 1024);
    assert_int_equal(limits.max_blocks, 160);
    assert_int_equal(limits.load_bytes, 16);
    assert_int_equal(limits.cache_line_bytes, 128);
    assert_int_equal(limits.max_items_along[2], 64);
    assert_true(limits.local_is_fast && limits.has_f64 && limits.has_fma && limits.has_subgroups);
    assert_false(limits.has_f16);
}

static void test_amd(void **state)
{
    (void)state;
    const weft_limits limits = queried(&amd);
    assert_int_equal(limits.warp, 64);
    assert_int_equal(limits.max_block, 256);
    assert_int_equal(limits.max_blocks, 110 * 8);
    assert_true(limits.has_f16);
    assert_false(limits.has_f64 || limits.has_subgroups);
    assert_int_equal(limits.least_subgroup, 0);
}

static void test_intel(void **state)
{
    (void)state;
    const weft_limits limits = queried(&intel);
    assert_int_equal(limits.warp, 16);
    assert_int_equal(limits.max_block, 512);
    assert_int_equal(limits.max_blocks, 96 * 7 * 16 / 512);
    assert_true(limits.has_subgroups);
    assert_int_equal(limits.least_subgroup, 8);

    pretended wide = intel; // only wider ones, and a zero
    wide.subgroup_sizes[0] = 64;
    wide.subgroup_sizes[3] = 0;
    assert_int_equal(queried(&wide).warp, 32);
    assert_int_equal(queried(&wide).least_subgroup, 32);

    pretended odd = intel; // one that is no power of two
    odd.subgroup_sizes[3] = 12;
    assert_int_equal(queried(&odd).warp, 8);
}

// PoCL before 3.1, whose built-in functions are the processor's, and whose code is its compiler's.
static void test_vectors_that_end_the_compiler(void **state)
{
    (void)state;
    static const struct {
        const char *processor, *driver;
        uint32_t width;
        bool is_broken;
    } known[] = {
        {"pthread-x86_64-unknown-linux-gnu-znver3", "3.0-rc2", 16, true}, // that is Zen 4
        {"pthread-x86_64-unknown-linux-gnu-znver3", "3.0-rc2", 8, false},
        {"pthread-x86_64-pc-linux-gnu-skylake-avx512", "1.8", 16, false},
        {"pthread-x86_64-pc-linux-gnu-icelake-client", "3.0", 16, false},
        {"pthread-x86_64-pc-linux-gnu-x86-64", "3.0", 8, true}, // that is one it does not know
        {"pthread-x86_64-pc-linux-gnu-x86-64", "3.0", 4, false},
        {"pthread-aarch64-unknown-linux-gnu-generic", "3.0", 4, false},
        {"pthread-x86_64-pc-linux-gnu-znver3", "3.1", 16, false},
        {"cpu-x86_64-pc-linux-gnu-znver4", "6.0", 16, false},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        char version[128];
        pretended other = pocl;
        snprintf(version, sizeof(version), "OpenCL 3.0 PoCL HSTR: %s", known[i].processor);
        other.version = version;
        other.driver = known[i].driver;
        other.float_width = known[i].width;
        const weft_limits limits = queried(&other);
        assert_int_equal(limits.vector_width, known[i].is_broken ? 1 : known[i].width);
        assert_int_equal(limits.failed_trials, known[i].is_broken ? WEFT_TRIAL_VECTORS : 0);
    }
    pretended other = pocl; // somebody else's
    other.version = "OpenCL 3.0 HSTR: znver3";
    other.driver = "2.0";
    assert_int_equal(queried(&other).vector_width, 16);
}

static void test_loops_that_end(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int max_iterations;
    } known[] = {{"llvmpipe (LLVM 15.0.6, 256 bits)", 65535}, {"not llvmpipe", 0}, {NULL, 0}};
    for (int i = 0; i < 3; i++) {
        pretended other = pocl;
        other.name = known[i].name;
        assert_int_equal(queried(&other).max_iterations, known[i].max_iterations);
    }
}

static void test_cpu_vector_widths(void **state)
{
    (void)state;
    const weft_limits limits = queried(&pocl);
    assert_int_equal(limits.kind, WEFT_DEVICE_CPU);
    assert_int_equal(limits.warp, 16);
    assert_int_equal(limits.vector_width, 16);
    assert_int_equal(limits.vectors, 8);
    assert_int_equal(limits.max_block, 128);
    assert_int_equal(limits.max_items_y, 1);
    assert_int_equal(limits.max_blocks, 8);
    assert_int_equal(limits.load_bytes, 64);
    assert_false(limits.local_is_fast);

    pretended narrow = pocl; // groups along x only
    narrow.float_width = 4;
    narrow.along[0] = 1024;
    narrow.along[1] = narrow.along[2] = 1;
    assert_int_equal(queried(&narrow).max_block, 32);

    pretended scalar = pocl; // no vectors: items are lanes
    scalar.float_width = 1;
    assert_int_equal(queried(&scalar).vector_width, 1);
    assert_int_equal(queried(&scalar).warp, 8);
    assert_int_equal(queried(&scalar).max_block, 1024);
    scalar.along[1] = 1;
    assert_int_equal(queried(&scalar).max_items_y, 1);

    pretended vliw = pocl; // a GPU with vectors: items are lanes all the same
    vliw.type = CL_DEVICE_TYPE_GPU;
    vliw.float_width = 4;
    assert_int_equal(queried(&vliw).vector_width, 1);
    assert_int_equal(queried(&vliw).warp, 8);
}

// A CPU is the host; what the host does not know, or answers oddly, is 0.
static void test_caches_of_a_core_are_a_cpus_only(void **state)
{
    (void)state;
    assert_int_equal(queried(&nvidia).l1_bytes, 0);
    assert_int_equal(queried(&nvidia).l2_bytes, 0);
    const weft_limits limits = queried(&pocl);
#ifdef _SC_LEVEL1_DCACHE_SIZE
    const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    assert_true(limits.l1_bytes == (uint64_t)l1 || limits.l1_bytes == 0);
    assert_true(limits.l2_bytes == (uint64_t)l2 || limits.l2_bytes == 0);
    assert_int_equal(limits.l1_bytes > 0, l1 >= 4096 && l1 <= 1 << 20);
#endif
    assert_true(limits.l1_bytes == 0 || limits.l2_bytes == 0 || limits.l1_bytes < limits.l2_bytes);
}

static void test_a_multiple_of_one_says_nothing(void **state)
{
    (void)state;
    pretended plain = nvidia;
    plain.extensions = "";
    plain.multiple = 1;
    assert_int_equal(queried(&plain).warp, 32);
    plain.multiple = 24;
    assert_int_equal(queried(&plain).warp, 32);
    plain.multiple = 64;
    assert_int_equal(queried(&plain).warp, 64);
    plain.multiple = 1;
    plain.type = CL_DEVICE_TYPE_ACCELERATOR;
    assert_int_equal(queried(&plain).warp, 8);
    assert_int_equal(queried(&plain).kind, WEFT_DEVICE_OTHER);
}

static void test_extension_names_are_whole_words(void **state)
{
    (void)state;
    pretended near = amd;
    near.extensions = "cl_khr_fp16_extra xcl_khr_fp16 cl_khr_fp16x";
    assert_false(queried(&near).has_f16);
    near.extensions = "cl_khr_fp16_extra cl_khr_fp16";
    assert_true(queried(&near).has_f16);
    near.extensions = "cl_khr_subgroups cl_khr_subgroup_shuffle_relative";
    assert_false(queried(&near).has_subgroups);
    near.max_subgroups = 16;
    assert_true(queried(&near).has_subgroups);
}

// Of OpenCL 3.0 they need no extension, of older ones cl_khr_subgroups; and by Intel's or NVIDIA's
// kernels get along in OpenCL C 1.2.
static void test_subgroups_of_an_extension_or_none(void **state)
{
    (void)state;
    static const struct {
        const char *extensions;
        uint32_t most;
        bool are_there, are_own;
    } known[] = {
        {"cl_khr_subgroup_shuffle_relative", 128, true, true},
        {"cl_khr_subgroup_shuffle_relative", 0, false, false},
        {"cl_khr_subgroups cl_khr_subgroup_shuffle_relative", 128, true, false},
        {"cl_khr_subgroups", 128, false, false},
        {"cl_khr_subgroup_shuffle", 128, false, false},
        {"cl_intel_subgroups cl_khr_subgroup_shuffle_relative", 128, true, false},
        {"cl_nv_device_attribute_query", 0, true, false},
        {"", 128, false, false},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        pretended other = pocl;
        other.extensions = known[i].extensions;
        other.max_subgroups = known[i].most;
        assert_int_equal(queried(&other).has_subgroups, known[i].are_there);
        assert_int_equal(weft_device_has_own_subgroups((cl_device_id)&device), known[i].are_own);
    }
}

static void test_any_query_may_fail(void **state)
{
    (void)state;
    static const pretended *const devices[] = {&nvidia, &amd, &intel, &pocl};
    for (size_t i = 0; i < 4; i++) {
        pretended silent = *devices[i];
        for (silent.silent = 0x1000; silent.silent < 0x1080; silent.silent++)
            queried(&silent);
        for (silent.silent = 0x4000; silent.silent < 0x4300; silent.silent++)
            queried(&silent);
    }
    pretended nameless = nvidia;
    nameless.silent = CL_DEVICE_MAX_WORK_ITEM_SIZES;
    assert_int_equal(queried(&nameless).max_items_y, 1);
    assert_int_equal(queried(&nameless).max_block, 1024);
}

static void test_odd_answers_give_sound_limits(void **state)
{
    (void)state;
    static const pretended *const devices[] = {&nvidia, &amd, &intel, &pocl};
    random_state random = {7};
    for (int i = 0; i < 20000; i++) {
        pretended odd = *devices[i % 4];
        odd.noise = &random;
        queried(&odd);
    }
}

static void test_a_device_that_says_nothing_is_lost(void **state)
{
    (void)state;
    weft_limits limits;
    device = nvidia;
    device.all_silent = true;
    assert_int_equal(weft_limits_query((cl_device_id)&device, &limits), WEFT_DEVICE_LOST);
    assert_int_equal(weft_limits_query(NULL, &limits), WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_limits_query((cl_device_id)&device, NULL), WEFT_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvidia),
        cmocka_unit_test(test_amd),
        cmocka_unit_test(test_intel),
        cmocka_unit_test(test_loops_that_end),
        cmocka_unit_test(test_vectors_that_end_the_compiler),
        cmocka_unit_test(test_cpu_vector_widths),
        cmocka_unit_test(test_caches_of_a_core_are_a_cpus_only),
        cmocka_unit_test(test_a_multiple_of_one_says_nothing),
        cmocka_unit_test(test_extension_names_are_whole_words),
        cmocka_unit_test(test_subgroups_of_an_extension_or_none),
        cmocka_unit_test(test_any_query_may_fail),
        cmocka_unit_test(test_odd_answers_give_sound_limits),
        cmocka_unit_test(test_a_device_that_says_nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
