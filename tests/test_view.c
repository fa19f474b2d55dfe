// SPDX-License-Identifier: Apache-2.0
// The checks that operands pass: each way to be wrong, and random views against counting every
// element by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "operand/view.h"
#include "random.h"

enum {
    N_BYTES = 256,    // of the buffer that the cases look at
    PART_BYTES = 512, // of each half of the parent: sub-buffers must be aligned
    LARGE = 4096,
};

static weft_context *context;
static weft_context *other_context;
static cl_mem buffer, other_buffer, foreign_buffer, constant_buffer, parent;

static cl_mem create_buffer(const weft_context *ctx, cl_mem_flags flags, size_t bytes)
{
    cl_int code;
    cl_mem created = clCreateBuffer(weft_context_cl(ctx), flags, bytes, NULL, &code);
    assert_int_equal(code, CL_SUCCESS);
    return created;
}

static int set_up(void **state)
{
    (void)state;
    if (weft_context_open(&other_context, WEFT_CONTEXT(.cache_dir = "")) != WEFT_OK)
        return -1;
    buffer = create_buffer(context, CL_MEM_READ_WRITE, N_BYTES);
    other_buffer = create_buffer(context, CL_MEM_READ_WRITE, N_BYTES);
    foreign_buffer = create_buffer(other_context, CL_MEM_READ_WRITE, N_BYTES);
    constant_buffer = create_buffer(context, CL_MEM_READ_ONLY, N_BYTES);
    parent = create_buffer(context, CL_MEM_READ_WRITE, LARGE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    clReleaseMemObject(buffer);
    clReleaseMemObject(other_buffer);
    clReleaseMemObject(foreign_buffer);
    clReleaseMemObject(constant_buffer);
    clReleaseMemObject(parent);
    weft_context_destroy(&other_context);
    return 0;
}

static void expect(weft_status status, weft_status expected, const char *sentence, size_t i)
{
    if (status != expected)
        fail_msg("case %zu: %s, not %s: \"%s\"", i, weft_status_name(status),
                 weft_status_name(expected), weft_last_error());
    if (expected != WEFT_OK && !strstr(weft_last_error(), sentence))
        fail_msg("case %zu: \"%s\" does not say \"%s\"", i, weft_last_error(), sentence);
}

typedef struct tensor_case {
    weft_status expected;
    const char *sentence; // a part of it
    weft_tensor tensor;   // its buffer is filled in
} tensor_case;

#define BIG INT64_MAX

// The buffer holds 64 f32.
static const tensor_case tensor_cases[] = {
    {WEFT_OK, "", {.ndim = 2, .shape = {4, 16}, .stride = {16, 1}}},
    {WEFT_OK, "", {.ndim = 0, .offset = 63}},
    {WEFT_OK, "", {.ndim = 1, .shape = {64}, .stride = {-1}, .offset = 63}},
    {WEFT_OK, "", {.ndim = 2, .shape = {1000, 64}, .stride = {0, 1}}},
    {WEFT_OK, "", {.ndim = 2, .shape = {1, 64}, .stride = {BIG, 1}}},
    {WEFT_OK, "", {.ndim = 2, .shape = {0, BIG}, .stride = {BIG, BIG}, .offset = -5}},
    {WEFT_OK, "", {.dtype = WEFT_F64, .ndim = 1, .shape = {32}, .stride = {1}}},
    {WEFT_OK, "", {.dtype = WEFT_BF16, .ndim = 1, .shape = {128}, .stride = {1}}},
    {WEFT_OK, "", {.dtype = WEFT_U8, .ndim = 1, .shape = {256}, .stride = {1}}},
    {WEFT_OK,
     "",
     {.ndim = 8, .shape = {2, 1, 2, 2, 2, 2, 2, 1}, .stride = {32, 7, 16, 8, 4, 2, 1, 7}}},

    {WEFT_BAD_SHAPE, "test: B has 9 dimensions, 0 to 8", {.ndim = 9}},
    {WEFT_BAD_SHAPE, "test: B has -1 dimensions", {.ndim = -1}},
    {WEFT_BAD_SHAPE, "extent -3 in dimension 1", {.ndim = 2, .shape = {4, -3}}},
    {WEFT_BAD_DTYPE, "data type i16", {.dtype = WEFT_I16, .ndim = 1, .shape = {1}}},
    {WEFT_BAD_DTYPE, "unknown (99)", {.dtype = (weft_dtype)99, .ndim = 1, .shape = {1}}},

    {WEFT_BAD_BUFFER,
     "test: B [4 x 17] needs 272 bytes, its buffer has 256",
     {.ndim = 2, .shape = {4, 17}, .stride = {17, 1}}},
    {WEFT_BAD_BUFFER, "[] needs 260 bytes", {.ndim = 0, .offset = 64}},
    {WEFT_BAD_BUFFER,
     "needs 264 bytes",
     {.dtype = WEFT_F64, .ndim = 1, .shape = {32}, .stride = {1}, .offset = 1}},
    {WEFT_BAD_BUFFER, "reaches element -1", {.ndim = 0, .offset = -1}},
    {WEFT_BAD_BUFFER,
     "[64] reaches element -1 of its buffer: offset 62",
     {.ndim = 1, .shape = {64}, .stride = {-1}, .offset = 62}},
    {WEFT_BAD_BUFFER,
     "reaches element -9223372036854775807",
     {.ndim = 1, .shape = {2}, .stride = {-BIG}}},

    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 1, .shape = {BIG}, .stride = {2}}},
    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 1, .shape = {3}, .stride = {INT64_MIN}}},
    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 2, .shape = {2, 2}, .stride = {BIG, BIG}}},
    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 2, .shape = {2, 2}, .stride = {-BIG, -BIG}}},
    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 1, .shape = {1}, .stride = {1}, .offset = BIG}},
    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 1, .shape = {BIG / 2}, .stride = {1}}},
    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 2, .shape = {BIG, 2}, .stride = {0, 0}}},
    {WEFT_BAD_SHAPE, "pass 2^63", {.ndim = 3, .shape = {BIG, 0, 2}}},
};

