# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices: what they are made of, and what their products are, against SciPy."""
import copy
import doctest
import pickle

import numpy as np
import pytest
from conftest import LONG, to_device
from hypothesis import given, strategies
from test_process import run

import weft
from weft import _dtypes

sparse = pytest.importorskip("scipy.sparse")


# Each pair is compiled for: few of them where time is short.
TYPES = [(np.int32, np.int32)] + LONG * [(np.int16, np.int64), (np.int16, np.int32),
                                         (np.int32, np.int64)]
WIDTHS = strategies.integers(0, 20) if LONG else strategies.sampled_from([0, 8])


@strategies.composite
def matrices(draw, dtype=np.float32, rows=None, cols=None, most=40):
    """Of small whole numbers, whose sums are exact: empty ones, empty and full rows, columns that
    are not sorted or occur twice, indices and offsets of two types each."""
    m = draw(strategies.integers(0, most)) if rows is None else rows
    index_dtype, offset_dtype = draw(strategies.sampled_from(TYPES))
    n = draw(strategies.integers(0, most)) if cols is None else cols
    rng = np.random.default_rng(draw(strategies.integers(0, 1 << 30)))
    counts = rng.integers(0, draw(strategies.integers(1, 2 * n + 1)), m) if n else np.zeros(m, int)
    counts[rng.random(m) < draw(strategies.sampled_from([0, 0.3, 0.9]))] = 0
    indptr = np.concatenate([[0], counts.cumsum()])
    indices = rng.integers(0, max(n, 1), indptr[-1])
    values = rng.integers(-4, 5, indptr[-1])
    return weft.csr((values.astype(dtype), indices.astype(index_dtype),
                     indptr.astype(offset_dtype)), (m, n))


def dense_of(A):
    return np.asarray(A.to_scipy().todense(), np.float64)


def whole(rng_seed, *shape, dtype=np.float32):
    return np.random.default_rng(rng_seed).integers(-4, 5, shape).astype(dtype)


def on(queue, x):
    return x.to_device(queue) if isinstance(x, weft.csr) else to_device(queue, x)


def host(x):
    x = x.get() if hasattr(x, "get") else x
    return dense_of(x) if isinstance(x, weft.csr) else np.asarray(x, np.float64)


# ---- construction

def test_scipy_is_not_copied():
    S = sparse.random_array((30, 40), density=0.2, format="csr", dtype=np.float32, rng=1)
    A = weft.csr(S)
    assert np.shares_memory(A.values, S.data) and np.shares_memory(A.indices, S.indices)
    back = A.to_scipy()
    assert np.shares_memory(back.data, S.data) and (back != S).nnz == 0
    S.data[...] = 1  # later values are seen
    assert (A.values == 1).all()


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr", "lil", "dia"])
def test_formats(form):
    D = whole(1, 12, 8) * (whole(2, 12, 8) > 1)
    np.testing.assert_array_equal(dense_of(weft.csr(sparse.csr_array(D).asformat(form))), D)
    np.testing.assert_array_equal(
        dense_of(weft.csr(sparse.csr_matrix(D).asformat(form), index_dtype=np.int16)), D)


@given(matrices())
def test_dense_and_transpose(queue, A):
    D = dense_of(A)
    for its in (A, on(queue, A)):
        np.testing.assert_array_equal(host(its.to_dense()), D)
        T, source = its.transpose()
        np.testing.assert_array_equal(host(T), D.T)
        np.testing.assert_array_equal(host(source), np.argsort(A.indices, kind="stable"))


@given(strategies.integers(0, 30), strategies.integers(0, 30), strategies.integers(0, 99))
def test_from_dense(queue, m, n, seed):
    D = whole(seed, m, n)
    for its in (D, np.asfortranarray(D)[::-1], to_device(queue, D)):
        A = weft.csr(its)
        np.testing.assert_array_equal(host(A), host(its))
        assert A.nnz == np.count_nonzero(D) and A.get().indices.dtype == np.int32
    A = weft.csr(D, threshold=2, index_dtype="int16")
    np.testing.assert_array_equal(dense_of(A), np.where(abs(D) > 2, D, 0))
    assert A.indices.dtype == np.int16


def good(**changed):
    parts = {"values": np.ones(3, np.float32), "indices": np.array([1, 0, 2]),
             "indptr": np.array([0, 1, 3]), "shape": (2, 3), **changed}
    shape = parts.pop("shape")
    return tuple(parts.values()), shape


