// SPDX-License-Identifier: Apache-2.0
// What every operation refuses by its table, and what its table lets pass. The test stands between
// the public functions and the driver: each call that a case makes is made once with each thing
// wrong, and with any two that are told at different steps, before its state is known and after.
// Whatever is wrong, the sentence is the right one, nothing is enqueued and nothing is written, and
// the good call gives the same bits as if nothing had been.
#include "refusals.h"

#include <ctype.h>

enum { MOST_BYTES = OPERATION_BYTES };

weft_status __real_weft_op_run(const weft_call *call, cl_command_queue queue);
weft_status __wrap_weft_op_run(const weft_call *call, cl_command_queue queue);
weft_status __real_weft_params_read(void *own, size_t bytes, const void *given, const char *what,
                                    const char *macro);
weft_status __wrap_weft_params_read(void *own, size_t bytes, const void *given, const char *what,
                                    const char *macro);

static operation_operands o;
static places there;
static bool watches;      // calls, to try what they refuse
static size_t wrong_size; // of params that are given; 0: what they have
static char reader[64];   // whose params were read last
static weft_context *ctx; // of the running case
static refusal refusals[MOST_REFUSALS];

// ---- what the headers promise

// Of each table, by operands: arrays that are read (o, i, v: offsets, indices, values), that are
// written (O, I, V) and that may be missing (?v); `?` behind a name where the operand may; what an
// output may be itself; and data types that others have not. And whether some case of the operation
// wants scratch memory.
static const struct {
    const char *op, *operands;
    bool wants_scratch;
} promises[] = {
    {"softmax", "X v, Y V = X", true},
    {"log_softmax", "X v, Y V = X", false},
    {"softmax_backward", "Y v, dY v, dX V = Y dY", false},
    {"log_softmax_backward", "Y v, dY v, dX V = Y dY", true},
    {"norm", "X v, weight? v, bias? v, Y V = X", true},
    {"norm_backward", "X v, dY v, weight? v, dX V = X dY, dW? V, db? V", true},
    {"reduce", "X v, Y V", true},
    {"matmul", "C V i8 = input , A v i8, B v i8, input  v i8", true},
    {"elementwise", " V = input , input  v", false},
    {"spmm", "A? o, A oiv, B v, C V, bias? v, arguments? V", true},
    {"sparse_linear", "W?, W oiv, X v, Y V, bias? v", false},
    {"sparse_linear_dx", "W?, W oiv, dY v, dX V", false},
    {"sparse_linear_dw", "dY v, X v, W oiv, dW V", false},
    {"sddmm", "A v, B v, C oiv, D V = C", true},
    {"sddmm_sparse", "A? v, A? oiv, B? v, B? oiv, C oiv, D V = C", false},
    {"sparse_softmax", "X oiv, Y V = X", true},
    {"sparse_softmax_backward", "Y oiv, dY v, dX V = Y dY", true},
    {"sparse_attention", "Q v, K v, V v, O V, M oi", true},
    {"sparse_gather", "values v i8 i16, source v, out V i8 i16", false},
    {"csr_transpose", "A oiv?v, T OIV, source? V", true},
    {"csr_to_dense", "A oiv, D V", false},
    {"dense_to_csr_count", "A O, D v", false},
    {"dense_to_csr", "A oIV, D v", false},
    {"dcsr_count", "A oi?v", true},
    {"dcsr_from_csr", "A oi?v, D O, D O", true},
    {"dcsr_to_csr", "A O, D o, D o", false},
    {"spgemm_count", "A oi?v, B oi?v, C O", true},
    {"spgemm", "A oiv, B oiv, C oIV", true},
    {"spgemm_dense", "A oiv, B oiv, C V", true},
};

enum { PROMISES = sizeof(promises) / sizeof(promises[0]) };

static bool is_seen[PROMISES], has_scratch[PROMISES];

