# SPDX-License-Identifier: Apache-2.0
"""Recordings compute what their calls would have."""
import doctest
import threading

import numpy as np
import pytest
from conftest import to_device
from test_sparse import dense_of, whole

import weft

A = weft.csr(np.tril(whole(1, 9, 9)))
B, OTHER = whole(2, 9, 4), whole(3, 9, 4)


@pytest.fixture
def network(queue):
    """A sum of a product, of operands that change."""
    matrix, x = A.to_device(queue), to_device(queue, B)
    with weft.Recording(queue) as recording:
        y = weft.spmm(matrix, x)
        total = weft.sum(y, axis=0)
    return recording, matrix, x, y, total


def test_runs(queue, network):
    recording, matrix, x, y, total = network
    for values in (A.values, 2 * A.values):
        matrix.values.set(values)
        recording.run()
        expected = dense_of(A.with_values(values)) @ B
        np.testing.assert_array_equal(y.get(), expected)
        np.testing.assert_array_equal(total.get(), expected.sum(0))


def test_exchange(queue, network):
    recording, _, x, y, _ = network
    other = to_device(queue, OTHER)
    recording.exchange(x, other)
    recording.run().wait()
    np.testing.assert_array_equal(y.get(), dense_of(A) @ OTHER)
    for error, words, call in [
            (ValueError, "no recorded call", lambda: recording.exchange(x, other)),
            (ValueError, "differ", lambda: recording.exchange(other, other.T)),
            (TypeError, "not on a device", lambda: recording.exchange(other, B))]:
        with pytest.raises(error, match=words):
            call()


def test_refusals(queue, network):
    recording, matrix, x, *_ = network
    with weft.Recording(queue) as other:
        with pytest.raises(TypeError, match="host's memory"):
            weft.spmm(matrix, B, out=x)
        with pytest.raises(weft.DeviceError):
            weft.csr(x)
        with pytest.raises(ValueError, match="makes a recording"):
            weft.Recording(queue).__enter__()
        with pytest.raises(ValueError, match="not ended"):
            other.run()
        np.testing.assert_array_equal(A @ B, dense_of(A) @ B)
    with pytest.raises(ValueError, match="once"):
        recording.__enter__()
    recording.close()
    recording.close()
    for call in (recording.run, lambda: recording.exchange(x, x)):
        with pytest.raises(ValueError, match="closed"):
            call()
    with pytest.raises(ValueError, match="once"):
        recording.__enter__()
    for other in (queue.context, None, 3):
        with pytest.raises(TypeError, match="a CommandQueue"):
            weft.Recording(other)


def test_given_up(queue):
    """After an exception the recording is closed, and calls run again."""
    x = to_device(queue, B)
    with pytest.raises(ZeroDivisionError), weft.Recording(queue) as recording:
        weft.softmax(x)
        raise ZeroDivisionError
    assert recording.closed
    np.testing.assert_array_equal(weft.sum(x, axis=0).get(), B.sum(0))


def test_closed_within(queue):
    """Calls that follow run, and the end of `with` is none of the recording's."""
    x = to_device(queue, B)
    with weft.Recording(queue) as recording:
        weft.softmax(x)
        recording.close()
        np.testing.assert_array_equal(weft.sum(x, axis=0).get(), B.sum(0))
        with weft.Recording(queue) as other:
            y = weft.sum(x, axis=0)
    other.run()
    np.testing.assert_array_equal(y.get(), B.sum(0))
    with pytest.raises(ValueError, match="closed"):
        recording.run()


def in_another_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


@pytest.mark.parametrize("is_closed", [False, True])
def test_ended_by_another_thread(queue, is_closed):
    x = to_device(queue, B)
    recording = weft.Recording(queue)
    recording.__enter__()
    y = weft.sum(x, axis=0)
    in_another_thread(recording.close if is_closed else
                      lambda: recording.__exit__(None, None, None))
    for first in range(2):
        if first == is_closed:
            assert weft.explain(weft.sum, x).startswith("reduce on")
        else:
            np.testing.assert_array_equal(weft.sum(x, axis=0).get(), B.sum(0))
    with weft.Recording(queue) as other:
        z = weft.sum(x, axis=1)
    other.run()
    np.testing.assert_array_equal(z.get(), B.sum(1))
    if not is_closed:
        recording.run()
        np.testing.assert_array_equal(y.get(), B.sum(0))
        with pytest.raises(ValueError, match="ended before"):
            recording.__exit__(None, None, None)


def test_of_a_thread_that_has_ended(queue):
    """Another one ends the recording."""
    x, results = to_device(queue, B), []
    recording = weft.Recording(queue)

    def begin():
        recording.__enter__()
        results.append(weft.sum(x, axis=0))

    in_another_thread(begin)
    recording.__exit__(None, None, None)
    recording.run()
    np.testing.assert_array_equal(results[0].get(), B.sum(0))


def test_example(queue):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for found in doctest.DocTestFinder(recurse=False).find(
            weft.Recording, "Recording", globs={"np": np, "weft": weft}):
        runner.run(found)
    assert runner.tries and not runner.failures
