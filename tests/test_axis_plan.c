// SPDX-License-Identifier: Apache-2.0
// Tilings of work along an axis: what is chosen for known shapes, and that everything chosen is
// sound and covers its problem on every known device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "axis/axis_plan.h"
#include "axis/norm_backward_plan.h"
#include "axis_limits.h"
#include "base/arithmetic.h"
#include "random.h"

enum { N_RANDOM = 1000000 };

// A problem whose lines are neighbours in memory, and a tiling's line.
#define DENSE(h, m, l)                                                                             \
    .problem = {.high = (h), .mid = (m), .low = (l), .low_adjacent = true, .mid_adjacent = true}
#define WRITTEN(h, m, l)                                                                           \
    .problem = {.high = (h),                                                                       \
                .mid = (m),                                                                        \
                .low = (l),                                                                        \
                .low_adjacent = true,                                                              \
                .mid_adjacent = true,                                                              \
                .writes_all = true}
#define OF_TWO(h, m)                                                                               \
    .problem = {.high = (h),                                                                       \
                .mid = (m),                                                                        \
                .low = 1,                                                                          \
                .reads = 2,                                                                        \
                .low_adjacent = true,                                                              \
                .mid_adjacent = true,                                                              \
                .writes_all = true}
#define APART(h, m, l) .problem = {.high = (h), .mid = (m), .low = (l)}

#define ON_CPU(vectors, vector_width, widen, unroll, run, parts, x, y)                             \
    "vector_width " #vector_width ", vectors " #vectors ", items 1, items_y 1, unroll " #unroll    \
    ", widen " #widen ", run " #run ", grid_x " #x ", grid_y " #y ", parts " #parts ", items_z 1"

typedef struct known {
    weft_axis_problem problem;
    const char *expected;
} known;

#define ON_GPU(items, items_y, items_z, unroll, parts, x, y)                                       \
    "vector_width 1, vectors 1, items " #items ", items_y " #items_y ", unroll " #unroll           \
    ", widen 1, run 1, grid_x " #x ", grid_y " #y ", parts " #parts ", items_z " #items_z

#define CHECK_KNOWN(limits, cases)                                                                 \
    check_known(limits, cases, (int)(sizeof(cases) / sizeof((cases)[0])))

static void check_known(const weft_limits *limits, const known *cases, int n)
{
    assert_int_equal(weft_limits_check(limits), WEFT_OK);
    for (int i = 0; i < n; i++) {
        const weft_axis_tiling t = weft_axis_tiling_for(limits, &cases[i].problem);
        char text[256];
        assert_in_range(weft_axis_tiling_print(&t, text, sizeof(text)), 1, sizeof(text) - 1);
        if (strcmp(text, cases[i].expected) != 0)
            fail_msg("%s, case %d: %s", limits->name, i, text);
    }
}

