// SPDX-License-Identifier: Apache-2.0
// Sparse to dense and back against plain loops, bit by bit: every pattern of small matrices, all
// data types and layouts, and tilings as for a CPU and for a GPU.
#include <math.h>

#include <weft/csr_dense.h>

#include "convert/csr_dense_plan.h"
#include "format_case.h"
#include "matrix_files.h"
#include "scalar.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

// Items alone and in groups; rows and columns that end anywhere in a group.
static const weft_csr_dense_tiling tilings[] = {
    {.items = 1, .rows = 3, .columns = 4},
    {.items = 4, .rows = 2, .columns = 5},
    {.items = 32, .rows = 1, .columns = 40},
};
enum { N_TILINGS = sizeof(tilings) / sizeof(tilings[0]) };

typedef enum layout {
    ROW_MAJOR,
    PADDED, // rows apart, columns apart
    COLUMN_MAJOR,
    BACKWARDS,
    N_LAYOUTS,
} layout;

typedef struct dense_case {
    uint64_t seed;
    pattern_kind kind;
    int64_t n_rows, n_cols, nnz, n_batches;
    weft_dtype offset_dtype, index_dtype, dtype;
    bool own_values; // each matrix of the batch has its own
    layout layout;
    double threshold;
    const weft_csr_dense_tiling *tiling;
} dense_case;

static weft_dtype dtype_or(weft_dtype dtype, weft_dtype fallback)
{
    return dtype ? dtype : fallback;
}

// D [rows x columns] or [batch x rows x columns] and how many elements it spans.
static weft_tensor dense_tensor(const dense_case *of, int64_t start, int64_t *span)
{
    const int64_t n_batches = of->n_batches > 0 ? of->n_batches : 1;
    const int64_t m = of->n_rows, k = of->n_cols;
    weft_tensor D = {.dtype = dtype_or(of->dtype, WEFT_F32), .offset = start, .ndim = 3};
    int64_t row = k, column = 1;
    if (of->layout == PADDED)
        row = 2 * k + 3, column = 2;
    else if (of->layout == COLUMN_MAJOR)
        row = 1, column = m;
    const int64_t batch = of->layout == PADDED ? m * row + 1 : m * k;
    *span = n_batches * batch + 1;
    if (of->layout == BACKWARDS) {
        D.offset += m * k > 0 ? n_batches * m * k - 1 : 0;
        row = -row, column = -column;
    }
    const int64_t shape[] = {n_batches, m, k};
    const int64_t stride[] = {of->layout == BACKWARDS ? -batch : batch, row, column};
    const int skipped = of->n_batches > 0 ? 0 : 1;
    D.ndim -= skipped;
    for (int d = 0; d < D.ndim; d++) {
        D.shape[d] = shape[d + skipped];
        D.stride[d] = stride[d + skipped];
    }
    return D;
}

static int64_t place_of(const weft_tensor *D, int64_t batch, int64_t row, int64_t column)
{
    const int axis = D->ndim - 2;
    return D->offset + (axis ? batch * D->stride[0] : 0) + row * D->stride[axis] +
           column * D->stride[axis + 1];
}

// ---- to dense

// Sums as the header has them: from the first value on, in f32 or f64, rounded once.
static void add_up(void *out, weft_dtype dtype, const pattern *p, const char *values, int64_t row,
                   int64_t column)
{
    const size_t size = weft_dtype_size(dtype);
    int n = 0;
    double sum = 0;
    memset(out, 0, size);
    for (int64_t e = p->offsets[row]; e < p->offsets[row + 1]; e++) {
        if (p->columns[e] != column)
            continue;
        const double value = scalar_get(dtype, values, e);
        if (n++ == 0) {
            memcpy(out, values + (size_t)e * size, size);
            sum = value;
            continue;
        }
        sum = dtype == WEFT_F64 ? sum + value : (float)(sum + value);
        scalar_put(dtype, out, 0, sum);
    }
}

