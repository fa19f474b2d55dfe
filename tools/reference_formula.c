// SPDX-License-Identifier: Apache-2.0
// Formulas read and reckoned on the host.
#include "reference_formula.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scalar.h"

// ---- reading: precedence climbing, operands before their operator

typedef struct reader {
    reference_formula *out;
    const char *text, *next; // the whole, and what was not read yet
    int n_names;
    const char *const *names;
    complaint *why;
} reader;

// Operators of two operands; higher ones bind first. Longer ones stand before their beginnings.
static const struct {
    const char *sign, *function;
    int precedence;
} operators[] = {
    {"||", "logical_or", 1},  {"&&", "logical_and", 2}, {"<<", "left_shift", 8},
    {">>", "right_shift", 8}, {"<=", "less_equal", 7},  {">=", "greater_equal", 7},
    {"==", "equal", 6},       {"!=", "not_equal", 6},   {"<", "less", 7},
    {">", "greater", 7},      {"|", "bitwise_or", 3},   {"^", "bitwise_xor", 4},
    {"&", "bitwise_and", 5},  {"+", "add", 9},          {"-", "subtract", 9},
    {"*", "multiply", 10},    {"/", "quotient", 10},    {"%", "fmod", 10},
};

static const struct {
    const char *name;
    double value;
} constants[] = {
    {"M_E", 2.71828182845904523536},
    {"M_LOG2E", 1.44269504088896340736},
    {"M_LOG10E", 0.43429448190325182765},
    {"M_LN2", 0.69314718055994530942},
    {"M_LN10", 2.30258509299404568402},
    {"M_PI", 3.14159265358979323846},
    {"M_PI_2", 1.57079632679489661923},
    {"M_PI_4", 0.78539816339744830962},
    {"M_1_PI", 0.31830988618379067154},
    {"M_2_PI", 0.63661977236758134308},
    {"M_2_SQRTPI", 1.12837916709551257390},
    {"M_SQRT2", 1.41421356237309504880},
    {"M_SQRT1_2", 0.70710678118654752440},
    {"INFINITY", INFINITY},
    {"NAN", NAN},
};

#define COUNT_OF(table) (sizeof(table) / sizeof((table)[0]))

static bool read_conditional(reader *r);

static bool refuse(const reader *r, const char *wanted)
{
    return complain(r->why, "the reference wants %s at column %d of '%s'", wanted,
                    (int)(r->next - r->text) + 1, r->text);
}

static void skip_blanks(reader *r)
{
    r->next += strspn(r->next, " \t\n");
}

static bool take(reader *r, const char *sign)
{
    skip_blanks(r);
    if (strncmp(r->next, sign, strlen(sign)) != 0)
        return false;
    r->next += strlen(sign);
    return true;
}

static bool expect(reader *r, const char *sign)
{
    char wanted[8];
    snprintf(wanted, sizeof(wanted), "'%s'", sign);
    return take(r, sign) || refuse(r, wanted);
}

