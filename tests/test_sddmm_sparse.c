// SPDX-License-Identifier: Apache-2.0
// D = alpha (A B^T) .* C + beta D with sparse factors against plain loops: every small pattern and
// shape, all data types, tilings as for CPUs and for GPUs, and what infinities and NaN come to.
#include "sddmm_sparse_case.h"
#include "sparse/sddmm_sparse_plan.h"
#include "tiling_text.h"

#include <math.h>

static weft_context *ctx;
static weft_context *joined; // where plans want sub-groups, which hand sums from lane to lane
static bool is_reduced;

// Which factors are sparse.
typedef enum kind { A_AND_B, A_ALONE, B_ALONE, N_KINDS } kind;

// Some items to a group, by kind. How many columns and entries there are is no part of a program.
static const weft_sddmm_sparse_tiling cut[N_KINDS] = {{8, 1, 1, 3}, {4, 4, 0, 3}, {8, 4, 1, 3}};

// Variants that have programs of their own go by turns, and of the small set one of `every`.
static bool is_taken(int variant, int every)
{
    const bool is_on_others = is_on("rusticl") || is_on("oclgrind");
    return is_reduced ? variant % every == is_on_others : has_turn(variant);
}

// What changes from case to case without a program of its own.
static masked_case varied(masked_case of, kind which, uint64_t seed)
{
    static const double scalars[] = {1, 0, -2, 1, 0.5, 0, 3};
    random_state random = {seed};
    masked_factor *const factors[] = {&of.A, &of.B};
    of.seed = seed;
    of.numbers = (masked_numbers)random_below(&random, N_NUMBERS);
    of.alpha = scalars[random_below(&random, 7)];
    of.beta = scalars[random_below(&random, 7)];
    if (of.alpha == 0)
        of.numbers = ALL_NAN;
    of.rows = (sparse_rows)random_below(&random, N_ROWS);
    of.in_place = random_below(&random, 4) == 0;
    of.start = random_below(&random, 4);
    of.d_start = random_below(&random, 4);
    of.A.is_dense = which == B_ALONE;
    of.B.is_dense = which == A_ALONE;
    for (int i = 0; i < 2; i++) {
        factors[i]->rows = (sparse_rows)random_below(&random, N_ROWS);
        factors[i]->layout = (dense_layout)random_below(&random, N_LAYOUTS);
        factors[i]->start = random_below(&random, 5);
    }
    return of;
}

// ---- small products

static weft_csr_host cells_of(int64_t n_rows, int64_t n_cols, unsigned cells)
{
    float dense[8];
    weft_csr_host host;
    for (int i = 0; i < n_rows * n_cols; i++)
        dense[i] = (float)(cells >> i & 1);
    assert_ok(weft_csr_host_from_dense(&host, n_rows, n_cols, dense, n_cols, 1, 0, NULL));
    return host;
}

// All of C; some of A in parts, or hashed.
static void test_every_small_pattern(void **state)
{
    (void)state;
    static const weft_sddmm_sparse_tiling tilings[] = {{1, 1, 4, 3}, {1, 1, 2, 3}};
    const unsigned step = is_reduced ? 7 : 1;
    for (unsigned a = 0; a < 64; a += step)
        for (unsigned b = 0; b < 64; b += step) {
            weft_csr_host A = cells_of(2, 3, a), B = cells_of(2, 3, b);
            masked_case of = varied((masked_case){.m = 2, .n = 2, .k = 3}, A_AND_B, 64 * a + b);
            of.rows = ROWS_FULL;
            of.A.given = &A;
            of.B.given = &B;
            of.tiling = &tilings[(a + b) % 2];
            masked_run(ctx, &of);
            weft_csr_host_destroy(&A);
            weft_csr_host_destroy(&B);
        }
}

static void run_small_shapes(masked_case of, int64_t most)
{
    uint64_t seed = 0;
    for (of.m = 0; of.m <= most; of.m++)
        for (of.n = 0; of.n <= most; of.n++)
            for (of.k = 0; of.k <= most; of.k++)
                for (int which = 0; which < N_KINDS; which++) {
                    const masked_case one = varied(of, (kind)which, ++seed);
                    if (!is_reduced || seed % 5 == 0)
                        masked_run(ctx, &one);
                }
}

static void test_small_shapes_as_planned(void **state)
{
    (void)state;
    run_small_shapes((masked_case){.dtype = WEFT_F32}, 4);
    if (!is_reduced)
        run_small_shapes((masked_case){.indicator = true}, 4);
}