// Any bits where no place has two entries; else whole numbers, of which some are -0.
static void *values_for(const dense_case *of, random_state *random, int64_t n, weft_dtype dtype)
{
    if (of->kind == PATTERN_SORTED)
        return any_bits(random, n, weft_dtype_size(dtype));
    void *values = new_array(n, weft_dtype_size(dtype));
    for (int64_t i = 0; i < n; i++) {
        const int64_t whole = random_between(random, -4, 4);
        scalar_put(dtype, values, i, whole == 0 ? -0.0 : (double)whole);
    }
    return values;
}

// Takes the pattern over.
static void to_dense_pattern(pattern p, const dense_case *of)
{
    random_state random = {of->seed};
    const weft_dtype dtype = dtype_or(of->dtype, WEFT_F32);
    const size_t size = weft_dtype_size(dtype);
    const int64_t n_batches = of->n_batches > 0 ? of->n_batches : 1;
    const int64_t step = of->own_values ? p.nnz + 2 : 0;
    char *data = values_for(of, &random, p.nnz + (n_batches - 1) * step, dtype);
    device_pattern A = device_pattern_create(ctx, &p, true, dtype_or(of->offset_dtype, WEFT_I32),
                                             dtype_or(of->index_dtype, WEFT_I32), 3);
    guarded values =
        guarded_create(ctx, data, n_batches > 0 ? p.nnz + (n_batches - 1) * step : 0, size, 2);
    int64_t span;
    weft_tensor D = dense_tensor(of, 7, &span);
    guarded out = guarded_create(ctx, NULL, span, size, 7);
    D.buffer = out.buffer;
    A.csr.dtype = dtype;
    A.csr.values = p.nnz > 0 ? values.buffer : NULL;
    A.csr.values_start = 2;
    A.csr.values_batch_stride = step;

    char *want = new_array((int64_t)out.bytes, 1);
    memcpy(want, out.before, out.bytes);
    for (int64_t b = 0; b < n_batches; b++)
        for (int64_t row = 0; row < p.n_rows; row++)
            for (int64_t column = 0; column < p.n_cols; column++)
                add_up(want + (size_t)place_of(&D, b, row, column) * size, dtype, &p,
                       data + (size_t)(b * step) * size, row, column);
    assert_ok(weft_csr_to_dense(ctx, queue, &A.csr, &D,
                                WEFT_CSR_DENSE(.tiling = TILING_TEXT(csr_dense, of->tiling))));
    guarded_check(&out, queue, want + 7 * size, "D");

    guarded_destroy(&out);
    guarded_destroy(&values);
    device_pattern_destroy(&A);
    pattern_destroy(&p);
    free(want);
    free(data);
}

static void to_dense(const dense_case *of)
{
    if (of->tiling && !takes_groups_of(of->tiling->items))
        return;
    random_state random = {of->seed};
    to_dense_pattern(pattern_create(&random, of->kind, of->n_rows, of->n_cols, of->nnz), of);
}

static void test_every_small_pattern(void **state)
{
    (void)state;
    const int64_t n_rows = is_reduced ? 2 : 3, n_cols = 3;
    for (uint64_t cells = 0; cells < UINT64_C(1) << (n_rows * n_cols); cells++)
        for (int i = 0; i < N_TILINGS; i++) {
            const dense_case of = {.seed = cells,
                                   .kind = PATTERN_SORTED,
                                   .n_rows = n_rows,
                                   .n_cols = n_cols,
                                   .layout = (layout)(cells % N_LAYOUTS),
                                   .tiling = &tilings[i]};
            to_dense_pattern(pattern_of_cells(n_rows, n_cols, cells), &of);
        }
}

