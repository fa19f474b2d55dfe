// SPDX-License-Identifier: Apache-2.0
// Checks of operations that only move entries of sparse matrices: results are exact.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weft/csr_dense.h>
#include <weft/csr_transpose.h>
#include <weft/dcsr.h>
#include <weft/sparse_gather.h>

#include "random.h"
#include "reference_line.h"
#include "scalar.h"
#include "self_test_trial.h"

// Rows, columns, entries.
static const int64_t sizes[][3] = {{7, 64, 100}, {129, 768, 6000}, {300, 900, 3000}};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static bool make(self_trial *t, self_csr *A, const char *op, int i, weft_dtype dtype)
{
    const generate_layer layer = {.m = sizes[i][0],
                                  .k = sizes[i][1],
                                  .nnz = sizes[i][2],
                                  .cov = 1.5,
                                  .has_full = true,
                                  .dtype = dtype};
    trial_case(t, "%s: %" PRId64 " x %" PRId64 ", %" PRId64 " entries, %s, seed %" PRIu64, op,
               layer.m, layer.k, layer.nnz, weft_dtype_name(dtype), t->seed);
    return trial_csr(t, A, &layer);
}

static weft_dtype dtype_of(const void *of)
{
    return *(const weft_dtype *)of;
}

// ---- csr_transpose

// The entry of A for each of T: entries of a row of T are in the order of A's rows.
static bool compare_source(self_trial *t, const self_array *source, const self_csr *A,
                           const self_csr *T)
{
    reference_values values;
    int64_t *next = calloc((size_t)T->host.n_rows, sizeof(*next));
    if (next == NULL || !values_create(&values, WEFT_I32, A->host.nnz, t->why)) {
        free(next);
        return complain(t->why, "no memory for the reference of a transpose");
    }
    for (int64_t e = 0; e < A->host.nnz; e++) {
        const int64_t row = scalar_whole(A->host.index_dtype, A->host.indices, e);
        const int64_t start = scalar_whole(T->host.offset_dtype, T->host.offsets, row);
        values.whole[start + next[row]++] = e;
    }
    free(next);
    return trial_compare(t, "source", source, &values);
}

static bool check_transpose(self_trial *t, const void *of)
{
    for (int i = 0; i < N_SIZES; i++) {
        self_csr A, want, T;
        self_array source;
        if (!make(t, &A, "csr_transpose", i, dtype_of(of)) || !trial_csr_transposed(t, &want, &A) ||
            !trial_csr_output(t, &T, A.host.n_cols, A.host.n_rows, A.host.nnz, dtype_of(of)) ||
            !trial_output(t, &source, WEFT_I32, 1, &A.host.nnz) ||
            !trial_plan(t, weft_csr_transpose_describe(t->ctx, &A.there, &T.there, NULL, t->plan,
                                                       sizeof(t->plan))) ||
            !trial_call(t, weft_csr_transpose(t->ctx, t->queue, &A.there, &T.there,
                                              WEFT_CSR_TRANSPOSE(.source = &source.there))) ||
            !trial_compare_csr(t, &T, &want.host) || !compare_source(t, &source, &A, &want))
            return false;
    }
    return true;
}

// ---- csr_to_dense

static bool check_to_dense(self_trial *t, const void *of)
{
    for (int i = 0; i < N_SIZES; i++) {
        self_csr A;
        self_array D;
        if (!make(t, &A, "csr_to_dense", i, dtype_of(of)) ||
            !trial_output(t, &D, dtype_of(of), 2, sizes[i]) ||
            !trial_plan(t, weft_csr_to_dense_describe(t->ctx, &A.there, &D.there, NULL, t->plan,
                                                      sizeof(t->plan))) ||
            !trial_call(t, weft_csr_to_dense(t->ctx, t->queue, &A.there, &D.there, NULL)))
            return false;
        const void *want = trial_dense_of(t, &A.host);
        if (want == NULL || !trial_compare_equal(t, "D", &D, want))
            return false;
    }
    return true;
}

// Coordinates in any order, some of them twice.
typedef struct coordinates {
    int64_t rows[3000], columns[3000];
    double values[3000];
    float dense[129 * 768];
} coordinates;

