// SPDX-License-Identifier: Apache-2.0
// Elementwise operations: data types and how they mix, numbers of operands, shapes from nothing on,
// transposes, outputs that are inputs, and the same bits every time.
#include "elementwise_case.h"

#include <math.h>

static weft_context *ctx;
static bool is_reduced; // the small set

static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16,
                                    WEFT_I32, WEFT_I64, WEFT_U8};
enum { N_DTYPES = sizeof(dtypes) / sizeof(dtypes[0]) };

static bool device_has(weft_dtype dtype)
{
    return dtype != WEFT_F64 || weft_context_limits(ctx)->has_f64;
}

// ---- formulas

#define FORMULA(name, text, real, whole, ulps, is_real)                                            \
    static const elementwise_formula name = {text, real, whole, ulps, is_real, 0, 0}

static int64_t in_unsigned(uint64_t x)
{
    return (int64_t)x;
}

static wide sum_real(const wide *x, wide *size)
{
    *size = fabsl(x[0]) + fabsl(x[1]);
    return x[0] + x[1];
}

static int64_t sum_whole(const int64_t *x, int width)
{
    (void)width;
    return in_unsigned((uint64_t)x[0] + (uint64_t)x[1]);
}

static wide half_real(const wide *x, wide *size)
{
    (void)size;
    return x[0] * 0.5L;
}

static wide quotient_real(const wide *x, wide *size)
{
    (void)size;
    return x[0] / x[1];
}

static int64_t quotient_whole(const int64_t *x, int width)
{
    const int64_t least = width == 32 ? INT32_MIN : INT64_MIN;
    return x[1] == 0 ? 0 : x[0] == least && x[1] == -1 ? least : x[0] / x[1];
}

static int64_t remainder_whole(const int64_t *x, int width)
{
    (void)width;
    return x[1] == 0 || x[1] == -1 ? 0 : x[0] % x[1];
}

static int64_t left_whole(const int64_t *x, int width)
{
    return in_unsigned((uint64_t)x[0] << (x[1] & (width - 1)));
}

static int64_t right_whole(const int64_t *x, int width)
{
    return x[0] >> (x[1] & (width - 1));
}

static wide all_real(const wide *x, wide *size)
{
    wide sum = 0;
    for (int k = 0; k < 8; k++) {
        sum += (k + 1) * x[k];
        *size += (k + 1) * fabsl(x[k]);
    }
    return sum;
}

static int64_t all_whole(const int64_t *x, int width)
{
    int64_t sum = 0;
    (void)width;
    for (int k = 0; k < 8; k++)
        sum = in_unsigned((uint64_t)sum + (uint64_t)(k + 1) * (uint64_t)x[k]);
    return sum;
}

static wide values_real(const wide *x, wide *size)
{
    wide sum = 0;
    for (int i = 0; i < WEFT_ELEMENTWISE_VALUES; i++) {
        sum = sum * x[0] + x[1 + i];
        *size = *size * fabsl(x[0]) + fabsl(x[1 + i]);
    }
    return sum;
}

static int64_t values_whole(const int64_t *x, int width)
{
    int64_t sum = 0;
    (void)width;
    for (int i = 0; i < WEFT_ELEMENTWISE_VALUES; i++)
        sum = in_unsigned((uint64_t)sum * (uint64_t)x[0] + (uint64_t)x[1 + i]);
    return sum;
}

FORMULA(copy, "a", elementwise_copy_real, elementwise_copy_whole, 0, false);
FORMULA(copy_by_name, "copy", elementwise_copy_real, elementwise_copy_whole, 0, false);
FORMULA(value, "v0", elementwise_copy_real, elementwise_copy_whole, 0, false);
FORMULA(sum, "a + b", sum_real, sum_whole, 0.5, false);
FORMULA(sum_by_name, "add", sum_real, sum_whole, 0.5, false);
FORMULA(half, "a * 0.5", half_real, NULL, 0.5, true);
FORMULA(quotient, "a / b", quotient_real, quotient_whole, 2.5, false);
FORMULA(remainder_of, "a % b", NULL, remainder_whole, 0, false);
FORMULA(left_shift, "a << b", NULL, left_whole, 0, false);
FORMULA(right_shift, "a >> b", NULL, right_whole, 0, false);
FORMULA(all_inputs, "a + 2*b + 3*c + 4*d + 5*e + 6*f + 7*g + 8*h", all_real, all_whole, 8, false);
FORMULA(all_values,
        "((((((((((((((v0*a+v1)*a+v2)*a+v3)*a+v4)*a+v5)*a+v6)*a+v7)*a+v8)*a+v9)*a+v10)*a+v11)*a+"
        "v12)*a+v13)*a+v14)*a+v15",
        values_real, values_whole, 32, false);

