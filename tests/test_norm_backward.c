// SPDX-License-Identifier: Apache-2.0
// The backward of layer and RMS normalisation: every data type, kind of number and set of last
// axes, dW and db with dX and alone, sums over many rows, and finite differences.
#include "axis/axis_plan.h"
#include "rewrite_case.h"
#include "tilings.h"

#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};

static void test_every_type_and_number(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++)
        for (int type = 0; type < 4; type++)
            for (int numbers = 0; numbers < N_NUMBERS; numbers++) {
                seed++;
                const rewrite_case of = {.seed = seed,
                                         .op = (rewrite_op)op,
                                         .dtype = dtypes[type],
                                         .ndim = 2,
                                         .shape = {5, is_reduced ? 37 : 300},
                                         .axis = 1,
                                         .number = numbers == OUT_OF_RANGE ? 0 : 1e-5,
                                         .has_weight = true,
                                         .wants_dw = true,
                                         .wants_db = true,
                                         .numbers = (rewrite_numbers)numbers};
                if (!is_reduced || (type + op + numbers) % 4 == 0)
                    rewrite_run(ctx, &of);
            }
}

// Each number of last axes, in every layout; dX over an input, or dW and db besides.
static void test_last_axes(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < (is_reduced ? 103 : 124); seed++)
        for (int n_axes = 1; n_axes <= 4; n_axes++) {
            const rewrite_case of = {.seed = seed,
                                     .op = seed % 2 ? LAYER_NORM_BACKWARD : RMS_NORM_BACKWARD,
                                     .ndim = 4,
                                     .shape = {3, 5, is_reduced ? 4 : 18, 17},
                                     .axis = n_axes,
                                     .number = 1e-3,
                                     .has_weight = seed % 4 < 2,
                                     .wants_dw = seed / 4 % 2,
                                     .wants_db = seed / 4 % 2 && n_axes != 2,
                                     .in_layout = (strided_layout)(seed % N_LAYOUTS),
                                     .out_layout = (strided_layout)(seed / 2 % LAYOUT_REPEATING),
                                     .over = seed / 4 % 2 ? 0 : (int)(seed % 3)};
            if (!is_reduced || n_axes % 2 == (int)seed % 2)
                rewrite_run(ctx, &of);
        }
}

static void test_extents_around_every_tile(void **state)
{
    (void)state;
    static const int64_t extents[] = {0,  1,  2,  3,  7,   8,   9,   15,  16,   17,  31,
                                      32, 33, 63, 65, 127, 128, 129, 511, 1025, 4099};
    const bool vector_widths = weft_context_limits(ctx)->vector_width > 1;
    uint64_t seed = 200;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++)
        for (int64_t high = 0; high < 4; high++)
            for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
                seed++;
                const bool are_transposed = high == 3; // few columns, any number of rows
                const rewrite_case of = {
                    .seed = seed,
                    .op = (rewrite_op)op,
                    .ndim = 2,
                    .shape = {are_transposed ? extents[i] : high, are_transposed ? 5 : extents[i]},
                    .axis = 1,
                    .number = 1e-5,
                    .has_weight = true,
                    .wants_dw = seed % 3 > 0,
                    .wants_db = seed % 3 < 2,
                    .numbers = seed % 2 ? FAR_AWAY : FRACTIONS};
                const bool is_picked = is_reduced
                                           ? seed % 7 == 0 && extents[i] < 1000
                                           : vector_widths || i % 3 == 0; // each may be a program
                if (is_picked)
                    rewrite_run(ctx, &of);
            }
}

// ---- tilings

// A tiling of dX, and an array (high, mid, low) of which mid is normalised; or one of dW and db,
// whose mid is rows, and lines are columns (DENSE) or rows (TRANSPOSED).
typedef struct variant {
    const char *what;
    int64_t high, mid, low;
    strided_layout layout;
    weft_axis_tiling tiling;
} variant;