@pytest.mark.parametrize("changed, error, words", [
    ({"indices": [1, 0, 3]}, ValueError, "row 1: entry 2 has column 3, the matrix has 3"),
    ({"indices": [1, 0, -1]}, ValueError, "-1"),
    ({"indices": [1, 0, 2**32]}, ValueError, "4294967296"),
    ({"indices": [1, 0, 2.5]}, TypeError, "whole numbers"),
    ({"indices": [[1, 0, 2]]}, ValueError, "2 dimensions"),
    ({"indptr": [0, 2, 1]}, ValueError, "offset"),
    ({"indptr": [0, 1, 4]}, ValueError, "4"),
    ({"indptr": [0, 3]}, ValueError, "2 elements, of 2 rows"),
    ({"values": [1, 2, 3]}, TypeError, "int64"),
    ({"values": np.ones(4, np.float32)}, ValueError, "of 3 entries"),
    ({"shape": None}, ValueError, "shape"),
    ({"shape": (2, -3)}, ValueError, "columns is -3"),
    ({"shape": (2.0, 3)}, TypeError, "rows is 2.0"),
    ({"shape": (2, 3, 4)}, ValueError, "two whole numbers"),
    ({"shape": 6}, TypeError, "shape is 6"),
], ids=str)
def test_unsound(queue, changed, error, words):
    parts, shape = good(**changed)
    with pytest.raises(error, match=words):
        weft.csr(parts, shape)


def test_unsound_on_device(queue):
    parts, shape = good(indices=np.array([1, 0, 3], np.int32), indptr=np.array([0, 1, 3], np.int32))
    parts = tuple(to_device(queue, part) for part in parts)
    with pytest.raises(ValueError, match="entry 2 has column 3"):
        weft.csr(parts, shape)
    assert weft.csr(parts, shape, check=False).nnz == 3
    with pytest.raises(TypeError, match="some of"):
        weft.csr((np.ones(3, np.float32), *parts[1:]), shape)


def test_unsound_scipy():
    S = sparse.csr_array(np.tril(whole(1, 9, 9)))
    for part, array, words in [("indptr", S.indptr[:0], "0 elements, of 9 rows"),
                               ("indptr", S.indptr + 1, "begins at offset 1"),
                               ("indptr", -S.indptr, "offset"),
                               ("indices", S.indices + 9, "column"),
                               ("data", S.data[:2], "of .* entries")]:
        changed = S.copy()
        setattr(changed, part, array)
        with pytest.raises(ValueError, match=words):
            weft.csr(changed)


def test_names_of_scipy(queue):
    D = np.tril(whole(1, 9, 9))
    for A in (weft.csr(D), weft.csr(D).to_device(queue)):
        assert A.ndim == 2 and A.data is A.values
        np.testing.assert_array_equal(host(A.toarray()), D)
        for dtype in sorted(_dtypes.HALVES, key=str) + [np.dtype(np.float32)]:
            B = A.astype(dtype)
            assert B.dtype == dtype and B.values is not A.values and B.indices is A.indices
            np.testing.assert_array_equal(host(B), D)
        for dtype in (int, bool, complex):
            with pytest.raises(TypeError, match="values of .*: float32"):
                A.astype(dtype)


def test_shape_and_threshold():
    """They are honoured, or refused where the matrix says other things."""
    D = np.tril(whole(1, 5, 4))
    S = sparse.csr_array(D)
    for A in (S, D, weft.csr(D)):
        assert weft.csr(A, shape=(5, 4)).shape == weft.csr(A, (np.int64(5), 4)).shape == (5, 4)
        for shape in ((9, 9), (4, 5)):
            with pytest.raises(ValueError, match=r"shape is \[\d x \d\], the matrix \[5 x 4\]"):
                weft.csr(A, shape)
    for A, shape in ((S, None), (weft.csr(D), None), good()):
        with pytest.raises(ValueError, match="threshold is 0.5, which is for a dense matrix"):
            weft.csr(A, shape, threshold=0.5)


def test_bools(queue):
    """A mask's values are 1, in float32."""
    D = np.tril(whole(1, 9, 9)) > 0
    A = weft.csr(D)
    for B in (weft.csr(sparse.csr_array(D)), weft.csr(sparse.csr_matrix(D), index_dtype="int16"),
              weft.csr((A.values.astype(bool), A.indices, A.indptr), A.shape),
              A.with_values(A.values > 0), weft.csr(to_device(queue, D))):
        assert B.dtype == np.float32
        np.testing.assert_array_equal(host(B), D)


