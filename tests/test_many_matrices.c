// SPDX-License-Identifier: Apache-2.0
// More matrices in a batch, or more slices of columns, than a launch takes of groups along z or y:
// kernels go in stretches, and every element is right, of small whole numbers exactly. Rehearsals
// tell of launches that keep to that, and of as many as there are.
#include <math.h>

#include <weft/csr_dense.h>
#include <weft/recording.h>
#include <weft/rehearsal.h>
#include <weft/sddmm.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_gather.h>
#include <weft/sparse_softmax.h>
#include <weft/spmm.h>

#include "convert/csr_dense_plan.h"
#include "runtime.h"
#include "sparse/sddmm_plan.h"
#include "sparse/sparse_attention_plan.h"
#include "sparse/sparse_softmax_plan.h"
#include "sparse/spmm_tiling.h"
#include "tiling_text.h"

enum { MANY = 70000, MOST_GROUPS = 65535 };

// The sparse matrix: a row of four entries, which may be cut into row chunks, and a row of one.
enum { ROWS = 2, COLUMNS = 4, NNZ = 5, NO_ROW_CHUNKS = 1000 };
static const int32_t offsets[ROWS + 1] = {0, 4, 5};
static const int32_t columns_near[NNZ] = {0, 1, 2, 3, 2};
static const int32_t columns_far[NNZ] = {0, 34999, 35000, MANY - 1, 66000};

// Every operand's elements are some of these, and no two matrices have the same.
enum { N_NUMBERS = MANY * ROWS * COLUMNS };
static float numbers[N_NUMBERS];

static weft_context *ctx;

// ---- operands, on the device or in a rehearsal

typedef struct operands {
    weft_context *on;
    cl_mem numbers, offsets, indices, out, places;
    weft_csr csr; // with values of its own for each matrix of a batch
} operands;

