// SPDX-License-Identifier: Apache-2.0
// Reductions by every kind of tiling, whether or not it would be chosen for the device at hand, and
// as planned for known devices of every make.
#include "held_tilings.h"
#include "reduce_case.h"
#include "tilings.h"

#include <inttypes.h>

#include <weft/rehearsal.h>

#include "axis/axis_plan.h"
#include "random.h"
#include "runtime/ocl.h"
#include "tiling_text.h"

static weft_context *ctx;
static bool is_reduced; // the small set

// One op each: every one is a program, or two where neighbours need not be neighbours in memory.
static const struct {
    weft_reduction op;
    weft_axis_tiling tiling;
} tilings[] = {
    // as on CPUs: one item, lanes of a vector
    {WEFT_SUM, TILING(1, 1, 1, 1, 1, 1, 1, 1, 1, 1)},
    {WEFT_ARGMIN, TILING(16, 2, 1, 1, 8, 1, 3, 2, 2, 1)},
    {WEFT_VAR, TILING(4, 64, 1, 1, 2, 1, 1, 1, 4, 3)},
    {WEFT_LOGSUMEXP, TILING(8, 3, 1, 1, 4, 1, 2, 3, 1, 7)},
    // of widened lines
    {WEFT_SUM, TILING(16, 64, 1, 1, 8, 16, 1, 1, 2, 1)},
    {WEFT_ARGMIN, TILING(2, 64, 1, 1, 1, 2, 1, 1, 1, 4)},
    {WEFT_VAR, TILING(8, 40, 1, 1, 4, 8, 5, 1, 3, 2)},
    {WEFT_LOGSUMEXP, TILING(1, 64, 1, 1, 2, 3, 1, 1, 1, 1)},
    {WEFT_MIN, TILING(8, 40, 1, 1, 4, 8, 5, 1, 3, 2)},
    // of one vector: where lanes lie along mid they are joined so many highs at a time
    {WEFT_ARGMAX, TILING(16, 1, 1, 1, 2, 16, 19, 1, 2, 1)},
    {WEFT_MAX, TILING(8, 1, 1, 1, 1, 8, 8, 1, 1, 1)},
    {WEFT_NORM1, TILING(4, 1, 1, 1, 4, 4, 3, 1, 2, 1)},
    {WEFT_STD, TILING(2, 1, 1, 1, 1, 2, 7, 1, 1, 1)},
    {WEFT_MEAN, TILING(8, 1, 1, 1, 2, 8, 2, 1, 1, 3)},
    {WEFT_VAR, TILING(8, 1, 1, 1, 4, 8, 1, 1, 1, 5)}, // some parts are empty
    // as on GPUs: items along low, groups of items along mid
    {WEFT_SUM, TILING(1, 1, 4, 8, 4, 1, 1, 2, 2, 1)},
    {WEFT_ARGMIN, TILING(1, 1, 1, 32, 4, 1, 1, 1, 3, 1)},
    {WEFT_VAR, TILING(1, 1, 16, 2, 1, 1, 1, 1, 1, 5)},
    {WEFT_LOGSUMEXP, TILING(1, 3, 2, 4, 2, 1, 2, 1, 1, 3)},
    {WEFT_SUM, TILING(4, 2, 1, 4, 2, 1, 1, 2, 1, 2)},
    {WEFT_ARGMIN, TILING(1, 32, 1, 4, 2, 4, 1, 1, 2, 2)},
    {WEFT_MIN, TILING(1, 3, 2, 4, 2, 1, 2, 1, 1, 3)},
    // and several groups of items in a group: of a warp, of a part of one, of more; and of no group
    // of items at all
    {WEFT_VAR, ITEMS_Z(1, 1, 32, 2, 4, 1, 1, 2)},
    {WEFT_ARGMAX, ITEMS_Z(1, 2, 4, 8, 2, 2, 2, 1)},
    {WEFT_LOGSUMEXP, ITEMS_Z(1, 4, 16, 3, 1, 1, 1, 1)},
    {WEFT_SUM, ITEMS_Z(3, 2, 8, 2, 8, 1, 2, 2)},
    {WEFT_MAX, ITEMS_Z(1, 1, 1, 64, 4, 1, 1, 1)},
};
enum { N_TILINGS = sizeof(tilings) / sizeof(tilings[0]) };

static bool fits(const weft_axis_tiling *tiling, const reduce_operands *o)
{
    const size_t items = items_of_group(tiling);
    const weft_reduce_params params = reduce_params(o);
    size_t bytes;
    if (items > weft_context_limits(ctx)->max_items)
        return false;
    const weft_status status =
        weft_reduce_workspace(ctx, o->of.op, &o->X, o->n_axes, o->axes, &o->Y, &params, &bytes);
    if (status != WEFT_OK && status != WEFT_UNSUPPORTED && status != WEFT_BAD_ARGUMENT)
        fail_msg("%s", weft_last_error());
    return status == WEFT_OK;
}

