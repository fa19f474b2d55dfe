# SPDX-License-Identifier: Apache-2.0
"""Devices, and contexts over them: one for arrays in the host's memory, and one for each device
that PyOpenCL's arrays are on."""
from __future__ import annotations

import dataclasses
import os
import sys
import threading
from typing import Any

from weft._binding import NULL, DeviceError, check, check_cl, text_of
from weft._loader import note_fork, opencl
from weft._weft import ffi, lib

PLATFORM_NAME, PLATFORM_VENDOR = 0x0902, 0x0903
DEVICE_TYPE, DEVICE_NAME, DEVICE_VERSION = 0x1000, 0x102B, 0x102F
QUEUE_CONTEXT, QUEUE_DEVICE = 0x1090, 0x1091
TYPES = {1 << 1: "CPU", 1 << 2: "GPU", 1 << 3: "accelerator"}
ANY_TYPE = 0xFFFFFFFF
MEM_READ_WRITE = 1
MOST_PLACES, MOST_CONTEXTS = 64, 16


@dataclasses.dataclass(frozen=True)
class Device:
    """A device that OpenCL has here. $WEFT_DEVICE chooses the one for arrays in the host's memory:
    a part of `name`, `platform` or `vendor`."""

    name: str
    platform: str
    vendor: str
    type: str
    version: str


def _text(function: Any, what_of: Any, what: int) -> str:
    size = ffi.new("size_t *")
    if function(what_of, what, 0, NULL, size) != 0:
        return ""
    text = ffi.new("char[]", size[0] + 1)
    return text_of(text).strip() if function(what_of, what, size[0], text, NULL) == 0 else ""


def _type_of(device: Any) -> int:
    kind = ffi.new("uint64_t *")
    check_cl(lib.clGetDeviceInfo(device, DEVICE_TYPE, 8, kind, NULL), "clGetDeviceInfo()")
    return int(kind[0])


def _type_name(device: Any) -> str:
    kind = _type_of(device)
    return next((name for bit, name in TYPES.items() if kind & bit), "other")


def _ids(function: Any, kind: str, *arguments: Any) -> list[Any]:
    count = ffi.new("cl_uint *")
    if function(*arguments, 0, NULL, count) != 0:
        return []  # a platform without devices is no error
    ids = ffi.new(f"{kind}[]", max(1, count[0]))
    check_cl(function(*arguments, count[0], ids, NULL), "a query of devices")
    return list(ids)[:count[0]]


def devices() -> list[Device]:
    """The devices that OpenCL has here; an empty list if there is no OpenCL.

    >>> all(device.type in ("CPU", "GPU", "accelerator", "other") for device in weft.devices())
    True
    """
    refuse_child()
    try:
        opencl()
    except DeviceError:
        return []
    return [Device(_text(lib.clGetDeviceInfo, device, DEVICE_NAME),
                   _text(lib.clGetPlatformInfo, platform, PLATFORM_NAME),
                   _text(lib.clGetPlatformInfo, platform, PLATFORM_VENDOR), _type_name(device),
                   _text(lib.clGetDeviceInfo, device, DEVICE_VERSION))
            for platform in _ids(lib.clGetPlatformIDs, "cl_platform_id")
            for device in _ids(lib.clGetDeviceIDs, "cl_device_id", platform, ANY_TYPE)]


