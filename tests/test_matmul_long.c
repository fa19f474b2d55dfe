// SPDX-License-Identifier: Apache-2.0
// Matrix products of many terms: whole numbers whose sums wrap, and as many terms as there may be.
// All elements of A are equal, and those of B, so that few bytes are read again and again.
#include "dense/matmul_tiling.h"
#include "matmul_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static bool is_reduced;

// vector width, vectors, rows, items, group of items, depth, block_rows, block_columns, chunk
#define TILING(m, t, f, v, r, i, y, d, b, c, p)                                                    \
    {                                                                                              \
        .method = WEFT_MATMUL_##m, .transposed = t, .vector_width = f, .vectors = v, .rows = r,    \
        .items = i, .items_y = y, .depth = d, .block_rows = b, .block_columns = c, .chunk = p      \
    }

enum { MOST = INT32_MAX - 4096 };

typedef struct long_product {
    weft_matmul_tiling tiling;
    int64_t m, n, k;
    int a, b; // what A and B are full of
    int32_t c;
    int32_t alpha, beta;
    bool has_formula; // v * c - x, or c itself
    int32_t v, x;
} long_product;

// What 32 bits keep.
static uint32_t expected(const long_product *of)
{
    const uint32_t sum = (uint32_t)of->k * (uint32_t)(of->a * of->b);
    const uint32_t c = (uint32_t)of->alpha * sum + (uint32_t)of->beta * (uint32_t)of->c;
    return of->has_formula ? (uint32_t)of->v * c - (uint32_t)of->x : c;
}

// Written by the host: Oclgrind takes what clEnqueueFillBuffer() writes for uninitialised.
static cl_mem filled(size_t bytes, const void *with, size_t size)
{
    cl_int code;
    char *data = malloc(bytes);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i += size)
        memcpy(data + i, with, size);
    cl_mem buffer = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                   bytes, data, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(data);
    return buffer;
}

// Neighbours are adjacent where the tiling wants that, and all else is one element.
static weft_tensor factor_of(const long_product *of, bool is_left)
{
    const int8_t byte = (int8_t)(is_left ? of->a : of->b);
    const weft_matmul_method method = of->tiling.method;
    const bool is_read_in_vectors = is_left == of->tiling.transposed;
    const int along_k = method == WEFT_MATMUL_DOTS && is_read_in_vectors;
    const int along_other = method == WEFT_MATMUL_ROWS && is_read_in_vectors;
    const int64_t other = is_left ? of->m : of->n;
    weft_tensor t = {.dtype = WEFT_I8, .ndim = 2};
    t.shape[is_left ? 0 : 1] = other;
    t.shape[is_left ? 1 : 0] = of->k;
    t.stride[is_left ? 0 : 1] = along_other;
    t.stride[is_left ? 1 : 0] = along_k;
    t.buffer = filled((size_t)(along_k ? of->k : along_other ? other : 1), &byte, 1);
    return t;
}

static void call(const long_product *of, const weft_tensor *A, const weft_tensor *B,
                 const weft_tensor *C, const weft_tensor *X, cl_mem workspace)
{
    const weft_elementwise_input inputs[] = {{"x", X}};
    const weft_elementwise_value values[] = {{"v", of->v}};
    weft_matmul_params params = {
        .size = sizeof(params), .tiling = TILING_TEXT(matmul, &of->tiling), .workspace = workspace};
    if (of->has_formula) {
        params.epilogue = "v * c - x";
        params.n_inputs = params.n_values = 1;
        params.inputs = inputs;
        params.values = values;
    }
    assert_ok(weft_matmul(ctx, weft_context_queue(ctx), of->alpha, A, B, of->beta, C, &params));
}

static void check(const long_product *of, cl_mem buffer)
{
    char text[256];
    int32_t got[64];
    const size_t n = (size_t)(of->m * of->n);
    const int32_t want = (int32_t)expected(of);
    assert_in_range(n, 1, 64);
    assert_int_equal(clEnqueueReadBuffer(weft_context_queue(ctx), buffer, CL_TRUE, 0,
                                         n * sizeof(*got), got, 0, NULL, NULL),
                     CL_SUCCESS);
    weft_matmul_tiling_print(&of->tiling, text, sizeof(text));
    for (size_t i = 0; i < n; i++)
        if (got[i] != want)
            fail_msg("element %zu is %d, not %d: k %lld of %d x %d, alpha %d, beta %d, C %d: %s", i,
                     got[i], want, (long long)of->k, of->a, of->b, of->alpha, of->beta, of->c,
                     text);
}

