// SPDX-License-Identifier: Apache-2.0
// Tilings of elementwise work: what is chosen for known shapes, that everything chosen is sound and
// has work for every group on every known device, and what is refused.
#include <weft/elementwise.h>

#include "base/arithmetic.h"
#include "elementwise/elementwise_plan.h"
#include "random.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { N_RANDOM = 4000, N_RANDOM_LIMITS = 100000 };

// ---- known shapes

typedef struct known {
    weft_elementwise_problem problem;
    const char *expected;
} known;

// Two operands of f32 whose rows and columns lie as the output's do, and one transposed round.
#define DENSE(c, r)                                                                                \
    .problem = {.columns = (c),                                                                    \
                .rows = (r),                                                                       \
                .outers = 1,                                                                       \
                .element_bytes = 8,                                                                \
                .out_bytes = 4,                                                                    \
                .aligned = true}
#define TRANSPOSED(c, r)                                                                           \
    .problem = {.columns = (c),                                                                    \
                .rows = (r),                                                                       \
                .outers = 1,                                                                       \
                .element_bytes = 8,                                                                \
                .out_bytes = 4,                                                                    \
                .n_across = 1}
#define DENSE_F64(c, r)                                                                            \
    .problem = {.columns = (c),                                                                    \
                .rows = (r),                                                                       \
                .outers = 1,                                                                       \
                .element_bytes = 16,                                                               \
                .out_bytes = 8,                                                                    \
                .number_bytes = 8,                                                                 \
                .aligned = true}
#define DENSE_U8(c, r)                                                                             \
    .problem = {.columns = (c),                                                                    \
                .rows = (r),                                                                       \
                .outers = 1,                                                                       \
                .element_bytes = 2,                                                                \
                .out_bytes = 1,                                                                    \
                .aligned = true}

#define CHECK_KNOWN(device, cases)                                                                 \
    check_known(device, cases, (int)(sizeof(cases) / sizeof((cases)[0])))

static void check_known(const char *device, const known *cases, int n)
{
    const weft_limits *limits = weft_profile_find(device);
    assert_non_null(limits);
    for (int i = 0; i < n; i++) {
        const weft_elementwise_tiling t = weft_elementwise_tiling_for(limits, &cases[i].problem);
        char text[256];
        assert_in_range(weft_elementwise_tiling_print(&t, text, sizeof(text)), 1, sizeof(text) - 1);
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s, case %d: %s", limits->name, i, text);
    }
}

static void test_known_on_cpu(void **state)
{
    (void)state;
    static const known cases[] = {
        {DENSE(67108864, 1),
         "vector_width 16, vectors 1, items 1, items_y 1, columns 32768, rows 1, grid_x "
         "2048, grid_y 1, grid_z 1"},
        {DENSE(8192, 8192),
         "vector_width 16, vectors 1, items 1, items_y 1, columns 8192, rows 4, grid_x 1, "
         "grid_y 2048, grid_z 1"},
        {TRANSPOSED(8192, 8192),
         "vector_width 16, vectors 1, items 1, items_y 1, tiled, columns 128, rows 128, "
         "grid_x 64, grid_y 64, grid_z 1"},
        {TRANSPOSED(512, 300),
         "vector_width 16, vectors 1, items 1, items_y 1, tiled, columns 32, rows 32, "
         "grid_x 16, grid_y 10, grid_z 1"},
        {DENSE(3, 1000000),
         "vector_width 1, vectors 1, items 1, items_y 1, columns 3, rows 781, grid_x 1, "
         "grid_y 1281, grid_z 1"},
        {TRANSPOSED(3, 1000000),
         "vector_width 1, vectors 1, items 1, items_y 1, columns 3, rows 781, grid_x 1, "
         "grid_y 1281, grid_z 1"},
        {DENSE_F64(67108864, 1),
         "vector_width 8, vectors 1, items 1, items_y 1, columns 16384, rows 1, "
         "grid_x 4096, grid_y 1, grid_z 1"},
        {DENSE_U8(67108864, 1),
         "vector_width 16, vectors 1, items 1, items_y 1, columns 52416, rows 1, "
         "grid_x 1281, grid_y 1, grid_z 1"},
        {DENSE(1000, 1), "vector_width 16, vectors 1, items 1, items_y 1, columns 1000, rows 1, "
                         "grid_x 1, grid_y 1, grid_z 1"},
        {DENSE(1, 1), "vector_width 1, vectors 1, items 1, items_y 1, columns 1, rows 1, grid_x 1, "
                      "grid_y 1, grid_z 1"},
    };
    CHECK_KNOWN("intel-xeon-8380", cases);
}

