// SPDX-License-Identifier: Apache-2.0
// The program weft inside the Python package: the OpenCL that Python found, $WEFT_OPENCL, is opened
// before main().
#include <stdlib.h>

const char *weft_python_opencl_open(const char *path);

__attribute__((constructor)) static void open_opencl(void)
{
    const char *path = getenv("WEFT_OPENCL");
    if (path)
        weft_python_opencl_open(path);
}
