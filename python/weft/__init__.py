# SPDX-License-Identifier: Apache-2.0
"""Tensor operations of deep learning, sparse ones first, on any OpenCL device.

Operands are NumPy's arrays, PyOpenCL's arrays, or arrays of other libraries in the host's memory
(`__dlpack__`, `__array_interface__`); results are what operands were. PyOpenCL's arrays stay where
they are. Those in the host's memory go to the device that $WEFT_DEVICE names, else to any: see
devices().
"""
from weft._binding import DeviceError, text_of as _text_of
from weft._csc import csc
from weft._devices import Device, devices
from weft._elementwise import elementwise
from weft._explain import explain
from weft._matmul import matmul
from weft._norm import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from weft._recording import Recording
from weft._reduce import (all, any, argmax, argmin, logsumexp, max, mean, min, norm, prod, std, sum,
                          var)
from weft._softmax import log_softmax, log_softmax_backward, softmax, softmax_backward
from weft._sparse import csr
from weft._sparse_ops import (sddmm, sparse_attention, sparse_attention_backward, sparse_linear,
                              sparse_linear_dw, sparse_linear_dx, sparse_softmax,
                              sparse_softmax_backward, spgemm, spgemm_dense)
from weft._spmm import SpmmPlan, spmm
from weft._weft import lib as _lib

__version__: str = _text_of(_lib.weft_version())

__all__ = [
    "Device",
    "DeviceError",
    "Recording",
    "SpmmPlan",
    "all",
    "any",
    "argmax",
    "argmin",
    "csc",
    "csr",
    "devices",
    "elementwise",
    "explain",
    "layer_norm",
    "layer_norm_backward",
    "log_softmax",
    "log_softmax_backward",
    "logsumexp",
    "matmul",
    "max",
    "mean",
    "min",
    "norm",
    "prod",
    "rms_norm",
    "rms_norm_backward",
    "sddmm",
    "softmax",
    "softmax_backward",
    "sparse_attention",
    "sparse_attention_backward",
    "sparse_linear",
    "sparse_linear_dw",
    "sparse_linear_dx",
    "sparse_softmax",
    "sparse_softmax_backward",
    "spgemm",
    "spgemm_dense",
    "spmm",
    "std",
    "sum",
    "var",
]
