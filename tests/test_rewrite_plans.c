// SPDX-License-Identifier: Apache-2.0
// Softmax and normalisation by every kind of tiling, whether or not it would be chosen for the
// device at hand, and as planned for every known device.
#define _POSIX_C_SOURCE 200809L // setenv
#include "axis/axis_plan.h"
#include "held_tilings.h"
#include "rewrite_case.h"
#include "tilings.h"

#include <inttypes.h>

static weft_context *ctx;
static bool is_reduced; // the small set

// TILING() with mid whole, and cached: for softmax alone.
#define CACHING(f, v, i, t, u, w, r, x, y)                                                         \
    {                                                                                              \
        .vector_width = f, .vectors = v, .items = i, .items_y = t, .unroll = u, .widen = w,        \
        .run = r, .grid_x = x, .grid_y = y, .parts = 1, .cache = true                              \
    }

// ITEMS_Z(), the same way.
#define CACHING_ITEMS_Z(v, i, t, n, u, r, x, y)                                                    \
    {                                                                                              \
        .vector_width = 1, .vectors = v, .items = i, .items_y = t, .unroll = u, .widen = 1,        \
        .run = r, .grid_x = x, .grid_y = y, .parts = 1, .cache = true, .items_z = n                \
    }

// A tiling, and an array (high, mid, low) that it goes with; of low 1 lines are whole rows.
typedef struct variant {
    const char *what;
    int64_t high, mid, low;
    strided_layout layout; // of what is along the last axis: TRANSPOSED has low inside
    weft_axis_tiling tiling;
} variant;

