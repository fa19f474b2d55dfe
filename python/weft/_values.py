# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no arrays: numbers, axes and shapes."""
from __future__ import annotations

import functools
import operator
from typing import Any, SupportsIndex, Tuple, Union

from weft._arrays import shapes_text

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


def shown(x: Any) -> str:
    """An argument of any type in a message."""
    try:
        text = repr(x)
    except ValueError:  # Python writes no int of more than 4300 digits
        text = f"an integer of {x.bit_length()} bits"
    return text if len(text) <= 60 else f"{text[:57]}..."


def axis_of(axis: SupportsIndex, ndim: int) -> int:
    """From 0 on. ValueError outside the array, TypeError for what is no whole number."""
    try:
        index = operator.index(axis)
    except TypeError:
        raise TypeError(f"axis is {axis!r}: a whole number is wanted") from None
    if not -ndim <= index < ndim:
        raise ValueError(f"axis {index} is out of bounds for an array of {ndim} dimensions")
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
