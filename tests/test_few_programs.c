// SPDX-License-Identifier: Apache-2.0
// A thousand random shapes take few programs, as planned for every known device: by rehearsals, so
// that nothing is compiled, and none is needed.
#define _POSIX_C_SOURCE 200809L // strdup
#include <weft/elementwise.h>
#include <weft/matmul.h>
#include <weft/rehearsal.h>
#include <weft/sddmm_sparse.h>
#include <weft/spmm_dcsr.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "runtime.h"

enum { N_SHAPES = 1000, MOST_SEEN = 64, N_BUFFERS = 8, MOST_ROWS = 600, MOST_NNZ = 60 * MOST_ROWS };

static weft_context *ctx;
static cl_mem buffers[N_BUFFERS]; // from the third on of a pattern: offsets, indices
static int32_t offsets[MOST_ROWS + 1], indices[MOST_NNZ];
static random_state numbers;

// What a thousand of one kind may take.
typedef struct kind {
    const char *name;
    void (*call)(void);
    int most;
} kind;

// ---- calls of a random shape

// From 1 to `most`, every magnitude equally likely.
static int64_t extent_upto(int64_t most)
{
    const int64_t extent = random_extent(&numbers);
    return extent % most + 1;
}

static void add(const weft_tensor *A, const weft_tensor *B, const weft_tensor *Y)
{
    assert_ok(weft_elementwise(ctx, NULL, WEFT_INPUTS({"a", A}, {"b", B}),
                               WEFT_OUTPUTS({"a + b", Y}), NULL));
}

static void add_arrays(void)
{
    const int64_t columns = extent_upto(4096), rows = extent_upto(4096);
    const weft_tensor A = weft_matrix(buffers[0], WEFT_F32, rows, columns);
    const weft_tensor B = weft_matrix(buffers[1], WEFT_F32, rows, columns);
    add(&A, &B, &A);
}

// Rows of Y lie apart, so that the loops stay two.
static void add_a_row(void)
{
    const int64_t columns = 1 + extent_upto(4096), rows = 1 + extent_upto(4096);
    const weft_tensor A = weft_matrix(buffers[0], WEFT_F32, rows, columns);
    weft_tensor B = weft_matrix(buffers[1], WEFT_F32, rows, columns);
    weft_tensor Y = weft_matrix(buffers[2], WEFT_F32, rows, columns);
    B.stride[0] = 0;
    Y.stride[0] += 1 + random_below(&numbers, 7);
    add(&A, &B, &Y);
}

static void add_transposed(void)
{
    const int64_t columns = 4 + extent_upto(4096), rows = 4 + extent_upto(4096);
    const weft_tensor A = weft_matrix(buffers[0], WEFT_F32, rows, columns);
    const weft_tensor transposed = weft_matrix(buffers[1], WEFT_F32, columns, rows);
    const weft_tensor B = weft_tensor_transposed(&transposed);
    const weft_tensor Y = weft_matrix(buffers[2], WEFT_F32, rows, columns);
    add(&A, &B, &Y);
}

static void multiply_dense(void)
{
    const int64_t m = extent_upto(2048), n = extent_upto(2048), k = extent_upto(2048);
    const weft_tensor A = weft_matrix(buffers[0], WEFT_F32, m, k),
                      B = weft_matrix(buffers[1], WEFT_F32, k, n);
    const weft_tensor C = weft_matrix(buffers[2], WEFT_F32, m, n);
    assert_ok(weft_matmul(ctx, NULL, 1, &A, &B, 0, &C, NULL));
}

// Every magnitude of rows and lengths; one row in ten has ten times the others' mean.
static weft_csr random_matrix(void)
{
    const int64_t n_rows = extent_upto(MOST_ROWS), n_cols = extent_upto(4096);
    const int64_t mean = extent_upto(n_cols < 20 ? n_cols : 20);
    int32_t n = 0;
    for (int64_t row = 0; row < n_rows; row++) {
        const int64_t wanted = row % 10 == 0 ? 10 * mean : random_below(&numbers, 2 * mean + 1);
        const int64_t length = wanted < n_cols ? wanted : n_cols;
        offsets[row] = n;
        for (int64_t i = 0; i < length; i++)
            indices[n++] = (int32_t)(i * n_cols / length);
    }
    offsets[n_rows] = n;
    return (weft_csr){.n_rows = n_rows,
                      .n_cols = n_cols,
                      .nnz = n,
                      .offsets = buffers[3],
                      .indices = buffers[4],
                      .values = buffers[0]};
}

static void multiply(bool with_plan)
{
    const int64_t n = extent_upto(512);
    const weft_csr A = random_matrix();
    const weft_tensor B = weft_matrix(buffers[1], WEFT_F32, A.n_cols, n);
    const weft_tensor C = weft_matrix(buffers[2], WEFT_F32, A.n_rows, n);
    weft_spmm_plan *plan = NULL;
    if (with_plan)
        assert_ok(weft_spmm_plan_create(&plan, ctx, NULL, &A, NULL));
    assert_ok(weft_spmm(ctx, NULL, 1, &A, &B, 0, &C, WEFT_SPMM(.plan = plan)));
    weft_spmm_plan_destroy(&plan);
}

static void multiply_sparse(void)
{
    multiply(false);
}

static void multiply_planned(void)
{
    multiply(true);
}

