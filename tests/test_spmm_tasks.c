// SPDX-License-Identifier: Apache-2.0
// SpMM in tasks of equal numbers of rows and entries: tasks that begin and end anywhere in rows.
#include "sparse/spmm_tiling.h"
#include "spmm_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static int n_cases; // for each variant

typedef struct variant {
    spmm_case of;
    weft_spmm_tiling tiling;
} variant;

// size, vector width, vectors, lanes, rows_per_group, stage, load, unroll, aligned, packed
#define TASKS(t, f, v, l, g, s, a, u, x, b)                                                        \
    {                                                                                              \
        .tasks = t, .vector_width = f, .vectors = v, .lanes = l, .rows_per_group = g,              \
        .rows_per_item = 2, .stage = s, .load = a, .unroll = u, .row_chunk = 1000, .aligned = x,   \
        .packed = b                                                                                \
    }

// What a program depends on.
static const variant variants[] = {
    {{.dtype = WEFT_F32}, TASKS(5, 1, 2, 2, 2, 8, 4, 4, false, false)},
    {{.dtype = WEFT_F32, .has_bias = true, .activation = WEFT_ACTIVATION_RELU},
     TASKS(29, 4, 1, 4, 3, 32, 4, 8, true, false)},
    {{.dtype = WEFT_F32, .index_dtype = WEFT_I16}, TASKS(1, 2, 1, 2, 1, 1, 1, 1, false, false)},
    {{.dtype = WEFT_F32, .offset_dtype = WEFT_I64, .is_dcsr = true, .has_bias = true},
     TASKS(7, 2, 1, 3, 2, 8, 2, 2, false, true)},
    {{.dtype = WEFT_F32, .transpose_a = true}, TASKS(3, 1, 1, 4, 4, 4, 1, 2, false, false)},
    {{.dtype = WEFT_F32, .reduction = WEFT_SPMM_MEAN},
     TASKS(125, 4, 2, 2, 1, 128, 4, 4, false, false)},
    {{.dtype = WEFT_BF16, .has_wide_c = true}, TASKS(4, 4, 1, 2, 2, 6, 2, 8, true, false)},
    {{.dtype = WEFT_F16, .is_dcsr = true, .transpose_a = true, .reduction = WEFT_SPMM_MEAN},
     TASKS(13, 2, 1, 2, 2, 16, 4, 4, false, false)},
    // entries read where they lie, by several lanes and by one
    {{.dtype = WEFT_F32}, TASKS(6, 1, 1, 8, 1, 0, 1, 4, false, false)},
    {{.dtype = WEFT_F32, .has_bias = true, .activation = WEFT_ACTIVATION_GELU},
     TASKS(1000, 4, 2, 1, 2, 0, 1, 2, false, false)},
    {{.dtype = WEFT_BF16}, TASKS(9, 4, 2, 1, 3, 0, 1, 1, false, false)},
    {{.dtype = WEFT_F64, .transpose_a = true}, TASKS(2, 2, 1, 2, 2, 4, 2, 4, false, false)},
    {{.dtype = WEFT_F64, .is_dcsr = true}, TASKS(11, 1, 2, 1, 1, 0, 1, 4, false, false)},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static bool is_taken(const variant *v)
{
    const weft_limits *limits = weft_context_limits(ctx);
    return (v->of.dtype != WEFT_F64 || limits->has_f64) &&
           (size_t)(v->tiling.lanes * v->tiling.rows_per_group) <= limits->max_items;
}

// What changes from case to case without a program of its own.
static spmm_case varied(const variant *v, uint64_t seed)
{
    static const double scalars[] = {1, -2, 0.5};
    const weft_spmm_tiling *t = &v->tiling;
    random_state random = {seed};
    spmm_case of = v->of;
    of.seed = seed;
    of.tiling = t;
    of.m = random_below(&random, 3 * t->rows_per_group + t->tasks % 7 + 2);
    of.k = random_below(&random, 3 * (t->tasks % 40) + 20);
    const int64_t columns = (int64_t)t->vector_width * t->vectors * t->lanes;
    const int64_t n = t->vector_width + random_below(&random, 2 * columns + 1);
    of.n = t->aligned ? n / t->vector_width * t->vector_width : n;
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.numbers = (spmm_numbers)random_below(&random, WILD_INPUT);
    of.alpha = scalars[random_below(&random, 3)];
    of.beta = random_below(&random, 2) ? scalars[random_below(&random, 3)] : 0;
    of.bias_step = random_between(&random, -2, 2);
    of.with_plan = of.transpose_a || random_below(&random, 2);
    of.plan_row_chunk = random_below(&random, 4);
    of.n_batches = random_below(&random, 4);
    of.own_values = t->load == 1 && random_below(&random, 2);
    of.offsets_start = random_below(&random, 4);
    of.indices_start = random_below(&random, 6);
    of.values_start = of.indices_start + t->load * random_below(&random, 3);
    of.b_layout = of.c_layout = ROWS_ALIGNED;
    if (!t->aligned) {
        of.b_layout = (dense_layout)random_below(&random, t->packed ? N_LAYOUTS : COLUMN_MAJOR);
        of.c_layout = (dense_layout)random_below(&random, COLUMN_MAJOR);
    }
    return of;
}

static void test_every_variant(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++)
        for (int j = 0; is_taken(&variants[i]) && has_turn(i) && j < n_cases; j++) {
            const spmm_case one = varied(&variants[i], (uint64_t)(1000 * i + j));
            spmm_run(ctx, &one);
        }
}

