# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices in compressed rows, and calls that have them as operands."""
from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from typing import Any, Callable, Tuple

import numpy as np
import numpy.typing as npt

from weft._arrays import Array, address_of, host_array, is_on_device, shapes_text
from weft._binding import NULL, Params, ParamsPool, check
from weft._call import Call
from weft._dtypes import FLOAT32, FLOATS, HALVES, DType, code_of, dtype_of
from weft._values import MOST_INT64, number_of, shown, whole_of
from weft._weft import ffi, lib

Shape = Tuple[int, int]
Sparse = Any  # a csr, or a matrix of scipy.sparse
WrapSparse = Callable[["csr"], Sparse]  # from a csr to the operand's type

BOOL: DType = np.dtype(np.bool_)
INT16: DType = np.dtype(np.int16)
INT32: DType = np.dtype(np.int32)
INT64: DType = np.dtype(np.int64)
MOST_INT16, MOST_INT32 = 2**15 - 1, 2**31 - 1


def pool_of(name: str) -> ParamsPool[Params]:
    return ParamsPool(name, Params)


def is_scipy(x: object) -> bool:
    """Whether it is a sparse matrix of SciPy, which is not imported for that."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(x))


# ---- the three arrays

def _integers(x: Any, name: str, dtypes: tuple[DType, ...], wanted: DType | None) -> Array:
    """As it is where it is of one of these data types, and of the wanted one."""
    if is_on_device(x):
        if x.dtype not in dtypes or wanted not in (None, x.dtype):
            raise TypeError(f"{name} of {x.dtype} on a device: {wanted or dtypes[0]} is wanted")
        if x.ndim != 1 or not x.flags.c_contiguous:
            raise ValueError(f"{name} has strides or {x.ndim} dimensions: one, contiguous, is "
                             "wanted")
        return x
    array, _ = host_array(x)
    if array.size == 0 and array.dtype.kind == "f" and array.ndim == 1:
        array = array.astype(dtypes[0])  # of an empty list
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} of {array.dtype}: whole numbers are wanted")
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions: 1 is wanted")
    dtype = wanted or (array.dtype if array.dtype in dtypes else dtypes[0])
    if dtype != array.dtype and array.size:
        most = np.iinfo(dtype).max
        if int(array.min()) < 0 or int(array.max()) > most:
            raise ValueError(f"{name} of {int(array.min())} to {int(array.max())}: {dtype} has 0 "
                             f"to {most}")
    return _frozen(np.ascontiguousarray(array, dtype))


def _frozen(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A view that cannot be written: the pattern has been checked."""
    view = x.view()
    view.flags.writeable = False
    return view


def _floats(x: Array) -> Array:
    """Bools as float32."""
    if x.dtype != BOOL:
        return x
    return _converted(x, FLOAT32) if is_on_device(x) else x.astype(FLOAT32)


def _converted(x: Array, dtype: DType) -> Array:
    """On a device, also from bools and to bfloat16, which PyOpenCL does not know."""
    from weft._elementwise import elementwise

    return elementwise("x", x=x, dtype=dtype)


def _numbers(x: Any, nnz: int) -> Array:
    """Values, [nnz] or [batch, nnz]."""
    if is_on_device(x):
        if not x.flags.c_contiguous:
            raise ValueError("values on a device have strides: they are to be contiguous")
        values = x
    else:
        array, _ = host_array(x)
        if array.size == 0 and array.dtype not in FLOATS:
            array = array.astype(FLOAT32)
        native = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        values = native if native.flags.c_contiguous else np.ascontiguousarray(native)
    values = _floats(values)
    if values.dtype not in FLOATS:
        raise TypeError(f"values of {values.dtype}: float32, float64, float16 or bfloat16 is "
                        "wanted")
    if len(values.shape) not in (1, 2) or values.shape[-1] != nnz:
        raise ValueError(f"values have the shape {tuple(values.shape)}, of {nnz} entries")
    return values


