// SPDX-License-Identifier: Apache-2.0
// Checks of operations on several sparse operands, or along the rows of one: spgemm, spgemm_dense,
// sddmm_sparse, sparse_softmax and its backward, attention.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weft/sddmm_sparse.h>
#include <weft/sparse_attention.h>
#include <weft/sparse_softmax.h>
#include <weft/spgemm.h>

#include "reference_attention.h"
#include "reference_line.h"
#include "reference_sddmm.h"
#include "scalar.h"
#include "self_test_trial.h"

typedef struct sparse_check {
    weft_dtype dtype;
    bool is_backward; // sparse_softmax
    bool has_dense_A; // sddmm_sparse
    bool adds_to_C;   // spgemm_dense: beta is 0.5, else 0 and C full of NaN
} sparse_check;

static int64_t offset_of(const weft_csr_host *host, int64_t row)
{
    return scalar_whole(host->offset_dtype, host->offsets, row);
}

static int64_t column_of(const weft_csr_host *host, int64_t e)
{
    return scalar_whole(host->index_dtype, host->indices, e);
}

// ---- spgemm

// C = A B is A times B as a dense matrix, at the places of any products.
typedef struct spgemm_case {
    self_csr A, B, C;
    double *want, *bound; // m x n each
    bool *meets;          // likewise: there are products
    int64_t nnz;
} spgemm_case;

static void find_meetings(spgemm_case *c)
{
    const weft_csr_host *A = &c->A.host, *B = &c->B.host;
    for (int64_t row = 0; row < A->n_rows; row++)
        for (int64_t e = offset_of(A, row); e < offset_of(A, row + 1); e++) {
            const int64_t at = column_of(A, e);
            for (int64_t g = offset_of(B, at); g < offset_of(B, at + 1); g++) {
                bool *meets = &c->meets[row * B->n_cols + column_of(B, g)];
                c->nnz += !*meets;
                *meets = true;
            }
        }
}

static bool make_spgemm(self_trial *t, spgemm_case *c, weft_dtype dtype, const double *alpha_beta,
                        const void *C0)
{
    generate_layer left = {
        .m = 129, .k = 300, .nnz = 1500, .cov = 1.5, .has_full = true, .dtype = dtype};
    generate_layer right = {.m = 300, .k = 900, .nnz = 4000, .cov = 1, .dtype = dtype};
    if (!trial_csr(t, &c->A, &left) || !trial_csr(t, &c->B, &right))
        return false;
    const void *B = trial_dense_of(t, &c->B.host);
    c->meets = calloc((size_t)(left.m * right.k), sizeof(*c->meets));
    if (B == NULL || c->meets == NULL)
        return complain(t->why, "no memory for the reference of a product");
    find_meetings(c);
    const reference_spmm problem = {.A = &c->A.host,
                                    .n = right.k,
                                    .alpha = alpha_beta[0],
                                    .beta = alpha_beta[1],
                                    .B = B,
                                    .C0 = alpha_beta[1] != 0 ? C0 : NULL};
    return reference_spmm_run(&problem, &c->want, &c->bound, t->why);
}

static void free_spgemm(spgemm_case *c)
{
    free(c->want);
    free(c->bound);
    free(c->meets);
}

// The places of products, in order.
static bool compare_spgemm(self_trial *t, const spgemm_case *c)
{
    const int64_t m = c->A.host.n_rows, n = c->B.host.n_cols;
    reference_values offsets = {0}, indices = {0}, values = {0};
    bool done = values_create(&offsets, WEFT_I32, m + 1, t->why) &&
                values_create(&indices, WEFT_I32, c->nnz, t->why) &&
                values_create(&values, c->A.host.dtype, c->nnz, t->why);
    int64_t e = 0;
    for (int64_t at = 0; done && at < m * n; at++) {
        if (c->meets[at]) {
            indices.whole[e] = at % n;
            values.want[e] = c->want[at];
            values.bound[e++] = c->bound[at];
        }
        offsets.whole[at / n + 1] = e;
    }
    done = done && trial_compare(t, "offsets of C", &c->C.offsets, &offsets) &&
           trial_compare(t, "indices of C", &c->C.indices, &indices) &&
           trial_compare(t, "values of C", &c->C.values, &values);
    reference_values_free(&offsets);
    reference_values_free(&indices);
    reference_values_free(&values);
    return done;
}

