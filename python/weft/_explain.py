# SPDX-License-Identifier: Apache-2.0
"""What a call would do on a device, and why: the call itself, made in a rehearsal."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Callable

import numpy as np

from weft._arrays import is_on_device
from weft._binding import NULL, DeviceError, Params, check, described, fail, text_of
from weft._call import Call, Recorder, recorders, refuse_recorder
from weft._csc import csc
from weft._devices import Context, Place, host_place, place_of_queue
from weft._sparse import csr
from weft._spmm import SpmmPlan
from weft._values import shown, text_arg
from weft._weft import ffi, lib

DESCRIBERS = {"weft_layer_norm": "weft_norm", "weft_layer_norm_backward": "weft_norm_backward"}


class RehearsalContext(Context):
    """A weft_context that rehearses, and what Context has besides. Its memory is handles."""

    def __init__(self, limits: Any, real: Context | None, is_cpu: bool) -> None:
        out = ffi.new("weft_context **")
        check(lib.weft_rehearsal_create(out, limits, NULL if real is None else real.ctx))
        self.ctx = out[0]
        self.is_retired = True  # it goes when nothing uses it any more
        self.has_f64 = bool(lib.weft_context_limits(self.ctx).has_f64)
        self.is_cpu = is_cpu
        self._spare: Any = None
        self._handles: dict[int, Any] = {}

    def new_buffer(self, flags: int, size: int, host: Any) -> Any:
        address = int(ffi.cast("intptr_t", host))
        buffer = self._handles.get(address)
        if buffer is None:
            buffer = lib.weft_rehearsal_buffer(self.ctx, host)
            if buffer == NULL:
                raise DeviceError(f"a rehearsal has {lib.WEFT_REHEARSAL_BUFFERS} buffers at most")
            if address:
                self._handles[address] = buffer
        return buffer

    def release(self, buffer: Any) -> None:
        pass


class Explanation(Recorder):
    """Takes all calls of its thread, and makes text of them."""

    def __init__(self, context: RehearsalContext) -> None:
        self._place = Place(context, NULL)
        self._is_preparing = False
        self.parts: list[str] = []

    def host_place(self) -> Place:
        return self._place

    def takes(self, place: Place) -> bool:
        if place is not self._place:
            raise ValueError("an array on a device is used that is not among the operands")
        return True

    def refuse_blocking(self) -> None:
        if not self._is_preparing:
            raise ValueError("a call that is explained makes a plan: make it before, and give it")

    def prepared(self, x: Any) -> Any:
        """A plan of the user's, for the rehearsal."""
        self._is_preparing = True
        try:
            return x.made_anew()
        finally:
            self._is_preparing = False

    def record(self, call: Call, function: Any, params: Params, *arguments: Any) -> None:
        ctx = self._place.ctx
        call.bind()
        check(lib.weft_rehearsal_begin(ctx))
        status = function(ctx, NULL, *arguments, params.struct)
        name = getattr(function, "args", (function,))[0].__name__
        plan = _plan_text(name, ctx, *arguments, params.struct) if status == 0 else None
        record = lib.weft_rehearsal_end(ctx)
        if status:
            fail(status)
        if record == NULL:
            raise MemoryError("no memory for a rehearsal")
        device = text_of(lib.weft_context_limits(ctx).name)
        self.parts += [f"{name.removeprefix('weft_')} on {device}", *_lines_of(plan, record)]


def _plan_text(name: str, ctx: Any, *arguments: Any) -> str | None:
    """By the function that describes this one's plan, which takes the same operands, and neither a
    queue nor factors; None if there is none."""
    function = getattr(lib, f"{DESCRIBERS.get(name, name)}_describe", None)
    if function is None:
        return None
    wanted = [its.cname for its in ffi.typeof(function).args[1:-2]]
    given = zip((its.cname for its in ffi.typeof(getattr(lib, name)).args[2:]), arguments)
    taken = [x for kind, x in given if kind in wanted and kind != "double"]
    return described(function, ctx, *taken)