static void append(char text[300], const char *more)
{
    const size_t length = strlen(text);
    snprintf(text + length, 300 - length, "%s", more);
}

static void append_operand(char text[300], const weft_op *op, int i)
{
    const weft_operand_rule *rule = &op->operands[i];
    const unsigned others = rule->may_be & ~(1u << i);
    append(text, rule->name);
    append(text, rule->is_optional ? "?" : "");
    append(text, rule->access ? " " : "");
    for (int b = 0; b < 6; b++)
        append(text,
               rule->access & 1u << b ? (const char *[]){"o", "i", "v", "O", "I", "V"}[b] : "");
    append(text, rule->access & WEFT_SPARES_VALUES ? "?v" : "");
    append(text, rule->may_be_i8 ? " i8" : "");
    append(text, rule->may_be_i16 ? " i16" : "");
    append(text, others ? " =" : "");
    for (int j = 0; j < op->n_operands; j++)
        if (others & 1u << j) {
            append(text, " ");
            append(text, op->operands[j].name);
        }
}

static void check_promise(const weft_op *op, size_t scratch)
{
    char text[300] = "";
    int p = 0;
    for (int i = 0; i < op->n_operands; i++) {
        append(text, i ? ", " : "");
        append_operand(text, op, i);
    }
    while (p < PROMISES && strcmp(promises[p].op, op->name) != 0)
        p++;
    if (p < PROMISES) {
        assert_string_equal(text, promises[p].operands);
        is_seen[p] = true;
        has_scratch[p] = has_scratch[p] || scratch > 0;
    } else
        fail_msg("nothing is promised of %s: %s", op->name, text);
}

// ---- what calls do to their arrays

typedef struct snapshot {
    unsigned char bytes[WEFT_OP_OPERANDS][PARTS][MOST_BYTES];
} snapshot;

static size_t bytes_of(const array *a)
{
    const size_t bytes = a->buffer ? (size_t)(a->n * a->size) : 0;
    assert_in_range(bytes, 0, MOST_BYTES);
    return bytes;
}

static void take(snapshot *s, own_call *call)
{
    memset(s, 0, sizeof(*s));
    for (int k = 0; k < own_call_count(call) * PARTS; k++) {
        const array a = own_call_array(call, k / PARTS, (part)(k % PARTS));
        if (bytes_of(&a) && *a.buffer)
            assert_int_equal(clEnqueueReadBuffer(call->queue, *a.buffer, CL_TRUE,
                                                 (size_t)(*a.start * a.size), bytes_of(&a),
                                                 s->bytes[k / PARTS][k % PARTS], 0, NULL, NULL),
                             CL_SUCCESS);
    }
}

// What the call writes is put back to what it was.
static void give_back(const snapshot *s, own_call *call)
{
    for (int k = 0; k < own_call_count(call) * PARTS; k++) {
        const array a = own_call_array(call, k / PARTS, (part)(k % PARTS));
        if (a.is_written)
            assert_int_equal(clEnqueueWriteBuffer(call->queue, *a.buffer, CL_TRUE,
                                                  (size_t)(*a.start * a.size), bytes_of(&a),
                                                  s->bytes[k / PARTS][k % PARTS], 0, NULL, NULL),
                             CL_SUCCESS);
    }
}

// Arrays that have changed are those that the table says are written.
static void check_writes(own_call *call, const snapshot *before, const snapshot *after)
{
    for (int k = 0; k < own_call_count(call) * PARTS; k++) {
        const int i = k / PARTS, p = k % PARTS;
        const array a = own_call_array(call, i, (part)p);
        const bool has_changed = memcmp(before->bytes[i][p], after->bytes[i][p], MOST_BYTES) != 0;
        if (has_changed != a.is_written)
            fail_msg("%s: %s has %schanged", call->call.op->name, a.name,
                     has_changed ? "" : "not ");
    }
}

