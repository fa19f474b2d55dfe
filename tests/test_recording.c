// SPDX-License-Identifier: Apache-2.0
// Recordings: every operation recorded gives what it gives otherwise, run again and again, with the
// buffers that it is given; and what cannot be recorded is refused.
#define CL_ENABLE_BETA_EXTENSIONS
#include "recording_case.h"

#include "expect.h"

// ---- every operation

static operation_results results, wanted;

static void run_and_compare(weft_recording *recording, const char *name)
{
    operation_clear(&o);
    if (weft_recording_run(recording, o.queue, NULL) != WEFT_OK)
        fail_msg("%s: %s", name, weft_last_error());
    operation_read(&o, &results);
    if (memcmp(results.bytes, wanted.bytes, sizeof(wanted.bytes)) != 0)
        fail_msg("%s: other results, recorded", name);
}

// Whether it can be recorded.
static bool try_operation(const operation_case *c)
{
    weft_recording *recording = NULL;
    operation_clear(&o);
    if (c->run(&o, ctx) != WEFT_OK)
        fail_msg("%s: %s", c->name, weft_last_error());
    operation_read(&o, &wanted);
    operation_clear(&o);

    assert_ok(weft_recording_begin(&recording, ctx));
    const weft_status status = c->run(&o, ctx);
    const bool is_recorded = status == WEFT_OK && !c->writes_nothing;
    if (status == WEFT_UNSUPPORTED)
        assert_non_null(strstr(weft_last_error(), "copies between host and device"));
    else if (status != WEFT_OK)
        fail_msg("%s: %s", c->name, weft_last_error());
    assert_ok(weft_recording_end(recording));
    operation_read(&o, &results);
    assert_true(operation_is_clear(&results));
    for (int i = 0; is_recorded && i < 3; i++)
        run_and_compare(recording, c->name);
    assert_true((weft_recording_get_info(recording).n_launches > 0) == is_recorded);
    weft_recording_destroy(&recording);
    assert_null(recording);
    return is_recorded;
}

static int n_recorded(cl_command_queue queue)
{
    int n = 0;
    o.queue = queue;
    for (int i = 0; i < OPERATION_CASES; i++)
        if (!operation_cases[i].records)
            n += try_operation(&operation_cases[i]);
    return n;
}

// The others make plan objects, copy a matrix, or count entries for the host.
enum { RECORDED_CASES = 29 };

static void test_every_operation(void **state)
{
    (void)state;
    assert_int_equal(n_recorded(o.in_order), RECORDED_CASES);
}

static void test_every_operation_out_of_order(void **state)
{
    (void)state;
    if (!o.out_of_order)
        skip();
    assert_int_equal(n_recorded(o.out_of_order), RECORDED_CASES);
}

// Made outside, a plan object may be gone before a run.
static void test_a_plan_that_is_gone(void **state)
{
    (void)state;
    weft_spmm_plan *plan = NULL;
    const weft_tensor C = square(o.outputs[0]), D = square(o.outputs[1]);
    assert_ok(weft_spmm_plan_create(&plan, ctx, o.queue, &o.A, NULL));
    assert_ok(weft_spmm(ctx, o.queue, 1, &o.A, &o.X, 0, &D, WEFT_SPMM(.plan = plan)));
    weft_recording *recording = NULL;
    assert_ok(weft_recording_begin(&recording, ctx));
    assert_ok(weft_spmm(ctx, NULL, 1, &o.A, &o.X, 0, &C, WEFT_SPMM(.plan = plan)));
    assert_ok(weft_recording_end(recording));
    queue_finish(o.queue);
    weft_spmm_plan_destroy(&plan);
    assert_ok(weft_recording_run(recording, o.queue, NULL));
    expect_same(o.outputs[0], o.outputs[1]);
    weft_recording_destroy(&recording);
}

// The device's promise, as the extension tells it.
static bool has_command_buffers(void)
{
    static char extensions[8192];
    cl_device_command_buffer_capabilities_khr has = 0;
    if (clGetDeviceInfo(o.device, CL_DEVICE_EXTENSIONS, sizeof(extensions), extensions, NULL) !=
            CL_SUCCESS ||
        !strstr(extensions, "cl_khr_command_buffer"))
        return false;
    return clGetDeviceInfo(o.device, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR, sizeof(has), &has,
                           NULL) == CL_SUCCESS &&
           has & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR;
}

