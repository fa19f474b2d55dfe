// SPDX-License-Identifier: Apache-2.0
// The tiling of dense products: sound for every known device, for limits that nobody sells and for
// any problem. No device needed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weft/matmul.h>

#include "base/arithmetic.h"
#include "base/clamp.h"
#include "dense/matmul_tiling.h"
#include "plan_case.h"

enum { N_RANDOM = 30000 }; // for each profile

static weft_matmul_problem random_problem(random_state *random)
{
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32,  WEFT_F64,
                                        WEFT_F16,     WEFT_BF16, WEFT_I8};
    return (weft_matmul_problem){
        .m = plan_extent(random),
        .n = plan_extent(random),
        .k = plan_extent(random),
        .n_batches = random_below(random, 4) ? random_below(random, 4) : random_extent(random),
        .dtype = dtypes[random_below(random, 6)],
        .a_along_m = random_below(random, 2),
        .a_along_k = random_below(random, 2),
        .b_along_k = random_below(random, 2),
        .b_along_n = random_below(random, 2),
        .c_along_m = random_below(random, 2),
        .c_along_n = random_below(random, 2),
    };
}

static void fail_problem(const char *what, const weft_limits *limits, const weft_matmul_problem *p,
                         const weft_matmul_tiling *tiling)
{
    char text[512];
    weft_matmul_tiling_print(tiling, text, sizeof(text));
    fail_msg("%s: %s: m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", batch %" PRId64
             ", %s, A along m %d, k %d, B along k %d, n %d, C along m %d, n %d: %s",
             limits->name, what, p->m, p->n, p->k, p->n_batches, weft_dtype_name(p->dtype),
             p->a_along_m, p->a_along_k, p->b_along_k, p->b_along_n, p->c_along_m, p->c_along_n,
             text);
}

static bool are_equal(const weft_matmul_tiling *a, const weft_matmul_tiling *b)
{
    return a->method == b->method && a->transposed == b->transposed &&
           a->vector_width == b->vector_width && a->vectors == b->vectors && a->rows == b->rows &&
           a->items == b->items && a->items_y == b->items_y && a->depth == b->depth &&
           a->block_rows == b->block_rows && a->block_columns == b->block_columns &&
           a->chunk == b->chunk;
}

static bool is_of_blocks(const weft_matmul_tiling *t)
{
    return t->method == WEFT_MATMUL_BLOCKS || t->method == WEFT_MATMUL_DIRECT;
}

static bool is_of_few_terms(const weft_matmul_tiling *t, int64_t k)
{
    return k <= 8 && (t->method == WEFT_MATMUL_ROWS || t->method == WEFT_MATMUL_DIRECT);
}

// Whether each number of C is summed up in the same order: where factors are read does not matter.
static bool have_one_order(const weft_matmul_tiling *a, const weft_matmul_tiling *b, int64_t k)
{
    const bool may_differ = (is_of_blocks(a) && is_of_blocks(b) && a->depth == b->depth) ||
                            (is_of_few_terms(a, k) && is_of_few_terms(b, k));
    return (a->method == b->method || may_differ) && a->transposed == b->transposed &&
           a->chunk == b->chunk &&
           (a->method != WEFT_MATMUL_DOTS ||
            (a->vector_width == b->vector_width && a->items == b->items && a->depth == b->depth));
}

// What a group has in local memory, at the least: a strip and a step of a block of B, and sums
// where the block is not one tile of several items; for dots, a step of A and their sums.
static double least_local_bytes(const weft_matmul_tiling *t, const weft_matmul_problem *p)
{
    const double each = p->dtype == WEFT_F64 ? 8 : 4;
    const double m = (double)(t->transposed ? p->n : p->m), block = (double)t->block_columns;
    if (t->method == WEFT_MATMUL_ROWS || t->method == WEFT_MATMUL_DIRECT)
        return 0;
    if (t->method == WEFT_MATMUL_DOTS)
        return each * m * (t->depth + block);
    const bool is_one_tile = t->items * t->items_y > 1 && t->block_rows == t->items_y * t->rows &&
                             t->block_columns == t->items * t->vectors * t->vector_width;
    return each * (t->items_y * t->rows * t->depth + t->depth * block +
                   (is_one_tile ? 0 : (double)t->block_rows * block));
}

