# SPDX-License-Identifier: Apache-2.0
"""One run of an operation: where it runs, its operands, and its results.

PyOpenCL's arrays stay where they are. The call waits for their events, is enqueued on the queue of
the first one, and returns; results have its event. Operands in the host's memory beside them are
copied. If all are in the host's memory, the call returns when results are complete. On a CPU
kernels read and write the arrays themselves, on other devices copies.
"""
from __future__ import annotations

import functools
import inspect
import sys
import threading
from typing import Any

import numpy as np

from weft._arrays import (Array, Wrap, address_of, device_tensor, host_array, is_fit, is_on_device,
                          new_tensor, same_view, shapes_text, span_of, with_axes)
from weft._binding import MOST_EVENTS, NULL, Params, ParamsPool, ParamsType, check_cl, fail
from weft._devices import Place, host_place, place_of_queue
from weft._dtypes import DType
from weft._weft import ffi, lib

ALIGNMENT = 128  # bytes: no implementation wants more of memory that it is to use as it is
MEM_READ_WRITE, MEM_READ_ONLY, MEM_USE_HOST_PTR, MEM_COPY_HOST_PTR = 1, 4, 8, 32
MAP_READ, BLOCKING = 1, 1

recorders = threading.local()  # current: the Recorder that the thread's calls go to


class Recorder:
    """What calls of a thread go to in place of a device."""

    is_open = True

    def host_place(self) -> Place:
        """For calls of arrays in the host's memory."""
        return host_place()

    def takes(self, place: Place) -> bool:
        """Whether a call there is recorded; else it runs."""
        raise NotImplementedError

    def record(self, call: Call, function: Any, params: Params, *arguments: Any) -> None:
        """The call function(context, queue, arguments ..., params)."""
        raise NotImplementedError

    def refuse_blocking(self) -> None:
        """Raises where it has no calls that wait for the device."""


def refuse_recorder() -> None:
    """Raises where calls of this thread are recorded. Another thread may have ended that."""
    current = getattr(recorders, "current", None)
    if current is not None and current.is_open:
        raise ValueError("this thread makes a recording, or explains another call")


class HostOperand:
    """An array in the host's memory, its tensor, and of an output where the elements go at last."""

    __slots__ = ("array", "tensor", "target", "has_content")

    def __init__(self, array: np.ndarray[Any, Any], tensor: Any,
                 target: np.ndarray[Any, Any] | None, has_content: bool) -> None:
        self.array = array
        self.tensor = tensor
        self.target = target
        self.has_content = has_content


