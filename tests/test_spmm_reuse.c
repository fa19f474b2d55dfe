// SPDX-License-Identifier: Apache-2.0
// Rows ordered for reuse of B: the misses of a simulated cache, the order, when a plan chooses it,
// and the same products.
#include "sparse/spmm_misses.h"
#include "sparse/spmm_pattern.h"
#include "sparse/spmm_reuse.h"
#include "spmm_case.h"

enum { ROWS = 480, CLUSTER = 12, LOOSE_CLUSTER = 30, COLUMNS = 128 };

static weft_context *vectorized, *spread; // as on CPUs, as on GPUs: with small caches

// ---- patterns

// A square pattern whose rows have CLUSTER entries each.
typedef struct graph {
    int32_t offsets[ROWS + 1], indices[ROWS * CLUSTER];
    float values[ROWS * CLUSTER];
    weft_csr_host host;
} graph;

typedef enum graph_kind { ORDERED, SHUFFLED, LOOSE, RANDOM } graph_kind;

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

// A random order of 0 .. ROWS - 1.
static void shuffle(int32_t *order, random_state *random)
{
    for (int i = 0; i < ROWS; i++)
        order[i] = i;
    for (int i = ROWS - 1; i > 0; i--) {
        const int j = (int)random_below(random, i + 1);
        const int32_t at = order[i];
        order[i] = order[j];
        order[j] = at;
    }
}

// Different columns: all but two of those chosen are of the cluster.
static void fill_loose(int32_t *columns, const int32_t *cluster, random_state *random)
{
    int n = 2;
    for (int64_t left = LOOSE_CLUSTER; n < CLUSTER; left--) {
        const int32_t column = cluster[LOOSE_CLUSTER - left];
        if (random_below(random, left) < CLUSTER + 2 - n && column != columns[0] &&
            column != columns[1])
            columns[n++] = column;
    }
}

// Rows of a cluster have all its nodes as columns; in a loose one some of 30 nodes, and two others;
// in a random graph any.
static void fill_graph(graph *g, graph_kind kind)
{
    random_state random = {17};
    int32_t node[ROWS], others[ROWS];
    shuffle(node, &random);
    for (int i = 0; i < ROWS; i++) {
        const int row = kind == SHUFFLED || kind == LOOSE ? node[i] : i;
        int32_t *columns = g->indices + row * CLUSTER;
        if (kind == RANDOM || kind == LOOSE)
            shuffle(others, &random);
        if (kind == LOOSE)
            fill_loose(others, node + i / LOOSE_CLUSTER * LOOSE_CLUSTER, &random);
        for (int j = 0; j < CLUSTER; j++) {
            const int near = i / CLUSTER * CLUSTER + j;
            columns[j] = kind == RANDOM || kind == LOOSE ? others[j]
                         : kind == SHUFFLED              ? node[near]
                                                         : near;
        }
        qsort(columns, CLUSTER, sizeof(*columns), by_number);
        g->offsets[i + 1] = (i + 1) * CLUSTER;
    }
    g->offsets[0] = 0;
    for (int e = 0; e < ROWS * CLUSTER; e++)
        g->values[e] = (float)(e % 7 - 3);
    g->host = (weft_csr_host){.n_rows = ROWS,
                              .n_cols = ROWS,
                              .nnz = ROWS * CLUSTER,
                              .offset_dtype = WEFT_I32,
                              .index_dtype = WEFT_I32,
                              .dtype = WEFT_F32,
                              .offsets = g->offsets,
                              .indices = g->indices,
                              .values = g->values};
}

static weft_pattern pattern_of(graph *g)
{
    return (weft_pattern){.n_rows = ROWS,
                          .n_cols = ROWS,
                          .nnz = g->offsets[ROWS],
                          .offset_dtype = WEFT_I32,
                          .index_dtype = WEFT_I32,
                          .offsets = g->offsets,
                          .indices = g->indices};
}

// ---- misses

static double misses_of(weft_pattern *p, const int32_t *order, int64_t n, int64_t room)
{
    double misses = -1;
    assert_ok(weft_spmm_misses(&misses, p, order, n, room));
    return misses;
}

static void check_misses(double misses, double wanted, double range)
{
    if (misses < wanted - range || misses > wanted + range)
        fail_msg("%g misses in place of %g", misses, wanted);
}

