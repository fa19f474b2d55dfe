# SPDX-License-Identifier: Apache-2.0
"""A graph network of two layers on a graph of a file, against PyTorch, or SciPy without it:

    python graph_network.py GRAPH.mtx [PICTURE.png]

The layers are those of Kipf and Welling, "Semi-Supervised Classification with Graph Convolutional
Networks" (ICLR 2017): relu(G X V), then G H W, where G = D^-1/2 (A + I) D^-1/2 of the adjacency
matrix A, with random features and weights. Needs SciPy, which reads the file, and matplotlib.
"""
import sys
import time

import matplotlib
import numpy as np
import scipy.io
import scipy.sparse

import weft

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

N_IN, N_HIDDEN, N_OUT, TIMES = 64, 32, 7, 10


def normalised(path):
    """G, of a graph whose edges count in both directions, once."""
    A = scipy.sparse.coo_array(scipy.io.mmread(path))
    A = scipy.sparse.csr_array((np.ones(A.nnz, np.float32), A.coords), shape=A.shape)
    A = (A + A.T + scipy.sparse.eye_array(A.shape[0]) > 0).astype(np.float32)
    scale = scipy.sparse.diags_array(1 / np.sqrt(A.sum(1)))
    return scipy.sparse.csr_array(scale @ A @ scale, dtype=np.float32)


def by_weft(G, X, V, W):
    G = weft.csr(G)
    with weft.SpmmPlan(G) as plan:
        def network():
            H = weft.spmm(G, weft.matmul(X, V), plan=plan, activation="relu")
            return weft.spmm(G, weft.matmul(H, W), plan=plan)

        return timed(network)


def by_torch(G, X, V, W):
    import torch

    parts = [torch.from_numpy(part) for part in (G.indptr, G.indices, G.data)]
    S = torch.sparse_csr_tensor(*parts, size=G.shape, check_invariants=True)
    X, V, W = (torch.from_numpy(x) for x in (X, V, W))

    def network():
        H = torch.relu(torch.sparse.mm(S, X @ V))
        return torch.sparse.mm(S, H @ W)

    y, seconds = timed(network)
    return y.numpy(), seconds


def by_scipy(G, X, V, W):
    return timed(lambda: G @ (np.maximum(G @ (X @ V), 0) @ W))


def timed(call):
    """The result, and the least time of a run."""
    y, times = call(), []
    for _ in range(TIMES):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return y, min(times)


def draw(G, seconds, path):
    pyplot.rcParams.update({"font.size": 13})
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 5), layout="constrained")
    figure.suptitle(f"Two layers on a graph of {G.shape[0]} nodes and {G.nnz} entries")
    counts = np.diff(G.indptr)
    left.hist(counts, bins=np.unique(np.geomspace(1, counts.max() + 1, 30).round()), log=True)
    left.set(xscale="log", xlabel="entries of a row of G", ylabel="rows", title="rows by entries")
    bars = right.bar(list(seconds), [1e3 * its for its in seconds.values()],
                     color=["tab:blue", "tab:gray"])
    right.bar_label(bars, fmt="%.2f ms")
    right.set(ylabel="milliseconds", title=f"time of both layers, least of {TIMES} runs")
    right.margins(y=0.1)
    pyplot.savefig(path, dpi=150)
    pyplot.close()


def main(graph, path="graph_network.png"):
    G = normalised(graph)
    rng = np.random.default_rng(1)
    X, V, W = (rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(shape[1])) for shape in
               ((G.shape[0], N_IN), (N_IN, N_HIDDEN), (N_HIDDEN, N_OUT)))
    try:
        name, (expected, peer_seconds) = "PyTorch", by_torch(G, X, V, W)
    except ImportError:
        name, (expected, peer_seconds) = "SciPy", by_scipy(G, X, V, W)
    y, seconds = by_weft(G, X, V, W)
    error = float(abs(y - expected).max() / abs(expected).max())
    print(f"{G.shape[0]} nodes, {G.nnz} entries: weft {1e3 * seconds:.2f} ms, {name} "
          f"{1e3 * peer_seconds:.2f} ms, largest difference {error:.1e} of the largest output")
    draw(G, {"weft": seconds, name: peer_seconds}, path)
    return error


if __name__ == "__main__":
    main(*sys.argv[1:3])
