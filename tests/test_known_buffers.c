// SPDX-License-Identifier: Apache-2.0
// A call that is remembered is checked all the same where its buffers are not those of a call that
// passed: of another size, with other flags, parts of one buffer, or another buffer behind a handle
// that was in use before.
#include "operation_case.h"
#include "queues.h"
#include "runtime/memo.h"

static weft_context *ctx;
static operation_operands o;
static int n_found, n_known;

bool __real_weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state,
                           size_t state_bytes);
bool __wrap_weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state,
                           size_t state_bytes);
bool __real_weft_memo_knows(weft_memo *memo, const weft_memo_key *key,
                            const weft_memo_facts *facts);
bool __wrap_weft_memo_knows(weft_memo *memo, const weft_memo_key *key,
                            const weft_memo_facts *facts);

bool __wrap_weft_memo_find(weft_memo *memo, const weft_memo_key *key, void *state,
                           size_t state_bytes)
{
    const bool is_found = __real_weft_memo_find(memo, key, state, state_bytes);
    n_found += is_found;
    return is_found;
}

bool __wrap_weft_memo_knows(weft_memo *memo, const weft_memo_key *key, const weft_memo_facts *facts)
{
    const bool is_known = __real_weft_memo_knows(memo, key, facts);
    n_known += is_known;
    return is_known;
}

static int create(void **state)
{
    (void)state;
    operation_operands_create(&o);
    o.queue = o.in_order;
    return weft_context_create(&ctx, o.cl, o.device, NULL);
}

static int destroy(void **state)
{
    (void)state;
    queue_finish(o.queue);
    weft_context_destroy(&ctx);
    operation_operands_destroy(&o);
    return 0;
}

static cl_mem buffer_of(size_t bytes, cl_mem_flags flags)
{
    static char zeros[4 * OPERATION_BYTES];
    cl_int code = CL_SUCCESS;
    const cl_mem buffer = clCreateBuffer(o.cl, flags | CL_MEM_COPY_HOST_PTR, bytes, zeros, &code);
    assert_int_equal(code, CL_SUCCESS);
    return buffer;
}

