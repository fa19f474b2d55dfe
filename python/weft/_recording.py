# SPDX-License-Identifier: Apache-2.0
"""Recordings: calls that are checked and planned once, and then run by one call, many times."""
from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any

from weft._arrays import Array, is_on_device
from weft._binding import NULL, Params, Unshared, check
from weft._call import Call, Recorder, event_of_pyopencl, recorders, refuse_recorder
from weft._devices import Place, place_of_queue
from weft._weft import ffi, lib


def _place_of(queue: Any) -> Place:
    cl = sys.modules.get("pyopencl")
    if cl is None or not isinstance(queue, cl.CommandQueue):
        raise TypeError(f"queue is a {type(queue).__name__}: a CommandQueue of PyOpenCL is wanted")
    return place_of_queue(queue.int_ptr)


class Recording(Unshared, Recorder):
    """The calls that a thread makes within `with`, for arrays of PyOpenCL: they are checked,
    planned and compiled, and run() runs them.

    queue  of PyOpenCL: recorded are the calls of its device and context

    The recording keeps the arrays; their contents count when it runs. Refused are operands in the
    host's memory beside PyOpenCL's (TypeError), and calls that copy between host and device, as
    those that make plans, or matrices of unknown size (DeviceError). What fails is not recorded,
    and the recording goes on. Calls of host's arrays alone run at once.

        with weft.Recording(queue) as network:
            y = weft.softmax(weft.spmm(A, x, plan=plan))
        network.run()           # y is complete with the event that is returned
        network.exchange(x, other)
        network.run()           # of other's contents

    >>> cl = __import__("pyopencl.array")
    >>> context = cl.create_some_context(interactive=False)
    >>> queue = cl.CommandQueue(context)
    >>> x = cl.array.to_device(queue, np.zeros((1, 2), np.float32))
    >>> with weft.Recording(queue) as recording:
    ...     y = weft.softmax(x)
    >>> recording.run().wait()
    >>> y.get()
    array([[0.5, 0.5]], dtype=float32)
    """

    def __init__(self, queue: Any) -> None:
        self._queue = queue
        self._place = _place_of(queue)
        self._handle = ffi.new("weft_recording **")
        self._arrays: dict[int, Array] = {}
        self._results: dict[int, Array] = {}
        self._lock = threading.RLock()
        self.is_open = self._is_begun = False

    def __enter__(self) -> Recording:
        if self._is_begun:
            raise ValueError("a recording is made once")
        refuse_recorder()
        check(lib.weft_recording_begin(self._handle, self._place.ctx))
        self.is_open = self._is_begun = True
        recorders.current = self
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        with self._lock:
            if self.closed:
                return
            self._end()
            if kind is not None:
                self.close()
            else:
                check(lib.weft_recording_end(self._handle[0]))

    def _end(self) -> None:
        """The thread that began it may be another one, which finds out by its next call."""
        self.is_open = False
        if getattr(recorders, "current", None) is self:
            recorders.current = None

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None and handle[0] != NULL and not sys.is_finalizing():
            self.close()

    def close(self) -> None:
        """Frees what the recording owns, after runs that are enqueued. May be called again. Within
        its `with` it ends the recording: calls that follow run at once."""
        with self._lock:
            self._end()
            lib.weft_recording_destroy(self._handle)
            self._arrays.clear()
            self._results.clear()

    @property
    def closed(self) -> bool:
        return bool(self._handle[0] == NULL)

    # ---- what Call asks

    def takes(self, place: Place) -> bool:
        if not self.is_open:  # as another thread has ended it
            recorders.current = None
        return self.is_open and place.context is self._place.context

    def record(self, call: Call, function: Any, params: Params, *arguments: Any) -> None:
        if call.has_hosts:
            raise TypeError("an operand is in the host's memory, of which a recording has no copy")
        with self._lock:
            if not self.is_open:
                raise ValueError("another thread has ended the recording")
            check(function(self._place.ctx, NULL, *arguments, params.struct))
            arrays, results = call.arrays
            self._arrays.update((id(x), x) for x in arrays)
            self._results.update((id(x), x) for x in results)

    # ---- after the end

    def _require_made(self) -> None:
        if self._handle[0] == NULL:
            raise ValueError("the recording is closed, or has not begun")
        if self.is_open:
            raise ValueError("the recording has not ended")

    def run(self, queue: Any = None) -> Any:
        """Enqueues the recorded calls, after the events of their arrays, on the recording's queue
        or another one of its device. Returns the event with which all results are complete; it is
        noted at the results. ValueError where the recording is closed; DeviceError."""
        with self._lock:
            self._require_made()
            place = self._place if queue is None else _place_of(queue)
            events = [event for x in (*self._arrays.values(), *self._results.values())
                      for event in x.events]
            wait = ffi.new("cl_event[]", [ffi.cast("cl_event", event.int_ptr) for event in events])
            event = ffi.new("cl_event *")
            params = ffi.new("weft_recording_params *")
            params.size = ffi.sizeof("weft_recording_params")
            params.n_wait, params.wait = len(events), wait if events else NULL
            params.event = event
            try:
                check(lib.weft_recording_run(self._handle[0], place.queue, params))
            finally:  # also after an exception meanwhile, as of Ctrl-C
                if event[0] != NULL:
                    done = event_of_pyopencl(event)
                    for x in self._results.values():
                        x.add_event(done)
            return done

    def exchange(self, old: Array, new: Array) -> None:
        """Runs that follow use the memory of `new` in place of that of `old`, in all calls: an
        array of the same shape, strides and data type, at the same offset. ValueError, after which
        nothing is changed."""
        if not (is_on_device(old) and is_on_device(new)):
            raise TypeError("an array is not on a device")
        if any(getattr(old, its) != getattr(new, its)
               for its in ("shape", "strides", "dtype", "offset")):
            raise ValueError("the arrays differ in shape, strides, data type or offset")
        with self._lock:
            self._require_made()
            known = [table for table in (self._arrays, self._results) if id(old) in table]
            if not known:
                raise ValueError("no recorded call has this array")
            exchange = ffi.new("weft_exchange *")
            exchange.position = self._position_of(old)
            exchange.buffer = ffi.cast("cl_mem", new.base_data.int_ptr)
            check(lib.weft_recording_exchange(self._handle[0], 1, exchange))
            for table in known:
                del table[id(old)]
                table[id(new)] = new

    def _position_of(self, x: Array) -> int:
        buffer = ffi.cast("cl_mem", x.base_data.int_ptr)
        info = lib.weft_recording_get_info(self._handle[0])
        for position in range(info.n_buffers):
            if lib.weft_recording_buffer(self._handle[0], position) == buffer:
                return position
        raise ValueError("no recorded call uses the array's memory")
