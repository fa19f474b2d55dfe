// SPDX-License-Identifier: Apache-2.0
// Limits as values: the profiles, the check, clamping.
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <weft/csr_dense.h>
#include <weft/csr_transpose.h>
#include <weft/elementwise.h>
#include <weft/geometry.h>
#include <weft/matmul.h>
#include <weft/sddmm.h>
#include <weft/sddmm_sparse.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_softmax.h>
#include <weft/spgemm.h>
#include <weft/spmm.h>

#include "axis/axis_plan.h"
#include "base/arithmetic.h"
#include "base/clamp.h"
#include "convert/csr_dense_plan.h"
#include "convert/csr_transpose_plan.h"
#include "dense/matmul_tiling.h"
#include "elementwise/elementwise_plan.h"
#include "random.h"
#include "sparse/sddmm_plan.h"
#include "sparse/sddmm_sparse_plan.h"
#include "sparse/sparse_attention_plan.h"
#include "sparse/sparse_softmax_plan.h"
#include "sparse/spgemm_plan.h"
#include "sparse/spmm_tiling.h"

#define assert_ok(status)                                                                          \
    do {                                                                                           \
        if ((status) != WEFT_OK)                                                                   \
            fail_msg("%s", weft_last_error());                                                     \
    } while (0)

static void test_profiles_hold_together(void **state)
{
    (void)state;
    int n_cpus = 0;
    assert_true(weft_profile_count() >= 14);
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const weft_limits *profile = weft_profile_at(i);
        assert_ok(weft_limits_check(profile));
        n_cpus += profile->kind == WEFT_DEVICE_CPU;
        for (const char *at = profile->name; *at; at++)
            assert_true(islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '-');
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(profile->name, weft_profile_at(j)->name);
        assert_true(profile->peak_gbps > 10 && profile->cache_line_bytes >= 64);
        assert_int_equal(profile->l1_bytes > 0, profile->kind == WEFT_DEVICE_CPU);
        assert_int_equal(profile->l2_bytes > 0, profile->kind == WEFT_DEVICE_CPU);
        assert_true(profile->l1_bytes <= profile->l2_bytes);
    }
    assert_true(n_cpus >= 2);
    assert_null(weft_profile_at(weft_profile_count()));
}

static void test_profiles_are_found_by_part_of_the_name(void **state)
{
    (void)state;
    assert_string_equal(weft_profile_find("V100")->name, "nvidia-v100");
    assert_string_equal(weft_profile_find("amd-")->name, "amd-mi100");
    assert_string_equal(weft_profile_find("arc-a770")->name, "intel-arc-a770");
    assert_ptr_equal(weft_profile_find(""), weft_profile_at(0));
    assert_null(weft_profile_find("nvidia-v100x"));
    assert_null(weft_profile_find(NULL));
}

// Figures that the documents state outright.
static void test_profiles_say_what_the_documents_say(void **state)
{
    (void)state;
    const weft_limits *v100 = weft_profile_find("v100");
    assert_int_equal(v100->warp, 32);
    assert_int_equal(v100->max_block, 1024);
    assert_int_equal(v100->max_blocks, 160);
    assert_int_equal(v100->local_bytes, 48 * 1024);
    assert_int_equal(weft_profile_find("mi300x")->warp, 64);
    assert_int_equal(weft_profile_find("7900")->warp, 32);
    assert_int_equal(weft_profile_find("5090")->compute_units, 170);
    assert_int_equal(weft_profile_find("9070")->compute_units, 32);
    assert_int_equal(weft_profile_find("b200")->max_blocks, 296);
    assert_int_equal(weft_profile_find("mi300x")->local_bytes, 64 * 1024);
    assert_int_equal(weft_profile_find("mi355x")->local_bytes, 160 * 1024);
    assert_int_equal(weft_profile_find("mi355x")->compute_units, 256);
    assert_int_equal(weft_profile_find("a770")->least_subgroup, 8);
    assert_int_equal(weft_profile_find("b580")->least_subgroup, 16);
    assert_int_equal(weft_profile_find("b580")->max_blocks, 20);
    assert_int_equal(weft_profile_find("x1-85")->compute_units, 6);
    assert_int_equal(weft_profile_find("apple-m4")->compute_units, 10);
    assert_int_equal(weft_profile_find("xeon")->vector_width, 16);
    assert_int_equal(weft_profile_find("ryzen")->max_block, 64);
    assert_int_equal(weft_profile_find("ryzen")->max_items_y, 1);
    assert_int_equal(weft_profile_find("ryzen")->l1_bytes, 32 * 1024);
    assert_int_equal(weft_profile_find("ryzen")->l2_bytes, 512 * 1024);
}