static const variant variants[] = {
    {"whole vectors", 3, 20, 32, LAYOUT_TRANSPOSED, TILING(16, 2, 1, 1, 8, 1, 2, 1, 2, 1)},
    {"a vector moved", 3, 20, 37, LAYOUT_TRANSPOSED, TILING(8, 3, 1, 1, 4, 1, 1, 2, 1, 1)},
    {"single columns", 2, 20, 19, LAYOUT_TRANSPOSED, TILING(1, 1, 1, 1, 1, 1, 1, 3, 1, 1)},
    {"many vectors", 2, 9, 70, LAYOUT_TRANSPOSED, TILING(2, 64, 1, 1, 2, 1, 1, 1, 2, 1)},
    {"in parts", 2, 50, 37, LAYOUT_TRANSPOSED, TILING(8, 3, 1, 1, 2, 1, 1, 2, 1, 7)},
    {"too many parts", 2, 9, 32, LAYOUT_TRANSPOSED, TILING(4, 8, 1, 1, 2, 1, 4, 2, 9, 40)},
    {"rows", 5, 300, 1, LAYOUT_DENSE, TILING(16, 2, 1, 1, 8, 32, 2, 1, 2, 1)},
    {"short rows", 5, 30, 1, LAYOUT_DENSE, TILING(4, 64, 1, 1, 2, 16, 1, 1, 2, 1)},
    {"rows in parts", 2, 301, 1, LAYOUT_DENSE, TILING(8, 1, 1, 1, 4, 8, 1, 1, 2, 5)},
    {"widened", 3, 100, 5, LAYOUT_TRANSPOSED, TILING(8, 5, 1, 1, 4, 8, 1, 1, 2, 1)},
    {"widened threefold", 3, 50, 8, LAYOUT_TRANSPOSED, TILING(2, 12, 1, 1, 2, 3, 1, 1, 1, 1)},
    {"widened in parts", 2, 99, 6, LAYOUT_TRANSPOSED, TILING(4, 6, 1, 1, 2, 4, 1, 1, 1, 6)},
    {"gathered", 3, 200, 1, LAYOUT_SPACED, TILING(8, 2, 1, 1, 4, 16, 1, 1, 1, 1)},
    {"gathered in parts", 3, 200, 1, LAYOUT_SPACED, TILING(4, 1, 1, 1, 2, 4, 1, 1, 1, 3)},
    {"items", 3, 30, 37, LAYOUT_TRANSPOSED, TILING(1, 1, 16, 1, 4, 1, 1, 2, 2, 1)},
    {"items and items_y", 3, 70, 37, LAYOUT_TRANSPOSED, TILING(1, 1, 8, 8, 4, 1, 1, 2, 2, 1)},
    {"items_y of a row", 3, 700, 1, LAYOUT_DENSE, TILING(1, 1, 1, 64, 4, 1, 1, 1, 2, 1)},
    {"items_y in parts", 2, 200, 19, LAYOUT_TRANSPOSED, TILING(1, 1, 16, 4, 2, 1, 1, 1, 1, 4)},
    {"items_y of a row in parts", 2, 900, 1, LAYOUT_DENSE, TILING(1, 1, 1, 32, 4, 1, 1, 1, 1, 5)},
    {"items_y with vectors", 2, 40, 24, LAYOUT_TRANSPOSED, TILING(4, 2, 2, 4, 2, 1, 1, 2, 1, 1)},
    {"strips of items_y", 2, 40, 24, LAYOUT_TRANSPOSED, TILING(1, 3, 4, 2, 2, 1, 1, 2, 2, 1)},
    {"widened items_y", 2, 90, 6, LAYOUT_TRANSPOSED, TILING(1, 24, 1, 4, 2, 4, 1, 1, 2, 2)},
    {"vectors cached", 3, 21, 37, LAYOUT_TRANSPOSED, CACHING(8, 3, 1, 1, 4, 1, 1, 2, 1)},
    {"rows cached", 5, 301, 1, LAYOUT_DENSE, CACHING(16, 1, 1, 1, 8, 16, 2, 1, 2)},
    {"widened and cached", 3, 99, 5, LAYOUT_TRANSPOSED, CACHING(8, 5, 1, 1, 4, 8, 1, 1, 2)},
    {"gathered and cached", 3, 200, 1, LAYOUT_SPACED, CACHING(8, 2, 1, 1, 4, 16, 1, 1, 1)},
    {"strips of items_y, cached", 2, 43, 24, LAYOUT_TRANSPOSED, CACHING(1, 3, 4, 2, 2, 1, 1, 2, 2)},
    {"items and items_y, cached", 3, 70, 37, LAYOUT_TRANSPOSED, CACHING(1, 1, 8, 8, 4, 1, 1, 2, 2)},
    {"rows in too many parts", 3, 64, 1, LAYOUT_DENSE, TILING(8, 1, 1, 1, 4, 8, 1, 1, 1, 5)},
    {"lines far apart", 2, 901, 37, LAYOUT_TRANSPOSED, TILING(8, 3, 1, 1, 4, 1, 1, 2, 1, 1)},
    {"lines far apart, cached", 2, 905, 37, LAYOUT_TRANSPOSED, CACHING(8, 3, 1, 1, 4, 1, 1, 2, 1)},
    {"runs without end", 3, 20, 19, LAYOUT_TRANSPOSED,
     TILING(1, 1, 1, 1, 1, 1, INT64_C(1) << 62, 3, 65535, 1)},
    {"items_y of a row, cached", 3, 700, 1, LAYOUT_DENSE, CACHING(1, 1, 1, 64, 4, 1, 1, 1, 2)},
    {"items_z of rows", 7, 701, 1, LAYOUT_DENSE, ITEMS_Z(1, 1, 32, 2, 8, 1, 1, 2)},
    {"items_z of short rows", 21, 45, 1, LAYOUT_DENSE, ITEMS_Z(1, 1, 4, 8, 4, 2, 1, 1)},
    {"more items_z than rows", 3, 90, 1, LAYOUT_SPACED, ITEMS_Z(1, 1, 8, 16, 2, 1, 1, 1)},
    {"items_z of strips", 5, 90, 19, LAYOUT_TRANSPOSED, ITEMS_Z(2, 4, 16, 2, 2, 1, 2, 2)},
    {"items_z that cache", 7, 701, 1, LAYOUT_DENSE, CACHING_ITEMS_Z(1, 1, 32, 2, 8, 1, 1, 2)},
    {"items_z of strips that cache", 5, 90, 19, LAYOUT_TRANSPOSED,
     CACHING_ITEMS_Z(2, 4, 16, 2, 2, 1, 2, 2)},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static rewrite_case case_of(const variant *v, rewrite_op op, uint64_t seed)
{
    return (rewrite_case){.seed = seed,
                          .op = op,
                          .ndim = 3,
                          .shape = {v->high, v->low, v->mid},
                          .axis = rewrite_is_norm(op) ? 1 : 2,
                          .number = 1,
                          .masked = seed % 2,
                          .in_layout = v->layout,
                          .out_layout = v->layout,
                          .numbers = seed % 3 ? STEEP : MASKED,
                          .over = seed % 5 ? 0 : 1,
                          .tiling = &v->tiling};
}

// The library says that it does as it was told: (high, outer, mid, low) and the tiling.
static void expect_words(const variant *v, const rewrite_operands *o)
{
    char sizes[96], tiling[256];
    const char *words = rewrite_words(o);
    snprintf(sizes, sizeof(sizes), "%" PRId64 " x 1 x %" PRId64 " x %" PRId64 " (", v->high, v->mid,
             v->low);
    weft_axis_tiling_print(&v->tiling, tiling, sizeof(tiling));
    if (strncmp(words, sizes, strlen(sizes)) != 0 || !strstr(words, tiling))
        fail_msg("%s: %s", v->what, words);
}

static bool device_holds(const variant *v)
{
    return !is_left_out(&v->tiling) &&
           items_of_group(&v->tiling) <= weft_context_limits(ctx)->max_items;
}

static void run_variant(weft_context *there, const variant *v, const rewrite_case *of)
{
    rewrite_operands o;
    rewrite_create(&o, there, of);
    expect_words(v, &o);
    rewrite_call(&o);
    rewrite_check(&o);
    rewrite_destroy(&o);
}

// Softmax by all of them; the others, which share its walk, by some: each tiling is a program.
static void test_every_tiling(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++)
        for (int op = SOFTMAX; op < N_REWRITES; op++) {
            const uint64_t seed = 100 * (uint64_t)i + (uint64_t)op;
            const rewrite_case of = case_of(&variants[i], (rewrite_op)op, seed);
            const bool is_picked = op == SOFTMAX || (!variants[i].tiling.cache &&
                                                     (i + 2 * op) % (is_reduced ? 18 : 9) == 0);
            if (is_picked && device_holds(&variants[i]) &&
                has_turn_unless(variants[i].tiling.vector_width > 1, i + op))
                run_variant(ctx, &variants[i], &of);
        }
}