static void test_small_shapes_with_little_room(void **state)
{
    (void)state;
    static const weft_sddmm_sparse_tiling alone[N_KINDS] = {
        {1, 1, 1, 3}, {1, 1, 0, 3}, {1, 1, 1, 3}};
    for (uint64_t seed = 0; seed < (is_reduced ? 150 : 900); seed++) {
        const kind which = (kind)(seed % N_KINDS);
        const masked_case of = {.m = (int64_t)(seed / 3 % 5),
                                .n = (int64_t)(seed / 15 % 5),
                                .k = 2 + (int64_t)(seed / 75 % 4),
                                .tiling = is_reduced || seed % 2 ? &alone[which] : &cut[which]};
        const masked_case one = varied(of, which, seed);
        masked_run(ctx, &one);
    }
}

// ---- shapes, types, layouts

// Rows of every kind; some have more entries than a group, or than sums wait.
static void run_as_planned(weft_context *there, uint64_t seed, int n)
{
    for (int i = 0; i < n; i++, seed++) {
        random_state random = {seed};
        const masked_case of = {.m = random_between(&random, 1, is_reduced ? 15 : 60),
                                .n = random_between(&random, 1, is_reduced ? 60 : 400),
                                .k = random_between(&random, 1, 150)};
        const masked_case one = varied(of, (kind)(seed % N_KINDS), seed);
        masked_run(there, &one);
    }
}

static void test_products_as_planned(void **state)
{
    (void)state;
    run_as_planned(ctx, 1000, is_on("oclgrind") ? 12 : is_reduced ? 40 : 300);
}

// A row of A has more columns than any plan has room for, its elements lie far apart or close.
static void test_more_columns_than_stand_as_planned(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const int64_t k = (is_reduced ? 9000 : 300000) + (int64_t)seed;
        masked_case of =
            varied((masked_case){.m = 5, .n = 9, .k = k}, seed % 2 ? B_ALONE : A_AND_B, seed + 50);
        of.A.rows = seed % 4 == 0 ? ROWS_ONE_FULL : ROWS_SPARSE;
        of.B.rows = seed % 4 == 2 ? ROWS_ONE_FULL : ROWS_SPARSE;
        of.A.layout = ROWS_PADDED;
        of.rows = ROWS_FULL;
        masked_run(ctx, &of);
    }
}

// Types of each operand by itself, in programs of their own.
static void test_all_types(void **state)
{
    (void)state;
    static const struct {
        kind which;
        weft_dtype dtype, offsets[3], indices[3]; // A, B, C
        bool has_wide_d;
    } types[] = {
        {A_AND_B, WEFT_F64, {WEFT_I64, WEFT_I32, WEFT_I32}, {WEFT_I32, WEFT_I16, WEFT_I32}, false},
        {A_ALONE, WEFT_F64, {WEFT_I32, 0, WEFT_I64}, {WEFT_I16, 0, WEFT_I16}, false},
        {B_ALONE, WEFT_F64, {0, WEFT_I64, WEFT_I64}, {0, WEFT_I16, WEFT_I32}, false},
        {A_AND_B, WEFT_F16, {WEFT_I32, WEFT_I64, WEFT_I32}, {WEFT_I16, WEFT_I32, WEFT_I32}, false},
        {A_ALONE, WEFT_F16, {WEFT_I64, 0, WEFT_I32}, {WEFT_I32, 0, WEFT_I16}, false},
        {B_ALONE, WEFT_F16, {0, WEFT_I32, WEFT_I64}, {0, WEFT_I32, WEFT_I16}, false},
        {A_AND_B, WEFT_BF16, {WEFT_I32, WEFT_I32, WEFT_I64}, {WEFT_I16, WEFT_I16, WEFT_I16}, false},
        {A_ALONE, WEFT_BF16, {WEFT_I32, 0, WEFT_I32}, {WEFT_I16, 0, WEFT_I32}, false},
        {B_ALONE, WEFT_BF16, {0, WEFT_I64, WEFT_I32}, {0, WEFT_I32, WEFT_I32}, false},
        {A_AND_B, WEFT_F32, {WEFT_I64, WEFT_I64, WEFT_I64}, {WEFT_I16, WEFT_I16, WEFT_I32}, false},
        {A_AND_B, WEFT_F16, {WEFT_I32, WEFT_I32, WEFT_I32}, {WEFT_I32, WEFT_I32, WEFT_I32}, true},
        {A_ALONE, WEFT_BF16, {WEFT_I32, 0, WEFT_I32}, {WEFT_I32, 0, WEFT_I32}, true},
        {B_ALONE, WEFT_F16, {0, WEFT_I32, WEFT_I32}, {0, WEFT_I32, WEFT_I32}, true},
    };
    enum { N_TYPES = sizeof(types) / sizeof(types[0]) };
    for (uint64_t seed = 0; seed < N_TYPES * (is_reduced ? 6 : 24); seed++) {
        const int i = (int)(seed % N_TYPES);
        masked_case of = {.m = 20, .n = 30, .k = 25, .dtype = types[i].dtype};
        of.A.offset_dtype = types[i].offsets[0];
        of.A.index_dtype = types[i].indices[0];
        of.B.offset_dtype = types[i].offsets[1];
        of.B.index_dtype = types[i].indices[1];
        of.offset_dtype = types[i].offsets[2];
        of.index_dtype = types[i].indices[2];
        of.has_wide_d = types[i].has_wide_d;
        of = varied(of, types[i].which, seed + 300);
        of.numbers = of.alpha == 0 || seed / N_TYPES % 2 ? of.numbers : FRACTIONS;
        if (is_taken(i, 5))
            masked_run(ctx, &of);
    }
}

