# SPDX-License-Identifier: Apache-2.0
"""Operations on the entries of sparse matrices, against NumPy in f64 and differences."""
import numpy as np
import pytest
from test_sparse import dense_of, host, on, whole

import weft

sparse = pytest.importorskip("scipy.sparse")

M = weft.csr(sparse.random_array((17, 12), density=0.3, format="csr", dtype=np.float32, rng=1))
MASK = dense_of(M) != 0


def both(queue):
    return (lambda x: x), (lambda x: on(queue, x))


def close(x, expected, bound=2e-6):
    np.testing.assert_allclose(host(x), expected, rtol=bound, atol=bound)


def softmax_of(M, X, scale):
    """Of the pattern of M, and X's dense numbers, in f64."""
    x = np.where(MASK, scale * np.asarray(X, np.float64), -np.inf)
    most = x.max(-1, keepdims=True)
    e = np.exp(x - np.where(np.isinf(most), 0, most))
    return e / np.maximum(e.sum(-1, keepdims=True), 1e-300)


def gradient(f, x, dy):
    """By differences."""
    x, dx, h = np.asarray(x, np.float64), np.zeros(np.shape(x)), 1e-6
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = h
        dx[i] = (dy * (f(x + step) - f(x - step))).sum() / (2 * h)
    return dx


# ---- at the entries

@pytest.mark.parametrize("indicator", [False, True])
def test_sddmm(queue, indicator):
    A, B, old = whole(1, 17, 6), whole(2, 12, 6).T, whole(3, M.nnz)
    factor = MASK if indicator else dense_of(M)
    expected = 2 * (A @ B) * factor + 3 * dense_of(M.with_values(old))
    for place in both(queue):
        out = place(old.copy())
        D = weft.sddmm(place(A), place(np.ascontiguousarray(B.T)).T, place(M), 2, 3, out,
                       indicator=indicator)
        assert D.values is out
        close(D, expected)
    S = weft.sddmm(A, B, M.to_scipy())
    assert sparse.issparse(S)
    close(S.todense(), (A @ B) * dense_of(M))


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, weft.csr])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64], ids=str)
def test_masks(queue, kind, dtype):
    """Of bools, where only the pattern counts."""
    if dtype == np.float64 and not weft._devices.host_place().context.has_f64:
        pytest.skip("the device has no f64")
    mask = kind(MASK)
    A, B = whole(1, 17, 6, dtype=dtype), whole(2, 6, 12, dtype=dtype)
    products = (A @ B).astype(np.float64)
    for left in (A, weft.csr(A)):
        D = weft.sddmm(left, B, mask, indicator=True)
        assert D.dtype == (dtype if kind is weft.csr or dtype != np.float16 else np.float32)
        assert type(D) is type(mask)
        close(D if kind is weft.csr else D.todense(), products * MASK)
    dW = weft.sparse_linear_dw(A, np.ascontiguousarray(B.T), mask)
    close(dW if kind is weft.csr else dW.todense(), products * MASK)
    Q, K = whole(1, 17, 4, dtype=dtype), whole(2, 12, 4, dtype=dtype)
    np.testing.assert_array_equal(weft.sparse_attention(Q, K, K, mask),
                                  weft.sparse_attention(Q, K, K, M))
    for dx, expected in zip(weft.sparse_attention_backward(Q, Q, K, K, mask),
                            weft.sparse_attention_backward(Q, Q, K, K, M)):
        np.testing.assert_array_equal(dx, expected)
    if kind is weft.csr:
        D = weft.sddmm(on(queue, A), on(queue, B), on(queue, mask), indicator=True)
        close(D, products * MASK)


def test_sddmm_batch():
    A, B = whole(1, 3, 17, 6), whole(2, 3, 6, 12)
    D = weft.sddmm(A, B, M, indicator=True)
    assert D.batch == 3
    close(D.to_dense(), (A @ B) * MASK)


@pytest.mark.parametrize("kinds", ["sd", "ds", "ss"])
def test_sddmm_sparse(queue, kinds):
    A, B = whole(1, 17, 9) * (whole(3, 17, 9) > 2), whole(2, 9, 12) * (whole(4, 9, 12) > 2)
    for place in both(queue):
        factors = [place(weft.csr(x) if kind == "s" else x) for kind, x in zip(kinds, (A, B))]
        close(weft.sddmm(*factors, place(M), 0.5, indicator=True), 0.5 * (A @ B) * MASK)


