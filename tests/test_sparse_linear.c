// SPDX-License-Identifier: Apache-2.0
// The sparse linear layer: forward and gradients against plain loops in double, gradients against
// finite differences, and what is refused.
#include <weft/elementwise.h>
#include <weft/reduce.h>
#include <weft/sparse_linear.h>

#include <math.h>

#include "scalar.h"
#include "sparse_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

// More than any call here needs. Half of the cases bring it; on Oclgrind all do: its check for
// uninitialised memory takes a buffer that the host never wrote for one that was released before.
static cl_mem scratch;
enum { SCRATCH_BYTES = 1 << 16 };

// ---- operands

typedef struct layer_case {
    uint64_t seed;
    int64_t n_out, n_in, n;
    int64_t n_batches; // 0: matrices
    sparse_rows rows;
    sparse_numbers numbers;
    weft_dtype dtype, offset_dtype, index_dtype;
    dense_layout x_layout, y_layout; // of X and dX, and of Y and dY
    weft_activation activation;
    bool has_bias, with_plan, own_values;
    bool is_wide;    // results are f32, where W and the rest are f16 or bf16
    bool is_vectors; // n is 1, and the axis of it is left out
    double beta;
} layer_case;

// What a call sees, the same as matrices, and its buffer at first.
typedef struct operand {
    weft_tensor view, laid;
    void *before;
    size_t bytes;
} operand;

typedef struct layer {
    layer_case of;
    sparse_operand sparse;
    weft_csr W;
    operand bias, X, Y, dY, dX, dW;
    weft_spmm_plan *plan, *transposed; // of W and W^T
} layer;

static operand make_operand(const layer_case *of, weft_dtype as, random_state *random,
                            int64_t n_batches, int64_t rows, int64_t columns, dense_layout layout)
{
    operand o;
    const weft_dtype dtype = as ? as : WEFT_F32;
    const int64_t n = dense_lay_out(&o.laid, as, n_batches, rows, columns, layout, of->seed % 3);
    o.bytes = (size_t)n * weft_dtype_size(dtype);
    o.before = memory_filled(o.bytes, SPARSE_POISON);
    EACH_ELEMENT(&o.laid, batch, row, column)
    scalar_put(dtype, o.before, dense_place(&o.laid, batch, row, column),
               sparse_number(of->numbers, random, 3));
    o.laid.buffer = buffer_of(ctx, o.before, o.bytes);
    o.view = o.laid;
    return o;
}

// One number after the other; without the axis of rows.
static operand make_line(const layer_case *of, weft_dtype as, random_state *random,
                         int64_t n_batches, int64_t n)
{
    operand o = make_operand(of, as, random, n_batches, 1, n, ROWS_PADDED);
    const int last = --o.view.ndim;
    o.view.shape[last - 1] = o.view.shape[last];
    o.view.stride[last - 1] = o.view.stride[last];
    if (n_batches > 0) {
        o.view.shape[0] = n_batches;
        o.view.stride[0] = o.laid.stride[0];
    }
    return o;
}

static void create(layer *l, const layer_case *of)
{
    random_state random = {of->seed};
    const sparse_form form = {.seed = of->seed,
                              .n_rows = of->n_out,
                              .n_cols = of->n_in,
                              .n_matrices = of->own_values ? of->n_batches : 0,
                              .rows = of->rows,
                              .numbers = of->numbers,
                              .dtype = of->dtype,
                              .offset_dtype = of->offset_dtype,
                              .index_dtype = of->index_dtype,
                              .offsets_start = of->seed % 2,
                              .indices_start = of->seed % 4,
                              .values_start = of->seed % 4};
    const weft_dtype read = of->dtype, written = of->is_wide ? WEFT_F32 : read;
    *l = (layer){.of = *of};
    sparse_make(&l->sparse, &form, &random);
    sparse_upload(&l->sparse, &form, ctx);
    l->W = l->sparse.csr;
    l->bias = make_line(of, read, &random, 0, of->n_out);
    l->X = make_operand(of, read, &random, of->n_batches, of->n_in, of->n, of->x_layout);
    l->dX = make_operand(of, written, &random, of->n_batches, of->n_in, of->n, of->x_layout);
    l->Y = make_operand(of, written, &random, of->n_batches, of->n_out, of->n, of->y_layout);
    l->dY = make_operand(of, read, &random, of->n_batches, of->n_out, of->n, of->y_layout);
    l->dW = make_line(of, written, &random, of->n_batches, l->W.nnz);
    if (of->is_vectors)
        l->X.view.ndim = l->dX.view.ndim = l->Y.view.ndim = l->dY.view.ndim = 1;
    if (of->with_plan)
        assert_ok(weft_spmm_plan_create(&l->plan, ctx, queue, &l->W, NULL));
    assert_ok(weft_spmm_plan_create(&l->transposed, ctx, queue, &l->W,
                                    WEFT_SPMM_PLAN(.transpose_a = true)));
}

