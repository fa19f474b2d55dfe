# SPDX-License-Identifier: Apache-2.0
"""Finds OpenCL: the loader of this process or machine, or a runtime for CPUs that pip installed.

The first of these that can be loaded and has a platform:

    $WEFT_OPENCL        a library; no other is tried
    in the process      a loader that is there already, as PyOpenCL's
    libOpenCL.so.1      the machine's
    PyOpenCL's          the loader in its wheel
    Intel's runtime     for CPUs, of `pip install pyweft[cpu]`: a driver that needs no loader
"""
from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import sys
import sysconfig
import threading
from collections.abc import Iterator

from weft._binding import NULL, DeviceError, text_of
from weft._weft import ffi, lib

_lock = threading.Lock()
_opened: str | None = None
_is_loaded = False  # drivers, and their threads, may be in this process

CPU_RUNTIME = "libintelocl.so"
ADVICE = ("install a driver, such as the package pocl-opencl-icd of Debian and Ubuntu, or a "
          "runtime for CPUs by pip install 'pyweft[cpu]'")


def _mapped() -> Iterator[str]:
    """Loaders in this process."""
    try:
        maps = pathlib.Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from dict.fromkeys(re.findall(r"/\S*/libOpenCL[^/\s]*", maps))


def _of_pyopencl() -> Iterator[str]:
    """It crashes without the variable, which PyOpenCL sets when it is imported."""
    spec = importlib.util.find_spec("pyopencl")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for library in sorted(pathlib.Path(place, ".libs").glob("libOpenCL*")):
            os.environ.setdefault("PYOPENCL_HOME", place)
            yield str(library)


def _cpu_runtimes() -> Iterator[str]:
    """Wheels put it into the lib of what they are installed to: the environment or the user's."""
    folders = [sys.prefix, sys.exec_prefix, sysconfig.get_path("data")]
    if user := sysconfig.get_path("data", sysconfig.get_preferred_scheme("user")):
        folders.append(user)
    for folder in dict.fromkeys(folders):
        library = pathlib.Path(folder, "lib", CPU_RUNTIME)
        if library.exists():
            yield str(library)


def _candidates() -> Iterator[str]:
    if named := os.environ.get("WEFT_OPENCL"):
        yield named
        return
    yield from _mapped()
    yield "libOpenCL.so.1"
    yield "libOpenCL.so"
    yield from _of_pyopencl()
    yield from _cpu_runtimes()


def _why_not(library: str) -> str | None:
    """Loads it; None if it has a platform."""
    global _is_loaded
    was_loaded, _is_loaded = _is_loaded, True
    error = lib.weft_python_opencl_open(os.fsencode(library))
    if error != NULL:
        _is_loaded = was_loaded
        return text_of(error)
    count = ffi.new("cl_uint *")
    if lib.clGetPlatformIDs(0, NULL, count) != 0 or count[0] == 0:
        return f"{os.fsencode(library).decode('utf-8', 'replace')} finds no driver"
    return None


def note_fork() -> bool:
    """In the child: whether the parent has used OpenCL. Another thread of it may have had the
    lock."""
    global _lock
    _lock = threading.Lock()
    return _is_loaded


def opencl() -> str:
    """The library that OpenCL's functions are of, looked for once. Raises DeviceError."""
    global _opened
    if _opened is None:
        with _lock:
            reasons = []
            for library in _candidates() if _opened is None else ():
                reason = _why_not(library)
                if reason is None:
                    _opened = library
                    break
                reasons.append(reason)
    if _opened is None:
        raise DeviceError(f"there is no OpenCL device: {'; '.join(reasons)}; {ADVICE}")
    return _opened
