// SPDX-License-Identifier: Apache-2.0
// The sparse layer of the examples: forward, gradients against finite differences, training steps
// and pruning, bit by bit.
//
// Weights and inputs are small whole numbers and biases half ones, so that all sums are exact and
// W X + b stays 1/2 away from where relu bends, and the parameters can be moved by 1/8 either way:
// finite differences of a loss that is linear in Y are then no approximation.
#include "sparse_layer.h"

#include <math.h>

#include "random.h"
#include "runtime.h"

const char program_name[] = "test_sparse_layer";

enum { N_OUT = 7, N_IN = 12, N = 9, WIDER = 15, FIRST = 3, EMPTY_ROW = 2, FULL_ROW = 4 };
static const double STEP = 0.125;

static weft_context *ctx;

// A layer with all that goes in and comes out: loss = sum of weigh .* Y.
typedef struct bench {
    sparse_layer layer;
    double dense[N_OUT * N_IN], bias[N_OUT], inputs[N_IN * WIDER], weigh[N_OUT * N];
    weft_tensor all, X; // X: N columns of [N_IN x WIDER]
    weft_tensor Y, dY, dX;
} bench;

// Whole, from -most to most, and not 0.
static double draw(random_state *random, int64_t most)
{
    const int64_t size = random_between(random, 1, most);
    return (double)(random_below(random, 2) == 0 ? size : -size);
}

static void draw_weights(bench *b, random_state *random, weft_csr_host *out, weft_dtype dtype)
{
    float rounded[N_OUT * N_IN];
    for (int row = 0; row < N_OUT; row++)
        for (int col = 0; col < N_IN; col++) {
            const bool is_entry =
                row == FULL_ROW || (row != EMPTY_ROW && random_below(random, 3) == 0);
            b->dense[row * N_IN + col] = is_entry ? draw(random, 3) : 0;
        }
    for (int i = 0; i < N_OUT * N_IN; i++)
        rounded[i] = (float)b->dense[i];
    assert_ok(
        weft_csr_host_from_dense(out, N_OUT, N_IN, rounded, N_IN, 1, 0, WEFT_CSR(.dtype = dtype)));
}

static void write_numbers(const weft_tensor *to, const double *numbers)
{
    float rounded[N_IN * WIDER];
    const size_t n = (size_t)count_elements(to);
    const bool is_double = to->dtype == WEFT_F64;
    for (size_t i = 0; i < n; i++)
        rounded[i] = (float)numbers[i];
    assert_int_equal(clEnqueueWriteBuffer(
                         weft_context_queue(ctx), to->buffer, CL_TRUE, 0, n * (is_double ? 8 : 4),
                         is_double ? (const void *)numbers : rounded, 0, NULL, NULL),
                     CL_SUCCESS);
}

static void read_back(const weft_tensor *from, double *to)
{
    assert_true(read_numbers(weft_context_queue(ctx), from, to));
}

static void create(bench *b, weft_dtype dtype, bool relu)
{
    double begun[N_OUT];
    random_state random = {11};
    weft_csr_host weights;
    draw_weights(b, &random, &weights, dtype);
    for (int i = 0; i < N_OUT; i++)
        b->bias[i] = draw(&random, 3) + 0.5;
    for (int i = 0; i < N_IN * WIDER; i++)
        b->inputs[i] = draw(&random, 2);
    for (int i = 0; i < N_OUT * N; i++)
        b->weigh[i] = draw(&random, 3);
    assert_true(sparse_layer_create(&b->layer, ctx, &weights, 0.75, relu));
    assert_null(weights.values);
    read_back(&b->layer.b, begun);
    for (int i = 0; i < N_OUT; i++)
        assert_true(begun[i] == 0.75);
    write_numbers(&b->layer.b, b->bias);
    assert_true(make_numbers(&b->all, ctx, dtype, N_IN, WIDER, b->inputs));
    assert_true(make_numbers(&b->Y, ctx, dtype, N_OUT, N, NULL));
    assert_true(make_numbers(&b->dY, ctx, dtype, N_OUT, N, NULL));
    assert_true(make_numbers(&b->dX, ctx, dtype, N_IN, N, NULL));
    b->X = b->all;
    b->X.offset = FIRST;
    b->X.shape[1] = N;
}

