# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch in the host's memory, where it is installed."""
import numpy as np
import pytest
from test_arrays import close, softmax_of

import weft

torch = pytest.importorskip("torch")
X = (np.arange(60).reshape(4, 15) * 7 % 13).astype(np.float32)


def test_results_are_tensors():
    x = torch.from_numpy(X.copy())
    y = weft.softmax(x)
    assert isinstance(y, torch.Tensor) and y.dtype == torch.float32
    close(y.numpy(), softmax_of(X))
    assert weft.softmax(x.T, out=x.T).data_ptr() == x.data_ptr()
    assert isinstance(weft.sum(x), torch.Tensor)


def test_bfloat16():
    pytest.importorskip("ml_dtypes")
    y = weft.softmax(torch.from_numpy(X).bfloat16())
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y, torch.softmax(torch.from_numpy(X).bfloat16(), -1))


def test_refusals():
    with pytest.raises(TypeError, match="gradient"):
        weft.softmax(torch.zeros(3, requires_grad=True))
    with pytest.raises(TypeError, match="meta"):
        weft.softmax(torch.zeros(3, device="meta"))
