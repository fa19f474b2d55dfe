# SPDX-License-Identifier: Apache-2.0
"""python -m weft is the program weft, on the OpenCL that the package finds."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

import weft

PROGRAM = pathlib.Path(weft.__file__).with_name("_program")
built_with_it = pytest.mark.skipif(not PROGRAM.exists(), reason="built without jansson or zlib")


def said(*arguments, **variables):
    done = subprocess.run([sys.executable, "-m", "weft", *arguments],
                          env={**os.environ, **variables}, capture_output=True, text=True,
                          timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


def test_without_it(tmp_path):
    """Where it was not built the message says why."""
    copy = tmp_path / "weft"
    copy.mkdir()
    for part in PROGRAM.parent.iterdir():
        if part.name not in ("_program", "__pycache__"):
            (copy / part.name).symlink_to(part)
    (copy / "__main__.py").unlink()
    (copy / "__main__.py").write_text(PROGRAM.with_name("__main__.py").read_text())
    code, _, errors = said("--version", PYTHONPATH=str(tmp_path))
    assert code == 1 and "jansson" in errors


@built_with_it
def test_version():
    assert said("--version") == (0, f"weft {weft.__version__}\n", "")


@built_with_it
def test_devices():
    code, out, errors = said("info", "--json")
    assert code == 0, errors
    listed = [device["name"] for platform in json.loads(out)["platforms"]
              for device in platform["devices"]]
    assert sorted(listed) == sorted(device.name for device in weft.devices())


@built_with_it
def test_explain():
    code, out, errors = said("explain", "softmax", "128x128")
    assert code == 0 and out.startswith("softmax: X (128, 128), f32\n"), errors
    assert said("explain", "softmax", "128x128", "--profile", "h100",
                WEFT_OPENCL="/no/such/library")[0] == 0


@built_with_it
def test_bench():
    code, out, errors = said("bench", "host", "--quick", "--only", "host-softmax_backward",
                             "--json")
    assert code == 0, errors
    assert "host-softmax_backward" in out and json.loads(out)


@built_with_it
def test_refusals():
    assert said("no such command")[0] != 0
    code, _, errors = said("softmax", "/no/such/file.npy")
    assert code != 0 and "/no/such/file.npy" in errors