static void test_layouts_of_dense_factors(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2 * N_LAYOUTS; seed++)
        for (int i = 0; i < (is_reduced ? 2 : 6); i++) {
            masked_case of = varied((masked_case){.m = 6 + i, .n = 12 - i, .k = 5 + 2 * i},
                                    seed % 2 ? A_ALONE : B_ALONE, 100 * (seed + 1) + (uint64_t)i);
            of.A.layout = of.B.layout = (dense_layout)(seed / 2);
            of.rows = ROWS_RANDOM;
            masked_run(ctx, &of);
        }
}

// alpha 0 reads neither A, B nor C's values, beta 0 does not read D: all that is not read is NaN.
static void test_alpha_and_beta(void **state)
{
    (void)state;
    static const double scalars[] = {0, 1, -1, 2.5, -0.1};
    uint64_t seed = 30000;
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 5; b++)
            for (int i = 0; i < 4 * N_KINDS; i++) {
                masked_case of = varied((masked_case){.m = 4, .n = 5, .k = i % 5 == 4 ? 0 : 6},
                                        (kind)(i % N_KINDS), ++seed);
                of.alpha = scalars[a];
                of.beta = scalars[b];
                of.indicator = i / N_KINDS % 2;
                of.in_place = i / N_KINDS / 2;
                of.numbers = a == 0 ? ALL_NAN : FRACTIONS;
                if (!is_reduced || seed % 7 == 0)
                    masked_run(ctx, &of);
            }
}

// Too small for the type of the sums: alpha is 0 there, and beta.
static void test_scalars_that_vanish(void **state)
{
    (void)state;
    for (int which = 0; which < N_KINDS; which++) {
        masked_operands o;
        masked_case of = varied((masked_case){.m = 5, .n = 7, .k = 5}, (kind)which, 1);
        of.alpha = of.beta = 0;
        of.numbers = ALL_NAN;
        of.rows = ROWS_FULL;
        of.in_place = false;
        masked_create(&o, ctx, weft_context_queue(ctx), &of);
        const weft_factor A = masked_side_factor(&o.A), B = masked_side_factor(&o.B);
        assert_ok(weft_sddmm_sparse(ctx, o.queue, 1e-60, &A, &B, &o.C, -1e-60, &o.D, NULL));
        masked_check(&o); // all 0
        masked_destroy(&o);
    }
}

// ---- tilings

typedef struct variant {
    kind which;
    weft_dtype dtype;
    bool indicator;
    weft_sddmm_sparse_tiling tiling; // items, lanes, columns, entries
} variant;