static void destroy(layer *l)
{
    operand *const operands[] = {&l->bias, &l->X, &l->Y, &l->dY, &l->dX, &l->dW};
    for (size_t i = 0; i < sizeof(operands) / sizeof(operands[0]); i++) {
        clReleaseMemObject(operands[i]->laid.buffer);
        free(operands[i]->before);
    }
    weft_spmm_plan_destroy(&l->plan);
    weft_spmm_plan_destroy(&l->transposed);
    sparse_destroy(&l->sparse);
}

static cl_mem workspace_of(const layer *l)
{
    return l->of.seed % 4 < 2 && !is_on("oclgrind") ? NULL : scratch;
}

static weft_status forward(const layer *l)
{
    return weft_sparse_linear(ctx, queue, &l->W, &l->X.view, &l->Y.view,
                              WEFT_SPARSE_LINEAR(.plan = l->plan, .workspace = workspace_of(l),
                                                 .bias = l->of.has_bias ? &l->bias.view : NULL,
                                                 .activation = l->of.activation));
}

static weft_status by_input(const layer *l, const operand *dY)
{
    return weft_sparse_linear_dx(ctx, queue, &l->W, &dY->view, &l->dX.view,
                                 WEFT_SPARSE_LINEAR(.plan = l->transposed,
                                                    .workspace = workspace_of(l),
                                                    .beta = l->of.beta));
}

// W's values are not looked at.
static weft_status by_weights(const layer *l, const operand *dY)
{
    weft_csr pattern = l->W;
    pattern.values = NULL;
    return weft_sparse_linear_dw(
        ctx, queue, &dY->view, &l->X.view, &pattern, &l->dW.view,
        WEFT_SPARSE_LINEAR(.workspace = workspace_of(l), .beta = l->of.beta));
}

// ---- plain loops

static double number_at(const operand *o, const void *image, int64_t batch, int64_t row,
                        int64_t column)
{
    const weft_dtype dtype = o->laid.dtype ? o->laid.dtype : WEFT_F32;
    return scalar_get(dtype, image, dense_place(&o->laid, batch, row, column));
}

static double before(const operand *o, int64_t batch, int64_t row, int64_t column)
{
    return number_at(o, o->before, batch, row, column);
}

static double weight(const layer *l, int64_t batch, int64_t e)
{
    const weft_csr_host *host = &l->sparse.host;
    return scalar_get(host->dtype, host->values, batch * l->sparse.values_step + e);
}

static double y_at(const layer *l, int64_t batch, int64_t row, int64_t column)
{
    const sparse_span span = sparse_row(&l->sparse.host, row);
    double z = l->of.has_bias ? before(&l->bias, 0, 0, row) : 0;
    for (int64_t e = span.first; e < span.stop; e++)
        z += weight(l, batch, e) * before(&l->X, batch, sparse_column(&l->sparse.host, e), column);
    return l->of.activation == WEFT_ACTIVATION_RELU && z < 0 ? 0 : z;
}

static double dx_at(const layer *l, int64_t batch, int64_t row, int64_t column)
{
    const weft_csr_host *host = &l->sparse.host;
    double sum = l->of.beta * before(&l->dX, batch, row, column);
    for (int64_t i = 0; i < host->n_rows; i++)
        for (int64_t e = sparse_row(host, i).first; e < sparse_row(host, i).stop; e++)
            if (sparse_column(host, e) == row)
                sum += weight(l, batch, e) * before(&l->dY, batch, i, column);
    return sum;
}

static double dw_at(const layer *l, int64_t batch, int64_t row, int64_t e)
{
    const weft_csr_host *host = &l->sparse.host;
    double sum = l->of.beta * before(&l->dW, batch, row, e);
    int64_t i = 0;
    while (sparse_row(host, i).stop <= e)
        i++;
    for (int64_t s = 0; s < l->of.n; s++)
        sum += before(&l->dY, batch, i, s) * before(&l->X, batch, sparse_column(host, e), s);
    return sum;
}

