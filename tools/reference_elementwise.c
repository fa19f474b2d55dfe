// SPDX-License-Identifier: Apache-2.0
// Elementwise operations on the host: inputs to arithmetic, the formula, arithmetic to the output.
#include "reference_elementwise.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include <weft/elementwise.h>

#include "reference_formula.h"
#include "reference_line.h"
#include "scalar.h"

enum { MOST_NAMES = 1 + WEFT_ELEMENTWISE_INPUTS + WEFT_ELEMENTWISE_VALUES };

typedef struct job {
    const reference_elementwise *problem;
    reference_formula formula;
    weft_dtype arithmetic; // the formula's
    precision stored;      // of the result
    int n_before;          // the inputs: 1 or 0
    formula_number named[MOST_NAMES];
    host_tensor inputs[WEFT_ELEMENTWISE_INPUTS]; // of the result's dimensions
} job;

static wide rounded(weft_dtype arithmetic, double x)
{
    return arithmetic == WEFT_F32 ? (wide)(float)x : (wide)x;
}

// Integer arithmetic has integer operands only.
static formula_number load(weft_dtype arithmetic, const host_tensor *X, int64_t place)
{
    if (X->dtype == WEFT_DEFAULT || scalar_is_float(X->dtype))
        return (formula_number){.real = rounded(arithmetic, scalar_get(X->dtype, X->data, place))};
    const int64_t x = scalar_whole(X->dtype, X->data, place);
    if (scalar_is_float(arithmetic)) // rounded once
        return (formula_number){.real = arithmetic == WEFT_F32 ? (wide)(float)x : (wide)(double)x};
    return (formula_number){.whole = arithmetic == WEFT_I32 ? (int32_t)x : x};
}

// ---- the result

static void put_real(const job *j, reference_values *out, int64_t i, formula_number y)
{
    if (out->whole == NULL) {
        // In f64 the value itself is rounded once to be compared.
        const wide rounding =
            y.error > 0 && out->dtype == WEFT_F64 ? DBL_EPSILON * fabsl(y.real) : 0;
        const wide want = y.error > 0 ? y.real : (wide)scalar_stored(out->dtype, (double)y.real);
        values_put(out, &j->stored, i, want, y.error + rounding);
        return;
    }
    const int64_t want = scalar_saturated(out->dtype, y.real);
    out->whole[i] = want;
    if (y.error > 0)
        out->bound[i] = fmax((double)scalar_saturated(out->dtype, y.real + y.error) - (double)want,
                             (double)want - (double)scalar_saturated(out->dtype, y.real - y.error));
    if (isinf(y.error))
        out->bound[i] = INFINITY;
}

static void put_whole(reference_values *out, int64_t i, int64_t y)
{
    if (out->whole == NULL)
        out->want[i] = out->dtype == WEFT_F32   ? (double)(float)y
                       : out->dtype == WEFT_F64 ? (double)y
                                                : scalar_stored(out->dtype, scalar_shortened(y));
    else
        out->whole[i] = out->dtype == WEFT_U8    ? (uint8_t)y
                        : out->dtype == WEFT_I32 ? (int32_t)y
                                                 : y;
}

// ---- all elements

// Missing leading dimensions, and extents of 1, count as often as needed.
static host_tensor broadcast(const host_tensor *X, int ndim)
{
    host_tensor view = *X;
    view.ndim = ndim;
    for (int d = 0; d < ndim; d++) {
        const int own = d - (ndim - X->ndim);
        view.stride[d] = own < 0 || X->shape[own] == 1 ? 0 : X->stride[own];
    }
    return view;
}

static bool next_index(const reference_elementwise *problem, int64_t *index)
{
    for (int d = problem->ndim - 1; d >= 0; d--) {
        if (++index[d] < problem->shape[d])
            return true;
        index[d] = 0;
    }
    return false;
}

static int64_t place_of(const host_tensor *view, const int64_t *index)
{
    int64_t place = view->offset;
    for (int d = 0; d < view->ndim; d++)
        place += index[d] * view->stride[d];
    return place;
}

static formula_number number_of(const reference_values *values, int64_t i)
{
    if (values->whole)
        return (formula_number){.whole = values->whole[i]};
    return (formula_number){.real = (wide)values->want[i], .error = (wide)values->bound[i]};
}

static void run(job *j, reference_values *out)
{
    const reference_elementwise *problem = j->problem;
    int64_t index[WEFT_MAX_NDIM] = {0};
    for (int64_t i = 0; i < out->count; i++, next_index(problem, index)) {
        if (problem->first)
            j->named[0] = number_of(problem->first, i);
        for (int k = 0; k < problem->n_inputs; k++)
            j->named[j->n_before + k] =
                load(j->arithmetic, &j->inputs[k], place_of(&j->inputs[k], index));
        const formula_number y = reference_formula_at(&j->formula, j->named);
        if (scalar_is_float(j->arithmetic))
            put_real(j, out, i, y);
        else
            put_whole(out, i, y.whole);
    }
}

static bool read_formula(job *j, complaint *why)
{
    const reference_elementwise *problem = j->problem;
    weft_dtype dtypes[MOST_NAMES] = {problem->arithmetic}; // of the operand before the inputs
    for (int k = 0; k < problem->n_inputs; k++)
        dtypes[j->n_before + k] = problem->inputs[k].dtype;
    const formula_text text = {.text = problem->formula,
                               .n_inputs = j->n_before + problem->n_inputs,
                               .n_values = problem->n_values,
                               .dtypes = dtypes,
                               .names = problem->names,
                               .arithmetic = problem->arithmetic};
    return reference_formula_read(&j->formula, &text, why);
}

static void set_up(job *j)
{
    const reference_elementwise *problem = j->problem;
    j->arithmetic = j->formula.arithmetic;
    j->stored = precision_of(problem->y_dtype);
    if (j->arithmetic == WEFT_F64 &&
        (problem->y_dtype == WEFT_F32 || problem->y_dtype == WEFT_DEFAULT))
        j->stored = (precision){.half_ulp = 0x1p-24, .smallest = 0x1p-149};
    for (int k = 0; k < problem->n_inputs; k++)
        j->inputs[k] = broadcast(&problem->inputs[k], problem->ndim);
    formula_number *const values = j->named + j->n_before + problem->n_inputs;
    for (int i = 0; i < problem->n_values; i++)
        if (scalar_is_float(j->arithmetic))
            values[i].real = rounded(j->arithmetic, problem->values[i]);
        else
            values[i].whole = (int64_t)problem->values[i];
}

bool reference_elementwise_run(reference_values *out, const reference_elementwise *problem,
                               complaint *why)
{
    const host_tensor shape = host_tensor_dense(WEFT_F32, NULL, problem->ndim, problem->shape);
    job *j = calloc(1, sizeof(*j));
    if (j == NULL)
        return complain(why, "no memory for the reference of '%s'", problem->formula);
    j->problem = problem;
    j->n_before = problem->first ? 1 : 0;
    const bool done =
        read_formula(j, why) && values_create(out, problem->y_dtype, line_count(&shape, ~0u), why);
    if (done) {
        set_up(j);
        run(j, out);
    }
    free(j);
    return done;
}
