// SPDX-License-Identifier: Apache-2.0
// Calls of dense operations out of bytes.
#include "../tiling_text.h"
#include "axis/axis_plan.h"
#include "calls.h"
#include "dense/matmul_tiling.h"
#include "elementwise/elementwise_plan.h"

static weft_axis_tiling take_axis_tiling(call_input *in)
{
    weft_axis_tiling t = {.vector_width = take_int(in)};
    t.vectors = take_int(in);
    t.items = take_int(in);
    t.items_y = take_int(in);
    t.unroll = take_int(in);
    t.widen = take_number(in);
    t.run = take_number(in);
    t.grid_x = take_number(in);
    t.grid_y = take_number(in);
    t.parts = take_number(in);
    t.cache = take_chance(in, 128);
    t.items_z = take_chance(in, 64) ? take_int(in) : 0;
    return t;
}

typedef struct formula_operands {
    int n_inputs, n_outputs, n_values;
    weft_elementwise_input inputs[WEFT_ELEMENTWISE_INPUTS];
    weft_elementwise_output outputs[WEFT_ELEMENTWISE_OUTPUTS];
    weft_elementwise_value values[WEFT_ELEMENTWISE_VALUES];
} formula_operands;

// How many there are, as far as there is room, or what no call takes.
static int take_count(call_input *in, int most)
{
    const uint8_t byte = take_byte(in);
    return byte < 248 ? byte % (most < 4 ? most + 1 : 4) : byte < 252 ? most : -byte;
}

static const char *take_name(call_input *in, const char *usual)
{
    return take_chance(in, 16) ? take_formula(in) : usual;
}

static formula_operands take_operands(call_input *in)
{
    formula_operands o = {.n_inputs = take_count(in, WEFT_ELEMENTWISE_INPUTS)};
    o.n_outputs = 1 + take_count(in, WEFT_ELEMENTWISE_OUTPUTS - 1);
    o.n_values = take_count(in, WEFT_ELEMENTWISE_VALUES);
    for (int i = 0; i < o.n_inputs; i++) {
        o.inputs[i].name = take_name(in, NULL);
        o.inputs[i].tensor = take_tensor(in);
    }
    for (int i = 0; i < o.n_outputs; i++) {
        o.outputs[i].formula = take_formula(in);
        o.outputs[i].tensor = take_tensor(in);
    }
    for (int i = 0; i < o.n_values; i++) {
        o.values[i].name = take_name(in, i == 0 ? "v0" : "v1");
        o.values[i].value = take_real(in);
    }
    return o;
}

call_result call_elementwise(call_input *in)
{
    const formula_operands o = take_operands(in);
    weft_elementwise_tiling tiling = {.vector_width = take_int(in)};
    tiling.vectors = take_int(in);
    tiling.items = take_int(in);
    tiling.items_y = take_int(in);
    tiling.tiled = take_chance(in, 128);
    tiling.aligned = take_chance(in, 128);
    tiling.columns = take_number(in);
    tiling.rows = take_number(in);
    tiling.grid_x = take_number(in);
    tiling.grid_y = take_number(in);
    tiling.grid_z = take_number(in);
    weft_elementwise_params p = {.size = take_struct_size(in, sizeof(p)), .n_values = o.n_values};
    p.values = o.values;
    p.arithmetic = take_chance(in, 64) ? take_dtype(in) : WEFT_DEFAULT;
    p.tiling = TILING_TEXT(elementwise, take_chance(in, 64) ? &tiling : NULL);
    const weft_elementwise_params *params = take_chance(in, 64) ? NULL : &p;

    call_result r = {0};
    weft_elementwise_plan *plan = NULL;
    if (take_chance(in, 64)) {
        weft_elementwise_plan_create(&plan, in->ctx, o.n_inputs, o.inputs, o.n_outputs, o.outputs,
                                     params);
        p.plan = plan;
        p.tiling = TILING_TEXT(elementwise, take_chance(in, 32) ? &tiling : NULL);
        params = &p;
    }
    const formula_operands again = plan && take_chance(in, 32) ? take_operands(in) : o;
    r.status = weft_elementwise(in->ctx, NULL, again.n_inputs, again.inputs, again.n_outputs,
                                again.outputs, params);
    if (!plan)
        r.described = weft_elementwise_describe(in->ctx, o.n_inputs, o.inputs, o.n_outputs,
                                                o.outputs, params, NULL, 0);
    weft_elementwise_plan_destroy(&plan);
    return r;
}

