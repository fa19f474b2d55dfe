# SPDX-License-Identifier: Apache-2.0
"""Processes end well: after fork(), at exit, without a driver."""
import os
import subprocess
import sys

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
    ({"WEFT_OPENCL": "libc.so.6"}, "no clGetPlatformIDs"),
    ({"WEFT_DEVICE": "no such device"}, "no such device"),
])
def test_no_device(variables, words):
    code, out, errors = run("try: weft.softmax(np.zeros(3, np.float32))\n"
                            "except weft.DeviceError as error: print(error)", **variables)
    assert code == 0 and words in out, errors


def test_devices():
    assert weft.devices()