// ---- rows of given lengths

enum { MOST_GIVEN = 8, GIVEN_COLUMNS = 40 };

typedef struct pattern {
    int32_t offsets[MOST_GIVEN + 1], indices[MOST_GIVEN * GIVEN_COLUMNS];
    weft_csr_host host;
} pattern;

static void pattern_of(pattern *p, const int *lengths, int n_rows)
{
    p->offsets[0] = 0;
    for (int row = 0; row < n_rows; row++) {
        p->offsets[row + 1] = p->offsets[row] + lengths[row];
        for (int j = 0; j < lengths[row]; j++) // unsorted
            p->indices[p->offsets[row] + j] = (7 * j + row) % GIVEN_COLUMNS;
    }
    p->host = (weft_csr_host){.n_rows = n_rows,
                              .n_cols = GIVEN_COLUMNS,
                              .nnz = p->offsets[n_rows],
                              .offset_dtype = WEFT_I32,
                              .index_dtype = WEFT_I32,
                              .dtype = WEFT_F32,
                              .offsets = p->offsets,
                              .indices = p->indices};
}

static spmm_case given_case(const pattern *p, uint64_t seed, const weft_spmm_tiling *tiling)
{
    return (spmm_case){.seed = seed,
                       .m = p->host.n_rows,
                       .k = GIVEN_COLUMNS,
                       .n = 9,
                       .given = &p->host,
                       .alpha = seed % 3 == 0 ? 2 : 1,
                       .beta = seed % 4 == 0 ? 3 : 0,
                       .has_bias = true,
                       .bias_step = 1,
                       .activation = WEFT_ACTIVATION_RELU,
                       .tiling = tiling};
}

// Every sequence of four rows that are empty, of one entry, of a few, or of several tasks, in tasks
// of every size, on which the program does not depend: so empty rows begin and end tasks, rows end
// with one, and one row takes up to 21 of them.
static void test_ends_of_tasks(void **state)
{
    (void)state;
    static const int choices[] = {0, 1, 4, 21};
    const int step = getenv("WEFT_TEST_REDUCED") ? 23 : 1;
    uint64_t seed = 0;
    for (int size = 1; size <= 8; size++)
        for (int code = 0; code < 256; code++) {
            if ((int)(++seed % (uint64_t)step) != 0)
                continue;
            const weft_spmm_tiling tiling = TASKS(size, 2, 1, 2, 2, 8, 1, 4, false, false);
            int lengths[4];
            for (int row = 0; row < 4; row++)
                lengths[row] = choices[code >> 2 * row & 3];
            pattern p;
            pattern_of(&p, lengths, 4);
            const spmm_case one = given_case(&p, seed, &tiling);
            spmm_run(ctx, &one);
        }
}

// A view of some rows: its first entry is not entry 0.
static void test_rows_of_a_larger_matrix(void **state)
{
    (void)state;
    static const int lengths[MOST_GIVEN] = {3, 0, 25, 1, 0, 40, 2, 7};
    const weft_spmm_tiling tiling = TASKS(5, 2, 1, 2, 2, 8, 1, 4, false, false);
    pattern p;
    pattern_of(&p, lengths, MOST_GIVEN);
    spmm_case one = given_case(&p, 1, &tiling);
    one.has_bias = false;
    for (int cut = 1; cut < MOST_GIVEN; cut++) {
        spmm_operands o;
        spmm_create(&o, ctx, weft_context_queue(ctx), &one);
        const weft_csr A = o.A;
        const weft_tensor C = o.C;
        const weft_spmm_params params = spmm_params(&o);
        for (int part = 0; part < 2; part++) {
            const int first = part * cut, stop = part == 0 ? cut : MOST_GIVEN;
            o.A.n_rows = stop - first;
            o.A.nnz = p.offsets[stop] - p.offsets[first];
            o.A.offsets_start = A.offsets_start + first;
            o.C = C;
            o.C.offset += first * C.stride[0];
            o.C.shape[0] = stop - first;
            assert_ok(spmm_start(&o, &params));
        }
        o.A = A;
        o.C = C;
        spmm_check(&o);
        spmm_destroy(&o);
    }
}

// ---- as planned

