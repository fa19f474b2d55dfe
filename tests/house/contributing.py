#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds the operation that CONTRIBUTING.md shows to a copy of the tree, as the text says.

    contributing.py SOURCE COPY

A block of code under a path in bold is that file, which must not be there yet. A row of a table

    | `FILE` | `NEW` | `NEIGHBOUR` |

adds NEW to FILE on a line in front of the words NEIGHBOUR, which must be there once. Prints the
files of the blocks.
"""
import pathlib
import re
import sys

SECTION = re.compile(r"^## Adding an operation\n(.*?)^## ", re.M | re.S)
BLOCK = re.compile(r"^\*\*([\w./]+)\*\*\n```\w*\n(.*?)^```$", re.M | re.S)
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|$", re.M)


def write(path, text):
    if path.exists():
        sys.exit(f"{path} is there already")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(path)


def add(path, new, neighbour):
    text = path.read_text()
    if text.count(neighbour) != 1:
        sys.exit(f"{path} has {neighbour} {text.count(neighbour)} times")
    indent = re.search(rf"^( *).*?{re.escape(neighbour)}", text, re.M).group(1)
    path.write_text(text.replace(neighbour, f"{new}\n{indent}{neighbour}"))


def main(source, copy):
    section = SECTION.search(pathlib.Path(source, "CONTRIBUTING.md").read_text()).group(1)
    blocks, rows = BLOCK.findall(section), ROW.findall(section)
    if section.count("```") != 2 * len(blocks) or not rows:
        sys.exit(f"{len(blocks)} blocks of code have a path, {len(rows)} rows say what is added")
    for path, text in blocks:
        write(pathlib.Path(copy, path), text)
    for path, new, neighbour in rows:
        add(pathlib.Path(copy, path), new, neighbour)


main(*sys.argv[1:])