// Every element is what the loop says, after one rounding, and nothing around them was written.
static void check(const layer *l, const operand *o, const char *name,
                  double (*want_at)(const layer *, int64_t, int64_t, int64_t))
{
    const weft_dtype dtype = o->laid.dtype ? o->laid.dtype : WEFT_F32;
    const size_t size = weft_dtype_size(dtype);
    char *after = buffer_now(queue, o->laid.buffer, o->bytes);
    EACH_ELEMENT(&o->laid, batch, row, column)
    {
        const double want = want_at(l, batch, row, column);
        const double got = number_at(o, after, batch, row, column);
        const size_t at = (size_t)dense_place(&o->laid, batch, row, column) * size;
        if (!sparse_is_right(NUMBERS_WHOLE, dtype, got, want, 0))
            fail_msg("seed %d: %s[%d][%d][%d] is %g, not %g", (int)l->of.seed, name, (int)batch,
                     (int)row, (int)column, got, want);
        memcpy(after + at, (char *)o->before + at, size);
    }
    assert_memory_equal(after, o->before, o->bytes);
    free(after);
}

static void run(const layer_case *of)
{
    layer l;
    create(&l, of);
    assert_ok(forward(&l));
    check(&l, &l.Y, "Y", y_at);
    assert_ok(by_input(&l, &l.dY));
    check(&l, &l.dX, "dX", dx_at);
    assert_ok(by_weights(&l, &l.dY));
    check(&l, &l.dW, "dW", dw_at);
    destroy(&l);
}

// ---- tests of results

static void test_against_plain_loops(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_DEFAULT, WEFT_F64};
    const bool has_f64 = weft_context_limits(ctx)->has_f64;
    for (uint64_t seed = 0; seed < (is_reduced ? 12 : 60); seed++) {
        random_state random = {seed};
        const bool by_rows = seed % 2; // activations by rows, seen changed over
        layer_case of = {.seed = seed,
                         .dtype = dtypes[seed % (has_f64 ? 5 : 4)],
                         .x_layout = by_rows ? COLUMN_MAJOR : ROWS_PADDED,
                         .y_layout = by_rows ? COLUMN_MAJOR : ROWS_BACKWARDS,
                         .activation = by_rows ? WEFT_ACTIVATION_RELU : WEFT_ACTIVATION_NONE,
                         .has_bias = true};
        of.n_out = random_between(&random, 1, 9);
        of.n_in = random_between(&random, 1, 9);
        of.n = seed % 3 ? random_between(&random, 1, 6) : 1;
        of.n_batches = seed % 4 ? random_below(&random, 3) : 0;
        of.is_vectors = of.n_batches == 0 && of.n == 1;
        of.own_values = of.n_batches > 0 && random_below(&random, 2);
        of.rows = (sparse_rows)random_below(&random, N_ROWS);
        of.with_plan = random_below(&random, 2);
        of.beta = random_below(&random, 2) ? 2 : 0;
        of.is_wide = weft_dtype_size(of.dtype) == 2 && seed % 2 == 0;
        run(&of);
    }
}

static void test_without_bias_and_with_other_integers(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        const layer_case of = {.seed = seed,
                               .n_out = 5,
                               .n_in = 7,
                               .n = 4,
                               .rows = seed % 2 ? ROWS_EMPTY : ROWS_RANDOM,
                               .offset_dtype = WEFT_I64,
                               .index_dtype = WEFT_I16,
                               .has_bias = seed >= 2,
                               .activation = WEFT_ACTIVATION_RELU};
        run(&of);
    }
}

static void test_nothing_at_all(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const layer_case of = {.n_out = i == 0 ? 0 : 3,
                               .n_in = i == 1 ? 0 : 4,
                               .n = i == 2 ? 0 : 5,
                               .rows = i == 3 ? ROWS_EMPTY : ROWS_FULL,
                               .has_bias = true,
                               .activation = WEFT_ACTIVATION_RELU};
        run(&of);
    }
}