// w and b, which do not move along low.
static void test_tilings_with_weights(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++) {
        const variant *v = &variants[i];
        rewrite_case of = case_of(v, i % 2 ? LAYER_NORM : RMS_NORM, 3000 + (uint64_t)i);
        of.has_weight = of.has_bias = true;
        const bool is_widened_block = v->tiling.widen > 1 && v->low > 1;
        if (!is_widened_block && !v->tiling.cache && device_holds(v) &&
            i % (is_reduced ? 9 : 5) == 0)
            run_variant(ctx, v, &of);
    }
}

// Several groups of items that hand their states from item to item, and then to all what the first
// one has.
static void test_sub_groups(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_subgroups = true;
    weft_context *there = open_context(&limits);
    for (int i = 0; i < N_VARIANTS; i++) {
        const variant *v = &variants[i];
        const rewrite_case of = case_of(v, SOFTMAX, 6000 + (uint64_t)i);
        if (v->tiling.items_z > 1 && device_holds(v) && has_turn(i))
            run_variant(there, v, &of);
    }
    weft_context_destroy(&there);
}

// ---- rows in registers

static rewrite_case held_case(const held_rows *rows, rewrite_op op, int turn)
{
    const bool is_scaled = rewrite_is_norm(op) && turn % 3 > 0;
    const bool has_columns = rewrite_is_norm_backward(op) && turn % 2;
    static const weft_dtype types[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64, WEFT_F32};
    return (rewrite_case){.seed = 7000 + (uint64_t)turn,
                          .op = op,
                          .dtype = types[turn % 5],
                          .ndim = 2,
                          .shape = {7, rows->mid},
                          .axis = 1,
                          .number = 1,
                          .has_weight = is_scaled,
                          .has_bias = is_scaled && op == LAYER_NORM,
                          .wants_dw = has_columns,
                          .wants_db = has_columns && op == LAYER_NORM_BACKWARD,
                          .in_layout = LAYOUT_ALIGNED,
                          .out_layout = LAYOUT_ALIGNED,
                          .tiling = &rows->tiling};
}

// All kinds of numbers by one program; over each input in turn, where that is allowed.
static void run_held(const rewrite_case *of)
{
    const int step = is_reduced ? 2 : 1;
    for (int numbers = 0; numbers < N_NUMBERS; numbers += step) {
        rewrite_case one = *of;
        one.numbers = (rewrite_numbers)numbers;
        if (!of->wants_dw)
            one.over = numbers / step % (rewrite_is_backward(of->op) ? 3 : 2);
        one.masked = numbers % 3 == 0;
        if (rewrite_is_norm(one.op))
            one.number = numbers == OUT_OF_RANGE ? 0 : 1e-5;
        rewrite_run(ctx, &one);
    }
}

