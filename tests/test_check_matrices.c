// SPDX-License-Identifier: Apache-2.0
// Matrices that lie about what stands in them: what weft_csr_check() says of each lie, and that in
// a context with check_matrices every sparse operation says it, too, before it enqueues anything.
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include <weft/weft.h>

#include "queues.h"
#include "sparse_case.h"

enum { SIDE = 4, NNZ = 6, N_DENSE = 5, BYTES = SIDE * SIDE * sizeof(double) };

// Entries at   0 . . 3     . . . .     . 1 2 3     0 . . .
static const int32_t sound_offsets[SIDE + 1] = {0, 2, 2, 5, 6};
static const int32_t sound_indices[NNZ] = {0, 3, 1, 2, 3, 0};
static const int32_t sound_rows[3] = {0, 2, 3};

static weft_context *checking, *trusting;
static weft_csr given, sound; // what the operation is handed, and other operands
static weft_csr written;      // its result; offsets are sound
static weft_dcsr stored;      // of the same matrix
static cl_mem all_rows;       // their numbers
static weft_tensor dense[N_DENSE], entries[2];
static weft_spmm_plan *transposed;

typedef struct lie {
    bool in_offsets;
    int at;
    int32_t number;
    const char *says;
} lie;

static const lie lies[] = {
    {false, 3, 4, "row 2: entry 3 has column 4, the matrix has 4 columns"},
    {false, 5, -1, "row 3: entry 5 has column -1"},
    {false, 0, INT32_MIN, "row 0: entry 0 has column -2147483648"},
    {true, 2, 1, "row 1: its offsets fall from 2 to 1"},
    {true, 3, 7, "row 2 ends at offset 7, there are 6 entries"},
    {true, 0, 1, "row 0 begins at offset 1, not at 0"},
    {true, 4, 5, "row 3, the last, ends at offset 5, there are 6 entries"},
    {true, 1, -3, "row 0: its offsets fall from 0 to -3"},
};
enum { N_LIES = sizeof(lies) / sizeof(lies[0]) };

// The whole array again: Oclgrind takes one that was written in part for uninitialised.
static void put(cl_mem buffer, const int32_t *numbers, int n, int at, int32_t number)
{
    int32_t changed[SIDE + NNZ];
    memcpy(changed, numbers, (size_t)n * sizeof(number));
    changed[at] = number;
    buffer_put(weft_context_queue(checking), buffer, changed, (size_t)n * sizeof(number));
}

static void tell(const lie *l)
{
    if (l->in_offsets)
        put(given.offsets, sound_offsets, SIDE + 1, l->at, l->number);
    else
        put(given.indices, sound_indices, NNZ, l->at, l->number);
}

static void take_back(void)
{
    cl_command_queue queue = weft_context_queue(checking);
    buffer_put(queue, given.offsets, sound_offsets, sizeof(sound_offsets));
    buffer_put(queue, given.indices, sound_indices, sizeof(sound_indices));
}

// ---- operations on `given`

typedef struct call {
    weft_context *ctx;
    cl_uint n_wait;
    const cl_event *wait;
} call;

#define QUEUE(c)   (c)->ctx, weft_context_queue(checking)
#define WAITING(c) .n_wait = (c)->n_wait, .wait = (c)->wait
#define A_B_C      &dense[0], &dense[1], &dense[2]

static weft_status spmm(const call *c)
{
    return weft_spmm(QUEUE(c), 1, &given, &dense[0], 0, &dense[1], WEFT_SPMM(WAITING(c)));
}

static weft_dcsr given_stored(void)
{
    return (weft_dcsr){.n_rows = SIDE,
                       .n_cols = SIDE,
                       .n_stored = SIDE,
                       .nnz = NNZ,
                       .rows = all_rows,
                       .offsets = given.offsets,
                       .indices = given.indices,
                       .values = given.values};
}

static weft_status spmm_dcsr(const call *c)
{
    const weft_dcsr all = given_stored();
    return weft_spmm_dcsr(QUEUE(c), 1, &all, &dense[0], 0, &dense[1], WEFT_SPMM(WAITING(c)));
}

static weft_status sddmm(const call *c)
{
    return weft_sddmm(QUEUE(c), 1, &dense[0], &dense[1], &given, 0, &entries[0],
                      WEFT_SDDMM(WAITING(c)));
}

static weft_status sddmm_sparse_a(const call *c)
{
    return weft_sddmm_sparse(QUEUE(c), 1, WEFT_SPARSE(&given), WEFT_SPARSE(&sound), &sound, 0,
                             &entries[0], WEFT_SDDMM_SPARSE(WAITING(c)));
}

