#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a .cl file into a C file, with its quoted includes spliced in.

    embed.py FILE.cl OUT.c SYMBOL DEPFILE

Includes are named from this folder on; #line says where each line is from. OUT.c defines `const weft_source SYMBOL`, or OUT.h, for what
is not the library, `static const char SYMBOL[]`; DEPFILE names all files read, for Ninja.
"""
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"\s*$')
CONDITION = re.compile(r"^\s*#\s*(if|elif|else|endif)")
PER_LINE = 20
TOP = pathlib.Path(__file__).resolve().parent


def spliced(path, read):
    """The lines of a file, with their places. A file that is included twice comes once."""
    if path in read:
        return
    read.append(path)
    name = path.relative_to(TOP) if path.is_relative_to(TOP) else path.name
    depth = 0
    is_off = False  # whether lines of an include are in a condition, which may be false
    yield f'#line 1 "{name}"'
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        include = INCLUDE.match(line)
        condition = CONDITION.match(line)
        lines = [*spliced(TOP / include.group(1), read)] if include else []
        yield from lines or ["" if include or line == "#pragma once" else line]
        if condition:
            depth += {"if": 1, "endif": -1}.get(condition.group(1), 0)
        if lines or (is_off and condition):
            yield f'#line {number + 1} "{name}"'
        is_off = depth > 0 and (is_off or bool(lines))


def numbers(data):
    """Not a string literal: those may end after 4095 characters, says ISO C."""
    for start in range(0, len(data), PER_LINE):
        yield "    " + " ".join(f"{byte}," for byte in data[start:start + PER_LINE])


def main(source, out, symbol, depfile):
    path = pathlib.Path(source).resolve()
    read = []
    text = "".join(line + "\n" for line in spliced(path, read)).encode("ascii")
    is_header = out.endswith(".h")
    name = symbol if is_header else "text"
    lines = [f"// Generated from {path.name} by embed.py.", f"static const char {name}[] = {{",
             *numbers(text + b"\0"), "};", ""]
    if not is_header:
        lines[1:1] = ['#include "runtime/program.h"', ""]
        lines += [f'const weft_source {symbol} = {{"{path.stem}", text, {len(text)}}};', ""]
    pathlib.Path(out).write_text("\n".join(lines))
    pathlib.Path(depfile).write_text(f"{out}: {' '.join(map(str, read))}\n")


main(*sys.argv[1:])
