// SPDX-License-Identifier: Apache-2.0
// Shared by the examples: error messages, arrays on the device, and the time.
#ifndef WEFT_EXAMPLES_COMMON_H
#define WEFT_EXAMPLES_COMMON_H

#include <stdio.h>

#include <weft/weft.h>

extern const char program_name[]; // each program's own: messages begin with it

// Whether the call succeeded; if not, prints a message on standard error.
bool is_ok(weft_status status);
bool is_cl_ok(cl_int code, const char *call);
bool is_there(void *memory);

// Prints what is wrong with a line of a file on standard error, and returns false.
bool complain_at(const char *path, int64_t line, const char *what);

// The file to read; "-" is standard input. NULL after a complaint.
FILE *open_input(const char *path);
void close_input(FILE *file); // NULL is fine

// An integer within bounds, and nothing else.
bool read_count(const char *text, int64_t least, int64_t most, int64_t *out);

// A new row-major array [n_rows x n_cols] with a buffer of its own, or a vector [n_rows] if n_cols
// is 0. It contains `data`, or zeros if that is NULL. The other functions use such arrays, too.
bool make_tensor(weft_tensor *out, weft_context *ctx, weft_dtype dtype, int64_t n_rows,
                 int64_t n_cols, const void *data);

// The same from doubles, which are rounded if the data type is f32; else it is f64.
bool make_numbers(weft_tensor *out, weft_context *ctx, weft_dtype dtype, int64_t n_rows,
                  int64_t n_cols, const double *numbers);

// Waits for the queue and reads the whole array.
bool read_tensor(cl_command_queue queue, const weft_tensor *from, void *to);
bool read_numbers(cl_command_queue queue, const weft_tensor *from, double *to); // f32 or f64

int64_t count_elements(const weft_tensor *t);

// Releases the buffer, if any.
void free_tensor(weft_tensor *t);

double now_ms(void);

// The least time that the host takes to enqueue a run, and the least until it is done, each the
// mean of a burst of runs that are waited for together.
typedef struct run_cost {
    double enqueue_us, done_us;
} run_cost;
bool measure_runs(run_cost *out, cl_command_queue queue, bool (*enqueue)(void *data), void *data);

// "A run: 12.3 us to enqueue and 456.7 us until it is done by calls; 4.5 us and 450.1 us recorded"
void print_run_costs(const run_cost *by_calls, const run_cost *recorded);

#endif