static weft_status sddmm_sparse_b(const call *c)
{
    return weft_sddmm_sparse(QUEUE(c), 1, WEFT_DENSE(&dense[0]), WEFT_SPARSE(&given), &sound, 0,
                             &entries[0], WEFT_SDDMM_SPARSE(WAITING(c)));
}

static weft_status sddmm_sparse_c(const call *c)
{
    return weft_sddmm_sparse(QUEUE(c), 1, WEFT_SPARSE(&sound), WEFT_DENSE(&dense[0]), &given, 0,
                             &entries[0], WEFT_SDDMM_SPARSE(WAITING(c)));
}

static weft_status sparse_softmax(const call *c)
{
    return weft_sparse_softmax(QUEUE(c), 1, &given, &entries[0], WEFT_SPARSE_SOFTMAX(WAITING(c)));
}

static weft_status sparse_softmax_backward(const call *c)
{
    return weft_sparse_softmax_backward(QUEUE(c), 1, &given, &entries[0], &entries[1],
                                        WEFT_SPARSE_SOFTMAX(WAITING(c)));
}

static weft_status sparse_attention(const call *c)
{
    return weft_sparse_attention(QUEUE(c), 1, A_B_C, &given, &dense[3],
                                 WEFT_SPARSE_ATTENTION(WAITING(c)));
}

static weft_status sparse_linear(const call *c)
{
    return weft_sparse_linear(QUEUE(c), &given, &dense[0], &dense[1],
                              WEFT_SPARSE_LINEAR(WAITING(c)));
}

static weft_status sparse_linear_dx(const call *c)
{
    return weft_sparse_linear_dx(QUEUE(c), &given, &dense[0], &dense[1],
                                 WEFT_SPARSE_LINEAR(.plan = transposed, WAITING(c)));
}

static weft_status sparse_linear_dw(const call *c)
{
    return weft_sparse_linear_dw(QUEUE(c), &dense[0], &dense[1], &given, &entries[0],
                                 WEFT_SPARSE_LINEAR(WAITING(c)));
}

static weft_status spgemm_a(const call *c)
{
    return weft_spgemm(QUEUE(c), &given, &sound, &written, WEFT_SPGEMM(WAITING(c)));
}

static weft_status spgemm_b(const call *c)
{
    return weft_spgemm(QUEUE(c), &sound, &given, &written, WEFT_SPGEMM(WAITING(c)));
}

static weft_status spgemm_c(const call *c)
{
    return weft_spgemm(QUEUE(c), &sound, &sound, &given, WEFT_SPGEMM(WAITING(c)));
}

static weft_status spgemm_count_a(const call *c)
{
    return weft_spgemm_count(QUEUE(c), &given, &sound, &written, NULL, WEFT_SPGEMM(WAITING(c)));
}

static weft_status spgemm_count_b(const call *c)
{
    return weft_spgemm_count(QUEUE(c), &sound, &given, &written, NULL, WEFT_SPGEMM(WAITING(c)));
}

static weft_status spgemm_dense_a(const call *c)
{
    return weft_spgemm_dense(QUEUE(c), 1, &given, &sound, 0, &dense[0], WEFT_SPGEMM(WAITING(c)));
}

static weft_status spgemm_dense_b(const call *c)
{
    return weft_spgemm_dense(QUEUE(c), 1, &sound, &given, 0, &dense[0], WEFT_SPGEMM(WAITING(c)));
}

static weft_status csr_to_dense(const call *c)
{
    return weft_csr_to_dense(QUEUE(c), &given, &dense[0], WEFT_CSR_DENSE(WAITING(c)));
}

static weft_status dense_to_csr(const call *c)
{
    return weft_dense_to_csr(QUEUE(c), &dense[4], &given, WEFT_CSR_DENSE(WAITING(c)));
}

static weft_status csr_transpose(const call *c)
{
    return weft_csr_transpose(QUEUE(c), &given, &written, WEFT_CSR_TRANSPOSE(WAITING(c)));
}

static weft_status dcsr_count(const call *c)
{
    int64_t n_stored;
    return weft_dcsr_count(QUEUE(c), &given, &n_stored, WEFT_DCSR(WAITING(c)));
}

static weft_status dcsr_from_csr(const call *c)
{
    return weft_dcsr_from_csr(QUEUE(c), &given, &stored, WEFT_DCSR(WAITING(c)));
}

