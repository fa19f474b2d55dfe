// SPDX-License-Identifier: Apache-2.0
// One rank's failure becomes that of all.
#include "agree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char sentence[1024];

const char *weft_mpi_last_error(void)
{
    return sentence;
}

void keep_sentence(const char *format, ...)
{
    char text[sizeof(sentence)]; // an argument may be the sentence itself
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    memcpy(sentence, text, sizeof(text));
}

weft_status of_weft(weft_status status)
{
    return status == WEFT_OK ? WEFT_OK : fail(status, "%s", weft_last_error());
}

weft_status of_cl(cl_int code, const char *call)
{
    if (code == CL_SUCCESS)
        return WEFT_OK;
    const bool is_memory = code == CL_OUT_OF_HOST_MEMORY || code == CL_OUT_OF_RESOURCES ||
                           code == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    return fail(is_memory ? WEFT_NO_MEMORY : WEFT_OPENCL_ERROR, "%s failed with OpenCL error %d",
                call, code);
}

typedef struct verdict {
    int status;
    char text[1024];
} verdict;

// From the first rank that failed.
static weft_status tell(MPI_Comm comm, int first, weft_status status)
{
    verdict all = {.status = status};
    memcpy(all.text, sentence, sizeof(all.text));
    MPI_Bcast(&all, sizeof(all), MPI_BYTE, first, comm);
    return fail((weft_status)all.status, "rank %d: %.1000s", first, all.text);
}

weft_status agree_on(MPI_Comm comm, weft_status status, int64_t number, const char *name)
{
    int rank, n_ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    const int64_t own[] = {status == WEFT_OK ? n_ranks : rank, number, -number};
    int64_t least[3];
    MPI_Allreduce(own, least, 3, MPI_INT64_T, MPI_MIN, comm);
    if (least[0] < n_ranks)
        return tell(comm, (int)least[0], status);
    if (least[1] != -least[2])
        return fail(WEFT_BAD_SHAPE, "%s is %" PRId64 " on one rank and %" PRId64 " on another",
                    name, least[1], -least[2]);
    return WEFT_OK;
}

weft_status agree(MPI_Comm comm, weft_status status)
{
    return agree_on(comm, status, 0, "0");
}

weft_status size_check(size_t size, size_t own, const char *macro)
{
    return size == own ? WEFT_OK
                       : fail(WEFT_BAD_ARGUMENT,
                              "params of %zu bytes, %zu are wanted: %s() fills in the size", size,
                              own, macro);
}