static bool finds_zeros(weft_reduction op)
{
    return op == WEFT_MIN || op == WEFT_MAX;
}

// Lines as the tiling wants them, one off, and several; the others are refused and counted. Lines
// of one vector are rows: more of them than lanes, at times.
static int run_tiling(const weft_axis_tiling *tiling, weft_reduction op, uint64_t seed)
{
    random_state random = {seed};
    const int64_t strip = (int64_t)tiling->vector_width * tiling->vectors * tiling->items;
    const int64_t lines = (int64_t)tiling->items_y * tiling->unroll * tiling->widen;
    const int64_t lows[] = {strip, strip + 1, 2 * strip, 19, 3 * strip - 1, 1};
    reduce_case one = {.seed = seed,
                       .op = op,
                       .ndim = 3,
                       .mask = 2,
                       .x_layout = (reduce_layout)random_below(&random, N_LAYOUTS),
                       .y_layout = (reduce_layout)random_below(&random, LAYOUT_REPEATING),
                       .numbers = seed % 2          ? WHOLE
                                  : finds_zeros(op) ? ZEROS
                                                    : FRACTIONS,
                       .tiling = tiling};
    one.shape[0] = random_between(&random, 1, 7);
    one.shape[1] = random_between(&random, 1, 3 * lines);
    one.shape[2] = lows[random_below(&random, 6)];
    if (tiling->widen > 1) {
        one.x_layout = LAYOUT_DENSE;
        one.shape[1] += tiling->widen;
        one.shape[2] = random_below(&random, 2) ? 1 : random_between(&random, 1, 9);
        if (tiling->vectors == 1)
            one.shape[0] *= 6, one.shape[2] = 1;
    }
    reduce_operands o;
    reduce_create(&o, ctx, &one);
    const bool is_taken = fits(tiling, &o);
    if (is_taken) {
        reduce_call(&o);
        reduce_check(&o);
    }
    reduce_destroy(&o);
    return is_taken;
}

static void test_every_tiling(void **state)
{
    (void)state;
    const weft_limits *limits = weft_context_limits(ctx);
    for (int i = 0; i < N_TILINGS; i++) {
        const weft_axis_tiling *tiling = &tilings[i].tiling;
        if (is_left_out(tiling) || !has_turn_unless(tiling->vector_width > 1, i))
            continue;
        int n_taken = 0;
        for (int j = 0; j < (is_reduced ? 16 : 40); j++)
            n_taken += run_tiling(tiling, tilings[i].op, (uint64_t)(1000 * i + j));
        print_message("# tiling %d: %d taken\n", i, n_taken);
        if (items_of_group(tiling) <= limits->max_items)
            assert_true(n_taken > 2);
    }
}

// More groups and parts than there is work.
static void test_too_many_groups(void **state)
{
    (void)state;
    static const struct {
        weft_reduction op;
        weft_axis_tiling tiling;
    } many[] = {
        {WEFT_SUM, TILING(4, 2, 1, 1, 2, 1, 1, 9, 9, 1)},
        {WEFT_ARGMIN, TILING(4, 2, 1, 1, 2, 1, 4, 1, 9, 50)},
        {WEFT_VAR, TILING(1, 1, 2, 4, 2, 1, 1, 5, 1, 1024)},
        {WEFT_MAX, TILING(1, 1, 1, 1, 4, 1, INT64_C(1) << 62, 1, 65535, 1)},
        {WEFT_LOGSUMEXP, TILING(1, 1, 2, 4, 2, 1, 1, 5, 1, 1024)},
        {WEFT_PROD, TILING(2, 4, 1, 1, 1, 1, 1, 3, 2, 1024)},
    };
    for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
        for (int64_t mid = 0; mid < 30 && !is_left_out(&many[i].tiling); mid += 7) {
            const reduce_case one = {.seed = 77 + (uint64_t)mid,
                                     .op = many[i].op,
                                     .ndim = 3,
                                     .shape = {3, mid, 12},
                                     .mask = 2,
                                     .tiling = &many[i].tiling};
            if (!is_reduced || (mid == 7 && i < 4))
                reduce_run(ctx, &one);
        }
}

// As here, so there.
static void expect_same_bits(weft_context *there, const reduce_case *one)
{
    reduce_operands here, o;
    reduce_create(&here, ctx, one);
    reduce_create(&o, there, one);
    reduce_call(&here);
    reduce_call(&o);
    reduce_check(&o);
    void *laid_down = reduce_read(&here), *handed = reduce_read(&o);
    assert_memory_equal(handed, laid_down, o.y_bytes);
    free(laid_down);
    free(handed);
    reduce_destroy(&here);
    reduce_destroy(&o);
}

