// SPDX-License-Identifier: Apache-2.0
// What a test and the layer faults.c tell each other. The layer exports one, `weft_layer_faults`;
// it is not for several threads.
#ifndef WEFT_TESTS_LAYER_FAULTS_H
#define WEFT_TESTS_LAYER_FAULTS_H

#include <stdbool.h>

#include <CL/cl.h>

typedef enum layer_object {
    LAYER_CONTEXTS,
    LAYER_QUEUES,
    LAYER_BUFFERS,
    LAYER_PROGRAMS,
    LAYER_KERNELS,
    LAYER_EVENTS,
    LAYER_DEVICES, // retained, not made
    LAYER_OBJECTS,
} layer_object;

typedef struct layer_faults {
    // For the test to set.
    bool watches;          // calls are counted, and may fail, while this stands
    bool only_makers;      // of calls only those about making programs, kernels and buffers
    long fails_at;         // which call fails, from 1; 0: none
    int error;             // which of the errors that it may give, from 0
    bool goes_on;          // it and all that follow give CL_OUT_OF_RESOURCES instead
    long long most_of_one; // bytes that the device has for one buffer, and for all of them
    long long most_of_all; // together; 0: as it says itself
    cl_event gate;         // that the next clFlush, clFinish or clWaitForEvents completes, unless
                           // it fails; NULL: none

    // For the test to read; the layer only counts up.
    long n_calls;     // watched
    long n_kernels;   // enqueued, watched or not
    long n_reads;     // of buffers, likewise
    const char *call; // that failed: "clCreateBuffer"; NULL: none
    cl_int code;      // that it gave; the first one where several failed
    int n_errors;     // that it may give

    long live[LAYER_OBJECTS]; // handles made or retained, and not released, watched or not
    long long buffer_bytes;   // of buffers that are not released
} layer_faults;

#endif