static void test_tensors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tensor_cases) / sizeof(tensor_cases[0]); i++) {
        weft_tensor tensor = tensor_cases[i].tensor;
        tensor.buffer = buffer;
        expect(weft_tensor_check(context, &tensor, "test: B"), tensor_cases[i].expected,
               tensor_cases[i].sentence, i);
    }
}

static void test_buffers(void **state)
{
    (void)state;
    weft_tensor tensor = weft_matrix(NULL, WEFT_F32, 4, 16);
    expect(weft_tensor_check(context, NULL, "test: B"), WEFT_BAD_ARGUMENT, "test: B is NULL", 0);
    expect(weft_tensor_check(context, &tensor, "test: B"), WEFT_BAD_BUFFER,
           "test: B: the buffer is NULL", 1);
    tensor.buffer = foreign_buffer;
    expect(weft_tensor_check(context, &tensor, "test: B"), WEFT_BAD_BUFFER,
           "test: B: the buffer belongs to another OpenCL context", 2);
    expect(weft_tensor_check(other_context, &tensor, "test: B"), WEFT_OK, "", 3);

    tensor = weft_matrix(NULL, WEFT_F32, 0, 16);
    expect(weft_output_check(context, &tensor, "test: C"), WEFT_OK, "", 4);
    tensor = weft_matrix(constant_buffer, WEFT_F32, 4, 16);
    expect(weft_tensor_check(context, &tensor, "test: B"), WEFT_OK, "", 5);
    expect(weft_output_check(context, &tensor, "test: C"), WEFT_BAD_BUFFER, "CL_MEM_READ_ONLY", 6);
}