def shape_of(shape: Any) -> Shape:
    if not isinstance(shape, Iterable):
        raise TypeError(f"shape is {shown(shape)}: two whole numbers are wanted")
    extents = tuple(shape)
    if len(extents) != 2:
        raise ValueError(f"shape is {shown(shape)}: two whole numbers are wanted")
    return (whole_of(extents[0], "the number of rows", 0, MOST_INT64),
            whole_of(extents[1], "the number of columns", 0, MOST_INT64))


def _parts_of_scipy(A: Any) -> tuple[Any, Any, Any]:
    """Of its own arrays if it is by rows."""
    by_rows = A.tocsr()
    nnz = int(by_rows.indptr[-1]) if by_rows.indptr.size else 0
    return by_rows.data[:nnz], by_rows.indices[:nnz], by_rows.indptr


class csr:
    """A sparse matrix by rows: row r has the entries indptr[r] to indptr[r + 1] - 1, entry e the
    column indices[e] and the number values[e].

    csr(S)     of a sparse matrix or array of SciPy; of its own arrays, if it is a CSR of floats;
               or of another weft.csr
    csr((values, indices, indptr), shape)
               of arrays, all of the host's memory or all of PyOpenCL, which are not copied if they
               are contiguous and of these data types:
                 values   [nnz], or [batch, nnz] for several matrices of one pattern; float32,
                          float64, float16 or bfloat16
                 indices  int32, or int16 for up to 32768 columns; others are converted
                 indptr   int32 or int64; others are converted
    csr(D)     of a dense matrix: the elements that are not 0, or whose absolute value is above
               `threshold`, computed on D's device

    Bools, as of a mask, become float32.

    index_dtype  of the indices, "int16" or "int32"; None: as they are, else int32

    Columns need not be sorted; one that occurs twice in a row counts twice. The library checks the
    pattern, also that of arrays on a device, which are read for that; `check=False` trusts it.
    Indices outside the matrix then make kernels read outside of memory. The pattern must not change
    afterwards, values may.

    Raises ValueError (shapes, a pattern that is not sound), TypeError (data types), MemoryError,
    DeviceError.

    >>> A = weft.csr(np.array([[0, 5, 0], [6, 0, 7]], np.float32))
    >>> A.shape, A.nnz, A.indices.tolist(), A.indptr.tolist()
    ((2, 3), 3, [1, 0, 2], [0, 1, 3])
    >>> A @ np.array([[1, 0], [0, 1], [1, 1]], np.float32)
    array([[ 0.,  5.],
           [13.,  7.]], dtype=float32)
    """

    __slots__ = ("shape", "values", "indices", "indptr", "__weakref__")
    __array_ufunc__ = None  # NumPy's operators leave x @ A to A

    shape: Shape
    values: Array
    indices: Array
    indptr: Array

    def __init__(self, A: Any, shape: Any = None, *, threshold: float = 0.0,
                 index_dtype: npt.DTypeLike | None = None, check: bool = True) -> None:
        wanted = None if index_dtype is None else dtype_of(index_dtype)
        if wanted not in (None, INT16, INT32):
            raise TypeError(f"indices of {wanted}: int16 or int32 is wanted")
        threshold = number_of(threshold, "threshold")
        if threshold != 0 and (isinstance(A, (csr, tuple)) or is_scipy(A)):
            raise ValueError(f"threshold is {threshold:g}, which is for a dense matrix")
        given = None if shape is None else shape_of(shape)
        if isinstance(A, csr):
            parts, shape, check = (A.values, A.indices, A.indptr), A.shape, False
        elif is_scipy(A):
            if len(A.shape) != 2:
                raise ValueError(f"a sparse array of {len(A.shape)} dimensions: 2 are wanted")
            parts, shape = _parts_of_scipy(A), shape_of(A.shape)
        elif isinstance(A, tuple):
            if len(A) != 3 or given is None:
                raise ValueError("(values, indices, indptr) and a shape are wanted")
            parts, shape = A, given
        else:
            D = _dense_to_csr(A, threshold, wanted)
            parts, shape, check = (D.values, D.indices, D.indptr), D.shape, False
        if given not in (None, shape):
            raise ValueError(f"shape is {shapes_text([given])}, the matrix {shapes_text([shape])}")
        self._fill(parts, shape, wanted)
        if check:
            _check(self)

    def _fill(self, parts: tuple[Any, Any, Any], shape: Shape, wanted: DType | None) -> None:
        values, indices, indptr = parts
        if len({is_on_device(part) for part in parts}) != 1:
            raise TypeError("some of values, indices and indptr are on a device, not all")
        self.shape = shape
        self.indices = _integers(indices, "indices", (INT32, INT16), wanted)
        self.indptr = _integers(indptr, "indptr", (INT32, INT64), None)
        self.values = _numbers(values, self.indices.shape[0])
        if self.indptr.shape[0] != shape[0] + 1:
            raise ValueError(f"indptr has {self.indptr.shape[0]} elements, of {shape[0]} rows")

    # ---- what it is

    @property
    def nnz(self) -> int:
        """How many entries are stored."""
        return int(self.indices.shape[0])

    @property
    def data(self) -> Array:
        """The values, under SciPy's name."""
        return self.values

    @property
    def ndim(self) -> int:
        """2, also of a batch, as `shape` is of one matrix."""
        return 2

    @property
    def dtype(self) -> DType:
        """Of the values."""
        return self.values.dtype

    @property
    def batch(self) -> int | None:
        """How many matrices have this pattern, each with values of its own; None: one."""
        return int(self.values.shape[0]) if len(self.values.shape) == 2 else None

    def __reduce__(self) -> tuple[Any, ...]:
        """For copy.copy(), which shares the arrays, and pickle, of the host's alone."""
        return made_of, (self.values, self.indices, self.indptr, self.shape)

    def __deepcopy__(self, memo: dict[int, Any]) -> csr:
        return self.copy()

    def __repr__(self) -> str:
        place = "a device" if is_on_device(self.values) else "the host"
        batch = "" if self.batch is None else f"{self.batch} matrices of "
        return (f"<weft.csr: {batch}{self.shape[0]} x {self.shape[1]}, {self.nnz} entries of "
                f"{self.dtype} on {place}>")

    # ---- the same in other forms

    def with_values(self, values: Array) -> csr:
        """A matrix of this pattern, which is shared, with other values, [nnz] or [batch, nnz].

        >>> A = weft.csr(np.eye(2, dtype=np.float32)).with_values(np.array([3, 4], np.float32))
        >>> A.to_dense()
        array([[3., 0.],
               [0., 4.]], dtype=float32)
        """
        if is_on_device(values) != is_on_device(self.indices):
            raise TypeError("values and pattern are to be both on a device or both on the host")
        return _made(_numbers(values, self.nnz), self.indices, self.indptr, self.shape)

    def copy(self) -> csr:
        """A matrix with a copy of the values. The pattern, which does not change, is shared.

        >>> A = weft.csr(np.eye(2, dtype=np.float32))
        >>> B = A.copy()
        >>> B.values[0] = 5
        >>> A.values.tolist(), B.values.tolist()
        ([1.0, 1.0], [5.0, 1.0])
        """
        return self.with_values(self.values.copy())

    def astype(self, dtype: npt.DTypeLike) -> csr:
        """With values of another data type, float32, float64, float16 or bfloat16; a copy, too, if
        it is theirs. The pattern is shared.

        >>> weft.csr(np.eye(2, dtype=np.float32)).astype("float16").dtype
        dtype('float16')
        """
        wanted = dtype_of(dtype)
        if wanted not in FLOATS:
            raise TypeError(f"values of {wanted}: float32, float64, float16 or bfloat16 is wanted")
        if not is_on_device(self.values):
            return self.with_values(self.values.astype(wanted))
        return self.with_values(_converted(self.values, wanted))

    def with_dtype(self, dtype: DType) -> csr:
        """For operations that use the pattern only: values of this data type, of any kind."""
        if self.dtype == dtype:
            return self
        values = np.zeros(self.values.shape, dtype)
        if is_on_device(self.values):
            from pyopencl import array

            values = array.to_device(self.values.queue, values)
        return self.with_values(values)

    def get(self) -> csr:
        """In the host's memory."""
        if not is_on_device(self.values):
            return self
        return _made(self.values.get(), _frozen(self.indices.get()), _frozen(self.indptr.get()),
                     self.shape)

    def to_device(self, queue: Any) -> csr:
        """In arrays of PyOpenCL, on the device of its queue."""
        from pyopencl import array

        host = self.get()
        values, indices, indptr = (array.to_device(queue, part) for part in
                                   (host.values, host.indices, host.indptr))
        return _made(values, indices, indptr, self.shape)

    def to_scipy(self) -> Any:
        """As scipy.sparse.csr_array, in the host's memory: of the same arrays where they are there
        and SciPy takes them. float16 and bfloat16, which it does not, become float32. ValueError
        for a batch."""
        import scipy.sparse

        if self.batch is not None:
            raise ValueError("a batch of matrices is no matrix of SciPy's")
        host = self.get()
        values = host.values.astype(FLOAT32) if host.dtype in HALVES else host.values
        indptr = host.indptr
        indices = host.indices.astype(indptr.dtype if indptr.dtype == INT64 else INT32, copy=False)
        return scipy.sparse.csr_array((values, indices, indptr), shape=self.shape)

    def to_dense(self, out: Array = None) -> Array:
        """As a dense array [m, n], or [batch, m, n]: NumPy's, or PyOpenCL's of the same device.
        Entries that share a place are added.

        >>> weft.csr((np.array([1, 2.5], np.float32), [1, 1], [0, 0, 2]), (2, 2)).to_dense()
        array([[0. , 0. ],
               [0. , 3.5]], dtype=float32)
        """
        shape = self.shape if self.batch is None else (self.batch, *self.shape)
        call = SparseCall(self, out)
        A, D = call.matrix(self), call.output(out, shape, self.dtype)
        params = _dense_pool.take()
        params.struct.threshold = 0
        return call.run_sparse(lib.weft_csr_to_dense, _dense_pool, params, A, D)

    def toarray(self) -> Array:
        """to_dense(), under SciPy's name."""
        return self.to_dense()

    @property
    def T(self) -> csr:
        """The transpose, which a kernel makes of the values that there are now. Its columns are
        sorted.

        >>> weft.csr(np.array([[0, 5, 0], [6, 0, 7]], np.float32)).T.to_dense()
        array([[0., 6.],
               [5., 0.],
               [0., 7.]], dtype=float32)
        """
        return self.transpose()[0]

    def transpose(self) -> tuple[csr, Array]:
        """The transpose, and for each of its entries the position of the same entry in this matrix.

        >>> T, source = weft.csr(np.array([[0, 5], [6, 7]], np.float32)).transpose()
        >>> T.values.tolist(), source.tolist()
        ([6.0, 5.0, 7.0], [1, 0, 2])
        """
        (m, n), nnz, integer = self.shape, self.nnz, self.indptr.dtype
        call = SparseCall(self)
        A = call.matrix(self if self.batch is None else self._of_batch(0))
        indptr = call.output(None, (n + 1,), integer)
        indices = call.output(None, (nnz,), self.indices.dtype if m <= MOST_INT16 else INT32)
        values = call.output(None, (nnz,), self.dtype)
        source = call.output(None, (nnz,), integer)
        T = call.result_matrix((n, m), nnz, values, indices, indptr)
        params = _transpose_pool.take()
        params.struct.source = source
        parts = call.run_sparse(lib.weft_csr_transpose, _transpose_pool, params, A, T)
        if self.batch is not None:
            parts = (*parts[:2], gather(self.values, parts[3]), parts[3])
        return made_of(parts[2], parts[1], parts[0], (n, m)), parts[3]

    def _of_batch(self, i: int) -> csr:
        return _made(self.values[i], self.indices, self.indptr, self.shape)

    # ---- products

    def __matmul__(self, other: Any) -> Any:
        """weft.spmm() by a dense matrix or vector, weft.spgemm() by a sparse one."""
        from weft import _csc, _sparse_ops, _spmm

        if isinstance(other, _csc.csc):
            other = other.to_csr()
        if isinstance(other, csr) or is_scipy(other):
            return _sparse_ops.spgemm(self, other)
        return _spmm.spmm(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        from weft import _sparse_ops, _spmm

        if is_scipy(other):
            return _sparse_ops.spgemm(csr(other), self)
        B = other if hasattr(other, "T") else np.asarray(other)
        return _spmm.spmm(self.T, B.T).T


def _made(values: Array, indices: Array, indptr: Array, shape: Shape) -> csr:
    """Of parts that are what they are to be."""
    A = csr.__new__(csr)
    A.values, A.indices, A.indptr, A.shape = values, indices, indptr, shape
    return A


def made_of(values: Array, indices: Array, indptr: Array, shape: Shape) -> csr:
    """Of arrays that a call has made."""
    if not is_on_device(indices):
        values, indices, indptr = _numpy(values), _frozen(_numpy(indices)), _frozen(_numpy(indptr))
    return _made(values, indices, indptr, shape)


def sparse_operand(A: Sparse, name: str = "A") -> tuple[csr, WrapSparse]:
    """The operand as a csr, and what makes a result of its kind."""
    if isinstance(A, csr):
        return A, _as_it_is
    if not is_scipy(A):
        by_rows = ", as of its to_csr()," if hasattr(A, "to_csr") else ""
        raise TypeError(f"{name} is a {type(A).__name__}: a weft.csr{by_rows} or a sparse matrix "
                        "of SciPy is wanted")
    from scipy.sparse import csr_matrix, isspmatrix

    matrix = isspmatrix(A)
    return csr(A), lambda C: csr_matrix(C.to_scipy()) if matrix else C.to_scipy()


def _as_it_is(A: csr) -> Sparse:
    return A


# ---- calls

class SparseCall(Call):
    """A call whose operands are matrices, too. Their structs are filled in when their arrays have
    buffers."""

    __slots__ = ("_matrices",)

    def __init__(self, *operands: Any) -> None:
        self._matrices: list[tuple[Any, tuple[Any, Any, Any]]] = []
        super().__init__(*(x.values if isinstance(x, csr) else x for x in operands))

    @property
    def waits(self) -> bool:
        """Whether results are complete when the call returns."""
        return self._device_array is None

    def require_here(self, A: csr, name: str) -> None:
        """For matrices whose pattern the result has."""
        if self.waits == is_on_device(A.values):
            where = "the host's memory: to_device()" if self.waits is False else "a device: get()"
            raise TypeError(f"{name} is in {where} brings it to the other operands")

    def matrix(self, A: csr) -> Any:
        """The weft_csr of an operand."""
        parts = self.input(A.values), self.input(A.indices), self.input(A.indptr)
        stride = 0 if A.batch is None else A.nnz
        return self._matrix(A.shape, A.nnz, stride, A.dtype, A.indices.dtype, A.indptr.dtype, parts)

    def result_matrix(self, shape: Shape, nnz: int, values: Any, indices: Any, indptr: Any) -> Any:
        """The weft_csr of a result, of the tensors of its parts; those of none are not written."""
        struct = ffi.new("weft_csr *")
        struct.n_rows, struct.n_cols, struct.nnz = *shape, nnz
        struct.offset_dtype = indptr.dtype
        if indices is not None:
            struct.index_dtype, struct.dtype = indices.dtype, values.dtype
        self._matrices.append((struct, (values, indices, indptr)))
        return struct

    def _matrix(self, shape: Shape, nnz: int, stride: int, dtype: DType, index_dtype: DType,
                offset_dtype: DType, parts: tuple[Any, Any, Any]) -> Any:
        struct = ffi.new("weft_csr *")
        struct.n_rows, struct.n_cols, struct.nnz = *shape, nnz
        struct.dtype = code_of(dtype)
        struct.index_dtype, struct.offset_dtype = code_of(index_dtype), code_of(offset_dtype)
        struct.values_batch_stride = stride
        self._matrices.append((struct, parts))
        return struct

    def _fill_matrices(self) -> None:
        for struct, (values, indices, indptr) in self._matrices:
            struct.offsets, struct.offsets_start = indptr.buffer, indptr.offset
            if indices is not None:
                struct.indices, struct.indices_start = indices.buffer, indices.offset
                struct.values, struct.values_start = values.buffer, values.offset

    def run_sparse(self, function: Any, pool: Any, params: Any, *arguments: Any) -> Any:
        return self.run(functools.partial(self._filled, function), pool, params, *arguments)

    def _filled(self, function: Any, *arguments: Any) -> int:
        self._fill_matrices()
        return int(function(*arguments))

    def run_blocking(self, function: Any, *arguments: Any) -> None:
        """Of functions without an event, which return when they are done: function(context, queue,
        arguments ...)."""
        if self.recorder is not None:
            self.recorder.refuse_blocking()
        try:
            if self._hosts:
                self.bind()
            if self._events:
                sys.modules["pyopencl"].wait_for_events(self._events)
            self._fill_matrices()
            check(function(self.place.ctx, self.place.queue, *arguments))
        except BaseException as error:
            self.finish_queue(error)
            raise
        finally:
            self.release()


_dense_pool = pool_of("weft_csr_dense_params")
_transpose_pool = pool_of("weft_csr_transpose_params")
_gather_pool = pool_of("weft_sparse_gather_params")


def _check(A: csr) -> None:
    """That offsets rise from 0 to nnz, and that all columns are inside."""
    if is_on_device(A.values):
        call = SparseCall(A)
        call.run_blocking(lib.weft_csr_check, call.matrix(A), lib.WEFT_CSR_SOUND, NULL)
        return
    host = ffi.new("weft_csr_host *")
    host.n_rows, host.n_cols, host.nnz = *A.shape, A.nnz
    host.dtype = code_of(A.dtype)
    host.index_dtype, host.offset_dtype = code_of(A.indices.dtype), code_of(A.indptr.dtype)
    host.offsets, host.indices, host.values = (ffi.cast("void *", address_of(part)) for part in
                                               (A.indptr, A.indices, A.values))
    check(lib.weft_csr_host_check(host, lib.WEFT_CSR_SOUND))


def _dense_to_csr(D: Array, threshold: float, wanted: DType | None) -> csr:
    D = _floats(Call(D).operand(D))
    call = SparseCall(D)
    if len(D.shape) != 2:
        raise ValueError(f"an array of {len(D.shape)} dimensions is no matrix")
    m, n = shape_of(D.shape)
    integer = INT32 if m * n <= MOST_INT32 else INT64
    nnz = ffi.new("int64_t *")
    indptr_tensor = call.output(None, (m + 1,), integer)
    A = call.result_matrix((m, n), 0, None, None, indptr_tensor)
    A.dtype, A.index_dtype = code_of(D.dtype), code_of(wanted or INT32)
    params = _dense_pool.take()
    params.struct.threshold = threshold
    indptr = call.run_sparse(lib.weft_dense_to_csr_count, _dense_pool, params, call.input(D), A,
                             nnz)
    call = SparseCall(D)
    indices = call.output(None, (nnz[0],), wanted or INT32)
    values = call.output(None, (nnz[0],), D.dtype)
    A = call.result_matrix((m, n), nnz[0], values, indices, call.input(_numpy(indptr)))
    params = _dense_pool.take()
    params.struct.threshold = threshold
    parts = call.run_sparse(lib.weft_dense_to_csr, _dense_pool, params, call.input(D), A)
    return made_of(parts[1], parts[0], indptr, (m, n))


def _numpy(x: Array) -> Array:
    """Matrices have arrays of NumPy or PyOpenCL, whatever a call wraps its results in."""
    return x if is_on_device(x) else host_array(x)[0]


def gather(values: Array, source: Array) -> Array:
    """values[..., source]"""
    call = SparseCall(values)
    shape = (*values.shape[:-1], source.shape[0])
    V, S, out = call.input(values), call.input(source), call.output(None, shape, values.dtype)
    return call.run(lib.weft_sparse_gather, _gather_pool, _gather_pool.take(), V, S, out)