def test_pattern_is_fixed():
    A = weft.csr(np.eye(3, dtype=np.float32))
    with pytest.raises(ValueError, match="read-only"):
        A.indices[0] = 5


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda A: pickle.loads(
    pickle.dumps(A)), weft.csr.copy], ids=["copy", "deepcopy", "pickle", "method"])
def test_copies(queue, again):
    A = weft.csr(np.tril(whole(1, 9, 9)), index_dtype=np.int16)
    B = again(A)
    assert B.shape == A.shape and B.indices.dtype == np.int16 and B.dtype == A.dtype
    np.testing.assert_array_equal(dense_of(B), dense_of(A))
    assert np.shares_memory(A.values, B.values) == (again is copy.copy)
    for part in (B.indices, B.indptr):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 5
    device = on(queue, A)
    if getattr(again, "__name__", "") != "<lambda>":
        np.testing.assert_array_equal(host(again(device)), dense_of(A))


def test_no_copies(queue):
    """Of what owns memory of a device."""
    A = weft.csr(np.tril(whole(1, 9, 9)))
    with weft.SpmmPlan(A) as plan, weft.Recording(queue) as recording:
        for x in (plan, recording):
            for again in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(TypeError, match=f"a {type(x).__name__} owns memory"):
                    again(x)
        assert not plan.closed


# ---- products

@given(matrices(), WIDTHS, strategies.booleans(), strategies.booleans())
def test_spmm(queue, A, n, vector, planned):
    D = dense_of(A)
    B = whole(A.nnz, A.shape[1], *(() if vector else (n,)))
    assert (A @ B).dtype == np.float32
    np.testing.assert_array_equal(A @ B, D @ B)
    for its, X in ((A, B), (on(queue, A), on(queue, B)), (A, on(queue, B))):
        if not planned:
            np.testing.assert_array_equal(host(weft.spmm(its, X)), D @ B)
        elif type(its.values) is type(X):
            with weft.SpmmPlan(its) as plan:
                np.testing.assert_array_equal(host(weft.spmm(its, X, plan=plan)), D @ B)


@given(matrices(rows=13), WIDTHS, strategies.booleans())
def test_transposed(queue, A, n, planned):
    D, B = dense_of(A), whole(A.nnz, 13, n)
    for its, X in ((A, B), (on(queue, A), on(queue, B))):
        plan = weft.SpmmPlan(its, transposed=True) if planned else None
        np.testing.assert_array_equal(host(weft.spmm(its, X, transposed=True, plan=plan)), D.T @ B)
    np.testing.assert_array_equal(B.T @ A, B.T @ D)


@pytest.mark.parametrize("reduce", ["max", "min", "mean"])
def test_reductions(queue, reduce):
    A = weft.csr(sparse.random_array((20, 30), density=0.2, format="csr", dtype=np.float32, rng=2))
    B = whole(1, 30, 7)
    products = A.values[:, None] * B[A.indices]
    with np.errstate(all="ignore"):
        expected = np.array([getattr(np, reduce)(products[a:b], axis=0) if a < b else np.zeros(7)
                             for a, b in zip(A.indptr, A.indptr[1:])])
    for its, X in ((A, B), (on(queue, A), on(queue, B))):
        if reduce == "mean":
            np.testing.assert_allclose(host(weft.spmm(its, X, reduce=reduce)), expected, 1e-5, 1e-6)
            continue
        C, where = weft.spmm(its, X, reduce=reduce, arguments=True)
        where = host(where).astype(int)
        np.testing.assert_array_equal(host(C), expected)
        empty = np.diff(A.indptr) == 0
        assert (where[empty] == -1).all()
        taken = np.take_along_axis(products, where, 0)
        np.testing.assert_array_equal(taken[~empty], expected[~empty])


def test_out_bias_activation(queue):
    A, B = weft.csr(np.tril(whole(1, 9, 9))), whole(2, 9, 4)
    C, bias = whole(3, 9, 4), whole(4, 9)
    expected = np.maximum(2 * dense_of(A) @ B + 3 * C + bias[:, None], 0)
    for place in (lambda x: x, lambda x: on(queue, x)):
        out = place(C.copy())
        y = weft.spmm(place(A), place(B), 2, 3, out, bias=place(bias), activation="relu")
        assert y is out
        np.testing.assert_array_equal(host(y), expected)
    out = np.empty((9, 4), np.float32)
    halves = weft.spmm(A.with_values(A.values.astype(np.float16)), B.astype(np.float16), out=out)
    np.testing.assert_array_equal(halves, dense_of(A) @ B)


