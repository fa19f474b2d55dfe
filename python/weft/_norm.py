# SPDX-License-Identifier: Apache-2.0
"""Layer and RMS normalisation along the last axes, and their gradients."""
from __future__ import annotations

from typing import Any

from weft._arrays import MAX_NDIM, Array
from weft._binding import NULL, Params, ParamsPool
from weft._call import Call
from weft._values import number_of, whole_of
from weft._weft import lib

_pool = ParamsPool("weft_norm_params", Params)
_backward_pool = ParamsPool("weft_norm_backward_params", Params)


def _optional(call: Call, x: Array) -> Any:
    return NULL if x is None else call.input(call.operand(x))


def _forward(function: Any, x: Array, weight: Array, bias: Array, n_axes: int, epsilon: float,
             out: Array) -> Array:
    n_axes = whole_of(n_axes, "n_axes", 1, MAX_NDIM)
    call = Call(x, weight, bias, out)
    x = call.operand(x)
    X, w, b = call.input(x), _optional(call, weight), _optional(call, bias)
    Y = call.output(out, x.shape, x.dtype)
    params = _pool.take()
    params.struct.weight, params.struct.bias = w, b
    return call.run(function, _pool, params, number_of(epsilon, "epsilon"), X, n_axes, Y)


def layer_norm(x: Array, weight: Array = None, bias: Array = None, *, n_axes: int = 1,
               epsilon: float = 1e-5, out: Array = None) -> Array:
    """(x - mean) / sqrt(var + epsilon) weight + bias, with the mean and the variance of the
    elements along the last n_axes axes.

    x             1 to 8 dimensions; f32, f64, f16 or bf16 (computed in f32; f64 for f64)
    weight, bias  the shape of these axes and x's data type; None: 1 and 0
    out           x's shape and data type; it may be x itself

    Returns an array of x's kind, shape and data type. Raises ValueError (shapes, n_axes, a negative
    epsilon), TypeError (data types), DeviceError.

    >>> weft.layer_norm(np.array([[1, 3], [5, 5]], np.float32), epsilon=1)
    array([[-0.70710677,  0.70710677],
           [ 0.        ,  0.        ]], dtype=float32)
    """
    return _forward(lib.weft_layer_norm, x, weight, bias, n_axes, epsilon, out)


def rms_norm(x: Array, weight: Array = None, bias: Array = None, *, n_axes: int = 1,
             epsilon: float = 1e-5, out: Array = None) -> Array:
    """x / sqrt(mean of x^2 + epsilon) weight + bias; else as layer_norm().

    >>> weft.rms_norm(np.array([[1, 7]], np.float32), epsilon=0)
    array([[0.2, 1.4]], dtype=float32)
    """
    return _forward(lib.weft_rms_norm, x, weight, bias, n_axes, epsilon, out)


def _backward(function: Any, x: Array, dy: Array, weight: Array, n_axes: int, epsilon: float,
              weight_gradient: bool, bias_gradient: bool, out: Array) -> Any:
    n_axes = whole_of(n_axes, "n_axes", 1, MAX_NDIM)
    call = Call(x, dy, weight, out)
    x, dy = call.operand(x), call.operand(dy)
    X, dY, w = call.input(x), call.input(dy), _optional(call, weight)
    dX = call.output(out, x.shape, x.dtype)
    row = x.shape[len(x.shape) - n_axes:] if n_axes <= len(x.shape) else ()
    dW = call.output(None, row, x.dtype) if weight_gradient else NULL
    db = call.output(None, row, x.dtype) if bias_gradient else NULL
    params = _backward_pool.take()
    params.struct.weight, params.struct.dW, params.struct.db = w, dW, db
    results = call.run(function, _backward_pool, params, number_of(epsilon, "epsilon"), X, n_axes,
                       dY, dX)
    if not (weight_gradient or bias_gradient):
        return results
    rest = list(results[1:])
    return (results[0], rest.pop(0) if weight_gradient else None,
            rest.pop(0) if bias_gradient else None)


def layer_norm_backward(x: Array, dy: Array, weight: Array = None, *, n_axes: int = 1,
                        epsilon: float = 1e-5, weight_gradient: bool = False,
                        bias_gradient: bool = False, out: Array = None) -> Any:
    """The gradients by x, weight and bias, from x and the gradient dy by layer_norm()'s result. No
    result of the forward pass is needed.

    dy   x's shape and data type
    out  for the gradient by x; without the others it may be x or dy itself

    Returns dx, or if another gradient is asked for (dx, dweight, dbias), with None in the place of
    the one that is not. Operands and errors are those of layer_norm().

    >>> x, dy = np.array([[1, 3, 2]], np.float32), np.array([[1, 0, 0]], np.float32)
    >>> dx, dweight, dbias = weft.layer_norm_backward(x, dy, bias_gradient=True)
    >>> dx.shape, dweight, dbias
    ((1, 3), None, array([1., 0., 0.], dtype=float32))
    """
    return _backward(lib.weft_layer_norm_backward, x, dy, weight, n_axes, epsilon, weight_gradient,
                     bias_gradient, out)


def rms_norm_backward(x: Array, dy: Array, weight: Array = None, *, n_axes: int = 1,
                      epsilon: float = 1e-5, weight_gradient: bool = False,
                      bias_gradient: bool = False, out: Array = None) -> Any:
    """The same of rms_norm().

    >>> x, dy = np.array([[1, 7]], np.float32), np.array([[0, 0]], np.float32)
    >>> weft.rms_norm_backward(x, dy)
    array([[0., 0.]], dtype=float32)
    """
    return _backward(lib.weft_rms_norm_backward, x, dy, weight, n_axes, epsilon, weight_gradient,
                     bias_gradient, out)
