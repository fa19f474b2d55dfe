// SPDX-License-Identifier: Apache-2.0
// C = A B, all sparse, where groups of several items sort the products of a batch of rows: rows of
// every length, columns in every order, all data types, and keys that use all of their bits; each
// with the bits that marks give.
#include "spgemm_product.h"

enum {
    N_BITS = 12,          // row i + 1 of B has 2^i entries, row 0 none
    LEAST_COLUMNS = 5000, // of C
};

typedef enum column_order { ANY_ORDER, ALL_THE_SAME, FALLING, N_ORDERS } column_order;

// What one item marks. All rows have few sweeps: llvmpipe ends an item's loops after 65535 turns of
// all of them.
static const weft_spgemm_tiling marked = {.items = 1, .rows = 1, .columns = 1024};

// Rows sorted one by one and together; as they come in turn, and as long rows besides.
static const weft_spgemm_tiling sorts[] = {
    {.items = 4, .rows = 5, .columns = 512, .sorted = 256, .sort_items = 4, .sort_rows = 1},
    {.items = 32,
     .rows = 16,
     .columns = 512,
     .sorted = 512,
     .sort_items = 32,
     .sort_rows = 16,
     .sort_counts = true},
    {.items = 2,
     .rows = 7,
     .columns = 512,
     .sorted = 1024,
     .sort_items = 16,
     .sort_rows = 16,
     .sort_counts = true,
     .long_from = 257,
     .long_columns = 512,
     .long_groups = 3},
    {.items = 8,
     .rows = 3,
     .columns = 512,
     .sorted = 16,
     .sort_items = 2,
     .sort_rows = 2,
     .sort_counts = true},
};
enum { N_SORTS = sizeof(sorts) / sizeof(sorts[0]) };

static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F16, WEFT_BF16, WEFT_F64};

// Room for `most` entries, and none.
static pattern empty_pattern(int64_t n_rows, int64_t n_cols, int64_t most)
{
    pattern p = pattern_of_cells(n_rows, n_cols, 0);
    free(p.columns);
    p.columns = new_array(most, sizeof(int64_t));
    return p;
}

static pattern powers_of_two(random_state *random, int64_t n_cols, column_order order)
{
    pattern B = empty_pattern(N_BITS + 1, n_cols, 1 << N_BITS);
    for (int row = 1; row <= N_BITS; row++) {
        for (int64_t i = 0; i < 1 << (row - 1); i++)
            B.columns[B.nnz++] = order == ANY_ORDER      ? (int64_t)random_below(random, n_cols)
                                 : order == ALL_THE_SAME ? n_cols - 1
                                                         : n_cols - 1 - 2 * i;
        B.offsets[row + 1] = B.nnz;
    }
    return B;
}

// Adds a row with so many products.
static void add_row(pattern *A, int64_t row, int products)
{
    for (int bit = 0; bit < N_BITS; bit++)
        if (products >> bit & 1)
            A->columns[A->nnz++] = bit + 1;
    A->offsets[row + 1] = A->nnz;
}

static pattern rows_of_every_length(void)
{
    static const int lengths[] = {0,   1,   2,   7,   8,   9,   15,  16,  17,   31,   32,   0,
                                  0,   33,  63,  64,  65,  1,   1,   1,   1,    3,    127,  128,
                                  129, 255, 256, 257, 300, 511, 512, 513, 1023, 1024, 1025, 0};
    enum { N_LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };
    pattern A = empty_pattern(N_LENGTHS, N_BITS + 1, N_LENGTHS * N_BITS);
    for (int row = 0; row < N_LENGTHS; row++)
        add_row(&A, row, lengths[row]);
    return A;
}

// Takes the patterns over.
static void check_sorts(pattern A, pattern B, product_case of, const weft_spgemm_tiling *tiling)
{
    operands o;
    of.tiling = &marked;
    of.in_fractions = of.dtype == WEFT_F32;
    operands_create(&o, A, B, &of);
    char *const want = result_of(&o, &of);
    of.tiling = tiling;
    check_bits(&o, &of, want);
    free(want);
    operands_destroy(&o);
}

static bool runs(const weft_spgemm_tiling *tiling, int64_t n_cols, weft_dtype dtype)
{
    const weft_limits *limits = weft_context_limits(ctx);
    const weft_spgemm_problem problem = {.n = n_cols, .dtype = dtype};
    return takes_groups_of(tiling->items) && takes_groups_of(tiling->sort_items) &&
           (dtype != WEFT_F64 || limits->has_f64) &&
           weft_spgemm_tiling_check(tiling, limits, &problem) == WEFT_OK;
}

// ---- rows

