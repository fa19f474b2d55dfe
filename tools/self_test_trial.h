// SPDX-License-Identifier: Apache-2.0
// Shared by the checks of weft self-test: operands with guard zones around them, calls, and the
// comparison of results with references.
//
// A check runs its cases one after the other. Each begins with trial_case(), records its plan by
// trial_plan(), calls, and compares; its objects are freed when the next one begins. The functions
// that return bool are false after a failure that is not a wrong result: the sentence is then in
// the trial's complaint, and the check ends.
#ifndef WEFT_TOOLS_SELF_TEST_TRIAL_H
#define WEFT_TOOLS_SELF_TEST_TRIAL_H

#include <weft/dcsr.h>
#include <weft/tensor.h>

#include "generate.h"
#include "reference_axis.h"
#include "self_test.h"

enum {
    TRIAL_GUARD = 64, // elements before and after each array
    TRIAL_ARRAYS = 40,
    TRIAL_MATRICES = 4,
};

typedef struct self_trial {
    weft_context *ctx;
    cl_command_queue queue;
    uint64_t seed;              // of the next random operand
    char text[256], plan[1024]; // of the current case
    self_test_result *result;   // of the check
    complaint *why;
    int n_buffers, n_memory, n_matrices; // objects of the case
    cl_mem buffers[TRIAL_ARRAYS];
    void *memory[TRIAL_ARRAYS];
    weft_csr_host matrices[TRIAL_MATRICES];
} self_trial;

void trial_case(self_trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void trial_clear(self_trial *t);

// The result of a describing call, which wrote to t->plan; and of a call.
bool trial_plan(self_trial *t, int length);
bool trial_call(self_trial *t, weft_status status);

// ---- dense operands

// An array without gaps, in a buffer that is TRIAL_GUARD elements longer at either end. The guard
// zones of inputs have NaN, or 0 in integers.
typedef struct self_array {
    weft_tensor there; // on the device
    host_tensor host;  // as it was before any call
    int64_t count;
    size_t bytes; // of the buffer
} self_array;

// The first element on the host.
void *trial_data(const self_array *array);

// Of random numbers: real ones from -1 to 1, whole ones of two or three digits.
bool trial_input(self_trial *t, self_array *out, weft_dtype dtype, int ndim, const int64_t *shape);

// A copy of `data`.
bool trial_input_of(self_trial *t, self_array *out, weft_dtype dtype, int ndim,
                    const int64_t *shape, const void *data);

// An output: full of bytes of no result, NaN or numbers far out.
bool trial_output(self_trial *t, self_array *out, weft_dtype dtype, int ndim, const int64_t *shape);

// The same elements with the last two axes exchanged in memory.
self_array trial_transposed(const self_array *array);

// ---- sparse operands

typedef struct self_csr {
    weft_csr_host host;
    weft_csr there;
    self_array offsets, indices, values;
} self_csr;

// As generate_layer_csr() makes it, from the trial's seed.
bool trial_csr(self_trial *t, self_csr *out, const generate_layer *layer);

// From a matrix on the host, which the trial takes over in any case.
bool trial_csr_of(self_trial *t, self_csr *out, const weft_csr_host *host);

// Its transpose, too, as trial_csr_of() makes it.
bool trial_csr_transposed(self_trial *t, self_csr *out, const self_csr *of);

// An output.
bool trial_csr_output(self_trial *t, self_csr *out, int64_t n_rows, int64_t n_cols, int64_t nnz,
                      weft_dtype dtype);

// The same matrix by its non-empty rows, with the same entries.
typedef struct self_dcsr {
    weft_dcsr there;
    self_array rows, offsets;
} self_dcsr;

bool trial_dcsr(self_trial *t, self_dcsr *out, const self_csr *A);

// The same with rows and offsets as outputs.
bool trial_dcsr_output(self_trial *t, self_dcsr *out, const self_dcsr *like);

// Element (row, column) at row * n_cols + column: 0 without an entry. NULL if memory ran out; the
// trial's.
void *trial_dense_of(self_trial *t, const weft_csr_host *host);

// ---- results

// Reads the array back and compares it with the values, which are freed. Records the first wrong
// element, and a change of a guard.
bool trial_compare(self_trial *t, const char *what, const self_array *got,
                   reference_values *values);

// The same with `count` references and bounds of their own, which are freed.
bool trial_compare_bounded(self_trial *t, const char *what, const self_array *got, double *want,
                           double *bound);

// The same with an array of the same type that it must equal.
bool trial_compare_equal(self_trial *t, const char *what, const self_array *got, const void *want);

// All three arrays of a sparse result; values must be equal.
bool trial_compare_csr(self_trial *t, const self_csr *got, const weft_csr_host *want);

// A number returned by a call, which is a result by itself. *is_right: the check may go on with it.
bool trial_compare_number(self_trial *t, const char *what, int64_t got, int64_t want,
                          bool *is_right);

#endif
