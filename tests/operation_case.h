// SPDX-License-Identifier: Apache-2.0
// Every public operation as a small case for tests in which something fails on the way, or many
// threads are about: it can be run again and again on the same operands, and whatever it writes is
// seen.
//
// What results have to be is what they were where nothing failed and nobody else was there: other
// tests say that this is right, and every operation gives the same bits for the same input.
#ifndef WEFT_TESTS_OPERATION_CASE_H
#define WEFT_TESTS_OPERATION_CASE_H

#include <weft/weft.h>

#include "runtime.h"

enum {
    OPERATION_EXTENT = 32,  // rows and columns of all matrices
    OPERATION_LONG_ROW = 5, // the row of A that has all columns
    OPERATION_OUTPUTS = 4,
    OPERATION_BYTES = 4096, // of each output
    OPERATION_SIZES = 17,
};

// What a call has written.
typedef struct operation_results {
    unsigned char bytes[OPERATION_OUTPUTS][OPERATION_BYTES];
    size_t sizes[OPERATION_SIZES]; // that were asked for
} operation_results;

// On one OpenCL context that outlives those of the library.
typedef struct operation_operands {
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue; // the one at hand; in order, or not
    cl_command_queue in_order, out_of_order;
    cl_event ready;   // complete
    bool *watches;    // whether calls are made to fail; NULL: they never are
    bool wants_event; // calls wait for `ready`, and give an event
    weft_csr_host host;
    weft_csr A;
    weft_dcsr stored; // the first half of A's rows, as every other row
    weft_tensor X, Y, Z, row, source, values;
    cl_mem outputs[OPERATION_OUTPUTS];
    size_t sizes[OPERATION_SIZES];
} operation_operands;

typedef struct operation_case {
    const char *name;
    weft_status (*run)(operation_operands *o, weft_context *ctx); // the first status that is not ok
    bool writes_nothing;
    bool records; // calls of other cases, and runs them
} operation_case;

enum { OPERATION_CASES = 40 };
extern const operation_case operation_cases[OPERATION_CASES];

// On the device that a context opens by default, with a queue that keeps no order where there is
// one.
void operation_operands_create(operation_operands *o);
// On an OpenCL context that there is.
void operation_operands_create_in(operation_operands *o, cl_context cl, cl_device_id device);
void operation_operands_destroy(operation_operands *o);

// What the application does by itself in a case is not to fail: whether calls failed before.
bool operation_look_away(const operation_operands *o);
void operation_look_again(const operation_operands *o, bool watched);

// Outputs as they are before a call, and as they are when the queue is done.
void operation_clear(operation_operands *o);
void operation_read(const operation_operands *o, operation_results *out);

// Whether nothing was written.
bool operation_is_clear(const operation_results *results);

#endif