// ---- conversions

// Ends of types; halves between neighbours of f16 (0x1.002), bf16 (0x1.01) and f32, and what is a
// little beside them; subnormal numbers of f16 and f32.
static const double reals[] = {0,
                               -0.0,
                               1,
                               -1,
                               0.5,
                               -0.5,
                               0.99,
                               -0.99,
                               1.5,
                               2.5,
                               -2.5,
                               127.5,
                               254.9,
                               255,
                               255.9,
                               256,
                               300,
                               -1e-3,
                               1e10,
                               -1e10,
                               0x1p31,
                               0x1.fffffep30,
                               0x1.fffffffcp30,
                               -0x1p31,
                               -0x1.000002p31,
                               0x1p63,
                               0x1.fffffep62,
                               -0x1p63,
                               -0x1.000002p63,
                               1e30,
                               -1e30,
                               1e300,
                               INFINITY,
                               -INFINITY,
                               NAN,
                               0x1.002p0,
                               0x1.006p0,
                               0x1.00200000001p0,
                               0x1.001fffffffp0,
                               -0x1.00200000001p0,
                               0x1.01p0,
                               0x1.03p0,
                               0x1.0100000001p0,
                               0x1.00ffffffffp0,
                               0x1.000001p0,
                               0x1.000003p0,
                               65504,
                               65519,
                               65519.99999,
                               65520,
                               0x1.fep127,
                               0x1.fefffep127,
                               0x1.ffp127,
                               0x1.fffffep127,
                               0x1.ffffffp127,
                               0x1p-14,
                               0x1.ffcp-15,
                               0x1p-24,
                               0x1.8p-24,
                               0x1p-25,
                               0x1.0000001p-25,
                               0x1p-26,
                               0x1.4p-20,
                               -0x1.cp-23,
                               0x1p-126,
                               0x1.8p-127,
                               0x1p-133,
                               0x1p-134,
                               0x1p-149,
                               0x1p-150,
                               0x1.8p-150};

