// SPDX-License-Identifier: Apache-2.0
// Values in another order against a plain loop, bit by bit: all data types, batches, strides of
// either sign, groups as for a CPU and for a GPU; order behind an event; and what is refused, each
// in a sentence and without enqueuing anything.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS // clCreateCommandQueue
#include <weft/sparse_gather.h>

#include "format_case.h"

static weft_context *ctx;
static cl_command_queue queue;
static bool is_reduced;

// ---- results

typedef struct gather_case {
    weft_dtype dtype, source_dtype;
    int64_t nnz, n;
    int64_t n_batches; // 0: one matrix, without an axis for batches
} gather_case;

enum { GAP = 3 }; // elements between matrices of a batch

// `n` whole numbers below nnz: some several times, some not at all.
static int64_t *source_create(random_state *random, int64_t n, int64_t nnz)
{
    int64_t *source = new_array(n, sizeof(*source));
    for (int64_t i = 0; i < n; i++)
        source[i] = random_below(random, nnz);
    return source;
}

static char *gathered(const gather_case *of, const char *data, const int64_t *source)
{
    const size_t size = weft_dtype_size(of->dtype);
    const int64_t batches = of->n_batches > 0 ? of->n_batches : 1;
    char *want = new_array(batches * of->n, size);
    for (int64_t b = 0; b < batches; b++)
        for (int64_t i = 0; i < of->n; i++) {
            const int64_t from = b * (of->nnz + GAP) + of->nnz - 1 - source[i];
            memcpy(want + (size_t)(b * of->n + i) * size, data + (size_t)from * size, size);
        }
    return want;
}

// All three are gone through from the last element backwards.
static void run_on(weft_context *on, const gather_case *of, uint64_t seed)
{
    random_state random = {seed};
    const cl_command_queue its = weft_context_queue(on);
    const size_t size = weft_dtype_size(of->dtype), wide = weft_dtype_size(of->source_dtype);
    const int64_t nnz = of->nnz, n = of->n, batches = of->n_batches > 0 ? of->n_batches : 1;
    char *data = any_bits(&random, batches * (nnz + GAP), size);
    int64_t *source = source_create(&random, n, nnz);
    void *numbers = narrowed(source, n, of->source_dtype);
    char *want = gathered(of, data, source);
    guarded values = guarded_create(on, data, batches * (nnz + GAP), size, 2);
    guarded sources = guarded_create(on, numbers, n, wide, 3);
    guarded out = guarded_create(on, NULL, batches * n, size, 4);
    const int axis = of->n_batches > 0;
    weft_tensor from = {values.buffer, of->dtype, 2 + nnz - 1, axis + 1, {batches}, {nnz + GAP}};
    weft_tensor to = {out.buffer, of->dtype, 4 + n - 1, axis + 1, {batches}, {n}};
    const weft_tensor by = {sources.buffer, of->source_dtype, 3 + n - 1, 1, {n}, {-1}};
    from.shape[axis] = nnz;
    from.stride[axis] = -1;
    to.shape[axis] = n;
    to.stride[axis] = -1;
    assert_ok(weft_sparse_gather(on, its, &from, &by, &to, NULL));
    guarded_check(&out, its, want, "gathered");
    guarded_destroy(&values);
    guarded_destroy(&sources);
    guarded_destroy(&out);
    free(data);
    free(source);
    free(numbers);
    free(want);
}

