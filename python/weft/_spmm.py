# SPDX-License-Identifier: Apache-2.0
"""Sparse matrix times dense matrix, and plans for many of these products."""
from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import numpy as np

from weft._arrays import Array, address_of, is_on_device
from weft._binding import NULL, DeviceError, Unshared, check_cl, text_of
from weft._csc import csc
from weft._devices import refuse_child
from weft._dtypes import FLOAT32, HALVES, DType
from weft._sparse import INT64, Sparse, SparseCall, csr, is_scipy, pool_of, sparse_operand
from weft._values import flag_of, number_of, shown, text_arg
from weft._weft import ffi, lib

_pool = pool_of("weft_spmm_params")

ACTIVATIONS: dict[str, int] = {
    text_of(lib.weft_activation_name(code)): code
    for code in (lib.WEFT_ACTIVATION_NONE, lib.WEFT_ACTIVATION_RELU, lib.WEFT_ACTIVATION_GELU,
                 lib.WEFT_ACTIVATION_GELU_TANH, lib.WEFT_ACTIVATION_SILU,
                 lib.WEFT_ACTIVATION_SIGMOID, lib.WEFT_ACTIVATION_TANH)}
REDUCTIONS: dict[str, int] = {
    text_of(lib.weft_spmm_reduction_name(code)): code
    for code in (lib.WEFT_SPMM_SUM, lib.WEFT_SPMM_MEAN, lib.WEFT_SPMM_MAX, lib.WEFT_SPMM_MIN)}


def code_in(codes: dict[str, int], name: str | None, what: str) -> int:
    if name is None:
        return 0
    try:
        return codes[name]
    except (KeyError, TypeError):
        raise ValueError(f"{what} is {shown(name)}: one of {', '.join(codes)} is wanted") from None


def result_dtype(out: Array, dtype: DType) -> DType:
    """Of a result: the operands', or float32 where they are halves and `out` is that."""
    if out is not None and dtype in HALVES and getattr(out, "dtype", None) == FLOAT32:
        return FLOAT32
    return dtype


def by_rows(A: Any, transposed: bool) -> tuple[csr, bool]:
    """What has A's arrays by rows, and whether the product is by the transpose of that."""
    return (A.T, not transposed) if isinstance(A, csc) else (sparse_operand(A)[0], transposed)


def same_array(x: Array, y: Array) -> bool:
    if x is y:
        return True
    if x.shape != y.shape or x.dtype != y.dtype or is_on_device(x) != is_on_device(y):
        return False
    if is_on_device(x):
        if x.base_data is None or y.base_data is None:
            return x.base_data is y.base_data
        return bool(x.base_data.int_ptr == y.base_data.int_ptr and x.offset == y.offset)
    return address_of(x) == address_of(y) or np.array_equal(x, y)


