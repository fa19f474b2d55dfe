// SPDX-License-Identifier: Apache-2.0
// T = A^T against a plain loop, bit by bit: every pattern of small matrices, all data types, and
// tilings as for a CPU and for a GPU.
#include <weft/csr_transpose.h>

#include "convert/csr_transpose_plan.h"
#include "format_case.h"
#include "matrix_files.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

typedef struct transpose_case {
    uint64_t seed;
    pattern_kind kind;
    int64_t n_rows, n_cols, nnz;
    weft_dtype offset_dtype, index_dtype, t_offset_dtype, t_index_dtype, dtype;
    int64_t start;       // of all arrays, or about
    bool pattern_alone;  // no values
    bool without_source; // nor where they came from
    const weft_csr_transpose_tiling *tiling;
} transpose_case;

typedef struct operands {
    pattern pattern, transposed;
    int64_t *source;
    device_pattern A, T;
    guarded values, t_values, sources;
    weft_tensor source_tensor;
    void *data, *moved; // values of A, and of T
} operands;

static weft_dtype or_i32(weft_dtype dtype)
{
    return dtype ? dtype : WEFT_I32;
}

static void values_create(operands *o, const transpose_case *of, random_state *random)
{
    const weft_dtype dtype = of->dtype ? of->dtype : WEFT_F32;
    const size_t size = weft_dtype_size(dtype);
    const int64_t nnz = o->pattern.nnz;
    o->data = any_bits(random, nnz, size);
    o->moved = new_array(nnz, size);
    for (int64_t e = 0; e < nnz; e++)
        memcpy((char *)o->moved + (size_t)e * size,
               (const char *)o->data + (size_t)o->source[e] * size, size);
    o->values = guarded_create(ctx, o->data, nnz, size, of->start ? of->start + 2 : 0);
    o->t_values = guarded_create(ctx, NULL, nnz, size, of->start ? of->start - 1 : 0);
    o->A.csr.dtype = o->T.csr.dtype = dtype;
    o->A.csr.values = o->values.buffer;
    o->A.csr.values_start = o->values.start;
    o->T.csr.values = of->pattern_alone ? NULL : o->t_values.buffer;
    o->T.csr.values_start = o->t_values.start;
}

// Takes the pattern over.
static void operands_create(operands *o, pattern p, const transpose_case *of)
{
    random_state random = {of->seed};
    *o = (operands){.pattern = p};
    o->transposed = pattern_transposed(&p, &o->source);
    const weft_dtype wide = or_i32(of->offset_dtype);
    o->A = device_pattern_create(ctx, &p, true, wide, or_i32(of->index_dtype), of->start);
    o->T = device_pattern_create(ctx, &o->transposed, false, or_i32(of->t_offset_dtype),
                                 or_i32(of->t_index_dtype), of->start ? of->start + 4 : 0);
    values_create(o, of, &random);
    o->sources = guarded_create(ctx, NULL, p.nnz, weft_dtype_size(wide), of->start);
    o->source_tensor = (weft_tensor){.buffer = o->sources.buffer,
                                     .dtype = wide,
                                     .offset = of->start,
                                     .ndim = 1,
                                     .shape = {p.nnz},
                                     .stride = {1}};
}

static void operands_destroy(operands *o)
{
    pattern_destroy(&o->pattern);
    pattern_destroy(&o->transposed);
    device_pattern_destroy(&o->A);
    device_pattern_destroy(&o->T);
    guarded_destroy(&o->values);
    guarded_destroy(&o->t_values);
    guarded_destroy(&o->sources);
    free(o->source);
    free(o->data);
    free(o->moved);
}

static void operands_check(const operands *o, const transpose_case *of)
{
    void *source = narrowed(o->source, o->pattern.nnz, or_i32(of->offset_dtype));
    device_pattern_check(&o->T, queue, &o->transposed);
    guarded_check(&o->t_values, queue,
                  of->pattern_alone
                      ? o->t_values.before + (size_t)o->t_values.start * o->t_values.size
                      : o->moved,
                  "values");
    guarded_check(&o->sources, queue,
                  of->without_source
                      ? o->sources.before + (size_t)o->sources.start * o->sources.size
                      : source,
                  "source");
    free(source);
}

