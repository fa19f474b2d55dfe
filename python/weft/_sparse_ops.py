# SPDX-License-Identifier: Apache-2.0
"""Operations on the entries of sparse matrices, layers, and products of two sparse matrices."""
from __future__ import annotations

import math
from typing import Any

from weft._arrays import Array, host_array, is_on_device
from weft._binding import NULL
from weft._dtypes import FLOATS, DType
from weft._sparse import (INT16, INT32, INT64, MOST_INT16, MOST_INT32, Sparse, SparseCall, csr,
                          gather, is_scipy, made_of, pool_of, sparse_operand)
from weft._spmm import (ACTIVATIONS, SpmmPlan, beta_of, code_in, product_shape, result_dtype, spmm,
                        using_plan)
from weft._values import flag_of, number_of
from weft._weft import ffi, lib

_sddmm_pool = pool_of("weft_sddmm_params")
_sddmm_sparse_pool = pool_of("weft_sddmm_sparse_params")
_softmax_pool = pool_of("weft_sparse_softmax_params")
_attention_pool = pool_of("weft_sparse_attention_params")
_linear_pool = pool_of("weft_sparse_linear_params")
_spgemm_pool = pool_of("weft_spgemm_params")


def _is_sparse(x: Any) -> bool:
    return isinstance(x, csr) or is_scipy(x)


def _array(x: Array) -> Array:
    return x if is_on_device(x) else host_array(x)[0]


def _swapped(x: Array) -> Array:
    """Each matrix of it transposed, as a view."""
    x = _array(x)
    if len(x.shape) < 2:
        raise ValueError(f"an array of {len(x.shape)} dimensions is no matrix")
    axes = tuple(range(len(x.shape)))
    return x.transpose((*axes[:-2], axes[-1], axes[-2]))


def _pattern_of(C: csr, dtype: DType) -> csr:
    """Where values are not used, as the library's type of them wants to be that of operands."""
    return C.with_dtype(dtype) if dtype in FLOATS else C


# ---- products at the entries of a matrix

def sddmm(A: Array, B: Array, C: Sparse, alpha: float = 1.0, beta: float = 0.0, out: Array = None,
          *, indicator: bool = False) -> Sparse:
    """The product of two matrices at the entries of a third: alpha (A B) .* C + beta out.

    A          [m, k] or [batch, m, k]; float32, float64, float16 or bfloat16
    B          [k, n] or [batch, k, n], fastest as the transposed view of an array [n, k]
    C          sparse [m, n]; a weft.csr or a sparse matrix of SciPy, of A's data type, as
               `indicator` also of another or of bools
    out        the values, [nnz] or [batch, nnz], in C's order; A's data type, or float32 for halves
    indicator  C says where, and its values, of any data type, are no factors

    A or B, or both, may be sparse matrices too: then there is no batch.

    Returns a sparse matrix of C's kind and pattern, with `out` as its values where that is given.
    Sums are float32 (float64 for float64). Raises ValueError (shapes), TypeError (data types,
    places), MemoryError, DeviceError.

    >>> C = weft.csr(np.array([[1, 0], [0, 2]], np.float32))
    >>> weft.sddmm(np.ones((2, 3), np.float32), np.ones((3, 2), np.float32), C).values
    array([3., 6.], dtype=float32)
    """
    C, wrap = sparse_operand(C, "C")
    alpha, beta = number_of(alpha, "alpha"), beta_of(beta, out)
    indicator = flag_of(indicator, "indicator")
    if _is_sparse(A) or _is_sparse(B):
        return wrap(C.with_values(_sddmm_sparse(A, B, C, alpha, beta, out, indicator)))
    call = SparseCall(A, B, C, out)
    call.require_here(C, "C")
    A, B = call.operand(A), call.operand(B)
    C = _pattern_of(C, A.dtype) if indicator else C
    shape = (*A.shape[:-2], C.nnz)
    S, X, Y = call.matrix(C), call.input(A), call.input(B)
    D = call.output(out, shape, result_dtype(out, A.dtype))
    params = _sddmm_pool.take()
    params.struct.indicator = indicator
    return wrap(C.with_values(call.run_sparse(lib.weft_sddmm, _sddmm_pool, params, alpha, X, Y, S,
                                              beta, D)))