// The operand's name, and whether only its offsets are looked at: indices are what is written.
static const struct {
    const char *says;
    weft_status (*run)(const call *c);
    bool offsets_alone;
} operations[] = {
    {"spmm: A: ", spmm, false},
    {"spmm: A: ", spmm_dcsr, false},
    {"sddmm: C: ", sddmm, false},
    {"sddmm_sparse: A: ", sddmm_sparse_a, false},
    {"sddmm_sparse: B: ", sddmm_sparse_b, false},
    {"sddmm_sparse: C: ", sddmm_sparse_c, false},
    {"sparse_softmax: X: ", sparse_softmax, false},
    {"sparse_softmax_backward: Y: ", sparse_softmax_backward, false},
    {"sparse_attention: M: ", sparse_attention, false},
    {"sparse_linear: W: ", sparse_linear, false},
    {"sparse_linear_dx: W: ", sparse_linear_dx, false},
    {"sparse_linear_dw: W: ", sparse_linear_dw, false},
    {"spgemm: A: ", spgemm_a, false},
    {"spgemm: B: ", spgemm_b, false},
    {"spgemm: C: ", spgemm_c, true},
    {"spgemm_count: A: ", spgemm_count_a, false},
    {"spgemm_count: B: ", spgemm_count_b, false},
    {"spgemm_dense: A: ", spgemm_dense_a, false},
    {"spgemm_dense: B: ", spgemm_dense_b, false},
    {"csr_to_dense: A: ", csr_to_dense, false},
    {"dense_to_csr: A: ", dense_to_csr, true},
    {"csr_transpose: A: ", csr_transpose, false},
    {"dcsr_count: A: ", dcsr_count, false},
    {"dcsr_from_csr: A: ", dcsr_from_csr, false},
};
enum { N_OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

// Calls that read matrices in every context.

typedef weft_status (*reader)(const call *c);

static weft_status csr_check(const call *c)
{
    return weft_csr_check(QUEUE(c), &given, WEFT_CSR_SOUND, WEFT_CSR_CHECK(WAITING(c)));
}

static weft_status dcsr_check(const call *c)
{
    const weft_dcsr all = given_stored();
    return weft_dcsr_check(QUEUE(c), &all, WEFT_CSR_SOUND, WEFT_CSR_CHECK(WAITING(c)));
}

static weft_status spmm_plan(const call *c)
{
    weft_spmm_plan *plan;
    const weft_status status =
        weft_spmm_plan_create(&plan, QUEUE(c), &given, WEFT_SPMM_PLAN(WAITING(c)));
    weft_spmm_plan_destroy(&plan);
    return status;
}

static weft_status spmm_dcsr_plan(const call *c)
{
    weft_spmm_plan *plan;
    const weft_dcsr all = given_stored();
    const weft_status status =
        weft_spmm_dcsr_plan_create(&plan, QUEUE(c), &all, WEFT_SPMM_PLAN(WAITING(c)));
    weft_spmm_plan_destroy(&plan);
    return status;
}

// ---- tests

// As it was, whatever an operation wrote there.
static void restore(void)
{
    take_back();
    buffer_put(weft_context_queue(checking), written.offsets, sound_offsets, sizeof(sound_offsets));
    buffer_put(weft_context_queue(checking), stored.offsets, sound_offsets, 4 * sizeof(int32_t));
    buffer_put(weft_context_queue(checking), stored.rows, sound_rows, sizeof(sound_rows));
}

static void test_the_check_names_each_lie(void **state)
{
    (void)state;
    cl_command_queue queue = weft_context_queue(checking);
    assert_ok(weft_csr_check(trusting, queue, &given, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE, NULL));
    for (int i = 0; i < N_LIES; i++) {
        tell(&lies[i]);
        assert_int_equal(weft_csr_check(trusting, queue, &given, WEFT_CSR_SOUND, NULL),
                         WEFT_BAD_DATA);
        assert_says(lies[i].says);
        weft_spmm_plan *plan;
        assert_int_equal(weft_spmm_plan_create(&plan, trusting, queue, &given, NULL),
                         WEFT_BAD_DATA);
        assert_says(lies[i].says);
        take_back();
    }
}

static void expect_refused(int operation, const lie *l)
{
    const call c = {.ctx = checking};
    const weft_context_stats before = weft_context_get_stats(checking);
    tell(l);
    const weft_status status = operations[operation].run(&c);
    if (status != WEFT_BAD_DATA)
        fail_msg("%s%s: %s", operations[operation].says, l->says, weft_status_name(status));
    assert_int_equal(
        strncmp(weft_last_error(), operations[operation].says, strlen(operations[operation].says)),
        0);
    assert_says(l->says);
    const weft_context_stats after = weft_context_get_stats(checking);
    assert_int_equal(after.launches, before.launches);
    assert_int_equal(after.programs_built, before.programs_built);
    take_back();
}

static void test_operations_refuse_what_lies(void **state)
{
    (void)state;
    for (int i = 0; i < N_OPERATIONS; i++)
        for (int j = 0; j < N_LIES; j++)
            if (lies[j].in_offsets || !operations[i].offsets_alone)
                expect_refused(i, &lies[j]);
}

static void test_operations_take_what_is_sound(void **state)
{
    (void)state;
    const call c = {.ctx = checking};
    for (int i = 0; i < N_OPERATIONS; i++) {
        const weft_context_stats before = weft_context_get_stats(checking);
        if (operations[i].run(&c) != WEFT_OK)
            fail_msg("%s%s", operations[i].says, weft_last_error());
        const weft_context_stats after = weft_context_get_stats(checking);
        assert_true(after.launches > before.launches);
        restore();
    }
}

// A recorded call would have to check what the matrix has when it runs.
static void test_recordings_do_not_check(void **state)
{
    (void)state;
    weft_recording *recording = NULL;
    const call c = {.ctx = checking};
    assert_ok(weft_recording_begin(&recording, checking));
    for (int i = 0; i < N_OPERATIONS; i++) {
        if (operations[i].run(&c) != WEFT_UNSUPPORTED)
            fail_msg("%s%s", operations[i].says, weft_last_error());
        assert_says("the context has check_matrices, and a recording cannot check them");
    }
    assert_ok(weft_recording_end(recording));
    assert_int_equal(weft_recording_get_info(recording).n_launches, 0);
    weft_recording_destroy(&recording);
}

static void test_stored_rows(void **state)
{
    (void)state;
    static const lie of_rows[] = {
        {false, 0, -1, "dcsr_to_csr: D: stored row 0 is row -1"},
        {false, 1, 0, "dcsr_to_csr: D: stored row 1 is row 0, after row 0"},
        {false, 2, 4, "dcsr_to_csr: D: stored row 2 is row 4, after row 2 of 4"},
        {true, 1, 6, "dcsr_to_csr: D: row 1: its offsets fall from 6 to 5"},
        {true, 3, 5, "dcsr_to_csr: D: row 2, the last, ends at offset 5"},
    };
    static const int32_t offsets[4] = {0, 2, 5, 6};
    cl_command_queue queue = weft_context_queue(checking);
    buffer_put(queue, stored.offsets, offsets, sizeof(offsets));
    for (size_t i = 0; i < sizeof(of_rows) / sizeof(of_rows[0]); i++) {
        const lie *l = &of_rows[i];
        if (l->in_offsets)
            put(stored.offsets, offsets, 4, l->at, l->number);
        else
            put(stored.rows, sound_rows, 3, l->at, l->number);
        assert_int_equal(weft_dcsr_to_csr(checking, queue, &stored, &written, NULL), WEFT_BAD_DATA);
        assert_says(l->says);
        buffer_put(queue, stored.offsets, offsets, sizeof(offsets));
        buffer_put(queue, stored.rows, sound_rows, sizeof(sound_rows));
    }
    assert_ok(weft_dcsr_to_csr(checking, queue, &stored, &written, NULL));
    int32_t *now = buffer_now(queue, written.offsets, sizeof(sound_offsets));
    assert_memory_equal(now, sound_offsets, sizeof(sound_offsets));
    free(now);
    restore();
}

// Columns beyond the matrix, which csr_to_dense leaves out: nobody looks.
static void test_others_trust(void **state)
{
    (void)state;
    cl_command_queue queue = weft_context_queue(checking);
    tell(&lies[0]);
    assert_ok(weft_csr_to_dense(trusting, queue, &given, &dense[0], NULL));
    assert_int_equal(clFinish(queue), CL_SUCCESS);
    take_back();
}

static void *set_later(void *event)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    clSetUserEventStatus(event, CL_COMPLETE);
    return NULL;
}

