// SPDX-License-Identifier: Apache-2.0
// Running sums on the device against a plain loop, for groups of every shape.
#include "op/scan.h"

#include "format_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

typedef struct scan_case {
    weft_dtype dtype;
    int64_t n;
    int items;
    int64_t tiles; // of a group; 0: as planned
    bool in_place, has_total;
} scan_case;

static const int64_t TILE = WEFT_SCAN_RUN;

static weft_scan scan_of(const scan_case *of)
{
    weft_scan scan = weft_scan_for(weft_context_limits(ctx), of->items, of->dtype, of->n);
    if (of->tiles > 0) {
        scan.span = of->tiles * TILE * of->items;
        scan.n_groups = of->n > 0 ? (of->n + scan.span - 1) / scan.span : 1;
    }
    return scan;
}

// Numbers around 2^31 for i64, so that sums leave the range of an int.
static void draw(int64_t *numbers, int64_t *sums, const scan_case *of, random_state *random)
{
    const int64_t most = of->dtype == WEFT_I64 ? INT64_C(1) << 32 : 1000;
    sums[0] = 0;
    for (int64_t i = 0; i < of->n; i++) {
        numbers[i] = random_below(random, most);
        sums[i + 1] = sums[i] + numbers[i];
    }
}

static void scan_run(const scan_case *of, uint64_t seed)
{
    random_state random = {seed};
    const size_t size = weft_dtype_size(of->dtype);
    const int64_t n_out = of->n + of->has_total;
    int64_t *numbers = new_array(of->n + 1, sizeof(int64_t));
    int64_t *sums = new_array(of->n + 1, sizeof(int64_t));
    draw(numbers, sums, of, &random);
    void *data = narrowed(numbers, of->in_place ? n_out : of->n, of->dtype);
    void *want = narrowed(sums, n_out, of->dtype);
    weft_scan scan = scan_of(of);
    guarded in = guarded_create(ctx, data, of->in_place ? n_out : of->n, size, 3);
    guarded out = guarded_create(ctx, NULL, n_out, size, 2);
    guarded between = guarded_create(ctx, data, 0, size, scan.n_groups + 1);
    const weft_numbers from = {in.buffer, 3}, to = {out.buffer, 2}, room = {between.buffer, 1};

    size_t most = (size_t)of->items;
    assert_ok(weft_scan_kernels(&scan, ctx, &most));
    weft_launch launch;
    assert_ok(weft_launch_begin(&launch, ctx, queue, "scan", 0, NULL, false));
    assert_ok(
        weft_scan_enqueue(&launch, &scan, from, of->in_place ? from : to, of->has_total, room));
    assert_ok(weft_launch_end(&launch, WEFT_OK, NULL));
    guarded_check(of->in_place ? &in : &out, queue, want, "sums");

    guarded_destroy(&in);
    guarded_destroy(&out);
    guarded_destroy(&between);
    free(data);
    free(want);
    free(numbers);
    free(sums);
}

static void test_every_length(void **state)
{
    (void)state;
    static const int items[] = {1, 4, 32};
    static const int64_t lengths[] = {0,  1,  2,  7,   8,   9,   31,  32,  33,  64,
                                      65, 95, 96, 255, 256, 257, 511, 512, 513, 2000};
    for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
        for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j += is_reduced ? 3 : 1)
            for (int64_t tiles = 0; tiles < 4; tiles++) {
                const scan_case of = {.dtype = (j + (size_t)tiles) % 2 ? WEFT_I32 : WEFT_I64,
                                      .n = lengths[j],
                                      .items = items[i],
                                      .tiles = tiles,
                                      .in_place = j % 3 == 1,
                                      .has_total = (j / 2 + (size_t)tiles) % 2};
                scan_run(&of, 100 * j + (uint64_t)tiles);
            }
}

static void test_many_groups(void **state)
{
    (void)state;
    static const int items[] = {1, 4, 32};
    for (int i = 0; i < 3; i++) {
        const scan_case of = {.dtype = WEFT_I32,
                              .n = is_reduced ? 5000 : 300001,
                              .items = items[i],
                              .tiles = i % 2,
                              .has_total = true};
        scan_run(&of, (uint64_t)i);
    }
}

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_many_groups),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