static void check_same(own_call *call, const snapshot *want, const char *when)
{
    static snapshot now;
    take(&now, call);
    for (int k = 0; k < own_call_count(call) * PARTS; k++) {
        const array a = own_call_array(call, k / PARTS, (part)(k % PARTS));
        if (memcmp(now.bytes[k / PARTS][k % PARTS], want->bytes[k / PARTS][k % PARTS],
                   MOST_BYTES) != 0)
            fail_msg("%s: %s is another %s", call->call.op->name, a.name, when);
    }
}

// ---- what is refused

// Whether a text begins with another one, where each number stands for any when `is_any`.
static bool begins(const char *text, const char *want, bool is_any)
{
    while (*want) {
        if (is_any && isdigit((unsigned char)*want) && isdigit((unsigned char)*text)) {
            want += strspn(want, "0123456789");
            text += strspn(text, "0123456789");
        } else if (*text++ != *want++)
            return false;
    }
    return true;
}

// `too`: something else that is wrong, and may change numbers.
static void refuse(const own_call *call, const refusal *r, const refusal *too)
{
    cl_event event = NULL;
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    const weft_status status = own_call_run(call, &event);
    if ((status != r->status && status != r->otherwise) ||
        !begins(weft_last_error(), r->says, too != NULL))
        fail_msg("%s, \"%s\", where %s, \"%s\" is wanted%s%s", weft_status_name(status),
                 status == WEFT_OK ? "" : weft_last_error(), weft_status_name(r->status), r->says,
                 too ? " before " : "", too ? too->says : "");
    assert_null(event);
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
}

// Each by itself, and with each that is told later.
static void refuse_all(const own_call *good, int n)
{
    for (int i = 0; i < n; i++) {
        refuse(&refusals[i].call, &refusals[i], NULL);
        for (int j = 0; j < n; j++) {
            own_call both;
            if (refusals[j].step <= refusals[i].step)
                continue;
            memcpy(&both, &refusals[j].call, sizeof(both));
            own_call_change(&both, good, &refusals[i].call);
            refuse(&both, &refusals[i], &refusals[j]);
        }
    }
}

// ---- what passes

static void copy(cl_command_queue queue, const array *from, const array *to)
{
    assert_int_equal(
        clEnqueueCopyBuffer(queue, *from->buffer, *to->buffer, (size_t)(*from->start * from->size),
                            (size_t)(*to->start * to->size), bytes_of(from), 0, NULL, NULL),
        CL_SUCCESS);
    assert_int_equal(clFinish(queue), CL_SUCCESS);
}

// From a good call's arrays to those of a call that has them elsewhere, or what was written back.
static void copy_arrays(own_call *good, own_call *elsewhere, bool is_back)
{
    for (int k = 0; k < own_call_count(good) * PARTS; k++) {
        const array here = own_call_array(good, k / PARTS, (part)(k % PARTS));
        const array there_too = own_call_array(elsewhere, k / PARTS, (part)(k % PARTS));
        if (is_back && here.is_written)
            copy(good->queue, &there_too, &here);
        if (!is_back && (here.is_read || here.is_written))
            copy(good->queue, &here, &there_too);
    }
}

static void pass(const own_call *call, const char *how)
{
    const weft_status status = own_call_run(call, NULL);
    if (status != WEFT_OK)
        fail_msg("%s %s: \"%s\"", call->call.op->name, how, weft_last_error());
    assert_int_equal(clFinish(call->queue), CL_SUCCESS);
}

// All in one buffer, one right behind the other, that has not a byte more.
static void pass_side_by_side(const own_call *call)
{
    own_call good = *call, beside = *call;
    int64_t end = 0;
    for (int k = 0; k < own_call_count(&good) * PARTS; k++) {
        array a = own_call_array(&beside, k / PARTS, (part)(k % PARTS));
        if (!a.is_read && !a.is_written)
            continue;
        *a.start = (end + a.size - 1) / a.size;
        end = (*a.start + a.n) * a.size;
    }
    const cl_mem one = places_small(&there, ctx, end);
    for (int k = 0; k < own_call_count(&good) * PARTS; k++) {
        array a = own_call_array(&beside, k / PARTS, (part)(k % PARTS));
        if (a.is_read || a.is_written)
            *a.buffer = one;
    }
    copy_arrays(&good, &beside, false);
    pass(&beside, "side by side");
    copy_arrays(&good, &beside, true);
}

