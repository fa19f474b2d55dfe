// SPDX-License-Identifier: Apache-2.0
// The tiling of sparse attention: sound for every known device, for limits that nobody sells and
// for any problem; what is refused of a tiling that somebody filled in; and a pattern that no
// device holds. No device needed.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <weft/rehearsal.h>
#include <weft/sparse_attention.h>

#include "plan_case.h"
#include "sparse/sparse_attention_plan.h"

enum { N_RANDOM = 50000, MOST_PROGRAMS = 80 }; // for each profile

static weft_sparse_attention_problem random_problem(random_state *random)
{
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16};
    weft_sparse_attention_problem problem = {
        .m = plan_extent(random),
        .n = plan_extent(random),
        .k = plan_extent(random),
        .d = plan_extent(random),
        .n_batches = random_below(random, 3) ? random_below(random, 4) : plan_extent(random),
        .dtype = dtypes[random_below(random, 5)],
        .qk_adjacent = random_below(random, 4) > 0,
        .vo_adjacent = random_below(random, 4) > 0,
        .alignment = random_below(random, 5) ? plan_power(random, 20) : 0,
    };
    problem.nnz =
        (int64_t)((double)problem.m * (double)problem.n * (double)random_below(random, 1000) / 999);
    return problem;
}

static void fail_problem(const char *what, const weft_limits *limits,
                         const weft_sparse_attention_problem *problem,
                         const weft_sparse_attention_tiling *tiling)
{
    char text[512];
    weft_sparse_attention_tiling_print(tiling, text, sizeof(text));
    fail_msg("%s: %s: m %" PRId64 ", n %" PRId64 ", k %" PRId64 ", d %" PRId64 ", nnz %" PRId64
             ", batch %" PRId64 ", %s, adjacent %d and %d, alignment %" PRId64 ": %s",
             limits->name, what, problem->m, problem->n, problem->k, problem->d, problem->nnz,
             problem->n_batches, weft_dtype_name(problem->dtype), problem->qk_adjacent,
             problem->vo_adjacent, problem->alignment, text);
}

static bool are_equal(const weft_sparse_attention_tiling *a, const weft_sparse_attention_tiling *b)
{
    return a->vector_width == b->vector_width && a->vectors == b->vectors &&
           a->outputs == b->outputs && a->lanes == b->lanes &&
           a->rows_per_group == b->rows_per_group && a->rows_per_item == b->rows_per_item &&
           a->row_chunk == b->row_chunk && a->aligned == b->aligned && a->in_steps == b->in_steps;
}

// Also as a sweep, which a call falls back to where steps have no room.
static void check_problem(const weft_limits *limits, const weft_sparse_attention_problem *problem)
{
    weft_sparse_attention_tiling tiling = weft_sparse_attention_tiling_for(limits, problem);
    const weft_sparse_attention_tiling again = weft_sparse_attention_tiling_for(limits, problem);
    const bool is_narrow = problem->dtype == WEFT_F16 || problem->dtype == WEFT_BF16;
    const uint64_t lanes = (uint64_t)tiling.lanes, rows = (uint64_t)tiling.rows_per_group;
    const uint64_t sum_bytes = problem->dtype == WEFT_F64 ? 8 : 4;
    const int64_t k = problem->k > 0 ? problem->k : problem->d; // of none, nothing is read
    const int64_t shorter = k < problem->d ? k : problem->d;
    if (weft_sparse_attention_tiling_check(&tiling, limits, problem) != WEFT_OK)
        fail_problem(weft_last_error(), limits, problem, &tiling);
    if (!are_equal(&tiling, &again))
        fail_problem("another tiling the second time", limits, problem, &tiling);
    if (tiling.in_steps &&
        (is_narrow || problem->d <= tiling.vector_width * tiling.outputs * tiling.lanes))
        fail_problem("steps where a sweep has everything", limits, problem, &tiling);
    tiling.in_steps = false;
    if (weft_sparse_attention_tiling_check(&tiling, limits, problem) != WEFT_OK)
        fail_problem(weft_last_error(), limits, problem, &tiling);
    if (tiling.vector_width > (shorter > 0 ? shorter : 1))
        fail_problem("a vector longer than k or d", limits, problem, &tiling);
    if (lanes * rows > limits->max_items || lanes > limits->max_items_along[0] ||
        rows > limits->max_items_along[1])
        fail_problem("a group too large", limits, problem, &tiling);
    if (lanes > 1 && (lanes * (lanes + 3) * sum_bytes + 4) * rows > limits->local_bytes)
        fail_problem("too much local memory", limits, problem, &tiling);
}