// One field spoilt: the sentence must name it.
#define SPOILT(field, value)                                                                       \
    do {                                                                                           \
        weft_limits limits = *weft_profile_find("v100");                                           \
        limits.field = value;                                                                      \
        assert_int_equal(weft_limits_check(&limits), WEFT_BAD_ARGUMENT);                           \
        if (!strstr(weft_last_error(), #field))                                                    \
            fail_msg("%s = %s: \"%s\"", #field, #value, weft_last_error());                        \
    } while (0)

static void test_check_names_the_field(void **state)
{
    (void)state;
    SPOILT(kind, (weft_device_kind)3);
    SPOILT(kind, (weft_device_kind)-1);
    SPOILT(warp, 0);
    SPOILT(warp, 24);
    SPOILT(warp, 2048);
    SPOILT(vector_width, 0);
    SPOILT(vector_width, 3);
    SPOILT(vector_width, 32);
    SPOILT(vectors, -1);
    SPOILT(vectors, 3);
    SPOILT(max_block, 0);
    SPOILT(max_block, 1023);
    SPOILT(max_block, 1 << 30);
    SPOILT(max_items_y, 0);
    SPOILT(max_items_y, 2048);
    SPOILT(max_blocks, 0);
    SPOILT(max_items, 512);
    SPOILT(max_items_along[0], 512);
    SPOILT(max_items_along[1], 512);
    SPOILT(max_items_along[2], 0);
    SPOILT(max_alloc_bytes, 0);
    SPOILT(global_bytes, 0);
    SPOILT(compute_units, 0);
    SPOILT(load_bytes, 12);
    SPOILT(l1_bytes, UINT64_MAX);
    SPOILT(l2_bytes, (UINT64_C(1) << 40) + 1);
    SPOILT(cache_line_bytes, 0);
    SPOILT(least_subgroup, -1);
    SPOILT(least_subgroup, 12);
    SPOILT(max_iterations, -1);
    SPOILT(peak_gbps, -1);
    SPOILT(peak_gflops, (double)NAN);

    weft_limits endless = *weft_profile_find("v100");
    memset(endless.name, 'x', sizeof(endless.name));
    assert_int_equal(weft_limits_check(&endless), WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_limits_check(NULL), WEFT_BAD_ARGUMENT);
}

static bool has_quirk(const weft_limits *limits, const char *part)
{
    const char *quirk;
    for (size_t i = 0; (quirk = weft_limits_quirk_at(limits, i)); i++)
        if (strstr(quirk, part))
            return true;
    return false;
}

static size_t count_quirks(const weft_limits *limits)
{
    size_t n = 0;
    while (weft_limits_quirk_at(limits, n))
        n++;
    return n;
}

// Each field that makes a quirk, and no other one.
static void test_quirks_are_what_is_lacking(void **state)
{
    (void)state;
    weft_limits whole = *weft_profile_find("v100");
    whole.has_f16 = whole.has_subgroups = true;
    assert_null(weft_limits_quirk_at(&whole, 0));
    weft_limits less[8];
    for (int i = 0; i < 8; i++)
        less[i] = whole;
    less[0].has_f64 = false;
    less[1].has_f16 = false;
    less[2].has_fma = false;
    less[3].has_subgroups = false;
    less[4].local_is_fast = false;
    less[5].max_items = 127;
    less[6].max_items_along[1] = 1;
    less[7].max_iterations = 65535;
    static const char *const words[] = {"f64",
                                        "f16",
                                        "multiply-add",
                                        "sub-groups",
                                        "part of global",
                                        "small work-groups",
                                        "one dimension",
                                        "end too early"};
    for (int i = 0; i < 8; i++) {
        assert_int_equal(count_quirks(&less[i]), 1);
        assert_true(has_quirk(&less[i], words[i]));
        less[i].vector_width = 16; // one item does it all
        assert_int_equal(count_quirks(&less[i]), i < 3 || i == 7);
    }
    whole.max_items = 128;
    assert_int_equal(count_quirks(&whole), 0);

    weft_limits nothing = {.vector_width = 1};
    assert_int_equal(count_quirks(&nothing), 6); // groups of no size along y
    nothing.max_items_along[1] = 1;
    assert_int_equal(count_quirks(&nothing), 7);
}

// Each trial that fails is named, and nothing else then; and what failed is not lacking as well.
static void test_quirks_are_what_went_wrong(void **state)
{
    (void)state;
    weft_limits whole = *weft_profile_find("v100");
    whole.has_f16 = true;
    for (int i = 0; i < 12; i++) {
        const weft_limits out = weft_limits_distrust(&whole, 1U << i);
        const bool is_alone = (1U << i & (WEFT_TRIAL_TREES | WEFT_TRIAL_BARRIERS)) != 0;
        assert_int_equal(out.failed_trials, 1U << i);
        assert_non_null(weft_limits_quirk_at(&out, 0));
        if (i == 1) // the usual way is told, too
            assert_int_equal(count_quirks(&out), 2);
        else if (!is_alone)
            assert_int_equal(count_quirks(&out), 1);
    }
    assert_false(weft_limits_distrust(&whole, WEFT_TRIAL_F64).has_f64);
    assert_false(weft_limits_distrust(&whole, WEFT_TRIAL_F16).has_f16);
    assert_false(weft_limits_distrust(&whole, WEFT_TRIAL_FMA).has_fma);
    assert_false(weft_limits_distrust(&whole, WEFT_TRIAL_SHUFFLES).has_subgroups);
    assert_int_equal(weft_limits_distrust(&whole, WEFT_TRIAL_TREES).max_items, 1);
    assert_int_equal(weft_limits_distrust(&whole, WEFT_TRIAL_BARRIERS).max_block, 1);
    const weft_limits arc = *weft_profile_find("arc-a770");
    assert_int_equal(weft_limits_distrust(&arc, WEFT_TRIAL_SIZES).least_subgroup, 0);
    const weft_limits cpu = *weft_profile_find("xeon-8380");
    assert_int_equal(weft_limits_distrust(&cpu, WEFT_TRIAL_SELECTS).vector_width, 1);
    assert_int_equal(weft_limits_distrust(&cpu, WEFT_TRIAL_VECTORS).vector_width, 1);
}

// Whatever fails, and planned for whatever other device.
static void test_distrusted_limits_hold_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (unsigned failed = 0; failed < 1U << 12; failed += 1 + failed % 7) {
            const weft_limits out = weft_limits_distrust(weft_profile_at(i), failed);
            assert_int_equal(weft_limits_check(&out), WEFT_OK);
            assert_int_equal(out.failed_trials, failed);
            const weft_limits *other = weft_profile_at((i + failed) % weft_profile_count());
            const weft_limits clamped = weft_limits_clamp(other, &out);
            assert_int_equal(weft_limits_check(&clamped), WEFT_OK);
            assert_int_equal(clamped.failed_trials, failed);
            if (failed & (WEFT_TRIAL_TREES | WEFT_TRIAL_BARRIERS))
                assert_int_equal(clamped.max_items, 1);
            if (failed & (WEFT_TRIAL_SELECTS | WEFT_TRIAL_VECTORS))
                assert_int_equal(clamped.vector_width, 1);
            assert_int_equal(clamped.has_subgroups, other->has_subgroups); // kernels do without
            assert_int_equal(clamped.least_subgroup, other->least_subgroup);
        }
}

// A caller's own, which no device has.
static void test_any_distrusted_limits_hold_together(void **state)
{
    (void)state;
    random_state random = {7};
    int n_sound = 0;
    for (int i = 0; i < 200000; i++) {
        weft_limits limits = *weft_profile_find("xeon-8380");
        limits.vector_width = 1 << random_below(&random, 5);
        limits.vectors = 1 << random_below(&random, 4);
        limits.max_block = 1 << random_below(&random, 11);
        limits.max_items_y = 1 << random_below(&random, 11);
        limits.warp = 1 << random_below(&random, 7);
        limits.max_items = 1 + random_below(&random, 1024);
        for (int d = 0; d < 3; d++)
            limits.max_items_along[d] = 1 + random_below(&random, 1024);
        if (weft_limits_check(&limits) != WEFT_OK)
            continue;
        n_sound++;
        const weft_limits out =
            weft_limits_distrust(&limits, (unsigned)random_below(&random, 4096));
        if (weft_limits_check(&out) != WEFT_OK)
            fail_msg("vector_width %d, vectors %d, block %d, items_y %d, items %zu, along x %zu, "
                     "failed %x: %s",
                     limits.vector_width, limits.vectors, limits.max_block, limits.max_items_y,
                     limits.max_items, limits.max_items_along[0], out.failed_trials,
                     weft_last_error());
    }
    assert_true(n_sound > 100);
}

// The end that comes first, of those there are.
static void test_the_earlier_end_of_loops_holds(void **state)
{
    (void)state;
    static const int ends[][3] = {{0, 0, 0}, {0, 7, 7}, {7, 0, 7}, {7, 9, 7}, {9, 7, 7}};
    for (int i = 0; i < 5; i++) {
        weft_limits wanted = *weft_profile_find("v100"), real = wanted;
        wanted.max_iterations = ends[i][0];
        real.max_iterations = ends[i][1];
        assert_int_equal(weft_limits_clamp(&wanted, &real).max_iterations, ends[i][2]);
    }
}

// Planned again, a group is no larger than its kernel takes, and there is an end to it.
static void test_groups_that_kernels_do_not_take(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (size_t most = 1; most < weft_profile_at(i)->max_items; most = 2 * most + 1) {
            weft_limits limits = *weft_profile_at(i);
            bool fits = false;
            assert_ok(weft_limits_fit(&fits, &limits, most, most, true, "op", NULL));
            assert_true(fits);
            assert_int_equal(limits.max_items, weft_profile_at(i)->max_items);
            assert_ok(weft_limits_fit(&fits, &limits, most + 1, most, false, "op", NULL));
            assert_false(fits);
            assert_ok(weft_limits_check(&limits));
            assert_int_equal(limits.max_items, most);
            assert_int_equal(limits.vector_width, weft_profile_at(i)->vector_width);
            assert_int_equal(weft_limits_fit(&fits, &limits, most + 1, most, false, "op", NULL),
                             WEFT_UNSUPPORTED);
        }
    weft_limits limits = *weft_profile_find("v100");
    bool fits;
    assert_int_equal(weft_limits_fit(&fits, &limits, 64, 63, true, "op", NULL), WEFT_UNSUPPORTED);
    assert_int_equal(weft_limits_fit(&fits, &limits, 64, 0, false, "op", NULL), WEFT_UNSUPPORTED);
    assert_string_equal(weft_last_error(),
                        "op: groups of 64 items are wanted; the kernel as built takes 0");
}

static void test_clamping_holds_for_all_pairs(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        for (size_t j = 0; j < weft_profile_count(); j++) {
            const weft_limits *wanted = weft_profile_at(i), *real = weft_profile_at(j);
            const weft_limits out = weft_limits_clamp(wanted, real);
            assert_ok(weft_limits_check(&out));
            assert_true(out.max_items <= real->max_items);
            assert_true(out.local_bytes <= real->local_bytes);
            assert_int_equal(out.least_subgroup, wanted->least_subgroup);
            assert_true(out.max_alloc_bytes <= real->max_alloc_bytes);
            assert_true(out.max_block <= wanted->max_block &&
                        out.vector_width == wanted->vector_width);
            assert_true((size_t)out.max_items_y <= real->max_items_along[1]);
            assert_int_equal(out.has_f64, wanted->has_f64 && real->has_f64);
            assert_true(out.peak_gbps == real->peak_gbps && out.peak_gflops == real->peak_gflops);
            assert_non_null(strstr(out.name, wanted->name));
            assert_non_null(strstr(out.name, real->name));
        }
    }
}

static void assert_geometry_fits(const weft_limits *limits, const weft_limits *real,
                                 random_state *random)
{
    const weft_geometry geometry = weft_geometry_for(limits, random_extent(random),
                                                     random_extent(random), random_extent(random));
    size_t global[2], local[2];
    weft_geometry_sizes(&geometry, global, local);
    assert_true(local[0] <= real->max_items_along[0] && local[1] <= real->max_items_along[1]);
    assert_true(local[0] * local[1] <= real->max_items);
}

// What the check asks of max_items is what the geometry needs: also on a device that has no more.
static void test_blocks_for_another_device_fit_the_real_one(void **state)
{
    (void)state;
    random_state random = {3};
    for (size_t i = 0; i < weft_profile_count(); i++) {
        for (size_t items = 1; items <= 1024; items *= 2) {
            weft_limits real = *weft_profile_find("v100");
            real.max_items = items;
            for (int d = 0; d < 3; d++)
                real.max_items_along[d] = (size_t)random_between(&random, 1, (int64_t)items);
            real.max_block = (int)pow2_down((int64_t)real.max_items_along[0]);
            real.warp = real.max_block;
            real.max_items_y =
                (int)min_i64(pow2_down((int64_t)real.max_items_along[1]), real.max_block);
            assert_ok(weft_limits_check(&real));
            const weft_limits out = weft_limits_clamp(weft_profile_at(i), &real);
            assert_ok(weft_limits_check(&out));
            for (int n = 0; n < 200; n++)
                assert_geometry_fits(&out, &real, &random);
        }
    }
}

static void test_clamping_to_a_small_device(void **state)
{
    (void)state;
    weft_limits small = *weft_profile_find("v100");
    small.max_items = small.max_items_along[0] = 48;
    small.max_items_along[1] = 3;
    small.max_items_along[2] = 1;
    small.max_block = small.warp = 32;
    small.max_items_y = 2;
    assert_ok(weft_limits_check(&small));
    const weft_limits out = weft_limits_clamp(weft_profile_find("mi300x"), &small);
    assert_ok(weft_limits_check(&out));
    assert_int_equal(out.max_block, 32);
    assert_int_equal(out.warp, 32);
    assert_int_equal(out.max_items_y, 2);
    assert_int_equal(out.max_items, 48);
    assert_string_equal(out.name, "amd-mi300x on nvidia-v100");
}

// A tiling that the limits take, and the same one for both.
#define SAME_TILING(op, ...)                                                                       \
    do {                                                                                           \
        const weft_##op##_problem problem = {__VA_ARGS__};                                         \
        const weft_##op##_tiling t = weft_##op##_tiling_for(&much, &problem);                      \
        const weft_##op##_tiling u = weft_##op##_tiling_for(&endless, &problem);                   \
        char wanted[512], got[512];                                                                \
        weft_##op##_tiling_print(&t, wanted, sizeof(wanted));                                      \
        weft_##op##_tiling_print(&u, got, sizeof(got));                                            \
        assert_string_equal(got, wanted);                                                          \
        assert_ok(weft_##op##_tiling_check(&u, &endless, &problem));                               \
    } while (0)

// SIZE_MAX is no limit: as if groups were larger than any plan has them.
static void test_limits_that_are_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        weft_limits much = *weft_profile_at(i), endless = much;
        much.local_bytes = INT64_C(1) << 40;
        endless.local_bytes = SIZE_MAX;
        much.max_items = INT64_C(1) << 30;
        endless.max_items = SIZE_MAX;
        for (int d = 0; d < 3; d++) {
            much.max_items_along[d] = INT64_C(1) << 30;
            endless.max_items_along[d] = SIZE_MAX;
        }
        assert_ok(weft_limits_check(&endless));
        SAME_TILING(csr_transpose, .n_cols = 1000000, .nnz = 10000000);
        SAME_TILING(csr_dense, .n_rows = 1000, .n_cols = 1000);
        SAME_TILING(spgemm, .m = 1000, .k = 1000, .n = 1000, .a_nnz = 9000, .b_nnz = 9000);
        SAME_TILING(spgemm, .m = 1000, .k = 1000, .n = 1000000, .a_nnz = 9000, .b_nnz = 9000);
        SAME_TILING(spmm, .m = 1000, .k = 1000, .n = 64, .nnz = 9000, .columns_adjacent = true);
        SAME_TILING(sddmm, .m = 1000, .n = 1000, .k = 64, .nnz = 9000, .a_adjacent = true,
                    .b_adjacent = true);
        SAME_TILING(sddmm_sparse, .m = 1000, .n = 1000, .k = 100000, .nnz = 9000, .a_nnz = 5000,
                    .b_nnz = 7000, .a_sparse = true, .b_sparse = true);
        SAME_TILING(sddmm_sparse, .m = 1000, .n = 1000, .k = 64, .nnz = 9000, .b_nnz = 7000,
                    .b_sparse = true);
        SAME_TILING(sparse_softmax, .n_rows = 1000, .nnz = 9000);
        SAME_TILING(sparse_attention, .m = 1000, .n = 1000, .k = 64, .d = 16, .nnz = 9000,
                    .qk_adjacent = true, .vo_adjacent = true, .alignment = 4);
        SAME_TILING(axis, .high = 1000, .mid = 1000, .low = 64, .low_adjacent = true);
        SAME_TILING(axis, .high = 1000, .mid = 1, .low = 4096, .low_adjacent = true,
                    .writes_all = true, .caches = true);
        SAME_TILING(elementwise, .columns = 1000, .rows = 1000, .outers = 1, .element_bytes = 8,
                    .out_bytes = 4, .n_across = 1);
        for (int j = 0; j < 3; j++) // blocks, rows, dots
            SAME_TILING(matmul, .m = j == 0 ? 1000 : 2, .n = 1000, .k = 1000, .a_along_k = true,
                        .b_along_n = j < 2, .b_along_k = j == 2, .c_along_n = true);
    }
}

