// SPDX-License-Identifier: Apache-2.0
// Tests of an operation among other work: the same bits whatever else runs, events honoured, order
// kept on queues of either kind, and few programs for many shapes.
#ifndef WEFT_TESTS_QUEUE_CASE_H
#define WEFT_TESTS_QUEUE_CASE_H

#include "queues.h"
#include "random.h"

// Which case an operation makes. Of its seeds 0 and 1, modulo 4, take scratch memory from the pool
// (but on Oclgrind), 2 and 3 bring their own; with even ones the output is not read.
typedef struct queue_pick {
    int variant; // of the operation's
    uint64_t seed;
    bool makes, takes; // an output that may be an operand of a case that takes it
    bool is_reduced;
} queue_pick;

// What the tests need to know of a case's operands. Of arrays, the whole buffers.
typedef struct queue_view {
    uint64_t seed;
    cl_command_queue queue;
    bool has_workspace;
    cl_mem output, late; // what is written, and an operand that comes late
    size_t output_bytes;
    const void *output_before;
} queue_view;

// How a case is called.
typedef struct queue_call {
    bool from_pool; // its workspace is not used
    cl_uint n_wait;
    const cl_event *wait;
    cl_event *event;
    const void *made_by; // operands of a case whose output this one takes; NULL: all are its own
} queue_call;

// Fills an operation's params in with that.
#define QUEUE_CALL_BY(params, how)                                                                 \
    do {                                                                                           \
        if ((how)->from_pool)                                                                      \
            (params)->workspace = NULL;                                                            \
        (params)->n_wait = (how)->n_wait;                                                          \
        (params)->wait = (how)->wait;                                                              \
        (params)->event = (how)->event;                                                            \
    } while (0)

// How many random shapes are tried, of extents up to 150, or up to 20 in a reduced run.
typedef struct queue_shapes {
    int n, n_reduced;
} queue_shapes;

// An operation. Operands are of a type of its own, and create() allocates them.
typedef struct queue_subject {
    int n_variants, n_scratch; // so many of them, from the first on, want scratch memory
    void *(*create)(weft_context *ctx, cl_command_queue queue, queue_pick pick);
    void (*destroy)(void *operands);
    queue_view (*view)(const void *operands);
    weft_status (*call)(const void *operands, const queue_call *how);
    void (*check)(const void *operands); // fails the test unless the output is right
    // One case from beginning to end; extents are drawn up to `most`.
    void (*run_any)(weft_context *ctx, uint64_t seed, random_state *random, int64_t most);
    queue_shapes here, on_a_gpu; // as the device is, and planned for an NVIDIA A100
    unsigned most_vectorized,
        most_spread; // programs that all of them may take together, where an item
                     // carries whole vectors and where it is a lane
} queue_subject;

// The state that each test is given.
typedef struct queue_setting {
    const queue_subject *subject;
    weft_context *ctx;
    cl_command_queue queue; // the context's
    bool is_reduced;
} queue_setting;

// 1 to most, small ones more often.
int64_t queue_extent(random_state *random, int64_t most);

// Fails the test, unless the output is what it was.
void queue_check_same_bits(const queue_subject *subject, const void *operands, const void *want,
                           const char *how);

// Runs all tests, and `n_more` of the operation's own; what main() returns.
int queue_main(const queue_subject *subject, const struct CMUnitTest *more, size_t n_more);

#endif