static void destroy(bench *b)
{
    sparse_layer_free(&b->layer);
    free_tensor(&b->all);
    free_tensor(&b->Y);
    free_tensor(&b->dY);
    free_tensor(&b->dX);
}

static double loss_of(const bench *b)
{
    double y[N_OUT * N], loss = 0;
    assert_true(sparse_layer_forward(&b->layer, &b->X, &b->Y));
    read_back(&b->Y, y);
    for (int i = 0; i < N_OUT * N; i++)
        loss += b->weigh[i] * y[i];
    return loss;
}

// Of a parameter's numbers, with these gradients, those that finite differences disown; of fewer
// numbers where tests are to do less.
static int count_wrong(const bench *b, const weft_tensor *parameter, const double *gradients)
{
    double numbers[N_IN * WIDER];
    const int64_t n = count_elements(parameter);
    const int64_t step = getenv("WEFT_TEST_REDUCED") ? 5 : 1;
    int n_wrong = 0;
    read_back(parameter, numbers);
    for (int64_t i = 0; i < n; i += step) {
        const double number = numbers[i];
        numbers[i] = number + STEP;
        write_numbers(parameter, numbers);
        const double above = loss_of(b);
        numbers[i] = number - STEP;
        write_numbers(parameter, numbers);
        const double below = loss_of(b);
        numbers[i] = number;
        n_wrong += (above - below) / (2 * STEP) != gradients[i];
    }
    write_numbers(parameter, numbers);
    return n_wrong;
}

static void backward(const bench *b)
{
    assert_true(sparse_layer_forward(&b->layer, &b->X, &b->Y));
    write_numbers(&b->dY, b->weigh);
    assert_true(sparse_layer_backward(&b->layer, &b->X, &b->Y, &b->dY, &b->dX));
}

// dX, where inputs that the layer does not see have none.
static void read_input_gradients(const bench *b, double *all)
{
    double dx[N_IN * N];
    read_back(&b->dX, dx);
    for (int i = 0; i < N_IN * WIDER; i++) {
        const int sample = i % WIDER - FIRST;
        all[i] = sample >= 0 && sample < N ? dx[i / WIDER * N + sample] : 0;
    }
}

static int count_all_wrong(const bench *b)
{
    double dw[N_OUT * N_IN], db[N_OUT], dx[N_IN * WIDER];
    read_back(&b->layer.dw, dw);
    read_back(&b->layer.db, db);
    read_input_gradients(b, dx);
    return count_wrong(b, &b->layer.w, dw) + count_wrong(b, &b->layer.b, db) +
           count_wrong(b, &b->all, dx);
}

static weft_dtype widest(void)
{
    return weft_context_limits(ctx)->has_f64 ? WEFT_F64 : WEFT_F32;
}

// ---- tests

static void check_forward(const bench *b, bool relu)
{
    double y[N_OUT * N];
    assert_true(sparse_layer_forward(&b->layer, &b->X, &b->Y));
    read_back(&b->Y, y);
    for (int o = 0; o < N_OUT; o++)
        for (int s = 0; s < N; s++) {
            double want = b->bias[o];
            for (int i = 0; i < N_IN; i++)
                want += b->dense[o * N_IN + i] * b->inputs[i * WIDER + FIRST + s];
            assert_true(y[o * N + s] == (relu && want < 0 ? 0 : want));
        }
}

static void test_forward(void **state)
{
    (void)state;
    for (int relu = 0; relu < 2; relu++) {
        bench b;
        create(&b, WEFT_F32, relu);
        check_forward(&b, relu);
        destroy(&b);
    }
}