static const int64_t wholes[] = {0,
                                 1,
                                 -1,
                                 127,
                                 128,
                                 200,
                                 255,
                                 256,
                                 257,
                                 259,
                                 -255,
                                 -256,
                                 2047,
                                 2049,
                                 2051,
                                 -2049,
                                 65503,
                                 65504,
                                 65519,
                                 65520,
                                 65536,
                                 (1 << 24) + 1,
                                 (1 << 24) + 3,
                                 -(1 << 24) - 1,
                                 INT32_MAX,
                                 INT32_MIN,
                                 INT64_C(1) << 31,
                                 (INT64_C(1) << 31) + 128,
                                 (INT64_C(1) << 32) + 5,
                                 -(INT64_C(1) << 32) - 5,
                                 (INT64_C(1) << 53) + 1,
                                 (INT64_C(1) << 53) + 3,
                                 (INT64_C(1) << 62) + (INT64_C(1) << 54),
                                 (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1,
                                 (INT64_C(1) << 62) + 3 * (INT64_C(1) << 54) - 1,
                                 (INT64_C(1) << 62) + (INT64_C(1) << 38),
                                 (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1,
                                 -(INT64_C(1) << 62) - (INT64_C(1) << 54) - 1,
                                 INT64_MAX,
                                 INT64_MIN,
                                 INT64_MAX - 511,
                                 INT64_MAX - 512};
enum {
    N_REALS = sizeof(reals) / sizeof(reals[0]),
    N_WHOLES = sizeof(wholes) / sizeof(wholes[0]),
    TURNS = 5, // each number stands in several lanes, and where no vector is whole
    N_NUMBERS_EACH = TURNS * (N_REALS > N_WHOLES ? N_REALS : N_WHOLES) + 3,
};

// From one type to several at once.
static void convert(weft_dtype from, const weft_dtype *to, int n, weft_dtype arithmetic)
{
    elementwise_case of = {.n_inputs = 1,
                           .n_outputs = n,
                           .in = {{.dtype = from}},
                           .ndim = 1,
                           .shape = {N_NUMBERS_EACH},
                           .arithmetic = arithmetic};
    for (int j = 0; j < n; j++) {
        of.out[j].dtype = to[j];
        of.formulas[j] = &copy_by_name;
    }
    elementwise_operands o;
    elementwise_create(&o, ctx, &of);
    for (int i = 0; i < N_NUMBERS_EACH; i++)
        elementwise_put(&o, 0, i, reals[i % N_REALS], wholes[i % N_WHOLES]);
    elementwise_restore(&o);
    elementwise_call(&o);
    elementwise_check(&o);
    elementwise_destroy(&o);
}

static void test_every_pair_of_types(void **state)
{
    (void)state;
    for (int from = 0; from < N_DTYPES; from++) {
        weft_dtype to[WEFT_ELEMENTWISE_OUTPUTS];
        int n = 0;
        for (int j = 0; j < N_DTYPES; j++) {
            if (device_has(dtypes[j]))
                to[n++] = dtypes[j];
            if (device_has(dtypes[from]) && n > 0 &&
                (n == WEFT_ELEMENTWISE_OUTPUTS || j == N_DTYPES - 1)) {
                convert(dtypes[from], to, n, WEFT_DEFAULT);
                n = 0;
            }
        }
    }
}

// The caller's choice of arithmetic: what goes in is rounded before it is rounded.
static void test_chosen_arithmetic(void **state)
{
    (void)state;
    static const weft_dtype to[] = {WEFT_F32, WEFT_I64, WEFT_F16};
    // Mesa takes an i64 that becomes an f32 and an i64 again for the same number.
    convert(WEFT_I64, to, is_on("rusticl") ? 1 : 3, WEFT_F32);
    convert(WEFT_I64, to, 3, WEFT_I32);
    convert(WEFT_U8, to, 3, WEFT_I64);
    if (!device_has(WEFT_F64))
        return;
    convert(WEFT_F32, to, 3, WEFT_F64);
    convert(WEFT_I64, to, 3, WEFT_F64);
}

// ---- types that mix

static void run_mixed(weft_dtype a, weft_dtype b, weft_dtype out, const elementwise_formula *f)
{
    const elementwise_case of = {.seed = (uint64_t)(100 * a + 10 * b + out),
                                 .n_inputs = 2,
                                 .n_outputs = 1,
                                 .in = {{.dtype = a}, {.dtype = b}},
                                 .out = {{.dtype = out}},
                                 .formulas = {f},
                                 .ndim = 2,
                                 .shape = {3, 29},
                                 .numbers = WIDE};
    elementwise_run(ctx, &of);
}

static void test_mixed_types(void **state)
{
    (void)state;
    static const struct {
        weft_dtype a, b, out;
    } some[] = {
        {WEFT_F32, WEFT_F16, WEFT_F32},  {WEFT_F16, WEFT_BF16, WEFT_F16}, // f32
        {WEFT_F32, WEFT_F64, WEFT_F32},  {WEFT_I64, WEFT_F64, WEFT_BF16}, // f64
        {WEFT_I32, WEFT_BF16, WEFT_I32}, {WEFT_I64, WEFT_F16, WEFT_I64},  // f32
        {WEFT_I32, WEFT_I64, WEFT_I32},  {WEFT_U8, WEFT_I64, WEFT_F32},   // i64
        {WEFT_I32, WEFT_U8, WEFT_I64},   {WEFT_U8, WEFT_U8, WEFT_U8},     // i32
        {WEFT_U8, WEFT_I32, WEFT_F64},   {WEFT_BF16, WEFT_U8, WEFT_U8},
    };
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
        run_mixed(some[i].a, some[i].b, some[i].out, i % 2 ? &sum : &sum_by_name);
}

// A point or a function of real numbers makes all of it real, the other formula too.
static void test_formulas_make_reals(void **state)
{
    (void)state;
    elementwise_case of = {.seed = 5,
                           .n_inputs = 1,
                           .n_outputs = 1,
                           .in = {{.dtype = WEFT_I32}},
                           .out = {{.dtype = WEFT_F32}, {.dtype = WEFT_I32}},
                           .formulas = {&half, &copy},
                           .ndim = 1,
                           .shape = {100},
                           .numbers = WIDE};
    elementwise_run(ctx, &of);
    of.out[0].dtype = WEFT_U8;
    of.in[0].dtype = WEFT_I64;
    of.n_outputs = 2;
    elementwise_run(ctx, &of);
}

// ---- the edges of whole numbers

static const int64_t edges[] = {0, 1, -1, 2, -3, 31, 32, 33, 63, 64, -31, 7, -7, 100};
enum { N_EDGES = sizeof(edges) / sizeof(edges[0]) };

// Not / and % at once: of both together compilers make an instruction that Oclgrind does not know.
static void run_edges(weft_dtype dtype, const elementwise_formula *f, const elementwise_formula *g)
{
    const int64_t least = dtype == WEFT_I32 ? INT32_MIN : INT64_MIN;
    const int64_t more[] = {least, least + 1, dtype == WEFT_I32 ? INT32_MAX : INT64_MAX};
    const elementwise_case of = {.n_inputs = 2,
                                 .n_outputs = 2,
                                 .in = {{.dtype = dtype}, {.dtype = dtype}},
                                 .out = {{.dtype = dtype}, {.dtype = dtype}},
                                 .formulas = {f, g},
                                 .ndim = 2,
                                 .shape = {N_EDGES + 3, N_EDGES + 3}};
    elementwise_operands o;
    elementwise_create(&o, ctx, &of);
    for (int i = 0; i < N_EDGES + 3; i++)
        for (int j = 0; j < N_EDGES + 3; j++) {
            const int64_t at = i * (N_EDGES + 3) + j;
            elementwise_put(&o, 0, at, 0, i < N_EDGES ? edges[i] : more[i - N_EDGES]);
            elementwise_put(&o, 1, at, 0, j < N_EDGES ? edges[j] : more[j - N_EDGES]);
        }
    elementwise_restore(&o);
    elementwise_call(&o);
    elementwise_check(&o);
    elementwise_destroy(&o);
}

static void test_edges_of_whole_numbers(void **state)
{
    (void)state;
    static const weft_dtype some[] = {WEFT_I32, WEFT_I64, WEFT_U8};
    for (int i = 0; i < 3; i++) {
        run_edges(some[i], &quotient, &left_shift);
        run_edges(some[i], &remainder_of, &right_shift);
    }
}

static void test_reals_that_are_no_numbers(void **state)
{
    (void)state;
    elementwise_case of = {.seed = 8,
                           .n_inputs = 2,
                           .n_outputs = 3,
                           .out = {{.dtype = WEFT_F32}, {.dtype = WEFT_F32}, {.dtype = WEFT_I32}},
                           .formulas = {&sum, &quotient, &copy},
                           .ndim = 1,
                           .shape = {is_reduced ? 99 : 999},
                           .numbers = WILD};
    elementwise_run(ctx, &of);
}

// ---- numbers of operands

static void test_values_alone(void **state)
{
    (void)state;
    elementwise_case of = {.n_outputs = 4,
                           .n_values = 1,
                           .values = {-3.75},
                           .out = {{.dtype = WEFT_F32, .layout = LAYOUT_SLICED},
                                   {.dtype = WEFT_BF16},
                                   {.dtype = WEFT_I32, .layout = LAYOUT_TURNED},
                                   {.dtype = WEFT_U8}},
                           .formulas = {&value, &value, &value, &value},
                           .ndim = 3,
                           .shape = {2, 5, 41},
                           .arithmetic = WEFT_F32};
    elementwise_run(ctx, &of);
    of.arithmetic = WEFT_DEFAULT; // i32
    of.values[0] = INT32_MIN;
    elementwise_run(ctx, &of);
    of.arithmetic = WEFT_I64;
    of.values[0] = -0x1p62;
    elementwise_run(ctx, &of);
}

static void test_many_operands(void **state)
{
    (void)state;
    elementwise_case of = {.seed = 12,
                           .n_inputs = 8,
                           .n_outputs = 4,
                           .n_values = WEFT_ELEMENTWISE_VALUES,
                           .formulas = {&all_inputs, &copy, &sum, &copy},
                           .first = {0, 7, 3, 0},
                           .ndim = 2,
                           .shape = {7, 33},
                           .out = {{.dtype = WEFT_F32},
                                   {.dtype = WEFT_F16},
                                   {.dtype = WEFT_F32, .layout = LAYOUT_TURNED},
                                   {.dtype = WEFT_U8}}};
    elementwise_formula last = copy, pair = sum;
    last.text = "h";
    pair.text = "d + e";
    of.formulas[1] = &last;
    of.formulas[2] = &pair;
    for (int k = 0; k < 8; k++)
        of.in[k] = (elementwise_operand){.dtype = k % 2 ? WEFT_BF16 : WEFT_F32,
                                         .ones = (unsigned)k % 4,
                                         .layout = (strided_layout)(k % N_LAYOUTS)};
    elementwise_run(ctx, &of);
    for (int k = 0; k < 8; k++)
        of.in[k].dtype = k % 2 ? WEFT_I32 : WEFT_U8;
    if (!is_on("rusticl")) // which compiles it for 20 s
        elementwise_run(ctx, &of);
}

static void test_many_values(void **state)
{
    (void)state;
    elementwise_case of = {.seed = 13,
                           .n_inputs = 1,
                           .n_outputs = 1,
                           .n_values = WEFT_ELEMENTWISE_VALUES,
                           .formulas = {&all_values},
                           .ndim = 1,
                           .shape = {61}};
    elementwise_formula near_one = all_values;
    near_one.least = -1.25, near_one.most = 1.25;
    of.formulas[0] = &near_one;
    for (int i = 0; i < WEFT_ELEMENTWISE_VALUES; i++)
        of.values[i] = i % 3 ? 1.5 * i : -7 + i;
    elementwise_run(ctx, &of);
    of.in[0].dtype = of.out[0].dtype = WEFT_I64;
    for (int i = 0; i < WEFT_ELEMENTWISE_VALUES; i++)
        of.values[i] = i % 3 ? 1000003 * i : -7 + i;
    elementwise_run(ctx, &of);
}

// ---- shapes

static elementwise_case sum_of(int ndim, int64_t high, int64_t rows, int64_t columns)
{
    return (elementwise_case){
        .seed = (uint64_t)(high + 10 * rows + 1000 * columns),
        .n_inputs = 2,
        .n_outputs = 1,
        .formulas = {&sum},
        .ndim = ndim,
        .shape = {ndim == 3 ? high : rows, ndim == 3 ? rows : columns, columns}};
}

static void test_scalars(void **state)
{
    (void)state;
    elementwise_case of = sum_of(0, 1, 1, 1);
    elementwise_run(ctx, &of);
    of.over = 1;
    elementwise_run(ctx, &of);
    of = sum_of(2, 1, 5, 37); // a scalar among rows
    of.in[1].missing = 2;
    elementwise_run(ctx, &of);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    for (int d = 0; d < 3; d++) {
        elementwise_case of = sum_of(3, 3, 4, 5);
        of.shape[d] = 0;
        of.in[1].ones = d == 1 ? 1 : 0;
        elementwise_run(ctx, &of);
    }
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// One off each width of a vector, and of a tile; rows that do not follow each other.
static void test_small_shapes(void **state)
{
    (void)state;
    static const int64_t extents[] = {1,  2,  3,  4,  5,  7,  8,  9,  15, 16,
                                      17, 31, 32, 33, 63, 64, 65, 66, 70};
    const int n = sizeof(extents) / sizeof(extents[0]);
    // Where groups have every shape, each shape is a program.
    const int step = is_reduced ? 29 : weft_context_limits(ctx)->fold == 1 ? 7 : 1;
    int number = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            elementwise_case of = sum_of(2, 1, extents[i], extents[j]);
            of.in[0].gap = 3;
            of.in[1].layout = number % 2 ? LAYOUT_TURNED : LAYOUT_DENSE;
            of.out[0].gap = 1;
            if (number++ % step == 0)
                elementwise_run(ctx, &of);
        }
}

// Where items take several vectors, one beside each, and about a block's end. (Of structs that were
// copied whole Mesa's rusticl 25.0 lost all vectors but the last.)
static void test_vectors_of_an_item(void **state)
{
    (void)state;
    static const int64_t extents[] = {257, 513, 768, 769, 1023, 1024, 1025, 5000};
    for (size_t i = 0; i < sizeof(extents) / sizeof(extents[0]); i++) {
        elementwise_case of = sum_of(1, 1, 1, extents[i]);
        elementwise_run(ctx, &of);
    }
}

// z + z^T
static void test_with_its_transpose(void **state)
{
    (void)state;
    static const int64_t sides[] = {1, 2, 8, 17, 64, 100, 255, 256};
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        elementwise_case of = sum_of(2, 1, sides[i], sides[i]);
        of.in[1].twin = true;
        if (!is_reduced || sides[i] < 20)
            elementwise_run(ctx, &of);
        of.in[0].layout = of.out[0].layout = LAYOUT_SLICED;
        if (!is_reduced && i % 2)
            elementwise_run(ctx, &of);
    }
}

static void test_transposes(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{37, 53}, {1, 90}, {90, 1}, {300, 5}, {5, 300}, {256, 64}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        elementwise_case of = sum_of(2, 1, shapes[i][0], shapes[i][1]);
        of.n_inputs = 1;
        of.formulas[0] = &copy;
        of.in[0].layout = LAYOUT_TURNED;
        of.in[0].dtype = of.out[0].dtype = i % 2 ? WEFT_U8 : WEFT_F32;
        if (!is_reduced || i < 2)
            elementwise_run(ctx, &of);
        of.in[0].layout = LAYOUT_DENSE;
        of.out[0].layout = LAYOUT_TURNED;
        if (!is_reduced || i < 2)
            elementwise_run(ctx, &of);
    }
}