static void test_values_of_every_type_follow(void **state)
{
    (void)state;
    static const weft_dtype dtypes[] = {WEFT_F32, WEFT_F64, WEFT_F16, WEFT_BF16, WEFT_U8,
                                        WEFT_I8,  WEFT_I16, WEFT_I32, WEFT_I64};
    static const weft_dtype source_dtypes[] = {WEFT_I32, WEFT_I64};
    weft_context *as_gpu = open_context(weft_profile_find("nvidia-a100"));
    const int64_t nnz = is_reduced ? 90 : 2000;
    for (uint64_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
        for (int wide = 0; wide < 2; wide++)
            for (int64_t n_batches = 0; n_batches < 3; n_batches++) {
                const gather_case of = {dtypes[i], source_dtypes[wide], nnz, nnz + 7, n_batches};
                run_on(ctx, &of, i);
                run_on(as_gpu, &of, i);
            }
    weft_context_destroy(&as_gpu);
}

static void test_same_bits_run_after_run(void **state)
{
    (void)state;
    enum { N = 700 };
    random_state random = {5};
    float *data = any_bits(&random, N, sizeof(float));
    int64_t *source = source_create(&random, N, N);
    cl_int *numbers = narrowed(source, N, WEFT_I32);
    float *want = new_array(N, sizeof(float));
    for (int i = 0; i < N; i++)
        memcpy(&want[i], &data[numbers[i]], sizeof(float));
    guarded values = guarded_create(ctx, data, N, sizeof(float), 1);
    guarded sources = guarded_create(ctx, numbers, N, sizeof(cl_int), 0);
    guarded out = guarded_create(ctx, NULL, N, sizeof(float), 3);
    const weft_tensor from = {values.buffer, WEFT_F32, 1, 1, {N}, {1}};
    const weft_tensor by = {sources.buffer, WEFT_I32, 0, 1, {N}, {1}};
    const weft_tensor to = {out.buffer, WEFT_F32, 3, 1, {N}, {1}};
    for (int i = 0; i < 5; i++) {
        guarded_restore(&out, queue);
        assert_ok(weft_sparse_gather(ctx, queue, &from, &by, &to, NULL));
        guarded_check(&out, queue, want, "gathered");
    }
    guarded_destroy(&values);
    guarded_destroy(&sources);
    guarded_destroy(&out);
    free(data);
    free(source);
    free(numbers);
    free(want);
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    guarded values = guarded_create(ctx, "12345678", 2, sizeof(float), 1);
    guarded out = guarded_create(ctx, NULL, 2, sizeof(float), 1);
    const weft_tensor from = {values.buffer, WEFT_F32, 1, 1, {2}, {1}};
    const weft_tensor none = {.ndim = 1, .dtype = WEFT_I32}, to = {.buffer = out.buffer, .ndim = 1};
    assert_ok(weft_sparse_gather(ctx, queue, &from, &none, &to, NULL));
    guarded_check(&out, queue, out.before + sizeof(float), "gathered");
    guarded_destroy(&values);
    guarded_destroy(&out);
}

// ---- calls

enum { NNZ = 24 };

// Of the running test: values 0 to 23, transposed round.
static guarded values, sources, out;

static int create_operands(void **state)
{
    (void)state;
    float numbers[NNZ];
    cl_int from[NNZ];
    for (int i = 0; i < NNZ; i++) {
        numbers[i] = (float)i;
        from[i] = NNZ - 1 - i;
    }
    values = guarded_create(ctx, numbers, NNZ, sizeof(float), 1);
    sources = guarded_create(ctx, from, NNZ, sizeof(cl_int), 0);
    out = guarded_create(ctx, NULL, NNZ, sizeof(float), 5);
    return 0;
}

static int destroy_operands(void **state)
{
    (void)state;
    guarded_destroy(&values);
    guarded_destroy(&sources);
    guarded_destroy(&out);
    return 0;
}

static weft_tensor values_tensor(void)
{
    return (weft_tensor){values.buffer, WEFT_F32, 1, 1, {NNZ}, {1}};
}

static weft_tensor source_tensor(void)
{
    return (weft_tensor){sources.buffer, WEFT_I32, 0, 1, {NNZ}, {1}};
}

static weft_tensor out_tensor(void)
{
    return (weft_tensor){out.buffer, WEFT_F32, 5, 1, {NNZ}, {1}};
}

static bool event_is_open(cl_event event)
{
    cl_int status = CL_COMPLETE;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
    return status > CL_COMPLETE;
}

// The order comes in behind an event that is still to complete: the call waits for it.
static void test_it_waits(void **state)
{
    (void)state;
    cl_int code;
    const cl_int zeros[NNZ] = {0};
    float want[NNZ];
    for (int i = 0; i < NNZ; i++)
        want[i] = (float)(NNZ - 1 - i);
    clEnqueueWriteBuffer(queue, sources.buffer, CL_TRUE, 0, sizeof(zeros), zeros, 0, NULL, NULL);
    cl_command_queue other =
        clCreateCommandQueue(weft_context_cl(ctx), weft_context_device(ctx), 0, &code);
    cl_event gate = clCreateUserEvent(weft_context_cl(ctx), &code), done = NULL;
    const weft_tensor from = values_tensor(), by = source_tensor(), to = out_tensor();
    assert_ok(weft_sparse_gather(ctx, other, &from, &by, &to,
                                 WEFT_SPARSE_GATHER(.n_wait = 1, .wait = &gate, .event = &done)));
    assert_non_null(done);
    if (!is_on("oclgrind")) // where a flush waits for the gate
        clFlush(other);
    guarded_restore(&sources, queue);
    assert_true(event_is_open(done));
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &done), CL_SUCCESS);
    guarded_check(&out, queue, want, "gathered");
    clReleaseEvent(done);
    clReleaseEvent(gate);
    clReleaseCommandQueue(other);
}