static void test_known_on_gpu(void **state)
{
    (void)state;
    static const known cases[] = {
        {DENSE(67108864, 1),
         "vector_width 1, vectors 4, items 256, items_y 1, columns 1024, rows 1, grid_x "
         "65536, grid_y 1, grid_z 1"},
        {DENSE(8192, 8192),
         "vector_width 1, vectors 4, items 256, items_y 1, columns 1024, rows 1, grid_x 8, "
         "grid_y 8192, grid_z 1"},
        {TRANSPOSED(8192, 8192),
         "vector_width 1, vectors 1, items 32, items_y 8, tiled, columns 32, rows 32, "
         "grid_x 256, grid_y 256, grid_z 1"},
        {DENSE(3, 1000000),
         "vector_width 1, vectors 4, items 4, items_y 64, columns 16, rows 64, grid_x 1, "
         "grid_y 15625, grid_z 1"},
        {TRANSPOSED(3, 1000000),
         "vector_width 1, vectors 4, items 4, items_y 64, columns 16, rows 64, grid_x 1, "
         "grid_y 15625, grid_z 1"},
        {DENSE_F64(67108864, 1),
         "vector_width 1, vectors 4, items 256, items_y 1, columns 1024, rows 1, "
         "grid_x 65536, grid_y 1, grid_z 1"},
        {DENSE_U8(67108864, 1),
         "vector_width 4, vectors 4, items 256, items_y 1, aligned, columns 4096, rows "
         "1, grid_x 16384, grid_y 1, grid_z 1"},
        {DENSE(1000, 1),
         "vector_width 1, vectors 4, items 256, items_y 1, columns 1024, rows 1, grid_x 1, "
         "grid_y 1, grid_z 1"},
        {DENSE(1, 1), "vector_width 1, vectors 4, items 2, items_y 1, columns 8, rows 1, grid_x 1, "
                      "grid_y 1, grid_z 1"},
        // more rows than there are groups along them
        {DENSE(3, 1 << 30),
         "vector_width 1, vectors 4, items 4, items_y 64, columns 16, rows 16385, grid_x "
         "1, grid_y 65533, grid_z 1"},
    };
    CHECK_KNOWN("nvidia-h200", cases);
}

static void test_print(void **state)
{
    (void)state;
    const weft_elementwise_tiling t = {.vector_width = 4,
                                       .vectors = 2,
                                       .items = 8,
                                       .items_y = 16,
                                       .tiled = true,
                                       .aligned = true,
                                       .columns = 32,
                                       .rows = 64,
                                       .grid_x = 5,
                                       .grid_y = 6,
                                       .grid_z = 7};
    static const char expected[] =
        "vector_width 4, vectors 2, items 8, items_y 16, tiled, aligned, columns "
        "32, rows 64, grid_x 5, grid_y 6, grid_z 7";
    char text[256];
    assert_int_equal(weft_elementwise_tiling_print(&t, text, sizeof(text)), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(weft_elementwise_tiling_print(&t, text, 6), strlen(expected));
    assert_string_equal(text, "vecto");
}

// 512 lines from 2 MiB of L2 on, 256 below; fewer where there is little work.
static void test_tiles_by_cache(void **state)
{
    (void)state;
    static const struct {
        uint64_t l2_bytes;
        int64_t side, lines;
    } cases[] = {{0, 1 << 16, 256},       {1 << 19, 1 << 16, 256}, {(1 << 21) - 1, 1 << 16, 256},
                 {1 << 21, 1 << 16, 512}, {1 << 23, 1 << 16, 512}, {1 << 21, 1 << 10, 32}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_limits limits = *weft_profile_find("intel-xeon-8380");
        limits.l2_bytes = cases[i].l2_bytes;
        const known square = {TRANSPOSED(cases[i].side, cases[i].side), NULL};
        const weft_elementwise_tiling t = weft_elementwise_tiling_for(&limits, &square.problem);
        assert_int_equal(t.columns, cases[i].lines);
        assert_int_equal(t.rows, cases[i].lines);
    }
}

// A problem that says nothing is one element.
static void test_nothing_said(void **state)
{
    (void)state;
    static const weft_elementwise_problem nothing;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const weft_limits *limits = weft_profile_at(i);
        const weft_elementwise_tiling t = weft_elementwise_tiling_for(limits, &nothing);
        assert_int_equal(weft_elementwise_tiling_check(&t, limits, &nothing), WEFT_OK);
        assert_int_equal(t.grid_x * t.grid_y * t.grid_z, 1);
        const bool is_spread = limits->vector_width == 1 && limits->max_items_y > 1;
        assert_int_equal(t.items * t.items_y, is_spread ? 2 : 1);
    }
}

