// SPDX-License-Identifier: Apache-2.0
// C = alpha A B + beta C, A and B sparse and C dense, against a plain loop: every pattern of small
// matrices, all data types and layouts of C, tilings as for a CPU and for a GPU; what is refused,
// scratch memory and events.
//
// What must not be read is NaN: all of C where beta is 0, all values of A and B where alpha is.
#include <math.h>

#include "format_case.h"
#include "matrix_files.h"
#include "scalar.h"
#include "sparse/spgemm_plan.h"
#include "spgemm_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

typedef struct scale {
    double alpha, beta;
} scale;

// With whole numbers all sums are exact.
static const scale scales[] = {{1, 0}, {2, 0}, {-0.5, 1}, {1, -2}, {0, 0}, {0, 3}, {0, 1}, {-1, 0}};
enum { N_SCALES = sizeof(scales) / sizeof(scales[0]) };

typedef enum layout { PADDED, COLUMN_MAJOR, APART, ROWS_BACKWARDS, BACKWARDS, N_LAYOUTS } layout;

typedef enum numbers_kind { WHOLE, FRACTIONS, WILD, ALL_NAN } numbers_kind;

typedef struct product_case {
    uint64_t seed;
    pattern_kind a_kind, b_kind;
    const int64_t *sizes;                 // m, k, n, entries of A, of B
    weft_dtype dtype, wide[2], narrow[2]; // data types of offsets and of indices: A, B
    int64_t start;
    numbers_kind numbers;
    layout layout;
    scale by;
    const weft_spgemm_tiling *tiling;
} product_case;

typedef struct operands {
    pattern patterns[2]; // A, B
    device_pattern there[2];
    guarded values[2], out;
    weft_dtype dtype;
    weft_tensor C; // in `out`
} operands;

// ---- operands

// Wild: whole ones, and some that are infinite or NaN. Infinity times a 0 that is stored is NaN; an
// element that has no terms is not.
static double draw(random_state *random, numbers_kind kind)
{
    static const double wild[] = {INFINITY, -INFINITY, NAN};
    if (kind == ALL_NAN)
        return NAN;
    if (kind == FRACTIONS)
        return (double)random_float(random);
    return kind == WILD && random_below(random, 6) == 0 ? wild[random_below(random, 3)]
                                                        : (double)random_between(random, -2, 2);
}

static int64_t place_of(const weft_tensor *C, int64_t row, int64_t column)
{
    return C->offset + row * C->stride[0] + column * C->stride[1];
}

static void create_output(operands *o, random_state *random, const product_case *of)
{
    enum { START = 7, BETWEEN = 0x5a };
    const int64_t m = o->patterns[0].n_rows, n = o->patterns[1].n_cols;
    const int64_t strides[][2] = {{n + 3, 1}, {1, m}, {2 * n + 3, 2}, {-n, 1}, {-1, -m - 2}};
    int64_t span = m > 0 && n > 0;
    o->C = (weft_tensor){.dtype = o->dtype, .ndim = 2, .shape = {m, n}};
    for (int d = 0; d < 2; d++) {
        o->C.stride[d] = strides[of->layout][d];
        const int64_t reach = span > 0 ? (o->C.shape[d] - 1) * o->C.stride[d] : 0;
        o->C.offset -= reach < 0 ? reach : 0;
        span += reach < 0 ? -reach : reach;
    }
    const size_t size = weft_dtype_size(o->dtype);
    char *before = new_array(span, size);
    memset(before, BETWEEN, (size_t)span * size);
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++)
            scalar_put(o->dtype, before, place_of(&o->C, row, column),
                       draw(random, of->by.beta == 0 ? ALL_NAN : of->numbers));
    o->out = guarded_create(ctx, before, span, size, START);
    o->C.buffer = o->out.buffer;
    o->C.offset += START;
    free(before);
}