// As rows that a matrix of twice as many stores.
static void multiply_stored(void)
{
    const int64_t n = extent_upto(512);
    const weft_csr stored = random_matrix();
    const weft_dcsr A = {.n_rows = 2 * stored.n_rows,
                         .n_cols = stored.n_cols,
                         .n_stored = stored.n_rows,
                         .nnz = stored.nnz > stored.n_rows ? stored.nnz : stored.n_rows,
                         .rows = buffers[5],
                         .offsets = stored.offsets,
                         .indices = stored.indices,
                         .values = stored.values};
    const weft_tensor B = weft_matrix(buffers[1], WEFT_F32, A.n_cols, n);
    const weft_tensor C = weft_matrix(buffers[2], WEFT_F32, A.n_rows, n);
    assert_ok(weft_spmm_dcsr(ctx, NULL, 1, &A, &B, 0, &C, NULL));
}

// Of any shapes, at the entries of a random matrix: by which factors are sparse.
static void sample(bool a_sparse, bool b_sparse)
{
    const weft_csr C = random_matrix();
    weft_csr A = {.n_rows = C.n_rows, .nnz = extent_upto(100000)}, B = A;
    A.n_cols = B.n_cols = extent_upto(1 << 20);
    B.n_rows = C.n_cols;
    B.nnz = extent_upto(100000);
    A.offsets = B.offsets = buffers[5];
    A.indices = B.indices = buffers[6];
    A.values = B.values = buffers[7];
    const weft_tensor dense_A = weft_matrix(buffers[0], WEFT_F32, A.n_rows, A.n_cols);
    const weft_tensor dense_B = weft_matrix(buffers[1], WEFT_F32, B.n_rows, B.n_cols);
    const weft_tensor D = {.buffer = buffers[2], .ndim = 1, .shape = {C.nnz}, .stride = {1}};
    assert_ok(weft_sddmm_sparse(ctx, NULL, 1, a_sparse ? WEFT_SPARSE(&A) : WEFT_DENSE(&dense_A),
                                b_sparse ? WEFT_SPARSE(&B) : WEFT_DENSE(&dense_B), &C, 0, &D,
                                NULL));
}

static void sample_both_sparse(void)
{
    sample(true, true);
}

static void sample_a_sparse(void)
{
    sample(true, false);
}

static void sample_b_sparse(void)
{
    sample(false, true);
}

// ---- programs

// Sources and options of what was launched.
static char *seen[MOST_SEEN];
static int n_seen;

static bool is_seen(const char *program)
{
    for (int i = 0; i < n_seen; i++)
        if (strcmp(seen[i], program) == 0)
            return true;
    return false;
}

static void note_programs(const weft_rehearsal *told)
{
    assert_non_null(told);
    for (size_t i = 0; i < told->n_launches && n_seen < MOST_SEEN; i++) {
        static char program[1 << 14];
        const int length = snprintf(program, sizeof(program), "%s %s", told->launches[i].source,
                                    told->launches[i].options);
        assert_in_range(length, 1, sizeof(program) - 1);
        if (!is_seen(program))
            seen[n_seen++] = strdup(program);
    }
}

static int programs_of(const kind *of)
{
    numbers.state = 7;
    for (int i = 0; i < N_SHAPES; i++) {
        assert_ok(weft_rehearsal_begin(ctx));
        of->call();
        note_programs(weft_rehearsal_end(ctx));
    }
    const int n = n_seen;
    while (n_seen > 0)
        free(seen[--n_seen]);
    return n;
}

static void open_rehearsal(const weft_limits *limits)
{
    assert_ok(weft_rehearsal_create(&ctx, limits, NULL));
    for (int i = 0; i < N_BUFFERS; i++) {
        const void *data = i == 3 ? offsets : i == 4 ? indices : NULL;
        buffers[i] = weft_rehearsal_buffer(ctx, data);
    }
}

static void expect_few(const kind *kinds, int n_kinds)
{
    for (size_t p = 0; p < weft_profile_count(); p++) {
        const weft_limits *limits = weft_profile_at(p);
        open_rehearsal(limits);
        for (int i = 0; i < n_kinds; i++) {
            const int n = programs_of(&kinds[i]);
            if (n < 1 || n > kinds[i].most)
                fail_msg("%s: %s takes %d programs for %d shapes, not 1 to %d", limits->name,
                         kinds[i].name, n, N_SHAPES, kinds[i].most);
        }
        weft_context_destroy(&ctx);
    }
}

// As they are aligned or not; on CPUs wide, narrower than a vector, or than four elements.
static void test_elementwise(void **state)
{
    static const kind kinds[] = {
        {"a + b", add_arrays, 3}, {"a + a row", add_a_row, 3}, {"a + b^T", add_transposed, 3}};
    (void)state;
    expect_few(kinds, 3);
}

static void test_matmul(void **state)
{
    static const kind kinds[] = {{"matmul", multiply_dense, 20}};
    (void)state;
    expect_few(kinds, 1);
}

// Up to 12, up to 16 for B of at most 16 columns, by columns and by entries side by side, and up to
// 8 for tasks of two sizes.
static void test_spmm(void **state)
{
    static const kind kinds[] = {{"spmm", multiply_sparse, 36},
                                 {"spmm with a plan", multiply_planned, 36},
                                 {"spmm by stored rows", multiply_stored, 36}};
    (void)state;
    expect_few(kinds, 3);
}

// By lanes, and whether a row of A is whole in local memory.
static void test_sddmm_sparse(void **state)
{
    static const kind kinds[] = {{"sddmm_sparse", sample_both_sparse, 12},
                                 {"sddmm_sparse with a dense B", sample_a_sparse, 6},
                                 {"sddmm_sparse with a dense A", sample_b_sparse, 12}};
    (void)state;
    expect_few(kinds, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),
        cmocka_unit_test(test_matmul),
        cmocka_unit_test(test_spmm),
        cmocka_unit_test(test_sddmm_sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
