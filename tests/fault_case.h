// SPDX-License-Identifier: Apache-2.0
// Every public operation as a small case for tests in which something fails on the way: it can be
// run again and again on the same operands, and whatever it writes is seen.
//
// What results have to be is what they were where nothing failed: other tests say that this is
// right, and every operation gives the same bits for the same input.
#ifndef WEFT_TESTS_FAULT_CASE_H
#define WEFT_TESTS_FAULT_CASE_H

#include <weft/weft.h>

#include "runtime.h"

enum {
    FAULT_EXTENT = 32, // rows and columns of all matrices
    FAULT_OUTPUTS = 4,
    FAULT_BYTES = 4096, // of each output
    FAULT_SIZES = 16,
};

// What a call has written.
typedef struct fault_results {
    unsigned char bytes[FAULT_OUTPUTS][FAULT_BYTES];
    size_t sizes[FAULT_SIZES]; // that were asked for
} fault_results;

// On one OpenCL context that outlives those of the library.
typedef struct fault_operands {
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue; // the one at hand; in order, or not
    cl_command_queue in_order, out_of_order;
    cl_event ready;   // complete
    bool *watches;    // whether calls are made to fail; NULL: they never are
    bool wants_event; // calls wait for `ready`, and give an event
    weft_csr_host host;
    weft_csr A;
    weft_tensor X, Y, Z, row, source, values;
    cl_mem outputs[FAULT_OUTPUTS];
    size_t sizes[FAULT_SIZES];
} fault_operands;

typedef struct fault_case {
    const char *name;
    weft_status (*run)(fault_operands *o, weft_context *ctx); // the first status that is not ok
    bool writes_nothing;
} fault_case;

enum { FAULT_CASES = 31 };
extern const fault_case fault_cases[FAULT_CASES];

// `ctx` only lends its device. With a queue that keeps no order where there is one.
void fault_operands_create(fault_operands *o, weft_context *ctx);
void fault_operands_destroy(fault_operands *o);

// What the application does by itself in a case is not to fail: whether calls failed before.
bool fault_look_away(const fault_operands *o);
void fault_look_again(const fault_operands *o, bool watched);

// Outputs as they are before a call, and as they are when the queue is done.
void fault_clear(fault_operands *o);
void fault_read(const fault_operands *o, fault_results *out);

// Whether nothing was written.
bool fault_is_clear(const fault_results *results);

#endif