static void test_what_it_refuses(void **state)
{
    (void)state;
    const weft_tensor from = values_tensor(), by = source_tensor(), to = out_tensor();
    const uint64_t launches = weft_context_get_stats(ctx).launches;
#define REFUSE(status, part, change)                                                               \
    do {                                                                                           \
        weft_tensor v = from, s = by, o = to;                                                      \
        weft_sparse_gather_params params = *WEFT_SPARSE_GATHER(.n_wait = 0);                       \
        change;                                                                                    \
        assert_int_equal(weft_sparse_gather(ctx, queue, &v, &s, &o, &params), status);             \
        assert_says(part);                                                                         \
    } while (0)
    REFUSE(WEFT_BAD_SHAPE, "values has 2 dimensions, source 1, out 1", v.ndim = 2);
    REFUSE(WEFT_BAD_SHAPE, "values has 1 dimensions, source 0, out 1", s.ndim = 0);
    REFUSE(WEFT_BAD_SHAPE, "source has 23 elements, out 24", s.shape[0] = 23);
    REFUSE(WEFT_BAD_SHAPE, "source has 24 elements, values none", v.shape[0] = 0);
    REFUSE(WEFT_BAD_SHAPE, "values is a batch of 2, out of 1",
           (v.ndim = o.ndim = 2, v.shape[0] = 2, o.shape[0] = 1, v.shape[1] = NNZ / 2,
            o.shape[1] = NNZ, v.stride[1] = o.stride[1] = 1));
    REFUSE(WEFT_BAD_DTYPE, "values is f32, out i32", o.dtype = WEFT_I32);
    REFUSE(WEFT_BAD_DTYPE, "source is f32: i32 or i64", s.dtype = WEFT_F32);
#undef REFUSE
    assert_int_equal(weft_sparse_gather(ctx, queue, NULL, &by, &to, NULL), WEFT_BAD_ARGUMENT);
    assert_says("sparse_gather: values is NULL");
    assert_int_equal(weft_sparse_gather(ctx, NULL, &from, &by, &to, NULL), WEFT_BAD_ARGUMENT);
    assert_says("sparse_gather: the queue is NULL");
    assert_int_equal(weft_context_get_stats(ctx).launches, launches);
    guarded_check(&out, queue, out.before + (size_t)out.start * out.size, "out");
}

#define WITH_OPERANDS(test) cmocka_unit_test_setup_teardown(test, create_operands, destroy_operands)

int main(void)
{
    need_device();
    is_reduced = getenv("WEFT_TEST_REDUCED");
    ctx = open_context(NULL);
    queue = weft_context_queue(ctx);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_every_type_follow),
        cmocka_unit_test(test_same_bits_run_after_run),
        cmocka_unit_test(test_nothing_to_do),
        WITH_OPERANDS(test_it_waits),
        WITH_OPERANDS(test_what_it_refuses),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    weft_context_destroy(&ctx);
    return failed;
}