static const variant dx_variants[] = {
    {"whole vectors", 3, 20, 32, LAYOUT_TRANSPOSED, TILING(16, 2, 1, 1, 8, 1, 2, 1, 2, 1)},
    {"a vector moved", 3, 20, 37, LAYOUT_TRANSPOSED, TILING(8, 3, 1, 1, 4, 1, 1, 2, 1, 1)},
    {"single columns", 2, 20, 19, LAYOUT_TRANSPOSED, TILING(1, 1, 1, 1, 1, 1, 1, 3, 1, 1)},
    {"in parts", 2, 50, 37, LAYOUT_TRANSPOSED, TILING(8, 3, 1, 1, 2, 1, 1, 2, 1, 7)},
    {"rows", 5, 300, 1, LAYOUT_DENSE, TILING(16, 2, 1, 1, 8, 32, 2, 1, 2, 1)},
    {"rows in parts", 2, 301, 1, LAYOUT_DENSE, TILING(8, 1, 1, 1, 4, 8, 1, 1, 2, 5)},
    {"widened", 3, 100, 5, LAYOUT_TRANSPOSED, TILING(8, 5, 1, 1, 4, 8, 1, 1, 2, 1)},
    {"widened in parts", 2, 99, 6, LAYOUT_TRANSPOSED, TILING(4, 6, 1, 1, 2, 4, 1, 1, 1, 6)},
    {"gathered", 3, 200, 1, LAYOUT_SPACED, TILING(8, 2, 1, 1, 4, 16, 1, 1, 1, 1)},
    {"items and items_y", 3, 70, 37, LAYOUT_TRANSPOSED, TILING(1, 1, 8, 8, 4, 1, 1, 2, 2, 1)},
    {"items_y of a row", 3, 700, 1, LAYOUT_DENSE, TILING(1, 1, 1, 64, 4, 1, 1, 1, 2, 1)},
    {"items_y in parts", 2, 200, 19, LAYOUT_TRANSPOSED, TILING(1, 1, 16, 4, 2, 1, 1, 1, 1, 4)},
    {"items_y with vectors", 2, 40, 24, LAYOUT_TRANSPOSED, TILING(4, 2, 2, 4, 2, 1, 1, 2, 1, 1)},
    {"widened items_y", 2, 90, 6, LAYOUT_TRANSPOSED, TILING(1, 24, 1, 4, 2, 4, 1, 1, 2, 2)},
    {"lines far apart", 2, 901, 37, LAYOUT_TRANSPOSED, TILING(8, 3, 1, 1, 4, 1, 1, 2, 1, 1)},
    {"items_z of rows", 7, 701, 1, LAYOUT_DENSE, ITEMS_Z(1, 1, 32, 2, 8, 1, 1, 2)},
    {"items_z of strips", 5, 90, 19, LAYOUT_TRANSPOSED, ITEMS_Z(2, 4, 16, 2, 2, 1, 2, 2)},
};
enum { N_DX_VARIANTS = sizeof(dx_variants) / sizeof(dx_variants[0]) };

static const variant scaling_variants[] = {
    {"whole vectors", 1, 20, 32, LAYOUT_DENSE, TILING(16, 2, 1, 1, 8, 1, 2, 1, 2, 1)},
    {"a vector moved", 1, 20, 37, LAYOUT_DENSE, TILING(8, 3, 1, 1, 4, 1, 1, 2, 1, 1)},
    {"single columns", 1, 20, 19, LAYOUT_DENSE, TILING(1, 1, 1, 1, 1, 1, 1, 3, 1, 1)},
    {"in parts", 1, 50, 37, LAYOUT_DENSE, TILING(8, 3, 1, 1, 2, 1, 1, 2, 1, 7)},
    {"too many parts", 1, 9, 32, LAYOUT_DENSE, TILING(4, 8, 1, 1, 2, 1, 4, 2, 9, 40)},
    {"widened", 1, 100, 5, LAYOUT_DENSE, TILING(8, 5, 1, 1, 4, 8, 1, 1, 2, 1)},
    {"widened in parts", 1, 99, 6, LAYOUT_DENSE, TILING(4, 6, 1, 1, 2, 4, 1, 1, 1, 6)},
    {"rows", 5, 300, 1, LAYOUT_TRANSPOSED, TILING(16, 2, 1, 1, 8, 32, 2, 1, 2, 1)},
    {"rows in parts", 2, 301, 1, LAYOUT_TRANSPOSED, TILING(8, 1, 1, 1, 4, 8, 1, 1, 2, 5)},
    {"items and items_y", 1, 70, 37, LAYOUT_DENSE, TILING(1, 1, 8, 8, 4, 1, 1, 2, 2, 1)},
    {"items_y of rows", 3, 700, 1, LAYOUT_TRANSPOSED, TILING(1, 1, 1, 64, 4, 1, 1, 1, 2, 1)},
    {"items_y in parts", 1, 200, 19, LAYOUT_DENSE, TILING(1, 1, 16, 4, 2, 1, 1, 1, 1, 4)},
    {"widened items_y", 1, 90, 6, LAYOUT_DENSE, TILING(1, 24, 1, 4, 2, 4, 1, 1, 2, 2)},
    {"lines far apart", 1, 901, 37, LAYOUT_DENSE, TILING(8, 3, 1, 1, 4, 1, 1, 2, 1, 1)},
    {"items_z of rows", 7, 701, 1, LAYOUT_TRANSPOSED, ITEMS_Z(1, 1, 32, 2, 8, 1, 1, 2)},
    {"items_z of strips", 1, 90, 19, LAYOUT_DENSE, ITEMS_Z(2, 4, 16, 2, 2, 1, 2, 2)},
    {"lines beyond all rows", 1, 1000, 1, LAYOUT_DENSE, TILING(1, 1024, 1, 2, 4, 999, 1, 1, 1, 1)},
};
enum { N_SCALING_VARIANTS = sizeof(scaling_variants) / sizeof(scaling_variants[0]) };