class SpmmPlan(Unshared):
    """An analysis of a matrix's pattern, for many products by it: long rows are cut, and rows are
    ordered such that cores have equal work.

    A             a weft.csr, a weft.csc, which counts as its transpose by rows, or a sparse matrix
                  of SciPy; on a device if the products are there
    transposed    for products by A's transpose, without making it
    row_schedule  "default", "given", "sorted", "snake", "alternating", "queue" or "reuse"

    The plan serves all matrices of this pattern, whatever their values. It owns memory of the
    device until close(), the end of its `with`, or its end. It blocks until it is made. Raises
    ValueError (a pattern that is not sound), MemoryError, DeviceError.

    >>> A = weft.csr(np.array([[0, 5, 0], [6, 0, 7]], np.float32))
    >>> with weft.SpmmPlan(A) as plan:
    ...     weft.spmm(A, np.array([1, 2, 3], np.float32), plan=plan)
    array([10., 27.], dtype=float32)
    """

    def __init__(self, A: Sparse, *, transposed: bool = False,
                 row_schedule: str = "default") -> None:
        self._handle: Any = None
        self._users = 0
        self._is_closed = False
        self._lock = threading.Lock()
        self._queues: dict[int, Any] = {}
        transposed = flag_of(transposed, "transposed")
        A, transposed = by_rows(A, transposed)
        schedule = ffi.new("weft_spmm_row_schedule *")
        if not lib.weft_spmm_row_schedule_find(text_arg(row_schedule, "row_schedule"), schedule):
            raise ValueError(f"there is no row schedule {row_schedule!r}")
        params = ffi.new("weft_spmm_plan_params *")
        params.size = ffi.sizeof("weft_spmm_plan_params")
        params.transpose_a, params.row_schedule = transposed, schedule[0]
        call = SparseCall(A)
        handle = self._handle = ffi.new("weft_spmm_plan **")  # freed after an exception, too
        call.run_blocking(lambda *its: lib.weft_spmm_plan_create(handle, *its), call.matrix(A),
                          params)
        self._context = call.place.context
        self._pattern = A.indices, A.indptr
        self._dtype, self._row_schedule = A.dtype, row_schedule
        self.shape = A.shape
        self.transposed = transposed

    def __repr__(self) -> str:
        of = "the transpose of " if self.transposed else ""
        closed = ", closed" if self._is_closed else ""
        return f"<weft.SpmmPlan: {of}{self.shape[0]} x {self.shape[1]}{closed}>"

    def __enter__(self) -> SpmmPlan:
        self._refuse_closed()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and not sys.is_finalizing():
            with contextlib.suppress(DeviceError, MemoryError):
                self.close()

    def close(self) -> None:
        """Waits for products that use the plan, and frees it. Later products by it raise
        ValueError. May be called again, and from any thread: calls that are being made are
        completed."""
        with self._lock:
            is_last = not self._is_closed and self._users == 0
            self._is_closed = True
        if is_last:
            self._destroy()

    @property
    def closed(self) -> bool:
        return self._is_closed

    def made_anew(self) -> SpmmPlan:
        """Where calls go now, of the pattern in the host's memory."""
        self._refuse_closed()
        indices, indptr = (x.get() if is_on_device(x) else x for x in self._pattern)
        A = csr((np.zeros(indices.shape, self._dtype), indices, indptr), self.shape, check=False)
        return SpmmPlan(A, transposed=self.transposed, row_schedule=self._row_schedule)

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise ValueError("the plan is closed")

    def _destroy(self) -> None:
        queues, self._queues = self._queues, {}
        try:
            refuse_child()
        except DeviceError:  # all of OpenCL is the parent's
            queues = {}
        try:
            for queue in queues.values():
                check_cl(lib.clFinish(queue), "clFinish()")
        finally:
            lib.weft_spmm_plan_destroy(self._handle)
            for queue in queues.values():
                lib.clReleaseCommandQueue(queue)

    @contextlib.contextmanager
    def using(self, call: SparseCall, A: csr, transposed: bool) -> Iterator[Any]:
        """The handle, for one call, during which the plan is not freed."""
        if transposed != self.transposed:
            raise ValueError("the plan is of the transpose, the product by the matrix itself"
                             if self.transposed else
                             "the plan is of the matrix itself, the product by its transpose")
        if call.place.context is not self._context:
            raise ValueError("the plan is of another context than the operands: it is made of a "
                             "matrix that is where they are")
        if A.shape != self.shape or not (same_array(A.indices, self._pattern[0]) and
                                         same_array(A.indptr, self._pattern[1])):
            raise ValueError("the plan is of a matrix of another pattern")
        with self._lock:
            self._refuse_closed()
            self._users += 1
            self._retain(call)
        try:
            yield self._handle[0]
        finally:
            with self._lock:
                self._users -= 1
                is_last = self._is_closed and self._users == 0
            if is_last:
                self._destroy()

    def _retain(self, call: SparseCall) -> None:
        """The queue, if the product does not wait, for the end."""
        if call.waits:
            return
        pointer = int(ffi.cast("intptr_t", call.place.queue))
        if pointer not in self._queues:
            check_cl(lib.clRetainCommandQueue(call.place.queue), "clRetainCommandQueue()")
            self._queues[pointer] = call.place.queue


def using_plan(plan: SpmmPlan | None, call: SparseCall, A: csr,
               transposed: bool) -> contextlib.AbstractContextManager[Any]:
    if plan is None:
        return contextlib.nullcontext(NULL)
    if not isinstance(plan, SpmmPlan):
        raise TypeError(f"plan is a {type(plan).__name__}: a weft.SpmmPlan is wanted")
    return plan.using(call, A, transposed)