static void test_patterns_of_every_kind(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{0, 0, 0},   {0, 5, 0},    {5, 0, 0},  {1, 1, 9},
                                        {1, 90, 40}, {33, 1, 70},  {7, 16, 0}, {7, 16, 50},
                                        {9, 41, 99}, {40, 33, 400}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (int kind = 0; kind < N_PATTERNS; kind++)
            for (int j = 0; j <= N_TILINGS; j++) {
                const dense_case of = {.seed = 10 * i + (uint64_t)kind,
                                       .kind = (pattern_kind)kind,
                                       .n_rows = shapes[i][0],
                                       .n_cols = shapes[i][1],
                                       .nnz = shapes[i][2],
                                       .n_batches = (kind + j) % 4,
                                       .own_values = (kind + j) % 3 == 1,
                                       .layout = (layout)((i + (size_t)j) % N_LAYOUTS),
                                       .tiling = j < N_TILINGS ? &tilings[j] : NULL};
                to_dense(&of);
            }
}

static void test_all_data_types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F64, WEFT_F16, WEFT_BF16};
    const bool has_f64 = weft_context_limits(ctx)->has_f64;
    for (int i = has_f64 ? 0 : 1; i < 3; i++)
        for (int kind = 0; kind < 3; kind++)
            for (int j = 0; j < 2; j++) {
                const dense_case of = {.seed = 70 + (uint64_t)i,
                                       .kind = (pattern_kind)kind,
                                       .n_rows = 10,
                                       .n_cols = 50,
                                       .nnz = 150,
                                       .offset_dtype = i == 1 ? WEFT_I64 : WEFT_I32,
                                       .index_dtype = i == 2 ? WEFT_I32 : WEFT_I16,
                                       .dtype = dtypes[i],
                                       .tiling = &tilings[2 * j]};
                to_dense(&of);
            }
}

// A row of more columns than a group has bits or sums for, in any order, and each at many places.
static void test_long_rows_of_every_kind(void **state)
{
    (void)state;
    static const weft_csr_dense_tiling cuts[] = {
        {.items = 1, .rows = 2, .columns = 2500},
        {.items = 8, .rows = 1, .columns = 1031},
        {.items = 1, .rows = 1, .columns = 1 << 20},
    };
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_BF16};
    for (int kind = 0; kind < N_PATTERNS; kind += is_reduced ? 3 : 1)
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 4; j++) {
                const dense_case of = {.seed = 80 + (uint64_t)kind,
                                       .kind = (pattern_kind)kind,
                                       .n_rows = 2,
                                       .n_cols = is_reduced ? 2600 : 9000,
                                       .nnz = is_reduced ? 3000 : 20000,
                                       .dtype = dtypes[i],
                                       .layout = (layout)j,
                                       .tiling = j < 3 ? &cuts[j] : NULL};
                if (j != 2 || weft_context_limits(ctx)->local_bytes >= 1 << 19)
                    to_dense(&of);
            }
}

