// SPDX-License-Identifier: Apache-2.0
// SDDMM among other work.
#include "queue_case.h"
#include "sddmm_case.h"
#include "sparse/sddmm_plan.h"

// Every kernel of a product: tiles of B packed, and sums that wait for the next one.
static const weft_sddmm_tiling all_kernels = {.vector_width = 2,
                                              .vectors = 2,
                                              .lanes = 2,
                                              .chunks_per_group = 2,
                                              .entries = 16,
                                              .passes = true,
                                              .packed = true};

// And those of rows side by side.
static const weft_sddmm_tiling column_blocks = {.vector_width = 2,
                                                .vectors = 2,
                                                .lanes = 1,
                                                .chunks_per_group = 1,
                                                .entries = 32,
                                                .passes = true,
                                                .packed = true,
                                                .column_block = 5};

static const weft_sddmm_tiling *const variants[] = {&all_kernels, &column_blocks, NULL};

static void *create(weft_context *ctx, cl_command_queue queue, queue_pick pick)
{
    const sddmm_case of = {.seed = pick.seed,
                           .m = 40,
                           .n = 19,
                           .k = pick.is_reduced ? 10 : 50,
                           .rows = ROWS_RANDOM,
                           .numbers = FRACTIONS,
                           .alpha = 0.7,
                           .beta = pick.seed % 2 ? 0.3 : 0,
                           .tiling = variants[pick.variant]};
    sddmm_operands *o = memory_filled(sizeof(*o), 0);
    sddmm_create(o, ctx, queue, &of);
    return o;
}

static void destroy(void *operands)
{
    sddmm_destroy(operands);
    free(operands);
}

static queue_view view(const void *operands)
{
    const sddmm_operands *o = operands;
    return (queue_view){.seed = o->of.seed,
                        .queue = o->queue,
                        .has_workspace = o->workspace,
                        .output = o->D.buffer,
                        .late = o->B.buffer,
                        .output_bytes = o->d_bytes,
                        .output_before = o->d_before};
}

// Chained: D2 = (A B) .* (A B) .* C.
static weft_status call(const void *operands, const queue_call *how)
{
    const sddmm_operands *o = operands, *first = how->made_by;
    weft_sddmm_params params = sddmm_params(o);
    QUEUE_CALL_BY(&params, how);
    weft_csr C = o->C;
    if (first) {
        C.values = first->D.buffer;
        C.values_start = first->D.offset;
    }
    return weft_sddmm(o->ctx, o->queue, o->of.alpha, &o->A, &o->B, &C, o->of.beta, &o->D, &params);
}

static void check(const void *operands)
{
    sddmm_check(operands);
}

static void run_any(weft_context *ctx, uint64_t seed, random_state *random, int64_t most)
{
    const sddmm_case one = {.seed = seed,
                            .m = queue_extent(random, most),
                            .n = queue_extent(random, most),
                            .k = queue_extent(random, most),
                            .rows = (sparse_rows)random_below(random, N_ROWS),
                            .alpha = 1,
                            .beta = (double)(seed % 3)};
    sddmm_run(ctx, &one);
}

int main(void)
{
    static const queue_subject sddmm = {.n_variants = 3,
                                        .n_scratch = 2,
                                        .create = create,
                                        .destroy = destroy,
                                        .view = view,
                                        .call = call,
                                        .check = check,
                                        .run_any = run_any,
                                        .here = {1000, 60},
                                        .on_a_gpu = {150, 12},
                                        .most_vectorized = 24,
                                        .most_spread = 24};
    return queue_main(&sddmm, NULL, 0);
}