static const rewrite_op held_ops[N_REWRITES] = {
    LAYER_NORM, SOFTMAX,     LAYER_NORM_BACKWARD, SOFTMAX_BACKWARD,
    RMS_NORM,   LOG_SOFTMAX, RMS_NORM_BACKWARD,   LOG_SOFTMAX_BACKWARD};

static void test_held_rows(void **state)
{
    (void)state;
    for (int i = 0; i < N_HELD_TILINGS; i++)
        for (int op = 0; op < N_REWRITES; op++) {
            rewrite_case of = held_case(&held_tilings[i], held_ops[op], i + 3 * op);
            if (!rewrite_is_possible(ctx, &of))
                of.dtype = WEFT_F32;
            const bool is_picked = is_reduced ? i % N_REWRITES == op : op < 2 || (i + op) % 3 == 0;
            const bool has_room = of.dtype != WEFT_F64 || of.tiling->held * of.tiling->unroll <= 16;
            if (is_picked && has_room && has_turn(i / 2) &&
                items_of_group(of.tiling) <= weft_context_limits(ctx)->max_items)
                run_held(&of);
        }
}

// Items that hand on by shuffles, or would if the device had them, find the same bits.
static void test_held_rows_in_sub_groups(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_subgroups = !limits.has_subgroups;
    weft_context *there = open_context(&limits);
    for (int i = 0; i < N_HELD_TILINGS; i += is_reduced ? 3 : 1) {
        rewrite_case of = held_case(&held_tilings[i], held_ops[i % 4], i);
        of.dtype = WEFT_F32;
        of.numbers = i % 2 ? STEEP : FAR_AWAY;
        if (!has_turn(i / 2) || items_of_group(of.tiling) > limits.max_items)
            continue;
        rewrite_operands o, other;
        rewrite_create(&o, ctx, &of);
        rewrite_create(&other, there, &of);
        rewrite_call(&o);
        rewrite_call(&other);
        rewrite_check(&other);
        void *here = strided_read(rewrite_target(&o), o.queue);
        void *handed = strided_read(rewrite_target(&other), other.queue);
        assert_memory_equal(handed, here, rewrite_target(&o)->bytes);
        free(here);
        free(handed);
        rewrite_destroy(&o);
        rewrite_destroy(&other);
    }
    weft_context_destroy(&there);
}