// Where the tiling fits; the library says that it does as it was told.
static void run_variant(const variant *v, const rewrite_case *of)
{
    char tiling[256];
    rewrite_operands o;
    if (is_left_out(&v->tiling) || items_of_group(&v->tiling) > weft_context_limits(ctx)->max_items)
        return;
    rewrite_create(&o, ctx, of);
    weft_axis_tiling_print(&v->tiling, tiling, sizeof(tiling));
    const char *part = strstr(rewrite_words(&o), of->tiling ? "dX: " : "; dW and db: ");
    if (!part || !strstr(part, tiling))
        fail_msg("%s: %s", v->what, rewrite_words(&o));
    rewrite_call(&o);
    rewrite_check(&o);
    rewrite_destroy(&o);
}

static void test_every_tiling_of_dx(void **state)
{
    (void)state;
    for (int i = 0; i < N_DX_VARIANTS; i++) {
        const variant *v = &dx_variants[i];
        const rewrite_case of = {.seed = 700 + (uint64_t)i,
                                 .op = i % 3 ? LAYER_NORM_BACKWARD : RMS_NORM_BACKWARD,
                                 .ndim = 3,
                                 .shape = {v->high, v->low, v->mid},
                                 .axis = 1,
                                 .number = 1e-5,
                                 .has_weight = v->tiling.widen == 1 || v->low == 1,
                                 .wants_dw = true,
                                 .wants_db = true,
                                 .in_layout = v->layout,
                                 .out_layout = v->layout,
                                 .numbers = i % 2 ? FAR_AWAY : OUT_OF_RANGE,
                                 .tiling = &v->tiling};
        if (has_turn_unless(v->tiling.vector_width > 1, i))
            run_variant(v, &of);
    }
}

static void test_every_tiling_of_dw(void **state)
{
    (void)state;
    for (int i = 0; i < N_SCALING_VARIANTS; i++) {
        const variant *v = &scaling_variants[i];
        const rewrite_case of = {.seed = 800 + (uint64_t)i,
                                 .op = i % 3 ? LAYER_NORM_BACKWARD : RMS_NORM_BACKWARD,
                                 .ndim = 2,
                                 .shape = {v->mid, v->high * v->low},
                                 .axis = 1,
                                 .number = 1e-5,
                                 .wants_dw = true,
                                 .wants_db = true,
                                 .in_layout = v->layout,
                                 .out_layout = LAYOUT_DENSE,
                                 .numbers = FAR_AWAY,
                                 .scaling_tiling = &v->tiling};
        if (has_turn_unless(v->tiling.vector_width > 1, i))
            run_variant(v, &of);
    }
}

// ---- long sums

// All in one lane: nothing but what rounding lost keeps sums of so many.
static const weft_axis_tiling one_lane = TILING(1, 3, 1, 1, 8, 1, 1, 1, 1, 1);

