# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices in compressed columns, which are their transposes in compressed rows."""
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from weft._arrays import Array, is_on_device
from weft._dtypes import DType
from weft._sparse import Shape, csr, is_scipy, shape_of


class csc:
    """A sparse matrix by columns: column c has the entries indptr[c] to indptr[c + 1] - 1, entry e
    the row indices[e] and the number values[e]. The same arrays are the transpose by rows.

    csc(S)     of a sparse matrix or array of SciPy; of its own arrays, if it is a CSC of floats
    csc((values, indices, indptr), shape)
               of arrays as weft.csr() takes them: `indices` are rows, `indptr` has a place for each
               column and one more
    csc(A)     of a weft.csr, by a kernel
    csc(D)     of a dense matrix, with `threshold` as of weft.csr()

    index_dtype, check  as of weft.csr()

    A.T is a weft.csr of the same arrays, and costs nothing; so do A.T @ B and B @ A. A @ B is
    weft.spmm(), which makes the matrix by rows for the call unless it gets a plan. Operations that
    take a weft.csr take A.to_csr().

    Raises as weft.csr(); messages are of the transpose by rows.

    >>> A = weft.csc(np.array([[0, 5, 0], [6, 0, 7]], np.float32))
    >>> A.shape, A.values.tolist(), A.indices.tolist(), A.indptr.tolist()
    ((2, 3), [6.0, 5.0, 7.0], [1, 0, 1], [0, 1, 2, 3])
    >>> A @ np.array([1, 2, 3], np.float32)
    array([10., 27.], dtype=float32)
    >>> with weft.SpmmPlan(A) as plan: # analyses the pattern once, for many products
    ...     weft.spmm(A, np.array([1, 2, 3], np.float32), plan=plan)
    array([10., 27.], dtype=float32)
    """

    __slots__ = ("_rows", "__weakref__")
    __array_ufunc__ = None  # NumPy's operators leave x @ A to A

    _rows: csr

    def __init__(self, A: Any, shape: Any = None, *, threshold: float = 0.0,
                 index_dtype: npt.DTypeLike | None = None, check: bool = True) -> None:
        turned: Any = None
        if isinstance(A, (csc, csr)):
            A, check = A.T, False
        elif is_scipy(A):
            A = A.tocsc().T
        elif isinstance(A, tuple):
            turned = None if shape is None else shape_of(shape)[::-1]
        else:
            A = (A if hasattr(A, "T") else np.asarray(A)).T
        try:
            self._rows = csr(A, turned, threshold=threshold, index_dtype=index_dtype, check=check)
        except ValueError as error:
            raise ValueError(f"of the transpose by rows: {error}") from None

    # ---- what it is

    @property
    def shape(self) -> Shape:
        """Rows and columns."""
        n_cols, n_rows = self._rows.shape
        return n_rows, n_cols

    @property
    def values(self) -> Array:
        """[nnz], or [batch, nnz] for several matrices of one pattern."""
        return self._rows.values

    @values.setter
    def values(self, values: Array) -> None:
        self._rows.values = values

    @property
    def indices(self) -> Array:
        """The row of each entry."""
        return self._rows.indices

    @property
    def indptr(self) -> Array:
        """Where columns begin, and the end of the last one."""
        return self._rows.indptr

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return self._rows.nnz

    @property
    def dtype(self) -> DType:
        """Of the values."""
        return self._rows.dtype

    @property
    def batch(self) -> int | None:
        """How many matrices have this pattern, each with values of its own; None: one."""
        return self._rows.batch

    def __repr__(self) -> str:
        place = "a device" if is_on_device(self.values) else "the host"
        batch = "" if self.batch is None else f"{self.batch} matrices of "
        return (f"<weft.csc: {batch}{self.shape[0]} x {self.shape[1]}, {self.nnz} entries of "
                f"{self.dtype} on {place}>")

    # ---- the same in other forms

    @property
    def T(self) -> csr:
        """The transpose, by rows: of the same arrays.

        >>> weft.csc(np.array([[0, 5, 0], [6, 0, 7]], np.float32)).T.to_dense()
        array([[0., 6.],
               [5., 0.],
               [0., 7.]], dtype=float32)
        """
        return self._rows

    def to_csr(self) -> csr:
        """By rows, of the values that there are now, which a kernel puts there. Columns are sorted.

        >>> weft.csc(np.array([[0, 5, 0], [6, 0, 7]], np.float32)).to_csr().values.tolist()
        [5.0, 6.0, 7.0]
        """
        return self._rows.T

    def with_values(self, values: Array) -> csc:
        """A matrix of this pattern, which is shared, with other values, [nnz] or [batch, nnz]."""
        return _made(self._rows.with_values(values))

    def get(self) -> csc:
        """In the host's memory."""
        return _made(self._rows.get()) if is_on_device(self.values) else self

    def to_device(self, queue: Any) -> csc:
        """In arrays of PyOpenCL, on the device of its queue."""
        return _made(self._rows.to_device(queue))

    def to_scipy(self) -> Any:
        """As scipy.sparse.csc_array, as weft.csr.to_scipy()."""
        return self._rows.to_scipy().T

    def to_dense(self, out: Array = None) -> Array:
        """As a dense array, as weft.csr.to_dense().

        >>> weft.csc((np.array([1, 2.5], np.float32), [1, 1], [0, 0, 2]), (2, 2)).to_dense()
        array([[0. , 0. ],
               [0. , 3.5]], dtype=float32)
        """
        return self.to_csr().to_dense(out)

    # ---- products

    def __matmul__(self, other: Any) -> Any:
        """weft.spmm() by a dense matrix or vector, weft.spgemm() by a sparse one, by rows."""
        from weft import _spmm

        if isinstance(other, (csr, csc)) or is_scipy(other):
            return self.to_csr() @ other
        return _spmm.spmm(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from weft import _spmm

        if is_scipy(other):
            return csr(other) @ self
        B = other if hasattr(other, "T") else np.asarray(other)
        return _spmm.spmm(self._rows, B.T).T


def _made(rows: csr) -> csc:
    A = csc.__new__(csc)
    A._rows = rows
    return A
