// SPDX-License-Identifier: Apache-2.0
// Checks of products of a sparse matrix and dense ones: spmm, spmm_dcsr, sparse_linear and its
// gradients, sddmm.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <weft/sparse_linear.h>
#include <weft/spmm_dcsr.h>

#include "reference_sddmm.h"
#include "self_test_trial.h"

// ---- spmm

typedef struct spmm_case spmm_case;

// C = f(alpha R + beta C + bias), see <weft/spmm.h>, by one of its calls.
typedef struct spmm_check {
    const char *op;
    // Makes A in the call's format, and calls.
    bool (*call)(self_trial *t, spmm_case *c);
    weft_dtype dtype;
    weft_spmm_reduction reduction;
    double beta; // with alpha 0.75; 0: alpha is 1, and C full of NaN
    bool planned, transpose_a, has_bias, has_places;
    weft_activation activation;
    int64_t n[4]; // columns of B, by case; 0: none
} spmm_check;

// Rows of very different lengths, one of them full: plans must balance them.
static const generate_layer uneven = {
    .m = 129, .k = 768, .nnz = 6000, .cov = 1.5, .has_full = true};

struct spmm_case {
    const spmm_check *of;
    int64_t m, k, n; // C is m x n, op(A) m x k
    self_csr A;
    self_array B, C, bias, places;
    weft_spmm_plan *plan;
};

static double alpha_of(const spmm_check *of)
{
    return of->beta != 0 ? 0.75 : 1;
}

static bool make_spmm(self_trial *t, spmm_case *c)
{
    const spmm_check *of = c->of;
    generate_layer layer = uneven;
    layer.dtype = of->dtype;
    c->m = of->transpose_a ? layer.k : layer.m;
    c->k = of->transpose_a ? layer.m : layer.k;
    const int64_t shape[] = {c->m, c->n}, b_shape[] = {c->k, c->n};
    return trial_csr(t, &c->A, &layer) && trial_input(t, &c->B, of->dtype, 2, b_shape) &&
           (of->beta != 0 ? trial_input : trial_output)(t, &c->C, of->dtype, 2, shape) &&
           (!of->has_bias || trial_input(t, &c->bias, of->dtype, 1, shape)) &&
           (!of->has_places || trial_output(t, &c->places, WEFT_I32, 2, shape));
}

static weft_spmm_params spmm_params(const spmm_case *c)
{
    const spmm_check *of = c->of;
    return (weft_spmm_params){.size = sizeof(weft_spmm_params),
                              .plan = c->plan,
                              .transpose_a = of->transpose_a,
                              .reduction = of->reduction,
                              .arguments = of->has_places ? &c->places.there : NULL,
                              .bias = of->has_bias ? &c->bias.there : NULL,
                              .activation = of->activation};
}

static reference_spmm spmm_reference(const spmm_case *c)
{
    const spmm_check *of = c->of;
    return (reference_spmm){.A = &c->A.host,
                            .transpose_a = of->transpose_a,
                            .n = c->n,
                            .reduction = of->reduction,
                            .alpha = alpha_of(of),
                            .beta = of->beta,
                            .B = trial_data(&c->B),
                            .C0 = of->beta != 0 ? trial_data(&c->C) : NULL,
                            .bias = of->has_bias ? trial_data(&c->bias) : NULL,
                            .activation = of->activation};
}

static bool compare_places(self_trial *t, const spmm_case *c, const reference_spmm *problem)
{
    int64_t *source = reference_spmm_arguments(problem, t->why);
    int32_t *want = calloc((size_t)c->places.count, sizeof(*want));
    bool done = source != NULL && (want != NULL || complain(t->why, "no memory for places"));
    for (int64_t i = 0; done && i < c->places.count; i++)
        want[i] = (int32_t)source[i];
    done = done && trial_compare_equal(t, "places", &c->places, want);
    free(source);
    free(want);
    return done;
}

static bool compare_spmm(self_trial *t, const spmm_case *c)
{
    const reference_spmm problem = spmm_reference(c);
    double *want, *bound;
    return reference_spmm_run(&problem, &want, &bound, t->why) &&
           trial_compare_bounded(t, "C", &c->C, want, bound) &&
           (!c->of->has_places || compare_places(t, c, &problem));
}

static void say_spmm(self_trial *t, const spmm_case *c)
{
    const spmm_check *of = c->of;
    trial_case(t,
               "%s: %s of A%s [%" PRId64 " x %" PRId64 ", %" PRId64 " entries] B [%" PRId64
               " columns], %s%s%s%s, alpha %g, beta %g, seed %" PRIu64,
               of->op, weft_spmm_reduction_name(of->reduction), of->transpose_a ? "^T of" : "",
               uneven.m, uneven.k, uneven.nnz, c->n, weft_dtype_name(of->dtype),
               of->planned ? ", planned" : "", of->has_bias ? ", bias" : "",
               of->activation != WEFT_ACTIVATION_NONE ? ", activation" : "", alpha_of(of), of->beta,
               t->seed);
}

