# SPDX-License-Identifier: Apache-2.0
"""What `meson test` wrote of a run, for tools/count-tests and tools/gpu_check.py.

A report is named without its endings: NAME.junit.xml holds the result of each single test,
NAME.json how each test program ended.
"""
import json
import pathlib
import xml.etree.ElementTree as ElementTree

BAD_ENDS = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}
SHOWN_OF_STDERR = 60
# What read() raises of a report that is not there, or is none.
UNSOUND = (OSError, ValueError, ElementTree.ParseError)


def single_tests(path):
    """(program, test, "passed", "failed" or "skipped") for each test of a JUnit report.

    The program is "" for a test that is a whole program.
    """
    for suite in ElementTree.parse(path).getroot().iter("testsuite"):
        program = suite.get("name").partition(".")[2]
        for case in suite.iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                result = "failed"
            elif case.find("skipped") is not None:
                result = "skipped"
            else:
                result = "passed"
            yield program, case.get("name"), result


def programs(path):
    """{name: what Meson noted of it} for each test program; the file has one JSON object a line."""
    notes = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {note["name"]: note for note in notes}


def explanation(note):
    """The failed tests of a program's TAP with the comments that belong to them, and its errors."""
    wanted = False
    for line in note.get("stdout", "").splitlines():
        if not line.startswith("#"):
            wanted = line.startswith(("not ok", "Bail out!"))
        if wanted:
            yield line
    yield from note.get("stderr", "").splitlines()[-SHOWN_OF_STDERR:]


def read(report):
    """(results, explanations): a list of (what, result), and {program: lines} of those that failed.

    A program that failed as a whole (crash, timeout) without a failed test to show for it counts as
    one failed test.
    """
    notes = programs(pathlib.Path(report + ".json"))
    bad = {name for name, note in notes.items() if note["result"] in BAD_ENDS}
    unexplained = set(bad)
    results = []
    for program, test, result in single_tests(pathlib.Path(report + ".junit.xml")):
        if not program and test in bad:
            continue
        if result == "failed":
            unexplained.discard(program)
        results.append((f"{program}: {test}", result))
    for program in sorted(unexplained):
        what = f"{program}: the program as a whole ({notes[program]['result']})"
        results.append((what, "failed"))
    return results, {program: list(explanation(notes[program])) for program in sorted(bad)}
