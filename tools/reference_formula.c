// SPDX-License-Identifier: Apache-2.0
// Formulas in the library's code, computed on the host.
#include "reference_formula.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <weft/elementwise.h>
#include <weft/rehearsal.h>

#include "scalar.h"

// ---- parsing the calls in the define of a rehearsed launch

typedef struct reader {
    reference_formula *out;
    const char *next; // the rest, not parsed yet
    int n_inputs;
    complaint *why;
} reader;

static bool read_code(reader *r);

static bool refuse(const reader *r)
{
    return complain(r->why, "the reference does not know '%.60s'", r->next);
}

static bool take(reader *r, const char *text)
{
    if (strncmp(r->next, text, strlen(text)) != 0)
        return false;
    r->next += strlen(text);
    return true;
}

static bool add_step(reader *r, formula_step step)
{
    if (r->out->n_steps == FORMULA_STEPS)
        return complain(r->why, "the reference takes %d steps", (int)FORMULA_STEPS);
    r->out->steps[r->out->n_steps++] = step;
    return true;
}

// "0x3p-1f", "NAN", "7", "-2147483647-1" or "7L": the least integer has no literal.
static bool read_literal(reader *r)
{
    const bool is_real = scalar_is_float(r->out->arithmetic);
    formula_step step = {.kind = FORMULA_NUMBER};
    char *end;
    if (is_real)
        step.number.real = (wide)strtod(r->next, &end);
    else
        step.number.whole = strtoll(r->next, &end, 10);
    r->next = end + strspn(end, "fL");
    if (take(r, "-1")) {
        step.number.whole--;
        take(r, "L");
    }
    return add_step(r, step) && (take(r, ")") || refuse(r));
}

static bool read_call(reader *r)
{
    const size_t length = strcspn(r->next, "(");
    const reference_function *function = reference_function_find(r->next, length);
    if (function == NULL)
        return refuse(r);
    r->next += length;
    for (int i = 0; i < function->n_arguments; i++)
        if (!take(r, i == 0 ? "(" : ",") || !read_code(r))
            return refuse(r);
    return (take(r, ")") || refuse(r)) &&
           add_step(r, (formula_step){.kind = FORMULA_CALL, .function = function});
}

// Truth values and numbers are converted to each other.
static bool read_code(reader *r)
{
    const bool is_input = take(r, "x");
    if (is_input || take(r, "v")) {
        const int place = (int)strtol(r->next, (char **)&r->next, 10);
        return add_step(r, (formula_step){.named = place + (is_input ? 0 : r->n_inputs)});
    }
    if (take(r, "LITERAL("))
        return read_literal(r);
    if (take(r, "TRUTH(") || take(r, "NUMBER("))
        return read_code(r) && (take(r, ")") || refuse(r));
    return read_call(r);
}

static weft_dtype arithmetic_among(const char *options)
{
    const char *const word = strstr(options, "-D ARITHMETIC=DTYPE_");
    const char *const name = word ? word + strlen("-D ARITHMETIC=DTYPE_") : "";
    return strncmp(name, "F64", 3) == 0   ? WEFT_F64
           : strncmp(name, "I32", 3) == 0 ? WEFT_I32
           : strncmp(name, "I64", 3) == 0 ? WEFT_I64
                                          : WEFT_F32;
}

static bool read_options(reference_formula *out, const char *options, int n_inputs, complaint *why)
{
    const char *const code = strstr(options, "-D F0=");
    *out = (reference_formula){.arithmetic = arithmetic_among(options)};
    reader r = {out, code ? code + strlen("-D F0=") : "", n_inputs, why};
    return read_code(&r) && (strchr(" ", *r.next) != NULL || refuse(&r));
}

