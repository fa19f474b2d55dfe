// SPDX-License-Identifier: Apache-2.0
// Parses expressions: precedence climbing, from tokens to calls.
#include "formula/expression.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "formula/expression_token.h"

enum { MOST_NAMES_SHOWN = 8 };

typedef struct parser {
    weft_scan scan;
    const weft_names *names;
    weft_expression *out;
    int nesting;                      // of parentheses, signs and so on around the token
    int depth[WEFT_EXPRESSION_NODES]; // of each node
    int real_at, integral_at;         // position of the first of its kind, or -1
    int real_length, integral_length;
} parser;

// Operators between two operands, with C's precedence: higher ones bind first.
static const struct {
    const char *sign, *function;
    int precedence;
} operators[] = {
    {"||", "logical_or", 1},    {"&&", "logical_and", 2},
    {"|", "bitwise_or", 3},     {"^", "bitwise_xor", 4},
    {"&", "bitwise_and", 5},    {"==", "equal", 6},
    {"!=", "not_equal", 6},     {"<", "less", 7},
    {"<=", "less_equal", 7},    {">", "greater", 7},
    {">=", "greater_equal", 7}, {"<<", "left_shift", 8},
    {">>", "right_shift", 8},   {"+", "add", 9},
    {"-", "subtract", 9},       {"*", "multiply", 10},
    {"/", "quotient", 10},      {"%", "fmod", 10},
};

static const struct {
    const char *sign, *function; // NULL: the operand as it is
} prefixes[] = {{"-", "negate"}, {"!", "logical_not"}, {"~", "bitwise_not"}, {"+", NULL}};

enum {
    N_OPERATORS = sizeof(operators) / sizeof(operators[0]),
    N_PREFIXES = sizeof(prefixes) / sizeof(prefixes[0]),
};

static weft_status read_conditional(parser *p, int *node);

static const weft_function *function_of(const char *name)
{
    return weft_function_find(name, strlen(name));
}

static weft_status refuse_depth(const parser *p, int at)
{
    return weft_scan_refuse(&p->scan, at, "this is more than %d deep, counting each operator",
                            (int)WEFT_EXPRESSION_DEPTH);
}

// Around every recursion. The whole expression counts as nesting 0.
static weft_status enter(parser *p)
{
    if (p->nesting > WEFT_EXPRESSION_NESTING)
        return weft_scan_refuse(&p->scan, p->scan.token.at,
                                "this is inside more than %d signs, parentheses and branches of ?:",
                                (int)WEFT_EXPRESSION_NESTING);
    p->nesting++;
    return WEFT_OK;
}

static weft_status add_node(parser *p, weft_node node, int at, int *index)
{
    weft_expression *out = p->out;
    if (out->n_nodes == WEFT_EXPRESSION_NODES)
        return weft_scan_refuse(&p->scan, at, "the expression has more than %d operands and calls",
                                (int)WEFT_EXPRESSION_NODES);
    *index = out->n_nodes++;
    out->nodes[*index] = node;
    out->nodes[*index].at = at;
    p->depth[*index] = 0;
    return WEFT_OK;
}

static void note_needs(parser *p, weft_needs needs, int at, int length)
{
    if (needs == WEFT_NEEDS_REALS && p->real_at < 0)
        p->real_at = at, p->real_length = length;
    if (needs == WEFT_NEEDS_INTEGERS && p->integral_at < 0)
        p->integral_at = at, p->integral_length = length;
}

static weft_status add_call(parser *p, const weft_function *function, const int *arguments, int at,
                            int *index)
{
    weft_node node = {.kind = WEFT_NODE_CALL, .function = function};
    int depth = 0;
    for (int i = 0; i < (int)strlen(function->arguments); i++) {
        node.arguments[i] = (int16_t)arguments[i];
        depth = p->depth[arguments[i]] > depth ? p->depth[arguments[i]] : depth;
    }
    if (depth == WEFT_EXPRESSION_DEPTH)
        return refuse_depth(p, at);
    TRY(add_node(p, node, at, index));
    p->depth[*index] = depth + 1;
    return WEFT_OK;
}

// The current token in a refusal.
static weft_status refuse_token(const parser *p, const char *wanted)
{
    const weft_token *token = &p->scan.token;
    if (token->kind == WEFT_TOKEN_END)
        return weft_scan_refuse(&p->scan, token->at, "%s is wanted where the expression ends",
                                wanted);
    const int most = 40;
    return weft_scan_refuse(&p->scan, token->at, "%s is wanted before '%.*s%s'", wanted,
                            token->length < most ? token->length : most, p->scan.text + token->at,
                            token->length > most ? "..." : "");
}