// ---- an output that is an input

static void test_in_place(void **state)
{
    (void)state;
    static const strided_layout layouts[] = {LAYOUT_DENSE, LAYOUT_TURNED, LAYOUT_SLICED};
    for (int i = 0; i < 3; i++)
        for (int over = 1; over <= 2; over++) {
            elementwise_case of = sum_of(3, 3, 20, 41);
            of.seed += (uint64_t)(10 * i + over);
            of.over = over;
            of.in[0].layout = of.in[1].layout = layouts[i];
            of.in[2 - over].ones = (unsigned)i; // the other one
            elementwise_run(ctx, &of);
        }
}

// ---- the same bits

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    elementwise_operands o;
    elementwise_case of = sum_of(3, 4, is_reduced ? 9 : 130, 67);
    of.in[1].layout = LAYOUT_TURNED;
    of.formulas[0] = &quotient;
    elementwise_create(&o, ctx, &of);
    elementwise_call(&o);
    void *first = strided_read(&o.out[0], o.queue);
    for (int i = 0; i < 5; i++) {
        elementwise_restore(&o);
        elementwise_call(&o);
        void *again = strided_read(&o.out[0], o.queue);
        assert_memory_equal(again, first, o.out[0].bytes);
        free(again);
    }
    free(first);
    elementwise_destroy(&o);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_types),
        cmocka_unit_test(test_chosen_arithmetic),
        cmocka_unit_test(test_mixed_types),
        cmocka_unit_test(test_formulas_make_reals),
        cmocka_unit_test(test_edges_of_whole_numbers),
        cmocka_unit_test(test_reals_that_are_no_numbers),
        cmocka_unit_test(test_values_alone),
        cmocka_unit_test(test_many_operands),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_scalars),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_small_shapes),
        cmocka_unit_test(test_vectors_of_an_item),
        cmocka_unit_test(test_with_its_transpose),
        cmocka_unit_test(test_transposes),
        cmocka_unit_test(test_in_place),
        cmocka_unit_test(test_same_bits_run_after_run),
    };
    const int failed = cmocka_run_group_tests_name("elementwise", tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
