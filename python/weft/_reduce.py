# SPDX-License-Identifier: Apache-2.0
"""Reductions under NumPy's names and keywords.

As numpy's functions, but for: `where` and `initial`, which are missing; data types, which are those
below; -0, which is less than 0 for min and max; argmin and argmax, which take several axes.
"""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft._arrays import Array, with_axes
from weft._binding import Params, ParamsPool
from weft._call import Call
from weft._dtypes import FLOAT32, FLOAT64, FLOATS, DType, dtype_of
from weft._values import MOST_INT64, Axes, axes_of, reduced_shape, shown, whole_of
from weft._weft import ffi, lib

_pool = ParamsPool("weft_reduce_params", Params)
_axes_arrays: dict[tuple[int, ...], Any] = {}  # at most those of 8 dimensions

INT64: DType = np.dtype(np.int64)
BOOL: DType = np.dtype(np.bool_)


def _axes_array(axes: tuple[int, ...]) -> Any:
    found = _axes_arrays.get(axes)
    if found is None:
        found = _axes_arrays[axes] = ffi.new("int[]", axes)
    return found


# ---- the result's data type, where neither dtype nor out says

def _same_or_int64(dtype: DType, call: Call) -> DType:
    return dtype if dtype in FLOATS else INT64


def _same_or_float(dtype: DType, call: Call) -> DType:
    if dtype in FLOATS:
        return dtype
    return FLOAT64 if call.place.context.has_f64 else FLOAT32


def _same(dtype: DType, call: Call) -> DType:
    return dtype


def _int64(dtype: DType, call: Call) -> DType:
    return INT64


def _bool(dtype: DType, call: Call) -> DType:
    return BOOL


def _reduce(op: int, result_dtype: Any, x: Array, axis: Axes, keepdims: bool, out: Array,
            dtype: npt.DTypeLike | None = None, correction: int = 0) -> Array:
    call = Call(x, out)
    x = call.operand(x)
    axes = axes_of(axis, len(x.shape))
    if not axes and x.shape:  # no axis: each element alone, along one more
        axes, x, keepdims = (len(x.shape),), with_axes(x, len(x.shape)), False
    result = dtype_of(dtype) if dtype is not None else None
    if result is None and out is None:
        result = result_dtype(x.dtype, call)
    X = call.input(x)
    Y = call.output(out, reduced_shape(x.shape, axes, keepdims), result)
    params = _pool.take()
    params.struct.correction = correction
    y = call.run(lib.weft_reduce, _pool, params, op, X, len(axes), _axes_array(axes), Y)
    return y[()] if out is None and type(y) is np.ndarray and y.ndim == 0 else y


def sum(x: Array, axis: Axes = None, dtype: npt.DTypeLike | None = None, out: Array = None,
        keepdims: bool = False) -> Array:
    """Sums along axes, as numpy.sum() without `where` and `initial`.

    x      up to 8 dimensions, any strides; f32, f64, f16, bf16, i32, i64, u8 or bool
    axis   an axis, several, or None: all
    dtype  x's, or float32 for float16 and bfloat16; int64 for integers. None: x's, int64 for
           integers
    out    of the result's shape; if dtype is None, of any of these data types

    Returns an array of x's kind; one number is a NumPy scalar if x is in the host's memory and no
    other library's. Floats are summed with compensation, in float32 (float64 for float64): the
    error is 1e-6 sum |x| for any number of elements. Integers wrap. Raises ValueError (axes,
    shapes), TypeError (data types), DeviceError.

    >>> weft.sum(np.arange(6, dtype=np.float32).reshape(2, 3), axis=1)
    array([ 3., 12.], dtype=float32)
    """
    return _reduce(lib.WEFT_SUM, _same_or_int64, x, axis, keepdims, out, dtype)


def prod(x: Array, axis: Axes = None, dtype: npt.DTypeLike | None = None, out: Array = None,
         keepdims: bool = False) -> Array:
    """Products along axes; arguments, data types and errors are those of sum().

    >>> int(weft.prod(np.array([2, 3, 7], np.int32)))
    42
    """
    return _reduce(lib.WEFT_PROD, _same_or_int64, x, axis, keepdims, out, dtype)


def mean(x: Array, axis: Axes = None, dtype: npt.DTypeLike | None = None, out: Array = None,
         keepdims: bool = False) -> Array:
    """Means along axes; NaN of no elements. Arguments and errors are those of sum().

    dtype  x's, or float32 for float16 and bfloat16; float32 or float64 for integers. None: x's,
           float64 for integers (float32 on a device without float64)

    >>> weft.mean(np.array([[1, 2], [3, 6]], np.float32), axis=0)
    array([2., 4.], dtype=float32)
    """
    return _reduce(lib.WEFT_MEAN, _same_or_float, x, axis, keepdims, out, dtype)


def _correction(ddof: int, correction: int | None) -> int:
    """Of the two names that NumPy has for it."""
    if correction is None:
        return whole_of(ddof, "ddof", -MOST_INT64, MOST_INT64)
    if ddof != 0:
        raise ValueError(f"ddof is {shown(ddof)} and correction {shown(correction)}: one is wanted")
    return whole_of(correction, "correction", -MOST_INT64, MOST_INT64)