class Call:
    __slots__ = ("place", "queue", "recorder", "_device_array", "_wrap", "_hosts", "_events",
                 "_inputs", "_outputs", "_buffers")

    def __init__(self, *operands: Array) -> None:
        """Of these the first PyOpenCL array says where."""
        self._hosts: list[HostOperand] = []
        self._events: list[Any] = []
        self._inputs: list[Array] = []
        self._outputs: list[Array] = []
        self._buffers: list[Any] = []
        self._wrap: Wrap | None = None
        self._device_array: Array = None
        self.recorder: Recorder | None = getattr(recorders, "current", None)
        for x in operands:
            if is_on_device(x):
                self.queue = x.queue
                if self.queue is None:
                    raise ValueError("an array has no queue: array.with_queue(queue) has one")
                self._device_array = x
                self.place: Place = place_of_queue(self.queue.int_ptr)
                return
        self.place = host_place() if self.recorder is None else self.recorder.host_place()

    # ---- operands

    def operand(self, x: Array) -> Array:
        """As it is, or as NumPy's array in the byte order of this machine, with shape and dtype."""
        if is_on_device(x):
            return x
        array, wrap = host_array(x)
        if self._wrap is None:
            self._wrap = wrap
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def input(self, x: Array) -> Any:
        """The tensor of what operand() gave."""
        if self._device_array is not None and is_on_device(x):
            if x.events:
                self._events += x.events
            self._inputs.append(x)
            return device_tensor(x, self.place.context)
        if not (is_fit(x) and self._takes_memory()):
            x = np.array(x, order="C")
        return self._host(x, None)

    def output(self, out: Array, shape: tuple[int, ...], dtype: DType | None,
               axes: tuple[int, ...] = ()) -> Any:
        """The tensor of `out`, or of a new array, with axes of one element besides. Results are in
        the order of these calls. Without a dtype `out` may have any."""
        if out is not None:
            return self._given(out, shape, dtype, axes)
        if self._device_array is not None:
            y = _new_on_device(self._device_array, self.queue, shape, dtype)
            self._outputs.append(y)
            return device_tensor(with_axes(y, *axes) if axes else y, self.place.context)
        y = np.empty(shape, dtype)
        self._outputs.append(y)
        y = with_axes(y, *axes)
        return self._host(y, y, False)

    def _given(self, out: Array, shape: tuple[int, ...], dtype: DType | None,
               axes: tuple[int, ...]) -> Any:
        on_device = is_on_device(out)
        if self._device_array is not None and not on_device:
            raise TypeError("out is in the host's memory, an operand in OpenCL's")
        y: Any = out if on_device else _written_array(out)
        if tuple(y.shape) != tuple(shape):
            raise ValueError(f"out is {shapes_text([y.shape])}, the result {shapes_text([shape])}")
        if dtype is not None and y.dtype.newbyteorder("=") != dtype:
            raise TypeError(f"out is of {y.dtype}, the result of {dtype}")
        self._outputs.append(out)
        if on_device:
            if y.events:
                self._events += y.events
            return device_tensor(with_axes(y, *axes) if axes else y, self.place.context)
        y = with_axes(y, *axes)
        if is_fit(y) and self._takes_memory():
            return self._host(y, y)
        # As a copy: an operation may read it first.
        return self._host(np.array(y, y.dtype.newbyteorder("="), order="C"), y)

    def _takes_memory(self) -> bool:
        """Whether kernels use the host's memory as it is: they are waited for, and on a CPU."""
        return self._device_array is None and self.place.context.is_cpu

    def _host(self, array: np.ndarray[Any, Any], target: np.ndarray[Any, Any] | None,
              has_content: bool = True) -> Any:
        tensor = new_tensor(array.shape, array.strides, array.dtype)
        self._hosts.append(HostOperand(array, tensor, target, has_content))
        return tensor

    # ---- buffers of the host's operands

    def bind(self) -> None:
        empty = [its for its in self._hosts if its.array.size == 0]
        for its in empty:
            its.tensor.buffer = self.place.context.spare_buffer()
        filled = [its for its in self._hosts if its.array.size != 0]
        if not self._takes_memory():
            for its in filled:
                self._bind_copy(its)
            return
        self._part_from_outputs(filled)
        for group in _overlapping(filled):
            self._bind_memory(*group)

    def _bind_copy(self, its: HostOperand) -> None:
        flags, host = MEM_READ_ONLY if its.target is None else MEM_READ_WRITE, NULL
        if its.has_content:
            flags, host = flags | MEM_COPY_HOST_PTR, ffi.cast("void *", address_of(its.array))
        its.tensor.buffer = self._buffer(flags, its.array.nbytes, host)

    def _buffer(self, flags: int, size: int, host: Any) -> Any:
        buffer = self.place.context.new_buffer(flags, size, host)
        self._buffers.append(buffer)
        return buffer

    def _part_from_outputs(self, filled: list[HostOperand]) -> None:
        """An input in the memory of an output is copied before, as NumPy does, unless they are the
        same view, which operations know."""
        outputs = [its.array for its in filled if its.target is not None]
        for its in filled:
            if its.target is None and any(
                    not same_view(its.array, y) and np.may_share_memory(its.array, y)
                    for y in outputs):
                its.array = np.array(its.array, order="C")
                copy = new_tensor(its.array.shape, its.array.strides, its.array.dtype)
                ffi.memmove(its.tensor, copy, ffi.sizeof("weft_tensor"))

    def _bind_memory(self, low: int, high: int, group: list[HostOperand]) -> None:
        """One buffer for all of the memory of these. It begins at a whole multiple: what lies
        between is on the same page, and is not touched."""
        written = any(its.target is not None for its in group)
        flags = (MEM_READ_WRITE if written else MEM_READ_ONLY) | MEM_USE_HOST_PTR
        buffer = self._buffer(flags, high - low, ffi.cast("void *", low))
        for its in group:
            its.tensor.buffer = buffer
            its.tensor.offset = (address_of(its.array) - low) // its.array.dtype.itemsize

    # ---- the run

    def run(self, function: Any, pool: ParamsPool[ParamsType], params: ParamsType,
            *arguments: Any) -> Any:
        """Calls function(context, queue, arguments ..., params); returns out or the new results."""
        place = self.place
        struct = params.struct
        if self.recorder is not None and self.recorder.takes(place):
            self._record(self.recorder, function, params, *arguments)
            pool.give_back(params)
            return self._results()
        try:
            if self._hosts:
                self.bind()
            n_wait = self._fill_wait(params) if self._events else 0
            struct.n_wait = n_wait
            struct.wait = params.wait if n_wait else NULL
            params.event[0] = NULL
            status = function(place.ctx, place.queue, *arguments, struct)
            if status:
                fail(status)
            if params.event[0] == NULL:
                raise AssertionError("a call that succeeds has an event")
            if self._device_array is None:
                self._finish(params.event)
            else:
                self._note(params.event)
        except BaseException as error:
            self._settle(params.event, error)
            raise
        finally:
            self.release()
            pool.give_back(params)
        return self._results()

    def _record(self, recorder: Recorder, function: Any, params: Params, *arguments: Any) -> None:
        """The call is not run, and has no events."""
        struct = params.struct
        struct.n_wait, struct.wait, struct.event = 0, NULL, NULL
        try:
            recorder.record(self, function, params, *arguments)
        finally:
            struct.event = params.event

    @property
    def has_hosts(self) -> bool:
        """Whether an operand is in the host's memory."""
        return bool(self._hosts)

    @property
    def arrays(self) -> tuple[list[Array], list[Array]]:
        """Operands and results on a device."""
        return self._inputs, self._outputs

    def release(self) -> None:
        for buffer in self._buffers:
            self.place.context.release(buffer)

    def _fill_wait(self, params: Params) -> int:
        events = self._events
        if len(events) > MOST_EVENTS:
            sys.modules["pyopencl"].wait_for_events(events)
            return 0
        wait = params.wait
        for i, event in enumerate(events):
            wait[i] = ffi.cast("cl_event", event.int_ptr)
        return len(events)

    def _note(self, event: Any) -> None:
        """Results are complete with the event, which is theirs from here on."""
        its = event_of_pyopencl(event)
        for y in self._outputs:
            if y.events:  # those that the call has waited for are complete with it
                y.events[:] = [old for old in y.events if old not in self._events]
            y.add_event(its)

    def _settle(self, event: Any, error: BaseException) -> None:
        """After an exception, as of Ctrl-C, kernels may run: the host's memory stays until they are
        done, and results on a device are complete with the event."""
        if self._device_array is not None:
            if event[0] != NULL:
                self._note(event)
        elif event[0] != NULL:
            wait_for(event)
        else:
            self.finish_queue(error)

    def finish_queue(self, error: BaseException) -> None:
        """Waits for kernels of a call that has no event, but for one that was refused."""
        if self._hosts and self.place.queue != NULL and not isinstance(error,
                                                                       (ValueError, TypeError)):
            lib.clFinish(self.place.queue)

    def _finish(self, event: Any) -> None:
        wait_for(event)
        takes_memory = self._takes_memory()
        for its in self._hosts:
            if its.target is None or its.array.size == 0:
                continue
            if takes_memory:
                self._look_at(its)
            else:
                self._fetch(its)
            if its.target is not its.array:
                its.target[...] = its.array

    def _look_at(self, its: HostOperand) -> None:
        """The host sees what kernels wrote when it has mapped it, even if that copies nothing."""
        code = ffi.new("cl_int *")
        done = ffi.new("cl_event *")
        low, high = span_of(its.array)
        start = low - (address_of(its.array) - its.tensor.offset * its.array.dtype.itemsize)
        queue, buffer = self.place.queue, its.tensor.buffer
        mapped = lib.clEnqueueMapBuffer(queue, buffer, BLOCKING, MAP_READ, start, high - low, 0,
                                        NULL, NULL, code)
        check_cl(code[0], "clEnqueueMapBuffer()")
        try:
            check_cl(lib.clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, done),
                     "clEnqueueUnmapMemObject()")
        finally:
            if done[0] != NULL:
                wait_for(done)

    def _fetch(self, its: HostOperand) -> None:
        """It blocks: no exception is raised while the memory is written. Some devices return early
        where another thread flushes the queue, and are waited for."""
        if not its.array.flags.c_contiguous:
            raise AssertionError("an output of a device other than a CPU is contiguous")
        done = ffi.new("cl_event *")
        try:
            check_cl(lib.clEnqueueReadBuffer(self.place.queue, its.tensor.buffer, BLOCKING, 0,
                                             its.array.nbytes,
                                             ffi.cast("void *", address_of(its.array)), 0, NULL,
                                             done), "clEnqueueReadBuffer()")
        finally:
            if done[0] != NULL:
                wait_for(done)

    def _results(self) -> Any:
        results = [y if self._wrap is None or not isinstance(y, np.ndarray) else self._wrap(y)
                   for y in self._outputs]
        return results[0] if len(results) == 1 else tuple(results)


