// SPDX-License-Identifier: Apache-2.0
// Representative problems of every operation, and operands for them.
#ifndef WEFT_TESTS_VENDORS_PROBLEM_H
#define WEFT_TESTS_VENDORS_PROBLEM_H

#include <weft/weft.h>

// Calls every operation for each of its problems that `ctx` can hold, f64 only where it has that.
// Ends the program where a call fails.
void problems_dense(weft_context *ctx, cl_command_queue queue);
void problems_sparse(weft_context *ctx, cl_command_queue queue);
void problems_formats(weft_context *ctx, cl_command_queue queue);

// "matmul 512 x 512 x 512, f32": for the recorder, and for what a call that fails says.
void problem_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define CALL(call) problem_call((call), #call)
void problem_call(weft_status status, const char *what);

// Releases what was made since the last one.
void problem_end(void);

// A new buffer, row-major; 0 ends the shape where it has fewer than 4 axes.
weft_tensor problem_array(weft_context *ctx, weft_dtype dtype, const int64_t shape[4]);
#define ARRAY(ctx, dtype, ...) problem_array(ctx, dtype, (const int64_t[4]){__VA_ARGS__})

// The lengths of rows: all the same, or one that holds every column.
typedef enum problem_rows { ROWS_EVEN, ROWS_ONE_FULL } problem_rows;

// m x k, with `row` entries in each row but the full one: sorted columns, unique in each row.
weft_csr problem_csr(weft_context *ctx, weft_dtype dtype, int64_t m, int64_t k, int64_t row,
                     problem_rows rows);

// Whether the device computes with it.
bool problem_has(const weft_context *ctx, weft_dtype dtype);

#endif