// Sums that are rounded, of which the order shows.
static void test_same_bits_over_runs(void **state)
{
    (void)state;
    enum { ROWS = 5, COLUMNS = 60, RUNS = 5 };
    random_state random = {91};
    pattern p = pattern_create(&random, PATTERN_REPEATED, ROWS, COLUMNS, 1500);
    float *fractions = new_array(p.nnz, sizeof(float));
    for (int64_t e = 0; e < p.nnz; e++)
        fractions[e] = random_float(&random);
    device_pattern A = device_pattern_create(ctx, &p, true, WEFT_I32, WEFT_I32, 0);
    guarded values = guarded_create(ctx, fractions, p.nnz, sizeof(float), 0);
    guarded out = guarded_create(ctx, NULL, ROWS * COLUMNS, sizeof(float), 0);
    const weft_tensor D = weft_matrix(out.buffer, WEFT_F32, ROWS, COLUMNS);
    A.csr.values = values.buffer;
    float want[ROWS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        add_up(&want[i], WEFT_F32, &p, (const char *)fractions, i / COLUMNS, i % COLUMNS);
    for (int run = 0; run < RUNS * (N_TILINGS + 1); run++) {
        const weft_csr_dense_tiling *t = run < RUNS ? NULL : &tilings[run / RUNS - 1];
        if (t && !takes_groups_of(t->items))
            continue;
        guarded_restore(&out, queue);
        assert_ok(weft_csr_to_dense(ctx, queue, &A.csr, &D,
                                    WEFT_CSR_DENSE(.tiling = TILING_TEXT(csr_dense, t))));
        guarded_check(&out, queue, want, "the same bits");
    }
    guarded_destroy(&out);
    guarded_destroy(&values);
    device_pattern_destroy(&A);
    pattern_destroy(&p);
    free(fractions);
}

// ---- from dense

// Zeros of either sign, NaN, infinities, subnormals, and numbers at the threshold and beside it.
static void draw_dense(char *data, int64_t n, const dense_case *of, random_state *random)
{
    const weft_dtype dtype = dtype_or(of->dtype, WEFT_F32);
    const size_t size = weft_dtype_size(dtype);
    char *bits = any_bits(random, n, size);
    for (int64_t i = 0; i < n; i++) {
        const double special[] = {0, -0.0, of->threshold, -of->threshold, 1e-40, INFINITY, 0, 0};
        const int64_t choice = random_below(random, 10);
        if (choice < 8)
            scalar_put(dtype, data, i, special[choice]);
        else
            memcpy(data + (size_t)i * size, bits + (size_t)i * size, size);
    }
    free(bits);
}

static bool is_kept(const dense_case *of, const char *data, int64_t place)
{
    const weft_dtype dtype = dtype_or(of->dtype, WEFT_F32);
    const double x = scalar_get(dtype, data, place);
    return isnan(x) || fabs(x) > scalar_stored(dtype, of->threshold);
}

// The pattern that D has, and the elements that are kept.
static pattern pattern_of_dense(const dense_case *of, const weft_tensor *D, const char *data,
                                char **kept)
{
    const size_t size = weft_dtype_size(dtype_or(of->dtype, WEFT_F32));
    pattern p = pattern_of_cells(of->n_rows, of->n_cols, 0);
    *kept = new_array(of->n_rows * of->n_cols, size);
    for (int64_t row = 0; row < of->n_rows; row++) {
        for (int64_t column = 0; column < of->n_cols; column++) {
            const int64_t place = place_of(D, 0, row, column);
            if (!is_kept(of, data, place))
                continue;
            memcpy(*kept + (size_t)p.nnz * size, data + (size_t)place * size, size);
            p.columns[p.nnz++] = column;
        }
        p.offsets[row + 1] = p.nnz;
    }
    return p;
}

static cl_mem workspace_for(const weft_tensor *D, const weft_csr *A,
                            const weft_csr_dense_params *params)
{
    size_t bytes;
    assert_ok(weft_dense_to_csr_workspace(ctx, D, A, params, &bytes));
    return bytes > 0 ? new_workspace(ctx, bytes) : NULL;
}

static void from_dense(const dense_case *of)
{
    random_state random = {of->seed};
    const weft_dtype dtype = dtype_or(of->dtype, WEFT_F32);
    const size_t size = weft_dtype_size(dtype);
    int64_t span, nnz = -1;
    weft_tensor D = dense_tensor(of, 4, &span);
    char *data = new_array(span + 4, size), *kept;
    draw_dense(data + 4 * size, span, of, &random);
    guarded in = guarded_create(ctx, data + 4 * size, span, size, 4);
    D.buffer = in.buffer;
    pattern want = pattern_of_dense(of, &D, data, &kept);
    device_pattern A =
        device_pattern_create(ctx, &want, false, dtype_or(of->offset_dtype, WEFT_I32),
                              dtype_or(of->index_dtype, WEFT_I32), 5);
    guarded values = guarded_create(ctx, NULL, want.nnz, size, 1);
    weft_csr_dense_params params =
        *WEFT_CSR_DENSE(.threshold = of->threshold, .tiling = TILING_TEXT(csr_dense, of->tiling));
    A.csr.dtype = dtype;
    A.csr.nnz = -7; // nobody knows
    params.workspace = workspace_for(&D, &A.csr, &params);
    assert_ok(weft_dense_to_csr_count(ctx, queue, &D, &A.csr, of->seed % 2 ? &nnz : NULL, &params));
    assert_int_equal(nnz, of->seed % 2 ? want.nnz : -1);
    A.csr.nnz = want.nnz;
    A.csr.values = values.buffer;
    A.csr.values_start = values.start;
    assert_ok(weft_dense_to_csr(ctx, queue, &D, &A.csr, &params));
    device_pattern_check(&A, queue, &want);
    guarded_check(&values, queue, kept, "values");

    if (params.workspace)
        clReleaseMemObject(params.workspace);
    guarded_destroy(&in);
    guarded_destroy(&values);
    device_pattern_destroy(&A);
    pattern_destroy(&want);
    free(data);
    free(kept);
}

static void test_dense_matrices_of_every_shape(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{0, 0},  {0, 5},  {5, 0},   {1, 1},    {1, 7},  {1, 600},
                                        {60, 1}, {7, 16}, {33, 31}, {3, 1025}, {70, 40}};
    static const double thresholds[] = {0, 1, 0.1, INFINITY, 1e39};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (int j = 0; j <= N_TILINGS; j++)
            for (int k = 0; k < N_LAYOUTS; k += is_reduced ? 3 : 1) {
                const dense_case of = {.seed = 10 * i + (uint64_t)j,
                                       .n_rows = shapes[i][0],
                                       .n_cols = shapes[i][1],
                                       .layout = (layout)k,
                                       .threshold = thresholds[(i + (size_t)(j + k)) % 5],
                                       .tiling = j < N_TILINGS ? &tilings[j] : NULL};
                from_dense(&of);
            }
}