// ---- everything that is chosen

static int64_t random_size(random_state *random)
{
    switch (random_below(random, 5)) {
    case 0:
        return random_extent(random);
    case 1:
        return random_between(random, -1, 20);
    case 2:
        return 4 * random_between(random, 1, 5000);
    default:
        return random_between(random, 1, 3000);
    }
}

static weft_elementwise_problem random_problem(random_state *random)
{
    return (weft_elementwise_problem){
        .columns = random_size(random),
        .rows = random_size(random),
        .outers = random_below(random, 2) ? 1 : random_size(random),
        .element_bytes = (int)(random_below(random, 9) ? random_between(random, 0, 96) : 1 << 20),
        .out_bytes = 1 << random_below(random, 4),
        .number_bytes = 4 * (int)random_below(random, 3),
        .n_across = random_below(random, 2) ? (int)random_below(random, 9) : 0,
        .aligned = random_below(random, 2),
    };
}

// At most 2^62.
static int64_t product(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) ? INT64_C(1) << 62 : c;
}

static bool is_power(int64_t x)
{
    return x > 0 && (x & (x - 1)) == 0;
}

static const char *group_fault(const weft_limits *limits, const weft_elementwise_tiling *t)
{
    if (!is_power(t->vector_width) || !is_power(t->vectors) || !is_power(t->items) ||
        !is_power(t->items_y))
        return "no power of two";
    if ((size_t)t->items > limits->max_items_along[0] ||
        (size_t)t->items_y > limits->max_items_along[1] ||
        (size_t)t->items * (size_t)t->items_y > limits->max_items)
        return "too many items";
    if (t->items * t->items_y > limits->max_block)
        return "more items than a block has lanes";
    if (limits->vector_width > 1 && t->vector_width > limits->vector_width)
        return "wider vectors than the limits'";
    if (limits->vector_width == 1 && t->vector_width > (t->aligned ? 4 : 1))
        return "vectors where lanes are items";
    if ((limits->vector_width > 1 || limits->max_items_y == 1) && (t->items > 1 || t->items_y > 1))
        return "a group of several items on a CPU";
    if (limits->max_items_y == 1 && t->tiled && t->vector_width == 1)
        return "tiles of single elements on a CPU";
    return NULL;
}

static const char *grid_fault(const weft_elementwise_problem *problem,
                              const weft_elementwise_tiling *t)
{
    if (t->columns < 1 || t->rows < 1 || t->grid_x < 1 || t->grid_y < 1 || t->grid_z < 1)
        return "nothing of something";
    if (product(t->grid_x - 1, t->columns) >= max_i64(problem->columns, 1) ||
        product(t->grid_y - 1, t->rows) >= max_i64(problem->rows, 1) ||
        t->grid_z > max_i64(problem->outers, 1))
        return "a group without work";
    return NULL;
}