// Without entries, every other matrix has no arrays for them.
static void create_input(operands *o, int i, random_state *random, const product_case *of)
{
    const pattern *p = &o->patterns[i];
    const size_t size = weft_dtype_size(o->dtype);
    char *values = new_array(p->nnz, size);
    for (int64_t e = 0; e < p->nnz; e++)
        scalar_put(o->dtype, values, e, draw(random, of->by.alpha == 0 ? ALL_NAN : of->numbers));
    o->values[i] = guarded_create(ctx, values, p->nnz, size, of->start);
    o->there[i] = device_pattern_create(ctx, p, true, of->wide[i] ? of->wide[i] : WEFT_I32,
                                        of->narrow[i] ? of->narrow[i] : WEFT_I32, of->start);
    weft_csr *csr = &o->there[i].csr;
    csr->dtype = o->dtype;
    csr->values = o->values[i].buffer;
    csr->values_start = of->start;
    if (p->nnz == 0 && of->seed % 2)
        csr->indices = csr->values = NULL;
    free(values);
}

// Takes the patterns over.
static void operands_create(operands *o, pattern A, pattern B, const product_case *of)
{
    random_state random = {of->seed};
    *o = (operands){.patterns = {A, B}, .dtype = of->dtype ? of->dtype : WEFT_F32};
    create_input(o, 0, &random, of);
    create_input(o, 1, &random, of);
    create_output(o, &random, of);
}

static void operands_destroy(operands *o)
{
    for (int i = 0; i < 2; i++) {
        pattern_destroy(&o->patterns[i]);
        device_pattern_destroy(&o->there[i]);
        guarded_destroy(&o->values[i]);
    }
    guarded_destroy(&o->out);
}

static char *read_output(const operands *o)
{
    char *now = new_array((int64_t)o->out.bytes, 1);
    clEnqueueReadBuffer(queue, o->out.buffer, CL_TRUE, 0, o->out.bytes, now, 0, NULL, NULL);
    return now;
}

// ---- what C should be

// An element of A B: its terms, their sum and that of their magnitudes.
typedef struct element {
    int64_t n;
    double sum, magnitude;
} element;

static void multiply_row(const operands *o, int64_t row, element *elements)
{
    const pattern *A = &o->patterns[0], *B = &o->patterns[1];
    const guarded *a = &o->values[0], *b = &o->values[1];
    memset(elements, 0, (size_t)B->n_cols * sizeof(element));
    for (int64_t e = A->offsets[row]; e < A->offsets[row + 1]; e++)
        for (int64_t g = B->offsets[A->columns[e]]; g < B->offsets[A->columns[e] + 1]; g++) {
            element *x = &elements[B->columns[g]];
            const double product = scalar_get(o->dtype, a->before, a->start + e) *
                                   scalar_get(o->dtype, b->before, b->start + g);
            x->n++;
            x->sum += product;
            x->magnitude += fabs(product);
        }
}

// Each term rounds once where it joins the sum, alpha's and beta's products once and their sum
// once: by 2^-24 (f64: 2^-53) of all magnitudes at most. Whole numbers do not round. Then comes the
// data type's own rounding, which keeps to the ends of that range as they are rounded themselves.
static bool is_right(const product_case *of, weft_dtype dtype, const element *x, double before,
                     double after)
{
    const bool is_double = dtype == WEFT_F64;
    const double alpha = is_double ? of->by.alpha : (float)of->by.alpha;
    const double beta = is_double ? of->by.beta : (float)of->by.beta;
    const long double added = beta == 0 ? 0 : (long double)beta * before;
    const long double want = added + (alpha == 0 ? 0 : (long double)alpha * x->sum);
    if (!isfinite(want))
        return isnan(want) ? isnan(after) : after == (double)want;
    const long double magnitude =
        fabsl(added) + (alpha == 0 ? 0 : fabsl((long double)alpha) * x->magnitude);
    const long double unit = of->numbers != FRACTIONS ? 0 : is_double ? 0x1p-53L : 0x1p-24L;
    const long double bound = unit * (long double)(x->n + 3) * magnitude;
    return after >= scalar_stored(dtype, (double)(want - bound)) &&
           after <= scalar_stored(dtype, (double)(want + bound));
}