static const tensor_case output_cases[] = {
    {WEFT_OK, "", {.ndim = 2, .shape = {4, 16}, .stride = {16, 1}}},
    {WEFT_OK, "", {.ndim = 2, .shape = {16, 4}, .stride = {1, 16}}},
    {WEFT_OK, "", {.ndim = 2, .shape = {4, 10}, .stride = {-16, 1}, .offset = 48}},
    {WEFT_OK, "", {.ndim = 2, .shape = {1, 16}, .stride = {0, 1}}},
    {WEFT_OK, "", {.ndim = 3, .shape = {2, 3, 5}, .stride = {5, 10, 1}}},
    {WEFT_OK, "", {.ndim = 2, .shape = {4, 16}, .stride = {1, 4}}},
    {WEFT_BAD_BUFFER, "needs 272 bytes", {.ndim = 2, .shape = {4, 17}, .stride = {17, 1}}},
    {WEFT_BAD_SHAPE,
     "test: C [2 x 16]: an output's elements must not share a place; the stride 0 of extent 2",
     {.ndim = 2, .shape = {2, 16}, .stride = {0, 1}}},
    {WEFT_BAD_SHAPE,
     "the stride 15 of extent 4 does not pass the 16 elements",
     {.ndim = 2, .shape = {4, 16}, .stride = {15, 1}}},
    {WEFT_BAD_SHAPE, "share a place", {.ndim = 2, .shape = {4, 4}, .stride = {1, -1}, .offset = 9}},
    {WEFT_BAD_SHAPE, "share a place", {.ndim = 3, .shape = {2, 2, 3}, .stride = {4, 2, 1}}},
};

static void test_outputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(output_cases) / sizeof(output_cases[0]); i++) {
        weft_tensor tensor = output_cases[i].tensor;
        tensor.buffer = buffer;
        expect(weft_output_check(context, &tensor, "test: C"), output_cases[i].expected,
               output_cases[i].sentence, i);
    }
}

// What walking over every element finds.
typedef struct walk {
    int64_t first, last; // half-open, as in weft_span
    bool is_distinct;
} walk;

enum { WALK_REACH = 256 }; // no random view goes further from 0

static walk walk_over(const weft_tensor *t)
{
    int n_visits[2 * WALK_REACH] = {0};
    walk found = {WALK_REACH, -WALK_REACH, true};
    for (int64_t i = 0; i < t->shape[0]; i++)
        for (int64_t j = 0; j < t->shape[1]; j++)
            for (int64_t k = 0; k < t->shape[2]; k++) {
                const int64_t at =
                    t->offset + i * t->stride[0] + j * t->stride[1] + k * t->stride[2];
                found.first = at < found.first ? at : found.first;
                found.last = at + 1 > found.last ? at + 1 : found.last;
                found.is_distinct &= n_visits[at + WALK_REACH]++ == 0;
            }
    if (found.first >= found.last)
        found.first = found.last = 0;
    return found;
}

static weft_tensor random_tensor(random_state *random)
{
    weft_tensor t = {.buffer = buffer, .ndim = 3, .offset = random_between(random, 0, 63)};
    for (int d = 0; d < 3; d++) {
        t.shape[d] = random_between(random, d == 0 ? 0 : 1, 4);
        t.stride[d] = random_between(random, -9, 16);
    }
    return t;
}

// Sound means that every element is inside. An output that is accepted is distinct; the refusal of
// a distinct one must stay a rarity, and does not hit any nested layout.
static void test_random_views(void **state)
{
    (void)state;
    random_state random = {3};
    int n_sound = 0, n_distinct = 0, n_accepted = 0;
    for (int i = 0; i < 100000; i++) {
        const weft_tensor t = random_tensor(&random);
        const walk found = walk_over(&t);
        const weft_span span = weft_tensor_span(&t);
        const bool is_inside = found.first >= 0 && found.last <= N_BYTES / 4;
        const bool is_output = weft_output_check(context, &t, "test: C") == WEFT_OK;

        assert_int_equal(span.first, found.first);
        assert_int_equal(span.last, found.last);
        assert_int_equal(weft_tensor_check(context, &t, "test: C") == WEFT_OK, is_inside);
        assert_false(is_output && !(is_inside && found.is_distinct));
        n_sound += is_inside;
        n_distinct += is_inside && found.is_distinct;
        n_accepted += is_output;
    }
    assert_in_range(n_sound, 20000, 80000);
    assert_true(n_accepted > n_distinct / 2);
}

