// SPDX-License-Identifier: Apache-2.0
// Softmax over sparse rows, and its backward, among other work.
#include "queue_case.h"
#include "sparse/sparse_softmax_plan.h"
#include "sparse_softmax_case.h"

// Every kernel of a call, by one item and by several.
static const weft_sparse_softmax_tiling cutting = {
    .vector_width = 4, .lanes = 1, .rows_per_group = 1, .cache = 16, .chunk = 40, .row_chunk = 9};
static const weft_sparse_softmax_tiling spread_cutting = {
    .vector_width = 1, .lanes = 4, .rows_per_group = 2, .chunk = 40, .row_chunk = 9};

static const struct variant {
    bool is_backward;
    const weft_sparse_softmax_tiling *tiling;
} variants[] = {{false, &cutting},
                {true, &spread_cutting},
                {true, &cutting},
                {false, &spread_cutting},
                {false, NULL}};

static void *create(weft_context *ctx, cl_command_queue queue, queue_pick pick)
{
    const struct variant *variant = &variants[pick.variant];
    const sparse_case of = {.seed = pick.seed,
                            .n_rows = 40,
                            .longest = pick.is_reduced ? 30 : 200,
                            .rows = ROWS_RANDOM,
                            .numbers = STEEP,
                            .is_backward = variant->is_backward,
                            .place = pick.seed % 4 == 3 ? ON_CSR : APART,
                            .scale = 0.5,
                            .tiling = variant->tiling};
    sparse_operands *o = malloc(sizeof(*o));
    assert_non_null(o);
    sparse_operands_create(o, ctx, queue, &of);
    return o;
}

static void destroy(void *operands)
{
    sparse_operands_destroy(operands);
    free(operands);
}

static queue_view view(const void *operands)
{
    const sparse_operands *o = operands;
    const sparse_array *target = sparse_target(o);
    return (queue_view){.seed = o->of.seed,
                        .queue = o->queue,
                        .has_workspace = o->workspace,
                        .output = target->buffer,
                        .late = o->values.buffer,
                        .output_bytes = target->bytes,
                        .output_before = target->before};
}

// Chained: a softmax of softmax, or backward through two of them.
static weft_status call(const void *operands, const queue_call *how)
{
    sparse_operands o = *(const sparse_operands *)operands;
    const sparse_operands *first = how->made_by;
    weft_sparse_softmax_params params = sparse_params(&o);
    QUEUE_CALL_BY(&params, how);
    if (first && o.of.is_backward) {
        o.dY = first->out;
    } else if (first) {
        o.csr.values = first->out.buffer;
        o.csr.values_start = first->out.offset;
    }
    return sparse_call_with(&o, &params);
}

static void check(const void *operands)
{
    sparse_check(operands);
}

static void run_any(weft_context *ctx, uint64_t seed, random_state *random, int64_t most)
{
    const sparse_case one = {.seed = seed,
                             .n_rows = random_below(random, 40),
                             .longest = random_below(random, most),
                             .rows = (sparse_rows)random_below(random, N_ROWS),
                             .n_batches = random_below(random, 3),
                             .is_backward = seed % 2,
                             .scale = 1};
    sparse_run(ctx, &one);
}

int main(void)
{
    static const queue_subject sparse_softmax = {.n_variants = 5,
                                                 .n_scratch = 4,
                                                 .create = create,
                                                 .destroy = destroy,
                                                 .view = view,
                                                 .call = call,
                                                 .check = check,
                                                 .run_any = run_any,
                                                 .here = {300, 40},
                                                 .on_a_gpu = {150, 12},
                                                 .most_vectorized = 2,
                                                 .most_spread = 12};
    return queue_main(&sparse_softmax, NULL, 0);
}
