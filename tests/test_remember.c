// SPDX-License-Identifier: Apache-2.0
// What a context remembers of calls. A second call like the first plans nothing, looks for no
// kernel, compiles nothing, allocates nothing and gives the same; one that differs in one thing
// gives what it gives in a new context. The calls are those of remember_case.c.
#include "remember_case.h"

#include <inttypes.h>
#include <limits.h>

#include "runtime/memo.h"
#include "runtime/program.h"
#include "short_memory.h"

static operation_operands o;
static weft_context *shared; // of all conversions
static int n_asked, n_found; // calls that contexts were asked for, and knew
static int n_kernels;        // that were looked for

bool __real_weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state,
                           size_t state_bytes);
bool __wrap_weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state,
                           size_t state_bytes);
weft_status __real_weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                                      const weft_source *source, const weft_defines *defines,
                                      const char *name);
weft_status __wrap_weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                                      const weft_source *source, const weft_defines *defines,
                                      const char *name);

bool __wrap_weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state,
                           size_t state_bytes)
{
    const bool is_found = __real_weft_memo_find(memo, key, state, state_bytes);
    ++n_asked;
    n_found += is_found;
    return is_found;
}

weft_status __wrap_weft_kernel_narrow(weft_kernel **out, size_t *most, weft_context *ctx,
                                      const weft_source *source, const weft_defines *defines,
                                      const char *name)
{
    ++n_kernels;
    return __real_weft_kernel_narrow(out, most, ctx, source, defines, name);
}

// ---- what a context answers

typedef struct answer {
    weft_status status;
    char message[512];
    uint64_t launches;
    operation_results results;
} answer;

static void ask(answer *to, const remembered_case *of, weft_context *ctx, const given *by)
{
    operation_clear(&o);
    const uint64_t before = weft_context_get_stats(ctx).launches;
    to->status = of->call(&o, ctx, by);
    snprintf(to->message, sizeof(to->message), "%s",
             to->status == WEFT_OK ? "" : weft_last_error());
    to->launches = weft_context_get_stats(ctx).launches - before;
    operation_read(&o, &to->results);
}

static bool are_equal(const answer *a, const answer *b)
{
    return a->status == b->status && strcmp(a->message, b->message) == 0 &&
           a->launches == b->launches && memcmp(&a->results, &b->results, sizeof(a->results)) == 0;
}

static void check_status(const answer *got, const remembered_case *of, const given *by,
                         const char *name)
{
    if (got->status != by->wanted)
        fail_msg("%s, %s: %s, not %s: %s", of->name, name, weft_status_name(got->status),
                 weft_status_name(by->wanted), got->message);
}

static void check_answer(const answer *got, const answer *wanted, const char *what,
                         const char *name)
{
    if (!are_equal(got, wanted))
        fail_msg("%s, %s: %s \"%s\", %" PRIu64 " kernels, where a new context gives %s \"%s\", "
                 "%" PRIu64 " kernels and results that are %s",
                 what, name, weft_status_name(got->status), got->message, got->launches,
                 weft_status_name(wanted->status), wanted->message, wanted->launches,
                 memcmp(&got->results, &wanted->results, sizeof(got->results)) ? "others"
                                                                               : "the same");
}

static weft_context *new_context(void)
{
    weft_context *ctx;
    assert_ok(weft_context_create(&ctx, o.cl, o.device, WEFT_CONTEXT(.cache_dir = "")));
    return ctx;
}

static void ask_anew(answer *to, const remembered_case *of, const given *by)
{
    weft_context *ctx = new_context();
    ask(to, of, ctx, by);
    weft_context_destroy(&ctx);
}

// One call more, and what it takes.
static void check_no_work(const remembered_case *of, weft_context *ctx, const given *by,
                          const char *name)
{
    const weft_context_stats before = weft_context_get_stats(ctx);
    n_asked = n_found = n_kernels = 0;
    countdown = INT_MAX;
    assert_ok(of->call(&o, ctx, by));
    const int n_allocated = INT_MAX - countdown;
    countdown = 0;
    const weft_context_stats after = weft_context_get_stats(ctx);
    if (n_asked == 0 || n_found < n_asked || n_kernels > 0 || n_allocated > 0 ||
        after.programs_built > before.programs_built ||
        after.programs_loaded > before.programs_loaded)
        fail_msg("%s, %s: of %d later calls %d are known; they look for %d kernels, allocate %d "
                 "times and build %" PRIu64 " programs",
                 of->name, name, n_asked, n_found, n_kernels, n_allocated,
                 after.programs_built - before.programs_built);
}

