# SPDX-License-Identifier: Apache-2.0
"""The libraries that tools/peers knows: what a case of `weft bench` is by each of them.

A peer has a name and a version once it is made; making it raises Missing where it is not
installed. call_of() gives a call without arguments, or None where the library has no function for
the case; wait() returns when what was called is done.
"""
import ctypes
import os
import pathlib
import sys

import peer_pytorch
from peer_pytorch import Missing

EXPECTED_CALLS = 10000  # that MKL is told to prepare a matrix for
MKL_OK, MKL_PLAIN, MKL_TRANSPOSED, MKL_ROW_MAJOR = 0, 10, 11, 101


class PyTorch:
    """On the CPU with so many threads, or on the GPU of that name."""

    def __init__(self, patterns, gpu, n_threads):
        torch = peer_pytorch.load()
        torch.set_num_threads(n_threads)
        where = (peer_pytorch.open_gpu(torch, patterns, gpu) if gpu else
                 peer_pytorch.open_cpu(torch, patterns))
        self.bench, device, sparse = where
        self.version = f"{torch.__version__} on {device}, sparse products by {sparse}"
        self.wait = self.bench.wait

    def call_of(self, case):
        return peer_pytorch.call_of(self.bench, case)


class OnCPU:
    """What those of NumPy's arrays share."""

    def __init__(self, patterns, gpu, n_threads):
        if gpu:
            raise Missing("not on a GPU")
        self.patterns = patterns
        try:
            import numpy
        except ImportError:
            raise Missing("NumPy is not installed") from None
        self.numpy = numpy
        self.numbers = numpy.random.default_rng(1)
        self.load()

    def wait(self):
        pass

    def random(self, shape, dtype):
        return self.numbers.uniform(-1, 1, shape).astype(peer_pytorch.DTYPES[dtype])

    def csr(self, case, n_rows, n_columns):
        from scipy import sparse
        offsets, indices = (self.numpy.load(self.patterns / f"{case['case']}.{what}.npy")
                            for what in ("offsets", "indices"))
        return sparse.csr_matrix((self.random([case["nnz"]], case["dtype"]), indices, offsets),
                                 shape=(n_rows, n_columns))

    def stored(self, case):
        """A as it is stored, and whether the product is by its transpose."""
        if case["case"].endswith("-transposed"):
            return self.csr(case, case["k"], case["m"]), True
        return self.csr(case, case["m"], case["k"]), False

    def call_of(self, case):
        """Other data types are not theirs: they convert or refuse."""
        known = self.calls.get(case["op"])
        return known(self, case) if known and case["dtype"] in ("f32", "f64") else None


class OpenBLAS(OnCPU):
    """Whatever BLAS this NumPy has."""

    def load(self):
        blas = self.numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        self.version = f"{blas['name']} {blas['version']} in NumPy {self.numpy.__version__}"

    def matmul(self, case):
        m, n, k, dtype = case["m"], case["n"], case["k"], case["dtype"]
        title, batch = case["case"].partition("-")[0], [case["batch"]] * (case["batch"] > 1)
        A, B = self.random([*batch, m, k], dtype), self.random([*batch, k, n], dtype)
        if title in ("transposed_a", "transposed_matvec"):
            A = self.random([k, m], dtype).T
        if title == "transposed_b":
            B = self.random([n, k], dtype).T
        C = self.numpy.empty([*batch, m, n], A.dtype)
        return lambda: self.numpy.matmul(A, B, out=C)

    calls = {"matmul": matmul}


class SciPy(OnCPU):
    """One thread."""

    def load(self):
        try:
            import scipy.sparse
        except ImportError:
            raise Missing("SciPy is not installed") from None
        self.version = scipy.__version__

    def spmm(self, case):
        A, is_transposed = self.stored(case)
        A = A.T if is_transposed else A
        B = self.random([case["k"], case["n"]], case["dtype"])
        B = B[:, 0] if case["n"] == 1 else B
        return lambda: A @ B

    def spgemm(self, case):
        A = self.csr(case, case["m"], case["k"])
        return lambda: (A @ A).sort_indices()

    calls = {"spmm": spmm, "spgemm": spgemm}


