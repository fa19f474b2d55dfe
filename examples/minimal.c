// SPDX-License-Identifier: Apache-2.0
// The smallest use of weft: a sparse 2 x 3 matrix times a dense 3 x 4 one. The README shows it.
#include <stdio.h>

#include <weft/weft.h>

int main(void)
{
    // A = 0 5 0    B = 0 1  2  3
    //     6 0 7        4 5  6  7
    //                  8 9 10 11
    weft_context *ctx = NULL;
    weft_csr A = {0};
    float b[3 * 4] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, c[2 * 4];
    const weft_csr_host a = {
        .n_rows = 2,
        .n_cols = 3,
        .nnz = 3,
        .offsets = (int32_t[]){0, 1, 3},
        .indices = (int32_t[]){1, 0, 2},
        .values = (float[]){5, 6, 7},
    };

    if (weft_context_open(&ctx, NULL) || weft_csr_create(&A, ctx, weft_context_queue(ctx), &a))
        return fprintf(stderr, "%s\n", weft_last_error()), 1;
    cl_command_queue queue = weft_context_queue(ctx);
    cl_mem B = clCreateBuffer(weft_context_cl(ctx), CL_MEM_COPY_HOST_PTR, sizeof(b), b, NULL);
    cl_mem C = clCreateBuffer(weft_context_cl(ctx), CL_MEM_READ_WRITE, sizeof(c), NULL, NULL);
    const weft_tensor B_view = weft_matrix(B, WEFT_F32, 3, 4);
    const weft_tensor C_view = weft_matrix(C, WEFT_F32, 2, 4);
    if (weft_spmm(ctx, queue, 1, &A, &B_view, 0, &C_view, NULL)) // C = 1 A B + 0 C
        return fprintf(stderr, "%s\n", weft_last_error()), 1;
    clEnqueueReadBuffer(queue, C, CL_TRUE, 0, sizeof(c), c, 0, NULL, NULL);

    for (int row = 0; row < 2; row++)
        printf("%g %g %g %g\n", c[4 * row], c[4 * row + 1], c[4 * row + 2], c[4 * row + 3]);
    clReleaseMemObject(C);
    clReleaseMemObject(B);
    weft_csr_destroy(&A);
    weft_context_destroy(&ctx);
    return 0;
}