// In local memory each row of a transposed block is one element longer.
static const char *tile_fault(const weft_limits *limits, const weft_elementwise_problem *problem,
                              const weft_elementwise_tiling *t)
{
    const int64_t number_bytes = problem->number_bytes ? problem->number_bytes : 4;
    const int64_t bytes = problem->n_across * t->rows * (t->columns + 1) * number_bytes;
    if (problem->n_across < 1)
        return "tiles where nothing lies across";
    if (t->columns != t->rows || !is_power(t->columns) || t->columns % t->vector_width != 0)
        return "a tile of another shape";
    if (t->vector_width == 1 && (uint64_t)bytes > limits->local_bytes)
        return "tiles larger than local memory";
    return NULL;
}

// Work for every core, where there is enough to share.
static bool is_idle(const weft_limits *limits, const weft_elementwise_problem *problem,
                    const weft_elementwise_tiling *t)
{
    const int64_t n = product(product(max_i64(problem->columns, 1), max_i64(problem->rows, 1)),
                              max_i64(problem->outers, 1));
    return n >= product(limits->compute_units, 1 << 17) &&
           product(product(t->grid_x, t->grid_y), t->grid_z) < limits->compute_units;
}

static const char *fault_of(const weft_limits *limits, const weft_elementwise_problem *problem,
                            const weft_elementwise_tiling *t)
{
    if (weft_elementwise_tiling_check(t, limits, problem) != WEFT_OK)
        return weft_last_error();
    if (t->aligned && (!problem->aligned || t->columns % t->vector_width != 0))
        return "aligned, where operands are not";
    if (is_idle(limits, problem, t))
        return "idle cores";
    const char *fault = group_fault(limits, t);
    fault = fault ? fault : grid_fault(problem, t);
    return fault || !t->tiled ? fault : tile_fault(limits, problem, t);
}

static void check_chosen(const weft_limits *limits, const weft_elementwise_problem *problem)
{
    const weft_elementwise_tiling t = weft_elementwise_tiling_for(limits, problem);
    const char *fault = fault_of(limits, problem, &t);
    if (!fault)
        return;
    char text[256];
    weft_elementwise_tiling_print(&t, text, sizeof(text));
    fail_msg("%s, %" PRId64 " columns, %" PRId64 " rows, %" PRId64 " outers, %d across: %s: %s",
             limits->name, problem->columns, problem->rows, problem->outers, problem->n_across,
             text, fault);
}

static void test_random_problems_on_every_profile(void **state)
{
    (void)state;
    random_state random = {59};
    for (int k = 0; k < N_RANDOM; k++) {
        const weft_elementwise_problem problem = random_problem(&random);
        for (size_t i = 0; i < weft_profile_count(); i++)
            check_chosen(weft_profile_at(i), &problem);
    }
}

// A device that has less of something, or no end of it.
static weft_limits random_limits(random_state *random)
{
    weft_limits limits =
        *weft_profile_at((size_t)random_below(random, (int64_t)weft_profile_count()));
    if (random_below(random, 2) == 0)
        limits.local_bytes = (size_t)(random_extent(random) >> 44);
    if (random_below(random, 2) == 0)
        limits.vector_width = 1 << random_below(random, 5);
    if (random_below(random, 2) == 0)
        limits.max_items_y = 1 << random_below(random, 11);
    if (random_below(random, 2) == 0)
        limits.max_block = 1 << random_below(random, 11);
    if (random_below(random, 2) == 0)
        limits.max_items = (size_t)random_between(random, 1, 300);
    if (random_below(random, 2) == 0)
        limits.max_items = SIZE_MAX;
    for (int d = 0; d < 3; d++)
        if (random_below(random, 2) == 0)
            limits.max_items_along[d] =
                random_below(random, 4) ? (size_t)random_between(random, 1, 300) : SIZE_MAX;
    return limits;
}

