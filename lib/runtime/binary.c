// SPDX-License-Identifier: Apache-2.0
// Getting a program's binary from OpenCL, which returns those of all its devices at once.
#include "runtime/binary.h"

#include <stdlib.h>

// An array of information about the program, from malloc(), and its number of elements.
static void *array_of(cl_program program, cl_program_info what, size_t element, size_t *n)
{
    size_t size = 0;
    if (clGetProgramInfo(program, what, 0, NULL, &size) != CL_SUCCESS || size == 0)
        return NULL;
    void *array = malloc(size);
    if (array && clGetProgramInfo(program, what, size, array, NULL) != CL_SUCCESS) {
        free(array);
        return NULL;
    }
    *n = size / element;
    return array;
}

// OpenCL skips entries of `binaries` that are NULL.
static bool read_one(cl_program program, size_t i, size_t n, size_t size, weft_blob *out)
{
    unsigned char **binaries = calloc(n, sizeof(*binaries));
    unsigned char *data = binaries && size > 0 ? malloc(size) : NULL;
    bool is_read = false;
    if (data) {
        binaries[i] = data;
        is_read = clGetProgramInfo(program, CL_PROGRAM_BINARIES, n * sizeof(*binaries), binaries,
                                   NULL) == CL_SUCCESS;
    }
    if (is_read)
        *out = (weft_blob){data, size};
    else
        free(data);
    free(binaries);
    return is_read;
}

bool weft_program_binary(cl_program program, cl_device_id device, weft_blob *out)
{
    size_t n_devices = 0, n_sizes = 0, i = 0;
    cl_device_id *devices = array_of(program, CL_PROGRAM_DEVICES, sizeof(*devices), &n_devices);
    size_t *sizes = array_of(program, CL_PROGRAM_BINARY_SIZES, sizeof(*sizes), &n_sizes);
    bool is_read = false;
    if (devices && sizes) {
        while (i < n_devices && devices[i] != device)
            i++;
        is_read = i < n_devices && i < n_sizes && read_one(program, i, n_sizes, sizes[i], out);
    }
    free(devices);
    free(sizes);
    return is_read;
}