static bool run_spgemm(self_trial *t, spgemm_case *c)
{
    const weft_dtype dtype = c->A.host.dtype;
    const int64_t m = c->A.host.n_rows, n = c->B.host.n_cols;
    int64_t nnz = -1;
    bool is_right;
    if (!trial_csr_output(t, &c->C, m, n, c->nnz, dtype) ||
        !trial_plan(t, weft_spgemm_describe(t->ctx, &c->A.there, &c->B.there, &c->C.there, NULL,
                                            t->plan, sizeof(t->plan))) ||
        !trial_call(t, weft_spgemm_count(t->ctx, t->queue, &c->A.there, &c->B.there, &c->C.there,
                                         &nnz, NULL)) ||
        !trial_compare_number(t, "entries of C", nnz, c->nnz, &is_right))
        return false;
    return !is_right || (trial_call(t, weft_spgemm(t->ctx, t->queue, &c->A.there, &c->B.there,
                                                   &c->C.there, NULL)) &&
                         compare_spgemm(t, c));
}

static bool check_spgemm(self_trial *t, const void *check)
{
    const sparse_check *of = check;
    const double alpha_beta[] = {1, 0};
    spgemm_case c = {.nnz = 0};
    trial_case(t,
               "spgemm: A [129 x 300, 1500 entries] B [300 x 900, 4000 entries], %s, seed %" PRIu64,
               weft_dtype_name(of->dtype), t->seed);
    const bool done = make_spgemm(t, &c, of->dtype, alpha_beta, NULL) && run_spgemm(t, &c);
    free_spgemm(&c);
    return done;
}

static bool run_spgemm_dense(self_trial *t, spgemm_case *c, const self_array *C,
                             const double *alpha_beta)
{
    double *want = c->want, *bound = c->bound;
    if (!trial_plan(t, weft_spgemm_dense_describe(t->ctx, &c->A.there, &c->B.there, &C->there, NULL,
                                                  t->plan, sizeof(t->plan))) ||
        !trial_call(t, weft_spgemm_dense(t->ctx, t->queue, alpha_beta[0], &c->A.there, &c->B.there,
                                         alpha_beta[1], &C->there, NULL)))
        return false;
    c->want = c->bound = NULL; // freed there
    return trial_compare_bounded(t, "C", C, want, bound);
}

static bool check_spgemm_dense(self_trial *t, const void *check)
{
    const sparse_check *of = check;
    const double alpha_beta[] = {0.75, of->adds_to_C ? 0.5 : 0};
    spgemm_case c = {.nnz = 0};
    self_array C;
    trial_case(
        t,
        "spgemm_dense: A [129 x 300, 1500 entries] B [300 x 900, 4000 entries], %s, beta %g, "
        "seed %" PRIu64,
        weft_dtype_name(of->dtype), alpha_beta[1], t->seed);
    const int64_t shape[] = {129, 900};
    const bool is_there = of->adds_to_C ? trial_input(t, &C, of->dtype, 2, shape)
                                        : trial_output(t, &C, of->dtype, 2, shape);
    const bool done = is_there && make_spgemm(t, &c, of->dtype, alpha_beta, trial_data(&C)) &&
                      run_spgemm_dense(t, &c, &C, alpha_beta);
    free_spgemm(&c);
    return done;
}

// ---- sddmm_sparse

typedef struct sampled_case {
    self_csr A, B, C;
    self_array dense_A, D;
} sampled_case;

static bool make_sampled(self_trial *t, sampled_case *c, const sparse_check *of)
{
    const generate_layer factors[] = {
        {.m = 129, .k = 768, .nnz = 6000, .cov = 1, .has_full = true, .dtype = of->dtype},
        {.m = 300, .k = 768, .nnz = 9000, .cov = 1, .dtype = of->dtype},
        {.m = 129, .k = 300, .nnz = 3000, .cov = 1.5, .has_full = true, .dtype = of->dtype},
    };
    const int64_t shape[] = {factors[0].m, factors[0].k};
    return (of->has_dense_A ? trial_input(t, &c->dense_A, of->dtype, 2, shape)
                            : trial_csr(t, &c->A, &factors[0])) &&
           trial_csr(t, &c->B, &factors[1]) && trial_csr(t, &c->C, &factors[2]) &&
           trial_output(t, &c->D, of->dtype, 1, &c->C.host.nnz);
}

static bool call_sampled(self_trial *t, const sampled_case *c, const sparse_check *of)
{
    const weft_factor A = {.dense = of->has_dense_A ? &c->dense_A.there : NULL,
                           .sparse = of->has_dense_A ? NULL : &c->A.there};
    return trial_plan(t,
                      weft_sddmm_sparse_describe(t->ctx, &A, WEFT_SPARSE(&c->B.there), &c->C.there,
                                                 &c->D.there, NULL, t->plan, sizeof(t->plan))) &&
           trial_call(t, weft_sddmm_sparse(t->ctx, t->queue, 0.75, &A, WEFT_SPARSE(&c->B.there),
                                           &c->C.there, 0, &c->D.there, NULL));
}

