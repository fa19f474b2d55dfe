#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a .cl file into a C string, with its quoted includes spliced in.

embed.py SPMM.cl OUT.c SYMBOL   defines `const weft_source SYMBOL`.
embed.py SPMM.cl OUT.h SYMBOL   defines `static const char SYMBOL[]`, for what is not the library.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#include\s+"([^"]+)"\s*$')


def spliced(path):
    for line in path.read_text(encoding="ascii").splitlines():
        match = INCLUDE.match(line)
        if match:
            yield from spliced(path.parent / match.group(1))
        else:
            yield line


def quoted(line):
    return '    "' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"'


def main(source, out, symbol):
    path = pathlib.Path(source)
    lines = list(spliced(path))
    text = "\n".join(quoted(line) for line in lines)
    length = sum(len(line) + 1 for line in lines)
    head = (f"// Generated from {path.name} by embed.py.\n"
            '#pragma GCC diagnostic ignored "-Woverlength-strings"\n')
    if out.endswith(".h"):
        whole = f"{head}static const char {symbol}[] =\n{text};\n"
    else:
        whole = (f'{head}#include "program.h"\n\n'
                 f"static const char text[] =\n{text};\n\n"
                 f'const weft_source {symbol} = {{"{path.stem}", text, {length}}};\n')
    pathlib.Path(out).write_text(whole)


main(*sys.argv[1:])