static void check_random(const weft_limits *limits, random_state *random)
{
    const weft_sparse_attention_problem problem = random_problem(random);
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

static void test_short_rows_on_every_profile(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++)
        for (int64_t k = 0; k <= 140; k++)
            for (int64_t d = 0; d <= 140; d += 1 + d / 40)
                for (int64_t alignment = 1; alignment <= 16; alignment *= 4) {
                    const weft_sparse_attention_problem problem = {.m = 100,
                                                                   .n = 100,
                                                                   .k = k,
                                                                   .d = d,
                                                                   .nnz = 3000,
                                                                   .qk_adjacent = true,
                                                                   .vo_adjacent = k % 3 > 0,
                                                                   .alignment = alignment};
                    check_problem(weft_profile_at(i), &problem);
                }
}

// What is chosen changes on purpose only.
static void test_known_tilings(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        int64_t m, k, d, alignment;
        weft_dtype dtype;
        const char *tiling;
    } known[] = {
        {"nvidia-a100", 4096, 64, 64, 64, WEFT_F32,
         "vector_width 4, vectors 1, outputs 1, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned"},
        {"nvidia-a100", 4096, 31, 33, 1, WEFT_F16,
         "vector_width 1, vectors 2, outputs 2, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024"},
        {"nvidia-a100", 4096, 64, 512, 64, WEFT_F32,
         "vector_width 4, vectors 1, outputs 2, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned, in_steps"},
        {"nvidia-a100", 4096, 64, 512, 64, WEFT_BF16,
         "vector_width 4, vectors 1, outputs 2, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned"},
        {"nvidia-a100", 4096, 128, 128, 64, WEFT_F32,
         "vector_width 4, vectors 2, outputs 2, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned"},
        {"intel-arc-a770", 4096, 128, 128, 64, WEFT_F32,
         "vector_width 4, vectors 2, outputs 2, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned"},
        {"intel-arc-a770", 4096, 64, 64, 64, WEFT_F32,
         "vector_width 4, vectors 1, outputs 1, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned"},
        {"intel-arc-a770", 4096, 256, 64, 64, WEFT_F32,
         "vector_width 4, vectors 2, outputs 1, lanes 16, rows_per_group 8, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned"},
        {"amd-mi300x", 8192, 128, 128, 128, WEFT_F64,
         "vector_width 2, vectors 2, outputs 2, lanes 16, rows_per_group 4, rows_per_item 1, "
         "row_chunk 1024, "
         "aligned, in_steps"},
        {"intel-xeon-8380", 4096, 64, 64, 16, WEFT_F32,
         "vector_width 16, vectors 4, outputs 4, lanes 1, rows_per_group 1, rows_per_item 1, "
         "row_chunk 4096"},
        {"intel-xeon-8380", 4096, 64, 64, 16, WEFT_F64,
         "vector_width 8, vectors 8, outputs 8, lanes 1, rows_per_group 1, rows_per_item 1, "
         "row_chunk 4096"},
        {"intel-xeon-8380", 100, 64, 300, 16, WEFT_F32,
         "vector_width 16, vectors 4, outputs 8, lanes 1, rows_per_group 1, rows_per_item 1, "
         "row_chunk 4096, "
         "in_steps"},
        {"arm-graviton2", 100, 5, 3, 1, WEFT_F32,
         "vector_width 2, vectors 3, outputs 2, lanes 1, rows_per_group 1, rows_per_item 1, "
         "row_chunk 4096"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const weft_sparse_attention_problem problem = {.m = known[i].m,
                                                       .n = known[i].m,
                                                       .k = known[i].k,
                                                       .d = known[i].d,
                                                       .nnz = 50 * known[i].m,
                                                       .dtype = known[i].dtype,
                                                       .qk_adjacent = true,
                                                       .vo_adjacent = true,
                                                       .alignment = known[i].alignment};
        const weft_sparse_attention_tiling tiling =
            weft_sparse_attention_tiling_for(weft_profile_find(known[i].device), &problem);
        char text[512], little[8];
        const int length = weft_sparse_attention_tiling_print(&tiling, text, sizeof(text));
        assert_int_equal(length, strlen(text));
        assert_int_equal(weft_sparse_attention_tiling_print(&tiling, little, sizeof(little)),
                         length);
        if (strcmp(text, known[i].tiling) != 0)
            fail_msg("%s, k %" PRId64 ", d %" PRId64 ": %s", known[i].device, known[i].k,
                     known[i].d, text);
    }
}

