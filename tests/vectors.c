// SPDX-License-Identifier: Apache-2.0
// Reads the vectors of formulas.
#include "vectors.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scalar.h"

FILE *vectors_open(void)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/formulas.txt", getenv("WEFT_TEST_DATA"));
    FILE *file = fopen(path, "r");
    if (!file)
        fail_msg("%s cannot be read", path);
    return file;
}

// The word that follows, and the text behind it; "" at the end.
static char *next_word(char **text)
{
    char *const word = *text;
    *text += strcspn(*text, " \n");
    if (**text != '\0')
        *(*text)++ = '\0';
    return word;
}

static void read_numbers(vectors_call *call, vectors_numbers *out, char *text)
{
    int n = 0;
    for (const char *word; *(word = next_word(&text)) != '\0'; n++) {
        char *end;
        assert_true(n < VECTORS_LENGTH);
        out->whole[n] = strtoll(word, NULL, 10);
        out->real[n] = strtod(word, &end);
        if (scalar_is_float(out->dtype)) // its digits are as many as the type wants
            out->real[n] = scalar_stored(out->dtype, out->real[n]);
        out->more[n] = *end == '~' ? strtod(end + 1, &end) : 0;
        assert_true(*end == '\0');
    }
    assert_true(call->count == 0 || call->count == n);
    call->count = n;
}

static void read_line(vectors_call *call, char *text)
{
    const char *const kind = next_word(&text);
    if (strcmp(kind, "in") == 0) {
        vectors_numbers *in = &call->in[call->n_inputs++];
        in->dtype = weft_dtype_find(next_word(&text));
        read_numbers(call, in, text);
    } else if (strcmp(kind, "value") == 0) {
        call->values[call->n_values++] = strtod(text, NULL);
    } else if (strcmp(kind, "out") == 0) {
        vectors_numbers *out = &call->out[call->n_outputs++];
        out->dtype = weft_dtype_find(next_word(&text));
        out->ulps = strtod(next_word(&text), NULL);
        snprintf(out->formula, sizeof(out->formula), "%.*s", (int)strcspn(text, "\n"), text);
    } else if (strcmp(kind, "=") == 0) {
        read_numbers(call, &call->out[call->n_outputs - 1], text);
    } else {
        fail_msg("'%s' begins no line of vectors", kind);
    }
}

bool vectors_next(FILE *file, vectors_call *out)
{
    char line[8192];
    bool is_begun = false;
    *out = (vectors_call){.arithmetic = WEFT_DEFAULT};
    for (long at = ftell(file); fgets(line, sizeof(line), file); at = ftell(file)) {
        const bool begins = strncmp(line, "call", 4) == 0;
        if (begins && is_begun) {
            fseek(file, at, SEEK_SET);
            return true;
        }
        is_begun = is_begun || begins;
        if (begins && line[4] == ' ')
            out->arithmetic = weft_dtype_find(strtok(line + 5, "\n"));
        else if (!begins && line[0] != '#')
            read_line(out, line);
    }
    return is_begun;
}

void vectors_put(const vectors_numbers *numbers, int count, void *data)
{
    for (int i = 0; i < count; i++)
        if (numbers->dtype == WEFT_I32)
            ((int32_t *)data)[i] = (int32_t)numbers->whole[i];
        else if (numbers->dtype == WEFT_I64)
            ((int64_t *)data)[i] = numbers->whole[i];
        else if (numbers->dtype == WEFT_U8)
            ((uint8_t *)data)[i] = (uint8_t)numbers->whole[i];
        else
            scalar_put(numbers->dtype, data, i, numbers->real[i]);
}

bool vectors_hold(const vectors_numbers *out, int i, double real, int64_t whole)
{
    static const struct {
        weft_dtype dtype;
        int digits, least_exponent;
    } types[] = {{WEFT_F64, 53, -1022}, {WEFT_F16, 11, -14}, {WEFT_BF16, 8, -126}};
    const double want = out->real[i];
    int digits = 24, least = -126;
    if (!scalar_is_float(out->dtype))
        return whole == out->whole[i];
    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++)
        if (types[k].dtype == out->dtype)
            digits = types[k].digits, least = types[k].least_exponent;
    const int exponent = want != 0 ? ilogb(want) : least;
    const double ulp = ldexp(1, (exponent > least ? exponent : least) - digits + 1);
    if (isnan(want) || isinf(want) || isnan(real))
        return isnan(want) ? isnan(real) : real == want;
    if (out->ulps == 0 && out->more[i] == 0)
        return real == want && signbit(real) == signbit(want);
    return fabs(real - want) <= out->ulps * ulp + out->more[i];
}