static cl_mem buffer_of(weft_context *on, bool is_real, const void *data, size_t bytes)
{
    cl_int code;
    if (!is_real)
        return weft_rehearsal_buffer(on, data);
    cl_mem buffer = clCreateBuffer(weft_context_cl(on), CL_MEM_COPY_HOST_PTR, bytes,
                                   (void *)(uintptr_t)data, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

// Outputs are full of NaN.
static operands operands_of(weft_context *on, bool is_real, bool is_far)
{
    static float untouched[N_NUMBERS];
    for (int64_t i = 0; i < N_NUMBERS; i++)
        untouched[i] = NAN;
    const int32_t *columns = is_far ? columns_far : columns_near;
    operands o = {
        .on = on,
        .numbers = buffer_of(on, is_real, numbers, sizeof(numbers)),
        .offsets = buffer_of(on, is_real, offsets, sizeof(offsets)),
        .indices = buffer_of(on, is_real, columns, sizeof(columns_near)),
        .out = buffer_of(on, is_real, untouched, sizeof(untouched)),
        .places = buffer_of(on, is_real, untouched, sizeof(untouched)),
    };
    o.csr = (weft_csr){.n_rows = ROWS,
                       .n_cols = is_far ? MANY : COLUMNS,
                       .nnz = NNZ,
                       .offsets = o.offsets,
                       .indices = o.indices,
                       .values = o.numbers,
                       .values_batch_stride = NNZ};
    return o;
}

static void operands_release(const operands *o)
{
    const cl_mem buffers[] = {o->numbers, o->offsets, o->indices, o->out, o->places};
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        clReleaseMemObject(buffers[i]);
}

static weft_tensor matrices(cl_mem buffer, int64_t n, int64_t rows, int64_t columns)
{
    return (weft_tensor){buffer, WEFT_F32, 0, 3, {n, rows, columns}, {rows * columns, columns, 1}};
}

static weft_tensor entries(cl_mem buffer)
{
    return (weft_tensor){buffer, WEFT_F32, 0, 2, {MANY, NNZ}, {NNZ, 1}};
}

static float value_of(int64_t batch, int64_t e)
{
    return numbers[batch * NNZ + e];
}

// ---- a call, rehearsed and for real

typedef weft_status (*call_fn)(const operands *o, const void *with);

static uint64_t rehearse(call_fn call, const void *with, bool is_far)
{
    weft_context *rehearsal;
    assert_ok(weft_rehearsal_create(&rehearsal, weft_context_limits(ctx), NULL));
    const operands o = operands_of(rehearsal, false, is_far);
    assert_ok(weft_rehearsal_begin(rehearsal));
    assert_ok(call(&o, with));
    const weft_rehearsal *told = weft_rehearsal_end(rehearsal);
    assert_non_null(told);
    uint64_t n_launches = 0;
    bool is_cut = false;
    for (size_t i = 0; i < told->n_launches; i++) {
        const weft_rehearsed_launch *launch = &told->launches[i];
        assert_in_range(launch->global[1] / launch->local[1], 1, MOST_GROUPS);
        assert_in_range(launch->global[2] / launch->local[2], 1, MOST_GROUPS);
        n_launches += (uint64_t)launch->times;
        is_cut |= launch->times > 1;
    }
    assert_true(is_cut);
    weft_context_destroy(&rehearsal);
    return n_launches;
}

static void expect_bits(cl_mem buffer, const void *want, int64_t n, const char *what)
{
    static uint32_t got[N_NUMBERS];
    assert_int_equal(clEnqueueReadBuffer(weft_context_queue(ctx), buffer, CL_TRUE, 0,
                                         (size_t)n * sizeof(*got), got, 0, NULL, NULL),
                     CL_SUCCESS);
    for (int64_t i = 0; i < n; i++) {
        float number, wanted;
        memcpy(&number, &got[i], sizeof(number));
        memcpy(&wanted, (const float *)want + i, sizeof(wanted));
        if (got[i] != ((const uint32_t *)want)[i] && number != wanted) // 0 and -0 are equal
            fail_msg("%s %lld: %g (0x%x) in place of %g", what, (long long)i, number, got[i],
                     wanted);
    }
}

// False for a call that makes a plan object, which cannot be recorded.
static bool run_recorded(call_fn call, const void *with, const operands *o)
{
    weft_recording *recording;
    assert_ok(weft_recording_begin(&recording, ctx));
    const weft_status status = call(o, with);
    assert_ok(weft_recording_end(recording));
    if (status == WEFT_OK)
        assert_ok(weft_recording_run(recording, weft_context_queue(ctx), NULL));
    weft_recording_destroy(&recording);
    return status == WEFT_OK;
}

// want_places may be NULL.
static void run(call_fn call, const void *with, bool is_far, const float *want, int64_t n,
                const int32_t *want_places)
{
    const uint64_t n_launches = rehearse(call, with, is_far);
    const operands o = operands_of(ctx, true, is_far);
    const uint64_t before = weft_context_get_stats(ctx).launches;
    assert_ok(call(&o, with));
    expect_bits(o.out, want, n, "element");
    if (want_places)
        expect_bits(o.places, want_places, n, "place");
    assert_int_equal(weft_context_get_stats(ctx).launches - before, n_launches);
    operands_release(&o);
    const operands again = operands_of(ctx, true, is_far);
    if (run_recorded(call, with, &again))
        expect_bits(again.out, want, n, "recorded element");
    operands_release(&again);
}

// ---- SpMM

typedef struct spmm_case {
    weft_spmm_tiling tiling;
    weft_spmm_reduction reduction;
    bool is_queued, is_nothing; // rows come from a queue; alpha is 0
    int64_t n, n_batches;
} spmm_case;

static weft_status multiply(const operands *o, const void *with)
{
    const spmm_case *of = with;
    const weft_tensor B = matrices(o->numbers, of->n_batches, COLUMNS, of->n);
    const weft_tensor C = matrices(o->out, of->n_batches, ROWS, of->n);
    weft_tensor places = matrices(o->places, of->n_batches, ROWS, of->n);
    places.dtype = WEFT_I32;
    weft_spmm_plan *plan = NULL;
    cl_command_queue queue = weft_context_queue(o->on);
    weft_status status = WEFT_OK;
    if (of->is_queued)
        status = weft_spmm_plan_create(&plan, o->on, queue, &o->csr,
                                       WEFT_SPMM_PLAN(.row_schedule = WEFT_SPMM_ROW_SCHEDULE_QUEUE,
                                                      .row_chunk = of->tiling.row_chunk));
    if (status != WEFT_OK)
        return status;
    status = weft_spmm(o->on, queue, !of->is_nothing, &o->csr, &B, 0, &C,
                       WEFT_SPMM(.plan = plan, .tiling = TILING_TEXT(spmm, &of->tiling),
                                 .reduction = of->reduction,
                                 .arguments = of->reduction == WEFT_SPMM_MAX ? &places : NULL));
    if (queue)
        assert_int_equal(clFinish(queue), CL_SUCCESS);
    weft_spmm_plan_destroy(&plan);
    return status;
}

static float product_of(const spmm_case *of, int64_t batch, int64_t e, int64_t j)
{
    return value_of(batch, e) * numbers[(batch * COLUMNS + columns_near[e]) * of->n + j];
}

static void run_spmm(const spmm_case *of)
{
    static float want[MANY * ROWS];
    static int32_t places[MANY * ROWS];
    const bool is_max = of->reduction == WEFT_SPMM_MAX;
    int64_t at = 0;
    for (int64_t b = 0; b < of->n_batches; b++)
        for (int row = 0; row < ROWS; row++)
            for (int64_t j = 0; j < of->n; j++, at++) {
                want[at] = of->is_nothing ? 0 : product_of(of, b, offsets[row], j);
                places[at] = of->is_nothing ? -1 : offsets[row];
                for (int32_t e = offsets[row] + 1; !of->is_nothing && e < offsets[row + 1]; e++) {
                    const float x = product_of(of, b, e, j);
                    if (is_max && x > want[at]) {
                        want[at] = x;
                        places[at] = e;
                    } else if (!is_max) {
                        want[at] += x;
                    }
                }
            }
    run(multiply, of, false, want, at, is_max ? places : NULL);
}

// vector width, vectors, lanes, rows_per_group, rows_per_item, k-block, stage, load, unroll, row
// chunk, aligned, packed
#define TILING(l, g, w, s, p, b)                                                                   \
    {                                                                                              \
        .vector_width = 1, .vectors = 1, .lanes = l, .rows_per_group = g, .rows_per_item = 1,      \
        .k_block = w, .stage = s, .load = 1, .unroll = 1, .row_chunk = p, .packed = b              \
    }

static const spmm_case spmm_cases[] = {
    {.tiling = TILING(1, 2, 0, 0, 1, false)}, // rows and row chunks
    {.tiling = TILING(1, 2, 0, 0, NO_ROW_CHUNKS, true), .is_queued = true},
    {.tiling = TILING(1, 2, 0, 0, 1, false), .reduction = WEFT_SPMM_MAX},
    {.tiling = TILING(1, 2, 0, 0, 1, false), .reduction = WEFT_SPMM_MAX, .is_nothing = true},
    {.tiling = TILING(1, 3, 2, 0, NO_ROW_CHUNKS, false)}, // through k-blocks
    {.tiling = {.vector_width = 1,
                .vectors = 1,
                .lanes = 1,
                .rows_per_group = 1,
                .rows_per_item = 1,
                .load = 1,
                .unroll = 1,
                .row_chunk = 1,
                .row_blocks_per_copy = 2}},
    {.tiling = TILING(1, 2, 0, 0, NO_ROW_CHUNKS, false),
     .reduction = WEFT_SPMM_MAX,
     .is_queued = true},
};
enum { N_SPMM_CASES = sizeof(spmm_cases) / sizeof(spmm_cases[0]) };

// On llvmpipe groups never end that take rows from a thousand queues.
static bool is_taken(const spmm_case *of)
{
    return !(is_on("rusticl") && of->is_queued);
}

static void run_spmm_cases(int64_t n_batches, int64_t n)
{
    for (int i = 0; i < N_SPMM_CASES; i++) {
        spmm_case of = spmm_cases[i];
        of.n_batches = n_batches;
        of.n = n;
        if (is_taken(&spmm_cases[i]))
            run_spmm(&of);
    }
}

static void test_spmm_of_many_matrices(void **state)
{
    (void)state;
    run_spmm_cases(MANY, 1);
    const spmm_case staged = {
        .tiling = TILING(2, 2, 0, 2, 1, false), .n = 1, .n_batches = MANY}; // as on GPUs
    run_spmm(&staged);
}

static void test_spmm_of_many_slices(void **state)
{
    (void)state;
    run_spmm_cases(1, MANY);
}

// ---- SDDMM

enum { DEPTH = 2 };

typedef struct sddmm_case {
    weft_sddmm_tiling tiling;
    bool is_nothing; // alpha is 0
} sddmm_case;

static weft_status sample(const operands *o, const void *with)
{
    const sddmm_case *of = with;
    const weft_tensor A = matrices(o->numbers, MANY, ROWS, DEPTH);
    const weft_tensor B = matrices(o->numbers, MANY, DEPTH, COLUMNS);
    const weft_tensor D = entries(o->out);
    return weft_sddmm(o->on, weft_context_queue(o->on), !of->is_nothing, &A, &B, &o->csr, 0, &D,
                      WEFT_SDDMM(.tiling = TILING_TEXT(sddmm, &of->tiling)));
}

static void run_sddmm(const sddmm_case *of)
{
    static float want[MANY * NNZ];
    for (int64_t b = 0; b < MANY; b++)
        for (int64_t e = 0; e < NNZ; e++) {
            const float *row = numbers + (b * ROWS + (e >= offsets[1])) * DEPTH;
            const float *column = numbers + b * DEPTH * COLUMNS + columns_near[e];
            const float dot = row[0] * column[0] + row[1] * column[COLUMNS];
            want[b * NNZ + e] = of->is_nothing ? 0 : dot * value_of(b, e);
        }
    run(sample, of, false, want, MANY * NNZ, NULL);
}

static void test_sddmm_of_many_matrices(void **state)
{
    static const weft_sddmm_tiling tiles = {.vector_width = 1,
                                            .vectors = 1,
                                            .lanes = 1,
                                            .chunks_per_group = 2,
                                            .entries = 16,
                                            .passes = true,
                                            .packed = true};
    (void)state;
    run_sddmm(&(const sddmm_case){.tiling = tiles});
    run_sddmm(&(const sddmm_case){.tiling = tiles, .is_nothing = true});
}

// ---- softmax, whose backward is of whole numbers

static weft_status soften_backward(const operands *o, const void *with)
{
    const weft_tensor dY = entries(o->numbers), dX = entries(o->out);
    return weft_sparse_softmax_backward(
        o->on, weft_context_queue(o->on), 1, &o->csr, &dY, &dX,
        WEFT_SPARSE_SOFTMAX(.tiling = TILING_TEXT(sparse_softmax, with)));
}

static void test_softmax_of_many_matrices(void **state)
{
    static const weft_sparse_softmax_tiling tilings[] = {
        {.vector_width = 1, .lanes = 1, .rows_per_group = 2, .chunk = 16, .row_chunk = 1},
        {.vector_width = 4,
         .lanes = 1,
         .rows_per_group = 1,
         .cache = 16,
         .chunk = 16,
         .row_chunk = NO_ROW_CHUNKS},
    };
    static float want[MANY * NNZ];
    (void)state;
    for (int64_t b = 0; b < MANY; b++)
        for (int row = 0; row < ROWS; row++) {
            float sum = 0;
            for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
                sum += value_of(b, e) * value_of(b, e);
            for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
                want[b * NNZ + e] = value_of(b, e) * (value_of(b, e) - sum);
        }
    run(soften_backward, &tilings[0], false, want, MANY * NNZ, NULL);
    if (takes_wide_vectors())
        run(soften_backward, &tilings[1], false, want, MANY * NNZ, NULL);
}

// ---- attention, with a scale of 0: every entry has the same weight

typedef struct attention_case {
    weft_sparse_attention_tiling tiling;
    int64_t n_batches, width; // of V
} attention_case;

static weft_status attend(const operands *o, const void *with)
{
    const attention_case *of = with;
    const weft_tensor Q = matrices(o->numbers, of->n_batches, ROWS, 1);
    const weft_tensor K = matrices(o->numbers, of->n_batches, COLUMNS, 1);
    const weft_tensor V = matrices(o->numbers, of->n_batches, COLUMNS, of->width);
    const weft_tensor O = matrices(o->out, of->n_batches, ROWS, of->width);
    return weft_sparse_attention(
        o->on, weft_context_queue(o->on), 0, &Q, &K, &V, &o->csr, &O,
        WEFT_SPARSE_ATTENTION(.tiling = TILING_TEXT(sparse_attention, &of->tiling)));
}

static void run_attention(int64_t n_batches, int64_t width)
{
    static float want[MANY * ROWS];
    const attention_case of = {.tiling = {.vector_width = 1,
                                          .vectors = 1,
                                          .outputs = 1,
                                          .lanes = 1,
                                          .rows_per_group = 2,
                                          .rows_per_item = 1,
                                          .row_chunk = 1},
                               .n_batches = n_batches,
                               .width = width};
    int64_t at = 0;
    for (int64_t b = 0; b < n_batches; b++)
        for (int row = 0; row < ROWS; row++)
            for (int64_t j = 0; j < width; j++, at++) {
                want[at] = 0;
                for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
                    want[at] += numbers[(b * COLUMNS + columns_near[e]) * width + j];
                want[at] /= (float)(offsets[row + 1] - offsets[row]);
            }
    run(attend, &of, false, want, at, NULL);
}

static void test_attention_of_many_matrices(void **state)
{
    (void)state;
    run_attention(MANY, 1);
}

static void test_attention_of_many_slices(void **state)
{
    (void)state;
    run_attention(1, MANY);
}

// ---- what moves elements

static weft_status gather(const operands *o, const void *with)
{
    const weft_tensor values = entries(o->numbers), out = entries(o->out);
    const weft_tensor source = {o->indices, WEFT_I32, 0, 1, {NNZ}, {1}};
    (void)with;
    return weft_sparse_gather(o->on, weft_context_queue(o->on), &values, &source, &out, NULL);
}

static void test_gather_of_many_matrices(void **state)
{
    static float want[MANY * NNZ];
    (void)state;
    for (int64_t b = 0; b < MANY; b++)
        for (int64_t e = 0; e < NNZ; e++)
            want[b * NNZ + e] = value_of(b, columns_near[e]);
    run(gather, NULL, false, want, MANY * NNZ, NULL);
}

// One block of columns is `columns`; of one matrix, they are far apart.
static weft_status fill_out(const operands *o, const void *with)
{
    const weft_tensor D = matrices(o->out, o->csr.n_cols == MANY ? 1 : MANY, ROWS, o->csr.n_cols);
    return weft_csr_to_dense(o->on, weft_context_queue(o->on), &o->csr, &D,
                             WEFT_CSR_DENSE(.tiling = TILING_TEXT(csr_dense, with)));
}

static void run_to_dense(bool is_far, int64_t n_batches, int columns)
{
    static float want[N_NUMBERS];
    const weft_csr_dense_tiling tiling = {.items = 1, .rows = ROWS, .columns = columns};
    const int32_t *places = is_far ? columns_far : columns_near;
    const int64_t width = is_far ? MANY : COLUMNS;
    memset(want, 0, sizeof(want));
    for (int64_t b = 0; b < n_batches; b++)
        for (int64_t e = 0; e < NNZ; e++)
            want[(b * ROWS + (e >= offsets[1])) * width + places[e]] = value_of(b, e);
    run(fill_out, &tiling, is_far, want, n_batches * ROWS * width, NULL);
}

static void test_many_dense_matrices(void **state)
{
    (void)state;
    run_to_dense(false, MANY, COLUMNS);
}

static void test_many_blocks_of_columns(void **state)
{
    (void)state;
    run_to_dense(true, 1, 1);
}

int main(void)
{
    need_device();
    if (is_on("oclgrind")) // it takes half a minute for so many groups of any kernel: one will do
        cmocka_set_test_filter("*_many_dense_matrices");
    for (int64_t i = 0; i < N_NUMBERS; i++)
        numbers[i] = (float)((int)((uint32_t)i * 2654435761u >> 16) % 7 - 3);
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spmm_of_many_matrices),
        cmocka_unit_test(test_spmm_of_many_slices),
        cmocka_unit_test(test_sddmm_of_many_matrices),
        cmocka_unit_test(test_softmax_of_many_matrices),
        cmocka_unit_test(test_attention_of_many_matrices),
        cmocka_unit_test(test_attention_of_many_slices),
        cmocka_unit_test(test_gather_of_many_matrices),
        cmocka_unit_test(test_many_dense_matrices),
        cmocka_unit_test(test_many_blocks_of_columns),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