// What of a tiling is part of a program: all but row chunks and rows, which are arguments. Of the
// three steps each has its own plans.
static bool is_new_program(weft_sparse_attention_tiling *known, int n_known,
                           weft_sparse_attention_tiling tiling)
{
    tiling.row_chunk = tiling.rows_per_item = 1;
    for (int i = 0; i < n_known; i++)
        if (are_equal(&known[i], &tiling))
            return false;
    known[n_known] = tiling;
    return true;
}

static void test_few_programs_for_many_shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < weft_profile_count(); i++) {
        random_state random = {17 + i};
        weft_sparse_attention_tiling known[MOST_PROGRAMS + 1];
        int n_programs = 0;
        for (int j = 0; j < 1000 && n_programs <= MOST_PROGRAMS; j++) {
            const weft_sparse_attention_problem problem = {.m = random_between(&random, 1, 1000),
                                                           .n = 1000,
                                                           .k = random_between(&random, 1, 150),
                                                           .d = random_between(&random, 1, 150),
                                                           .nnz = 20000,
                                                           .qk_adjacent = true,
                                                           .vo_adjacent = true};
            const weft_sparse_attention_tiling tiling =
                weft_sparse_attention_tiling_for(weft_profile_at(i), &problem);
            n_programs += !tiling.in_steps && is_new_program(known, n_programs, tiling);
        }
        if (n_programs > MOST_PROGRAMS)
            fail_msg("%s: more than %d programs", weft_profile_at(i)->name, MOST_PROGRAMS);
    }
}

// ---- what is refused

static const weft_sparse_attention_problem usual = {.m = 100,
                                                    .n = 100,
                                                    .k = 24,
                                                    .d = 40,
                                                    .nnz = 1000,
                                                    .qk_adjacent = true,
                                                    .vo_adjacent = true,
                                                    .alignment = 8};
static const weft_sparse_attention_tiling sound = {.vector_width = 8,
                                                   .vectors = 2,
                                                   .outputs = 3,
                                                   .lanes = 4,
                                                   .rows_per_group = 8,
                                                   .rows_per_item = 2,
                                                   .row_chunk = 32,
                                                   .aligned = true};

static void refuse(weft_sparse_attention_tiling tiling,
                   const weft_sparse_attention_problem *problem, const char *part)
{
    const weft_limits *limits = weft_profile_find("nvidia-a100");
    if (weft_sparse_attention_tiling_check(&tiling, limits, problem) != WEFT_BAD_ARGUMENT)
        fail_msg("not refused: %s", part);
    if (!strstr(weft_last_error(), part))
        fail_msg("not in the sentence: \"%s\": \"%s\"", part, weft_last_error());
}

// One field changed in the tiling that is sound.
#define REFUSE(part, field, value)                                                                 \
    do {                                                                                           \
        weft_sparse_attention_tiling changed = sound;                                              \
        changed.field = (value);                                                                   \
        refuse(changed, &usual, part);                                                             \
    } while (0)