static void put_rows(const rewrite_operands *o, int k, double (*number)(int64_t row, int64_t i))
{
    const weft_tensor *t = &o->in[k].t;
    for (int64_t row = 0; row < t->shape[0]; row++)
        for (int64_t i = 0; i < t->shape[1]; i++) {
            const int64_t index[2] = {row, i};
            ((float *)o->in[k].memory)[strided_place(t, index)] = (float)number(row, i);
        }
}

static void run_all_numbers(const rewrite_case *of, double (*x)(int64_t row, int64_t i),
                            double (*dy)(int64_t row, int64_t i))
{
    rewrite_operands o;
    rewrite_create(&o, ctx, of);
    put_rows(&o, 0, x);
    put_rows(&o, 1, dy);
    rewrite_restore(&o);
    rewrite_call(&o);
    rewrite_check(&o);
    rewrite_destroy(&o);
}

// Terms that are all the same err in the same direction.
static double same_rows(int64_t row, int64_t i)
{
    static const double x[3] = {2, 0, 1};
    (void)row;
    return x[i];
}

static double tenth(int64_t row, int64_t i)
{
    (void)row;
    (void)i;
    return 0.1;
}

static double by_turns(int64_t row, int64_t i)
{
    (void)row;
    return i % 2 ? 3.3 : 2;
}

static double tenths_by_turns(int64_t row, int64_t i)
{
    (void)row;
    return i % 2 ? 0.7 : -0.1;
}

static void test_long_sums(void **state)
{
    (void)state;
    if (weft_context_limits(ctx)->max_iterations > 0) // one item goes through more than these
        skip();
    const int64_t many = is_reduced ? 20011 : 1000003;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++) {
        rewrite_case of = {.seed = 400,
                           .op = (rewrite_op)op,
                           .ndim = 2,
                           .shape = {many, 3},
                           .axis = 1,
                           .number = 1e-5,
                           .wants_dw = true,
                           .wants_db = true,
                           .scaling_tiling = &one_lane};
        run_all_numbers(&of, same_rows, tenth);
        of.scaling_tiling = NULL;
        of.tiling = &one_lane;
        of.shape[0] = 2;
        of.shape[1] = many;
        run_all_numbers(&of, by_turns, tenths_by_turns);
    }
}

// Squares that are too small, that are not, and that are too large, each in lanes of their own.
static double of_all_sizes(int64_t row, int64_t i)
{
    static const double sizes[3] = {1e-25, 1, 1e20};
    return sizes[i % 8 / 3] * (double)((i * 7 + row) % 11 - 5);
}

static double by_sevenths(int64_t row, int64_t i)
{
    return 0.25 * (double)((i * 3 + row) % 7 - 2);
}

static void test_scales_come_together(void **state)
{
    (void)state;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++) {
        const rewrite_case of = {.seed = 410,
                                 .op = (rewrite_op)op,
                                 .ndim = 2,
                                 .shape = {3, 75},
                                 .axis = 1,
                                 .wants_dw = true};
        run_all_numbers(&of, of_all_sizes, by_sevenths);
    }
}

// Sums of some would be beyond the largest number, though no two are that far apart.
static double far_apart(int64_t row, int64_t i)
{
    (void)row;
    return i == 0 ? 0 : 1e38;
}

static void test_distances_near_the_largest_number(void **state)
{
    (void)state;
    for (int layout = LAYOUT_DENSE; layout <= LAYOUT_TRANSPOSED; layout++) {
        const rewrite_case of = {.seed = 420,
                                 .op = LAYER_NORM_BACKWARD,
                                 .ndim = 2,
                                 .shape = {64, 8},
                                 .axis = 1,
                                 .in_layout = (strided_layout)layout,
                                 .wants_dw = true};
        run_all_numbers(&of, far_apart, by_sevenths);
    }
}

// ---- one pass

// Runs the case, and fails unless its plan says what is wanted.
static void run_as(const rewrite_case *of, const char *wanted)
{
    rewrite_operands o;
    rewrite_create(&o, ctx, of);
    const char *words = rewrite_words(&o);
    if (wanted && !strstr(words, wanted))
        fail_msg("%s is not in: %s", wanted, words);
    rewrite_call(&o);
    rewrite_check(&o);
    rewrite_destroy(&o);
}

