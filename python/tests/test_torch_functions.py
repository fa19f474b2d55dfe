# SPDX-License-Identifier: Apache-2.0
"""Gradients through PyTorch, against its own and differences in f64."""
import copy
import doctest
import pickle

import numpy as np
import pytest

import weft

torch = pytest.importorskip("torch")
import weft.torch  # noqa: E402

MASK = torch.from_numpy(np.random.default_rng(1).random((7, 5)) < 0.4)
MASK[2] = False
PATTERN = weft.torch.Pattern(MASK.to(torch.float32))


def numbers(*shape, dtype=torch.float64):
    torch.manual_seed(sum(shape))
    return torch.randn(*shape, dtype=dtype, requires_grad=True)


def dense(values):
    W = torch.zeros(*MASK.shape, dtype=values.dtype)
    return W.masked_scatter(MASK, values)


@pytest.fixture(scope="module")
def f64():
    if not weft._devices.host_place().context.has_f64:
        pytest.skip("the device has no f64")


@pytest.mark.parametrize("call, shapes", [
    (lambda v, B: weft.torch.spmm(PATTERN, v, B), [(PATTERN.nnz,), (5, 3)]),
    (lambda v, b: weft.torch.spmm(PATTERN, v, b), [(PATTERN.nnz,), (5,)]),
    (lambda v, B: weft.torch.spmm(PATTERN, v, B), [(2, PATTERN.nnz), (2, 5, 3)]),
    (lambda v, x, b: weft.torch.sparse_linear(PATTERN, v, x, b), [(PATTERN.nnz,), (2, 3, 5), (7,)]),
    (lambda v: weft.torch.sparse_softmax(PATTERN, v, 0.5), [(PATTERN.nnz,)]),
    (lambda Q, K, V: weft.torch.sparse_attention(Q, K, V, PATTERN), [(7, 4), (5, 4), (5, 3)]),
    (lambda Q, K, V: weft.torch.sparse_attention(Q, K, V, PATTERN),
     [(2, 2, 7, 4), (2, 2, 5, 4), (2, 2, 5, 3)]),
], ids=["spmm", "spmv", "batch", "linear", "softmax", "attention", "heads"])
def test_gradients(f64, call, shapes):
    assert torch.autograd.gradcheck(call, [numbers(*shape) for shape in shapes])


def test_values():
    values, x = numbers(PATTERN.nnz, dtype=torch.float32), numbers(4, 5, dtype=torch.float32)
    y = weft.torch.sparse_linear(PATTERN, values, x)
    torch.testing.assert_close(y, x @ dense(values).T)
    Q, K, V = (numbers(n, 4, dtype=torch.float32) for n in (7, 5, 5))
    O = weft.torch.sparse_attention(Q, K, V, PATTERN)
    expected = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=MASK)
    torch.testing.assert_close(O, expected.nan_to_num(0))


def test_layer_learns():
    layer = weft.torch.SparseLinear(MASK.to(torch.float32), torch.zeros(7))
    wanted = dense(numbers(PATTERN.nnz, dtype=torch.float32).detach())
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    x = numbers(64, 5, dtype=torch.float32).detach()
    for _ in range(200):
        optimizer.zero_grad()
        loss = ((layer(x) - x @ wanted.T)**2).mean()
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-3
    torch.testing.assert_close(dense(layer.values.detach()), wanted, atol=0.1, rtol=0.1)


def test_refusals():
    values = numbers(PATTERN.nnz, dtype=torch.float32)
    with pytest.raises(ValueError, match="spmm"):
        weft.torch.spmm(PATTERN, values, torch.ones(6, 2))
    with pytest.raises(ValueError, match="entries"):
        weft.torch.spmm(PATTERN, values[1:], torch.ones(5, 2))
    y = weft.torch.sparse_softmax(PATTERN, values)
    dx, = torch.autograd.grad((y * y).sum(), values, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


@pytest.mark.parametrize("name", weft.torch.__all__)
def test_examples(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    runner = doctest.DocTestRunner(optionflags=flags)
    said = []
    for found in doctest.DocTestFinder(recurse=False).find(
            getattr(weft.torch, name), name, globs={"np": np, "weft": weft, "torch": torch}):
        runner.run(found, out=said.append)
    assert runner.tries and not runner.failures, "".join(said)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy,
                                   lambda x: pickle.loads(pickle.dumps(x))],
                         ids=["copy", "deepcopy", "pickle"])
def test_copies(again):
    """Of a layer that has been used: each copy has plans of its own."""
    layer = weft.torch.SparseLinear(MASK.to(torch.float32))
    x = torch.ones(2, 5)
    y = layer(x)
    other = again(layer)
    torch.testing.assert_close(other(x), y)
    assert (again is copy.copy) == (other.pattern is layer.pattern)
    pattern = again(layer.pattern)
    assert pattern.nnz == PATTERN.nnz and pattern.plan(False) is not layer.pattern.plan(False)
