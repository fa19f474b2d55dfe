#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts the library's sources in the place of the link to them, when Meson makes an sdist."""
import os
import pathlib
import shutil

PARTS = ["LICENSE", "README.md", "cl", "include", "lib", "meson.build", "meson_options.txt",
         "tools"]

source = pathlib.Path(os.environ["MESON_PROJECT_SOURCE_ROOT"], "subprojects", "weft").resolve()
target = pathlib.Path(os.environ["MESON_PROJECT_DIST_ROOT"], "subprojects", "weft")
if target.is_symlink():
    target.unlink()
    target.mkdir()
    for name in PARTS:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        else:
            shutil.copy2(source / name, target / name)
