// SPDX-License-Identifier: Apache-2.0
// What tests of C = A B, all sparse, share: operands, the call in both steps, and the comparison
// with a plain loop.
#ifndef WEFT_TESTS_SPGEMM_PRODUCT_H
#define WEFT_TESTS_SPGEMM_PRODUCT_H

#include <math.h>

#include "format_case.h"
#include "scalar.h"
#include "sparse/spgemm_plan.h"
#include "spgemm_case.h"
#include "tiling_text.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

typedef struct product_case {
    uint64_t seed;
    pattern_kind a_kind, b_kind;
    int64_t m, k, n, a_nnz, b_nnz;
    weft_dtype dtype, wide[3], narrow[3]; // data types of offsets and of indices: A, B, C
    int64_t start;
    bool in_fractions; // not whole numbers, of which sums are exact
    bool in_tenths;    // all of them 0.1
    const weft_spgemm_tiling *tiling;
} product_case;

typedef struct operands {
    pattern patterns[3]; // A, B, C
    device_pattern there[3];
    guarded values[3];
    char *numbers[2]; // of A and B
    double *sums, *magnitudes;
    size_t size;
} operands;

static inline weft_dtype dtype_or(weft_dtype dtype, weft_dtype fallback)
{
    return dtype ? dtype : fallback;
}

// ---- operands

// A dense row at a time.
static inline void multiply(operands *o, weft_dtype dtype)
{
    const pattern *A = &o->patterns[0], *B = &o->patterns[1];
    pattern *C = &o->patterns[2];
    *C = pattern_of_cells(A->n_rows, B->n_cols, 0);
    o->sums = new_array(A->n_rows * B->n_cols, sizeof(double));
    o->magnitudes = new_array(A->n_rows * B->n_cols, sizeof(double));
    double *sum = new_array(B->n_cols, sizeof(double)),
           *size = new_array(B->n_cols, sizeof(double));
    bool *met = new_array(B->n_cols, sizeof(bool));
    for (int64_t row = 0; row < A->n_rows; row++) {
        for (int64_t column = 0; column < B->n_cols; column++)
            sum[column] = size[column] = 0, met[column] = false;
        for (int64_t e = A->offsets[row]; e < A->offsets[row + 1]; e++)
            for (int64_t g = B->offsets[A->columns[e]]; g < B->offsets[A->columns[e] + 1]; g++) {
                const double x =
                    scalar_get(dtype, o->numbers[0], e) * scalar_get(dtype, o->numbers[1], g);
                sum[B->columns[g]] = met[B->columns[g]] ? sum[B->columns[g]] + x : x;
                size[B->columns[g]] += fabs(x);
                met[B->columns[g]] = true;
            }
        for (int64_t column = 0; column < B->n_cols; column++) {
            if (!met[column])
                continue;
            o->sums[C->nnz] = sum[column];
            o->magnitudes[C->nnz] = size[column];
            C->columns[C->nnz++] = column;
        }
        C->offsets[row + 1] = C->nnz;
    }
    free(sum);
    free(size);
    free(met);
}

static inline char *draw(random_state *random, int64_t n, weft_dtype dtype, const product_case *of)
{
    char *numbers = new_array(n, weft_dtype_size(dtype));
    for (int64_t i = 0; i < n; i++)
        scalar_put(dtype, numbers, i,
                   of->in_tenths      ? 0.1
                   : of->in_fractions ? (double)random_float(random)
                                      : (double)random_between(random, -2, 2));
    return numbers;
}

// Takes the patterns over.
static inline void operands_create(operands *o, pattern A, pattern B, const product_case *of)
{
    random_state random = {of->seed};
    const weft_dtype dtype = dtype_or(of->dtype, WEFT_F32);
    *o = (operands){.patterns = {A, B}, .size = weft_dtype_size(dtype)};
    o->numbers[0] = draw(&random, A.nnz, dtype, of);
    o->numbers[1] = draw(&random, B.nnz, dtype, of);
    multiply(o, dtype);
    for (int i = 0; i < 3; i++) {
        o->there[i] =
            device_pattern_create(ctx, &o->patterns[i], i < 2, dtype_or(of->wide[i], WEFT_I32),
                                  dtype_or(of->narrow[i], WEFT_I32), of->start);
        o->values[i] = guarded_create(ctx, i < 2 ? o->numbers[i] : NULL, o->patterns[i].nnz,
                                      o->size, of->start);
        o->there[i].csr.dtype = dtype;
        o->there[i].csr.values = o->values[i].buffer;
        o->there[i].csr.values_start = of->start;
    }
}