static void test_known_reductions(void **state)
{
    (void)state;
    static const known on_cpu[] = {
        // rows as they lie
        {DENSE(512, 896, 48), ON_CPU(3, 16, 1, 8, 7, 1, 1, 74)},
        {DENSE(64, 1000, 1024), ON_CPU(64, 16, 1, 8, 1, 1, 1, 64)},
        // a row is lines of a vector; sixteen rows are joined at once
        {DENSE(24576, 896, 1), ON_CPU(1, 16, 16, 8, 304, 1, 1, 81)},
        // all: parts
        {DENSE(1, 22020096, 1), ON_CPU(1, 16, 16, 8, 1, 64, 1, 1)},
        // columns: parts of whole rows, not strips of them
        {DENSE(1, 24576, 896), ON_CPU(56, 16, 1, 8, 1, 64, 1, 1)},
        // long lines: four at a time
        {DENSE(1, 64, 1048576), ON_CPU(2048, 16, 1, 4, 1, 1, 32, 1)},
        {DENSE(99, 64, 16368), ON_CPU(1023, 16, 1, 8, 1, 1, 1, 99)},
        // not where that would leave few strips, nor of what is widened
        {DENSE(1, 64, 65536), ON_CPU(512, 16, 1, 8, 1, 1, 8, 1)},
        {DENSE(1000, 17, 1001), ON_CPU(63, 16, 1, 8, 15, 1, 1, 67)},
        // groups of three turns, or two; the same for strips
        {DENSE(1100, 3000, 100), ON_CPU(25, 16, 4, 8, 1, 1, 1, 367)},
        {APART(1, 8, 100000), ON_CPU(8, 16, 1, 8, 1, 1, 391, 1)},
        // sixteen steps of three
        {DENSE(1000, 30, 3), ON_CPU(3, 16, 16, 8, 84, 1, 1, 12)},
        // and eight of fifty
        {DENSE(64, 64, 50), ON_CPU(25, 16, 8, 8, 3, 1, 1, 22)},
        // a row shorter than a vector
        {DENSE(100000, 5, 1), ON_CPU(1, 16, 16, 8, 1552, 1, 1, 65)},
        // too small for a vector
        {DENSE(1000, 5, 3), ON_CPU(3, 1, 1, 8, 125, 1, 1, 8)},
        {DENSE(4, 32, 64), ON_CPU(4, 16, 1, 8, 1, 1, 1, 4)},
        // fetched element by element
        {APART(512, 896, 48), ON_CPU(3, 16, 1, 8, 7, 1, 1, 74)},
        {APART(512, 896, 5), ON_CPU(5, 1, 1, 8, 8, 1, 1, 64)},
        {APART(512, 896, 1), ON_CPU(1, 16, 16, 8, 16, 1, 1, 32)},
    };
    CHECK_KNOWN(&cpu, on_cpu);
    weft_limits cached = cpu;
    cached.cache_bytes = 32 << 20;
    static const known in_cache[] = {
        // strips down all of mid
        {DENSE(1, 1000, 1000), ON_CPU(16, 16, 1, 8, 1, 1, 4, 1)},
        {DENSE(1, 2000, 2000), ON_CPU(32, 16, 1, 8, 1, 1, 4, 1)},
        {DENSE(3, 300, 320), ON_CPU(10, 16, 1, 8, 1, 1, 2, 3)},
        // not of few columns: parts, but none of a megabyte
        {DENSE(1, 40000, 48), ON_CPU(3, 16, 1, 8, 1, 8, 1, 1)},
        {DENSE(1, 4000000, 1), ON_CPU(1, 16, 16, 8, 1, 8, 1, 1)},
        {DENSE(1, 262144, 1), ON_CPU(1, 16, 16, 8, 1, 1, 1, 1)},
        // from memory as without a cache
        {DENSE(1, 24576, 896), ON_CPU(56, 16, 1, 8, 1, 64, 1, 1)},
    };
    CHECK_KNOWN(&cached, in_cache);
    static const known on_gpu[] = {
        // the method's known answer
        {DENSE(512, 896, 48), ON_GPU(32, 32, 1, 4, 1, 2, 80)},
        // as few items at a row as fill the device: at least a warp, or eight elements each
        {DENSE(24576, 896, 1), ON_GPU(1, 32, 4, 8, 1, 1, 5120)},
        {DENSE(2000, 100000, 1), ON_GPU(1, 128, 1, 8, 1, 1, 1280)},
        {DENSE(1000000, 100, 1), ON_GPU(1, 16, 8, 8, 1, 1, 5120)},
        {DENSE(1000000, 3, 5), ON_GPU(8, 1, 16, 8, 1, 1, 5120)},
        // all: parts, for smaller groups
        {DENSE(1, 22020096, 1), ON_GPU(1, 256, 1, 8, 640, 1, 1)},
        {DENSE(1, 24576, 896), ON_GPU(32, 8, 1, 4, 22, 28, 1)},
        {APART(512, 896, 5), ON_GPU(8, 128, 1, 4, 1, 1, 160)},
    };
    CHECK_KNOWN(&gpu, on_gpu);
}