typedef struct csr_case {
    weft_status expected;
    const char *sentence;
    int64_t n_batches;
    weft_csr csr; // its buffers are filled in: 256 bytes each
} csr_case;

static const csr_case csr_cases[] = {
    {WEFT_OK, "", 1, {.n_rows = 63, .n_cols = 9, .nnz = 64}},
    {WEFT_OK, "", 1, {.n_rows = 31, .n_cols = 9, .nnz = 32, .offset_dtype = WEFT_I64}},
    {WEFT_OK, "", 1, {.n_rows = 3, .n_cols = 32768, .nnz = 64, .index_dtype = WEFT_I16}},
    {WEFT_OK, "", 1, {.n_rows = 3, .n_cols = INT64_C(1) << 31, .nnz = 64}},
    {WEFT_OK, "", 0, {.n_rows = 0, .n_cols = 0, .nnz = 0}},
    {WEFT_OK, "", 4, {.n_rows = 3, .n_cols = 9, .nnz = 16, .values_batch_stride = 16}},
    {WEFT_OK, "", 9, {.n_rows = 3, .n_cols = 9, .nnz = 64, .values_batch_stride = 0}},
    {WEFT_OK, "", 0, {.n_rows = 3, .n_cols = 9, .nnz = 16, .values_batch_stride = BIG}},

    {WEFT_BAD_ARGUMENT, "test: A is -1 x 9", 1, {.n_rows = -1, .n_cols = 9}},
    {WEFT_BAD_ARGUMENT, "negative", 1, {.n_rows = 1, .n_cols = -9}},
    {WEFT_BAD_ARGUMENT, "with -2 entries", 1, {.n_rows = 1, .n_cols = 9, .nnz = -2}},
    {WEFT_BAD_SHAPE, "rows", 1, {.n_rows = BIG, .n_cols = 9}},
    {WEFT_BAD_SHAPE, "pass 2^63 bytes", 1, {.n_rows = BIG - 1, .n_cols = 9}},

    {WEFT_BAD_DTYPE, "i16 offsets", 1, {.n_rows = 3, .offset_dtype = WEFT_I16}},
    {WEFT_BAD_DTYPE, "i64 indices", 1, {.n_rows = 3, .index_dtype = WEFT_I64}},
    {WEFT_BAD_DTYPE, "i32 values", 1, {.n_rows = 3, .dtype = WEFT_I32}},
    {WEFT_BAD_DTYPE,
     "test: A has 32769 columns, i16 indices reach 32768",
     1,
     {.n_rows = 3, .n_cols = 32769, .index_dtype = WEFT_I16}},
    {WEFT_BAD_DTYPE,
     "i32 indices reach 2147483648",
     1,
     {.n_rows = 3, .n_cols = (INT64_C(1) << 31) + 1}},
    {WEFT_BAD_DTYPE,
     "test: A has 2147483648 entries, i32 offsets reach 2147483647",
     1,
     {.n_rows = 3, .n_cols = 9, .nnz = INT64_C(1) << 31}},

    {WEFT_BAD_BUFFER,
     "test: A's offsets, 65 from element 0, need 260 bytes, their buffer has 256",
     1,
     {.n_rows = 64, .n_cols = 9, .nnz = 1}},
    {WEFT_BAD_BUFFER, "offsets", 1, {.n_rows = 63, .offsets_start = 1}},
    {WEFT_BAD_BUFFER, "offsets", 1, {.n_rows = 32, .offset_dtype = WEFT_I64}},
    {WEFT_BAD_BUFFER,
     "test: A's indices, 60 from element 5, need 260 bytes",
     1,
     {.n_rows = 3, .n_cols = 9, .nnz = 60, .indices_start = 5}},
    {WEFT_BAD_BUFFER, "values", 1, {.n_rows = 3, .n_cols = 9, .nnz = 60, .values_start = 5}},
    {WEFT_BAD_BUFFER, "values", 1, {.n_rows = 3, .n_cols = 9, .nnz = 33, .dtype = WEFT_F64}},
    {WEFT_BAD_BUFFER,
     "values, 68 from element 0, need 272",
     4,
     {.n_rows = 3, .n_cols = 9, .nnz = 20, .values_batch_stride = 16}},
    {WEFT_BAD_ARGUMENT, "start at element -1", 1, {.n_rows = 3, .offsets_start = -1}},
    {WEFT_BAD_ARGUMENT,
     "indices start at element -4",
     1,
     {.n_rows = 3, .n_cols = 9, .nnz = 1, .indices_start = -4}},
    {WEFT_BAD_ARGUMENT,
     "batch stride of -16",
     2,
     {.n_rows = 3, .n_cols = 9, .nnz = 16, .values_batch_stride = -16}},
    {WEFT_BAD_SHAPE, "pass 2^63", 1, {.n_rows = 3, .offsets_start = BIG}},
    {WEFT_BAD_SHAPE,
     "pass 2^63",
     3,
     {.n_rows = 3, .n_cols = 9, .nnz = 16, .values_batch_stride = BIG}},
};