static void run(const long_product *of)
{
    const size_t bytes = (size_t)(of->m * of->n) * sizeof(int32_t);
    const weft_tensor A = factor_of(of, true), B = factor_of(of, false);
    const weft_tensor C = weft_matrix(filled(bytes, &of->c, sizeof(of->c)), WEFT_I32, of->m, of->n);
    const weft_tensor X = {.buffer = filled(sizeof(of->x), &of->x, sizeof(of->x)),
                           .dtype = WEFT_I32};
    // A few sums of chunks, which the host wrote: Oclgrind takes the pool's for uninitialised.
    cl_mem workspace = strided_zeros(ctx, 1 << 16, CL_MEM_READ_WRITE);
    call(of, &A, &B, &C, &X, workspace);
    check(of, C.buffer);
    clReleaseMemObject(workspace);
    clReleaseMemObject(A.buffer);
    clReleaseMemObject(B.buffer);
    clReleaseMemObject(C.buffer);
    clReleaseMemObject(X.buffer);
}

// ---- sums that wrap

enum { WRAPS = 140000 }; // of -128 squared

static const weft_matmul_tiling tilings[] = {
    TILING(BLOCKS, false, 4, 1, 2, 1, 1, 64, 6, 16, MOST),
    TILING(BLOCKS, true, 1, 1, 2, 2, 2, 16, 4, 2, 50000),
    TILING(DOTS, false, 4, 2, 1, 1, 1, 64, 8, 4, MOST),
    TILING(DOTS, true, 2, 1, 2, 4, 1, 16, 8, 2, 70001),
    TILING(ROWS, false, 4, 1, 2, 1, 1, 4, 6, 4, MOST),
    TILING(ROWS, true, 2, 1, 1, 2, 1, 2, 2, 4, 46667),
};
enum { N_TILINGS = sizeof(tilings) / sizeof(tilings[0]) };

// The sum leaves 32 bits, or stays just within; then alpha, beta and the formula do.
static void test_sums_that_wrap(void **state)
{
    (void)state;
    static const struct {
        int a, b;
        int32_t c, alpha, beta, v, x;
        bool has_formula;
    } kinds[] = {
        {-128, -128, 0, 1, 0, 0, 0, false},
        {-128, 127, INT32_MAX, 1, 1, 0, 0, false},
        {-128, -128, INT32_MIN, -1, -1, 0, 0, false},
        {127, 127, 12345, INT32_MAX, INT32_MIN, 0, 0, false},
        {-128, -128, 7, 1, 1, INT32_MIN, INT32_MAX, true},
        {1, -1, INT32_MAX, INT32_MIN, 3, 65537, INT32_MIN, true},
    };
    for (int i = 0; i < N_TILINGS; i++)
        for (int j = 0; j < 6; j++) {
            const long_product one = {.tiling = tilings[i],
                                      .m = is_reduced ? 1 : 3,
                                      .n = is_reduced ? 1 : 5,
                                      .k = is_reduced ? 1000 : WRAPS,
                                      .a = kinds[j].a,
                                      .b = kinds[j].b,
                                      .c = kinds[j].c,
                                      .alpha = kinds[j].alpha,
                                      .beta = kinds[j].beta,
                                      .has_formula = kinds[j].has_formula,
                                      .v = kinds[j].v,
                                      .x = kinds[j].x};
            run(&one);
        }
}

// ---- as many terms as there may be

// The second chunk begins so late that a whole one would end beyond 32 bits.
static void run_most(weft_matmul_tiling tiling, int64_t chunk)
{
    tiling.chunk = chunk;
    const long_product one = {.tiling = tiling,
                              .m = 1,
                              .n = 1,
                              .k = MOST,
                              .a = 3,
                              .b = -1,
                              .c = 5,
                              .alpha = 1,
                              .beta = 1};
    run(&one);
}

static void test_sums_of_rows_of_the_largest_k(void **state)
{
    (void)state;
    static const weft_matmul_tiling rows = TILING(ROWS, false, 1, 1, 1, 1, 1, 1, 1, 1, MOST);
    if (is_reduced)
        skip();
    run_most(rows, MOST - 1);
    run_most(rows, (1 << 30) + 1);
}

// Minutes, and gigabytes for dots, unless they are asked for.
static void test_other_sums_of_the_largest_k(void **state)
{
    (void)state;
    static const weft_matmul_tiling blocks = TILING(BLOCKS, false, 4, 1, 1, 1, 1, 1024, 1, 4, MOST);
    static const weft_matmul_tiling dots = TILING(DOTS, false, 4, 1, 1, 1, 1, 1024, 1, 4, MOST);
    if (!getenv("WEFT_TEST_LONG") || is_reduced)
        skip();
    run_most(blocks, MOST);
    run_most(blocks, MOST - 5);
    run_most(blocks, (1 << 30) + 1);
    run_most(blocks, 1 << 20); // two thousand chunks
    if (weft_context_limits(ctx)->max_alloc_bytes < MOST)
        return;
    run_most(dots, MOST);
    run_most(dots, (1 << 30) + 1);
}

int main(void)
{
    need_device();
    // llvmpipe ends an item's loops after 65535 turns of all of them
    is_reduced = getenv("WEFT_TEST_REDUCED") || is_on("rusticl");
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_that_wrap),
        cmocka_unit_test(test_sums_of_rows_of_the_largest_k),
        cmocka_unit_test(test_other_sums_of_the_largest_k),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