def test_softmax(queue):
    X = M.with_values(whole(5, M.nnz))
    dY = whole(6, M.nnz)
    Y = softmax_of(M, dense_of(X), 0.5)
    G = dense_of(M.with_values(dY))
    expected = 0.5 * Y * (G - (Y * G).sum(1, keepdims=True))
    for place in both(queue):
        y = weft.sparse_softmax(place(X), scale=0.5)
        close(y, Y)
        close(weft.sparse_softmax_backward(y, place(dY), scale=0.5), expected)
        close(weft.sparse_softmax_backward(y, y.with_values(place(dY)), scale=0.5), expected)
        values = place(X.values.copy())
        in_place = place(X).with_values(values)
        weft.sparse_softmax(in_place, scale=0.5, out=values)
        close(in_place, Y)


# ---- attention

def attention_of(Q, K, V, scale):
    return softmax_of(M, Q @ np.swapaxes(K, -1, -2), scale) @ V


@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_attention(queue, lead):
    rng = np.random.default_rng(1)
    Q, K, V, dO = (rng.standard_normal((*lead, *its)) for its in
                   ((17, 4), (12, 4), (12, 5), (17, 5)))
    expected = [gradient(lambda q: attention_of(q, K, V, 0.5), Q, dO),
                gradient(lambda k: attention_of(Q, k, V, 0.5), K, dO),
                gradient(lambda v: attention_of(Q, K, v, 0.5), V, dO)] if len(lead) < 2 else None
    q, k, v, do = (x.astype(np.float32) for x in (Q, K, V, dO))
    for place in both(queue):
        its = place(q), place(k), place(v)
        close(weft.sparse_attention(*its, place(M)), attention_of(Q, K, V, 0.5), 2e-5)
        results = weft.sparse_attention_backward(place(do), *its, place(M))
        for dx, want in zip(results, expected or results):
            close(dx, host(want), 3e-5)
            assert dx.shape == host(want).shape
    if lead:
        parts = weft.sparse_attention_backward(*(x.reshape(-1, *x.shape[-2:])[-1]
                                                 for x in (do, q, k, v)), M)
        for dx, part in zip(results, parts):
            close(host(dx).reshape(-1, *part.shape)[-1], host(part), 3e-5)


# ---- a layer

def test_linear(queue):
    W, X, dY = M, whole(1, 12, 8), whole(2, 17, 8)
    bias, old = whole(3, 17), whole(4, 12, 8)
    D = dense_of(W)
    for place in both(queue):
        w, x, dy = place(W), place(X), place(dY)
        close(weft.sparse_linear(w, x, place(bias), activation="relu"),
              np.maximum(D @ X + bias[:, None], 0), 1e-5)
        close(weft.sparse_linear_dx(w, dy), D.T @ dY, 1e-5)
        with weft.SpmmPlan(w, transposed=True) as plan:
            out = place(old.copy())
            assert weft.sparse_linear_dx(w, dy, 2, out, plan=plan) is out
            close(out, D.T @ dY + 2 * old, 1e-5)
        close(weft.sparse_linear_dw(dy, x, w), (dY @ X.T) * MASK)


def test_refusals():
    Q, K = whole(1, 17, 4), whole(2, 12, 4)
    for error, words, call in [
            (ValueError, "sddmm", lambda: weft.sddmm(Q, K, M)),
            (ValueError, "no out to add", lambda: weft.sddmm(Q, K.T, M, beta=1)),
            (TypeError, "f64", lambda: weft.sddmm(Q.astype(np.float64), K.T.astype(np.float64), M)),
            (TypeError, "C is a ndarray", lambda: weft.sddmm(Q, K.T, Q @ K.T)),
            (ValueError, "scale", lambda: weft.sparse_softmax(M, scale=np.nan)),
            (ValueError, "pattern", lambda: weft.sparse_softmax_backward(M, M.T)),
            (ValueError, "V has 1 dimensions", lambda: weft.sparse_attention(Q, K, K[0], M)),
            (ValueError, "sparse_attention", lambda: weft.sparse_attention(Q, K, Q, M)),
            (ValueError, "batch",
             lambda: weft.spgemm(M.with_values(np.ones((2, M.nnz), np.float32)), M.T)),
            (ValueError, "transpose",
             lambda: weft.sparse_linear_dx(M, Q, plan=weft.SpmmPlan(M)))]:
        with pytest.raises(error, match=words):
            call()
