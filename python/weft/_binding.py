# SPDX-License-Identifier: Apache-2.0
"""What all modules share of the C library: statuses as exceptions, params and text."""
from __future__ import annotations

import re
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


_RESULT = "the result"
_AXIS = {"X": "x", "dY": "dy", "Y": _RESULT, "dX": _RESULT}
_AXIS_BACKWARD = {**_AXIS, "Y": "y"}

# Operations, or what their names begin with, as Python has them, and their operands.
_NAMES: dict[str, tuple[str, dict[str, str]]] = {
    "reduce": ("", _AXIS),
    "softmax": ("softmax", _AXIS),
    "log_softmax": ("log_softmax", _AXIS),
    "softmax_backward": ("softmax_backward", _AXIS_BACKWARD),
    "log_softmax_backward": ("log_softmax_backward", _AXIS_BACKWARD),
    **{name: (name, _AXIS) for name in ("layer_norm", "rms_norm", "layer_norm_backward",
                                        "rms_norm_backward")},
    "matmul": ("matmul", {"A": "a", "B": "b", "C": _RESULT}),
    "spmm": ("spmm", {"C": _RESULT}),
    "spmm_plan": ("SpmmPlan", {}),
    "sddmm": ("sddmm", {"D": _RESULT}),
    "sddmm_sparse": ("sddmm", {"D": _RESULT}),
    "sparse_softmax": ("sparse_softmax", {"Y": _RESULT}),
    "sparse_softmax_backward": ("sparse_softmax_backward", {"dX": _RESULT}),
    "sparse_attention": ("sparse_attention", {"O": _RESULT}),
    "sparse_linear_dx": ("sparse_linear_dx", {"dX": _RESULT}),
    "sparse_linear_dw": ("sparse_linear_dw", {"dW": _RESULT}),
    "spgemm": ("spgemm", {"C": _RESULT}),
    "spgemm_count": ("spgemm", {"C": _RESULT}),
    "spgemm_dense": ("spgemm_dense", {"C": _RESULT}),
    **dict.fromkeys(("csr_host_check", "csr_check", "dense_to_csr", "dense_to_csr_count"),
                    ("csr", {})),
}


def in_python(sentence: str) -> str:
    """What the library says, with Python's names for operations and operands."""
    head, colon, rest = sentence.partition(": ")
    name, operands = _NAMES.get(head, (head, {}))
    if operands:
        # No names of the caller's, which are quoted or follow "input" or "value".
        pattern = rf"(?<!input )(?<!value )(?<!')\b({'|'.join(operands)})\b"
        first, newline, formula = rest.partition("\n")
        rest = re.sub(pattern, lambda found: operands[found[0]], first) + newline + formula
    rest = re.sub(r"\bparams\.(\w+)", r"\1", rest)
    return f"{name}{colon}{rest}" if name else rest


def fail(status: int) -> NoReturn:
    """Raises what the library says of the last call of this thread."""
    raise _EXCEPTIONS.get(status, DeviceError)(in_python(text_of(lib.weft_last_error())))


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
            raise ValueError(in_python(text_of(lib.weft_last_error())))
        if length < size:
            return text_of(text)
        size = length + 1