static void check_sizes(const weft_limits *limits, const weft_matmul_problem *p,
                        const weft_matmul_tiling *t)
{
    const uint64_t items = (uint64_t)t->items, items_y = (uint64_t)t->items_y;
    if (items * items_y > limits->max_items || items > limits->max_items_along[0] ||
        items_y > limits->max_items_along[1])
        fail_problem("a group too large", limits, p, t);
    if (least_local_bytes(t, p) > (double)limits->local_bytes)
        fail_problem("too much local memory", limits, p, t);
    if (t->block_rows < 1 || t->block_columns < 1 || t->chunk < 1 || t->chunk > INT32_MAX)
        fail_problem("a block or a chunk of nothing", limits, p, t);
    if (t->method == WEFT_MATMUL_DOTS && (t->transposed ? p->n : p->m) > WEFT_MATMUL_FEW)
        fail_problem("dots of many rows", limits, p, t);
}

static void check_problem(const weft_limits *limits, const weft_matmul_problem *problem)
{
    const weft_matmul_tiling tiling = weft_matmul_tiling_for(limits, problem);
    const weft_matmul_tiling again = weft_matmul_tiling_for(limits, problem);
    weft_matmul_problem alone = *problem;
    alone.n_batches = 0;
    const weft_matmul_tiling of_one = weft_matmul_tiling_for(limits, &alone);
    if (weft_matmul_tiling_check(&tiling, limits, problem) != WEFT_OK)
        fail_problem(weft_last_error(), limits, problem, &tiling);
    if (!are_equal(&tiling, &again))
        fail_problem("another tiling the second time", limits, problem, &tiling);
    if (!have_one_order(&tiling, &of_one, problem->k))
        fail_problem("sums in another order than of one product", limits, problem, &tiling);
    check_sizes(limits, problem, &tiling);
}

static void check_random(const weft_limits *limits, random_state *random)
{
    const weft_matmul_problem problem = random_problem(random);
    check_problem(limits, &problem);
}

static void test_random_problems_on_every_profile(void **state)
{
    (void)state;
    plan_check_profiles(N_RANDOM, check_random);
}

static void test_lower_limits_of_a_kernel(void **state)
{
    (void)state;
    plan_check_lower_limits(check_random);
}

static void test_random_limits(void **state)
{
    (void)state;
    plan_check_random_limits(16384, check_random);
}

// Extents about those where the method, or the block, changes.
static void test_short_products_on_every_profile(void **state)
{
    (void)state;
    static const int64_t extents[] = {0, 1, 2, 7, 8, 9, 16, 17, 31, 64, 300, 5000};
    enum { N = sizeof(extents) / sizeof(extents[0]) };
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int shape = 0; shape < N * N * N; shape++)
            for (int along = 0; along < 64; along += 3) {
                const weft_matmul_problem problem = {.m = extents[shape % N],
                                                     .n = extents[shape / N % N],
                                                     .k = extents[shape / (N * N)],
                                                     .a_along_m = along & 1,
                                                     .a_along_k = along & 2,
                                                     .b_along_k = along & 4,
                                                     .b_along_n = along & 8,
                                                     .c_along_m = along & 16,
                                                     .c_along_n = along & 32};
                check_problem(weft_profile_at(i), &problem);
            }
}

// ---- odd limits

// Groups of one item, of one row of items, and of fewer than a device usually takes.
static void narrow_group(weft_limits *limits, int kind)
{
    static const struct {
        size_t items, along, across;
        int max_block, max_items_y;
    } groups[] = {{1, 1024, 1024, 1, 1},    {32, 1024, 1024, 32, 4}, {256, 256, 1, 256, 1},
                  {1024, 1024, 1, 1024, 1}, {1024, 1, 1, 1, 1},      {1024, 1, 1024, 1, 1}};
    limits->max_items = groups[kind].items;
    limits->max_items_along[0] = groups[kind].along;
    limits->max_items_along[1] = groups[kind].across;
    limits->max_block = groups[kind].max_block;
    limits->max_items_y = groups[kind].max_items_y;
    while (limits->vector_width > limits->max_block)
        limits->vector_width /= 2;
    while (limits->warp > limits->max_block)
        limits->warp /= 2;
}
enum { N_GROUPS = 6, LEAST_LOCAL = 1024, LOCAL_DOUBLINGS = 7, N_ODD = 250 }; // for each