static bool compare_sampled(self_trial *t, const sampled_case *c, const sparse_check *of)
{
    const reference_sddmm problem = {.C = &c->C.host,
                                     .k = c->B.host.n_cols,
                                     .alpha = 0.75,
                                     .A = of->has_dense_A ? trial_data(&c->dense_A) : NULL,
                                     .sparse_A = of->has_dense_A ? NULL : &c->A.host,
                                     .sparse_B = &c->B.host};
    double *want, *bound;
    return reference_sddmm_run(&problem, &want, &bound, t->why) &&
           trial_compare_bounded(t, "D", &c->D, want, bound);
}

static bool check_sampled(self_trial *t, const void *check)
{
    const sparse_check *of = check;
    sampled_case c;
    trial_case(t,
               "sddmm_sparse: A [129 x 768, %s] B^T [300 x 768, 9000 entries] at 3000 entries, %s, "
               "seed %" PRIu64,
               of->has_dense_A ? "dense" : "6000 entries", weft_dtype_name(of->dtype), t->seed);
    return make_sampled(t, &c, of) && call_sampled(t, &c, of) && compare_sampled(t, &c, of);
}

// ---- sparse_softmax

typedef struct rows_case {
    self_csr X; // backward: Y's values
    self_array dY, Y;
} rows_case;

// Row by row, as an array of one axis.
static bool compare_rows(self_trial *t, const rows_case *c, const sparse_check *of)
{
    const weft_csr_host *X = &c->X.host;
    reference_values all;
    bool done = values_create(&all, of->dtype, X->nnz, t->why);
    for (int64_t row = 0; done && row < X->n_rows; row++) {
        const int64_t start = offset_of(X, row), n = offset_of(X, row + 1) - start;
        reference_softmax problem = {
            .X = c->X.values.host, .scale = 2, .masked = true, .is_backward = of->is_backward};
        problem.X.offset += start;
        problem.X.shape[0] = n;
        problem.dY = problem.X;
        problem.dY.data = of->is_backward ? c->dY.host.data : NULL;
        reference_values values;
        if (n == 0)
            continue;
        done = reference_softmax_run(&values, &problem, t->why);
        if (done) {
            memcpy(all.want + start, values.want, (size_t)n * sizeof(*all.want));
            memcpy(all.bound + start, values.bound, (size_t)n * sizeof(*all.bound));
            reference_values_free(&values);
        }
    }
    if (done)
        return trial_compare(t, of->is_backward ? "dX" : "Y", &c->Y, &all);
    reference_values_free(&all);
    return false;
}

static bool call_rows(self_trial *t, const rows_case *c, const sparse_check *of)
{
    if (of->is_backward)
        return trial_plan(t, weft_sparse_softmax_backward_describe(t->ctx, &c->X.there,
                                                                   &c->dY.there, &c->Y.there, NULL,
                                                                   t->plan, sizeof(t->plan))) &&
               trial_call(t, weft_sparse_softmax_backward(t->ctx, t->queue, 2, &c->X.there,
                                                          &c->dY.there, &c->Y.there, NULL));
    return trial_plan(t, weft_sparse_softmax_describe(t->ctx, &c->X.there, &c->Y.there, NULL,
                                                      t->plan, sizeof(t->plan))) &&
           trial_call(t, weft_sparse_softmax(t->ctx, t->queue, 2, &c->X.there, &c->Y.there, NULL));
}

static bool check_rows(self_trial *t, const void *check)
{
    const sparse_check *of = check;
    static const int64_t sizes[][3] = {{7, 64, 150}, {129, 768, 6000}, {1000, 900, 9000}};
    for (int i = 0; i < 3; i++) {
        const generate_layer layer = {.m = sizes[i][0],
                                      .k = sizes[i][1],
                                      .nnz = sizes[i][2],
                                      .cov = 1.5,
                                      .has_full = true,
                                      .dtype = of->dtype};
        rows_case c;
        trial_case(t,
                   "sparse_softmax%s: %" PRId64 " x %" PRId64 ", %" PRId64
                   " entries, %s, seed %" PRIu64,
                   of->is_backward ? "_backward" : "", layer.m, layer.k, layer.nnz,
                   weft_dtype_name(of->dtype), t->seed);
        if (!trial_csr(t, &c.X, &layer) || !trial_input(t, &c.dY, of->dtype, 1, &c.X.host.nnz) ||
            !trial_output(t, &c.Y, of->dtype, 1, &c.X.host.nnz) || !call_rows(t, &c, of) ||
            !compare_rows(t, &c, of))
            return false;
    }
    return true;
}