// Rows of all lengths and layouts, as planned for GPUs of every width.
static void test_held_rows_as_planned(void **state)
{
    (void)state;
    static const char *const profiles[] = {"h100", "mi300x", "iris-xe"};
    static const int64_t lengths[] = {300, 16, 896, 45, 31, 1000, 8, 2048, 3, 130, 1};
    enum { N_LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
    for (int i = 0; i < 3; i++) {
        weft_context *there = open_context(weft_profile_find(profiles[i]));
        for (int j = 0; j < (is_reduced ? 2 : N_LENGTHS); j++) {
            const rewrite_op op = held_ops[(i + j) % N_REWRITES];
            const rewrite_case of = {.seed = 8000 + (uint64_t)(N_LENGTHS * i + j),
                                     .op = op,
                                     .ndim = 3,
                                     .shape = {3, 5, is_reduced && j == 0 ? 36 : lengths[j]},
                                     .axis = rewrite_is_norm(op) ? 1 : 2,
                                     .number = 1,
                                     .in_layout = j % 3 ? LAYOUT_SLICED : LAYOUT_DENSE,
                                     .out_layout = j % 5 ? LAYOUT_SLICED : LAYOUT_DENSE,
                                     .numbers = STEEP};
            rewrite_run(there, &of);
        }
        weft_context_destroy(&there);
    }
}

// Elements that are not as wide as numbers in arithmetic.
static void test_tilings_of_other_types(void **state)
{
    (void)state;
    static const weft_dtype some[] = {WEFT_F16, WEFT_BF16, WEFT_F64};
    for (int i = 0; i < N_VARIANTS; i += 4) {
        rewrite_case of = case_of(&variants[i], SOFTMAX, 4000 + (uint64_t)i);
        of.dtype = some[i / 4 % 3];
        if (device_holds(&variants[i]) && rewrite_is_possible(ctx, &of) && !is_reduced)
            run_variant(ctx, &variants[i], &of);
    }
}

// What parts found of 3 x 5 columns is read in vectors of 4, the last one from the last column on:
// no more is there than the workspace that was asked for. Oclgrind, which sees that, takes chosen
// lanes for uninitialised where others are.
static void test_last_columns_of_parts(void **state)
{
    (void)state;
    static const variant last = {
        "the last of parts", 3, 32, 5, LAYOUT_TRANSPOSED, TILING(4, 5, 1, 1, 2, 4, 1, 1, 3, 2)};
    static const rewrite_op ops[] = {SOFTMAX, LAYER_NORM}; // these need all that is asked for
    const char *uninitialized = getenv("OCLGRIND_UNINITIALIZED");
    if (uninitialized)
        setenv("OCLGRIND_UNINITIALIZED", "0", 1);
    weft_context *there = open_context(NULL);
    if (uninitialized)
        setenv("OCLGRIND_UNINITIALIZED", "1", 1);
    for (int i = 0; i < 2; i++) {
        rewrite_case of = case_of(&last, ops[i], 5000 + (uint64_t)i);
        of.dtype = WEFT_F64;
        if (!rewrite_is_possible(there, &of))
            continue;
        rewrite_operands o;
        size_t bytes;
        rewrite_create(&o, there, &of);
        assert_int_equal(rewrite_workspace(&o, &bytes), WEFT_OK);
        o.workspace = strided_zeros(there, bytes, CL_MEM_READ_WRITE);
        rewrite_call(&o);
        rewrite_check(&o);
        rewrite_destroy(&o);
    }
    weft_context_destroy(&there);
}

// (512, 896, 48) along the middle where warps have 32 lanes, groups 1024, and the device 160
// groups: what writes all has a quarter of such groups, 32 x 8 items in a grid of 2 x 320.
static void test_known_geometry(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("nvidia-v100");
    limits.max_blocks = 160;
    weft_context *there = open_context(&limits);
    const bool has_room = weft_context_limits(there)->max_block == 1024;
    const rewrite_case of = {.seed = 1,
                             .op = SOFTMAX,
                             .ndim = 3,
                             .shape = {is_reduced ? 321 : 512, is_reduced ? 33 : 896, 48},
                             .axis = 1,
                             .number = 1,
                             .numbers = STEEP};
    rewrite_operands o;
    rewrite_create(&o, there, &of);
    const char *words = rewrite_words(&o);
    if (has_room &&
        (!strstr(words, "items 32, items_y 8, ") || !strstr(words, "grid_x 2, grid_y 320")))
        fail_msg("%s", words);
    if (!is_reduced) { // 163840 items
        rewrite_call(&o);
        rewrite_check(&o);
    }
    rewrite_destroy(&o);
    weft_context_destroy(&there);
}

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    static const int64_t shapes[][3] = {{5, 48, 70}, {9, 1, 300}, {1, 3, 4000}, {1, 130, 40}};
    weft_context *there = open_context(limits);
    for (uint64_t i = 0; i < (is_reduced ? 1 : 4); i++) {
        const int64_t *shape = shapes[(seed + i) % 4];
        const rewrite_op op = i % 2 ? (rewrite_op)(1 + (seed + i) % (N_REWRITES - 1)) : SOFTMAX;
        const rewrite_case of = {.seed = seed + i,
                                 .op = op,
                                 .ndim = 3,
                                 .shape = {shape[0], shape[1], is_reduced ? 33 : shape[2]},
                                 .axis = rewrite_is_norm(op) ? 1 : 2,
                                 .number = 1,
                                 .in_layout = LAYOUT_TRANSPOSED,
                                 .out_layout = LAYOUT_TRANSPOSED,
                                 .numbers = STEEP};
        rewrite_run(there, &of);
    }
    weft_context_destroy(&there);
}

static void test_as_planned_for_known_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i += is_reduced ? 8 : 2)
        if (takes_vectors() || weft_profile_at(i)->vector_width == 1)
            run_profile(weft_profile_at(i), 100 * i + i);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tiling),
        cmocka_unit_test(test_tilings_with_weights),
        cmocka_unit_test(test_sub_groups),
        cmocka_unit_test(test_held_rows),
        cmocka_unit_test(test_held_rows_in_sub_groups),
        cmocka_unit_test(test_held_rows_as_planned),
        cmocka_unit_test(test_tilings_of_other_types),
        cmocka_unit_test(test_last_columns_of_parts),
        cmocka_unit_test(test_known_geometry),
        cmocka_unit_test(test_as_planned_for_known_devices),
    };
    const int failed = cmocka_run_group_tests_name("rewrite plans", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