def _sddmm_sparse(A: Any, B: Any, C: csr, alpha: float, beta: float, out: Array,
                  indicator: bool) -> Array:
    """Of B by columns, which are the rows of its transpose."""
    A = sparse_operand(A)[0] if _is_sparse(A) else A
    B = sparse_operand(B, "B")[0].T if _is_sparse(B) else _swapped(B)
    C = _pattern_of(C, (A if isinstance(A, csr) else _array(A)).dtype) if indicator else C
    call = SparseCall(A, B, C, out)
    call.require_here(C, "C")
    factors, kept = [], []
    for x in (A, B):
        factor = ffi.new("weft_factor *")
        if isinstance(x, csr):
            kept.append(call.matrix(x))
            factor.sparse = kept[-1]
        else:
            kept.append(call.input(call.operand(x)))
            factor.dense = kept[-1]
        factors.append(factor)
    S = call.matrix(C)
    D = call.output(out, (C.nnz,), result_dtype(out, C.dtype))
    params = _sddmm_sparse_pool.take()
    params.struct.indicator = indicator
    return call.run_sparse(lib.weft_sddmm_sparse, _sddmm_sparse_pool, params, alpha, *factors, S,
                           beta, D)


# ---- softmax

def sparse_softmax(X: Sparse, *, scale: float = 1.0, out: Array = None) -> Sparse:
    """softmax(scale x) over the entries of each row. What is not stored counts as -inf, not 0.

    X    a weft.csr, also of a batch, or a sparse matrix of SciPy; float32, float64, float16 or
         bfloat16
    out  the values; X's own may be overwritten

    Returns a matrix of X's kind and pattern. A row whose entries are all -inf has 0. Raises
    ValueError (a scale that is not finite, shapes), TypeError, MemoryError, DeviceError.

    >>> X = weft.csr((np.array([3, 3, 1], np.float32), [0, 2, 1], [0, 2, 3]), (2, 3))
    >>> weft.sparse_softmax(X).to_dense()
    array([[0.5, 0. , 0.5],
           [0. , 1. , 0. ]], dtype=float32)
    """
    X, wrap = sparse_operand(X, "X")
    call = SparseCall(X, out)
    call.require_here(X, "X")
    S, Y = call.matrix(X), call.output(out, X.values.shape, X.dtype)
    return wrap(X.with_values(call.run_sparse(lib.weft_sparse_softmax, _softmax_pool,
                                              _softmax_pool.take(),
                                              number_of(scale, "scale"), S, Y)))


def _values_like(x: Any, Y: csr, name: str) -> Array:
    """Of a matrix of Y's pattern, or as they are."""
    if not _is_sparse(x):
        return x
    x, _ = sparse_operand(x, name)
    if x.shape != Y.shape or x.nnz != Y.nnz:
        raise ValueError(f"{name} is {x.shape[0]} x {x.shape[1]} with {x.nnz} entries, not of the "
                         f"pattern of {Y.shape[0]} x {Y.shape[1]} with {Y.nnz}")
    return x.values


def sparse_softmax_backward(Y: Sparse, dY: Any, *, scale: float = 1.0, out: Array = None) -> Sparse:
    """The gradient by X's values: scale y (dy - sum(y dy)), from Y = sparse_softmax(X) and the
    gradient by Y's.

    dY   values [nnz], or a sparse matrix of Y's pattern; Y's data type
    out  the values; Y's or dY's own may be overwritten

    Returns a matrix of Y's kind and pattern. Raises as sparse_softmax().

    >>> Y = weft.csr(np.full((1, 2), 0.5, np.float32))
    >>> weft.sparse_softmax_backward(Y, np.array([1, 0], np.float32)).values
    array([ 0.25, -0.25], dtype=float32)
    """
    Y, wrap = sparse_operand(Y, "Y")
    dY = _values_like(dY, Y, "dY")
    call = SparseCall(Y, dY, out)
    call.require_here(Y, "Y")
    S, G = call.matrix(Y), call.input(call.operand(dY))
    dX = call.output(out, Y.values.shape, Y.dtype)
    return wrap(Y.with_values(call.run_sparse(lib.weft_sparse_softmax_backward, _softmax_pool,
                                              _softmax_pool.take(),
                                              number_of(scale, "scale"), S, G, dX)))


