// SPDX-License-Identifier: Apache-2.0
// Arrays and numbers of a formula.
#include "formula.h"

#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "dense_job.h"

// ---- words

// Whether a number in a formula is an integer.
static bool is_whole(const char *text)
{
    const char *digits = text + strspn(text, "+-");
    const bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    digits += is_hex ? 2 : 0;
    return digits[strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789")] == '\0';
}

static void add_value(formula_words *out, const char *name, const char *text, double value,
                      struct argp_state *state)
{
    if (out->n_values == WEFT_ELEMENTWISE_VALUES)
        argp_error(state, "%s=%s: more than %d numbers", name, text, out->n_values);
    out->values[out->n_values++] = (weft_elementwise_value){name, value};
    out->has_real_value |= !is_whole(text);
}

static void add_input(formula_words *out, const char *name, const char *path, int room,
                      struct argp_state *state)
{
    if (out->n_inputs == room)
        argp_error(state, "%s=%s: more than %d arrays", name, path, out->n_inputs);
    out->names[out->n_inputs] = name;
    out->paths[out->n_inputs++] = path;
}

static bool is_named(const formula_words *words, const char *name)
{
    for (int i = 0; i < words->n_inputs; i++)
        if (strcmp(words->names[i], name) == 0)
            return true;
    for (int i = 0; i < words->n_values; i++)
        if (strcmp(words->values[i].name, name) == 0)
            return true;
    return false;
}

void formula_words_take(formula_words *out, char *word, int room, struct argp_state *state)
{
    char *const equals = strchr(word, '=');
    char *end = NULL;
    if (equals == NULL || equals == word || equals[1] == '\0')
        argp_error(state, "'%s' is neither NAME=FILE.npy nor NAME=NUMBER", word);
    *equals = '\0';
    if (is_named(out, word))
        argp_error(state, "'%s' is named twice", word);
    const double value = strtod(equals + 1, &end);
    if (*end == '\0')
        add_value(out, word, equals + 1, value, state);
    else
        add_input(out, word, equals + 1, room, state);
}

// ---- arrays

// Short integers are widened to the types of formulas.
static bool read_array(npy_array *out, const char *path, const operand_params *params,
                       complaint *why)
{
    if (!operand_read_dense(out, path, params, why))
        return false;
    const bool is_short = out->dtype == WEFT_I16 || out->dtype == WEFT_I8;
    return !is_short || npy_convert(out, WEFT_I32, path, why);
}

bool formula_arrays_read(formula_arrays *out, const formula_words *words, file_format format,
                         weft_context *ctx, complaint *why)
{
    const operand_params params = {.format = format,
                                   .u2_is_bf16 = true,
                                   .max_bytes = weft_context_limits(ctx)->max_alloc_bytes};
    for (int i = 0; i < words->n_inputs; i++)
        if (!read_array(&out->host[i], words->paths[i], &params, why))
            return false;
    return true;
}

bool formula_arrays_upload(formula_arrays *out, const formula_words *words, weft_context *ctx,
                           size_t *bytes, complaint *why)
{
    for (int i = 0; i < words->n_inputs; i++) {
        const npy_array *X = &out->host[i];
        size_t own_bytes = 0;
        if (!dense_tensor_create(&out->tensors[i], ctx, X->dtype, X->ndim, X->shape, X->data,
                                 &own_bytes, words->paths[i], why))
            return false;
        *bytes += own_bytes;
        out->inputs[i] = (weft_elementwise_input){words->names[i], &out->tensors[i]};
    }
    return true;
}

bool formula_reference(reference_values *out, reference_elementwise problem, const char *first,
                       const formula_words *words, const formula_arrays *arrays, complaint *why)
{
    const char *names[1 + WEFT_ELEMENTWISE_INPUTS + WEFT_ELEMENTWISE_VALUES];
    host_tensor inputs[WEFT_ELEMENTWISE_INPUTS];
    double values[WEFT_ELEMENTWISE_VALUES];
    int n_names = 0;
    if (problem.first != NULL)
        names[n_names++] = first;
    for (int i = 0; i < words->n_inputs; i++) {
        const npy_array *X = &arrays->host[i];
        names[n_names++] = words->names[i];
        inputs[i] = host_tensor_dense(X->dtype, X->data, X->ndim, X->shape);
    }
    for (int i = 0; i < words->n_values; i++) {
        names[n_names++] = words->values[i].name;
        values[i] = words->values[i].value;
    }
    problem.n_inputs = words->n_inputs;
    problem.n_values = words->n_values;
    problem.inputs = inputs;
    problem.values = values;
    problem.names = names;
    return reference_elementwise_run(out, &problem, why);
}

void formula_arrays_free(formula_arrays *arrays)
{
    for (int i = 0; i < WEFT_ELEMENTWISE_INPUTS; i++) {
        buffer_release(&arrays->tensors[i].buffer);
        npy_free(&arrays->host[i]);
    }
}
