# SPDX-License-Identifier: Apache-2.0
"""Prunes a classifier of handwritten digits and trains it again, with sparse weights:

    python prune_digits.py [PICTURE.png]

A network of 64, 128 and 10 units is trained dense. Then of each layer the tenth of the weights with
the largest absolute values stays, and these are trained further by the gradients of weft. Needs
scikit-learn, for its 1797 digits of 8 x 8 pixels, and matplotlib.
"""
import sys

import matplotlib
import numpy as np
from sklearn.datasets import load_digits

import weft

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

KEPT, RATE, BATCH, TRAINING = 0.1, 0.2, 64, 1437


class Dense:
    """A layer of samples in columns."""

    def __init__(self, weight, bias):
        self.weight, self.bias = weight, bias

    def forward(self, x, activation):
        return weft.elementwise("max(y, 0)" if activation else "y",
                                y=weft.matmul(self.weight, x) + self.bias[:, None])

    def gradients(self, dy, x):
        dx = weft.matmul(self.weight.T, dy)
        self.weight -= RATE * weft.matmul(dy, x.T)
        self.bias -= RATE * weft.sum(dy, axis=1)
        return dx


class Sparse:
    """The same, with some of its weights. Plans serve while values change."""

    def __init__(self, dense, kept):
        least = np.quantile(abs(dense.weight), 1 - kept)
        self.weight, self.bias = weft.csr(dense.weight, threshold=least), dense.bias.copy()
        self.plan = weft.SpmmPlan(self.weight)
        self.transposed = weft.SpmmPlan(self.weight, transposed=True)

    def forward(self, x, activation):
        return weft.sparse_linear(self.weight, x, self.bias, activation=activation, plan=self.plan)

    def gradients(self, dy, x):
        dx = weft.sparse_linear_dx(self.weight, dy, plan=self.transposed)
        self.weight.values -= RATE * weft.sparse_linear_dw(dy, x, self.weight).values
        self.bias -= RATE * weft.sum(dy, axis=1)
        return dx


def outputs(layers, x):
    hidden = layers[0].forward(x, "relu")
    return hidden, layers[1].forward(hidden, None)


def accuracy(layers, x, digits):
    return float((outputs(layers, x)[1].argmax(0) == digits).mean())


def train(layers, x, digits, tests, epochs, rng):
    """The accuracy on the tests after each epoch."""
    history = []
    for _ in range(epochs):
        order = rng.permutation(x.shape[1])
        for i in range(0, len(order) - BATCH + 1, BATCH):
            batch = np.ascontiguousarray(x[:, order[i:i + BATCH]])
            hidden, scores = outputs(layers, batch)
            dy = weft.softmax(scores, 0)
            dy[digits[order[i:i + BATCH]], np.arange(BATCH)] -= 1
            dy /= BATCH
            d_hidden = layers[1].gradients(dy, hidden)
            layers[0].gradients(d_hidden * (hidden > 0), batch)
        history.append(accuracy(layers, *tests))
    return history


def draw(histories, path):
    """In percent; what is pruned has one point, between the others."""
    pyplot.rcParams.update({"font.size": 13})
    _, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    begin = 1
    for (name, history), (color, marker) in zip(histories.items(), (
            ("tab:gray", "."), ("tab:red", "o"), ("tab:blue", "."))):
        percent = [100 * its for its in history]
        epochs = range(begin, begin + len(history)) if len(history) > 1 else [begin - 0.5]
        axes.plot(epochs, percent, color=color, marker=marker, label=f"{name}: {percent[-1]:.1f}%")
        begin += len(history) if len(history) > 1 else 0
    axes.set(xlabel="epoch", ylabel="right answers on other digits, %",
             title=f"Digits by a network with {KEPT:.0%} of its weights")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    pyplot.savefig(path, dpi=150)
    pyplot.close()


def main(path="prune_digits.png", epochs=15):
    digits = load_digits()
    x = np.ascontiguousarray(digits.data.T / 16, np.float32)
    rng = np.random.default_rng(1)
    layers = [Dense((rng.standard_normal((m, n)) / np.sqrt(n)).astype(np.float32),
                    np.zeros(m, np.float32)) for m, n in ((128, 64), (10, 128))]
    training = x[:, :TRAINING], digits.target[:TRAINING]
    tests = np.ascontiguousarray(x[:, TRAINING:]), digits.target[TRAINING:]
    histories = {"dense": train(layers, *training, tests, epochs, rng)}
    pruned = [Sparse(layer, KEPT) for layer in layers]
    histories["a tenth of the weights"] = [accuracy(pruned, *tests)]
    histories["trained again"] = train(pruned, *training, tests, epochs, rng)
    for name, history in histories.items():
        print(f"{name:24} {history[-1]:.3f}")
    draw(histories, path)
    return histories


if __name__ == "__main__":
    main(*sys.argv[1:2])
