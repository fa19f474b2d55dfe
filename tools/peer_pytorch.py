# SPDX-License-Identifier: Apache-2.0
"""What the cases of `weft bench` are by PyTorch: for tools/peers and tools/gpu-check.

Sparse products are cuSPARSE's; in a ROCm build of PyTorch rocSPARSE's, on a CPU MKL's.
"""
import re

DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16",
          "i32": "int32", "i64": "int64", "u8": "uint8"}


class Missing(Exception):
    """Why there is no PyTorch, or not on that device."""


class Bench:
    """A device of PyTorch, and what makes operands on it."""

    def __init__(self, torch, device, patterns):
        self.torch = torch
        self.device = device
        self.patterns = patterns

    def dtype(self, name):
        return getattr(self.torch, DTYPES[name])

    def empty(self, shape, dtype):
        return self.torch.empty(tuple(shape), dtype=self.dtype(dtype), device=self.device)

    def random(self, shape, dtype):
        array = self.empty(shape, dtype)
        return array.uniform_(-1, 1) if array.is_floating_point() else array.random_(0, 100)

    def matrix(self, n_rows, n_columns, dtype, is_transposed):
        """Random; where it is transposed it stands by columns in memory."""
        if is_transposed:
            return self.random([n_columns, n_rows], dtype).t()
        return self.random([n_rows, n_columns], dtype)

    def kept(self, name):
        """An array of i32 that --patterns kept: behind the header, whose length is told before."""
        data = bytearray((self.patterns / name).read_bytes())
        start = 10 + int.from_bytes(data[8:10], "little")
        return self.torch.frombuffer(data, dtype=self.torch.int32, offset=start).to(self.device)

    def csr(self, case, n_rows, n_columns):
        values = self.random([case["nnz"]], case["dtype"])
        return self.torch.sparse_csr_tensor(
            self.kept(case["case"] + ".offsets.npy"), self.kept(case["case"] + ".indices.npy"),
            values, size=(n_rows, n_columns), check_invariants=False)

    def wait(self):
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)


# What each operation is by PyTorch: a call, or None where it has none of its own. Titles are the
# words that the names of cases begin with.

def spmm(bench, case, title):
    m, k, dtype = case["m"], case["k"], case["dtype"]
    B = bench.random([k, case["n"]] if case["n"] > 1 else [k], dtype)
    if case["case"].endswith("-transposed"):
        A = bench.csr(case, k, m).t()
    else:
        A = bench.csr(case, m, k)
    return lambda: A @ B


def sddmm(bench, case, title):
    m, n, k, dtype = case["m"], case["n"], case["k"], case["dtype"]
    C = bench.csr(case, m, n)
    A = bench.random([m, k], dtype)
    B = bench.matrix(k, n, dtype, "-row_major" not in case["case"])
    return lambda: bench.torch.sparse.sampled_addmm(C, A, B, beta=0)


def spgemm(bench, case, title):
    A = bench.csr(case, case["m"], case["k"])
    return lambda: A @ A


def sparse_linear(bench, case, title):
    m, k, n, dtype = case["m"], case["k"], case["n"], case["dtype"]
    W, X, bias = bench.csr(case, m, k), bench.random([k, n], dtype), bench.random([m, 1], dtype)
    return lambda: (W @ X).add_(bias).relu_()


def sparse_linear_dx(bench, case, title):
    W = bench.csr(case, case["k"], case["m"]).t()
    dY = bench.random([case["k"], case["n"]], case["dtype"])
    return lambda: W @ dY


def sparse_linear_dw(bench, case, title):
    m, n, k, dtype = case["m"], case["n"], case["k"], case["dtype"]
    W, dY = bench.csr(case, m, n), bench.random([m, k], dtype)
    X = bench.matrix(k, n, dtype, True)
    return lambda: bench.torch.sparse.sampled_addmm(W, dY, X, beta=0)


def matmul(bench, case, title):
    m, n, k, dtype = case["m"], case["n"], case["k"], case["dtype"]
    if case["batch"] > 1:
        A = bench.random([case["batch"], m, k], dtype)
        B = bench.random([case["batch"], k, n], dtype)
    else:
        A = bench.matrix(m, k, dtype, title in ("transposed_a", "transposed_matvec"))
        B = bench.matrix(k, n, dtype, title == "transposed_b")
    return lambda: bench.torch.matmul(A, B)


def reduce(bench, case, title):
    torch, shape = bench.torch, case["shape"]
    X = bench.random(shape, case["dtype"])
    named = re.search(r"-axis([\d,]+)", case["case"])
    axes = [int(axis) for axis in named[1].split(",")] if named else list(range(len(shape)))
    calls = {
        "sum": lambda: torch.sum(X, axes),
        "mean": lambda: torch.mean(X, axes),
        "max": lambda: torch.amax(X, axes),
        "argmax": lambda: torch.argmax(X, axes[0] if named else None),
        "var": lambda: torch.var(X, axes, correction=0),
        "logsumexp": lambda: torch.logsumexp(X, axes),
    }
    return calls.get(title)


def softmax(bench, case, title):
    calls = {"softmax": bench.torch.softmax, "log_softmax": bench.torch.log_softmax}
    if title not in calls or "-in_place" in case["case"]:
        return None
    X = bench.random(case["shape"], case["dtype"])
    axis = int(re.search(r"-axis(\d)", case["case"])[1])
    return lambda: calls[title](X, axis)


