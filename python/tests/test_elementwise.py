# SPDX-License-Identifier: Apache-2.0
"""Formulas, of small whole numbers, whose results are exact."""
import numpy as np
import pytest
from conftest import to_device, views
from hypothesis import given, strategies
from test_arrays import Other

import weft

X = ((np.arange(35).reshape(5, 7) * 3) % 11 - 5).astype(np.float32)


@given(views(), strategies.data())
def test_views(queue, x, data):
    """Broadcast with a part of it, along some axes."""
    axes = [data.draw(strategies.booleans()) for _ in x.shape]
    y = x[tuple(slice(0, 1) if reduced else slice(None) for reduced in axes)]
    expected = 2 * x + np.maximum(y, 0)
    formula = "alpha * x + max(y, 0)"
    result = weft.elementwise(formula, x=x, y=y, alpha=2)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, expected)
    a = weft.elementwise(formula, x=to_device(queue, x), y=to_device(queue, y), alpha=2)
    np.testing.assert_array_equal(a.get(), expected)


@pytest.mark.parametrize("formula, dtypes, values, expected", [
    ("x + y", "ff", {}, "f"), ("x + y", "ee", {}, "e"), ("x + y", "ef", {}, "f"),
    ("x + y", "ei", {}, "f"), ("x + y", "ii", {}, "i"), ("x + y", "BB", {}, "B"),
    ("x + y", "il", {}, "l"), ("sqrt(x) + y", "ii", {}, "f"), ("x + k * y", "ii", {"k": 2}, "i"),
    ("x + k * y", "ii", {"k": 2.0}, "f"), ("x + 0.5 * y", "ii", {}, "f"),
    ("x + y", "??", {}, "i"),
], ids=str)
def test_dtypes(formula, dtypes, values, expected):
    x, y = (np.array([1, 4, 9]).astype(kind) for kind in dtypes)
    result = weft.elementwise(formula, x=x, y=y, **values)
    assert result.dtype == np.dtype(expected)
    names = {"x": x.astype(np.float64), "y": y.astype(np.float64), "sqrt": np.sqrt, **values}
    np.testing.assert_allclose(result, eval(formula, names), rtol=1e-3)


def test_outputs():
    x = X.copy()
    y, z = weft.elementwise(("x + 1", "x * 2"), x=x, out=(x, None))
    assert y is x
    np.testing.assert_array_equal(y, X + 1)
    np.testing.assert_array_equal(z, X * 2)
    whole = np.empty((5, 7), np.int32)
    weft.elementwise("x < 0", x=X, out=whole)
    np.testing.assert_array_equal(whole, X < 0)
    np.testing.assert_array_equal(weft.elementwise("x < 0", x=X, dtype=bool), X < 0)
    for formula in ("x", "3 * x", "copy"):
        bools = np.empty((5, 7), bool)
        weft.elementwise(formula, x=X, out=bools)
        np.testing.assert_array_equal(bools.view(np.uint8), (X != 0).view(np.uint8))
    other = Other(np.empty((5, 7), np.float32))
    assert weft.elementwise("x + 1", x=X, out=other) is other
    np.testing.assert_array_equal(other.array, X + 1)
    filled = np.empty((3, 4), np.float32)
    weft.elementwise("value", value=7, out=filled)
    np.testing.assert_array_equal(filled, np.full((3, 4), 7))


def test_operands_of_functions():
    """One whose name is a formula has all arrays."""
    np.testing.assert_array_equal(weft.elementwise(" add ", x=X, y=X), 2 * X)
    for y, expected in zip(weft.elementwise(("max", "k + 1"), x=X, y=-X, k=1),
                           (abs(X), np.full_like(X, 2))):
        np.testing.assert_array_equal(y, expected)


def test_refusals():
    for error, match, call in [
            (ValueError, "column", lambda: weft.elementwise("x +", x=X)),
            (ValueError, "y", lambda: weft.elementwise("x + y", x=X)),
            (ValueError, r"\[5 x 3\], \[5 x 7\]", lambda: weft.elementwise("x+y", x=X[:, :3], y=X)),
            (ValueError, "float", lambda: weft.elementwise("float", **{"float": X})),
            (ValueError, "9 arrays",
             lambda: weft.elementwise("a+b+c+d+e+f+g+h+i", **dict.fromkeys("abcdefghi", X))),
            (ValueError, "0 formulas", lambda: weft.elementwise((), x=X)),
            (ValueError, "out has 1", lambda: weft.elementwise(("x", "x"), x=X, out=X)),
            (ValueError, "code 0", lambda: weft.elementwise("x\0", x=X)),
            (ValueError, "no formula has the operand z: 'x [+] 1'",
             lambda: weft.elementwise("x + 1", x=X, z=X)),
            (ValueError, "the operand k: 'x', '1.0e1f'",
             lambda: weft.elementwise(("x", "1.0e1f"), x=X, k=3)),
            (ValueError, "the operand k: ' gelu'", lambda: weft.elementwise(" gelu", x=X, k=3)),
            (ValueError, "the operand e1f", lambda: weft.elementwise("x + 1.e1f", x=X, e1f=3)),
            (TypeError, "formula is 3: a str or", lambda: weft.elementwise(3, x=X)),
            (TypeError, "complex", lambda: weft.elementwise("x", x=X.astype(np.complex64)))]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize("kind", [int, np.int64])
def test_whole_numbers_are_exact(kind):
    """They pass through float64: what it does not hold is refused where arithmetic is whole."""
    x, large = np.array([1], np.int64), kind(2**53 + 1)
    np.testing.assert_array_equal(weft.elementwise("x + k", x=x, k=kind(2**53)), 2**53 + 1)
    np.testing.assert_array_equal(weft.elementwise("x + k", x=x, k=np.array(large)), 2**53 + 2)
    for call in (lambda: weft.elementwise("x + k", x=x, k=large),
                 lambda: weft.elementwise("k", k=large, out=x),
                 lambda: weft.matmul(np.ones((2, 2), np.int8), np.ones((2, 2), np.int8),
                                     epilogue="c + k", k=large)):
        with pytest.raises(ValueError, match="k is .*9007199254740993.*which no float64 is"):
            call()
    assert weft.elementwise("x + k", x=x.astype(np.float32), k=large) == np.float32(2**53)
    assert weft.elementwise("x + k + j", x=x, k=large, j=0.5) == np.float32(2**53)