class Context:
    """A weft_context. It stays until the process ends, where nothing is released, as drivers may be
    gone already; or, if too many others came after it, until nothing uses it any more."""

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx
        self.is_retired = False
        self.cl = lib.weft_context_cl(ctx)
        self.device = lib.weft_context_device(ctx)
        self.is_cpu = bool(_type_of(self.device) & (1 << 1))
        self.has_f64 = bool(lib.weft_context_limits(ctx).has_f64)
        self._spare: Any = None

    def __del__(self) -> None:
        if self.is_retired and not sys.is_finalizing():
            if self._spare is not None:
                lib.clReleaseMemObject(self._spare)
            lib.weft_context_destroy(ffi.new("weft_context **", self.ctx))

    def spare_buffer(self) -> Any:
        """For operands without elements, which have no buffer."""
        if self._spare is None:
            self._spare = self.new_buffer(MEM_READ_WRITE, 16, NULL)
        return self._spare

    def new_buffer(self, flags: int, size: int, host: Any) -> Any:
        code = ffi.new("cl_int *")
        buffer = lib.clCreateBuffer(self.cl, flags, size, host, code)
        if buffer == NULL:
            if code[0] == -61:  # more than the device's largest buffer
                raise MemoryError(f"a buffer of {size} bytes is more than the device takes")
            check_cl(code[0], f"clCreateBuffer() of {size} bytes")
        return buffer

    def release(self, buffer: Any) -> None:
        lib.clReleaseMemObject(buffer)


class Place:
    """Where calls go: a queue of a context."""

    __slots__ = ("context", "ctx", "queue")

    def __init__(self, context: Context, queue: Any) -> None:
        self.context = context
        self.ctx = context.ctx
        self.queue = queue


_lock = threading.RLock()
_host_place: Place | None = None
_contexts: dict[tuple[int, int], Context] = {}
_places: dict[int, Place] = {}
_is_child = False


def _note_fork() -> None:
    """A child lacks OpenCL's threads; where OpenCL has not been used it is as any process."""
    global _is_child, _lock
    _lock = threading.RLock()  # another thread may have had it
    _is_child = note_fork() or _is_child


os.register_at_fork(after_in_child=_note_fork)


def refuse_child() -> None:
    if _is_child:
        raise DeviceError("this process is a child of fork(), and its parent has used OpenCL: "
                          "start it by exec(), as multiprocessing does with \"spawn\"")


def host_place() -> Place:
    """For arrays in the host's memory: the device that $WEFT_DEVICE names, else any."""
    global _host_place
    if _is_child:
        refuse_child()
    if _host_place is None:
        with _lock:
            if _host_place is None:
                opencl()
                out = ffi.new("weft_context **")
                check(lib.weft_context_open(out, NULL))
                _host_place = Place(Context(out[0]), lib.weft_context_queue(out[0]))
    return _host_place


def place_of_queue(pointer: int) -> Place:
    """For a caller's queue, by its address. It is retained, so that its address stays its own."""
    if _is_child:
        refuse_child()
    place = _places.get(pointer)
    return place if place is not None else _new_place(pointer)


def _new_place(pointer: int) -> Place:
    with _lock:
        opencl()
        queue = ffi.cast("cl_command_queue", pointer)
        parts = ffi.new("void *[2]")
        for i, what in enumerate((QUEUE_CONTEXT, QUEUE_DEVICE)):
            code = lib.clGetCommandQueueInfo(queue, what, ffi.sizeof("void *"), parts + i, NULL)
            check_cl(code, "clGetCommandQueueInfo()")
        key = (int(ffi.cast("intptr_t", parts[0])), int(ffi.cast("intptr_t", parts[1])))
        if key not in _contexts:
            out = ffi.new("weft_context **")
            check(lib.weft_context_create(out, ffi.cast("cl_context", parts[0]),
                                          ffi.cast("cl_device_id", parts[1]), NULL))
            while len(_contexts) >= MOST_CONTEXTS:
                _retire_context(next(iter(_contexts)))
            _contexts[key] = Context(out[0])
        check_cl(lib.clRetainCommandQueue(queue), "clRetainCommandQueue()")
        while len(_places) >= MOST_PLACES:
            _release_place(next(iter(_places)))
        place = _places[pointer] = Place(_contexts[key], queue)
    return place


def _retire_context(key: tuple[int, int]) -> None:
    context = _contexts.pop(key)
    for pointer in [pointer for pointer, place in _places.items() if place.context is context]:
        _release_place(pointer)
    context.is_retired = True


def _release_place(pointer: int) -> None:
    lib.clReleaseCommandQueue(_places.pop(pointer).queue)