// One field changed in the problem that it is sound for.
#define REFUSE_FOR(part, field, value)                                                             \
    do {                                                                                           \
        weft_sparse_attention_problem changed = usual;                                             \
        changed.field = (value);                                                                   \
        refuse(sound, &changed, part);                                                             \
    } while (0)

static void accept(weft_sparse_attention_tiling tiling)
{
    if (weft_sparse_attention_tiling_check(&tiling, weft_profile_find("nvidia-a100"), &usual) !=
        WEFT_OK)
        fail_msg("refused: %s", weft_last_error());
}

static void test_wrong_vectors_are_refused(void **state)
{
    (void)state;
    accept(sound);
    REFUSE("tiling.vector_width is 0:", vector_width, 0);
    REFUSE("tiling.vector_width is -8:", vector_width, -8);
    REFUSE("tiling.vector_width is 3:", vector_width, 3);
    REFUSE("tiling.vector_width is 32:", vector_width, 32);
    REFUSE("tiling.vectors is 0: 1 to 8", vectors, 0);
    REFUSE("tiling.vectors is 9: 1 to 8", vectors, 9);
    REFUSE("tiling.outputs is 0: 1 to 8", outputs, 0);
    REFUSE("tiling.outputs is 9: 1 to 8", outputs, 9);
    REFUSE_FOR("at most 7 (of k 7 and d 40)", k, 7);
    REFUSE_FOR("at most 5 (of k 24 and d 5)", d, 5);
    weft_sparse_attention_problem of_none = usual;
    of_none.k = 0; // nothing of Q and K is read
    assert_int_equal(
        weft_sparse_attention_tiling_check(&sound, weft_profile_find("nvidia-a100"), &of_none),
        WEFT_OK);
    REFUSE_FOR("tiling.aligned with vector_width 8: rows start on multiples of 8, k is 20, d 40", k,
               20);
    REFUSE_FOR("k is 24, d 36", d, 36);
    REFUSE_FOR("start on multiples of 4", alignment, 4);
    REFUSE_FOR("start on multiples of 1", alignment, 0);
    REFUSE_FOR("tiling.aligned", qk_adjacent, false);
    REFUSE_FOR("tiling.aligned", vo_adjacent, false);
}

// Whatever a device may take.
static void test_the_margin_bounds_groups_too(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("nvidia-a100");
    limits.max_items = limits.max_items_along[1] = 8192;
    weft_sparse_attention_tiling tiling = sound;
    tiling.rows_per_group = 5000;
    assert_int_equal(weft_sparse_attention_tiling_check(&tiling, &limits, &usual),
                     WEFT_BAD_ARGUMENT);
    assert_string_equal(weft_last_error(),
                        "sparse_attention: tiling.rows_per_group is 5000: 1 to 4096 is wanted");
}

static void test_wrong_groups_are_refused(void **state)
{
    (void)state;
    weft_sparse_attention_problem problem = usual;
    weft_sparse_attention_tiling tiling = sound;
    REFUSE("tiling.lanes is 0: a power of two up to 64", lanes, 0);
    REFUSE("tiling.lanes is -4:", lanes, -4);
    REFUSE("tiling.lanes is 6:", lanes, 6);
    REFUSE("tiling.lanes is 128:", lanes, 128);
    REFUSE("tiling.rows_per_group is 0: 1 to 1024", rows_per_group, 0);
    REFUSE("tiling.rows_per_group is 1025: 1 to 1024", rows_per_group, 1025);
    REFUSE("tiling.lanes 4 x rows_per_group 257 are more than the 1024 items", rows_per_group, 257);
    tiling.lanes = 64;
    tiling.rows_per_group = 3;
    refuse(tiling, &usual,
           "tiling.lanes 64 x rows_per_group 3 share 51468 bytes; local memory has 49152");
    tiling.rows_per_group = 2;
    accept(tiling);
    problem.dtype = WEFT_F64;
    refuse(tiling, &problem, "share 68616 bytes");
    tiling.outputs = 8;
    tiling.vector_width = 16;
    tiling.aligned = false;
    refuse(tiling, &usual,
           "tiling.vector_width 16 x vectors 2 or outputs 8 x lanes 64 are 8192 elements: at most "
           "4096");
}