static void check(const operands *o, const product_case *of)
{
    const weft_tensor *C = &o->C;
    const size_t size = weft_dtype_size(o->dtype);
    char *after = read_output(o);
    element *elements = new_array(C->shape[1], sizeof(element));
    for (int64_t row = 0; row < C->shape[0]; row++) {
        multiply_row(o, row, elements);
        for (int64_t column = 0; column < C->shape[1]; column++) {
            const int64_t place = place_of(C, row, column);
            const double was = scalar_get(o->dtype, o->out.before, place);
            const double is = scalar_get(o->dtype, after, place);
            if (!is_right(of, o->dtype, &elements[column], was, is))
                fail_msg("C[%d][%d] is %.17g: A B %.17g, C %.17g, alpha %g, beta %g; seed %d, "
                         "layout %d, items %d",
                         (int)row, (int)column, is, elements[column].sum, was, of->by.alpha,
                         of->by.beta, (int)of->seed, (int)of->layout,
                         of->tiling ? of->tiling->items : 0);
            memcpy(after + (size_t)place * size, o->out.before + (size_t)place * size, size);
        }
    }
    if (memcmp(after, o->out.before, o->out.bytes) != 0)
        fail_msg("something around or between C's elements was written; seed %d, layout %d",
                 (int)of->seed, (int)of->layout);
    free(elements);
    free(after);
}

// With scratch memory of exactly the size that is asked for, or the pool's; on Oclgrind always the
// former: its check for uninitialised memory takes the pool's for such.
static void call(operands *o, const product_case *of)
{
    const weft_csr *A = &o->there[0].csr, *B = &o->there[1].csr;
    weft_spgemm_params params = *WEFT_SPGEMM(.tiling = TILING_TEXT(spgemm, of->tiling));
    size_t bytes;
    assert_ok(weft_spgemm_dense_workspace(ctx, A, B, &o->C, &params, &bytes));
    if (bytes > 0 && (of->seed % 4 > 0 || is_on("oclgrind")))
        params.workspace = new_workspace(ctx, bytes);
    assert_ok(weft_spgemm_dense(ctx, queue, of->by.alpha, A, B, of->by.beta, &o->C,
                                params.tiling || params.workspace ? &params : NULL));
    if (params.workspace)
        clReleaseMemObject(params.workspace);
}

static void run_patterns(pattern A, pattern B, const product_case *of)
{
    operands o;
    operands_create(&o, A, B, of);
    call(&o, of);
    check(&o, of);
    operands_destroy(&o);
}

static void run(const product_case *of)
{
    if (of->tiling && !takes_groups_of(of->tiling->items))
        return;
    random_state random = {of->seed};
    const int64_t *s = of->sizes;
    const pattern A = pattern_create(&random, of->a_kind, s[0], s[1], s[3]);
    const pattern B = pattern_create(&random, of->b_kind, s[1], s[2], s[4]);
    run_patterns(A, B, of);
}

// ---- products

static void test_every_small_pattern(void **state)
{
    (void)state;
    const uint64_t step = is_reduced ? 7 : 1;
    for (uint64_t a = 0; a < 64; a += step)
        for (uint64_t b = 0; b < 64; b += step) {
            const uint64_t i = a / step, j = b / step; // so that fewer cases meet all of these, too
            const product_case of = {.seed = a + b,
                                     .layout = (layout)((i / N_DENSE + j) % N_LAYOUTS),
                                     .by = scales[(i + 2 * j) % N_SCALES],
                                     .tiling = &tilings[(i + j) % N_DENSE]};
            run_patterns(pattern_of_cells(2, 3, a), pattern_of_cells(3, 2, b), &of);
        }
}