static void test_known_softmax(void **state)
{
    (void)state;
    static const known on_cpu[] = {
        {WRITTEN(512, 896, 48), ON_CPU(3, 16, 1, 8, 7, 1, 1, 74)},
        // 1 MB of each: what the second level holds
        {WRITTEN(64, 1000, 1024), ON_CPU(16, 16, 1, 8, 2, 1, 4, 32)},
        {WRITTEN(4096, 1024, 16), ON_CPU(1, 16, 1, 8, 16, 1, 1, 256)},
        {WRITTEN(24576, 896, 1), ON_CPU(1, 16, 16, 8, 304, 1, 1, 81)},
        // strips for idle cores rather than a second sweep
        {WRITTEN(1, 24576, 896), ON_CPU(7, 16, 1, 8, 1, 1, 8, 1)},
        {WRITTEN(1, 22020096, 1), ON_CPU(1, 16, 16, 8, 1, 8, 1, 1)},
    };
    CHECK_KNOWN(&cpu, on_cpu);
    static const known on_gpu[] = {
        {WRITTEN(512, 896, 48), ON_GPU(32, 8, 1, 4, 1, 2, 320)},
        {WRITTEN(64, 1000, 1024), ON_GPU(32, 8, 1, 4, 1, 32, 20)},
        {WRITTEN(4096, 1024, 16), ON_GPU(16, 16, 1, 4, 1, 1, 640)},
        {WRITTEN(24576, 896, 1), ON_GPU(1, 32, 4, 8, 1, 1, 5120)},
        // no more than 32 elements for an item to find again
        {WRITTEN(24576, 2048, 1), ON_GPU(1, 64, 1, 8, 1, 1, 2560)},
        {WRITTEN(24576, 10000, 1), ON_GPU(1, 256, 1, 8, 1, 1, 640)},
        // eight loads in flight, of two operands
        {OF_TWO(24576, 10000), ON_GPU(1, 256, 1, 4, 1, 1, 640)},
        // seven lines for some items
        {WRITTEN(24576, 2047, 1), ON_GPU(1, 64, 1, 8, 1, 1, 2560)},
    };
    CHECK_KNOWN(&gpu, on_gpu);
}

#define ALIGNED_ROWS(h, m, n)                                                                      \
    .problem = {.high = (h),                                                                       \
                .mid = (m),                                                                        \
                .low = 1,                                                                          \
                .low_adjacent = true,                                                              \
                .writes_all = true,                                                                \
                .holds = true,                                                                     \
                .alignment = (n)}
#define HELD_ON_GPU(items_y, items_z, unroll, held, y)                                             \
    ON_GPU(1, items_y, items_z, unroll, 1, 1, y) ", held " #held

static void test_known_held_rows(void **state)
{
    (void)state;
    static const known on_gpu[] = {
        // without sub-groups: groups of a warp
        {ALIGNED_ROWS(24576, 896, 128), HELD_ON_GPU(32, 1, 4, 7, 20480)},
        {ALIGNED_ROWS(1000000, 64, 64), HELD_ON_GPU(8, 4, 4, 2, 20480)},
        // as few items as eight that fill the device
        {ALIGNED_ROWS(1000000, 100, 4), HELD_ON_GPU(8, 4, 4, 4, 20480)},
        {ALIGNED_ROWS(32, 128, 128), HELD_ON_GPU(32, 1, 4, 1, 32)},
        // in fours, of which the last may be past the end, for lengths from 897 to 1024
        {ALIGNED_ROWS(24576, 1001, 1), HELD_ON_GPU(32, 1, 1, 32, 20480)},
        {ALIGNED_ROWS(24576, 897, 1), HELD_ON_GPU(32, 1, 1, 32, 20480)},
        {ALIGNED_ROWS(24576, 2046, 2), HELD_ON_GPU(64, 1, 2, 16, 10240)},
        {ALIGNED_ROWS(8192, 4096, 4096), HELD_ON_GPU(128, 1, 4, 8, 5120)},
        {ALIGNED_ROWS(8192, 8192, 4096), HELD_ON_GPU(256, 1, 4, 8, 2560)},
        {ALIGNED_ROWS(5, 3, 1), HELD_ON_GPU(4, 4, 1, 1, 2)},
        // several short rows a warp, of 16 bytes of each item if they are aligned
        {ALIGNED_ROWS(1 << 20, 16, 16), HELD_ON_GPU(4, 8, 4, 1, 20480)},
        {ALIGNED_ROWS(1 << 20, 4, 4), HELD_ON_GPU(1, 32, 4, 1, 20480)},
        {ALIGNED_ROWS(1 << 20, 31, 1), HELD_ON_GPU(8, 4, 1, 4, 20480)},
        // no registers for more: swept
        {ALIGNED_ROWS(8192, 8196, 4), ON_GPU(1, 256, 1, 8, 1, 1, 640)},
    };
    CHECK_KNOWN(&gpu, on_gpu);
    weft_limits shuffling = gpu;
    shuffling.has_subgroups = true;
    static const known by_shuffles[] = {
        {ALIGNED_ROWS(24576, 896, 128), HELD_ON_GPU(32, 4, 4, 7, 5120)},
        {ALIGNED_ROWS(1000000, 64, 64), HELD_ON_GPU(8, 16, 4, 2, 5120)},
        {ALIGNED_ROWS(8192, 4096, 4096), HELD_ON_GPU(128, 1, 4, 8, 5120)},
    };
    CHECK_KNOWN(&shuffling, by_shuffles);
    // CPUs have no use for them.
    assert_int_equal(weft_axis_tiling_for(&cpu, &on_gpu[0].problem).held, 0);
}