static void test_wrong_work_is_refused(void **state)
{
    (void)state;
    REFUSE("tiling.rows_per_item is 0: 1 to 64", rows_per_item, 0);
    REFUSE("tiling.rows_per_item is 65: 1 to 64", rows_per_item, 65);
    REFUSE("tiling.row_chunk is 0: 1 to ", row_chunk, 0);
    REFUSE("tiling.row_chunk is -1: 1 to ", row_chunk, -1);
    REFUSE("tiling.row_chunk is 9223372036854775807: 1 to ", row_chunk, INT64_MAX);
}

// Nothing else of the tiling is looked at then.
static void test_steps_want_wide_types(void **state)
{
    (void)state;
    const weft_sparse_attention_tiling in_steps = {.vector_width = -1, .in_steps = true};
    weft_sparse_attention_problem problem = usual;
    accept(in_steps);
    problem.dtype = WEFT_F16;
    refuse(in_steps, &problem, "tiling.in_steps would round products to f16");
    problem.dtype = WEFT_BF16;
    refuse(in_steps, &problem, "to bf16");
}

// ---- calls, rehearsed

// A row of duplicates may have more entries than kernels count: it is cut whatever that wants in
// scratch memory, and where there is too little of it, that is said.
static void test_more_entries_than_32_bits_count(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("h100");
    limits.max_alloc_bytes = 4 << 20; // a quarter of it is scratch memory
    weft_context *ctx;
    assert_int_equal(weft_rehearsal_create(&ctx, &limits, NULL), WEFT_OK);
    enum { SIDE = 1 << 20, D = 64 };
    const weft_csr M = {.n_rows = SIDE,
                        .n_cols = SIDE,
                        .nnz = (INT64_C(1) << 31) + 5,
                        .offset_dtype = WEFT_I64,
                        .offsets = weft_rehearsal_buffer(ctx, NULL),
                        .indices = weft_rehearsal_buffer(ctx, NULL)};
    weft_tensor Q = {.buffer = weft_rehearsal_buffer(ctx, NULL),
                     .ndim = 3,
                     .shape = {4000, SIDE, D},
                     .stride = {(int64_t)SIDE * D, D, 1}};
    weft_tensor O = Q;
    O.buffer = weft_rehearsal_buffer(ctx, NULL);
    assert_int_equal(weft_sparse_attention(ctx, NULL, 1, &Q, &Q, &Q, &M, &O, NULL), WEFT_NO_MEMORY);
    assert_non_null(strstr(weft_last_error(), "sparse_attention: 3168000 bytes of scratch memory"));
    assert_non_null(strstr(weft_last_error(), "1048576 are allowed"));
    Q.shape[0] = O.shape[0] = 1000;
    assert_int_equal(weft_sparse_attention(ctx, NULL, 1, &Q, &Q, &Q, &M, &O, NULL), WEFT_OK);
    weft_context_destroy(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_problems_on_every_profile),
        cmocka_unit_test(test_short_rows_on_every_profile),
        cmocka_unit_test(test_lower_limits_of_a_kernel),
        cmocka_unit_test(test_random_limits),
        cmocka_unit_test(test_known_tilings),
        cmocka_unit_test(test_few_programs_for_many_shapes),
        cmocka_unit_test(test_wrong_vectors_are_refused),
        cmocka_unit_test(test_the_margin_bounds_groups_too),
        cmocka_unit_test(test_wrong_groups_are_refused),
        cmocka_unit_test(test_wrong_work_is_refused),
        cmocka_unit_test(test_steps_want_wide_types),
        cmocka_unit_test(test_more_entries_than_32_bits_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
