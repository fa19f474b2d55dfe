# SPDX-License-Identifier: Apache-2.0
"""Attention to blocks of a sequence, against PyTorch's with a mask, or NumPy's without it:

    python block_attention.py [PICTURE.png]

Each block of 16 places attends to itself, to the one before it, and to the first one, which sees
all, as in Beltagy, Peters and Cohan, "Longformer: The Long-Document Transformer" (2020). Needs
matplotlib.
"""
import sys
import time

import matplotlib
import numpy as np

import weft

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

HEADS, LENGTH, BLOCK, WIDTH, TIMES = 4, 512, 16, 32, 5


def mask_of(length, block):
    i, j = np.indices((length // block,) * 2)
    blocks = (abs(i - j) <= 1) & (j <= i) | (i == 0) | (j == 0)
    return np.kron(blocks, np.ones((block, block), bool))


def by_torch(Q, K, V, mask):
    import torch

    operands = [torch.from_numpy(x) for x in (Q, K, V)]
    attention = torch.nn.functional.scaled_dot_product_attention
    y, seconds = timed(lambda: attention(*operands, attn_mask=torch.from_numpy(mask)))
    return y.numpy(), seconds


def by_numpy(Q, K, V, mask):
    def attention():
        x = np.where(mask, Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1]), -np.inf)
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True) @ V

    return timed(attention)


def timed(call):
    """The result, and the least time of a run."""
    y, times = call(), []
    for _ in range(TIMES):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return y, min(times)


def draw(mask, seconds, path):
    pyplot.rcParams.update({"font.size": 13})
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 5), layout="constrained")
    figure.suptitle(f"Attention of {HEADS} heads to {mask.mean():.0%} of {len(mask)} x {len(mask)} "
                    "places")
    left.imshow(mask, cmap="Greys")
    left.set(xlabel="place attended to", ylabel="place that attends", title="mask")
    bars = right.bar(list(seconds), [1e3 * its for its in seconds.values()],
                     color=["tab:blue", "tab:gray"])
    right.bar_label(bars, fmt="%.2f ms")
    right.set(ylabel="milliseconds", title=f"time, least of {TIMES} runs")
    right.margins(y=0.1)
    pyplot.savefig(path, dpi=150)
    pyplot.close()


def main(path="block_attention.png", length=LENGTH):
    mask = mask_of(length, BLOCK)
    M = weft.csr(mask.astype(np.float32))
    rng = np.random.default_rng(1)
    Q, K, V = (rng.standard_normal((HEADS, length, WIDTH), np.float32) for _ in range(3))
    try:
        name, (expected, peer_seconds) = "PyTorch", by_torch(Q, K, V, mask)
    except ImportError:
        name, (expected, peer_seconds) = "NumPy", by_numpy(Q, K, V, mask)
    y, seconds = timed(lambda: weft.sparse_attention(Q, K, V, M))
    error = float(abs(y - expected).max())
    print(f"{mask.mean():.1%} of {length} x {length}: weft {1e3 * seconds:.2f} ms, {name} "
          f"{1e3 * peer_seconds:.2f} ms, largest difference {error:.1e}")
    draw(mask, {"weft": seconds, name: peer_seconds}, path)
    return error


if __name__ == "__main__":
    main(*sys.argv[1:2])