// Several groups, the last of fewer rows than are added at a time, and a group alone; rows of whole
// vectors, of a narrower last one, and of less than one. w may have gaps: then there are several
// passes.
static void test_in_one_pass(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{603, 37}, {203, 128}, {19, 48}, {4003, 5}};
    const bool has_vectors = weft_context_limits(ctx)->vector_width > 1;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++)
        for (uint64_t i = 0; i < (is_reduced ? 2 : 16); i++) {
            const rewrite_case of = {.seed = 500 + i,
                                     .op = (rewrite_op)op,
                                     .dtype = dtypes[i / 4],
                                     .ndim = 2,
                                     .shape = {shapes[i % 4][0], shapes[i % 4][1]},
                                     .axis = 1,
                                     .number = 1e-5,
                                     .has_weight = i % 3 == 2,
                                     .wants_dw = i % 5 > 0,
                                     .wants_db = i % 4 > 0 || i % 5 == 0,
                                     .numbers = i % 2 ? FAR_AWAY : FRACTIONS};
            if (rewrite_is_possible(ctx, &of))
                run_as(&of, has_vectors && !of.has_weight ? "dX, dW and db in one pass: " : NULL);
        }
}

// Rows at several distances: several passes.
static void test_uneven_rows(void **state)
{
    (void)state;
    for (uint64_t seed = 520; seed < (is_reduced ? 522 : 528); seed++) {
        const rewrite_case of = {.seed = seed,
                                 .op = LAYER_NORM_BACKWARD,
                                 .ndim = 3,
                                 .shape = {5, 7, 48},
                                 .axis = 1,
                                 .number = 1e-5,
                                 .wants_dw = true,
                                 .in_layout = LAYOUT_SLICED};
        run_as(&of, "; dW and db: ");
    }
}

// ---- numbers that are known

enum { N = 4 };

// What the formulas come to in double, for numbers of x of the order of `scale`, and of dY of `by`.
static void expect(rewrite_op op, double epsilon, const float x[N], double scale, double by)
{
    const double tolerance = 1e-6;
    float dy[N] = {1, -2, 0.5f, 4};
    for (int i = 0; i < N; i++)
        dy[i] *= (float)by;
    const bool is_rms = op == RMS_NORM_BACKWARD;
    double mean = 0, square = 0, center = 0, slope = 0;
    for (int i = 0; i < N; i++) {
        mean += is_rms ? 0 : (double)x[i] / scale / N;
        center += is_rms ? 0 : (double)dy[i] / N;
    }
    for (int i = 0; i < N; i++)
        square += ((double)x[i] / scale - mean) * ((double)x[i] / scale - mean) / N;
    const double inverse = 1 / sqrt(square + epsilon / scale / scale);
    for (int i = 0; i < N; i++)
        slope += (double)dy[i] * ((double)x[i] / scale - mean) * inverse / N;

    const rewrite_case of = {.op = op,
                             .ndim = 1,
                             .shape = {N},
                             .axis = 1,
                             .number = epsilon,
                             .wants_dw = true,
                             .wants_db = true};
    rewrite_operands o;
    rewrite_create(&o, ctx, &of);
    memcpy((float *)o.in[0].memory + o.in[0].t.offset, x, N * sizeof(float));
    memcpy((float *)o.in[1].memory + o.in[1].t.offset, dy, N * sizeof(float));
    rewrite_restore(&o);
    rewrite_call(&o);
    float *dx = strided_read(&o.out, o.queue);
    float *dw = strided_read(&o.scalings[0], o.queue), *db = strided_read(&o.scalings[1], o.queue);
    for (int64_t i = 0; i < N; i++) {
        const double y = ((double)x[i] / scale - mean) * inverse;
        const double want = inverse / scale * ((double)dy[i] - center - y * slope);
        const double got = (double)dx[strided_place(&o.out.t, &i)];
        const double got_w = (double)dw[strided_place(&o.scalings[0].t, &i)];
        const float got_b = db[strided_place(&o.scalings[1].t, &i)];
        if (!(fabs(got - want) <= tolerance * inverse / scale * 4 * by) ||
            !(fabs(got_w - (double)dy[i] * y) <= tolerance * 4 * by) || got_b != dy[i])
            fail_msg("%s of %g at %g, element %d: %g, not %g, dW %g, not %g, db %g, not %g",
                     rewrite_name(op), epsilon, scale, (int)i, got, want, got_w, (double)dy[i] * y,
                     (double)got_b, (double)dy[i]);
    }
    free(dx);
    free(dw);
    free(db);
    rewrite_destroy(&o);
}