// The method's geometry is the tiling, as numbers.
static void test_known_geometry(void **state)
{
    (void)state;
    weft_axis_problem problem = {
        .high = 512, .mid = 896, .low = 48, .low_adjacent = true, .mid_adjacent = true};
    const weft_axis_tiling t = weft_axis_tiling_for(&gpu, &problem);
    assert_true(t.items == 32 && t.items_y == 32 && t.parts == 1);
    assert_true(t.grid_x == 2 && t.grid_y == 80);
    problem.numbers = 5; // of a variance: groups are smaller, so that items have registers for them
    assert_int_equal(weft_axis_tiling_for(&gpu, &problem).items_y, 8);
}

// Bytes decide: f16 in arithmetic of f32, f64 in vectors half as long.
static void test_data_types(void **state)
{
    (void)state;
    static const struct {
        weft_dtype dtype;
        int accumulator_bytes, vector_width, unroll;
    } cases[] = {{WEFT_F32, 0, 16, 8}, {WEFT_F16, 0, 16, 8}, {WEFT_F64, 0, 8, 4},
                 {WEFT_I64, 0, 8, 4},  {WEFT_U8, 8, 8, 4},   {WEFT_I64, 4, 16, 8}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const weft_axis_problem problem = {.high = 512,
                                           .mid = 896,
                                           .low = 48,
                                           .dtype = cases[i].dtype,
                                           .accumulator_bytes = cases[i].accumulator_bytes,
                                           .low_adjacent = true};
        const weft_axis_tiling t = weft_axis_tiling_for(&cpu, &problem);
        assert_int_equal(t.vector_width, cases[i].vector_width);
        assert_int_equal(t.vectors, 48 / cases[i].vector_width);
        assert_int_equal(t.unroll, cases[i].unroll);
    }
}

// ---- strips and runs on CPUs

static const weft_limits *cpu_of(int cores, uint64_t l2_bytes, uint64_t cache_bytes)
{
    static weft_limits limits;
    limits = cpu;
    limits.compute_units = cores;
    limits.max_blocks = 4 * cores;
    limits.l2_bytes = l2_bytes;
    limits.cache_bytes = cache_bytes;
    return &limits;
}

static weft_axis_problem dense(int64_t high, int64_t mid, int64_t low, bool writes_all)
{
    return (weft_axis_problem){.high = high,
                               .mid = mid,
                               .low = low,
                               .low_adjacent = true,
                               .mid_adjacent = true,
                               .writes_all = writes_all};
}

// Vectors of a strip of (100, mid, 1024), which has 64 of them.
static int vectors_for(const weft_limits *limits, int64_t mid, bool writes_all)
{
    const weft_axis_problem problem = dense(100, mid, 1024, writes_all);
    return weft_axis_tiling_for(limits, &problem).vectors;
}

