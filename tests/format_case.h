// SPDX-License-Identifier: Apache-2.0
// What tests of sparse formats share: arrays of the device with guards around them, and patterns
// made from a few words.
//
// What stands around an input is poison and must not be read; what stands around an output must not
// be written.
#ifndef WEFT_TESTS_FORMAT_CASE_H
#define WEFT_TESTS_FORMAT_CASE_H

#include <weft/csr.h>
#include <weft/tensor.h>

#include "random.h"
#include "runtime.h"

// n elements of `size` bytes in a buffer that begins `start` elements before them and ends a few
// behind.
typedef struct guarded {
    cl_mem buffer;
    int64_t n, start;
    size_t size, bytes; // of an element, of the buffer
    char *before;       // the whole buffer, as it was at first
} guarded;

// With these elements; or, where data is NULL, for a call to write.
guarded guarded_create(weft_context *ctx, const void *data, int64_t n, size_t size, int64_t start);
void guarded_destroy(guarded *array);

// Puts back what stood there at first.
void guarded_restore(const guarded *array, cl_command_queue queue);

// Fails the test where an element is not the one wanted, or anything around them changed. Waits for
// the queue.
void guarded_check(const guarded *array, cl_command_queue queue, const void *want,
                   const char *what);

// n whole numbers as an array of that type; to be freed.
void *narrowed(const int64_t *numbers, int64_t n, weft_dtype dtype);

// n elements of any bits at all; to be freed.
void *any_bits(random_state *random, int64_t n, size_t size);

// At least one, whatever n is.
void *new_array(int64_t n, size_t size);

// A pattern on the host: rows as in a CSR.
typedef struct pattern {
    int64_t n_rows, n_cols, nnz;
    int64_t *offsets, *columns;
} pattern;

typedef enum pattern_kind {
    PATTERN_RANDOM,   // none to a few entries in a row, in any order, every third row none
    PATTERN_SORTED,   // the same in rising order, each column once
    PATTERN_REPEATED, // columns occur again and again
    PATTERN_ONE_ROW,  // all entries in one row
    PATTERN_ONE_COLUMN,
    N_PATTERNS,
} pattern_kind;

// About `nnz` entries; none where the matrix has no elements.
pattern pattern_create(random_state *random, pattern_kind kind, int64_t n_rows, int64_t n_cols,
                       int64_t nnz);

// The cells of a small matrix whose bits are set, row by row.
pattern pattern_of_cells(int64_t n_rows, int64_t n_cols, uint64_t cells);

// That of a matrix on the host.
pattern pattern_of_host(const weft_csr_host *host);

void pattern_destroy(pattern *p);

// The pattern's transpose, and for each of its entries the one that it was; a plain loop.
pattern pattern_transposed(const pattern *p, int64_t **source);

// A pattern on the device, with guards.
typedef struct device_pattern {
    guarded offsets, indices;
    weft_csr csr; // without values
} device_pattern;

// With the pattern's numbers, or for a call to write.
device_pattern device_pattern_create(weft_context *ctx, const pattern *p, bool is_input,
                                     weft_dtype offset_dtype, weft_dtype index_dtype,
                                     int64_t start);
void device_pattern_destroy(device_pattern *d);
void device_pattern_check(const device_pattern *d, cl_command_queue queue, const pattern *want);

// Zeroed scratch memory: Oclgrind's check for uninitialised memory wants that the host writes it.
cl_mem new_workspace(weft_context *ctx, size_t bytes);

#endif
