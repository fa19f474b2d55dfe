// SPDX-License-Identifier: Apache-2.0
// CSR to DCSR and back: patterns against plain loops, what is refused, scratch memory and
// events.
#include <weft/csr_dense.h>
#include <weft/dcsr.h>

#include "format_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

typedef struct dcsr_case {
    weft_dtype offset_dtype, stored_dtype; // of A's offsets, of D's
    int items;
    int64_t start;
} dcsr_case;

// A pattern's stored rows on the host, and on the device for a call to write.
typedef struct stored {
    int64_t n;
    int64_t *rows, *offsets;
    guarded d_rows, d_offsets;
} stored;

static stored stored_create(const pattern *p, const dcsr_case *of)
{
    stored s = {.rows = new_array(p->n_rows, sizeof(int64_t)),
                .offsets = new_array(p->n_rows + 1, sizeof(int64_t))};
    for (int64_t row = 0; row < p->n_rows; row++)
        if (p->offsets[row] < p->offsets[row + 1]) {
            s.rows[s.n] = row;
            s.offsets[s.n++] = p->offsets[row];
        }
    s.offsets[s.n] = p->nnz;
    s.d_rows = guarded_create(ctx, NULL, s.n, sizeof(cl_int), of->start);
    s.d_offsets =
        guarded_create(ctx, NULL, s.n + 1, weft_dtype_size(of->stored_dtype), of->start + 1);
    return s;
}

static void stored_check(const stored *s, const dcsr_case *of)
{
    void *rows = narrowed(s->rows, s->n, WEFT_I32);
    void *offsets = narrowed(s->offsets, s->n + 1, of->stored_dtype);
    guarded_check(&s->d_rows, queue, rows, "rows");
    guarded_check(&s->d_offsets, queue, offsets, "offsets of stored rows");
    free(rows);
    free(offsets);
}

static void stored_destroy(stored *s)
{
    guarded_destroy(&s->d_rows);
    guarded_destroy(&s->d_offsets);
    free(s->rows);
    free(s->offsets);
}

static weft_dcsr dcsr_of(const weft_csr *A, const stored *s, const dcsr_case *of)
{
    return (weft_dcsr){.n_rows = A->n_rows,
                       .n_cols = A->n_cols,
                       .n_stored = s->n,
                       .nnz = A->nnz,
                       .offset_dtype = of->stored_dtype,
                       .rows = s->d_rows.buffer,
                       .offsets = s->d_offsets.buffer,
                       .indices = A->indices,
                       .values = A->values,
                       .rows_start = s->d_rows.start,
                       .offsets_start = s->d_offsets.start,
                       .indices_start = A->indices_start,
                       .values_start = A->values_start};
}

// There and back, so many times. Takes the pattern over.
static void run_pattern_often(pattern p, const dcsr_case *of, int n_runs)
{
    device_pattern A = device_pattern_create(ctx, &p, true, of->offset_dtype, WEFT_I32, of->start);
    guarded back =
        guarded_create(ctx, NULL, p.n_rows + 1, weft_dtype_size(of->offset_dtype), of->start);
    stored s = stored_create(&p, of);
    weft_dcsr_params params = *WEFT_DCSR(.items = of->items);
    size_t bytes;
    int64_t n_stored = -1;
    assert_ok(weft_dcsr_workspace(ctx, &A.csr, &params, &bytes));
    params.workspace = new_workspace(ctx, bytes);
    const weft_dcsr D = dcsr_of(&A.csr, &s, of);
    weft_csr again = A.csr;
    again.offsets = back.buffer;
    again.offsets_start = back.start;
    void *want = narrowed(p.offsets, p.n_rows + 1, of->offset_dtype);
    for (int run = 0; run < n_runs; run++) { // the same bits in each
        guarded_restore(&s.d_rows, queue);
        guarded_restore(&s.d_offsets, queue);
        guarded_restore(&back, queue);
        assert_ok(weft_dcsr_count(ctx, queue, &A.csr, &n_stored, &params));
        assert_int_equal(n_stored, s.n);
        assert_ok(weft_dcsr_from_csr(ctx, queue, &A.csr, &D, &params));
        stored_check(&s, of);
        assert_ok(weft_dcsr_to_csr(ctx, queue, &D, &again, &params));
        guarded_check(&back, queue, want, "offsets again");
    }
    free(want);
    clReleaseMemObject(params.workspace);
    stored_destroy(&s);
    guarded_destroy(&back);
    device_pattern_destroy(&A);
    pattern_destroy(&p);
}

static void run_pattern(pattern p, const dcsr_case *of)
{
    run_pattern_often(p, of, 1);
}