static void draw(coordinates *c, uint64_t seed)
{
    random_stream stream = random_start(seed, RANDOM_PATTERN);
    for (int i = 0; i < 3000; i++) {
        const bool is_twice = i % 4 == 3;
        c->rows[i] = is_twice ? c->rows[i / 2] : random_below(&stream, 129);
        c->columns[i] = is_twice ? c->columns[i / 2] : random_below(&stream, 768);
        c->values[i] = (double)(1 + random_below(&stream, 99)) / 8; // sums are exact
        c->dense[c->rows[i] * 768 + c->columns[i]] += (float)c->values[i];
    }
}

static bool run_coordinates(self_trial *t, const coordinates *c, weft_csr *there)
{
    self_csr A;
    self_array D;
    weft_csr_host host;
    if (weft_csr_host_from_coo(&host, 129, 768, 3000, c->rows, c->columns, c->values, NULL) !=
        WEFT_OK)
        return complain_weft(t->why);
    return trial_csr_of(t, &A, &host) && trial_output(t, &D, WEFT_F32, 2, (int64_t[]){129, 768}) &&
           trial_call(t, weft_csr_create(there, t->ctx, t->queue, &A.host)) &&
           trial_call(t, weft_csr_to_dense(t->ctx, t->queue, there, &D.there, NULL)) &&
           trial_compare_equal(t, "D", &D, c->dense) &&
           trial_call(
               t, weft_csr_check(t->ctx, t->queue, there, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE, NULL));
}

static bool check_coordinates(self_trial *t, const void *of)
{
    weft_csr there = {0};
    coordinates *c = calloc(1, sizeof(*c));
    (void)of;
    if (c == NULL)
        return complain(t->why, "no memory for coordinates");
    trial_case(t, "csr_to_dense: of 3000 coordinates in 129 x 768, f32, seed %" PRIu64, t->seed);
    draw(c, ++t->seed);
    const bool done = run_coordinates(t, c, &there);
    clFinish(t->queue);
    weft_csr_destroy(&there);
    free(c);
    return done;
}

// ---- dense_to_csr

static bool count_and_fill(self_trial *t, const self_array *D, const self_csr *A, self_csr *got)
{
    int64_t nnz = -1;
    bool is_right;
    if (!trial_plan(t, weft_dense_to_csr_describe(t->ctx, &D->there, &got->there, NULL, t->plan,
                                                  sizeof(t->plan))) ||
        !trial_call(
            t, weft_dense_to_csr_count(t->ctx, t->queue, &D->there, &got->there, &nnz, NULL)) ||
        !trial_compare_number(t, "entries of A", nnz, A->host.nnz, &is_right))
        return false;
    return !is_right ||
           (trial_call(t, weft_dense_to_csr(t->ctx, t->queue, &D->there, &got->there, NULL)) &&
            trial_compare_csr(t, got, &A->host));
}

// Random values are not zero.
static bool check_from_dense(self_trial *t, const void *of)
{
    for (int i = 0; i < N_SIZES; i++) {
        self_csr A, got;
        self_array D;
        if (!make(t, &A, "dense_to_csr", i, dtype_of(of)))
            return false;
        const void *dense = trial_dense_of(t, &A.host);
        if (dense == NULL || !trial_input_of(t, &D, dtype_of(of), 2, sizes[i], dense) ||
            !trial_csr_output(t, &got, A.host.n_rows, A.host.n_cols, A.host.nnz, dtype_of(of)) ||
            !count_and_fill(t, &D, &A, &got))
            return false;
    }
    return true;
}

// ---- dcsr_from_csr, dcsr_to_csr

static bool run_from_csr(self_trial *t, const self_csr *A, const self_dcsr *want)
{
    self_dcsr D;
    int64_t n_stored = -1;
    bool is_right;
    if (!trial_dcsr_output(t, &D, want) ||
        !trial_call(t, weft_dcsr_count(t->ctx, t->queue, &A->there, &n_stored, NULL)) ||
        !trial_compare_number(t, "stored rows", n_stored, want->there.n_stored, &is_right))
        return false;
    return !is_right ||
           (trial_call(t, weft_dcsr_from_csr(t->ctx, t->queue, &A->there, &D.there, NULL)) &&
            trial_compare_equal(t, "rows of D", &D.rows, trial_data(&want->rows)) &&
            trial_compare_equal(t, "offsets of D", &D.offsets, trial_data(&want->offsets)));
}