static void test_patterns_of_every_kind(void **state)
{
    (void)state;
    for (int i = 0; i < N_SHAPES; i++)
        for (int kinds = 0; kinds < N_PATTERNS * N_PATTERNS; kinds += is_reduced ? 6 : 1)
            for (int j = 0; j <= N_USUAL; j++) {
                const product_case of = {.seed = (uint64_t)(100 * i + kinds),
                                         .a_kind = (pattern_kind)(kinds % N_PATTERNS),
                                         .b_kind = (pattern_kind)(kinds / N_PATTERNS),
                                         .sizes = small_shapes[i],
                                         .start = j % 2 ? 3 : 0,
                                         .numbers = (numbers_kind)((kinds + i) % ALL_NAN),
                                         .layout = (layout)((kinds + j) % N_LAYOUTS),
                                         .by = scales[(kinds / N_PATTERNS + i + j) % N_SCALES],
                                         .tiling = tiling_at(j)};
                run(&of);
            }
}

// Fractions by scales that are none, either: f64's are f64.
static void test_all_data_types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F64, WEFT_F32, WEFT_F16, WEFT_BF16};
    for (int i = weft_context_limits(ctx)->has_f64 ? 0 : 1; i < 4; i++)
        for (int j = 0; j <= N_USUAL; j++)
            for (int k = 0; k < 3; k++) {
                const product_case of = {
                    .seed = 31,
                    .a_kind = PATTERN_REPEATED,
                    .sizes = (const int64_t[]){12, 14, 60, 60, 80},
                    .dtype = dtypes[i],
                    .wide = {(i + j) % 2 ? WEFT_I64 : WEFT_I32, j / 2 % 2 ? WEFT_I64 : WEFT_I32},
                    .narrow = {(i + j) % 3 ? WEFT_I16 : WEFT_I32, i % 2 ? WEFT_I32 : WEFT_I16},
                    .start = 4,
                    .numbers = k < 2 ? FRACTIONS : WHOLE,
                    .layout = (layout)(j % N_LAYOUTS),
                    .by = k > 0 ? scales[k] : (scale){0.1, -0.3},
                    .tiling = tiling_at(j)};
                if (goes_with(i, j))
                    run(&of);
            }
}

// One long row among others, wide rows of B in any order, and C wider than a group has room for:
// as planned, and cut so that several groups have several stretches each. The row is shorter for
// items alone: llvmpipe ends an item's loops after 65535 turns of all of them.
static void test_long_rows_of_every_kind(void **state)
{
    (void)state;
    const int64_t n = is_reduced ? 5000 : 200000;
    for (int i = 0; i < 8; i++) {
        const int64_t k = !is_reduced ? 6000 : i < 2 ? 60 : 600;
        const product_case of = {.seed = 19,
                                 .sizes = (const int64_t[]){9, k, n, k, 20 * k},
                                 .a_kind = i % 2 ? PATTERN_ONE_ROW : PATTERN_REPEATED,
                                 .numbers = i % 2 ? FRACTIONS : WHOLE,
                                 .layout = (layout)(i % N_LAYOUTS),
                                 .by = scales[i % 4],
                                 .tiling = i < 6 ? &wide_tilings[i / 2] : NULL};
        run(&of);
    }
}

// A row with more entries than are summed at once, in stretches of half as many columns as there
// are sums.
static void test_sums_in_row_chunks(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 9, 70, 4200, 30};
    for (int i = 0; i < 6; i++) {
        const product_case of = {.seed = 27,
                                 .sizes = sizes,
                                 .a_kind = PATTERN_REPEATED,
                                 .layout = (layout)(i % N_LAYOUTS),
                                 .by = scales[i % 3 + 1],
                                 .tiling = i < 3 ? &wide_tilings[i] : tiling_at(i)};
        run(&of);
    }
}

// More long rows than groups share: the last ones are done as all others.
static void test_many_long_rows(void **state)
{
    (void)state;
    static const int64_t sizes[] = {3000, 20, 70, 5000, 90};
    run(&(product_case){.seed = 23, .sizes = sizes, .by = {2, 1}, .tiling = &tilings[3]});
}