// Whether output i may be the values of j, and can be: the views are alike, and nothing else is
// written, for which j might be read later.
static bool can_be(const own_call *call, int i, int j)
{
    const weft_operand_rule *a = own_call_rule(call, i), *b = own_call_rule(call, j);
    const weft_tensor *t = &call->operands[i].tensor, *u = &call->operands[j].tensor;
    if (!(a->may_be & 1u << j) || !call->call.operands[i] || !call->call.operands[j])
        return false;
    for (int k = 0; k < own_call_count(call); k++)
        if (k != i && call->call.operands[k] && own_call_rule(call, k)->access & WEFT_WRITES_VALUES)
            return false;
    if (b->kind == WEFT_OPERAND_CSR)
        return t->ndim == 1 && t->shape[0] == call->operands[j].csr.nnz;
    return i != j && t->ndim == u->ndim && t->dtype == u->dtype &&
           !memcmp(t->shape, u->shape, sizeof(t->shape[0]) * (size_t)t->ndim);
}

// Once for each operand that the output may be.
static void pass_in_place(const own_call *call, const snapshot *before, const snapshot *want)
{
    for (int k = 0; k < WEFT_OP_OPERANDS * WEFT_OP_OPERANDS; k++) {
        own_call good = *call, same = *call;
        const int i = k / WEFT_OP_OPERANDS, j = k % WEFT_OP_OPERANDS;
        if (i >= own_call_count(call) || j >= own_call_count(call) || !can_be(call, i, j))
            continue;
        array out = own_call_array(&same, i, VALUES), in = own_call_array(&good, j, VALUES);
        copy(good.queue, &in, &out);
        in = own_call_array(&same, j, VALUES);
        *in.buffer = *out.buffer;
        *in.start = *out.start;
        pass(&same, "in place");
        check_same(&good, want, "in place");
        give_back(before, &good);
    }
}

static void pass_all(own_call *good, const snapshot *before, const snapshot *want, size_t scratch)
{
    give_back(before, good);
    if (good->call.state) // the plan that there is knows where operands are
        return;
    if (!is_on("oclgrind")) { // which takes what was written in part for uninitialised
        pass_in_place(good, before, want);
        pass_side_by_side(good);
        check_same(good, want, "side by side");
        give_back(before, good);
    }
    if (scratch > 0) {
        own_call brought = *good;
        brought.call.workspace = places_small(&there, ctx, (int64_t)scratch);
        pass(&brought, "with a workspace of the size asked for");
        check_same(good, want, "with a workspace");
    }
    give_back(before, good);
}

// ---- between the public functions and the driver

static void try(const weft_call *call, cl_command_queue queue)
{
    static own_call good;
    static snapshot before, want;
    size_t scratch;
    own_call_make(&good, call, queue);
    assert_ok(weft_op_workspace(call, &scratch));
    check_promise(call->op, scratch);
    const int n = refusals_make(refusals, &good, &there, scratch);
    take(&before, &good);
    refuse_all(&good, n);
    check_same(&good, &before, "though nothing was done");
    pass(&good, "as it is");
    take(&want, &good);
    check_writes(&good, &before, &want);
    refuse_all(&good, n);
    check_same(&good, &want, "though nothing was done");
    pass_all(&good, &before, &want, scratch);
}

// Oclgrind takes the pool's memory for uninitialised.
weft_status __wrap_weft_op_run(const weft_call *call, cl_command_queue queue)
{
    size_t scratch = 0;
    weft_call given = *call;
    if (is_on("oclgrind") && wrong_size == 0)
        assert_ok(weft_op_workspace(call, &scratch));
    if (scratch > 0)
        given.workspace = places_small(&there, ctx, (int64_t)scratch);
    if (watches)
        try(&given, queue);
    return __real_weft_op_run(&given, queue);
}