static weft_status expect(parser *p, const char *sign, const char *wanted)
{
    if (!weft_scan_is(&p->scan, sign))
        return refuse_token(p, wanted);
    return weft_scan_next(&p->scan);
}

static weft_status refuse_count(const parser *p, const weft_function *function, int at, int n,
                                const char *of_what)
{
    const int wanted = (int)strlen(function->arguments);
    return weft_scan_refuse(&p->scan, at, "%s takes %d argument%s, here %s %d%s", function->name,
                            wanted, wanted == 1 ? "" : "s", n == 1 ? "is" : "are", n, of_what);
}

// After the function's name and the parenthesis.
static weft_status read_call(parser *p, const weft_function *function, const weft_token *name,
                             int *node)
{
    int arguments[WEFT_FUNCTION_ARGUMENTS];
    int n = 0;
    const bool is_empty = weft_scan_is(&p->scan, ")");
    while (!is_empty) {
        int argument = 0;
        TRY(read_conditional(p, &argument));
        if (n < WEFT_FUNCTION_ARGUMENTS)
            arguments[n] = argument;
        n++;
        if (!weft_scan_is(&p->scan, ","))
            break;
        TRY(weft_scan_next(&p->scan));
    }
    TRY(expect(p, ")", "',' or ')'"));
    if (n != (int)strlen(function->arguments))
        return refuse_count(p, function, name->at, n, "");
    note_needs(p, function->needs, name->at, name->length);
    return add_call(p, function, arguments, name->at, node);
}

static void list_names(char *list, size_t size, const char *title, int n, const char *const *names)
{
    size_t used = strlen(list);
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(list + used, size - used, "%s%s", i == 0 ? title : ", ", names[i]);
}

static weft_status refuse_name(const parser *p, const weft_token *name)
{
    const weft_names *names = p->names;
    const char *text = p->scan.text + name->at;
    const int shown = name->length < 40 ? name->length : 40;
    if (weft_is_reserved(text, (size_t)name->length))
        return weft_scan_refuse(&p->scan, name->at,
                                "'%.*s' is a word of OpenCL C that has no place here: there are no "
                                "types, casts or statements",
                                shown, text);
    char list[(WEFT_EXPRESSION_NAME + 2) * MOST_NAMES_SHOWN + 32] = "";
    if (names->n_inputs + names->n_values <= MOST_NAMES_SHOWN) {
        list_names(list, sizeof(list), "; inputs: ", names->n_inputs, names->inputs);
        list_names(list, sizeof(list), "; values: ", names->n_values, names->values);
    }
    return weft_scan_refuse(&p->scan, name->at, "there is nothing named '%.*s'%s", shown, text,
                            list);
}