static void test_odd_groups_and_little_local_memory(void **state)
{
    (void)state;
    for (int i = 0; i < N_GROUPS * LOCAL_DOUBLINGS; i++)
        for (size_t j = 0; j < weft_profile_count(); j++) {
            weft_limits limits = *weft_profile_at(j);
            random_state random = {(uint64_t)i};
            narrow_group(&limits, i % N_GROUPS);
            limits.local_bytes = (size_t)LEAST_LOCAL << i / N_GROUPS;
            assert_int_equal(weft_limits_check(&limits), WEFT_OK);
            for (int k = 0; k < N_ODD; k++) {
                const weft_matmul_problem problem = random_problem(&random);
                check_problem(&limits, &problem);
            }
        }
}

// Nothing about the batch, nor what a kernel as built takes, may change the order of sums.
static void test_batches_and_kernels_leave_the_order_of_sums(void **state)
{
    (void)state;
    static const int64_t batches[] = {1, 2, 1000, INT64_MAX};
    for (size_t i = 0; i < weft_profile_count(); i++) {
        random_state random = {1000 + i};
        for (int j = 0; j < N_RANDOM / 10; j++) {
            weft_limits limits = *weft_profile_at(i);
            weft_matmul_problem problem = random_problem(&random);
            problem.n_batches = 0;
            const weft_matmul_tiling of_one = weft_matmul_tiling_for(&limits, &problem);
            for (int k = 0; k < 4; k++) {
                problem.n_batches = batches[k];
                const weft_matmul_tiling tiling = weft_matmul_tiling_for(&limits, &problem);
                if (!have_one_order(&tiling, &of_one, problem.k))
                    fail_problem("sums in another order", &limits, &problem, &tiling);
            }
            for (limits.max_items = 64; limits.max_items >= 32; limits.max_items /= 2) {
                const weft_matmul_tiling tiling = weft_matmul_tiling_for(&limits, &problem);
                if (tiling.chunk != of_one.chunk || (tiling.method != of_one.method &&
                                                     !have_one_order(&tiling, &of_one, problem.k)))
                    fail_problem("other chunks", &limits, &problem, &tiling);
            }
        }
    }
}

// Whatever is largest at once: for the sanitizer, which sees sums that leave 64 bits.
static void test_the_largest_of_everything(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_I8};
    const int64_t extents[] = {1, 8, 1000000, PLAN_MOST_EXTENT};
    for (size_t i = 0; i < weft_profile_count(); i++) {
        weft_limits limits = *weft_profile_at(i);
        limits.compute_units = limits.max_blocks = INT32_MAX;
        limits.local_bytes = i % 2 ? INT64_MAX : limits.local_bytes;
        for (int j = 0; j < 64 * 64 * 3; j++) {
            const weft_matmul_problem problem = {.m = extents[j % 4],
                                                 .n = extents[j / 4 % 4],
                                                 .k = extents[j / 16 % 4],
                                                 .n_batches = INT64_MAX,
                                                 .dtype = dtypes[j / 4096],
                                                 .a_along_m = j & 64,
                                                 .a_along_k = j & 128,
                                                 .b_along_k = j & 256,
                                                 .b_along_n = j & 512,
                                                 .c_along_m = j & 1024,
                                                 .c_along_n = j & 2048};
            check_problem(&limits, &problem);
        }
    }
}

// ---- what is chosen

// Row-major throughout, but for what is said.
static weft_matmul_problem row_major(int64_t m, int64_t n, int64_t k)
{
    return (weft_matmul_problem){
        .m = m, .n = n, .k = k, .a_along_k = true, .b_along_n = true, .c_along_n = true};
}

static void expect_method(const weft_matmul_problem *problem, weft_matmul_method method)
{
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const weft_matmul_tiling tiling = weft_matmul_tiling_for(weft_profile_at(i), problem);
        if (tiling.method != method)
            fail_problem(weft_matmul_method_name(method), weft_profile_at(i), problem, &tiling);
    }
}

static void test_methods(void **state)
{
    (void)state;
    weft_matmul_problem p = row_major(1000, 1000, 1000);
    expect_method(&p, WEFT_MATMUL_BLOCKS);
    p = row_major(1000, 1, 1000); // a matrix times a vector
    expect_method(&p, WEFT_MATMUL_DOTS);
    p.a_along_k = false; // a transposed one
    p.a_along_m = true;
    expect_method(&p, WEFT_MATMUL_ROWS);
    p = row_major(1, 1000, 1000); // a vector times a matrix
    expect_method(&p, WEFT_MATMUL_ROWS);
    p.b_along_k = true;
    p.b_along_n = false;
    expect_method(&p, WEFT_MATMUL_DOTS);
    p = row_major(4, 1000, 1000);
    expect_method(&p, WEFT_MATMUL_ROWS);
    p = row_major(20000, 20000, 3);
    expect_method(&p, WEFT_MATMUL_ROWS);
    p.c_along_m = p.a_along_m = true; // all the other way
    p.c_along_n = p.b_along_n = p.a_along_k = false;
    p.b_along_k = true;
    expect_method(&p, WEFT_MATMUL_ROWS);
}

