# SPDX-License-Identifier: Apache-2.0
"""Processes end well: after fork(), at exit, without a driver."""
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import weft

X = np.zeros((2, 3), np.float32)


def run(text, **variables):
    done = subprocess.run([sys.executable, "-c", f"import weft, numpy as np\n{text}"],
                          env={**os.environ, **variables}, capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


def test_child_of_fork():
    weft.softmax(X)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            weft.softmax(X)
        except weft.DeviceError as error:
            status = 0 if "fork" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def test_child_of_fork_on_device(queue):
    import pyopencl.array as cl_array

    a = cl_array.to_device(queue, X)
    weft.softmax(a)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            weft.softmax(a)
        except weft.DeviceError as error:
            status = 0 if "fork" in str(error) else 2
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0


def test_child_before_use():
    code, out, errors = run("import os\n"
                            "if os.fork() == 0: print(weft.sum(np.ones(3, np.float32))), "
                            "os.sys.stdout.flush(), os._exit(0)\n"
                            "os.wait()")
    assert (code, out) == (0, "3.0"), errors


@pytest.mark.parametrize("use", ["weft.devices()", "weft.softmax(np.ones(3, np.float32))"])
def test_child_after_use(use):
    code, out, errors = run(f"import os\n{use}\n"
                            "if os.fork() == 0:\n"
                            "    for call in (lambda: weft.sum(np.ones(3, 'f')), weft.devices):\n"
                            "        try: call()\n"
                            "        except weft.DeviceError as error: print(error)\n"
                            "    os.sys.stdout.flush(), os._exit(0)\n"
                            "os.wait()")
    assert code == 0 and out.count("fork") == 2, (out, errors)


def test_child_while_a_thread_begins():
    """The lock that the thread has is not the child's."""
    code, out, errors = run("import os, threading, time\n"
                            "from weft import _loader\n"
                            "real, held = _loader._candidates, threading.Event()\n"
                            "_loader._candidates = lambda: (held.set(), time.sleep(60))\n"
                            "threading.Thread(target=weft.devices, daemon=True).start()\n"
                            "held.wait()\n"
                            "if os.fork() == 0:\n"
                            "    _loader._candidates = real\n"
                            "    print(weft.sum(np.ones(3, 'f')))\n"
                            "    os.sys.stdout.flush(), os._exit(0)\n"
                            "os.wait(), os._exit(0)")
    assert (code, out) == (0, "3.0"), errors


def test_child_without_opencl():
    code, out, errors = run("import os\n"
                            "assert weft.devices() == []\n"
                            "if os.fork() == 0:\n"
                            "    print(weft.devices())\n"
                            "    os.sys.stdout.flush(), os._exit(0)\n"
                            "os.wait()", WEFT_OPENCL="/nowhere/libOpenCL.so")
    assert (code, out) == (0, "[]"), errors


def test_exit_while_threads_call():
    code, _, errors = run("import threading\n"
                          "x = np.zeros((64, 64), np.float32)\n"
                          "def work():\n"
                          "    while True: weft.softmax(x)\n"
                          "threading.Thread(target=work, daemon=True).start()\n"
                          "weft.softmax(x)")
    assert code == 0, errors


@pytest.mark.parametrize("variables, words", [
    ({"WEFT_OPENCL": "/nowhere/libOpenCL.so"}, "cannot open shared object file"),
    ({"WEFT_OPENCL": os.fsdecode(b"/nowhere/\xff")}, "cannot open shared object file"),
    ({"WEFT_OPENCL": "libc.so.6"}, "no clGetPlatformIDs"),
    ({"WEFT_DEVICE": "no such device"}, "no such device"),
])
def test_no_device(variables, words):
    code, out, errors = run("try: weft.softmax(np.zeros(3, np.float32))\n"
                            "except weft.DeviceError as error: print(error)", **variables)
    assert code == 0 and words in out, errors


def test_devices():
    assert weft.devices()


class Interrupted:
    """The library, with a Ctrl-C that comes while a function of it runs; and what was called."""

    def __init__(self, lib, name, called):
        self._lib, self._name, self._called = lib, name, called

    def __getattr__(self, name):
        function = getattr(self._lib, name)
        if name.startswith("WEFT_"):
            return function

        def call(*arguments):
            result = function(*arguments)
            self._called.append(name)
            if name == self._name and self._called.count(name) == 1:
                raise KeyboardInterrupt
            return result

        return call


@pytest.mark.parametrize("name, is_cpu", [
    ("weft_softmax", True), ("weft_softmax", False), ("clWaitForEvents", True),
    ("clEnqueueMapBuffer", True), ("clEnqueueUnmapMemObject", True),
    ("clEnqueueReadBuffer", False)])
def test_interrupted(monkeypatch, name, is_cpu):
    """No kernel and no copy runs in the host's memory after the exception."""
    x = np.zeros((500, 1000), np.float32)
    weft.softmax(x)
    monkeypatch.setattr(weft._devices.host_place().context, "is_cpu", is_cpu)
    called = []
    for module in (weft._call, weft._softmax):
        monkeypatch.setattr(module, "lib", Interrupted(module.lib, name, called))
    out = np.zeros_like(x)
    with pytest.raises(KeyboardInterrupt):
        weft.softmax(x, out=out)
    done = out.copy()
    waits = [i for i, its in enumerate(called) if its in ("clWaitForEvents", "clFinish")]
    assert waits and max(waits) > called.index(name) - (name == "clWaitForEvents")
    assert called.count("clReleaseEvent") == called.count("clEnqueueReadBuffer") + called.count(
        "clEnqueueUnmapMemObject") + 1
    time.sleep(0.1)
    np.testing.assert_array_equal(out, done)
    assert (done != 0).all() or not is_cpu


def test_interrupted_on_device(monkeypatch, queue):
    """The result is complete with the event that it has all the same."""
    import pyopencl.array as cl_array

    x = cl_array.to_device(queue, np.zeros((500, 1000), np.float32))
    out = cl_array.zeros_like(x)
    out.finish()
    monkeypatch.setattr(weft._softmax, "lib", Interrupted(weft._softmax.lib, "weft_softmax", []))
    with pytest.raises(KeyboardInterrupt):
        weft.softmax(x, out=out)
    assert len(out.events) == 1
    assert (out.get() != 0).all()


def test_failure_of_a_kernel(monkeypatch):
    """A call that fails has no event, and may have enqueued kernels."""
    x, called = np.zeros((20, 10), np.float32), []
    for module in (weft._call, weft._softmax):
        monkeypatch.setattr(module, "lib", Interrupted(module.lib, "", called))
    with pytest.raises(ValueError):
        weft.softmax(x, scale=np.nan)
    assert "clFinish" not in called
    fails = Interrupted(weft._softmax.lib, "", called)
    fails.weft_softmax = lambda *_: weft._weft.lib.WEFT_OPENCL_ERROR
    monkeypatch.setattr(weft._softmax, "lib", fails)
    with pytest.raises(weft.DeviceError):
        weft.softmax(x)
    assert called[-1] == "clFinish"
