// SPDX-License-Identifier: Apache-2.0
// The tiling of SpMM: sound for every known device, for limits that nobody sells and for any
// problem; and what is refused of a tiling that somebody filled in. No device needed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weft/spmm.h>

#include "plan_case.h"
#include "sparse/spmm_tiling.h"

enum { N_RANDOM = 50000 }; // for each profile

static weft_spmm_problem random_problem(random_state *random)
{
    static const weft_row_stats rows = {
        .n_rows = 1000, .nnz = 9000, .max = 80, .mean = 9, .cov = 0.6};
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    weft_spmm_problem problem = {
        .m = plan_extent(random),
        .k = plan_extent(random),
        .n = plan_extent(random),
        .n_batches = random_below(random, 4),
        .dtype = dtypes[random_below(random, 5)],
        .columns_adjacent = random_below(random, 4) > 0,
        .alignment = random_below(random, 5) ? plan_power(random, 20) : 0,
        .entry_alignment = random_below(random, 5) ? plan_power(random, 20) : 0,
        .rows = random_below(random, 2) ? &rows : NULL,
        .reduction = (weft_spmm_reduction)random_below(random, 4),
    };
    const double entries = (double)problem.m * (double)problem.k;
    problem.nnz = (int64_t)(entries * (double)random_below(random, 1000) / 999);
    return problem;
}

static void fail_problem(const char *what, const weft_limits *limits,
                         const weft_spmm_problem *problem, const weft_spmm_tiling *tiling)
{
    char text[512];
    weft_spmm_tiling_print(tiling, text, sizeof(text));
    fail_msg("%s: %s: m %" PRId64 ", k %" PRId64 ", n %" PRId64 ", nnz %" PRId64
             ", %s, adjacent %d, alignments %" PRId64 " and %" PRId64 ", rows %s: %s",
             limits->name, what, problem->m, problem->k, problem->n, problem->nnz,
             weft_dtype_name(problem->dtype), problem->columns_adjacent, problem->alignment,
             problem->entry_alignment, problem->rows ? "known" : "unknown", text);
}

static bool are_equal(const weft_spmm_tiling *a, const weft_spmm_tiling *b)
{
    return a->vector_width == b->vector_width && a->vectors == b->vectors && a->lanes == b->lanes &&
           a->row_split == b->row_split && a->rows_per_group == b->rows_per_group &&
           a->rows_per_item == b->rows_per_item && a->k_block == b->k_block &&
           a->k_block_from == b->k_block_from && a->stage == b->stage && a->load == b->load &&
           a->unroll == b->unroll && a->row_chunk == b->row_chunk && a->packed == b->packed &&
           a->tasks == b->tasks && a->row_blocks_per_copy == b->row_blocks_per_copy &&
           a->aligned == b->aligned;
}

static void check_problem(const weft_limits *limits, const weft_spmm_problem *problem)
{
    const weft_spmm_tiling tiling = weft_spmm_tiling_for(limits, problem);
    const weft_spmm_tiling again = weft_spmm_tiling_for(limits, problem);
    const uint64_t row_split = tiling.row_split > 1 ? (uint64_t)tiling.row_split : 1;
    const uint64_t items = (uint64_t)tiling.lanes * row_split * (uint64_t)tiling.rows_per_group;
    const uint64_t entry_bytes =
        4 + weft_dtype_size(problem->dtype == WEFT_DEFAULT ? WEFT_F32 : problem->dtype);
    const uint64_t columns =
        (uint64_t)tiling.lanes * (uint64_t)tiling.vectors * (uint64_t)tiling.vector_width;
    const uint64_t sum_bytes = problem->dtype == WEFT_F64 ? 8 : 4;
    const uint64_t staged_bytes = tiling.stage > 0 ? (uint64_t)tiling.stage * entry_bytes + 4 : 0;
    const uint64_t local_bytes =
        (uint64_t)tiling.rows_per_group * (staged_bytes + (row_split - 1) * columns * sum_bytes);
    if (weft_spmm_tiling_check(&tiling, limits, problem) != WEFT_OK)
        fail_problem(weft_last_error(), limits, problem, &tiling);
    if (!are_equal(&tiling, &again))
        fail_problem("another tiling the second time", limits, problem, &tiling);
    if (tiling.vector_width > (problem->n > 0 ? problem->n : 1))
        fail_problem("a vector wider than C", limits, problem, &tiling);
    if (items > limits->max_items ||
        (size_t)tiling.lanes * row_split > limits->max_items_along[0] ||
        (size_t)tiling.rows_per_group > limits->max_items_along[1])
        fail_problem("a group too large", limits, problem, &tiling);
    if (local_bytes > limits->local_bytes)
        fail_problem("too much local memory", limits, problem, &tiling);
}

static void check_random(const weft_limits *limits, random_state *random)
{
    const weft_spmm_problem problem = random_problem(random);
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
    plan_check_random_limits(0, check_random);
}

