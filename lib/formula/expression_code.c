// SPDX-License-Identifier: Apache-2.0
// Writes expressions as calls of cl/formula/formula.clh. Independent of the locale: no decimal
// points.
#include "formula/expression.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
    const weft_expression *expression;
    weft_dtype arithmetic;
    char *text;
    size_t size, length; // length: of the full text
} writer;

static void put(writer *w, const char *text)
{
    for (; *text; text++, w->length++)
        if (w->length + 1 < w->size)
            w->text[w->length] = *text;
}

// m 2^e with an odd m, which is short, and exact in any base.
static void put_real(writer *w, double x)
{
    char text[48];
    if (isnan(x) || isinf(x)) {
        put(w, isnan(x) ? "NAN" : "INFINITY");
        return;
    }
    int exponent;
    double m = frexp(fabs(x), &exponent);
    for (; m != floor(m); exponent--)
        m *= 2;
    snprintf(text, sizeof(text), "%s0x%" PRIx64 "p%+d%s", signbit(x) ? "-" : "", (uint64_t)m,
             exponent, w->arithmetic == WEFT_F32 ? "f" : "");
    put(w, text);
}

static int64_t wrapped(const weft_node *node)
{
    const uint64_t bits = node->is_negative ? 0 - node->integer : node->integer;
    return bits <= INT64_MAX ? (int64_t)bits : -(int64_t)(UINT64_MAX - bits) - 1;
}

// The most negative number has no literal in C.
static void put_long(writer *w, int64_t x)
{
    char text[48];
    const bool is_least = x == INT64_MIN;
    snprintf(text, sizeof(text), "%" PRId64 "L%s", x + is_least, is_least ? "-1L" : "");
    put(w, text);
}

static void put_int(writer *w, int64_t x)
{
    char text[48];
    const int64_t low = x & UINT32_MAX;
    const int64_t value = low > INT32_MAX ? low - UINT32_MAX - 1 : low;
    const bool is_least = value == INT32_MIN;
    snprintf(text, sizeof(text), "%" PRId64 "%s", value + is_least, is_least ? "-1" : "");
    put(w, text);
}

static void put_integer(writer *w, const weft_node *node)
{
    const double sign = node->is_negative ? -1 : 1;
    if (w->arithmetic == WEFT_F32)
        put_real(w, sign * (float)node->integer);
    else if (w->arithmetic == WEFT_F64)
        put_real(w, sign * (double)node->integer);
    else if (w->arithmetic == WEFT_I64)
        put_long(w, wrapped(node));
    else
        put_int(w, wrapped(node));
}

static void put_literal(writer *w, const weft_node *node)
{
    put(w, "LITERAL(");
    if (node->kind == WEFT_NODE_INTEGER)
        put_integer(w, node);
    else
        put_real(w, w->arithmetic == WEFT_F32 ? (double)node->single : node->real);
    put(w, ")");
}

static void put_operand(writer *w, const weft_node *node)
{
    char text[16];
    snprintf(text, sizeof(text), "%c%d", node->kind == WEFT_NODE_INPUT ? 'x' : 'v', node->index);
    put(w, text);
}

static bool is_truth(const weft_node *node)
{
    return node->kind == WEFT_NODE_CALL && node->function->gives_truth;
}

static void put_node(writer *w, const weft_node *node);

// A node, converted to the kind that its place requires.
static void put_as(writer *w, const weft_node *node, bool as_truth)
{
    const bool fits = is_truth(node) == as_truth;
    put(w, fits ? "" : as_truth ? "TRUTH(" : "NUMBER(");
    put_node(w, node);
    put(w, fits ? "" : ")");
}

static void put_call(writer *w, const weft_node *node)
{
    const char *kinds = node->function->arguments;
    put(w, node->function->code);
    for (int i = 0; kinds[i]; i++) {
        put(w, i == 0 ? "(" : ",");
        put_as(w, &w->expression->nodes[node->arguments[i]], kinds[i] == 't');
    }
    put(w, ")");
}

static void put_node(writer *w, const weft_node *node)
{
    switch (node->kind) {
    case WEFT_NODE_INPUT:
    case WEFT_NODE_VALUE:
        put_operand(w, node);
        break;
    case WEFT_NODE_INTEGER:
    case WEFT_NODE_REAL:
        put_literal(w, node);
        break;
    case WEFT_NODE_CALL:
        put_call(w, node);
        break;
    }
}

size_t weft_expression_code(const weft_expression *expression, weft_dtype arithmetic, char *text,
                            size_t size)
{
    assert(!expression->is_real || arithmetic == WEFT_F32 || arithmetic == WEFT_F64);
    assert(!expression->is_integral || arithmetic == WEFT_I32 || arithmetic == WEFT_I64);
    assert(expression->n_nodes > 0);

    writer w = {.expression = expression, .arithmetic = arithmetic, .text = text, .size = size};
    put_as(&w, &expression->nodes[expression->n_nodes - 1], false);
    if (size > 0)
        text[w.length < size ? w.length : size - 1] = '\0';
    return w.length;
}