// What is read twice stays in a core's share of the caches, or gets narrower, down to 8 vectors.
static void test_strips_that_are_read_again(void **state)
{
    (void)state;
    enum { KIB = 1 << 10, MIB = 1 << 20 };
    const weft_limits *limits = cpu_of(2, MIB, 0);
    assert_int_equal(vectors_for(limits, 256, true), 64); // 1 MiB
    assert_int_equal(vectors_for(limits, 257, true), 32);
    assert_int_equal(vectors_for(limits, 1024, true), 16);
    assert_int_equal(vectors_for(limits, 2048, true), 8);
    assert_int_equal(vectors_for(limits, 2000000, true), 8);
    assert_int_equal(vectors_for(limits, 2000000, false), 64); // read once

    // The second level, or half of the last one: whichever gives a core more.
    assert_int_equal(vectors_for(cpu_of(2, 256 * KIB, 0), 256, true), 16);
    assert_int_equal(vectors_for(cpu_of(2, 0, 0), 256, true), 64); // unknown: 1 MiB
    assert_int_equal(vectors_for(cpu_of(2, 256 * KIB, 16 * MIB), 1024, true), 64);
    assert_int_equal(vectors_for(cpu_of(8, 256 * KIB, 16 * MIB), 1024, true), 16);
    assert_int_equal(vectors_for(cpu_of(8, 2 * MIB, 16 * MIB), 1024, true), 32);

    // Rows are read as they lie, whatever their length.
    const weft_axis_problem row = dense(100, 50000000, 1, true);
    assert_int_equal(weft_axis_tiling_for(limits, &row).widen, 16);
    assert_int_equal(weft_axis_tiling_for(limits, &row).vectors, 1);
}

typedef struct turns {
    int64_t n;     // turns of all groups
    int64_t bytes; // of a full one
    int64_t run;
} turns;

// As groups of a CPU take (high, mid, low) of f32.
static turns turns_for(const weft_limits *limits, const weft_axis_problem *problem)
{
    const weft_axis_tiling t = weft_axis_tiling_for(limits, problem);
    const int64_t strips = ceil_div(problem->low * t.widen, (int64_t)t.vectors * t.vector_width);
    const int64_t lines = ceil_div(problem->mid, t.widen);
    return (turns){strips * ceil_div(problem->high, t.run),
                   t.run * lines * t.vectors * t.vector_width * 4, t.run};
}

