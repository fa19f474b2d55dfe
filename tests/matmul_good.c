// SPDX-License-Identifier: Apache-2.0
// A good call of weft_matmul() for tests.
#include "matmul_good.h"
#include "dense/matmul_tiling.h"

const matmul_case matmul_good_case = {.seed = 3,
                                      .m = 5,
                                      .n = 4,
                                      .k = 6,
                                      .n_batch = 1,
                                      .batch = {2},
                                      .b = {.missing = 1},
                                      .c = {.gap = 1},
                                      .formula = &matmul_blend,
                                      .inputs = {{.missing = 2}, {.ones = 4}},
                                      .values = {2, 0.5},
                                      .alpha = 1,
                                      .beta = 1};

const weft_matmul_tiling matmul_in_chunks = {.method = WEFT_MATMUL_BLOCKS,
                                             .vector_width = 2,
                                             .vectors = 1,
                                             .rows = 2,
                                             .items = 1,
                                             .items_y = 1,
                                             .depth = 2,
                                             .block_rows = 4,
                                             .block_columns = 4,
                                             .chunk = 2};

void matmul_good_make(matmul_good *call, const matmul_operands *o)
{
    *call = (matmul_good){.ctx = o->ctx,
                          .queue = o->queue,
                          .alpha = 1,
                          .beta = 1,
                          .A = o->a.t,
                          .B = o->b.t,
                          .C = o->c.t,
                          .x = {o->x[0].t, o->x[1].t},
                          .values = {o->values[0], o->values[1]},
                          .params = matmul_params(o)};
    call->inputs[0] = (weft_elementwise_input){"x0", &call->x[0]};
    call->inputs[1] = (weft_elementwise_input){"x1", &call->x[1]};
    call->params.inputs = call->inputs;
    call->params.values = call->values;
}

void matmul_good_make_bare(matmul_good *call, const matmul_operands *o)
{
    matmul_good_make(call, o);
    call->params.epilogue = NULL;
    call->params.n_inputs = call->params.n_values = 0;
    call->params.inputs = NULL;
    call->params.values = NULL;
}

weft_status matmul_good_call(const matmul_good *call, const weft_matmul_params *params)
{
    return weft_matmul(call->ctx, call->queue, call->alpha, &call->A, &call->B, call->beta,
                       &call->C, params);
}

void matmul_expect_untouched(const matmul_operands *o)
{
    void *after = strided_read(&o->c, o->queue);
    assert_memory_equal(after, o->c.memory, o->c.bytes);
    free(after);
}

void matmul_refuse(const matmul_good *call, const matmul_operands *o, weft_status want,
                   const char *part)
{
    cl_event event = NULL;
    weft_matmul_params params = call->params;
    params.event = &event;
    const uint64_t launches = weft_context_get_stats(o->ctx).launches;
    const weft_status status = matmul_good_call(call, &params);
    if (status != want)
        fail_msg("%s, not %s, where it should say \"%s\": %s", weft_status_name(status),
                 weft_status_name(want), part, weft_last_error());
    assert_says(part);
    assert_null(event);
    assert_int_equal(weft_context_get_stats(o->ctx).launches, launches);
    matmul_expect_untouched(o);
}
