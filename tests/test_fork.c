// SPDX-License-Identifier: Apache-2.0
// fork() beside OpenCL: what a child may do, and what it is refused in place of waiting for ever.
#define _POSIX_C_SOURCE 200809L // fork
#include <sys/wait.h>
#include <unistd.h>

#include "operation_case.h"

enum { CHILD_SECONDS = 60 };

// What a child says goes to the standard error of the test, and its number of faults is its status:
// assertions would leave it in the parent's tests.
static int n_faults;

static void expect(bool is_so, const char *what)
{
    if (is_so)
        return;
    n_faults++;
    fprintf(stderr, "%s: \"%s\"\n", what, weft_last_error());
}

static void expect_refused(weft_status status, const char *what)
{
    expect(status == WEFT_UNSUPPORTED && strstr(weft_last_error(), "was forked from"), what);
}

// How many faults `act` found in a child; one more where it did not come to its end.
static int in_child(void (*act)(void))
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_SECONDS);
        act();
        _exit(n_faults);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    if (WIFSIGNALED(status))
        fprintf(stderr, "the child ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// ---- of a process that has used OpenCL

static operation_operands operands;
static weft_context *ctx;
static weft_spmm_plan *plan;
static weft_csr matrix;

// The context is refused first: a case has no queue to finish, which would be waited for.
static void run_operations(void)
{
    operands.queue = NULL;
    for (int i = 0; i < OPERATION_CASES; i++)
        expect_refused(operation_cases[i].run(&operands, ctx), operation_cases[i].name);
}

static void open_contexts(void)
{
    weft_context *own = ctx;
    weft_limits limits;
    expect_refused(weft_context_open(&own, NULL), "weft_context_open");
    expect(own == NULL, "out");
    expect_refused(weft_context_create(&own, operands.cl, operands.device, NULL),
                   "weft_context_create");
    expect_refused(weft_limits_query(operands.device, &limits), "weft_limits_query");
    expect_refused(weft_rehearsal_create(&own, NULL, ctx), "weft_rehearsal_create");
}

// Questions are answered, and what the parent made is left to it.
static void look_and_destroy(void)
{
    char text[256];
    expect(weft_context_cl(ctx) == operands.cl, "weft_context_cl");
    expect(weft_context_limits(ctx)->compute_units > 0, "weft_context_limits");
    expect(weft_context_get_stats(ctx).scratch_bytes == 0, "weft_context_get_stats");
    expect(weft_spmm_describe(ctx, &operands.A, &operands.X, &operands.Y, NULL, text,
                              sizeof(text)) == -1,
           "weft_spmm_describe");
    weft_csr_destroy(&matrix);
    weft_spmm_plan_destroy(&plan);
    weft_context_destroy(&ctx);
    expect(matrix.values == NULL && plan == NULL && ctx == NULL, "destroyed");
}

// No OpenCL in it.
static void rehearse(void)
{
    weft_context *alone = NULL;
    expect(weft_rehearsal_create(&alone, weft_profile_at(0), NULL) == WEFT_OK, "rehearsal");
    const weft_tensor X = weft_matrix(weft_rehearsal_buffer(alone, NULL), WEFT_F32, 4, 4);
    const weft_tensor Y = weft_matrix(weft_rehearsal_buffer(alone, NULL), WEFT_F32, 4, 4);
    expect(weft_softmax(alone, NULL, 1, &X, 1, &Y, NULL) == WEFT_OK, "rehearsed");
    weft_context_destroy(&alone);
}

static void test_calls_in_a_child_are_refused(void **state)
{
    (void)state;
    assert_int_equal(in_child(run_operations), 0);
    assert_int_equal(in_child(open_contexts), 0);
}

static void test_a_child_looks_and_destroys(void **state)
{
    (void)state;
    assert_int_equal(in_child(look_and_destroy), 0);
    assert_int_equal(in_child(rehearse), 0);
}

static void test_the_parent_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_ok(operation_cases[i].run(&operands, ctx));
    assert_int_equal(clFinish(operands.queue), CL_SUCCESS);
}

// ---- of a process that has not

// Before the first OpenCL call of this one.
static int n_faults_before;

static void multiply(void)
{
    operation_operands own = {0};
    weft_context *fresh = NULL;
    const weft_status status = weft_context_open(&fresh, WEFT_CONTEXT(.cache_dir = ""));
    if (status == WEFT_NO_DEVICE)
        return;
    expect(status == WEFT_OK, "weft_context_open");
    weft_context_destroy(&fresh);
    operation_operands_create(&own);
    expect(weft_context_create(&fresh, own.cl, own.device, WEFT_CONTEXT(.cache_dir = "")) ==
               WEFT_OK,
           "weft_context_create");
    expect(operation_cases[0].run(&own, fresh) == WEFT_OK, operation_cases[0].name);
    expect(clFinish(own.queue) == CL_SUCCESS, "clFinish");
    weft_context_destroy(&fresh);
    operation_operands_destroy(&own);
}

static void test_a_child_of_before_has_its_own(void **state)
{
    (void)state;
    assert_int_equal(n_faults_before, 0);
}

static int set_up(void **state)
{
    (void)state;
    operation_operands_create(&operands);
    assert_ok(
        weft_context_create(&ctx, operands.cl, operands.device, WEFT_CONTEXT(.cache_dir = "")));
    assert_ok(weft_csr_create(&matrix, ctx, operands.queue, &operands.host));
    assert_ok(weft_spmm_plan_create(&plan, ctx, operands.queue, &matrix, NULL));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    weft_spmm_plan_destroy(&plan);
    weft_csr_destroy(&matrix);
    weft_context_destroy(&ctx);
    operation_operands_destroy(&operands);
    return 0;
}

int main(void)
{
    n_faults_before = in_child(multiply);
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_of_before_has_its_own),
        cmocka_unit_test(test_calls_in_a_child_are_refused),
        cmocka_unit_test(test_a_child_looks_and_destroys),
        cmocka_unit_test(test_the_parent_goes_on),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
