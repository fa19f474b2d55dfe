// SPDX-License-Identifier: Apache-2.0
// Operands on the host for tests of weft_spmm_host(), and the product that they should give.
#include "spmm_host_case.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/element.h"

enum { GUARD = 24 }; // elements before and behind a matrix

// ---- operands

static weft_dtype c_dtype(const spmm_host_case *of)
{
    return of->has_wide_c ? WEFT_F32 : weft_dtype_or(of->dtype, WEFT_F32);
}

// Every element of the memory is a number, also those of gaps.
static char *filled(random_state *random, int64_t n, weft_dtype dtype)
{
    char *memory = malloc((size_t)max_i64(n, 1) * weft_dtype_size(dtype));
    assert_non_null(memory);
    for (int64_t i = 0; i < n; i++)
        weft_element_put(memory, dtype, i, random_float(random));
    return memory;
}

static int64_t elements_of(int64_t n_rows, int64_t n)
{
    return 2 * (n_rows + 3) * (n + 5) + 2 * GUARD;
}

static weft_host_tensor tensor_in(char *memory, weft_dtype dtype, int64_t n_rows, int64_t n,
                                  host_layout layout)
{
    const size_t size = weft_dtype_size(dtype);
    weft_host_tensor t = weft_host_matrix(memory + GUARD * size, dtype, n_rows, n);
    switch (layout) {
    case HOST_ROWS:
        break;
    case HOST_PADDED:
        t.stride[0] = n + 5;
        break;
    case HOST_COLUMNS:
        t.stride[0] = 1;
        t.stride[1] = n_rows + 3;
        break;
    case HOST_REVERSED:
        t.data = (char *)t.data + (size_t)max_i64(n_rows * n - 1, 0) * size;
        t.stride[0] = -n;
        t.stride[1] = -1;
        break;
    case HOST_STEPS:
        t.stride[0] = 2 * n;
        t.stride[1] = 2;
        break;
    case HOST_VECTOR:
        t.ndim = 1;
        t.stride[0] = 2;
        break;
    }
    return t;
}

static int64_t length_of(const spmm_host_case *of, random_state *random, int64_t row)
{
    if (of->longest > 0 && (row == of->m / 2 || row == of->m * 3 / 4))
        return of->longest - (row == of->m / 2);
    return row % 5 == 1 ? 0 : random_below(random, 2 * of->mean + 1);
}

static void make_matrix(spmm_host_operands *o, random_state *random)
{
    const spmm_host_case *of = &o->of;
    o->A = (weft_csr_host){of->m,
                           of->k,
                           0,
                           weft_dtype_or(of->offset_dtype, WEFT_I32),
                           weft_dtype_or(of->index_dtype, WEFT_I32),
                           weft_dtype_or(of->dtype, WEFT_F32),
                           NULL,
                           NULL,
                           NULL};
    o->A.offsets = calloc((size_t)of->m + 1, weft_dtype_size(o->A.offset_dtype));
    assert_non_null(o->A.offsets);
    for (int64_t row = 0; row < of->m; row++) {
        o->A.nnz += of->k > 0 ? length_of(of, random, row) : 0;
        integer_put(o->A.offsets, o->A.offset_dtype, row + 1, o->A.nnz);
    }
    o->A.indices = malloc((size_t)max_i64(o->A.nnz, 1) * weft_dtype_size(o->A.index_dtype));
    assert_non_null(o->A.indices);
    for (int64_t e = 0; e < o->A.nnz; e++)
        integer_put(o->A.indices, o->A.index_dtype, e, random_below(random, of->k));
    o->A.values = filled(random, o->A.nnz, o->A.dtype);
}