// Of single elements.
static weft_status rehearse(weft_context *ctx, const formula_text *of)
{
    weft_tensor tensors[WEFT_ELEMENTWISE_INPUTS], y = {.buffer = weft_rehearsal_buffer(ctx, NULL)};
    weft_elementwise_input inputs[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
    const weft_elementwise_output output = {of->text, &y};
    for (int i = 0; i < of->n_inputs; i++) {
        tensors[i] =
            (weft_tensor){.buffer = weft_rehearsal_buffer(ctx, NULL), .dtype = of->dtypes[i]};
        inputs[i] = (weft_elementwise_input){of->names[i], &tensors[i]};
    }
    for (int i = 0; i < of->n_values; i++)
        values[i] = (weft_elementwise_value){of->names[of->n_inputs + i], 0};
    return weft_elementwise(
        ctx, NULL, of->n_inputs, inputs, 1, &output,
        WEFT_ELEMENTWISE(.n_values = of->n_values, .values = values, .arithmetic = of->arithmetic));
}

bool reference_formula_read(reference_formula *out, const formula_text *of, complaint *why)
{
    weft_context *ctx = NULL;
    const weft_rehearsal *record = NULL;
    weft_status status = weft_rehearsal_create(&ctx, weft_profile_find("h100"), NULL);
    if (status == WEFT_OK)
        status = weft_rehearsal_begin(ctx);
    if (status == WEFT_OK)
        status = rehearse(ctx, of);
    if (status == WEFT_OK)
        record = weft_rehearsal_end(ctx);
    const bool done = record != NULL
                          ? read_options(out, record->launches[0].options, of->n_inputs, why)
                          : complain_weft(why);
    weft_context_destroy(&ctx);
    return done;
}

// ---- real numbers

typedef struct range {
    wide tiny, largest; // smallest normal, largest finite number
    int digits, least_exponent;
} range;

static range range_of(weft_dtype dtype)
{
    if (dtype == WEFT_F64)
        return (range){DBL_MIN, DBL_MAX, DBL_MANT_DIG, DBL_MIN_EXP - 1};
    return (range){FLT_MIN, FLT_MAX, FLT_MANT_DIG, FLT_MIN_EXP - 1};
}

static wide ulp(const range *r, wide x)
{
    const int exponent = x == 0 ? r->least_exponent : ilogbl(x);
    return ldexpl(1, (exponent > r->least_exponent ? exponent : r->least_exponent) - r->digits + 1);
}

// ---- what errors of operands make of a function

// Points of an operand at which a function is evaluated: the ends of its interval, and 0, where
// steps, poles, cuts and extrema are.
typedef struct candidates {
    wide at[4];
    int n;
} candidates;

static bool holds_zero(formula_number x)
{
    return x.error > 0 && fabsl(x.real) <= x.error;
}

static candidates candidates_of(formula_number x)
{
    if (x.error == 0)
        return (candidates){{x.real}, 1};
    const candidates ends = {{x.real - x.error, x.real + x.error, 0, -0.0L}, 4};
    return holds_zero(x) ? ends : (candidates){{ends.at[0], ends.at[1]}, 2};
}

// Difference of the function there from the value; infinite if it is of another kind.
static wide distance(wide value, wide there)
{
    if (isnan(value) || isnan(there))
        return isnan(value) && isnan(there) ? 0 : INFINITY;
    return value == there ? 0 : fabsl(there - value);
}

static wide spread_of_candidates(const reference_function *f, const formula_number *x, wide value)
{
    candidates c[4];
    wide at[4] = {0}, error = 0, size;
    int n = 1;
    for (int i = 0; i < f->n_arguments; i++) {
        c[i] = candidates_of(x[i]);
        n *= c[i].n;
    }
    for (int k = 0; k < n; k++) {
        for (int i = 0, rest = k; i < f->n_arguments; rest /= c[i].n, i++)
            at[i] = c[i].at[rest % c[i].n];
        error = fmaxl(error, distance(value, f->real(at, &size)));
    }
    return error;
}

// For a % b, where the integer quotient of a and b may be another one.
static wide spread_of_remainder(const reference_function *f, const formula_number *x, wide value)
{
    const wide low = fabsl(x[1].real) - x[1].error, high = fabsl(x[1].real) + x[1].error;
    const wide least = truncl((fabsl(x[0].real) - x[0].error) / high);
    const wide most = truncl((fabsl(x[0].real) + x[0].error) / low);
    if (low <= 0)
        return INFINITY;
    if (least == most && !holds_zero(x[0]))
        return spread_of_candidates(f, x, value);
    return holds_zero(x[0]) ? 2 * high : high;
}

// For clamp_backward(dy, x, low, high).
static wide spread_of_range(const reference_function *f, const formula_number *x, wide value)
{
    const bool is_low_sure = fabsl(x[1].real - x[2].real) > x[1].error + x[2].error;
    const bool is_high_sure = fabsl(x[3].real - x[1].real) > x[1].error + x[3].error;
    return is_low_sure && is_high_sure ? spread_of_candidates(f, x, value)
                                       : fabsl(x[0].real) + x[0].error;
}

static wide spread_of_tangent(const reference_function *f, const formula_number *x, wide value)
{
    const bool has_pole = cosl(x[0].real - x[0].error) * cosl(x[0].real + x[0].error) <= 0;
    return has_pole || x[0].error >= 1 ? INFINITY : spread_of_candidates(f, x, value);
}

// Error of f due to the errors of its operands.
static wide spread(const reference_function *f, const formula_number *x, wide value)
{
    wide largest = 0;
    for (int i = 0; i < f->n_arguments; i++)
        largest = fmaxl(largest, x[i].error);
    if (largest == 0)
        return 0;
    if (isinf(largest))
        return f->trait == REFERENCE_TRUTH || f->trait == REFERENCE_EQUALITY ? 1 : INFINITY;
    switch (f->trait) {
    case REFERENCE_EQUALITY:
        return fabsl(x[0].real - x[1].real) <= x[0].error + x[1].error ? 1 : 0;
    case REFERENCE_REMAINDER:
        return spread_of_remainder(f, x, value);
    case REFERENCE_RANGE:
        return spread_of_range(f, x, value);
    case REFERENCE_TANGENT:
        return spread_of_tangent(f, x, value);
    case REFERENCE_WAVES:
        return x[0].error >= 1 ? INFINITY : spread_of_candidates(f, x, value);
    case REFERENCE_BACKWARD_WAVES:
        return x[1].error >= 1 ? INFINITY : spread_of_candidates(f, x, value);
    default:
        return spread_of_candidates(f, x, value);
    }
}

// One of two numbers, chosen by the truth value.
static formula_number pick(formula_number truth, formula_number one, formula_number other)
{
    formula_number y = truth.real != 0 ? one : other;
    if (holds_zero(truth) || isinf(truth.error))
        y.error = distance(one.real, other.real) + fmaxl(one.error, other.error);
    return y;
}

// ---- what a function adds itself

// For results that some devices flush to 0.
static wide flushed(const range *r, const reference_function *f, wide value)
{
    const wide near = f->ulps > 1 ? 1024 * r->tiny : 2 * r->tiny;
    return value != 0 && fabsl(value) < near ? near : 0;
}

// For intermediate errors: a derivative that is multiplied by dy after rounding, a difference that
// overflows.
static wide step_error(const range *r, const reference_function *f, const wide *at)
{
    wide size;
    if (f->trait == REFERENCE_MIX)
        return fabsl(at[1] - at[0]) >= r->largest && isfinite(at[1] - at[0]) ? INFINITY : 0;
    if (f->trait != REFERENCE_BACKWARD && f->trait != REFERENCE_BACKWARD_WAVES)
        return 0;
    const wide unit[4] = {1, at[1]};
    const wide derivative = f->real(unit, &size), loss = flushed(r, f, derivative);
    if (isfinite(derivative) && fabsl(derivative) >= r->largest)
        return INFINITY;
    return loss > 0 ? fabsl(at[0]) * loss : 0;
}

static formula_number call_real(const range *r, const reference_function *f,
                                const formula_number *x)
{
    if (f->trait == REFERENCE_WHERE)
        return pick(x[0], x[1], x[2]);
    if (f->trait == REFERENCE_SELECT)
        return pick(x[2], x[1], x[0]);
    wide at[4] = {0}, size = 0;
    for (int i = 0; i < f->n_arguments; i++)
        at[i] = x[i].real;
    formula_number y = {.real = f->real(at, &size)};
    const wide before = spread(f, x, y.real);
    const bool is_rounded_once = f->ulps <= 0.5;
    y.error = before + step_error(r, f, at);
    if (!isfinite(y.real) || (is_rounded_once && y.real == 0 && y.error == 0 && size == 0))
        return y;
    size = fmaxl(size, fabsl(y.real));
    if (f->ulps > 0) // and the error of C's own function
        y.error += ((wide)f->ulps + 0x1p-10L) * ulp(r, size) + flushed(r, f, y.real);
    // A value that rounds to an infinity is one; for one that may, any result is right.
    const wide end = r->largest + ulp(r, r->largest) / 2, off = is_rounded_once ? before : y.error;
    if (fabsl(y.real) - off >= end)
        return (formula_number){.real = copysignl(INFINITY, y.real)};
    if (size + off >= end)
        y.error = INFINITY;
    return y;
}

// ---- whole numbers

static int64_t wrapped(weft_dtype dtype, int64_t x)
{
    return dtype == WEFT_I32 ? (int32_t)x : x;
}

static formula_number call_whole(weft_dtype dtype, const reference_function *f,
                                 const formula_number *x)
{
    int64_t at[4] = {0};
    for (int i = 0; i < f->n_arguments; i++)
        at[i] = x[i].whole;
    return (formula_number){.whole = wrapped(dtype, f->whole(at, dtype == WEFT_I32 ? 32 : 64))};
}

// ---- both

formula_number reference_formula_at(const reference_formula *formula, const formula_number *named)
{
    const weft_dtype arithmetic = formula->arithmetic;
    const bool is_real = scalar_is_float(arithmetic);
    const range r = range_of(arithmetic);
    formula_number stack[FORMULA_STEPS + 1];
    int n = 0;
    stack[0] = (formula_number){0};
    for (int i = 0; i < formula->n_steps; i++) {
        const formula_step *const step = &formula->steps[i];
        switch (step->kind) {
        case FORMULA_NAMED:
            stack[n++] = named[step->named];
            break;
        case FORMULA_NUMBER:
            stack[n++] = step->number;
            break;
        case FORMULA_CALL:
            n -= step->function->n_arguments;
            stack[n] = is_real ? call_real(&r, step->function, stack + n)
                               : call_whole(arithmetic, step->function, stack + n);
            n++;
            break;
        }
    }
    return stack[0];
}