// A scan of several groups, which wants scratch memory.
static void test_many_rows(void **state)
{
    (void)state;
    const dense_case of = {
        .seed = 5, .n_rows = is_reduced ? 400 : 60000, .n_cols = 3, .tiling = &tilings[1]};
    from_dense(&of);
}

// f64 on devices that do not compute with it, too; thresholds that the type does not hold.
static void test_all_data_types_from_dense(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F64, WEFT_F16, WEFT_BF16};
    static const double thresholds[] = {0, 0.1, 70000, 1.00001, 3e38, -0.0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 6; j++) {
            const dense_case of = {.seed = (uint64_t)(60 + i),
                                   .n_rows = 10,
                                   .n_cols = 50,
                                   .offset_dtype = i == 1 ? WEFT_I64 : WEFT_I32,
                                   .index_dtype = i == 2 ? WEFT_I32 : WEFT_I16,
                                   .dtype = dtypes[i],
                                   .threshold = thresholds[j],
                                   .tiling = &tilings[j % 2 ? 2 : 0]};
            from_dense(&of);
        }
}

static void expand_file(const weft_csr_host *host)
{
    const dense_case of = {.seed = (uint64_t)host->nnz,
                           .kind = PATTERN_SORTED,
                           .n_rows = host->n_rows,
                           .n_cols = host->n_cols,
                           .layout = host->nnz % 2 ? ROW_MAJOR : COLUMN_MAJOR};
    if (host->n_rows * host->n_cols <= (is_reduced ? 1 << 19 : 1 << 23))
        to_dense_pattern(pattern_of_host(host), &of);
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(expand_file);
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_pattern),
        cmocka_unit_test(test_patterns_of_every_kind),
        cmocka_unit_test(test_all_data_types),
        cmocka_unit_test(test_long_rows_of_every_kind),
        cmocka_unit_test(test_same_bits_over_runs),
        cmocka_unit_test(test_dense_matrices_of_every_shape),
        cmocka_unit_test(test_many_rows),
        cmocka_unit_test(test_all_data_types_from_dense),
        cmocka_unit_test(test_matrices_out_of_files),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
