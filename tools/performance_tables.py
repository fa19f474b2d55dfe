#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of measured figures into the pages, from the runs that docs/data keeps:

    python3 tools/performance_tables.py [--check] [SOURCE]

A table stands in README.md, docs/*.md or docs/kernels/*.md between the lines <!-- table: NAME -->
and <!-- end -->. docs/tables.json says of each name which columns and rows it has. With --check
nothing is written: each table that differs from the data is printed, and the exit status is 1.
SOURCE is the tree, the one of this file by default.
"""
import decimal
import json
import pathlib
import re
import sys

PAGES = ("README.md", "docs/*.md", "docs/kernels/*.md")
TABLE = re.compile(r"^<!-- table: (\S+) -->\n(.*?)^<!-- end -->$", re.M | re.S)
HEADER = ("from", "date", "weft", "platform")

# Significant digits and decimals of a figure, by the end of its name.
DIGITS = {"_ms": (4, 4), "share": (9, 2), "gflops": (9, 1), "gbps": (9, 1), "_mean": (9, 2),
          "worst": (9, 2), "cases": (9, 0), "slower": (9, 0)}


class Mistake(Exception):
    """A sentence about a file."""


def read_json(path):
    """Numbers keep the digits that they are written with."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_float=decimal.Decimal,
                          parse_int=decimal.Decimal)
    except ValueError as error:
        raise Mistake(f"{path.name}: no JSON: {error}") from None


# ---- kept runs

def pseudo_cases(run):
    """The limits, dense products of random shapes, and sums over cases, as if they were cases."""
    yield {"case": "limits", **run.get("limits", {})}
    if "sweep" in run:
        yield {"case": "random", "share": run["sweep"]["median"], "bound": "FMA"}
    for operation in run.get("operations", []):  # of tools/peers
        yield {**operation, "case": f"all of {operation['op']}"}


class Run:
    """One file: what `weft bench --json` wrote, or the report of tools/gpu-check."""

    def __init__(self, path):
        written = read_json(path)
        bench = written.get("bench", written)
        missing = [key for key in HEADER if not bench.get("header", {}).get(key)]
        if missing:
            raise Mistake(f"{path.name}: its header does not say {', '.join(missing)}")
        peers = written.get("peers", [])
        if isinstance(peers, dict):  # of tools/gpu-check
            peers = [{"name": "PyTorch", "cases": peers.get("cases", [])}]
        self.cases = {None: [*pseudo_cases(bench), *bench["cases"]]}
        self.cases.update({peer["name"]: peer["cases"] for peer in peers})

    def find(self, name, peer, planned):
        """planned: True, False for cases without a plan, None for the planned one where both are."""
        for case in self.cases.get(peer, []):
            its = case.get("planned")
            if case["case"] == name and (its is True if planned else
                                         its is not (True if planned is False else False)):
                return case
        return None


# ---- cells

def shown(value, figure):
    """With as many digits as such figures have, or fewer where fewer are known."""
    digits, places = next(rule for end, rule in DIGITS.items() if figure.endswith(end))
    exponent = max(-places, value.adjusted() - digits + 1)
    if value.as_tuple().exponent < exponent:
        value = value.quantize(decimal.Decimal(1).scaleb(exponent))
    return f"{value:,f}".replace(",", " " if value >= 10000 else "")


def text_of(value, figure):
    """A number, a range of several runs, a list of runs, or a name."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(text_of(its, figure) for its in value)
    if isinstance(value, dict):
        return f"{shown(value['min'], figure)} to {shown(value['max'], figure)}"
    return shown(value, figure)


def numbers_of(value):
    parts = value.values() if isinstance(value, dict) else value
    return sum(map(numbers_of, parts), []) if isinstance(value, (dict, list)) else [value]


class Tables:
    """The layouts, and the runs that they name."""

    def __init__(self, source):
        self.layouts = read_json(source / "docs" / "tables.json")
        self.runs = {path.stem: Run(path) for path in sorted((source / "docs/data").glob("*.json"))}

    def find(self, column, reference):
        """What a column's files, or the file named before a colon, say of a case."""
        file, _, name = reference.rpartition(":")
        files = [file] if file else column["data"]
        for its in [files] if isinstance(files, str) else files:
            if its not in self.runs:
                raise Mistake(f"docs/data has no {its}.json")
            case = self.runs[its].find(name, column.get("peer"), column.get("planned"))
            if case is not None and column["figure"] in case:
                return case
        return None

    def figure(self, column, reference):
        """The text of a case, or of the range over a list of cases; and what it is a share of."""
        figure = column["figure"]
        names = reference if isinstance(reference, list) else [reference]
        cases = [case for case in (self.find(column, name) for name in names) if case]
        bound = cases[0].get("bound") if cases and column.get("bound") else None
        if len(cases) < 2:
            return (text_of(cases[0][figure], figure) if cases else "-"), bound
        numbers = sum((numbers_of(case[figure]) for case in cases), [])
        return text_of({"min": min(numbers), "max": max(numbers)}, figure), bound

    def cell(self, column, references):
        found = [self.figure(column, reference) for reference in references]
        if all(text == "-" for text, _ in found):
            return "-"
        words = []
        for i, (text, bound) in enumerate(found):  # a bound is said once of those that share it
            ends = bound and (i + 1 == len(found) or found[i + 1][1] != bound)
            words.append(f"{text} of {bound}" if ends else text)
        return "; ".join(words)

    def row(self, name, columns, texts, references):
        texts = iter(texts)
        cells = [self.cell(column, references) if "figure" in column else next(texts)
                 for column in columns]
        for reference in references:
            if not any("figure" in column and self.cell(column, [reference]) != "-"
                       for column in columns):
                raise Mistake(f"docs/tables.json: {name}: no figure of {reference}")
        return cells

    def table(self, name):
        if name not in self.layouts:
            raise Mistake(f"docs/tables.json has no table {name}")
        columns = self.layouts[name]["columns"]
        rows = [[column["title"] for column in columns], ["---"] * len(columns)]
        rows += [self.row(name, columns, *row) for row in self.layouts[name]["rows"]]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines[1] = lines[1].replace(" ", "")
        return "".join(line + "\n" for line in lines)


# ---- pages

def tell(page, name, now, wanted):
    print(f"{page}: the table {name} is not what docs/data gives:")
    now, wanted = now.splitlines(), wanted.splitlines()
    for line in [line for line in now if line not in wanted]:
        print(f"- {line}")
    for line in [line for line in wanted if line not in now]:
        print(f"+ {line}")


def main(arguments):
    is_check = "--check" in arguments
    rest = [argument for argument in arguments if argument != "--check"]
    if len(rest) > 1 or any(argument.startswith("-") for argument in rest):
        sys.exit(__doc__)
    source = pathlib.Path(rest[0] if rest else pathlib.Path(__file__).resolve().parent.parent)
    tables, used, is_right = Tables(source), set(), True
    for path in sorted(path for pattern in PAGES for path in source.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        used |= {name for name, _ in TABLE.findall(text)}
        new = TABLE.sub(lambda found: f"<!-- table: {found[1]} -->\n{tables.table(found[1])}"
                                      "<!-- end -->", text)
        if is_check:
            for (name, now), (_, wanted) in zip(TABLE.findall(text), TABLE.findall(new)):
                if now != wanted:
                    is_right = False
                    tell(path.relative_to(source), name, now, wanted)
        elif new != text:
            path.write_text(new, encoding="utf-8")
    for name in tables.layouts.keys() - used:
        raise Mistake(f"docs/tables.json: no page has the table {name}")
    return 0 if is_right else 1


try:
    sys.exit(main(sys.argv[1:]))
except Mistake as mistake:
    sys.exit(f"performance_tables: {mistake}")