def find_mkl():
    """pip puts MKL where no loader looks; sparse_dot_mkl takes its path from MKL_RT."""
    found = sorted(pathlib.Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    if found:
        os.environ.setdefault("MKL_RT", str(found[-1]))


class MKL(OnCPU):
    """As sparse_dot_mkl calls it: each call tells MKL of the matrix anew."""

    def load(self):
        find_mkl()
        try:
            import sparse_dot_mkl
        except ImportError as error:
            missing = isinstance(error, ModuleNotFoundError)
            raise Missing("sparse_dot_mkl is not installed" if missing else
                          f"sparse_dot_mkl: {error}") from None
        self.its = sparse_dot_mkl
        self.version = ".".join(map(str, sparse_dot_mkl.mkl_get_version()[:3]))

    def spmm(self, case):
        A, is_transposed = self.stored(case)
        A = A.T if is_transposed else A  # CSC, which MKL takes
        B = self.random([case["k"], case["n"]], case["dtype"])
        C = self.numpy.empty([case["m"], case["n"]], B.dtype)
        return lambda: self.its.dot_product_mkl(A, B, out=C, out_scalar=0)

    def spgemm(self, case):
        A = self.csr(case, case["m"], case["k"])
        return lambda: self.its.dot_product_mkl(A, A, reorder_output=True)

    calls = {"spmm": spmm, "spgemm": spgemm}


class PlannedMKL(MKL):
    """MKL is told once of the matrix and how it will be used, and may rearrange it."""

    def load(self):
        super().load()
        try:
            from sparse_dot_mkl import _mkl_interface as inner
            self.inner = inner
            # Another handle of the same library, whose functions check no arguments.
            self.library = ctypes.CDLL(inner._cfunctions._libmkl._name)
            self.number = inner.MKL.MKL_INT
        except (AttributeError, ImportError):
            raise Missing(f"sparse_dot_mkl {self.its.__version__} has no handles of MKL") from None

    def prepare(self, A, operation, n):
        """MKL's handle of the matrix, and what else it wants to know of it."""
        handle, _, _ = self.inner._create_mkl_sparse(A)
        how, calls = self.inner.matrix_descr(), self.number(EXPECTED_CALLS)
        if n == 1:
            status = self.library.mkl_sparse_set_mv_hint(handle, operation, how, calls)
        else:
            status = self.library.mkl_sparse_set_mm_hint(handle, operation, how, MKL_ROW_MAJOR,
                                                         self.number(n), calls)
        if status != MKL_OK or self.library.mkl_sparse_optimize(handle) != MKL_OK:
            raise RuntimeError("MKL does not prepare this matrix")
        return handle, how

    def spmm(self, case):
        A, is_transposed = self.stored(case)
        operation = MKL_TRANSPOSED if is_transposed else MKL_PLAIN
        n, letter = case["n"], "s" if case["dtype"] == "f32" else "d"
        scalar = ctypes.c_float if letter == "s" else ctypes.c_double
        B = self.random([case["k"], n], case["dtype"])
        C = self.numpy.empty([case["m"], n], B.dtype)
        b, c = ctypes.c_void_p(B.ctypes.data), ctypes.c_void_p(C.ctypes.data)
        handle, how = self.prepare(A, operation, n)
        if n == 1:
            multiply = self.library[f"mkl_sparse_{letter}_mv"]
            arguments = operation, scalar(1), handle, how, b, scalar(0), c
        else:
            multiply, columns = self.library[f"mkl_sparse_{letter}_mm"], self.number(n)
            arguments = (operation, scalar(1), handle, how, MKL_ROW_MAJOR, b, columns, columns,
                         scalar(0), c, columns)

        def call(kept=(A, B)):  # MKL points into the arrays
            if multiply(*arguments) != MKL_OK:
                raise RuntimeError("MKL does not multiply by this matrix")
            return C
        return call

    calls = {"spmm": spmm}


PEERS = {"PyTorch": PyTorch, "MKL": MKL, "MKL, planned": PlannedMKL, "OpenBLAS": OpenBLAS,
         "SciPy": SciPy}
