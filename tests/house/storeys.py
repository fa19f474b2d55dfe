#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what breaks the order of lib/ and cl/, and nothing where it holds.

    storeys.py SOURCE

A file may include and call what lies in its own folder or on a storey below it. No file may reach
itself again by includes and calls.
"""
import pathlib
import re
import sys

# From the ground up; folders of one storey do not know each other.
STOREYS = [["base"], ["runtime"], ["operand"], ["formula"], ["op"],
           ["axis", "dense", "elementwise", "convert", "sparse"], ["stream"]]
LEVEL = {folder: level for level, folders in enumerate(STOREYS) for folder in folders}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
TEXT = re.compile(r'"(?:\\.|[^"\\\n])*"')
# At the left margin a function is defined, or declared where a semicolon follows its parameters.
DEFINITION = re.compile(r"^(?!static)[A-Za-z][\w *]*?\b(weft_\w+)\([^;{]*\)\s*\{", re.M)
CALL = re.compile(r"\b(weft_\w+)\b(?=\s*[(,;)}])")


def code_of(path):
    return COMMENT.sub("", path.read_text(encoding="ascii"))


def arrows_by_includes(top, files):
    for file, code in files.items():
        for name in INCLUDE.findall(code):
            if top / name in files:
                yield file, top / name, name
            elif name.endswith("_parameters.h") and (top.parent / "cl" / name).exists():
                # What kernels take stands there for both; a folder has one storey in lib and cl.
                yield file, top / name, name
            else:
                print(f"{file}: includes {name}, which is not below {top}")


def arrows_by_calls(files):
    sources = {file: TEXT.sub('""', code) for file, code in files.items() if file.suffix == ".c"}
    home = {name: file for file, code in sources.items() for name in DEFINITION.findall(code)}
    for file, code in sources.items():
        for name in sorted(set(CALL.findall(code)) & home.keys()):
            if home[name] != file:
                yield file, home[name], name + "()"


def check_storeys(top, arrows):
    for source, target, name in arrows:
        here, there = source.relative_to(top).parts[0], target.relative_to(top).parts[0]
        if here != there and LEVEL[here] <= LEVEL[there]:
            print(f"{source}: {name} is of {top.name}/{there}")


# A source and the header of its name are one.
def unit(file):
    return file.with_suffix("") if file.suffix in (".c", ".h") else file


def circle_from(start, reached_by):
    """The shortest way from a unit back to itself."""
    before, queue = {}, [start]
    for at in queue:
        for to in reached_by.get(at, ()):
            if to == start:
                way = [start, at]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if to not in before:
                before[to] = at
                queue.append(to)
    return None


def check_circles(arrows):
    reached_by = {}
    for source, target, _ in arrows:
        if unit(source) != unit(target):
            reached_by.setdefault(unit(source), set()).add(unit(target))
    told = set()
    for start in sorted(reached_by):
        circle = circle_from(start, reached_by)
        if circle and not told & set(circle):
            told |= set(circle)
            print("a circle: " + " -> ".join(str(u) for u in circle))


def check(top, suffixes):
    files = {path: code_of(path) for path in sorted(top.rglob("*")) if path.suffix in suffixes}
    for file in files:
        if len(file.relative_to(top).parts) != 2 or file.relative_to(top).parts[0] not in LEVEL:
            print(f"{file}: is in none of the folders {', '.join(LEVEL)}")
            return
    arrows = [*arrows_by_includes(top, files), *arrows_by_calls(files)]
    check_storeys(top, arrows)
    check_circles(arrows)


def main(source):
    for top, suffixes in (("lib", (".c", ".h")), ("cl", (".cl", ".clh", ".h"))):
        check(pathlib.Path(source) / top, suffixes)


if __name__ == "__main__":
    main(*sys.argv[1:])