#define REFUSE_NULLS(op)                                                                           \
    do {                                                                                           \
        const weft_##op##_problem problem = {0};                                                   \
        const weft_##op##_tiling t = {0};                                                          \
        assert_int_equal(weft_##op##_tiling_check(NULL, any, &problem), WEFT_BAD_ARGUMENT);        \
        assert_string_equal(weft_last_error(), #op "_tiling_check: tiling is NULL");               \
        assert_int_equal(weft_##op##_tiling_check(&t, NULL, &problem), WEFT_BAD_ARGUMENT);         \
        assert_string_equal(weft_last_error(), #op "_tiling_check: limits is NULL");               \
        assert_int_equal(weft_##op##_tiling_check(&t, any, NULL), WEFT_BAD_ARGUMENT);              \
        assert_string_equal(weft_last_error(), #op "_tiling_check: problem is NULL");              \
    } while (0)

static void test_nulls_for_checks_of_tilings(void **state)
{
    (void)state;
    const weft_limits *any = weft_profile_at(0);
    REFUSE_NULLS(axis);
    REFUSE_NULLS(csr_dense);
    REFUSE_NULLS(csr_transpose);
    REFUSE_NULLS(elementwise);
    REFUSE_NULLS(matmul);
    REFUSE_NULLS(sddmm);
    REFUSE_NULLS(sddmm_sparse);
    REFUSE_NULLS(sparse_attention);
    REFUSE_NULLS(sparse_softmax);
    REFUSE_NULLS(spgemm);
    REFUSE_NULLS(spmm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nulls_for_checks_of_tilings),
        cmocka_unit_test(test_profiles_hold_together),
        cmocka_unit_test(test_profiles_are_found_by_part_of_the_name),
        cmocka_unit_test(test_profiles_say_what_the_documents_say),
        cmocka_unit_test(test_check_names_the_field),
        cmocka_unit_test(test_quirks_are_what_is_lacking),
        cmocka_unit_test(test_quirks_are_what_went_wrong),
        cmocka_unit_test(test_distrusted_limits_hold_together),
        cmocka_unit_test(test_any_distrusted_limits_hold_together),
        cmocka_unit_test(test_the_earlier_end_of_loops_holds),
        cmocka_unit_test(test_groups_that_kernels_do_not_take),
        cmocka_unit_test(test_clamping_holds_for_all_pairs),
        cmocka_unit_test(test_blocks_for_another_device_fit_the_real_one),
        cmocka_unit_test(test_clamping_to_a_small_device),
        cmocka_unit_test(test_limits_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