# ---- attention

def _scale_of(scale: float | None, k: int) -> float:
    return 1 / math.sqrt(max(k, 1)) if scale is None else number_of(scale, "scale")


def _refuse_numbers(**operands: Array) -> None:
    for name, x in operands.items():
        if len(x.shape) < 2:
            raise ValueError(f"{name} has {len(x.shape)} dimensions: 2 to 4 are wanted")


def sparse_attention(Q: Array, K: Array, V: Array, M: Sparse, *, scale: float | None = None,
                     out: Array = None) -> Array:
    """softmax(scale Q K^T) V, where row i attends to the columns of row i of M only.

    Q      [m, k], with up to two more axes in front; float32, float64, float16 or bfloat16
    K, V   [n, k] and [n, d], with the same axes in front, and data type
    M      sparse [m, n]: its pattern, for all matrices; a weft.csr or a sparse matrix of SciPy, of
           any data type or bools
    scale  None: 1 / sqrt(k)
    out    [..., m, d]

    Returns an array of Q's kind. Rows without entries give 0. Products and weights are not stored,
    unless V is wide. Raises ValueError (shapes, a scale that is not finite), TypeError (data
    types), MemoryError, DeviceError.

    >>> M = weft.csr(np.tril(np.ones((2, 2), np.float32)))
    >>> x = np.array([[1, 0], [0, 1]], np.float32)
    >>> weft.sparse_attention(x, x, x, M, scale=0)
    array([[1. , 0. ],
           [0.5, 0.5]], dtype=float32)
    """
    M, _ = sparse_operand(M, "M")
    call = SparseCall(Q, K, V, M, out)
    Q, K, V = call.operand(Q), call.operand(K), call.operand(V)
    _refuse_numbers(Q=Q, K=K, V=V)
    shape = (*Q.shape[:-1], V.shape[-1])
    S, q, k, v = call.matrix(M), call.input(Q), call.input(K), call.input(V)
    O = call.output(out, shape, Q.dtype)
    return call.run_sparse(lib.weft_sparse_attention, _attention_pool, _attention_pool.take(),
                           _scale_of(scale, Q.shape[-1]), q, k, v, S, O)


def sparse_attention_backward(dO: Array, Q: Array, K: Array, V: Array, M: Sparse, *,
                              scale: float | None = None) -> tuple[Array, Array, Array]:
    """The gradients by Q, K and V, from dO, that by sparse_attention(Q, K, V, M).

    The weights are computed again: memory for three numbers of each entry and matrix. Operands and
    errors are those of sparse_attention(); on a device more than three axes are to be contiguous.

    Returns (dQ, dK, dV), arrays of dO's kind.

    >>> M = weft.csr(np.tril(np.ones((2, 2), np.float32)))
    >>> x = np.eye(2, dtype=np.float32)
    >>> dQ, dK, dV = weft.sparse_attention_backward(x, x, x, x, M, scale=0)
    >>> dV
    array([[1. , 0.5],
           [0. , 0.5]], dtype=float32)
    """
    M, _ = sparse_operand(M, "M")
    wrap = None if is_on_device(dO) else host_array(dO)[1]
    given = [_array(x) for x in (dO, Q, K, V)]
    _refuse_numbers(**dict(zip(("dO", "Q", "K", "V"), given)))
    scale = _scale_of(scale, given[1].shape[-1])
    dO, Q, K, V = (x if len(x.shape) < 4 else x.reshape((-1, *x.shape[-2:])) for x in given)
    if M.batch is not None:
        M = M.with_values(M.values[0])
    T, source = M.transpose()

    P = sparse_softmax(sddmm(Q, _swapped(K), M.with_dtype(Q.dtype), indicator=True), scale=scale)
    dV = spmm(T.with_values(gather(P.values, source)), dO)
    dP = sddmm(dO, _swapped(V), P, indicator=True)
    dS = sparse_softmax_backward(P, dP.values, scale=scale)
    dQ = spmm(dS, K)
    dK = spmm(T.with_values(gather(dS.values, source)), Q)
    results = [dx.reshape(x.shape) for dx, x in zip((dQ, dK, dV), given[1:])]
    dQ, dK, dV = results if wrap is None else (wrap(dx) for dx in results)
    return dQ, dK, dV


