// SPDX-License-Identifier: Apache-2.0
// SpMM with every row schedule of a plan: its choice, the rows listed, and the same products.
#include "sparse/spmm_pattern.h"
#include "sparse/spmm_tiling.h"
#include "spmm_arguments.h"

static weft_context *vectorized, *spread; // as on CPUs, as on GPUs: groups fewer than row blocks
static bool is_reduced;

// A GPU of 3 compute units and 4 groups at once, with row blocks of 2 rows.
static weft_limits spread_limits(void)
{
    weft_limits limits = *weft_profile_find("nvidia-a100");
    limits.warp = 8;
    limits.max_block = 16;
    limits.max_items_y = 16;
    limits.compute_units = 3;
    limits.max_blocks = 4;
    return limits;
}

// A CPU of 2 cores.
static weft_limits vectorized_limits(void)
{
    weft_context *ctx = open_context(NULL);
    weft_limits limits = *weft_context_limits(ctx);
    limits.warp = limits.vector_width = 4;
    limits.vectors = 2;
    limits.max_block = 16;
    limits.max_items_y = 1;
    limits.compute_units = 2;
    limits.max_blocks = 2;
    weft_context_destroy(&ctx);
    return limits;
}

// ---- what a plan lists and chooses

// A matrix whose row i has lengths[i % period] entries, in its first columns.
typedef struct lengths_case {
    int32_t offsets[64];
    weft_csr A;
    weft_spmm_plan *plan;
} lengths_case;

// Also the indices; returns the number of columns.
static int fill_lengths(lengths_case *of, int32_t *indices, int n_rows, const int *lengths,
                        int period)
{
    int most = 1;
    for (int i = 0; i < n_rows; i++) {
        const int length = lengths[i % period];
        of->offsets[i + 1] = of->offsets[i] + length;
        most = length > most ? length : most;
        for (int j = 0; j < length; j++)
            indices[of->offsets[i] + j] = j;
    }
    return most;
}

static void plan_lengths(lengths_case *of, weft_context *ctx, int n_rows, const int *lengths,
                         int period, int64_t row_chunk, weft_spmm_row_schedule schedule)
{
    int32_t indices[1024] = {0};
    float values[1024] = {0};
    *of = (lengths_case){.plan = NULL};
    const int n_cols = fill_lengths(of, indices, n_rows, lengths, period);
    of->A = (weft_csr){
        .n_rows = n_rows,
        .n_cols = n_cols,
        .nnz = of->offsets[n_rows],
        .offsets = buffer_of(ctx, of->offsets, sizeof(of->offsets)),
        .indices = buffer_of(ctx, indices, sizeof(indices)),
        .values = buffer_of(ctx, values, sizeof(values)),
    };
    assert_ok(
        weft_spmm_plan_create(&of->plan, ctx, weft_context_queue(ctx), &of->A,
                              WEFT_SPMM_PLAN(.row_chunk = row_chunk, .row_schedule = schedule)));
}

static void forget_lengths(lengths_case *of)
{
    weft_spmm_plan_destroy(&of->plan);
    clReleaseMemObject(of->A.offsets);
    clReleaseMemObject(of->A.indices);
    clReleaseMemObject(of->A.values);
}

// Rows of n different lengths, 0 to n - 1, come in the order of `want`; -1: no row.
static void check_listed(weft_context *ctx, int n, weft_spmm_row_schedule schedule, const int *want,
                         int n_want)
{
    int lengths[32];
    lengths_case of;
    for (int i = 0; i < n; i++)
        lengths[i] = 7 * i % n;
    plan_lengths(&of, ctx, n, lengths, n, 0, schedule);
    assert_int_equal(of.plan->n_ordered, n_want);
    int32_t *listed =
        buffer_now(weft_context_queue(ctx), of.plan->order, (size_t)n_want * sizeof(int32_t));
    for (int i = 0; i < n_want; i++) {
        const int got = listed[i] < 0 ? -1 : lengths[listed[i]];
        if (got != want[i])
            fail_msg("%s: a row of %d is at place %d, not of %d",
                     weft_spmm_row_schedule_name(schedule), got, i, want[i]);
    }
    free(listed);
    forget_lengths(&of);
}