weft_status __wrap_weft_params_read(void *own, size_t bytes, const void *given, const char *what,
                                    const char *macro)
{
    unsigned char other[4096];
    assert_in_range(bytes, sizeof(wrong_size), sizeof(other));
    snprintf(reader, sizeof(reader), "%s", what);
    if (!given || wrong_size == 0)
        return __real_weft_params_read(own, bytes, given, what, macro);
    memcpy(other, given, bytes);
    memcpy(other, &wrong_size, sizeof(wrong_size));
    return __real_weft_params_read(own, bytes, other, what, macro);
}

// ---- cases

static void run(const operation_case *c, operation_results *results)
{
    assert_ok(weft_context_create(&ctx, o.cl, o.device, WEFT_CONTEXT(.cache_dir = "")));
    operation_clear(&o);
    const weft_status status = c->run(&o, ctx);
    if (status != WEFT_OK)
        fail_msg("%s", weft_last_error());
    operation_read(&o, results);
    weft_context_destroy(&ctx);
}

static void test_case(void **state)
{
    static operation_results want, got;
    const operation_case *c = *state;
    run(c, &want);
    watches = true;
    run(c, &got);
    watches = false;
    assert_memory_equal(&got, &want, sizeof(got));
}

// A recorded call has no queue and no events; other cases refuse the same calls.
static void test_nothing(void **state)
{
    (void)state;
    skip();
}

// Every case calls what reads its params first.
static void test_sizes_of_params(void **state)
{
    (void)state;
    assert_ok(weft_context_create(&ctx, o.cl, o.device, WEFT_CONTEXT(.cache_dir = "")));
    wrong_size = 7;
    for (int i = 0; i < OPERATION_CASES; i++) {
        static operation_results results;
        char says[128];
        operation_clear(&o);
        reader[0] = '\0';
        const weft_status status = operation_cases[i].run(&o, ctx);
        snprintf(says, sizeof(says), "%s: params.size is 7: fill it by WEFT_", reader);
        if (status != WEFT_BAD_ARGUMENT || strncmp(weft_last_error(), says, strlen(says)) != 0)
            fail_msg("%s: %s, \"%s\"", operation_cases[i].name, weft_status_name(status),
                     weft_last_error());
        operation_read(&o, &results);
        assert_true(operation_is_clear(&results));
    }
    wrong_size = 0;
    weft_context_destroy(&ctx);
}

static void test_every_promise_was_tried(void **state)
{
    (void)state;
    for (int i = 0; i < PROMISES; i++)
        if (!is_seen[i] || has_scratch[i] != promises[i].wants_scratch)
            fail_msg("%s: called %d, with scratch memory %d", promises[i].op, is_seen[i],
                     has_scratch[i]);
}

static int create(void **state)
{
    (void)state;
    operation_operands_create(&o);
    places_create(&there, &o);
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    places_destroy(&there);
    operation_operands_destroy(&o);
    return 0;
}

int main(void)
{
    struct CMUnitTest tests[OPERATION_CASES + 2];
    need_device();
    for (int i = 0; i < OPERATION_CASES; i++)
        tests[i] =
            (struct CMUnitTest){.name = operation_cases[i].name,
                                .test_func = operation_cases[i].records ? test_nothing : test_case,
                                .initial_state = (void *)(uintptr_t)&operation_cases[i]};
    tests[OPERATION_CASES] = (struct CMUnitTest)cmocka_unit_test(test_sizes_of_params);
    tests[OPERATION_CASES + 1] = (struct CMUnitTest)cmocka_unit_test(test_every_promise_was_tried);
    return cmocka_run_group_tests_name("refusals", tests, create, destroy);
}