def _lines_of(plan: str | None, record: Any) -> Iterator[str]:
    """As `weft explain` prints them."""
    if plan is not None:
        yield f"  plan        {plan}"
    for refusal in ffi.unpack(record.refusals, record.n_refusals) if record.n_refusals else ():
        yield f"  without     {text_of(refusal.variant)}: {text_of(refusal.reason)}"
    for launch in ffi.unpack(record.launches, record.n_launches) if record.n_launches else ():
        times = f", {launch.times} times" if launch.times > 1 else ""
        yield f"  kernel      {text_of(launch.kernel)} of {text_of(launch.source)}.cl{times}"
        for name in ("global", "local"):
            yield f"    {name:9} {' x '.join(map(str, getattr(launch, name)))} items"
        yield f"    options   {text_of(launch.options)}"
    yield f"  scratch     {record.scratch_bytes} bytes"


# ---- operands

def _parts_of(x: Any) -> Iterator[Any]:
    """The arrays among arguments."""
    if isinstance(x, (tuple, list)):
        for part in x:
            yield from _parts_of(part)
    elif isinstance(x, dict):
        yield from _parts_of(list(x.values()))
    else:
        yield x.values if isinstance(x, (csr, csc)) else x


def _stand_in(x: Any, explanation: Explanation, memory: dict[int, Any]) -> Any:
    """For PyOpenCL's arrays views, of the same kind, of memory of the host's, which no one reads;
    patterns, which plans read, are fetched."""
    if isinstance(x, (tuple, list)):
        return type(x)(_stand_in(part, explanation, memory) for part in x)
    if isinstance(x, (csr, csc)):
        return x.get()
    if isinstance(x, SpmmPlan):
        return explanation.prepared(x)
    if not is_on_device(x):
        return x
    if x.base_data is None:
        return np.empty(x.shape, x.dtype)
    pointer = x.base_data.int_ptr
    if pointer not in memory:
        memory[pointer] = np.empty(x.base_data.size, np.uint8)
    return np.ndarray(x.shape, x.dtype, memory[pointer], x.offset, x.strides)


def _context_for(profile: str | None, arrays: list[Any]) -> RehearsalContext:
    on_device = next((x for x in arrays if is_on_device(x)), None)
    if profile is not None:
        limits = lib.weft_profile_find(text_arg(profile, "profile"))
        if limits == NULL:
            names = (lib.weft_profile_at(i).name for i in range(lib.weft_profile_count()))
            raise ValueError(f"there is no profile {profile!r}: one of "
                             f"{', '.join(map(text_of, names))} is wanted")
        is_cpu = bool(limits.kind == lib.WEFT_DEVICE_CPU)
        return RehearsalContext(limits, None, on_device is not None or is_cpu)
    place = host_place() if on_device is None else place_of_queue(on_device.queue.int_ptr)
    return RehearsalContext(NULL, place.context, on_device is not None or place.context.is_cpu)


def explain(function: Callable[..., Any], *operands: Any, profile: str | None = None,
            **keywords: Any) -> str:
    """What function(*operands, **keywords) would do, and why: for each operation of the library the
    plan, the variants that it rejected and the reasons, kernels with their sizes and build options,
    and scratch memory. Nothing is computed, and operands do not change.

    function  of weft, or any that calls them
    profile   a part of the name of a known device, for which the call is planned, as "h100", and
              which need not exist. None: the device that the call would run on; kernels are
              compiled for it

    Operands are as of the call; a plan of products is made anew for the device. The errors are the
    call's. Refused are also calls that copy between host and device, as those that return matrices
    of unknown size (DeviceError), a function that makes plans, and an unknown profile (ValueError).

    >>> x = np.ones((64, 1000), np.float32)
    >>> print(weft.explain(weft.softmax, x, profile="h100"))
    softmax on nvidia-h100
      plan        ...
      kernel      ...
      scratch     0 bytes
    """
    refuse_recorder()
    if not callable(function):
        raise TypeError(f"function is {shown(function)}: one of weft's is wanted, or one that "
                        "calls them")
    context = _context_for(profile, list(_parts_of([*operands, keywords])))
    explanation = Explanation(context)
    memory: dict[int, Any] = {}
    recorders.current = explanation
    try:
        operands = _stand_in(operands, explanation, memory)
        keywords = {name: _stand_in(x, explanation, memory) for name, x in keywords.items()}
        function(*operands, **keywords)
    finally:
        recorders.current = None
    if not explanation.parts:
        raise TypeError(f"{shown(function)} calls no operation of weft's, and these are all that "
                        "is explained: weft.spmm, weft.softmax and so on")
    return "\n".join(explanation.parts)