// From the second run with the same buffers on, in its queue.
static void test_command_buffers(void **state)
{
    (void)state;
    const bool are_there = has_command_buffers();
    const cl_mem a = numbers(0, 0.25f), between = numbers(0, 0), out = numbers(0, 0);
    const cl_mem right = numbers(0, 0), new = numbers(0, 0);
    cl_command_queue other = queue_with(ctx, 0);
    weft_recording *recording = record_two(a, between, out);
    assert_ok(soften(o.queue, a, between));
    assert_ok(soften(o.queue, between, right));
    assert_false(weft_recording_get_info(recording).has_command_buffer);
    const uint64_t launches = weft_context_get_stats(ctx).launches;
    for (int i = 0; i < 4; i++) {
        assert_ok(weft_recording_run(recording, i == 2 ? other : o.queue, NULL));
        assert_int_equal(weft_recording_get_info(recording).has_command_buffer, i > 0 && are_there);
        queue_finish(other);
        expect_same(out, right);
    }
    assert_int_equal(weft_context_get_stats(ctx).launches, launches + 8);
    assert_ok(weft_recording_exchange(recording, 1, &(weft_exchange){.name = "in", .buffer = a}));
    assert_int_equal(weft_recording_get_info(recording).has_command_buffer, are_there);
    assert_ok(
        weft_recording_exchange(recording, 1, &(weft_exchange){.position = 1, .buffer = new}));
    assert_false(weft_recording_get_info(recording).has_command_buffer);
    for (int i = 0; i < 3; i++) {
        assert_ok(weft_recording_run(recording, other, NULL));
        assert_int_equal(weft_recording_get_info(recording).has_command_buffer, i > 0 && are_there);
        queue_finish(other);
        expect_same(out, right);
        expect_same(new, between);
    }
    weft_recording_destroy(&recording);
    clReleaseCommandQueue(other);
    release(5, (cl_mem[]){a, between, out, right, new});
}

// ---- buffers

static void test_exchange(void **state)
{
    (void)state;
    const cl_mem a = numbers(0, 0.25f), b = numbers(3, -0.5f), between = numbers(0, 0);
    const cl_mem out = numbers(0, 0), other = numbers(0, 0), right = numbers(0, 0);
    weft_recording *recording = record_two(a, between, out);
    assert_int_equal(weft_recording_get_info(recording).n_buffers, 3);
    assert_ptr_equal(weft_recording_buffer(recording, 0), a);
    assert_ptr_equal(weft_recording_buffer(recording, 1), between);
    assert_ptr_equal(weft_recording_buffer(recording, 2), out);
    assert_null(weft_recording_buffer(recording, 3));
    assert_string_equal(weft_recording_buffer_name(recording, 0), "in");
    assert_string_equal(weft_recording_buffer_name(recording, 1), "");
    assert_null(weft_recording_buffer_name(recording, -1));

    assert_ok(weft_recording_run(recording, o.queue, NULL));
    assert_ok(weft_recording_exchange(
        recording, 2,
        (weft_exchange[]){{.name = "in", .buffer = b}, {.position = 2, .buffer = other}}));
    assert_ok(weft_recording_run(recording, o.queue, NULL));
    assert_ok(soften(o.queue, a, between));
    assert_ok(soften(o.queue, between, right));
    expect_same(out, right);
    assert_ok(soften(o.queue, b, between));
    assert_ok(soften(o.queue, between, right));
    expect_same(other, right);
    assert_string_equal(weft_recording_buffer_name(recording, 0), "in");
    assert_ptr_equal(weft_recording_buffer(recording, 2), other);
    weft_recording_destroy(&recording);
    release(6, (cl_mem[]){a, b, between, out, other, right});
}

// Two buffers by turns: each run reads what the one before has written.
static void test_swapped_buffers(void **state)
{
    (void)state;
    const cl_mem a = numbers(0, 0.25f), b = numbers(0, 0), between = numbers(0, 0);
    const cl_mem right = numbers(0, 0.25f);
    weft_recording *recording = record_two(a, between, b);
    for (int i = 0; i < 4; i++) {
        const cl_mem in = i % 2 ? b : a, out = i % 2 ? a : b;
        assert_ok(weft_recording_exchange(
            recording, 2,
            (weft_exchange[]){{.name = "in", .buffer = in}, {.name = "out", .buffer = out}}));
        assert_ok(weft_recording_run(recording, o.queue, NULL));
        assert_ok(soften(o.queue, right, between));
        assert_ok(soften(o.queue, between, right));
        expect_same(out, right);
    }
    weft_recording_destroy(&recording);
    release(4, (cl_mem[]){a, b, between, right});
}

