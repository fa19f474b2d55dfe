# SPDX-License-Identifier: Apache-2.0
"""Operands of all kinds, by the softmax and the sum of them."""
import threading
import time

import numpy as np
import pytest
from conftest import to_device, views
from hypothesis import given, strategies

import weft
from weft import _arrays


def softmax_of(x, axis=-1):
    x = np.asarray(x, np.float64)
    if x.size == 0:
        return x
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def close(y, expected, dtype=np.float32):
    """f32: the error of exp() and of a division, relative; f16 is rounded once more."""
    tolerance = {2: 2.0**-10, 4: 2.0**-18, 8: 2.0**-45}[np.dtype(dtype).itemsize]
    np.testing.assert_allclose(np.asarray(y, np.float64), expected, rtol=tolerance, atol=1e-7)


class Other:
    """An array of another library, as far as DLPack goes."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)

    def __array_namespace__(self):
        return Other

    @staticmethod
    def from_dlpack(x):
        return Other(np.asarray(x))


class OnDevice(Other):
    def __dlpack_device__(self):
        return (2, 0)


class Interface:
    def __init__(self, array):
        self.array = array
        self.__array_interface__ = array.__array_interface__


@given(views(min_dims=1), strategies.data())
def test_views(x, data):
    axis = data.draw(strategies.integers(-x.ndim, x.ndim - 1))
    close(weft.softmax(x, axis), softmax_of(x, axis))


@given(views(min_dims=1), strategies.data())
def test_views_on_device(queue, x, data):
    axis = data.draw(strategies.integers(-x.ndim, x.ndim - 1))
    y = weft.softmax(to_device(queue, x), axis)
    assert type(y).__module__ == "pyopencl.array"
    close(y.get(), softmax_of(x, axis))


@given(views(min_dims=2), strategies.booleans())
def test_views_as_out(x, overlaps):
    """Into every view without an element twice, of a part of a larger array."""
    out = np.full(tuple(2 * extent + 1 for extent in x.shape), np.nan, np.float32)
    part = out.T[tuple(slice(2 * extent, 0, -2) for extent in reversed(x.shape))].T
    if overlaps:
        part[...] = x
        expected, y = softmax_of(x[::-1]), weft.softmax(part[::-1], out=part)
    else:
        expected, y = softmax_of(x), weft.softmax(x, out=part)
    assert y is part
    close(y, expected)
    assert np.isnan(out).sum() == out.size - part.size


def test_in_place(queue):
    x = np.arange(70, dtype=np.float32).reshape(7, 10) % 7
    expected = softmax_of(x)
    a = to_device(queue, x)
    assert weft.softmax(x, out=x) is x
    close(x, expected)
    assert weft.softmax(a, out=a) is a
    close(a.get(), expected)


def test_memory_is_used_as_it_is():
    """Views that begin anywhere, and no copy of what kernels can read."""
    whole = np.zeros(1000, np.float32)
    for start in (0, 1, 3, 31, 32, 33):
        part = whole[start:start + 64]
        part[...] = np.arange(64) % 5
        close(weft.softmax(part, out=part), softmax_of(np.arange(64) % 5))
    assert _arrays.is_fit(whole[1:])


@pytest.mark.parametrize("x", [
    np.zeros(41, np.uint8)[1:].view(np.float32).reshape(2, 5),
    np.arange(10).reshape(2, 5).astype(">f4"),
    np.zeros((2, 5), [("a", np.float32), ("b", np.uint8)])["a"],
], ids=["unaligned", "big endian", "a field"])
def test_memory_that_kernels_cannot_read(x):
    expected = softmax_of(x)
    close(weft.softmax(x), expected)
    if x.dtype.isnative:
        assert weft.softmax(x, out=x) is x
        close(x, expected)


def test_read_only():
    x = np.zeros((2, 4), np.float32)
    x.flags.writeable = False
    close(weft.softmax(x), softmax_of(x))
    with pytest.raises(ValueError, match="read-only"):
        weft.softmax(np.zeros((2, 4), np.float32), out=x)


@pytest.mark.parametrize("kind", [Other, Interface])
def test_other_arrays(kind):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = weft.softmax(kind(x))
    assert type(y) is (Other if kind is Other else np.ndarray)
    close(y.array if kind is Other else y, softmax_of(x))


class Lying(Other):
    """Of which no more can be found out than that."""

    def __dlpack_device__(self):
        return None


def test_what_is_no_array(queue):
    with pytest.raises(TypeError, match="gives no pair"):
        weft.softmax(Lying(np.zeros(3, np.float32)))
    with pytest.raises(TypeError, match="DLPack's kind 2"):
        weft.softmax(OnDevice(np.zeros(3, np.float32)))
    for x in (object(), "text", None, [1 + 1j], np.ma.masked_array([1.0], [True])):
        with pytest.raises((TypeError, ValueError)):
            weft.softmax(x, 0)
    for x in (object(), None, weft.csr(np.eye(2, dtype=np.float32))):
        with pytest.raises(TypeError, match=f"a {type(x).__name__} is no dense array"):
            weft.sum(x)
    with pytest.raises(TypeError, match="uint32 is no .* float32, .* int64, "):
        weft.sum(np.ones(2, np.uint32))
    with pytest.raises(TypeError, match="out is in the host's memory"):
        weft.softmax(to_device(queue, np.zeros(3, np.float32)), out=np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="9 dimensions"):
        weft.softmax(np.zeros((1,) * 9, np.float32))


def test_both_kinds(queue):
    """Beside PyOpenCL's, arrays of the host are copied to their device."""
    y = weft.softmax(to_device(queue, np.zeros((2, 3), np.float32)))
    dy = np.array([[3, 0, 0], [0, 0, 3]], np.float32)
    dx = weft.softmax_backward(y, dy)
    dy[...] = np.nan
    close(dx.get(), [[2 / 3, -1 / 3, -1 / 3], [-1 / 3, -1 / 3, 2 / 3]])
    assert weft.softmax(np.zeros((2, 3), np.float32), out=dx) is dx
    close(dx.get(), np.full((2, 3), 1 / 3))


