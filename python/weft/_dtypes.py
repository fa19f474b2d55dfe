# SPDX-License-Identifier: Apache-2.0
"""Data types: NumPy's, and ml_dtypes' bfloat16, as the library's."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft._weft import lib

DType = Any  # np.dtype of anything

CODES: dict[DType, int] = {
    np.dtype(np.float32): lib.WEFT_F32,
    np.dtype(np.float64): lib.WEFT_F64,
    np.dtype(np.float16): lib.WEFT_F16,
    np.dtype(np.int16): lib.WEFT_I16,
    np.dtype(np.int32): lib.WEFT_I32,
    np.dtype(np.int64): lib.WEFT_I64,
    np.dtype(np.uint8): lib.WEFT_U8,
    np.dtype(np.int8): lib.WEFT_I8,
    np.dtype(np.bool_): lib.WEFT_U8,  # 0 and 1
}

BFLOAT16: DType | None = None
try:
    import ml_dtypes

    BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
    CODES[BFLOAT16] = lib.WEFT_BF16
except ImportError:
    pass

HALVES = {np.dtype(np.float16), BFLOAT16} - {None}
FLOATS = {np.dtype(np.float32), np.dtype(np.float64)} | HALVES
FLOAT32: DType = np.dtype(np.float32)
FLOAT64: DType = np.dtype(np.float64)


def dtype_of(dtype: npt.DTypeLike) -> DType:
    """As numpy.dtype(), and "bfloat16" if ml_dtypes is there."""
    if isinstance(dtype, str) and dtype == "bfloat16" and BFLOAT16 is not None:
        return BFLOAT16
    return np.dtype(dtype)


def code_of(dtype: DType) -> int:
    try:
        return CODES[dtype]
    except KeyError:
        names = ", ".join(map(str, CODES))
        raise TypeError(f"{dtype} is no data type of weft's, which are {names}") from None
