// SPDX-License-Identifier: Apache-2.0
// Matrix products among other work, and in a batch.
#include "dense/matmul_tiling.h"
#include "matmul_case.h"
#include "queue_case.h"

// Both kernels of a product: chunks of k, and what puts them together.
static const weft_matmul_tiling in_chunks = {.method = WEFT_MATMUL_BLOCKS,
                                             .vector_width = 2,
                                             .vectors = 2,
                                             .rows = 2,
                                             .items = 1,
                                             .items_y = 1,
                                             .depth = 4,
                                             .block_rows = 8,
                                             .block_columns = 8,
                                             .chunk = 16};

static const weft_matmul_tiling *const variants[] = {&in_chunks, NULL};

static void *create(weft_context *ctx, cl_command_queue queue, queue_pick pick)
{
    const matmul_case of = {.seed = pick.seed,
                            .m = 40,
                            .n = 19,
                            .k = pick.takes        ? 19
                                 : pick.is_reduced ? 20
                                                   : 150,
                            .numbers = FRACTIONS,
                            .formula = &matmul_bias,
                            .alpha = 0.7,
                            .beta = pick.seed % 2 ? 0.3 : 0,
                            .tiling = variants[pick.variant]};
    matmul_operands *o = malloc(sizeof(*o));
    assert_non_null(o);
    matmul_create(o, ctx, queue, &of);
    return o;
}

static void destroy(void *operands)
{
    matmul_destroy(operands);
    free(operands);
}

static queue_view view(const void *operands)
{
    const matmul_operands *o = operands;
    return (queue_view){.seed = o->of.seed,
                        .queue = o->queue,
                        .has_workspace = o->workspace,
                        .output = o->c.t.buffer,
                        .late = o->b.t.buffer,
                        .output_bytes = o->c.bytes,
                        .output_before = o->c.memory};
}

// Chained: the second one's A is the first one's C.
static weft_status call(const void *operands, const queue_call *how)
{
    const matmul_operands *o = operands, *first = how->made_by;
    weft_matmul_params params = matmul_params(o);
    QUEUE_CALL_BY(&params, how);
    const weft_tensor *A = first ? &first->c.t : &o->a.t;
    return weft_matmul(o->ctx, o->queue, o->of.alpha, A, &o->b.t, o->of.beta, &o->c.t, &params);
}

static void check(const void *operands)
{
    matmul_check(operands);
}

static void run_any(weft_context *ctx, uint64_t seed, random_state *random, int64_t most)
{
    const matmul_case one = {
        .seed = seed,
        .m = queue_extent(random, most),
        .n = queue_extent(random, most),
        .k = queue_extent(random, most),
        .n_batch = (int)random_below(random, 3),
        .batch = {random_between(random, 1, 3), random_between(random, 1, 3)},
        .a = {.layout = (strided_layout)random_below(random, N_LAYOUTS)},
        .b = {.layout = (strided_layout)random_below(random, N_LAYOUTS)},
        .c = {.layout = (strided_layout)random_below(random, LAYOUT_REPEATING)},
        .alpha = 1,
        .beta = (double)(seed % 3),
    };
    matmul_run(ctx, &one);
}

// One matrix of a batch as a call of its own.
static void multiply_alone(const matmul_operands *o, int64_t at)
{
    weft_matmul_params params = matmul_params(o);
    params.workspace = NULL;
    weft_tensor A = o->a.t, B = o->b.t, C = o->c.t;
    weft_tensor *const views[] = {&A, &B, &C};
    for (int i = 0; i < 3; i++) {
        weft_tensor *t = views[i];
        t->offset += at * t->stride[0];
        t->ndim = 2;
        memmove(t->shape, t->shape + 1, 2 * sizeof(int64_t));
        memmove(t->stride, t->stride + 1, 2 * sizeof(int64_t));
    }
    assert_ok(weft_matmul(o->ctx, o->queue, o->of.alpha, &A, &B, o->of.beta, &C, &params));
}

static void check_batch_and_alone(const queue_setting *b, weft_context *there, matmul_case of)
{
    matmul_operands o;
    of.n_batch = 1;
    of.numbers = FRACTIONS;
    of.alpha = 0.7;
    of.beta = 0.3;
    matmul_create(&o, there, weft_context_queue(there), &of);
    matmul_call(&o);
    matmul_check(&o);
    void *want = strided_read(&o.c, o.queue);
    matmul_restore(&o);
    for (int64_t at = 0; at < of.batch[0]; at++)
        multiply_alone(&o, at);
    queue_check_same_bits(b->subject, &o, want, "alone and in a batch");
    free(want);
    matmul_destroy(&o);
}

// Whatever is in the batch besides; k so long that it is cut into chunks.
static void test_same_bits_alone_and_in_a_batch(void **state)
{
    const queue_setting *b = *state;
    static const int64_t shapes[][3] = {{5, 7, 900}, {1, 30, 200}, {33, 1, 60}, {40, 41, 42}};
    weft_context *gpu = open_context(weft_profile_find("nvidia-a100"));
    for (int i = 0; i < 4; i++)
        for (int64_t n_batches = 1; n_batches <= (b->is_reduced ? 3 : 12); n_batches += 2) {
            const matmul_case of = {.seed = (uint64_t)(40 + i), // the pool's scratch memory
                                    .m = shapes[i][0],
                                    .n = shapes[i][1],
                                    .k = b->is_reduced ? 20 : shapes[i][2],
                                    .batch = {n_batches}};
            check_batch_and_alone(b, b->ctx, of);
            if (!b->is_reduced)
                check_batch_and_alone(b, gpu, of);
        }
    weft_context_destroy(&gpu);
}

int main(void)
{
    static const queue_subject matmul = {.n_variants = 2,
                                         .n_scratch = 1,
                                         .create = create,
                                         .destroy = destroy,
                                         .view = view,
                                         .call = call,
                                         .check = check,
                                         .run_any = run_any,
                                         .here = {1000, 40},
                                         .on_a_gpu = {150, 8},
                                         .most_vectorized = 6,
                                         .most_spread = 16};
    static const struct CMUnitTest more[] = {cmocka_unit_test(test_same_bits_alone_and_in_a_batch)};
    return queue_main(&matmul, more, 1);
}
