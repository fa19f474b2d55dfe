# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings are run, and everything public has one that is."""
import doctest
import inspect

import numpy as np
import pytest

import weft

PUBLIC = [name for name in weft.__all__ if inspect.isfunction(getattr(weft, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_example(name):
    finder = doctest.DocTestFinder(recurse=False)
    found = finder.find(getattr(weft, name), name, globs={"np": np, "weft": weft})
    assert found and found[0].examples
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    said = []
    runner.run(found[0], out=said.append)
    assert not runner.failures, "".join(said)
