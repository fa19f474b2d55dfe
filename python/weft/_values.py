# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no arrays: numbers, axes and shapes."""
from __future__ import annotations

import functools
import operator
from typing import Any, SupportsIndex, Tuple, Union

import numpy as np

from weft._arrays import shapes_text

AxisError: Any = getattr(np, "exceptions", np).AxisError  # elsewhere before NumPy 1.25
MOST_INT64 = 2**63 - 1

Shape = Tuple[int, ...]
Axes = Union[None, SupportsIndex, Tuple[SupportsIndex, ...]]


def number_of(x: Any, name: str) -> float:
    """A real number, or an array of one without dimensions, as C takes it."""
    return x if type(x) is float else _as_float(x, name)


def _as_float(x: Any, name: str) -> float:
    is_text = isinstance(x, (str, bytes, bytearray))
    is_complex = getattr(getattr(x, "dtype", None), "kind", "f") == "c"
    if not (is_text or is_complex or getattr(x, "ndim", 0)):
        try:
            return float(x)
        except OverflowError:
            raise ValueError(f"{name} is {shown(x)}, more than a float64 holds") from None
        except (TypeError, ValueError, RuntimeError):
            pass
    raise TypeError(f"{name} is {shown(x)}: a real number is wanted")


def flag_of(x: Any, name: str) -> bool:
    """A bool, as C takes it."""
    return x if x is True or x is False else _as_bool(x, name)


def _as_bool(x: Any, name: str) -> bool:
    if isinstance(x, (int, np.integer, np.bool_)) and x in (0, 1):
        return bool(x)
    raise TypeError(f"{name} is {shown(x)}: True or False is wanted")


def whole_of(x: Any, name: str, least: int, most: int) -> int:
    """A whole number within what C takes."""
    try:
        number = operator.index(x)
    except TypeError:
        raise TypeError(f"{name} is {shown(x)}: a whole number is wanted") from None
    if not least <= number <= most:
        raise ValueError(f"{name} is {shown(number)}: {least} to {most} is wanted")
    return number


def text_arg(x: Any, name: str) -> bytes:
    """A text, as C takes it."""
    if not isinstance(x, str):
        raise TypeError(f"{name} is {shown(x)}: a str is wanted")
    if "\0" in x or not x.isprintable():
        raise ValueError(f"{name} is {shown(x)}, which has a character that is not printable")
    return x.encode()


def shown(x: Any) -> str:
    """An argument of any type in a message."""
    try:
        text = repr(x)
    except ValueError:  # Python writes no int of more than 4300 digits
        text = f"an integer of {x.bit_length()} bits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def axis_of(axis: SupportsIndex, ndim: int) -> int:
    """From 0 on. AxisError outside the array, TypeError for what is no whole number."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis is {shown(axis)}: a whole number is wanted") from None
    if not -ndim <= index < ndim:
        if abs(index) > MOST_INT64:
            raise AxisError(f"axis {shown(index)} is out of bounds for array of dimension {ndim}")
        raise AxisError(index, ndim)
    return index % ndim


def axes_of(axis: Axes, ndim: int) -> tuple[int, ...]:
    """All axes for None, else those given, from 0 on, each once."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(axis_of(one, ndim) for one in given)
    if len(set(axes)) != len(axes):
        raise ValueError("an axis is given twice")
    return axes


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if i in axes else extent for i, extent in enumerate(shape))
    return tuple(extent for i, extent in enumerate(shape) if i not in axes)


@functools.lru_cache(maxsize=1024)
def broadcast(*shapes: Shape) -> Shape:
    """The shape that these broadcast to by NumPy's rule, whose own function is slow."""
    shape: Shape = shapes[0] if shapes else ()
    for other in shapes:
        if other != shape:
            ndim = max(len(shape), len(other))
            pairs = list(zip((1,) * (ndim - len(shape)) + shape,
                             (1,) * (ndim - len(other)) + other))
            if any(a != b and 1 not in (a, b) for a, b in pairs):
                raise ValueError(f"shapes {shapes_text(shapes)} do not broadcast")
            shape = tuple(b if a == 1 else a for a, b in pairs)
    return shape