static void test_narrow_problems_on_every_profile(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int64_t n = 0; n <= 600; n++)
            for (int adjacent = 0; adjacent < 2; adjacent++)
                for (int64_t alignment = 1; alignment <= 16; alignment *= 2) {
                    const weft_spmm_problem problem = {.m = 100,
                                                       .k = 100,
                                                       .n = n,
                                                       .nnz = 1000,
                                                       .columns_adjacent = adjacent,
                                                       .alignment = alignment,
                                                       .entry_alignment = alignment};
                    check_problem(weft_profile_at(i), &problem);
                }
}

// What is chosen changes on purpose only.
static void test_known_tilings(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        int64_t m, k, n, nnz, alignment;
        weft_dtype dtype;
        const char *tiling;
    } known[] = {
        {"nvidia-a100", 2048, 2048, 128, 800000, 128, WEFT_F32,
         "vector_width 4, vectors 1, lanes 32, row_split 1, rows_per_group 2, rows_per_item 1, "
         "stage 128, load "
         "4, unroll 8, row_chunk 1024, tasks 125, aligned"},
        {"nvidia-a100", 2048, 2048, 31, 800000, 1, WEFT_F16,
         "vector_width 1, vectors 1, lanes 32, row_split 1, rows_per_group 2, rows_per_item 1, "
         "stage 128, load "
         "4, unroll 8, row_chunk 1024, tasks 125"},
        {"nvidia-a100", 20000, 2048, 128, 800000, 128, WEFT_F32,
         "vector_width 4, vectors 1, lanes 32, row_split 1, rows_per_group 2, rows_per_item 1, "
         "stage 128, load "
         "4, unroll 8, row_chunk 1024, tasks 125, aligned"},
        {"amd-mi300x", 8192, 8192, 256, 600000, 256, WEFT_F32,
         "vector_width 4, vectors 1, lanes 64, row_split 1, rows_per_group 1, rows_per_item 1, "
         "stage 128, load "
         "4, unroll 8, row_chunk 256, tasks 125, aligned"},
        {"intel-arc-a770", 100, 100, 8, 1000, 8, WEFT_F32,
         "vector_width 4, vectors 1, lanes 2, row_split 8, entry_lanes 8, rows_per_group 4, "
         "rows_per_item 1, load 1, unroll 4, row_chunk 1024, aligned"},
        {"intel-xeon-8380", 100, 100, 5, 300, 1, WEFT_F32,
         "vector_width 4, vectors 2, lanes 1, rows_per_group 1, rows_per_item 4, load 1, unroll 4, "
         "row_chunk 4096"},
        {"intel-xeon-8380", 100, 100, 4, 300, 1, WEFT_F32,
         "vector_width 4, vectors 1, lanes 1, entry_lanes 4, rows_per_group 1, rows_per_item 4, "
         "load 1, unroll 1, row_chunk 16384"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_spmm_problem problem = {.m = known[i].m,
                                           .k = known[i].k,
                                           .n = known[i].n,
                                           .nnz = known[i].nnz,
                                           .dtype = known[i].dtype,
                                           .columns_adjacent = true,
                                           .alignment = known[i].alignment,
                                           .entry_alignment = 16};
        const weft_spmm_tiling tiling =
            weft_spmm_tiling_for(weft_profile_find(known[i].device), &problem);
        char text[512];
        const int length = weft_spmm_tiling_print(&tiling, text, sizeof(text));
        assert_int_equal(length, strlen(text));
        if (strcmp(text, known[i].tiling) != 0)
            fail_msg("%s, n %" PRId64 ": %s", known[i].device, known[i].n, text);
    }
}

typedef struct {
    int64_t k, n, percent; // of places that hold entries, in 2048 rows
    int no_plan, planned;  // k-blocks
    bool packed;
} k_blocks;

static void check_k_blocks(const k_blocks *known, size_t count, uint64_t l1_bytes,
                           uint64_t l2_bytes)
{
    weft_limits limits = *weft_profile_find("intel-xeon-8380");
    limits.l1_bytes = l1_bytes;
    limits.l2_bytes = l2_bytes;
    for (size_t i = 0; i < count; i++) {
        const weft_row_stats rows = {.n_rows = 2048, .max = known[i].k, .cov = 0.1};
        weft_spmm_problem problem = {.m = 2048,
                                     .k = known[i].k,
                                     .n = known[i].n,
                                     .nnz = 2048 * known[i].k * known[i].percent / 100,
                                     .columns_adjacent = true};
        const weft_spmm_tiling plain = weft_spmm_tiling_for(&limits, &problem);
        problem.rows = &rows;
        const weft_spmm_tiling planned = weft_spmm_tiling_for(&limits, &problem);
        if (plain.k_block != known[i].no_plan || planned.k_block != known[i].planned ||
            plain.packed != known[i].packed || planned.packed != known[i].packed)
            fail_msg("L1 %" PRIu64 ", L2 %" PRIu64 ", k %" PRId64 ", n %" PRId64 ", %" PRId64
                     "%%: k-blocks %d and %d, packed %d and %d",
                     l1_bytes, l2_bytes, known[i].k, known[i].n, known[i].percent, plain.k_block,
                     planned.k_block, plain.packed, planned.packed);
    }
}