// Where C is column-major it is multiplied as its transpose, which is row-major.
static void test_turns(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        weft_matmul_problem p = row_major(500, 600, 700);
        assert_false(weft_matmul_tiling_for(weft_profile_at(i), &p).transposed);
        p.c_along_n = false;
        p.c_along_m = true;
        assert_true(weft_matmul_tiling_for(weft_profile_at(i), &p).transposed);
    }
}

// Long sums of small matrices keep a large device busy in chunks; short ones are worth none.
static void test_chunks(void **state)
{
    (void)state;
    static const char *const devices[] = {"nvidia-h200", "amd-mi300x", "intel-xeon-8380"};
    for (int i = 0; i < 3; i++) {
        const weft_limits *limits = weft_profile_find(devices[i]);
        weft_matmul_problem p = row_major(64, 64, 200000);
        weft_matmul_tiling t = weft_matmul_tiling_for(limits, &p);
        if (t.chunk > p.k / 8)
            fail_problem("few chunks", limits, &p, &t);
        p = row_major(1, 64, 200000);
        t = weft_matmul_tiling_for(limits, &p);
        if (t.chunk > p.k / 8)
            fail_problem("few chunks", limits, &p, &t);
        p = row_major(20000, 20000, 200000);
        t = weft_matmul_tiling_for(limits, &p);
        if (t.chunk < p.k)
            fail_problem("chunks", limits, &p, &t);
        p = row_major(64, 64, 64);
        t = weft_matmul_tiling_for(limits, &p);
        if (t.chunk < p.k)
            fail_problem("chunks", limits, &p, &t);
    }
}

// Blocks are no more than is there, and on a device of many cores there is one for each.
static void test_blocks_for_every_core(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const weft_limits *limits = weft_profile_at(i);
        const weft_matmul_problem p = row_major(4096, 4096, 4096);
        const weft_matmul_tiling t = weft_matmul_tiling_for(limits, &p);
        const int64_t down = (4096 + t.block_rows - 1) / t.block_rows;
        const int64_t across = (4096 + t.block_columns - 1) / t.block_columns;
        if (limits->kind == WEFT_DEVICE_CPU && down * across < limits->compute_units)
            fail_problem("too few blocks", limits, &p, &t);
    }
}

// What is chosen changes on purpose only.
// Pieces have sums, and so bits, of their own: they stay where a kernel as built takes fewer items.
static void test_chunks_of_smaller_groups(void **state)
{
    (void)state;
    static const int64_t sides[] = {70, 128, 300, 512, 1000, 2048}, terms[] = {1024, 5000, 100000};
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int j = 0; j < 18; j++) {
            const weft_limits *limits = weft_profile_at(i);
            const weft_limits lowered = weft_limits_lowered(limits, 128);
            const weft_matmul_problem problem =
                row_major(sides[j % 6], sides[j / 2 % 6], terms[j / 6]);
            const int64_t want = weft_matmul_tiling_for(limits, &problem).chunk;
            const int64_t got = weft_matmul_tiling_for(&lowered, &problem).chunk;
            if (limits->vector_width == 1 && got != want)
                fail_msg("%s: chunks of %" PRId64 ", and of %" PRId64 " in groups of 128 items",
                         limits->name, want, got);
        }
}

