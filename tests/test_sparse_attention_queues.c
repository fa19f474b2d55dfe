// SPDX-License-Identifier: Apache-2.0
// Sparse attention among other work.
#include "queue_case.h"
#include "sparse/sparse_attention_plan.h"
#include "sparse_attention_case.h"

// Every kernel of a sweep, and every step of the three.
static const weft_sparse_attention_tiling all_kernels = {.vector_width = 2,
                                                         .vectors = 2,
                                                         .outputs = 1,
                                                         .lanes = 2,
                                                         .rows_per_group = 2,
                                                         .rows_per_item = 2,
                                                         .row_chunk = 3};
static const weft_sparse_attention_tiling in_steps = {.in_steps = true};

static const weft_sparse_attention_tiling *const variants[] = {&all_kernels, &in_steps, NULL};

static void *create(weft_context *ctx, cl_command_queue queue, queue_pick pick)
{
    const attention_case of = {.seed = pick.seed,
                               .m = 40,
                               .n = pick.makes || pick.takes ? 40 : 19,
                               .k = pick.is_reduced ? 6 : 30,
                               .d = pick.is_reduced ? 7 : 40,
                               .n_heads = 2,
                               .n_batches = 2,
                               .rows = ROWS_RANDOM,
                               .scale = 0.7,
                               .tiling = variants[pick.variant]};
    attention_operands *o = memory_filled(sizeof(*o), 0);
    attention_create(o, ctx, queue, &of);
    return o;
}

static void destroy(void *operands)
{
    attention_destroy(operands);
    free(operands);
}

static queue_view view(const void *operands)
{
    const attention_operands *o = operands;
    const attention_array *O = &o->dense[O_OPERAND];
    return (queue_view){.seed = o->of.seed,
                        .queue = o->queue,
                        .has_workspace = o->workspace,
                        .output = O->view.buffer,
                        .late = o->dense[V_OPERAND].view.buffer,
                        .output_bytes = O->bytes,
                        .output_before = O->before};
}

// Chained: what the first one makes is V of the second.
static weft_status call(const void *operands, const queue_call *how)
{
    attention_operands o = *(const attention_operands *)operands;
    const attention_operands *first = how->made_by;
    weft_sparse_attention_params params = attention_params(&o);
    QUEUE_CALL_BY(&params, how);
    if (first)
        o.dense[V_OPERAND].view = first->dense[O_OPERAND].view;
    return attention_call_with(&o, &params);
}

static void check(const void *operands)
{
    attention_check(operands);
}

static void run_any(weft_context *ctx, uint64_t seed, random_state *random, int64_t most)
{
    const attention_case one = {.seed = seed,
                                .m = queue_extent(random, most),
                                .n = queue_extent(random, most),
                                .k = queue_extent(random, most),
                                .d = queue_extent(random, most),
                                .rows = ROWS_SPARSE,
                                .scale = 0.2};
    attention_run(ctx, &one);
}

int main(void)
{
    static const queue_subject attention = {.n_variants = 3,
                                            .n_scratch = 2,
                                            .create = create,
                                            .destroy = destroy,
                                            .view = view,
                                            .call = call,
                                            .check = check,
                                            .run_any = run_any,
                                            .here = {100, 12},
                                            .on_a_gpu = {50, 12},
                                            .most_vectorized = 100,
                                            .most_spread = 100};
    return queue_main(&attention, NULL, 0);
}
