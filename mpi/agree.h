// SPDX-License-Identifier: Apache-2.0
// How collective calls fail: each rank keeps a sentence of its own, and then all agree on one.
#ifndef WEFT_MPI_AGREE_H
#define WEFT_MPI_AGREE_H

#include <weft/mpi.h>

// Stores the sentence for the thread, and is that status.
#define fail(status, ...) (keep_sentence(__VA_ARGS__), (status))
void keep_sentence(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The same with weft's sentence, of a call that returned this status. WEFT_OK keeps nothing.
weft_status of_weft(weft_status status);

// The same of an OpenCL call.
weft_status of_cl(cl_int code, const char *call);

// Collective. The status and the sentence of the first rank that has not WEFT_OK, on all ranks.
weft_status agree(MPI_Comm comm, weft_status status);

// The same, if also all ranks have the same number.
weft_status agree_on(MPI_Comm comm, weft_status status, int64_t number, const char *name);

// Of params: only the size that this release has.
weft_status size_check(size_t size, size_t own, const char *macro);

#endif