static void test_csr_views(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(csr_cases) / sizeof(csr_cases[0]); i++) {
        weft_csr csr = csr_cases[i].csr;
        csr.offsets = csr.indices = csr.values = buffer;
        expect(weft_csr_view_check(context, &csr, csr_cases[i].n_batches, "test: A"),
               csr_cases[i].expected, csr_cases[i].sentence, i);
    }
}

static void test_csr_buffers(void **state)
{
    (void)state;
    const weft_csr sound = {
        .n_rows = 3, .n_cols = 9, .nnz = 4, .offsets = buffer, .indices = buffer, .values = buffer};
    weft_csr csr = sound;
    expect(weft_csr_view_check(context, NULL, 1, "test: A"), WEFT_BAD_ARGUMENT, "A is NULL", 0);
    csr.offsets = NULL;
    expect(weft_csr_view_check(context, &csr, 1, "test: A"), WEFT_BAD_BUFFER,
           "test: A's offsets: the buffer is NULL", 1);
    csr = sound;
    csr.indices = NULL;
    expect(weft_csr_view_check(context, &csr, 1, "test: A"), WEFT_BAD_BUFFER, "A's indices", 2);
    csr = sound;
    csr.values = foreign_buffer;
    expect(weft_csr_view_check(context, &csr, 1, "test: A"), WEFT_BAD_BUFFER,
           "test: A's values: the buffer belongs to another", 3);
    csr.values = csr.indices = NULL;
    csr.nnz = 0;
    expect(weft_csr_view_check(context, &csr, 1, "test: A"), WEFT_OK, "", 4);
}

// C is bytes 64 to 127 of its buffer.
static void test_overlaps(void **state)
{
    (void)state;
    weft_tensor output = weft_matrix(buffer, WEFT_F32, 4, 4);
    output.offset = 16;
    static const struct {
        weft_span bytes;
        weft_status expected;
    } cases[] = {
        {{0, 64}, WEFT_OK},          {{0, 65}, WEFT_BAD_BUFFER},
        {{128, 256}, WEFT_OK},       {{127, 256}, WEFT_BAD_BUFFER},
        {{80, 84}, WEFT_BAD_BUFFER}, {{0, 256}, WEFT_BAD_BUFFER},
        {{80, 80}, WEFT_OK},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        expect(weft_overlap_check(&output, "C", buffer, cases[i].bytes, "B", "test"),
               cases[i].expected, "test: C (bytes 64 to 127) overlaps B (bytes ", i);
        expect(weft_overlap_check(&output, "C", other_buffer, cases[i].bytes, "B", "test"), WEFT_OK,
               "", i);
    }
    output.shape[1] = 0;
    expect(weft_overlap_check(&output, "C", buffer, (weft_span){0, 256}, "B", "test"), WEFT_OK, "",
           99);
}