void spmm_host_create(spmm_host_operands *o, weft_context *ctx, const spmm_host_case *of)
{
    random_state random = {(uint64_t)(of->m + 7 * of->n + of->longest)};
    *o = (spmm_host_operands){.of = *of, .ctx = ctx};
    make_matrix(o, &random);
    const weft_dtype dtype = o->A.dtype;
    const int64_t n_elements = elements_of(of->m, of->n);
    o->b_memory = filled(&random, elements_of(of->k, of->n), dtype);
    o->c_memory = filled(&random, n_elements, c_dtype(of));
    o->bias_memory = filled(&random, 3 * of->m, dtype);
    o->c_bytes = (size_t)n_elements * weft_dtype_size(c_dtype(of));
    o->c_before = malloc(o->c_bytes);
    o->c_want = malloc(o->c_bytes);
    assert_true(o->c_before && o->c_want);
    memcpy(o->c_before, o->c_memory, o->c_bytes);
    o->B = tensor_in(o->b_memory, dtype, of->k, of->n, of->b_layout);
    o->C = tensor_in(o->c_memory, c_dtype(of), of->m, of->n, of->c_layout);
    o->bias = (weft_host_tensor){o->bias_memory, dtype, 1, {of->m}, {3}};
}

void spmm_host_destroy(spmm_host_operands *o)
{
    weft_csr_host_destroy(&o->A);
    free(o->b_memory);
    free(o->c_memory);
    free(o->c_before);
    free(o->c_want);
    free(o->bias_memory);
}

// ---- the call

weft_spmm_host_params spmm_host_params(spmm_host_operands *o, uint64_t device_bytes)
{
    return (weft_spmm_host_params){
        .size = sizeof(weft_spmm_host_params),
        .device_bytes = device_bytes,
        .tiling = o->of.tiling,
        .reduction = o->of.reduction,
        .bias = o->of.has_bias ? &o->bias : NULL,
        .activation = o->of.activation,
        .done = &o->done,
    };
}

weft_status spmm_host_call(spmm_host_operands *o, uint64_t device_bytes)
{
    const weft_spmm_host_params params = spmm_host_params(o, device_bytes);
    memcpy(o->c_memory, o->c_before, o->c_bytes);
    o->done = -1;
    return weft_spmm_host(o->ctx, o->of.alpha, &o->A, &o->B, o->of.beta, &o->C, &params);
}

bool spmm_host_blocks_of(spmm_host_blocks *out, spmm_host_operands *o, uint64_t device_bytes)
{
    char text[512];
    const weft_spmm_host_params params = spmm_host_params(o, device_bytes);
    const int length =
        weft_spmm_host_describe(o->ctx, &o->A, &o->B, &o->C, &params, text, sizeof(text));
    if (length < 0) {
        assert_says(" are allowed");
        return false;
    }
    const char *blocks = strchr(text, ';');
    assert_non_null(blocks);
    assert_int_equal(sscanf(blocks,
                            "; %lld row blocks; %lld column blocks of up to %lld; %llu bytes",
                            &out->n_rows, &out->n_columns, &out->widest, &out->bytes),
                     4);
    if (device_bytes > 0)
        assert_true(out->bytes <= device_bytes);
    return true;
}

uint64_t spmm_host_least(spmm_host_operands *o)
{
    spmm_host_blocks blocks;
    uint64_t bytes = 1024;
    while (!spmm_host_blocks_of(&blocks, o, bytes))
        bytes *= 2;
    return bytes;
}

// ---- the whole product

static char *element_of(const weft_host_tensor *t, int64_t i, int64_t j)
{
    const int64_t at = i * t->stride[0] + (t->ndim == 2 ? j * t->stride[1] : 0);
    return (char *)t->data + at * (int64_t)weft_dtype_size(t->dtype);
}

static void move_compact(const weft_host_tensor *t, int64_t n, char *compact, bool gathers)
{
    const size_t size = weft_dtype_size(t->dtype);
    for (int64_t i = 0; i < t->shape[0]; i++)
        for (int64_t j = 0; j < n; j++, compact += size)
            memcpy(gathers ? compact : element_of(t, i, j), gathers ? element_of(t, i, j) : compact,
                   size);
}