static const variant variants[] = {
    // items alone
    {A_AND_B, WEFT_F32, false, {1, 1, 5, 1}},
    {B_ALONE, WEFT_F32, false, {1, 1, 7, 1000}},
    {A_ALONE, WEFT_F32, true, {1, 1, 0, 3}},
    // each with a sum of its own
    {A_AND_B, WEFT_F32, false, {8, 1, 6, 1000}},
    {B_ALONE, WEFT_F32, false, {16, 1, 1000, 7}},
    {A_ALONE, WEFT_F32, false, {32, 1, 0, 1}},
    // that share sums
    {A_AND_B, WEFT_F32, false, {2, 2, 1000, 3}},
    {A_AND_B, WEFT_F32, true, {16, 4, 9, 1000}},
    {A_AND_B, WEFT_F64, false, {32, 32, 3, 5}},
    {A_AND_B, WEFT_F32, false, {128, 8, 40, 1000}},
    {B_ALONE, WEFT_F32, false, {8, 4, 11, 1000}},
    {B_ALONE, WEFT_BF16, true, {64, 16, 1000, 3}},
    {B_ALONE, WEFT_F32, false, {128, 128, 32, 40}},
    {A_ALONE, WEFT_F32, false, {4, 4, 0, 1000}},
    {A_ALONE, WEFT_F16, false, {64, 8, 0, 3}},
    {A_ALONE, WEFT_F64, true, {128, 64, 0, 1000}},
};
enum { N_VARIANTS = sizeof(variants) / sizeof(variants[0]) };

// Few rows, so that most have more entries than go side by side, and some than sums wait.
static masked_case variant_case(const variant *v, uint64_t seed)
{
    random_state random = {seed};
    const int side = v->tiling.items / v->tiling.lanes;
    const bool is_wide = v->tiling.items < 32 && v->tiling.entries == 1000 && seed % 4 == 0;
    masked_case of = {.m = random_between(&random, 1, 5),
                      .n = is_wide ? random_between(&random, 250, 600)
                                   : random_between(&random, 1, 3 * side + 4),
                      .k = random_between(&random, 2, 4 * v->tiling.lanes + 9),
                      .dtype = v->dtype,
                      .indicator = v->indicator,
                      .has_wide_d = v->dtype == WEFT_BF16,
                      .tiling = &v->tiling};
    if (v->tiling.columns > 0 && v->tiling.columns < 1000 && of.k <= v->tiling.columns)
        of.k += v->tiling.columns; // or it would be another program
    return varied(of, v->which, seed);
}

static void run_variant(weft_context *there, int i, int n_cases)
{
    for (int j = 0; j < n_cases; j++) {
        const masked_case one = variant_case(&variants[i], (uint64_t)(1000 * i + j));
        masked_run(there, &one);
    }
}

static void test_every_variant(void **state)
{
    (void)state;
    for (int i = 0; i < N_VARIANTS; i++)
        if (is_taken(i, 5))
            run_variant(ctx, i, is_reduced ? 8 : 40);
}

static void test_lanes_that_hand_sums_down(void **state)
{
    (void)state;
    assert_true(weft_context_limits(joined)->has_subgroups);
    for (int i = 7; i < N_VARIANTS; i += is_reduced ? 9 : 3)
        if (variants[i].tiling.lanes > 1)
            run_variant(joined, i, is_reduced ? 8 : 30);
}

// Rows of A that are longer than there is room for: sorted or not, elements close or far apart, and
// some of one column in different parts. Room for few, and for as many as collide.
static void test_rows_of_a_in_parts(void **state)
{
    (void)state;
    static const sparse_rows kinds[] = {ROWS_SPARSE, ROWS_REPEATED, ROWS_FULL, ROWS_RANDOM};
    static const weft_sddmm_sparse_tiling tilings[] = {
        {1, 1, 5, 20}, {8, 1, 6, 1000}, {1, 1, 120, 20}, {8, 1, 300, 1000}};
    for (uint64_t seed = 0; seed < (is_reduced ? 32 : 160); seed++) {
        const weft_sddmm_sparse_tiling *tiling = &tilings[seed % 4];
        const int64_t more = (int64_t)(7 * seed % (is_reduced ? 10 : 100));
        masked_case of =
            varied((masked_case){.m = 3, .n = is_reduced ? 5 : 9, .k = tiling->columns + 1 + more},
                   A_AND_B, seed + 4000);
        of.rows = ROWS_FULL;
        of.A.rows = kinds[seed / 4 % 4];
        of.B.rows = seed % 8 < 4 ? ROWS_FULL : ROWS_RANDOM;
        of.tiling = tiling;
        masked_run(ctx, &of);
    }
}