static void test_misses_of_few_rows(void **state)
{
    (void)state;
    int32_t offsets[] = {0, 2, 4, 6, 8}, indices[] = {0, 1, 2, 3, 0, 1, 2, 3};
    static const int32_t in_pairs[] = {0, 2, -1, 1, 3};
    weft_pattern p = {.n_rows = 4,
                      .n_cols = 4,
                      .nnz = 8,
                      .offset_dtype = WEFT_I32,
                      .index_dtype = WEFT_I32,
                      .offsets = offsets,
                      .indices = indices};
    check_misses(misses_of(&p, NULL, 4, 2), 1, 0);
    check_misses(misses_of(&p, NULL, 4, 3), 1, 0);
    check_misses(misses_of(&p, NULL, 4, 4), 0.5, 0);
    check_misses(misses_of(&p, in_pairs, 5, 2), 0.5, 0);
    check_misses(misses_of(&p, in_pairs, 5, 1), 1, 0);
    p.nnz = offsets[1] = offsets[2] = offsets[3] = offsets[4] = 0;
    check_misses(misses_of(&p, NULL, 4, 1), 0, 0);
}

// What was read again a moment ago stays.
static void test_misses_are_of_the_oldest(void **state)
{
    (void)state;
    int32_t offsets[] = {0, 3, 6}, indices[] = {0, 1, 2, 0, 3, 0};
    weft_pattern p = {.n_rows = 2,
                      .n_cols = 4,
                      .nnz = 6,
                      .offset_dtype = WEFT_I32,
                      .index_dtype = WEFT_I32,
                      .offsets = offsets,
                      .indices = indices};
    check_misses(misses_of(&p, NULL, 2, 3), 4. / 6, 1e-12);
    check_misses(misses_of(&p, NULL, 2, 2), 5. / 6, 1e-12);
}

// A sample of a large pattern is close to the whole.
static void test_misses_of_a_sample(void **state)
{
    (void)state;
    graph g;
    fill_graph(&g, ORDERED);
    weft_pattern p = pattern_of(&g);
    check_misses(misses_of(&p, NULL, ROWS, 40), 1. / CLUSTER, 0.02);
    fill_graph(&g, SHUFFLED);
    assert_true(misses_of(&p, NULL, ROWS, 40) > 0.85);
}

// ---- the order

static bool is_found(graph *g, int32_t *order, int64_t *n, int64_t row_chunk, double most)
{
    bool found = false;
    weft_pattern p = pattern_of(g);
    p.nnz = g->offsets[ROWS];
    assert_ok(weft_spmm_order_for_reuse(order, n, &found, &p, row_chunk, 16, most));
    return found;
}

static void test_clusters_come_together(void **state)
{
    (void)state;
    graph g;
    int32_t order[ROWS];
    int64_t n = 0;
    fill_graph(&g, SHUFFLED);
    assert_true(is_found(&g, order, &n, 100, 0.9));
    assert_int_equal(n, ROWS);
    weft_pattern p = pattern_of(&g);
    check_misses(misses_of(&p, order, n, 40), 1. / CLUSTER, 0.02);
    qsort(order, ROWS, sizeof(*order), by_number);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(order[i], i);
}

// Rows of a loose cluster share a third of their columns or so: one hash does not find them.
static void test_loose_clusters_come_together(void **state)
{
    (void)state;
    graph g;
    int32_t order[ROWS];
    int64_t n = 0;
    fill_graph(&g, LOOSE);
    weft_pattern p = pattern_of(&g);
    assert_true(misses_of(&p, NULL, ROWS, 40) > 0.85);
    assert_true(is_found(&g, order, &n, 100, 0.95));
    check_misses(misses_of(&p, order, n, 40), 0, 0.3);
}

static void test_a_random_graph_has_no_order(void **state)
{
    (void)state;
    graph g;
    int32_t order[ROWS];
    int64_t n = 0;
    fill_graph(&g, RANDOM);
    assert_false(is_found(&g, order, &n, 100, 0.9));
    assert_true(is_found(&g, order, &n, 100, 2));
    assert_int_equal(n, ROWS);
}

// Row 0 takes the entries of the next three and is too long; these are empty and stay.
static void test_long_rows_are_left_out(void **state)
{
    (void)state;
    graph g;
    int32_t order[ROWS];
    int64_t n = 0;
    fill_graph(&g, SHUFFLED);
    g.offsets[1] = g.offsets[2] = g.offsets[3] = g.offsets[4];
    assert_true(is_found(&g, order, &n, 2 * CLUSTER - 1, 2));
    assert_int_equal(n, ROWS - 1);
    qsort(order, (size_t)n, sizeof(*order), by_number);
    for (int i = 0; i < n; i++)
        assert_int_equal(order[i], i + 1);
}

// ---- plans

static spmm_case case_of(const graph *g, int64_t n, weft_spmm_row_schedule schedule)
{
    return (spmm_case){.seed = 5,
                       .m = ROWS,
                       .k = ROWS,
                       .n = n,
                       .given = &g->host,
                       .numbers = FRACTIONS,
                       .alpha = 1,
                       .with_plan = true,
                       .row_schedule = schedule};
}