static bool check_spmm(self_trial *t, const void *check)
{
    const spmm_check *of = check;
    bool done = true;
    for (int i = 0; done && i < 4 && of->n[i] > 0; i++) {
        spmm_case c = {.of = of, .n = of->n[i]};
        say_spmm(t, &c);
        done = make_spmm(t, &c) && of->call(t, &c) && compare_spmm(t, &c);
        clFinish(t->queue);
        weft_spmm_plan_destroy(&c.plan);
    }
    return done;
}

// ---- the calls

static bool make_plan(self_trial *t, spmm_case *c)
{
    return !c->of->planned ||
           trial_call(t, weft_spmm_plan_create(&c->plan, t->ctx, t->queue, &c->A.there,
                                               WEFT_SPMM_PLAN(.transpose_a = c->of->transpose_a)));
}

static bool call_spmm(self_trial *t, spmm_case *c)
{
    if (!make_plan(t, c))
        return false;
    const weft_spmm_params params = spmm_params(c);
    return trial_plan(t, weft_spmm_describe(t->ctx, &c->A.there, &c->B.there, &c->C.there, &params,
                                            t->plan, sizeof(t->plan))) &&
           trial_call(t, weft_spmm(t->ctx, t->queue, alpha_of(c->of), &c->A.there, &c->B.there,
                                   c->of->beta, &c->C.there, &params));
}

// The same matrix, by its non-empty rows.
static bool call_spmm_dcsr(self_trial *t, spmm_case *c)
{
    self_dcsr A;
    if (!trial_dcsr(t, &A, &c->A) ||
        (c->of->planned &&
         !trial_call(t, weft_spmm_dcsr_plan_create(&c->plan, t->ctx, t->queue, &A.there, NULL))))
        return false;
    const weft_spmm_params params = spmm_params(c);
    return trial_plan(t, weft_spmm_dcsr_describe(t->ctx, &A.there, &c->B.there, &c->C.there,
                                                 &params, t->plan, sizeof(t->plan))) &&
           trial_call(t, weft_spmm_dcsr(t->ctx, t->queue, alpha_of(c->of), &A.there, &c->B.there,
                                        c->of->beta, &c->C.there, &params));
}

static bool call_linear(self_trial *t, spmm_case *c)
{
    return trial_call(t, weft_sparse_linear(t->ctx, t->queue, &c->A.there, &c->B.there, &c->C.there,
                                            WEFT_SPARSE_LINEAR(.bias = &c->bias.there,
                                                               .activation = c->of->activation)));
}

static bool call_linear_dx(self_trial *t, spmm_case *c)
{
    return make_plan(t, c) &&
           trial_call(t, weft_sparse_linear_dx(t->ctx, t->queue, &c->A.there, &c->B.there,
                                               &c->C.there, WEFT_SPARSE_LINEAR(.plan = c->plan)));
}

// ---- sddmm

// D = alpha (A B) .* C + beta D at the entries of C, or dW of a layer.
typedef struct sddmm_check {
    weft_dtype dtype;
    double beta;
    bool is_dw, b_along_n; // B is row-major, and not B^T
    int64_t k[4];
} sddmm_check;

typedef struct sddmm_case {
    const sddmm_check *of;
    int64_t k;
    self_csr C;
    self_array A, B, D;
} sddmm_case;

static bool make_sddmm(self_trial *t, sddmm_case *c)
{
    const sddmm_check *of = c->of;
    generate_layer layer = {
        .m = 129, .k = 300, .nnz = 3000, .cov = 1.5, .has_full = true, .dtype = of->dtype};
    const int64_t a_shape[] = {layer.m, c->k};
    const int64_t b_shape[] = {of->b_along_n ? c->k : layer.k, of->b_along_n ? layer.k : c->k};
    if (!trial_csr(t, &c->C, &layer) || !trial_input(t, &c->A, of->dtype, 2, a_shape) ||
        !trial_input(t, &c->B, of->dtype, 2, b_shape) ||
        !(of->beta != 0 ? trial_input : trial_output)(t, &c->D, of->dtype, 1, &layer.nnz))
        return false;
    c->B = of->b_along_n ? c->B : trial_transposed(&c->B);
    return true;
}

static bool call_sddmm(self_trial *t, const sddmm_case *c)
{
    if (c->of->is_dw) { // X is B^T
        const weft_tensor X = weft_tensor_transposed(&c->B.there);
        return trial_call(t, weft_sparse_linear_dw(t->ctx, t->queue, &c->A.there, &X, &c->C.there,
                                                   &c->D.there, NULL));
    }
    return trial_plan(t, weft_sddmm_describe(t->ctx, &c->A.there, &c->B.there, &c->C.there,
                                             &c->D.there, NULL, t->plan, sizeof(t->plan))) &&
           trial_call(t, weft_sddmm(t->ctx, t->queue, 0.75, &c->A.there, &c->B.there, &c->C.there,
                                    c->of->beta, &c->D.there, NULL));
}