def test_batch(queue):
    A = weft.csr(np.tril(whole(1, 6, 6)))
    A = A.with_values(whole(2, 3, A.nnz))
    B = whole(3, 3, 6, 5)
    expected = np.stack([dense_of(A._of_batch(i)) @ B[i] for i in range(3)])
    for its, X in ((A, B), (on(queue, A), on(queue, B))):
        np.testing.assert_array_equal(host(its @ X), expected)
        np.testing.assert_array_equal(host(its.T.to_dense()),
                                      host(its.to_dense()).transpose(0, 2, 1))
    with pytest.raises(ValueError, match="batch"):
        A.to_scipy()


@given(matrices(cols=11), matrices(rows=11))
def test_spgemm(queue, A, B):
    expected = dense_of(A) @ dense_of(B)
    for X, Y in ((A, B), (on(queue, A), on(queue, B))):
        C = X @ Y
        np.testing.assert_array_equal(host(C), expected)
        np.testing.assert_array_equal(host(weft.spgemm_dense(X, Y)), expected)
    assert isinstance(C, weft.csr) and C.shape == expected.shape


@pytest.mark.parametrize("dtype", sorted(_dtypes.FLOATS, key=str), ids=str)
def test_dtypes(dtype):
    A = weft.csr(np.tril(whole(1, 9, 9))).with_values(whole(2, 45)[:weft.csr(
        np.tril(whole(1, 9, 9))).nnz].astype(dtype))
    B = whole(3, 9, 5).astype(dtype)
    if dtype.itemsize == 8 and not weft._devices.host_place().context.has_f64:
        with pytest.raises(weft.DeviceError):
            A @ B
        return
    y = A @ B
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.astype(np.float64), dense_of(A) @ B.astype(np.float64))


def test_index_types(queue):
    A = weft.csr(np.tril(whole(1, 9, 9)))
    narrow = weft.csr((A.values, A.indices.astype(np.int16), A.indptr.astype(np.int64)), A.shape)
    assert narrow.indices.dtype == np.int16 and narrow.indptr.dtype == np.int64
    B = whole(3, 9, 8)
    for its, X in ((narrow, B), (on(queue, narrow), on(queue, B))):
        np.testing.assert_array_equal(host(its @ X), dense_of(A) @ B)
        np.testing.assert_array_equal(host(its.T), dense_of(A).T)


def test_kinds_of_scipy():
    D = whole(1, 5, 5)
    for kind in (sparse.csr_array, sparse.csr_matrix, sparse.csc_matrix):
        S = kind(D)
        np.testing.assert_array_equal(weft.spmm(S, D), D @ D)
        C = weft.spgemm(S, S)
        assert sparse.isspmatrix(C) == sparse.isspmatrix(S)
        np.testing.assert_array_equal(C.todense(), D @ D)
        np.testing.assert_array_equal((weft.csr(S) @ S).to_dense(), D @ D)


# ---- plans

def test_plan_as_text():
    A = weft.csr(whole(1, 9, 4))
    with weft.SpmmPlan(A, transposed=True) as plan:
        assert repr(plan) == "<weft.SpmmPlan: the transpose of 9 x 4>"
    assert repr(plan) == "<weft.SpmmPlan: the transpose of 9 x 4, closed>"


def test_closed_plan(queue):
    A, B = weft.csr(np.tril(whole(1, 9, 9))), whole(2, 9, 4)
    for its, X in ((A, B), (on(queue, A), on(queue, B))):
        plan = weft.SpmmPlan(its)
        y = weft.spmm(its, X, plan=plan)
        plan.close()
        plan.close()
        assert plan.closed
        np.testing.assert_array_equal(host(y), dense_of(A) @ B)
        with pytest.raises(ValueError, match="closed"):
            weft.spmm(its, X, plan=plan)
        with pytest.raises(ValueError, match="closed"):
            plan.__enter__()


def test_wrong_plan(queue):
    A, B = weft.csr(np.tril(whole(1, 9, 9))), whole(2, 9, 4)
    plan = weft.SpmmPlan(A)
    weft.spmm(A.with_values(2 * A.values), B, plan=plan)
    weft.spmm(weft.csr(np.tril(whole(1, 9, 9))), B, plan=plan)
    other = weft.csr(np.tril(whole(5, 9, 9)))
    for error, words, call in [
            (ValueError, "another pattern", lambda: weft.spmm(other, B, plan=plan)),
            (ValueError, "another context",
             lambda: weft.spmm(on(queue, A), on(queue, B), plan=plan)),
            (ValueError, "transpose", lambda: weft.spmm(A, B, plan=plan, transposed=True)),
            (TypeError, "a int", lambda: weft.spmm(A, B, plan=3)),
            (ValueError, "row schedule 'no'", lambda: weft.SpmmPlan(A, row_schedule="no"))]:
        with pytest.raises(error, match=words):
            call()


