# SPDX-License-Identifier: Apache-2.0
"""Five lines in weft, SciPy and PyTorch, timed by turns, as a table:

    python peers.py [RUNS]

All are on the CPU: weft on the device that $WEFT_DEVICE names, else any. Each time is the least of
RUNS (30), between which the other two run; results are compared first. Needs SciPy and PyTorch.
"""
import sys
import time

import numpy as np
import scipy
import scipy.sparse
import scipy.special
import torch

import weft

RNG = np.random.default_rng(1)
NODES, DEGREE, WIDTH = 20000, 20, 64

S = scipy.sparse.random_array((NODES, NODES), density=DEGREE / NODES, format="csr",
                              dtype=np.float32, rng=1)
X = RNG.standard_normal((NODES, WIDTH), np.float32)
L = scipy.sparse.random_array((2000, 2000), density=0.005, format="csr", dtype=np.float32, rng=2)
Z = RNG.standard_normal((1000, 4096), np.float32)
V, W = (RNG.standard_normal((512, 512), np.float32) for _ in range(2))


def of_torch(S):
    parts = [torch.from_numpy(part.astype(dtype)) for part, dtype in
             ((S.indptr, np.int64), (S.indices, np.int64), (S.data, np.float32))]
    return torch.sparse_csr_tensor(*parts, size=S.shape, check_invariants=True)


A, M = weft.csr(S), weft.csr(L)
plan = weft.SpmmPlan(A)
T, U = of_torch(S), of_torch(L)
x, z, v, w = (torch.from_numpy(its) for its in (X, Z, V, W))
zeros = torch.sparse_csr_tensor(T.crow_indices(), T.col_indices(), torch.zeros_like(T.values()),
                                size=S.shape)
pattern = S.copy()
pattern.data[:] = 1
P, Q = A.with_values(pattern.data), S.tocoo()

LINES = {
    "`relu(A @ X)`, A 20000 x 20000 with 20 entries a row, X of 64 columns": (
        lambda: weft.spmm(A, X, plan=plan, activation="relu"),
        lambda: np.maximum(S @ X, 0),
        lambda: torch.relu(T @ x)),
    "`X @ X.T` at the entries of A": (
        lambda: weft.sddmm(X, X.T, P),
        lambda: np.einsum("ij,ij->i", X[Q.row], X[Q.col]),
        lambda: torch.sparse.sampled_addmm(zeros, x, x.T)),
    "`M @ M`, M 2000 x 2000 with 10 entries a row": (
        lambda: M @ M,
        lambda: L @ L,
        lambda: U @ U),
    "`softmax(Z)`, Z 1000 x 4096": (
        lambda: weft.softmax(Z),
        lambda: scipy.special.softmax(Z, axis=-1),
        lambda: torch.softmax(z, -1)),
    "`relu(V @ W)`, both 512 x 512": (
        lambda: weft.matmul(V, W, epilogue="max(c, 0)"),
        lambda: np.maximum(V @ W, 0),
        lambda: torch.relu(v @ w)),
}


def numbers_of(y):
    """Of a result, whatever it is, in the order of rows and columns."""
    if isinstance(y, weft.csr):
        y = y.to_scipy()
    if isinstance(y, torch.Tensor) and y.layout == torch.sparse_csr:
        y = scipy.sparse.csr_array((y.values().numpy(), y.col_indices().numpy(),
                                    y.crow_indices().numpy()), shape=tuple(y.shape))
    if scipy.sparse.issparse(y):
        y.sort_indices()
        y = y.data
    return np.asarray(y, np.float64)


def compare(line, calls):
    first, *others = (numbers_of(call()) for call in calls)
    for other in others:
        if not np.allclose(first, other, 1e-3, 1e-3 * abs(first).max()):
            raise AssertionError(f"{line}: results differ by {abs(first - other).max()}")


def times_of(calls, runs):
    """The least of each, in milliseconds, by turns."""
    least = [float("inf")] * len(calls)
    for _ in range(runs):
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            least[i] = min(least[i], 1e3 * (time.perf_counter() - begin))
    return least


def main(runs="30"):
    name = weft.explain(weft.softmax, Z).splitlines()[0].removeprefix("softmax on ")
    its = next(device for device in weft.devices() if name in device.name)
    print(f"| ms | weft, {its.platform} | SciPy {scipy.__version__} (NumPy {np.__version__}) "
          f"| PyTorch {torch.__version__}, {torch.get_num_threads()} threads |\n|---|---|---|---|")
    for line, calls in LINES.items():
        compare(line, calls)
        print(f"| {line} | " + " | ".join(f"{least:.2f}" for least in times_of(calls, int(runs)))
              + " |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