static void test_known_runs(void **state)
{
    (void)state;
    const weft_limits *limits = cpu_of(2, 1 << 20, 0);
    const struct {
        weft_axis_problem problem;
        int64_t run;
    } cases[] = {
        {dense(1000000, 16, 16, false), 1024}, // of 1 KiB: 1 MiB a turn
        {dense(1000000, 256, 64, false), 16},  // of 64 KiB
        {dense(1000000, 1024, 1024, false), 1},
        {dense(32000, 16, 16, false), 500}, // 64 long turns: eight for each of eight groups
        {dense(256, 16, 16, false), 32},    // 32 KiB, less than which does not pay
        {dense(64, 16, 16, false), 8},      // but all of eight groups have work
        {dense(8, 16, 16, false), 1},
        {dense(1000000, 16, 1, false), 15632}, // rows of 64 bytes: multiples of 16
        {dense(1024, 16, 1, false), 128},
        {dense(100, 16, 1, false), 12}, // but not where groups would have none
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(weft_axis_tiling_for(limits, &cases[i].problem).run, cases[i].run);
}

// Four launch_states for each core wherever there are as many; more than 32 KiB at a time where
// that leaves so many, and about 1 MiB where there is plenty of it.
static void check_turns(const weft_limits *limits, const weft_axis_problem *problem)
{
    const int64_t wanted = 4 * (int64_t)limits->compute_units;
    const turns t = turns_for(limits, problem);
    const int64_t one = t.bytes / t.run,
                  n_ones = problem->high * (t.n / ceil_div(problem->high, t.run));
    const char *fault = NULL;
    if (t.n < wanted && t.n < n_ones)
        fault = "too few turns";
    if (t.bytes < 1 << 14 && t.n > 4 * wanted && t.run < problem->high)
        fault = "turns too short";
    if (n_ones * one / (1 << 21) > wanted * 8 && t.bytes < 1 << 19 && t.run < problem->high)
        fault = "turns short of much";
    if (t.bytes > 1 << 20 && (t.run - 16) * one > 1 << 20)
        fault = "turns too long";
    if (fault)
        fail_msg("%d cores, (%" PRId64 ", %" PRId64 ", %" PRId64 "), runs of %" PRId64 ", %" PRId64
                 " turns of %" PRId64 " bytes: %s",
                 limits->compute_units, problem->high, problem->mid, problem->low, t.run, t.n,
                 t.bytes, fault);
}

static void test_runs(void **state)
{
    (void)state;
    static const int64_t widest[] = {20, 300, 5000, 1000000};
    random_state random = {53};
    for (int i = 0; i < 200000; i++) {
        const weft_limits *limits =
            cpu_of(1 << random_below(&random, 8), 1 << 20, random_below(&random, 2) << 25);
        const weft_axis_problem problem = dense(
            random_between(&random, 1, widest[random_below(&random, 4)]),
            random_between(&random, 1, widest[random_below(&random, 3)]),
            random_between(&random, 1, widest[random_below(&random, 3)]), random_below(&random, 2));
        check_turns(limits, &problem);
    }
}

// ---- everything that is chosen

static weft_axis_problem random_problem(random_state *random)
{
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64,
                                        WEFT_F16,     WEFT_I64, WEFT_U8};
    int64_t extents[4];
    for (int i = 0; i < 4; i++)
        switch (random_below(random, 4)) {
        case 0:
            extents[i] = random_extent(random);
            break;
        case 1:
            extents[i] = random_between(random, -1, 20);
            break;
        default:
            extents[i] = random_between(random, 1, 3000);
            break;
        }
    return (weft_axis_problem){
        .high = extents[0],
        .mid = extents[1],
        .low = extents[2],
        .outer = random_below(random, 2) ? 0 : extents[3],
        .dtype = dtypes[random_below(random, 6)],
        .accumulator_bytes = 4 * (int)random_below(random, 3),
        .low_adjacent = random_below(random, 4) != 0,
        .mid_adjacent = random_below(random, 2) != 0,
        .writes_all = random_below(random, 2) != 0,
        .caches = random_below(random, 2) != 0,
        .holds = random_below(random, 2) != 0,
        .alignment = 1 << random_below(random, 6),
    };
}

// At most 2^62.
static int64_t product(int64_t a, int64_t b)
{
    int64_t c;
    return __builtin_mul_overflow(a, b, &c) ? INT64_C(1) << 62 : c;
}

// What is wrong with what covers the problem; NULL where nothing is.
static const char *fault_of(const weft_limits *limits, const weft_axis_problem *problem,
                            const weft_axis_tiling *t)
{
    const int64_t high = max_i64(problem->high, 1), mid = max_i64(problem->mid, 1);
    const int64_t low = max_i64(problem->low, 1), outer = max_i64(problem->outer, 1);
    const int64_t width = product(low, t->widen);
    const int64_t lines = product(outer, ceil_div(mid, t->widen));
    const int64_t strip = (int64_t)t->items * t->vectors * t->vector_width;
    if (t->widen > mid && (low > 1 || !problem->low_adjacent || t->vectors > 1))
        return "a line of more steps than mid has, and more than a vector of neighbours";
    if ((t->grid_x - 1) * strip >= width || t->run > high || (t->grid_y - 1) * t->run >= high)
        return "a group without work";
    if ((t->parts - 1) * ceil_div(lines, t->parts) >= lines)
        return "a part without lines";
    if (t->held > 0 && (int64_t)t->items_y * t->unroll * t->held < mid)
        return "rows longer than what is held of them";
    if (limits->vector_width > 1 && ceil_div(width, t->vector_width) < t->vectors)
        return "more vectors than a line has";
    if (limits->vector_width > 1 && (t->items > 1 || t->items_y > 1))
        return "a group of several items on a CPU";
    return NULL;
}