// C is the left half of a 8 x 8 matrix, B the right half of it, or a little more.
static void test_columns_side_by_side(void **state)
{
    (void)state;
    weft_tensor output = {.buffer = buffer, .ndim = 2, .shape = {8, 4}, .stride = {8, 1}};
    weft_tensor input = output;
    input.offset = 4;
    expect(weft_tensor_overlap_check(&output, "C", &input, "B", "test"), WEFT_OK, "", 0);
    expect(weft_tensor_overlap_check(&input, "C", &output, "B", "test"), WEFT_OK, "", 1);
    input.offset = 3;
    expect(weft_tensor_overlap_check(&output, "C", &input, "B", "test"), WEFT_BAD_BUFFER,
           "overlaps B (bytes 12 to", 2);
    input.offset = 5; // its last column is C's first, a row later
    expect(weft_tensor_overlap_check(&output, "C", &input, "B", "test"), WEFT_BAD_BUFFER,
           "overlaps", 3);
    input = (weft_tensor){.buffer = buffer, .ndim = 1, .shape = {8}, .stride = {-8}, .offset = 63};
    expect(weft_tensor_overlap_check(&output, "C", &input, "B", "test"), WEFT_OK, "", 4);
    input.stride[0] = -7;
    expect(weft_tensor_overlap_check(&output, "C", &input, "B", "test"), WEFT_BAD_BUFFER,
           "overlaps", 5);
    input.buffer = other_buffer;
    expect(weft_tensor_overlap_check(&output, "C", &input, "B", "test"), WEFT_OK, "", 6);

    // The stride of a lone row is not looked at, however large.
    output = (weft_tensor){.buffer = buffer, .ndim = 2, .shape = {1, 4}, .stride = {BIG, 1}};
    input = output;
    expect(weft_tensor_overlap_check(&output, "C", &input, "B", "test"), WEFT_BAD_BUFFER,
           "overlaps", 7);
}

static void mark_bytes(const weft_tensor *t, bool marks[N_BYTES])
{
    const int64_t size = (int64_t)weft_dtype_size(t->dtype);
    for (int64_t i = 0; i < t->shape[0]; i++)
        for (int64_t j = 0; j < t->shape[1]; j++)
            for (int64_t k = 0; k < t->shape[2]; k++)
                for (int64_t b = 0; b < size; b++)
                    marks[(t->offset + i * t->stride[0] + j * t->stride[1] + k * t->stride[2]) *
                              size +
                          b] = true;
}

static weft_tensor random_sound_tensor(random_state *random, bool is_output)
{
    static const weft_dtype dtypes[] = {WEFT_U8, WEFT_F16, WEFT_F32, WEFT_F64};
    for (;;) {
        weft_tensor t = random_tensor(random);
        t.dtype = dtypes[random_below(random, 4)];
        if ((is_output ? weft_output_check(context, &t, "test: C")
                       : weft_tensor_check(context, &t, "test: B")) == WEFT_OK)
            return t;
    }
}

// Whatever is let through shares no byte.
static void test_random_overlaps(void **state)
{
    (void)state;
    random_state random = {17};
    int n_let_through = 0;
    for (int i = 0; i < 20000; i++) {
        const weft_tensor output = random_sound_tensor(&random, true);
        const weft_tensor input = random_sound_tensor(&random, false);
        bool written[N_BYTES] = {false}, read[N_BYTES] = {false};
        mark_bytes(&output, written);
        mark_bytes(&input, read);
        if (weft_tensor_overlap_check(&output, "C", &input, "B", "test") != WEFT_OK)
            continue;
        n_let_through++;
        for (int b = 0; b < N_BYTES; b++)
            assert_false(written[b] && read[b]);
    }
    assert_true(n_let_through > 2000);
}