static void test_by_hand(void **state)
{
    (void)state;
    const float x[N] = {1, 2, 3, 6};
    const float far[N] = {1e5f, 1e5f + 1, 1e5f + 2, 1e5f + 5};
    const float farther[N] = {1e7f, 1e7f + 1, 1e7f + 2, 1e7f + 5};
    const float low[N] = {1e-13f, -1e-13f, 2e-13f, .5e-13f};
    const float high[N] = {1e12f, -1e12f, 2e12f, .5e12f};
    const float tiny[N] = {1e-25f, -1e-25f, 2e-25f, .5e-25f};
    const float least[N] = {1e-34f, -1e-34f, 2e-34f, .5e-34f};
    const float large[N] = {1e30f, -1e30f, 2e30f, .5e30f};
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++) {
        expect((rewrite_op)op, 0, x, 1, 1);
        expect((rewrite_op)op, 0.5, x, 1, 1);
        expect((rewrite_op)op, 0, tiny, 1e-25, 1);
        expect((rewrite_op)op, 0, least, 1e-34, 1);
        expect((rewrite_op)op, 0, large, 1e30, 1);
        expect((rewrite_op)op, 1, tiny, 1e-25, 1);
        for (int k = 0; k < 2; k++) {
            const double by = k ? 1e15 : 1e-15;
            expect((rewrite_op)op, 0, x, 1, by);
            expect((rewrite_op)op, 0, low, 1e-13, by);
            expect((rewrite_op)op, 0, high, 1e12, by);
            expect((rewrite_op)op, 0, k ? tiny : least, k ? 1e-25 : 1e-34, k ? 1e10 : by);
            expect((rewrite_op)op, 0, large, 1e30, k ? by : 1);
        }
    }
    expect(LAYER_NORM_BACKWARD, 0, far, 1, 1);
    expect(LAYER_NORM_BACKWARD, 0, farther, 1, 1);
    expect(LAYER_NORM_BACKWARD, 1, farther, 1, 1);
}

// The sum of dY times what the forward's formula gives, in double.
static double weighed(const double *x, const double *dy, const double *w, const double *b,
                      int64_t n, bool is_rms, double epsilon)
{
    double mean = 0, square = 0, sum = 0;
    for (int64_t i = 0; i < n; i++)
        mean += is_rms ? 0 : x[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (int64_t i = 0; i < n; i++)
        sum += dy[i] * ((x[i] - mean) / sqrt(square + epsilon) * w[i] + b[i]);
    return sum;
}

enum { FEW = 13 };

// By each element of x, w and b in turn.
static void differences(double out[3][FEW], double of[4][FEW], bool is_rms)
{
    const double step = 1e-5;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < FEW; i++) {
            double *const number = &of[k][i], before = *number;
            *number = before + step;
            const double above = weighed(of[0], of[3], of[1], of[2], FEW, is_rms, 0.01);
            *number = before - step;
            const double below = weighed(of[0], of[3], of[1], of[2], FEW, is_rms, 0.01);
            *number = before;
            out[k][i] = (above - below) / (2 * step);
        }
}

