# SPDX-License-Identifier: Apache-2.0
"""Operands: PyOpenCL's arrays, and whatever is an array in the host's memory."""
from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Callable

import numpy as np

from weft._devices import Context
from weft._dtypes import BFLOAT16, DType, code_of
from weft._weft import ffi, lib

Array = Any  # what users hand over and get back
Wrap = Callable[[Any], Any]  # from NumPy's array to the operand's type

MAX_NDIM: int = lib.WEFT_MAX_NDIM
MOST_TENSORS = 4096
DLPACK_ON_HOST = (1, 3, 11)  # memory of the host, also where CUDA or ROCm pinned it

_device_type: tuple[type, ...] = ()


def is_on_device(x: object) -> bool:
    """Whether it is PyOpenCL's. Without PyOpenCL there are none, and it is not imported."""
    global _device_type
    if not _device_type:
        module = sys.modules.get("pyopencl.array")
        if module is None:
            return False
        _device_type = (module.Array,)
    return isinstance(x, _device_type)


# ---- tensors on a device

_tensors: dict[tuple[Any, ...], Any] = {}


def device_tensor(x: Array, context: Context) -> Any:
    """Its weft_tensor. It depends on nothing but the key, so that one serves all equal calls."""
    data = x.base_data
    try:
        pointer = 0 if data is None else data.int_ptr
    except AttributeError:
        raise TypeError(f"memory of type {type(data).__name__} is no buffer of OpenCL") from None
    key = (pointer, x.dtype, x.offset, x.shape, x.strides)
    tensor = _tensors.get(key)
    if tensor is None:
        tensor = _new_device_tensor(x, ffi.cast("cl_mem", pointer))
        if pointer == 0:
            tensor.buffer = context.spare_buffer()
            return tensor
        if len(_tensors) >= MOST_TENSORS:
            _tensors.clear()
        _tensors[key] = tensor
    return tensor


def _new_device_tensor(x: Array, buffer: Any) -> Any:
    tensor = new_tensor(x.shape, x.strides, x.dtype)
    if x.offset % x.dtype.itemsize:
        raise ValueError(f"an array of {x.dtype} begins at byte {x.offset} of its buffer")
    tensor.buffer = buffer
    tensor.offset = x.offset // x.dtype.itemsize
    return tensor


def with_axes(x: Array, *axes: int) -> Array:
    """A view with axes of one element at these places, which rise."""
    for axis in axes:
        x = x[(slice(None),) * axis + (None,)]
    return x


def new_tensor(shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType) -> Any:
    if len(shape) > MAX_NDIM:
        raise ValueError(f"an array has {len(shape)} dimensions: {MAX_NDIM} are the most")
    tensor = ffi.new("weft_tensor *")
    tensor.dtype = code_of(dtype)
    tensor.ndim = len(shape)
    for i, (extent, stride) in enumerate(zip(shape, strides)):
        if stride % dtype.itemsize and extent > 1:
            raise ValueError(f"a stride of {stride} bytes is no multiple of {dtype}'s")
        tensor.shape[i] = extent
        tensor.stride[i] = stride // dtype.itemsize
    return tensor


# ---- arrays in the host's memory

def address_of(x: np.ndarray[Any, Any]) -> int:
    return int(x.__array_interface__["data"][0])


def is_fit(x: np.ndarray[Any, Any]) -> bool:
    """Whether kernels can address its elements where they are."""
    size = x.dtype.itemsize
    return (x.dtype.isnative and (size == 1 or address_of(x) % size == 0) and
            all(stride % size == 0 for stride in x.strides))


def span_of(x: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The first byte of its elements, and the one past the last."""
    low = high = address_of(x)
    for extent, stride in zip(x.shape, x.strides):
        if stride < 0:
            low += (extent - 1) * stride
        else:
            high += (extent - 1) * stride
    return low, high + x.dtype.itemsize


def same_view(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    return (address_of(x) == address_of(y) and x.shape == y.shape and x.strides == y.strides and
            x.dtype == y.dtype)


def _from_torch(x: Any) -> tuple[np.ndarray[Any, Any], Wrap]:
    """bfloat16 goes as int16 of the same bits: PyTorch hands none to NumPy."""
    torch = sys.modules["torch"]
    if x.device.type != "cpu":
        raise TypeError(f"a tensor on {x.device} is not in the host's memory")
    if x.requires_grad:
        raise TypeError("a tensor that requires a gradient: detach() it")
    if x.dtype != torch.bfloat16:
        return x.numpy(), torch.from_numpy
    if BFLOAT16 is None:
        raise TypeError("bfloat16 needs the package ml_dtypes")
    return x.view(torch.int16).numpy().view(BFLOAT16), _to_torch


def _to_torch(x: np.ndarray[Any, Any]) -> Any:
    torch = sys.modules["torch"]
    if x.dtype == BFLOAT16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def _from_dlpack_of(x: Any) -> Wrap | None:
    """How the operand's library makes an array of one of NumPy's."""
    if hasattr(x, "__array_namespace__"):
        return getattr(x.__array_namespace__(), "from_dlpack", None)
    return getattr(sys.modules.get(type(x).__module__.partition(".")[0]), "from_dlpack", None)


def host_array(x: Any) -> tuple[np.ndarray[Any, Any], Wrap | None]:
    """A view of the operand, not a copy where it is an array, and what results are wrapped by."""
    if isinstance(x, np.ndarray):
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError("a masked array: kernels know no masks")
        return x, None
    if type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "requires_grad"):
        return _from_torch(x)
    if hasattr(x, "__dlpack_device__") and not isinstance(x, np.generic):
        try:
            kind = int(x.__dlpack_device__()[0])
        except (TypeError, ValueError, IndexError):
            raise TypeError(f"{type(x).__name__}.__dlpack_device__() gives no pair of integers"
                            ) from None
        if kind not in DLPACK_ON_HOST:
            raise TypeError(f"{type(x).__name__} is on a device of DLPack's kind {kind}, not in "
                            "the host's memory")
        return np.from_dlpack(x), _from_dlpack_of(x)
    array = np.asarray(x)
    if array.dtype == object and array.ndim == 0:
        raise TypeError(f"a {type(x).__name__} is no dense array")
    return array, None


def array_of(x: Any) -> Array:
    """What has its shape and dtype."""
    return x if is_on_device(x) else host_array(x)[0]


def shapes_text(shapes: Iterable[tuple[int, ...]]) -> str:
    return ", ".join("[" + " x ".join(map(str, shape)) + "]" for shape in shapes)


