// SPDX-License-Identifier: Apache-2.0
// A caller of some other release: the headers that it was compiled with are not the library's. With
// ADDED every struct of params has one field more than the library knows.
#include <stdio.h>
#include <string.h>

#include ABI_HEADER

static weft_context *ctx;
static cl_mem buffers[4];
static int n_wrong;

static void expect(weft_status status, weft_status wanted, const char *what)
{
    if (status == wanted)
        return;
    printf("%s: %s, and %s is wanted: %s\n", what, weft_status_name(status),
           weft_status_name(wanted), weft_last_error());
    n_wrong++;
}

// Fields of each struct from its first to its last, as far as plans see them.
static weft_status soften(const weft_softmax_params *params)
{
    const weft_tensor X = weft_matrix(buffers[0], WEFT_F32, 8, 64);
    const weft_tensor Y = weft_matrix(buffers[1], WEFT_F32, 8, 64);
    return weft_softmax(ctx, NULL, 1, &X, -1, &Y, params);
}

static weft_status multiply(const weft_matmul_params *params)
{
    const weft_tensor A = weft_matrix(buffers[0], WEFT_F32, 64, 64);
    const weft_tensor B = weft_matrix(buffers[1], WEFT_F32, 64, 64);
    const weft_tensor C = weft_matrix(buffers[2], WEFT_F32, 64, 64);
    return weft_matmul(ctx, NULL, 1, &A, &B, 0, &C, params);
}

static weft_status multiply_sparse(const weft_spmm_params *params)
{
    const weft_csr A = {.n_rows = 64,
                        .n_cols = 64,
                        .nnz = 100,
                        .offsets = buffers[0],
                        .indices = buffers[0],
                        .values = buffers[0]};
    const weft_tensor B = weft_matrix(buffers[1], WEFT_F32, 64, 64);
    const weft_tensor C = weft_matrix(buffers[2], WEFT_F32, 64, 64);
    return weft_spmm(ctx, NULL, 1, &A, &B, 0, &C, params);
}

static void call_all(void)
{
    const weft_tensor bias = {.buffer = buffers[3], .ndim = 1, .shape = {64}, .stride = {1}};
    const weft_tensor short_bias = {.buffer = buffers[3], .ndim = 1, .shape = {63}, .stride = {1}};
    const weft_elementwise_input input = {"bias", &bias};
    expect(soften(NULL), WEFT_OK, "softmax without params");
    expect(soften(WEFT_SOFTMAX(.masked = true)), WEFT_OK, "softmax");
    expect(soften(WEFT_SOFTMAX(.tiling = "nothing")), WEFT_BAD_ARGUMENT, "softmax with a tiling");
    expect(multiply(WEFT_MATMUL(.epilogue = "max(c + bias, 0)", .n_inputs = 1, .inputs = &input)),
           WEFT_OK, "matmul");
    expect(multiply_sparse(WEFT_SPMM(.bias = &bias, .activation = WEFT_ACTIVATION_RELU)), WEFT_OK,
           "spmm");
    expect(multiply_sparse(WEFT_SPMM(.bias = &short_bias)), WEFT_BAD_SHAPE, "spmm with a bias");
}

#ifdef ADDED
static void expect_refusal(weft_status status, size_t size, const char *what)
{
    char where[64];
    snprintf(where, sizeof(where), "something at byte %zu", size - sizeof(void *));
    expect(status, WEFT_BAD_ARGUMENT, what);
    if (!strstr(weft_last_error(), where) || !strstr(weft_last_error(), weft_version())) {
        printf("%s: \"%s\" does not say \"%s\" and the version\n", what, weft_last_error(), where);
        n_wrong++;
    }
}

// One byte of eight is set, whichever the library reads first.
static void call_with_more(void)
{
    static char there;
    expect_refusal(soften(WEFT_SOFTMAX(.added = &there)), sizeof(weft_softmax_params), "softmax");
    expect_refusal(multiply(WEFT_MATMUL(.added = &there)), sizeof(weft_matmul_params), "matmul");
    expect_refusal(multiply_sparse(WEFT_SPMM(.added = &there)), sizeof(weft_spmm_params), "spmm");
}
#else
// As if the last fields had not been there yet.
static void call_with_less(void)
{
    weft_spmm_params params = {.size = offsetof(weft_spmm_params, reduction)};
    memset((char *)&params + params.size, 0x7f, sizeof(params) - params.size);
    expect(multiply_sparse(&params), WEFT_OK, "spmm by a smaller struct");
    params.size = sizeof(params.size) - 1;
    expect(multiply_sparse(&params), WEFT_BAD_ARGUMENT, "spmm without a size");
}
#endif

int main(void)
{
    expect(weft_rehearsal_create(&ctx, weft_profile_find("h100"), NULL), WEFT_OK, "rehearsal");
    for (int i = 0; i < 4; ++i)
        buffers[i] = weft_rehearsal_buffer(ctx, NULL);
    call_all();
#ifdef ADDED
    call_with_more();
#else
    call_with_less();
#endif
    weft_context_destroy(&ctx);
    return n_wrong > 0;
}