static void test_finite_differences(void **state)
{
    (void)state;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++) {
        const rewrite_case of = {.seed = 77,
                                 .op = (rewrite_op)op,
                                 .ndim = 1,
                                 .shape = {FEW},
                                 .axis = 1,
                                 .number = 0.01,
                                 .has_weight = true,
                                 .wants_dw = true,
                                 .wants_db = true};
        double in[4][FEW] = {{0}}, want[3][FEW];
        rewrite_operands o;
        rewrite_create(&o, ctx, &of);
        for (int64_t i = 0; i < FEW; i++) {
            static const int from[4] = {0, 2, -1, 1}; // x, w, b, dy
            for (int k = 0; k < 4; k++)
                if (from[k] >= 0)
                    in[k][i] = (double)((float *)o.in[from[k]]
                                            .memory)[strided_place(&o.in[from[k]].t, &i)];
        }
        differences(want, in, op == RMS_NORM_BACKWARD);
        rewrite_call(&o);
        const strided *const outs[3] = {&o.out, &o.scalings[0], &o.scalings[1]};
        for (int k = 0; k < 3; k++) {
            float *got = strided_read(outs[k], o.queue);
            for (int64_t i = 0; i < FEW; i++) {
                const double is = (double)got[strided_place(&outs[k]->t, &i)];
                if (!(fabs(is - want[k][i]) < 1e-4))
                    fail_msg("%s, gradient %d, element %d: %g, not %g", rewrite_name(of.op), k,
                             (int)i, is, want[k][i]);
            }
            free(got);
        }
        rewrite_destroy(&o);
    }
}

// One element that is no number, of X or dY, leaves no number in its row of dX, and every number
// in others.
static void test_no_numbers(void **state)
{
    (void)state;
    static const float broken[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 12; i++) {
        const rewrite_case of = {.seed = 900 + (uint64_t)i,
                                 .op = i / 6 ? LAYER_NORM_BACKWARD : RMS_NORM_BACKWARD,
                                 .ndim = 2,
                                 .shape = {3, 21},
                                 .axis = 1,
                                 .number = 1,
                                 .has_weight = true};
        const int64_t at[2] = {1, 5};
        rewrite_operands o;
        rewrite_create(&o, ctx, &of);
        strided *in = &o.in[i % 2];
        ((float *)in->memory)[strided_place(&in->t, at)] = broken[i / 2 % 3];
        rewrite_restore(&o);
        rewrite_call(&o);
        float *dx = strided_read(&o.out, o.queue);
        int64_t index[WEFT_MAX_NDIM] = {0};
        do {
            const float got = dx[strided_place(&o.out.t, index)];
            if ((isfinite(got) != 0) != (index[0] != at[0]))
                fail_msg("%s, %g in operand %d: row %d has %g", rewrite_name(of.op),
                         (double)broken[i / 2 % 3], i % 2, (int)index[0], (double)got);
        } while (strided_next(&o.out.t, index));
        free(dx);
        rewrite_destroy(&o);
    }
}

static void test_same_bits(void **state)
{
    (void)state;
    for (int op = LAYER_NORM_BACKWARD; op <= RMS_NORM_BACKWARD; op++) {
        const rewrite_case of = {.seed = 500,
                                 .op = (rewrite_op)op,
                                 .ndim = 2,
                                 .shape = {is_reduced ? 30 : 3000, 100},
                                 .axis = 1,
                                 .number = 1e-5,
                                 .has_weight = true,
                                 .wants_dw = true,
                                 .wants_db = true};
        rewrite_operands o;
        rewrite_create(&o, ctx, &of);
        const strided *const outs[3] = {&o.out, &o.scalings[0], &o.scalings[1]};
        void *first[3];
        rewrite_call(&o);
        for (int k = 0; k < 3; k++)
            first[k] = strided_read(outs[k], o.queue);
        rewrite_restore(&o);
        rewrite_call(&o);
        for (int k = 0; k < 3; k++) {
            void *next = strided_read(outs[k], o.queue);
            assert_memory_equal(next, first[k], outs[k]->bytes);
            free(next);
            free(first[k]);
        }
        rewrite_destroy(&o);
    }
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_finite_differences),
        cmocka_unit_test(test_every_type_and_number),
        cmocka_unit_test(test_last_axes),
        cmocka_unit_test(test_extents_around_every_tile),
        cmocka_unit_test(test_every_tiling_of_dx),
        cmocka_unit_test(test_every_tiling_of_dw),
        cmocka_unit_test(test_long_sums),
        cmocka_unit_test(test_in_one_pass),
        cmocka_unit_test(test_uneven_rows),
        cmocka_unit_test(test_scales_come_together),
        cmocka_unit_test(test_distances_near_the_largest_number),
        cmocka_unit_test(test_no_numbers),
        cmocka_unit_test(test_same_bits),
    };
    const int failed = cmocka_run_group_tests_name("norm backward", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