static size_t word_length(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

static bool add_step(reader *r, formula_step step)
{
    if (r->out->n_steps == FORMULA_STEPS)
        return refuse(r, "no more steps");
    r->out->steps[r->out->n_steps++] = step;
    r->out->is_real |= step.is_real;
    return true;
}

static bool add_call(reader *r, const reference_function *function)
{
    const formula_step call = {.kind = FORMULA_CALL, .function = function};
    r->out->is_real |= !function->whole;
    return add_step(r, call);
}

static bool add_call_of(reader *r, const char *name)
{
    return add_call(r, reference_function_find(name, strlen(name)));
}

// Past digits, a point and an exponent; suffixes mean nothing.
static bool read_number(reader *r)
{
    const char *const text = r->next;
    const bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end;
    formula_step number = {.kind = FORMULA_NUMBER, .real = strtod(text, &end)};
    for (const char *c = text; c < end; c++)
        number.is_real |= *c == '.' || strchr(is_hex ? "pP" : "eE", *c) != NULL;
    number.single = strtof(text, NULL);
    number.whole = number.is_real ? 0 : strtoull(text, NULL, 0);
    r->out->is_long |= number.whole > INT32_MAX;
    r->next = end + strspn(end, "fFlLuU");
    return add_step(r, number);
}

static bool read_constant(reader *r, const char *name, size_t length)
{
    const bool is_single =
        length > 4 && memcmp(name, "M_", 2) == 0 && memcmp(name + length - 2, "_F", 2) == 0;
    const size_t kept = is_single ? length - 2 : length;
    for (size_t i = 0; i < COUNT_OF(constants); i++)
        if (strlen(constants[i].name) == kept && memcmp(constants[i].name, name, kept) == 0)
            return add_step(r, (formula_step){.kind = FORMULA_NUMBER,
                                              .real = constants[i].value,
                                              .single = (float)constants[i].value,
                                              .is_real = true});
    return refuse(r, "a name");
}

static bool read_arguments(reader *r, const reference_function *function)
{
    for (int i = 0; i < function->n_arguments; i++)
        if (!read_conditional(r) || !expect(r, i + 1 < function->n_arguments ? "," : ")"))
            return false;
    return add_call(r, function);
}

static bool read_name(reader *r)
{
    const char *const name = r->next;
    const size_t length = word_length(name);
    const reference_function *const function = reference_function_find(name, length);
    r->next += length;
    if (function != NULL)
        return expect(r, "(") && read_arguments(r, function);
    for (int i = 0; i < r->n_names; i++)
        if (strlen(r->names[i]) == length && memcmp(r->names[i], name, length) == 0)
            return add_step(r, (formula_step){.kind = FORMULA_NAMED, .named = i});
    return read_constant(r, name, length);
}

static bool read_operand(reader *r)
{
    skip_blanks(r);
    if (take(r, "("))
        return read_conditional(r) && expect(r, ")");
    if (strchr(".0123456789", *r->next) != NULL && *r->next != '\0')
        return read_number(r);
    return word_length(r->next) > 0 ? read_name(r) : refuse(r, "an operand");
}

static bool read_signed(reader *r);

// The most negative number is one that i32 holds.
static bool read_negated(reader *r)
{
    const bool was_long = r->out->is_long;
    const int first = r->out->n_steps;
    if (!read_signed(r))
        return false;
    const formula_step *const last = &r->out->steps[first];
    if (r->out->n_steps == first + 1 && last->whole == (uint64_t)INT32_MAX + 1)
        r->out->is_long = was_long;
    return add_call_of(r, "negate");
}

static bool read_signed(reader *r)
{
    if (take(r, "+"))
        return read_signed(r);
    if (take(r, "-"))
        return read_negated(r);
    if (take(r, "!"))
        return read_signed(r) && add_call_of(r, "logical_not");
    if (take(r, "~"))
        return read_signed(r) && add_call_of(r, "bitwise_not");
    return read_operand(r);
}

// The operator that comes next, if it binds at least so tightly; or -1.
static int next_operator(reader *r, int least)
{
    skip_blanks(r);
    for (size_t i = 0; i < COUNT_OF(operators); i++)
        if (strncmp(r->next, operators[i].sign, strlen(operators[i].sign)) == 0)
            return operators[i].precedence >= least ? (int)i : -1;
    return -1;
}

static bool read_binary(reader *r, int least)
{
    if (!read_signed(r))
        return false;
    for (int i; (i = next_operator(r, least)) >= 0;) {
        r->next += strlen(operators[i].sign);
        if (!read_binary(r, operators[i].precedence + 1) || !add_call_of(r, operators[i].function))
            return false;
    }
    return true;
}

static bool read_conditional(reader *r)
{
    if (!read_binary(r, 0))
        return false;
    if (!take(r, "?"))
        return true;
    return read_conditional(r) && expect(r, ":") && read_conditional(r) && add_call_of(r, "where");
}

// The function alone, of all inputs.
static bool read_bare(reader *r, const reference_function *function, int n_inputs)
{
    if (function->n_arguments != n_inputs)
        return refuse(r, "as many inputs as the function takes");
    for (int i = 0; i < n_inputs; i++)
        if (!add_step(r, (formula_step){.kind = FORMULA_NAMED, .named = i}))
            return false;
    return add_call(r, function);
}

bool reference_formula_read(reference_formula *out, const char *text, int n_inputs, int n_names,
                            const char *const *names, complaint *why)
{
    reader r = {out, text, text, n_names, names, why};
    out->n_steps = 0;
    out->is_real = out->is_long = false;
    skip_blanks(&r);
    const size_t length = word_length(r.next);
    const reference_function *const function = reference_function_find(r.next, length);
    if (function != NULL && r.next[length + strspn(r.next + length, " \t\n")] == '\0')
        return read_bare(&r, function, n_inputs);
    if (!read_conditional(&r))
        return false;
    skip_blanks(&r);
    return *r.next == '\0' || refuse(&r, "an operator");
}

weft_dtype reference_formula_arithmetic(const reference_formula *formula, int n_inputs,
                                        const weft_dtype *dtypes)
{
    bool is_real = formula->is_real, is_long = formula->is_long;
    for (int i = 0; i < n_inputs; i++) {
        const weft_dtype dtype = dtypes[i] == WEFT_DEFAULT ? WEFT_F32 : dtypes[i];
        if (dtype == WEFT_F64)
            return WEFT_F64;
        is_real |= scalar_is_float(dtype);
        is_long |= dtype == WEFT_I64;
    }
    return is_real ? WEFT_F32 : is_long ? WEFT_I64 : WEFT_I32;
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

// Where a function is looked at for an operand: its ends, and 0, where truths, poles, cuts and
// peaks are.
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

// How far what it is there is from the value; infinite where it is of another kind.
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

// Of a % b, where the whole number of times that b goes into a may be another one.
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

// Of clamp_backward(dy, x, low, high).
static wide spread_of_window(const reference_function *f, const formula_number *x, wide value)
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

// How far f may be from its value for what its operands are off by.
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
    case REFERENCE_WINDOW:
        return spread_of_window(f, x, value);
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

// One of two numbers, whichever the truth takes.
static formula_number pick(formula_number truth, formula_number one, formula_number other)
{
    formula_number y = truth.real != 0 ? one : other;
    if (holds_zero(truth) || isinf(truth.error))
        y.error = distance(one.real, other.real) + fmaxl(one.error, other.error);
    return y;
}

// ---- what a function adds itself

// Of what is smaller than some numbers of which devices may have no smaller ones.
static wide flushed(const range *r, const reference_function *f, wide value)
{
    const wide near = f->ulps > 1 ? 1024 * r->tiny : 2 * r->tiny;
    return value != 0 && fabsl(value) < near ? near : 0;
}

// What steps on the way to the result may spoil: a derivative that is multiplied by dy when it is
// already rounded, a difference that overflows.
static wide step_error(const range *r, const reference_function *f, const wide *at)
{
    wide size;
    if (f->trait == REFERENCE_MIX)
        return fabsl(at[1] - at[0]) >= r->largest && isfinite(at[1] - at[0]) ? INFINITY : 0;
    if (f->trait != REFERENCE_BACKWARD && f->trait != REFERENCE_BACKWARD_WAVES)
        return 0;
    const wide unit[4] = {1, at[1]};
    const wide derivative = f->real(unit, &size), lost = flushed(r, f, derivative);
    if (isfinite(derivative) && fabsl(derivative) >= r->largest)
        return INFINITY;
    return lost > 0 ? fabsl(at[0]) * lost : 0;
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
    if (f->ulps > 0) // and what C's own number is off by
        y.error += ((wide)f->ulps + 0x1p-10L) * ulp(r, size) + flushed(r, f, y.real);
    // What rounds to an infinity is one, and what may is anything.
    const wide end = r->largest + ulp(r, r->largest) / 2, off = is_rounded_once ? before : y.error;
    if (fabsl(y.real) - off >= end)
        return (formula_number){.real = copysignl(INFINITY, y.real)};
    if (size + off >= end)
        y.error = INFINITY;
    return y;
}

static formula_number real_number(const formula_step *step, weft_dtype dtype)
{
    if (step->is_real)
        return (formula_number){.real = dtype == WEFT_F32 ? (wide)step->single : (wide)step->real};
    return (formula_number){.real = dtype == WEFT_F32 ? (wide)(float)step->whole
                                                      : (wide)(double)step->whole};
}

// ---- whole numbers

static int64_t wrapped(weft_dtype dtype, int64_t x)
{
    return dtype == WEFT_I32 ? (int32_t)x : x;
}

static formula_number whole_number(const formula_step *step, weft_dtype dtype)
{
    return (formula_number){.whole = wrapped(dtype, (int64_t)step->whole)};
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

formula_number reference_formula_at(const reference_formula *formula, weft_dtype arithmetic,
                                    const formula_number *named)
{
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
            stack[n++] = is_real ? real_number(step, arithmetic) : whole_number(step, arithmetic);
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
