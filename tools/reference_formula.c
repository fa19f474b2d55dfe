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
    {"*", "multiply", 10},    {"/", "divide", 10},      {"%", "remainder", 10},
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

static bool is_named(const reference_function *function, const char *name)
{
    return strcmp(function->name, name) == 0;
}

// What f may be off by for its operands' errors, where corners do not tell.
static wide beside_corners(const reference_function *f, const formula_number *x)
{
    if (is_named(f, "equal") || is_named(f, "not_equal"))
        return fabsl(x[0].real - x[1].real) <= x[0].error + x[1].error ? 1 : 0;
    if (is_named(f, "remainder") || is_named(f, "fmod"))
        return 2 * x[0].error >= fabsl(x[1].real) || 2 * x[1].error >= fabsl(x[1].real) ? INFINITY
                                                                                        : 0;
    if (is_named(f, "sin") || is_named(f, "cos") || is_named(f, "tan"))
        return x[0].error >= 1 ? INFINITY : 0;
    return 0;
}

static bool has_pole(const reference_function *f)
{
    return is_named(f, "divide") || is_named(f, "reciprocal") || is_named(f, "tan") ||
           is_named(f, "log_backward");
}

// How far `corner` is from f's value there; infinite where it is of another kind.
static wide corner_error(const reference_function *f, wide value, wide corner)
{
    if (isnan(value) || isnan(corner))
        return isnan(value) && isnan(corner) ? 0 : INFINITY;
    if (has_pole(f) && value * corner < 0)
        return INFINITY;
    return value == corner ? 0 : fabsl(corner - value);
}

// Over all corners of what operands may be.
static wide spread(const reference_function *f, const formula_number *x, wide value)
{
    const unsigned n_corners = 1u << f->n_arguments;
    wide error = 0;
    unsigned inexact = 0; // bit i: operand i has an error
    for (int i = 0; i < f->n_arguments; i++) {
        if (isinf(x[i].error))
            return INFINITY;
        inexact |= (x[i].error > 0 ? 1u : 0u) << i;
    }
    if (inexact == 0)
        return 0;
    for (unsigned corner = 0; corner < n_corners; corner++) {
        wide at[4] = {0}, size = 0;
        for (int i = 0; i < f->n_arguments; i++)
            at[i] = x[i].real + (corner >> i & 1 ? x[i].error : -x[i].error);
        if ((corner & ~inexact) == 0) // or another one is the same
            error = fmaxl(error, corner_error(f, value, f->real(at, &size)));
    }
    return fmaxl(error, beside_corners(f, x));
}

// Of what is smaller than some numbers of which devices may have no smaller ones.
static wide flushed(const range *r, const reference_function *f, wide value)
{
    const wide near = f->ulps > 1 ? 1024 * r->tiny : 2 * r->tiny;
    return value != 0 && fabsl(value) < near ? near : 0;
}

static bool is_backward(const reference_function *f)
{
    const size_t length = strlen(f->name);
    return length > 9 && strcmp(f->name + length - 9, "_backward") == 0;
}

// What the derivative may add, which is multiplied by dy when it is already rounded.
static wide derivative_error(const range *r, const reference_function *f, const wide *at)
{
    wide unit[4] = {1, at[1], at[2], at[3]}, size = 0;
    const wide derivative = f->real(unit, &size);
    if (fabsl(derivative) >= r->largest)
        return INFINITY;
    return derivative == 0 ? 0 : fabsl(at[0]) * flushed(r, f, derivative);
}

static formula_number call_real(const range *r, const reference_function *f,
                                const formula_number *x)
{
    wide at[4] = {0}, size = 0;
    for (int i = 0; i < f->n_arguments; i++)
        at[i] = x[i].real;
    formula_number y = {.real = f->real(at, &size)};
    y.error = spread(f, x, y.real);
    if (!isfinite(y.real))
        return y;
    size = fmaxl(size, fabsl(y.real));
    if (f->ulps > 0) // and what C's own number is off by
        y.error += ((wide)f->ulps + 0x1p-10L) * ulp(r, size) + flushed(r, f, y.real);
    if (f->ulps > 0 && is_backward(f))
        y.error += derivative_error(r, f, at);
    // What rounds to an infinity is one, and what may is anything.
    const wide end = r->largest + ulp(r, r->largest) / 2;
    if (fabsl(y.real) - y.error >= end)
        return (formula_number){.real = copysignl(INFINITY, y.real)};
    if (size + y.error >= end)
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
    for (int i = 0; i < formula->n_steps; i++) {
        const formula_step *const step = &formula->steps[i];
        switch (step->kind) {
        case FORMULA_NAMED:
            stack[n++] = named[step->named];
            break;
        case FORMULA_NUMBER:
            stack[n++] = is_real
                             ? real_number(step, arithmetic)
                             : (formula_number){.whole = wrapped(arithmetic, (int64_t)step->whole)};
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