static const dcsr_case cases[] = {
    {WEFT_I32, WEFT_I32, 1, 0},
    {WEFT_I32, WEFT_I64, 4, 3},
    {WEFT_I64, WEFT_I32, 32, 2},
    {WEFT_I64, WEFT_I64, 0, 5},
};
enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };

// Each row with entries or without.
static void test_every_set_of_rows(void **state)
{
    (void)state;
    const int64_t n_rows = is_reduced ? 4 : 6;
    for (uint64_t rows = 0; rows < UINT64_C(1) << n_rows; rows++) {
        uint64_t doubled = 0; // the first of two columns, or both in every other row
        for (int row = 0; row < n_rows; row++)
            if (rows >> row & 1)
                doubled |= (row % 2 ? UINT64_C(3) : UINT64_C(1)) << 2 * row;
        for (int i = 0; i < N_CASES; i++)
            run_pattern(pattern_of_cells(n_rows, 2, doubled), &cases[i]);
    }
}

static void test_patterns_of_every_kind(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{0, 0, 0},     {0, 5, 0},    {5, 0, 0},     {1, 1, 1},
                                        {700, 10, 50}, {90, 7, 900}, {30000, 9, 4}, {99999, 3, 7}};
    const int n_shapes = is_reduced ? 5 : 8;
    for (int i = 0; i < n_shapes; i++)
        for (int kind = 0; kind < N_PATTERNS; kind++)
            for (int j = 0; j < N_CASES; j++) {
                random_state random = {(uint64_t)(10 * i + kind)};
                if (!takes_groups_of(cases[j].items))
                    continue;
                run_pattern(pattern_create(&random, (pattern_kind)kind, shapes[i][0], shapes[i][1],
                                           shapes[i][2]),
                            &cases[j]);
            }
}

static void test_same_bits_over_runs(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        random_state random = {13};
        if (takes_groups_of(cases[i].items))
            run_pattern_often(pattern_create(&random, PATTERN_RANDOM, 3000, 9, 2000), &cases[i], 5);
    }
}

// Stored rows as a CSR of their own: here, as a dense matrix without the empty rows.
static void test_stored_rows_alone(void **state)
{
    (void)state;
    static const float values[] = {5, 6, 7};
    static const float want[] = {0, 5, 0, 6, 0, 7};
    pattern p = pattern_of_cells(3, 3, 0x142); // (0, 1), (2, 0), (2, 2)
    device_pattern A = device_pattern_create(ctx, &p, true, WEFT_I32, WEFT_I32, 1);
    guarded numbers = guarded_create(ctx, values, 3, sizeof(float), 0);
    guarded dense = guarded_create(ctx, NULL, 6, sizeof(float), 0);
    A.csr.values = numbers.buffer;
    stored s = stored_create(&p, &cases[0]);
    const weft_dcsr D = dcsr_of(&A.csr, &s, &cases[0]);
    const weft_csr alone = weft_dcsr_stored(&D);
    const weft_tensor out = weft_matrix(dense.buffer, WEFT_F32, 2, 3);
    size_t bytes;
    assert_ok(weft_dcsr_workspace(ctx, &A.csr, NULL, &bytes));
    cl_mem workspace = new_workspace(ctx, bytes);
    assert_ok(weft_dcsr_from_csr(ctx, queue, &A.csr, &D, WEFT_DCSR(.workspace = workspace)));
    assert_ok(weft_csr_to_dense(ctx, queue, &alone, &out, NULL));
    guarded_check(&dense, queue, want, "stored rows");
    clReleaseMemObject(workspace);
    stored_destroy(&s);
    guarded_destroy(&numbers);
    guarded_destroy(&dense);
    device_pattern_destroy(&A);
    pattern_destroy(&p);
}

// ---- what is refused

typedef struct conversion {
    weft_context *ctx;
    cl_command_queue queue;
    weft_csr A;
    weft_dcsr D;
    weft_dcsr_params params;
} conversion;

typedef enum conversion_step { COUNT, FROM_CSR, TO_CSR } conversion_step;

// Of the running test: 3 x 2, a row of it empty.
static pattern cells;
static device_pattern cells_there;
static stored cells_stored;

static int create_operands(void **state)
{
    (void)state;
    cells = pattern_of_cells(3, 2, 0x33);
    cells_there = device_pattern_create(ctx, &cells, true, WEFT_I32, WEFT_I32, 2);
    cells_stored = stored_create(&cells, &cases[0]);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    stored_destroy(&cells_stored);
    device_pattern_destroy(&cells_there);
    pattern_destroy(&cells);
    return 0;
}

static conversion good_call(void)
{
    return (conversion){ctx, queue, cells_there.csr,
                        dcsr_of(&cells_there.csr, &cells_stored, &cases[0]),
                        *WEFT_DCSR(.items = 1)};
}