// The answer is the same, and nothing is planned for it. What is refused is not remembered.
static void check_again(const remembered_case *of, weft_context *ctx, const given *by,
                        const answer *wanted, const char *name)
{
    answer got;
    ask(&got, of, ctx, by);
    check_answer(&got, wanted, of->name, name);
    if (wanted->status == WEFT_OK)
        check_no_work(of, ctx, by, name);
}

// A call that the context may not know yet, and then knows.
static void check_new(const remembered_case *of, weft_context *ctx, const given *by,
                      const answer *wanted, const char *name)
{
    answer got;
    ask(&got, of, ctx, by);
    check_answer(&got, wanted, of->name, name);
    check_again(of, ctx, by, wanted, name);
}

static bool is_conversion(const remembered_case *of)
{
    return of >= &remembered_cases[FIRST_CONVERSION];
}

static void test_calls_that_differ_in_one_thing(void **state)
{
    const remembered_case *of = *state;
    const given plain = {0};
    answer first, wanted;
    weft_context *ctx = is_conversion(of) ? shared : new_context();
    ask_anew(&first, of, &plain);
    check_status(&first, of, &plain, "the first call");
    check_new(of, ctx, &plain, &first, "the first call");
    for (const change *c = of->changes; c->name; ++c) {
        ask_anew(&wanted, of, &c->by);
        check_status(&wanted, of, &c->by, c->name);
        if (are_equal(&wanted, &first) != c->by.changes_nothing)
            fail_msg("%s, %s: what %s", of->name, c->name,
                     c->by.changes_nothing ? "should change nothing does" : "changes is the same");
        check_new(of, ctx, &c->by, &wanted, c->name);
    }
    check_again(of, ctx, &plain, &first, "after all others");
    if (ctx != shared)
        weft_context_destroy(&ctx);
}

// Values that are not read may be no buffer at all: nobody asks OpenCL about them.
static void test_values_that_are_not_read(void **state)
{
    static const max_align_t no_buffer[64];
    (void)state;
    weft_csr M = o.A;
    M.values = (cl_mem)(uintptr_t)no_buffer;
    const weft_tensor D = {o.outputs[0], WEFT_F32, 0, 1, {M.nnz}, {1}};
    const weft_tensor out = weft_matrix(o.outputs[1], WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    assert_int_equal(weft_sparse_softmax(shared, o.queue, 1, NULL, NULL, NULL), WEFT_BAD_ARGUMENT);
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(
            weft_sddmm(shared, o.queue, 1, &o.X, &o.Y, &M, 0, &D, WEFT_SDDMM(.indicator = true)));
        assert_ok(weft_sparse_attention(shared, o.queue, 1, &o.X, &o.Y, &o.Z, &M, &out, NULL));
        assert_ok(weft_sparse_linear_dw(shared, o.queue, &o.X, &o.Y, &M, &D, NULL));
    }
    assert_string_equal(weft_last_error(), "sparse_softmax: X is NULL");
}

// Where it takes long, the check without --long has the conversions alone.
static bool has_time_for(const remembered_case *of)
{
    const bool is_slow = is_on("rusticl") || is_on("intel");
    return is_conversion(of) || !is_slow || !getenv("WEFT_TEST_SHORT");
}

enum { TESTS = REMEMBERED_CASES + 1 };

static size_t list(struct CMUnitTest tests[TESTS])
{
    size_t n = 0;
    for (int i = 0; i < REMEMBERED_CASES; i++)
        if (has_time_for(&remembered_cases[i]))
            tests[n++] =
                (struct CMUnitTest){.name = remembered_cases[i].name,
                                    .test_func = test_calls_that_differ_in_one_thing,
                                    .setup_func = restore_memory,
                                    .initial_state = (void *)(uintptr_t)&remembered_cases[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_values_that_are_not_read);
    return n;
}

int main(void)
{
    need_device();
    struct CMUnitTest tests[TESTS] = {{0}};
    const size_t n = list(tests);
    operation_operands_create(&o);
    shared = new_context();
    const int failed = _cmocka_run_group_tests("remember", tests, n, NULL, NULL);
    // Kernels that rusticl still compiles when main() returns find LLVM taken apart.
    clFinish(o.queue);
    weft_context_destroy(&shared);
    operation_operands_destroy(&o);
    return failed;
}