// What is only written may hold NaN.
static void test_results_full_of_nan(void **state)
{
    (void)state;
    const layer_case of = {.seed = 5, .n_out = 5, .n_in = 6, .n = 4, .rows = ROWS_RANDOM};
    layer l;
    create(&l, &of);
    operand *const results[] = {&l.Y, &l.dX, &l.dW};
    for (int i = 0; i < 3; i++) {
        memset(results[i]->before, SPARSE_POISON, results[i]->bytes);
        buffer_put(queue, results[i]->laid.buffer, results[i]->before, results[i]->bytes);
    }
    l.of.beta = 0;
    assert_ok(forward(&l));
    assert_ok(by_input(&l, &l.dY));
    assert_ok(by_weights(&l, &l.dY));
    for (int i = 0; i < 3; i++) {
        void *after = buffer_now(queue, results[i]->laid.buffer, results[i]->bytes);
        EACH_ELEMENT(&results[i]->laid, batch, row, column)
        assert_false(isnan(number_at(results[i], after, batch, row, column)));
        free(after);
    }
    destroy(&l);
}

// ---- gradients

// How far they may be from finite differences. With numbers up to 1 and a step h a parameter's
// difference errs by up to n samples times h^2 / 6 times the third derivative of f, below 2 for
// each; whole numbers through no activation are exact.
typedef struct gradient_case {
    weft_dtype dtype;
    weft_activation activation;
    const char *backward; // of dy and z
    sparse_numbers numbers;
    double step, tolerance;
} gradient_case;

enum { N_SAMPLES = 3 };
static const double SMOOTH_STEP = 0x1p-12;

static double loss_of(const layer *l)
{
    assert_ok(forward(l));
    void *image = buffer_now(queue, l->Y.laid.buffer, l->Y.bytes);
    double loss = 0;
    EACH_ELEMENT(&l->Y.laid, batch, row, column)
    loss += number_at(&l->Y, image, batch, row, column) * before(&l->dY, batch, row, column);
    free(image);
    return loss;
}

// The loss with number `at` of a buffer moved by `step`.
static double loss_with(const layer *l, cl_mem buffer, int64_t at, double step)
{
    const weft_dtype dtype = l->sparse.host.dtype;
    size_t bytes;
    clGetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
    void *image = buffer_now(queue, buffer, bytes);
    const double number = scalar_get(dtype, image, at);
    scalar_put(dtype, image, at, number + step);
    buffer_put(queue, buffer, image, bytes);
    const double loss = loss_of(l);
    scalar_put(dtype, image, at, number);
    buffer_put(queue, buffer, image, bytes);
    free(image);
    return loss;
}

static void check_gradient(const layer *l, const gradient_case *g, cl_mem buffer, int64_t at,
                           double gradient, const char *name)
{
    const double above = loss_with(l, buffer, at, g->step);
    const double below = loss_with(l, buffer, at, -g->step);
    const double slope = (above - below) / (2 * g->step);
    if (!(fabs(slope - gradient) <= g->tolerance))
        fail_msg("%s, number %d of %s: the gradient is %.9g, but the slope %.9g",
                 weft_activation_name(g->activation), (int)at, name, gradient, slope);
}

// dZ takes the place of dY, in a buffer of its own.
static operand gradient_before_activation(layer *l, const gradient_case *g, operand *Z)
{
    random_state random = {0};
    operand dZ = make_operand(&l->of, l->of.dtype, &random, 0, l->of.n_out, l->of.n, ROW_MAJOR);
    *Z = make_operand(&l->of, l->of.dtype, &random, 0, l->of.n_out, l->of.n, ROW_MAJOR);
    assert_ok(weft_sparse_linear(
        ctx, queue, &l->W, &l->X.view, &Z->view,
        WEFT_SPARSE_LINEAR(.workspace = workspace_of(l), .bias = &l->bias.view)));
    assert_ok(weft_elementwise(ctx, queue, WEFT_INPUTS({"dy", &l->dY.view}, {"z", &Z->view}),
                               WEFT_OUTPUTS({g->backward, &dZ.view}), NULL));
    return dZ;
}

