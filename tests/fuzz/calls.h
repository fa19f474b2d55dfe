// SPDX-License-Identifier: Apache-2.0
// Calls of the library as bytes: which operation, on what operands, with what parameters. Sizes,
// data types and buffers mostly come from a few that all operands of a call share, so that many
// calls get past the first check; the rest is anything.
#ifndef WEFT_TESTS_FUZZ_CALLS_H
#define WEFT_TESTS_FUZZ_CALLS_H

#include <weft/weft.h>

#include "target.h"

enum { CALL_BUFFERS = 12, CALL_TENSORS = 20, CALL_MATRICES = 4, CALL_TEXT = 32 };

typedef struct call_input {
    const uint8_t *at, *end; // of the bytes
    weft_context *ctx;       // rehearses
    weft_limits limits;
    // Shared among the operands.
    int64_t sizes[4];
    weft_dtype dtype;
    cl_mem buffers[CALL_BUFFERS]; // anything may be seen in them; nothing on the host
    int n_given;                  // buffers that were handed out
    cl_mem offsets, indices;      // that the host holds, for plans that read patterns
    // What operands point to.
    int n_tensors, n_matrices;
    weft_tensor tensors[CALL_TENSORS];
    weft_csr matrices[CALL_MATRICES];
    char text[CALL_TEXT + 1];
} call_input;

// One byte; 0 once there is none.
uint8_t take_byte(call_input *in);

// True in n of 256 cases.
bool take_chance(call_input *in, int n);

// Small ones, the ends of the types, and any.
int64_t take_number(call_input *in);
int take_int(call_input *in);
double take_real(call_input *in);

// A shared size, or a number.
int64_t take_size(call_input *in);

// The shared data type, or any number.
weft_dtype take_dtype(call_input *in);

// `size`, seldom another one.
size_t take_struct_size(call_input *in, size_t size);

// A buffer, seldom NULL or one that was given out before; of a workspace, mostly NULL.
cl_mem take_buffer(call_input *in);
cl_mem take_workspace(call_input *in);

// Operands; seldom NULL.
const weft_tensor *take_tensor(call_input *in);
const weft_csr *take_csr(call_input *in);
weft_dcsr take_dcsr(call_input *in);

// A tensor, mostly NULL.
const weft_tensor *take_extra(call_input *in);

// A formula, often one that is sound.
const char *take_formula(call_input *in);

// A small matrix whose pattern the host holds, and which may lie.
weft_csr take_pattern(call_input *in);

// What a call's bytes are once the operation is chosen: does the call, then those that tell what it
// would do. `status` is that of the call.
typedef struct call_result {
    weft_status status;
    weft_status asked; // of the workspace; WEFT_OK where there is no such function
    int described;     // the length of the words; 0 where there is no such function
    bool is_pure;      // no kernels: nothing to count
    bool reads_back;   // waits for a number of the device's, which a rehearsal refuses at the end
} call_result;
typedef call_result (*call_fn)(call_input *in);

call_result call_elementwise(call_input *in);
call_result call_matmul(call_input *in);
call_result call_reduce(call_input *in);
call_result call_softmax(call_input *in);
call_result call_norm(call_input *in);
call_result call_spmm(call_input *in);
call_result call_sddmm(call_input *in);
call_result call_sddmm_sparse(call_input *in);
call_result call_sparse_softmax(call_input *in);
call_result call_sparse_attention(call_input *in);
call_result call_sparse_linear(call_input *in);
call_result call_spgemm(call_input *in);
call_result call_csr_dense(call_input *in);
call_result call_csr_transpose(call_input *in);
call_result call_dcsr(call_input *in);
call_result call_sparse_gather(call_input *in);
call_result call_csr_host(call_input *in);

#endif