static void test_a_snake(void **state)
{
    (void)state;
    static const int three_rounds[] = {14, 13, 12, 11, 10, 9, 4, 3, 6, 5, 8, 7, 2, 1, 0, -1};
    static const int half_a_round[] = {8, 7, 6, 5, 4, 3, 0, -1, 2, 1};
    static const int one_round[] = {3, 2, 1, 0};
    static const int by_length[] = {8, 7, 6, 5, 4, 3, 2, 1, 0};
    check_listed(spread, 15, WEFT_SPMM_ROW_SCHEDULE_SNAKE, three_rounds, 16);
    check_listed(spread, 9, WEFT_SPMM_ROW_SCHEDULE_SNAKE, half_a_round, 10);
    check_listed(spread, 4, WEFT_SPMM_ROW_SCHEDULE_SNAKE, one_round, 4);
    check_listed(spread, 9, WEFT_SPMM_ROW_SCHEDULE_SORTED, by_length, 9);
    check_listed(spread, 9, WEFT_SPMM_ROW_SCHEDULE_QUEUE, by_length, 9);
}

// Runs of 4 rows: lengths 0 7 3 10, then 6 2 9 5, then 1 8 4.
static void test_runs_that_alternate(void **state)
{
    (void)state;
    static const int want[] = {6, 2, 9, 5, 1, 8, 4, -1, 0, 7, 3, 10};
    check_listed(vectorized, 11, WEFT_SPMM_ROW_SCHEDULE_ALTERNATING, want, 12);
}

static void describe_lengths(const lengths_case *of, weft_context *ctx, char *text, size_t size)
{
    float zeros[64 * 32] = {0};
    weft_tensor B = weft_matrix(buffer_of(ctx, zeros, sizeof(zeros)), WEFT_F32, of->A.n_cols, 19);
    weft_tensor C = weft_matrix(buffer_of(ctx, zeros, sizeof(zeros)), WEFT_F32, of->A.n_rows, 19);
    if (weft_spmm_describe(ctx, &of->A, &B, &C, WEFT_SPMM(.plan = of->plan), text, size) < 0)
        fail_msg("%s", weft_last_error());
    clReleaseMemObject(B.buffer);
    clReleaseMemObject(C.buffer);
}