// The matrix is sound only once the event is complete that the call waits for.
static void expect_waiting(reader run)
{
    cl_int code;
    cl_event start = clCreateUserEvent(weft_context_cl(checking), &code), filled;
    if (code != CL_SUCCESS)
        skip();
    cl_command_queue other = queue_with(checking, 0);
    tell(&lies[3]);
    assert_int_equal(clEnqueueWriteBuffer(other, given.offsets, CL_FALSE, 0, sizeof(sound_offsets),
                                          sound_offsets, 1, &start, &filled),
                     CL_SUCCESS);
    assert_int_equal(clFlush(other), CL_SUCCESS);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, set_later, start), 0);
    const call c = {.ctx = checking, .n_wait = 1, .wait = &filled};
    assert_ok(run(&c));
    pthread_join(thread, NULL);
    assert_int_equal(clFinish(other), CL_SUCCESS);
    clReleaseEvent(start);
    clReleaseEvent(filled);
    clReleaseCommandQueue(other);
}

static void test_what_fills_the_matrix_is_waited_for(void **state)
{
    (void)state;
    static const reader readers[] = {spmm, csr_check, dcsr_check, spmm_plan, spmm_dcsr_plan};
    if (is_on("oclgrind")) // whose host side takes one thread
        skip();
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
        expect_waiting(readers[i]);
}

