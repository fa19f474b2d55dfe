// SPDX-License-Identifier: Apache-2.0
// Rehearsals: dry runs of calls, with their plans' reasons, for a device that need not exist.
//
// A context made here takes the calls of weft like any other. The code of real calls checks
// operands, plans, and makes build options, arguments and sizes. Then launches are recorded, not
// enqueued.
//
//     weft_rehearsal_create(&ctx, weft_profile_find("h100"), NULL);
//     const weft_tensor A = weft_matrix(weft_rehearsal_buffer(ctx, NULL), WEFT_F32, m, k);
//     ...
//     weft_rehearsal_begin(ctx);
//     weft_matmul(ctx, NULL, 1, &A, &B, 0, &C, NULL);
//     const weft_rehearsal *record = weft_rehearsal_end(ctx);
#ifndef WEFT_REHEARSAL_H
#define WEFT_REHEARSAL_H

#include <weft/context.h>

WEFT_BEGIN

// A variant that a plan rejected.
typedef struct weft_refusal {
    char variant[48]; // "k-blocks of B"
    char reason[176]; // "5% of A are entries, 15% are wanted"
} weft_refusal;

// A kernel that would have been enqueued, `times` times in a row. With more than 65535 groups along
// y or z it is divided into stretches, each a launch of its own.
typedef struct weft_rehearsed_launch {
    const char *source, *kernel; // "spmm", "spmm_csr_rows"
    const char *source_text;     // the whole device code of the former; static storage
    const char *options;         // "-D DTYPE=DTYPE_F32 ..."; the compiler gets -cl-std=CL1.2 too
    size_t global[3], local[3];  // in items
    size_t n_arguments;
    size_t local_bytes; // local memory among the arguments
    int64_t times;
    // Properties of the compiled kernel, in a rehearsal on a device; else 0.
    size_t max_items;            // that a group may have
    size_t kernel_local_bytes;   // local memory besides the arguments'
    size_t kernel_private_bytes; // private memory of an item
} weft_rehearsed_launch;

typedef struct weft_rehearsal {
    size_t n_refusals, n_launches;
    const weft_refusal *refusals;          // in the order of the plan's decisions, none twice
    const weft_rehearsed_launch *launches; // in order
    size_t scratch_bytes;                  // the most that one call used from the context's pool
} weft_rehearsal;

// A context for rehearsals, on one thread at a time; weft_context_destroy() destroys it. It plans
// with `limits`, which are copied. If `real` is NULL, OpenCL is not called, and nothing is
// compiled. Else kernels are compiled for the device of `real` and queried for their limits, as in
// a real call, with the log and the cache folder of `real`; then NULL `limits` are those of `real`,
// and others are clamped to the device's capacity.
//
// The queue of calls may be NULL, and events are returned as NULL. Calls that copy between host and
// device, such as weft_csr_create() or conversions that count entries, fail with WEFT_UNSUPPORTED.
// Fails as weft_context_create(); WEFT_BAD_ARGUMENT also if both are NULL.
WEFT_API weft_status weft_rehearsal_create(weft_context **out, const weft_limits *limits,
                                           const weft_context *real);

// A handle for a buffer in the rehearsals of `ctx` alone, large enough for any view. It is not an
// OpenCL object: do not release it or pass it to OpenCL. Calls that read arrays on the host, as
// weft_spmm_plan_create() reads a pattern, read them at `data`, which stays the caller's and must
// be as large as the views; NULL if nothing is read. Returns NULL if the context does not rehearse,
// and after so many:
enum { WEFT_REHEARSAL_BUFFERS = 64 };
WEFT_API cl_mem weft_rehearsal_buffer(weft_context *ctx, const void *data);

// Starts a record of refusals and launches, and drops the earlier one. Contexts record
// independently. WEFT_BAD_ARGUMENT for a context that does not rehearse.
WEFT_API weft_status weft_rehearsal_begin(weft_context *ctx);

// Ends and returns the record. Valid until the next begin, or until the context is destroyed; NULL
// without memory, or without a begin.
WEFT_API const weft_rehearsal *weft_rehearsal_end(weft_context *ctx);

WEFT_END

#endif