// As measured on three machines; docs/kernels/spmm.md has the figures.
static void test_k_blocks_follow_the_caches(void **state)
{
    (void)state;
    static const k_blocks sapphire_rapids[] = {
        {512, 128, 50, 64, 64, false},   {512, 128, 30, 96, 96, false},
        {512, 128, 10, 96, 0, false},    {512, 256, 30, 96, 96, true},
        {2048, 128, 50, 64, 64, false},  {2048, 128, 30, 96, 64, false},
        {2048, 128, 20, 96, 64, false},  {2048, 128, 10, 96, 192, false},
        {2048, 128, 5, 96, 0, false},    {2048, 256, 10, 96, 192, true},
        {2048, 32, 30, 384, 384, false}, {256, 256, 30, 96, 96, false},
        {4096, 128, 10, 112, 192, false}};
    static const k_blocks zen_4[] = {
        {512, 128, 50, 64, 64, false},   {512, 128, 30, 64, 64, false},
        {512, 128, 10, 64, 0, false},    {512, 256, 30, 64, 64, true},
        {2048, 128, 50, 64, 64, false},  {2048, 128, 30, 64, 64, false},
        {2048, 128, 20, 64, 64, false},  {2048, 128, 10, 74, 128, false},
        {1024, 128, 5, 64, 0, false},    {2048, 256, 10, 74, 128, true},
        {2048, 32, 30, 256, 256, false}, {256, 256, 30, 64, 64, true},
        {1024, 128, 10, 64, 128, false}};
    const size_t count = sizeof(zen_4) / sizeof(zen_4[0]);
    check_k_blocks(sapphire_rapids, sizeof(sapphire_rapids) / sizeof(sapphire_rapids[0]), 48 << 10,
                   2 << 20);
    check_k_blocks(zen_4, count, 32 << 10, 1 << 20);
    check_k_blocks(zen_4, count, 0, 0);

    const weft_row_stats rows = {.n_rows = 2048};
    weft_spmm_problem problem = {.m = 2048,
                                 .k = 2048,
                                 .n = 128,
                                 .nnz = 420000,
                                 .dtype = WEFT_F16,
                                 .columns_adjacent = true,
                                 .rows = &rows};
    assert_int_equal(weft_spmm_tiling_for(weft_profile_find("xeon"), &problem).k_block, 0);

    // of few columns: not where sums wait for their conversion, nor for rows cut into row chunks
    problem.n = 32;
    problem.rows = NULL;
    problem.nnz = 1200000;
    assert_int_equal(weft_spmm_tiling_for(weft_profile_find("xeon"), &problem).k_block, 0);
    problem.dtype = WEFT_F32;
    assert_true(weft_spmm_tiling_for(weft_profile_find("xeon"), &problem).k_block > 0);
    problem.k = 40000;
    assert_int_equal(weft_spmm_tiling_for(weft_profile_find("xeon"), &problem).k_block, 0);
}

// Rows that are dense by themselves go through k-blocks alone: of rows of different lengths, and of
// those that nobody has looked at.
static void test_k_blocks_for_dense_rows(void **state)
{
    (void)state;
    static const struct {
        int64_t k, percent, longest; // entries; below 0: no plan
        int k_block, from;
    } known[] = {{512, 10, -1, 96, 77},   {512, 10, 512, 96, 77},   {512, 10, 77, 96, 77},
                 {512, 10, 76, 0, 0},     {2048, 10, -1, 112, 164}, {2048, 10, 2048, 96, 164},
                 {2048, 10, 163, 0, 0},   {2048, 5, -1, 96, 308},   {2048, 5, 2048, 96, 308},
                 {2048, 20, 2048, 64, 0}, {2048, 20, -1, 96, 0},    {256, 10, -1, 0, 0},
                 {2048, 2, -1, 0, 0},     {1 << 20, 0, -1, 0, 0}};
    weft_limits limits = *weft_profile_find("intel-xeon-8380");
    limits.l1_bytes = 48 << 10;
    limits.l2_bytes = 1 << 20;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_row_stats rows = {.n_rows = 2048, .max = known[i].longest, .cov = 2};
        const weft_spmm_problem problem = {.m = 2048,
                                           .k = known[i].k,
                                           .n = 128,
                                           .nnz = 2048 * known[i].k * known[i].percent / 100,
                                           .columns_adjacent = true,
                                           .rows = known[i].longest < 0 ? NULL : &rows};
        const weft_spmm_tiling t = weft_spmm_tiling_for(&limits, &problem);
        if (t.k_block != known[i].k_block || t.k_block_from != known[i].from)
            fail_msg("k %" PRId64 ", %" PRId64 "%%, longest row %" PRId64 ": %d rows of B from %d",
                     known[i].k, known[i].percent, known[i].longest, t.k_block, t.k_block_from);
    }
}

