# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch with gradients, for sparse matrices and tensors in the host's memory.

    import weft.torch

A matrix is a pattern, which is a weft.csr, and a tensor of values, by which there are gradients, as
by dense operands. Gradients of gradients are not there: RuntimeError. Values and operands are of
one data type: torch.float32, float64, float16 or bfloat16.
"""
from __future__ import annotations

from typing import Any

import torch

from weft._sparse import Sparse, csr, sparse_operand
from weft._sparse_ops import (sddmm, sparse_attention as _attention,
                              sparse_attention_backward as _attention_backward,
                              sparse_softmax as _softmax,
                              sparse_softmax_backward as _softmax_backward)
from weft._spmm import SpmmPlan, spmm as _spmm

__all__ = ["Pattern", "SparseLinear", "sparse_attention", "sparse_linear", "sparse_softmax", "spmm"]

Tensor = Any


class Pattern:
    """Where the entries of a sparse matrix are, with an analysis for products by it and by its
    transpose, each made when it is first needed. `matrix` is a weft.csr, a sparse matrix of SciPy,
    or a tensor of PyTorch, sparse (CSR) or dense. Its values are not used.

    >>> pattern = weft.torch.Pattern(torch.eye(3))
    >>> pattern.shape, pattern.nnz
    ((3, 3), 3)
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix: csr = csr_of(matrix)
        self._plans: dict[bool, SpmmPlan] = {}

    def __getstate__(self) -> dict[str, Any]:
        """For copies, of layers as well, and pickle: each makes plans of its own."""
        return {"matrix": self.matrix, "_plans": {}}

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    @property
    def nnz(self) -> int:
        return self.matrix.nnz

    def of(self, values: Tensor) -> csr:
        return self.matrix.with_values(values.detach())

    def plan(self, transposed: bool) -> SpmmPlan:
        if transposed not in self._plans:
            self._plans[transposed] = SpmmPlan(self.matrix, transposed=transposed)
        return self._plans[transposed]


def csr_of(matrix: Any) -> csr:
    """A weft.csr of a tensor of PyTorch, sparse (CSR) or dense, or of a sparse matrix of SciPy."""
    if not isinstance(matrix, torch.Tensor):
        return sparse_operand(matrix)[0]
    matrix = matrix.detach()
    if matrix.layout != torch.sparse_csr:
        return csr(matrix)
    parts = (matrix.values(), matrix.col_indices(), matrix.crow_indices())
    return csr(parts, tuple(matrix.shape))


def _pattern(matrix: Any) -> Pattern:
    return matrix if isinstance(matrix, Pattern) else Pattern(matrix)


def _tensor(A: Sparse) -> Tensor:
    """The values of a result."""
    return torch.as_tensor(A.values) if A.dtype.kind == "f" else _from_bits(A.values)


def _from_bits(values: Any) -> Tensor:
    """bfloat16, which PyTorch takes from no array."""
    return torch.from_numpy(values.view("int16")).view(torch.bfloat16)


def _rows(dy: Tensor) -> Tensor:
    """Without strides of 0, where each number is used many times."""
    return dy.detach().contiguous()


class _Spmm(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: Tensor, B: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values, B)
        return _spmm(pattern.of(values), B.detach(), plan=pattern.plan(False))

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, dC: Tensor) -> Any:
        values, B = ctx.saved_tensors
        pattern, dC = ctx.pattern, _rows(dC)
        A = pattern.of(values)
        dA = dB = None
        if ctx.needs_input_grad[1]:
            right = B.detach()
            vector = right.dim() == 1
            left = dC[:, None] if vector else dC
            right = right[None, :] if vector else right.transpose(-1, -2)
            dA = _tensor(sddmm(left, right, A, indicator=True))
            if dA.dim() > values.dim():
                dA = dA.sum(0)
        if ctx.needs_input_grad[2]:
            dB = _spmm(A, dC, transposed=True, plan=pattern.plan(True))
        return None, dA, dB