static weft_status start(const conversion *c, conversion_step step)
{
    int64_t n_stored;
    switch (step) {
    case COUNT:
        return weft_dcsr_count(c->ctx, c->queue, &c->A, &n_stored, &c->params);
    case FROM_CSR:
        return weft_dcsr_from_csr(c->ctx, c->queue, &c->A, &c->D, &c->params);
    default:
        return weft_dcsr_to_csr(c->ctx, c->queue, &c->D, &c->A, &c->params);
    }
}

static void refuse(conversion *c, conversion_step step, weft_status want, const char *part)
{
    cl_event event = NULL;
    c->params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = start(c, step);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One thing changed in a good call of that step.
#define REFUSE(step, status, part, change)                                                         \
    do {                                                                                           \
        conversion c = good_call();                                                                \
        change;                                                                                    \
        refuse(&c, step, status, part);                                                            \
    } while (0)

static void test_arguments(void **state)
{
    (void)state;
    for (int i = COUNT; i <= TO_CSR; i++) {
        const conversion_step step = i;
        REFUSE(step, WEFT_BAD_ARGUMENT, "items is 3: a power of two", c.params.items = 3);
        REFUSE(step, WEFT_BAD_SHAPE, "A has 2147483648 rows; at most 2147483647",
               c.A.n_rows = INT64_C(1) << 31);
    }
    assert_int_equal(weft_dcsr_count(ctx, queue, &cells_there.csr, NULL, NULL), WEFT_BAD_ARGUMENT);
    assert_says("dcsr_count: n_stored is NULL");
    assert_int_equal(weft_dcsr_from_csr(ctx, queue, &cells_there.csr, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("dcsr_from_csr: D is NULL");
}

static void test_matrices_that_disagree(void **state)
{
    (void)state;
    for (int i = FROM_CSR; i <= TO_CSR; i++) {
        const conversion_step step = i;
        REFUSE(step, WEFT_BAD_SHAPE, "A is 3 x 2 with 4 entries, D 4 x 2 with 4", c.D.n_rows = 4);
        REFUSE(step, WEFT_BAD_SHAPE, "D 3 x 5 with 4", c.D.n_cols = 5);
        REFUSE(step, WEFT_BAD_SHAPE, "D 3 x 2 with 3", c.D.nnz = 3);
        REFUSE(step, WEFT_BAD_SHAPE, "D stores 4 rows of 3, with 4 entries", c.D.n_stored = 4);
    }
}

// Fewer rows than there are, as of a matrix that has changed since: nothing is written beyond them.
static void test_fewer_rows_than_there_are(void **state)
{
    (void)state;
    conversion c = good_call();
    static const cl_int rows[] = {0}, offsets[] = {0, 4};
    guarded one_row = guarded_create(ctx, NULL, 1, sizeof(cl_int), 1);
    guarded one_end = guarded_create(ctx, NULL, 2, sizeof(cl_int), 1);
    c.D.n_stored = 1;
    c.D.rows = one_row.buffer;
    c.D.offsets = one_end.buffer;
    c.D.rows_start = c.D.offsets_start = 1;
    c.params.workspace = new_workspace(ctx, 4096);
    assert_ok(start(&c, FROM_CSR));
    guarded_check(&one_row, queue, rows, "rows");
    guarded_check(&one_end, queue, offsets, "offsets of stored rows");
    clReleaseMemObject(c.params.workspace);
    guarded_destroy(&one_row);
    guarded_destroy(&one_end);
}

// Steps that return before they are done.
static void test_events(void **state)
{
    (void)state;
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    conversion c = good_call();
    c.params.workspace = new_workspace(ctx, 4096);
    c.params.n_wait = 1;
    c.params.wait = &gate;
    assert_ok(start(&c, FROM_CSR));
    c.params.n_wait = 0;
    c.params.wait = NULL;
    c.params.event = &done;
    guarded back = guarded_create(ctx, NULL, 4, sizeof(cl_int), 0);
    c.A.offsets = back.buffer;
    c.A.offsets_start = 0;
    assert_ok(start(&c, TO_CSR));
    assert_non_null(done);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    stored_check(&cells_stored, &cases[0]);
    static const cl_int want[] = {0, 2, 2, 4};
    guarded_check(&back, queue, want, "offsets again");
    clReleaseEvent(done);
    clReleaseEvent(gate);
    clReleaseMemObject(c.params.workspace);
    guarded_destroy(&back);
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, create_operands, destroy_operands)

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_set_of_rows),
        cmocka_unit_test(test_patterns_of_every_kind),
        cmocka_unit_test(test_same_bits_over_runs),
        cmocka_unit_test(test_stored_rows_alone),
        WITH_OPERANDS(test_arguments),
        WITH_OPERANDS(test_matrices_that_disagree),
        WITH_OPERANDS(test_fewer_rows_than_there_are),
        WITH_OPERANDS(test_events),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