def wait_for(event: Any) -> None:
    """Waits for the event and releases it, also after an exception meanwhile, as of Ctrl-C."""
    try:
        check_cl(lib.clWaitForEvents(1, event), "clWaitForEvents()")
    finally:
        its, event[0] = event[0], NULL
        lib.clReleaseEvent(its)


def event_of_pyopencl(event: Any) -> Any:
    """The event as an object of PyOpenCL's, which it belongs to from here on."""
    pointer, event[0] = int(ffi.cast("intptr_t", event[0])), NULL
    return sys.modules["pyopencl"].Event.from_int_ptr(pointer, False)


def _written_array(out: Array) -> np.ndarray[Any, Any]:
    """A view of an operand that is written: what has none would be written in vain."""
    if not (hasattr(out, "__array_interface__") or hasattr(out, "__dlpack__")):
        raise TypeError(f"out is a {type(out).__name__}, not an array")
    array, _ = host_array(out)
    if not array.flags.writeable:
        raise ValueError("out is read-only")
    return array


def _overlapping(operands: list[HostOperand]) -> list[tuple[int, int, list[HostOperand]]]:
    """Groups of those whose memory overlaps, from a multiple of the alignment on."""
    groups: list[tuple[int, int, list[HostOperand]]] = []
    for low, high, its in sorted(((*span_of(its.array), its) for its in operands),
                                 key=lambda span: span[0]):
        low -= low % ALIGNMENT
        if groups and low < groups[-1][1]:
            first, last, group = groups[-1]
            groups[-1] = (first, max(high, last), [*group, its])
        else:
            groups.append((low, high, [its]))
    return groups


@functools.lru_cache(maxsize=1024)
def _layout(shape: tuple[int, ...], itemsize: int) -> tuple[tuple[int, ...], int]:
    """Strides of rows in order, and the number of elements."""
    strides, size, step = [], 1, itemsize
    for extent in reversed(shape):
        strides.append(step)
        size, step = size * extent, step * max(1, extent)
    return tuple(reversed(strides)), size


@functools.lru_cache(maxsize=None)
def _is_made_fast(kind: type) -> bool:
    """Whether arrays can be made as PyOpenCL's own operations make them, without what takes longer
    than a call does."""
    return (kind is sys.modules["pyopencl.array"].Array and
            {"_fast", "_size", "_context", "_queue"} <= set(inspect.signature(kind).parameters))


def _new_on_device(like: Array, queue: Any, shape: tuple[int, ...], dtype: DType) -> Array:
    """By the allocator of an operand, as PyOpenCL's own operations."""
    kind: Any = type(like)
    if not _is_made_fast(kind):
        return kind(queue, shape, dtype, allocator=like.allocator)
    strides, size = _layout(shape, dtype.itemsize)
    return kind(None, shape, dtype, allocator=like.allocator, strides=strides, _fast=True,
                _size=size, _context=like.context, _queue=queue)