// What a GPU of one group would do, and whether tasks are among it.
static void check_planned(weft_context *there, const spmm_case *of, bool has_tasks)
{
    spmm_operands o;
    char text[512];
    spmm_create(&o, there, weft_context_queue(there), of);
    const weft_spmm_params params = spmm_params(&o);
    assert_true(spmm_describe(&o, &params, text, sizeof(text)) > 0);
    if ((strstr(text, ", tasks ") != NULL) != has_tasks)
        spmm_fail(&o, has_tasks ? "no tasks" : "tasks");
    spmm_call(&o);
    spmm_check(&o);
    spmm_destroy(&o);
}

// A long row, known or not; and without tasks where the plan object cuts it, or scratch memory has
// no room.
static void test_long_rows_as_planned(void **state)
{
    (void)state;
    weft_limits limits = *weft_profile_find("nvidia-a100");
    limits.max_blocks = 1;
    if (weft_context_limits(ctx)->max_items < 256)
        skip();
    weft_context *there = open_context(&limits), *narrow, *hasty;
    assert_ok(weft_context_open(&narrow, WEFT_CONTEXT(.limits = &limits, .scratch_bytes = 4096)));
    limits.max_iterations = 20;
    hasty = open_context(&limits);
    spmm_case of = {.seed = 4, .m = 60, .k = 3000, .n = 40, .rows = ROWS_ONE_FULL, .alpha = 1};
    check_planned(there, &of, true);
    check_planned(narrow, &of, false);
    check_planned(hasty, &of, false);
    of.n_batches = 2;
    of.with_plan = true;
    check_planned(there, &of, true);
    of.is_dcsr = true;
    of.beta = 2;
    check_planned(there, &of, true);
    of.transpose_a = true;
    of.reduction = WEFT_SPMM_MEAN;
    check_planned(there, &of, false); // A^T has no long row
    of.transpose_a = false;
    of.plan_row_chunk = 100;
    check_planned(there, &of, false);
    of.plan_row_chunk = 0;
    of.row_schedule = WEFT_SPMM_ROW_SCHEDULE_SORTED;
    check_planned(there, &of, false);
    weft_context_destroy(&there);
    weft_context_destroy(&narrow);
    weft_context_destroy(&hasty);
}

// A forced tiling that the context has no room for, or whose loops its device would end.
static void check_refused(weft_context *there, weft_status wanted, const char *words)
{
    const weft_spmm_tiling tiling = TASKS(2, 1, 1, 2, 2, 8, 4, 4, false, false);
    const spmm_case of = {.m = 30, .k = 300, .n = 40, .alpha = 1, .seed = 1};
    spmm_operands o;
    spmm_create(&o, there, weft_context_queue(there), &of);
    assert_int_equal(weft_spmm(there, o.queue, 1, &o.A, &o.B, 0, &o.C,
                               WEFT_SPMM(.tiling = TILING_TEXT(spmm, &tiling))),
                     wanted);
    assert_says(words);
    assert_int_equal(weft_context_get_stats(there).launches, 0);
    spmm_destroy(&o);
    weft_context_destroy(&there);
}

static void test_refused_tasks(void **state)
{
    (void)state;
    weft_context *narrow;
    weft_limits limits = *weft_context_limits(ctx);
    limits.max_iterations = 20;
    assert_ok(weft_context_open(&narrow, WEFT_CONTEXT(.scratch_bytes = 4096)));
    check_refused(narrow, WEFT_NO_MEMORY, "bytes of scratch memory are needed, 4096 are allowed");
    check_refused(open_context(&limits), WEFT_UNSUPPORTED,
                  "iterations add: the device ends loops after 20");
}

// ---- bits

// A row that hundreds of tasks share, with fractions: parts are added in the same order each time,
// and in a batch as alone.
static void test_same_bits(void **state)
{
    (void)state;
    const weft_spmm_tiling tiling = TASKS(5, 4, 1, 8, 4, 8, 4, 8, true, false);
    const spmm_case one = {.seed = 2,
                           .m = 30,
                           .k = 3000,
                           .n = 32,
                           .rows = ROWS_ONE_FULL,
                           .numbers = FRACTIONS,
                           .b_layout = ROWS_ALIGNED,
                           .c_layout = ROWS_ALIGNED,
                           .alpha = 0.7,
                           .beta = -0.3,
                           .tiling = &tiling};
    if ((size_t)(tiling.lanes * tiling.rows_per_group) > weft_context_limits(ctx)->max_items)
        skip();
    spmm_check_same_bits(ctx, &one);
}

int main(void)
{
    need_device();
    n_cases = getenv("WEFT_TEST_REDUCED") ? 5 : 40;
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_variant),           cmocka_unit_test(test_ends_of_tasks),
        cmocka_unit_test(test_rows_of_a_larger_matrix), cmocka_unit_test(test_long_rows_as_planned),
        cmocka_unit_test(test_refused_tasks),           cmocka_unit_test(test_same_bits),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
