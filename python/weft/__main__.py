# SPDX-License-Identifier: Apache-2.0
"""The program weft, with the OpenCL that the package finds: python -m weft COMMAND ..."""
from __future__ import annotations

import contextlib
import os
import pathlib
import sys

from weft._binding import DeviceError
from weft._loader import opencl


def main() -> None:
    program = pathlib.Path(__file__).with_name("_program")
    if not program.exists():
        sys.exit("weft: the package was built without the program, which needs the headers of "
                 "jansson and zlib (libjansson-dev, zlib1g-dev)")
    with contextlib.suppress(DeviceError):  # not all commands need it; the others say so
        os.environ["WEFT_OPENCL"] = opencl()
    sys.stdout.flush()
    os.execv(program, ["weft", *sys.argv[1:]])


main()
