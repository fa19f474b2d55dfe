# SPDX-License-Identifier: Apache-2.0
"""Products of dense matrices."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft._arrays import Array, shapes_text, with_axes
from weft._binding import NULL, ParamsPool
from weft._call import Call
from weft._dtypes import DType, dtype_of
from weft._formula import FormulaParams, chars, parted, refuse_unused
from weft._values import broadcast, number_of
from weft._weft import lib

INT8: DType = np.dtype(np.int8)
INT32: DType = np.dtype(np.int32)

_pool: ParamsPool[FormulaParams] = ParamsPool("weft_matmul_params", FormulaParams)


def _product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Of matrices, or batches of them."""
    if a[-1] != b[-2]:
        raise ValueError(f"matmul: a and b are {shapes_text([a, b])}")
    return (*broadcast(a[:-2], b[:-2]), a[-2], b[-1])


def matmul(a: Array, b: Array, /, *, alpha: float = 1, beta: float = 0, epilogue: str | None = None,
           dtype: npt.DTypeLike | None = None, out: Array = None, **operands: Any) -> Array:
    """f(alpha a @ b + beta out), as numpy.matmul() but for f, alpha and beta.

    a, b      [... x m x k] and [... x k x n], any strides, one data type: f32, f64, f16, bf16 or
              i8. Batches broadcast by NumPy's rule. A vector is a matrix of one row (a) or one
              column (b), and the result has not that dimension. (NumPy also takes two data types,
              and other whole numbers.)
    epilogue  f: a formula, as of elementwise(), of the number c and of `operands`; None: c itself
    operands  up to 4 arrays, which broadcast to the result, and numbers, by their names in f
    dtype     of the result: a's, or another of f32, f16 and bf16; int32 of i8. None: a's or int32
    out       of the result's shape; read if beta is not 0. It must not be a or b

    Sums are in float32 (float64 for f64; int32, which wraps, for i8). Returns an array of a's kind.
    Raises ValueError (shapes, a formula), TypeError (data types), DeviceError.

    >>> a = np.array([[1, 2], [3, 4]], np.float32)
    >>> weft.matmul(a, a)
    array([[ 7., 10.],
           [15., 22.]], dtype=float32)
    >>> weft.matmul(a, a, epilogue="max(c + bias, 0)", bias=np.array([-8, -30], np.float32))
    array([[0., 0.],
           [7., 0.]], dtype=float32)
    """
    alpha, beta = number_of(alpha, "alpha"), number_of(beta, "beta")
    given, values = parted(operands)
    if epilogue is not None:
        chars(epilogue)
        refuse_unused((epilogue,), given, values, "c")
    elif operands:
        raise ValueError(f"matmul: {', '.join(operands)}, and there is no epilogue")
    call = Call(a, b, out, *given.values())
    a, b = call.operand(a), call.operand(b)
    if not a.shape or not b.shape:
        raise ValueError("matmul: an operand is a number, not an array")
    rows, columns = len(a.shape) == 1, len(b.shape) == 1
    a, b = with_axes(a, 0) if rows else a, with_axes(b, 1) if columns else b
    shape = _product_shape(tuple(a.shape), tuple(b.shape))
    ndim = len(shape)
    axes = (ndim - 2,) * rows + (ndim - 1,) * columns
    result = tuple(extent for i, extent in enumerate(shape) if i not in axes)
    if beta and out is None:
        raise ValueError("matmul: beta is not 0, and there is no out")
    inputs = {name: call.input(call.operand(x)) for name, x in given.items()}
    A, B = call.input(a), call.input(b)
    new = INT32 if a.dtype == INT8 else a.dtype
    wanted = dtype_of(dtype) if dtype is not None else new if out is None else None
    C = call.output(out, result, wanted, axes)
    params = _pool.take()
    struct = params.struct
    struct.n_inputs = params.fill(inputs, values, a.dtype != INT8)
    struct.inputs = params.inputs if inputs else NULL
    text = NULL if epilogue is None else chars(epilogue)  # which stays until the call returns
    struct.epilogue = text
    y = call.run(lib.weft_matmul, _pool, params, alpha, A, B, beta, C)
    return y[()] if out is None and type(y) is np.ndarray and y.ndim == 0 else y
