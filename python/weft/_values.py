# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no arrays: axes and shapes."""
from __future__ import annotations

import operator
from typing import SupportsIndex, Tuple, Union

Axes = Union[None, SupportsIndex, Tuple[SupportsIndex, ...]]


def axis_of(axis: SupportsIndex, ndim: int) -> int:
    """From 0 on. ValueError outside the array."""
    index = operator.index(axis)
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


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if i in axes else extent for i, extent in enumerate(shape))
    return tuple(extent for i, extent in enumerate(shape) if i not in axes)
