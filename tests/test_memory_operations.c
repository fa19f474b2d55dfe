// SPDX-License-Identifier: Apache-2.0
// Host memory runs out under every operation: the n-th allocation fails, for every n, with kernels
// that come from disk.
#include "operation_case.h"

#include "short_memory.h"

static operation_operands o;
static operation_results wanted, got;
static char kernels[600]; // a folder of compiled programs

// With operations that look into their matrices, which takes memory, too.
static weft_context *open_checking(void)
{
    weft_context *ctx;
    assert_ok(weft_context_create(&ctx, o.cl, o.device,
                                  WEFT_CONTEXT(.cache_dir = kernels, .check_matrices = true)));
    return ctx;
}

// In a context of its own, for which there is memory. Results are checked; without a kernel on the
// way there are none.
static weft_status use(void *user)
{
    const operation_case *of = user;
    const int meant = countdown;
    countdown = 0;
    operation_clear(&o);
    weft_context *ctx = open_checking();
    countdown = meant;
    const weft_status status = of->run(&o, ctx);
    const bool has_run = weft_context_get_stats(ctx).launches > 0;
    operation_read(&o, &got);
    weft_context_destroy(&ctx);
    if (status == WEFT_OK)
        assert_memory_equal(&got, &wanted, sizeof(got));
    else if (!has_run)
        assert_true(operation_is_clear(&got));
    return status;
}

static void test_every_allocation_may_fail(void **state)
{
    const operation_case *of = *state;
    int n_refused;
    weft_context *ctx = open_checking();
    for (int i = 0; i < 2; i++) { // as they come from the compiler, and from disk
        operation_clear(&o);
        assert_ok(of->run(&o, ctx));
        operation_read(&o, &wanted);
    }
    weft_context_destroy(&ctx);
    assert_true(operation_is_clear(&wanted) == of->writes_nothing);
    const int n = fail_each_allocation(use, (void *)(uintptr_t)of, &n_refused);
    assert_in_range(n_refused, 10, n);
    print_message("# %s: %d allocations failed, %d of them done without\n", of->name, n,
                  n - n_refused);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(kernels, sizeof(kernels), "%s/kernels", test_dir());
    operation_operands_create(&o);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    operation_operands_destroy(&o);
    return 0;
}

int main(void)
{
    need_device();
    // The last case prepares what all others do, from disk each time.
    const size_t n = getenv("WEFT_TEST_REDUCED") ? OPERATION_CASES - 1 : OPERATION_CASES;
    struct CMUnitTest tests[OPERATION_CASES] = {{0}};
    for (size_t i = 0; i < n; i++)
        tests[i] = (struct CMUnitTest){.name = operation_cases[i].name,
                                       .test_func = test_every_allocation_may_fail,
                                       .setup_func = restore_memory,
                                       .initial_state = (void *)(uintptr_t)&operation_cases[i]};
    return _cmocka_run_group_tests("host memory", tests, n, set_up, tear_down);
}