static void test_wait_lists_of_readers_are_checked(void **state)
{
    (void)state;
    static const reader readers[] = {csr_check, dcsr_check, spmm_plan, spmm_dcsr_plan};
    const call c = {.ctx = trusting, .n_wait = 1};
    for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
        assert_int_equal(readers[i](&c), WEFT_BAD_ARGUMENT);
        assert_says("1 events to wait for, but the list is NULL");
    }
}

// ---- operands

static weft_csr matrix(void)
{
    return (weft_csr){
        .n_rows = SIDE,
        .n_cols = SIDE,
        .nnz = NNZ,
        .offsets = buffer_of(checking, sound_offsets, sizeof(sound_offsets)),
        .indices = buffer_of(checking, sound_indices, sizeof(sound_indices)),
        .values = buffer_zeroed(checking, BYTES, CL_MEM_READ_WRITE),
    };
}

// Both contexts are over one OpenCL context.
static int create(void **state)
{
    (void)state;
    assert_ok(weft_context_open(&checking, WEFT_CONTEXT(.check_matrices = true, .cache_dir = "")));
    assert_ok(weft_context_create(&trusting, weft_context_cl(checking),
                                  weft_context_device(checking), WEFT_CONTEXT(.cache_dir = "")));
    given = matrix();
    assert_ok(weft_spmm_plan_create(&transposed, checking, weft_context_queue(checking), &given,
                                    WEFT_SPMM_PLAN(.transpose_a = true)));
    sound = matrix();
    written = matrix();
    static const int32_t numbers[SIDE] = {0, 1, 2, 3};
    all_rows = buffer_of(checking, numbers, sizeof(numbers));
    stored = (weft_dcsr){
        .n_rows = SIDE,
        .n_cols = SIDE,
        .n_stored = 3,
        .nnz = NNZ,
        .rows = buffer_of(checking, sound_rows, sizeof(sound_rows)),
        .offsets = buffer_zeroed(checking, BYTES, CL_MEM_READ_WRITE),
    };
    for (int i = 0; i < N_DENSE; i++)
        dense[i] =
            weft_matrix(buffer_zeroed(checking, BYTES, CL_MEM_READ_WRITE), WEFT_F32, SIDE, SIDE);
    for (int i = 0; i < 2; i++)
        entries[i] = (weft_tensor){.buffer = buffer_zeroed(checking, BYTES, CL_MEM_READ_WRITE),
                                   .ndim = 1,
                                   .shape = {NNZ},
                                   .stride = {1}};
    return 0;
}

static int destroy(void **state)
{
    (void)state;
    weft_csr *const matrices[] = {&given, &sound, &written};
    weft_spmm_plan_destroy(&transposed);
    for (int i = 0; i < 3; i++)
        weft_csr_destroy(matrices[i]);
    clReleaseMemObject(all_rows);
    clReleaseMemObject(stored.rows);
    clReleaseMemObject(stored.offsets);
    for (int i = 0; i < N_DENSE; i++)
        clReleaseMemObject(dense[i].buffer);
    for (int i = 0; i < 2; i++)
        clReleaseMemObject(entries[i].buffer);
    weft_context_destroy(&trusting);
    weft_context_destroy(&checking);
    return 0;
}

int main(void)
{
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_check_names_each_lie),
        cmocka_unit_test(test_operations_refuse_what_lies),
        cmocka_unit_test(test_operations_take_what_is_sound),
        cmocka_unit_test(test_recordings_do_not_check),
        cmocka_unit_test(test_stored_rows),
        cmocka_unit_test(test_others_trust),
        cmocka_unit_test(test_what_fills_the_matrix_is_waited_for),
        cmocka_unit_test(test_wait_lists_of_readers_are_checked),
    };
    return cmocka_run_group_tests(tests, create, destroy);
}