// The order of sums is that of A's entries, however the work is cut. The zeros' signs, too, which
// alpha changes.
static void test_same_bits_in_every_tiling(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        operands o;
        random_state random = {77};
        product_case of = {.seed = 77, .numbers = FRACTIONS, .by = {-0.7, i ? 0.3 : 0}};
        const pattern A = pattern_create(&random, PATTERN_REPEATED, 10, 20, 80);
        const pattern B = pattern_create(&random, PATTERN_RANDOM, 20, 30, 60);
        operands_create(&o, A, B, &of);
        call(&o, &of);
        check(&o, &of);
        char *want = read_output(&o);
        for (int j = 0; j < 2 * (N_USUAL + 1); j++) {
            of.tiling = tiling_at(j % (N_USUAL + 1));
            guarded_restore(&o.out, queue);
            call(&o, &of);
            guarded_check(&o.out, queue, want + (size_t)o.out.start * o.out.size, "the same bits");
        }
        free(want);
        operands_destroy(&o);
    }
}

// A A^T: rows with entries at one place at least, and empty ones on both sides.
static void multiply_file(const weft_csr_host *host)
{
    int64_t *source;
    const uint64_t nnz = (uint64_t)host->nnz;
    const product_case of = {.seed = nnz, .start = 1, .layout = (layout)(nnz % 2), .by = {2, 1}};
    if (host->n_rows * host->n_rows > (is_reduced ? 1 << 18 : 1 << 23))
        return;
    const pattern A = pattern_of_host(host);
    run_patterns(A, pattern_transposed(&A, &source), &of);
    free(source);
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(multiply_file);
}

// ---- calls

static const product_case good_case = {.seed = 4, .start = 6, .by = {2, 1}};
static operands good; // A 3 x 4, B 4 x 5, all entries

typedef struct product_call {
    weft_context *ctx;
    weft_csr A, B;
    weft_tensor C;
    weft_spgemm_params params;
} product_call;

static product_call good_call(void)
{
    return (product_call){ctx, good.there[0].csr, good.there[1].csr, good.C,
                          *WEFT_SPGEMM(.tiling = TILING_TEXT(spgemm, &tilings[0]))};
}

static weft_status start(const product_call *c)
{
    return weft_spgemm_dense(c->ctx, queue, good_case.by.alpha, &c->A, &c->B, good_case.by.beta,
                             &c->C, &c->params);
}

static void refuse(product_call *c, weft_status want, const char *part)
{
    cl_event event = NULL;
    c->params.event = &event;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = start(c);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One thing changed in a good call.
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        product_call c = good_call();                                                              \
        change;                                                                                    \
        refuse(&c, status, part);                                                                  \
    } while (0)

static void test_what_is_refused(void **state)
{
    (void)state;
    const weft_spgemm_tiling odd = {.items = 3, .rows = 1, .columns = 1};
    const weft_spgemm_tiling none = {.items = 1, .rows = 0, .columns = 1};
    weft_spgemm_tiling shared = tilings[3];
    shared.long_columns = 48;
    REFUSE(WEFT_BAD_SHAPE, "spgemm_dense: A is 3 x 4, B has 5 rows", c.B.n_rows = 5);
    REFUSE(WEFT_BAD_SHAPE, "spgemm_dense: A B is 3 x 5, C is 3 x 6", c.C.shape[1] = 6);
    REFUSE(WEFT_BAD_SHAPE, "spgemm_dense: B is 4 x 2147483648; at most",
           c.B.n_cols = c.C.shape[1] = c.C.stride[0] = INT64_C(1) << 31);
    REFUSE(WEFT_BAD_SHAPE, "spgemm_dense: C has 3 dimensions; 2 are wanted", c.C.ndim = 3);
    REFUSE(WEFT_BAD_DTYPE, "spgemm_dense: A is f32, B f16, C f32", c.B.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_DTYPE, "spgemm_dense: A is f32, B f32, C f16", c.C.dtype = WEFT_F16);
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.items is 3", c.params.tiling = TILING_TEXT(spgemm, &odd));
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.rows is 0", c.params.tiling = TILING_TEXT(spgemm, &none));
    REFUSE(WEFT_BAD_ARGUMENT, "tiling.long_columns is 48",
           c.params.tiling = TILING_TEXT(spgemm, &shared));

    const weft_csr *A = &good.there[0].csr, *B = &good.there[1].csr;
    assert_int_equal(weft_spgemm_dense(ctx, queue, 1, A, B, 0, NULL, NULL), WEFT_BAD_ARGUMENT);
    assert_says("spgemm_dense: C is NULL");
}

