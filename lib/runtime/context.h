// SPDX-License-Identifier: Apache-2.0
// What a context is made of, for the run-time below the operations.
#ifndef WEFT_LIB_CONTEXT_H
#define WEFT_LIB_CONTEXT_H

#include <stdatomic.h>

#include "runtime/cache.h"
#include "runtime/ocl.h"

typedef struct weft_program_table weft_program_table; // program.c
typedef struct weft_pool weft_pool;                   // workspace.c
typedef struct weft_notes weft_notes;                 // rehearsal.c

struct weft_context {
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue; // NULL where the caller brought the device
    weft_limits limits;
    // The device itself, whatever the limits want:
    bool has_shuffles;
    int least_subgroup;
    bool has_more_fma; // than its compiler says: fma() is fast, though FP_FAST_FMAF is not defined
    bool trusts_device;
    weft_log_fn log;
    void *log_user;
    bool check_matrices; // before each operation, csr_content.h

    weft_program_table *programs;
    weft_cache *cache; // NULL: none on disk
    weft_pool *pool;
    weft_notes *notes; // a rehearsal's; NULL: kernels are enqueued

    atomic_ullong programs_built, programs_loaded, launches;
};

// To the log callback, as printf() does it, however long. Nothing where nobody listens.
void weft_log(const weft_context *ctx, weft_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// At the door of every call: that there is a context, and that this process may use it.
weft_status weft_context_check(const weft_context *ctx, const char *what);

// Both ends of what the context owns; destroy accepts NULL.
weft_status weft_program_table_create(weft_program_table **out);
void weft_program_table_destroy(weft_program_table *table);

weft_status weft_pool_create(weft_pool **out, uint64_t max_bytes);
void weft_pool_destroy(weft_pool *pool);
uint64_t weft_pool_bytes(weft_pool *pool);

// The bound on scratch memory of a context that names none.
uint64_t weft_usual_scratch(const weft_limits *limits);

#endif