// The product is right, and the plan says so.
static void check_says(weft_context *ctx, const spmm_case *of, const char *words)
{
    spmm_operands o;
    char text[640];
    spmm_create(&o, ctx, weft_context_queue(ctx), of);
    const weft_spmm_params params = spmm_params(&o);
    assert_true(spmm_describe(&o, &params, text, sizeof(text)) > 0);
    if (!strstr(text, words))
        fail_msg("not there: \"%s\": %s", words, text);
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

static void test_what_is_chosen(void **state)
{
    (void)state;
    weft_context *const contexts[] = {vectorized, spread};
    graph g;
    for (int i = 0; i < 2; i++) {
        fill_graph(&g, SHUFFLED);
        spmm_case of = case_of(&g, COLUMNS, WEFT_SPMM_ROW_SCHEDULE_DEFAULT);
        check_says(contexts[i], &of, "; rows ordered for reuse (a cache of ");
        check_says(contexts[i], &of, " ms), as neighbours share columns, ");
        of.transpose_a = true;
        check_says(contexts[i], &of, "; rows ordered for reuse (a cache of ");
        fill_graph(&g, RANDOM);
        of.transpose_a = false;
        check_says(contexts[i], &of, "; rows as given, as lengths vary by 0 of ");
        fill_graph(&g, ORDERED);
        check_says(contexts[i], &of, "; rows as given, as lengths vary by 0 of ");
    }
}

// Few columns are near, or not worth it; whoever asks for the order has it.
static void test_few_columns(void **state)
{
    (void)state;
    graph g;
    fill_graph(&g, SHUFFLED);
    spmm_case of = case_of(&g, 4, WEFT_SPMM_ROW_SCHEDULE_DEFAULT);
    check_says(vectorized, &of, "; rows as given, as those of B are near or narrow, ");
    of.row_schedule = WEFT_SPMM_ROW_SCHEDULE_REUSE;
    check_says(vectorized, &of, " ms), as asked for, ");
}

static void *bits_of(weft_context *ctx, const spmm_case *of, weft_spmm_row_schedule schedule,
                     size_t *bytes)
{
    spmm_operands o;
    spmm_case forced = *of;
    forced.row_schedule = schedule;
    spmm_create(&o, ctx, weft_context_queue(ctx), &forced);
    spmm_call(&o);
    spmm_check(&o);
    void *bits = spmm_read(&o);
    *bytes = o.c_bytes;
    spmm_destroy(&o);
    return bits;
}

// Of sums and maxima, by A and its transpose, of all rows and those that are stored.
static void test_same_bits(void **state)
{
    (void)state;
    weft_context *const contexts[] = {vectorized, spread};
    graph g;
    fill_graph(&g, SHUFFLED);
    for (int i = 0; i < 10; i++) {
        size_t bytes = 0;
        spmm_case of = case_of(&g, i / 2 == 1 ? 37 : COLUMNS, WEFT_SPMM_ROW_SCHEDULE_DEFAULT);
        of.transpose_a = i / 2 == 2;
        of.is_dcsr = i / 2 == 3;
        of.reduction = i / 2 == 4 ? WEFT_SPMM_MAX : WEFT_SPMM_SUM;
        of.beta = i / 2 == 1 ? 2 : 0;
        void *want = bits_of(contexts[i % 2], &of, WEFT_SPMM_ROW_SCHEDULE_GIVEN, &bytes);
        void *got = bits_of(contexts[i % 2], &of, WEFT_SPMM_ROW_SCHEDULE_REUSE, &bytes);
        if (memcmp(got, want, bytes) != 0)
            fail_msg("case %d: other bits", i);
        free(got);
        free(want);
    }
}

static weft_context *with_small_caches(weft_limits limits)
{
    limits.l1_bytes = 1 << 12;
    limits.l2_bytes = 1 << 14;
    limits.cache_bytes = 1 << 15;
    return open_context(&limits);
}

int main(void)
{
    need_device();
    weft_context *ctx = open_context(NULL);
    weft_limits cpu = *weft_context_limits(ctx);
    weft_context_destroy(&ctx);
    cpu.warp = cpu.vector_width = 16;
    cpu.vectors = 8;
    cpu.max_items_y = 1;
    cpu.compute_units = 2;
    vectorized = with_small_caches(cpu);
    spread = with_small_caches(*weft_profile_find("nvidia-a100"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_misses_of_few_rows),
        cmocka_unit_test(test_misses_are_of_the_oldest),
        cmocka_unit_test(test_misses_of_a_sample),
        cmocka_unit_test(test_clusters_come_together),
        cmocka_unit_test(test_loose_clusters_come_together),
        cmocka_unit_test(test_a_random_graph_has_no_order),
        cmocka_unit_test(test_long_rows_are_left_out),
        cmocka_unit_test(test_what_is_chosen),
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_same_bits),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&vectorized);
    weft_context_destroy(&spread);
    return failed;
}