// The recording keeps its buffers, whoever releases them.
static void test_released_buffers(void **state)
{
    (void)state;
    const cl_mem a = numbers(0, 0.25f), between = numbers(0, 0), out = numbers(0, 0);
    const cl_mem right = numbers(0, 0);
    assert_ok(soften(o.queue, a, between));
    assert_ok(soften(o.queue, between, right));
    queue_finish(o.queue);
    weft_recording *recording = record_two(a, between, out);
    release(2, (cl_mem[]){a, between});
    const cl_mem others[] = {numbers(9, 9), numbers(9, 9)}; // where the memory might be used again
    assert_ok(weft_recording_run(recording, o.queue, NULL));
    expect_same(out, right);
    cl_uint before = 0, after = 0;
    clGetMemObjectInfo(out, CL_MEM_REFERENCE_COUNT, sizeof(before), &before, NULL);
    weft_recording_destroy(&recording);
    clGetMemObjectInfo(out, CL_MEM_REFERENCE_COUNT, sizeof(after), &after, NULL);
    assert_true(before > after);
    assert_int_equal(after, 1);
    release(4, (cl_mem[]){out, right, others[0], others[1]});
}

static cl_mem part_of(cl_mem buffer, size_t origin, size_t bytes)
{
    const cl_buffer_region region = {origin, bytes};
    cl_int code = CL_SUCCESS;
    const cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    assert_int_equal(code, CL_SUCCESS);
    return part;
}

static void refuse_exchange(weft_recording *recording, weft_exchange exchange, weft_status status,
                            const char *text)
{
    expect(weft_recording_exchange(recording, 1, &exchange), status, text);
}

static void test_buffers_that_do_not_fit(void **state)
{
    (void)state;
    const cl_mem a = numbers(0, 0.25f), between = numbers(0, 0), out = numbers(0, 0);
    const cl_mem right = numbers(0, 0), small = buffer_with(CL_MEM_READ_WRITE, BYTES - 4);
    const cl_mem sealed = buffer_with(CL_MEM_READ_ONLY, BYTES);
    const cl_mem blind = buffer_with(CL_MEM_WRITE_ONLY, BYTES);
    const cl_mem large = buffer_with(CL_MEM_READ_WRITE, 3 * BYTES);
    const cl_mem first = part_of(large, 0, BYTES), second = part_of(large, BYTES, BYTES);
    weft_recording *recording = record_two(a, between, out);
    assert_ok(soften(o.queue, a, between));
    assert_ok(soften(o.queue, between, right));

#define BY_NAME(text, b) ((weft_exchange){.name = (text), .buffer = (b)})
#define AT(i, b)         ((weft_exchange){.position = (i), .buffer = (b)})
    refuse_exchange(recording, BY_NAME("in", NULL), WEFT_BAD_BUFFER,
                    "recording: buffer 0 (in): the buffer is NULL");
    refuse_exchange(recording, BY_NAME("in", small), WEFT_BAD_BUFFER,
                    "needs 4096 bytes, its buffer has 4092");
    refuse_exchange(recording, BY_NAME("out", sealed), WEFT_BAD_BUFFER, "CL_MEM_READ_ONLY");
    refuse_exchange(recording, BY_NAME("in", blind), WEFT_BAD_BUFFER, "CL_MEM_WRITE_ONLY");
    refuse_exchange(recording, BY_NAME("in", between), WEFT_BAD_BUFFER,
                    "recording: buffer 0 (in) (bytes 0 to 4095) would overlap buffer 1 (bytes 0 to "
                    "4095) in one buffer, and calls write the other");
    refuse_exchange(recording, AT(1, out), WEFT_BAD_BUFFER, "calls write both");
    refuse_exchange(recording, BY_NAME("between", a), WEFT_BAD_ARGUMENT,
                    "no buffer has the name \"between\"");
    refuse_exchange(recording, AT(3, a), WEFT_BAD_ARGUMENT,
                    "no buffer has position 3: there are 3");
    refuse_exchange(recording, AT(-1, a), WEFT_BAD_ARGUMENT, "position -1");
    assert_int_equal(
        weft_recording_exchange(recording, 2, (weft_exchange[]){BY_NAME("in", a), AT(0, right)}),
        WEFT_BAD_ARGUMENT);
    assert_non_null(strstr(weft_last_error(), "buffer 0 (in) is exchanged twice"));
    assert_int_equal(
        weft_recording_exchange(recording, 2, (weft_exchange[]){AT(0, right), AT(2, small)}),
        WEFT_BAD_BUFFER);
    assert_int_equal(weft_recording_exchange(recording, -1, NULL), WEFT_BAD_ARGUMENT);
    assert_int_equal(weft_recording_exchange(recording, 1, NULL), WEFT_BAD_ARGUMENT);
    assert_ok(weft_recording_exchange(recording, 0, NULL));

    // Nothing was exchanged by any of them.
    assert_ok(weft_recording_run(recording, o.queue, NULL));
    expect_same(out, right);
    // Parts of one buffer that share nothing.
    assert_ok(
        weft_recording_exchange(recording, 2, (weft_exchange[]){AT(1, first), AT(2, second)}));
    assert_ok(weft_recording_run(recording, o.queue, NULL));
    expect_same(second, right);
    refuse_exchange(recording, AT(2, large), WEFT_BAD_BUFFER, "would overlap");
    weft_recording_destroy(&recording);
    release(10, (cl_mem[]){first, second, a, between, out, right, small, sealed, blind, large});
}

