# SPDX-License-Identifier: Apache-2.0
"""Softmax and log-softmax, and their gradients."""
import numpy as np
import pytest
from test_arrays import close, softmax_of

import weft
from weft import _dtypes

X = (np.arange(60).reshape(4, 15) * 7 % 13).astype(np.float32)


@pytest.mark.parametrize("dtype", sorted(_dtypes.FLOATS, key=str), ids=str)
def test_dtypes(dtype):
    if dtype.itemsize == 8 and not weft._devices.host_place().context.has_f64:
        with pytest.raises(weft.DeviceError):
            weft.softmax(X.astype(dtype))
        return
    y = weft.softmax(X.astype(dtype))
    assert y.dtype == dtype
    np.testing.assert_allclose(y.astype(np.float64), softmax_of(X),
                               rtol={_dtypes.BFLOAT16: 2.0**-8}.get(dtype, 2.0**-10),
                               atol=2.0**-24)  # the least of f16


def test_log():
    close(weft.log_softmax(X), np.log(softmax_of(X)))


def test_scale():
    close(weft.softmax(X, 0, scale=0.5), softmax_of(0.5 * X, 0))


def test_masked():
    x = np.array([[-np.inf] * 3, [0] * 3], np.float32)
    assert np.isnan(weft.softmax(x)[0]).all()
    np.testing.assert_array_equal(weft.softmax(x, masked=True)[0], 0)
    np.testing.assert_array_equal(weft.log_softmax(x, masked=True)[0], -np.inf)


@pytest.mark.parametrize("is_log", [False, True])
def test_gradient(is_log):
    """Against differences of the forward pass in f64."""
    x, dy = X[:2, :5].astype(np.float64), np.sin(np.arange(10)).reshape(2, 5)
    forward = (lambda x: np.log(softmax_of(x))) if is_log else softmax_of
    expected, h = np.zeros_like(x), 1e-6
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        expected[i] = (dy * (forward(x + step) - forward(x - step))).sum() / (2 * h)
    y = forward(x).astype(np.float32)
    backward = weft.log_softmax_backward if is_log else weft.softmax_backward
    dx = backward(y, dy.astype(np.float32))
    np.testing.assert_allclose(dx, expected, rtol=1e-5, atol=1e-6)


def test_refusals():
    for error, match, call in [
            (ValueError, "axis 2 is out of bounds", lambda: weft.softmax(X, 2)),
            (TypeError, r"axis is \(0, 1\)", lambda: weft.softmax(X, (0, 1))),
            (TypeError, "axis is None", lambda: weft.log_softmax(X, None)),
            (ValueError, "scale is inf", lambda: weft.softmax(X, scale=np.inf)),
            (TypeError, "i32", lambda: weft.softmax(X.astype(np.int32))),
            (TypeError, "uint16", lambda: weft.softmax(X.astype(np.uint16))),
            (TypeError, "axis is 1.5", lambda: weft.softmax(X, 1.5)),
            (ValueError, r"out is \[4 x 14\], the result \[4 x 15\]",
             lambda: weft.softmax(X, out=X[:, 1:])),
            (TypeError, "out is of float64",
             lambda: weft.softmax(X, out=X.astype(np.float64)))]:
        with pytest.raises(error, match=match):
            call()