def test_events_of_out(queue):
    """What a call has waited for is complete with it."""
    import pyopencl.array as cl_array

    x = to_device(queue, np.ones((2, 8), np.float32))
    out = cl_array.empty(queue, (2, 8), np.float32)
    for _ in range(20):
        weft.softmax(x, out=out)
        assert len(out.events) == 1
    view = out[1:]
    weft.softmax(x[1:], out=view)
    assert len(out.events) == 1
    np.testing.assert_array_equal(out.get(), np.full((2, 8), 0.125, np.float32))


def test_new_results(queue):
    """Results are as PyOpenCL's constructor makes them, and of the operand's allocator."""
    import pyopencl.array as cl_array

    x = to_device(queue, np.ones((3, 5), np.float32))
    for shape in ((3, 5), (3, 1), (), (0, 4), (4, 0, 2)):
        for like in (x, cl_array.empty(queue, (3,), np.float32, allocator=pool_of(queue))):
            mine = weft._call._new_on_device(like, queue, shape, np.dtype(np.float16))
            its = cl_array.Array(queue, shape, np.float16, allocator=like.allocator)
            for name in ("shape", "strides", "dtype", "size", "nbytes", "offset", "events",
                         "allocator", "queue", "ndim"):
                assert getattr(mine, name) == getattr(its, name), name
            assert str(mine.flags.c_contiguous) == str(its.flags.c_contiguous)
            assert (mine.base_data is None) == (its.base_data is None)

    class Own(cl_array.Array):
        pass

    own = Own(queue, (2, 3), np.float32)
    own.fill(1)
    assert type(weft.softmax(own)) is Own


def pool_of(queue):
    import pyopencl.tools

    return pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(queue))


def test_events(queue):
    """A call waits for the events of its operands, and its result has one."""
    import pyopencl as cl

    x = to_device(queue, np.ones((2, 3), np.float32))
    gate = cl.UserEvent(queue.context)
    x.add_event(gate)
    y = weft.softmax(x)
    assert len(y.events) == 1
    queue.flush()
    time.sleep(0.1)  # enough for the kernel, if it did not wait
    assert y.events[0].command_execution_status != cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    cl.wait_for_events(y.events)
    close(y.get(), np.full((2, 3), 1 / 3))


def test_other_queue(queue):
    import pyopencl as cl

    context = cl.Context(queue.context.devices)
    other = cl.CommandQueue(context)
    x = to_device(queue, np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="context"):
        weft.softmax(x, out=to_device(other, np.ones((2, 3), np.float32)))
    with pytest.raises(ValueError, match="no queue"):
        weft.softmax(x.with_queue(None))


def test_many_contexts(queue):
    """A context of the library stays for some of the caller's, and works as long as it is used."""
    import pyopencl as cl

    made = []
    for i in range(weft._devices.MOST_CONTEXTS + 3):
        context = cl.Context(queue.context.devices)
        x = to_device(cl.CommandQueue(context), np.full((2, 3), i, np.float32))
        made.append((context, x, weft.softmax(x)))
    assert len(weft._devices._contexts) == weft._devices.MOST_CONTEXTS
    for _, x, y in made[:2]:
        close(y.get(), np.full((2, 3), 1 / 3))
        close(weft.softmax(x).get(), np.full((2, 3), 1 / 3))


def test_device_with_memory_of_its_own(monkeypatch):
    """As a GPU's: operands and results are copied."""
    monkeypatch.setattr(weft._devices.host_place().context, "is_cpu", False)
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5) % 7
    close(weft.softmax(x[::-1, ::2].T, 1), softmax_of(x[::-1, ::2].T, 1))
    whole = np.zeros((6, 20), np.float32)
    part = whole[::2, 16:0:-4]
    weft.softmax(x[:, :, 0], out=part)
    close(part, softmax_of(x[:, :, 0]))
    assert np.count_nonzero(whole) == 12
    assert weft.sum(np.zeros((0, 3), np.float32), axis=1).shape == (0,)
    y = np.ones((3, 5), np.float32)
    weft.matmul(x[0, :3], np.eye(5, dtype=np.float32), beta=1, out=y)
    close(y, x[0, :3] + 1)


def test_threads(queue):
    x = np.arange(600, dtype=np.float32).reshape(20, 30) % 11
    a, expected, wrong = to_device(queue, x), softmax_of(x), []

    def work(i):
        for _ in range(20):
            y = weft.softmax(x) if i % 2 else weft.softmax(a).get()
            if not np.allclose(y, expected, rtol=1e-5):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=[i]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