static weft_tensor upload(const spmm_host_operands *o, const weft_host_tensor *t, int64_t n)
{
    cl_int code;
    const size_t bytes = (size_t)(t->shape[0] * n) * weft_dtype_size(t->dtype);
    char *compact = malloc(bytes + 1);
    assert_non_null(compact);
    move_compact(t, n, compact, true);
    cl_mem buffer = clCreateBuffer(weft_context_cl(o->ctx), CL_MEM_COPY_HOST_PTR,
                                   bytes > 0 ? bytes : 1, compact, &code);
    assert_int_equal(code, CL_SUCCESS);
    free(compact);
    weft_tensor matrix = weft_matrix(buffer, t->dtype, t->shape[0], n);
    matrix.ndim = t->ndim;
    return matrix;
}

// What the whole product leaves in C, with such a tiling, to be freed; and whether it has tasks.
static char *whole_product(spmm_host_operands *o, const char *tiling, bool *has_tasks)
{
    char text[512];
    cl_command_queue queue = weft_context_queue(o->ctx);
    weft_csr A;
    assert_ok(weft_csr_create(&A, o->ctx, queue, &o->A));
    const int64_t n = o->of.n;
    const weft_tensor B = upload(o, &o->B, n), C = upload(o, &o->C, n), b = upload(o, &o->bias, 1);
    const weft_spmm_params *params =
        WEFT_SPMM(.tiling = tiling, .reduction = o->of.reduction,
                  .bias = o->of.has_bias ? &b : NULL, .activation = o->of.activation);
    assert_ok(weft_spmm(o->ctx, queue, o->of.alpha, &A, &B, o->of.beta, &C, params));
    assert_true(weft_spmm_describe(o->ctx, &A, &B, &C, params, text, sizeof(text)) > 0);
    *has_tasks = strstr(text, "tasks") != NULL;
    const size_t bytes = (size_t)(o->of.m * n) * weft_dtype_size(o->C.dtype);
    char *compact = malloc(bytes + 1);
    assert_non_null(compact);
    assert_ok(weft_cl_read(queue, C.buffer, 0, bytes, compact, 0, NULL, "read"));
    weft_csr_destroy(&A);
    clReleaseMemObject(B.buffer);
    clReleaseMemObject(C.buffer);
    clReleaseMemObject(b.buffer);
    return compact;
}

void spmm_host_want(spmm_host_operands *o)
{
    char tiling[512];
    const weft_spmm_host_params params = spmm_host_params(o, UINT64_C(1) << 40);
    assert_true(
        weft_spmm_host_describe(o->ctx, &o->A, &o->B, &o->C, &params, tiling, sizeof(tiling)) > 0);
    *strchr(tiling, ';') = '\0';
    memcpy(o->c_memory, o->c_before, o->c_bytes);
    bool has_tasks;
    char *wanted = whole_product(o, tiling, &has_tasks);
    assert_false(has_tasks);
    move_compact(&o->C, o->of.n, wanted, false);
    memcpy(o->c_want, o->c_memory, o->c_bytes);
    free(wanted);
}

bool spmm_host_is_usual(spmm_host_operands *o)
{
    memcpy(o->c_memory, o->c_before, o->c_bytes);
    bool has_tasks;
    char *usual = whole_product(o, o->of.tiling, &has_tasks);
    move_compact(&o->C, o->of.n, usual, false);
    free(usual);
    return has_tasks || memcmp(o->c_memory, o->c_want, o->c_bytes) == 0;
}

void spmm_host_check(const spmm_host_operands *o)
{
    spmm_host_check_rows(o, o->of.m);
    if (memcmp(o->c_memory, o->c_want, o->c_bytes) != 0)
        fail_msg("bytes around C were written");
}

void spmm_host_check_rows(const spmm_host_operands *o, int64_t n_rows)
{
    const size_t size = weft_dtype_size(o->C.dtype);
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t j = 0; j < o->of.n; j++) {
            const char *at = element_of(&o->C, i, j);
            if (memcmp(at, o->c_want + (at - o->c_memory), size) != 0)
                fail_msg("%" PRId64 " x %" PRId64 " x %" PRId64 ": element (%" PRId64 ", %" PRId64
                         ") of C has other bits than the whole product",
                         o->of.m, o->of.k, o->of.n, i, j);
        }
}
