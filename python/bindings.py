# SPDX-License-Identifier: Apache-2.0
"""Writes the C of the extension module, from the public headers:

    bindings.py WEFT_C OPENCL_C DEPFILE INCLUDE COMPILER ...

WEFT_C is what cffi makes of the declarations of <weft/weft.h>. OPENCL_C defines the functions of
<CL/cl.h>, each as a call of the same function of a library that weft_python_opencl_open() loads.
"""
import pathlib
import re
import subprocess
import sys

import cffi

DEFINES = ["-DCL_TARGET_OPENCL_VERSION=300", "-DCL_USE_DEPRECATED_OPENCL_1_2_APIS"]
LINE_MARKER = re.compile(r'# \d+ "(.*?)"')
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
FUNCTION = re.compile(r"extern ([^;(){}]*?)\b(cl[A-Z]\w*) ?\(((?:[^()]|\([^()]*\))*)\) ?;")

# What Python itself calls of OpenCL, and its types.
OPENCL = """
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_event *cl_event;
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
cl_int clGetPlatformIDs(cl_uint n, cl_platform_id *ids, cl_uint *count);
cl_int clGetPlatformInfo(cl_platform_id id, cl_uint what, size_t size, void *out, size_t *count);
cl_int clGetDeviceIDs(cl_platform_id id, cl_ulong type, cl_uint n, cl_device_id *ids,
                      cl_uint *count);
cl_int clGetDeviceInfo(cl_device_id id, cl_uint what, size_t size, void *out, size_t *count);
cl_int clGetCommandQueueInfo(cl_command_queue queue, cl_uint what, size_t size, void *out,
                             size_t *count);
cl_int clRetainCommandQueue(cl_command_queue queue);
cl_int clReleaseCommandQueue(cl_command_queue queue);
cl_mem clCreateBuffer(cl_context ctx, cl_ulong flags, size_t size, void *host, cl_int *code);
cl_int clReleaseMemObject(cl_mem buffer);
cl_int clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, size_t start,
                           size_t size, void *out, cl_uint n_wait, const cl_event *wait,
                           cl_event *event);
void *clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_uint blocking, cl_ulong flags,
                         size_t start, size_t size, cl_uint n_wait, const cl_event *wait,
                         cl_event *event, cl_int *code);
cl_int clEnqueueUnmapMemObject(cl_command_queue queue, cl_mem buffer, void *mapped,
                               cl_uint n_wait, const cl_event *wait, cl_event *event);
cl_int clWaitForEvents(cl_uint n, const cl_event *events);
cl_int clReleaseEvent(cl_event event);
cl_int clFinish(cl_command_queue queue);
const char *weft_python_opencl_open(const char *path);
"""

PROLOGUE = """// Functions of OpenCL, as calls of those of a library that is loaded later.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <dlfcn.h>
#include <stddef.h>
#pragma GCC visibility push(hidden)
#include <CL/cl.h>

const char *weft_python_opencl_open(const char *path);
"""

OPENER = """
// NULL, or why the library is of no use. The one before it stays in memory.
const char *weft_python_opencl_open(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    if (!dlsym(library, "clGetPlatformIDs"))
        return "it has no clGetPlatformIDs()";
"""


def preprocessed(compiler, include, header, *options):
    command = [*compiler, "-E", *DEFINES, *options, f"-I{include}", "-x", "c", "-"]
    return subprocess.run(command, input=f"#include <{header}>\n", stdout=subprocess.PIPE,
                          text=True, check=True).stdout


def lines_of(text, folder):
    """Those that come from files below the folder."""
    inside = False
    for line in text.splitlines():
        marker = LINE_MARKER.match(line)
        if marker:
            inside = pathlib.Path(marker[1]).is_relative_to(folder)
        elif inside and not line.startswith("#"):
            yield line


def without_bodies(text):
    """Static inline functions go: Python needs none."""
    kept, at = [], 0
    for found in re.finditer(r"static inline [^;{]*\{", text):
        if found.start() < at:
            continue
        kept.append(text[at:found.start()])
        depth, at = 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
    return "".join([*kept, text[at:]])


def declarations(compiler, include):
    text = "\n".join(lines_of(preprocessed(compiler, include, "weft/weft.h"), include))
    return without_bodies(ATTRIBUTE.sub("", text))


def name_of(parameter):
    pointer = re.search(r"\(\s*\*\s*(\w+)\s*\)", parameter)
    return pointer[1] if pointer else re.search(r"(\w+)\s*(\[\w*\])?$", parameter)[1]


def split(parameters):
    """At the commas that are in no parentheses."""
    parts = re.split(r",(?![^()]*\))", parameters)
    return [part.strip() for part in parts if part.strip() not in ("", "void")]


def forwarder(result, name, parameters):
    parts = split(parameters)
    arguments = ", ".join(name_of(part) for part in parts)
    call = f"the.{name}({arguments})"
    if result == "void":
        body = f"    if (the.{name})\n        {call};\n"
    elif "errcode_ret" in arguments:
        body = (f"    if (!the.{name} && errcode_ret)\n"
                "        *errcode_ret = CL_INVALID_OPERATION;\n"
                f"    return the.{name} ? {call} : NULL;\n")
    else:
        without = "CL_INVALID_OPERATION" if result == "cl_int" else "0"
        body = f"    return the.{name} ? {call} : {without};\n"
    return f"\n{result} {name}({', '.join(parts) or 'void'})\n{{\n{body}}}\n"


def forwarding(compiler, include):
    """In an ISO mode of the compiler, some headers leave out what they have otherwise."""
    text = ATTRIBUTE.sub("", preprocessed(compiler, include, "CL/cl.h", "-P"))
    functions = {found[2]: (found[1].strip(), found[3])
                 for found in FUNCTION.finditer(" ".join(text.split()))}
    parts = [PROLOGUE, "\nstatic struct {\n",
             *[f"    __typeof__(&{name}) {name};\n" for name in functions], "} the;\n",
             *[forwarder(result, name, its) for name, (result, its) in functions.items()], OPENER,
             *[f'    *(void **)&the.{name} = dlsym(library, "{name}");\n' for name in functions],
             "    return NULL;\n}\n"]
    return "".join(parts)


def main(weft_c, opencl_c, depfile, include, *compiler):
    ffi = cffi.FFI()
    ffi.cdef(OPENCL + declarations(compiler, include))
    ffi.set_source("weft._weft", "#define CL_USE_DEPRECATED_OPENCL_1_2_APIS\n"
                   "#include <weft/weft.h>\n"
                   "const char *weft_python_opencl_open(const char *path);\n")
    ffi.emit_c_code(weft_c)
    pathlib.Path(opencl_c).write_text(forwarding(compiler, include), encoding="utf-8")
    headers = sorted(pathlib.Path(include, "weft").glob("*.h"))
    depends = " ".join(str(header).replace(" ", "\\ ") for header in headers)
    pathlib.Path(depfile).write_text(f"{weft_c} {opencl_c}: {depends}\n", encoding="utf-8")


main(*sys.argv[1:])