static const int even[] = {4}, uneven[] = {2, 8}, very_uneven[] = {1, 1, 1, 1, 1, 1, 1, 30};
// The units of a device get different shares where rows stay as given.
static const int slanted[] = {8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
                              2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
// 120 entries for one of two units and 100 or 96 for the other: 1.09 and 1.11 of its share.
static const int fair[] = {9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3,
                           8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2};
static const int unfair[] = {9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3, 9, 3,
                             8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 8, 2, 6, 0};

static void test_what_is_chosen(void **state)
{
    (void)state;
    const struct {
        weft_context *ctx;
        int n_rows;
        const int *lengths;
        int period;
        int64_t row_chunk;
        const char *words;
    } known[] = {
        {spread, 8, even, 1, 0, "rows as given, as lengths vary by 0 "},
        {spread, 40, even, 1, 0, "rows as given, as lengths vary by 0 "},
        {spread, 8, uneven, 2, 0,
         "by length in 4 row blocks, 4 at once, as lengths vary by 0.6 of their mean, 0 r"},
        {spread, 10, uneven, 2, 0,
         "in a snake in 5 row blocks, 4 at once, as lengths vary by 0.6 of"},
        {spread, 8, very_uneven, 8, 0,
         "by length in 4 row blocks, 4 at once, as lengths vary by 2.1 of"},
        {spread, 40, very_uneven, 8, 0,
         "by length in 20 row blocks, 4 at once, as lengths vary by 2.1 "},
        {vectorized, 40, even, 1, 0, "rows as given, as lengths vary by 0 "},
        {vectorized, 40, uneven, 2, 0,
         "rows as given, as neighbouring ones give each of 2 units its "},
        {vectorized, 40, fair, 40, 0, "rows as given, as neighbouring ones give each of 2 units"},
        {vectorized, 40, unfair, 40, 0, "runs of rows alternating, as lengths vary by 0.5"},
        {vectorized, 40, slanted, 40, 0,
         "runs of rows alternating, as lengths vary by 0.6 of their mean, "},
        {vectorized, 40, very_uneven, 8, 0,
         "alternating, as lengths vary by 2.1 of their mean, 0 row chunks"},
        {spread, 8, even, 1, 1,
         "by length in 4 row blocks, 4 at once, as long ones are cut, 32 row chunks"},
        {vectorized, 40, even, 1, 1,
         "runs of rows alternating, as long ones are cut, 160 row chunks"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        lengths_case of;
        char text[512];
        plan_lengths(&of, known[i].ctx, known[i].n_rows, known[i].lengths, known[i].period,
                     known[i].row_chunk, WEFT_SPMM_ROW_SCHEDULE_DEFAULT);
        describe_lengths(&of, known[i].ctx, text, sizeof(text));
        if (!strstr(text, known[i].words))
            fail_msg("not in case %zu: \"%s\": %s", i, known[i].words, text);
        forget_lengths(&of);
    }
}

// One group may come to take all 40 rows with their 185 entries: 16 turns a row and 2 an entry.
static void test_a_queue_that_loops_too_often(void **state)
{
    (void)state;
    static const char *const words[] = {"taken from a queue, as asked for",
                                        "by length, as this device's loops end too early for a q"};
    for (int i = 0; i < 2; i++) {
        weft_limits limits = spread_limits();
        limits.max_iterations = 40 * 16 + 185 * 2 - i;
        weft_context *ctx = open_context(&limits);
        lengths_case of;
        char text[512];
        plan_lengths(&of, ctx, 40, very_uneven, 8, 0, WEFT_SPMM_ROW_SCHEDULE_QUEUE);
        assert_int_equal(of.A.nnz, 185);
        describe_lengths(&of, ctx, text, sizeof(text));
        if (!strstr(text, words[i]))
            fail_msg("not there: \"%s\": %s", words[i], text);
        forget_lengths(&of);
        weft_context_destroy(&ctx);
    }
}

static void test_what_is_asked_for(void **state)
{
    (void)state;
    static const char *const words[] = {
        [WEFT_SPMM_ROW_SCHEDULE_GIVEN] = "; rows as given, as asked for",
        [WEFT_SPMM_ROW_SCHEDULE_SORTED] = "; rows sorted by length, as asked for",
        [WEFT_SPMM_ROW_SCHEDULE_SNAKE] =
            "; rows sorted by length and distributed in a snake, as asked for",
        [WEFT_SPMM_ROW_SCHEDULE_ALTERNATING] = "; runs of rows alternating, as asked for",
        [WEFT_SPMM_ROW_SCHEDULE_QUEUE] =
            "; rows sorted by length and taken from a queue, as asked for",
        [WEFT_SPMM_ROW_SCHEDULE_REUSE] = "; rows ordered for reuse (a cache of ",
    };
    for (int schedule = WEFT_SPMM_ROW_SCHEDULE_GIVEN; schedule <= WEFT_SPMM_ROW_SCHEDULE_REUSE;
         schedule++) {
        lengths_case of;
        char text[512];
        plan_lengths(&of, spread, 8, even, 1, 0, (weft_spmm_row_schedule)schedule);
        describe_lengths(&of, spread, text, sizeof(text));
        if (!strstr(text, words[schedule]))
            fail_msg("not there: \"%s\": %s", words[schedule], text);
        forget_lengths(&of);
    }
}

static void test_names(void **state)
{
    (void)state;
    weft_spmm_row_schedule found = WEFT_SPMM_ROW_SCHEDULE_SNAKE;
    for (int schedule = 0; schedule <= WEFT_SPMM_ROW_SCHEDULE_REUSE; schedule++) {
        assert_true(weft_spmm_row_schedule_find(
            weft_spmm_row_schedule_name((weft_spmm_row_schedule)schedule), &found));
        assert_int_equal(found, schedule);
    }
    assert_false(weft_spmm_row_schedule_find("spiral", &found));
    assert_false(weft_spmm_row_schedule_find(NULL, &found));
    assert_int_equal(found, WEFT_SPMM_ROW_SCHEDULE_REUSE);
    assert_null(weft_spmm_row_schedule_name((weft_spmm_row_schedule)7));
    assert_null(weft_spmm_row_schedule_name((weft_spmm_row_schedule)-1));
}

static void test_no_such_order(void **state)
{
    (void)state;
    lengths_case of;
    plan_lengths(&of, spread, 4, even, 1, 0, WEFT_SPMM_ROW_SCHEDULE_GIVEN);
    for (int i = 0; i < 2; i++) {
        weft_spmm_plan *plan = of.plan;
        const weft_spmm_row_schedule schedule = (weft_spmm_row_schedule)(i == 0 ? 7 : -1);
        assert_int_equal(weft_spmm_plan_create(&plan, spread, weft_context_queue(spread), &of.A,
                                               WEFT_SPMM_PLAN(.row_schedule = schedule)),
                         WEFT_BAD_ARGUMENT);
        assert_null(plan);
        assert_says(i == 0 ? "spmm_plan: row_schedule is 7: no weft_spmm_row_schedule"
                           : "spmm_plan: row_schedule is -1: no weft_spmm_row_schedule");
    }
    forget_lengths(&of);
}

// ---- products

static spmm_case schedule_case(uint64_t seed, weft_spmm_row_schedule schedule)
{
    return (spmm_case){.seed = seed,
                       .m = 41,
                       .k = is_reduced ? 12 : 30,
                       .n = 19,
                       .numbers = seed % 2 ? FRACTIONS : WHOLE,
                       .alpha = 1,
                       .beta = seed % 3 ? 0 : 2,
                       .with_plan = true,
                       .plan_row_chunk = 3,
                       .row_schedule = schedule};
}

static void test_every_order(void **state)
{
    (void)state;
    static const sparse_rows rows[] = {ROWS_EMPTY, ROWS_ONE_FULL, ROWS_RANDOM, ROWS_SPARSE};
    weft_context *const contexts[] = {vectorized, spread};
    for (int i = 0; i < 2; i++)
        for (int schedule = WEFT_SPMM_ROW_SCHEDULE_GIVEN; schedule <= WEFT_SPMM_ROW_SCHEDULE_REUSE;
             schedule++)
            for (int j = 0; j < (is_reduced ? 4 : 8); j++) {
                spmm_case of = schedule_case((uint64_t)(100 * i + 10 * schedule + j),
                                             (weft_spmm_row_schedule)schedule);
                of.rows = rows[j % 4];
                of.plan_row_chunk = j % 4 == 3 ? 0 : 3;
                of.transpose_a = is_reduced ? j == 2 : j >= 4;
                spmm_run(contexts[i], &of);
            }
}

// Rows that are all long, one row, and as many row blocks as groups.
static void test_queues_of_few_row_blocks(void **state)
{
    (void)state;
    static const int64_t m[] = {1, 7, 8, 9};
    for (int i = 0; i < 4; i++) {
        spmm_case of = schedule_case((uint64_t)(300 + i), WEFT_SPMM_ROW_SCHEDULE_QUEUE);
        of.m = m[i];
        of.rows = i == 1 ? ROWS_FULL : ROWS_SPARSE;
        spmm_run(spread, &of);
    }
}

// A queue for each n-tile of each matrix; on one plan time and again.
static void test_queues_of_a_batch(void **state)
{
    (void)state;
    for (uint64_t seed = 400; seed < (is_reduced ? 402 : 408); seed++) {
        spmm_case of = schedule_case(seed, WEFT_SPMM_ROW_SCHEDULE_QUEUE);
        of.rows = ROWS_SPARSE;
        of.n = 40;
        of.n_batches = 3;
        of.own_values = true;
        of.plan_row_chunk = seed % 8 < 4 ? 3 : 0;
        weft_context *ctx = seed % 2 ? vectorized : spread;
        spmm_check_same_bits(ctx, &of);
    }
}

static void *bits_of(weft_context *ctx, spmm_case of, weft_spmm_row_schedule schedule,
                     size_t *bytes)
{
    spmm_operands o;
    of.row_schedule = schedule;
    spmm_create(&o, ctx, weft_context_queue(ctx), &of);
    spmm_call(&o);
    spmm_check(&o);
    void *bits = spmm_read(&o);
    *bytes = o.c_bytes;
    spmm_destroy(&o);
    return bits;
}

static void test_same_bits_in_every_order(void **state)
{
    (void)state;
    static const weft_spmm_tiling tilings[] = {
        {.vector_width = 2,
         .vectors = 2,
         .lanes = 1,
         .rows_per_group = 1,
         .rows_per_item = 4,
         .load = 1,
         .unroll = 2,
         .row_chunk = 1},
        {.vector_width = 1,
         .vectors = 1,
         .lanes = 4,
         .rows_per_group = 2,
         .rows_per_item = 3,
         .stage = 4,
         .load = 2,
         .unroll = 2,
         .row_chunk = 1},
        {.vector_width = 2,
         .vectors = 1,
         .lanes = 2,
         .rows_per_group = 2,
         .rows_per_item = 3,
         .k_block = 4,
         .load = 1,
         .unroll = 1,
         .row_chunk = 1},
        {.vector_width = 2,
         .vectors = 2,
         .lanes = 1,
         .rows_per_group = 1,
         .rows_per_item = 2,
         .k_block = 3,
         .k_block_from = 2,
         .load = 1,
         .unroll = 2,
         .row_chunk = 1,
         .row_blocks_per_copy = 3},
    };
    for (int i = 0; i < 4; i++) {
        size_t bytes;
        spmm_case of = schedule_case((uint64_t)(501 + 2 * i), WEFT_SPMM_ROW_SCHEDULE_GIVEN);
        of.rows = ROWS_RANDOM;
        of.tiling = &tilings[i];
        void *want = bits_of(spread, of, WEFT_SPMM_ROW_SCHEDULE_GIVEN, &bytes);
        for (int schedule = WEFT_SPMM_ROW_SCHEDULE_SORTED; schedule <= WEFT_SPMM_ROW_SCHEDULE_REUSE;
             schedule++) {
            void *got = bits_of(spread, of, (weft_spmm_row_schedule)schedule, &bytes);
            if (memcmp(got, want, bytes) != 0)
                fail_msg("tiling %d: other bits with rows %s", i,
                         weft_spmm_row_schedule_name((weft_spmm_row_schedule)schedule));
            free(got);
        }
        free(want);
    }
}

static void describe(const spmm_operands *o, weft_context *on, char *text, size_t size)
{
    const weft_spmm_params params = spmm_params(o);
    assert_true(weft_spmm_describe(on, &o->A, &o->B, &o->C, &params, text, size) > 0);
}

static void check_queue_gives_same_bits(weft_context *there, spmm_case of)
{
    size_t bytes;
    void *want = bits_of(there, of, WEFT_SPMM_ROW_SCHEDULE_GIVEN, &bytes);
    void *got = bits_of(there, of, WEFT_SPMM_ROW_SCHEDULE_QUEUE, &bytes);
    assert_memory_equal(got, want, bytes);
    free(got);
    free(want);
}

// Segments are added up as the k-blocks are that a plan with a queue leaves to the kernel.
static void test_same_bits_of_segments_and_k_blocks(void **state)
{
    (void)state;
    weft_spmm_tiling tiling = {.vector_width = 2,
                               .vectors = 2,
                               .lanes = 1,
                               .rows_per_group = 1,
                               .k_block = 64,
                               .load = 1,
                               .unroll = 4,
                               .row_chunk = 4096};
    spmm_case of = {.seed = 521,
                    .m = 30,
                    .k = 1500,
                    .n = 24,
                    .rows = ROWS_FULL,
                    .numbers = FRACTIONS,
                    .alpha = 1,
                    .with_plan = true,
                    .tiling = &tiling};
    spmm_operands o;
    char text[512];
    weft_context *there = open_context(weft_profile_find("xeon"));
    spmm_create(&o, there, weft_context_queue(there), &of);
    tiling.rows_per_item = (int)o.plan->run_rows;
    describe(&o, there, text, sizeof(text));
    assert_non_null(strstr(text, "in segments"));
    spmm_destroy(&o);
    check_queue_gives_same_bits(there, of);
    weft_context_destroy(&there);
}

// A plan's segments are of the rows that its own tilings have in k-blocks; a forced tiling with
// k-blocks for other rows does not use them.
static void test_same_bits_beside_segments(void **state)
{
    (void)state;
    weft_spmm_tiling all_rows = {.vector_width = 4,
                                 .vectors = 2,
                                 .lanes = 1,
                                 .rows_per_group = 1,
                                 .k_block = 64,
                                 .k_block_from = 0,
                                 .load = 1,
                                 .unroll = 2,
                                 .row_chunk = 4096};
    spmm_case of = {.seed = 520,
                    .m = 30,
                    .k = 1500,
                    .n = 24,
                    .rows = ROWS_ONE_FULL,
                    .numbers = FRACTIONS,
                    .alpha = 1,
                    .row_schedule = WEFT_SPMM_ROW_SCHEDULE_GIVEN,
                    .with_plan = true};
    spmm_operands o;
    weft_limits limits = *weft_profile_find("xeon");
    weft_context *there = open_context(&limits);
    spmm_create(&o, there, weft_context_queue(there), &of);
    assert_non_null(o.plan->segments);
    assert_int_equal(o.plan->k_block_from, 226);
    all_rows.rows_per_item = (int)o.plan->run_rows;
    spmm_destroy(&o);
    of.tiling = &all_rows;
    check_queue_gives_same_bits(there, of);
    all_rows.k_block_from = 226; // as the plan's
    all_rows.row_blocks_per_copy = 2;
    if (weft_context_limits(there)->local_bytes >= 1500 * 8 * sizeof(float)) {
        spmm_create(&o, there, weft_context_queue(there), &of);
        spmm_call(&o);
        spmm_check(&o);
        spmm_destroy(&o);
    }
    weft_context_destroy(&there);
}

// 1000 rows of 12 entries, of which every 20th has 300.
static weft_csr_host few_long_rows(void)
{
    static int32_t offsets[1001], indices[30000];
    static float values[30000];
    for (int32_t row = 0; row < 1000; row++) {
        const int32_t length = row % 20 ? 12 : 300;
        offsets[row + 1] = offsets[row] + length;
        for (int32_t i = 0; i < length; i++)
            indices[offsets[row] + i] = (row + 3 * i) % 1024;
    }
    return (weft_csr_host){.n_rows = 1000,
                           .n_cols = 1024,
                           .nnz = offsets[1000],
                           .offset_dtype = WEFT_I32,
                           .index_dtype = WEFT_I32,
                           .dtype = WEFT_F32,
                           .offsets = offsets,
                           .indices = indices,
                           .values = values};
}

static void check_no_segments(weft_context *there)
{
    spmm_operands o;
    char text[512];
    const weft_csr_host host = few_long_rows();
    const spmm_case of = {
        .m = 1000, .k = 1024, .n = 128, .given = &host, .alpha = 1, .with_plan = true};
    spmm_create(&o, there, weft_context_queue(there), &of);
    describe(&o, there, text, sizeof(text));
    assert_non_null(strstr(text, "row_blocks_per_copy "));
    assert_non_null(strstr(text, "k_block_from 257"));
    assert_null(o.plan->segments);
    if (takes_wide_vectors()) {
        spmm_call(&o);
        spmm_check(&o);
    }
    spmm_destroy(&o);
}

// A plan cuts rows for products with many columns. Those with few want other k-blocks, and those
// that hold B in local memory find theirs by themselves.
static void test_segments_for_whom_they_are_cut(void **state)
{
    (void)state;
    char text[512];
    spmm_operands o;
    spmm_case of = {.seed = 530,
                    .m = 70,
                    .k = 1500,
                    .n = 32,
                    .rows = ROWS_RANDOM,
                    .alpha = 1,
                    .with_plan = true};
    weft_limits limits = *weft_context_limits(vectorized);
    limits.warp = limits.vector_width = 16;
    limits.vectors = 8;
    limits.l1_bytes = 32 << 10;
    limits.l2_bytes = limits.local_bytes = 1 << 20;
    limits.max_iterations = 0;
    weft_context *there = open_context(&limits);
    spmm_create(&o, there, weft_context_queue(there), &of);
    assert_int_equal(o.plan->k_block, 64);
    assert_non_null(o.plan->segments);
    describe(&o, there, text, sizeof(text));
    assert_non_null(strstr(text, "k_block 256, k_block_from 376"));
    assert_null(strstr(text, "in segments"));
    if (takes_wide_vectors()) {
        spmm_call(&o);
        spmm_check(&o);
    }
    spmm_destroy(&o);
    of.n = 128;
    spmm_create(&o, there, weft_context_queue(there), &of);
    describe(&o, there, text, sizeof(text));
    assert_non_null(strstr(text, "in segments"));
    spmm_destroy(&o);
    if (weft_context_limits(there)->local_bytes >= 1024 * 32 * sizeof(float))
        check_no_segments(there);
    weft_context_destroy(&there);
}

static void test_largest_products_from_a_queue(void **state)
{
    (void)state;
    weft_context *const contexts[] = {vectorized, spread};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            spmm_case of = schedule_case((uint64_t)(600 + 2 * i + j), WEFT_SPMM_ROW_SCHEDULE_QUEUE);
            of.rows = j ? ROWS_SPARSE : ROWS_RANDOM;
            of.n = 40;
            of.n_batches = 2;
            of.reduction = WEFT_SPMM_MAX;
            spmm_arguments_run(contexts[i], &of, WEFT_I32, 1);
        }
}

// ---- beside k-blocks

static void test_a_queue_or_k_blocks(void **state)
{
    (void)state;
    const weft_limits *limits = weft_profile_find("intel-xeon-8380");
    const weft_row_stats rows = {.n_rows = 2048, .nnz = 1 << 20};
    weft_spmm_problem problem = {.m = 2048,
                                 .k = 2048,
                                 .n = 128,
                                 .nnz = 1 << 20,
                                 .columns_adjacent = true,
                                 .rows = &rows,
                                 .row_schedule = WEFT_SPMM_ROW_SCHEDULE_SORTED};
    assert_in_range(weft_spmm_tiling_for(limits, &problem).k_block, 1, 2048);
    problem.row_schedule = WEFT_SPMM_ROW_SCHEDULE_QUEUE;
    assert_int_equal(weft_spmm_tiling_for(limits, &problem).k_block, 0);
}

static void check_unqueued(const weft_spmm_tiling *tiling, const char *part, const char *why)
{
    spmm_operands o;
    char text[512];
    spmm_case of = schedule_case(700, WEFT_SPMM_ROW_SCHEDULE_QUEUE);
    of.rows = ROWS_SPARSE;
    of.plan_row_chunk = 0;
    of.tiling = tiling;
    spmm_create(&o, spread, weft_context_queue(spread), &of);
    const weft_spmm_params params = spmm_params(&o);
    size_t bytes;
    assert_ok(weft_spmm_workspace(spread, &o.A, &o.B, &o.C, &params, &bytes));
    assert_int_equal(bytes, 0);
    assert_true(weft_spmm_describe(spread, &o.A, &o.B, &o.C, &params, text, sizeof(text)) > 0);
    assert_non_null(strstr(text, part));
    assert_non_null(strstr(text, why));
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

static void test_tilings_that_are_forced_go_without_a_queue(void **state)
{
    (void)state;
    weft_spmm_tiling tiling = {.vector_width = 2,
                               .vectors = 1,
                               .lanes = 2,
                               .rows_per_group = 2,
                               .rows_per_item = 3,
                               .k_block = 4,
                               .load = 1,
                               .unroll = 1,
                               .row_chunk = 1};
    check_unqueued(&tiling, "k_block 4,",
                   "; rows sorted by length, as k-blocks do not use a queue,");
    tiling.k_block = 0;
    tiling.row_blocks_per_copy = 2;
    check_unqueued(&tiling, "row_blocks_per_copy 2",
                   "; rows sorted by length, as B in local memory does not use a queue,");
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    const weft_limits cpu = vectorized_limits(), gpu = spread_limits();
    vectorized = open_context(&cpu);
    spread = open_context(&gpu);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_snake),
        cmocka_unit_test(test_runs_that_alternate),
        cmocka_unit_test(test_what_is_chosen),
        cmocka_unit_test(test_a_queue_that_loops_too_often),
        cmocka_unit_test(test_what_is_asked_for),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_such_order),
        cmocka_unit_test(test_every_order),
        cmocka_unit_test(test_queues_of_few_row_blocks),
        cmocka_unit_test(test_queues_of_a_batch),
        cmocka_unit_test(test_same_bits_in_every_order),
        cmocka_unit_test(test_same_bits_of_segments_and_k_blocks),
        cmocka_unit_test(test_same_bits_beside_segments),
        cmocka_unit_test(test_segments_for_whom_they_are_cut),
        cmocka_unit_test(test_largest_products_from_a_queue),
        cmocka_unit_test(test_a_queue_or_k_blocks),
        cmocka_unit_test(test_tilings_that_are_forced_go_without_a_queue),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&vectorized);
    weft_context_destroy(&spread);
    return failed;
}