// Work for every core, where there is enough to share.
static const char *idleness_of(const weft_limits *limits, const weft_axis_problem *problem,
                               const weft_axis_tiling *t)
{
    const int64_t high = max_i64(problem->high, 1), mid = max_i64(problem->mid, 1);
    const int64_t low = max_i64(problem->low, 1), outer = max_i64(problem->outer, 1);
    const int64_t groups = product(product(t->grid_x, t->grid_y), t->parts);
    const int64_t bytes = product(product(high, mid), product(low, outer));
    if (limits->vector_width == 1 || limits->max_blocks < limits->compute_units ||
        t->parts == 1024 || groups >= limits->compute_units)
        return NULL;
    return bytes / limits->compute_units > INT64_C(1) << 20 ? "idle cores" : NULL;
}

static void check_problem(const weft_limits *limits, const weft_axis_problem *problem)
{
    const weft_axis_tiling t = weft_axis_tiling_for(limits, problem);
    const char *fault = weft_axis_tiling_check(&t, limits, problem) == WEFT_OK
                            ? fault_of(limits, problem, &t)
                            : weft_last_error();
    if (!fault)
        fault = idleness_of(limits, problem, &t);
    if (!fault)
        return;
    char text[256];
    weft_axis_tiling_print(&t, text, sizeof(text));
    fail_msg("%s, (%" PRId64 ", %" PRId64 ", %" PRId64 ") x %" PRId64
             ", %s, %d bytes, low %d, mid %d, writes %d: %s: %s",
             limits->name, problem->high, problem->mid, problem->low, problem->outer,
             weft_dtype_name(problem->dtype), problem->accumulator_bytes, problem->low_adjacent,
             problem->mid_adjacent, problem->writes_all, fault, text);
}

static void check_random(const weft_limits *limits, int n)
{
    random_state random = {41};
    for (int i = 0; i < n; i++) {
        const weft_axis_problem problem = random_problem(&random);
        check_problem(limits, &problem);
    }
}

static void check_extremes(const weft_limits *limits)
{
    static const int64_t extents[] = {INT64_MIN, 0, 1, 2, INT32_MAX, INT64_C(1) << 62, INT64_MAX};
    enum { N = sizeof(extents) / sizeof(extents[0]) };
    for (int i = 0; i < N * N * N * 8; i++) {
        const weft_axis_problem problem = {.high = extents[i / 8 % N],
                                           .mid = extents[i / 8 / N % N],
                                           .low = extents[i / 8 / N / N],
                                           .low_adjacent = i & 1,
                                           .mid_adjacent = i & 2,
                                           .writes_all = i & 4,
                                           .caches = i & 4,
                                           .holds = i & 2,
                                           .alignment = i & 1};
        check_problem(limits, &problem);
    }
}

static void test_random_problems(void **state)
{
    (void)state;
    check_random(&cpu, random_cases(N_RANDOM));
    check_random(&gpu, random_cases(N_RANDOM));
    check_extremes(&cpu);
    check_extremes(&gpu);
}

static void test_random_problems_on_every_profile(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        check_random(weft_profile_at(i), random_cases(N_RANDOM));
        check_extremes(weft_profile_at(i));
    }
}

// Any limits that pass the check; a kernel may take fewer items still.
static void test_random_limits(void **state)
{
    (void)state;
    random_state random = {43};
    for (int i = 0; i < random_cases(100000); i++) {
        weft_limits limits = gpu;
        snprintf(limits.name, sizeof(limits.name), "limits %d", i);
        limits.warp = 1 << random_below(&random, 8);
        limits.vector_width = 1 << random_below(&random, 5);
        limits.vectors = 1 << random_below(&random, 7);
        limits.max_block = 1 << random_below(&random, 13);
        limits.max_items_y = 1 << random_below(&random, 11);
        limits.max_blocks = (int)random_between(&random, 1, 5000);
        limits.compute_units = (int)random_between(&random, 1, 500);
        limits.local_bytes = (size_t)random_between(&random, 0, 100000);
        limits.l2_bytes = (uint64_t)random_between(&random, 0, 1 << 21);
        limits.cache_bytes = (uint64_t)random_between(&random, 0, 1 << 28);
        if (weft_limits_check(&limits) != WEFT_OK)
            continue;
        limits.max_items = (size_t)random_between(&random, 1, 1024);
        for (int n = 0; n < 20; n++) {
            const weft_axis_problem problem = random_problem(&random);
            check_problem(&limits, &problem);
        }
    }
}