def product_shape(A: csr, B: Array, transposed: bool) -> tuple[int, ...]:
    """Of op(A) B, or of what the library refuses."""
    n_rows = A.shape[1] if transposed else A.shape[0]
    shape = tuple(B.shape)
    if not shape:
        raise ValueError("B is a number: a matrix or vector is wanted")
    return (n_rows,) if len(shape) == 1 else (*shape[:-2], n_rows, shape[-1])


def spmm(A: Sparse, B: Array, alpha: float = 1.0, beta: float = 0.0, out: Array = None, *,
         plan: SpmmPlan | None = None, bias: Array = None, activation: str | None = None,
         reduce: str = "sum", arguments: bool = False, transposed: bool = False) -> Any:
    """The product of a sparse and a dense matrix: activation(alpha op(A) B + beta out + bias).

    A           [m, k], or [k, m] if transposed; a weft.csr, a weft.csc or a sparse matrix of SciPy;
                float32, float64, float16 or bfloat16. A batch of matrices makes one of products
    B           [k, n], [batch, k, n], or a vector [k]; A's data type, any strides
    out         [m, n], [batch, m, n] or [m]; A's data type, or float32 for halves. It must not
                be B. Read only if beta is not 0
    plan        an analysis of A's pattern, for many products
    bias        [m], A's data type: added to each column
    activation  "relu", "gelu", "gelu_tanh", "silu", "sigmoid" or "tanh"
    reduce      "sum", or "mean", "max" or "min" of a row's products a_e b[col_e, j]; rows without
                entries have 0
    arguments   for max and min: returns (result, index), where index, int64, is of the entry of A
                whose product is the result, -1 if a row has none
    transposed  op(A) is A's transpose: by a plan for that, or a transpose that is made for the call.
                Of a weft.csc that is so where op(A) is A, and its transpose costs nothing

    Returns an array of B's kind. Sums are float32 (float64 for float64), in an order that does not
    change from call to call. Raises ValueError (shapes, a plan that is closed or of another
    matrix), TypeError (data types), MemoryError, DeviceError.

    >>> A = weft.csr(np.array([[0, 5, 0], [6, 0, 7]], np.float32))
    >>> B = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    >>> weft.spmm(A, B, bias=np.array([-16, 0], np.float32), activation="relu")
    array([[ 0.,  4.],
           [41., 54.]], dtype=float32)
    >>> weft.spmm(A, B, reduce="max", arguments=True)[1]
    array([[0, 0],
           [2, 2]])
    """
    transposed, arguments = flag_of(transposed, "transposed"), flag_of(arguments, "arguments")
    A, transposed = by_rows(A, transposed)
    if isinstance(B, (csr, csc)) or not is_on_device(B) and is_scipy(B):
        raise TypeError(f"B is a {type(B).__name__}: a dense array is wanted; weft.spgemm() takes "
                        "two sparse matrices")
    if transposed and plan is None:
        if arguments:
            raise ValueError("a transposed product, as a csc's own, with arguments needs a plan")
        A, transposed = A.T, False
    call = SparseCall(A, B, bias, out)
    B = call.operand(B)
    shape = product_shape(A, B, transposed)
    alpha, beta = number_of(alpha, "alpha"), beta_of(beta, out)
    S, X = call.matrix(A), call.input(B)
    Y = call.output(out, shape, result_dtype(out, B.dtype))
    params = _pool.take()
    struct = params.struct
    struct.reduction = code_in(REDUCTIONS, reduce, "reduce")
    struct.activation = code_in(ACTIVATIONS, activation, "activation")
    struct.transpose_a = transposed
    # Structs keep no tensor; these names do.
    indices = call.output(None, shape, INT64) if arguments else NULL
    numbers = NULL if bias is None else call.input(call.operand(bias))
    struct.arguments, struct.bias = indices, numbers
    with using_plan(plan, call, A, transposed) as handle:
        struct.plan = handle
        return call.run_sparse(lib.weft_spmm, _pool, params, alpha, S, X, beta, Y)


def beta_of(beta: float, out: Array) -> float:
    beta = number_of(beta, "beta")
    if beta != 0 and out is None:
        raise ValueError(f"beta is {beta:g}, and there is no out to add")
    return beta
