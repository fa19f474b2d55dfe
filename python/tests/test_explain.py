# SPDX-License-Identifier: Apache-2.0
"""explain() says what calls would do, and does nothing."""
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import to_device
from test_sparse import whole

import weft

x, y = whole(1, 6, 8), whole(2, 6, 8)
square = whole(3, 8, 8)
A = weft.csr(np.tril(square))
rows = weft.csr(x)

CALLS = [
    *[(getattr(weft, name), x) for name in (
        "all", "any", "argmax", "argmin", "log_softmax", "logsumexp", "max", "mean", "min", "norm",
        "prod", "softmax", "std", "sum", "var", "layer_norm", "rms_norm")],
    (weft.softmax_backward, x, y),
    (weft.log_softmax_backward, x, y),
    (weft.layer_norm_backward, x, y),
    (weft.rms_norm_backward, x, y),
    (weft.elementwise, "max(a, 0)", {"a": x}),
    (weft.matmul, x, square, {"epilogue": "c + bias", "bias": square[0]}),
    (weft.spmm, A, square, {"alpha": 2}),
    (weft.spmm, A, square, {"transposed": True}),
    (weft.spmm, weft.csc(np.tril(square)), square),
    (weft.sddmm, square, square, A),
    (weft.sddmm, A, A, A),
    (weft.sparse_softmax, A),
    (weft.sparse_softmax_backward, A, A.values),
    (weft.sparse_attention, square, square, square, A),
    (weft.sparse_attention_backward, square, square, square, square, A),
    (weft.sparse_linear, A, square, {"activation": "relu"}),
    (weft.sparse_linear_dx, A, square),
    (weft.sparse_linear_dw, square, square, A),
    (weft.spgemm_dense, A, A),
    (weft.csr.to_dense, A),
    (weft.csr.transpose, A),
]


def parted(call):
    """Operands and keywords."""
    function, *operands = call
    keywords = operands.pop() if isinstance(operands[-1], dict) else {}
    return function, operands, keywords


def operations_of(text):
    return [line for line in text.splitlines() if not line.startswith(" ")]


def test_calls_are_all():
    used = {call[0].__name__ for call in CALLS}
    assert used >= {name for name in weft.__all__ if name[0].islower()} - {
        "csc", "csr", "devices", "explain", "spgemm"}


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
def test_profile(queue, call):
    """On the host and on a device a call has the same plan, and operands stay as they are."""
    function, operands, keywords = parted(call)

    def on_device(its):
        if isinstance(its, (weft.csr, weft.csc)):
            return its.to_device(queue)
        return to_device(queue, its) if isinstance(its, np.ndarray) else its

    text = weft.explain(function, *operands, profile="h100", **keywords)
    assert " on nvidia-h100\n" in text and "\n  kernel      " in text
    assert "\n  plan        " in text or function in (weft.sparse_linear, weft.sparse_linear_dw)
    other = weft.explain(function, *map(on_device, operands), profile="h100",
                         **{name: on_device(its) for name, its in keywords.items()})
    if function is weft.sparse_attention_backward:  # its transposed views are copied from the host
        text, other = operations_of(text), operations_of(other)
    assert text == other


def test_plan(queue):
    """A plan is made anew for the device, wherever it was made."""
    device = A.to_device(queue)
    texts = []
    for matrix, B in ((A, square), (device, to_device(queue, square))):
        with weft.SpmmPlan(matrix) as plan:
            texts.append(weft.explain(weft.spmm, matrix, B, plan=plan, profile="h100"))
            product = weft.spmm(matrix, B, plan=plan)
        with pytest.raises(ValueError, match="closed"):
            weft.explain(weft.spmm, matrix, B, plan=plan, profile="h100")
    assert texts[0] == texts[1] and "no plan" not in texts[0]
    assert "no plan" in weft.explain(weft.spmm, A, square, profile="h100")
    np.testing.assert_array_equal(product.get(), np.tril(square) @ square)


def test_strides(queue):
    """Views on a device are planned as they are."""
    B = to_device(queue, square)
    texts = [weft.explain(weft.spmm, A.to_device(queue), its, profile="h100") for its in (B, B.T)]
    assert texts[0] != texts[1]


def test_device(queue):
    """That the call would run on, whose compiler takes the kernels; nothing is computed."""
    out = np.full((8, 8), 7, np.float32)
    text = weft.explain(weft.spmm, A, square, 2.0, out=out)
    name = text.splitlines()[0].removeprefix("spmm on ")
    assert any(name in device.name for device in weft.devices())
    assert (out == 7).all()
    target = to_device(queue, out)
    assert weft.explain(weft.spmm, A.to_device(queue), to_device(queue, square), 2.0,
                        out=target).startswith("spmm on ")
    assert (target.get() == 7).all()
    weft.spmm(A, square, 2.0, out=out)
    np.testing.assert_array_equal(out, 2 * np.tril(square) @ square)


def test_refusals(queue):
    with weft.Recording(queue), pytest.raises(ValueError, match="makes a recording"):
        weft.explain(weft.softmax, x)
    for error, words, call in [
            (ValueError, "nvidia-h100", lambda: weft.explain(weft.softmax, x, profile="no such")),
            (ValueError, "explains another",
             lambda: weft.explain(weft.explain, weft.softmax, x, profile="h100")),
            (ValueError, "explains another",
             lambda: weft.explain(weft.Recording(queue).__enter__, profile="h100")),
            (ValueError, "among the operands",
             lambda: weft.explain(A.to_device(queue).__matmul__, square, profile="h100")),
            (ValueError, "make it before",
             lambda: weft.explain(weft.SpmmPlan, A, profile="h100")),
            (weft.DeviceError, "spgemm", lambda: weft.explain(weft.spgemm, A, A, profile="h100")),
            (ValueError, "8 x 8", lambda: weft.explain(weft.spmm, A, x, profile="h100")),
            (TypeError, "function sum .* calls no operation", lambda: weft.explain(np.sum, x)),
            (TypeError, "len> calls no operation of weft's", lambda: weft.explain(len, x)),
            (TypeError, "function is 5", lambda: weft.explain(5, x)),
            (TypeError, "argument", lambda: weft.explain(weft.softmax, x, 3, 4, 5, 6,
                                                             profile="h100"))]:
        with pytest.raises(error, match=words):
            call()
        np.testing.assert_array_equal(weft.sum(x, axis=0), x.sum(0))


def test_without_opencl():
    """A profile needs no device."""
    run = subprocess.run(
        [sys.executable, "-c", "import numpy as np, weft\n"
         "print(weft.explain(weft.softmax, np.ones((4, 9), 'f'), profile='mi250'))"],
        env={**os.environ, "WEFT_OPENCL": "/no/such/library"}, capture_output=True, text=True,
        check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("softmax on amd-mi250")