// Its index among the names, or -1.
static int place_of(const char *const *names, int n, const char *name, size_t length)
{
    for (int i = 0; i < n; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return i;
    return -1;
}

static weft_status add_constant(parser *p, const weft_constant *constant, const weft_token *name,
                                int *node)
{
    const weft_node real = {
        .kind = WEFT_NODE_REAL, .real = constant->value, .single = (float)constant->value};
    note_needs(p, WEFT_NEEDS_REALS, name->at, name->length);
    return add_node(p, real, name->at, node);
}

static weft_status add_input(parser *p, int index, int at, int *node)
{
    p->out->inputs |= 1u << index;
    return add_node(p, (weft_node){.kind = WEFT_NODE_INPUT, .index = index}, at, node);
}

static weft_status add_value(parser *p, int index, int at, int *node)
{
    p->out->values |= 1u << index;
    return add_node(p, (weft_node){.kind = WEFT_NODE_VALUE, .index = index}, at, node);
}

static weft_status read_name(parser *p, int *node)
{
    const weft_token name = p->scan.token;
    const char *text = p->scan.text + name.at;
    const size_t length = (size_t)name.length;
    TRY(weft_scan_next(&p->scan));

    const weft_function *function = weft_function_find(text, length);
    if (function && !weft_scan_is(&p->scan, "("))
        return weft_scan_refuse(
            &p->scan, name.at, "%s is a function and requires its arguments in ()", function->name);
    if (function) {
        TRY(weft_scan_next(&p->scan));
        return read_call(p, function, &name, node);
    }
    const weft_constant *constant = weft_constant_find(text, length);
    if (constant)
        return add_constant(p, constant, &name, node);
    const int input = place_of(p->names->inputs, p->names->n_inputs, text, length);
    if (input >= 0)
        return add_input(p, input, name.at, node);
    const int value = place_of(p->names->values, p->names->n_values, text, length);
    if (value >= 0)
        return add_value(p, value, name.at, node);
    return refuse_name(p, &name);
}

static weft_status read_literal(parser *p, int *node)
{
    const weft_token *token = &p->scan.token;
    const bool is_real = token->kind == WEFT_TOKEN_REAL;
    const weft_node literal = {
        .kind = is_real ? WEFT_NODE_REAL : WEFT_NODE_INTEGER,
        .integer = token->integer,
        .real = token->real,
        .single = token->single,
    };
    if (is_real)
        note_needs(p, WEFT_NEEDS_REALS, token->at, token->length);
    if (is_real && isinf(token->single))
        p->out->is_wide = true;
    TRY(add_node(p, literal, token->at, node));
    return weft_scan_next(&p->scan);
}

static weft_status read_operand(parser *p, int *node)
{
    switch (p->scan.token.kind) {
    case WEFT_TOKEN_NAME:
        return read_name(p, node);
    case WEFT_TOKEN_INTEGER:
    case WEFT_TOKEN_REAL:
        return read_literal(p, node);
    default:
        break;
    }
    if (!weft_scan_is(&p->scan, "("))
        return refuse_token(p, "an operand");
    TRY(weft_scan_next(&p->scan));
    TRY(read_conditional(p, node));
    return expect(p, ")", "')'");
}

static int find_prefix(const weft_scan *scan)
{
    for (int i = 0; i < N_PREFIXES; i++)
        if (weft_scan_is(scan, prefixes[i].sign))
            return i;
    return -1;
}

// An integer literal includes its sign, so that its type has the most negative one.
static bool take_sign(parser *p, int node, int prefix)
{
    weft_node *operand = &p->out->nodes[node];
    if (operand->kind != WEFT_NODE_INTEGER || operand->is_negative || *prefixes[prefix].sign != '-')
        return false;
    operand->is_negative = true;
    return true;
}

static weft_status read_signed(parser *p, int *node)
{
    const weft_token sign = p->scan.token;
    const int prefix = find_prefix(&p->scan);
    if (prefix < 0)
        return read_operand(p, node);
    TRY(enter(p));
    TRY(weft_scan_next(&p->scan));
    TRY(read_signed(p, node));
    p->nesting--;
    if (!prefixes[prefix].function || take_sign(p, *node, prefix))
        return WEFT_OK;
    const weft_function *function = function_of(prefixes[prefix].function);
    note_needs(p, function->needs, sign.at, sign.length);
    return add_call(p, function, node, sign.at, node);
}

static int find_operator(const weft_scan *scan, int least)
{
    for (int i = 0; i < N_OPERATORS; i++)
        if (operators[i].precedence >= least && weft_scan_is(scan, operators[i].sign))
            return i;
    return -1;
}

// Operands with operators that bind at least as tightly as `least`, from left to right.
static weft_status read_binary(parser *p, int least, int *node)
{
    TRY(read_signed(p, node));
    for (int i; (i = find_operator(&p->scan, least)) >= 0;) {
        const weft_token sign = p->scan.token;
        int operands[2] = {*node};
        TRY(weft_scan_next(&p->scan));
        TRY(read_binary(p, operators[i].precedence + 1, &operands[1]));
        const weft_function *function = function_of(operators[i].function);
        note_needs(p, function->needs, sign.at, sign.length);
        TRY(add_call(p, function, operands, sign.at, node));
    }
    return WEFT_OK;
}

static weft_status read_conditional(parser *p, int *node)
{
    int parts[3];
    TRY(enter(p));
    TRY(read_binary(p, 0, &parts[0]));
    *node = parts[0];
    if (weft_scan_is(&p->scan, "?")) {
        const int at = p->scan.token.at;
        TRY(weft_scan_next(&p->scan));
        TRY(read_conditional(p, &parts[1]));
        TRY(expect(p, ":", "':'"));
        TRY(read_conditional(p, &parts[2]));
        TRY(add_call(p, function_of("where"), parts, at, node));
    }
    p->nesting--;
    return WEFT_OK;
}

// A function's name alone: its call with all inputs.
static weft_status call_of_inputs(parser *p, const weft_function *function, const weft_token *name)
{
    const int n = p->names->n_inputs;
    int inputs[WEFT_EXPRESSION_INPUTS], node;
    if (n != (int)strlen(function->arguments))
        return refuse_count(p, function, name->at, n, n == 1 ? " input" : " inputs");
    for (int i = 0; i < n; i++)
        TRY(add_input(p, i, name->at, &inputs[i]));
    note_needs(p, function->needs, name->at, name->length);
    return add_call(p, function, inputs, name->at, &node);
}

static weft_status read_all(parser *p)
{
    const weft_token first = p->scan.token;
    const weft_function *function =
        first.kind == WEFT_TOKEN_NAME
            ? weft_function_find(p->scan.text + first.at, (size_t)first.length)
            : NULL;
    if (first.kind == WEFT_TOKEN_END)
        return weft_scan_refuse(&p->scan, 0, "the expression is empty");
    if (function) {
        weft_scan ahead = p->scan;
        TRY(weft_scan_next(&ahead));
        if (ahead.token.kind == WEFT_TOKEN_END)
            return call_of_inputs(p, function, &first);
    }
    int node;
    TRY(read_conditional(p, &node));
    if (weft_scan_is(&p->scan, ","))
        return weft_scan_refuse(&p->scan, p->scan.token.at,
                                "',' is allowed between arguments alone");
    return p->scan.token.kind == WEFT_TOKEN_END ? WEFT_OK : refuse_token(p, "an operator");
}

static weft_status needs_check(const parser *p)
{
    if (p->real_at < 0 || p->integral_at < 0)
        return WEFT_OK;
    const char *text = p->scan.text;
    const int later = p->real_at > p->integral_at ? p->real_at : p->integral_at;
    return weft_scan_refuse(
        &p->scan, later, "'%.*s' in column %d requires integers, '%.*s' in column %d reals",
        p->integral_length, text + p->integral_at, p->integral_at + 1,
        p->real_length < 40 ? p->real_length : 40, text + p->real_at, p->real_at + 1);
}

static bool has_long(const weft_expression *expression)
{
    for (int i = 0; i < expression->n_nodes; i++) {
        const weft_node *node = &expression->nodes[i];
        const uint64_t most = (uint64_t)INT32_MAX + node->is_negative;
        if (node->kind == WEFT_NODE_INTEGER && node->integer > most)
            return true;
    }
    return false;
}

weft_status weft_expression_parse(weft_expression *out, const char *text, const weft_names *names,
                                  const char *what)
{
    *out = (weft_expression){0};
    parser p = {.names = names, .out = out, .real_at = -1, .integral_at = -1};
    TRY(weft_scan_begin(&p.scan, text, what));
    TRY(read_all(&p));
    TRY(needs_check(&p));
    out->is_real = p.real_at >= 0;
    out->is_integral = p.integral_at >= 0;
    out->is_long = has_long(out);
    return WEFT_OK;
}

// ---- the arithmetic of an expression

static bool is_whole(weft_dtype arithmetic)
{
    return arithmetic == WEFT_I32 || arithmetic == WEFT_I64;
}

static weft_status literals_check(const weft_expression *expression, const char *text,
                                  weft_dtype arithmetic, const char *what)
{
    const uint64_t largest = arithmetic == WEFT_I32 ? INT32_MAX : INT64_MAX;
    const weft_scan scan = {.what = what, .text = text, .length = (int)strlen(text)};
    for (int i = 0; i < expression->n_nodes; i++) {
        const weft_node *node = &expression->nodes[i];
        if (node->kind == WEFT_NODE_INTEGER && node->integer > largest + node->is_negative)
            return weft_scan_refuse(
                &scan, node->at, "the number %s%" PRIu64 " is beyond %s, which arithmetic is",
                node->is_negative ? "-" : "", node->integer, weft_dtype_name(arithmetic));
    }
    return WEFT_OK;
}

weft_status weft_expression_check(const weft_expression *expression, const char *text,
                                  weft_dtype arithmetic, const char *what)
{
    const char *name = weft_dtype_name(arithmetic);
    if (is_whole(arithmetic) && expression->is_real)
        return fail(WEFT_BAD_DTYPE, "%s: \"%.200s\" requires real numbers, arithmetic is %s", what,
                    text, name);
    if (is_whole(arithmetic))
        return literals_check(expression, text, arithmetic, what);
    if (expression->is_integral)
        return fail(
            WEFT_BAD_DTYPE,
            "%s: \"%.200s\" has & | ^ ~ << or >>, which require whole numbers; arithmetic is %s",
            what, text, name);
    if (expression->is_wide && arithmetic == WEFT_F32)
        return fail(WEFT_BAD_ARGUMENT,
                    "%s: \"%.200s\" has a number beyond f32, which arithmetic is", what, text);
    return WEFT_OK;
}

weft_status weft_number_check(double number, weft_dtype arithmetic, const char *kind,
                              const char *name, const char *what)
{
    const double beyond = arithmetic == WEFT_I32 ? 0x1p31 : 0x1p63;
    if (is_whole(arithmetic) && !(number >= -beyond && number < beyond && trunc(number) == number))
        return fail(WEFT_BAD_ARGUMENT, "%s: %s%s is %.17g, arithmetic is %s, of whole numbers",
                    what, kind, name, number, weft_dtype_name(arithmetic));
    return WEFT_OK;
}