static void test_rows_of_every_length(void **state)
{
    (void)state;
    for (int i = 0; i < N_SORTS; i++)
        for (int j = 0; j < N_ORDERS; j++) {
            random_state random = {(uint64_t)(60 + j)};
            const product_case of = {.seed = random.state, .dtype = WEFT_F32, .start = j};
            if (has_turn_unless(i == 1, i) && runs(&sorts[i], LEAST_COLUMNS, WEFT_F32))
                check_sorts(rows_of_every_length(),
                            powers_of_two(&random, LEAST_COLUMNS, (column_order)j), of, &sorts[i]);
        }
}

static void test_all_data_types(void **state)
{
    (void)state;
    for (int i = 1; i < 4; i++) {
        random_state random = {(uint64_t)(70 + i)};
        const product_case of = {
            .seed = random.state,
            .dtype = dtypes[i],
            .wide = {i == 1 ? WEFT_I64 : WEFT_I32, i == 2 ? WEFT_I64 : WEFT_I32,
                     i == 3 ? WEFT_I64 : WEFT_I32},
            .narrow = {i == 2 ? WEFT_I16 : WEFT_I32, i == 3 ? WEFT_I16 : WEFT_I32,
                       i == 1 ? WEFT_I16 : WEFT_I32}};
        if (has_turn(i) && runs(&sorts[i], LEAST_COLUMNS, dtypes[i]))
            check_sorts(rows_of_every_length(), powers_of_two(&random, LEAST_COLUMNS, ANY_ORDER),
                        of, &sorts[i]);
    }
}

static void test_rows_of_every_length_as_planned(void **state)
{
    (void)state;
    random_state random = {80};
    const product_case of = {.seed = random.state, .dtype = WEFT_F32};
    check_sorts(rows_of_every_length(), powers_of_two(&random, LEAST_COLUMNS, ANY_ORDER), of, NULL);
}

static void test_patterns_of_every_kind(void **state)
{
    (void)state;
    for (int i = 0; i < N_PATTERNS * N_PATTERNS; i += is_reduced ? 3 : 1) {
        random_state random = {(uint64_t)(300 + i)};
        const weft_spgemm_tiling *tiling = &sorts[i % N_SORTS];
        const product_case of = {.seed = random.state, .dtype = WEFT_F32};
        const pattern A = pattern_create(&random, (pattern_kind)(i % N_PATTERNS), 90, 50, 300);
        const pattern B =
            pattern_create(&random, (pattern_kind)(i / N_PATTERNS), 50, LEAST_COLUMNS, 400);
        if (runs(tiling, LEAST_COLUMNS, WEFT_F32)) {
            check_sorts(A, B, of, tiling);
        } else {
            pattern_destroy((pattern[]){A});
            pattern_destroy((pattern[]){B});
        }
    }
}

// The last row of a batch has as many products as a group sorts, the last one in C's last column: a
// key that has all bits, as those behind the last one do.
static void test_keys_of_all_bits(void **state)
{
    (void)state;
    static const weft_spgemm_tiling tiling = {.items = 32,
                                              .rows = 32,
                                              .columns = 64,
                                              .sorted = 2048,
                                              .sort_items = 32,
                                              .sort_rows = 32,
                                              .sort_counts = true};
    const int64_t n = 1 << 16;
    if (!runs(&tiling, n, WEFT_F32))
        return;
    for (int products = 2047; products <= 2048; products++) {
        random_state random = {90};
        pattern A = empty_pattern(32, N_BITS + 1, N_BITS);
        const pattern B = powers_of_two(&random, n, ANY_ORDER);
        add_row(&A, 31, products);
        for (int row = 1; row <= N_BITS; row++)
            B.columns[B.offsets[row + 1] - 1] = n - 1;
        check_sorts(A, B, (product_case){.seed = 90, .dtype = WEFT_F32}, &tiling);
    }
}

// A row with so many entries that its sums are not plain ones, though it has few products: it is
// not sorted.
static void test_few_products_of_many_entries(void **state)
{
    (void)state;
    enum { MANY = 4200 };
    random_state random = {91};
    pattern A = empty_pattern(3, N_BITS + 1, MANY + 2 * N_BITS);
    add_row(&A, 0, 21);
    for (int i = 0; i < MANY; i++)
        A.columns[A.nnz++] = i % 100 == 0 ? 1 + i / 100 % 2 : 0;
    A.offsets[2] = A.nnz;
    add_row(&A, 2, 30);
    check_sorts(A, powers_of_two(&random, LEAST_COLUMNS, FALLING),
                (product_case){.seed = 91, .dtype = WEFT_F32}, &sorts[3]);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_every_length),
        cmocka_unit_test(test_all_data_types),
        cmocka_unit_test(test_rows_of_every_length_as_planned),
        cmocka_unit_test(test_patterns_of_every_kind),
        cmocka_unit_test(test_keys_of_all_bits),
        cmocka_unit_test(test_few_products_of_many_entries),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