static void test_known_tilings(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        int64_t m, n, k;
        weft_dtype dtype;
        const char *tiling;
    } known[] = {
        {"nvidia-a100", 4096, 4096, 4096, WEFT_F32,
         "method blocks, vector_width 4, vectors 2, rows 8, items 16, items_y 16, depth 8, "
         "block_rows 128, "
         "block_columns 128, chunk 2147479551"},
        {"nvidia-a100", 130, 130, 10000, WEFT_F64,
         "method blocks, vector_width 2, vectors 1, rows 4, items 16, items_y 16, depth 16, "
         "block_rows 64, "
         "block_columns 32, chunk 288"},
        {"nvidia-h200", 1024, 1024, 1024, WEFT_F32,
         "method blocks, vector_width 4, vectors 2, rows 8, items 16, items_y 16, depth 8, "
         "block_rows 128, "
         "block_columns 128, chunk 256"},
        {"nvidia-h200", 512, 512, 512, WEFT_F32,
         "method blocks, vector_width 4, vectors 1, rows 4, items 16, items_y 16, depth 16, "
         "block_rows 64, "
         "block_columns 64, chunk 2147479551"},
        {"nvidia-a100", 100, 100, 10000, WEFT_F16,
         "method blocks, vector_width 4, vectors 1, rows 4, items 16, items_y 16, depth 16, "
         "block_rows 64, "
         "block_columns 64, chunk 144"},
        {"amd-mi300x", 4096, 1, 4096, WEFT_F32,
         "method dots, transposed, vector_width 4, vectors 2, rows 2, items 64, items_y 2, depth "
         "1024, block_rows "
         "1, block_columns 4, chunk 2147479551"},
        {"intel-arc-a770", 1, 4096, 4096, WEFT_BF16,
         "method rows, vector_width 4, vectors 1, rows 4, items 128, items_y 1, depth 4, "
         "block_rows 4, "
         "block_columns 512, chunk 512"},
        {"nvidia-h200", 4096, 4096, 4, WEFT_F32,
         "method rows, vector_width 4, vectors 1, rows 4, items 128, items_y 1, depth 4, "
         "block_rows 16, "
         "block_columns 512, chunk 2147479551"},
        {"nvidia-h200", 777, 555, 333, WEFT_F32,
         "method blocks, vector_width 4, vectors 1, rows 4, items 16, items_y 16, depth 16, "
         "block_rows 64, "
         "block_columns 64, chunk 2147479551"},
        {"apple-m1", 1000, 1000, 4, WEFT_F32,
         "method rows, vector_width 4, vectors 1, rows 4, items 128, items_y 1, depth 4, "
         "block_rows 16, "
         "block_columns 512, chunk 2147479551"},
        {"intel-xeon-8380", 2048, 2048, 2048, WEFT_F32,
         "method blocks, vector_width 16, vectors 2, rows 12, items 1, items_y 1, depth 256, "
         "block_rows 192, "
         "block_columns 128, chunk 2147479551"},
        {"intel-xeon-8380", 2048, 2048, 2048, WEFT_F64,
         "method blocks, vector_width 8, vectors 2, rows 12, items 1, items_y 1, depth 128, "
         "block_rows 348, "
         "block_columns 64, chunk 2147479551"},
        {"amd-ryzen-5950x", 3, 10000, 1000, WEFT_I8,
         "method rows, vector_width 8, vectors 32, rows 8, items 1, items_y 1, depth 8, block_rows "
         "8, "
         "block_columns 456, chunk 334"},
        {"arm-graviton2", 10000, 2, 1000, WEFT_F32,
         "method dots, transposed, vector_width 4, vectors 4, rows 2, items 1, items_y 1, depth "
         "1000, block_rows "
         "2, block_columns 80, chunk 2147479551"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        weft_matmul_problem problem = row_major(known[i].m, known[i].n, known[i].k);
        problem.dtype = known[i].dtype;
        const weft_matmul_tiling tiling =
            weft_matmul_tiling_for(weft_profile_find(known[i].device), &problem);
        char text[512], little[8];
        const int length = weft_matmul_tiling_print(&tiling, text, sizeof(text));
        assert_int_equal(length, strlen(text));
        assert_int_equal(weft_matmul_tiling_print(&tiling, little, sizeof(little)), length);
        if (strcmp(text, known[i].tiling) != 0)
            fail_msg("%s, k %" PRId64 ": %s", known[i].device, known[i].k, text);
    }
}

static void test_names_of_methods(void **state)
{
    (void)state;
    assert_string_equal(weft_matmul_method_name(WEFT_MATMUL_BLOCKS), "blocks");
    assert_string_equal(weft_matmul_method_name(WEFT_MATMUL_DOTS), "dots");
    assert_string_equal(weft_matmul_method_name(WEFT_MATMUL_ROWS), "rows");
    assert_string_equal(weft_matmul_method_name(WEFT_MATMUL_DIRECT), "direct");
    assert_null(weft_matmul_method_name((weft_matmul_method)4));
    assert_null(weft_matmul_method_name((weft_matmul_method)-1));
}

