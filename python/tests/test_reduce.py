# SPDX-License-Identifier: Apache-2.0
"""Reductions, against NumPy's."""
import numpy as np
import pytest
from conftest import to_device, views
from hypothesis import given, strategies

import weft
from weft import _values


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


X = ((np.arange(77).reshape(7, 11) * 5) % 19 - 9).astype(np.float32)
WHOLE = ["sum", "prod", "min", "max", "argmin", "argmax", "any", "all"]
ROUNDED = {"mean": np.mean, "var": np.var, "std": np.std,
           "logsumexp": lambda x, axis: np.log(np.exp(x).sum(axis)),
           "norm": lambda x, axis: np.sqrt((x * x).sum(axis))}


@pytest.mark.parametrize("dtype", [np.float32, np.int64], ids=str)
@pytest.mark.parametrize("name", WHOLE)
def test_exact(queue, name, dtype):
    """Results, and their data types, are NumPy's to the bit."""
    x = X[:3].astype(dtype)
    expected = getattr(np, name)(x, axis=1)
    y = getattr(weft, name)(x, axis=1)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y, expected)
    if dtype == np.float32:
        np.testing.assert_array_equal(getattr(weft, name)(to_device(queue, x), axis=1).get(),
                                      expected)


@pytest.mark.parametrize("dtype", [np.float32, np.int32], ids=str)
@pytest.mark.parametrize("name", ROUNDED)
def test_rounded(name, dtype):
    x = X.astype(dtype)
    y = getattr(weft, name)(x, axis=1)
    has_f64 = weft._devices.host_place().context.has_f64
    assert y.dtype == (np.float64 if dtype != np.float32 and has_f64 else np.float32)
    np.testing.assert_allclose(y, ROUNDED[name](X.astype(np.float64), axis=1), rtol=1e-6)


def test_options():
    np.testing.assert_allclose(weft.var(X, axis=1, ddof=1), X.var(1, ddof=1), rtol=1e-6)
    for ord in (1, np.inf):
        np.testing.assert_allclose(weft.norm(X, ord, axis=1), np.linalg.norm(X, ord, axis=1))
    assert weft.mean(X, axis=1, keepdims=True).shape == (7, 1)
    assert weft.argmax(X) == X.argmax() and isinstance(weft.argmax(X), np.int64)
    out = np.empty(7, np.int32)
    np.testing.assert_array_equal(weft.argmin(X, axis=1, out=out), X.argmin(1))


def test_correction():
    for name in ("var", "std"):
        function = getattr(weft, name)
        np.testing.assert_array_equal(function(X, axis=1, correction=1), function(X, 1, ddof=1))
        assert function(X, ddof=0, correction=2) == function(X, ddof=2)
        for error, keywords in [(ValueError, {"ddof": 1, "correction": 1}),
                                (TypeError, {"correction": 0.5})]:
            with pytest.raises(error, match="correction"):
                function(X, **keywords)


@pytest.mark.parametrize("call", [lambda: weft.sum(X, axis=2), lambda: weft.softmax(X, -3),
                                  lambda: weft.argmax(X, axis=(0, 2**70))])
def test_axis_errors(call):
    """NumPy's, which are both of what callers expect."""
    with pytest.raises(_values.AxisError, match="out of bounds for array of dimension 2") as found:
        call()
    assert isinstance(found.value, (IndexError, ValueError))
    assert issubclass(_values.AxisError, IndexError) and issubclass(_values.AxisError, ValueError)


def test_no_elements():
    empty = np.zeros((3, 0), np.float32)
    np.testing.assert_array_equal(weft.sum(empty, axis=1), np.zeros(3))
    assert np.isnan(weft.mean(empty))
    with pytest.raises(ValueError, match="max"):
        weft.max(empty, axis=1)
    assert weft.max(empty, axis=0).shape == (0,)


def test_refusals():
    x = np.zeros((2, 3), np.float32)
    for error, call in [(ValueError, lambda: weft.sum(x, axis=(0, -2))),
                        (ValueError, lambda: weft.sum(x, axis=2)),
                        (ValueError, lambda: weft.norm(x, 3)),
                        (TypeError, lambda: weft.var(x, ddof=0.5)),
                        (TypeError, lambda: weft.sum(x.astype(np.complex64))),
                        (TypeError, lambda: weft.sum(x, dtype=np.int32)),
                        (ValueError, lambda: weft.sum(x, axis=0, out=np.zeros(2, np.float32)))]:
        with pytest.raises(error):
            call()