// One operation and data type: few vector widths, or every shape is a program of its own.
static void test_few_vector_widths(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        random_state random = {47};
        unsigned vector_widths = 0;
        for (int n = 0; n < 10000; n++) {
            weft_axis_problem problem = random_problem(&random);
            problem.dtype = WEFT_F32;
            problem.accumulator_bytes = 4;
            vector_widths |=
                (unsigned)weft_axis_tiling_for(weft_profile_at(i), &problem).vector_width;
        }
        assert_true(__builtin_popcount(vector_widths) <= 4);
    }
}

// ---- dX, dW and db of norms

static bool in_one(weft_axis_tiling *rows, weft_axis_tiling *columns, const weft_limits *limits,
                   int64_t high, int64_t mid)
{
    const weft_axis_problem of_rows = {
        .high = high,
        .mid = mid,
        .numbers = 10,
        .low_adjacent = true,
        .mid_adjacent = true,
        .writes_all = true,
    };
    const weft_axis_problem of_columns = {
        .mid = high, .low = mid, .numbers = 4, .low_adjacent = true, .mid_adjacent = true};
    return weft_norm_backward_in_one(rows, columns, limits, &of_rows, &of_columns, true);
}

static void test_norm_backward_in_one(void **state)
{
    (void)state;
    weft_axis_tiling rows = {0}, columns = {0};
    assert_false(in_one(&rows, &columns, &gpu, 24576, 896));
    assert_int_equal(rows.run, 0);
    assert_true(in_one(&rows, &columns, &cpu, 24576, 896));
    assert_int_equal(rows.run, 24576 / 32);
    assert_int_equal(rows.grid_y, 32);
    assert_int_equal(columns.parts, 32);
    assert_true(in_one(&rows, &columns, &cpu, 32, 128)); // one group
    assert_int_equal(columns.parts, 1);
    assert_true(in_one(&rows, &columns, &cpu, INT64_C(1) << 62, 1000)); // of strides 0
    assert_true(rows.grid_y * rows.run >= INT64_C(1) << 62);
    assert_true(in_one(&rows, &columns, &cpu, 1001, 13107)); // 8 rows of X and dY, and the sums
    assert_int_equal(rows.run % rows.unroll, 0);
    assert_true(columns.parts * rows.run >= 1001);
    assert_false(in_one(&rows, &columns, &cpu, 1001, 13108));
    assert_false(in_one(&rows, &columns, &cpu, 1001, 10000000));
    assert_false(in_one(&rows, &columns, &cpu, 15, 4096)); // less than 8 for each core
    weft_limits many = cpu;
    many.compute_units = 64;
    assert_true(in_one(&rows, &columns, &many, 8192, 4096));
    assert_int_equal(rows.run, 64);
    assert_true(in_one(&rows, &columns, &many, 1024, 4096)); // no core idle
    assert_int_equal(rows.run, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_reductions),
        cmocka_unit_test(test_known_softmax),
        cmocka_unit_test(test_known_held_rows),
        cmocka_unit_test(test_known_geometry),
        cmocka_unit_test(test_data_types),
        cmocka_unit_test(test_strips_that_are_read_again),
        cmocka_unit_test(test_known_runs),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_random_problems),
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_random_limits),
        cmocka_unit_test(test_few_vector_widths),
        cmocka_unit_test(test_norm_backward_in_one),
    };
    return cmocka_run_group_tests_name("axis plan", tests, NULL, NULL);
}
