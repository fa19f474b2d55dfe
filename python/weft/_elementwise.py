# SPDX-License-Identifier: Apache-2.0
"""Formulas, element by element."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft._arrays import Array, array_of, new_tensor
from weft._binding import NULL, ParamsPool, fail
from weft._call import Call
from weft._dtypes import FLOAT32, FLOAT64, FLOATS, DType, code_of, dtype_of
from weft._formula import MOST_OUTPUTS, FormulaParams, has_real_value, parted, refuse_unused
from weft._values import broadcast, shown
from weft._weft import ffi, lib

INT32: DType = np.dtype(np.int32)
INT64: DType = np.dtype(np.int64)
BOOL: DType = np.dtype(np.bool_)
MOST_KINDS = 1024

_pool: ParamsPool[FormulaParams] = ParamsPool("weft_elementwise_params", FormulaParams)
_new_dtypes: dict[tuple[Any, ...], DType] = {}


def _result_dtype(dtypes: tuple[DType, ...], computed: DType) -> DType:
    """Halves stay what they are, alone; so do whole numbers, if they are computed as such."""
    kinds = set(dtypes)
    if computed in (FLOAT32, FLOAT64):
        only = kinds & FLOATS
        return only.pop() if len(only) == 1 and kinds <= FLOATS else computed
    return kinds.pop() if len(kinds) == 1 and kinds != {BOOL} else computed


def elementwise(formula: str | tuple[str, ...], /, *, out: Any = None,
                dtype: npt.DTypeLike | None = None, **operands: Any) -> Any:
    """A formula, or several of one shape, element by element.

    formula   an expression of OpenCL C: operators, ?:, and functions as exp(), max(), where(); see
              <weft/elementwise.h>. The name of a function alone is its call with all arrays
    operands  by the names they have in it: up to 8 arrays of f32, f64, f16, bf16, i32, i64, u8 or
              bool, which broadcast by NumPy's rule, and up to 16 numbers. A call with other numbers
              runs the same program. Integers beside whole ones alone are to be exact in float64,
              as up to 2**53: ValueError. None can be called out or dtype
    dtype     of results. None: that of all arrays, if they have one; else that of the arithmetic
    out       an array, or a tuple with one (or None) for each formula; it may be an operand

    Arithmetic is in float64 if an array is; else in float32 if one is float16, bfloat16 or float32,
    or a number or the formula is real; else in int64 or int32. (NumPy computes real functions of
    whole numbers in float64.) Comparisons give 1 and 0; whole numbers wrap, and division by 0 is 0.
    Of bool results True is what is not 0.

    Returns an array of the first array's kind, or a tuple of arrays. Raises ValueError (a formula,
    with the column; shapes), TypeError (data types), DeviceError.

    >>> x, y = np.array([1, 2], np.float32), np.array([[-1], [1]], np.float32)
    >>> weft.elementwise("alpha * x + max(y, 0)", x=x, y=y, alpha=0.5)
    array([[0.5, 1. ],
           [1.5, 2. ]], dtype=float32)
    """
    formulas = formula if isinstance(formula, tuple) else (formula,)
    for text in formulas:
        if not isinstance(text, str):
            raise TypeError(f"formula is {shown(formula)}: a str or a tuple of them is wanted")
    if len(formulas) > MOST_OUTPUTS or not formulas:
        raise ValueError(f"there are {len(formulas)} formulas: 1 to {MOST_OUTPUTS} are wanted")
    outs = _outs_of(out, len(formulas))
    given, values = parted(operands)
    refuse_unused(formulas, given, values)
    call = Call(*given.values(), *outs)
    arrays = {name: call.operand(x) for name, x in given.items()}
    shape = broadcast(*[tuple(x.shape) for x in arrays.values()],
                      *[tuple(array_of(y).shape) for y in outs if y is not None])
    dtypes = tuple([x.dtype for x in arrays.values()])
    inputs = {name: call.input(x) for name, x in arrays.items()}
    wanted = None if dtype is None else dtype_of(dtype)
    is_real = has_real_value(values)
    has_floats = not FLOATS.isdisjoint(dtypes)
    new = wanted
    if new is None and any(y is None for y in outs):
        new = _new_dtype(call, formulas, shape, inputs, dtypes, values)
    tensors = [call.output(y, shape, new if y is None else wanted) for y in outs]
    params = _pool.take()
    n_inputs = params.fill(inputs, values, is_real or has_floats)
    # A real number beside whole ones alone makes the arithmetic real, as NumPy has it.
    params.struct.arithmetic = lib.WEFT_F32 if is_real and not has_floats else lib.WEFT_DEFAULT
    params.fill_outputs([_boolean(text, arrays, operands) if _is_bool(y, new) else text
                         for text, y in zip(formulas, outs)], tensors)
    return call.run(lib.weft_elementwise, _pool, params, n_inputs, params.inputs, len(formulas),
                    params.outputs)


def _outs_of(out: Any, n_formulas: int) -> tuple[Array, ...]:
    if out is None:
        return (None,) * n_formulas
    outs = out if isinstance(out, tuple) else (out,)
    if len(outs) != n_formulas:
        raise ValueError(f"out has {len(outs)} arrays for {n_formulas} formulas")
    return outs


def _new_dtype(call: Call, formulas: tuple[str, ...], shape: tuple[int, ...],
               inputs: dict[str, Any], dtypes: tuple[DType, ...],
               values: dict[str, Any]) -> DType:
    """Of results that the caller says nothing of; found once for formulas and data types."""
    key = (formulas, dtypes, has_real_value(values))
    found = _new_dtypes.get(key)
    if found is None:
        computed = _arithmetic(call, formulas, shape, inputs, dtypes, values)
        if len(_new_dtypes) >= MOST_KINDS:
            _new_dtypes.clear()
        found = _new_dtypes[key] = _result_dtype(dtypes, computed)
    return found


def _arithmetic(call: Call, formulas: tuple[str, ...], shape: tuple[int, ...],
                inputs: dict[str, Any], dtypes: tuple[DType, ...],
                values: dict[str, Any]) -> DType:
    """What the library computes in. Of whole numbers it is asked."""
    floats = FLOATS.intersection(dtypes)
    if floats:
        return FLOAT64 if FLOAT64 in floats else FLOAT32
    return FLOAT32 if has_real_value(values) else _probed(call, formulas, shape, inputs, dtypes,
                                                          values)


def _is_bool(y: Array, new: DType | None) -> bool:
    return bool((new if y is None else array_of(y).dtype) == BOOL)


def _boolean(formula: str, arrays: dict[str, Array], operands: dict[str, Array]) -> str:
    """With no result but 0 and 1, of which memory of bools consists."""
    text = formula.strip()
    if text.isidentifier() and text not in operands:
        text = f"{text}({', '.join(arrays)})"
    return f"({text}) != 0"


def _probed(call: Call, formulas: tuple[str, ...], shape: tuple[int, ...],
            inputs: dict[str, Any], dtypes: tuple[DType, ...], values: dict[str, Any]) -> DType:
    """The first type of whole numbers in which the library accepts the formulas, else float32."""
    for dtype in (INT64,) if INT64 in dtypes else (INT32, INT64):
        strides = np.empty(shape, dtype).strides
        output = new_tensor(shape, strides, _result_dtype(dtypes, dtype))
        params = _pool.take()
        n_inputs = params.fill(inputs, values, False)
        params.fill_outputs(formulas, [output] * len(formulas))
        params.struct.arithmetic = code_of(dtype)
        params.struct.n_wait, params.struct.wait, event = 0, NULL, params.struct.event
        params.struct.event = NULL
        plan = ffi.new("weft_elementwise_plan **")
        status = lib.weft_elementwise_plan_create(plan, call.place.ctx, n_inputs, params.inputs,
                                                  len(formulas), params.outputs, params.struct)
        lib.weft_elementwise_plan_destroy(plan)
        params.struct.event = event
        _pool.give_back(params)
        if status == lib.WEFT_OK:
            return dtype
        if status not in (lib.WEFT_BAD_ARGUMENT, lib.WEFT_BAD_DTYPE):
            fail(status)
    return FLOAT32
