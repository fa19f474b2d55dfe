# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices by columns, against SciPy and by rows."""
import numpy as np
import pytest
from conftest import to_device
from hypothesis import given, strategies
from test_sparse import WIDTHS, matrices, whole

import weft

sparse = pytest.importorskip("scipy.sparse")


def dense_of(A):
    return np.asarray(A.get().to_scipy().todense(), np.float64)


def on(queue, x):
    return x.to_device(queue) if isinstance(x, (weft.csr, weft.csc)) else to_device(queue, x)


def host(x):
    x = x.get() if hasattr(x, "get") else x
    return dense_of(x) if isinstance(x, (weft.csr, weft.csc)) else np.asarray(x, np.float64)


def by_columns(T):
    """Of the arrays of a matrix by rows."""
    return weft.csc((T.values, T.indices, T.indptr), T.shape[::-1])


def test_scipy_is_not_copied():
    S = sparse.random_array((30, 40), density=0.2, format="csc", dtype=np.float32, rng=1)
    A = weft.csc(S)
    assert A.shape == S.shape and A.nnz == S.nnz and A.dtype == np.float32 and A.batch is None
    assert np.shares_memory(A.values, S.data) and np.shares_memory(A.indices, S.indices)
    back = A.to_scipy()
    assert back.format == "csc" and np.shares_memory(back.data, S.data) and (back != S).nnz == 0
    assert np.shares_memory(A.T.values, S.data) and A.T.shape == (40, 30)
    assert repr(A) == "<weft.csc: 30 x 40, 240 entries of float32 on the host>"
    A.values *= 2
    assert (A.T.values == S.data).all()


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_made_of(queue, form):
    D = whole(1, 12, 8) * (whole(2, 12, 8) > 1)
    C = sparse.csc_array(D)
    for its in (sparse.csr_array(D).asformat(form), sparse.csr_matrix(D).asformat(form), D,
                to_device(queue, D), weft.csr(D), weft.csc(D)):
        A = weft.csc(its).get()
        np.testing.assert_array_equal(dense_of(A), D)
        np.testing.assert_array_equal(A.indptr, C.indptr)
        np.testing.assert_array_equal(A.indices, C.indices)
    assert weft.csc(D, index_dtype=np.int16).indices.dtype == np.int16
    np.testing.assert_array_equal(dense_of(weft.csc(D, threshold=2)), np.where(abs(D) > 2, D, 0))


@given(matrices())
def test_forms(queue, T):
    A = by_columns(T)
    D = dense_of(A)
    assert D.shape == A.shape
    for its in (A, on(queue, A)):
        np.testing.assert_array_equal(host(its.to_dense()), D)
        np.testing.assert_array_equal(host(its.to_csr()), D)
        np.testing.assert_array_equal(host(weft.csc(its.to_csr())), D)
        np.testing.assert_array_equal(host(its.T), D.T)
        twice = its.with_values(its.values + its.values)
        np.testing.assert_array_equal(host(twice), 2 * D)


@given(matrices(), WIDTHS, strategies.booleans(), strategies.booleans(), strategies.booleans())
def test_spmm(queue, T, n, vector, planned, transposed):
    A = by_columns(T)
    D = dense_of(A).T if transposed else dense_of(A)
    B = whole(A.nnz, D.shape[1], *(() if vector else (n,)))
    for its, X in ((A, B), (on(queue, A), on(queue, B))):
        if not planned:
            np.testing.assert_array_equal(host(weft.spmm(its, X, transposed=transposed)), D @ B)
            continue
        with weft.SpmmPlan(its, transposed=transposed) as plan:
            y = weft.spmm(its, X, plan=plan, transposed=transposed)
            np.testing.assert_array_equal(host(y), D @ B)


def test_products(queue):
    D, B = np.triu(whole(1, 9, 9)), whole(2, 9, 9)
    D[-1, -1] = 3
    A, R, S = weft.csc(D), weft.csr(D), sparse.csc_array(D)
    np.testing.assert_array_equal(A @ B, D @ B)
    np.testing.assert_array_equal(B @ A, B @ D)
    np.testing.assert_array_equal(B[0] @ A, B[0] @ D)
    for left, right in ((A, A), (A, R), (R, A), (A, S), (S, A)):
        C = left @ right
        assert isinstance(C, weft.csr)
        np.testing.assert_array_equal(host(C), D @ D)
    np.testing.assert_array_equal(host(on(queue, A) @ on(queue, R)), D @ D)
    with weft.SpmmPlan(A) as plan:
        C, where = weft.spmm(A, B, plan=plan, reduce="max", arguments=True)
    assert (where[-1] == A.nnz - 1).all()
    np.testing.assert_array_equal(C[-1], A.values[-1] * B[-1])


def test_batch(queue):
    A = weft.csc(np.tril(whole(1, 6, 6)))
    A = A.with_values(whole(2, 3, A.nnz))
    B = whole(3, 3, 6, 5)
    expected = np.stack([dense_of(weft.csc((A.values[i], A.indices, A.indptr), A.shape)) @ B[i]
                         for i in range(3)])
    for its, X in ((A, B), (on(queue, A), on(queue, B))):
        np.testing.assert_array_equal(host(its @ X), expected)


def test_refusals():
    A, B = weft.csc(np.tril(whole(1, 9, 9))), whole(2, 9, 4)
    ones = np.ones(3, np.float32)
    for error, words, call in [
            (ValueError, "of the transpose by rows: .*row 1: entry 2 has column 3",
             lambda: weft.csc((ones, [1, 0, 3], [0, 1, 3]), (3, 2))),
            (ValueError, "indptr has 3 elements, of 3 rows",
             lambda: weft.csc((ones, [1, 0, 1], [0, 1, 3]), (2, 3))),
            (ValueError, "shape", lambda: weft.csc((ones, [1, 0, 1], [0, 1, 3]))),
            (ValueError, r"spmm: op\(A\) is 9 x 9, B has 8 rows", lambda: A @ B[1:]),
            (ValueError, "arguments", lambda: weft.spmm(A, B, reduce="max", arguments=True)),
            (TypeError, "B is a csc: .*spgemm", lambda: weft.spmm(A, A)),
            (TypeError, r"A is a csc: .*to_csr\(\)", lambda: weft.spgemm(A, A)),
            (ValueError, "the product by its transpose",
             lambda: weft.spmm(A, B, plan=weft.SpmmPlan(A.T)))]:
        with pytest.raises(error, match=words):
            call()