static void test_gradients(void **state)
{
    const weft_dtype dtypes[] = {WEFT_F32, widest()};
    (void)state;
    for (int d = 0; d < (widest() == WEFT_F64 ? 2 : 1); d++)
        for (int relu = d; relu < 2; relu++) {
            bench b;
            create(&b, dtypes[d], relu);
            backward(&b);
            assert_int_equal(count_all_wrong(&b), 0);
            destroy(&b);
        }
}

// So the comparison is worth something.
static void test_wrong_gradients_are_seen(void **state)
{
    double dw[N_OUT * N_IN], db[N_OUT];
    bench b;
    (void)state;
    create(&b, WEFT_F32, true);
    backward(&b);
    read_back(&b.layer.dw, dw);
    read_back(&b.layer.db, db);
    dw[5] += 0x1p-10; // a number that is always looked at
    assert_int_equal(count_wrong(&b, &b.layer.w, dw), 1);
    db[5] = -db[5];
    assert_int_equal(count_wrong(&b, &b.layer.b, db), 1);

    b.layer.relu = false; // dZ = dY
    backward(&b);
    b.layer.relu = true;
    assert_true(count_all_wrong(&b) > 2);
    destroy(&b);
}

// v = g, w -= v / 2, then v = v / 4 + g, w -= v / 2.
static void check_updated(const weft_tensor *parameter, const weft_tensor *gradients,
                          const double *before)
{
    double after[N_OUT * N_IN], g[N_OUT * N_IN];
    read_back(parameter, after);
    read_back(gradients, g);
    for (int64_t i = 0; i < count_elements(parameter); i++)
        assert_true(after[i] == before[i] - g[i] / 2 - 1.25 * g[i] / 2);
}

static void test_update(void **state)
{
    double w[N_OUT * N_IN], bias[N_OUT];
    bench b;
    (void)state;
    create(&b, WEFT_F32, true);
    backward(&b);
    read_back(&b.layer.w, w);
    read_back(&b.layer.b, bias);
    assert_true(sparse_layer_update(&b.layer, 0.5, 0.25));
    assert_true(sparse_layer_update(&b.layer, 0.5, 0.25));
    check_updated(&b.layer.w, &b.layer.dw, w);
    check_updated(&b.layer.b, &b.layer.db, bias);
    destroy(&b);
}

// Entries that are smaller leave the dense matrix.
static int drop_smaller(bench *b, double least)
{
    int n = 0;
    for (int i = 0; i < N_OUT * N_IN; i++) {
        b->dense[i] = fabs(b->dense[i]) < least ? 0 : b->dense[i];
        n += b->dense[i] != 0;
    }
    return n;
}

static void test_prune(void **state)
{
    bench b;
    (void)state;
    create(&b, WEFT_F32, true);
    const int64_t nnz = b.layer.W.nnz;
    assert_true(sparse_layer_prune(&b.layer, 0));
    assert_true(b.layer.W.nnz == nnz); // no entry is made
    const int n_largest = drop_smaller(&b, 3);
    assert_true(n_largest > 2 && n_largest < nnz);
    assert_true(sparse_layer_prune(&b.layer, 1 - 2.0 / (N_OUT * N_IN)));
    assert_int_equal(b.layer.W.nnz, n_largest); // two were asked for: the others are as large
    check_forward(&b, true);
    backward(&b);
    assert_int_equal(count_all_wrong(&b), 0);
    destroy(&b);
}

static void test_prune_leaves_one(void **state)
{
    double w[N_OUT * N_IN];
    bench b;
    (void)state;
    create(&b, widest(), true);
    read_back(&b.layer.w, w);
    w[b.layer.W.nnz - 4] = -7;
    write_numbers(&b.layer.w, w);
    assert_true(sparse_layer_prune(&b.layer, 1));
    assert_int_equal(b.layer.W.nnz, 1);
    read_back(&b.layer.w, w);
    assert_true(w[0] == -7);
    destroy(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_wrong_gradients_are_seen),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_prune),
        cmocka_unit_test(test_prune_leaves_one),
    };
    need_device();
    ctx = open_context(NULL);
    const int n_failed = cmocka_run_group_tests_name("sparse layer", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return n_failed;
}