static void test_random_limits(void **state)
{
    (void)state;
    random_state random = {61};
    int n_sound = 0;
    for (int k = 0; k < N_RANDOM_LIMITS; k++) {
        const weft_limits limits = random_limits(&random);
        const weft_elementwise_problem problem = random_problem(&random);
        if (weft_limits_check(&limits) != WEFT_OK)
            continue;
        check_chosen(&limits, &problem);
        n_sound++;
    }
    assert_true(n_sound > N_RANDOM_LIMITS / 20);
}

// ---- what is refused

static const weft_elementwise_problem usual = {
    .columns = 896, .rows = 512, .outers = 3, .element_bytes = 8, .out_bytes = 4, .n_across = 2};
static const weft_elementwise_problem aligned = {
    .columns = 896, .rows = 512, .outers = 3, .element_bytes = 8, .out_bytes = 4, .aligned = true};
static const weft_elementwise_tiling plain = {.vector_width = 1,
                                              .vectors = 1,
                                              .items = 1,
                                              .items_y = 1,
                                              .columns = 1,
                                              .rows = 1,
                                              .grid_x = 1,
                                              .grid_y = 1,
                                              .grid_z = 1};

static weft_status check_tiling(const weft_elementwise_problem *problem,
                                const weft_elementwise_tiling *t)
{
    return weft_elementwise_tiling_check(t, weft_profile_find("nvidia-h200"), problem);
}

static void check_refused(const weft_elementwise_problem *problem, const weft_elementwise_tiling *t,
                          const char *words)
{
    assert_int_equal(check_tiling(problem, t), WEFT_BAD_ARGUMENT);
    if (!strstr(weft_last_error(), words))
        fail_msg("\"%s\" is not in \"%s\"", words, weft_last_error());
}

#define REFUSED(problem, words, ...)                                                               \
    do {                                                                                           \
        weft_elementwise_tiling t = plain;                                                         \
        __VA_ARGS__;                                                                               \
        check_refused(&(problem), &t, words);                                                      \
    } while (0)

#define TAKEN(problem, ...)                                                                        \
    do {                                                                                           \
        weft_elementwise_tiling t = plain;                                                         \
        __VA_ARGS__;                                                                               \
        if (check_tiling(&(problem), &t) != WEFT_OK)                                               \
            fail_msg("%s", weft_last_error());                                                     \
    } while (0)

static void test_refused_groups(void **state)
{
    (void)state;
    TAKEN(usual, (void)t);
    TAKEN(usual, t.vector_width = 16, t.vectors = 8, t.items = 1024);
    TAKEN(usual, t.items = 32, t.items_y = 32);
    REFUSED(usual, "tiling.vector_width is 0, not from 1 to 16", t.vector_width = 0);
    REFUSED(usual, "tiling.vector_width is 3, no power of two", t.vector_width = 3);
    REFUSED(usual, "tiling.vector_width is 32, not from 1 to 16", t.vector_width = 32);
    REFUSED(usual, "tiling.vectors is -1, not from 1 to 8", t.vectors = -1);
    REFUSED(usual, "tiling.vectors is 6, no power of two", t.vectors = 6);
    REFUSED(usual, "tiling.vectors is 16, not from 1 to 8", t.vectors = 16);
    REFUSED(usual, "tiling.items is 0, not from 1 to 1024", t.items = 0);
    REFUSED(usual, "tiling.items is 48, no power of two", t.items = 48);
    REFUSED(usual, "tiling.items is 2048, not from 1 to 1024", t.items = 2048);
    REFUSED(usual, "tiling.items_y is 0, not from 1 to 1024", t.items_y = 0);
    REFUSED(usual, "tiling.items_y is 5, no power of two", t.items_y = 5);
    REFUSED(usual, "tiling.items_y is 2048, not from 1 to 1024", t.items_y = 2048);
    REFUSED(usual, "items x items_y is 2048, not from 1 to 1024", t.items = 64, t.items_y = 32);
}

