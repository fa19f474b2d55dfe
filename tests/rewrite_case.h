// SPDX-License-Identifier: Apache-2.0
// What tests of softmax and normalisation share: operands made from a few words, the call, and the
// comparison.
//
// What stands between the elements of an input is NaN and must not be read, and nothing stands
// behind its last one. What stands between the elements of the output must not be written.
#ifndef WEFT_TESTS_REWRITE_CASE_H
#define WEFT_TESTS_REWRITE_CASE_H

#include <weft/norm.h>
#include <weft/softmax.h>

#include "axis/axis_plan.h"
#include "strided.h"

typedef enum rewrite_op {
    SOFTMAX,
    LOG_SOFTMAX,
    SOFTMAX_BACKWARD,
    LOG_SOFTMAX_BACKWARD,
    LAYER_NORM,
    RMS_NORM,
    LAYER_NORM_BACKWARD,
    RMS_NORM_BACKWARD,
    N_REWRITES,
} rewrite_op;

typedef enum rewrite_numbers {
    FRACTIONS,    // in [-1, 1)
    STEEP,        // in [-30, 30): exponentials of all sizes
    FAR_AWAY,     // FRACTIONS + 100, 2000, 1e5 or 1e7; f16 and bf16: + 1000
    MASKED,       // STEEP; some are -infinity, on some lines all
    WILD,         // STEEP; on some lines there are infinities and NaN
    ENORMOUS,     // up to the largest number, 1e30 among them
    OUT_OF_RANGE, // FRACTIONS, but their squares are not f32's or f64's
    N_NUMBERS,
} rewrite_numbers;

typedef struct rewrite_case {
    uint64_t seed;
    rewrite_op op;
    weft_dtype dtype;
    int ndim;
    int64_t shape[WEFT_MAX_NDIM];
    int axis;        // norms: n_axes
    double number;   // scale, or epsilon
    bool masked;     // softmax
    bool has_weight; // norms
    bool has_bias;
    bool wants_dw, wants_db;              // their backward
    strided_layout in_layout, out_layout; // of all inputs but w and b, which have any, or aligned
    rewrite_numbers numbers;
    int over;                               // the output is that input: 1, or 2 for dY; 0: neither
    const weft_axis_tiling *tiling;         // NULL: the library chooses
    const weft_axis_tiling *scaling_tiling; // the same for dW and db
} rewrite_case;

typedef struct rewrite_operands {
    rewrite_case of;
    weft_context *ctx;
    cl_command_queue queue;
    int n_in;
    strided in[3];       // X; or Y and dY; or X, for their backward dY, w and b as far as there are
    strided out;         // not there where the output is an input
    strided scalings[2]; // dW and db, as far as they are wanted
    cl_mem workspace;    // NULL: the pool's
} rewrite_operands;

// What a call is given besides, to change before it.
typedef struct rewrite_how {
    const weft_axis_tiling *tiling;
    cl_mem workspace;
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
} rewrite_how;

const char *rewrite_name(rewrite_op op);
bool rewrite_is_norm(rewrite_op op); // or its backward
bool rewrite_is_backward(rewrite_op op);
bool rewrite_is_norm_backward(rewrite_op op);

bool rewrite_is_possible(weft_context *ctx, const rewrite_case *of);

void rewrite_create(rewrite_operands *o, weft_context *ctx, const rewrite_case *of);
void rewrite_destroy(rewrite_operands *o);

// What is written: `out`, or the input that it is.
const strided *rewrite_target(const rewrite_operands *o);

// Puts back what stood in all buffers at first, or what the test wrote to memory since.
void rewrite_restore(const rewrite_operands *o);

// Calls, and fails the test unless it returns WEFT_OK; with the tiling of the case, or with `how`.
void rewrite_call(const rewrite_operands *o);
weft_status rewrite_call_how(const rewrite_operands *o, const rewrite_how *how);

// What the library says that it would do, in static storage.
const char *rewrite_words(const rewrite_operands *o);

weft_status rewrite_workspace(const rewrite_operands *o, size_t *bytes);

// So much that the host has written, for the caller to release; NULL where none is needed. The
// norms' backward is given it on Oclgrind where the operands have no workspace.
cl_mem rewrite_written_scratch(const rewrite_operands *o);

// Fails the test where the output is not what it should be, or anything else changed.
void rewrite_check(const rewrite_operands *o);

// All of it: create, call, check, destroy; nothing where the device cannot do it.
void rewrite_run(weft_context *ctx, const rewrite_case *of);

// A case of that op: any shape of at most `most` elements, strides, numbers; axis 0. What would
// double the programs is left out: a forward scale, w without b.
rewrite_case rewrite_random(rewrite_op op, uint64_t seed, int ndim, int64_t most);

#endif
