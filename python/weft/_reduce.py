# SPDX-License-Identifier: Apache-2.0
"""Reductions under NumPy's names and keywords."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft._arrays import Array
from weft._binding import ParamsPool
from weft._call import Call
from weft._dtypes import FLOAT32, FLOAT64, FLOATS, DType, dtype_of
from weft._values import Axes, axes_of, reduced_shape
from weft._weft import ffi, lib

_pool = ParamsPool("weft_reduce_params")
_axes_arrays: dict[tuple[int, ...], Any] = {}  # at most those of 8 dimensions


def _axes_array(axes: tuple[int, ...]) -> Any:
    found = _axes_arrays.get(axes)
    if found is None:
        found = _axes_arrays[axes] = ffi.new("int[]", axes)
    return found


def _same_or_int64(dtype: DType, call: Call) -> DType:
    return dtype if dtype in FLOATS else np.dtype(np.int64)


def _same_or_float(dtype: DType, call: Call) -> DType:
    if dtype in FLOATS:
        return dtype
    return FLOAT64 if call.place.context.has_f64 else FLOAT32


def _reduce(op: int, result_dtype: Any, x: Array, axis: Axes, keepdims: bool, out: Array,
            dtype: npt.DTypeLike | None = None, correction: int = 0) -> Array:
    call = Call(x, out)
    x = call.operand(x)
    shape = x.shape
    axes = axes_of(axis, len(shape))
    if not axes and shape:  # no axis: each element alone, along one more
        axes, x, keepdims = (len(shape),), x.reshape(*shape, 1), False
        shape = x.shape
    Y_dtype = result_dtype(x.dtype, call) if dtype is None else dtype_of(dtype)
    X = call.input(x)
    Y = call.output(out, reduced_shape(shape, axes, keepdims), Y_dtype,
                    dtype is not None or out is None)
    params = _pool.take()
    params.struct.correction = correction
    y = call.run(lib.weft_reduce, _pool, params, op, X, len(axes), _axes_array(axes), Y)
    return y[()] if out is None and type(y) is np.ndarray and y.ndim == 0 else y


def sum(x: Array, axis: Axes = None, dtype: npt.DTypeLike | None = None, out: Array = None,
        keepdims: bool = False) -> Array:
    """Sums along axes, as numpy.sum().

    x      up to 8 dimensions, any strides; f32, f64, f16, bf16, i32, i64, u8 or bool
    axis   an axis, several, or None: all
    dtype  x's, or float32 for float16 and bfloat16; int64 for integers. (numpy.sum() also takes
           others.) None: x's, int64 for integers
    out    of the result's shape; its data type is taken if dtype is None

    Returns an array of x's kind; one number is a NumPy scalar if x is in the host's memory and no
    other library's. Floats are summed with compensation, in float32 (float64 for float64), so that
    the error is 1e-6 sum |x| for any number of elements; integers wrap. Raises ValueError,
    TypeError, DeviceError.

    >>> weft.sum(np.arange(6, dtype=np.float32).reshape(2, 3), axis=1)
    array([ 3., 12.], dtype=float32)
    """
    return _reduce(lib.WEFT_SUM, _same_or_int64, x, axis, keepdims, out, dtype)
