#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shape of the house in figures, of the tree or of a revision of it:

    python3 tools/shape.py [REVISION ...]

Lines by folder; functions of the library, the middle one and the longest; public functions;
functions on the shortest way from a public call to clEnqueueNDRangeKernel; files of the library
that reach themselves again by includes and calls.
"""
import io
import pathlib
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests" / "house"))
import storeys  # it reads includes and calls
FOLDERS = {"include": (".h",), "lib": (".c", ".h"), "cl": (".cl", ".clh"),
           "tests": (".c", ".h", ".cc", ".sh", ".py"), "tools": (".c", ".h", ".cl", ".sh", ".py"),
           "examples": (".c", ".h"), "docs": (".md",)}
DOORS = ["weft_spmm", "weft_sddmm", "weft_softmax", "weft_matmul", "weft_elementwise"]

# From the left margin to a brace there: of functions as clang-format leaves them.
FUNCTION = re.compile(r"^[A-Za-z][^\n;{}=]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.M | re.S)
PUBLIC = re.compile(r"^WEFT_API [^;]*?\b(weft_\w+)\(", re.M)
HOOK = re.compile(r"\.run = (\w+)")  # what the driver calls by the operation's table
CALL = re.compile(r"\b([a-z_]\w*)\b(?=\s*[(,)])")
ENQUEUE = "clEnqueueNDRangeKernel"


def files_of(folder, suffixes):
    return [path for path in sorted(folder.rglob("*")) if path.suffix in suffixes]


def print_lines(top):
    for folder, suffixes in FOLDERS.items():
        files = files_of(top / folder, suffixes)
        lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in files]
        print(f"  {folder:10} {sum(lines):6} lines in {len(files)} files, the longest {max(lines)}")


def functions_of(sources):
    """What each function calls, and its lines, by file and name."""
    found = {}
    for path, code in sources.items():
        for name, body in FUNCTION.findall(code):
            found[path, name] = set(CALL.findall(body)), body.count("\n") + 3
    return found


def hooks_of(source, functions):
    """What the tables of a source have the driver call, by themselves or by a header's macro."""
    code = storeys.code_of(source)
    headers = [source.parent.parent / name for name in storeys.INCLUDE.findall(code)]
    texts = [code] + [storeys.code_of(path) for path in headers if path.exists()]
    names = {name for text in texts for name in HOOK.findall(text)}
    return sorted(key for key in functions if key[1] in names and
                  (key[0] == source or key[1].startswith("weft_")))


def way_to_enqueue(door, functions):
    """Names on the shortest way; a function of the file itself comes before one of another."""
    outside = {name: (path, name) for path, name in functions if name.startswith("weft_")}
    start = outside.get(door)
    ways = [[start]] if start else []
    hooks = hooks_of(start[0], functions) if start else []
    seen = set(ways[0]) if ways else set()
    for way in ways:
        path, name = way[-1]
        calls = functions[path, name][0]
        if ENQUEUE in calls:
            return [name for _, name in way]
        for call in sorted(calls):
            here = (path, call) if (path, call) in functions else outside.get(call)
            for to in [here] if here else hooks if call == "run" else []:
                if to not in seen and to in functions:
                    seen.add(to)
                    ways.append(way + [to])
    return []


def print_functions(top, sources):
    functions = functions_of(sources)
    lines = {name: n for (_, name), (_, n) in functions.items()}
    longest = max(lines, key=lines.get)
    headers = files_of(top / "include", (".h",))
    n_public = sum(len(PUBLIC.findall(storeys.code_of(header))) for header in headers)
    print(f"  {len(functions)} functions of the library: the middle one has "
          f"{statistics.median(lines.values()):.0f} lines, {longest}() {lines[longest]}")
    print(f"  {n_public} public functions")
    for door in DOORS:
        way = way_to_enqueue(door, functions)
        print(f"  {len(way):2} functions to the device: {' '.join(way)}")


def arrows_of(lib):
    """Which files each file includes or calls; a source and the header of its name are one."""
    files = {path: storeys.code_of(path) for path in files_of(lib, (".c", ".h"))}
    arrows = {}
    for source, target, _ in [*storeys.arrows_by_includes(lib, files),
                              *storeys.arrows_by_calls(files)]:
        if storeys.unit(source) != storeys.unit(target):
            arrows.setdefault(storeys.unit(source), set()).add(storeys.unit(target))
    return arrows


def reached_from(start, arrows):
    reached = list(arrows.get(start, ()))
    for at in reached:
        reached += [to for to in arrows.get(at, ()) if to not in reached]
    return set(reached)


def print_circles(arrows):
    reached = {at: reached_from(at, arrows) for at in arrows}
    circles = {frozenset(to for to in reached[at] if at in reached.get(to, ()))
               for at in arrows if at in reached[at]}
    print(f"  {len(circles)} circles, of {sum(map(len, circles))} files")
    for names in sorted(sorted(path.name for path in circle) for circle in circles):
        print("    " + " ".join(names))


def describe(top, name):
    print(f"{name}:")
    print_lines(top)
    print_functions(top, {path: storeys.code_of(path) for path in files_of(top / "lib", (".c",))})
    print_circles(arrows_of(top / "lib"))


def main(revisions):
    if any(revision.startswith("-") for revision in revisions):
        sys.exit(__doc__)
    if not revisions:
        describe(TOP, "the tree")
    for revision in revisions:
        archive = subprocess.run(["git", "-C", TOP, "archive", revision], capture_output=True,
                                 check=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            tarfile.open(fileobj=io.BytesIO(archive)).extractall(folder)
            describe(pathlib.Path(folder), revision)


main(sys.argv[1:])