typedef struct {
    weft_dtype dtype;
    int64_t k, n, percent; // of places that hold entries, in 2048 rows
    double cov;            // below 0: no plan
    int vectors, unroll;
} n_tiles;

static void check_n_tiles(const n_tiles *known, size_t count, uint64_t l2_bytes)
{
    weft_limits limits = *weft_profile_find("intel-xeon-8380");
    limits.l1_bytes = 32 << 10;
    limits.l2_bytes = l2_bytes;
    for (size_t i = 0; i < count; i++) {
        const weft_row_stats rows = {.n_rows = 2048, .cov = known[i].cov};
        const weft_spmm_problem problem = {.m = 2048,
                                           .k = known[i].k,
                                           .n = known[i].n,
                                           .nnz = 2048 * known[i].k * known[i].percent / 100,
                                           .dtype = known[i].dtype,
                                           .columns_adjacent = true,
                                           .rows = known[i].cov < 0 ? NULL : &rows};
        const weft_spmm_tiling tiling = weft_spmm_tiling_for(&limits, &problem);
        const bool is_narrow = tiling.vectors == 2;
        if (tiling.vectors != known[i].vectors || tiling.unroll != known[i].unroll ||
            (is_narrow && (!tiling.packed || tiling.k_block > 0)))
            fail_problem("other n-tiles than expected", &limits, &problem, &tiling);
    }
}

// As measured, for even rows, uneven ones and rows that nobody has looked at.
static void test_narrow_n_tiles_bring_B_nearer(void **state)
{
    (void)state;
    static const n_tiles small_L2[] = {
        {WEFT_F32, 2048, 128, 5, 0.1, 2, 8},  {WEFT_F32, 2048, 128, 5, 0.7, 2, 8},
        {WEFT_F32, 2048, 128, 5, 0.8, 8, 1},  {WEFT_F32, 2048, 128, 5, -1, 8, 1},
        {WEFT_F32, 2048, 256, 5, 0.1, 2, 8},  {WEFT_F32, 2048, 128, 2, 0.1, 8, 1},
        {WEFT_F32, 2048, 128, 10, 0.1, 8, 1}, {WEFT_F32, 1024, 128, 5, 0.1, 8, 1},
        {WEFT_F32, 4096, 128, 5, 2, 2, 8},    {WEFT_F32, 4096, 128, 5, -1, 2, 8},
        {WEFT_F32, 4096, 128, 2, 0.1, 8, 1},  {WEFT_F32, 4096, 64, 5, 0.1, 2, 8},
        {WEFT_F64, 2048, 128, 5, 0.1, 2, 4},  {WEFT_F16, 4096, 128, 5, 0.1, 8, 1}};
    static const n_tiles large_L2[] = {{WEFT_F32, 2048, 128, 5, 0.1, 8, 1},
                                       {WEFT_F32, 4096, 128, 5, 0.1, 2, 8},
                                       {WEFT_F32, 4096, 128, 5, 2, 8, 1}};
    check_n_tiles(small_L2, sizeof(small_L2) / sizeof(small_L2[0]), 1 << 20);
    check_n_tiles(large_L2, sizeof(large_L2) / sizeof(large_L2[0]), 2 << 20);
}

// What a core of two has near, as on the machine that was measured.
static weft_limits two_cores(void)
{
    weft_limits limits = *weft_profile_find("intel-xeon-8380");
    limits.compute_units = 2;
    limits.l1_bytes = 32 << 10;
    limits.l2_bytes = limits.local_bytes = 1 << 20;
    return limits;
}

typedef struct {
    weft_dtype dtype;
    int64_t k, n, percent; // of places that hold entries, in 2048 rows
    double cov;            // below 0: no plan
    int staged_b, k_block, from;
} copies;

static weft_spmm_problem problem_of(const copies *of, const weft_row_stats *rows)
{
    return (weft_spmm_problem){.m = 2048,
                               .k = of->k,
                               .n = of->n,
                               .nnz = 2048 * of->k * of->percent / 100,
                               .dtype = of->dtype,
                               .columns_adjacent = true,
                               .rows = of->cov < 0 ? NULL : rows};
}