// Memory of the host's that begins between vectors.
static void test_memory_of_the_host(void **state)
{
    (void)state;
    static char memory[BYTES + 512];
    char *aligned = memory + (128 - (uintptr_t)memory % 128) % 128;
    const cl_mem a = numbers(0, 0.25f), between = numbers(0, 0), out = numbers(0, 0);
    cl_int code = CL_SUCCESS;
    const cl_mem good = clCreateBuffer(o.cl, CL_MEM_USE_HOST_PTR, BYTES, aligned, &code);
    assert_int_equal(code, CL_SUCCESS);
    const cl_mem bad = clCreateBuffer(o.cl, CL_MEM_USE_HOST_PTR, BYTES, aligned + 64, &code);
    assert_int_equal(code, CL_SUCCESS);
    weft_recording *recording = record_two(a, between, out);
    refuse_exchange(recording, AT(1, bad), WEFT_BAD_BUFFER,
                    "buffer 1: the new one is in the host's memory, and begins at no multiple of "
                    "128 bytes");
    assert_ok(weft_recording_exchange(recording, 1, &AT(1, good)));
    weft_recording_destroy(&recording);
    release(5, (cl_mem[]){a, between, out, good, bad});
}

// ---- refused

static void test_calls_that_are_refused(void **state)
{
    (void)state;
    weft_recording *recording = NULL, *second = (weft_recording *)&o;
    expect(weft_recording_begin(NULL, ctx), WEFT_BAD_ARGUMENT, "out is NULL");
    expect(weft_recording_begin(&second, NULL), WEFT_BAD_ARGUMENT, "ctx is NULL");
    assert_null(second);
    assert_ok(weft_recording_begin(&recording, ctx));
    second = (weft_recording *)&o;
    expect(weft_recording_begin(&second, ctx), WEFT_BAD_ARGUMENT,
           "recording: this thread's other recording of the context has not ended");
    assert_null(second);
    expect(weft_recording_run(recording, o.queue, NULL), WEFT_UNSUPPORTED, "this thread records");
    expect(weft_recording_exchange(recording, 0, NULL), WEFT_BAD_ARGUMENT, "it has not ended");
    expect(weft_recording_exchange(recording, 1, &AT(0, o.outputs[0])), WEFT_BAD_ARGUMENT,
           "it has not ended");

    const weft_tensor Y = square(o.outputs[0]);
    cl_event event = NULL;
    expect(weft_softmax(ctx, NULL, 1, &o.X, 1, &Y, WEFT_SOFTMAX(.event = &event)),
           WEFT_BAD_ARGUMENT, "softmax: a recorded call has no events");
    assert_null(event);
    expect(weft_softmax(ctx, NULL, 1, &o.X, 1, &Y, WEFT_SOFTMAX(.n_wait = 1, .wait = &o.ready)),
           WEFT_BAD_ARGUMENT, "softmax: a recorded call has no events");
    const weft_tensor narrow = weft_matrix(o.outputs[0], WEFT_F32, N, N - 1);
    expect(weft_softmax(ctx, NULL, 1, &o.X, 1, &narrow, NULL), WEFT_BAD_SHAPE, "softmax");
    expect(weft_csr_check(ctx, o.queue, &o.A, WEFT_CSR_SOUND, NULL), WEFT_UNSUPPORTED,
           "csr_check: copies between host and device");
    int64_t n_stored = 0;
    expect(weft_dcsr_count(ctx, o.queue, &o.A, &n_stored, NULL), WEFT_UNSUPPORTED,
           "copies between host and device");
    expect(weft_recording_name(recording, o.X.buffer, "X"), WEFT_BAD_ARGUMENT,
           "no recorded call uses the buffer to be named \"X\"");
    assert_ok(weft_softmax(ctx, NULL, 1, &o.X, 1, &Y, NULL)); // the only one
    assert_ok(weft_recording_name(recording, o.X.buffer, "X"));
    expect(weft_recording_name(recording, Y.buffer, "X"), WEFT_BAD_ARGUMENT,
           "buffer 0 has the name \"X\", buffer 1 cannot");
    expect(weft_recording_name(recording, Y.buffer, NULL), WEFT_BAD_ARGUMENT, "NULL");
    expect(weft_recording_name(recording, Y.buffer, ""), WEFT_BAD_ARGUMENT, "empty");
    assert_ok(weft_recording_name(recording, o.X.buffer, "input"));
    assert_ok(weft_recording_name(recording, Y.buffer, "X"));
    assert_ok(weft_recording_end(recording));
    expect(weft_recording_end(recording), WEFT_BAD_ARGUMENT, "it has ended before");
    assert_int_equal(weft_recording_get_info(recording).n_launches, 1);
    assert_int_equal(weft_recording_get_info(recording).n_buffers, 2);

    expect(weft_recording_run(recording, NULL, NULL), WEFT_BAD_ARGUMENT,
           "recording: the queue is NULL");
    expect(weft_recording_run(recording, o.queue, WEFT_RECORDING(.n_wait = 1)), WEFT_BAD_ARGUMENT,
           "recording: 1 events to wait for");
    expect(weft_recording_run(NULL, o.queue, NULL), WEFT_BAD_ARGUMENT, "it is NULL");
    expect(weft_recording_end(NULL), WEFT_BAD_ARGUMENT, "it is NULL");
    expect(weft_recording_name(NULL, Y.buffer, "X"), WEFT_BAD_ARGUMENT, "it is NULL");
    expect(weft_recording_exchange(NULL, 1, &AT(0, Y.buffer)), WEFT_BAD_ARGUMENT, "it is NULL");
    assert_int_equal(weft_recording_get_info(NULL).n_launches, 0);
    assert_null(weft_recording_buffer(NULL, 0));
    assert_null(weft_recording_buffer_name(NULL, 0));
    weft_recording_destroy(NULL);
    weft_recording_destroy(&second);
    weft_recording_destroy(&recording);

    // One that has not ended is ended.
    assert_ok(weft_recording_begin(&recording, ctx));
    assert_ok(weft_softmax(ctx, NULL, 1, &o.X, 1, &Y, NULL));
    weft_recording_destroy(&recording);
    assert_ok(weft_softmax(ctx, o.queue, 1, &o.X, 1, &Y, NULL));
    weft_context *rehearsal = NULL;
    assert_ok(weft_rehearsal_create(&rehearsal, NULL, ctx));
    expect(weft_recording_begin(&recording, rehearsal), WEFT_UNSUPPORTED, "rehearses");
    weft_context_destroy(&rehearsal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_operation, create, destroy),
        cmocka_unit_test_setup_teardown(test_every_operation_out_of_order, create, destroy),
        cmocka_unit_test_setup_teardown(test_a_plan_that_is_gone, create, destroy),
        cmocka_unit_test_setup_teardown(test_command_buffers, create, destroy),
        cmocka_unit_test_setup_teardown(test_exchange, create, destroy),
        cmocka_unit_test_setup_teardown(test_swapped_buffers, create, destroy),
        cmocka_unit_test_setup_teardown(test_released_buffers, create, destroy),
        cmocka_unit_test_setup_teardown(test_buffers_that_do_not_fit, create, destroy),
        cmocka_unit_test_setup_teardown(test_memory_of_the_host, create, destroy),
        cmocka_unit_test_setup_teardown(test_calls_that_are_refused, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
