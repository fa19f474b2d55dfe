// SPDX-License-Identifier: Apache-2.0
// SpMM among other work.
#include "queue_case.h"
#include "sparse/spmm_tiling.h"
#include "spmm_case.h"

// Every kernel of a product: B packed, rows, row chunks of the long ones, and these combined.
static const weft_spmm_tiling all_kernels = {.vector_width = 2,
                                             .vectors = 2,
                                             .lanes = 2,
                                             .rows_per_group = 2,
                                             .load = 1,
                                             .unroll = 2,
                                             .row_chunk = 3,
                                             .packed = true};

// QUEUED: row blocks from queues too, in scratch memory.
enum { ALL_KERNELS, QUEUED, AS_CHOSEN, N_VARIANTS };

static spmm_case case_of(queue_pick pick)
{
    const int64_t k = pick.is_reduced ? 10 : 50;
    return (spmm_case){.seed = pick.seed,
                       .m = pick.makes || pick.takes ? k : 40,
                       .k = k,
                       .n = 19,
                       .rows = ROWS_RANDOM,
                       .numbers = FRACTIONS,
                       .alpha = 0.7,
                       .beta = pick.seed % 2 ? 0.3 : 0,
                       .with_plan = pick.variant == QUEUED || pick.seed % 2,
                       .plan_row_chunk = 3,
                       .row_schedule = pick.variant == QUEUED ? WEFT_SPMM_ROW_SCHEDULE_QUEUE
                                                              : WEFT_SPMM_ROW_SCHEDULE_DEFAULT,
                       .tiling = pick.variant == AS_CHOSEN ? NULL : &all_kernels};
}

static void *create(weft_context *ctx, cl_command_queue queue, queue_pick pick)
{
    const spmm_case of = case_of(pick);
    spmm_operands *o = memory_filled(sizeof(*o), 0);
    spmm_create(o, ctx, queue, &of);
    return o;
}

static void destroy(void *operands)
{
    spmm_destroy(operands);
    free(operands);
}

static queue_view view(const void *operands)
{
    const spmm_operands *o = operands;
    return (queue_view){.seed = o->of.seed,
                        .queue = o->queue,
                        .has_workspace = o->workspace,
                        .output = o->C.buffer,
                        .late = o->B.buffer,
                        .output_bytes = o->c_bytes,
                        .output_before = o->c_before};
}

// Chained: C2 = A (A B).
static weft_status call(const void *operands, const queue_call *how)
{
    const spmm_operands *o = operands, *first = how->made_by;
    weft_spmm_params params = spmm_params(o);
    QUEUE_CALL_BY(&params, how);
    const weft_tensor *B = first ? &first->C : &o->B;
    return weft_spmm(o->ctx, o->queue, o->of.alpha, &o->A, B, o->of.beta, &o->C, &params);
}

static void check(const void *operands)
{
    spmm_check(operands);
}

static void run_any(weft_context *ctx, uint64_t seed, random_state *random, int64_t most)
{
    const spmm_case one = {.seed = seed,
                           .m = queue_extent(random, most),
                           .k = queue_extent(random, most),
                           .n = queue_extent(random, most),
                           .rows = (sparse_rows)random_below(random, N_ROWS),
                           .alpha = 1,
                           .beta = (double)(seed % 3),
                           .with_plan = seed % 2};
    spmm_run(ctx, &one);
}

// Each product has queues of its own.
static void test_two_products_of_one_plan(void **state)
{
    const queue_setting *b = *state;
    cl_command_queue one = queue_with(b->ctx, 0), other = queue_with(b->ctx, 0);
    for (uint64_t seed = 0; seed < 8; seed++) {
        spmm_operands first, second;
        spmm_case of =
            case_of((queue_pick){.variant = QUEUED, .seed = seed, .is_reduced = b->is_reduced});
        spmm_create(&first, b->ctx, one, &of);
        of.alpha = 3;
        spmm_create(&second, b->ctx, other, &of);
        weft_spmm_params params = spmm_params(&second);
        params.plan = first.plan;
        spmm_call(&first);
        assert_ok(
            weft_spmm(b->ctx, other, of.alpha, &second.A, &second.B, of.beta, &second.C, &params));
        clFlush(one);
        clFlush(other);
        spmm_check(&first);
        spmm_check(&second);
        spmm_destroy(&first);
        spmm_destroy(&second);
    }
    clReleaseCommandQueue(one);
    clReleaseCommandQueue(other);
}

int main(void)
{
    static const queue_subject spmm = {.n_variants = N_VARIANTS,
                                       .n_scratch = 2,
                                       .create = create,
                                       .destroy = destroy,
                                       .view = view,
                                       .call = call,
                                       .check = check,
                                       .run_any = run_any,
                                       .here = {1000, 60},
                                       .on_a_gpu = {150, 12},
                                       .most_vectorized = 12,
                                       .most_spread = 12};
    static const struct CMUnitTest more[] = {cmocka_unit_test(test_two_products_of_one_plan)};
    return queue_main(&spmm, more, 1);
}