// Teams that hand their states from item to item find the same bits as those that lay them down.
static void test_sub_groups(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_subgroups = true;
    weft_context *there = open_context(&limits);
    assert_true(weft_context_limits(there)->has_subgroups);
    for (int i = 0; i < N_TILINGS; i++) {
        const weft_axis_tiling *t = &tilings[i].tiling;
        const reduce_case one = {.seed = 600 + (uint64_t)i,
                                 .op = tilings[i].op,
                                 .ndim = 3,
                                 .shape = {2, 200, 24},
                                 .mask = 2,
                                 .numbers = FRACTIONS,
                                 .tiling = t};
        if (t->items_y == 1 || t->vector_width > 1 || t->widen > 1 ||
            items_of_group(t) > weft_context_limits(ctx)->max_items)
            continue;
        expect_same_bits(there, &one);
    }
    weft_context_destroy(&there);
}

// ---- rows in registers

static reduce_case held_case(int i, int turn)
{
    return (reduce_case){.seed = 900 + (uint64_t)turn,
                         .op = (weft_reduction)(turn % (WEFT_LOGSUMEXP + 1)),
                         .ndim = 2,
                         .shape = {7, held_tilings[i].mid},
                         .mask = 2,
                         .x_layout = LAYOUT_ALIGNED,
                         .tiling = &held_tilings[i].tiling};
}

static void run_held(reduce_case one, weft_dtype dtype)
{
    one.dtype = dtype;
    for (int numbers = 0; numbers < N_NUMBERS; numbers += is_reduced ? 3 : 1) {
        one.numbers = (reduce_numbers)numbers;
        if (!reduce_is_possible(ctx, &one))
            continue;
        reduce_run(ctx, &one);
    }
}

// Whether numbers of 8 bytes, which some types are summed in, have room in an item.
static bool takes_wide_numbers(const weft_axis_tiling *t)
{
    return t->held * t->unroll <= 16;
}

// Over extremes of rows in registers PoCL 6.0's compiler ends the process; PoCL 3.1's does not.
static bool is_compiled(weft_reduction op)
{
    if (!is_on("pocl") || (op != WEFT_MIN && op != WEFT_MAX && op != WEFT_NORM_INF))
        return true;
    char *driver = weft_device_text(weft_context_device(ctx), CL_DRIVER_VERSION);
    assert_non_null(driver);
    const bool is_older = strtod(driver, NULL) < 6;
    free(driver);
    return is_older;
}

static void test_held_rows(void **state)
{
    (void)state;
    static const weft_dtype wide[] = {WEFT_F64, WEFT_I64, WEFT_U8, WEFT_I32};
    for (int turn = 0; turn < 2 * (WEFT_LOGSUMEXP + 1); turn++) {
        const int i = turn % N_HELD_TILINGS;
        const reduce_case one = held_case(i, turn);
        if ((is_reduced && turn % 3 > 0) || !has_turn(turn) || !is_compiled(one.op) ||
            items_of_group(one.tiling) > weft_context_limits(ctx)->max_items)
            continue;
        run_held(one, turn % 5 == 1 ? WEFT_F16 : turn % 5 == 3 ? WEFT_BF16 : WEFT_F32);
        if (takes_wide_numbers(one.tiling))
            run_held(one, wide[turn % 4]);
    }
}

// Items that hand on by shuffles, or would if the device had them, find the same bits.
static void test_held_rows_in_sub_groups(void **state)
{
    (void)state;
    weft_limits limits = *weft_context_limits(ctx);
    limits.has_subgroups = !limits.has_subgroups;
    weft_context *there = open_context(&limits);
    static const weft_reduction ops[] = {WEFT_SUM, WEFT_VAR, WEFT_LOGSUMEXP, WEFT_NORM2, WEFT_MAX};
    for (int i = 0; i < N_HELD_TILINGS; i += is_reduced ? 3 : 1) {
        reduce_case one = held_case(i, i);
        one.op = ops[i % 5];
        one.numbers = FRACTIONS;
        if (!has_turn(i / 2) || !is_compiled(one.op) ||
            items_of_group(one.tiling) > limits.max_items)
            continue;
        expect_same_bits(there, &one);
    }
    weft_context_destroy(&there);
}