// With scratch memory of exactly the size that is asked for.
static void call(const operands *o, const transpose_case *of)
{
    weft_csr_transpose_params params =
        *WEFT_CSR_TRANSPOSE(.source = of->without_source ? NULL : &o->source_tensor,
                            .tiling = TILING_TEXT(csr_transpose, of->tiling));
    size_t bytes;
    assert_ok(weft_csr_transpose_workspace(ctx, &o->A.csr, &o->T.csr, &params, &bytes));
    params.workspace = bytes > 0 ? new_workspace(ctx, bytes) : NULL;
    assert_ok(weft_csr_transpose(ctx, queue, &o->A.csr, &o->T.csr, &params));
    if (params.workspace)
        clReleaseMemObject(params.workspace);
}

static void run_pattern(pattern p, const transpose_case *of)
{
    operands o;
    operands_create(&o, p, of);
    call(&o, of);
    operands_check(&o, of);
    operands_destroy(&o);
}

static void run(const transpose_case *of)
{
    if (of->tiling && !takes_groups_of(of->tiling->items))
        return;
    random_state random = {of->seed};
    run_pattern(pattern_create(&random, of->kind, of->n_rows, of->n_cols, of->nnz), of);
}

// Many passes, many groups, and items with nothing to do.
static const weft_csr_transpose_tiling tilings[] = {
    {.items = 1, .bits = 1, .run = 3},
    {.items = 1, .bits = 11, .run = 100},
    {.items = 4, .bits = 2, .run = 2},
    {.items = 32, .bits = 4, .run = 5},
};
enum { N_TILINGS = sizeof(tilings) / sizeof(tilings[0]) };

static void test_every_small_pattern(void **state)
{
    (void)state;
    const int64_t n_rows = is_reduced ? 2 : 3, n_cols = 3;
    for (uint64_t cells = 0; cells < UINT64_C(1) << (n_rows * n_cols); cells++)
        for (int i = 0; i < N_TILINGS; i++) {
            const transpose_case of = {.seed = cells, .tiling = &tilings[i]};
            run_pattern(pattern_of_cells(n_rows, n_cols, cells), &of);
        }
}

static void test_patterns_of_every_kind(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{0, 0, 0},   {0, 5, 0},    {5, 0, 0},    {1, 1, 1},
                                        {1, 1, 40},  {1, 300, 90}, {300, 1, 90}, {7, 16, 0},
                                        {7, 16, 50}, {16, 17, 99}, {40, 33, 400}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (int kind = 0; kind < N_PATTERNS; kind += is_reduced ? 2 : 1)
            for (int j = 0; j <= N_TILINGS; j++) {
                const transpose_case of = {.seed = 10 * i + (uint64_t)kind,
                                           .kind = (pattern_kind)kind,
                                           .n_rows = shapes[i][0],
                                           .n_cols = shapes[i][1],
                                           .nnz = shapes[i][2],
                                           .start = j % 2 ? 3 : 0,
                                           .pattern_alone = j == 2,
                                           .without_source = (i + (size_t)kind) % 4 == 3,
                                           .tiling = j < N_TILINGS ? &tilings[j] : NULL};
                run(&of);
            }
}

