#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the public headers as one, without comments: what tests/data/abi keeps of a release.

    abi.py SOURCE [grown]

With `grown` every struct of params has one more field, void *added: those of a later release.
"""
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
OWN = re.compile(r'^#include <weft/([^>]+)>\n', re.M)
PARAMS = re.compile(r"^\} (weft_\w+_params);", re.M)


def spliced(folder, name, read):
    if name in read:
        return ""
    read.append(name)
    text = COMMENT.sub("", (folder / name).read_text(encoding="ascii"))
    return OWN.sub(lambda include: spliced(folder, include.group(1), read), text)


def main(source, grown=None):
    text = spliced(pathlib.Path(source) / "include" / "weft", "weft.h", [])
    text = re.sub(r"[ \t]+\n", "\n", text)
    text = re.sub(r"\n{2,}", "\n", text).lstrip()
    if grown:
        text = PARAMS.sub(r"    void *added;\n} \1;", text)
    print("// SPDX-License-Identifier: Apache-2.0\n// The public headers of weft, made by tests/house/abi.py.")
    print(text, end="")


main(*sys.argv[1:])
