# SPDX-License-Identifier: Apache-2.0
"""What Python adds to a call of the library, for PyOpenCL's arrays, in microseconds:

    tools/python --bench

Of each operation a small call is made again and again, by Python, and by C alone: the same function
with the same arguments, through the same binding. Times are those of this thread, by
time.thread_time_ns(), the least of ROUNDS means: what the device does meanwhile is not in them.
"""
import time

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

import weft
from weft._call import Call
from weft._weft import ffi, lib

N, ROUNDS, CALLS = 16, 400, 20


class Made:
    """The call of C that a call of Python makes."""

    def __init__(self, call):
        run = Call.run

        def noted(its, function, pool, params, *arguments):
            self.function = getattr(function, "args", (function,))[0]
            self.place, self.params, self.arguments = its.place, params, arguments
            self.call = its  # and what keeps its structs' memory
            return run(its, function, pool, params, *arguments)

        Call.run = noted
        try:
            self.result = call()
        finally:
            Call.run = run

    def again(self):
        struct = self.params.struct
        struct.n_wait, struct.wait, self.params.event[0] = 0, ffi.NULL, ffi.NULL
        place, function, arguments = self.place, self.function, self.arguments
        event = self.params.event

        def call():
            function(place.ctx, place.queue, *arguments, struct)
            lib.clReleaseEvent(event[0])

        return call


def cost_of(call, queue):
    """Microseconds of one."""
    times = []
    for _ in range(ROUNDS):
        begin = time.thread_time_ns()
        for _ in range(CALLS):
            call()
        times.append(time.thread_time_ns() - begin)
        queue.finish()
    return min(times) / CALLS / 1e3


def calls(queue):
    rng = np.random.default_rng(1)
    x, y = (cl_array.to_device(queue, rng.standard_normal((N, N), np.float32)) for _ in range(2))
    A = weft.csr(np.tril(np.ones((N, N), np.float32))).to_device(queue)
    return {
        "spmm": lambda out: weft.spmm(A, y, out=out),
        "softmax": lambda out: weft.softmax(x, out=out),
        "sum": lambda out: weft.sum(x, axis=1, out=out),
        "matmul": lambda out: weft.matmul(x, y, out=out),
        "elementwise": lambda out: weft.elementwise("a * x + max(y, 0)", x=x, y=y, a=0.5, out=out),
    }


def main():
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    print(f"{context.devices[0].name}, PyOpenCL {cl.VERSION_TEXT}, NumPy {np.__version__}\n")
    print(f"{'microseconds':12} {'C alone':>9} {'Python, with out':>17} {'without out':>12}")
    for name, call in calls(queue).items():
        made = Made(lambda call=call: call(None))
        out = made.result
        bare = cost_of(made.again(), queue)
        given, new = (cost_of(lambda: call(its), queue) - bare for its in (out, None))
        print(f"{name:12} {bare:9.1f} {given:17.1f} {new:12.1f}", flush=True)


if __name__ == "__main__":
    main()