def spmm(pattern: Any, values: Tensor, B: Tensor) -> Tensor:
    """A B, where A has the values [nnz], or [batch, nnz], at the entries of `pattern`, a Pattern or
    what one is made of; B is [k, n], [batch, k, n] or [k].

    >>> values = torch.ones(2, requires_grad=True)
    >>> weft.torch.spmm(torch.eye(2), values, torch.tensor([3.0, 4.0])).sum().backward()
    >>> values.grad
    tensor([3., 4.])
    """
    return _Spmm.apply(_pattern(pattern), values, B)


def sparse_linear(pattern: Any, values: Tensor, x: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + bias, as torch.nn.functional.linear(): x is [..., n_in], W [n_out, n_in] of `values`
    at the entries of `pattern`, and the result [..., n_out].

    >>> weft.torch.sparse_linear(torch.eye(2), torch.tensor([2.0, 3.0]), torch.ones(1, 2))
    tensor([[2., 3.]])
    """
    columns = x.reshape(-1, x.shape[-1]).transpose(0, 1)
    y = _Spmm.apply(_pattern(pattern), values, columns).transpose(0, 1)
    y = y.reshape(*x.shape[:-1], y.shape[-1])
    return y if bias is None else y + bias


class _Softmax(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: Tensor, scale: float) -> Tensor:
        y = _tensor(_softmax(pattern.of(values), scale=scale))
        ctx.pattern, ctx.scale = pattern, scale
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, dy: Tensor) -> Any:
        Y = ctx.pattern.of(ctx.saved_tensors[0])
        return None, _tensor(_softmax_backward(Y, _rows(dy), scale=ctx.scale)), None


def sparse_softmax(pattern: Any, values: Tensor, scale: float = 1.0) -> Tensor:
    """softmax(scale x) over the entries of each row, as values of the same entries.

    >>> weft.torch.sparse_softmax(torch.ones(1, 2), torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return _Softmax.apply(_pattern(pattern), values, scale)


class _Attention(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, Q: Tensor, K: Tensor, V: Tensor, pattern: Pattern,
                scale: float | None) -> Tensor:
        ctx.pattern, ctx.scale = pattern, scale
        ctx.save_for_backward(Q, K, V)
        return _attention(Q.detach(), K.detach(), V.detach(), pattern.matrix, scale=scale)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, dO: Tensor) -> Any:
        Q, K, V = (x.detach() for x in ctx.saved_tensors)
        gradients = _attention_backward(_rows(dO), Q, K, V, ctx.pattern.matrix, scale=ctx.scale)
        return (*gradients, None, None)


def sparse_attention(Q: Tensor, K: Tensor, V: Tensor, pattern: Any,
                     scale: float | None = None) -> Tensor:
    """softmax(scale Q K^T) V, where row i attends to the entries of row i of `pattern` only; as
    torch.nn.functional.scaled_dot_product_attention() with that mask, except that rows without
    entries are 0. Q is [..., m, k], K [..., n, k], V [..., n, d], with up to two axes in front.

    >>> x = torch.eye(2)
    >>> weft.torch.sparse_attention(x, x, x, torch.tensor([[1.0, 0.0], [1.0, 1.0]]), scale=0)
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    return _Attention.apply(Q, K, V, _pattern(pattern), scale)


class SparseLinear(torch.nn.Module):  # type: ignore[misc]
    """A layer with the weights that `weight` has as entries; bias as of torch.nn.Linear.

    >>> layer = weft.torch.SparseLinear(torch.tensor([[0.0, 2.0], [0.0, 0.0]]))
    >>> layer(torch.ones(1, 2))
    tensor([[2., 0.]], grad_fn=...)
    """

    def __init__(self, weight: Any, bias: Tensor | None = None) -> None:
        super().__init__()
        matrix = csr_of(weight)
        self.pattern = Pattern(matrix)
        self.values = torch.nn.Parameter(_tensor(matrix).clone())
        self.bias = None if bias is None else torch.nn.Parameter(bias.detach().clone())

    def forward(self, x: Tensor) -> Tensor:
        return sparse_linear(self.pattern, self.values, x, self.bias)