static bool run_to_csr(self_trial *t, const self_csr *A, const self_dcsr *D)
{
    self_array offsets;
    weft_csr back = A->there;
    if (!trial_output(t, &offsets, WEFT_I32, 1, A->offsets.host.shape))
        return false;
    back.offsets = offsets.there.buffer;
    return trial_call(t, weft_dcsr_to_csr(t->ctx, t->queue, &D->there, &back, NULL)) &&
           trial_compare_equal(t, "offsets of A", &offsets, A->host.offsets);
}

typedef struct dcsr_check {
    bool goes_back;
} dcsr_check;

static bool check_dcsr(self_trial *t, const void *check)
{
    const bool goes_back = ((const dcsr_check *)check)->goes_back;
    for (int i = 0; i < N_SIZES; i++) {
        self_csr A;
        self_dcsr D;
        if (!make(t, &A, goes_back ? "dcsr_to_csr" : "dcsr_from_csr", i, WEFT_F32) ||
            !trial_dcsr(t, &D, &A) || !(goes_back ? run_to_csr : run_from_csr)(t, &A, &D))
            return false;
    }
    return true;
}

// ---- sparse_gather

static bool run_gather(self_trial *t, weft_dtype dtype, int64_t n)
{
    const int64_t nnz = 1000, batches[] = {2, n}, all[] = {2, nnz};
    const size_t size = weft_dtype_size(dtype);
    self_array values, source, out;
    int32_t from[4097];
    char want[2 * 4097 * 8];
    random_stream stream = random_start(++t->seed, RANDOM_PATTERN);
    trial_case(t, "sparse_gather: %" PRId64 " of %" PRId64 ", twice, %s, seed %" PRIu64, n, nnz,
               weft_dtype_name(dtype), t->seed);
    if (!trial_input(t, &values, dtype, 2, all))
        return false;
    for (int64_t i = 0; i < n; i++) {
        from[i] = (int32_t)random_below(&stream, nnz);
        for (int64_t b = 0; b < 2; b++)
            memcpy(want + (size_t)(b * n + i) * size,
                   (const char *)trial_data(&values) + (size_t)(b * nnz + from[i]) * size, size);
    }
    return trial_input_of(t, &source, WEFT_I32, 1, &n, from) &&
           trial_output(t, &out, dtype, 2, batches) &&
           trial_call(t, weft_sparse_gather(t->ctx, t->queue, &values.there, &source.there,
                                            &out.there, NULL)) &&
           trial_compare_equal(t, "out", &out, want);
}

static bool check_gather(self_trial *t, const void *of)
{
    static const int64_t counts[] = {1, 7, 64, 129, 768, 900, 1000, 4097};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        if (!run_gather(t, dtype_of(of), counts[i]))
            return false;
    return true;
}

// ---- all of them

#define OF(dtype)                                                                                  \
    &(const weft_dtype)                                                                            \
    {                                                                                              \
        dtype                                                                                      \
    }

const self_check self_test_formats[] = {
    {"csr_transpose", "", WEFT_F32, check_transpose, OF(WEFT_F32)},
    {"csr_transpose", "f16", WEFT_F16, check_transpose, OF(WEFT_F16)},
    {"csr_to_dense", "", WEFT_F32, check_to_dense, OF(WEFT_F32)},
    {"csr_to_dense", "bf16", WEFT_BF16, check_to_dense, OF(WEFT_BF16)},
    {"csr_to_dense", "from coordinates", WEFT_F32, check_coordinates, NULL},
    {"dense_to_csr", "", WEFT_F32, check_from_dense, OF(WEFT_F32)},
    {"dense_to_csr", "f16", WEFT_F16, check_from_dense, OF(WEFT_F16)},
    {"dcsr_from_csr", "", WEFT_F32, check_dcsr, &(const dcsr_check){.goes_back = false}},
    {"dcsr_to_csr", "", WEFT_F32, check_dcsr, &(const dcsr_check){.goes_back = true}},
    {"sparse_gather", "", WEFT_F32, check_gather, OF(WEFT_F32)},
    {"sparse_gather", "i64", WEFT_I64, check_gather, OF(WEFT_I64)},
    {0},
};