// As measured: for rows of B that are far and wide and wanted often, but not for k-blocks.
static void test_B_is_staged_b_where_it_pays(void **state)
{
    (void)state;
    static const copies known[] = {
        // all rows with each copy, as two cores then have two copies each
        {WEFT_F32, 512, 128, 10, 0.1, 128, 256, 129},
        {WEFT_F32, 512, 128, 10, -1, 128, 256, 129},
        {WEFT_F32, 512, 128, 10, 2, 0, 64, 77}, // known to go well through k-blocks
        {WEFT_F32, 512, 256, 10, 0.1, 128, 256, 129},
        {WEFT_F32, 512, 256, 10, 2, 128, 256, 129}, // which would be packed
        {WEFT_F32, 512, 128, 24, 0.1, 64, 256, 129},
        {WEFT_F32, 512, 128, 25, 0.1, 0, 64, 0},
        {WEFT_F32, 1024, 128, 14, 0.1, 128, 256, 257},
        {WEFT_F32, 1024, 128, 16, 0.1, 0, 64, 0},
        {WEFT_F32, 256, 128, 10, -1, 128, 0, 0}, // L1 has room for a copy
        {WEFT_F32, 2048, 128, 5, 0.1, 128, 256, 513},
        {WEFT_F32, 2048, 256, 5, 0.1, 128, 256, 513},
        {WEFT_F32, 2048, 256, 2, 0.1, 128, 256, 513},
        {WEFT_F32, 2048, 128, 10, 0.1, 0, 128, 0},
        {WEFT_F32, 2048, 256, 10, 0.1, 128, 256, 513},
        {WEFT_F32, 4096, 128, 5, -1, 128, 256, 1025},
        {WEFT_F32, 4097, 128, 5, 0.1, 0, 0, 0}, // past half of L2
        {WEFT_F32, 127, 128, 20, 0.1, 0, 0, 0}, // near as it is
        {WEFT_F32, 512, 64, 10, 0.1, 0, 0, 0},  // rows of B are not wide
        {WEFT_F32, 512, 128, 3, 0.1, 0, 0, 0},  // rows of A are short
        {WEFT_F64, 512, 128, 10, 0.1, 128, 256, 129},
        {WEFT_F16, 512, 128, 10, 0.1, 128, 256, 129},
        {WEFT_F16, 1024, 128, 10, 0.1, 0, 0, 0}, // twice the bytes of B
        {WEFT_BF16, 512, 128, 10, 0.1, 0, 0, 0}, // which goes by pairs
    };
    const weft_limits limits = two_cores();
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_row_stats rows = {.n_rows = 2048, .max = known[i].k, .cov = known[i].cov};
        const weft_spmm_problem problem = problem_of(&known[i], &rows);
        const weft_spmm_tiling t = weft_spmm_tiling_for(&limits, &problem);
        if (t.row_blocks_per_copy != known[i].staged_b ||
            (t.row_blocks_per_copy > 0 && (t.rows_per_item != 16 || t.packed)) ||
            t.k_block != known[i].k_block || t.k_block_from != known[i].from)
            fail_problem("staged_b otherwise than expected", &limits, &problem, &t);
    }
}

static void expect_not_staged_b(const weft_limits *limits, const weft_spmm_problem *problem)
{
    const weft_spmm_tiling t = weft_spmm_tiling_for(limits, problem);
    if (t.row_blocks_per_copy != 0)
        fail_problem("staged_b", limits, problem, &t);
}

// Nor where there is no room, no use, or another way.
static void test_B_is_not_staged_b_everywhere(void **state)
{
    (void)state;
    static const copies of = {WEFT_F32, 512, 128, 10, -1, 128, 256, 129};
    const weft_limits usual_limits = two_cores();
    const weft_spmm_problem usual_problem = problem_of(&of, NULL);
    assert_int_equal(weft_spmm_tiling_for(&usual_limits, &usual_problem).row_blocks_per_copy, 128);
    weft_limits limits = usual_limits;
    limits.local_bytes = 512 * 128 - 1;
    expect_not_staged_b(&limits, &usual_problem);
    limits = usual_limits;
    limits.compute_units = 4; // each with two
    assert_int_equal(weft_spmm_tiling_for(&limits, &usual_problem).row_blocks_per_copy, 64);
    // four n-tiles and a bit: in two runs of rows, or one core would have three of five copies
    weft_spmm_problem rest = usual_problem;
    rest.n = 130;
    assert_int_equal(weft_spmm_tiling_for(&usual_limits, &rest).row_blocks_per_copy, 64);
    limits.compute_units = 80; // whose copies would each be used for a few rows
    expect_not_staged_b(&limits, &usual_problem);
    limits = usual_limits;
    limits.max_iterations = 1 << 16;
    expect_not_staged_b(&limits, &usual_problem);
    weft_spmm_problem problem = usual_problem;
    problem.row_schedule = WEFT_SPMM_ROW_SCHEDULE_QUEUE;
    expect_not_staged_b(&usual_limits, &problem);
    problem = usual_problem;
    problem.reduction = WEFT_SPMM_MIN;
    expect_not_staged_b(&usual_limits, &problem);
    problem = usual_problem;
    problem.columns_adjacent = false; // one more reason
    assert_int_equal(weft_spmm_tiling_for(&usual_limits, &problem).row_blocks_per_copy, 128);

    // dense enough for k-blocks of a B that is far, but with such caches it is not
    const weft_row_stats rows = {.n_rows = 2048, .max = 700, .cov = 0.1};
    problem = usual_problem;
    problem.k = 700;
    problem.nnz = 2048 * 70;
    problem.rows = &rows;
    limits = usual_limits;
    limits.l1_bytes = 48 << 10;
    limits.l2_bytes = 512 << 10;
    assert_int_equal(weft_spmm_tiling_for(&limits, &problem).row_blocks_per_copy, 128);
}