def layer_norm_backward(bench, case, X, weight, bias):
    """What a peer saves of its forward is not timed."""
    torch, length = bench.torch, case["shape"][-1:]
    dY = bench.random(case["shape"], case["dtype"])
    _, mean, inverse = torch.native_layer_norm(X, length, weight, bias, 1e-5)
    wanted = [True] + 2 * ["-dx" not in case["case"]]
    return lambda: torch.ops.aten.native_layer_norm_backward(dY, X, length, mean, inverse, weight,
                                                             bias, wanted)


def norm(bench, case, title):
    functional, length = bench.torch.nn.functional, case["shape"][-1:]
    X = bench.random(case["shape"], case["dtype"])
    weight, bias = bench.random(length, case["dtype"]), bench.random(length, case["dtype"])
    if title == "layer_norm":
        return lambda: functional.layer_norm(X, length, weight, bias, 1e-5)
    if title == "layer_norm_backward":
        return layer_norm_backward(bench, case, X, weight, bias)
    if title != "rms_norm" or not hasattr(functional, "rms_norm"):  # before PyTorch 2.4
        return None
    return lambda: functional.rms_norm(X, length, weight, 1e-5)


def elementwise(bench, case, title):
    torch, shape, dtype = bench.torch, case["shape"], case["dtype"]
    Y = bench.empty(shape, dtype)

    def sum_with(other_shape):
        A, B = bench.random(shape, dtype), bench.random(other_shape, dtype)
        return lambda: torch.add(A, B, out=Y)

    def copy_of(A):
        return lambda: Y.copy_(A)

    def sum_with_itself(A):
        return lambda: torch.add(A, A.t(), out=Y)

    def gelu_of(A):
        return lambda: torch.nn.functional.gelu(A)

    def permuted(order):
        """The array that has this shape once its axes are put in that order."""
        extents = dict(zip(order, shape))
        return bench.random([extents[axis] for axis in range(len(order))], dtype).permute(order)

    words = title.split("_")
    if words[0] == "cast":
        return copy_of(bench.random(shape, words[1]))
    if words[0] == "permute":
        return copy_of(permuted([int(axis) for axis in words[1]]))
    makers = {
        "add": lambda: sum_with(shape),
        "add_row": lambda: sum_with(shape[-1:]),
        "add_column": lambda: sum_with([shape[0], 1]),
        "add_middle": lambda: sum_with([shape[0], 1, shape[-1]]),
        "add_transposed": lambda: sum_with_itself(bench.random(shape, dtype)),
        "copy": lambda: copy_of(bench.random(shape, dtype)),
        "fill": lambda: lambda: Y.fill_(2),
        "gelu": lambda: gelu_of(bench.random(shape, dtype)),
        "transpose": lambda: copy_of(bench.matrix(*shape, dtype, True)),
    }
    return makers[title]() if title in makers else None


OPS = {"spmm": spmm, "sddmm": sddmm, "spgemm": spgemm, "sparse_linear": sparse_linear,
       "sparse_linear_dx": sparse_linear_dx, "sparse_linear_dw": sparse_linear_dw,
       "matmul": matmul, "reduce": reduce, "softmax": softmax, "norm": norm,
       "elementwise": elementwise}


def call_of(bench, case):
    """A call without arguments, or None where PyTorch has no function for the case."""
    if case["op"] not in OPS:
        return None
    return OPS[case["op"]](bench, case, case["case"].partition("-")[0])


# ---- devices

def the_same_gpu(torch, name):
    """The index of the GPU of that name, or the only one: drivers do not agree on names. None where
    it cannot be told."""
    names = [torch.cuda.get_device_name(index).casefold()
             for index in range(torch.cuda.device_count())]
    alike = [index for index, its_name in enumerate(names)
             if its_name in name.casefold() or name.casefold() in its_name]
    if len(names) == 1:
        return 0
    return alike[0] if len(alike) == 1 else None


def load():
    try:
        import torch
    except ModuleNotFoundError:
        raise Missing("PyTorch is not installed") from None
    except (ImportError, OSError) as error:
        raise Missing(f"PyTorch cannot be loaded: {error}") from None
    return torch


def open_device(torch, device, patterns):
    """f32 is multiplied as f32, f16 and bf16 are summed in f32, as weft does it."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    return Bench(torch, device, patterns)


def open_cpu(torch, patterns):
    """A bench, its device in words, and whose sparse products it has."""
    sparse = "MKL" if torch.backends.mkl.is_available() else "PyTorch itself"
    name = f"the CPU, {torch.get_num_threads()} threads"
    return open_device(torch, torch.device("cpu"), patterns), name, sparse


def open_gpu(torch, patterns, wanted):
    """The same for the GPU of that name."""
    if not torch.cuda.is_available():
        raise Missing(f"PyTorch {torch.__version__} sees no GPU")
    index = the_same_gpu(torch, wanted)
    if index is None:
        raise Missing(f"which of PyTorch's GPUs is {wanted} cannot be told")
    device, hip = torch.device("cuda", index), torch.version.hip
    torch.cuda.set_device(device)
    name = torch.cuda.get_device_name(device) + (f", HIP {hip}" if hip else
                                                 f", CUDA {torch.version.cuda}")
    return open_device(torch, device, patterns), name, "rocSPARSE" if hip else "cuSPARSE"
