# SPDX-License-Identifier: Apache-2.0
"""Reductions, against NumPy's."""
import numpy as np
import pytest
from conftest import to_device, views
from hypothesis import given, strategies

import weft


@given(views(), strategies.data())
def test_sum(queue, x, data):
    """Sums of small whole numbers are exact, of all axes and of some."""
    axis = data.draw(strategies.none() | strategies.sets(
        strategies.integers(0, x.ndim - 1)).map(tuple)) if x.ndim else None
    keepdims = data.draw(strategies.booleans())
    expected = x.sum(axis, keepdims=keepdims)
    y = weft.sum(x, axis, keepdims=keepdims)
    assert type(y) is type(expected) and y.dtype == expected.dtype and y.shape == expected.shape
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(weft.sum(to_device(queue, x), axis, keepdims=keepdims).get(),
                                  expected)


@pytest.mark.parametrize("dtype", [np.int32, np.bool_], ids=str)
def test_sum_of_whole_numbers(dtype):
    x = np.arange(40).reshape(5, 8).astype(dtype)
    y = weft.sum(x, axis=1)
    assert y.dtype == np.int64
    np.testing.assert_array_equal(y, x.sum(1))


def test_dtype_and_out():
    x = np.full((2, 4096), 0.1, np.float16)
    y = weft.sum(x, axis=-1, dtype=np.float32)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, x.astype(np.float64).sum(-1), rtol=1e-6)
    out = np.zeros(2, np.float32)
    assert weft.sum(x, axis=1, out=out) is out
    np.testing.assert_array_equal(out, y)


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    for error, call in [(ValueError, lambda: weft.sum(x, axis=(0, -2))),
                        (ValueError, lambda: weft.sum(x, axis=2)),
                        (TypeError, lambda: weft.sum(x, dtype=np.int32)),
                        (ValueError, lambda: weft.sum(x, axis=0, out=np.zeros(2, np.float32)))]:
        with pytest.raises(error):
            call()