// f64 on devices that do not compute with it, too. (Tiles as on a CPU, and as on a GPU.)
static void test_all_data_types(void **state)
{
    (void)state;
    static const weft_dtype dtypes[][5] = {
        {WEFT_I32, WEFT_I32, WEFT_I32, WEFT_I32, WEFT_F64},
        {WEFT_I64, WEFT_I16, WEFT_I32, WEFT_I16, WEFT_F32},
        {WEFT_I32, WEFT_I16, WEFT_I64, WEFT_I32, WEFT_F16},
        {WEFT_I64, WEFT_I32, WEFT_I64, WEFT_I16, WEFT_BF16},
    };
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        for (int j = 0; j < 4; j++) {
            const transpose_case of = {.seed = 50 + i,
                                       .kind = j < 2 ? PATTERN_RANDOM : PATTERN_REPEATED,
                                       .n_rows = 60,
                                       .n_cols = 70,
                                       .nnz = 300,
                                       .offset_dtype = dtypes[i][0],
                                       .index_dtype = dtypes[i][1],
                                       .t_offset_dtype = dtypes[i][2],
                                       .t_index_dtype = dtypes[i][3],
                                       .dtype = dtypes[i][4],
                                       .start = 5,
                                       .tiling = &tilings[j % 2 ? 3 : 1]};
            run(&of);
        }
}

static void test_large_matrices(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {
        {3000, 3000, 100000}, {100, 3000000, 2000}, {200000, 100, 2000}, {50, 32768, 60000}};
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        for (int kind = 0; kind < (is_reduced ? 1 : N_PATTERNS); kind++)
            for (int j = -1; j < (is_reduced ? 0 : N_TILINGS); j++) {
                const int64_t less = is_reduced ? 100 : 1;
                const transpose_case of = {.seed = i,
                                           .kind = (pattern_kind)kind,
                                           .n_rows = shapes[i][0],
                                           .n_cols = shapes[i][1] / less,
                                           .nnz = shapes[i][2] / less,
                                           .tiling = j < 0 ? NULL : &tilings[j]};
                run(&of);
            }
}

// A column beyond the matrix makes nonsense of T, and of nothing else.
static void test_columns_that_lie(void **state)
{
    (void)state;
    for (int i = 0; i < N_TILINGS; i++) {
        operands o;
        const transpose_case of = {.seed = 5, .start = 2, .tiling = &tilings[i]};
        operands_create(&o, pattern_of_cells(3, 5, 0x7fff), &of);
        cl_int columns[15];
        for (int e = 0; e < 15; e++)
            columns[e] = e % 4 == 0 ? INT32_MAX : e % 4 == 1 ? INT32_MIN : e;
        memcpy(o.A.indices.before + (size_t)o.A.indices.start * sizeof(cl_int), columns,
               sizeof(columns));
        guarded_restore(&o.A.indices, queue);
        call(&o, &of);
        guarded *const written[] = {&o.T.offsets, &o.T.indices, &o.t_values, &o.sources};
        for (int j = 0; j < 4; j++) {
            guarded *g = written[j];
            char *after = new_array((int64_t)g->bytes, 1);
            clEnqueueReadBuffer(queue, g->buffer, CL_TRUE, 0, g->bytes, after, 0, NULL, NULL);
            guarded_check(g, queue, after + (size_t)g->start * g->size, "an output");
            free(after);
        }
        operands_destroy(&o);
    }
}

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    operands o;
    random_state random = {9};
    const transpose_case of = {.seed = 9, .tiling = &tilings[3]};
    operands_create(&o, pattern_create(&random, PATTERN_REPEATED, 40, 50, is_reduced ? 200 : 3000),
                    &of);
    for (int i = 0; i < 5; i++) {
        guarded_restore(&o.T.offsets, queue);
        guarded_restore(&o.T.indices, queue);
        guarded_restore(&o.t_values, queue);
        guarded_restore(&o.sources, queue);
        call(&o, &of);
        operands_check(&o, &of);
    }
    operands_destroy(&o);
}

static void transpose_file(const weft_csr_host *host)
{
    const transpose_case of = {.seed = (uint64_t)host->nnz, .start = 1};
    run_pattern(pattern_of_host(host), &of);
}

static void test_matrices_out_of_files(void **state)
{
    (void)state;
    each_matrix_file(transpose_file);
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
        cmocka_unit_test(test_large_matrices),
        cmocka_unit_test(test_columns_that_lie),
        cmocka_unit_test(test_same_bits_run_after_run),
        cmocka_unit_test(test_matrices_out_of_files),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