static cl_mem part_of(cl_mem buffer, size_t origin, size_t bytes)
{
    const cl_buffer_region region = {origin, bytes};
    cl_int code = CL_SUCCESS;
    const cl_mem part = clCreateSubBuffer(buffer, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    assert_int_equal(code, CL_SUCCESS);
    return part;
}

// Y = softmax(X), of matrices of OPERATION_EXTENT rows and columns.
static weft_status call(cl_mem x, cl_mem y)
{
    const weft_tensor X = weft_matrix(x, WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    const weft_tensor Y = weft_matrix(y, WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    return weft_softmax(ctx, o.queue, 1, &X, -1, &Y, NULL);
}

// C = A X, written to `c`, which may be one of A's arrays.
static weft_status product(const weft_csr *A, cl_mem c)
{
    const weft_tensor C = weft_matrix(c, WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    return weft_spmm(ctx, o.queue, 1, A, &o.X, 0, &C, NULL);
}

// How often a call was remembered, and its buffers known, since the last time.
static void expect(int found, int known)
{
    assert_int_equal(n_found, found);
    assert_int_equal(n_known, known);
    n_found = n_known = 0;
}

enum { BYTES = OPERATION_BYTES };

static void test_the_same_buffers_are_known(void **state)
{
    (void)state;
    const cl_mem x = buffer_of(BYTES, CL_MEM_READ_WRITE), y = buffer_of(BYTES, CL_MEM_READ_WRITE);
    assert_int_equal(call(x, y), WEFT_OK);
    n_found = n_known = 0;
    assert_int_equal(call(x, y), WEFT_OK);
    assert_int_equal(call(y, x), WEFT_OK);
    expect(2, 0);
    for (int i = 0; i < 4; i++) // by turns
        assert_int_equal(i % 2 ? call(y, x) : call(x, y), WEFT_OK);
    expect(4, 4);
    queue_finish(o.queue);
    clReleaseMemObject(x);
    clReleaseMemObject(y);
}

static void test_other_buffers_are_checked(void **state)
{
    (void)state;
    const cl_mem x = buffer_of(BYTES, CL_MEM_READ_WRITE), y = buffer_of(BYTES, CL_MEM_READ_WRITE);
    const cl_mem small = buffer_of(BYTES - 4, CL_MEM_READ_WRITE);
    const cl_mem read_only = buffer_of(BYTES, CL_MEM_READ_ONLY);
    const cl_mem write_only = buffer_of(BYTES, CL_MEM_WRITE_ONLY);
    const cl_mem both = buffer_of(4 * BYTES, CL_MEM_READ_WRITE);
    const cl_mem first = part_of(both, 0, BYTES), last = part_of(both, BYTES, BYTES);
    const cl_mem middle = part_of(both, BYTES / 2, BYTES);
    assert_int_equal(call(x, y), WEFT_OK);
    assert_int_equal(call(first, last), WEFT_OK);
    n_found = n_known = 0;
    assert_int_equal(call(x, small), WEFT_BAD_BUFFER);
    assert_int_equal(call(small, y), WEFT_BAD_BUFFER);
    assert_int_equal(call(x, read_only), WEFT_BAD_BUFFER);
    assert_int_equal(call(write_only, y), WEFT_BAD_BUFFER);
    assert_int_equal(call(first, middle), WEFT_BAD_BUFFER);
    assert_int_equal(call(middle, last), WEFT_BAD_BUFFER);
    assert_int_equal(call(x, NULL), WEFT_BAD_BUFFER);
    expect(7, 0);
    assert_int_equal(call(x, y), WEFT_OK);
    assert_int_equal(call(first, last), WEFT_OK);
    queue_finish(o.queue);
    const cl_mem all[] = {x, y, small, read_only, write_only, first, last, middle, both};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        clReleaseMemObject(all[i]);
}

// Which tensors share a buffer is in the key, but not which share one with the arrays of a matrix.
static void test_an_output_in_a_matrix_is_refused(void **state)
{
    (void)state;
    weft_csr A = o.A;
    const cl_mem values = buffer_of(4 * BYTES, CL_MEM_READ_WRITE);
    A.values = values;
    for (int i = 0; i < 2; i++)
        assert_int_equal(product(&A, o.outputs[0]), WEFT_OK);
    n_found = n_known = 0;
    assert_int_equal(product(&A, values), WEFT_BAD_BUFFER);
    expect(1, 0);
    assert_int_equal(product(&A, o.outputs[0]), WEFT_OK);
    expect(1, 1);
    queue_finish(o.queue);
    clReleaseMemObject(values);
}

// Handles of released buffers come back: whatever is behind one now counts.
static void test_a_handle_that_comes_back(void **state)
{
    (void)state;
    const cl_mem x = buffer_of(BYTES, CL_MEM_READ_WRITE);
    int n_again = 0;
    for (int i = 0; i < 16; i++) {
        const cl_mem y = buffer_of(BYTES, CL_MEM_READ_WRITE);
        assert_int_equal(call(x, y), WEFT_OK);
        queue_finish(o.queue);
        clReleaseMemObject(y);
        const cl_mem small = buffer_of(BYTES / 2, CL_MEM_READ_WRITE);
        n_again += small == y;
        assert_int_equal(call(x, small), WEFT_BAD_BUFFER);
        clReleaseMemObject(small);
    }
    print_message("%d of 16 handles came back\n", n_again);
    clReleaseMemObject(x);
}

// What an array is for is not in the facts: which values there are is in the key.
static void test_values_of_another_operand(void **state)
{
    (void)state;
    enum { EXTENT = 4 };
    cl_int code = CL_SUCCESS;
    const cl_int zeros[16] = {0};
    cl_mem buffers[5];
    for (int i = 0; i < 5; i++) {
        buffers[i] = clCreateBuffer(o.cl, CL_MEM_COPY_HOST_PTR, i < 4 ? sizeof(zeros) : 8,
                                    (void *)(uintptr_t)zeros, &code);
        assert_int_equal(code, CL_SUCCESS);
    }
    weft_csr A = {.n_rows = EXTENT, .n_cols = EXTENT, .nnz = 4, .offsets = buffers[0]};
    weft_csr B = A;
    const weft_csr C = {.n_rows = EXTENT, .n_cols = EXTENT, .offsets = o.outputs[0]};
    A.indices = buffers[1];
    B.index_dtype = WEFT_I16;
    A.values = buffers[2];
    B.offsets = buffers[3];
    B.indices = buffers[4];
    for (int i = 0; i < 3; i++)
        assert_int_equal(weft_spgemm_count(ctx, o.queue, &A, &B, &C, NULL, NULL), WEFT_OK);
    A.values = NULL;
    B.offsets = buffers[2];
    B.indices = buffers[3];
    B.values = buffers[4];
    assert_int_equal(weft_spgemm_count(ctx, o.queue, &A, &B, &C, NULL, NULL), WEFT_BAD_BUFFER);
    queue_finish(o.queue);
    for (int i = 0; i < 5; i++)
        clReleaseMemObject(buffers[i]);
}

// OpenCL is not asked about buffers that nothing is read from, nor before shapes are checked.
static void test_what_is_no_buffer(void **state)
{
    (void)state;
    static char no_buffer[1024];
    const cl_mem none = (cl_mem)(void *)no_buffer;
    const weft_tensor empty = weft_matrix(none, WEFT_F32, 0, 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(weft_softmax(ctx, o.queue, 1, &empty, -1, &empty, NULL), WEFT_OK);
    const weft_tensor other = weft_matrix(none, WEFT_F32, 4, 5);
    assert_int_equal(weft_softmax(ctx, o.queue, 1, &o.X, -1, &other, NULL), WEFT_BAD_SHAPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_same_buffers_are_known, create, destroy),
        cmocka_unit_test_setup_teardown(test_other_buffers_are_checked, create, destroy),
        cmocka_unit_test_setup_teardown(test_an_output_in_a_matrix_is_refused, create, destroy),
        cmocka_unit_test_setup_teardown(test_a_handle_that_comes_back, create, destroy),
        cmocka_unit_test_setup_teardown(test_values_of_another_operand, create, destroy),
        cmocka_unit_test_setup_teardown(test_what_is_no_buffer, create, destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
