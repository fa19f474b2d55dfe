// SPDX-License-Identifier: Apache-2.0
// weft_spmm_host() where each of its OpenCL calls fails: rows that are said to be finished are, the
// others are not counted, nothing remains, and the next call works. And devices with little memory.
#include <inttypes.h>

#include "spmm_host_case.h"

#include "fault_layer.h"

static layer_faults *layer;
static weft_context *ctx;

// Several blocks each way, with transfers of all kinds: of rectangles, of parts that the host
// gathers, and of whole arrays.
static const spmm_host_case cases[] = {
    {.m = 60, .k = 150, .n = 96, .mean = 6, .alpha = 1, .beta = 1, .has_bias = true},
    {.m = 60, .k = 40, .n = 9, .mean = 6, .alpha = 1, .c_layout = HOST_COLUMNS},
};

// After a call that ended with `status` while its only fault was the layer's.
static void check_after(const spmm_host_operands *o, weft_status status)
{
    char words[80];
    if (status == WEFT_OK) { // where an object could not be released, which harms nothing
        assert_int_equal(o->done, o->of.m);
        spmm_host_check(o);
        return;
    }
    assert_in_range(o->done, 0, o->of.m);
    if (!strstr(weft_last_error(), " of C ")) { // before the first block
        assert_int_equal(o->done, 0);
        assert_memory_equal(o->c_memory, o->c_before, o->c_bytes);
        return;
    }
    snprintf(words, sizeof(words), "; rows 0 to %" PRId64 " of C are finished", o->done - 1);
    assert_says(o->done > 0 ? words : "; no row of C is finished");
    spmm_host_check_rows(o, o->done);
}

static void test_each_call_fails(void **state)
{
    (void)state;
    int n_failed = 0, n_partly = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        spmm_host_operands o;
        spmm_host_blocks blocks;
        spmm_host_create(&o, ctx, &cases[i]);
        spmm_host_want(&o);
        const uint64_t bytes = spmm_host_least(&o);
        assert_true(spmm_host_blocks_of(&blocks, &o, bytes));
        assert_in_range(blocks.n_rows, 3, 1000);
        assert_ok(spmm_host_call(&o, bytes));
        long live[LAYER_OBJECTS];
        memcpy(live, layer->live, sizeof(live));
        const long long buffer_bytes = layer->buffer_bytes;
        for (layer->fails_at = 1;; layer->fails_at++) {
            layer->n_calls = 0;
            layer->call = NULL;
            layer->watches = true;
            const weft_status status = spmm_host_call(&o, bytes);
            layer->watches = false;
            if (!layer->call) {
                assert_ok(status);
                break;
            }
            check_after(&o, status);
            n_failed += status != WEFT_OK;
            n_partly += status != WEFT_OK && o.done > 0;
            assert_memory_equal(layer->live, live, sizeof(live));
            assert_int_equal(layer->buffer_bytes, buffer_bytes);
        }
        assert_ok(spmm_host_call(&o, bytes));
        spmm_host_check(&o);
        spmm_host_destroy(&o);
    }
    print_message("# %d calls failed, %d of them with some rows finished\n", n_failed, n_partly);
    assert_in_range(n_partly, 5, n_failed);
}

// Half of the device's memory, in buffers no larger than it has; or as much as it has left.
static void test_a_small_device(void **state)
{
    (void)state;
    spmm_host_operands o;
    spmm_host_blocks blocks;
    layer->most_of_one = 32 << 10;
    layer->most_of_all = 128 << 10;
    weft_context *small = open_context(NULL);
    layer->most_of_one = layer->most_of_all = 0;
    spmm_host_create(&o, small,
                     &(spmm_host_case){.m = 700, .k = 200, .n = 64, .mean = 9, .alpha = 1});
    spmm_host_want(&o);
    layer->most_of_one = 32 << 10;
    layer->most_of_all = layer->buffer_bytes + (64 << 10);
    assert_true(spmm_host_blocks_of(&blocks, &o, 0));
    assert_in_range(blocks.bytes, 16 << 10, 64 << 10);
    assert_in_range(blocks.n_columns, 2, 64);
    assert_ok(spmm_host_call(&o, 0));
    spmm_host_check(&o);
    layer->most_of_all = layer->buffer_bytes + (16 << 10);
    assert_int_equal(spmm_host_call(&o, 0), WEFT_NO_MEMORY);
    assert_says("spmm_host: clCreateBuffer (");
    assert_int_equal(o.done, 0);
    assert_memory_equal(o.c_memory, o.c_before, o.c_bytes);
    spmm_host_destroy(&o);
    weft_context_destroy(&small);
}

static int set_up_one(void **state)
{
    (void)state;
    restore_layer(layer);
    return 0;
}

int main(void)
{
    need_device();
    layer = need_layer();
    ctx = open_context(NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_call_fails, set_up_one),
        cmocka_unit_test_setup(test_a_small_device, set_up_one),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    restore_layer(layer);
    weft_context_destroy(&ctx);
    return failed;
}
