// SPDX-License-Identifier: Apache-2.0
// Host memory runs out: the n-th allocation of the library fails, for every n.
#include <weft/csr.h>

#include "runtime/workspace.h"

#include "runtime.h"
#include "short_memory.h"

static void ignore(void *user, weft_log_level level, const char *message)
{
    (void)user;
    (void)level;
    assert_non_null(message);
}

// One row of two, with its three arrays.
static weft_status take_row(void)
{
    static const weft_csr_host nothing;
    const weft_csr_host host = {.n_rows = 2,
                                .n_cols = 3,
                                .nnz = 3,
                                .offsets = (int32_t[]){0, 1, 3},
                                .indices = (int32_t[]){1, 0, 2},
                                .values = (float[]){5, 6, 7}};
    weft_csr_host row;
    const weft_status status = weft_csr_host_rows(&row, &host, 1, 1);
    if (status == WEFT_OK)
        assert_int_equal(row.nnz, 2);
    else
        assert_memory_equal(&row, &nothing, sizeof(row));
    weft_csr_host_destroy(&row);
    return status;
}

// Opens a context, builds or loads a program, takes scratch memory and a row of a matrix. What
// worked is checked.
static weft_status use_all(void *cache)
{
    weft_context *ctx = NULL;
    weft_kernel *up = NULL, *down = NULL;
    cl_mem scratch = NULL;
    const weft_defines defines = step_defines(2);
    weft_status status = weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = cache, .log = ignore));
    if (status == WEFT_OK)
        status = weft_kernel_get(ctx, &step_source, &defines, "step_up", &up);
    if (status == WEFT_OK)
        status = weft_kernel_get(ctx, &step_source, &defines, "step_down", &down);
    if (status == WEFT_OK)
        status = weft_workspace_take(ctx, weft_context_queue(ctx), "op", 1000, &scratch);
    if (status == WEFT_OK) {
        weft_workspace_give(ctx, weft_context_queue(ctx), scratch, NULL);
        run_step(ctx, up, 2, 3);
        run_step(ctx, down, 1, 0);
    }
    weft_context_destroy(&ctx);
    return status == WEFT_OK ? take_row() : status;
}

static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    char cache[600];
    int n_refused;
    const int n_compiling = fail_each_allocation(use_all, "", &n_refused);
    assert_in_range(n_compiling, 15, 200);
    assert_in_range(n_refused, 10, n_compiling);
    snprintf(cache, sizeof(cache), "%s/memory-cache", test_dir());
    const int n_loading = fail_each_allocation(use_all, cache, &n_refused);
    assert_in_range(n_loading, n_compiling, 200);
    assert_in_range(n_refused, 10, n_loading);
}

static void test_messages_without_memory(void **state)
{
    (void)state;
    for (int n = 1; n < 40; n++) {
        weft_context *ctx;
        weft_kernel *kernel;
        weft_defines wrong = {0};
        weft_defines_add_word(&wrong, "FACTOR", "no_such_name");
        assert_ok(weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "", .log = ignore)));
        countdown = n;
        const weft_status status = weft_kernel_get(ctx, &step_source, &wrong, "step_up", &kernel);
        countdown = 0;
        assert_true(status == WEFT_BUILD_FAILED || status == WEFT_NO_MEMORY);
        assert_null(kernel);
        weft_context_destroy(&ctx);
    }
}

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test_setup(test_messages_without_memory, restore_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