static void test_refused_blocks(void **state)
{
    (void)state;
    TAKEN(usual, t.columns = t.rows = INT64_MAX);
    TAKEN(usual, t.grid_x = INT32_MAX, t.grid_y = INT32_MAX, t.grid_z = 65535);
    REFUSED(usual, "tiling.columns is 0, not from 1", t.columns = 0);
    REFUSED(usual, "tiling.rows is -7, not from 1", t.rows = -7);
    REFUSED(usual, "tiling.grid_x is 0, not from 1 to 2147483647", t.grid_x = 0);
    REFUSED(usual, "tiling.grid_x is 2147483648, not from 1", t.grid_x = INT64_C(1) << 31);
    REFUSED(usual, "tiling.grid_y is -1, not from 1 to 2147483647", t.grid_y = -1);
    REFUSED(usual, "tiling.grid_y is 2147483648, not from 1", t.grid_y = INT64_C(1) << 31);
    REFUSED(usual, "tiling.grid_z is 0, not from 1 to 65535", t.grid_z = 0);
    REFUSED(usual, "tiling.grid_z is 65536, not from 1 to 65535", t.grid_z = 65536);
}

static void test_refused_alignment(void **state)
{
    (void)state;
    TAKEN(aligned, t.aligned = true);
    TAKEN(aligned, t.aligned = true, t.vector_width = 4, t.columns = 12);
    REFUSED(usual, "tiling.aligned is set, the operands are not", t.aligned = true);
    REFUSED(aligned, "tiling.aligned is set, and tiling.vector_width is 8", t.aligned = true,
            t.vector_width = 8);
    REFUSED(aligned, "tiling.columns is 6, no multiple of tiling.vector_width 4", t.aligned = true,
            t.vector_width = 4, t.columns = 6);
    TAKEN(aligned, t.vector_width = 4, t.columns = 6);
}

// In local memory two blocks, an element more in each row: 2 x 64 x (64 + 1) x 4 bytes of 49152.
static void test_refused_tiles(void **state)
{
    (void)state;
    TAKEN(usual, t.tiled = true, t.columns = t.rows = 64);
    TAKEN(aligned, t.tiled = true, t.columns = t.rows = 1024);
    TAKEN(usual, t.tiled = true, t.vector_width = 16, t.columns = 48, t.rows = 5000);
    TAKEN(usual, t.tiled = true, t.items = 8, t.items_y = 2, t.columns = t.rows = 16);
    REFUSED(usual, "tiling.columns is 48, no power of two", t.tiled = true, t.columns = 48);
    REFUSED(aligned, "tiling.columns is 2048, not from 1 to 1024", t.tiled = true,
            t.columns = t.rows = 2048);
    REFUSED(usual, "tiling.rows is 16, tiling.columns 32", t.tiled = true, t.columns = 32,
            t.rows = 16);
    REFUSED(usual, "tiling is 8 x 2 items; tiles in vectors are one item's", t.tiled = true,
            t.vector_width = 4, t.items = 8, t.items_y = 2, t.columns = t.rows = 16);
    REFUSED(usual, "2 blocks of 128 x 128 take 132096 bytes of local memory, there are 49152",
            t.tiled = true, t.columns = t.rows = 128);

    weft_limits limits = *weft_profile_find("nvidia-h200");
    weft_elementwise_tiling t = plain;
    t.tiled = true, t.columns = t.rows = 64;
    limits.local_bytes = 33280;
    assert_int_equal(weft_elementwise_tiling_check(&t, &limits, &usual), WEFT_OK);
    limits.local_bytes--;
    assert_int_equal(weft_elementwise_tiling_check(&t, &limits, &usual), WEFT_BAD_ARGUMENT);
    assert_non_null(strstr(weft_last_error(), "take 33280 bytes of local memory, there are 33279"));
    t.vector_width = 2;
    assert_int_equal(weft_elementwise_tiling_check(&t, &limits, &usual), WEFT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_on_cpu),
        cmocka_unit_test(test_known_on_gpu),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_tiles_by_cache),
        cmocka_unit_test(test_nothing_said),
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_random_limits),
        cmocka_unit_test(test_refused_groups),
        cmocka_unit_test(test_refused_blocks),
        cmocka_unit_test(test_refused_alignment),
        cmocka_unit_test(test_refused_tiles),
    };
    return cmocka_run_group_tests_name("elementwise plan", tests, NULL, NULL);
}
