# SPDX-License-Identifier: Apache-2.0
"""The examples, where what they need is installed: what they compute, and that they draw."""
import importlib.util
import pathlib

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "examples"


def example(name):
    pytest.importorskip("matplotlib")
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def picture(tmp_path):
    return tmp_path / "picture.png"


def is_drawn(path):
    return path.read_bytes().startswith(b"\x89PNG")


def test_prune_digits(picture):
    pytest.importorskip("sklearn")
    histories = example("prune_digits").main(picture, epochs=6)
    dense, pruned, again = (history[-1] for history in histories.values())
    assert dense > 0.85 and again > 0.8 and again > pruned
    assert is_drawn(picture)


def test_graph_network(picture, tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    scipy_io = pytest.importorskip("scipy.io")
    graph = tmp_path / "graph.mtx"
    scipy_io.mmwrite(graph, sparse.random_array((300, 300), density=0.02, rng=1, format="coo"))
    assert example("graph_network").main(graph, picture) < 1e-5
    assert is_drawn(picture)


def test_block_attention(picture):
    module = example("block_attention")
    assert module.mask_of(64, 16).sum() == 12 * 16 * 16
    assert module.main(picture, length=128) < 1e-5
    assert is_drawn(picture)