def test_plan_closed_by_another_thread():
    """While products are made: each is made or refused."""
    import threading

    A, B = weft.csr(np.tril(whole(1, 60, 60))), whole(2, 60, 8)
    expected, wrong = dense_of(A) @ B, []
    for _ in range(10):
        plan = weft.SpmmPlan(A)

        def work():
            try:
                for _ in range(20):
                    if not np.array_equal(weft.spmm(A, B, plan=plan), expected):
                        wrong.append(1)
            except ValueError as error:
                if "closed" not in str(error):
                    wrong.append(error)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        plan.close()
        for thread in threads:
            thread.join()
    assert not wrong


# ---- refusals

def test_refusals(queue):
    import pyopencl as cl

    A, B = weft.csr(np.tril(whole(1, 9, 9))), whole(2, 9, 4)
    context = cl.Context(queue.context.devices)  # which a queue of Intel's does not keep
    elsewhere = cl.CommandQueue(context)
    for error, words, call in [
            (ValueError, r"spmm: op\(A\) is 9 x 9, B has 8 rows", lambda: weft.spmm(A, B[1:])),
            (TypeError, "f64", lambda: weft.spmm(A, B.astype(np.float64))),
            (TypeError, "a list", lambda: weft.spmm([[1]], B)),
            (ValueError, "a number", lambda: weft.spmm(A, np.float32(1))),
            (TypeError, "B is a csr: .*spgemm", lambda: weft.spmm(A, A)),
            (ValueError, "no out to add", lambda: weft.spmm(A, B, beta=1)),
            (ValueError, "one of none, relu", lambda: weft.spmm(A, B, activation="no")),
            (ValueError, "one of sum, mean", lambda: weft.spmm(A, B, reduce="no")),
            (ValueError, "arguments", lambda: weft.spmm(A, B, arguments=True)),
            (ValueError, "out is", lambda: weft.spmm(A, B, out=B[1:].copy())),
            (ValueError, "context", lambda: weft.spmm(on(queue, A), on(elsewhere, B))),
            (ValueError, "spgemm", lambda: A @ weft.csr(B[1:])),
            (TypeError, "host's memory: to_device",
             lambda: weft.sparse_softmax(A, out=on(queue, A.values)))]:
        with pytest.raises(error, match=words):
            call()


@pytest.mark.parametrize("kind", [weft.csr, weft.csc, weft.SpmmPlan], ids=lambda kind: kind.__name__)
def test_examples(kind):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said = []
    for found in doctest.DocTestFinder().find(kind, kind.__name__, globs={"np": np, "weft": weft}):
        runner.run(found, out=said.append)
    assert runner.tries and not runner.failures, "".join(said)


@pytest.mark.skipif(not LONG, reason="long")
def test_large():
    S = sparse.random_array((20000, 30000), density=0.001, format="csr", dtype=np.float32, rng=3)
    B = np.random.default_rng(4).standard_normal((30000, 64), np.float32)
    np.testing.assert_allclose(weft.spmm(S, B), S @ B, 1e-3, 1e-3)
    C = weft.spgemm(S, S.T.tocsr())
    expected = S @ S.T
    assert C.nnz == expected.nnz
    np.testing.assert_allclose(C.data, expected.sorted_indices().data, 1e-4, 1e-4)


# ---- processes

def test_child_of_fork():
    """It neither uses nor hurts the parent's plan."""
    import os

    A, B = weft.csr(np.tril(whole(1, 9, 9))), whole(2, 9, 8)
    plan = weft.SpmmPlan(A)
    expected = weft.spmm(A, B, plan=plan)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            weft.spmm(A, B, plan=plan)
        except weft.DeviceError as error:
            plan.close()
            status = 0 if "fork" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
    np.testing.assert_array_equal(weft.spmm(A, B, plan=plan), expected)


@pytest.mark.parametrize("end", ["", "plan.close()", "del plan", "raise SystemExit",
                                 "weft.keep = plan; plan.me = plan"])
def test_exit_with_a_plan(end):
    code, out, errors = run("A = weft.csr(np.eye(9, dtype=np.float32))\n"
                            "plan = weft.SpmmPlan(A)\n"
                            "print(weft.spmm(A, np.ones((9, 8), np.float32), plan=plan).sum())\n"
                            + end)
    assert (code, out) == (0, "72.0") and not errors, errors
