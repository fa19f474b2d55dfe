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