// ---- attention

typedef struct attention_case {
    int64_t k, d;
    self_csr M;
    self_array Q, K, V, O;
} attention_case;

static bool make_attention(self_trial *t, attention_case *c, weft_dtype dtype)
{
    const generate_layer layer = {
        .m = 129, .k = 300, .nnz = 3000, .cov = 1.5, .has_full = true, .dtype = dtype};
    return trial_csr(t, &c->M, &layer) &&
           trial_input(t, &c->Q, dtype, 2, (const int64_t[]){layer.m, c->k}) &&
           trial_input(t, &c->K, dtype, 2, (const int64_t[]){layer.k, c->k}) &&
           trial_input(t, &c->V, dtype, 2, (const int64_t[]){layer.k, c->d}) &&
           trial_output(t, &c->O, dtype, 2, (const int64_t[]){layer.m, c->d});
}

static bool compare_attention(self_trial *t, const attention_case *c, weft_dtype dtype)
{
    const reference_attention problem = {.M = &c->M.host,
                                         .dtype = dtype,
                                         .k = c->k,
                                         .d = c->d,
                                         .scale = 0.25,
                                         .Q = trial_data(&c->Q),
                                         .K = trial_data(&c->K),
                                         .V = trial_data(&c->V)};
    double *want, *bound;
    return reference_attention_run(&problem, &want, &bound, t->why) &&
           trial_compare_bounded(t, "O", &c->O, want, bound);
}

static bool check_attention(self_trial *t, const void *check)
{
    const sparse_check *of = check;
    static const int64_t sizes[][2] = {{64, 64}, {64, 160}};
    for (int i = 0; i < 2; i++) {
        attention_case c = {.k = sizes[i][0], .d = sizes[i][1]};
        trial_case(t,
                   "attention: M [129 x 300, 3000 entries], k %" PRId64 ", d %" PRId64
                   ", %s, seed %" PRIu64,
                   c.k, c.d, weft_dtype_name(of->dtype), t->seed);
        if (!make_attention(t, &c, of->dtype) ||
            !trial_plan(t, weft_sparse_attention_describe(t->ctx, &c.Q.there, &c.K.there,
                                                          &c.V.there, &c.M.there, &c.O.there, NULL,
                                                          t->plan, sizeof(t->plan))) ||
            !trial_call(t, weft_sparse_attention(t->ctx, t->queue, 0.25, &c.Q.there, &c.K.there,
                                                 &c.V.there, &c.M.there, &c.O.there, NULL)) ||
            !compare_attention(t, &c, of->dtype))
            return false;
    }
    return true;
}

// ---- all of them

#define OF(...)                                                                                    \
    &(const sparse_check)                                                                          \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const self_check self_test_sparse[] = {
    {"spgemm", "", WEFT_F32, check_spgemm, OF(.dtype = WEFT_F32)},
    {"spgemm", "f16", WEFT_F16, check_spgemm, OF(.dtype = WEFT_F16)},
    {"spgemm", "f64", WEFT_F64, check_spgemm, OF(.dtype = WEFT_F64)},
    {"spgemm_dense", "", WEFT_F32, check_spgemm_dense, OF(.dtype = WEFT_F32)},
    {"spgemm_dense", "alpha and beta", WEFT_F32, check_spgemm_dense,
     OF(.dtype = WEFT_F32, .adds_to_C = true)},
    {"sddmm_sparse", "both sparse", WEFT_F32, check_sampled, OF(.dtype = WEFT_F32)},
    {"sddmm_sparse", "A dense", WEFT_F32, check_sampled,
     OF(.dtype = WEFT_F32, .has_dense_A = true)},
    {"sparse_softmax", "", WEFT_F32, check_rows, OF(.dtype = WEFT_F32)},
    {"sparse_softmax", "f16", WEFT_F16, check_rows, OF(.dtype = WEFT_F16)},
    {"sparse_softmax_backward", "", WEFT_F32, check_rows,
     OF(.dtype = WEFT_F32, .is_backward = true)},
    {"attention", "", WEFT_F32, check_attention, OF(.dtype = WEFT_F32)},
    {"attention", "f16", WEFT_F16, check_attention, OF(.dtype = WEFT_F16)},
    {0},
};
