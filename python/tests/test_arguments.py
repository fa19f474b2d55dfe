# SPDX-License-Identifier: Apache-2.0
"""Arguments that are no arrays: what they may be, and the exceptions that name the others."""
import fractions

import numpy as np
import pytest

import weft

X = np.ones((4, 4), np.float32)
A = weft.csr(np.tril(X))

# name, and a call with the number
NUMBERS = [
    ("scale", lambda k: weft.softmax(X, scale=k)),
    ("scale", lambda k: weft.log_softmax_backward(X, X, scale=k)),
    ("epsilon", lambda k: weft.layer_norm(X, epsilon=k)),
    ("epsilon", lambda k: weft.rms_norm_backward(X, X, epsilon=k)),
    ("alpha", lambda k: weft.matmul(X, X, alpha=k)),
    ("beta", lambda k: weft.matmul(X, X, beta=k, out=X.copy())),
    ("k", lambda k: weft.matmul(X, X, epilogue="c + k", k=k)),
    ("k", lambda k: weft.elementwise("x + k", x=X, k=k)),
    ("alpha", lambda k: weft.spmm(A, X, alpha=k)),
    ("beta", lambda k: weft.spmm(A, X, beta=k, out=X.copy())),
    ("alpha", lambda k: weft.sddmm(X, X, A, alpha=k)),
    ("beta", lambda k: weft.sddmm(X, A, A, beta=k, out=A.values.copy())),
    ("scale", lambda k: weft.sparse_softmax(A, scale=k)),
    ("scale", lambda k: weft.sparse_softmax_backward(A, A, scale=k)),
    ("scale", lambda k: weft.sparse_attention(X, X, X, A, scale=k)),
    ("scale", lambda k: weft.sparse_attention_backward(X, X, X, X, A, scale=k)),
    ("beta", lambda k: weft.sparse_linear_dx(A, X, k, X.copy())),
    ("beta", lambda k: weft.sparse_linear_dw(X, X, A, k, A.values.copy())),
    ("alpha", lambda k: weft.spgemm_dense(A, A, k)),
    ("beta", lambda k: weft.spgemm_dense(A, A, 1, k, X.copy())),
    ("threshold", lambda k: weft.csr(X, threshold=k)),
]
IDS = [f"{i}-{its[0]}" for i, its in enumerate(NUMBERS)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name, call", NUMBERS, ids=IDS)
def test_numbers(name, call):
    """Real ones of any type; of complex ones no part is lost."""
    for x in (1, 0.5, True, np.float16(1), np.int64(1)):
        call(x)
    for x in (1j, np.complex64(1), np.complex128(1 + 1j)):
        with pytest.raises(TypeError, match=f"{name} is .*: a real number is wanted"):
            call(x)
    for x, words in ((10**400, "is 1000.*000\\.\\.\\., more than"), (2**20000, "of 20001 bits")):
        with pytest.raises(ValueError, match=f"{name} .*{words}"):
            call(x)


@pytest.mark.parametrize("x", ["1", b"1", None, [1], np.ones(1), np.array(1j)], ids=repr)
def test_no_numbers(x):
    for name, call in NUMBERS:
        if name != "k" and not (name == "scale" and x is None):
            with pytest.raises(TypeError, match=f"{name} is .*: a real number is wanted"):
                call(x)


def test_other_numbers():
    expected = weft.softmax(X, scale=0.5)
    for x in (fractions.Fraction(1, 2), np.array(0.5), np.float64(0.5)):
        np.testing.assert_array_equal(weft.softmax(X, scale=x), expected)


@pytest.mark.parametrize("error, words, call", [
    (TypeError, "formula is None", lambda: weft.elementwise(None, x=X)),
    (TypeError, "formula is 5", lambda: weft.elementwise(5, x=X)),
    (TypeError, r"formula is \['x'\]", lambda: weft.elementwise(["x"], x=X)),
    (TypeError, r"formula is \('x', \[\]\)", lambda: weft.elementwise(("x", []), x=X)),
    (TypeError, r"a formula is \[\]", lambda: weft.matmul(X, X, epilogue=[])),
    (TypeError, r"ord is array\(\[1, 2\]\)", lambda: weft.norm(X, np.array([1, 2]))),
    (ValueError, "ord is 'fro'", lambda: weft.norm(X, "fro")),
    (TypeError, "masked is 2", lambda: weft.softmax(X, masked=2)),
    (TypeError, "masked is None", lambda: weft.log_softmax(X, masked=None)),
    (TypeError, "indicator is 'no'", lambda: weft.sddmm(X, X, A, indicator="no")),
    (TypeError, "transposed is 2", lambda: weft.spmm(A, X, transposed=2)),
    (TypeError, "transposed is 2", lambda: weft.SpmmPlan(A, transposed=2)),
    (TypeError, "arguments is 2", lambda: weft.spmm(A, X, reduce="max", arguments=2)),
    (TypeError, "n_axes is 1.5", lambda: weft.layer_norm(X, n_axes=1.5)),
    (ValueError, "n_axes is 1099511627776: 1 to 8",
     lambda: weft.rms_norm_backward(X, X, n_axes=2**40)),
    (TypeError, "ddof is 0.5", lambda: weft.var(X, ddof=0.5)),
    (ValueError, "ddof is 1180591620717411303424", lambda: weft.std(X, ddof=2**70)),
    (ValueError, "axis an integer of 20001 bits", lambda: weft.sum(X, axis=2**20000)),
    (TypeError, "row_schedule is 5", lambda: weft.SpmmPlan(A, row_schedule=5)),
    (TypeError, "profile is 5", lambda: weft.explain(weft.sum, X, profile=5)),
    (ValueError, "not printable", lambda: weft.explain(weft.sum, X, profile="h100\0")),
    (ValueError, r"activation is \[\]", lambda: weft.spmm(A, X, activation=[])),
], ids=lambda its: its if isinstance(its, str) else "")
def test_refusals(error, words, call):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("error, words, call", [
    (TypeError, "^the result is f32, sum of f64 requires",
     lambda: weft.sum(X.astype("d"), dtype="f")),
    (ValueError, "^max of no elements: a reduced axis of x has", lambda: weft.max(X[:0])),
    (TypeError, "^softmax_backward: y is f32, dy f64;",
     lambda: weft.softmax_backward(X, X.astype("d"))),
    (ValueError, "^layer_norm: extent 0 of weight is 3, x's axis 1 has 4",
     lambda: weft.layer_norm(X, X[0, :3])),
    (TypeError, "^matmul: a is f32, b f64;", lambda: weft.matmul(X, X.astype("d"))),
    (ValueError, r"^matmul: input A \[4 x 3\] does not broadcast to the result \[4 x 4\]",
     lambda: weft.matmul(X, X, epilogue="c + A", A=X[:, :3])),
    (ValueError, "^matmul: column 5: there is nothing named 'A'; inputs: c\n    c [+] A\n",
     lambda: weft.matmul(X, X, epilogue="c + A")),
    (TypeError, "^spmm: A is f32, B f64, the result f64; .* the result f32 where A and B",
     lambda: weft.spmm(A, X.astype("d"))),
    (ValueError, "^spmm: arguments with a sum", lambda: weft.spmm(A, X, arguments=True)),
    (ValueError, "^spgemm: A is 4 x 4, B has 3", lambda: weft.spgemm(A, weft.csr(X[:3]))),
    (ValueError, "^csr: row 0 ends at offset 9",
     lambda: weft.csr((X[0], [0, 1, 2, 3], [0, 9]), (1, 4))),
    (TypeError, "^csr: A has i32", lambda: weft.csr(X.astype("i"))),
    (ValueError, "^SpmmPlan: A: row 0: entry 3 has column 9",
     lambda: weft.SpmmPlan(weft.csr((X[0], [0, 1, 2, 9], [0, 4]), (1, 4), check=False))),
], ids=lambda its: its[:12] if isinstance(its, str) else "")
def test_names_in_messages(error, words, call):
    """Are Python's, and those of the caller stay."""
    with pytest.raises(error, match=words):
        call()


def test_flags():
    expected = weft.softmax(X, masked=True)
    for flag in (1, np.True_, np.int64(1)):
        np.testing.assert_array_equal(weft.softmax(X, masked=flag), expected)
