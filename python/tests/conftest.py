# SPDX-License-Identifier: Apache-2.0
"""Operands of tests: views of any kind, in the host's memory and on a device."""
import os

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

LONG = bool(os.environ.get("WEFT_TEST_LONG"))
hypothesis.settings.register_profile(
    "weft", database=None, deadline=None, derandomize=not LONG, print_blob=True,
    max_examples=400 if LONG else 15,
    suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("weft")


@pytest.fixture(scope="session")
def queue():
    """Of PyOpenCL, on the device that the host's arrays go to, too."""
    cl = pytest.importorskip("pyopencl")
    wanted = os.environ.get("WEFT_DEVICE", "")
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            if wanted.lower() in f"{device.name}\n{platform.name}\n{platform.vendor}".lower():
                context = cl.Context([device])  # which a queue of Intel's does not keep
                yield cl.CommandQueue(context)
                return
    pytest.skip("there is no OpenCL device")


@strategies.composite
def views(draw, dtype=np.float32, min_dims=0, max_dims=4, most=6):
    """Arrays of small whole numbers, whose sums are exact: transposed, sliced, with negative steps
    and steps of 0, of Fortran's order, and without elements."""
    extents = strategies.integers(0, most) | strategies.sampled_from([1, 1, 17, 33])
    shape = draw(strategies.lists(extents, min_size=min_dims, max_size=max_dims))
    if np.prod(shape, dtype=int) > 1 << 14:
        shape = [min(extent, 5) for extent in shape]
    steps = [draw(strategies.sampled_from([1, 1, 1, 2, -1, -3, 0])) for _ in shape]
    skips = [draw(strategies.integers(0, 2)) for _ in shape]
    whole = [1 if step == 0 else skip + abs(step) * extent + 1
             for extent, step, skip in zip(shape, steps, skips)]
    seed = draw(strategies.integers(0, 1 << 30))
    numbers = np.random.default_rng(seed).integers(-8, 8, whole)
    x = np.asarray(numbers, order=draw(strategies.sampled_from("CF"))).astype(dtype, order="K")
    for axis, (extent, step, skip) in enumerate(zip(shape, steps, skips)):
        if step == 0:
            target = x.shape[:axis] + (extent,) + x.shape[axis + 1:]
            x = np.broadcast_to(x, target)
        else:
            part = np.arange(x.shape[axis])[skip::abs(step)][:extent]
            index = slice(part[0], part[0] + abs(step) * extent, abs(step)) if extent else slice(0)
            x = x[(slice(None),) * axis + (index,)]
            x = x[(slice(None),) * axis + (slice(None, None, -1 if step < 0 else 1),)]
    return x.transpose(draw(strategies.permutations(range(x.ndim))))


def to_device(queue, x):
    """The same view of a buffer."""
    import pyopencl as cl
    import pyopencl.array as cl_array

    if x.size == 0:
        return cl_array.empty(queue, x.shape, x.dtype)
    whole = x
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    data = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR,
                     hostbuf=whole.ravel(order="K"))
    offset = (x.__array_interface__["data"][0] - whole.__array_interface__["data"][0])
    return cl_array.Array(queue, x.shape, x.dtype, data=data, offset=offset, strides=x.strides)
