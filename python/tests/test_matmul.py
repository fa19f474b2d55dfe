# SPDX-License-Identifier: Apache-2.0
"""Products of dense matrices: of small whole numbers, which are exact."""
import numpy as np
import pytest
from conftest import to_device, views
from hypothesis import given, strategies

import weft

A = ((np.arange(35).reshape(5, 7) * 3) % 11 - 5).astype(np.float32)
B = ((np.arange(63).reshape(7, 9) * 5) % 13 - 6).astype(np.float32)


@given(views(min_dims=2, max_dims=4), strategies.data())
def test_views(queue, a, data):
    b = data.draw(views(min_dims=2, max_dims=2))
    b = np.resize(b, (a.shape[-1], b.shape[-1])) if b.size else np.zeros((a.shape[-1], 3), b.dtype)
    if data.draw(strategies.booleans()):
        b = np.asfortranarray(b)
    expected = a @ b
    np.testing.assert_array_equal(weft.matmul(a, b), expected)
    np.testing.assert_array_equal(weft.matmul(to_device(queue, a), to_device(queue, b)).get(),
                                  expected)


@pytest.mark.parametrize("a, b", [((7,), (7,)), ((7,), (7, 9)), ((5, 7), (7,)), ((4, 5, 7), (7,)),
                                  ((7,), (3, 7, 9)), ((3, 1, 5, 7), (2, 7, 9))], ids=str)
def test_shapes(queue, a, b):
    """Vectors, and batches that broadcast, have NumPy's shapes."""
    a, b = np.resize(A, a), np.resize(B, b)
    expected = np.matmul(a, b)
    y = weft.matmul(a, b)
    assert np.shape(y) == expected.shape and type(y) is type(expected)
    np.testing.assert_array_equal(y, expected)
    on_device = weft.matmul(to_device(queue, a), to_device(queue, b))
    assert on_device.shape == expected.shape
    np.testing.assert_array_equal(on_device.get(), expected)


def test_out():
    out = np.ones((9, 5), np.float32).T
    assert weft.matmul(A, B, alpha=2, beta=3, out=out) is out
    np.testing.assert_array_equal(out, 2 * A @ B + 3)
    vector = np.ones(9, np.float32)[::-1]
    weft.matmul(A[0], B, beta=1, out=vector)
    np.testing.assert_array_equal(vector, A[0] @ B + 1)


def test_epilogue():
    bias, mask = np.arange(9, dtype=np.float32), np.arange(5, dtype=np.int32)[:, None] % 2
    y = weft.matmul(A, B, epilogue="where(mask, k * c + bias, 0)", bias=bias, mask=mask, k=3)
    np.testing.assert_array_equal(y, np.where(mask, 3 * (A @ B) + bias, 0))


def test_names():
    """As in NumPy the factors have none, and an operand of the epilogue may be called so."""
    np.testing.assert_array_equal(weft.matmul(A, B, epilogue="c + a * b", a=B[0], b=2),
                                  A @ B + 2 * B[0])
    with pytest.raises(TypeError, match="positional"):
        weft.matmul(a=A, b=B)


def test_dtypes():
    y = weft.matmul(A.astype(np.int8), B.astype(np.int8))
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, (A @ B).astype(np.int32))
    y = weft.matmul(A.astype(np.float16), B.astype(np.float16), dtype=np.float32)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, A @ B)


def test_refusals():
    for error, call in [(ValueError, lambda: weft.matmul(A, A)),
                        (ValueError, lambda: weft.matmul(A, np.float32(2))),
                        (ValueError, lambda: weft.matmul(A, B, beta=1)),
                        (ValueError, lambda: weft.matmul(A, B, epilogue="c +")),
                        (ValueError, lambda: weft.matmul(A, B, epilogue="relu(c)", bias=B[0])),
                        (ValueError, lambda: weft.matmul(A, B, epilogue="relu(c)", k=1)),
                        (ValueError, lambda: weft.matmul(A, B, epilogue="c", bias=B[0])),
                        (ValueError, lambda: weft.matmul(A, B, k=1)),
                        (ValueError, lambda: weft.matmul(A, B, epilogue="c + d")),
                        (ValueError, lambda: weft.matmul(A, B, out=np.zeros((5, 8), np.float32))),
                        (TypeError, lambda: weft.matmul(A, B.astype(np.float16))),
                        (TypeError, lambda: weft.matmul(A.astype(np.int32), B.astype(np.int32)))]:
        with pytest.raises(error):
            call()