// What a sum of that tiling, by the `items` of a group, would be built with on an NVIDIA GPU.
static const char *options_for(int items, int items_y, int items_z)
{
    static char options[4096];
    const weft_axis_tiling tiling = {.vector_width = 1,
                                     .vectors = 1,
                                     .items = items,
                                     .items_y = items_y,
                                     .unroll = 4,
                                     .widen = 1,
                                     .run = 1,
                                     .grid_x = 2,
                                     .grid_y = 1,
                                     .parts = 1,
                                     .items_z = items_z};
    weft_context *there;
    assert_int_equal(weft_rehearsal_create(&there, weft_profile_find("nvidia-h200"), NULL),
                     WEFT_OK);
    const cl_mem buffer = weft_rehearsal_buffer(there, NULL);
    const weft_tensor X = weft_matrix(buffer, WEFT_F32, 300, 50);
    const weft_tensor Y = weft_matrix(weft_rehearsal_buffer(there, NULL), WEFT_F32, 1, 50);
    weft_rehearsal_begin(there);
    assert_int_equal(weft_reduce(there, NULL, WEFT_SUM, &X, 1, (int[]){0}, &Y,
                                 WEFT_REDUCE(.tiling = TILING_TEXT(axis, &tiling))),
                     WEFT_OK);
    const weft_rehearsal *told = weft_rehearsal_end(there);
    assert_int_equal(told->n_launches, 1);
    snprintf(options, sizeof(options), "%s ", told->launches[0].options);
    weft_context_destroy(&there);
    return options;
}

// Items of warps that are not full are not handed anything by name.
static void test_shuffles(void **state)
{
    (void)state;
    static const struct {
        int items, items_y, items_z;
        const char *wanted;
    } cases[] = {
        {1, 16, 1, "SHUFFLES=2 "}, {5, 4, 1, "SHUFFLES=2 "},  {4, 8, 1, "SHUFFLES=2 "},
        {6, 16, 1, "SHUFFLES=2 "}, {5, 16, 1, "SHUFFLES=0 "}, {3, 16, 1, "SHUFFLES=0 "},
        {32, 1, 1, "SHUFFLES=0 "}, {1, 8, 4, "SHUFFLES=2 "},  {1, 8, 5, "SHUFFLES=0 "},
        {6, 16, 2, "SHUFFLES=0 "}, {1, 64, 3, "SHUFFLES=2 "},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (!strstr(options_for(cases[i].items, cases[i].items_y, cases[i].items_z),
                    cases[i].wanted))
            fail_msg("%d x %d: %s", cases[i].items, cases[i].items_y,
                     options_for(cases[i].items, cases[i].items_y, cases[i].items_z));
}

// (512, 896, 48) along the middle where warps have 32 lanes, groups 1024, and the device 160
// groups: 32 x 32 items in a grid of 2 x 80.
static void test_known_geometry(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("nvidia-v100");
    limits.max_blocks = 160;
    weft_context *there = open_context(&limits);
    const bool has_room = weft_context_limits(there)->max_block == 1024;
    const reduce_case one = {.seed = 1,
                             .op = WEFT_SUM,
                             .ndim = 3,
                             .shape = {is_reduced ? 100 : 512, is_reduced ? 64 : 896, 48},
                             .mask = 2,
                             .numbers = FRACTIONS};
    reduce_operands o;
    reduce_create(&o, there, &one);
    if (has_room && !strstr(reduce_words(&o), "items 32, items_y 32, "))
        fail_msg("%s", reduce_words(&o));
    if (has_room && !strstr(reduce_words(&o), "grid_x 2, grid_y 80"))
        fail_msg("%s", reduce_words(&o));
    if (!is_reduced) { // 163840 items
        reduce_call(&o);
        reduce_check(&o);
    }
    reduce_destroy(&o);
    weft_context_destroy(&there);
}

static void run_profile(const weft_limits *limits, uint64_t seed)
{
    static const int64_t shapes[][3] = {{5, 70, 48}, {9, 300, 1}, {1, 4000, 3}, {1, 40, 130}};
    weft_context *there = open_context(limits);
    for (int i = 0; i < (is_reduced ? 1 : 2); i++) {
        const int64_t *shape = shapes[(seed + (uint64_t)i) % 4];
        const reduce_case one = {.seed = seed + (uint64_t)i,
                                 .op = i % 2 ? WEFT_ARGMAX : WEFT_VAR,
                                 .ndim = 3,
                                 .shape = {shape[0], shape[1], shape[2]},
                                 .mask = 2,
                                 .numbers = FRACTIONS};
        reduce_run(there, &one);
    }
    weft_context_destroy(&there);
}

static void test_as_planned_for_known_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i += 4)
        if (takes_vectors() || weft_profile_at(i)->vector_width == 1)
            run_profile(weft_profile_at(i), i / 4);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tiling),
        cmocka_unit_test(test_too_many_groups),
        cmocka_unit_test(test_sub_groups),
        cmocka_unit_test(test_held_rows),
        cmocka_unit_test(test_held_rows_in_sub_groups),
        cmocka_unit_test(test_shuffles),
        cmocka_unit_test(test_known_geometry),
        cmocka_unit_test(test_as_planned_for_known_devices),
    };
    const int failed = cmocka_run_group_tests_name("reduce plans", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