// Rows too few for the device are shared, those of a batch as those of one matrix; so are uneven
// ones until the longest are no longer waited for; but no more than local memory has room for.
static void test_row_splits_fill_the_device(void **state)
{
    (void)state;
    const weft_row_stats even = {.n_rows = 2048, .max = 260, .mean = 205, .cov = 0.1};
    const weft_row_stats uneven = {.n_rows = 2048, .max = 2044, .mean = 205, .cov = 2};
    const weft_row_stats huge = {.n_rows = 2048, .max = 900000, .mean = 205, .cov = 2};
    const weft_row_stats mixed = {.n_rows = 2048, .max = 800, .mean = 205, .cov = 0.5};
    const weft_row_stats short_ones = {.n_rows = 2048, .max = 600, .mean = 50, .cov = 1};
    const struct {
        int64_t m, n, nnz, n_batches;
        const weft_row_stats *rows;
        size_t local_bytes;
        int row_split;
    } known[] = {
        {2048, 128, 419430, 1, NULL, 0, 4},        {2048, 128, 419430, 100, NULL, 0, 4},
        {2048, 128, 419430, 1, &even, 0, 4},       {2048, 128, 419430, 1, &uneven, 0, 8},
        {2048, 128, 419430, 1, &huge, 0, 4},       {2048, 32, 419430, 1, NULL, 0, 4},
        {4096, 128, 419430, 1, NULL, 0, 1},        {2048, 128, 2048 * 64, 1, NULL, 0, 4},
        {2048, 128, 2048 * 63, 1, NULL, 0, 1},     {100000, 128, 20000000, 1, &even, 0, 1},
        {100000, 128, 20000000, 1, &uneven, 0, 1}, {2048, 128, 419430, 1, NULL, 6000, 4},
        {2048, 128, 419430, 1, &uneven, 6000, 4},  {2048, 128, 419430, 1, NULL, 3000, 1},
        {2048, 32, 419430, 1, &uneven, 0, 32},     {2048, 32, 419430, 1, &mixed, 0, 8},
        {2048, 128, 419430, 1, &mixed, 0, 8},      {2048, 128, 2048 * 50, 1, &short_ones, 0, 8},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        weft_limits limits = *weft_profile_find("nvidia-h100");
        limits.local_bytes = known[i].local_bytes > 0 ? known[i].local_bytes : limits.local_bytes;
        const weft_spmm_problem problem = {.m = known[i].m,
                                           .k = 2048,
                                           .n = known[i].n,
                                           .nnz = known[i].nnz,
                                           .n_batches = known[i].n_batches,
                                           .columns_adjacent = true,
                                           .alignment = 4,
                                           .entry_alignment = 4,
                                           .rows = known[i].rows,
                                           .keeps_rows = true};
        const int row_split = weft_spmm_tiling_for(&limits, &problem).row_split;
        if (row_split != known[i].row_split)
            fail_msg("case %zu: a row_split of %d: %d is wanted", i, row_split, known[i].row_split);
    }
}