# ---- a layer

def sparse_linear(W: Sparse, X: Array, bias: Array = None, *, activation: str | None = None,
                  plan: SpmmPlan | None = None, out: Array = None) -> Array:
    """A layer with sparse weights: activation(W X + bias), for samples in X's columns.

    W           sparse [n_out, n_in]; a weft.csr or a sparse matrix of SciPy
    X           [n_in, n], [batch, n_in, n] or [n_in]; W's data type, any strides: of samples in
                rows it is the transposed view
    bias        [n_out]
    activation  "relu", "gelu", "gelu_tanh", "silu", "sigmoid" or "tanh"
    plan        a weft.SpmmPlan(W)
    out         [n_out, n] and so on; also float32 for halves

    Returns an array of X's kind. Raises as spmm().

    >>> W = weft.csr(np.array([[0, 2], [-1, 0]], np.float32))
    >>> weft.sparse_linear(W, np.array([1, 2], np.float32), activation="relu")
    array([4., 0.], dtype=float32)
    """
    return spmm(W, X, out=out, plan=plan, bias=bias, activation=activation)


def sparse_linear_dx(W: Sparse, dY: Array, beta: float = 0.0, out: Array = None, *,
                     plan: SpmmPlan | None = None) -> Array:
    """The layer's gradient by X: W^T dY + beta out, where dY is that by W X + bias.

    dY    [n_out, n], [batch, n_out, n] or [n_out]
    plan  a weft.SpmmPlan(W, transposed=True), which stays good when W's values change. Without one,
          W is transposed for the call

    Returns an array of dY's kind. Raises as spmm().

    >>> W = weft.csr(np.array([[0, 2], [-1, 0]], np.float32))
    >>> weft.sparse_linear_dx(W, np.array([1, 1], np.float32))
    array([-1.,  2.], dtype=float32)
    """
    if plan is None:
        return spmm(W, dY, 1, beta, out, transposed=True)
    W, _ = sparse_operand(W, "W")
    call = SparseCall(W, dY, out)
    beta = beta_of(beta, out)
    dY = call.operand(dY)
    S, X = call.matrix(W), call.input(dY)
    Y = call.output(out, product_shape(W, dY, True), result_dtype(out, dY.dtype))
    params = _linear_params(beta)
    with using_plan(plan, call, W, True) as handle:
        params.struct.plan = handle
        return call.run_sparse(lib.weft_sparse_linear_dx, _linear_pool, params, S, X, Y)


def _linear_params(beta: float) -> Any:
    params = _linear_pool.take()
    params.struct.plan = params.struct.bias = NULL
    params.struct.activation = code_in(ACTIVATIONS, None, "")
    params.struct.beta = beta
    return params


def sparse_linear_dw(dY: Array, X: Array, W: Sparse, beta: float = 0.0,
                     out: Array = None) -> Sparse:
    """The layer's gradient by W's values: dY X^T at the entries of W, + beta out.

    dY   [n_out, n], [batch, n_out, n] or [n_out]
    X    [n_in, n] and so on
    W    its pattern: values, of any data type or bools, are not read
    out  the values, [nnz] or [batch, nnz]; also float32 for halves

    Returns a matrix of W's kind and pattern. Raises as sddmm().

    >>> W = weft.csr(np.array([[0, 2], [-1, 0]], np.float32))
    >>> dY, X = np.array([1, 10], np.float32), np.array([3, 4], np.float32)
    >>> weft.sparse_linear_dw(dY, X, W).to_dense()
    array([[ 0.,  4.],
           [30.,  0.]], dtype=float32)
    """
    W, wrap = sparse_operand(W, "W")
    call = SparseCall(dY, X, W, out)
    call.require_here(W, "W")
    beta = beta_of(beta, out)
    dY, X = call.operand(dY), call.operand(X)
    W = _pattern_of(W, dY.dtype)
    S, G, x = call.matrix(W), call.input(dY), call.input(X)
    shape = (*dY.shape[:-2], W.nnz)
    dW = call.output(out, shape, result_dtype(out, dY.dtype))
    return wrap(W.with_values(call.run_sparse(lib.weft_sparse_linear_dw, _linear_pool,
                                              _linear_params(beta), G, x, S, dW)))