// More matrices than a few launches are for.
static bool has_many_matrices(const weft_tensor *C)
{
    int64_t most = 1 << 16;
    for (int d = 0; C && d + 2 < C->ndim && d < WEFT_MAX_NDIM; d++)
        most /= C->shape[d] > 0 ? C->shape[d] : 1;
    return most == 0;
}

call_result call_matmul(call_input *in)
{
    const weft_tensor *A = take_tensor(in), *B = take_tensor(in), *C = take_tensor(in);
    const formula_operands o = take_operands(in);
    weft_matmul_tiling tiling = {.method = (weft_matmul_method)(take_byte(in) % 5)};
    tiling.transposed = take_chance(in, 128);
    tiling.vector_width = take_int(in);
    tiling.vectors = take_int(in);
    tiling.rows = take_int(in);
    tiling.items = take_int(in);
    tiling.items_y = take_int(in);
    tiling.depth = take_int(in);
    tiling.block_rows = take_number(in);
    tiling.block_columns = take_number(in);
    tiling.chunk = take_number(in);
    weft_matmul_params p = {.size = take_struct_size(in, sizeof(p))};
    if (take_chance(in, 64)) {
        p.epilogue = o.outputs[0].formula;
        p.n_inputs = o.n_inputs;
        p.inputs = o.inputs;
        p.n_values = o.n_values;
        p.values = o.values;
    }
    p.tiling = TILING_TEXT(matmul, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_matmul_params *params = take_chance(in, 64) ? NULL : &p;
    const double alpha = take_real(in), beta = take_real(in);

    if (has_many_matrices(C))
        return (call_result){.is_pure = true};
    size_t bytes;
    call_result r = {.status = weft_matmul(in->ctx, NULL, alpha, A, B, beta, C, params)};
    // These do not know alpha, and look at a tiling that alpha 0 does without.
    if (alpha == 1) {
        r.asked = weft_matmul_workspace(in->ctx, A, B, C, params, &bytes);
        r.described = weft_matmul_describe(in->ctx, A, B, C, params, NULL, 0);
    }
    return r;
}

call_result call_reduce(call_input *in)
{
    int axes[WEFT_MAX_NDIM];
    const weft_reduction op = (weft_reduction)(take_byte(in) % 18);
    const weft_tensor *X = take_tensor(in), *Y = take_tensor(in);
    const int n_axes = take_count(in, WEFT_MAX_NDIM);
    for (int i = 0; i < WEFT_MAX_NDIM; i++)
        axes[i] = i < n_axes ? take_int(in) : 0;
    const weft_axis_tiling tiling = take_axis_tiling(in);
    weft_reduce_params p = {.size = take_struct_size(in, sizeof(p))};
    p.correction = take_number(in);
    p.tiling = TILING_TEXT(axis, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_reduce_params *params = take_chance(in, 64) ? NULL : &p;
    const int *which = take_chance(in, 4) ? NULL : axes;

    size_t bytes;
    call_result r = {.status = weft_reduce(in->ctx, NULL, op, X, n_axes, which, Y, params)};
    r.asked = weft_reduce_workspace(in->ctx, op, X, n_axes, which, Y, params, &bytes);
    r.described = weft_reduce_describe(in->ctx, op, X, n_axes, which, Y, params, NULL, 0);
    return r;
}

call_result call_softmax(call_input *in)
{
    const uint8_t which = take_byte(in) % 4;
    const weft_tensor *X = take_tensor(in), *Y = take_tensor(in);
    const weft_tensor *dX = which < 2 ? NULL : take_tensor(in);
    const int axis = take_int(in);
    const weft_axis_tiling tiling = take_axis_tiling(in);
    weft_softmax_params p = {.size = take_struct_size(in, sizeof(p))};
    p.masked = take_chance(in, 64);
    p.tiling = TILING_TEXT(axis, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_softmax_params *params = take_chance(in, 64) ? NULL : &p;
    const double scale = take_real(in);

    call_result r = {0};
    if (which == 2) {
        r.status = weft_softmax_backward(in->ctx, NULL, scale, X, Y, axis, dX, params);
        r.described = weft_softmax_backward_describe(in->ctx, X, Y, axis, dX, params, NULL, 0);
        return r;
    }
    if (which == 3) {
        r.status = weft_log_softmax_backward(in->ctx, NULL, scale, X, Y, axis, dX, params);
        r.described = weft_log_softmax_backward_describe(in->ctx, X, Y, axis, dX, params, NULL, 0);
        return r;
    }
    size_t bytes;
    r.status = (which ? weft_log_softmax : weft_softmax)(in->ctx, NULL, scale, X, axis, Y, params);
    r.asked = weft_softmax_workspace(in->ctx, X, axis, Y, params, &bytes);
    r.described = (which ? weft_log_softmax_describe : weft_softmax_describe)(in->ctx, X, axis, Y,
                                                                              params, NULL, 0);
    return r;
}

static call_result call_norm_backward(call_input *in, bool is_rms)
{
    const weft_tensor *X = take_tensor(in), *dY = take_tensor(in), *dX = take_tensor(in);
    const int n_axes = take_int(in);
    const weft_axis_tiling tiling = take_axis_tiling(in), scaling = take_axis_tiling(in);
    weft_norm_backward_params p = {.size = take_struct_size(in, sizeof(p))};
    p.weight = take_extra(in);
    p.dW = take_extra(in);
    p.db = take_extra(in);
    p.tiling = TILING_TEXT(axis, take_chance(in, 64) ? &tiling : NULL);
    p.scaling_tiling = TILING_TEXT(axis, take_chance(in, 64) ? &scaling : NULL);
    p.workspace = take_workspace(in);
    const weft_norm_backward_params *params = take_chance(in, 64) ? NULL : &p;
    const double epsilon = take_real(in);

    size_t bytes;
    call_result r = {.status = (is_rms ? weft_rms_norm_backward : weft_layer_norm_backward)(
                         in->ctx, NULL, epsilon, X, n_axes, dY, dX, params)};
    r.asked = weft_norm_backward_workspace(in->ctx, X, n_axes, dY, dX, params, &bytes);
    r.described = (is_rms ? weft_rms_norm_backward_describe : weft_norm_backward_describe)(
        in->ctx, X, n_axes, dY, dX, params, NULL, 0);
    return r;
}

call_result call_norm(call_input *in)
{
    const uint8_t which = take_byte(in) % 4;
    const bool is_rms = which % 2;
    if (which > 1)
        return call_norm_backward(in, is_rms);
    const weft_tensor *X = take_tensor(in), *Y = take_tensor(in);
    const int n_axes = take_int(in);
    const weft_axis_tiling tiling = take_axis_tiling(in);
    weft_norm_params p = {.size = take_struct_size(in, sizeof(p))};
    p.weight = take_extra(in);
    p.bias = take_extra(in);
    p.tiling = TILING_TEXT(axis, take_chance(in, 64) ? &tiling : NULL);
    p.workspace = take_workspace(in);
    const weft_norm_params *params = take_chance(in, 64) ? NULL : &p;
    const double epsilon = take_real(in);

    size_t bytes;
    call_result r = {.status = is_rms
                                   ? weft_rms_norm(in->ctx, NULL, epsilon, X, n_axes, Y, params)
                                   : weft_layer_norm(in->ctx, NULL, epsilon, X, n_axes, Y, params)};
    // Of either kind: where the one refuses the bias, the other may not.
    if (!p.bias || !is_rms) {
        r.asked = weft_norm_workspace(in->ctx, X, n_axes, Y, params, &bytes);
        r.described = (is_rms ? weft_rms_norm_describe : weft_norm_describe)(in->ctx, X, n_axes, Y,
                                                                             params, NULL, 0);
    }
    return r;
}