// Where items could wait for a long row, known or not, and there are tasks enough, groups of GPUs
// have tasks in place of rows.
static void test_tasks_for_uneven_rows(void **state)
{
    (void)state;
    const weft_row_stats even = {.n_rows = 2048, .max = 260, .mean = 205, .cov = 0.1};
    const weft_row_stats uneven = {.n_rows = 2048, .max = 2044, .mean = 205, .cov = 2};
    const weft_row_stats mixed = {.n_rows = 2048, .max = 800, .mean = 205, .cov = 0.5};
    const weft_row_stats full = {.n_rows = 8192, .max = 65536, .mean = 24, .cov = 30};
    const weft_row_stats none = {.n_rows = 100000, .max = 2044, .mean = 205, .cov = 2};
    const struct {
        const char *device;
        int64_t m, k, n, nnz;
        const weft_row_stats *rows;
        weft_spmm_reduction reduction;
        bool keeps_rows;
        uint64_t scratch_bytes;
        int tasks;
    } known[] = {
        {"nvidia-h200", 2048, 2048, 128, 419430, NULL, WEFT_SPMM_SUM, false, 0, 125},
        {"nvidia-h200", 2048, 2048, 128, 419430, &uneven, WEFT_SPMM_MEAN, false, 0, 125},
        {"nvidia-h200", 2048, 2048, 128, 419430, &mixed, WEFT_SPMM_SUM, false, 0, 0},
        {"nvidia-h200", 2048, 2048, 128, 419430, &even, WEFT_SPMM_SUM, false, 0, 0},
        {"nvidia-h200", 2048, 2048, 256, 419430, &uneven, WEFT_SPMM_SUM, false, 0, 125},
        {"nvidia-h200", 2048, 2048, 512, 419430, &uneven, WEFT_SPMM_SUM, false, 0, 0},
        {"nvidia-h200", 8192, 8192, 128, 800000, NULL, WEFT_SPMM_SUM, false, 0, 125},
        {"nvidia-h200", 2048, 2048, 32, 419430, NULL, WEFT_SPMM_SUM, false, 0, 61},
        {"nvidia-h200", 2048, 2048, 32, 419430, &uneven, WEFT_SPMM_SUM, false, 0, 0},
        {"nvidia-h200", 2048, 512, 128, 419430, NULL, WEFT_SPMM_SUM, false, 0, 0},
        {"nvidia-h200", 2048, 2048, 128, 2500000, NULL, WEFT_SPMM_SUM, false, 0, 0}, // dense
        {"nvidia-h200", 8192, 65536, 128, 200000, &full, WEFT_SPMM_SUM, false, 0, 61},
        {"amd-mi300x", 8192, 65536, 128, 200000, &full, WEFT_SPMM_SUM, false, 0, 61},
        {"intel-max-1550", 8192, 65536, 128, 200000, &full, WEFT_SPMM_SUM, false, 0, 125},
        // long rows among many others end with them
        {"nvidia-h200", 100000, 2048, 128, 20500000, &none, WEFT_SPMM_SUM, false, 0, 0},
        {"nvidia-h200", 2048, 2048, 128, 419430, &uneven, WEFT_SPMM_SUM, true, 0, 0},
        {"nvidia-h200", 2048, 2048, 128, 419430, &uneven, WEFT_SPMM_SUM, false, 1 << 20, 0},
        {"nvidia-h200", 2048, 2048, 128, 419430, NULL, WEFT_SPMM_MAX, false, 0, 0},
        {"nvidia-h200", 2048, 2048, 16, 419430, NULL, WEFT_SPMM_SUM, false, 0, 0},
        {"intel-xeon-8380", 2048, 2048, 128, 419430, &uneven, WEFT_SPMM_SUM, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_spmm_problem problem = {.m = known[i].m,
                                           .k = known[i].k,
                                           .n = known[i].n,
                                           .nnz = known[i].nnz,
                                           .columns_adjacent = true,
                                           .alignment = 4,
                                           .entry_alignment = 4,
                                           .rows = known[i].rows,
                                           .keeps_rows = known[i].keeps_rows,
                                           .scratch_bytes = known[i].scratch_bytes,
                                           .reduction = known[i].reduction};
        const weft_spmm_tiling t =
            weft_spmm_tiling_for(weft_profile_find(known[i].device), &problem);
        if (t.tasks != known[i].tasks ||
            (t.tasks > 0 && (t.row_split != 1 || t.stage != t.tasks + 3)))
            fail_msg("case %zu: tasks of %d, row_split %d: %d are wanted", i, t.tasks, t.row_split,
                     known[i].tasks);
    }
}

// Few columns leave room for entries side by side: in a vector, or in the items of a group, whose
// number follows the entries of a row.
static void test_entries_lie_side_by_side(void **state)
{
    (void)state;
    const weft_row_stats long_row = {.n_rows = 2048, .max = 2000, .mean = 5, .cov = 9};
    const struct {
        const char *device;
        int64_t n, nnz, alignment;
        weft_dtype dtype;
        const weft_row_stats *rows;
        int vector_width, lanes, entry_lanes;
    } known[] = {
        {"intel-xeon-8380", 1, 80000, 1, WEFT_F32, NULL, 1, 1, 8},
        {"intel-xeon-8380", 2, 80000, 1, WEFT_F16, NULL, 2, 1, 8},
        {"intel-xeon-8380", 2, 80000, 1, WEFT_F64, NULL, 2, 1, 4},
        {"intel-xeon-8380", 7, 80000, 1, WEFT_F32, NULL, 4, 1, 0},
        {"intel-xeon-8380", 8, 80000, 1, WEFT_F32, NULL, 8, 1, 2},
        {"intel-xeon-8380", 8, 80000, 1, WEFT_F64, NULL, 8, 1, 0},
        {"intel-xeon-8380", 16, 80000, 1, WEFT_F32, NULL, 16, 1, 0},
        {"nvidia-h100", 1, 2048 * 3, 1, WEFT_F32, NULL, 1, 1, 8},
        {"nvidia-h100", 1, 2048 * 8, 1, WEFT_F32, NULL, 1, 1, 8},
        {"nvidia-h100", 1, 2048 * 40, 1, WEFT_F32, NULL, 1, 1, 32},
        {"nvidia-h100", 1, 2048 * 5, 1, WEFT_F32, &long_row, 1, 1, 32},
        {"nvidia-h100", 3, 2048 * 8, 1, WEFT_F32, NULL, 1, 4, 8},
        {"nvidia-h100", 12, 2048 * 8, 4, WEFT_F32, NULL, 4, 4, 8},
        {"nvidia-h100", 13, 2048 * 8, 1, WEFT_F32, NULL, 1, 16, 8},
        {"nvidia-h100", 32, 2048 * 8, 4, WEFT_F32, NULL, 4, 8, 0},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_spmm_problem problem = {.m = 2048,
                                           .k = 2048,
                                           .n = known[i].n,
                                           .nnz = known[i].nnz,
                                           .dtype = known[i].dtype,
                                           .columns_adjacent = true,
                                           .alignment = known[i].alignment,
                                           .entry_alignment = 4,
                                           .rows = known[i].rows};
        const weft_spmm_tiling tiling =
            weft_spmm_tiling_for(weft_profile_find(known[i].device), &problem);
        if (tiling.vector_width != known[i].vector_width || tiling.lanes != known[i].lanes ||
            tiling.entry_lanes != known[i].entry_lanes)
            fail_msg("case %zu: vector_width %d, lanes %d, entry_lanes %d", i, tiling.vector_width,
                     tiling.lanes, tiling.entry_lanes);
        weft_spmm_problem largest = problem;
        largest.reduction = WEFT_SPMM_MAX;
        assert_int_equal(
            weft_spmm_tiling_for(weft_profile_find(known[i].device), &largest).entry_lanes,
            known[i].entry_lanes);
        largest.nnz = 15 * problem.m; // CPUs merge lanes of longer rows only
        if (strncmp(known[i].device, "intel-", 6) == 0)
            assert_int_equal(
                weft_spmm_tiling_for(weft_profile_find(known[i].device), &largest).entry_lanes, 0);
    }
}

static void expect_same(const weft_spmm_tiling *got, const weft_spmm_tiling *want)
{
    char text[2][256];
    weft_spmm_tiling_print(got, text[0], sizeof(text[0]));
    weft_spmm_tiling_print(want, text[1], sizeof(text[1]));
    assert_string_equal(text[0], text[1]);
}

// Largest and smallest products: what helps sums is left out, and nothing else changes but the rows
// of an item, of which k-blocks want more, and of a group, of which row splits want fewer. Means
// are as sums.
static void test_tilings_of_max_min(void **state)
{
    (void)state;
    static const char *const profiles[] = {"xeon", "nvidia-a100"};
    for (size_t i = 0; i < 2; i++)
        for (int adjacent = 0; adjacent < 2; adjacent++) {
            const weft_limits *limits = weft_profile_find(profiles[i]);
            weft_spmm_problem problem = {.m = 2048,
                                         .k = 2048,
                                         .n = 128,
                                         .nnz = 2000000,
                                         .columns_adjacent = adjacent,
                                         .alignment = 16,
                                         .entry_alignment = 4,
                                         .keeps_rows = true};
            weft_spmm_tiling sum = weft_spmm_tiling_for(limits, &problem);
            assert_true(sum.k_block > 0 || sum.stage > 0);
            assert_int_equal(sum.packed, !adjacent);
            problem.reduction = WEFT_SPMM_MEAN;
            const weft_spmm_tiling mean = weft_spmm_tiling_for(limits, &problem);
            expect_same(&mean, &sum);
            sum.k_block = sum.stage = 0;
            sum.packed = false;
            sum.load = 1;
            for (int peak = WEFT_SPMM_MAX; peak <= WEFT_SPMM_MIN; peak++) {
                problem.reduction = (weft_spmm_reduction)peak;
                const weft_spmm_tiling found = weft_spmm_tiling_for(limits, &problem);
                assert_true(found.rows_per_item <= sum.rows_per_item);
                sum.rows_per_item = found.rows_per_item;
                assert_true(found.row_split <= 1 && found.rows_per_group >= sum.rows_per_group);
                sum.row_split = found.row_split;
                sum.rows_per_group = found.rows_per_group;
                expect_same(&found, &sum);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_narrow_problems_on_every_profile),
        cmocka_unit_test(test_lower_limits_of_a_kernel),
        cmocka_unit_test(test_random_limits),
        cmocka_unit_test(test_known_tilings),
        cmocka_unit_test(test_k_blocks_follow_the_caches),
        cmocka_unit_test(test_k_blocks_for_dense_rows),
        cmocka_unit_test(test_narrow_n_tiles_bring_B_nearer),
        cmocka_unit_test(test_B_is_staged_b_where_it_pays),
        cmocka_unit_test(test_B_is_not_staged_b_everywhere),
        cmocka_unit_test(test_row_splits_fill_the_device),
        cmocka_unit_test(test_tasks_for_uneven_rows),
        cmocka_unit_test(test_entries_lie_side_by_side),
        cmocka_unit_test(test_tilings_of_max_min),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