// On CPUs products that caches hold copy nothing, unless copies convert, turn or divide it.
static void test_direct(void **state)
{
    (void)state;
    const weft_limits *const cpu = weft_profile_find("intel-xeon-8380");
    weft_matmul_problem p = row_major(128, 128, 128);
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_DIRECT);
    p.n_batches = 1000000;
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_BLOCKS);
    p = row_major(128, 128, 128);
    p.dtype = WEFT_F16;
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_BLOCKS);
    p = row_major(128, 128, 128);
    p.b_along_n = false;
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_BLOCKS);
    p = row_major(128, 12, 128);
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_BLOCKS);
    p = row_major(100, 100, 4);
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_DIRECT);
    p = row_major(7, 100, 4);
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_ROWS);
    p = row_major(20, 20, 10000); // in chunks
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_BLOCKS);
    p = row_major(128, 128, 128);
    assert_int_equal(weft_matmul_tiling_for(weft_profile_find("nvidia-h200"), &p).method,
                     WEFT_MATMUL_BLOCKS);
}

// So have few columns that are adjacent, for a k that is short: as vectors, whichever way round.
static void test_thin(void **state)
{
    (void)state;
    const weft_limits *const cpu = weft_profile_find("intel-xeon-8380");
    weft_matmul_problem p = row_major(1000, 8, 50);
    weft_matmul_tiling t = weft_matmul_tiling_for(cpu, &p);
    if (t.method != WEFT_MATMUL_DIRECT || t.transposed || t.vector_width != 8 || t.vectors != 1)
        fail_problem("no vectors of 8", cpu, &p, &t);
    p.n = 7;
    t = weft_matmul_tiling_for(cpu, &p);
    if (t.method != WEFT_MATMUL_DIRECT || t.vector_width != 4 || t.vectors != 2)
        fail_problem("no vectors of 4", cpu, &p, &t);
    p = row_major(1000, 8, 5000);
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_DOTS);
    p = row_major(1000, 2, 100);
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_DOTS);
    p = row_major(1000, 8, 50);
    p.dtype = WEFT_BF16;
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_DOTS);
    p = (weft_matmul_problem){
        .m = 8, .n = 1000, .k = 50, .a_along_m = true, .b_along_k = true, .c_along_m = true};
    t = weft_matmul_tiling_for(cpu, &p);
    if (t.method != WEFT_MATMUL_DIRECT || !t.transposed)
        fail_problem("not turned", cpu, &p, &t);
    p.a_along_m = false;
    p.a_along_k = true;
    assert_int_equal(weft_matmul_tiling_for(cpu, &p).method, WEFT_MATMUL_DOTS);
}

// Waking a core takes longer than some products; others have groups for all cores.
static void test_one_group_for_short_work(void **state)
{
    (void)state;
    const weft_limits *const cpu = weft_profile_find("intel-xeon-8380");
    weft_matmul_problem p = row_major(64, 64, 64);
    for (int i = 0; i < 2; i++, p.b_along_n = false) {
        const weft_matmul_tiling t = weft_matmul_tiling_for(cpu, &p);
        if (t.block_rows < p.m || t.block_columns < p.n)
            fail_problem("several groups", cpu, &p, &t);
    }
    p = row_major(400, 400, 400);
    const weft_matmul_tiling t = weft_matmul_tiling_for(cpu, &p);
    if (ceil_div(p.m, t.block_rows) * ceil_div(p.n, t.block_columns) < cpu->compute_units)
        fail_problem("few groups", cpu, &p, &t);
    p = row_major(1, 100, 100);
    if (weft_matmul_tiling_for(cpu, &p).block_columns < p.n)
        fail_msg("several groups of rows");
    p = row_major(100, 1, 100);
    if (weft_matmul_tiling_for(cpu, &p).block_columns < p.m)
        fail_msg("several groups of dots");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_short_products_on_every_profile),
        cmocka_unit_test(test_lower_limits_of_a_kernel),
        cmocka_unit_test(test_random_limits),
        cmocka_unit_test(test_odd_groups_and_little_local_memory),
        cmocka_unit_test(test_batches_and_kernels_leave_the_order_of_sums),
        cmocka_unit_test(test_the_largest_of_everything),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_blocks_for_every_core),
        cmocka_unit_test(test_chunks_of_smaller_groups),
        cmocka_unit_test(test_known_tilings),
        cmocka_unit_test(test_direct),
        cmocka_unit_test(test_thin),
        cmocka_unit_test(test_one_group_for_short_work),
        cmocka_unit_test(test_names_of_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