static void check_gradients(layer *l, const gradient_case *g)
{
    operand Z, dZ = gradient_before_activation(l, g, &Z);
    random_state random = {0};
    operand db = make_line(&l->of, l->of.dtype, &random, 0, l->of.n_out);
    assert_ok(by_input(l, &dZ));
    assert_ok(by_weights(l, &dZ));
    assert_ok(weft_reduce(ctx, queue, WEFT_SUM, &dZ.view, 1, (const int[]){1}, &db.view, NULL));
    void *dx = buffer_now(queue, l->dX.laid.buffer, l->dX.bytes);
    void *dw = buffer_now(queue, l->dW.laid.buffer, l->dW.bytes);
    void *sums = buffer_now(queue, db.laid.buffer, db.bytes);
    const int64_t step = is_reduced ? 5 : 1;
    for (int64_t e = 0; e < l->W.nnz; e += step)
        check_gradient(l, g, l->W.values, l->W.values_start + e, number_at(&l->dW, dw, 0, 0, e),
                       "W");
    for (int64_t i = 0; i < l->of.n_in * l->of.n; i += step) {
        const int64_t row = i / l->of.n, column = i % l->of.n;
        check_gradient(l, g, l->X.laid.buffer, dense_place(&l->X.laid, 0, row, column),
                       number_at(&l->dX, dx, 0, row, column), "X");
    }
    for (int64_t i = 0; i < l->of.n_out; i += step)
        check_gradient(l, g, l->bias.laid.buffer, dense_place(&l->bias.laid, 0, 0, i),
                       number_at(&db, sums, 0, 0, i), "bias");
    operand *const own[] = {&Z, &dZ, &db};
    for (int i = 0; i < 3; i++) {
        clReleaseMemObject(own[i]->laid.buffer);
        free(own[i]->before);
    }
    free(dx);
    free(dw);
    free(sums);
}

static void run_gradients(const gradient_case *g)
{
    const layer_case of = {.seed = 21,
                           .n_out = 4,
                           .n_in = 5,
                           .n = N_SAMPLES,
                           .rows = ROWS_RANDOM,
                           .numbers = g->numbers,
                           .dtype = g->dtype,
                           .activation = g->activation,
                           .has_bias = true};
    layer l;
    create(&l, &of);
    check_gradients(&l, g);
    destroy(&l);
}

static void test_gradients(void **state)
{
    (void)state;
    static const struct {
        weft_activation activation;
        const char *backward;
    } smooth[] = {
        {WEFT_ACTIVATION_GELU, "gelu_backward(dy, z)"},
        {WEFT_ACTIVATION_GELU_TANH, "gelu_tanh_backward(dy, z)"},
        {WEFT_ACTIVATION_SILU, "silu_backward(dy, z)"},
        {WEFT_ACTIVATION_SIGMOID, "sigmoid_backward(dy, z)"},
        {WEFT_ACTIVATION_TANH, "tanh_backward(dy, z)"},
    };
    const gradient_case linear = {
        WEFT_F32, WEFT_ACTIVATION_NONE, "dy + 0 * z", NUMBERS_WHOLE, 0.125, 0};
    run_gradients(&linear);
    for (int i = 0; weft_context_limits(ctx)->has_f64 && i < 5; i++) {
        const gradient_case g = {WEFT_F64,           smooth[i].activation,
                                 smooth[i].backward, NUMBERS_FRACTIONS,
                                 SMOOTH_STEP,        N_SAMPLES * SMOOTH_STEP * SMOOTH_STEP};
        run_gradients(&g);
    }
}

// ---- calls