def var(x: Array, axis: Axes = None, dtype: npt.DTypeLike | None = None, out: Array = None,
        ddof: int = 0, keepdims: bool = False, *, correction: int | None = None) -> Array:
    """Variances along axes: sum (x - mean)^2 / (n - ddof). Large means lose no accuracy. Else as
    mean(); ddof is a whole number, and correction another name of it.

    >>> float(weft.var(np.array([1, 2, 3], np.float32), ddof=1))
    1.0
    """
    return _reduce(lib.WEFT_VAR, _same_or_float, x, axis, keepdims, out, dtype,
                   _correction(ddof, correction))


def std(x: Array, axis: Axes = None, dtype: npt.DTypeLike | None = None, out: Array = None,
        ddof: int = 0, keepdims: bool = False, *, correction: int | None = None) -> Array:
    """Standard deviations along axes, the roots of var().

    >>> float(weft.std(np.array([2, 4], np.float32)))
    1.0
    """
    return _reduce(lib.WEFT_STD, _same_or_float, x, axis, keepdims, out, dtype,
                   _correction(ddof, correction))


def min(x: Array, axis: Axes = None, out: Array = None, keepdims: bool = False) -> Array:
    """The least elements along axes, of x's data type (float32, too, for float16 and bfloat16, if
    out has it); NaN if one is NaN. ValueError if there are no elements to reduce; else as sum().

    >>> weft.min(np.array([[3, 1], [2, 5]], np.int32), axis=0)
    array([2, 1], dtype=int32)
    """
    return _reduce(lib.WEFT_MIN, _same, x, axis, keepdims, out)


def max(x: Array, axis: Axes = None, out: Array = None, keepdims: bool = False) -> Array:
    """The largest elements along axes; else as min().

    >>> weft.max(np.array([[3, 1], [2, 5]], np.int32), axis=0)
    array([3, 5], dtype=int32)
    """
    return _reduce(lib.WEFT_MAX, _same, x, axis, keepdims, out)


def argmin(x: Array, axis: Axes = None, out: Array = None, keepdims: bool = False) -> Array:
    """The indices of the least elements, int64 (or int32 if out has it): of the first of equal
    ones, or of the first NaN. Along several axes they are counted in the order of x's axes, the
    last one fastest. ValueError if there are no elements to reduce; else as sum().

    >>> int(weft.argmin(np.array([3, 1, 2], np.float32)))
    1
    """
    return _reduce(lib.WEFT_ARGMIN, _int64, x, axis, keepdims, out)


def argmax(x: Array, axis: Axes = None, out: Array = None, keepdims: bool = False) -> Array:
    """The indices of the largest elements; else as argmin().

    >>> weft.argmax(np.array([[3, 1], [2, 5]], np.float32), axis=1)
    array([0, 1])
    """
    return _reduce(lib.WEFT_ARGMAX, _int64, x, axis, keepdims, out)


def any(x: Array, axis: Axes = None, out: Array = None, keepdims: bool = False) -> Array:
    """Whether an element along the axes is not 0: bool (or uint8 if out has it). NaN is not 0. Else
    as sum().

    >>> weft.any(np.array([[0, 0], [0, 1]], np.float32), axis=1)
    array([False,  True])
    """
    return _reduce(lib.WEFT_ANY, _bool, x, axis, keepdims, out)


def all(x: Array, axis: Axes = None, out: Array = None, keepdims: bool = False) -> Array:
    """Whether no element along the axes is 0; else as any().

    >>> bool(weft.all(np.array([1, 2, 0], np.int32)))
    False
    """
    return _reduce(lib.WEFT_ALL, _bool, x, axis, keepdims, out)


def logsumexp(x: Array, axis: Axes = None, out: Array = None, keepdims: bool = False) -> Array:
    """log(sum exp(x)) along axes, without overflow; -inf of no elements. Data types are those of
    mean(); else as sum().

    >>> float(weft.logsumexp(np.array([1000, -np.inf], np.float32)))
    1000.0
    """
    return _reduce(lib.WEFT_LOGSUMEXP, _same_or_float, x, axis, keepdims, out)


_NORMS = {1: lib.WEFT_NORM1, 2: lib.WEFT_NORM2, float("inf"): lib.WEFT_NORM_INF}


def norm(x: Array, ord: float = 2, axis: Axes = None, keepdims: bool = False,
         out: Array = None) -> Array:
    """Norms of vectors along axes: of ord 1 sum |x|, 2 sqrt(sum x^2), inf the largest |x|. As
    numpy.linalg.vector_norm(): several axes make one vector, not a matrix. Squares may overflow or
    underflow: results are accurate over the range of the type. Data types are those of mean(); else
    as sum(). ValueError for another ord.

    >>> float(weft.norm(np.array([3, 4], np.float32)))
    5.0
    """
    try:
        op = _NORMS.get(ord)
    except TypeError:  # no hash, as of an array
        raise TypeError(f"ord is {shown(ord)}: 1, 2 or inf is wanted") from None
    if op is None:
        raise ValueError(f"ord is {shown(ord)}: 1, 2 or inf is wanted")
    return _reduce(op, _same_or_float, x, axis, keepdims, out)