// Of one row and more: sums that wait come in several turns, and groups end within the row.
static void test_long_runs_of_entries(void **state)
{
    (void)state;
    static const weft_sddmm_sparse_tiling tilings[] = {
        {1, 1, 5, 1000}, {8, 1, 6, 1000}, {1, 1, 5, 777}, {8, 1, 6, 257}};
    static const int64_t lengths[] = {255, 256, 257, 511, 512, 513, 1500};
    for (uint64_t seed = 0; seed < (is_reduced ? 12 : 56); seed++) {
        const kind which = seed % 4 == 2 ? B_ALONE : A_AND_B;
        masked_case of = {.m = is_reduced ? 1 : 3,
                          .n = lengths[seed % (is_reduced ? 6 : 7)],
                          .k = is_reduced ? 7 : 15};
        of = varied(of, which, seed + 6000);
        of.rows = seed % 3 || is_reduced ? ROWS_FULL : ROWS_REPEATED;
        of.B.rows = seed % 2 ? ROWS_FULL : ROWS_RANDOM;
        of.tiling = &tilings[seed / (is_reduced ? 3 : 7) % 4];
        if (which == A_AND_B || of.tiling->items == 1)
            masked_run(ctx, &of);
    }
}

// One row of A, B and C that is longer than all others together.
static void test_a_huge_row(void **state)
{
    (void)state;
    const int64_t k = is_reduced ? 700 : 9000;
    for (uint64_t seed = 0; seed < 2 * N_KINDS; seed++) {
        masked_case of =
            varied((masked_case){.m = 3, .n = k / 8, .k = k}, (kind)(seed % N_KINDS), seed + 8000);
        of.rows = seed < N_KINDS ? ROWS_ONE_FULL : ROWS_SPARSE;
        of.A.rows = of.B.rows = ROWS_ONE_FULL;
        of.A.layout = of.B.layout = ROW_MAJOR;
        masked_run(ctx, &of);
    }
}

// Groups begin behind thousands of empty rows; nothing is a multiple of anything.
static void test_long_lists(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2 * N_KINDS; seed++) {
        const sparse_rows rows = seed < N_KINDS ? ROWS_FAR : ROWS_REPEATED;
        masked_case of = {.m = 20011, .n = 53, .k = 13};
        if (is_reduced)
            of.m = rows == ROWS_FAR ? 701 : 29;
        of = varied(of, (kind)(seed % N_KINDS), seed + 9000);
        of.rows = rows;
        masked_run(ctx, &of);
    }
}

// ---- infinities and NaN

enum { K = 4 };

// What stands at four columns of a row; -9: not stored, which in a dense factor is 0.
typedef struct line {
    double x[K];
} line;

static weft_csr sparse_line(const line *l)
{
    static const int64_t all_rows[K];
    int64_t columns[K], n = 0;
    double values[K];
    weft_csr_host host;
    weft_csr csr;
    for (int i = 0; i < K; i++)
        if (l->x[i] != -9) {
            columns[n] = i;
            values[n++] = l->x[i];
        }
    assert_ok(weft_csr_host_from_coo(&host, 1, K, n, all_rows, columns, values, NULL));
    assert_ok(weft_csr_create(&csr, ctx, weft_context_queue(ctx), &host));
    weft_csr_host_destroy(&host);
    return csr;
}

static weft_tensor dense_line(const line *l)
{
    float values[K];
    for (int i = 0; i < K; i++)
        values[i] = l->x[i] == -9 ? 0 : (float)l->x[i];
    return weft_matrix(buffer_of(ctx, values, sizeof(values)), WEFT_F32, 1, K);
}

static float product_of(const line *a, const line *b, kind which,
                        const weft_sddmm_sparse_tiling *tiling)
{
    weft_sddmm_sparse_tiling own = *tiling;
    own.columns = which == A_ALONE ? 0 : own.columns;
    weft_csr A = sparse_line(a), B = sparse_line(b), C = sparse_line(&(line){{1, -9, -9, -9}});
    const weft_tensor dense_A = dense_line(a), dense_B = dense_line(b);
    const float before = NAN;
    const weft_tensor D = {
        .buffer = buffer_of(ctx, &before, sizeof(before)), .ndim = 1, .shape = {1}, .stride = {1}};
    C.n_cols = 1;
    assert_ok(weft_sddmm_sparse(ctx, weft_context_queue(ctx), 1,
                                which == B_ALONE ? WEFT_DENSE(&dense_A) : WEFT_SPARSE(&A),
                                which == A_ALONE ? WEFT_DENSE(&dense_B) : WEFT_SPARSE(&B), &C, 0,
                                &D, WEFT_SDDMM_SPARSE(.tiling = TILING_TEXT(sddmm_sparse, &own))));
    float *now = buffer_now(weft_context_queue(ctx), D.buffer, sizeof(*now));
    const float got = *now;
    free(now);
    weft_csr_destroy(&A);
    weft_csr_destroy(&B);
    weft_csr_destroy(&C);
    clReleaseMemObject(dense_A.buffer);
    clReleaseMemObject(dense_B.buffer);
    clReleaseMemObject(D.buffer);
    return got;
}