static cl_mem create_part(size_t origin, size_t bytes)
{
    const cl_buffer_region region = {origin, bytes};
    cl_int code;
    cl_mem part =
        clCreateSubBuffer(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    return code == CL_SUCCESS ? part : NULL;
}

static void test_overlaps_of_parts(void **state)
{
    (void)state;
    cl_mem left = create_part(0, 2 * PART_BYTES), right = create_part(PART_BYTES, 2 * PART_BYTES);
    assert_non_null(left);
    assert_non_null(right);
    const weft_tensor output = weft_matrix(left, WEFT_F32, 2, PART_BYTES / 4);
    const weft_span near = {0, 4}, far = {PART_BYTES, 2 * PART_BYTES};

    expect(weft_overlap_check(&output, "C", right, near, "B", "test"), WEFT_BAD_BUFFER, "overlaps",
           0);
    expect(weft_overlap_check(&output, "C", right, far, "B", "test"), WEFT_OK, "", 1);
    expect(weft_overlap_check(&output, "C", parent, far, "B", "test"), WEFT_BAD_BUFFER, "overlaps",
           2);
    const weft_tensor whole = weft_matrix(parent, WEFT_F32, 1, 3 * PART_BYTES / 4);
    expect(weft_overlap_check(&whole, "C", right, far, "B", "test"), WEFT_BAD_BUFFER, "overlaps",
           3);

    // Columns 0 to 3 of rows of 8, and the same columns seen from the other part, or those after.
    weft_tensor columns = {.buffer = left, .ndim = 2, .shape = {64, 4}, .stride = {8, 1}};
    weft_tensor others = columns;
    others.buffer = right;
    expect(weft_tensor_overlap_check(&columns, "C", &others, "B", "test"), WEFT_BAD_BUFFER,
           "overlaps", 4);
    others.offset = 4;
    expect(weft_tensor_overlap_check(&columns, "C", &others, "B", "test"), WEFT_OK, "", 5);

    // Rows of 24 bytes do not divide the distance of the parts: column 0 of one is another there.
    columns = (weft_tensor){.buffer = left, .ndim = 2, .shape = {40, 2}, .stride = {6, 1}};
    others = columns;
    others.buffer = right;
    others.offset = 4;
    expect(weft_tensor_overlap_check(&columns, "C", &others, "B", "test"), WEFT_BAD_BUFFER,
           "overlaps", 6);
    expect(weft_tensor_overlap_check(&others, "C", &columns, "B", "test"), WEFT_BAD_BUFFER,
           "overlaps", 6);
    others.offset = 0;
    expect(weft_tensor_overlap_check(&columns, "C", &others, "B", "test"), WEFT_OK, "", 7);

    clReleaseMemObject(left);
    clReleaseMemObject(right);
}

static void test_arithmetic(void **state)
{
    (void)state;
    int64_t out = 0;
    assert_true(mul_i64(BIG, 1, &out) && out == BIG);
    assert_true(mul_i64(INT64_C(1) << 31, INT64_C(1) << 31, &out) && out == INT64_C(1) << 62);
    assert_false(mul_i64(INT64_C(1) << 32, INT64_C(1) << 31, &out));
    assert_false(mul_i64(INT64_MIN, -1, &out));
    assert_true(add_i64(BIG, INT64_MIN, &out) && out == -1);
    assert_false(add_i64(BIG, 1, &out));
    assert_false(add_i64(INT64_MIN, -1, &out));
    assert_int_equal(weft_dtype_or(WEFT_DEFAULT, WEFT_I64), WEFT_I64);
    assert_int_equal(weft_dtype_or(WEFT_F16, WEFT_I64), WEFT_F16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_random_views),
        cmocka_unit_test(test_csr_views),
        cmocka_unit_test(test_csr_buffers),
        cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_columns_side_by_side),
        cmocka_unit_test(test_random_overlaps),
        cmocka_unit_test(test_overlaps_of_parts),
    };
    if (weft_context_open(&context, WEFT_CONTEXT(.cache_dir = "")) == WEFT_NO_DEVICE)
        return 77;
    const int n_failed = cmocka_run_group_tests_name("view", tests, set_up, tear_down);
    weft_context_destroy(&context);
    return n_failed;
}
