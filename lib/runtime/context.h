// SPDX-License-Identifier: Apache-2.0
// The parts of a context. open.c creates and destroys it.
#ifndef WEFT_LIB_CONTEXT_H
#define WEFT_LIB_CONTEXT_H

#include <stdatomic.h>

#include "runtime/ocl.h"

typedef struct weft_why weft_why;                     // why.h
typedef struct weft_program_table weft_program_table; // program.h
typedef struct weft_cache weft_cache;                 // cache.h
typedef struct weft_pool weft_pool;                   // workspace.h
typedef struct weft_notes weft_notes;                 // notes.h
typedef struct weft_memo weft_memo;                   // memo.h
typedef struct weft_recorder weft_recorder;           // recorder.h

struct weft_context {
    cl_context cl;
    cl_device_id device;
    cl_command_queue queue; // NULL if the caller brought the device
    weft_limits limits;
    // Properties of the device itself, whatever the limits are:
    bool has_shuffles;
    int least_subgroup;
    bool has_more_fma; // fma() is fast, although its compiler does not define FP_FAST_FMAF
    bool trusts_device;
    weft_log_fn log;
    void *log_user;
    bool check_matrices; // before each operation, csr_content.h

    weft_program_table *programs;
    weft_cache *cache; // NULL: none on disk
    weft_pool *pool;
    weft_notes *notes;        // a rehearsal's; NULL: kernels are enqueued
    const weft_why *why;      // of a rehearsal: receives plans' reasons; else NULL
    weft_memo *memo;          // states of earlier calls; NULL in rehearsals, which replan each time
    atomic_int n_recorders;   // threads that record
    weft_recorder *recorders; // recorder.c

    atomic_ullong programs_built, programs_loaded, launches;
};

// Checks at the start of every call that ctx is not NULL, and that this process may use it.
weft_status weft_context_check(const weft_context *ctx, const char *what);

#endif