// What is kept there about long rows; without any, nothing is wanted.
static void test_workspaces(void **state)
{
    (void)state;
    const product_call fine = good_call();
    const weft_spgemm_params *with_long = WEFT_SPGEMM(.tiling = TILING_TEXT(spgemm, &tilings[3]));
    size_t bytes = 1;
    assert_ok(weft_spgemm_dense_workspace(ctx, &fine.A, &fine.B, &fine.C, &fine.params, &bytes));
    assert_int_equal(bytes, 0);
    assert_ok(weft_spgemm_dense_workspace(ctx, &fine.A, &fine.B, &fine.C, with_long, &bytes));
    assert_true(bytes > 0);
    assert_int_equal(weft_spgemm_dense_workspace(ctx, &fine.A, &fine.B, &fine.C, NULL, NULL),
                     WEFT_BAD_ARGUMENT);
    assert_says("spgemm_dense_workspace: bytes is NULL");
}

// Entries, but no row or no column of C for them; or none in A or in B, and beta is 1: nothing is
// done, and the event comes.
static void test_nothing_to_do(void **state)
{
    (void)state;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    for (int i = 0; i < 4; i++) {
        cl_event done = NULL;
        product_call c = good_call();
        c.params.event = &done;
        if (i < 2)
            *(i == 0 ? &c.A.n_rows : &c.B.n_cols) = c.C.shape[i] = 0;
        else
            *(i == 2 ? &c.A.nnz : &c.B.nnz) = 0;
        assert_ok(start(&c));
        assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
        clReleaseEvent(done);
    }
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

static void test_events(void **state)
{
    (void)state;
    cl_int code;
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    product_call c = good_call();
    c.params = *WEFT_SPGEMM(.tiling = TILING_TEXT(spgemm, &tilings[3]), .n_wait = 1, .wait = &gate,
                            .event = &done);
    assert_ok(start(&c));
    clGetEventInfo(done, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(code), &code, NULL);
    assert_int_not_equal(code, CL_COMPLETE);
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    clReleaseEvent(done);
    clReleaseEvent(gate);
    check(&good, &good_case);
}

static void test_plans(void **state)
{
    (void)state;
    char text[100];
    const product_call c = good_call();
    assert_int_equal(weft_spgemm_dense_describe(ctx, &c.A, &c.B, &c.C, &c.params, text, 100), 26);
    assert_string_equal(text, "items 1, rows 3, columns 4");
    assert_int_equal(weft_spgemm_dense_describe(ctx, &c.B, &c.A, &c.C, NULL, text, 100), -1);
    assert_says("spgemm_dense: A is 4 x 5, B has 3 rows");
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED") || is_on("rusticl"); // whose loops end early
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    operands_create(&good, pattern_of_cells(3, 4, 0xfff), pattern_of_cells(4, 5, 0xfffff),
                    &good_case);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_pattern),
        cmocka_unit_test(test_patterns_of_every_kind),
        cmocka_unit_test(test_all_data_types),
        cmocka_unit_test(test_long_rows_of_every_kind),
        cmocka_unit_test(test_sums_in_row_chunks),
        cmocka_unit_test(test_many_long_rows),
        cmocka_unit_test(test_same_bits_in_every_tiling),
        cmocka_unit_test(test_matrices_out_of_files),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_workspaces),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_plans),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    operands_destroy(&good);
    weft_context_destroy(&ctx);
    return failed;
}
