# SPDX-License-Identifier: Apache-2.0
"""Softmax and log-softmax along an axis, and their gradients."""
from __future__ import annotations

from typing import Any, SupportsIndex

from weft._arrays import Array
from weft._binding import Params, ParamsPool
from weft._call import Call
from weft._values import axis_of, flag_of, number_of
from weft._weft import lib

_pool = ParamsPool("weft_softmax_params", Params)


def _forward(function: Any, x: Array, axis: SupportsIndex, scale: float, masked: bool,
             out: Array) -> Array:
    call = Call(x, out)
    x = call.operand(x)
    axis = axis_of(axis, len(x.shape))
    X, Y = call.input(x), call.output(out, x.shape, x.dtype)
    params = _pool.take()
    params.struct.masked = flag_of(masked, "masked")
    return call.run(function, _pool, params, number_of(scale, "scale"), X, axis, Y)


def softmax(x: Array, axis: SupportsIndex = -1, *, scale: float = 1.0, masked: bool = False,
            out: Array = None) -> Array:
    """softmax(scale x) along one axis: exp(scale x - m) / sum exp(scale x - m), m the largest.

    x       1 to 8 dimensions; f32, f64, f16 or bf16 (computed in f32; f64 for f64)
    axis    one, the last by default (scipy.special.softmax() takes all by default, and several)
    masked  where every scale x along the axis is -inf the result is 0, in place of NaN
    out     x's shape and data type; it may be x itself

    Returns an array of x's kind, shape and data type. Raises ValueError (an axis outside x, a scale
    that is not finite, out of another shape), TypeError (another data type), DeviceError (f64 on a
    device without it).

    >>> weft.softmax(np.array([[0.0, 0.0], [-np.inf, 0.0]], np.float32))
    array([[0.5, 0.5],
           [0. , 1. ]], dtype=float32)
    """
    return _forward(lib.weft_softmax, x, axis, scale, masked, out)


def log_softmax(x: Array, axis: SupportsIndex = -1, *, scale: float = 1.0, masked: bool = False,
                out: Array = None) -> Array:
    """log(softmax(scale x)) along one axis; operands and errors are those of softmax().

    >>> weft.log_softmax(np.zeros((1, 4), np.float32)).round(4)
    array([[-1.3863, -1.3863, -1.3863, -1.3863]], dtype=float32)
    """
    return _forward(lib.weft_log_softmax, x, axis, scale, masked, out)


def _backward(function: Any, y: Array, dy: Array, axis: SupportsIndex, scale: float,
              out: Array) -> Array:
    call = Call(y, dy, out)
    y, dy = call.operand(y), call.operand(dy)
    axis = axis_of(axis, len(y.shape))
    Y, dY, dX = call.input(y), call.input(dy), call.output(out, y.shape, y.dtype)
    params = _pool.take()
    params.struct.masked = False
    return call.run(function, _pool, params, number_of(scale, "scale"), Y, dY, axis, dX)


def softmax_backward(y: Array, dy: Array, axis: SupportsIndex = -1, *, scale: float = 1.0,
                     out: Array = None) -> Array:
    """The gradient by x: scale y (dy - sum(y dy)), from y = softmax(x) and the gradient dy by y.

    y, dy  one shape and data type; f32, f64, f16 or bf16
    out    the same; it may be y or dy itself

    Returns an array of y's kind. Raises as softmax().

    >>> y = weft.softmax(np.zeros((1, 2), np.float32))
    >>> weft.softmax_backward(y, np.array([[1, 0]], np.float32))
    array([[ 0.25, -0.25]], dtype=float32)
    """
    return _backward(lib.weft_softmax_backward, y, dy, axis, scale, out)


def log_softmax_backward(y: Array, dy: Array, axis: SupportsIndex = -1, *, scale: float = 1.0,
                         out: Array = None) -> Array:
    """The gradient by x: scale (dy - exp(y) sum(dy)), from y = log_softmax(x) and the gradient dy
    by y; else as softmax_backward().

    >>> y = weft.log_softmax(np.zeros((1, 2), np.float32))
    >>> weft.log_softmax_backward(y, np.array([[1, 0]], np.float32))
    array([[ 0.5, -0.5]], dtype=float32)
    """
    return _backward(lib.weft_log_softmax_backward, y, dy, axis, scale, out)