static inline void operands_destroy(operands *o)
{
    for (int i = 0; i < 3; i++) {
        pattern_destroy(&o->patterns[i]);
        device_pattern_destroy(&o->there[i]);
        guarded_destroy(&o->values[i]);
    }
    free(o->numbers[0]);
    free(o->numbers[1]);
    free(o->sums);
    free(o->magnitudes);
}

// Each product and each sum rounds once, by at most 2^-24 of what is summed so far. A long sum
// loses no more than its products and its result do.
static inline void check_fractions(const operands *o, bool is_long)
{
    const guarded *g = &o->values[2];
    float *got = new_array((int64_t)g->bytes, 1);
    clEnqueueReadBuffer(queue, g->buffer, CL_TRUE, 0, g->bytes, got, 0, NULL, NULL);
    for (int64_t e = 0; e < g->n; e++) {
        const double off = fabs((double)got[g->start + e] - o->sums[e]);
        const double n = is_long ? 4 : (double)(o->patterns[0].nnz + 2);
        if (!(off <= n * 0x1p-24 * o->magnitudes[e]))
            fail_msg("entry %d: %g, not %g", (int)e, (double)got[g->start + e], o->sums[e]);
    }
    free(got);
}

static inline void check(const operands *o, const product_case *of)
{
    const weft_dtype dtype = dtype_or(of->dtype, WEFT_F32);
    device_pattern_check(&o->there[2], queue, &o->patterns[2]);
    if (of->in_fractions || of->in_tenths) {
        check_fractions(o, of->in_tenths);
        return;
    }
    char *want = new_array(o->patterns[2].nnz, o->size);
    for (int64_t e = 0; e < o->patterns[2].nnz; e++)
        scalar_put(dtype, want, e, o->sums[e]);
    guarded_check(&o->values[2], queue, want, "values");
    free(want);
}

// Both steps, with scratch memory of exactly the size that is asked for.
static inline void call(operands *o, const product_case *of, bool wants_nnz)
{
    const weft_csr *A = &o->there[0].csr, *B = &o->there[1].csr;
    weft_csr C = o->there[2].csr;
    weft_spgemm_params params = *WEFT_SPGEMM(.tiling = TILING_TEXT(spgemm, of->tiling));
    size_t bytes;
    int64_t nnz = -1;
    C.nnz = -5; // nobody knows yet
    assert_ok(weft_spgemm_workspace(ctx, A, B, &C, &params, &bytes));
    params.workspace = bytes > 0 ? new_workspace(ctx, bytes) : NULL;
    assert_ok(weft_spgemm_count(ctx, queue, A, B, &C, wants_nnz ? &nnz : NULL, &params));
    if (wants_nnz)
        assert_int_equal(nnz, o->patterns[2].nnz);
    C.nnz = o->patterns[2].nnz;
    assert_ok(weft_spgemm(ctx, queue, A, B, &C, &params));
    if (params.workspace)
        clReleaseMemObject(params.workspace);
}

static inline void run_patterns(pattern A, pattern B, const product_case *of)
{
    operands o;
    operands_create(&o, A, B, of);
    call(&o, of, of->seed % 2);
    check(&o, of);
    operands_destroy(&o);
}

static inline void run(const product_case *of)
{
    if (of->tiling && !takes_groups_of(of->tiling->items))
        return;
    random_state random = {of->seed};
    const pattern A = pattern_create(&random, of->a_kind, of->m, of->k, of->a_nnz);
    const pattern B = pattern_create(&random, of->b_kind, of->k, of->n, of->b_nnz);
    run_patterns(A, B, of);
}

// The result by of->tiling, which the caller frees.
static inline char *result_of(operands *o, const product_case *of)
{
    const guarded *g = &o->values[2];
    call(o, of, false);
    check(o, of);
    char *result = new_array((int64_t)g->bytes, 1);
    clEnqueueReadBuffer(queue, g->buffer, CL_TRUE, 0, g->bytes, result, 0, NULL, NULL);
    return result;
}

// The bits of `want`, a result with the same operands, by another tiling.
static inline void check_bits(operands *o, const product_case *of, const char *want)
{
    const char *numbers = want + o->values[2].start * (int64_t)o->size;
    guarded_restore(&o->values[2], queue);
    call(o, of, false);
    device_pattern_check(&o->there[2], queue, &o->patterns[2]);
    guarded_check(&o->values[2], queue, numbers, "the bits of marks");
}

#endif