# ---- products of sparse matrices

def _offsets_of(A: csr, B: csr) -> DType:
    """The type of offsets that holds the product's entries however many they are."""
    most = min(A.shape[0] * B.shape[1], A.nnz * B.nnz)
    return INT32 if most <= MOST_INT32 else INT64


def spgemm(A: Sparse, B: Sparse) -> Sparse:
    """The product of two sparse matrices, as a sparse one, whose columns are sorted.

    A, B  [m, k] and [k, n]; a weft.csr or a sparse matrix of SciPy, of one data type

    Returns a matrix of A's kind, with an entry wherever there is a product of entries, also if
    products cancel. It waits until the number of entries is known. Raises ValueError (shapes, a
    batch), TypeError (data types), MemoryError, DeviceError.

    >>> A = weft.csr(np.array([[0, 2], [3, 0]], np.float32))
    >>> weft.spgemm(A, A).to_dense()
    array([[6., 0.],
           [0., 6.]], dtype=float32)
    """
    (A, wrap), (B, _) = sparse_operand(A), sparse_operand(B, "B")
    if A.batch is not None or B.batch is not None:
        raise ValueError("one of the matrices is a batch")
    m, n = A.shape[0], B.shape[1]
    narrow = A.indices.dtype == B.indices.dtype == INT16 and n <= MOST_INT16
    index_dtype = INT16 if narrow else INT32
    nnz = ffi.new("int64_t *")
    call = SparseCall(A, B)
    factors = call.matrix(A), call.matrix(B)
    counted = call.output(None, (m + 1,), _offsets_of(A, B))
    C = call.result_matrix((m, n), 0, None, None, counted)
    C.dtype, C.index_dtype = factors[0].dtype, lib.WEFT_I16 if narrow else lib.WEFT_I32
    indptr = call.run_sparse(lib.weft_spgemm_count, _spgemm_pool, _spgemm_pool.take(), *factors, C,
                             nnz)
    call = SparseCall(A, B)
    factors = call.matrix(A), call.matrix(B)
    indices = call.output(None, (nnz[0],), index_dtype)
    values = call.output(None, (nnz[0],), A.dtype)
    C = call.result_matrix((m, n), nnz[0], values, indices, call.input(indptr))
    parts = call.run_sparse(lib.weft_spgemm, _spgemm_pool, _spgemm_pool.take(), *factors, C)
    return wrap(made_of(parts[1], parts[0], indptr, (m, n)))


def spgemm_dense(A: Sparse, B: Sparse, alpha: float = 1.0, beta: float = 0.0,
                 out: Array = None) -> Array:
    """The product of two sparse matrices, as a dense one: alpha A B + beta out.

    A, B  as of spgemm()
    out   [m, n], of their data type; read only if beta is not 0

    Returns an array in the host's memory, or on the device that A and B are on. Raises as spgemm().

    >>> A = weft.csr(np.array([[0, 2], [3, 0]], np.float32))
    >>> weft.spgemm_dense(A, A, 0.5)
    array([[3., 0.],
           [0., 3.]], dtype=float32)
    """
    (A, _), (B, _) = sparse_operand(A), sparse_operand(B, "B")
    alpha, beta = number_of(alpha, "alpha"), beta_of(beta, out)
    call = SparseCall(A, B, out)
    factors = call.matrix(A), call.matrix(B)
    C = call.output(out, (A.shape[0], B.shape[1]), A.dtype)
    return call.run_sparse(lib.weft_spgemm_dense, _spgemm_pool, _spgemm_pool.take(), alpha,
                           *factors, beta, C)
