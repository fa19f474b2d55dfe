# SPDX-License-Identifier: Apache-2.0
"""Layer and RMS normalisation, and their gradients."""
import numpy as np
import pytest
from conftest import to_device

import weft

X = ((np.arange(72).reshape(6, 3, 4) * 7) % 17 - 5).astype(np.float32)
W = (np.arange(4) + 1).astype(np.float32)
B = np.array([0, 1, -1, 2], np.float32)
KINDS = ["layer", "rms"]


def expected_of(kind, x, w, b, axes=(-1,)):
    x = np.asarray(x, np.float64)
    mean = x.mean(axes, keepdims=True) if kind == "layer" else 0
    xh = (x - mean) / np.sqrt(((x - mean)**2).mean(axes, keepdims=True) + 1e-5)
    return xh * w + b


@pytest.mark.parametrize("kind", KINDS)
def test_forward(queue, kind):
    function = getattr(weft, f"{kind}_norm")
    expected = expected_of(kind, X, W, B)
    np.testing.assert_allclose(function(X, W, B), expected, rtol=1e-5, atol=1e-6)
    y = function(to_device(queue, X), W, to_device(queue, B))
    np.testing.assert_allclose(y.get(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(function(X, n_axes=2), expected_of(kind, X, 1, 0, (-1, -2)),
                               rtol=1e-5, atol=1e-6)
    x = X.copy()
    assert function(x, W, B, out=x) is x
    np.testing.assert_allclose(x, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradient(kind):
    """Against differences of the forward pass in f64."""
    dy, h = np.sin(np.arange(72)).reshape(X.shape).astype(np.float32), 1e-6

    def differences(of, at):
        result = np.zeros(at.shape)
        for i in np.ndindex(at.shape):
            step = np.zeros(at.shape)
            step[i] = h
            result[i] = (dy * (of(at + step) - of(at - step))).sum() / (2 * h)
        return result

    backward = getattr(weft, f"{kind}_norm_backward")
    dx, dw, db = backward(X, dy, W, weight_gradient=True, bias_gradient=True)
    np.testing.assert_allclose(dx, differences(lambda x: expected_of(kind, x, W, 0), X),
                               rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dw, differences(lambda w: expected_of(kind, X, w, 0), W),
                               rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(db, dy.sum((0, 1)), rtol=1e-5, atol=1e-5)
    out = np.empty_like(X)
    assert backward(X, dy, W, out=out) is out
    np.testing.assert_allclose(out, dx, rtol=1e-6, atol=1e-6)
    assert backward(X, dy, weight_gradient=True)[2] is None


def test_refusals():
    for error, call in [(ValueError, lambda: weft.layer_norm(X, W[:3])),
                        (ValueError, lambda: weft.layer_norm(X, n_axes=4)),
                        (ValueError, lambda: weft.layer_norm(X, epsilon=-1)),
                        (TypeError, lambda: weft.layer_norm(X, W.astype(np.float16))),
                        (ValueError, lambda: weft.layer_norm_backward(X, X, n_axes=0,
                                                                      weight_gradient=True)),
                        (ValueError, lambda: weft.layer_norm_backward(X, X[:1]))]:
        with pytest.raises(error):
            call()