// Each waits for the one before.
static void test_events(void **state)
{
    (void)state;
    const layer_case of = {.seed = 9, .n_out = 5, .n_in = 6, .n = 4, .rows = ROWS_RANDOM};
    layer l;
    cl_event done[3];
    create(&l, &of);
    assert_ok(weft_sparse_linear(ctx, queue, &l.W, &l.X.view, &l.Y.view,
                                 WEFT_SPARSE_LINEAR(.event = &done[0])));
    assert_ok(weft_sparse_linear_dx(ctx, queue, &l.W, &l.Y.view, &l.dX.view,
                                    WEFT_SPARSE_LINEAR(.plan = l.transposed, .n_wait = 1,
                                                       .wait = &done[0], .event = &done[1])));
    assert_ok(weft_sparse_linear_dw(
        ctx, queue, &l.dY.view, &l.X.view, &l.W, &l.dW.view,
        WEFT_SPARSE_LINEAR(.n_wait = 1, .wait = &done[1], .event = &done[2])));
    assert_int_equal(clWaitForEvents(1, &done[2]), CL_SUCCESS);
    for (int i = 0; i < 3; i++) {
        cl_int run;
        clGetEventInfo(done[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(run), &run, NULL);
        assert_int_equal(run, CL_COMPLETE);
        clReleaseEvent(done[i]);
    }
    check(&l, &l.Y, "Y", y_at);
    check(&l, &l.dW, "dW", dw_at);
    destroy(&l);
}

typedef struct call {
    layer l;
    weft_sparse_linear_params params;
} call;

static layer shared; // by the tests of what is refused

static int make_shared(void **state)
{
    (void)state;
    const layer_case of = {.seed = 6,
                           .n_out = 5,
                           .n_in = 6,
                           .n = 4,
                           .n_batches = 2,
                           .rows = ROWS_FULL,
                           .with_plan = true};
    create(&shared, &of);
    return 0;
}

static int destroy_shared(void **state)
{
    (void)state;
    destroy(&shared);
    return 0;
}

static call good_call(const weft_spmm_plan *plan)
{
    return (call){shared, {.size = sizeof(weft_sparse_linear_params), .plan = plan}};
}

static void assert_refused(weft_status got, weft_status want, const char *part, uint64_t launches)
{
    if (got != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(got),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One thing changed in a good call, which fails, says so and enqueues nothing.
#define REFUSE(plan, made, status, part, change)                                                   \
    do {                                                                                           \
        call c = good_call(plan);                                                                  \
        layer *l = &c.l;                                                                           \
        const uint64_t launches = weft_context_get_stats(ctx).launches;                            \
        change;                                                                                    \
        assert_refused(made, status, part, launches);                                              \
    } while (0)
#define FORWARD(status, part, change)                                                              \
    REFUSE(shared.plan, weft_sparse_linear(ctx, queue, &l->W, &l->X.view, &l->Y.view, &c.params),  \
           status, part, change)
#define BY_INPUT(status, part, change)                                                             \
    REFUSE(shared.transposed,                                                                      \
           weft_sparse_linear_dx(ctx, queue, &l->W, &l->dY.view, &l->dX.view, &c.params), status,  \
           part, change)
#define BY_WEIGHTS(status, part, change)                                                           \
    REFUSE(                                                                                        \
        NULL,                                                                                      \
        weft_sparse_linear_dw(ctx, queue, &l->dY.view, &l->X.view, &l->W, &l->dW.view, &c.params), \
        status, part, change)

static void test_operands_that_are_missing(void **state)
{
    (void)state;
    const layer *l = &shared;
    const weft_status status = WEFT_BAD_ARGUMENT;
    const uint64_t n = weft_context_get_stats(ctx).launches;
    const weft_tensor *X = &l->X.view, *Y = &l->Y.view, *dX = &l->dX.view, *dY = &l->dY.view;
    const weft_tensor *dW = &l->dW.view;
    assert_refused(weft_sparse_linear(NULL, queue, &l->W, X, Y, NULL), status,
                   "sparse_linear: ctx is NULL", n);
    assert_refused(weft_sparse_linear(ctx, queue, NULL, X, Y, NULL), status,
                   "sparse_linear: W is NULL", n);
    assert_refused(weft_sparse_linear(ctx, queue, &l->W, NULL, Y, NULL), status,
                   "sparse_linear: X is NULL", n);
    assert_refused(weft_sparse_linear(ctx, queue, &l->W, X, NULL, NULL), status,
                   "sparse_linear: Y is NULL", n);
    assert_refused(weft_sparse_linear_dx(ctx, queue, &l->W, NULL, dX, NULL), status,
                   "sparse_linear_dx: dY is NULL", n);
    assert_refused(weft_sparse_linear_dx(ctx, queue, &l->W, dY, NULL, NULL), status,
                   "sparse_linear_dx: dX is NULL", n);
    assert_refused(weft_sparse_linear_dx(ctx, queue, &l->W, dY, dX, NULL), status,
                   "sparse_linear_dx: W^T requires a plan", n);
    assert_refused(weft_sparse_linear_dw(ctx, queue, dY, X, &l->W, NULL, NULL), status,
                   "sparse_linear_dw: dW is NULL", n);
    assert_refused(weft_sparse_linear_dw(ctx, queue, dY, NULL, &l->W, dW, NULL), status,
                   "sparse_linear_dw: X is NULL", n);
}

static void test_params_that_do_not_serve(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_ARGUMENT;
    FORWARD(status, "sparse_linear: params.beta is 1, but Y is only written", c.params.beta = 1);
    FORWARD(status, "sparse_linear: params.activation is 7: no weft_activation",
            c.params.activation = (weft_activation)7);
    FORWARD(status, "sparse_linear: the plan was made for W^T, the call is for W",
            c.params.plan = l->transposed);
    BY_INPUT(status, "sparse_linear_dx: params.bias", c.params.bias = &l->bias.view);
    BY_INPUT(status, "sparse_linear_dx: params.activation is gelu: its backward comes first",
             c.params.activation = WEFT_ACTIVATION_GELU);
    BY_INPUT(status, "sparse_linear_dx: the plan was made for W, the call is for W^T",
             c.params.plan = l->plan);
    BY_WEIGHTS(status, "sparse_linear_dw: params.bias", c.params.bias = &l->bias.view);
    BY_WEIGHTS(status, "sparse_linear_dw: params.activation is relu",
               c.params.activation = WEFT_ACTIVATION_RELU);
}

static void test_shapes_that_do_not_fit(void **state)
{
    (void)state;
    const weft_status status = WEFT_BAD_SHAPE;
    FORWARD(status, "sparse_linear: X has 4 dimensions; 2 are wanted, or 3", l->X.view.ndim = 4);
    FORWARD(status, "sparse_linear: X has 2 dimensions, Y 3",
            (l->X.view.ndim = 2, l->X.view.shape[0] = 6));
    FORWARD(status, "sparse_linear: W is 5 x 6, X has 5 rows, not 6", l->X.view.shape[1] = 5);
    FORWARD(status, "sparse_linear: W is 5 x 6, Y has 4 rows, not 5", l->Y.view.shape[1] = 4);
    FORWARD(status, "sparse_linear: X has 3 columns, Y 4", l->X.view.shape[2] = 3);
    FORWARD(status, "sparse_linear: X is a batch of 1, Y of 2", l->X.view.shape[0] = 1);
    FORWARD(status, "sparse_linear: bias has 3 numbers, Y 5 rows",
            (l->bias.view.shape[0] = 3, c.params.bias = &l->bias.view));
    BY_INPUT(status, "sparse_linear_dx: W is 5 x 6, dX has 5 rows, not 6", l->dX.view.shape[1] = 5);
    BY_WEIGHTS(status, "sparse_linear_dw: dW has 29 values, W 30 entries",
               l->dW.view.shape[1] = 29);
    BY_WEIGHTS(status, "sparse_linear_dw: X has 3 dimensions, dW 1: 2 are wanted",
               (l->dW.view.ndim = 1, l->dW.view.shape[0] = 30, l->dW.view.stride[0] = 1));
    BY_WEIGHTS(status, "sparse_linear_dw: X is a batch of 2, dW of 1", l->dW.view.shape[0] = 1);
    BY_WEIGHTS(status, "sparse_linear_dw: dW has stride -1",
               (l->dW.view.stride[1] = -1, l->dW.view.offset += 29));
}

static void test_types_that_do_not_fit(void **state)
{
    (void)state;
    FORWARD(WEFT_BAD_DTYPE, "sparse_linear: X is f16, W f32; both must be the same",
            l->X.view.dtype = WEFT_F16);
    FORWARD(WEFT_BAD_DTYPE, "sparse_linear: Y is f16, W f32; both must be the same",
            l->Y.view.dtype = WEFT_F16);
    BY_INPUT(WEFT_BAD_DTYPE, "sparse_linear_dx: dY is f32, W f16",
             l->W.dtype = l->dX.view.dtype = WEFT_F16);
    FORWARD(WEFT_BAD_DTYPE, "sparse_linear: bias is bf16, W f32",
            (l->bias.view.dtype = WEFT_BF16, c.params.bias = &l->bias.view));
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    void *poison = memory_filled(SCRATCH_BYTES, SPARSE_POISON);
    scratch = buffer_of(ctx, poison, SCRATCH_BYTES);
    free(poison);
#define REFUSED(test) cmocka_unit_test_setup_teardown(test, make_shared, destroy_shared)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_plain_loops),
        cmocka_unit_test(test_without_bias_and_with_other_integers),
        cmocka_unit_test(test_nothing_at_all),
        cmocka_unit_test(test_results_full_of_nan),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_events),
        REFUSED(test_operands_that_are_missing),
        REFUSED(test_params_that_do_not_serve),
        REFUSED(test_shapes_that_do_not_fit),
        REFUSED(test_types_that_do_not_fit),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    clReleaseMemObject(scratch);
    weft_context_destroy(&ctx);
    return failed;
}