static bool compare_sddmm(self_trial *t, const sddmm_case *c)
{
    const reference_sddmm problem = {.C = &c->C.host,
                                     .indicator = c->of->is_dw,
                                     .k = c->k,
                                     .alpha = c->of->is_dw ? 1 : 0.75,
                                     .beta = c->of->beta,
                                     .A = trial_data(&c->A),
                                     .B = trial_data(&c->B),
                                     .b_row = c->B.host.stride[0],
                                     .b_column = c->B.host.stride[1],
                                     .D0 = trial_data(&c->D)};
    double *want, *bound;
    return reference_sddmm_run(&problem, &want, &bound, t->why) &&
           trial_compare_bounded(t, "D", &c->D, want, bound);
}

static bool check_sddmm(self_trial *t, const void *check)
{
    const sddmm_check *of = check;
    for (int i = 0; i < 4 && of->k[i] > 0; i++) {
        sddmm_case c = {.of = of, .k = of->k[i]};
        trial_case(t,
                   "%s: A [129 x %" PRId64 "] B [%" PRId64 " x 300], B along %s, 3000 entries, "
                   "%s, beta %g, seed %" PRIu64,
                   of->is_dw ? "sparse_linear_dw" : "sddmm", c.k, c.k, of->b_along_n ? "n" : "k",
                   weft_dtype_name(of->dtype), of->beta, t->seed);
        if (!make_sddmm(t, &c) || !call_sddmm(t, &c) || !compare_sddmm(t, &c))
            return false;
    }
    return true;
}

// ---- all of them

#define BY(name, how, ...)                                                                         \
    check_spmm, &(const spmm_check)                                                                \
    {                                                                                              \
        .op = name, .call = how, __VA_ARGS__                                                       \
    }
#define SPMM(...) BY("spmm", call_spmm, __VA_ARGS__)
#define DCSR(...) BY("spmm_dcsr", call_spmm_dcsr, __VA_ARGS__)
#define SDDMM(...)                                                                                 \
    check_sddmm, &(const sddmm_check)                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const self_check self_test_products[] = {
    {"spmm", "sums, no plan", WEFT_F32, SPMM(.dtype = WEFT_F32, .n = {7, 64, 129})},
    {"spmm", "sums, planned, bias and relu", WEFT_F32,
     SPMM(.dtype = WEFT_F32, .planned = true, .has_bias = true, .activation = WEFT_ACTIVATION_RELU,
          .n = {129})},
    {"spmm", "A transposed, alpha and beta", WEFT_F32,
     SPMM(.dtype = WEFT_F32, .planned = true, .transpose_a = true, .beta = 0.5, .n = {7, 64})},
    {"spmm", "f16", WEFT_F16, SPMM(.dtype = WEFT_F16, .n = {64})},
    {"spmm", "bf16", WEFT_BF16, SPMM(.dtype = WEFT_BF16, .n = {7})},
    {"spmm", "f64", WEFT_F64, SPMM(.dtype = WEFT_F64, .n = {7})},
    {"spmm", "largest, with places", WEFT_F32,
     SPMM(.dtype = WEFT_F32, .reduction = WEFT_SPMM_MAX, .has_places = true, .n = {64})},
    {"spmm", "smallest, planned", WEFT_F32,
     SPMM(.dtype = WEFT_F32, .reduction = WEFT_SPMM_MIN, .planned = true, .n = {7})},
    {"spmm", "mean", WEFT_F32, SPMM(.dtype = WEFT_F32, .reduction = WEFT_SPMM_MEAN, .n = {7})},
    {"spmm_dcsr", "sums, no plan", WEFT_F32, DCSR(.dtype = WEFT_F32, .n = {7})},
    {"spmm_dcsr", "sums, planned, beta", WEFT_F32,
     DCSR(.dtype = WEFT_F32, .planned = true, .beta = 0.5, .n = {7})},
    {"sparse_linear", "bias and relu", WEFT_F32,
     BY("sparse_linear", call_linear, .dtype = WEFT_F32, .has_bias = true,
        .activation = WEFT_ACTIVATION_RELU, .n = {129})},
    {"sparse_linear_dx", "", WEFT_F32,
     BY("sparse_linear_dx", call_linear_dx, .dtype = WEFT_F32, .planned = true, .transpose_a = true,
        .n = {64})},
    {"sparse_linear_dw", "", WEFT_F32, SDDMM(.dtype = WEFT_F32, .is_dw = true, .k = {64})},
    {"sddmm", "", WEFT_F32, SDDMM(.dtype = WEFT_F32, .k = {7, 64, 129})},
    {"sddmm", "B row-major, beta", WEFT_F32,
     SDDMM(.dtype = WEFT_F32, .b_along_n = true, .beta = 0.5, .k = {129})},
    {"sddmm", "f16", WEFT_F16, SDDMM(.dtype = WEFT_F16, .k = {64})},
    {"sddmm", "f64", WEFT_F64, SDDMM(.dtype = WEFT_F64, .k = {64})},
    {0},
};
