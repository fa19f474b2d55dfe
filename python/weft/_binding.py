# SPDX-License-Identifier: Apache-2.0
"""What all modules share of the C library: statuses as exceptions, params and text."""
from __future__ import annotations

from typing import Any, Callable, Generic, NoReturn, TypeVar

from weft._weft import ffi, lib

NULL = ffi.NULL
MOST_EVENTS = 64  # of a call; PyOpenCL's arrays have a dozen each at most


class DeviceError(RuntimeError):
    """The device, its driver or this process cannot do it: no device, f64 on a device without it,
    a kernel that does not compile, a lost device, a child of fork()."""


_EXCEPTIONS: dict[int, type[Exception]] = {
    lib.WEFT_BAD_ARGUMENT: ValueError,
    lib.WEFT_BAD_SHAPE: ValueError,
    lib.WEFT_BAD_DTYPE: TypeError,
    lib.WEFT_BAD_BUFFER: ValueError,
    lib.WEFT_BAD_DATA: ValueError,
    lib.WEFT_NO_MEMORY: MemoryError,
}


def text_of(chars: Any) -> str:
    return str(ffi.string(chars).decode("utf-8", "replace"))


def fail(status: int) -> NoReturn:
    """Raises what the library says of the last call of this thread."""
    raise _EXCEPTIONS.get(status, DeviceError)(text_of(lib.weft_last_error()))


def check(status: int) -> None:
    if status:
        fail(status)


def check_cl(code: int, call: str) -> None:
    if code in (-4, -5, -6):  # of the device's or the host's memory
        raise MemoryError(f"{call} failed ({code})")
    if code:
        raise DeviceError(f"{call} failed ({code})")


class Unshared:
    """What owns memory of a device, which a copy would free a second time."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} owns memory of a device, and is neither copied "
                        "nor pickled: make another one")


class Params:
    """A params struct with room for the events of a call."""

    __slots__ = ("struct", "event", "wait")

    def __init__(self, name: str) -> None:
        self.struct = ffi.new(f"{name} *")
        self.event = ffi.new("cl_event *")
        self.wait = ffi.new("cl_event[]", MOST_EVENTS)
        self.struct.size = ffi.sizeof(name)
        self.struct.event = self.event


ParamsType = TypeVar("ParamsType", bound=Params)


class ParamsPool(Generic[ParamsType]):
    """Params of one kind that no call uses now. A call fills in all fields of its own."""

    def __init__(self, name: str, kind: type[ParamsType]) -> None:
        self._name = name
        self._kind = kind
        self._idle: list[ParamsType] = []

    def take(self) -> ParamsType:
        try:
            return self._idle.pop()
        except IndexError:
            return self._kind(self._name)

    def give_back(self, params: ParamsType) -> None:
        self._idle.append(params)


def described(function: Callable[..., int], *arguments: Any) -> str:
    """What a function like snprintf() writes."""
    size = 512
    while True:
        text = ffi.new("char[]", size)
        length = function(*arguments, text, size)
        if length < 0:
            raise ValueError(text_of(lib.weft_last_error()))
        if length < size:
            return text_of(text)
        size = length + 1
