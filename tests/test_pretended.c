// SPDX-License-Identifier: Apache-2.0
// Devices that are not there, by way of the OpenCL loader: a layer answers for the one that is, and
// what comes of it is limits that hold together, or a plain failure.
#define _POSIX_C_SOURCE 200809L // setenv
#include <weft/context.h>

#include <CL/cl_ext.h>

#include "base/arithmetic.h"
#include "runtime.h"

static char folder[600]; // of compiled programs: one probe for each size of a group

static weft_status open_as(weft_context **out, const char *device)
{
    setenv("WEFT_LAYER_DEVICE", device, 1);
    return weft_context_open(out, WEFT_CONTEXT(.cache_dir = folder));
}

static int tear_down(void **state)
{
    (void)state;
    unsetenv("WEFT_LAYER_DEVICE");
    unsetenv("WEFT_LAYER_SILENT");
    return 0;
}

static const char *const devices[] = {"nvidia", "amd", "intel", "apple"};

static void test_each_is_as_it_says(void **state)
{
    (void)state;
    static const struct {
        int warp, block, items_y, units;
        bool may_have_f64;
    } wanted[] = {
        {32, 1024, 1024, 80, true}, // the warp that its extension tells
        {64, 256, 256, 1, true},    // units that were counted as 0
        {8, 512, 512, 96, false},   // of 32, 0, 8 and 12
        {32, 256, 1, 8, false},     // groups along one dimension
    };
    for (int i = 0; i < 4; i++) {
        weft_context *ctx;
        weft_limits asked;
        assert_ok(open_as(&ctx, devices[i]));
        assert_ok(weft_limits_query(weft_context_device(ctx), &asked));
        assert_string_equal(asked.name, devices[i]);
        assert_int_equal(asked.kind, WEFT_DEVICE_GPU);
        assert_int_equal(asked.warp, wanted[i].warp);
        assert_int_equal(asked.max_block, wanted[i].block);
        assert_int_equal(asked.max_items_y, wanted[i].items_y);
        assert_int_equal(asked.compute_units, wanted[i].units);
        assert_true(wanted[i].may_have_f64 || !asked.has_f64);
        assert_int_equal(asked.has_subgroups, i == 0); // NVIDIA's, by PTX

        const weft_limits *limits = weft_context_limits(ctx);
        assert_ok(weft_limits_check(limits));
        assert_true(limits->max_block <= asked.max_block &&
                    limits->max_items_y <= asked.max_items_y);
        assert_int_equal(limits->warp, min_i64(asked.warp, limits->max_block));
        weft_context_destroy(&ctx);
    }
}

// What the library asks of a device.
static const cl_device_info queries[] = {
    CL_DEVICE_TYPE,
    CL_DEVICE_NAME,
    CL_DEVICE_VERSION,
    CL_DRIVER_VERSION,
    CL_DEVICE_EXTENSIONS,
    CL_DEVICE_MAX_COMPUTE_UNITS,
    CL_DEVICE_MAX_WORK_GROUP_SIZE,
    CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS,
    CL_DEVICE_MAX_WORK_ITEM_SIZES,
    CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT,
    CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
    CL_DEVICE_WARP_SIZE_NV,
    CL_DEVICE_WAVEFRONT_WIDTH_AMD,
    CL_DEVICE_SUB_GROUP_SIZES_INTEL,
    CL_DEVICE_MAX_NUM_SUB_GROUPS,
    CL_DEVICE_LOCAL_MEM_TYPE,
    CL_DEVICE_LOCAL_MEM_SIZE,
    CL_DEVICE_GLOBAL_MEM_SIZE,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE,
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE,
    CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE,
    CL_DEVICE_SINGLE_FP_CONFIG,
    CL_DEVICE_DOUBLE_FP_CONFIG,
};

static void test_any_answer_may_be_an_error(void **state)
{
    (void)state;
    const size_t n_queries = sizeof(queries) / sizeof(queries[0]);
    for (size_t i = 0; i < 4 * n_queries; i++) {
        weft_context *ctx;
        char silent[16];
        snprintf(silent, sizeof(silent), "0x%x", queries[i / 4]);
        setenv("WEFT_LAYER_SILENT", silent, 1);
        if (open_as(&ctx, devices[i % 4]) != WEFT_OK)
            fail_msg("%s without %s: %s", devices[i % 4], silent, weft_last_error());
        const weft_limits *limits = weft_context_limits(ctx);
        assert_ok(weft_limits_check(limits));
        // What nobody vouches for is taken to be little.
        if (queries[i / 4] == CL_DEVICE_MAX_WORK_GROUP_SIZE)
            assert_true(limits->max_items <= 64);
        if (queries[i / 4] == CL_DEVICE_MAX_WORK_ITEM_SIZES)
            assert_int_equal(limits->max_items_y, 1);
        if (queries[i / 4] == CL_DEVICE_LOCAL_MEM_SIZE)
            assert_int_equal(limits->local_bytes, 16 << 10);
        weft_context_destroy(&ctx);
    }
}

static void test_a_device_that_answers_nothing_is_lost(void **state)
{
    (void)state;
    weft_context *ctx;
    setenv("WEFT_LAYER_SILENT", "all", 1);
    assert_int_equal(open_as(&ctx, "nvidia"), WEFT_DEVICE_LOST);
    assert_null(ctx);
    assert_says("answers none of the questions");
}

#define with_layer(test) cmocka_unit_test_teardown(test, tear_down)

int main(void)
{
    need_device();
    snprintf(folder, sizeof(folder), "%s/pretended", test_dir());
    const struct CMUnitTest tests[] = {
        with_layer(test_each_is_as_it_says),
        with_layer(test_any_answer_may_be_an_error),
        with_layer(test_a_device_that_answers_nothing_is_lost),
    };
    return cmocka_run_group_tests_name("pretended devices", tests, NULL, NULL);
}