// A product of what both store, and of nothing else: what stands in a dense factor is stored.
static void test_what_is_not_stored_has_no_product(void **state)
{
    (void)state;
    static const weft_sddmm_sparse_tiling alone[] = {{1, 1, 4, 3}, {1, 1, 2, 3}};
    static const float inf = INFINITY, nan = NAN;
    const struct {
        line a, b;
        float want[N_KINDS]; // by what is sparse: both, A alone, B alone
    } lines[] = {
        {{{-9, 2, -9, -9}}, {{inf, 3, -9, -9}}, {6, 6, nan}},
        {{{0, 2, -9, -9}}, {{inf, 3, -9, -9}}, {nan, nan, nan}},
        {{{-9, 2, nan, -9}}, {{inf, 3, -9, nan}}, {6, nan, nan}},
        {{{-9, 2, nan, 1}}, {{inf, 3, -9, inf}}, {inf, nan, nan}},
        {{{inf, -9, -9, -9}}, {{-9, nan, inf, -inf}}, {0, nan, nan}},
        {{{inf, -9, -9, inf}}, {{1, -9, -9, -1}}, {nan, nan, nan}},
        {{{-9, -9, -9, -9}}, {{inf, nan, inf, nan}}, {0, 0, nan}},
        {{{inf, nan, -inf, nan}}, {{-9, -9, -9, -9}}, {0, nan, 0}},
        {{{nan, 1, -9, -9}}, {{-9, 5, 7, 7}}, {5, nan, 5}},
        {{{inf, 1, 1, 1}}, {{2, -9, -9, -9}}, {inf, inf, inf}},
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        for (int j = 0; j < (is_reduced ? 2 : 3) * N_KINDS; j++) {
            const kind which = (kind)(j % N_KINDS);
            const float want = lines[i].want[which];
            const float got = product_of(&lines[i].a, &lines[i].b, which,
                                         j / N_KINDS < 2 ? &alone[j / N_KINDS] : &cut[which]);
            if (isnan(want) ? !isnan(got) : got != want)
                fail_msg("line %d, kind %d, tiling %d: %g, not %g", (int)i, j % N_KINDS,
                         j / N_KINDS, (double)got, (double)want);
        }
}

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4 * N_KINDS; seed++) {
        masked_operands o;
        const kind which = (kind)(seed % N_KINDS);
        masked_case of =
            varied((masked_case){.m = 9, .n = is_reduced ? 30 : 500, .k = is_reduced ? 30 : 90},
                   which, seed + 11000);
        of.numbers = of.alpha == 0 ? ALL_NAN : FRACTIONS;
        of.tiling = is_reduced || seed % 2 ? NULL : &cut[which];
        masked_create(&o, ctx, weft_context_queue(ctx), &of);
        masked_call(&o);
        masked_check(&o);
        void *want = masked_read(&o);
        for (int run = 0; run < 3; run++) {
            masked_restore(&o);
            masked_call(&o);
            void *got = masked_read(&o);
            assert_memory_equal(got, want, o.d_bytes);
            free(got);
        }
        free(want);
        masked_destroy(&o);
    }
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED") || is_on("rusticl"); // whose loops end early
    ctx = open_context(NULL);
    joined = open_context(weft_profile_find("intel-arc-a770"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_pattern),
        cmocka_unit_test(test_small_shapes_as_planned),
        cmocka_unit_test(test_small_shapes_with_little_room),
        cmocka_unit_test(test_products_as_planned),
        cmocka_unit_test(test_more_columns_than_stand_as_planned),
        cmocka_unit_test(test_all_types),
        cmocka_unit_test(test_layouts_of_dense_factors),
        cmocka_unit_test(test_alpha_and_beta),
        cmocka_unit_test(test_scalars_that_vanish),
        cmocka_unit_test(test_every_variant),
        cmocka_unit_test(test_lanes_that_hand_sums_down),
        cmocka_unit_test(test_rows_of_a_in_parts),
        cmocka_unit_test(test_long_runs_of_entries),
        cmocka_unit_test(test_a_huge_row),
        cmocka_unit_test(test_long_lists),
        cmocka_unit_test(test_what_is_not_stored_has_no_product),
        cmocka_unit_test(test_same_bits_run_after_run),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&joined);
    weft_context_destroy(&ctx);
    return failed;
}
