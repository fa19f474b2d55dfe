// SPDX-License-Identifier: Apache-2.0
// What a call has to be refused for, as its operation's table says: a good call with one thing
// wrong, once for each thing that can be.
#ifndef WEFT_TESTS_REFUSALS_H
#define WEFT_TESTS_REFUSALS_H

#include "op/op.h"
#include "operation_case.h"

// In the order in which calls are checked: of two things that are wrong the earlier one is told.
typedef enum step {
    AT_CONTEXT,
    AT_NULLS,
    AT_FORMS,
    AT_SHAPES, // what operations ask themselves
    AT_BUFFERS,
    AT_OVERLAPS,
    AT_QUEUE,
    AT_WORKSPACE,
} step;

// A tensor has values alone, rows are offsets.
typedef enum part { OFFSETS, INDICES, VALUES, PARTS } part;

// A call with operands of its own, to be changed. Two changes are laid over each other word by
// word: what is changed at one step shares no word of the struct with what is at another.
typedef struct own_call {
    weft_call call;
    cl_command_queue queue;
    union {
        weft_tensor tensor;
        weft_csr csr;
        weft_dcsr rows;
    } operands[WEFT_OP_OPERANDS];
} own_call;

// An array of an operand: where the call says that it lies, and what kernels do with it.
typedef struct array {
    cl_mem *buffer; // NULL: there is no such array
    int64_t *start;
    int64_t n, size; // elements, and bytes of each
    bool is_read, is_written;
    char name[80]; // "A's offsets"
} array;

typedef struct refusal {
    step step;
    weft_status status, otherwise; // either
    char says[400];                // behind "softmax: "
    own_call call;
} refusal;

enum { MOST_REFUSALS = 600, PLACE_BYTES = 1 << 16, PART_ORIGIN = 4096 };

// Buffers that do not serve, and two that do but are shared; all but `image` are there always.
typedef struct places {
    weft_context *other; // on an OpenCL context of its own
    cl_mem foreign, image, constant, write_only, crooked;
    cl_mem shared, part, work, work_part; // each with a part of it, from PART_ORIGIN on
    cl_mem small[2 * MOST_REFUSALS];
    int n_small;
    cl_event foreign_event;
} places;

void places_create(places *p, const operation_operands *o);
void places_destroy(places *p);

void own_call_make(own_call *own, const weft_call *call, cl_command_queue queue);
int own_call_count(const own_call *own); // of operands
const weft_operand_rule *own_call_rule(const own_call *own, int i);
array own_call_array(own_call *own, int i, part p);

// As it stands now, by the driver itself. `event` may be NULL.
weft_status own_call_run(const own_call *own, cl_event *event);

// Makes of `to` what makes `wrong` differ from `good`.
void own_call_change(own_call *to, const own_call *good, const own_call *wrong);

// A buffer of so many bytes that ends with the others.
cl_mem places_small(places *p, const weft_context *ctx, int64_t bytes);

// All of them; how many there are. `scratch` is what the call wants.
int refusals_make(refusal list[MOST_REFUSALS], const own_call *good, places *p, size_t scratch);

#endif
