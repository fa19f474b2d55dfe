// SPDX-License-Identifier: Apache-2.0
// What tests of operations on sparse matrices share: sparse and dense operands made from a few
// words, and buffers for them. Include after the library's own headers.
//
// What an operation must not read is poison, NaN in every type: what stands around arrays and
// between rows. Offsets and indices are surrounded by numbers that lead far away.
#ifndef WEFT_TESTS_SPARSE_CASE_H
#define WEFT_TESTS_SPARSE_CASE_H

#include <weft/csr.h>
#include <weft/tensor.h>

#include "random.h"
#include "runtime.h"

enum { SPARSE_POISON = 0xff, SPARSE_UNTOUCHED = 0xa5 };

// How many entries rows have.
typedef enum sparse_rows {
    ROWS_RANDOM,   // none to all columns, every third row none
    ROWS_FULL,     // all columns
    ROWS_EMPTY,    // none: the arrays are NULL
    ROWS_ONE_FULL, // one row all columns, the others none or one
    ROWS_REPEATED, // up to twice as many entries as columns: columns repeat and are not sorted
    ROWS_SPARSE,   // four entries, give or take four
    ROWS_TENTH,    // a tenth of all columns, give or take a half of that
    ROWS_FAR,      // one row of twelve has four entries, give or take four, and the others none
    N_ROWS,
} sparse_rows;

typedef enum sparse_numbers {
    NUMBERS_WHOLE,     // small whole numbers: sums are exact, and results must be
    NUMBERS_FRACTIONS, // in [-1, 1): the error must keep to its bound
    NUMBERS_WILD,      // whole; in every other row some are infinite or NaN
    NUMBERS_NAN,       // all of them
} sparse_numbers;

typedef struct sparse_form {
    uint64_t seed; // odd: a few elements follow behind the arrays
    int64_t n_rows, n_cols;
    int64_t n_matrices; // with values of their own; 0: all the same, as weft_csr says it
    sparse_rows rows;
    sparse_numbers numbers;
    weft_dtype dtype, offset_dtype, index_dtype;
    int64_t offsets_start, indices_start, values_start;
    const weft_csr_host *given; // the pattern, and for fractions values, of f32; NULL: made up
} sparse_form;

typedef struct sparse_operand {
    weft_csr csr;       // on the device
    weft_csr_host host; // values: of all matrices, values_step elements apart
    int64_t values_step;
} sparse_operand;

// On the host alone.
void sparse_make(sparse_operand *o, const sparse_form *form, random_state *random);

void sparse_upload(sparse_operand *o, const sparse_form *form, weft_context *ctx);

// Releases csr's buffers and frees the host's arrays.
void sparse_destroy(sparse_operand *o);

// Entries of a row, from the first up to the one before `stop`.
typedef struct sparse_span {
    int64_t first, stop;
} sparse_span;

sparse_span sparse_row(const weft_csr_host *host, int64_t row);
int64_t sparse_column(const weft_csr_host *host, int64_t e);

// Whether a row, or a column, holds an entry: to be freed.
bool *sparse_named_rows(const weft_csr_host *host);
bool *sparse_named_columns(const weft_csr_host *host);

// A number, up to `most` where it is whole; the wild ones are for whoever draws by himself.
double sparse_number(sparse_numbers numbers, random_state *random, int64_t most);
double sparse_wild_number(random_state *random);

// Whether a result will do: by its bound for fractions; else it is `want` after one rounding where
// storage is narrow, as whole numbers are exact.
bool sparse_is_right(sparse_numbers numbers, weft_dtype dtype, double got, double want,
                     double bound);

// ---- dense matrices

// Where elements stand.
typedef enum dense_layout {
    ROW_MAJOR,
    ROWS_PADDED,
    ROWS_ALIGNED, // each begins on a multiple of 16 elements
    ROWS_BACKWARDS,
    COLUMN_MAJOR,
    COLUMNS_BACKWARDS,
    COLUMNS_APART,
    BATCH_BETWEEN, // row i of every matrix, then row i + 1
    BATCH_BACKWARDS,
    N_OUTPUT_LAYOUTS,
    SAME_ROW = N_OUTPUT_LAYOUTS, // strides of 0, for inputs
    SAME_COLUMN,
    SAME_MATRIX,
    N_LAYOUTS,
} dense_layout;

// The view without its buffer, `start` elements further on than it has to be; n_batches 0: a
// matrix. Returns the elements of the buffer, with guards before and behind.
int64_t dense_lay_out(weft_tensor *t, weft_dtype dtype, int64_t n_batches, int64_t rows,
                      int64_t columns, dense_layout layout, int64_t start);

// Which element of the buffer stands there.
int64_t dense_place(const weft_tensor *t, int64_t batch, int64_t row, int64_t column);

// Matrices of a view of 2 or 3 dimensions.
int64_t dense_batches(const weft_tensor *t);

// Every element that the view names, in the order of a row-major array.
#define EACH_ELEMENT(t, batch, row, column)                                                        \
    for (int64_t batch = 0; batch < dense_batches(t); batch++)                                     \
        for (int64_t row = 0; row < (t)->shape[(t)->ndim - 2]; row++)                              \
            for (int64_t column = 0; column < (t)->shape[(t)->ndim - 1]; column++)

// The view's elements out of the buffer's image, without gaps: to be freed.
void *dense_packed(const weft_tensor *t, const void *image);

// ---- memory

// Every byte is `with`; never NULL.
void *memory_filled(size_t bytes, int with);

// A buffer that holds the data.
cl_mem buffer_of(weft_context *ctx, const void *data, size_t bytes);

// A buffer of zeros: Oclgrind's check for uninitialised memory wants those that the host has
// written.
cl_mem buffer_zeroed(weft_context *ctx, size_t bytes, cl_mem_flags flags);

// The whole buffer as it is now, to be freed; waits for the queue. And written back.
void *buffer_now(cl_command_queue queue, cl_mem buffer, size_t bytes);
void buffer_put(cl_command_queue queue, cl_mem buffer, const void *data, size_t bytes);

#endif
